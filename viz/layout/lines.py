"""A long graph broken into lines, as text is.

So a chain of a hundred operations becomes a picture that fits on a page: a layout that is much
wider than the space for it is cut between columns, where few wires cross, and its parts are set
below one another. Each line runs from left to right, so that an arrow to the left is an adjoint
everywhere. A wire to a further line leaves at the right end of its own, runs back between the
lines, and enters at the left; who leaves higher up, or in an earlier line, runs further outside, so
that wires which do not cross in the long picture hardly cross here. The viewer breaks lines by the
same rules at the width of its box (static/viewer/lines.js; a test compares the two), stills and
films at :data:`PAGE`.

Where to break is found by dynamic programming over all breaks, as D. E. Knuth and M. F. Plass break
paragraphs ("Breaking paragraphs into lines", Software: Practice and Experience 11, 1981).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from minigrad.viz.constants import LINES

RIM = LINES["rim"]  # around the whole picture
# from the cards at a line's ends to the first wire that runs down beside them
ASIDE = LINES["aside"]
TRACK = LINES["track"]  # between two wires that run beside one another; a shape stands between them
GUTTER = LINES["gutter"]  # between a line and the wires above or below it
USUAL_GAP = LINES["usual_gap"]  # between two columns of the long picture
LEAST_GAP = LINES["least_gap"]  # what is left of it in lines: space for an edge's label
# what is left in lines less wide than SMALL_SCREEN, where two columns need the space
SMALL_GAP, SMALL_SCREEN = LINES["small_gap"], LINES["small_screen"]
STRETCH = LINES["stretch"]  # how much wider a gap may get so that lines end alike
BAND_GAP = LINES["band_gap"]  # what is left of height in which nothing stands
# from a line's beginning to the label of the edge above it; between the labels of two such edges
LABEL, APART = LINES["label"], LINES["apart"]
# a place that more nodes send wires across is no place for a break
MOST_WIRES = LINES["most_edges"]
LEAST_COLUMNS = LINES["least_columns"]  # in a line, on average
SQUARE_WIRES = LINES["square_edges"]  # and where lines of equal length would break, so many

PAGE = (1200.0, 2400.0, 1.5)
"""Stills: the least and the greatest width of lines, and between them how many times as wide as
high the picture shall be.
"""


@dataclass
class _Column:
    """What stands above one another."""

    left: float
    right: float
    ids: list[str]

    @property
    def width(self) -> float:
        return self.right - self.left


@dataclass(eq=False)
class _Wire:
    """What leaves a node for further lines at one height: its line, its track outside, its
    deepest entry in each further line.
    """

    line: int
    y: float
    entries: dict[int, float] = field(default_factory=dict)
    right: int = 0


@dataclass
class _EdgePart:
    """An edge between two lines: its points in the first, its points in the last, that line, and
    the wire that it runs on.
    """

    head: list[Any]
    tail: list[Any]
    line: int
    wire: _Wire


def in_lines(
    place: Mapping[str, Any], edges: Sequence[Mapping[str, Any]], wide: float
) -> dict[str, Any] | None:
    """A layout broken into lines of at most this width.

    Args:
        place: a layout, as :func:`minigrad.viz.layout.layout` gives it. It is not changed.
        edges: the Trace's edges.
        wide: the width that a line may take, in the layout's unit.

    Returns:
        The same form, with ``"lines"``: for each ``{"top", "bottom"}``, its height in the new
        picture, and ``{"from", "to"}``, its part of the old one's width. The points of an edge that
        goes on in a further line do not run to the right throughout. None where one line is enough,
        where most lines would hold one column only, and where so many wires cross every possible
        break that lines would be a tangle.
    """
    if place["width"] <= wide:
        return None
    columns = _columns(place["nodes"])
    kept = [e for e in edges if len(place["edges"].get(e["id"], {"points": ()})["points"]) > 1]
    least = SMALL_GAP if wide < SMALL_SCREEN else LEAST_GAP
    gaps = [
        max(min(gap, least), gap - USUAL_GAP + least)
        for gap in (b.left - a.right for a, b in pairwise(columns))
    ]
    crossing, tracks = _crossing(columns, kept), 1
    for last in (False, False, True):
        space = wide - 2 * (RIM + ASIDE + TRACK * (tracks - 1))
        starts = _squared(columns, gaps, crossing, space) or _broken_at(
            columns, gaps, crossing, space
        )
        if starts is None or len(columns) < LEAST_COLUMNS * len(starts):
            return None
        wires = _Wires(place, kept, columns, starts)
        if wires.most <= tracks or last:
            return _arranged(place, kept, columns, gaps, starts, wires, space)
        tracks = wires.most
    return None


def for_a_page(place: Mapping[str, Any], edges: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The layout as stills show it: in lines where it is much wider than a page, else itself."""
    least, most, form = PAGE
    wide = min(most, max(least, math.sqrt(form * place["width"] * place["height"])))
    return (in_lines(place, edges, wide) if place["width"] > 1.3 * wide else None) or dict(place)


