"""A formula of TeX as one line of text, for the excerpts of the site's search: v̄1 = ∂y/∂v1.

docutils, which Sphinx brings along, reads the formula into MathML.
"""

from __future__ import annotations

import re
import unicodedata
from xml.etree import ElementTree

ACCENTS = {"ˉ": "\u0304", "˙": "\u0307", "^": "\u0302", "~": "\u0303", "→": "\u20d7"}
"""The combining characters of signs above a letter."""
SPACED = frozenset("=+−⋅×→↦≤≥<>≈≠∈≔←∘⊙")
POWERS = str.maketrans("0123456789−⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ")
ROWS = ("mtable", "mtr")
# words of TeX that docutils does not know, most of them about spaces and sizes alone
UNKNOWN = {
    r"\\(?:math(?:rel|bin|op|ord)|[lr]?[Bb]igg?[lr]?|displaystyle)\b": "",
    r"\\(?:dots|d)\b|…": r"\\ldots ",
    r"\{split\}": "{aligned}",
    r"\\texttt\b": r"\\mathtt",
}
APPLIED = "\u2061"


def math_text(formula: str) -> str:
    """The text of a formula; without its backslashes where docutils cannot read it."""
    from docutils.utils.math import MathError
    from docutils.utils.math.latex2mathml import tex2mathml

    for word, known in UNKNOWN.items():
        formula = re.sub(word, known, formula)
    try:
        made = tex2mathml(formula).replace("&ApplyFunction;", APPLIED)
        text = _text(ElementTree.fromstring(re.sub(r"&[A-Z]\w+;", "", made)))
    except (MathError, ElementTree.ParseError):
        text = re.sub(r"\\[a-z]+|[\\{}$]", " ", formula, flags=re.IGNORECASE)
    text = text.replace(f"{APPLIED}(", "(").replace(APPLIED, " ")
    text = re.sub(r"(^|[(\[,=+⋅] ?)− (?=\S)", r"\1−", " ".join(text.split()))
    return unicodedata.normalize("NFC", text.replace("( ", "("))


def _text(element: ElementTree.Element) -> str:
    kind = element.tag.rpartition("}")[2]
    inside = [_text(part) for part in element]
    if kind == "mo":
        sign = element.text or ""
        return f" {sign} " if sign in SPACED else f"{sign} " if sign == "," else sign
    if kind in ("mover", "munderover") and inside[-1].strip() in ACCENTS:
        # docutils puts the index of a letter with a bar below it
        return inside[0] + ACCENTS[inside[-1].strip()] + "".join(inside[1:-1])
    if kind == "mfrac":
        return "/".join(f"({part})" if " " in part.strip() else part for part in inside)
    if kind == "msqrt":
        return f"√({''.join(inside)})"
    if kind in ("msup", "msubsup"):
        *base, power = inside
        power = power.replace(" ", "") if power.startswith(" −") else power.strip()
        raised = power.translate(POWERS)
        known = all(ord(letter) in POWERS for letter in power)
        return "".join(base) + (
            raised if known else f"^{power if len(power) == 1 else f'({power})'}"
        )
    if kind == "munderover":  # a sum, without its limits
        return inside[0]
    if kind in ROWS:
        return ", ".join(inside)
    return "".join(inside) or element.text or ""
