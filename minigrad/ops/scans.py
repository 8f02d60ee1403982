"""Sums, products and recurrences that run along an axis, and the reductions whose derivatives need
them.

The one idea: the derivative of a running product is a first-order linear recurrence, y[k] = a[k]
y[k-1] + b[k], and so is the derivative of such a recurrence, run backward. Nothing is ever divided
by an element, so zeros among the factors are no special case, in any order of differentiation. (The
usual formula, y/x summed from the end, needs separate treatment of the first zero, of the second,
and again in the second derivative.)

Source: linear recurrences as the closure of scans: G. Blelloch, Prefix Sums and Their Applications
(1990).
"""

from __future__ import annotations

import math
from typing import Any

from ..backend import float64, ignore_float_errors
from ..core.primitive import general, linear
from .batch import shift_axes
from .costs import logsumexp_cost, multiplications, steps
from .elementwise import cast, exp, ones_like, where, zeros_like
from .node_names import reduction_name
from .reduce import kept_shape, reduced_shape, rule_over_axes, spread, sum_, sum_forward
from .shape import cat, flip, inverse_of, permute, reshape
from .sums import PLAIN, accumulator

# ------------------------------------------------------------------------------------- moving along


def _upto(axis: int, stop: int | None, start: int | None = None) -> tuple[Any, ...]:
    return (slice(None),) * axis + (slice(start, stop),)


def delayed(x: Any, axis: int, first: Any) -> Any:
    """x moved one place along the axis; `first` makes the new first element of an old one
    (zeros_like, ones_like).
    """
    n = x.shape[axis]
    if n == 0:
        return x
    return cat(first(x[_upto(axis, 1)]), x[_upto(axis, -1)], axis=axis, sizes=(1, n - 1))


def backward_recurrence(a: Any, g: Any, axis: int) -> Any:
    """h[k] = g[k] + a[k+1] h[k+1], from the end."""
    turned = delayed(flip(a, axes=(axis,)), axis, zeros_like)
    return flip(recurrence(turned, flip(g, axes=(axis,)), axis=axis), axes=(axis,))


# -------------------------------------------------------------------------------------------- scans


def _scanned(scan: Any, x: Any, axis: int) -> Any:
    """A running sum or product, in the accumulator's dtype (float64 for float32, as in PyTorch)."""
    dtype = x.dtype
    wide = accumulator(dtype, x.shape[axis]) if x.shape[axis] > PLAIN else dtype
    if wide is dtype:
        return ignore_float_errors.run(scan, x, axis=axis, dtype=dtype)
    out = x.astype(wide)
    ignore_float_errors.run(scan, out, axis=axis, out=out)
    return ignore_float_errors.run(out.astype, dtype)


cumsum = linear(
    "cumsum",
    lambda xp, x, *, axis: _scanned(xp.cumsum, x, axis),
    lambda g, *, axis: flip(cumsum(flip(g, axes=(axis,)), axis=axis), axes=(axis,)),
    pull_notation="reverse_cumsum(g, axis)",
    accumulates=True,
    batch=shift_axes,
    shape="first",
    cost=steps(add=1),
)
"""y[k] = x[0] + … + x[k] along an axis."""


def _recurrence(xp: Any, a: Any, b: Any, *, axis: int) -> Any:
    wide = accumulator(b.dtype, b.shape[axis])
    # of one shape, but for batch axes that only one of them has
    out = xp.zeros(xp.broadcast(a, b).shape, wide)
    out[...] = b
    before = (slice(None),) * axis
    for k in range(1, b.shape[axis]):
        out[(*before, k)] += a[(*before, k)] * out[(*before, k - 1)]
    return out if wide == b.dtype else ignore_float_errors.run(out.astype, b.dtype)


recurrence = general(
    "recurrence",
    _recurrence,
    [
        lambda g, a, y, *, axis: backward_recurrence(a, g, axis) * delayed(y, axis, zeros_like),
        lambda g, a, *, axis: backward_recurrence(a, g, axis),
    ],
    [
        lambda t, a, y, *, axis: recurrence(a, t * delayed(y, axis, zeros_like), axis=axis),
        lambda t, a, *, axis: recurrence(a, t, axis=axis),
    ],
    pull_notation=(
        "reverse_recurrence(a, g, axis) * previous(y, axis)",
        "reverse_recurrence(a, g, axis)",
    ),
    push_notation=("recurrence(a, t * previous(y, axis), axis)", "recurrence(a, t, axis)"),
    promote="same",
    accumulates=True,
    batch=shift_axes,
    shape="valid first",
    cost=steps(mul=1, add=1),
)
"""y[k] = a[k] y[k-1] + b[k] along an axis, from y[-1] = 0. a and b have one shape; one step of
the interpreter for each k.
"""
cumprod = general(
    "cumprod",
    lambda xp, x, *, axis: _scanned(xp.cumprod, x, axis),
    [lambda g, x, y, *, axis: delayed(y, axis, ones_like) * backward_recurrence(x, g, axis)],
    [lambda t, x, y, *, axis: recurrence(x, t * delayed(y, axis, ones_like), axis=axis)],
    pull_notation="reverse_recurrence(x, g, axis) * previous(y, axis)",
    push_notation="recurrence(x, t * previous(y, axis), axis)",
    accumulates=True,
    batch=shift_axes,
    shape="first",
    cost=steps(mul=1),
)
"""y[k] = x[0] · … · x[k] along an axis."""


