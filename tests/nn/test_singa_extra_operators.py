"""SINGA's operators beyond those of its documentation, and the documentation's names of
arguments.
"""

# tables: one case a line

import inspect
import pickle

import numpy as np
import pytest
from minigrad.tensor import Tensor

import minigrad as mg
from minigrad import autograd
from minigrad.singa import NAMES, OTHER_NAMES
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import normal

A, B, ROW, COLUMN = normal(3, 4), normal(3, 4, seed=1), normal(4), normal(3, 1)
IMAGE = normal(2, 8, 2, 3)
HALVES = np.array([-2.5, -1.5, -0.5, -0.2, 0.0, 0.5, 0.8, 1.5, 2.5])
P, Q = abs(A) % 0.9 + 0.05, abs(B) % 0.9 + 0.05
DEEP, WIDE = np.arange(16.0).reshape(1, 8, 1, 2), np.arange(16.0).reshape(1, 2, 2, 4)


def scattered(x, index, updates, axis):
    y = x.copy()
    np.put_along_axis(y, index, updates, axis)
    return y


TABLE = {
    # name: list of (positional arguments, keyword arguments, what NumPy says)
    "add_all": [((A, B, ROW, COLUMN), {}, A + B + ROW + COLUMN), ((A,), {}, A)],
    "binary_cross_entropy": [((P, Q), {}, -(Q * np.log(P) + (1 - Q) * np.log(1 - P)).sum() / 3),
        ((P[0], Q[0]), {}, -(Q * np.log(P) + (1 - Q) * np.log(1 - P))[0].sum() / 4)],
    "depth_to_space": [
        ((IMAGE, 2), {}, IMAGE.reshape(2, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(2, 2,
            4, 6)),
        ((IMAGE, 2, "CRD"), {},
            IMAGE.reshape(2, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 4, 6)),
        ((DEEP, 2), {"mode": "dcr"},
            [[[[0, 4, 1, 5], [8, 12, 9, 13]], [[2, 6, 3, 7], [10, 14, 11, 15]]]]),
        ((DEEP, 2), {"mode": "CRD"},
            [[[[0, 2, 1, 3], [4, 6, 5, 7]], [[8, 10, 9, 11], [12, 14, 13, 15]]]]),
        ((IMAGE, 1), {}, IMAGE),
    ],
    "space_to_depth": [
        ((WIDE, 2), {}, [[[[0, 2]], [[8, 10]], [[1, 3]], [[9, 11]], [[4, 6]], [[12, 14]], [[5, 7]],
            [[13, 15]]]]),
        ((WIDE, 2, "CRD"), {},
            [[[[0, 2]], [[1, 3]], [[4, 6]], [[5, 7]], [[8, 10]], [[9, 11]], [[12, 14]],
                [[13, 15]]]]),
    ],
    "embedding": [((np.array([[0, 2], [2, 1]]), A), {}, A[[[0, 2], [2, 1]]]),
        ((np.array([1.0, 0.0]), A), {}, A[[1, 0]])],
    "expand": [((COLUMN, [2, 1, 4]), {}, COLUMN * np.ones((2, 1, 4))),
        ((COLUMN, (3, 4)), {}, COLUMN * np.ones((3, 4))), ((A, [1]), {}, A), ((A, [3, 1]), {}, A),
        ((np.array(0.3), [2]), {}, np.array([0.3, 0.3]))],
    "floor": [((A,), {}, np.floor(A))],
    "pad": [
        ((A, "constant", [0, 2, 1, 0]), {}, np.pad(A, [(0, 1), (2, 0)])),
        ((A, "constant", [1, 0, 0, 1], 2.5), {}, np.pad(A, [(1, 0), (0, 1)], constant_values=2.5)),
        ((A, "edge", [1, 2, 3, 0]), {}, np.pad(A, [(1, 3), (2, 0)], mode="edge")),
        # farther than once across
        ((A, "reflect", [7, 2, 5, 0]), {}, np.pad(A, [(7, 5), (2, 0)], mode="reflect")),
        ((A, "wrap", [7, 2, 5, 0]), {}, np.pad(A, [(7, 5), (2, 0)], mode="wrap")),
        ((A[:1], "reflect", [2, 0, 1, 0]), {}, np.pad(A[:1], [(2, 1), (0, 0)], mode="reflect")),
        ((A, "constant", [-1, 1, 0, -2]), {}, np.pad(A[1:, :2], [(0, 0), (1, 0)])),
        ((A, "reflect", [-1, 2, 1, -1]), {}, np.pad(A[1:, :3], [(0, 1), (2, 0)], mode="reflect")),
        ((A, "edge", [0, -4, 0, 0]), {}, A[:, 4:]),
    ],
    "ranking_loss": [((P, Q), {}, np.maximum(0.2 - P + Q, 0).mean()),
        ((P, Q), {"M": 0.9}, np.maximum(0.9 - P + Q, 0).mean())],
    "round": [((HALVES,), {}, np.array([-3.0, -2.0, -1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0])),
        ((np.array([7, -2]),), {}, np.array([7, -2]))],
    "rounde": [((HALVES,), {}, np.array([-2.0, -2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0]))],
    "scatter_elements": [
        ((A, np.array([[2, 0, 1, 0], [0, 1, -1, 1]]), B[:2]), {},
            scattered(A, np.array([[2, 0, 1, 0], [0, 1, 2, 1]]), B[:2], 0)),
        ((A, np.array([[3, -4], [1, 2], [-1, 0]]), B[:, :2]), {"axis": -1},
            scattered(A, np.array([[3, 0], [1, 2], [3, 0]]), B[:, :2], 1)),
    ],
    "upsample": [((IMAGE, "nearest", [1, 1, 2, 3]), {}, IMAGE.repeat(2, 2).repeat(3, 3)),
        ((A, "NEAREST", np.array([3.0, 1.0])), {}, A.repeat(3, 0)),
        ((IMAGE, "nearest", [2, 1, 1, 1]), {}, IMAGE.repeat(2, 0))],
    "where": [((A, ROW, B > 0), {}, np.where(B > 0, A, ROW)),
        ((A, 0.5 * B, np.array([[1.0], [0.0], [-3.0]])), {},
            np.where([[True], [False], [True]], A, 0.5 * B)),
            ((A, B, [True, False, True, False]), {}, np.where([True, False, True, False], A, B))],
}  # fmt: skip
OWN_TESTS = {"erf", "gradients"}
CALLS = [(name, i) for name, calls in TABLE.items() for i in range(len(calls))]


def test_all_are_tested() -> None:
    assert set(TABLE) | OWN_TESTS == set(OTHER_NAMES)


@in_one_test
@pytest.mark.parametrize(("name", "number"), CALLS, ids=[f"{n}-{i}" for n, i in CALLS])
def test_each_operator_and_its_derivatives_are_right(name: str, number: int) -> None:
    """Values, and derivatives in all arguments with fractions, against central differences."""
    args, kwargs, want = TABLE[name][number]
    function = getattr(autograd, name)
    fractions = [
        isinstance(a, np.ndarray) and a.dtype.kind == "f" and bool((a != np.round(a)).any())
        for a in args
    ]
    inputs = [
        mg.tensor(a, requires_grad=f) if isinstance(a, np.ndarray) else a
        for a, f in zip(args, fractions, strict=True)
    ]
    if name == "upsample":
        inputs[2] = args[2]
    y, want = function(*inputs, **kwargs), np.asarray(want)
    assert y.shape == want.shape
    np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-12, atol=1e-12)
    variables = [x for x, f in zip(inputs, fractions, strict=True) if f]
    if not variables or name in ("round", "rounde"):
        return

    def through(*values):
        rest = iter(values)
        return function(
            *[next(rest) if f else x for x, f in zip(inputs, fractions, strict=True)], **kwargs
        )

    assert autograd.gradcheck(through, variables, eps=1e-6, atol=1e-6)


