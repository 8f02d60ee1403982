"""Coordinates from Graphviz: the graph as DOT text, and its ``plain`` answer read back.

Graphviz only places: nodes of fixed size and without labels go in, coordinates come out. The
drawing itself is ours, in the static SVG as in the viewer, so colours, dashes and type are the same
whichever engine placed the nodes.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.viz.layout.pure import MARGIN, PORT_GAP, Edges, Sizes

POINTS_PER_INCH = (
    72.0  # DOT sizes and plain coordinates are in inches; one pixel of ours is one point
)


def available() -> bool:
    """Whether the ``dot`` program and the ``graphviz`` package that drives it are installed."""
    if shutil.which("dot") is None:
        return False
    try:
        import graphviz  # noqa: F401
    except ImportError:
        return False
    return True


def dot_text(sizes: Sizes, edges: Edges) -> str:
    """The graph in the DOT language. Nodes and edges are numbered, so no user text reaches
    Graphviz.
    """
    number = {v: i for i, v in enumerate(sizes)}
    lines = [
        "digraph {",
        (
            f"  graph [rankdir=LR, nodesep={26 / POINTS_PER_INCH:.3f},"
            f" ranksep={90 / POINTS_PER_INCH:.3f}, splines=spline]"
        ),
        '  node [shape=box, fixedsize=true, label=""]',
        "  edge [arrowhead=none]",
    ]
    lines += [
        f"  {number[v]} [width={w / POINTS_PER_INCH:.4f}, height={h / POINTS_PER_INCH:.4f}]"
        for v, (w, h) in sizes.items()
    ]
    lines += [f"  {number[src]} -> {number[dst]}" for _, src, dst in edges]
    return "\n".join([*lines, "}"])


def solve(sizes: Sizes, edges: Edges) -> dict[str, Any]:
    """Lay out by the ``dot`` program. Same result form as
    :func:`minigrad.viz.layout.pure.solve`.
    """
    import graphviz

    return read_plain(
        graphviz.Source(dot_text(sizes, edges)).pipe(format="plain", encoding="utf-8"), sizes, edges
    )


def read_plain(text: str, sizes: Sizes, edges: Edges) -> dict[str, Any]:
    """Graphviz's ``plain`` format as a layout.

    Its y grows upwards, ours downwards. Its edges are B-splines; we keep points on them (each
    Bezier piece's ends and middle), drop those that do not run to the right, and move the ends to
    our own ports, so that two edges between the same nodes stay apart.
    """
    names = list(sizes)
    width = height = 0.0
    nodes: dict[str, dict[str, float]] = {}
    curves: dict[tuple[str, str], list[list[list[float]]]] = {}
    for line in text.splitlines():
        word = line.split()
        if not word:
            continue
        if word[0] == "graph":
            width, height = (float(v) * POINTS_PER_INCH for v in word[2:4])
        elif word[0] == "node":
            name = names[int(word[1])]
            x, y = (float(v) * POINTS_PER_INCH for v in word[2:4])
            w, h = sizes[name]
            nodes[name] = {
                "x": round(x + MARGIN, 1),
                "y": round(height - y + MARGIN, 1),
                "w": w,
                "h": h,
            }
        elif word[0] == "edge":
            src, dst, count = names[int(word[1])], names[int(word[2])], int(word[3])
            flat = [float(v) * POINTS_PER_INCH for v in word[4 : 4 + 2 * count]]
            control = [
                [flat[2 * i] + MARGIN, height - flat[2 * i + 1] + MARGIN] for i in range(count)
            ]
            curves.setdefault((src, dst), []).append(_on_curve(control))
    placed = {v: nodes[v] for v in names}
    return {
        "width": round(width + 2 * MARGIN, 1),
        "height": round(height + 2 * MARGIN, 1),
        "nodes": placed,
        "edges": _join(edges, placed, curves),
    }


def _on_curve(control: Sequence[Sequence[float]]) -> list[list[float]]:
    points = [list(control[0])]
    for i in range(0, len(control) - 3, 3):
        a, b, c, d = control[i : i + 4]
        # the cubic at t = 1/2
        points.append([(a[k] + 3 * b[k] + 3 * c[k] + d[k]) / 8 for k in (0, 1)])
        points.append(list(d))
    return points


def _join(
    edges: Edges,
    nodes: Mapping[str, Mapping[str, float]],
    curves: dict[tuple[str, str], list[list[list[float]]]],
) -> dict[str, Any]:
    routes: dict[str, list[list[float]]] = {}
    for name, src, dst in edges:
        routes[name] = curves[src, dst].pop(0)
    starts: dict[str, list[tuple[float, int, str]]] = {}
    stops: dict[str, list[tuple[float, int, str]]] = {}
    for order, (name, src, dst) in enumerate(edges):
        inner = routes[name][1:-1] or routes[name]
        starts.setdefault(src, []).append((inner[0][1], order, name))
        stops.setdefault(dst, []).append((inner[-1][1], order, name))
    leave, enter = _spread(starts, nodes), _spread(stops, nodes)
    out: dict[str, Any] = {}
    for name, src, dst in edges:
        a, b = nodes[src], nodes[dst]
        first = [a["x"] + a["w"] / 2, a["y"] + leave[name]]
        last = [b["x"] - b["w"] / 2, b["y"] + enter[name]]
        points = [first]
        if any(
            first[0] < n["x"] + n["w"] / 2 and n["x"] - n["w"] / 2 < last[0]
            for v, n in nodes.items()
            if v not in (src, dst)
        ):
            # only an edge that passes beside other nodes needs Graphviz's way round them
            for x, y in routes[name][1:-1]:
                if points[-1][0] + 4 < x < last[0] - 4:
                    points.append([x, y])
        out[name] = {"points": [[round(x, 1), round(y, 1)] for x, y in [*points, last]]}
    return out


def _spread(
    ends: Mapping[str, list[tuple[float, int, str]]], nodes: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    offsets: dict[str, float] = {}
    for v, side in ends.items():
        side.sort()
        gap = min(PORT_GAP, (nodes[v]["h"] - 16.0) / max(1, len(side)))
        offsets.update(
            {name: (i - (len(side) - 1) / 2) * gap for i, (_, _, name) in enumerate(side)}
        )
    return offsets
