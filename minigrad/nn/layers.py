"""Layers: functions of `functional` together with their parameters and settings. Names, arguments,
parameter names and initialisation are PyTorch's.

`Linear` also takes Autogradlib's `in_dim=`, `out_dim=`, and `init="xavier"`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import backend, functions
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..grad_mode import no_grad
from . import functional as F
from . import init
from .functional.common import as_shape, channels_hint, each
from .functional.convolutions import convolution, transposed_convolution, zeros_around
from .module import Module
from .parameter import Parameter


def parameter(*shape: int, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of zeros that a layer trains."""
    return Parameter(functions.zeros(*shape, dtype=dtype, device=device))


# What `extra_repr` shows has PyTorch's form, also where that is uneven: words with or without
# quotes, numbers alone or as tuples.


def shown(layer: Module, *names: str) -> str:
    """Settings of a layer with their names."""
    return ", ".join(f"{name}={getattr(layer, name)!r}" for name in names)


def unusual(layer: Module, text: Callable[[Any], str] = repr, **usual: Any) -> str:
    """The settings of a layer that are not as usual, each after a comma."""
    return "".join(
        f", {name}={text(getattr(layer, name))}"
        for name, value in usual.items()
        if getattr(layer, name) not in (value, ())
    )


# ------------------------------------------------------------------------------------ linear layers


class Linear(Module):
    """x Wᵀ + b with weight (out_dim, in_dim) and bias (out_dim,).

    init: "kaiming" (PyTorch's: both uniform within 1/√in_dim) or "xavier" (weight Xavier-uniform,
    bias zero). in_features, out_features: PyTorch's names of in_dim, out_dim.
    """

    def __init__(
        self,
        in_dim: int | None = None,
        out_dim: int | None = None,
        bias: bool = True,
        *,
        in_features: int | None = None,
        out_features: int | None = None,
        init: str = "kaiming",
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        inputs, outputs = (
            in_features if in_dim is None else in_dim,
            out_features if out_dim is None else out_dim,
        )
        if inputs is None or outputs is None:
            raise TypeError(
                "Linear: give the numbers of inputs and outputs, as in Linear(2, 25) or"
                " Linear(in_dim=2, out_dim=25)."
            )
        if init not in ("kaiming", "xavier"):
            raise ValueError(f'Linear: init must be "kaiming" or "xavier", got {init!r}.')
        self.in_dim, self.out_dim, self._init = inputs, outputs, init
        self.weight = parameter(outputs, inputs, dtype=dtype, device=device)
        self.register_parameter(
            "bias", parameter(outputs, dtype=dtype, device=device) if bias else None
        )
        self.reset_parameters()

    in_features = property(lambda self: self.in_dim)
    out_features = property(lambda self: self.out_dim)

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        if self._init == "xavier":
            init.xavier_uniform_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)
        else:
            _reset(self.weight, self.bias, self.in_dim)

    def forward(self, input: Any) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_dim}, out_features={self.out_dim}, bias={self.bias is not None}"
        )


def _reset(weight: Tensor, bias: Tensor | None, fan_in: int) -> None:
    """PyTorch's default: weight and bias uniform within 1/√fan_in."""
    bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
    init.uniform_(weight, -bound, bound)
    if bias is not None:
        init.uniform_(bias, -bound, bound)


class Bilinear(Module):
    """y[o] = x1ᵀ W[o] x2 + b[o]."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        self.weight = parameter(
            out_features, in1_features, in2_features, dtype=dtype, device=device
        )
        self.register_parameter(
            "bias", parameter(out_features, dtype=dtype, device=device) if bias else None
        )
        _reset(self.weight, self.bias, in1_features)

    def forward(self, input1: Any, input2: Any) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        outputs, first, second = self.weight.shape
        return (
            f"in1_features={first}, in2_features={second}, out_features={outputs},"
            f" bias={self.bias is not None}"
        )


class Identity(Module):
    """x itself, whatever the arguments of the constructor."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def forward(self, x: Any) -> Any:
        return x


