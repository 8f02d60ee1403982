"""How numbers are added: the one accumulation policy of the library.

A sum of n numbers in floating point has an error of at most d · u · Σ|x|, where u is half the
distance from 1 to the next number of the dtype, and d the number of roundings that a term goes
through. NumPy adds pairwise along contiguous rows (d grows with log n), but row after row along
every other axis (d = n), and in float16 even the running total is a float16. Here:

- **float16 and bfloat16 accumulate in float32**, and round once at the end. This holds for sums,
  and by `accumulates=True` in its declaration for every other operation that adds or multiplies
  many numbers: products of matrices, softmax, normalisation, scans, convolution, pooling, scatter.
- **float32 and complex64 add at most `PLAIN` numbers one after another**; what is left of a longer
  sum is added in float64 (complex128). Scans and scatter accumulate in float64 from the start.
- **On a CUDA device** CuPy adds, float32 and complex64 in float64 (complex128): along an axis that
  is not the last, one thread may add many numbers one after another.
- **float64 and complex128 add at most `PLAIN` numbers one after another**, and the totals in the
same way.

Bound: |computed − exact| ≤ 2 · PLAIN · u · Σ|x| + u · |exact| for float32 and complex64 along any
axes of any layout, whatever n is; for float16 and bfloat16 the first term is that of float32, which
one rounding to the dtype hides. In practice the error is one or two units in the last place, as in
PyTorch or less. Products of matrices have BLAS's error, in float32 for half precision. A sum beyond
the largest number of its dtype is infinite, as in PyTorch; only the total counts, not what it
passes through.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ..backend import (
    SINGLE_OR_DOUBLE,
    DType,
    axis_order,
    complex64,
    complex128,
    float32,
    float64,
    ignore_float_errors,
    is_narrow,
    numpy,
)

Axes = tuple[int, ...]
PLAIN = 64
"""So many numbers may be added one after another, and so many totals of that many."""
AT_ONCE = 2 * PLAIN
"""Up to so many rows or elements are added in one go, which is within the bound."""
FOLD = 16
"""Rows of a long matrix that are added at once."""
FEW_TERMS = 2048
"""Of no more numbers the sum is taken in one go, as a product: BLAS adds them in 32 running
totals.
"""
ROWS = 1024
"""Rows of no more elements are summed as products."""
_PARTIAL = {float32: float64, complex64: complex128}


def accumulator(dtype: DType, count: int) -> DType:
    """The dtype in which `count` numbers of a dtype are added one after another."""
    if is_narrow(dtype):
        return float32 if count <= PLAIN else float64
    return dtype if count <= PLAIN else _PARTIAL.get(dtype, dtype)


# ------------------------------------------------------------------------------- sums over any axes


def total(xp: Any, x: Any, axes: Axes, keepdims: bool) -> Any:
    """The sum over axes, by the policy above."""
    dtype = x.dtype
    if is_narrow(dtype):
        return total(xp, x.astype(float32), axes, keepdims).astype(dtype)
    if xp is not numpy:
        out = xp.sum(x, axis=axes, keepdims=keepdims, dtype=_PARTIAL.get(dtype))
        return out.astype(dtype) if dtype in _PARTIAL else out
    if is_plain(x.shape, axes, dtype, x.flags.c_contiguous):
        return xp.add.reduce(x, axis=axes, keepdims=keepdims)
    shape = x.shape
    repeated = [a for a in axes if x.strides[a] == 0 and shape[a] > 1]
    if repeated:  # an expanded tensor: equal numbers are multiplied
        once = x[tuple(slice(1) if a in repeated else slice(None) for a in range(x.ndim))]
        return total(xp, once, axes, keepdims) * math.prod(shape[a] for a in repeated)
    if not x.flags.c_contiguous:  # the axes in the order in which they lie in memory
        order = axis_order(x)
        x, reduced = x.transpose(order), [axis in axes for axis in order]
    else:
        order, reduced = tuple(range(x.ndim)), [axis in axes for axis in range(x.ndim)]
    sizes, flags = _merged(x.shape, reduced, x.flags.c_contiguous)
    out = x.reshape(sizes)
    while any(flags):  # the longest axis first: what is left is small
        axis = max((i for i, flag in enumerate(flags) if flag), key=out.shape.__getitem__)
        out = _along(xp, out, axis)
        del flags[axis]
    rest = [i for i in order if i not in axes]
    out = xp.asarray(out).reshape([shape[i] for i in rest])
    if rest != sorted(rest):
        out = out.transpose([rest.index(i) for i in sorted(rest)])
    if keepdims:
        out = out.reshape([1 if i in axes else n for i, n in enumerate(shape)])
    return out.astype(dtype) if out.dtype != dtype else out


def is_plain(shape: Axes, axes: Axes, dtype: DType, contiguous: bool) -> bool:
    """Whether NumPy's own reduction adds at most `PLAIN` numbers one after another, or need not
    (integers).

    It adds a contiguous row pairwise, and the totals of the rows one after another.
    """
    if dtype.kind not in "fc" or not shape:
        return True
    count, lead = 1, len(shape)
    if contiguous:
        while lead - 1 in axes:
            lead -= 1
    for axis in axes:
        if axis < lead:
            count *= shape[axis]
    return count <= PLAIN or math.prod(shape) <= AT_ONCE


def _merged(shape: Axes, reduced: list[bool], contiguous: bool) -> tuple[list[int], list[bool]]:
    """The sizes of the axes without those of length 1; of a contiguous array neighbours of one
    kind are one axis.
    """
    sizes: list[int] = []
    flags: list[bool] = []
    for n, flag in zip(shape, reduced, strict=True):
        if contiguous and flags and flags[-1] == flag:
            sizes[-1] *= n
        elif n != 1:
            sizes.append(n)
            flags.append(flag)
    return sizes, flags


def _along(xp: Any, x: Any, axis: int) -> Any:
    """The sum over one axis, in the accumulator's dtype where it is a long one."""
    shape = x.shape
    n = shape[axis]
    if n <= PLAIN:
        return xp.add.reduce(x, axis=axis)
    if x.flags.c_contiguous:
        if axis == x.ndim - 1 and x.ndim > 1:
            return xp.add.reduce(x, axis=axis)  # pairwise
        if axis == 0 and x.dtype in SINGLE_OR_DOUBLE:
            return column_totals(xp, x.reshape((n, math.prod(shape[1:])))).reshape(shape[1:])
    count, rest = divmod(n, FOLD)
    before = (slice(None),) * axis
    # a view in every layout
    folded = x[(*before, slice(n - rest))].reshape((*shape[:axis], FOLD, count, *shape[axis + 1 :]))
    partial = xp.add.reduce(folded, axis=axis)
    out = _along(xp, partial.astype(accumulator(x.dtype, n), copy=False), axis)
    return out + xp.add.reduce(x[(*before, slice(n - rest, n))], axis=axis) if rest else out


