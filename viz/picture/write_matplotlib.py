"""A display list as artists of matplotlib: the writer behind every PNG, PDF and film."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.viz.layout.measure import MONOSPACE
from minigrad.viz.picture import fonts, mathtext
from minigrad.viz.picture.marks import (
    STYLES,
    Box,
    Disc,
    Mark,
    MarkGroup,
    PathMark,
    Style,
    TextLine,
    colours,
    style_of,
)
from minigrad.viz.reading import plain

SIZES = {
    "value": 12.5, "shape": 9.5, "caption": 9.5, "words": 11, "group-name": 12.5, "number": 10,
    "small": 9, "head": 12.5,
}  # fmt: skip
"""Sizes of letters in matplotlib's own fonts, which are wider than those that browsers have."""
PLOTTED = {name: {**style, "size": SIZES.get(name, style.get("size"))} if name in SIZES else style
           for name, style in STYLES.items()}  # fmt: skip
PLAIN: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "pdf": {"Creator": "minigrad", "Producer": None, "CreationDate": None},
}
"""Metadata of files by form: nothing in them changes from one run to the next."""
PLAIN_NAME = 12.5
"""The size of a heading whose letters mathtext lacks."""
_PIECE = re.compile(r"([MLQClhvz])([^MLQClhvz]*)")
_NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")


