"""Element-wise functions beyond those of `minigrad.functions`: most are short combinations of them, exact and differentiable at once."""

from __future__ import annotations

import math
from typing import Any

from .. import backend
from .. import functions as fn
from ..ops import special
from ..tensor import Tensor, as_tensor
from .common import floating


def xlogy(a: Any, b: Any) -> Tensor:
    """a ln b, and 0 where a is 0 (unless b is NaN)."""
    return special.xlogy(a if isinstance(a, Tensor) or isinstance(b, Tensor) else as_tensor(a), b)  # type: ignore[no-any-return]


def hypot(a: Any, b: Any) -> Tensor:
    """The square root of a² + b² without overflow; its derivative at the origin is NaN."""
    return special.hypot(a if isinstance(a, Tensor) or isinstance(b, Tensor) else as_tensor(a), b)  # type: ignore[no-any-return]


def erfc(x: Any) -> Tensor:
    """1 - erf(x), accurate where that is tiny."""
    return special.erfc(as_tensor(x))  # type: ignore[no-any-return]


def heaviside(x: Any, values: Any) -> Tensor:
    """0 for negative x, 1 for positive x, `values` where x is 0. No derivative."""
    return special.heaviside(as_tensor(x), as_tensor(values))  # type: ignore[no-any-return]


def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """x with NaN and the infinities replaced by numbers (by default 0 and the largest and smallest of the dtype); derivative 0 there."""
    x = as_tensor(x)
    if not backend.is_differentiable(x.dtype):
        return fn.clone(x)
    if backend.is_complex(x.dtype):
        return fn.complex(nan_to_num(fn.real(x), nan, posinf, neginf), nan_to_num(fn.imag(x), nan, posinf, neginf))
    largest = backend.largest(x.dtype)
    x = fn.where(fn.isnan(x), nan, x)
    x = fn.where(x == math.inf, largest if posinf is None else posinf, x)
    return fn.where(x == -math.inf, -largest if neginf is None else neginf, x)  # type: ignore[no-any-return]


def lerp(start: Any, end: Any, weight: Any) -> Tensor:
    """start + weight (end - start)."""
    start = as_tensor(start)
    return start + weight * (end - start)  # type: ignore[no-any-return]


def addcmul(x: Any, a: Any, b: Any, *, value: Any = 1) -> Tensor:
    """x + value · a · b."""
    product = as_tensor(a) * b
    return x + (product if type(value) is int and value == 1 else product * value)  # type: ignore[no-any-return]


def addcdiv(x: Any, a: Any, b: Any, *, value: Any = 1) -> Tensor:
    """x + value · a / b."""
    quotient = as_tensor(a) / b
    return x + (quotient if type(value) is int and value == 1 else quotient * value)  # type: ignore[no-any-return]


def deg2rad(x: Any) -> Tensor:
    """Degrees as radians."""
    return as_tensor(x) * (math.pi / 180)


def rad2deg(x: Any) -> Tensor:
    """Radians as degrees."""
    return as_tensor(x) * (180 / math.pi)


def frac(x: Any) -> Tensor:
    """x without its integer part; derivative 1."""
    x = floating(x, "frac")
    return x - fn.trunc(x)  # type: ignore[no-any-return]


def logit(x: Any, eps: float | None = None) -> Tensor:
    """ln(x / (1 - x)), the inverse of sigmoid; with `eps`, x is first limited to [eps, 1 - eps]."""
    x = floating(x, "logit")
    x = x if eps is None else fn.clamp(x, eps, 1 - eps)
    return fn.log(x / (1 - x))


def sinc(x: Any) -> Tensor:
    """sin(πx) / (πx), and 1 at 0. Near 0, where the quotient's derivatives would lose their digits, by its power series."""
    z = floating(x, "sinc") * math.pi
    near = fn.abs(z) < 0.5
    square = fn.where(near, z, 0.0) * z
    series: Any = 1.0
    for k in range(8, 0, -1):  # Σ (-1)^k z^(2k) / (2k+1)!, by Horner's scheme; the first term left out is below 1e-19
        series = 1.0 - square / (2 * k * (2 * k + 1)) * series
    far = fn.where(near, 1.0, z)
    return fn.where(near, series, fn.sin(far) / far)  # type: ignore[no-any-return]


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Where |a - b| <= atol + rtol |b|, or both are the same infinity (or NaN, if that shall count). No derivative."""
    a, b = as_tensor(a).detach(), as_tensor(b).detach()
    with backend.quiet():
        near = fn.logical_and(fn.abs(a - b) <= atol + rtol * fn.abs(b), fn.isfinite(b))
    near = fn.logical_or(near, a == b)
    return fn.logical_or(near, fn.logical_and(fn.isnan(a), fn.isnan(b))) if equal_nan else near


def isposinf(x: Any) -> Tensor:
    """Where x is +∞. No derivative."""
    return as_tensor(x) == math.inf


def isneginf(x: Any) -> Tensor:
    """Where x is -∞. No derivative."""
    return as_tensor(x) == -math.inf
