"""Kernels on the CPU: which instructions go together, what the kernels' Python says, and that
programs compute the same.

The kernels' text is Python, so most tests run it as that, with NumPy's scalars, on small arrays:
Numba is not needed for them. What its compiler makes of the text is tested where it is installed.
"""

import ctypes
import functools
import importlib.util
import math
import os
import re
import subprocess
import sys
import threading
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim
from minigrad.core.primitive import registry
from minigrad.errors import ProgramError
from minigrad.nn import functional as F
from minigrad.ops import pooling
from minigrad.program import (
    EagerWarning,
    kernel_files,
    numba_kernels,
    row_groups,
    scalar_code,
    trace,
    window_kernels,
)
from minigrad.program.generated_kernel import kernels_of
from minigrad.program.instructions import Instruction
from minigrad.program.numba_kernels import NUMBA, NumbaKernel, with_kernels
from minigrad.program.program import Program
from minigrad.program.row_groups import Block, Finder, is_costly
from tests.helpers import random_compiled_programs
from tests.helpers.exact_values import assert_same_numbers
from tests.helpers.tables import in_one_test
from tests.ops.test_window_kernels import settings
from tests.program.test_fused import CASES, PARAMETERS, ROUNDED, instruction_for, operand_sets

RNG = np.random.default_rng(0)
START = RNG.bit_generator.state
needs_numba = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None,
    reason='Numba is not installed: pip install -e ".[jit]"',
)


def tensor(*shape: int, dtype: str = "float32") -> mg.Tensor:
    return mg.tensor(RNG.standard_normal(shape).astype(dtype))


def chains(function: Any, *examples: Any) -> list[list[str]]:
    """The names of the operations that go together."""
    program = trace(function, *examples)
    return [
        [program.instructions[m].primitive.name for m in block.members]
        for block in Finder(program, NUMBA).blocks()
    ]


def test_an_expression_is_written_once_however_many_cuts_a_shape_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = []
    real = row_groups.expression
    noting = lambda program, i, *rest: written.append(i) or real(program, i, *rest)
    monkeypatch.setattr(row_groups, "expression", noting)
    assert chains(lambda x: (x * 2 + 1).relu().exp(), tensor(2, 4, 32))
    assert len(written) == 4


def order32(x: Any) -> int:
    """The place of a float32 in the order of all, NaN behind the largest."""
    bits = int(np.float32(np.nan if x != x else x).view(np.int32))
    return bits if bits >= 0 else bits ^ 0x7FFFFFFF


def number32(place: int) -> Any:
    return np.int32(place if place >= 0 else place ^ 0x7FFFFFFF).view(np.float32)


def erf32(x: Any) -> Any:
    return np.float32(math.erf(x))


def array_at(table: int, k: int, kind: Any) -> Any:
    """Array number k of a table of addresses and sizes."""
    address, size = (ctypes.c_int64 * 2).from_address(table + 16 * k)
    return np.ctypeslib.as_array(
        (ctypes.c_char * (size * kind().itemsize)).from_address(address)
    ).view(kind)


def as_python(head: str, source: str, name: str) -> Any:
    """The kernel as Python runs it, with NumPy's scalars."""
    space: dict[str, Any] = {
        "f32": np.float32, "f64": np.float64, "uint64": int, "int32": int, "exp32": np.exp,
        "erf32": erf32, "sqrt": np.sqrt, "array_at": array_at, "boolean": np.bool_,
        "any_order": lambda a, b: a + b, "truth": lambda x: np.bool_(x != 0),
        "larger": lambda a, b: a if a > b or a != a else b,
        "smaller": lambda a, b: a if a < b or a != a else b,
        "LEAST": -(2**31), "most": max, "order32": order32, "number32": number32,
    }  # fmt: skip
    names = "ceil empty floor full inf isnan log nan trunc zeros".split() + scalar_code.FROM_NUMPY
    space.update({name: getattr(np, name) for name in names})
    space.update(erf=math.erf, erfc=math.erfc)
    exec(source, space)
    kernel = space["kernel"]

    def run(*arrays: Any) -> None:
        with np.errstate(all="ignore"):
            kernel(*(np.float64(a) if type(a) is float else a for a in arrays))

    return run


@pytest.fixture(autouse=True)
def own_numbers() -> None:
    """Each test draws the numbers that it draws alone."""
    RNG.bit_generator.state = START


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIGRAD_KERNELS_WAIT", "1")
    for module in (numba_kernels, scalar_code, window_kernels):
        monkeypatch.setattr(module, "compiled", as_python)
    for module in (numba_kernels, sys.modules["minigrad.program.compiled"]):
        monkeypatch.setattr(module, "need_numba", lambda: None)


@pytest.fixture
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("MINIGRAD_KERNELS", str(tmp_path / "kernels"))
    monkeypatch.setenv("MINIGRAD_KERNELS_WAIT", "1")
    return tmp_path / "kernels"


