"""At NaN, infinity, zeros of both signs and huge numbers: values and gradients are PyTorch's; and a
recorded gradient of a piecewise linear function requires grad, with second derivative 0.
"""

import math

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test

LARGE = {"float64": 1e300, "float32": 1e38, "float16": 6e4}
ONE = {
    name: (lambda chosen: lambda lib, x: getattr(lib.nn.functional, chosen)(x))(name)
    for name in (
        "relu relu6 leaky_relu elu selu celu hardtanh softshrink hardshrink softplus logsigmoid"
        " silu softsign"
    ).split()
} | {
    "clamp": lambda lib, x: lib.clamp(x, -1, 1),
    "clamp_min": lambda lib, x: lib.clamp_min(x, 0.0),
    "threshold": lambda lib, x: lib.nn.functional.threshold(x, 0.5, 2.0),
    "rrelu": lambda lib, x: lib.nn.functional.rrelu(x),
    "sigmoid": lambda lib, x: lib.sigmoid(x),
    "abs": lambda lib, x: lib.abs(x),
    "round": lambda lib, x: lib.round(x, decimals=2),
    "lgamma": lambda lib, x: lib.lgamma(x),
    "logit": lambda lib, x: lib.logit(x + 0.0),  # at -0.0 PyTorch's slope depends on the dtype
    "logit of limited numbers": lambda lib, x: lib.logit(x, 0.125),
}
TWO = {
    "huber": lambda lib, x, y: lib.nn.functional.huber_loss(x, y, reduction="none", delta=2.0),
    "smooth_l1": lambda lib, x, y: lib.nn.functional.smooth_l1_loss(
        x, y, reduction="none", beta=2.0
    ),
    "clamp by tensors": lambda lib, x, y: lib.clamp(x, min=y),
    "clamp_max by tensors": lambda lib, x, y: lib.clamp_max(x, y),
    "lerp": lambda lib, x, y: lib.lerp(x, y, 0.75),
    "maximum": lambda lib, x, y: lib.maximum(x, y),
    "minimum": lambda lib, x, y: lib.minimum(x, y),
    "hypot": lambda lib, x, y: lib.hypot(x, y),
}


def specials(dtype):
    """NaN comes last: where a vector of the processor is full, PyTorch's gradient there is
    another one for some functions.
    """
    big = LARGE[dtype]
    values = [
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        -0.5,
        3,
        -3,
        6,
        2,
        20,
        -20,
        big,
        -big,
        math.inf,
        -math.inf,
        math.nan,
    ]
    return np.array(values, dtype)


def both(torch, function, arrays):
    found = []
    with np.errstate(all="ignore"):
        for lib in (mg, torch):
            xs = [lib.from_numpy(a.copy()).requires_grad_() for a in arrays]
            y = function(lib, *xs)
            found.append([v.detach().numpy() for v in (y, *lib.autograd.grad(y.sum(), xs))])
    return found


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("dtype", LARGE)
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_values_and_gradients_are_those_of_pytorch(torch, name, dtype):
    s = specials(dtype)
    arrays = [s] if name in ONE else [np.repeat(s, s.size), np.tile(s, s.size)]
    ours, theirs = both(torch, (ONE | TWO)[name], arrays)
    tolerance = {"float64": 1e-7, "float32": 1e-5, "float16": 2e-3}[dtype]
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def gradient(function, values):
    x = mg.tensor(values, dtype=mg.float64, requires_grad=True)
    (g,) = mg.autograd.grad(function(x).sum(), x)
    return g.tolist()


