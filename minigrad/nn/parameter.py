"""`Parameter` and `Buffer`: tensors that a module registers when they become its attributes.
Source: PyTorch's torch.nn.

There is no class of tensors behind either name: operations know one Tensor. The role is noted
beside the tensor (roles.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import functions
from ..core.tensor import Tensor, alias, make_leaf
from ..roles import role_of, set_role


def _on_the_same_memory(data: Any) -> Tensor:
    return alias(data) if isinstance(data, Tensor) else Tensor([] if data is None else data)


class _Parameters(type):
    """What makes `Parameter(data)` a tensor, and `isinstance(tensor, Parameter)` a question
    about its role.
    """

    def __call__(cls, data: Any = None, requires_grad: bool = True) -> Tensor:
        made = _on_the_same_memory(data)
        if requires_grad:
            make_leaf(made)
        set_role(made, "parameter")
        return made

    def __instancecheck__(cls, thing: Any) -> bool:
        return role_of(thing) == "parameter"


class _Buffers(type):
    """What makes `Buffer(data)` a tensor, and `isinstance(tensor, Buffer)` a question about its
    role.
    """

    def __call__(cls, data: Any = None, *, persistent: bool = True) -> Tensor:
        made = _on_the_same_memory(data)
        if isinstance(data, Tensor) and data.requires_grad:
            make_leaf(made)
        set_role(made, "buffer" if persistent else "transient")
        return made

    def __instancecheck__(cls, thing: Any) -> bool:
        return role_of(thing) in ("buffer", "transient")


if TYPE_CHECKING:  # type checkers do not look at a metaclass's __call__
    Parameter = Tensor

    def Buffer(data: Any = None, *, persistent: bool = True) -> Tensor: ...

else:

    class Parameter(metaclass=_Parameters):
        """`Parameter(data, requires_grad=True)`: data as a leaf that, as an attribute of a Module,
        is one of its parameters.

        It has the memory of a tensor that is given, without its history, and a copy of anything
        else. It stays a parameter when it is frozen (`requires_grad_(False)`), copied or pickled;
        `isinstance(p, Parameter)` holds for these tensors alone.
        """

    class Buffer(metaclass=_Buffers):
        """`Buffer(data, persistent=True)`: data as a tensor that, as an attribute of a Module, is
        one of its buffers.

        It has the memory of a tensor that is given. persistent: whether it is part of the module's
        state.
        """


def trained(*shape: int, when: bool = True, dtype: Any = None, device: Any = None) -> Any:
    """Zeros that a layer trains, or None unless `when`."""
    return Parameter(functions.zeros(*shape, dtype=dtype, device=device)) if when else None
