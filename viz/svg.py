"""One frame of a Trace as a still picture: SVG without any script, for papers, slides, README files and the command line.

After reading this file you know that the still and the stepper are the same drawing: the same layout, the same curves and cards, and the
same colours, read from the stepper's stylesheet. In light and dark surroundings the picture follows the reader's preference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from itertools import pairwise
from typing import Any

from minigrad.trace.replay import state_at
from viz.layout import measure, with_layout
from viz.numbers import brief
from viz.page import asset
from viz.reading import Run, caption, column_of, heading_runs, plain, runs

MARGIN = 16.0
TIP = 8.0  # how far a line stops before its arrow's point
ROUND = {"input": 15, "output": 15, "param": 15, "const": 2}
DASH = {"v": "", "d": ' stroke-dasharray="10 5"', "g": ' stroke-dasharray="0.1 6" stroke-linecap="round"'}
ACCENT = {"d": '<circle cx="5" cy="-11.5" r="1.5" stroke="none"/>', "g": '<path d="M1.5 -11h7"/>'}

_STYLE = """
.math{{font-family:"STIX Two Math","Latin Modern Math","Cambria Math","DejaVu Math TeX Gyre",serif;font-size:16px}}
.value{{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:13px}}
{light}
@media (prefers-color-scheme: dark){{{dark}}}
"""


@cache
def palette() -> dict[str, tuple[str, str]]:
    """The stylesheet's colours as ``{name: (light, dark)}``."""
    found = re.findall(r"--mg-([\w-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)", asset("stepper.css"))
    return {name: (light, dark) for name, light, dark in found}


def to_svg(trace: Mapping[str, Any], step: int | None = None) -> str:
    """The state after ``step`` steps as an SVG document (default: after the last step).

    What the step reads has a dashed outline, what it writes a bold one; its edges carry the pass's colour, dash and direction.

    Raises:
        viz.reading.TraceError: the document is not a Trace.
        ValueError: there is no such step.
    """
    shown = with_layout(trace)
    steps = shown["steps"]
    at = len(steps) if step is None else step
    if not 0 <= at <= len(steps):
        raise ValueError(f"to_svg: step {step} does not exist; this Trace has the states 0 to {len(steps)}")
    current = steps[at - 1] if at > 0 else None
    now = column_of(current) if current else ""
    state = state_at(shown, at).cells
    place = shown["layout"]
    lit = set(current["edges"]) if current else set()
    lines = _words(shown, current, at)
    top = 22.0 * len(lines) + 14
    width = max(place["width"], 2 * MARGIN + max((measure.text_width(line) for line in lines), default=0.0))
    shift = round((width - place["width"]) / 2, 1)

    picture = [_edge(place["edges"][e["id"]]["points"], now if e["id"] in lit else "") for e in _last(shown["edges"], lit)]
    picture += [_card(node, place["nodes"][node["id"]], shown["columns"], state, current, now) for node in shown["nodes"]]
    text = [f'<text x="{MARGIN}" y="{22 * (i + 1)}" class="math ink">{_tspans(line)}</text>' for i, line in enumerate(lines)]
    title = escape(str(shown.get("title") or "evaluation trace"))
    size = f'viewBox="0 0 {width:g} {place["height"] + top:g}" width="{width:g}" height="{place["height"] + top:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" class="mg-frame" font-family="system-ui, DejaVu Sans, sans-serif">'
        f"<title>{title}, step {at} of {len(steps)}</title><style>{_style()}</style>"
        f'<rect width="100%" height="100%" class="surface"/>{"".join(text)}'
        f'<g transform="translate({shift:g} {top:g})">{"".join(picture)}</g></svg>\n'
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
        return out

    sheet = _STYLE.format(light=rules(0), dark=rules(1)).strip()
    return re.sub(r"\.([a-z]+)\{", r".mg-frame .\1{", sheet)  # in a page, the rules reach this picture only


def _words(trace: Mapping[str, Any], step: Mapping[str, Any] | None, at: int) -> list[list[Run]]:
    if step is None:
        return [[Run(str(trace.get("title") or ""))]]
    formula = runs(step.get("formula") or [])
    sentence = f"Step {at} of {len(trace['steps'])}: {step.get('say', '')}"
    return [line for line in (formula, [Run(sentence)]) if line]


def _last(edges: Sequence[Mapping[str, Any]], lit: set[str]) -> list[Mapping[str, Any]]:
    """Lit edges drawn last, on top of those that share their way."""
    return sorted(edges, key=lambda e: e["id"] in lit)


