"""Inverses, determinants and factorisations of (batches of) square or rectangular matrices, by the
library's LAPACK.

Each derivative follows from differentiating the defining equation. For Y = A⁻¹: dA Y + A dY = 0, so
dY = -Y dA Y. For the factorisations the equations are A = L Lᴴ, A = L U, A = Q R, A V = V diag(w),
A = V diag(w) Vᴴ, A = U diag(s) Vᴴ together with the factors' own constraints (triangular, unitary);
writing dQ = Q Ω with Ω skew-Hermitian solves them. The pulls are the adjoints of these pushes with
respect to ⟨G, T⟩ = Re tr(Gᴴ T).

Eigenvectors and singular vectors have derivatives only where their values differ: between equal
ones a rule divides by zero, and the gradient says so (inf or NaN).

Sources: M. Giles, Collected Matrix Derivative Results for Forward and Reverse Mode (2008); I.
Murray, Differentiation of the Cholesky decomposition (2016); G. Golub and V. Pereyra, The
Differentiation of Pseudo-Inverses (1973); complex phases as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backend import call_linalg, ignore_float_errors
from ..core.primitive import Primitive, RuleFunction, constant, general
from ..ops.batch import axes_from_the_right
from ..ops.costs import MOVES, cubic, solve_cost
from ..ops.diagonals import diagonal_matrix, main_diagonal, tril, triu
from ..ops.elementwise import conj, imag, make_complex, ones_like, real, where, zeros_like
from ..ops.index import slice_
from ..ops.linalg import swapped
from ..ops.reduce import sum_
from ..ops.shape import cat, reshape


def adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return conj(swapped(x))


def _column(x: Any) -> Any:
    """(…, n) as (…, n, 1)."""
    return reshape(x, shape=(*x.shape, 1))


def _row(x: Any) -> Any:
    """(…, n) as (…, 1, n)."""
    return reshape(x, shape=(*x.shape[:-1], 1, x.shape[-1]))


def _number(x: Any) -> Any:
    """(…) as (…, 1, 1)."""
    return reshape(x, shape=(*x.shape, 1, 1))


def _total(x: Any) -> Any:
    """The sum of a matrix's elements."""
    return sum_(x, axes=(x.ndim - 2, x.ndim - 1), keepdims=False)


# -------------------------------------------------------------------- inverses and linear equations

inv = general(
    "inv",
    lambda xp, x: call_linalg("inv", xp.linalg.inv, x),
    [lambda g, y: -(swapped(y) @ g @ swapped(y))],
    [lambda t, y: -(y @ t @ y)],
    shape="valid first",
    batch=axes_from_the_right,
    cost=cubic(1),
    graph_name="LinalgInvExBackward0",
)
"""The inverse of square matrices."""


def _solve(xp: Any, a: Any, b: Any) -> Any:
    # CuPy divides by the size of an empty right side
    return call_linalg("solve", xp.linalg.solve, a, b) if b.size else b.copy()


solve = general(
    "solve",
    _solve,
    [lambda g, a, y: -(solve(swapped(a), g) @ swapped(y)), lambda g, a: solve(swapped(a), g)],
    [lambda t, a, y: -solve(a, t @ y), lambda t, a: solve(a, t)],
    promote="same",
    batch=axes_from_the_right,
    cost=solve_cost,
)
"""The Y with A Y = B; both are matrices with the same batch axes."""


def _pinv_pull(g: Any, x: Any, y: Any) -> Any:
    gh, yh = adjoint(g), adjoint(y)
    outside, inside = (
        gh - x @ (y @ gh),
        gh - (gh @ y) @ x,
    )  # parts of Gᴴ that A, or Aᴴ, does not reach
    return outside @ y @ yh + yh @ y @ inside - yh @ g @ yh


def _pinv_push(t: Any, x: Any, y: Any) -> Any:
    th, yh = adjoint(t), adjoint(y)
    return y @ yh @ (th - (th @ x) @ y) + (th - y @ (x @ th)) @ yh @ y - y @ t @ y


