"""Element-wise chains as one kernel each: which instructions go together, what the kernels' C says,
and that programs compute the same.

No device is needed. The C text is compiled by the host's compiler and compared with the operations
on awkward numbers; where NVIDIA's own compiler is installed (it needs no driver), it must accept
the text too. What a device computes is tested where there is one.
"""

import ctypes
import functools
import importlib.util
import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import backend, optim
from minigrad.core.primitive import registry
from minigrad.errors import DeviceError, ProgramError
from minigrad.nn import functional as F
from minigrad.program import trace
from minigrad.program.capture import CapturedProgram
from minigrad.program.fused import (
    ARGUMENTS,
    HELPERS,
    LONGEST,
    Fused,
    expression,
    fused,
    groups,
)
from minigrad.program.generated_kernel import kernels_of
from minigrad.program.instructions import Instruction, Literal, Type
from minigrad.program.program import Program
from tests.helpers.fake_cuda import (
    HOST,
    NAMES_IN_C,
    ElementwiseKernel,
    compiled,
    cuda,
    host_source,
    needs_compiler,
)
from tests.helpers.tables import in_one_test
from tests.program.test_capture import OPTIMISERS, X, bits, network, there

__all__ = ["cuda"]
RNG = np.random.default_rng(0)


def tensor(*shape: int, dtype: str = "float32") -> mg.Tensor:
    return mg.tensor(RNG.standard_normal(shape).astype(dtype))


def chains(function: Any, *examples: Any) -> list[list[str]]:
    """The names of the operations that go together."""
    program = trace(function, *examples)
    return [
        [program.instructions[m].primitive.name for m in members] for members in groups(program)
    ]


# ------------------------------------------------------------------------------------------- chains


def test_a_chain_is_found() -> None:
    x, y = tensor(4, 3), tensor(3)
    assert chains(lambda x, y: (x * y + 1).tanh(), x, y) == [["mul", "add", "tanh"]]
    assert chains(lambda x: x + 1, x) == [], "one operation is one kernel already"
    assert chains(lambda x: x.sum() * 2, x) == []


def test_who_reads_from_outside_ends_a_chain() -> None:
    """A sum needs y before the rest can run: two chains, not one around the sum."""
    x = tensor(4, 3)
    assert chains(lambda x: ((y := (x * 2).exp()) / y.sum()).log() + 1, x) == [
        ["mul", "exp"],
        ["div", "log", "add"],
    ]
    assert chains(lambda x: ((x * 2 + 1) @ x.T).exp() * 2, x) == [["mul", "add"], ["exp", "mul"]]


def test_branches_meet_in_one_kernel() -> None:
    assert chains(lambda x, y: (x * 2).exp() + (y * 3).sin(), tensor(4), tensor(4)) == [
        ["mul", "exp", "mul", "sin", "add"]
    ]
    assert chains(lambda x, y: ((x * 2).exp(), (y * 3).sin()), tensor(4), tensor(4)) == [
        ["mul", "exp"],
        ["mul", "sin"],
    ]


def test_shapes_stay_apart() -> None:
    """A bias is not computed once for each element of the matrix."""
    assert chains(lambda x, b: (x + (b * 2).exp()) * 3, tensor(4, 3), tensor(3)) == [
        ["mul", "exp"],
        ["add", "mul"],
    ]
    assert chains(lambda x: (x * 2) + (x[0] * 3), tensor(4, 3)) == [["mul", "add"]]
    assert chains(lambda x, b: (x + (c := b * 2), c.exp() * 3), tensor(4, 3), tensor(3)) == [
        ["exp", "mul"]
    ], "the sum needs c before"


