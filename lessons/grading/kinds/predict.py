"""`Predict`: what the viewer's predict mode logged, judged against what the engine did.

In predict mode the viewer stops before a step and asks for the number that the step will write. It
logs each answer as a dictionary

    {"step": 7, "node": "v2", "column": "g", "answer": 5.0}

in the order in which they were given: step, the index into the Trace's steps, counted from 0; node,
the node's id; column, "v" for the value, "d" for the tangent, "g" for the adjoint; answer, a
number, or a text. Of an array the viewer asks the shape ("asked": "shape", with an answer such as
"(3, 2)") or one element ("asked": its index, such as [0, 1]). Of a Trace of several passes (a
Jacobian) an answer also names its pass ("pass": its number in the Trace, from 0): each pass writes
the same cells again. The list is what the student hands in. What counts is, for each question, the
first answer that was given in the pass that it is about; where an adjoint of several contributions
is asked for as often as one arrives, the first answer for the complete one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from minigrad.trace.schema import COLUMN_NAMES
from minigrad.trace.text import pass_place
from minigrad.watch import trace_function

from ..comparison import same
from ..exercise import Case, Exercise, SheetError

HINTS = ("Which nodes does this one depend on, and what do you know of them at this step?",)

Cell: TypeAlias = tuple[str, str, int | None]
"""A node, a column, and the number of the pass that writes there; None for what belongs to no
pass, or to the only one.
"""


def Predict(
    name: str,
    f: Callable[..., Any],
    point: Sequence[Any],
    questions: Sequence[tuple[str, str] | tuple[str, str, str | int]],
    *,
    points: Mapping[str, float] | None = None,
    mode: str = "both",
    by: str | None = None,
    rtol: float = 1e-2,
    **options: Any,
) -> Exercise:
    """A log in which the student predicts cells of f's Trace at a point; each question (node,
    column) is a group, worth 1 by default.

    by: "columns", "rows" or "both" for the Trace that fills f's Jacobian (:func:`viz.jacobian`),
        pass by pass. A question about a tangent or an adjoint is then (node, column, pass): the
        name of the row or column of the matrix where the pass has its seed, or its number.
    rtol: relative, two digits by default. Raises SheetError for a question about a cell that the
    Trace does not have.
    """

    cells = _Cells(f, point, mode, by)
    labels = dict(cells.labelled(name, question) for question in questions)
    worth = dict(points or dict.fromkeys(labels, 1.0))

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for label, (node, column, number) in labels.items():
            yield Case.of(label, {"node": node, "column": column, "pass": number})

    def accept(case: Case, got: Any) -> str:
        if type(got) not in (list, tuple):
            return f"`{name}` should be the list that the viewer logged."
        for entry in got:
            if type(entry) is not dict or not {"step", "node", "column", "answer"} <= set(entry):
                return (
                    f"`{name}` should hold entries with step, node, column and answer, as the"
                    " viewer logs them."
                )
            cell = (case.args["node"], case.args["column"], case.args["pass"])
            early = type(entry["step"]) is int and cells.is_partial(cell, entry["step"])
            if cells.of(entry) == cell and not early:
                expected, answer = _asked(cells.final(cell), entry)
                problem = same(expected, answer, rtol, rtol * 1e-1, "your prediction")
                return f"the {case.group}: {problem}" if problem else ""
        return f"the {case.group} was not predicted yet."

    options = {"hints": HINTS, "title": f"Predictions {name}", **options}
    return Exercise(name, worth, cases, is_value=True, told_by=accept, **options)


class _Cells:
    """The cells of the Trace that is predicted, which is computed when it is first asked for."""

    def __init__(
        self, f: Callable[..., Any], point: Sequence[Any], mode: str, by: str | None
    ) -> None:
        self.f, self.point, self.mode, self.by = f, point, mode, by

    @cached_property
    def trace(self) -> dict[str, Any]:
        """What the engine does."""
        if self.by is None:
            return trace_function(self.f, *self.point, mode=self.mode)
        # a check of anything else does without viz
        from minigrad.viz.jacobian import jacobian_trace

        found: dict[str, Any] = jacobian_trace(self.f, *self.point, by=self.by)
        return found

    @cached_property
    def writing(self) -> dict[Cell, list[int]]:
        """The steps that write each cell, in each pass by itself; by None what belongs to no
        pass.
        """
        found: dict[Cell, list[int]] = {}
        for i, step in enumerate(self.trace["steps"]):
            for node, column, *_ in step["writes"]:
                found.setdefault((node, column, step.get("pass")), []).append(i)
        return found

    def is_partial(self, cell: Cell, step: int) -> bool:
        """Whether a step writes a sum that is not complete yet."""
        return step in self.writing[cell][:-1]

    def final(self, cell: Cell) -> Any:
        """The value that a cell has at the end of its pass."""
        step = self.trace["steps"][self.writing[cell][-1]]
        return next(
            value for node, column, value in reversed(step["writes"]) if (node, column) == cell[:2]
        )

    def of(self, entry: Mapping[str, Any]) -> Cell:
        """What an answer is about. Where the Trace has one pass, a pass in the log means
        nothing.
        """
        number = entry.get("pass") if self.trace.get("passes") else None
        return str(entry["node"]), str(entry["column"]), number

    def labelled(self, name: str, question: Sequence[Any]) -> tuple[str, Cell]:
        """What a question is called, and its cell. Raises SheetError where there is none."""
        label, cell = _question(self.trace, question)
        if cell not in self.writing:
            hint = (
                "; its passes are several, so name one: (node, column, pass)"
                if self.trace.get("passes") and cell[2] is None
                else ""
            )
            raise SheetError(f"exercise {name!r}: the Trace has no cell {question!r}{hint}.")
        return label, cell


def _question(trace: Mapping[str, Any], question: Sequence[Any]) -> tuple[str, Cell]:
    """What a question is called, and the cell that it is about. The number of a pass that does
    not exist is left to be found missing.
    """
    node, column, *named = question
    label = f"{COLUMN_NAMES.get(column, column)} of {node}"
    if not named:
        return label, (node, column, None)
    mode = {"d": "forward", "g": "reverse"}.get(column)
    numbers = [k for k, one in enumerate(trace.get("passes") or []) if one["mode"] == mode]
    at = {
        str(place["at"]): k
        for k in numbers
        if (place := pass_place(trace, k)) is not None and place["at"]
    }
    number = at.get(named[0], -1) if isinstance(named[0], str) else named[0]
    where = next(
        (f"the seed at {seeded}" for seeded, k in at.items() if k == number), f"pass {number}"
    )
    return f"{label} with {where}", (node, column, number)


def _asked(value: Any, entry: Mapping[str, Any]) -> tuple[Any, Any]:
    """What was asked of a cell, and what was answered: the number itself, the shape of an array,
    or one of its elements.
    """
    asked, answer = entry.get("asked"), entry["answer"]
    if not isinstance(value, dict) or "shape" not in value:
        return value, answer
    if asked == "shape" and (entry["column"] == "v" or not value["sample"]):
        sizes = str(answer).strip("()[] ").replace("x", ",").split(",")
        return value["shape"], [
            int(size) if size.strip().isdigit() else size for size in sizes if size.strip()
        ]
    flat = 0
    index = asked if isinstance(asked, list) and len(asked) == len(value["shape"]) else []
    for place, size in zip(index, value["shape"], strict=False):
        if not isinstance(place, int) or not 0 <= place < size:
            return value["shape"], answer
        flat = flat * size + place
    known = bool(index) and flat < len(value["sample"])
    return (value["sample"][flat], answer) if known else (value["shape"], answer)
