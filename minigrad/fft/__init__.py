"""Fourier transforms under PyTorch's names (`torch.fft`): one linear operation, and what comes
before and after it.

    Y[k] = Σ x[j] exp(-2πi jk / n),   inverse   x[j] = 1/n Σ Y[k] exp(2πi jk / n)

norm: where the factor goes: "backward" to the inverse, "forward" to the transform, "ortho" half of
it (its square root) to each. n or s: the lengths to which x is cut, or filled up with zeros, first.
Real x has a symmetric transform, Y[n-k] = conj Y[k]: `rfft` returns its first half, `irfft` takes
that and gives the real x.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from .. import backend
from .. import functions as fn
from ..arrays import roll
from ..core.tensor import Tensor, as_tensor
from ..errors import DTypeError, ShapeError, one_of, with_hints
from ..names import TensorLike, publish, respell
from .transform import fft as _transform


def fftn(input: TensorLike, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The transform along several dimensions (all of them, or the last len(s))."""
    x, axes = _prepared(input, s, dim, "fftn")
    return _run(x, axes, False, norm, "fftn")


def ifftn(input: TensorLike, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse transform along several dimensions (all of them, or the last len(s))."""
    x, axes = _prepared(input, s, dim, "ifftn")
    return _run(x, axes, True, norm, "ifftn")


@fn.in_own_memory
def rfftn(input: TensorLike, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The transform of a real x along several dimensions, halved along the last of them. Raises
    DTypeError for complex ones.
    """
    if backend.is_complex(as_tensor(input).dtype):
        raise DTypeError(
            "rfft: needs a real tensor, got a complex one. Use fft, or take .real first."
        )
    x, axes = _prepared(input, s, dim, "rfftn")
    y = _run(x, axes, False, norm, "rfftn")
    return y[(slice(None),) * axes[-1] + (slice(0, y.shape[axes[-1]] // 2 + 1),)]


@fn.in_own_memory
def irfftn(input: TensorLike, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`; the last of the dimensions gets the length s[-1] (default: an even
    number).
    """
    x = as_tensor(input)
    axes = _axes(x, s, dim, "irfftn")
    last = axes[-1]
    length = 2 * (x.shape[last] - 1) if s is None else int(s[-1])
    if length < 1:
        raise ShapeError(
            f"irfft: the result would have {length} elements along dimension {last} of shape"
            f" {x.shape}. Give n."
        )
    sizes = [x.shape[axis] for axis in axes] if s is None else [int(m) for m in s]
    x, _ = _prepared(x, (*sizes[:-1], length // 2 + 1), axes, "irfftn")
    if len(axes) > 1:
        x = _run(x, axes[:-1], True, norm, "irfftn")
    before = (slice(None),) * last
    mirrored = fn.flip(fn.conj(x[(*before, slice(1, (length + 1) // 2))]), last)
    return fn.real(_run(fn.cat([x, mirrored], last), (last,), True, norm, "irfftn"))


def hfftn(input: TensorLike, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The real transform along several dimensions of an x of which the last one is given by
    half, as of `irfftn`.
    """
    return irfftn(fn.conj(as_tensor(input)), s, dim, _turned(norm, "hfftn"))


def ihfftn(input: TensorLike, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`. Raises DTypeError for complex x."""
    return fn.conj(rfftn(input, s, dim, _turned(norm, "ihfftn")))


def _along_one(several: Callable[..., Tensor], text: str) -> Callable[..., Tensor]:
    def function(
        input: Any, n: int | None = None, dim: int = -1, norm: str | None = None
    ) -> Tensor:
        return several(input, None if n is None else (n,), (dim,), norm)

    return _named(function, several.__name__[:-1], text)


def _along_two(several: Callable[..., Tensor], text: str) -> Callable[..., Tensor]:
    def function(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
        return several(input, s, dim, norm)

    return _named(function, several.__name__[:-1] + "2", text)


def _named(function: Callable[..., Tensor], name: str, text: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


fft = _along_one(fftn, "The transform along one dimension.")
fft2 = _along_two(fftn, "The transform along two dimensions.")
ifft = _along_one(ifftn, "The inverse transform along one dimension.")
ifft2 = _along_two(ifftn, "The inverse transform along two dimensions.")
rfft = _along_one(
    rfftn,
    "The first n // 2 + 1 entries of the transform of a real x. Raises DTypeError for complex"
    " ones.",
)
rfft2 = _along_two(
    rfftn, "The transform of a real x along two dimensions, halved along the last of them."
)
irfft = _along_one(
    irfftn,
    "The real x of n elements (default: 2 (m - 1), an even number) whose `rfft` is the input of m"
    " entries.",
)
irfft2 = _along_two(irfftn, "The inverse of `rfft2`.")
hfft = _along_one(
    hfftn,
    "The transform (real, of n elements) of an x whose second half is the conjugate of its first;"
    " the input is the first one.",
)
hfft2 = _along_two(
    hfftn, "The real transform along two dimensions of an x of which the last one is given by half."
)
ihfft = _along_one(
    ihfftn,
    "The inverse of `hfft`: the first n // 2 + 1 entries of the inverse transform of a real x.",
)
ihfft2 = _along_two(ihfftn, "The inverse of `hfft2`.")


def _turned(norm: str | None, function: str) -> str:
    """Where the factor goes in the inverse transform, if it is computed by the transform, or the
    other way round.
    """
    turned = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
    return turned[_known(norm, function)]


def _known(norm: str | None, function: str) -> str:
    norm = "backward" if norm is None else norm
    one_of(function, "norm", norm, "backward", "ortho", "forward")
    return norm


def fftshift(input: TensorLike, dim: Any = None) -> Tensor:
    """Frequency 0 in the middle instead of at the beginning."""
    return _shifted(input, dim, lambda n: n // 2, "fftshift")


def ifftshift(input: TensorLike, dim: Any = None) -> Tensor:
    """Undoes `fftshift`."""
    return _shifted(input, dim, lambda n: -(n // 2), "ifftshift")


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The n frequencies that the entries of `fft` belong to, for samples at the distance d."""
    return ifftshift(
        fn.arange(-(n // 2), n - n // 2, dtype=dtype or backend.default_dtype(), device=device)
    ) / (n * d)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The n // 2 + 1 frequencies that the entries of `rfft` belong to, for samples at the
    distance d.
    """
    return fn.arange(0, n // 2 + 1, dtype=dtype or backend.default_dtype(), device=device) / (n * d)


def _shifted(input: TensorLike, dim: Any, places: Any, function: str) -> Tensor:
    x = as_tensor(input)
    axes = fn.axes_of(x, dim, function)
    if axes and x.ndim:
        return roll(x, tuple(places(x.shape[axis]) for axis in axes), axes)
    return fn.clone(x)


def _axes(x: Tensor, s: Any, dim: Any, function: str) -> tuple[int, ...]:
    if dim is None:
        dim = tuple(range(x.ndim)) if s is None else tuple(range(-len(s), 0))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    for n in s or ():
        if not hasattr(n, "__index__"):
            raise TypeError(f"{function}: a length must be a whole number, got {n!r}.")
    if s is not None and len(s) != len(dims):
        raise ValueError(
            f"{function}: {len(s)} lengths {tuple(s)} for {len(dims)} dimensions {dims}."
        )
    if x.ndim == 0 or not dims:
        raise ShapeError(
            f"{function}: needs at least one dimension to transform, got shape {x.shape} and"
            f" dim={dims}."
        )
    axes = tuple(fn.axis_of(x.ndim, d, function) for d in dims)
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"{function}: dimension named more than once in dim={dims}.")
    return axes


def _prepared(input: TensorLike, s: Any, dim: Any, function: str) -> tuple[Tensor, tuple[int, ...]]:
    """x as complex numbers, cut or filled up to the lengths `s`, and the axes to transform."""
    x = as_tensor(input)
    axes = _axes(x, s, dim, function)
    if not backend.is_complex(x.dtype):
        x = x.to(backend.complex128 if x.dtype == backend.float64 else backend.complex64)
    for axis, n in zip(axes, s or (x.shape[a] for a in axes), strict=True):
        if n < 1:
            raise ShapeError(
                f"{function}: length {n} along dimension {axis} of shape {x.shape}; it must be at"
                " least 1."
            )
        if n < x.shape[axis]:
            x = x[(slice(None),) * axis + (slice(0, n),)]
        elif n > x.shape[axis]:
            missing = (*x.shape[:axis], n - x.shape[axis], *x.shape[axis + 1 :])
            x = fn.cat(
                [x, fn.zeros(missing, dtype=x.dtype, device=backend.device_of(x.array))], axis
            )
    return x, axes


def _run(
    x: Tensor, axes: tuple[int, ...], inverse: bool, norm: str | None, function: str
) -> Tensor:
    n = math.prod(x.shape[axis] for axis in axes)
    there = {"backward": 1.0, "ortho": 1 / math.sqrt(n), "forward": 1 / n}[_known(norm, function)]
    scale = 1 / n / there if inverse else there
    return _transform(x, axes=axes, inverse=inverse, scale=scale)


respell(__name__, publish(__name__, method=False))
with_hints(sys.modules[__name__])
