"""How an operation runs on a whole batch at once: by the rule that its declaration names (`batch`,
see ops/batch.py), else example by example, which is slow and always right.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from ..backend import array_module, canonical, copy_in_order
from ..core.primitive import Primitive
from ..errors import BatchingError
from ..ops.batch import batch_lengths
from ..ops.index import scatter_view
from .boundary import drawn, enter, rewrite
from .value import Batched, aligned, axes_of, packed, union


def run(prim: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """One operation on operands among which there is a batched one. Called by the engine, on
    payloads.
    """
    xp = array_module([o.array if type(o) is Batched else o for o in operands], prim.name)
    axes, batch = union(operands), prim.batch
    if batch == "pointwise":
        ndim = max(getattr(o, "ndim", 0) for o in operands)
        return Batched(prim.forward(xp, *aligned(operands, axes, ndim), **params), axes)
    if batch == "itself":
        return prim.forward(xp, *operands, **params)
    if prim is scatter_view:
        return _scatter_view(*operands, **params)
    if prim.random:
        (x,) = operands
        return drawn(lambda shape: prim.forward(xp, xp.zeros(shape, x.dtype), **params), x.shape)
    arrays = aligned(operands, axes)
    result = batch(prim, xp, arrays, len(axes), **params) if callable(batch) else None
    if result is None:
        result = _one_by_one(prim, xp, arrays, len(axes), **params)
    return Batched(result, axes) if prim.outputs == 1 else tuple(Batched(r, axes) for r in result)


def _one_by_one(prim: Primitive, xp: Any, arrays: list[Any], k: int, **params: Any) -> Any:
    """Any operation: run it for each example, and stack the results."""
    lengths = batch_lengths(arrays, k)

    def example(a: Any, at: tuple[int, ...]) -> Any:
        return (
            canonical(
                a[(*(i if n > 1 else 0 for i, n in zip(at, a.shape, strict=False)), Ellipsis)]
            )
            if hasattr(a, "shape")
            else a
        )

    if 0 in lengths:  # no example to learn the result's shape from: ask one made of ones
        ones = prim.forward(
            xp,
            *(xp.ones(a.shape[k:], a.dtype) if hasattr(a, "shape") else a for a in arrays),
            **params,
        )
        empty = [
            xp.zeros((*lengths, *r.shape), r.dtype)
            for r in (ones if prim.outputs != 1 else (ones,))
        ]
        return tuple(empty) if prim.outputs != 1 else empty[0]
    results = [
        prim.forward(xp, *(example(a, at) for a in arrays), **params)
        for at in product(*map(range, lengths))
    ]
    columns = list(zip(*results, strict=True)) if prim.outputs != 1 else [results]
    stacked = []
    for column in columns:
        shapes = {tuple(r.shape) for r in column}
        if len(shapes) > 1:
            raise BatchingError(
                f"vmap: the results of {prim.name} have different shapes in different examples"
                f" ({sorted(shapes)}), so they are no batch."
            )
        stacked.append(
            xp.stack([xp.asarray(r) for r in column]).reshape((*lengths, *column[0].shape))
        )
    return tuple(stacked) if prim.outputs != 1 else stacked[0]


def _scatter_view(x: Any, values: Any, *, steps: Any, order: tuple[int, ...] | None = None) -> Any:
    """A copy of x with space for the values' batch, in which the region that the steps lead to is
    overwritten. Steps may lead into the batch themselves.
    """
    entered = {params["place"] for step, params in steps if step is enter}
    axes = tuple(axis for axis in union([x, values]) if axis not in entered)
    array, k = aligned([x], axes)[0], len(axes)
    lengths = [
        axis.size if axis in axes_of(values) else n
        for axis, n in zip(axes, array.shape, strict=False)
    ]
    xp = array_module([array])
    order = (*range(k), *(axis + k for axis in (range(array.ndim - k) if order is None else order)))
    out = region = packed(
        copy_in_order(xp, xp.broadcast_to(array, (*lengths, *array.shape[k:])), order), axes
    )
    for step, params in steps:
        region = step(region, **params)
    region[...] = values
    return out


# ------------------------------------------------------- what derivative rules do with raw payloads

Batched.__minigrad_apply__ = staticmethod(run)  # type: ignore[method-assign]
Batched.__minigrad_rewrite__ = staticmethod(rewrite)  # type: ignore[method-assign]
