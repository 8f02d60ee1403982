"""Reading and replacing parts of a tensor. Reading is linear; its transpose adds each cotangent
element back to where it was read from.

An index is what Python puts between brackets: integers, slices, None, Ellipsis, and arrays of
integers or booleans, alone or in a tuple.
"""

from __future__ import annotations

from typing import Any

from ..backend import (
    copy_in_order,
    ignore_float_errors,
    materialise,
    scatter_add,
    scatter_extreme_at,
)
from ..core.primitive import Primitive, general, linear
from .batch import batch_lengths
from .costs import MOVES, each_input, put_cost
from .elementwise import ones_like, where, zeros_like
from .node_names import slice_name
from .sums import accumulator


def is_basic(index: Any) -> bool:
    """Whether the index selects a view (integers, slices, None, Ellipsis) and not a copy."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        p is None or p is Ellipsis or (isinstance(p, slice | int) and not isinstance(p, bool))
        for p in parts
    )


def numbers_first(index: Any) -> tuple[Any, Any]:
    """An index of numbers and arrays in two steps, as PyTorch takes it: the numbers (a basic index,
    None if there are none), then the rest.

    To NumPy a number beside arrays is an array of its own, which is broadcast with them and may
    move the axes: x[1, :, [0, 2]] has shape (2, n) there, (n, 2) here.
    """
    parts = index if isinstance(index, tuple) else (index,)
    is_number = [isinstance(p, int) and not isinstance(p, bool) for p in parts]
    if not any(is_number):
        return None, index
    numbers: list[Any] = []
    for p, number in zip(parts, is_number, strict=True):
        if number or p is Ellipsis:
            numbers.append(p)
        elif p is not None and not isinstance(p, bool):  # a mask of k axes stands for k slices
            numbers.extend(
                [slice(None)]
                * (p.ndim if getattr(p, "dtype", None) is not None and p.dtype.kind == "b" else 1)
            )
    return tuple(numbers), tuple(
        p for p, number in zip(parts, is_number, strict=True) if not number
    )


def _slice(xp: Any, x: Any, *, index: Any) -> Any:
    parts = index if isinstance(index, tuple) else (index,)
    # with the Ellipsis even one element is a view, not a copy
    return x[parts if Ellipsis in parts else (*parts, Ellipsis)]


def _slice_backward(xp: Any, g: Any, *, index: Any, shape: tuple[int, ...]) -> Any:
    out = xp.zeros(shape, g.dtype)
    out[index] = g
    return out


def explicit(index: Any, ndim: int) -> Any:
    """The index with full slices in place of Ellipsis. To NumPy an Ellipsis parts the arrays beside
    it even where it stands for nothing; here, as in PyTorch, it does not.
    """
    parts = index if isinstance(index, tuple) else (index,)
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), None)
    if at is None:
        return index
    masks = [getattr(part, "dtype", None) is not None and part.dtype.kind == "b" for part in parts]
    read = sum(
        0
        if part is None or part is Ellipsis or isinstance(part, bool)
        else part.ndim
        if mask
        else 1
        for part, mask in zip(parts, masks, strict=True)
    )
    return (*parts[:at], *(slice(None),) * (ndim - read), *parts[at + 1 :])


def _index_add(xp: Any, g: Any, *, index: Any, shape: tuple[int, ...]) -> Any:
    """At least as many numbers as places are added in the accumulator's dtype: for fewer, a wider
    copy of all places would cost more than the additions. There the running totals are of the dtype
    itself, as PyTorch's always are.
    """
    wide = accumulator(g.dtype, g.size if g.size >= _size(shape) else 1)
    out = xp.zeros(shape, wide)
    scatter_add(xp, out, explicit(index, len(shape)), g.astype(wide, copy=False))
    return out if wide == g.dtype else ignore_float_errors.run(out.astype, g.dtype)


def _slice_behind(
    prim: Primitive, xp: Any, arrays: list[Any], k: int, *, index: Any, **params: Any
) -> Any:
    """A basic index behind k full slices; `shape`, where there is one, behind the batch's
    lengths.
    """
    if "shape" in params:
        params["shape"] = (*arrays[0].shape[:k], *params["shape"])
    return prim.forward(
        xp,
        *arrays,
        index=(slice(None),) * k + (index if isinstance(index, tuple) else (index,)),
        **params,
    )


def _index_behind(
    prim: Primitive, xp: Any, arrays: list[Any], k: int, *, index: Any, **params: Any
) -> Any:
    """An index with arrays in it reads the example's axes, so the batch axes go to the end,
    where an index leaves them alone.
    """
    x, *values = arrays
    if "shape" in params:
        params["shape"] = (*params["shape"], *x.shape[:k])
    ndim = len(params["shape"]) - k if "shape" in params else x.ndim - k
    result = prim.forward(
        xp, *(_batch_last(a, k) for a in (x, *values)), index=explicit(index, ndim), **params
    )
    return result.transpose((*range(result.ndim - k, result.ndim), *range(result.ndim - k)))


def _put_behind(prim: Primitive, xp: Any, arrays: list[Any], k: int, **params: Any) -> Any:
    """As `_index_behind`. Each example's values are written into an x of its own."""
    x, values = arrays
    x = xp.broadcast_to(x, (*batch_lengths(arrays, k), *x.shape[k:]))
    return _index_behind(prim, xp, [x, values], k, **params)


