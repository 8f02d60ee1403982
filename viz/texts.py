"""The interface's words in each language, read from the table that the viewer itself uses.

A still, a film and a page use the same words: there is one table, ``static/viewer/texts.js``, and
the pictures that Python makes take their words from there, as they take their colours from the
viewer's stylesheet. The titles of the further views are in the views' own files.
"""

from __future__ import annotations

import json
import re
from functools import cache

from minigrad.viz.bundle import STATIC
from minigrad.viz.prepared import prepared

LANGUAGES = ("en", "zh")
"""Languages of the interface."""

_SECTION = re.compile(r"^  (\w+): \{\n(.*?)^  \},\n", re.M | re.S)
_COMMENT = re.compile(r"^ *//.*\n", re.M)
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_ENTRY = re.compile(rf"(\w+):\s+({_STRING}(?:\s\+\s+{_STRING})*)")


_LISTED_VIEW = re.compile(r"^  (\w+)View,$", re.M)
_VIEW = re.compile(r'View = \{\n  name: "(\w+)",\n  title: \{(.*?)\},\n', re.S)


def _entries(part: str) -> dict[str, str]:
    return {
        name: "".join(map(json.loads, re.findall(_STRING, text)))
        for name, text in _ENTRY.findall(_COMMENT.sub("", part))
    }


@prepared
def views() -> dict[str, dict[str, str]]:
    """The views beside graph and table, in their order: by the name that ``views=`` gives one, its
    title in each language. Two views may share a name: a Trace has what one of them needs.

    Raises:
        ValueError: a file that does not begin its view with a name and a title.
    """
    folder = STATIC / "viewer"
    found: dict[str, dict[str, str]] = {}
    for stem in _LISTED_VIEW.findall((folder / "views.js").read_text(encoding="utf-8")):
        path = folder / "views" / f"{stem}.js"
        view = _VIEW.search(path.read_text(encoding="utf-8"))
        if view is None:
            raise ValueError(
                f"views/{path.name}: {stem}View must begin with its name and its title, as in"
                ' name: "story", title: { en: "Every step so far" }'
            )
        found.setdefault(view[1], {}).update(_entries(view[2]))
    return found


@prepared
def texts() -> dict[str, dict[str, str]]:
    """The table: ``{language: {name: text with {blanks}}}``. A view's title has the name
    ``view_NAME``.
    """
    table = (STATIC / "viewer" / "texts.js").read_text(encoding="utf-8")
    titles = views().items()
    return {
        lang: _entries(part) | {f"view_{name}": t[lang] for name, t in titles if lang in t}
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
