"""One frame of a Trace, drawn by matplotlib: the picture behind every PNG, PDF and film.

After reading this file you know that a frame is the page's drawing made by other hands: the same layout, curves, cards and colours
(``viz.layout``, ``viz.svg``), the same sentence and formula; above it, where the page has its buttons, the passes and how far they are. A
graph larger than the picture is not shrunk until nobody can read it: the picture shows the part around the active node and follows it.

All lengths are those of the layout. One unit is a point on paper, and becomes as many pixels as the picture's resolution makes of it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from minigrad.viz.export import mathtext
from minigrad.viz.labels import Label, labels_of
from minigrad.viz.layout import measure, with_lines
from minigrad.viz.notes import NOTE_WIDTH, notes_of
from minigrad.viz.numbers import heat_of, short
from minigrad.viz.reading import caption, heading_runs, keeps, plain, runs
from minigrad.viz.speech import beginning, pass_text, spoken
from minigrad.viz.svg import (
    MATRIX_CELL,
    MATRIX_ROW,
    ROUND,
    STAGES,
    TIP,
    Look,
    blend,
    hatching,
    legend_of,
    matrix_height,
    matrix_of,
    palette,
    shown_column,
)
from minigrad.viz.texts import Words, words
from minigrad.viz.wires import curve

from minigrad.trace.replay import State, state_at
from minigrad.trace.schema import LEVELS

MARGIN = 22.0
TITLE, SEEDS, TIMELINE, GAP = 34.0, 21.0, 30.0, 12.0  # heights of the rows above the graph
SEED, SEED_FONT = 12.0, 15.0  # font sizes of the line below the title: its words, its formulas
FORMULA, SENTENCE = 19.0, 13.5  # font sizes
NARROWEST = 620.0
DASH = {"v": (0, ()), "d": (0, (10, 5)), "g": (0, (0.1, 6))}
"""Line, dashes, dots, as on the page; lengths in the layout's unit, whatever the line's width."""
STAGE_DASH = ((), (7, 3), (2, 3), (9, 3, 2, 3))
"""Dashes of wires that belong to a derivative's own graph, by generation, as on the page."""
LEGEND = 24.0
SLIDE = 720.0
"""The height of a slide on which words have their plain size; of a higher picture they take the same share."""
READABLE = 0.6
"""A picture that would show the graph smaller than this shows a part of it at full size instead."""
GHOST = 0.1
FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "Microsoft YaHei",
    "PingFang SC",
    "SimHei",
)
"""matplotlib brings the first; the others have Chinese letters, and the first that is installed is used where a title needs it."""


@lru_cache(maxsize=1)
def fonts() -> list[str]:
    """Those of FONTS that are installed."""
    from matplotlib.font_manager import fontManager

    here = {font.name for font in fontManager.ttflist}
    return [name for name in FONTS if name in here]


def need_letters(t: Words, form: str) -> None:
    """Raises ValueError where matplotlib would draw boxes for the letters of a language."""
    if t.foreign and not chinese_fonts():
        raise ValueError(no_letters(f"a .{form} cannot be drawn with lang={t.lang!r}", "an .svg or .html of the Trace: they take"))


def chinese_fonts() -> list[str]:
    """The fonts with Chinese letters that are installed."""
    return fonts()[1:]


def no_letters(what: str, instead: str) -> str:
    """What is said where there is no such font. what: what cannot be done; instead: what can."""
    return f"no font with Chinese letters is installed here, so {what}. {INSTALL}, or write {instead} the fonts of whoever opens them"


INSTALL = (
    f"Install one (matplotlib looks for {', '.join(FONTS[1:])}; on Debian and Ubuntu: apt-get install "
    "fonts-noto-cjk) and delete matplotlib's list of fonts (fontlist-*.json in the folder that "
    "matplotlib.get_cachedir() names)"
)


def undrawable(text: str) -> str:
    """The characters of a text that none of the installed FONTS has, each once."""
    return "".join(dict.fromkeys(ch for ch in text if not ch.isspace() and not _drawable(ch)))


@lru_cache(maxsize=4096)
def _drawable(ch: str) -> bool:
    from matplotlib.font_manager import findfont, get_font

    return any(get_font(findfont(name)).get_char_index(ord(ch)) for name in fonts())


def warn_of_boxes(texts: Iterable[str]) -> None:
    """Warns of the characters in texts that matplotlib would draw as boxes."""
    lacking = undrawable("".join(texts))
    if lacking:
        shown = " ".join(f"{ch} (U+{ord(ch):04X})" for ch in lacking[:8]) + (" …" if len(lacking) > 8 else "")
        what = "Chinese letters" if any(map(measure.is_wide, lacking)) else "these characters"
        cure = INSTALL if any(map(measure.is_wide, lacking)) else "Write them in other characters"
        warnings.warn(
            f"no font with {what} is installed here: the picture shows boxes in place of {shown}. "
            f"{cure}, or write an .svg or .html of the Trace: they take the fonts of whoever opens them",
            MissingFontWarning,
            stacklevel=2,
        )


