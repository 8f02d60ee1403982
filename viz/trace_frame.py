"""A Trace as a notebook's cell output without a kernel, which can be written to a file, too."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from minigrad.viz import scale
from minigrad.viz.hosts import saved
from minigrad.viz.layout import placed
from minigrad.viz.page import framed, link, options_of, plain_table, recorded, text_table
from minigrad.viz.reading import check
from minigrad.viz.texts import words


class TraceFrame:
    """A Trace as a notebook's cell output that needs neither a widget nor a kernel. Show it by
    leaving it as a cell's last expression.
    """

    def __init__(
        self, trace: Mapping[str, Any], step: int = 0, lang: str = "en", views: Sequence[str] = ()
    ):
        self.options = options_of(step, lang, views)
        self.trace = dict(trace) if scale.too_large(check(trace)) else placed(trace)
        self.step = step

    def save(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write what is shown to a file, by its ending and with the options of
        :func:`minigrad.viz.save`; a page opens at the present step. Returns its path.
        """
        from minigrad.viz.export import save, suffix

        own = {"lang": self.options["lang"]} if "lang" in self.options else {}
        if suffix(path) == "html":
            own = self.options
        written = save(self.trace, path, **{**own, **options})
        saved(self)
        return written

    def _repr_html_(self) -> str:
        lang = self.options.get("lang", "en")
        title = str(self.trace.get("title") or words(lang)("untitled"))
        if scale.too_large(self.trace):
            return scale.as_html(scale.overview(self.trace), lang)
        plain = plain_table(self.trace, lang)
        tall = 330 + round(
            min(560.0, max(self.trace["layout"]["height"], 34.0 * (1 + len(self.trace["nodes"]))))
        )
        below = link(self.trace, self.options) or recorded(self.trace, self.options)
        return framed(self.trace, title, plain, self.options, tall, below)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __repr__(self) -> str:
        return text_table(self.trace, self.options.get("lang", "en"))


def iframe(
    trace: Mapping[str, Any], step: int = 0, lang: str = "en", views: Sequence[str] = ()
) -> TraceFrame:
    """The stepper for a notebook cell without widgets: an object whose rich form is a plain table
    followed by the page in an iframe.

    In a trusted notebook the table folds away as soon as the viewer is alive; in an untrusted one,
    where scripts and frames are removed, the table is what remains. The plain-text form is the text
    table.
    """
    return TraceFrame(trace, step, lang, views)
