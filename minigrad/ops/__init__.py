"""The operations: tables of declarations, each with its forward function and its derivative rules
side by side.

Rules use the operations themselves, never `xp`, no item assignment, no branch on data: so one line
serves raw arrays, tensors, and graphs.
"""

from __future__ import annotations

from importlib import import_module

from ..core.primitive import Primitive, registry
from . import (  # noqa: F401
    convolution,
    device,
    diagonals,
    elementwise,
    index,
    linalg,
    network,
    pooling,
    random,
    recurrent,
    reduce,
    scans,
    shape,
    sliding,
    sorting,
)

LOADED_ON_FIRST_USE = (
    "..extras.operations",
    "..fft.transform",
    "..linalg.factorisations",
    "..special.operations",
    "..special.bessel",
)
"""More tables of declarations, beside the functions that use them."""


def find(name: str) -> Primitive | None:
    """The operation of that name, also one that is loaded on first use; None if there is none."""
    if name not in registry:
        load()
    return registry.get(name)


def load() -> None:
    """Load all operations."""
    for module in LOADED_ON_FIRST_USE:
        import_module(module, __package__)
