"""Linear maps as layers.

`Linear` also takes Autogradlib's `in_dim=`, `out_dim=`, and `init="xavier"`.
"""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...errors import one_of
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import trained

__all__ = [
    "Bilinear", "Identity", "Linear",
]  # fmt: skip


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
        inputs = in_features if in_dim is None else in_dim
        outputs = out_features if out_dim is None else out_dim
        if inputs is None or outputs is None:
            raise TypeError(
                "Linear: give the numbers of inputs and outputs, as in Linear(2, 25) or"
                " Linear(in_dim=2, out_dim=25)."
            )
        one_of("Linear", "init", init, "kaiming", "xavier")
        self.in_dim, self.out_dim, self._init = inputs, outputs, init
        self.weight = trained(outputs, inputs, dtype=dtype, device=device)
        self.register_parameter("bias", trained(outputs, when=bias, dtype=dtype, device=device))
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
            init.uniform_by_fan_in(self.weight, self.bias, self.in_dim)

    def forward(self, input: Any) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_dim}, out_features={self.out_dim}, bias={self.bias is not None}"
        )


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
        self.weight = trained(out_features, in1_features, in2_features, dtype=dtype, device=device)
        self.register_parameter(
            "bias", trained(out_features, when=bias, dtype=dtype, device=device)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw initial values again: uniform within 1/√in1_features."""
        init.uniform_by_fan_in(self.weight, self.bias, self.weight.shape[1])

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
