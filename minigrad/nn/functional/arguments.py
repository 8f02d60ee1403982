"""What the families share: one number an axis, indices that are in range, shapes, stretches and
tables along an axis, results in place.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

from ... import backend, functions
from ...backend import DType
from ...core.tensor import Tensor, as_tensor, wrap
from ...core.views import assign, check_target
from ...errors import DTypeError, ShapeError

# ---------------------------------------------------------------------------------------- arguments


def each(value: Any, count: int, function: str, name: str, least: int = 0) -> tuple[int, ...]:
    """A number or a sequence as one int for each axis. Raises ValueError for another count, and
    below `least`, TypeError for what is no whole number.
    """
    if isinstance(value, str):
        raise ValueError(f"{function}: {name} must be one number or {count}, got {value!r}.")
    try:
        numbers = tuple(map(operator.index, value if hasattr(value, "__iter__") else (value,)))
    except TypeError:
        raise TypeError(f"{function}: {name} must be whole numbers, got {value!r}.") from None
    if len(numbers) == 1:
        numbers *= count
    if len(numbers) != count:
        raise ValueError(f"{function}: {name} must be one number or {count}, got {value!r}.")
    if any(n < least for n in numbers):
        raise ValueError(f"{function}: {name} must be at least {least}, got {value!r}.")
    return numbers


def as_shape(sizes: Any) -> tuple[int, ...]:
    """The sizes of some axes, or the size of one, as a tuple."""
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


def check_axes(x: Tensor, least: int, function: str, form: str) -> None:
    """Raise ShapeError if x has fewer axes than `least`; `form` is how they are written, as in
    "(…, C, H, W)".
    """
    if x.ndim < least:
        raise ShapeError(
            f"{function}: input must have at least {least} dimension{'s' if least > 1 else ''}"
            f" {form}, got shape {x.shape}."
        )


def check_integers(index: Tensor, function: str, what: str) -> None:
    """Raise DTypeError unless a tensor of indices holds integers."""
    if index.dtype.kind not in "iu":
        raise DTypeError(f"{function}: {what} must be integers, got {index.dtype}.")


def check_range(index: Tensor, count: int, function: str, what: str) -> None:
    """Raise IndexError unless all indices lie from 0 to count − 1."""
    # a batched value has no one answer; a device must not wait
    if not isinstance(index.array, backend.NumpyArray) or index.numel() == 0:
        return
    low, high = int(index.array.min()), int(index.array.max())
    if low < 0 or high >= count:
        raise IndexError(
            f"{function}: {what} {low if low < 0 else high} is out of range; there are {count},"
            " numbered from 0."
        )


# ----------------------------------------------------------------------------------- along one axis


def on_axis(numbers: Any, axis: int, ndim: int) -> Tensor:
    """n numbers in the shape in which they meet one axis of a tensor with `ndim` axes: (n, 1, …,
    1).
    """
    return as_tensor(numbers).reshape(-1, *(1,) * (ndim - 1 - axis))


def span(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    """x from `start` to before `stop` along an axis."""
    return x[(slice(None),) * axis + (slice(start, stop),)]


def read(x: Tensor, axis: int, places: list[int]) -> Tensor:
    """The elements of x at some places along an axis."""
    return x[(slice(None),) * axis + (table(places, backend.int64, x),)]


def table(numbers: list[Any], dtype: DType, beside: Tensor) -> Tensor:
    """A few numbers that depend on shapes only, on the device of a tensor. To a GPU each table
    travels once.
    """
    device = backend.device_of(beside.array)
    if device == "cpu":
        return functions.tensor(numbers, dtype=dtype)
    return wrap(_uploaded(tuple(numbers), dtype, device))


@functools.lru_cache(maxsize=256)
def _uploaded(numbers: tuple[Any, ...], dtype: DType, device: str) -> Any:
    return backend.to_device(backend.as_payload(list(numbers), dtype), device)


# ----------------------------------------------------------------------------------------- in place


def with_inplace(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function of a tensor with a last argument more, `inplace`: whether the result is written
    into the input.
    """
    name, signature = function.__name__, inspect.signature(function)
    last = len(signature.parameters)

    @functools.wraps(function)
    def run(input: Any, *args: Any, inplace: bool = False, **options: Any) -> Tensor:
        if len(args) == last:
            *args, inplace = args  # type: ignore[assignment]
        x = as_tensor(input)
        if not inplace:
            return function(x, *args, **options)
        # what rules keep must stay as it was
        return placed(
            function(functions.clone(x) if x.requires_grad else x, *args, **options), input, name
        )

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    option = inspect.Parameter("inplace", kind, default=False, annotation="bool")
    parameters = [*signature.parameters.values(), option]
    setattr(run, "__signature__", signature.replace(parameters=parameters))  # noqa: B010
    return run


def placed(y: Tensor, input: Any, function: str) -> Tensor:
    """The input, with y written into it."""
    check_target(input, function)
    return assign(input, y, function)


def channels_hint(shape: tuple[int, ...], channels: int, axes: int) -> str:
    """What may be meant by an input (N, C, …) whose number of channels is wrong, as the end of a
    message; "" where nothing fits.
    """
    if len(shape) == axes + 2 and shape[-1] == channels:
        order = ", ".join(map(str, (0, axes + 1, *range(1, axes + 1))))
        return (
            f" Channels come second: is {(shape[0], channels, *shape[1:-1])} meant? Write"
            f" x.permute({order})."
        )
    if len(shape) == axes + 1 and shape[-1] == channels:
        order = ", ".join(map(str, (axes, *range(axes))))
        return (
            f" Channels come first: is {(channels, *shape[:-1])} meant? Write x.permute({order})."
        )
    if len(shape) == axes + 1 and channels == 1:
        return f" For {shape[0]} samples of one channel write x.unsqueeze(1)."
    return ""
