"""Losses of probabilities: of two classes, of many, and between distributions. Classes out of
range are refused.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from typing import Any

from ... import backend, functions
from ...core.observe import observers
from ...core.tensor import Tensor, as_tensor
from ...errors import DTypeError, ShapeError
from ...functions import exp, log_softmax, where
from ...ops import network
from ...ops.elementwise import in_float32
from .arguments import check_range, on_axis
from .linear_maps import linear
from .reduction import pair, reduced

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div",
    "linear_cross_entropy", "nll_loss",
]  # fmt: skip


@in_float32
def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """−t ln x − (1 − t) ln(1 − x) for probabilities x in [0, 1]; logarithms are not below −100.
    Raises RuntimeError outside [0, 1].
    """
    x, t = pair(input, target, "binary_cross_entropy")
    if (
        x.numel()
        and not hasattr(type(x.array), "__minigrad_apply__")
        and not bool(((x.array >= 0) & (x.array <= 1)).all())
    ):
        raise RuntimeError(
            "binary_cross_entropy: all elements of input must lie in [0, 1]. Use"
            " binary_cross_entropy_with_logits for other numbers."
        )
    loss = network.binary_cross_entropy(x, t)
    return reduced(loss if weight is None else loss * weight, reduction, "binary_cross_entropy")


@in_float32
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Tensor:
    """binary_cross_entropy(σ(x), t) without overflow; pos_weight multiplies the positive term."""
    x, t = pair(input, target, "binary_cross_entropy_with_logits")
    soft = functions.softplus(-x)
    loss = (1 - t) * x + (
        soft if pos_weight is None else (1 + (as_tensor(pos_weight) - 1) * t) * soft
    )
    return reduced(
        loss if weight is None else loss * weight, reduction, "binary_cross_entropy_with_logits"
    )


@in_float32
def nll_loss(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """−weight[t] · x[t] for log-probabilities x of shape (N, C, …) (or (C,)) and class indices t of
    shape (N, …) (or ()).

    "mean" divides by the sum of the weights that count; targets equal to ignore_index do not (all
    of them ignored gives NaN). Raises IndexError for other classes.
    """
    x, t = as_tensor(input), as_tensor(target)
    loss, weights = _class_losses(x, t, weight, ignore_index, "nll_loss")
    return _weighted(loss, weights, t, ignore_index, reduction, "nll_loss")


@in_float32
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """−Σ_c weight[c] t[c] ln softmax(x)[c] for logits x of shape (N, C, …) or (C,).

    target: class indices of shape (N, …), or probabilities of the shape of x. label_smoothing ε
    replaces t by (1 − ε) t + ε / C. "mean" divides by the sum of the weights of the target classes
    (class indices) or by the number of samples (probabilities). Raises IndexError for a class out
    of range.
    """
    x, t = as_tensor(input), as_tensor(target)
    axis = 1 if x.ndim > 1 else 0
    if not 0 <= label_smoothing <= 1:
        raise ValueError(
            f"cross_entropy: label_smoothing must lie in [0, 1], got {label_smoothing}."
        )
    if x.ndim == 0:
        raise ShapeError("cross_entropy: input needs a dimension of classes, got a 0-d tensor.")
    logs = log_softmax(x, axis)
    classes = x.shape[axis]
    by_class = None if weight is None else on_axis(weight, axis, x.ndim)
    if t.shape == x.shape and backend.is_floating(t.dtype):
        if ignore_index >= 0:
            raise DTypeError(
                f"cross_entropy: ignore_index={ignore_index} names a class, but target {t.shape}"
                f" holds probabilities ({t.dtype})."
            )
        if label_smoothing:
            t = t * (1 - label_smoothing) + label_smoothing / classes
        loss = -(logs * t if by_class is None else logs * t * by_class).sum(axis)
        if reduction == "mean":
            return loss.sum() / max(1, math.prod(loss.shape))
        return reduced(loss, reduction, "cross_entropy")
    loss, weights = _class_losses(logs, t, weight, ignore_index, "cross_entropy")
    if label_smoothing:
        spread = -(logs if by_class is None else logs * by_class).sum(axis)
        loss = (1 - label_smoothing) * loss + label_smoothing / classes * where(
            t != ignore_index, spread, 0.0
        )
    return _weighted(loss, weights, t, ignore_index, reduction, "cross_entropy")


@in_float32
def linear_cross_entropy(
    input: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
) -> Tensor:
    """cross_entropy(input Wᵀ + b, target): a last linear layer and its loss, for input (N,
    features) or (features,).

    linear_weight: (C, features), or (C, *D, features) for a loss at each of the places *D of each
    example; linear_bias: the same without the features, or None. target, weight, reduction and
    label_smoothing are those of `cross_entropy`; ignore_index, −100 if it is None, only goes with
    class indices. Raises ShapeError where shapes do not fit, ValueError for ignore_index beside
    probabilities.
    """
    x = as_tensor(input)
    w = as_tensor(linear_weight)
    t = as_tensor(target)
    function = "linear_cross_entropy"
    if (
        x.ndim not in (1, 2)
        or w.ndim < 2
        or x.shape[-1] != w.shape[-1]
        or (x.ndim == 1 and w.ndim > 2)
    ):
        raise ShapeError(
            f"{function}: needs input (N, features) or (features,), and linear_weight (C, *D,"
            f" features), with *D only beside N; got {x.shape} and {w.shape}."
        )
    bias = None if linear_bias is None else as_tensor(linear_bias)
    if bias is not None and bias.shape != w.shape[:-1]:
        raise ShapeError(
            f"{function}: linear_bias must have the shape {w.shape[:-1]}, got {bias.shape}."
        )
    shape = (*x.shape[:-1], *w.shape[:-1])
    if ignore_index is not None and t.shape == shape and backend.is_floating(t.dtype):
        raise ValueError(
            f"{function}: ignore_index goes with class indices, but target {t.shape} holds"
            " probabilities."
        )
    logits = linear(
        x, w.reshape(-1, w.shape[-1]), None if bias is None else bias.reshape(-1)
    ).reshape(shape)
    return cross_entropy(
        logits,
        t,
        weight,
        -100 if ignore_index is None else ignore_index,
        reduction,
        label_smoothing,
    )


@in_float32
def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """t (ln t − x) for log-probabilities x, 0 with derivative −x by t where t is 0, NaN where it is
    negative; reduction "batchmean" divides the sum by the batch's size, which is the mathematical
    definition. Raises ShapeError unless both have one shape.
    """
    x, t = pair(input, target, "kl_div")
    if log_target:
        loss = exp(t) * (t - x)
    else:
        zero = t == 0
        loss = where(zero, 0.0, t * functions.log(where(zero, 1.0, t))) - t * x
    if reduction == "batchmean":
        return loss.sum() / x.shape[0] if x.ndim else loss.sum()
    return reduced(loss, reduction, "kl_div")


def _class_losses(
    x: Tensor, t: Tensor, weight: Any, ignore_index: int, function: str
) -> tuple[Tensor, Tensor | None]:
    """Minus x at each target's class times its weight, and the weights (None where none are given),
    in the target's shape. What is ignored is 0 in both.
    """
    axis = 1 if x.ndim > 1 else 0
    if x.ndim == 0 or t.shape != x.shape[:axis] + x.shape[axis + 1 :]:
        raise ShapeError(
            f"{function}: target of shape {t.shape} does not fit input of shape {x.shape} with"
            f" classes in dimension {axis}."
        )
    if t.dtype.kind not in "iu":
        raise DTypeError(
            f"{function}: class indices must be integers, got {t.dtype}. For one probability a"
            " class, give target the shape of input."
        )
    classes = x.shape[axis]
    if (
        isinstance(t.array, backend.NumpyArray)
        and t.numel()
        and not 0 <= t.array.min() <= t.array.max() < classes
    ):
        check_range(where(t != ignore_index, t, 0), classes, function, "class")
    loss = network.nll(x, t, axis=axis, ignored=ignore_index)
    if weight is None:
        return loss, None
    if as_tensor(weight).shape != (classes,):
        raise ShapeError(
            f"{function}: weight must have one number for each of {classes} classes, got shape"
            f" {as_tensor(weight).shape}."
        )
    counts = t != ignore_index
    weights = where(counts, as_tensor(weight)[where(counts, t, 0)], 0.0)
    return loss * weights, weights


def _weighted(
    loss: Tensor,
    weights: Tensor | None,
    t: Tensor,
    ignore_index: int,
    reduction: str,
    function: str,
) -> Tensor:
    """The sum of the losses over that of the weights, or another reduction."""
    if reduction != "mean":
        return reduced(loss, reduction, function)
    if weights is None and type(t.array) is backend.NumpyArray and not observers:
        # four operations on small arrays would take longer than all others of the loss
        total = as_tensor(loss.dtype.type(backend.numpy.count_nonzero(t.array != ignore_index)))
    else:
        total = (t != ignore_index if weights is None else weights).sum().to(loss.dtype)
    return loss.sum() / total
