"""Reshaping, reordering and joining tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import backend
from ..backend import Shape
from ..batching import getitem as batched_getitem
from ..batching import is_batched_index
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..names import TensorLike, into, public, publish
from ..ops import index as ix
from ..ops import linalg as la
from ..ops import shape as sh
from .arguments import axes_of, axis_of, either, listed, plain_index, sizes_of
from .elementwise import attach_operator, clone


def reshape(x: TensorLike, *shape: Any) -> Tensor:
    """The elements in another shape; one size may be -1. A view where the memory layout allows."""
    x = as_tensor(x)
    sizes = sizes_of(shape)
    total, known = math.prod(x.shape), math.prod(n for n in sizes if n != -1)
    if sizes.count(-1) > 1:
        raise ShapeError(f"reshape: only one size can be -1, got {sizes}.")
    if -1 in sizes:
        if known == 0 or total % known:
            raise ShapeError(
                f"reshape: shape {sizes} does not fit {total} elements of shape {x.shape}."
            )
        sizes = tuple(total // known if n == -1 else n for n in sizes)
    elif known != total:
        raise ShapeError(
            f"reshape: shape {sizes} has {known} elements, the tensor of shape {x.shape} has"
            f" {total}."
        )
    return sh.reshape(x, shape=sizes)


def flatten(x: TensorLike, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from start_dim to end_dim merged into one."""
    x = as_tensor(x)
    first, last = axis_of(x.ndim, start_dim, "flatten"), axis_of(x.ndim, end_dim, "flatten")
    if first > last:
        raise RuntimeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}.")
    if first == last and x.ndim:
        return as_tensor(x)
    return reshape(x, *x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def ravel(x: TensorLike) -> Tensor:
    """The elements in one dimension, one after another in memory: a view of a contiguous tensor, a
    copy of any other.
    """
    flat = reshape(x, -1)
    if type(flat) is not Tensor or backend.is_immutable(flat.array):  # it has no memory of its own
        return flat
    return flat if flat.array.flags.c_contiguous else clone(flat)


def squeeze(x: TensorLike, dim: Any = None, *, axis: Any = None) -> Tensor:
    """Without the axes of size 1 (all of them, or those among `dim`)."""
    x, dim = as_tensor(x), either(dim, axis)
    axes = range(x.ndim) if dim is None else axes_of(x, dim, "squeeze") if dim != () else ()
    return reshape(x, [n for i, n in enumerate(x.shape) if not (n == 1 and i in axes)])


def unsqueeze(x: TensorLike, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """With a new axis of size 1 at `dim`."""
    x = as_tensor(x)
    place = axis_of(x.ndim + 1, either(dim, axis), "unsqueeze")
    return reshape(x, *x.shape[:place], 1, *x.shape[place:])


def permute(x: TensorLike, *dims: Any) -> Tensor:
    """The axes in another order (a view)."""
    x = as_tensor(x)
    axes = tuple(axis_of(x.ndim, d, "permute") for d in sizes_of(dims))
    if sorted(axes) != list(range(x.ndim)):
        raise RuntimeError(f"permute: {sizes_of(dims)} is not an order of the {x.ndim} dimensions.")
    return sh.permute(x, axes=axes)


def transpose(x: TensorLike, dim0: Any = None, dim1: Any = None) -> Tensor:
    """Two axes exchanged (a view). Without dimensions all axes are reversed, as in NumPy."""
    x = as_tensor(x)
    if dim0 is None:
        return sh.permute(x, axes=tuple(reversed(range(x.ndim))))
    if dim1 is None:
        return permute(x, dim0)
    axes = list(range(x.ndim))
    a, b = axis_of(x.ndim, dim0, "transpose"), axis_of(x.ndim, dim1, "transpose")
    if axes:
        axes[a], axes[b] = axes[b], axes[a]
    return sh.permute(x, axes=tuple(axes))


swapdims = transpose


def swapaxes(x: TensorLike, axis0: int, axis1: int) -> Tensor:
    """Two axes exchanged (a view), under NumPy's name."""
    return transpose(x, axis0, axis1)


def t(x: TensorLike) -> Tensor:
    """The transpose of a matrix; tensors of 0 or 1 dimension stay as they are."""
    x = as_tensor(x)
    if x.ndim > 2:
        raise RuntimeError(
            f"t: expects at most 2 dimensions, got {x.ndim}. Use transpose(dim0, dim1) or permute."
        )
    return transpose(x)


def movedim(x: TensorLike, source: TensorLike, destination: Any) -> Tensor:
    """One axis (or a sequence of them) moved to another place (or places); the others keep their
    order.
    """
    x = as_tensor(x)
    come, go = (
        [axis_of(x.ndim, d, "movedim") for d in (v if isinstance(v, list | tuple) else (v,))]
        for v in (source, destination)
    )
    if len(come) != len(go) or len(set(come)) != len(come) or len(set(go)) != len(go):
        raise RuntimeError(
            f"movedim: source {source} and destination {destination} must name equally many axes,"
            " each once."
        )
    rest = iter(a for a in range(x.ndim) if a not in come)
    there = dict(zip(go, come, strict=True))
    if x.ndim:
        return permute(x, [there[i] if i in there else next(rest) for i in range(x.ndim)])
    return permute(x, [])


moveaxis = movedim


def broadcast_to(x: TensorLike, *shape: Any) -> Tensor:
    """x seen in a larger shape without copying (a view); -1 keeps a size.

    Where a dimension grows, several elements of the result share one memory location, and it cannot
    be changed in place. Raises ShapeError where sizes other than 1 differ.
    """
    x = as_tensor(x)
    sizes = sizes_of(shape)
    lead = len(sizes) - x.ndim
    if lead < 0:
        raise ShapeError(
            f"expand: the tensor has {x.ndim} dimensions, which do not fit into the {len(sizes)} of"
            f" shape {sizes}."
        )
    full_shape = []
    for i, n in enumerate(sizes):
        own = x.shape[i - lead] if i >= lead else None
        if n == -1:
            if own is None:
                raise ShapeError(
                    f"expand: -1 in {sizes} at a new leading dimension {i}, which has no size to"
                    " keep."
                )
            n = own
        elif own not in (None, 1, n):
            raise ShapeError(
                f"expand: size {own} of dimension {i - lead} cannot become {n} (shapes {x.shape}"
                f" and {sizes}); only size 1 can be expanded."
            )
        full_shape.append(n)
    return sh.broadcast_to(x, shape=tuple(full_shape))


def sum_to(x: TensorLike, *shape: Any) -> Tensor:
    """x summed down to a shape that broadcasts to its own: the transpose of `broadcast_to`.
    Integers and booleans are summed as int64.
    """
    x, sizes = as_tensor(x), sizes_of(shape)
    if x.shape == sizes:
        return x if sizes else clone(x)  # PyTorch copies a 0-d tensor
    return sh.sum_to(x.to(backend.int64) if x.dtype.kind in "bui" else x, shape=sizes)


def flip(x: TensorLike, *axes: Any, dims: Any = None) -> Tensor:
    """The elements in reverse order along the axes: `flip(x, 0, 1)`, `flip(x, (0, 1))` or
    `flip(x, dims=(0, 1))`.
    """
    x = as_tensor(x)
    if dims is None and not axes:
        raise TypeError(
            "flip: name the dimensions to turn around, as in flip(x, 0) or flip(x, (0, 1))."
        )
    named = sizes_of(axes if dims is None else (dims,))
    turned = axes_of(x, named, "flip") if named else ()
    return sh.flip(x, axes=turned if x.ndim else ())


@public(method=False, out=True)
def cat(tensors: Sequence[Any], dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Tensors joined along an existing axis; their other sizes must agree. A tensor of shape
    (0,) adds nothing and fits everywhere.
    """
    parts = listed(tensors, dim, "cat")
    dtype = backend.result_type([p.array for p in parts])  # tensors of shape (0,) decide too
    if any(p.ndim != 1 for p in parts):
        parts = [p for p in parts if p.shape != (0,)]
    parts[0] = parts[0].to(dtype)
    place = axis_of(parts[0].ndim, dim if axis is None else axis, "cat")
    for i, part in enumerate(parts):
        if part.ndim == 0:
            raise ShapeError(
                f"cat: tensor {i} has no dimension to join along; use stack for 0-d tensors."
            )
        if part.ndim != parts[0].ndim or _differ(part.shape, parts[0].shape, place):
            raise ShapeError(
                f"cat: tensor {i} has shape {part.shape}, tensor 0 {parts[0].shape}; all sizes but"
                f" that of dimension {place} must agree."
            )
    return sh.cat(*parts, axis=place, sizes=tuple(p.shape[place] for p in parts))


def _differ(a: Shape, b: Shape, besides: int) -> bool:
    """Whether two shapes differ in another dimension than `besides`."""
    return any(m != n for i, (m, n) in enumerate(zip(a, b, strict=True)) if i != besides)


concat = concatenate = cat


@public(method=False, out=True)
def stack(tensors: Sequence[Any], dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis."""
    parts = listed(tensors, dim, "stack")
    for i, part in enumerate(parts):
        if part.shape != parts[0].shape:
            raise ShapeError(
                f"stack: tensor {i} has shape {part.shape}, tensor 0 {parts[0].shape}; all shapes"
                " must agree."
            )
    place = axis_of(parts[0].ndim + 1, dim, "stack")
    return sh.stack(*parts, axis=place, count=len(parts))


@public(method=False)
def getitem(x: Tensor, index: TensorLike) -> Tensor:
    """x[index]: a view for integers, slices, None and Ellipsis, a copy where the index holds
    arrays.
    """
    index = plain_index(index, x.array)
    try:
        if ix.is_basic(index):
            return ix.slice_(x, index=index)
        numbers, rest = ix.numbers_first(index)
        source = x if numbers is None else ix.slice_(x, index=numbers)
        if is_batched_index(rest):
            return batched_getitem(source, rest)
        return ix.getitem(source, index=rest)
    except IndexError as error:
        raise IndexError(
            f"index {index!r} does not fit a tensor of shape {x.shape}: {error}."
        ) from None


def matmul(input: TensorLike, other: TensorLike, *, out: Any = None) -> Tensor:
    """The matrix product input @ other; one-dimensional operands count as row and column, leading
    axes broadcast. Dtypes are promoted (PyTorch refuses different ones). Raises ShapeError, which
    names the sizes, where they do not fit.
    """
    if out is not None:
        return into(out, matmul(input, other), "matmul", (input, other))
    a, b = as_tensor(input), as_tensor(other)
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(
            f"matmul: both operands need at least one dimension, got shapes {a.shape} and"
            f" {b.shape}. Use * for numbers."
        )
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner:
        raise ShapeError(
            f"matmul: shapes {a.shape} and {b.shape} do not fit: the inner sizes {a.shape[-1]} and"
            f" {inner} differ."
        )
    for m, n in zip(a.shape[-3::-1], b.shape[-3::-1], strict=False):
        if m != n and 1 not in (m, n):
            raise ShapeError(
                f"matmul: shapes {a.shape} and {b.shape} do not fit: the batch sizes {m} and {n}"
                " differ, and neither is 1."
            )
    return la.matmul(a, b)


attach_operator("matmul", "@", matmul, la.matmul)
publish(__name__)
