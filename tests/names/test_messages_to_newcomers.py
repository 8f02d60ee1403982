"""What newcomers do, and what they are told: each message names what happened and what to do
instead.
"""

import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim
from minigrad.core.primitive import registry
from minigrad.errors import AutogradError, DTypeError, ShapeError
from tests.helpers.tables import in_one_test

X = mg.tensor([1.0, 2.0], requires_grad=True)
LAYER = nn.Linear(3, 2)

CALLS = [
    # names that do not exist
    (lambda: mg.sine(X), AttributeError, r"no attribute 'sine'\. Did you mean sin\?"),
    (lambda: mg.array([1]), AttributeError, r"Did you mean tensor\?"),
    (lambda: mg.qwertz, AttributeError, r"no attribute 'qwertz'\.$"),
    (
        lambda: X.backwards(),
        AttributeError,
        r"a Tensor has no attribute 'backwards'\. Did you mean backward\?",
    ),
    (lambda: X.gradient, AttributeError, r"Did you mean grad\?"),
    (lambda: X._nothing, AttributeError, r"no attribute '_nothing'\.$"),
    (lambda: nn.Dense(1, 2), AttributeError, r"Did you mean Linear\?"),
    (lambda: nn.functional.crossentropy(X, X), AttributeError, r"Did you mean cross_entropy\?"),
    (lambda: optim.Addam([X]), AttributeError, r"Did you mean Adam"),
    (
        lambda: LAYER.wieght,
        AttributeError,
        r"a Linear has no attribute 'wieght'\. Did you mean weight\?",
    ),
    # arguments
    (lambda: registry["sin"](X, X), TypeError, r"the operation is sin\(x\): got 2 operands\."),
    (lambda: registry["add"](X), TypeError, r"the operation is add\(a, b\): got 1 operand\."),
    (
        lambda: registry["sum"](X),
        TypeError,
        r"the operation is sum\(x, axes=, keepdims=\): axes is missing, keepdims is missing\.",
    ),
    (
        lambda: registry["exp"](X, axes=1),
        TypeError,
        r"the operation is exp\(x\): axes is unknown\.",
    ),
    (
        lambda: mg.cat(X, X),
        TypeError,
        r"cat: the tensors come in one list, as in cat\(\[a, b\], dim=0\)",
    ),
    (lambda: mg.stack(X, X), TypeError, "stack: the tensors come in one list"),
    (lambda: mg.zeros(-1), ShapeError, r"sizes must be at least 0, got \(-1,\)"),
    (lambda: mg.ones("a"), TypeError, "sizes must be whole numbers, got 'a'"),
    (lambda: mg.ones(2, dtype="float33"), DTypeError, "'float33' names no dtype"),
    (lambda: X.to("gpu"), DTypeError, "'gpu' names no dtype.*no device"),
    (
        lambda: mg.tensor([1], requires_grad=True),
        DTypeError,
        r"Convert first: x\.float\(\), or write 1\.0 instead of 1",
    ),
    (lambda: mg.fft.fft(X, "a"), TypeError, "a length must be a whole number, got 'a'"),
    (
        lambda: mg.Tensor(2, 3),
        TypeError,
        r"as in Tensor\(\[2, 3\]\)\. For a tensor of these sizes write zeros\(2, 3\)",
    ),
    (lambda: mg.no_grad(X), TypeError, r"as in `with no_grad\(\):`; got Tensor"),
    (
        lambda: mg.autograd.functional.jacobian(X, X),
        TypeError,
        "jacobian: the first argument must be a function, got Tensor",
    ),
    # layers and optimisers
    (
        lambda: nn.CrossEntropyLoss()(X),
        TypeError,
        r"CrossEntropyLoss is called with \(input, target\); got Tensor\.",
    ),
    (
        lambda: nn.MSELoss()(X, X, X),
        TypeError,
        r"MSELoss is called with \(input, target\); got Tensor, Tensor, Tensor\.",
    ),
    (lambda: nn.GaussianNLLLoss()(X, X), TypeError, r"called with \(input, target, var\)"),
    (lambda: nn.MSELoss()(X, goal=X), TypeError, r"got Tensor, goal=\."),
    (
        lambda: nn.Sequential(nn.Linear, nn.ReLU()),
        TypeError,
        r"stage 0 is the class Linear, not a layer\. Make one of it: Linear",
    ),
    (
        lambda: nn.ReLU(X),
        TypeError,
        r"ReLU takes inplace; got Tensor\. To apply it: ReLU\(\)\(input\)",
    ),
    (
        lambda: nn.MSELoss(X, X),
        TypeError,
        r"got Tensor, Tensor\. To apply it: MSELoss\(\)\(input, target\)",
    ),
    (lambda: nn.ELU(1.0, slope=2), TypeError, r"ELU takes .*; got float, slope=\.$"),
    (lambda: LAYER.train("yes"), TypeError, "the mode must be True or False, got 'yes'"),
    (lambda: optim.SGD(LAYER.parameters), TypeError, r"got method\. Give it model\.parameters\(\)"),
    (lambda: optim.SGD(LAYER, lr=0.1), TypeError, r"got Linear\. Give it model\.parameters\(\)"),
    (
        lambda: optim.SGD(LAYER.parameters(), lr="0.1"),
        TypeError,
        r"SGD: lr must be at least 0, got '0\.1' \(str\)",
    ),
    (lambda: optim.SGD([]), ValueError, "empty list of parameters. A module's parameters are"),
]


@pytest.mark.parametrize(("call", "error", "words"), CALLS)
def test_the_message_says_what_to_do(call, error, words):
    with pytest.raises(error, match=words):
        call()


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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda t: np.sin(t),
            (
                r"np\.sin was called with a tensor.* Use mg\.sin instead, or give it the values"
                r" alone: x\.detach\(\)\.numpy\(\)"
            ),
        ),
        (lambda t: np.power(t, 2), r"Use mg\.pow instead"),
        (lambda t: np.maximum(t, 0), r"Use mg\.maximum instead"),
        (lambda t: np.sum(t), r"np\.sum was called .*Use mg\.sum instead"),
        (lambda t: np.dot(t, t), r"Use mg\.dot instead"),
        (lambda t: np.concatenate([t, t]), r"Use mg\.concatenate instead"),
        (
            lambda t: np.linalg.norm(t),
            r"np\.linalg\.norm was called .*Use mg\.linalg\.norm instead",
        ),
        (lambda t: np.fft.fft(t), r"Use mg\.fft\.fft instead"),
        (lambda t: np.add.reduce(t), r"np\.add\.reduce was called .* needs\. Give it the values"),
        (lambda t: np.interp(0.5, t, t), r"np\.interp was called .* needs\. Give it the values"),
    ],
)
def test_numpy_functions_name_ours(call, words):
    with pytest.raises((TypeError, AutogradError), match=words):
        call(X)


def test_arrays_cannot_take_a_tensor_in_place():
    a = np.ones(2)
    with pytest.raises(TypeError, match="an array cannot hold the history"):
        a += X
    assert a.tolist() == [1, 1]


def test_constant_tensors_are_numbers_to_numpy():
    c = mg.tensor([3.0, 4.0])
    assert (
        np.sum(c) == 7
        and np.linalg.norm(c) == 5
        and np.allclose(c, [3, 4])
        and np.stack([c, c]).shape == (2, 2)
    )
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
