"""Convolution, pooling, normalisation and dropout, and pixels moved between space and channels."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import autograd, backend, functions
from ..arrays.stacking import repeat_interleave
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..nn import functional as F
from ..nn.functional.arguments import each
from .elementwise import div
from .matrices import reduce_mean

Ints = Sequence[int]


class ConvHandle:
    """The settings of `conv2d`, in the order in which SINGA's handles take them; x is not kept."""

    def __init__(
        self,
        x: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        in_channels: int,
        out_channels: int,
        bias: bool = True,
        group: int = 1,
    ) -> None:
        self.kernel_size, self.stride, self.padding = (
            each(v, 2, "ConvHandle", "a setting") for v in (kernel_size, stride, padding)
        )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.bias = bias
        self.group = group


class PoolingHandle:
    """The settings of `pooling_2d`; x is not kept."""

    def __init__(
        self, x: Any, kernel_size: Any, stride: Any, padding: Any, is_max: bool = True
    ) -> None:
        self.kernel_size, self.stride, self.padding = (
            each(v, 2, "PoolingHandle", "a setting") for v in (kernel_size, stride, padding)
        )
        self.is_max = is_max


class BatchNormHandle:
    """The settings of `batchnorm_2d`: running ← momentum · running + (1 − momentum) · batch; x is
    not kept.

    That is ONNX's momentum, as which SINGA reads and writes it; its program gives the share to the
    batch.
    """

    def __init__(self, momentum: float = 0.9, x: Any = None, eps: float = 1e-5) -> None:
        self.momentum, self.eps = momentum, eps


CudnnConvHandle = ConvHandle
CudnnPoolingHandle = PoolingHandle
CudnnBatchNormHandle = BatchNormHandle


def _odd_pads(x: Tensor, odd_padding: Ints, value: float = 0.0) -> Tensor:
    """Rows before and after, columns before and after."""
    above, below, left, right = odd_padding
    return F.pad(x, (left, right, above, below), value=value) if any(odd_padding) else x


def conv2d(
    handle: ConvHandle, x: Any, W: Any, b: Any = None, odd_padding: Ints = (0, 0, 0, 0)
) -> Tensor:
    """x (N, C, H, W) convolved with W (O, C/group, K, L). odd_padding: further rows above, below
    and columns left, right that the handle's padding cannot express.
    """
    return F.conv2d(
        _odd_pads(as_tensor(x), odd_padding), W, b, handle.stride, handle.padding, 1, handle.group
    )


def pooling_2d(handle: PoolingHandle, x: Any, odd_padding: Ints = (0, 0, 0, 0)) -> Tensor:
    """The largest element or the mean of each window. Padding never is a maximum and does not count
    in a mean; a window of nothing but padding gives the lowest number or 0.
    """
    x = as_tensor(x)
    rows, columns = handle.padding
    above, below, left, right = odd_padding
    around = (above + rows, below + rows, left + columns, right + columns)
    if handle.is_max:
        made: Tensor = F.max_pool2d(
            _odd_pads(x, around, backend.lowest(x.dtype)), handle.kernel_size, handle.stride
        )
        return made
    if not any(around):
        return F.avg_pool2d(x, handle.kernel_size, handle.stride)
    inside = functions.ones(1, 1, *x.shape[-2:], dtype=x.dtype, device=x.device)
    total, count = (
        F.avg_pool2d(_odd_pads(v, around), handle.kernel_size, handle.stride, divisor_override=1)
        for v in (x, inside)
    )
    return div(total, functions.where(count == 0, functions.ones_like(count), count))


def globalaveragepool(x: Any, data_format: str = "channels_first") -> Tensor:
    """The mean of each channel's image, kept as axes of size 1: x (N, C, *S), or (N, *S, C) for
    "channels_last".
    """
    x = as_tensor(x)
    if data_format not in (
        "channels_first",
        "channels_last",
        "channel_first",
        "channel_last",
    ):  # SINGA's own tests leave out the s
        raise ValueError(
            'globalaveragepool: data_format must be "channels_first" or "channels_last", got'
            f" {data_format!r}."
        )
    if x.ndim < 3:
        raise ShapeError(
            "globalaveragepool: x must have the axes (N, C, …) and at least one of an image, got"
            f" shape {x.shape}."
        )
    first = data_format.endswith("first")
    return reduce_mean(x, tuple(range(2, x.ndim) if first else range(1, x.ndim - 1)))


