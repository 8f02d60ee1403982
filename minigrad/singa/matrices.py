"""Products of matrices, the bias, and sums along axes."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functions
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError


def matmul(x: Any, w: Any) -> Tensor:
    """The matrix product of x and w, with NumPy's rules for vectors and stacks of matrices."""
    return functions.matmul(x, w)


def add_bias(x: Any, b: Any, axis: int = 0) -> Tensor:
    """x (N, M) + b for each row (axis 0: b has M elements) or for each column (axis 1: b has N
    elements).
    """
    x, b = as_tensor(x), as_tensor(b)
    if axis not in (0, 1):
        raise ValueError(
            f"add_bias: axis must be 0 (b is added to each row) or 1 (to each column), got {axis}."
        )
    if x.ndim != 2 or b.numel() != x.shape[1 - axis]:
        raise ShapeError(
            f"add_bias: with axis={axis}, x must be a matrix and b have one element for each of its"
            f" {'columns' if axis == 0 else 'rows'}; got {x.shape} and {b.shape}."
        )
    return x + (b.reshape(1, -1) if axis == 0 else b.reshape(-1, 1))


def gemm(
    A: Any,
    B: Any,
    C: Any = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    """alpha · A' B' + beta · C, where A' and B' are A and B, or their transposes; C broadcasts
    to the product's shape (M, N).
    """
    a, b = as_tensor(A), as_tensor(B)
    if a.ndim != 2 or b.ndim != 2:
        raise ShapeError(f"gemm: A and B must be matrices, got shapes {a.shape} and {b.shape}.")
    y = matmul(a.t() if transA else a, b.t() if transB else b)
    y = y * alpha if alpha != 1 else y
    if C is None:
        return y
    c = as_tensor(C)
    if c.ndim > 2 or any(
        n not in (1, m) for n, m in zip(c.shape[::-1], y.shape[::-1], strict=False)
    ):
        raise ShapeError(
            f"gemm: C of shape {c.shape} does not broadcast to the product's shape {y.shape}."
        )
    return y + (c * beta if beta != 1 else c)


def _axes(axes: int | Sequence[int] | None) -> list[int] | None:
    return None if axes is None else [axes] if isinstance(axes, int) else [int(a) for a in axes]


def reduce_sum(x: Any, axes: int | Sequence[int] | None = None, keepdims: int = 1) -> Tensor:
    """Sum over the axes (all by default), which are kept as size 1 unless keepdims is 0.
    Integers keep their dtype.
    """
    x = as_tensor(x)
    return functions.sum(
        x, _axes(axes), bool(keepdims), dtype=x.dtype if x.dtype.kind in "iu" else None
    )


def reduce_mean(x: Any, axes: int | Sequence[int] | None = None, keepdims: int = 1) -> Tensor:
    """Mean over the axes (all by default), which are kept as size 1 unless keepdims is 0."""
    return functions.mean(x, _axes(axes), bool(keepdims))


def softmax(x: Any, axis: int = 1) -> Tensor:
    """e^x / Σ e^x along an axis."""
    return functions.softmax(x, axis)


reduceSum, reduceMean = reduce_sum, reduce_mean
"""The names as the document's headings write them."""
