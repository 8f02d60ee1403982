"""The functions of neural networks, with PyTorch's names, arguments and conventions (`torch.nn.functional`).

Most are one line of mathematics in the library's own operations, so their derivatives of every order follow. What needs more care for
accuracy or speed (softmax,
normalisation, convolution, pooling) is declared in ops/network.py and ops/windows.py. At kinks each takes the derivative that PyTorch
takes.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import backend, functions
from ..batching import per_example
from ..errors import DTypeError, ShapeError
from ..functions import arange, axis_of, cat, clamp, exp, expm1, logsumexp, matmul, sqrt, stack, where
from ..functions import log_softmax as _log_softmax
from ..functions import softmax as _softmax
from ..ops import network, windows
from ..ops.index import unwindow
from ..ops.shape import pad_axis
from ..tensor import Tensor, as_tensor, overwrite_payload

network.draw = lambda shape: functions._generator.random(shape)

# ------------------------------------------------------------------------------------------------------------- activations

relu, sigmoid, tanh = functions.relu, functions.sigmoid, functions.tanh


def softmax(input: Any, dim: int = -1, *, dtype: Any = None) -> Tensor:
    """e^x / Σ e^x along `dim`; same shape; no overflow."""
    return _softmax(input, dim, dtype=dtype)


def log_softmax(input: Any, dim: int = -1, *, dtype: Any = None) -> Tensor:
    """ln softmax(x) along `dim`, accurate where softmax rounds to 0."""
    return _log_softmax(input, dim, dtype=dtype)


def softmin(input: Any, dim: int = -1) -> Tensor:
    """softmax of −x."""
    return softmax(-as_tensor(input), dim)


def relu6(input: Any) -> Tensor:
    """x limited to [0, 6]; derivative 0 at both corners."""
    return hardtanh(input, 0.0, 6.0)


def leaky_relu(input: Any, negative_slope: float = 0.01) -> Tensor:
    """x where positive, negative_slope · x elsewhere."""
    x = as_tensor(input)
    return where(x > 0, x, x * negative_slope)


def prelu(input: Any, weight: Any) -> Tensor:
    """x where positive, weight · x elsewhere; weight holds one slope, or one for each channel (axis 1)."""
    x, slope = as_tensor(input), as_tensor(weight)
    if slope.numel() != 1:
        if x.ndim < 2 or slope.numel() != x.shape[1]:
            raise ShapeError(f"prelu: weight of shape {slope.shape} has not one slope for each channel of input {x.shape}.")
        slope = slope.reshape(-1, *(1,) * (x.ndim - 2))
    return where(x > 0, x, x * slope)


def elu(input: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, α (e^x − 1) elsewhere."""
    x = as_tensor(input)
    return where(x > 0, x, alpha * expm1(clamp(x, max=0.0)))


def selu(input: Any) -> Tensor:
    """γ elu(x, α) with the two constants of Klambauer et al. 2017, which keep mean 0 and variance 1 through layers."""
    return 1.0507009873554804934193349852946 * elu(input, 1.6732632423543772848170429916717)


def celu(input: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, α (e^(x/α) − 1) elsewhere."""
    x = as_tensor(input)
    return where(x > 0, x, alpha * expm1(clamp(x, max=0.0) / alpha))


def gelu(input: Any, approximate: str = "none") -> Tensor:
    """x Φ(x) with the normal distribution function Φ; approximate="tanh" uses Hendrycks & Gimpel's formula."""
    x = as_tensor(input)
    if approximate == "tanh":
        return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    if approximate != "none":
        raise ValueError(f'gelu: approximate must be "none" or "tanh", got {approximate!r}.')
    return 0.5 * x * (1 + functions.erf(x * math.sqrt(0.5)))


def silu(input: Any) -> Tensor:
    """x σ(x), also known as swish."""
    x = as_tensor(input)
    return x * sigmoid(x)


def mish(input: Any) -> Tensor:
    """x tanh(softplus(x))."""
    x = as_tensor(input)
    return x * tanh(functions.softplus(x))


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """ln(1 + e^(βx)) / β, and x itself where βx > threshold."""
    x = as_tensor(input)
    scaled = x * beta if beta != 1 else x
    smooth = functions.softplus(scaled)
    return where(scaled > threshold, x, smooth / beta if beta != 1 else smooth)


def logsigmoid(input: Any) -> Tensor:
    """ln σ(x), without overflow."""
    return -functions.softplus(-as_tensor(input))


def softsign(input: Any) -> Tensor:
    """x / (1 + |x|)."""
    x = as_tensor(input)
    return x / (1 + abs(x))


def tanhshrink(input: Any) -> Tensor:
    """x − tanh x."""
    x = as_tensor(input)
    return x - tanh(x)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x limited to [min_val, max_val]; derivative 0 at both corners (unlike clamp's)."""
    x = as_tensor(input)
    return where(x <= min_val, min_val, where(x >= max_val, max_val, x))


def hardsigmoid(input: Any) -> Tensor:
    """x / 6 + 1/2 limited to [0, 1]; derivative 0 at both corners."""
    x = as_tensor(input)
    return where(x <= -3, 0.0, where(x >= 3, 1.0, x / 6 + 0.5))


def hardswish(input: Any) -> Tensor:
    """x hardsigmoid(x)."""
    x = as_tensor(input)
    return where(x <= -3, 0.0, where(x >= 3, x, x * (x + 3) / 6))


def softshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """x moved by lambd towards 0, and 0 within lambd of it."""
    x = as_tensor(input)
    if lambd < 0:
        raise ValueError(f"softshrink: lambd must be at least 0, got {lambd}.")
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0.0))


def hardshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """x, and 0 within lambd of 0."""
    x = as_tensor(input)
    return where((x >= -lambd) & (x <= lambd), 0.0, x)


def threshold(input: Any, threshold: float, value: float) -> Tensor:
    """x where it is above `threshold`, `value` elsewhere."""
    x = as_tensor(input)
    return where(x <= threshold, value, x)


def glu(input: Any, dim: int = -1) -> Tensor:
    """The first half of `dim` times σ of the second half."""
    x = as_tensor(input)
    axis = axis_of(x.ndim, dim, "glu")
    if x.shape[axis] % 2:
        raise ShapeError(f"glu: dimension {dim} of shape {x.shape} has an odd size and cannot be halved.")
    half = x.shape[axis] // 2
    return _span(x, axis, 0, half) * sigmoid(_span(x, axis, half, 2 * half))


def _span(x: Tensor, axis: int, start: int, stop: int, step: int = 1) -> Tensor:
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


# --------------------------------------------------------------------------------------------- linear maps, embedding, dropout


def linear(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """x Wᵀ + b: input (…, inputs), weight (outputs, inputs), bias (outputs,): (…, outputs). Raises ShapeError where sizes differ."""
    x, w = as_tensor(input), as_tensor(weight)
    if x.ndim == 0 or w.ndim not in (1, 2) or x.shape[-1] != w.shape[-1]:
        raise ShapeError(f"linear: input of shape {x.shape} does not fit weight of shape {w.shape}; the last sizes must be equal.")
    if w.ndim == 1 or x.ndim == 1 or bias is None:
        y = matmul(x, w.t())
        return y if bias is None else y + bias
    b = as_tensor(bias)
    if b.shape not in ((w.shape[0],), (1,), ()):
        raise ShapeError(f"linear: bias of shape {b.shape} does not fit weight of shape {w.shape}.")
    return network.affine(x, w, b)


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """y[…, o] = x1ᵀ W[o] x2 + b[o]: weight (outputs, inputs1, inputs2)."""
    a, b, w = as_tensor(input1), as_tensor(input2), as_tensor(weight)
    left = matmul(a.reshape(*a.shape[:-1], 1, 1, a.shape[-1]), w)  # (…, outputs, 1, inputs2)
    y = (left.squeeze(-2) * b.reshape(*b.shape[:-1], 1, b.shape[-1])).sum(-1)
    return y if bias is None else y + bias


def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Tensor:
    """Rows of `weight` (count, width) chosen by integers: (*input.shape, width). The row padding_idx gets no gradient. Raises
    IndexError out of range.
    """
    index, w = as_tensor(input), as_tensor(weight)
    if index.dtype.kind not in "iu":
        raise DTypeError(f"embedding: indices must be integers, got {index.dtype}.")
    _check_range(index, w.shape[0], "embedding", "index")
    if padding_idx is None:
        return w[index]
    if not -w.shape[0] <= padding_idx < w.shape[0]:
        raise IndexError(f"embedding: padding_idx {padding_idx} is not a row of weight {w.shape}.")
    blank = (index == padding_idx % w.shape[0]).unsqueeze(-1)
    return where(blank, w.detach()[index], w[index])


def _check_range(index: Tensor, count: int, function: str, what: str) -> None:
    if hasattr(type(index.array), "__minigrad_apply__") or index.numel() == 0:  # a batched value has no one answer
        return
    low, high = int(index.array.min()), int(index.array.max())
    if low < 0 or high >= count:
        raise IndexError(f"{function}: {what} {low if low < 0 else high} is out of range; there are {count}, numbered from 0.")


def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """(…,) integers as (…, num_classes) rows of one 1 and zeros (int64); num_classes −1 means the largest plus one. No derivative."""
    index = as_tensor(tensor)
    if index.dtype.kind not in "iu":
        raise DTypeError(f"one_hot: needs integers, got {index.dtype}.")
    if num_classes < 0:
        if index.numel() == 0:
            raise ValueError("one_hot: give num_classes, there is no largest index among none.")
        num_classes = int(index.array.max()) + 1
    _check_range(index, num_classes, "one_hot", "class")
    return (index.unsqueeze(-1) == arange(num_classes)).to(backend.int64)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element 0 with probability p, else divided by 1 − p (so the mean stays); x itself when not training."""
    return _dropped(as_tensor(input), p, training, lambda x: x)


def dropout1d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels 0 with probability p: input (N, C, L) or (C, L)."""
    return _dropped(as_tensor(input), p, training, lambda x: x[..., :1])


def dropout2d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels 0 with probability p: input (N, C, H, W) or (C, H, W)."""
    return _dropped(as_tensor(input), p, training, lambda x: x[..., :1, :1])


def _dropped(x: Tensor, p: float, training: bool, part: Callable[[Tensor], Tensor]) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p is a probability, got {p}.")
    return x * network.dropout_mask(part(per_example(x.detach())), p=p) if training and p > 0 else x


# ------------------------------------------------------------------------------------------------------------ normalisation


def _scaled(y: Tensor, weight: Any, bias: Any, shape: Sequence[int] | None = None) -> Tensor:
    """y · weight + bias, both reshaped first if a shape is given."""
    if weight is not None:
        y = y * (as_tensor(weight) if shape is None else as_tensor(weight).reshape(*shape))
    return y if bias is None else y + (as_tensor(bias) if shape is None else as_tensor(bias).reshape(*shape))


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """(x − mean) / √(var + ε) · weight + bias over the last axes, whose sizes are `normalized_shape`; biased variance."""
    x = as_tensor(input)
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or x.shape[-len(shape) :] != shape:
        raise ShapeError(f"layer_norm: input of shape {x.shape} does not end in normalized_shape {shape}.")
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    return _scaled(network.standardize(x, axes=axes, eps=eps), weight, bias)


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Tensor:
    """x / √(mean x² + ε) · weight over the last axes."""
    x = as_tensor(input)
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or x.shape[-len(shape) :] != shape:
        raise ShapeError(f"rms_norm: input of shape {x.shape} does not end in normalized_shape {shape}.")
    small = {2: 2.0**-10, 4: 2.0**-23, 8: 2.0**-52}[x.dtype.itemsize] if eps is None else eps
    return _scaled(x * functions.rsqrt((x * x).mean(tuple(range(-len(shape), 0)), keepdim=True) + small), weight, None)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """(N, C, …) normalised over each of `num_groups` groups of channels; weight and bias have one number a channel."""
    x = as_tensor(input)
    if x.ndim < 2 or x.shape[1] % num_groups:
        raise ShapeError(f"group_norm: the channels of input {x.shape} cannot be divided into {num_groups} groups.")
    grouped = x.reshape(x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups)
    return _scaled(network.standardize(grouped, axes=(2,), eps=eps).reshape(x.shape), weight, bias, (-1, *(1,) * (x.ndim - 2)))


def instance_norm(input: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """(N, C, *S) normalised over the spatial axes of each sample and channel."""
    x = as_tensor(input)
    return _scaled(network.standardize(x, axes=tuple(range(2, x.ndim)), eps=eps), weight, bias, (-1, *(1,) * (x.ndim - 2)))


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

    training: by the batch's mean and biased variance, while running ← (1 − momentum) running + momentum · batch, with the unbiased
    variance; else by the running
    statistics, which are constants to the derivative. Raises ValueError when training with one value a channel, whose variance is not
    defined.
    """
    x = as_tensor(input)
    if x.ndim < 2:
        raise ShapeError(f"batch_norm: needs a batch and channels, got shape {x.shape}.")
    shape = (-1, *(1,) * (x.ndim - 2))
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("batch_norm: without training it needs running_mean and running_var.")
        mean, variance = as_tensor(running_mean).reshape(*shape), as_tensor(running_var).reshape(*shape)
        scale = functions.rsqrt(variance + eps)
        if weight is not None:
            scale = scale * as_tensor(weight).reshape(*shape)
        return _scaled((x - mean) * scale, None, bias, shape)
    axes = (0, *range(2, x.ndim))
    count = math.prod(x.shape[a] for a in axes)
    if count <= 1:
        raise ValueError(
            f"batch_norm: training needs more than one value a channel, input {x.shape} has {count}. Use a larger batch, or eval()."
        )
    for running, statistic in ((running_mean, _mean_of), (running_var, _variance_of)):
        if running is not None:
            overwrite_payload(running, (1 - momentum) * running.array + momentum * statistic(x.array, axes, count))
    return _scaled(network.standardize(x, axes=axes, eps=eps), weight, bias, shape)


def _mean_of(x: Any, axes: tuple[int, ...], count: int) -> Any:
    return x.mean(axis=axes)


def _variance_of(x: Any, axes: tuple[int, ...], count: int) -> Any:
    """The unbiased variance."""
    centred = x - x.mean(axis=axes, keepdims=True)
    return (centred * centred).sum(axis=axes) / (count - 1)


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + α · mean over `size` neighbouring channels of x²)^β."""
    x = as_tensor(input)
    sums = windows.window_sum(x * x, axis=1, size=size, stride=1, dilation=1, padding=(size // 2, (size - 1) // 2))
    return x / (k + alpha / size * sums) ** beta


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x / max(‖x‖ₚ, ε) along `dim`."""
    x = as_tensor(input)
    return x / clamp(_norm(x, p, dim), min=eps)


