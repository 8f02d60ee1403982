"""Lesson 21: its exercises judge as they should, and its colourings are what the lesson says."""

import json
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises.lesson21 import (
    COLUMNS,
    EXERCISES,
    PUZZLE,
    clash,
    conflicts,
    fewest,
    greedy,
    largest_first,
    transposed,
)
from minigrad.lessons.grading import check

from .sheet_tests import SheetTests
from .wrong import colouring_answers
from .wrong.own_engine_answers import names_of

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "21_fewest_colours.ipynb"


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


# -------------------------------------------------------------------- what is right in another form


def test_any_colouring_with_the_fewest_colours_wins_the_game():
    four = fewest(PUZZLE, COLUMNS)
    for shift in range(4):
        assert check("game", [(c + shift) % 4 for c in four]).passed
    assert check("game", np.array(four)).passed


@pytest.mark.parametrize("seed", range(3))
def test_columns_with_equally_many_conflicts_may_come_in_any_order(seed):
    def colouring(rows, n):
        near = conflicts(rows, n)
        order = np.random.default_rng(seed).permutation(n).tolist()
        return np.array(greedy(near, sorted(order, key=lambda j: -len(near[j]))))

    assert check("colouring", colouring).passed


def test_seeds_and_entries_by_loops_pass():
    def seeds(colours):
        found = [[0] * len(colours) for _ in range(max(colours) + 1)]
        for j, c in enumerate(colours):
            found[c][j] = 1
        return found

    def recover(rows, colours, passes):
        by_result = np.array(passes).T
        return [by_result[i][np.array(colours)[row]] for i, row in enumerate(rows)]

    assert check("compressed", seeds, recover).passed


def test_a_jacobian_that_unpacks_the_transposed_pattern_passes():
    other = """
def jacobian(f, x, rows, colours):
    k = max(colours) + 1
    X = Tensor(np.ones((k, 1)) * x)
    seed = Tensor(0.0, (f(X),), lambda _: (np.array(seeds(colours)),))
    (passes,) = gradients(topological_order(seed), [X])
    return [passes[c][row] for c, row in zip(colours, rows)]
"""
    scope = names_of(colouring_answers.TOOLS, other)
    assert check("jacobian", scope["jacobian"]).passed


# --------------------------------------------------------------------------- what the lesson claims


def test_the_puzzle_of_the_lesson_is_the_one_that_is_judged():
    cells = json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
    (source,) = ["".join(cell["source"]) for cell in cells if cell["id"] == "puzzle"]
    names: dict = {}
    exec(source.partition("INK")[0], names)
    assert names["puzzle"] == PUZZLE


def test_the_greedy_rule_takes_one_colour_more_than_the_fewest_in_any_order_of_ties():
    near = conflicts(PUZZLE, COLUMNS)
    rng = np.random.default_rng(0)
    assert max(fewest(PUZZLE, COLUMNS)) + 1 == 4 == max(map(len, PUZZLE))
    for _ in range(50):
        order = sorted(rng.permutation(COLUMNS).tolist(), key=lambda j: -len(near[j]))
        assert max(greedy(near, order)) + 1 == 5
    assert max(greedy(near, range(COLUMNS))) + 1 == 5


@pytest.mark.parametrize("seed", range(5))
def test_colourings_are_right_and_within_their_bounds(seed):
    rng = np.random.default_rng(seed)
    rows = [rng.choice(9, size=rng.integers(1, 5), replace=False).tolist() for _ in range(8)]
    near = conflicts(rows, 9)
    best, found = fewest(rows, 9), largest_first(near)
    assert clash(rows, best) is None and clash(rows, found) is None
    longest = max(map(len, rows))
    degrees = sorted(map(len, near), reverse=True)
    welsh_powell = max(min(degree + 1, place) for place, degree in enumerate(degrees, 1))
    assert longest <= max(best) + 1 <= max(found) + 1 <= welsh_powell <= 1 + degrees[0]
    assert transposed(transposed(rows, 9), len(rows)) == [sorted(row) for row in rows]


@pytest.mark.parametrize("n", [3, 10, 31])
def test_a_knights_move_colours_a_plate_with_five_and_the_greedy_rule_takes_more(n):
    inside = lambda *place: all(0 <= p < n for p in place)
    near = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))
    rows = [
        [(i + d) * n + j + r for d, r in near if inside(i + d, j + r)]
        for i in range(n)
        for j in range(n)
    ]
    knight = [(i + 2 * j) % 5 for i in range(n) for j in range(n)]
    assert clash(rows, knight) is None
    assert max(map(len, rows)) == 5
    if n > 3:
        assert max(largest_first(conflicts(rows, n * n))) + 1 == 7


@pytest.mark.whole
def test_the_plate_comes_into_balance(scope, capsys):
    assert max(scope["plate_colours"]) + 1 == 7
    balanced = scope["balanced"]
    rest = scope["balance"](scope["Tensor"](balanced[None])).value
    assert np.max(np.abs(rest)) < 1e-9
    assert balanced.min() > 0
