"""What neural networks do all the time, each as one operation because it is more accurate or faster
than its parts.

softmax and its logarithm subtract the largest element first, so no exponential overflows;
`standardize` has a symmetric Jacobian, so that one rule serves both modes; `affine` is the layer x
Wᵀ + b. Axes are non-negative; nn/functional sees to that.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from ..backend import SINGLE_OR_DOUBLE, NumpyArray, broadcast_rows, ignore_float_errors, numpy
from ..core.primitive import general
from ..errors import ShapeError
from .batch import join_layer, shift_axes
from .costs import (
    EACH,
    each_input,
    layer_cost,
    log_softmax_cost,
    softmax_cost,
    standardize_cost,
    standardize_jvp_cost,
)
from .elementwise import exp, in_float32, log, log1p, maximum, real_function, rsqrt, sqrt
from .linalg import affine_kernel, matmul, swapped
from .reduce import amax, kept_shape, mean, sum_, sum_forward
from .shape import broadcast_to, inverse_of, reshape, sum_to
from .sums import FEW_TERMS, has_rows
from .terms import layer_terms

Axes = tuple[int, ...]


def _largest(xp: Any, x: Any, axes: Axes) -> Any:
    """The largest element along the axes.

    A short axis is compared slice by slice, which is many times faster than a reduction along it;
    rows of up to 32 elements are compared as columns, which takes half the time even with the copy.
    """
    if len(axes) == 1 and 1 < x.shape[axes[0]] <= 4:
        before = (slice(None),) * axes[0]
        top = x[(*before, slice(0, 1))]
        for i in range(1, x.shape[axes[0]]):
            top = xp.maximum(top, x[(*before, slice(i, i + 1))])
    elif xp is numpy and has_rows(x, axes) and x.shape[-1] <= 32:
        rows = x.reshape((math.prod(x.shape[:-1]), x.shape[-1]))
        top = rows.transpose().copy().max(axis=0).reshape((*x.shape[:-1], 1))
    else:
        top = x.max(axis=axes, keepdims=True)
    return top


def _exponentials(xp: Any, x: Any, axes: Axes) -> tuple[Any, Any, Any]:
    """x − m for the largest element m (NaN where m is infinite), its exponential, and the sum of
    that.
    """
    lowered = ignore_float_errors.run(xp.subtract, x, _largest(xp, x, axes))
    powers = xp.exp(lowered)
    return lowered, powers, sum_forward(xp, powers, axes=axes, keepdims=True)


def _softmax(xp: Any, x: Any, *, axis: int) -> Any:
    if 0 in x.shape:
        return x.copy()
    _, powers, total = _exponentials(xp, x, (axis,) if x.ndim else ())
    return powers / total


def _log_softmax(xp: Any, x: Any, *, axis: int) -> Any:
    if 0 in x.shape:
        return x.copy()
    lowered, _, total = _exponentials(xp, x, (axis,) if x.ndim else ())
    return lowered - xp.log(total)


def _over(axis: int, x: Any) -> Axes:
    return (axis,) if x.ndim else ()


@in_float32
def _softmax_rule(g: Any, y: Any, *, axis: int) -> Any:
    """J = diag(y) − y yᵀ is symmetric: the pull is the push."""
    weighted = g * y
    return weighted - y * sum_(weighted, axes=_over(axis, y), keepdims=True)


def _exponentials_in_parts(x: Any, axis: int) -> tuple[Any, Any, Any]:
    """As `_exponentials`, in operations."""
    lowered = x - amax(x, axes=_over(axis, x), keepdims=True)
    powers = exp(lowered)
    return lowered, powers, sum_(powers, axes=_over(axis, x), keepdims=True)


def _softmax_parts(x: Any, *, axis: int) -> Any:
    _, powers, total = _exponentials_in_parts(x, axis)
    return powers / total


def _log_softmax_parts(x: Any, *, axis: int) -> Any:
    lowered, _, total = _exponentials_in_parts(x, axis)
    return lowered - log(total)


softmax = general(
    "softmax",
    _softmax,
    [_softmax_rule],
    [_softmax_rule],
    promote="float",
    real_only=True,
    accumulates=True,
    batch=shift_axes,
    shape="first",
    parts=_softmax_parts,
    cost=softmax_cost,
)
"""e^x / Σ e^x along an axis."""
log_softmax = general(
    "log_softmax",
    _log_softmax,
    [in_float32(lambda g, y, *, axis: g - exp(y) * sum_(g, axes=_over(axis, y), keepdims=True))],
    [in_float32(lambda t, y, *, axis: t - sum_(exp(y) * t, axes=_over(axis, y), keepdims=True))],
    promote="float",
    real_only=True,
    accumulates=True,
    batch=shift_axes,
    shape="first",
    parts=_log_softmax_parts,
    cost=log_softmax_cost,
)
"""x − ln Σ e^x along an axis."""

# ------------------------------------------------------------------------------------ normalisation


def _mean(xp: Any, x: Any, axes: Axes) -> Any:
    return sum_forward(xp, x, axes=axes, keepdims=True) / (
        math.prod(x.shape[a] for a in axes) or math.nan
    )


def _mean_product(xp: Any, a: Any, b: Any, axes: Axes) -> Any:
    """`mean_of_product` within a kernel."""
    rows = _as_rows(a, axes)
    if rows is None:
        return _mean(xp, a * b, axes)
    before, length, rest = rows
    dots = ignore_float_errors.run(
        xp.matmul, a.reshape((*before, 1, length)), b.reshape((*before, length, 1))
    )
    return sum_forward(xp, dots, axes=rest, keepdims=True).reshape(
        kept_shape(a.shape, axes)
    ) / math.prod(a.shape[axis] for axis in axes)


def _standardize(xp: Any, x: Any, *, axes: Axes, eps: float, out: Any = None) -> Any:
    centred = (
        xp.subtract(x, _mean(xp, x, axes), out=out)
        if x.dtype in SINGLE_OR_DOUBLE
        else x - _mean(xp, x, axes)
    )
    scale = 1 / xp.sqrt(_mean_product(xp, centred, centred, axes) + eps)
    if x.dtype in SINGLE_OR_DOUBLE and x.ndim:
        centred *= scale
        return centred
    return _placed((centred * scale).astype(x.dtype, copy=False), out)


def _standardize_jvp(xp: Any, v: Any, x: Any, *, axes: Axes, eps: float, out: Any = None) -> Any:
    if v.shape != x.shape:
        raise ShapeError(f"standardize: a change of shape {v.shape} does not fit {x.shape}.")
    fast = x.dtype in SINGLE_OR_DOUBLE and x.ndim
    centred = xp.subtract(x, _mean(xp, x, axes), out=out) if fast else x - _mean(xp, x, axes)
    scale = 1 / xp.sqrt(_mean_product(xp, centred, centred, axes) + eps)
    along = scale * scale * _mean_product(xp, v, centred, axes)
    # in one piece of memory: to get and to fill another one for each step would take longer than
    # the arithmetic
    if fast:
        centred *= -along
        centred += v
        centred -= _mean(xp, v, axes)
        centred *= scale
        return centred
    return _placed(
        ((v - _mean(xp, v, axes) - centred * along) * scale).astype(x.dtype, copy=False), out
    )


def _placed(result: Any, out: Any) -> Any:
    """A kernel's result in the memory that it was given, if it was given some."""
    if out is None:
        return result
    out[...] = result
    return out


