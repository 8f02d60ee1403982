"""Absolute value, angle, conjugate, real and imaginary part.

They are not holomorphic: the rules are written out for z = a + bi, with g in PyTorch's convention
∂L/∂a + i ∂L/∂b. Where a real cotangent belongs to a complex input, or a complex one to a real
input, the engine's cast to the input's dtype is the transpose that is wanted.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.primitive import general
from ..batch import axes_from_the_right
from ..costs import EACH, MOVES
from ..shape import sum_to
from .copies import in_dtype_of, zeros_like
from .rounding import sign_of
from .selection import where


def _sgn(xp: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return sign_of(x)
    size = xp.abs(x)
    return xp.where(size == 0, 0, x / xp.where(size == 0, 1, size))


sgn = general(
    "sgn",
    _sgn,
    [lambda g, x, y: _sgn_derivative(g, x, y)],
    [lambda t, x, y: _sgn_derivative(t, x, y)],
    conjugates=True,
    pointwise=True,
    scalar="where(x > 0, 1, where(x < 0, -1, 0))",
    cost=EACH,
)
"""x / |x|, and 0 at 0 (the sign of real numbers). Its Jacobian, as a real 2x2 matrix, is symmetric:
one rule for both modes.
"""


def _sgn_derivative(g: Any, x: Any, y: Any) -> Any:
    size = where(abs_(x) == 0, 1.0, abs_(x))
    if x.dtype.kind == "c":
        return where(abs_(x) == 0, 0.0, (g - real(conj(y) * g) * y) / size)
    return zeros_like(g)


abs_ = general(
    "abs",
    lambda xp, x: xp.abs(x),
    [lambda g, x: g * sgn(x)],
    [lambda t, x: real(conj(sgn(x)) * t)],
    push_notation="t * sgn(x)",
    conjugates=True,
    symbol="abs",
    pointwise=True,
    dtype="real",
)
conj = general(
    "conj",
    lambda xp, x: xp.conj(x) if x.dtype.kind == "c" else x,
    [lambda g: conj(g)],
    [lambda t: conj(t)],
    conjugates=True,
    view=True,
    pointwise=True,
    cost=EACH,
)
_part: dict[str, Any] = {"conjugates": True, "view": True, "pointwise": True, "dtype": "real"}
real = general(
    "real",
    lambda xp, x: x.real,
    [lambda g: g],
    [lambda t: real(t)],
    **_part,
)
imag = general(
    "imag",
    lambda xp, x: x.imag if x.dtype.kind == "c" else xp.zeros(x.shape, x.dtype),
    [lambda g: make_complex(zeros_like(g), g)],
    [lambda t: imag(t)],
    **_part,
)


def over_square_sum(part: Any, a: Any, b: Any) -> Any:
    """part / (a² + b²), and 0 where both are 0."""
    total = a * a + b * b
    return where(total == 0, 0.0, part / where(total == 0, 1.0, total))


angle = general(
    "angle",
    lambda xp, x: (
        xp.angle(x)
        if x.dtype.kind == "c"
        else in_dtype_of(x, xp.where(x < 0, math.pi, xp.where(x == x, 0.0, x)))
    ),
    [lambda g, x: _angle_pull(g, x)],
    [lambda t, x: _angle_push(t, x)],
    pull_notation=lambda xs: ("g * i * x / abs(x) ** 2" if xs[0].dtype.kind == "c" else None,),
    push_notation=lambda xs: (
        "imag(conj(x) * t) / abs(x) ** 2" if xs[0].dtype.kind == "c" else None,
    ),
    conjugates=True,
    promote="float",
    pointwise=True,
    dtype="real",
)


def _angle_pull(g: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return zeros_like(g)
    a, b = real(x), imag(x)
    return make_complex(g * -over_square_sum(b, a, b), g * over_square_sum(a, a, b))


def _angle_push(t: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return zeros_like(t)
    a, b = real(x), imag(x)
    return imag(t) * over_square_sum(a, a, b) - real(t) * over_square_sum(b, a, b)


def _make_complex(xp: Any, a: Any, b: Any) -> Any:
    out = xp.zeros(xp.broadcast(a, b).shape, "complex128" if a.dtype.itemsize == 8 else "complex64")
    out.real = a
    out.imag = b  # not a + 1j * b: an infinite b would make the real part NaN
    return out


make_complex = general(
    "complex",
    _make_complex,
    [
        lambda g, a_shape: sum_to(real(g), shape=a_shape),
        lambda g, b_shape: sum_to(imag(g), shape=b_shape),
    ],
    [lambda t: make_complex(t, zeros_like(t)), lambda t: make_complex(zeros_like(t), t)],
    conjugates=True,
    promote="float",
    pointwise=True,
    dtype="complex",
    cost=MOVES,
)
"""The complex tensor a + ib from its real and imaginary parts."""


def _view_as_complex(xp: Any, x: Any) -> Any:
    # a cotangent may lie in memory in any way
    x = x if x.strides[-1] == x.dtype.itemsize else xp.ascontiguousarray(x)
    return x.view("complex128" if x.dtype.itemsize == 8 else "complex64")[..., 0]


view_as_real = general(
    "view_as_real",
    lambda xp, x: x[..., None].view("float64" if x.dtype.itemsize == 16 else "float32"),
    [lambda g: view_as_complex(g)],
    [lambda t: view_as_real(t)],
    conjugates=True,
    view=True,
    batch=axes_from_the_right,
    dtype="real",
)
"""Complex numbers as pairs (real, imaginary) along a new last axis, in the same memory."""
view_as_complex = general(
    "view_as_complex",
    _view_as_complex,
    [lambda g: view_as_real(g)],
    [lambda t: view_as_complex(t)],
    conjugates=True,
    view=True,
    batch=axes_from_the_right,
    dtype="complex",
)
"""Pairs along the last axis as complex numbers, in the same memory. Each of the two views is the
other's transpose.
"""
