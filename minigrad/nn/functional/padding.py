"""Padding at the ends of axes: zeros, a number, the edge, the mirrored axis, or the axis again."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import functions
from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError, one_of
from ...functions import cat, in_own_memory
from ...functions.arguments import whole_numbers, without_graph
from ...ops.shape import pad_axis
from .arguments import read, span

__all__ = ["pad"]


@in_own_memory
def pad(
    input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Elements added at the ends of axes: `pad` is (before last axis, after last axis, before the
    axis before it, …); negative numbers cut off.

    mode: "constant" (of `value`, 0 by default), "reflect" (mirrored without repeating the edge),
    "replicate" (the edge), "circular".
    """
    x = as_tensor(input)
    one_of("pad", "mode", mode, "constant", "reflect", "replicate", "circular")
    if len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise ValueError(
            f"pad: {tuple(pad)} must hold pairs for at most the {x.ndim} axes of input {x.shape}."
        )
    pad = whole_numbers(pad, "pad", "the numbers of elements")
    for i in range(len(pad) // 2):
        axis, before, after = x.ndim - 1 - i, pad[2 * i], pad[2 * i + 1]
        n = x.shape[axis]
        if n + before + after < 0:
            raise ShapeError(
                f"pad: ({before}, {after}) cuts more than the {n} elements of dimension {axis}."
            )
        if mode == "constant":
            x = span(x, axis, max(0, -before), n - max(0, -after)) if before < 0 or after < 0 else x
            filled = without_graph(value, "pad", "value") or 0
            x = _filled_ends(x, axis, max(0, before), max(0, after), filled)
        elif mode == "circular" and min(before, after) < 0:  # what is cut off does not come back
            kept = span(x, axis, max(0, -before), n - max(0, -after))
            around = [v for b in range(i) for v in (0, 0)] + [max(0, before), max(0, after)]
            x = _pad(kept, around, mode)
        elif before or after:
            x = read(x, axis, _mirrored(n, before, after, mode))
    return x


_pad = pad  # under a name that its own argument does not hide


def _filled_ends(x: Tensor, axis: int, before: int, after: int, value: float) -> Tensor:
    if not before and not after:
        return x
    if not value:
        return pad_axis(x, axis=axis, before=before, after=after)
    ends = [
        functions.full(
            (*x.shape[:axis], n, *x.shape[axis + 1 :]), value, dtype=x.dtype, device=x.device
        )
        for n in (before, after)
    ]
    return cat([ends[0], x, ends[1]], axis)


def _mirrored(n: int, before: int, after: int, mode: str) -> list[int]:
    """Which elements stand at positions −before … n + after − 1."""
    positions = range(-before, n + after)
    if mode == "replicate":
        return [min(max(i, 0), n - 1) for i in positions]
    if mode == "circular":
        if max(before, after) > n:
            raise ValueError(
                f"pad: circular padding of ({before}, {after}) goes more than once round {n}"
                " elements."
            )
        return [i % n for i in positions]
    if max(before, after) >= n:
        raise ValueError(
            f"pad: reflect needs padding smaller than the axis; got ({before}, {after}) for {n}"
            " elements."
        )
    return [-i if i < 0 else 2 * (n - 1) - i if i >= n else i for i in positions]
