"""Python integers beside integer tensors wrap around, or are refused where no value could be right;
empty and 0-d tensors have their part in the dtype.
"""

import contextlib
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


INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
OF_TWO = [
    *OPERATORS,
    *(getattr(operator, f) for f in "truediv floordiv mod pow lt le gt ge eq ne".split()),
]


@pytest.mark.parametrize("name", [*INTEGERS, "bool"])
@pytest.mark.parametrize("function", OF_TWO, ids=lambda f: f.__name__)
@pytest.mark.oracle
def test_an_integer_of_more_than_64_bits_is_refused_beside_integers(torch, name, function):
    for number in (2**64, 2**70, 10**400, -(2**63) - 1):
        ours, theirs = (lib.tensor([[1, 1]], dtype=getattr(lib, name)) for lib in (mg, torch))
        for left in (True, False):
            for x, errors in ((theirs, OverflowError), (ours, OverflowError)):
                if function is operator.pow and left and number < 0:
                    errors = OverflowError, RuntimeError  # a negative power of an integer
                with pytest.raises(errors):
                    function(x, number) if left else function(number, x)
    assert (mg.tensor([1.0]) * 2**70).item() == 2.0**70, "a floating dtype can hold it"


@pytest.mark.parametrize("name", INTEGERS)
def test_comparisons_with_python_integers_are_exact(name):
    limits = np.iinfo(name)
    x = mg.tensor([0, 1], dtype=name)
    for number in (limits.min - 1, limits.max + 1):
        if -(2**63) <= number < 2**64:
            assert (x < number).tolist() == [number > 0] * 2
            assert (x == number).tolist() == [False] * 2


def _set(x, index, value):
    x[index] = value
    return x


OF_ONE_NUMBER = {
    "fill_": lambda lib, x, n: x.clone().fill_(n),
    "where": lambda lib, x, n: lib.where(x > 1, x, n),
    "where, the other": lambda lib, x, n: lib.where(x > 1, n, x),
    "masked_fill": lambda lib, x, n: x.masked_fill(x > 1, n),
    "full": lambda lib, x, n: lib.full((2,), n, dtype=x.dtype),
    "full_like": lambda lib, x, n: lib.full_like(x, n),
    "an item": lambda lib, x, n: _set(x.clone(), 0, n),
    "a slice": lambda lib, x, n: _set(x.clone(), slice(1), n),
    "a mask": lambda lib, x, n: _set(x.clone(), x > 1, n),
    "tensor": lambda lib, x, n: lib.tensor(n, dtype=x.dtype),
    "tensor of a list": lambda lib, x, n: lib.tensor([[n, 1]], dtype=x.dtype),
    "scatter": lambda lib, x, n: x.scatter(0, lib.tensor([0]), n),
    "index_fill": lambda lib, x, n: x.index_fill(0, lib.tensor([0]), n),
}


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("write", OF_ONE_NUMBER)
@pytest.mark.oracle
def test_a_write_refuses_what_the_dtype_cannot_hold(torch, name, write):
    refused = 0
    edges = [2**k + d for k in (7, 8, 15, 16, 31, 32, 63, 64, 70) for d in (-1, 0)]
    for number in [*edges, *(-n for n in edges), 10**400, 5]:
        results = []
        for lib in (torch, mg):
            x = lib.tensor([1, 2], dtype=getattr(lib, name))
            try:
                results.append(OF_ONE_NUMBER[write](lib, x, number).tolist())
            except (OverflowError, RuntimeError, ValueError) as error:
                results.append("refused")
                refused += lib is mg
                assert lib is torch or type(error) is OverflowError
        assert results[0] == results[1], (number, results)
    assert refused >= 9


def test_a_floating_tensor_takes_an_integer_of_any_size():
    x = mg.zeros(2)
    x[0] = 2**70
    x[1:] = [2**63 - 1]
    assert x.tolist() == [2.0**70, 2.0**63]
    assert mg.tensor([1.5, 2**70], dtype=mg.float64).tolist() == [1.5, 2.0**70]
    assert mg.tensor([1.5, -(2**70)]).dtype == mg.float32
    with pytest.raises(OverflowError, match="larger than int64"):
        mg.tensor([2**70])
    with pytest.raises(OverflowError, match="thousands of digits"):
        mg.tensor(10**5000)


def test_bounds_beyond_all_numbers_of_a_dtype_limit_nothing() -> None:
    x = mg.tensor([0, 200, 255], dtype=mg.uint8)
    for y in (x.clamp(-3, 300), x.clamp(min=-3), x.clamp(max=300), x.clip(-(2**63), 2**63 - 1)):
        assert y.dtype == mg.uint8 and y.tolist() == [0, 200, 255]
    assert x.clamp(-1, 201).tolist() == [0, 200, 201]
    small = mg.tensor([-128, 127], dtype=mg.int8)
    assert small.clamp(-200, 100).tolist() == [-128, 100]
    assert small.clone().clamp_(-100, 200).tolist() == [-100, 127]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: x + 2**70, "add: .* 71 bits"),
        (lambda x: mg.maximum(x, 300), "maximum: 300 is out of the range of uint8, 0 to 255"),
        (lambda x: x.clamp(max=2**70), "clamp: .* 71 bits"),
        (lambda x: x.clamp(min=300), "clamp: 300 is out of the range of uint8, 0 to 255"),
        (lambda x: x.clamp(max=-3), "clamp: -3 is out of the range of uint8, 0 to 255"),
        (lambda x: mg.func.vmap(lambda a: a * 2**70)(x), "mul: .* 71 bits"),
        (lambda x: mg.compile(lambda a: a - 2**70)(x), "sub: .* 71 bits"),
        (lambda x: x.add_(2**70), "add: .* 71 bits"),
    ],
)
@pytest.mark.parametrize("fast", [True, False])
def test_the_refusal_names_the_operation_and_the_range(call, says, fast):
    paths = contextlib.nullcontext() if fast else mg.fast.disabled()
    with paths, pytest.raises(OverflowError, match=says):
        call(mg.tensor([1, 2], dtype=mg.uint8))


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
