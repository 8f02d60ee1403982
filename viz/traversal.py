"""Walks through graphs that pictures need: by loops, as graphs can be millions deep, and with an
end to what a picture can show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minigrad.core.graph import Node


def operands_first(
    roots: Iterable[Any], operands: Callable[[Any], Iterable[Any]], limit: int, complaint: str
) -> list[Any]:
    """All values behind the roots, each after its operands. Raises ValueError with `complaint`
    where there are more than `limit`.
    """
    __tracebackhide__ = True
    order: list[Any] = []
    done: set[int] = set()
    stack: list[tuple[Any, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready:
            done.add(id(node))
            order.append(node)
            if len(order) > limit:
                raise ValueError(complaint)
            continue
        stack.append((node, True))
        stack += [
            (operand, False)
            for operand in reversed(list(operands(node)))
            if id(operand) not in done
        ]
    return order


def oldest_first(roots: Iterable[Node], limit: int, complaint: str) -> list[Node]:
    """The engine's nodes behind `roots`, themselves included, by age. Raises ValueError with
    `complaint` above `limit`.
    """
    found = {id(root): root for root in roots}
    stack = list(found.values())
    while stack:
        for parent, _ in stack.pop().next_functions:
            if parent is not None and id(parent) not in found:
                found[id(parent)] = parent
                stack.append(parent)
        if len(found) > limit:
            raise ValueError(complaint)
    return sorted(found.values(), key=lambda node: node.sequence_number)
