"""Reading and writing parts of a tensor: what PyTorch reads, what it writes, and where the
gradients go.
"""

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import both, compare, equal

X = np.arange(24.0).reshape(2, 3, 4) ** 1.5
INDICES = {
    "row": 1,
    "last": -1,
    "element": (1, 2, 3),
    "ellipsis": (..., 0),
    "none": (None, slice(None), None, 1),
    "slices": (slice(0, 1), slice(None, None, 2), slice(-3, None)),
    "nothing": (slice(5, 9),),
    "whole": (),
    "list": [1, 0, 1],
    "repeated": (np.array([0, 1, 1, 1]),),
    "pairs": (np.array([0, 1, 1]), np.array([2, 2, 2])),
    "broadcast": (np.array([[0], [1]]), np.array([0, 2, 0])),
    "negative": (slice(None), np.array([-1, 0, -1])),
    "mask": X > 20,
    "mask of rows": np.array([False, True]),
    "mask then slice": (np.array([True, False]), slice(1, 3)),
    "mask of nothing": np.zeros((2, 3, 4), bool),
    "slice and array": (slice(None), np.array([2, 0])),
    "array, slice, array": (np.array([0, 1]), slice(None), np.array([3, 3])),
    "array and number": (np.array([0, 1, 0]), 1),
    "number, slice, array": (1, slice(None), np.array([1, 1])),
    "none and array": (None, np.array([0, 0]), ..., None),
    "no indices": (np.array([], dtype="int64"),),
    "a number in an array": np.array(1),
}
REPEATED = (
    "repeated",
    "list",
    "pairs",
    "broadcast",
    "negative",
    "number, slice, array",
    "array and number",
    "none and array",
)
WRITABLE = {k: v for k, v in INDICES.items() if k not in REPEATED}
"""Without repeated indices, where the result of writing would depend on the order."""


def index_for(lib, index):
    """An index for one of the libraries, with its arrays as tensors of that library."""
    if isinstance(index, tuple):
        return tuple(index_for(lib, i) for i in index)
    return (
        (mg.tensor(index) if lib is mg else lib.tensor(index))
        if isinstance(index, np.ndarray)
        else index
    )


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("name", INDICES)
def test_reading_agrees_with_pytorch(torch, name: str) -> None:
    """Value, gradient (elements that were read twice get both contributions) and second
    derivative.
    """
    compare(torch, lambda lib, x: (x * x)[index_for(lib, INDICES[name])], X)


@in_one_test
@pytest.mark.parametrize("name", [n for n in INDICES if n != "number, slice, array"])
def test_reading_as_numpy_does(name: str) -> None:
    np.testing.assert_array_equal(mg.tensor(X)[INDICES[name]].numpy(), X[INDICES[name]])


def test_a_number_beside_arrays_moves_no_axes() -> None:
    """Here PyTorch and NumPy differ: to NumPy the number is one more array, and the arrays' axes
    come first.
    """
    assert mg.tensor(X)[1, :, [0, 2]].shape == (3, 2) and X[1, :, [0, 2]].shape == (2, 3)
    x = mg.tensor(X)
    x[1, :, [0, 2]] = mg.tensor([[1.0, 2.0]] * 3)
    assert x[1, :, [0, 2]].tolist() == [[1.0, 2.0]] * 3


def test_repeated_indices_accumulate() -> None:
    x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x[[0, 0, 2, 0]] * mg.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert x.grad.tolist() == [1011.0, 0.0, 100.0]


def test_the_index_may_change_afterwards() -> None:
    """The engine keeps a copy: what happens to the index later does not move the gradient."""
    for index in (np.array([0, 1]), mg.tensor([0, 1])):
        x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x[index]
        index[0] = 2
        y.sum().backward()
        assert x.grad.tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "index",
    [
        2,
        -3,
        (0, 3),
        (0, 0, 0, 0),
        [0, 5],
        np.array([-9]),
        (slice(None), [3]),
        np.array([True, False, True]),
        (0, [True, False]),
    ],
)
def test_out_of_range(index) -> None:
    x = mg.tensor(X)
    for use in (lambda: x[index], lambda: x.__setitem__(index, 1.0)):
        with pytest.raises(IndexError, match=r"shape \((2, )?3, 4\)"):
            use()


@pytest.mark.parametrize("index", [1.0, "a", [1.5], np.array([0.5]), {}, (0, 2.0)])
def test_what_is_no_index(index) -> None:
    with pytest.raises(IndexError):
        mg.tensor(X)[index]


