"""Channels in other places: as pixels, as the pixels' channels again, and dealt out among
groups.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from typing import Any

from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError
from ...functions import in_own_memory, not_below
from .arguments import check_axes

__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


@in_own_memory
def pixel_shuffle(input: Any, upscale_factor: int) -> Tensor:
    """(N, C r², H, W) to (N, C, H r, W r): channels become pixels."""
    x, r = as_tensor(input), upscale_factor
    not_below("pixel_shuffle", "the factor", r, 1)
    check_axes(x, 3, "pixel_shuffle", "(…, C, H, W)")
    *lead, c, h, w = x.shape
    if c % r**2:
        raise ShapeError(
            f"pixel_shuffle: {c} channels cannot be divided into squares of {r} by {r}."
        )
    apart = x.reshape(math.prod(lead), c // r**2, r, r, h, w).permute(0, 1, 4, 2, 5, 3)
    return apart.reshape(*lead, c // r**2, h * r, w * r)


@in_own_memory
def pixel_unshuffle(input: Any, downscale_factor: int) -> Tensor:
    """(…, C, H r, W r) to (…, C r², H, W): pixels become channels."""
    x, r = as_tensor(input), downscale_factor
    not_below("pixel_unshuffle", "the factor", r, 1)
    check_axes(x, 3, "pixel_unshuffle", "(…, C, H, W)")
    *lead, c, h, w = x.shape
    if h % r or w % r:
        raise ShapeError(
            f"pixel_unshuffle: an image of {h} by {w} cannot be divided into squares of {r}."
        )
    cut = x.reshape(math.prod(lead), c, h // r, r, w // r, r).permute(0, 1, 3, 5, 2, 4)
    return cut.reshape(*lead, c * r * r, h // r, w // r)


@in_own_memory
def channel_shuffle(input: Any, groups: int) -> Tensor:
    """(N, C, …) with the channels of `groups` groups dealt out in turn."""
    x = as_tensor(input)
    if x.ndim < 3 or groups < 1 or x.shape[1] % groups:
        raise ShapeError(
            f"channel_shuffle: the channels of input {x.shape} cannot be divided into {groups}"
            " groups."
        )
    dealt = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]).transpose(1, 2)
    return dealt.reshape(x.shape)