def test_what_is_no_element_wise_operation() -> None:
    """Views, draws, whole numbers, and numbers that C cannot hold stay as they are; so do
    parameters that have no expression.
    """
    i = mg.tensor([1, 2, 3])
    assert chains(lambda i: (i + 1) * 2, i) == []
    assert chains(lambda x: (x + 1).reshape(12) * 2, tensor(4, 3)) == []
    assert chains(lambda x: F.dropout(x * 2, 0.5) * 2, tensor(4, 3)) == [["mul", "mul"]], (
        "the draw reads the first product"
    )
    assert chains(lambda x: (x * (2 + 1j)).abs() * 2, tensor(4)) == []
    assert chains(lambda x: (x * 2).round(decimals=2) * 3, tensor(4)) == []
    assert chains(lambda x: (x * (2**60 + 1)) + 1, tensor(4)) == []
    assert chains(lambda x: (x * 2).to("float64") * 3 + 1, tensor(4)) == [
        ["mul", "cast", "mul", "add"]
    ], "a cast is an expression"


def test_kernels_stay_below_the_limit_of_arguments() -> None:
    xs = [tensor(3) for _ in range(2 * ARGUMENTS)]
    program = trace(lambda *xs: sum(xs[1:], xs[0]), *xs)
    found = groups(program)
    assert len(found) > 1 and sum(map(len, found)) >= len(program.instructions) - 2
    for members in found:
        read = {n for m in members for n in program.instructions[m].reads()} - {
            program.instructions[m].outputs[0] for m in members
        }
        assert len(read) + 1 <= ARGUMENTS

    def long(x: Any) -> Any:
        for _ in range(3 * LONGEST):
            x = x * 1.001
        return x

    assert [len(m) for m in groups(trace(long, tensor(2)))] == [LONGEST] * 3


def test_only_on_a_cuda_device() -> None:
    with pytest.raises(
        DeviceError,
        match=r"fused: needs all values on one CUDA device; this program's are on cpu\. Move them",
    ):
        fused(trace(lambda x: x + 1, tensor(3)))


@needs_compiler
def test_a_fused_program_looks_like_one(cuda: Any, tmp_path: Any) -> None:
    """Its text names the kernels, its source is their C; it cannot be saved, because a file
    names operations only.
    """
    x = there(X)
    program = trace(lambda x: ((x * 2).tanh(), (x * 2).tanh().sum()), x)
    made = program.fused()
    (kernel,) = kernels_of(made)
    assert kernel.in_params == "float32 a0" and kernel.out_params == "float32 r0"
    assert (
        made.source()
        == "fused_mul_tanh(float32 a0) -> (float32 r0) {\n    const float v0 = a0 * (float)(2.0);\n"
        "    const float v1 = tanh(v0);\n    r0 = v1;\n}\n"
    )
    assert "fused_mul_tanh x" in str(made) and [i.primitive.name for i in made.instructions] == [
        "fused_mul_tanh",
        "sum",
    ]
    assert registry.get("fused_mul_tanh") is None
    with pytest.raises(
        ProgramError, match="save: fused_mul_tanh is no operation that a file can name"
    ):
        made.save(tmp_path / "kernel")


STEPS = [
    lambda a, b: a + b, lambda a, b: a - b * 0.5, lambda a, b: a.tanh(), lambda a,
    b: mg.where(a > b, a, 0.0), lambda a, b: a.flip(0),
    lambda a, b: (a.sum() * 0.01).sin() + b, lambda a, b: (a @ b.T @ a).tanh(), lambda a,
    b: a.clamp(-1.0, 0.5),
]  # fmt: skip


def random_program(seed: int) -> Any:
    """A function of element-wise operations, sums, products and views in any order."""
    rng = np.random.default_rng(seed)
    plan = [
        (int(rng.integers(8)), int(rng.integers(1 << 30)), int(rng.integers(1 << 30)))
        for _ in range(25)
    ]

    def function(x: Any) -> Any:
        values = [x, x * 0.5]
        for kind, i, j in plan:
            a, b = values[-1 - i % min(len(values), 6)], values[-1 - j % min(len(values), 6)]
            values.append(STEPS[kind](a, b))
        return [v for k, v in enumerate(values) if k % 7 == 6] + [values[-1]]

    return function


@pytest.mark.parametrize("seed", range(40))
def test_no_order_is_broken(cuda: Any, seed: int) -> None:
    """Whatever is fused, each value is made before it is read, and every instruction is there
    once.
    """
    program = trace(random_program(seed), there(X))
    made = program.fused()
    known = {*made.inputs, *made.constants}
    for instruction in made.instructions:
        assert known.issuperset(instruction.reads())
        known.update(instruction.outputs)
    assert known.issuperset(made.kept())
    inside = [m for members in groups(program) for m in members]
    assert len(inside) == len(set(inside)) and len(made.instructions) < len(program.instructions)


