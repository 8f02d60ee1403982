"""Activation functions, and the functions that they are made of. relu has derivative 0 at 0."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...backend import SINGLE_OR_DOUBLE, NumpyArray, ignore_float_errors, numpy
from ...core.primitive import elementwise
from ..error_function import error_function
from ..kernels import KernelCall, row_major
from .arithmetic import exp, function, real_function
from .selection import where


def _sigmoid(xp: Any, x: Any) -> Any:
    if x.dtype.itemsize == 2:  # half precision would round three times
        return _sigmoid(xp, x.astype("float32")).astype(x.dtype)
    # infinite where x is very negative, and 1 / (1 + ∞) = 0 is right
    y = ignore_float_errors.run(xp.exp, -x)
    y += 1
    return 1 / y


sigmoid = elementwise(
    "sigmoid",
    _sigmoid,
    lambda g, y: g * (y * (1 - y)),
    promote="float",
    symbol="σ",
    scalar="1 / (exp(-x) + 1)",
)


def _softplus(xp: Any, x: Any) -> Any:
    # no exponential of a large number; fifteen times faster than logaddexp(x, 0)
    return xp.maximum(x, 0) + xp.log1p(xp.exp(-abs(x)))


softplus = real_function(
    "softplus", _softplus, lambda g, x: g * sigmoid(x), scalar="maximum(x, 0) + log1p(exp(-abs(x)))"
)
logaddexp = function(
    "logaddexp",
    lambda g, a, b: g * sigmoid(a - b),
    lambda g, a, b: g * sigmoid(b - a),
    real_only=True,
    cost=(0, 2, 3),
)
erf = real_function(
    "erf",
    error_function,
    lambda g, x: g * (2 / math.sqrt(math.pi) * exp(-x * x)),
    pull_notation="g * 2 / sqrt(π) * e ** (-(x ** 2))",
)


def long_rows(size: int) -> tuple[int, int] | None:
    """`size` elements as rows of at most 4,096: (count, length) with the longest that there are,
    None where all are short.
    """
    length = next((n for n in range(min(size, 4096), 0, -1) if size % n == 0), 0)
    return (size // length, length) if length >= 64 or (length == size > 0) else None


_rows: Callable[[int], tuple[int, int] | None] = functools.lru_cache(1024)(long_rows)
ZEROS = 32_768
"""So many zeros are kept to compare with; of longer arrays, rows."""


@functools.lru_cache(2)
def host_zeros(dtype: Any) -> Any:
    """Read-only zeros."""
    zeros = numpy.zeros(ZEROS, dtype)
    zeros.flags.writeable = False
    return zeros


def _relu(xp: Any, x: Any) -> Any:
    """The larger of x and zeros. NumPy compares an array with an array five times faster than with
    a number, most of all with one of its own shape; for large ones a row of zeros will do.
    """
    if (
        type(x) is NumpyArray
        and x.dtype in SINGLE_OR_DOUBLE
        and x.size >= 256
        and x.flags.c_contiguous
    ):
        if x.size <= ZEROS:
            return xp.maximum(x, host_zeros(x.dtype)[: x.size].reshape(x.shape))
        rows = _rows(x.size)
        if rows is not None:
            return xp.maximum(x.reshape(rows), host_zeros(x.dtype)[: rows[1]]).reshape(x.shape)
    return xp.maximum(x, 0)


def relu_kernel(k: KernelCall) -> list[str] | None:
    """The larger of x and an array of zeros: NumPy compares arrays four times faster than an array
    and a number. Of a large array the elements are seen as a few long rows, and a row of zeros does
    for all.
    """
    if not k.all_of("f"):
        return None
    k.in_place = True
    rows = _long_rows_of(k)
    if rows is None:
        return [f"maximum({k.operands[0]}, 0, out={k.out})"]
    if k.xp is numpy and rows[0] * rows[1] <= ZEROS:
        zeros = k.static(
            "zeros", host_zeros(k.made.dtype)[: rows[0] * rows[1]].reshape(k.made.shape)
        )
        return [f"maximum({k.operands[0]}, {zeros}, out={k.out})"]
    zeros = k.static("zeros", k.xp.zeros(rows[1], k.made.dtype))
    x, out = (k.view(text, f".reshape{rows}") for text in (k.operands[0], k.out))
    return [f"maximum({x}, {zeros}, out={out})"]


def _long_rows_of(k: KernelCall) -> tuple[int, int] | None:
    """The elements of a row-major operand and result as long rows, None if there are none."""
    source, size = k.array(0), k.made.nbytes // k.made.dtype.itemsize
    if (
        source is None
        or not all(row_major(s, k.made.shape, k.made.dtype) for s in (k.strides[0], k.out_strides))
        or source.shape != k.made.shape
    ):
        return None
    return long_rows(size)


relu = elementwise(
    "relu",
    _relu,
    lambda g, y: where(y <= 0, 0.0, g),
    real_only=True,
    scalar="maximum(x, 0)",
    kernel=relu_kernel,
)
