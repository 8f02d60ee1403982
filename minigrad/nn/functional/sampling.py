"""Images read between their pixels: the places that an affine map goes to, and the image's values there.

Places are pairs (x, y) from −1 to 1, from one edge of the image to the other: of its outer edges, or, with align_corners, of the centres of
its outermost pixels. Values between pixels weigh their neighbours, so both the image and the places have derivatives.

Source: Jaderberg et al., Spatial transformer networks (2015).
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import backend, functions
from ...errors import ShapeError
from ...functions import arange, clamp, floor, where
from ...tensor import Tensor, as_tensor


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """The places (N, H, W, 2) that the maps theta (N, 2, 3) send the pixels of images of `size` (N, C, H, W) to."""
    t = as_tensor(theta)
    if t.ndim != 3 or t.shape[1:] != (2, 3) or len(size) != 4 or t.shape[0] != size[0]:
        raise ShapeError(f"affine_grid: needs theta (N, 2, 3) and the size (N, C, H, W) of images, got {t.shape} and {tuple(size)}.")
    rows, columns = (_centres(n, align_corners, t) for n in size[2:])
    ones = functions.ones(size[2], size[3], dtype=t.dtype, device=t.device)
    points = functions.stack([ones * columns, ones * rows.reshape(-1, 1), ones], -1).reshape(1, -1, 3)
    return (points @ t.transpose(1, 2)).reshape(size[0], size[2], size[3], 2)


def _centres(n: int, align_corners: bool, like: Tensor) -> Tensor:
    """Where the centres of n pixels lie, in the dtype and on the device of `like`."""
    i = arange(n, device=like.device).to(like.dtype)
    if align_corners:
        return i * (2 / (n - 1)) - 1 if n > 1 else i
    return (i * 2 + 1) / n - 1


def grid_sample(input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None) -> Tensor:
    """The values (N, C, H', W') of images (N, C, H, W) at places (N, H', W', 2).

    mode: "bilinear", or "nearest" (the places then have the derivative 0). Beyond the edge stand "zeros", the "border", or the
    "reflection" of the image.
    """
    x, places = as_tensor(input), as_tensor(grid)
    if x.ndim != 4 or places.ndim != 4 or places.shape[-1] != 2 or places.shape[0] != x.shape[0]:
        raise ShapeError(f"grid_sample: needs images (N, C, H, W) and places (N, H', W', 2), got {x.shape} and {places.shape}.")
    if mode not in ("bilinear", "nearest"):
        raise ValueError(f'grid_sample: mode must be "bilinear" or "nearest", got {mode!r}.')
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f'grid_sample: padding_mode must be "zeros", "border" or "reflection", got {padding_mode!r}.')
    h, w = x.shape[2:]
    column, row = (_pixel(places[..., i], n, padding_mode, bool(align_corners)) for i, n in enumerate((w, h)))
    if mode == "nearest":
        return _at(x, functions.round(row), functions.round(column)) + 0 * (row + column).unsqueeze(1)
    top, left = floor(row.detach()), floor(column.detach())
    total: Any = 0.0
    for down in (0, 1):
        for right in (0, 1):
            share = (row - top if down else top + 1 - row) * (column - left if right else left + 1 - column)
            total = total + _at(x, top + down, left + right) * share.unsqueeze(1)
    return total


def _pixel(place: Tensor, n: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Places from −1 to 1 as positions among n pixels, brought back into the image unless zeros stand around it."""
    position = (place + 1) * ((n - 1) / 2) if align_corners else ((place + 1) * n - 1) / 2
    if padding_mode == "reflection":
        low, span = (0.0, n - 1) if align_corners else (-0.5, n)
        if span == 0:
            return position * 0.0
        away = abs(position - low)
        turns = floor(away.detach() / span)
        rest = away - turns * span
        position = where(turns % 2 == 0, rest + low, span - rest + low)
    return position if padding_mode == "zeros" else where(position <= 0, 0.0, where(position >= n - 1, float(n - 1), position))


def _at(x: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """The pixels (N, C, H', W') at whole positions (N, H', W'), 0 outside of the image."""
    h, w = x.shape[2:]
    inside = (row >= 0) & (row <= h - 1) & (column >= 0) & (column <= w - 1)
    i, j = (clamp(where(inside, v.detach(), 0.0), 0, n - 1).to(backend.int64) for v, n in ((row, h), (column, w)))
    sample = arange(x.shape[0], device=x.device).reshape(-1, 1, 1)
    return where(inside.unsqueeze(1), functions.permute(x[sample, :, i, j], (0, 3, 1, 2)), 0.0)
