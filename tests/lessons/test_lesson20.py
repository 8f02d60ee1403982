"""Lesson 20: its exercises judge as they should, its two adjoints differ as it says, and its
schedule is the best one.
"""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons import static_figures
from minigrad.lessons.exercises.lesson20 import (
    EXERCISES,
    difference_of_adjoints,
    farthest,
    least_runs,
    states_kept,
)
from minigrad.lessons.grading import check

from .sheet_tests import SheetTests
from .wrong import simulator_answers
from .wrong.own_engine_answers import names_of

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "20_through_a_simulator.ipynb"
SHORTER = {"through-time": ("n=200", "n=40")}


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


def test_right_answers_in_other_forms_pass():
    def pull_steps(jacobians, h, g):
        moved = np.eye(len(g))
        for jacobian in jacobians[:-1]:
            moved = (np.eye(len(g)) + h * jacobian) @ moved
        return moved.T @ g

    assert check("pull_steps", pull_steps).passed
    assert check("adjoint_rates", lambda J, F, a: [-(a @ J), -(a @ F)]).passed
    assert check("steer", lambda J, u, miss: np.linalg.pinv(J) @ (J @ u - miss)).passed


def test_other_good_cuts_pass():
    """The earliest good cut, where the lesson's solution takes the latest; and a recursion."""

    def reach(slots, runs):
        return 1 if not slots or not runs else reach(slots, runs - 1) + reach(slots - 1, runs)

    def split(n, slots):
        runs = next(r for r in range(n) if reach(slots, r) >= n)
        return max(1, n - reach(slots - 1, runs))

    assert check("schedule", reach, split).passed
    scope = names_of(simulator_answers.TOOLS, simulator_answers.SWEEP)
    assert check("sweep", scope["sweep"]).passed
    scope["split"] = split
    assert check("sweep", scope["sweep"]).passed


def test_the_search_through_all_schedules_finds_the_binomial_coefficients():
    for slots in range(1, 5):
        for runs in range(5):
            assert farthest(slots, runs) == math.comb(slots + runs, slots)
    assert least_runs(2, 0) == math.inf


@pytest.mark.parametrize(
    ("calls", "kept"),
    [
        ([0], 1),
        ([0, 1, 2, 0, 1, 0], 1),
        ([0, 1, 2, 1, 0], 2),
        ([0, 1, 2, 3, 3, 2, 1, 0], 4),
        ([0, 1, 2, 3, 2, 0, 1, 0], 2),
    ],
)
def test_kept_states_are_counted_from_the_order_of_the_runs(calls, kept):
    assert states_kept(calls) == kept


def test_the_picture_of_the_schedule_keeps_three_states_and_runs_no_step_thrice():
    actions = static_figures.schedule_of(10, 3)
    calls = [number for what, number in actions if what in ("run", "pull")]
    assert states_kept(calls) == 3
    assert max(Counter(number for what, number in actions if what == "run").values()) == 2
    assert [number for what, number in actions if what == "pull"] == list(range(10))[::-1]


@pytest.mark.parametrize("order", [1, 2])
def test_the_adjoints_differ_by_the_order_of_the_rule(order):
    coarse, fine = (difference_of_adjoints(n, order) for n in (400, 800))
    assert coarse / fine == pytest.approx(2**order, rel=0.05)


@pytest.mark.whole
def test_throws_and_flights_arrive_where_the_lesson_says(scope, capsys):
    paths = scope["practise"](np.array([2.0, 7.0]))
    miss = [np.linalg.norm(path[-1].value[0] - scope["BASKET"]) for path in paths]
    assert miss[0] > 2 and miss[-1] < 0.02 and miss == sorted(miss, reverse=True)
    assert np.allclose(scope["flown"](scope["plans"][-1])[-1], scope["GOAL"], atol=1e-4)
    drawn = static_figures.throws(2)
    assert np.allclose(drawn[1], [state.value[0] for state in paths[1]])
