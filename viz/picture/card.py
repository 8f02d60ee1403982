"""A node's card: rim, heading, caption, and a row for each column with its mark and its value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from minigrad.viz.constants import CARD, STAGES
from minigrad.viz.layout import measure
from minigrad.viz.numbers import heat_of, is_not_finite, unlike_text
from minigrad.viz.picture.marks import GHOST, Box, Disc, Mark, MarkGroup, PathMark, TextLine
from minigrad.viz.reading import heading_runs, plain
from minigrad.viz.speech import caption_lines
from minigrad.viz.texts import Words

from minigrad.trace.value_schema import LEVELS

HATCH = 8
"""The distance between the slanted lines over a card that leads to no output."""


class Moment(NamedTuple):
    """What a card shows of one step: its values by (node, column), the step, the column that gives
    the step its colour, the nodes that exist and those that released what they kept, whether kept
    values are marked at all, the values of another Trace where they differ, and the nodes that
    agree with it."""

    cells: Mapping[tuple[str, str], Any]
    step: Mapping[str, Any] | None
    now: str
    born: Collection[str]
    freed: Collection[str]
    keeping: bool
    theirs: Mapping[tuple[str, str], Any] = {}
    agreeing: Collection[str] = ()

    def read(self, node: str) -> bool:
        """Whether the step reads this node."""
        return self.step is not None and any(cell[0] == node for cell in self.step.get("reads", []))

    def quiet(self, node: str) -> bool:
        """Whether this node agrees with another Trace, and the step does not touch it."""
        return node in self.agreeing and not self.read(node) and not self.written(node)

    def written(self, node: str) -> set[str]:
        """The columns of this node that the step writes."""
        return {cell[1] for cell in (self.step or {}).get("writes", []) if cell[0] == node}


def card(
    node: Mapping[str, Any],
    box: Mapping[str, float],
    columns: Sequence[Mapping[str, Any]],
    moment: Moment,
    t: Words,
) -> MarkGroup:
    """The card of a node in its box of the layout."""
    name, small = node["id"], caption_lines(node, t)
    x, y, width, height = box["x"] - box["w"] / 2, box["y"] - box["h"] / 2, box["w"], box["h"]
    body = y + measure.HEAD + len(small) * measure.CAPTION
    stage = STAGES.get(node.get("stage", ""), 0)
    marks = _rim(node, (x, y, width, height), moment, stage)
    pile, space = node.get("kind") == "group", width - 14
    heading = str(node["label"]["base"]) if pile else heading_runs(node)
    role = "group-name" if pile else "head" if moment.quiet(name) else "name"
    struck = bool(node.get("dangling")) and not pile
    marks.append(TextLine(box["x"], y + 20, heading, role, "middle", space, struck))
    computed = any((name, column["key"]) in moment.cells for column in columns)
    if node.get("saved") and moment.keeping and computed:
        kept = "gone" if name in moment.freed else "kept"
        marks.append(Box(x + width - 14, y - 4, 8, 8, 0, kept))
    for i, line in enumerate(small):
        level = y + measure.HEAD + 7 + i * measure.CAPTION
        marks.append(TextLine(box["x"], level, line, "caption", "middle"))
    if columns:
        marks.append(PathMark(f"M{x + 1:g} {body - 1:g}h{width - 2:g}", "rule"))
    for i in range(stage):  # as many stripes as derivatives were taken
        marks.append(PathMark(f"M{x + 4 + 4 * i:g} {y + 6:g}v{height - 12:g}", f"stripe-{stage}"))
    if node.get("dangling"):
        marks.append(PathMark(hatching(x, y, width, height), "hatch"))
    marks += _rows(
        node, columns, (x + measure.SIDE, body + 14, width - 2 * measure.SIDE), moment, t
    )
    return MarkGroup(marks, plain(heading_runs(node)), 1.0 if name in moment.born else GHOST)


def _rim(
    node: Mapping[str, Any],
    box: tuple[float, float, float, float],
    moment: Moment,
    stage: int,
) -> list[Mark]:
    """The card itself: how it looks says its kind, its generation, and whether the step reads or
    writes it."""
    x, y, width, height = box
    kind, now = node.get("kind", ""), moment.now
    corner = CARD["corners"].get(kind, CARD["corner"])
    role = "card"
    marks: list[Mark] = []
    if kind == "group":
        marks = [Box(x + by, y + by, width, height, corner, "pile") for by in (6, 3)]
        role = "card top"
    else:
        role += f" {kind}" if kind in ("input", "output") else ""
        role += f" card-{stage}" if stage else ""
        role += " failed" if node.get("failed") else ""
    role += " quiet" if moment.quiet(node["id"]) else ""
    columns = {key for name, key in moment.theirs if name == node["id"]}
    role += " failed" if any((node["id"], key) in moment.cells for key in columns) else ""
    known = [moment.cells.get((node["id"], key)) for key in "vdg"]
    role += " not-finite" if any(map(is_not_finite, known)) else ""
    written = moment.written(node["id"])
    if written:
        role += f" written-{now}"
    elif moment.read(node["id"]):
        role += f" read-{now}"
    marks.append(Box(x, y, width, height, corner, role))
    if written and moment.step and moment.step.get("phase") == "accumulate":
        marks.append(Box(x - 4, y - 4, width + 8, height + 8, corner + 4, f"again-{now}"))
    return marks


def _rows(
    node: Mapping[str, Any],
    columns: Sequence[Mapping[str, Any]],
    place: tuple[float, float, float],
    moment: Moment,
    t: Words,
) -> list[Mark]:
    """One row for each column; place: left end, first baseline and width."""
    (left, y, width), name, shape = place, node["id"], node.get("shape") or []
    marks: list[Mark] = []
    for key in (column["key"] for column in columns):
        marks += ring(left, y, key)
        if (name, key) in moment.cells:
            value = moment.cells[name, key]
            bold = " bold" if key in moment.written(name) else ""
            bold += " quiet-value" if moment.quiet(name) else ""
            bold += " unlike-value" if is_not_finite(value) else ""
            lines = measure.lines_of(value, shape, t)
            if (name, key) in moment.theirs:
                other, bold = moment.theirs[name, key], " bold unlike-value"
                lines = [unlike_text(value, other, t)]
            for j, line in enumerate(lines):
                at = (left + width, y + j * measure.LINE)
                marks.append(TextLine(*at, line, f"value {key}{bold}", "end"))
            heat = heat_of(value) if measure.kind_of(shape) == "heat" else None
            marks += heat_map(heat, left, y + 6, width, measure.HEAT - 5) if heat else []
        y += measure.row_height(shape)
    return marks


def ring(x: float, y: float, column: str, ink: str = "") -> list[Mark]:
    """A column's mark: a ring in the place of a node's name, with the column's dot or bar. ink:
    another colour."""
    ink = ink or column
    marks: list[Mark] = [Disc(x + 5, y - 4, 4, f"ring-{ink}")]
    if column == "d":
        marks.append(Disc(x + 5, y - 10.8, 1.6, f"dot-{ink}"))
    elif column == "g":
        marks.append(PathMark(f"M{x + 0.5:g} {y - 10.7:g}h9", f"accent-{ink}"))
    return marks


def hatching(x: float, y: float, width: float, height: float) -> str:
    """Path data of slanted lines over a box, each from edge to edge."""
    out = ""
    for d in range(HATCH, int(width + height), HATCH):
        start = x + max(0.0, d - height), y + min(d, height)
        end = x + min(d, width), y + max(0.0, d - width)
        out += f"M{start[0]:g} {start[1]:g}L{end[0]:g} {end[1]:g}"
    return out


def heat_map(
    heat: Mapping[str, Any], x: float, y: float, width: float, height: float
) -> list[PathMark]:
    """A heat map, one path for each level; cells below zero are smaller, so the sign shows without
    colour."""
    rows, columns = heat["shape"]
    tall = min(height / rows, 18.0)
    wide = min(width / columns, 18.0, 4 * tall)
    paths: dict[int, str] = {}
    for i, level in enumerate(heat["levels"]):
        number = LEVELS.find(level)
        if number < 0:  # not a number: left out
            continue
        inset = 0.18 if number < 8 else 0.03
        left, top = x + (i % columns + inset) * wide, y + (i // columns + inset) * tall
        w, h = wide * (1 - 2 * inset), tall * (1 - 2 * inset)
        paths[number] = paths.get(number, "") + f"M{left:.2f} {top:.2f}h{w:.2f}v{h:.2f}h{-w:.2f}z"
    return [PathMark(path, f"h{number}") for number, path in sorted(paths.items())]
