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


Flatten = function_layer(
    "Flatten",
    functions.flatten,
    "The axes from start_dim to end_dim merged into one: (N, C, H, W) becomes (N, C · H · W).",
    start_dim=1,
)
PixelShuffle = function_layer("PixelShuffle", F.pixel_shuffle, settings="upscale_factor")
PixelUnshuffle = function_layer("PixelUnshuffle", F.pixel_unshuffle, settings="downscale_factor")
ChannelShuffle = function_layer("ChannelShuffle", F.channel_shuffle, settings="groups")
WINDOWS = "kernel_size dilation padding stride"
Unfold = function_layer("Unfold", F.unfold, settings=WINDOWS)
Fold = function_layer("Fold", F.fold, settings=f"output_size {WINDOWS}")


def _resized(self: Any) -> str:
    """What `extra_repr` of the layers that resize images shows; factors as floats."""
    factor, mode = self.scale_factor, self.mode
    if factor is None:
        return f"size={self.size}, {mode=}"
    several = isinstance(factor, list | tuple)
    return f"scale_factor={tuple(map(float, factor)) if several else float(factor)}, {mode=}"


Upsample = function_layer("Upsample", F.interpolate, shows=_resized)


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


CosineSimilarity = function_layer("CosineSimilarity", F.cosine_similarity, shows="")
PairwiseDistance = function_layer("PairwiseDistance", F.pairwise_distance, shows="")
