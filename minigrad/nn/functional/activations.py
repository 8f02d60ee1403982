"""Activations: what a layer does to each number by itself, and softmax, by which numbers become
probabilities.

At kinks each takes the derivative that PyTorch takes. `inplace`: the result is written into the
input.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import backend, functions
from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError
from ...functions import axis_of, clamp, expm1, sigmoid, tanh, where
from ...ops.elementwise import in_float32, select
from .arguments import check_axes, on_axis, placed, span, with_inplace
from .embeddings import one_hot

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid",
    "mish", "prelu", "relu", "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "silu",
    "softmax", "softmin", "softplus", "softshrink", "softsign", "tanhshrink", "threshold",
    "threshold_",
]  # fmt: skip

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
"""With these two, mean 0 and variance 1 stay through layers. Source: Klambauer et al.,
Self-normalizing neural networks (2017).
"""


def _above_zero(x: Tensor, other: Tensor) -> Tensor:
    """x where it is positive, `other` elsewhere."""
    return select(x, x, other, test="gt", level=0.0)


def _between(x: Tensor, low: float, high: float, inside: Tensor, below: Any, above: Any) -> Tensor:
    """`inside` where low < x < high (and where x is NaN), `below` and `above` elsewhere."""
    return select(x, below, select(x, above, inside, test="ge", level=high), test="le", level=low)


# -------------------------------------------------------------------------------------- activations


def relu(input: Any, inplace: bool = False) -> Tensor:
    """max(x, 0); derivative 0 at 0. inplace (here and below): the result is written into the
    input.
    """
    y = functions.relu(input)
    return placed(y, input, "relu") if inplace else y


@with_inplace
def relu6(input: Any) -> Tensor:
    """x limited to [0, 6]; derivative 0 at both corners."""
    return hardtanh(input, 0.0, 6.0)


@with_inplace
def leaky_relu(input: Any, negative_slope: float = 0.01) -> Tensor:
    """x where positive, negative_slope · x elsewhere."""
    return _above_zero(input, input * negative_slope)


def prelu(input: Any, weight: Any) -> Tensor:
    """x where positive, weight · x elsewhere; weight holds one slope, or one for each channel
    (axis 1).
    """
    x, slope = as_tensor(input), as_tensor(weight)
    if slope.numel() != 1 and (x.ndim < 2 or slope.numel() != x.shape[1]):
        raise ShapeError(
            f"prelu: weight of shape {slope.shape} has not one slope for each channel of input"
            f" {x.shape}."
        )
    slope = slope.reshape((1,) * x.ndim) if slope.numel() == 1 else on_axis(slope, 1, x.ndim)
    return _above_zero(x, x * slope)


@with_inplace
def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """x where positive, elsewhere x times a slope: drawn from [lower, upper) for each element
    while training, else their mean.
    """
    functions.not_below("rrelu", "upper", upper, lower)
    slope: Any = (lower + upper) / 2
    if training:
        slope = functions.rand_like(input) * (upper - lower) + lower
    return _above_zero(input, input * slope)


@with_inplace
def elu(input: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, α (e^x − 1) elsewhere."""
    y = alpha * expm1(clamp(input, max=0.0))
    return select(input, y, input, test="le", level=0.0)


@with_inplace
def selu(input: Any) -> Tensor:
    """γ elu(x, α) with the two constants of Klambauer et al. 2017, which keep mean 0 and
    variance 1 through layers.
    """
    return SELU_SCALE * elu(input, SELU_ALPHA)


