"""Whatever the stepper can mount, in whatever way the place allows: a widget where a kernel runs, a
page and a cell output elsewhere.

A pair of Traces and a grid of them are shown like a single Trace, as one document.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minigrad.viz.page import framed, options_of, page, plain_table, text_table

UNSAVED: weakref.WeakKeyDictionary[Any, weakref.finalize[..., Any]] = weakref.WeakKeyDictionary()
"""What a script was shown and has not saved, with what writes its page when it is dropped."""


def saved(shown: Any) -> None:
    """What was shown has a file: it needs no page of its own."""
    if page_of := UNSAVED.pop(shown, None):
        page_of.detach()


class StepperDocument:
    """A document for the stepper with the Trace that stands for it where nothing moves.

    ``to_html()`` gives the page, ``save(path)`` writes it; left as a cell's last expression, it is
    a cell output without kernel.
    """

    ENDINGS = ".html"

    def __init__(
        self, document: Mapping[str, Any], still: Mapping[str, Any], title: str, **options: Any
    ):
        self.document, self.still, self.title = dict(document), still, title
        self.options = options_of(**options)

    def to_html(self) -> str:
        """The self-contained page."""
        return page(
            self.document,
            self.title,
            plain_table(self.still, self._lang),
            self.options,
            framed=False,
        )

    def save(self, path: str | Path) -> Path:
        """Write the page to a file; returns its path. Raises ValueError for another ending than
        .html.
        """
        target = Path(path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise ValueError(
                f"save: {type(self).__name__} is written as {self.ENDINGS}, not as"
                f" {target.suffix or 'a file without an ending'!r}"
            )
        target.write_text(self.to_html(), encoding="utf-8")
        saved(self)
        return target

    def _repr_html_(self) -> str:
        plain = plain_table(self.still, self._lang)
        return framed(self.document, self.title, plain, self.options, 700, self._link())

    def _link(self) -> str:
        """What stands under a cell output."""
        return ""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __repr__(self) -> str:
        return f"{self.title}\n{text_table(self.still, self._lang)}"

    @property
    def _lang(self) -> str:
        return str(self.options.get("lang", "en"))


def kernel_runs() -> bool:
    """Whether the reader will have a kernel: this process is a notebook's, and is not told by
    MINIGRAD_STATIC that it runs for a page.
    """
    return _in_notebook() and not os.environ.get("MINIGRAD_STATIC")


def runs_for_a_page() -> bool:
    """Whether this process is a notebook's whose outputs are read later, on a page without a
    kernel.
    """
    return _in_notebook() and bool(os.environ.get("MINIGRAD_STATIC"))


def _in_notebook() -> bool:
    """IPython is asked only if it is already at work, never imported for it."""
    ipython = sys.modules.get("IPython")
    shell = (
        ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    )
    return getattr(shell, "kernel", None) is not None
