"""Memory layout: strides, views, copies in a given order, and where an array lies in the memory it
shares.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import SINGLE_OR_DOUBLE, DType
from .payload import MODULES, Array, Shape, is_immutable


def shares_memory(array: Array, source: Array) -> bool:
    """Whether `array`, made by a view operation from `source`, shares its memory (and was not
    copied).
    """
    base = getattr(array, "base", None)
    if array is source:
        return True
    if base is None:
        return False
    if base is source or base is source.base:
        return True
    # `as_strided` of NumPy puts an object between a view and its base
    inner = getattr(base, "base", None)
    return inner is not None and (
        inner is source or inner is source.base or inner is getattr(source, "array", None)
    )


def owner_of(array: Any) -> Any:
    """The array that owns the memory of `array`."""
    while True:
        base = getattr(array, "base", None)
        if not isinstance(base, np.ndarray | type(array)):
            base = getattr(base, "base", None)  # behind the object that `as_strided` puts between
            if not isinstance(base, np.ndarray | type(array)):
                return array
        array = base


def broadcasts(shape: Shape, target: Shape) -> bool:
    """Whether an array of a shape can be broadcast to `target`."""
    padded = (1,) * (len(target) - len(shape)) + tuple(shape)
    return len(padded) == len(target) and all(
        a in (1, b) for a, b in zip(padded, target, strict=True)
    )


def broadcast_view(xp: Any, array: Array, shape: Shape) -> Array:
    """A view of `array` in a larger shape, its elements repeated along new axes and axes of size 1.
    Read-only where an axis grows, because elements then share memory.
    """
    lead = len(shape) - array.ndim
    if shape[lead:] == array.shape and shape[:lead] == (1,) * lead and lead >= 0:
        return array.reshape(shape)  # no axis grows
    if (
        xp is np
        and lead >= 0
        and array.dtype in SINGLE_OR_DOUBLE
        and array.flags.c_contiguous
        and array.size
        and 0 not in shape
        and all([n in (1, m) for n, m in zip(array.shape, shape[lead:], strict=True)])
    ):
        # NumPy's function, which is written in Python, takes six times as long to make this view
        strides = (0,) * lead + tuple(
            [0 if n == 1 else step for n, step in zip(array.shape, array.strides, strict=True)]
        )
        view = np.ndarray(shape, array.dtype, array, 0, strides)
        view.flags.writeable = False
        return view
    return xp.broadcast_to(array, shape)


def diagonal_view(array: Array, offset: int, axis1: int, axis2: int) -> Array:
    """The diagonal along two axes as a view, writable where the array is (NumPy's is read-only)."""
    out = array.diagonal(offset, axis1, axis2)
    if type(out) is np.ndarray:
        out.flags.writeable = array.flags.writeable
    return out


def sliding_windows(xp: Any, array: Array, axis: int, size: int, step: int) -> Array:
    """All windows of `size` elements along an axis, `step` apart, as a new last axis: a view,
    writable where the array is.
    """
    count, stride = (array.shape[axis] - size) // step + 1, array.strides[axis]
    shape = (*array.shape[:axis], count, *array.shape[axis + 1 :], size)
    strides = (*array.strides[:axis], stride * step, *array.strides[axis + 1 :], stride)
    return xp.lib.stride_tricks.as_strided(array, shape, strides)


def is_expanded(array: Array) -> bool:
    """Whether an axis longer than 1 repeats one element (stride 0)."""
    return 0 in array.strides and any(
        s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)
    )


def overlaps_itself(array: Array) -> bool:
    """Whether one memory location has several indices of `array`, as in an expanded array."""
    if array.flags.c_contiguous or array.flags.f_contiguous or array.size < 2:
        return False
    if is_expanded(array):
        return True
    strides, shape = array.strides, array.shape
    if len(shape) == 1:
        return False
    if len(shape) == 2:  # the usual case: rows lie apart, or columns do
        a, b = abs(strides[0]), abs(strides[1])
        if a > b * (shape[1] - 1) or b > a * (shape[0] - 1):
            return False
    # how far the last element of the axes seen so far, those of small strides, lies behind the
    # first
    end = 0
    for stride, size in sorted(
        [(abs(stride), size) for stride, size in zip(strides, shape, strict=True) if size > 1]
    ):
        if stride <= end:
            break
        end += stride * (size - 1)
    else:
        return False
    places = np.zeros((), np.int64)  # the axes interleave: only the addresses can tell
    for stride, size in zip(strides, shape, strict=True):
        places = np.add.outer(places, np.arange(size) * stride)
    return bool(np.unique(places).size < array.size)


