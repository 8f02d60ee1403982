"""Long runs of operations on single numbers, computed by an interpreter.

    row    word  a  b  c  to  narrow
    0      sin   1  0  0  4   0            v[4] = sin(v[1])
    1      *     4  2  0  5   0            v[5] = v[4] * v[2]

NumPy takes some 50 to 400 ns for an operation on one number, nearly all of it to begin. Compiled as
straight lines such a program would be fast, but a compiler takes seconds for a thousand of them. So
its operations become rows of integers, and one loop, which Numba compiles once for all programs,
reads a row after another. The loop is generated from the words of scalar expressions (scalar.py).

Numbers are float64; after an operation on float32 a number is rounded to that. So sums, products,
quotients and roots have the bits of the operations; functions such as sin are the C library's,
which differ from NumPy's by a few units of the last place. Booleans are 0 and 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..backend import numpy
from ..scalar import BITS, FUNCTIONS, QUESTIONS, Term, arity, written
from .fused import Language, Scalar, scalar_of
from .generated_kernel import Generated
from .instructions import Instruction, Literal
from .kernel_files import compiled
from .passes import renumbered
from .row_groups import Sources, live_values, summed

if TYPE_CHECKING:
    from .program import Program

SHORTEST = 16
"""Operations from which on a run is interpreted."""
SHOWN = 60
"""Rows that the text of a run shows."""
WORDS = ["number", "truth", *sorted(FUNCTIONS | QUESTIONS | BITS | {*"+-*/", "**", "neg"})]
"""All words that the interpreter knows; the number of one is its place. `number` gives what it is
given, and `truth` whether that is not 0."""
SPELT = {
    "number": "{}", "truth": "{} != 0", "where": "{1} if {0} != 0 else {2}", "not": "{} == 0",
    "~": "{} == 0", "and": "{} != 0 and {} != 0", "or": "{} != 0 or {} != 0",
    "&": "{} != 0 and {} != 0", "|": "{} != 0 or {} != 0", "^": "({} != 0) != ({} != 0)",
    "xor": "({} != 0) != ({} != 0)", "maximum": "{0} if {0} > {1} or {0} != {0} else {1}",
    "minimum": "{0} if {0} < {1} or {0} != {0} else {1}", "round": "rint({})", "abs": "abs({})",
    "asin": "arcsin({})", "acos": "arccos({})", "atan": "arctan({})",
    "atan2": "arctan2({}, {})", "asinh": "arcsinh({})", "acosh": "arccosh({})",
    "atanh": "arctanh({})",
}  # fmt: skip


def _text(word: str) -> str:
    """What a row with a word computes, in Python."""
    return written((word, *"abc"[: arity(word)]), SPELT, str)


_CALLED = {name for word in WORDS for name in re.findall(r"(\w+)\(", _text(word))}
FROM_NUMPY = sorted({"nan", *_CALLED} - {"abs", "erf", "erfc"})
HEAD = f"""from math import erf, erfc
from numba import njit, float32 as f32, float64 as f64
from numpy import (
    {", ".join(FROM_NUMPY)}
)
"""
LANGUAGE = Language(
    {"float32": "f32", "float64": "f64", "bool": "truth"},
    "{}({})",
    SPELT,
    ("nan", "inf"),
    frozenset(WORDS),
)


def interpreter() -> str:
    """The text of the loop."""
    lines = ["def kernel(code, v):", "    for i in range(code.shape[0]):"]
    lines += [f"        {name} = v[code[i, {k + 1}]]" for k, name in enumerate("abc")]
    lines.append("        word = code[i, 0]")
    for number, word in enumerate(WORDS):
        lines.append(f"        {'el' if number else ''}if word == {number}:  # {word}")
        lines.append(f"            r = f64({_text(word)})")
    lines += ["        else:", "            r = f64(nan)"]
    lines.append("        v[code[i, 4]] = f64(f32(r)) if code[i, 5] else r")
    return "\n".join(lines) + "\n"


class ScalarRun(Generated):
    """A run of operations on single numbers, as rows for the interpreter. code: the rows; start:
    the numbers before the first one, constants among them; slots: where operands are put, and
    where results are found."""

    def __init__(
        self, program: Program, sources: Sources, members: Sequence[Instruction], makes: set[int]
    ) -> None:
        super().__init__(program, sources, members, makes)
        rows = _Rows(program, sources, self.reads)
        for instruction in members:
            rows.add(instruction)
        self.code, self.start, slots = rows.placed(self.makes)
        self.slots = [slots[n] for n in (*self.reads, *self.makes)]

    @property
    def text(self) -> str:
        lines = []
        for word, *places, to, narrow in self.code.tolist():
            name = WORDS[word]
            term = (name, *(f"v[{p}]" for p in places[: arity(name)]))
            row = written(term, SPELT, str)
            lines.append(f"v[{to}] = {f'f32({row})' if narrow else row}")
        if len(lines) > SHOWN:
            half = SHOWN // 2
            lines[half:-half] = [f"# … {len(lines) - SHOWN} more …"]
        about = f"# {self.name}: {self.operations} operations, by the interpreter of numbers\n"
        return about + "\n".join(lines) + f"\n\n{interpreter()}"

    def function(self, scalars: frozenset[int], held: frozenset[int] = frozenset()) -> Any:
        run = compiled(HEAD, interpreter(), "an interpreter of scalar instructions")
        code, start, slots, count = self.code, self.start, self.slots, len(self.reads)

        def call(*arrays: Any) -> None:
            v = start.copy()
            for slot, operand in zip(slots[:count], arrays[:count], strict=True):
                v[slot] = operand.item() if hasattr(operand, "item") else operand
            run(code, v)
            for slot, out in zip(slots[count:], arrays[count:], strict=True):
                out[...] = v[slot]

        return call

    def compile(
        self, function: Any, scalars: frozenset[int], held: frozenset[int] = frozenset()
    ) -> None:
        from numba import typeof as found

        typeof: Any = found
        loop = compiled(HEAD, interpreter(), "an interpreter of scalar instructions")
        loop.compile((typeof(self.code), typeof(self.start)))


class _Rows:
    """Writes rows. Each row makes a number of its own; `placed` then gives numbers that are not
    needed at once one slot."""

    def __init__(self, program: Program, sources: Sources, reads: Sequence[int]) -> None:
        self.program, self.sources = program, sources
        self.numbers = {n: k for k, n in enumerate(reads)}  # of the values
        self.constants: dict[Any, int] = {}
        self.rows: list[tuple[int, list[int], int, bool]] = []
        self.count = len(reads)

    def add(self, instruction: Instruction) -> None:
        """The rows of an instruction."""
        made = instruction.outputs[0]
        dtype = self.program.types[made].dtype.name
        found = scalar_of(self.program, instruction, LANGUAGE)
        if found is None:  # a sum of one number
            self.numbers[made] = self._row("number", [self._value(instruction.reads()[0])], dtype)
        elif isinstance(found.term, str):
            word = "truth" if dtype == "bool" else "number"
            self.numbers[made] = self._row(word, [self._leaf(found, found.term, False)], dtype)
        else:
            self.numbers[made] = self._term(found, found.term)

    def _term(self, found: Scalar, term: Term) -> int:
        if not isinstance(term, tuple):
            return self._leaf(found, term, found.converts(term))
        places = [self._term(found, part) for part in term[1:]]
        return self._row(term[0], places, found.dtype.name)

    def _leaf(self, found: Scalar, part: Any, converts: bool) -> int:
        """A name or a number of a term, in the dtype of the term."""
        operand = found.operand(part)
        if type(operand) is Literal:
            kind = "float64" if found.dtype.name == "bool" else found.dtype.name
            value = float(numpy.dtype(kind).type(operand.value))
            key = repr(value)
            if key not in self.constants:
                self.constants[key] = self._new()
            return self.constants[key]
        place = self._value(operand)
        return self._row("number", [place], found.dtype.name) if converts else place

    def _value(self, number: int) -> int:
        return self.numbers[self.sources.of(number)[0]]

    def _row(self, word: str, places: list[int], dtype: str) -> int:
        made = self._new()
        self.rows.append((WORDS.index(word), places, made, dtype == "float32"))
        return made

    def _new(self) -> int:
        self.count += 1
        return self.count - 1

    def placed(self, makes: Sequence[int]) -> tuple[Any, Any, dict[int, int]]:
        """The rows as integers, the numbers before the first one, and the slot of each value that
        is read from outside or kept."""
        kept = {self.numbers[n] for n in makes}
        last = {place: at for at, (_, places, _, _) in enumerate(self.rows) for place in places}
        before = self.count - len(self.rows)
        computed = {made for _, _, made, _ in self.rows}
        first = [n for n in range(self.count) if n not in computed]
        slot = {number: k for k, number in enumerate(first)}
        free: list[int] = []
        size = before
        code = numpy.zeros((len(self.rows), 6), "uint32")
        for at, (word, places, made, narrow) in enumerate(self.rows):
            code[at, 1 : 1 + len(places)] = [slot[p] for p in places]
            free += [slot[p] for p in {*places} if last[p] == at and p not in kept]
            if not free:
                free.append(size)
                size += 1
            slot[made] = free.pop()
            code[at, 0], code[at, 4], code[at, 5] = word, slot[made], narrow
            if made not in last and made not in kept:
                free.append(slot[made])
        start = numpy.zeros(size, "float64")
        for text, number in self.constants.items():
            start[slot[number]] = float(text)
        values = {n: slot[place] for n, place in self.numbers.items() if place in slot}
        return code, start, values


# --------------------------------------------------------------------------------- the program


def with_scalar_runs(program: Program) -> Program:
    """The program with each long run of operations on single numbers as one instruction."""
    sources = Sources(program)
    run_of = _runs(program, sources)
    if not run_of:
        return program
    members_of = {at: run[0] for at, run in run_of.items() if at not in sources.views}
    live = live_values(program, sources, members_of)
    made: list[Instruction] = []
    for at, instruction in enumerate(program.instructions):
        run = run_of.get(at)
        if run is not None and at == run[0]:
            members = [program.instructions[m] for m in run if m not in sources.views]
            made += ScalarRun(program, sources, members, live).call(instruction.phase)
            views = [program.instructions[m] for m in run if m in sources.views]
            made += [view for view in views if view.outputs[0] in live]
        elif run is None and (at not in sources.views or instruction.outputs[0] in live):
            made.append(instruction)
    return renumbered(program, made, {}, None, program.constants)


def _runs(program: Program, sources: Sources) -> dict[int, list[int]]:
    """For each place in a long run of neighbours that are on single numbers, the run."""
    runs: list[list[int]] = [[]]
    for at, instruction in enumerate(program.instructions):
        if _is_on_numbers(program, sources, at, instruction):
            runs[-1].append(at)
        elif runs[-1]:
            runs.append([])
    long = [r for r in runs if sum(at not in sources.views for at in r) >= SHORTEST]
    return {at: run for run in long for at in run}


def _is_on_numbers(program: Program, sources: Sources, at: int, instruction: Instruction) -> bool:
    """Whether an instruction makes one number of others, and the interpreter knows how."""
    types, reads = program.types, instruction.reads()
    if len(instruction.outputs) != 1 or instruction.is_run_always() or not reads:
        return False
    made = types[instruction.outputs[0]]
    if any(math.prod(types[n].shape) != 1 for n in (*reads, instruction.outputs[0])):
        return False
    if made.device != "cpu" or made.dtype.name not in LANGUAGE.types:
        return False
    if at in sources.views:
        return True
    if summed(program, instruction) is not None:
        return types[reads[0]].dtype == made.dtype
    return scalar_of(program, instruction, LANGUAGE) is not None
