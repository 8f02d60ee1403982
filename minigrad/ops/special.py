"""Further element-wise functions. At singular points they answer, and differentiate, as PyTorch does."""

from __future__ import annotations

import math
from typing import Any

from ..backend import erf_function, erfc_function, lgamma_function, silently
from ..primitive import constant, elementwise
from .elementwise import exp, log, where


def _arrays(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Both as arrays; a Python number takes the dtype of the array that it meets."""
    dtype = getattr(a, "dtype", None) or getattr(b, "dtype", None)
    return (a if hasattr(a, "dtype") else xp.asarray(a, dtype)), (b if hasattr(b, "dtype") else xp.asarray(b, dtype))


def _xlogy(xp: Any, a: Any, b: Any) -> Any:
    a, b = _arrays(xp, a, b)
    y = silently.run(xp.multiply, a, silently.run(xp.log, b))
    return xp.where((a == 0) & (b == b), xp.zeros((), y.dtype), y)


xlogy = elementwise(
    "xlogy",
    _xlogy,
    lambda g, a, b: where((a == 0) & (b <= 0), 0.0, g * log(b)),
    lambda g, a, b: g * a / b,
    promote="float",
    real_only=True,
)
"""a ln b, and 0 where a is 0 (unless b is NaN)."""
hypot = elementwise(
    "hypot",
    lambda xp, a, b: silently.run(xp.hypot, a, b),
    lambda g, a, y: g * (a / y),
    lambda g, b, y: g * (b / y),
    promote="float",
    real_only=True,
)
"""The square root of a² + b² without overflow; no derivative (NaN) at the origin, where it has a tip."""
erfc = elementwise(
    "erfc",
    lambda xp, x: erfc_function(xp)(x),
    lambda g, x: g * (-2 / math.sqrt(math.pi) * exp(-x * x)),
    promote="float",
    real_only=True,
)
"""1 - erf(x), accurate where that is tiny."""


# ------------------------------------------------------------------------------------------------------------- the gamma function


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""The Bernoulli numbers B₂, B₄, … B₁₆."""


def _polygamma(xp: Any, x: Any, *, n: int) -> Any:
    """The n-th derivative of ψ = (ln Γ)', in three steps, the same ones for every element:

    1. reflection, for x < ½:   ψ⁽ⁿ⁾(x) = (-1)ⁿ ψ⁽ⁿ⁾(1 - x) - π dⁿ/dxⁿ cot πx
    2. recurrence, up to z ≥ 12 + n:   ψ⁽ⁿ⁾(z) = ψ⁽ⁿ⁾(z + 1) - (-1)ⁿ n! / zⁿ⁺¹
    3. there the series of Euler and Maclaurin, exact to rounding.

    Source: Abramowitz & Stegun, Handbook of Mathematical Functions, 6.3.7, 6.3.18, 6.4.6, 6.4.7, 6.4.11.
    """
    x = xp.asarray(x)
    wide = x.astype("float64")
    low = wide < 0.5
    z = xp.where(low, 1 - wide, wide)
    sign, factorial = (-1) ** n, math.factorial(n)
    y = xp.zeros(z.shape, "float64")
    for _ in range(12 + n):
        small = z < 12 + n
        y = y - xp.where(small, sign * factorial / xp.where(small, z, 1.0) ** (n + 1), 0.0)
        z = z + small
    y = y + (xp.log(z) if n == 0 else -sign * math.factorial(n - 1) / z**n) - sign * factorial / (2 * z ** (n + 1))
    for k, b in enumerate(BERNOULLI, 1):
        y = y - sign * b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) / z ** (2 * k + n)
    y = xp.where(low, sign * y - math.pi * _cotangent(xp, wide, n), y)
    if n == 0:
        y = xp.where(wide == 0, -xp.copysign(xp.full(wide.shape, math.inf), wide), y)
        at_pole, at_infinity = math.nan, math.inf
    else:
        at_pole, at_infinity = -sign * math.inf, 0.0
    y = xp.where((wide == xp.floor(wide)) & ((wide < 0) | ((wide == 0) & (n > 0))), at_pole, y)
    return xp.where(wide == math.inf, at_infinity, y).astype(x.dtype)


