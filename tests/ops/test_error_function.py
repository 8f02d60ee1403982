"""erf from a table and Taylor's formula: every digit, everywhere."""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad.ops import error_function


def reference(x):
    return np.array([math.erf(v) for v in x.astype(np.float64).ravel()]).reshape(x.shape)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reach", [1e-30, 1e-4, 0.01, 1.0, 7.0])
def test_to_the_last_digits_absolutely_and_relatively(dtype: str, reach: float) -> None:
    x = np.linspace(-reach, reach, 30_011).astype(dtype)
    got, want = mg.erf(mg.tensor(x)).numpy(), reference(x)
    assert got.dtype == dtype
    unit = float(np.finfo(dtype).eps)
    assert np.abs(got - want).max() <= unit
    seen = want != 0
    assert np.abs(got[seen] / want[seen] - 1).max() <= 3 * unit


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_at_the_ends_and_between_the_points_of_the_table(dtype: str) -> None:
    middle = (np.arange(-40, 40) + 0.5) / error_function.PARTS
    x = np.concatenate([middle, [np.inf, -np.inf, 3.9999, -3.9999, 4, 5.9999, -6, 1e30]]).astype(
        dtype
    )
    np.testing.assert_allclose(
        mg.erf(mg.tensor(x)).numpy(), reference(x), rtol=3 * np.finfo(dtype).eps
    )
    assert np.isnan(mg.erf(mg.tensor(np.array([np.nan, 1.0], dtype))).numpy()[0])


def test_any_layout_and_size() -> None:
    x = np.random.default_rng(0).normal(size=(6, 8))
    for view in (x.T, x[::2, ::-3], x[:0], x[1:2, 1:2], x[:, 3]):
        got = mg.erf(mg.tensor(view)).numpy()
        assert got.shape == view.shape
        np.testing.assert_allclose(got, reference(view), rtol=1e-15)
    before = x.copy()
    mg.erf(mg.tensor(x))
    assert (x == before).all()
    assert mg.erf(mg.tensor(0.5, dtype=mg.float64)).item() == math.erf(0.5)
