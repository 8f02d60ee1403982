"""Linear algebra under the names of `torch.linalg`: inverses, determinants, factorisations, norms;
all over batches of matrices (…, n, m).

Matrices must be float32, float64 or complex: LAPACK knows no others. LinAlgError where there is no
answer (a singular matrix has no inverse).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import arrays, backend
from .. import functions as fn
from ..arrays import cross as _cross
from ..arrays import multi_dot  # noqa: F401
from ..arrays.broadcasting import broadcast_shapes
from ..arrays.norms import vector_norm
from ..arrays.operands import floating
from ..batching import all_examples
from ..core.tensor import Tensor, as_tensor, wrap
from ..errors import LinAlgError, ShapeError, with_hints
from ..functions import matmul
from ..names import TensorLike, public, publish, respell, unlisted
from ..ops.elementwise import in_float32
from . import factorisations as fa
from .operands import checked_matrix, identity

# ------------------------------------------------------------------------------- results with names


class SlogdetResult(NamedTuple):
    """det A = sign · e^logabsdet."""

    sign: Tensor
    logabsdet: Tensor


class QRResult(NamedTuple):
    """A = Q R."""

    Q: Tensor
    R: Tensor


class EighResult(NamedTuple):
    """A = V diag(w) Vᴴ."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EigResult(NamedTuple):
    """A V = V diag(w)."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class LUResult(NamedTuple):
    """A = P L U."""

    P: Tensor
    L: Tensor
    U: Tensor


class LUFactorResult(NamedTuple):
    """L and U in one matrix, and which row took the place of each."""

    LU: Tensor
    pivots: Tensor


class LUFactorExResult(NamedTuple):
    """As LUFactorResult, and where U has its first 0 on the diagonal (counted from 1; 0:
    nowhere)."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class InverseResult(NamedTuple):
    """A⁻¹, and how it went: 0, or the step of the elimination that found A singular."""

    inverse: Tensor
    info: Tensor


class SolveResult(NamedTuple):
    """The solution of equations, and how it went, as of `InverseResult`."""

    result: Tensor
    info: Tensor


class CholeskyResult(NamedTuple):
    """L, and how it went: 0, or the number of rows of the smallest leading block that is not
    positive definite.
    """

    L: Tensor
    info: Tensor


class LstsqResult(NamedTuple):
    """The shortest X with the smallest |A X - B|; the squares of those distances (none unless A has
    more rows than columns and full rank); the rank and the singular values of A.
    """

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


class SVDResult(NamedTuple):
    """A = U diag(S) Vh."""

    U: Tensor
    S: Tensor
    Vh: Tensor


# ------------------------------------------------------------------------------ equations, inverses


def inv(A: TensorLike) -> Tensor:
    """The inverse of square matrices. Raises LinAlgError for singular ones. To multiply by an
    inverse, `solve` is faster and more accurate.
    """
    return fa.inv(checked_matrix(A, "inv", square=True))


@fn.in_own_memory
def solve(A: TensorLike, B: TensorLike, *, left: bool = True) -> Tensor:
    """The X with A X = B (X A = B if not `left`). A is (…, n, n); B is (…, n, k), or vectors: (n,),
    or A's shape without its last axis. Batch axes broadcast. Raises LinAlgError for singular
    matrices.
    """
    A, B = checked_matrix(A, "solve", square=True), as_tensor(B)
    vectors = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if vectors:
        B = fn.unsqueeze(B, -1)
    if not left:
        if vectors:
            raise ShapeError(
                "linalg.solve: with left=False the right side must hold matrices, not vectors."
            )
        return fn.transpose(solve(fn.transpose(A, -2, -1), fn.transpose(B, -2, -1)), -2, -1)
    if B.ndim == 0 or B.shape[-2] != A.shape[-1]:
        raise ShapeError(
            f"linalg.solve: a right side of shape {B.shape} does not fit matrices of shape"
            f" {A.shape}."
        )
    batch = broadcast_shapes(A.shape[:-2], B.shape[:-2])
    X = fa.solve(_in_batch(A, batch), _in_batch(B, batch))
    return fn.squeeze(X, -1) if vectors else X


def _in_batch(A: Tensor, batch: tuple[int, ...]) -> Tensor:
    """Matrices with these batch axes: A itself if it has them, so that the graph gets no node."""
    return A if A.shape[:-2] == batch else fn.broadcast_to(A, (*batch, *A.shape[-2:]))


