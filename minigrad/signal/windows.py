"""Windows: weights that let a piece of a signal begin and end softly, under the names of
`torch.signal.windows`.

Each has M weights, at the places 0 … N of N = M - 1 steps (sym=True, for filters) or of N = M steps
without the last one (sym=False, one period, for Fourier transforms). M = 1 gives the weight 1.
dtype: floating, the default one if None; requires_grad: of the result. Below, each is the function
of its places k and of N that gives the weights; `_window` makes the public function of it.

Source: F. Harris, On the use of windows for harmonic analysis with the discrete Fourier transform
(1978).
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

from .. import backend
from .. import functions as fn
from ..core.tensor import Tensor
from ..errors import DTypeError, with_hints
from ..special.functions import i0


def _window(weights: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The public function of the weights at places k, which are computed in float64."""
    name = weights.__name__
    own = list(inspect.signature(weights).parameters.values())[2:]
    asks = {p.name for p in own}

    @functools.wraps(weights, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
    def window(
        M: int,
        *,
        sym: bool = True,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **options: Any,
    ) -> Tensor:
        if isinstance(M, bool) or not isinstance(M, int) or M < 0:
            raise ValueError(
                f"signal.windows.{name}: M must be a whole number from 0 on, got {M!r}."
            )
        wanted = backend.as_dtype(dtype) or backend.default_dtype()
        if not backend.is_floating(wanted):
            raise DTypeError(f"signal.windows.{name}: dtype must be floating, got {wanted}.")
        if "sym" in asks:
            options["sym"] = sym
        places = fn.arange(M, dtype=backend.float64, device=device)
        made = weights(places, float(max(M - 1 if sym else M, 1)), **options)
        made = (fn.ones_like(places) if M <= 1 else made).to(wanted)
        return made.requires_grad_() if requires_grad else made

    usual = list(inspect.signature(window, follow_wrapped=False).parameters.values())
    shown = [usual[0], *(p for p in own if p.name != "sym"), *usual[1:-1]]
    setattr(window, "__signature__", inspect.Signature(shown, return_annotation="Tensor"))  # noqa: B010
    del window.__wrapped__
    return window


def _cosines(k: Tensor, n: float, coefficients: Iterable[float]) -> Tensor:
    """Σ (-1)ⁱ aᵢ cos(2πik/N)."""
    total = fn.zeros_like(k)
    for i, c in enumerate(coefficients):
        total = total + (-1) ** i * c * fn.cos(2 * math.pi * i / n * k)
    return total


@_window
def bartlett(k: Tensor, n: float) -> Tensor:
    """A triangle from 0 to 1 to 0: 1 - |2k/N - 1|."""
    return 1 - fn.abs(2 * k / n - 1)


@_window
def blackman(k: Tensor, n: float) -> Tensor:
    """0.42 - 0.5 cos(2πk/N) + 0.08 cos(4πk/N)."""
    return _cosines(k, n, [0.42, 0.5, 0.08])


@_window
def cosine(k: Tensor, n: float) -> Tensor:
    """Half a wave: sin(π (k + ½) / (N + 1))."""
    return fn.sin(math.pi * (k + 0.5) / (n + 1))


@_window
def exponential(
    k: Tensor, n: float, *, center: float | None = None, tau: float = 1.0, sym: bool
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
    return fn.exp(-fn.abs(k - (n / 2 if center is None else center)) / tau)


@_window
def gaussian(k: Tensor, n: float, *, std: float = 1.0) -> Tensor:
    """exp(-½ ((k - N/2) / std)²). ValueError for std <= 0."""
    if std <= 0:
        raise ValueError(f"signal.windows.gaussian: std must be positive, got {std!r}.")
    return fn.exp(-0.5 * fn.square((k - n / 2) / std))


@_window
def general_cosine(k: Tensor, n: float, *, a: Iterable[float]) -> Tensor:
    """Σ (-1)ⁱ aᵢ cos(2πik/N). ValueError without coefficients."""
    coefficients = [float(v) for v in a]
    if not coefficients:
        raise ValueError("signal.windows.general_cosine: needs at least one coefficient a.")
    return _cosines(k, n, coefficients)


@_window
def general_hamming(k: Tensor, n: float, *, alpha: float = 0.54) -> Tensor:
    """alpha - (1 - alpha) cos(2πk/N)."""
    return _cosines(k, n, [float(alpha), 1 - float(alpha)])


@_window
def hamming(k: Tensor, n: float) -> Tensor:
    """0.54 - 0.46 cos(2πk/N)."""
    return _cosines(k, n, [0.54, 1 - 0.54])


@_window
def hann(k: Tensor, n: float) -> Tensor:
    """½ - ½ cos(2πk/N)."""
    return _cosines(k, n, [0.5, 0.5])


@_window
def kaiser(k: Tensor, n: float, *, beta: float = 12.0) -> Tensor:
    """I₀(β √(1 - (2k/N - 1)²)) / I₀(β), where I₀ is a Bessel function. ValueError for beta < 0."""
    if beta < 0:
        raise ValueError(f"signal.windows.kaiser: beta must not be negative, got {beta!r}.")
    across = fn.sqrt(fn.clamp(1 - fn.square(2 * k / n - 1), 0.0))
    return i0(beta * across) / i0(fn.full_like(k, beta))


@_window
def nuttall(k: Tensor, n: float) -> Tensor:
    """Four cosines whose side lobes are as small as they can be."""
    return _cosines(k, n, [0.3635819, 0.4891775, 0.1365995, 0.0106411])


__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser",
    "nuttall",
]  # fmt: skip

with_hints(sys.modules[__name__])
