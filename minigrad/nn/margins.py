"""Losses that ask for a distance, between classes, between samples, or of a count from its rate; and the loss of unaligned sequences."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import backend, functions
from ..errors import DTypeError, ShapeError
from ..functions import arange, cat, clamp, exp, logsumexp, softplus, stack, where
from ..tensor import Tensor, as_tensor
from .distances import pairwise_distance
from .reduction import pair, reduced

# ------------------------------------------------------------------------------------------------------------ of classes


def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """ln(1 + e^(−t x)) for targets t of −1 and 1."""
    x, t = pair(input, target, "soft_margin_loss")
    return reduced(softplus(-t * x), reduction, "soft_margin_loss")


def multi_margin_loss(input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean") -> Tensor:
    """Σ max(0, margin − x[t] + x[c])ᵖ over the classes c ≠ t, divided by their number: x (N, C) or (C,), t class indices (N,) or ()."""
    x, t = as_tensor(input), as_tensor(target)
    if x.ndim < 2:
        return multi_margin_loss(x.reshape(1, -1), t.reshape(1), p, margin, weight, "mean" if reduction == "none" else reduction)
    if x.ndim != 2 or t.shape != x.shape[:1] or t.dtype.kind not in "iu":
        raise ShapeError(f"multi_margin_loss: needs input (N, C) and integers (N,), got {x.shape} and {t.dtype} {t.shape}.")
    right = t.unsqueeze(1) == arange(x.shape[1], device=x.device)
    own = x[arange(x.shape[0], device=x.device), t].unsqueeze(1)
    loss = clamp(margin - own + x, min=0.0) ** p
    loss = where(right, 0.0, loss if weight is None else loss * as_tensor(weight)[t].unsqueeze(1))
    return reduced(loss.sum(1) / x.shape[1], reduction, "multi_margin_loss")


def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Σ max(0, 1 − x[t] + x[c]) over the target classes t of a row (those before its first −1) and all other classes c, divided by the
    number of classes: x and t (N, C) or (C,).
    """
    x, t = pair(input, target, "multilabel_margin_loss")
    rows, labels = (v.reshape(-1, v.shape[-1] if v.ndim else 1) for v in (x, t))
    listed = (labels < 0).to(backend.int64).cumsum(1) == 0
    index = where(listed, labels, 0)
    own = ((index.unsqueeze(2) == arange(rows.shape[1], device=rows.device)) & listed.unsqueeze(2)).any(1)
    gap = 1 - rows[arange(rows.shape[0], device=rows.device).reshape(-1, 1), index].unsqueeze(2) + rows.unsqueeze(1)
    counts = listed.unsqueeze(2) & ~own.unsqueeze(1)
    loss = where(counts, clamp(gap, min=0.0), 0.0).sum((1, 2)) / rows.shape[1]
    return reduced(loss if x.ndim > 1 else loss[0], reduction, "multilabel_margin_loss")


def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """The mean over the classes of the cross entropies of σ(x) and t: x and t (…, C)."""
    x, t = pair(input, target, "multilabel_soft_margin_loss")
    loss = t * softplus(-x) + (1 - t) * softplus(x)
    return reduced((loss if weight is None else loss * weight).mean(-1), reduction, "multilabel_soft_margin_loss")


# ------------------------------------------------------------------------------------------------------------ of samples


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """1 − cos where t = 1, max(0, cos − margin) where t = −1, for the cosine of the angle between the last axes."""
    a, b, t = as_tensor(input1), as_tensor(input2), as_tensor(target)
    small = 1e-12
    cosine = (a * b).sum(-1) / functions.sqrt(((a * a).sum(-1) + small) * ((b * b).sum(-1) + small))
    loss = where(t == 1, 1 - cosine, 0.0) + where(t == -1, clamp(cosine - margin, min=0.0), 0.0)
    return reduced(loss, reduction, "cosine_embedding_loss")


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
    """max(0, d(anchor, positive) − d(anchor, negative) + margin) for the distance ‖a − b + ε‖ₚ; swap: see the next function."""
    distance = lambda a, b: pairwise_distance(a, b, p, eps)
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=distance, margin=margin, swap=swap, reduction=reduction
    )


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
    """max(0, d(anchor, positive) − d(anchor, negative) + margin) for any distance; with `swap` the negative's distance is the smaller of
    those from the anchor and from the positive.
    """
    distance = pairwise_distance if distance_function is None else distance_function
    far = distance(anchor, negative)
    if swap:
        far = functions.minimum(far, distance(positive, negative))
    return reduced(clamp(distance(anchor, positive) - far + margin, min=0.0), reduction, "triplet_margin_loss")


