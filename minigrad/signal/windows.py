"""Windows: weights that let a piece of a signal begin and end softly, under the names of
`torch.signal.windows`.

Each has M weights, at the places 0 … N of N = M - 1 steps (sym=True, for filters) or of N = M steps
without the last one (sym=False, one period, for Fourier transforms). M = 1 gives the weight 1.
dtype: floating, the default one if None; requires_grad: of the result.

Source: F. Harris, On the use of windows for harmonic analysis with the discrete Fourier transform
(1978).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from .. import backend
from .. import functions as fn
from ..core.tensor import Tensor
from ..errors import DTypeError
from ..special.functions import i0


def _window(
    name: str,
    M: int,
    weights: Callable[[Tensor, float], Tensor],
    sym: bool,
    dtype: Any,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    """`weights(k, N)` at the places k, computed in float64."""
    if isinstance(M, bool) or not isinstance(M, int) or M < 0:
        raise ValueError(f"signal.windows.{name}: M must be a whole number from 0 on, got {M!r}.")
    wanted = backend.as_dtype(dtype) or backend.default_dtype()
    if not backend.is_floating(wanted):
        raise DTypeError(f"signal.windows.{name}: dtype must be floating, got {wanted}.")
    places = fn.arange(M, dtype=backend.float64, device=device)
    window = (fn.ones_like(places) if M <= 1 else weights(places, float(M - 1 if sym else M))).to(
        wanted
    )
    return window.requires_grad_() if requires_grad else window


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A triangle from 0 to 1 to 0: 1 - |2k/N - 1|."""
    return _window(
        "bartlett", M, lambda k, n: 1 - fn.abs(2 * k / n - 1), sym, dtype, device, requires_grad
    )


def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """0.42 - 0.5 cos(2πk/N) + 0.08 cos(4πk/N)."""
    return general_cosine(
        M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, device=device, requires_grad=requires_grad
    )


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Half a wave: sin(π (k + ½) / (N + 1))."""
    return _window(
        "cosine",
        M,
        lambda k, n: fn.sin(math.pi * (k + 0.5) / (n + 1)),
        sym,
        dtype,
        device,
        requires_grad,
    )


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-|k - center| / tau); center: N/2 by default, and only then sym. ValueError for tau <=
    0, or a center with sym=True.
    """
    if tau <= 0:
        raise ValueError(f"signal.windows.exponential: tau must be positive, got {tau!r}.")
    if sym and center is not None:
        raise ValueError(
            "signal.windows.exponential: a symmetric window has its center in the middle; give"
            " sym=False with another one."
        )
    middle: Callable[[float], float] = lambda n: n / 2 if center is None else center
    return _window(
        "exponential",
        M,
        lambda k, n: fn.exp(-fn.abs(k - middle(n)) / tau),
        sym,
        dtype,
        device,
        requires_grad,
    )


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-½ ((k - N/2) / std)²). ValueError for std <= 0."""
    if std <= 0:
        raise ValueError(f"signal.windows.gaussian: std must be positive, got {std!r}.")
    return _window(
        "gaussian",
        M,
        lambda k, n: fn.exp(-0.5 * fn.square((k - n / 2) / std)),
        sym,
        dtype,
        device,
        requires_grad,
    )


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Σ (-1)ⁱ aᵢ cos(2πik/N). ValueError without coefficients."""
    coefficients = [float(v) for v in a]
    if not coefficients:
        raise ValueError("signal.windows.general_cosine: needs at least one coefficient a.")

    def weights(k: Tensor, n: float) -> Tensor:
        total = fn.zeros_like(k)
        for i, c in enumerate(coefficients):
            total = total + (-1) ** i * c * fn.cos(2 * math.pi * i / n * k)
        return total

    return _window("general_cosine", M, weights, sym, dtype, device, requires_grad)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - (1 - alpha) cos(2πk/N)."""
    return general_cosine(
        M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, device=device, requires_grad=requires_grad
    )


def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """0.54 - 0.46 cos(2πk/N)."""
    return general_hamming(M, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def hann(
    M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """½ - ½ cos(2πk/N)."""
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad
    )


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """I₀(β √(1 - (2k/N - 1)²)) / I₀(β), where I₀ is a Bessel function. ValueError for beta < 0."""
    if beta < 0:
        raise ValueError(f"signal.windows.kaiser: beta must not be negative, got {beta!r}.")

    def weights(k: Tensor, n: float) -> Tensor:
        across = fn.sqrt(fn.clamp(1 - fn.square(2 * k / n - 1), 0.0))
        return i0(beta * across) / i0(fn.full_like(k, beta))

    return _window("kaiser", M, weights, sym, dtype, device, requires_grad)


def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Four cosines whose side lobes are as small as they can be."""
    coefficients = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(
        M, a=coefficients, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad
    )


__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser",
    "nuttall",
]  # fmt: skip
