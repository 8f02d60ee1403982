"""To the shape and dtype of another node, where those are known only when the graph runs.

Broadcasting copies elements, its transpose sums them: `broadcast_like` and `sum_to_like` are each
other's gradients. `fitted` puts a contribution into the form of what it belongs to, with these or,
where all is known, with the primitives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ..functions import broadcast_to as broadcast_tensor
from ..functions import sum_to as sum_tensor
from ..ops import elementwise as ew
from ..ops import shape as sh
from .node import Node, Op, new_node
from .variables import constant


class SumToLikeOp(Op):
    """The first input summed to the shape of the second and cast to its dtype: what undoes
    broadcasting.
    """

    label = "sum_to_like"

    def __call__(self, *args: Any, **params: Any) -> Node:
        g, like = args
        return new_node(self, (g, like), {}, like.shape_fact, like.dtype_fact)

    def run(self, node: Node, tensors: list[Any]) -> Any:
        g, like = tensors
        g = g if g.shape == like.shape else sum_tensor(g, like.shape)
        return g if g.dtype == like.dtype else ew.cast(g, dtype=like.dtype)

    def gradient(self, node: Node, output_grad: Any) -> list[Node | None]:
        return [broadcast_like_op(output_grad, node.inputs[0]), None]

    def tangent(self, node: Node, tangents: Sequence[Node | None]) -> Node | None:
        """Linear in the first input, independent of the second's values."""
        return None if tangents[0] is None else sum_to_like_op(tangents[0], node.inputs[1])


class BroadcastLikeOp(SumToLikeOp):
    """The first input broadcast to the shape of the second and cast to its dtype."""

    label = "broadcast_like"

    def run(self, node: Node, tensors: list[Any]) -> Any:
        x, like = tensors
        x = x if x.shape == like.shape else broadcast_tensor(x, like.shape)
        return x if x.dtype == like.dtype else ew.cast(x, dtype=like.dtype)

    def gradient(self, node: Node, output_grad: Any) -> list[Node | None]:
        return [sum_to_like_op(output_grad, node.inputs[0]), None]

    def tangent(self, node: Node, tangents: Sequence[Node | None]) -> Node | None:
        return None if tangents[0] is None else broadcast_like_op(tangents[0], node.inputs[1])


sum_to_like_op, broadcast_like_op = SumToLikeOp(), BroadcastLikeOp()


def fitted(c: Any, target: Node, broadcast: bool = False) -> Node:
    """A contribution in the shape and dtype of what it belongs to: summed over broadcast axes
    (or, forward, copied along them) and cast.
    """
    if not isinstance(c, Node):
        return fitted(constant(c), target, broadcast)
    if c.shape_fact == target.shape_fact and c.dtype_fact == target.dtype_fact:
        return c
    same_dtype = c.dtype_fact == target.dtype_fact
    if (
        type(c.shape_fact) is tuple
        and type(target.shape_fact) is tuple
        and (same_dtype or (c.known_dtype and target.known_dtype))
    ):
        if c.shape_fact != target.shape_fact:
            c = (sh.broadcast_to if broadcast else sh.sum_to)(c, shape=target.shape_fact)
        return c if same_dtype else cast(Node, ew.cast(c, dtype=target.dtype_fact))
    return (broadcast_like_op if broadcast else sum_to_like_op)(c, target)
