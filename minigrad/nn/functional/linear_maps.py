"""Maps by a matrix: x Wᵀ + b, and a bilinear form for each output."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from typing import Any

from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError
from ...functions import matmul
from ...ops import network
from ...ops.elementwise import in_float32

__all__ = ["bilinear", "linear"]


def linear(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """x Wᵀ + b: input (…, inputs), weight (outputs, inputs), bias (outputs,): (…, outputs). Dtypes
    are promoted (PyTorch refuses different ones). Raises ShapeError where sizes differ."""
    x, w = as_tensor(input), as_tensor(weight)
    if x.ndim == 0 or w.ndim not in (1, 2) or x.shape[-1] != w.shape[-1]:
        flat = x.ndim > 2 and w.ndim > 0 and math.prod(x.shape[1:]) == w.shape[-1]
        cure = (
            f" Is {(x.shape[0], w.shape[-1])} meant? Write x.flatten(1), or nn.Flatten() before the"
            " layer."
            if flat
            else ""
        )
        raise ShapeError(
            f"linear: input of shape {x.shape} does not fit weight of shape {w.shape}; the last"
            f" sizes must be equal.{cure}"
        )
    if w.ndim == 1 or x.ndim == 1 or bias is None:
        y = matmul(x, w.t())
        return y if bias is None else y + bias
    b = as_tensor(bias)
    if b.shape not in ((w.shape[0],), (1,), ()):
        raise ShapeError(f"linear: bias of shape {b.shape} does not fit weight of shape {w.shape}.")
    return network.affine(x, w, b)


@in_float32
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """y[…, o] = x1ᵀ W[o] x2 + b[o]: weight (outputs, inputs1, inputs2)."""
    a, b, w = as_tensor(input1), as_tensor(input2), as_tensor(weight)
    if not a.ndim or not b.ndim or w.shape[1:] != (a.shape[-1], b.shape[-1]):
        raise ShapeError(
            f"bilinear: inputs of shapes {a.shape} and {b.shape} do not fit weight (outputs,"
            f" inputs1, inputs2) {w.shape}."
        )
    left = matmul(a.reshape(*a.shape[:-1], 1, 1, a.shape[-1]), w)  # (…, outputs, 1, inputs2)
    y = (left.squeeze(-2) * b.reshape(*b.shape[:-1], 1, b.shape[-1])).sum(-1)
    return y if bias is None else y + bias