@in_float32
def _standardize_bend(g: Any, v: Any, x: Any, *, axes: Axes, eps: float) -> Any:
    """The derivative by x of ⟨g, J v⟩. With y the standardised x and ⟨ , ⟩ the mean over the axes,

        −1/σ (⟨y, g⟩ J v + ⟨y, v⟩ J g + ⟨g, J v⟩ y):

    symmetric in g, v and what it is multiplied by, so that it serves both modes.
    """
    y = standardize(x, axes=axes, eps=eps)
    centred = x - mean(x, axes=axes, keepdims=True)
    scale = rsqrt(mean_of_product(centred, centred, axes) + eps)
    jv, jg = standardize_jvp(v, x, axes=axes, eps=eps), standardize_jvp(g, x, axes=axes, eps=eps)
    return -scale * (
        mean_of_product(y, g, axes) * jv
        + mean_of_product(y, v, axes) * jg
        + mean_of_product(g, jv, axes) * y
    )


def mean_of_product(a: Any, b: Any, axes: Axes) -> Any:
    """The mean of a · b over axes, which are kept.

    Of large arrays it is a batch of products of a row and a column where it can be, which never
    makes the elementwise product: 64 x 32 x 28 x 28 over all axes but the channels' takes a quarter
    of the time.
    """
    rows = _as_rows(a, axes)
    if rows is None:
        return mean(a * b, axes=axes, keepdims=True)
    before, length, rest = rows
    dots = matmul(reshape(a, shape=(*before, 1, length)), reshape(b, shape=(*before, length, 1)))
    total = sum_(dots, axes=rest, keepdims=True) if rest else dots
    return reshape(total, shape=kept_shape(a.shape, axes)) / math.prod(
        a.shape[axis] for axis in axes
    )


