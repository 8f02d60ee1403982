"""Losses between numbers: of a distance, or of how improbable the target is under a normal or a
Poisson distribution.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from typing import Any

from ... import functions
from ...batching import all_examples
from ...core.tensor import Tensor, as_tensor, wrap
from ...errors import ShapeError
from ...functions import exp, where
from ...ops.elementwise import in_float32, select
from .reduction import check_real, pair, reduced

__all__ = [
    "gaussian_nll_loss", "huber_loss", "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss",
]  # fmt: skip


@in_float32
def mse_loss(input: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Tensor:
    """(x − t)², each times its weight; the mean is Σ weight · (x − t)² / Σ weight. Raises
    ShapeError unless all have one shape.
    """
    x, t = pair(input, target, "mse_loss")
    return _weighted_mean(functions.square(x - t), weight, reduction, "mse_loss")


@in_float32
def l1_loss(input: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Tensor:
    """|x − t|, each times its weight; the mean is Σ weight · |x − t| / Σ weight. Derivative 0 where
    x and t are equal. Raises ShapeError unless all have one shape.
    """
    x, t = pair(input, target, "l1_loss")
    return _weighted_mean(abs(x - t), weight, reduction, "l1_loss")


@in_float32
def _weighted_mean(loss: Tensor, weight: Any, reduction: str, function: str) -> Tensor:
    if weight is None:
        return reduced(loss, reduction, function)
    w = _weights(weight, loss, function)
    if reduction == "mean":
        return (loss * w).sum() / w.sum()
    return reduced(loss * w, reduction, function)


def _weights(weight: Any, loss: Tensor, function: str) -> Tensor:
    """The weight of each element. Raises ShapeError unless there are as many."""
    w = as_tensor(weight)
    if w.shape != loss.shape:
        raise ShapeError(
            f"{function}: weight must have the shape of input, {loss.shape}, got {w.shape}."
        )
    return w


@in_float32
def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """d² / 2β where |d| < β, |d| − β/2 elsewhere, for d = x − t."""
    x, t = pair(input, target, "smooth_l1_loss")
    check_real(beta, "smooth_l1_loss", "beta")
    functions.not_below("smooth_l1_loss", "beta", beta, 0)
    if beta == 0:
        return l1_loss(x, t, reduction)
    d = x - t
    size = abs(d)
    # the square of an infinite d would make the gradient NaN
    near = select(size, 0.0, d, test="ge", level=beta)
    loss = select(size, size - 0.5 * beta, 0.5 * near * near / beta, test="ge", level=beta)
    return reduced(loss, reduction, "smooth_l1_loss")


@in_float32
def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Tensor:
    """d² / 2 where |d| < δ, δ (|d| − δ/2) elsewhere, for d = x − t, each times its weight; the mean
    divides by their number, not by the sum of the weights (as PyTorch has it). Raises TypeError
    unless delta is real, ShapeError unless all have one shape.
    """
    x, t = pair(input, target, "huber_loss")
    check_real(delta, "huber_loss", "delta")
    if delta <= 0:
        raise ValueError(f"huber_loss: delta must be positive, got {delta}.")
    d = x - t
    size = abs(d)
    # the square of an infinite d would make the gradient NaN
    near = select(size, 0.0, d, test="ge", level=delta)
    loss = select(size, delta * (size - 0.5 * delta), 0.5 * near * near, test="ge", level=delta)
    if weight is not None:
        loss = loss * _weights(weight, loss, "huber_loss")
    return reduced(loss, reduction, "huber_loss")


@in_float32
def gaussian_nll_loss(
    input: Any,
    target: Any,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """½ (ln max(var, ε) + (x − t)² / max(var, ε)), with ½ ln 2π more if `full`; the bound ε has no
    derivative.

    var: a number, or a tensor of the shape of input, of that shape without its last dimension, or
    with 1 in the place of one of its sizes. Raises ShapeError for others and unless input and
    target have one shape, ValueError for a negative variance or an ε that is not positive.
    """
    x, t = pair(input, target, "gaussian_nll_loss")
    v = _variances(x, var)
    check_real(eps, "gaussian_nll_loss", "eps")
    if eps <= 0:
        raise ValueError(f"gaussian_nll_loss: eps must be positive, got {eps}.")
    if bool((wrap(all_examples(v.detach().array)) < 0).any()):
        raise ValueError(
            "gaussian_nll_loss: var has negative elements. A variance is the square of a standard"
            " deviation."
        )
    v = where(v.detach() < eps, v - v.detach() + eps, v)
    loss = 0.5 * (functions.log(v) + functions.square(x - t) / v)
    return reduced(
        loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction, "gaussian_nll_loss"
    )


def _variances(x: Tensor, var: Any) -> Tensor:
    """The variance of each element, in a shape that broadcasts to that of x."""
    if not isinstance(var, Tensor | int | float):
        var = as_tensor(var)
    if not isinstance(var, Tensor):
        return functions.full_like(x.detach(), var)
    if var.ndim == x.ndim:
        other = [n for n, whole in zip(var.shape, x.shape, strict=True) if n != whole]
        if other in ([], [1]):
            return var
    if x.ndim and var.shape == x.shape[:-1]:
        return var.unsqueeze(-1)
    raise ShapeError(
        f"gaussian_nll_loss: var of shape {var.shape} fits neither input {x.shape} nor its rows"
        f" {(*x.shape[:-1], 1)}, and is not that shape with a 1 in the place of one size."
    )


@in_float32
def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """−ln of the probability of the count t at the rate e^x (or x, unless `log_input`), without its
    constant ln t!, or, if `full`, with Stirling's approximation of it where t > 1. Raises
    ShapeError unless both have one shape.
    """
    x, t = pair(input, target, "poisson_nll_loss")
    loss = exp(x) - t * x if log_input else x - t * functions.log(x + eps)
    if full:
        many = t > 1
        n = where(many, t, 1)
        loss = loss + where(
            many, n * functions.log(n) - n + 0.5 * functions.log(2 * math.pi * n), 0.0
        )
    return reduced(loss, reduction, "poisson_nll_loss")
