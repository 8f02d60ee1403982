"""Derivatives by central differences: the judge that needs no answer key.

They check a rule without knowing the right one. With the step h and values of double precision,
(f(x + h) − f(x − h)) / 2h is off by about f‴h²/6 + ε|f|/h; h = 10⁻⁵ keeps both below 10⁻⁹ for
functions of moderate size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

RTOL = ATOL = 1e-6


def partials(f: Callable[..., float], point: Sequence[float]) -> tuple[float, ...]:
    """∂f/∂xᵢ at the point, one for each input; NaN where f is not defined around it."""
    return tuple(_partial(f, list(point), i) for i in range(len(point)))


def _partial(f: Callable[..., float], point: list[float], i: int) -> float:
    h = 1e-5 * max(1.0, abs(point[i]))
    up, down = point[i] + h, point[i] - h
    try:
        rise = f(*point[:i], up, *point[i + 1 :]) - f(*point[:i], down, *point[i + 1 :])
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan
    return rise / (up - down)


def close(a: float, b: float) -> bool:
    """Whether two numbers agree as well as central differences allow; NaN agrees with nothing."""
    return (
        abs(a - b) <= ATOL + RTOL * max(abs(a), abs(b))
        if math.isfinite(a) and math.isfinite(b)
        else False
    )


def all_close(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether two tuples of numbers agree, entry by entry."""
    return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b, strict=True))


def tidy(x: float) -> float:
    """A number near a short one, such as 1.0000000003 from a central difference, as that short
    one: for show only.
    """
    return round(x, 6) + 0.0 if math.isfinite(x) else x
