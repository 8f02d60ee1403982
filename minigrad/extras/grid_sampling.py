"""Images and volumes read between their pixels: the places that an affine map goes to, and the
image's values there.

Places are pairs (x, y), in volumes triples (x, y, z), from −1 to 1, from one edge of the image to
the other: of its outer edges, or, with align_corners, of the centres of its outermost pixels.
Values between pixels weigh their neighbours, so both the image and the places have derivatives.

Source: Jaderberg et al., Spatial transformer networks (2015).
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from .. import backend, functions
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError, one_of
from ..functions import arange, clamp, floor, where
from ..nn.functional.arguments import on_axis
from ..ops.elementwise import in_float32


@functions.in_own_memory
def affine_grid(theta: Any, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """The places (N, H, W, 2) that the maps theta (N, 2, 3) send the pixels of images of `size` (N,
    C, H, W) to; or (N, D, H, W, 3) by theta (N, 3, 4) for volumes (N, C, D, H, W). Raises
    ShapeError where they do not fit.
    """
    t, axes = as_tensor(theta), len(size) - 2
    if (
        axes not in (2, 3)
        or t.ndim != 3
        or t.shape[1:] != (axes, axes + 1)
        or t.shape[0] != size[0]
    ):
        raise ShapeError(
            "affine_grid: needs theta (N, 2, 3) and the size (N, C, H, W) of images, or theta (N,"
            f" 3, 4) and the size (N, C, D, H, W) of volumes, got {t.shape} and {tuple(size)}."
        )
    ones = functions.ones(*size[2:], dtype=t.dtype, device=t.device)
    along = [ones * on_axis(_centres(n, align_corners, t), i, axes) for i, n in enumerate(size[2:])]
    points = functions.stack([*reversed(along), ones], -1).reshape(1, -1, axes + 1)
    return (points @ t.transpose(1, 2)).reshape(*size[:1], *size[2:], axes)


def _centres(n: int, align_corners: bool, like: Tensor) -> Tensor:
    """Where the centres of n pixels lie, in the dtype and on the device of `like`."""
    i = arange(n, device=like.device).to(like.dtype)
    if align_corners:
        return i * (2 / (n - 1)) - 1 if n > 1 else i
    return (i * 2 + 1) / n - 1


@in_float32
def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The values (N, C, H', W') of images (N, C, H, W) at places (N, H', W', 2), or (N, C, D', H',
    W') of volumes (N, C, D, H, W) at places (N, D', H', W', 3).

    mode: "bilinear" (in volumes the eight neighbours are weighed), "nearest" (the places then have
    the derivative 0) or, for images, "bicubic" (Keys, Cubic convolution interpolation, 1981, with a
    = −3/4). Beyond the edge stand "zeros", the "border", or the "reflection" of the image. Raises
    ShapeError and ValueError where arguments do not fit.
    """
    x, places = as_tensor(input), as_tensor(grid)
    axes = x.ndim - 2
    if (
        axes not in (2, 3)
        or places.ndim != x.ndim
        or places.shape[-1] != axes
        or places.shape[0] != x.shape[0]
    ):
        raise ShapeError(
            "grid_sample: needs images (N, C, H, W) and places (N, H', W', 2), or volumes (N, C,"
            f" D, H, W) and places (N, D', H', W', 3), got {x.shape} and {places.shape}."
        )
    one_of("grid_sample", "mode", mode, "bilinear", "nearest", "bicubic")
    if mode == "bicubic" and axes == 3:
        raise ValueError('grid_sample: mode="bicubic" is for images (N, C, H, W), not for volumes.')
    one_of("grid_sample", "padding_mode", padding_mode, "zeros", "border", "reflection")
    corners, sizes = bool(align_corners), x.shape[2:]
    at = [_position(places[..., axes - 1 - i], n, corners) for i, n in enumerate(sizes)]
    if mode == "bicubic":
        return _bicubic(x, at, padding_mode, corners)
    at = [_brought_back(p, n, padding_mode, corners) for p, n in zip(at, sizes, strict=True)]
    if mode == "nearest":
        finite = [where(functions.isfinite(p), p, 0.0) for p in at]
        return _at(x, [functions.round(p) for p in at]) + 0 * sum(finite[1:], finite[0]).unsqueeze(
            1
        )
    low = [floor(p.detach()) for p in at]
    total: Any = 0.0
    for corner in itertools.product((0, 1), repeat=axes):
        shares = [p - lo if up else lo + 1 - p for p, lo, up in zip(at, low, corner, strict=True)]
        total = total + _at(x, [lo + up for lo, up in zip(low, corner, strict=True)]) * math.prod(
            shares[1:], start=shares[0]
        ).unsqueeze(1)
    return total


def _bicubic(x: Tensor, at: list[Tensor], padding_mode: str, align_corners: bool) -> Tensor:
    """Each value weighs the sixteen pixels around it; those beyond the edge are brought back one
    by one.
    """
    (row, column), (h, w) = at, x.shape[2:]
    top, left = floor(row.detach()), floor(column.detach())
    down, right = _cubic_shares(row - top), _cubic_shares(column - left)
    total: Any = 0.0
    for i in range(4):
        r = _brought_back(top + (i - 1), h, padding_mode, align_corners)
        line: Any = 0.0
        for j in range(4):
            c = _brought_back(left + (j - 1), w, padding_mode, align_corners)
            line = line + _at(x, [r, c]) * right[j].unsqueeze(1)
        total = total + line * down[i].unsqueeze(1)
    return total


def _cubic_shares(t: Tensor) -> list[Tensor]:
    """How much the pixels at −1, 0, 1 and 2 count for a place at t in [0, 1)."""
    a = -0.75
    near = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1
    far = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _position(place: Tensor, n: int, align_corners: bool) -> Tensor:
    """Places from −1 to 1 as positions among n pixels."""
    return (place + 1) * ((n - 1) / 2) if align_corners else ((place + 1) * n - 1) / 2


def _brought_back(position: Tensor, n: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Positions among n pixels, brought back into the image unless zeros stand around it."""
    if padding_mode == "reflection":
        low, span = (0.0, n - 1) if align_corners else (-0.5, n)
        if span == 0:
            return position * 0.0
        away = abs(position - low)
        turns = floor(away.detach() / span)
        rest = away - turns * span
        position = where(turns % 2 == 0, rest + low, span - rest + low)
    if padding_mode == "zeros":
        return position
    return where(position <= 0, 0.0, where(position >= n - 1, float(n - 1), position))


def _at(x: Tensor, positions: list[Tensor]) -> Tensor:
    """The pixels (N, C, *places) at whole positions (N, *places) along each axis, 0 outside of
    the image.
    """
    inside: Any = True
    index = []
    for p, n in zip(positions, x.shape[2:], strict=True):
        inside = (p >= 0) & (p <= n - 1) & inside
    for p, n in zip(positions, x.shape[2:], strict=True):
        index.append(clamp(where(inside, p.detach(), 0.0), 0, n - 1).to(backend.int64))
    sample = on_axis(arange(x.shape[0], device=x.device), 0, index[0].ndim)
    return where(
        inside.unsqueeze(1), functions.movedim(x[(sample, slice(None), *index)], -1, 1), 0.0
    )
