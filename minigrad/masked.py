"""Reductions and the like that leave elements out, under the names of `torch.masked`.

mask: booleans that broadcast to the input's shape, True where an element counts (None: all do). An
element that does not count is replaced by the neutral element of the operation, 0 for a sum, 1 for
a product, -∞ for a maximum; so where none counts, that is the result (NaN for a mean, a variance or
a median), and the gradient of what is left out is 0, whatever it holds.

dim: one dimension or several; None or () means all. dtype: of the result, by default the input's
(sum, prod: int64 for integers).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from . import arrays, backend
from . import functions as fn
from .arrays.norms import vector_norm
from .core.tensor import Tensor, as_tensor
from .errors import DTypeError, ShapeError, with_hints
from .names import TensorLike


def _kept(input: TensorLike, mask: TensorLike, neutral: Any, function: str) -> Tensor:
    """The input with the neutral element where the mask is False."""
    x = as_tensor(input)
    return x if mask is None else fn.where(_mask(x, mask, function), x, neutral)


def _mask(x: Tensor, mask: TensorLike, function: str) -> Tensor:
    mask = as_tensor(mask).to(backend.bool_)
    if mask.ndim > x.ndim or any(
        m not in (1, n) for m, n in zip(reversed(mask.shape), reversed(x.shape), strict=False)
    ):
        raise ShapeError(
            f"masked.{function}: a mask of shape {mask.shape} does not broadcast to the input's"
            f" shape {x.shape}."
        )
    return fn.broadcast_to(mask, x.shape)


def _in(y: Tensor, dtype: Any, x: TensorLike) -> Tensor:
    """y in the dtype asked for, else in that of the input."""
    return y.to(as_tensor(x).dtype if dtype is None else backend.as_dtype(dtype))


def _all(dim: Any) -> Any:
    """None for "all dimensions", which `()` means too."""
    if isinstance(dim, tuple | list) and not dim:
        return None
    if isinstance(dim, list):
        return tuple(dim)
    return dim


def _lowest(input: TensorLike) -> Any:
    dtype = as_tensor(input).dtype
    return -math.inf if backend.is_complex(dtype) else backend.lowest(dtype)


def _highest(input: TensorLike) -> Any:
    return backend.highest(as_tensor(input).dtype)


# -------------------------------------------------------------------------------- sums and products


def _reduction(
    name: str, of: Callable[..., Tensor], neutral: Any, doc: str, *, typed: bool = False
) -> Callable[..., Tensor]:
    """A reduction over the elements that count. of: the one over all; neutral: what stands for the
    others, or a function of the input that gives it; typed: whether `of` takes dtype itself.
    """

    def reduction(
        input: TensorLike,
        dim: Any = None,
        *,
        keepdim: bool = False,
        dtype: Any = None,
        mask: Any = None,
    ) -> Tensor:
        x = _kept(input, mask, neutral(input) if callable(neutral) else neutral, name)
        if typed:
            return of(x, _all(dim), bool(keepdim), dtype=dtype)
        return _in(of(x, _all(dim), bool(keepdim)), dtype, input)

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = doc
    return reduction


sum = _reduction("sum", fn.sum, 0, "The sum of the elements that count; 0 of none.", typed=True)
prod = _reduction(
    "prod", arrays.prod, 1, "The product of the elements that count; 1 of none.", typed=True
)


def cumsum(input: TensorLike, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """Running sums, in which an element that does not count adds nothing."""
    return _in(arrays.cumsum(_kept(input, mask, 0, "cumsum"), dim, dtype=dtype), dtype, input)


def cumprod(input: TensorLike, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """Running products, in which an element that does not count is 1."""
    return _in(arrays.cumprod(_kept(input, mask, 1, "cumprod"), dim, dtype=dtype), dtype, input)


def mean(
    input: TensorLike,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """The mean of the elements that count; NaN of none. Raises DTypeError for integers, unless a
    floating dtype is given.
    """
    x = as_tensor(input)
    wanted = x.dtype if dtype is None else backend.as_dtype(dtype)
    if wanted is None or not backend.is_differentiable(wanted):
        raise DTypeError(
            f"masked.mean: needs a floating or complex dtype, got {wanted}. Give dtype=, for"
            " instance minigrad.float32."
        )
    return sum(x, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(
        x, dim, keepdim, mask, "mean"
    )


def _count(x: Tensor, dim: Any, keepdim: bool, mask: TensorLike, function: str) -> Tensor:
    """How many elements count."""
    counting = fn.ones_like(x, dtype=backend.bool_) if mask is None else _mask(x, mask, function)
    return fn.sum(counting, _all(dim), bool(keepdim))


# -------------------------------------------------------------------------- the largest, the middle


amax = _reduction(
    "amax",
    fn.amax,
    _lowest,
    "The largest of the elements that count; -∞ (or the smallest integer) of none.",
)
amin = _reduction(
    "amin",
    fn.amin,
    _highest,
    "The smallest of the elements that count; ∞ (or the largest integer) of none.",
)
argmax = _reduction(
    "argmax",
    fn.argmax,
    _lowest,
    """Where the largest of the elements that count is, in the input's dtype (as PyTorch has it)
    unless another is given. No derivative.
    """,
)
argmin = _reduction(
    "argmin",
    fn.argmin,
    _highest,
    "Where the smallest of the elements that count is; dtype as of `argmax`. No derivative.",
)


@fn.in_own_memory
def median(
    input: TensorLike, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """The median of the elements that count and are not NaN, the lower one of two; NaN of none
    (ValueError for integers).
    """
    x = as_tensor(input)
    exact = backend.is_differentiable(x.dtype)
    y = arrays.nanmedian(
        _kept(x if exact else x.to(backend.float32), mask, math.nan, "median"), dim, keepdim
    ).values
    if not exact and bool(fn.any(fn.isnan(y))):
        raise ValueError(
            f"masked.median: no element counts in some place, which {x.dtype} has no NaN for."
            " Convert first, with .float()."
        )
    return _in(y, dtype, x)


# ------------------------------------------------------------------------------ exponentials, norms


@fn.in_own_memory
def logsumexp(
    input: TensorLike,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """ln Σ eˣ of the elements that count; -∞ of none."""
    x = as_tensor(input)
    dims = fn.axes_of(x, _all(dim), "masked.logsumexp")
    if mask is None:
        return _in(fn.logsumexp(x, dims, keepdim), dtype, x)
    counts = _mask(x, mask, "logsumexp")
    none = fn.logical_not(fn.any(counts, dims, True))
    # where none counts, of numbers with derivatives
    y = fn.logsumexp(fn.where(none, 0, fn.where(counts, x, _lowest(x))), dims, True)
    y = fn.where(none, _lowest(x), y)
    return _in(y if keepdim else fn.squeeze(y, dims), dtype, x)


def logaddexp(
    input: TensorLike,
    other: TensorLike,
    *,
    dtype: Any = None,
    input_mask: Any = None,
    other_mask: Any = None,
) -> Tensor:
    """ln(eᵃ + eᵇ), where an a or b that does not count adds nothing."""
    a = _kept(input, input_mask, -math.inf, "logaddexp")
    b = _kept(other, other_mask, -math.inf, "logaddexp")
    neither = fn.logical_and(a == -math.inf, b == -math.inf)
    y = fn.logaddexp(fn.where(neither, 0.0, a), fn.where(neither, 0.0, b))
    return _in(fn.where(neither, -math.inf, y), dtype, input)


def softmax(input: TensorLike, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """eˣ / Σ eˣ over the elements that count; 0 for the others, NaN where none counts."""
    return fn.softmax(_kept(input, mask, _lowest(input), "softmax"), dim, dtype=dtype)


def log_softmax(input: TensorLike, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return fn.log_softmax(_kept(input, mask, _lowest(input), "log_softmax"), dim, dtype=dtype)


def softmin(input: TensorLike, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """`softmax` of -x."""
    return fn.softmax(-_kept(input, mask, _highest(input), "softmin"), dim, dtype=dtype)


def norm(
    input: TensorLike,
    ord: float = 2.0,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """(Σ |x|^ord)^(1/ord) over the elements that count, as of `linalg.vector_norm`; 0 of none (∞
    for ord=-inf).
    """
    x = _kept(input, mask, math.inf if ord == -math.inf else 0.0, "norm")
    return vector_norm(x, ord, _all(dim), bool(keepdim), dtype=dtype)


def normalize(
    input: TensorLike,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """x divided by its `norm` (but by no less than eps); 0 for the elements that do not count."""
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _kept(input, mask, 0, "normalize") / fn.clamp(size, eps)


def var(
    input: TensorLike,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """Σ |x - mean|² / (count - correction) over the elements that count. correction: 1 by default,
    0 for unbiased=False; where no more elements than that count, the result is not finite.
    TypeError if both are given.
    """
    if unbiased is not None and correction is not None:
        raise TypeError("masked.var: give unbiased or correction, not both.")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0
    x = _kept(input, mask, 0, "var")  # NaN that does not count must not meet a product
    if dtype is None:
        dtype = x.dtype if backend.is_differentiable(x.dtype) else backend.default_dtype()
    total = sum(x, dim, keepdim=True, dtype=dtype, mask=mask)
    apart = x - total / _count(x, dim, True, mask, "var")
    squares = sum(apart * fn.conj(apart), dim, keepdim=keepdim, dtype=dtype, mask=mask)
    divisor = _count(x, dim, keepdim, mask, "var")
    real = squares.real.dtype if backend.is_complex(squares.dtype) else squares.dtype
    return squares / fn.clamp(divisor.to(real) - correction, 0)


def std(
    input: TensorLike,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """The square root of `var`."""
    return fn.sqrt(
        var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask)
    )


__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize",
    "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

with_hints(sys.modules[__name__])