class _Table(Module):
    """What the layers that choose rows of a matrix share."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _take(self, rows: Any, freeze: bool, dtype: Any, device: Any) -> None:
        """Make the weight, of `rows` themselves if they are given, and put padding_idx in range."""
        name, shape = type(self).__name__, (self.num_embeddings, self.embedding_dim)
        if self.padding_idx is not None:
            if not -shape[0] <= self.padding_idx < shape[0]:
                raise IndexError(
                    f"{name}: padding_idx {self.padding_idx} is not one of {shape[0]} rows."
                )
            self.padding_idx %= shape[0]
        if rows is None:
            self.weight = parameter(*shape, dtype=dtype, device=device)
            init.normal_(self.weight)
            if self.padding_idx is not None:
                init.zeros_(self.weight.detach()[self.padding_idx])
            return
        self.weight = Parameter(as_tensor(rows), requires_grad=not freeze)

    @classmethod
    def _sizes(cls, embeddings: Any) -> tuple[int, int]:
        """The shape of rows that are given. Raises ShapeError unless they are a matrix."""
        shape = as_tensor(embeddings).shape
        if len(shape) != 2:
            raise ShapeError(
                f"{cls.__name__}.from_pretrained: embeddings must be a matrix (num_embeddings,"
                f" embedding_dim), got shape {shape}."
            )
        return shape[0], shape[1]


class Embedding(_Table):
    """Rows of weight (num_embeddings, embedding_dim), normal with variance 1 at first, chosen by
    integers. Row padding_idx is zero and gets no gradient. max_norm, norm_type and
    scale_grad_by_freq are those of `functional.embedding`. Raises NotImplementedError for sparse
    gradients, which there are not.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        if sparse:
            raise NotImplementedError(
                "Embedding: gradients are dense here. Leave sparse=True out: the numbers are the"
                " same."
            )
        self.num_embeddings, self.embedding_dim, self.padding_idx = (
            num_embeddings,
            embedding_dim,
            padding_idx,
        )
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = (
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
        )
        self._take(_weight, _freeze, dtype, device)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A layer whose weight is `embeddings` (num_embeddings, embedding_dim), in the same memory;
        frozen unless freeze=False. Row padding_idx keeps its numbers and gets no gradient. Raises
        ShapeError unless embeddings is a matrix.
        """
        settings: tuple[Any, ...] = (
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            embeddings,
            freeze,
        )
        return cls(*cls._sizes(embeddings), *settings)

    def forward(self, x: Any) -> Tensor:
        return F.embedding(
            x, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq
        )

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}" + unusual(
            self, padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False
        )


class EmbeddingBag(_Table):
    """The sum, the mean or the maximum of rows of weight (num_embeddings, embedding_dim), normal
    with variance 1 at first, for each bag of integers. Row padding_idx is zero, counts as not being
    there and gets no gradient. The settings are those of `functional.embedding_bag`.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        _freeze: bool = False,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        self.num_embeddings, self.embedding_dim, self.padding_idx = (
            num_embeddings,
            embedding_dim,
            padding_idx,
        )
        self.max_norm, self.norm_type, self.scale_grad_by_freq = (
            max_norm,
            norm_type,
            scale_grad_by_freq,
        )
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        self._take(_weight, _freeze, dtype, device)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A layer whose weight is `embeddings` (num_embeddings, embedding_dim), in the same memory;
        frozen unless freeze=False. Raises ShapeError unless embeddings is a matrix.
        """
        rest: dict[str, Any] = {
            "_weight": embeddings,
            "include_last_offset": include_last_offset,
            "padding_idx": padding_idx,
        }
        rows, width = cls._sizes(embeddings)
        return cls(
            rows,
            width,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            _freeze=freeze,
            **rest,
        )

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}" + unusual(
            self, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="", padding_idx=None
        )


# -------------------------------------------------------------------------------------- convolution


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
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                f'{name}: padding_mode must be "zeros", "reflect", "replicate" or "circular", got'
                f" {padding_mode!r}."
            )
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels,
            out_channels,
            groups,
            padding_mode,
        )
        self.kernel_size = each(kernel_size, self.axes, name, "kernel_size", 1)
        self.stride, self.dilation = (
            each(stride, self.axes, name, "stride", 1),
            each(dilation, self.axes, name, "dilation", 1),
        )
        if isinstance(padding, str) and not self.transposed:
            zeros_around(
                padding, self.kernel_size, self.stride, self.dilation, name
            )  # a wrong word is found here, not at the first call
            self.padding: Any = padding
        else:
            self.padding = each(padding, self.axes, name, "padding")
        first, second = (
            (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        )
        self.weight = parameter(
            first, second // groups, *self.kernel_size, dtype=dtype, device=device
        )
        self.register_parameter(
            "bias", parameter(out_channels, dtype=dtype, device=device) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        _reset(self.weight, self.bias, math.prod(self.weight.shape[1:]))

    def forward(self, x: Any) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            pairs = zeros_around(
                padding, self.kernel_size, self.stride, self.dilation, type(self).__name__
            )
            x, padding = (
                F.pad(x, [p for pair in reversed(pairs) for p in pair], self.padding_mode),
                0,
            )
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
        wanted, sides = (
            output_size[-self.axes :],
            zip(self.stride, self.padding, self.dilation, self.kernel_size, strict=True),
        )
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


class Unfold(Module):
    """Each window as a column."""

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        self.kernel_size, self.dilation, self.padding, self.stride = (
            kernel_size,
            dilation,
            padding,
            stride,
        )

    def forward(self, x: Any) -> Tensor:
        return F.unfold(x, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return shown(self, "kernel_size", "dilation", "padding", "stride")


class Fold(Module):
    """Columns added up where their windows overlap."""

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        self.output_size, self.kernel_size, self.dilation, self.padding, self.stride = (
            output_size,
            kernel_size,
            dilation,
            padding,
            stride,
        )

    def forward(self, x: Any) -> Tensor:
        return F.fold(
            x, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return shown(self, "output_size", "kernel_size", "dilation", "padding", "stride")


# ------------------------------------------------------------------------------------------ pooling


class _MaxPool(Module):
    function: Callable[..., Any]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        self.kernel_size, self.stride, self.padding = (
            kernel_size,
            kernel_size if stride is None else stride,
            padding,
        )
        self.dilation, self.return_indices, self.ceil_mode = dilation, return_indices, ceil_mode

    def forward(self, x: Any) -> Any:
        settings = (
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )
        return type(self).function(x, *settings)

    def extra_repr(self) -> str:
        return shown(self, "kernel_size", "stride", "padding", "dilation", "ceil_mode")


class MaxPool1d(_MaxPool):
    """Largest element of each window."""

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """Largest element of each window; MaxPool2d(3, 1, padding=1) keeps the size."""

    function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """Largest element of each window."""

    function = staticmethod(F.max_pool3d)


class _AvgPool(Module):
    function: Callable[..., Any]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        self.kernel_size, self.stride, self.padding = (
            kernel_size,
            kernel_size if stride is None else stride,
            padding,
        )
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, x: Any) -> Tensor:
        made: Tensor = type(self).function(
            x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )
        return made

    def extra_repr(self) -> str:
        return shown(self, "kernel_size", "stride", "padding")


class AvgPool1d(_AvgPool):
    """Mean of each window."""

    function = staticmethod(F.avg_pool1d)

    def extra_repr(self) -> str:  # in one dimension PyTorch shows each as a tuple
        settings = {name: getattr(self, name) for name in ("kernel_size", "stride", "padding")}
        return ", ".join(f"{name}={as_shape(value)}" for name, value in settings.items())


class _AvgPoolBy(_AvgPool):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def forward(self, x: Any) -> Tensor:
        settings = (
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )
        made: Tensor = type(self).function(x, *settings)
        return made


class AvgPool2d(_AvgPoolBy):
    """Mean of each window (or its sum divided by divisor_override); AvgPool2d(3, 1, padding=1)
    keeps the size.
    """

    function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolBy):
    """Mean of each window."""

    function = staticmethod(F.avg_pool3d)


class _Adaptive(Module):
    function: Callable[..., Any]

    def __init__(self, output_size: Any) -> None:
        self.output_size = output_size

    def forward(self, x: Any) -> Tensor:
        made: Tensor = type(self).function(x, self.output_size)
        return made

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """Means over output_size parts."""

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_Adaptive):
    """Means over output_size parts."""

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_Adaptive):
    """Means over output_size parts."""

    function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, x: Any) -> Any:
        return type(self).function(x, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMax):
    """Maxima over output_size parts."""

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """Maxima over output_size parts."""

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """Maxima over output_size parts."""

    function = staticmethod(F.adaptive_max_pool3d)


# ------------------------------------------------------------------------------------ normalisation


class _BatchNorm(Module):
    dims: tuple[int, ...] = (2, 3)
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        bias: bool = True,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.register_parameter(
            "weight",
            init.ones_(parameter(num_features, dtype=dtype, device=device)) if affine else None,
        )
        self.register_parameter(
            "bias", parameter(num_features, dtype=dtype, device=device) if affine and bias else None
        )
        self.register_buffer(
            "running_mean",
            (
                functions.zeros(num_features, dtype=dtype, device=device)
                if track_running_stats
                else None
            ),
        )
        self.register_buffer(
            "running_var",
            (
                functions.ones(num_features, dtype=dtype, device=device)
                if track_running_stats
                else None
            ),
        )
        self.register_buffer(
            "num_batches_tracked",
            functions.zeros(dtype=backend.int64) if track_running_stats else None,
        )

    def forward(self, x: Any) -> Tensor:
        return self.normalized(x, self.training)

    def normalized(self, x: Any, training: bool) -> Tensor:
        """By the batch's statistics when training, else by the running ones. Raises ShapeError
        for other numbers of dimensions.
        """
        x = as_tensor(x)
        if x.ndim not in self.dims or x.shape[1] != self.num_features:
            raise ShapeError(
                f"{type(self).__name__}: expected {' or '.join(map(str, self.dims))} dimensions"
                f" with {self.num_features} channels, got shape"
                f" {x.shape}.{channels_hint(x.shape, self.num_features, max(self.dims) - 2)}"
            )
        momentum = self.momentum
        if training and self.num_batches_tracked is not None:
            with no_grad():
                self.num_batches_tracked += 1
            if momentum is None:  # the plain average of all batches
                momentum = 1 / int(self.num_batches_tracked)
        by_batch = training or self.running_mean is None
        return F.batch_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            by_batch,
            momentum or 0.0,
            self.eps,
        )

    def extra_repr(self) -> str:
        affine, bias = self.affine, self.bias is not None
        end = f"affine={affine}, bias={bias}, track_running_stats={self.track_running_stats}"
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, {end}"


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L)."""


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W)."""

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W)."""

    dims = (5,)


