"""Lesson 24b: names whose probabilities are known, and checks that only a right network passes."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises import lesson24b
from minigrad.lessons.exercises.lesson24b import EXERCISES
from minigrad.lessons.grading import check, predict

import minigrad as mg
from minigrad.data.village_names import (
    BEGINNINGS,
    LETTERS,
    MIDDLES,
    SOUNDS,
    surprise_of,
    villages,
)

from .sheet_tests import SheetTests
from .wrong import capstone_answers
from .wrong.own_engine_answers import names_of

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "24b_names.ipynb"


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


# ---------------------------------------------------------------------------------------- the names


def test_the_names_are_the_same_for_a_seed_and_follow_the_rules():
    names = villages(500, seed=3)
    assert names == mg.data.villages(500, seed=3) != villages(500, seed=4)
    assert all(math.isfinite(surprise_of(name)) for name in names)
    assert set("".join(names)) <= set(LETTERS)
    assert villages(2, seed=0) == ["mindifell", "hondarkoholm"]
    for bad in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            villages(bad)


def test_the_probabilities_of_the_names_are_how_often_they_come():
    some, draws = set(villages(400, seed=6)), 20_000
    expected = draws * sum(math.exp(-surprise_of(name)) for name in some)
    assert expected > 200
    found = sum(name in some for name in villages(draws, seed=5))
    assert found == pytest.approx(expected, rel=0.25)


def test_all_names_together_have_the_probability_one():
    seen = set()
    for vowels, endings in SOUNDS:
        starts = [b + v for b in BEGINNINGS for v in vowels]
        middles = [m + v for m in MIDDLES for v in vowels]
        for start in starts[:4]:
            for middle in middles:
                for ending in endings:
                    seen |= {start + middle + ending}
                    seen |= {start + middle + other + ending for other in middles}
    total = sum(math.exp(-surprise_of(name)) for name in seen)
    assert total == pytest.approx(4 / 36, rel=1e-9)


@pytest.mark.parametrize("name", ["", "bo", "boladel", "boledal", "bolada", "xoladal", "boladalx"])
def test_names_that_break_a_rule_have_no_probability(name):
    assert surprise_of(name) == math.inf


def test_knowing_more_letters_lowers_the_loss_towards_the_floor():
    floor = lesson24b.floor_of(villages(5_000, seed=102))
    levels = [math.log(22), *(lesson24b.counted_loss(n) for n in (0, 1, 2)), floor]
    assert levels == sorted(levels, reverse=True)
    assert levels[2] == pytest.approx(1.90, abs=0.005)  # as the lesson says
    assert floor == pytest.approx(1.117, abs=0.01)


def test_the_floor_over_all_names_is_that_of_the_text():
    """The mean surprise of a name over its mean length, by the rules."""
    mean = lambda words: sum(map(len, words)) / len(words)
    log = lambda words: math.log(len(words))
    endings = [ending for _, some in SOUNDS for ending in some]
    syllables, vowels = 1.5, math.log(3)
    surprise = 2 * math.log(2) + log(BEGINNINGS) + vowels + log(endings[: len(endings) // 2])
    surprise += syllables * (log(MIDDLES) + vowels)
    length = mean(BEGINNINGS) + 1 + syllables * (mean(MIDDLES) + 1) + mean(endings) + 1
    assert f"it is {surprise / length:.3f}; a sample" in cell_of("floor-text")


def cell_of(name):
    cells = json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
    return next("".join(cell["source"]) for cell in cells if cell["id"] == name)


def test_training_for_fewer_steps_than_it_prints():
    scope, values = names_of(), [np.ones(2)]
    scope |= {"train_names": ["bo"] * 2000, "fresh_names": ["bo"], "perf_counter": lambda: 0.0}
    scope["first_values"] = lambda hidden, seed: values
    scope["loss_of"] = lambda given, names: (scope["Tensor"](1.0), given)
    scope["gradients"] = lambda order, wanted: values
    exec("def train(" + cell_of("train").partition("def train(")[2], scope)
    assert len(scope["train"](5)[1]) == 5


# -------------------------------------------------------------------------------------- the checks


@pytest.mark.parametrize("said, right", [(math.log(22), 1), (3.09, 1), (3.1, 1), (3.0, 0)])
def test_two_digits_of_a_prediction_are_enough(said, right):
    assert predict("untrained-loss", said).points == right


def test_the_lessons_own_answers_pass():
    scope = names_of(capstone_answers.TANH, capstone_answers.UNROLL, capstone_answers.LOSS)
    assert check("unroll", scope["unroll"]).passed
    assert check("name_loss", scope["name_loss"]).passed


OTHER_LOSS = """
def name_loss(scores, targets, weights):
    parts = []
    for s, target, weight in zip(scores, targets, weights):
        z = s - Tensor(s.value.max())
        chance = (z.exp() * Tensor(target)).sum(1) / z.exp().sum(1)
        parts.append((chance.log() * Tensor(-weight / sum(map(np.sum, weights)))).sum())
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
"""


def test_a_loss_by_probabilities_passes_but_for_large_scores():
    feedback = check("name_loss", names_of(OTHER_LOSS)["name_loss"])
    assert feedback.points == 2


@pytest.mark.parametrize(
    "pick",
    [
        lambda p, u: int(np.argmax(np.cumsum(p) > u)),
        lambda p, u: next(i for i in range(len(p)) if u < sum(p[: i + 1]) or i == len(p) - 1),
        lambda p, u: len(p) - 1 - int(np.argmax(np.cumsum(p[::-1]) > u)),
    ],
)
def test_draws_in_other_forms_pass(pick):
    assert check("pick", pick).passed


def test_a_network_of_pairs_of_letters_knows_no_more_than_pairs():
    """One hidden unit for each letter, no memory: the best such network is the table of pairs."""
    read, wanted, counts = lesson24b.encoded(villages(20_000, seed=7))
    pairs = np.full((22, 22), 1e-6)
    np.add.at(pairs, (read[counts > 0], wanted[counts > 0]), 1.0)
    E = 3 * np.eye(22)
    scores = np.log(pairs / pairs.sum(axis=1, keepdims=True)) / math.tanh(3)
    table = [E, np.zeros((22, 22)), np.zeros(22), scores, np.zeros(22)]
    loss = lesson24b.loss_on(table, villages(3_000, seed=8))
    assert loss == pytest.approx(lesson24b.counted_loss(1), abs=0.02)
    feedback = check("trained", table)
    assert feedback.points == 0
    assert "vowels of one kind" in str(feedback)


@pytest.mark.whole
def test_the_lessons_network_comes_near_the_floor_and_writes_new_names(scope):
    assert check("trained", scope["trained"]).points == 4
    made = lesson24b.written(scope["trained"], 200, np.random.default_rng(0))
    assert lesson24b.of_one_kind(made) > 0.95
    assert len(set(made) - set(scope["train_names"])) > 150
    fresh = float(scope["loss_of"](scope["trained"], scope["fresh_names"])[0].value)
    assert scope["floor"] < fresh < scope["floor"] + 0.06
    assert fresh == pytest.approx(
        lesson24b.loss_on(scope["trained"], scope["fresh_names"]), rel=1e-9
    )
