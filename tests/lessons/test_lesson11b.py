"""Lesson 11b: its exercises judge as they should, and the engine in my_engine.py has grown."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises import own_engine
from minigrad.lessons.exercises.lesson11b import EXERCISES
from minigrad.lessons.grading import check
from minigrad.lessons.workshop import FILE, MADE_IN, MILESTONE, keep, mine

from .sheet_tests import SheetTests
from .test_workshop import cell, run_lesson
from .wrong.own_engine_answers import DUAL, HVP, RULES, names_of

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "11b_engine_grows.ipynb"


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


def test_right_answers_pass_without_an_engine_of_ones_own():
    """As in the grader, where my_engine.py is not there and a stand-in gives nothing."""
    scope = names_of(RULES, DUAL, HVP)
    for name in own_engine.PIECES:
        del scope[name]
    scope["Tensor"] = object()
    assert check("products", *(scope[n] for n in ("pull_mul", "pull_div", "pull_log"))).passed
    assert check("dual_tensor", scope["Dual"]).passed
    assert check("hvp_own", scope["hvp"], scope["Dual"]).passed


def test_the_lent_engine_is_right_itself():
    """Its operations, against central differences."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 2, (2, 3)), rng.uniform(1, 2, (2, 1))
    f = lambda x, y: ((x * y - x / y).exp().log() @ (x + y).t()).pow(2).sum(1).sum()
    x, y = own_engine.Tensor(a), own_engine.Tensor(b)
    found = own_engine.gradients(own_engine.topological_order(f(x, y)), [x, y])
    for i, (point, gradient) in enumerate(zip((a, b), found, strict=True)):
        for place in np.ndindex(point.shape):
            step = np.zeros(point.shape)
            step[place] = 1e-6
            ends = [
                f(*(own_engine.Tensor(p + side * step * (j == i)) for j, p in enumerate((a, b))))
                for side in (1, -1)
            ]
            slope = (ends[0].value - ends[1].value) / 2e-6
            assert gradient[place] == pytest.approx(float(slope), rel=1e-7)


# ------------------------------------------------------------------------- the engine in the file


def test_the_engine_in_the_file_has_the_new_operations(tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot", reason='pip install -e ".[viz]"')
    plt.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    for number in ("03", "05", "11b"):
        scope = run_lesson(number)
    plt.close("all")
    assert "your engine from" in repr(scope["engine"])
    assert Path(FILE).read_text().count("Tensor.__mul__, Tensor.__truediv__, Tensor.log =") == 1
    spec = importlib.util.spec_from_file_location("my_engine", FILE)
    engine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(engine)
    cube = lambda x: (x * x * x).sum()
    assert engine.hvp(cube, np.array([2.0, 3.0]), np.array([1.0, 0.0])) == pytest.approx([12.0, 0])
    run_lesson("11b")
    assert Path(FILE).read_text().count("Tensor.__mul__, Tensor.__truediv__, Tensor.log =") == 1


def test_an_engine_is_lent_whole_or_not_at_all(tmp_path):
    keep(cell("def gradients(order, wanted):\n    return [1.0]\n")["gradients"], folder=tmp_path)
    lent = mine("gradients", "Tensor", folder=tmp_path, lend=True)
    assert lent.gradients is own_engine.gradients
    assert lent.missing == ("Tensor",)
    assert "stands in for yours" in repr(lent)
    assert "Everything else" not in repr(lent)
    own = mine("gradients", folder=tmp_path, lend=True)
    assert own.gradients(None, None) == [1.0]
    assert mine("Tensor", folder=tmp_path).missing == ("Tensor",)


def test_methods_are_not_given_to_a_class_that_is_not_in_the_file(tmp_path):
    said = repr(keep("Tensor.log = log", folder=tmp_path))
    assert "not kept: Tensor.log = log, for Tensor is not in my_engine.py" in said
    assert "neither a function nor a class" in repr(keep("not Python", folder=tmp_path))
    assert not (tmp_path / FILE).exists()


def test_a_class_with_a_stub_in_it_is_not_kept(tmp_path):
    source = (
        "class Dual:\n    def exp(self):\n        ...\n\n    def log(self):\n        return 1\n"
    )
    assert "Dual is not written yet" in repr(keep(cell(source)["Dual"], folder=tmp_path))


def test_the_milestone_asks_for_no_piece_that_is_made_after_it():
    assert "adam" in MILESTONE
    assert all("11b" not in MADE_IN[piece] for piece in MILESTONE)
    lesson = json.loads((LESSON.parent / "11_training.ipynb").read_text(encoding="utf-8"))
    assert any("unpack()" in "".join(c["source"]) for c in lesson["cells"])
