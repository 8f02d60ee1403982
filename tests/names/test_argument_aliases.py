"""Arguments by name: PyTorch's documented names and NumPy's axis and keepdims, beside the
functions' own.

Each program is written once and run with `m` = minigrad and, where it is installed, `m` = torch:
both must give the stated answer.
"""

import pickle

import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test


@pytest.fixture(params=["minigrad", pytest.param("torch", marks=pytest.mark.oracle)])
def m(request):
    """The library under examination."""
    return mg if request.param == "minigrad" else request.getfixturevalue("torch")


X = [[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]]

CALLS = {
    "input": (lambda m, x: m.exp(input=x).log().round(), X),
    "input and other": (lambda m, x: m.mul(input=x, other=x), [[9, 1, 4], [0, 25, 16]]),
    "other alone": (lambda m, x: m.sub(x, other=x, alpha=2), [[-3, -1, -2], [0, -5, -4]]),
    "other of a comparison": (
        lambda m, x: m.maximum(x, other=m.tensor(2.0)),
        [[3, 2, 2], [2, 5, 4]],
    ),
    "mat2": (lambda m, x: m.mm(input=x, mat2=x.T), [[14, 13], [13, 41]]),
    "mat2 of a method": (lambda m, x: x.mm(mat2=x.T), [[14, 13], [13, 41]]),
    "mat1 and mat2": (
        lambda m, x: m.addmm(input=m.ones(2, 2), mat1=x, mat2=x.T, beta=3),
        [[17, 16], [16, 44]],
    ),
    "vec2": (lambda m, x: m.outer(input=x[0], vec2=x[1]), [[0, 15, 12], [0, 5, 4], [0, 10, 8]]),
    "tensor1 and tensor2": (
        lambda m, x: m.addcmul(x, tensor1=x, tensor2=x, value=-1),
        [[-6, 0, -2], [0, -20, -12]],
    ),
    "x1 and x2": (lambda m, x: m.cdist(x1=x[:, :1], x2=x[:, :1]), [[0, 3], [3, 0]]),
    "condition": (
        lambda m, x: m.where(condition=x > 2, input=x, other=-x),
        [[3, -1, -2], [0, 5, 4]],
    ),
    "tensor": (lambda m, x: m.split(tensor=x, split_size_or_sections=2, dim=1)[1], [[2], [4]]),
    "n and input": (lambda m, x: m.polygamma(n=1, input=x[0] * 0 + 1).sum().round(), 5),
    "shape": (lambda m, x: m.reshape(input=x, shape=(3, 2)), [[3, 1], [2, 0], [5, 4]]),
    "dims": (lambda m, x: m.permute(input=x, dims=(1, 0)), [[3, 0], [1, 5], [2, 4]]),
    "dims of tile": (lambda m, x: m.tile(input=x[:1], dims=(2, 1)), [[3, 1, 2], [3, 1, 2]]),
    "axis0 and axis1": (lambda m, x: m.swapaxes(x, axis0=0, axis1=1), [[3, 0], [1, 5], [2, 4]]),
    "axis0 and axis1 of a method": (
        lambda m, x: x.swapaxes(axis0=0, axis1=1),
        [[3, 0], [1, 5], [2, 4]],
    ),
    "whole numbers": (
        lambda m, x: m.bitwise_and(input=m.tensor([6, 3]), other=m.tensor([3, 1])),
        [2, 1],
    ),
    "special": (lambda m, x: m.special.xlogy(input=x, other=m.ones(3)), [[0, 0, 0], [0, 0, 0]]),
    "linalg": (lambda m, x: m.linalg.cross(input=x[:1], other=x[1:]), [[-6, -12, 15]]),
    "vecdot": (lambda m, x: m.linalg.vecdot(x=x, y=x), [14, 41]),
    "axis": (lambda m, x: m.sort(x, axis=1)[0], [[1, 2, 3], [0, 4, 5]]),
    "axis of a method": (lambda m, x: x.cummax(axis=1)[0], [[3, 3, 3], [0, 5, 5]]),
    "axis and keepdims": (lambda m, x: m.nansum(x, axis=1, keepdims=True), [[6], [9]]),
    "axis and keepdims of var": (lambda m, x: m.var(x, axis=1, keepdims=True), [[1], [7]]),
    "axis of pairs": (lambda m, x: m.std_mean(x, axis=0)[1], [1.5, 3, 3]),
    "axis of all": (lambda m, x: m.all(x, axis=1, keepdims=True), [[True], [False]]),
    "axis of any": (lambda m, x: x.any(axis=0), [True, True, True]),
    "axis of argmax": (lambda m, x: x.argmax(axis=1, keepdims=True), [[0], [1]]),
    "axis of argmin": (lambda m, x: m.argmin(x, axis=0), [1, 0, 0]),
    "axis of squeeze": (lambda m, x: x[:1].squeeze(axis=0), [3, 1, 2]),
    "axis of unsqueeze": (lambda m, x: x[0].unsqueeze(axis=1), [[3], [1], [2]]),
    "axis of stack": (lambda m, x: m.stack(tensors=[x[0], x[1]], axis=1), [[3, 0], [1, 5], [2, 4]]),
    "axis of softmax": (lambda m, x: x.softmax(axis=0).sum(axis=0).round(), [1, 1, 1]),
    "axis of log_softmax": (
        lambda m, x: m.log_softmax(x * 0, axis=1).exp().sum(axis=1).round(),
        [1, 1],
    ),
    "axis of logsumexp": (lambda m, x: x.logsumexp(axis=1, keepdims=True).round(), [[3], [5]]),
    "axis of index_select": (
        lambda m, x: m.index_select(x, axis=1, index=m.tensor([2])),
        [[2], [4]],
    ),
    "axis of a norm": (lambda m, x: m.linalg.vector_norm(x, 1, axis=1), [6, 9]),
    "axis of a transform": (lambda m, x: m.fft.fft(x, axis=0).real[0], [3, 6, 6]),
    "NumPy's x1 and x2": (lambda m, x: m.maximum(x1=x, x2=-x), X),
}


