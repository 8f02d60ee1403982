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


WRITES = {
    "an element": lambda x, v: x.__setitem__(0, v),
    "a slice": lambda x, v: x.__setitem__(slice(None), v),
    "indices": lambda x, v: x.__setitem__([0, 1], v),
    "a mask": lambda x, v: x.__setitem__(mg.tensor([True, False, False]), v),
    "a list": lambda x, v: x.__setitem__(slice(None), [v, v, v]),
    "fill_": lambda x, v: x.fill_(v),
    "copy_": lambda x, v: x.copy_(v),
    "index_put_": lambda x, v: x.index_put_((mg.tensor([0]),), v),
    "fill_diagonal_": lambda x, v: x.reshape(3, 1).fill_diagonal_(v),
}
MADE = {
    "fill": lambda x, v: mg.fill(x, v),
    "index_put": lambda x, v: mg.index_put(x, (mg.tensor([0]),), v),
    "add with alpha": lambda x, v: x.add(v / 2, alpha=2),
    "sub with alpha": lambda x, v: x.sub(v / 2, alpha=-2),
    "rsub": lambda x, v: mg.rsub(-v, x, alpha=1),
    "float_power": lambda x, v: mg.float_power(v, x + 1),
}


@pytest.mark.parametrize("number", [0.1, 1e300, -1 / 3])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_number_written_into_float64_keeps_its_digits(write, number):
    """Nothing passes through the default dtype, where 0.1 has 8 digits and 1e300 is infinite."""
    x = mg.zeros(3, dtype=mg.float64)
    write(x, number)
    assert x[0].item() == number
    leaf = mg.zeros(3, dtype=mg.float64, requires_grad=True)
    y = leaf * 1
    write(y, number)
    y.sum().backward()
    assert y[0].item() == number and leaf.grad[0].item() == 0
    assert mg.nn.init.constant_(x, -number)[0].item() == -number


@pytest.mark.parametrize("function", MADE.values(), ids=MADE)
def test_a_number_beside_float64_keeps_its_digits(function):
    for number in (0.1, 1e300, 7 / 3):
        assert function(mg.zeros(3, dtype=mg.float64), number)[0].item() == number


def test_numbers_written_into_other_dtypes_are_rounded_once():
    x, z = mg.zeros(1, dtype=mg.int64), mg.zeros(1, dtype=mg.complex128)
    x[0] = 2.0**40 + 1
    z[0] = 0.1 + 0.2j
    assert x.item() == 2**40 + 1 and z.item() == 0.1 + 0.2j
    just_above = 1 + 2**-11 + 2**-30  # half a unit and a little more: float32 would drop the little
    assert mg.zeros(1, dtype=mg.float16).fill_(just_above).item() == 1 + 2**-10


def test_a_compiled_step_writes_numbers_in_float64_too():
    @mg.compile
    def step(x):
        y = x * 2
        y[0] = 0.1
        return y.add(0.1, alpha=3)

    for _ in range(5):
        assert step(mg.ones(2, dtype=mg.float64)).tolist() == [0.1 + 0.1 * 3, 2 + 0.1 * 3]


def test_normal_draws_in_the_dtype_of_its_tensors():
    drawn = mg.normal(mg.zeros(100, dtype=mg.float64), 1.0)
    assert drawn.dtype == mg.float64
    assert (drawn.to(mg.float32).to(mg.float64) != drawn).sum() > 90
