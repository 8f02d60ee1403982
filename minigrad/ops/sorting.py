"""Order and counting: operations that answer with indices or counts. They have no derivative; what
is read at the indices has.

So a sort is `x[argsort(x)]`, and its derivative is the transpose of that reading: each cotangent
element goes back to where its value came from.
"""

from __future__ import annotations

from typing import Any

from ..core.primitive import constant
from .batch import shift_axes
from .costs import MOVES, each_input, sorting, steps


def _sortable(x: Any) -> Any:
    """NumPy's sorts put NaN last only in its own dtypes: bfloat16 is sorted as float32."""
    return x.astype("float32") if x.dtype.kind == "V" else x


def _argsort(xp: Any, x: Any, *, axis: int, descending: bool) -> Any:
    x = _sortable(x)
    if not descending:
        return xp.argsort(x, axis=axis, kind="stable")
    # equals keep their order, NaN comes first
    turned = xp.argsort(xp.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - xp.flip(turned, axis)


argsort = constant(
    "argsort",
    _argsort,
    real_only=True,
    batch=shift_axes,
    shape="first",
    dtype="int64",
    cost=sorting,
)
"""The indices (int64) that sort x along an axis; equals keep their order; NaN counts as larger
than all numbers.
"""


def _cumulative_argmax(xp: Any, x: Any, *, axis: int, largest: bool) -> Any:
    before = (slice(None),) * axis
    places = xp.zeros(x.shape, "int64")
    best = None
    for k in range(x.shape[axis]):
        now = x[(*before, k)]
        if best is None:
            best, place = now, xp.zeros(now.shape, "int64")
        else:
            ahead = (now != now) | ((now >= best if largest else now <= best) & (best == best))
            best, place = xp.where(ahead, now, best), xp.where(ahead, k, place)
        places[(*before, k)] = place
    return places


cumulative_argmax = constant(
    "cumulative_argmax", _cumulative_argmax, real_only=True, batch=shift_axes, cost=steps(other=1)
)
"""Along an axis, where the largest (or smallest) of the elements so far is: the last of equals,
and the last NaN once there was one.
"""


def _searchsorted(xp: Any, sorted_sequence: Any, values: Any, *, side: str) -> Any:
    sorted_sequence, values = _sortable(sorted_sequence), _sortable(values)
    if sorted_sequence.ndim == 1:
        return xp.searchsorted(sorted_sequence, values, side)
    rows = sorted_sequence.reshape(-1, sorted_sequence.shape[-1])
    wanted = values.reshape(-1, values.shape[-1])
    found = [xp.searchsorted(rows[i], wanted[i], side) for i in range(len(rows))]
    return xp.stack(found).reshape(values.shape) if found else xp.zeros(values.shape, "int64")


searchsorted = constant("searchsorted", _searchsorted, real_only=True, dtype="int64", cost=sorting)
"""Where each value would have to be inserted to keep the order: how many elements are smaller
("left"), or not larger ("right").
"""
argwhere = constant(
    "argwhere", lambda xp, x: xp.argwhere(x), shape="data", dtype="int64", cost=MOVES
)
"""The indices of all elements that are not zero, one row each."""
bincount = constant(
    "bincount",
    lambda xp, x, *, minlength: xp.bincount(x, minlength=minlength),
    shape="data",
    dtype="int64",
    cost=each_input(add=1),
)
"""How often each of the numbers 0, 1, 2, … occurs."""