def _pinv(xp: Any, x: Any, *, rtol: float, atol: float = 0.0) -> Any:
    if not atol:
        return call_linalg("pinv", xp.linalg.pinv, x, rtol)
    u, s, vh = call_linalg("pinv", xp.linalg.svd, x, False)
    counts = s > xp.maximum(rtol * s[..., :1], atol)
    return adjoint(vh) @ (xp.where(counts, 1 / xp.where(counts, s, 1), 0)[..., None] * adjoint(u))


_PINV_PULL = "(H(g) - x @ y @ H(g)) @ y @ H(y) + H(y) @ y @ (H(g) - H(g) @ y @ x) - H(y) @ g @ H(y)"
_PINV_PUSH = "y @ H(y) @ (H(t) - H(t) @ x @ y) + (H(t) - y @ x @ H(t)) @ H(y) @ y - y @ t @ y"


def _transposes(operands: Sequence[Any], text: str) -> tuple[str]:
    """The text of a rule, whose conjugate transposes are transposes for real numbers."""
    return (text if operands[0].dtype.kind == "c" else text.replace("H(", "T("),)


pinv = general(
    "pinv",
    _pinv,
    [_pinv_pull],
    [_pinv_push],
    pull_notation=lambda operands, **_: _transposes(operands, _PINV_PULL),
    push_notation=lambda operands, **_: _transposes(operands, _PINV_PUSH),
    conjugates=True,
    batch=axes_from_the_right,
    cost=cubic(8),
)
"""The Moore-Penrose inverse; singular values up to `rtol` times the largest, or up to `atol`, count
as 0. Differentiable where the rank does not change.
"""

# ------------------------------------------------------------------------------------- determinants

det = general(
    "det",
    lambda xp, x: call_linalg("det", xp.linalg.det, x),
    [lambda g, x: _number(g) * cofactors(x)],
    [lambda t, x: _total(t * cofactors(x))],
    batch=axes_from_the_right,
    cost=cubic(1 / 3),
    graph_name="LinalgDetBackward0",
)
"""The determinant. Its derivative is the matrix of cofactors, which singular matrices have too."""


def _cofactors(xp: Any, x: Any) -> Any:
    """det(A) A⁻ᵀ without the division: with A = U diag(s) Vᴴ each 1/s becomes the product of the
    other singular values.
    """
    u, s, vh = call_linalg("det (derivative)", xp.linalg.svd, x)
    ahead, behind = xp.ones(s.shape, s.dtype), xp.ones(s.shape, s.dtype)
    if s.shape[-1] > 1:
        ahead[..., 1:] = xp.cumprod(s, axis=-1)[..., :-1]
        behind[..., :-1] = xp.flip(xp.cumprod(xp.flip(s, -1), axis=-1), -1)[..., 1:]
    phase = xp.asarray(xp.linalg.det(u) * xp.linalg.det(vh))[..., None, None]
    return xp.matmul(u.conj() * (ahead * behind)[..., None, :], vh.conj()) * phase


cofactors = general(
    "cofactors",
    _cofactors,
    [lambda g, x, y: (_number(_total(g * y)) * swapped(inv(x))) - y @ swapped(g) @ swapped(inv(x))],
    [lambda t, x, y: _number(_total(t * swapped(inv(x)))) * y - swapped(inv(x)) @ swapped(t) @ y],
    batch=axes_from_the_right,
    cost=cubic(1),
)
"""The matrix of cofactors of a square matrix. Its own derivative needs the inverse: a second
derivative of det at a singular matrix is an error.
"""
logabsdet = general(
    "logabsdet",
    lambda xp, x: call_linalg("slogdet", xp.linalg.slogdet, x)[1],
    [lambda g, x: _number(g) * adjoint(inv(x))],
    [lambda t, x: real(_total(swapped(inv(x)) * t))],
    conjugates=True,
    dtype="real",
    batch=axes_from_the_right,
    cost=cubic(1 / 3),
)
"""ln |det A|, without overflow; -∞ for singular matrices."""


