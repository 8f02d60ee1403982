"""Inverse circular and hyperbolic functions."""

from __future__ import annotations

from ...core.primitive import elementwise
from .arithmetic import function, real_function
from .complex_numbers import over_square_sum
from .powers import rsqrt

asin = function(
    "asin",
    lambda g, x: g * rsqrt(1 - x * x),
    called="arcsin",
    symbol="arcsin",
    domain="-1 <= x and x <= 1",
)
acos = function(
    "acos",
    lambda g, x: -g * rsqrt(1 - x * x),
    called="arccos",
    symbol="arccos",
    domain="-1 <= x and x <= 1",
)
atan = function("atan", lambda g, x: g / (1 + x * x), called="arctan", symbol="arctan")
atan2 = real_function(
    "atan2",
    lambda xp, a, b: xp.arctan2(a, b),
    lambda g, a, b: g * over_square_sum(b, a, b),
    lambda g, a, b: -g * over_square_sum(a, a, b),
    pull_notation=("g * b / (a ** 2 + b ** 2)", "-g * a / (a ** 2 + b ** 2)"),
)
asinh = elementwise(
    "asinh",
    lambda xp, x: xp.arcsinh(x),
    lambda g, x: g * rsqrt(x * x + 1),
    promote="float",
    symbol="arsinh",
)
acosh = function(
    "acosh",
    lambda g, x: g * rsqrt(x - 1) * rsqrt(x - -1),
    pull_notation="g / (sqrt(x - 1) * sqrt(x + 1))",
    called="arccosh",
    symbol="arcosh",
    domain="x >= 1",
)
atanh = function(
    "atanh",
    lambda g, x: g / (1 - x * x),
    called="arctanh",
    symbol="artanh",
    domain="-1 < x and x < 1",
)
