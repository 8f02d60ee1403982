"""Passes keep every bit; checks find what is wrong; buffers are reused and counted; programs
of tens of thousands of instructions run.
"""

import gc
import math
import time
import tracemalloc
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.primitive import registry
from minigrad.errors import ProgramError
from minigrad.ops.sums import FEW_TERMS
from minigrad.program import Instruction, Literal, Program, Ref, Type, trace
from minigrad.program.memory import Arena
from minigrad.program.passes import with_constants_folded, without_dead_code, without_repetitions
from minigrad.program.run import interpret

F32 = np.dtype("float32")
RNG = np.random.default_rng(0)


def tensor(*shape: int, requires_grad: bool = False) -> mg.Tensor:
    return mg.tensor(RNG.standard_normal(shape).astype("float32"), requires_grad=requires_grad)


def values(program: Program, *inputs: Any) -> list[bytes]:
    """The bits of all results of a plain run."""
    found = interpret(program, [x.array for x in inputs])
    return [np.asarray(found[n]).tobytes() for n in program.outputs]


def names(program: Program) -> list[str]:
    return [i.primitive.name for i in program.instructions]


# ------------------------------------------------------------------------------------------- passes

SAMPLES: dict[str, Any] = {
    "dead": lambda x: (x.exp(), x.sin() * 2)[0],
    "repeated": lambda x: (x.exp() + x.exp()) * (x.exp() + x.exp()),
    "differing parameters": lambda x: x**2 + x**3 + x.sum(0) + x.sum(1, keepdim=True) + x[0] + x[1],
    "literals": lambda x: x * 1 + x * 1.0 + x / 0.0 + x / -0.0 + x * math.nan + x * math.nan,
    "constants": lambda x: x + mg.tensor([1.0, 2.0, 3.0]) * 2 + mg.tensor([1.0, 2.0, 3.0]).exp(),
    "gather": lambda x: x[mg.tensor([0, 1])] + x[mg.tensor([0, 1])] + x[mg.tensor([1, 0])],
    "nan constants": lambda x: (
        x + mg.tensor([math.nan, 1.0, -0.0]) + mg.tensor([math.nan, 1.0, 0.0])
    ),
    "windows": lambda x: (x.T[1] + x[:, 1]).reshape(1, -1) + x.reshape(-1)[:1],
    "kept whole": lambda x: (x, x * 1, mg.tensor([1.0]) + 1),
}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 1, 0)])
@pytest.mark.parametrize("name", SAMPLES)
def test_passes_keep_the_bits(name: str, order: tuple[int, ...]) -> None:
    """Each pass, in several orders, on programs made for it."""
    passes = (without_dead_code, without_repetitions, with_constants_folded)
    x = tensor(2, 3)
    with np.errstate(all="ignore"):
        program = trace(SAMPLES[name], x, simplify=False).check()
    want = values(program, x)
    for k in order:
        before = len(program.instructions)
        program = passes[k](program).check()
        assert values(program, x) == want and len(program.instructions) <= before
    result = program(x)
    assert [
        np.asarray(t.numpy()).tobytes()
        for t in (result if isinstance(result, tuple) else (result,))
    ] == want


def test_what_passes_remove() -> None:
    """Dead code, repetitions, and what constants decide; and nothing that only looks alike."""
    x = tensor(2, 3)
    assert names(trace(SAMPLES["dead"], x)) == ["exp"]
    assert names(trace(SAMPLES["repeated"], x)) == ["exp", "add", "mul"]
    assert names(trace(SAMPLES["constants"], x)) == ["add", "add"]
    with np.errstate(all="ignore"):
        literals = names(trace(SAMPLES["literals"], x))
    assert (
        literals.count("mul") == 3 and literals.count("div") == 2
    )  # 1 and 1.0 differ, 0.0 and -0.0 differ, NaN equals NaN
    assert names(trace(SAMPLES["gather"], x)).count("getitem") == 2
    nan = trace(SAMPLES["nan constants"], x)
    assert names(trace(lambda x: x**2 + x**2.0 + x**2, x)).count("pow") == 2
    assert names(trace(lambda x: x.clamp(0.0, 1) + x.clamp(-0.0, 1), x)).count("clamp") == 2
    assert len(nan.constants) == 2  # they differ in the sign of a zero


