"""`DrawnGraph`: the boxes and edges of a drawing, which become a picture in the viewer's style and
DOT text.

Each drawing of `draw_graph` is one. In the picture a box is a card of the viewer, and its heading
may be a formula; in the DOT text it is the lines of its label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any

from minigrad.viz import layout as layouts
from minigrad.viz.layout.lines import for_a_page
from minigrad.viz.picture.graph import GraphPicture
from minigrad.viz.picture.marks import Box, Mark, palette
from minigrad.viz.texts import Words

from minigrad.trace import SCHEMA
from minigrad.watch import notation

FEW = 60
"""Boxes up to which the shapes stand beside the edges, too."""
Tokens = list[dict[str, Any]]


@dataclass
class DrawnBox:
    """A box.

    lines: those of its label in the DOT text, and in the picture, where it says nothing else. kind:
    that of a Trace's node, or "group". name, formula, small: the heading of the card and its small
    lines. shape: of the value that leaves it. stage: that of a Trace's node. result: whether it is
    one. look: further attributes in the DOT text.
    """

    lines: Sequence[str]
    kind: str = "op"
    name: str = ""
    formula: Tokens = field(default_factory=list)
    small: Sequence[str] | None = None
    shape: Sequence[int] = ()
    stage: str = "primal"
    result: bool = False
    look: Mapping[str, str] = field(default_factory=dict)

    def attributes(self) -> dict[str, str]:
        """Its look in the DOT text."""
        light = {name: pair[0] for name, pair in palette().items()}
        if self.kind in ("input", "param", "const"):
            look = {"style": "filled", "fillcolor": light["v-tint"], "color": light["v"]}
        else:
            style = "filled,bold" if self.kind == "group" else "rounded,filled"
            look = {"style": style, "fillcolor": light["raised"]}
        return look | ({"penwidth": "2"} if self.result else {}) | dict(self.look)

    def as_node(self, key: str) -> dict[str, Any]:
        """The node of a Trace whose card it is."""
        pile = self.kind == "group"
        named = [] if self.name or pile else [{"t": "text", "text": self.lines[0]}]
        return {
            "id": key,
            "kind": "output" if self.result and self.kind == "op" else self.kind,
            "label": {"base": self.lines[0]} if pile else notation.label_of(self.name),
            "expr": self.formula or named,
            "lines": self.lines[1:] if self.small is None else self.small,
            "shape": list(self.shape),
            "stage": self.stage,
        }


@dataclass
class Frame:
    """A frame of the DOT text around boxes and further frames."""

    name: str
    title: str
    items: list[str | Frame] = field(default_factory=list)


@dataclass
class DrawnGraph:
    """Boxes by key, edges between them, and the frames of the DOT text (of boxes in none, keys).
    rankdir: the direction of the DOT text; the picture runs to the right, as the viewer does, or,
    where that is asked for, downward."""

    words: Words
    rankdir: str = "TB"
    boxes: dict[str, DrawnBox] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)
    frames: list[str | Frame] | None = None

    def picture(self, upright: bool = False) -> tuple[list[Mark], float, float]:
        """Its marks, its width and its height. upright: it runs from top to bottom, without shapes
        beside its edges, for a narrow screen."""
        nodes = [self.boxes[key].as_node(key) for key in self.in_order()]
        if upright or len(nodes) > FEW:
            for node in nodes:
                node["shape"] = []
        edges = [
            {"id": f"e{i}", "src": src, "dst": dst, "slot": 0, "stage": self.boxes[dst].stage}
            for i, (src, dst) in enumerate(self.edges)
        ]
        trace = {"schema": SCHEMA, "nodes": nodes, "edges": edges, "columns": [], "steps": []}
        place = layouts.upright(trace) if upright else for_a_page(layouts.layout(trace), edges)
        marks = GraphPicture({**trace, "layout": place}, self.words).at(0)
        ground = Box(0, 0, place["width"], place["height"], 0, "surface")
        return [ground, *marks], place["width"], place["height"]

    def in_order(self) -> list[str]:
        """The keys of the boxes, each after those with an edge to it; those of a circle are left
        out."""
        number = {key: i for i, key in enumerate(self.boxes)}
        users: dict[str, list[str]] = {key: [] for key in self.boxes}
        missing = dict.fromkeys(self.boxes, 0)
        for src, dst in self.edges:
            users[src].append(dst)
            missing[dst] += 1
        ready = [(number[key], key) for key, n in missing.items() if not n]
        heapify(ready)
        order: list[str] = []
        while ready:
            _, key = heappop(ready)
            order.append(key)
            for user in users[key]:
                missing[user] -= 1
                if not missing[user]:
                    heappush(ready, (number[user], user))
        return order