@in_one_test
@pytest.mark.parametrize("name", CALLS)
def test_names_of_arguments(m, name):
    run, answer = CALLS[name]
    assert run(m, m.tensor(X)).tolist() == answer


def test_gradients_flow_through_named_arguments(m):
    x = m.tensor(X, requires_grad=True)
    m.mm(input=x, mat2=m.sort(input=x, axis=1)[0].T).sum().backward()
    assert x.grad.tolist() == [[7, 9, 14], [4, 12, 14]]


def test_names_that_fit_nothing_are_errors(m):
    x = m.tensor(X)
    for call in (
        lambda: m.sort(x, dim=0, axis=1),
        lambda: m.sort(x, input=x),
        lambda: m.mm(x, mat3=x),
        lambda: m.reshape(x, shape=(6,), size=(6,)),
        lambda: m.cummax(x, axes=0),
        lambda: m.median(axis=0),
    ):
        with pytest.raises(TypeError):
            call()


def test_both_names_of_one_argument_are_reported():
    with pytest.raises(TypeError, match="sort: two of dim, axis are names of one parameter"):
        mg.sort(mg.tensor(X), dim=0, axis=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        mg.cummax(mg.tensor(X), axes=0)


def test_a_function_stays_one_object_and_keeps_what_it_tells_of_itself():
    assert mg.concat is mg.cat and mg.trapz is mg.trapezoid and mg.special.psi is mg.special.digamma
    for function in (mg.sort, mg.where, mg.relu, mg.special.zeta, mg.linalg.vecdot, mg.fft.fft):
        assert pickle.loads(pickle.dumps(function)) is function
    assert mg.sort.__name__ == "sort" and "sorted along" in mg.sort.__doc__
