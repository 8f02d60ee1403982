"""Taking tensors apart and putting them together: splitting, stacking, repeating, turning.

What only looks at a part is a view. The several views of one split may not be changed in place
where gradients are concerned: as in PyTorch, that is an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..names import TensorLike, public, publish
from ..ops import shape as sh
from .operands import along, counting
from .order import searchsorted
from .running import cumsum

# ----------------------------------------------------------------------------------------- one part


def narrow(x: TensorLike, dim: int, start: Any, length: int) -> Tensor:
    """The elements start … start + length - 1 of a dimension (a view). Raises IndexError where
    there are not so many.
    """
    x = as_tensor(x)
    axis = _axis(x, dim, "narrow")
    n = x.shape[axis]
    first = int(start) + n if int(start) < 0 else int(start)
    if length < 0 or not 0 <= first <= n or first + length > n:
        raise IndexError(
            f"narrow: start {int(start)} and length {length} do not fit dimension {dim} of size"
            f" {n}."
        )
    return x[along(axis, slice(first, first + length))]


def select(x: TensorLike, dim: int, index: int) -> Tensor:
    """The part at one index of a dimension (a view without that dimension)."""
    x = as_tensor(x)
    axis = _axis(x, dim, "select")
    if not -x.shape[axis] <= index < x.shape[axis]:
        raise IndexError(
            f"select: index {index} is out of range for dimension {dim} of size {x.shape[axis]}."
        )
    return x[along(axis, int(index))]


def _axis(x: Tensor, dim: Any, function: str) -> int:
    if x.ndim == 0:
        raise IndexError(f"{function}: a 0-d tensor has no dimension to take apart.")
    return fn.axis_of(x.ndim, dim, function)


# ------------------------------------------------------------------------------------ several parts


def _several(parts: list[Tensor]) -> tuple[Tensor, ...]:
    """Views that were made together: none of them may be changed in place while gradients are
    recorded.
    """
    for part in parts:
        if part.view_of is not None:
            part.view_of.why_not = part.view_of.why_not or "several"
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
    axis = _axis(x, dim, "split")
    n = x.shape[axis]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step < 0 or (step == 0 and n):
            raise RuntimeError(f"split: the size of a part must be positive, got {step}.")
        places = [*range(0, n, step or 1), n] if n else [0, 0]
    else:
        sizes = [int(s) for s in split_size_or_sections]
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
    axis = _axis(x, dim, "chunk")
    if chunks < 1:
        raise RuntimeError(f"chunk: needs at least 1 chunk, got {chunks}.")
    n = x.shape[axis]
    return split(x, [0] * chunks, axis) if n == 0 else split(x, -(-n // chunks), axis)


def tensor_split(x: TensorLike, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """So many parts of nearly equal size (the first ones one larger), or the parts before, between
    and behind the given indices (views).
    """
    x = as_tensor(x)
    axis = _axis(x, dim, "tensor_split")
    n = x.shape[axis]
    given = (
        indices_or_sections.tolist()
        if isinstance(indices_or_sections, Tensor)
        else indices_or_sections
    )
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
    axis = _axis(x, dim, "unbind")
    return _several([x[along(axis, i)] for i in range(x.shape[axis])])


# --------------------------------------------------------------------------------- putting together


@public(method=False)
def atleast_1d(*tensors: Any) -> Any:
    """Each as a tensor of at least one dimension."""
    return _each(tensors, lambda x: x.reshape(1) if x.ndim == 0 else x)


@public(method=False)
def atleast_2d(*tensors: Any) -> Any:
    """Each as a tensor of at least two dimensions; a vector becomes a row."""
    return _each(tensors, lambda x: x.reshape((1,) * (2 - x.ndim) + x.shape) if x.ndim < 2 else x)


@public(method=False)
def atleast_3d(*tensors: Any) -> Any:
    """Each as a tensor of at least three dimensions; a vector becomes (1, n, 1), a matrix (n, m,
    1).
    """
    return _each(
        tensors, lambda x: x if x.ndim > 2 else atleast_2d(x).reshape((*atleast_2d(x).shape, 1))
    )


def _each(tensors: Sequence[Any], change: Any) -> Any:
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
    changed = tuple(change(as_tensor(x)) for x in given)
    return changed[0] if given is tensors and len(tensors) == 1 else changed


@public(method=False, out=True)
def hstack(tensors: Sequence[Any]) -> Tensor:
    """Joined side by side: vectors end to end, others along dimension 1."""
    parts = atleast_1d(list(tensors))
    return fn.cat(parts, 0 if parts and parts[0].ndim == 1 else 1)


@public(method=False, out=True)
def vstack(tensors: Sequence[Any]) -> Tensor:
    """Joined one below the other; vectors are rows."""
    return fn.cat(atleast_2d(list(tensors)), 0)


row_stack = vstack


@public(method=False, out=True)
def dstack(tensors: Sequence[Any]) -> Tensor:
    """Joined along the third dimension."""
    return fn.cat(atleast_3d(list(tensors)), 2)


@public(method=False, out=True)
def column_stack(tensors: Sequence[Any]) -> Tensor:
    """Joined as columns: vectors and numbers are columns."""
    parts = [as_tensor(x) for x in tensors]
    return hstack([x if x.ndim > 1 else x.reshape(-1, 1) for x in parts])


# ---------------------------------------------------------------------------------------- repeating


def tile(x: TensorLike, *dims: Any) -> Tensor:
    """x repeated so often along each dimension; missing leading entries of `dims` are 1."""
    x = as_tensor(x)
    times = fn.sizes_of(dims)
    return repeat(x, (1,) * (x.ndim - len(times)) + times)


@public(function=False)
@fn.in_own_memory
def repeat(x: TensorLike, *sizes: Any) -> Tensor:
    """x repeated so often along each dimension; more sizes than dimensions make new leading
    ones. Raises ShapeError for fewer.
    """
    x = as_tensor(x)
    times = fn.sizes_of(sizes)
    if len(times) < x.ndim or any(t < 0 for t in times):
        raise ShapeError(
            f"repeat: needs a count, not negative, for each dimension of shape {x.shape}, got"
            f" {times}."
        )
    shape = (1,) * (len(times) - x.ndim) + x.shape
    apart = x.reshape([s for n in shape for s in (1, n)])
    spread = fn.broadcast_to(apart, [s for t, n in zip(times, shape, strict=True) for s in (t, n)])
    return spread.reshape([t * n for t, n in zip(times, shape, strict=True)])


@fn.in_own_memory
def repeat_interleave(
    x: TensorLike, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element repeated so often in its place (of the flattened tensor without `dim`);
    `repeats` is a number or one number for
    each. With one tensor alone: its place k repeated x[k] times. output_size: the length that comes
    out, if it is known.
    """
    x = as_tensor(x)
    if repeats is None:
        return repeat_interleave(counting(x.numel(), x), x, 0)
    if dim is None:
        x, dim = x.reshape(-1), 0
    axis = _axis(x, dim, "repeat_interleave")
    n = x.shape[axis]
    if isinstance(repeats, int):
        wide = fn.broadcast_to(
            fn.unsqueeze(x, axis + 1), (*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :])
        )
        return wide.reshape((*x.shape[:axis], n * repeats, *x.shape[axis + 1 :]))
    counts = as_tensor(repeats)
    if counts.ndim > 1 or counts.dtype.kind not in "iu" or counts.numel() not in (1, n):
        raise ShapeError(
            f"repeat_interleave: needs one integer for each of the {n} elements, got {counts.dtype}"
            f" of shape {counts.shape}."
        )
    ends = cumsum(fn.broadcast_to(counts.reshape(-1), n), 0)
    total = int(ends[-1].item()) if n else 0
    return fn.getitem(x, along(axis, searchsorted(ends, counting(total, ends), right=True)))


