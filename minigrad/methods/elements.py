"""Methods that read and overwrite elements: indexing, assignment, and filling with values or
random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .. import backend, functions
from ..core.graph import OpNode
from ..core.tensor import Tensor, current_node, wrap, write_payload
from ..core.views import assign, check_target
from ..errors import InPlaceError, ShapeError
from ..functions import not_below, plain_index
from ..functions.arguments import tensor_for_cast
from ..names import attach, method
from ..ops import elementwise as ew
from ..ops import index as ix


@method
def __len__(self: Tensor) -> int:
    if self.ndim == 0:
        raise TypeError("len() of a 0-d tensor")
    return self.shape[0]


@method
def __iter__(self: Tensor) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return (self[i] for i in range(self.shape[0]))


@method
def __reversed__(self: Tensor) -> Tensor:
    """The rows in reverse order, as a tensor; a 0-d tensor itself."""
    return functions.flip(self, 0) if self.ndim else self


@method
def __contains__(self: Tensor, value: Any) -> bool:
    return bool(functions.any(ew.eq(self, value)))


@method
def __getitem__(self: Tensor, index: Any) -> Tensor:
    return functions.getitem(self, index)


@method
def __setitem__(self: Tensor, index: Any, value: Any) -> None:
    value = _on_device_of(value, self)
    plain = plain_index(index, self.array)
    if ix.is_basic(plain):
        region = functions.getitem(self, plain)
        lead = value.ndim - region.ndim
        if lead > 0 and set(value.shape[:lead]) <= {1}:
            value = functions.reshape(value, value.shape[lead:])
        if region.view_of is None:  # the whole of a tensor that is one number
            region = self
        _write(region, value, "x[index] = value")
        return
    check_target(self, "x[index] = value", requires_grad=value.node is not None)
    numbers, rest = ix.numbers_first(plain)
    if numbers is not None:
        functions.getitem(self, numbers)[rest] = value
        return
    if value.dtype.kind == "c" and self.dtype.kind != "c":
        raise InPlaceError(
            f"x[index] = value: complex values cannot be written into a {self.dtype} tensor; take"
            " .real first."
        )
    if value.dtype != self.dtype:
        value = value.to(self.dtype)
    # more dimensions than the region has: leading ones say nothing
    while value.ndim and value.shape[0] == 1:
        value = functions.reshape(value, value.shape[1:])
    try:
        replaced = ix.index_put(self, value, index=plain, accumulate=False)
    except IndexError as error:
        raise IndexError(f"x[index] = value with x of shape {self.shape}: {error}.") from None
    except (TypeError, ValueError):
        indexed = functions.getitem(self.detach(), plain).shape
        raise ShapeError(
            f"x[index] = value with x of shape {self.shape}: a value of shape {value.shape} does"
            f" not broadcast to the indexed region of shape {indexed}."
        ) from None
    assign(self, replaced, "x[index] = value")


def _on_device_of(value: Any, target: Tensor) -> Tensor:
    """`value` as a tensor on the device of `target`, ready to be written there."""
    value = tensor_for_cast(value, target.dtype)
    out: Tensor = (
        value
        if backend.same_device(value.array, target.array)
        else value.to(device=backend.device_of(target.array))
    )
    return out


def _write(target: Tensor, value: Tensor, operation: str) -> Tensor:
    """Overwrite a tensor or view with a value that broadcasts to it, with history."""
    uniform = value.node is None and value.numel() == 1
    check_target(target, operation, value.node is not None, uniform)
    if value.dtype.kind == "c" and target.dtype.kind != "c":
        raise InPlaceError(
            f"{operation}: complex values cannot be written into a {target.dtype} tensor; take"
            " .real first."
        )
    padded = (1,) * (target.ndim - value.ndim) + value.shape
    if len(padded) != target.ndim or any(
        a not in (1, b) for a, b in zip(padded, target.shape, strict=True)
    ):
        raise ShapeError(
            f"{operation}: a value of shape {value.shape} does not broadcast to the target of shape"
            f" {target.shape}."
        )
    return assign(target, ew.overwrite(target, value), operation, uniform, checked=True)


@method
def index_put_(
    self: Tensor, indices: tuple[Any, ...], values: Any, accumulate: bool = False
) -> Tensor:
    """Write `values` at the indices, in place; `accumulate` adds them, repeated indices several
    times.
    """
    check_target(self, "index_put_")
    plain = plain_index(tuple(indices), self.array)
    return assign(
        self,
        ix.index_put(
            self, _on_device_of(values, self).to(self.dtype), index=plain, accumulate=accumulate
        ),
        "index_put_",
    )


@method
def copy_(self: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite with `source`, which broadcasts and is converted; gradients flow to the source.
    non_blocking changes nothing: copies are in order.
    """
    return _write(self, _on_device_of(source, self), "copy_")


