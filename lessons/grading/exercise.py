"""What an exercise is: cases, and a way to tell a right answer. All of it is data and two small
functions.

    @exercise("vjp_sin", points={"values": 2, "shapes": 1}, forbid=["minigrad.vjp"])
    def vjp_sin(rng):       # rng: a numpy Generator; draws nothing from anywhere else
        for shape in [(), (4,), (2, 3)]:
            yield Case("values", x=rng.normal(size=shape), g=rng.normal(size=shape))

    @vjp_sin.answer         # runs on the trusted side only, when the student's process is dead
    def _(x, g):
        return g * np.cos(x)

This file defines what crosses the border between the two sides. The cases go to the student's side:
they may be public, for they hold no answers. Plain values come back: numbers, texts, True and
False, None, lists, tuples, dictionaries with texts as keys, and arrays of real numbers. `answer`
(what is right) or `accept` (whether this is right, where several answers are) never go there.
"""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from . import protocol
from .stubs import is_blank, unwritten

T = TypeVar("T")

REAL_KINDS = "biuf"
"""The kinds of array that may cross the border: truth values, whole numbers, real floats."""

SIMPLE = frozenset((bool, int, float, str, type(None)))

FAILURES = (
    *("missing", "unfinished", "raised", "time", "memory", "died", "type", "forbidden"),
    "changed",
)
"""Why a call has no value: the name is not there; it is still the stub; it raised; it ran out of
time or memory; its process ended; what it returned is not plain; it called what the exercise
forbids; it changed its arguments.
"""


UNFINISHED = ("time", "memory", "died")
"""Those of FAILURES that end a program from outside, whatever it computes."""
NOT_RUN = "It was not run"
"""With this begins what is said of a step for which no time was left."""


LOOKS = "It looks as if"
"""With this begins what is said of a classic mistake."""

DERIVATIVES = "derivatives"
"""In `Exercise.forbid`: everything by which minigrad differentiates, under whatever name, and
the rules of its operations.
"""


class SheetError(ValueError):
    """An exercise or a sheet that is itself wrong: a matter for the instructor, never for the
    student.
    """


def plain_problem(value: Any, depth: int = 0) -> str:
    """Why a value is not plain, as the end of a sentence that begins with its name; "" if it is.
    NumPy's own scalars are not plain.
    """
    if depth > 16:
        return "is nested more than 16 deep"
    kind = type(value)
    if kind in SIMPLE:
        return ""
    if kind is np.ndarray:
        return "" if value.dtype.kind in REAL_KINDS else f"is an array of the type {value.dtype}"
    if kind in (list, tuple):
        for item in value:
            if type(item) not in SIMPLE and (problem := plain_problem(item, depth + 1)):
                return problem
        return ""
    if kind is dict:
        if not all(type(key) is str for key in value):
            return "is a dictionary whose keys are not all texts"
        return next(
            (problem for item in value.values() if (problem := plain_problem(item, depth + 1))), ""
        )
    return f"is of the type {kind.__name__}"


def _unscalar(value: Any) -> Any:
    """NumPy's scalars inside a case as Python's numbers: what `rng.integers(3)` gives may stand
    in a case.
    """
    kind = type(value)
    if kind in SIMPLE:
        return value
    if kind in (list, tuple):
        return kind([item if type(item) in SIMPLE else _unscalar(item) for item in value])
    if isinstance(value, np.generic):
        return value.item()
    return {key: _unscalar(item) for key, item in value.items()} if type(value) is dict else value


def elements(value: Any) -> int:
    """How many numbers and texts a plain value holds: the measure by which one case is smaller
    than another.
    """
    if type(value) in SIMPLE:
        return 1
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, dict):
        return sum(map(elements, value.values()))
    return sum(map(elements, value)) if isinstance(value, list | tuple) else 1


