"""Copies, casts, and constants in the shape of a tensor."""

from __future__ import annotations

from typing import Any

from ... import half_precision
from ...backend import copy_with_strides_of, ignore_float_errors
from ...core.primitive import constant, elementwise, linear
from ..batch import overwrite_all

clone = linear(
    "clone", lambda xp, x: copy_with_strides_of(x, x), lambda g: g, pointwise=True, scalar="x"
)
identity = linear("identity", lambda xp, x: x, lambda g: g, view=True, pointwise=True)


def _cast(x: Any, dtype: Any) -> Any:
    part = x.real if x.dtype.kind == "c" and dtype.kind not in "cb" else x
    return ignore_float_errors.run(part.astype, dtype)


cast = linear(
    "cast",
    lambda xp, x, *, dtype: _cast(x, dtype),
    lambda g: g,
    pointwise=True,
    dtype="given",
    scalar="x",
    notation="cast(x, dtype)",
    graph_name="ToCopyBackward0",
)
"""x in another dtype. The engine casts each gradient to its leaf's dtype, so the transpose has
nothing left to do.
"""
in_float32 = half_precision.in_float32(cast)
overwrite = elementwise(
    "overwrite",
    lambda xp, old, new: xp.broadcast_to(new, old.shape).astype(old.dtype),
    lambda g: zeros_like(g),
    lambda g: g,
    promote=None,
    batch=overwrite_all,
    shape="first",
    dtype="first",
    scalar="new",
    kernel=None,
)
"""The values `new` in the shape and dtype of `old`: what `copy_`, `fill_` and `x[…] = …` write."""
zeros_like = linear(
    "zeros_like",
    lambda xp, x: xp.zeros(x.shape, x.dtype),
    lambda g: zeros_like(g),
    pointwise=True,
    scalar="0",
)
ones_like = constant(
    "ones_like", lambda xp, x: xp.ones(x.shape, x.dtype), pointwise=True, scalar="1"
)


def in_dtype_of(x: Any, y: Any) -> Any:
    """y in the dtype of x: in bfloat16, which NumPy knows only as an extension, arithmetic with a
    Python float comes out as float32.
    """
    return y if y.dtype == x.dtype else y.astype(x.dtype)
