"""From what came back to points and reasons: the part of the grader that knows what is right.

Values are compared in comparison.py; likely_misconception.py recognises classic mistakes in them.
`judge` runs on the trusted side, after the student's process is dead; `weigh` is its core, which
the check in the notebook shares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .comparison import Difference, same
from .exercise import (
    Accept,
    Case,
    Exercise,
    Returned,
    SheetError,
    once_for_each_case,
    plain_problem,
)
from .likely_misconception import likely_misconception
from .words import as_rows, sentence, shown

UNWRITTEN = ("unfinished", "missing")
"""Kinds of failure where there is nothing yet that could be wrong."""


@dataclass
class Item:
    """One case: which group, whether right, why not, how long. kind: of the failure, "" where a
    value came back; expected: what is right, as text, where that may stand beside what came back;
    entries: of collections, as of `comparison.side_by_side`.
    """

    group: str
    call: str
    right: bool
    say: str = ""
    kind: str = ""
    cpu_s: float = 0.0
    expected: str = ""
    entries: Sequence[Sequence[Any]] = ()


@dataclass
class GroupPoints:
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
    groups: list[GroupPoints]
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
        groups, items = (
            [GroupPoints(**g) for g in data["groups"]],
            [Item(**i) for i in data["items"]],
        )
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
    returned = exercise.begun(returned)
    if len(cases) != len(returned):
        raise SheetError(
            f"exercise {exercise.name!r}: {len(cases)} cases, but {len(returned)} results."
        )
    items = [
        item_of(exercise, case, back, verdict) for case, back in zip(cases, returned, strict=True)
    ]
    wrong = sorted(
        (i for i, item in enumerate(items) if not item.right),
        key=lambda i: _rank(cases[i], items[i]),
    )
    ranked = [items[i] for i in wrong] + [item for item in items if item.right]
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
    result.misconception = likely_misconception(exercise, cases, returned, items)
    nothing_to_show = (*UNWRITTEN, "forbidden")
    failing = [
        i
        for i in wrong
        if items[i].group not in exercise.hidden and items[i].kind not in nothing_to_show
    ]
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
    beside = (said.expected, said.entries) if told else ()
    return Item(case.group, call, right, str(say), "", back.cpu_s, *beside)


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


def _group(name: str, worth: float, items: list[Item]) -> GroupPoints:
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
    return GroupPoints(
        name, float(given), float(worth), right, len(items), say, wrong.kind if wrong else ""
    )


LONG = 60
"""A reason of fewer characters may be read twice."""


def _say_once(groups: list[GroupPoints], items: list[Item]) -> None:
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
    result.smallest["entries"] = item.entries
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
    smallest: dict[str, Any],
    code: Callable[[str], str],
    text: Callable[[str], str] = str,
    word: Callable[..., str] = str.format,
    said: Callable[[str], str] = str,
) -> str:
    """The smallest case that failed, as a sentence. code, text: how a call and other texts are
    written where the sentence is shown; word, said: as of `pages.Tongue`.
    """
    got, expected = smallest["got"], str(smallest.get("expected", ""))
    template = "The smallest case that failed: {call}."
    if got and expected not in ("", got):
        template = "The smallest case that failed: {call} gave {got}; it should give {expected}."
    elif got:
        template = "The smallest case that failed: {call} gave {got}."
    told = word(template, call=code(smallest["call"]), got=text(got), expected=text(expected))
    return f"{told} {text(said(smallest['say']))}" if smallest["say"] else told
