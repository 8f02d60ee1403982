"""What all losses share: the reduction of one number for each element to one for all, and
operands of one shape.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError


def reduced(loss: Tensor, reduction: str, function: str) -> Tensor:
    """The mean, the sum, or the loss itself. Raises ValueError for another word."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f'{function}: reduction must be "mean", "sum" or "none", got {reduction!r}.')


def pair(input: Any, target: Any, function: str) -> tuple[Tensor, Tensor]:
    """Both as tensors. Raises ShapeError unless they have one shape."""
    x, t = as_tensor(input), as_tensor(target)
    if x.shape != t.shape:
        raise ShapeError(
            f"{function}: input of shape {x.shape} and target of shape {t.shape} must have the same"
            " shape."
        )
    return x, t


def check_real(number: Any, function: str, name: str) -> None:
    """Raise TypeError unless this setting is a real number, or a tensor."""
    if not isinstance(number, Real | Tensor):
        raise TypeError(f"{function}: {name} must be a real number, got {number!r}.")
