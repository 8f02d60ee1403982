"""Poles and overflow are answers: operations give them without NumPy's warnings, and leave
NumPy's error mode as it was.
"""

import threading
import warnings

import numpy as np
import pytest

import minigrad as mg


def test_numpys_error_mode_is_untouched() -> None:
    before = np.geterr()
    mg.tensor(0.0).log()
    mg.zeros(3).reciprocal()
    assert np.geterr() == before
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.log(np.zeros(2))


def test_silent_in_every_thread_at_once() -> None:
    """Each thread has its own silent context: two threads cannot run in one."""
    results, start = [], threading.Barrier(4)

    def work():
        start.wait()
        with warnings.catch_warnings(record=True):
            for _ in range(200):
                value = mg.zeros(100).log()
            results.append(value)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4 and all(np.all(r.numpy() == -np.inf) for r in results)


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
