"""Tensors stacked, repeated, rolled, turned, and given more dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import backend
from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..names import TensorLike, public, publish
from ..ops import shape as sh
from .operands import along, counting, existing_axis
from .order import searchsorted
from .sums import cumsum

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
    axis = existing_axis(x, dim, "repeat_interleave")
    n = x.shape[axis]
    if isinstance(repeats, int):
        fn.not_below("repeat_interleave", "repeats", repeats, 0)
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
    if bool((counts < 0).any()):
        raise ValueError("repeat_interleave: no number of repeats may be negative.")
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
    return sh.roll(x, shifts=steps, axes=tuple(existing_axis(x, d, "roll") for d in axes))


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
    a, b = (existing_axis(x, d, "rot90") for d in dims)
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
    axis = existing_axis(x, dim, "unflatten")
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
    dtype = backend.result_type([block.array for block in blocks])
    blocks = [block.reshape((1,) * (2 - block.ndim) + block.shape).to(dtype) for block in blocks]
    widths = [block.shape[1] for block in blocks]
    rows = []
    for i, block in enumerate(blocks):
        zeros = [fn.zeros((block.shape[0], w), dtype=dtype, device=block.device) for w in widths]
        rows.append(fn.cat([*zeros[:i], block, *zeros[i + 1 :]], 1))
    return fn.cat(rows, 0)


@public(method=False)
def constant_pad_nd(x: TensorLike, pad: Sequence[int], value: Any = 0) -> Tensor:
    """x with `value` around it: `nn.functional.pad`, whose form `pad` has, under its other name."""
    from ..nn.functional import pad as padded  # a program without networks does not load them

    return padded(as_tensor(x), tuple(pad), "constant", value)


publish(__name__)
