"""Lesson 24: the suite passes right engines of any kind, catches every engine of a generated table,
and names the piece that is wrong.
"""

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons import engine_suite
from minigrad.lessons.exercises import broken_engines, own_engine, zoo
from minigrad.lessons.exercises.drive24 import Written, recorded
from minigrad.lessons.exercises.lesson24 import EXERCISES, greedy
from minigrad.lessons.grading import check, predict

from tests.helpers.tables import in_one_test

from .sheet_tests import SheetTests
from .test_milestone import OTHER, engine_of
from .wrong.own_engine_answers import RULES

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
LESSON = LESSONS / "24_engine_suite.ipynb"
SHORTER = {
    "mutants": ("broken_engines.broken().items()", "list(broken_engines.broken().items())[::20]"),
    "chosen": ("every=6", "every=60"),
}
"""All broken engines meet the suite below, and the whole cell in the students' edition."""
BROKEN = broken_engines.broken()


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


def pieces_of(scope):
    """What the exercise asks for, from a namespace, as if a student had written it."""
    for name in engine_suite.PIECES:
        scope[name].__module__ = "__main__"
    return lambda: tuple(scope[name] for name in engine_suite.PIECES)


def test_the_course_engine_and_the_lessons_own_one_pass_everywhere():
    assert engine_suite.failures(broken_engines.engine()) == []
    assert check("engine_suite", pieces_of(broken_engines.engine())).points == 6


@pytest.mark.whole
def test_an_engine_that_is_written_in_another_way_passes():
    scope = {"np": np}
    grown = "Tensor.__mul__, Tensor.__truediv__, Tensor.log = mul, div, log"
    later = [
        "".join(cell["source"])
        for cell in _cells("11b_engine_grows.ipynb")
        if cell["id"] in ("attach", "dual_tensor", "hvp_own")
    ]
    for source in (engine_of(OTHER), RULES, *later, grown):
        exec(compile(source, "<cell>", "exec"), scope)
    assert engine_suite.failures(scope) == []


@pytest.mark.parametrize(
    "kind", [lambda i: [int(j) for j in i], lambda i: list(np.array(i)), np.array],
    ids=["integers", "NumPy integers", "an array"],
)  # fmt: skip
def test_columns_may_be_integers_of_python_or_numpy(kind):
    assert check("fewest", lambda caught: kind(greedy(caught))).points == 3
    assert check("fewest", lambda caught: [True, False]).points == 0


def test_two_numbers_that_differ_late_are_shown_with_all_digits():
    said = engine_suite.difference("x", np.array(1.0), np.array(1.0 + 1e-9), 1e-13)
    assert "1.000000001 is right" in said


def _cells(name):
    return json.loads((LESSONS / name).read_text(encoding="utf-8"))["cells"]


def test_the_table_has_more_than_two_hundred_engines_of_every_piece():
    assert len(BROKEN) > 200
    blamed = {trial.blame for trial in engine_suite.TRIALS} - {"the pieces together"}
    pieces = {re.sub(r"\(\d\)", "", piece) for piece in blamed}  # sum, sum(0), sum(1)
    assert pieces == {_piece(name) for name in BROKEN}


def _piece(name):
    return name.partition(":")[0].partition(" to the ")[0]


def test_the_lesson_and_the_guide_name_the_number_of_trials():
    text, guide = (
        (LESSONS / name).read_text(encoding="utf-8")
        for name in (LESSON.name, "instructors_guide.md")
    )
    assert set(re.findall(r"(\d+) trials", text)) == {str(len(engine_suite.TRIALS))}
    assert f"one trial of {len(engine_suite.TRIALS)}" in guide


def _rows():
    """A tenth of the engines in every run, all in the whole suite."""
    for number, name in enumerate(BROKEN):
        marks = [pytest.mark.whole] if number % 10 else []
        yield pytest.param(name, marks=marks, id=name)


@in_one_test
@pytest.mark.parametrize("name", list(_rows()))
def test_a_broken_engine_is_caught_and_the_broken_piece_is_named(name):
    found = engine_suite.failures(BROKEN[name](), first=True)
    assert found, "no trial fails"
    assert found[0].blame == _piece(name)
    assert found[0].say.endswith(".") and len(found[0].say) > 20


SAID = {
    "the rule of `*` to the second operand: the sign is reversed": "sign is reversed",
    "the rule of `exp`: g is left out": "adjoint g of the result is left out",
    "the rule of `-`: copies are not added up": "has to be added up",
    "the rule of `/`: the mean of the copies": "mean over the copies",
    "the rule of `@`: the parts are exchanged": "belongs to the other operand|has the shape",
    "`topological_order`: recursive": "it recurses",
    "`topological_order`: walks again through what it knows": "more than once",
    "`gradients`: overwrites": "only one is kept",
    "`gradients`: adds each part twice": "counts twice",
    "`gradients`: keeps the adjoints of the pass before": "something of the first is left",
    "`gradients`: down every path": "more than once in one pass",
    "`*` of `Dual`: a tangent without a graph": "has no graph",
    "`hvp`: without the direction": "direction is left out",
}