def turn_of(points: Sequence[Sequence[float]]) -> int:
    """Where a wire turns back between two lines: the number of the point at the right end of the
    part that runs left; -1 for a wire within a line.

    The next point is the place of its label.
    """
    return next((i for i, (a, b) in enumerate(pairwise(points)) if b[0] < a[0]), -1)


def _columns(nodes: Mapping[str, Mapping[str, float]]) -> list[_Column]:
    found: list[_Column] = []
    for name, box in sorted(nodes.items(), key=lambda item: item[1]["x"] - item[1]["w"] / 2):
        left, right = box["x"] - box["w"] / 2, box["x"] + box["w"] / 2
        if found and left < found[-1].right + 1:
            found[-1].right = max(found[-1].right, right)
            found[-1].ids.append(name)
        else:
            found.append(_Column(left, right, [name]))
    return found


def _numbered(columns: Sequence[_Column]) -> dict[str, int]:
    return {name: k for k, column in enumerate(columns) for name in column.ids}


def _crossing(columns: Sequence[_Column], edges: Sequence[Mapping[str, Any]]) -> list[int]:
    """For each place behind a column: how many nodes have a wire across it."""
    column, reach, out = _numbered(columns), dict[str, int](), [0] * len(columns)
    for e in edges:
        reach[e["src"]] = max(reach.get(e["src"], 0), column[e["dst"]])
    for src, far in reach.items():
        out[column[src]] += 1
        out[far] -= 1
    return list(accumulate(out))


def _broken_at(
    columns: Sequence[_Column], gaps: Sequence[float], crossing: Sequence[int], space: float
) -> list[int] | None:
    """The first column of each line: as few lines as can be, evenly full, broken where few wires
    cross. None: one line, or no breaks.
    """
    n = len(columns)
    best, begins = [0.0], [0] * (n + 1)
    for end in range(n):
        best.append(math.inf)
        used = 0.0
        for start in range(end, -1, -1):
            used += columns[start].width + (gaps[start] if start < end else 0.0)
            if used > space and start < end:
                break
            here = (
                math.inf
                if crossing[end] > MOST_WIRES
                else (1 - min(1.0, used / space)) ** 2 + 0.15 * crossing[end]
            )
            cost = best[start] + 1 + (0.0 if end == n - 1 else here)
            if cost < best[end + 1]:
                best[end + 1], begins[end + 1] = cost, start
    if best[n] == math.inf:
        return None
    starts, end = [], n
    while end > 0:
        end = begins[end]
        starts.append(end)
    return starts[::-1] if len(starts) > 1 else None


def _squared(
    columns: Sequence[_Column], gaps: Sequence[float], crossing: Sequence[int], space: float
) -> list[int] | None:
    """Where lines with equally many columns, standing below one another, begin; None where that
    takes many more lines. Such a picture is calmer to look at.
    """
    free, n = _broken_at(columns, gaps, crossing, space), len(columns)
    if free is None:
        return None
    for many in range(max(b - a for a, b in pairwise([*free, n])), 1, -1):
        lines = math.ceil(n / many)
        if lines > 1.2 * len(free):
            return None
        starts = [i * many for i in range(lines)]
        wide, apart = _slots(columns, gaps, starts)
        if sum(wide) + sum(apart) <= space and all(
            crossing[start - 1] <= SQUARE_WIRES for start in starts[1:]
        ):
            return starts
    return None


def _slots(
    columns: Sequence[_Column], gaps: Sequence[float], starts: Sequence[int]
) -> tuple[list[float], list[float]]:
    """The widths of the places in a line, and of the gaps between them, that suit all lines."""
    wide: dict[int, float] = {}
    apart: dict[int, float] = {}
    for start, stop in pairwise([*starts, len(columns)]):
        for k in range(start, stop):
            wide[k - start] = max(wide.get(k - start, 0.0), columns[k].width)
            if k > start:
                apart[k - start - 1] = max(apart.get(k - start - 1, 0.0), gaps[k - 1])
    return list(wide.values()), list(apart.values())


