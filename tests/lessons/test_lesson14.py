"""Lesson 14: what it says is so, and its exercises judge as they should."""

from pathlib import Path

import pytest
from minigrad.lessons.exercises.lesson14 import COLLEAGUES, EXERCISES, reference_skew
from minigrad.lessons.grading import check, predict
from minigrad.lessons.grading.checking import check_exercise

import minigrad as mg
from minigrad.trace import first_divergence

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "14_debugging_and_profiling.ipynb"


@pytest.mark.whole
def test_the_sheet_is_fit_to_grade_with(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


def test_at_the_lessons_first_point_only_one_rule_is_refused(scope):
    refused = [
        n
        for n, f in COLLEAGUES.items()
        if not mg.autograd.gradcheck(f, (scope["point"],), raise_exception=False)
    ]
    assert (
        refused == ["swish"]
        and list(scope["COLLEAGUES"]) == list(COLLEAGUES)
        and sorted(scope["wrong_rules"]) == ["leaky", "swish"]
    )


def test_the_broken_function_is_refused_and_the_careless_length_gives_nan(scope):
    x = mg.tensor([0.0, 1.0], dtype=mg.float64, requires_grad=True)
    with pytest.raises(mg.errors.InPlaceError, match="exp needs its output"):
        scope["broken"](x).sum().backward()
    with pytest.raises(mg.errors.AutogradError, match="MulBackward0"):
        scope["differentiate"]()


def test_all_values_agree_and_the_first_difference_is_the_adjoint_of_v(scope):
    parting = first_divergence(*scope["traces"])
    assert (parting.kind, parting.node, parting.column) == ("missing", "v4", "g")
    assert (
        scope["reference"](scope["numbers"]).item() == scope["colleagues"](scope["numbers"]).item()
    )
    assert reference_skew(scope["numbers"]).item() == scope["reference"](scope["numbers"]).item()


def test_the_profile_shows_what_the_lesson_says(scope):
    calls = {row[0]: row[1] for row in scope["rows_of"](scope["prof"])}
    assert (
        calls["exp"] == calls["slice_backward"] == calls["ExpBackward0"] == 400
        and calls["forward"] == 1
    )
    rows = scope["rows_of"](scope["prof"])
    forward = next(row for row in rows if row[0] == "forward")
    assert forward[3] > forward[2], "a region's total holds the time of what is inside"
    assert sum(row[2] for row in rows) == pytest.approx(scope["prof"].self_cpu_time_total)
    assert (
        any(e.get("name") == "exp" for e in scope["events"])
        and len(scope["whole"]) < len(scope["prof"]) / 100
    )


def test_mends_of_another_kind_are_right_too():
    assert check("raised_exp", lambda x: mg.exp(x).clone().mul_(2.0) + 1).passed
    assert check("raised_exp", lambda x: 2 * x.exp() + 1).passed

    def length(x):
        s = (x * x).sum()
        zero = s == 0
        return mg.where(zero, 0.0, mg.sqrt(s + zero))

    assert check("length", length).passed


def test_the_librarys_norm_is_no_cure():
    said = str(check("length", mg.linalg.norm))
    assert "minigrad.linalg.norm is what you are asked to write" in said


def test_a_function_that_still_fails_says_so():
    def raised_exp(x):
        y = mg.exp(x)
        y *= 2.0
        return y + 1.0

    feedback = check("raised_exp", raised_exp)
    assert not feedback.passed and "modified in place" in str(feedback)
    feedback = check("length", lambda x: mg.sqrt((x * x).sum()))
    assert feedback.points == 1 and "the gradient holds NaN" in str(feedback)
    assert not check("skew", lambda x: 1.0).passed


@pytest.mark.parametrize("names, word", [
    (["swish"], "one more"), (["swish", "softsign", "leaky"], "`softsign` passes"),
    ("swish", "a list"), (["mish"], "no operation"),
    ([], "one more"),
])  # fmt: skip
def test_wrong_lists_of_rules_get_the_reason(names, word):
    assert word in str(check("wrong-rules", names)).lower()


@pytest.mark.parametrize("name, wrong, word", [
    ("hooked", 30, "without the hook"), ("hooked", 0.5, "To get that of x"),
    ("nans", 0, "before it chose"), ("nans", 1, "slope of the root"),
])  # fmt: skip
def test_slips_of_predictions_are_recognised(name, wrong, word):
    assert word in str(predict(name, wrong))


@pytest.mark.parametrize("seed", range(3))
def test_the_solutions_are_right_for_random_cases(scope, seed):
    for name in ("adjoint_swish", "raised_exp", "length", "skew", "busiest"):
        assert check_exercise(EXERCISES[name], [scope[name]], seed).passed
