"""How the lessons' exercises are made, where no kind of `minigrad.lessons.grading.kinds` does it:
constructors, and the headings.

In these exercises one function judges both the check in the notebook and the submission, because it
needs no answer key (it asks the engine, or plays through what is asked for).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from ..grading.comparison import same
from ..grading.exercise import Accept, Answer, Case, Exercise, Misconception, once_for_each_case
from ..grading.judge import returned_by
from ..grading.kinds import Number
from .slips import slips_of

Cases = Callable[[np.random.Generator], Iterator[Case]]

Exact = partial(Number, tolerance=1e-9)
"""A question with a number for an answer that is not rounded."""

FORWARD_MODE = (
    "minigrad.core.forward",
    "minigrad.func.jvp",
    "minigrad.func.linearize",
    "minigrad.func.jacfwd",
    "minigrad.autograd.functional.jvp",
)
"""What an exercise forbids that asks for tangents by reverse mode: the engine's own forward mode,
under whatever name.
"""


def signed(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers away from 0, of both signs, so that no term can hide."""
    return np.asarray(rng.uniform(0.5, 1.5, size=shape) * rng.choice((-1.0, 1.0), size=shape))


def always(holds: Callable[[Case, Any], Any]) -> Any:
    """A diagnosis that is made where something holds of all that came back."""
    return lambda pairs: ("", None) if pairs and all(holds(c, got) for c, got in pairs) else None


def told_by(
    accept: Accept, name: str, points: Mapping[str, float], cases: Cases, **options: Any
) -> Exercise:
    """An exercise with many right answers: accept(case, got) gives "" for a right one, else the
    reason why it is not.

    options: the other fields of `Exercise`.
    """
    return Exercise(name, dict(points), cases, told_by=accept, **options)


def equal_to(
    right: Answer, name: str, points: Mapping[str, float], cases: Cases, **options: Any
) -> Exercise:
    """An exercise with one right answer, which anybody can compute: `right`, of the case's
    arguments by their names.

    options: the other fields of `Exercise`; rtol and atol say how exact numbers must be.
    """

    def agrees(case: Case, got: Any) -> str:
        return same(expected(case), got, made.rtol, made.atol, returned_by(made, case))

    made = Exercise(name, dict(points), cases, verify=agrees, **options)
    expected = once_for_each_case(made.expected)
    made.answer(right)
    return made


def mistakes(
    *rows: tuple[str, str, Callable[..., Any]], call: str = ""
) -> tuple[Misconception, ...]:
    """Classic mistakes, each as (name, what to say, the wrong function); call: as of
    `Misconception.of`.
    """
    return tuple(Misconception.of(*row, call=call) for row in rows)


def by_name(names: Mapping[str, object], titles: Mapping[str, str]) -> dict[str, Exercise]:
    """The exercises among a lesson's names, also those in tuples, by their own names: each under
    the heading that it has in the notebook, and with its slips.

    titles: by name; those that are not in it (predictions) keep their own. Raises KeyError for a
    title that belongs to no exercise.
    """
    inner = (item for v in names.values() for item in (v if isinstance(v, tuple) else (v,)))
    found = {item.name: item for item in inner if isinstance(item, Exercise)}
    for name, title in titles.items():
        found[name].title = title
        found[name].misconceptions += slips_of(name)
    return found
