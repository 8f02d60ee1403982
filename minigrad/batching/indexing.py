"""Reading with an index that differs between the examples: x[i] where i is batched.

All examples read at once. Where x itself is batched, each example reads its own part: the numbers 0
… B-1 along the batch axis join the index. Where x is the same for all (a table of embeddings), its
rows are read for the whole batch, and the gradient adds up in the one table.
"""

from __future__ import annotations

from typing import Any

from ..backend import index_array, int64
from ..core.tensor import Tensor
from ..errors import BatchingError
from ..ops import index as ix
from ..ops.index import explicit
from ..ops.shape import permute
from .boundary import enter, taken_out
from .value import Batched, aligned, axes_of, union


def is_batched_index(index: Any) -> bool:
    """Whether some part of an index is a batched payload."""
    return any(type(part) is Batched for part in (index if isinstance(index, tuple) else (index,)))


def getitem(x: Tensor, index: Any) -> Tensor:
    """x[index] for each example. Raises BatchingError for boolean masks, whose results have no
    common shape.
    """
    given = index if isinstance(index, tuple) else (index,)
    single = [type(part) is Batched and part.ndim == 0 for part in given]
    if any(single) and any(
        hasattr(part, "dtype") and not one for part, one in zip(given, single, strict=True)
    ):
        # One number for each example beside arrays: numbers come first, as in functions.getitem.
        first = tuple(
            part if one or part is Ellipsis else slice(None)
            for part, one in zip(given, single, strict=True)
            if part is not None
        )
        rest = tuple(part for part, one in zip(given, single, strict=True) if not one)
        chosen = getitem(x, first)
        return getitem(chosen, rest) if is_batched_index(rest) else ix.getitem(chosen, index=rest)
    parts = explicit(given, x.ndim)
    arrays = [part for part in parts if hasattr(part, "dtype")]
    if any(a.dtype.kind == "b" for a in arrays):
        raise BatchingError(
            "x[mask]: inside vmap, an index that differs between the examples cannot go with a"
            " boolean mask: each example would select another number of elements. Use where(mask,"
            " x, other)."
        )
    axes = union(arrays)
    rank = max(a.ndim for a in arrays)
    own = tuple(axis for axis in axes if axis in axes_of(x.array))
    for position, axis in enumerate(own):
        x = taken_out(x, axis, position)
    numbered = [_counting(axis.size, axes.index(axis), len(axes) + rank) for axis in own]
    spread = iter(aligned(arrays, axes, rank))
    full = (*numbered, *(next(spread) if hasattr(part, "dtype") else part for part in parts))
    result = ix.getitem(x, index=full)
    place = _place_of_arrays(full)
    for axis in axes:
        result = enter(result, place=axis, axis=place)
    wanted = _place_of_arrays(parts)
    if wanted != place:  # each example expects the dimensions of its index elsewhere
        order = [i for i in range(result.ndim) if not place <= i < place + rank]
        order[wanted:wanted] = range(place, place + rank)
        result = permute(result, axes=tuple(order))
    return result


def _counting(size: int, position: int, ndim: int) -> Any:
    """0 … size-1 along one axis of `ndim`."""
    return (
        index_array(list(range(size)))
        .astype(int64)
        .reshape(tuple(size if i == position else 1 for i in range(ndim)))
    )


def _place_of_arrays(parts: tuple[Any, ...]) -> int:
    """Where the dimensions of index arrays stand in the result: in place of the arrays if those
    are neighbours, else in front.
    """
    at = [i for i, part in enumerate(parts) if not (part is None or isinstance(part, slice))]
    return at[0] if at == list(range(at[0], at[-1] + 1)) else 0
