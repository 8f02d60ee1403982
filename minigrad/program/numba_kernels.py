"""Blocks of a program as kernels: Python text that Numba compiles, for programs on the CPU.

    def kernel(a0, a1, r2, r3):
        for i in range(1000):
            ...
            for j in range(columns):
                v5 = a0[b + j] + a1[j]

`row_groups.py` finds the blocks; here each is written as a loop. (Long runs of operations on single
numbers are taken out before: scalar_code.py.) The scalar expressions are those
from which CUDA C is written (fused.py), spelt in Python. Neighbouring blocks are one function. In a
row there is one pass over its elements for each level of sums; element-wise values are computed
again in each pass and not stored, but for exponentials, which a scratch row keeps. Rows of few
elements are written out, element by element.

What is not exact is the same as everywhere in the library: sums are taken in another order
(float32 in float64), and `exp` and `erf` of float32 have an error of up to 2 units of the last
place. All other results have the bits of the plain program, NaN, infinities and signs of zeros
included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .composites import taken_apart
from .fused import Language, expression
from .generated_kernel import Generated
from .instructions import Instruction
from .joined_convolutions import with_joined_convolutions
from .kernel_files import compiled, need_numba
from .passes import renumbered
from .recomputation import with_values_computed_again
from .row_groups import (
    Block,
    Finder,
    Sources,
    is_costly,
    kind_of,
    live_values,
    summed,
    with_early_sums,
)
from .scalar_code import with_scalar_runs
from .window_kernels import WindowKernel, is_window

if TYPE_CHECKING:
    from .program import Program

ARGUMENTS = 40
"""Arrays that one function reads and writes at most."""
WRITTEN_OUT = 8
"""Rows of up to so many elements are written out where they are summed."""
MANY = 4096
"""Elements of an array from which on several rows are taken at once."""
AT_ONCE = 256
"""Elements of the long row that rows of less than half as many are taken for, where each row is
treated alike. LLVM computes several at once only within a loop, and a short one is hardly entered
when it is left again."""
SCRATCH = 32_768
"""Elements of a row up to which its exponentials are stored: 128 KiB, which a cache holds."""
WORDS = """
    + - * / neg sqrt abs maximum minimum where == != < <= > >= and or not xor isnan floor ceil trunc
    """
NUMBA = Language(
    {"float32": "f32", "float64": "f64", "bool": "truth"},
    "{}({})",
    {
        "sqrt": "sqrt({})", "exp": "exp32({})", "maximum": "larger({}, {})",
        "minimum": "smaller({}, {})", "where": "{1} if {0} else {2}", "isnan": "isnan({})",
        "xor": "({} != 0) != ({} != 0)", "not": "not {}", "and": "{} and {}", "or": "{} or {}",
        "floor": "floor({})", "ceil": "ceil({})", "trunc": "trunc({})", "log": "log({})",
        "erf": "erf32({})",
    },
    ("nan", "inf"),
    frozenset([*WORDS.split(), "exp", "log", "erf"]),
)  # fmt: skip
HEAD = """from numba import boolean, njit, float32 as f32, float64 as f64, uint64
from numpy import ceil, empty, floor, inf, isnan, log, nan, sqrt, trunc, zeros
from minigrad.program.numba_functions import (
    LEAST, any_order, array_at, erf32, exp32, larger, most, number32, order32, smaller, truth
)
"""


ELEMENTS = {"float32": "f32", "float64": "f64", "bool": "boolean"}


class NumbaKernel(Generated):
    """Blocks of a program as one function."""

    finds_arrays = True

    def __init__(self, program: Program, blocks: Sequence[Block], makes: set[int]) -> None:
        sources = Sources(program)
        members = [program.instructions[m] for b in blocks for m in b.members]
        super().__init__(program, sources, members, makes)
        lines: list[str] = []
        for block in blocks:
            lines += _BlockText(program, sources, block, self.arrays, self.makes).lines()
        self.body = lines

    def source(self, scalars: frozenset[int], held: frozenset[int] = frozenset()) -> str:
        """The function's text. scalars, held: as in `function`."""
        heads, parameters = [], ["table"] if held else []
        for k, (n, name) in enumerate(self.arrays.items()):
            if k in held:
                at = sum(j < k for j in held)
                kind = ELEMENTS[self.types[n].dtype.name]
                text = f"array_at(table, {at}, {kind})"
                heads.append(f"{name} = ({text}[0],)" if k in scalars else f"{name} = {text}")
                continue
            parameters.append(f"p{k}")
            text = f"f64(p{k})" if k < len(self.reads) and self.types[n].number else f"p{k}"
            heads.append(f"{name} = ({text},)" if k in scalars else f"{name} = {text}.ravel()")
        body = "\n    ".join([*heads, *self.body])
        return f"def kernel({', '.join(parameters)}):\n    {body}\n"

    @property
    def text(self) -> str:
        numbers = frozenset(k for k, n in enumerate(self.reads) if self.types[n].number)
        return f"# {self.name}\n{self.source(numbers)}"

    def function(self, scalars: frozenset[int], held: frozenset[int] = frozenset()) -> Any:
        return compiled(HEAD, self.source(scalars, held), self.name)


