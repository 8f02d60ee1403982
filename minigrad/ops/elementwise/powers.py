"""Powers and the reciprocal square root."""

from __future__ import annotations

import operator
from math import inf
from typing import Any

from ...backend import float32, ignore_float_errors, is_narrow
from ...core.primitive import elementwise
from .arithmetic import log, reciprocal
from .complex_numbers import real
from .copies import in_dtype_of, zeros_like
from .selection import where


def _power(xp: Any, x: Any, *, n: float) -> Any:
    if n == 2:
        return ignore_float_errors.run(xp.multiply, x, x)
    if n == 3:
        # a hundred times faster than the general power on float32
        return ignore_float_errors.run(xp.multiply, ignore_float_errors.run(xp.multiply, x, x), x)
    if n == 0.5:  # so NumPy computes it of arrays, but not of single numbers
        return in_dtype_of(x, ignore_float_errors.run(xp.sqrt, x))
    if n == -0.5:  # so PyTorch computes it; at -inf and -0 the general power gives 0 and inf
        wide = x.astype(float32) if is_narrow(x.dtype) else x
        root = ignore_float_errors.run(xp.sqrt, wide)
        return in_dtype_of(x, ignore_float_errors.run(xp.true_divide, 1, root))
    return in_dtype_of(x, ignore_float_errors.run(operator.pow, x, n))


def _pull_power(g: Any, x: Any, *, n: float) -> Any:
    """n · x^(n - 1), and 0 for n = 0. Where n - 1, rounded, is as even as n is (in float32 from
    2^24 on), n · sign(x) · |x|^(n - 1).
    """
    if n == 0:
        return zeros_like(g)
    if -256 <= n <= 256 or not _stays_even(x.dtype, n):
        return g * (n * power(x, n=n - 1))
    below = (x < 0) | (reciprocal(x) < 0)  # -0 too
    return where(below, -g, g) * (n * power(where(below, -x, x), n=n - 1))


def _stays_even(dtype: Any, n: float) -> bool:
    """Whether n and n - 1 are both even when they are rounded to the dtype in which a power of such
    numbers is computed.
    """
    if dtype.kind not in "fV":  # "V" is bfloat16's kind, of which powers are computed in float32
        return False
    if dtype.itemsize == 8:
        return (n + 0.0) % 2 == 0 and (n - 1 + 0.0) % 2 == 0  # + 0.0 rounds an integer
    rounded = float32.type if dtype.kind == "V" else dtype.type
    return (
        float(ignore_float_errors.run(rounded, n)) % 2
        == 0
        == float(ignore_float_errors.run(rounded, n - 1)) % 2
    )


power = elementwise(
    "pow",
    _power,
    _pull_power,
    promote="same",
    scalar="x ** n",
    domain="(x >= 0 or n == floor(n)) and (x != 0 or n >= 0)",
)
"""x to a constant real power n."""


def _pull_exponent(g: Any, a: Any, b: Any, y: Any) -> Any:
    """y ln a, and 0 where 0 to the b is flat: there ln 1 stands in, for a second derivative
    multiplies the unused branch by 0, and 0 · ln 0 is NaN.
    """
    flat = (a == 0) & _tames_logarithm(b)
    return where(flat, 0.0, g * (y * log(where(flat, 1.0, a))))


def _pow_tensor(xp: Any, a: Any, b: Any) -> Any:
    like = a if hasattr(a, "dtype") else b
    # of integers only 1 and -1 have an inverse; the others give 0, as in PyTorch
    if like.dtype.kind == "i" and xp.any(xp.asarray(b) < 0):
        base, even = xp.asarray(a, like.dtype), xp.asarray(b) % 2 == 0
        inverse = xp.where(xp.abs(base) == 1, xp.where(even, 1, base), 0)
        return in_dtype_of(like, xp.where(xp.asarray(b) < 0, inverse, base ** xp.maximum(b, 0)))
    if getattr(b, "ndim", 1) == 0 and getattr(a, "ndim", 0) and b == 0.5:
        # NumPy takes the root, which is nan at -inf, and -0 at -0
        root = ignore_float_errors.run(xp.sqrt, a) + 0.0
        return in_dtype_of(like, root if a.dtype.kind == "c" else xp.where(a == -inf, inf, root))
    return in_dtype_of(like, ignore_float_errors.run(operator.pow, a, b))


pow_ = elementwise(
    "pow_tensor",
    _pow_tensor,
    lambda g, a, b: where(b == 0, 0.0, g * (b * pow_(a, b - 1))),
    _pull_exponent,
    integers="modulo",
    scalar="a ** b",
    pull_notation=("g * b * a ** (b - 1)", "g * y * ln(a)"),
    domain="(a >= 0 or b == floor(b)) and (a != 0 or b >= 0)",
    graph_name="PowBackward1",
)
"""a to a varying power b."""


def _tames_logarithm(b: Any) -> Any:
    """Whether 0 to the b times ln 0 counts as 0: for b >= 0, and for complex b with a positive real
    part (or b = 0).
    """
    if getattr(b, "dtype", None) is not None and b.dtype.kind == "c":
        return (b == 0) | (real(b) > 0)
    return (b == 0) | (b.real > 0) if type(b) is complex else b >= 0


rsqrt = elementwise(
    "rsqrt",
    lambda xp, x: ignore_float_errors.run(xp.true_divide, 1, ignore_float_errors.run(xp.sqrt, x)),
    lambda g, y: -0.5 * g * power(y, n=3),
    promote="float",
    scalar="1 / sqrt(x)",
    notation="1 / sqrt(x)",
    domain="x > 0",
)
square = elementwise(
    "square",
    lambda xp, x: ignore_float_errors.run(xp.multiply, x, x),
    lambda g, x: g * (2 * x),
    scalar="x * x",
    notation="x ** 2",
    graph_name="PowBackward0",
)