class _InstanceNorm(_BatchNorm):
    """Normalisation of each sample and channel by itself; also of one sample without its axis.
    PyTorch's defaults: no parameters, and no running statistics; with them, eval() normalises by
    those.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        *,
        bias: bool = True,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            num_features,
            eps,
            momentum,
            affine,
            track_running_stats,
            bias=bias,
            dtype=dtype,
            device=device,
        )

    def normalized(self, x: Any, training: bool) -> Tensor:
        """By the sample's own statistics, or, where running ones are kept and it is not
        training, by those.
        """
        x = as_tensor(x)
        if x.ndim == self.dims[0] - 1:
            return functions.squeeze(self.normalized(functions.unsqueeze(x, 0), training), 0)
        if x.ndim not in self.dims or (x.shape[1] != self.num_features and self.weight is not None):
            raise ShapeError(
                f"{type(self).__name__}: expected {self.dims[0] - 1} or {self.dims[0]} dimensions"
                f" with {self.num_features} channels, got shape {x.shape}."
            )
        own = training or self.running_mean is None
        return F.instance_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            own,
            self.momentum or 0.0,
            self.eps,
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L) or (C, L)."""

    dims = (3,)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W) or (C, H, W)."""

    dims = (4,)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W) or (C, D, H, W)."""

    dims = (5,)


