"""The interface's words in each language, read from the table that the viewer itself uses.

A still, a film and a page use the same words: there is one table, ``static/viewer/texts.js``, and
the pictures that Python makes take their words from there, as they take their colours from the
viewer's stylesheet.
"""

from __future__ import annotations

import json
import re
from functools import cache

from minigrad.viz.bundle import STATIC

LANGUAGES = ("en", "zh")
"""Languages of the interface."""

_SECTION = re.compile(r"^  (\w+): \{\n(.*?)^  \},\n", re.M | re.S)
_COMMENT = re.compile(r"^ *//.*\n", re.M)
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_ENTRY = re.compile(rf"(\w+):\s+({_STRING}(?:\s\+\s+{_STRING})*)")


@cache
def texts() -> dict[str, dict[str, str]]:
    """The table: ``{language: {name: text with {blanks}}}``."""
    table = (STATIC / "viewer" / "texts.js").read_text(encoding="utf-8")
    return {
        lang: {
            name: "".join(map(json.loads, re.findall(_STRING, text)))
            for name, text in _ENTRY.findall(_COMMENT.sub("", part))
        }
        for lang, part in _SECTION.findall(table)
    }


class Words:
    """The texts of one language: ``t("counter", k=1, n=9)`` is one of them with its blanks filled
    in.

    What the language lacks is said in English; what English lacks too is the name itself, which
    keeps another engine's own words readable.
    """

    def __init__(self, lang: str) -> None:
        self.lang, self._texts = lang, {**texts()["en"], **texts()[lang]}

    @property
    def foreign(self) -> bool:
        """Whether the Trace's own sentences, which are English, must be rebuilt."""
        return self.lang != "en"

    def __call__(self, name: str, /, **blanks: object) -> str:
        return (
            re.sub(r"\{(\w+)\}", lambda blank: str(blanks.get(blank[1], "")), self._texts[name])
            if name in self._texts
            else name
        )


@cache
def words(lang: str = "en") -> Words:
    """The words of a language. Raises ValueError for one that the table does not have."""
    if lang not in LANGUAGES:
        raise ValueError(
            f"there are no texts in {lang!r}; the languages are {', '.join(LANGUAGES)}"
        )
    return Words(lang)
