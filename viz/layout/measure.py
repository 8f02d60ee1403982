"""How large a node's card must be, before any browser has seen it.

No value is ever cut off: Python computes the layout once, so each card is made wide enough for the
widest text that it will hold at *any* step. Widths are estimated from character counts: exact for
the monospace values, generous for the serif heading (the viewer squeezes a heading that a very wide
font makes too long).
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.viz.constants import CARD
from minigrad.viz.numbers import brief, grid, spread, unlike_text
from minigrad.viz.reading import TextRun, heading_runs, rows
from minigrad.viz.speech import caption_lines
from minigrad.viz.texts import Words, words

# The card's anatomy in pixels.
HEAD = CARD["head"]  # the line "v1 = ln x1"
CAPTION = CARD["caption"]  # a small line: name, shape and dtype; what a condition decided
ROW = CARD["row"]  # one line for each column
PAD = CARD["pad"]  # below the last row
SIDE = CARD["side"]  # left and right of everything
LINE = CARD["line"]  # one row of a small matrix
HEAT = CARD["heat"]  # the heat map under the value of a large array
SYMBOL = CARD["symbol"]  # the mark of the column in front of the value

HEAD_FONT = 16.0
VALUE_FONT = 13.0
CAPTION_FONT = 13.0  # on the stage; elsewhere 10.5
MONOSPACE = 0.61  # advance of a monospace character, in em
DRAWN = 1.12  # a heading in the widest font, where no viewer squeezes it
SMALLER = 0.72  # subscripts against the line


def text_width(runs: list[TextRun], font: float = HEAD_FONT) -> float:
    """Estimated width in pixels of a line of mathematics."""
    width = 0.0
    for run in runs:
        size = font * (1.0 if run.level == 0 else SMALLER)
        for ch in run.text:
            if "\u0300" <= ch <= "\u036f":
                continue  # combining accents take no space
            width += size * (
                1.0
                if is_wide(ch)
                else 0.32
                if ch in " \u2009.,()[]|/ijl"
                else 0.85
                if ch in "mwMW@=+−×→"
                else 0.58
            )
    return width


def is_wide(letter: str) -> bool:
    """Whether a letter takes the space of two, as those of East Asia do."""
    return unicodedata.east_asian_width(letter) in "WF"


def letters(line: str) -> int:
    """How many ordinary letters a line is as wide as."""
    return sum(1 + is_wide(letter) for letter in line)


def kind_of(shape: Sequence[int]) -> str:
    """How an array stands in a card: "line" (a number, a short vector), "grid" (all elements of
    a small matrix) or "heat" (a summary).
    """
    size = math.prod(shape)
    if size <= 1 or (len(shape) == 1 and size <= 4):
        return "line"
    return "grid" if len(shape) == 2 and max(shape) <= 4 else "heat"


def row_height(shape: Sequence[int]) -> int:
    """The height of one column's row in the card of a node of this shape."""
    kind = kind_of(shape)
    return ROW if kind == "line" else shape[0] * LINE + 5 if kind == "grid" else ROW + HEAT


def lines_of(value: Any, shape: Sequence[int], t: Words | None = None) -> list[str]:
    """The text of a value in a card: one line, or one for each row of a small matrix."""
    fits = (
        kind_of(shape) == "grid"
        and isinstance(value, dict)
        and list(value.get("shape", [])) == list(shape)
    )
    if fits:
        return grid(value)
    # the box of a group has no shape, and no space for elements
    ranged = kind_of(shape) == "heat" or not shape
    ranged = ranged and isinstance(value, dict) and "min" in value
    return [spread(value, t) if ranged else brief(value, t=t)]


def boxes(trace: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """``{node id: (width, height)}`` in pixels, wide enough for every value that the node holds
    at any step.
    """
    widest: dict[str, int] = {}
    shapes = {node["id"]: node.get("shape") or [] for node in trace["nodes"]}
    for step in trace["steps"]:
        for node, _column, value in step["writes"]:
            widest[node] = max(
                widest.get(node, 0), *(len(line) for line in lines_of(value, shapes[node]))
            )
    if beside := trace.get("beside"):
        own = {(node, c): value for step in trace["steps"] for node, c, value in step["writes"]}
        unlike = [(node, own[node, column], theirs) for node, column, theirs in beside["cells"]]
        for node, _, theirs, k in beside.get("sums", ()):
            unlike.append((node, trace["steps"][k - 1]["writes"][0][2], theirs))
        for node, mine, theirs in unlike:
            widest[node] = max(widest[node], len(unlike_text(mine, theirs)))
    out: dict[str, tuple[float, float]] = {}
    columns = rows(trace)
    for node in trace["nodes"]:
        small = caption_lines(node, words())
        heading = text_width(heading_runs(node)) * (DRAWN if "lines" in node else 1.0)
        values = SYMBOL + widest.get(node["id"], 0) * VALUE_FONT * MONOSPACE
        longest = max(map(letters, small), default=0) * CAPTION_FONT * 0.56
        width = max(84.0, heading + 2 * SIDE, values + 2 * SIDE, longest + SIDE)
        height = (
            HEAD
            + len(small) * CAPTION
            + len(columns[node["id"]]) * row_height(shapes[node["id"]])
            + PAD
        )
        out[node["id"]] = (float(round(width)), float(height))
    return out
