"""How each operation runs on a whole batch at once: one short rule for each way in which operations use axes.

A rule gets the operation, the array library, the operands' arrays with the k batch axes in front (length 1 where all examples agree) and
the keyword parameters as one example would have them; it returns the array for the batch. The table `RULES` names the rule of each
operation. Element-wise operations need no entry, and one without an entry is run example by example and stacked: slow, and always right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from ..backend import array_module, canonical, copy_in_order
from ..errors import BatchingError
from ..ops.index import explicit, gather, is_basic, window
from ..ops.operators import attach_operators
from ..ops.shape import reshape
from ..primitive import Primitive
from . import value
from .boundary import BOUNDARY, drawn
from .value import Batched, aligned, axes_of, packed, union

Rule = Callable[..., Any]


def run(prim: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """One operation on operands among which there is a batched one. Called by the engine, on payloads."""
    xp = array_module([o.array if type(o) is Batched else o for o in operands], prim.name)
    if prim in BOUNDARY:
        return prim.forward(xp, *operands, **params)
    if prim.name == "scatter_view":
        return _scatter_view(*operands, **params)
    if prim.name == "dropout_mask":
        (x,) = operands
        return drawn(lambda shape: prim.forward(xp, xp.zeros(shape, x.dtype), **params), x.shape)
    axes, rule = union(operands), RULES.get(prim.name)
    if rule is None and (prim.elementwise or prim.name in _POINTWISE):
        ndim = max(getattr(o, "ndim", 0) for o in operands)
        return Batched(prim.forward(xp, *aligned(operands, axes, ndim), **params), axes)
    result = (rule or _one_by_one)(prim, xp, aligned(operands, axes), len(axes), **params)
    return Batched(result, axes) if prim.outputs == 1 else tuple(Batched(r, axes) for r in result)


value.run = run

_NAMES = """
    abs sgn conj real imag angle complex clone identity cast move zeros_like ones_like eq ne lt le gt ge isnan isinf isfinite
    logical_and logical_or logical_xor logical_not heaviside bitwise_and bitwise_or bitwise_xor bitwise_not scale_shift
