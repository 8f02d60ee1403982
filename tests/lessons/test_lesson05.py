"""Lesson 5: what it says is so, and its exercises judge as they should."""

from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises.lesson05 import POINT
from minigrad.lessons.grading import check, predict

import minigrad as mg

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "05_tensors.ipynb"


def test_the_sheet_is_fit_to_grade_with(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


def test_the_lessons_point_is_the_exercises(scope):
    assert (scope["point"].numpy() == POINT).all()


def test_the_tensor_class_agrees_with_the_engine(scope):
    """Each operation of the class, with broadcasting, against minigrad: its pull is the engine's
    cotangent.
    """
    tensor, rng = scope["Tensor"], np.random.default_rng(0)
    draw = lambda *shape: rng.uniform(0.5, 2, size=shape)
    for run, arrays in [
        (lambda a, b: a + b, (draw(2, 3), draw(3))), (lambda a, b: a - b, (draw(2, 1), draw(4))),
        (lambda a, b: a - b, (draw(), draw(2))),
        (lambda a, b: a @ b, (draw(2, 3), draw(3, 4))), (lambda a: a.exp(), (draw(2, 3),)),
        (lambda a: a.t(), (draw(2, 3),)),
        (lambda a: a.pow(3), (draw(4),)), (lambda a: a.sum(), (draw(2, 3),)),
        (lambda a: a.sum(1), (draw(2, 3),)),
    ]:  # fmt: skip
        made = run(*map(tensor, arrays))
        value, pull = mg.func.vjp(run, *(mg.tensor(a) for a in arrays))
        assert made.value == pytest.approx(value.numpy())
        g = rng.uniform(-1, 1, size=made.value.shape)
        for ours, theirs in zip(made.pull(np.asarray(g)), pull(mg.tensor(g)), strict=True):
            assert ours.shape == tuple(theirs.shape)
            assert ours == pytest.approx(theirs.numpy(), rel=1e-12)


@pytest.mark.parametrize("name, wrong, word", [
    ("bar-squares", 0.25, "mean"), ("bar-corner", -2.0, "through the transpose"),
    ("bar-corner", 2.0, "through the exponential"),
    ("bar-corner", -4.0, "other sign"), ("bar-bias", 1, "all 4 rows"),
    ("bar-bias", 12, "one column only"),
])  # fmt: skip
def test_slips_of_predictions_are_recognised(name, wrong, word):
    assert word in str(predict(name, wrong))


@pytest.mark.parametrize("name, wrong, points, word", [
    ("pull_exp", lambda x, g: np.exp(x), 0, "left out `g`"),
    ("pull_exp", lambda x, g: g * x * np.exp(x - 1), 0, "the rule of xⁿ"),
    ("pull_exp", lambda x, g: np.exp(g), 0, "belongs to the input x"),
    ("pull_t", lambda x, g: g, 0, "has to be moved back"),
    ("pull_t", lambda x, g: x.T, 0, "you transposed x"),
    ("pull_t", lambda x, g: g * x.T, 0, "you multiply by x"),
    ("pull_t", lambda x, g: g.reshape(x.shape), 0, "left its elements in their order"),
    ("pull_sum", lambda x, axis, g: g * np.ones(x.shape), 1, "axis"),
    ("pull_sum", lambda x, axis, g: g, 0, "copy"),
    ("unbroadcast", lambda g, shape: g.sum(axis=tuple(range(g.ndim - len(shape)))), 1, "stretched"),
    ("pull_matmul", lambda a, b, g: (g @ b, a @ g), 0, ""),
    ("pull_matmul", lambda a, b, g: (a.T @ g, g @ b.T), 0, ""),
])  # fmt: skip
def test_wrong_rules_are_found_out(name, wrong, points, word):
    said = check(name, wrong)
    assert not said.passed
    assert said.points == points
    assert word in str(said)


def test_other_right_ways_are_right():
    assert check(
        "pull_sum",
        lambda x, axis, g: np.ones_like(x) * (g if axis is None else np.expand_dims(g, axis)),
    ).passed
    assert check(
        "pull_matmul", lambda a, b, g: [np.einsum("ij,kj->ik", g, b), np.einsum("ik,ij->kj", a, g)]
    ).passed
    assert check("pull_t", lambda x, g: np.swapaxes(g, 0, 1)).passed


def test_the_engines_own_rule_may_not_be_called_in_a_hand_in():
    from minigrad.lessons.exercises.lesson05 import EXERCISES

    assert all(
        "derivatives" in EXERCISES[n].forbid
        for n in ("pull_exp", "pull_t", "pull_sum", "unbroadcast", "pull_matmul")
    )
