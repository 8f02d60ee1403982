"""Pooling as layers, for one to three axes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
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


class _MaxPool(
    FunctionLayer,
    settings="kernel_size stride padding dilation return_indices ceil_mode",
    shows=lambda self: shown(self, "kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    prepare=_strided,
):
    pass


class MaxPool1d(_MaxPool, function=F.max_pool1d):
    """Largest element of each window."""


class MaxPool2d(_MaxPool, function=F.max_pool2d):
    """Largest element of each window; MaxPool2d(3, 1, padding=1) keeps the size."""


class MaxPool3d(_MaxPool, function=F.max_pool3d):
    """Largest element of each window."""


class _AvgPool(
    FunctionLayer,
    shows=lambda self: shown(self, "kernel_size", "stride", "padding"),
    prepare=_strided,
):
    pass


class AvgPool1d(
    _AvgPool,
    function=F.avg_pool1d,
    settings="kernel_size stride padding ceil_mode count_include_pad",
    prepare=_tuples(1),
):
    """Mean of each window."""


class _AvgPoolBy(
    _AvgPool,
    settings="kernel_size stride padding ceil_mode count_include_pad divisor_override",
):
    pass


class AvgPool2d(_AvgPoolBy, function=F.avg_pool2d):
    """Mean of each window (or its sum divided by divisor_override); AvgPool2d(3, 1, padding=1)
    keeps the size.
    """


class AvgPool3d(_AvgPoolBy, function=F.avg_pool3d):
    """Mean of each window."""


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
        "Elements put back to where a maximum was found.",
        settings="kernel_size stride padding",
        prepare=_tuples(axes),
    )
    for axes, function in enumerate((F.max_unpool1d, F.max_unpool2d, F.max_unpool3d), 1)
)
LPPool1d, LPPool2d, LPPool3d = (
    function_layer(
        f"LPPool{axes}d",
        function,
        "The p-norm of each window.",
        settings="norm_type kernel_size stride ceil_mode",
    )
    for axes, function in enumerate((F.lp_pool1d, F.lp_pool2d, F.lp_pool3d), 1)
)
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = (
    function_layer(
        f"AdaptiveAvgPool{axes}d",
        function,
        "Means over output_size parts.",
        settings="output_size",
    )
    for axes, function in enumerate(
        (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d), 1
    )
)
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = (
    function_layer(
        f"AdaptiveMaxPool{axes}d",
        function,
        "Maxima over output_size parts.",
        settings="output_size return_indices",
        shows="output_size={output_size}",
    )
    for axes, function in enumerate(
        (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d), 1
    )
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
