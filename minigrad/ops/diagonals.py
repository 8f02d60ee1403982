"""Diagonals and triangles of matrices: reading them, placing them among zeros. Linear, so only the
transpose is written.

Reading a diagonal and placing one are each other's transposes; cutting off a triangle is its own.
"""

from __future__ import annotations

from typing import Any

from ..backend import diagonal_view
from ..core.primitive import Primitive, linear, registry
from .batch import axes_from_the_right, shift_diagonal
from .costs import MOVES


def _diagonal_backward(
    xp: Any, g: Any, *, offset: int, axis1: int, axis2: int, shape: tuple[int, ...]
) -> Any:
    out = xp.zeros(shape, g.dtype)
    diagonal_view(out, offset, axis1, axis2)[...] = g
    return out


diagonal = linear(
    "diagonal",
    lambda xp, x, *, offset, axis1, axis2: diagonal_view(x, offset, axis1, axis2),
    lambda g, x_shape, *, offset, axis1, axis2: diagonal_backward(
        g, offset=offset, axis1=axis1, axis2=axis2, shape=tuple(x_shape)
    ),
    view=True,
    batch=shift_diagonal,
)
"""The elements whose indices along two axes differ by `offset`, as a window with these along the
last axis.
"""
diagonal_backward = linear(
    "diagonal_backward",
    _diagonal_backward,
    lambda g, *, offset, axis1, axis2: diagonal(g, offset=offset, axis1=axis1, axis2=axis2),
    symbol="diag_embed",
    batch=shift_diagonal,
    shape="given",
    cost=MOVES,
)
"""Zeros of `shape` with g on the diagonal."""


def _triangle(name: str) -> Primitive:
    """Declare a triangle that array libraries have; it is its own transpose."""
    return linear(
        name,
        lambda xp, x, *, offset: getattr(xp, name)(x, offset),
        lambda g, *, offset: registry[name](g, offset=offset),
        batch=axes_from_the_right,
        shape="first",
        cost=MOVES,
    )


tril = _triangle("tril")
"""The elements on and below diagonal number `offset` of the last two axes, zeros above."""
triu = _triangle("triu")
"""The elements on and above diagonal number `offset` of the last two axes, zeros below."""


def main_diagonal(x: Any) -> Any:
    """The main diagonals of matrices."""
    return diagonal(x, offset=0, axis1=x.ndim - 2, axis2=x.ndim - 1)


def diagonal_matrix(d: Any) -> Any:
    """Square matrices with d on the main diagonal."""
    return diagonal_backward(
        d, offset=0, axis1=d.ndim - 1, axis2=d.ndim, shape=(*d.shape, d.shape[-1])
    )
