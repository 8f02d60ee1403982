"""The five marks of a display list, the colours, and the table of styles that gives each mark its
look.

A mark says where it is and which role it plays. A role such as "card" or "lit g" is one or several
names of `STYLES`, read from left to right as a stylesheet is: later names replace what earlier ones
say. Coordinates are pixels of the layout, y grows downward, and later marks are painted over
earlier ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from minigrad.viz.bundle import stylesheet
from minigrad.viz.reading import TextRun

from minigrad.trace.value_schema import LEVELS

GHOST = 0.13
"""The opacity of what has not been computed yet."""


class Box(NamedTuple):
    """A rectangle by its upper left corner, its size and the radius of its corners."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    role: str


class PathMark(NamedTuple):
    """A path, open or closed: SVG path data of M, L, Q, C, and of l, h, v and z relative to the
    point before."""

    path: str
    role: str


class Disc(NamedTuple):
    """A circle by its centre and radius."""

    x: float
    y: float
    radius: float
    role: str


class TextLine(NamedTuple):
    """One line of text on a baseline.

    text: plain text, or runs of mathematics. anchor: which end x is, "start", "middle" or "end".
    space: the width that the letters may take; wider text is squeezed. struck: crossed out. size:
    of the letters, where it is not the role's.
    """

    x: float
    y: float
    text: str | Sequence[TextRun]
    role: str
    anchor: str = "start"
    space: float = float("inf")
    struck: bool = False
    size: float = 0.0


class MarkGroup(NamedTuple):
    """Marks that belong together: their title for screen readers, their opacity, and how far they
    are moved."""

    marks: Sequence[Mark]
    title: str = ""
    opacity: float = 1.0
    shift: tuple[float, float] = (0.0, 0.0)


Mark: TypeAlias = Box | PathMark | Disc | TextLine | MarkGroup
Style: TypeAlias = Mapping[str, Any]
"""fill and stroke (names of colours, "none" by default), width, dash, round (the ends of dashes),
opacity; of text font ("math", "mono" or "sans"), size, bold, and halo (the colour behind the
letters)."""

DASH: dict[str, tuple[float, ...]] = {"v": (), "d": (10, 5), "g": (0.1, 6)}
"""Line, dashes and dots of the edges at work, by column."""
STAGE_DASH: tuple[tuple[float, ...], ...] = ((), (7, 3), (2, 3), (9, 3, 2, 3))
"""Dashes of the edges of a derivative's graph, by generation."""


def _column(key: str) -> dict[str, Style]:
    """The styles of one column: v, d or g."""
    return {
        f"written-{key}": {"fill": f"{key}-tint", "stroke": key, "width": 3.4, "dash": ()},
        f"read-{key}": {"stroke": key, "width": 2.2, "dash": (6, 4)},
        f"again-{key}": {"stroke": key, "width": 1.6},
        f"lit-{key}": {"stroke": key, "width": 3, "dash": DASH[key], "round": key == "g"},
        f"tip-{key}": {"fill": key},
        f"ring-{key}": {"stroke": key, "width": 1.4},
        f"accent-{key}": {"stroke": key, "width": 1.3},
        f"dot-{key}": {"fill": key},
        f"frame-{key}": {"fill": "surface", "stroke": key, "width": 1.2},
        f"lead-{key}": {"stroke": key, "width": 1},
        f"{key}": {"fill": key},
    }


def _stage(k: int) -> dict[str, Style]:
    """The styles of one generation of derivatives."""
    return {
        f"card-{k}": {"fill": f"b{k}-tint", "stroke": f"b{k}"},
        f"sample-{k}": {"fill": f"b{k}-tint", "stroke": f"b{k}", "dash": STAGE_DASH[k]},
        f"stripe-{k}": {"stroke": f"b{k}", "width": 2},
        f"edge-{k}": {"stroke": f"b{k}", "dash": STAGE_DASH[k]},
        f"tip-{k}": {"fill": f"b{k}"},
    }


STYLES: dict[str, Style] = {
    "surface": {"fill": "surface"},
    "card": {"fill": "raised", "stroke": "wire", "width": 1.4},
    "input": {"stroke": "ink", "width": 1.6},
    "output": {"stroke": "ink", "width": 2.8},
    "failed": {"fill": "bad-tint", "stroke": "bad", "width": 2.6},
    "quiet": {"stroke": "line", "width": 1.4},
    "not-finite": {"stroke": "bad"},
    "pile": {"fill": "sunken", "stroke": "ink", "width": 1},
    "top": {"stroke": "ink", "width": 1.6},
    "sample": {"width": 1.6},
    "edge": {"stroke": "wire", "width": 1.5},
    "tip": {"fill": "wire"},
    "rule": {"stroke": "line", "width": 1},
    "hatch": {"stroke": "wire", "width": 1.2, "opacity": 0.55},
    "kept": {"fill": "ink", "stroke": "ink", "width": 1},
    "gone": {"fill": "raised", "stroke": "ink", "width": 1},
    "entry": {"fill": "raised", "stroke": "wire", "width": 1},
    "new": {"fill": "v-tint", "stroke": "v"},
    **{name: style for k in (1, 2, 3) for name, style in _stage(k).items()},
    "name": {"font": "math", "size": 16, "fill": "ink"},
    "head": {"font": "math", "size": 16, "fill": "soft"},
    "group-name": {"font": "sans", "size": 14, "bold": True, "fill": "ink"},
    "caption": {"font": "sans", "size": 10.5, "fill": "soft"},
    "words": {"font": "sans", "size": 12, "fill": "soft"},
    "value": {"font": "mono", "size": 13, "fill": "ink"},
    "shape": {"font": "mono", "size": 10.5, "fill": "soft", "halo": "surface"},
    "number": {"font": "sans", "size": 11, "bold": True},
    "small": {"size": 10},
    "bold": {"bold": True},
    **{name: style for key in "vdg" for name, style in _column(key).items()},
    "unlike-value": {"fill": "bad"},
    "quiet-value": {"fill": "soft"},
    **{f"h{level}": {"fill": f"h{level}"} for level in range(len(LEVELS))},
}
"""What each role looks like. The order matters where a mark has several: what stands later wins."""


def style_of(role: str, styles: Mapping[str, Style] = STYLES) -> dict[str, Any]:
    """The style of a role of one or several names."""
    return {key: value for name in role.split() for key, value in styles[name].items()}


@cache
def palette() -> dict[str, tuple[str, str]]:
    """The stylesheet's colours as ``{name: (light, dark)}``."""
    found = re.findall(
        r"--mg-([\w-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)", stylesheet()
    )
    return {name: (light, dark) for name, light, dark in found}


@cache
def colours(dark: bool = False) -> dict[str, str]:
    """The colours of one side by name, with those of the levels of a heat map, "h0" to "h16"."""
    found = {name: pair[dark] for name, pair in palette().items()}
    for level in range(len(LEVELS)):
        end = found["minus"] if level < 8 else found["plus"]
        found[f"h{level}"] = blend(found["zero"], end, abs(level - 8) / 8)
    return found


def blend(a: str, b: str, share: float) -> str:
    """The colour at a share of the distance from a to b."""
    channels = [(int(a[i : i + 2], 16), int(b[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(p + share * (q - p)):02x}" for p, q in channels)
