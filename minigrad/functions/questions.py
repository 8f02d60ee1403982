"""Questions about tensors and dtypes, answered with Python values."""

from __future__ import annotations

import math
from typing import Any

from .. import backend, grad_mode
from ..backend import DType
from ..core.tensor import Tensor, alias, as_tensor
from ..names import TensorLike, public, publish
from .arguments import not_below
from .elementwise import eq
from .reductions import all


def numel(x: TensorLike) -> int:
    """How many elements x has."""
    return math.prod(as_tensor(x).shape)


@public(method=False, theirs="obj")
def is_tensor(x: TensorLike) -> bool:
    """Whether x is a minigrad Tensor."""
    return isinstance(x, Tensor)


def allclose(
    a: TensorLike, b: TensorLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether |a - b| <= atol + rtol |b| everywhere."""
    not_below("allclose", "rtol", rtol, 0)
    not_below("allclose", "atol", atol, 0)
    return backend.allclose(as_tensor(a).array, as_tensor(b).array, rtol, atol, equal_nan)


def equal(a: Tensor, b: Tensor) -> bool:
    """Whether a and b have the same shape and elements."""
    return a.shape == b.shape and bool(all(eq(a, b)))


@public(method=False, theirs="tensor1 tensor2")
def result_type(a: TensorLike, b: TensorLike) -> DType:
    """The dtype of a + b."""
    return backend.result_type([x.array if isinstance(x, Tensor) else x for x in (a, b)])


def is_floating_point(x: TensorLike) -> bool:
    """Whether x, a tensor or a dtype, is of a real floating dtype (half, bfloat16, float or
    double).

    Dtypes are NumPy's, which lack PyTorch's attributes: write `is_floating_point(dtype)` for
    `dtype.is_floating_point`.
    """
    return backend.is_floating(_dtype_of(x))


def is_complex(x: TensorLike) -> bool:
    """Whether x, a tensor or a dtype, is of a complex dtype.

    Dtypes are NumPy's: write `is_complex(dtype)` for PyTorch's `dtype.is_complex`.
    """
    return backend.is_complex(_dtype_of(x))


def _dtype_of(x: TensorLike) -> DType:
    """The dtype of a tensor, or the dtype itself, which may be given as its scalar type."""
    if isinstance(x, Tensor):
        return x.dtype
    found = backend.as_dtype(x) if isinstance(x, backend.numpy.dtype | type) else None
    if found is None:
        raise TypeError(f"a Tensor or a dtype is needed, got {type(x).__name__}.")
    return found


def is_nonzero(x: Tensor) -> bool:
    """Whether the one element of x is not 0. Raises RuntimeError for several elements."""
    return bool(x)


@public(method=False, theirs="from_ to")
def can_cast(source: TensorLike, target: Any) -> bool:
    """Whether a result of the first dtype may be written in place into a tensor of the second."""
    first, second = backend.as_dtype(source), backend.as_dtype(target)
    return backend.can_write(first, second)


def is_inference(x: Tensor) -> bool:
    """Always False: what `inference_mode` makes are ordinary tensors, of which changes in place are
    counted and which may be used for gradients later. So there is nothing that a script would have
    to avoid.
    """
    return False


@public(method=False)
def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return grad_mode.is_inference_mode_enabled()


def detach(x: Tensor) -> Tensor:
    """A constant tensor on the same memory."""
    return alias(x)


promote_types = public(method=False, theirs="type1 type2")(backend.promote_types)

Size = tuple  # type: ignore[type-arg]
"""What a shape is. `Size([2, 3])` equals `x.shape`."""
newaxis = None
"""In an index: a new axis of size 1."""
dtype = backend.numpy.dtype
"""The type of dtypes."""


publish(__name__, "Size", "dtype", "newaxis", "promote_types")
