"""From what came back to points and reasons: the part of the grader that knows what is right.

A value from an untrusted process is compared in this order: its type first, then its shape, then
whether every number is a finite real one, and only then the numbers; nothing is converted,
broadcast, or asked about itself. `judge` runs on the trusted side, after the student's process is
dead; `weigh` is its core, which the check in the notebook shares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .exercise import (
    SIMPLE,
    Accept,
    Case,
    Exercise,
    Misconception,
    Returned,
    SheetError,
    once_for_each_case,
    plain_problem,
)
from .words import a_kind, as_rows, counted, nth, sentence, shown

TOLERANCES = {2: (1e-2, 1e-3), 4: (1e-4, 1e-5), 8: (1e-6, 1e-7), 16: (1e-6, 1e-7)}
"""(rtol, atol) by the number of bytes of the coarser of the two floats."""

UNWRITTEN = ("unfinished", "missing")
"""Kinds of failure where there is nothing yet that could be wrong."""

KINDS = {"b": "truth values", "i": "whole numbers", "u": "whole numbers", "f": "floats"}


# --------------------------------------------------------------------------------------- comparison


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
    `got`.
    """

    expected: str = ""
    got: Any = None


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
    return beside(reason, shown(expected, 200), got)


def beside(reason: str, expected: str, got: Any) -> str:
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
        return f"{name} is {shown(got)}{place}, which is not right."
    texts = shown(got), shown(expected)
    if texts[0] == texts[1]:
        texts = repr(got), repr(expected)
    return f"{name} is {texts[0]}{place}; it should be {texts[1]}."


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


# ---------------------------------------------------------------------------------------- judgement


@dataclass
class Item:
    """One case: which group, whether right, why not, how long. kind: of the failure, "" where a
    value came back; expected: what is right, as text, where that may stand beside what came back.
    """

    group: str
    call: str
    right: bool
    say: str = ""
    kind: str = ""
    cpu_s: float = 0.0
    expected: str = ""


@dataclass
class Group:
    """The points of a group. say: a sentence for the student: all right, or what is wrong in its
    smallest case that fails.
    """

    name: str
    points: float
    max: float
    right: int
    total: int
    say: str
    kind: str = ""


