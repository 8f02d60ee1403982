"""Operations that move elements without changing them. All are linear, so only the transpose is
written; most return a window into the same memory.

Broadcasting and summing are each other's transposes: what was copied forward is summed backward.
"""

from __future__ import annotations

import math
from typing import Any

from ..backend import SINGLE_OR_DOUBLE, broadcast_view, ignore_float_errors, numpy
from ..core.primitive import general, linear
from .batch import (
    broadcast_behind,
    join_parts,
    permute_behind,
    reshape_behind,
    shift_axes,
    sum_behind,
)
from .costs import MOVES, additions
from .kernels import cat_kernel, sum_to_kernel
from .sums import column_sums, is_column, is_few, is_short, slice_sums, total, total_of_few


def _sum_to(xp: Any, x: Any, *, shape: tuple[int, ...]) -> Any:
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    if x.dtype in SINGLE_OR_DOUBLE and xp is numpy:
        if not shape:
            if is_few(x):
                return total_of_few(x)
            return ignore_float_errors.run(total, xp, x, tuple(range(lead)), False)
        if x.ndim >= 2 and (
            tuple(shape) == x.shape[-1:]
            or (x.ndim == 2 and tuple(shape) == (1, x.shape[1]) and x.shape[0] != 1)
        ):
            rows = (
                x
                if x.ndim == 2
                else x.reshape((math.prod(x.shape[:-1]), x.shape[-1]))
                if x.flags.c_contiguous
                else None
            )
            if rows is not None and is_column(rows):
                sums = column_sums(xp, rows)
                return sums if len(shape) == 1 else sums.reshape(shape)
    axes = tuple(range(lead)) + tuple(
        lead + i for i, n in enumerate(shape) if n == 1 and x.shape[lead + i] != 1
    )
    if xp is numpy and is_short(x, axes):
        return ignore_float_errors.run(slice_sums, x, axes[0], True).reshape(shape)
    if axes:
        return ignore_float_errors.run(total, xp, x, axes, True).reshape(shape)
    return x.reshape(shape)


def inverse_of(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `axes`."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether a value of `shape` can be broadcast to `target`."""
    lead = len(target) - len(shape)
    return lead >= 0 and all(n in (1, m) for n, m in zip(shape, target[lead:], strict=True))


reshape = linear(
    "reshape",
    lambda xp, x, *, shape: x.reshape(shape),
    lambda g, x_shape: reshape(g, shape=x_shape),
    view=True,
    batch=reshape_behind,
    shape=lambda x, *, shape: (
        tuple(shape) if x is None or math.prod(x) == math.prod(shape) else None
    ),
    kernel="{0}.reshape({shape})",
    notation="reshape(x, shape)",
    graph_name="ViewBackward0",
)
permute = linear(
    "permute",
    lambda xp, x, *, axes: x.transpose(axes),
    lambda g, *, axes: permute(g, axes=inverse_of(axes)),
    view=True,
    symbol="permute",
    batch=permute_behind,
    shape=lambda x, *, axes: None if x is None else tuple(x[i] for i in axes),
    kernel="{0}.transpose({axes})",
)
broadcast_to = linear(
    "broadcast_to",
    lambda xp, x, *, shape: broadcast_view(xp, x, shape),
    lambda g, x_shape: sum_to(g, shape=x_shape),
    view=True,
    symbol="expand",
    batch=broadcast_behind,
    shape=lambda x, *, shape: tuple(shape) if x is None or _broadcasts(x, shape) else None,
    graph_name="ExpandBackward0",
)
sum_to = linear(
    "sum_to",
    _sum_to,
    lambda g, x_shape: broadcast_to(g, shape=x_shape),
    view=True,
    symbol="sum",
    batch=sum_behind,
    shape="given",
    kernel=sum_to_kernel,
    reduction="sum",
    cost=additions,
)
flip = linear(
    "flip",
    lambda xp, x, *, axes: xp.flip(x, axes).copy(),
    lambda g, *, axes: flip(g, axes=axes),
    batch=shift_axes,
    shape="first",
    cost=MOVES,
)
roll = linear(
    "roll",
    lambda xp, x, *, shifts, axes: xp.roll(x, shifts, axes),
    lambda g, *, shifts, axes: roll(g, shifts=tuple(-s for s in shifts), axes=axes),
    batch=shift_axes,
    shape="first",
    cost=MOVES,
)

# ------------------------------------------------------------------------------------------ joining


def _cut(g: Any, *, axis: int, sizes: tuple[int, ...], index: int) -> Any:
    """The part of a joined cotangent that belongs to input `index`."""
    start = sum(sizes[:index])
    return g[(slice(None),) * axis + (slice(start, start + sizes[index]),)]


def _place(t: Any, *, axis: int, sizes: tuple[int, ...], index: int) -> Any:
    """A tangent of input `index` in the place where the joined result has it, zeros elsewhere."""
    return pad_axis(t, axis=axis, before=sum(sizes[:index]), after=sum(sizes[index + 1 :]))


def _pad_axis(xp: Any, x: Any, *, axis: int, before: int, after: int) -> Any:
    shape = list(x.shape)
    shape[axis] += before + after
    out = xp.zeros(tuple(shape), x.dtype)
    out[(slice(None),) * axis + (slice(before, before + x.shape[axis]),)] = x
    return out


def _trim_axis(g: Any, *, axis: int, before: int, after: int) -> Any:
    return g[(slice(None),) * axis + (slice(before, g.shape[axis] - after),)]


pad_axis = linear(
    "pad_axis",
    _pad_axis,
    _trim_axis,
    symbol="pad",
    batch=shift_axes,
    cost=MOVES,
    graph_name="ConstantPadNdBackward0",
)
cat = general(
    "cat",
    lambda xp, *xs, axis, sizes: xp.concatenate(xs, axis=axis),
    [_cut],
    [_place],
    promote="same",
    batch=join_parts,
    kernel=cat_kernel,
    cost=MOVES,
)
"""Inputs joined along an axis; `sizes` are their lengths there."""


def _layer(axis: int) -> tuple[Any, ...]:
    """The index that makes an input of `stack` a part of the result."""
    return (*(slice(None),) * axis, None)


stack = general(
    "stack",
    lambda xp, *xs, axis, count: xp.concatenate([x[_layer(axis)] for x in xs], axis=axis),
    [lambda g, *, axis, index: g[(*_layer(axis)[:-1], index)]],
    [
        lambda t, *, axis, index, count: pad_axis(
            t[_layer(axis)], axis=axis, before=index, after=count - index - 1
        )
    ],
    promote="same",
    batch=join_parts,
    kernel=cat_kernel,
    cost=MOVES,
)
"""`count` inputs of one shape joined along a new axis."""
