"""Products of matrices, the one bilinear operation that networks live on.

For Y = A B with cotangent G the pulls are G Bᵀ and Aᵀ G, each summed over the batch axes that were broadcast. A one-dimensional operand
counts as a row (left) or a column (right), as in NumPy.
"""

from __future__ import annotations

import math
from typing import Any

from ..backend import silently
from ..primitive import bilinear
from .shape import broadcast_to, permute, reshape, sum_to


def swapped(x: Any) -> Any:
    """The last two axes exchanged."""
    axes = tuple(range(x.ndim))
    return permute(x, axes=(*axes[:-2], axes[-1], axes[-2]))


def _left(g: Any, b: Any, a_shape: tuple[int, ...]) -> Any:
    if b.ndim == 1:
        if len(a_shape) == 1:
            return g * b
        return sum_to(reshape(g, shape=(*g.shape, 1)) * b, shape=tuple(a_shape))
    if len(a_shape) == 1:
        product = matmul(reshape(g, shape=(*g.shape[:-1], 1, g.shape[-1])), swapped(b))
        return sum_to(reshape(product, shape=(*product.shape[:-2], product.shape[-1])), shape=tuple(a_shape))
    return sum_to(matmul(g, swapped(b)), shape=tuple(a_shape))


def _right(g: Any, a: Any, b_shape: tuple[int, ...]) -> Any:
    if a.ndim == 1:
        if len(b_shape) == 1:
            return g * a
        return sum_to(reshape(a, shape=(a.shape[0], 1)) * reshape(g, shape=(*g.shape[:-1], 1, g.shape[-1])), shape=tuple(b_shape))
    if len(b_shape) == 1:
        product = matmul(swapped(a), reshape(g, shape=(*g.shape, 1)))
        return sum_to(reshape(product, shape=tuple(product.shape[:-1])), shape=tuple(b_shape))
    if len(b_shape) == 2 and a.ndim > 2:
        count = math.prod(g.shape[:-1])  # one large product instead of a batch and a sum
        rows = reshape(broadcast_to(a, shape=(*g.shape[:-1], a.shape[-1])), shape=(count, a.shape[-1]))
        return matmul(swapped(rows), reshape(g, shape=(count, g.shape[-1])))
    return sum_to(matmul(swapped(a), g), shape=tuple(b_shape))


def _matmul(xp: Any, a: Any, b: Any) -> Any:
    return (
        silently.run(a.dot, b) if a.ndim == 2 == b.ndim else silently.run(xp.matmul, a, b)
    )  # the same product; dot takes half the time to start


matmul = bilinear("matmul", _matmul, _left, _right, symbol="@")
"""A @ B of any ranks, batch axes broadcast."""
