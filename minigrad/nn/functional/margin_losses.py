"""Losses that ask for a distance: between the scores of classes, or between samples."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import backend, functions
from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError
from ...functions import arange, clamp, softplus, where
from ...ops.elementwise import in_float32
from .arguments import check_integers, check_range
from .distances import pairwise_distance
from .reduction import pair, reduced

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss",
    "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip

# --------------------------------------------------------------------------------------- of classes


@in_float32
def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """ln(1 + e^(−t x)) for targets t of −1 and 1."""
    x, t = pair(input, target, "soft_margin_loss")
    return reduced(softplus(-t * x), reduction, "soft_margin_loss")


@in_float32
def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Σ max(0, margin − x[t] + x[c])ᵖ over the classes c ≠ t, divided by their number: x (N, C)
    or (C,), t class indices (N,), or () or (1,); without reduction the losses have the shape of t.
    """
    x, t = as_tensor(input), as_tensor(target)
    if x.ndim < 2:
        loss = multi_margin_loss(x.reshape(1, -1), t.reshape(1), p, margin, weight, reduction)
        return loss.reshape(t.shape) if reduction == "none" else loss
    if x.ndim != 2 or t.shape != x.shape[:1] or t.dtype.kind not in "iu":
        raise ShapeError(
            f"multi_margin_loss: needs input (N, C) and integers (N,), got {x.shape} and {t.dtype}"
            f" {t.shape}."
        )
    check_range(t, x.shape[1], "multi_margin_loss", "class")
    right = t.unsqueeze(1) == arange(x.shape[1], device=x.device)
    own = x[arange(x.shape[0], device=x.device), t].unsqueeze(1)
    loss = functions.relu(margin - own + x) ** p
    loss = where(right, 0.0, loss if weight is None else loss * as_tensor(weight)[t].unsqueeze(1))
    return reduced(loss.sum(1) / x.shape[1], reduction, "multi_margin_loss")


@in_float32
def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Σ max(0, 1 − x[t] + x[c]) over the target classes t of a row (those before its first −1) and
    all other classes c, divided by the
    number of classes: x and t (N, C) or (C,).
    """
    x, t = pair(input, target, "multilabel_margin_loss")
    check_integers(t, "multilabel_margin_loss", "the target's classes")
    rows, labels = (v.reshape(-1, v.shape[-1] if v.ndim else 1) for v in (x, t))
    listed = (labels < 0).to(backend.int64).cumsum(1) == 0
    index = where(listed, labels, 0)
    check_range(index, rows.shape[1], "multilabel_margin_loss", "class")
    own = (
        (index.unsqueeze(2) == arange(rows.shape[1], device=rows.device)) & listed.unsqueeze(2)
    ).any(1)
    gap = (
        1
        - rows[arange(rows.shape[0], device=rows.device).reshape(-1, 1), index].unsqueeze(2)
        + rows.unsqueeze(1)
    )
    counts = listed.unsqueeze(2) & ~own.unsqueeze(1)
    loss = where(counts, clamp(gap, min=0.0), 0.0).sum((1, 2)) / rows.shape[1]
    return reduced(loss if x.ndim > 1 else loss[0], reduction, "multilabel_margin_loss")


@in_float32
def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """The mean over the classes of the cross entropies of σ(x) and t: x and t (…, C)."""
    x, t = pair(input, target, "multilabel_soft_margin_loss")
    loss = t * softplus(-x) + (1 - t) * softplus(x)
    if weight is not None:
        loss = loss * weight
    return reduced(loss.mean(-1), reduction, "multilabel_soft_margin_loss")


# --------------------------------------------------------------------------------------- of samples


@in_float32
def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, −t (x1 − x2) + margin). Raises ShapeError for different numbers of dimensions."""
    a, b, t = as_tensor(input1), as_tensor(input2), as_tensor(target)
    _check_ndim("margin_ranking_loss", input1=a, input2=b, target=t)
    return reduced(clamp(-t * (a - b) + margin, min=0.0), reduction, "margin_ranking_loss")


