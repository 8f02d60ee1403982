"""Operations that combine the elements along some axes: sums and extremes. Axes are non-negative
and sorted; functions/ checks them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..backend import (
    NUMPY_PAYLOADS,
    SINGLE_OR_DOUBLE,
    broadcast_view,
    float32,
    ignore_float_errors,
    is_narrow,
    numpy,
)
from ..core.primitive import Primitive, constant, general, linear
from .batch import shift_axes, shift_axis_or_all
from .costs import additions, comparisons, mean_cost
from .elementwise import in_float32, ones_like, where
from .kernels import mean_kernel, sum_kernel
from .node_names import reduction_name
from .shape import broadcast_to, reshape
from .sums import (
    AT_ONCE,
    column_sums,
    has_rows,
    is_column,
    is_few,
    is_short,
    row_sums,
    slice_sums,
    total,
    total_of_few,
)
from .terms import sum_terms

Axes = tuple[int, ...]
FEW = 256
"""Up to so many copies of a number take less time than a window that repeats it (0.4 and 2.5
µs).
"""


def kept_shape(shape: tuple[int, ...], axes: Axes) -> tuple[int, ...]:
    """The shape with each reduced axis kept as 1."""
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def reduced_shape(
    x: tuple[int, ...] | None, *, axes: Axes, keepdims: bool
) -> tuple[int, ...] | None:
    """The shape after a reduction."""
    if x is None:
        return None
    return tuple(1 if i in axes else n for i, n in enumerate(x) if keepdims or i not in axes)


def spread(g: Any, x_shape: tuple[int, ...], axes: Axes) -> Any:
    """A reduced cotangent copied back along the reduced axes."""
    # in a derivative rule: no operation is needed to look at an array in another shape
    if type(g) in NUMPY_PAYLOADS:
        if not g.ndim and math.prod(x_shape) <= FEW:
            copies = numpy.empty(x_shape, g.dtype)
            copies.fill(g)
            return copies
        return broadcast_view(numpy, g.reshape(kept_shape(x_shape, axes)) if g.ndim else g, x_shape)
    return broadcast_to(reshape(g, shape=kept_shape(x_shape, axes)), shape=tuple(x_shape))


def rule_over_axes(text: str) -> Callable[..., tuple[str]]:
    """The text of a derivative rule, for `pull_notation` and `push_notation`. In it {g} and {y}
    stand for the adjoint and the result with the reduced axes, {axes} for axes that are kept where
    the result keeps them, {all} for axes that are kept where the adjoint needs them."""

    def written(operands: Any, *, axes: Axes, keepdims: bool, **_: Any) -> tuple[str]:
        missing = not keepdims and axes != tuple(range(len(axes)))  # broadcasting adds leading axes
        g, y = ("unsqueeze(g, axes)", "unsqueeze(y, axes)") if missing else ("g", "y")
        kept = "axes, keepdims"
        both = {
            "axes": kept if keepdims else "axes",
            "all": kept if keepdims or missing else "axes",
        }
        return (text.format(g=g, y=y, **both),)

    return written


def sum_forward(xp: Any, x: Any, *, axes: Axes, keepdims: bool) -> Any:
    """Sum over axes, by the policy of ops/sums.py: the short ways, or `total`."""
    if x.ndim > 1 and len(axes) == 1 and xp is numpy:
        if (
            axes == (0,)
            and x.ndim == 2
            and x.dtype in SINGLE_OR_DOUBLE
            and (x.shape[0] <= AT_ONCE or is_column(x))
        ):
            sums = column_sums(xp, x)
            return sums.reshape(1, -1) if keepdims else sums
        if is_short(x, axes):
            return ignore_float_errors.run(slice_sums, x, axes[0], keepdims)
        if has_rows(x, axes):
            sums = row_sums(xp, x)
            return sums.reshape((*x.shape[:-1], 1)) if keepdims else sums
    if len(axes) == x.ndim and not keepdims and xp is numpy and is_few(x):
        return total_of_few(x)
    if x.size <= AT_ONCE and x.dtype in SINGLE_OR_DOUBLE and xp is numpy:
        return ignore_float_errors.run(xp.add.reduce, x, axis=axes, keepdims=keepdims)
    return ignore_float_errors.run(total, xp, x, axes, keepdims)


sum_ = linear(
    "sum",
    sum_forward,
    lambda g, x_shape, *, axes: spread(g, x_shape, axes),
    batch=shift_axes,
    shape=reduced_shape,
    kernel=sum_kernel,
    reduction="sum",
    cost=additions,
    terms=sum_terms,
    graph_name=reduction_name("Sum"),
)


def mean_forward(xp: Any, x: Any, *, axes: Axes, keepdims: bool) -> Any:
    """Mean over axes; NaN over no elements."""
    count = math.prod(x.shape[i] for i in axes) or math.nan
    if is_narrow(x.dtype):  # the sum of numbers may overflow where their mean does not
        return (sum_forward(xp, x.astype(float32), axes=axes, keepdims=keepdims) / count).astype(
            x.dtype
        )
    return sum_forward(xp, x, axes=axes, keepdims=keepdims) / count


@in_float32
def _divided(g: Any, count: int) -> Any:
    """g / count. Float16 has no count over 65,504, bfloat16 none over 256 that is exact."""
    return g / count


def _mean_transpose(g: Any, x_shape: tuple[int, ...], *, axes: Axes) -> Any:
    return spread(_divided(g, max(1, math.prod(x_shape[i] for i in axes))), x_shape, axes)


mean = linear(
    "mean",
    mean_forward,
    _mean_transpose,
    batch=shift_axes,
    shape=reduced_shape,
    kernel=mean_kernel,
    reduction="mean",
    cost=mean_cost,
    graph_name=reduction_name("Mean"),
)


def _extreme(name: str, method: str, **options: Any) -> Primitive:
    """Declare a largest or smallest element; equal ones share the gradient evenly."""
    return general(
        name,
        lambda xp, x, *, axes, keepdims: getattr(x, method)(axis=axes, keepdims=keepdims),
        [lambda g, x, y, *, axes: spread(g, tuple(x.shape), axes) * _shares(x, y, axes)],
        [
            lambda t, x, y, *, axes, keepdims: sum_(
                t * _shares(x, y, axes), axes=axes, keepdims=keepdims
            )
        ],
        symbol=method,
        pull_notation=rule_over_axes("{g} * (x == {y}) / sum(x == {y}, {all})"),
        push_notation=rule_over_axes("sum(t * (x == {y}), {axes}) / sum(x == {y}, {axes})"),
        real_only=True,
        batch=shift_axes,
        shape=reduced_shape,
        cost=comparisons,
        **options,
    )


def _place(name: str) -> Primitive:
    """Declare the index of an extreme along one axis, or among all elements."""
    forward = lambda xp, x, *, axis, keepdims: getattr(x, name)(axis=axis, keepdims=keepdims)
    options: dict[str, Any] = {"batch": shift_axis_or_all, "dtype": "int64", "cost": comparisons}
    return constant(name, forward, real_only=True, **options)


def _question(name: str) -> Primitive:
    """Declare whether all or any elements are true."""
    forward = lambda xp, x, *, axes, keepdims: getattr(x, name)(axis=axes, keepdims=keepdims)
    options: dict[str, Any] = {"shape": reduced_shape, "dtype": "bool", "cost": comparisons}
    return constant(name, forward, batch=shift_axes, **options)


amax, amin = _extreme("amax", "max", reduction="largest"), _extreme("amin", "min")
argmax, argmin = _place("argmax"), _place("argmin")
all_, any_ = _question("all"), _question("any")


def _shares(x: Any, y: Any, axes: Axes) -> Any:
    """1/k for each of the k elements equal to the extreme, 0 elsewhere; NaN elements count as
    equal where the extreme is NaN.
    """
    full = spread(y, tuple(x.shape), axes)
    hit = ones_where((x == full) | ((x != x) & (full != full)), x)
    return hit / spread(sum_(hit, axes=axes, keepdims=False), tuple(x.shape), axes)


def ones_where(condition: Any, like: Any) -> Any:
    """1 where the condition holds, 0 elsewhere, in the dtype of `like`."""
    return where(condition, ones_like(like), 0.0)
