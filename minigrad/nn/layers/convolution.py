"""Convolution and its transpose as layers, for one to three axes."""

from __future__ import annotations

import math
from typing import Any

from ...core.tensor import Tensor, as_tensor
from ...errors import one_of
from .. import functional as F
from ..extra_repr import unusual
from ..functional.arguments import each
from ..functional.convolutions import convolution, transposed_convolution, zeros_around
from ..init import uniform_by_fan_in
from ..module import Module
from ..parameter import trained

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
]  # fmt: skip


class _Conv(Module):
    """What convolution layers share. `axes` is the number of spatial axes."""

    axes = 2
    transposed = False
    output_padding: tuple[int, ...] = ()

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        name = type(self).__name__
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{name}: groups={groups} must divide in_channels={in_channels} and"
                f" out_channels={out_channels}."
            )
        one_of(name, "padding_mode", padding_mode, "zeros", "reflect", "replicate", "circular")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.groups = groups
        self.padding_mode = padding_mode
        self.kernel_size = each(kernel_size, self.axes, name, "kernel_size", 1)
        self.stride = each(stride, self.axes, name, "stride", 1)
        self.dilation = each(dilation, self.axes, name, "dilation", 1)
        if isinstance(padding, str) and not self.transposed:
            # a wrong word is found here, not at the first call
            zeros_around(padding, self.kernel_size, self.stride, self.dilation, name)
            self.padding: Any = padding
        else:
            self.padding = each(padding, self.axes, name, "padding")
        first, second = (
            (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        )
        self.weight = trained(
            first, second // groups, *self.kernel_size, dtype=dtype, device=device
        )
        self.register_parameter(
            "bias", trained(out_channels, when=bias, dtype=dtype, device=device)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        uniform_by_fan_in(self.weight, self.bias, math.prod(self.weight.shape[1:]))

    def forward(self, x: Any) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            pairs = zeros_around(
                padding, self.kernel_size, self.stride, self.dilation, type(self).__name__
            )
            x = F.pad(x, [p for pair in reversed(pairs) for p in pair], self.padding_mode)
            padding = 0
        return convolution(
            x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups, self.axes
        )

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size},"
            f" stride={self.stride}"
        )
        none, once = (0,) * self.axes, (1,) * self.axes
        words = unusual(self, str, padding=none, dilation=once, output_padding=none, groups=1)
        return (
            text
            + words
            + ("" if self.bias is not None else ", bias=False")
            + unusual(self, str, padding_mode="zeros")
        )


class Conv1d(_Conv):
    """Convolution of (N, in_channels, L) with weight (out_channels, in_channels/groups, K)."""

    axes = 1


class Conv2d(_Conv):
    """Convolution of (N, in_channels, H, W) with weight (out_channels, in_channels/groups, K,
    L).
    """


class Conv3d(_Conv):
    """Convolution of (N, in_channels, D, H, W)."""

    axes = 3


class _ConvTranspose(_Conv):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f'{type(self).__name__}: padding_mode must be "zeros" in transposed convolutions,'
                f" got {padding_mode!r}."
            )
        self.output_padding = each(output_padding, self.axes, type(self).__name__, "output_padding")
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            dtype=dtype,
            device=device,
        )

    def forward(self, input: Any, output_size: Any = None) -> Tensor:
        """The transposed convolution of the input. output_size: of the result, its spatial axes or
        all of them, where a stride above 1 allows several; it takes the place of output_padding.
        Raises ValueError for sizes that the stride does not allow.
        """
        x = as_tensor(input)
        extra = self.output_padding if output_size is None else self._extra(x, tuple(output_size))
        return transposed_convolution(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
            self.axes,
        )

    def _extra(self, x: Tensor, output_size: tuple[int, ...]) -> tuple[int, ...]:
        """The output_padding that gives an output of this size."""
        name = type(self).__name__
        if len(output_size) not in (self.axes, x.ndim):
            raise ValueError(
                f"{name}: output_size must have {self.axes} numbers, or one for each of {x.ndim}"
                f" axes, got {output_size}."
            )
        wanted = output_size[-self.axes :]
        sides = zip(self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, (s, p, d, k) in zip(x.shape[-self.axes :], sides, strict=True)
        ]
        if any(
            not low <= size < low + s
            for size, low, s in zip(wanted, least, self.stride, strict=True)
        ):
            most = [low + s - 1 for low, s in zip(least, self.stride, strict=True)]
            raise ValueError(
                f"{name}: for input {x.shape} output_size must lie from {least} to {most}, got"
                f" {list(wanted)}."
            )
        return tuple(size - low for size, low in zip(wanted, least, strict=True))


class ConvTranspose1d(_ConvTranspose):
    """The transpose of Conv1d's linear map; weight (in_channels, out_channels/groups, K)."""

    axes = 1


class ConvTranspose2d(_ConvTranspose):
    """The transpose of Conv2d's linear map; weight (in_channels, out_channels/groups, K, L)."""


class ConvTranspose3d(_ConvTranspose):
    """The transpose of Conv3d's linear map; weight (in_channels, out_channels/groups, J, K, L)."""

    axes = 3
