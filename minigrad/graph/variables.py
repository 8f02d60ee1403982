"""Where the values of a graph come from: Variables, which are fed, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import backend
from ..core.tensor import Tensor, wrap
from ..errors import GraphError
from .equality import same_value
from .inference import unknown_dtype, unknown_shape
from .node import Node, Op, new_node


class PlaceholderOp(Op):
    """What a Variable is: a value that is fed."""

    def __call__(self, *args: Any, **params: Any) -> Node:
        node: Node = new_node(self, (), {}, unknown_shape(), unknown_dtype(), "x")
        return node

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        raise GraphError(
            f"the variable {node.name} was not fed: run(feed_dict={{{node.name}: value}})."
        )

    def gradient(self, node: Node, output_grad: Any) -> list[Node | None]:
        return []


placeholder_op = placeholder = PlaceholderOp()


def Variable(
    name: str | None = None, shape: Sequence[int] | None = None, dtype: Any = None
) -> Node:
    """A value that is fed when the graph runs.

    shape, dtype: of what will be fed. Without a shape, each run may feed another one; without a
    dtype it is a floating one, decided by the run (integers that are fed then become float64;
    float16 and bfloat16 must be declared). With both, mistakes are found when the graph is built.
    Raises TypeError for sizes that are not integers.
    """
    node = new_node(
        placeholder_op, (), {}, unknown_shape(), unknown_dtype(), "x" if name is None else str(name)
    )
    if shape is not None:
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in sizes):
            raise TypeError(
                f"Variable {node.name}: a shape is a tuple of sizes, got {shape!r}. Leave it out if"
                " it is decided by the run."
            )
        node.shape_fact = sizes
    if dtype is not None:
        node.dtype_fact = backend.as_dtype(dtype)  # type: ignore[assignment]
    return node


class ConstantOp(Op):
    """A value that is the same in every run: an array among the operands."""

    label = "constant"

    def __init__(self, value: Tensor) -> None:
        self.value = value

    def run(self, node: Node, tensors: list[Any]) -> Tensor:
        return self.value

    def gradient(self, node: Node, output_grad: Any) -> list[Node | None]:
        return []

    def key(self) -> Any:
        return ConstantOp, _ComparableArray(self.value)


class _ComparableArray:
    """An array that compares by its elements."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _ComparableArray and same_value(self.value, other.value)

    def __hash__(self) -> int:
        return hash(_ComparableArray)


def constant(value: Any) -> Node:
    """A node for a value that never changes: a copy of an array, a tensor's values (without its
    history), a number or nested lists.
    """
    payload = backend.as_payload(value.array if isinstance(value, Tensor) else value)
    return new_node(ConstantOp(wrap(payload)), (), {}, tuple(payload.shape), payload.dtype)
