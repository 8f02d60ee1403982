"""Elimination, eigenvalues of general matrices, reflections: against PyTorch and by definition."""

# a table: one case a line

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import LinAlgError
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import agree

R = np.random.default_rng(11)
A = R.standard_normal((2, 3, 3))
C = A + 1j * R.standard_normal((2, 3, 3))
WIDE, TALL = R.standard_normal((2, 3, 5)), R.standard_normal((2, 5, 3))
B = R.standard_normal((2, 3, 2))
TRIANGLE = np.tril(A) + 2 * np.eye(3)
SINGULAR = np.array([[[1.0, 2], [2, 4]], [[3, 1], [1, 2]]])
GRAM = A @ A.mT + np.eye(3)


def solved(m, a, b, **options):
    return m.linalg.lu_solve(*m.linalg.lu_factor(a), b, **options)


CASES = {
    "lu": (lambda m, a: m.linalg.lu(a)[1:], A),
    "lu wide": (lambda m, a: m.linalg.lu(a)[1:], WIDE),
    "lu tall": (lambda m, a: m.linalg.lu(a)[1:], TALL),
    "lu complex": (lambda m, a: m.linalg.lu(a)[1:], C),
    "lu permutation": (lambda m,
        a: [m.linalg.lu(a)[0], m.linalg.lu(a[..., :2, :])[0], m.linalg.lu(a[..., :2])[0]], C),
    "lu_factor": (lambda m, a: m.linalg.lu_factor(a), A),
    "lu_factor_ex": (lambda m, a: m.linalg.lu_factor_ex(a), WIDE),
    "lu_factor_ex singular": (lambda m, a: m.linalg.lu_factor_ex(a.detach()), SINGULAR),
    "lu_solve": (lambda m, a, b: solved(m, a, b), A, B),
    "lu_solve right": (lambda m, a, b: solved(m, a, b.mT, left=False), A, B),
    "lu_solve adjoint": (lambda m, a, b: solved(m, a, b, adjoint=True), C, B + 1j * B[::-1]),
    "lu_solve broadcast": (lambda m, a, b: solved(m, a, b), A[0], B),
    "lu_unpack": (lambda m, a: m.lu_unpack(*m.linalg.lu_factor(a))[1:], TALL),
    "lu_unpack pivots": (lambda m,
        a: m.lu_unpack(*m.linalg.lu_factor(a.detach()), unpack_data=False)[0], A),
    "older lu": (lambda m, a: [*m.lu(a), *m.lu(a, get_infos=True)], A),
    "older lu_solve": (lambda m, a, b: m.lu_solve(b, *m.linalg.lu_factor(a)), A, B),
    "eigvals": (lambda m, a: m.linalg.eigvals(a), A),
    "eigvals complex": (lambda m, a: m.linalg.eigvals(a), C),
    "eig": (lambda m, a: [m.linalg.eig(a)[0], m.linalg.eig(a)[1].abs()], A),
    "eig complex": (lambda m, a: [m.linalg.eig(a)[0], m.linalg.eig(a)[1].abs()], C),
    "inv_ex": (lambda m, a: m.linalg.inv_ex(a), A),
    "solve_ex": (lambda m, a,
        b: [*m.linalg.solve_ex(a, b), *m.linalg.solve_ex(a, b.mT, left=False)], A, B),
    "cholesky_ex": (lambda m,
        a: [*m.linalg.cholesky_ex(a @ a.mT + m.eye(3, dtype=a.dtype)),
            *m.linalg.cholesky_ex(a @ a.mT + m.eye(3, dtype=a.dtype), upper=True)], A),
    "cholesky_ex of a triangle": (lambda m,
        a: [*m.linalg.cholesky_ex(a.mT), *m.linalg.cholesky_ex(a, upper=True)],
        np.triu(A) + 9 * np.eye(3) - np.tril(99 * np.ones((3, 3)), -1)),
    "cholesky_ex fails": (lambda m, a: m.linalg.cholesky_ex(a.detach())[1],
        np.stack([np.diag([1.0, 2, 3]), np.diag([1.0, 2, -3]), np.diag([-1.0, 2, 3])])),
    "older svd": (lambda m, a: [abs(v) for v in m.svd(a)], TALL),
    "older svd values": (lambda m, a: m.svd(a.detach(), compute_uv=False), TALL),
    "geqrf": (lambda m, a: [*m.geqrf(a.detach()), *m.geqrf(a.detach().mT)], TALL),
    "ormqr": (lambda m, a, b: m.ormqr(*m.geqrf(a.detach()), b), A, B),
    "ormqr sides": (lambda m, a, t,
        b: [m.ormqr(a, t, b, transpose=True), m.ormqr(a, t, b.mT, left=False)], TALL,
        R.random((2, 3)), R.standard_normal((2, 5, 4))),
    "ormqr complex": (lambda m, a, t, b: [m.ormqr(a, t, b, transpose=k) for k in (False, True)], C,
        C[:, 0], C[::-1].copy()),
    "triangular_solve": (lambda m, a,
        b: [*m.triangular_solve(b, a, upper=False),
            *m.triangular_solve(b, a, upper=False, transpose=True)], TRIANGLE, B),
}  # fmt: skip
FIRST_ONLY = {"ormqr", "ormqr sides", "ormqr complex"}
"""PyTorch multiplies by its own matrix of reflections in the second derivative, with other
conventions for what is above the diagonal.
"""


