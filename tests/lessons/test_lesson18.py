"""Lesson 18: its exercises judge as they should, and what it says of its two races is measured."""

from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises import own_engine
from minigrad.lessons.exercises.lesson18 import EXERCISES, steps_to_solve
from minigrad.lessons.grading import check

from minigrad.watch import trace_function

from .sheet_tests import SheetTests
from .wrong import valley_answers as answers

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "18_down_the_valley.ipynb"


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


def test_right_answers_pass_with_the_lent_engine():
    assert check("both_products", answers.jvp, answers.vjp).passed
    assert check("cg_step", answers.cg_step).passed
    assert check("newton_direction", answers.newton_direction).passed
    chained = lambda r, x, v: answers.vjp(r, x, answers.jvp(r, x, v))
    assert check("gauss_newton", chained).passed


def test_right_answers_in_another_form_pass():
    def vjp(f, x, g):  # the gradient of ⟨g, J v⟩ with respect to v
        v = own_engine.Tensor(np.zeros(np.shape(x)))
        slope = (f(own_engine.Dual(own_engine.Tensor(x), v)).tangent * own_engine.Tensor(g)).sum()
        return own_engine.gradients(own_engine.topological_order(slope), [v])[0]

    def cg_step(x, r, d, Ad):  # the textbook's first form of both factors
        t = np.sum(d * r) / np.sum(d * Ad)
        r = r - t * Ad
        return [x + t * d, r, r - np.sum(r * Ad) / np.sum(d * Ad) * d]

    def newton_direction(product, gradient, tolerance):  # the last direction where it bends down
        p, r, d = np.zeros_like(gradient), -gradient, -gradient
        while np.sqrt(np.sum(r * r)) > tolerance * np.sqrt(np.sum(gradient**2)):
            Hd = product(d)
            if np.sum(d * Hd) <= 0:
                return d
            p, r, d = cg_step(p, r, d, Hd)
        return p

    assert check("both_products", answers.jvp, vjp).passed
    assert check("cg_step", cg_step).passed
    assert check("newton_direction", newton_direction).passed


def test_the_steps_are_as_many_as_the_different_eigenvalues():
    assert [steps_to_solve(range(1, k + 1), 60) for k in (1, 2, 5)] == [1, 2, 5]


def test_the_lent_engine_has_second_derivatives():
    """H ẋ of its `hvp` is the tangent of a gradient that is written out by hand."""
    cube = lambda x: (x * x * x / x.exp()).sum()
    x, dx = np.array([0.5, -1.2, 2.0]), np.array([1.0, 0.3, -0.7])
    slope = lambda x: (x * x * (own_engine.Dual(*map(own_engine.Tensor, (3.0, 0.0))) - x)) / x.exp()
    np.testing.assert_allclose(
        own_engine.hvp(cube, x, dx), answers.jvp(slope, x, dx), rtol=1e-12, atol=1e-12
    )


@pytest.mark.whole
def test_the_sweep_in_the_viewer_ends_with_a_column_of_the_hessian(scope):
    trace = trace_function(scope["sweep"], -1.2, 1.0, mode="forward", tangents=(1.0, 0.0))
    tangents = [
        value
        for step in trace["steps"]
        if step["phase"] == "tangent"
        for _, _, value in step["writes"]
    ]
    right = scope["hvp"](scope["valley"], scope["start"], np.array([[1.0], [0.0]])).ravel()
    assert tangents[-1] == pytest.approx(right[0])
    assert any(value == pytest.approx(right[1]) for value in tangents)


@pytest.mark.whole
def test_the_races_end_as_the_lesson_says(scope):
    """Newton-CG first, by far; crawling with a loose tolerance; a fit in four steps."""
    arrivals = scope["arrivals"]
    assert list(arrivals) == sorted(arrivals, key=lambda name: arrivals[name])
    assert 1.5 * arrivals["Newton-CG"] < arrivals["momentum"]
    assert arrivals["gradient descent"] == float("inf")
    value = lambda f, x: float(f(scope["still"](x)).value.value)
    run = scope["Metered"](scope["valley"])
    end = scope["newton_cg"](run, scope["start"], tolerance=0.1)[-1][1]
    assert run.paid > arrivals["Newton-CG"]
    assert value(scope["valley"], end) > 1
    misfits = [value(scope["misfit"], x) for _, x in scope["silver_path"]]
    assert misfits[4] < 1.001 * misfits[-1]
    assert misfits[0] > 10 * misfits[-1]