def copied(value: Any) -> Any:
    """A plain value of its own: who changes it changes no other. For plain values it takes a
    fraction of `copy.deepcopy`'s time.
    """
    kind = type(value)
    if kind in SIMPLE:
        return value
    if kind in (list, tuple):
        return kind([item if type(item) in SIMPLE else copied(item) for item in value])
    if kind is dict:
        return {key: copied(item) for key, item in value.items()}
    return value.copy()


@dataclass(frozen=True, init=False, eq=False)
class Case:
    """One call of what the student wrote. Its arguments are handed over in their order, not by
    name.

    group: which of the exercise's points it belongs to; args: plain values (not handed over where
    the exercise asks for a value); call: which of the exercise's answers is called (the first, if
    empty); size: for finding the smallest case that fails.
    """

    group: str
    args: dict[str, Any]
    call: str
    size: float
    _sent: str | None = field(default=None, repr=False)

    def __init__(self, group: str, /, **args: Any) -> None:
        self._set(group, args, "", None)

    @classmethod
    def of(
        cls, group: str, args: Mapping[str, Any], *, call: str = "", size: float | None = None
    ) -> Case:
        """A case in full; size: by default the number of elements of the arguments."""
        case = cls.__new__(cls)
        case._set(group, dict(args), call, size)
        return case

    def _set(self, group: str, args: dict[str, Any], call: str, size: float | None) -> None:
        args = {
            name: value if type(value) in SIMPLE else _unscalar(value)
            for name, value in args.items()
        }
        for name, value in args.items():
            if type(value) not in SIMPLE and (problem := plain_problem(value)):
                raise SheetError(
                    f"Case({group!r}): the argument {name} {problem}; cases are made of plain"
                    " values only."
                )
        size = sum(map(elements, args.values())) if size is None else size
        for name, value in (
            ("group", group),
            ("args", args),
            ("call", call),
            ("size", size),
            ("_sent", None),
        ):
            object.__setattr__(self, name, value)

    @property
    def sent(self) -> str:
        """The arguments as the student's side gets them: JSON, as protocol.py writes it."""
        if self._sent is None:
            object.__setattr__(
                self, "_sent", protocol.text(protocol.encode_all(self.args.values()))
            )
        return str(self._sent)


@dataclass(frozen=True, eq=False)
class Returned:
    """What came back for a case: a plain value, or why there is none.

    kind: "" where there is a value, else one of FAILURES; error: a sentence for the student; cpu_s,
    wall_s: seconds that the call took.
    """

    value: Any = None
    error: str = ""
    kind: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0


@dataclass(frozen=True)
class Misconception:
    """A classic mistake as a broken answer: what it is called, what to tell the student, and what
    it returns for a case.

    say: the end of a sentence that begins with "It looks as if"; or, where it begins with a capital
    letter or `alone` is true, a sentence
    of its own. variants: other forms of it, each with a sentence of its own; explains(case, got):
    whether values could come from it, where that depends on an order that the student chose;
    fitted(pairs of case and value): a variant made to measure, to be tried on all of them, or None
    in its place where the pairs have told already.
    """

    name: str
    say: str
    wrong: Callable[[Case], Any]
    variants: tuple[tuple[str, Callable[[Case], Any]], ...] = ()
    explains: Callable[[Case, Any], bool] | None = None
    fitted: (
        Callable[[list[tuple[Case, Any]]], tuple[str, Callable[[Case], Any] | None] | None] | None
    ) = None
    alone: bool = False

    @property
    def sentence(self) -> str:
        """What to tell the student, in full."""
        return self.say if self.alone or self.say[:1].isupper() else f"{LOOKS} {self.say}"

    @classmethod
    def of(
        cls,
        name: str,
        say: str,
        wrong: Callable[..., Any],
        *others: Callable[..., Any],
        call: str = "",
    ) -> Misconception:
        """A mistake as a function like the student's own: it is called with a case's arguments,
        by their names. others: the mistake in other forms; call: of an exercise with several
        answers the one that has it.
        """

        def of_case(f: Callable[..., Any]) -> Callable[[Case], Any]:
            def run(case: Case) -> Any:
                with np.errstate(all="ignore"):
                    return f(**case.args) if call in ("", case.call) else None

            return run

        return cls(name, say, of_case(wrong), tuple(("", of_case(f)) for f in others))


