"""Where a user's call enters the engine: `mg.tensor(data)`, functions of one and of two operands,
Python's operators, `float(x)`, `x.backward()` and `x.grad`.

Files of functions/ and methods/ give them to users, with names and documentation.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from . import backend, explain, observers
from .backend import MODULES, as_payload
from .core import backward as core_backward
from .core import observe
from .core.graph import OpNode, state
from .core.primitive import Params, Primitive
from .core.tensor import Tensor, as_tensor, make_leaf, wrap


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A new leaf tensor holding a copy of `data` (numbers, nested lists, arrays, a tensor). Python
    floats become float32, arrays keep their dtype. Raises DTypeError for anything else."""
    given = data.array if isinstance(data, Tensor) else data
    return new_tensor(as_payload(given, dtype), requires_grad, device)


# SINGA's `from minigrad import tensor; tensor.Tensor(…)`: here `tensor` is PyTorch's function
setattr(tensor, "Tensor", Tensor)  # noqa: B010


def new_tensor(array: Any, requires_grad: bool = False, device: Any = None) -> Tensor:
    """A tensor that the user makes, with this payload, moved to a device."""
    if device is not None:
        array = backend.to_device(array, str(device))
    out = wrap(backend.canonical(array))
    if requires_grad:
        make_leaf(out)
    return made_of_data(out) if observe.observers else out


def made_of_data(tensor: Tensor) -> Tensor:
    """Tell observers of a tensor that was made of data, not by an operation, and return it."""
    if observe.observers:
        observers.notify("tensor_made", tensor)
    return tensor


def function_of_one(prim: Primitive, params: Params, into: Callable[..., Tensor]) -> Any:
    """The function that users call for an operation of one operand, such as `mg.log(x)`.

    into: what writes a result into `out=` (names.py).
    """

    def function(input: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            return into(out, function(input), prim.name, (input,))
        return prim.call_unary(input if type(input) is Tensor else as_tensor(input), params)

    return function


def function_of_two(prim: Primitive, into: Callable[..., Tensor]) -> Any:
    """The function that users call for an operation of two operands, such as `mg.mul(a, b)`."""

    def function(input: Any, other: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            return into(out, function(input, other), prim.name, (input, other))
        if not isinstance(input, Tensor) and not isinstance(other, Tensor):
            input = as_tensor(input)
        return prim(input, other)

    return function


def operator_of(operation: Callable[[Any, Any], Any], reflected: bool = False) -> Any:
    """The method `self op other` of tensors (or `other op self`), which leaves foreign types to
    their own methods."""

    def method(self: Any, other: Any) -> Any:
        if type(other) is not Tensor and not is_operand(other):
            return NotImplemented
        return operation(other, self) if reflected else operation(self, other)

    return method


def is_operand(value: Any) -> bool:
    """Whether operations take `value`; Python asks other types for their own operators."""
    known = isinstance(value, Tensor | list | tuple) or type(value) in MODULES
    return known or hasattr(value, "__array__") or hasattr(type(value), "__minigrad_apply__")


def item(self: Tensor) -> Any:
    """The one element as a Python number. Raises RuntimeError for several elements."""
    if math.prod(self.array.shape) != 1:
        raise explain.not_one_element(self)
    if observe.observers:
        observers.notify("read", self, "item")
    return backend.to_numpy(self.array).item()


def as_number(kind: type) -> Any:
    """The method behind `float(x)`, and so behind `math.sin(x)`; observers are told."""

    def method(self: Tensor) -> Any:
        if observe.observers:
            observers.notify("read", self, kind.__name__)
        return kind(item(self))

    return method


def backward_method(run_backward: Callable[..., None]) -> Callable[..., None]:
    """The method `Tensor.backward`. run_backward: what handles `inputs=` and vmap
    (autograd/backward.py)."""

    def backward(
        self: Tensor,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add the gradient of this tensor with respect to each leaf to the leaf's `.grad`. See
        `minigrad.autograd.backward`.
        """
        if inputs is None and not state.batches:
            core_backward.backward(self, gradient, retain_graph, create_graph)
        else:
            run_backward(self, gradient, retain_graph, create_graph, inputs, None)

    return backward


def _get_grad(self: Tensor) -> Tensor | None:
    if self.stored_grad is None and isinstance(self.node, OpNode) and self.node.retained is None:
        warnings.warn(
            "the .grad of a tensor that is the result of an operation was asked for. It stays None:"
            " backward passes keep those of leaves only. Call x.retain_grad() before the backward"
            " pass to keep this one. If it shall be a parameter, as in w = w - lr * w.grad, change"
            " the leaf itself instead: with mg.no_grad(): w -= lr * w.grad.",
            stacklevel=2,
        )
    return self.stored_grad


def _set_grad(self: Tensor, value: Any) -> None:
    explain.check_gradient(self, value)
    self.stored_grad = value


grad = property(
    _get_grad,
    _set_grad,
    lambda self: _set_grad(self, None),
    doc="The gradient that backward passes have added up here, or None.",
)
