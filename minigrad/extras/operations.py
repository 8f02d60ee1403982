"""Element-wise operations that are seldom needed: signs, exponents, bits, divisors. At singular
points they answer, and differentiate, as PyTorch does.
"""

from __future__ import annotations

from typing import Any

from ..core.primitive import Primitive, constant
from ..ops.elementwise import function, real_function, where, zeros_like
from ..ops.elementwise.logic import predicate
from .operands import as_arrays

hypot = function(
    "hypot",
    lambda g, a, y: g * (a / y),
    lambda g, b, y: g * (b / y),
    real_only=True,
    cost=(2, 1, 1),
)
"""The square root of a² + b² without overflow; no derivative (NaN) at the origin, where it has a
tip.
"""


def _heaviside(xp: Any, x: Any, values: Any) -> Any:
    x, values = as_arrays(xp, x, values)
    return xp.where(x == 0, values, (x > 0).astype(values.dtype))


heaviside = constant(
    "heaviside",
    _heaviside,
    promote="same",
    real_only=True,
    pointwise=True,
    scalar="where(x == 0, values, where(x > 0, 1, 0))",
)
"""0 for negative x, 1 for positive x, `values` where x is 0."""

nextafter = real_function(
    "nextafter",
    lambda xp, a, b: xp.nextafter(*as_arrays(xp, a, b)),
    lambda g, a, b: where(a != b, g, 0.0),
    lambda g: zeros_like(g),
)
"""The next number after a towards b, which moves as a does, and stands still where it has
arrived.
"""

copysign = real_function(
    "copysign",
    lambda xp, a, b: xp.copysign(*as_arrays(xp, a, b)),
    lambda g, a, y: where(a == 0, 0.0, where(signbit(a) == signbit(y), g, -g)),
    lambda g: zeros_like(g),
)
"""|a| with the sign of b, that of -0.0 too: it moves as a does, or against it, and not with b."""

signbit = predicate(
    "signbit", lambda xp, x: xp.signbit(x) if x.dtype.kind == "f" else x < 0, real_only=True
)
"""Whether x is negative or -0.0."""
exponent = constant(
    "exponent", lambda xp, x: xp.frexp(x)[1], real_only=True, pointwise=True, dtype="int32"
)
"""The whole number e with ½ ≤ |x| / 2ᵉ < 1, and 0 for 0 (int32)."""


def _whole(name: str) -> Primitive:
    """Declare an operation on integers that array libraries have."""
    forward = lambda xp, a, b: getattr(xp, name)(a, b)
    return constant(name, forward, promote="same", real_only=True, pointwise=True)


gcd = _whole("gcd")
"""The greatest common divisor."""
lcm = _whole("lcm")
"""The least common multiple."""
left_shift = _whole("left_shift")
"""The bits of a moved up by b places."""
right_shift = _whole("right_shift")
"""The bits of a moved down by b places."""