def _batch_last(array: Any, k: int) -> Any:
    return array.transpose((*range(k, array.ndim), *range(k))) if hasattr(array, "ndim") else array


slice_ = linear(
    "slice",
    _slice,
    lambda g, x_shape, *, index: slice_backward(g, index=index, shape=tuple(x_shape)),
    view=True,
    batch=_slice_behind,
    notation="x[index]",
    graph_name=slice_name,
)
"""x[index] for a basic index: a view."""
slice_backward = linear(
    "slice_backward",
    _slice_backward,
    lambda g, *, index: slice_(g, index=index),
    notation="zeros.at[index].set(g)",
    batch=_slice_behind,
    shape="given",
    cost=MOVES,
)
"""Zeros of `shape`, with g at the basic index."""
getitem = linear(
    "getitem",
    lambda xp, x, *, index: x[explicit(index, x.ndim)],
    lambda g, x_shape, *, index: index_add(g, index=index, shape=tuple(x_shape)),
    batch=_index_behind,
    shape="masks",
    cost=MOVES,
    notation="x[index]",
    graph_name="IndexBackward0",
)
"""x[index] for an index with arrays in it: a copy; repeated indices read the same element
several times.
"""
index_add = linear(
    "index_add",
    _index_add,
    lambda g, *, index: getitem(g, index=index),
    notation="zeros.at[index].add(g)",
    accumulates=True,
    batch=_index_behind,
    shape="given",
    cost=each_input(add=1),
)
"""Zeros of `shape`, with the elements of g added at the index: repeated indices accumulate."""


def _index_put(xp: Any, x: Any, values: Any, *, index: Any, accumulate: bool) -> Any:
    index = explicit(index, x.ndim)
    if not accumulate:
        out = materialise(x.copy())
        out[index] = values
        return out
    count = getattr(values, "size", 1)
    wide = accumulator(x.dtype, count if count >= x.size else 1)
    out = materialise(x.astype(wide))
    scatter_add(xp, out, index, values.astype(wide, copy=False) if wide != x.dtype else values)
    return out if wide == x.dtype else ignore_float_errors.run(out.astype, x.dtype)


def _index_put_base(g: Any, *, index: Any, accumulate: bool) -> Any:
    """Both modes: what was overwritten no longer counts."""
    return g if accumulate else index_put(g, 0.0, index=index, accumulate=False)


def _index_put_values(g: Any, values_shape: tuple[int, ...], *, index: Any) -> Any:
    from .shape import sum_to

    part = getitem(g, index=index)
    extra = len(values_shape) - part.ndim
    target = tuple(values_shape)[extra:] if extra > 0 else tuple(values_shape)
    part = sum_to(part, shape=target)
    return part.reshape(tuple(values_shape)) if extra > 0 else part


