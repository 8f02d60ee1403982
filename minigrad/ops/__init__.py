"""The operations: tables of declarations, each with its forward function and its derivative rules
side by side.

Rules use the operations themselves, never `xp`, no item assignment, no branch on data: so one line
serves raw arrays, tensors, and graphs.
"""

from . import (
    chance,
    device,
    diagonals,
    elementwise,
    factorisations,
    fourier,
    index,
    linalg,
    network,
    recurrent,
    reduce,
    scans,
    shape,
    sliding,
    sorting,
    special,
    windows,
)

__all__ = [
    "chance",
    "device",
    "diagonals",
    "elementwise",
    "factorisations",
    "fourier",
    "index",
    "linalg",
    "network",
    "recurrent",
    "reduce",
    "scans",
    "shape",
    "sliding",
    "sorting",
    "special",
    "windows",
]
