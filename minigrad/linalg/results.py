"""Results of several tensors with names, as torch.linalg gives them."""

from __future__ import annotations

from typing import NamedTuple

from ..core.tensor import Tensor


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
