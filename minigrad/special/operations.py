"""The operations behind the special functions: x ln y, the error function's relatives, the gamma
function's family. At singular points they answer, and differentiate, as PyTorch does.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from ..backend import erfc_function, ignore_float_errors, lgamma_function
from ..extras.operands import as_arrays
from ..ops.elementwise import exp, log, real_function, where
from ..ops.error_function import error_function


def _xlogy(xp: Any, a: Any, b: Any) -> Any:
    a, b = as_arrays(xp, a, b)
    y = ignore_float_errors.run(xp.multiply, a, ignore_float_errors.run(xp.log, b))
    return xp.where((a == 0) & (b == b), xp.zeros((), y.dtype), y)


xlogy = real_function(
    "xlogy",
    _xlogy,
    lambda g, a, b: where((a == 0) & (b <= 0), 0.0, g * log(b)),
    lambda g, a, b: g * a / b,
    scalar="where(a == 0 and b == b, 0, a * log(b))",
    domain="a == 0 or b > 0",
)
"""a ln b, and 0 where a is 0 (unless b is NaN)."""
erfc = real_function(
    "erfc",
    lambda xp, x: erfc_function(xp)(x),
    lambda g, x: g * (-2 / math.sqrt(math.pi) * exp(-x * x)),
    pull_notation="-g * 2 / sqrt(π) * e ** (-(x ** 2))",
)
"""1 - erf(x), accurate where that is tiny."""


def _erfcx(xp: Any, x: Any) -> Any:
    """For x ≥ 0 the integral x/π ∫ exp(-t²) / (t² + x²) dt by the trapezoidal rule in steps of h =
    ½ between the whole steps. Its integrand has poles at ± ix: what they add to the rule, 2 exp(x²)
    / (1 + exp(2πx / h)), is known. The error is e^(-π²/h²) = 7e-18 of the value.

    Source: F. Matta and A. Reichel, Uniform computation of the error function and other related
    functions (1971).
    """
    x = xp.asarray(x)
    wide = x.astype("float64")
    size, h = xp.abs(wide), 0.5
    z = xp.where(size == 0, 1.0, size)
    y = xp.zeros(wide.shape, "float64")
    for k in range(13):
        t2 = ((k + 0.5) * h) ** 2
        y = y + math.exp(-t2) / (z + t2 / z)
    inside = size < math.pi / h
    pole = xp.where(inside, size, 0.0)
    shared = 2 / (xp.exp(-pole * pole) + xp.exp(2 * math.pi / h * pole - pole * pole))
    y = 2 * h / math.pi * xp.where(size == 0, 0.0, y) + xp.where(inside, shared, 0.0)
    return xp.where(wide < 0, 2 * xp.exp(wide * wide) - y, y).astype(x.dtype)


erfcx = real_function(
    "erfcx",
    lambda xp, x: ignore_float_errors.run(_erfcx, xp, x),
    lambda g, x, y: g * (2 * x * y - 2 / math.sqrt(math.pi)),
    pull_notation="g * (2 * x * y - 2 / sqrt(π))",
)
"""exp(x²) erfc(x), which neither overflows nor vanishes for large x."""

# ------------------------------------------------------------------------------- the gamma function


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""The Bernoulli numbers B₂, B₄, … B₁₆."""


