"""Lesson 17: its exercises judge as they should, and its programs go wrong where it says so."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises.lesson17 import (
    EXERCISES,
    averages,
    slope_by_complex_step,
)
from minigrad.lessons.grading import check

import minigrad as mg

from .sheet_tests import SheetTests

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "17_where_it_is_wrong.ipynb"
SHORTER = {"climate": ("(0.25, 1, 2, 4, 8, 16)", "(0.25, 1)")}


def value(f, x):
    return f(mg.tensor(x, dtype=mg.float64)).item()


def slope(f, x):
    return mg.func.grad(f)(mg.tensor(x, dtype=mg.float64)).item()


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


# -------------------------------------------------------------------- what is right in another form


def by_the_mean_of_exponentials(x):
    nodes, weights = np.polynomial.legendre.leggauss(12)
    return (mg.exp(x * mg.tensor((nodes + 1) / 2)) * mg.tensor(weights / 2)).sum()


def by_trapezoids(f, slope, a, b, n):
    heights = slope(np.linspace(a, b, n + 1))
    return f(b) - f(a) - (b - a) / n * (heights.sum() - (heights[0] + heights[-1]) / 2)


def settle_from_elsewhere(step, tol):
    pair = step(2.0, 1.0)
    while max(map(abs, np.subtract(after := step(*pair), pair))) > tol:
        pair = after
    return [float(v) for v in after]


def exponent_by_arrays(r, x, n):
    orbit = [x]
    for _ in range(n - 1):
        orbit.append(r * orbit[-1] - r * orbit[-1] ** 2)
    return np.log(np.abs(r - 2 * r * np.array(orbit))).mean()


def step_on_a_copy(w, g, scale, good, lr):
    if np.isnan(g).any() or np.isinf(g).any():
        return [w, scale * 0.5, 0]
    w = w.copy()
    w -= lr / scale * np.array(g, dtype=np.float64)
    full = good == 9
    return [w, scale * (1 + full), 0 if full else good + 1]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("average_exp", by_the_mean_of_exponentials),
        ("hidden_rise", by_trapezoids),
        ("settle_both", settle_from_elsewhere),
        ("exponent", exponent_by_arrays),
        ("scaled_step", step_on_a_copy),
    ],
)
def test_a_right_answer_in_another_form_passes(name, answer):
    feedback = check(name, answer)
    assert feedback.passed, str(feedback)


# ---------------------------------------------------------------------- what the checks rest on


@pytest.mark.parametrize("x", [-2.0, 0.5, 3.0])
def test_the_averages_are_the_quotient_and_its_derivatives(x):
    e = math.exp(x)
    value = (e - 1) / x
    first = (e - value) / x
    right = {"value": value, "slope": first, "curvature": (e - 2 * first) / x}
    assert averages(x) == pytest.approx(right, rel=1e-12)


def test_a_complex_step_measures_the_slope_of_many_steps():
    r, x, n = 3.3, 0.3, 12

    def steps(x):
        for _ in range(n):
            x = r * x * (1 - x)
        return x

    assert slope_by_complex_step(r, x, n) == pytest.approx(slope(steps, x), rel=1e-10)


# --------------------------------------------------------------------------- what the lesson claims


@pytest.fixture(scope="module")
def programs():
    """The cells of the lesson that define programs, run without its solutions."""
    wanted = ("kink-slope", "skipping", "gallery", "orbit")
    names: dict = {"mg": mg, "math": math, "value_at": value, "slope_at": slope}
    for cell in json.loads(LESSON.read_text(encoding="utf-8"))["cells"]:
        if cell["id"] in wanted:
            exec("".join(cell["source"]), names)
    return names


def test_one_function_has_four_slopes_at_its_kink_and_a_constant_has_minus_two(programs):
    four = list(programs["four"].values())
    assert [slope(f, 0.0) for f in four] == pytest.approx([-1.0, 0.0, math.nan, 1.0], nan_ok=True)
    for x in (-0.5, 0.5):
        assert {slope(f, x) for f in four} == {math.copysign(1.0, x)}
    difference = lambda x: four[0](x) - four[3](x)
    assert slope(difference, 0.0) == -2.0
    assert difference(mg.tensor([-1.0, 0.0, 2.0])).tolist() == [0.0, 0.0, 0.0]


def test_a_skipped_weight_gets_nothing(programs):
    w = [mg.tensor(v, requires_grad=True) for v in (2.0, 0.0, -1.0)]
    programs["skipping"](*w).backward()
    assert [v.grad if v.grad is None else v.grad.item() for v in w] == [1.0, None, 3.0]


def test_the_loop_is_within_its_tolerance_and_its_slope_is_not(programs):
    root = programs["root"]
    for x in np.linspace(0.25, 3, 23):
        assert abs(root(mg.tensor(x, dtype=mg.float64)).item() ** 2 - x) <= 0.1
    assert slope(root, 1.0) == 0.0
    assert slope(lambda x: root(x, 1e-12), 1.0) == 0.0
    assert slope(lambda x: root(x, 1e-12), 2.0) == pytest.approx(0.5 / math.sqrt(2), rel=1e-8)


def test_the_program_leaves_the_orbit_of_period_three_after_some_45_steps(programs):
    after, truth = programs["after"], programs["truth"]
    apart = [abs(after(n, truth[0]) - truth[n]) for n in range(81)]
    assert max(apart[:42]) < 1e-2
    assert max(apart[50:]) > 0.5
    assert slope(lambda x: after(30, x), truth[0]) == pytest.approx(8.0**10, rel=1e-3)


@pytest.mark.whole
def test_in_float16_the_heartbeat_is_lost_without_a_scale_and_found_with_it(scope):
    train, half = scope["train"], scope["half"]
    exact, _ = train(lambda a: a, scope["plain_step"])
    flat, _ = train(half, scope["plain_step"])
    lives, scales = train(half, scope["scaled_step"], 2.0**40)
    assert not flat.any()
    assert np.abs(lives - exact).max() < 1.0  # microvolts, of a hundred
    assert scales[1] < scales[0] and scales[-1] > min(scales)
