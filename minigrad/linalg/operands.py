"""Checked operands of linear algebra, and which examples of a batch have failed."""

from __future__ import annotations

from .. import backend
from .. import functions as fn
from ..batching import all_examples
from ..core.tensor import Tensor, as_tensor, wrap
from ..errors import DTypeError, LinAlgError, ShapeError
from ..names import TensorLike


def checked_matrix(x: TensorLike, function: str, square: bool = False) -> Tensor:
    """x as a batch of matrices of a dtype that LAPACK knows. Raises ShapeError for fewer than two
    dimensions and, if they must be square, for others; DTypeError for other dtypes.
    """
    x = as_tensor(x)
    name = f"linalg.{function}"
    if x.ndim < 2:
        raise ShapeError(
            f"{name}: needs a matrix or a batch of them (at least 2 dimensions), got shape"
            f" {x.shape}."
        )
    if x.dtype not in (backend.float32, backend.float64, backend.complex64, backend.complex128):
        raise DTypeError(
            f"{name}: needs float32, float64 or complex numbers, got {x.dtype}. Convert first, for"
            " instance with .float()."
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(
            f"{name}: the matrices must be square, got {x.shape[-2]} by {x.shape[-1]} (shape"
            f" {x.shape})."
        )
    return x


def identity(A: Tensor) -> Tensor:
    """The identity as large as the rows of A, in its dtype and on its device."""
    return fn.eye(A.shape[-1], dtype=A.dtype, device=A.device)


def first_true(found: Tensor) -> Tensor:
    """Where along the last axis the first True is, counted from 1; 0 where there is none. int32,
    as LAPACK's.
    """
    if found.shape[-1] == 0:
        return fn.zeros(found.shape[:-1], dtype=backend.int32, device=found.device)
    place = fn.argmax(found.to(backend.int64), -1) + 1
    return fn.where(fn.any(found, -1), place, 0).to(backend.int32)


def raise_where_failed(info: Tensor, check: bool, function: str, what: str) -> None:
    """Raise LinAlgError if `check` and any example has failed."""
    if check and bool(fn.any(wrap(all_examples(info.array)) != 0)):
        raise LinAlgError(f"linalg.{function}: {what}")