class RMSNorm(Module):
    """x / √(mean x² + ε) over the last axes, whose sizes are normalized_shape, with a weight
    (ones at first) for each element.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        self.normalized_shape = as_shape(normalized_shape)
        self.eps = eps
        self.register_parameter(
            "weight",
            (
                init.ones_(parameter(*self.normalized_shape, dtype=dtype, device=device))
                if elementwise_affine
                else None
            ),
        )

    def forward(self, x: Any) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
        )


class LayerNorm(Module):
    """Normalisation over the last axes, whose sizes are normalized_shape, with a weight (ones at
    first) and a bias (zeros) for each element.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        self.normalized_shape = as_shape(normalized_shape)
        self.eps = eps
        self.register_parameter(
            "weight",
            (
                init.ones_(parameter(*self.normalized_shape, dtype=dtype, device=device))
                if elementwise_affine
                else None
            ),
        )
        self.register_parameter(
            "bias",
            (
                parameter(*self.normalized_shape, dtype=dtype, device=device)
                if elementwise_affine and bias
                else None
            ),
        )

    def forward(self, x: Any) -> Tensor:
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        end = f"elementwise_affine={self.weight is not None}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {end}"


class GroupNorm(Module):
    """Normalisation over groups of channels, with a weight and a bias for each channel."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        *,
        bias: bool = True,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_groups={num_groups} must divide num_channels={num_channels}."
            )
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.register_parameter(
            "weight",
            init.ones_(parameter(num_channels, dtype=dtype, device=device)) if affine else None,
        )
        self.register_parameter(
            "bias", parameter(num_channels, dtype=dtype, device=device) if affine and bias else None
        )

    def forward(self, x: Any) -> Tensor:
        x = as_tensor(x)
        if x.ndim > 1 and x.shape[1] != self.num_channels:
            hint = channels_hint(x.shape, self.num_channels, x.ndim - 2)
            raise ShapeError(
                f"GroupNorm: expected {self.num_channels} channels (the second axis), got shape"
                f" {x.shape}.{hint}"
            )
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        affine, bias = self.weight is not None, self.bias is not None
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={affine}, bias={bias}"
        )


# ---------------------------------------------------------------------- dropout, shape, activations


class Dropout(Module):
    """Each element 0 with probability p while training, else divided by 1 − p."""

    function: Callable[..., Tensor] = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}: p is a probability, got {p}.")
        self.p, self.inplace = p, inplace

    def forward(self, x: Any) -> Tensor:
        return type(self).function(x, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """Whole channels 0 with probability p while training."""

    function = staticmethod(F.dropout1d)


class Dropout2d(Dropout):
    """Whole channels 0 with probability p while training."""

    function = staticmethod(F.dropout2d)


class Dropout3d(Dropout):
    """Whole channels 0 with probability p while training."""

    function = staticmethod(F.dropout3d)


class AlphaDropout(Dropout):
    """Dropout that keeps mean 0 and variance 1, for networks with SELU."""

    function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(Dropout):
    """AlphaDropout of whole channels."""

    function = staticmethod(F.feature_alpha_dropout)


class Flatten(Module):
    """The axes from start_dim to end_dim merged into one: (N, C, H, W) becomes (N, C · H · W)."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Any) -> Tensor:
        return functions.flatten(x, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return shown(self, "start_dim", "end_dim")


class Unflatten(Module):
    """One axis taken apart into several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x: Any) -> Tensor:
        x = as_tensor(x)
        axis = functions.axis_of(x.ndim, self.dim, "Unflatten")
        return functions.reshape(x, *x.shape[:axis], *self.unflattened_size, *x.shape[axis + 1 :])

    def extra_repr(self) -> str:
        return shown(self, "dim", "unflattened_size")


class Upsample(Module):
    """Images resized, in one of the modes of `functional.interpolate`."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
    ) -> None:
        self.size, self.scale_factor, self.mode, self.align_corners = (
            size,
            scale_factor,
            mode,
            align_corners,
        )

    def forward(self, x: Any) -> Tensor:
        return F.interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners)

    def extra_repr(self) -> str:
        return resized(self.size, self.scale_factor, self.mode)


