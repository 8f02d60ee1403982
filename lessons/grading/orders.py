"""The order of the nodes in a student's engine: gradients by it, and what is wrong with it.

It runs on the student's side, and knows graphs only by their nodes' parents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numpy import ndim  # before a student's code can put another in its place


def differentiated(engine: Mapping[str, Any], nodes: Mapping[str, Any], output: str) -> Any:
    """The gradients of a node by all of them. Where they fail, or a node of the order is passed
    over, what is wrong with the order is told.
    """
    order = engine["topological_order"](nodes[output])
    try:
        found = engine["gradients"](order, list(nodes.values()))
    except Exception as error:
        if said := about_order(order, nodes, output):
            raise ValueError(said) from error
        raise
    left_out = [
        name
        for (name, node), g in zip(nodes.items(), found, strict=False)
        if ndim(getattr(g, "value", g)) == 0 < ndim(node.value)
        and not any(node is n for n in order)
    ]
    if left_out and (said := about_order(order, nodes, output)):
        raise ValueError(said)
    return found


def about_order(order: Iterable[Any], nodes: Mapping[str, Any], output: str) -> str:
    """What is wrong with a topological order; "" if nothing is."""
    name_of = {id(node): name for name, node in nodes.items()}
    order, seen = list(order), dict[int, int]()
    for place, node in enumerate(order):
        if id(node) not in name_of:
            return "`topological_order` returned a node that does not belong to this graph."
        seen[id(node)] = place
    behind, known = [nodes[output]], {id(nodes[output])}
    for node in behind:
        new = [p for p in node.parents if id(p) not in known]
        known.update(map(id, new))
        behind += new
    for node in behind:
        if id(node) not in seen:
            return f"`topological_order` left out {name_of[id(node)]}, which the output is made of."
    for node in behind:
        for parent in node.parents:
            if seen[id(parent)] > seen[id(node)]:
                return (
                    f"`topological_order` put {name_of[id(node)]} before {name_of[id(parent)]},"
                    " which it is made of: each node comes after its parents."
                )
    if order[-1] is not nodes[output]:
        last = name_of[id(order[-1])]
        return f"the order ends with {last}: `topological_order` puts the output last."
    return ""
