"""One frame of a Trace as a still picture: SVG without any script, for papers, slides, README files and the command line.

After reading this file you know that the still and the stepper are the same drawing: the same layout, the same curves and cards, and the
same colours, read from the stepper's stylesheet. In light and dark surroundings the picture follows the reader's preference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from functools import cache
from html import escape
from typing import Any, NamedTuple

from minigrad.viz import scale
from minigrad.viz.bundle import stylesheet
from minigrad.viz.grouping import grouped
from minigrad.viz.labels import Label, labels_of
from minigrad.viz.layout import measure, with_lines
from minigrad.viz.notes import NOTE_WIDTH, Note, notes_of
from minigrad.viz.numbers import heat_of, short
from minigrad.viz.reading import Run, caption, check, column_of, heading_runs, keeps, plain, runs
from minigrad.viz.speech import beginning, pass_text, spoken
from minigrad.viz.texts import Words, words
from minigrad.viz.wires import curve

from minigrad.trace.replay import state_at
from minigrad.trace.schema import LEVELS

MARGIN = 16.0
TIP = 8.0  # how far a line stops before its arrow's point
ROUND = {"input": 15, "output": 15, "param": 15, "const": 2}
STAGES = {"backward": 1, "first backward": 1, "jvp": 2, "second backward": 2, "third backward": 3}
STAGE_DASH = ["", ' stroke-dasharray="7 3"', ' stroke-dasharray="2 3"', ' stroke-dasharray="9 3 2 3"']
LEGEND = 22.0
OVERLINE = "\u0305"
MATRIX = 8
"""A Jacobian of up to so many rows and columns is written out under the graph."""
MATRIX_ROW, MATRIX_CELL = 20.0, 92.0
DASH = {"v": "", "d": ' stroke-dasharray="10 5"', "g": ' stroke-dasharray="0.1 6" stroke-linecap="round"'}
RING = '<circle cx="5" cy="-4" r="4" fill="none" stroke-width="1.4"/>'
ACCENT = {"d": '<circle cx="5" cy="-10.8" r="1.6" stroke="none"/>', "g": '<path d="M0.5 -10.7h9"/>'}

_STYLE = """
.math{{font-family:"STIX Two Math","Latin Modern Math","Cambria Math","DejaVu Math TeX Gyre",serif;font-size:16px}}
.value{{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:13px}}
{light}
@media (prefers-color-scheme: dark){{{dark}}}
"""


@cache
def palette() -> dict[str, tuple[str, str]]:
    """The stylesheet's colours as ``{name: (light, dark)}``."""
    found = re.findall(r"--mg-([\w-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)", stylesheet())
    return {name: (light, dark) for name, light, dark in found}


