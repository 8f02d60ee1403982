"""Lesson 6: what it says is so, and its exercises judge as they should."""

from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises.lesson06 import verdicts
from minigrad.lessons.grading import check, predict

import minigrad as mg

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "06_autograd_tour.ipynb"


def test_the_sheet_is_fit_to_grade_with(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


def test_the_properties_that_the_text_names(scope):
    assert (scope["J"] - scope["expected"]).abs().max().item() == 0
    assert scope["by_x"].tolist() == [[2, 0], [0, 2]]
    assert scope["by_y"].tolist() == [[3, 0], [0, 3]]
    assert scope["H"].shape == (2, 2, 2, 2)
    assert [scope[name].tolist() for name in ("xx", "xy", "yx", "yy")] == [
        [[4, 0], [0, 4]],
        [[0, 0]] * 2,
        [[0, 0]] * 2,
        [[6, 0], [0, 6]],
    ]
    x = mg.tensor([1.0, 2.0], dtype=mg.float64)
    assert mg.func.grad(scope["slope_along"])(x).tolist() == [6.0, 120.0]


def test_the_engine_has_forward_mode_whatever_a_page_once_said(scope):
    x, v = mg.rand(2, 2), mg.rand(2, 2)
    ways = [
        scope["jvp"](scope["exp_reducer"], x, v, strategy=way)[1].numpy()
        for way in ("forward-mode", "double-backward")
    ]
    np.testing.assert_allclose(*ways, rtol=1e-6)


def test_the_five_calls():
    assert verdicts() == {"a": "zeros", "b": "error", "c": "error", "d": "None", "e": "zeros"}


def sigmoid(rule):
    class Sigmoid(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            s = 1 / (1 + (-x).exp())
            ctx.save_for_backward(s)
            return s

        @staticmethod
        def backward(ctx, g):
            return rule(g, *ctx.saved_tensors)

    return Sigmoid


@pytest.mark.parametrize("rule, points, word", [
    (lambda g, s: g * s * (1 - s), 4, "right"),
    (lambda g, s: g * s, 1, "as the rule of exp does"),
    (lambda g, s: s * (1 - s), 1, "multiply by it"),
    (lambda g, s: mg.tensor(g.detach().numpy() * s.detach().numpy() * (1 - s.detach().numpy())), 3,
        "differentiated again (0 of 1)"),
    (lambda g, s: None, 1, "gave nothing (None). Is a `return` missing in it?"),
])  # fmt: skip
def test_the_sigmoid_is_checked(rule, points, word):
    said = check("sigmoid_function", sigmoid(rule))
    assert said.points == points, str(said)
    assert word in str(said)


def test_a_sigmoid_that_is_no_class_is_reported():
    assert "should be a class" in str(check("sigmoid_function", lambda x: x))


def test_slips_are_recognised():
    assert check("verdicts", {letter: "zeros" for letter in "abcde"}).points == 1.5
    assert "no word yet" in str(check("verdicts", {"a": "zeros"}))
    assert "The second one adds" in str(predict("twice", 6))
    assert "spread over the rows" in str(check("exp_reducer_vjp", lambda x, g: g * np.exp(x)))
    assert "the first derivative" in str(
        check("hessian_times", lambda f, x, v: mg.autograd.grad(f(x), x)[0])
    )
