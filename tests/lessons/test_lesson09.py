"""Lesson 9: what it says is so, and its exercises judge as they should."""

from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises.lesson09 import network_loss, one_hot
from minigrad.lessons.grading import check, predict

import minigrad as mg

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "09_operations_only.ipynb"


def test_the_sheet_is_fit_to_grade_with(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


def test_the_loss_falls_in_each_of_the_ten_steps_but_only_in_the_third_digit(scope):
    losses = np.array(scope["losses"])
    assert len(losses) == 10
    assert (np.diff(losses) < 0).all()
    assert 1e-5 < losses[0] - losses[-1] < 1e-2
    assert losses[0] == pytest.approx(np.log(2), abs=0.01)


def test_of_a_frozen_layer_no_adjoint_is_computed(scope):
    named = {n.get("name", n["id"]): n["id"] for n in scope["frozen"]["nodes"]}
    written = {
        node
        for step in scope["frozen"]["steps"]
        for node, column, _ in step["writes"]
        if column == "g"
    }
    assert named["w1"] in written
    assert not {named["w0"], named["b0"]} & written
    assert scope["b0"].requires_grad  # and afterwards it is as before


def test_the_loss_of_the_judge_is_the_engines(scope):
    values = [p.detach().numpy() for p in (scope["w0"], scope["b0"], scope["w1"], scope["b1"])]
    own = network_loss(values, scope["x_data"], scope["labels"], 0)
    assert own == pytest.approx(scope["loss_of"]().item(), rel=1e-5)


def test_the_lessons_forward_pass_is_the_loss_of_its_rule(scope):
    """cross_entropy of section 5 and pull_cross_entropy belong together, and to the engine's
    loss.
    """

    class Held:
        def __init__(self, value, parents=(), pull=None, op=""):
            self.value, self.pull = np.asarray(value), pull

    scores, target = np.array([[1000.0, 0.0], [0.5, -0.5]]), one_hot([1, 0]).astype(float)
    made = scope["cross_entropy"](Held(scores), target)
    leaf = mg.tensor(scores, requires_grad=True)
    theirs = mg.nn.functional.cross_entropy(leaf, mg.tensor(target))
    theirs.backward()
    assert made.value == pytest.approx(theirs.item())
    assert made.pull(1.0)[0] == pytest.approx(leaf.grad.numpy())


@pytest.mark.parametrize("name, wrong, word", [
    ("pairs", 5, "do not store"), ("pairs", 6, "data"), ("pairs-feature", 4, "h itself"),
    ("pairs-frozen", 4, "cannot store"),
    ("pairs-frozen", 0, "still there"),
])  # fmt: skip
def test_slips_of_predictions_are_recognised(name, wrong, word):
    assert word in str(predict(name, wrong))


@pytest.mark.parametrize("name, wrong, points, word", [
    ("sgd", lambda p, g, s: None, 0, "not started"),
    ("sgd", lambda p, g, s: p + 0.05 * g, 0, "uphill"),
    ("sgd", lambda p, g, s: p - 0.1 * g, 0, "factor 2 too many"),
    ("pull_relu", lambda x, g: np.maximum(g, 0), 0, "decided by x"),
    ("pull_relu", lambda x, g: (x > 0) * 1.0, 1, "left out `g`"),
    ("pull_cross_entropy", lambda s, t, g: np.exp(s) / np.exp(s).sum(1, keepdims=True) * g - t, 1,
        ""),
    ("pull_cross_entropy", lambda s, t,
        g: g * (np.exp(s) / np.exp(s).sum(1, keepdims=True) - t) / len(s), 3, "large scores"),
])  # fmt: skip
def test_wrong_answers_are_found_out(name, wrong, points, word):
    with np.errstate(all="ignore"):
        said = check(name, wrong)
    assert not said.passed
    assert said.points <= points
    assert word in str(said)


def test_a_step_leaves_the_parameter_as_it_was():
    """The lesson takes its ten steps from the same first parameters as the engine's."""

    def sgd(p, g, state):
        p -= 0.05 * g
        return p

    said = check("sgd", sgd)
    assert said.points == 0
    assert "`sgd` changed its argument `p` in place" in str(said)


def test_a_training_that_does_not_train_is_below_no_bar(scope):
    def train(x, labels, seed):
        return [p.detach().numpy() for p in scope["parameters"]()]

    said = check("train", train)
    assert said.points == 0
    assert "should be at most 0.4" in str(said)
    assert "cannot be used" in str(check("train", lambda x, labels, seed: [1.0]))


def test_the_border_of_the_picture_bends_between_the_moons_after_a_longer_training(scope):
    x, labels = scope["x_data"], scope["labels"]
    values = scope["train"](x, labels, scope["SEED"])
    right = lambda: int((scope["answers"](x, *values) == labels).sum())
    assert 30 <= right() < 40
    values = scope["trained_further"](values, 3000)
    assert right() == 40