def is_writable(array: Array) -> bool:
    """Whether the array's memory may be overwritten (scalar payloads get memory of their own first,
    CuPy's arrays always may).
    """
    return is_immutable(array) or bool(getattr(array.flags, "writeable", True))


def is_dense(array: Array) -> bool:
    """Whether the array fills its memory without holes or overlaps, in any order of axes
    ("non-overlapping and dense").
    """
    return fills_memory(array.strides, array.shape, array.dtype.itemsize)


def fills_memory(strides: Shape, shape: Shape, expected: int) -> bool:
    """Whether an array with these byte steps is dense. expected: bytes of an element."""
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size > 1:
            if stride != expected:
                return False
            expected *= size
    return True


def owns_fresh_memory(array: Array) -> bool:
    """Whether the array is no view of another one."""
    return is_immutable(array) or array.base is None


def axis_order(array: Array) -> tuple[int, ...]:
    """The axes from the outermost in memory to the innermost."""
    return tuple(sorted(range(array.ndim), key=lambda axis: (-abs(array.strides[axis]), axis)))


def copy_in_order(xp: Any, array: Array, order: tuple[int, ...] | None) -> Array:
    """A dense copy (never a scalar) whose axes lie in memory in the given order; row-major for
    None.
    """
    if order is None:
        order = tuple(range(array.ndim))
    inverse = sorted(range(array.ndim), key=order.__getitem__)
    return xp.array(array.transpose(order), order="C", copy=True).transpose(inverse)


def copy_with_strides_of(array: Array, model: Array) -> Array:
    """A copy of `array` laid out as `model` is where `model` is dense, else row-major (PyTorch's
    default gradient layout).
    """
    if is_immutable(array):
        return array
    if (
        model.ndim > 1
        and type(array) in MODULES
        and not model.flags.c_contiguous
        and is_dense(model)
    ):
        order = sorted(range(model.ndim), key=lambda axis: (-model.strides[axis], axis))
        inverse = sorted(range(model.ndim), key=order.__getitem__)
        return array.transpose(order).copy().transpose(inverse)
    return array.copy()


def has_strides_of(array: Array, model: Array) -> bool:
    """Whether a gradient `array` already has the layout that `copy_with_strides_of` would give
    it.
    """
    if is_immutable(array):
        return True
    if model.ndim == array.ndim and array.strides == model.strides and array.flags.c_contiguous:
        return True
    if model.ndim > 1 and is_dense(model):
        return bool(array.strides == model.strides)
    return bool(array.flags.c_contiguous)


def storage_of(array: Array) -> tuple[Array, Array, tuple[int, Shape, Shape, DType]]:
    """The array that owns the memory of a NumPy array, the bytes of that memory (one axis), and the
    location of the array among them: offset and strides in bytes, shape, dtype.

    The array is copied, and the copy is the owner, where the owner is not dense (an array from
    another program).
    """
    root = owner_of(array)
    span = np.lib.array_utils.byte_bounds
    first, end = span(root)
    start, stop = span(array)
    if not is_dense(root) or (array.size and not first <= start <= stop <= end):
        root = array = copy_in_order(np, array, axis_order(array))
        first, end = span(root)
    memory = root.transpose(axis_order(root)).reshape(-1).view(np.uint8)
    offset = array.__array_interface__["data"][0] - first if array.size else 0
    return (
        memory if memory.base is None else memory.base,
        memory,
        (offset, array.shape, array.strides, array.dtype),
    )


def array_in_storage(
    memory: Array, offset: int, shape: Shape, strides: Shape, dtype: DType
) -> Array:
    """The array at a location in `memory`, an array of bytes. Raises ValueError if it reaches
    beyond the end.
    """
    return (
        np.ndarray(shape, dtype, memory, offset, strides)
        if 0 not in shape
        else np.ndarray(shape, dtype)
    )
