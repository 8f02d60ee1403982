"""What the stepper and the training view have in common as widgets: anywidget loads a short module
(static/widget.js), and the program comes compressed, in bytes, as the document does.

The style stays text: each host decides where a widget's style belongs, a page's head or a shadow
root.
"""

from __future__ import annotations

import gzip

from minigrad.viz.bundle import STATIC, as_one, parts
from minigrad.viz.squeeze import squeezed

try:
    import anywidget
    import traitlets
except ImportError as problem:
    raise ModuleNotFoundError(
        f"the widgets need the package {problem.name or 'anywidget'!r}, which is not installed;"
        ' run: pip install "minigrad[viz]" (without it, viz.page.iframe(trace) and'
        " viz.training.iframe(history) show the same)"
    ) from problem


__all__ = ["PackedWidget", "program_trait", "traitlets"]


class PackedWidget(anywidget.AnyWidget):
    """A widget whose program, an ES module with anywidget's hook as its default export, comes
    compressed.
    """

    _esm = squeezed(as_one(parts(STATIC / "widget.js")))


def program_trait(text: str) -> traitlets.Bytes:
    """The trait that holds a program."""
    packed = gzip.compress(text.encode(), 9, mtime=0)
    return traitlets.Bytes(packed, read_only=True).tag(sync=True)