def pinv(A: TensorLike, rtol: Any = None, hermitian: bool = False, *, atol: Any = None) -> Tensor:
    """The Moore-Penrose inverse. Singular values up to `rtol` times the largest, and up to `atol`,
    count as 0: numbers, or tensors with one for each matrix. By default atol is 0, and rtol is 0
    beside an atol above 0, else the larger side times the dtype's precision.
    hermitian: of A only the lower triangle is read. Differentiable where the rank does not change.
    """
    A = checked_matrix(A, "pinv", square=hermitian)
    if hermitian:
        below = arrays.tril(A, -1)
        own = arrays.tril(A) - below
        A = (
            below
            + fa.adjoint(below)
            + (
                fn.complex(fn.real(own), fn.zeros_like(fn.real(own)))
                if backend.is_complex(A.dtype)
                else own
            )
        )
    lead = A.shape[:-2]
    least, share = (None if v is None else as_tensor(v).detach() for v in (atol, rtol))
    if any(v is not None and v.ndim for v in (least, share)):  # each matrix by itself
        columns = [
            [None] * math.prod(lead) if v is None else fn.broadcast_to(v, lead).reshape(-1).tolist()
            for v in (least, share)
        ]
        matrices = [
            pinv(m, r, atol=a)
            for m, a, r in zip(fn.reshape(A, (-1, *A.shape[-2:])), *columns, strict=True)
        ]
        return (
            fn.stack(matrices).reshape((*lead, A.shape[-1], A.shape[-2])) if matrices else pinv(A)
        )
    smallest = 0.0 if least is None else float(least)
    if share is None and not smallest > 0:
        return fa.pinv(A, rtol=max(A.shape[-2:]) * backend.precision(A.dtype))
    settings = {"atol": smallest} if smallest > 0 else {}
    return fa.pinv(A, rtol=0.0 if share is None else float(share), **settings)


