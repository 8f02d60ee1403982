"""Kernels that look at the layout of their operands to find a faster way must give what the plain
way gives, bit for bit where both round alike.
"""

import operator

import numpy as np
import pytest

import minigrad as mg
from minigrad import backend
from minigrad.ops.elementwise import ZEROS
from minigrad.ops.linalg import is_turned
from tests.helpers.tables import in_one_test

RANDOM = np.random.default_rng(7)
TABLES = [(3000, 5), (1500, 2), (1600, 64), (20, 100, 7), (2003, 3)]
"""Tables with many short rows; the last has a prime number of them, which cannot be taken
several at a time.
"""


@in_one_test
@pytest.mark.parametrize("shape", TABLES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "operation", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
)
def test_a_row_beside_a_table_gives_what_numpy_gives(operation, shape, dtype):
    table, row = RANDOM.random(shape).astype(dtype) + 1, RANDOM.random(shape[-1]).astype(dtype) + 1
    for left, right in ((table, row), (row, table)):
        found = operation(mg.tensor(left), mg.tensor(right))
        expected = operation(left, right)
        assert found.shape == expected.shape and found.dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected)


def test_a_row_meets_several_rows_of_a_large_table_at_once():
    seen = []

    def spy(xp, x, y):
        seen.append((x.shape, y.shape))
        return xp.subtract(x, y)

    table, row = RANDOM.random((3000, 5)), RANDOM.random(5)
    for x, y in (
        (table, row),
        (row, table),
        (table[:, ::-1], row),
        (table[:100], row),
        (table, row[:1]),
        (table[:, :1], row),
    ):
        np.testing.assert_array_equal(backend.broadcast_rows(spy, x, y, {}), np.subtract(x, y))
    assert seen == [
        ((60, 250), (250,)),
        ((250,), (60, 250)),
        ((3000, 5), (5,)),  # not row after row in memory
        ((100, 5), (5,)),  # too few to pay
        ((3000, 5), (1,)),  # no row of the table's
        ((3000, 1), (5,)),
    ]


@pytest.mark.oracle
@pytest.mark.parametrize("shape", TABLES, ids=str)
def test_gradients_of_a_bias_are_pytorchs(torch, shape):
    x, b, g = (RANDOM.normal(size=s) for s in (shape, shape[-1:], shape))
    results = []
    for engine in (mg, torch):
        t, bias = engine.tensor(x, requires_grad=True), engine.tensor(b, requires_grad=True)
        y = (t + bias) * (bias - t) / (bias * bias + 1)
        y.backward(engine.tensor(g))
        results.append([y.detach().numpy(), t.grad.numpy(), bias.grad.numpy()])
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(3000, 5), (64, 25), (2003, 3), (7, 4)], ids=str)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_linear_layer_with_a_small_weight_is_pytorchs(torch, shape, compiled):
    x, w, b = (RANDOM.normal(size=s) for s in (shape, (9, shape[1]), (9,)))
    results = []
    for engine in (mg, torch):
        tensors = [engine.tensor(v, requires_grad=True) for v in (x, w, b)]

        def step(engine=engine, tensors=tensors):
            y = engine.nn.functional.linear(*tensors)
            (y * y).sum().backward()
            return y

        run = mg.compile(step) if compiled and engine is mg else step
        results.append([run().detach().numpy(), *(t.grad.numpy() for t in tensors)])
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@in_one_test
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [63, 64, 1000, 5000])
@pytest.mark.parametrize("inner, columns", [(25, 25), (64, 64), (65, 64), (1, 3), (3, 1)])
def test_products_with_a_transposed_matrix(rows, inner, columns, dtype):
    a = RANDOM.normal(size=(rows, inner)).astype(dtype)
    b = RANDOM.normal(size=(columns, inner)).astype(dtype)
    expected = a.astype(np.float64) @ b.T.astype(np.float64)
    found = (mg.tensor(a) @ mg.tensor(b).t()).numpy()
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=100 * np.finfo(dtype).eps * inner)
    again = mg.compile(lambda x, w: x @ w.t())(mg.tensor(a), mg.tensor(b))
    np.testing.assert_array_equal(again.numpy(), found)  # a replay takes the same path


def test_which_matrices_are_copied_before_a_product():
    row, column = (100, 4), (4, 100)  # the strides of a 25 x 25 float32 matrix and of its transpose
    assert is_turned((1000, 25), (25, 25), column)
    assert not is_turned((1000, 25), (25, 25), row)
    # few rows: the copy would cost more than it saves
    assert not is_turned((63, 25), (25, 25), column)
    # over a million multiplications OpenBLAS copies anyway
    assert not is_turned((1601, 25), (25, 25), column)
    assert not is_turned((64, 65), (65, 64), column)
    assert (
        not is_turned((64, 0), (0, 5), column) or (np.zeros((64, 0)) @ np.zeros((0, 5)) == 0).all()
    )


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("size", [255, 256, 1000, ZEROS, ZEROS + 1, 65_537, 3 * ZEROS])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_relu_of_any_size_is_pytorchs(torch, size, dtype):
    x = RANDOM.normal(size=size).astype(dtype)
    x[:5] = np.nan, np.inf, -np.inf, 0, -1
    found = mg.relu(mg.tensor(x)).numpy()
    np.testing.assert_array_equal(found, torch.relu(torch.tensor(x)).numpy())
    shaped = x[: size // 4 * 4].reshape(-1, 2, 2)
    np.testing.assert_array_equal(mg.relu(mg.tensor(shaped)).numpy(), np.maximum(shaped, 0))
    assert np.array_equal(
        mg.relu(mg.tensor(shaped.T)).numpy(), np.maximum(shaped.T, 0), equal_nan=True
    )