def _logcumsumexp(xp: Any, x: Any, *, axis: int) -> Any:
    out = x.astype(float64)  # where the sum is near 1, its logarithm is near 0
    before = (slice(None),) * axis
    for k in range(1, x.shape[axis]):
        out[(*before, k)] = ignore_float_errors.run(
            xp.logaddexp, out[(*before, k - 1)], x[(*before, k)]
        )
    return out if x.dtype == float64 else ignore_float_errors.run(out.astype, x.dtype)


def _share(part: Any, y: Any) -> Any:
    """e to the (part - y): which share of the sum e^y the part e^part is; 0 where the part is
    nothing (e^-∞).
    """
    nothing = part == -math.inf
    return where(nothing, 0.0, exp(where(nothing, 0.0, part) - where(nothing, 0.0, y)))


def _nothing(x: Any) -> Any:
    """The logarithm of the sum of no elements: -∞."""
    return zeros_like(x) - math.inf


def _shares(x: Any, axis: int) -> tuple[Any, Any]:
    """Which share of the running sum the last number is, and which all before it are. In float64:
    a share is as wrong, relatively, as y absolutely, and y is large."""
    x = cast(x, dtype=float64)
    y = logcumsumexp(x, axis=axis)
    return _share(x, y), _share(delayed(y, axis, _nothing), y)


def _pull_logcumsumexp(g: Any, x: Any, axis: int) -> Any:
    last, before = _shares(x, axis)
    wide = last * backward_recurrence(before, cast(g, dtype=float64), axis)
    return cast(wide, dtype=x.dtype)


def _push_logcumsumexp(t: Any, x: Any, axis: int) -> Any:
    last, before = _shares(x, axis)
    return cast(recurrence(before, cast(t, dtype=float64) * last, axis=axis), dtype=x.dtype)


logcumsumexp = general(
    "logcumsumexp",
    _logcumsumexp,
    [lambda g, x, *, axis: _pull_logcumsumexp(g, x, axis)],
    [lambda t, x, *, axis: _push_logcumsumexp(t, x, axis)],
    pull_notation="e ** x * reverse_cumsum(g * e ** (-y), axis)",
    push_notation="e ** (-y) * cumsum(t * e ** x, axis)",
    real_only=True,
    accumulates=True,
    batch=shift_axes,
    shape="first",
    cost=steps(add=2, other=3),
)
"""y[k] = ln(e^x[0] + … + e^x[k]) along an axis, without overflow: y[k] = ln(e^y[k-1] + e^x[k])."""

# --------------------------------------------------------------------------------------- reductions


def _others(x: Any, axes: tuple[int, ...]) -> Any:
    """For each element the product of all the others along the axes: of those before it times
    those after it.
    """
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    order = (*rest, *axes)
    moved = permute(x, axes=order)
    shape, last = tuple(moved.shape), len(rest)
    row = reshape(moved, shape=(*shape[:last], math.prod(shape[last:])))
    ahead = delayed(cumprod(row, axis=last), last, ones_like)
    behind = flip(
        delayed(cumprod(flip(row, axes=(last,)), axis=last), last, ones_like), axes=(last,)
    )
    return permute(reshape(ahead * behind, shape=shape), axes=inverse_of(order))


prod = general(
    "prod",
    lambda xp, x, *, axes, keepdims: ignore_float_errors.run(
        xp.prod, x, axis=axes, keepdims=keepdims
    ),
    [lambda g, x, *, axes: spread(g, tuple(x.shape), axes) * _others(x, axes)],
    [lambda t, x, *, axes, keepdims: sum_(t * _others(x, axes), axes=axes, keepdims=keepdims)],
    pull_notation=rule_over_axes("{g} * product_of_others(x, axes)"),
    push_notation=rule_over_axes("sum(t * product_of_others(x, axes), {axes})"),
    accumulates=True,
    batch=shift_axes,
    shape=reduced_shape,
    cost=multiplications,
    graph_name=reduction_name("Prod"),
)
"""Product over axes; 1 over no elements."""


def _logsumexp(xp: Any, x: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    kept = kept_shape(x.shape, axes)
    if math.prod(x.shape[i] for i in axes) == 0:
        top = xp.zeros(kept, x.dtype)
    else:
        top = xp.asarray(x.max(axis=axes, keepdims=True))
        top = xp.where(xp.isfinite(top), top, xp.zeros(kept, x.dtype))
    parts = ignore_float_errors.run(xp.exp, x - top)
    y = ignore_float_errors.run(xp.log, sum_forward(xp, parts, axes=axes, keepdims=True)) + top
    return y if keepdims else y.reshape(tuple(n for i, n in enumerate(x.shape) if i not in axes))


logsumexp = general(
    "logsumexp",
    _logsumexp,
    [
        lambda g, x, y, *, axes: (
            spread(g, tuple(x.shape), axes) * exp(x - spread(y, tuple(x.shape), axes))
        )
    ],
    [
        lambda t, x, y, *, axes, keepdims: sum_(
            t * exp(x - spread(y, tuple(x.shape), axes)), axes=axes, keepdims=keepdims
        )
    ],
    pull_notation=rule_over_axes("{g} * e ** (x - {y})"),
    push_notation=rule_over_axes("sum(t * e ** (x - {y}), {axes})"),
    promote="float",
    real_only=True,
    accumulates=True,
    batch=shift_axes,
    shape=reduced_shape,
    cost=logsumexp_cost,
)
"""ln Σ e^x over axes without overflow; the derivative is the softmax. -∞ over no elements and over
nothing but -∞ (there without a derivative: NaN).
"""
