"""Windows that slide along an axis, as a view, and the sum over all windows in which an element
lies. Each is the other's transpose.
"""

from __future__ import annotations

from typing import Any

from ..backend import sliding_windows
from ..core.primitive import linear
from .batch import shift_axes
from .costs import additions


def _unfold_backward(
    xp: Any, g: Any, *, axis: int, size: int, step: int, shape: tuple[int, ...]
) -> Any:
    out = xp.zeros(shape, g.dtype)
    before, end = (slice(None),) * axis, (g.shape[axis] - 1) * step + 1
    for k in range(size):
        out[(*before, slice(k, k + end, step))] += g[..., k]
    return out


unfold = linear(
    "unfold",
    lambda xp, x, *, axis, size, step: sliding_windows(xp, x, axis, size, step),
    lambda g, x_shape, *, axis, size, step: unfold_backward(
        g, axis=axis, size=size, step=step, shape=tuple(x_shape)
    ),
    view=True,
    batch=shift_axes,
)
"""All windows of `size` elements along an axis, `step` apart, as a new last axis."""
unfold_backward = linear(
    "unfold_backward",
    _unfold_backward,
    lambda g, *, axis, size, step: unfold(g, axis=axis, size=size, step=step),
    symbol="fold",
    batch=shift_axes,
    shape="given",
    cost=additions,
)
"""An array of `shape`: each element is the sum of its values in all windows in which it lies."""