# ------------------------------------------------------------------------------------------------------------ of counts and sequences


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
) -> Tensor:
    """−ln of the probability of the count t at the rate e^x (or x, unless `log_input`), without its constant ln t!, or, if `full`, with
    Stirling's approximation of it where t > 1.
    """
    x, t = as_tensor(input), as_tensor(target)
    loss = exp(x) - t * x if log_input else x - t * functions.log(x + eps)
    if full:
        many = t > 1
        n = where(many, t, 1)
        loss = loss + where(many, n * functions.log(n) - n + 0.5 * functions.log(2 * math.pi * n), 0.0)
    return reduced(loss, reduction, "poisson_nll_loss")


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """−ln of the probability that a sequence of T draws, with repeats merged and blanks dropped, is the target.

    log_probs (T, N, C) or (T, C); targets (N, S), or all one after the other; lengths (N,). α[s] is the probability of all beginnings
    that end in place s of the target with blanks around each label; each step adds those that come from s, s − 1, and (past a blank
    between different labels) s − 2. "mean" divides each loss by its target's length first. zero_infinity: 0 where the target is too long.
    Source: Graves et al., Connectionist temporal classification (2006).
    """
    logs = as_tensor(log_probs)
    if logs.ndim == 2:
        time, size = (as_tensor(v).reshape(1) for v in (input_lengths, target_lengths))
        loss = ctc_loss(logs.unsqueeze(1), as_tensor(targets).reshape(1, -1), time, size, blank, reduction, zero_infinity)
        return loss.reshape(())
    labels = as_tensor(targets)
    if logs.ndim != 3 or labels.dtype.kind not in "iu":
        raise DTypeError(f"ctc_loss: needs log_probs (T, N, C) and integer targets, got {logs.shape} and {labels.dtype}.")
    steps, samples, _ = logs.shape
    times, sizes = ([int(n) for n in as_tensor(v).reshape(-1).tolist()] for v in (input_lengths, target_lengths))
    if len(times) != samples or len(sizes) != samples or max(times, default=0) > steps:
        raise ShapeError(f"ctc_loss: needs {samples} lengths, those of inputs at most {steps}; got {times} and {sizes}.")
    longest = max(sizes, default=0)
    rows = []
    for i, n in enumerate(sizes):
        own = labels[i, :n] if labels.ndim == 2 else labels[sum(sizes[:i]) : sum(sizes[:i]) + n]
        rows.append(cat([own.to(backend.int64), functions.full((longest - n,), blank, dtype=backend.int64, device=own.device)]))
    plain = stack(rows)  # (N, S), filled up with blanks
    places = stack([functions.full_like(plain, blank), plain], 2).reshape(samples, -1)
    places = cat(
        [places, functions.full((samples, 1), blank, dtype=backend.int64, device=logs.device)], 1
    )  # blank, label, blank, label, … blank
    jump = cat(
        [
            functions.zeros(samples, 2, dtype=backend.bool_, device=logs.device),
            (places[:, 2:] != blank) & (places[:, 2:] != places[:, :-2]),
        ],
        1,
    )
    never = functions.full((samples, 2), -math.inf, dtype=logs.dtype, device=logs.device)
    each = arange(samples, device=logs.device).reshape(-1, 1)
    scores = [logs[t][each, places] for t in range(steps)]
    alpha = where(arange(places.shape[1], device=logs.device) < 2, scores[0], -math.inf)
    ended = [alpha]
    for score in scores[1:]:
        one, two = cat([never[:, :1], alpha[:, :-1]], 1), cat([never, alpha[:, :-2]], 1)[:, : alpha.shape[1]]
        alpha = _log_sum(stack([alpha, one, where(jump, two, -math.inf)])) + score
        ended.append(alpha)
    last = stack(ended)[
        functions.tensor([t - 1 for t in times], dtype=backend.int64, device=logs.device), arange(samples, device=logs.device)
    ]
    place = functions.tensor(sizes, dtype=backend.int64, device=logs.device).reshape(-1, 1) * 2
    ends = cat([last[each, place], where(place > 0, last[each, clamp(place - 1, min=0)], -math.inf)], 1).t()
    loss = -_log_sum(ends)
    if zero_infinity:
        loss = where(loss == math.inf, 0.0, loss)
    return reduced(
        loss / clamp(functions.tensor(sizes, dtype=logs.dtype, device=logs.device), min=1.0) if reduction == "mean" else loss,
        reduction,
        "ctc_loss",
    )


def _log_sum(x: Tensor) -> Tensor:
    """ln Σ e^x along the first axis; −∞ with derivative 0 where all are −∞."""
    none = (x.detach() == -math.inf).all(0)
    return where(none, -math.inf, logsumexp(where(none, 0.0, x), 0))
