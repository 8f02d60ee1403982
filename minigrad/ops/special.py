"""Further element-wise functions. At singular points they answer, and differentiate, as PyTorch does."""

from __future__ import annotations

import math
from typing import Any

from ..backend import erfc_function, silently
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


def _heaviside(xp: Any, x: Any, values: Any) -> Any:
    x, values = _arrays(xp, x, values)
    return xp.where(x == 0, values, (x > 0).astype(values.dtype))


heaviside = constant("heaviside", _heaviside, promote="same", real_only=True)
"""0 for negative x, 1 for positive x, `values` where x is 0."""
