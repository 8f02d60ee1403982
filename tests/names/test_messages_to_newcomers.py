"""What newcomers do, and what they are told: each message names what happened and what to do
instead.
"""

import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim
from minigrad.core.primitive import registry
from tests.helpers.refusals import refusals
from tests.helpers.tables import in_one_test

X = mg.tensor([1.0, 2.0], requires_grad=True)
LAYER = nn.Linear(3, 2)

CALLS = r"""
mg.sine(X)  # AttributeError: no attribute 'sine'\. Did you mean sin\?
mg.array([1])  # AttributeError: Did you mean tensor\?
mg.qwertz  # AttributeError: no attribute 'qwertz'\.$
X.backwards()  # AttributeError: a Tensor has no attribute 'backwards'\. Did you mean backward\?
X.gradient  # AttributeError: Did you mean grad\?
X._nothing  # AttributeError: no attribute '_nothing'\.$
nn.Dense(1, 2)  # AttributeError: Did you mean Linear\?
nn.functional.crossentropy(X, X)  # AttributeError: Did you mean cross_entropy\?
mg.data.moons()  # AttributeError: no attribute 'moons'\. Did you mean two_moons\?
optim.Addam([X])  # AttributeError: Did you mean Adam
LAYER.wieght  # AttributeError: a Linear has no attribute 'wieght'\. Did you mean weight\?
registry["sin"](X, X)  # TypeError: the operation is sin\(x\): got 2 operands\.
registry["add"](X)  # TypeError: the operation is add\(a, b\): got 1 operand\.
registry["sum"](X)
    # TypeError: the operation is sum\(x, axes=, keepdims=\): axes is missing, keepdims is missing\.
registry["exp"](X, axes=1)  # TypeError: the operation is exp\(x\): axes is unknown\.
mg.cat(X, X)  # TypeError: cat: the tensors come in one list, as in cat\(\[a, b\], dim=0\)
mg.stack(X, X)  # TypeError: stack: the tensors come in one list
mg.zeros(-1)  # ShapeError: sizes must be at least 0, got \(-1,\)
mg.ones("a")  # TypeError: sizes must be whole numbers, got 'a'
mg.ones(2, dtype="float33")  # DTypeError: 'float33' names no dtype
X.to("gpu")  # DTypeError: 'gpu' names no dtype.*no device
mg.tensor([1], requires_grad=True)
    # DTypeError: Convert first: x\.float\(\), or write 1\.0 instead of 1
mg.fft.fft(X, "a")  # TypeError: a length must be a whole number, got 'a'
mg.Tensor(2, 3)
    # TypeError: as in Tensor\(\[2, 3\]\)\. For a tensor of these sizes write zeros\(2, 3\)
mg.no_grad(X)  # TypeError: as in `with no_grad\(\):`; got Tensor
mg.autograd.functional.jacobian(X, X)
    # TypeError: jacobian: the first argument must be a function, got Tensor
nn.CrossEntropyLoss()(X)
    # TypeError: CrossEntropyLoss is called with \(input, target\); got Tensor\.
nn.MSELoss()(X, X, X)
    # TypeError: MSELoss is called with \(input, target\); got Tensor, Tensor, Tensor\.
nn.GaussianNLLLoss()(X, X)  # TypeError: called with \(input, target, var\)
nn.MSELoss()(X, goal=X)  # TypeError: got Tensor, goal=\.
nn.Sequential(nn.Linear, nn.ReLU())
    # TypeError: stage 0 is the class Linear, not a layer\. Make one of it: Linear
nn.ReLU(X)  # TypeError: ReLU takes inplace; got Tensor\. To apply it: ReLU\(\)\(input\)
nn.MSELoss(X, X)  # TypeError: got Tensor, Tensor\. To apply it: MSELoss\(\)\(input, target\)
nn.ELU(1.0, slope=2)  # TypeError: ELU takes .*; got float, slope=\.$
LAYER.train("yes")  # TypeError: the mode must be True or False, got 'yes'
optim.SGD(LAYER.parameters)  # TypeError: got method\. Give it model\.parameters\(\)
optim.SGD(LAYER, lr=0.1)  # TypeError: got Linear\. Give it model\.parameters\(\)
optim.SGD(LAYER.parameters(), lr="0.1")  # TypeError: SGD: lr must be at least 0, got '0\.1' \(str\)
optim.SGD([])  # ValueError: empty list of parameters. A module's parameters are
"""
test_the_message_says_what_to_do = refusals(CALLS, LAYER=LAYER, X=X, optim=optim, registry=registry)


