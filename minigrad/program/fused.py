"""Chains of element-wise operations as one kernel each, for programs whose values are on a CUDA device.

Each operation that CuPy runs reads its operands from the device's memory and writes its result there. A chain such as g · (1 − y · y) does
that three times, and each time Python starts a kernel. One kernel for the whole chain reads g and y once, keeps what lies between in
registers, and writes once.

`groups` finds the chains: logic on the list of instructions alone. `EXPRESSIONS` says what an operation is in C, with NumPy's answers for
NaN, ties and kinks. `Fused` is the kernel, with its text (`program.fused().source()`). `fused` puts the two together.

Not measured: nothing of this has run on a device, so it is used only where it is asked for. The expressions were compiled by a C++
compiler and compared with the operations on the host, and the kernels' text was accepted by NVIDIA's compiler (the tests say how).
Products and sums are rounded one by one, as separate kernels round them (`--fmad=false`); functions such as exp are the same calls that
CuPy's own kernels make.

Source: CuPy's documentation of `cupy.ElementwiseKernel`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import backend
from ..errors import DeviceError
from ..primitive import Primitive
from .instructions import Instruction, Literal, Operand, Program, Type
from .passes import renumbered

ARGUMENTS = 24
"""Arrays that one kernel reads and writes at most: CUDA gives a kernel 4 KiB for its arguments, shapes and strides included."""
LONGEST = 100
"""Operations in one kernel at most."""
C_TYPES = {"float32": "float", "float64": "double", "bool": "bool"}

# ------------------------------------------------------------------------------------------------------------ operations in C

HELPERS = r"""
#ifndef INFINITY
#define INFINITY __longlong_as_double(0x7ff0000000000000LL)
#endif
#ifndef NAN
#define NAN __longlong_as_double(0x7ff8000000000000LL)
#endif
template <typename T> __device__ T larger(T a, T b) { return a >= b || isnan(a) ? a : b; }
template <typename T> __device__ T smaller(T a, T b) { return a <= b || isnan(a) ? a : b; }
template <typename T> __device__ T sum_of_exponentials(T a, T b) {
    if (a == b) return a + (T)0.693147180559945309417232121458176568;  // infinities of one sign too
    T d = a - b;
    return d > 0 ? a + log1p(exp(-d)) : d <= 0 ? b + log1p(exp(d)) : d;  // NaN fails both questions
}
"""
"""Functions that the expressions call. Of two numbers of which one is NaN, the larger and the smaller one is NaN."""


def _power(n: float) -> str:
    """As the operation and NumPy have it: squares and cubes are products, the exponents 0, 1, 0.5 and -1 have short ways."""
    short = {0: "(T)1", 1: "{0}", 2: "{0} * {0}", 3: "{0} * {0} * {0}", 0.5: "sqrt({0})", -1: "(T)1 / {0}"}
    return short.get(n) or f"pow({{0}}, (T){number(n)})"


def _clamp(low: Any, high: Any) -> str | None:
    if any(type(bound) not in (int, float, type(None)) for bound in (low, high)):
        return None
    text = "{0}" if low is None else f"larger({{0}}, (T){number(low)})"
    return text if high is None else f"smaller({text}, (T){number(high)})"


def _select(test: str, level: Any) -> str | None:
    question = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}[test]
    return f"{{0}} {question} (T){number(level)} ? {{1}} : {{2}}" if type(level) in (int, float) else None


Expression = str | Callable[..., str | None]
FUNCTIONS: dict[str, Expression] = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}", "reciprocal": "(T)1 / {0}",
    "square": "{0} * {0}", "pow": _power, "pow_tensor": "pow({0}, {1})", "sqrt": "sqrt({0})", "rsqrt": "(T)1 / sqrt({0})",
    "exp": "exp({0})", "exp2": "exp2({0})", "expm1": "expm1({0})", "log": "log({0})", "log2": "log2({0})", "log10": "log10({0})",
    "log1p": "log1p({0})", "logaddexp": "sum_of_exponentials({0}, {1})", "sin": "sin({0})", "cos": "cos({0})", "tan": "tan({0})",
    "asin": "asin({0})", "acos": "acos({0})", "atan": "atan({0})", "atan2": "atan2({0}, {1})", "sinh": "sinh({0})",
    "cosh": "cosh({0})", "tanh": "tanh({0})", "asinh": "asinh({0})", "acosh": "acosh({0})", "atanh": "atanh({0})", "erf": "erf({0})",
    "hypot": "hypot({0}, {1})", "fmod": "fmod({0}, {1})", "sigmoid": "(T)1 / (exp(-{0}) + (T)1)",
    "softplus": "larger({0}, (T)0) + log1p(exp(-fabs({0})))", "relu": "larger({0}, (T)0)", "maximum": "larger({0}, {1})",
    "minimum": "smaller({0}, {1})", "clamp": _clamp, "abs": "fabs({0})", "sign": "(T)(({0} > 0) - ({0} < 0))",
    "sgn": "(T)(({0} > 0) - ({0} < 0))", "floor": "floor({0})", "ceil": "ceil({0})", "trunc": "trunc({0})",
    "round": lambda decimals: "rint({0})" if decimals == 0 else None, "clone": "{0}", "zeros_like": "(T)0", "ones_like": "(T)1",
    "select": _select,
}  # fmt: skip
"""Of floating numbers of one dtype, to that dtype, which is T. {0} and {1} are operands; functions get the operation's parameters."""
QUESTIONS: dict[str, Expression] = {
    "eq": "{0} == {1}", "ne": "{0} != {1}", "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}",
    "isnan": "isnan({0})", "isinf": "isinf({0})", "isfinite": "isfinite({0})", "logical_and": "{0} != 0 && {1} != 0",
    "logical_or": "{0} != 0 || {1} != 0", "logical_xor": "({0} != 0) != ({1} != 0)", "logical_not": "{0} == 0",
}  # fmt: skip
"""Of floating numbers, to yes or no."""
LOGIC: dict[str, Expression] = {
    "eq": "{0} == {1}", "ne": "{0} != {1}", "logical_and": "{0} && {1}", "logical_or": "{0} || {1}", "logical_xor": "{0} != {1}",
    "logical_not": "!{0}", "bitwise_and": "{0} && {1}", "bitwise_or": "{0} || {1}", "bitwise_xor": "{0} != {1}", "bitwise_not": "!{0}",
    "clone": "{0}",
}  # fmt: skip
"""Of yes and no."""


