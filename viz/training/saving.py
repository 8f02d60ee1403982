"""A training as a file, in the format of its ending: a page, a figure, or the history itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minigrad.viz.export.files import whole
from minigrad.viz.training.figure import draw_curves
from minigrad.viz.training.history import History
from minigrad.viz.training.page import to_html

FIGURES = ("png", "pdf", "svg")
OPTIONS = {
    "html": ("title", "lang"),
    **dict.fromkeys(FIGURES, ("lang", "dpi", "dark")),
    **dict.fromkeys(("json", "npz"), ()),
}
"""What each ending takes."""


def history_of(shown: Any) -> History | None:
    """The history that an object is, or shows (Live, a frame, a widget); None for others."""
    found = shown if isinstance(shown, History) else getattr(shown, "history", None)
    return found if isinstance(found, History) else None


def save_history(
    history: History, path: str | os.PathLike[str], options: Mapping[str, Any]
) -> Path:
    """Writes a history to a file and returns its path. Raises ValueError for another ending, and
    for an option that the format does not take.
    """
    form = Path(path).suffix.lower().removeprefix(".")
    form = "html" if form == "htm" else form
    if form not in OPTIONS:
        known = ", ".join(f".{name}" for name in OPTIONS)
        raise ValueError(
            f"save: {os.fspath(path)!r} names no format of a training; the endings are {known}"
        )
    if wrong := [name for name in options if name not in OPTIONS[form]]:
        raise ValueError(
            f"save: {wrong[0]}= has no meaning for a training as .{form}"
            + (f"; it takes {', '.join(f'{n}=' for n in OPTIONS[form])}" if OPTIONS[form] else "")
        )
    if form in FIGURES:
        return draw_curves(history, path, **options)
    if form != "html":
        return history.save(path)
    text = to_html(history, **options)
    with whole(path) as place:
        place.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)
