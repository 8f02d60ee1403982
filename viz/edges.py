"""How an edge runs between two cards: the same curves as in static/viewer/cards.js."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from minigrad.viz.constants import EDGE
from minigrad.viz.layout.lines import turn_of

Point = tuple[float, float]

CORNER_RADIUS = EDGE["corner"]  # of edges between lines
DENSE = EDGE["dense"]  # how far points along an edge are apart, at most


class Rectangle(NamedTuple):
    """A rectangle by its edges."""

    x0: float
    y0: float
    x1: float
    y1: float

    def meets(self, other: Rectangle) -> bool:
        return (
            self.x0 < other.x1 and other.x0 < self.x1 and self.y0 < other.y1 and other.y0 < self.y1
        )

    def covered(self, other: Rectangle) -> float:
        """The area that both have in common."""
        return max(0.0, min(self.x1, other.x1) - max(self.x0, other.x0)) * max(
            0.0, min(self.y1, other.y1) - max(self.y0, other.y0)
        )

    def grown(self, by: float) -> Rectangle:
        return Rectangle(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)

    def holds(self, point: Point) -> bool:
        return self.x0 < point[0] < self.x1 and self.y0 < point[1] < self.y1


def curve(points: Sequence[Sequence[float]]) -> str:
    """Path data of a smooth curve that is level at its ends and monotone between its points; the
    same as in static/viewer/cards.js.

    Where the points do not run on to the right, as between the lines of a long graph, it goes
    straight, round the corners.

    The slopes are those of F. N. Fritsch and R. E. Carlson, "Monotone piecewise cubic
    interpolation", SIAM J. Numer. Anal. 17 (1980), with the harmonic mean of F. N. Fritsch and J.
    Butland (1984).
    """
    runs = [[list(points[0])]]
    for point in points[1:]:
        if point[0] > runs[-1][-1][0]:
            runs[-1].append(list(point))
        else:
            runs.append([list(point)])
    out = [f"M{points[0][0]:g} {points[0][1]:g}"]
    for i, run in enumerate(runs):
        before, after = (
            runs[i - 1][-1] if i else None,
            runs[i + 1][0] if i + 1 < len(runs) else None,
        )
        ends = list(run)
        if before is not None:
            ends[0] = _beside(run[0], run[1] if len(run) > 1 else after or run[0])
            out.append(f"L{_xy(_beside(run[0], before))}Q{_xy(run[0])} {_xy(ends[0])}")
        corner = ends.pop() if len(run) > 1 and after is not None else None
        if corner is not None:
            ends.append(_beside(corner, ends[-1]))
        out.append(_smooth(ends))
        if corner is not None and after is not None:
            out.append(f"Q{_xy(corner)} {_xy(_beside(corner, after))}")
    return "".join(out)


def _xy(point: Sequence[float]) -> str:
    return f"{point[0]:g} {point[1]:g}"


def _beside(corner: Sequence[float], to: Sequence[float]) -> list[float]:
    """The point just before a corner, on the way from it to another point."""
    right, down = to[0] - corner[0], to[1] - corner[1]
    length = math.hypot(right, down)
    share = min(CORNER_RADIUS, length / 2) / length if length else 0.0
    return [round(corner[0] + right * share, 1), round(corner[1] + down * share, 1)]


def _cubics(points: Sequence[Sequence[float]]) -> list[tuple[Point, Point, Point]]:
    """The pieces of a smooth curve: of each the two control points on the way to its end, and
    the end.
    """
    slopes = [(b[1] - a[1]) / (b[0] - a[0] or 1.0) for a, b in pairwise(points)]
    inner = [2 * s * t / (s + t) if s * t > 0 else 0.0 for s, t in pairwise(slopes)]
    at = [0.0, *inner, 0.0]
    out = []
    for i, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
        reach = (x1 - x0) * (1 / 3 if at[i] or at[i + 1] else 0.45)
        first, second = (
            (round(x0 + reach, 1), round(y0 + at[i] * reach, 1)),
            (round(x1 - reach, 1), round(y1 - at[i + 1] * reach, 1)),
        )
        out.append((first, second, (x1, y1)))
    return out


def _smooth(points: Sequence[Sequence[float]]) -> str:
    return "".join(
        f"C{_xy(first)} {_xy(second)} {_xy(end)}" for first, second, end in _cubics(points)
    )


def waypoints(points: Sequence[Sequence[float]]) -> list[Point]:
    """Points along an edge as it is drawn, close enough together to tell what covers it."""
    return [(points[0][0], points[0][1]), *chain.from_iterable(pieces(points))]


def pieces(points: Sequence[Sequence[float]]) -> Iterator[Iterator[Point]]:
    """Those from each point of an edge to the next, which is the last of them."""
    turns = turn_of(points) >= 0
    drawn = [(a, b, b) for a, b in pairwise(points)] if turns else _cubics(points)
    for begin, (c, d, end) in zip(points, drawn, strict=False):
        yield _along(begin, c, d, end, turns)


def _along(
    a: Sequence[float], c: Sequence[float], d: Sequence[float], end: Sequence[float], straight: bool
) -> Iterator[Point]:
    steps = max(1, math.ceil((abs(end[0] - a[0]) + abs(end[1] - a[1])) / DENSE))
    for k in range(1, steps + 1):
        u = k / steps
        if straight:
            yield a[0] + (end[0] - a[0]) * u, a[1] + (end[1] - a[1]) * u
            continue
        v = 1 - u
        p, q, r, s = v * v * v, 3 * v * v * u, 3 * v * u * u, u * u * u
        yield (
            p * a[0] + q * c[0] + r * d[0] + s * end[0],
            p * a[1] + q * c[1] + r * d[1] + s * end[1],
        )