class Canvas:
    """Writes marks on axes whose unit is that of the marks, with y downward.

    Args:
        axes: matplotlib axes.
        colours: values of the colours that the styles name; another name, such as "#ff0000", stands
        for itself.
        scale: points of the figure to one unit of the marks: of letters, lines and dashes.
        styles: the roles that the marks play.
        texts: a set that gets every plain text that was written.
    """

    def __init__(
        self,
        axes: Any,
        colours: Mapping[str, str],
        scale: float = 1.0,
        styles: Mapping[str, Style] = PLOTTED,
        texts: set[str] | None = None,
    ):
        self.axes, self.colours, self.scale, self.styles = axes, colours, scale, styles
        self.texts = set() if texts is None else texts
        self._order = 0

    def draw(
        self, marks: Sequence[Mark], opacity: float = 1.0, shift: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        """Write marks over all that was written before."""
        for mark in marks:
            if isinstance(mark, MarkGroup):
                moved = (shift[0] + mark.shift[0], shift[1] + mark.shift[1])
                self.draw(mark.marks, opacity * mark.opacity, moved)
                continue
            style = style_of(mark.role, self.styles)
            style["opacity"] = opacity * style.get("opacity", 1.0)
            self._order += 1
            if isinstance(mark, TextLine):
                self._text(mark, style, shift)
            else:
                self._shape(mark, style, shift)

    def _shape(
        self, mark: Box | PathMark | Disc, style: dict[str, Any], shift: tuple[float, float]
    ) -> None:
        from matplotlib import patches

        x, y = shift
        look = self._look(style)
        if isinstance(mark, PathMark):
            self._put(patches.PathPatch(path_of(mark.path, x, y), **look))
        elif isinstance(mark, Disc):
            self._put(patches.Circle((mark.x + x, mark.y + y), mark.radius, **look))
        elif mark.radius:
            box = f"round,pad=0,rounding_size={mark.radius}"
            corner = (mark.x + x, mark.y + y)
            shape = patches.FancyBboxPatch(
                corner, mark.width, mark.height, boxstyle=box, mutation_aspect=1, **look
            )
            self._put(shape)
        else:
            corner = (mark.x + x, mark.y + y)
            self._put(patches.Rectangle(corner, mark.width, mark.height, **look))

    def _put(self, artist: Any) -> None:
        self.axes.add_artist(artist)

    def _colour(self, name: str) -> str:
        return self.colours.get(name, name)

    def _look(self, style: Mapping[str, Any]) -> dict[str, Any]:
        """A style as arguments of a patch, by their full names: those that are not given by these
        are first set to matplotlib's own. It counts the lengths of dashes in widths of the line.
        """
        width, dash = style.get("width", 1.0), style.get("dash", ())
        drawn = "stroke" in style
        look: dict[str, Any] = {
            "facecolor": self._colour(style.get("fill", "none")),
            "edgecolor": self._colour(style["stroke"]) if drawn else "none",
            "linewidth": width * self.scale if drawn else 0.0,
            "alpha": style["opacity"],
            "zorder": self._order,
        }
        if dash:
            look["linestyle"] = (0, tuple(length / width for length in dash))
        look["capstyle"] = "round" if style.get("round") else "butt"
        return look

    def _text(self, mark: TextLine, style: Mapping[str, Any], shift: tuple[float, float]) -> None:
        size = mark.size or style.get("size", 11.0)
        text, size, font = self._letters(mark, style, size)
        x, y = mark.x + shift[0], mark.y + shift[1]
        look = {
            "color": self._colour(style.get("fill", "ink")), "fontsize": size * self.scale,
            "ha": {"start": "left", "middle": "center", "end": "right"}[mark.anchor],
            "va": "baseline", "alpha": style["opacity"], "zorder": self._order, "clip_on": True,
            "weight": "bold" if style.get("bold") else "normal",
        }  # fmt: skip
        self.axes.text(x, y, text, **look, **font)
        if mark.struck:
            half = mark.space / 2
            self._strike(x - half + 1, x + half - 1, y - 4.5, look)

    def _letters(
        self, mark: TextLine, style: Mapping[str, Any], size: float
    ) -> tuple[str, float, dict[str, Any]]:
        """The text as matplotlib takes it, the size at which it fits, and the font."""
        said = mark.text
        if isinstance(said, mathtext.Tex):
            return f"${said}$", size, {"math_fontfamily": "stix"}
        if not isinstance(said, str):
            tex = mathtext.of_runs(said)
            if mathtext.drawable(tex):
                fit = min(1.0, mark.space / max(mathtext.size(tex, size)[0], 1.0))
                return f"${tex}$", size * fit, {"math_fontfamily": "stix"}
            said, size = plain(said), PLAIN_NAME
        font, bold = style.get("font", "sans"), bool(style.get("bold"))
        if mark.space < float("inf"):
            wide = (
                MONOSPACE * size * len(said)
                if font == "mono"
                else fonts.text_width(said, size, bold)
            )
            size *= min(1.0, mark.space / max(wide, 1.0))
        self.texts.add(said)
        return literal(said), size, {"family": _family(font)}

    def _strike(self, left: float, right: float, y: float, look: Mapping[str, Any]) -> None:
        from matplotlib.lines import Line2D

        line = {key: look[key] for key in ("color", "alpha", "zorder", "clip_on")}
        self._put(Line2D([left, right], [y, y], lw=self.scale, **line))


def _family(font: str) -> list[str]:
    """The installed fonts that write a style's font; "graphviz" is that of Graphviz's pictures."""
    if font == "mono":
        return ["DejaVu Sans Mono"]
    if font == "graphviz":
        named = ("Helvetica", "Arial", "Liberation Sans", "DejaVu Sans")
        return [name for name in named if name in fonts.installed()] + fonts.chinese_fonts()
    return fonts.fonts()


def picture(
    marks: Sequence[Mark],
    styles: Mapping[str, Style],
    size: tuple[float, float],
    form: str,
    dpi: float,
) -> bytes:
    """A display list of this size in points as the bytes of a PNG or PDF file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] / 72, size[1] / 72), dpi=dpi)
    (FigureCanvasPdf if form == "pdf" else FigureCanvasAgg)(figure)
    axes = axes_of(figure, (0, 0, 1, 1), (0, size[0]), (size[1], 0))
    Canvas(axes, colours(), styles=styles).draw(marks)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=form, dpi=dpi, metadata=PLAIN[form])
    return buffer.getvalue()


def axes_of(
    figure: Any,
    frame: tuple[float, float, float, float],
    across: tuple[float, float],
    down: tuple[float, float],
    used: Any = None,
) -> Any:
    """Axes without any decoration at a place of a figure, with these limits. used: such axes, which
    are emptied and taken again: to make axes takes an eighth of the time of a frame.
    """
    if used is not None:
        for artist in [*used.patches, *used.lines, *used.texts]:
            artist.remove()
        used.set(position=frame, xlim=across, ylim=down)
        return used
    axes = figure.add_axes(frame)
    axes.set(xlim=across, ylim=down)
    axes.set_axis_off()
    axes.patch.set_alpha(0)
    return axes


def literal(text: str) -> str:
    """Text that matplotlib does not take for a formula, which two dollars would make of it."""
    return text.replace("$", r"\$")


def path_of(data: str, dx: float = 0.0, dy: float = 0.0) -> Any:
    """SVG path data of the form that `Line` holds, moved by (dx, dy), as a matplotlib Path."""
    from matplotlib.path import Path

    absolute = {"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3, "C": Path.CURVE4}
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    for letter, numbers in _PIECE.findall(data):
        flat = [float(v) for v in _NUMBER.findall(numbers)]
        if letter == "z":
            points.append(points[-1])
            codes.append(Path.CLOSEPOLY)
            continue
        if letter in absolute:
            pairs = [(x + dx, y + dy) for x, y in zip(flat[::2], flat[1::2], strict=True)]
        else:
            x, y = points[-1]
            step = {"h": lambda v: (v[0], 0.0), "v": lambda v: (0.0, v[0])}.get(letter, tuple)(flat)
            pairs = [(x + step[0], y + step[1])]
        points += pairs
        codes += [absolute.get(letter, Path.LINETO)] * len(pairs)
    return Path(points, codes)
