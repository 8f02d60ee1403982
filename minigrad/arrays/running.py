"""Sums and products along an axis, running or total, and the statistics and norms made of them."""

from __future__ import annotations

import math
from typing import Any

from .. import backend, ops
from .. import functions as fn
from ..core.primitive import Primitive
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..functions.arguments import either
from ..names import TensorLike, public, publish, unlisted
from ..ops import index as ix
from ..ops import scans, sorting
from ..ops.elementwise import in_float32
from .operands import along, counted, floating

# ------------------------------------------------------------------------------------------ running


def _scan(operation: Primitive, x: Tensor, dim: Any) -> Tensor:
    axis = fn.axis_of(x.ndim, dim, operation.name)
    if x.ndim == 0:
        return operation(x.reshape(1), axis=0).reshape(())
    return operation(x, axis=axis)


@public(in_place=True)
@fn.in_own_memory
def cumsum(x: TensorLike, dim: Any = None, *, dtype: Any = None, axis: Any = None) -> Tensor:
    """x[0], x[0] + x[1], … along a dimension. Integers and booleans are summed as int64."""
    total = _scan(
        scans.cumsum, counted(x) if dtype is None else as_tensor(x).to(dtype), either(dim, axis)
    )
    return total if dtype is None else total.to(dtype)


@public(in_place=True)
@fn.in_own_memory
def cumprod(x: TensorLike, dim: Any = None, *, dtype: Any = None, axis: Any = None) -> Tensor:
    """x[0], x[0] · x[1], … along a dimension. Derivatives of every order are right where factors
    are 0.
    """
    product = _scan(
        scans.cumprod, counted(x) if dtype is None else as_tensor(x).to(dtype), either(dim, axis)
    )
    return product if dtype is None else product.to(dtype)


@fn.in_own_memory
def logcumsumexp(x: TensorLike, dim: Any) -> Tensor:
    """ln(e^x[0] + … + e^x[k]) along a dimension, without overflow."""
    return _scan(scans.logcumsumexp, floating(x, "logcumsumexp"), dim)


@fn.in_own_memory
def diff(
    x: TensorLike, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None
) -> Tensor:
    """Differences of neighbours along a dimension, n times over (for booleans: whether they
    differ), of x joined to `prepend` before and `append` behind.
    """
    x = as_tensor(x)
    axis = fn.axis_of(x.ndim, dim, "diff")
    if x.ndim == 0:
        raise RuntimeError("diff: needs at least one dimension.")
    if n and (prepend is not None or append is not None):
        x = fn.cat([part for part in (prepend, x, append) if part is not None], axis)
    for _ in range(n):
        later, earlier = x[along(axis, slice(1, None))], x[along(axis, slice(None, -1))]
        x = later != earlier if x.dtype == backend.bool_ else later - earlier
    return x


# ------------------------------------------------------------------------------------------- totals


def prod(
    x: TensorLike,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """The product over `dim` (all axes by default), 1 over no elements. Derivatives of every
    order are right where factors are 0.
    """
    x = counted(x) if dtype is None else as_tensor(x).to(dtype)
    product = scans.prod(x, axes=_axes(x, either(dim, axis), "prod"), keepdims=keepdim or keepdims)
    return product if dtype is None else product.to(dtype)


def _axes(x: Tensor, dim: Any, function: str) -> tuple[int, ...]:
    return tuple(a for a in fn.axes_of(x, dim, function) if a < x.ndim)


def nansum(x: TensorLike, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of the elements that are not NaN."""
    x = as_tensor(x) if dtype is None else as_tensor(x).to(dtype)
    numbers = fn.where(fn.isnan(x), 0.0, x) if backend.is_differentiable(x.dtype) else x
    return fn.sum(numbers, dim, keepdim, dtype=dtype)


@in_float32
def nanmean(x: TensorLike, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of the elements that are not NaN; NaN if there are none."""
    x = floating(x if dtype is None else as_tensor(x).to(dtype), "nanmean")
    return nansum(x, dim, keepdim) / fn.sum(fn.logical_not(fn.isnan(x)), dim, keepdim).to(x.dtype)


def count_nonzero(x: TensorLike, dim: Any = None) -> Tensor:
    """How many elements are not 0 (int64)."""
    return fn.sum(as_tensor(x) != 0, dim)


def bincount(x: TensorLike, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, 2, … occurs in a 1-d tensor of integers (int64), or the sum of the
    `weights` of its occurrences (float64; float32 stays). Raises ValueError for negative ones.
    """
    x = as_tensor(x)
    if x.ndim != 1 or x.dtype.kind not in "iu":
        raise RuntimeError(
            f"bincount: needs a 1-d tensor of integers that are not negative, got {x.dtype} of"
            f" shape {x.shape}."
        )
    counts: Tensor = sorting.bincount(x, minlength=int(minlength))
    if weights is None:
        return counts
    weights = as_tensor(weights)
    if weights.shape != x.shape:
        raise ShapeError(
            f"bincount: weights of shape {weights.shape} do not fit {x.shape[0]} numbers."
        )
    weights = weights.detach().to(
        weights.dtype if weights.dtype == backend.float32 else backend.float64
    )
    place = fn.plain_index((x.to(backend.int64),), counts.array)
    return ix.index_put(
        fn.zeros_like(counts, dtype=weights.dtype), weights, index=place, accumulate=True
    )


# --------------------------------------------------------------------------------------- statistics


@in_float32
def var(
    x: TensorLike,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Any = None,
) -> Tensor:
    """Variance over `dim`: Σ|x - mean|² / (n - correction), with correction 1 unless
    `unbiased=False` or told otherwise. NaN where n is not larger than the correction. Also as
    `var(x, False)`.
    """
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased in (None, True) else 0
    x = floating(x, "var")
    axes = _axes(x, either(dim, axis), "var")
    deviation = x - fn.mean(x, axes, True) if axes else x - x
    squares = (
        fn.real(deviation * fn.conj(deviation))
        if backend.is_complex(x.dtype)
        else fn.square(deviation)
    )
    count = math.prod(x.shape[a] for a in axes)
    total = fn.sum(squares, axes, keepdim) if axes else squares
    return total / float(max(0, count - correction))


@in_float32
def std(
    x: TensorLike,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Any = None,
) -> Tensor:
    """Standard deviation, the square root of `var`; derivative 0 where it is 0."""
    return rooted(var(x, dim, unbiased, keepdim, correction=correction, axis=axis))


@public(method=False)
def var_mean(
    x: TensorLike,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Any:
    """(var, mean)."""
    return var(x, dim, unbiased, keepdim, correction=correction), fn.mean(
        x, None if isinstance(dim, bool) else dim, keepdim
    )


@public(method=False)
def std_mean(
    x: TensorLike,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Any:
    """(std, mean)."""
    return std(x, dim, unbiased, keepdim, correction=correction), fn.mean(
        x, None if isinstance(dim, bool) else dim, keepdim
    )


@unlisted
def rooted(x: Tensor) -> Tensor:
    """The square root with the derivative 0 (not infinity) at 0."""
    zero = x == 0
    return fn.where(zero, 0.0, fn.sqrt(fn.where(zero, 1.0, x)))


# -------------------------------------------------------------------------------------------- norms


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
    axes = _axes(x, dim, "norm")
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
