"""JavaScript and CSS without comments and without the spaces that they do not need, so that a page
stays small."""

from __future__ import annotations

import re
from functools import cache

_TEXT = r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
_CLASS = r"\[(?:[^\\\]\n]|\\.)*\]"
# a regular expression: no operand stands before it
_PATTERN = (
    r"/(?:(?<=\breturn /)|(?<![\w$)\]]/)(?<![\w$)\]] /))"
    rf"(?:\\.|{_CLASS}|[^\\/*\[\n])(?:\\.|{_CLASS}|[^\\/\[\n])*/"
)


def _template(depth: int) -> str:
    """A template literal whose braces hold others, so deep."""
    if not depth:
        return "(?!)"
    within = "(?!)"
    for _ in range(2):  # braces in braces
        within = rf"(?:[^{{}}`\"'/]|{_TEXT}|{_PATTERN}|/|{_template(depth - 1)}|\{{{within}*\}})"
    return rf"`(?:[^`\\$]|\\.|\$(?!\{{)|\$\{{{within}*\}})*`"


_WHOLE = re.compile(rf"{_TEXT}|{_template(2)}|//[^\n]*|/\*.*?\*/|{_PATTERN}", re.S)
"""What is taken as it stands, and comments."""

# Each begins with a character that is looked for: what stands before it is tested second, since
# `re` would test it at every place.
_SPACES = (
    (r" (?:(?=[{}()\[\];,<>=!?:&|*%^~.])|(?<=[{}()\[\];,<>=!?:&|*%^~.] ))", ""),
    (r" (?:(?<=return )|(?<=case ))(?=\0)|(?<=[}\])\0]) (?=of |in )", ""),
    # two signs in a row mean something else
    (r" (?:(?<=[\w$\0] )(?=[+\-/])|(?<=[+\-] )(?=[\w$\0])|(?<=/ )(?=[\w$]))", ""),
    # no statement begins with these, and none ends with those
    (r"\n(?:(?=[}\]).?:&|=,;])|(?<=[{(\[,;>&|=?:]\n)|(?<=[)+*/]\n)(?![+\-([]))", ""),
    (r",(?<=[^,\[],)(?=[}\])])", ""),
    (r";(?=\})", ""),  # (no loop here has an empty body)
    (r"(?<=\})\n", ""),  # a block ends here: after an expression stands a semicolon
    # shorter words for what is the same to a program that runs
    (r"\((?<![\w$)\]]\()(\w+)\)(?==>)", r"\1"),
    (r"0(?<![\w.$]0)(?=\.\d)", ""),
    (r"true(?<![\w.$]true)\b(?!:)", "!0"),
    (r"false(?<![\w.$]false)\b(?!:)", "!1"),
    (r"undefined(?<![\w.$]undefined)\b(?!:)", "void 0"),
    (r"const(?<![\w.$]const)(?=[ {\[])", "let"),
    (r"let (?<![\w.$(]let )[^;{}]*;(?:let [^;{}]*;)*let ", lambda m: m[0].replace(";let ", ",")),
)


@cache
def squeezed_style(text: str) -> str:
    """A stylesheet without comments and without the spaces that it does not need."""
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    spaced = " ".join(bare.split()).replace(": ", ":").replace(" > ", ">")
    tight = re.sub(" (?:(?=[{};,])|(?<=[{};,] ))", "", spaced)
    tight = tight.replace("transparent", "#0000").replace("@media (", "@media(")
    tight = re.sub(r"#(\w)\1(\w)\2(\w)\3\b", r"#\1\2\3", tight)  # of colours
    return re.sub(r"0(?<![\w.-]0)(?=\.\d)", "", tight).replace(";}", "}").strip() + "\n"


@cache
def squeezed(text: str) -> str:
    """A program in fewer characters."""
    whole: list[str] = []

    def taken(found: re.Match[str]) -> str:
        if found[0].startswith(("//", "/*")):
            return ""
        whole.append(found[0])
        return "\0"

    lines = map(str.strip, _WHOLE.sub(taken, text).split("\n"))
    bare = "\n".join(filter(None, lines)).replace("\t", " ")
    while "  " in bare:
        bare = bare.replace("  ", " ")
    for spaces, fewer in _SPACES:
        bare = re.sub(spaces, fewer, bare)
    pieces = bare.strip().split("\0")
    return "".join(a + b for a, b in zip(pieces, [*whole, "\n"], strict=True))