@method
def fill_(self: Tensor, value: Any) -> Tensor:
    """Overwrite every element with one value; gradients to the old values are zero."""
    return _write(self, _on_device_of(value, self), "fill_")


@method
def zero_(self: Tensor) -> Tensor:
    """Overwrite with zeros."""
    return _write(self, _on_device_of(0, self), "zero_")


@method
def gaussian(self: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Overwrite with normal random numbers (SINGA's name), outside the graph."""
    not_below("normal_", "std", std, 0)
    return _outside(self, functions.randn(*self.shape, dtype=self.dtype) * std + mean)


@method
def uniform(self: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Overwrite with uniform random numbers (SINGA's name), outside the graph."""
    not_below("uniform_", "high", high, low)
    return _outside(self, functions.rand(*self.shape, dtype=self.dtype) * (high - low) + low)


@method
def set_value(self: Tensor, value: float) -> Tensor:
    """Overwrite every element with one number (SINGA's name), outside the graph."""
    return _outside(self, wrap(backend.as_payload(value, self.dtype)))


attach("normal_", gaussian)
attach("uniform_", uniform)


@method
def bernoulli_(self: Tensor, p: Any = 0.5) -> Tensor:
    """Overwrite with 1 (with probability p) and 0, outside the graph."""
    check_target(self, "bernoulli_")
    return _outside(
        self,
        functions.bernoulli(
            functions.full(self.shape, p, dtype=backend.float64) if not isinstance(p, Tensor) else p
        ),
    )


@method
def random_(self: Tensor, low: int = 0, high: int | None = None) -> Tensor:
    """Overwrite with random integers in [low, high) ([0, low) if one bound is given, by default as
    far as the dtype holds every integer), outside the graph.
    """
    check_target(self, "random_")
    if high is None:
        largest = (
            int(2 / backend.precision(self.dtype))
            if backend.is_floating(self.dtype)
            else int(backend.iinfo(self.dtype).max)
        )
        low, high = 0, low or largest
    return _outside(self, functions.randint(low, high, self.shape))


@method
def exponential_(self: Tensor, lambd: float = 1.0) -> Tensor:
    """Overwrite with exponentially distributed random numbers of rate `lambd`, outside the
    graph.
    """
    check_target(self, "exponential_")
    if not lambd > 0:
        raise ValueError(f"exponential_: lambd must be larger than 0, got {lambd!r}.")
    return _outside(
        self, -functions.log1p(-functions.rand(self.shape, dtype=backend.float64)) / lambd
    )


def _uniform(self: Tensor, name: str) -> Tensor:
    """Numbers between 0 and 1, both excluded, in float64 and this tensor's shape."""
    check_target(self, name)
    return functions.rand(self.shape, dtype=backend.float64) * (1 - 2.0**-53) + 2.0**-54


@method
def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Overwrite with random numbers of Cauchy's distribution around `median`, `sigma` wide,
    outside the graph.
    """
    if not sigma > 0:
        raise ValueError(f"cauchy_: sigma must be larger than 0, got {sigma!r}.")
    return _outside(
        self, functions.tan(math.pi * (_uniform(self, "cauchy_") - 0.5)) * sigma + median
    )


@method
def geometric_(self: Tensor, p: float) -> Tensor:
    """Overwrite with how many trials (1, 2, …) it takes until one succeeds, each with probability
    p; outside the graph. ValueError unless 0 < p < 1.
    """
    if not 0 < p < 1:
        raise ValueError(f"geometric_: p must be between 0 and 1, got {p!r}.")
    return _outside(
        self, functions.ceil(functions.log(_uniform(self, "geometric_")) / math.log1p(-p))
    )


@method
def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0) -> Tensor:
    """Overwrite with e to the power of normal random numbers with that mean and standard
    deviation, outside the graph.
    """
    check_target(self, "log_normal_")
    if not std > 0:
        raise ValueError(f"log_normal_: std must be larger than 0, got {std!r}.")
    return _outside(
        self, functions.exp(functions.randn(self.shape, dtype=backend.float64) * std + mean)
    )


def _outside(self: Tensor, values: Tensor) -> Tensor:
    if isinstance(current_node(self), OpNode):
        raise InPlaceError(
            "this tensor is the result of an operation; fill a tensor of its own instead."
        )
    write_payload(self, backend.to_device_of(values.array, self.array))
    return self


@method
def fill_diagonal_(self: Tensor, value: Any) -> Tensor:
    """Overwrite the main diagonal of a matrix with one number."""
    self.diagonal().fill_(value)
    return self


def _where(self: Tensor, condition: Any, other: Any) -> Tensor:
    """This tensor where the condition holds, `other` elsewhere."""
    return functions.where(condition, self, other)


attach("where", _where)