def test_where_the_answer_is_better_than_pytorchs():
    F = mg.nn.functional
    inf, nan = math.inf, math.nan
    assert F.hardswish(mg.tensor([-inf, inf])).tolist() == [0.0, inf]
    assert gradient(F.hardswish, [-inf, inf, nan]) == [0.0, 1.0, 1.0]
    # whatever the array's length
    np.testing.assert_allclose(gradient(F.hardsigmoid, [nan, 1.0] * 9), [1 / 6] * 18)
    assert gradient(lambda x: mg.amax(x, 0), [3.0, nan, 1.0]) == [0.0, 1.0, 0.0]
    np.testing.assert_allclose(
        gradient(lambda x: F.elu(x), [-100.0]), [math.exp(-100.0)], rtol=1e-12
    )  # not e^x - 1 + 1 = 0
    assert mg.lerp(mg.tensor([1e8]), mg.tensor([1.0]), 1.0).tolist() == [1.0]
    with np.errstate(invalid="ignore"):
        assert mg.quantile(mg.tensor([inf, inf, -inf]), 0.9).item() == inf
    assert gradient(lambda x: x.median(), [-inf, -inf, -inf, 1.0]) == [1 / 3, 1 / 3, 1 / 3, 0.0]
    assert math.isnan(mg.linalg.vector_norm(mg.tensor([0.0, nan]), -1).item())
    np.testing.assert_allclose(gradient(lambda x: F.normalize(x, -inf, 0), [1.0, 2.0]), [-2.0, 1.0])


FLAT = {
    **{
        name: ONE[name]
        for name in (
            "relu relu6 leaky_relu hardtanh softshrink hardshrink threshold rrelu abs".split()
        )
    },
    "clamp": lambda lib, x: lib.clamp(x, -1, 1),
    "prelu": lambda lib, x: lib.nn.functional.prelu(x, lib.tensor([0.25], dtype=x.dtype)),
}


@pytest.mark.parametrize("name", FLAT)
def test_a_recorded_gradient_requires_grad_and_its_derivative_is_zero(name):
    x = mg.tensor([-2.0, 0.3, 0.7, 8.0], requires_grad=True)
    (g,) = mg.autograd.grad(FLAT[name](mg, x).sum(), x, create_graph=True)
    assert g.requires_grad
    g.sum().backward()
    assert x.grad.tolist() == [0.0] * 4


@pytest.mark.parametrize("shape", [(1, 1, 4), (1, 1, 2, 2)])
def test_a_recorded_gradient_of_max_pooling_can_be_differentiated(shape):
    x = mg.tensor([-2.0, 0.3, 0.7, 8.0], requires_grad=True)
    pool = mg.nn.functional.max_pool1d if len(shape) == 3 else mg.nn.functional.max_pool2d
    (g,) = mg.autograd.grad(pool(x.reshape(shape), 2).sum(), x, create_graph=True)
    g.sum().backward()  # no derivative arrives: it would be 0
    assert x.grad is None or x.grad.tolist() == [0.0] * 4


def test_an_ordinary_gradient_has_no_history():
    x = mg.tensor([-2.0, 3.0], requires_grad=True)
    (g,) = mg.autograd.grad(mg.relu(x).sum(), x)
    assert not g.requires_grad and g.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("power", [0.5, -0.5])
def test_a_square_root_written_as_a_power(torch, power):
    """At -inf and -0 as in PyTorch, for arrays and for single numbers."""
    numbers = [-math.inf, -0.0, 0.0, -1.0, 4.0, math.nan, math.inf]
    for kind in ("float32", "float64"):
        for values in (numbers, *numbers):
            ours, theirs = (
                (m.tensor(values, dtype=getattr(m, kind)) ** power).numpy() for m in (mg, torch)
            )
            np.testing.assert_allclose(ours, theirs, rtol=2e-7, atol=0)
            there = ~np.isnan(theirs)
            assert np.all((np.signbit(ours) == np.signbit(theirs)) | ~there), (kind, values)


@pytest.mark.parametrize("exponent", [0.5, 1.5, -0.5, 2.5])
def test_a_power_that_is_a_tensor_of_one_number(torch, exponent):
    """NumPy takes the square root where the exponent of an array is one number 0.5."""
    results = []
    for m in (mg, torch):
        x = m.tensor([-math.inf, -0.0, 0.0, -1.0, 4.0, math.nan, math.inf]).requires_grad_()
        y = x ** m.tensor(exponent)
        results.append([y.detach().numpy(), m.autograd.grad(y.sum(), x)[0].numpy()])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-7, atol=0)
        assert np.all((np.signbit(ours) == np.signbit(theirs)) | np.isnan(theirs))
    for number in (4, 4.0, mg.tensor(4.0)):
        assert (number ** mg.tensor(exponent)).item() == 4**exponent
