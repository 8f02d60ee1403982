"""A display list as SVG: a class for each role, and one stylesheet for light and dark
surroundings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from minigrad.viz.constants import SHAPE
from minigrad.viz.layout import measure
from minigrad.viz.picture.marks import (
    STYLES,
    Disc,
    Mark,
    MarkGroup,
    PathMark,
    Style,
    TextLine,
    colours,
    style_of,
)
from minigrad.viz.reading import TextRun

FONTS = {
    "math": '"STIX Two Math","Latin Modern Math","Cambria Math","DejaVu Math TeX Gyre",serif',
    "mono": 'ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace',
    "sans": "system-ui,DejaVu Sans,sans-serif",
    "graphviz": "Helvetica,Arial,Liberation Sans,DejaVu Sans,sans-serif",
}
OVERLINE = "\u0305"
HALO = 3
"""The width of the ground behind letters that stand on lines."""


def svg(
    marks: Sequence[Mark],
    width: float,
    height: float,
    *,
    styles: Mapping[str, Style] = STYLES,
    title: str = "",
    lang: str = "en",
    unit: str = "",
    inline: bool = False,
    pixels: tuple[float, float] | None = None,
    dark: bool | None = None,
) -> str:
    """An SVG document of this size that needs no script; its styles apply to this picture alone.

    styles: the roles that the marks play. unit: that of the size, "" (pixels) or "pt". inline: as a
    part of a notebook's page, whose theme it then follows. pixels: the size at which it is shown.
    dark: its colours, by default those that the reader prefers.
    """
    body = "".join(_written(mark, styles) for mark in marks)
    across, down = pixels or (width, height)
    size = f'viewBox="0 0 {width:g} {height:g}" width="{across:g}{unit}" height="{down:g}{unit}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} lang="{lang}" role="img"'
    sheet = stylesheet_of(roles_of(marks), styles, inline, dark)
    return (
        f"{head}"
        f' class="mg-frame"><title>{escape(title)}</title><style>{sheet}</style>{body}</svg>\n'
    )


def roles_of(marks: Iterable[Mark]) -> set[str]:
    """The names of styles that marks use."""
    found: set[str] = set()
    for mark in marks:
        found |= roles_of(mark.marks) if isinstance(mark, MarkGroup) else set(mark.role.split())
    return found


def stylesheet_of(
    roles: Iterable[str],
    styles: Mapping[str, Style] = STYLES,
    inline: bool = False,
    dark: bool | None = None,
) -> str:
    """The rules of some roles: shapes and colours, which are light or dark; by default light, then
    the dark ones for readers who prefer them; inline, also for a notebook that is dark, and not for
    one that is light."""
    used = set(roles)
    chosen = {name: style for name, style in styles.items() if name in used}
    base = ".mg-frame path,.mg-frame circle,.mg-frame rect{fill:none}"
    base += "".join(_rule(name, style, colours(bool(dark)), True) for name, style in chosen.items())
    if dark is not None:
        return base

    def darker(within: str) -> str:
        rules = (_rule(name, style, colours(True), False) for name, style in chosen.items())
        return "".join(f"{within}{rule}" for rule in rules if rule)

    if not inline:
        return f"{base}@media (prefers-color-scheme:dark){{{darker('')}}}"
    preferred = (
        f"@media (prefers-color-scheme:dark){{{darker(':not([data-jp-theme-light=true] *)')}}}"
    )
    return f"{base}{preferred}{darker('[data-jp-theme-light=false] ')}"


def _rule(name: str, style: Style, colour: Mapping[str, str], shapes: bool) -> str:
    said = [
        f"{key}:{colour.get(style[key], style[key])}" for key in ("fill", "stroke") if key in style
    ]
    if "halo" in style:
        said.append(f"stroke:{colour[style['halo']]}")
    if shapes:
        said += _shape(style)
    return f".mg-frame .{name}{{{';'.join(said)}}}" if said else ""


def _shape(style: Style) -> list[str]:
    """The declarations of a style that say nothing about colours."""
    said = [f"stroke-width:{style['width']:g}"] if "width" in style else []
    if "dash" in style:
        said.append("stroke-dasharray:" + (" ".join(f"{v:g}" for v in style["dash"]) or "none"))
    said += ["stroke-linecap:round"] if style.get("round") else []
    said += [f"opacity:{style['opacity']:g}"] if "opacity" in style else []
    said += [f"font-family:{FONTS[style['font']]}"] if "font" in style else []
    said += [f"font-size:{style['size']:g}px"] if "size" in style else []
    said += ["font-weight:700"] if style.get("bold") else []
    said += [f"stroke-width:{HALO};paint-order:stroke"] if "halo" in style else []
    return said


def _written(mark: Mark, styles: Mapping[str, Style]) -> str:
    if isinstance(mark, MarkGroup):
        return _group(mark, styles)
    if isinstance(mark, TextLine):
        return _text(mark, style_of(mark.role, styles).get("font") == "graphviz")
    look = f'class="{mark.role}"'
    if isinstance(mark, PathMark):
        return f'<path d="{mark.path}" {look}/>'
    if isinstance(mark, Disc):
        return f'<circle cx="{mark.x:g}" cy="{mark.y:g}" r="{mark.radius:g}" {look}/>'
    size = f'width="{mark.width:g}" height="{mark.height:g}"'
    corner = f' rx="{mark.radius:g}"' if mark.radius else ""
    return f'<rect x="{mark.x:g}" y="{mark.y:g}" {size}{corner} {look}/>'


def _group(group: MarkGroup, styles: Mapping[str, Style]) -> str:
    inner = "".join(_written(mark, styles) for mark in group.marks)
    look = f' opacity="{group.opacity:g}"' if group.opacity != 1 else ""
    if group.shift != (0.0, 0.0):
        look += f' transform="translate({group.shift[0]:g} {group.shift[1]:g})"'
    if not look and not group.title:
        return inner
    return f"<g{look}>{f'<title>{escape(group.title)}</title>' if group.title else ''}{inner}</g>"


def _text(mark: TextLine, exact: bool) -> str:
    """A text; exact: its letters take the width that the mark says, whatever the font."""
    look = f' text-anchor="{mark.anchor}"' if mark.anchor != "start" else ""
    look += ' text-decoration="line-through"' if mark.struck else ""
    if exact or ("shape" in mark.role.split() and len(mark.text) * SHAPE["letter"] > mark.space):
        look += f' textLength="{mark.space:.0f}" lengthAdjust="spacingAndGlyphs"'
    if isinstance(mark.text, str):
        inner = escape(mark.text.replace(" ", "\u00a0") if "value" in mark.role else mark.text)
    else:
        inner = _spans(mark.text)
    return f'<text x="{mark.x:g}" y="{mark.y:g}" class="{mark.role}"{look}>{inner}</text>'


def _spans(runs: Sequence[TextRun]) -> str:
    level, out = 0, []
    for run in runs:
        move = f' dy="{(level - run.level) * 4.5:g}"' if run.level != level else ""
        look = ' font-style="italic"' if run.italic else ""
        look += f' font-size="{measure.SMALLER}em"' if run.level else ""
        if OVERLINE in run.text:  # one line, not a piece over each letter, which fonts set unevenly
            look += ' text-decoration="overline"'
        out.append(f"<tspan{move}{look}>{escape(run.text.replace(OVERLINE, ''))}</tspan>")
        level = run.level
    return "".join(out)
