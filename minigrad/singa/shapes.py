"""Shapes, parts and places: what moves elements and computes nothing."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from .. import backend, functions
from ..arrays import stacking
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError, one_of
from ..functions import axis_of
from ..nn import functional as F
from ..nn.functional.arguments import read, span
from ..ops.sorting import argwhere

Ints = Sequence[int]


def shape(x: Any) -> Tensor:
    """The sizes of x as a tensor of int64. No derivative."""
    return functions.tensor(list(as_tensor(x).shape), dtype=backend.int64)


def reshape(x: Any, shape: Ints) -> Tensor:
    """x in another shape: one size may be −1 (what is left), and 0 keeps the size at its place."""
    x = as_tensor(x)
    if 0 in shape and x.numel() and any(n == 0 and i >= x.ndim for i, n in enumerate(shape)):
        raise ShapeError(
            f"reshape: {tuple(shape)} keeps a size that x of shape {x.shape} does not have."
        )
    return functions.reshape(
        x, [x.shape[i] if n == 0 and x.numel() else int(n) for i, n in enumerate(shape)]
    )


def flatten(x: Any, axis: int = 1) -> Tensor:
    """A matrix: the axes before `axis` make its rows, the others its columns."""
    x = as_tensor(x)
    place = axis if axis == x.ndim else axis_of(x.ndim, axis, "flatten")
    return functions.reshape(x, math.prod(x.shape[:place]), math.prod(x.shape[place:]))


def transpose(x: Any, shape: Ints | None = None) -> Tensor:
    """The axes in the order `shape`, reversed by default."""
    return functions.transpose(x) if shape is None else functions.permute(x, list(shape))


def squeeze(x: Any, axis: int | Ints = ()) -> Tensor:
    """Without the axes named, which must have size 1; without all axes of size 1 by default."""
    x = as_tensor(x)
    axes = [axis] if isinstance(axis, int) else list(axis)
    for a in axes:
        if x.shape[axis_of(x.ndim, a, "squeeze")] != 1:
            raise ShapeError(f"squeeze: axis {a} of x with shape {x.shape} does not have size 1.")
    return functions.squeeze(x, axes or None)


def unsqueeze(x: Any, axis: int | Ints = -1) -> Tensor:
    """With new axes of size 1 at the places named, which count in the result."""
    x = as_tensor(x)
    axes = [axis] if isinstance(axis, int) else list(axis)
    places = sorted(axis_of(x.ndim + len(axes), a, "unsqueeze") for a in axes)
    if len(set(places)) < len(places):
        raise ValueError(f"unsqueeze: {axes} names an axis of the result twice.")
    for a in places:
        x = functions.unsqueeze(x, a)
    return x


def expand(x: Any, shape: Ints) -> Tensor:
    """x broadcast with `shape` in both directions: a size of 1 in either takes the other's."""
    x = as_tensor(x)
    sizes = [int(n) for n in shape]
    sizes = [1] * (x.ndim - len(sizes)) + sizes
    own = (1,) * (len(sizes) - x.ndim) + x.shape
    return functions.broadcast_to(x, [m if n == 1 else n for m, n in zip(own, sizes, strict=True)])


def cat(x: Sequence[Any], axis: int = 0) -> Tensor:
    """The tensors of a list joined along an axis."""
    return functions.cat(list(x), axis)


