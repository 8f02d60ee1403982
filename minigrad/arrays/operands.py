"""Operands of the functions of this package: checked, converted, read and written at an index."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import backend
from .. import functions as fn
from ..backend import Shape
from ..batching import is_batched_index
from ..core.tensor import Tensor, as_tensor, wrap
from ..errors import BatchingError, DTypeError, ShapeError
from ..names import TensorLike
from ..ops import index as ix


class ValuesIndices(NamedTuple):
    """Chosen elements, and where they were: what max, min, sort, topk, kthvalue and median
    return along a dimension.
    """

    values: Tensor
    indices: Tensor


def existing_axis(x: Tensor, dim: Any, function: str) -> int:
    """The number of a dimension of x. Raises IndexError where there is none."""
    if x.ndim == 0:
        raise IndexError(f"{function}: a 0-d tensor has no dimension to take apart.")
    return fn.axis_of(x.ndim, dim, function)


def floating(x: TensorLike, function: str) -> Tensor:
    """x as a tensor of real or complex numbers; DTypeError for integers, for which the
    function's result would not be an integer.
    """
    x = as_tensor(x)
    if not backend.is_differentiable(x.dtype):
        raise DTypeError(
            f"{function}: needs a floating or complex dtype, got {x.dtype}. Convert first, for"
            " instance with .float()."
        )
    return x


def counted(x: TensorLike) -> Tensor:
    """x as a tensor; booleans and integers as int64, in which they can be added up."""
    x = as_tensor(x)
    return x.to(backend.int64) if x.dtype.kind in "bui" else x


def counting(n: int, like: Tensor) -> Tensor:
    """0 … n-1 on the device of `like`."""
    return wrap(backend.arange(0, n, 1, backend.int64, backend.device_of(like.array)))


def in_dtype_of(x: Tensor, value: Any) -> Tensor:
    """A number or tensor in the dtype and on the device of x."""
    if isinstance(value, Tensor):
        return value.to(x.dtype)
    return wrap(backend.to_device_of(backend.as_payload(value, x.dtype), x.array))


def as_index(index: TensorLike, size: int, function: str, negative: bool = False) -> Tensor:
    """Integers that name elements of an axis of `size`, as int64. TypeError for other numbers,
    IndexError for those out of range.

    The range is looked at in host memory only: on a device that would need a trip to the host and
    back.
    """
    index = as_tensor(index)
    if index.dtype.kind not in "iu":
        raise DTypeError(f"{function}: the index must hold integers, got {index.dtype}.")
    array = index.array
    if isinstance(array, backend.NumpyArray) and array.size:
        low, high = array.min(), array.max()
        if high >= size or low < (-size if negative else 0):
            wrong = high if high >= size else low
            raise IndexError(
                f"{function}: index {wrong} is out of range for a dimension of size {size}."
            )
    return index if index.dtype == backend.int64 else index.to(backend.int64)


def grid(index: Tensor, axis: int) -> tuple[Tensor, ...]:
    """An index that reads along `axis` what `index` says, and along each other axis the place
    itself.
    """
    places = []
    for i, n in enumerate(index.shape):
        shape = [1] * index.ndim
        shape[i] = n
        places.append(index if i == axis else counting(n, index).reshape(shape))
    return tuple(places)


def read_along(x: Tensor, index: Tensor, axis: int) -> Tensor:
    """y[…, k, …] = x[…, index[…, k, …], …] along the axis. Repeated indices add up in the
    gradient.
    """
    if x.ndim == 0:
        return fn.getitem(x.reshape(1), index.reshape(-1)).reshape(index.shape)
    return fn.getitem(x, grid(index, axis))


def written(
    x: Tensor, values: Tensor, index: tuple[Any, ...], accumulate: bool, function: str
) -> Tensor:
    """x with `values` at the index, or added there."""
    plain = fn.plain_index(index, x.array)
    if is_batched_index(plain):
        raise BatchingError(
            f"{function}: inside vmap, all examples must write at the same index; this one differs"
            " between them."
        )
    return ix.index_put(x, values, index=plain, accumulate=accumulate)


def along(axis: int, index: TensorLike) -> tuple[Any, ...]:
    """The index that leaves the axes before `axis` alone."""
    return (slice(None),) * axis + (index,)


def same_ndim(function: str, *named: tuple[str, Tensor]) -> None:
    """Raise ShapeError unless all have as many dimensions; 0-d counts as 1-d."""
    if len({max(t.ndim, 1) for _, t in named}) > 1:
        raise ShapeError(
            f"{function}: needs the same number of dimensions, got "
            + ", ".join(f"{n} of shape {t.shape}" for n, t in named)
        )


def fits_within(
    function: str, what: str, inner: Shape, outer: Shape, besides: int | None = None
) -> None:
    """Raise ShapeError where a size of `inner` exceeds that of `outer` (in other dimensions than
    `besides`).
    """
    for d, (m, n) in enumerate(zip(inner, outer, strict=True)):
        if d != besides and m > n:
            raise ShapeError(
                f"{function}: the index of shape {inner} is larger than {what} of shape {outer} in"
                f" dimension {d}."
            )


def axes_within(x: Tensor, dim: Any, function: str) -> tuple[int, ...]:
    """The numbers of the axes of x that `dim` names, all for None; none of a 0-d tensor."""
    return tuple(a for a in fn.axes_of(x, dim, function) if a < x.ndim)
