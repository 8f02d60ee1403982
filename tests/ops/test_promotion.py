"""The dtype of a result, for every pair of dtypes and every kind of operand: PyTorch's table."""

import functools
import itertools
import operator
import warnings

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import dtype_name

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
NUMBERS = [True, 2, 1.5, 1 + 2j]
OPERATIONS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "eq": operator.eq,
    "lt": operator.lt,
    "maximum": None,
    "atan2": None,
    "logical_and": None,
    "and": operator.and_,
}
FORMS = [(2,), ()]


def operands(lib, tensor):
    """Each dtype, with one dimension and with none."""
    return {(d, shape): tensor(np.ones(shape, d)) for d, shape in itertools.product(DTYPES, FORMS)}


def outcome(function, a, b):
    """The result, or the error that was raised instead."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(a, b)
    except Exception as error:
        return error


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_pair_of_dtypes(torch, name: str) -> None:
    """484 pairs of tensors and 88 of a tensor and a number, on either side. Where PyTorch
    refuses, minigrad may answer.
    """
    ours = operands(mg, mg.tensor)
    theirs = operands(torch, torch.tensor)
    mine = OPERATIONS[name] or getattr(mg, name)
    other = OPERATIONS[name] or getattr(torch, name)
    pairs = [(ours[a], ours[b], theirs[a], theirs[b], f"{a} {b}") for a in ours for b in ours]
    if OPERATIONS[name]:
        pairs += [(ours[a], n, theirs[a], n, f"{a} {n}") for a in ours for n in NUMBERS]
        pairs += [(n, ours[a], n, theirs[a], f"{n} {a}") for a in ours for n in NUMBERS]
    wrong = []
    for a, b, c, d, label in pairs:
        got, want = outcome(mine, a, b), outcome(other, c, d)
        if (
            isinstance(want, Exception) or dtype_name(want) == "complex32"
        ):  # NumPy has no half-precision complex numbers: they are complex64 here
            continue
        if isinstance(got, Exception):
            wrong.append(f"{label}: raised {got!r}, PyTorch gives {dtype_name(want)}")
        elif dtype_name(got) != dtype_name(want):
            wrong.append(f"{label}: {dtype_name(got)}, PyTorch gives {dtype_name(want)}")
    assert wrong == []


@pytest.mark.oracle
def test_result_type_itself(torch) -> None:
    ours, theirs = operands(mg, mg.tensor), operands(torch, torch.tensor)
    for a, b in itertools.product(ours, ours):
        want = str(torch.result_type(theirs[a], theirs[b])).removeprefix("torch.")
        assert mg.result_type(ours[a], ours[b]).name == want.replace("complex32", "complex64"), (
            a,
            b,
        )


def test_bfloat16_and_float16_meet_in_float32() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 needs the package ml_dtypes")
    brain = mg.tensor(np.ones(2, ml_dtypes.bfloat16))
    assert (brain + mg.tensor(np.ones(2, "float16"))).dtype == "float32"
    assert (brain + mg.tensor(np.ones(2, "int64"))).dtype == brain.dtype
    assert (brain + mg.tensor(np.ones(2, "float32"))).dtype == "float32"
    for y in (brain + 1.5, 2 * brain, brain / 3, brain**0.5, 1.0 - brain, brain + True):
        assert y.dtype == brain.dtype


def test_gradients_have_their_leafs_dtype() -> None:
    """Operands of different dtypes are cast; each gradient is cast back."""
    a = mg.tensor(np.ones(3, "float32"), requires_grad=True)
    b = mg.tensor(np.ones(3, "float64"), requires_grad=True)
    c = mg.tensor(np.ones(3, "float16"), requires_grad=True)
    z = mg.tensor(np.ones(3, "complex128"), requires_grad=True)
    y = (a * b * c * z * mg.tensor([1, 2, 3])).real.sum()
    y.backward()
    assert y.dtype == "float64"
    assert [t.grad.dtype.name for t in (a, b, c, z)] == [
        "float32",
        "float64",
        "float16",
        "complex128",
    ]
    assert [t.grad.tolist() for t in (a, b, c)] == [[1, 2, 3]] * 3


def test_a_number_without_dimensions_does_not_promote() -> None:
    x = mg.tensor(np.ones(3, "float32"))
    assert (x * mg.tensor(np.float64(2))).dtype == "float32"
    assert (x[0] * mg.tensor(np.float64(2))).dtype == "float64"
    assert (mg.tensor(np.ones(3, "int8")) + mg.tensor(np.int64(1))).dtype == "int8"
    assert (mg.tensor(np.ones(3, "int8")) + mg.tensor(1.0)).dtype == "float32"


WITH_A_FACTOR = {
    "add": lambda m, a, b, v: m.add(a, b, alpha=v),
    "sub": lambda m, a, b, v: m.sub(a, b, alpha=v),
    "rsub": lambda m, a, b, v: m.rsub(a, b, alpha=v),
    "addcmul": lambda m, a, b, v: m.addcmul(a, b, b, value=v),
    "addcdiv": lambda m, a, b, v: m.addcdiv(a, b, b * b, value=v),
    "ldexp": lambda m, a, b, v: m.ldexp(a, b * 5),
    "copysign": lambda m, a, b, v: m.copysign(a, -b),
    "block_diag": lambda m, a, b, v: m.block_diag(a, b),
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", WITH_A_FACTOR)
def test_what_is_multiplied_before_it_is_added_has_the_dtype_of_the_sum(torch, name):
    """As in PyTorch, dtype and digits; where both have an answer, but for its complex32."""
    compared, wrong = 0, {}
    for a, b, form, v in itertools.product(DTYPES, DTYPES, FORMS, (0.1, 3)):
        results = []
        for m, tensor in ((mg, mg.tensor), (torch, torch.tensor)):
            x, y = tensor(np.full(form, 1, a)), tensor(np.array([2, 1], b))
            call = functools.partial(WITH_A_FACTOR[name], m, v=v)
            results.append(outcome(call, x, y))
        ours, theirs = results
        if isinstance(ours, Exception) or isinstance(theirs, Exception):
            continue
        if dtype_name(theirs) == "complex32":
            continue
        compared += 1
        digits = 3e-7 if dtype_name(theirs) in ("float32", "complex64") else 1e-12
        digits = 1e-3 if dtype_name(theirs) == "float16" else digits
        if dtype_name(ours) != dtype_name(theirs) or not np.allclose(
            ours.numpy(), theirs.numpy(), rtol=digits, atol=0, equal_nan=True
        ):
            wrong[a, b, form, v] = ours, theirs
    assert wrong == {} and compared > 100


def test_half_precision_keeps_the_imaginary_part_of_a_number_without_dimensions() -> None:
    x, i = mg.tensor([1.0, 2.0], dtype=mg.bfloat16), mg.tensor(1j)
    assert mg.addcdiv(i, x, x, value=2).tolist() == [2 + 1j, 2 + 1j]
    assert mg.addcmul(i, x, x).tolist() == [1 + 1j, 4 + 1j]


def test_ldexp_has_the_range_of_its_result() -> None:
    x = mg.tensor(np.array([1.0, 3.0]))
    assert mg.ldexp(x, mg.tensor([200, -1000])).tolist() == [2.0**200, 3.0 * 2.0**-1000]