def test_rounding_has_a_derivative_of_zero_and_keeps_what_is_no_number() -> None:
    for function in (autograd.round, autograd.rounde, autograd.floor):
        x = mg.tensor([0.3, 2.6], requires_grad=True)
        function(x).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0]
    y = autograd.round(mg.tensor([np.nan, np.inf, -np.inf, 1e30, 0.49999997]))
    assert np.isnan(y[0].item())
    assert y[1:].tolist() == [np.inf, -np.inf, mg.tensor(1e30).item(), 0.0]
    assert y.dtype == mg.float32


def test_erf_is_differentiated_in_x() -> None:
    x = mg.tensor([0.3, -1.7], requires_grad=True, dtype="float64")
    y = autograd.erf(x)
    np.testing.assert_allclose(
        y.detach().numpy(), [0.32862675945912745, -0.9837904585907746], rtol=1e-12
    )
    (y * mg.tensor([2.0, 3.0], dtype="float64")).sum().backward()
    np.testing.assert_allclose(
        x.grad.numpy(),
        np.array([2, 3]) * 2 / np.sqrt(np.pi) * np.exp(-(np.array([0.3, -1.7]) ** 2)),
        rtol=1e-12,
    )


def test_gradients_names_what_stores_its_gradient() -> None:
    w = Tensor(data=np.array([1.0, 2.0]), requires_grad=True, stores_grad=True)
    x = Tensor(data=np.array([3.0, 5.0]), requires_grad=True, stores_grad=False)
    found = autograd.gradients((w * x).sum())
    assert set(found) == {id(w)} and found[id(w)].tolist() == [3.0, 5.0]
    assert autograd.gradients((w * x).sum(), 0.5)[id(w)].tolist() == [1.5, 2.5]
    assert autograd.gradients(w * x, mg.tensor([1.0, -1.0]))[id(w)].tolist() == [3.0, -5.0]


