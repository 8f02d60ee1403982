"""The operations: tables of declarations, each with its forward function and its derivative rules side by side.

Rules use the operations themselves, never `xp`, no item assignment, no branch on data: so one line serves raw arrays, tensors, and graphs.
"""

from . import device, elementwise, index, linalg, reduce, shape

__all__ = ["device", "elementwise", "index", "linalg", "reduce", "shape"]