def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """x where t = 1, max(0, margin − x) where t = −1, and both together where t is neither. Raises
    ShapeError unless both have one shape.
    """
    x, t = pair(input, target, "hinge_embedding_loss")
    return _hinge_embedding_loss(x, t != -1, t != 1, margin, reduction)


@in_float32
def _hinge_embedding_loss(
    x: Tensor, near: Tensor, far: Tensor, margin: float, reduction: str
) -> Tensor:
    """Of masks, so that the target's dtype does not count."""
    loss = where(near, x, 0.0) + where(far, clamp(margin - x, min=0.0), 0.0)
    return reduced(loss, reduction, "hinge_embedding_loss")


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 − cos where t = 1, max(0, cos − margin) where t = −1, for the cosine of the angle
    between the rows of two inputs (N, D) with targets (N,), or between two inputs (D,) with a
    target (). Raises ShapeError for other shapes.
    """
    a, b, t = as_tensor(input1), as_tensor(input2), as_tensor(target)
    if t.ndim > 1 or a.ndim != t.ndim + 1 or b.ndim != a.ndim:
        raise ShapeError(
            "cosine_embedding_loss: needs inputs (N, D) with targets (N,), or (D,) with (); got"
            f" inputs of shape {a.shape} and {b.shape}, targets of shape {t.shape}."
        )
    return _cosine_embedding_loss(a, b, t == 1, t == -1, margin, reduction)


@in_float32
def _cosine_embedding_loss(
    a: Tensor, b: Tensor, near: Tensor, far: Tensor, margin: float, reduction: str
) -> Tensor:
    """Of masks, so that the target's dtype does not count."""
    small = 1e-12
    cosine = (a * b).sum(-1) / functions.sqrt(((a * a).sum(-1) + small) * ((b * b).sum(-1) + small))
    loss = where(near, 1 - cosine, 0.0) + where(far, clamp(cosine - margin, min=0.0), 0.0)
    return reduced(loss, reduction, "cosine_embedding_loss")


@in_float32
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) − d(anchor, negative) + margin) for the distance ‖a − b + ε‖ₚ;
    swap as of `triplet_margin_with_distance_loss`. Raises ShapeError for different numbers of
    dimensions.
    """
    anchor, positive, negative = as_tensor(anchor), as_tensor(positive), as_tensor(negative)
    _check_ndim("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    distance = lambda a, b: pairwise_distance(a, b, p, eps)
    loss = _triplets(anchor, positive, negative, distance, margin, swap)
    return reduced(loss, reduction, "triplet_margin_loss")


@in_float32
def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Any, Any], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) − d(anchor, negative) + margin) for any distance; with `swap` the
    negative's distance is the smaller of those from the anchor and from the positive.
    """
    distance = pairwise_distance if distance_function is None else distance_function
    loss = _triplets(anchor, positive, negative, distance, margin, swap)
    return reduced(loss, reduction, "triplet_margin_with_distance_loss")


def _check_ndim(function: str, **tensors: Tensor) -> None:
    """Raise ShapeError unless all have as many dimensions: broadcasting would pair each sample with
    each."""
    if len({t.ndim for t in tensors.values()}) > 1:
        shapes = ", ".join(f"{name} {tuple(t.shape)}" for name, t in tensors.items())
        raise ShapeError(f"{function}: all must have the same number of dimensions, got {shapes}.")


def _triplets(
    anchor: Any,
    positive: Any,
    negative: Any,
    distance: Callable[[Any, Any], Tensor],
    margin: float,
    swap: bool,
) -> Tensor:
    """The loss of each triplet."""
    if not margin > 0:
        raise ValueError(f"triplet margin loss: margin must be larger than 0, got {margin!r}.")
    far = distance(anchor, negative)
    if swap:
        far = functions.minimum(far, distance(positive, negative))
    return clamp(distance(anchor, positive) - far + margin, min=0.0)
