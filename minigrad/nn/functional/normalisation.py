"""Normalisation: mean 0 and variance 1 over some of the axes, then a weight and a bias.

Batch and instance normalisation also keep running statistics, which they move while training and
use afterwards.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ... import backend, functions
from ...core.tensor import Tensor, as_tensor, write_payload
from ...errors import DTypeError, ShapeError
from ...ops import network, pooling
from ...ops.elementwise import in_float32
from ...ops.reduce import mean
from .arguments import as_shape, check_axes, on_axis

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm",
]  # fmt: skip


def _rounded_once(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function that computes float16 and bfloat16 in float32. The result has the input's dtype,
    whatever dtype weight, bias and running statistics have, as in PyTorch."""

    @functools.wraps(function)
    def run(input: Any, *args: Any, **settings: Any) -> Tensor:
        x = as_tensor(input)
        if not backend.is_narrow(x.dtype):
            return function(x, *args, **settings)
        return function(x.to(backend.float32), *args, **settings).to(x.dtype)

    return run


@_rounded_once
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """(x − mean) / √(var + ε) · weight + bias over the last axes, whose sizes are
    `normalized_shape`; biased variance.
    """
    x = as_tensor(input)
    axes = _last_axes(x, normalized_shape, "layer_norm")
    _check_sizes(x.shape[axes[0] :], "layer_norm", weight=weight, bias=bias)
    return _scaled(network.standardize(x, axes=axes, eps=eps), weight, bias)


