"""Graphviz's drawing instructions as a display list, so that a picture needs no Graphviz program.

Graphviz writes in its format ``xdot``, for every node, edge and cluster, a line of instructions in
a small language (pen and fill colours, styles, polygons, curves, texts), with y growing upward. See
https://graphviz.org/docs/outputs/canon/#xdot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from minigrad.viz.picture.marks import STYLES, Box, Mark, PathMark, Style, TextLine, palette

PAD = 6.0
"""Around the picture, in points."""
KAPPA = 0.5523
"""How far the control points of a quarter of a circle are from its ends, in radii."""


class DisplayList(NamedTuple):
    """A display list, the styles that it uses, and its size in points."""

    marks: list[Mark]
    styles: dict[str, Style]
    width: float
    height: float


def read(xdot: str) -> DisplayList:
    """The picture that an xdot text describes. Raises ValueError for a text without a bounding
    box."""
    xdot = xdot.replace("\\\n", "")
    size = re.search(r'\bbb="([^"]+)"', xdot)
    if size is None:
        raise ValueError(
            "paint: the text is not a drawing in Graphviz's format xdot: it has no bounding box"
        )
    left, bottom, right, top = (float(v) for v in size[1].split(","))
    marks: list[Mark] = []
    styles: dict[str, Style] = {}
    known = _colours(xdot)
    wide, high = right - left + 2 * PAD, top - bottom + 2 * PAD
    for line in re.findall(r'\b_(?:h|t|l|hl|tl)?draw_="((?:[^"\\]|\\.)*)"', xdot):
        pen = _Pen(styles, known, PAD - left, top + PAD)
        marks += pen.run(re.sub(r'\\(["\\])', r"\1", line))
        if known and "surface" not in styles:  # the first line drew the ground
            marks, styles["surface"] = [Box(0, 0, wide, high, 0, "surface")], STYLES["surface"]
    return DisplayList(marks, styles, wide, high)


def _colours(xdot: str) -> dict[str, str]:
    """The stylesheet's names of the colours of a drawing in its colours, so that the picture has
    dark ones too; none for a drawing in other colours."""
    names = palette()
    if names["ink"][0] not in xdot:
        return {}
    found = {light: name for name, (light, _) in reversed(names.items())}
    return {**found, names["raised"][0]: "raised"}


class _Pen:
    """Carries out one line of instructions; pen, fill and style hold until the line ends."""

    def __init__(self, styles: dict[str, Style], known: dict[str, str], right: float, down: float):
        self.styles, self.known, self.right, self.down = styles, known, right, down
        self.stroke, self.fill, self.width, self.font = "#000000", "none", 1.0, 11.0
        self.dash: tuple[float, ...] = ()

    def run(self, line: str) -> Iterator[Mark]:
        """The marks of the line."""
        words = _Reader(line)
        for letter in words.letters():
            if letter == "c":
                self.stroke = self._colour(words.text())
            elif letter == "C":
                self.fill = self._colour(words.text())
            elif letter == "F":
                self.font = words.number()
                words.text()
            elif letter == "t":
                words.number()
            elif letter == "S":
                self._style(words.text())
            elif letter in "PpLBb":
                yield self._shape(letter, words.points())
            elif letter in "Ee":
                yield self._ellipse(letter == "E", *(words.number() for _ in range(4)))
            elif letter == "T":
                x, y, align, width = (words.number() for _ in range(4))
                yield self._text(x, y, int(align), width, words.text())

    def _colour(self, text: str) -> str:
        if text == "transparent":
            return "none"
        return self.known.get(text, text)

    def _style(self, style: str) -> None:
        if style.startswith("setlinewidth("):
            self.width = float(style.removeprefix("setlinewidth(").removesuffix(")"))
        elif style in ("dashed", "dotted", "solid"):
            self.dash = {"dashed": (3.7, 1.6), "dotted": (1.0, 1.65), "solid": ()}[style]

    def _at(self, point: tuple[float, float]) -> str:
        return f"{point[0] + self.right:g} {self.down - point[1]:g}"

    def _shape(self, letter: str, points: list[tuple[float, float]]) -> PathMark:
        """A polygon (P, p), a line (L) or a B-spline (B, b); P and b are filled."""
        first, *rest = map(self._at, points)
        kind = "C" if letter in "Bb" else "L"
        path = f"M{first}{kind}{(' ' if kind == 'C' else 'L').join(rest)}"
        return PathMark(path + ("z" if letter in "Pp" else ""), self._role(letter in "Pb"))

    def _ellipse(self, filled: bool, x: float, y: float, w: float, h: float) -> PathMark:
        ring, corners = [(x + w, y)], [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 0)]
        for (a, b), (c, d) in pairwise(corners):  # a quarter each
            quarter = ((a - KAPPA * b, b + KAPPA * a), (c + KAPPA * d, d - KAPPA * c), (c, d))
            ring += [(x + w * u, y + h * v) for u, v in quarter]
        return self._shape("b" if filled else "B", ring)

    def _text(self, x: float, y: float, align: int, width: float, text: str) -> TextLine:
        """A text, as wide as Graphviz takes it to be: the fonts here may be wider."""
        anchor = {-1: "start", 0: "middle", 1: "end"}[align]
        role = self._known({"font": "graphviz", "fill": self.stroke, "size": self.font})
        return TextLine(x + self.right, self.down - y, text, role, anchor, space=width)

    def _role(self, filled: bool) -> str:
        dash = tuple(length * self.width for length in self.dash)
        look: dict[str, Any] = {"stroke": self.stroke, "width": self.width, "dash": dash}
        return self._known(look | ({"fill": self.fill} if filled else {}))

    def _known(self, style: Style) -> str:
        """The name of a style, which says all of it: several pictures share a page."""
        said = "-".join(f"{key}-{value}" for key, value in sorted(style.items()))
        name = re.sub(r"[^\w-]+", "_", said)
        self.styles[name] = style
        return name


class _Reader:
    """Reads the words of a line of instructions; a text is its length in bytes, a dash, and so many
    bytes."""

    def __init__(self, line: str):
        self.data, self.at = line.encode(), 0

    def letters(self) -> Iterator[str]:
        while word := self._word():
            yield word

    def _word(self) -> str:
        while self.data[self.at : self.at + 1].isspace():
            self.at += 1
        start = self.at
        while self.at < len(self.data) and not self.data[self.at : self.at + 1].isspace():
            self.at += 1
        return self.data[start : self.at].decode()

    def number(self) -> float:
        return float(self._word())

    def points(self) -> list[tuple[float, float]]:
        return [(self.number(), self.number()) for _ in range(int(self.number()))]

    def text(self) -> str:
        length = int(self.number())
        start = self.data.index(b"-", self.at) + 1
        self.at = start + length
        return self.data[start : self.at].decode(errors="replace")
