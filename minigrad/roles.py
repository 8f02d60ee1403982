"""What a tensor is for the module whose attribute it is: a parameter or a buffer."""

from __future__ import annotations

import weakref
from typing import Any

from .core.tensor import Tensor

_roles: dict[int, tuple[weakref.ref[Tensor], str]] = {}
"""By identity, the living tensors that `nn.Parameter` and `nn.Buffer` made."""


def role_of(tensor: Any) -> str | None:
    """ "parameter", "buffer", "transient" (a buffer that is not part of the state), or None for
    other tensors."""
    found = _roles.get(id(tensor))
    return None if found is None else found[1]


def set_role(tensor: Tensor, role: str | None) -> None:
    """Say what a tensor is for the module whose attribute it becomes."""
    number = id(tensor)
    if role is not None:
        _roles[number] = (weakref.ref(tensor, lambda _: _roles.pop(number, None)), role)
