"""Sums, products and differences along an axis, running or total."""

from __future__ import annotations

from typing import Any

from .. import backend
from .. import functions as fn
from ..core.primitive import Primitive
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..functions.arguments import either
from ..names import TensorLike, public, publish
from ..ops import index as ix
from ..ops import scans, sorting
from ..ops.elementwise import in_float32
from .operands import along, axes_within, counted, floating

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
    fn.not_below("diff", "n", n, 0)
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
    product = scans.prod(
        x, axes=axes_within(x, either(dim, axis), "prod"), keepdims=keepdim or keepdims
    )
    return product if dtype is None else product.to(dtype)


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


publish(__name__)
