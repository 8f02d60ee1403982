"""The page's scripts as one module: the files of static/, the generated rules, and the viewer."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from minigrad.viz import bundle
from minigrad.viz.explorer.javascript import rules
from minigrad.viz.squeeze import squeezed_style

STATIC = Path(__file__).parent / "static"


_ELSEWHERE = ("jacobian", "arrays", "buffers", "element")
"""Views of Traces of several passes, of arrays and of Programs, which the page never makes."""

_OF_ONE_PASS = """
export const sentence = ({ say }) => say, passText = () => "", namesOf = () => null;
export const explained = passText;
export const phaseOf = ({ phase }, t) => t(phase);
export const decidedLines = () => [];
"""
"""The viewer's module of sentences as it is in one pass that is told in English."""

_OF_ONE_TRACE = """
export const cellsBeside = () => ({ get: () => undefined, shown: () => undefined });
export const markBeside = () => null, legendBeside = markBeside, widenBeside = markBeside;
export const unlikeText = () => "";
"""
"""The viewer's module of comparisons as it is for one Trace."""


def _of_numbers() -> str:
    """The viewer's constants without those of the shapes on edges."""
    constants = json.loads((bundle.STATIC / "viewer" / "constants.json").read_text("utf-8"))
    return json.dumps({name: held for name, held in constants.items() if name != "shape"})


def modules(name: str, *, whole: bool = False) -> dict[Path, str]:
    """A module of static/ and all that it imports, as they are read, with the generated rules.
    whole: with all of the viewer."""
    generated = {"static/rules.js": rules()}
    smaller = bundle.OF_NUMBERS | {
        "viewer/speech.js": _OF_ONE_PASS,
        "viewer/beside.js": _OF_ONE_TRACE,
        "viewer/constants.json": _of_numbers(),
    }
    without = () if whole else _ELSEWHERE
    return bundle.parts(STATIC / name, without, generated | ({} if whole else smaller))


def joined(name: str, *, whole: bool = False) -> str:
    """A module of static/ and what it imports, as one ES module."""
    return bundle.as_one(modules(name, whole=whole))


@cache
def viewer_with_engine() -> str:
    """The whole viewer, which shows documents of the schema minigrad.function/1, too."""
    return joined("sliders.js", whole=True)


@cache
def engine() -> str:
    """The engine as one ES module that imports nothing. It declares `differentiate`,
    `compileFormula` and `FormulaError`."""
    return joined("engine.js")


# The page speaks English, and shows neither trainings nor two Traces nor graphs that grow.
_WORD = re.compile(r'^    (\w+):\s*"(?:[^"\\]|\\.)*"(?:\s*\+\s*"(?:[^"\\]|\\.)*")*,\n', re.M)
_RULE = re.compile(r"([^{}]+)\{[^{}]*\}")
_EMPTY = re.compile(r"@[^{};]+\{\}")
_GROWN = re.compile(r"\.mg-stage-[1-9]")
_CLASS = re.compile(r"\.(mgx?-[\w-]+)")
_INSIDE = re.compile(r"\([^()]*\)")


class _Mentioned:
    """Whether a program has a word, or begins it: as `stage${n}` begins `stage1`. quoted: as a text
    of its own."""

    def __init__(self, program: str, *, quoted: bool = False) -> None:
        self.words = set(re.findall(r"""["'`](\w+)["'`]""" if quoted else r"[\w-]+", program))
        self.beginnings = tuple(re.findall(r"([\w-]{3,})\$\{", program))

    def __call__(self, word: str) -> bool:
        return word in self.words or word.startswith(self.beginnings)


@cache
def script() -> str:
    """The page and the viewer as one ES module that imports nothing, with those words of the
    interface that it can show."""
    before, words, after = bundle.around_texts(bundle.in_english(joined("explore.js")))
    mentioned = _Mentioned(before + after, quoted=True)
    return before + _WORD.sub(lambda w: w[0] if mentioned(w[1]) else "", words) + after


@cache
def stylesheet() -> str:
    """The viewer's styles and the page's, squeezed: the rules whose classes the page has."""
    text = bundle.stylesheet() + "\n" + (STATIC / "page.css").read_text(encoding="utf-8")
    mentioned = _Mentioned(script())

    def kept(rule: re.Match[str]) -> str:
        selectors = _INSIDE.sub("", _INSIDE.sub("", rule[1])).split(",")
        shown = any(all(map(mentioned, _CLASS.findall(one))) for one in selectors)
        return rule[0] if shown and not _GROWN.search(rule[1]) else ""

    return _EMPTY.sub("", _RULE.sub(kept, squeezed_style(text)))
