"""Layers without parameters, each a function with its settings: `PixelShuffle(2)(x)` is
`functional.pixel_shuffle(x, 2)`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..core.tensor import as_tensor
from ..errors import ShapeError
from . import functional as F
from .functional.common import each
from .layers import resized, shown
from .module import Module

_NEEDED = object()


class _Fixed(Module):
    """Keeps the settings of a function and calls it. `settings`: its arguments with their
    default values, in order.
    """

    function: Callable[..., Any]
    settings: dict[str, Any]
    form: str | None
    each: dict[str, int]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        given = {**self.settings, **dict(zip(self.settings, args, strict=False)), **kwargs}
        missing = [key for key, value in given.items() if value is _NEEDED]
        if len(args) > len(self.settings) or set(kwargs) - set(self.settings) or missing:
            raise TypeError(
                f"{name} takes {', '.join(self.settings)}; got {len(args)} positional,"
                f" {', '.join(kwargs) or 'none'} by name."
            )
        for key, value in given.items():
            if key in self.each:
                value = given["kernel_size"] if value is None else value  # of a stride
                value = each(value, self.each[key], name, key, -sys.maxsize)
            if key == "_random_samples":  # PyTorch's one buffer among these settings
                self.register_buffer(key, value)
            else:
                setattr(self, key, value)

    def forward(self, *inputs: Any, **more: Any) -> Any:
        return type(self).function(
            *inputs, **more, **{key: getattr(self, key) for key in self.settings}
        )

    def extra_repr(self) -> str:
        return shown(self, *self.settings) if self.form is None else self.form.format(**vars(self))


def _layer(
    name: str,
    function: Callable[..., Any],
    text: str,
    form: str | None = None,
    each: dict[str, int] | None = None,
    **settings: Any,
) -> type[Module]:
    """Make a layer of a function. text: its docstring; form: that of its repr, where it is not
    "name=value" for each setting; each: the settings that become tuples of so many numbers.
    """
    own = {
        "function": staticmethod(function),
        "settings": settings,
        "form": form,
        "each": each or {},
    }
    made = type(name, (_Fixed,), {**own, "__doc__": text, "__module__": __name__})
    globals()[name] = made
    __all__.append(name)
    return made


__all__: list[str] = []

_layer("PixelShuffle", F.pixel_shuffle, "Channels become pixels.", upscale_factor=_NEEDED)
_layer("PixelUnshuffle", F.pixel_unshuffle, "Pixels become channels.", downscale_factor=_NEEDED)
_layer(
    "ChannelShuffle", F.channel_shuffle, "The channels of groups dealt out in turn.", groups=_NEEDED
)


def _resizing(name: str, function: Callable[..., Any], mode: str, text: str) -> None:
    made = _layer(name, function, text, size=None, scale_factor=None)
    made.extra_repr = lambda self: resized(self.size, self.scale_factor, mode)  # type: ignore[method-assign]


_resizing(
    "UpsamplingNearest2d", F.upsample_nearest, "nearest", "Images resized by the nearest pixel."
)
_resizing(
    "UpsamplingBilinear2d",
    F.upsample_bilinear,
    "bilinear",
    "Images resized by weighing four pixels.",
)
_layer(
    "LocalResponseNorm",
    F.local_response_norm,
    "Each element divided by the size of its neighbours in other channels.",
    "{size}, alpha={alpha}, beta={beta}, k={k}",
    size=_NEEDED,
    alpha=1e-4,
    beta=0.75,
    k=1.0,
)
_layer(
    "CosineSimilarity",
    F.cosine_similarity,
    "The cosine of the angle between two tensors' vectors.",
    "",
    dim=1,
    eps=1e-8,
)
_layer(
    "PairwiseDistance",
    F.pairwise_distance,
    "The distance between two tensors' vectors.",
    "",
    p=2.0,
    eps=1e-6,
    keepdim=False,
)
for _axes in (1, 2, 3):
    _layer(
        f"MaxUnpool{_axes}d",
        getattr(F, f"max_unpool{_axes}d"),
        "Elements put back to where a maximum was found.",
        each={"kernel_size": _axes, "stride": _axes, "padding": _axes},
        kernel_size=_NEEDED,
        stride=None,
        padding=0,
    )
for _axes in (1, 2, 3):
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
        "",
        kernel_size=_NEEDED,
        output_size=None,
        output_ratio=None,
        return_indices=False,
        _random_samples=None,
    )


def _padded(axes: int, mode: str) -> Callable[..., Any]:
    def function(input: Any, padding: Any, value: float = 0.0) -> Any:
        x = as_tensor(input)
        if mode != "constant" and x.ndim not in (axes + 1, axes + 2):
            raise ShapeError(
                f"{mode} padding of {axes}d layers: input must have {axes + 1} or {axes + 2}"
                f" dimensions, got shape {x.shape}."
            )
        return F.pad(x, padding, mode, value)

    return function


for _axes in (1, 2, 3):
    _last = f"the last {_axes} axes" if _axes > 1 else "the last axis"
    _pairs = {"padding": 2 * _axes}
    for _name, _mode, _what in (
        ("Zero", "constant", "Zeros"),
        ("Reflection", "reflect", "The mirror image"),
        ("Replication", "replicate", "The edge again"),
        ("Circular", "circular", "The other end"),
    ):
        _text = f"{_what} before and after {_last}."
        _layer(
            f"{_name}Pad{_axes}d",
            _padded(_axes, _mode),
            _text,
            "{padding}",
            _pairs,
            padding=_NEEDED,
        )
    _text = f"One value before and after {_last}."
    _layer(
        f"ConstantPad{_axes}d",
        _padded(_axes, "constant"),
        _text,
        None,
        _pairs,
        padding=_NEEDED,
        value=_NEEDED,
    )