def _polygamma(xp: Any, x: Any, *, n: int) -> Any:
    """The n-th derivative of ψ = (ln Γ)', in three steps, the same ones for every element:

    1. reflection, for x < ½:   ψ⁽ⁿ⁾(x) = (-1)ⁿ ψ⁽ⁿ⁾(1 - x) - π dⁿ/dxⁿ cot πx
    2. recurrence, up to z ≥ 12 + n:   ψ⁽ⁿ⁾(z) = ψ⁽ⁿ⁾(z + 1) - (-1)ⁿ n! / zⁿ⁺¹
    3. there the series of Euler and Maclaurin, exact to rounding.

    Source: Abramowitz & Stegun, Handbook of Mathematical Functions, 6.3.7, 6.3.18, 6.4.6, 6.4.7,
    6.4.11.
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
    y = (
        y
        + (xp.log(z) if n == 0 else -sign * math.factorial(n - 1) / z**n)
        - sign * factorial / (2 * z ** (n + 1))
    )
    for k, b in enumerate(BERNOULLI, 1):
        y = y - sign * b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) / z ** (2 * k + n)
    y = xp.where(low, sign * y - math.pi * _cotangent(xp, wide, n), y)
    if n == 0:
        y = xp.where(wide == 0, -xp.copysign(xp.full(wide.shape, math.inf), wide), y)
        at_pole, at_infinity = math.nan, math.inf
    else:
        at_pole, at_infinity = -sign * math.inf, 0.0
    y = xp.where((wide == xp.floor(wide)) & ((wide < 0) | ((wide == 0) & (n > 0))), at_pole, y)
    y = xp.where(wide == -math.inf, math.nan, y)
    return xp.where(wide == math.inf, at_infinity, y).astype(x.dtype)


def _cotangent(xp: Any, x: Any, n: int) -> Any:
    """The n-th derivative of cot πx: πⁿ times a polynomial in c = cot πx, because c' = -π (1 +
    c²).
    """
    polynomial = [0, 1]  # coefficients, from the constant on
    for _ in range(n):
        slope = [k * a for k, a in enumerate(polynomial)][1:]
        polynomial = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    # the nearest whole number: x - floor(x) would round away a tiny x below 0
    c = 1 / xp.tan(math.pi * (x - xp.rint(x)))
    y = xp.full(c.shape, float(polynomial[-1]))
    for a in reversed(polynomial[:-1]):
        y = y * c + a
    return math.pi**n * y


_GAMMA = "x > 0 or x != floor(x)"
lgamma = real_function(
    "lgamma", lambda xp, x: lgamma_function(xp)(x), lambda g, x: g * digamma(x), domain=_GAMMA
)
"""ln |Γ(x)|, infinite at 0, -1, -2, …"""
digamma = real_function(
    "digamma",
    lambda xp, x: ignore_float_errors.run(_polygamma, xp, x, n=0),
    lambda g, x: g * polygamma(x, n=1),
    domain=_GAMMA,
)
"""The derivative of ln Γ."""
polygamma = real_function(
    "polygamma",
    lambda xp, x, *, n: ignore_float_errors.run(_polygamma, xp, x, n=n),
    lambda g, x, *, n: g * polygamma(x, n=n + 1),
    notation="polygamma(n, x)",
    domain=_GAMMA,
)
"""The n-th derivative of digamma, for n ≥ 1."""


SHIFTS = 64
"""So far the recurrence of `zeta` goes: it is right for q > 12 - SHIFTS."""


def _zeta(xp: Any, x: Any, q: Any) -> Any:
    """Hurwitz's Σ 1 / (q + k)ˣ over k = 0, 1, 2, …: terms as they are while q + k < 12 + 3x, the
    rest by Euler and Maclaurin's formula.

    Source: NIST Digital Library of Mathematical Functions, 25.11.5.
    """
    x, q = as_arrays(xp, x, q)
    dtype = (x[..., None][..., :0] * q[..., None][..., :0]).dtype
    s, z = x.astype("float64"), q.astype("float64")
    whole_s, pole = s == xp.floor(s), (z <= 0) & (z == xp.floor(z))
    defined = (s > 1) & ((z > 0) | whole_s) & (z > 12 - SHIFTS) & (s == s)
    s, z = xp.where(defined, s, 2.0), xp.where(defined & ~pole, z, 1.0)
    y = xp.zeros((s * z).shape, "float64")
    for _ in range(SHIFTS):
        small = z < 12 + 3 * s
        y = y + xp.where(small, xp.where(small, z, 1.0) ** -s, 0.0)
        z = z + small
    last = z**-s
    y = y + last * z / (s - 1) + last / 2
    rising = s / z
    for k, b in enumerate(BERNOULLI, 1):
        y = y + b / math.factorial(2 * k) * rising * last
        rising = rising * (s + 2 * k - 1) * (s + 2 * k) / (z * z)
    y = xp.where(defined, xp.where(pole, math.inf, y), math.nan)
    return xp.where(x == 1, math.inf, y).astype(dtype)


zeta = real_function(
    "zeta",
    lambda xp, x, q: ignore_float_errors.run(_zeta, xp, x, q),
    None,
    lambda g, x, q: g * (-x * zeta(x + 1, q)),
    pull_notation=(None, "-g * x * zeta(x + 1, q)"),
    domain="x > 1 and q > 0",
)
"""Hurwitz's zeta function Σ 1 / (q + k)ˣ. Its derivative by x is not known here (`special.zeta`
refuses it).
"""


# -------------------------------------------------------------------- the incomplete gamma function


@cache
def _temme(count: int, degree: int) -> tuple[tuple[float, ...], ...]:
    """The coefficients of Cₖ(η), k below `count`, as power series in η, from exact fractions. With
    the solution μ(η) of ½ η² = μ - ln(1 + μ): C₀ = 1/μ - 1/η and η Cₖ = Cₖ₋₁' + γₖ η/μ, where γₖ is
    what makes the right side vanish at 0.
    """
    from fractions import Fraction  # seldom needed, and slow to load

    size = degree + 2 * count + 2
    mu = [Fraction(0), Fraction(1)]
    for k in range(2, size + 1):
        mu.append(
            (
                mu[k - 1]
                - sum((mu[i] * (k + 1 - i) * mu[k + 1 - i] for i in range(2, k)), Fraction(0))
            )
            / (k + 1)
        )
    inverse = [Fraction(1)]  # η/μ
    for k in range(1, size):
        inverse.append(-sum((mu[i + 1] * inverse[k - i] for i in range(1, k + 1)), Fraction(0)))
    terms, rows = inverse[1:], []
    for _ in range(count):
        rows.append(tuple(float(c) for c in terms[: degree + 1]))
        gamma = -terms[1]
        terms = [(j + 2) * terms[j + 2] + gamma * inverse[j + 1] for j in range(len(terms) - 2)]
    return tuple(rows)


def _common_factor(xp: Any, s: Any, z: Any, half_square: Any) -> Any:
    """xᵃ e⁻ˣ / Γ(a), with Γ by Stirling's series, for small a after ten steps of its recurrence."""
    large = s >= 10
    b = xp.where(large, s, s + 10)
    stirling = xp.zeros(b.shape, "float64")
    for k, number in enumerate(BERNOULLI, 1):
        stirling = stirling + number / (2 * k * (2 * k - 1)) * b ** (1 - 2 * k)
    exponent = xp.where(large, -s * half_square, s * xp.log(z) - z - b * xp.log(b) + b)
    factor = xp.exp(exponent - stirling) * xp.sqrt(b / (2 * math.pi))
    for k in range(10):
        factor = factor * xp.where(large, 1.0, s + k)
    return factor