class _BlockText:
    """Writes one block as a loop."""

    def __init__(
        self,
        program: Program,
        sources: Sources,
        block: Block,
        arrays: dict[int, str],
        makes: Sequence[int],
    ) -> None:
        self.program, self.sources, self.block, self.arrays = program, sources, block, arrays
        self.cut, self.shape, self.sums = block.cut, block.shape, block.kinds
        self.members = [program.instructions[m] for m in block.members]
        self.made = {i.outputs[0]: i for i in self.members}
        self.places = {n: k for k, n in enumerate(self.made)}
        self.stored = [n for n in self.made if n in makes]
        self.kinds = {n: kind_of(program.types[n].shape, self.shape, self.cut) for n in self.made}
        for n in self.made:
            if self.kinds[n] == "one" and self.shape and self.cut[1] == 0:
                self.kinds[n] = "row"
        for n, kind in self.sums.items():
            self.kinds[n] = kind
        self.level: dict[int, int] = {}
        for n, i in self.made.items():
            before = max([self.level.get(m, 0) for m in sources.reads(i)], default=0)
            self.level[n] = before + (n in self.sums)
        row_sums = any(kind == "row" for kind in self.sums.values())
        self._loaded: set[str] = set()  # variables of a row that is written out
        self.in_pieces = self.cut[0] > 0
        self.written_out = row_sums and self.cut[1] > 0 and block.columns <= WRITTEN_OUT
        self._in_scratch: set[int] = set()  # values of this row that an earlier pass has stored
        fits = not (self.written_out or self.in_pieces) and block.columns <= SCRATCH
        self.scratched = self._exponentials() if fits else []
        self.at_once = self._rows_at_once()

    def _exponentials(self) -> list[int]:
        """The exponentials for which a scratch row pays: those that two passes need, and those
        that are summed. LLVM computes half as many at once in a loop that adds float64 numbers."""
        found: list[int] = []
        for level in self._levels():
            needed = self._needed(self._ends(level))
            found += needed * (2 if self._sums_after(level) else 1)
        return [
            n
            for n in dict.fromkeys(found)
            if found.count(n) > 1 and is_costly(self._expression(self.made[n], ""))
        ]

    def _rows_at_once(self) -> int:
        """How many rows one pass of the loop computes: several short ones of a large array, where
        no number belongs to one row alone."""
        numbers = {n for i in self.members for n in (*i.reads(), *i.outputs)}
        alike = all(self._operand(n)[1] != "row" for n in numbers)
        alike = alike and all(self.level[n] == (n in self.sums) for n in self.made)
        exact = any(self._is_exact(n) for n in self.sums)
        other = self.in_pieces or self.written_out or self.scratched or exact
        if other or not (alike and self.cut[1]):
            return 1
        large = self.block.rows * self.block.columns >= MANY
        return min(self.block.rows, AT_ONCE // self.block.columns) if large else 1

    def _several_rows(self) -> list[str]:
        """The loop over rows that are taken several at once, as a long one. Operands that are the
        same for each row are repeated. Sums over the rows are a loop by itself, which LLVM makes
        better code of."""
        operands = dict.fromkeys(map(self._operand, (n for i in self.members for n in i.reads())))
        repeated = [root for root, kind in operands if kind == "column" and root not in self.made]
        goals, sums = self._goals(0), self._sums_after(0)
        columns = [n for n in sums if self.sums[n] == "column"]
        sources = {n: self._operand(self.made[n].reads()[0]) for n in columns}
        kept = [m for m, _ in dict.fromkeys(sources.values()) if m in self.made and m not in goals]
        lines = []
        for root in repeated:
            row = self._repeated(root)
            lines.append(f"{row} = {self._new_row(root)}")
            lines += self._each_row(f"{row}[i * columns + j] = {self.arrays[root]}[j]")
        lines += [f"{self._scratch(n)} = {self._new_row(n)}" for n in kept]
        inside = self._element(
            self._needed(self._ends(0)), goals, [n for n in sums if n not in columns], "j"
        )
        inside += [f"{self._scratch(n)}[j] = {self._value(n)}" for n in kept]
        added = []
        for n, (root, kind) in sources.items():
            if root in kept:
                term = f"{self._scratch(root)}[j]"
            elif kind == "full":
                term = f"{self.arrays[root]}[b + j]"
            elif kind == "column":
                term = f"{self._repeated(root)}[j]"
            else:
                term = self._local(self.made[n].reads()[0], "")
            added.append(f"{self._sum(n)}[j] += f64({term})")
        lines.append(f"size = columns * uint64({self.block.rows})")
        lines.append("for b in range(uint64(0), size, several):")
        for loop in filter(None, (inside, added)):
            lines.append("    for j in range(min(several, size - b)):")
            lines += [f"        {line}" for line in loop]
        return lines

    def _new_row(self, number: int) -> str:
        """Memory for the elements of a value in the rows that are taken at once."""
        return f"empty(several, {ELEMENTS[self.program.types[number].dtype.name]})"

    def _each_row(self, line: str, first: int = 0) -> list[str]:
        """A line for each element of the rows that are taken at once, from one of them on."""
        rows = f"range(uint64({first}), uint64({self.at_once}))"
        return [f"for i in {rows}:", "    for j in range(columns):", f"        {line}"]

    def _repeated(self, root: int) -> str:
        """The variable for an operand that is repeated."""
        return f"r{self.arrays[root][1:]}"

    def lines(self) -> list[str]:
        """The loop, with what comes before and after it."""
        rows, columns, pieces = self.block.rows, self.block.columns, self.block.pieces
        lines = [f"# {self.shape}, rows of {f'{pieces} · ' if self.in_pieces else ''}{columns}"]
        full = self._an_array()
        known = full is None or self.written_out
        size = str(columns) if known else f"{full}.size // {rows * pieces}"
        lines.append(f"columns = uint64({size})")
        indent = ""
        if self.at_once > 1:
            lines[0] += f", {self.at_once} at once"
            lines.append(f"several = columns * uint64({self.at_once})")
        before, after = self._accumulators()
        lines += [*before, *self._once("one", "0")]
        if self.at_once > 1:
            return [*lines, *self._several_rows(), *after]
        lines.append("b = uint64(0)")
        if self.cut[1]:
            lines.append(f"for i in range(uint64({rows})):")
            indent = "    "
            lines += [] if self.in_pieces else [indent + "b = i * columns"]
            lines += [indent + line for line in self._once("row", "i")]
        else:
            lines.append("i = uint64(0)")
        lines += [indent + line for line in self._row()]
        return lines + after

    def _an_array(self) -> str | None:
        """An array with all elements of the block, by which LLVM does not know their number: short
        rows of a known length are unrolled, which is slower."""
        if self.block.rows * self.block.columns == 1:
            return None
        numbers = [*self.stored, *(n for i in self.members for n in i.reads())]
        full = [root for root, kind in map(self._operand, numbers) if kind == "full"]
        return next((self.arrays[n] for n in full if n in self.arrays), None)

    # ------------------------------------------------------------------------------- one row

    def _row(self) -> list[str]:
        lines: list[str] = []
        for level in self._levels():
            lines += self._row_values(level)
            lines += self._pass(level)
        return lines

    def _levels(self) -> range:
        return range(max(self.level.values(), default=0) + 1)

    def _row_values(self, level: int) -> list[str]:
        """What is one number for the row, once the sums of this level are known."""
        lines: list[str] = []
        for n, i in self.made.items():
            if self.kinds[n] != "row" or self.level[n] != level:
                continue
            if n in self.sums:
                lines.append(f"{self._value(n)} = {self._finished(i, self._sum(n))}")
            else:
                lines.append(f"{self._value(n)} = {self._expression(i, '')}")
            if n in self.stored:
                lines.append(f"{self.arrays[n]}[i] = {self._value(n)}")
        return lines

    def _pass(self, level: int) -> list[str]:
        """One pass over the elements of the row, for the sums of the next level and the results."""
        goals, sums = self._goals(level), self._sums_after(level)
        if not goals and not sums:
            return []
        needed = self._needed(self._ends(level))
        first: list[str] = []
        new = [n for n in needed if n in self.scratched and n not in self._in_scratch]
        if new and sums:
            first.append("for j in range(columns):")
            first += ["    " + line for line in self._element(self._needed(new), [], [], "j")]
            self._in_scratch.update(new)
            needed = self._needed(self._ends(level))
        rows = [n for n in sums if self.sums[n] == "row"]
        start = {n: "LEAST" if self._is_largest(n) else "f64(0.0)" for n in rows}
        lines = first + [f"{self._sum(n)} = {start[n]}" for n in rows]
        if self.written_out:
            lines = []
            for k in range(self.block.columns):
                lines += self._element(needed, goals, sums, str(k))
            return lines
        indent = "    "
        if self.in_pieces:
            lines.append(f"for p in range(uint64({self.block.pieces})):")
            lines.append(f"    b = (p * uint64({self.block.rows}) + i) * columns")
            indent = "        "
        lines.append(f"{indent[4:]}for j in range(columns):")
        lines += [indent + line for line in self._element(needed, goals, sums, "j")]
        self._in_scratch.update(new)
        return lines

    def _goals(self, level: int) -> list[int]:
        """The results with a number for each element that the pass at a level stores."""
        return [n for n in self.stored if self.kinds[n] == "full" and self.level[n] == level]

    def _sums_after(self, level: int) -> list[int]:
        """The sums that the pass at a level takes."""
        return [n for n in self.made if n in self.sums and self.level[n] == level + 1]

    def _ends(self, level: int) -> list[int]:
        """The values for which the pass at a level is made."""
        sources = [self.sources.reads(self.made[n])[0] for n in self._sums_after(level)]
        return [*self._goals(level), *sources]

    def _needed(self, goals: Sequence[int]) -> list[int]:
        """The element-wise values that these depend on, in order; what an earlier pass has stored
        depends on nothing."""
        wanted = {n for n in goals}
        for n in reversed(list(self.made)):
            if n in wanted and n not in self.sums and n not in self._in_scratch:
                wanted.update(self.sources.reads(self.made[n]))
        return [n for n in self.made if n in wanted and self.kinds[n] == "full"]

    def _element(
        self, needed: Sequence[int], goals: Sequence[int], sums: Sequence[int], at: str
    ) -> list[str]:
        """What is done for one element of the row."""
        suffix = f"_{at}" if self.written_out else ""
        lines: list[str] = []
        loaded = self._loaded if self.written_out else set()
        for n in needed:
            value = f"{self._value(n)}{suffix}"
            if value in loaded:
                continue
            loaded.add(value)
            if n in self._in_scratch:
                lines.append(f"{value} = {self._scratch(n)}[{at}]")
                continue
            lines += self._loads(self.made[n], at, loaded)
            lines.append(f"{value} = {self._expression(self.made[n], suffix)}")
            if n in self.scratched:
                lines.append(f"{self._scratch(n)}[{at}] = {value}")
        index = f"b + uint64({at})" if self.written_out else f"b + {at}"
        lines += [f"{self.arrays[n]}[{index}] = {self._value(n)}{suffix}" for n in goals]
        for n in sums:
            lines += self._loads(self.made[n], at, loaded)
            value = self._local(self.made[n].reads()[0], suffix)
            term, kind, total = f"f64({value})", self.sums[n], self._sum(n)
            if self._is_largest(n):
                if not self.written_out:
                    lines.append(f"{total} = most({total}, order32({value}))")
                else:
                    lines.append(f"{total} = {value if at == '0' else f'larger({total}, {value})'}")
            elif kind == "column" and not self.written_out:
                lines.append(f"{total}[{at}] += {term}")
            elif kind == "row" and self.written_out and at == "0":
                lines.append(f"{total} = {term}")
            else:
                total = f"{total}{suffix}" if kind == "column" else total
                free = not (self._is_exact(n) or (kind == "row" and self.written_out))
                lines.append(
                    f"{total} = any_order({total}, {term})" if free else f"{total} += {term}"
                )
        return lines

    def _loads(self, instruction: Instruction, at: str, loaded: set[str]) -> list[str]:
        """Read the operands that lie in arrays and differ from element to element."""
        lines = []
        place = f"uint64({at})" if self.written_out else at
        for n in instruction.reads():
            root, kind = self._operand(n)
            name = self._local(n, f"_{at}" if self.written_out else "")
            if root in self.made or kind not in ("full", "column") or name in loaded:
                continue
            loaded.add(name)
            index = f"b + {place}" if kind == "full" else place
            array = self._repeated(root) if kind == "column" and self.at_once > 1 else None
            lines.append(f"{name} = {array or self.arrays[root]}[{index}]")
        return lines

    def _once(self, kind: str, index: str) -> list[str]:
        """Read the operands of the block that are one number, or one for each row."""
        numbers = dict.fromkeys(n for i in self.members for n in i.reads())
        return list(
            dict.fromkeys(
                f"{self._local(n, '')} = {self.arrays[root]}[{index}]"
                for n in numbers
                for root, found in [self._operand(n)]
                if found == kind and root not in self.made
            )
        )

    def _operand(self, number: int) -> tuple[int, str]:
        """In which value's memory an operand lies, and its kind."""
        root, shape = self.sources.of(number)
        if root in self.made:
            return root, str(self.kinds[root])
        one = math.prod(shape) == 1
        return root, "one" if one else str(kind_of(shape, self.shape, self.cut))

    def _local(self, number: int, suffix: str) -> str:
        """The variable for an operand."""
        root, kind = self._operand(number)
        suffix = suffix if kind in ("full", "column") else ""
        if root in self.made:
            return f"{self._value(root)}{suffix}"
        return f"{'x' if kind == 'full' else kind[0]}{self.arrays[root][1:]}{suffix}"

    def _value(self, number: int) -> str:
        """The variable for a value that the block makes: equal blocks get equal texts."""
        return f"v{self.places[number]}"

    def _expression(self, instruction: Instruction, suffix: str) -> str:
        names = {n: self._local(n, suffix) for n in instruction.reads()}
        text = expression(self.program, instruction, names, NUMBA)
        assert text is not None
        made = NUMBA.types[self.program.types[instruction.outputs[0]].dtype.name]
        return f"{made}({text})"

    # ------------------------------------------------------------------------------------ sums

    def _is_largest(self, number: int) -> bool:
        """Whether a sum is none, but the largest element of a row."""
        return self.made[number].primitive.reduction == "largest"

    def _is_exact(self, number: int) -> bool:
        """Whether a sum is of float64 numbers, whose order is that of the text."""
        return self.program.types[number].dtype.name == "float64"

    def _sum(self, number: int) -> str:
        """The variable for a sum as it grows."""
        return f"{'s' if self.sums[number] == 'column' else 't'}{self.places[number]}"

    def _scratch(self, number: int) -> str:
        """The row in which a value is stored for a later pass."""
        return f"w{self.places[number]}"

    def _finished(self, instruction: Instruction, total: str) -> str:
        """A sum, or a mean, in its dtype."""
        kind = NUMBA.types[self.program.types[instruction.outputs[0]].dtype.name]
        about = summed(self.program, instruction)
        reduction = instruction.primitive.reduction
        if reduction == "largest" and not self.written_out:
            return f"number32({total})"
        if reduction != "mean" or about is None:
            return f"{kind}({total})"
        return f"{kind}({total}) / {kind}({math.prod(about[0][axis] for axis in about[1])})"

    def _accumulators(self) -> tuple[list[str], list[str]]:
        """What is made before the loop, and stored after it, for sums over its rows."""
        before = [f"{self._scratch(n)} = empty(columns, f32)" for n in self.scratched]
        after: list[str] = []
        for n, i in self.made.items():
            kind, out = self.sums.get(n), self.arrays.get(n)
            if kind == "column" and self.written_out:
                for j in range(self.block.columns):
                    before.append(f"{self._sum(n)}_{j} = f64(0.0)")
                    if out is not None:
                        after.append(f"{out}[{j}] = {self._finished(i, f'{self._sum(n)}_{j}')}")
            elif kind == "column":
                size = "several" if self.at_once > 1 else "columns"
                before.append(f"{self._sum(n)} = zeros({size})")
                if self.at_once > 1:
                    total = self._sum(n)
                    after += self._each_row(f"{total}[j] += {total}[i * columns + j]", first=1)
                if out is not None:
                    after.append("for j in range(columns):")
                    after.append(f"    {out}[j] = {self._finished(i, f'{self._sum(n)}[j]')}")
            elif kind == "total":
                before.append(f"{self._sum(n)} = f64(0.0)")
                if out is not None:
                    after.append(f"{out}[0] = {self._finished(i, self._sum(n))}")
        return before, after


# --------------------------------------------------------------------------------- the program


def with_kernels(program: Program) -> Program:
    """The program with its blocks as one instruction each, and neighbouring blocks as one function.

    Raises ProgramError where Numba is not installed.
    """
    need_numba()
    program = with_joined_convolutions(with_scalar_runs(program))
    program = with_early_sums(taken_apart(program, NUMBA), NUMBA)
    program = with_values_computed_again(program, NUMBA)
    found = Finder(program, NUMBA)
    blocks = {b.members[-1]: b for b in found.blocks()}
    block_of = {m: last for last, b in blocks.items() for m in b.members}
    live = live_values(program, found.sources, block_of)
    maker = {program.instructions[m].outputs[0]: last for m, last in block_of.items()}
    later: dict[int, list[Instruction]] = {}  # views of what a block makes, by its last member
    made: list[Instruction] = []
    pending: list[Block] = []

    def flush() -> None:
        if pending:
            kernel = NumbaKernel(program, pending, live)
            phase = program.instructions[pending[0].members[-1]].phase
            made.extend(kernel.call(phase))
            for block in pending:
                made.extend(later.pop(block.members[-1], ()))
            pending.clear()

    for at, instruction in enumerate(program.instructions):
        if at in blocks:
            if _arguments(program, found.sources, [*pending, blocks[at]]) > ARGUMENTS:
                flush()
            pending.append(blocks[at])
        elif at in found.sources.views:
            if instruction.outputs[0] in live:
                last = maker.get(found.sources.of(instruction.outputs[0])[0])
                emitted = last is None or (last < at and blocks[last] not in pending)
                (made if emitted else later.setdefault(int(last or 0), [])).append(instruction)
        elif at not in block_of:
            flush()
            windows = is_window(program, instruction)
            kernel = WindowKernel(program, instruction) if windows else None
            made += [instruction] if kernel is None else kernel.call(instruction.phase)
    flush()
    return renumbered(program, made, {}, None, program.constants)


def _arguments(program: Program, sources: Sources, blocks: Sequence[Block]) -> int:
    members = [program.instructions[m] for b in blocks for m in b.members]
    return len({n for i in members for n in (*sources.reads(i), *i.outputs)})
