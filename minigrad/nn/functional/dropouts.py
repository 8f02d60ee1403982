"""Dropout: elements or whole channels that are 0 by chance while training."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import functions
from ...batching import per_example
from ...core.tensor import Tensor, as_tensor
from ...functions import where
from ...ops import random
from .activations import SELU_ALPHA, SELU_SCALE
from .arguments import placed

__all__ = [
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
]  # fmt: skip


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element 0 with probability p, else divided by 1 − p (so the mean stays); x itself
    when not training.
    """
    return placed(
        _dropped(as_tensor(input), p, training, lambda x: x, "dropout"), input, inplace, "dropout"
    )


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels 0 with probability p: input (N, C, L) or (C, L)."""
    return placed(
        _dropped(as_tensor(input), p, training, lambda x: x[..., :1], "dropout1d"),
        input,
        inplace,
        "dropout1d",
    )


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels 0 with probability p: input (N, C, H, W) or (C, H, W)."""
    return placed(
        _dropped(as_tensor(input), p, training, lambda x: x[..., :1, :1], "dropout2d"),
        input,
        inplace,
        "dropout2d",
    )


def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels 0 with probability p: input (N, C, D, H, W) or (C, D, H, W)."""
    return placed(
        _dropped(as_tensor(input), p, training, lambda x: x[..., :1, :1, :1], "dropout3d"),
        input,
        inplace,
        "dropout3d",
    )


def alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Each element −αγ (to which selu falls) with probability p, then all scaled and moved so that
    mean 0 and variance 1 stay.

    Source: Klambauer et al., Self-normalizing neural networks (2017).
    """
    return placed(
        _alpha_dropped(as_tensor(input), p, training, lambda x: x, "alpha_dropout"),
        input,
        inplace,
        "alpha_dropout",
    )


def feature_alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels: input (N, C, …)."""
    first: Callable[[Tensor], Tensor] = lambda x: x[
        (slice(None), slice(None), *(slice(0, 1),) * (x.ndim - 2))
    ]
    return placed(
        _alpha_dropped(as_tensor(input), p, training, first, "feature_alpha_dropout"),
        input,
        inplace,
        "feature_alpha_dropout",
    )


def _dropped(
    x: Tensor, p: float, training: bool, part: Callable[[Tensor], Tensor], function: str
) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"{function}: p is a probability, got {p}.")
    return x * random.dropout_mask(part(per_example(x.detach())), p=p) if training and p > 0 else x


def _alpha_dropped(
    x: Tensor, p: float, training: bool, part: Callable[[Tensor], Tensor], function: str
) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"{function}: p is a probability, got {p}.")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0.0
    kept = _dropped(functions.ones_like(x), p, True, part, function) != 0
    floor = -SELU_ALPHA * SELU_SCALE
    scale = ((1 - p) * (1 + p * floor**2)) ** -0.5
    return where(kept, x, floor) * scale - scale * p * floor
