"""Pictures of a differentiation, each a reader of the Trace that the engine wrote: the stepper
(widget, page, cell output) and stills.

The public functions of the package::

    viz.show(f, 2.0, 5.0)            the stepper, in a notebook: trace a function and step through
                                     what happened
    viz.show(loss)                   the reverse pass through the graph that exists behind a tensor
    viz.show(program, *inputs)       the same for a recorded Program, with its buffers;
                                     viz.show(node, feeds) for a static graph
    viz.training_step(loss, optimizer, x, y)   one step of a training: loss, gradients, and each
                                     parameter before and after
    viz.to_html(trace)               the stepper as one self-contained HTML page
    viz.iframe(trace)                the stepper as a cell output that needs no widget and no kernel
    viz.to_svg(trace, step=12)       one frame as a still picture
    viz.Stepper(trace)               the widget itself (needs anywidget)
    viz.jacobian(f, 2.0, 5.0)        the Jacobian filling by columns, by rows, or both on one clock
    viz.compare(f, mine, 2.0, 5.0)   two functions, or two Traces, on one clock, the first
                                     difference marked
    viz.sliders(f, x1=(0.1, 5))      inputs to drag: traced again at once, by a kernel or
                                     by the page itself
    viz.save(trace, "film.webp")     a file in the format of its ending: page, frame, film, strip
                                     for paper, text
    viz.layout.layout(trace)         coordinates for a graph
    tensor.draw_graph()              the recorded graph behind a tensor, as a graphviz.Digraph
                                     (``from minigrad import viz`` attaches it)
    viz.Live(model=model)            a training's curves while it runs; viz.History holds what was
                                     recorded (viz/training)
    viz.from_torch(f, x)             another engine's work as a Trace; viz.trace_of(value) for one
                                     like micrograd (viz/adapters)
    model.draw_graph(x)              a module's layers and the flow of the values; also
    viz.draw_graph(program)

Nothing here differentiates, and nothing here but ``draw.py`` and ``adapters`` knows the engine's
classes: any program that writes a ``minigrad.trace/1`` document gets every other picture. ``from
minigrad import viz`` needs no package beyond minigrad's own, and loads little: what draws engine
graphs, reads other engines, writes files or shows trainings is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# These three modules have the names of their functions: imported later, the module would
# replace the function.
from minigrad.viz.compare import compare
from minigrad.viz.display import jacobian, show, training_step
from minigrad.viz.page import to_html
from minigrad.viz.reading import TraceError
from minigrad.viz.sliders import sliders
from minigrad.viz.trace_frame import iframe

from minigrad.core.tensor import Tensor
from minigrad.nn import Module

if TYPE_CHECKING:
    from minigrad.viz import draw, layout
    from minigrad.viz.adapters import from_graph, from_torch, trace_of
    from minigrad.viz.draw import draw_graph
    from minigrad.viz.saving import save
    from minigrad.viz.svg import to_svg
    from minigrad.viz.training import History, Live
    from minigrad.viz.widget import Stepper

__all__ = [
    "History",
    "Live",
    "Stepper",
    "TraceError",
    "compare",
    "draw",
    "draw_graph",
    "from_graph",
    "from_torch",
    "iframe",
    "jacobian",
    "layout",
    "save",
    "show",
    "sliders",
    "to_html",
    "to_svg",
    "trace_of",
    "training_step",
]

_ELSEWHERE = {
    **dict.fromkeys(("from_graph", "from_torch", "trace_of"), "minigrad.viz.adapters"),
    **dict.fromkeys(("History", "Live"), "minigrad.viz.training"),
    "Stepper": "minigrad.viz.widget",
    "draw_graph": "minigrad.viz.draw",
    "save": "minigrad.viz.saving",
    "to_svg": "minigrad.viz.svg",
}
_MODULES = ("adapters", "draw", "export", "layout", "svg", "training", "widget")


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        found = globals()[name] = getattr(import_module(_ELSEWHERE[name]), name)
        return found
    if name in _MODULES:
        return import_module(f"minigrad.viz.{name}")
    raise AttributeError(f"module 'minigrad.viz' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})


class _Drawn:
    """`tensor.draw_graph` and `model.draw_graph` until their first use, which puts the method
    itself in their place.
    """

    def __get__(self, thing: Any, kind: type) -> Any:
        from minigrad.viz.draw import draw_graph

        for drawn in (Tensor, Module):
            drawn.draw_graph = draw_graph  # type: ignore[attr-defined]
        return draw_graph if thing is None else draw_graph.__get__(thing, kind)


for drawn in (Tensor, Module):
    setattr(drawn, "draw_graph", _Drawn())  # minigrad itself never imports viz  # noqa: B010