def to_svg(trace: Mapping[str, Any], step: int | None = None, *, groups: str = "auto", lang: str = "en") -> str:
    """The state after ``step`` steps as an SVG document (default: after the last step).

    groups: Modules, and stretches of a large graph, as single boxes where the viewer shows them so at first ("auto"), "open", or "closed".
    lang: the language of its words, "en" or "zh"; the Trace's own title stays as it is.
    What the step reads has a dashed outline, what it writes a bold one; its edges carry the pass's colour, dash and direction. Above the
    graph stand the seeds of the passes, the step's formula and its sentence.

    Raises:
        minigrad.viz.reading.TraceError: the document is not a Trace.
        ValueError: there is no such step, language or choice of groups; :class:`minigrad.viz.scale.TooLarge` for a graph beyond full
            detail, with an overview of it.
    """
    check(trace)
    t = words(lang)
    if scale.too_large(trace):
        raise scale.TooLarge("to_svg: " + scale.as_text(scale.overview(trace), lang))
    shown = with_lines(grouped(spoken(trace, t), groups, t))
    steps = shown["steps"]
    at = len(steps) if step is None else step
    if not 0 <= at <= len(steps):
        raise ValueError(f"to_svg: step {step} does not exist; this Trace has the states 0 to {len(steps)}")
    current = steps[at - 1] if at > 0 else None
    now = shown_column(shown, current)
    then = state_at(shown, at)
    state, unborn = then.cells, {node["id"] for node in shown["nodes"]} - then.born
    place = shown["layout"]
    lit = set(current["edges"]) if current else set()
    lines = _words(shown, current, at, t)
    legend = legend_of(shown, t)
    top = 22.0 * len(lines) + 14 + (LEGEND if legend else 0)
    widths = [measure.text_width(line) for line in lines] + [sum(map(_look_width, legend))]
    width = max(place["width"], 2 * MARGIN + max(widths))
    shift = round((width - place["width"]) / 2, 1)

    picture = [_wire(e, place["edges"][e["id"]]["points"], now if e["id"] in lit else "", unborn) for e in _last(shown["edges"], lit)]
    notes = notes_of(shown)
    picture += _shapes(notes, unborn)
    keeping = keeps(shown)
    picture += [
        _card(
            node,
            place["nodes"][node["id"]],
            shown["columns"],
            state,
            current,
            now,
            unborn,
            kept=("gone" if node["id"] in then.freed else "kept") if keeping else "",
        )
        for node in shown["nodes"]
    ]
    picture += [_pill(label, now) for label in labels_of(shown, current, notes, t)]
    matrix, high = _matrix(shown, then.entries, current)
    text = [f'<text x="{MARGIN}" y="{22 * (i + 1)}" class="math ink">{_tspans(line)}</text>' for i, line in enumerate(lines)]
    text += _legend(legend, top - LEGEND + 4)
    title = escape(str(shown.get("title") or t("untitled")))
    total = place["height"] + top + high
    size = f'viewBox="0 0 {width:g} {total:g}" width="{width:g}" height="{total:g}" lang="{t.lang}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" class="mg-frame" font-family="system-ui, DejaVu Sans, sans-serif">'
        f"<title>{title} · {t('slider')} {t('counter', k=at, n=len(steps))}</title><style>{_style()}</style>"
        f'<rect width="100%" height="100%" class="surface"/>{"".join(text)}'
        f'<g transform="translate({shift:g} {top:g})">{"".join(picture)}</g>'
        f'<g transform="translate({MARGIN:g} {top + place["height"]:g})">{matrix}</g></svg>\n'
    )


def shown_column(trace: Mapping[str, Any], step: Mapping[str, Any] | None) -> str:
    """The column that gives a step its colour; "" before the first one. A Program's Trace has no adjoints, so nothing there is purple."""
    if step is None:
        return ""
    column, known = column_of(step), [c["key"] for c in trace["columns"]]
    return column if column in known or not known else str(known[0])


class Look(NamedTuple):
    """A line of the legend: its words, the generation whose colour and dash it explains, whether it is about the hatching or a square."""

    words: str
    stage: int
    slanted: bool = False
    square: str = ""
    """"kept" for the filled square of an operation that keeps values, "gone" for the hollow one."""


def legend_of(trace: Mapping[str, Any], t: Words | None = None) -> list[Look]:
    """What the colours, dashes and hatching of a Trace's graph mean; empty where there is nothing but the function. t: English if None."""
    t = t or words()
    found = {STAGES[node["stage"]]: node["stage"] for node in trace["nodes"] if node.get("stage") in STAGES}
    looks = [Look(t("stageJvp" if found[stage] == "jvp" else f"stage{stage}"), stage) for stage in sorted(found)]
    dangling = [Look(t("danglingShort"), 0, True)] if any(node.get("dangling") for node in trace["nodes"]) else []
    squares = [Look(t("keptMark"), 0, square="kept")] if keeps(trace) else []
    if squares and any(step.get("free") for step in trace["steps"]):
        squares.append(Look(t("freedMark"), 0, square="gone"))
    return ([Look(t("stage0"), 0)] if looks else []) + looks + dangling + squares


def matrix_of(trace: Mapping[str, Any]) -> tuple[list[str], list[str]] | None:
    """Names of rows and columns of a Jacobian that is small enough to be written out."""
    found = trace.get("jacobian")
    small = found is not None and 0 < len(found["rows"]) <= MATRIX and 0 < len(found["columns"]) <= MATRIX
    return (list(found["rows"]), list(found["columns"])) if found is not None and small else None


