"""Bessel functions of whole order n, which answer the equation of waves on a disc, each as an
integral over one turn or one line (and Airy's function, which answers that of light at the edge of
a rainbow):

    Jₙ(x) = 1/π ∫ cos(nt - x sin t) dt        for t from 0 to π
    Iₙ(x) = 1/π ∫ exp(x cos t) cos nt dt      for t from 0 to π
    Kₙ(x) = ∫ exp(-x cosh t) cosh nt dt       for t from 0 to ∞

The trapezoidal rule converges geometrically for such integrands, periodic or decaying with all
their derivatives: three dozen points give all the digits of float64. Beyond `FAR` the asymptotic
series of Hankel are as exact. Everything is computed in float64 and returned in the dtype of x. The
error of J and Y is absolute (about 1e-15), that of I and K of orders 0 and 1 relative.

Sources: L. Trefethen and J. Weideman, The exponentially convergent trapezoidal rule (2014);
Abramowitz & Stegun, Handbook of Mathematical Functions, 9.1.88 (Y by a sum of J), 9.2.5 and 9.7.1
(Hankel), 9.6.11 (K near 0); the derivatives are 9.1.27 and 9.6.26.
"""

from __future__ import annotations

import math
from typing import Any

from ..backend import ignore_float_errors
from ..ops.elementwise import real_function, sign

FAR = 25.0
"""From here on Hankel's series: its smallest term there is e^-50."""
POINTS = 128
"""Points of the trapezoidal rule on a full turn. Its error is J or I of the order POINTS - n at
`FAR`. The sum of J for Y goes up to the order POINTS / 2, so there it is J of that order, 1e-19.
"""
EULER = 0.57721566490153286061
"""Euler's constant γ."""


def _turn() -> list[tuple[float, float]]:
    """Angles of the first quarter of a turn, and their weights: the other quarters repeat them."""
    quarter = POINTS // 4
    return [
        (2 * math.pi * k / POINTS, (2 if k in (0, quarter) else 4) / POINTS)
        for k in range(quarter + 1)
    ]


def _hankel_terms(n: int) -> list[float]:
    """aₖ of the series Σ ± aₖ / xᵏ."""
    terms = [1.0]
    for k in range(1, 26):
        terms.append(terms[-1] * (4 * n * n - (2 * k - 1) ** 2) / (8 * k))
    return terms


def _horner(xp: Any, u: Any, coefficients: list[float]) -> Any:
    """Σ cₖ uᵏ."""
    y = xp.zeros(u.shape, "float64")
    for c in reversed(coefficients):
        y = y * u + c
    return y


def _waves(xp: Any, z: Any, n: int) -> tuple[Any, Any]:
    """Jₙ and Yₙ for z ≥ FAR: √(2/πz) times (P cos χ - Q sin χ, P sin χ + Q cos χ), where χ = z -
    nπ/2 - π/4.
    """
    terms = _hankel_terms(n)
    u = 1 / (z * z)
    p = _horner(xp, u, [a * (-1) ** k for k, a in enumerate(terms[0::2])])
    q = _horner(xp, u, [a * (-1) ** k for k, a in enumerate(terms[1::2])]) / z
    c, s = xp.cos(z), xp.sin(z)
    c, s = (c + s) * math.sqrt(0.5), (s - c) * math.sqrt(0.5)  # of z - π/4
    for _ in range(n % 4):
        c, s = s, -c  # a quarter of a turn back
    size = xp.where(xp.isinf(z), 0.0, xp.sqrt(2 / (math.pi * z)))
    c, s = xp.where(xp.isinf(z), 0.0, c), xp.where(xp.isinf(z), 0.0, s)
    return size * (p * c - q * s), size * (p * s + q * c)


def _near_and_far(xp: Any, size: Any) -> tuple[Any, Any, Any]:
    """Which elements are far (infinity too, NaN not), and |x| for each of the two methods,
    harmless where the other one is used.
    """
    far = size >= FAR
    return far, xp.where(far, 1.0, size), xp.where(far, size, FAR)


