"""Dropout: elements or whole channels that are 0 by chance while training."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import functions
from ...batching import per_example
from ...core.tensor import Tensor
from ...errors import ShapeError
from ...functions import where
from ...ops import random
from .activations import SELU_ALPHA, SELU_SCALE
from .arguments import check_axes, with_inplace

__all__ = [
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
]  # fmt: skip


@with_inplace
def dropout(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """Each element 0 with probability p, else divided by 1 − p (so the mean stays); x itself
    when not training.
    """
    return _dropped(input, p, training, lambda x: x, "dropout")


@with_inplace
def dropout1d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels 0 with probability p: input (N, C, L) or (C, L), else ShapeError."""
    if input.ndim not in (2, 3):
        raise ShapeError(
            f"dropout1d: input must be (N, C, L) or (C, L), got shape {input.shape}. dropout2d and"
            " dropout3d take images and volumes."
        )
    part = _first_of_channels(input.ndim - 1, "dropout1d")
    return _dropped(input, p, training, part, "dropout1d")


@with_inplace
def dropout2d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels 0 with probability p: input (N, C, H, W) or any other (N, C, …).

    As in PyTorch, an input of three axes is (N, C, L), not one image. Raises ShapeError for fewer
    than two axes.
    """
    return _dropped(input, p, training, _first_of_channels(2, "dropout2d"), "dropout2d")


@with_inplace
def dropout3d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels 0 with probability p: input (N, C, D, H, W), or one example (C, …)."""
    part = _first_of_channels(2 if input.ndim == 5 else 1, "dropout3d")
    return _dropped(input, p, training, part, "dropout3d")


@with_inplace
def alpha_dropout(input: Any, p: float = 0.5, training: bool = False) -> Tensor:
    """Each element −αγ (to which selu falls) with probability p, then all scaled and moved so that
    mean 0 and variance 1 stay.

    Source: Klambauer et al., Self-normalizing neural networks (2017).
    """
    return _alpha_dropped(input, p, training, lambda x: x, "alpha_dropout")


@with_inplace
def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels: input (N, C, …). Raises ShapeError for fewer than two
    axes."""
    part = _first_of_channels(2, "feature_alpha_dropout")
    return _alpha_dropped(input, p, training, part, "feature_alpha_dropout")


def _first_of_channels(axes: int, function: str) -> Callable[[Tensor], Tensor]:
    """What picks one element of each channel; the channels are the first `axes` axes."""

    def part(x: Tensor) -> Tensor:
        check_axes(x, axes, function, "(N, C, …)" if axes == 2 else "(C, …)")
        return x[(..., *(slice(0, 1),) * (x.ndim - axes))]

    return part


def _dropped(
    x: Tensor, p: float, training: bool, part: Callable[[Tensor], Tensor], function: str
) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"{function}: p is a probability, got {p}.")
    return x * random.dropout_mask(part(per_example(x.detach())), p=p) if training and p > 0 else x


def _alpha_dropped(
    x: Tensor, p: float, training: bool, part: Callable[[Tensor], Tensor], function: str
) -> Tensor:
    if not (training and 0 < p < 1):
        return _dropped(x, p, training, part, function)
    kept = _dropped(functions.ones_like(x), p, True, part, function) != 0
    floor = -SELU_ALPHA * SELU_SCALE
    scale = ((1 - p) * (1 + p * floor**2)) ** -0.5
    return where(kept, x, floor) * scale - scale * p * floor