def _imaginary(x: Any) -> Any:
    """i times a real number."""
    return make_complex(zeros_like(x), x)


detsign = general(
    "detsign",
    lambda xp, x: call_linalg("slogdet", xp.linalg.slogdet, x)[0],
    [
        lambda g, x, y: (
            _number(_imaginary(imag(g * conj(y)))) * adjoint(inv(x))
            if x.dtype.kind == "c"
            else zeros_like(x)
        )
    ],
    [
        lambda t, x, y: (
            y * _imaginary(imag(_total(swapped(inv(x)) * t)))
            if x.dtype.kind == "c"
            else _total(zeros_like(t))
        )
    ],
    conjugates=True,
    batch=axes_from_the_right,
    cost=cubic(1 / 3),
)
"""det A / |det A|: a sign, constant but for jumps, or for complex matrices a phase."""

# ----------------------------------------------------------------------------------- factorisations


def _factors(
    name: str, count: int, pull: RuleFunction, push: RuleFunction, cost: Any, *settings: Any
) -> Primitive:
    """Declare a factorisation into `count` arrays that the array library has; where a real matrix
    has complex factors, all of them are complex.
    """

    def forward(xp: Any, x: Any) -> tuple[Any, ...]:
        factors = call_linalg(name, getattr(xp.linalg, name), x, *settings)
        if name == "eig" and x.dtype.kind != "c":
            dtype = "complex64" if x.dtype == "float32" else "complex128"
            return tuple(factor.astype(dtype) for factor in factors)
        return tuple(factors)

    options: dict[str, Any] = {"outputs": count, "batch": axes_from_the_right, "cost": cost}
    return general(name, forward, [pull], [push], conjugates=True, **options)


def _half_lower(x: Any) -> Any:
    """The lower triangle with half of the diagonal: x = this + its adjoint, for Hermitian x."""
    return (tril(x, offset=0) + tril(x, offset=-1)) * 0.5


def _hermitian(x: Any) -> Any:
    return (x + adjoint(x)) * 0.5


cholesky = general(
    "cholesky",
    lambda xp, x: call_linalg("cholesky", xp.linalg.cholesky, x),
    [
        lambda g, y: _hermitian(
            adjoint(solve(adjoint(y), adjoint(solve(adjoint(y), _half_lower(adjoint(y) @ g)))))
        )
    ],
    [lambda t, y: y @ _half_lower(adjoint(solve(y, adjoint(solve(y, _hermitian(t))))))],
    conjugates=True,
    shape="valid first",
    batch=axes_from_the_right,
    cost=cubic(1 / 6),
)
"""The lower triangular L with A = L Lᴴ of Hermitian positive definite A. Only A's lower triangle is
read; the gradient is Hermitian, as A must be.
"""


def _over(x: Any, r: Any) -> Any:
    """X R⁻¹."""
    return swapped(solve(swapped(r), swapped(x)))


def _imaginary_diagonal(x: Any) -> Any:
    d = main_diagonal(x)
    return diagonal_matrix((d - conj(d)) * 0.5)


def _qr_pull(g: Any, y: Any) -> Any:
    (gq, gr), (q, r) = g, y
    m = gr @ adjoint(r) - adjoint(q) @ gq
    m = m - tril(m - adjoint(m), offset=-1) - _imaginary_diagonal(m)
    return _over(gq + q @ m, adjoint(r))


def _qr_push(t: Any, y: Any) -> tuple[Any, Any]:
    q, r = y
    tr = _over(t, r)
    c = adjoint(q) @ tr
    lower = tril(c, offset=-1)
    upper = c - lower + adjoint(lower) - _imaginary_diagonal(c)
    return tr - q @ upper, upper @ r


qr = _factors("qr", 2, _qr_pull, _qr_push, cubic(1))
"""Q with orthonormal columns and upper triangular R, A = Q R, for A with at least as many rows
as columns, which must be independent.
"""