@dataclass
class Judgement:
    """What an exercise was worth, and why. Plain data: `as_dict()` is JSON.

    misconception: name and sentence of the classic mistake whose numbers these are, or None; where:
    the first wrong node and a sentence;
    smallest: the smallest case that fails (of groups that may be shown), as "call", what it
    returned as "got" ("" where it returned nothing), what is right as "expected" ("" where it may
    not be told, or is a matter of choice), and the reason as "say" ("" where a group says the
    same); trace, step: the student's numbers on the graph of that case, and the step at which they
    first go wrong.
    """

    exercise: str
    title: str
    points: float
    max: float
    groups: list[Group]
    items: list[Item]
    misconception: dict[str, str] | None = None
    where: dict[str, Any] | None = None
    smallest: dict[str, Any] | None = None
    trace: dict[str, Any] | None = None
    reference: dict[str, Any] | None = None
    step: int = 0
    slowest_s: float = 0.0
    hints: list[str] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether everything is right."""
        return all(group.right == group.total for group in self.groups)

    @property
    def started(self) -> bool:
        """Whether there is anything to judge: something else came back than a stub's nothing."""
        return any(item.kind not in UNWRITTEN for item in self.items)

    def as_dict(self) -> dict[str, Any]:
        """The judgement as JSON's kinds of data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Judgement:
        """The judgement that `as_dict` was made of."""
        groups, items = [Group(**g) for g in data["groups"]], [Item(**i) for i in data["items"]]
        return cls(**{**data, "groups": groups, "items": items})


def judge(exercise: Exercise, cases: Sequence[Case], returned: Sequence[Returned]) -> Judgement:
    """Points and reasons for what a student's code returned, case by case; runs on the trusted side
    only.

    Raises:
        SheetError: the exercise says of no case what is right, or its answer itself fails: a matter
        for the instructor.
    """
    return weigh(exercise, cases, returned, verdict_on(exercise, cases))


def verdict_on(exercise: Exercise, cases: Sequence[Case]) -> Accept:
    """The function (case, value) that says of a value whether it is right, or why not."""
    accept, expected = exercise.acceptor(cases), once_for_each_case(exercise.expected)

    def verdict(case: Case, got: Any) -> Any:
        try:
            if accept is not None:
                return accept(case, got)
            reveal = not exercise.is_value and case.group not in exercise.hidden
            return same(
                expected(case),
                got,
                exercise.rtol,
                exercise.atol,
                returned_by(exercise, case),
                reveal,
            )
        except SheetError:
            raise
        except Exception as error:
            if accept is not None:
                return unfit(exercise, case, error)
            raise SheetError(
                f"exercise {exercise.name!r}: its own answer raised {type(error).__name__}: {error}"
            ) from error

    return verdict


def weigh(
    exercise: Exercise, cases: Sequence[Case], returned: Sequence[Returned], verdict: Accept
) -> Judgement:
    """The points of an exercise by a verdict(case, got): True, False, or the reason why not as a
    text ("" is right).
    """
    if len(cases) != len(returned):
        raise SheetError(
            f"exercise {exercise.name!r}: {len(cases)} cases, but {len(returned)} results."
        )
    items = [
        item_of(exercise, case, back, verdict) for case, back in zip(cases, returned, strict=True)
    ]
    ranked = [items[i] for i in sorted(range(len(items)), key=lambda i: _rank(cases[i], items[i]))]
    groups = [
        _group(name, worth, [i for i in ranked if i.group == name])
        for name, worth in exercise.points.items()
    ]
    _say_once(groups, ranked)
    result = Judgement(
        exercise.name, exercise.title or exercise.name, sum(g.points for g in groups),
        exercise.max_points, groups, items,
        slowest_s=max((back.cpu_s for back in returned), default=0.0), hints=list(exercise.hints),
    )  # fmt: skip
    if result.full or not result.started:
        return result
    if found := likely_misconception(exercise, cases, returned, items):
        result.misconception = {"name": found[0].name, "say": found[0].sentence + found[1]}
    nothing_to_show = (*UNWRITTEN, "forbidden")
    failing = [
        i for i, item in enumerate(items) if not item.right and item.group not in exercise.hidden
    ]
    failing = [i for i in failing if items[i].kind not in nothing_to_show]
    failing.sort(key=lambda i: _rank(cases[i], items[i]))
    if failing:
        _place(exercise, cases[failing[0]], returned[failing[0]], items[failing[0]], result)
    return result


def _rank(case: Case, item: Item) -> tuple[bool, bool, float]:
    """The order in which failing cases are told: small ones first, but wrong values before calls
    that ended without one, and empty arrays last, for they tell little.
    """
    return bool(item.kind), not case.size or _tells_little(case), case.size


@once_for_each_case
def _tells_little(case: Case) -> bool:
    return _has_empty_array(case.args)


def _has_empty_array(value: Any) -> bool:
    """Whether a plain value is an array without elements, or holds one."""
    if isinstance(value, np.ndarray):
        return value.size == 0
    inner = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list | tuple)
        else ()
    )
    return any(map(_has_empty_array, inner))


def item_of(exercise: Exercise, case: Case, back: Returned, verdict: Accept) -> Item:
    """Whether what came back for a case is right, and if not, why."""
    call = exercise.called(case)
    if back.kind:
        return Item(
            case.group, call, False, back.error or "no value came back.", back.kind, back.cpu_s
        )
    if problem := plain_problem(back.value):
        return Item(
            case.group, call, False, f"{returned_by(exercise, case)} {problem}.", "type", back.cpu_s
        )
    said = verdict(case, back.value)
    right = said is True or said == ""
    say = (
        ""
        if right
        else (
            said
            if isinstance(said, str)
            else f"{returned_by(exercise, case)} is {shown(back.value)}, which is not right."
        )
    )
    if back.value is None and not right and not exercise.is_value:
        # a drive may have been given a class, of which one method returned it
        where = "gave nothing (None). Is a `return` missing in it?"
        say = (
            f"`{call}`"
            f" {where if exercise.drive else 'returned nothing (None). Is a `return` missing?'}"
        )
    told = (
        isinstance(said, Difference)
        and said.got is back.value
        and case.group not in exercise.hidden
    )
    return Item(case.group, call, right, str(say), "", back.cpu_s, said.expected if told else "")


def returned_by(exercise: Exercise, case: Case) -> str:
    """The subject of a sentence about a case: the name of the value, or what the function
    returned.
    """
    return (
        f"`{exercise.called(case)}`"
        if exercise.is_value
        else f"what `{exercise.called(case)}` returned"
    )


def unfit(exercise: Exercise, case: Case, error: Exception) -> str:
    """The reason for a value on which the judge itself fails: it was made for values of the
    right type and shape.
    """
    return (
        f"{returned_by(exercise, case)} cannot be judged ({type(error).__name__}): has it the type"
        " and the shape that are asked for?"
    )


def _group(name: str, worth: float, items: list[Item]) -> Group:
    right = sum(item.right for item in items)
    wrong = next((item for item in items if not item.right), None)
    say = "All cases are right." if len(items) > 1 else "Right."
    if wrong is not None:
        alone = right == 0 and (len(items) == 1 or wrong.kind in UNWRITTEN)
        say = (
            sentence(wrong.say)
            if alone
            else f"{right} of {len(items)} cases are right. {sentence(wrong.say)}"
        )
    given = worth if items and right == len(items) else 0.0
    return Group(
        name, float(given), float(worth), right, len(items), say, wrong.kind if wrong else ""
    )


LONG = 60
"""A reason of fewer characters may be read twice."""


def _say_once(groups: list[Group], items: list[Item]) -> None:
    """Where the first thing that is wrong in a group is what was wrong in an earlier one, word
    by word, that group is named instead.
    """
    said: dict[str, str] = {}
    for group in groups:
        reason = next(
            (item.say for item in items if item.group == group.name and not item.right), ""
        )
        if len(reason) > LONG and reason in said and group.kind not in UNWRITTEN:
            count = (
                f"{group.right} of {group.total} cases are right"
                if group.total > 1
                else "Not right"
            )
            group.say = f"{count}, for the same reason as in “{said[reason]}”."
        said.setdefault(reason, group.name)


def _place(exercise: Exercise, case: Case, back: Returned, item: Item, result: Judgement) -> None:
    """The smallest failing case, and on its graph the first wrong node."""
    args = ", ".join(f"{name}={shown(value)}" for name, value in case.args.items())
    call = exercise.called(case) if exercise.is_value else f"{exercise.called(case)}({args})"
    got = (
        ""
        if back.kind
        else (
            as_rows(back.value)
            if type(back.value) is dict and not exercise.is_value
            else shown(back.value, 200)
        )
    )
    reason = sentence(item.say) if back.kind else ""
    known = any(reason in group.say for group in result.groups)
    result.smallest = {
        "group": case.group,
        "call": exercise.present(case) if exercise.present else call,
        "got": got,
    }
    result.smallest["expected"] = item.expected
    result.smallest["say"] = "" if known else reason
    result.smallest["size"] = case.size
    if exercise.where is None or back.kind:
        return
    try:
        found = exercise.where(case, back.value)
    except Exception:
        # the student's value is of a form that the picture was not made for; the verdict stands
        # without a picture
        found = None
    if found is not None:
        result.where = {"node": found.node, "say": found.say, "wrong": list(found.wrong)}
        result.trace, result.step, result.reference = found.trace, found.step, found.reference


def smallest_case(
    smallest: dict[str, Any], code: Callable[[str], str], text: Callable[[str], str] = str
) -> str:
    """The smallest case that failed, as a sentence. code, text: how a call and other texts are
    written where the sentence is shown.
    """
    gave = f" gave {text(smallest['got'])}" if smallest["got"] else ""
    gave += (
        f"; it should give {text(smallest['expected'])}"
        if gave and smallest.get("expected", "") not in ("", smallest["got"])
        else ""
    )
    say = f" {text(smallest['say'])}" if smallest["say"] else ""
    return f"The smallest case that failed: {code(smallest['call'])}{gave}.{say}"


def likely_misconception(
    exercise: Exercise, cases: Sequence[Case], returned: Sequence[Returned], items: Sequence[Item]
) -> tuple[Misconception, str] | None:
    """The first classic mistake that would have returned just these values, and the sentence of its
    variant; None if there is none.

    The values must agree in every case of the same answer that returned one. Mistakes in their full
    form come before their variants.
    """
    for call in dict.fromkeys(item.call for item in items if not item.right and not item.kind):
        pairs = [
            (c, r.value, i.right)
            for c, r, i in zip(cases, returned, items, strict=True)
            if i.call == call and not r.kind
        ]
        pairs.sort(
            key=lambda pair: pair[2]
        )  # those that failed first: they tell most mistakes apart at once

        def made(
            wrong: Callable[[Case], Any], pairs: Sequence[tuple[Case, Any, bool]] = pairs
        ) -> bool:
            return all(_is_of(exercise, wrong, case, got) for case, got, _ in pairs)

        for mistake in exercise.misconceptions:
            if made(mistake.wrong):
                return mistake, ""
        for mistake in exercise.misconceptions:
            if mistake.explains is not None and all(
                _explained(mistake.explains, case, got) for case, got, _ in pairs
            ):
                return mistake, ""
        for mistake in exercise.misconceptions:
            fitted = _fitted(mistake, [(case, got) for case, got, _ in pairs])
            for say, wrong in (*mistake.variants, *([fitted] if fitted else [])):
                if wrong is None or made(wrong):
                    return mistake, say
    return _in_every_number(exercise, cases, returned, items)


def _in_every_number(
    exercise: Exercise, cases: Sequence[Case], returned: Sequence[Returned], items: Sequence[Item]
) -> tuple[Misconception, str] | None:
    """A factor or a small error that is in every number of an answer that fails."""
    if not exercise.has_one_answer or not exercise.has_answer or exercise.is_value:
        return None
    for call in dict.fromkeys(item.call for item in items if not item.right and not item.kind):
        pairs = [
            (case, back.value)
            for case, back, item in zip(cases, returned, items, strict=True)
            if item.call == call and not back.kind
        ]
        for factor, say in FACTORS.items():
            scaled = lambda case, factor=factor: _scaled(exercise.expected(case), factor)
            if all(_is_of(exercise, scaled, case, got) for case, got in pairs):
                return Misconception("a factor for all", say, scaled, alone=True), ""
        if all(not same(exercise.expected(case), got, NEARLY, NEARLY) for case, got in pairs):
            return Misconception("nearly", NEARLY_SAID, exercise.expected, alone=True), ""
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
