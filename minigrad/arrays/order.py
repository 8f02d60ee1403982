"""Largest and smallest, sorted and searched: what needs an order of the numbers.

The derivative goes where the value came from. Where several are equal, `max(x)` and `median(x)`
share it evenly, while the forms that return an index (`max(x, dim)`, `sort`, `topk`, …) give it to
the one element that the index names. NaN counts as larger than every number.
"""

from __future__ import annotations

import builtins
import math
from typing import Any, NamedTuple

from .. import backend
from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..functions.arguments import either
from ..names import TensorLike, public, publish
from ..ops import sorting
from .gather_scatter import put
from .operands import ValuesIndices, along, counting, read_along
from .sums import cumsum


class MinMax(NamedTuple):
    """The smallest and the largest elements."""

    min: Tensor
    max: Tensor


@fn.in_own_memory
def max(
    x: TensorLike,
    dim: Any = None,
    keepdim: bool = False,
    *,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """Three forms, as in PyTorch: `max(x)` the largest element (equal ones share the derivative),
    `max(x, dim)` the pair (values, indices) along a dimension (the derivative goes to the one
    index), `max(x, y)` the larger of two, element by element.
    """
    return _extreme(fn.amax, fn.argmax, fn.maximum, x, either(dim, axis), keepdim or keepdims)


@fn.in_own_memory
def min(
    x: TensorLike,
    dim: Any = None,
    keepdim: bool = False,
    *,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """The smallest element; forms as of `max`."""
    return _extreme(fn.amin, fn.argmin, fn.minimum, x, either(dim, axis), keepdim or keepdims)


def _extreme(whole: Any, where: Any, pairwise: Any, x: TensorLike, dim: Any, keepdim: bool) -> Any:
    x = as_tensor(x)
    if isinstance(dim, Tensor) or hasattr(dim, "__array__"):
        return pairwise(x, dim)
    if dim is None:
        return whole(x)
    axis = fn.axis_of(x.ndim, dim, where.__name__[3:])
    if x.ndim == 0:
        return ValuesIndices(fn.clone(x), fn.zeros_like(x, dtype=backend.int64))
    if x.shape[axis] == 0:
        raise IndexError(
            f"{where.__name__[3:]}: dimension {dim} is empty, so there is no element to choose."
        )
    return _chosen(x, where(x, axis, True), axis, keepdim)


def _chosen(x: Tensor, indices: Tensor, axis: int, keepdim: bool) -> ValuesIndices:
    """One element along an axis; `indices` keeps that axis with length 1."""
    values = read_along(x, indices, axis)
    if keepdim or x.ndim == 0:
        return ValuesIndices(values, indices)
    shape = tuple(n for i, n in enumerate(x.shape) if i != axis)
    return ValuesIndices(values.reshape(shape), indices.reshape(shape))


def aminmax(x: TensorLike, *, dim: int | None = None, keepdim: bool = False) -> MinMax:
    """(min, max) of all elements or along a dimension; equal ones share the derivative."""
    return MinMax(fn.amin(x, dim, keepdim), fn.amax(x, dim, keepdim))


def cummax(x: TensorLike, dim: int) -> ValuesIndices:
    """(values, indices): the largest of x[0] … x[k] along a dimension, and where it is (the last
    of equals; NaN is largest).
    """
    return _leading(x, dim, "cummax", True)


def cummin(x: TensorLike, dim: int) -> ValuesIndices:
    """(values, indices): the smallest of x[0] … x[k] along a dimension, and where it is (the
    last of equals; NaN is smallest).
    """
    return _leading(x, dim, "cummin", False)


def _leading(x: TensorLike, dim: int, function: str, largest: bool) -> ValuesIndices:
    x = as_tensor(x)
    axis = fn.axis_of(x.ndim, dim, function)
    if x.ndim == 0:
        return ValuesIndices(fn.clone(x), fn.zeros_like(x, dtype=backend.int64))
    indices = sorting.cumulative_argmax(x, axis=axis, largest=largest)
    return ValuesIndices(read_along(x, indices, axis), indices)


def argsort(x: TensorLike, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices (int64) that sort x along a dimension. Equals always keep their order."""
    x = as_tensor(x)
    if x.ndim == 0:
        fn.axis_of(0, dim, "argsort")
        return fn.zeros_like(x, dtype=backend.int64)
    return sorting.argsort(x, axis=fn.axis_of(x.ndim, dim, "argsort"), descending=descending)


@fn.in_own_memory
def sort(
    x: TensorLike, dim: int = -1, descending: bool = False, stable: bool = True
) -> ValuesIndices:
    """(values, indices), sorted along a dimension. Equals always keep their order."""
    x = as_tensor(x)
    indices = argsort(x, dim, descending)
    return ValuesIndices(read_along(x, indices, fn.axis_of(x.ndim, dim, "sort")), indices)


@fn.in_own_memory
def topk(
    x: TensorLike, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> ValuesIndices:
    """(values, indices) of the k largest (or smallest) along a dimension, in order; the first of
    equals first.
    """
    x = as_tensor(x)
    axis = fn.axis_of(x.ndim, dim, "topk")
    n = x.shape[axis] if x.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError(
            f"topk: k = {k} is out of range; dimension {dim} of shape {x.shape} has {n} elements."
        )
    indices = argsort(x, dim, descending=largest)
    indices = indices[along(axis, slice(0, k))] if x.ndim else indices
    return ValuesIndices(read_along(x, indices, axis), indices)


@fn.in_own_memory
def kthvalue(x: TensorLike, k: int, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """(value, index) of the k-th smallest (counted from 1) along a dimension."""
    x = as_tensor(x)
    axis = fn.axis_of(x.ndim, dim, "kthvalue")
    n = x.shape[axis] if x.ndim else 1
    if not 1 <= k <= n:
        raise RuntimeError(
            f"kthvalue: k = {k} is out of range; dimension {dim} of shape {x.shape} has {n}"
            " elements."
        )
    indices = argsort(x, dim)
    return _chosen(x, indices[along(axis, slice(k - 1, k))] if x.ndim else indices, axis, keepdim)


@fn.in_own_memory
def median(x: TensorLike, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle element, the lower of two; NaN if there is one. `median(x)` of all (equals share
    the derivative), `median(x, dim)` as a pair.
    """
    return _median(as_tensor(x), dim, keepdim, "median")


@fn.in_own_memory
def nanmedian(x: TensorLike, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of the elements that are not NaN (NaN if there are none); forms as of `median`."""
    return _median(as_tensor(x), dim, keepdim, "nanmedian")


def _median(x: Tensor, dim: int | None, keepdim: bool, function: str) -> Any:
    if dim is None:
        if x.numel() == 0:
            if not backend.is_differentiable(x.dtype):
                raise ValueError(
                    f"{function}: there is no element, and {x.dtype} has no NaN. Convert first,"
                    " with .float()."
                )
            return fn.full_like(x.sum().detach(), math.nan)
        value = _median(x.detach().reshape(-1), 0, False, function).values
        if not backend.is_differentiable(x.dtype):
            return value
        equal = fn.logical_or(x == value, fn.logical_and(fn.isnan(x), fn.isnan(value)))
        greatest = fn.amax(fn.where(equal, x, -math.inf))
        least = fn.amin(fn.where(equal, x, math.inf))
        # each is right but where it equals what stands for the others
        return fn.where(value == -math.inf, least, greatest)
    axis = fn.axis_of(x.ndim, dim, function)
    if x.ndim == 0:
        return ValuesIndices(fn.clone(x), fn.zeros_like(x, dtype=backend.int64))
    n = x.shape[axis]
    if n == 0:
        raise IndexError(f"{function}: dimension {dim} is empty, so there is no element to choose.")
    numbers = fn.sum(fn.logical_not(fn.isnan(x)), axis, True)
    if function == "median":  # NaN stands behind all numbers
        place = fn.where(numbers < n, numbers, fn.full_like(numbers, (n - 1) // 2))
    else:
        place = fn.clamp(fn.floor_divide(numbers - 1, 2), min=0)
    return _chosen(x, read_along(argsort(x, axis), place, axis), axis, keepdim)


@fn.in_own_memory
def unique(
    x: TensorLike,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements of x in ascending order (with `dim`: its different slices along that
    dimension, in the order of a dictionary); with `return_inverse` also where each is among them,
    with `return_counts` also how often each occurs. The derivative goes to the first of equals.
    """
    x = as_tensor(x)
    rows = _slices(x, dim, "unique")
    order = counting(rows.shape[0], x)
    for column in reversed(range(rows.shape[1])):
        order = fn.getitem(order, argsort(fn.getitem(rows, (order, column))))
    return _different(x, rows, order, return_inverse, return_counts, dim)


def unique_consecutive(
    x: TensorLike, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """x without the elements (with `dim`: the slices) that equal the one before them; further
    results as of `unique`.
    """
    x = as_tensor(x)
    rows = _slices(x, dim, "unique_consecutive")
    return _different(x, rows, counting(rows.shape[0], x), return_inverse, return_counts, dim)


def _slices(x: Tensor, dim: int | None, function: str) -> Tensor:
    """Each element, or each slice along a dimension, as a row."""
    if dim is None:
        return x.reshape(-1, 1)
    axis = fn.axis_of(x.ndim, dim, function)
    count = x.shape[axis] if x.ndim else 1
    return fn.movedim(x, axis, 0).reshape(count, x.numel() // builtins.max(count, 1))


def _different(
    x: Tensor,
    rows: Tensor,
    order: Tensor,
    return_inverse: bool,
    return_counts: bool,
    dim: int | None,
) -> Any:
    """The rows that differ from the one before, in this order, and what else is asked for."""
    n = rows.shape[0]
    ordered = fn.getitem(rows.detach(), order)
    first = fn.cat(
        [
            fn.ones(builtins.min(n, 1), dtype=backend.bool_, device=x.device),
            fn.any(ordered[1:] != ordered[:-1], 1),
        ]
    )
    chosen = fn.getitem(order, first)
    results = [
        (
            fn.getitem(x.reshape(-1), chosen)
            if dim is None
            else fn.getitem(x, along(fn.axis_of(x.ndim, dim, "unique"), chosen))
        )
    ]
    if return_inverse:
        ranks = cumsum(first, 0) - 1
        inverse = put(fn.zeros_like(ranks), order, ranks)
        results.append(inverse.reshape(x.shape) if dim is None else inverse)
    if return_counts:
        starts = fn.getitem(counting(n, x), first)
        results.append(
            fn.cat(
                [starts[1:], fn.full(builtins.min(n, 1), n, dtype=backend.int64, device=x.device)]
            )
            - starts
        )
    return results[0] if len(results) == 1 else tuple(results)


@public(method=False)
def searchsorted(
    sorted_sequence: Any,
    values: TensorLike,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Tensor:
    """For each value the index (int64, or int32 if asked for) at which it would have to be inserted
    to keep the order of the last
    dimension: before equals, or behind them if `right`. A 1-d sequence serves values of any shape;
    otherwise the leading dimensions must
    agree. sorter: the indices that sort the sequence, if it is not in order. No derivative.
    """
    sequence, values = as_tensor(sorted_sequence), as_tensor(values)
    if side not in (None, "left", "right"):
        raise ValueError(f'searchsorted: side must be "left" or "right", got {side!r}.')
    if sequence.ndim != 1 and (
        sequence.ndim != values.ndim or sequence.shape[:-1] != values.shape[:-1]
    ):
        raise ShapeError(
            "searchsorted: the sequence must be 1-d or agree with the values in all but the last"
            f" dimension, got {sequence.shape} and {values.shape}."
        )
    if sorter is not None:
        sequence = read_along(sequence, as_tensor(sorter), sequence.ndim - 1)
    found = sorting.searchsorted(
        sequence, values, side="right" if right or side == "right" else "left"
    )
    return found.to(backend.int32) if out_int32 else found


@public(method=False, theirs="input")
def bucketize(
    values: TensorLike, boundaries: Any, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """For each value the number of the interval between ascending 1-d boundaries that it falls into
    (`searchsorted` the other way round).
    """
    return searchsorted(boundaries, values, out_int32=out_int32, right=right)


def msort(x: TensorLike) -> Tensor:
    """x sorted along its first dimension."""
    return sort(x, 0).values


publish(__name__)
