"""Random numbers as operations: distributions, dtypes, the generator that they share, and that
nothing flows back through them.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.primitive import registry
from minigrad.ops import random


def test_every_draw_is_tested_here() -> None:
    """Operations without operands are random ones; the only other one is `dropout_mask`."""
    without_operands = {
        n
        for n, o in registry.items()
        if not o.inputs and o.forward.__module__.startswith("minigrad.")
    }
    assert {n for n, o in registry.items() if o.random} == without_operands | {"dropout_mask"}


def test_the_generator_is_that_of_manual_seed() -> None:
    """The operations draw from NumPy's generator of the seed, in order."""
    mg.manual_seed(7)
    drawn = [
        random.uniform(shape=(3,), dtype=np.dtype("float64")),
        random.normal(shape=(2, 2), dtype=np.dtype("float32")),
        random.integers(low=-2, high=9, shape=(4,), dtype=np.dtype("int64")),
    ]
    numpy = np.random.default_rng(7)
    wanted = [
        numpy.random(3),
        numpy.standard_normal((2, 2)).astype("float32"),
        numpy.integers(-2, 9, 4),
    ]
    for got, want in zip(drawn, wanted, strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_public_functions_draw_the_same(dtype: str, shape: tuple[int, ...]) -> None:
    """`rand` and `randn` are the operations with a Tensor around them."""
    for function, operation in ((mg.rand, random.uniform), (mg.randn, random.normal)):
        mg.manual_seed(3)
        x = function(shape, dtype=dtype)
        mg.manual_seed(3)
        np.testing.assert_array_equal(x.numpy(), operation(shape=shape, dtype=np.dtype(dtype)))
        assert x.dtype == np.dtype(dtype) and x.shape == shape and not x.requires_grad


def test_complex_numbers_have_variance_one_in_total() -> None:
    """Half of it in each part."""
    mg.manual_seed(0)
    z = random.normal(shape=(20_000,), dtype=np.dtype("complex128"))
    assert abs((np.abs(z) ** 2).mean() - 1) < 0.03 and abs(z.real.var() - 0.5) < 0.02
