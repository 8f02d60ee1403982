"""What the lessons' tests share: the names that a lesson's cells define."""

import contextlib
import json
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from minigrad.lessons.grading import calls, cheap_answers, checking
from minigrad.lessons.grading.exercise import Case, Exercise
from minigrad.lessons.grading.local import run_notebook
from minigrad.lessons.grading.sheet import load_sheet
from minigrad.lessons.grading.sheet_report import SheetReport, examine

from minigrad import autograd
from minigrad.networks import bprop_getters

pytest.register_assert_rewrite("tests.lessons.sheet_tests")


@pytest.fixture(autouse=True)
def _patient_checks(monkeypatch) -> None:
    """A check's time limit is for loops that nothing ends; on a busy machine other tests must
    not meet it.
    """
    for module in (calls, checking):
        monkeypatch.setattr(module, "SECONDS", 60.0)


@pytest.fixture(autouse=True)
def _same_cases_in_every_run(monkeypatch) -> None:
    """A check draws other cases on each run; a test's verdict must not depend on them."""
    monkeypatch.setattr(checking, "secrets", SimpleNamespace(randbits=lambda bits: 1))


@pytest.fixture(scope="module")
def cases_drawn_once() -> Iterator[None]:
    """In a module, the cases of a seed are drawn once, and what is right for each is computed once.
    Answers get copies of them.
    """
    draw, drawn = Exercise.cases, {}

    def cases(exercise: Exercise, rng: Any, practice: bool = False) -> list[Case]:
        if not isinstance(rng, int):
            return draw(exercise, rng, practice)
        key = exercise, exercise.make_cases, exercise.practice, rng, practice
        if key not in drawn:
            drawn[key] = draw(exercise, rng, practice)
        return list(drawn[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Exercise, "cases", cases)
        yield


@pytest.fixture(scope="module")
def unwatched() -> Iterator[None]:
    """Calls of forbidden names are not looked for, which takes a third of a check's time: the
    module's answers call none.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "watching", contextlib.nullcontext)
        yield


@pytest.fixture(scope="module")
def scope(request, tmp_path_factory) -> Iterator[dict[str, Any]]:
    """The names that the cells of the module's LESSON define: all but the checks, run in a folder
    in which there is no engine yet.

    Experiments that take seconds are smaller, as the module's SHORTER says: cell -> (what stands
    there, what stands in its place). Rules that the lesson registers are taken back afterwards,
    switches it sets are set back, and its figures closed.
    """
    notebook = json.loads(request.module.LESSON.read_text(encoding="utf-8"))
    for cell, (long, short) in getattr(request.module, "SHORTER", {}).items():
        (found,) = (c for c in notebook["cells"] if c["id"] == cell)
        source = "".join(found["source"])
        assert source.count(long) == 1, f"cell {cell} has no {long} to make shorter"
        found["source"] = source.replace(long, short)
    rules, training = dict(bprop_getters), autograd.training
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("lesson"))
        names = run_notebook(
            notebook, frozenset(c["id"] for c in notebook["cells"] if c["id"].endswith("-check"))
        )
    yield names
    bprop_getters.clear()
    bprop_getters.update(rules)
    autograd.training = training
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="module")
def examined(request, scope) -> SheetReport:
    """What `examine` says of the module's LESSON, with the names of `scope`: the notebook is not
    run a second time. Answers without work are left out: they are tried on all lessons, and their
    points asked for, by tests/grading/test_work_that_was_not_done.py.
    """
    sheet = load_sheet(request.module.LESSON)
    assert {name for name in sheet.check_ids if not name.endswith("-check")} == set(), (
        "scope has run these cells"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "minigrad.lessons.grading.sheet_report.run_notebook", lambda notebook, skip: dict(scope)
        )
        patch.setattr(cheap_answers, "best", lambda exercise, seed: cheap_answers.Paid(0.0))
        return examine(sheet)
