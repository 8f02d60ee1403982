"""The graph as users meet it: the type of `grad_fn`, and a word to the engine about memory that was changed behind its back."""

from __future__ import annotations

from typing import Any

from ..nodes import Node
from ..tensor import Tensor, memory_version

__all__ = ["Node", "increment_version"]


def increment_version(tensor: Any) -> None:
    """Count a change of the memory of a tensor (or several) that was made outside the library, so that the checks of saved values see it.

    Raises TypeError for what is no tensor.
    """
    for x in [tensor] if isinstance(tensor, Tensor) else tensor:
        if not isinstance(x, Tensor):
            raise TypeError(f"increment_version: needs tensors, got {type(x).__name__}.")
        memory_version(x).count += 1
