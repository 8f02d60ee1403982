"""Equality of graphs, node for node, and of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from .node import Node


def same_graph(
    a: Node | Sequence[Node], b: Node | Sequence[Node], variables: dict[Node, Node] | None = None
) -> bool:
    """Whether two graphs are equal node for node: the same operations on the same operands in the
    same order, and as many nodes.

    A computation that is shared in one graph must be shared in the other. variables: which Variable
    of b stands for which of a; by default Variables are equal only to themselves. Constants are
    equal if their elements and dtypes are.
    """
    return difference(a, b, variables) is None


def difference(
    a: Node | Sequence[Node], b: Node | Sequence[Node], variables: dict[Node, Node] | None = None
) -> str | None:
    """The first thing in which two graphs differ, in words; None if they are equal node for node
    (see `same_graph`).
    """
    left, right = ([x] if isinstance(x, Node) else list(x) for x in (a, b))
    if len(left) != len(right):
        return f"{len(left)} outputs against {len(right)}"
    there: dict[Node, Node] = dict(variables or {})
    back: dict[Node, Node] = {v: k for k, v in there.items()}
    stack = list(zip(left, right, strict=True))[::-1]
    compared: set[Node] = set()
    while stack:
        x, y = stack.pop()
        if there.get(x, y) is not y or back.get(y, x) is not x:
            return f"{x.name} is one node in one graph and several in the other ({y.name})"
        if x in compared:
            continue
        compared.add(x)
        there[x], back[y] = y, x
        if _is_variable(x) or _is_variable(y):
            if x is not y and (variables is None or variables.get(x) is not y):
                return f"{x.name} and {y.name} are different variables"
            continue
        assert x.op is not None and y.op is not None
        if x.op.key() != y.op.key():
            return (
                f"{x.name} is made by {x.op.label or type(x.op).__name__}, {y.name} by"
                f" {y.op.label or type(y.op).__name__}"
            )
        if (
            len(x.args) != len(y.args)
            or not same_value(x.params, y.params)
            or not same_value(_extra(x), _extra(y))
        ):
            return f"{x.name} and {y.name} have different parameters: {x.params} and {y.params}"
        for p, q in zip(reversed(x.args), reversed(y.args), strict=True):
            if isinstance(p, Node) and isinstance(q, Node):
                stack.append((p, q))
            elif not same_value(p, q):
                return f"{x.name} has the operand {p}, {y.name} has {q}"
    return None


def _is_variable(node: Node) -> bool:
    return node.op is None or (not node.args and node.op.key() is node.op)


def _extra(node: Node) -> dict[str, Any]:
    """The attributes that an operation of the document's kind has set."""
    return node.__dict__


def same_value(a: Any, b: Any) -> bool:
    """Whether two parameters are equal: of one type, and (arrays, tensors) of one dtype with the
    same elements; NaN equals NaN.
    """
    stack = [(a, b)]
    while stack:
        x, y = stack.pop()
        if x is y:
            continue
        if type(x) is not type(y):
            return False
        if isinstance(x, dict):
            if x.keys() != y.keys():
                return False
            stack.extend((x[k], y[k]) for k in x)
        elif isinstance(x, list | tuple):
            if len(x) != len(y):
                return False
            stack.extend(zip(x, y, strict=True))
        elif isinstance(x, slice):
            stack.append(((x.start, x.stop, x.step), (y.start, y.stop, y.step)))
        elif type(x) is Tensor:
            stack.append((x.array, y.array))
        elif hasattr(x, "dtype") and hasattr(x, "tobytes"):
            if x.dtype != y.dtype or x.shape != y.shape or x.tobytes() != y.tobytes():
                return False
        elif isinstance(x, float | complex):
            if repr(x) != repr(y):
                return False
        elif x != y:
            return False
    return True
