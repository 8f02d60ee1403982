"""Normalisation as layers."""

from __future__ import annotations

from typing import Any

from ... import backend, functions
from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError
from ...grad_mode import no_grad
from .. import functional as F
from .. import init
from ..function_layer import function_layer
from ..functional.arguments import as_shape, channels_hint
from ..module import Module
from ..parameter import trained

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LayerNorm", "LocalResponseNorm", "RMSNorm",
]  # fmt: skip


class _Affine(Module):
    """A layer with a weight of ones at first and a bias of zeros, or None where it has none."""

    def _take(self, shape: Any, weight: bool, bias: bool, **where: Any) -> None:
        ones = trained(*shape, when=weight, **where)
        self.register_parameter("weight", init.ones_(ones) if weight else None)
        self.register_parameter("bias", trained(*shape, when=weight and bias, **where))

    def reset_parameters(self) -> None:
        """Put the weight to ones and the bias to zeros again."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _BatchNorm(_Affine):
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
        self._take((num_features,), affine, bias, dtype=dtype, device=device)
        kept = {
            "running_mean": functions.zeros(num_features, dtype=dtype, device=device),
            "running_var": functions.ones(num_features, dtype=dtype, device=device),
            "num_batches_tracked": functions.zeros(dtype=backend.int64),
        }
        for name, start in kept.items():
            self.register_buffer(name, start if track_running_stats else None)

    def reset_running_stats(self) -> None:
        """Forget all batches: means of 0, variances of 1, a count of 0."""
        if self.running_mean is not None and self.running_var is not None:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
        if self.num_batches_tracked is not None:
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Forget all batches, and put the weight to ones and the bias to zeros again."""
        self.reset_running_stats()
        super().reset_parameters()

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
        moves = training and self.track_running_stats
        if moves and self.num_batches_tracked is not None:
            with no_grad():
                self.num_batches_tracked += 1
            if momentum is None:  # the plain average of all batches
                momentum = 1 / int(self.num_batches_tracked)
        by_batch = training or self.running_mean is None
        kept = moves or not training  # running statistics that are not to move are not passed
        return F.batch_norm(
            x,
            self.running_mean if kept else None,
            self.running_var if kept else None,
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
        own = training or not self.track_running_stats or self.running_mean is None
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
        ones = trained(*self.normalized_shape, dtype=dtype, device=device)
        self.register_parameter("weight", init.ones_(ones) if elementwise_affine else None)

    def reset_parameters(self) -> None:
        """Put the weight to ones again."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Any) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
        )


class LayerNorm(_Affine):
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
        self._take(self.normalized_shape, elementwise_affine, bias, dtype=dtype, device=device)

    def forward(self, x: Any) -> Tensor:
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        end = f"elementwise_affine={self.weight is not None}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {end}"


class GroupNorm(_Affine):
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
        self._take((num_channels,), affine, bias, dtype=dtype, device=device)

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


LocalResponseNorm = function_layer(
    "LocalResponseNorm",
    F.local_response_norm,
    settings="size alpha beta k",
    shows="{size}, alpha={alpha}, beta={beta}, k={k}",
)