def column_totals(xp: Any, x: Any) -> Any:
    """The sums over the first axis of a row-major float32 or float64 matrix, as products 1ᵀ x: of
    few rows, then of the totals.

    A long matrix is folded: row i and row i + n/16 and so on are one long row, so that BLAS adds 16
    long rows. 10⁶ x 2 float32 take 0.18 ms, 1ᵀ x in one go 0.56, NumPy's reduction 14. The sum of a
    matrix of more than `PLAIN`² rows comes in the accumulator's dtype.
    """
    n, columns = x.shape
    if n <= AT_ONCE:
        return ones_of(xp, n, x.dtype).dot(x)
    if n <= PLAIN * PLAIN:
        rows, count, rest = split(n)
        folded = ones_of(xp, rows, x.dtype).dot(x[: n - rest].reshape(rows, count * columns))
        out = ones_of(xp, count, x.dtype).dot(folded.reshape(count, columns))
        return out + ones_of(xp, rest, x.dtype).dot(x[n - rest :]) if rest else out
    count, rest = divmod(n, FOLD)
    folded = ones_of(xp, FOLD, x.dtype).dot(x[: n - rest].reshape(FOLD, count * columns))
    out = column_totals(
        xp, folded.reshape(count, columns).astype(accumulator(x.dtype, n), copy=False)
    )
    return out + ones_of(xp, rest, x.dtype).dot(x[n - rest :]) if rest else out


