"""The functions of neural networks, with PyTorch's names, arguments and conventions (`torch.nn.functional`).

Most are one line of mathematics in the library's own operations, so their derivatives of every order follow. What needs more care for
accuracy or speed (softmax, normalisation, convolution, pooling) is declared in ops/network.py and ops/windows.py. At kinks each takes the
derivative that PyTorch takes. Indices out of range are refused on the CPU; on a GPU, where a look at them would have to wait for the
device, they are not looked at.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .. import backend, functions
from ..backend import DType
from ..batching import per_example
from ..engine.inplace import assign, check_target
from ..errors import DTypeError, ShapeError, no_such_name
from ..functions import arange, axis_of, cat, clamp, exp, expm1, logsumexp, matmul, stack, where
from ..functions import log_softmax as _log_softmax
from ..functions import softmax as _softmax
from ..ops import chance, network, windows
from ..ops.index import index_put, unwindow
from ..ops.reduce import mean as mean_
from ..ops.shape import pad_axis
from ..tensor import Tensor, as_tensor, overwrite_payload, wrap
from .distances import cosine_similarity, normalize, pairwise_distance, pdist
from .distances import length as _length
from .margins import (
    cosine_embedding_loss,
    ctc_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    poisson_nll_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from .reduction import pair as _pair
from .reduction import reduced as _reduce
from .sampling import affine_grid, grid_sample

# ------------------------------------------------------------------------------------------------------------- activations

sigmoid, tanh = functions.sigmoid, functions.tanh


def _source(input: Any, inplace: bool) -> Tensor:
    """The input, or, if it is to be overwritten, a copy: what rules keep must stay as it was."""
    x = as_tensor(input)
    return functions.clone(x) if inplace and x.requires_grad else x


def _placed(y: Tensor, input: Any, inplace: bool, function: str) -> Tensor:
    """y, or, if `inplace`, the input with y written into it."""
    if not inplace:
        return y
    check_target(input, function)
    return assign(input, y, function)


def relu(input: Any, inplace: bool = False) -> Tensor:
    """max(x, 0); derivative 0 at 0. inplace (here and below): the result is written into the input."""
    return _placed(functions.relu(input), input, inplace, "relu") if inplace else functions.relu(input)


def softmax(input: Any, dim: int = -1, *, dtype: Any = None) -> Tensor:
    """e^x / Σ e^x along `dim`; same shape; no overflow."""
    return _softmax(input, dim, dtype=dtype)


def log_softmax(input: Any, dim: int = -1, *, dtype: Any = None) -> Tensor:
    """ln softmax(x) along `dim`, accurate where softmax rounds to 0."""
    return _log_softmax(input, dim, dtype=dtype)


def softmin(input: Any, dim: int = -1, *, dtype: Any = None) -> Tensor:
    """softmax of −x."""
    return softmax(-as_tensor(input), dim, dtype=dtype)


def relu6(input: Any, inplace: bool = False) -> Tensor:
    """x limited to [0, 6]; derivative 0 at both corners."""
    return _placed(hardtanh(input, 0.0, 6.0), input, inplace, "relu6")


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, negative_slope · x elsewhere."""
    x = _source(input, inplace)
    return _placed(where(x > 0, x, x * negative_slope), input, inplace, "leaky_relu")


def prelu(input: Any, weight: Any) -> Tensor:
    """x where positive, weight · x elsewhere; weight holds one slope, or one for each channel (axis 1)."""
    x, slope = as_tensor(input), as_tensor(weight)
    if slope.numel() != 1 and (x.ndim < 2 or slope.numel() != x.shape[1]):
        raise ShapeError(f"prelu: weight of shape {slope.shape} has not one slope for each channel of input {x.shape}.")
    slope = slope.reshape(-1, *(1,) * (x.ndim - 2)) if slope.numel() != 1 else slope.reshape(())
    return where(x > 0, x, x * slope)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, α (e^x − 1) elsewhere."""
    x = _source(input, inplace)
    return _placed(where(x > 0, x, alpha * expm1(clamp(x, max=0.0))), input, inplace, "elu")


def selu(input: Any, inplace: bool = False) -> Tensor:
    """γ elu(x, α) with the two constants of Klambauer et al. 2017, which keep mean 0 and variance 1 through layers."""
    return _placed(
        1.0507009873554804934193349852946 * elu(_source(input, inplace), 1.6732632423543772848170429916717), input, inplace, "selu"
    )


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, α (e^(x/α) − 1) elsewhere."""
    x = _source(input, inplace)
    return _placed(where(x > 0, x, alpha * expm1(clamp(x, max=0.0) / alpha)), input, inplace, "celu")