# -------------------------------------------------------------------------------------- expressions

AWKWARD = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1.5, -1.5, 2.5, 3.0, -3.7, 0.1, 1e-3, 7.25,
    30.0, -30.0, 100.0, -100.0, 1e4,
           float("inf"), float("-inf"), float("nan")]  # fmt: skip
ROUNDED = {
    "pow", "pow_tensor", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp",
    "sin", "cos", "tan", "asin", "acos", "atan",
    "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "hypot", "sigmoid",
    "softplus",
    "binary_cross_entropy", "xlogy",
}  # fmt: skip
"""Operations that call the C library where NumPy has functions of its own; the others give the
same bits.
"""
PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "pow": [{"n": n} for n in (0, 1, 2, 3, 0.5, -1, -2, 4, 2.5, -0.5)],
    "clamp": [
        {"low": low, "high": high}
        for low, high in ((-1, 1.5), (None, 0.0), (0.25, None), (1, -1), (float("nan"), None))
    ],
    "round": [{"decimals": 0}],
    "select": [
        {"test": test, "level": level}
        for test in ("lt", "le", "gt", "ge")
        for level in (0.0, 1, float("inf"))
    ],
}


def samples(dtype: str) -> np.ndarray:
    if dtype == "bool":
        return np.array([False, True])
    info = np.finfo(dtype)
    return np.array(
        [
            *AWKWARD,
            info.tiny,
            -info.tiny / 4,
            info.smallest_subnormal,
            info.max,
            -info.max,
            info.eps,
        ],
        dtype,
    )


def instruction_for(
    name: str, given: list[Any], made: Any, params: dict[str, Any]
) -> tuple[Program, Instruction]:
    """A program of one instruction; operands are dtypes or Python numbers."""
    types, operands = [], []
    for g in given:
        operands.append(Literal(g) if isinstance(g, bool | int | float) else len(types))
        if not isinstance(g, bool | int | float):
            types.append(Type((1,), np.dtype(g), "cuda:0"))
    types.append(Type((1,), np.dtype(made), "cuda:0"))
    instruction = Instruction(registry[name], tuple(operands), params, (len(types) - 1,))
    return (
        Program(list(range(len(types) - 1)), {}, [instruction], [len(types) - 1], types),
        instruction,
    )


def operand_sets(name: str, dtype: str) -> list[list[Any]]:
    """Operands: arrays of all pairs of samples, and Python numbers in the place of one of them."""
    x = samples(dtype)
    count = len(registry[name].inputs)
    if name in ("cast", "overwrite"):
        sources = [samples(d) for d in NAMES_IN_C]
        return [[s] if name == "cast" else [np.zeros(s.shape, dtype), s] for s in sources]
    if name == "where":
        c, a, b = (v.reshape(-1) for v in np.meshgrid([False, True], x, x))
        numbers = (
            []
            if dtype == "bool"
            else [[c, a, 0.0], [c, 0.0, a], [c, a, float("nan")], [c, 1, -0.0]]
        )
        return [[c, a, b], *numbers]
    if count == 1:
        return [[x]]
    a, b = (v.reshape(-1) for v in np.meshgrid(x, x))
    if count == 3:
        return [[a, b, -b], [a, 0.0, b], [a, b, float("nan")]]
    numbers = [True] if dtype == "bool" else [3, 0.5, 0.1, float("-inf"), float("nan")]
    return [
        [a, b],
        *([x, n] for n in numbers),
        [numbers[-1], x],
        [0 if dtype != "bool" else False, x],
    ]


def is_fusable(name: str, dtype: str) -> bool:
    """Whether an operation on arrays of this dtype alone can be in a kernel."""
    given = ["bool" if n == "condition" else dtype for n in registry[name].inputs]
    made = "bool" if registry[name].dtype == "bool" else dtype
    return (
        expression(*instruction_for(name, given, made, PARAMETERS.get(name, [{}])[0])) is not None
    )


