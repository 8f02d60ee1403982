"""Sums of rows as products with ones, and the largest of short rows as columns: the same numbers
for every layout and length.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad.ops.sums import has_rows
from tests.helpers.tables import in_one_test


@in_one_test
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape", [(3, 5), (2, 3, 17), (4, 1024), (4, 1025), (1, 40), (7, 1), (0, 9), (9, 0)]
)
def test_sums_and_means_of_rows(shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    bound = 4 * np.finfo(dtype).eps * max(1, shape[-1])
    for array in (x, np.asfortranarray(x)):
        t = mg.tensor(array)
        assert has_rows(array, (array.ndim - 1,)) == (
            0 < shape[-1] <= 1024 and bool(array.flags.c_contiguous)
        )
        for keepdim in (True, False):
            got = t.sum(-1, keepdim=keepdim)
            want = x.astype(np.longdouble).sum(-1, keepdims=keepdim)
            assert got.shape == want.shape and got.numpy().dtype == dtype
            np.testing.assert_allclose(got.numpy(), want.astype(dtype), atol=bound, rtol=bound)
    sizes = (*(1,) * (len(shape) - 1), shape[-1])
    for target in (shape[-1:], sizes):
        np.testing.assert_allclose(
            mg.core.primitive.registry["sum_to"](mg.tensor(x), shape=target).numpy(),
            x.astype(np.longdouble).sum(tuple(range(len(shape) - 1))).reshape(target).astype(dtype),
            atol=4 * bound * max(1, shape[0]),
        )


def test_rows_with_infinities_and_nan() -> None:
    rows = np.array(
        [[1.0, np.inf, 2, 3, 4], [np.inf, -np.inf, 0, 0, 0], [0, 0, np.nan, 0, 0], [1, 2, 3, 4, 5]]
    )
    assert str(mg.tensor(rows).sum(1).tolist()) == "[inf, nan, nan, 15.0]"


@pytest.mark.parametrize("length", [5, 31, 32, 33, 200])
def test_softmax_of_rows_of_any_length(length: int) -> None:
    x = np.random.default_rng(1).normal(size=(6, 3, length)) * 300
    for array in (x, np.asfortranarray(x)):
        powers = np.exp(x - x.max(-1, keepdims=True))
        np.testing.assert_allclose(
            mg.softmax(mg.tensor(array), -1).numpy(),
            powers / powers.sum(-1, keepdims=True),
            rtol=1e-13,
        )
    x[0, 0, 1], x[1, 1, 2], x[2, 2, :] = np.nan, -np.inf, -np.inf
    y = mg.softmax(mg.tensor(x), -1).numpy()
    assert np.isnan(y[0, 0]).all()
    assert y[1, 1, 2] == 0
    assert np.isnan(y[2, 2]).all()
    assert not np.isnan(y[3:]).any()
