"""A bar that shows how far a loop is: tqdm's, on a terminal and in a notebook. Without tqdm there
are plain lines instead, and a hint.

A script's bar goes to standard error, so that its output can be kept in a file. Notebooks colour
standard error as if something had gone wrong; there the bar is a widget, or, without ipywidgets,
text on standard output.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sized
from importlib import import_module
from importlib.util import find_spec
from time import monotonic
from typing import Any, TextIO

PAUSE = 10.0
"""Seconds between two plain lines."""


def progress(
    items: Iterable[Any],
    *,
    total: int | None = None,
    unit: str = "step",
    label: str = "",
    show: bool | None = None,
) -> Iterator[Any]:
    """Iterate over the items, with a bar that says how many there were, how many will come, and
    when the last one will be done.

    total: how many there are (default: `len(items)` where that is known); unit: what one is called;
    label: what stands before the bar.
    show: True and False say whether to show anything; None shows it where it can be seen: on a
    terminal and in a notebook.
    """
    known = len(items) if isinstance(items, Sized) else None
    bar = Bar(known if total is None else total, 0, unit, label, show)
    try:
        for item in items:
            yield item
            bar.advance()
    finally:
        bar.close()


class Bar:
    """What the loop tells: `advance()` after each step, `note(…)` for figures beside the bar,
    `tell(…)` for a line above it, `close()`.
    """

    def __init__(
        self, total: int | None, done: int, unit: str, label: str, show: bool | None
    ) -> None:
        self.total, self.done, self.unit, self.label, self.text = total, done, unit, label, ""
        wanted = watched() if show is None else show
        self._tqdm = (
            _tqdm(total=total, initial=done, unit=unit, desc=label or None)
            if wanted and has_tqdm()
            else None
        )
        self._plain = wanted and self._tqdm is None
        self._started = self._told = monotonic()
        self._began_at = done
        if self._plain:
            self._say("for a progress bar: pip install tqdm")

    def advance(self) -> None:
        """One step more is done."""
        self.done += 1
        if self._tqdm is not None:
            self._tqdm.update()
        elif self._plain and (self.done == self.total or monotonic() - self._told >= PAUSE):
            self._told = monotonic()
            of = "" if self.total is None else f" of {self.total}"
            rate = (self._told - self._started) / (self.done - self._began_at)
            self._say(f"{self.unit} {self.done}{of}, {rate:.3g} s each{self.text}")

    def note(self, figures: dict[str, float]) -> None:
        """Show the figures beside the bar."""
        if self._tqdm is not None and figures:
            self._tqdm.set_postfix(figures, refresh=False)
        self.text = "".join(f", {name} {value:.4g}" for name, value in figures.items())

    def tell(self, text: str) -> None:
        """Print a line without tearing the bar."""
        if self._tqdm is not None:
            self._tqdm.write(text)
        else:
            print(text)

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._tqdm is not None:
            self._tqdm.close()

    def _say(self, text: str) -> None:
        print(f"{self.label}: {text}" if self.label else text, file=stream(), flush=True)


def _tqdm(**options: Any) -> Any:
    """tqdm's bar, in the form that fits here."""
    if not in_notebook():
        return import_module("tqdm").tqdm(**options)
    if find_spec("ipywidgets") is not None and not runs_for_a_page():
        return import_module("tqdm.auto").tqdm(**options)
    return import_module("tqdm").tqdm(file=sys.stdout, **options)


def has_tqdm() -> bool:
    """Whether tqdm is installed."""
    return find_spec("tqdm") is not None


def stream() -> TextIO:
    """Where words about the progress go: standard error, but in a notebook standard output."""
    return sys.stdout if in_notebook() else sys.stderr


def watched() -> bool:
    """Whether a bar can be seen: standard error is a terminal, or this is a notebook that does not
    run for a page."""
    if in_notebook():
        return not runs_for_a_page()
    return bool(getattr(sys.stderr, "isatty", lambda: False)())


def runs_for_a_page() -> bool:
    """Whether MINIGRAD_STATIC says that what comes out is read later and without a kernel, as on
    the site of the lessons.
    """
    return bool(os.environ.get("MINIGRAD_STATIC"))


def in_notebook() -> bool:
    """Whether this program runs in a notebook's kernel (whose streams are no terminals)."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return "IPKernelApp" in getattr(shell, "config", {})
