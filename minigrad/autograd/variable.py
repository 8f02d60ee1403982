"""The old name of a tensor that can have a gradient, kept so that old programs run:
`Variable(tensor)` returns a Tensor.
"""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor, alias, as_tensor, make_leaf


class _AnyTensor(type):
    """Makes every Tensor an instance of Variable."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, Tensor)


class Variable(metaclass=_AnyTensor):
    """Deprecated: tensors with requires_grad=True do all that a Variable did. `Variable(data,
    requires_grad)` is a new Tensor on the same memory.

    data: a tensor (or whatever `tensor` takes); requires_grad: ask for gradients. Raises DTypeError
    if they are asked of integers.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False) -> Any:
        out = alias(as_tensor([] if data is None else data))
        if requires_grad:
            make_leaf(out)
        return out
