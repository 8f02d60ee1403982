"""Norms of vectors: of a tensor, or along some of its axes."""

from __future__ import annotations

import math
from typing import Any

from .. import backend, ops
from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..names import TensorLike, publish, unlisted
from ..ops.elementwise import in_float32
from .operands import axes_within, floating


@unlisted
def rooted(x: Tensor) -> Tensor:
    """The square root with the derivative 0 (not infinity) at 0."""
    zero = x == 0
    return fn.where(zero, 0.0, fn.sqrt(fn.where(zero, 1.0, x)))


@unlisted
@in_float32
def vector_norm(
    x: TensorLike, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """(Σ|x|^p)^(1/p) over `dim` (all axes by default), as of one long vector. ord: p; inf and -inf
    give the largest and the smallest |x| (equal ones share the derivative), 0 counts the elements
    that are not 0. The derivative is 0 where x is.
    """
    x = floating(x, "norm") if dtype is None else as_tensor(x).to(dtype)
    axes = axes_within(x, dim, "norm")
    if ord == 2:
        return rooted(
            _sum(
                fn.real(x * fn.conj(x)) if backend.is_complex(x.dtype) else fn.square(x),
                axes,
                keepdim,
            )
        )
    size = fn.abs(x)
    if ord == 1:
        return _sum(size, axes, keepdim)
    if ord == 0:
        return _sum(fn.sign(fn.where(size == size, size, 1.0)), axes, keepdim)  # NaN is not 0
    if math.isinf(ord):
        if not axes:
            return size
        return fn.amax(size, axes, keepdim) if ord > 0 else fn.amin(size, axes, keepdim)
    if ord < 0:  # one element 0 makes the norm 0, and no derivative leads there
        dead = (
            fn.amin(size, axes, True) if axes else size
        ) == 0  # not where one is NaN: then the norm is
        norm = fn.pow(_sum(fn.pow(fn.where(dead, 1.0, size), float(ord)), axes, keepdim), 1 / ord)
        return fn.where(dead if keepdim else dead.reshape(norm.shape), 0.0, norm)
    zero = size == 0
    total = _sum(fn.where(zero, 0.0, fn.pow(fn.where(zero, 1.0, size), float(ord))), axes, keepdim)
    nothing = total == 0
    return fn.where(nothing, 0.0, fn.pow(fn.where(nothing, 1.0, total), 1 / ord))


def _sum(x: Tensor, axes: tuple[int, ...], keepdim: bool) -> Tensor:
    """The sum over exactly these axes; none of them for ()."""
    return fn.sum(x, axes, keepdim) if axes else x


def dist(a: TensorLike, b: TensorLike, p: float = 2) -> Tensor:
    """The p-norm of a - b, as of one long vector."""
    return vector_norm(as_tensor(a) - b, p)


def norm(
    x: TensorLike, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    """(Σ|x|^p)^(1/p) over `dim` (all axes by default); "fro" means p = 2, "nuc" the sum of a
    matrix's singular values. See `linalg.vector_norm`.
    """
    x = as_tensor(x) if dtype is None else as_tensor(x).to(dtype)
    if p == "nuc":
        rows, columns = range(x.ndim) if dim is None else dim
        svd: Any = ops.find("svd")
        values: Tensor = svd(fn.movedim(x, (rows, columns), (-2, -1)))[1].sum(-1)
        first, second = sorted(
            (fn.axis_of(x.ndim, rows, "norm"), fn.axis_of(x.ndim, columns, "norm"))
        )
        return values.unsqueeze(first).unsqueeze(second) if keepdim else values
    return vector_norm(x, 2 if p in ("fro", None) else p, dim, keepdim)


publish(__name__)
