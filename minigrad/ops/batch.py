"""How operations run on a whole batch at once: one short rule for each use of axes, which
declarations name (`batch=shift_axes`).

A rule gets the operation, the array library, the operands' arrays with the k batch axes in front
(length 1 where all examples agree) and the parameters as one example would have them. It returns
the array of the whole batch, or None where that takes running the examples one by one.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.primitive import Primitive


def shift_axes(prim: Primitive, xp: Any, arrays: list[Any], k: int, **params: Any) -> Any:
    """`axes` or `axis` count from the left of an example: k more in the batch. Operands do not
    broadcast, so each gets the full batch."""
    if len(arrays) > 1:
        lengths = batch_lengths(arrays, k)
        arrays = [xp.broadcast_to(a, (*lengths, *a.shape[k:])) for a in arrays]
    if "axes" in params:
        params["axes"] = tuple(axis + k for axis in params["axes"])
    if "shape" in params:
        params["shape"] = (*arrays[0].shape[:k], *params["shape"])
    # axis 0 of one number, as softmax takes it: an axis of length 1
    if "axis" in params and all(a.ndim == k for a in arrays):
        return prim.forward(xp, *(a[..., None] for a in arrays), **{**params, "axis": k})[..., 0]
    if "axis" in params:
        params["axis"] += k
    return prim.forward(xp, *arrays, **params)


def axes_from_the_right(prim: Primitive, xp: Any, arrays: list[Any], k: int, **params: Any) -> Any:
    """Operations that count axes from the right."""
    return prim.forward(xp, *arrays, **params)


def join_layer(prim: Primitive, xp: Any, arrays: list[Any], k: int) -> Any:
    """x Wᵀ + b takes any number of leading axes, if all examples share W and b."""
    x, w, b = arrays
    if math.prod(w.shape[:k]) * math.prod(b.shape[:k]) != 1:
        return None
    return prim.forward(xp, x, w.reshape(w.shape[k:]), b.reshape(b.shape[k:]))


def join_images(prim: Primitive, xp: Any, arrays: list[Any], k: int, **params: Any) -> Any:
    """Images (n, channels, …) come in batches anyway: ours joins theirs, if all examples share the
    kernel."""
    x, w = arrays
    if math.prod(w.shape[:k]) != 1:
        return None
    joined = x.reshape((math.prod(x.shape[: k + 1]), *x.shape[k + 1 :]))
    result = prim.forward(xp, joined, w.reshape(w.shape[k:]), **params)
    return result.reshape((*x.shape[: k + 1], *result.shape[1:]))


def shift_diagonal(
    prim: Primitive, xp: Any, arrays: list[Any], k: int, *, axis1: int, axis2: int, **params: Any
) -> Any:
    """Both axes count from the left; a diagonal lies in the memory of its matrices, so it must be
    taken of the whole batch at once."""
    if "shape" in params:
        params["shape"] = (*arrays[0].shape[:k], *params["shape"])
    return prim.forward(xp, *arrays, axis1=axis1 + k, axis2=axis2 + k, **params)


def shift_axis_or_all(
    prim: Primitive, xp: Any, arrays: list[Any], k: int, *, axis: int | None, keepdims: bool
) -> Any:
    """`axis=None` means all axes of an example, flattened; so does axis 0 of one number."""
    (x,) = arrays
    if axis is not None and x.ndim > k:
        return prim.forward(xp, x, axis=axis + k, keepdims=keepdims)
    result = prim.forward(
        xp, x.reshape((*x.shape[:k], math.prod(x.shape[k:]))), axis=k, keepdims=False
    )
    return result.reshape((*result.shape, *(1,) * (x.ndim - k))) if keepdims else result


def permute_behind(
    prim: Primitive, xp: Any, arrays: list[Any], k: int, *, axes: tuple[int, ...]
) -> Any:
    """The batch axes stay in front."""
    return arrays[0].transpose((*range(k), *(axis + k for axis in axes)))


def reshape_behind(
    prim: Primitive, xp: Any, arrays: list[Any], k: int, *, shape: tuple[int, ...]
) -> Any:
    """The example takes the new shape."""
    return prim.forward(xp, arrays[0], shape=(*arrays[0].shape[:k], *shape))


def broadcast_behind(
    prim: Primitive, xp: Any, arrays: list[Any], k: int, *, shape: tuple[int, ...]
) -> Any:
    """New leading axes of the example come between the batch's axes and the example's."""
    (x,) = arrays
    x = x.reshape((*x.shape[:k], *(1,) * (len(shape) - (x.ndim - k)), *x.shape[k:]))
    return prim.forward(xp, x, shape=(*x.shape[:k], *shape))


def sum_behind(
    prim: Primitive, xp: Any, arrays: list[Any], k: int, *, shape: tuple[int, ...]
) -> Any:
    """Missing leading axes of the example are summed as axes of length 1, then dropped."""
    (x,) = arrays
    lead = x.ndim - k - len(shape)
    return prim.forward(xp, x, shape=(*x.shape[:k], *(1,) * lead, *shape)).reshape(
        (*x.shape[:k], *shape)
    )


def join_parts(
    prim: Primitive, xp: Any, arrays: list[Any], k: int, *, axis: int, **sizes: Any
) -> Any:
    """Joining does not broadcast, so all parts get the full batch."""
    lengths = batch_lengths(arrays, k)
    parts = [xp.broadcast_to(a, (*lengths, *a.shape[k:])) for a in arrays]
    return prim.forward(xp, *parts, axis=axis + k, **sizes)


def multiply_matrices(prim: Primitive, xp: Any, arrays: list[Any], k: int) -> Any:
    """Vectors become rows and columns; a matrix that all examples share makes one large product of
    a batch of small ones."""
    a, b = arrays
    row, column = a.ndim - k == 1, b.ndim - k == 1
    a = a.reshape((*a.shape[:k], 1, *a.shape[k:])) if row else a
    b = b.reshape((*b.shape, 1)) if column else b
    if b.ndim - k == 2 and math.prod(b.shape[:k]) == 1:
        rows = prim.forward(
            xp, a.reshape((math.prod(a.shape[:-1]), a.shape[-1])), b.reshape(b.shape[k:])
        )
        out = rows.reshape((*a.shape[:-1], b.shape[-1]))
    elif a.ndim - k == 2 and math.prod(a.shape[:k]) == 1 and b.ndim - k == 2 and b.shape[-1] == 1:
        columns = prim.forward(
            xp, b.reshape((math.prod(b.shape[:k]), b.shape[-2])), a.reshape(a.shape[k:]).transpose()
        )
        out = columns.reshape((*b.shape[:k], a.shape[-2], 1))
    else:
        depth = max(a.ndim, b.ndim)
        a, b = (m.reshape((*m.shape[:k], *(1,) * (depth - m.ndim), *m.shape[k:])) for m in (a, b))
        out = prim.forward(xp, a, b)
    out = out.reshape((*out.shape[:-2], out.shape[-1])) if row else out
    return out.reshape(out.shape[:-1]) if column else out


def overwrite_all(prim: Primitive, xp: Any, arrays: list[Any], k: int) -> Any:
    """The new values in the shape of the old ones."""
    old, new = arrays
    new = (
        new.reshape((*new.shape[:k], *(1,) * (old.ndim - new.ndim), *new.shape[k:]))
        if getattr(new, "ndim", 0)
        else new
    )
    return xp.broadcast_to(new, (*batch_lengths(arrays, k), *old.shape[k:])).astype(old.dtype)


def batch_lengths(arrays: list[Any], k: int) -> tuple[int, ...]:
    """The common lengths of the batch axes."""
    shapes = [a.shape[:k] for a in arrays if getattr(a, "ndim", 0) >= k]
    return tuple(next((s[i] for s in shapes if s[i] != 1), 1) for i in range(k))
