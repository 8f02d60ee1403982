"""The loss of sequences that are not aligned with their targets."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from typing import Any

from .. import backend, functions
from ..core.tensor import Tensor, as_tensor
from ..errors import DTypeError, ShapeError
from ..functions import arange, cat, clamp, logsumexp, stack, where
from ..nn.functional.reduction import reduced


# Long: a third of them are PyTorch's parameters and what they mean.
def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """−ln of the probability that a sequence of T draws, with repeats merged and blanks dropped, is
    the target.

    log_probs (T, N, C) or (T, C); targets (N, S), or all one after the other; lengths (N,). α[s] is
    the probability of all beginnings that end in place s of the target with blanks around each
    label; each step adds those that come from s, s − 1, and (past a blank between different labels)
    s − 2. "mean" divides each loss by its target's length first. zero_infinity: 0 where the target
    is too long.
    Source: Graves et al., Connectionist temporal classification (2006).
    """
    logs = as_tensor(log_probs)
    if logs.ndim == 2:
        time, size = (as_tensor(v).reshape(1) for v in (input_lengths, target_lengths))
        loss = ctc_loss(
            logs.unsqueeze(1),
            as_tensor(targets).reshape(1, -1),
            time,
            size,
            blank,
            reduction,
            zero_infinity,
        )
        return loss.reshape(())
    labels = as_tensor(targets)
    if logs.ndim != 3 or labels.dtype.kind not in "iu":
        raise DTypeError(
            f"ctc_loss: needs log_probs (T, N, C) and integer targets, got {logs.shape} and"
            f" {labels.dtype}."
        )
    steps, samples, _ = logs.shape
    times = _lengths("input_lengths", input_lengths, samples, steps)
    limit = labels.shape[1] if labels.ndim == 2 else labels.shape[0]
    sizes = _lengths("target_lengths", target_lengths, samples, limit)
    if labels.ndim == 1 and sum(sizes) != limit:
        raise ShapeError(
            f"ctc_loss: {limit} targets one after the other do not fit target_lengths {sizes},"
            f" whose sum is {sum(sizes)}."
        )
    places = _places(labels, sizes, blank)
    ended = _prefixes(logs, places, blank)
    each = arange(samples, device=logs.device).reshape(-1, 1)
    last = stack(ended)[
        functions.tensor(times, dtype=backend.int64, device=logs.device),
        arange(samples, device=logs.device),
    ]
    place = functions.tensor(sizes, dtype=backend.int64, device=logs.device).reshape(-1, 1) * 2
    ends = cat(
        [last[each, place], where(place > 0, last[each, clamp(place - 1, min=0)], -math.inf)], 1
    ).t()
    loss = -_log_sum(ends)
    if zero_infinity:
        loss = where(loss == math.inf, 0.0, loss)
    return reduced(
        (
            loss / clamp(functions.tensor(sizes, dtype=logs.dtype, device=logs.device), min=1.0)
            if reduction == "mean"
            else loss
        ),
        reduction,
        "ctc_loss",
    )


def _lengths(name: str, given: Any, samples: int, most: int) -> list[int]:
    """One length for each sample, as integers from 0 to `most`."""
    lengths = as_tensor(given)
    if lengths.dtype.kind not in "iu":
        raise DTypeError(f"ctc_loss: {name} must be integers, got {lengths.dtype}.")
    numbers: list[int] = lengths.reshape(-1).tolist()
    if len(numbers) != samples or not all(0 <= n <= most for n in numbers):
        raise ShapeError(
            f"ctc_loss: {name} must be {samples} lengths from 0 to {most}, got {numbers}."
        )
    return numbers


def _places(labels: Tensor, sizes: list[int], blank: int) -> Tensor:
    """Each target with a blank before, between and after its labels, filled up with blanks: (N,
    2 S + 1).
    """
    longest, samples = max(sizes, default=0), len(sizes)
    rows = []
    for i, n in enumerate(sizes):
        own = labels[i, :n] if labels.ndim == 2 else labels[sum(sizes[:i]) : sum(sizes[:i]) + n]
        fill = functions.full((longest - n,), blank, dtype=backend.int64, device=own.device)
        rows.append(cat([own.to(backend.int64), fill]))
    plain = stack(rows)  # (N, S)
    pairs = stack([functions.full_like(plain, blank), plain], 2).reshape(samples, -1)
    end = functions.full((samples, 1), blank, dtype=backend.int64, device=labels.device)
    return cat([pairs, end], 1)


def _prefixes(logs: Tensor, places: Tensor, blank: int) -> list[Tensor]:
    """ln α after 0, 1, …, T draws: (N, 2 S + 1) each."""
    steps, samples, _ = logs.shape
    jump = cat(
        [
            functions.zeros(samples, 2, dtype=backend.bool_, device=logs.device),
            (places[:, 2:] != blank) & (places[:, 2:] != places[:, :-2]),
        ],
        1,
    )[:, : places.shape[1]]
    never = functions.full((samples, 2), -math.inf, dtype=logs.dtype, device=logs.device)
    each = arange(samples, device=logs.device).reshape(-1, 1)
    scores = [logs[t][each, places] for t in range(steps)]
    number = arange(places.shape[1], device=logs.device)
    nothing = where(number == 0, 0.0, functions.full_like(number, -math.inf, dtype=logs.dtype))
    ended = [nothing.expand(samples, -1)]
    if not scores:
        return ended
    alpha = where(number < 2, scores[0], -math.inf)
    ended.append(alpha)
    for score in scores[1:]:
        one = cat([never[:, :1], alpha[:, :-1]], 1)
        two = cat([never, alpha[:, :-2]], 1)[:, : alpha.shape[1]]
        alpha = _log_sum(stack([alpha, one, where(jump, two, -math.inf)])) + score
        ended.append(alpha)
    return ended


def _log_sum(x: Tensor) -> Tensor:
    """ln Σ e^x along the first axis; −∞ with derivative 0 where all are −∞."""
    none = (x.detach() == -math.inf).all(0)
    return where(none, -math.inf, logsumexp(where(none, 0.0, x), 0))