def test_a_constant_that_cannot_be_computed_fails_when_it_is_run() -> None:
    """Folding leaves an instruction that raises where it is."""
    a = mg.tensor([1, 2]).array
    zero = mg.tensor([0, 0]).array
    kind = Type((2,), np.dtype("int64"))
    div = Instruction(registry["floor_divide"], (0, 1), {}, (2,))
    program = Program([], {0: a, 1: zero}, [div], [2], [kind] * 3)
    assert names(with_constants_folded(program)) == ["floor_divide"]
    with pytest.raises(ZeroDivisionError):
        with_constants_folded(program)()


# ------------------------------------------------------------------------------------------- checks


def sound() -> dict[str, Any]:
    """The parts of y = (x + 1) @ x, x: (2, 2)."""
    kind = Type((2, 2), F32)
    first = Instruction(registry["add"], (0, Literal(1)), {}, (1,))
    second = Instruction(registry["matmul"], (1, 0), {}, (2,))
    return {
        "inputs": [0],
        "constants": {},
        "instructions": [first, second],
        "outputs": [2],
        "types": [kind, kind, kind],
    }


def test_each_kind_of_damage_to_a_program_is_named() -> None:
    """A sound program passes and runs; each kind of damage is found and named."""
    x = tensor(2, 2)
    program = Program(**sound()).check()
    for _ in range(3):
        assert np.asarray(program(x).numpy()).tobytes() == ((x + 1) @ x).numpy().tobytes()
    add, matmul = sound()["instructions"]
    other = Type((2, 3), F32)
    broken: list[tuple[dict[str, Any], str]] = [
        ({"instructions": [matmul, add]}, "reads %1 before it is made"),
        ({"instructions": [add, add, matmul]}, "%1 is made a second time"),
        (
            {"types": [Type((2, 2), F32), other, Type((2, 2), F32)]},
            r"gives float32 \(2, 2\), but the program says float32 \(2, 3\)",
        ),
        ({"types": [Type((2, 3), F32), Type((2, 3), F32), Type((2, 3), F32)]}, "cannot be applied"),
        ({"outputs": [7]}, "never made"),
        ({"inputs": [0, 0]}, "there twice"),
        ({"inputs": [9]}, "has no type"),
        (
            {"instructions": [Instruction(registry["add"], (0,), {}, (1,)), matmul]},
            "takes 2 operands",
        ),
        (
            {
                "instructions": [Instruction(registry["add"], (0, 0), {}, (1, 3)), matmul],
                "types": [other] * 4,
            },
            "makes 1 values",
        ),
        (
            {"instructions": [add, matmul, Instruction(registry["exp"], (2,), {}, (3,))]},
            "has no type",
        ),
        ({"constants": {1: np.zeros(3)}, "instructions": [matmul]}, "constant %1 is float64"),
        ({"updates": {0: 3}, "types": [*sound()["types"], other], "inputs": [0, 3]}, "cannot hold"),
        (
            {
                "instructions": [
                    add,
                    Instruction(registry["getitem"], (1,), {"index": Ref(5)}, (2,)),
                ]
            },
            "reads %5 before",
        ),
    ]
    for change, message in broken:
        with pytest.raises(ProgramError, match=message):
            Program(**{**sound(), **change}).check()


def test_checking_draws_nothing() -> None:
    """The types of random draws are found without moving the generator."""
    program = trace(lambda x: x + mg.rand(3), tensor(3))
    mg.manual_seed(1)
    program.check()
    first = mg.rand(1).item()
    mg.manual_seed(1)
    assert first == mg.rand(1).item()


# ------------------------------------------------------------------------------------------- memory


def test_the_arena_never_hands_out_memory_twice() -> None:
    """A thousand random takes and gives: pieces in use never overlap, and the block is no larger
    than needed pieces side by side.
    """
    rng = np.random.default_rng(3)
    arena, used = Arena(), []
    most = 0
    for _ in range(1000):
        if used and rng.random() < 0.5:
            arena.give(used.pop(rng.integers(len(used))))
        else:
            used.append(arena.take(int(rng.integers(1, 5000))))
        spans = sorted((piece.offset, piece.size) for piece in used)
        assert all(a[0] + a[1] <= b[0] for a, b in pairwise(spans))
        assert all(start % 64 == 0 and start + size <= arena.total for start, size in spans)
        most = max(most, sum(size for _, size in spans))
    for piece in used:
        arena.give(piece)
    assert (
        most <= arena.total < 2 * most and arena._free == [(0, arena.total)] and arena.reused > 300
    )
    before = arena.total
    arena.arrange()
    assert most <= arena.total < min(before, 1.1 * most)
    for a, b in combinations(arena.pieces, 2):
        apart = a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
        assert apart or a.given < b.taken or b.given < a.taken


