"""What the cells of a sheet's notebook say: whose they are, and what they check."""

from __future__ import annotations

import ast
from typing import Any

CHECKS = ("check", "predict")
"""The functions that a check cell calls, with the exercise's name first."""


def source_of(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])


def nbgrader_of(cell: dict[str, Any]) -> dict[str, Any]:
    """nbgrader's metadata of a cell; empty if it has none."""
    return dict(cell.get("metadata", {}).get("nbgrader") or {})


def ids_of(cell: dict[str, Any]) -> list[str]:
    """The names of a cell: its id, and the one that nbgrader gives it."""
    return [i for i in (cell.get("id"), nbgrader_of(cell).get("grade_id")) if i]


def _call_in(source: str) -> ast.Call | None:
    """The call of check or predict in a cell, with a text as its first argument; None if there
    is none.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in CHECKS
            and node.args
        ):
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                return node
    return None


def asked_in(source: str) -> str | None:
    """The exercise that a cell checks: the first argument of its call of check or predict; None
    if it checks none.
    """
    call = _call_in(source)
    return None if call is None else str(call.args[0].value)  # type: ignore[attr-defined]


def answers_in(source: str) -> tuple[str, ...]:
    """The names that a cell hands to its check."""
    call = _call_in(source)
    return () if call is None else tuple(a.id for a in call.args[1:] if isinstance(a, ast.Name))


def check_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Locked cells that nbgrader grades, and cells that call check all the same."""
    return [
        cell
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
        and (
            (nbgrader_of(cell).get("grade") and not nbgrader_of(cell).get("solution"))
            or asked_in(source_of(cell))
        )
    ]
