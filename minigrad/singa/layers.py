"""Layers with SINGA's settings and first values."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from typing import Any

from .. import autograd
from ..core.tensor import Tensor
from ..nn import layers, module
from .images import dropout

Layer = module.Layer
MaxPool2d = layers.MaxPool2d


class Linear(layers.Linear):
    """x Wᵀ + b with Xavier-normal weights and a bias of zeros, as SINGA begins."""

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        self.weight.gaussian(0.0, math.sqrt(2 / (self.in_dim + self.out_dim)))
        if self.bias is not None:
            self.bias.set_value(0.0)


class Conv2d(layers.Conv2d):
    """Convolution with normal weights of variance 2 / (inputs · kernel + outputs) and a bias of
    zeros, as SINGA begins. W and b are its parameters.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, group, bias
        )

    W = property(lambda self: self.weight)
    b = property(lambda self: self.bias)

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        self.weight.gaussian(
            0.0, math.sqrt(2 / (math.prod(self.weight.shape[1:]) + self.out_channels))
        )
        if self.bias is not None:
            self.bias.set_value(0.0)


class BatchNorm2d(layers.BatchNorm2d):
    """Batch normalisation that `autograd.training` switches. momentum is the share of the old
    running value (PyTorch's is that of the new one).
    """

    def __init__(self, num_features: int, momentum: float = 0.9) -> None:
        super().__init__(num_features, momentum=1 - momentum)

    scale = property(lambda self: self.weight)

    def forward(self, x: Any) -> Tensor:
        return self.normalized(x, autograd.training)


class AvgPool2d(layers.AvgPool2d):
    """Mean of each window; the padding does not count."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__(kernel_size, stride, padding, count_include_pad=False)


class Dropout(layers.Dropout):
    """Dropout that `autograd.training` switches."""

    def __init__(self, ratio: float = 0.5) -> None:
        super().__init__(ratio)

    def forward(self, x: Any) -> Tensor:
        return dropout(x, self.p)