def number(value: Any) -> str:
    """A Python number in C, exactly."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NAN" if value != value else "INFINITY" if value > 0 else "(-INFINITY)"
    return f"({float(value)!r})"


def expression(program: Program, instruction: Instruction) -> str | None:
    """An instruction as an expression in C, in which {0}, {1}, … stand for its operands; None for what cannot be in a kernel.

    Operands that are arrays have one dtype (the branches of `where` too), so nothing is converted but by `cast` and `overwrite`.
    """
    primitive, params = instruction.primitive, instruction.params
    if primitive.outputs != 1 or len(instruction.reads()) != sum(type(o) is int for o in instruction.operands):
        return None
    made = program.types[instruction.outputs[0]]
    given = [program.types[o] if type(o) is int else o for o in instruction.operands]
    numbers = [o.value for o in given if type(o) is Literal]
    if any(type(v) is complex or (type(v) is int and abs(v) > 2**53) for v in numbers):
        return None  # a larger integer is no exact number in C
    dtypes = [t.dtype for t in given if type(t) is Type and not t.number]
    if not dtypes or any(d.name not in C_TYPES for d in (*dtypes, made.dtype)):
        return None
    if primitive.name == "cast":
        return f"({C_TYPES[made.dtype.name]}){{0}}"
    if primitive.name == "overwrite":
        return f"({C_TYPES[made.dtype.name]}){{1}}"
    arms = dtypes
    if primitive.name == "where":
        if type(given[0]) is not Type or given[0].number or dtypes[0].kind != "b":
            return None
        arms = [*dtypes[1:], made.dtype]
    if any(d != arms[0] for d in arms) or (arms[0].kind == "b" and any(type(v) is not bool for v in numbers)):
        return None
    if primitive.name == "where":
        return "{0} ? (T){1} : (T){2}".replace("T", C_TYPES[made.dtype.name])
    table = LOGIC if arms[0].kind == "b" else FUNCTIONS if made.dtype == arms[0] else QUESTIONS if made.dtype.kind == "b" else {}
    found = table.get(primitive.name)
    text = found(**params) if callable(found) else found
    if primitive.name == "pow_tensor" and type(given[1]) is Literal:
        text = _power(given[1].value)  # type: ignore[arg-type]  # no complex number comes so far
    return None if text is None else text.replace("(T)", f"({C_TYPES[arms[0].name]})")


def _operand(program: Program, instruction: Instruction, operand: Operand, names: dict[int, str]) -> str:
    """An operand in C. Python numbers, and those that each run reads anew, take the dtype of the array that they meet."""
    if type(operand) is int and not program.types[operand].number:
        return names[operand]
    arrays = [program.types[o].dtype for o in instruction.operands if type(o) is int and not program.types[o].number]
    made = program.types[instruction.outputs[0]].dtype
    dtype = made if instruction.primitive.name in ("where", "overwrite") else arrays[0]
    return f"({C_TYPES[dtype.name]})" + (number(operand.value) if type(operand) is Literal else names[operand])


# ------------------------------------------------------------------------------------------------------------------- the kernel


class Fused(Primitive):
    """Some instructions as one operation of a program of its own: no entry of the registry, and without derivatives.

    inputs: numbers of the values that it reads, outputs: of those that it makes; operation: its body in C.
    """

    def __init__(self, program: Program, members: Sequence[Instruction], reads: Sequence[int], makes: Sequence[int]) -> None:
        names = {n: f"a{i}" for i, n in enumerate(reads)}
        results = {n: f"r{i}" for i, n in enumerate(makes)}
        lines: list[str] = []
        for instruction in members:
            n = instruction.outputs[0]
            text = expression(program, instruction)
            assert text is not None
            operands = [_operand(program, instruction, o, names) for o in instruction.operands]
            names[n] = f"v{len(lines)}"
            lines.append(f"const {C_TYPES[program.types[n].dtype.name]} {names[n]} = {text.format(*operands)};")
        lines += [f"{results[n]} = {names[n]};" for n in makes]
        dtypes = ["float64" if program.types[n].number else program.types[n].dtype.name for n in reads]
        self.in_params = ", ".join(f"{dtype} a{i}" for i, dtype in enumerate(dtypes))
        self.out_params = ", ".join(f"{program.types[n].dtype.name} {results[n]}" for n in makes)
        self.operation = "\n".join(lines)
        self.kernel: Any = None
        self.name = "_".join(["fused", *dict.fromkeys(i.primitive.name for i in members)][:6])
        self.kind, self.inputs, self.keywords, self.outputs = "fused", tuple(f"a{i}" for i in range(len(reads))), (), len(makes)
        self.variadic = self.view = self.conjugates = self.fills = self.elementwise = False
        self.forward = self.direct = self._launch
        self.promote, self.differentiable, self.accumulates = None, (False,) * len(makes), False

    def _launch(self, xp: Any, *operands: Any) -> Any:
        """Results in new memory: one array, or a tuple."""
        if self.kernel is None:
            self.kernel = backend.load_cupy().ElementwiseKernel(
                self.in_params, self.out_params, self.operation, self.name, options=("--fmad=false",), preamble=HELPERS
            )
        return self.kernel(*operands)

    @property
    def text(self) -> str:
        """What the kernel does to each element, as it is given to CuPy."""
        body = self.operation.replace("\n", "\n    ")
        return f"{self.name}({self.in_params}) -> ({self.out_params}) {{\n    {body}\n}}\n"


# --------------------------------------------------------------------------------------------------------------------- chains


class _Chain:
    """Instructions (their places in the program) that may become one kernel. open: nobody else has read one of their results yet."""

    __slots__ = ("kind", "members", "open")

    def __init__(self, members: list[int], kind: Any) -> None:
        self.members, self.kind, self.open = members, kind, True


def groups(program: Program) -> list[list[int]]:
    """Places of instructions that can run together, at the place of their last: chains of two or more, of one shape and device.

    An instruction joins the chains whose results it reads. Whoever else reads one ends the chain, because the kernel must then have run.
    So up to its last member nobody waits for a chain, and nothing that a member reads depends on the chain by another way: no order of
    the program is broken. Views, draws, and what has no expression stay as they are.
    """
    readers = _readers(program)
    chain_of: dict[int, _Chain] = {}
    for at, instruction in enumerate(program.instructions):
        read = {id(c): c for n in instruction.reads() if (c := chain_of.get(n)) is not None and c.open}.values()
        made = program.types[instruction.outputs[0]] if instruction.outputs else None
        if made is None or expression(program, instruction) is None:
            for chain in read:
                chain.open = False
            continue
        kind = made.shape, made.device
        joined = [c for c in read if c.kind == kind]
        members = sorted([at, *(m for c in joined for m in c.members)])
        reads, makes = _interface(program, members, readers)
        if len(members) > LONGEST or len(reads) + len(makes) > ARGUMENTS:
            joined, members = [], [at]
        for chain in read:
            if chain not in joined:
                chain.open = False
        merged = _Chain(members, kind)
        for m in members:
            chain_of[program.instructions[m].outputs[0]] = merged
    return [chain.members for chain in {id(c): c for c in chain_of.values()}.values() if len(chain.members) > 1]


def _readers(program: Program) -> dict[int, list[int]]:
    """For each value the places of the instructions that read it; the place after the last one reads all that lives on."""
    found: dict[int, list[int]] = {n: [len(program.instructions)] for n in program.kept()}
    for n, at, _ in program.edges():
        found.setdefault(n, []).append(at)
    return found


def _interface(program: Program, members: Sequence[int], readers: dict[int, list[int]]) -> tuple[list[int], list[int]]:
    """What these instructions read that they do not make, and what they make that others need."""
    inside = set(members)
    made = dict.fromkeys(program.instructions[m].outputs[0] for m in members)
    reads = dict.fromkeys(n for m in members for n in program.instructions[m].reads())
    return [n for n in reads if n not in made], [n for n in made if any(at not in inside for at in readers.get(n, ()))]


def fused(program: Program) -> Program:
    """The program with its element-wise chains as one instruction each. Raises DeviceError unless all values are on one CUDA device."""
    cuda_device(program, "fused")
    readers, chains = _readers(program), groups(program)
    inside = {m for members in chains for m in members}
    last = {members[-1]: members for members in chains}
    made: list[Instruction] = []
    for at, instruction in enumerate(program.instructions):
        if at in last:
            reads, makes = _interface(program, last[at], readers)
            if makes:  # else nobody needs it
                kernel = Fused(program, [program.instructions[m] for m in last[at]], reads, makes)
                made.append(Instruction(kernel, tuple(reads), {}, tuple(makes), instruction.phase))
        elif at not in inside:
            made.append(instruction)
    return renumbered(program, made, {}, None, program.constants)


def kernels(program: Program) -> list[Fused]:
    """The kernels of a program that `fused` made, in order."""
    return [i.primitive for i in program.instructions if isinstance(i.primitive, Fused)]


def cuda_device(program: Program, what: str) -> str:
    """The one CUDA device on which all arrays of a program are. Raises DeviceError where there is none."""
    devices = {kind.device for kind in program.types if not kind.number}
    if len(devices) != 1 or not next(iter(devices)).startswith("cuda"):
        where = ", ".join(sorted(devices)) or "none"
        raise DeviceError(f"{what}: needs all values on one CUDA device; this program's are on {where}. Move them with .to(device).")
    return devices.pop()