"""
_POINTWISE = frozenset(_NAMES.split())
"""Element-wise by nature, though declared as linear, general or constant."""


# ------------------------------------------------------------------------------------------------------ rules by how axes are used


def _axes_shifted(prim: Primitive, xp: Any, arrays: list[Any], k: int, **params: Any) -> Any:
    """`axes` or `axis` count from the left of an example: k more in the batch. Operands do not broadcast, so each gets the full batch."""
    if len(arrays) > 1:
        lengths = _lengths(arrays, k)
        arrays = [xp.broadcast_to(a, (*lengths, *a.shape[k:])) for a in arrays]
    if "axes" in params:
        params["axes"] = tuple(axis + k for axis in params["axes"])
    if "shape" in params:
        params["shape"] = (*arrays[0].shape[:k], *params["shape"])
    if "axis" in params and all(a.ndim == k for a in arrays):  # axis 0 of one number, as softmax takes it: an axis of length 1
        return prim.forward(xp, *(a[..., None] for a in arrays), **{**params, "axis": k})[..., 0]
    if "axis" in params:
        params["axis"] += k
    return prim.forward(xp, *arrays, **params)


def _as_it_is(prim: Primitive, xp: Any, arrays: list[Any], k: int, **params: Any) -> Any:
    """Operations that count axes from the right."""
    return prim.forward(xp, *arrays, **params)


def _layer(prim: Primitive, xp: Any, arrays: list[Any], k: int) -> Any:
    """x Wᵀ + b takes any number of leading axes, if all examples share W and b."""
    x, w, b = arrays
    if math.prod(w.shape[:k]) * math.prod(b.shape[:k]) != 1:
        return _one_by_one(prim, xp, arrays, k)
    return prim.forward(xp, x, w.reshape(w.shape[k:]), b.reshape(b.shape[k:]))


def _images(prim: Primitive, xp: Any, arrays: list[Any], k: int, **params: Any) -> Any:
    """Images (n, channels, …) come in batches anyway: ours joins theirs, if all examples share the kernel."""
    x, w = arrays
    if math.prod(w.shape[:k]) != 1:
        return _one_by_one(prim, xp, arrays, k, **params)
    joined = x.reshape((math.prod(x.shape[: k + 1]), *x.shape[k + 1 :]))
    result = prim.forward(xp, joined, w.reshape(w.shape[k:]), **params)
    return result.reshape((*x.shape[: k + 1], *result.shape[1:]))


def _diagonals(prim: Primitive, xp: Any, arrays: list[Any], k: int, *, axis1: int, axis2: int, **params: Any) -> Any:
    """Both axes count from the left; a diagonal lies in the memory of its matrices, so it must be taken of the whole batch at once."""
    if "shape" in params:
        params["shape"] = (*arrays[0].shape[:k], *params["shape"])
    return prim.forward(xp, *arrays, axis1=axis1 + k, axis2=axis2 + k, **params)


def _axis_or_all(prim: Primitive, xp: Any, arrays: list[Any], k: int, *, axis: int | None, keepdims: bool) -> Any:
    """`axis=None` means all axes of an example, flattened; so does axis 0 of one number."""
    (x,) = arrays
    if axis is not None and x.ndim > k:
        return prim.forward(xp, x, axis=axis + k, keepdims=keepdims)
    result = prim.forward(xp, x.reshape((*x.shape[:k], math.prod(x.shape[k:]))), axis=k, keepdims=False)
    return result.reshape((*result.shape, *(1,) * (x.ndim - k))) if keepdims else result


def _permuted(prim: Primitive, xp: Any, arrays: list[Any], k: int, *, axes: tuple[int, ...]) -> Any:
    """The batch axes stay in front."""
    return arrays[0].transpose((*range(k), *(axis + k for axis in axes)))


def _new_shape(prim: Primitive, xp: Any, arrays: list[Any], k: int, *, shape: tuple[int, ...]) -> Any:
    """The example takes the new shape; where that has more axes, they come between the batch's and the example's."""
    (x,) = arrays
    lead = len(shape) - (x.ndim - k)
    if prim is not reshape and lead > 0:
        x = x.reshape((*x.shape[:k], *(1,) * lead, *x.shape[k:]))
    return prim.forward(xp, x, shape=(*x.shape[:k], *shape))


def _summed_to(prim: Primitive, xp: Any, arrays: list[Any], k: int, *, shape: tuple[int, ...]) -> Any:
    """Missing leading axes of the example are summed as axes of length 1, then dropped."""
    (x,) = arrays
    lead = x.ndim - k - len(shape)
    return prim.forward(xp, x, shape=(*x.shape[:k], *(1,) * lead, *shape)).reshape((*x.shape[:k], *shape))


def _joined(prim: Primitive, xp: Any, arrays: list[Any], k: int, *, axis: int, sizes: tuple[int, ...]) -> Any:
    """Joining does not broadcast, so all parts get the full batch."""
    lengths = _lengths(arrays, k)
    return xp.concatenate([xp.broadcast_to(a, (*lengths, *a.shape[k:])) for a in arrays], axis=axis + k)


def _windowed(prim: Primitive, xp: Any, arrays: list[Any], k: int, *, index: Any, **params: Any) -> Any:
    """A basic index behind k full slices; `shape`, where there is one, behind the batch's lengths."""
    if "shape" in params:
        params["shape"] = (*arrays[0].shape[:k], *params["shape"])
    return prim.forward(xp, *arrays, index=(slice(None),) * k + (index if isinstance(index, tuple) else (index,)), **params)


def _indexed(prim: Primitive, xp: Any, arrays: list[Any], k: int, *, index: Any, **params: Any) -> Any:
    """An index with arrays in it reads the example's axes, so the batch axes go to the end, where an index leaves them alone."""
    x, *values = arrays
    if "shape" in params:
        params["shape"] = (*params["shape"], *x.shape[:k])
    if prim.name == "index_put":
        x = xp.broadcast_to(x, (*_lengths(arrays, k), *x.shape[k:]))
    ndim = len(params["shape"]) - k if "shape" in params else x.ndim - k
    result = prim.forward(xp, *(_batch_last(a, k) for a in (x, *values)), index=explicit(index, ndim), **params)
    return result.transpose((*range(result.ndim - k, result.ndim), *range(result.ndim - k)))