class _Wires:
    """Which wires go on in a further line, and on which track each runs: down at the right, back
    above the line, down at the left.
    """

    def __init__(
        self,
        place: Mapping[str, Any],
        edges: Sequence[Mapping[str, Any]],
        columns: Sequence[_Column],
        starts: Sequence[int],
    ):
        line = [
            i
            for i, (start, stop) in enumerate(pairwise([*starts, len(columns)]))
            for _ in range(start, stop)
        ]
        self.line_of = {name: line[k] for name, k in _numbered(columns).items()}
        middles = [(a.right + b.left) / 2 for a, b in pairwise(columns)]

        def at(x: float) -> int:
            return line[bisect_left(middles, x)]

        self.parts: dict[str, _EdgePart] = {}
        leaving: dict[tuple[str, float], _Wire] = {}
        for e in edges:
            points, a, b = (
                place["edges"][e["id"]]["points"],
                self.line_of[e["src"]],
                self.line_of[e["dst"]],
            )
            if a == b:
                continue
            inner = points[1:-1]
            head, tail = (
                [points[0], *(p for p in inner if at(p[0]) == a)],
                [*(p for p in inner if at(p[0]) == b), points[-1]],
            )
            wire = leaving.setdefault((e["src"], head[-1][1]), _Wire(a, head[-1][1]))
            wire.entries[b] = max(wire.entries.get(b, -math.inf), tail[0][1])
            self.parts[e["id"]] = _EdgePart(head, tail, b, wire)
        wires = sorted(leaving.values(), key=lambda wire: (-wire.line, -wire.y))
        for i, wire in enumerate(wires):
            beside = [
                other
                for other in wires[:i]
                if other.line < max(wire.entries) and wire.line < max(other.entries)
            ]
            wire.right = 1 + max((other.right for other in beside), default=-1)
        # Above each line, from the top: the parts that run left. At the left of each line, from the
        # inside: the parts that run down, the deepest outside.
        self.tracks: list[dict[_Wire, int]] = []
        self.left: list[dict[_Wire, int]] = []
        for number in range(len(starts)):
            depth = {wire: wire.entries[number] for wire in wires if number in wire.entries}
            entering = sorted(depth, key=lambda wire: wire.right)
            self.tracks.append({wire: i for i, wire in enumerate(entering)})
            deepest_last = sorted(entering, key=depth.__getitem__)
            self.left.append({wire: i for i, wire in enumerate(deepest_last)})
        self.right_most = 1 + max((wire.right for wire in wires), default=-1)
        self.left_most = max(len(one) for one in self.left)
        self.most = max(1, self.right_most, self.left_most)


@dataclass
class _Band:
    """Heights that lie near one another, and how far they are moved."""

    top: float
    bottom: float
    down: float = 0.0


def _bands(heights: Sequence[tuple[float, float]], first: float) -> list[_Band]:
    """What stands in a line, without the height in which nothing does: a wire passed there that
    now goes round.
    """
    bands: list[_Band] = []
    for top, bottom in sorted(heights):
        if bands and top <= bands[-1].bottom + BAND_GAP:
            bands[-1].bottom = max(bands[-1].bottom, bottom)
        else:
            bands.append(_Band(top, bottom))
    begin = first
    for band in bands:
        band.down = begin - band.top
        begin = band.bottom + band.down + BAND_GAP
    return bands


@dataclass
class _Line:
    """Columns from start up to stop, and where they stand in the new picture."""

    start: int
    stop: int
    top: float = 0.0
    bottom: float = 0.0
    gutter: float = 0.0
    bands: list[_Band] = field(default_factory=list)

    def down(self, y: float) -> float:
        return (
            y + next((band for band in reversed(self.bands) if band.top <= y), self.bands[0]).down
        )


