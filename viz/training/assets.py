"""The training view's module and stylesheet; its colours are the stepper's, read from there."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from minigrad.viz.bundle import as_one, parts
from minigrad.viz.picture.marks import palette

STATIC = Path(__file__).parent / "static"


@cache
def script() -> str:
    """The ES module: its default export is anywidget's hook, `mount` shows a history in an
    element.
    """
    return as_one(parts(STATIC / "training.js"))


@cache
def stylesheet() -> str:
    """The styles, with the stepper's colours as --mt-… variables."""
    colours = "".join(
        f"--mt-{name}:light-dark({light},{dark});" for name, (light, dark) in palette().items()
    )
    return f".mt-root{{{colours}}}\n" + (STATIC / "training.css").read_text(encoding="utf-8")
