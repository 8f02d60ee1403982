"""Which classic mistake would have returned just what an answer returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .comparison import as_plain, same
from .exercise import (
    Case,
    Exercise,
    Misconception,
    Returned,
    SheetError,
)

if TYPE_CHECKING:
    from .judge import Item


Found = tuple[Misconception, str]
"""A mistake, and what to tell the student."""


def likely_misconception(
    exercise: Exercise, cases: Sequence[Case], returned: Sequence[Returned], items: Sequence[Item]
) -> dict[str, str] | None:
    """Name and sentence of the classic mistake that would have returned just these values; None if
    there is none.

    Each answer that fails is explained by itself. Where an exercise calls several, the sentence
    names the one that it is about, and the name is that of the first mistake.
    """
    told: dict[str, list[str]] = {}
    name = ""
    for call in dict.fromkeys(item.call for item in items if not item.right):
        of_call = [
            (case, back, item)
            for case, back, item in zip(cases, returned, items, strict=True)
            if item.call == call and not back.kind
        ]
        if found := _of_one_answer(exercise, of_call):
            name = name or found[0].name
            told.setdefault(found[1], []).append(f"`{call}`")
    if not told:
        return None
    if len({item.call for item in items}) == 1:
        return {"name": name, "say": next(iter(told))}
    say = " ".join(f"{' and '.join(calls)}: {sentence}" for sentence, calls in told.items())
    return {"name": name, "say": say}


Judged = tuple[Case, Returned, "Item"]


def _of_one_answer(exercise: Exercise, judged: Sequence[Judged]) -> Found | None:
    """The first classic mistake that explains every value of an answer. Mistakes in their full
    form come before their variants. Where none explains all cases, one that explains every case
    of a group is named together with the group.
    """
    # Those that failed come first: they tell most mistakes apart at once.
    pairs = [(case, back.value) for case, back, _ in sorted(judged, key=lambda one: one[2].right)]
    if not judged or all(item.right for _, _, item in judged):
        return None

    def made(wrong: Callable[[Case], Any]) -> bool:
        return all(_is_of(exercise, wrong, case, got) for case, got in pairs)

    for mistake in exercise.misconceptions:
        if made(mistake.wrong):
            return mistake, mistake.sentence
    for mistake in exercise.misconceptions:
        if mistake.explains is not None and all(
            _explained(mistake.explains, case, got) for case, got in pairs
        ):
            return mistake, mistake.sentence
    for mistake in exercise.misconceptions:
        fitted = _fitted(mistake, pairs)
        for say, wrong in (*mistake.variants, *([fitted] if fitted else [])):
            if wrong is None or made(wrong):
                return mistake, mistake.sentence + say
    return _in_every_number(exercise, pairs) or _in_one_group(exercise, judged)


def _in_every_number(exercise: Exercise, pairs: Sequence[tuple[Case, Any]]) -> Found | None:
    """A factor or a small error that is in every number of an answer that fails."""
    if not exercise.has_one_answer or not exercise.has_answer or exercise.is_value:
        return None
    for factor, say in FACTORS.items():
        scaled = lambda case, factor=factor: _scaled(exercise.expected(case), factor)
        if all(_is_of(exercise, scaled, case, got) for case, got in pairs):
            return Misconception("a factor for all", say, scaled, alone=True), say
    if all(not same(exercise.expected(case), got, NEARLY, NEARLY) for case, got in pairs):
        return Misconception("nearly", NEARLY_SAID, exercise.expected, alone=True), NEARLY_SAID
    return None


def _in_one_group(exercise: Exercise, judged: Sequence[Judged]) -> Found | None:
    """A mistake that explains every case of one group, at least two of which fail, for an answer
    with more than one mistake, or one that matters in this group alone. Only floats tell mistakes
    apart.
    """
    if exercise.is_value:
        return None
    for group in dict.fromkeys(item.group for _, _, item in judged if not item.right):
        found = [(case, back.value, item) for case, back, item in judged if item.group == group]
        if sum(not item.right for _, _, item in found) < 2 or any(
            _scaled(value, 1.0) is None for _, value, _ in found
        ):
            continue
        for mistake in exercise.misconceptions:
            if all(_is_of(exercise, mistake.wrong, case, value) for case, value, _ in found):
                only = f" That explains the cases of “{group}”, but not all others."
                return mistake, mistake.sentence + only
    return None


NEARLY = 1e-3
NEARLY_SAID = (
    "Every number is right to about three digits and not to the last ones, like a difference"
    " quotient with a large step, or a formula with a small number added."
)


FACTORS = {
    -1.0: "Every number has the wrong sign, and is right apart from that.",
    2.0: "Every number is twice what it should be.",
    0.5: "Every number is half of what it should be.",
}


def _scaled(value: Any, factor: float) -> Any:
    """Floats and arrays of them times a factor; None for what holds anything else."""
    value = as_plain(value)
    if isinstance(value, list | tuple):
        found = [_scaled(item, factor) for item in value]
        return None if any(item is None for item in found) else found
    if type(value) is float or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        return factor * value
    return None


ODD_VALUES = (SheetError, ArithmeticError, ValueError, KeyError, TypeError, IndexError)
"""What comes of a value of another type and shape than a mistake was written for."""


def _fitted(
    mistake: Misconception, pairs: list[tuple[Case, Any]]
) -> tuple[str, Callable[[Case], Any] | None] | None:
    try:
        return None if mistake.fitted is None else mistake.fitted(pairs)
    except ODD_VALUES:
        return None


def _explained(explains: Callable[[Case, Any], bool], case: Case, got: Any) -> bool:
    try:
        return bool(explains(case, got))
    except ODD_VALUES:
        return False


def _is_of(exercise: Exercise, wrong: Callable[[Case], Any], case: Case, got: Any) -> bool:
    try:
        with np.errstate(all="ignore"):
            made = as_plain(wrong(case))
        if made is None:
            return False
        return not same(_finite(made), _finite(got), exercise.rtol, exercise.atol, reveal=None)
    except ODD_VALUES:
        return False


def _finite(value: Any) -> Any:
    """A plain value with large numbers in the place of NaN and infinities, so that two values
    can be compared that hold them.
    """
    if isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind == "f":
        if np.isfinite(value).all():
            return value
        with np.errstate(over="ignore"):  # float16 holds none of these, so nothing is named there
            found = np.nan_to_num(value, nan=7e37, posinf=3e38, neginf=-3e38)
        return np.asarray(found) if isinstance(value, np.ndarray) else float(found)
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return {k: _finite(v) for k, v in value.items()} if isinstance(value, dict) else value