def resized(size: Any, scale_factor: Any, mode: str) -> str:
    """What the repr of a layer that resizes images shows; factors as floats."""
    if scale_factor is None:
        return f"{size=}, {mode=}"
    factors = (
        tuple(float(f) for f in scale_factor)
        if isinstance(scale_factor, list | tuple)
        else float(scale_factor)
    )
    return f"scale_factor={factors}, {mode=}"


class PReLU(Module):
    """x where positive, weight · x elsewhere; the slopes (one, or one a channel) are trained."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, *, dtype: Any = None, device: Any = None
    ) -> None:
        self.num_parameters = num_parameters
        self.weight = parameter(num_parameters, dtype=dtype, device=device)
        self.weight.set_value(init)

    def forward(self, x: Any) -> Tensor:
        return F.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """x where positive, elsewhere x times a slope: drawn from [lower, upper) while training,
    else their mean.
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, x: Any) -> Tensor:
        return F.rrelu(x, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + unusual(self, inplace=False)


def _activation(
    name: str, function: Callable[..., Tensor], form: str | None = None, **settings: Any
) -> type[Module]:
    """A layer without parameters around a function; `settings` are its arguments with their default
    values, in order. form: that of its repr, where that is not "name=value" for each of them.
    """

    class Activation(Module):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            if (
                len(args) > len(settings)
                or set(kwargs) - set(settings)
                or any(isinstance(a, Tensor) for a in args)
            ):
                called = (
                    f" To apply it: {name}()(x)."
                    if any(isinstance(a, Tensor) for a in args)
                    else ""
                )
                got = ", ".join([*(type(a).__name__ for a in args), *(f"{k}=" for k in kwargs)])
                raise TypeError(
                    f"{name} takes {', '.join(settings) or 'no arguments'}; got {got}.{called}"
                )
            given = {**settings, **dict(zip(settings, args, strict=False)), **kwargs}
            for setting, value in given.items():
                setattr(self, setting, value)

        def forward(self, x: Any) -> Tensor:
            return function(x, **{setting: getattr(self, setting) for setting in settings})

        def extra_repr(self) -> str:
            if form is not None:
                return form.format(**vars(self))
            return shown(
                self,
                *(setting for setting in settings if setting != "inplace" or vars(self)["inplace"]),
            )

    Activation.__name__ = Activation.__qualname__ = name
    Activation.__doc__ = function.__doc__
    return Activation


ReLU = _activation("ReLU", F.relu, inplace=False)
ReLU6 = _activation("ReLU6", F.relu6, inplace=False)
LeakyReLU = _activation("LeakyReLU", F.leaky_relu, negative_slope=0.01, inplace=False)
ELU = _activation("ELU", F.elu, alpha=1.0, inplace=False)
SELU = _activation("SELU", F.selu, inplace=False)
CELU = _activation("CELU", F.celu, alpha=1.0, inplace=False)
GELU = _activation("GELU", F.gelu, approximate="none")
SiLU = _activation("SiLU", F.silu, inplace=False)
Mish = _activation("Mish", F.mish, inplace=False)
Threshold = _activation("Threshold", F.threshold, threshold=None, value=None, inplace=False)
Softplus = _activation("Softplus", F.softplus, beta=1.0, threshold=20.0)
Softsign = _activation("Softsign", F.softsign)
Sigmoid = _activation("Sigmoid", F.sigmoid)
LogSigmoid = _activation("LogSigmoid", F.logsigmoid)
Hardsigmoid = _activation("Hardsigmoid", F.hardsigmoid, "", inplace=False)
Hardswish = _activation("Hardswish", F.hardswish, "", inplace=False)
Tanh = _activation("Tanh", F.tanh)
Tanhshrink = _activation("Tanhshrink", F.tanhshrink)
Hardtanh = _activation("Hardtanh", F.hardtanh, min_val=-1.0, max_val=1.0, inplace=False)
Softshrink = _activation("Softshrink", F.softshrink, "{lambd}", lambd=0.5)
Hardshrink = _activation("Hardshrink", F.hardshrink, "{lambd}", lambd=0.5)
Softmax = _activation("Softmax", F.softmax, dim=-1)
LogSoftmax = _activation("LogSoftmax", F.log_softmax, dim=-1)
Softmin = _activation("Softmin", F.softmin, dim=-1)
Softmax2d = _activation("Softmax2d", lambda x: F.softmax(x, -3))
GLU = _activation("GLU", F.glu, dim=-1)

__all__ = [
    name
    for name, value in list(globals().items())
    if isinstance(value, type) and issubclass(value, Module) and not name.startswith("_")
]
__all__.remove("Module")