@with_inplace
def celu(input: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, α (e^(x/α) − 1) elsewhere."""
    y = alpha * expm1(clamp(input, max=0.0) / alpha)
    return select(input, y, input, test="le", level=0.0)


@in_float32
def gelu(input: Any, approximate: str = "none") -> Tensor:
    """x Φ(x) with the normal distribution function Φ; approximate="tanh" uses Hendrycks &
    Gimpel's formula.
    """
    x = as_tensor(input)
    if approximate == "tanh":
        return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    if approximate != "none":
        raise ValueError(f'gelu: approximate must be "none" or "tanh", got {approximate!r}.')
    return 0.5 * x * (1 + functions.erf(x * math.sqrt(0.5)))


@with_inplace
@in_float32
def silu(input: Any) -> Tensor:
    """x σ(x), also known as swish."""
    return input * sigmoid(input)


@with_inplace
@in_float32
def mish(input: Any) -> Tensor:
    """x tanh(softplus(x))."""
    return input * tanh(functions.softplus(input))


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """ln(1 + e^(βx)) / β, and x itself where βx > threshold."""
    x = as_tensor(input)
    scaled = x * beta if beta != 1 else x
    smooth = functions.softplus(scaled)
    return where(scaled > threshold, x, smooth / beta if beta != 1 else smooth)


def logsigmoid(input: Any) -> Tensor:
    """ln σ(x), without overflow."""
    return -functions.softplus(-as_tensor(input))


@in_float32
def softsign(input: Any) -> Tensor:
    """x / (1 + |x|)."""
    x = as_tensor(input)
    return x / (1 + abs(x))


@in_float32
def tanhshrink(input: Any) -> Tensor:
    """x − tanh x."""
    x = as_tensor(input)
    return x - tanh(x)


@with_inplace
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x limited to [min_val, max_val]; derivative 0 at both corners (unlike clamp's)."""
    functions.not_below("hardtanh", "max_val", max_val, min_val)
    if not backend.is_differentiable(input.dtype):  # integers stay integers
        return clamp(input, int(min_val), int(max_val))
    return _between(input, min_val, max_val, input, min_val, max_val)


@with_inplace
@in_float32
def hardsigmoid(input: Any) -> Tensor:
    """x / 6 + 1/2 limited to [0, 1]; derivative 0 at both corners, 1/6 at NaN (PyTorch: 0, which
    hides it).
    """
    return _between(input, -3.0, 3.0, input / 6 + 0.5, 0.0, 1.0)


@with_inplace
@in_float32
def hardswish(input: Any) -> Tensor:
    """x hardsigmoid(x)."""
    # at infinity the branch that is not taken would be infinite, and its derivative NaN
    inner = clamp(input, -3.0, 3.0)
    y = select(input, inner * (inner + 3) / 6, input, test="lt", level=3.0)
    return select(input, 0.0, y, test="le", level=-3.0)


def softshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """x moved by lambd towards 0, and 0 within lambd of it."""
    x = as_tensor(input)
    functions.not_below("softshrink", "lambd", lambd, 0)
    return x - clamp(x, -lambd, lambd)


def hardshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """x, and 0 within lambd of 0."""
    x = as_tensor(input)
    return select(x, select(x, 0.0, x, test="le", level=lambd), x, test="ge", level=-lambd)


@with_inplace
def threshold(input: Any, threshold: float, value: float) -> Tensor:
    """x where it is above `threshold`, `value` elsewhere."""
    return select(input, value, input, test="le", level=threshold)


def glu(input: Any, dim: int = -1) -> Tensor:
    """The first half of `dim` times σ of the second half."""
    x = as_tensor(input)
    check_axes(x, 1, "glu", "to halve one of")
    axis = axis_of(x.ndim, dim, "glu")
    if x.shape[axis] % 2:
        raise ShapeError(
            f"glu: dimension {dim} of shape {x.shape} has an odd size and cannot be halved."
        )
    half = x.shape[axis] // 2
    return span(x, axis, 0, half) * sigmoid(span(x, axis, half, 2 * half))


def _in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def written(input: Tensor, *args: Any, **options: Any) -> Tensor:
        return function(input, *args, inplace=True, **options)

    written.__name__ = written.__qualname__ = f"{function.__name__}_"
    written.__doc__ = f"`{function.__name__}`, written into the input."
    return written


celu_ = _in_place(celu)
elu_ = _in_place(elu)
hardtanh_ = _in_place(hardtanh)
leaky_relu_ = _in_place(leaky_relu)
relu_ = _in_place(relu)
rrelu_ = _in_place(rrelu)
selu_ = _in_place(selu)
threshold_ = _in_place(threshold)

# ------------------------------------------------------------------------------------ probabilities


def _dim_of(input: Any, dim: int | None) -> int:
    """`dim`; where it is left out, PyTorch's choice."""
    return int(as_tensor(input).ndim not in (0, 1, 3)) if dim is None else dim


def softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """e^x / Σ e^x along `dim`; same shape; no overflow. dim: give it; without it, as in PyTorch, it
    is 0 for 0, 1 and 3 dimensions, else 1.
    """
    return functions.softmax(input, _dim_of(input, dim), dtype=dtype)


def log_softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """ln softmax(x) along `dim` (as in `softmax`), accurate where softmax rounds to 0."""
    return functions.log_softmax(input, _dim_of(input, dim), dtype=dtype)


def softmin(input: Any, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """softmax of −x."""
    return softmax(-as_tensor(input), dim, dtype=dtype)


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """softmax((x + Gumbel noise) / τ): a draw of one class, made differentiable. hard: a 1 in the
    largest place, with the soft derivative.

    Source: Jang, Gu & Poole, Categorical reparameterization with Gumbel-softmax (2017).
    """
    x = as_tensor(logits)
    noise = -functions.log(
        -functions.log(functions.rand_like(x, dtype=backend.float64).clamp(1e-300, 1 - 2.0**-53))
    )
    y = softmax((x + noise.to(x.dtype)) / tau, dim)
    if not hard:
        return y
    axis = axis_of(x.ndim, dim, "gumbel_softmax")
    one = functions.movedim(one_hot(y.argmax(axis), y.shape[axis]), -1, axis).to(y.dtype)
    return one - y.detach() + y