def _off_diagonal(x: Any) -> Any:
    return tril(x, offset=-1) + triu(x, offset=1)


def _gaps(w: Any) -> Any:
    """w[j] - w[i], and 1 on the diagonal."""
    return _row(w) - _column(w) + diagonal_matrix(ones_like(w))


def _divided(x: Any, gaps: Any) -> Any:
    """x / gaps, and 0 where both are 0 (equal values whose vectors have no incoming gradient)."""
    return x / where((x == 0) & (gaps == 0), 1.0, gaps)


def _eigh_pull(g: Any, y: Any) -> Any:
    (gw, gv), (w, v) = g, y
    # v moves by turns only, so the skew part counts, and the gradient is Hermitian as x is
    turn = adjoint(v) @ gv
    return (
        v
        @ (diagonal_matrix(gw) + _divided(_off_diagonal(turn - adjoint(turn)), 2 * _gaps(w)))
        @ adjoint(v)
    )


def _eigh_push(t: Any, y: Any) -> tuple[Any, Any]:
    w, v = y
    inner = adjoint(v) @ t @ v
    return real(main_diagonal(inner)), v @ _divided(
        _off_diagonal(inner + adjoint(inner)), 2 * _gaps(w)
    )


eigh = _factors("eigh", 2, _eigh_pull, _eigh_push, cubic(4))
"""Eigenvalues (real, ascending) and orthonormal eigenvectors (columns) of Hermitian matrices, of
which only the lower triangle is read.
"""


def _svd_pull(g: Any, y: Any) -> Any:
    (gu, gs, gvh), (u, s, vh) = g, y
    v, gv, gaps = adjoint(vh), adjoint(gvh), _gaps(s * s)
    uu, vv = adjoint(u) @ gu, vh @ gv
    a, b = _divided(_off_diagonal(uu), gaps), _divided(_off_diagonal(vv), gaps)
    inner = diagonal_matrix(gs) + (a + adjoint(a)) * _row(s) + _column(s) * (b + adjoint(b))
    if u.dtype.kind == "c":
        inner = inner + _divided(_imaginary_diagonal(uu) - _imaginary_diagonal(vv), 2 * _row(s))
    left = u @ inner
    if u.shape[-2] > u.shape[-1]:
        left = left + _divided(gu - u @ uu, _row(s))
    out = left @ vh
    if vh.shape[-1] > vh.shape[-2]:
        out = out + u @ adjoint(_divided(gv - v @ vv, _row(s)))
    return out


def _svd_push(t: Any, y: Any) -> tuple[Any, Any, Any]:
    u, s, vh = y
    v, gaps = adjoint(vh), _gaps(s * s)
    p = adjoint(u) @ t @ v
    ph = adjoint(p)
    omega_u = _divided(_off_diagonal(p * _row(s) + _column(s) * ph), gaps)
    omega_v = _divided(_off_diagonal(_column(s) * p + ph * _row(s)), gaps)
    if u.dtype.kind == "c":
        phase = _divided(_imaginary_diagonal(p), 2 * _row(s))
        omega_u, omega_v = omega_u + phase, omega_v - phase
    du, dv = u @ omega_u, v @ omega_v
    if u.shape[-2] > u.shape[-1]:
        du = du + _divided(t @ v - u @ p, _row(s))
    if vh.shape[-1] > vh.shape[-2]:
        dv = dv + _divided(adjoint(t) @ u - v @ ph, _row(s))
    return du, real(main_diagonal(p)), adjoint(dv)


svd = _factors("svd", 3, _svd_pull, _svd_push, cubic(8), False)
"""U, s, Vᴴ with A = U diag(s) Vᴴ: orthonormal columns, as many as the smaller side of A;
singular values real and descending.
"""


