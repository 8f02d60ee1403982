"""The kinds of exercise that ask for a number or a table of numbers: predict before you look, and
fill in the evaluation trace.

The right answers come out of a Trace that the engine writes when the check runs, so no answer
stands in a file. Wrong numbers are recognised too: each question lists what one gets by the usual
slips. The notebook's check and the batch grader ask the same two functions: `plain_number`, what
counts as a number, and `near`, which numbers are right.
"""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from minigrad.trace import state_at
from minigrad.trace.text import number
from minigrad.watch import notation, trace_function
from minigrad.watch.values import value as plain

from ..calls import StudentProblem, as_number
from ..exercise import Case, Exercise, Misconception
from ..feedback import Feedback, Line
from ..protocol import ProtocolError, decode, encode
from ..stubs import is_blank
from ..student_trace import about
from ..words import a_kind

Trace = dict[str, Any]


TABLE = 1e-3
"""How exact the numbers of a table must be, as of `near`."""


def plain_number(value: Any, place: str) -> float:
    """A student's number as a float: Python's, NumPy's, or a tensor or an array of no dimensions.
    Raises StudentProblem.

    place: where it comes from, as the start of a sentence, such as "Your prediction is".
    """
    try:
        found = decode(encode(value))  # what the batch grader gets to see of it
    except ProtocolError:
        if isinstance(value, numbers.Real):
            raise StudentProblem(
                "type",
                f"{place} {a_kind(value)}; it should be a plain number (`float(…)` makes one).",
            ) from None
        found = value
    return as_number(
        found.item() if isinstance(found, np.ndarray) and found.shape == () else found, place
    )


def near(a: float, b: float, tolerance: float) -> bool:
    """Whether a number is as near to the right one, b, as is asked: |a − b| ≤ tolerance · max(1,
    |b|). NaN is near to nothing.
    """
    return abs(a - b) <= tolerance * max(1.0, abs(b))


def Number(
    name: str,
    question: str,
    answer: Callable[[], float],
    because: str,
    slips: tuple[tuple[str, Callable[[], float]], ...] = (),
    hints: tuple[str, ...] = (),
    tolerance: float = 1e-3,
    variable: str = "",
) -> Exercise:
    """A question with a number for an answer, worth 1 point; the arguments are those of
    `Prediction`.

    variable: what the notebook calls the number, if not as the exercise is called.
    """
    answer, slips = cache(answer), tuple((say, cache(wrong)) for say, wrong in slips)
    asked = Prediction(name, question, answer, because, slips, tuple(hints), tolerance)

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        yield Case("answer")

    made = Exercise(
        name,
        {"answer": 1},
        cases,
        answers=(variable or name,),
        is_value=True,
        title=question,
        hints=asked.hints,
        misconceptions=tuple(_slip(_short(say), say, wrong, tolerance) for say, wrong in slips),
        notebook=asked.check,
        # For the slips: half of the tolerance each, so that their sum is never more than `near`
        # allows.
        rtol=tolerance / 2,
        atol=tolerance / 2,
    )
    made.accept(lambda case, got: asked.problem(got, f"`{variable or name}` is"))
    return made


def _short(say: str) -> str:
    """What a slip is called in a table: its sentences, or the first of many words."""
    return (say if len(say) <= NAME else say.partition(". ")[0]).rstrip(".")


NAME = 100
"""Letters that a slip's name may have."""


def _slip(name: str, say: str, wrong: Callable[[], float], tolerance: float) -> Misconception:
    def explains(case: Case, got: Any) -> bool:
        return near(float(got), wrong(), tolerance)

    return Misconception(name, say, lambda case: wrong(), explains=explains, alone=True)


def _arity(f: Callable[..., float]) -> int:
    return 1 if f in (math.cos, math.sin, math.log10, math.log2) else f.__code__.co_argcount


def Table(
    name: str,
    f: Callable[..., Any],
    point: tuple[float, ...],
    hints: tuple[str, ...],
    points: float = 2.0,
    variable: str = "",
) -> Exercise:
    """The values of a function's evaluation trace, as a dictionary from the nodes' names to
    numbers; variable: as of `Number`.
    """
    asked = TableExercise(name, f, point, tuple(hints), points)

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        yield Case("table")

    def accept(case: Case, got: Any) -> str:
        return asked.problem(got)

    made = Exercise(
        name,
        {"table": points},
        cases,
        answers=(variable or name,),
        is_value=True,
        title=f"Exercise {name}",
        hints=asked.hints,
        notebook=asked.check,
        untouched=asked.untouched,
        misconceptions=tuple(asked.misconceptions()),
    )
    made.accept(accept)
    return made