def _as_rows(a: Any, axes: Axes) -> tuple[Axes, int, Axes] | None:
    """How `mean_of_product` sees an array as rows: the sizes of the axes before a row, its length,
    and the axes to sum the products over.

    A row is what the last axes hold that are all among `axes`, or a part of that, short enough for
    one product. None where that would not pay.
    """
    lead = a.ndim
    while lead - 1 in axes:
        lead -= 1
    length = math.prod(a.shape[lead:])
    if (
        length < 64
        or length * math.prod(a.shape[:lead]) < 1 << 14
        or a.dtype not in SINGLE_OR_DOUBLE
    ):
        return None
    before, rest = tuple(a.shape[:lead]), tuple(axis for axis in axes if axis < lead)
    if length <= FEW_TERMS:
        return before, length, rest
    part = _part_of(length)
    return ((*before, length // part), part, (*rest, lead)) if part else None


@functools.lru_cache(1024)
def _part_of(length: int) -> int:
    """The largest divisor of a row's length up to `FEW_TERMS`; 0 if that is less than 64."""
    return next((n for n in range(FEW_TERMS, 63, -1) if length % n == 0), 0)


def _standardized(x: Any, axes: Axes, eps: float) -> tuple[Any, Any]:
    """(x − mean) · scale and scale = 1 / √(variance + ε), in operations."""
    centred = x - mean(x, axes=axes, keepdims=True)
    scale = 1 / sqrt(mean(centred * centred, axes=axes, keepdims=True) + eps)
    return centred * scale, scale


def _standardize_jvp_parts(t: Any, x: Any, *, axes: Axes, eps: float) -> Any:
    """(t − mean t − y · mean(y · t)) · scale, with y the standardised x."""
    y, scale = _standardized(x, axes, eps)
    along = mean(y * t, axes=axes, keepdims=True)
    return (t - mean(t, axes=axes, keepdims=True) - y * along) * scale


def _standardize_rule(g: Any, x: Any, *, axes: Axes, eps: float) -> Any:
    return standardize_jvp(g, x, axes=axes, eps=eps)


standardize = general(
    "standardize",
    _standardize,
    [_standardize_rule],
    [_standardize_rule],
    pull_notation="(g - mean(g, axes) - y * mean(g * y, axes)) / sqrt(var(x, axes) + eps)",
    push_notation="(t - mean(t, axes) - y * mean(t * y, axes)) / sqrt(var(x, axes) + eps)",
    promote="float",
    real_only=True,
    accumulates=True,
    batch=shift_axes,
    shape="first",
    parts=lambda x, *, axes, eps: _standardized(x, axes, eps)[0],
    cost=standardize_cost,
)
"""(x − mean) / √(variance + ε) over axes, with the biased variance."""
_BEND = (
    "-(mean(standardize(x, axes) * {g}, axes) * y + mean(standardize(x, axes) * v, axes)"
    " * standardize_jvp({g}, x, axes) + mean({g} * y, axes) * standardize(x, axes))"
    " / sqrt(var(x, axes) + eps)"
)
standardize_jvp = general(
    "standardize_jvp",
    _standardize_jvp,
    [_standardize_rule, _standardize_bend],
    [_standardize_rule, _standardize_bend],
    pull_notation=(None, _BEND.format(g="g")),
    push_notation=(None, _BEND.format(g="t")),
    promote="float",
    real_only=True,
    accumulates=True,
    batch=shift_axes,
    shape="first",
    parts=_standardize_jvp_parts,
    cost=standardize_jvp_cost,
)
"""J v for the Jacobian of `standardize` at x. With σ² = variance + ε and y the standardised x, J =
(1 − 1/n − y yᵀ/n) / σ is symmetric: the pull is the push.
"""


def _scale_shift(xp: Any, x: Any, w: Any, b: Any, *, out: Any = None) -> Any:
    y = x * w if out is None else xp.multiply(x, w, out=out)
    if y.dtype in SINGLE_OR_DOUBLE and y.ndim and xp.broadcast(y, b).shape == y.shape:
        y += b
        return y
    return _placed(y + b, out)


@in_float32
def _total_product(g: Any, x: Any, shape: Axes) -> Any:
    """g · x summed to a shape that broadcasts to theirs."""
    kept = (1,) * (x.ndim - len(shape)) + tuple(shape)
    axes = tuple(i for i, n in enumerate(kept) if n == 1 and x.shape[i] != 1)
    if not axes or _as_rows(x, axes) is None:
        return sum_to(g * x, shape=tuple(shape))
    return reshape(
        mean_of_product(g, x, axes) * math.prod(x.shape[axis] for axis in axes), shape=tuple(shape)
    )


scale_shift = general(
    "scale_shift",
    _scale_shift,
    [
        lambda g, w: g * w,
        lambda g, x, w_shape: _total_product(g, x, w_shape),
        lambda g, b_shape: sum_to(g, shape=tuple(b_shape)),
    ],
    [
        lambda t, w: t * w,
        lambda t, x: x * t,
        lambda t, y: broadcast_to(t, shape=tuple(y.shape)),
    ],
    push_notation=("t * w", "x * t", "t"),
    promote="same",
    pointwise=True,
    scalar="x * w + b",
    kernel=None,
)
"""x · w + b, with w and b that broadcast to x: a number for each channel, say."""

# ------------------------------------------------------------------------ the fully connected layer


def _affine(xp: Any, x: Any, w: Any, b: Any) -> Any:
    out = matmul.declared_forward(xp, x, w.transpose())
    if getattr(out, "ndim", 0) and out.dtype == b.dtype:
        if type(out) is NumpyArray:
            broadcast_rows(lambda xp, table, row: xp.add(table, row, table), out, b, {})
        else:
            out += b
        return out
    return out + b


def rows_of(a: Any) -> Any:
    """All leading axes in one."""
    return a if a.ndim == 2 else reshape(a, shape=(math.prod(a.shape[:-1]), a.shape[-1]))


def _affine_parts(x: Any, w: Any, b: Any) -> Any:
    product = matmul(rows_of(x), swapped(w))
    return (product if x.ndim == 2 else reshape(product, shape=(*x.shape[:-1], w.shape[0]))) + b


def _layer_shape(x: Axes | None, w: Axes | None, b: Axes | None) -> Axes | None:
    fits = x and w and len(w) == 2 and x[-1] == w[1] and b == w[:1]
    return (*x[:-1], w[0]) if fits and x and w else None


affine = general(
    "affine",
    _affine,
    [
        lambda g, w: matmul(g, w),
        lambda g, x: matmul(swapped(rows_of(g)), rows_of(x)),
        lambda g, b_shape: sum_to(g, shape=tuple(b_shape)),
    ],
    [
        lambda t, w: matmul(t, swapped(w)),
        lambda t, x: matmul(x, swapped(t)),
        lambda t, y: broadcast_to(t, shape=tuple(y.shape)),
    ],
    notation="x @ T(w) + b",
    promote="same",
    accumulates=True,
    batch=join_layer,
    shape=_layer_shape,
    kernel=affine_kernel,
    parts=_affine_parts,
    cost=layer_cost,
    terms=layer_terms,
    graph_name="AddmmBackward0",
)
"""x (…, inputs) by w (outputs, inputs) and b (outputs): x wᵀ + b."""

# ------------------------------------------------------------------------------------------- losses


def _class_places(xp: Any, t: Any, ignored: int) -> tuple[Any, tuple[Any, Any]]:
    """Which targets count; and the index that reads from one row of classes for each target the
    element at its class.
    """
    counts = t != ignored
    return counts, (xp.arange(math.prod(t.shape)), xp.where(counts, t, 0).reshape(-1))


def _classes_last(ndim: int, axis: int) -> Axes:
    return (*range(axis), *range(axis + 1, ndim), axis)


def _nll(xp: Any, x: Any, t: Any, *, axis: int, ignored: int) -> Any:
    if t.shape != x.shape[:axis] + x.shape[axis + 1 :]:
        raise ShapeError(
            f"nll: targets of shape {t.shape} do not fit values of shape {x.shape} with the classes"
            f" along axis {axis}."
        )
    counts, places = _class_places(xp, t, ignored)
    rows = x.transpose(_classes_last(x.ndim, axis)).reshape((math.prod(t.shape), x.shape[axis]))
    return xp.where(counts, -rows[places].reshape(t.shape), xp.zeros((), x.dtype))


def _nll_backward(xp: Any, g: Any, t: Any, *, axis: int, classes: int, ignored: int) -> Any:
    counts, places = _class_places(xp, t, ignored)
    rows = xp.zeros((math.prod(t.shape), classes), g.dtype)
    rows[places] = xp.where(counts, -g, xp.zeros((), g.dtype)).reshape(-1)
    return rows.reshape((*t.shape, classes)).transpose(inverse_of(_classes_last(t.ndim + 1, axis)))


nll = general(
    "nll",
    _nll,
    [
        lambda g, t, x_shape, *, axis, ignored: nll_backward(
            g, t, axis=axis, classes=x_shape[axis], ignored=ignored
        ),
        None,
    ],
    [lambda c, t, *, axis, ignored: nll(c, t, axis=axis, ignored=ignored), None],
    batch=shift_axes,
    cost=EACH,
)
"""−x at each target's class: x has the classes along `axis`, t (integers) the other axes; 0
where t is `ignored`.
"""
nll_backward = general(
    "nll_backward",
    _nll_backward,
    [lambda c, t, *, axis, ignored: nll(c, t, axis=axis, ignored=ignored), None],
    [
        lambda c, t, *, axis, classes, ignored: nll_backward(
            c, t, axis=axis, classes=classes, ignored=ignored
        ),
        None,
    ],
    notation="-g * one_hot(t)",
    batch=shift_axes,
    cost=each_input(other=1),
)
"""−g at each target's class, 0 at the other ones and where t is `ignored`. The transpose of
`nll` in x.
"""

binary_cross_entropy = real_function(
    "binary_cross_entropy",
    lambda xp, p, t: (t - 1) * _bounded_log(xp, xp.log1p, -p) - t * _bounded_log(xp, xp.log, p),
    lambda g, p, t: g * (p - t) / maximum(p * (1 - p), 1e-12),
    lambda g, p: g * (log1p(-p) - log(p)),
    scalar="(t - 1) * maximum(log1p(-p), -100) - t * maximum(log(p), -100)",
    domain="0 <= p and p <= 1",
)
"""−t ln p − (1 − t) ln(1 − p), with logarithms not below −100: a certain and wrong prediction costs
100, not infinity (PyTorch's bounds).
"""


def _bounded_log(xp: Any, logarithm: Any, x: Any) -> Any:
    bounded = xp.maximum(ignore_float_errors.run(logarithm, x), -100)
    # a Python number stays one, and follows the dtype of what it meets
    return float(bounded) if type(x) is float else bounded