@pytest.mark.parametrize("index", [slice(None, None, -1), (0, slice(2, 0, -1))])
def test_slices_with_negative_steps_are_numpys(index) -> None:
    """PyTorch has no negative steps; here they are NumPy's, with gradients."""
    x = mg.tensor(X, requires_grad=True)
    y = x[index]
    np.testing.assert_array_equal(y.detach().numpy(), X[index])
    weights = np.arange(1.0, y.numel() + 1).reshape(y.shape)
    y.backward(mg.tensor(weights))
    want = np.zeros_like(X)
    want[index] = weights
    np.testing.assert_array_equal(x.grad.numpy(), want)


# ------------------------------------------------------------------------------------------ writing


def written(lib, x, value, index):
    y = x * 1
    y[index_for(lib, index)] = value
    return y


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("name", WRITABLE)
def test_writing_a_number(torch, name: str) -> None:
    """Elements that were overwritten have no gradient any more."""
    compare(torch, lambda lib, x: written(lib, x * x, 2.5, INDICES[name]), X)


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("name", WRITABLE)
def test_writing_a_tensor(torch, name: str) -> None:
    """The gradient of the value is what was read at its places, that of the target is zero
    there.
    """
    value = np.cos(np.arange(X[INDICES[name]].size)).reshape(X[INDICES[name]].shape)
    compare(torch, lambda lib, x, v: written(lib, x * x, v * v, INDICES[name]), X, value)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("row", (4,)),
        ("row", (3, 1)),
        ("row", ()),
        ("slices", (1,)),
        ("mask", ()),
        ("mask", (1,)),
        ("mask of rows", (4,)),
        ("slice and array", (2, 1)),
        ("slice and array", (1, 1, 4)),
    ],
)
def test_a_broadcast_value_gets_a_gradient_of_its_own_shape(torch, name: str, shape) -> None:
    """The gradient of a value that was broadcast has the value's own shape."""
    value = np.asarray(np.sin(np.arange(max(1, int(np.prod(shape))))).reshape(shape))
    compare(torch, lambda lib, x, v: written(lib, x, v * v, INDICES[name]), X, value)


def test_writing_lists_and_arrays() -> None:
    x = mg.tensor(X)
    x[0, 0] = [1, 2, 3, 4]
    x[1, [0, 2]] = np.full((2, 4), 7.0, "float32")
    x[X > 40] = -1
    want = X.copy()
    want[0, 0], want[1, [0, 2]], want[X > 40] = [1, 2, 3, 4], 7.0, -1
    np.testing.assert_array_equal(x.numpy(), want)


@pytest.mark.parametrize(
    ("index", "shape"),
    [(0, (5,)), (0, (2, 3, 4)), ((slice(None), [0, 1]), (3, 2, 4)), (X > 20, (2,))],
)
def test_values_that_do_not_fit(index, shape) -> None:
    x = mg.tensor(X)
    with pytest.raises((mg.errors.ShapeError, ValueError), match=r"shape"):
        x[index] = mg.zeros(shape)
    np.testing.assert_array_equal(x.numpy(), X)


@pytest.mark.oracle
@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_agrees_with_pytorch(torch, accumulate: bool) -> None:
    index = (np.array([0, 1, 1]), np.array([2, 0, 1]))

    def put(lib, x, v):
        y = x * x
        y.index_put_(index_for(lib, index), v * v, accumulate=accumulate)
        return y

    compare(torch, put, X, np.arange(12.0).reshape(3, 4))
    compare(torch, put, X, np.asarray(2.0))
    compare(torch, put, X, np.arange(4.0))


@pytest.mark.oracle
def test_index_put_adds_repeated_indices(torch) -> None:
    index = (np.array([1, 1, 0, 1]),)
    compare(
        torch,
        lambda lib, x, v: (x * x).index_put_(index_for(lib, index), v * v, accumulate=True),
        X,
        np.arange(48.0).reshape(4, 3, 4),
    )


@pytest.mark.oracle
def test_dtypes_of_written_values(torch) -> None:
    """The value takes the target's dtype, integers lose their fraction, and the gradient comes
    back in the value's own dtype.
    """
    ours, theirs = both(torch, [np.array([1.5, 2.5], "float32"), np.array([1, 2, 3])])
    for lib, (value, target) in ((mg, ours), (torch, theirs)):
        target[1:] = value.detach()
        wide = lib.zeros(3, dtype=lib.float64)
        wide[1:] = value
        (wide * wide).sum().backward()
    equal(ours[1], theirs[1], "integers")
    equal(ours[0].grad, theirs[0].grad, "gradient")


def test_the_gradient_of_repeated_rows_counts_them() -> None:
    """A thousand rows out of ten, with repetitions: the gradient counts them."""
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 10, 1000)
    table = mg.tensor(rng.standard_normal((10, 7)), requires_grad=True)
    table[rows].sum().backward()
    np.testing.assert_array_equal(
        table.grad.numpy(), np.bincount(rows, minlength=10)[:, None] * np.ones(7)
    )
