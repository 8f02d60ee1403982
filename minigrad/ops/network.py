"""What neural networks do all the time, each as one operation because it is more accurate or faster than its parts.

softmax and its logarithm subtract the largest element first, so no exponential overflows; `standardize` has a symmetric Jacobian, so that
one rule serves both
modes; `affine` is the layer x Wᵀ + b. Axes are non-negative; functional.py sees to that.
"""

from __future__ import annotations

import math
from typing import Any

from ..backend import FAST_DTYPES, silently
from ..primitive import elementwise, primitive
from .elementwise import exp, log, log1p, maximum, rsqrt
from .linalg import matmul, swapped
from .reduce import kept_shape, mean, sum_
from .shape import broadcast_to, reshape, sum_to

Axes = tuple[int, ...]


def _largest(xp: Any, x: Any, axes: Axes) -> Any:
    """The largest element along the axes. A short axis is compared slice by slice, which is many times faster than a reduction along it."""
    if len(axes) == 1 and 1 < x.shape[axes[0]] <= 4:
        before = (slice(None),) * axes[0]
        top = x[(*before, slice(0, 1))]
        for i in range(1, x.shape[axes[0]]):
            top = xp.maximum(top, x[(*before, slice(i, i + 1))])
    else:
        top = x.max(axis=axes, keepdims=True)
    return top


def _exponentials(xp: Any, x: Any, axes: Axes) -> tuple[Any, Any, Any]:
    """x − m for the largest element m (NaN where m is infinite), its exponential, and the sum of that."""
    lowered = silently.run(xp.subtract, x, _largest(xp, x, axes))
    powers = xp.exp(lowered)
    return lowered, powers, xp.add.reduce(powers, axis=axes, keepdims=True)


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


def _softmax_rule(g: Any, y: Any, *, axis: int) -> Any:
    """J = diag(y) − y yᵀ is symmetric: the pull is the push."""
    weighted = g * y
    return weighted - y * sum_(weighted, axes=_over(axis, y), keepdims=True)


softmax = primitive("softmax", _softmax, [_softmax_rule], [_softmax_rule], promote="float", real_only=True)
"""e^x / Σ e^x along an axis."""
log_softmax = primitive(
    "log_softmax",
    _log_softmax,
    [lambda g, y, *, axis: g - exp(y) * sum_(g, axes=_over(axis, y), keepdims=True)],
    [lambda t, y, *, axis: t - sum_(exp(y) * t, axes=_over(axis, y), keepdims=True)],
    promote="float",
    real_only=True,
)
"""x − ln Σ e^x along an axis."""

# ------------------------------------------------------------------------------------------------------------ normalisation


def _standardize(xp: Any, x: Any, *, axes: Axes, eps: float, out: Any = None) -> Any:
    count = math.prod(x.shape[a] for a in axes) or math.nan
    mean_of_x = xp.add.reduce(x, axis=axes, keepdims=True) / count
    centred = xp.subtract(x, mean_of_x, out=out) if x.dtype in FAST_DTYPES else x - mean_of_x
    rows = _as_rows(centred, axes)
    if rows is None:
        variance = xp.add.reduce(centred * centred, axis=axes, keepdims=True) / count
    else:
        before, length, rest = rows
        squares = silently.run(xp.matmul, centred.reshape((*before, 1, length)), centred.reshape((*before, length, 1)))
        variance = xp.add.reduce(squares, axis=rest, keepdims=True).reshape(kept_shape(x.shape, axes)) / count
    scale = 1 / xp.sqrt(variance + eps)
    if x.dtype in FAST_DTYPES and x.ndim:
        centred *= scale
        return centred
    result = (centred * scale).astype(x.dtype, copy=False)
    if out is None:
        return result
    out[...] = result
    return out


