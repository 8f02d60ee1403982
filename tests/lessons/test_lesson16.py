"""Lesson 16: its exercises judge as they should, and its two operations differentiate in an engine
of one's own.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
from minigrad.lessons.exercises import own_engine
from minigrad.lessons.exercises.lesson16 import EXERCISES, multiplications
from minigrad.lessons.grading import check

from .sheet_tests import SheetTests

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "16_matrix_calculus.ipynb"


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


def test_a_right_rule_in_another_form_passes():
    inv = np.linalg.inv
    assert check("pull_solve", lambda a, b, y, g: [-(inv(a).T @ g @ y.T), inv(a).T @ g]).passed
    assert check("pull_logdet", lambda a, g: np.linalg.solve(a, g * np.eye(len(a))).T).passed

    def backprop(weights, values, g):
        if not weights:
            return ()
        slope = g * (1 - values[-1] ** 2)
        return (*backprop(weights[:-1], values[:-1], weights[-1].T @ slope), slope @ values[-2].T)

    assert check("backprop", backprop).passed


def test_the_adjoint_of_the_data_is_not_counted():
    """What the engine counts is one product forward and two backward for each layer but one."""
    sizes, batch = (3, 5, 4, 2), 7
    products = [batch * n * m for n, m in pairwise(sizes)]
    assert multiplications(sizes, batch) == (sum(products), 2 * sum(products) - products[0])


def test_the_loss_of_the_ellipse_is_stationary_at_the_covariance():
    """By the lesson's rules in the engine of the course: the gradient is 0 where A Aᵀ = X Xᵀ/n."""
    points = np.array([[1.9, 0.3], [0.4, 0.6]]) @ np.random.default_rng(3).normal(size=(2, 50))
    rule = lambda a, b, y, g: (-np.linalg.solve(a.T, g) @ y.T, np.linalg.solve(a.T, g))
    a = own_engine.Tensor(np.linalg.cholesky(points @ points.T / 50))
    b = own_engine.Tensor(points / 10)
    y = np.linalg.solve(a.value, b.value)
    solved = own_engine.Tensor(y, (a, b), lambda g: rule(a.value, b.value, y, g), "solve")
    inverse = np.linalg.inv(a.value).T
    logdet = own_engine.Tensor(
        np.linalg.slogdet(a.value)[1], (a,), lambda g: (g * inverse,), "logdet"
    )
    loss = logdet + solved.pow(2).sum()
    (found,) = own_engine.gradients(own_engine.topological_order(loss), [a])
    np.testing.assert_allclose(found, 0.0, atol=1e-12)