def test_empty_operands_give_empty_results() -> None:
    assert autograd.upsample(mg.zeros(0, 2), "nearest", [3, 2]).shape == (0, 4)
    assert autograd.pad(mg.zeros(0, 2), "constant", [1, 0, 0, 0]).tolist() == [[0.0, 0.0]]
    assert autograd.pad(mg.zeros(0, 2), "edge", [0, 1, 0, 0]).shape == (0, 3)
    assert autograd.expand(mg.zeros(0), [2, 1]).shape == (2, 0)
    assert autograd.depth_to_space(mg.zeros(0, 4, 2, 2), 2).shape == (0, 1, 4, 4)
    assert autograd.scatter_elements(
        mg.ones(2, 2), mg.zeros(0, 2, dtype="int64"), mg.zeros(0, 2)
    ).tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("names", "arguments"),
    [
        ("less greater Equal Mul pow sub div _and _or _xor", ["x", "y"]),
        ("add add_bias", ["x", "b"]),
        ("matmul", ["x", "w"]),
        ("prelu", ["x", "slope"]),
        (
            "abs acos acosh asin asinh atan atanh ceil cos cosh exp log negative reciprocal relu sigmoid sign sin sinh SoftPlus SoftSign sqrt tan tanh _not",  # noqa: E501
            ["x"],
        ),
        ("cross_entropy softmax_cross_entropy MeanSquareError", ["y", "t"]),
        ("reshape transpose", ["x", "shape"]),
        ("reduceSum reduceMean", ["x", "axes", "keepdims"]),
        ("dropout", ["x", "ratio"]),
        ("slice", ["x", "starts", "ends", "axes", "steps"]),
    ],
)
def test_arguments_have_the_names_of_the_documentation(names: str, arguments: list[str]) -> None:
    for name in names.split():
        assert (
            list(inspect.signature(getattr(autograd, name)).parameters)[: len(arguments)]
            == arguments
        ), name
    np.testing.assert_array_equal(autograd.sub(y=mg.tensor(ROW), x=mg.tensor(A)).numpy(), A - ROW)
    np.testing.assert_array_equal(autograd.less(y=mg.tensor(ROW), x=mg.tensor(A)).numpy(), A < ROW)


def test_operators_know_their_names() -> None:
    """So pickle and error messages find them."""
    for name in [*NAMES, *OTHER_NAMES]:
        assert pickle.loads(pickle.dumps(getattr(autograd, name))) is getattr(autograd, name)
