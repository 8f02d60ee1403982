"""Lesson 11: its exercises judge as they should. That its training works is proved in
test_workshop.py and test_notebooks.py.
"""

from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises.lesson11 import BROKEN, EVERY, EXERCISES, network
from minigrad.lessons.grading import check, predict

from .sheet_tests import SheetTests

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "11_training.ipynb"
SHORTER = {"seeds": ("range(SEEDS)", "range(2)")}


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


def test_the_network_is_the_lessons():
    assert sum(p.numel() for p in network().parameters()) == 1427
    source = LESSON.read_text(encoding="utf-8")
    assert f"stop_in={BROKEN}" in source
    assert f"every={EVERY}" in source


@pytest.mark.parametrize("name, wrong, word", [
    ("parameters", 1350, "biases are missing"), ("parameters", 79, "neurons"),
    ("resumes", 217, "is lost"), ("resumes", 199, "exactly 200"),
    ("resumes", 250, "multiples of 50"), ("resumes", 0, "of no use"),
])  # fmt: skip
def test_slips_of_predictions_are_recognised(name, wrong, word):
    assert word in str(predict(name, wrong))


def forgetful(p, g, s):
    return p - 0.01 * g / (np.abs(g) + 1e-8)  # right in the first step only


@pytest.mark.parametrize("name, wrong, points, word", [
    ("bands", lambda c: (c.mean(axis=0), c.std(axis=0)), 0, "mean"),
    ("bands", lambda c: (np.median(c, axis=1), c.std(axis=1)), 0, "axis 0"),
    ("bands", lambda c: np.median(c, axis=0), 0, ""),
    ("early_stop", lambda losses, patience: int(np.argmin(losses)), 1, "stopped before"),
    ("early_stop", lambda losses, patience: len(losses), 0, ""),
    ("adam", forgetful, 1, "state"),
    ("adam", lambda p, g, s: p - 0.01 * g, 0, ""),
])  # fmt: skip
def test_wrong_answers_are_found_out(name, wrong, points, word):
    said = check(name, wrong)
    assert not said.passed
    assert said.points <= points
    assert word in str(said)


def test_an_adam_without_its_corrections_is_found_out():
    def adam(p, g, state):
        state["m"] = 0.9 * state.get("m", 0.0) + 0.1 * g
        state["v"] = 0.999 * state.get("v", 0.0) + 0.001 * g**2
        return p - 0.01 * state["m"] / (np.sqrt(state["v"]) + 1e-8)

    assert check("adam", adam).points == 0


def test_numpys_integers_are_an_index():
    def early_stop(losses, patience):
        best = 0
        for epoch in range(len(losses)):
            best = epoch if losses[epoch] < losses[best] else best
            if epoch - best == patience:
                break
        return np.int64(best)

    assert check("early_stop", early_stop).passed


@pytest.mark.whole
def test_the_scrubber_has_the_epochs_of_which_the_text_tells(scope):
    """However fast the training is: the border closes within the first forty epochs, and one can
    go through them slowly.
    """
    epochs = [snapshot["epoch"] for snapshot in scope["live"].history.snapshots]
    assert epochs == [1, *range(10, scope["EPOCHS"] + 1, 10)]
