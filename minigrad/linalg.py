"""Linear algebra under the names of `torch.linalg`: inverses, determinants, factorisations, norms; all over batches of matrices (…, n,
m).

Matrices must be float32, float64 or complex: LAPACK knows no others. LinAlgError where there is no answer (a singular matrix has no
inverse).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import arrays, backend
from . import functions as fn
from .arrays import _method, multi_dot
from .arrays import cross as _cross
from .arrays.common import floating
from .arrays.pieces import broadcast_shapes
from .arrays.running import vector_norm
from .batching import all_examples
from .errors import DTypeError, LinAlgError, ShapeError
from .functions import matmul
from .methods import attach
from .ops import factorisations as fa
from .tensor import Tensor, as_tensor, wrap

# ------------------------------------------------------------------------------------------------------------- results with names


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


class LstsqResult(NamedTuple):
    """The shortest X with the smallest |A X - B|; the squares of those distances (none unless A has more rows than columns and full
    rank); the rank and the singular values of A.
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


def _matrix(x: Any, function: str, square: bool = False) -> Tensor:
    x = as_tensor(x)
    name = f"linalg.{function}"
    if x.ndim < 2:
        raise ShapeError(f"{name}: needs a matrix or a batch of them (at least 2 dimensions), got shape {x.shape}.")
    if x.dtype not in (backend.float32, backend.float64, backend.complex64, backend.complex128):
        raise DTypeError(f"{name}: needs float32, float64 or complex numbers, got {x.dtype}. Convert first, for instance with .float().")
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name}: the matrices must be square, got {x.shape[-2]} by {x.shape[-1]} (shape {x.shape}).")
    return x  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------- equations, inverses


def inv(A: Any) -> Tensor:
    """The inverse of square matrices. Raises LinAlgError for singular ones. To multiply by an inverse, `solve` is faster and more
    accurate.
    """
    return fa.inv(_matrix(A, "inv", square=True))  # type: ignore[no-any-return]


def solve(A: Any, B: Any, *, left: bool = True) -> Tensor:
    """The X with A X = B (X A = B if not `left`). A is (…, n, n); B is (…, n, k), or vectors: (n,), or A's shape without its last axis.
    Batch axes broadcast. Raises LinAlgError for singular matrices.
    """
    A, B = _matrix(A, "solve", square=True), as_tensor(B)
    vectors = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if vectors:
        B = fn.unsqueeze(B, -1)
    if not left:
        if vectors:
            raise ShapeError("linalg.solve: with left=False the right side must hold matrices, not vectors.")
        return fn.transpose(solve(fn.transpose(A, -2, -1), fn.transpose(B, -2, -1)), -2, -1)
    if B.ndim == 0 or B.shape[-2] != A.shape[-1]:
        raise ShapeError(f"linalg.solve: a right side of shape {B.shape} does not fit matrices of shape {A.shape}.")
    batch = broadcast_shapes(A.shape[:-2], B.shape[:-2])
    X = fa.solve(fn.broadcast_to(A, (*batch, *A.shape[-2:])), fn.broadcast_to(B, (*batch, *B.shape[-2:])))
    return fn.squeeze(X, -1) if vectors else X


