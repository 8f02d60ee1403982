"""Lesson 19: its exercises judge as they should, and its operation differentiates a fixed point."""

import json
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises import own_engine
from minigrad.lessons.exercises.lesson19 import EXERCISES, solved_kepler, unrolled_slope
from minigrad.lessons.grading import check

import minigrad as mg

from .sheet_tests import SheetTests
from .wrong.fixed_point_answers import FIXED, SETTLE
from .wrong.own_engine_answers import names_of

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "19_fixed_points.ipynb"


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


def test_a_right_rule_in_another_form_passes():
    inverse = lambda Jz, Ja, g: list(-(np.linalg.inv(Jz) @ Ja).T @ g)
    assert check("pull_root", inverse).passed

    def pull_kepler(E, e, g):
        to_m = g / (1 - e * np.cos(E))
        return [to_m, to_m * np.sin(E)]

    assert check("pull_kepler", pull_kepler).passed


def test_a_loop_that_begins_with_zeros_or_asks_for_less_settles_as_well():
    def from_zeros(pull, g):
        u, change = 0 * g, 1.0
        while change > 1e-13 * np.max(np.abs(g)):
            u, before = pull(u) + g, u
            change = np.max(np.abs(u - before))
        return u.tolist()

    assert check("settle", from_zeros).passed
    terms = """
def settle(pull, g):
    u = term = g
    while np.linalg.norm(term) > 1e-11:
        term = pull(term)
        u = u + term
    return u
"""
    assert check("settle", names_of(terms)["settle"]).passed


def test_a_fixed_point_by_a_loop_of_its_own_passes():
    own_loop = """
def fixed_point(step, z, *inputs):
    constants = [Tensor(t.value) for t in inputs]
    for _ in range(150):
        z = step(Tensor(z), *constants).value

    def pull(g):
        at = [Tensor(z), *constants]
        u = [g]
        order = topological_order(Tensor(0.0, (step(*at),), lambda _: (u[0],)))
        for _ in range(150):
            u[0] = g + gradients(order, at)[0]
        return tuple(gradients(order, at)[1:])

    return Tensor(z, inputs, pull)
"""
    assert check("fixed_point", names_of(own_loop)["fixed_point"]).passed
    assert check("fixed_point", names_of(SETTLE, FIXED)["fixed_point"]).passed


STEPS = {
    "alternates": lambda z, a: a - z,
    "grows": lambda z, a: 2 * z + a,
    "is not a number": lambda z, a: z + a * float("nan"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_search_that_does_not_settle_ends_with_an_error(name):
    """The lesson's two searches: that of the engine, and the Function of its last section."""
    cells = {c["id"]: "".join(c["source"]) for c in json.loads(LESSON.read_text("utf-8"))["cells"]}
    scope = {"np": np, "mg": mg, "Function": mg.autograd.Function}
    exec(cells["search"].partition("\n\n\nprint")[0], scope)
    exec(cells["implicit"], scope)
    step, a = STEPS[name], mg.tensor([1.0, 2.0], dtype=mg.float64, requires_grad=True)
    with np.errstate(all="ignore"):
        with pytest.raises(RuntimeError, match="does not settle"):
            scope["search"](lambda z: step(z, np.ones(2)), np.zeros(2))
        with pytest.raises(RuntimeError, match="does not settle"):
            scope["FixedPoint"].apply(step, mg.zeros(2, dtype=mg.float64), a)


def test_unrolled_slopes_are_the_sums_of_a_series_that_ends_at_the_rule():
    """dE/dM at the perihelion: 1 + e + e² + …, and 1/(1 − e) by the equation."""
    for rounds in (1, 2, 3, 60):
        np.testing.assert_allclose(unrolled_slope(rounds), sum(0.6**k for k in range(rounds)))
    np.testing.assert_allclose(unrolled_slope(60), 1 / (1 - 0.6))


def test_solved_kepler_satisfies_the_equation_for_slow_and_fast_planets():
    m, e = np.meshgrid(np.linspace(-7, 7, 29), [0.0, 0.3, 0.6, 0.9])
    place = solved_kepler(m, e)
    np.testing.assert_allclose(place - e * np.sin(place), m, atol=1e-12)


def test_the_fixed_point_of_the_engine_keeps_one_node_and_the_gradient_of_the_unrolled_loop():
    fixed_point = names_of(SETTLE, FIXED)["fixed_point"]
    w, b = np.array([[0.3, -0.2], [0.1, 0.4]]), np.array([[2.0], [1.5]])
    step = lambda z, w, b: (w @ z + b).log()
    found = {}
    for rounds in (0, 80):
        leaves = own_engine.Tensor(w), own_engine.Tensor(b)
        y = own_engine.Tensor(np.ones((2, 1)))
        for _ in range(rounds):
            y = step(y, *leaves)
        y = y if rounds else fixed_point(step, y.value, *leaves)
        order = own_engine.topological_order(y.pow(2).sum())
        found[rounds] = len(order), own_engine.gradients(order, leaves)
    assert found[0][0] == 5 < 3 * 80 < found[80][0]
    for implicit, unrolled in zip(found[0][1], found[80][1], strict=True):
        np.testing.assert_allclose(implicit, unrolled, rtol=1e-9)
