"""mg.graph: a computation as a value. Build it from Variables, differentiate it into more graph,
then run it.

    import minigrad as mg
    x1 = mg.graph.Variable(name="x1")
    x2 = mg.graph.exp(x1)
    x4 = x2 * (x2 + 1)
    (g,) = mg.graph.gradients(x4, [x1])
    value, slope = mg.graph.Executor([x4, g]).run(feed_dict={x1: 1.0})
    print(mg.graph.text([x4, g]))

Start reading at node.py (what a node is), then derivatives.py (the reverse-mode algorithm on
graphs). Every function of minigrad is there for nodes as `mg.graph.<name>`: it waits for the run
where it needs a shape that is not known before. `trace` and `Program` come from minigrad.program:
the graph of a function that ran.
"""

from typing import TYPE_CHECKING, Any

from .broadcast_like import broadcast_like_op, sum_to_like_op
from .deferred import LaterOp, call
from .derivatives import gradients, jvp, sum_nodes
from .equality import difference, same_graph
from .executor import Executor
from .inference import UnknownFact
from .methods import function_named, product
from .node import Node, Op
from .ops import (
    MatMulOp,
    PickOp,
    PrimitiveOp,
    add_byconst_op,
    add_op,
    matmul_op,
    mul_byconst_op,
    mul_op,
    oneslike_op,
    zeroslike_op,
)
from .text import text
from .topological_order import find_topo_sort
from .variables import ConstantOp, PlaceholderOp, Variable, constant, placeholder, placeholder_op

zeros_like, ones_like = zeroslike_op, oneslike_op


def matmul(a: Any, b: Any, trans_A: bool = False, trans_B: bool = False) -> Node:
    """The matrix product a @ b; trans_A and trans_B (matrices only) transpose an operand first."""
    return (
        matmul_op(a, b, trans_A=trans_A, trans_B=trans_B) if trans_A or trans_B else product(a, b)
    )


__all__ = [
    "ConstantOp", "Executor", "LaterOp", "MatMulOp", "Node", "Op", "PickOp", "PlaceholderOp",
    "PrimitiveOp", "UnknownFact", "Variable",
    "add_byconst_op", "add_op", "broadcast_like_op", "call", "constant", "difference",
    "find_topo_sort", "gradients", "jvp", "matmul",
    "matmul_op", "mul_byconst_op", "mul_op", "ones_like", "oneslike_op", "placeholder",
    "placeholder_op", "same_graph", "sum_nodes",
    "sum_to_like_op", "text", "zeros_like", "zeroslike_op",
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """`trace` and `Program` from minigrad.program, and the library's functions for nodes."""
        if name in ("trace", "Program"):
            from .. import program

            return getattr(program, name)
        if name.startswith("_"):
            raise AttributeError(f"module 'minigrad.graph' has no attribute {name!r}")
        return function_named(name)