index_put = general(
    "index_put",
    _index_put,
    [_index_put_base, _index_put_values],
    [
        _index_put_base,
        lambda t, x_shape, *, index, accumulate: index_put(
            _blank(t, x_shape), t, index=index, accumulate=accumulate
        ),
    ],
    notation=lambda *, index, accumulate: f"x.at[index].{'add' if accumulate else 'set'}(values)",
    push_notation=lambda _, *, index, accumulate: (
        None,
        f"zeros.at[index].{'add' if accumulate else 'set'}(t)",
    ),
    accumulates=True,
    batch=_put_behind,
    shape="valid first",
    dtype="first",
    cost=put_cost,
)
"""x with the elements at an index replaced by `values` (or increased by them)."""


def _blank(t: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of `shape` in the dtype and kind of t."""
    return slice_backward(t.reshape(-1)[:0], index=(slice(0, 0),), shape=(_size(shape),)).reshape(
        tuple(shape)
    )


def _size(shape: tuple[int, ...]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total


# ------------------------------------------------------------------- the largest of what is written


def _scatter_extreme(xp: Any, x: Any, values: Any, *, index: Any, largest: bool) -> Any:
    out = materialise(x.copy())
    scatter_extreme_at(xp, out, index, values, largest)
    return out


def _winners(x: Any, values: Any, y: Any, index: Any) -> tuple[Any, Any]:
    """Which share of y each element of x and of `values` is: 1/k for each of k equal winners, 0
    for what is not chosen.
    """
    same: Any = lambda a, b: (a == b) | ((a != a) & (b != b))
    mine = where(same(x, y), ones_like(x), 0.0)
    theirs = where(same(values, getitem(y, index=index)), ones_like(values), 0.0)
    count = mine + index_add(theirs, index=index, shape=tuple(y.shape))
    return mine / count, theirs / getitem(count, index=index)


scatter_extreme = general(
    "scatter_extreme",
    _scatter_extreme,
    [
        lambda g, x, values, y, *, index: g * _winners(x, values, y, index)[0],
        lambda g, x, values, y, *, index: (
            getitem(g, index=index) * _winners(x, values, y, index)[1]
        ),
    ],
    [
        lambda t, x, values, y, *, index: t * _winners(x, values, y, index)[0],
        lambda t, x, values, y, *, index: index_add(
            t * _winners(x, values, y, index)[1], index=index, shape=tuple(y.shape)
        ),
    ],
    notation=lambda *, index, largest: f"scatter_{'max' if largest else 'min'}(x, values, index)",
    pull_notation=(
        "g * (x == y) / number_of_equals(y)",
        "g[index] * (values == y[index]) / number_of_equals(y[index])",
    ),
    push_notation=(
        "t * (x == y) / number_of_equals(y)",
        "zeros.at[index].add(t * (values == y[index]) / number_of_equals(y[index]))",
    ),
    promote="same",
    real_only=True,
    cost=each_input(other=1, operand=1),
)
"""x, in which each element is replaced by the largest (or smallest) of itself and of the values
with its index; equal ones share the derivative evenly. The values have the index's shape.
"""


# ---------------------------------------------------------------- a region reached by several views


def _replay(x: Any, steps: Any) -> Any:
    for step, params in steps:
        x = step(x, **params)
    return x


def _scatter_view(
    xp: Any, x: Any, values: Any, *, steps: Any, order: tuple[int, ...] | None = None
) -> Any:
    out = copy_in_order(xp, x, order)
    region = out
    for step, params in steps:
        region = step.forward(xp, region, **params)
    region[...] = values
    return out


scatter_view = general(
    "scatter_view",
    _scatter_view,
    [
        lambda g, values_shape, *, steps, order=None: scatter_view(
            g, zeros_like(_replay(g, steps)), steps=steps, order=order
        ),
        lambda g, *, steps: _replay(g, steps),
    ],
    [
        lambda t, *, steps, order=None: scatter_view(
            t, zeros_like(_replay(t, steps)), steps=steps, order=order
        ),
        lambda t, x, *, steps, order=None: scatter_view(zeros_like(x), t, steps=steps, order=order),
    ],
    # it picks and places parts (real and imaginary ones among them) and multiplies nothing
    conjugates=True,
    notation="x.at[the_view].set(values)",
    shape="valid first",
    dtype="first",
    cost=MOVES,
)
"""x with the region that `steps` (view operations) lead to replaced by `values`: what an in-place
change of a view means for its base.

order: the base's axes from the outermost in memory to the innermost. A cotangent may be laid out in
another way, in which the same steps would copy.
"""