def batchnorm_2d(
    handle: BatchNormHandle, x: Any, scale: Any, bias: Any, running_mean: Any, running_var: Any
) -> Tensor:
    """x (N, C, H, W) normalised by channel: by the batch's statistics while `autograd.training`,
    which move the running ones, else by the running ones.
    """
    return F.batch_norm(
        x,
        running_mean,
        running_var,
        scale,
        bias,
        autograd.training,
        1 - handle.momentum,
        handle.eps,
    )


def dropout(x: Any, ratio: float = 0.5) -> Tensor:
    """scale · x · mask with scale = 1 / (1 − ratio), and a mask that is 0 with probability
    `ratio`; x itself unless `autograd.training`.
    """
    if not 0 <= ratio < 1:
        raise ValueError(f"dropout: ratio must lie in [0, 1), got {ratio}.")
    return F.dropout(x, ratio, autograd.training)


def upsample(x: Any, mode: str, scales: Any) -> Tensor:
    """Each element repeated along each axis as often as `scales` says: one whole number of at
    least 1 for each axis. mode: "nearest".
    """
    x = as_tensor(x)
    if mode.lower() != "nearest":
        raise ValueError(
            f'upsample: mode must be "nearest", got {mode!r}; for others see'
            " nn.functional.interpolate."
        )
    factors = [float(n) for n in (scales.tolist() if hasattr(scales, "tolist") else scales)]
    if len(factors) != x.ndim or any(n < 1 or n != int(n) for n in factors):
        raise ShapeError(
            f"upsample: scales must be one whole number of at least 1 for each axis of x {x.shape},"
            f" got {factors}."
        )
    for axis, count in enumerate(factors):
        x = repeat_interleave(x, int(count), axis)
    return x


def _blocks(x: Tensor, blocksize: int, mode: str, name: str) -> bool:
    """Whether the channels are in the order DCR, after checks."""
    if mode.upper() not in ("DCR", "CRD"):
        raise ValueError(f'{name}: mode must be "DCR" or "CRD", got {mode!r}.')
    if x.ndim != 4:
        raise ShapeError(f"{name}: x must have the axes (N, C, H, W), got shape {x.shape}.")
    functions.not_below(name, "blocksize", blocksize, 1)
    return mode.upper() == "DCR"


def depth_to_space(x: Any, blocksize: int, mode: str = "DCR") -> Tensor:
    """(N, C b², H, W) to (N, C, H b, W b): each pixel's channels become a block of b by b pixels.

    mode: "DCR": the place in the block comes before the channel among the channels of x; "CRD":
    after it, as in `pixel_shuffle`.
    """
    x = as_tensor(x)
    first = _blocks(x, blocksize, mode, "depth_to_space")
    (n, c, h, w), b = x.shape, blocksize
    if c % b**2:
        raise ShapeError(
            f"depth_to_space: {c} channels cannot be divided into blocks of {b} by {b}."
        )
    if first:
        cut = x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        cut = x.reshape(n, c // b**2, b, b, h, w).permute(0, 1, 4, 2, 5, 3)
    return cut.reshape(n, c // b**2, h * b, w * b)


def space_to_depth(x: Any, blocksize: int, mode: str = "DCR") -> Tensor:
    """(N, C, H b, W b) to (N, C b², H, W): the opposite of `depth_to_space`."""
    x = as_tensor(x)
    first = _blocks(x, blocksize, mode, "space_to_depth")
    (n, c, h, w), b = x.shape, blocksize
    if h % b or w % b:
        raise ShapeError(
            f"space_to_depth: an image of {h} by {w} cannot be divided into blocks of {b} by {b}."
        )
    cut = x.reshape(n, c, h // b, b, w // b, b).permute(
        *(0, 3, 5, 1, 2, 4) if first else (0, 1, 3, 5, 2, 4)
    )
    return cut.reshape(n, c * b**2, h // b, w // b)


Pooling2d = pooling_2d
"""The name as the document's heading writes it."""