@dataclass(frozen=True)
class Where:
    """Where an answer first goes wrong. node: its name; say: a sentence; trace, step: the student's
    own Trace, and the step to show;
    wrong: the ids of all wrong nodes in that Trace; reference: the right Trace, to be shown with it
    as one graph.
    """

    node: str
    say: str
    trace: dict[str, Any] | None = None
    step: int = 0
    wrong: tuple[str, ...] = ()
    reference: dict[str, Any] | None = None


def once_for_each_case(compute: Callable[[Case], T]) -> Callable[[Case], T]:
    """A function of a case that computes its value once, and keeps it as long as the case is there.
    The value is not to be changed.

    What is right for a case is asked for by the verdict, by the picture, and for each of dozens of
    classic mistakes and cheap answers when a sheet is examined.
    """
    found: WeakKeyDictionary[Case, T] = WeakKeyDictionary()

    @wraps(compute)
    def kept(case: Case) -> T:
        if case not in found:
            found[case] = compute(case)
        return found[case]

    return kept


Answer = Callable[..., Any]
Accept = Callable[[Case, Any], Any]


@dataclass(eq=False)
class Exercise:
    """One exercise. Made by `exercise` below, or by a kind out of `minigrad.lessons.grading.kinds`.

    points: what each group is worth; a group's points are given if all its cases are right, else
    none of them.
    answers: the names that the student defines; by default the exercise's own. A case calls one of
    them.
    is_value: the student writes a number or a table, not a function; a case without arguments asks
    for it.
    drive: "package.module:function" for what a plain call cannot ask (a class, an argument that is
        filled in). It runs on the student's side as function(answers, call, *args), answers being a
        dictionary of what the student defined, and returns a plain value. Its module holds no
        secrets and imports nothing but numpy, minigrad and the standard library.
    forbid: dotted names that raise when the submission is graded: what is asked for must not be
        called instead. "derivatives" stands for all by which the library differentiates.
    limit_s: CPU seconds of one call.
    measured: a key of the dictionary that a call returns. The grader writes there how many bytes of
        memory the process took at most during the call, whatever the process said.
    rtol, atol: how exact floating-point numbers must be; None: by their dtype.
    hints: from where to look, over what to use, to the formula.
    verify: verify(case, got) -> like accept's result, without an answer key (the dot-product
        identity, finite differences): it serves the check in the notebook.
    told_by: like `accept`: it judges a submission, and in the notebook where there is no verify.
    where: where(case, got) -> the first wrong node, for exercises about graphs.
    hidden: groups whose cases are never shown to students. checked: a sentence for the notebook:
    what its check looked at.
    practice: the cases of the notebook's check, where they are not `make_cases`: fewer, so that
    students do not wait. small: cases that take little time, of groups whose own ones take long; an
    answer that is wrong there need not be tried on those (cheap_answers.py).
    present: present(case) -> the case as text, where a call does not tell it well. notebook:
    notebook(*answers) -> Feedback, for kinds whose check in the notebook does more than the common
    one. untouched: untouched(value) -> what is to be done first where a value is as it was handed
    out, else "". home: the folder of the sheet.py that it is from, in which the drive's module is
    looked for first; whoever loads a sheet.py sets it.
    """

    name: str
    points: dict[str, float]
    make_cases: Callable[[np.random.Generator], Iterable[Case]]
    answers: tuple[str, ...] = ()
    is_value: bool = False
    drive: str = ""
    forbid: tuple[str, ...] = ()
    limit_s: float = 10.0
    measured: str = ""
    rtol: float | None = None
    atol: float | None = None
    title: str = ""
    hints: tuple[str, ...] = ()
    misconceptions: tuple[Misconception, ...] = ()
    verify: Accept | None = None
    told_by: InitVar[Accept | None] = None
    where: Callable[[Case, Any], Where | None] | None = None
    checked: str = ""
    hidden: tuple[str, ...] = ()
    practice: Callable[[np.random.Generator], Iterable[Case]] | None = None
    small: Callable[[np.random.Generator], Iterable[Case]] | None = None
    notebook: Callable[..., Any] | None = None
    present: Callable[[Case], str] | None = None
    untouched: Callable[[Any], str] | None = None
    home: str = ""
    _answers: dict[str, Answer] = field(default_factory=dict)
    _accept: Accept | None = None
    _accept_all: Callable[[Sequence[Case]], Accept] | None = None

    def __post_init__(self, told_by: Accept | None) -> None:
        if told_by is not None:
            self._accept, self.verify = told_by, self.verify or told_by
        self.answers = tuple(self.answers) or (self.name,)
        self.forbid = tuple(self.forbid)
        if not self.points or any(not math.isfinite(p) or p < 0 for p in self.points.values()):
            raise SheetError(
                f"exercise {self.name!r}: points must name at least one group, and none may be"
                f" negative, got {self.points}."
            )
        if self.drive and self.drive.count(":") != 1:
            raise SheetError(
                f'exercise {self.name!r}: drive must be "package.module:function", got'
                f" {self.drive!r}."
            )

    def telling(
        self, *more: Misconception, without: tuple[str, ...] = (), before: bool = False
    ) -> Exercise:
        """This exercise with more classic mistakes behind (or before) its own, and without those
        of some names.
        """
        own = tuple(m for m in self.misconceptions if m.name not in without)
        self.misconceptions = (*more, *own) if before else (*own, *more)
        return self

    @property
    def max_points(self) -> float:
        """What the whole exercise is worth."""
        return float(sum(self.points.values()))

    # ----------------------------------------------------------------------------------- both sides

    def begun(self, returned: Sequence[Returned]) -> list[Returned]:
        """What came back, with values that are as they were handed out as not started: also a table
        of which no row is filled in."""
        told = ["" if b.kind else self._as_handed_out(b.value) for b in returned]
        return [
            Returned(error=say, kind="unfinished") if say else back
            for back, say in zip(returned, told, strict=True)
        ]

    def _as_handed_out(self, value: Any) -> str:
        if self.untouched:
            return self.untouched(value)
        table = value.values() if type(value) is dict else value
        empty = isinstance(value, dict | list | tuple) and value and all(map(is_blank, table))
        return unwritten(self.answers[0], None, is_value=True) if self.is_value and empty else ""

    def cases(self, rng: np.random.Generator | int, practice: bool = False) -> list[Case]:
        """The cases that a seed (or a generator) gives: always the same ones for the same seed.
        Raises SheetError.

        practice: those of the notebook's check.
        """
        generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
        found = list(
            (self.practice or self.make_cases)(generator)
            if practice
            else self.make_cases(generator)
        )
        for case in found:
            if not isinstance(case, Case):
                raise SheetError(
                    f"exercise {self.name!r}: cases(rng) must yield Case objects, not"
                    f" {type(case).__name__}."
                )
            if case.group not in self.points:
                raise SheetError(
                    f"exercise {self.name!r}: the group {case.group!r} has no points; there are"
                    f" {', '.join(self.points)}."
                )
            if self.called(case) not in self.answers:
                raise SheetError(
                    f"exercise {self.name!r}: a case calls {case.call!r}; the answers are"
                    f" {', '.join(self.answers)}."
                )
        if empty := [
            group for group in self.points if not any(case.group == group for case in found)
        ]:
            raise SheetError(
                f"exercise {self.name!r}: no case belongs to the group {empty[0]!r}, so its"
                " points would be given for nothing."
            )
        return found

    def called(self, case: Case) -> str:
        """The name of the student's function (or value) that a case asks for."""
        return case.call or self.answers[0]

    def request(self, case: Case, number: str) -> str:
        """A case as it goes to the student's side: plain, without anything that would tell what is
        right, its group included.

        number: a plain word by which its answer will be known.
        """
        sent = "[]" if self.is_value else case.sent
        return f'["{number}",{protocol.text(self.called(case))},{sent}]'

    def drive_code(self) -> tuple[str, str] | None:
        """The drive as (source of its module, name of the function), so that the student's side
        needs no part of the grader; or None.
        """
        if not self.drive:
            return None
        module, function = self.drive.split(":")
        beside = self.home and Path(self.home, *module.split(".")).with_suffix(".py")
        origin = str(beside) if beside and beside.is_file() else _origin(module)
        if origin is None:
            where = (
                f"it does not lie beside the sheet ({beside}), and"
                if beside
                else "it is not beside a sheet.py, and"
            )
            raise SheetError(
                f"exercise {self.name!r}: the module of its drive {self.drive!r} is not found:"
                f" {where} it cannot be imported."
            )
        return _text(origin, os.stat(origin).st_mtime_ns), function

    # --------------------------------------------------------------------------------- trusted side

    def answer(self, function: Answer | None = None, *, call: str = "") -> Any:
        """Decorator: what is right, as a function of the case's arguments, by name. call: for
        exercises with several answers.
        """
        if function is None:
            return lambda f: self.answer(f, call=call)
        name = call or self.answers[0]
        if name not in self.answers:
            raise SheetError(
                f"exercise {self.name!r}: there is no answer {name!r}; there are"
                f" {', '.join(self.answers)}."
            )
        self._answers[name] = function
        return function

    def accept(self, function: Accept) -> Accept:
        """Decorator: whether this is right, as a function of (case, got). It returns True, or
        False, or the reason why not as a text.

        `got` is plain, but nothing else is known of it: it may be of any type, size and shape.
        """
        self._accept = function
        return function

    def accept_all(
        self, function: Callable[[Sequence[Case]], Accept]
    ) -> Callable[[Sequence[Case]], Accept]:
        """Decorator: like `accept`, for exercises of many cases that are looked at faster together.
        function(cases) returns what judges one of them; it may compute beforehand what is right for
        all.
        """
        self._accept_all = function
        return function

    def acceptor(self, cases: Sequence[Case]) -> Accept | None:
        """What tells whether something is right in one of these cases, or None where there is
        one right answer.
        """
        return self._accept if self._accept_all is None else self._accept_all(cases)

    @property
    def has_one_answer(self) -> bool:
        """Whether `expected` tells what is right, and not `accept`."""
        return self._accept is None and self._accept_all is None

    @property
    def has_answer(self) -> bool:
        """Whether the trusted side can grade it."""
        return not self.has_one_answer or all(name in self._answers for name in self.answers)

    def expected(self, case: Case) -> Any:
        """What is right for a case. Raises SheetError where the exercise has no answer for it."""
        name = self.called(case)
        if name not in self._answers:
            raise SheetError(
                f"exercise {self.name!r}: nothing says what is right for {name!r}; decorate a"
                " function with .answer."
            )
        return self._answers[name](**case.args)


@cache
def _origin(module: str) -> str | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # a package that it should lie in is not there
        return None
    return None if spec is None else spec.origin


@lru_cache(maxsize=64)
def _text(path: str, changed: int) -> str:
    return Path(path).read_text(encoding="utf-8")


def exercise(
    name: str, *, points: Mapping[str, float], **options: Any
) -> Callable[[Callable[..., Iterator[Case]]], Exercise]:
    """Decorator for a generator of cases; it becomes an Exercise. options: the fields of Exercise.

    Raises SheetError for points, groups or options that cannot be.
    """
    return lambda make_cases: Exercise(name, dict(points), make_cases, **options)


__all__ = [
    "DERIVATIVES",
    "FAILURES",
    "NOT_RUN",
    "REAL_KINDS",
    "UNFINISHED",
    "Case",
    "Exercise",
    "Misconception",
    "Returned",
    "SheetError",
    "Where",
    "copied",
    "elements",
    "exercise",
    "once_for_each_case",
    "plain_problem",
]