def _batch_last(array: Any, k: int) -> Any:
    return array.transpose((*range(k, array.ndim), *range(k))) if hasattr(array, "ndim") else array


def _product(prim: Primitive, xp: Any, arrays: list[Any], k: int) -> Any:
    """Vectors become rows and columns; a matrix that all examples share makes one large product of a batch of small ones."""
    a, b = arrays
    row, column = a.ndim - k == 1, b.ndim - k == 1
    a = a.reshape((*a.shape[:k], 1, *a.shape[k:])) if row else a
    b = b.reshape((*b.shape, 1)) if column else b
    if b.ndim - k == 2 and math.prod(b.shape[:k]) == 1:
        rows = prim.forward(xp, a.reshape((math.prod(a.shape[:-1]), a.shape[-1])), b.reshape(b.shape[k:]))
        out = rows.reshape((*a.shape[:-1], b.shape[-1]))
    elif a.ndim - k == 2 and math.prod(a.shape[:k]) == 1 and b.ndim - k == 2 and b.shape[-1] == 1:
        columns = prim.forward(xp, b.reshape((math.prod(b.shape[:k]), b.shape[-2])), a.reshape(a.shape[k:]).transpose())
        out = columns.reshape((*b.shape[:k], a.shape[-2], 1))
    else:
        depth = max(a.ndim, b.ndim)
        a, b = (m.reshape((*m.shape[:k], *(1,) * (depth - m.ndim), *m.shape[k:])) for m in (a, b))
        out = prim.forward(xp, a, b)
    out = out.reshape((*out.shape[:-2], out.shape[-1])) if row else out
    return out.reshape(out.shape[:-1]) if column else out


def _overwritten(prim: Primitive, xp: Any, arrays: list[Any], k: int) -> Any:
    """The new values in the shape of the old ones."""
    old, new = arrays
    new = new.reshape((*new.shape[:k], *(1,) * (old.ndim - new.ndim), *new.shape[k:])) if getattr(new, "ndim", 0) else new
    return xp.broadcast_to(new, (*_lengths(arrays, k), *old.shape[k:])).astype(old.dtype)


def _lengths(arrays: list[Any], k: int) -> tuple[int, ...]:
    """The common lengths of the batch axes."""
    shapes = [a.shape[:k] for a in arrays if getattr(a, "ndim", 0) >= k]
    return tuple(next((s[i] for s in shapes if s[i] != 1), 1) for i in range(k))


def _one_by_one(prim: Primitive, xp: Any, arrays: list[Any], k: int, **params: Any) -> Any:
    """Any operation: run it for each example, and stack the results."""
    lengths = _lengths(arrays, k)

    def example(a: Any, at: tuple[int, ...]) -> Any:
        return canonical(a[(*(i if n > 1 else 0 for i, n in zip(at, a.shape, strict=False)), Ellipsis)]) if hasattr(a, "shape") else a

    if 0 in lengths:  # no example to learn the result's shape from: ask one made of ones
        ones = prim.forward(xp, *(xp.ones(a.shape[k:], a.dtype) if hasattr(a, "shape") else a for a in arrays), **params)
        empty = [xp.zeros((*lengths, *r.shape), r.dtype) for r in (ones if prim.outputs != 1 else (ones,))]
        return tuple(empty) if prim.outputs != 1 else empty[0]
    results = [prim.forward(xp, *(example(a, at) for a in arrays), **params) for at in product(*map(range, lengths))]
    columns = list(zip(*results, strict=True)) if prim.outputs != 1 else [results]
    stacked = []
    for column in columns:
        shapes = {tuple(r.shape) for r in column}
        if len(shapes) > 1:
            raise BatchingError(
                f"vmap: the results of {prim.name} have different shapes in different examples ({sorted(shapes)}), so they are no batch."
            )
        stacked.append(xp.stack([xp.asarray(r) for r in column]).reshape((*lengths, *column[0].shape)))
    return tuple(stacked) if prim.outputs != 1 else stacked[0]


