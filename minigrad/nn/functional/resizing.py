"""Images in another size: each new element reads one old one, weighs its neighbours, or takes
the mean of what falls on it.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import backend, functions
from ...core.tensor import Tensor, as_tensor
from ...errors import DTypeError, ShapeError
from ...functions import clamp, in_own_memory
from .arguments import each, on_axis, read, table
from .pooling import adaptive_mean

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]


MODES = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "area": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
}
"""How many spatial axes each mode takes."""


@in_own_memory
def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """(N, C, *S) resized to the spatial `size`, or to ⌊size · scale_factor⌋.

    mode: "nearest" shows at place i element ⌊i · in/out⌋, "nearest-exact" ⌊(i + ½) in/out⌋;
    "linear", "bilinear" and "trilinear" (by the number of spatial axes) weigh 2 neighbours along
    each axis, "bicubic" 4 (Keys 1981, a = −¾); "area" takes the mean of what falls on a place.
    align_corners (for the weighing modes): the first and last elements, and not the outer edges of
    the image, keep their places. The result is interpolated axis by axis.
    """
    x = as_tensor(input)
    axes = x.ndim - 2
    if mode not in MODES:
        raise ValueError(f"interpolate: mode must be one of {', '.join(MODES)}, got {mode!r}.")
    if axes not in MODES[mode]:
        wanted = " or ".join(str(n + 2) for n in MODES[mode])
        raise ShapeError(
            f'interpolate: mode "{mode}" needs an input of {wanted} dimensions (N, C, and the axes'
            f" to resize), got shape {x.shape}."
        )
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor.")
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise ValueError(
            f'interpolate: align_corners means nothing for mode "{mode}"; leave it out.'
        )
    dtype = x.dtype
    weighs = not mode.startswith("nearest")
    whole = dtype == backend.uint8 and weighs
    if whole or (weighs and backend.is_narrow(dtype)):
        x = x.to(backend.float32)
    elif not backend.is_differentiable(x.dtype) and weighs:
        raise DTypeError(
            f'interpolate: mode "{mode}" needs a floating dtype or uint8 (an image), got {x.dtype}.'
        )
    lengths, ratios = _resized(x.shape[2:], size, scale_factor, recompute_scale_factor)
    if mode == "area":
        x = adaptive_mean(x, lengths, axes, "interpolate")
    for axis, (m, ratio) in (
        enumerate(zip(lengths, ratios, strict=True), 2) if mode != "area" else ()
    ):
        n = x.shape[axis]
        if m == n and ratio == 1:
            continue
        if mode.startswith("nearest"):
            offset = 0.5 if mode == "nearest-exact" else 0.0
            x = read(x, axis, [min(int((j + offset) * ratio), n - 1) for j in range(m)])
        else:
            x = _weighed(
                x, axis, m, ratio, cubic=mode == "bicubic", align_corners=bool(align_corners)
            )
    if whole:
        x = clamp(
            functions.floor(x + 0.5), backend.lowest(backend.uint8), backend.highest(backend.uint8)
        )
    return x if x.dtype == dtype else x.to(dtype)


def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` under its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate(…, mode="nearest")."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate(…, mode="bilinear", align_corners=True)."""
    return interpolate(input, size, scale_factor, "bilinear", True)


def _resized(
    shape: Sequence[int], size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[int, ...], list[float]]:
    """The new lengths, and how many old elements a new one stands for."""
    if size is not None:
        lengths = each(size, len(shape), "interpolate", "size", 1)
        return lengths, [n / m for n, m in zip(shape, lengths, strict=True)]
    factors = (
        [scale_factor] * len(shape) if isinstance(scale_factor, int | float) else list(scale_factor)
    )
    if len(factors) != len(shape):
        raise ValueError(
            f"interpolate: scale_factor must be one number or {len(shape)}, got {scale_factor!r}."
        )
    lengths = tuple(math.floor(n * f) for n, f in zip(shape, factors, strict=True))
    if min(lengths) < 1:
        raise ShapeError(f"interpolate: nothing is left of {tuple(shape)} times {scale_factor}.")
    return lengths, (
        [n / m for n, m in zip(shape, lengths, strict=True)]
        if recompute
        else [1 / f for f in factors]
    )


def _weighed(
    x: Tensor, axis: int, m: int, ratio: float, cubic: bool, align_corners: bool
) -> Tensor:
    """m elements along an axis, each a weighed sum of its old neighbours; beyond the edge stands
    the edge.
    """
    n, places = x.shape[axis], range(m)
    sources = [
        j * ((n - 1) / (m - 1) if m > 1 else 0.0) if align_corners else (j + 0.5) * ratio - 0.5
        for j in places
    ]
    if not cubic:
        sources = [max(s, 0.0) for s in sources]
    neighbours = (-1, 0, 1, 2) if cubic else (0, 1)
    weight = _keys if cubic else lambda distance: 1 - distance
    total: Any = None
    for k in neighbours:
        index = [min(max(math.floor(s) + k, 0), n - 1) for s in sources]
        weights = [weight(abs(s - math.floor(s) - k)) for s in sources]
        part = read(x, axis, index) * on_axis(table(weights, x.dtype, x), axis, x.ndim)
        total = part if total is None else total + part
    return total


def _keys(distance: float) -> float:
    """The weight of an element at that distance in cubic convolution. Source: R. Keys, Cubic
    convolution interpolation (1981).
    """
    a, d = -0.75, distance
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
