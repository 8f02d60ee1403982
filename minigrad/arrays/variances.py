"""Variances and standard deviations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import backend
from .. import functions as fn
from ..core.tensor import Tensor
from ..functions.arguments import either, without_graph
from ..names import TensorLike, public, publish
from ..ops.elementwise import in_float32
from .norms import rooted
from .operands import axes_within, floating


@in_float32
def var(
    x: TensorLike,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Any = None,
) -> Tensor:
    """Variance over `dim`: Σ|x - mean|² / (n - correction), with correction 1 unless
    `unbiased=False` or told otherwise. NaN where n is not larger than the correction. Also as
    `var(x, False)`.
    """
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased in (None, True) else 0
    x = floating(x, "var")
    axes = axes_within(x, either(dim, axis), "var")
    deviation = x - fn.mean(x, axes, True) if axes else x - x
    squares = (
        fn.real(deviation * fn.conj(deviation))
        if backend.is_complex(x.dtype)
        else fn.square(deviation)
    )
    count = math.prod(x.shape[a] for a in axes)
    total = fn.sum(squares, axes, keepdim) if axes else squares
    return total / float(max(0, count - without_graph(correction, "var", "correction")))


@in_float32
def std(
    x: TensorLike,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Any = None,
) -> Tensor:
    """Standard deviation, the square root of `var`; derivative 0 where it is 0. The squares keep
    the dtype: in float32 deviations above 1e19 give inf and those below 1e-23 give 0, where
    PyTorch, which sums them in float64, gives their size. Use x.double() there.
    """
    return rooted(var(x, dim, unbiased, keepdim, correction=correction, axis=axis))


def _with_mean(spread: Callable[..., Tensor]) -> Callable[..., Any]:
    """The public function that gives a measure of spread and the mean."""

    def pair(
        x: TensorLike,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> Any:
        mean = fn.mean(x, None if isinstance(dim, bool) else dim, keepdim)
        return spread(x, dim, unbiased, keepdim, correction=correction), mean

    pair.__name__ = pair.__qualname__ = f"{spread.__name__}_mean"
    pair.__doc__ = f"({spread.__name__}, mean)."
    return public(method=False)(pair)


var_mean, std_mean = _with_mean(var), _with_mean(std)
publish(__name__)