@in_one_test
@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:torch.*is deprecated")
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_agree_with_pytorch(torch, name: str) -> None:
    function, *arrays = CASES[name]
    agree(torch, function, *arrays, order=1 if name in FIRST_ONLY else 2, tolerance=1e-8)


@pytest.mark.parametrize(
    "array",
    [A, WIDE, TALL, C, np.zeros((2, 0, 3)), np.zeros((3, 0)), SINGULAR],
    ids=lambda a: str(a.shape),
)
def test_the_factors_give_the_matrix(array) -> None:
    P, L, U = mg.linalg.lu(mg.tensor(array))
    np.testing.assert_allclose((P @ L @ U).numpy(), array, atol=1e-12)
    assert (mg.tril(L) == L).all()
    assert (mg.triu(U) == U).all()
    assert (mg.linalg.diagonal(L) == 1).all()


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_matrix_exp_loses_no_more_digits_than_pytorchs(torch, dtype: str) -> None:
    """Of 60 matrices, beside the exact exponential in float64."""
    rng, ours, theirs = np.random.default_rng(5), 0.0, 0.0
    for size, scale in [(2, 0.1), (4, 1.0), (8, 3.0), (20, 1.0), (3, 30.0), (1, 5.0)] * 10:
        a = scale * rng.standard_normal((size, size)) / np.sqrt(size)
        a = (a if dtype == "float32" else a + 1j * rng.standard_normal(a.shape)).astype(dtype)
        exact = torch.matrix_exp(torch.from_numpy(a.astype("complex128"))).numpy()
        largest = abs(exact).max()
        ours += abs(mg.matrix_exp(mg.tensor(a)).numpy() - exact).max() / largest
        theirs += abs(torch.matrix_exp(torch.from_numpy(a)).numpy() - exact).max() / largest
    assert ours < theirs, (ours, theirs)


def test_lu_without_pivots_keeps_the_order_of_rows() -> None:
    matrix = np.array([[4.0, 3, 2], [8, 8, 5], [4, 7, 9]])
    P, L, U = mg.linalg.lu(mg.tensor(matrix), pivot=False)
    assert P.tolist() == np.eye(3).tolist()
    assert L.tolist() == [[1, 0, 0], [2, 1, 0], [1, 2, 1]]
    assert U.tolist() == [[4, 3, 2], [0, 2, 1], [0, 0, 5]]
    assert mg.linalg.lu_factor(mg.tensor(matrix), pivot=False).pivots.tolist() == [1, 2, 3]


def test_eigenvectors_belong_to_eigenvalues() -> None:
    for array in (A, C, np.zeros((2, 0, 0)), A.astype("float32")):
        w, V = mg.linalg.eig(mg.tensor(array))
        assert w.dtype == V.dtype == ("complex64" if array.dtype == np.float32 else "complex128")
        np.testing.assert_allclose(
            (mg.tensor(array).to(V.dtype) @ V).numpy(), (V * w.unsqueeze(-2)).numpy(), atol=1e-5
        )
        np.testing.assert_allclose(
            mg.linalg.vector_norm(V, dim=-2).numpy(), np.ones(w.shape), atol=1e-5
        )


def test_only_the_sum_of_equal_eigenvalues_is_differentiated() -> None:
    """Their sum has a derivative; single eigenvectors have none, and the gradient does not
    pretend.
    """
    x = mg.eye(3, dtype="float64", requires_grad=True)
    (g,) = mg.autograd.grad(mg.real(mg.linalg.eigvals(x)).sum(), x)
    np.testing.assert_allclose(g.numpy(), np.eye(3), atol=1e-14)
    (g,) = mg.autograd.grad(
        mg.real(mg.linalg.eig(x).eigenvectors * mg.tensor(np.arange(9.0).reshape(3, 3))).sum(), x
    )
    assert not np.isfinite(g.numpy()).all()


def test_singular_matrices_are_reported_by_info() -> None:
    x = mg.tensor(SINGULAR, requires_grad=True)
    inverse, info = mg.linalg.inv_ex(x)
    assert info.tolist() == [2, 0] and info.dtype == mg.int32 and mg.isnan(inverse[0]).all()
    np.testing.assert_allclose(inverse[1].detach().numpy(), np.linalg.inv(SINGULAR[1]))
    inverse[1].sum().backward()
    assert np.isfinite(x.grad.numpy()).all() and not x.grad[0].any()
    assert mg.linalg.solve_ex(x, mg.ones(2, dtype="float64")).info.tolist() == [2, 0]
    for call in (
        mg.linalg.inv_ex,
        mg.linalg.lu_factor_ex,
        lambda x, **k: mg.linalg.solve_ex(x, mg.ones(2, dtype="float64"), **k),
    ):
        with pytest.raises(LinAlgError, match="singular"):
            call(x, check_errors=True)
    with pytest.raises(LinAlgError, match="not positive definite"):
        mg.linalg.cholesky_ex(-x, check_errors=True)
    assert mg.linalg.cholesky_ex(-x).info.tolist() == [1, 1]
    assert mg.isnan(mg.linalg.cholesky_ex(-x).L).all()
