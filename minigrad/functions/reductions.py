"""Sums, means and extremes over axes, and what is made of them along an axis."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from .. import backend, ops
from ..core.primitive import Primitive
from ..core.tensor import Tensor, as_tensor
from ..errors import DTypeError
from ..names import TensorLike, into, publish
from ..ops import network as nw
from ..ops import reduce as rd
from .arguments import axes_of, axes_to_reduce, axis_of, either, reduced_axes
from .elementwise import exp, isfinite, log
from .selection import real, where
from .shapes import squeeze


def sum(
    input: TensorLike,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    out: Any = None,
) -> Tensor:
    """Sum over `dim` (all axes by default). Integers and booleans are summed as int64.

    float16 and bfloat16 accumulate in float32. The error of float32 is a few units in the last
    place for any number of elements along
    any axes: at most 128 · 2⁻²⁴ · Σ|x|.
    """
    if out is not None:
        return into(
            out,
            sum(input, dim, keepdim, dtype=dtype, axis=axis, keepdims=keepdims),
            "sum",
            (input,),
        )
    x = as_tensor(input)
    if dtype is not None:
        x = x.to(dtype)
    elif x.array.dtype.kind in "bui":
        x = x.to(backend.int64)
    total = rd.sum_.call_unary(
        x,
        {
            "axes": axes_to_reduce(x, dim if axis is None else axis, "sum"),
            "keepdims": keepdim or keepdims,
        },
    )
    return total if dtype is None else total.to(dtype)


def mean(
    input: TensorLike,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    out: Any = None,
) -> Tensor:
    """Mean over `dim` (all axes by default). NaN over no elements; DTypeError for integers,
    whose mean is not an integer.
    """
    if out is not None:
        return into(
            out,
            mean(input, dim, keepdim, dtype=dtype, axis=axis, keepdims=keepdims),
            "mean",
            (input,),
        )
    x = as_tensor(input)
    if dtype is not None:
        x = x.to(dtype)
    if not backend.is_differentiable(x.dtype):
        raise DTypeError(
            f"mean: needs a floating or complex dtype, got {x.dtype}. Convert first:"
            " x.float().mean()."
        )
    return rd.mean.call_unary(
        x,
        {
            "axes": axes_to_reduce(x, dim if axis is None else axis, "mean"),
            "keepdims": keepdim or keepdims,
        },
    )


def _reduction(
    name: str, compute: Callable[[Tensor, Any, bool], Tensor], text: str
) -> Callable[..., Tensor]:
    """The function that reduces `dim` by `compute(x, dim, keepdim)`."""

    def reduction(
        x: TensorLike,
        dim: Any = None,
        keepdim: bool = False,
        *,
        axis: Any = None,
        keepdims: bool = False,
    ) -> Tensor:
        return compute(as_tensor(x), either(dim, axis), keepdim or keepdims)

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = text
    return reduction


def _extreme(operation: Primitive) -> Callable[[Tensor, Any, bool], Tensor]:
    def compute(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
        axes = reduced_axes(x, axes_of(x, dim, operation.name))
        if builtins.any(x.shape[a] == 0 for a in axes):
            raise IndexError(
                f"{operation.name}: dimension {next(a for a in axes if x.shape[a] == 0)} is empty,"
                " so there is no element to choose."
            )
        return operation(x, axes=axes, keepdims=keepdim)

    return compute


amax = _reduction(
    "amax",
    _extreme(rd.amax),
    "Largest element over `dim`; equal ones share the derivative evenly. NaN wins, and the NaN"
    " elements share the derivative (PyTorch gives NaN to all elements).",
)
amin = _reduction(
    "amin",
    _extreme(rd.amin),
    "Smallest element over `dim`; equal ones share the derivative evenly. NaN as in `amax`.",
)


def _place(operation: Primitive) -> Callable[[Tensor, Any, bool], Tensor]:
    def compute(x: Tensor, dim: int | None, keepdim: bool) -> Tensor:
        axis = None if dim is None else axis_of(x.ndim, dim, operation.name)
        if (x.shape[axis] if axis is not None and x.ndim else math.prod(x.shape)) == 0:
            raise IndexError(
                f"{operation.name}: there is no element to choose in a tensor of shape {x.shape}"
                f"{'' if dim is None else f' along dimension {dim}'}."
            )
        return operation(x, axis=axis, keepdims=keepdim)

    return compute


argmax = _reduction(
    "argmax",
    _place(rd.argmax),
    "Index (int64) of the largest element, the first of equals; of the flattened tensor without"
    " `dim`. Raises IndexError where there is none.",
)
argmin = _reduction(
    "argmin",
    _place(rd.argmin),
    "Index (int64) of the smallest element, the first of equals; of the flattened tensor without"
    " `dim`. Raises IndexError where there is none.",
)


def _truth(operation: Primitive, name: str) -> Callable[[Tensor, Any, bool], Tensor]:
    def compute(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
        found = operation(x, axes=reduced_axes(x, axes_of(x, dim, name)), keepdims=keepdim)
        return found.to(backend.uint8) if x.dtype == backend.uint8 else found

    return compute


all = _reduction(
    "all",
    _truth(rd.all_, "all"),
    "Whether all elements (over `dim`) are non-zero: boolean, uint8 for uint8.",
)
any = _reduction(
    "any",
    _truth(rd.any_, "any"),
    "Whether some element (over `dim`) is non-zero: boolean, uint8 for uint8.",
)


def softmax(x: TensorLike, dim: int = -1, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """e^x / Σ e^x along `dim`; same shape; no overflow."""
    x = as_tensor(x) if dtype is None else as_tensor(x).to(dtype)
    return nw.softmax(x, axis=axis_of(x.ndim, dim if axis is None else axis, "softmax"))


def log_softmax(
    x: TensorLike, dim: int = -1, *, dtype: Any = None, axis: int | None = None
) -> Tensor:
    """ln softmax(x) along `dim`, accurate where softmax rounds to 0."""
    x = as_tensor(x) if dtype is None else as_tensor(x).to(dtype)
    return nw.log_softmax(x, axis=axis_of(x.ndim, dim if axis is None else axis, "log_softmax"))


def _logsumexp(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    axes = reduced_axes(x, axes_of(x, dim, "logsumexp"))
    if backend.is_complex(x.dtype):
        return _complex_logsumexp(x, axes, keepdim)
    return ops.scans.logsumexp(x, axes=axes, keepdims=keepdim)


logsumexp = _reduction(
    "logsumexp",
    _logsumexp,
    "ln Σ e^x over `dim` (all axes by default), without overflow; −∞ over no elements.",
)


def _complex_logsumexp(x: Tensor, axes: tuple[int, ...], keepdim: bool) -> Tensor:
    """`logsumexp` of complex numbers, its imaginary part between -π and π: the largest real part is
    taken out before the sum, and put back after it.
    """
    shift: Any = 0.0
    if math.prod(x.shape[axis] for axis in axes):
        largest = amax(real(x).detach(), axes, True)
        shift = where(isfinite(largest), largest, 0.0)
    y = log(sum(exp(x - shift), axes, True)) + shift
    return y if keepdim or not axes else squeeze(y, axes)


publish(__name__)
