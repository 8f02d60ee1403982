"""What PyTorch cannot vouch for: derivatives against central differences, at zeros of products and
of both orders, and of batches under vmap.
"""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import func
from minigrad.autograd import gradcheck, gradgradcheck
from tests.helpers.tables import in_one_test

R = np.random.default_rng(3)
A = R.standard_normal((2, 3, 3))
C = A + 1j * R.standard_normal((2, 3, 3))
adjoint = lambda x: mg.conj(x.mT)

SMOOTH = {
    "inv": mg.linalg.inv,
    "det": mg.linalg.det,
    "slogdet": mg.linalg.slogdet,
    "cholesky": lambda x: mg.linalg.cholesky(x @ adjoint(x) + mg.eye(3, dtype=x.dtype)),
    "qr tall": lambda x: mg.linalg.qr(x[..., :2]),
    "qr wide": lambda x: mg.linalg.qr(x[..., :2, :]),
    "eigh": lambda x: [abs(v) for v in mg.linalg.eigh(x + adjoint(x))],
    "eigh upper": lambda x: abs(mg.linalg.eigh(x @ adjoint(x), "U")[1]),
    "svd tall": lambda x: [abs(v) for v in mg.linalg.svd(x[..., :2], full_matrices=False)],
    "svd wide": lambda x: [abs(v) for v in mg.linalg.svd(x[..., :2, :], full_matrices=False)],
    "polar": lambda x: (lambda r: r.U @ r.Vh)(mg.linalg.svd(x[..., :2], full_matrices=False)),
    "pinv": lambda x: mg.linalg.pinv(x[..., :2]),
    "matrix_exp": lambda x: mg.linalg.matrix_exp(x * 3),
    "solve": lambda x: mg.linalg.solve(x, x[0, :2].mT),
    "lu": lambda x: mg.linalg.lu(x)[1:],
    "lu wide": lambda x: mg.linalg.lu(x[..., :2, :])[1:],
    "lu tall": lambda x: mg.linalg.lu(x[..., :2])[1:],
    "lu_solve": lambda x: mg.linalg.lu_solve(*mg.linalg.lu_factor(x), x[..., :2]),
    "eigvals": mg.linalg.eigvals,
    "eig": lambda x: mg.abs(mg.linalg.eig(x).eigenvectors),
    "ormqr": lambda x: mg.ormqr(x[..., :2], x[..., 0, :2], x),
    "cumprod": lambda x: mg.cumprod(x, -1),
    "prod": lambda x: mg.prod(x, (0, 2)),
    "einsum": lambda x: mg.einsum("bij,bkj,bii->ik", x, x, x),
    "var": lambda x: mg.var(x, (0, 1)),
    "norm": lambda x: mg.norm(x, 3, -1),
}


def one_or_more(name: str):
    """The function, with a tuple for a result of several."""
    return lambda x: (lambda y: tuple(y) if isinstance(y, tuple | list) else y)(SMOOTH[name](x))


@in_one_test
@pytest.mark.parametrize("array", [A, C[:1]], ids=["real", "complex"])
@pytest.mark.parametrize("name", SMOOTH)
def test_against_central_differences(name: str, array) -> None:
    x = mg.tensor(array, requires_grad=True)
    assert gradcheck(one_or_more(name), [x], check_forward_ad=True, fast_mode=True)


@in_one_test
@pytest.mark.parametrize("array", [A[:1], C[:1]], ids=["real", "complex"])
@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_against_central_differences(name: str, array) -> None:
    x = mg.tensor(array, requires_grad=True)
    assert gradgradcheck(one_or_more(name), [x], fast_mode=True)


