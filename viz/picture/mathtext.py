r"""A formula's tokens as matplotlib's mathtext, with the colours that the page gives its numbers.

The frames get real fractions, dots and bars without any TeX on the machine: matplotlib parses a
subset of TeX itself and carries the STIX fonts. A formula is set piece by piece, as matplotlib
gives a text one colour only: each piece knows its colour and the space it wants on either side, and
:func:`lines` breaks a long formula before an equals sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from minigrad.viz.constants import SPACED
from minigrad.viz.numbers import short
from minigrad.viz.reading import TextRun, is_sign

ACCENTS = {"dot": r"\dot", "bar": r"\bar"}
OPERATORS = {"·": r"\cdot", "×": r"\times", "−": "-", "→": r"\rightarrow", "←": r"\leftarrow",
    "≈": r"\approx", "≤": r"\leq", "≥": r"\geq",
             "≠": r"\neq", "∂": r"\partial ", "+=": r"{+}\!{=}"}  # fmt: skip
SAFE = {"$": r"\$", "%": r"\%", "{": r"\{", "}": r"\}", "_": r"\_", "#": r"\#", "\"": "\u201d",
        "\\": r"\backslash ", "^": "\u02c6", "~": "\u223c",
        "'": "\u2019", "`": "\u2018", " ": r"\ ", "\u2009": r"\,", "−": "{-}", "-": "{-}",
        ",": "{,}",
        "\n": r"\ ", "\t": r"\ "}  # fmt: skip
PUNCTUATION = re.compile(r"(?<!\d)\.|\.(?!\d)|[;!]")
"""What mathtext would set space behind, as in model. 0. weight."""
SPACE = 0.26
"""Space on either side of an operator, in em."""


class Tex(str):
    """A text that is mathtext, without its dollars."""


class FormulaPart(NamedTuple):
    """A part of a formula: its mathtext without the dollars, the column that colours it ("" for
    ink), space before and after in em.
    """

    tex: str
    column: str = ""
    before: float = 0.0
    after: float = 0.0


def safe(text: str) -> str:
    """Text that mathtext takes literally."""
    literal = "".join(SAFE.get(ch, ch) for ch in text)
    return PUNCTUATION.sub(r"\g<0>\\hspace{-0.2}", literal)


def upright(text: str) -> str:
    """Numbers and words: not slanted."""
    return rf"\mathrm{{{safe(text)}}}" if text else ""


def symbol(label: Mapping[str, Any]) -> str:
    """A label or a symbol token with its accent, subscript and superscript; a bar spans a name
    of several letters.
    """
    base, accent = str(label.get("base", "")), ACCENTS.get(str(label.get("accent", "")), "")
    long = len(base) > 1
    out = rf"\mathit{{{safe(base)}}}" if long else safe(base)
    if accent:
        out = rf"\overline{{{out}}}" if long and accent == ACCENTS["bar"] else f"{accent}{{{out}}}"
    sub, sup = str(label.get("sub") or ""), str(label.get("sup") or "")
    return out + (f"_{{{upright(sub)}}}" if sub else "") + (f"^{{{upright(sup)}}}" if sup else "")


def tex(tokens: Iterable[Mapping[str, Any]]) -> str:
    """Tokens as one mathtext string, for the inside of a fraction, a root or a power."""
    return "".join(
        (
            rf"\,{piece.tex}\,"
            if piece.before and piece.after
            else piece.tex + (r"\," if piece.after else "")
        )
        for piece in pieces(tokens)
    )


def pieces(tokens: Iterable[Mapping[str, Any]]) -> list[FormulaPart]:
    """Tokens as pieces, each with its colour and space."""
    out: list[FormulaPart] = []
    line = list(tokens)
    for i, token in enumerate(line):
        kind, text = token.get("t"), str(token.get("text", ""))
        following = line[i + 1].get("text") if i + 1 < len(line) else "("
        if kind == "sym":
            column = str(token.get("col") or "")
            out.append(FormulaPart(symbol(token), column if token.get("accent") else ""))
        elif kind == "num":
            out.append(FormulaPart(upright(short(token["value"])), str(token.get("col") or "")))
        elif kind == "op":
            space = SPACE if text in SPACED and not is_sign(line, i) else 0.0
            out.append(
                FormulaPart(
                    OPERATORS.get(text) or upright(text), "", space, SPACE if text == "," else space
                )
            )
        elif kind == "fn":
            out.append(FormulaPart(upright(text), "", 0.0, 0.0 if following == "(" else 0.18))
        elif kind == "frac":
            out.append(
                FormulaPart(
                    rf"\dfrac{{{tex(token['num']) or ' '}}}{{{tex(token['den']) or ' '}}}",
                    "",
                    0.06,
                    0.06,
                )
            )
        elif kind == "sup":
            base = tex(token["base"])
            base = (
                base
                if len(token["base"]) == 1 and token["base"][0].get("t") in ("sym", "num")
                else f"({base})"
            )
            out.append(FormulaPart(f"{{{base}}}^{{{tex(token['exp'])}}}"))
        elif kind == "sqrt":
            out.append(FormulaPart(rf"\sqrt{{{tex(token['of']) or ' '}}}"))
        else:
            out.append(FormulaPart(upright(text), "", 0.2, 0.2))
    return [piece for piece in out if piece.tex]


def of_runs(runs: Sequence[TextRun]) -> str:
    """A card's heading, which the other pictures set from runs, as mathtext."""
    out = ""
    joined: list[TextRun] = []
    for run in runs:  # an exponent of several pieces, as in e^v₄, is one exponent
        if joined and run.level and joined[-1].level == run.level:
            joined[-1] = TextRun(
                joined[-1].text + run.text, joined[-1].italic and run.italic, run.level
            )
        else:
            joined.append(run)
    for run in joined:
        text = run.text
        if text.strip() in SPACED:  # mathtext sets the space around operators itself
            sign = OPERATORS.get(text.strip()) or text.strip()
            # a minus before a single operand stands close to it
            out += sign if text != text.strip() else f"{{{sign}}}"
            continue
        letters = rf"\mathit{{{safe(text)}}}" if run.italic else upright(text)
        out += (
            letters if run.level == 0 else f"_{{{letters}}}" if run.level < 0 else f"^{{{letters}}}"
        )
    return out