def _incomplete_gamma(xp: Any, a: Any, x: Any, upper: bool) -> Any:
    """The lower (or upper) share of Γ(a) = ∫ tᵃ⁻¹ e⁻ᵗ dt at x, in three ways: for large a with x
    near a by Temme's series in 1/a, else for x < a + 1 by the power series of the lower part,
    beyond by the continued fraction of the upper one. All carry the factor xᵃ e⁻ˣ / Γ(a), which for
    large a is written with ½ η² = x/a - 1 - ln(x/a), so that no large numbers cancel.

    Source: NIST Digital Library of Mathematical Functions, 8.7.1, 8.9.2, 8.12.3 to 8.12.11.
    """
    a, x = as_arrays(xp, a, x)
    dtype = (a[..., None][..., :0] * x[..., None][..., :0]).dtype
    s, z = a.astype("float64"), x.astype("float64")
    inside = (s > 0) & (z > 0) & (s < math.inf) & (z < math.inf)
    s, z = xp.where(inside, s, 1.0), xp.where(inside, z, 1.0)
    mu = (z - s) / s
    near = xp.abs(mu) < 0.5
    half_square = mu - xp.where(near, xp.log1p(xp.where(near, mu, 0.0)), xp.log(z / s))  # ½ η²
    factor = _common_factor(xp, s, z, half_square)
    # power series, continued fraction
    low = z < s + 1
    u = xp.where(low, z, 0.0)
    term = total = xp.ones(u.shape, "float64")
    for k in range(1, 121):
        term = term * u / (s + k)
        total = total + term
    lower = factor / s * total
    v = xp.where(low, s + 1, z)
    fraction = v + 241 - s
    for k in range(120, 0, -1):
        fraction = v + (2 * k - 1) - s - k * (k - s) / fraction
    above = factor / fraction
    # Temme's series
    close = near & (s > 60)
    eta = xp.copysign(xp.sqrt(2 * xp.where(close, half_square, 0.0)), mu)
    w = xp.where(close, s, 60.0)
    rest = xp.zeros(eta.shape, "float64")
    for row in reversed(_temme(8, 20)):
        polynomial = xp.zeros(eta.shape, "float64")
        for coefficient in reversed(row):
            polynomial = polynomial * eta + coefficient
        rest = rest / w + polynomial
    rest = rest * xp.exp(-w * eta * eta / 2) / xp.sqrt(2 * math.pi * w)
    side = 1.0 if upper else -1.0
    uniform = 0.5 * erfc_function(xp)(side * eta * xp.sqrt(w / 2)) + side * rest
    y = xp.where(
        close,
        uniform,
        xp.where(low, 1 - lower, above) if upper else xp.where(low, lower, 1 - above),
    )
    at_zero, at_infinity = (1.0, 0.0) if upper else (0.0, 1.0)
    edge = xp.where(
        (x == 0) & (a > 0) | (a == math.inf) & (x >= 0) & (x < math.inf), at_zero, math.nan
    )
    edge = xp.where(
        (a == 0) & (x > 0) | (x == math.inf) & (a >= 0) & (a < math.inf), at_infinity, edge
    )
    return xp.where(inside, y, edge).astype(dtype)