def _cotangent(xp: Any, x: Any, n: int) -> Any:
    """The n-th derivative of cot πx: πⁿ times a polynomial in c = cot πx, because c' = -π (1 + c²)."""
    polynomial = [0, 1]  # coefficients, from the constant on
    for _ in range(n):
        slope = [k * a for k, a in enumerate(polynomial)][1:]
        polynomial = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    c = 1 / xp.tan(math.pi * (x - xp.floor(x)))
    y = xp.zeros(c.shape, "float64")
    for a in reversed(polynomial):
        y = y * c + a
    return math.pi**n * y


lgamma = elementwise("lgamma", lambda xp, x: lgamma_function(xp)(x), lambda g, x: g * digamma(x), promote="float", real_only=True)
"""ln |Γ(x)|, infinite at 0, -1, -2, …"""
digamma = elementwise(
    "digamma", lambda xp, x: silently.run(_polygamma, xp, x, n=0), lambda g, x: g * polygamma(x, n=1), promote="float", real_only=True
)
"""The derivative of ln Γ."""
polygamma = elementwise(
    "polygamma",
    lambda xp, x, *, n: silently.run(_polygamma, xp, x, n=n),
    lambda g, x, *, n: g * polygamma(x, n=n + 1),
    promote="float",
    real_only=True,
)
"""The n-th derivative of digamma, for n ≥ 1."""


def _heaviside(xp: Any, x: Any, values: Any) -> Any:
    x, values = _arrays(xp, x, values)
    return xp.where(x == 0, values, (x > 0).astype(values.dtype))


heaviside = constant("heaviside", _heaviside, promote="same", real_only=True)
"""0 for negative x, 1 for positive x, `values` where x is 0."""


# ------------------------------------------------------------------------------------------------------------- the inverse of erf


def _erfinv(xp: Any, x: Any) -> Any:
    """A first guess from the logarithm of 1 - x², then three steps of Halley's method on erf(y) = x, or, where x is
    near 1, on erfc(y) = 1 - x, which keeps the digits.

    Source of the guess: S. Winitzki, A handy approximation for the error function and its inverse (2008).
    """
    x = xp.asarray(x)
    wide = x.astype("float64")
    size = xp.abs(wide)
    inside = size < 1
    s = xp.where(inside, size, 0.0)
    logarithm, a = xp.log1p(-s * s), 0.147
    half = 2 / (math.pi * a) + logarithm / 2
    y = xp.where(s < 1e-3, s * (math.sqrt(math.pi) / 2), xp.sqrt(xp.sqrt(half * half - logarithm / a) - half))
    for _ in range(3):
        missing = xp.where(s < 0.5, s - erf_function(xp)(y), erfc_function(xp)(y) - (1 - s))
        step = missing * (math.sqrt(math.pi) / 2) * xp.exp(y * y)  # Newton's
        y = y + step / (1 - y * step)
    y = xp.where(inside, y, xp.where(size == 1, math.inf, math.nan))
    return xp.copysign(y, wide).astype(x.dtype)


erfinv = elementwise(
    "erfinv",
    lambda xp, x: silently.run(_erfinv, xp, x),
    lambda g, y: g * (math.sqrt(math.pi) / 2 * exp(y * y)),
    promote="float",
    real_only=True,
)
"""The inverse of erf: infinite at ±1, NaN beyond."""

# ------------------------------------------------------------------------------------------------------------- without derivatives


signbit = constant("signbit", lambda xp, x: xp.signbit(x) if x.dtype.kind == "f" else x < 0, real_only=True)
"""Whether x is negative or -0.0."""
nextafter = constant("nextafter", lambda xp, a, b: xp.nextafter(*_arrays(xp, a, b)), promote="float", real_only=True)
"""The next number after a towards b."""
gcd = constant("gcd", lambda xp, a, b: xp.gcd(a, b), promote="same", real_only=True)
"""The greatest common divisor."""
lcm = constant("lcm", lambda xp, a, b: xp.lcm(a, b), promote="same", real_only=True)
"""The least common multiple."""
left_shift = constant("left_shift", lambda xp, a, b: xp.left_shift(a, b), promote="same", real_only=True)
"""The bits of a moved up by b places."""
right_shift = constant("right_shift", lambda xp, a, b: xp.right_shift(a, b), promote="same", real_only=True)
"""The bits of a moved down by b places."""
