"""Pooling as layers, for one to three axes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .. import functional as F
from ..extra_repr import shown
from ..function_layer import FunctionLayer, function_layer
from ..functional.arguments import each

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d",
    "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


def _strided(name: str, settings: dict[str, Any]) -> None:
    if settings["stride"] is None:
        settings["stride"] = settings["kernel_size"]


def _tuples(axes: int) -> Callable[[str, dict[str, Any]], None]:
    """Make tuples of the settings, one number for each axis."""

    def prepare(name: str, settings: dict[str, Any]) -> None:
        _strided(name, settings)
        for key in ("kernel_size", "stride", "padding"):
            settings[key] = each(settings[key], axes, name, key, -sys.maxsize)

    return prepare


def _layers(name: str, functions: Sequence[Callable[..., Any]], **options: Any) -> list[Any]:
    """The layers of functions that differ in the number of axes, with which their names end."""
    return [function_layer(f"{name}{f.__name__[-2:]}", f, **options) for f in functions]


def _shows(*names: str) -> Callable[[Any], str]:
    return lambda self: shown(self, *names)


MaxPool1d, MaxPool2d, MaxPool3d = _layers(
    "MaxPool",
    (F.max_pool1d, F.max_pool2d, F.max_pool3d),
    settings="kernel_size stride padding dilation return_indices ceil_mode",
    shows=_shows("kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    prepare=_strided,
)


class _AvgPool(FunctionLayer, shows=_shows("kernel_size", "stride", "padding"), prepare=_strided):
    pass


AVERAGED = "kernel_size stride padding ceil_mode count_include_pad"


class AvgPool2d(_AvgPool, function=F.avg_pool2d, settings=f"{AVERAGED} divisor_override"):
    """Mean of each window (or its sum divided by divisor_override); AvgPool2d(3, 1, padding=1)
    keeps the size.
    """


AvgPool1d = function_layer(
    "AvgPool1d", F.avg_pool1d, base=_AvgPool, settings=AVERAGED, prepare=_tuples(1)
)
AvgPool3d = function_layer(
    "AvgPool3d", F.avg_pool3d, base=_AvgPool, settings=f"{AVERAGED} divisor_override"
)


def _unpooling(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the size of the result as its third argument, as the layers take it."""

    @functools.wraps(function)
    def unpool(input: Any, indices: Any, output_size: Any = None, **settings: Any) -> Any:
        return function(input, indices, output_size=output_size, **settings)

    return unpool


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = (
    function_layer(
        f"MaxUnpool{axes}d",
        _unpooling(function),
        settings="kernel_size stride padding",
        prepare=_tuples(axes),
    )
    for axes, function in enumerate((F.max_unpool1d, F.max_unpool2d, F.max_unpool3d), 1)
)
LPPool1d, LPPool2d, LPPool3d = _layers(
    "LPPool",
    (F.lp_pool1d, F.lp_pool2d, F.lp_pool3d),
    settings="norm_type kernel_size stride ceil_mode",
)
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = _layers(
    "AdaptiveAvgPool",
    (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d),
    settings="output_size",
)
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = _layers(
    "AdaptiveMaxPool",
    (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d),
    settings="output_size return_indices",
    shows="output_size={output_size}",
)


def _fractional(axes: int) -> Callable[..., Any]:
    def function(
        input: Any,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:
        pool = F.fractional_max_pool2d if axes == 2 else F.fractional_max_pool3d  # loaded now
        return pool(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)

    return function


FractionalMaxPool2d, FractionalMaxPool3d = (
    function_layer(
        f"FractionalMaxPool{axes}d",
        _fractional(axes),
        "The largest elements of windows whose places are drawn.",
        settings="kernel_size output_size output_ratio return_indices _random_samples",
        shows="",
    )
    for axes in (2, 3)
)
