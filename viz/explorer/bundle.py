"""The page's scripts as one module: the files of static/, the generated rules, and the viewer."""

from __future__ import annotations

import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

from minigrad.viz import bundle
from minigrad.viz.explorer.javascript import rules

STATIC = Path(__file__).parent / "static"


_ELSEWHERE = ("jacobian", "arrays", "buffers")
"""Views of Traces of several passes, of arrays and of Programs, which the page never makes."""


def write_modules(folder: Path) -> Path:
    """The modules as they are read, with `rules.js` beside those that import it. Returns where the
    page's own are."""
    own = folder / "explorer" / "static"
    shutil.copytree(bundle.STATIC, folder / "static", dirs_exist_ok=True)
    shelf = folder / "static" / "viewer" / "views.js"
    lines = shelf.read_text(encoding="utf-8").splitlines(keepends=True)
    left = [line for line in lines if not any(f"{name}View" in line for name in _ELSEWHERE)]
    shelf.write_text("".join(left), encoding="utf-8")
    shutil.copytree(STATIC, own, dirs_exist_ok=True)
    (own / "rules.js").write_text(rules(), encoding="utf-8")
    return own


def joined(name: str) -> str:
    """A module of static/ and what it imports, as one ES module."""
    with tempfile.TemporaryDirectory() as folder:
        return bundle.joined(write_modules(Path(folder)) / name)


@cache
def engine() -> str:
    """The engine as one ES module that imports nothing. It declares `differentiate`,
    `compileFormula` and `FormulaError`."""
    return joined("engine.js")


# The page speaks English, and shows neither trainings nor two Traces: these words, the last of a
# language, and those of other languages would be a tenth of it.
_OTHER_PICTURES = re.compile(r"^    // trainings\n.*?^  \},\n", re.M | re.S)
_OTHER_LANGUAGES = re.compile(r"^  (?!en:)[a-z]{2}: \{\n.*?^  \},\n", re.M | re.S)


@cache
def script() -> str:
    """The page and the viewer as one ES module that imports nothing."""
    text = joined("explore.js")
    start = text.index("const TEXTS = {")
    end = text.index("\n};", start) + 1
    words = _OTHER_PICTURES.sub("  },\n", _OTHER_LANGUAGES.sub("", text[start:end]))
    return text[:start] + words + text[end:]


@cache
def stylesheet() -> str:
    """The viewer's styles and the page's."""
    return bundle.stylesheet() + "\n" + (STATIC / "page.css").read_text(encoding="utf-8")
