"""Linear algebra that PyTorch keeps outside of `torch.linalg`: functions of `mg`, most of them
methods of tensors too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import arrays, backend, linalg
from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..functions import matmul
from ..names import TensorLike, attach, public, publish, respelt
from .decompositions import lu_unpack, reflected  # noqa: F401
from .factorisations import adjoint, reflections
from .operands import checked_matrix, identity


class QRFactorResult(NamedTuple):
    """R and the reflections whose product is Q, in LAPACK's form."""

    a: Tensor
    tau: Tensor


class TriangularSolveResult(NamedTuple):
    """X with A X = B, and A."""

    solution: Tensor
    cloned_coefficient: Tensor


@public(out=True)
def cholesky_solve(B: TensorLike, L: TensorLike, upper: bool = False) -> Tensor:
    """The X with L Lᴴ X = B (Uᴴ U X = B if `upper`)."""
    L = checked_matrix(L, "cholesky_solve", square=True)
    L = adjoint(arrays.triu(L)) if upper else arrays.tril(L)
    return linalg.solve(adjoint(L), linalg.solve(L, checked_matrix(B, "cholesky_solve")))


@public(out=True)
def cholesky_inverse(L: TensorLike, upper: bool = False) -> Tensor:
    """The inverse of L Lᴴ (of Uᴴ U if `upper`)."""
    L = checked_matrix(L, "cholesky_inverse", square=True)
    return cholesky_solve(fn.broadcast_to(identity(L), L.shape), L, upper)


@public(theirs="b A")
def triangular_solve(
    B: TensorLike,
    A: TensorLike,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> TriangularSolveResult:
    """X with A X = B (Aᵀ X = B if `transpose`), and A; see `solve_triangular`, whose older name
    in PyTorch this is.
    """
    A = checked_matrix(A, "triangular_solve", square=True)
    coefficients, upper = (A.mT, not upper) if transpose else (A, upper)
    return TriangularSolveResult(
        linalg.solve_triangular(coefficients, B, upper=upper, unitriangular=unitriangular),
        fn.clone(A),
    )


@fn.in_own_memory
def geqrf(A: TensorLike) -> QRFactorResult:
    """`qr` as LAPACK keeps it, for `householder_product` and `ormqr`: R on and above the diagonal,
    the vectors of the reflections below it, and their factors τ. No derivative (`qr` has one).
    """
    A = checked_matrix(A, "geqrf")
    return QRFactorResult(reflections(A, part=0).mT, reflections(A, part=1))


@public(method=False)
@fn.in_own_memory
def svd_lowrank(
    A: TensorLike, q: int = 6, niter: int = 2, M: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V with A ≈ U diag(S) Vᴴ (A - M, if there is an M to take off): the q largest
    singular values and their vectors, from the space that A maps q random vectors to. niter: how
    often it is mapped back and forth, which brings it nearer to the right one.

    Source: N. Halko, P. Martinsson and J. Tropp, Finding structure with randomness (2011),
    algorithms 4.4 and 5.1.
    """
    A = checked_matrix(A, "svd_lowrank")
    if M is not None:
        A = A - fn.broadcast_to(checked_matrix(M, "svd_lowrank"), A.shape)
    m, n = A.shape[-2:]
    if not 0 <= q <= min(m, n):
        raise ValueError(
            f"svd_lowrank: q must be from 0 to {min(m, n)}, the smaller side of shape {A.shape},"
            f" got {q}."
        )
    if m < n:
        V, S, U = svd_lowrank(adjoint(A), q, niter)
        return U, S, V
    start = fn.randn(
        n, q, dtype=A.real.dtype if backend.is_complex(A.dtype) else A.dtype, device=A.device
    ).to(A.dtype)
    Q = linalg.qr(matmul(A, start)).Q
    for _ in range(niter):
        Q = linalg.qr(matmul(A, linalg.qr(matmul(adjoint(A), Q)).Q)).Q
    U, S, Vh = linalg.svd(matmul(adjoint(Q), A), full_matrices=False)
    return matmul(Q, U), S, adjoint(Vh)


@public(method=False)
@fn.in_own_memory
def pca_lowrank(
    A: TensorLike, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components: `svd_lowrank` of samples (one a row) less their mean (with `center`).
    The columns of V are the directions of the largest variances S² / (samples - 1), U diag(S) the
    samples in these coordinates. q: how many, by default 6 (or all).
    """
    A = checked_matrix(A, "pca_lowrank")
    q = min(6, *A.shape[-2:]) if q is None else q
    return svd_lowrank(A - fn.mean(A, -2, True) if center else A, q, niter)


def ormqr(
    A: TensorLike, tau: TensorLike, other: TensorLike, left: bool = True, transpose: bool = False
) -> Tensor:
    """Q C (C Q if not `left`; Qᴴ for Q if `transpose`), where Q is the whole product of the
    reflections that A and tau hold, as of `householder_product` and `geqrf`.
    """
    A, tau, other = checked_matrix(A, "ormqr"), as_tensor(tau), checked_matrix(other, "ormqr")
    if other.shape[-2 if left else -1] != A.shape[-2]:
        raise ShapeError(
            f"linalg.ormqr: reflections of length {A.shape[-2]} do not fit a matrix of shape"
            f" {other.shape}, left={left}."
        )
    if left:
        return reflected(A, tau, other, transpose)
    out: Tensor = adjoint(reflected(A, tau, adjoint(other), not transpose))
    return out


def lu(
    A: TensorLike, pivot: bool = True, get_infos: bool = False
) -> linalg.LUFactorResult | tuple[Tensor, Tensor, Tensor]:
    """`linalg.lu_factor` under its older name: L and U in one matrix, the pivots, and if asked
    for where U has its first 0.
    """
    if get_infos:
        return tuple(linalg.lu_factor_ex(A, pivot=pivot))  # type: ignore[return-value]
    return linalg.lu_factor(A, pivot=pivot)


@public(theirs="b LU_data LU_pivots")
def lu_solve(B: TensorLike, LU: TensorLike, pivots: TensorLike) -> Tensor:
    """`linalg.lu_solve` under its older name: the X with A X = B."""
    return linalg.lu_solve(LU, pivots, B)


@fn.in_own_memory
def svd(A: TensorLike, some: bool = True, compute_uv: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V (not its adjoint) with A = U diag(S) Vᴴ: the older form of `linalg.svd`. some: no
    more columns than the smaller side of A; without compute_uv U and V are zeros.
    """
    A = checked_matrix(A, "svd")
    U, S, Vh = linalg.svd(A, full_matrices=not some)
    if compute_uv:
        return U, S, adjoint(Vh)
    left, right = (
        fn.zeros((*A.shape[:-2], k, k), dtype=A.dtype, device=A.device) for k in A.shape[-2:]
    )
    return left, S, right


@public(theirs="input rcond")
def pinverse(
    A: TensorLike, rtol: Any = None, hermitian: bool = False, *, atol: Any = None
) -> Tensor:
    """The pseudoinverse of matrices, as `linalg.pinv`."""
    return linalg.pinv(A, rtol, hermitian, atol=atol)


inverse = linalg.inv
attach("inverse", respelt(inverse, "inverse", bound=True))
publish(__name__, "inverse", "lu_unpack")