def _eig_pull(g: Any, y: Any) -> Any:
    (gw, gv), (w, v) = g, y
    vh = adjoint(v)
    inner = vh @ gv
    # the columns stay of length 1
    inner = inner - (vh @ v) * _row(_real_part(main_diagonal(inner)))
    return solve(vh, (diagonal_matrix(gw) + _divided(_off_diagonal(inner), conj(_gaps(w)))) @ vh)


def _eig_push(t: Any, y: Any) -> tuple[Any, Any]:
    w, v = y
    inner = solve(v, t @ v)
    moved = v @ _divided(_off_diagonal(inner), _gaps(w))
    return main_diagonal(inner), moved - v * _row(_real_part(main_diagonal(adjoint(v) @ moved)))


def _real_part(x: Any) -> Any:
    """Re x as a complex number."""
    return (x + conj(x)) * 0.5


eig = _factors("eig", 2, _eig_pull, _eig_push, cubic(10))
"""Eigenvalues and eigenvectors (columns of length 1) of square matrices, complex also where A is
real. The largest element of each vector is real in LAPACK's choice of its phase, which the
derivative leaves alone.
"""

# ----------------------------------------------------------------------------- Gaussian elimination


def _eliminate(xp: Any, a: Any, pivots: Any | None) -> Any:
    """L U in one matrix, L below the diagonal, where its ones are not kept. Into `pivots`, if there
    are such, goes which row (counted from 1, as LAPACK does) took the place of each; without, the
    rows stay where they are.
    """
    a = xp.array(a)
    n = a.shape[-1]
    for k in range(min(a.shape[-2:])):
        if pivots is not None:
            below = a[..., k:, k]
            # what LAPACK compares
            size = xp.abs(below.real) + xp.abs(below.imag) if a.dtype.kind == "c" else xp.abs(below)
            largest = k + xp.argmax(size, axis=-1)
            pivots[..., k] = largest + 1
            place = xp.broadcast_to(xp.asarray(largest)[..., None, None], (*a.shape[:-2], 1, n))
            leading, here = xp.take_along_axis(a, place, axis=-2), a[..., k : k + 1, :].copy()
            xp.put_along_axis(a, place, here, axis=-2)
            a[..., k : k + 1, :] = leading
        pivot = a[..., k : k + 1, k]
        factors = a[..., k + 1 :, k] / xp.where(pivot == 0, xp.ones_like(pivot), pivot)
        a[..., k + 1 :, k] = factors
        a[..., k + 1 :, k + 1 :] -= factors[..., None] * a[..., k : k + 1, k + 1 :]
    return a


def _pivots(xp: Any, x: Any) -> Any:
    pivots = xp.zeros((*x.shape[:-2], min(x.shape[-2:])), "int32")
    ignore_float_errors.run(_eliminate, xp, x, pivots)
    return pivots


lu_pivots = constant("lu_pivots", _pivots, batch=axes_from_the_right, cost=cubic(1 / 3))
"""Which row (counted from 1) Gaussian elimination with partial pivoting exchanges with each row
in turn: that of the largest element.
"""


def _pivots_to_permutation(xp: Any, pivots: Any, *, size: int) -> Any:
    order = xp.broadcast_to(xp.arange(size), (*pivots.shape[:-1], size))
    places = xp.arange(size)
    for k in range(pivots.shape[-1]):
        other = pivots[..., k : k + 1] - 1
        there = xp.take_along_axis(order, xp.asarray(other, "int64"), axis=-1)
        order = xp.where(
            places == k, there, xp.where(places == other, order[..., k : k + 1], order)
        )
    return order


pivots_to_permutation = constant("pivots_to_permutation", _pivots_to_permutation, cost=MOVES)
"""The order of `size` rows after the exchanges that the pivots tell of, as indices."""


def _lower_and_upper(y: Any) -> tuple[Any, Any, Any]:
    """L as far as it is square, what it has below that, and U."""
    n = y.shape[-1]
    top = slice_(y, index=(Ellipsis, slice(0, n), slice(None)))
    below = slice_(y, index=(Ellipsis, slice(n, None), slice(None)))
    return (
        tril(top, offset=-1) + diagonal_matrix(ones_like(main_diagonal(top))),
        below,
        triu(top, offset=0),
    )


