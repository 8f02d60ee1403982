"""The graph of a Trace after a step: edges, the shapes beside them, cards, and the numbers on the
edges at work."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.viz.constants import EDGE, STAGES
from minigrad.viz.edges import Rectangle, curve
from minigrad.viz.labels import Label, labels_of
from minigrad.viz.picture.card import Moment, card
from minigrad.viz.picture.marks import GHOST, Box, Disc, Mark, MarkGroup, PathMark, TextLine
from minigrad.viz.reading import keeps, rows, shown_column
from minigrad.viz.shape_labels import shape_labels
from minigrad.viz.texts import Words

from minigrad.trace.replay import state_at

TIP = EDGE["tip"]
"""How far a line stops before its arrow's point."""


class GraphPicture:
    """A Trace's graph, ready to be drawn after any step. trace: laid out; t: the language of its
    words."""

    def __init__(self, trace: Mapping[str, Any], t: Words):
        self.trace, self.words = trace, t
        self.place = trace["layout"]
        self.shapes = shape_labels(trace)
        self.keeping = keeps(trace)
        self.rows = rows(trace)
        beside = trace.get("beside", {})
        cells, self.sums = beside.get("cells", ()), beside.get("sums", ())
        self.theirs = {(node, column): value for node, column, value in cells}
        self.final = {}  # how many steps make a cell's value
        for k, step in enumerate(trace["steps"], 1) if self.theirs else ():
            self.final |= {(node, column): k for node, column, _ in step["writes"]}

    def at(self, k: int, view: Rectangle | None = None) -> list[Mark]:
        """The marks of the state after k steps; view: the part of the layout that is wanted, all by
        default."""
        trace, step = self.trace, self.trace["steps"][k - 1] if k else None
        state, now = state_at(trace, k), shown_column(trace, step)
        growing = {(node, column): value for node, column, value, at in self.sums if at <= k}
        theirs = {cell: value for cell, value in growing.items() if value is not None}
        theirs |= {cell: value for cell, value in self.theirs.items() if self.final[cell] <= k}
        quiet = self._agreeing(state.cells, theirs)
        moment = Moment(
            state.cells, step, now, state.born, state.freed, self.keeping, theirs, quiet
        )
        lit = set(step["edges"]) if step else set()
        marks: list[Mark] = []
        for edge in sorted(trace["edges"], key=lambda edge: edge["id"] in lit):
            points = self.place["edges"][edge["id"]]["points"]
            if view is None or _touches(points, view):
                alive = {edge["src"], edge["dst"]} <= state.born
                column = now if edge["id"] in lit else ""
                marks.append(_edge(edge, points, column, alive, "upright" in self.place))
        for shape in self.shapes:
            if view is None or view.x0 <= shape.x <= view.x1:
                text = TextLine(shape.x, shape.y, shape.drawn, "shape", space=shape.space)
                marks.append(text if shape.node in state.born else MarkGroup([text], opacity=GHOST))
        for node in trace["nodes"]:
            box = self.place["nodes"][node["id"]]
            around = Rectangle(box["x"], box["y"], box["x"], box["y"])
            if view is None or view.meets(around.grown(max(box["w"], box["h"]))):
                marks.append(card(node, box, self.rows[node["id"]], moment, self.words))
        for label in labels_of(trace, step, self.shapes, self.words):
            marks += _number(label, now)
        return marks

    def _agreeing(
        self, cells: Mapping[tuple[str, str], Any], theirs: Mapping[tuple[str, str], Any]
    ) -> set[str]:
        """Beside another Trace: the nodes of both in which all that is known agrees."""
        if "beside" not in self.trace:
            return set()
        differing = {node for node, column in theirs if (node, column) in cells}
        return {node for node, _ in cells} - differing - set(self.trace["beside"]["only"])


def _touches(points: Sequence[Sequence[float]], view: Rectangle) -> bool:
    return max(x for x, _ in points) >= view.x0 and min(x for x, _ in points) <= view.x1


def _edge(
    edge: Mapping[str, Any],
    points: Sequence[Sequence[float]],
    now: str,
    alive: bool,
    upright: bool = False,
) -> MarkGroup:
    """An edge with its arrow, which points backward where an adjoint passes. upright: it runs from
    top to bottom."""
    points = [(y, x) for x, y in points] if upright else points
    (x0, y0), (x1, y1) = points[0], points[-1]
    stage = STAGES.get(edge.get("stage", ""), 0)
    if now == "g":
        route, tip = [[x0 + TIP, y0], *points[1:]], f"M{x0:g} {y0:g}l10 -4.5v9z"
    else:
        route, tip = [*points[:-1], [x1 - TIP, y1]], f"M{x1:g} {y1:g}l-10 -4.5v9z"
    line, point = (f"lit-{now}", f"tip-{now}") if now else ("edge", "tip")
    if stage and not now:
        line, point = f"edge edge-{stage}", f"tip-{stage}"
    paths = {line: curve(route), point: tip}
    if upright:
        paths = {role: _turned(path) for role, path in paths.items()}
    return MarkGroup(
        [PathMark(path, role) for role, path in paths.items()], opacity=1.0 if alive else GHOST
    )


def _turned(path: str) -> str:
    """Path data with x and y exchanged."""
    return re.sub(r"(-?[\d.]+) (-?[\d.]+)", r"\2 \1", path).replace("v", "h")


def _number(label: Label, now: str) -> list[Mark]:
    """The local derivative on its edge: what the value that passes is multiplied by."""
    marks: list[Mark] = []
    x, y, box, size = label.x, label.y, label.box, label.size
    if label.lead is not None:
        u, v = label.lead
        marks = [PathMark(f"M{x:g} {y:g}L{u:g} {v:g}", f"lead-{now}"), Disc(u, v, 2, f"dot-{now}")]
    marks.append(Box(box.x0, box.y0, size.width, size.height, size.height / 2, f"frame-{now}"))
    role, base = (f"number small {now}", 3.6) if size.small else (f"number {now}", 4)
    marks.append(TextLine(x, y + base, label.text, role, "middle", size.width - 5))
    return marks
