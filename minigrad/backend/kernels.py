"""Computations that NumPy and CuPy do differently, or that need help to be fast."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from ..errors import LinAlgError
from .dtypes import is_floating
from .payload import Array, array_module, ignore_float_errors


def broadcast_rows(
    function: Callable[..., Array], x: Array, y: Array, params: dict[str, Any]
) -> Array:
    """`function(numpy, x, y, **params)`, element by element, of two NumPy arrays whose shapes
    differ.

    NumPy runs one inner loop for each row of a table that is combined with a row (a bias). Where
    rows are short, the row is repeated to a longer one, which is combined with several rows of the
    table in one loop: 10,000 x 10 and 10 take 23 µs instead of 57, 4,000 x 25 and 25 take 22
    instead of 34.
    """
    table, row = (x, y) if x.ndim > y.ndim else (y, x)
    if (
        row.ndim == 1
        and 2 <= row.size <= 64
        and table.size >= 1500 * row.size
        and table.shape[-1] == row.size
        and table.flags.c_contiguous
    ):
        count = _rows_at_once(table.size // row.size)
        if count > 1:
            repeated = np.empty((count, row.size), row.dtype)
            repeated[...] = row
            lines, line = table.reshape(-1, count * row.size), repeated.reshape(-1)
            return function(
                np, *((lines, line) if table is x else (line, lines)), **params
            ).reshape(table.shape)
    return function(np, x, y, **params)


@functools.lru_cache(1024)
def _rows_at_once(count: int) -> int:
    """The largest divisor up to the square root: so many copies of a row, and so many loops, are
    the least work.
    """
    return next(n for n in range(math.isqrt(count), 0, -1) if count % n == 0)


def scatter_add(xp: Any, target: Array, index: Any, values: Array) -> None:
    """`target[index] += values` where repeated indices accumulate."""
    if xp is np or target.dtype.name in _ATOMIC_SUMS:
        xp.add.at(target, index, values)
    elif target.dtype.kind == "c":
        values = xp.asarray(values, target.dtype)
        xp.add.at(target.real, index, values.real)
        xp.add.at(target.imag, index, values.imag)
    else:
        wide = np.float32 if is_floating(target.dtype) else np.int64
        sums = target.astype(wide)
        xp.add.at(sums, index, xp.asarray(values, target.dtype).astype(wide))
        target[...] = sums.astype(target.dtype)


def scatter_extreme_at(xp: Any, target: Array, index: Any, values: Array, largest: bool) -> None:
    """`target[index] = max(target[index], values)` (or min) where repeated indices count each; NaN
    wins.

    CuPy compares float64 in single precision and passes over NaN, so there integers are compared
    that have the order of the numbers.
    """
    name = "maximum" if largest else "minimum"
    if xp is np:
        ignore_float_errors.run(getattr(np, name).at, target, index, values)
        return
    keys = _ordered_keys(xp, target, largest)
    given = _ordered_keys(xp, xp.asarray(values, target.dtype), largest)
    getattr(xp, name).at(keys, index, given)
    bits = keys.view(np.int64) ^ _SIGN
    if target.dtype.kind in "biu":
        target[...] = bits.astype(target.dtype)
    else:
        target[...] = _flipped(bits).view(np.float64).astype(target.dtype)


_ATOMIC_SUMS = frozenset("int32 int64 float16 float32 float64 uint32 uint64".split())
"""The dtypes that CuPy's `add.at` takes."""
_SIGN, _MAGNITUDE = -(2**63), 2**63 - 1
"""The sign bit of an int64, and all other bits."""


def _flipped(bits: Array) -> Array:
    """The bits of float64 numbers as int64 of the same order, or back: the magnitude of what is
    negative is inverted.
    """
    return bits ^ ((bits >> 63) & _MAGNITUDE)


def _ordered_keys(xp: Any, x: Array, largest: bool) -> Array:
    """Numbers of x's order as uint64, which CuPy compares exactly. NaN is first or last: it
    wins."""
    if x.dtype.kind in "biu":
        bits = x.astype(np.int64)
    else:
        exact = x.astype(np.float64)
        nan = _MAGNITUDE if largest else _SIGN
        bits = xp.where(xp.isnan(exact), nan, _flipped(exact.view(np.int64)))
    return (bits ^ _SIGN).view(np.uint64)


def allclose(a: Array, b: Array, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Element-wise closeness of two arrays, on their own device."""
    with ignore_float_errors():
        return bool(array_module([a, b]).allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def erf_function(xp: Any) -> Callable[[Array], Array]:
    """The error function of the library: CuPy has it, NumPy does not (there the C library's,
    element by element, in double precision).
    """
    return _special(xp, "erf")


def erfc_function(xp: Any) -> Callable[[Array], Array]:
    """The complementary error function, likewise."""
    return _special(xp, "erfc")


def lgamma_function(xp: Any) -> Callable[[Array], Array]:
    """ln |Γ|, likewise; infinite at its poles, where Python's own raises."""
    if xp is not np:
        return _special(xp, "gammaln")

    def lgamma(x: float) -> float:
        if x <= 0 and (not math.isfinite(x) or x == math.floor(x)):
            return math.inf
        try:
            return math.lgamma(x)
        except OverflowError:
            return math.inf

    vectorised = np.frompyfunc(lgamma, 1, 1)
    return lambda x: np.asarray(ignore_float_errors.run(vectorised, x), dtype=np.float64).astype(
        x.dtype
    )


def _special(xp: Any, name: str) -> Callable[[Array], Array]:
    if xp is not np:
        out: Callable[[Array], Array] = getattr(
            getattr(xp, "special", None) or importlib.import_module("cupyx.scipy.special"), name
        )
        return out
    vectorised = np.frompyfunc(getattr(math, name), 1, 1)
    return lambda x: np.asarray(vectorised(x), dtype=np.float64).astype(x.dtype)


def divide_integers(divide: Callable[[Any, Any], Array], a: Array, b: Array) -> Array:
    """`divide(a, b)` for integers. Raises ZeroDivisionError where NumPy would warn and answer 0
    (CuPy does not say).
    """
    try:
        with np.errstate(divide="raise"):
            return divide(a, b)
    except FloatingPointError:
        raise ZeroDivisionError(
            "an integer was divided by zero. Convert to floating point first (x.float()) to get inf"
            " or nan instead."
        ) from None


def call_linalg(operation: str, routine: Callable[..., Any], *args: Any) -> Any:
    """A routine of `xp.linalg`. Raises LinAlgError with advice where it finds no answer; CuPy waits
    for the device to know it.
    """
    on_device = (routine.__module__ or "").startswith("cupy")
    raising = (
        importlib.import_module("cupyx").errstate(linalg="raise") if on_device else nullcontext()
    )
    try:
        with raising:
            return ignore_float_errors.run(routine, *args)
    except np.linalg.LinAlgError as error:
        shapes = " and ".join(str(tuple(a.shape)) for a in args if hasattr(a, "shape"))
        if "converge" in str(error) or operation == "eig":
            advice = "look for NaN or infinity in the matrix."
        elif operation == "cholesky":
            advice = (
                "the matrix (or one of them) is not positive definite. Add a small multiple of the"
                " identity, or use linalg.eigh."
            )
        else:
            advice = (
                "the matrix (or one of them) is singular. Use linalg.pinv, or add a small multiple"
                " of the identity."
            )
        raise LinAlgError(f"linalg.{operation} of shape {shapes}: {error}: {advice}") from None