def _joined(top: Any, below: Any) -> Any:
    return cat(top, below, axis=top.ndim - 2, sizes=(top.shape[-2], below.shape[-2]))


def _lu_push(t: Any, y: Any) -> Any:
    lower, below, upper = _lower_and_upper(y)
    first = slice_(t, index=(Ellipsis, slice(0, y.shape[-1]), slice(None)))
    rest = slice_(t, index=(Ellipsis, slice(y.shape[-1], None), slice(None)))
    inner = _over(solve(lower, first), upper)
    dl, du = lower @ tril(inner, offset=-1), triu(inner, offset=0) @ upper
    return _joined(dl + du, _over(rest - below @ du, upper))


def _lu_pull(g: Any, y: Any) -> Any:
    lower, below, upper = _lower_and_upper(y)
    first = slice_(g, index=(Ellipsis, slice(0, y.shape[-1]), slice(None)))
    rest = _over(slice_(g, index=(Ellipsis, slice(y.shape[-1], None), slice(None))), swapped(upper))
    gu = triu(first, offset=0) - triu(swapped(below) @ rest, offset=0)
    inner = tril(swapped(lower) @ tril(first, offset=-1), offset=-1) + triu(
        gu @ swapped(upper), offset=0
    )
    return _joined(_over(solve(swapped(lower), inner), swapped(upper)), rest)


_LU_PULL = "inv(T(L(y))) @ (tril(T(L(y)) @ g, -1) + triu(g @ T(U(y)))) @ inv(T(U(y)))"
_LU_PUSH = "L(y) @ tril(inv(L(y)) @ t @ inv(U(y)), -1) + triu(inv(L(y)) @ t @ inv(U(y))) @ U(y)"


_TALL_LU_PULL = (
    "vstack(inv(T(top(L(y)))) @ (tril(T(top(L(y))) @ top(g), -1)"
    " + triu(top(g) @ T(U(y)) - T(bottom(L(y))) @ bottom(g))) @ inv(T(U(y))),"
    " bottom(g) @ inv(T(U(y))))"
)
_TALL_LU_PUSH = (
    "L(y) @ tril(inv(top(L(y))) @ top(t) @ inv(U(y)), -1)"
    " + vstack(triu(inv(top(L(y))) @ top(t) @ inv(U(y))) @ U(y),"
    " (bottom(t) - bottom(L(y)) @ inv(top(L(y))) @ top(t)) @ inv(U(y)))"
)


def _by_shape(operands: Sequence[Any], square: str, tall: str) -> tuple[str]:
    """The text of a rule, with the factors L and U of the result; of a matrix with more rows than
    columns, the rows that make a square are its top, the others its bottom."""
    shape = operands[0].shape
    return (square if shape[-2] == shape[-1] else tall,)


lu = general(
    "lu",
    lambda xp, x: ignore_float_errors.run(_eliminate, xp, x, None),
    [_lu_pull],
    [_lu_push],
    pull_notation=lambda operands: _by_shape(operands, _LU_PULL, _TALL_LU_PULL),
    push_notation=lambda operands: _by_shape(operands, _LU_PUSH, _TALL_LU_PUSH),
    batch=axes_from_the_right,
    cost=cubic(1 / 3),
)
"""Gaussian elimination without exchanges of rows, A = L U: U on and above the diagonal, L below it,
where its ones are not kept. For A with at least as many rows as columns; differentiable where U is
invertible.
"""


reflections = constant(
    "reflections",
    lambda xp, x, *, part: call_linalg("qr", xp.linalg.qr, x, "raw")[part],
    cost=cubic(1),
)
"""LAPACK's form of Q R. Part 0, transposed: R, and beside it the vectors of the reflections;
part 1: their factors τ.
"""
