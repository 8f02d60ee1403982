"""The plain way to compute a graph: one operation after the other, in topological order, on
tensors.

Each value is freed after its last reader. What is fed is checked against what its Variable
declares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import backend
from ..core.tensor import Tensor, wrap
from ..errors import DTypeError, GraphError, ShapeError
from ..grad_mode import no_grad
from .node import Node


def fed_value(node: Node, value: Any) -> Tensor:
    """What is fed, as a tensor of the node's shape and dtype. Raises ShapeError or DTypeError
    where it does not fit.
    """
    if isinstance(value, Node):
        raise TypeError(f"run: {node.name} is fed the node {value.name}; feed values, not nodes.")
    declared = node.known_dtype
    plain = isinstance(value, list | tuple) or type(value) in backend.PYTHON_SCALARS
    payload = value.array if isinstance(value, Tensor) else backend.as_payload(value, copy=False)
    found = payload.dtype
    if declared is not None and found != declared:
        if not plain or not _may_become(found, declared):
            raise DTypeError(
                f"run: {node.name} is declared {declared}, but was fed {found}. Convert what is"
                f" fed, as in value.astype({str(declared)!r})."
            )
        payload = backend.as_payload(payload, declared)
    elif declared is None and backend.is_narrow(found):
        raise DTypeError(
            f"run: {node.name} has no declared dtype, but was fed {found}, which the graph must"
            " know to compute in float32 what would overflow. Declare it:"
            f" Variable({node.name!r}, dtype={str(found)!r})."
        )
    elif declared is None and not (
        (backend.is_differentiable(found) and found.kind == node.dtype.kind)
        or backend.is_floating(found)
    ):
        if found.kind not in "iu":
            raise DTypeError(
                f"run: {node.name} has no declared dtype, which means a floating one, but was fed"
                f" {found}. Declare it: Variable({node.name!r}, dtype={str(found)!r})."
            )
        payload = backend.as_payload(payload, backend.default_dtype() if plain else backend.float64)
    shape = tuple(payload.shape)
    if node.known_shape is not None and shape != node.known_shape:
        raise ShapeError(
            f"run: {node.name} has shape {node.known_shape}, but was fed a value of shape {shape}."
        )
    return wrap(payload)


def _may_become(found: Any, declared: Any) -> bool:
    """Whether Python numbers of one kind may stand for another: booleans for integers for floats
    for complex numbers.
    """
    kinds = [
        "i" if d.kind == "u" else "f" if backend.is_floating(d) else str(d.kind)
        for d in (found, declared)
    ]
    return "bifc".find(kinds[0]) <= "bifc".find(kinds[1])


def evaluate(
    order: Sequence[Node],
    feeds: Mapping[Node, Tensor],
    wanted: Sequence[Node],
    enter: Callable[[Node], None] | None = None,
) -> list[Tensor]:
    """The values of `wanted` by walking `order`: the plain way, one operation after the other,
    on tensors. `enter` is told each node.
    """
    last_reader = {
        operand: position
        for position, node in enumerate(order)
        if node not in feeds
        for operand in node.inputs
    }
    kept = set(wanted)
    values: dict[Node, Any] = {}
    with no_grad():
        for position, node in enumerate(order):
            if node in feeds:
                values[node] = feeds[node]
                continue
            if node.op is None:
                raise GraphError(
                    f"{node.name} has no operation: a node is made by an Op (or a Variable), not by"
                    " Node()."
                )
            inputs = node.inputs
            if enter is not None:
                enter(node)
            try:
                values[node] = node.op.run(node, [values[n] for n in inputs])
            except Exception as error:
                error.add_note(
                    f"while the graph computed {node.name} from values of shape"
                    f" {', '.join(_shape_of(values[n]) for n in inputs)}"
                )
                raise
            for operand in inputs:
                if last_reader[operand] == position and operand not in kept:
                    values.pop(operand, None)
    return [values[n] for n in wanted]


def _shape_of(value: Any) -> str:
    return (
        " and ".join(map(_shape_of, value)) if isinstance(value, tuple) else str(tuple(value.shape))
    )
