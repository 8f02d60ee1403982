"""A Graphviz drawing as PNG or PDF without a Graphviz program: its drawing instructions, carried out by matplotlib.

After reading this file you know what Graphviz says in its format ``xdot``: for every node, edge and cluster a line of instructions in a
small language (pen and fill colours, styles, polygons, curves, texts), with y growing upwards. See
https://graphviz.org/docs/outputs/canon/#xdot.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Iterator
from typing import Any

from minigrad.viz.export import frame
from minigrad.viz.layout.measure import is_wide

PIXELS_PER_INCH = 144
LARGEST = 20_000
"""Pixels on a side; beyond, a PNG would take gigabytes."""


def paint(xdot: str, form: str) -> bytes:
    """The picture that an xdot text describes, as the bytes of a PNG or PDF file.

    Raises:
        ValueError: the text has no size, a PNG of it would be too large, or no font here has its Chinese letters.
        ModuleNotFoundError: matplotlib is not installed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.figure import Figure

    xdot = xdot.replace("\\\n", "")
    if any(map(is_wide, xdot)) and not frame.chinese_fonts():
        what = f"the names and words of this drawing cannot be painted as a .{form}"
        raise ValueError(f"paint: {frame.no_letters(what, 'an .svg or .dot: they take')}")
    size = re.search(r'\bbb="([^"]+)"', xdot)
    if size is None:
        raise ValueError("paint: the text is not a drawing in Graphviz's format xdot: it has no bounding box")
    left, bottom, right, top = (float(v) for v in size[1].split(","))
    pad = 6.0
    wide, high = right - left + 2 * pad, top - bottom + 2 * pad
    if form == "png" and max(wide, high) * PIXELS_PER_INCH / 72 > LARGEST:
        raise ValueError(
            f"paint: a PNG of this graph would be {wide:.0f}×{high:.0f} points large; write an .svg or .pdf, which have no pixels"
        )
    figure = Figure(figsize=(wide / 72, high / 72), dpi=PIXELS_PER_INCH)
    (FigureCanvasPdf if form == "pdf" else FigureCanvasAgg)(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(left - pad, right + pad), ylim=(bottom - pad, top + pad))
    axes.set_axis_off()
    for order, line in enumerate(re.findall(r'\b_(?:h|t|l|hl|tl)?draw_="((?:[^"\\]|\\.)*)"', xdot)):
        _Painter(axes, order).run(line.replace('\\"', '"'))
    buffer = io.BytesIO()
    plain = {"Software": None} if form == "png" else {"Creator": "minigrad", "Producer": None, "CreationDate": None}
    figure.savefig(buffer, format=form, dpi=PIXELS_PER_INCH, metadata=plain)
    return buffer.getvalue()


class _Painter:
    """Carries out one line of instructions; pen, fill and style hold until the line ends."""

    def __init__(self, axes: Any, order: int):
        self.axes, self.order = axes, order
        self.pen, self.fill, self.width, self.dash, self.font = "#000000", "none", 1.0, "-", 11.0

    def run(self, line: str) -> None:
        words = _Reader(line)
        for letter in words.letters():
            if letter == "c":
                self.pen = _colour(words.text())
            elif letter == "C":
                self.fill = _colour(words.text())
            elif letter == "F":
                self.font = words.number()
                words.text()
            elif letter == "t":
                words.number()
            elif letter == "S":
                self._style(words.text())
            elif letter in "PpLBb":
                self._shape(letter, words.points())
            elif letter in "Ee":
                x, y, w, h = (words.number() for _ in range(4))
                self._ellipse(letter, x, y, w, h)
            elif letter == "T":
                x, y, align, _width = (words.number() for _ in range(4))
                self._text(x, y, align, words.text())

    def _style(self, style: str) -> None:
        if style.startswith("setlinewidth("):
            self.width = float(style.removeprefix("setlinewidth(").removesuffix(")"))
        elif style in ("dashed", "dotted", "solid"):
            self.dash = {"dashed": "--", "dotted": ":", "solid": "-"}[style]

    def _shape(self, letter: str, points: list[tuple[float, float]]) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        step = Path.CURVE4 if letter in "Bb" else Path.LINETO
        codes = [Path.MOVETO] + [step] * (len(points) - 1)
        if letter in "Pp":
            points, codes = [*points, points[0]], [*codes, Path.CLOSEPOLY]
        self.axes.add_patch(PathPatch(Path(points, codes), **self._look(letter in "Pb")))

    def _ellipse(self, letter: str, x: float, y: float, w: float, h: float) -> None:
        from matplotlib.patches import Ellipse

        self.axes.add_patch(Ellipse((x, y), 2 * w, 2 * h, **self._look(letter == "E")))

    def _text(self, x: float, y: float, align: float, text: str) -> None:
        side = {-1: "left", 0: "center", 1: "right"}[int(align)]
        size = self.font * 0.95  # room for letters that are wider than those that Graphviz reckons with
        fonts = [name for name in ("Helvetica", "Arial", "Liberation Sans", "DejaVu Sans") if name in _installed()]
        fonts += frame.chinese_fonts()
        text = text.replace("$", r"\$")
        self.axes.text(x, y, text, ha=side, va="baseline", color=self.pen, fontsize=size, zorder=self.order + 0.5, family=fonts)

    def _look(self, filled: bool) -> dict[str, Any]:
        return {"fc": self.fill if filled else "none", "ec": self.pen, "lw": self.width, "ls": self.dash, "zorder": self.order}


class _Reader:
    """Reads the words of a line of instructions; a text is its length in bytes, a dash, and so many bytes."""

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


def _colour(text: str) -> str:
    return text if re.fullmatch(r"#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{8})", text) else {"transparent": "none"}.get(text, text)


@functools.cache
def _installed() -> frozenset[str]:
    from matplotlib.font_manager import fontManager

    return frozenset(font.name for font in fontManager.ttflist)
