"""Lesson 1: what it measures and says is so, and its exercises judge as they should."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sympy", reason='pip install -e ".[lab]"')
pytest.importorskip("matplotlib", reason='pip install -e ".[lab]"')

from minigrad.lessons.exercises.lesson01 import (
    EPSILON,
    EXERCISES,
    central_error,
    nodes_of_derivative,
    one_sided_error,
)
from minigrad.lessons.grading import check, predict

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "01_three_ways.ipynb"


# ----------------------------------------------------------------------------- what the lesson says


def test_the_three_ways_agree(scope):
    exact = float(scope["exact"])
    mg, f = scope["mg"], scope["f"]
    assert mg.func.grad(f)(mg.tensor(0.5, dtype=mg.float64)).item() == pytest.approx(
        exact, rel=1e-15
    )
    assert scope["central_difference"](
        lambda x: f(mg.tensor(x, dtype=mg.float64)).item(), 0.5
    ) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    "dtype, flat, one, central", [("float64", 4e-16, 1e-7, 1e-9), ("float32", 3e-7, 3e-3, 2e-4)]
)
def test_no_step_of_a_difference_is_as_good_as_automatic_differentiation(
    scope, dtype, flat, one, central
):
    kind = getattr(scope["mg"], dtype)
    one_sided, both_sided = scope["errors"](kind)
    assert scope["error_of_automatic"](kind) < flat < both_sided.min() < central
    assert both_sided.min() < one_sided.min() < one
    assert (
        one_sided[-1] == pytest.approx(1.0, abs=0.5) or one_sided[-1] > 1e-2
    )  # at the left end nothing is left


def test_the_misprinted_quotient_is_shown_without_errors_of_rounding(capsys):
    cells = json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
    exec("".join(next(cell for cell in cells if cell["id"] == "misprint")["source"]), {})
    assert capsys.readouterr().out == "h = 0.1: 96\nh = 0.01: 906\nh = 0.001: 9006\n"


def test_the_errors_fall_with_the_first_and_the_second_power_of_the_step(scope):
    for errors, power in zip(scope["errors"](scope["mg"].float64), (1, 2), strict=True):
        assert np.log2(errors[6] / errors[10]) / 4 == pytest.approx(power, abs=0.15)


def test_written_out_the_derivative_grows_with_the_square_of_the_depth_and_shared_in_proportion(
    scope,
):
    trees = [scope["nodes"](d) for d in scope["derivatives"]]
    shared = [scope["nodes_shared"](d) for d in scope["derivatives"]]
    graphs = [scope["nodes_of_graph"](depth) for depth in scope["depths"]]
    assert (
        len(set(np.diff(trees, 3)[2:])) <= 2
    )  # a polynomial of the second degree, but for a node that comes and goes
    assert trees[11] / trees[5] == pytest.approx(4, abs=0.5)
    assert max(np.diff(shared)) - min(np.diff(shared)) <= 2
    assert len(set(np.diff(graphs))) == 1
    assert graphs[-1] < shared[-1] < trees[-1] / 5
    assert trees[7] == nodes_of_derivative(8)


def test_the_solved_steps_are_the_measured_ones(scope):
    """With f, f″ and f‴ of size 1 the formulas of exercise 2 name the region where the curves of
    the figure turn.
    """
    one_sided, central = scope["errors"](scope["mg"].float64)
    assert scope["best_step"](1.0, 1.0, EPSILON) / scope["steps"][
        one_sided.argmin()
    ] == pytest.approx(1, abs=2)
    assert (
        0.1 < scope["best_central_step"](1.0, 1.0, EPSILON) / scope["steps"][central.argmin()] < 10
    )


def test_differences_take_one_evaluation_more_than_there_are_inputs(scope):
    scope["total"].calls = 0
    found = scope["gradient_by_differences"](np.linspace(-1, 1, 7))
    assert scope["total"].calls == 8
    assert found == pytest.approx(1 / (1 + np.exp(-np.linspace(-1, 1, 7))), rel=1e-5)


def test_one_of_the_three_rules_is_wrong(scope):
    wrong = [
        name
        for name, (function, rule) in scope["rules"].items()
        if rule(0.7) != pytest.approx(scope["central_difference"](function, 0.7), rel=1e-6)
    ]
    assert wrong == ["tanh"]


# ------------------------------------------------------------------------------------ the exercises


def test_the_sheet_is_fit_to_grade_with_and_finds_each_classic_mistake(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


@pytest.mark.parametrize("seed", range(5))
def test_the_solutions_are_right_for_random_cases(scope, seed):
    from minigrad.lessons.grading.judge import judge
    from minigrad.lessons.grading.local import run_cases

    for exercise in EXERCISES.values():
        cases = exercise.cases(seed)
        assert judge(exercise, cases, run_cases(exercise, cases, scope, 20.0)).full, exercise.name


def test_a_quotient_that_is_written_otherwise_is_right():
    assert check("difference_quotient", lambda f, x, h: f(x + h) / h - f(x) / h).passed


@pytest.mark.parametrize("off", [1.3, 1 / 1.3])
def test_a_step_near_the_best_is_good_enough(off):
    best = (
        lambda f, f2, eps: off * 2 * math.sqrt(eps * f / f2),
        lambda f, f3, eps: off**0.5 * (3 * eps * f / f3) ** (1 / 3),
    )
    assert check("best_step", *best).passed


@pytest.mark.parametrize("off", [2.0, 0.5])
def test_a_step_that_is_twice_or_half_the_best_is_not(off):
    feedback = check(
        "best_step",
        lambda f, f2, eps: off * 2 * math.sqrt(eps * f / f2),
        lambda f, f3, eps: off * (3 * eps * f / f3) ** (1 / 3),
    )
    assert feedback.points == 0


ROOT = lambda f, f2, eps: 2 * math.sqrt(eps * f / f2)
CUBE_ROOT = lambda f, f3, eps: (3 * eps * f / f3) ** (1 / 3)
FACTOR = "It looks as if you lost a constant factor"


@pytest.mark.parametrize(
    "first, second, says",
    [
        (
            lambda f, f2, eps: math.sqrt(eps * f / f2),
            lambda f, f3, eps: (3 * eps * f / f3) ** 1 / 3,
            (f"`best_step`: {FACTOR}", "`best_central_step`: It looks as if you wrote `** 1 / 3`"),
        ),
        (
            lambda f, f2, eps: (eps * f / f2) ** 1 / 2,
            CUBE_ROOT,
            ("`best_step`: It looks as if you wrote `** 1 / 2`",),
        ),
        (
            lambda f, f2, eps: 2 * (eps * f / f2) ** 1 / 2,
            CUBE_ROOT,
            ("`best_step`: It looks as if you wrote `** 1 / 2`",),
        ),
        (
            ROOT,
            lambda f, f3, eps: (eps * f / f3) ** 1 / 3,
            ("`best_central_step`: It looks as if you wrote `** 1 / 3`",),
        ),
        (
            ROOT,
            lambda f, f3, eps: 3 * eps * f / f3,
            ("`best_central_step`: It looks as if you forgot the root",),
        ),
        (
            lambda f, f2, eps: math.sqrt(eps * f / f2),
            lambda f, f3, eps: (eps * f / f3) ** (1 / 3),
            (f"`best_step` and `best_central_step`: {FACTOR}",),
        ),
        (
            lambda f, f2, eps: math.sqrt(eps * f / f2),
            lambda f, f3, eps: 1e-5,
            (f"`best_step`: {FACTOR}",),
        ),
    ],
)
def test_each_of_the_two_steps_has_its_own_hint_with_its_name(first, second, says):
    told = check("best_step", first, second).lines
    (note,) = [line.text for line in told if line.kind == "note"]
    assert told[0].text == note, "what helps most comes first"
    assert not re.search(r"[1-9]\d*\.\d{4}|0\.0*[1-9]\d{4}", " ".join(line.text for line in told))
    assert all(one in note for one in says)
    assert note.count("It looks as if") == len(says)


@pytest.mark.parametrize("bad", [0.0, -1e-8, math.nan, math.inf, "1e-8", [1e-8], True])
def test_a_step_that_is_no_positive_number_is_wrong_and_does_not_stop_the_check(bad):
    feedback = check("best_step", lambda *sizes: bad, lambda *sizes: bad)
    assert feedback.points == 0
    assert "check itself failed" not in str(feedback)


def test_the_estimates_have_their_minimum_where_calculus_says():
    steps = np.logspace(-12, -1, 4000)
    assert steps[one_sided_error(steps, 2.0, 3.0, 1e-12).argmin()] == pytest.approx(
        2 * math.sqrt(1e-12 * 2 / 3), rel=0.01
    )
    assert steps[central_error(steps, 2.0, 3.0, 1e-12).argmin()] == pytest.approx(
        (3e-12 * 2 / 3) ** (1 / 3), rel=0.01
    )


@pytest.mark.parametrize("h", [1e-5, 1e-7, 1e-8])
def test_a_one_sided_checker_is_not_exact_enough_and_recognised(h):
    feedback = check(
        "central_difference",
        lambda f, x: (f(x + h * (abs(x) or 1.0)) - f(x)) / (h * (abs(x) or 1.0)),
    )
    assert "✗ x of moderate size" in str(feedback)
    assert "on one side of x only" in str(feedback)


CHECKERS = {
    "one step for all": (
        lambda f, x: (f(x + 1e-5) - f(x - 1e-5)) / 2e-5 if x > 1e-4 or x <= 0 else math.nan,
        None,
        3,
    ),
    "no step at zero": (
        lambda f, x: (f(x + 1e-5 * abs(x)) - f(x - 1e-5 * abs(x))) / (2e-5 * abs(x)),
        "ZeroDivisionError",
        3,
    ),
    "too small": (
        lambda f, x: (f(x + 1e-12 * (x or 1)) - f(x - 1e-12 * (x or 1))) / (2e-12 * (x or 1)),
        None,
        0,
    ),
}


@pytest.mark.parametrize("name", CHECKERS)
def test_a_checker_that_is_not_exact_enough_loses_the_points_of_where_it_is_not(name):
    checker, says, points = CHECKERS[name]
    feedback = check("central_difference", checker)
    assert feedback.points == points
    assert says is None or says in str(feedback)


@pytest.mark.parametrize("h", [3e-6, 1e-5, 1e-4])
def test_the_step_of_the_checker_is_free_within_reason(h):
    assert check(
        "central_difference",
        lambda f, x: (
            (f(x + h * (abs(x) or 1)) - f(x - h * (abs(x) or 1))) / (2 * h * (abs(x) or 1))
        ),
    ).passed


@pytest.mark.parametrize("name, guess, says", [
    ("digits", 16, "cancel in the difference"),
    ("evaluations", 2000, "computed once"),
    ("swell", 330, "same number of nodes"),
    ("swell", 65, "size of f itself"),
    ("swell", 2640, "not by doubling"),
])  # fmt: skip
def test_usual_slips_are_reported(name, guess, says):
    feedback = predict(name, guess)
    assert not feedback.passed
    assert says in str(feedback)


@pytest.mark.parametrize(
    "name, guess",
    [("digits", 7), ("digits", 8), ("swell", 500), ("swell", 660), ("evaluations", 1001)],
)
def test_predictions_that_are_near_enough(name, guess):
    assert predict(name, guess).passed


@pytest.mark.parametrize(
    "name, given",
    [
        ("difference_quotient", (lambda f, x, h: f(x + h) - f(x),)),
        ("best_step", (lambda f, f2, eps: eps, lambda f, f3, eps: eps)),
        ("central_difference", (lambda f, x: (f(x + 1e-9) - f(x - 1e-9)) / 2e-9,)),
    ],
)
def test_what_is_right_stands_beside_what_came_back(name, given):
    (line,) = [text for text in str(check(name, *given)).splitlines() if "smallest case" in text]
    assert re.search(r"` gave .+; it should give .+\.$", line)