@functools.lru_cache(4096)
def split(n: int) -> tuple[int, int, int]:
    """n = rows · count + rest for n from `PLAIN` to its square, with rows and count of at most
    `PLAIN`; the rest is 0 where it can be.
    """
    root = math.isqrt(n)
    for rows in range(root, -(-n // PLAIN) - 1, -1):
        if n % rows == 0:
            return rows, n // rows, 0
    return root, n // root if n // root <= PLAIN else PLAIN, n - root * min(n // root, PLAIN)


def ones_of(xp: Any, count: int, dtype: DType) -> Any:
    """A read-only vector of ones."""
    return _host_ones(count, dtype) if xp is numpy else xp.ones(count, dtype)


_host_ones: Callable[[int, DType], Any] = functools.lru_cache(256)(numpy.ones)
"""Made once for each length."""


# ---------------------------------------------------------------- short ways of float32 and float64


def is_column(x: Any) -> bool:
    """Whether the sum over the first axis of this float32 or float64 matrix is one for
    `column_sums`: it has few rows, or they lie one after another, or its columns do and are not
    long.
    """
    return (
        x.shape[0] <= AT_ONCE
        or bool(x.flags.c_contiguous)
        or (x.shape[0] <= ROWS and bool(x.flags.f_contiguous))
    )


def column_sums(xp: Any, x: Any) -> Any:
    """The sums over the first axis of such a matrix.

    NumPy adds row to row, across memory: on 1000 x 25 float32 that takes 14 µs, products 4 µs, and
    the products round less.
    """
    count = x.shape[0]
    if count <= AT_ONCE or not x.flags.c_contiguous:
        ones = _host_ones(count, x.dtype) if xp is numpy else xp.ones(count, x.dtype)
        return ignore_float_errors.run(ones.dot, x)
    out = ignore_float_errors.run(column_totals, xp, x)
    return out if out.dtype is x.dtype else ignore_float_errors.run(out.astype, x.dtype)


def row_sums(xp: Any, x: Any) -> Any:
    """The sums over the last axis of a row-major float32 or float64 array of at least two, as the
    product x 1.

    NumPy takes a loop of its own for each row: on 1024 x 32 float32 that takes 26 µs, the product 4
    µs.
    """
    count = x.shape[-1]
    rows = x.reshape((math.prod(x.shape[:-1]), count))
    return ignore_float_errors.run(rows.dot, ones_of(xp, count, x.dtype)).reshape(x.shape[:-1])


def has_rows(x: Any, axes: Axes) -> bool:
    """Whether a sum over these axes is one for `row_sums`: not of rows so long that adding in
    one go would round more than NumPy does.
    """
    return (
        axes == (x.ndim - 1,)
        and x.ndim > 1
        and 0 < x.shape[-1] <= ROWS
        and x.dtype in SINGLE_OR_DOUBLE
        and bool(x.flags.c_contiguous)
    )


def total_of_few(x: Any) -> Any:
    """The sum of all elements of such an array, as the product xᵀ 1: of 4 elements it takes 0.6
    µs, a reduction 1.3.
    """
    return ignore_float_errors.run(
        x.reshape(-1).dot if x.ndim > 1 else x.dot, _host_ones(x.size, x.dtype)
    )


def is_few(x: Any) -> bool:
    """Whether the sum of all elements is one for `total_of_few`: of a float32 or float64 array that
    is row-major, and not so long that adding in one go would round more than NumPy does.
    """
    return (
        0 < x.size <= FEW_TERMS
        and x.ndim > 0
        and x.dtype in SINGLE_OR_DOUBLE
        and (x.ndim == 1 or bool(x.flags.c_contiguous))
    )


def slice_sums(x: Any, axis: int, keepdims: bool) -> Any:
    """The sum over an axis of 2 to 4 elements, slice by slice: ((x₀ + x₁) + x₂) + x₃.

    NumPy's reductions take a loop of their own for each of the many short rows: over the last axis
    of 1000 x 2 float32 14 µs, this 2 µs.
    """
    before = (slice(None),) * axis
    parts = [x[(*before, slice(i, i + 1) if keepdims else i)] for i in range(x.shape[axis])]
    out = parts[0] + parts[1]
    for part in parts[2:]:
        out += part
    return out


def is_short(x: Any, axes: Axes) -> bool:
    """Whether a sum over these axes is one over a single axis of 2 to 4 elements, of a float32
    or float64 array of more than one.
    """
    return (
        len(axes) == 1 and 2 <= x.shape[axes[0]] <= 4 and x.ndim > 1 and x.dtype in SINGLE_OR_DOUBLE
    )
