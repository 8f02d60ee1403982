"""The shapes of what travels along the edges: where each is written so that it touches no edge and
no card.

A shape stands above the first of the edges that it is about, between two of them, or below the
last; in narrower letters where another edge crosses behind it; or else further along one of them.
The viewer puts them at the same places (static/viewer/shape_labels.js); a browser test compares the
two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

from minigrad.viz.constants import SHAPE
from minigrad.viz.edges import Point, Rectangle, pieces, waypoints
from minigrad.viz.layout.lines import turn_of

LETTER = SHAPE["letter"]
"""The width of a letter."""
LEAST_SPACE, SQUEEZED = (
    SHAPE["space"],
    SHAPE["squeezed"],
)  # widths: the least one, and shares of the whole
ABOVE, BELOW, MIDDLE = SHAPE["above"], SHAPE["below"], SHAPE["middle"]  # of an edge, or between two
ASCENT, DESCENT = SHAPE["ascent"], SHAPE["descent"]  # of a line of letters
BEFORE, GAP = SHAPE["before"], SHAPE["gap"]  # before the letters; before and behind them together
TIP_AFTER, TIP_ACROSS = (
    SHAPE["tip"]["after"],
    SHAPE["tip"]["across"],
)  # an adjoint's arrow at an edge's beginning
# above an edge that runs back between two lines: from its right end to the left, in so many shifts
BACK, HIGHER, SHIFT, SHIFTS = (SHAPE[name] for name in ("back", "higher", "shift", "shifts"))
STRIDE, FARTHEST = SHAPE["stride"], SHAPE["farthest"]  # along an edge, in points of it
CELL, FINE, SHORT = SHAPE["cell"], SHAPE["fine"], SHAPE["short"]  # in cells, those of a piece


class ShapeLabel(NamedTuple):
    """A shape beside the beginning of an edge: its text, the node that the edge leaves, its
    place, and the space that its letters have.
    """

    text: str
    node: str
    x: float
    y: float
    space: float

    @property
    def drawn(self) -> str:
        """What is written: where the letters would be too narrow to be read, the shape before a
        broadcast is left out.
        """
        narrow = self.space < SHAPE["legible"] * LETTER * len(self.text)
        return re.sub(".* ⇒", "⇒", self.text) if narrow else self.text

    @property
    def box(self) -> Rectangle:
        """What its letters cover."""
        return Rectangle(
            self.x,
            self.y - ASCENT,
            self.x + min(self.space, LETTER * len(self.text)),
            self.y + DESCENT,
        )


class _Standing:
    """What stands in a picture, found by its place: the edges, and the boxes of what a label
    should not meet.
    """

    def __init__(self, edges: Iterable[Sequence[Point]], boxes: Iterable[Rectangle]) -> None:
        self._boxes: dict[tuple[int, int], list[Rectangle]] = {}
        self._points: dict[tuple[int, int], list[Point]] = {}  # along long pieces of edges
        # of short pieces, whose points are found when they are asked for
        self._pieces: dict[tuple[int, int], list[tuple[Rectangle, Sequence[Point], int]]] = {}
        self._along: dict[int, list[list[Point]]] = {}
        for points in edges:
            self._edge(points)
        for box in boxes:
            self.add(box)

    def _edge(self, points: Sequence[Point]) -> None:
        long = []
        for k, ((a, b), (c, d)) in enumerate(pairwise(points)):
            # between two of its points an edge keeps to their box
            box = Rectangle(min(a, c) - 1, min(b, d) - 1, max(a, c) + 1, max(b, d) + 1)
            cells = _cells(box, CELL)
            if len(cells) > SHORT:
                long.append(k)
                continue
            for cell in cells:
                self._pieces.setdefault(cell, []).append((box, points, k))
        found = self._pieces_of(points) if long else []
        for k in long:
            for x, y in found[k]:
                self._points.setdefault((int(x // FINE), int(y // FINE)), []).append((x, y))

    def _pieces_of(self, points: Sequence[Point]) -> list[list[Point]]:
        """The waypoints of an edge, piece by piece."""
        if id(points) not in self._along:
            found = self._along[id(points)] = [list(piece) for piece in pieces(points)]
            found[0].insert(0, points[0])
        return self._along[id(points)]

    def add(self, box: Rectangle) -> None:
        for cell in _cells(box, CELL):
            self._boxes.setdefault(cell, []).append(box)

    def cost(self, box: Rectangle, most: float) -> int:
        """0 where nothing stands; else how much of it, or at least `most`: each box counts like
        five points of an edge.
        """
        x0, y0, x1, y1 = box
        cells = _cells(box, CELL)
        met = {
            id(other) for cell in cells for other in self._boxes.get(cell, ()) if other.meets(box)
        }
        near = {
            (id(points), k): points
            for cell in cells
            for piece, points, k in self._pieces.get(cell, ())
            if piece.meets(box)
        }
        along = (self._pieces_of(points)[k] for (_, k), points in near.items())
        cost = 5 * len(met)
        for points in chain(along, (self._points.get(cell, ()) for cell in _cells(box, FINE))):
            if cost >= most:
                break
            cost += sum([x0 < x < x1 and y0 < y < y1 for x, y in points])
        return cost


def _cells(box: Rectangle, size: float) -> list[tuple[int, int]]:
    x0, y0, x1, y1 = (int(end // size) for end in box)
    return [(i, j) for i in range(x0, x1 + 1) for j in range(y0, y1 + 1)]


def shape_labels(trace: Mapping[str, Any]) -> list[ShapeLabel]:
    """The labels of a Trace that is laid out: of each node one for all edges that say the same."""
    shape = {node["id"]: node.get("shape") or [] for node in trace["nodes"]}
    layout = trace["layout"]
    of: dict[str, list[tuple[Any, str]]] = {}
    for edge in trace["edges"]:
        src, points = edge["src"], layout["edges"][edge["id"]]["points"]
        both = f"{tuple(shape[src])} ⇒ {tuple(shape[edge['dst']])}"
        of.setdefault(src, []).append(
            (
                points,
                both if edge.get("broadcast") else str(tuple(shape[src])) if shape[src] else "",
            )
        )
    if not any(text for edges in of.values() for _, text in edges):
        return []
    cards = (
        Rectangle(
            b["x"] - b["w"] / 2, b["y"] - b["h"] / 2, b["x"] + b["w"] / 2, b["y"] + b["h"] / 2
        )
        for b in layout["nodes"].values()
    )
    tips = (_tip(*points[0]) for edges in of.values() for points, _ in edges)
    standing = _Standing((points for edges in of.values() for points, _ in edges), (*cards, *tips))
    return [label for src, edges in of.items() for label in _of_node(src, edges, standing)]


def _tip(x: float, y: float) -> Rectangle:
    return Rectangle(x, y - TIP_ACROSS, x + TIP_AFTER, y + TIP_ACROSS)


def _of_node(node: str, edges: Sequence[tuple[Any, str]], standing: _Standing) -> list[ShapeLabel]:
    """The labels of one node; edges: the points of each, and what it says."""
    groups: dict[str, list[Any]] = {}
    ordered = sorted(edges, key=lambda edge: edge[0][0][1])
    for points, text in ordered:
        if text:
            groups.setdefault(text, []).append(points)
    ports = [points[0][1] for points, _ in ordered]
    out = []
    for i, (text, together) in enumerate(groups.items()):
        first, turn = together[0], turn_of(together[0])
        if turn == 2:
            left, level = first[turn][0] - BACK - LETTER * len(text), first[turn][1] - HIGHER
            found = (
                ShapeLabel(text, node, left - SHIFT * k, level, math.inf) for k in range(SHIFTS)
            )
        else:
            x = first[0][0] + BEFORE
            space = max(LEAST_SPACE, min(points[1][0] for points in together) - x + BEFORE - GAP)
            long = min(space, LETTER * len(text))
            spaces = [space, *(max(LEAST_SPACE, long * share) for share in SQUEEZED)]
            levels = _levels([points[0][1] for points in together], ports, 0 < i == len(groups) - 1)
            near = (ShapeLabel(text, node, x, level, space) for space in spaces for level in levels)
            found = chain(
                near,
                (
                    ShapeLabel(text, node, *place, math.inf)
                    for points in together
                    for place in _beside(points)
                ),
            )
        out.append(_first_clear(found, standing))
        standing.add(out[-1].box)
    return out


def _levels(own: Sequence[float], ports: Sequence[float], last: bool) -> list[float]:
    """Heights at which a label may stand, the best first. own: where its edges begin, ports:
    where all of the node's do, from above.
    """
    outer = [own[-1] + BELOW, own[0] - ABOVE] if last else [own[0] - ABOVE, own[-1] + BELOW]
    inside = [(a + b) / 2 + MIDDLE for a, b in pairwise(own)]
    mine = set(own)
    beside = [(a + b) / 2 + MIDDLE for a, b in pairwise(ports) if a in mine or b in mine]
    return [outer[0], *inside, outer[1], *beside]


def _beside(points: Sequence[Point]) -> list[Point]:
    """Places for a label above and below an edge, further and further from its beginning."""
    along = waypoints(points)[STRIDE : STRIDE * FARTHEST : STRIDE]
    return [(x + BEFORE, y + off) for x, y in along for off in (-ABOVE, BELOW)]


def _first_clear(found: Iterable[ShapeLabel], standing: _Standing) -> ShapeLabel:
    """The first label that meets nothing, or else the one that meets least."""
    best: tuple[int, ShapeLabel] | None = None
    for label in found:
        cost = standing.cost(label.box, math.inf if best is None else best[0])
        if best is None or cost < best[0]:
            best = cost, label
        if cost == 0:
            break
    assert best is not None
    return best[1]
