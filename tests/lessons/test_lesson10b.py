"""Lesson 10b: what it says is so, and its exercises judge as they should."""

import re
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises.lesson10b import EXERCISES
from minigrad.lessons.grading import check, predict
from minigrad.lessons.grading.checking import check_exercise

import minigrad as mg

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "10b_batch_norm_and_training.ipynb"


@pytest.mark.whole
def test_the_sheet_is_fit_to_grade_with(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


def test_the_training_learns_and_the_running_statistics_catch_up(scope):
    net = scope["net"].eval()
    with mg.no_grad():
        right = (
            (net(scope["images"][1500:]).argmax(1) == scope["labels"][1500:]).float().mean().item()
        )
    assert right > 0.85
    assert float(re.match(r"[\d.]+", scope["by_running"])[0]) == pytest.approx(
        100 * right, abs=0.06
    )


def test_along_the_gradient_a_change_of_the_pixels_harms_more_than_at_random(scope):
    x, t = scope["images"][1500:], scope["labels"][1500:]
    scope["net"].eval()

    def misread(change):
        with mg.no_grad():
            return (scope["net"](change).argmax(1) != t).float().mean().item()

    changed = scope["fooling"](x, t, 0.15)
    assert (changed - x).abs().max().item() == pytest.approx(0.15, rel=1e-5)
    assert 0 <= changed.min().item() <= changed.max().item() <= 1
    assert misread(x) < 0.15
    assert misread(changed) > 0.5 > 2 * misread(scope["noisy"](x, t, 0.15))


def test_the_other_way_to_write_the_rule_is_right_too():
    assert check("adjoint_centred", lambda g: (np.eye(len(g)) - 1 / len(g)) @ g).passed


@pytest.mark.parametrize("name, wrong, word", [
    ("running-mean", 5, "by a tenth only"), ("running-mean", 4.5, "not of the old one"),
    ("equal-filters", 4, "tell the four apart"),
])  # fmt: skip
def test_slips_of_predictions_are_recognised(name, wrong, word):
    assert word in str(predict(name, wrong))


@pytest.mark.parametrize("seed", range(3))
def test_the_solution_is_right_for_random_cases(scope, seed):
    assert check_exercise(EXERCISES["adjoint_centred"], [scope["adjoint_centred"]], seed).passed