@pytest.mark.parametrize(
    "values", [[2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [1.5, -2.0, 0.0]]
)
def test_products_with_zeros(values) -> None:
    """First and second derivatives by central differences: a product is a polynomial, so they
    are exact up to rounding.
    """
    x = mg.tensor(np.array(values), requires_grad=True)
    for function in (mg.prod, lambda x: mg.cumprod(x, 0)):
        assert gradcheck(function, [x], check_forward_ad=True)
        assert gradgradcheck(function, [x])
    third = func.hessian(lambda x: func.grad(mg.prod)(x).sum())(mg.tensor(np.array(values)))
    # ∂²/∂x² of Σ_i Π_{j≠i} x_j for three factors
    want = np.array([[0.0, 1, 1], [1, 0, 1], [1, 1, 0]])
    np.testing.assert_allclose(third.numpy(), want, atol=1e-12)


@pytest.mark.parametrize(
    "matrix", [np.zeros((3, 3)), np.diag([1.0, 0, 0]), np.diag([1.0, 2, 0]), np.ones((3, 3))]
)
def test_gradient_of_det_at_singular_matrices(matrix) -> None:
    x = mg.tensor(matrix, requires_grad=True)
    (g,) = mg.autograd.grad(mg.linalg.det(x), x)
    minor = lambda i, j: (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(matrix, i, 0), j, 1))
    np.testing.assert_allclose(
        g.numpy(), [[minor(i, j) for j in range(3)] for i in range(3)], atol=1e-12
    )


def test_equal_eigenvalues_have_a_derivative_of_their_sum_alone() -> None:
    """Their sum has a derivative; single eigenvectors have none, and the gradient does not
    pretend.
    """
    x = mg.eye(3, dtype="float64", requires_grad=True)
    (g,) = mg.autograd.grad(mg.linalg.eigvalsh(x).sum(), x)
    np.testing.assert_allclose(g.numpy(), np.eye(3), atol=1e-14)
    vectors = mg.linalg.eigh(x).eigenvectors
    (g,) = mg.autograd.grad((vectors * mg.tensor(np.arange(9.0).reshape(3, 3))).sum(), x)
    assert not np.isfinite(g.numpy()).all()


def test_sinc_near_zero() -> None:
    """The series and the quotient meet, and the second derivative at 0 is -π²/3."""
    f = lambda x: mg.sinc(x).sum()
    second = lambda x: func.hessian(f)(mg.tensor(np.array([x]))).item()
    assert math.isclose(second(0.0), -(math.pi**2) / 3, rel_tol=1e-14)
    edge = 0.5 / math.pi
    assert math.isclose(second(edge - 1e-9), second(edge + 1e-9), rel_tol=1e-7)
    x = np.array([edge - 1e-13, edge + 1e-13])
    np.testing.assert_allclose(mg.sinc(mg.tensor(x)).numpy(), np.sinc(x), rtol=1e-15)


def test_logsumexp_and_logcumsumexp_do_not_overflow() -> None:
    x = mg.tensor(np.array([1e4, -1e4, 1e4]), requires_grad=True)
    y = mg.logsumexp(x, 0)
    assert y.item() == 1e4 + math.log(2)
    np.testing.assert_allclose(mg.autograd.grad(y, x)[0].numpy(), [0.5, 0.0, 0.5], rtol=1e-11)
    assert mg.logcumsumexp(x, 0).tolist() == [1e4, 1e4, 1e4 + math.log(2)]
    nothing = mg.tensor(np.array([-np.inf, -np.inf, 0.0]), requires_grad=True)
    y = mg.logcumsumexp(nothing, 0)
    assert y.tolist() == [-np.inf, -np.inf, 0.0]
    assert mg.autograd.grad(y[2], nothing)[0].tolist() == [0.0, 0.0, 1.0]


def test_an_empty_part_of_cat_has_an_empty_gradient() -> None:
    empty, x = mg.zeros(0, requires_grad=True), mg.ones(2, requires_grad=True)
    for parts in ([empty, x], [x, empty], [empty], [empty, empty]):
        y = mg.cat(parts)
        assert y.requires_grad
        assert [g.shape for g in mg.autograd.grad(y.sum(), parts)] == [p.shape for p in parts]
