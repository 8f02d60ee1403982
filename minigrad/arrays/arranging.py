"""Tensors rearranged: blocks and combinations, windows along an axis, and regions of one tensor
written over by another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations as _choices
from itertools import combinations_with_replacement as _choices_with_replacement
from typing import Any

from .. import backend
from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import DTypeError, ShapeError
from ..names import TensorLike, public, publish
from ..ops import diagonals, sliding
from ..ops import elementwise as ew
from ..ops import index as ix
from .broadcasting import meshgrid
from .operands import along, counting
from .order import sort

# ------------------------------------------------------------------------------------- combinations


@public(method=False)
def block_diag(*tensors: Any) -> Tensor:
    """Matrices (vectors count as rows, numbers as 1 by 1) along the diagonal of a matrix of
    zeros.
    """
    blocks = [as_tensor(x) for x in tensors]
    for i, block in enumerate(blocks):
        if block.ndim > 2:
            raise ShapeError(
                f"block_diag: tensor {i} must have at most 2 dimensions, got shape {block.shape}."
            )
    blocks = [block.reshape((1,) * (2 - block.ndim) + block.shape) for block in blocks]
    widths = [block.shape[1] for block in blocks]
    rows = []
    for i, block in enumerate(blocks):
        zeros = [
            fn.zeros((block.shape[0], w), dtype=block.dtype, device=block.device) for w in widths
        ]
        rows.append(fn.cat([*zeros[:i], block, *zeros[i + 1 :]], 1))
    return fn.cat(rows, 0)


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


@public(method=False)
def unravel_index(indices: Any, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Places in a flattened tensor of the given shape as one index for each dimension."""
    given, sizes = as_tensor(indices), (shape,) if isinstance(shape, int) else tuple(shape)
    if given.dtype.kind not in "iu":
        raise DTypeError(f"unravel_index: indices must be integers, got {given.dtype}.")
    if any(n < 0 for n in sizes):
        raise ShapeError(f"unravel_index: sizes cannot be negative, got {sizes}.")
    rest = given.to(backend.int64)
    places = []
    for n in reversed(sizes):
        places.append(rest % n)
        rest = fn.floor_divide(rest, n)
    return tuple(reversed(places))


def msort(x: TensorLike) -> Tensor:
    """x sorted along its first dimension."""
    return sort(x, 0).values


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


@public(method=False)
def constant_pad_nd(x: TensorLike, pad: Sequence[int], value: Any = 0) -> Tensor:
    """x with `value` around it: `nn.functional.pad`, whose form `pad` has, under its other name."""
    from ..nn.functional import pad as padded  # a program without networks does not load them

    return padded(as_tensor(x), tuple(pad), "constant", value)


# ------------------------------------------------------------------------------------- written over


def index_put(
    x: TensorLike, indices: Sequence[Any], values: TensorLike, accumulate: bool = False
) -> Tensor:
    """x with `values` at the indices, as x[indices] = values; `accumulate` adds them, repeated
    indices several times.
    """
    x = as_tensor(x)
    return ix.index_put(
        x,
        as_tensor(values).to(x.dtype),
        index=fn.plain_index(tuple(indices), x.array),
        accumulate=accumulate,
    )


@fn.in_own_memory
def select_scatter(x: TensorLike, src: TensorLike, dim: int, index: int) -> Tensor:
    """x with `src` in the place of x[…, index, …]."""
    x = as_tensor(x)
    return _over(
        x, src, along(fn.axis_of(x.ndim, dim, "select_scatter"), int(index)), "select_scatter"
    )


@fn.in_own_memory
def slice_scatter(
    x: TensorLike,
    src: TensorLike,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """x with `src` in the place of x[…, start:end:step, …]."""
    x = as_tensor(x)
    return _over(
        x,
        src,
        along(fn.axis_of(x.ndim, dim, "slice_scatter"), slice(start, end, step)),
        "slice_scatter",
    )


def diagonal_scatter(
    x: TensorLike, src: TensorLike, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """x with `src` in the place of its diagonal."""
    x, src = as_tensor(x), as_tensor(src)
    a, b = (
        fn.axis_of(x.ndim, dim1, "diagonal_scatter"),
        fn.axis_of(x.ndim, dim2, "diagonal_scatter"),
    )
    spread: Any = lambda t: diagonals.diagonal_backward(
        t, offset=int(offset), axis1=a, axis2=b, shape=x.shape
    )
    if src.shape != diagonals.diagonal(x, offset=int(offset), axis1=a, axis2=b).shape:
        raise ShapeError(
            f"diagonal_scatter: src of shape {src.shape} is not a diagonal of shape {x.shape}."
        )
    return fn.where(spread(fn.ones_like(src, dtype=backend.int64)) == 1, spread(src.to(x.dtype)), x)


def _over(x: Tensor, src: TensorLike, index: tuple[Any, ...], function: str) -> Tensor:
    src, region = as_tensor(src), fn.getitem(x, index)
    if src.shape != region.shape:
        raise ShapeError(
            f"{function}: src of shape {src.shape} must have the shape {region.shape} of what it"
            " replaces."
        )
    places = fn.getitem(counting(x.numel(), x).reshape(x.shape), index)
    flat = ix.index_put(
        x.reshape(-1), src.to(x.dtype), index=fn.plain_index((places,), x.array), accumulate=False
    )
    return flat.reshape(x.shape)


def fill(x: TensorLike, value: Any) -> Tensor:
    """A tensor of the shape and dtype of x that holds one value (a number or a 0-d tensor)."""
    x, value = as_tensor(x), as_tensor(value)
    if value.ndim:
        raise ShapeError(
            f"fill: the value must be a number or a 0-d tensor, got shape {value.shape}."
        )
    return ew.overwrite(x, value)


publish(__name__)
