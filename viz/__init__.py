"""Pictures of a differentiation, each a reader of the Trace that the engine wrote: the stepper (widget, page, cell output) and stills.

After reading this file you know the doors of the package::

    viz.show(f, 2.0, 5.0)            the stepper, in a notebook: trace a function and step through what happened
    viz.to_html(trace)               the stepper as one self-contained HTML page
    viz.iframe(trace)                the stepper as a cell output that needs no widget and no kernel
    viz.to_svg(trace, step=12)       one frame as a still picture
    viz.Stepper(trace)               the widget itself (needs anywidget)
    viz.layout.layout(trace)         coordinates for a graph
    tensor.draw_graph()              the recorded graph behind a tensor, as a graphviz.Digraph (``import viz`` attaches it)

Nothing here differentiates, and nothing here but ``draw.py`` knows the engine's classes: any program that writes a ``minigrad.trace/1``
document gets every other picture. ``import viz`` needs no package beyond Python's own; the widget is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minigrad.tensor import Tensor
from viz import draw, layout
from viz.display import show
from viz.page import iframe, to_html
from viz.reading import TraceError
from viz.svg import to_svg

if TYPE_CHECKING:
    from viz.widget import Stepper

__all__ = ["Stepper", "TraceError", "draw", "iframe", "layout", "show", "to_html", "to_svg"]

setattr(Tensor, "draw_graph", draw.draw_graph)  # noqa: B010  # minigrad itself never imports viz


def __getattr__(name: str) -> Any:
    if name == "Stepper":
        from viz.widget import Stepper

        return Stepper
    raise AttributeError(f"module 'viz' has no attribute {name!r}")
