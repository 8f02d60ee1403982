"""Factorisations of matrices, and what is read off one: determinants."""

from __future__ import annotations

from .. import arrays, backend
from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError, one_of
from ..functions import matmul
from ..names import TensorLike, public, publish, unlisted
from . import factorisations as fa
from .operands import checked_matrix, first_true, raise_where_failed
from .results import (
    EighResult,
    EigResult,
    LUFactorExResult,
    LUFactorResult,
    LUResult,
    QRResult,
    SlogdetResult,
    SVDResult,
)


@public(method=True)
def det(A: TensorLike) -> Tensor:
    """The determinant of square matrices. Its gradient, the cofactors, exists for singular ones too
    (a second derivative there raises).
    """
    return fa.det(checked_matrix(A, "det", square=True))


@public(method=True)
def slogdet(A: TensorLike) -> SlogdetResult:
    """Sign (or phase) and logarithm of the absolute value of the determinant, which overflow less
    easily; (0, -inf) for singular matrices.
    """
    A = checked_matrix(A, "slogdet", square=True)
    return SlogdetResult(fa.detsign(A), fa.logabsdet(A))


@public(method=True)
def logdet(A: TensorLike) -> Tensor:
    """ln det A: NaN where the determinant is negative, -inf where it is 0."""
    sign, size = slogdet(A)
    return fn.log(sign) + size


@public(method=True)
def cholesky(A: TensorLike, *, upper: bool = False) -> Tensor:
    """The lower triangular L with A = L Lᴴ (or its adjoint, if `upper`) of Hermitian positive
    definite matrices, of which that triangle is read. The gradient is Hermitian. Raises LinAlgError
    where a matrix is not positive definite.
    """
    A = checked_matrix(A, "cholesky", square=True)
    return fa.adjoint(fa.cholesky(fa.adjoint(A))) if upper else fa.cholesky(A)


def lu(A: TensorLike, *, pivot: bool = True) -> LUResult:
    """Permutation P, lower triangular L with ones on its diagonal and upper triangular U, A = P L
    U, by Gaussian elimination. For A (…, m, n) L is (…, m, k) and U (…, k, n), k the smaller of m
    and n. Differentiable where the first k columns are independent.

    pivot: whether rows are exchanged so that the largest element of each column leads (partial
    pivoting). Without it elimination divides
    by whatever it finds: by 0, at worst.
    """
    LU, pivots = lu_factor(A, pivot=pivot)
    return lu_unpack(LU, pivots)


def lu_factor(A: TensorLike, *, pivot: bool = True) -> LUFactorResult:
    """`lu` as LAPACK keeps it, for `lu_solve` and `lu_unpack`: U on and above the diagonal of one
    matrix, L below it; and the rows (counted from 1, int32) that took each row's place in turn.
    """
    A = checked_matrix(A, "lu_factor")
    m, n = A.shape[-2:]
    k = min(m, n)
    in_place = fn.arange(1, k + 1, dtype=backend.int32, device=A.device)
    pivots = fa.lu_pivots(A) if pivot else fn.broadcast_to(in_place, (*A.shape[:-2], k))
    exchanged = matmul(_permutation(pivots, A).mT, A) if pivot else A
    first = fa.lu(exchanged[..., :k])
    if m >= n:
        return LUFactorResult(first, pivots)
    rest = fa.solve(_unit_lower(first), exchanged[..., k:])
    return LUFactorResult(fn.cat([first, rest], -1), pivots)


def lu_factor_ex(
    A: TensorLike, *, pivot: bool = True, check_errors: bool = False
) -> LUFactorExResult:
    """`lu_factor`, and where U has its first 0 on the diagonal (counted from 1; 0: nowhere).
    check_errors: raise LinAlgError there.
    """
    LU, pivots = lu_factor(A, pivot=pivot)
    info = first_true(arrays.diagonal(LU.detach(), 0, -2, -1) == 0)
    raise_where_failed(
        info, check_errors, "lu_factor_ex", "U is singular: it has a 0 on its diagonal."
    )
    return LUFactorExResult(LU, pivots, info)


@public(function=False, method=False, theirs="LU_data LU_pivots")
def lu_unpack(
    LU: TensorLike, pivots: TensorLike, unpack_data: bool = True, unpack_pivots: bool = True
) -> LUResult:
    """P, L and U of `lu` from what `lu_factor` gives; what is not asked for is empty."""
    LU, pivots = checked_matrix(LU, "lu_unpack"), as_tensor(pivots)
    k = min(LU.shape[-2:])
    if pivots.dtype.kind not in "iu" or pivots.shape[-1:] != (k,):
        raise ShapeError(
            f"linalg.lu_unpack: LU of shape {LU.shape} needs {k} integers as pivots, got"
            f" {pivots.dtype} of shape {pivots.shape}."
        )
    none = fn.zeros(0, dtype=LU.dtype, device=LU.device)
    P = _permutation(pivots, LU) if unpack_pivots else none
    if unpack_data:
        return LUResult(P, _unit_lower(LU[..., :k]), arrays.triu(LU[..., :k, :]))
    return LUResult(P, none, none)


def _unit_lower(x: Tensor) -> Tensor:
    m, n = x.shape[-2:]
    return arrays.tril(x, -1) + fn.eye(m, n, dtype=x.dtype, device=x.device)


def _permutation(pivots: Tensor, A: Tensor) -> Tensor:
    """P with A = P L U, in the dtype of A."""
    order = fa.pivots_to_permutation(pivots, size=A.shape[-2])
    rows = fn.arange(A.shape[-2], device=A.device).unsqueeze(-1)
    return (rows == order.unsqueeze(-2)).to(A.dtype)


