"""Errors of singular matrices, of views that belong together, and of subclasses."""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import InPlaceError, LinAlgError

X = mg.tensor(np.arange(12.0).reshape(3, 4))


def test_gradient_of_slogdet_at_a_singular_matrix_is_an_error() -> None:
    x = mg.ones(2, 2, requires_grad=True)
    assert mg.linalg.slogdet(x).logabsdet.item() == -np.inf
    with pytest.raises(LinAlgError, match="singular"):
        mg.linalg.slogdet(x).logabsdet.backward()


def test_second_derivative_of_det_at_a_singular_matrix_is_an_error() -> None:
    x = mg.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    (g,) = mg.autograd.grad(mg.linalg.det(x), x, create_graph=True)
    np.testing.assert_allclose(g.tolist(), [[4, -2], [-2, 1]], atol=1e-6)
    with pytest.raises(LinAlgError, match="singular"):
        mg.autograd.grad(g.sum(), x)


def test_one_of_several_views_is_not_changed_in_place() -> None:
    """`split`, `chunk` and `unbind` give several views at once; `narrow` and `tensor_split` give
    views like any other.
    """
    for make in (lambda x: x.split(2, 1), lambda x: x.chunk(2, 1), lambda x: x.unbind(1)):
        x = X.clone().requires_grad_() * 1
        with pytest.raises(InPlaceError, match="one of several outputs"):
            make(x)[0].mul_(2)
    leaf = X.clone().requires_grad_()
    x = leaf * 1
    x.tensor_split(2, 1)[0].mul_(2)
    x.narrow(0, 0, 1).mul_(3)
    x.sum().backward()
    assert leaf.grad.tolist() == [[6, 6, 3, 3], [2, 2, 1, 1], [2, 2, 1, 1]]


def test_a_subclass_that_operations_would_not_know_is_refused() -> None:
    with pytest.raises(TypeError, match=r"class Weight\(Tensor\).*attribute"):
        type("Weight", (mg.Tensor,), {})
    known = type(
        "Known",
        (mg.Tensor,),
        {"__minigrad_apply__": staticmethod(lambda primitive, operands, params: primitive.name)},
    )
    assert known(1.0) + 1 == "add"


def test_a_matrix_that_holds_nan_is_not_called_singular() -> None:
    a = mg.tensor([[math.nan, 1.0], [1.0, 2.0]], requires_grad=True)
    for call in (
        lambda: mg.linalg.det(a).backward(),
        lambda: mg.linalg.svd(a),
        lambda: mg.linalg.pinv(a),
        lambda: mg.linalg.eig(a.detach()),
    ):
        with pytest.raises(LinAlgError, match="look for NaN or infinity in the matrix") as caught:
            call()
        assert "singular" not in str(caught.value)
