"""Convolutions, their transposes as linear maps, and the windows that they look through as columns
of a matrix.

`convolution` and `transposed_convolution` do the work for any number of spatial axes.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError
from ...functions import in_own_memory, stack
from ...ops import convolution as convolution_ops
from ...ops.index import slice_backward
from ...ops.shape import pad_axis
from .arguments import channels_hint, each, on_axis
from .numbered import numbered

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "fold", "unfold",
]  # fmt: skip

# -------------------------------------------------------------------------------------- convolution


def _conv(axes: int) -> Callable[..., Tensor]:
    def conv(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        """input (N, C, {sizes}) with weight (O, C/groups, {kernel}): (N, O, …), where an axis of H
        elements becomes ⌊(H + 2 padding − dilation (K − 1) − 1) / stride⌋ + 1. padding: zeros at
        both ends, "same" or "valid". Dtypes are promoted (PyTorch refuses different ones).
        """
        return convolution(input, weight, bias, stride, padding, dilation, groups, axes)

    return conv


conv1d, conv2d, conv3d = numbered(_conv)


def convolution(
    x: Any, w: Any, b: Any, stride: Any, padding: Any, dilation: Any, groups: int, axes: int
) -> Tensor:
    """Convolution over the last `axes` axes, of a batch or of one sample."""
    function, x, w = f"conv{axes}d", as_tensor(x), as_tensor(w)
    if x.ndim == axes + 1 and w.ndim == axes + 2:
        if x.shape[0] != w.shape[1] * groups:
            raise _wrong_channels(
                function, x, w.shape[1] * groups, axes, f"weight of shape {w.shape}", groups
            )
        return convolution(x.unsqueeze(0), w, b, stride, padding, dilation, groups, axes).squeeze(0)
    if x.ndim != axes + 2 or w.ndim != axes + 2:
        raise ShapeError(
            f"{function}: input must have {axes + 2} dimensions (N, C, …) and weight as many, got"
            f" shapes {x.shape} and {w.shape}."
        )
    if groups < 1 or w.shape[0] % groups:
        raise ShapeError(
            f"{function}: groups={groups} must divide the {w.shape[0]} outputs of a weight of shape"
            f" {w.shape}."
        )
    if x.shape[1] != w.shape[1] * groups:
        raise _wrong_channels(
            function, x, w.shape[1] * groups, axes, f"weight of shape {w.shape}", groups
        )
    steps = each(stride, axes, function, "stride", 1)
    holes = each(dilation, axes, function, "dilation", 1)
    around = zeros_around(padding, w.shape[2:], steps, holes, function)
    counts = [
        convolution_ops.window_count(*along)
        for along in zip(x.shape[2:], w.shape[2:], steps, around, holes, strict=True)
    ]
    if min(counts) <= 0:
        raise ShapeError(
            f"{function}: the kernel {w.shape[2:]} (dilation {holes}) is larger than the padded"
            f" input of shape {x.shape}."
        )
    y = convolution_ops.convolve(x, w, stride=steps, padding=around, dilation=holes, groups=groups)
    return _with_channel_bias(y, b, w.shape[0], function)


def zeros_around(
    padding: Any,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    function: str,
) -> tuple[tuple[int, int], ...]:
    """`padding` (a number, one an axis, "same", "valid") as zeros before and after each axis."""
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding == "same":
        if any(s != 1 for s in stride):
            raise ValueError(f'{function}: padding="same" needs stride 1, got {tuple(stride)}.')
        totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return tuple((t // 2, t - t // 2) for t in totals)
    if isinstance(padding, str):
        raise ValueError(
            f'{function}: padding must be numbers, "same" or "valid", got {padding!r}.'
        )
    return tuple((p, p) for p in each(padding, len(kernel), function, "padding"))


# --------------------------------------------------------------------------- transposed convolution


def _conv_transpose(axes: int) -> Callable[..., Tensor]:
    def conv_transpose(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        """The transpose of conv{axes}d as a linear map: input (N, C, {sizes}) with weight (C,
        O/groups, {kernel}): (N, O, …), where an axis of L elements becomes (L − 1) stride −
        2 padding + dilation (K − 1) + output_padding + 1.
        """
        return transposed_convolution(
            input, weight, bias, stride, padding, output_padding, groups, dilation, axes
        )

    return conv_transpose


conv_transpose1d, conv_transpose2d, conv_transpose3d = numbered(_conv_transpose)


def _wrong_channels(
    function: str, x: Tensor, wanted: int, axes: int, weight: str, groups: int
) -> ShapeError:
    single = x.ndim == axes + 1
    given = (
        f"input of shape {x.shape} has {x.shape[0 if single else 1]} channels (its"
        f" {'first' if single else 'second'} axis)"
    )
    several = f" in {groups} groups" if groups != 1 else ""
    return ShapeError(
        f"{function}: {given}, but {weight}{several} needs"
        f" {wanted}.{channels_hint(x.shape, wanted, axes)}"
    )


def transposed_convolution(
    x: Any,
    w: Any,
    b: Any,
    stride: Any,
    padding: Any,
    extra: Any,
    groups: int,
    dilation: Any,
    axes: int,
) -> Tensor:
    """The transpose of `convolution` as a linear map; `extra` adds to the output's size at its
    end.
    """
    function, x, w = f"conv_transpose{axes}d", as_tensor(x), as_tensor(w)
    if x.ndim in (axes + 1, axes + 2) and w.ndim == axes + 2 and x.shape[-axes - 1] != w.shape[0]:
        raise _wrong_channels(
            function, x, w.shape[0], axes, f"weight (C, O/groups, …) of shape {w.shape}", groups
        )
    if x.ndim == axes + 1:
        return transposed_convolution(
            x.unsqueeze(0), w, b, stride, padding, extra, groups, dilation, axes
        ).squeeze(0)
    if x.ndim != axes + 2 or w.ndim != axes + 2 or groups < 1 or w.shape[0] % groups:
        raise ShapeError(
            f"{function}: input (N, C, …) of shape {x.shape} does not fit weight (C, O/groups, …)"
            f" of shape {w.shape} in {groups} groups."
        )
    steps = each(stride, axes, function, "stride", 1)
    holes = each(dilation, axes, function, "dilation", 1)
    cut = each(padding, axes, function, "padding")
    more = each(extra, axes, function, "output_padding")
    if any(m >= max(s, d) for m, s, d in zip(more, steps, holes, strict=True)):
        raise ValueError(
            f"{function}: output_padding {more} must be smaller than stride {steps} or dilation"
            f" {holes}."
        )
    around = tuple((p, max(0, p - m)) for p, m in zip(cut, more, strict=True))
    size = tuple(
        (n - 1) * s + d * (k - 1) + 1 - before - after
        for n, s, d, k, (before, after) in zip(
            x.shape[2:], steps, holes, w.shape[2:], around, strict=True
        )
    )
    if min(size) <= 0:
        raise ShapeError(
            f"{function}: nothing is left of the output for input {x.shape}, weight {w.shape},"
            f" padding {cut}."
        )
    y = convolution_ops.convolve_input(
        x, w, stride=steps, padding=around, dilation=holes, groups=groups, size=size
    )
    for axis, (p, m) in enumerate(zip(cut, more, strict=True)):
        if m > p:  # beyond what the windows reach
            y = pad_axis(y, axis=axis + 2, before=0, after=m - p)
    return _with_channel_bias(y, b, w.shape[1] * groups, function)


def _with_channel_bias(y: Tensor, bias: Any, channels: int, function: str) -> Tensor:
    if bias is None:
        return y
    b = as_tensor(bias)
    if b.shape != (channels,):
        raise ShapeError(f"{function}: bias must have shape ({channels},), got {b.shape}.")
    return y + on_axis(b, 1, y.ndim)


# ------------------------------------------------------------------------------- windows as columns


@in_own_memory
def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Each window of (N, C, H, W) as a column: (N, C · K · L, windows)."""
    x = as_tensor(input)
    if x.ndim == 3:
        return unfold(x.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    if x.ndim != 4:
        raise ShapeError(
            f"unfold: input must have 4 dimensions (N, C, H, W) or 3, got shape {x.shape}."
        )
    shifts, counts, around = _under_windows(
        x.shape[2:], kernel_size, dilation, padding, stride, "unfold"
    )
    for axis, p in enumerate(around):
        x = pad_axis(x, axis=axis + 2, before=p, after=p) if p else x
    return stack([x[(..., *shift)] for shift in shifts], 2).reshape(
        x.shape[0], x.shape[1] * len(shifts), math.prod(counts)
    )


@in_own_memory
def fold(
    input: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """The transpose of `unfold`: columns added up where their windows overlap, (N, C · K · L,
    windows) to (N, C, *output_size).
    """
    x, size = as_tensor(input), each(output_size, 2, "fold", "output_size", 1)
    if x.ndim == 2:
        return fold(x.unsqueeze(0), size, kernel_size, dilation, padding, stride).squeeze(0)
    shifts, counts, around = _under_windows(size, kernel_size, dilation, padding, stride, "fold")
    if x.ndim != 3 or x.shape[1] % len(shifts) or x.shape[2] != math.prod(counts):
        raise ShapeError(
            f"fold: input of shape {x.shape} does not fit {len(shifts)} positions in each of"
            f" {math.prod(counts)} windows."
        )
    channels = x.shape[1] // len(shifts)
    parts = x.reshape(x.shape[0], channels, len(shifts), *counts)
    padded = (x.shape[0], channels, *(n + 2 * p for n, p in zip(size, around, strict=True)))
    total: Any = None
    for i, shift in enumerate(shifts):
        part = slice_backward(
            parts[:, :, i], index=(slice(None), slice(None), *shift), shape=padded
        )
        total = part if total is None else total + part
    return total[(..., *(slice(p, p + n) for n, p in zip(size, around, strict=True)))]


def _under_windows(
    size: Sequence[int], kernel_size: Any, dilation: Any, padding: Any, stride: Any, function: str
) -> tuple[list[tuple[Any, ...]], tuple[int, ...], tuple[int, ...]]:
    """The index of each kernel position under all windows, how many windows, and the padding."""
    kernel = each(kernel_size, 2, function, "kernel_size", 1)
    holes = each(dilation, 2, function, "dilation", 1)
    around, steps = each(padding, 2, function, "padding"), each(stride, 2, function, "stride", 1)
    counts = tuple(
        convolution_ops.window_count(n, k, s, (p, p), d)
        for n, k, s, p, d in zip(size, kernel, steps, around, holes, strict=True)
    )
    if min(counts) <= 0:
        raise ShapeError(
            f"{function}: the kernel {kernel} is larger than the padded image {tuple(size)}."
        )
    return (
        [under for _, under in convolution_ops.kernel_positions(kernel, steps, holes, counts)],
        counts,
        around,
    )
