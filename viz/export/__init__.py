"""``viz.save``: a Trace as a file, in the format that the file's ending names.

    viz.save(trace, "steps.html")                       the stepper as one page
    viz.save(trace, "frame.svg", step=12)               one frame; also .png and .pdf
    viz.save(trace, "film.webp", fps=2)                 every step as a film; also .gif
    viz.save(trace, "strip.pdf", steps="all")           every step on paper, several to a page
    viz.save(trace, "table.txt")                        the evaluation trace as text

A film is refused if the frames of its graph would be illegible, or if there would be too many of
them to watch. The message then says what to do instead. Files are written whole or not at all.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from minigrad.viz import scale
from minigrad.viz.export.files import whole
from minigrad.viz.export.film import PAPER
from minigrad.viz.grouping import grouped_at
from minigrad.viz.page import to_html
from minigrad.viz.picture.sizes import pixels_of
from minigrad.viz.reading import check
from minigrad.viz.speech import spoken, table_words, titled
from minigrad.viz.svg import to_svg
from minigrad.viz.texts import Words, words

from minigrad.trace.schema import to_json
from minigrad.trace.text import table

FORMATS = {
    "html": "the stepper as one page",
    "svg": "one frame, drawn without matplotlib",
    "png": "one frame",
    "pdf": "one frame, or with steps= a film strip for paper",
    "webp": "a film",
    "gif": "a film",
    "txt": "the evaluation trace as text",
    "json": "the Trace itself",
}
FILMS = ("webp", "gif")
MANY = 20
"""More frames than that take so long that the progress is shown."""
MOST_NODES = 2_000
MOST_FRAMES = 1_500
MOST_PIXELS = 40_000_000
"""A frame of so many pixels takes 160 MB while it is drawn."""
FILM_SPACE = (1850.0, 1050.0)
"""A film of its own size is at most so many pixels large; of larger graphs it shows the part
around the active node.
"""
HOLD = 3.0
"""The last frame of a film stays so many times as long as the others."""


def save(
    trace: Mapping[str, Any],
    path: str | os.PathLike[str],
    *,
    step: int | None = None,
    steps: Any = None,
    size: str | tuple[int, int] | None = None,
    dpi: float = 144.0,
    fps: float = 1.5,
    dark: bool | None = False,
    title: str | None = None,
    per_page: int | None = None,
    paper: str = "a4",
    progress: bool | Callable[[Iterable[int]], Iterable[int]] | None = None,
    lang: str = "en",
    views: Sequence[str] = (),
    groups: str = "auto",
) -> Path:
    """Write a Trace to ``path``; the ending decides the format (see FORMATS).

    Args:
        trace: a ``minigrad.trace/1`` document. :func:`minigrad.viz.save` also takes what shows
            one (of ``viz.show`` and its like), with its own ``save``, and a training's History,
            with ``title``, ``lang``, ``dpi`` and ``dark``.
        path: the file to write; an existing one is replaced when the new one is complete.
        step: the state that a still shows, and at which a page opens: 0 (nothing computed) to the
            number of steps. Default: after the last step for stills and text, 0 for a page.
        steps: the states of a film or strip: ``"all"``, a range such as ``(3, 9)`` or ``"3-9"``
        (both ends included), or a list.
            Default for films: all. A PDF becomes a strip when this is given.
        size: of stills and films: ``"16:9"``, ``"4:3"``, ``"1:1"``, ``"small"``, ``"hd"``, or
            (width, height) in pixels. Default: the graph's own. A graph too large for it is shown
            in part, around the active node; an .svg, which can be enlarged, shows all of it.
        dpi: pixels to 72 units of the layout, where no size is given: 72 is the page's size, 144
            (the default) is right for sharp screens. Films use at most 96, and all PDFs are
            drawings that have no pixels.
        fps: steps a second of a film; the last one stays longer.
        dark: dark colours, as on the page in dark surroundings (of stills and films; a page follows
        its reader's preference, and so does an .svg with ``dark=None``).
        title: in place of the Trace's own.
        per_page: frames on each page of a strip, 1 to 24; default: as many as stay legible.
        paper: ``"a4"`` or ``"letter"``, for a strip.
        progress: show a progress bar (needs tqdm); by default for films and strips of more than 20
            frames. Or a function that wraps the frames' numbers and tells by itself.
        lang: the language of the words, "en" or "zh"; of everything but the Trace itself (.json).
        The Trace's title stays as it is.
        views: of a page: the further views that are open at first
        (:data:`minigrad.viz.page.VIEWS`).
        groups: in pictures, Modules and stretches of a large graph as single boxes where the viewer
            shows them so at first (``"auto"``), ``"open"``: every node, or ``"closed"``: the fewest
            boxes.

    Returns:
        The path written.

    Raises:
        minigrad.viz.reading.TraceError: the document is not a Trace.
        ValueError: an unknown ending, size, step or option; a graph or film too large; Chinese in a
            format that matplotlib draws where no font has the letters (the message says what to
            do).
        ModuleNotFoundError: the format needs matplotlib, which is not installed.
        OSError: the file cannot be written.
    """
    check(trace)
    form = suffix(path)
    t, last = words(lang), len(trace["steps"])
    _refuse(form, step, steps, last, views, t)
    named = {**trace, "title": title} if title is not None else trace
    if form in ("html", "svg", "txt", "json"):
        text = (
            to_html(named, step=step or 0, lang=lang, views=views)
            if form == "html"
            else _text(named, form, step, groups, lang, size, dark)
        )
        with whole(path) as place:
            place.write_text(text, encoding="utf-8", newline="\n")
        return Path(path)
    _need_matplotlib(form)
    from minigrad.viz.picture.fonts import need_letters

    if scale.too_large(trace):
        raise scale.TooLarge("save: " + scale.as_text(scale.overview(named), lang))
    many = form in FILMS or steps is not None
    numbers = states(steps, last) if many else [last if step is None else step]
    drawn = grouped_at(spoken(named, t), groups, t, numbers if many else [step])
    for document in {id(one): one for one in drawn}.values():
        _not_too_many_nodes(document)
    need_letters(t, form)
    if len(numbers) > MOST_FRAMES:
        raise ValueError(
            f"save: {len(numbers):,} frames are more than anybody watches (the limit is"
            f' {MOST_FRAMES:,}). Choose some, for example steps="4-90", or save an .html page,'
            " which steps through all of them."
        )
    wanted = len(numbers) > MANY if progress is None else progress
    show = wanted if callable(wanted) else progress_bar(wanted, Path(path).name)
    _paint(
        drawn, Path(path), form, numbers, many, size, dpi, fps, dark, per_page, paper, lang, show
    )
    return Path(path)


def _refuse(
    form: str, step: int | None, steps: Any, last: int, views: Sequence[str], t: Words
) -> None:
    """Raises ValueError for options that do not go with one another, or with the format."""
    if step is not None and steps is not None:
        raise ValueError("save: step= is for one frame and steps= for several; give one of them")
    if steps is not None and form not in (*FILMS, "pdf"):
        raise ValueError(
            f"save: .{form} holds one state, so steps= has no meaning; give step=, or write a"
            " .webp, .gif or .pdf"
        )
    if step is not None and form in FILMS:
        raise ValueError(
            f"save: .{form} is a film; for one frame give the file the ending .png, .svg or .pdf,"
            " or give steps="
        )
    if step is not None and not (isinstance(step, int) and 0 <= step <= last):
        raise ValueError(f"save: step {step} does not exist; this Trace has the states 0 to {last}")
    if form != "html" and views:
        raise ValueError(f"save: views= are for pages; .{form} has none")
    if form == "json" and t.foreign:
        raise ValueError(
            "save: a .json is the Trace itself, whose sentences are English; lang= is for what is"
            " drawn or written from it"
        )


def _paint(
    drawn: list[Mapping[str, Any]], path: Path, form: str, numbers: list[int], many: bool,
    size: Any, dpi: float, fps: float, dark: bool | None,
    per_page: int | None, paper: str, lang: str, show: Callable[[Iterable[int]], Iterable[int]],
) -> None:  # fmt: skip
    from minigrad.viz.export import film
    from minigrad.viz.export.frame import READABLE, Film
    from minigrad.viz.picture.fonts import warn_of_boxes

    pixels = pixels_of(size)
    _positive("dpi", dpi)
    _positive("fps", fps)
    if form == "pdf" and many:
        if paper not in PAPER:
            raise ValueError(f"save: unknown paper {paper!r}; choose one of {', '.join(PAPER)}")
        if per_page is not None and not (isinstance(per_page, int) and 1 <= per_page <= 24):
            raise ValueError(
                f"save: per_page must be a whole number from 1 to 24, got {per_page!r}"
            )
    aspect = pixels[0] / pixels[1] if pixels else None
    space: tuple[float, float] | None = None
    if pixels and form != "pdf":
        space = (pixels[0] / READABLE - 44, pixels[1] / READABLE - 200)
    elif many:
        space = FILM_SPACE
    if pixels and space and space[1] < 120:
        raise ValueError(
            f"save: a picture of {pixels[0]}×{pixels[1]} pixels has no space for a graph; at least"
            " 400×300 has"
        )
    scene = Film(drawn, numbers, aspect=aspect, space=space, dark=bool(dark), lang=lang)
    if form in FILMS:
        dpi = min(dpi, 96.0, 72 * max(1.0, FILM_SPACE[0] / scene.width))
    if pixels is None:
        pixels = (round(scene.width * dpi / 72), round(scene.height * dpi / 72))
    if form != "pdf" and pixels[0] * pixels[1] > MOST_PIXELS:
        raise ValueError(
            f"save: this graph's picture would have {pixels[0]:,}×{pixels[1]:,} pixels. Give"
            ' size="1920x1080", which shows the part around the step\'s node, give a smaller'
            " dpi=, or save an .svg or .html."
        )
    if not many and scene.follows:
        warnings.warn(
            f"save: the graph is larger than {pixels[0]}×{pixels[1]} pixels can show legibly, so"
            f" the picture shows the part around step {numbers[0]}; give a larger size=, or none.",
            stacklevel=3,
        )
    rest = round(1000 / fps)
    durations = [rest] * (len(numbers) - 1) + [round(rest * HOLD)]
    with whole(path) as place, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # said below, once
        if form == "webp":
            film.webp(scene, numbers, place, pixels, durations, show)
        elif form == "gif":
            film.gif(scene, numbers, place, pixels, durations, show)
        elif many:
            film.strip(scene, numbers, place, paper, per_page, show)
        else:
            film.still(scene, numbers[0], place, form, 72 * pixels[0] / scene.width)
    warn_of_boxes(scene.written)


def suffix(path: str | os.PathLike[str]) -> str:
    """The format that a path's ending names. Raises ValueError, with the known ones, for another
    or none.
    """
    form = Path(path).suffix.lower().removeprefix(".")
    form = {"htm": "html", "text": "txt"}.get(form, form)
    if form not in FORMATS:
        known = ", ".join(f".{name} ({what})" for name, what in FORMATS.items())
        wrong = (
            f"there is no format {Path(path).suffix!r}"
            if form
            else f"{os.fspath(path)!r} has no ending"
        )
        raise ValueError(f"save: {wrong}; the endings are {known}")
    return form


def states(steps: Any, last: int) -> list[int]:
    """The states that a choice of steps names: ``None`` or ``"all"``, ``"3-9"``, ``(3, 9)``, a
    range, or a list of whole numbers.
    """
    if steps is None or steps == "all":
        return list(range(last + 1))
    if isinstance(steps, str):
        first, dash, end = steps.partition("-")
        if not first.strip().isdigit() or (dash and not end.strip().isdigit()):
            raise ValueError(
                f'save: steps={steps!r} is not a range of steps; write steps="3-9" or steps="all"'
            )
        steps = (int(first), int(end or first))
        if steps[0] > steps[1]:
            raise ValueError(
                f'save: steps "{first}-{end}" run backwards; write the smaller number first:'
                f' "{end}-{first}"'
            )
    if isinstance(steps, tuple):
        if len(steps) != 2 or not all(isinstance(n, int) for n in steps) or steps[0] > steps[1]:
            raise ValueError(
                f"save: steps={steps!r} is not a range; a tuple names the first and the last step,"
                " for example (3, 9)"
            )
        chosen = (
            list(range(steps[0], steps[1] + 1))
            if steps[0] >= 0 and steps[1] <= last
            else list(steps)
        )
    elif isinstance(steps, Sequence | range) and all(isinstance(n, int) for n in steps):
        chosen = list(steps)
    else:
        raise ValueError(
            f'save: steps={steps!r} names no steps; write steps="3-9", steps=(3, 9), a list, or'
            ' steps="all"'
        )
    wrong = [n for n in chosen if not 0 <= n <= last]
    if wrong or not chosen:
        raise ValueError(
            f"save: {f'step {wrong[0]} does not exist' if wrong else 'no step is chosen'}; this"
            f" Trace has the states 0 to {last}"
        )
    return chosen


def progress_bar(wanted: bool, name: str) -> Callable[[Iterable[int]], Iterable[int]]:
    """Wraps the numbers of the frames, to tell how far it is; without tqdm nothing is shown."""
    if wanted:
        try:
            from tqdm import tqdm
        except ModuleNotFoundError:
            return lambda numbers: numbers
        return lambda numbers: tqdm(numbers, desc=name, unit=" frames", leave=False)
    return lambda numbers: numbers


def _text(
    trace: Mapping[str, Any], form: str, step: int | None, groups: str, lang: str, size: Any,
    dark: bool | None,
) -> str:  # fmt: skip
    if form == "svg":
        return to_svg(trace, step, groups=groups, lang=lang, size=size, dark=dark)
    if form == "json":
        return to_json(dict(trace)) + "\n"
    t = words(lang)
    return table({**trace, "title": titled(trace, t)}, step, table_words(t))


def _positive(name: str, value: float) -> None:
    most = {"dpi": 1200, "fps": 50}[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        raise ValueError(f"save: {name} must be a number above 0 and at most {most}, got {value!r}")


def _need_matplotlib(form: str) -> None:
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"save: .{form} is drawn by matplotlib, which is not installed: pip install"
            ' "minigrad[viz]"; .svg, .html and .txt need nothing'
        ) from None


def _not_too_many_nodes(trace: Mapping[str, Any]) -> None:
    if len(trace["nodes"]) > MOST_NODES:
        raise ValueError(
            f"save: a graph of {len(trace['nodes']):,} nodes is too large to be drawn frame by"
            f' frame (the limit is {MOST_NODES:,}). Leave out groups="open", or trace a smaller'
            " part of the computation (one layer, fewer or smaller inputs), or save an .html page."
        )
