"""Chains of element-wise operations as one kernel each, for programs whose values are on a CUDA
device.

Each operation that CuPy runs reads its operands from the device's memory and writes its result
there. A chain such as g · (1 − y · y) does that three times, and each time Python starts a kernel.
One kernel for the whole chain reads g and y once, keeps what lies between in registers, and writes
once.

`groups` finds the chains: logic on the list of instructions alone. `expression` writes the scalar
expression that an operation declares in C, with NumPy's answers for NaN, ties and kinks. `Fused` is
the kernel, with its text (`program.fused().source()`). `fused` puts the two together.

It is used only where it is asked for (minigrad/design/0006 has figures). Products and sums are
rounded one by one, as separate kernels round them (`--fmad=false`); functions such as exp are the
same calls that CuPy's own kernels make. Like all kernels that CuPy compiles, these may take
denormal float32 numbers for 0.

Source: CuPy's documentation of `cupy.ElementwiseKernel`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

from .. import backend, scalar
from ..backend import DType
from ..errors import DeviceError
from .generated_kernel import KernelOperation
from .instructions import Instruction, Literal
from .passes import renumbered

if TYPE_CHECKING:
    from .program import Program

ARGUMENTS = 24
"""Arrays that one kernel reads and writes at most: CUDA gives a kernel 4 KiB for its arguments,
shapes and strides included.
"""
LONGEST = 100
"""Operations in one kernel at most."""
C_TYPES = {"float32": "float", "float64": "double", "bool": "bool"}

# ---------------------------------------------------------------------------------- operations in C

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
"""Functions that the expressions call. Of two numbers of which one is NaN, the larger and the
smaller one is NaN.
"""


SPELT = {
    "neg": "-{}", "**": "pow({}, {})", "abs": "fabs({})", "maximum": "larger({}, {})",
    "minimum": "smaller({}, {})",
    "logaddexp": "sum_of_exponentials({}, {})", "round": "rint({})", "where": "{} ? {} : {}",
    "and": "{} && {}", "or": "{} || {}",
    "xor": "({} != 0) != ({} != 0)", "not": "!{}", "~": "!{}",
}  # fmt: skip
"""The words of scalar expressions that C spells in another way; `~` of booleans only."""


@final
class Language:
    """How a language spells scalar expressions: names of the dtypes, a cast (with {} for the type
    and {} for the value), the words that are not spelt as in Python, NaN and infinity. words: the
    only ones that kernels in it use (None: all that it can spell)."""

    def __init__(
        self,
        types: Mapping[str, str],
        cast: str,
        spelt: Mapping[str, str],
        special: tuple[str, str],
        words: frozenset[str] | None = None,
    ) -> None:
        self.types, self.cast, self.spelt, self.words = types, cast, spelt, words
        self.nan, self.infinity = special

    def number(self, value: Any) -> str:
        """A Python number, exactly."""
        if isinstance(value, float) and not math.isfinite(value):
            sign = "" if value > 0 else "-"
            return self.nan if value != value else f"({sign}{self.infinity})"
        return f"({float(value)!r})"


C = Language(C_TYPES, "({}){}", SPELT, ("NAN", "INFINITY"))


@final
class Scalar:
    """An instruction as a scalar expression: term, the dtype in which it is computed; given: the
    operands by the names that the term has for them; arrays: the dtypes of those that are arrays.
    """

    def __init__(
        self, term: scalar.Term, dtype: DType, given: dict[str, Any], arrays: dict[str, DType]
    ) -> None:
        self.term, self.dtype, self.given, self.arrays = term, dtype, given, arrays

    def operand(self, part: str | int | float) -> Any:
        """What a name or a number in the term stands for: the number of a value, or a Literal."""
        return self.given[part] if isinstance(part, str) else Literal(part)

    def converts(self, part: str | int | float) -> bool:
        """Whether a part is not yet of the dtype: a Python number, or what `cast` is given."""
        return part not in self.arrays or isinstance(self.term, str)


def scalar_of(program: Program, instruction: Instruction, language: Language) -> Scalar | None:
    """An instruction as a scalar expression; None for what cannot be in a kernel.

    Operands that are arrays have one dtype (the branches of `where` too), so nothing is converted
    but by a bare name, as in `cast`. Python numbers, and those that each run reads again, take the
    dtype of the arrays that they meet.
    """
    primitive, operands = instruction.primitive, instruction.operands
    if primitive.scalar is None or len(instruction.reads()) != sum(
        type(o) is int for o in operands
    ):
        return None
    made = program.types[instruction.outputs[0]].dtype
    given = dict(zip(primitive.inputs, operands, strict=True))
    numbers = {name: o.value for name, o in given.items() if type(o) is Literal}
    arrays = {
        name: program.types[o].dtype
        for name, o in given.items()
        if type(o) is int and not program.types[o].number
    }
    if any(type(v) is complex or (type(v) is int and abs(v) > 2**53) for v in numbers.values()):
        return None  # a larger integer is no exact number in C
    if not arrays or any(d.name not in language.types for d in (*arrays.values(), made)):
        return None
    term = scalar.term_of(
        primitive.scalar,
        instruction.params,
        {n: v for n, v in numbers.items() if type(v) is not bool},
    )
    dtype = None if term is None else _dtype_of(term, arrays, made, numbers)
    if term is None or dtype is None:
        return None
    if language.words is not None and not language.words.issuperset(scalar.words(term)):
        return None
    return Scalar(term, dtype, given, arrays)


def expression(
    program: Program,
    instruction: Instruction,
    names: Mapping[int, str] | None = None,
    language: Language = C,
) -> str | None:
    """An instruction as an expression in C, or another language; None for what cannot be in a
    kernel. names: of the values (default: v0, v1, …)."""
    found = scalar_of(program, instruction, language)
    if found is None:
        return None
    kind = language.types[found.dtype.name]

    def leaf(part: str | int | float) -> str:
        operand = found.operand(part)
        if type(operand) is Literal:
            return language.cast.format(kind, language.number(operand.value))
        text = names[operand] if names is not None else f"v{operand}"
        return language.cast.format(kind, text) if found.converts(part) else text

    return scalar.written(found.term, language.spelt, leaf)


def _dtype_of(
    term: scalar.Term, arrays: Mapping[str, DType], made: DType, numbers: Mapping[str, Any]
) -> DType | None:
    """The dtype in which a term is computed; None where its operands have several."""
    if isinstance(term, str):
        return made
    found = dict(arrays)
    if isinstance(term, tuple) and term[0] == "where" and not isinstance(term[1], tuple):
        condition = found.pop(term[1], None)
        if condition is None or condition.kind != "b":
            return None
    dtypes = {*found.values()} if scalar.is_question(term) else {*found.values(), made}
    if len(dtypes) != 1 or (scalar.is_question(term) and made.kind != "b"):
        return None
    (dtype,) = dtypes
    on_booleans = scalar.LOGIC.issuperset(scalar.words(term)) and all(
        type(v) is bool for v in numbers.values()
    )
    return (
        dtype
        if (on_booleans if dtype.kind == "b" else scalar.BITS.isdisjoint(scalar.words(term)))
        else None
    )


# --------------------------------------------------------------------------------------- the kernel


class Fused(KernelOperation):
    """A kernel that CuPy compiles. operation: its body in C."""

    def __init__(
        self,
        program: Program,
        members: Sequence[Instruction],
        reads: Sequence[int],
        makes: Sequence[int],
    ) -> None:
        super().__init__(members, reads, makes, self._launch)
        names = dict(zip(reads, self.inputs, strict=True))
        results = {n: f"r{i}" for i, n in enumerate(makes)}
        lines: list[str] = []
        for instruction in members:
            n = instruction.outputs[0]
            text = expression(program, instruction, names)
            names[n] = f"v{len(lines)}"
            lines.append(f"const {C_TYPES[program.types[n].dtype.name]} {names[n]} = {text};")
        lines += [f"{results[n]} = {names[n]};" for n in makes]
        dtypes = [
            "float64" if program.types[n].number else program.types[n].dtype.name for n in reads
        ]
        self.in_params = ", ".join(f"{dtype} a{i}" for i, dtype in enumerate(dtypes))
        self.out_params = ", ".join(f"{program.types[n].dtype.name} {results[n]}" for n in makes)
        self.operation = "\n".join(lines)
        self.launcher: Any = None

    def _launch(self, xp: Any, *operands: Any) -> Any:
        """Results in new memory: one array, or a tuple."""
        if self.launcher is None:
            self.launcher = backend.load_cupy().ElementwiseKernel(
                self.in_params,
                self.out_params,
                self.operation,
                self.name,
                options=("--fmad=false",),
                preamble=HELPERS,
            )
        return self.launcher(*operands)

    @property
    def text(self) -> str:
        """What the kernel does to each element, as it is given to CuPy."""
        body = self.operation.replace("\n", "\n    ")
        return f"{self.name}({self.in_params}) -> ({self.out_params}) {{\n    {body}\n}}\n"


# ------------------------------------------------------------------------------------------- chains


class _Chain:
    """Instructions (their places in the program) that may become one kernel. open: no instruction
    outside has read one of their results yet."""

    __slots__ = ("kind", "members", "open")

    def __init__(self, members: list[int], kind: Any) -> None:
        self.members, self.kind, self.open = members, kind, True


def groups(program: Program) -> list[list[int]]:
    """Places of instructions that can run together, at the place of their last: chains of two or
    more, of one shape and device.

    An instruction joins the chains whose results it reads. Any other reader ends the chain, because
    the kernel must then have run. So up to its last member no instruction waits for a chain, and
    nothing that a member reads depends on the chain through an instruction outside it: the order of
    the program is kept. Views, draws, and what has no expression stay as they are.
    """
    readers = program.readers()
    chain_of: dict[int, _Chain] = {}
    for at, instruction in enumerate(program.instructions):
        read = {
            id(c): c for n in instruction.reads() if (c := chain_of.get(n)) is not None and c.open
        }.values()
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
    return [
        chain.members
        for chain in {id(c): c for c in chain_of.values()}.values()
        if len(chain.members) > 1
    ]


def _interface(
    program: Program, members: Sequence[int], readers: dict[int, list[int]]
) -> tuple[list[int], list[int]]:
    """What these instructions read that they do not make, and what they make that others need."""
    inside = set(members)
    made = dict.fromkeys(program.instructions[m].outputs[0] for m in members)
    reads = dict.fromkeys(n for m in members for n in program.instructions[m].reads())
    return [n for n in reads if n not in made], [
        n for n in made if any(at not in inside for at in readers.get(n, ()))
    ]


def fused(program: Program) -> Program:
    """The program with its element-wise chains as one instruction each. Raises DeviceError
    unless all values are on one CUDA device.
    """
    cuda_device(program, "fused")
    readers, chains = program.readers(), groups(program)
    inside = {m for members in chains for m in members}
    last = {members[-1]: members for members in chains}
    made: list[Instruction] = []
    for at, instruction in enumerate(program.instructions):
        if at in last:
            reads, makes = _interface(program, last[at], readers)
            members = [program.instructions[m] for m in last[at]]
            made += Fused(program, members, reads, makes).call(instruction.phase)
        elif at not in inside:
            made.append(instruction)
    return renumbered(program, made, {}, None, program.constants)


def cuda_device(program: Program, what: str) -> str:
    """The one CUDA device on which all arrays of a program are. Raises DeviceError where there
    is none.
    """
    devices = {kind.device for kind in program.types if not kind.number}
    if len(devices) != 1 or not next(iter(devices)).startswith("cuda"):
        where = ", ".join(sorted(devices)) or "none"
        raise DeviceError(
            f"{what}: needs all values on one CUDA device; this program's are on {where}. Move them"
            " with .to(device)."
        )
    return devices.pop()