def split(
    x: Any, axis: int, parts: Ints | None = None, num_output: int | None = None
) -> tuple[Tensor, ...]:
    """x cut along an axis into pieces of the lengths `parts`, or into `num_output` equal ones,
    of which the last may be shorter.
    """
    x = as_tensor(x)
    place = axis_of(x.ndim, axis, "split")
    n = x.shape[place]
    if parts is None:
        length = -(-n // num_output) if num_output else 0
        if not num_output or length * (num_output - 1) >= builtins.max(n, 1):
            raise ShapeError(
                f"split: {n} elements of axis {axis} cannot be cut into {num_output} equal parts;"
                " give `parts`."
            )
        parts = [length] * (num_output - 1) + [n - length * (num_output - 1)]
    if builtins.sum(parts) != n or any(p < 0 for p in parts):
        raise ShapeError(
            f"split: the parts {list(parts)} do not make up the {n} elements of axis {axis}."
        )
    ends = [builtins.sum(parts[: i + 1]) for i in range(len(parts))]
    return tuple(
        x[(builtins.slice(None),) * place + (builtins.slice(end - p, end),)]
        for p, end in zip(parts, ends, strict=True)
    )


def slice(
    x: Any, starts: Ints, ends: Ints, axes: Ints | None = None, steps: Ints | None = None
) -> Tensor:
    """x[start:end:step] along the axes named (the first ones by default); bounds are cut to the
    axis, negative ones count from the end, steps may be negative.
    """
    x = as_tensor(x)
    chosen = range(len(starts)) if axes is None else [axis_of(x.ndim, a, "slice") for a in axes]
    index = [builtins.slice(None)] * x.ndim
    for a, start, end, step in zip(chosen, starts, ends, steps or [1] * len(starts), strict=True):
        if step == 0:
            raise ValueError("slice: a step must not be 0.")
        stop: int | None = int(end)
        # past the beginning, which Python cannot say with a number
        if step < 0 and end < -x.shape[a]:
            stop = None
        index[a] = builtins.slice(int(start), stop, int(step))
    return x[tuple(index)]


def pad(x: Any, mode: str, pads: Ints, constant: float = 0.0) -> Tensor:
    """Elements added at the ends of axes: `pads` is (before axis 0, before axis 1, …, after axis 0,
    …); negative numbers cut off.

    mode: "constant" (of `constant`), "edge" (the edge), "reflect" (mirrored without repeating the
    edge, as often as it takes), "wrap" (the axis again).
    """
    x = as_tensor(x)
    one_of("pad", "mode", mode, "constant", "reflect", "edge", "wrap")
    around = [int(n) for n in pads]
    if len(around) != 2 * x.ndim:
        raise ShapeError(
            f"pad: {tuple(around)} must hold one number before and one after for each of the"
            f" {x.ndim} axes of x {x.shape}."
        )
    before, after = around[: x.ndim], around[x.ndim :]
    if mode == "constant":
        return F.pad(
            x,
            [n for pair in zip(before[::-1], after[::-1], strict=True) for n in pair],
            value=constant,
        )
    for axis, (low, high) in enumerate(zip(before, after, strict=True)):
        n = x.shape[axis]
        kept = n - max(0, -low) - max(0, -high)
        if kept < 0 or (kept == 0 and max(low, high) > 0):
            raise ShapeError(f"pad: ({low}, {high}) does not fit the {n} elements of axis {axis}.")
        # cutting comes first: what is cut off is not mirrored
        x = span(x, axis, max(0, -low), n - max(0, -high))
        if max(low, high) > 0:
            x = read(
                x, axis, [_inside(i, kept, mode) for i in range(-max(0, low), kept + max(0, high))]
            )
    return x


def _inside(i: int, n: int, mode: str) -> int:
    """Which of n elements stands at position i, which may lie outside."""
    if mode == "edge":
        return min(max(i, 0), n - 1)
    if mode == "wrap":
        return i % n
    if n == 1:
        return 0
    i %= 2 * (n - 1)
    return min(i, 2 * (n - 1) - i)


def gather(x: Any, axis: int, indices: Any) -> Tensor:
    """The entries of an axis at the indices (any shape, negative ones count from the end): rank
    q + r − 1.
    """
    x = as_tensor(x)
    return x[
        (builtins.slice(None),) * axis_of(x.ndim, axis, "gather")
        + (as_tensor(indices).to(backend.int64),)
    ]


def scatter_elements(x: Any, indices: Any, updates: Any, axis: int = 0) -> Tensor:
    """x with x[indices[i, j, …], j, …] = updates[i, j, …] for axis 0, and so on; negative
    indices count from the end.
    """
    x, index, updates = as_tensor(x), as_tensor(indices), as_tensor(updates)
    place = axis_of(x.ndim, axis, "scatter_elements")
    if index.shape != updates.shape:
        raise ShapeError(
            f"scatter_elements: indices {index.shape} and updates {updates.shape} must have the"
            " same shape."
        )
    index = index.to(backend.int64)
    return x.scatter(
        place, functions.where(index < 0, index + x.shape[place], index), updates.to(x.dtype)
    )


def embedding(x: Any, w: Any) -> Tensor:
    """The rows of w (V, D) at the indices x: shape (*x.shape, D). Indices may be whole numbers
    in a float tensor, without a derivative.
    """
    x = as_tensor(x)
    return F.embedding(x if x.dtype.kind in "iu" else x.to(backend.int64), w)


def tile(x: Any, repeats: Any) -> Tensor:
    """x repeated along its axes, as NumPy's tile: fewer repeats than axes belong to the last
    ones, more make new axes in front.
    """
    x = as_tensor(x)
    counts = [
        int(n)
        for n in (
            repeats.tolist()
            if hasattr(repeats, "tolist")
            else [repeats]
            if isinstance(repeats, int)
            else repeats
        )
    ]
    if any(n < 0 for n in counts):
        raise ValueError(f"tile: repeats must be at least 0, got {counts}.")
    return stacking.tile(x, counts)


def nonzero(x: Any) -> Tensor:
    """The indices of the non-zero elements in row-major order, one row an axis: (rank, count),
    int64. No derivative.
    """
    return functions.transpose(argwhere(as_tensor(x)))


def constant_of_shape(x: Any, value: Any = 0.0) -> Tensor:
    """A tensor of the shape that x lists, filled with the one element of `value`, in its dtype
    (float32 zeros by default).
    """
    sizes = [int(n) for n in as_tensor(x).reshape(-1).tolist()]
    if any(n < 0 for n in sizes):
        raise ValueError(f"constant_of_shape: sizes must be at least 0, got {sizes}.")
    filling = as_tensor(value)
    if filling.numel() != 1:
        raise ShapeError(
            f"constant_of_shape: value must have one element, got shape {filling.shape}."
        )
    return functions.full(sizes, filling.detach().reshape(()), dtype=filling.dtype)


def onehot(axis: int, indices: Any, depth: Any, values: Any) -> Tensor:
    """values[1] where an index stands for the place along a new axis of size `depth`, values[0]
    elsewhere. Indices in [−depth, depth − 1]; others give no values[1].
    """
    index, count = as_tensor(indices), int(as_tensor(depth).reshape(()).item())
    place = axis_of(index.ndim + 1, axis, "onehot")
    low, high = as_tensor(values).reshape(2)
    index = functions.where(index < 0, index + count, index).unsqueeze(place)
    steps = functions.arange(count).reshape(-1, *(1,) * (index.ndim - 1 - place))
    return functions.where(index == steps, high, low)


constantOfShape = constant_of_shape
"""The name as the document's heading writes it."""