def chain(x: Any) -> Any:
    """Ten element-wise steps: all values together are 10 times x, two are alive at once, and one
    buffer does.
    """
    y = x * 2
    for _ in range(9):
        y = y + 1
    return y.sum()


def test_an_elementwise_chain_needs_one_buffer() -> None:
    """Each step is written over the one before."""
    x = tensor(100, 1000)
    program = trace(chain, x)
    program(x)
    memory = program.memory()
    size = 100 * 1000 * 4
    assert (
        memory["all"] == 10 * size
        and memory["without plan"] == 2 * size
        and memory["with plan"] == size
    )
    assert memory["reused"] == 9 and program.source().count("out=v") == 10


def peak(function: Any) -> int:
    """The most bytes allocated at once while a function runs, beyond those before it."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def network(x: Any, target: Any, weights: Any) -> Any:
    for w in weights[:-1]:
        x = (x @ w).relu()
    return ((x @ weights[-1] - target) ** 2).mean()


def test_computed_bytes_are_measured_bytes() -> None:
    """The peaks that a program states, with the plan and without, are those that an allocator
    sees, to within 3%.
    """
    weights = [tensor(40, 40, requires_grad=True) for _ in range(4)]
    x, target = tensor(4000, 40), tensor(4000, 40)  # code takes 50 kB
    program = trace(lambda x, target: network(x, target, weights), x, target, backward=True)
    payloads = [x.array, target.array]
    plain = peak(lambda: interpret(program, payloads))
    program(x, target)
    program.memory()
    planned = peak(lambda: program(x, target))  # makes the buffers, runs
    stated = program.memory()
    assert abs(plain - stated["without plan"]) < 0.03 * plain, (plain, stated)
    assert abs(planned - stated["with plan"]) < 0.03 * planned, (planned, stated)
    again = peak(lambda: program(x, target))
    results = sum(program.types[n].nbytes for n in program.outputs)
    assert again < 1.2 * results + 50_000, "a further run allocates its results and little else"

    def eager() -> None:
        network(x, target, weights).backward()
        for w in weights:
            w.grad = None

    assert peak(eager) > 1.1 * stated["with plan"]


@pytest.mark.parametrize(
    ("batch", "w"), [((8, 32, 24), (24, 16)), ((2, 3, 5, 7), (7, 4)), ((3, 0, 4), (4, 2))]
)
def test_a_matrix_for_a_batch_makes_one_product_of_two_matrices(
    batch: tuple[int, ...], w: tuple[int, int]
) -> None:
    """As in eager calls, with the same bits; where the batch is turned, NumPy's batched product."""
    x, matrix = tensor(*batch), tensor(*w)
    for turned in (False, True):
        x = x.swapaxes(0, 1) if turned else x
        program = trace(lambda x, w: (x * 2, (x * 2) @ w), x, matrix)
        for _ in range(3):
            got, want = program(x, matrix)[1], (x * 2) @ matrix
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)
            assert turned or got.numpy().tobytes() == want.numpy().tobytes()
        assert ("matmul(" in program.source()) == (turned and x.numel() > 0)


@pytest.mark.parametrize("shape", [(1,), (4,), (2, 3), (2048,), (2049,), (0,), (2, 0)])
def test_the_gradient_of_a_broadcast_number_has_the_bits_of_eager_runs(shape: Any) -> None:
    """Also where it is a sum of few, which a replay writes out; where they lie by columns; in
    float64; and of negative zeros."""
    sum_to = registry["sum_to"]
    program = trace(lambda x: sum_to(x * 1.5, shape=()), tensor(*shape))
    arrays = [tensor(*shape), mg.full(shape, -0.0), mg.full(shape, math.nan)]
    for x in [*arrays, *arrays]:
        assert program(x).numpy().tobytes() == sum_to(x * 1.5, shape=()).numpy().tobytes()
    assert (".dot(ones_" in program.source()) == (0 < math.prod(shape) <= FEW_TERMS)
    for x in (mg.ones(*shape).double() / 3, tensor(*shape[::-1]).permute(*range(len(shape))[::-1])):
        program = trace(lambda x: sum_to(x, shape=()), x)
        for _ in range(3):
            assert program(x).numpy().tobytes() == sum_to(x, shape=()).numpy().tobytes()


