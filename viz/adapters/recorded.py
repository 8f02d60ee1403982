"""`from_tensor`: the graph that the engine has recorded behind a tensor, as a Trace of its reverse
pass.

The graph keeps what the rules need, and no other values: those are shown, and of the others that
they were not kept. Nothing is computed again but the reverse pass, whose contributions a hook on
each node tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from minigrad.viz.adapters.backward_graph import Constants, check_results, write_graph
from minigrad.viz.adapters.writer import Writer
from minigrad.viz.tensor_names import TensorNames
from minigrad.viz.traversal import oldest_first

import minigrad as mg
from minigrad.backend import to_numpy
from minigrad.core.graph import OpNode, Pick
from minigrad.core.primitive import OUTPUT
from minigrad.core.tensor import Leaf, Tensor
from minigrad.errors import NonScalarError

MOST = 2_000


def from_tensor(
    result: Tensor, *spaces: Mapping[str, Any], cotangent: Any = None, title: str = ""
) -> dict[str, Any]:
    """The Trace of the reverse pass from a tensor that has been computed.

    Args:
        result: the tensor.
        spaces: mappings of names to tensors, modules and lists of tensors, such as `globals()`;
        the first name of a tensor counts.
        cotangent: where the pass starts, of the result's shape; by default 1 for one number.
        title: of the Trace.

    No `.grad` is touched, and the graph is kept.

    Raises:
        ValueError: the tensor has no history, or one of more than 2,000 operations; an operation
        with several results of which more than one is used.
        NonScalarError: it is not a single number, and no cotangent is given.
        GraphFreedError: an earlier pass has freed the graph.
    """
    if result.grad_fn is None:
        raise ValueError(
            "show: this tensor has no history to show: nothing it was computed from requires grad."
            " Show the function that made it, as in viz.show(f, 2.0, 5.0)."
        )
    if cotangent is None and result.array.size != 1:
        raise NonScalarError(
            f"show: the reverse pass starts from one number, but this tensor has the shape"
            f" {tuple(result.shape)}. Reduce it, for instance with .sum(), or give cotangent=."
        )
    start = mg.ones_like(result) if cotangent is None else mg.as_tensor(cotangent)
    known = TensorNames(list(spaces))
    root = _operation(result.grad_fn)
    complaint = f"show: the graph has more than {MOST:,} operations; show a part of it."
    nodes = oldest_first([root], MOST, complaint)
    check_results(nodes, {}, "show", ". Show the function that made this tensor.")
    values, constants, called = _kept(nodes, known)
    values[root] = _plain(result.array)
    writer = Writer(title or known.of_node(root) or "")

    def leaf(node: Any) -> str | None:
        if not isinstance(node, Leaf):
            return None
        kind = "param" if isinstance(node.variable, mg.nn.Parameter) else "input"
        return writer.input(known.of_node(node) or "", _plain(node.array), kind=kind)

    def operation(node: Any, operands: list[str | float], absent: list[int]) -> str:
        return writer.op(
            node.primitive.name if isinstance(node, OpNode) else node.name(),
            operands,
            values.get(node),
            name=known.of_node(node) or None,
            shape=list(node.shape),
            dtype=str(node.dtype),
            params=node.params if isinstance(node, OpNode) else None,
            absent=absent,
        )

    leaves = [node.variable for node in nodes if isinstance(node, Leaf)]
    run = lambda: mg.autograd.grad(result, leaves, start, retain_graph=True, allow_unused=True)
    plain = lambda tensor: _plain(tensor.array)
    given = writer, nodes, constants, leaf, operation, root, start, run, plain, {}
    return write_graph(*given, called=called)


def _operation(node: Any) -> Any:
    """The node of the operation itself: one of several results stands for its operation."""
    return node.operation if isinstance(node, Pick) else node


def _kept(
    nodes: list[Any], known: TensorNames
) -> tuple[dict[Any, Any], Constants, dict[tuple[Any, int], tuple[str, Any]]]:
    """The values that the graph keeps: by node, and those of operands without a gradient by (node,
    operand's number), None where they were not kept; and what these are called, with what is equal
    for the same one.
    """
    values: dict[Any, Any] = {}
    constants: Constants = {}
    called: dict[tuple[Any, int], tuple[str, Any]] = {}
    for node in nodes:
        if not isinstance(node, OpNode):
            continue
        for slot, (parent, _) in enumerate(node.next_functions):
            if parent is None:
                constants[node, slot] = None
        if not node.plan.keeps_values:
            continue
        for source, value in zip(node.plan.sources, node.values(), strict=True):
            if source == OUTPUT and not isinstance(value, tuple):
                values[node] = _plain(value)
            elif 0 <= source < len(node.next_functions):
                parent = node.next_functions[source][0]
                if parent is None:
                    constants[node, source] = _plain(value)
                    called[node, source] = known.of_array(value) or "", id(value)
                elif tuple(np.shape(_plain(value))) == tuple(parent.shape):
                    values.setdefault(parent, _plain(value))
    return values, constants, called


def _plain(value: Any) -> Any:
    """A number, or an array of NumPy."""
    array = to_numpy(value) if hasattr(value, "dtype") else np.asarray(value)
    return array.item() if array.ndim == 0 else array
