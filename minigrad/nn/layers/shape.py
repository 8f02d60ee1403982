"""Layers that move or merge elements: flattening, pixels and channels, resizing, windows as
columns; and distances between vectors.
"""

from __future__ import annotations

from typing import Any

from ... import functions
from ...core.tensor import Tensor, as_tensor
from .. import functional as F
from ..function_layer import FunctionLayer, function_layer

__all__ = [
    "ChannelShuffle", "CosineSimilarity", "Flatten", "Fold", "PairwiseDistance", "PixelShuffle",
    "PixelUnshuffle", "Unflatten", "Unfold", "Upsample", "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]  # fmt: skip


class Flatten(FunctionLayer, function=functions.flatten, start_dim=1):
    """The axes from start_dim to end_dim merged into one: (N, C, H, W) becomes (N, C · H · W)."""


def _unflatten(input: Any, dim: int, unflattened_size: Any) -> Tensor:
    x = as_tensor(input)
    axis = functions.axis_of(x.ndim, dim, "Unflatten")
    return functions.reshape(x, *x.shape[:axis], *unflattened_size, *x.shape[axis + 1 :])


class Unflatten(
    FunctionLayer,
    function=_unflatten,
    settings="dim unflattened_size",
    prepare=lambda name, given: given.update(unflattened_size=tuple(given["unflattened_size"])),
):
    """One axis taken apart into several."""


PixelShuffle = function_layer(
    "PixelShuffle", F.pixel_shuffle, "Channels become pixels.", settings="upscale_factor"
)
PixelUnshuffle = function_layer(
    "PixelUnshuffle", F.pixel_unshuffle, "Pixels become channels.", settings="downscale_factor"
)
ChannelShuffle = function_layer(
    "ChannelShuffle",
    F.channel_shuffle,
    "The channels of groups dealt out in turn.",
    settings="groups",
)


class Unfold(FunctionLayer, function=F.unfold, settings="kernel_size dilation padding stride"):
    """Each window as a column."""


class Fold(
    FunctionLayer, function=F.fold, settings="output_size kernel_size dilation padding stride"
):
    """Columns added up where their windows overlap."""


def _resized(self: Any) -> str:
    """What `extra_repr` of the layers that resize images shows; factors as floats."""
    factor, mode = self.scale_factor, self.mode
    if factor is None:
        return f"size={self.size}, {mode=}"
    several = isinstance(factor, list | tuple)
    return f"scale_factor={tuple(map(float, factor)) if several else float(factor)}, {mode=}"


class Upsample(
    FunctionLayer,
    function=F.interpolate,
    settings="size scale_factor mode align_corners recompute_scale_factor",
    shows=_resized,
):
    """Images resized, in one of the modes of `functional.interpolate`."""


class UpsamplingNearest2d(
    FunctionLayer, function=F.upsample_nearest, settings="size scale_factor", shows=_resized
):
    """Images resized by the nearest pixel."""

    mode = "nearest"


class UpsamplingBilinear2d(
    FunctionLayer, function=F.upsample_bilinear, settings="size scale_factor", shows=_resized
):
    """Images resized by weighing four pixels."""

    mode = "bilinear"


CosineSimilarity = function_layer(
    "CosineSimilarity",
    F.cosine_similarity,
    "The cosine of the angle between two tensors' vectors.",
    shows="",
)
PairwiseDistance = function_layer(
    "PairwiseDistance", F.pairwise_distance, "The distance between two tensors' vectors.", shows=""
)
