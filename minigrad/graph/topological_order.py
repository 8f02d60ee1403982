"""The order in which a graph is computed: a walk over lists and a stack, never recursion, because
a graph may be a million nodes deep.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..backend import PYTHON_SCALARS

if TYPE_CHECKING:
    from .node import Node


def find_topo_sort(node_list: Iterable[Node], stop: Any = ()) -> list[Node]:
    """All nodes that lead to the given ones, each after its inputs: depth first, inputs in order,
    as the document's function gives them.

    stop: nodes whose inputs are not followed.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    for root in node_list:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(() if root in stop else root.operands))]
        while stack:
            node, rest = stack[-1]
            for operand in rest:
                if type(operand) not in PYTHON_SCALARS and operand not in seen:
                    seen.add(operand)
                    stack.append((operand, iter(() if operand in stop else operand.operands)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order
