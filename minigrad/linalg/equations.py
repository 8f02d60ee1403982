"""Linear equations, inverses, least squares, and powers of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import arrays, backend
from .. import functions as fn
from ..arrays.broadcasting import broadcast_shapes
from ..arrays.norms import vector_norm
from ..batching import all_examples
from ..core.tensor import Tensor, as_tensor, wrap
from ..errors import ShapeError
from ..functions import matmul
from ..names import TensorLike, public, publish
from . import factorisations as fa
from .decompositions import cholesky, lu_factor_ex, lu_unpack, svdvals
from .operands import checked_matrix, first_true, identity, raise_where_failed
from .results import CholeskyResult, InverseResult, LstsqResult, SolveResult


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
    raise_where_failed(
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
    raise_where_failed(
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
        arrays.diagonal(fa.lu(arrays.tril(read) + fa.adjoint(arrays.tril(read, -1))), 0, -2, -1)
    )  # quotients of the leading blocks' determinants
    info = first_true(fn.logical_not(steps > 0))
    raise_where_failed(
        info,
        check_errors,
        "cholesky_ex",
        "a matrix is not positive definite. Add a small multiple of the identity.",
    )
    safe = fn.where((info == 0).unsqueeze(-1).unsqueeze(-1), A, identity(A))
    return CholeskyResult(_nan_where(info, cholesky(safe, upper=upper)), info)


def _without_singular(A: Tensor) -> tuple[Tensor, Tensor]:
    """At which step elimination finds 0 only (0: never), and A with the identity in place of
    such matrices.
    """
    info = lu_factor_ex(A.detach()).info
    return info, fn.where((info == 0).unsqueeze(-1).unsqueeze(-1), A, identity(A))


def _nan_where(info: Tensor, x: Tensor, axes: int = 2) -> Tensor:
    """x, with NaN for the examples that failed."""
    return fn.where(info.reshape((*info.shape, *(1,) * axes)) == 0, x, math.nan)


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
        # A with the gradient 0, as a constant's
        never = fn.zeros((), dtype=backend.bool_, device=A.device)
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
    sums = [fn.sum(fn.abs(A.detach()), axis).array for axis in (-1, -2)] if A.numel() else []
    size = min((float(wrap(all_examples(s)).max().item()) for s in sums), default=0.0)
    # below which the 19th term of the series is lost in rounding: 3^19 / 19! is 1e-8, 1 / 19! 8e-18
    small_enough = 3.0 if backend.precision(A.dtype) > 1e-10 else 1.0
    halvings = math.ceil(math.log2(size / small_enough)) if small_enough < size < math.inf else 0
    small = A * 0.5**halvings
    out = unit = fn.broadcast_to(identity(A), A.shape)
    for k in range(18, 0, -1):
        out = unit + matmul(small, out) / k
    for _ in range(halvings):
        out = matmul(out, out)
    return out


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


publish(__name__, method=False)