def _gamma_density(g: Any, a: Any, x: Any) -> Any:
    """g times the derivative by x of the lower part."""
    return g * exp(xlogy(a - 1, x) - x - lgamma(a))


igamma = real_function(
    "igamma",
    lambda xp, a, x: ignore_float_errors.run(_incomplete_gamma, xp, a, x, False),
    None,
    _gamma_density,
    pull_notation=(None, "g * x ** (a - 1) * e ** (-x) / Γ(a)"),
    domain="a > 0 and x >= 0",
)
"""The share of Γ(a) below x. Its derivative by a is not known here (`special.gammainc` refuses
it).
"""
igammac = real_function(
    "igammac",
    lambda xp, a, x: ignore_float_errors.run(_incomplete_gamma, xp, a, x, True),
    None,
    lambda g, a, x: -_gamma_density(g, a, x),
    pull_notation=(None, "-g * x ** (a - 1) * e ** (-x) / Γ(a)"),
    domain="a > 0 and x >= 0",
)
"""The share of Γ(a) above x, likewise."""


# ------------------------------------------------------------------------------- the inverse of erf


def _erfinv(xp: Any, x: Any) -> Any:
    """A first guess from the logarithm of 1 - x², then three steps of Halley's method on erf(y) =
    x, or, where x is near 1, on erfc(y) = 1 - x, which keeps the digits.

    Source of the guess: S. Winitzki, A handy approximation for the error function and its inverse
    (2008).
    """
    x = xp.asarray(x)
    wide = x.astype("float64")
    size = xp.abs(wide)
    inside = size < 1
    s = xp.where(inside, size, 0.0)
    logarithm, a = xp.log1p(-s * s), 0.147
    half = 2 / (math.pi * a) + logarithm / 2
    y = xp.where(
        s < 1e-3, s * (math.sqrt(math.pi) / 2), xp.sqrt(xp.sqrt(half * half - logarithm / a) - half)
    )
    for _ in range(3):
        missing = xp.where(s < 0.5, s - error_function(xp, y), erfc_function(xp)(y) - (1 - s))
        step = missing * (math.sqrt(math.pi) / 2) * xp.exp(y * y)  # Newton's
        y = y + step / (1 - y * step)
    y = xp.where(inside, y, xp.where(size == 1, math.inf, math.nan))
    return xp.copysign(y, wide).astype(x.dtype)


erfinv = real_function(
    "erfinv",
    lambda xp, x: ignore_float_errors.run(_erfinv, xp, x),
    lambda g, x: g * (math.sqrt(math.pi) / 2 * exp(erfinv(x) ** 2)),
    pull_notation="g * (sqrt(π) / 2) * e ** (erfinv(x) ** 2)",
    domain="-1 < x and x < 1",
)
"""The inverse of erf: infinite at ±1, NaN beyond."""
