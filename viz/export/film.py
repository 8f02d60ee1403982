"""Frames to files: a still, a film, and a film strip for paper.

Each format has its use. A WebP or GIF plays in a README, a slide or a chat; its frames are drawn
one at a time, so a long film needs the memory of a few. A PDF is drawn, not painted: it stays sharp
at any size, one frame on a page of its own size or several frames under one another on paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from minigrad.viz.export.frame import Film
from minigrad.viz.picture.marks import blend
from minigrad.viz.picture.write_matplotlib import PLAIN

PAPER = {"a4": (595.0, 842.0), "letter": (612.0, 792.0)}
"""Sizes of a page in points."""
PAPER_MARGIN = 36.0
LEGIBLE = 0.3
"""On paper a frame may be so much smaller than the page's drawing: its numbers are then 4 points
high, and sharp.
"""
APART = 6
"""Colours nearer than that are one: Pillow looks for the nearest in steps of four, and would
take an off-white for white.
"""
SHADES = 8
"""So many steps from an ink to its ground: the edges of lines and letters."""


def still(scene: Film, at: int, path: Path, form: str, dpi: float) -> None:
    """One frame as PNG (``dpi`` pixels to 72 units of the layout) or PDF."""
    figure = scene.figure(dpi)
    _canvas(figure, form)
    scene.draw(figure, at)
    figure.savefig(path, format=form, dpi=dpi, metadata=PLAIN[form])


def _canvas(figure: Any, form: str = "png") -> None:
    """Ties the figure to a drawing area that needs no window, whatever backend the user has
    chosen for theirs.
    """
    if form == "pdf":
        from matplotlib.backends.backend_pdf import FigureCanvasPdf

        FigureCanvasPdf(figure)
    else:
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        FigureCanvasAgg(figure)


def images(scene: Film, numbers: Iterable[int], pixels: tuple[int, int]) -> Iterator[Any]:
    """The frames as Pillow images of one size, one at a time."""
    from PIL import Image

    dpi = 72 * pixels[0] / scene.width
    figure = scene.figure(dpi)
    _canvas(figure)
    for at in numbers:
        scene.draw(figure, at)
        figure.canvas.draw()
        image = Image.frombuffer(
            "RGBA",
            figure.canvas.get_width_height(),
            bytes(figure.canvas.buffer_rgba()),
            "raw",
            "RGBA",
            0,
            1,
        )
        image = image.convert("RGB")
        # a pixel more or less, where the size is not a whole number
        yield (image if image.size == pixels else image.resize(pixels))


def webp(
    scene: Film,
    numbers: Sequence[int],
    path: Path,
    pixels: tuple[int, int],
    durations: list[int],
    show: Any,
) -> None:
    """An animated WebP, lossless: lines and letters stay clean, and such pictures are smaller
    than a lossy film of them.
    """
    frames = images(scene, show(numbers), pixels)
    first = next(frames)
    first.save(
        path,
        format="WEBP",
        save_all=True,
        append_images=frames,
        duration=durations,
        loop=0,
        lossless=True,
        quality=60,
        method=3,
    )


def gif(
    scene: Film,
    numbers: Sequence[int],
    path: Path,
    pixels: tuple[int, int],
    durations: list[int],
    show: Any,
) -> None:
    """An animated GIF. All frames share one table of colours: without that, colours would
    flicker and files would grow.
    """
    from PIL import Image

    table = colours(scene)
    palette = Image.new("P", (1, 1))
    palette.putpalette(
        [part for colour in table for part in colour] + list(table[0]) * (256 - len(table))
    )
    frames = (
        image.quantize(palette=palette, dither=Image.Dither.NONE)
        for image in images(scene, show(numbers), pixels)
    )
    first = next(frames)
    with path.open("wb") as file:  # Pillow leaves a file of its own open where a frame fails
        first.save(
            file,
            format="GIF",
            save_all=True,
            append_images=frames,
            duration=durations,
            loop=0,
            optimize=False,
            disposal=1,
        )


def colours(scene: Film) -> list[tuple[int, int, int]]:
    """At most 256 colours: what a scene is drawn in, and on the way from each ink to its ground
    the shades of its edges.
    """
    pot = scene.colour
    grounds = [
        "surface",
        "raised",
        "sunken",
        *(f"{key}-tint" for key in ("v", "d", "g", "b1", "b2", "b3")),
    ]
    found = [pot[name] for name in grounds]
    inks = [
        "ink",
        "soft",
        "wire",
        "line",
        "v",
        "d",
        "g",
        *(f"b{look.stage}" for look in scene.legend if look.stage),
    ]
    for name in inks:
        found += [blend(pot["surface"], pot[name], k / SHADES) for k in range(1, SHADES + 1)]
    for key in (
        "v",
        "d",
        "g",
    ):  # the pass's own colour and plain ink on what a step writes; light letters on a chip
        found += [
            blend(pot[f"{key}-tint"], pot[name], k / 4) for name in (key, "ink") for k in (1, 2, 3)
        ]
        found += [blend(pot[key], pot["on"], k / 4) for k in (1, 2, 3, 4)]
    for end in ("minus", "plus"):
        found += [blend(pot["zero"], pot[end], k / 8) for k in range(9)]
    for look in scene.legend:
        if look.stage:  # numbers and names on the cards of further derivatives
            found += [
                blend(pot[f"b{look.stage}-tint"], pot[name], k / 4)
                for name in ("ink", "v", "d", "g", f"b{look.stage}")
                for k in (1, 2, 3)
            ]
    kept: list[tuple[int, int, int]] = []
    for c in found:
        new = (int(c[1:3], 16), int(c[3:5], 16), int(c[5:7], 16))
        if all(max(abs(a - b) for a, b in zip(new, old, strict=True)) >= APART for old in kept):
            kept.append(new)
    return kept[:256]


def strip(
    scene: Film, numbers: Sequence[int], path: Path, paper: str, per_page: int | None, show: Any
) -> None:
    """A film strip: frames beside and under one another on each page of a PDF, ``per_page`` of
    them or as many as stay legible.
    """
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    wide, high = PAPER[paper]
    columns, rows = _grid(per_page, scene, wide - 2 * PAPER_MARGIN, high - 2 * PAPER_MARGIN)
    per_page = columns * rows if per_page is None else per_page
    cell = ((wide - 2 * PAPER_MARGIN) / columns, (high - 2 * PAPER_MARGIN) / rows)
    count = -(-len(numbers) // per_page)
    told = iter(show(numbers))
    with PdfPages(path, metadata=PLAIN["pdf"]) as pages:
        for page in range(count):
            figure = Figure(figsize=(wide / 72, high / 72), facecolor=scene.colour["surface"])
            _canvas(figure, "pdf")
            for i, at in enumerate(islice(told, per_page)):
                place = _place(scene, (wide, high), cell, i % columns, i // columns)
                scene.draw(figure, at, within=place)
                figure.add_artist(
                    Rectangle(place[:2], *place[2:], fill=False, ec=scene.colour["line"], lw=0.5)
                )
            number = f"{page + 1} / {count}"
            figure.text(
                0.5,
                14 / high,
                number,
                color=scene.colour["soft"],
                fontsize=7,
                ha="center",
                family="DejaVu Sans",
            )
            pages.savefig(figure)
        next(told, None)  # the progress bar closes


def _place(
    scene: Film, paper: tuple[float, float], cell: tuple[float, float], column: int, row: int
) -> tuple[float, float, float, float]:
    """A frame's place in its cell of the paper, centred, as parts of the page."""
    scale = min((cell[0] - 12) / scene.width, (cell[1] - 12) / scene.height)
    wide, high = scene.width * scale, scene.height * scale
    left = PAPER_MARGIN + cell[0] * column + (cell[0] - wide) / 2
    top = PAPER_MARGIN + cell[1] * row + (cell[1] - high) / 2
    return left / paper[0], 1 - (top + high) / paper[1], wide / paper[0], high / paper[1]


def _grid(count: int | None, scene: Film, wide: float, high: float) -> tuple[int, int]:
    """Columns and rows: for ``count`` frames as large as they can be, or else for as many as fit
    at LEGIBLE or more.
    """
    aspect = scene.width / scene.height
    if count is None:
        columns = max(1, int(wide / (scene.width * LEGIBLE)))
        return columns, max(1, int(high / (wide / columns / aspect)))
    fits = lambda columns: min(wide / columns, high / -(-count // columns) * aspect)
    columns = max(range(1, count + 1), key=fits)
    return columns, -(-count // columns)