def size(mathtext: str, font: float) -> tuple[float, float, float]:
    """Width, height above the baseline and depth below it of a mathtext string, in the unit of
    ``font`` (points or pixels).

    A string that mathtext cannot read (a label in a script that its grammar has no place for) has
    the size of a guess; :func:`drawable` says so.
    """
    wide, up, down = _measured(mathtext) or (0.6 * len(mathtext), 0.8, 0.2)
    return wide * font, up * font, down * font


def drawable(mathtext: str) -> bool:
    """Whether matplotlib can read a mathtext string and its fonts have the letters: those of
    East Asia are in none of them.
    """
    return _measured(mathtext) is not None


@lru_cache(maxsize=4096)
def _measured(mathtext: str) -> tuple[float, float, float] | None:
    """The size of a mathtext string in em, or None if it is not drawable. A string is parsed
    once for all font sizes.
    """
    if any(ord(ch) >= 0x2E80 for ch in mathtext):
        return None
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import MathTextParser

    # sizes are whole pixels; at 720 dpi, 1000 for an em
    properties = FontProperties(size=100, math_fontfamily="stix")
    try:
        found = MathTextParser("path").parse(f"${mathtext}$", dpi=720, prop=properties)
    except (ValueError, RuntimeError):
        return None
    wide, high, deep = (float(v) / 1000 for v in found[:3])
    return wide, high - deep, deep


def width(line: Sequence[FormulaPart], font: float) -> float:
    """Width of a line of pieces."""
    return sum(size(piece.tex, font)[0] + (piece.before + piece.after) * font for piece in line)


def lines(parts: Sequence[FormulaPart], font: float, space: float) -> list[list[FormulaPart]]:
    """The pieces in as many lines as fit into ``space``, broken before "=" and "≈" where possible;
    a piece wider than that stands alone.
    """
    groups: list[list[FormulaPart]] = [[]]
    for piece in parts:
        if piece.tex in (upright("="), OPERATORS["+="], OPERATORS["≈"]) and groups[-1]:
            groups.append([])
        groups[-1].append(piece)
    out: list[list[FormulaPart]] = [[]]
    for group in groups:
        if out[-1] and width([*out[-1], *group], font) > space:
            out.append([])
        if width(group, font) <= space:
            out[-1] += group
            continue
        for piece in group:  # one side of the equation is too long for a line
            if out[-1] and width([*out[-1], piece], font) > space:
                out.append([])
            out[-1].append(piece)
    return [line for line in out if line]