def matrix_height(trace: Mapping[str, Any]) -> float:
    """The room that the matrix takes below the graph."""
    names = matrix_of(trace)
    return 0.0 if names is None else MATRIX_ROW * (len(names[0]) + 1) + 18


def _legend(looks: Sequence[Look], y: float) -> list[str]:
    """What the colours, dashes and hatching of the graph mean."""
    out, x = [], MARGIN
    for look in looks:
        name, stage, slanted, square = look
        kind = f"card c{stage}" if stage else "card"
        box = f'<rect x="{x:g}" y="{y - 10:g}" width="22" height="12" rx="3" class="{kind}" stroke-width="1.6"{STAGE_DASH[stage]}/>'
        if slanted:
            box += f'<path d="M{x + 2:g} {y + 2:g}l10 -12M{x + 10:g} {y + 2:g}l10 -12" class="wire" stroke-width="1.2"/>'
        if square:
            box = f'<rect x="{x + 7:g}" y="{y - 8:g}" width="8" height="8" class="look-{square}" stroke-width="1.2"/>'
        out.append(f'{box}<text x="{x + 28:g}" y="{y:g}" class="soft" font-size="12">{name}</text>')
        x += _look_width(look)
    return out


def _look_width(look: Look) -> float:
    """The room of a line of the legend: its sign, its words in letters of 12 pixels, and the gap behind."""
    return 46 + sum(12 if measure.is_wide(letter) else 7 for letter in look.words)


def _matrix(trace: Mapping[str, Any], entries: Mapping[tuple[int, int], Any], step: Mapping[str, Any] | None) -> tuple[str, float]:
    """The Jacobian as far as it is filled, and its height."""
    names = matrix_of(trace)
    if names is None:
        return "", 0.0
    rows, columns = names
    new = {(row, column) for row, column, _ in (step or {}).get("entries", ())}
    cells = [
        f'<text x="{MATRIX_CELL * (j + 2) - 10:g}" y="{MATRIX_ROW:g}" class="math soft" text-anchor="end">∂/∂{escape(name)}</text>'
        for j, name in enumerate(columns)
    ]
    for i, name in enumerate(rows):
        y = MATRIX_ROW * (i + 2)
        cells.append(f'<text x="0" y="{y:g}" class="math soft">∂{escape(name)}</text>')
        for j in range(len(columns)):
            x, known = MATRIX_CELL * (j + 1), entries.get((i, j))
            fill = "tv sv" if (i, j) in new else "card"
            cells.append(f'<rect x="{x:g}" y="{y - 15:g}" width="{MATRIX_CELL - 4:g}" height="{MATRIX_ROW - 1:g}" rx="3" class="{fill}"/>')
            if known is not None:
                cells.append(
                    f'<text x="{x + MATRIX_CELL - 10:g}" y="{y:g}" class="value ink" text-anchor="end">{escape(short(known))}</text>'
                )
    return "".join(cells), matrix_height(trace)


def _pill(label: Label, now: str) -> str:
    """The local derivative on its edge: what the value that passes is multiplied by."""
    x, y, box = label.x, label.y, label.box
    way = ""
    if label.lead is not None:
        u, v = label.lead
        way = f'<path d="M{x:g} {y:g}L{u:g} {v:g}" class="s{now}" stroke-width="1"/><circle cx="{u:g}" cy="{v:g}" r="2" class="f{now}"/>'
    size = f'width="{label.size.width:g}" height="{label.size.height:g}" rx="{label.size.height / 2:g}"'
    letters, base = (10, 3.6) if label.size.small else (11, 4)
    font = f'class="f{now}" font-size="{letters}" font-weight="700" text-anchor="middle"'
    return (
        f'{way}<rect x="{box.x0:g}" y="{box.y0:g}" {size} class="s{now} pill" stroke-width="1.2"/>'
        f'<text x="{x:g}" y="{y + base:g}" {font}>{escape(label.text)}</text>'
    )