@cache
def _primal(f: Callable[..., Any], point: tuple[float, ...]) -> Trace:
    """Computed once for all submissions; never modified."""
    return trace_function(f, *point, mode="primal")


Slip = tuple[str, str, Callable[..., float]]


def _safe(f: Callable[..., float]) -> Callable[..., float]:
    def value(*operands: float) -> float:
        try:
            return float(f(*operands))
        except (ArithmeticError, ValueError):
            return math.nan

    return value


ROW_SLIPS: dict[str, tuple[Slip, ...]] = {
    "sin": (
        (
            "degrees",
            "`math.sin` takes radians; you seem to have used degrees.",
            lambda a: math.sin(math.radians(a)),
        ),
        ("cosine for sine", "That is the cosine; here it is the sine.", math.cos),
    ),
    "cos": (
        (
            "degrees",
            "`math.cos` takes radians; you seem to have used degrees.",
            lambda a: math.cos(math.radians(a)),
        ),
        ("sine for cosine", "That is the sine; here it is the cosine.", math.sin),
    ),
    "log": (
        (
            "another base",
            "That is the logarithm to the base 10; ln is the one to the base e, `math.log`.",
            math.log10,
        ),
        (
            "another base",
            "That is the logarithm to the base 2; ln is the one to the base e, `math.log`.",
            math.log2,
        ),
        (
            "1/x for ln x",
            "That is 1/x, the derivative of ln x. In this table stand values.",
            lambda a: 1 / a,
        ),
    ),
    "exp": (
        ("power of 10", "That is a power of 10; exp is a power of e, `math.exp`.", lambda a: 10**a),
    ),
    "add": (
        ("multiplied", "The two are added, not multiplied.", lambda a, b: a * b),
        ("subtracted", "The two are added, not subtracted.", lambda a, b: a - b),
    ),
    "sub": (
        ("the wrong way round", "The two are subtracted the wrong way round.", lambda a, b: b - a),
        ("added", "The second one is subtracted, not added.", lambda a, b: a + b),
    ),
    "mul": (
        ("added", "The two are multiplied, not added.", lambda a, b: a + b),
        ("power", "The two are multiplied; this is a power.", lambda a, b: a**b),
    ),
    "div": (
        ("the wrong way round", "The two are divided the wrong way round.", lambda a, b: b / a),
    ),
    "pow": (("multiplied", "That is a product; here it is a power.", lambda a, b: a * b),),
}
"""Slips in a row of an evaluation trace: by the operation (name, sentence, what one gets from
the operands).
"""
ANY_ROW: tuple[Slip, ...] = (
    ("sign", "The size is right, but not the sign.", lambda right, *operands: -right),
)
ROUNDED = 2e-2
"""A number that is off by less than this has probably been rounded too early."""


def cell(trace: Trace, node: str, column: str) -> float:
    """A number of a finished Trace."""
    return float(state_at(trace, len(trace["steps"])).cells[node, column])


@dataclass(frozen=True)
class Prediction:
    """A question with a number for an answer.

    answer: computes it; because: why it is so, said once it is right; slips: (sentence, what one
    gets by that slip), tried in order;
    tolerance: how exact the student must be, relative to the answer.
    """

    name: str
    question: str
    answer: Callable[[], float]
    because: str
    slips: tuple[tuple[str, Callable[[], float]], ...] = ()
    hints: tuple[str, ...] = ()
    tolerance: float = 1e-3

    def check(self, value: Any = None, *rest: Any) -> Feedback:
        """Compare a prediction with what the engine computes."""
        feedback = Feedback(self.question, "wrong", self.name, possible=1.0, hints=self.hints)
        try:
            if value is None or value is ...:
                raise StudentProblem(
                    "unfinished",
                    "Write your number in place of `...` in the cell above, run it, then run"
                    " this cell again.",
                )
            guess = plain_number(value, "Your prediction is")
        except StudentProblem as problem:
            feedback.status = "unfinished" if problem.kind == "unfinished" else "trouble"
            feedback.lines.append(Line(feedback.status, problem.say))
            return feedback
        if self._agree(guess, self.answer()):
            feedback.status, feedback.points, feedback.hints = "right", 1.0, ()
            feedback.lines.append(Line("right", f"{number(guess)}. {self.because}"))
            return feedback
        slip = next((say for say, wrong in self.slips if self._agree(guess, wrong())), None)
        feedback.lines.append(
            Line("wrong", f"{number(plain(guess))} is not right. {slip or self._beginning(guess)}")
        )
        return feedback

    def _beginning(self, guess: float) -> str:
        """What is said of a guess that no slip explains: that its sign is wrong, or where to begin,
        which is the first hint.
        """
        right = self.answer()
        if right and self._agree(-guess, right):
            return "The size is right, but not the sign."
        return f"Begin here: {self.hints[0]}" if self.hints else "Look again."

    def problem(self, value: Any, place: str) -> str:
        """Why a prediction is not right, without the right one; "" if it is. place: as of
        `plain_number`.
        """
        try:
            guess = plain_number(value, place)
        except StudentProblem as problem:
            return problem.say
        return (
            ""
            if self._agree(guess, self.answer())
            else f"{place} {number(plain(guess))}, which is not right."
        )

    def _agree(self, a: float, b: float) -> bool:
        return near(a, b, self.tolerance)