class MissingFontWarning(UserWarning):
    """A picture shows boxes in place of characters that no installed font has."""


@lru_cache(maxsize=4096)
def text_width(text: str, font: float, bold: bool = False) -> float:
    """Width of a line of plain text."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    prop = FontProperties(family="DejaVu Sans", size=font, weight="bold" if bold else "normal")
    known = "".join(ch for ch in text if not measure.is_wide(ch))
    wide = font * (len(text) - len(known))  # the letters of East Asia are one em wide, and in none of the fonts that are measured here
    return wide + (float(TextToPath().get_text_width_height_descent(known, prop, ismath=False)[0]) if known else 0.0)


_WIDE, _CLOSING = r"\u2e80-\ufaff\uff00-\uff60", "、。，．：；？！）》」』】"
_WORD = re.compile(rf"\s+|(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_CLOSING}]*")
"""What stands together in a line: a word, or a letter of East Asia, which needs no blank around it; with the closing signs that follow."""


def wrap(text: str, font: float, room: float) -> list[str]:
    """Words in as many lines as fit; a word wider than the room is cut."""
    out = [""]
    for word in _WORD.findall(text):
        longer = out[-1] + (" " if word.isspace() else word)
        if word.isspace() or text_width(longer, font) <= room:
            out[-1] = longer if out[-1] else longer.lstrip()
            continue
        while text_width(word, font) > room and len(word) > 8:
            keep = max(4, int(len(word) * room / text_width(word, font)) - 1)
            out, word = [*out, word[:keep]], word[keep:]
        out.append(word)
    return [line.rstrip() for line in out if line.strip()]


class Scene:
    """A Trace made ready to be drawn at any step, every frame of the same size.

    Args:
        trace: a ``minigrad.trace/1`` document; a layout is added if it has none.
        aspect: width by height of the picture, or None for the graph's own.
        room: width and height in which the whole graph must find room; of a larger one a part is shown, at full size, that follows the
            active node. None: the whole graph, however large.
        steps: the steps that will be drawn, which decide how much room their words get; all by default.
        dark: the page's dark colours.
        title: in the place of the Trace's own.
        lang: the language of the words, "en" or "zh".
    """

    def __init__(
        self,
        trace: Mapping[str, Any],
        *,
        aspect: float | None = None,
        room: tuple[float, float] | None = None,
        steps: Sequence[int] | None = None,
        dark: bool = False,
        title: str | None = None,
        lang: str = "en",
    ):
        self.words = words(lang)
        self.trace = with_lines(trace if "seeded" in trace else spoken(trace, self.words))
        self.place = self.trace["layout"]
        self.scale = 1.0
        self.written: set[str] = set()  # plain texts of all frames so far
        self.title = str(self.trace.get("title") or "") if title is None else title
        self.colour = {name: pair[dark] for name, pair in palette().items()}
        self.numbers = list(range(len(self.trace["steps"]) + 1)) if steps is None else list(steps)
        self.nodes = {node["id"]: node for node in self.trace["nodes"]}
        phases = {self.words(str(step.get("phase", ""))) for step in self.trace["steps"]}
        self.indent = max([98.0, *(text_width(phase, 10.5, True) + 30 for phase in phases)])  # of the formulas, beside the phase's name
        self.legend, self.foot = legend_of(self.trace, self.words), matrix_height(self.trace)
        self.notes = notes_of(self.trace)
        self.enlarged, self.keeping = 1.0, keeps(self.trace)
        graph_width, graph_height = self.place["width"], self.place["height"]
        self.view = (graph_width, graph_height)
        if room and (graph_width > room[0] or graph_height > room[1]):
            self.view = (min(graph_width, room[0] * READABLE), min(graph_height, room[1] * READABLE))
        self.width = max(self.view[0] + 2 * MARGIN, NARROWEST)
        self.head = self._head()
        self.height = self.head + self.view[1] + self.foot + MARGIN
        if aspect:
            self.width = max(self.width, self.height * aspect)
            self.head = self._head()  # wider lines may need less height
            self.height = max(self.head + self.view[1] + self.foot + MARGIN, self.width / aspect)
            self.width = max(self.width, self.height * aspect)
            self._enlarge()
            # what the picture's form leaves free shows more of a graph that did not fit
            self.view = (
                min(graph_width, self.width - 2 * MARGIN),
                min(graph_height, self.height - self.head - self.foot - MARGIN),
            )
        self.follows = self.view[0] < graph_width - 1 or self.view[1] < graph_height - 1

    def _enlarge(self) -> None:
        """On a slide a wide graph is small, and leaves room above and below: the words are set larger there, as large as on any slide."""
        free = self.height - self.head - self.view[1] - self.foot - MARGIN
        wanted = min(self.height / SLIDE, 1 + free / self.head)
        while wanted > 1.02:
            self.enlarged = wanted
            high = wanted * self._head()  # larger words may need more lines
            if high + self.view[1] + self.foot + MARGIN <= self.height:
                self.head = high
                return
            wanted *= 0.95
        self.enlarged = 1.0

    @property
    def across(self) -> float:
        """The picture's width in the unit of the words above the graph."""
        return self.width / self.enlarged

    def _words(self, at: int) -> tuple[list[list[mathtext.Piece]], list[str], str]:
        """The step's formula in lines, its sentence in lines, and the formula as plain text where mathtext cannot set it."""
        steps = self.trace["steps"]
        if at == 0:
            return [], wrap(beginning(self.trace, self.words), SENTENCE, self.across - 2 * MARGIN), ""
        step = steps[at - 1]
        parts = mathtext.pieces(step.get("formula") or [])
        room = self.across - 2 * MARGIN - 14 - self.indent
        sentence = wrap(str(step.get("say") or ""), SENTENCE, self.across - 2 * MARGIN - 20)
        if not all(mathtext.drawable(piece.tex) for piece in parts):
            return [], sentence, plain(runs(step.get("formula") or []))
        return mathtext.lines(parts, FORMULA, room), sentence, ""

    def _height_of(self, at: int) -> float:
        formula, sentence, plainly = self._words(at)
        high = sum(_line_height(line) for line in formula) + (26.0 if plainly else 0.0)
        return high + 19.0 * len(sentence)

    def _head(self) -> float:
        words = max((self._height_of(at) for at in self.numbers), default=0.0)
        return self._upper() + words + GAP + LEGEND * len(self._legend_rows())

    def _upper(self) -> float:
        """Height of what stands above the formula: margin, title, seeds, timeline."""
        return MARGIN + TITLE + SEEDS * len(self._seed_rows()) + TIMELINE + GAP

    def _seed_rows(self) -> list[list[_Seeds]]:
        """The seeds of each mode, beside one another as far as there is room. For several passes one row is kept, which names them."""
        if self.trace.get("passes"):
            return [[]]
        room, rows = self.across - 2 * MARGIN, [[]]  # type: float, list[list[_Seeds]]
        for said, tokens in self.trace["seeded"]:
            seeds = _Seeds.of(said, tokens)
            if rows[-1] and sum(one.width for one in rows[-1]) + seeds.width > room:
                rows.append([])
            rows[-1].append(seeds)
        return rows if rows[0] else []

    def _legend_rows(self) -> list[list[Look]]:
        """The legend in as many lines as its words need."""
        room, rows, used = self.across - 2 * MARGIN, [], 0.0  # type: float, list[list[Look]], float
        for look in self.legend:
            wide = _look_width(look)
            if not rows or used + wide > room:
                rows.append([])
                used = 0.0
            rows[-1].append(look)
            used += wide
        return rows

    # ------------------------------------------------------------------------------------------------------------ drawing

    def figure(self, dpi: float) -> Any:
        """An empty figure of the scene's size that no window and no pyplot knows of."""
        from matplotlib.figure import Figure

        return Figure(figsize=(self.width / 72, self.height / 72), dpi=dpi, facecolor=self.colour["surface"])

    def draw(self, figure: Any, at: int, within: tuple[float, float, float, float] | None = None) -> None:
        """Draw the state after ``at`` steps.

        figure: one of :meth:`figure`, which is emptied first; or any other figure, and
        within: the place in it, as left, bottom, width and height in parts of the figure. Letters and lines are scaled to it.
        """
        if within is None:
            for axes in figure.axes:
                axes.remove()  # clear() would first set up the axes again that it removes
            figure.clear()
        frame = within or (0.0, 0.0, 1.0, 1.0)
        self.scale = figure.get_size_inches()[0] * 72 * frame[2] / self.width
        page = _axes(figure, frame, (0, self.width), (self.height, 0))
        step = self.trace["steps"][at - 1] if at > 0 else None
        now = shown_column(self.trace, step)
        head = _axes(figure, frame, (0, self.across), (self.height / self.enlarged, 0))
        self.scale *= self.enlarged
        self._title(head, now)
        self._seeds(head, step)
        self._timeline(head, at, now)
        self._explain(head, at, step, now)
        self._legend(head)
        self.scale /= self.enlarged
        self._matrix(page, at, step)
        self._graph(figure, frame, page, at, step, now)

    def _title(self, page: Any, now: str) -> None:
        x = self.across - MARGIN
        for column in reversed(self.trace["columns"]):
            key, word = column["key"], str(column["label"])
            chip = text_width(word, 11.5, True) + 42
            x -= chip
            current = key == now
            self._box(page, x, MARGIN - 3, chip, 23, 11.5, fill=self.colour[key] if current else "none", rim=self.colour[key],
                      line=1.4, dash=(0, ()) if current else DASH[key])  # fmt: skip
            ink = self.colour["on"] if current else self.colour[key]
            self._mark(page, x + 13, MARGIN + 13, key, ink)
            self._write(page, x + 28, MARGIN + 12.5, word, color=ink, fontsize=11.5, family=fonts(), weight="bold" if current else "normal")
            x -= 8
        title, room = self.title, x - MARGIN - 12
        while title and text_width(title, 15, True) > room:
            title = title[:-2].rstrip("…") + "…" if len(title) > 2 else ""
        self._write(page, MARGIN, MARGIN + 13, _literal(title), color=self.colour["ink"], fontsize=15, weight="bold", family=fonts())

    def _seeds(self, page: Any, step: Mapping[str, Any] | None) -> None:
        """What each pass begins with, or which of several passes this is."""
        look, y = {"color": self.colour["soft"], "fontsize": SEED, "family": fonts()}, MARGIN + TITLE + 4
        if step is not None and "pass" in step:
            self._write(page, MARGIN, y, _literal(pass_text(self.trace, self.words, step["pass"])), **look)
        room = self.across - 2 * MARGIN
        for row in self._seed_rows():
            x = MARGIN
            for one in row:
                self._write(page, x, y, one.said, **look)
                if one.plainly:
                    self._write(page, x + one.before, y, _literal(one.plainly), **{**look, "color": self.colour["ink"]})
                else:
                    self._formula(page, one.tokens, x + one.before, y, SEED_FONT * min(1.0, (room - one.before) / (one.width - one.before)))
                x += one.width
            y += SEEDS

    def _timeline(self, page: Any, at: int, now: str) -> None:
        steps = self.trace["steps"]
        counter = f"{at} / {len(steps)}"
        left, right, y = MARGIN, self.across - MARGIN - text_width("0" * len(counter), 11.5) - 16, self._upper() - TIMELINE - GAP + 6
        self._write(
            page, self.across - MARGIN, y + 4, counter, color=self.colour["soft"], fontsize=11.5, family="DejaVu Sans Mono", ha="right"
        )
        if not steps:
            return
        reach = lambda k: left + (right - left) * k / len(steps)
        self._stroke(page, [left, right], [y, y], color=self.colour["line"], lw=4, solid_capstyle="round")
        if at:
            self._stroke(page, [left, reach(at)], [y, y], color=self.colour[now], lw=4, solid_capstyle="round")
        lane = {column["key"]: i for i, column in enumerate(self.trace["columns"])}
        for key, first, last in _phases(self.trace):
            if key in lane:
                self._stroke(
                    page,
                    [reach(first) + 0.8, reach(last) - 0.8],
                    [y + 7.5 + 3.6 * lane[key]] * 2,
                    color=self.colour[key],
                    lw=2,
                    solid_capstyle="butt",
                )
        self._stroke(
            page, [reach(at)], [y], marker="o", ms=11, mfc=self.colour[now or "soft"], mec=self.colour["surface"], mew=2.2, zorder=4
        )

    def _explain(self, page: Any, at: int, step: Mapping[str, Any] | None, now: str) -> None:
        formula, sentence, plainly = self._words(at)
        x, y = MARGIN, self._upper()
        if step is not None:
            bottom = y + self._height_of(at) - 4
            self._stroke(page, [x + 1, x + 1], [y + 2, bottom], color=self.colour[now], lw=3, **_dashed(now, 3))
            x += 14
            phase = self.words(str(step.get("phase", "")))
            if formula or plainly:
                wide = text_width(phase, 10.5, True) + 18
                high = _line_height(formula[0]) if formula else 26.0
                middle = y + high / 2
                self._box(page, x, middle - 10, wide, 20, 6, fill=self.colour[now + "-tint"], rim="none")
                self._write(page, x + 9, middle + 3.8, phase, color=self.colour[now], fontsize=10.5, weight="bold", family=fonts())
        if plainly:
            self._write(page, x + self.indent, y + 17, _literal(plainly), color=self.colour["ink"], fontsize=14, family=fonts())
            y += 26
        for line in formula:
            high = _line_height(line)
            up = max(mathtext.size(piece.tex, FORMULA)[1] for piece in line)
            down = max(mathtext.size(piece.tex, FORMULA)[2] for piece in line)
            room = self.across - 2 * MARGIN - 14 - self.indent
            font = FORMULA * min(1.0, room / max(mathtext.width(line, FORMULA), 1.0))
            self._formula(page, line, x + self.indent, y + (high + up - down) / 2, font)
            y += high
        for text in sentence:
            self._write(page, x, y + 13, _literal(text), color=self.colour["soft" if step else "ink"], fontsize=SENTENCE, family=fonts())
            y += 19

    def _formula(self, axes: Any, line: Sequence[mathtext.Piece], x: float, y: float, font: float) -> None:
        for piece in line:
            x += piece.before * font
            self._write(axes, x, y, f"${piece.tex}$", color=self.colour[piece.column or "ink"], fontsize=font, math_fontfamily="stix")
            x += mathtext.size(piece.tex, font)[0] + piece.after * font

    def _legend(self, page: Any) -> None:
        """What the colours, dashes and hatching of the graph mean."""
        rows = self._legend_rows()
        for i, row in enumerate(rows):
            x, y = MARGIN, self.head / self.enlarged - 14 - LEGEND * (len(rows) - 1 - i)
            for look in row:
                self._look(page, look, x, y)
                x += _look_width(look)

    def _look(self, page: Any, look: Look, x: float, y: float) -> None:
        words, stage, slanted, square = look
        ink, tint = (self.colour[f"b{stage}"], self.colour[f"b{stage}-tint"]) if stage else (self.colour["wire"], self.colour["raised"])
        if square:
            fill = self.colour["ink"] if square == "kept" else "none"
            self._box(page, x + 7, y - 8, 8, 8, 0.1, fill=fill, rim=self.colour["ink"], line=1.2)
        else:
            self._box(page, x, y - 10, 22, 12, 3, fill=tint, rim=ink, line=1.6, dash=(0, STAGE_DASH[stage]))
        for start in (x + 2, x + 10) if slanted else ():
            self._stroke(page, [start, start + 10], [y + 2, y - 10], color=ink, lw=1.2, zorder=3.1)
        self._write(page, x + 28, y, words, color=self.colour["soft"], fontsize=11, family=fonts())

    def _matrix(self, page: Any, at: int, step: Mapping[str, Any] | None) -> None:
        """The Jacobian as far as it is filled, under the graph."""
        names = matrix_of(self.trace)
        if names is None:
            return
        entries, new = state_at(self.trace, at).entries, {(i, j) for i, j, _ in (step or {}).get("entries", ())}
        top, soft = self.height - MARGIN - self.foot + 14, {"color": self.colour["soft"], "fontsize": 12.5, "family": fonts()}
        for j, name in enumerate(names[1]):
            self._write(page, MARGIN + MATRIX_CELL * (j + 2) - 10, top + 4, f"∂/∂{_literal(name)}", ha="right", **soft)
        for i, name in enumerate(names[0]):
            y = top + MATRIX_ROW * (i + 1) + 2
            self._write(page, MARGIN, y, f"∂{_literal(name)}", **soft)
            for j in range(len(names[1])):
                x, known = MARGIN + MATRIX_CELL * (j + 1), entries.get((i, j))
                fill, rim = ("v-tint", "v") if (i, j) in new else ("raised", "wire")
                self._box(page, x, y - 14, MATRIX_CELL - 4, MATRIX_ROW - 2, 3, fill=self.colour[fill], rim=self.colour[rim], line=1)
                if known is not None:
                    ink = {"color": self.colour["ink"], "family": "DejaVu Sans Mono", "ha": "right"}
                    self._write(page, x + MATRIX_CELL - 10, y, _literal(short(known)), fontsize=11.5, **ink)

    def _graph(
        self, figure: Any, place: tuple[float, float, float, float], page: Any, at: int, step: Mapping[str, Any] | None, now: str
    ) -> None:
        wide, high = self.view
        left, top = self._corner(step, at)
        x0 = (self.width - wide) / 2
        free = self.height - self.head - self.foot - MARGIN - high
        y0 = self.head + free / 2
        across, up = place[2] / self.width, place[3] / self.height
        frame = (place[0] + x0 * across, place[1] + place[3] - (y0 + high) * up, wide * across, high * up)
        axes = _axes(figure, frame, (left, left + wide), (top + high, top))
        state = state_at(self.trace, at)
        lit = {name: self.place["edges"][name]["points"] for name in (step["edges"] if step else ())}
        seen = lambda box: (
            not (
                box["x"] + box["w"] < left
                or box["x"] - box["w"] > left + wide
                or box["y"] + box["h"] < top
                or box["y"] - box["h"] > top + high
            )
        )
        for edge in self.trace["edges"]:
            if edge["id"] in lit:
                continue
            points = self.place["edges"][edge["id"]]["points"]
            if max(x for x, _ in points) < left or min(x for x, _ in points) > left + wide:
                continue
            alive = edge["src"] in state.born and edge["dst"] in state.born
            self._edge(axes, points, "", 1.0 if alive else GHOST, STAGES.get(edge.get("stage", ""), 0))
        for points in lit.values():
            self._edge(axes, points, now, 1.0)
        for note in self.notes:
            if left <= note.x <= left + wide:
                look = {"family": "DejaVu Sans Mono", "color": self.colour["soft"], "alpha": 1.0 if note.node in state.born else GHOST}
                size = 9.5 * min(1.0, note.room / (len(note.text) * NOTE_WIDTH))
                self._write(axes, note.x, note.y, note.text, fontsize=size, clip_on=True, **look)
        for node in self.trace["nodes"]:
            box = self.place["nodes"][node["id"]]
            if seen(box):
                self._card(axes, node, box, state, step, now)
        for label in labels_of(self.trace, step, self.notes, self.words):
            self._pill(axes, label, now)
        if self.follows:
            self._border(page, x0, y0, left, top)

    def _corner(self, step: Mapping[str, Any] | None, at: int) -> tuple[float, float]:
        """The upper left corner of the part that is shown: the active node and its edge's other end in the middle, if they fit."""
        if not self.follows or not self.nodes:
            return 0.0, 0.0
        names = [step["node"], *(cell[0] for cell in step.get("reads", []))] if step else [next(iter(self.nodes))]
        boxes = [self.place["nodes"][name] for name in names]
        corner = []
        for axis, length, whole in (("x", self.view[0], self.place["width"]), ("y", self.view[1], self.place["height"])):
            middles = [box[axis] for box in boxes]
            spread = max(middles) - min(middles) < length * 0.7
            middle = (max(middles) + min(middles)) / 2 if spread else middles[0]
            corner.append(min(max(0.0, middle - length / 2), max(0.0, whole - length)))
        return corner[0], corner[1]

    def _border(self, page: Any, x0: float, y0: float, left: float, top: float) -> None:
        """A hairline around a part of a graph, and where in the whole it lies."""
        wide, high = self.view
        self._box(page, x0 - 6, y0 - 6, wide + 12, high + 12, 8, fill="none", rim=self.colour["line"], line=1)
        if wide < self.place["width"] - 1:
            y, length = y0 + high + 11, wide * wide / self.place["width"]
            self._stroke(page, [x0, x0 + wide], [y, y], color=self.colour["line"], lw=3, solid_capstyle="round")
            start = x0 + wide * left / self.place["width"]
            self._stroke(page, [start, start + length], [y, y], color=self.colour["soft"], lw=3, solid_capstyle="round")
        if high < self.place["height"] - 1:
            x, length = x0 + wide + 11, high * high / self.place["height"]
            self._stroke(page, [x, x], [y0, y0 + high], color=self.colour["line"], lw=3, solid_capstyle="round")
            start = y0 + high * top / self.place["height"]
            self._stroke(page, [x, x], [start, start + length], color=self.colour["soft"], lw=3, solid_capstyle="round")

    def _edge(self, axes: Any, points: Sequence[Sequence[float]], now: str, alpha: float, stage: int = 0) -> None:
        from matplotlib.patches import PathPatch, Polygon

        (x0, y0), (x1, y1) = points[0], points[-1]
        if now == "g":  # adjoints run backward
            way, tip = [[x0 + TIP, y0], *points[1:]], [(x0, y0), (x0 + 10, y0 - 4.5), (x0 + 10, y0 + 4.5)]
        else:
            way, tip = [*points[:-1], [x1 - TIP, y1]], [(x1, y1), (x1 - 10, y1 - 4.5), (x1 - 10, y1 + 4.5)]
        ink, thick, order = (self.colour[now], 3.0, 2.5) if now else (self.colour[f"b{stage}" if stage else "wire"], 1.5, 2.0)
        dash = _patch_dash(now, thick) if now else {"ls": (0, tuple(v / thick for v in STAGE_DASH[stage]))} if stage else {}
        axes.add_artist(PathPatch(_path(curve(way)), fill=False, ec=ink, lw=thick * self.scale, alpha=alpha, zorder=order, **dash))
        axes.add_artist(Polygon(tip, closed=True, fc=ink, ec="none", alpha=alpha, zorder=order))

    def _pill(self, axes: Any, label: Label, now: str) -> None:
        ink, box, letters = self.colour[now], label.box, 9 if label.size.small else 10
        wide = max(label.size.width, text_width(label.text, letters, True) + 8)
        if label.lead is not None:
            self._stroke(axes, [label.x, label.lead[0]], [label.y, label.lead[1]], color=ink, lw=1, zorder=4.9)
            self._box(axes, label.lead[0] - 2, label.lead[1] - 2, 4, 4, 2, fill=ink, rim="none", order=4.9)
        self._box(
            axes,
            label.x - wide / 2,
            box.y0,
            wide,
            label.size.height,
            label.size.height / 2,
            fill=self.colour["surface"],
            rim=ink,
            line=1.2,
            order=5,
        )
        look = {"weight": "bold", "family": fonts(), "ha": "center", "zorder": 5.1, "clip_on": True}
        self._write(axes, label.x, label.y + 0.36 * letters, _literal(label.text), color=ink, fontsize=letters, **look)

    def _card(
        self, axes: Any, node: Mapping[str, Any], box: Mapping[str, float], state: State, step: Mapping[str, Any] | None, now: str
    ) -> None:
        name, kind, small = node["id"], node.get("kind", ""), caption(node)
        alpha = 1.0 if name in state.born else GHOST
        wide, high = box["w"], box["h"]
        x0, y0 = box["x"] - wide / 2, box["y"] - high / 2
        read = step is not None and any(cell[0] == name for cell in step.get("reads", []))
        written = {cell[1] for cell in step.get("writes", []) if cell[0] == name} if step else set()
        thick = {"input": 1.6, "output": 2.8}.get(kind, 1.4)
        rim = self.colour["ink" if thick != 1.4 else "wire"]
        stage, pile = STAGES.get(node.get("stage", ""), 0), kind == "group"
        look: dict[str, Any] = {"fill": self.colour["raised"], "rim": rim, "line": thick}
        if stage:
            look |= {"fill": self.colour[f"b{stage}-tint"], "rim": self.colour[f"b{stage}"]}
        if pile:
            look |= {"rim": self.colour["ink"], "line": 1.6}
            for by in (6, 3):
                under = {"fill": self.colour["sunken"], "rim": self.colour["ink"], "line": 1, "order": 2.8, "alpha": alpha}
                self._box(axes, x0 + by, y0 + by, wide, high, 7, **under)
        if written:
            look = {"fill": self.colour[now + "-tint"], "rim": self.colour[now], "line": 3.4}
        elif read:
            look |= {"rim": self.colour[now], "line": 2.2, "dash": (0, (6, 4))}
        corner = ROUND.get(kind, 7)
        self._box(axes, x0, y0, wide, high, corner, order=3, alpha=alpha, **look)
        if written and step and step.get("phase") == "accumulate":
            self._box(axes, x0 - 4, y0 - 4, wide + 8, high + 8, corner + 4, fill="none", rim=self.colour[now], line=1.6, order=3)
        for i in range(stage):  # as many stripes as derivatives were taken
            at = [x0 + 4 + 4 * i] * 2
            self._stroke(axes, at, [y0 + 6, y0 + high - 6], color=self.colour[f"b{stage}"], lw=2, zorder=3.4, alpha=alpha, clip_on=True)
        if node.get("saved") and self.keeping and any((name, column["key"]) in state.cells for column in self.trace["columns"]):
            fill = "none" if name in state.freed else self.colour["ink"]
            self._box(axes, x0 + wide - 14, y0 - 4, 8, 8, 0.1, fill=fill, rim=self.colour["ink"], line=1.2, order=3.6, alpha=alpha)
        put = {"va": "baseline", "zorder": 4, "clip_on": True, "alpha": alpha}
        if node.get("dangling"):
            self._hatched(axes, x0, y0, wide, high, alpha)
        heading = heading_runs(node)
        head, ink = mathtext.of_runs(heading), self.colour["ink"]
        if pile:
            words = _literal(str(node["label"]["base"]))
            self._write(axes, box["x"], y0 + 20, words, fontsize=12.5, weight="bold", family=fonts(), ha="center", color=ink, **put)
        elif mathtext.drawable(head):
            font = 16.0 * min(1.0, (wide - 14) / max(mathtext.size(head, 16.0)[0], 1.0))
            self._write(axes, box["x"], y0 + 20, f"${head}$", fontsize=font, math_fontfamily="stix", ha="center", color=ink, **put)
        else:
            self._write(axes, box["x"], y0 + 20, _literal(plain(heading)), fontsize=12.5, family=fonts(), ha="center", color=ink, **put)
        if small:
            soft = self.colour["soft"]
            self._write(
                axes, box["x"], y0 + measure.HEAD + 7, _literal(small), fontsize=9.5, family=fonts(), ha="center", color=soft, **put
            )
        body = y0 + measure.HEAD + (measure.CAPTION if small else 0)
        if self.trace["columns"]:
            self._stroke(axes, [x0 + 2, x0 + wide - 2], [body - 1] * 2, color=self.colour["line"], lw=1, zorder=3.5, alpha=alpha)
        shape, tall = node.get("shape") or [], measure.row_height(node.get("shape") or [])
        for i, column in enumerate(self.trace["columns"]):
            key, y = column["key"], body + 14 + i * tall
            ink = self.colour[key]
            self._mark(axes, x0 + measure.SIDE, y, key, ink, alpha)
            if (name, key) not in state.cells:
                continue
            value, look = state.cells[name, key], {"family": "DejaVu Sans Mono", "ha": "right", "color": ink, **put}
            for j, line in enumerate(measure.lines_of(value, shape)):
                weight = "bold" if key in written else "normal"
                right = x0 + wide - measure.SIDE
                self._write(axes, right, y + j * measure.LINE, _literal(line), fontsize=12.5, weight=weight, **look)
            heat = heat_of(value) if measure.kind_of(shape) == "heat" else None
            if heat:
                self._heat(axes, heat, x0 + measure.SIDE, y + 6, wide - 2 * measure.SIDE, measure.HEAT - 5, alpha)

    def _mark(self, axes: Any, x: float, y: float, column: str, ink: str, alpha: float = 1.0) -> None:
        """A ring in the place of any node's name, with the column's dot or bar."""
        from matplotlib.patches import Circle

        look = {"alpha": alpha, "zorder": 4, "clip_on": True}
        axes.add_artist(Circle((x + 5, y - 4), 3.7, fill=False, ec=ink, lw=1.4 * self.scale, **look))
        if column == "d":
            axes.add_artist(Circle((x + 5, y - 10.8), 1.6, fc=ink, ec="none", **look))
        elif column == "g":
            self._stroke(axes, [x + 0.5, x + 9.5], [y - 10.7] * 2, color=ink, lw=1.3, **look)

    def _hatched(self, axes: Any, x: float, y: float, wide: float, high: float, alpha: float) -> None:
        """Slanted lines over a card that leads to no output, and its heading struck through."""
        from matplotlib.collections import LineCollection

        lines = [[(x + u, y + v) for u, v in line] for line in hatching(wide, high)]
        look = {"colors": self.colour["wire"], "linewidths": 1.2 * self.scale, "alpha": 0.55 * alpha, "zorder": 3.3}
        axes.add_collection(LineCollection(lines, **look), autolim=False)
        self._stroke(axes, [x + 8, x + wide - 8], [y + 15.5] * 2, color=self.colour["ink"], lw=1, zorder=4.1, alpha=alpha, clip_on=True)

    def _heat(self, axes: Any, heat: Mapping[str, Any], x: float, y: float, wide: float, high: float, alpha: float) -> None:
        """A heat map; cells of negative numbers are smaller, so that the sign shows without colour."""
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        rows, columns = heat["shape"]
        tall = min(high / rows, 18.0)
        across = min(wide / columns, 18.0, 4 * tall)
        cells, inks = [], []
        for i, level in enumerate(heat["levels"]):
            number = LEVELS.find(level)
            if number < 0:  # not a number: left out
                continue
            inset = 0.18 if number < 8 else 0.03
            corner = x + (i % columns + inset) * across, y + (i // columns + inset) * tall
            cells.append(Rectangle(corner, across * (1 - 2 * inset), tall * (1 - 2 * inset)))
            inks.append(blend(self.colour["zero"], self.colour["minus" if number < 8 else "plus"], abs(number - 8) / 8))
        axes.add_collection(PatchCollection(cells, facecolors=inks, edgecolors="none", zorder=4, alpha=alpha), autolim=False)

    def _write(self, axes: Any, x: float, y: float, text: str, *, fontsize: float, **look: Any) -> None:
        if "math_fontfamily" not in look:
            self.written.add(text)
        axes.text(x, y, text, fontsize=fontsize * self.scale, **({"va": "baseline"} | look))

    def _stroke(self, axes: Any, x: Sequence[float], y: Sequence[float], **look: Any) -> None:
        from matplotlib.lines import Line2D

        for length in ("lw", "ms", "mew"):
            if length in look:
                look[length] *= self.scale
        axes.add_artist(Line2D(x, y, **look))

    def _box(
        self, axes: Any, x: float, y: float, wide: float, high: float, corner: float, *, fill: str, rim: str, line: float = 0.0,
        dash: Any = (0, ()), order: float = 3.0, alpha: float = 1.0,
    ) -> None:  # fmt: skip
        from matplotlib.patches import FancyBboxPatch

        pattern = (0, tuple(length / line for length in dash[1])) if line and dash[1] else "-"
        look = {"fc": fill, "ec": rim, "lw": line * self.scale, "ls": pattern, "zorder": order, "alpha": alpha}
        if dash[1] and dash[1][0] < 1:
            look["capstyle"] = "round"
        axes.add_artist(FancyBboxPatch((x, y), wide, high, boxstyle=f"round,pad=0,rounding_size={corner}", mutation_aspect=1, **look))


# --------------------------------------------------------------------------------------------------------------- small things


class _Seeds(NamedTuple):
    """The seeds of one mode: its words; the formula, or plain text where mathtext lacks a letter; where that begins; the width."""

    said: str
    tokens: list[mathtext.Piece]
    plainly: str
    before: float
    width: float

    @classmethod
    def of(cls, said: str, tokens: Sequence[Mapping[str, Any]]) -> _Seeds:
        parts, before = mathtext.pieces(tokens), text_width(said, SEED) + 12
        if all(mathtext.drawable(piece.tex) for piece in parts):
            return cls(said, parts, "", before, before + mathtext.width(parts, SEED_FONT) + 24)
        plainly = plain(runs(tokens))
        return cls(said, [], plainly, before, before + text_width(plainly, SEED) + 24)


def _look_width(look: Look) -> float:
    return 46 + text_width(look.words, 11)


def _axes(figure: Any, frame: tuple[float, float, float, float], across: tuple[float, float], down: tuple[float, float]) -> Any:
    axes = figure.add_axes(frame)
    axes.set(xlim=across, ylim=down)
    axes.set_axis_off()
    axes.patch.set_alpha(0)
    return axes


def _line_height(line: Sequence[mathtext.Piece]) -> float:
    high = [mathtext.size(piece.tex, FORMULA) for piece in line]
    return float(max(26.0, max(size[1] for size in high) + max(size[2] for size in high) + 12))


def _literal(text: str) -> str:
    """matplotlib takes a text with two dollars for a formula; this one is none."""
    return text.replace("$", r"\$")


def _dashed(now: str, thick: float) -> dict[str, Any]:
    lengths = DASH[now][1]
    if not lengths:
        return {"solid_capstyle": "round"}
    return {"ls": (0, tuple(length / thick for length in lengths)), "dash_capstyle": "round" if now == "g" else "butt"}


def _patch_dash(now: str, thick: float) -> dict[str, Any]:
    lengths = DASH[now][1] if now else ()
    if not lengths:
        return {}
    return {"ls": (0, tuple(length / thick for length in lengths)), "capstyle": "round" if now == "g" else "butt"}


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


def _path(data: str) -> Any:
    """SVG path data of absolute moves, lines and curves as a matplotlib Path."""
    from matplotlib.path import Path

    points: list[tuple[float, float]] = []
    codes: list[int] = []
    for letter, numbers in re.findall(r"([MLQC])([^MLQC]*)", data):
        flat = [float(v) for v in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", numbers)]
        pairs = list(zip(flat[::2], flat[1::2], strict=True))
        points += pairs
        codes += [{"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3, "C": Path.CURVE4}[letter]] * len(pairs)
    return Path(points, codes)