@_rounded_once
def rms_norm(
    input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Tensor:
    """x / √(mean x² + ε) · weight over the last axes."""
    x = as_tensor(input)
    axes = _last_axes(x, normalized_shape, "rms_norm")
    _check_sizes(x.shape[axes[0] :], "rms_norm", weight=weight)
    if not backend.is_differentiable(x.dtype):
        raise DTypeError(f"rms_norm: needs a floating dtype, got {x.dtype}.")
    small = backend.precision(x.dtype) if eps is None else eps
    return _scaled(x * functions.rsqrt((x * x).mean(axes, keepdim=True) + small), weight, None)


def _last_axes(x: Tensor, normalized_shape: Any, function: str) -> tuple[int, ...]:
    """The axes of x whose sizes are `normalized_shape`."""
    shape = as_shape(normalized_shape)
    if not shape or x.shape[-len(shape) :] != shape:
        raise ShapeError(
            f"{function}: input of shape {x.shape} does not end in normalized_shape {shape}."
        )
    return tuple(range(x.ndim - len(shape), x.ndim))


@functions.in_own_memory
@_rounded_once
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """(N, C, …) normalised over each of `num_groups` groups of channels; weight and bias have one
    number a channel. Raises ValueError for one sample with one value a group: it would become 0."""
    x = as_tensor(input)
    if x.ndim < 2 or num_groups < 1 or x.shape[1] % num_groups:
        raise ShapeError(
            f"group_norm: the channels of input {x.shape} cannot be divided into {num_groups}"
            " groups."
        )
    _check_sizes(x.shape[1:2], "group_norm", weight=weight, bias=bias)
    if x.numel() == num_groups:
        raise ValueError(
            f"group_norm: needs more than one value a group, input {x.shape} has one. Use fewer"
            " groups, or a larger input."
        )
    grouped = x.reshape(x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups)
    return _by_channel(
        network.standardize(grouped, axes=(2,), eps=eps).reshape(x.shape), weight, bias
    )


@_rounded_once
def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(N, C, *S) normalised over the spatial axes of each sample and channel, or, without
    use_input_stats, by the running statistics.

    With use_input_stats the running ones move as those of `batch_norm`, by the means over the
    samples.
    """
    x = as_tensor(input)
    if x.ndim < 3:
        raise ShapeError(
            "instance_norm: needs a batch, channels and at least one more axis, got shape"
            f" {x.shape}."
        )
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    kept = {"running_mean": running_mean, "running_var": running_var}
    _check_sizes(x.shape[1:2], "instance_norm", weight=weight, bias=bias, **kept)
    axes = tuple(range(2, x.ndim))
    count = math.prod(x.shape[2:])
    if count <= 1:
        raise ValueError(
            f"instance_norm: needs more than one spatial element, input {x.shape} has {count}."
        )
    _follow(running_mean, running_var, x, axes, momentum)
    return _by_channel(network.standardize(x, axes=axes, eps=eps), weight, bias)


@_rounded_once
def batch_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(N, C, …) normalised over all axes but the channels'.

    training: by the batch's mean and biased variance, while running ← (1 − momentum) running +
    momentum · batch, with the unbiased variance; else by the running statistics, which are
    constants to the derivative. Raises ValueError when training with one value a channel, whose
    variance is not defined, and unless eps is positive there. An empty batch gives an empty result
    and moves nothing.
    """
    x = as_tensor(input)
    if x.ndim < 2:
        raise ShapeError(f"batch_norm: needs a batch and channels, got shape {x.shape}.")
    kept = {"running_mean": running_mean, "running_var": running_var}
    _check_sizes(x.shape[1:2], "batch_norm", weight=weight, bias=bias, **kept)
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("batch_norm: without training it needs running_mean and running_var.")
        centre, variance = on_axis(running_mean, 1, x.ndim), on_axis(running_var, 1, x.ndim)
        scale = functions.rsqrt(variance + eps)
        if weight is not None:
            scale = scale * on_axis(weight, 1, x.ndim)
        return _by_channel((x - centre) * scale, None, bias)
    if not eps > 0:
        raise ValueError(f"batch_norm: eps must be positive in training, got {eps}.")
    axes = (0, *range(2, x.ndim))
    count = math.prod(x.shape[a] for a in axes)
    if count == 1:
        raise ValueError(
            f"batch_norm: training needs more than one value a channel, input {x.shape} has one."
            " Use a larger batch, or eval()."
        )
    if count == 0:  # nothing to normalise, and nothing to learn the running statistics from
        return _by_channel(x * 1, weight, bias)
    _follow(running_mean, running_var, x, axes, momentum)
    return _by_channel(network.standardize(x, axes=axes, eps=eps), weight, bias)


@in_float32
def local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """x / (k + α · mean over `size` neighbouring channels of x²)^β."""
    x = as_tensor(input)
    check_axes(x, 2, "local_response_norm", "(N, C, …)")
    functions.not_below("local_response_norm", "size", size, 1)
    sums = pooling.sum_pool(
        x * x, axis=1, size=size, stride=1, dilation=1, padding=(size // 2, (size - 1) // 2)
    )
    return x / (k + alpha / size * sums) ** beta


def _check_sizes(shape: tuple[int, ...], function: str, **numbers: Any) -> None:
    """Raise ShapeError unless each of the tensors that are given has this shape."""
    for name, value in numbers.items():
        if value is not None and tuple(as_tensor(value).shape) != shape:
            raise ShapeError(
                f"{function}: {name} must have shape {shape}, got {tuple(as_tensor(value).shape)}."
            )


def _scaled(y: Tensor, weight: Any, bias: Any) -> Tensor:
    """y · weight + bias, each where it is given."""
    w, b = (v if v is None else as_tensor(v) for v in (weight, bias))
    if w is not None and b is not None:
        return network.scale_shift(y, w, b)
    return y * w if w is not None else y + b if b is not None else y


def _by_channel(y: Tensor, weight: Any, bias: Any) -> Tensor:
    """y · weight + bias with one number of each for each channel."""
    return _scaled(y, *(v if v is None else on_axis(v, 1, y.ndim) for v in (weight, bias)))


def _follow(
    running_mean: Any, running_var: Any, x: Tensor, axes: tuple[int, ...], momentum: float
) -> None:
    """running ← (1 − momentum) running + momentum · statistic, in its own memory: of the mean and
    of the unbiased variance over `axes`. Where those keep the samples apart, their statistics count
    by the mean over the samples.
    """
    for running, statistic in ((running_mean, _mean), (running_var, _variance)):
        if running is not None:
            own = statistic(x.detach(), axes)
            if 0 not in axes:
                own = mean(own, axes=(0,), keepdims=False)
            write_payload(running, ((1 - momentum) * running.detach() + momentum * own).array)


def _mean(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    return mean(x, axes=axes, keepdims=False)


@in_float32
def _variance(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The unbiased variance."""
    count = math.prod(x.shape[axis] for axis in axes)
    centred = x - mean(x, axes=axes, keepdims=True)
    variance = network.mean_of_product(centred, centred, axes) * (count / (count - 1))
    return variance.reshape([n for axis, n in enumerate(variance.shape) if axis not in axes])
