"""Activations as layers."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from .. import functional as F
from ..function_layer import FunctionLayer, function_layer
from ..module import Module
from ..parameter import trained

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU",
    "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh",
    "Tanhshrink", "Threshold",
]  # fmt: skip

ReLU = function_layer("ReLU", F.relu)
ReLU6 = function_layer("ReLU6", F.relu6)
LeakyReLU = function_layer("LeakyReLU", F.leaky_relu)
RReLU = function_layer("RReLU", F.rrelu)
ELU = function_layer("ELU", F.elu)
SELU = function_layer("SELU", F.selu)
CELU = function_layer("CELU", F.celu)
GELU = function_layer("GELU", F.gelu)
SiLU = function_layer("SiLU", F.silu)
Mish = function_layer("Mish", F.mish)
GLU = function_layer("GLU", F.glu)
Threshold = function_layer("Threshold", F.threshold, settings="threshold value inplace")
Softplus = function_layer("Softplus", F.softplus)
Softsign = function_layer("Softsign", F.softsign)
Sigmoid = function_layer("Sigmoid", F.sigmoid)
LogSigmoid = function_layer("LogSigmoid", F.logsigmoid)
Hardsigmoid = function_layer("Hardsigmoid", F.hardsigmoid, shows="")
Hardswish = function_layer("Hardswish", F.hardswish, shows="")
Tanh = function_layer("Tanh", F.tanh)
Tanhshrink = function_layer("Tanhshrink", F.tanhshrink)
Hardtanh = function_layer("Hardtanh", F.hardtanh)
Softshrink = function_layer("Softshrink", F.softshrink, shows="{lambd}")
Hardshrink = function_layer("Hardshrink", F.hardshrink, shows="{lambd}")
Softmax = function_layer("Softmax", F.softmax)
LogSoftmax = function_layer("LogSoftmax", F.log_softmax)
Softmin = function_layer("Softmin", F.softmin)


class Softmax2d(FunctionLayer, function=lambda input: F.softmax(input, -3)):
    """Softmax over the channels of images (N, C, H, W) or (C, H, W)."""


class PReLU(Module):
    """x where positive, weight · x elsewhere; the slopes (one, or one a channel) are trained."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, *, dtype: Any = None, device: Any = None
    ) -> None:
        self.num_parameters, self.init = num_parameters, init
        self.weight = trained(num_parameters, dtype=dtype, device=device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Put all slopes to the initial one again."""
        self.weight.set_value(self.init)

    def forward(self, x: Any) -> Tensor:
        return F.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