@fn.in_own_memory
def roll(x: TensorLike, shifts: Any, dims: Any = None) -> Tensor:
    """The elements moved on by `shifts` along `dims`; what leaves at the end comes back at the
    start. Without `dims` the flattened tensor.
    """
    x = as_tensor(x)
    if dims is None:
        return sh.roll(x.reshape(-1), shifts=(_sole(shifts),), axes=(0,)).reshape(x.shape)
    steps, axes = (tuple(v) if isinstance(v, list | tuple) else (v,) for v in (shifts, dims))
    if len(steps) != len(axes):
        raise RuntimeError(f"roll: {len(steps)} shifts for {len(axes)} dimensions.")
    return sh.roll(x, shifts=steps, axes=tuple(_axis(x, d, "roll") for d in axes))


def _sole(value: Any) -> int:
    if isinstance(value, list | tuple):
        if len(value) != 1:
            raise RuntimeError(f"roll: without dims one shift is needed, got {tuple(value)}.")
        return int(value[0])
    return int(value)


# ------------------------------------------------------------------------------- turning, spreading


@fn.in_own_memory
def rot90(x: TensorLike, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by k quarter turns in the plane of two dimensions, from the first towards the
    second.
    """
    x = as_tensor(x)
    if len(dims) != 2:
        raise RuntimeError(f"rot90: needs two dimensions, got {tuple(dims)}.")
    a, b = (_axis(x, d, "rot90") for d in dims)
    if a == b:
        raise RuntimeError(f"rot90: the two dimensions must differ, got {tuple(dims)}.")
    if k % 4 == 0:
        return fn.clone(x)
    if k % 4 == 2:
        return fn.flip(x, a, b)
    return fn.transpose(fn.flip(x, b), a, b) if k % 4 == 1 else fn.flip(fn.transpose(x, a, b), b)


def fliplr(x: TensorLike) -> Tensor:
    """The columns in reverse order."""
    return fn.flip(_with_dimensions(x, 2, "fliplr"), 1)


def flipud(x: TensorLike) -> Tensor:
    """The rows in reverse order."""
    return fn.flip(_with_dimensions(x, 1, "flipud"), 0)


def _with_dimensions(x: TensorLike, least: int, function: str) -> Tensor:
    x = as_tensor(x)
    if x.ndim < least:
        raise ShapeError(
            f"{function}: needs a tensor of at least {least} dimensions, got shape {x.shape}."
        )
    return x


def unflatten(x: TensorLike, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension taken apart into several; one size may be -1."""
    x = as_tensor(x)
    axis = _axis(x, dim, "unflatten")
    known = math.prod(s for s in sizes if s != -1)
    if (
        (-1 not in sizes and known != x.shape[axis])
        or list(sizes).count(-1) > 1
        or (-1 in sizes and (not known or x.shape[axis] % known))
    ):
        raise ShapeError(
            f"unflatten: sizes {tuple(sizes)} do not fit dimension {dim} of size {x.shape[axis]}."
        )
    full = [x.shape[axis] // known if s == -1 else s for s in sizes]
    return x.reshape((*x.shape[:axis], *full, *x.shape[axis + 1 :]))


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
    if indexing not in ("ij", "xy"):
        raise ValueError(f'meshgrid: indexing must be "ij" or "xy", got {indexing!r}.')
    parts = [as_tensor(x) for x in given]
    if any(x.ndim > 1 for x in parts):
        raise ShapeError(
            f"meshgrid: needs vectors or numbers, got shapes {[x.shape for x in parts]}."
        )
    rank = len(parts)
    grids = broadcast_tensors(
        *(x.reshape([-1 if i == k else 1 for i in range(rank)]) for k, x in enumerate(parts))
    )
    return tuple(fn.transpose(g, 0, 1) for g in grids) if indexing == "xy" and rank > 1 else grids


unsafe_chunk, unsafe_split = chunk, split


publish(__name__)
