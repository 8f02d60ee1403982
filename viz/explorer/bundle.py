"""The page's scripts as one module: the files of static/, the generated rules, and the viewer."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from minigrad.viz import bundle
from minigrad.viz.explorer.javascript import rules
from minigrad.viz.squeeze import squeezed_style

STATIC = Path(__file__).parent / "static"


_ELSEWHERE = ("jacobian", "arrays", "buffers", "element")
"""Views of Traces of several passes, of arrays and of Programs, which the page never makes."""


def modules(name: str, *, whole: bool = False) -> dict[Path, str]:
    """A module of static/ and all that it imports, as they are read, with the generated rules.
    whole: with all of the viewer."""
    generated = {"static/rules.js": rules()}
    smaller = {
        **bundle.of_numbers(),
        **bundle.OF_ONE_PASS,
        **bundle.OF_ONE_TRACE,
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


_GROWN = re.compile(r"\.mg-stage-[1-9]")
"""Styles of graphs that grow, which the page has none of."""


@cache
def script() -> str:
    """The page and the viewer as one ES module that imports nothing, with those words of the
    interface that it can show."""
    return bundle.with_its_words(bundle.in_english(joined("explore.js")), _ELSEWHERE)


@cache
def stylesheet() -> str:
    """The viewer's styles and the page's, squeezed: the rules whose classes the page has."""
    text = bundle.stylesheet() + "\n" + (STATIC / "page.css").read_text(encoding="utf-8")
    return bundle.with_its_rules(squeezed_style(text), script(), _GROWN)
