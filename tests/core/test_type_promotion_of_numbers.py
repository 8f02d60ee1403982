"""Python integers beside integer tensors wrap around; empty and 0-d tensors have their part in
the dtype.
"""

import operator

import numpy as np
import pytest

import minigrad as mg

OPERATORS = [operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor]


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32"])
@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_a_python_integer_out_of_range_wraps_around(torch, name, function):
    for number in (
        -1,
        127,
        128,
        200,
        255,
        256,
        300,
        -129,
        -1000,
        70000,
        -(2**31),
        2**31 + 5,
        2**40 + 3,
    ):
        ours, theirs = (lib.tensor([0, 1, 5, 100], dtype=getattr(lib, name)) for lib in (mg, torch))
        for left in (True, False):
            mine, right = (
                function(x, number) if left else function(number, x) for x in (ours, theirs)
            )
            assert str(mine.dtype) == str(right.dtype).removeprefix("torch.")
            np.testing.assert_array_equal(mine.numpy(), right.numpy(), err_msg=f"{number} {left}")


def test_in_place_arithmetic_wraps_around_too():
    x = mg.tensor([1, 2], dtype=mg.uint8)
    x.add_(300)
    x *= -1
    assert x.tolist() == [211, 210] and x.dtype == mg.uint8 and x._version == 2


def test_cat_promotes_with_the_dtype_of_empty_tensors():
    empty = mg.zeros(0, dtype=mg.float64)
    assert mg.cat([mg.ones(2, dtype=mg.uint8), empty]).dtype == mg.float64
    assert mg.cat([empty, mg.ones(2, 2)], 0).dtype == mg.float64
    x = mg.ones(2, requires_grad=True)
    mg.cat([x, empty]).sum().backward()
    assert x.grad.tolist() == [1, 1] and x.grad.dtype == mg.float32


@pytest.mark.oracle
def test_clamp_finds_its_dtype_from_all_three_arguments_at_once(torch):
    names = ("bool", "int32", "float32", "float64")
    for of in names:
        for low in names:
            for high in names:
                if of == low == high == "bool":
                    continue  # PyTorch has no clamp of booleans
                for shapes in (((2,), (), (2,)), ((2,), (), ()), ((), (2,), ()), ((), (), ())):
                    dtypes = []
                    for lib in (mg, torch):
                        of_, low_, high_ = (
                            lib.ones(s, dtype=getattr(lib, n))
                            for s, n in zip(shapes, (of, low, high), strict=True)
                        )
                        dtypes.append(str(lib.clamp(of_, low_, high_).dtype).removeprefix("torch."))
                    assert dtypes[0] == dtypes[1], (of, low, high, shapes)
