"""Sign, rounding, and division with remainder, whose quotient is rounded: steps, with derivative
0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...backend import divide_integers, ignore_float_errors
from ...core.primitive import Primitive, elementwise
from ..costs import EACH
from .copies import zeros_like


def sign_of(x: Any) -> Any:
    """-1, 0 or 1, and (unlike NumPy) 0 for NaN."""
    if x.dtype.kind == "b":
        return x.copy()
    with ignore_float_errors():  # NumPy warns of NaN in bfloat16
        return (x > 0).astype(x.dtype) - (x < 0)


def _step(name: str, forward: Callable[..., Any], *, inputs: int = 1, **options: Any) -> Primitive:
    """Declare a function that is constant but for its steps: its derivative is 0."""
    rules = [lambda g: zeros_like(g)] * inputs
    return elementwise(name, forward, *rules, real_only=True, **options)


def _rounding(name: str) -> Primitive:
    """Declare a rounding that array libraries have; integers stay as they are."""
    return _step(name, lambda xp, x: x.copy() if x.dtype.kind in "biu" else getattr(xp, name)(x))


sign = _step(
    "sign",
    lambda xp, x: sign_of(x),
    scalar="where(x > 0, 1, where(x < 0, -1, 0))",
    cost=EACH,
)
floor, ceil, trunc = _rounding("floor"), _rounding("ceil"), _rounding("trunc")


def _round(x: Any, decimals: int) -> Any:
    """NumPy multiplies by a power of ten first, which overflows soon in half precision."""
    half = decimals and x.dtype.itemsize == 2 and x.dtype.kind not in "biu"
    return x.astype("float32").round(decimals).astype(x.dtype) if half else x.round(decimals)


round_ = _step(
    "round",
    lambda xp, x, *, decimals: _round(x, decimals),
    scalar=lambda *, decimals: "round(x)" if decimals == 0 else None,
)


def _whole(divide: Any, a: Any, b: Any) -> Any:
    """A division with remainder. Integers have no infinity to answer with: dividing them by zero
    raises ZeroDivisionError.
    """
    floating = any(
        getattr(v, "dtype", None) is not None and v.dtype.kind not in "iub" for v in (a, b)
    )
    return ignore_float_errors.run(divide, a, b) if floating else divide_integers(divide, a, b)


def _whole_quotient(xp: Any, a: Any, b: Any) -> Any:
    rest = _whole(xp.fmod, a, b)
    if rest.dtype.kind in "iub":
        return xp.floor_divide(a - rest, b)
    return xp.trunc(ignore_float_errors.run(xp.true_divide, a, b))


floor_divide = _step(
    "floor_divide",
    lambda xp, a, b: _whole(xp.floor_divide, a, b),
    inputs=2,
    integers="modulo",
    cost=(1, 0, 1),
    notation="a // b",
    scales=True,
    domain="b != 0",
)
remainder = elementwise(
    "remainder",
    lambda xp, a, b: _whole(xp.remainder, a, b),
    lambda g: g,
    lambda g, a, b: -g * floor_divide(a, b),
    real_only=True,
    integers="modulo",
    cost=(2, 1, 1),
    notation="a % b",
    domain="b != 0",
)
fmod = elementwise(
    "fmod",
    lambda xp, a, b: _whole(xp.fmod, a, b),
    lambda g: g,
    lambda g, a, b: -g * trunc_divide(a, b),
    real_only=True,
    integers="modulo",
    cost=(2, 1, 1),
    domain="b != 0",
)
trunc_divide = _step(
    "trunc_divide",
    lambda xp, a, b: _whole_quotient(xp, a, b),
    inputs=2,
    integers="modulo",
    scalar="trunc(a / b)",
    scales=True,
    domain="b != 0",
)
"""a / b without its fraction; of integers an integer, exactly."""
