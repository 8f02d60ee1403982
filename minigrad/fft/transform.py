"""The discrete Fourier transform: a linear map whose matrix, exp(-2πi jk / n), is symmetric, and
hence its own transpose.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.primitive import linear
from ..ops.batch import shift_axes
from ..ops.costs import fourier_cost


def _fft(xp: Any, x: Any, *, axes: tuple[int, ...], inverse: bool, scale: float) -> Any:
    if not axes or math.prod(x.shape) == 0:
        return x * scale
    y = (xp.fft.ifftn if inverse else xp.fft.fftn)(x, axes=axes)
    if inverse:
        scale *= math.prod(x.shape[axis] for axis in axes)  # NumPy has divided by it
    return (y if scale == 1 else y * scale).astype(x.dtype)


fft = linear(
    "fft",
    _fft,
    lambda g, *, axes, inverse, scale: fft(g, axes=axes, inverse=inverse, scale=scale),
    batch=shift_axes,
    cost=fourier_cost,
)
"""scale · Σ x[j] exp(∓2πi jk / n) along each of the axes, for complex x; the sign is + for the
inverse.
"""
