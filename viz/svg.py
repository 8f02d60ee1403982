"""One frame of a Trace as a still picture: SVG without any script, for papers, slides and README
files.

The still shows what the stepper shows after the same step: the same layout, edges, cards and
colours. As text, for a page, it follows the reader's preference for light or dark; what is saved is
light, unless dark colours are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

from minigrad.viz import scale
from minigrad.viz.grouping import grouped
from minigrad.viz.layout import measure, with_lines
from minigrad.viz.picture.graph import GraphPicture
from minigrad.viz.picture.legend import SPACE, LegendEntry, drawn_entry, legend_of
from minigrad.viz.picture.marks import Box, Mark, MarkGroup, TextLine
from minigrad.viz.picture.matrix import matrix, matrix_height
from minigrad.viz.picture.sizes import pixels_of
from minigrad.viz.picture.write_svg import svg
from minigrad.viz.reading import TextRun, check, runs
from minigrad.viz.speech import beginning, pass_text, spoken
from minigrad.viz.texts import Words, words

from minigrad.trace.replay import state_at
from minigrad.trace.text import honest

MARGIN, LINE, LEGEND = 16.0, 22.0, 22.0
"""Around the words; heights of a line of words and of the legend."""
WIDEST = 1.07
"""A line of words in the widest of the fonts, compared with the estimate."""

LETTERS, LETTER = 70, 8.7
"""The longest line of a sentence above a narrow graph, and about how wide a letter is: a picture
that is wider than a page's column is reduced with all its letters."""


def to_svg(
    trace: Mapping[str, Any],
    step: int | None = None,
    *,
    groups: str = "auto",
    lang: str = "en",
    size: str | tuple[int, int] | None = None,
    dark: bool | None = None,
    letters: int = LETTERS,
) -> str:
    """The state after ``step`` steps as an SVG document (default: after the last step).

    groups: Modules, rounds of loops and other stretches as single boxes, as the viewer shows them
        at the step ("auto"); "open", or "closed".
    lang: the language of its words, "en" or "zh"; the Trace's own title stays as it is.
    size: as in :func:`minigrad.viz.save`; all of the picture is scaled to it.
    dark: dark colours, or light ones; by default those that the reader prefers.
    letters: the longest line of the sentence above a narrow graph. What the
    step reads has a dashed outline, what it writes a bold one; its edges carry the pass's colour,
    dash and direction. Above the graph stand the seeds of the passes, the step's formula and its
    sentence.

    Raises:
        minigrad.viz.reading.TraceError: the document is not a Trace.
        ValueError: there is no such step, language, size or choice of groups;
            :class:`minigrad.viz.scale.TooLarge` for a graph beyond full detail, with an overview of
            it.
    """
    t, shown = words(lang), laid_out(trace, groups, lang, step)
    count = len(shown["steps"])
    at = count if step is None else step
    if not 0 <= at <= count:
        raise ValueError(
            f"to_svg: step {step} does not exist; this Trace has the states 0 to {count}"
        )
    title = f"{shown.get('title') or t('untitled')} · {t('slider')} {t('counter', k=at, n=count)}"
    marks, width, height = _still(shown, at, t, letters)
    pixels = pixels_of(size) or (width, height)
    scale_ = max(width / pixels[0], height / pixels[1])
    wide, high = pixels[0] * scale_, pixels[1] * scale_
    middle = (round((wide - width) / 2, 1), round((high - height) / 2, 1))
    picture: list[Mark] = [Box(0, 0, wide, high, 0, "surface"), MarkGroup(marks, shift=middle)]
    named = {"title": title, "lang": t.lang}
    return svg(picture, wide, high, pixels=pixels, dark=dark, **named)


def laid_out(
    trace: Mapping[str, Any], groups: str, lang: str, step: int | None = None
) -> dict[str, Any]:
    """The document as :func:`to_svg` draws it: in the language, grouped, with its layout."""
    check(trace)
    t = words(lang)
    if scale.too_large(trace):
        raise scale.TooLarge("to_svg: " + scale.as_text(scale.overview(trace), lang))
    return with_lines(grouped(spoken(trace, t), groups, t, step))


def _still(
    trace: Mapping[str, Any], at: int, t: Words, letters: int
) -> tuple[list[Mark], float, float]:
    """The display list of a still, its width and its height."""
    current, place = trace["steps"][at - 1] if at else None, trace["layout"]
    lines, legend = _lines(trace, current, at, t, letters), legend_of(trace, t)
    top = LINE * len(lines) + 14 + (LEGEND if legend else 0)
    estimated = (WIDEST * measure.text_width(line) for line in lines)
    wanted = [*estimated, sum(map(_width, legend))]
    width = max(place["width"], 2 * MARGIN + max(wanted))
    height = place["height"] + top + matrix_height(trace)
    marks: list[Mark] = [
        TextLine(MARGIN, LINE * (i + 1), line, "name") for i, line in enumerate(lines)
    ]
    x = MARGIN
    for entry in legend:
        marks += drawn_entry(entry, x, top - LEGEND + 4)
        x += _width(entry)
    shift = round((width - place["width"]) / 2, 1)
    marks.append(MarkGroup(GraphPicture(trace, t).at(at), shift=(shift, top)))
    below = matrix(trace, state_at(trace, at).entries, current)
    marks.append(MarkGroup(below, shift=(MARGIN, top + place["height"])))
    return marks, width, height


def _width(entry: LegendEntry) -> float:
    """The width of an entry of the legend, whose letters are 12 pixels high."""
    return SPACE + sum(12 if measure.is_wide(letter) else 7 for letter in entry.words)


def _lines(
    trace: Mapping[str, Any], step: Mapping[str, Any] | None, at: int, t: Words, letters: int
) -> list[list[TextRun]]:
    """The lines above the graph: the title or the step's formula and sentence; always the seeds, or
    the pass, and of a comparison its first difference."""
    most = max(letters, int((trace["layout"]["width"] - 2 * MARGIN) / LETTER))
    most = most // 2 if t.foreign else most  # letters of East Asia are twice as wide
    told = trace.get("difference", "").splitlines()
    above = [[TextRun(line)] for sentence in told for line in wrap(sentence, most)]
    seeded: list[TextRun] = []
    for named, tokens in trace["seeded"]:
        seeded += [*([TextRun("\u2003")] if seeded else []), TextRun(named + " "), *runs(tokens)]
    if step is None:
        title = [TextRun(str(trace.get("title") or t("untitled")))]
        begun = [TextRun(beginning(trace, t))]
        return [*above, *(line for line in (title, seeded, begun) if line)]
    number = f"{t('slider')} {t('counter', k=at, n=len(trace['steps']))}"
    number += f" · {step['by']}" if "by" in step else ""
    said = f"{number}{'：' if t.foreign else ': '}{step.get('say', '')}"
    of_pass = pass_text(trace, t, step.get("pass"))
    first = seeded or ([TextRun(of_pass)] if of_pass else [])
    formula = runs(honest(step.get("formula") or []))
    sentence = [[TextRun(line)] for line in wrap(said, most)]
    return [*above, *(line for line in (first, formula) if line), *sentence]
