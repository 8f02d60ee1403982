"""Layers without parameters, each a function with its settings: `PixelShuffle(2)(x)` is `functional.pixel_shuffle(x, 2)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import as_tensor
from . import functional as F
from .module import Module

_NEEDED = object()


class _Fixed(Module):
    """Keeps the settings of a function and calls it. `settings`: its arguments with their default values, in order."""

    function: Callable[..., Any]
    settings: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        given = {**self.settings, **dict(zip(self.settings, args, strict=False)), **kwargs}
        missing = [key for key, value in given.items() if value is _NEEDED]
        if len(args) > len(self.settings) or set(kwargs) - set(self.settings) or missing:
            raise TypeError(f"{name} takes {', '.join(self.settings)}; got {len(args)} positional, {', '.join(kwargs) or 'none'} by name.")
        for key, value in given.items():
            setattr(self, key, value)

    def forward(self, *inputs: Any, **more: Any) -> Any:
        return type(self).function(*inputs, **more, **{key: getattr(self, key) for key in self.settings})

    def extra_repr(self) -> str:
        return ", ".join(f"{key}={getattr(self, key)!r}" for key in self.settings)


def _layer(name: str, function: Callable[..., Any], text: str, **settings: Any) -> type[Module]:
    made = type(name, (_Fixed,), {"function": staticmethod(function), "settings": settings, "__doc__": text, "__module__": __name__})
    globals()[name] = made
    __all__.append(name)
    return made


__all__: list[str] = []

_layer("PixelShuffle", F.pixel_shuffle, "Channels become pixels.", upscale_factor=_NEEDED)
_layer("PixelUnshuffle", F.pixel_unshuffle, "Pixels become channels.", downscale_factor=_NEEDED)
_layer("ChannelShuffle", F.channel_shuffle, "The channels of groups dealt out in turn.", groups=_NEEDED)
_layer("UpsamplingNearest2d", F.upsample_nearest, "Images resized by the nearest pixel.", size=None, scale_factor=None)
_layer("UpsamplingBilinear2d", F.upsample_bilinear, "Images resized by weighing four pixels.", size=None, scale_factor=None)
_layer(
    "LocalResponseNorm",
    F.local_response_norm,
    "Each element divided by the size of its neighbours in other channels.",
    size=_NEEDED,
    alpha=1e-4,
    beta=0.75,
    k=1.0,
)
_layer("CosineSimilarity", F.cosine_similarity, "The cosine of the angle between two tensors' vectors.", dim=1, eps=1e-8)
_layer("PairwiseDistance", F.pairwise_distance, "The distance between two tensors' vectors.", p=2.0, eps=1e-6, keepdim=False)
for _axes in (1, 2, 3):
    _layer(
        f"MaxUnpool{_axes}d",
        getattr(F, f"max_unpool{_axes}d"),
        "Elements put back to where a maximum was found.",
        kernel_size=_NEEDED,
        stride=None,
        padding=0,
    )
for _axes in (1, 2):
    _layer(
        f"LPPool{_axes}d",
        getattr(F, f"lp_pool{_axes}d"),
        "The p-norm of each window.",
        norm_type=_NEEDED,
        kernel_size=_NEEDED,
        stride=None,
        ceil_mode=False,
    )
for _axes in (2, 3):
    _layer(
        f"FractionalMaxPool{_axes}d",
        getattr(F, f"fractional_max_pool{_axes}d"),
        "The largest elements of windows whose places are drawn.",
        kernel_size=_NEEDED,
        output_size=None,
        output_ratio=None,
        return_indices=False,
        _random_samples=None,
    )._buffers = ("_random_samples",)


def _padded(axes: int, mode: str) -> Callable[..., Any]:
    def function(input: Any, padding: Any, value: float = 0.0) -> Any:
        x = as_tensor(input)
        return F.pad(x, (padding,) * (2 * axes) if isinstance(padding, int) else tuple(padding), mode, value)

    return function


for _axes in (1, 2, 3):
    _last = f"the last {_axes} axes" if _axes > 1 else "the last axis"
    _layer(f"ZeroPad{_axes}d", _padded(_axes, "constant"), f"Zeros before and after {_last}.", padding=_NEEDED)
    _layer(f"ConstantPad{_axes}d", _padded(_axes, "constant"), f"One value before and after {_last}.", padding=_NEEDED, value=_NEEDED)
    _layer(f"ReflectionPad{_axes}d", _padded(_axes, "reflect"), f"The mirror image before and after {_last}.", padding=_NEEDED)
    _layer(f"ReplicationPad{_axes}d", _padded(_axes, "replicate"), f"The edge again before and after {_last}.", padding=_NEEDED)
    _layer(f"CircularPad{_axes}d", _padded(_axes, "circular"), f"The other end before and after {_last}.", padding=_NEEDED)
