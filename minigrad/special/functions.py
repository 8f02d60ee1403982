"""The special functions that are methods of tensors too, and their combinations."""

from __future__ import annotations

import math
from typing import Any

from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..extras.operands import by_second_only, real_numbers, two_tensors
from ..functions.elementwise import binary, unary
from ..names import TensorLike, attach, in_place, public, publish, unlisted
from ..ops.elementwise import in_float32
from . import bessel, operations

xlogy = binary(
    operations.xlogy, "a ln b, and 0 where a is 0 (unless b is NaN).", theirs="input other"
)

lgamma = unary(
    operations.lgamma, "The logarithm of |Γ(x)|; infinite at 0, -1, -2, …", theirs="input"
)

digamma = unary(operations.digamma, "The derivative of `lgamma`.", theirs="input")


@public(method=False, theirs="n input")
def polygamma(n: int, x: TensorLike) -> Tensor:
    """The n-th derivative of `digamma` (n = 0: digamma itself). Raises ValueError for a negative
    n.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ValueError(f"polygamma(n, x): n must be a whole number from 0 on, got {n!r}.")
    return digamma(x) if n == 0 else operations.polygamma(as_tensor(x), n=n)


erfc = unary(operations.erfc, "1 - erf(x), accurate where that is tiny.", theirs="input")

i0 = unary(
    bessel.bessel_i,
    "I₀, the modified Bessel function of the first kind of order 0.",
    name="i0",
    params={"n": 0, "scaled": False},
    theirs="input",
)


@public(in_place=True, theirs="input other")
def igamma(a: TensorLike, x: TensorLike) -> Tensor:
    """The regularised lower incomplete gamma function 1/Γ(a) ∫ tᵃ⁻¹ e⁻ᵗ dt from 0 to x: the share
    of the gamma distribution below x; NaN for negative a or x. Differentiable by x. Raises
    NotDifferentiableError for an a that requires a gradient.
    """
    return operations.igamma(*by_second_only("igamma", a, x, "ax"))


@public(in_place=True, theirs="input other")
def igammac(a: TensorLike, x: TensorLike) -> Tensor:
    """1 - igamma(a, x), accurate where that is tiny."""
    return operations.igammac(*by_second_only("igammac", a, x, "ax"))


@public(in_place=True)
@in_float32
def logit(x: TensorLike, eps: float | None = None) -> Tensor:
    """ln(x / (1 - x)), the inverse of sigmoid; with `eps`, x is first limited to [eps, 1 - eps].
    NaN for other numbers, and its derivative too.
    """
    x = real_numbers(x)
    defined = x == x if eps is not None else fn.logical_and(x >= 0, x <= 1)
    x = x * fn.where(defined, 1.0, math.nan)  # which makes the derivative NaN as well
    x = x if eps is None else fn.clamp(x, eps, 1 - eps)
    return fn.log(x) - fn.log1p(-x)


@public(in_place=True)
@in_float32
def sinc(x: TensorLike) -> Tensor:
    """sin(πx) / (πx), and 1 at 0. Near 0, where the quotient's derivatives would lose their
    digits, by its power series.
    """
    z = real_numbers(x) * math.pi
    near = fn.abs(z) < 0.5
    square = fn.where(near, z, 0.0) * z
    series: Any = 1.0
    # Σ (-1)^k z^(2k) / (2k+1)!, by Horner's scheme; the first term left out is below 1e-19
    for k in range(8, 0, -1):
        series = 1.0 - square / (2 * k * (2 * k + 1)) * series
    far = fn.where(near, 1.0, z)
    return fn.where(near, series, fn.sin(far) / far)


@unlisted
def xlog1py(a: TensorLike, b: TensorLike) -> Tensor:
    """a ln(1 + b), and 0 where a is 0 (unless b is NaN)."""
    a, b = two_tensors(a, b)
    nothing = fn.logical_and(a == 0, fn.logical_or(b <= -1, b == math.inf))
    return a * fn.log1p(fn.where(nothing, 0, b))


@unlisted
def entr(x: TensorLike) -> Tensor:
    """-x ln x, 0 with an infinite slope at 0, and -∞ with derivative 0 for negative numbers."""
    x = real_numbers(x)
    usual = fn.where(x == 0, 1.0, fn.where(x < 0, 1.0, x))
    # of -0 too; which has that value and that slope
    at_zero = fn.sqrt(fn.where(x == 0, x + 0.0, 1.0))
    return fn.where(x < 0, -math.inf, fn.where(x == 0, at_zero, -usual * fn.log(usual)))


@public(in_place=True)
def mvlgamma(x: TensorLike, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p, ln π p (p − 1) / 4 + Σ
    lgamma(x − i/2) for i = 0 … p − 1.
    """
    x = real_numbers(x)
    total: Any = p * (p - 1) / 4 * math.log(math.pi)
    for i in range(p):
        total = lgamma(x - i / 2) + total
    out: Tensor = total
    return out


# -------------------------------------------------------------------------- the normal distribution

erfinv = unary(
    operations.erfinv,
    "The inverse of `erf` on (-1, 1); infinite at ±1, NaN beyond.",
    theirs="input",
)


@unlisted
def ndtr(x: TensorLike) -> Tensor:
    """The share of the standard normal distribution below x."""
    return erfc(real_numbers(x) * -math.sqrt(0.5)) * 0.5


@public(function=False, method=False, theirs="input")
def ndtri(p: TensorLike) -> Tensor:
    """The inverse of `ndtr`."""
    return erfinv(2 * real_numbers(p) - 1) * math.sqrt(2)


@unlisted
def log_ndtr(x: TensorLike) -> Tensor:
    """ln ndtr(x). Far out, where ndtr would be 0, by Laplace's continued fraction for the ratio of
    tail and density.

    Source: Abramowitz & Stegun, Handbook of Mathematical Functions, 26.2.14.
    """
    x = real_numbers(x)
    far = x < -5
    z = -fn.where(far, x, -5.0)
    fraction = z
    for k in range(60, 0, -1):
        fraction = z + k / fraction
    tail = -0.5 * z * z - 0.5 * math.log(2 * math.pi) - fn.log(fraction)
    near = fn.where(far, -5.0, x)
    usual = fn.where(
        near < 1,
        fn.log(ndtr(fn.where(near < 1, near, 0.0))),
        fn.log1p(-ndtr(-fn.where(near < 1, 1.0, near))),
    )
    return fn.where(far, tail, usual)


attach("polygamma", lambda self, n: polygamma(n, self))
attach("polygamma_", in_place(lambda self, n: polygamma(n, self), "polygamma_"))
publish(__name__)
