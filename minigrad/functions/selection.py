"""Choosing and limiting elements, and complex numbers by their parts."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Literal, overload

from .. import backend, explain
from ..core.tensor import Tensor, as_tensor
from ..errors import DTypeError, ShapeError
from ..names import TensorLike, attach, in_place, public, publish
from ..ops import elementwise as ew
from ..ops import sorting as so
from .creation import full_like
from .elementwise import cos, ge, gt, le, lt, mul, sin, unary
from .results import in_own_memory


@overload
def where(condition: Any) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Any, a: TensorLike, b: TensorLike) -> Tensor: ...
@public(method=False, theirs="condition input other")
def where(condition: Any, a: Any = None, b: Any = None) -> Any:
    """a where the condition holds, b elsewhere; NaN in the branch not taken does not reach the
    gradient. `where(condition)` alone gives the indices at which it holds, a tensor for each axis.
    """
    condition = as_tensor(condition)
    if a is None and b is None:
        return nonzero(condition, as_tuple=True)
    if condition.dtype == backend.uint8:
        condition = condition != 0
    if condition.dtype != backend.bool_:
        raise DTypeError(
            f"where: the condition must be boolean, got {condition.dtype}. Compare first, as in"
            " where(x > 0, a, b)."
        )
    # two numbers: one of them becomes a tensor beside the condition
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        a = (
            as_tensor(a)
            if isinstance(condition.array, backend.NumpyArray)
            else full_like(condition, a, dtype=as_tensor(a).dtype)
        )
    return ew.where(condition, a, b)


@overload
def nonzero(x: TensorLike, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(x: TensorLike, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@in_own_memory
def nonzero(x: TensorLike, *, as_tuple: bool = False) -> Any:
    """The indices (int64) of the elements that are not 0: one row each, or a tensor for each
    axis if `as_tuple`. No derivative.
    """
    x = as_tensor(x)
    found = so.argwhere(x if x.ndim or not as_tuple else x.reshape(1))
    return tuple(found[:, axis] for axis in range(found.shape[1])) if as_tuple else found


@public(in_place=True)
def clamp(x: TensorLike, min: Any = None, max: Any = None) -> Tensor:
    """x limited to [min, max]; the derivative is 1 inside and at the bounds, 0 outside and where x
    is NaN. Bounds are numbers or tensors; a bound that is NaN gives NaN. Raises OverflowError for a
    bound that integers are limited to and that their dtype cannot hold (PyTorch wraps it around).
    """
    x = as_tensor(x)
    if min is None and max is None:
        raise ValueError("clamp: give min, max or both.")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        bounds = [
            as_tensor(b).array if isinstance(b, Tensor) else b for b in (min, max) if b is not None
        ]
        dtype = backend.result_type([x.array, *bounds])
        x = x if min is None else _limited(x, min, ge, lt)
        return (x if max is None else _limited(x, max, le, gt)).to(dtype)
    if x.dtype.kind in "biu":
        x = x.to(
            backend.result_type([x.array, *(bound for bound in (min, max) if bound is not None)])
        )
        for bound in (min, max):
            explain.check_integer("clamp", bound)
        if x.dtype.kind in "iu":
            limits = backend.numpy.iinfo(x.dtype)
            # a bound beyond all numbers of the dtype is none; what is outside on the other side
            # cannot be a result
            if min is not None:
                min = backend.in_range(builtins.max(min, limits.min), x.dtype, "clamp")
            if max is not None:
                max = backend.in_range(builtins.min(max, limits.max), x.dtype, "clamp")
    return ew.clamp(x, low=min, high=max)


clip = clamp


def _limited(
    x: Tensor, bound: Any, within: Callable[..., Tensor], beyond: Callable[..., Tensor]
) -> Tensor:
    """x within the bound, the bound beyond it, NaN (without a derivative) where one of them is."""
    nothing = (x.detach() + bound).detach()
    return where(within(x, bound), x, where(beyond(x, bound), bound, nothing))


@public(in_place=True)
def clamp_min(x: TensorLike, min: Any) -> Tensor:
    """x, but at least min."""
    return clamp(x, min=min)


@public(in_place=True)
def clamp_max(x: TensorLike, max: Any) -> Tensor:
    """x, but at most max."""
    return clamp(x, max=max)


@public(method=False, out=True)
def complex(real: Any, imag: Any) -> Tensor:
    """real + i·imag."""
    return ew.make_complex(as_tensor(real), as_tensor(imag))


@public(method=False, out=True)
def polar(abs: Any, angle: Any) -> Tensor:
    """The complex numbers of the given lengths and angles (radians)."""
    return complex(mul(abs, cos(angle)), mul(abs, sin(angle)))


_conj, _real = unary(ew.conj, "Complex conjugate."), unary(ew.real, "Real part.")
_imag = unary(ew.imag, "Imaginary part.")


def conj(x: TensorLike) -> Tensor:
    """Complex conjugate, a copy (in PyTorch a view that is conjugated when it is read); a real x
    itself. So `x.H`, `x.mH` and `x.adjoint()` of complex tensors are copies too.
    """
    x = as_tensor(x)
    return _conj(x) if x.dtype.kind == "c" else x


conj_physical = conj
attach("conj_physical_", in_place(conj, "conj_physical_"))


@public(method=False)
def real(x: TensorLike) -> Tensor:
    """Real part (a view); a real x itself."""
    x = as_tensor(x)
    return _real(x) if x.dtype.kind == "c" else x


@public(method=False)
def imag(x: TensorLike) -> Tensor:
    """Imaginary part (a view). Raises DTypeError for a real tensor, whose imaginary part has no
    memory to view."""
    x = as_tensor(x)
    if x.dtype.kind != "c":
        raise DTypeError(
            f"imag: needs a complex tensor, got {x.dtype}. For zeros, call zeros_like(x)."
        )
    return _imag(x)


@public(method=False)
def view_as_real(x: TensorLike) -> Tensor:
    """A complex tensor of shape (…) as a real one of shape (…, 2) on the same memory: real and
    imaginary parts. Raises DTypeError for real tensors.
    """
    x = as_tensor(x)
    if not backend.is_complex(x.dtype):
        raise DTypeError(f"view_as_real: needs a complex tensor, got {x.dtype}.")
    return ew.view_as_real(x)


@public(method=False)
def view_as_complex(x: TensorLike) -> Tensor:
    """A real tensor of shape (…, 2) as a complex one of shape (…) on the same memory.

    Raises DTypeError unless x is float32 or float64, ShapeError unless its last axis has two
    elements that lie side by side in memory.
    """
    x = as_tensor(x)
    if x.dtype not in (backend.float32, backend.float64):
        raise DTypeError(f"view_as_complex: needs float32 or float64, got {x.dtype}.")
    if x.ndim == 0 or x.shape[-1] != 2:
        raise ShapeError(
            "view_as_complex: needs a last axis of size 2 (real and imaginary part), got shape"
            f" {x.shape}."
        )
    if (
        any(s % (2 * x.dtype.itemsize) for s in x.array.strides[:-1])
        or x.array.strides[-1] != x.dtype.itemsize
    ):
        raise ShapeError(
            "view_as_complex: the two parts do not lie side by side in memory, so they cannot be"
            " seen as one number. Call .contiguous() first."
        )
    return ew.view_as_complex(x)


publish(__name__)
