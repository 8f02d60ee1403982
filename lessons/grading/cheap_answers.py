"""Answers that take no work, and what a sheet pays for them.

A constant, an argument handed back, its zeros, its sum: if one of them gets points, the cases of
that group do not ask for the work. `minigrad grade sheet` runs all of them on each exercise and
prints what the best of them gets.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from .exercise import Case, Exercise
from .judge import verdict_on
from .local import run_cases

CONSTANTS: tuple[Any, ...] = (0, 1, -1, 2, 0.5, True, False, "", "x", float("nan"), float("inf"))
CONTAINERS: tuple[Callable[[], Any], ...] = (list, dict, tuple, lambda: [0.0], lambda: np.zeros(3))


SECONDS = 2.0
"""For a call: what takes longer is no cheap answer."""


@dataclass(frozen=True)
class Paid:
    """What an exercise pays for its best cheap answer. answer: in words; groups: those that it
    gets.
    """

    points: float
    answer: str = ""
    groups: tuple[str, ...] = ()


def best(exercise: Exercise, seed: int = 0) -> Paid:
    """The cheap answer that gets most points; of several the first. The arguments that it would
    change are those of the case, or what the exercise's drive hands to the student's function.

    The small cases of a group come first: nearly every cheap answer fails on one of them, so the
    large ones are hardly ever run.
    """
    small = list(exercise.small(np.random.default_rng(seed))) if exercise.small else []
    cases = small + sorted(exercise.cases(seed), key=lambda case: case.size)
    found = Paid(0.0)
    verdict = verdict_on(exercise, cases)
    for name, answer in _battery(exercise):
        answers = dict.fromkeys(exercise.answers, _in_own_namespace(answer))

        def right(case: Case, answers: dict[str, Any] = answers) -> bool:
            with (
                contextlib.redirect_stdout(io.StringIO()),
                np.errstate(all="ignore"),
                warnings.catch_warnings(action="ignore"),
            ):
                (back,) = run_cases(exercise, [case], answers, SECONDS)
            said = False if back.kind else verdict(case, back.value)
            return said is True or (isinstance(said, str) and not said)

        groups = tuple(
            group
            for group in exercise.points
            if all(right(case) for case in cases if case.group == group)
        )
        points = sum(exercise.points[group] for group in groups)
        if points > found.points:
            found = Paid(points, name, groups)
    return found


def _battery(exercise: Exercise) -> Iterator[tuple[str, Any]]:
    for constant in CONSTANTS:
        yield f"always {constant!r}", constant if exercise.is_value else _always(constant)
    for make in CONTAINERS:
        yield f"always {make()!r}", make() if exercise.is_value else lambda *args, m=make: m()
    if exercise.is_value:
        return
    most = max((len(case.args) for case in exercise.cases(0)), default=0)
    for number in range(max(most, 3)):
        for name, change in CHANGES.items():
            yield f"{name} of argument {number + 1}", _changed(number, change)


def _in_own_namespace(answer: Any) -> Any:
    """A function as a notebook of its own would define it. A drive may put pieces into the
    namespace of a student's function; the answers of other exercises must not find them there.
    """
    if not isinstance(answer, FunctionType):
        return answer
    own = {"__builtins__": __builtins__, "__name__": "__main__"}
    return FunctionType(
        answer.__code__, own, answer.__name__, answer.__defaults__, answer.__closure__
    )


def _always(value: Any) -> Callable[..., Any]:
    return lambda *args: value


def _changed(number: int, change: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *args: change(args[number])


CHANGES: dict[str, Callable[[Any], Any]] = {
    "a copy": lambda x: x,
    "a list": list,
    "the reverse": lambda x: list(x)[::-1],
    "the first": lambda x: next(iter(x)),
    "the last": lambda x: list(x)[-1],
    "the number": len,
    "the zeros": lambda x: x * 0,
    "the ones": lambda x: x * 0 + 1,
    "the negative": lambda x: -x,
    "the double": lambda x: 2 * x,
    "the square": lambda x: x * x,
    "the sum": lambda x: x.sum() if hasattr(x, "sum") else sum(x),
    "the mean": lambda x: x.mean(),
    "the transpose": lambda x: x.T,
    "the call": lambda x: x(),
    "the value at 1": lambda x: x(1.0),
}