@dataclass(frozen=True)
class TableExercise:
    """The values of a function's evaluation trace, as a dictionary from the nodes' names to
    numbers.
    """

    name: str
    f: Callable[..., Any]
    point: tuple[float, ...]
    hints: tuple[str, ...]
    points: float = 2.0

    def check(self, table: Any = None, *rest: Any) -> Feedback:
        """Compare a table with the engine's values, row by row."""
        feedback = Feedback(
            f"Exercise {self.name}", "wrong", self.name, possible=self.points, hints=self.hints
        )
        try:
            reference, given, node = self._read(table)
        except StudentProblem as problem:
            feedback.status = "unfinished" if problem.kind == "unfinished" else "trouble"
            feedback.lines.append(Line(feedback.status, problem.say))
            return feedback
        if node is None:
            names = [n["id"] for n in reference["nodes"]]
            feedback.status, feedback.points, feedback.hints = "right", self.points, ()
            feedback.lines.append(
                Line(
                    "right",
                    f"all {len(names)} rows are right; the last one is the function's value,"
                    f" {number(given[names[-1]])}.",
                )
            )
        elif node not in given:
            waits = self.untouched(table)
            feedback.status = "unfinished" if waits else "wrong"
            start = "Not started yet; the" if waits else "the rows before it are right; the"
            feedback.lines.append(
                Line("unfinished", f"{start} next row to fill in is {about(reference, node)}.")
            )
        else:
            theirs = _filled(reference, given)
            feedback.trace, feedback.step = (
                theirs,
                1 + next(i for i, s in enumerate(theirs["steps"]) if s["node"] == node),
            )
            feedback.lines.append(Line("wrong", self._wrong_row(reference, node, given)))
            if likely := self._likely(table):
                feedback.lines.append(Line("note", likely))
        return feedback

    def slips(self, node: str) -> Iterator[tuple[str, str, float]]:
        """(name, sentence, value) of the usual slips in a row, made from right operands; those
        that change nothing are left out.
        """
        reference = _primal(self.f, self.point)
        right = {n["id"]: cell(reference, n["id"], "v") for n in reference["nodes"]}
        op = next(n.get("op") for n in reference["nodes"] if n["id"] == node)
        if not op:
            return
        edges = sorted((e["slot"], e["src"]) for e in reference["edges"] if e["dst"] == node)
        operands = [right[source] for _, source in edges]
        found = [
            (name, say, _safe(f)(*operands))
            for name, say, f in ROW_SLIPS.get(op, ())
            if len(operands) == _arity(f)
        ]
        found += [(name, say, f(right[node], *operands)) for name, say, f in ANY_ROW]
        found += [
            ("operand copied", f"That is the value of {source} again.", right[source])
            for _, source in edges
        ]
        yield from (
            slip
            for slip in found
            if math.isfinite(slip[2]) and not near(slip[2], right[node], TABLE)
        )

    def misconceptions(self) -> Iterator[Misconception]:
        """The usual slips, each in the first row in which it can be made; the sentence is the
        row's own.
        """
        rows = [
            (n["id"], slip)
            for n in _primal(self.f, self.point)["nodes"]
            for slip in self.slips(n["id"])
        ]
        for name, say in dict.fromkeys((slip[0], slip[1]) for _, slip in rows):
            node, value = next((node, slip[2]) for node, slip in rows if slip[:2] == (name, say))
            yield Misconception(
                name,
                say,
                lambda case, node=node, value=value: self._right() | {node: value},
                explains=lambda case, got, say=say: self._likely(got) == say,
                alone=True,
            )

    def _right(self) -> dict[str, float]:
        reference = _primal(self.f, self.point)
        return {n["id"]: cell(reference, n["id"], "v") for n in reference["nodes"]}

    def _read(self, table: Any) -> tuple[Trace, dict[str, float], str | None]:
        """The right Trace, a table's numbers, and the node of its first wrong or empty row.

        Raises StudentProblem.
        """
        reference = _primal(self.f, self.point)
        given = self._given(table, [n["id"] for n in reference["nodes"]])
        return reference, given, self._parting(reference, given)

    def _likely(self, table: Any) -> str:
        """The sentence of the slip that the first wrong row looks like; "" if it looks like
        none.
        """
        try:
            _, given, node = self._read(table)
        except StudentProblem:
            return ""
        if node is None or node not in given:
            return ""
        return next(
            (say for _, say, value in self.slips(node) if near(given[node], value, TABLE)), ""
        )

    def _rounded(self, node: str, given: float) -> bool:
        return near(given, self._right()[node], ROUNDED)

    def problem(self, table: Any) -> str:
        """Why a table is not right, without the right numbers; "" if it is."""
        try:
            reference, given, node = self._read(table)
        except StudentProblem as problem:
            return problem.say
        if node is None:
            return ""
        return (
            self._wrong_row(reference, node, given)
            if node in given
            else f"the row of {about(reference, node)} is still empty."
        )

    def untouched(self, table: Any) -> str:
        """Which row is to be filled in first, where no operation's is; else ""."""
        try:
            reference, given, node = self._read(table)
        except StudentProblem:
            return ""
        begun = any(n["id"] in given for n in reference["nodes"] if n.get("op"))
        if begun or node is None or node in given:
            return ""
        return f"The next row to fill in is {about(reference, node)}."

    def _given(self, table: Any, names: list[str]) -> dict[str, float]:
        """The rows that are filled in. Raises StudentProblem."""
        if is_blank(table):
            raise StudentProblem("unfinished", "Not started yet: the table is still empty.")
        if not isinstance(table, Mapping):
            raise StudentProblem(
                "type",
                "The table should be a dictionary such as {'x1': 2.0, …}, but it is"
                f" {a_kind(table)}.",
            )
        self._known(table, names)
        return {
            n: plain_number(table[n], f"Row {n} is") for n in names if not is_blank(table.get(n))
        }

    def _parting(self, reference: Trace, given: Mapping[str, float]) -> str | None:
        """The first row that is empty or wrong."""
        right = state_at(reference, len(reference["steps"])).cells
        names = [n["id"] for n in reference["nodes"]]
        return next(
            (n for n in names if n not in given or not near(given[n], float(right[n, "v"]), TABLE)),
            None,
        )

    def _wrong_row(self, reference: Trace, node: str, given: Mapping[str, float]) -> str:
        say = (
            f"the first wrong row is {about(reference, node)}: {number(plain(given[node]))} is not"
            " its value."
        )
        if self._rounded(node, given[node]):
            say = (
                f"{say[:-1]}, but it is close: keep four digits after the point, and round only"
                " at the end."
            )
        return (
            say if node == reference["nodes"][0]["id"] else f"{say} The rows before it are right."
        )

    def _known(self, table: Mapping[Any, Any], names: list[str]) -> None:
        strange = [k for k in table if k not in names]
        if strange:
            near = difflib.get_close_matches(str(strange[0]), names, n=1)
            raise StudentProblem(
                "type",
                f"The table has a row {strange[0]!r}; the rows are {', '.join(names)}."
                + (f" Did you mean {near[0]}?" if near else ""),
            )


def _filled(reference: Trace, given: dict[str, float]) -> Trace:
    """The evaluation trace with the student's numbers and nothing of the engine's; rows that
    were left empty have no step.
    """
    nodes = {n["id"]: n for n in reference["nodes"]}
    steps = []
    for step in reference["steps"]:
        node, column, value = step["writes"][0]
        if node not in given:
            continue
        symbol, sign = step["formula"][0], notation.op("=")
        made = [*nodes[node]["expr"], sign] if nodes[node]["expr"] else []
        say = f"Your table says that {about(reference, node)} is {number(plain(given[node]))}"
        if not near(given[node], float(value), TABLE):
            say += ", which it is not"
        steps.append(
            {
                **step,
                "writes": [[node, column, plain(given[node])]],
                "formula": [symbol, sign, *made, notation.num(plain(given[node]), "v")],
                "say": say + ".",
            }
        )
    return {**reference, "title": f"{reference['title']} · your table", "steps": steps}