def _scatter_view(x: Any, values: Any, *, steps: Any, order: tuple[int, ...] | None = None) -> Any:
    """A copy of x with room for the values' batch, in which the region that the steps lead to is overwritten. Steps may lead into the
    batch themselves.
    """
    entered = {params["place"] for step, params in steps if step.name == "batch_enter"}
    axes = tuple(axis for axis in union([x, values]) if axis not in entered)
    array, k = aligned([x], axes)[0], len(axes)
    lengths = [axis.size if axis in axes_of(values) else n for axis, n in zip(axes, array.shape, strict=False)]
    xp = array_module([array])
    order = (*range(k), *(axis + k for axis in (range(array.ndim - k) if order is None else order)))
    out = region = packed(copy_in_order(xp, xp.broadcast_to(array, (*lengths, *array.shape[k:])), order), axes)
    for step, params in steps:
        region = step(region, **params)
    region[...] = values
    return out


RULES: dict[str, Rule] = {
    "sum": _axes_shifted,
    "mean": _axes_shifted,
    "amax": _axes_shifted,
    "amin": _axes_shifted,
    "all": _axes_shifted,
    "any": _axes_shifted,
    "flip": _axes_shifted,
    "roll": _axes_shifted,
    "pad_axis": _axes_shifted,
    "argmax": _axis_or_all,
    "argmin": _axis_or_all,
    "permute": _permuted,
    "reshape": _new_shape,
    "broadcast_to": _new_shape,
    "sum_to": _summed_to,
    "cat": _joined,
    "window": _windowed,
    "unwindow": _windowed,
    "getitem": _indexed,
    "ungather": _indexed,
    "index_put": _indexed,
    "matmul": _product,
    "overwrite": _overwritten,
    "softmax": _axes_shifted,
    "log_softmax": _axes_shifted,
    "nll": _axes_shifted,
    "nll_place": _axes_shifted,
    "standardize": _axes_shifted,
    "standardize_push": _axes_shifted,
    "cumsum": _axes_shifted,
    "cumprod": _axes_shifted,
    "logcumsumexp": _axes_shifted,
    "recurrence": _axes_shifted,
    "prod": _axes_shifted,
    "logsumexp": _axes_shifted,
    "argsort": _axes_shifted,
    "leader": _axes_shifted,
    "fft": _axes_shifted,
    "window_max": _axes_shifted,
    "window_max_push": _axes_shifted,
    "window_max_pull": _axes_shifted,
    "window_sum": _axes_shifted,
    "window_spread": _axes_shifted,
    "unfold": _axes_shifted,
    "unfold_backward": _axes_shifted,
    "diagonal": _diagonals,
    "undiagonal": _diagonals,
    "tril": _as_it_is,
    "triu": _as_it_is,
    "view_as_real": _as_it_is,
    "view_as_complex": _as_it_is,
    "rnn": _as_it_is,
    "lstm": _as_it_is,
    "gru": _as_it_is,
    "affine": _layer,
    "convolve": _images,
    "convolve_input": _images,
}
"""Which rule runs an operation on a batch."""

# ---------------------------------------------------------------------------------------- what derivative rules do with raw payloads

attach_operators(Batched)
_METHODS: dict[str, Any] = {
    "__getitem__": lambda self, index: window(self, index=index) if is_basic(index) else gather(self, index=index),
    "reshape": lambda self, *shape: reshape(
        self, shape=_sizes(self, shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape)
    ),
}
for _name, _method in _METHODS.items():
    setattr(Batched, _name, _method)


def _sizes(x: Batched, shape: Any) -> tuple[int, ...]:
    """A shape in which -1 is worked out."""
    known = math.prod(n for n in shape if n != -1)
    return tuple(math.prod(x.shape) // known if n == -1 else n for n in shape)
