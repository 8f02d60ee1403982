"""What an `if`, a `while` or a conditional expression did with a condition: which part of the
source runs and which does not.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Range = tuple[int, int, int, int]
Span = list[int]
Place = Callable[[Range], Span | None]
Branching = ast.If | ast.While | ast.IfExp


def decision(
    definition: ast.AST, found: Range, truth: bool, place: Place
) -> tuple[dict[str, Any], str] | None:
    """What follows from the truth of a condition, as data and as a sentence; None where it decides
    nothing. A condition inside `and` or `or` that leaves the answer open is a part of the question.

    definition: the function; found: the range of the source under evaluation; place: from a range
    of the file to a span of the shown source, or None."""
    node = next((n for n in ast.walk(definition) if _asks(n, found)), None)
    if not isinstance(node, Branching):
        return None
    inner, negations = _stripped(node.test)
    known = None if isinstance(inner, ast.BoolOp) else (inner, truth ^ (negations % 2 == 1))
    answered = _answered(node.test, found, truth) or known
    if answered is None:
        return None
    asked, answer = answered
    if answer is None:
        words = ast.unparse(asked)
        part = {"asks": words, "answer": truth, "loop": False, "part": True}
        return part, f"{words} is {'true' if truth else 'false'}."
    # of one comparison the step has said its truth: v2 = (v1 > 1) = False
    said = isinstance(node.test, ast.Compare) and len(node.test.ops) == 1
    return _follows(node, answer, place, said)


def _follows(node: Branching, truth: bool, place: Place, said: bool) -> tuple[dict[str, Any], str]:
    """What follows from the truth of the whole condition. said: whether that is known already."""
    runs: Any = node.body if truth else node.orelse
    skips: Any = node.orelse if truth else node.body
    whole = ast.unparse(node.test)
    told: dict[str, Any] = {"asks": whole, "answer": truth, "loop": isinstance(node, ast.While)}
    for key, part in (("runs", runs), ("skips", skips)):
        if span := _span(part, place):
            told[key] = span
    follows = _outcome(told)
    if isinstance(node, ast.IfExp):
        told["computes"] = computed, left = [ast.unparse(part) for part in (runs, skips)]
        follows = f"{computed} is computed, {left} is not"
    if said:
        return told, f"Therefore {follows}." if follows else ""
    truly = f"{whole} is {'true' if truth else 'false'}"
    return told, f"{truly}: {follows}." if follows else f"{truly}."


def reading(definition: ast.AST, found: Range) -> Branching | None:
    """The branching whose condition makes a number of a tensor at this range of the source, by
    `.item()` or `float()`."""
    for node in (n for n in ast.walk(definition) if isinstance(n, Branching)):
        for part in ast.walk(node.test):
            if isinstance(part, ast.Call) and _range([part]) == found:
                item = isinstance(part.func, ast.Attribute) and part.func.attr == "item"
                return node if item or _is_name(part.func, "float") else None
    return None


def number_decision(
    node: Branching, numbers: Mapping[Range, Any], name: Callable[[str], Any], place: Place
) -> tuple[dict[str, Any], str] | None:
    """What follows from a condition of Python's numbers; None where its truth is not known, as
    another read or a call comes in.

    numbers: those that were read of tensors, by the range of the call; name: what a variable holds.
    """
    try:
        truth = bool(_calculated(node.test, numbers, name))
    except (LookupError, ArithmeticError, TypeError, ValueError):
        return None
    told, said = _follows(node, truth, place, False)
    return told | {"read": True}, said


def _calculated(node: ast.expr, numbers: Mapping[Range, Any], name: Callable[[str], Any]) -> Any:
    """An expression of numbers, as Python computes it; it has no other effect. Raises LookupError
    for anything else."""
    value: Callable[[ast.expr], Any] = lambda part: _calculated(part, numbers, name)
    match node:
        case ast.Call() if (found := _range([node])) in numbers:
            return numbers[found]
        case ast.Constant(value=bool() | int() | float() as held):
            return held
        case ast.Name(id=word) if type(held := name(word)) in (bool, int, float):
            return held
        case ast.UnaryOp(op=sign, operand=part):
            return _OPERATORS[type(sign)](value(part))
        case ast.BinOp(left=left, op=sign, right=right):
            return _OPERATORS[type(sign)](value(left), value(right))
        case ast.BoolOp(op=word, values=parts):
            for part in parts:
                found = value(part)
                if bool(found) is isinstance(word, ast.Or):
                    break
            return found
        case ast.Compare(left=left, ops=signs, comparators=parts):
            before = value(left)
            for compared, part in zip(signs, parts, strict=True):
                after = value(part)
                if not _OPERATORS[type(compared)](before, after):
                    return False
                before = after
            return True
        case ast.Call(func=ast.Name(id="abs"), args=[part], keywords=[]) if name("abs") is abs:
            return abs(value(part))
    raise LookupError(ast.unparse(node))


_OPERATORS: dict[type, Any] = {
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Add: operator.add,
    ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip


def _is_name(node: ast.expr, word: str) -> bool:
    return isinstance(node, ast.Name) and node.id == word


def _asks(node: ast.AST, found: Range) -> bool:
    """Whether a node is the branching whose condition is evaluated: its jump has the range of the
    whole statement, of the condition, or of what `not`, `and` or `or` join there."""
    if not isinstance(node, Branching):
        return False
    return found == _range([node]) or _answered(node.test, found, True) is not None


def _answered(test: ast.expr, found: Range, truth: bool) -> tuple[ast.expr, bool | None] | None:
    """The condition inside a test that has a range, and the answer of the test by its truth: None
    where the conditions after it decide. No result where the test has no such condition."""
    inner, negations = _stripped(test)
    odd = negations % 2 == 1
    if isinstance(inner, ast.BoolOp):
        for part in inner.values:
            below = _answered(part, found, truth)
            if below is not None:
                asked, answer = below
                last = part is inner.values[-1] or answer is isinstance(inner.op, ast.Or)
                return asked, answer ^ odd if last and answer is not None else None
        return None
    # the jump of `not` is that of what it negates
    return (inner, truth ^ odd) if found in (_range([test]), _range([inner])) else None


def _stripped(test: ast.expr) -> tuple[ast.expr, int]:
    """A condition without the `not`s before it, and their number."""
    count = 0
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, count = test.operand, count + 1
    return test, count


def _range(nodes: Iterable[ast.AST]) -> Any:
    held: list[Any] = list(nodes)
    if not held:
        return None
    first, last = held[0], held[-1]
    return first.lineno, last.end_lineno, first.col_offset, last.end_col_offset


def _span(part: Any, place: Place) -> Span | None:
    found = _range(part if isinstance(part, list) else [part])
    return None if found is None else place(found)


def _outcome(told: dict[str, Any]) -> str:
    """What follows, in words; nothing where no line depends on it."""
    if told["loop"]:
        return "the loop runs once more" if told["answer"] else "the loop ends"
    runs, skips = told.get("runs"), told.get("skips")
    said = [f"{_lines(runs)} {'runs' if runs[0] == runs[2] else 'run'}"] if runs else []
    said += [f"{_lines(skips)} {'does' if skips[0] == skips[2] else 'do'} not run"] if skips else []
    return ", ".join(said)


def _lines(span: Span) -> str:
    """The lines of a span, in words."""
    return f"line {span[0]}" if span[0] == span[2] else f"lines {span[0]} to {span[2]}"
