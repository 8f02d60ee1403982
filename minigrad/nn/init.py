"""How parameters begin: numbers whose size keeps the variance of activations and gradients alike
through the layers.

For a layer that sums n inputs, weights of variance 1/n keep the variance forward, and 1/(number of
outputs) keeps it backward. Xavier's compromise is 2/(n_in + n_out); Kaiming's 2/n_in makes up for a
ReLU, which drops half. All functions fill a tensor in place, outside the graph, and return it.
Sources: Glorot & Bengio 2010; He et al. 2015; Saxe et al. 2014 (`orthogonal_`).
"""

from __future__ import annotations

import math
import sys
from typing import Any

from .. import functions
from ..core.tensor import Tensor, write_payload
from ..errors import ShapeError, with_hints


def _filled(tensor: Tensor, values: Any) -> Tensor:
    write_payload(tensor, values.array if isinstance(values, Tensor) else values)
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform in [a, b)."""
    return _filled(tensor, functions.rand_like(tensor) * (b - a) + a)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal."""
    return _filled(tensor, functions.randn_like(tensor) * std + mean)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Tensor:
    """Normal, drawn again where outside [a, b]."""
    values = functions.randn_like(tensor) * std + mean
    if not (b - mean) / std > -6 or not (a - mean) / std < 6:
        raise ValueError(f"trunc_normal_: [{a}, {b}] lies too far from mean {mean} (std {std}).")
    while True:
        outside = (values < a) | (values > b)
        if not bool(outside.any()):
            return _filled(tensor, values)
        values = functions.where(outside, functions.randn_like(tensor) * std + mean, values)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value everywhere."""
    return _filled(tensor, functions.full_like(tensor, val))


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1.0)


def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere."""
    if tensor.ndim != 2:
        raise ShapeError(f"eye_: needs a matrix, got shape {tensor.shape}.")
    return _filled(tensor, functions.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs each output sums, and how many outputs each input reaches: weights are
    (outputs, inputs, *kernel).
    """
    if tensor.ndim < 2:
        raise ShapeError(
            "the numbers of inputs and outputs need a weight of at least 2 dimensions, got shape"
            f" {tensor.shape}."
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much an activation shrinks a standard deviation, inverted: √2 for "relu", 5/3 for
    "tanh", √(2 / (1 + slope²)) for "leaky_relu".
    """
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, int | float | None):
            raise ValueError(f"calculate_gain: the slope must be a number, got {param!r}.")
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    linear = "linear identity sigmoid".split()
    linear += [f"conv{kind}{axes}d" for kind in ("", "_transpose") for axes in (1, 2, 3)]
    gains = {**dict.fromkeys(linear, 1.0), "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75}
    if nonlinearity not in gains:
        raise ValueError(
            f"calculate_gain: unknown nonlinearity {nonlinearity!r}; known are"
            f" {', '.join(sorted([*gains, 'leaky_relu']))}."
        )
    return gains[nonlinearity]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform with variance gain² · 2 / (inputs + outputs)."""
    bound = gain * math.sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal with variance gain² · 2 / (inputs + outputs)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans(tensor))))


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f'mode must be "fan_in" or "fan_out", got {mode!r}.')
    return calculate_gain(nonlinearity, a) / math.sqrt(fans(tensor)[mode == "fan_out"])


def kaiming_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Uniform with variance gain² / inputs (or outputs), the gain that of `nonlinearity`; a is
    the slope of leaky_relu.
    """
    bound = math.sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Normal with variance gain² / inputs (or outputs), the gain that of `nonlinearity`; a is
    the slope of leaky_relu.
    """
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity))


def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """A random matrix with orthonormal rows or columns (whichever are fewer), times gain;
    further axes count as columns.
    """
    if tensor.ndim < 2:
        raise ShapeError(f"orthogonal_: needs at least 2 dimensions, got shape {tensor.shape}.")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    vectors: list[Tensor] = []  # Gram and Schmidt, twice over for the sake of rounding
    for _ in range(min(rows, columns)):
        v = functions.randn(max(rows, columns), dtype="float64", device=tensor.device)
        for _again in range(2):
            for u in vectors:
                v = v - (u * v).sum() * u
        vectors.append(v / functions.sqrt((v * v).sum()))
    matrix = functions.stack(vectors) if vectors else functions.zeros(0, max(rows, columns))
    return _filled(tensor, (matrix if rows <= columns else matrix.t()).reshape(tensor.shape) * gain)


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The weight of a convolution that copies its input's channels (those of each group), as far
    as there are as many: (out, in, ...) of 3 to 5 axes, else ShapeError; ValueError where groups
    do not divide the outputs.
    """
    if tensor.ndim not in (3, 4, 5):
        raise ShapeError(
            f"dirac_: needs the weight of a convolution (3 to 5 dimensions), got shape"
            f" {tensor.shape}."
        )
    outputs, inputs, *window = tensor.shape
    if outputs % groups:
        raise ValueError(f"dirac_: groups={groups} does not divide {outputs} outputs.")
    values, size = functions.zeros_like(tensor), outputs // groups
    middle = tuple(n // 2 for n in window)
    for group in range(groups):
        for i in range(min(size, inputs)):
            values[(group * size + i, i, *middle)] = 1
    return _filled(tensor, values)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01) -> Tensor:
    """A matrix of normal numbers, of which the share `sparsity` of each column, at random places,
    is 0. Source: Martens 2010. Raises ShapeError for other shapes."""
    if tensor.ndim != 2:
        raise ShapeError(f"sparse_: needs a matrix, got shape {tensor.shape}.")
    rows, columns = tensor.shape
    values = functions.randn_like(tensor) * std
    zeros = math.ceil(sparsity * rows)
    for column in range(columns):
        values[functions.randperm(rows)[:zeros], column] = 0
    return _filled(tensor, values)


def uniform_by_fan_in(weight: Tensor, bias: Tensor | None, fan_in: int) -> None:
    """PyTorch's default for linear layers and convolutions: weight and bias uniform within
    1/√fan_in.
    """
    bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
    uniform_(weight, -bound, bound)
    if bias is not None:
        uniform_(bias, -bound, bound)


with_hints(sys.modules[__name__])
