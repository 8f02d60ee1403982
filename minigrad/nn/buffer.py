"""`Buffer`: a tensor that becomes a buffer of the module whose attribute it is made. Source: PyTorch's torch.nn.Buffer."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ..tensor import Tensor, alias, make_leaf

_marked: dict[int, tuple[weakref.ref[Tensor], bool]] = {}
"""By identity, the living tensors that `Buffer` made, and whether they are part of the state."""


def mark_of(tensor: Tensor) -> bool | None:
    """Whether a tensor that `Buffer` made is persistent; None for all others."""
    found = _marked.get(id(tensor)) if _marked else None
    return None if found is None else found[1]


class _Buffers(type):
    """What makes `Buffer(data)` a tensor, and `isinstance(tensor, Buffer)` a question about it."""

    def __call__(cls, data: Any = None, *, persistent: bool = True) -> Tensor:
        made = alias(data) if isinstance(data, Tensor) else Tensor([] if data is None else data)
        if isinstance(data, Tensor) and data.requires_grad:
            make_leaf(made)
        number = id(made)
        _marked[number] = (weakref.ref(made, lambda _: _marked.pop(number, None)), bool(persistent))
        return made

    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, Tensor) and mark_of(thing) is not None


if TYPE_CHECKING:  # type checkers do not look at a metaclass's __call__

    def Buffer(data: Any = None, *, persistent: bool = True) -> Tensor: ...

else:

    class Buffer(metaclass=_Buffers):
        """`Buffer(data, persistent=True)`: data as a tensor on the same memory that, as an attribute of a Module, is one of its buffers.

        persistent: whether it is part of the module's state. There is no such class of tensors: `isinstance(b, Buffer)` holds for those
        that were made here, as long as they live; a copy of a module has the same buffers, made of plain tensors.
        """