def pinv(A: Any, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The Moore-Penrose inverse. Singular values up to `rtol` times the largest (default: the larger side times the dtype's precision)
    count as 0. hermitian: of A only the lower triangle is read. Differentiable where the rank does not change.
    """
    A = _matrix(A, "pinv", square=hermitian)
    if hermitian:
        below = arrays.tril(A, -1)
        own = arrays.tril(A) - below
        A = below + fa.adjoint(below) + (fn.complex(fn.real(own), fn.zeros_like(fn.real(own))) if backend.is_complex(A.dtype) else own)
    return fa.pinv(A, rtol=max(A.shape[-2:]) * backend.precision(A.dtype) if rtol is None else float(rtol))  # type: ignore[no-any-return]


def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """The X with A X = B (X A = B if not `left`) for triangular matrices A, of which only that triangle is read; unitriangular: with
    ones on the diagonal, which is not read either.
    """
    A = _matrix(A, "solve_triangular", square=True)
    offset = 1 if unitriangular else 0
    A = arrays.triu(A, offset) if upper else arrays.tril(A, -offset)
    B = _matrix(B, "solve_triangular")
    return solve(A + _identity(A) if unitriangular else A, B, left=left)


def cholesky_solve(B: Any, L: Any, upper: bool = False) -> Tensor:
    """The X with L Lᴴ X = B (Uᴴ U X = B if `upper`)."""
    L = _matrix(L, "cholesky_solve", square=True)
    L = fa.adjoint(arrays.triu(L)) if upper else arrays.tril(L)
    return solve(fa.adjoint(L), solve(L, _matrix(B, "cholesky_solve")))


def cholesky_inverse(L: Any, upper: bool = False) -> Tensor:
    """The inverse of L Lᴴ (of Uᴴ U if `upper`)."""
    L = _matrix(L, "cholesky_inverse", square=True)
    return cholesky_solve(fn.broadcast_to(_identity(L), L.shape), L, upper)


def tensorinv(A: Any, ind: int = 2) -> Tensor:
    """The inverse of A as a map from its last axes to its first `ind` ones: tensordot(tensorinv(A), A, ind) is the identity."""
    A = as_tensor(A)
    first, last = A.shape[:ind], A.shape[ind:]
    if ind < 1 or math.prod(first) != math.prod(last):
        raise ShapeError(f"linalg.tensorinv: the first {ind} axes of shape {A.shape} must hold as many elements as the others.")
    return inv(A.reshape(math.prod(first), -1)).reshape((*last, *first))  # type: ignore[no-any-return]


def tensorsolve(A: Any, B: Any, dims: Sequence[int] | None = None) -> Tensor:
    """The X with tensordot(A, X, X.ndim) = B; dims: axes of A that are moved to its end first."""
    A, B = as_tensor(A), as_tensor(B)
    if dims is not None:
        A = fn.movedim(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    if not math.prod(A.shape[: B.ndim]) == math.prod(A.shape[B.ndim :]) == B.numel():
        raise ShapeError(f"linalg.tensorsolve: a right side of shape {B.shape} does not fit A of shape {A.shape}.")
    return solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(A.shape[B.ndim :])  # type: ignore[no-any-return]


def matrix_power(A: Any, n: int) -> Tensor:
    """A multiplied n times with itself, by repeated squaring; negative n: the inverse's power; 0: the identity."""
    A = _matrix(A, "matrix_power", square=True)
    if n < 0:
        return matrix_power(inv(A), -n)
    if n == 0:
        never = fn.zeros((), dtype=backend.bool_, device=A.device)  # A with the gradient 0, as a constant's
        return fn.where(never, A, _identity(A))  # type: ignore[no-any-return]
    out: Tensor | None = None
    while True:
        if n % 2:
            out = A if out is None else matmul(out, A)
        n //= 2
        if n == 0:
            return fn.clone(out) if out is A else out  # type: ignore[return-value]
        A = matmul(A, A)


def _identity(A: Tensor) -> Tensor:
    return fn.eye(A.shape[-1], dtype=A.dtype, device=A.device)


def matrix_exp(A: Any) -> Tensor:
    """e to the A = Σ A^k / k!: the matrix is halved until it is small, its Taylor series summed, and the result squared as often
    again.
    """
    A = _matrix(A, "matrix_exp", square=True)
    size = float(wrap(all_examples(fn.sum(fn.abs(A.detach()), -1).array)).max().item()) if A.numel() else 0.0
    halvings = max(0, math.ceil(math.log2(size)) + 1) if 0 < size < math.inf else 0
    small = A * 0.5**halvings
    out = identity = fn.broadcast_to(_identity(A), A.shape)
    for k in range(16, 0, -1):  # the first term left out is below 0.5^17 / 17! of the identity, 2e-20
        out = identity + matmul(small, out) / k
    for _ in range(halvings):
        out = matmul(out, out)
    return out


# ------------------------------------------------------------------------------------------------------------- determinants


def det(A: Any) -> Tensor:
    """The determinant of square matrices. Its gradient, the cofactors, exists for singular ones too (a second derivative there
    raises).
    """
    return fa.det(_matrix(A, "det", square=True))  # type: ignore[no-any-return]


def slogdet(A: Any) -> SlogdetResult:
    """Sign (or phase) and logarithm of the absolute value of the determinant, which overflow less easily; (0, -inf) for singular
    matrices.
    """
    A = _matrix(A, "slogdet", square=True)
    return SlogdetResult(fa.detsign(A), fa.logabsdet(A))


def logdet(A: Any) -> Tensor:
    """ln det A: NaN where the determinant is negative, -inf where it is 0."""
    sign, size = slogdet(A)
    return fn.log(sign) + size


# ------------------------------------------------------------------------------------------------------------- factorisations


def cholesky(A: Any, *, upper: bool = False) -> Tensor:
    """The lower triangular L with A = L Lᴴ (or its adjoint, if `upper`) of Hermitian positive definite matrices, of which the lower
    triangle is read. The gradient is Hermitian. Raises LinAlgError where a matrix is not positive definite.
    """
    L = fa.cholesky(_matrix(A, "cholesky", square=True))
    return fa.adjoint(L) if upper else L  # type: ignore[no-any-return]


def qr(A: Any, mode: str = "reduced") -> QRResult:
    """Q with orthonormal columns and upper triangular R, A = Q R. Differentiable where the first columns, as many as Q has, are
    independent.

    mode: "complete" gives Q further columns that make it square and R as many rows of zeros; these columns are determined only as a
    space, and are constants to the derivative. "r" gives R alone (Q is empty).
    """
    A = _matrix(A, "qr")
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


def eigh(A: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues (real, ascending) and orthonormal eigenvectors (columns) of Hermitian matrices, of which one triangle is read.

    Eigenvectors are determined up to a sign (or phase), so only functions that do not depend on it have a meaningful gradient; between
    equal eigenvalues their derivative does not exist, and the gradient is not finite.
    """
    A = _matrix(A, "eigh", square=True)
    if UPLO.upper() not in ("L", "U"):
        raise ValueError(f'linalg.eigh: UPLO must be "L" or "U", got {UPLO!r}.')
    return EighResult(*fa.eigh(A if UPLO.upper() == "L" else fa.adjoint(A)))


def eigvalsh(A: Any, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, ascending."""
    return eigh(A, UPLO).eigenvalues


def svd(A: Any, full_matrices: bool = True) -> SVDResult:
    """U, S, Vh with A = U diag(S) Vh and S descending. Gradients as of `eigh`.

    full_matrices: whether U and Vh are square, as PyTorch's and NumPy's default has it; else there are as many columns of U and rows of Vh
    as the smaller side of A has elements. The further vectors are determined only as a space, and are constants to the derivative.
    """
    A = _matrix(A, "svd")
    U, S, Vh = fa.svd(A)
    m, n = A.shape[-2:]
    if full_matrices and m > n:
        U = fn.cat([U, _completion(U)], -1)
    if full_matrices and n > m:
        Vh = fn.cat([Vh, fa.adjoint(_completion(fa.adjoint(Vh)))], -2)
    return SVDResult(U, S, Vh)


def _completion(Q: Tensor) -> Tensor:
    """Orthonormal columns that complete those of Q (…, m, n) to a square matrix, without derivative: the last eigenvectors of the
    projection Q Qᴴ on the space of Q, those of the eigenvalue 0 (the first ones: they ascend).
    """
    Q = Q.detach()
    return fa.eigh(Q @ fa.adjoint(Q))[1][..., : Q.shape[-2] - Q.shape[-1]]  # type: ignore[no-any-return]


def svdvals(A: Any) -> Tensor:
    """The singular values, descending."""
    return svd(A, full_matrices=False).S


def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> LstsqResult:
    """The X that makes |A X - B| smallest (the shortest such X), by the pseudo-inverse. B as in `solve`.

    rcond: as `rtol` of `pinv`. driver: PyTorch's choice of LAPACK routine ("gels", "gelsy", "gelsd", "gelss"), which changes nothing here.
    """
    A, B = _matrix(A, "lstsq"), as_tensor(B)
    vectors = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    columns = fn.unsqueeze(B, -1) if vectors else B
    X = matmul(pinv(A, rcond), columns)
    s = svdvals(A.detach())
    share = max(A.shape[-2:]) * backend.precision(A.dtype) if rcond is None else rcond
    rank = fn.sum(s > share * fn.amax(s, -1, True), -1) if s.shape[-1] else fn.zeros(s.shape[:-1], dtype=backend.int64, device=s.device)
    residuals = vector_norm(matmul(A, X) - columns, 2, -2) ** 2
    if A.shape[-2] <= A.shape[-1] or not bool((wrap(all_examples(rank.array)) == A.shape[-1]).all()):
        residuals = fn.zeros(0, dtype=residuals.dtype, device=A.device)
    return LstsqResult(fn.squeeze(X, -1) if vectors else X, residuals, rank, s)


# ------------------------------------------------------------------------------------------------------------- rank and condition


def matrix_rank(A: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """How many singular values are larger than atol and rtol times the largest (default as of `pinv`, if there is no atol). No
    derivative.
    """
    A = _matrix(A, "matrix_rank").detach()
    s = fn.abs(eigvalsh(A)) if hermitian else svdvals(A)
    if s.shape[-1] == 0:
        return fn.zeros(s.shape[:-1], dtype=backend.int64, device=s.device)
    if rtol is None:
        rtol = 0.0 if atol is not None else max(A.shape[-2:]) * backend.precision(A.dtype)
    least, share = (fn.unsqueeze(as_tensor(0.0 if v is None else v).to(s.dtype), -1) for v in (atol, rtol))
    return fn.sum(s > fn.maximum(share * fn.amax(s, -1, True), least), -1)


def cond(A: Any, p: Any = None) -> Tensor:
    """The condition number: ‖A‖ ‖A⁻¹‖ in the norm p ("fro", "nuc", inf, -inf, 1, -1); for None or 2 the largest singular value divided by
    the smallest, for -2 the other way round. Infinite for singular matrices.
    """
    A = _matrix(A, "cond", square=p not in (None, 2, -2))
    if p in (None, 2, -2):
        s = svdvals(A)
        return s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    try:
        return matrix_norm(A, p) * matrix_norm(inv(A), p)
    except LinAlgError:
        if A.ndim > 2:
            raise
        return matrix_norm(A, p) * math.inf


def vander(x: Any, N: int | None = None) -> Tensor:
    """The powers 0 … N − 1 (default: as many as x has elements) of the elements of the last axis, one row an element."""
    x = as_tensor(x)
    x = fn.reshape(x, x.shape or (1,)).to(backend.int64 if x.dtype.kind in "iu" else x.dtype)
    powers = [fn.ones_like(x)]
    for _ in range((x.shape[-1] if N is None else N) - 1):
        powers.append(powers[-1] * x)
    return fn.stack(powers, -1)


def householder_product(A: Any, tau: Any) -> Tensor:
    """The first columns of the product of reflections I − τᵢ vᵢ vᵢᴴ, where vᵢ has zeros above place i, a 1 there, and below it column i
    of A: what LAPACK's QR gives.
    """
    A, tau = _matrix(A, "householder_product"), as_tensor(tau)
    m, n = A.shape[-2:]
    out = fn.eye(m, n, dtype=A.dtype, device=A.device).broadcast_to((*A.shape[:-2], m, n))
    unit = arrays.tril(A, -1) + fn.eye(m, n, dtype=A.dtype, device=A.device)
    for i in reversed(range(tau.shape[-1])):
        v = unit[..., i : i + 1]
        out = out - tau[..., i : i + 1].unsqueeze(-1) * matmul(v, matmul(fa.adjoint(v), out))
    return out  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------- norms and the rest


def matrix_norm(A: Any, ord: Any = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False) -> Tensor:
    """The norm of matrices. ord: "fro" (of all elements), "nuc" (sum of the singular values), 2 and -2 (largest, smallest singular
    value), inf and -inf (largest, smallest row sum of |a|), 1 and -1 (column sums).
    """
    A = floating(A, "linalg.matrix_norm")
    row, column = (fn.axis_of(A.ndim, d, "linalg.matrix_norm") for d in dim)
    if A.ndim < 2 or row == column:
        raise ShapeError(f"linalg.matrix_norm: needs two different dimensions, got dim={tuple(dim)} of shape {A.shape}.")
    if ord == "fro":
        return vector_norm(A, 2, (row, column), keepdim)
    if ord in ("nuc", 2, -2):
        rest = [i for i in range(A.ndim) if i not in (row, column)]
        s = svdvals(fn.permute(A, [*rest, row, column]))
        out = fn.sum(s, -1) if ord == "nuc" else fn.amax(s, -1) if ord == 2 else fn.amin(s, -1)
    elif ord in (1, -1, math.inf, -math.inf):
        along = row if abs(ord) == 1 else column
        sums = fn.sum(fn.abs(A), along, True)
        out = fn.squeeze((fn.amax if ord > 0 else fn.amin)(sums, (row, column), True), (row, column))
    else:
        raise ValueError(f'linalg.matrix_norm: ord must be "fro", "nuc", 1, -1, 2, -2, inf or -inf, got {ord!r}.')
    return out.reshape([1 if i in (row, column) else n for i, n in enumerate(A.shape)]) if keepdim else out


def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Tensor:
    """`vector_norm` for one dimension (or a vector), `matrix_norm` for two (or a matrix) with `ord`; without `ord` the 2-norm of all
    elements.
    """
    A = as_tensor(A)
    if isinstance(dim, int):
        dim = (dim,)
    if ord is None:
        return vector_norm(A, 2, dim, keepdim)
    if (dim is not None and len(dim) == 1) or (dim is None and A.ndim == 1):
        return vector_norm(A, ord, dim, keepdim)
    if dim is None and A.ndim != 2:
        raise ShapeError(f"linalg.norm: with ord={ord!r} and without dim needs a vector or a matrix, got shape {A.shape}.")
    return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim)


def cross(a: Any, b: Any, *, dim: int = -1) -> Tensor:
    """The vector product along an axis of length 3."""
    return _cross(a, b, dim)


def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices (a view)."""
    return arrays.diagonal(A, offset, dim1, dim2)


def trace(A: Any) -> Tensor:
    """The sums of the main diagonals of matrices."""
    return fn.sum(diagonal(A), -1)


def vecdot(a: Any, b: Any, *, dim: int = -1) -> Tensor:
    """Σ conj(a) b along a dimension."""
    return fn.sum(fn.conj(a) * as_tensor(b), dim)


__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eigh", "eigvalsh", "householder_product", "inv", "logdet", "lstsq",
    "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve",
    "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "trace", "vander", "vecdot", "vector_norm",
]  # fmt: skip

for _name, _function in {
    "det": det, "slogdet": slogdet, "logdet": logdet, "inverse": inv, "pinverse": pinv, "matrix_power": matrix_power,
    "matrix_exp": matrix_exp, "cholesky": cholesky, "qr": qr,
    "cholesky_solve": cholesky_solve, "cholesky_inverse": cholesky_inverse,
}.items():  # fmt: skip
    attach(Tensor, _name, _method(_function, _name))
