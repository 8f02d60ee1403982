"""Lesson 12: what it says and measures is so, and its exercises judge as they should."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises.drive12 import looked_at, plain
from minigrad.lessons.exercises.lesson12 import OPERATIONS, PROGRAMS, fate, keeps, kept_at_most
from minigrad.lessons.grading import check, predict

import minigrad as mg
from minigrad.watch import trace_function

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "12_memory.ipynb"
LENGTH = 100_000


@pytest.mark.whole
def test_the_sheet_is_fit_to_grade_with(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


def pieces(k):
    return lambda stages, x: mg.checkpoint_sequential(stages, k, x)


@pytest.mark.parametrize(
    "n, k", [(16, 1), (16, 2), (16, 4), (16, 8), (16, 16), (12, 3), (12, 4), (20, 10)]
)
def test_the_formula_is_what_python_measures(n, k):
    """Python does not see x, but sees the adjoint and a product that are under way: together one
    more than is kept, or none.
    """
    x = np.random.default_rng(0).uniform(-1, 1, LENGTH)
    peak = looked_at(pieces(k), [mg.sin] * n, x)[2] / x.nbytes
    assert -0.05 < peak - kept_at_most(n, k) < 1.3
    assert kept_at_most(n, k) == n // k + k - 1


@pytest.mark.whole
def test_what_the_lesson_measures(scope):
    assert scope["arrays_at_peak"](
        lambda: scope["sines"](16, scope["x"]).backward()
    ) == pytest.approx(16.5, abs=0.8)
    assert scope["arrays_left"](
        lambda: [scope["sines"](5, scope["x"]) for _ in range(10)]
    ) == pytest.approx(40, abs=0.5)
    assert (
        scope["arrays_left"](lambda: [scope["sines"](5, scope["x"]).detach() for _ in range(10)])
        < 0.5
    )
    assert scope["arrays_at_peak"](scope["without_recording"]) < 3.5
    assert scope["runs"] == 64 + 56
    memory = scope["memory"]
    assert memory["without plan"] <= memory["with plan"] < memory["all"] / 2


def test_what_is_kept(scope):
    assert {name: keeps(name) for name in OPERATIONS} == scope["kept"]
    assert {row: fate(row) for row in PROGRAMS} == scope["fates"]


def test_the_memory_view_has_what_the_text_points_at(scope):
    steps = trace_function(scope["chain"], [0.1, 0.2, 0.3], mode="reverse")["steps"]
    assert sum(len(s.get("free", ())) for s in steps) == 8
    again = [
        s
        for s in trace_function(scope["chain_in_pieces"], [0.1, 0.2, 0.3], mode="reverse")["steps"]
        if s["say"].startswith("Computed again")
    ]
    assert len(again) == 6


def nested(stages, x):
    if len(stages) == 1:
        return stages[0](x)
    half = len(stages) // 2
    return nested(stages[half:], mg.checkpoint(lambda x: nested(stages[:half], x), x))


@pytest.mark.parametrize("frugal, points, word", [
    (pieces(8), 4, "right"),
    (pieces(2), 2, "at most a third"),
    (plain, 2, "Nothing is gained"),
    pytest.param(pieces(4), 4, "right", marks=pytest.mark.whole),
    pytest.param(nested, 3, "it should run at most 2 times", marks=pytest.mark.whole),
    (lambda stages, x: mg.checkpoint_sequential(stages[1:], 7, x), 1, "it should be all 36"),
    (lambda stages, x: mg.checkpoint_sequential(stages, 8, x.detach()), 0, ""),
])  # fmt: skip
def test_frugal_chains(frugal, points, word):
    said = check("frugal", frugal)
    assert said.points == points, str(said)
    assert word in str(said)
    assert not tracemalloc.is_tracing()


def test_any_best_number_of_segments_passes():
    assert check(
        "best_segments", lambda n: max(k for k in range(1, n + 1) if n % k == 0 and k * k <= n)
    ).passed
    assert "need not divide" in str(check("best_segments", lambda n: round(n**0.5)))
    assert check("most_kept", lambda n, k: n / k + k - 1).passed
    assert "one value twice" in str(check("most_kept", lambda n, k: n // k + k))


@pytest.mark.whole
def test_slips_are_recognised():
    assert "has a history" not in str(predict("leak", 40))
    assert "the input of the first sine is x" in str(predict("leak", 50))
    assert "x, which the first sine keeps" in str(predict("kept-chain", 168))
    assert "It matters only for values that are kept" in str(
        check("fates", dict.fromkeys("abcde", "error"))
    )
    assert "exp and tanh need their result" in str(
        check("fates", dict.fromkeys("abcde", "error") | {"a": "fine"})
    )
    assert "entry of `sin` is not right" in str(
        check("kept", {name: keeps(name) for name in OPERATIONS} | {"sin": "y"})
    )
    assert "`sin` has no entry yet." in str(
        check("kept", {name: keeps(name) for name in OPERATIONS if name != "sin"})
    )