def gelu(input: Any, approximate: str = "none") -> Tensor:
    """x Φ(x) with the normal distribution function Φ; approximate="tanh" uses Hendrycks & Gimpel's formula."""
    x = as_tensor(input)
    if approximate == "tanh":
        return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    if approximate != "none":
        raise ValueError(f'gelu: approximate must be "none" or "tanh", got {approximate!r}.')
    return 0.5 * x * (1 + functions.erf(x * math.sqrt(0.5)))


def silu(input: Any, inplace: bool = False) -> Tensor:
    """x σ(x), also known as swish."""
    x = _source(input, inplace)
    return _placed(x * sigmoid(x), input, inplace, "silu")


def mish(input: Any, inplace: bool = False) -> Tensor:
    """x tanh(softplus(x))."""
    x = _source(input, inplace)
    return _placed(x * tanh(functions.softplus(x)), input, inplace, "mish")


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


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x limited to [min_val, max_val]; derivative 0 at both corners (unlike clamp's)."""
    x = _source(input, inplace)
    if not backend.is_differentiable(x.dtype):  # integers stay integers
        return _placed(clamp(x, int(min_val), int(max_val)), input, inplace, "hardtanh")
    return _placed(where(x <= min_val, min_val, where(x >= max_val, max_val, x)), input, inplace, "hardtanh")


def hardsigmoid(input: Any, inplace: bool = False) -> Tensor:
    """x / 6 + 1/2 limited to [0, 1]; derivative 0 at both corners."""
    x = _source(input, inplace)
    return _placed(where(x <= -3, 0.0, where(x >= 3, 1.0, x / 6 + 0.5)), input, inplace, "hardsigmoid")


def hardswish(input: Any, inplace: bool = False) -> Tensor:
    """x hardsigmoid(x)."""
    x = _source(input, inplace)
    return _placed(where(x <= -3, 0.0, where(x >= 3, x, x * (x + 3) / 6)), input, inplace, "hardswish")


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


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above `threshold`, `value` elsewhere."""
    x = _source(input, inplace)
    return _placed(where(x <= threshold, value, x), input, inplace, "threshold")


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """softmax((x + Gumbel noise) / τ): a draw of one class, made differentiable. hard: a 1 in the largest place, with the soft derivative.

    Source: Jang, Gu & Poole, Categorical reparameterization with Gumbel-softmax (2017).
    """
    x = as_tensor(logits)
    noise = -functions.log(-functions.log(functions.rand_like(x, dtype=backend.float64).clamp(1e-300, 1 - 2.0**-53)))
    y = softmax((x + noise.to(x.dtype)) / tau, dim)
    if not hard:
        return y
    axis = axis_of(x.ndim, dim, "gumbel_softmax")
    one = functions.movedim(one_hot(y.argmax(axis), y.shape[axis]), -1, axis).to(y.dtype)
    return one - y.detach() + y


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


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """Rows of `weight` (count, width) chosen by integers: (*input.shape, width). The row padding_idx gets no gradient. Raises
    IndexError out of range.

    max_norm: chosen rows whose norm_type-norm is larger are first shortened to it, in `weight` itself. scale_grad_by_freq: a row's
    gradient is divided by how often it was chosen.
    """
    index, w = as_tensor(input), as_tensor(weight)
    if index.dtype.kind not in "iu":
        raise DTypeError(f"embedding: indices must be integers, got {index.dtype}.")
    _check_range(index, w.shape[0], "embedding", "index")
    if max_norm is not None:
        rows = w.detach()
        length = _length(rows, norm_type, -1)
        chosen = (one_hot(index.reshape(-1), w.shape[0]).sum(0) > 0).unsqueeze(-1)
        overwrite_payload(w, where(chosen & (length > max_norm), rows * (max_norm / (length + 1e-7)), rows).array)
    if scale_grad_by_freq:
        often = one_hot(index.reshape(-1), w.shape[0]).sum(0)[index].unsqueeze(-1).to(w.dtype)
        row = embedding(index, w, padding_idx)
        return row.detach() + (row - row.detach()) / often
    if padding_idx is None:
        return w[index]
    if not -w.shape[0] <= padding_idx < w.shape[0]:
        raise IndexError(f"embedding: padding_idx {padding_idx} is not a row of weight {w.shape}.")
    blank = (index == padding_idx % w.shape[0]).unsqueeze(-1)
    return where(blank, w.detach()[index], w[index])


def _check_range(index: Tensor, count: int, function: str, what: str) -> None:
    if not isinstance(index.array, backend.HostArray) or index.numel() == 0:  # a batched value has no one answer; a device must not wait
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
    return (index.unsqueeze(-1) == arange(num_classes, device=index.device)).to(backend.int64)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element 0 with probability p, else divided by 1 − p (so the mean stays); x itself when not training."""
    return _placed(_dropped(as_tensor(input), p, training, lambda x: x), input, inplace, "dropout")


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels 0 with probability p: input (N, C, L) or (C, L)."""
    return _placed(_dropped(as_tensor(input), p, training, lambda x: x[..., :1]), input, inplace, "dropout1d")


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels 0 with probability p: input (N, C, H, W) or (C, H, W)."""
    return _placed(_dropped(as_tensor(input), p, training, lambda x: x[..., :1, :1]), input, inplace, "dropout2d")


def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels 0 with probability p: input (N, C, D, H, W) or (C, D, H, W)."""
    return _placed(_dropped(as_tensor(input), p, training, lambda x: x[..., :1, :1, :1]), input, inplace, "dropout3d")


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Each element −αγ (to which selu falls) with probability p, then all scaled and moved so that mean 0 and variance 1 stay.

    Source: Klambauer et al., Self-normalizing neural networks (2017).
    """
    return _placed(_alpha_dropped(as_tensor(input), p, training, lambda x: x), input, inplace, "alpha_dropout")


def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels: input (N, C, …)."""
    first: Callable[[Tensor], Tensor] = lambda x: x[(slice(None), slice(None), *(slice(0, 1),) * (x.ndim - 2))]
    return _placed(_alpha_dropped(as_tensor(input), p, training, first), input, inplace, "feature_alpha_dropout")


def _alpha_dropped(x: Tensor, p: float, training: bool, part: Callable[[Tensor], Tensor]) -> Tensor:
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0.0
    kept = _dropped(functions.ones_like(x), p, True, part) != 0
    floor = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946
    scale = ((1 - p) * (1 + p * floor**2)) ** -0.5
    return where(kept, x, floor) * scale - scale * p * floor


def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """x where positive, elsewhere x times a slope: drawn from [lower, upper) for each element while training, else their mean."""
    x = _source(input, inplace)
    slope = functions.rand_like(x) * (upper - lower) + lower if training else (lower + upper) / 2
    return _placed(where(x > 0, x, x * slope), input, inplace, "rrelu")


def _dropped(x: Tensor, p: float, training: bool, part: Callable[[Tensor], Tensor]) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p is a probability, got {p}.")
    return x * chance.dropout_mask(part(per_example(x.detach())), p=p) if training and p > 0 else x


# ------------------------------------------------------------------------------------------------------------ normalisation


def _scaled(y: Tensor, weight: Any, bias: Any, shape: Sequence[int] | None = None) -> Tensor:
    """y · weight + bias, both reshaped first if a shape is given."""
    w, b = (v if v is None else as_tensor(v) if shape is None else as_tensor(v).reshape(*shape) for v in (weight, bias))
    if w is not None and b is not None:
        return network.scale_shift(y, w, b)
    return y * w if w is not None else y + b if b is not None else y


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
    small = backend.precision(x.dtype) if eps is None else eps
    return _scaled(x * functions.rsqrt((x * x).mean(tuple(range(-len(shape), 0)), keepdim=True) + small), weight, None)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """(N, C, …) normalised over each of `num_groups` groups of channels; weight and bias have one number a channel."""
    x = as_tensor(input)
    if x.ndim < 2 or x.shape[1] % num_groups:
        raise ShapeError(f"group_norm: the channels of input {x.shape} cannot be divided into {num_groups} groups.")
    grouped = x.reshape(x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups)
    return _scaled(network.standardize(grouped, axes=(2,), eps=eps).reshape(x.shape), weight, bias, (-1, *(1,) * (x.ndim - 2)))


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
    """(N, C, *S) normalised over the spatial axes of each sample and channel, or, without use_input_stats, by the running statistics.

    With use_input_stats the running ones move as those of `batch_norm`, by the means over the samples.
    """
    x = as_tensor(input)
    if x.ndim < 3:
        raise ShapeError(f"instance_norm: needs a batch, channels and at least one more axis, got shape {x.shape}.")
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    axes = tuple(range(2, x.ndim))
    count = math.prod(x.shape[2:])
    if count <= 1:
        raise ValueError(f"instance_norm: needs more than one spatial element, input {x.shape} has {count}.")
    for running, statistic in ((running_mean, _mean_of), (running_var, _variance_of)):
        if running is not None:
            batch = mean_(statistic(x.detach(), axes, count), axes=(0,), keepdims=False)
            overwrite_payload(running, ((1 - momentum) * running.detach() + momentum * batch).array)
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
            overwrite_payload(running, ((1 - momentum) * running.detach() + momentum * statistic(x.detach(), axes, count)).array)
    return _scaled(network.standardize(x, axes=axes, eps=eps), weight, bias, shape)


def _mean_of(x: Any, axes: tuple[int, ...], count: int) -> Any:
    return mean_(x, axes=axes, keepdims=False)


def _variance_of(x: Any, axes: tuple[int, ...], count: int) -> Any:
    """The unbiased variance."""
    centred = x - mean_(x, axes=axes, keepdims=True)
    variance = network.mean_of_product(centred, centred, axes) * (count / (count - 1))
    return variance.reshape([n for axis, n in enumerate(variance.shape) if axis not in axes])


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + α · mean over `size` neighbouring channels of x²)^β."""
    x = as_tensor(input)
    sums = windows.window_sum(x * x, axis=1, size=size, stride=1, dilation=1, padding=(size // 2, (size - 1) // 2))
    return x / (k + alpha / size * sums) ** beta


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


def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv3d as a linear map: input (N, C, D, H, W), weight (C, O/groups, J, K, L)."""
    return _transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 3)


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
    steps = kernel if stride is None or stride in ([], ()) else _each(stride, axes, function, "stride", 1)
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


def _places(x: Tensor, first: int) -> Tensor:
    """The number of each element among those of the axes from `first` on."""
    return arange(math.prod(x.shape[first:]), device=x.device).reshape(x.shape[first:]).broadcast_to(x.shape)


def _table(numbers: list[Any], dtype: DType, beside: Tensor) -> Tensor:
    """A few numbers that depend on shapes only, on the device of a tensor. To a GPU each table travels once."""
    device = backend.device_of(beside.array)
    return functions.tensor(numbers, dtype=dtype) if device == "cpu" else wrap(_uploaded(tuple(numbers), dtype, device))


@lru_cache(maxsize=256)
def _uploaded(numbers: tuple[Any, ...], dtype: DType, device: str) -> Any:
    return backend.to_device(backend.as_payload(list(numbers), dtype), device)


def _max_pooled(x: Any, setup: list[dict[str, Any]], return_indices: bool) -> Any:
    x = as_tensor(x)
    first = min(s["axis"] for s in setup)
    places = _places(x, first) if return_indices else None
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


def max_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Largest element of each window of (N, C, D, H, W) or (C, D, H, W); otherwise as `max_pool2d`."""
    x = as_tensor(input)
    return _max_pooled(x, _pool_setup(x, kernel_size, stride, padding, dilation, ceil_mode, 3, "max_pool3d"), return_indices)


def max_unpool1d(input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Each element at the place of (N, C, L) or (C, L) that `max_pool1d(…, return_indices=True)` named, zeros elsewhere."""
    return _unpooled(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Each element at the place that `max_pool2d(…, return_indices=True)` named, zeros elsewhere. output_size: of the image, where
    several would have given the windows.
    """
    return _unpooled(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Each element at the place that `max_pool3d(…, return_indices=True)` named, zeros elsewhere."""
    return _unpooled(input, indices, kernel_size, stride, padding, output_size, 3)


def _unpooled(x: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any, axes: int) -> Tensor:
    function, x, index = f"max_unpool{axes}d", as_tensor(x), as_tensor(indices)
    if x.shape != index.shape or x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{function}: input of shape {x.shape} and indices of shape {index.shape} must agree and have {axes + 2} axes.")
    kernel, around = _each(kernel_size, axes, function, "kernel_size", 1), _each(padding, axes, function, "padding")
    steps = kernel if stride is None else _each(stride, axes, function, "stride", 1)
    size = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(x.shape[-axes:], steps, around, kernel, strict=True)]
    if output_size is not None:
        size = list(output_size)[-axes:]
    images = math.prod(x.shape[:-axes])
    _check_range(index, math.prod(size), function, "index")
    flat = index.reshape(images, -1) + arange(images, device=x.device).reshape(-1, 1) * math.prod(size)
    empty = functions.zeros(images * math.prod(size), dtype=x.dtype, device=x.device)
    place = functions._plain_index((flat.reshape(-1),), x.array)
    return index_put(empty, x.reshape(-1), index=place, accumulate=False).reshape((*x.shape[:-axes], *size))


def _avg_pooled(x: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, override: int | None, axes: int) -> Tensor:
    x = as_tensor(x)
    if override == 0:
        raise ValueError(f"avg_pool{axes}d: divisor_override must not be zero.")
    shape, dtype = x.shape, x.dtype
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
            x = x / _table(counts, x.dtype, x).reshape(-1, *(1,) * (x.ndim - 1 - axis))
    divisor = divisor if override is None else override
    mean = x / divisor if divisor != 1 else x
    return mean.to(dtype) if mean.dtype != dtype else mean  # integers stay integers


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


def avg_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean of each window of (N, C, D, H, W) or (C, D, H, W); otherwise as `avg_pool2d`."""
    return _avg_pooled(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 3)


def lp_pool1d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(Σ xᵖ)^(1/p) of each window of (N, C, L) or (C, L); derivative 0 where the sum is 0."""
    return _norm_pooled(as_tensor(input), norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(Σ xᵖ)^(1/p) of each window of (N, C, H, W) or (C, H, W); derivative 0 where the sum is 0."""
    return _norm_pooled(as_tensor(input), norm_type, kernel_size, stride, ceil_mode, 2)


def _norm_pooled(x: Tensor, p: float, kernel: Any, stride: Any, ceil_mode: bool, axes: int) -> Tensor:
    total = _avg_pooled(x**p, kernel, stride, 0, ceil_mode, True, 1, axes)
    if ceil_mode:  # what hangs over counts as if the window's mean stood there, as in PyTorch
        whole = math.prod(_each(kernel, axes, f"lp_pool{axes}d", "kernel_size", 1))
        total = _avg_pooled(x**p, kernel, stride, 0, True, True, None, axes) * whole
    zero = total == 0
    return where(zero, 0.0, where(zero, 1.0, total) ** (1 / p))


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


def _adaptive_max(x: Any, output_size: Any, axes: int, return_indices: bool, function: str) -> Any:
    """The largest elements of the parts, and where they stand in the flattened image: where the derivative of the largest is 1."""
    y = _adaptive(x, output_size, axes, _max_part, function)
    if not return_indices:
        return y
    x = as_tensor(x).detach()
    places = _places(x, x.ndim - axes)
    for i in reversed(range(axes)):
        axis = x.ndim - axes + i
        m, n = y.shape[axis], x.shape[axis]
        spans = [(j * n // m, -(-(j + 1) * n // m)) for j in range(m)]
        best = [_span(x, axis, start, stop).argmax(axis, keepdim=True) + start for start, stop in spans]
        index = cat(best, axis)
        x, places = (v[_along_axis(index, axis)] for v in (x, places))
    return y, places


def _along_axis(index: Tensor, axis: int) -> tuple[Tensor, ...]:
    """The index that reads along one axis what `index` says, and along the others the place itself."""
    grid = [arange(n, device=index.device).reshape([-1 if i == k else 1 for k in range(index.ndim)]) for i, n in enumerate(index.shape)]
    return tuple(index if i == axis else g for i, g in enumerate(grid))


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


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Tensor:
    """Means over as even parts of the last three axes as possible; None keeps an axis."""
    return _adaptive(input, output_size, 3, _mean_part, "adaptive_avg_pool3d")


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over as even parts of the last axis as possible; return_indices: their places too."""
    return _adaptive_max(input, output_size, 1, return_indices, "adaptive_max_pool1d")


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over as even parts of the last two axes as possible; None keeps an axis. return_indices: their places in the flattened
    image too.
    """
    return _adaptive_max(input, output_size, 2, return_indices, "adaptive_max_pool2d")


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over as even parts of the last three axes as possible; otherwise as `adaptive_max_pool2d`."""
    return _adaptive_max(input, output_size, 3, return_indices, "adaptive_max_pool3d")


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
        elif mode == "circular" and min(before, after) < 0:  # what is cut off does not come back
            kept = _span(x, axis, max(0, -before), n - max(0, -after))
            around = [v for b in range(i) for v in (0, 0)] + [max(0, before), max(0, after)]
            x = _pad(kept, around, mode)
        elif before or after:
            x = x[(slice(None),) * axis + (_table(_mirrored(n, before, after, mode), backend.int64, x),)]
    return x


_pad = pad  # under a name that its own argument does not hide


def _filled_ends(x: Tensor, axis: int, before: int, after: int, value: float) -> Tensor:
    if not before and not after:
        return x
    if not value:
        return pad_axis(x, axis=axis, before=before, after=after)
    ends = [functions.full((*x.shape[:axis], n, *x.shape[axis + 1 :]), value, dtype=x.dtype, device=x.device) for n in (before, after)]
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


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """(N, C, *S) resized to the spatial `size`, or to ⌊size · scale_factor⌋.

    mode: "nearest" shows at place i element ⌊i · in/out⌋, "nearest-exact" ⌊(i + ½) in/out⌋; "linear", "bilinear" and "trilinear" (by the
    number of spatial axes) weigh 2 neighbours along each axis, "bicubic" 4 (Keys 1981, a = −¾); "area" takes the mean of what falls on a
    place. align_corners (for the weighing modes): the first and last elements, and not the outer edges of the image, keep their places.
    The result is interpolated axis by axis.
    """
    x = as_tensor(input)
    axes = x.ndim - 2
    known = {
        "nearest": (1, 2, 3),
        "nearest-exact": (1, 2, 3),
        "area": (1, 2, 3),
        "linear": (1,),
        "bilinear": (2,),
        "bicubic": (2,),
        "trilinear": (3,),
    }
    if mode not in known:
        raise ValueError(f"interpolate: mode must be one of {', '.join(known)}, got {mode!r}.")
    if axes not in known[mode]:
        wanted = " or ".join(str(n + 2) for n in known[mode])
        raise ShapeError(
            f'interpolate: mode "{mode}" needs an input of {wanted} dimensions (N, C, and the axes to resize), got shape {x.shape}.'
        )
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor.")
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise ValueError(f'interpolate: align_corners means nothing for mode "{mode}"; leave it out.')
    whole = x.dtype == backend.uint8 and not mode.startswith("nearest")
    if whole:
        x = x.to(backend.float32)
    elif not backend.is_differentiable(x.dtype) and not mode.startswith("nearest"):
        raise DTypeError(f'interpolate: mode "{mode}" needs a floating dtype or uint8 (an image), got {x.dtype}.')
    lengths, ratios = _resized(x.shape[2:], size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return _adaptive(x, lengths, axes, _mean_part, "interpolate")
    for axis, (m, ratio) in enumerate(zip(lengths, ratios, strict=True), 2):
        n = x.shape[axis]
        if m == n and ratio == 1:
            continue
        if mode.startswith("nearest"):
            offset = 0.5 if mode == "nearest-exact" else 0.0
            x = _read(x, axis, [min(int((j + offset) * ratio), n - 1) for j in range(m)])
        else:
            x = _weighed(x, axis, m, ratio, cubic=mode == "bicubic", align_corners=bool(align_corners))
    if whole:
        x = clamp(functions.floor(x + 0.5), backend.lowest(backend.uint8), backend.highest(backend.uint8)).to(backend.uint8)
    return x


def _resized(shape: Sequence[int], size: Any, scale_factor: Any, recompute: bool | None) -> tuple[tuple[int, ...], list[float]]:
    """The new lengths, and how many old elements a new one stands for."""
    if size is not None:
        lengths = _each(size, len(shape), "interpolate", "size", 1)
        return lengths, [n / m for n, m in zip(shape, lengths, strict=True)]
    factors = [scale_factor] * len(shape) if isinstance(scale_factor, int | float) else list(scale_factor)
    if len(factors) != len(shape):
        raise ValueError(f"interpolate: scale_factor must be one number or {len(shape)}, got {scale_factor!r}.")
    lengths = tuple(math.floor(n * f) for n, f in zip(shape, factors, strict=True))
    if min(lengths) < 1:
        raise ShapeError(f"interpolate: nothing is left of {tuple(shape)} times {scale_factor}.")
    return lengths, [n / m for n, m in zip(shape, lengths, strict=True)] if recompute else [1 / f for f in factors]


def _weighed(x: Tensor, axis: int, m: int, ratio: float, cubic: bool, align_corners: bool) -> Tensor:
    """m elements along an axis, each a weighed sum of its old neighbours; beyond the edge stands the edge."""
    n, places = x.shape[axis], range(m)
    sources = [j * ((n - 1) / (m - 1) if m > 1 else 0.0) if align_corners else (j + 0.5) * ratio - 0.5 for j in places]
    if not cubic:
        sources = [max(s, 0.0) for s in sources]
    neighbours = (-1, 0, 1, 2) if cubic else (0, 1)
    weight = _keys if cubic else lambda distance: 1 - distance
    shape = (m,) + (1,) * (x.ndim - 1 - axis)
    total: Any = None
    for k in neighbours:
        index = [min(max(math.floor(s) + k, 0), n - 1) for s in sources]
        weights = [weight(abs(s - math.floor(s) - k)) for s in sources]
        part = _read(x, axis, index) * _table(weights, x.dtype, x).reshape(shape)
        total = part if total is None else total + part
    return total


def _keys(distance: float) -> float:
    """The weight of an element at that distance in cubic convolution. Source: R. Keys, Cubic convolution interpolation (1981)."""
    a, d = -0.75, distance
    return (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a


def _read(x: Tensor, axis: int, index: list[int]) -> Tensor:
    return x[(slice(None),) * axis + (_table(index, backend.int64, x),)]


def pixel_shuffle(input: Any, upscale_factor: int) -> Tensor:
    """(N, C r², H, W) to (N, C, H r, W r): channels become pixels."""
    x, r = as_tensor(input), upscale_factor
    *lead, c, h, w = x.shape
    if c % r**2:
        raise ShapeError(f"pixel_shuffle: {c} channels cannot be divided into squares of {r} by {r}.")
    return x.reshape(math.prod(lead), c // r**2, r, r, h, w).permute(0, 1, 4, 2, 5, 3).reshape(*lead, c // r**2, h * r, w * r)


def pixel_unshuffle(input: Any, downscale_factor: int) -> Tensor:
    """(…, C, H r, W r) to (…, C r², H, W): pixels become channels."""
    x, r = as_tensor(input), downscale_factor
    *lead, c, h, w = x.shape
    if h % r or w % r:
        raise ShapeError(f"pixel_unshuffle: an image of {h} by {w} cannot be divided into squares of {r}.")
    cut = x.reshape(math.prod(lead), c, h // r, r, w // r, r).permute(0, 1, 3, 5, 2, 4)
    return cut.reshape(*lead, c * r * r, h // r, w // r)


def channel_shuffle(input: Any, groups: int) -> Tensor:
    """(N, C, …) with the channels of `groups` groups dealt out in turn."""
    x = as_tensor(input)
    if x.ndim < 3 or x.shape[1] % groups:
        raise ShapeError(f"channel_shuffle: the channels of input {x.shape} cannot be divided into {groups} groups.")
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, -1).transpose(1, 2).reshape(x.shape)


def upsample(input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None) -> Tensor:
    """`interpolate` under its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate(…, mode="nearest")."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate(…, mode="bilinear", align_corners=True)."""
    return interpolate(input, size, scale_factor, "bilinear", True)


# ------------------------------------------------------------------------------------------------------------------- losses


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
    loss, weights = _class_losses(x, t, weight, ignore_index, "nll_loss")
    return _weighted(loss, weights, reduction, "nll_loss")


def _class_losses(x: Tensor, t: Tensor, weight: Any, ignore_index: int, function: str) -> tuple[Tensor, Tensor]:
    """Minus x at each target's class times its weight, and the weights (True and False where none are given), in the target's shape. What
    is ignored is 0 in both."""
    axis = 1 if x.ndim > 1 else 0
    if x.ndim == 0 or t.shape != x.shape[:axis] + x.shape[axis + 1 :]:
        raise ShapeError(f"{function}: target of shape {t.shape} does not fit input of shape {x.shape} with classes in dimension {axis}.")
    if t.dtype.kind not in "iu":
        raise DTypeError(
            f"{function}: class indices must be integers, got {t.dtype}. For one probability a class, give target the shape of input."
        )
    classes = x.shape[axis]
    counts = t != ignore_index
    if isinstance(t.array, backend.HostArray) and t.numel() and not 0 <= t.array.min() <= t.array.max() < classes:
        _check_range(where(counts, t, 0), classes, function, "class")
    loss = network.nll(x, t, axis=axis, ignored=ignore_index)
    if weight is None:
        return loss, counts
    if as_tensor(weight).shape != (classes,):
        raise ShapeError(f"{function}: weight must have one number for each of {classes} classes, got shape {as_tensor(weight).shape}.")
    weights = where(counts, as_tensor(weight)[where(counts, t, 0)], 0.0)
    return loss * weights, weights


def _weighted(loss: Tensor, weights: Tensor, reduction: str, function: str) -> Tensor:
    return loss.sum() / weights.sum().to(loss.dtype) if reduction == "mean" else _reduce(loss, reduction, function)


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
    loss, weights = _class_losses(logs, t, weight, ignore_index, "cross_entropy")
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
    """x where t = 1, max(0, margin − x) where t = −1, and both together where t is neither."""
    x, t = as_tensor(input), as_tensor(target)
    return _reduce(where(t != -1, x, 0.0) + where(t != 1, clamp(margin - x, min=0.0), 0.0), reduction, "hinge_embedding_loss")


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """max(0, −t (x1 − x2) + margin)."""
    return _reduce(clamp(-as_tensor(target) * (as_tensor(input1) - input2) + margin, min=0.0), reduction, "margin_ranking_loss")


# ---------------------------------------------------------------------------------------------------------------- attention


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(Q Kᵀ / √width + mask) V: query (…, L, E), key (…, S, E), value (…, S, V): (…, L, V).

    attn_mask: boolean (True takes part) or floating (added), broadcastable to (…, L, S); is_causal: position i sees no later one. A row
    that sees nothing gives 0. enable_gqa: the third axis from the right counts heads, and key and value may have fewer of them, each for a
    group of the query's (grouped-query attention, Ainslie et al. 2023); raises ShapeError where they do not divide.
    """
    q, k, v = as_tensor(query), as_tensor(key), as_tensor(value)
    if enable_gqa:
        k, v = (_for_each_head(q, x) for x in (k, v))
    if is_causal and attn_mask is not None:
        raise ValueError("scaled_dot_product_attention: give attn_mask or is_causal, not both.")
    return _attention_weights(q, k, attn_mask, dropout_p, is_causal, scale) @ v


def _for_each_head(q: Tensor, x: Tensor) -> Tensor:
    """Key or value, each of its heads repeated for its group of the query's heads."""
    if q.ndim < 3 or x.ndim < 3 or x.shape[-3] == 0 or q.shape[-3] % x.shape[-3]:
        raise ShapeError(
            "scaled_dot_product_attention: with enable_gqa the query's heads, the third axis from the right, must be a multiple of the "
            f"key's and the value's; got query {q.shape} and {x.shape}."
        )
    group = q.shape[-3] // x.shape[-3]
    return x if group == 1 else x.repeat_interleave(group, -3)


def _attention_weights(q: Tensor, k: Tensor, mask: Any, dropout_p: float, is_causal: bool, scale: float | None) -> Tensor:
    scores = (q * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)) @ functions.transpose(k, -2, -1)
    if is_causal:
        mask = arange(q.shape[-2], device=q.device).reshape(-1, 1) >= arange(k.shape[-2], device=q.device)
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
__all__ += ["logsumexp", "sigmoid", "tanh"]
__all__ += ["affine_grid", "grid_sample"]
__all__ += ["cosine_similarity", "normalize", "pairwise_distance", "pdist"]
__all__ += ["cosine_embedding_loss", "ctc_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss"]
__all__ += ["poisson_nll_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Names that are nowhere else."""
        raise no_such_name(__name__, name, globals(), {})
