"""The training view's module and stylesheet; its colours and its stage are the stepper's, read from
there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from minigrad.viz.bundle import STATIC as STEPPER
from minigrad.viz.bundle import as_one, parts
from minigrad.viz.picture.marks import palette

STATIC = Path(__file__).parent / "static"
_SHARED = re.compile(
    r"^\.mg-(?:root\.mg-stage|dark|idle[^{}]*|help[^{},:]*|root (?:\.mg-help d[lt]|kbd)"
    r"|root:not\(\.mg-stage\) \.mg-there[^{}]*) \{[^}]*\}",
    re.MULTILINE,
)
"""The stepper's rules for what fills the screen, a black screen, a pointer at rest and the help."""


@cache
def script() -> str:
    """The ES module: its default export is anywidget's hook, `mount` shows a history in an
    element.
    """
    return as_one(parts(STATIC / "training.js"))


@cache
def stylesheet() -> str:
    """The styles, with the stepper's colours as --mt-… variables, its stage and its help."""
    colours = "".join(
        f"--mt-{name}:light-dark({light},{dark});" for name, (light, dark) in palette().items()
    )
    stepper = (STEPPER / "stepper.css").read_text(encoding="utf-8")
    shared = "\n".join(_SHARED.findall(stepper)).replace(".mg-root", ".mt-root")
    own = (STATIC / "training.css").read_text(encoding="utf-8")
    return f".mt-root{{{colours}}}\n{own}{shared.replace('--mg-', '--mt-')}\n"
