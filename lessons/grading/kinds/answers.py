"""The kinds of exercise that ask for a number or a table of numbers: predict before you look, and fill in the evaluation trace.

After reading this file you know where the right answers come from: out of a Trace that the engine writes when the check runs, so no
answer stands in a file, and how a wrong number is recognised: each question lists what one gets by the usual slips.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.trace import first_divergence, state_at
from minigrad.trace.text import number
from minigrad.watch import trace_function

from ..calls import StudentProblem, as_number
from ..exercise import Case, Exercise, Misconception
from ..feedback import Feedback, Line
from ..judge import same
from ..student_trace import about, plain

Trace = dict[str, Any]


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
    """A question with a number for an answer, worth 1 point; the arguments are those of `Prediction`.

    variable: what the notebook calls the number, if not as the exercise is called.
    """
    asked = Prediction(name, question, answer, because, tuple(slips), tuple(hints), tolerance)

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
        misconceptions=tuple(Misconception(f"slip {i}", say, lambda case, wrong=wrong: wrong()) for i, (say, wrong) in enumerate(slips, 1)),
        notebook=asked.check,
        rtol=tolerance,
        atol=tolerance,
    )
    made.answer(lambda: float(answer()))
    return made


def Table(
    name: str, f: Callable[..., Any], point: tuple[float, ...], hints: tuple[str, ...], points: float = 2.0, variable: str = ""
) -> Exercise:
    """The values of a function's evaluation trace, as a dictionary from the nodes' names to numbers; variable: as of `Number`."""
    asked = TableExercise(name, f, point, tuple(hints), points)

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        yield Case("table")

    def accept(case: Case, got: Any) -> str:
        reference = trace_function(f, *point, mode="primal")
        right = state_at(reference, len(reference["steps"])).cells
        if type(got) is not dict:
            return f"`{variable or name}` should be a dictionary."
        return same({node: right[node, "v"] for node in (n["id"] for n in reference["nodes"])}, got, 1e-3, 1e-3, f"`{variable or name}`")

    own = (variable or name,)
    made = Exercise(
        name, {"table": points}, cases, answers=own, is_value=True, title=f"Exercise {name}", hints=asked.hints, notebook=asked.check
    )
    made.accept(accept)
    return made


def cell(trace: Trace, node: str, column: str) -> float:
    """A number of a finished Trace."""
    return float(state_at(trace, len(trace["steps"])).cells[node, column])


@dataclass(frozen=True)
class Prediction:
    """A question with a number for an answer.

    answer: computes it; because: why it is so, said once it is right; slips: (sentence, what one gets by that slip), tried in order;
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
                    "unfinished", "Write your number in the place of `...` in the cell above, run it, then run this cell again."
                )
            guess = as_number(value, "Your prediction is")
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
            Line("wrong", f"{number(plain(guess))} is not it. {slip or 'Look once more, or take a hint, and try again; nobody counts.'}")
        )
        return feedback

    def _agree(self, a: float, b: float) -> bool:
        return abs(a - b) <= self.tolerance * max(1.0, abs(b))


@dataclass(frozen=True)
class TableExercise:
    """The values of a function's evaluation trace, as a dictionary from the nodes' names to numbers."""

    name: str
    f: Callable[..., Any]
    point: tuple[float, ...]
    hints: tuple[str, ...]
    points: float = 2.0

    def check(self, table: Any = None, *rest: Any) -> Feedback:
        """Compare a table with the engine's values, row by row."""
        feedback = Feedback(f"Exercise {self.name}", "wrong", self.name, possible=self.points, hints=self.hints)
        reference = trace_function(self.f, *self.point, mode="primal")
        names = [n["id"] for n in reference["nodes"]]
        try:
            if table is None or table is ...:
                raise StudentProblem("unfinished", "Not started yet: the table is still empty.")
            if not isinstance(table, Mapping):
                raise StudentProblem(
                    "type", f"The table should be a dictionary such as {{'x1': 2.0, …}}, but it is of the type {type(table).__name__}."
                )
            self._known(table, names)
            empty = [n for n in names if table.get(n) is None or table.get(n) is ...]
            given = {n: as_number(table[n], f"Row {n} is") for n in names if n not in empty}
        except StudentProblem as problem:
            feedback.status = "unfinished" if problem.kind == "unfinished" else "trouble"
            feedback.lines.append(Line(feedback.status, problem.say))
            return feedback
        theirs = _filled(reference, given)
        parting = first_divergence(reference, theirs, rtol=1e-3)
        if parting is None:
            feedback.status, feedback.points, feedback.hints = "right", self.points, ()
            feedback.lines.append(
                Line("right", f"all {len(names)} rows are right; the last one is the function's value, {number(given[names[-1]])}.")
            )
        elif parting.kind == "missing":
            begun = any(n["id"] in given for n in reference["nodes"] if n.get("op"))
            feedback.status = "wrong" if begun else "unfinished"
            start = "the rows before it are right; the" if begun else "Not started yet; the"
            feedback.lines.append(Line("unfinished", f"{start} next row to fill in is {about(reference, str(parting.node))}."))
        else:
            node = str(parting.node)
            feedback.trace, feedback.step = theirs, 1 + next(i for i, s in enumerate(theirs["steps"]) if s["node"] == node)
            say = f"the first wrong row is {about(reference, node)}: {number(plain(given[node]))} is not its value."
            feedback.lines.append(Line("wrong", f"{say} The rows before it are right."))
        return feedback

    def _known(self, table: Mapping[Any, Any], names: list[str]) -> None:
        strange = [k for k in table if k not in names]
        if strange:
            near = difflib.get_close_matches(str(strange[0]), names, n=1)
            raise StudentProblem(
                "type",
                f"The table has a row {strange[0]!r}; the rows are {', '.join(names)}." + (f" Did you mean {near[0]}?" if near else ""),
            )


def _filled(reference: Trace, given: dict[str, float]) -> Trace:
    """The evaluation trace with the student's numbers and nothing of the engine's; rows that were left empty have no step."""
    nodes = {n["id"]: n for n in reference["nodes"]}
    steps = []
    for step in reference["steps"]:
        node, column, value = step["writes"][0]
        if node not in given:
            continue
        symbol, sign, own = step["formula"][0], {"t": "op", "text": "="}, {"t": "num", "value": plain(given[node]), "col": "v"}
        made = [*nodes[node]["expr"], sign] if nodes[node]["expr"] else []
        say = f"Your table says that {about(reference, node)} is {number(plain(given[node]))}"
        if abs(given[node] - value) > 1e-3 * max(1.0, abs(value)):
            say += ", which it is not"
        steps.append({**step, "writes": [[node, column, plain(given[node])]], "formula": [symbol, sign, *made, own], "say": say + "."})
    return {**reference, "title": f"{reference['title']} · your table", "steps": steps}
