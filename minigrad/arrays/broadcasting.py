"""Several tensors, or shapes, broadcast against each other."""

from __future__ import annotations

from typing import Any

from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError, one_of
from ..names import public, publish


@public(method=False)
def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape to which all broadcast. Raises ShapeError if there is none."""
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    if any(n < 0 for s in given for n in s):
        raise ShapeError(f"broadcast_shapes: sizes cannot be negative, got {given}.")
    full = [1] * max((len(s) for s in given), default=0)
    for shape in given:
        for i, n in enumerate(reversed(shape), 1):
            if n != 1 and full[-i] not in (1, n):
                raise ShapeError(f"shapes {given} do not broadcast: sizes {full[-i]} and {n} meet.")
            full[-i] = n if n != 1 else full[-i]
    return tuple(full)


@public(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All expanded to their common shape (views); those that have it already are returned
    themselves.
    """
    parts = [as_tensor(x) for x in tensors]
    shape = broadcast_shapes(*(x.shape for x in parts))
    return tuple(x if x.shape == shape else fn.broadcast_to(x, shape) for x in parts)


@public(method=False)
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """For vectors of lengths n, m, … tensors of shape (n, m, …): the k-th repeats the k-th vector
    along all other dimensions (views). indexing "xy" exchanges the first two dimensions.
    """
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
    one_of("meshgrid", "indexing", indexing, "ij", "xy")
    parts = [as_tensor(x) for x in given]
    if not parts:
        raise ValueError("meshgrid: needs at least one tensor.")
    if any(x.ndim > 1 for x in parts):
        raise ShapeError(
            f"meshgrid: needs vectors or numbers, got shapes {[x.shape for x in parts]}."
        )
    rank = len(parts)
    grids = broadcast_tensors(
        *(x.reshape([-1 if i == k else 1 for i in range(rank)]) for k, x in enumerate(parts))
    )
    return tuple(fn.transpose(g, 0, 1) for g in grids) if indexing == "xy" and rank > 1 else grids


publish(__name__)