def curve(points: Sequence[Sequence[float]]) -> str:
    """Path data of a smooth curve that is level at its ends and monotone between its points; the same as ``curve`` in stepper.js.

    The slopes are those of F. N. Fritsch and R. E. Carlson, "Monotone piecewise cubic interpolation", SIAM J. Numer. Anal. 17 (1980),
    with the harmonic mean of F. N. Fritsch and J. Butland (1984).
    """
    slopes = [(b[1] - a[1]) / (b[0] - a[0] or 1.0) for a, b in pairwise(points)]
    inner = [2 * s * t / (s + t) if s * t > 0 else 0.0 for s, t in pairwise(slopes)]
    at = [0.0, *inner, 0.0]
    out = [f"M{points[0][0]:g} {points[0][1]:g}"]
    for i, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
        reach = (x1 - x0) * (1 / 3 if at[i] or at[i + 1] else 0.45)
        first, second = f"{x0 + reach:.1f} {y0 + at[i] * reach:.1f}", f"{x1 - reach:.1f} {y1 - at[i + 1] * reach:.1f}"
        out.append(f"C{first} {second} {x1:g} {y1:g}")
    return "".join(out)


def _edge(points: Sequence[Sequence[float]], now: str) -> str:
    (x0, y0), (x1, y1) = points[0], points[-1]
    if now == "g":  # adjoints run backward
        way, tip = [[x0 + TIP, y0], *points[1:]], f"M{x0:g} {y0:g}l10 -4.5v9z"
    else:
        way, tip = [*points[:-1], [x1 - TIP, y1]], f"M{x1:g} {y1:g}l-10 -4.5v9z"
    if not now:
        return f'<path d="{curve(way)}" fill="none" class="wire" stroke-width="1.5"/><path d="{tip}" class="tip"/>'
    return f'<path d="{curve(way)}" fill="none" class="s{now}" stroke-width="3"{DASH[now]}/><path d="{tip}" class="f{now}"/>'


def _card(
    node: Mapping[str, Any],
    box: Mapping[str, float],
    columns: Sequence[Mapping[str, Any]],
    state: Mapping[tuple[str, str], Any],
    step: Mapping[str, Any] | None,
    now: str,
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
    out = [rim(0, f'class="card{" edge" if thick != 1.4 else ""}" stroke-width="{thick}"')]
    if written:
        out.append(rim(0, f'class="t{now} s{now}" stroke-width="3.4"'))
        if step and step.get("phase") == "accumulate":
            out.append(rim(4, f'fill="none" class="s{now}" stroke-width="1.6"'))
    elif read:
        out[0] = rim(0, f'class="card s{now}" stroke-width="2.2" stroke-dasharray="6 4"')
    out.append(f'<text x="{box["x"]:g}" y="{y0 + 20:g}" class="math ink" text-anchor="middle">{_tspans(heading_runs(node))}</text>')
    if small:
        at = f'x="{box["x"]:g}" y="{y0 + measure.HEAD + 7:g}"'
        out.append(f'<text {at} class="soft" font-size="10.5" text-anchor="middle">{escape(small)}</text>')
    body = y0 + measure.HEAD + (measure.CAPTION if small else 0)
    if columns:
        out.append(f'<path d="M{x0 + 1:g} {body - 1:g}h{box["w"] - 2:g}" class="rule" stroke-width="1"/>')
    for i, column in enumerate(columns):
        key, y = column["key"], body + 14 + i * measure.ROW
        out.append(
            f'<g transform="translate({x0 + measure.SIDE:g} {y:g})" class="f{key} s{key}" stroke-width="0">'
            f'<text class="math" font-style="italic" font-size="15">v</text><g stroke-width="1.3">{ACCENT.get(key, "")}</g></g>'
        )
        if (name, key) in state:
            weight = ' font-weight="700"' if key in written else ""
            value = escape(brief(state[name, key]))
            out.append(
                f'<text x="{x0 + box["w"] - measure.SIDE:g}" y="{y:g}" class="value f{key}" text-anchor="end"{weight}>{value}</text>'
            )
    return f"<g><title>{escape(plain(heading_runs(node)))}</title>{''.join(out)}</g>"


def _tspans(pieces: Sequence[Run]) -> str:
    level, out = 0, []
    for run in pieces:
        move = f' dy="{(level - run.level) * 4.5:g}"' if run.level != level else ""
        style = (' font-style="italic"' if run.italic else "") + (' font-size="0.72em"' if run.level else "")
        out.append(f"<tspan{move}{style}>{escape(run.text)}</tspan>")
        level = run.level
    return "".join(out)