CASES = [
    (name, dtype)
    for name in sorted(registry)
    for dtype in ("float32", "float64", "bool")
    if is_fusable(name, dtype)
]
CASES.remove(("pow", "bool"))  # NumPy has few powers of booleans


class Sample:
    """One expression with operands, what the operation makes of them, and the kernel (None where
    there is no expression).
    """

    def __init__(self, name: str, operands: list[Any], params: dict[str, Any]) -> None:
        self.operands, self.params = operands, params
        given = [o.dtype if hasattr(o, "dtype") else o for o in operands]
        with backend.ignore_float_errors(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an infinity is cast, a Python number is no float32
            self.expected = np.asarray(registry[name].forward(np, *operands, **params))
        program, instruction = instruction_for(name, given, self.expected.dtype, params)
        fits = expression(program, instruction) is not None
        self.kernel = (
            Fused(program, [instruction], program.inputs, program.outputs) if fits else None
        )
        self.what = f"{name} {params} of {given}"

    def source(self, number: int) -> str:
        """A function that applies the kernel's text to arrays, for the host."""
        reads, makes = (
            [tuple(p.split()) for p in t.split(", ")]
            for t in (self.kernel.in_params, self.kernel.out_params)
        )
        text = host_source(reads, makes, self.kernel.operation, "")
        return text[text.index("void run") :].replace("void run", f"void run{number}")


@functools.cache
def all_samples() -> dict[tuple[str, str], list[Sample]]:
    """By operation and dtype."""
    found: dict[tuple[str, str], list[Sample]] = {}
    for name, dtype in CASES:
        for operands, params in itertools.product(
            operand_sets(name, dtype), PARAMETERS.get(name, [{}])
        ):
            params = {"dtype": np.dtype(dtype)} if name == "cast" else params
            sample = Sample(name, operands, params)
            if sample.kernel is not None:
                found.setdefault((name, dtype), []).append(sample)
    return found


@functools.cache
def library() -> Any:
    """All kernels compiled for the host, as `run0`, `run1`, …"""
    texts = [s.source(k) for k, s in enumerate(itertools.chain(*all_samples().values()))]
    return compiled(HOST + HELPERS + 'extern "C" {\n' + "\n".join(texts) + "}")


@in_one_test
@needs_compiler
@pytest.mark.parametrize(("name", "dtype"), CASES, ids=[f"{n}-{d}" for n, d in CASES])
def test_the_kernels_compute_what_the_operations_do(name: str, dtype: str) -> None:
    """Every expression, compiled, on NaN, infinities, both zeros, ties, denormals and the
    largest numbers.
    """
    order = {id(sample): k for k, sample in enumerate(itertools.chain(*all_samples().values()))}
    for sample in all_samples()[name, dtype]:
        expected = sample.expected
        found = np.empty(expected.shape, expected.dtype)
        arrays = [np.ascontiguousarray(o) for o in sample.operands if hasattr(o, "dtype")]
        pointers = [a.ctypes.data for a in (*arrays, found)]
        getattr(library(), f"run{order[id(sample)]}")(
            ctypes.c_long(found.size), (ctypes.c_void_p * len(pointers))(*pointers)
        )
        if name not in ROUNDED:
            np.testing.assert_array_equal(found, expected, sample.what)
            if expected.dtype != bool and name not in (
                "maximum",
                "minimum",
                "relu",
                "clamp",
            ):  # NumPy takes now 0, now -0
                there = ~np.isnan(expected)
                np.testing.assert_array_equal(
                    np.signbit(found[there]), np.signbit(expected[there]), sample.what
                )
        else:
            eps, tiny = np.finfo(dtype).eps, np.finfo(dtype).tiny
            np.testing.assert_allclose(
                found, expected, rtol=8 * eps, atol=2 * tiny, err_msg=sample.what
            )


def test_yes_and_no_are_no_numbers() -> None:
    """True == 2 is false, though C makes a yes of 2."""
    for number, found in ((True, "v0 == (bool)(1.0)"), (2, None), (1.0, None)):
        assert expression(*instruction_for("eq", ["bool", number], "bool", {})) == found


def test_element_wise_operations_without_an_expression_are_known() -> None:
    """What generated code cannot compute: an operation that declares no expression shows here."""
    special = {
        n
        for n, prim in registry.items()
        if prim.forward.__module__
        in ("minigrad.special.operations", "minigrad.special.bessel", "minigrad.extras.operations")
    }
    missing = {n for n, prim in registry.items() if prim.pointwise and prim.scalar is None}
    assert missing - special == {
        "angle",
        "complex",
        "conj",
        "floor_divide",
        "identity",
        "imag",
        "move",
        "real",
        "remainder",
    }


# ----------------------------------------------------------------------------------- whole programs


@needs_compiler
@pytest.mark.parametrize(
    "seed",
    [0, 1, pytest.param(2, marks=[pytest.mark.whole]), pytest.param(3, marks=[pytest.mark.whole])],
)
def test_fused_programs_compute_the_same(cuda: Any, seed: int) -> None:
    x = there(X.astype("float64"))
    program = trace(random_program(seed), x)
    made = program.fused()
    assert kernels_of(made)
    for scale in (1.0, -0.5):
        for a, b in zip(made(x * scale), program(x * scale), strict=True):
            np.testing.assert_allclose(a.array._memory, b.array._memory, rtol=1e-11, atol=1e-11)


@needs_compiler
@pytest.mark.parametrize("capture", [False, True])
@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_a_fused_training_step(cuda: Any, name: str, capture: bool) -> None:
    """Fusing changes the training by rounding only and needs fewer launches; rates on a schedule
    reach the kernels.
    """
    runs = []
    for options in (None, {"fuse": True, "capture": capture}):
        model, optimizer, step = network(OPTIMISERS[name], "float64")
        step = mg.compile(step, **options) if options else step
        schedule = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        for i in range(7):
            loss = step(there(X.astype("float64") * (i + 1)), there(np.arange(16) % 2))
            schedule.step()
        runs.append(
            [
                loss.array._memory,
                *(p.array._memory for p in model.parameters()),
                *(p.grad.array._memory for p in model.parameters()),
            ]
        )
    for a, b in zip(*runs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    ((variant,),) = step._variants.values()
    assert (
        "is replayed with kernels for" in step.reason
        and variant.replays == 4
        and isinstance(variant.runner, CapturedProgram) is capture
    )
    assert len(kernels_of(variant.kept)) >= 5 and len(variant.kept.instructions) < 0.7 * len(
        step.programs[0].instructions
    )


@needs_compiler
def test_broadcast_empty_and_scalar_operands(cuda: Any) -> None:
    """Kernels broadcast as the operations do, for arrays without elements and without axes too."""
    for shapes in (((4, 1), (1, 3)), ((0, 3), (3,)), ((), ()), ((2, 1, 3), (5, 1))):
        a, b = (there(np.asarray(RNG.standard_normal(s))) for s in shapes)
        program = trace(lambda a, b: (a * b + 1).exp() - a, a, b)
        assert len(kernels_of(program.fused())) == 1
        np.testing.assert_allclose(
            program.fused()(a, b).array._memory, program(a, b).array._memory, rtol=1e-12
        )
    t = there(RNG.standard_normal((5, 4)).astype("float32")[::2].T)
    program = trace(lambda t: (t * 2 + 1) * t, t)
    assert bits(program.fused()(t)) == bits(program(t)), "not row after row"


@needs_compiler
def test_equal_text_is_not_needed_twice(cuda: Any) -> None:
    """A kernel is made once, when it is first needed."""
    program = trace(lambda x: (x * 2).tanh(), there(X)).fused()
    before = len(ElementwiseKernel.made)
    for _ in range(3):
        program(there(X))
    assert len(ElementwiseKernel.made) == before + 1


# ---------------------------------------------------------------------------- NVIDIA's own compiler


def nvrtc() -> Any:
    """CuPy's binding of NVIDIA's run-time compiler. Skips, with what is missing, where it cannot
    be loaded.
    """
    place = (
        importlib.util.find_spec("nvidia.cuda_nvrtc")
        if importlib.util.find_spec("nvidia")
        else None
    )
    if importlib.util.find_spec("cupy_backends") is None or place is None:
        pytest.skip(
            "NVIDIA's compiler is not installed: pip install nvidia-cuda-nvrtc-cu12 cupy-cuda12x"
            " (it needs no driver)"
        )
    (folder,) = place.submodule_search_locations
    libraries = sorted(Path(folder, "lib").glob("libnvrtc.so*"))
    if not libraries:
        pytest.skip(f"there is no libnvrtc.so in {folder}")
    ctypes.CDLL(str(libraries[0]), ctypes.RTLD_GLOBAL)
    return importlib.import_module("cupy_backends.cuda.libs.nvrtc")


@pytest.mark.filterwarnings("ignore")
def test_nvidias_compiler_accepts_the_kernels(cuda: Any) -> None:
    """All expressions in both dtypes, with Python numbers of every kind."""
    compiler = nvrtc()
    samples = [*itertools.chain(*all_samples().values())]
    texts = [
        HELPERS,
        *(f'extern "C" __global__ {sample.source(k)}' for k, sample in enumerate(samples)),
    ]
    made = compiler.createProgram("\n".join(texts), "kernels.cu", (), ())
    try:
        compiler.compileProgram(made, ("--fmad=false", "--gpu-architecture=compute_80"))
    except compiler.NVRTCError:
        pytest.fail(compiler.getProgramLog(made)[:4000])
    assert f"run{len(samples) - 1}" in str(compiler.getPTX(made))


# ------------------------------------------------------------------------------------ a real device


@pytest.mark.gpu
@pytest.mark.parametrize(
    "options", [{"fuse": True}, {"capture": True}, {"fuse": True, "capture": True}], ids=str
)
@pytest.mark.parametrize("name", OPTIMISERS)
def test_training_steps_on_a_gpu(name: str, options: Any) -> None:
    """Eager and compiled training agree, to rounding, with a rate on a schedule and parameters
    that move once.
    """
    runs = []
    for chosen in (None, options):
        model, optimizer, step = network(OPTIMISERS[name], "float64")
        step = mg.compile(step, **chosen) if chosen else step
        schedule = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        losses = []
        for i in range(12):
            if i == 8:
                model[0].weight.data = model[0].weight.data * 0.5
            losses.append(
                step(
                    mg.tensor(X.astype("float64")).to("cuda") * (1 + i % 2),
                    mg.tensor(np.arange(16) % 2).to("cuda"),
                )
            )
            schedule.step()
        runs.append(
            [
                v.detach().cpu().numpy()
                for v in [*losses, *model.parameters(), *(p.grad for p in model.parameters())]
            ]
        )
    assert step.statistics["replayed"] > 6
    assert "kernels for" in step.reason if "fuse" in options else step.reason is None, step.reason
    for a, b in zip(*runs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "dtype"), CASES, ids=[f"{n}-{d}" for n, d in CASES])
def test_the_kernels_on_a_gpu(name: str, dtype: str) -> None:
    """Every expression on the awkward numbers, against the operation on the device. Denormal
    float32 numbers are left out: where CuPy's kernels take them for 0, its compiler decides.
    """
    import cupy

    def on_device(operand: Any) -> Any:
        if not hasattr(operand, "dtype"):
            return operand
        if operand.dtype == "float32":
            denormal = abs(operand) < np.finfo("float32").tiny
            operand = np.where(denormal, np.copysign(np.float32(0), operand), operand)
        return cupy.asarray(operand)

    for sample in all_samples()[name, dtype]:
        operands = [on_device(o) for o in sample.operands]
        expected = registry[name].forward(cupy, *operands, **sample.params)
        arrays = [o for o in operands if hasattr(o, "dtype")]
        found = sample.kernel.forward(cupy, *arrays)
        eps = np.finfo(dtype).eps if dtype != "bool" else 0.0
        np.testing.assert_allclose(
            found.get().astype("float64"), cupy.asnumpy(expected).astype("float64"),
            rtol=32 * eps, atol=1e-37, err_msg=sample.what,
        )  # fmt: skip
