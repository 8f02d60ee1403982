"""Choices of elements: one of each vector, or several of one."""

from __future__ import annotations

from itertools import combinations as _choices
from itertools import combinations_with_replacement as _choices_with_replacement
from typing import Any

from .. import backend
from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..names import TensorLike, public, publish
from .broadcasting import meshgrid


@public(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """All ways to take one element of each vector, one a row, the last vector's elements
    changing fastest.
    """
    vectors = [as_tensor(x) for x in tensors]
    if len(vectors) == 1:
        return vectors[0]
    return fn.stack([grid.reshape(-1) for grid in meshgrid(*vectors, indexing="ij")], 1)


@public(method=False)
def combinations(x: TensorLike, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, in its order, one a row."""
    x = as_tensor(x)
    if x.ndim != 1 or r < 0:
        raise ShapeError(
            f"combinations: needs a vector and r >= 0, got shape {x.shape} and r = {r}."
        )
    chosen = list(
        (_choices_with_replacement if with_replacement else _choices)(range(x.shape[0]), r)
    )
    index = (
        fn.tensor(chosen, dtype=backend.int64)
        if chosen and r
        else fn.zeros((len(chosen), r) if r else (0,), dtype=backend.int64)
    )
    return fn.getitem(x, index)


publish(__name__)
