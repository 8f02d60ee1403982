"""Shapes at their limits: sums over nothing, no axes and too many axes; matrix products of every
rank; joining and broadcasting.
"""

import itertools

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import both, compare, equal

RNG = np.random.default_rng(11)


def normal(*shape):
    return RNG.standard_normal(shape)


REDUCTIONS = ["sum", "mean", "amax", "amin"]
DIMS = [0, 1, -1, (0, 2), (-1, 0), (0, 1, 2), (), (1,)]


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_agree_with_pytorch(torch, name: str, dim, keepdim: bool) -> None:
    """dim=() means all axes."""
    compare(torch, lambda lib, x: getattr(lib, name)(x, dim, keepdim=keepdim), normal(2, 3, 4))


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 3)])
def test_reductions_of_numbers_and_of_nothing(torch, name: str, shape) -> None:
    """The sum over no elements is 0, the mean NaN; axis 0 of a number exists."""
    compare(torch, lambda lib, x: getattr(lib, name)(x), np.zeros(shape))
    compare(torch, lambda lib, x: getattr(lib, name)(x, 0), np.zeros(shape))
    compare(torch, lambda lib, x: getattr(lib, name)(x, -1, keepdim=True), np.zeros(shape))


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "all", "any", "argmax"])
def test_axes_that_do_not_exist(name: str) -> None:
    x = mg.tensor(normal(2, 3))
    for dim in (2, -3):
        with pytest.raises(
            IndexError,
            match=(
                rf"{name}: dimension {dim} is out of range; a tensor with 2 dimensions takes -2"
                r" to 1"
            ),
        ):
            getattr(mg, name)(x, dim)
    with pytest.raises(TypeError, match="must be an int"):
        getattr(mg, name)(x, 1.0)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "all"])
def test_an_axis_named_twice(name: str) -> None:
    with pytest.raises(RuntimeError, match="named more than once"):
        getattr(mg, name)(mg.tensor(normal(2, 3)), (0, -2))


def test_extremes_of_nothing() -> None:
    x = mg.zeros(0, 3)
    for name in ("amax", "amin"):
        with pytest.raises(IndexError, match="dimension 0 is empty"):
            getattr(mg, name)(x, 0)
        assert getattr(mg, name)(x, 1).shape == (0,)
    for name in ("argmax", "argmin"):
        with pytest.raises(IndexError, match=f"{name}: .*no element"):
            getattr(mg, name)(x)
        with pytest.raises(IndexError, match=f"{name}: .*no element"):
            getattr(mg, name)(x, 0)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes(torch, name: str) -> None:
    """The first of equals; NaN wins; numbers have place 0."""
    x = np.array([[1.0, 3.0, 3.0], [0.0, 0.0, 1.0], [2.0, np.nan, 5.0]])
    for array, args in (
        (x, ()),
        (x, (0,)),
        (x, (-1,)),
        (x, (1, True)),
        (np.asarray(2.0), ()),
        (np.asarray(2.0), (0,)),
        (x[:2], ()),
    ):
        ours, theirs = both(torch, [array], needed=False)
        equal(getattr(mg, name)(ours[0], *args), getattr(torch, name)(theirs[0], *args), name)


@pytest.mark.oracle
def test_sums_of_integers_are_int64(torch) -> None:
    for dtype in ("bool", "uint8", "int8", "int32"):
        ours, theirs = both(torch, [np.ones(300, dtype)])
        equal(ours[0].sum(), theirs[0].sum(), dtype)
        equal(ours[0].all(), theirs[0].all(), dtype)
    with pytest.raises(mg.errors.DTypeError, match=r"x\.float\(\)\.mean\(\)"):
        mg.tensor([1, 2]).mean()


# ---------------------------------------------------------------------------------- matrix products

RANKS = [(3,), (4, 3), (1, 3), (2, 4, 3), (1, 4, 3), (5, 1, 4, 3)]


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize(("a", "b"), list(itertools.product(RANKS, RANKS)), ids=str)
def test_products_of_every_pair_of_ranks(torch, a, b) -> None:
    """Vectors, matrices, batches, batches to be broadcast; first and second derivatives."""
    right = b if len(b) == 1 else (*b[:-2], b[-1], b[-2])
    compare(torch, lambda lib, x, y: lib.matmul(x, y), normal(*a), normal(*right), tolerance=1e-11)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("a", "b"),
    [((2, 0), (0, 3)), ((0, 2), (2, 3)), ((0,), (0,)), ((4, 0, 2), (2, 3)), ((3,), (0, 3, 2))],
    ids=str,
)
def test_products_of_nothing(torch, a, b) -> None:
    compare(torch, lambda lib, x, y: lib.matmul(x, y), normal(*a), normal(*b))


def test_products_that_do_not_fit() -> None:
    with pytest.raises(
        mg.errors.ShapeError,
        match=r"matmul: shapes \(2, 3\) and \(2, 3\) do not fit: the inner sizes 3 and 2 differ",
    ):
        mg.zeros(2, 3) @ mg.zeros(2, 3)
    with pytest.raises(mg.errors.ShapeError, match="at least one dimension"):
        mg.zeros(2, 3) @ mg.tensor(1.0)
    with pytest.raises(mg.errors.ShapeError, match=r"matmul: .*\(2, 1, 3\).*\(4, 3, 1\).*batch"):
        mg.zeros(2, 1, 3) @ mg.zeros(4, 3, 1)


# ------------------------------------------------------------------------------------- broadcasting


def test_shapes_that_do_not_broadcast() -> None:
    for operation in (
        lambda a, b: a + b,
        lambda a, b: a * b,
        mg.maximum,
        lambda a, b: a < b,
        mg.atan2,
    ):
        with pytest.raises(mg.errors.ShapeError, match=r"\(2, 3\).*\(4,\)"):
            operation(mg.zeros(2, 3), mg.zeros(4))