def solve_triangular(
    A: TensorLike, B: TensorLike, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """The X with A X = B (X A = B if not `left`) for triangular matrices A, of which only that
    triangle is read; unitriangular: with ones on the diagonal, which is not read either.
    """
    A = checked_matrix(A, "solve_triangular", square=True)
    offset = 1 if unitriangular else 0
    A = arrays.triu(A, offset) if upper else arrays.tril(A, -offset)
    B = checked_matrix(B, "solve_triangular")
    return solve(A + identity(A) if unitriangular else A, B, left=left)


def inv_ex(A: TensorLike, *, check_errors: bool = False) -> InverseResult:
    """`inv` that tells of singular matrices in `info` instead of raising; their inverse is NaN.
    check_errors: raise after all.
    """
    A = checked_matrix(A, "inv_ex", square=True)
    info, safe = _without_singular(A)
    _raise_for(
        info,
        check_errors,
        "inv_ex",
        "a matrix is singular. Use linalg.pinv, or add a small multiple of the identity.",
    )
    return InverseResult(_nan_where(info, inv(safe)), info)


def solve_ex(
    A: TensorLike, B: TensorLike, *, left: bool = True, check_errors: bool = False
) -> SolveResult:
    """`solve` that tells of singular matrices in `info` instead of raising; their X is NaN.
    check_errors: raise after all.
    """
    A, B = checked_matrix(A, "solve_ex", square=True), as_tensor(B)
    info, safe = _without_singular(A)
    _raise_for(
        info,
        check_errors,
        "solve_ex",
        "a matrix is singular. Use linalg.lstsq, or add a small multiple of the identity.",
    )
    X = solve(safe, B, left=left)
    vectors = X.ndim == 1 or (X.ndim == A.ndim - 1 and X.shape == A.shape[:-1])
    return SolveResult(_nan_where(info, X, 1 if vectors else 2), info)


def cholesky_ex(
    A: TensorLike, *, upper: bool = False, check_errors: bool = False
) -> CholeskyResult:
    """`cholesky` that tells of matrices that are not positive definite in `info` instead of
    raising; their L is NaN. check_errors: raise after all.
    """
    A = checked_matrix(A, "cholesky_ex", square=True)
    read = fa.adjoint(A.detach()) if upper else A.detach()
    steps = fn.real(
        diagonal(fa.lu(arrays.tril(read) + fa.adjoint(arrays.tril(read, -1))))
    )  # quotients of the leading blocks' determinants
    info = _first(fn.logical_not(steps > 0))
    _raise_for(
        info,
        check_errors,
        "cholesky_ex",
        "a matrix is not positive definite. Add a small multiple of the identity.",
    )
    safe = fn.where((info == 0).unsqueeze(-1).unsqueeze(-1), A, identity(A))
    return CholeskyResult(_nan_where(info, cholesky(safe, upper=upper)), info)


def _first(found: Tensor) -> Tensor:
    """Where along the last axis the first True is, counted from 1; 0 where there is none. int32,
    as LAPACK's.
    """
    if found.shape[-1] == 0:
        return fn.zeros(found.shape[:-1], dtype=backend.int32, device=found.device)
    place = fn.argmax(found.to(backend.int64), -1) + 1
    return fn.where(fn.any(found, -1), place, 0).to(backend.int32)


def _without_singular(A: Tensor) -> tuple[Tensor, Tensor]:
    """At which step elimination finds 0 only (0: never), and A with the identity in place of
    such matrices.
    """
    info = lu_factor_ex(A.detach()).info
    return info, fn.where((info == 0).unsqueeze(-1).unsqueeze(-1), A, identity(A))


def _nan_where(info: Tensor, x: Tensor, axes: int = 2) -> Tensor:
    """x, with NaN for the examples that failed."""
    return fn.where(info.reshape((*info.shape, *(1,) * axes)) == 0, x, math.nan)


def _raise_for(info: Tensor, check: bool, function: str, what: str) -> None:
    if check and bool(fn.any(wrap(all_examples(info.array)) != 0)):
        raise LinAlgError(f"linalg.{function}: {what}")


def lu_solve(
    LU: TensorLike, pivots: TensorLike, B: TensorLike, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """The X with A X = B (X A = B if not `left`; with Aᴴ for A if `adjoint`), where LU and
    pivots are `lu_factor(A)`.
    """
    P, L, U = lu_unpack(LU, pivots)
    if L.shape[-1] != U.shape[-1] or L.shape[-2] != U.shape[-2]:
        raise ShapeError(
            f"linalg.lu_solve: the matrices must be square, got LU of shape {as_tensor(LU).shape}."
        )
    B = checked_matrix(B, "lu_solve")
    if adjoint:
        out: Tensor = fa.adjoint(lu_solve(LU, pivots, fa.adjoint(B), left=not left))
        return out
    if left:
        return solve(U, solve(L, matmul(P.mT, B)))
    return matmul(solve(L, solve(U, B, left=False), left=False), P.mT)


@fn.in_own_memory
def tensorinv(A: TensorLike, ind: int = 2) -> Tensor:
    """The inverse of A as a map from its last axes to its first `ind` ones:
    tensordot(tensorinv(A), A, ind) is the identity.
    """
    A = as_tensor(A)
    first, last = A.shape[:ind], A.shape[ind:]
    if ind < 1 or math.prod(first) != math.prod(last):
        raise ShapeError(
            f"linalg.tensorinv: the first {ind} axes of shape {A.shape} must hold as many elements"
            " as the others."
        )
    return inv(A.reshape(math.prod(first), math.prod(last))).reshape((*last, *first))


@fn.in_own_memory
def tensorsolve(A: TensorLike, B: TensorLike, dims: Sequence[int] | None = None) -> Tensor:
    """The X with tensordot(A, X, X.ndim) = B; dims: axes of A that are moved to its end first."""
    A, B = as_tensor(A), as_tensor(B)
    if dims is not None:
        A = fn.movedim(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    if not math.prod(A.shape[: B.ndim]) == math.prod(A.shape[B.ndim :]) == B.numel():
        raise ShapeError(
            f"linalg.tensorsolve: a right side of shape {B.shape} does not fit A of shape"
            f" {A.shape}."
        )
    return solve(A.reshape(B.numel(), B.numel()), B.reshape(-1)).reshape(A.shape[B.ndim :])


@public(method=True)
def matrix_power(A: TensorLike, n: int) -> Tensor:
    """A multiplied n times with itself, by repeated squaring; negative n: the inverse's power;
    0: the identity.
    """
    A = checked_matrix(A, "matrix_power", square=True)
    if n < 0:
        return matrix_power(inv(A), -n)
    if n == 0:
        never = fn.zeros(
            (), dtype=backend.bool_, device=A.device
        )  # A with the gradient 0, as a constant's
        return fn.where(never, A, identity(A))
    out: Tensor | None = None
    while True:
        if n % 2:
            out = A if out is None else matmul(out, A)
        n //= 2
        if n == 0:
            return fn.clone(out) if out is A else out  # type: ignore[return-value]
        A = matmul(A, A)


@public(method=True)
def matrix_exp(A: TensorLike) -> Tensor:
    """e to the A = Σ A^k / k!: the matrix is halved until it is small, its Taylor series summed,
    and the result squared as often again.
    """
    A = checked_matrix(A, "matrix_exp", square=True)
    size = (
        float(wrap(all_examples(fn.sum(fn.abs(A.detach()), -1).array)).max().item())
        if A.numel()
        else 0.0
    )
    halvings = max(0, math.ceil(math.log2(size)) + 1) if 0 < size < math.inf else 0
    small = A * 0.5**halvings
    out = unit = fn.broadcast_to(identity(A), A.shape)
    for k in range(
        16, 0, -1
    ):  # the first term left out is below 0.5^17 / 17! of the identity, 2e-20
        out = unit + matmul(small, out) / k
    for _ in range(halvings):
        out = matmul(out, out)
    return out


# ------------------------------------------------------------------------------------- determinants


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


# ----------------------------------------------------------------------------------- factorisations


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
    rest = solve(_unit_lower(first), exchanged[..., k:])
    return LUFactorResult(fn.cat([first, rest], -1), pivots)


def lu_factor_ex(
    A: TensorLike, *, pivot: bool = True, check_errors: bool = False
) -> LUFactorExResult:
    """`lu_factor`, and where U has its first 0 on the diagonal (counted from 1; 0: nowhere).
    check_errors: raise LinAlgError there.
    """
    LU, pivots = lu_factor(A, pivot=pivot)
    info = _first(diagonal(LU.detach()) == 0)
    _raise_for(info, check_errors, "lu_factor_ex", "U is singular: it has a 0 on its diagonal.")
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
    return (
        LUResult(P, _unit_lower(LU[..., :k]), arrays.triu(LU[..., :k, :]))
        if unpack_data
        else LUResult(P, none, none)
    )


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
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f'linalg.qr: mode must be "reduced", "complete" or "r", got {mode!r}.')
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


def lstsq(
    A: TensorLike, B: TensorLike, rcond: float | None = None, *, driver: str | None = None
) -> LstsqResult:
    """The X that makes |A X - B| smallest (the shortest such X), by the pseudo-inverse. B as in
    `solve`.

    rcond: as `rtol` of `pinv`. driver: PyTorch's choice of LAPACK routine ("gels", "gelsy",
    "gelsd", "gelss"), which changes nothing here.
    """
    A, B = checked_matrix(A, "lstsq"), as_tensor(B)
    vectors = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    columns = fn.unsqueeze(B, -1) if vectors else B
    X = matmul(pinv(A, rcond), columns)
    s = svdvals(A.detach())
    share = max(A.shape[-2:]) * backend.precision(A.dtype) if rcond is None else rcond
    rank = (
        fn.sum(s > share * fn.amax(s, -1, True), -1)
        if s.shape[-1]
        else fn.zeros(s.shape[:-1], dtype=backend.int64, device=s.device)
    )
    residuals = vector_norm(matmul(A, X) - columns, 2, -2) ** 2
    if A.shape[-2] <= A.shape[-1] or not bool(
        (wrap(all_examples(rank.array)) == A.shape[-1]).all()
    ):
        residuals = fn.zeros(0, dtype=residuals.dtype, device=A.device)
    return LstsqResult(fn.squeeze(X, -1) if vectors else X, residuals, rank, s)


# ------------------------------------------------------------------------------- rank and condition


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


def vander(x: TensorLike, N: int | None = None) -> Tensor:
    """The powers 0 … N − 1 (default: as many as x has elements) of the elements of the last
    axis, one row an element.
    """
    x = as_tensor(x)
    x = fn.reshape(x, x.shape or (1,)).to(backend.int64 if x.dtype.kind in "iu" else x.dtype)
    powers = [fn.ones_like(x)]
    for _ in range((x.shape[-1] if N is None else N) - 1):
        powers.append(powers[-1] * x)
    return fn.stack(powers, -1)


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


# ------------------------------------------------------------------------------- norms and the rest


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
    return (
        out.reshape([1 if i in (row, column) else n for i, n in enumerate(A.shape)])
        if keepdim
        else out
    )


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


def cross(a: TensorLike, b: TensorLike, *, dim: int = -1) -> Tensor:
    """The vector product along an axis of length 3."""
    return _cross(a, b, dim)


def diagonal(A: TensorLike, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices (a view)."""
    return arrays.diagonal(A, offset, dim1, dim2)


def trace(A: TensorLike) -> Tensor:
    """The sums of the main diagonals of matrices."""
    return fn.sum(diagonal(A), -1)


@public(method=False, theirs="x y")
@in_float32
def vecdot(a: TensorLike, b: TensorLike, *, dim: int = -1) -> Tensor:
    """Σ conj(a) b along a dimension."""
    return fn.sum(fn.conj(a) * as_tensor(b), dim)


respell(
    __name__, publish(__name__, "LinAlgError", "matmul", "multi_dot", "vector_norm", method=False)
)
with_hints(sys.modules[__name__])
