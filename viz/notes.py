"""The shapes that travel along the wires, as notes at their beginnings: where each stands so that it touches no wire and no card.

Above the first of the wires that it is about, between two of them, or below the last; in narrower letters where another wire crosses
behind it; or else further along one of them. The same places as in static/viewer/notes.js; a browser test holds the two against each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

from minigrad.viz.layout.lines import turn_of
from minigrad.viz.reading import shape_label
from minigrad.viz.wires import Box, Point, waypoints

NOTE_WIDTH = 6.4
"""The width of one of its characters."""
LEAST_ROOM, ABOVE, BELOW, MIDDLE, ASCENT, DESCENT = 24.0, 7.0, 15.0, 3.5, 9.0, 3.0  # of a note's line of letters
FIRST, GAP = 7.0, 14.0  # before a note, and before and behind it together
TIP_AFTER, TIP_ACROSS = 11.0, 4.0  # the arrow's point that an adjoint has at a wire's beginning
SQUEEZED = (0.85, 0.7)
BACK, HIGHER, SHIFT, SHIFTS = 12.0, 4.0, 30.0, 5  # above a way back between two lines, from its right end to the left
FURTHER, FARTHEST = 3, 20  # along a wire, in points of it
CELL = 256.0


class Note(NamedTuple):
    """A shape beside the beginning of a wire: its text, the node that the wire leaves, its place, and the room that its letters have."""

    text: str
    node: str
    x: float
    y: float
    room: float

    @property
    def box(self) -> Box:
        """What its letters cover."""
        return Box(self.x, self.y - ASCENT, self.x + min(self.room, NOTE_WIDTH * len(self.text)), self.y + DESCENT)


class _Standing:
    """What stands in a picture, found by its place: the wires, and the boxes of what a note should not meet."""

    def __init__(self, wires: Iterable[Sequence[Point]], boxes: Iterable[Box]) -> None:
        self._wires: dict[tuple[int, int], list[tuple[Box, int]]] = {}
        self._boxes: dict[tuple[int, int], list[Box]] = {}
        self._points = list(wires)
        self._along: dict[int, list[Point]] = {}
        for i, points in enumerate(self._points):
            for (a, b), (c, d) in pairwise(points):  # between two of its points a wire keeps to their box
                box = Box(min(a, c), min(b, d), max(a, c), max(b, d)).grown(1)
                for cell in _cells(box):
                    self._wires.setdefault(cell, []).append((box, i))
        for box in boxes:
            self.add(box)

    def add(self, box: Box) -> None:
        for cell in _cells(box):
            self._boxes.setdefault(cell, []).append(box)

    def cost(self, box: Box) -> int:
        """0 where nothing stands; else how much of it: each box counts like five points of a wire."""
        wires = {i for cell in _cells(box) for piece, i in self._wires.get(cell, ()) if piece.meets(box)}
        boxes = {id(other) for cell in _cells(box) for other in self._boxes.get(cell, ()) if other.meets(box)}
        return 5 * len(boxes) + sum(box.holds(point) for i in wires for point in self._waypoints(i))

    def _waypoints(self, i: int) -> list[Point]:
        if i not in self._along:
            self._along[i] = waypoints(self._points[i])
        return self._along[i]


def _cells(box: Box) -> list[tuple[int, int]]:
    columns = range(math.floor(box.x0 / CELL), math.floor(box.x1 / CELL) + 1)
    return [(i, j) for i in columns for j in range(math.floor(box.y0 / CELL), math.floor(box.y1 / CELL) + 1)]


def notes_of(trace: Mapping[str, Any]) -> list[Note]:
    """The notes of a Trace that is laid out: of each node one for all wires that say the same."""
    shape = {node["id"]: node.get("shape") or [] for node in trace["nodes"]}
    layout = trace["layout"]
    of: dict[str, list[tuple[Any, str]]] = {}
    for edge in trace["edges"]:
        src, points = edge["src"], layout["edges"][edge["id"]]["points"]
        both = f"{shape_label(shape[src])} ⇒ {shape_label(shape[edge['dst']])}"
        of.setdefault(src, []).append((points, both if edge.get("broadcast") else shape_label(shape[src]) if shape[src] else ""))
    if not any(text for wires in of.values() for _, text in wires):
        return []
    cards = (Box(b["x"] - b["w"] / 2, b["y"] - b["h"] / 2, b["x"] + b["w"] / 2, b["y"] + b["h"] / 2) for b in layout["nodes"].values())
    tips = (_tip(*points[0]) for wires in of.values() for points, _ in wires)
    standing = _Standing((points for wires in of.values() for points, _ in wires), (*cards, *tips))
    return [note for src, wires in of.items() for note in _notes(src, wires, standing)]


def _tip(x: float, y: float) -> Box:
    return Box(x, y - TIP_ACROSS, x + TIP_AFTER, y + TIP_ACROSS)


def _notes(node: str, wires: Sequence[tuple[Any, str]], standing: _Standing) -> list[Note]:
    """The notes of one node; wires: the points of each, and what it says."""
    groups: dict[str, list[Any]] = {}
    ordered = sorted(wires, key=lambda wire: wire[0][0][1])
    for points, text in ordered:
        if text:
            groups.setdefault(text, []).append(points)
    ports = [points[0][1] for points, _ in ordered]
    out = []
    for i, (text, together) in enumerate(groups.items()):
        first, turn = together[0], turn_of(together[0])
        if turn == 2:
            left, level = first[turn][0] - BACK - NOTE_WIDTH * len(text), first[turn][1] - HIGHER
            found = (Note(text, node, left - SHIFT * k, level, math.inf) for k in range(SHIFTS))
        else:
            x = first[0][0] + FIRST
            room = max(LEAST_ROOM, min(points[1][0] for points in together) - x + FIRST - GAP)
            long = min(room, NOTE_WIDTH * len(text))
            rooms = [room, *(max(LEAST_ROOM, long * share) for share in SQUEEZED)]
            levels = _levels([points[0][1] for points in together], ports, 0 < i == len(groups) - 1)
            near = (Note(text, node, x, level, room) for room in rooms for level in levels)
            found = chain(near, (Note(text, node, *place, math.inf) for points in together for place in _beside(points)))
        out.append(_first_clear(found, standing))
        standing.add(out[-1].box)
    return out


def _levels(own: Sequence[float], ports: Sequence[float], last: bool) -> list[float]:
    """Heights at which a note may stand, the best first. own: where its wires begin, ports: where all of the node's do, from above."""
    outer = [own[-1] + BELOW, own[0] - ABOVE] if last else [own[0] - ABOVE, own[-1] + BELOW]
    inside = [(a + b) / 2 + MIDDLE for a, b in pairwise(own)]
    beside = [(a + b) / 2 + MIDDLE for a, b in pairwise(ports) if a in own or b in own]
    return [outer[0], *inside, outer[1], *beside]


def _beside(points: Sequence[Point]) -> list[Point]:
    """Places for a note above and below a wire, further and further from its beginning."""
    along = waypoints(points)[FURTHER : FURTHER * FARTHEST : FURTHER]
    return [(x + FIRST, y + off) for x, y in along for off in (-ABOVE, BELOW)]


def _first_clear(found: Iterable[Note], standing: _Standing) -> Note:
    """The first note that meets nothing, or else the one that meets least."""
    best: tuple[int, Note] | None = None
    for note in found:
        cost = standing.cost(note.box)
        if best is None or cost < best[0]:
            best = cost, note
        if cost == 0:
            break
    assert best is not None
    return best[1]