def _norm(x: Tensor, p: float, dim: int) -> Tensor:
    """‖x‖ₚ along `dim`, which is kept; derivative 0 where it is 0."""
    if p == math.inf:
        return abs(x).amax(dim, keepdim=True)
    total = (x * x if p == 2 else abs(x) ** p).sum(dim, keepdim=True)
    if p == 1:
        return total
    zero = total == 0
    safe = where(zero, 1.0, total)
    return where(zero, 0.0, sqrt(safe) if p == 2 else safe ** (1 / p))


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (max(‖x1‖, ε) max(‖x2‖, ε)) along `dim`."""
    return (normalize(x1, 2.0, dim, eps) * normalize(x2, 2.0, dim, eps)).sum(dim)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """‖x1 − x2 + ε‖ₚ along the last axis."""
    distance = _norm(as_tensor(x1) - x2 + eps, p, -1)
    return distance if keepdim else distance.squeeze(-1)


# -------------------------------------------------------------------------------------------------------------- convolution


def _each(value: Any, count: int, function: str, name: str, least: int = 0) -> tuple[int, ...]:
    """A number or a sequence as one int for each axis."""
    numbers = (value,) * count if isinstance(value, int) else tuple(int(v) for v in value)
    if len(numbers) == 1:
        numbers *= count
    if len(numbers) != count:
        raise ValueError(f"{function}: {name} must be one number or {count}, got {value!r}.")
    if any(n < least for n in numbers):
        raise ValueError(f"{function}: {name} must be at least {least}, got {value!r}.")
    return numbers


def _pairs(
    padding: Any, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], function: str
) -> tuple[tuple[int, int], ...]:
    """`padding` (a number, one an axis, "same", "valid") as zeros before and after each axis."""
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding == "same":
        if any(s != 1 for s in stride):
            raise ValueError(f'{function}: padding="same" needs stride 1, got {tuple(stride)}.')
        totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return tuple((t // 2, t - t // 2) for t in totals)
    if isinstance(padding, str):
        raise ValueError(f'{function}: padding must be numbers, "same" or "valid", got {padding!r}.')
    return tuple((p, p) for p in _each(padding, len(kernel), function, "padding"))


def _convolution(x: Any, w: Any, b: Any, stride: Any, padding: Any, dilation: Any, groups: int, axes: int) -> Tensor:
    function, x, w = f"conv{axes}d", as_tensor(x), as_tensor(w)
    if x.ndim == axes + 1:
        return _convolution(x.unsqueeze(0), w, b, stride, padding, dilation, groups, axes).squeeze(0)
    if x.ndim != axes + 2 or w.ndim != axes + 2:
        raise ShapeError(
            f"{function}: input must have {axes + 2} dimensions (N, C, …) and weight as many, got shapes {x.shape} and {w.shape}."
        )
    if groups < 1 or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ShapeError(
            f"{function}: input of shape {x.shape} has {x.shape[1]} channels; weight of shape {w.shape} in {groups} groups "
            f"needs {w.shape[1] * groups} "
            f"and a number of outputs that {groups} divides."
        )
    steps, holes = _each(stride, axes, function, "stride", 1), _each(dilation, axes, function, "dilation", 1)
    around = _pairs(padding, w.shape[2:], steps, holes, function)
    counts = [windows.window_count(*along) for along in zip(x.shape[2:], w.shape[2:], steps, around, holes, strict=True)]
    if min(counts) <= 0:
        raise ShapeError(f"{function}: the kernel {w.shape[2:]} (dilation {holes}) is larger than the padded input of shape {x.shape}.")
    y = windows.convolve(x, w, stride=steps, padding=around, dilation=holes, groups=groups)
    return _with_channel_bias(y, b, w.shape[0], function)


def _with_channel_bias(y: Tensor, bias: Any, channels: int, function: str) -> Tensor:
    if bias is None:
        return y
    b = as_tensor(bias)
    if b.shape != (channels,):
        raise ShapeError(f"{function}: bias must have shape ({channels},), got {b.shape}.")
    return y + b.reshape(-1, *(1,) * (y.ndim - 2))


def conv1d(input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """input (N, C, L) with weight (O, C/groups, K): (N, O, L'). padding: zeros at both ends, "same" or "valid"."""
    return _convolution(input, weight, bias, stride, padding, dilation, groups, 1)


def conv2d(input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """input (N, C, H, W) with weight (O, C/groups, K, L): (N, O, H', W'), H' = ⌊(H + 2 padding − dilation (K − 1) − 1) / stride⌋ + 1."""
    return _convolution(input, weight, bias, stride, padding, dilation, groups, 2)


def conv3d(input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """The same with three spatial axes."""
    return _convolution(input, weight, bias, stride, padding, dilation, groups, 3)


def _transposed(x: Any, w: Any, b: Any, stride: Any, padding: Any, extra: Any, groups: int, dilation: Any, axes: int) -> Tensor:
    function, x, w = f"conv_transpose{axes}d", as_tensor(x), as_tensor(w)
    if x.ndim == axes + 1:
        return _transposed(x.unsqueeze(0), w, b, stride, padding, extra, groups, dilation, axes).squeeze(0)
    if x.ndim != axes + 2 or w.ndim != axes + 2 or x.shape[1] != w.shape[0] or w.shape[0] % groups:
        raise ShapeError(
            f"{function}: input (N, C, …) of shape {x.shape} does not fit weight (C, O/groups, …) of shape {w.shape} in {groups} groups."
        )
    steps, holes = _each(stride, axes, function, "stride", 1), _each(dilation, axes, function, "dilation", 1)
    cut, more = _each(padding, axes, function, "padding"), _each(extra, axes, function, "output_padding")
    if any(m >= max(s, d) for m, s, d in zip(more, steps, holes, strict=True)):
        raise ValueError(f"{function}: output_padding {more} must be smaller than stride {steps} or dilation {holes}.")
    around = tuple((p, max(0, p - m)) for p, m in zip(cut, more, strict=True))
    size = tuple(
        (n - 1) * s + d * (k - 1) + 1 - before - after
        for n, s, d, k, (before, after) in zip(x.shape[2:], steps, holes, w.shape[2:], around, strict=True)
    )
    if min(size) <= 0:
        raise ShapeError(f"{function}: nothing is left of the output for input {x.shape}, weight {w.shape}, padding {cut}.")
    y = windows.convolve_input(x, w, stride=steps, padding=around, dilation=holes, groups=groups, size=size)
    for axis, (p, m) in enumerate(zip(cut, more, strict=True)):
        if m > p:  # beyond what the windows reach
            y = pad_axis(y, axis=axis + 2, before=0, after=m - p)
    return _with_channel_bias(y, b, w.shape[1] * groups, function)


def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv1d as a linear map: input (N, C, L), weight (C, O/groups, K): (N, O, (L − 1) stride − 2 padding + dilation
    (K − 1) + output_padding + 1).
    """
    return _transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 1)


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv2d as a linear map: input (N, C, H, W), weight (C, O/groups, K, L)."""
    return _transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 2)


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Each window of (N, C, H, W) as a column: (N, C · K · L, windows)."""
    x = as_tensor(input)
    if x.ndim == 3:
        return unfold(x.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    shifts, counts, around = _under_windows(x.shape[2:], kernel_size, dilation, padding, stride, "unfold")
    for axis, p in enumerate(around):
        x = pad_axis(x, axis=axis + 2, before=p, after=p) if p else x
    return stack([x[(..., *shift)] for shift in shifts], 2).reshape(x.shape[0], x.shape[1] * len(shifts), math.prod(counts))


def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The transpose of `unfold`: columns added up where their windows overlap, (N, C · K · L, windows) to (N, C, *output_size)."""
    x, size = as_tensor(input), _each(output_size, 2, "fold", "output_size", 1)
    if x.ndim == 2:
        return fold(x.unsqueeze(0), size, kernel_size, dilation, padding, stride).squeeze(0)
    shifts, counts, around = _under_windows(size, kernel_size, dilation, padding, stride, "fold")
    if x.ndim != 3 or x.shape[1] % len(shifts) or x.shape[2] != math.prod(counts):
        raise ShapeError(f"fold: input of shape {x.shape} does not fit {len(shifts)} positions in each of {math.prod(counts)} windows.")
    channels = x.shape[1] // len(shifts)
    parts = x.reshape(x.shape[0], channels, len(shifts), *counts)
    padded = (x.shape[0], channels, *(n + 2 * p for n, p in zip(size, around, strict=True)))
    total: Any = None
    for i, shift in enumerate(shifts):
        part = unwindow(parts[:, :, i], index=(slice(None), slice(None), *shift), shape=padded)
        total = part if total is None else total + part
    return total[(..., *(slice(p, p + n) for n, p in zip(size, around, strict=True)))]


def _under_windows(
    size: Sequence[int], kernel_size: Any, dilation: Any, padding: Any, stride: Any, function: str
) -> tuple[list[tuple[Any, ...]], tuple[int, ...], tuple[int, ...]]:
    """The index of each kernel position under all windows, how many windows, and the padding."""
    kernel, holes = _each(kernel_size, 2, function, "kernel_size", 1), _each(dilation, 2, function, "dilation", 1)
    around, steps = _each(padding, 2, function, "padding"), _each(stride, 2, function, "stride", 1)
    counts = tuple(windows.window_count(n, k, s, (p, p), d) for n, k, s, p, d in zip(size, kernel, steps, around, holes, strict=True))
    if min(counts) <= 0:
        raise ShapeError(f"{function}: the kernel {kernel} is larger than the padded image {tuple(size)}.")
    return [under for _, under in windows._shifts(kernel, steps, holes, counts)], counts, around


# ------------------------------------------------------------------------------------------------------------------ pooling


def _pool_setup(
    x: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, axes: int, function: str
) -> list[dict[str, Any]]:
    """For each pooled axis, the last one first, the parameters of the window operation."""
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{function}: input must have {axes + 2} dimensions (N, C, …) or {axes + 1}, got shape {x.shape}.")
    kernel = _each(kernel_size, axes, function, "kernel_size", 1)
    steps = kernel if stride is None or stride == [] else _each(stride, axes, function, "stride", 1)
    around, holes = _each(padding, axes, function, "padding"), _each(dilation, axes, function, "dilation", 1)
    setup = []
    for i in reversed(range(axes)):
        k, s, p, d, axis = kernel[i], steps[i], around[i], holes[i], x.ndim - axes + i
        if 2 * p > d * (k - 1) + 1:
            raise ValueError(f"{function}: padding {p} is more than half of the window of {d * (k - 1) + 1}.")
        n = x.shape[axis]
        rest = n + 2 * p - d * (k - 1) - 1
        count = (-(-rest // s) if ceil_mode else rest // s) + 1
        if ceil_mode and (count - 1) * s >= n + p:  # the last window must begin inside
            count -= 1
        if rest < 0 and (count <= 0 or not ceil_mode):
            raise ShapeError(f"{function}: the window of {d * (k - 1) + 1} is larger than the padded input of shape {x.shape}.")
        setup.append({"axis": axis, "size": k, "stride": s, "dilation": d, "padding": (p, (count - 1) * s + d * (k - 1) + 1 - n - p)})
    return setup


def _max_pooled(x: Any, setup: list[dict[str, Any]], return_indices: bool) -> Any:
    x = as_tensor(x)
    first = min(s["axis"] for s in setup)
    places = arange(math.prod(x.shape[first:])).reshape(x.shape[first:]).broadcast_to(x.shape) if return_indices else None
    for along in setup:
        y = windows.window_max(x, **along)
        if places is not None:
            places = windows.window_max_push(places, x.detach(), y.detach(), **along)
        x = y
    return x if places is None else (x, places)


def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Largest element of each window of (N, C, L) or (C, L); the first of equals gets the derivative. return_indices: its place too."""
    x = as_tensor(input)
    return _max_pooled(x, _pool_setup(x, kernel_size, stride, padding, dilation, ceil_mode, 1, "max_pool1d"), return_indices)


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Largest element of each window of (N, C, H, W) or (C, H, W); stride is kernel_size by default; padding never wins.

    The first of equal elements in row-major order gets the derivative. return_indices: its place in the flattened image too (int64).
    """
    x = as_tensor(input)
    return _max_pooled(x, _pool_setup(x, kernel_size, stride, padding, dilation, ceil_mode, 2, "max_pool2d"), return_indices)


def _avg_pooled(x: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, override: int | None, axes: int) -> Tensor:
    x = as_tensor(x)
    if override == 0:
        raise ValueError(f"avg_pool{axes}d: divisor_override must not be zero.")
    shape = x.shape
    divisor = 1
    for along in _pool_setup(x, kernel, stride, padding, 1, ceil_mode, axes, f"avg_pool{axes}d"):
        x = windows.window_sum(x, **along)
        if override is not None:
            continue
        axis, p, n = along["axis"], along["padding"][0], shape[along["axis"]]
        low, high = (-p, n + p) if include else (0, n)
        starts = [i * along["stride"] - p for i in range(x.shape[axis])]
        counts = [min(start + along["size"], high) - max(start, low) for start in starts]
        if len(set(counts)) == 1:
            divisor *= counts[0]
        else:
            x = x / functions.tensor(counts, dtype=x.dtype).reshape(-1, *(1,) * (x.ndim - 1 - axis))
    divisor = divisor if override is None else override
    return x / divisor if divisor != 1 else x


def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> Tensor:
    """Mean of each window of (N, C, L) or (C, L)."""
    return _avg_pooled(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean of each window of (N, C, H, W) or (C, H, W). count_include_pad: whether the zeros of the padding count as elements."""
    return _avg_pooled(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2)


def _adaptive(x: Any, output_size: Any, axes: int, part: Callable[[Tensor, int, int], Tensor], function: str) -> Tensor:
    """Axis by axis, the last one first: output i covers the elements from ⌊i n / m⌋ to ⌈(i + 1) n / m⌉."""
    x = as_tensor(x)
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{function}: input must have {axes + 2} dimensions (N, C, …) or {axes + 1}, got shape {x.shape}.")
    wanted = (output_size,) * axes if isinstance(output_size, int) or output_size is None else tuple(output_size)
    for i in reversed(range(axes)):
        axis = x.ndim - axes + i
        n, m = x.shape[axis], x.shape[axis] if wanted[i] is None else int(wanted[i] or 0)
        if n == m:
            continue
        if n % m == 0:
            x = part(x, axis, n // m)
            continue
        spans = [(j * n // m, -(-(j + 1) * n // m)) for j in range(m)]
        x = cat([part(_span(x, axis, start, stop), axis, stop - start) for start, stop in spans], axis)
    return x


def _max_part(x: Tensor, axis: int, size: int) -> Tensor:
    return windows.window_max(x, axis=axis, size=size, stride=size, dilation=1, padding=(0, 0))


def _mean_part(x: Tensor, axis: int, size: int) -> Tensor:
    return windows.window_sum(x, axis=axis, size=size, stride=size, dilation=1, padding=(0, 0)) / size


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Tensor:
    """Means over as even parts of the last axis as possible, `output_size` of them."""
    return _adaptive(input, output_size, 1, _mean_part, "adaptive_avg_pool1d")


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Tensor:
    """Means over as even parts of the last two axes as possible; None keeps an axis."""
    return _adaptive(input, output_size, 2, _mean_part, "adaptive_avg_pool2d")


def adaptive_max_pool1d(input: Any, output_size: Any) -> Tensor:
    """Maxima over as even parts of the last axis as possible."""
    return _adaptive(input, output_size, 1, _max_part, "adaptive_max_pool1d")


def adaptive_max_pool2d(input: Any, output_size: Any) -> Tensor:
    """Maxima over as even parts of the last two axes as possible; None keeps an axis."""
    return _adaptive(input, output_size, 2, _max_part, "adaptive_max_pool2d")


# ------------------------------------------------------------------------------------------------------ padding and resizing


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Elements added at the ends of axes: `pad` is (before last axis, after last axis, before the axis before it, …); negative numbers cut
    off.

    mode: "constant" (of `value`, 0 by default), "reflect" (mirrored without repeating the edge), "replicate" (the edge), "circular".
    """
    x = as_tensor(input)
    if len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise ValueError(f"pad: {tuple(pad)} must hold pairs for at most the {x.ndim} axes of input {x.shape}.")
    for i in range(len(pad) // 2):
        axis, before, after = x.ndim - 1 - i, int(pad[2 * i]), int(pad[2 * i + 1])
        n = x.shape[axis]
        if n + before + after < 0:
            raise ShapeError(f"pad: ({before}, {after}) cuts more than the {n} elements of dimension {axis}.")
        if mode == "constant":
            x = _span(x, axis, max(0, -before), n - max(0, -after)) if before < 0 or after < 0 else x
            x = _filled_ends(x, axis, max(0, before), max(0, after), value or 0)
        elif before or after:
            x = x[(slice(None),) * axis + (functions.tensor(_mirrored(n, before, after, mode), dtype=backend.int64),)]
    return x


def _filled_ends(x: Tensor, axis: int, before: int, after: int, value: float) -> Tensor:
    if not before and not after:
        return x
    if not value:
        return pad_axis(x, axis=axis, before=before, after=after)
    ends = [functions.full((*x.shape[:axis], n, *x.shape[axis + 1 :]), value, dtype=x.dtype) for n in (before, after)]
    return cat([ends[0], x, ends[1]], axis)


def _mirrored(n: int, before: int, after: int, mode: str) -> list[int]:
    """Which elements stand at positions −before … n + after − 1."""
    positions = range(-before, n + after)
    if mode == "replicate":
        return [min(max(i, 0), n - 1) for i in positions]
    if mode == "circular":
        if max(before, after) > n:
            raise ValueError(f"pad: circular padding of ({before}, {after}) goes more than once round {n} elements.")
        return [i % n for i in positions]
    if mode == "reflect":
        if max(before, after) >= n:
            raise ValueError(f"pad: reflect needs padding smaller than the axis; got ({before}, {after}) for {n} elements.")
        return [-i if i < 0 else 2 * (n - 1) - i if i >= n else i for i in positions]
    raise ValueError(f'pad: mode must be "constant", "reflect", "replicate" or "circular", got {mode!r}.')


def interpolate(input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest") -> Tensor:
    """(N, C, *S) resized by repeating or skipping elements: output i shows element ⌊i · in/out⌋ ("nearest") or ⌊(i + ½) in/out⌋
    ("nearest-exact").
    """
    x = as_tensor(input)
    axes = x.ndim - 2
    if mode not in ("nearest", "nearest-exact"):
        raise ValueError(f'interpolate: mode must be "nearest" or "nearest-exact", got {mode!r}.')
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor.")
    for i in range(axes):
        n = x.shape[2 + i]
        if size is not None:
            m = _each(size, axes, "interpolate", "size", 1)[i]
            ratio = n / m
        else:
            factor = scale_factor if isinstance(scale_factor, int | float) else scale_factor[i]
            m, ratio = math.floor(n * factor), 1 / factor
        offset = 0.5 if mode == "nearest-exact" else 0.0
        if m != n or ratio != 1:
            source = [min(int((j + offset) * ratio), n - 1) for j in range(m)]
            x = x[(slice(None),) * (2 + i) + (functions.tensor(source, dtype=backend.int64),)]
    return x


def pixel_shuffle(input: Any, upscale_factor: int) -> Tensor:
    """(N, C r², H, W) to (N, C, H r, W r): channels become pixels."""
    x, r = as_tensor(input), upscale_factor
    n, c, h, w = x.shape
    return x.reshape(n, c // r**2, r, r, h, w).permute(0, 1, 4, 2, 5, 3).reshape(n, c // r**2, h * r, w * r)


# ------------------------------------------------------------------------------------------------------------------- losses


def _reduce(loss: Tensor, reduction: str, function: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f'{function}: reduction must be "mean", "sum" or "none", got {reduction!r}.')


def _pair(input: Any, target: Any, function: str) -> tuple[Tensor, Tensor]:
    x, t = as_tensor(input), as_tensor(target)
    if x.shape != t.shape:
        raise ShapeError(f"{function}: input of shape {x.shape} and target of shape {t.shape} must have the same shape.")
    return x, t


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """(x − t)²."""
    x, t = _pair(input, target, "mse_loss")
    return _reduce(functions.square(x - t), reduction, "mse_loss")


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """|x − t|; derivative 0 where they are equal."""
    x, t = _pair(input, target, "l1_loss")
    return _reduce(abs(x - t), reduction, "l1_loss")


def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """d² / 2β where |d| < β, |d| − β/2 elsewhere, for d = x − t."""
    x, t = _pair(input, target, "smooth_l1_loss")
    if beta < 0:
        raise ValueError(f"smooth_l1_loss: beta must be at least 0, got {beta}.")
    if beta == 0:
        return l1_loss(x, t, reduction)
    d = x - t
    size = abs(d)
    return _reduce(where(size < beta, 0.5 * d * d / beta, size - 0.5 * beta), reduction, "smooth_l1_loss")


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """d² / 2 where |d| ≤ δ, δ (|d| − δ/2) elsewhere, for d = x − t."""
    x, t = _pair(input, target, "huber_loss")
    if delta <= 0:
        raise ValueError(f"huber_loss: delta must be positive, got {delta}.")
    d = x - t
    size = abs(d)
    return _reduce(where(size <= delta, 0.5 * d * d, delta * (size - 0.5 * delta)), reduction, "huber_loss")


def binary_cross_entropy(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """−t ln x − (1 − t) ln(1 − x) for probabilities x in [0, 1]; logarithms are not below −100. Raises RuntimeError outside [0, 1]."""
    x, t = _pair(input, target, "binary_cross_entropy")
    if x.numel() and not hasattr(type(x.array), "__minigrad_apply__") and not bool(((x.array >= 0) & (x.array <= 1)).all()):
        raise RuntimeError(
            "binary_cross_entropy: all elements of input must lie in [0, 1]. Use binary_cross_entropy_with_logits for other numbers."
        )
    loss = network.binary_cross_entropy(x, t)
    return _reduce(loss if weight is None else loss * weight, reduction, "binary_cross_entropy")


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Tensor:
    """binary_cross_entropy(σ(x), t) without overflow; pos_weight multiplies the positive term."""
    x, t = _pair(input, target, "binary_cross_entropy_with_logits")
    soft = functions.softplus(-x)
    loss = (1 - t) * x + (soft if pos_weight is None else (1 + (as_tensor(pos_weight) - 1) * t) * soft)
    return _reduce(loss if weight is None else loss * weight, reduction, "binary_cross_entropy_with_logits")


def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """t (ln t − x) for log-probabilities x; reduction "batchmean" divides the sum by the batch's size, which is the mathematical
    definition.
    """
    x, t = as_tensor(input), as_tensor(target)
    if log_target:
        loss = exp(t) * (t - x)
    else:
        positive = t > 0
        loss = where(positive, t * functions.log(where(positive, t, 1.0)), 0.0) - t * x
    if reduction == "batchmean":
        return loss.sum() / x.shape[0] if x.ndim else loss.sum()
    return _reduce(loss, reduction, "kl_div")


def nll_loss(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """−weight[t] · x[t] for log-probabilities x of shape (N, C, …) (or (C,)) and class indices t of shape (N, …) (or ()).

    "mean" divides by the sum of the weights that count; targets equal to ignore_index do not (all of them ignored gives NaN). Raises
    IndexError for other classes.
    """
    x, t = as_tensor(input), as_tensor(target)
    picked, weights = _picked_classes(x, t, weight, ignore_index, "nll_loss")
    return _weighted(-picked * weights, weights, reduction, "nll_loss")


def _picked_classes(x: Tensor, t: Tensor, weight: Any, ignore_index: int, function: str) -> tuple[Tensor, Tensor]:
    """x at each target's class (0 where ignored), and the weight of each target (0 where ignored), in the target's shape."""
    axis = 1 if x.ndim > 1 else 0
    if x.ndim == 0 or t.shape != x.shape[:axis] + x.shape[axis + 1 :]:
        raise ShapeError(f"{function}: target of shape {t.shape} does not fit input of shape {x.shape} with classes in dimension {axis}.")
    if t.dtype.kind not in "iu":
        raise DTypeError(
            f"{function}: class indices must be integers, got {t.dtype}. For one probability a class, give target the shape of input."
        )
    classes = x.shape[axis]
    counts = t != ignore_index
    index = where(counts, t, 0)
    _check_range(index, classes, function, "class")
    rows = functions.movedim(x, axis, -1).reshape(-1, classes)
    picked = rows[arange(rows.shape[0]), index.reshape(-1)].reshape(t.shape)
    weights = functions.ones_like(picked) if weight is None else as_tensor(weight)[index]
    if weight is not None and as_tensor(weight).shape != (classes,):
        raise ShapeError(f"{function}: weight must have one number for each of {classes} classes, got shape {as_tensor(weight).shape}.")
    return where(counts, picked, 0.0), where(counts, weights, 0.0)


def _weighted(loss: Tensor, weights: Tensor, reduction: str, function: str) -> Tensor:
    return loss.sum() / weights.sum() if reduction == "mean" else _reduce(loss, reduction, function)


def cross_entropy(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
) -> Tensor:
    """−Σ_c weight[c] t[c] ln softmax(x)[c] for logits x of shape (N, C, …) or (C,).

    target: class indices of shape (N, …), or probabilities of the shape of x. label_smoothing ε replaces t by (1 − ε) t + ε / C. "mean"
    divides by the sum of
    the weights of the target classes (class indices) or by the number of samples (probabilities). Raises IndexError for a class out of
    range.
    """
    x, t = as_tensor(input), as_tensor(target)
    axis = 1 if x.ndim > 1 else 0
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"cross_entropy: label_smoothing must lie in [0, 1], got {label_smoothing}.")
    if x.ndim == 0:
        raise ShapeError("cross_entropy: input needs a dimension of classes, got a 0-d tensor.")
    logs = log_softmax(x, axis)
    classes = x.shape[axis]
    by_class = None if weight is None else as_tensor(weight).reshape(-1, *(1,) * (x.ndim - axis - 1))
    if t.shape == x.shape and backend.is_floating(t.dtype):
        if label_smoothing:
            t = t * (1 - label_smoothing) + label_smoothing / classes
        loss = -(logs * t if by_class is None else logs * t * by_class).sum(axis)
        return loss.sum() / max(1, math.prod(x.shape) // classes) if reduction == "mean" else _reduce(loss, reduction, "cross_entropy")
    picked, weights = _picked_classes(logs, t, weight, ignore_index, "cross_entropy")
    loss = -picked * weights
    if label_smoothing:
        spread = -(logs if by_class is None else logs * by_class).sum(axis)
        loss = (1 - label_smoothing) * loss + label_smoothing / classes * where(t != ignore_index, spread, 0.0)
    return _weighted(loss, weights, reduction, "cross_entropy")


def gaussian_nll_loss(input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """½ (ln max(var, ε) + (x − t)² / max(var, ε)), with ½ ln 2π more if `full`; the floor ε has no derivative."""
    x, v = as_tensor(input), as_tensor(var)
    v = where(v.detach() < eps, v - v.detach() + eps, v)
    loss = 0.5 * (functions.log(v) + functions.square(x - target) / v)
    return _reduce(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction, "gaussian_nll_loss")


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """x where t = 1, max(0, margin − x) where t = −1."""
    x, t = as_tensor(input), as_tensor(target)
    return _reduce(where(t == 1, x, 0.0) + where(t == -1, clamp(margin - x, min=0.0), 0.0), reduction, "hinge_embedding_loss")


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """max(0, −t (x1 − x2) + margin)."""
    return _reduce(clamp(-as_tensor(target) * (as_tensor(input1) - input2) + margin, min=0.0), reduction, "margin_ranking_loss")


# ---------------------------------------------------------------------------------------------------------------- attention


def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None
) -> Tensor:
    """softmax(Q Kᵀ / √width + mask) V: query (…, L, E), key (…, S, E), value (…, S, V): (…, L, V).

    attn_mask: boolean (True takes part) or floating (added), broadcastable to (…, L, S); is_causal: position i sees no later one. A row
    that sees nothing gives 0.
    """
    q, k, v = as_tensor(query), as_tensor(key), as_tensor(value)
    if is_causal and attn_mask is not None:
        raise ValueError("scaled_dot_product_attention: give attn_mask or is_causal, not both.")
    return _attention_weights(q, k, attn_mask, dropout_p, is_causal, scale) @ v


def _attention_weights(q: Tensor, k: Tensor, mask: Any, dropout_p: float, is_causal: bool, scale: float | None) -> Tensor:
    scores = (q * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)) @ functions.transpose(k, -2, -1)
    if is_causal:
        mask = arange(q.shape[-2]).reshape(-1, 1) >= arange(k.shape[-2])
    weights = _masked_softmax(scores, mask)
    return dropout(weights, dropout_p) if dropout_p else weights


def _masked_softmax(scores: Tensor, mask: Any) -> Tensor:
    """softmax along the last axis of what the mask lets through; 0 in rows where it lets nothing through."""
    if mask is None:
        return softmax(scores, -1)
    mask = as_tensor(mask)
    scores = where(mask, scores, -math.inf) if mask.dtype == backend.bool_ else scores + mask
    seen = (scores.detach() != -math.inf).any(-1, keepdim=True)
    return where(seen, softmax(where(seen, scores, 0.0), -1), 0.0)


__all__ = [
    name
    for name, value in list(globals().items())
    if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == __name__
]
__all__ += ["logsumexp", "relu", "sigmoid", "tanh"]