def _standardize_rule(g: Any, x: Any, y: Any, *, axes: Axes, eps: float) -> Any:
    """With σ² = variance + ε: J = (1 − 1/n − y yᵀ/n) / σ, which is symmetric: the pull is the push."""
    centred = x - mean(x, axes=axes, keepdims=True)
    scale = rsqrt(mean_of_product(centred, centred, axes) + eps)
    return (g - mean(g, axes=axes, keepdims=True) - y * mean_of_product(g, y, axes)) * scale


def mean_of_product(a: Any, b: Any, axes: Axes) -> Any:
    """The mean of a · b over axes, which are kept.

    Of large arrays it is a batch of products of a row and a column where it can be, which never makes the elementwise product: 64 x 32 x 28
    x 28 over all axes but the channels' takes a quarter of the time.
    """
    rows = _as_rows(a, axes)
    if rows is None:
        return mean(a * b, axes=axes, keepdims=True)
    before, length, rest = rows
    dots = matmul(reshape(a, shape=(*before, 1, length)), reshape(b, shape=(*before, length, 1)))
    total = sum_(dots, axes=rest, keepdims=True) if rest else dots
    return reshape(total, shape=kept_shape(a.shape, axes)) / math.prod(a.shape[axis] for axis in axes)


def _as_rows(a: Any, axes: Axes) -> tuple[Axes, int, Axes] | None:
    """How `mean_of_product` sees an array as rows: the sizes of the axes before a row, its length (over the last axes, all of which are
    among `axes`), and the other ones of `axes`. None where that would not pay."""
    lead = a.ndim
    while lead - 1 in axes:
        lead -= 1
    length = math.prod(a.shape[lead:])
    if length < 64 or length * math.prod(a.shape[:lead]) < 1 << 14 or a.dtype not in FAST_DTYPES:
        return None
    return tuple(a.shape[:lead]), length, tuple(axis for axis in axes if axis < lead)


standardize = primitive("standardize", _standardize, [_standardize_rule], [_standardize_rule], promote="float", real_only=True)
"""(x − mean) / √(variance + ε) over axes, with the biased variance."""

# ---------------------------------------------------------------------------------------------------- the fully connected layer


def _affine(xp: Any, x: Any, w: Any, b: Any) -> Any:
    out = x.dot(w.transpose()) if x.ndim == 2 else xp.matmul(x, w.transpose())
    if getattr(out, "ndim", 0) and out.dtype == b.dtype:
        out += b
        return out
    return out + b


def _rows(a: Any, width: int) -> Any:
    """All leading axes in one."""
    return a if a.ndim == 2 else reshape(a, shape=(math.prod(a.shape[:-1]), width))


affine = primitive(
    "affine",
    _affine,
    [
        lambda g, w: matmul(g, w),
        lambda g, x, w_shape: matmul(swapped(_rows(g, w_shape[0])), _rows(x, w_shape[1])),
        lambda g, b_shape: sum_to(g, shape=tuple(b_shape)),
    ],
    [
        lambda t, w: matmul(t, swapped(w)),
        lambda t, x: matmul(x, swapped(t)),
        lambda t, y: broadcast_to(t, shape=tuple(y.shape)),
    ],
    promote="same",
)
"""x (…, inputs) by w (outputs, inputs) and b (outputs): x wᵀ + b."""

# ------------------------------------------------------------------------------------------------------------------- a loss

binary_cross_entropy = elementwise(
    "binary_cross_entropy",
    lambda xp, p, t: (t - 1) * _bounded_log(xp, xp.log1p, -p) - t * _bounded_log(xp, xp.log, p),
    lambda g, p, t: g * (p - t) / maximum(p * (1 - p), 1e-12),
    lambda g, p: g * (log1p(-p) - log(p)),
    promote="float",
    real_only=True,
)
"""−t ln p − (1 − t) ln(1 − p), with logarithms not below −100: a certain and wrong prediction costs 100, not infinity (PyTorch's
bounds).
"""


def _bounded_log(xp: Any, logarithm: Any, x: Any) -> Any:
    bounded = xp.maximum(silently.run(logarithm, x), -100)
    return float(bounded) if type(x) is float else bounded  # a Python number stays one, and follows the dtype of what it meets
