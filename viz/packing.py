"""A Trace in fewer characters, on its way to a page: formulas as templates with holes.

Steps of one operation have one formula, in which only the symbols and the numbers differ. A packed
Trace has the list ``formulas``: templates whose symbols have no ``base`` and whose numbers have no
``value``. In the place of each formula stands ``[template, holes, *numbers]``, those of the steps
in the list ``filled``, since a page of thousands of steps shows few of them. A symbol's hole says
how many nodes before its own its step names a node; a number's, which of the step's own numbers
(those that it writes, and those of its contributions), or after these of ``numbers``, it is. The
nodes that a step reads and writes are counted from its own, too, its own from that of the step
before, edges from the last one of the steps before, and an edge's source from its end, which is
counted from that of the edge before. An edge loses an id that is "e" and its number; a layout lists
the boxes of the nodes, ``[x, y, w, h]``, and the points of the edges, in their order. A round of a
loop loses its label, which is its number again. static/viewer/packed.js undoes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from minigrad.trace.schema import NESTED
from minigrad.watch.cycle_collector import fewer_collections

Shape = tuple[Any, ...]
_KEYS = frozenset(("t", "base", "sub", "node", "col", "accent", "value", "text"))


class Templates:
    """The formulas of one Trace, without their symbols and numbers."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        self._shapes: dict[Shape, int] = {}
        self._places = {
            (node["id"], node["label"]["base"], node["label"].get("sub")): i
            for i, node in enumerate(nodes)
            if "sup" not in node["label"]
        }

    def packed(self, tokens: Any, own: int, listed: Sequence[Any] = ()) -> list[Any]:
        """A formula of the node with this number. listed: the numbers that its step has anyway."""
        # 0.0 is -0.0, and 1 is True, too
        self._known = {v: i for i, v in enumerate(listed) if type(v) is float and v}
        self._own, self._listed = own, len(listed)
        self._holes: list[int] = []
        self._more: list[Any] = []
        shape = self._emptied(tokens)
        number = self._shapes.setdefault(shape, len(self._shapes))
        return [number, self._holes, *self._more]

    def _emptied(self, tokens: Any) -> Shape:
        """A formula's template, as something that can be compared; its holes are noted."""
        shape: list[Any] = []
        for token in tokens:
            kind = token["t"]
            if kind in NESTED:
                inner = [(key, self._emptied(token[key])) for key in NESTED[kind]]
                shape.append((("t", kind), *inner))
            elif not _KEYS.issuperset(token):
                shape.append(json.dumps(token))
            elif kind == "num":
                value = token["value"]
                place = self._known.get(value) if type(value) is float else None
                if place is None:
                    place = self._listed + len(self._more)
                    self._more.append(value)
                self._holes.append(place)
                shape.append(_bare(kind, token.get("col"), token.get("accent")))
            else:
                place = self._places.get((token.get("node"), token.get("base"), token.get("sub")))
                if place is None:
                    shape.append(tuple(token.items()))
                else:
                    self._holes.append(self._own - place)
                    shape.append(_bare(kind, token.get("col"), token.get("accent")))
        return tuple(shape)

    def found(self) -> list[Any]:
        """The templates, in the order of their numbers."""
        return [_tokens(shape) for shape in self._shapes]


@cache
def _bare(kind: str, column: str | None, accent: str | None) -> Shape:
    """What is left of a symbol or a number."""
    found = ("t", kind), ("col", column), ("accent", accent)
    return tuple(pair for pair in found if pair[1] is not None)


def _tokens(shape: Shape) -> list[Any]:
    return [
        json.loads(token)
        if isinstance(token, str)
        else {key: _tokens(v) if isinstance(v, tuple) else v for key, v in token}
        for token in shape
    ]


@fewer_collections()
def pack(trace: Mapping[str, Any]) -> dict[str, Any]:
    """The packed form of a Trace."""
    templates = Templates(trace["nodes"])
    places = {node["id"]: i for i, node in enumerate(trace["nodes"])}
    edges = {edge["id"]: i for i, edge in enumerate(trace["edges"])}
    nodes = [
        {**node, "expr": templates.packed(node["expr"], i)} if "expr" in node else node
        for i, node in enumerate(trace["nodes"])
    ]
    steps, filled, own, last = [], [], 0, 0
    for step in trace["steps"]:
        before, own = own, places[step["node"]]
        listed = [cell[-1] for cell in step["writes"]]
        for part in step.get("contribs", ()):
            listed += part.values()
        one = {
            **step,
            "node": own - before,
            "edges": [edges[name] - last for name in step["edges"]],
            "reads": [[own - places[name], *more] for name, *more in step["reads"]],
            "writes": [[own - places[name], *more] for name, *more in step["writes"]],
        }
        if "contribs" in step:
            one["contribs"] = [
                {**part, "edge": edges[name] - last if (name := part["edge"]) in edges else name}
                for part in step["contribs"]
            ]
        tokens = one.pop("formula", None)
        filled.append(tokens if tokens is None else templates.packed(tokens, own, listed))
        steps.append(one)
        last = edges[step["edges"][-1]] if step["edges"] else last
    between = _edges(trace["edges"], places)
    lists = {"nodes": nodes, "edges": between, "steps": steps, "filled": filled}
    if layout := trace.get("layout"):
        lists["layout"] = _listed(layout, places, edges)
    if "blocks" in trace:
        bare = lambda one: {key: v for key, v in one.items() if key != "label"}
        lists["blocks"] = [bare(b) if b["kind"] == "round" else b for b in trace["blocks"]]
    return {**trace, "formulas": templates.found(), **lists}


def _edges(edges: Sequence[Mapping[str, Any]], nodes: Mapping[str, int]) -> list[dict[str, Any]]:
    between, end = [], 0
    for i, edge in enumerate(edges, 1):
        before, end = end, nodes[edge["dst"]]
        one = {**edge, "src": end - nodes[edge["src"]], "dst": end - before}
        if edge["id"] == f"e{i}":
            del one["id"]
        between.append(one)
    return between


_BOX = frozenset("xywh")


def _listed(layout: Mapping[str, Any], nodes: Mapping[str, int], edges: Mapping[str, int]) -> Any:
    """A layout whose boxes and points are lists; as it is where it has others, or says more."""
    boxes, wires = layout["nodes"], layout["edges"]
    if (
        [*boxes] != [*nodes]
        or [*wires] != [*edges]
        or any(box.keys() != _BOX for box in boxes.values())
        or any(wire.keys() != {"points"} for wire in wires.values())
    ):
        return layout
    listed = [[_short(box[key]) for key in "xywh"] for box in boxes.values()]
    points = [[[*map(_short, point)] for point in wire["points"]] for wire in wires.values()]
    return {**layout, "nodes": listed, "edges": points}


def _short(length: float) -> float:
    return int(length) if length == int(length) else length
