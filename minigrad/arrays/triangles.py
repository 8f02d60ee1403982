"""Diagonals and triangles of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import backend
from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..names import TensorLike, public, publish
from ..ops import diagonals


def _matrices(x: TensorLike, function: str) -> Tensor:
    x = as_tensor(x)
    if x.ndim < 2:
        raise ShapeError(f"{function}: needs at least 2 dimensions, got shape {x.shape}.")
    return x


@public(in_place=True)
def tril(x: TensorLike, diagonal: int = 0) -> Tensor:
    """The elements on and below a diagonal of the last two dimensions, zeros above. NaN that is
    cut off does not reach the gradient.
    """
    return diagonals.tril(_matrices(x, "tril"), offset=int(diagonal))


@public(in_place=True)
def triu(x: TensorLike, diagonal: int = 0) -> Tensor:
    """The elements on and above a diagonal of the last two dimensions, zeros below."""
    return diagonals.triu(_matrices(x, "triu"), offset=int(diagonal))


def diagonal(x: TensorLike, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements whose indices in two dimensions differ by `offset`, along a new last
    dimension (a view).
    """
    x = _matrices(x, "diagonal")
    a, b = fn.axis_of(x.ndim, dim1, "diagonal"), fn.axis_of(x.ndim, dim2, "diagonal")
    if a == b:
        raise RuntimeError(f"diagonal: the two dimensions must differ, got {dim1} and {dim2}.")
    return diagonals.diagonal(x, offset=int(offset), axis1=a, axis2=b)


def diag_embed(x: TensorLike, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dimension of x as a diagonal of zeros in two new dimensions of the result."""
    x = as_tensor(x)
    if x.ndim == 0:
        raise ShapeError("diag_embed: needs at least 1 dimension, got a number.")
    a, b = fn.axis_of(x.ndim + 1, dim1, "diag_embed"), fn.axis_of(x.ndim + 1, dim2, "diag_embed")
    if a == b:
        raise RuntimeError(f"diag_embed: the two dimensions must differ, got {dim1} and {dim2}.")
    n = x.shape[-1] + abs(offset)
    shape = list(x.shape[:-1])
    for axis in sorted((a, b)):
        shape.insert(axis, n)
    return diagonals.diagonal_backward(x, offset=int(offset), axis1=a, axis2=b, shape=tuple(shape))


def diag(x: TensorLike, diagonal: int = 0) -> Tensor:
    """A vector as the diagonal of a matrix of zeros, or a copy of a matrix's diagonal."""
    x = as_tensor(x)
    if x.ndim == 1:
        return diag_embed(x, diagonal)
    if x.ndim != 2:
        raise ShapeError(
            f"diag: needs a vector or a matrix, got shape {x.shape}. Use diagonal or diag_embed for"
            " batches."
        )
    return fn.clone(diagonals.diagonal(x, offset=int(diagonal), axis1=0, axis2=1))


def diagflat(x: TensorLike, offset: int = 0) -> Tensor:
    """All elements of x, flattened, as the diagonal of a matrix of zeros."""
    return diag_embed(as_tensor(x).reshape(-1), offset)


@public(function=False)
def trace(x: TensorLike) -> Tensor:
    """The sum of a matrix's main diagonal."""
    x = as_tensor(x)
    if x.ndim != 2:
        raise ShapeError(
            f"trace: needs a matrix, got shape {x.shape}. "
            + (
                "For batches: diagonal(x, dim1=-2, dim2=-1).sum(-1)."
                if x.ndim
                else "For the steps behind a number: viz.show(x)."
            )
        )
    return fn.sum(diagonal(x))


def _indices(triangle: Callable[..., Tensor], which: str) -> Callable[..., Tensor]:
    """The public function of the places of a triangle's elements."""

    def indices(
        row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None
    ) -> Tensor:
        inside = triangle(fn.ones(row, col, dtype=backend.bool_, device=device), offset)
        return fn.transpose(fn.nonzero(inside)).to(dtype or backend.int64)

    indices.__name__ = indices.__qualname__ = f"{triangle.__name__}_indices"
    indices.__doc__ = (
        f"The indices of the {which} triangle of a row by col matrix: a tensor of shape (2, count),"
        " row by row."
    )
    return public(method=False)(indices)


tril_indices, triu_indices = _indices(tril, "lower"), _indices(triu, "upper")
publish(__name__)
