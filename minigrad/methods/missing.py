"""What is said about attributes that tensors do not have."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import did_you_mean
from ..names import attach


def _no_such_attribute(self: Tensor, name: str) -> Any:
    """Python asks this for names that are nowhere else."""
    hint = (
        ""
        if name.startswith("__")
        else did_you_mean(name, [n for n in dir(Tensor) if n not in _NEARLY], "Tensor")
    )
    raise AttributeError(f"a Tensor has no attribute {name!r}.{hint}", name=name)


attach("__getattr__", _no_such_attribute)
_NEARLY = (
    "grads label name req_grad require_grad require_gradient required_grad requiregrad"
    " requires_gradient requiresgrad".split()
)


class _Nearly:
    """An attribute that tensors do not have and that cannot be set: a slip in `requires_grad`,
    or micrograd's label.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, tensor: Tensor | None, owner: type | None = None) -> Any:
        if tensor is None:
            return self
        raise AttributeError(self.name)  # `__getattr__` says the rest

    def __set__(self, tensor: Tensor, value: Any) -> None:
        _no_such_attribute(tensor, self.name)


def _names_of_attributes(self: Tensor) -> list[str]:
    """What `dir` and tab completion list: the slips are not among them."""
    return sorted(set(object.__dir__(self)) - set(_NEARLY))


attach("__dir__", _names_of_attributes, listed=False)
for _name in _NEARLY:
    _slip = _Nearly()
    _slip.__set_name__(Tensor, _name)
    attach(_name, _slip, listed=False)
