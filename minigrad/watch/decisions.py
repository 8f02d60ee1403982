"""What an `if`, a `while` or a conditional expression did with a condition: which part of the
source runs and which does not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

Range = tuple[int, int, int, int]
Span = list[int]
Place = Callable[[Range], Span | None]
Branching = ast.If | ast.While | ast.IfExp


def decision(
    definition: ast.AST, found: Range, truth: bool, place: Place
) -> tuple[dict[str, Any], str] | None:
    """What follows from the truth of a condition, as data and as a sentence; None where it alone
    does not decide (`a and b`), or decides nothing.

    definition: the function; found: the range of the source under evaluation; place: from a range
    of the file to a span of the shown source, or None."""
    node = next((n for n in ast.walk(definition) if _asks(n, found)), None)
    if not isinstance(node, Branching):
        return None
    test, negations = _stripped(node.test)
    if isinstance(test, ast.BoolOp):
        return None
    truth ^= negations % 2 == 1
    runs: Any = node.body if truth else node.orelse
    skips: Any = node.orelse if truth else node.body
    asked = ast.unparse(node.test)
    told: dict[str, Any] = {"asks": asked, "answer": truth, "loop": isinstance(node, ast.While)}
    for key, part in (("runs", runs), ("skips", skips)):
        if span := _span(part, place):
            told[key] = span
    if isinstance(node, ast.IfExp):
        parts = f"{ast.unparse(runs)} is computed, {ast.unparse(skips)} is not"
        return told, f"{asked} is {'true' if truth else 'false'}: {parts}."
    return told, _sentence(asked, told)


def _asks(node: ast.AST, found: Range) -> bool:
    """Whether a node is the branching whose condition is evaluated: its jump has the range of the
    whole statement, of the condition, or of what `not` negates there."""
    if not isinstance(node, Branching):
        return False
    parts = (node, node.test, _stripped(node.test)[0])
    return found in [_range([part]) for part in parts]


def _stripped(test: ast.expr) -> tuple[ast.expr, int]:
    """A condition without the `not`s before it, and their number."""
    count = 0
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, count = test.operand, count + 1
    return test, count


def _range(nodes: Iterable[ast.AST]) -> Range | None:
    held: list[Any] = list(nodes)
    if not held:
        return None
    first, last = held[0], held[-1]
    return first.lineno, last.end_lineno, first.col_offset, last.end_col_offset


def _span(part: Any, place: Place) -> Span | None:
    found = _range(part if isinstance(part, list) else [part])
    return None if found is None else place(found)


def _sentence(test: str, told: dict[str, Any]) -> str:
    answer = "true" if told["answer"] else "false"
    if told["loop"]:
        what = "the loop runs once more" if told["answer"] else "the loop ends"
        return f"{test} is {answer}: {what}."
    runs, skips = told.get("runs"), told.get("skips")
    said = [f"{_lines(runs)} {'runs' if runs[0] == runs[2] else 'run'}"] if runs else []
    said += [f"{_lines(skips)} {'does' if skips[0] == skips[2] else 'do'} not run"] if skips else []
    return f"{test} is {answer}" + (f": {', '.join(said)}." if said else ".")


def _lines(span: Span) -> str:
    """The lines of a span, in words."""
    return f"line {span[0]}" if span[0] == span[2] else f"lines {span[0]} to {span[2]}"
