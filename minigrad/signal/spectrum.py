"""The spectrum of a signal as it changes with time: one Fourier transform for each of many short
pieces (`stft`), and its inverse.

    S[f, m] = Σ w[k] x[m · hop + k] exp(-2πi f k / n)

The inverse (`istft`) adds the pieces up where they overlap and divides by the sum of the squared
windows there: of all signals the one whose spectrum is nearest to the given one (least squares).

Source: D. Griffin and J. Lim, Signal estimation from modified short-time Fourier transform (1984).
"""

from __future__ import annotations

from typing import Any

from .. import backend
from .. import functions as fn
from ..arrays import index_add
from ..arrays.splitting import unfold
from ..batching import all_examples
from ..core.tensor import Tensor, as_tensor, wrap
from ..errors import DTypeError, ShapeError, one_of
from ..fft import fft, ifft, irfft, rfft


@fn.in_own_memory
# Long: a third of them are PyTorch's parameters and what they mean.
def stft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The spectra of pieces of n_fft samples, hop_length (default: n_fft // 4) apart. input:
    signals (…, samples) of at most one further dimension; result: (…, frequencies, pieces),
    complex, or with return_complex=False its real and imaginary parts as a last dimension.

    window: win_length weights (default: n_fft ones), with zeros on both sides up to n_fft. center:
    the signal is first continued by n_fft // 2 samples on both sides, so that piece m has its
    middle at sample m · hop_length; pad_mode: how, "reflect", "constant" (zeros) or "replicate".
    normalized: divide by √n_fft. onesided: only the n_fft // 2 + 1 frequencies from 0 on (the
    default for real signals). Raises ShapeError for pieces longer than the signal, ValueError for
    lengths that make no sense.
    """
    x = as_tensor(input)
    name = "stft"
    hop, width = _lengths(n_fft, hop_length, win_length, name)
    if not backend.is_differentiable(x.dtype) or x.ndim not in (1, 2):
        raise ShapeError(
            f"{name}: needs floating or complex signals of shape (samples) or (signals, samples),"
            f" got {x.dtype} of {x.shape}."
        )
    if align_to_window is not None and center:
        raise ValueError(f"{name}: align_to_window is for center=False only.")
    is_complex = backend.is_complex(x.dtype)
    if (
        return_complex is None
        and not is_complex
        and not (isinstance(window, Tensor) and backend.is_complex(window.dtype))
    ):
        raise ValueError(
            f"{name}: say return_complex=True (a complex result) or False (real and imaginary parts"
            " apart)."
        )
    weights = _weights(window, width, n_fft, x, name)
    if center:
        x = _continued(x, n_fft // 2, pad_mode)
    if align_to_window and width < n_fft:
        side = (n_fft - width) // 2
        x = fn.cat([*_zeros(x, side), x, *_zeros(x, n_fft - width - side)], -1)
    if not 0 < n_fft <= x.shape[-1]:
        raise ShapeError(
            f"{name}: pieces of n_fft = {n_fft} samples do not fit a signal of {x.shape[-1]} (shape"
            f" {x.shape})."
        )
    pieces = unfold(x, -1, n_fft, hop) * weights
    is_complex = backend.is_complex(pieces.dtype)
    if is_complex and onesided:
        raise ValueError(f"{name}: onesided=True is for real signals with real windows.")
    spectra = (fft if is_complex or onesided is False else rfft)(
        pieces, norm="ortho" if normalized else None
    )
    spectra = spectra.transpose(-2, -1)
    return fn.view_as_real(spectra) if return_complex is False else spectra


# Long: a third of them are PyTorch's parameters and what they mean.
def istft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose `stft` (with the same arguments) is nearest to the input, complex of shape
    (…, frequencies, pieces).

    onesided: whether the input has only the frequencies from 0 on (by default as its shape tells).
    length: of the result (default: as far as the pieces reach); return_complex: whether the signal
    is complex (of a real one, only the frequencies from 0 on are looked at). Raises ValueError
    where the windows leave a gap.
    """
    S = as_tensor(input)
    name = "istft"
    hop, width = _lengths(n_fft, hop_length, win_length, name)
    if not backend.is_complex(S.dtype) or S.ndim not in (2, 3) or not S.numel():
        raise ShapeError(
            f"{name}: needs complex spectra of shape (frequencies, pieces) or (signals,"
            f" frequencies, pieces), got {S.dtype} of {S.shape}."
        )
    if onesided is None:
        onesided = S.shape[-2] != n_fft
    if S.shape[-2] != (n_fft // 2 + 1 if onesided else n_fft):
        raise ShapeError(
            f"{name}: n_fft = {n_fft} and onesided={onesided} do not fit the {S.shape[-2]}"
            f" frequencies of shape {S.shape}."
        )
    if onesided and return_complex:
        raise ValueError(f"{name}: a complex signal needs all frequencies, onesided=False.")
    norm, columns = "ortho" if normalized else None, S.transpose(-2, -1)
    pieces = (
        ifft(columns, norm=norm)
        if return_complex
        else irfft(columns[..., : n_fft // 2 + 1], n_fft, norm=norm)
    )
    weights = _weights(window, width, n_fft, pieces, name)
    if backend.is_complex(weights.dtype) and not return_complex:
        raise DTypeError(f"{name}: a complex window needs return_complex=True.")
    count = S.shape[-1]
    total = n_fft + hop * (count - 1)
    places = (
        fn.arange(count, device=S.device).unsqueeze(-1) * hop + fn.arange(n_fft, device=S.device)
    ).reshape(-1)
    pieces = pieces * weights
    signal = _added(pieces.reshape((*pieces.shape[:-2], count * n_fft)), places, total)
    squares = _added(fn.broadcast_to(weights * weights, (count, n_fft)).reshape(-1), places, total)
    start = n_fft // 2 if center else 0
    end = total - start if length is None else start + int(length)
    signal, squares = signal[..., start:end], squares[..., start:end]
    if bool(fn.any(wrap(all_examples(fn.abs(squares).array)) < 1e-11)):
        raise ValueError(
            f"{name}: the windows leave a gap (the sum of their squares is 0 somewhere). Choose a"
            " smaller hop_length, or center=True."
        )
    signal = signal / squares
    missing = 0 if length is None else int(length) - signal.shape[-1]
    return fn.cat([signal, *_zeros(signal, missing)], -1)


def _lengths(
    n_fft: int, hop_length: int | None, win_length: int | None, name: str
) -> tuple[int, int]:
    hop = n_fft // 4 if hop_length is None else int(hop_length)
    width = n_fft if win_length is None else int(win_length)
    if hop < 1 or not 0 < width <= n_fft:
        raise ValueError(
            f"{name}: needs hop_length > 0 and 0 < win_length <= n_fft, got {hop}, {width} and"
            f" {n_fft}."
        )
    return hop, width


def _weights(window: Any, width: int, n_fft: int, like: Tensor, name: str) -> Tensor:
    """The window with zeros on both sides, up to n_fft."""
    real = like.real.dtype if backend.is_complex(like.dtype) else like.dtype
    weights = (
        fn.ones(width, dtype=real, device=like.device) if window is None else as_tensor(window)
    )
    if weights.shape != (width,):
        raise ShapeError(f"{name}: the window must have shape ({width},), got {weights.shape}.")
    left = (n_fft - width) // 2
    return fn.cat([*_zeros(weights, left), weights, *_zeros(weights, n_fft - width - left)], -1)


def _zeros(x: Tensor, count: int) -> list[Tensor]:
    """`count` zeros to stand before or behind the last axis of x."""
    return [fn.zeros((*x.shape[:-1], count), dtype=x.dtype, device=x.device)] if count > 0 else []


def _continued(x: Tensor, size: int, mode: str) -> Tensor:
    """x with `size` more samples on both sides."""
    one_of("stft", "pad_mode", mode, "reflect", "constant", "replicate")
    n = x.shape[-1]
    if mode == "constant":
        return fn.cat([*_zeros(x, size), x, *_zeros(x, size)], -1)
    if mode == "reflect" and size >= n:
        raise ShapeError(
            f'stft: pad_mode="reflect" continues a signal by less than its own length, here {size}'
            f" of {n} samples."
        )
    places = fn.arange(-size, n + size, device=x.device)
    inside = fn.clamp(places, 0, n - 1)
    return x[..., 2 * inside - places if mode == "reflect" else inside]


def _added(x: Tensor, places: Tensor, size: int) -> Tensor:
    """The elements of the last axis added up at their places among `size`."""
    return index_add(
        fn.zeros((*x.shape[:-1], size), dtype=x.dtype, device=x.device), x.ndim - 1, places, x
    )


__all__ = ["istft", "stft"]
