"""Lesson 4: what it counts and says is so, and its exercises judge as they should."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason='pip install -e ".[lab]"')

from minigrad.lessons.exercises.lesson04 import (
    EXERCISES,
    QUESTIONS,
    multiplications,
    ratio_of_gradient,
)
from minigrad.lessons.grading import check, predict
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.local import run_cases
from minigrad.viz.jacobian import jacobian_trace

import minigrad as mg

pytestmark = pytest.mark.usefixtures("smaller_cases")
LESSON = Path(__file__).resolve().parents[2] / "lessons" / "04_cost_of_the_two_modes.ipynb"


# ----------------------------------------------------------------------------- what the lesson says


def products(trace):
    """What the viewer counts for each mode: (passes, products)."""
    found = {}
    for mode in ("forward", "reverse"):
        mine = [k for k, one in enumerate(trace["passes"]) if one["mode"] == mode]
        found[mode] = (
            len(mine),
            sum(len(s.get("contribs", [])) for s in trace["steps"] if s.get("pass") in mine),
        )
    return found


def test_few_inputs_by_columns_and_few_results_by_rows(scope):
    tall = products(jacobian_trace(scope["F"], 1.0, 0.5))
    wide = products(jacobian_trace(scope["G"], 2.0, 3.0, 0.5))
    assert (tall["forward"][0], tall["reverse"][0]) == (2, 3)
    assert tall["forward"][1] < tall["reverse"][1]
    assert (wide["forward"][0], wide["reverse"][0]) == (3, 2)
    assert wide["reverse"][1] < wide["forward"][1]


def test_the_exception_is_one(scope):
    plane = products(jacobian_trace(scope["in_the_plane"], 2.0, 0.5))
    assert plane["forward"][0] < plane["reverse"][0]
    assert plane["reverse"][1] < plane["forward"][1]


def test_the_gradient_costs_a_small_multiple_whatever_the_number_of_inputs(scope):
    assert scope["reverse"][-1] == pytest.approx(ratio_of_gradient(1000))
    assert max(scope["reverse"]) < 4
    assert scope["reverse"][-1] < scope["reverse"][0]
    assert scope["forward"][-1] > 900
    counts = {
        name: mg.count_operations(f, scope["point"], mode="vjp")
        for name, f in scope["functions"].items()
    }
    ratios = {
        name: scope["work"](found.total) / scope["work"](found.forward)
        for name, found in counts.items()
    }
    assert ratios == pytest.approx(
        {"network": 1.96, "sum of soft ReLUs": 1.5, "sum of cubes": 3.01, "length": 2.51}, abs=0.01
    )


def test_each_way_to_the_adjoints_is_right_and_one_visits_every_path(scope):
    tape = scope["ladder"](10)
    fast = {**scope["zeros"](tape), "v10": 1.0}
    scope["fast_adjoints"](tape, fast)
    paths, passes = scope["zeros"](tape), scope["zeros"](tape)
    scope["down_every_path"].visits = 0
    scope["down_every_path"](dict(tape), paths, "v10", 1.0)
    scope["by_forward_passes"](tape, passes)
    assert paths == pytest.approx(fast)
    assert passes == pytest.approx(fast)
    assert scope["down_every_path"].visits == 2**11 - 1


def test_the_formulas_of_exercise_4_are_what_the_engine_counts(scope):
    for sizes in [(2, 3), (7, 2, 7), (4, 3, 2, 9, 5)]:
        assert scope["cost_by_columns"](list(sizes)) == multiplications(sizes, "jvp")
        assert scope["cost_by_rows"](list(sizes)) == multiplications(sizes, "vjp")


# ------------------------------------------------------------------------------------ the exercises


@pytest.mark.whole
def test_the_sheet_is_fit_to_grade_with_and_finds_each_classic_mistake(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.whole) for n in (1, 2))])
def test_the_solutions_are_right_for_random_cases(scope, seed):
    for exercise in EXERCISES.values():
        cases = exercise.cases(seed)
        assert judge(exercise, cases, run_cases(exercise, cases, scope, 30.0)).full, exercise.name


def columns(f, x):
    return [mg.func.jvp(f, (x,), (seed,))[1] for seed in mg.eye(len(x), dtype=x.dtype)]


RIGHT = {
    "an array": lambda f, x: np.stack([c.numpy() for c in columns(f, x)], axis=1),
    "a list of rows": lambda f, x: mg.stack(columns(f, x), dim=1).tolist(),
    "all seeds at once": lambda f, x: mg.func.vmap(
        lambda seed: mg.func.jvp(f, (x,), (seed,))[1], out_dims=1
    )(mg.eye(len(x), dtype=x.dtype)),
}


@pytest.mark.parametrize("style", RIGHT)
def test_right_columns_in_another_style(style):
    assert check("by_columns", RIGHT[style]).passed


def test_too_many_passes_cost_a_point_and_no_more():
    def wasteful(f, x):
        y, _ = mg.func.vjp(f, x)
        return mg.stack(
            [
                mg.func.vjp(f, x)[1](seed)[0]
                for seed in mg.eye(len(y), dtype=y.dtype)
                for _ in range(2)
            ][::2]
        )

    feedback = check("by_rows", wasteful)
    assert feedback.points == 2
    assert "one pass for each row is enough" in str(feedback)


def test_what_is_no_matrix_is_wrong_and_does_not_stop_the_check():
    for bad in (1.0, "J", [[1.0], [1.0, 2.0]], {"jacobian": 1}):
        feedback = check("by_columns", lambda f, x, bad=bad: bad)
        assert feedback.points == 0
        assert "check itself failed" not in str(feedback)


def test_each_choice_counts():
    answers = ["forward" if n < m else "reverse" for _, n, m in QUESTIONS.values()]
    assert check("choice", *answers).passed
    for i in range(len(answers)):
        turned = [
            ("reverse" if a == "forward" else "forward") if k == i else a
            for k, a in enumerate(answers)
        ]
        assert check("choice", *turned).points == 1
    assert check("choice", *["Forward"] * 6).points == 0


@pytest.mark.whole
def test_sweeps_in_the_wrong_spirit_are_stopped(scope, monkeypatch):
    monkeypatch.setattr(EXERCISES["fast_adjoints"], "limit_s", 0.3)

    def every_path(tape, adjoint):
        output = tape[-1][0]
        adjoint[output] = 0.0
        scope["down_every_path"](dict(tape), adjoint, output, 1.0)

    for slow in (every_path, scope["by_forward_passes"]):
        feedback = check("fast_adjoints", slow)
        assert not feedback.passed
        assert any(word in str(feedback) for word in ("took too long", "RecursionError"))


@pytest.mark.parametrize("name, guess, says", [
    ("row-passes", 2, "what forward mode needs"),
    ("row-passes", 6, "a whole row"),
    ("gradient-ratio", 1000, "what forward mode takes"),
    ("gradient-ratio", 1, "not free"),
])  # fmt: skip
def test_usual_slips_are_reported(name, guess, says):
    feedback = predict(name, guess)
    assert not feedback.passed
    assert says in str(feedback)


@pytest.mark.parametrize(
    "name, guess",
    [("row-passes", 3), ("gradient-ratio", 2), ("gradient-ratio", 2.5), ("gradient-ratio", 1.5)],
)
def test_predictions_that_are_near_enough(name, guess):
    assert predict(name, guess).passed
