"""What stands above the graph in a frame: title, columns, seeds, timeline, the step's formula and
sentence, legend.

A page has its buttons there; a frame says which passes there are, how far they are, and what the
step does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minigrad.viz.picture import mathtext
from minigrad.viz.picture.card import ring
from minigrad.viz.picture.fonts import text_width, wrap
from minigrad.viz.picture.legend import SPACE, LegendEntry, drawn_entry, legend_of
from minigrad.viz.picture.marks import DASH, Box, Disc, Mark, PathMark, Style, TextLine
from minigrad.viz.reading import plain, runs, shown_column
from minigrad.viz.speech import beginning, pass_text, phase_name
from minigrad.viz.texts import Words

from minigrad.trace.text import honest

MARGIN = 22.0
TITLE, SEEDS, TIMELINE, GAP, LEGEND = 34.0, 21.0, 30.0, 12.0, 24.0
"""Heights of the rows."""
SEED, SEED_FORMULA, FORMULA, SENTENCE = 12.0, 15.0, 19.0, 13.5
"""Sizes of letters."""
PLAIN_ROW, SENTENCE_ROW = 26.0, 19.0
"""Heights of a formula in plain letters and of a line of the sentence."""


def _column(key: str) -> dict[str, Style]:
    return {
        f"chip-{key}": {"stroke": key, "width": 1.4, "dash": DASH[key], "round": key == "g"},
        f"chip-on-{key}": {"fill": key, "stroke": key, "width": 1.4},
        f"done-{key}": {"stroke": key, "width": 4, "round": True},
        f"lane-{key}": {"stroke": key, "width": 2},
        f"knob-{key}": {"fill": key, "stroke": "surface", "width": 2.2},
        f"bar-{key}": {"stroke": key, "width": 3, "dash": DASH[key], "round": key != "d"},
        f"phase-{key}": {"fill": f"{key}-tint"},
    }


STYLES: dict[str, Style] = {
    "title": {"font": "sans", "size": 15, "bold": True, "fill": "ink"},
    "column": {"font": "sans", "size": 11.5},
    "seed": {"font": "sans", "size": SEED, "fill": "soft"},
    "counter": {"font": "mono", "size": 11.5, "fill": "soft"},
    "phase": {"font": "sans", "size": 10.5, "bold": True},
    "formula": {"font": "math", "size": FORMULA, "fill": "ink"},
    "plain": {"font": "sans", "size": 14, "fill": "ink"},
    "sentence": {"font": "sans", "size": SENTENCE, "fill": "soft"},
    "track": {"stroke": "line", "width": 4, "round": True},
    "knob-soft": {"fill": "soft", "stroke": "surface", "width": 2.2},
    "ring-on": {"stroke": "on", "width": 1.4},
    "dot-on": {"fill": "on"},
    "accent-on": {"stroke": "on", "width": 1.3},
    "ink": {"fill": "ink"},
    "on": {"fill": "on"},
    "strong": {"bold": True},
    **{name: style for key in "vdg" for name, style in _column(key).items()},
}


class Seeds(NamedTuple):
    """The seeds of one mode: its words; the formula, or plain text where mathtext lacks a letter;
    its place; the width."""

    said: str
    pieces: list[mathtext.FormulaPart]
    plainly: str
    before: float
    width: float

    @classmethod
    def of(cls, said: str, tokens: Sequence[Mapping[str, Any]]) -> Seeds:
        """The seeds that a mode begins with."""
        pieces, before = mathtext.pieces(tokens), text_width(said, SEED) + 12
        if all(mathtext.drawable(piece.tex) for piece in pieces):
            width = before + mathtext.width(pieces, SEED_FORMULA) + 24
            return cls(said, pieces, "", before, width)
        plainly = plain(runs(tokens))
        return cls(said, [], plainly, before, before + text_width(plainly, SEED) + 24)


class Explanation(NamedTuple):
    """A step in words: the lines of its formula, or plain text where mathtext lacks a letter, and
    of its sentence."""

    formula: list[list[mathtext.FormulaPart]]
    plainly: str
    sentence: list[str]

    @property
    def height(self) -> float:
        """The height of all lines."""
        high = sum(_line_height(line) for line in self.formula)
        return high + (PLAIN_ROW if self.plainly else 0.0) + SENTENCE_ROW * len(self.sentence)


class Head:
    """The rows above the graph of a Trace.

    trace: spoken in the language of t; title: in the place of its own; numbers: the steps that will
    be drawn, which decide the height. ``across`` in the methods is the width of the whole picture.
    """

    def __init__(self, trace: Mapping[str, Any], t: Words, title: str, numbers: Sequence[int]):
        self.trace, self.words, self.title, self.numbers = trace, t, title, numbers
        self.legend = legend_of(trace, t)

    def height(self, across: float) -> float:
        """The height that all steps have space in."""
        words = max((self.explanation(at, across).height for at in self.numbers), default=0.0)
        return self._upper(across) + words + GAP + LEGEND * len(self.legend_rows(across))

    def _upper(self, across: float) -> float:
        """The height of margin, title, seeds and timeline."""
        rows = SEEDS * len(self.seed_rows(across)) + SENTENCE_ROW * len(self._difference(across))
        return MARGIN + TITLE + rows + TIMELINE + GAP

    def _difference(self, across: float) -> list[str]:
        """Of two Traces as one, where they part: the lines of it."""
        told = self.trace.get("difference", "").splitlines()
        return [line for text in told for line in wrap(text, SENTENCE, across - 2 * MARGIN)]

    def explanation(self, at: int, across: float) -> Explanation:
        """The words of the state after ``at`` steps."""
        if at == 0:
            said = beginning(self.trace, self.words)
            return Explanation([], "", wrap(said, SENTENCE, across - 2 * MARGIN))
        step = self.trace["steps"][at - 1]
        tokens = honest(step.get("formula") or [])
        pieces = mathtext.pieces(tokens)
        sentence = wrap(str(step.get("say") or ""), SENTENCE, across - 2 * MARGIN - 20)
        if not all(mathtext.drawable(piece.tex) for piece in pieces):
            return Explanation([], plain(runs(tokens)), sentence)
        return Explanation(mathtext.lines(pieces, FORMULA, self._space(at, across)), "", sentence)

    def _indent(self, at: int) -> float:
        """From the name of the step's phase to its formula."""
        return text_width(phase_name(self.trace["steps"][at - 1], self.words), 10.5, True) + 30

    def _space(self, at: int, across: float) -> float:
        """The width of a formula."""
        return across - 2 * MARGIN - 14 - self._indent(at)

    def seed_rows(self, across: float) -> list[list[Seeds]]:
        """The seeds of each mode, side by side as they fit. Several passes have one row, which
        names the step's."""
        if self.trace.get("passes"):
            return [[]]
        rows: list[list[Seeds]] = [[]]
        for said, tokens in self.trace["seeded"]:
            seeds = Seeds.of(said, tokens)
            if rows[-1] and sum(s.width for s in rows[-1]) + seeds.width > across - 2 * MARGIN:
                rows.append([])
            rows[-1].append(seeds)
        return rows if rows[0] else []

    def legend_rows(self, across: float) -> list[list[LegendEntry]]:
        """The legend in as many lines as its words need."""
        rows: list[list[LegendEntry]] = []
        used = 0.0
        for entry in self.legend:
            if not rows or used + _width(entry) > across - 2 * MARGIN:
                rows.append([])
                used = 0.0
            rows[-1].append(entry)
            used += _width(entry)
        return rows

    def marks(self, at: int, across: float, height: float) -> list[Mark]:
        """The display list of the head of this width and height, after ``at`` steps."""
        step = self.trace["steps"][at - 1] if at else None
        now = shown_column(self.trace, step)
        marks = [*self._title(now, across), *self._seeds(step, across)]
        marks += [*self._timeline(at, now, across), *self._explained(at, now, across)]
        rows = self.legend_rows(across)
        for i, row in enumerate(rows):
            x, y = MARGIN, height - 14 - LEGEND * (len(rows) - 1 - i)
            for entry in row:
                marks += drawn_entry(entry, x, y)
                x += _width(entry)
        return marks

    def _title(self, now: str, across: float) -> list[Mark]:
        """The title, and a chip for each column; the present one is filled."""
        marks: list[Mark] = []
        x = across - MARGIN
        for column in reversed(self.trace["columns"]):
            key, word = column["key"], str(column["label"])
            width, current = text_width(word, 11.5, True) + 42, key == now
            x -= width
            role = f"chip-on-{key}" if current else f"chip-{key}"
            marks.append(Box(x, MARGIN - 3, width, 23, 11.5, role))
            marks += ring(x + 13, MARGIN + 13, key, "on" if current else key)
            role = "column strong on" if current else f"column {key}"
            marks.append(TextLine(x + 28, MARGIN + 12.5, word, role))
            x -= 8
        title, space = self.title, x - MARGIN - 12
        while title and text_width(title, 15, True) > space:
            title = title[:-2].rstrip("…") + "…" if len(title) > 2 else ""
        return [*marks, TextLine(MARGIN, MARGIN + 13, title, "title")]

    def _seeds(self, step: Mapping[str, Any] | None, across: float) -> list[Mark]:
        """Where two Traces part; what each pass begins with, or which of several this is."""
        y, space = MARGIN + TITLE + 4, across - 2 * MARGIN
        marks: list[Mark] = []
        for line in self._difference(across):
            marks.append(TextLine(MARGIN, y, line, "sentence ink"))
            y += SENTENCE_ROW
        if step is not None and "pass" in step:
            said = pass_text(self.trace, self.words, step["pass"])
            marks.append(TextLine(MARGIN, y, said, "seed"))
        for row in self.seed_rows(across):
            x = MARGIN
            for one in row:
                marks.append(TextLine(x, y, one.said, "seed"))
                if one.plainly:
                    marks.append(TextLine(x + one.before, y, one.plainly, "seed ink"))
                fit = min(1.0, (space - one.before) / (one.width - one.before))
                marks += _formula(one.pieces, x + one.before, y, SEED_FORMULA * fit)
                x += one.width
            y += SEEDS
        return marks

    def _timeline(self, at: int, now: str, across: float) -> list[Mark]:
        """How far the steps are, with a lane for the steps of each column."""
        count = len(self.trace["steps"])
        counter = f"{at} / {count}"
        y = self._upper(across) - TIMELINE - GAP + 6
        marks: list[Mark] = [TextLine(across - MARGIN, y + 4, counter, "counter", "end")]
        if not count:
            return marks
        left, right = MARGIN, across - MARGIN - text_width("0" * len(counter), 11.5) - 16
        reach = lambda k: left + (right - left) * k / count
        marks.append(PathMark(f"M{left} {y}L{right} {y}", "track"))
        if at:
            marks.append(PathMark(f"M{left} {y}L{reach(at)} {y}", f"done-{now}"))
        lane = {column["key"]: y + 7.5 + 3.6 * i for i, column in enumerate(self.trace["columns"])}
        for key, first, last in _phases(self.trace):
            if key in lane:
                line = f"M{reach(first) + 0.8} {lane[key]}L{reach(last) - 0.8} {lane[key]}"
                marks.append(PathMark(line, f"lane-{key}"))
        return [*marks, Disc(reach(at), y, 5.5, f"knob-{now or 'soft'}")]

    def _explained(self, at: int, now: str, across: float) -> list[Mark]:
        """The step's phase, formula and sentence."""
        said = self.explanation(at, across)
        x, y = MARGIN, self._upper(across)
        marks: list[Mark] = []
        if at:
            marks.append(PathMark(f"M{x + 1} {y + 2}L{x + 1} {y + said.height - 4}", f"bar-{now}"))
            x += 14
            phase = phase_name(self.trace["steps"][at - 1], self.words)
            if said.formula or said.plainly:
                middle = y + (_line_height(said.formula[0]) if said.formula else PLAIN_ROW) / 2
                width = text_width(phase, 10.5, True) + 18
                marks.append(Box(x, middle - 10, width, 20, 6, f"phase-{now}"))
                marks.append(TextLine(x + 9, middle + 3.8, phase, f"phase {now}"))
        if said.plainly:
            marks.append(TextLine(x + self._indent(at), y + 17, said.plainly, "plain"))
            y += PLAIN_ROW
        for line in said.formula:
            high, sizes = _line_height(line), [mathtext.size(piece.tex, FORMULA) for piece in line]
            base = y + (high + max(s[1] for s in sizes) - max(s[2] for s in sizes)) / 2
            fit = min(1.0, self._space(at, across) / max(mathtext.width(line, FORMULA), 1.0))
            marks += _formula(line, x + self._indent(at), base, FORMULA * fit)
            y += high
        for i, text in enumerate(said.sentence):
            role = "sentence" if at else "sentence ink"
            marks.append(TextLine(x, y + 13 + SENTENCE_ROW * i, text, role))
        return marks


def _width(entry: LegendEntry) -> float:
    return SPACE + text_width(entry.words, 12)


def _line_height(line: Sequence[mathtext.FormulaPart]) -> float:
    sizes = [mathtext.size(piece.tex, FORMULA) for piece in line]
    return float(max(26.0, max(size[1] for size in sizes) + max(size[2] for size in sizes) + 12))


def _formula(line: Sequence[mathtext.FormulaPart], x: float, y: float, size: float) -> list[Mark]:
    """A line of a formula, a text for each piece."""
    marks: list[Mark] = []
    for piece in line:
        x += piece.before * size
        role = f"formula {piece.column}".strip()
        marks.append(TextLine(x, y, mathtext.Tex(piece.tex), role, size=size))
        x += mathtext.size(piece.tex, size)[0] + piece.after * size
    return marks


def _phases(trace: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Runs of steps of one column, as (column, first, last)."""
    out: list[tuple[str, int, int]] = []
    for i, step in enumerate(trace["steps"]):
        key = shown_column(trace, step)
        if out and out[-1][0] == key:
            out[-1] = (key, out[-1][1], i + 1)
        else:
            out.append((key, i, i + 1))
    return out
