"""`Predict`: what the viewer's predict mode logged, judged against what the engine did.

In predict mode the viewer stops before a step and asks for the number that the step will write. It logs each answer as a dictionary

    {"step": 7, "node": "v2", "column": "g", "answer": 5.0}

in the order in which they were given: step, the index into the Trace's steps, counted from 0; node, the node's id; column, "v" for the
value, "d" for the tangent, "g" for the adjoint; answer, a number, or a text. Of an array the viewer asks the shape ("asked": "shape", with
an answer such as "(3, 2)") or one element ("asked": its index, such as [0, 1]). The list of them is what the student hands in. After
reading this file you know what counts: for each question the first answer that was given, where an adjoint of several contributions is
asked for as often as one arrives, the first answer for the complete one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from minigrad.trace.replay import state_at
from minigrad.watch import trace_function

from ..exercise import Case, Exercise, SheetError
from ..judge import same

COLUMNS = {"v": "value", "d": "tangent", "g": "adjoint"}


def Predict(
    name: str,
    f: Callable[..., Any],
    point: Sequence[Any],
    questions: Sequence[tuple[str, str]],
    *,
    points: Mapping[str, float] | None = None,
    mode: str = "both",
    rtol: float = 1e-2,
    **options: Any,
) -> Exercise:
    """A log in which the student predicts cells of f's Trace at a point; each question (node, column) is a group, worth 1 by default.

    rtol: relative, two digits by default. Raises SheetError for a question about a cell that the Trace does not have.
    """
    labels = {f"{COLUMNS.get(column, column)} of {node}": (node, column) for node, column in questions}
    worth = dict(points or dict.fromkeys(labels, 1.0))

    @cache
    def trace() -> dict[str, Any]:
        return trace_function(f, *point, mode=mode)

    @cache
    def final() -> dict[tuple[str, str], Any]:
        return state_at(trace(), len(trace()["steps"])).cells

    def partial(entry: Mapping[str, Any]) -> bool:
        """Whether an answer is about a sum that was not complete yet."""
        cell, steps = [entry["node"], entry["column"]], trace()["steps"]
        writing = [i for i, step in enumerate(steps) if any(write[:2] == cell for write in step["writes"])]
        return entry["step"] in writing[:-1]

    if unknown := [q for q in labels.values() if q not in final()]:
        raise SheetError(f"exercise {name!r}: the Trace has no cell {unknown[0]!r}.")

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for label, (node, column) in labels.items():
            yield Case.of(label, {"node": node, "column": column})

    def accept(case: Case, got: Any) -> str:
        if type(got) not in (list, tuple):
            return f"`{name}` should be the list that the viewer logged."
        for entry in got:
            if type(entry) is not dict or not {"step", "node", "column", "answer"} <= set(entry):
                return f"`{name}` should hold entries with step, node, column and answer, as the viewer logs them."
            if (entry["node"], entry["column"]) == (case.args["node"], case.args["column"]) and not partial(entry):
                expected, answer = _asked(final()[entry["node"], entry["column"]], entry)
                problem = same(expected, answer, rtol, rtol * 1e-1, "your prediction")
                return f"the {case.group}: {problem}" if problem else ""
        return f"the {case.group} was not predicted yet."

    exercise = Exercise(
        name,
        worth,
        cases,
        is_value=True,
        verify=accept,
        **{
            "hints": ("Which nodes does this one depend on, and what do you know of them at this step?",),
            "title": f"Predictions {name}",
            **options,
        },
    )
    exercise.accept(accept)
    return exercise


def _asked(value: Any, entry: Mapping[str, Any]) -> tuple[Any, Any]:
    """What was asked of a cell, and what was answered: the number itself, the shape of an array, or one of its elements."""
    asked, answer = entry.get("asked"), entry["answer"]
    if not isinstance(value, dict) or "shape" not in value:
        return value, answer
    if asked == "shape" and (entry["column"] == "v" or not value["sample"]):
        sizes = str(answer).strip("()[] ").replace("x", ",").split(",")
        return value["shape"], [int(size) if size.strip().isdigit() else size for size in sizes if size.strip()]
    flat = 0
    index = asked if isinstance(asked, list) and len(asked) == len(value["shape"]) else []
    for place, size in zip(index, value["shape"], strict=False):
        if not isinstance(place, int) or not 0 <= place < size:
            return value["shape"], answer
        flat = flat * size + place
    known = bool(index) and flat < len(value["sample"])
    return (value["sample"][flat], answer) if known else (value["shape"], answer)
