"""Products of matrices, the one bilinear operation that networks live on.

For Y = A B with cotangent G the pulls are G Bᵀ and Aᵀ G, each summed over the batch axes that were
broadcast. A one-dimensional operand counts as a row (left) or a column (right), as in NumPy.
"""

from __future__ import annotations

import math
from typing import Any

from ..backend import DType, NumpyArray, Shape, ignore_float_errors, numpy
from ..core.primitive import bilinear
from .batch import multiply_matrices
from .costs import matmul_cost
from .kernels import KernelCall, row_major
from .node_names import product_name
from .shape import broadcast_to, permute, reshape, sum_to
from .terms import matrix_terms


def swapped(x: Any) -> Any:
    """The last two axes exchanged."""
    # in a derivative rule: no operation is needed to look at an array in another order
    if type(x) is NumpyArray:
        return x.swapaxes(-1, -2)
    axes = tuple(range(x.ndim))
    return permute(x, axes=(*axes[:-2], axes[-1], axes[-2]))


def _fitted(c: Any, shape: Any) -> Any:
    """A contribution summed over the batch axes along which the operand was broadcast, if there
    are any.
    """
    return c if c.shape == shape else sum_to(c, shape=tuple(shape))


def _left(g: Any, b: Any, a_shape: tuple[int, ...]) -> Any:
    if b.ndim == 1:
        if len(a_shape) == 1:
            return g * b
        return sum_to(reshape(g, shape=(*g.shape, 1)) * b, shape=tuple(a_shape))
    if len(a_shape) == 1 and b.ndim == 2:
        return matmul(g, swapped(b))
    if len(a_shape) == 1:
        product = matmul(reshape(g, shape=(*g.shape[:-1], 1, g.shape[-1])), swapped(b))
        return sum_to(
            reshape(product, shape=(*product.shape[:-2], product.shape[-1])), shape=tuple(a_shape)
        )
    return _fitted(matmul(g, swapped(b)), a_shape)


def _right(g: Any, a: Any, b_shape: tuple[int, ...]) -> Any:
    if a.ndim == 1:
        if len(b_shape) == 1:
            return g * a
        return sum_to(
            reshape(a, shape=(a.shape[0], 1)) * reshape(g, shape=(*g.shape[:-1], 1, g.shape[-1])),
            shape=tuple(b_shape),
        )
    if len(b_shape) == 1 and a.ndim == 2:
        return matmul(swapped(a), g)
    if len(b_shape) == 1:
        product = matmul(swapped(a), reshape(g, shape=(*g.shape, 1)))
        return sum_to(reshape(product, shape=tuple(product.shape[:-1])), shape=tuple(b_shape))
    if len(b_shape) == 2 and a.ndim > 2:
        count = math.prod(g.shape[:-1])  # one large product instead of a batch and a sum
        rows = reshape(
            broadcast_to(a, shape=(*g.shape[:-1], a.shape[-1])), shape=(count, a.shape[-1])
        )
        return matmul(swapped(rows), reshape(g, shape=(count, g.shape[-1])))
    return _fitted(matmul(swapped(a), g), b_shape)


def _matmul(xp: Any, a: Any, b: Any) -> Any:
    small = a.ndim == 2 == b.ndim and len(a) >= 64 and type(b) is NumpyArray
    if small and is_turned(a.shape, b.shape, b.strides):
        b = b.copy()
    if type(a) is NumpyArray and 1 <= a.ndim <= 2 and 1 <= b.ndim <= 2:
        return ignore_float_errors.run(a.dot, b)  # it takes half of matmul's time to start
    # one matrix for a whole batch: one large product is faster than many small ones
    if a.ndim > 2 == b.ndim:
        rows = a.reshape((math.prod(a.shape[:-1]), a.shape[-1]))
        return _matmul(xp, rows, b).reshape((*a.shape[:-1], b.shape[-1]))
    return ignore_float_errors.run(xp.matmul, a, b)


def is_turned(a: tuple[int, ...], b: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether a tall matrix of shape `a` meets a small one of shape `b` that lies column after
    column (a weight's transpose).

    For small products OpenBLAS has kernels without packing, and the one for this layout is the
    slowest: 1000 x 25 by 25 x 25 take 25 µs, with a copy first 19. Beyond a million multiplications
    all are packed, and a copy is for nothing.
    """
    return (
        strides[0] < strides[1]
        and b[0] * b[1] <= 4096
        and 64 <= a[0] <= 1_000_000 // max(1, b[0] * b[1])
    )


def _product_shape(a: tuple[int, ...] | None, b: tuple[int, ...] | None) -> tuple[int, ...] | None:
    if a is None or b is None or len(a) < 2 or len(b) < 2 or a[-1] != b[-2] or (a[:-2] and b[:-2]):
        return None
    return (*(a[:-2] or b[:-2]), a[-2], b[-1])


def matmul_kernel(k: KernelCall) -> list[str] | None:
    a, b = k.array(0), k.array(1)
    if a is None or b is None or not k.all_of("fc") or not a.dtype == b.dtype == k.made.dtype:
        return None
    if len(a.shape) == 2 == len(b.shape):
        return _dot_kernel(k, a.shape, b.shape, b.dtype, k.operands[1], k.strides[1])
    if (
        len(a.shape) > 2 == len(b.shape)
        and k.xp is numpy
        and row_major(k.strides[0], a.shape, a.dtype)
        and row_major(k.out_strides, k.made.shape, k.made.dtype)
    ):  # one large product, as in `_matmul`
        rows = math.prod(a.shape[:-1]), a.shape[-1]
        left = k.view(k.operands[0], f".reshape{rows}")
        out = k.view(k.out, f".reshape({rows[0]}, {b.shape[1]})")
        return _dot_kernel(k, rows, b.shape, b.dtype, k.operands[1], k.strides[1], left, out)
    return [f"matmul({k.operands[0]}, {k.operands[1]}, out={k.out})"]


def affine_kernel(k: KernelCall) -> list[str] | None:
    x, w, b = (k.array(i) for i in range(3))
    if (
        x is None
        or w is None
        or b is None
        or len(x.shape) != 2
        or not x.dtype == w.dtype == b.dtype
        or not k.all_of("f")
    ):
        return None
    strides = k.strides[1]
    product = _dot_kernel(
        k,
        x.shape,
        w.shape[::-1],
        w.dtype,
        f"{k.operands[1]}.transpose()",
        strides and strides[::-1],
    )
    return [*product, f"add({k.out}, {k.operands[2]}, out={k.out})"]


def _dot_kernel(
    k: KernelCall,
    a: Shape,
    b: Shape,
    dtype: DType,
    text: str,
    strides: tuple[int, ...] | None,
    left: str = "",
    out: str = "",
) -> list[str]:
    """The product of two matrices, the right one copied where the engine copies it. left, out: the
    first operand and the result, where those of the call are no matrices."""
    left, out = left or k.operands[0], out or k.out
    if k.xp is not numpy or strides is None or not is_turned(a, b, strides):
        return [f"{left}.dot({text}, out={out})"]
    copy = k.scratch(b, dtype)
    return [f"copyto({copy}, {text})", f"{left}.dot({copy}, out={out})"]


matmul = bilinear(
    "matmul",
    _matmul,
    _left,
    _right,
    accumulates=True,
    batch=multiply_matrices,
    shape=_product_shape,
    kernel=matmul_kernel,
    cost=matmul_cost,
    terms=matrix_terms,
    notation="a @ b",
    graph_name=product_name,
)
"""A @ B of any ranks, batch axes broadcast."""
