"""Poles and overflow are answers: operations give them without NumPy's warnings, and leave
NumPy's error mode as it was.
"""

import operator
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import backend


def test_numpys_error_mode_is_untouched() -> None:
    before = np.geterr()
    mg.tensor(0.0).log()
    mg.zeros(3).reciprocal()
    assert np.geterr() == before
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.log(np.zeros(2))


def test_silent_in_a_thread_while_another_computes() -> None:
    """Each thread has its own silent context: two threads cannot run in one."""
    results: list[Any] = []

    def work() -> None:
        for operation in ("log", "exp", "sqrt", "reciprocal", "sum"):
            results.append(getattr(mg.zeros(2), operation)().tolist())

    thread = threading.Thread(target=work)
    backend.ignore_float_errors.run(lambda: (thread.start(), thread.join()))
    assert results == [[-np.inf] * 2, [1.0, 1.0], [0.0, 0.0], [np.inf] * 2, 0.0]


def test_operations_are_silent_under_numpys_error_mode_raise() -> None:
    with np.errstate(all="raise"):
        assert mg.zeros(2).log().tolist() == [-np.inf, -np.inf]
        x = mg.zeros(2).requires_grad_()
        x.sqrt().sum().backward()
        assert x.grad.tolist() == [np.inf, np.inf]


def test_sums_differences_and_products_still_warn() -> None:
    """The three shortest operations leave the decision to NumPy: see ops/elementwise."""
    large, infinite = mg.full((2,), 3e38), mg.full((2,), np.inf)
    for overflow in (lambda: large * large, lambda: large + large, lambda: infinite - infinite):
        with pytest.warns(RuntimeWarning):
            overflow()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_comparisons_and_signs_of_nan_are_silent(dtype):
    x = mg.tensor([np.nan, 1.0], dtype=getattr(mg, dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [(x < 1).tolist(), (x >= 1).tolist(), (x > x).tolist()] == [
            [False, False], [False, True], [False, False]
        ]  # fmt: skip
        assert (x >= 1).tolist() == [False, True] and mg.sign(x).tolist() == [0, 1]
        assert mg.relu(x).tolist()[1] == 1


BEYOND = {"float16": 1e6, "bfloat16": 1e40}
"""A number larger than those of the dtype."""
OPERATORS = "add sub mul truediv floordiv mod pow eq ne lt le gt ge".split()
IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow".split()
METHODS = (
    "add sub mul div floor_divide remainder fmod pow maximum minimum fmax fmin atan2 hypot copysign"
    " fill clamp clamp_min clamp_max clip rsub xlogy logaddexp heaviside lt ge eq"
).split()
PARAMETERS: dict[str, Callable[[Any, float], Any]] = {
    "where": lambda x, n: mg.where(x > n, x, n),
    "masked_fill": lambda x, n: x.masked_fill(x > 0, n),
    "index_fill": lambda x, n: x.index_fill(0, mg.tensor([0]), n),
    "scatter": lambda x, n: x.scatter(0, mg.tensor([0]), n),
    "item assignment": lambda x, n: x.__setitem__(0, n),
    "assignment to a mask": lambda x, n: x.__setitem__(x > 0, n),
    "clamp of both sides": lambda x, n: x.clamp(-n, n),
    "hardtanh": lambda x, n: mg.nn.functional.hardtanh(x, -n, n),
    "threshold": lambda x, n: mg.nn.functional.threshold(x, n, n),
    "pad": lambda x, n: mg.nn.functional.pad(x, (1, 1), value=n),
    "nan_to_num": lambda x, n: x.nan_to_num(n, n, -n),
    "addcmul": lambda x, n: mg.addcmul(x, x, x, value=n),
    "addcdiv": lambda x, n: mg.addcdiv(x, x, x, value=n),
    "lerp": lambda x, n: mg.lerp(x, x + 1, n),
    "addmv": lambda x, n: mg.addmv(x, mg.outer(x, x), x, beta=n, alpha=n),
    "index_add": lambda x, n: x.index_add(0, mg.tensor([0]), x[:1], alpha=n),
    "allclose": lambda x, n: mg.allclose(x, x, atol=n),
    "full": lambda x, n: mg.full((2,), n, dtype=x.dtype),
    "linspace": lambda x, n: mg.linspace(0, n, 3, dtype=x.dtype),
    "cast": lambda x, n: mg.tensor([n], dtype=mg.float64).to(x.dtype),
    "sum": lambda x, n: mg.full((4,), n / 20, dtype=x.dtype).sum(),
    "step of SGD": lambda x, n: _step_of_sgd(x, n),
}


def ones_to_three(dtype: str) -> Any:
    return mg.tensor([1.0, 2.0, 3.0], dtype=getattr(mg, dtype))


def _step_of_sgd(x: Any, rate: float) -> None:
    x.grad = x.clone()
    mg.optim.SGD([x], lr=rate).step()


@pytest.mark.parametrize("dtype", BEYOND)
def test_a_number_beyond_half_precision_becomes_infinity_without_a_warning(dtype: str) -> None:
    """As in PyTorch. The results of positive numbers are those of double precision, rounded."""
    number = BEYOND[dtype]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in OPERATORS + IN_PLACE:
            function = getattr(operator, name)
            results = [function(ones_to_three(dtype), number)]
            wanted = [function(ones_to_three("float64"), number)]
            if name in OPERATORS:
                results.append(function(number, ones_to_three(dtype)))
                wanted.append(function(number, ones_to_three("float64")))
            for got, want in zip(results, wanted, strict=True):
                if name in ("mod", "floordiv") and got is not results[0]:
                    continue  # infinity has no remainder
                assert str(got.dtype) == ("bool" if want.dtype == bool else dtype), name
                want = want.to(got.dtype).double().numpy()
                np.testing.assert_allclose(got.double().numpy(), want, 0, 1.2e-38, err_msg=name)


@pytest.mark.parametrize("dtype", BEYOND)
def test_no_function_warns_of_a_number_beyond_half_precision(dtype: str) -> None:
    number, called = BEYOND[dtype], 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in METHODS:
            for form in (name, name + "_"):
                if hasattr(mg.Tensor, form):
                    value = mg.tensor(number, dtype=getattr(mg, dtype))
                    for other in (number, -number, value):
                        getattr(ones_to_three(dtype), form)(other)
                        called += 1
        for function in PARAMETERS.values():
            function(ones_to_three(dtype), number)
    assert called >= 120


@pytest.mark.parametrize("dtype", BEYOND)
def test_no_gradient_and_no_replay_warns_of_a_number_beyond_half_precision(dtype: str) -> None:
    def step(x: Any, number: float) -> Any:
        y = (x * number + x - number).clamp(-number, number) + mg.where(x > number, x, number)
        return mg.autograd.grad(y.sum(), x)[0], y

    compiled = mg.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(6):
            x = ones_to_three(dtype).requires_grad_()
            plain = step(x, BEYOND[dtype])
            replayed = compiled(x, BEYOND[dtype])
            assert str([t.tolist() for t in plain]) == str([t.tolist() for t in replayed])
    assert compiled.statistics["replayed"]