def _j(xp: Any, x: Any, *, n: int) -> Any:
    x = xp.asarray(x)
    wide = x.astype("float64")
    far, near, z = _near_and_far(xp, xp.abs(wide))
    y = xp.zeros(wide.shape, "float64")
    for t, weight in _turn():
        wave = (
            xp.sin(near * math.sin(t)) * math.sin(n * t)
            if n % 2
            else xp.cos(near * math.sin(t)) * math.cos(n * t)
        )
        y = y + weight * wave
    y = xp.where(far, _waves(xp, z, n)[0], y)
    return (xp.where(wide < 0, -y, y) if n % 2 else y).astype(x.dtype)


def _y(xp: Any, x: Any, *, n: int) -> Any:
    """Y₀ = 2/π (ln(x/2) + γ) J₀ - 4/π Σ (-1)ᵏ J₂ₖ / k, of which every J is the same kind of sum
    over the turn; Y₁ = -Y₀'; then upwards.
    """
    x = xp.asarray(x)
    wide = x.astype("float64")
    far, near, z = _near_and_far(xp, wide)
    near = xp.where(near > 0, near, 1.0)
    logarithm = 2 / math.pi * (xp.log(near / 2) + EULER)
    j0, j1, rest0, rest1 = (xp.zeros(wide.shape, "float64") for _ in range(4))
    for t, weight in _turn():
        s = math.sin(t)
        share = (
            4 / math.pi * sum((-1) ** k * math.cos(2 * k * t) / k for k in range(1, POINTS // 4))
        )
        c, w = weight * xp.cos(near * s), weight * xp.sin(near * s) * s
        j0, j1, rest0, rest1 = j0 + c, j1 + w, rest0 + share * c, rest1 + share * w
    before, y = logarithm * j0 - rest0, logarithm * j1 - 2 / math.pi * j0 / near - rest1
    before, y = (xp.where(far, _waves(xp, z, k)[1], v) for k, v in enumerate((before, y)))
    safe = xp.where(wide > 0, wide, 1.0)
    for k in range(1, n):
        before, y = y, xp.where(xp.isinf(safe), 0.0, 2 * k / safe * y - before)
    y = before if n == 0 else y
    return xp.where(wide > 0, y, xp.where(wide == 0, -math.inf, math.nan)).astype(x.dtype)


def _i(xp: Any, x: Any, *, n: int, scaled: bool) -> Any:
    """Scaled by e^-|x| throughout: cosh and sinh of x cos t become exp(|x| (cos t - 1)) times (1
    ± exp(-2 |x| cos t)) / 2.
    """
    x = xp.asarray(x)
    wide = x.astype("float64")
    far, near, z = _near_and_far(xp, xp.abs(wide))
    y = xp.zeros(wide.shape, "float64")
    for t, weight in _turn():
        c = math.cos(t)
        grown = xp.exp(near * (c - 1))
        both = -xp.expm1(-2 * c * near) if n % 2 else 1 + xp.exp(-2 * c * near)
        y = y + 0.5 * weight * math.cos(n * t) * grown * both
    series = _horner(xp, 1 / z, [a * (-1) ** k for k, a in enumerate(_hankel_terms(n))])
    y = xp.where(far, series / (xp.sqrt(z) * math.sqrt(2 * math.pi)), y)  # 2πz may overflow
    if not scaled:
        half = xp.exp(0.5 * xp.abs(wide))
        # in two steps: e^|x| overflows before the product does
        y = xp.where(xp.isinf(wide), math.inf, y * half * half)
    return (xp.where(wide < 0, -y, y) if n % 2 else y).astype(x.dtype)


def _k(xp: Any, x: Any, *, n: int, scaled: bool) -> Any:
    """For x > 1 by the trapezoidal rule in steps of ¼ / √x, the width of the integrand; below by
    the series in x²/4 of K₀ and K₁, then upwards.
    """
    x = xp.asarray(x)
    wide = x.astype("float64")
    large = wide > 1
    z = xp.where(large & (wide < math.inf), wide, 1.0)
    y = xp.zeros(wide.shape, "float64")
    width = 1 / xp.sqrt(z)
    for k in range(37):
        t = 0.25 * k * width
        decayed = xp.exp(-2 * z * xp.sinh(0.5 * t) ** 2)
        y = y + (0.5 if k == 0 else 1.0) * decayed * xp.cosh(n * t)
    y = xp.where(wide == math.inf, 0.0, y * 0.25 * width)
    if not scaled:
        y = y * xp.exp(-z)
    small = xp.where(large, 1.0, xp.where(wide > 0, wide, 1.0))
    u, logarithm = small * small / 4, xp.log(small / 2) + EULER
    harmonic = [sum(1 / i for i in range(1, k + 1)) for k in range(13)]
    squares = [1 / math.factorial(k) ** 2 for k in range(12)]
    steps = [1 / (math.factorial(k) * math.factorial(k + 1)) for k in range(12)]
    before = _horner(
        xp, u, [a * h for a, h in zip(squares, harmonic, strict=False)]
    ) - logarithm * _horner(xp, u, squares)
    halves = [b * (harmonic[k] + harmonic[k + 1]) / 2 for k, b in enumerate(steps)]
    below = 1 / small + small / 2 * (logarithm * _horner(xp, u, steps) - _horner(xp, u, halves))
    for k in range(1, n):
        before, below = below, before + 2 * k / small * below
    below = before if n == 0 else below
    y = xp.where(large, y, below * xp.exp(small) if scaled else below)
    return xp.where(wide > 0, y, xp.where(wide == 0, math.inf, math.nan)).astype(x.dtype)


bessel_j = real_function(
    "bessel_j",
    lambda xp, x, *, n: ignore_float_errors.run(_j, xp, x, n=n),
    lambda g, x, *, n: (
        g * (-bessel_j(x, n=1) if n == 0 else (bessel_j(x, n=n - 1) - bessel_j(x, n=n + 1)) / 2)
    ),
    notation="bessel_j(n, x)",
)
"""Jₙ, the Bessel function of the first kind."""
bessel_y = real_function(
    "bessel_y",
    lambda xp, x, *, n: ignore_float_errors.run(_y, xp, x, n=n),
    lambda g, x, *, n: (
        g * (-bessel_y(x, n=1) if n == 0 else (bessel_y(x, n=n - 1) - bessel_y(x, n=n + 1)) / 2)
    ),
    notation="bessel_y(n, x)",
    domain="x > 0",
)
"""Yₙ, the Bessel function of the second kind: -∞ at 0, NaN for negative numbers."""


def _i_slope(g: Any, x: Any, y: Any, *, n: int, scaled: bool) -> Any:
    above = bessel_i(x, n=n + 1, scaled=scaled)
    slope = above if n == 0 else (bessel_i(x, n=n - 1, scaled=scaled) + above) / 2
    return g * (slope - sign(x) * y) if scaled else g * slope


bessel_i = real_function(
    "bessel_i",
    lambda xp, x, *, n, scaled: ignore_float_errors.run(_i, xp, x, n=n, scaled=scaled),
    _i_slope,
    notation=lambda *, n, scaled: f"{'exp(-abs(x)) * ' * scaled}bessel_i({n}, x)",
)
"""Iₙ, the modified Bessel function of the first kind; scaled: times e^-|x|."""


def _k_slope(g: Any, x: Any, y: Any, *, n: int, scaled: bool) -> Any:
    above = bessel_k(x, n=n + 1, scaled=scaled)
    slope = -above if n == 0 else (bessel_k(x, n=n - 1, scaled=scaled) + above) / -2
    return g * (slope + y) if scaled else g * slope


bessel_k = real_function(
    "bessel_k",
    lambda xp, x, *, n, scaled: ignore_float_errors.run(_k, xp, x, n=n, scaled=scaled),
    _k_slope,
    notation=lambda *, n, scaled: f"{'exp(x) * ' * scaled}bessel_k({n}, x)",
    domain="x > 0",
)
"""Kₙ, the modified Bessel function of the second kind, infinite at 0, NaN for negative numbers;
scaled: times eˣ.
"""

# ---------------------------------------------------------------------------------- Airy's function

CENTERS = (
    (-9.0, -0.022133721547341404, -0.97566398092633159),
    (-8.0, -0.052705050356386203, 0.93556093819830655),
    (-7.0, 0.18428083525050564, -0.77100816841012655),
    (-6.0, -0.32914517362982311, 0.34593548728134289),
    (-5.0, 0.35076100902411432, 0.32719281855444314),
    (-4.0, -0.070265532949289515, -0.79062857536858138),
    (-3.0, -0.37881429367765807, 0.31458376921659881),
    (-2.0, 0.22740742820168558, 0.61825902074169104),
    (-1.0, 0.53556088329235212, -0.010160567116645209),
    (0.0, 0.35502805388781724, -0.2588194037928068),
    (1.0, 0.13529241631288142, -0.15914744129679321),
)
"""Where `_airy` begins its power series: a place, Ai and Ai' there."""


def _airy(xp: Any, x: Any, *, slope: bool) -> Any:
    """Ai (or Ai'), the solution of y'' = x y that decays to the right, in three ways:

    x ≥ 1: the integral exp(-⅔ x^(3/2)) / π ∫ exp(-√x t²) cos(t³/3) dt by the trapezoidal rule; x ≤
    -9.5: the asymptotic series of its waves; between: the power series that y'' = x y gives, around
    the nearest whole number.

    Source: NIST Digital Library of Mathematical Functions, 9.4, 9.5.8, 9.7.9 and 9.7.10.
    """
    x = xp.asarray(x)
    wide = x.astype("float64")
    right, left = wide >= 1, wide <= -9.5
    # the integral
    z = xp.where(right & (wide < math.inf), wide, 1.0)
    root, width = xp.sqrt(z), 0.16 / xp.sqrt(xp.sqrt(z))
    y = xp.zeros(wide.shape, "float64")
    for k in range(41):
        t = k * width
        c, s = xp.cos(t * t * t / 3), xp.sin(t * t * t / 3)
        y = y + (0.5 if k == 0 else 1.0) * math.exp(-((0.16 * k) ** 2)) * (
            -root * c - t * s if slope else c
        )
    y = xp.where(wide == math.inf, 0.0, y * width * xp.exp(-2 / 3 * z * root) / math.pi)
    # the power series
    inside = xp.where(right | left | (wide != wide), 0.0, wide)
    center = xp.zeros(wide.shape, "float64")
    first, second = center, center
    for place, value, derivative in CENTERS:
        chosen = xp.rint(inside) == place
        center, first, second = (
            xp.where(chosen, v, old)
            for v, old in ((place, center), (value, first), (derivative, second))
        )
    d, before, now, following = inside - center, xp.zeros(wide.shape, "float64"), first, second
    value, derivative, power = first, second, xp.ones(wide.shape, "float64")
    for n in range(28):  # aₙ₋₁, aₙ, aₙ₊₁ of Σ aₙ dⁿ
        before, now, following = now, following, (center * now + before) / ((n + 1) * (n + 2))
        derivative = derivative + (n + 2) * following * power * d
        power = power * d
        value = value + now * power
    y = xp.where(right, y, derivative if slope else value)
    # the waves
    z = xp.where(left & (wide > -math.inf), -wide, 9.5)
    phase = 2 / 3 * z * xp.sqrt(z)
    terms = [1.0]
    for k in range(1, 26):
        terms.append(terms[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)))
    if slope:
        terms = [u * (1 + 6 * k) / (1 - 6 * k) for k, u in enumerate(terms)]
    u = 1 / (phase * phase)
    p = _horner(xp, u, [a * (-1) ** k for k, a in enumerate(terms[0::2])])
    q = _horner(xp, u, [a * (-1) ** k for k, a in enumerate(terms[1::2])]) / phase
    c, s = xp.cos(phase - math.pi / 4), xp.sin(phase - math.pi / 4)
    size = xp.sqrt(xp.sqrt(z)) ** (1 if slope else -1) / math.sqrt(math.pi)
    waves = size * (p * s - q * c if slope else p * c + q * s)
    y = xp.where(left, xp.where(wide == -math.inf, math.nan if slope else 0.0, waves), y)
    return xp.where(wide == wide, y, math.nan).astype(x.dtype)


airy_ai = real_function(
    "airy_ai",
    lambda xp, x, *, slope: ignore_float_errors.run(_airy, xp, x, slope=slope),
    lambda g, x, *, slope: g * (x * airy_ai(x, slope=False) if slope else airy_ai(x, slope=True)),
    notation=lambda *, slope: f"airy_ai{'_slope' * slope}(x)",
)
"""Airy's function Ai, or its derivative (`slope`)."""
