"""Other engines in the same pictures: whatever can say what it did becomes a Trace, and every view
of viz reads that.

    viz.adapters.Writer("my engine")           write a Trace by hand: what was made from what, and
                                               what was sent back
    viz.trace_of(value)                        a scalar engine in the manner of micrograd, by what
                                               its values know of themselves
    viz.from_torch(output, {"x": x, "w": w})   PyTorch's autograd graph, with the cotangents that
                                               PyTorch computes
    viz.from_torch(f, x, w)                    the same for a function of tensors: all values too
    viz.from_graph([y, slope], {x: 1.0})       a static graph of minigrad.graph, computed once

The adapters turn the work of any engine into a Trace. Nothing here differentiates: values,
contributions and adjoints are those of the engine, wrong ones too; a student's bug is there to be
seen.
"""

from __future__ import annotations

from minigrad.viz.adapters.scalars import trace_of
from minigrad.viz.adapters.static_graph import from_graph
from minigrad.viz.adapters.torch_graph import from_torch
from minigrad.viz.adapters.writer import Writer

__all__ = ["Writer", "from_graph", "from_torch", "trace_of"]
