"""Parts of a tensor along a dimension: stretches, slices and splits.

What only looks at a part is a view. The several views of one split may not be changed in place
where gradients are concerned: as in PyTorch, that is an error.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..functions.arguments import whole_numbers
from ..names import TensorLike, public, publish
from ..ops import sliding
from .operands import along, existing_axis

# ----------------------------------------------------------------------------------------- one part


def narrow(x: TensorLike, dim: int, start: Any, length: int) -> Tensor:
    """The elements start … start + length - 1 of a dimension (a view). Raises IndexError where
    there are not so many.
    """
    x = as_tensor(x)
    axis = existing_axis(x, dim, "narrow")
    n = x.shape[axis]
    given = whole_numbers(start, "narrow", "start and length")
    first = given + n if given < 0 else given
    if length < 0 or not 0 <= first <= n or first + length > n:
        raise IndexError(
            f"narrow: start {given} and length {length} do not fit dimension {dim} of size {n}."
        )
    return x[along(axis, slice(first, first + length))]


def select(x: TensorLike, dim: int, index: int) -> Tensor:
    """The part at one index of a dimension (a view without that dimension)."""
    x = as_tensor(x)
    axis = existing_axis(x, dim, "select")
    if not -x.shape[axis] <= index < x.shape[axis]:
        raise IndexError(
            f"select: index {index} is out of range for dimension {dim} of size {x.shape[axis]}."
        )
    return x[along(axis, int(index))]


# ------------------------------------------------------------------------------------ several parts


def _several(parts: list[Tensor]) -> tuple[Tensor, ...]:
    """Views that were made together: none of them may be changed in place while gradients are
    recorded.
    """
    for part in parts:
        if part.view_of is not None:
            part.view_of.restriction = part.view_of.restriction or "several"
    return tuple(parts)


def _cut(x: Tensor, axis: int, places: list[int]) -> list[Tensor]:
    """The parts between neighbouring places."""
    return [x[along(axis, slice(a, b))] for a, b in pairwise(places)]


@public(theirs="tensor")
def split(x: TensorLike, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of one size (the last may be smaller), or of the given sizes, along a dimension
    (views).
    """
    x = as_tensor(x)
    axis = existing_axis(x, dim, "split")
    n = x.shape[axis]
    given = whole_numbers(split_size_or_sections, "split", "sizes")
    if isinstance(given, int):
        step = given
        if step < 0 or (step == 0 and n):
            raise RuntimeError(f"split: the size of a part must be positive, got {step}.")
        places = [*range(0, n, step or 1), n] if n else [0, 0]
    else:
        sizes = given
        if sum(sizes) != n or any(s < 0 for s in sizes):
            raise RuntimeError(
                f"split: the sizes {sizes} must add up to {n}, the size of dimension {dim} of shape"
                f" {x.shape}."
            )
        places = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    return _several(_cut(x, axis, places))


def chunk(x: TensorLike, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts of equal size (the last may be smaller) along a dimension (views)."""
    x = as_tensor(x)
    axis = existing_axis(x, dim, "chunk")
    chunks = whole_numbers(chunks, "chunk", "chunks")
    if chunks < 1:
        raise RuntimeError(f"chunk: needs at least 1 chunk, got {chunks}.")
    n = x.shape[axis]
    return split(x, [0] * chunks, axis) if n == 0 else split(x, -(-n // chunks), axis)


def tensor_split(x: TensorLike, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """So many parts of nearly equal size (the first ones one larger), or the parts before, between
    and behind the given indices (views).
    """
    x = as_tensor(x)
    axis = existing_axis(x, dim, "tensor_split")
    n = x.shape[axis]
    given = whole_numbers(indices_or_sections, "tensor_split", "indices or sections")
    if isinstance(given, int):
        if given < 1:
            raise RuntimeError(f"tensor_split: needs at least 1 section, got {given}.")
        return tuple(
            _cut(x, axis, [i * (n // given) + min(i, n % given) for i in range(given + 1)])
        )
    ends = [0, *given]
    return tuple(x[along(axis, slice(a, b))] for a, b in zip(ends, [*given, n], strict=True))


def hsplit(x: TensorLike, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along the columns (of a vector: along its elements)."""
    x = as_tensor(x)
    return tensor_split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(x: TensorLike, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along the rows."""
    return tensor_split(x, indices_or_sections, 0)


def dsplit(x: TensorLike, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along the third dimension."""
    x = as_tensor(x)
    if x.ndim < 3:
        raise ShapeError(f"dsplit: needs at least 3 dimensions, got shape {x.shape}.")
    return tensor_split(x, indices_or_sections, 2)


def unbind(x: TensorLike, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts at each index of a dimension, without that dimension (views)."""
    x = as_tensor(x)
    axis = existing_axis(x, dim, "unbind")
    return _several([x[along(axis, i)] for i in range(x.shape[axis])])


unsafe_chunk, unsafe_split = chunk, split


@public(function=False)
def unfold(x: TensorLike, dimension: int, size: int, step: int) -> Tensor:
    """All windows of `size` elements along a dimension, `step` apart, as a new last dimension (a
    view).

    Where windows overlap (step < size), several elements of the result share one memory location.
    In place, the result can then only be filled with one number (`zero_`, `fill_`); PyTorch permits
    other changes, whose outcome it leaves undefined.
    """
    x = as_tensor(x)
    axis = fn.axis_of(x.ndim, dimension, "unfold")
    n = x.shape[axis] if x.ndim else 1
    if not 0 <= size <= n or step < 1:
        raise ShapeError(
            f"unfold: windows of {size} elements in steps of {step} do not fit the {n} of dimension"
            f" {dimension}."
        )
    if x.ndim == 0:
        return x.reshape(1)[:size]
    return sliding.unfold(x, axis=axis, size=int(size), step=int(step))


publish(__name__)
