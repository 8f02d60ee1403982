"""A tensor with a region of it, or all of it, written over by another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import backend
from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..functions.arguments import tensor_for_cast
from ..names import TensorLike, publish
from ..ops import diagonals
from ..ops import elementwise as ew
from ..ops import index as ix
from .operands import along, counting


def index_put(
    x: TensorLike, indices: Sequence[Any], values: TensorLike, accumulate: bool = False
) -> Tensor:
    """x with `values` at the indices, as x[indices] = values; `accumulate` adds them, repeated
    indices several times.
    """
    x = as_tensor(x)
    return ix.index_put(
        x,
        tensor_for_cast(values, x.dtype).to(x.dtype),
        index=fn.plain_index(tuple(indices), x.array),
        accumulate=accumulate,
    )


@fn.in_own_memory
def select_scatter(x: TensorLike, src: TensorLike, dim: int, index: int) -> Tensor:
    """x with `src` in the place of x[…, index, …]."""
    x = as_tensor(x)
    return _over(
        x, src, along(fn.axis_of(x.ndim, dim, "select_scatter"), int(index)), "select_scatter"
    )


@fn.in_own_memory
def slice_scatter(
    x: TensorLike,
    src: TensorLike,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """x with `src` in the place of x[…, start:end:step, …]."""
    x = as_tensor(x)
    return _over(
        x,
        src,
        along(fn.axis_of(x.ndim, dim, "slice_scatter"), slice(start, end, step)),
        "slice_scatter",
    )


def diagonal_scatter(
    x: TensorLike, src: TensorLike, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """x with `src` in the place of its diagonal."""
    x, src = as_tensor(x), as_tensor(src)
    a = fn.axis_of(x.ndim, dim1, "diagonal_scatter")
    b = fn.axis_of(x.ndim, dim2, "diagonal_scatter")
    spread: Any = lambda t: diagonals.diagonal_backward(
        t, offset=int(offset), axis1=a, axis2=b, shape=x.shape
    )
    if src.shape != diagonals.diagonal(x, offset=int(offset), axis1=a, axis2=b).shape:
        raise ShapeError(
            f"diagonal_scatter: src of shape {src.shape} is not a diagonal of shape {x.shape}."
        )
    return fn.where(spread(fn.ones_like(src, dtype=backend.int64)) == 1, spread(src.to(x.dtype)), x)


def _over(x: Tensor, src: TensorLike, index: tuple[Any, ...], function: str) -> Tensor:
    src, region = as_tensor(src), fn.getitem(x, index)
    if src.shape != region.shape:
        raise ShapeError(
            f"{function}: src of shape {src.shape} must have the shape {region.shape} of what it"
            " replaces."
        )
    places = fn.getitem(counting(x.numel(), x).reshape(x.shape), index)
    flat = ix.index_put(
        x.reshape(-1), src.to(x.dtype), index=fn.plain_index((places,), x.array), accumulate=False
    )
    return flat.reshape(x.shape)


def fill(x: TensorLike, value: Any) -> Tensor:
    """A tensor of the shape and dtype of x that holds one value (a number or a 0-d tensor)."""
    x = as_tensor(x)
    value = tensor_for_cast(value, x.dtype)
    if value.ndim:
        raise ShapeError(
            f"fill: the value must be a number or a 0-d tensor, got shape {value.shape}."
        )
    return ew.overwrite(x, value)


publish(__name__)
