"""The tolerances of the pseudo-inverse and the choices of `qr`, as PyTorch has them."""

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test

DIAGONAL = np.diag([4.0, 2.0, 1.0, 0.5])


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {"atol": 0.9},
        {"rtol": 0.3},
        {"atol": 0.9, "rtol": 0.3},
        {"atol": 1.0, "rtol": 0.0},
        {"atol": 1.0},
        {"atol": 0.0},
        {"rtol": 0.25},
    ],
)
def test_which_singular_values_count(torch, settings: dict[str, float], hermitian: bool) -> None:
    ours = mg.tensor(-DIAGONAL, requires_grad=True)
    theirs = torch.tensor(-DIAGONAL, requires_grad=True)
    for library, x in ((mg, ours), (torch, theirs)):
        y = library.linalg.pinv(x, hermitian=hermitian, **settings)
        (y * (y + 1)).sum().backward()
    np.testing.assert_allclose(
        mg.linalg.pinv(ours, hermitian=hermitian, **settings).detach().numpy(),
        torch.linalg.pinv(theirs, hermitian=hermitian, **settings).detach().numpy(),
        atol=1e-12,
    )
    if not hermitian:
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), atol=1e-12)


@pytest.mark.oracle
def test_a_tolerance_for_each_matrix(torch) -> None:
    stack = np.random.default_rng(0).standard_normal((3, 2, 4, 3))
    least = np.linspace(0.1, 1.5, 6).reshape(3, 2)
    ours, theirs = mg.tensor(stack), torch.tensor(stack)
    for names in (("atol",), ("rtol",), ("atol", "rtol")):
        mine = mg.linalg.pinv(ours, **{name: mg.tensor(least) for name in names})
        other = torch.linalg.pinv(theirs, **{name: torch.tensor(least) for name in names})
        np.testing.assert_allclose(mine.numpy(), other.numpy(), atol=1e-12)
    one = mg.linalg.pinv(ours, atol=mg.tensor(0.7)).numpy()
    np.testing.assert_allclose(one, torch.linalg.pinv(theirs, atol=0.7).numpy(), atol=1e-12)
    assert mg.linalg.pinv(mg.zeros(0, 4, 3), atol=mg.zeros(0)).shape == (0, 3, 4)


def test_a_complex_matrix_and_its_derivative() -> None:
    rng = np.random.default_rng(1)
    x = mg.tensor(
        rng.standard_normal((4, 3)) + 1j * rng.standard_normal((4, 3)), requires_grad=True
    )
    np.testing.assert_allclose(
        mg.linalg.pinv(x, atol=0.01).detach().numpy(),
        np.linalg.pinv(x.detach().numpy()),
        atol=1e-12,
    )
    assert mg.autograd.gradcheck(lambda x: mg.linalg.pinv(x, atol=0.01), [x])


@pytest.mark.oracle
@pytest.mark.parametrize("some", [True, False])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 3, 3)])
def test_some_columns_or_all(torch, some: bool, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).standard_normal(shape)
    expected = torch.linalg.qr(torch.tensor(x), "reduced" if some else "complete")
    for Q, R in (
        mg.qr(mg.tensor(x), some=some),
        mg.qr(mg.tensor(x), some),
        mg.tensor(x).qr(some),
        mg.linalg.qr(mg.tensor(x), some=some),
    ):
        assert tuple(Q.shape) == tuple(expected.Q.shape)
        assert tuple(R.shape) == tuple(expected.R.shape)
        np.testing.assert_allclose((Q @ R).numpy(), x, atol=1e-12)
