"""Wrong calls say what is wrong: the function, the argument, the sizes."""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import DTypeError, InPlaceError, LinAlgError, ShapeError
from tests.helpers.tables import in_one_test

X = mg.tensor(np.arange(12.0).reshape(3, 4))
I = mg.tensor([[0, 1, 2, 0]])

WRONG = {
    "max dim": (lambda: mg.max(X, 2), IndexError, "dimension 2 is out of range"),
    "max empty": (lambda: mg.max(mg.zeros(0, 3), 0), IndexError, "dimension 0 is empty"),
    "max complex": (lambda: mg.max(X.to(mg.complex128), 0), DTypeError, "real numbers only"),
    "median": (lambda: mg.median(I[:, :0]), ValueError, "median: there is no element, and int64"),
    "topk": (lambda: mg.topk(X, 5), RuntimeError, r"k = 5 is out of range.*\(3, 4\) has 4"),
    "kthvalue": (lambda: mg.kthvalue(X, 0), RuntimeError, "k = 0"),
    "sort dim": (lambda: mg.sort(X, 5), IndexError, "argsort: dimension 5"),
    "searchsorted": (lambda: mg.searchsorted(X, mg.zeros(2, 2)), ShapeError,
        r"\(3, 4\) and \(2, 2\)"),
    "searchsorted side": (lambda: mg.searchsorted(X[0], X, side="up"), ValueError,
        '"left" or "right"'),
    "cumsum dim": (lambda: mg.cumsum(X, 2), IndexError, "cumsum: dimension 2"),
    "cumsum none": (lambda: mg.cumsum(X), TypeError, "cumsum: a dimension must be an int"),
    "logcumsumexp int": (lambda: mg.logcumsumexp(I, 0), DTypeError,
        "logcumsumexp: needs a floating"),
    "var int": (lambda: mg.var(I), DTypeError, "var: needs a floating"),
    "norm int": (lambda: mg.norm(I), DTypeError, "norm: needs a floating"),
    "einsum operands": (lambda: mg.einsum("ij,jk", X), ValueError, "describes 2 operands, got 1"),
    "einsum numbered": (lambda: mg.einsum(X, [0, 52]), ValueError, "numbered 0 to 51.* got 52"),
    "einsum neither": (lambda: mg.einsum(X, X), TypeError,
        "an equation and operands, or each operand followed by a list"),
    "einsum sizes": (lambda: mg.einsum("ij,jk", X, X), ShapeError, "axis 'j' has sizes 4 and 3"),
    "einsum rank": (lambda: mg.einsum("ijk", X), ValueError,
        r"names 3 axes, operand 0 has shape \(3, 4\)"),
    "einsum letters": (lambda: mg.einsum("i1", X), ValueError, "letters"),
    "einsum output": (lambda: mg.einsum("ij->ik", X), ValueError, "must name axes of the operands"),
    "einsum output twice": (lambda: mg.einsum("ij->ii", X), ValueError, "each once"),
    "dot": (lambda: mg.dot(X, X[0]), ShapeError, "a must have 1 dimension, got"),
    "dot sizes": (lambda: mg.dot(X[0], X[:, 0]), ShapeError, "inner sizes 4 and 3"),
    "mm": (lambda: mg.mm(X, X), ShapeError, "inner sizes 4 and 3"),
    "bmm": (lambda: mg.bmm(X.reshape(1, 3, 4), mg.zeros(2, 4, 3)), ShapeError, "1 and 2 matrices"),
    "tensordot": (lambda: mg.tensordot(X, X, 1), ShapeError, "different sizes"),
    "cross": (lambda: mg.cross(X, X, 1), RuntimeError, "must have size 3"),
    "narrow": (lambda: mg.narrow(X, 1, 3, 2), IndexError,
        "start 3 and length 2 do not fit dimension 1 of size 4"),
    "select": (lambda: X.select(0, 3), IndexError, "index 3 is out of range"),
    "split": (lambda: mg.split(X, [1, 1], 1), RuntimeError, "add up to 4"),
    "split zero": (lambda: mg.split(X, 0), RuntimeError, "must be positive"),
    "chunk": (lambda: mg.chunk(X, 0), RuntimeError, "at least 1"),
    "unbind number": (lambda: mg.unbind(mg.tensor(1.0)), IndexError, "0-d"),
    "repeat": (lambda: X.repeat(2), ShapeError, "a count, not negative, for each dimension"),
    "repeat_interleave": (lambda: mg.repeat_interleave(X, [1, 2], 0), ShapeError,
        "each of the 3 elements"),
    "rot90": (lambda: mg.rot90(X, 1, (0, 0)), RuntimeError, "must differ"),
    "roll": (lambda: mg.roll(X, (1, 2), 0), RuntimeError, "2 shifts for 1"),
    "unflatten": (lambda: X.unflatten(1, (3, -1)), ShapeError, "do not fit dimension 1 of size 4"),
    "broadcast": (lambda: mg.broadcast_tensors(X, mg.zeros(3)), ShapeError, "sizes"),
    "meshgrid": (lambda: mg.meshgrid(X), ShapeError, "vectors or numbers"),
    "index_select range": (lambda: mg.index_select(X, 0, [0, 3]), IndexError,
        "index 3 is out of range for a dimension of size 3"),
    "index_select negative": (lambda: mg.index_select(X, 0, [-1]), IndexError, "index -1"),
    "index_select float": (lambda: mg.index_select(X, 0, [0.5]), DTypeError,
        "must hold integers, got float32"),
    "index_select rank": (lambda: mg.index_select(X, 0, I), ShapeError, "must be a vector"),
    "gather rank": (lambda: mg.gather(X, 0, I[0]), ShapeError, "same number of dimensions"),
    "gather size": (lambda: mg.gather(X, 1, mg.zeros(4, 1, dtype="int64")), ShapeError,
        r"index of shape \(4, 1\) is larger than x"),
    "gather size before range": (lambda: mg.gather(X, 0, I.reshape(1, 4).repeat(1, 2) + 7),
        ShapeError, "larger than x .* in dimension 1"),
    "flip twice": (lambda: X.flip((0, -2)), RuntimeError, "flip: dimension named more than once"),
    "flip number": (lambda: mg.tensor(1.0).flip(1), IndexError,
        "flip: dimension 1 is out of range"),
    "size below zero": (lambda: mg.randn(2, -1), ShapeError,
        r"sizes must be at least 0, got \(2, -1\)"),
    "randint below zero": (lambda: mg.randint(0, 3, (-1,)), ShapeError, "sizes must be at least 0"),
    "steps below zero": (lambda: mg.linspace(0, 1, -3), ShapeError,
        "sizes must be at least 0, got"),
    "eye below zero": (lambda: mg.eye(2, -3), ShapeError,
        r"sizes must be at least 0, got \(2, -3\)"),
    "size not whole": (lambda: mg.zeros(2.5), TypeError, "sizes must be whole numbers, got 2.5"),
    "gather range": (lambda: mg.gather(X, 0, I + 2), IndexError, "index 4"),
    "take": (lambda: mg.take(X, [12]), IndexError, "size 12"),
    "masked_fill": (lambda: X.masked_fill(X, 0), DTypeError, "mask must be boolean"),
    "masked_fill value": (lambda: X.masked_fill(X > 0, X), ShapeError, "0-d tensor"),
    "masked_scatter": (lambda: X.masked_scatter(X >= 0, X[0]), ShapeError, "true 12 times"),
    "index_add shape": (lambda: mg.index_add(X, 0, [0], X), ShapeError,
        r"source must have shape \(1, 4\), got \(3, 4\)"),
    "index_add dtype": (lambda: mg.index_add(X, 0, [0], mg.ones(1, 4)), DTypeError,
        "dtype of x, float64, got float32"),
    "scatter nothing": (lambda: mg.scatter(X, 0, I), TypeError, "src"),
    "scatter src": (lambda: mg.scatter(X, 0, I, X[:, :2]), ShapeError, "larger than src"),
    "scatter reduce": (lambda: mg.scatter(X, 0, I, X, reduce="max"), ValueError, '"add"'),
    "put": (lambda: X.put([1, 2], X[0]), ShapeError, "2 indices for 4"),
    "tril": (lambda: mg.tril(X[0]), ShapeError, "at least 2"),
    "diagonal": (lambda: mg.diagonal(X, 0, 1, -1), RuntimeError, "must differ"),
    "trace": (lambda: X[0].trace(), ShapeError, "needs a matrix"),
    "inv singular": (lambda: mg.linalg.inv(mg.ones(2, 2)), LinAlgError,
        r"linalg.inv of shape \(2, 2\): Singular matrix.*pinv"),
    "inv square": (lambda: mg.linalg.inv(X), ShapeError, "must be square, got 3 by 4"),
    "inv int": (lambda: mg.linalg.inv(I), DTypeError, "float32, float64 or complex"),
    "inv half": (lambda: mg.linalg.inv(mg.ones(2, 2, dtype="float16")), DTypeError, "got float16"),
    "inv vector": (lambda: mg.linalg.inv(X[0]), ShapeError, "at least 2 dimensions"),
    "solve shapes": (lambda: mg.linalg.solve(mg.eye(3), mg.ones(4)), ShapeError, "does not fit"),
    "solve singular": (lambda: mg.linalg.solve(mg.ones(2, 2), mg.ones(2)), LinAlgError, "singular"),
    "cholesky": (lambda: mg.linalg.cholesky(-mg.eye(2)), LinAlgError, "not positive definite"),
    "qr mode": (lambda: mg.linalg.qr(X, "full"), ValueError, "mode"),
    "matrix_norm": (lambda: mg.linalg.matrix_norm(X, 3), ValueError, "ord must be"),
}  # fmt: skip


@in_one_test
@pytest.mark.parametrize("name", WRONG)
def test_the_message_names_function_argument_and_sizes(name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        call()


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
