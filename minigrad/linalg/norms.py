"""Norms of matrices, their rank and their condition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import backend
from .. import functions as fn
from ..arrays.norms import vector_norm
from ..arrays.operands import floating
from ..core.tensor import Tensor, as_tensor
from ..errors import LinAlgError, ShapeError
from ..names import TensorLike, publish
from .decompositions import eigvalsh, svdvals
from .equations import inv, inv_ex
from .operands import checked_matrix


def matrix_rank(
    A: TensorLike, *, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Tensor:
    """How many singular values are larger than atol and rtol times the largest (default as of
    `pinv`, if there is no atol). No derivative.
    """
    A = checked_matrix(A, "matrix_rank").detach()
    s = fn.abs(eigvalsh(A)) if hermitian else svdvals(A)
    if s.shape[-1] == 0:
        return fn.zeros(s.shape[:-1], dtype=backend.int64, device=s.device)
    if rtol is None:
        rtol = 0.0 if atol is not None else max(A.shape[-2:]) * backend.precision(A.dtype)
    least, share = (
        fn.unsqueeze(as_tensor(0.0 if v is None else v).to(s.dtype), -1) for v in (atol, rtol)
    )
    return fn.sum(s > fn.maximum(share * fn.amax(s, -1, True), least), -1)


def cond(A: TensorLike, p: Any = None) -> Tensor:
    """The condition number: ‖A‖ ‖A⁻¹‖ in the norm p ("fro", "nuc", inf, -inf, 1, -1); for None or 2
    the largest singular value divided by the smallest, for -2 the other way round. Infinite for
    singular matrices.
    """
    A = checked_matrix(A, "cond", square=p not in (None, 2, -2))
    if p in (None, 2, -2):
        s = svdvals(A)
        return s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    try:
        return matrix_norm(A, p) * matrix_norm(inv(A), p)
    except LinAlgError:
        inverse, info = inv_ex(A)
        return fn.where(info == 0, matrix_norm(A, p) * matrix_norm(inverse, p), math.inf)


@fn.in_own_memory
def matrix_norm(
    A: TensorLike,
    ord: Any = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The norm of matrices. ord: "fro" (of all elements), "nuc" (sum of the singular values), 2 and
    -2 (largest, smallest singular value), inf and -inf (largest, smallest row sum of |a|), 1 and -1
    (column sums).
    """
    A = floating(A if dtype is None else as_tensor(A).to(dtype), "linalg.matrix_norm")
    row, column = (fn.axis_of(A.ndim, d, "linalg.matrix_norm") for d in dim)
    if A.ndim < 2 or row == column:
        raise ShapeError(
            f"linalg.matrix_norm: needs two different dimensions, got dim={tuple(dim)} of shape"
            f" {A.shape}."
        )
    if ord == "fro":
        return vector_norm(A, 2, (row, column), keepdim)
    if ord in ("nuc", 2, -2):
        rest = [i for i in range(A.ndim) if i not in (row, column)]
        s = svdvals(fn.permute(A, [*rest, row, column]))
        out = fn.sum(s, -1) if ord == "nuc" else fn.amax(s, -1) if ord == 2 else fn.amin(s, -1)
    elif ord in (1, -1, math.inf, -math.inf):
        along = row if abs(ord) == 1 else column
        sums = fn.sum(fn.abs(A), along, True)
        out = fn.squeeze(
            (fn.amax if ord > 0 else fn.amin)(sums, (row, column), True), (row, column)
        )
    else:
        raise ValueError(
            f'linalg.matrix_norm: ord must be "fro", "nuc", 1, -1, 2, -2, inf or -inf, got {ord!r}.'
        )
    if keepdim:
        return out.reshape([1 if i in (row, column) else n for i, n in enumerate(A.shape)])
    return out


def norm(
    A: TensorLike, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """`vector_norm` for one dimension (or a vector), `matrix_norm` for two (or a matrix) with
    `ord`; without `ord` the 2-norm of all elements.
    """
    A = as_tensor(A) if dtype is None else as_tensor(A).to(dtype)
    if isinstance(dim, int):
        dim = (dim,)
    if ord is None:
        return vector_norm(A, 2, dim, keepdim)
    if (dim is not None and len(dim) == 1) or (dim is None and A.ndim == 1):
        return vector_norm(A, ord, dim, keepdim)
    if dim is None and A.ndim != 2:
        raise ShapeError(
            f"linalg.norm: with ord={ord!r} and without dim needs a vector or a matrix, got shape"
            f" {A.shape}."
        )
    return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim)


publish(__name__, method=False)
