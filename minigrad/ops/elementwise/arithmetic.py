"""Arithmetic, exponentials and logarithms, circular and hyperbolic functions.

Read each row as: name, forward, and for each input the rule that turns an incoming derivative `g`
into the contribution g · ∂y/∂input. The Jacobian is diagonal, so the same rule serves reverse and
forward mode.

Poles and overflow give infinity or NaN without NumPy's warnings, as in PyTorch
(`ignore_float_errors`). Only + − · on float32 and float64 that overflow, or on opposite infinities,
still make NumPy warn, and so does a number that float32 does not hold beside it: to silence the
shortest operations would make them 5% slower. Float16, bfloat16 and backward passes are silent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...backend import ignore_float_errors, numpy
from ...core.primitive import Primitive, elementwise
from ...errors import DTypeError


def real_function(name: str, forward: Callable[..., Any], *rules: Any, **options: Any) -> Primitive:
    """Declare an element-wise function of real numbers whose results are floating."""
    return elementwise(name, forward, *rules, promote="float", real_only=True, **options)


def function(name: str, *rules: Any, called: str = "", **options: Any) -> Primitive:
    """Declare an element-wise function that array libraries have (as `called`, if that is another
    name), without their warnings."""
    called = called or name
    on_host, errors = getattr(numpy, called), ignore_float_errors  # whose `run` is the thread's
    of_one = lambda xp, x: errors.run(on_host if xp is numpy else getattr(xp, called), x)
    of_two = lambda xp, a, b: errors.run(on_host if xp is numpy else getattr(xp, called), a, b)
    return elementwise(
        name, of_one if len(rules) == 1 else of_two, *rules, promote="float", **options
    )


modular = {"integers": "modulo"}  # as facets.py says
factors = {"scales": True, **modular}
add = elementwise(
    "add", lambda xp, a, b: a + b, lambda g: g, lambda g: g, scalar="a + b", **modular
)


def _minus(xp: Any, a: Any, b: Any) -> Any:
    try:
        return a - b
    except TypeError:  # NumPy does not subtract booleans
        raise DTypeError(
            "sub: booleans have no difference. Use a ^ b (where they differ), a & ~b, or convert"
            " one with .int()."
        ) from None


def _opposite(xp: Any, x: Any) -> Any:
    try:
        return -x
    except TypeError:
        raise DTypeError(
            "neg: a boolean has no negative. Use ~x to invert a mask, or convert it with .int()."
        ) from None


sub = elementwise("sub", _minus, lambda g: g, lambda g: -g, scalar="a - b", **modular)
mul = elementwise(
    "mul", lambda xp, a, b: a * b, lambda g, b: g * b, lambda g, a: g * a, scalar="a * b", **factors
)
div = function(
    "div",
    lambda g, b: g / b,
    lambda g, a, b: -g * (a / b) / b,
    pull_notation=("g / b", "-g * a / b ** 2"),
    called="true_divide",
    scalar="a / b",
    domain="b != 0",
    scales=True,
)
neg = elementwise("neg", _opposite, lambda g: -g, scalar="-x")
reciprocal = elementwise(
    "reciprocal",
    lambda xp, x: ignore_float_errors.run(xp.true_divide, 1, x),
    lambda g, y: -g * y * y,
    pull_notation="-g * y ** 2",
    promote="float",
    scalar="1 / x",
    domain="x != 0",
)
sqrt = function(
    "sqrt",
    lambda g, y: g / (2 * y),
    notation="sqrt(x)",
    domain="x >= 0",
)
exp = function("exp", lambda g, y: g * y, notation="e ** x")
exp2 = function("exp2", lambda g, y: g * (math.log(2) * y), pull_notation="g * ln(2) * y")
expm1 = function("expm1", lambda g, x: g * exp(x))
log = function("log", lambda g, x: g / x, symbol="ln", domain="x > 0")
log2 = function(
    "log2",
    lambda g, x: g / (math.log(2) * x),
    pull_notation="g / (x * ln(2))",
    domain="x > 0",
)
log10 = function(
    "log10",
    lambda g, x: g / (math.log(10) * x),
    pull_notation="g / (x * ln(10))",
    domain="x > 0",
)


def _log1p(xp: Any, x: Any) -> Any:
    """NumPy's log1p of complex numbers adds the 1 first, which loses the digits of a small x."""
    if getattr(x, "dtype", None) is None or x.dtype.kind != "c":
        return ignore_float_errors.run(xp.log1p, x)
    with ignore_float_errors():
        a, b = x.real, x.imag
        length = xp.where(
            xp.abs(x) < 0.5, 0.5 * xp.log1p(a * (a + 2) + b * b), xp.log(xp.hypot(1 + a, b))
        )
        return (length + 1j * xp.arctan2(b, 1 + a)).astype(x.dtype)


log1p = elementwise(
    "log1p",
    _log1p,
    lambda g, x: g / (x + 1),
    promote="float",
    domain="x > -1",
)
sin = function("sin", lambda g, x: g * cos(x))
cos = function("cos", lambda g, x: g * -sin(x))
tan = function("tan", lambda g, y: g * (1 + y * y))
sinh = function("sinh", lambda g, x: g * cosh(x))
cosh = function("cosh", lambda g, x: g * sinh(x))
tanh = elementwise("tanh", lambda xp, x: xp.tanh(x), lambda g, y: g * (1 - y * y), promote="float")
