"""From a graph to a Program: straight-line code for one set of shapes, with dead code and repeated
computations removed and memory planned.

Nothing is translated: the graph is evaluated once while minigrad.program records, so a Program does
exactly what the evaluation did (and casts, conjugations and the functions that had to wait for a
shape are resolved in it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from ..core.tensor import Tensor, wrap
from ..program import Program, Recorder
from ..program.passes import simplified
from ..program.payload import Recorded
from .deferred import LaterOp
from .evaluation import evaluate
from .node import Node, Op

_WORDS = {("given", 0): "forward", ("gradient", 1): "backward", ("gradient", 2): "second backward"}


def phase_of(node: Node) -> str:
    """What a Program calls the instructions of a node."""
    if node.role == "tangent":
        return "tangent"
    return _WORDS.get((node.role, node.order), f"backward {node.order}")


def reason_against(order: Sequence[Node]) -> str | None:
    """Why a graph cannot become a Program, None if it can."""
    for node in order:
        op = node.op
        if isinstance(op, LaterOp) and not op.recordable:
            return f"{node.name} may decide by values"
        if node.primitive is not None and node.primitive.shape == "data":
            return f"the shape of {node.name} depends on values"
        if op is not None and type(op).run is Op.run and node.inputs:
            return f"{type(op).__name__} computes on NumPy arrays, unseen by the engine"
    return None


def recorded(
    order: Sequence[Node], feeds: Mapping[Node, Tensor], wanted: Sequence[Node]
) -> tuple[Program, list[Tensor]]:
    """The Program of a graph for feeds of these shapes and dtypes (its inputs, in their order),
    and the values of `wanted`.
    """
    recorder = Recorder()
    with recorder.recording(), ExitStack() as stack:
        own = {node: recorder.input(t, node.name) for node, t in feeds.items()}
        current = ""

        def enter(node: Node) -> None:
            nonlocal current
            if phase_of(node) != current:
                current = phase_of(node)
                stack.close()
                stack.enter_context(recorder.phases.named(current))

        values = evaluate(order, own, wanted, enter)
        stack.close()
        program = recorder.finish(values, None, "graph")
    results = [wrap(v.array.array if type(v.array) is Recorded else v.array) for v in values]
    return simplified(program), results