@pytest.mark.parametrize("name", list(SAID)[::3] + [
    pytest.param(name, marks=pytest.mark.whole) for i, name in enumerate(SAID) if i % 3
])  # fmt: skip
def test_the_report_says_what_is_wrong(name):
    report = repr(engine_suite.SuiteReport(engine_suite.failures(BROKEN[name]())))
    assert any(phrase in report for phrase in SAID[name].split("|")), report
    assert f"{_piece(name)}, " in report
    assert "✗" in report


@pytest.mark.whole
def test_a_broken_engine_loses_the_points_of_the_group_that_finds_it():
    feedback = check("engine_suite", pieces_of(BROKEN["`gradients`: adds in place"]()))
    assert feedback.points == 5
    assert "`gradients`, one array for two operands" in str(feedback)


@pytest.mark.parametrize("engine", [broken_engines.engine(), vars(own_engine)])
def test_an_engine_of_the_course_is_no_students(engine):
    feedback = check("engine_suite", lambda: tuple(engine[n] for n in engine_suite.PIECES))
    assert not feedback.points
    assert "the course's own" in str(feedback)


@pytest.mark.parametrize("wrong", [lambda: None, lambda: (1, 2), lambda: 1 / 0, lambda: [0] * 6])
def test_what_is_no_engine_gets_no_points(wrong):
    feedback = check("engine_suite", wrong)
    assert not feedback.points
    assert "check itself failed" not in str(feedback)


def test_the_witness_agrees_with_known_derivatives():
    x = np.array([0.3, -1.2, 2.0])
    found = engine_suite.gradients_of(lambda v: np.sum(np.exp(v["x"])), {"x": x})["x"]
    assert found == pytest.approx(np.exp(x), rel=1e-15)
    second = engine_suite.second_of(lambda v: np.sum(v["x"] ** 3), {"x": x}, {"x": np.ones(3)})
    assert second["x"] == pytest.approx(6 * x, rel=1e-9)


def test_the_command_reports_on_a_file(tmp_path, capsys):
    file = tmp_path / "my_engine.py"
    source = inspect.getsource(own_engine).partition("\nPIECES = {")[0]
    for text, status in ((source, 0), (source.replace("g / b,", "g * b,"), 1)):
        assert text != source or not status
        file.write_text(text, encoding="utf-8")
        with pytest.raises(SystemExit) as ended:
            engine_suite.main([str(file)])
        assert ended.value.code == status
        assert ("✗ each rule" in capsys.readouterr().out) == bool(status)
    file.write_text("class Tensor:\n    pass\n", encoding="utf-8")
    for arguments, says in (
        ([str(file)], "lacks topological_order"),
        ([], "usage"),
        ([str(tmp_path / "none.py")], "cannot be read"),
    ):
        with pytest.raises(SystemExit, match=says):
            engine_suite.main(arguments)


# ------------------------------------------------------------------------------------- six bugs


BAITS = {
    "the lesson's": lambda x, y: (lambda p: (p - p * y).sum())(x + y),
    "with exp": lambda x, y: (lambda p: (p - p.exp() * y).sum())(x + y),
    "y first": lambda x, y: (lambda p: (p - y * p).sum())(y + x),
}


@pytest.mark.parametrize("name", BAITS)
def test_programs_that_show_all_six_bugs_pass(name):
    assert check("bait", BAITS[name]).points == 3


def test_what_a_program_does_not_need_is_not_counted():
    def bait(x, y):
        x * y * y
        return BAITS["the lesson's"](x, y)

    found = recorded({"bait": bait}, "bait", np.ones((2, 3)), np.ones(3))
    assert [row[1] for row in found["rows"]] == ["add", "mul", "sub", "sum"]
    assert isinstance(Written(np.ones(2), [], "x").sum(), Written)


@pytest.mark.parametrize("guess", [1, 2, 4, 5, 6])
def test_a_wrong_guess_does_not_tell_the_answer(guess):
    said = str(predict("rules-alone", guess))
    assert not predict("rules-alone", guess).points
    assert not re.search(r"\b[A-F](, [A-F])* and [A-F]\b|\b3\b", said), said


def test_each_engine_of_the_zoo_is_missed_by_some_program():
    """No bug shows everywhere, but for F, which shows in every second pass."""
    feedback = str(check("bait", lambda x, y: x.exp().sum() + y.exp().sum()))
    for letter in "ACE":
        assert f"{letter}, " in feedback
    assert set("ABCDEF") == set(zoo.ANIMALS)