@cache
def _style() -> str:
    def rules(side: int) -> str:
        colour = {name: pair[side] for name, pair in palette().items()}
        out = f".surface{{fill:{colour['surface']}}}.ink{{fill:{colour['ink']}}}.soft{{fill:{colour['soft']}}}"
        out += f".card{{fill:{colour['raised']};stroke:{colour['wire']}}}.edge{{stroke:{colour['ink']}}}.rule{{stroke:{colour['line']}}}"
        out += f".wire{{stroke:{colour['wire']}}}.tip{{fill:{colour['wire']}}}"
        for key in "vdg":
            out += f".f{key}{{fill:{colour[key]}}}.s{key}{{stroke:{colour[key]}}}.t{key}{{fill:{colour[key + '-tint']}}}"
        for stage in (1, 2, 3):
            out += f".b{stage}{{stroke:{colour[f'b{stage}']}}}.p{stage}{{fill:{colour[f'b{stage}']}}}"
            out += f".c{stage}{{fill:{colour[f'b{stage}-tint']};stroke:{colour[f'b{stage}']}}}"
        out += (
            f".halo{{stroke:{colour['surface']}}}.pill{{fill:{colour['surface']}}}.pile{{fill:{colour['sunken']};stroke:{colour['ink']}}}"
        )
        for mark in ("", "look-"):
            out += f".{mark}kept{{fill:{colour['ink']};stroke:{colour['ink']}}}.{mark}gone{{fill:none;stroke:{colour['ink']}}}"
        for level in range(len(LEVELS)):
            end = colour["minus"] if level < 8 else colour["plus"]
            out += f".h{level}{{fill:{blend(colour['zero'], end, abs(level - 8) / 8)}}}"
        return out

    sheet = _STYLE.format(light=rules(0), dark=rules(1)).strip()
    return re.sub(r"\.([a-z-]+\d*)\{", r".mg-frame .\1{", sheet)  # in a page, the rules reach this picture only


