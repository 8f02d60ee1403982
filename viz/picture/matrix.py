"""A small Jacobian written out under the graph, as far as it is filled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minigrad.viz.numbers import short
from minigrad.viz.picture.marks import Box, Mark, TextLine

MOST = 8
"""A Jacobian of up to so many rows and columns is written out."""
ROW, CELL = 20.0, 92.0


def matrix_of(trace: Mapping[str, Any]) -> tuple[list[str], list[str]] | None:
    """Names of the rows and columns of a Trace's Jacobian, if it is small enough to be written
    out."""
    found = trace.get("jacobian")
    if found is None or not (0 < len(found["rows"]) <= MOST and 0 < len(found["columns"]) <= MOST):
        return None
    return list(found["rows"]), list(found["columns"])


def matrix_height(trace: Mapping[str, Any]) -> float:
    """The height that the matrix takes below the graph."""
    names = matrix_of(trace)
    return 0.0 if names is None else ROW * (len(names[0]) + 1) + 18


def matrix(
    trace: Mapping[str, Any],
    entries: Mapping[tuple[int, int], Any],
    step: Mapping[str, Any] | None,
) -> list[Mark]:
    """The matrix with the entries that are known, from (0, 0) downward; what the step fills is
    marked."""
    names = matrix_of(trace)
    if names is None:
        return []
    rows, columns = names
    new = {(row, column) for row, column, _ in (step or {}).get("entries", ())}
    marks: list[Mark] = [
        TextLine(CELL * (j + 2) - 10, ROW, f"∂/∂{name}", "head", "end")
        for j, name in enumerate(columns)
    ]
    for i, name in enumerate(rows):
        y = ROW * (i + 2)
        marks.append(TextLine(0, y, f"∂{name}", "head"))
        for j in range(len(columns)):
            x, role = CELL * (j + 1), "entry new" if (i, j) in new else "entry"
            marks.append(Box(x, y - 15, CELL - 4, ROW - 1, 3, role))
            if (i, j) in entries:
                marks.append(TextLine(x + CELL - 10, y, short(entries[i, j]), "value", "end"))
    return marks
