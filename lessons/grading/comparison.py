"""Whether a value is the right one, and in words where it is not.

A value from an untrusted process is compared in this order: its type first, then its shape, then
whether every number is a finite real one, and only then the numbers; nothing is converted,
broadcast, or asked about itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .exercise import (
    SIMPLE,
    SheetError,
    plain_problem,
)
from .words import a_kind, counted, nth, shown

TOLERANCES = {2: (1e-2, 1e-3), 4: (1e-4, 1e-5), 8: (1e-6, 1e-7), 16: (1e-6, 1e-7)}
"""(rtol, atol) by the number of bytes of the coarser of the two floats."""

KINDS = {"b": "truth values", "i": "whole numbers", "u": "whole numbers", "f": "floats"}


def as_plain(value: Any) -> Any:
    """What the trusted side computed, in the form in which values come back: tensors and NumPy's
    scalars as arrays.
    """
    if type(value) in SIMPLE:
        return value
    if isinstance(value, np.generic):
        return np.asarray(value)
    if type(value) in (list, tuple):
        return [as_plain(item) for item in value]
    if type(value) is dict:
        return {key: as_plain(item) for key, item in value.items()}
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        return np.asarray(value.detach().numpy())
    return value


class Difference(str):
    """Why a value is not right. expected: what is, as a whole and as text, to stand beside
    `got`; entries: of collections, as of `side_by_side`.
    """

    expected: str = ""
    got: Any = None
    entries: Sequence[Sequence[Any]] = ()


def same(
    expected: Any,
    got: Any,
    rtol: float | None = None,
    atol: float | None = None,
    name: str = "it",
    reveal: bool | None = True,
) -> str:
    """Why `got` is not what is expected, as a sentence with both; "" if it is.

    reveal: False leaves out what is expected, where that would be the answer itself; None the
    numbers too, which take most of the time, where only the verdict counts.

    Numbers agree if |got − expected| ≤ atol + rtol·|expected|, by default with the tolerances of
    the coarser dtype. Where what is expected is a tuple, a list or an array of that many rows will
    do, and the other way round; a whole number stands for a float and 2.0 for 2, a Python number
    for an array of no dimensions; nothing else stands for anything else.

    Raises:
        SheetError: what is expected is not plain, or not finite.
    """
    expected = as_plain(expected)
    if problem := plain_problem(expected):
        raise SheetError(f"what is expected {problem}.")
    if problem := plain_problem(got):
        return f"{name} {problem}."
    reason = _same(expected, got, rtol, atol, name, reveal)
    if not reason or not reveal:
        return reason
    found = beside(reason, shown(expected, 200), got)
    found.entries = side_by_side(expected, got, rtol, atol)
    return found


ENTRIES = 8
"""Entries that stand side by side."""


def side_by_side(
    expected: Any, got: Any, rtol: float | None = None, atol: float | None = None
) -> list[list[Any]]:
    """The entries of two collections around the first that is not right: of each its name, what is
    right and what came back, as texts ("" where there is none), and whether it is right. Empty
    where these are no collections, or agree.
    """
    right, mine = (_entries(as_plain(value)) for value in (expected, got))
    if not right or not mine:
        return []

    def agrees(name: str) -> bool:
        there = name in right and name in mine
        return there and not _same(right[name], mine[name], rtol, atol, "it", None)

    def row(name: str) -> list[Any]:
        texts = [shown(one[name]) if name in one else "" for one in (right, mine)]
        agree = agrees(name)
        if not agree and texts[0] == texts[1]:  # more digits tell them apart
            texts = [repr(one[name]) for one in (right, mine)]
        return [name, *texts, agree]

    names = [*dict.fromkeys((*right, *mine))]
    first = next((i for i, name in enumerate(names) if not agrees(name)), None)
    if first is None:
        return []
    start = max(0, min(first - ENTRIES // 2, len(names) - ENTRIES))
    return [*map(row, names[start : start + ENTRIES])]


def _entries(value: Any) -> dict[str, Any]:
    """The entries of a collection by their names, counted from 0."""
    if isinstance(value, np.ndarray):
        value = [*value] if value.ndim > 1 else value.tolist()
    if isinstance(value, list | tuple):
        return {f"[{i}]": one for i, one in enumerate(value)}
    return {repr(key): one for key, one in value.items()} if isinstance(value, dict) else {}


def beside(reason: str, expected: str, got: Any) -> Difference:
    """A reason with what is right, as text, to stand beside the value `got` in the headline."""
    found = Difference(reason)
    found.expected, found.got = expected, got
    return found


def _same(
    expected: Any,
    got: Any,
    rtol: float | None,
    atol: float | None,
    name: str,
    reveal: bool | None,
    path: tuple[int | str, ...] = (),
) -> str:
    """path: the way to this value through the lists and dictionaries that it stands in."""
    here = _place_in(name, path)
    if expected is None or isinstance(expected, str):
        return (
            ""
            if type(got) is type(expected) and got == expected
            else _beside(here, got, expected, reveal)
        )
    if isinstance(expected, dict):
        if type(got) is not dict:
            return f"{here} is {a_kind(got)}, but should be a dictionary."
        if missing := [key for key in expected if key not in got]:
            return f"{here} has no entry for {missing[0]!r}."
        if extra := [key for key in got if key not in expected]:
            return f"{here} has an entry for {extra[0][:40]!r}, which was not asked for."
        return next(
            (
                p
                for key in expected
                if (p := _same(expected[key], got[key], rtol, atol, name, reveal, (*path, key)))
            ),
            "",
        )
    if isinstance(expected, list):
        if isinstance(got, np.ndarray) and got.ndim:
            got = list(got) if got.ndim > 1 else got.tolist()
        if type(got) not in (list, tuple):
            return (
                f"{here} is {a_kind(got)}, but should be a tuple of"
                f" {counted(len(expected), 'value')}."
            )
        if len(got) != len(expected):
            return f"{here} has {counted(len(got), 'entry')}, but should have {len(expected)}."
        return next(
            (
                p
                for i, e in enumerate(expected)
                if (p := _same(e, got[i], rtol, atol, name, reveal, (*path, i)))
            ),
            "",
        )
    return _same_numbers(expected, got, rtol, atol, here, reveal)


def _beside(name: str, got: Any, expected: Any, reveal: bool | None, place: str = "") -> str:
    """What is there and what should be, with as many digits as it takes to see that they differ."""
    if reveal is None:
        return f"{name} is not right{place}."
    if not reveal:
        return f"{name} is {_told(got)}{place}, which is not right."
    texts = _told(got), _told(expected)
    if texts[0] == texts[1]:
        texts = _told(got, repr), _told(expected, repr)
    return f"{name} is {texts[0]}{place}; it should be {texts[1]}."


def _told(value: Any, text: Callable[[Any], str] = shown) -> str:
    """A value in a sentence: numbers with a minus, as in the pictures, not with a hyphen."""
    number = isinstance(value, int | float | complex | np.ndarray | np.number)
    return text(value).replace("-", "−").replace("e−0", "e−") if number else text(value)


def _place_in(name: str, path: tuple[int | str, ...]) -> str:
    """What stands at the end of a way, for a sentence: "the second entry of it", "entry [0][2]
    of it".
    """
    if not path:
        return name
    first = path[0]
    if len(path) > 1:
        return f"entry {''.join(f'[{step!r}]' for step in path)} of {name}"
    return f"entry {first!r} of {name}" if isinstance(first, str) else f"{nth(first)} of {name}"


def _same_numbers(
    expected: Any, got: Any, rtol: float | None, atol: float | None, name: str, reveal: bool | None
) -> str:
    if type(expected) is int and type(got) is int:
        return "" if got == expected else _beside(name, got, expected, reveal)
    if type(expected) is float and type(got) is float:  # the same as below, for what most cases are
        relative, absolute = (
            TOLERANCES[8][0] if rtol is None else rtol,
            TOLERANCES[8][1] if atol is None else atol,
        )
        if (
            math.isfinite(expected)
            and math.isfinite(got)
            and abs(got - expected) <= absolute + relative * abs(expected)
        ):
            return ""
    right = np.asarray(expected)
    if not np.isfinite(right).all():
        raise SheetError("what is expected is not finite: choose cases in which it is.")
    if type(got) in (list, tuple) and right.ndim:
        got = _as_array(got, right)
    if type(got) not in (bool, int, float, np.ndarray):
        should = f"an array of shape {right.shape}" if right.ndim else "a number"
        only = (
            " (take its only entry: `[0]`)" if type(got) in (list, tuple) and len(got) == 1 else ""
        )
        return f"{name} is {a_kind(got)}, but should be {should}{only}."
    shape = got.shape if isinstance(got, np.ndarray) else ()
    if shape != right.shape:
        return f"{name} has the shape {shape}, but should have the shape {right.shape}."
    return _far(right, got, rtol, atol, name, reveal)


def _far(
    right: np.ndarray,
    got: Any,
    rtol: float | None,
    atol: float | None,
    name: str,
    reveal: bool | None,
) -> str:
    """Why numbers of the right shape are not those expected: another kind, not finite, or too far
    away.
    """
    kind = (
        got.dtype.kind
        if isinstance(got, np.ndarray)
        else "b"
        if isinstance(got, bool)
        else "i"
        if isinstance(got, int)
        else "f"
    )
    if (kind == "b") != (right.dtype.kind == "b"):
        return f"{name} holds {KINDS[kind]}, but should hold {KINDS[right.dtype.kind]}."
    try:
        found = np.asarray(got, dtype=None if isinstance(got, np.ndarray) else type(got))
        if found.dtype.kind not in "biuf":  # a whole number too large for any dtype of NumPy
            found = np.asarray(float(got))
    except OverflowError:
        return f"{name} is a number too large to be right."
    if kind == "f" and not np.isfinite(found).all():
        return f"{name} holds a number that is not finite (NaN or infinity)."
    if kind != "f" and right.dtype.kind != "f":
        if bool((found == right).all()):
            return ""
        place = tuple(int(i) for i in np.argwhere(found != right)[0])
        at = f" at {list(place)}" if place else ""
        return _beside(name, found[place].item(), right[place].item(), reveal, at)
    widths = [x.dtype.itemsize for x in (found, right) if x.dtype.kind == "f"]
    coarse = TOLERANCES.get(min(widths, default=8), TOLERANCES[8])
    relative, absolute = coarse[0] if rtol is None else rtol, coarse[1] if atol is None else atol
    with np.errstate(all="ignore"):
        distance = np.abs(found.astype(np.float64) - right.astype(np.float64))
        good = distance <= absolute + relative * np.abs(right.astype(np.float64))
    if good.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~good)[0])
    at = f" at {list(place)}" if place else ""
    return _beside(name, found[place].item(), right[place].item(), reveal, at)


def _as_array(value: list[Any] | tuple[Any, ...], like: np.ndarray) -> Any:
    """Nested lists of numbers as an array, where they have the shape of one; else as they are."""
    try:
        found = np.asarray(value)
    except ValueError:  # rows of different lengths
        return value
    return found if found.dtype.kind in "biuf" and found.ndim == like.ndim else value