def test_a_used_up_generator_is_told_from_a_module_without_parameters():
    parameters = LAYER.parameters()
    optim.SGD(parameters)
    told = r"a generator that was used up before \(call model\.parameters\(\) again\)"
    with pytest.raises(ValueError, match=told):
        optim.SGD(parameters)


def test_errors_inside_an_operation_keep_their_own_words():
    with pytest.raises(TypeError, match="only integer tensors"):
        range(X[0])
    with pytest.raises(TypeError, match="unsupported operand"):
        X + "a"


# --------------------------------------------------------------------- gradients that are not there


def test_a_parameter_replaced_by_a_result_is_explained():
    w = mg.tensor(1.0, requires_grad=True)
    (w * w).backward()
    w = w - 0.1 * w.grad
    (w * w).backward()
    with pytest.warns(
        UserWarning,
        match=r"(?s)result of an operation.*retain_grad.*with mg\.no_grad\(\): w -= lr \* w\.grad",
    ) as caught:
        assert w.grad is None
    assert caught[0].filename == __file__


def test_gradients_that_may_be_asked_for_are_not_warned_of():
    x = mg.tensor(1.0, requires_grad=True)
    assert x.grad is None and mg.ones(2).grad is None
    y = x * 2
    y.retain_grad()
    assert y.grad is None
    (y * y).backward()
    assert y.grad.item() == 4
    z = x * 3
    z.grad = mg.ones(())
    assert z.grad.item() == 1
    with mg.no_grad():
        assert (x * 2).grad is None


# ------------------------------------------------------------------- NumPy's functions with tensors


OF_NUMPY = r"""
np.sin(X)
    # TypeError: np\.sin was called with a tensor.* Use mg\.sin instead, or give it the values
    alone: x\.detach\(\)\.numpy\(\)
np.power(X, 2)  # TypeError: Use mg\.pow instead
np.maximum(X, 0)  # TypeError: Use mg\.maximum instead
np.sum(X)  # AutogradError: np\.sum was called .*Use mg\.sum instead
np.dot(X, X)  # AutogradError: Use mg\.matmul instead
np.concatenate([X, X])  # AutogradError: Use mg\.concatenate instead
np.linalg.norm(X)  # AutogradError: np\.linalg\.norm was called .*Use mg\.linalg\.norm instead
np.fft.fft(X)  # AutogradError: Use mg\.fft\.fft instead
np.add.reduce(X)  # TypeError: np\.add\.reduce was called .* needs\. Give it the values
np.interp(0.5, X, X)  # AutogradError: np\.interp was called .* needs\. Give it the values
"""
test_numpy_functions_name_ours = refusals(OF_NUMPY, X=X)


def test_arrays_cannot_take_a_tensor_in_place():
    a = np.ones(2)
    with pytest.raises(TypeError, match="an array cannot hold the history"):
        a += X
    assert a.tolist() == [1, 1]


def test_constant_tensors_are_numbers_to_numpy():
    c = mg.tensor([3.0, 4.0])
    assert np.sum(c) == 7
    assert np.linalg.norm(c) == 5
    assert np.allclose(c, [3, 4])
    assert np.stack([c, c]).shape == (2, 2)
    assert np.shape(X) == (2,) and np.ndim(X) == 1 and np.size(X) == 2


OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">="]


@in_one_test
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "left", [np.array([3.0, 1.0]), np.float64(3.0), np.float32(1.0), np.int64(2), np.array(2.0)]
)
def test_an_array_on_the_left_is_an_operand(operator, left):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = eval(f"left {operator} x", {"left": left, "x": X})
    expected = eval(f"left {operator} x", {"left": left, "x": np.array([1.0, 2.0], np.float32)})
    assert isinstance(result, mg.Tensor) and np.array_equal(result.numpy(force=True), expected)


def test_integer_arrays_and_matrices_on_the_left():
    a, t = np.array([[1, 2], [3, 4]]), mg.tensor([5, 6])
    assert isinstance(a @ t, mg.Tensor) and (a @ t).tolist() == (a @ np.array([5, 6])).tolist()
    for operator in "&|^":
        assert (
            eval(f"a {operator} t", {"a": a, "t": t}).tolist()
            == eval(f"a {operator} n", {"a": a, "n": np.array([5, 6])}).tolist()
        )
