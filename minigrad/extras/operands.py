"""Operands of the functions of one and two tensors."""

from __future__ import annotations

from typing import Any

from .. import backend
from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import NotDifferentiableError
from ..names import TensorLike


def as_arrays(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Both as arrays; a Python number takes the dtype of the array that it meets."""
    dtype = getattr(a, "dtype", None) or getattr(b, "dtype", None)
    return (a if hasattr(a, "dtype") else xp.asarray(a, dtype)), (
        b if hasattr(b, "dtype") else xp.asarray(b, dtype)
    )


def real_numbers(x: TensorLike) -> Tensor:
    """x, integers and booleans in the default floating dtype."""
    x = as_tensor(x)
    return x if backend.is_differentiable(x.dtype) else x.to(backend.default_dtype())


def two_tensors(a: TensorLike, b: TensorLike) -> tuple[Tensor, Tensor]:
    """Both as tensors; a number takes the dtype of the tensor that it meets."""
    if not isinstance(a, Tensor) and isinstance(b, Tensor):
        return as_tensor(backend.as_payload(a, fn.result_type(a, b))), b
    a = as_tensor(a)
    return a, b if isinstance(b, Tensor) else as_tensor(backend.as_payload(b, fn.result_type(a, b)))


def by_second_only(
    function: str, a: TensorLike, b: TensorLike, names: str
) -> tuple[Tensor, Tensor]:
    """Both as tensors. Raises NotDifferentiableError if a requires a gradient, by which the
    function has no derivative here.

    names: of a and b, in one word.
    """
    a, b = two_tensors(a, b)
    if a.requires_grad or a.tangents:
        raise NotDifferentiableError(
            f"{function}: has a derivative by {names[1]}, none by {names[0]}. Give"
            f" {names[0]}.detach()."
        )
    return a, b