def blend(a: str, b: str, share: float) -> str:
    """The colour that lies a share of the way from a to b."""
    parts = [(int(a[i : i + 2], 16), int(b[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(p + share * (q - p)):02x}" for p, q in parts)


def _words(trace: Mapping[str, Any], step: Mapping[str, Any] | None, at: int, t: Words) -> list[list[Run]]:
    """The lines above the graph: first the title, later the step's formula and its sentence; always the seeds, or the pass of a step."""
    seeded: list[Run] = []
    for named, tokens in trace["seeded"]:
        seeded += [*([Run("\u2003")] if seeded else []), Run(named + " "), *runs(tokens)]
    if step is None:
        return [line for line in ([Run(str(trace.get("title") or t("untitled")))], seeded, [Run(beginning(trace, t))]) if line]
    said = f"{t('slider')} {t('counter', k=at, n=len(trace['steps']))}{'：' if t.foreign else ': '}{step.get('say', '')}"
    of_pass = pass_text(trace, t, step.get("pass"))
    return [line for line in (seeded or ([Run(of_pass)] if of_pass else []), runs(step.get("formula") or []), [Run(said)]) if line]


def _last(edges: Sequence[Mapping[str, Any]], lit: set[str]) -> list[Mapping[str, Any]]:
    """Lit edges drawn last, on top of those that share their way."""
    return sorted(edges, key=lambda e: e["id"] in lit)


def _edge(points: Sequence[Sequence[float]], now: str) -> str:
    (x0, y0), (x1, y1) = points[0], points[-1]
    if now == "g":  # adjoints run backward
        way, tip = [[x0 + TIP, y0], *points[1:]], f"M{x0:g} {y0:g}l10 -4.5v9z"
    else:
        way, tip = [*points[:-1], [x1 - TIP, y1]], f"M{x1:g} {y1:g}l-10 -4.5v9z"
    if not now:
        return f'<path d="{curve(way)}" fill="none" class="wire" stroke-width="1.5"/><path d="{tip}" class="tip"/>'
    return f'<path d="{curve(way)}" fill="none" class="s{now}" stroke-width="3"{DASH[now]}/><path d="{tip}" class="f{now}"/>'


def _wire(edge: Mapping[str, Any], points: Sequence[Sequence[float]], now: str, unborn: Set[str]) -> str:
    drawn, stage = _edge(points, now), STAGES.get(edge.get("stage", ""), 0)
    if stage and not now:
        drawn = drawn.replace('class="wire" stroke-width="1.5"', f'class="b{stage}" stroke-width="1.5"{STAGE_DASH[stage]}')
        drawn = drawn.replace('class="tip"', f'class="p{stage}"')
    return f'<g opacity="0.13">{drawn}</g>' if {edge["src"], edge["dst"]} & unborn else drawn


def _shapes(notes: Sequence[Note], unborn: Set[str]) -> list[str]:
    """The shapes of what travels along the edges."""
    out = []
    for text, node, x, y, room in notes:
        look = f' textLength="{room:.0f}" lengthAdjust="spacingAndGlyphs"' if len(text) * NOTE_WIDTH > room else ""
        look += ' opacity="0.13"' if node in unborn else ""
        halo = 'paint-order="stroke" stroke-width="3"'
        out.append(f'<text x="{x:g}" y="{y:g}" class="soft value halo" {halo}{look} style="font-size:10.5px">{text}</text>')
    return out


def hatching(wide: float, high: float) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Slanted lines over a card that leads to no output, each from end to end, from the card's corner."""
    return [((max(0.0, d - high), min(d, high)), (min(d, wide), max(0.0, d - wide))) for d in range(8, int(wide + high), 8)]


def _heat(heat: Mapping[str, Any], x: float, y: float, width: float, height: float) -> str:
    """A heat map as one path for each level; cells of negative numbers are smaller squares, so that the sign shows without colour."""
    rows, columns = heat["shape"]
    tall = min(height / rows, 18.0)
    wide = min(width / columns, 18.0, 4 * tall)
    paths: dict[int, list[str]] = {}
    for i, level in enumerate(heat["levels"]):
        number = LEVELS.find(level)
        inset = 0.18 if 0 <= number < 8 else 0.03
        left, top = x + (i % columns + inset) * wide, y + (i // columns + inset) * tall
        w, h = wide * (1 - 2 * inset), tall * (1 - 2 * inset)
        paths.setdefault(number, []).append(f"M{left:.2f} {top:.2f}h{w:.2f}v{h:.2f}h{-w:.2f}z")
    return "".join(f'<path d="{"".join(d)}" class="h{number}"/>' for number, d in sorted(paths.items()) if number >= 0)


def _card(
    node: Mapping[str, Any],
    box: Mapping[str, float],
    columns: Sequence[Mapping[str, Any]],
    state: Mapping[tuple[str, str], Any],
    step: Mapping[str, Any] | None,
    now: str,
    unborn: Set[str] = frozenset(),
    kept: str = "",
) -> str:
    x0, y0 = box["x"] - box["w"] / 2, box["y"] - box["h"] / 2
    name, corner, small = node["id"], ROUND.get(node.get("kind", ""), 7), caption(node)
    read = step is not None and any(cell[0] == name for cell in step.get("reads", []))
    written = {cell[1] for cell in step.get("writes", []) if cell[0] == name} if step else set()

    def rim(grow: float, attributes: str) -> str:
        return (
            f'<rect x="{x0 - grow:g}" y="{y0 - grow:g}" width="{box["w"] + 2 * grow:g}" height="{box["h"] + 2 * grow:g}" '
            f'rx="{corner + grow:g}" {attributes}/>'
        )

    thick = {"input": 1.6, "output": 2.8}.get(node.get("kind", ""), 1.4)
    stage = STAGES.get(node.get("stage", ""), 0)
    look = f"card{f' c{stage}' if stage else ''}{' edge' if thick != 1.4 and not stage else ''}"
    out = [rim(0, f'class="{look}" stroke-width="{thick}"')]
    pile = node.get("kind") == "group"
    if pile:
        under = rim(0, 'class="pile" stroke-width="1"')
        out = [f'<g transform="translate({by} {by})">{under}</g>' for by in (6, 3)] + [rim(0, 'class="card edge" stroke-width="1.6"')]
    if written:
        out.append(rim(0, f'class="t{now} s{now}" stroke-width="3.4"'))
        if step and step.get("phase") == "accumulate":
            out.append(rim(4, f'fill="none" class="s{now}" stroke-width="1.6"'))
    elif read:
        out[-1] = rim(0, f'class="{f"card c{stage}" if stage else "card"} s{now}" stroke-width="2.2" stroke-dasharray="6 4"')
    struck = ' text-decoration="line-through"' if node.get("dangling") else ""
    if pile:
        words = f'class="ink" font-size="14" font-weight="600" text-anchor="middle">{escape(str(node["label"]["base"]))}'
        out.append(f'<text x="{box["x"]:g}" y="{y0 + 20:g}" {words}</text>')
    else:
        words = f'class="math ink" text-anchor="middle"{struck}>{_tspans(heading_runs(node))}'
        out.append(f'<text x="{box["x"]:g}" y="{y0 + 20:g}" {words}</text>')
    if node.get("saved") and kept and any((name, column["key"]) in state for column in columns):
        out.append(f'<rect x="{x0 + box["w"] - 14:g}" y="{y0 - 4:g}" width="8" height="8" class="{kept}"/>')
    if small:
        at = f'x="{box["x"]:g}" y="{y0 + measure.HEAD + 7:g}"'
        out.append(f'<text {at} class="soft" font-size="10.5" text-anchor="middle">{escape(small)}</text>')
    body = y0 + measure.HEAD + (measure.CAPTION if small else 0)
    if columns:
        out.append(f'<path d="M{x0 + 1:g} {body - 1:g}h{box["w"] - 2:g}" class="rule" stroke-width="1"/>')
    out += [
        f'<path d="M{x0 + 4 + 4 * i:g} {y0 + 6:g}v{box["h"] - 12:g}" class="b{stage}" stroke-width="2"/>' for i in range(stage)
    ]  # as many stripes as derivatives were taken
    if node.get("dangling"):
        lines = "".join(f"M{x0 + x:g} {y0 + y:g}L{x0 + u:g} {y0 + v:g}" for (x, y), (u, v) in hatching(box["w"], box["h"]))
        out.append(f'<path d="{lines}" class="wire" stroke-width="1.2" opacity="0.55"/>')
    shape, tall = node.get("shape") or [], measure.row_height(node.get("shape") or [])
    for i, column in enumerate(columns):
        key, y = column["key"], body + 14 + i * tall
        out.append(
            f'<g transform="translate({x0 + measure.SIDE:g} {y:g})" class="f{key} s{key}" stroke-width="0">'
            f'{RING}<g stroke-width="1.3">{ACCENT.get(key, "")}</g></g>'
        )
        if (name, key) in state:
            weight = ' font-weight="700"' if key in written else ""
            right = x0 + box["w"] - measure.SIDE
            for j, line in enumerate(measure.lines_of(state[name, key], shape)):
                text = escape(line.replace(" ", "\u00a0"))
                at = f'x="{right:g}" y="{y + j * measure.LINE:g}"'
                out.append(f'<text {at} class="value f{key}" text-anchor="end"{weight}>{text}</text>')
            heat = heat_of(state[name, key]) if measure.kind_of(shape) == "heat" else None
            if heat:
                out.append(_heat(heat, x0 + measure.SIDE, y + 6, box["w"] - 2 * measure.SIDE, measure.HEAT - 5))
    ghost = ' opacity="0.13"' if name in unborn else ""
    return f"<g{ghost}><title>{escape(plain(heading_runs(node)))}</title>{''.join(out)}</g>"


def _tspans(pieces: Sequence[Run]) -> str:
    level, out = 0, []
    for run in pieces:
        move = f' dy="{(level - run.level) * 4.5:g}"' if run.level != level else ""
        style = (' font-style="italic"' if run.italic else "") + (' font-size="0.72em"' if run.level else "")
        if OVERLINE in run.text:  # one line instead of a piece over each letter, which fonts set at various heights
            style += ' text-decoration="overline"'
        out.append(f"<tspan{move}{style}>{escape(run.text.replace(OVERLINE, ''))}</tspan>")
        level = run.level
    return "".join(out)