def agree(program: Program, *inputs: Any, runs: int = 3) -> Program:
    """The fused program, which gives what the program gives, in its first run and in those by
    kernels."""
    fused = with_kernels(program)
    for _ in range(runs):
        expected, found = program(*inputs), fused(*inputs)
        for a, b in zip(_flat(expected), _flat(found), strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(b, a, rtol=3e-6, atol=3e-6)
    return fused


def _flat(results: Any) -> list[np.ndarray]:
    results = results if isinstance(results, tuple | list) else [results]
    return [np.asarray(r.detach().numpy()) for r in results]


# ------------------------------------------------------------------------------------------- blocks


def test_a_row_is_reduced_and_used_again() -> None:
    """Softmax, a loss and the gradient of both are one block, and so is a bias with its relu."""
    x, b = tensor(6, 3), tensor(3)
    softmax = lambda x: (e := x.exp()) / e.sum(1, keepdim=True)
    assert chains(lambda x: softmax(x).square().mean(), x) == [
        ["exp", "sum", "div", "square", "mean"]
    ]
    assert chains(lambda x, b: F.relu(x * b + b), x, b) == [["mul", "add", "relu"]]
    assert chains(lambda x: (x * 2).sum(0) * 3 + 1, x) == [["mul", "sum"], ["mul", "add"]], (
        "sums over rows are complete when the loop has ended"
    )


def test_a_long_sum_is_a_kernel_by_itself(in_python: None) -> None:
    w = tensor(3, 64)
    x = tensor(64, 3)
    for f in (lambda y: y.sum(0), lambda y: y.mean(1), lambda y: y.sum()):
        program = trace(lambda x, w, f=f: f(x @ w), x, w)
        (kernel,) = kernels_of(with_kernels(program))
        assert kernel.operations == 1
        agree(program, x, w)
        small = trace(lambda x, w, f=f: f(x @ w), x[:63], w)
        assert kernels_of(with_kernels(small)) == []


def test_what_ends_a_block() -> None:
    x, y = tensor(4, 4), tensor(4)
    assert chains(lambda x: ((x * 2 + 1) @ x).exp() * 2, x) == [["mul", "add"], ["exp", "mul"]]
    assert chains(lambda x, y: (x + (y * 2).exp()) * 3, x, y) == [["mul", "exp"], ["add", "mul"]]
    assert chains(lambda x: (x * 2).T + 1, tensor(4, 3)) == []
    for dtype in ("float16", "complex64", "int64"):
        assert chains(lambda x: x * x + x, mg.ones(3, dtype=dtype)) == []
    assert chains(lambda x: (x * 2).tanh() + 1, x) == [], "NumPy has vector instructions for it"
    assert chains(lambda x: x * 2 + 1, mg.ones(0, 3)) == []
    assert chains(lambda x: (x * 2).exp() + 1, tensor(3, dtype="float64")) == []
    assert chains(lambda x: (x * 2).sum() + 1, tensor(3, dtype="float64")) == [
        ["mul", "sum", "add"]
    ]
    assert chains(lambda x: (x * 2).sum(), tensor(65, dtype="float64")) == [], (
        "a long sum in float64"
    )


def test_a_sum_comes_before_the_product_that_would_end_its_block(in_python: None) -> None:
    """A bias's gradient is summed where the gradient is made, also through a reshape, whatever
    reads the gradient in between; a sum that fits no block stays where it was."""

    def names(function: Any, *inputs: Any) -> list[str]:
        program = trace(function, *inputs)
        agree(program, *inputs)
        return [i.primitive.name for i in with_kernels(program).instructions]

    x, w = tensor(6, 3), tensor(3, 3)
    late = lambda x, w: ((g := x * 2 + 1) @ w, g.sum(0))
    assert names(late, x, w) == ["fused_mul_add_sum", "matmul"]
    late = lambda x, w: ((g := x * 2 + 1) @ w, g.reshape(3, 6).sum(0))
    assert names(late, x, w) == ["fused_mul_add", "matmul", "reshape", "sum"]
    late = lambda x, w: ((g := x * 2 + 1) @ w, g.reshape(2, 3, 3).reshape(6, 3).sum(0).exp() * 2)
    assert names(late, x, w) == ["fused_mul_add_sum", "matmul", "fused_exp_mul"]
    middle = lambda x: ((g := x * 2), g.exp() + 1, g.sum(1))
    assert names(middle, tensor(2, 3, 4)) == ["fused_mul_exp_add", "sum"]


def test_a_row_that_is_written_out_has_numbers_for_its_sums(in_python: None) -> None:
    """Its length is known and no sum lies in memory, so that LLVM computes several rows at once;
    in float64 too."""
    softmax = lambda x: (e := x.exp()) / e.sum(1, keepdim=True)
    rows = lambda x: x / x.square().sum(1, keepdim=True)
    for f, x in ((softmax, tensor(5, 2)), (rows, tensor(5, 3)), (rows, tensor(5, 2).double())):
        program = trace(lambda x, f=f: ((y := f(x)), y.sum(0), y.mean()), x)
        (kernel,) = kernels_of(with_kernels(program))
        assert "zeros(" not in kernel.text and f"columns = uint64({x.shape[1]})" in kernel.text
        agree(program, x)


def treated_alike(x: Any, c: Any, y: Any) -> list[Any]:
    """Rows in which no number is the row's own, and sums of all kinds that they may have."""
    z = (x * c).relu() * y - c
    return [z, z.sum(0), (z * y).sum(0), x.sum(0), (x >= c).sum(), (y * 0.5).mean(), (z * 3).sum()]


ALIKE = [(7, 5), (12, 25), (1, 30), (40, 3), (5, 200)]


def in_rows(shape: tuple[int, ...], dtype: str) -> list[mg.Tensor]:
    """Operands of `treated_alike`, NaN, infinities and zeros among them."""
    x, c, y = (tensor(*s, dtype=dtype).numpy() for s in (shape, shape[-1:], shape))
    x[0, 1:3] = np.array([np.nan, np.inf])[: shape[1] - 1]
    x[-1, 0], y[-1, -1], c[0] = -0.0, np.inf, 0.0
    return [mg.tensor(array) for array in (x, c, y)]


@in_one_test
@pytest.mark.parametrize("shape", ALIKE, ids=str)
def test_short_rows_are_taken_several_at_once(in_python: None, shape: tuple[int, int]) -> None:
    """Also where the last of them are fewer, and where all are one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba_kernels, "MANY", 1)
        for dtype in ("float32", "float64"):
            operands = in_rows(shape, dtype)
            with np.errstate(all="ignore"):
                agree(trace(treated_alike, *operands), *operands)
    large = trace(lambda x, c: (x * c).relu(), tensor(*shape), tensor(shape[1]))
    small = with_kernels(large).source()
    assert "at once" not in small
    if shape[0] > 1:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(numba_kernels, "MANY", 1)
            taken = min(shape[0], 256 // shape[1])
            assert f"{taken} at once" in with_kernels(large).source() or taken == 1


@needs_numba
def test_short_rows_compiled(own_folder: Path) -> None:
    """Large ones, of which the last few are left over; with bits where nothing is summed, and sums
    of all rows."""
    for shape in ((1001, 25), (2051, 3)):
        operands = in_rows(shape, "float32")
        with np.errstate(all="ignore"):
            program = trace(treated_alike, *operands)
            fused = with_kernels(program)
            assert f"{256 // shape[1]} at once" in fused.source()
            for _ in range(3):
                z, sums, *found = (r.numpy() for r in fused(*operands))
                np.testing.assert_array_equal(z, program(*operands)[0].numpy())
                x, y = operands[0].numpy(), operands[2].numpy()
                for ours, terms in zip([sums, *found[:2]], [z, z * y, x], strict=True):
                    exact = terms.sum(0, dtype="float64")
                    np.testing.assert_allclose(ours, exact, rtol=3e-6, atol=1e-3)


def test_neighbours_are_one_kernel(in_python: None) -> None:
    """Three updates of three shapes; what is read in between is written before."""
    ws, gs = ([tensor(2, 3), tensor(3), tensor(1)] for _ in range(2))
    program = trace(lambda *t: [w - g * 0.1 for w, g in zip(t[:3], t[3:], strict=True)], *ws, *gs)
    fused = program.fused()
    assert [i.primitive.name for i in fused.instructions] == ["fused_mul_sub"]
    agree(program, *ws, *gs)
    assert "def kernel(" in fused.source() and "a6[b + j] = v1" in fused.source()
    program = trace(lambda w: (w * 2).sum(0) * 3 + 1, tensor(4, 3))
    assert len(kernels_of(program.fused())) == 1
    agree(program, tensor(4, 3))


# ------------------------------------------------------------------------------------------- values

STEPS = [
    lambda a, b, c: a + b, lambda a, b, c: a - b * 0.5, lambda a, b, c: (a * 0.1).exp(),
    lambda a, b, c: mg.where(a > b, a, 0.0), lambda a, b, c: (a @ b.T @ a) * 0.1,
    lambda a, b, c: a.clamp(-1.0, 0.5), lambda a, b, c: a / (1 + a.abs().sum(1, keepdim=True)),
    lambda a, b, c: a + c * b.sum(0), lambda a, b, c: a * b.mean(), lambda a, b, c: a - c,
    lambda a, b, c: a.reshape(3, 4).reshape(4, 3) + a.sum(1).reshape(4, 1),
    lambda a, b, c: F.relu(a) + a.sum(0, keepdim=True), lambda a, b, c: (a.T * 2 + 1).T + b,
    lambda a, b, c: a + (b.sum(1) * 0.1).reshape(4, 1), lambda a, b, c: a * (c.sum() * 0.1),
]  # fmt: skip


def random_program(seed: int) -> Any:
    """A function of element-wise operations, sums, products and views in any order."""
    rng = np.random.default_rng(seed)
    plan = [tuple(int(rng.integers(1 << 20)) for _ in range(3)) for _ in range(12)]

    def function(x: Any, c: Any) -> Any:
        values = [x, x * 0.5]
        for kind, i, j in plan:
            a, b = values[-1 - i % min(len(values), 5)], values[-1 - j % min(len(values), 5)]
            values.append(STEPS[kind % len(STEPS)](a, b, c).clamp(-9, 9))
        return [v for k, v in enumerate(values) if k % 5 == 4] + [values[-1]]

    return function


def treat_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Join what reads the same array, compute values again, and take rows several at once, whatever
    their sizes."""
    monkeypatch.setattr(numba_kernels, "MANY", 1)
    monkeypatch.setattr(numba_kernels, "AT_ONCE", 10)  # 3 rows of 3, so that one of 4 is left
    monkeypatch.setattr(sys.modules["minigrad.program.row_groups"], "ALONE", 1)
    monkeypatch.setattr(sys.modules["minigrad.program.recomputation"], "LARGE", 1)
    monkeypatch.setattr(sys.modules["minigrad.program.recomputation"], "SMALL_PART", 2)


def check_random(seed: int) -> list[int]:
    """Compare one random program, with its gradient, fused as it is and as if its arrays were
    large; how many kernels each has."""
    function = random_program(seed)

    def step(x: Any, c: Any) -> Any:
        results = function(x, c)
        return [*results, *mg.autograd.grad(sum(r.sum() for r in results) + c.sum(), [x, c])]

    x, c = tensor(4, 3).requires_grad_(), tensor(3).requires_grad_()
    program = trace(step, x, c)
    kernels = []
    for are_large in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if are_large:
                treat_as_large(patch)
            fused = agree(program, x, c)
        known = {*fused.inputs, *fused.captured, *fused.constants}
        for instruction in fused.instructions:
            assert known.issuperset(instruction.reads())
            known.update(instruction.outputs)
        assert known.issuperset(fused.kept())
        kernels.append(len(kernels_of(fused)))
    return kernels


@in_one_test
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_compute_the_same(in_python: None, seed: int) -> None:
    """Whatever is fused, each value is made before it is read, and is the same; and so it is where
    small arrays are treated as large ones are."""
    assert min(check_random(seed)) > 1


@pytest.mark.whole
def test_more_random_programs(in_python: None) -> None:
    kernels = np.sum([check_random(seed) for seed in range(12, 60)], axis=0)
    assert min(kernels) > 170


@in_one_test
@pytest.mark.parametrize("seed", range(20_000, 20_010))
def test_compiled_calls_with_kernels(
    in_python: None, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """All that can be seen of each call is equal: results, graphs, versions, states, errors."""
    compile = functools.partial(mg.compile, fuse=True)
    monkeypatch.setattr(mg, "compile", compile)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert random_compiled_programs.difference(seed) is None


def test_shapes_and_layouts(in_python: None) -> None:
    """Broadcast on every side, without axes, with axes of length 1, not row after row, rows that
    are written out and rows that are not."""
    softmax = lambda x, *_: (e := x.exp()) / e.sum(-1, keepdim=True) * 2
    for shape in ((3,), (1, 1), (5, 2), (2, 3, 4), (2, 1, 9), (3, 12), (1,)):
        x = tensor(*shape)
        agree(trace(softmax, x), x)
        agree(trace(lambda x: (x * 2 + x.sum(0)).mean(), x), x)
    for shapes in (((4, 1), (1, 3)), ((), ()), ((2, 1, 3), (5, 1)), ((2, 3), (2, 1)), ((3,), ())):
        a, b = (tensor(*s) for s in shapes)
        agree(trace(lambda a, b: ((a * b + 1) - a) * b, a, b), a, b)
    t = tensor(10, 8)[::2].T
    agree(trace(softmax, t), t)
    agree(trace(lambda t: (t * 2 + 1) * t.sum(1, keepdim=True), t), t)
    x = tensor(5, 5)
    agree(trace(lambda x: (y := (x * 2).sum(1)) + (x * y).sum(0) + y.reshape(1, 5) * x, x), x)


def table_of(dtype: str) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """Name, operands and parameters, for each operation that a kernel may hold."""
    found = []
    for name, own in CASES:
        if own != dtype:
            continue
        for operands in operand_sets(name, dtype):
            for params in PARAMETERS.get(name, [{}]):
                params = {"dtype": np.dtype(dtype)} if name == "cast" else params
                found.append((name, operands, params))
    return found


def program_of(
    name: str, operands: list[Any], params: dict[str, Any]
) -> tuple[Program, str, Any] | None:
    """One operation as a program, its expression, and what it gives; None where it is in no
    kernel."""
    given = [o.dtype if hasattr(o, "dtype") else o for o in operands]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.asarray(registry[name].forward(np, *operands, **params))
    program, instruction = instruction_for(name, given, expected.dtype, params)
    for kind in program.types:
        kind.shape = expected.shape
    text = numba_kernels.expression(program, instruction, None, NUMBA)
    if text is None or (is_costly(text) and expected.dtype != np.float32):
        return None
    return program, text, expected


def check_table(dtype: str, make: Any, once: bool = False) -> int:
    """Compare operations with one kernel of them all, on awkward numbers; how many there are.
    once: each operation with its first operands alone."""
    whole, blocks, arrays, checks = Program([], {}, [], [], []), [], {}, {}
    seen: set[str] = set()
    for name, operands, params in table_of(dtype):
        found = None if once and name in seen else program_of(name, operands, params)
        if found is None:
            continue
        seen.add(name)
        program, text, expected = found
        (one,), shift = program.instructions, len(whole.types)
        moved = lambda n, shift=shift: n + shift if type(n) is int else n
        out = moved(one.outputs[0])
        instruction = Instruction(one.primitive, tuple(map(moved, one.operands)), params, (out,))
        blocks.append(Block([len(blocks)], expected.shape, frozenset([(0, 0)])))
        whole.types += program.types
        whole.instructions.append(instruction)
        whole.outputs.append(out)
        given = (o for o in operands if hasattr(o, "dtype"))
        arrays |= dict(zip(map(moved, program.inputs), given, strict=True))
        arrays[out] = np.empty(expected.shape, expected.dtype)
        what = f"{name} {params} of {[getattr(o, 'dtype', o) for o in operands]}"
        checks[out] = name, expected, what, is_costly(text) or name in ROUNDED
    whole.inputs += [n for n in arrays if n not in checks]
    kernel = NumbaKernel(whole, blocks, {*whole.outputs})
    make(kernel)(*(arrays[n] for n in kernel.arrays))
    for out, (name, expected, what, rounded) in checks.items():
        if rounded:
            np.testing.assert_allclose(arrays[out], expected, rtol=3e-7, atol=1e-44, err_msg=what)
        else:
            assert_same_numbers(arrays[out], expected, what, name in ("maximum", "minimum"))
    return len(checks)


@in_one_test
@pytest.mark.parametrize("dtype", ["float32", "float64", "bool"])
def test_each_operation_on_awkward_numbers(dtype: str) -> None:
    """NaN, infinities, both zeros, ties, denormals, the largest numbers."""
    make = lambda kernel: as_python("", kernel.source(frozenset()), kernel.name)
    assert check_table(dtype, make) > 5


AWKWARD_CHAINS: dict[str, Any] = {
    "signs": lambda x, y: mg.sign(x) * y + mg.sgn(y - x) * 0.5,
    "sizes": lambda x, y: (x * y).abs() + 1,
    "extremes": lambda x, y: mg.maximum(x * 2, y) - mg.minimum(x, y + 1),
    "choices": lambda x, y: mg.where(x > y, x * 2, y / 3),
    "bounds": lambda x, y: (x * 2).clamp(-1.5, 2.0) + y.clamp(min=0.0),
    "quotients": lambda x, y: x / y + 1 / y,
    "powers": lambda x, y: x**2 * y + x**3 - y**-1,
    "roots": lambda x, y: x**0.5 * y + y**-0.5,
    "steps": lambda x, y: mg.floor(x) * mg.ceil(y) + mg.trunc(x),
    "questions": lambda x, y: ((x <= y) & (x != x)).float() + mg.isnan(y).float(),
    "slopes": lambda x, y: F.leaky_relu(x, 0.1) * y + F.hardtanh(y),
    "shrinking": lambda x, y: F.softshrink(x) + F.threshold(y, 0.5, -1.0),
    "sigmoid": lambda x, y: mg.sigmoid(x) * y,
}


@in_one_test
@pytest.mark.filterwarnings("ignore:(invalid value|overflow|divide by zero) encountered")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", AWKWARD_CHAINS)
def test_chains_and_their_gradients_on_awkward_numbers(
    in_python: None, name: str, dtype: str
) -> None:
    """Arrays of all pairs, and pairs of single numbers: NaN, infinities, signs of zeros are those
    of the plain call."""
    numbers = [0.0, -0.0, 1.0, -2.5, 3.0, 1e-45, 3e38, math.inf, -math.inf, math.nan]
    a, b = (v.reshape(-1).astype(dtype) for v in np.meshgrid(numbers, numbers))
    function = AWKWARD_CHAINS[name]

    def step(x: Any, y: Any) -> Any:
        result = function(x, y)
        if not result.requires_grad:
            return result
        return [result.detach(), *mg.autograd.grad(result.sum(), [x, y])]

    for pairs in ([(a, b)], [(np.asarray(p), np.asarray(q)) for p, q in zip(a, b, strict=True)]):
        fused = mg.compile(step, fuse=True)
        leaves = [mg.tensor(v).requires_grad_() for v in pairs[0]]
        for pair in [pairs[0]] * 3 + pairs:
            with mg.no_grad():
                for leaf, value in zip(leaves, pair, strict=True):
                    leaf.copy_(mg.tensor(value))
            for g, w in zip(_flat(fused(*leaves)), _flat(step(*leaves)), strict=True):
                np.testing.assert_array_equal(g, w, err_msg=f"{name}, {pair}")
                if w.dtype.kind == "f" and name != "extremes":  # NumPy takes now 0, now -0
                    alike = (np.signbit(g) == np.signbit(w)) | np.isnan(w)
                    assert np.all(alike), (name, pair)
        assert fused.statistics["replayed"] >= len(pairs)


# -------------------------------------------------------------------------------------------- Numba


@needs_numba
def test_training_with_kernels(own_folder: Path) -> None:
    """Losses, parameters and gradients of a network with normalisation are those of the plain step,
    to rounding, with a rate on a schedule. Nothing but products and views is left to NumPy, and a
    folder of kernels is left."""
    x, labels = tensor(40, 3), tensor(40, 2)
    runs = []
    for options in ({}, {"fuse": True}):
        mg.manual_seed(0)
        model = nn.Sequential(
            nn.Linear(3, 9), nn.LayerNorm(9), nn.ReLU(), nn.Linear(9, 2), nn.Softmax(1)
        )
        optimizer = optim.Adam(model.parameters(), 0.05)
        schedule = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        @mg.compile(**options)
        def step(x: Any, labels: Any, model: Any = model, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), labels)
            loss.backward()
            optimizer.step()
            return loss

        seen = []
        for _ in range(8):
            seen.append(step(x, labels).item())
            schedule.step()
        runs.append([seen, *(t.detach().numpy() for p in model.parameters() for t in (p, p.grad))])
    for a, b in zip(*runs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert step.statistics["replayed"] == 5
    (fused,) = step.fused_programs
    left = {
        i.primitive.name for i in fused.instructions if not isinstance(i.primitive, NumbaKernel)
    }
    assert left <= {"matmul", "permute"} and "def kernel(" in fused.source()
    assert [*own_folder.glob("k*.py")] and [*own_folder.glob("__pycache__/*.nbc")]


# ------------------------------------------------------------------------------------ composites

HARD_ROWS = np.array(
    [
        [np.nan, 0, 1], [np.inf, 0, 1], [-np.inf, 0, -np.inf], [-np.inf] * 3, [np.inf] * 3,
        [3e38, -3e38, 3e38], [1e-40, -1e-40, 0], [-0.0, 0.0, -0.0], [5, 5, 5], [-np.nan, -1, -2],
        [88, -88, 0], [1e4, -1e4, 0],
    ],
    "float32",
)  # fmt: skip


def composites() -> list[tuple[str, Any, list[Any]]]:
    """Name, function and inputs of composite operations that kernels take apart."""
    found: list[tuple[str, Any, list[Any]]] = []
    for shape in ((5, 3), (4, 12), (2, 3, 9), (7,), (2, 1, 3, 1)):
        axis = max(a for a, n in enumerate(shape) if n > 1)
        x = tensor(*shape)
        for f in (F.softmax, F.log_softmax):
            found.append((f"{f.__name__}{shape}", functools.partial(f, dim=axis), [x]))
    for shape, last in (((5, 3), 1), ((2, 3, 9), 1), ((2, 3, 12), 2), ((2, 40), 1), ((6,), 1)):
        own = shape[-last:]
        norm = lambda x, w, b, own=own: F.layer_norm(x, own, w, b)
        found.append((f"layer_norm{shape}", norm, [tensor(*shape), tensor(*own), tensor(*own)]))
    for before in ((4,), (2, 3), (2, 1, 3)):
        layer = lambda x, w, b: F.relu(F.linear(x, w, b))
        found.append((f"linear{before}", layer, [tensor(*before, 5), tensor(2, 5), tensor(2)]))
    return found


@in_one_test
@pytest.mark.parametrize("number", range(len(composites())))
def test_composites_are_taken_apart(in_python: None, number: int) -> None:
    """What they give, and their gradients; no part is left outside the kernels but products and
    views, and the plain program is as it was."""
    name, function, inputs = composites()[number]
    cotangent = function(*inputs) * 0 + tensor(*function(*inputs).shape)
    for x in inputs:
        x.requires_grad_()

    def step(cotangent: Any, *inputs: Any) -> Any:
        y = function(*inputs)
        return [y, *mg.autograd.grad((y * cotangent).sum(), inputs)]

    program = trace(step, cotangent, *inputs)
    names = [i.primitive.name for i in program.instructions]
    fused = with_kernels(program)
    left = {
        i.primitive.name for i in fused.instructions if not isinstance(i.primitive, NumbaKernel)
    }
    assert left <= {"matmul", "permute", "reshape", "sum", "sum_to", "broadcast_to"}, name
    assert [i.primitive.name for i in program.instructions] == names
    agree(program, cotangent, *inputs)


def test_what_is_not_taken_apart(in_python: None) -> None:
    """Rows that are no rows of memory, other dtypes, arrays without elements or axes, and a layer
    whose bias nothing follows: these stay one operation, and give what they gave."""

    def left(function: Any, *inputs: Any) -> list[str]:
        program = trace(function, *inputs)
        agree(program, *inputs)
        return [i.primitive.name for i in with_kernels(program).instructions]

    for dim, x in ((0, tensor(4, 3)), (1, tensor(2, 3, 4)), (0, mg.ones(())), (1, mg.ones(3, 0))):
        assert left(lambda x, dim=dim: F.softmax(x, dim), x) == ["softmax"]
    for dtype in ("float16", "float64"):
        assert left(lambda x: F.log_softmax(x, 1), mg.ones(2, 3, dtype=dtype)) == ["log_softmax"]
    x = tensor(4, 65, dtype="float64")
    assert "standardize" in left(lambda x: F.layer_norm(x, (65,)) * 2, x)
    x, w, b = tensor(4, 5), tensor(3, 5), tensor(3)
    assert left(F.linear, x, w, b) == ["affine"]
    assert left(lambda x, w, b: F.linear(x, w, b).tanh(), x, w, b) == ["affine", "tanh"]
    for shape in ((4, 3), (2, 3, 3, 4), (4, 3, 2)):  # rows that lie in too short pieces
        x = tensor(*shape)
        assert "standardize" in left(lambda x: F.batch_norm(x, None, None, training=True) * 2, x)


# --------------------------------------------------------------------------------------- windows


def pooled(how: dict[str, Any], x: Any, g: Any) -> list[Any]:
    """Maxima and sums of windows, and what each gives back."""
    results = [pooling.max_pool(x, **how), pooling.sum_pool(x, **how)]
    return [*results, *(mg.autograd.grad(y, [x], g)[0] for y in results)]


def check_windows(seed: int, dtype: str, special: tuple[float, ...] = ()) -> None:
    """Windows of all kinds: the bits of the operations, but for the sign of a largest zero."""
    rng = np.random.default_rng(seed)
    shape, how = settings(rng)
    how["padding"] = (how["padding"][0], max(0, how["padding"][1]))
    x = rng.integers(-2, 3, shape).astype(dtype)
    for value in special:
        x[rng.random(shape) < 0.3] = value
    x = mg.tensor(np.asfortranarray(x) if seed % 2 else x).requires_grad_()
    g = mg.tensor(rng.standard_normal(pooling.max_pool(x, **how).shape).astype(dtype))
    with np.errstate(invalid="ignore"):
        program = trace(functools.partial(pooled, how), x, g)
        fused = with_kernels(program)
        assert len(kernels_of(fused)) == len(fused.instructions) == 4
        for _ in range(2):
            for number, (a, b) in enumerate(
                zip(_flat(fused(x, g)), _flat(program(x, g)), strict=True)
            ):
                np.testing.assert_array_equal(a, b, err_msg=f"{number} {shape} {how}")
                same = (np.signbit(a) == np.signbit(b)) | np.isnan(b)
                assert number == 0 or same.all(), (number, shape, how)


@in_one_test
@pytest.mark.parametrize("special", [(), (-np.inf, -0.0), (np.nan, np.inf, -np.inf)])
@pytest.mark.parametrize("seed", range(24))
def test_windows_are_loops(
    in_python: None, monkeypatch: pytest.MonkeyPatch, seed: int, special: tuple[float, ...]
) -> None:
    """Strided, padded, dilated, along any axis, of one image or several in a tile."""
    monkeypatch.setattr(window_kernels, "TILE", [1, 40, 4096][seed % 3])
    check_windows(seed, ["float32", "float64"][seed % 2], special)


def test_which_windows_stay_operations(in_python: None) -> None:
    """Of other dtypes, of many elements (whose sums are rounded in parts), of cut images; and an
    operand given twice, or one that is a view, is read as what it is."""

    def left(function: Any, *inputs: Any) -> list[str]:
        program = trace(function, *inputs)
        agree(program, *inputs)
        return [i.primitive.name for i in with_kernels(program).instructions]

    pool = lambda x: F.max_pool1d(x, 3)
    assert left(pool, tensor(2, 3, 9)) == ["fused_max_pool"]
    for dtype in ("float16", "int64"):
        assert left(pool, mg.ones(2, 3, 9, dtype=dtype)) == ["max_pool"]
    assert left(lambda x: F.max_pool1d(x, 17), tensor(1, 2, 40)) == ["max_pool"]
    cut = {"axis": 0, "size": 2, "stride": 1, "dilation": 1, "padding": (0, -1)}
    assert left(lambda x: pooling.max_pool(x, **cut), tensor(5)) == ["max_pool"]
    plain = {"axis": 0, "size": 1, "stride": 1, "dilation": 1, "padding": (0, 0)}
    twice = lambda x: pooling.max_pool_backward(x, x, x, **plain)
    assert left(twice, tensor(5)) == ["fused_max_pool_backward"]
    spread = lambda x: pool(x.broadcast_to(2, 3, 9)) + pool(x.reshape(1, 9, 1).permute(2, 0, 1))
    assert "fused_max_pool" in left(spread, tensor(9))


# ------------------------------------------------------------------------- arrays by address


def test_buffers_and_captured_arrays_are_no_arguments(in_python: None) -> None:
    """A kernel gets the place of its table, and the arrays that are others in each run."""
    w = tensor(3, 4).requires_grad_()
    step = mg.compile(lambda x: ((x * 2 + 1) @ w).exp() * w[0], fuse=True)
    with mg.no_grad():
        for _ in range(5):
            step(tensor(2, 3))
    text = step.fused_programs[0].source()
    calls = re.findall(r"^ +fused_(\w+)_\d+\(table_\w+, (.*)\)", text, re.MULTILINE)
    operands = [(name, len(given.split(", "))) for name, given in calls]
    assert operands == [("mul_add", 1), ("exp_mul", 2)], text  # x; w[0] and the result


@pytest.mark.parametrize("returned", [False, True])
def test_numbers_of_other_kernels_and_constants_are_no_arguments(
    in_python: None, returned: bool
) -> None:
    """They are read where they lie, and given to NumPy and to the caller where these need them."""

    def function(x: Any) -> Any:
        h = x * 2 + 1
        size = (h * h).sum()
        y = (h @ x * size + mg.tensor(0.25)).relu()
        return (y, size) if returned else y

    step = mg.compile(function, fuse=True)
    for _ in range(6):
        x = tensor(3, 3)
        found, expected = step(x), function(x)
        for a, b in zip(found, expected, strict=True) if returned else [(found, expected)]:
            np.testing.assert_allclose(a, b, rtol=1e-6)
    assert step.statistics["replayed"] >= 3
    text = step.fused_programs[0].source()
    calls = re.findall(r"^ +fused_(\w+)_\d+\((.*)\)", text, re.MULTILINE)
    given = {name: [a for a in texts.split(", ") if "table" not in a] for name, texts in calls}
    assert [*map(len, given.values())] == [1, 1], text  # x, and the result
    assert bool(re.search(r"= n\d+\[0\]", text)) is returned


def test_another_array_in_the_place_of_a_captured_one_is_read(in_python: None) -> None:
    """Also one of a memory layout of its own; and none is kept once another one was read."""
    bias = tensor(4).requires_grad_()
    function = lambda x: ((x @ x * 2 + bias).relu(), (x + bias).exp())
    step, x = mg.compile(function, fuse=True), tensor(4, 4)
    long = np.arange(8, dtype="float32")
    gone = []
    for array in [None, None, None, None, 1.0, 2.0, long[::2], 3.0, long[:4], long[4:], 4.0, 5.0]:
        if array is not None:
            gone.append(weakref.ref(bias.array))
            new = np.full(4, array, "float32") if type(array) is float else array
            bias.data = mg.from_numpy(new)
            del new
        for found, expected in zip(step(x), function(x), strict=True):
            np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-6)
    assert step.statistics["replayed"] >= 8 and "with kernels" in str(step.reason)
    del array
    assert [
        r() for r in gone if r() is not None and r() is not bias.array and r().base is None
    ] == []


@needs_numba
def test_threads_have_tables_of_their_own(own_folder: Path) -> None:
    """Two threads that run one program at once do not write into each other's arrays."""
    program = trace(lambda x: ((x * 2 + 1) @ x).exp().sum(1) + x.sum(1), tensor(60, 60)).fused()
    inputs = [tensor(60, 60) * 0.01 for _ in range(2)]
    expected = [program(x).numpy() for x in inputs]
    wrong = []

    def run(k: int) -> None:
        for _ in range(200):
            if not np.allclose(program(inputs[k]).numpy(), expected[k], 1e-5):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@needs_numba
def test_windows_compiled(own_folder: Path) -> None:
    check_windows(0, "float32", (np.nan, np.inf, -0.0))


# ------------------------------------------------------------------------------- rows in pieces


def normalised(x: Any, w: Any, b: Any, mean: Any, variance: Any) -> Any:
    """A batch normalisation behind relu, and what it remembers."""
    y = F.batch_norm(F.relu(x), mean, variance, w, b, training=True)
    return y, mean, variance


def normalised_with_gradients(g: Any, x: Any, w: Any, b: Any, mean: Any, variance: Any) -> Any:
    y, mean, variance = normalised(x, w, b, mean.clone(), variance.clone())
    return [y, mean, variance, *mg.autograd.grad((y * g).sum(), [x, w, b])]


@in_one_test
@pytest.mark.parametrize(
    "shape", [(2, 3, 4, 4), (3, 2, 17), (1, 3, 4, 5), (2, 2, 2, 3, 3), (5, 1, 16)]
)
@pytest.mark.parametrize("special", [(), (np.nan,), (np.inf, -0.0), (1e17,), (1e-40,)])
def test_rows_in_pieces(
    in_python: None, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], special: Any
) -> None:
    """The channels of images: normalised forward in one loop and back in one; what is remembered,
    the parameters' gradients and special values are those of the plain program."""
    monkeypatch.setattr(sys.modules["minigrad.program.row_groups"], "ALONE", 1)
    x = RNG.standard_normal(shape).astype("float32")
    x.flat[: len(special)] = special
    inputs = [tensor(*shape), mg.tensor(x), *(tensor(shape[1]) for _ in range(4))]
    for t in inputs[1:4]:
        t.requires_grad_()
    with np.errstate(all="ignore"):
        program = trace(normalised_with_gradients, *inputs)
        fused = with_kernels(program)
        for i in fused.instructions:
            large = [n for n in i.reads() if fused.types[n].shape == shape]
            assert not large or isinstance(i.primitive, NumbaKernel)
        loops = "".join(kernel.text for kernel in kernels_of(fused))
        assert 1 in shape or loops.count("for p in range(") in (4, 5), "three, and one or two back"
        for _ in range(2):
            for a, b in zip(_flat(fused(*inputs)), _flat(program(*inputs)), strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_sums_of_products_are_taken_apart(in_python: None) -> None:
    """Rows by columns of two large arrays, whole or in parts, summed further or not; others stay
    products."""

    def left(function: Any, *inputs: Any) -> set[str]:
        program = trace(function, *inputs)
        agree(program, *inputs)
        return {i.primitive.name for i in with_kernels(program).instructions} - {"reshape"}

    x, y = tensor(2, 3, 4, 5), tensor(2, 3, 4, 5)
    dots = lambda x, y, *s: (x * 2).reshape(*s[:-1], 1, s[-1]) @ y.reshape(*s, 1)
    one = lambda x, y: dots(x, y, 2, 3, 20).reshape(2, 3)
    assert left(one, x, y) == {"fused_mul_sum"}
    assert left(lambda x, y: dots(x, y, 2, 3, 20).sum(0), x, y) == {"fused_mul_sum"}
    assert left(lambda x, y: dots(x, y, 2, 3, 2, 10).sum((0, 2)), x, y) == {"fused_mul_sum"}
    assert "matmul" in left(lambda x, y: dots(x, y, 2, 3, 2, 10).sum(0), x, y)
    assert "matmul" in left(lambda x, y: ((d := dots(x, y, 2, 3, 2, 10)).sum((0, 2)), d), x, y)
    assert "matmul" in left(lambda x, y: dots(x, y, 2, 3, 20), x, tensor(3, 2, 4, 5))
    long = [tensor(2, 3, 5, 13, dtype="float64") for _ in range(2)]
    assert "matmul" in left(lambda x, y: dots(x, y, 2, 3, 65), *long), "a long sum in float64"


def stored(function: Any, *inputs: Any) -> list[int]:
    """How many arrays of the shape of x each kernel stores."""
    program = trace(function, *inputs)
    agree(program, *inputs)
    fused, shape = with_kernels(program), inputs[0].shape
    kernels = [i for i in fused.instructions if isinstance(i.primitive, NumbaKernel)]
    return [sum(fused.types[n].shape == shape for n in i.outputs) for i in kernels]


def test_large_values_are_computed_again(in_python: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only later blocks read of an earlier one, if few cheap operations make it of what lies
    in memory, and no block then reads more; results have the bits of the stored ones."""
    rows = sys.modules["minigrad.program.row_groups"]
    again = sys.modules["minigrad.program.recomputation"]
    x, y, w = tensor(4, 32), tensor(4, 32), tensor(32, 32) * 0.1

    def two(between: Any, later: Any) -> Any:
        """A block that makes (x · 2 + 1) and its square, and one behind a product."""

        def function(x: Any, y: Any, w: Any) -> Any:
            made = between(x, y)
            return later(made.square() @ w, made, y)

        return function

    cheap, add = lambda x, y: x * 2 + 1, lambda p, made, y: (p + made) * 3
    assert stored(two(cheap, add), x, y, w) == [2, 1], "small values are stored"
    monkeypatch.setattr(again, "LARGE", 1)
    monkeypatch.setattr(rows, "ALONE", 1)
    assert stored(two(cheap, add), x, y, w) == [1, 1]
    assert stored(two(lambda x, y: x * 2 - x.mean(1, keepdim=True), add), x, y, w) == [1, 1]
    assert stored(two(lambda x, y: (x * 2).exp() + 1, add), x, y, w) == [2, 1], "costly"
    assert stored(two(lambda x, y: x * y, add), x, y, w) == [2, 1], "two arrays for one"
    assert stored(two(lambda x, y: x * y, lambda p, m, y: (p + m) * y), x, y, w) == [1, 1]
    many = lambda x, y: ((((x * 2 + 1) * 3 + 1) * 4 + 1) * 5 + 1) * 6 + 1
    assert stored(two(many, add), x, y, w) == [2, 1], "many operations"
    assert stored(two(cheap, lambda p, m, y: ((p + m) * 3, m @ y.T)), x, y, w) == [2, 1]
    assert stored(two(cheap, lambda p, m, y: ((p + m) * 3, m)), x, y, w) == [2, 1], "a result"
    program = trace(two(cheap, add), x, y, w)
    found = with_kernels(program)
    monkeypatch.setattr(again, "LARGE", 1 << 30)
    expected = with_kernels(program)
    for _ in range(2):
        np.testing.assert_array_equal(*(p(x, y, w).numpy() for p in (found, expected)))


def side_by_side(x: Any, g: Any, *parameters: Any, **how: Any) -> Any:
    """Convolutions of one input, with biases, joined; and all gradients."""
    convolve = F.conv1d if x.ndim == 3 else F.conv2d
    pairs = zip(parameters[::2], parameters[1::2], strict=True)
    y = mg.cat([convolve(x, w, b, **how) for w, b in pairs], 1)
    return [y, *mg.autograd.grad((y * y * g).sum(), [x, *parameters])]


@in_one_test
@pytest.mark.parametrize("outs", [(2, 2), (3, 1, 2)])
@pytest.mark.parametrize("how", [{}, {"padding": 1}, {"stride": 2}, {"dilation": 2}])
@pytest.mark.parametrize("axes", [1, 2])
def test_convolutions_of_one_input_are_one(
    in_python: None, outs: tuple[int, ...], how: dict[str, int], axes: int
) -> None:
    """Forward and in the reverse pass, and each parameter has its own gradient."""
    x = tensor(2, 3, *(7, 6)[:axes]).requires_grad_()
    parameters = []
    for n in outs:
        parameters += [tensor(n, 3, *(3, 2)[:axes]) * 0.1, tensor(n) * 0.1]
    for p in parameters:
        p.requires_grad_()
    step = functools.partial(side_by_side, **how)
    with mg.no_grad():
        convolve = F.conv1d if axes == 1 else F.conv2d
        g = tensor(2, sum(outs), *convolve(x, *parameters[:2], **how).shape[2:]) * 0.1
    program = trace(step, x, g, *parameters)
    names = [i.primitive.name for i in with_kernels(program).instructions]
    for name in ("convolve", "convolve_input", "convolve_weight"):
        assert names.count(name) == 1 and len(outs) == [
            i.primitive.name for i in program.instructions
        ].count(name)
    agree(program, x, g, *parameters)


def test_which_convolutions_stay_apart(in_python: None) -> None:
    """Of two inputs, with other windows or padding, joined along another axis or with something
    else, read elsewhere too; slices that are not all channels, or are convolved otherwise."""

    def count(function: Any, *inputs: Any) -> int:
        program = trace(function, *inputs)
        agree(program, *inputs)
        names = [i.primitive.name for i in with_kernels(program).instructions]
        return sum("convolve" in name for name in names)

    x, v, w, b = tensor(2, 3, 5, 5), tensor(2, 3, 3, 3), tensor(2, 3, 3, 3), tensor(2)
    v, w = v * 0.1, w * 0.1
    c, cat = F.conv2d, mg.cat
    both = lambda how, more, axis=1: lambda x, v, w: cat([c(x, v, **how), more(x, w)], axis)
    assert count(both({}, c), x, v, w) == 1
    assert count(both({}, c, 0), x, v, w) == 2
    assert count(both({}, lambda x, w: c(x * 2, w)), x, v, w) == 2
    assert count(both({"padding": 1}, lambda x, w: c(x, w[:, :, :1, :1])), x, v, w) == 2
    assert count(both({"padding": 1}, lambda x, w: c(x, w, padding=2, dilation=2)), x, v, w) == 2
    assert count(both({}, lambda x, w: c(x, w, b)), x, v, w) == 2
    assert count(both({}, lambda x, w: c(x, w) * 2), x, v, w) == 2
    assert count(lambda x, v, w: (cat([y := c(x, v), c(x, w)], 1), y * 2), x, v, w) == 2
    assert count(lambda x, v, w: cat([c(x, v), c(x, w), x[:, :, :3, :3]], 1), x, v, w) == 2
    g, t = tensor(2, 4, 5, 5), F.conv_transpose2d
    assert count(lambda g, v, w: t(g[:, :2], v) + t(g[:, 2:], w), g, v, w) == 1
    assert count(lambda g, v, w: t(g[:, 2:], v) + t(g[:, :2], w), g, v, w) == 1
    assert count(lambda g, v, w: t(g[:, :2], v) + t(g[:, 1:3], w), g, v, w) == 2
    assert count(lambda g, v, w: t(g[:, :2], v) + t(g[:, :2], w), g, v, w) == 2
    assert count(lambda g, v, w: t(g[:, :2], v) - t(g[:, 2:], w), g, v, w) == 2
    sums = lambda g: ((h := g * 2)[:, :1].sum((0, 2, 3)), h[:, 1:].sum((0, 2, 3)))
    agree(trace(sums, g), g)
    for index in (slice(1, None), 1, (1, slice(2)), (Ellipsis, slice(2)), (slice(None), 1), None):
        agree(trace(lambda g, index=index: (g * 2)[index].sum(0) * 2 + 1, g), g)


@pytest.mark.whole
@needs_numba
def test_images_are_trained_with_kernels(own_folder: Path) -> None:
    """Convolution, normalisation, pooling: losses, parameters, gradients and what is remembered
    are those of the plain step; to NumPy are left convolutions, products and the like."""
    x, labels = tensor(5, 2, 6, 6), mg.tensor(RNG.integers(0, 3, 5))
    runs = []
    for options in ({}, {"fuse": True}):
        mg.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(4), nn.MaxPool2d(3, 1, 1),
            nn.AvgPool2d(2), nn.Flatten(), nn.Linear(36, 3),
        )  # fmt: skip
        optimizer = optim.SGD(model.parameters(), 0.1, momentum=0.9)

        @mg.compile(**options)
        def step(x: Any, labels: Any, model: Any = model, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), labels)
            loss.backward()
            optimizer.step()
            return loss

        seen = [step(x, labels).item() for _ in range(6)]
        kept = [t.detach().numpy() for p in model.parameters() for t in (p, p.grad)]
        runs.append([seen, *kept, *(b.numpy() for b in model.buffers())])
    for a, b in zip(*runs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    (fused,) = step.fused_programs
    left = {i.primitive.name for i in fused.instructions if not hasattr(i.primitive, "text")}
    assert not left & {"standardize", "standardize_jvp", "max_pool", "sum_pool", "relu", "mean"}


def check_hard_rows(columns: int) -> None:
    """Softmax and the largest element of rows with NaN, infinities, ties and zeros, in one
    kernel."""
    x = mg.tensor(np.concatenate([HARD_ROWS] * (columns // 3), axis=1))

    def every(x: Any) -> list[Any]:
        largest = x.amax(1, keepdim=True)
        return [F.softmax(x, 1), F.log_softmax(x, 1), x * 1 - largest, largest * 1 + x * 0]

    with np.errstate(all="ignore"):
        program = trace(every, x)
        fused = with_kernels(program)
        assert len(kernels_of(fused)) == len(fused.instructions) == 1
        for _ in range(2):
            for found, expected in zip(_flat(fused(x)), _flat(program(x)), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-44)


def test_hard_rows(in_python: None) -> None:
    check_hard_rows(3)
    check_hard_rows(12)


@needs_numba
def test_hard_rows_compiled(own_folder: Path) -> None:
    check_hard_rows(3)
    check_hard_rows(60)


@needs_numba
def test_erf_is_right(own_folder: Path) -> None:
    """Within two units of the last place of the exact value; signs of zeros, NaN and infinities."""
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 4.0, 3.9, 1e-42, -1e-30, 3e38]
    parts = [
        RNG.uniform(-5, 5, 20000),
        RNG.uniform(-1.1, 1.1, 20000),
        10 ** RNG.uniform(-38, 0, 999),
    ]
    x = np.concatenate([*parts, special]).astype("float32")
    program = trace(lambda x: x.erf() * 1, mg.tensor(x))
    fused = with_kernels(program)
    assert len(fused.instructions) == 1
    for _ in range(2):
        y = fused(mg.tensor(x)).numpy()
    exact = np.array([math.erf(v) for v in x.astype("float64")])
    real = ~np.isnan(x)
    np.testing.assert_array_equal(np.isnan(y), ~real)
    np.testing.assert_array_equal(np.signbit(y[real]), np.signbit(x[real]))
    unit = np.spacing(abs(exact[real]).astype("float32"))
    assert (abs(y[real] - exact[real]) <= 2 * unit).all() and (abs(y[real]) <= 1).all()


@needs_numba
def test_exp_is_right(own_folder: Path) -> None:
    """Within two units of the last place of the exact value, and special values."""
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 88.7, 88.8, -87.4, -95.0, -103.9, -104.1, 1e-30]
    x = np.concatenate([RNG.uniform(-104, 88.7, 20000), RNG.uniform(-1, 1, 20000), special])
    x = x.astype("float32")
    program = trace(lambda x: x.exp() * 1, mg.tensor(x))
    fused = with_kernels(program)
    for _ in range(2):
        y = fused(mg.tensor(x)).numpy()
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype("float64"))
        rounded = exact.astype("float32")
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(y[~finite], rounded[~finite])
    assert (abs(y[finite] - exact[finite]) <= 2 * np.spacing(rounded[finite])).all()


@pytest.mark.whole
@needs_numba
def test_kernels_compute_what_the_operations_do(own_folder: Path) -> None:
    """Every operation, compiled, on the awkward numbers."""
    assert check_table("float32", lambda kernel: kernel.function(frozenset()), once=True) > 5


@pytest.mark.whole
@needs_numba
def test_another_process_and_another_target(own_folder: Path) -> None:
    """Another processor gives these values too; a second process compiles nothing."""
    text = (
        "import numpy as np, minigrad as mg; from minigrad.program import trace\n"
        "x = mg.tensor(np.arange(60, dtype='float32').reshape(20, 3) / 60)\n"
        "f = trace(lambda x: ((e := x.exp()) / e.sum(1, keepdim=True)).square().mean(), x)\n"
        "g = f.fused(); g(x); a, b = f(x).item(), g(x).item(); assert abs(a - b) < 1e-7\n"
        "lowered = g.replayer.latest(); ((name, *_),) = lowered.kernels\n"
        "print(sum(lowered.names[name].stats.cache_hits.values()))\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", text],
            capture_output=True,
            text=True,
            env={**os.environ, "NUMBA_CPU_NAME": "generic"},
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert outputs == ["0", "1"]


def test_without_numba_only_kernels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clear error when kernels are asked for, and everything else as ever."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        kernel_files.importlib.util, "find_spec", lambda n: None if n == "numba" else find(n)
    )
    with pytest.raises(ProgramError, match=r"Numba, which is not installed.*minigrad\[jit\]"):
        mg.compile(lambda x: x * 2 + 1, fuse=True)
    with pytest.raises(ProgramError, match="Numba, which is not installed"):
        trace(lambda x: x * 2 + 1, tensor(3)).fused()
    assert mg.compile(lambda x: x * 2 + 1)(mg.ones(1)).item() == 3


def test_a_program_without_chains_says_so(in_python: None) -> None:
    step = mg.compile(lambda x: x @ x, fuse=True)
    with pytest.warns(EagerWarning, match="no chain of operations"):
        for _ in range(5):
            step(mg.ones(2, 2))
    assert step.reason is not None and "no chain of operations" in step.reason


@pytest.mark.parametrize("when", ["written", "called"])
def test_a_kernel_that_cannot_run_is_given_up(
    in_python: None, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """A full disk or a failing compiler leaves the plain program, which is replayed, and says why:
    once, and after one attempt. An error of the values is none of the kernels'."""
    attempts = []

    def full(*_: Any) -> Any:
        attempts.append(when)
        raise OSError(28, "No space left on device")

    w = mg.ones(3, 3, requires_grad=True)
    function = lambda x: ((x * 2 + 1) @ w).exp() * 3
    step = mg.compile(function, fuse=True)
    x = tensor(2, 3)
    for _ in range(3):
        step(x)
    make = full if when == "written" else lambda *_: full
    monkeypatch.setattr(numba_kernels, "compiled", make)
    with pytest.warns(EagerWarning, match="without a fused kernel: OSError.*No space") as seen:
        for _ in range(5):
            np.testing.assert_allclose(step(x).detach().numpy(), function(x).detach().numpy())
    assert step.statistics == {"eager": 1, "recorded": 2, "replayed": 5}
    assert len(attempts) == 1 and len(seen) == 1 and step.fused_programs == []
    assert step.reason is not None and "No space" in step.reason


@pytest.mark.parametrize(
    "place",
    [
        "program.with_kernels",
        "numba_kernels.taken_apart",
        "numba_kernels.with_values_computed_again",
        "numba_kernels.Finder",
        "numba_kernels._BlockText.lines",
        "variant.kernels_of",
        "lower.Lowered._by_numba",
        "variant._in_words",
    ],
)
def test_an_error_of_the_planning_is_given_in_the_reason(
    in_python: None, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Whatever is raised where kernels are planned, a training step is replayed as it is, gives the
    values of the plain call, and writes them once."""

    def fails(*_: Any) -> Any:
        raise KeyError("unknown axis")

    def training(**options: Any) -> Any:
        w = mg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)

        def step(x: Any) -> Any:
            loss = (((x * 2 + 1) @ w).sigmoid() * 3).sum()
            (gradient,) = mg.autograd.grad(loss, [w])
            with mg.no_grad():
                w.sub_(gradient * 0.1)
            return loss

        return mg.compile(step, **options), w

    fused, w = training(fuse=True)
    plain, v = training()
    monkeypatch.setattr(f"minigrad.program.{place}", fails)
    x = mg.tensor([[0.5, -1.0]])
    with pytest.warns(EagerWarning, match="without a fused kernel: KeyError.*unknown axis") as seen:
        for _ in range(6):
            assert fused(x).item() == plain(x).item()
    np.testing.assert_array_equal(w.detach().numpy(), v.detach().numpy())
    assert fused.statistics == plain.statistics == {"eager": 1, "recorded": 2, "replayed": 3}
    assert len(seen) == 1 and fused.fused_programs == []
    assert fused.reason is not None and "unknown axis" in fused.reason


def test_an_error_of_the_values_does_not_cost_the_kernels(in_python: None) -> None:
    function = lambda x, labels: F.nll_loss((x * 2 + 1).exp() * 3, labels)
    step = mg.compile(function, fuse=True)
    x, labels = tensor(2, 3), mg.tensor([0, 2])
    for wrong in (False, False, False, False, True, False, False):
        if wrong:
            with pytest.raises(IndexError):
                step(x, mg.tensor([0, 3]))
        else:
            np.testing.assert_allclose(step(x, labels).item(), function(x, labels).item(), 1e-6)
    assert step.statistics == {"eager": 2, "recorded": 2, "replayed": 3}
    assert step.reason is not None and "fused_mul_add_exp" in step.reason
    assert len(step.fused_programs) == 1


def test_it_is_said_what_was_fused(in_python: None) -> None:
    """By reason and repr, in the words of the program's text; and nothing is warned of. A plain
    step says nothing."""
    function = lambda x: ((x * 2 + 1) @ x * 2 + 1) @ x - (x * 3).exp()
    step, plain, x = mg.compile(function, fuse=True), mg.compile(function), tensor(3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            step(x), plain(x)
        step(x), plain(x)
    said = "is replayed with kernels for 7 operations: fused_mul_add (2 times), fused_mul_exp_sub"
    assert step.reason == said and said in repr(step) and "eager because" not in repr(step)
    assert all(name in str(step.fused_programs[0]) for name in ("fused_mul_add ", "fused_mul_exp"))
    assert plain.reason is None and repr(plain).endswith("1 replayed>")
    step(mg.ones(2, 2))
    assert "eager because this is the first call of its kind" in repr(step)


def test_kernels_without_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the folder for caches cannot be made, one for the process serves."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MINIGRAD_KERNELS", str(tmp_path / "file" / "kernels"))
    assert kernel_files.folder().is_dir() and kernel_files.folder() == kernel_files.folder()
