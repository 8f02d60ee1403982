"""All tables of wrong answers, and how many of them are written, caught and named, by lesson.

`python -m tests.lessons.wrong.counts [TEXT]` checks each wrong answer as the notebook does and
prints the table; with TEXT for the exercises whose names contain it.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest
from minigrad.lessons.exercises import modules
from minigrad.lessons.grading import check, checking, known, predict
from minigrad.lessons.grading.exercise import Exercise
from minigrad.lessons.grading.feedback import Feedback
from minigrad.lessons.grading.sheet_modules import exercises_of

from tests.helpers.smaller_cases import smaller

from . import (
    answers,
    capstone_answers,
    colouring_answers,
    edge_answers,
    fixed_point_answers,
    later_answers,
    matrix_answers,
    own_engine_answers,
    pitfall_answers,
    program_answers,
    simulator_answers,
    valley_answers,
)

EXERCISES = known()
WRONG = (
    answers.WRONG
    | later_answers.WRONG
    | own_engine_answers.WRONG
    | matrix_answers.WRONG
    | pitfall_answers.WRONG
    | fixed_point_answers.WRONG
    | simulator_answers.WRONG
    | colouring_answers.WRONG
    | valley_answers.WRONG
    | edge_answers.WRONG
    | program_answers.WRONG
    | capstone_answers.WRONG
)
LARGE = {"fast_adjoints": EXERCISES["fast_adjoints"].make_cases}
"""Cases for wrong answers that are right and take too long."""
TOO_LONG = "took too long"
PREDICTIONS = sorted(
    name
    for name, e in EXERCISES.items()
    if e.is_value and e.max_points == 1 and list(e.points) == ["answer"]
)
PLACES = ("The first wrong node is", "In a network 2-3-2")
NUMBERS_ALONE = re.compile(
    r"( is .*; it should be (?!at ).*|, which is not right|not finite \(NaN or infinity\))\.$"
)
"""How a reason ends that tells numbers and nothing besides."""


def is_named(feedback: Feedback) -> bool:
    """Whether a diagnosis is made, besides the place."""
    return any(line.kind == "note" and not line.text.startswith(PLACES) for line in feedback.lines)


def tells_why(feedback: Feedback) -> bool:
    """Whether the first group that fails says more than two numbers: what is missing, of which
    shape it is, what was raised, or why a choice is wrong. There a second sentence would say it
    again.
    """
    reasons = [
        line.text for line in feedback.lines if line.kind != "right" and "smallest" not in line.text
    ]
    return bool(reasons) and not NUMBERS_ALONE.search(reasons[0])


def wrong_guesses(exercise: Exercise) -> list[tuple[Any, str]]:
    """Wrong values for a prediction, each with what is said of it if it is a known slip."""
    right = exercise.notebook.__self__.answer()
    slips = [(mistake.wrong(None), mistake.say) for mistake in exercise.misconceptions]
    other = (right * 1.7 + 1.3, -right - 1.1, right + 1e6, 0.5 * right - 3.3, math.nan, math.inf)
    return [
        *((value, say) for value, say in slips if math.isfinite(value)),
        *((value, "") for value in (*other, "a lot", [right], True)),
    ]


@contextlib.contextmanager
def patience(exercise: Exercise, seconds: float) -> Iterator[None]:
    """While it lasts, an answer may take so many seconds; if few, it gets its large cases."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "SECONDS", seconds)
        if seconds < 60.0:
            patch.setattr(exercise, "limit_s", seconds)
            patch.setattr(exercise, "make_cases", LARGE.get(exercise.name, exercise.make_cases))
        yield


def verdicts(name: str) -> Iterator[Feedback]:
    """What the check says of each wrong answer to an exercise."""
    exercise = EXERCISES[name]
    if name in PREDICTIONS:
        yield from (predict(name, value) for value, _ in wrong_guesses(exercise))
    for given, says in WRONG.get(name, {}).values():
        with patience(exercise, 2.0 if says == TOO_LONG else 60.0):
            yield check(name, *given)
    if name == "own_step":
        engines = importlib.import_module("tests.lessons.test_wrong_engines")
        changes = {row: change for row, (change, _) in engines.SINGLES.items()} | engines.PAIRS
        for row, change in changes.items():
            with patience(exercise, 2.0 if "down every path" in row else 60.0):
                yield check(name, *engines.engine(change))


def counted(feedbacks: Iterable[Feedback]) -> Counter[str]:
    """How many answers there are, how many get less than full points, and how many of these are
    told more than numbers.
    """
    found: Counter[str] = Counter(written=0, caught=0, named=0)
    for feedback in feedbacks:
        caught = not feedback.passed
        found["written"] += 1
        found["caught"] += caught
        found["named"] += caught and (is_named(feedback) or tells_why(feedback))
    return found


def by_lesson(
    text: str = "", judged: Callable[[str], Iterable[Feedback]] = verdicts
) -> Iterator[str]:
    """The lines of the table of the exercises whose names contain a text: one for each lesson, as
    soon as it is counted, and the sum.
    """
    columns = ("exercises", "written", "caught", "named")

    def row(name: str, found: Mapping[str, int]) -> str:
        return f"{name:12}" + "".join(f"{found[c]:10}" for c in columns)

    yield f"{'lesson':12}" + "".join(f"{c:>10}" for c in columns)
    total: Counter[str] = Counter()
    for module in modules():
        names = exercises_of(importlib.import_module(f"minigrad.lessons.exercises.{module}"))
        chosen = [name for name in names if text in name]
        if chosen:
            found = sum((counted(judged(name)) for name in chosen), Counter(exercises=len(chosen)))
            total += found
            yield row(module, found)
    yield row("together", total)


if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)
    with smaller():
        for line in by_lesson(*sys.argv[1:2]):
            print(line, flush=True)