def test_layouts_have_plans_of_their_own() -> None:
    """Inputs that lie differently in memory give the bits that eager runs give for them."""
    program = trace(lambda x: ((x * 2).sum(0), (x + 1).reshape(-1)), tensor(4, 3))
    for _ in range(3):
        for x in (tensor(4, 3), tensor(3, 4).T, tensor(8, 6)[::2, ::2]):
            got, want = program(x), ((x * 2).sum(0), (x + 1).reshape(-1))
            assert [t.numpy().tobytes() for t in got] == [t.numpy().tobytes() for t in want]
    assert len(program.replayer.lowered) == 3


@pytest.mark.parametrize("windows", [(0, 3, 1), (0, 3, 2), (1, 2, 1), (-1, 4, 3)])
def test_memory_under_windows_is_not_given_away(windows: tuple[int, int, int]) -> None:
    """NumPy puts an object between windows and the array whose memory they are."""

    def chain(x: mg.Tensor) -> tuple[mg.Tensor, mg.Tensor]:
        seen = (x * 2).unfold(*windows)
        later = ((x + 1) * 3 - 4) * 5
        return seen * 1, later.unfold(*windows) * 1

    program = trace(chain, tensor(6, 8))
    for _ in range(4):
        x = tensor(6, 8)
        for got, want in zip(program(x), chain(x), strict=True):
            assert got.numpy().tobytes() == want.numpy().tobytes()


def test_windows_in_a_compiled_step_with_a_gradient() -> None:
    x, y = tensor(3, 2, requires_grad=True), tensor(2, 1, 3, requires_grad=True)

    def step(x: mg.Tensor, y: mg.Tensor) -> list[mg.Tensor]:
        windows, spread = y.clone().unfold(-1, 2, 1), x.clone().std(-1, keepdim=True)
        loss = windows.unbind(0)[0].double().sum() + spread.double().sum()
        return [windows.detach().clone(), *mg.autograd.grad(loss, [x, y])]

    compiled = mg.compile(step)
    for _ in range(8):
        with mg.no_grad():
            x.copy_(tensor(3, 2))
            y.copy_(tensor(2, 1, 3))
        for got, want in zip(compiled(x, y), step(x, y), strict=True):
            assert got.tolist() == want.tolist()
    assert compiled.statistics["replayed"] >= 5


def test_source_and_reports_need_a_run() -> None:
    """What depends on memory is an error before the first run, with advice."""
    program = trace(lambda x: x + 1, tensor(3))
    for ask in (program.source, program.memory):
        with pytest.raises(ProgramError, match="run the program once first"):
            ask()
    program(tensor(3))
    assert "def part(v):" in program.source()


# ------------------------------------------------------------------------------------ long programs


def long_chain(count: int) -> Program:
    """y = x, then `count` times y = y * 0.5 + 1, alternately."""
    kind = Type((), np.dtype("float64"))
    mul, add = registry["mul"], registry["add"]
    half, one = Literal(0.5), Literal(1.0)
    instructions = [
        Instruction(mul if k % 2 else add, (k, half if k % 2 else one), {}, (k + 1,))
        for k in range(count)
    ]
    return Program([0], {}, instructions, [count], [kind] * (count + 1))


def try_long(count: int) -> float:
    """Build, check, simplify, print, run three times and free a long program. Returns the
    seconds of the third run.
    """
    gc.collect()
    program = long_chain(count)
    without_dead_code(without_repetitions(program.check()))
    text = str(program)
    assert len(text.splitlines()) < 80 and f"{count - 60:,} more instructions" in text
    x = mg.tensor(3.0, dtype=mg.float64)
    want = 3.0
    for k in range(count):
        want = want * 0.5 if k % 2 else want + 1.0
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        assert program(x).item() == want
        seconds.append(time.perf_counter() - start)
    while gc.collect():
        pass  # what is freed may free more
    gc.disable()
    try:
        del program
        assert gc.collect() < count / 100, (
            "the instructions themselves are freed by reference count"
        )
    finally:
        gc.enable()
    return seconds[-1]


@pytest.mark.whole
def test_thirty_thousand_instructions() -> None:
    """No recursion anywhere; a run of the lowered program takes well under a microsecond an
    instruction. Half as many are recorded from a function.
    """
    assert try_long(30_000) < 0.5

    def f(x: Any) -> Any:
        for _ in range(7_500):
            x = x * 0.5 + 1.0
        return x

    program = trace(f, mg.tensor(3.0))
    assert len(program.instructions) == 15_000
    x = mg.tensor(1.5)
    assert program(x).item() == program(x).item() == f(x).item()