@public(method=True)
def qr(A: TensorLike, mode: str | bool = "reduced", *, some: bool | None = None) -> QRResult:
    """Q with orthonormal columns and upper triangular R, A = Q R. Differentiable where the first
    columns, as many as Q has, are independent.

    mode: "complete" gives Q further columns that make it square and R as many rows of zeros; these
    columns are determined only as a space, and are constants to the derivative. "r" gives R alone
    (Q is empty). some: `torch.qr`'s name of the same choice, also in mode's
    place: True is "reduced", False is "complete".
    """
    A = checked_matrix(A, "qr")
    if some is not None and mode != "reduced":
        raise TypeError(
            f"linalg.qr: give mode or some, not both, got mode={mode!r} and some={some!r}."
        )
    if isinstance(mode, bool) or some is not None:
        mode = "reduced" if (mode if some is None else some) else "complete"
    m, n = A.shape[-2:]
    one_of("linalg.qr", "mode", mode, "reduced", "complete", "r")
    if mode == "r":
        return QRResult(fn.zeros(0, dtype=A.dtype, device=A.device), qr(A).R)
    if mode == "complete" and m > n:
        Q, R = fa.qr(A)
        none = fn.zeros((*A.shape[:-2], m - n, n), dtype=A.dtype, device=A.device)
        return QRResult(fn.cat([Q, _completion(Q)], -1), fn.cat([R, none], -2))
    if m >= n:
        return QRResult(*fa.qr(A))
    Q, R = fa.qr(A[..., :m])
    return QRResult(Q, fn.cat([R, fa.adjoint(Q) @ A[..., m:]], -1))


def eigh(A: TensorLike, UPLO: str = "L") -> EighResult:
    """Eigenvalues (real, ascending) and orthonormal eigenvectors (columns) of Hermitian matrices,
    of which one triangle is read. The gradient is Hermitian; in forward mode the Hermitian part of
    a tangent counts.

    Eigenvectors are determined up to a sign (or phase), so only functions that do not depend on it
    have a meaningful gradient; between equal eigenvalues their derivative does not exist, and the
    gradient is not finite.
    """
    A = checked_matrix(A, "eigh", square=True)
    if UPLO.upper() not in ("L", "U"):
        raise ValueError(f'linalg.eigh: UPLO must be "L" or "U", got {UPLO!r}.')
    return EighResult(*fa.eigh(A if UPLO.upper() == "L" else fa.adjoint(A)))


def eigvalsh(A: TensorLike, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, ascending."""
    return eigh(A, UPLO).eigenvalues


def eig(A: TensorLike) -> EigResult:
    """Eigenvalues and eigenvectors (columns of length 1) of square matrices, complex also where A
    is real; in LAPACK's order.

    Eigenvectors are determined up to a phase, so only functions that do not depend on it have a
    meaningful gradient; between equal eigenvalues their derivative does not exist, and the gradient
    is not finite. For Hermitian matrices `eigh` is faster and more accurate.
    """
    return EigResult(*fa.eig(checked_matrix(A, "eig", square=True)))


def eigvals(A: TensorLike) -> Tensor:
    """The eigenvalues of square matrices, complex, in LAPACK's order."""
    return eig(A).eigenvalues


def svd(A: TensorLike, full_matrices: bool = True) -> SVDResult:
    """U, S, Vh with A = U diag(S) Vh and S descending. Gradients as of `eigh`.

    full_matrices: whether U and Vh are square, as PyTorch's and NumPy's default has it; else there
    are as many columns of U and rows of Vh as the smaller side of A has elements. The further
    vectors are determined only as a space, and are constants to the derivative.
    """
    A = checked_matrix(A, "svd")
    U, S, Vh = fa.svd(A)
    m, n = A.shape[-2:]
    if full_matrices and m > n:
        U = fn.cat([U, _completion(U)], -1)
    if full_matrices and n > m:
        Vh = fn.cat([Vh, fa.adjoint(_completion(fa.adjoint(Vh)))], -2)
    return SVDResult(U, S, Vh)


def _completion(Q: Tensor) -> Tensor:
    """Orthonormal columns that complete those of Q (…, m, n) to a square matrix, without
    derivative: the last eigenvectors of the projection Q Qᴴ on the space of Q, those of the
    eigenvalue 0 (the first ones: they ascend).
    """
    Q = Q.detach()
    return fa.eigh(Q @ fa.adjoint(Q))[1][..., : Q.shape[-2] - Q.shape[-1]]


def svdvals(A: TensorLike) -> Tensor:
    """The singular values, descending."""
    return svd(A, full_matrices=False).S


def householder_product(A: TensorLike, tau: TensorLike) -> Tensor:
    """The first columns of the product of reflections I − τᵢ vᵢ vᵢᴴ, where vᵢ has zeros above place
    i, a 1 there, and below it column i
    of A: what LAPACK's QR gives.
    """
    A, tau = checked_matrix(A, "householder_product"), as_tensor(tau)
    m, n = A.shape[-2:]
    start = fn.eye(m, n, dtype=A.dtype, device=A.device).broadcast_to((*A.shape[:-2], m, n))
    return reflected(A, tau, start, False)


@unlisted
def reflected(A: Tensor, tau: Tensor, out: Tensor, adjoint: bool) -> Tensor:
    """H₁ H₂ … out, or … H₂ᴴ H₁ᴴ out."""
    unit, count = _unit_lower(A), tau.shape[-1]
    factors = fn.conj(tau) if adjoint else tau
    for i in range(count) if adjoint else reversed(range(count)):
        v = unit[..., i : i + 1]
        out = out - factors[..., i : i + 1].unsqueeze(-1) * matmul(v, matmul(fa.adjoint(v), out))
    return out


publish(__name__, method=False)
