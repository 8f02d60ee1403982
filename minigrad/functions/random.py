"""Random tensors, and the seed and state that they come from. None has a derivative."""

from __future__ import annotations

import operator
from typing import Any

from .. import backend
from ..batching import drawn
from ..core.tensor import Tensor, alias, as_tensor
from ..entry_points import new_tensor
from ..errors import DTypeError
from ..names import TensorLike, public, publish
from ..ops import random as random_ops
from .arguments import like, not_below, not_negative, sizes_of


def manual_seed(seed: int) -> None:
    """Start the random numbers of every device from a seed. Kinds of devices have different
    numbers.
    """
    random_ops.seed(seed)


def random_state() -> Any:
    """The state of the CPU's random numbers, for `set_random_state`. CuPy's generators do not
    offer theirs.
    """
    return random_ops.generator().bit_generator.state


def set_random_state(state: Any) -> None:
    """Continue the CPU's random numbers from a state that `random_state` gave."""
    random_ops.generator().bit_generator.state = state


get_rng_state, set_rng_state = random_state, set_random_state


def _drawn(operation: Any, size: Any, device: Any, requires_grad: bool, **how: Any) -> Tensor:
    """What an operation draws on a device, the CPU by default."""
    if device is not None and str(device) != "cpu":
        how["device"] = str(device)
    numbers = drawn(lambda shape: operation(shape=shape, **how), not_negative(sizes_of(size)))
    return new_tensor(numbers, requires_grad)


@public(method=False, out=True)
def rand(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform random numbers in [0, 1)."""
    dtype = backend.as_dtype(dtype) or backend.default_dtype()
    return _drawn(random_ops.uniform, size, device, requires_grad, dtype=dtype)


@public(method=False, out=True)
def randn(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Normal random numbers, mean 0, variance 1. A complex dtype gives variance 1 in total."""
    dtype = backend.as_dtype(dtype) or backend.default_dtype()
    return _drawn(random_ops.normal, size, device, requires_grad, dtype=dtype)


@public(method=False, out=True)
def randint(
    low: Any = None,
    high: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers in [low, high), or [0, low) if one bound is given: `randint(10, (2, 3))`,
    `randint(5, 10, (2, 3))` or `randint(high=10, size=(2, 3))`. Raises ValueError where there is no
    integer between the bounds.
    """
    if isinstance(high, list | tuple):
        low, high, size = None, low, high
    elif high is None:
        low, high = None, low
    if high is None:
        raise TypeError("randint: give a bound and a size, as in randint(10, (2, 3)).")
    low, high = (operator.index(v) for v in (0 if low is None else low, high))
    if low >= high:
        raise ValueError(f"randint: low must be smaller than high, got low={low} and high={high}.")
    kind = backend.as_dtype(dtype) or backend.int64
    how = {"low": low, "high": high, "dtype": kind}
    return _drawn(random_ops.integers, [size or ()], device, requires_grad, **how)


def rand_like(
    x: TensorLike, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Uniform random numbers in the shape and dtype of x."""
    x = as_tensor(x)
    return rand(x.shape, requires_grad=requires_grad, **like(x, dtype, device))


def randn_like(
    x: TensorLike, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Normal random numbers in the shape and dtype of x."""
    x = as_tensor(x)
    return randn(x.shape, requires_grad=requires_grad, **like(x, dtype, device))


def randint_like(
    x: TensorLike,
    low: int | None = None,
    high: int | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Random integers in [low, high), or [0, low), in the shape and (unless given) dtype of x."""
    x = as_tensor(x)
    return randint(low, high, x.shape, **like(x, dtype, device))


@public(method=False, out=True)
def randperm(n: int, *, dtype: Any = None, device: Any = None) -> Tensor:
    """0 … n-1 in random order (int64)."""
    order = rand(n, dtype=backend.float64).argsort()
    return order.to(dtype or backend.int64, device=device or "cpu")


@public(method=False, out=True)
def normal(
    mean: TensorLike,
    std: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal random numbers with the given means and standard deviations: tensors that
    broadcast, or numbers and a size. Drawn in `dtype`, else in that of the tensors. No history.
    """
    if not isinstance(std, Tensor):
        not_below("normal", "std", std, 0)
    elif bool((std < 0).any()):
        raise ValueError("normal: no element of std may be negative.")
    mean, std = (v.detach() if isinstance(v, Tensor) else v for v in (mean, std))
    place = device or next((v.device for v in (mean, std) if isinstance(v, Tensor)), "cpu")
    if size is None:
        like = as_tensor(mean) + std
        size = like.shape
        if dtype is None and like.dtype.kind == "f":
            dtype = like.dtype
    out = (randn(size, dtype=dtype, device=place) * std + mean).to(device=place)
    found: Tensor = out.requires_grad_() if requires_grad else out
    return found


@public(method=True, theirs="input")
def bernoulli(p: TensorLike) -> Tensor:
    """1 with probability p, else 0, for each element of the floating tensor p. No derivative.
    ValueError unless 0 <= p <= 1.
    """
    p = alias(as_tensor(p))
    if not backend.is_floating(p.dtype):
        raise DTypeError(f"bernoulli: needs probabilities of a floating dtype, got {p.dtype}.")
    if not bool(((p >= 0) & (p <= 1)).all()):
        raise ValueError("bernoulli: probabilities must lie between 0 and 1.")
    return (rand_like(p, dtype=backend.float64) < p).to(p.dtype)


publish(__name__, method=False)
