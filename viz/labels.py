"""The number on an edge (the local derivative): where it stands so that wire, arrow's point, cards
and other numbers stay in sight.

On the wire where enough of the wire is left at its two ends, else beside it, else a little further
away with a line that leads to it. The same places as in static/viewer/labels.js; a browser test
holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

from minigrad.viz.constants import NUMBER
from minigrad.viz.edges import Point, Rectangle, waypoints
from minigrad.viz.layout.lines import turn_of
from minigrad.viz.numbers import factor_text
from minigrad.viz.reading import column_of
from minigrad.viz.shape_labels import ShapeLabel
from minigrad.viz.texts import Words

Points = Sequence[Sequence[float]]

# width of a letter, of both sides together, height; the second for little space
LARGE, SMALL = NUMBER["sizes"]
# what an end of the edge keeps free beside a number on it, with the arrow's point
STUB = NUMBER["stub"]
CLEAR = NUMBER["clear"]  # between a number and anything else
TIP_BEFORE, TIP_ACROSS = (
    NUMBER["tip"]["before"],
    NUMBER["tip"]["across"],
)  # an arrow's point; either end may have one
CUT_AFTER, CUT_ACROSS = (
    NUMBER["cut"]["after"],
    NUMBER["cut"]["across"],
)  # the viewer's mark of a cut, at an edge's beginning
NEAR, FAR, FURTHER = (
    NUMBER["near"],
    NUMBER["far"],
    NUMBER["more"],
)  # what is looked at, how far a number may stand, in which steps
ALONG, SHIFTS = NUMBER["along"], NUMBER["shifts"]  # places tried on the edge, and beside it
STROKE = NUMBER["stroke"]  # of a card


class NumberSize(NamedTuple):
    """How large a number is written; the small size is for where there is little space."""

    width: float
    height: float
    small: bool


class Label(NamedTuple):
    """A number, its middle, its size, and where a line leads to if it stands further away."""

    text: str
    x: float
    y: float
    size: NumberSize
    lead: Point | None

    @property
    def box(self) -> Rectangle:
        return _around(self.x, self.y, self.size.width, self.size.height)


def labels_of(
    trace: Mapping[str, Any], step: Mapping[str, Any] | None, shapes: Iterable[ShapeLabel], t: Words
) -> list[Label]:
    """What a step writes on its wires: local derivatives, and where a broadcast's contributions are
    summed. shapes: the shapes beside them.

    trace: laid out. A part of a picture in which an edge is not drawn has no number for it.
    """
    edges = {edge["id"]: edge for edge in trace["edges"]}
    wires = {
        name: trace["layout"]["edges"][name]["points"]
        for name in edges
        if name in trace["layout"]["edges"]
    }
    lit = [name for name in (step or {}).get("edges", ()) if name in wires]
    parts = (step or {}).get("contribs") or []
    said = [
        (part["edge"], "× " + factor_text(part["local"], t))
        for part in parts
        if part.get("local") is not None and part["edge"] in wires
    ]
    summed = next((name for name in lit if edges[name].get("broadcast")), None)
    if step is not None and summed is not None and column_of(step) == "g":
        said.append((summed, t("summed")))
    if not said:
        return []
    layout, at_rest = trace["layout"], set(wires).difference(lit)
    boxes = [
        _around(box["x"], box["y"], box["w"], box["h"]).grown(STROKE)
        for box in layout["nodes"].values()
    ]
    boxes += [shape.box for shape in shapes]
    rest, busy = (
        [points for name, points in wires.items() if name in at_rest],
        [wires[name] for name in lit],
    )
    placed = []
    for name, text in said:
        placed.append(
            _place(text, wires[name], rest, busy, boxes, (layout["width"], layout["height"]))
        )
        boxes.append(placed[-1].box)
    return placed


def _place(
    text: str,
    points: Points,
    rest: list[Any],
    busy: list[Any],
    boxes: list[Rectangle],
    area: tuple[float, float],
) -> Label:
    """points: the wire's; rest: those of all wires at rest, busy: of those that the step lights;
    boxes: of what should not be covered.
    Long: the stages of one algorithm, each used once.
    """
    own = waypoints(points)
    left, right, middle, on_wire = _part(points, own)
    at = _nearest(on_wire, middle)
    region = _around(*at, 2 * NEAR, 2 * NEAR)
    (bx, by), (ex, ey) = points[0], points[-1]
    ends = [
        Rectangle(bx, by - TIP_ACROSS, bx + TIP_BEFORE, by + TIP_ACROSS),
        Rectangle(ex - TIP_BEFORE, ey - TIP_ACROSS, ex, ey + TIP_ACROSS),
    ]
    cut = Rectangle(bx, by - CUT_ACROSS, bx + CUT_AFTER, by + CUT_ACROSS)
    solid = [box for box in (*boxes, *ends, cut) if box.meets(region)]
    dots, lit = (
        _reaching(rest, region),
        _reaching([one for one in busy if one is not points], region),
    )
    large, small = (
        NumberSize(one["letter"] * len(text) + one["sides"], one["tall"], one is SMALL)
        for one in (LARGE, SMALL)
    )
    best: list[tuple[float, Label]] = []

    def tried(
        size: NumberSize, x: float, y: float, beside: bool, lead: Point | None = None
    ) -> bool:
        """Whether nothing at all would be covered: least of all an edge at work, then cards,
        then other wires.
        """
        label = Label(text, x, y, size, lead)
        box = label.box
        wide = box.grown(CLEAR)
        tight = box.grown(CLEAR - 1)
        cost = (
            sum(5 + tight.covered(one) / 10 for one in solid if tight.meets(one))
            + sum(map(wide.holds, dots))
            + 100 * sum(map(wide.holds, lit))
        )
        cost += (
            0
            if box.x0 >= 1 and box.y0 >= 1 and box.x1 <= area[0] - 1 and box.y1 <= area[1] - 1
            else 1000
        )
        cost += 100 * sum(map(tight.holds, own)) if beside else 0
        if not best or cost < best[0][0]:
            best[:] = [(cost, label)]
        return not cost

    def beside(size: NumberSize, x: float, more: float) -> bool:
        """Just clear of the wire, above or below, where the wire passes under the number's whole
        width; further away by `more`.
        """
        low, high = x - size.width / 2 - CLEAR, x + size.width / 2 + CLEAR
        heights = [y for px, y in on_wire if low <= px <= high] or [_nearest(on_wire, x)[1]]
        lead, off = at if more > FURTHER else None, size.height / 2 + CLEAR + 1 + more
        return tried(size, x, min(heights) - off, True, lead) or tried(
            size, x, max(heights) + off, True, lead
        )

    def search() -> bool:
        first, last = left + STUB + large.width / 2, right - STUB - large.width / 2
        if first <= last and any(
            tried(large, *_nearest(on_wire, min(last, max(first, middle + shift))), False)
            for shift in ALONG
        ):
            return True
        if any(beside(size, middle + shift, 0) for size in (large, small) for shift in SHIFTS):
            return True
        return any(
            beside(size, middle + shift, more)
            for more in range(FURTHER, FAR, FURTHER)
            for size in ((small, large) if more > 3 * FURTHER else (large, small))
            for shift in SHIFTS
        )

    search()
    return best[0][1]


def _part(points: Points, own: list[Point]) -> tuple[float, float, float, list[Point]]:
    """The part of an edge that no other wire shares, as a rule: what leads into its end; between
    two lines the part that runs left.

    Its left end, its right end, the number's first choice between them, and the points along it.
    """
    turn = turn_of(points)
    if turn < 0:
        left, right = points[-2][0], points[-1][0]
        return left, right, (left + right) / 2, [p for p in own if p[0] >= left]
    (right, level), left = points[turn], points[turn + 2][0]
    many = ceil((right - left) / 5)
    return (
        left,
        right,
        points[turn + 1][0],
        [(left + (right - left) * i / many, level) for i in range(many + 1)],
    )


def _nearest(along: list[Point], x: float) -> Point:
    return min(along, key=lambda p: abs(p[0] - x))


def _reaching(wires: Iterable[Points], region: Rectangle) -> list[Point]:
    """The points of wires that lie in a region."""
    out = []
    for points in wires:
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        if Rectangle(min(xs), min(ys) - 1, max(xs), max(ys) + 1).meets(region):
            out += [p for p in waypoints(points) if region.holds(p)]
    return out


def _around(x: float, y: float, w: float, h: float) -> Rectangle:
    return Rectangle(x - w / 2, y - h / 2, x + w / 2, y + h / 2)