def _arranged(
    place: Mapping[str, Any],
    edges: Sequence[Mapping[str, Any]],
    columns: Sequence[_Column],
    gaps: Sequence[float],
    starts: Sequence[int],
    wires: _Wires,
    space: float,
) -> dict[str, Any]:
    """The places of nodes and edges in lines that begin at these columns.

    Long: the stages of one algorithm, each used once.
    """
    lines = [_Line(start, stop) for start, stop in pairwise([*starts, len(columns)])]
    begin = RIM + ASIDE + TRACK * max(0, wires.left_most - 1)
    at, grown, far = _across(lines, columns, gaps, starts, space, begin)

    def end(k: int) -> float:
        return at[k] + columns[k].width * grown[k]

    def across(x: float, line: _Line) -> float:
        """An x of the old picture in the new one: in a column or between two columns in
        proportion.
        """
        k = line.start
        while k + 1 < line.stop and columns[k + 1].left <= x:
            k += 1
        if x <= columns[k].right or k + 1 >= line.stop:
            return at[k] + (x - columns[k].left) * grown[k]
        return end(k) + (x - columns[k].right) / (columns[k + 1].left - columns[k].right) * (
            at[k + 1] - end(k)
        )

    bottom = _down(lines, place, edges, wires)

    def moved(points: Sequence[Sequence[float]], line: _Line) -> list[list[float]]:
        return [[round(across(x, line), 1), round(line.down(y), 1)] for x, y in points]

    nodes: dict[str, dict[str, float]] = {}
    for name, box in place["nodes"].items():
        line = lines[wires.line_of[name]]
        left, right = across(box["x"] - box["w"] / 2, line), across(box["x"] + box["w"] / 2, line)
        nodes[name] = {
            "x": round((left + right) / 2, 1),
            "y": round(line.down(box["y"]), 1),
            "w": round(right - left, 1),
            "h": box["h"],
        }
    routes: dict[str, Any] = {}
    for e in edges:
        part, line = wires.parts.get(e["id"]), lines[wires.line_of[e["src"]]]
        if part is None:
            routes[e["id"]] = {"points": moved(place["edges"][e["id"]]["points"], line)}
            continue
        head, tail = moved(part.head, line), moved(part.tail, lines[part.line])
        out = round(far + ASIDE + TRACK * part.wire.right, 1)
        back = round(lines[part.line].gutter + TRACK * wires.tracks[part.line][part.wire], 1)
        into = round(begin - ASIDE - TRACK * wires.left[part.line][part.wire], 1)
        label = round(min(begin + LABEL + APART * wires.left[part.line][part.wire], far - LABEL), 1)
        routes[e["id"]] = {
            "points": [
                *head,
                [out, head[-1][1]],
                [out, back],
                [label, back],
                [into, back],
                [into, tail[0][1]],
                *tail,
            ]
        }
    return {
        "width": round(far + ASIDE + TRACK * max(0, wires.right_most - 1) + RIM, 1),
        "height": round(bottom + RIM, 1),
        "nodes": nodes,
        "edges": routes,
        "lines": [
            {
                "top": round(one.top, 1),
                "bottom": round(one.bottom, 1),
                "from": columns[one.start].left,
                "to": columns[one.stop - 1].right,
            }
            for one in lines
        ],
    }


def _across(
    lines: Sequence[_Line],
    columns: Sequence[_Column],
    gaps: Sequence[float],
    starts: Sequence[int],
    space: float,
    begin: float,
) -> tuple[list[float], list[float], float]:
    """Where each column begins, by how much it is wider than before, and where the widest line
    ends.
    """
    wide, apart = _slots(columns, gaps, starts)
    square = sum(wide) + sum(apart) <= space
    at, grown, far = [0.0] * len(columns), [1.0] * len(columns), 0.0
    for i, line in enumerate(lines):
        here = range(line.start, line.stop)
        used = (
            sum(wide) + sum(apart)
            if square
            else sum(columns[k].width for k in here) + sum(gaps[k] for k in here[:-1])
        )
        between = (len(wide) if square else len(here)) - 1
        more = (
            max(0.0, min(STRETCH, (space - used) / between))
            if between and (square or i < len(lines) - 1)
            else 0.0
        )
        x = begin
        for j, k in enumerate(here):
            own = columns[k].width
            slot = wide[j] if square else own
            at[k], grown[k] = x, slot / own  # cards that stand below one another are of one width
            far = max(far, x + slot)
            gap = (
                (apart[j] if j < len(apart) else 0.0)
                if square
                else (gaps[k] if k < len(gaps) else 0.0)
            )
            x += slot + gap + more
    return at, grown, far


def _down(
    lines: Sequence[_Line],
    place: Mapping[str, Any],
    edges: Sequence[Mapping[str, Any]],
    wires: _Wires,
) -> float:
    """Set the lines below one another; returns where the last ends."""
    heights: list[list[tuple[float, float]]] = [[] for _ in lines]
    for name, box in place["nodes"].items():
        heights[wires.line_of[name]].append((box["y"] - box["h"] / 2, box["y"] + box["h"] / 2))
    for e in edges:
        part, first = wires.parts.get(e["id"]), wires.line_of[e["src"]]
        heights[first] += [
            (y, y) for _, y in (part.head if part else place["edges"][e["id"]]["points"])
        ]
        if part:
            heights[part.line] += [(y, y) for _, y in part.tail]
    bottom = RIM
    for i, line in enumerate(lines):
        if i:
            line.gutter = bottom + GUTTER
            bottom += 2 * GUTTER + TRACK * max(0, len(wires.tracks[i]) - 1)
        line.top, line.bands = bottom, _bands(heights[i], bottom)
        bottom = line.bottom = line.bands[-1].bottom + line.bands[-1].down
    return bottom
