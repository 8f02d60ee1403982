"""A program becomes straight-line Python: one line an instruction, results written into planned
buffers, everything else gone.

No dispatch, no checks, no wrapping, no graph: what remains is the sequence of NumPy calls that one
would write by hand, and `program.source()` shows it. Views of fixed buffers are made once, when
the buffers are; values that need fresh memory are deleted after their last reader. Long programs
are cut into parts, each a function, which hand values on in the list `v`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import backend
from ..errors import ProgramError
from ..ops.kernels import KernelCall, row_major
from ..ops.sums import FEW_TERMS
from .bindings import StateBinding, TensorBinding
from .generated_code import GeneratedCode
from .generated_kernel import Generated
from .instructions import Instruction, Literal, Ref, Type, map_params
from .kernels import lines_of, on_numbers
from .memory import Allocation, Facts, deaths, last_uses
from .passes import SMALL

if TYPE_CHECKING:
    from .effects_code import Effects
    from .program import Program

A_NUMBER = Literal(float("nan"))
"""What a kernel is told of an operand that is a Python number known only when the program runs."""


def shaped_by_values(instructions: list[Instruction], types: list[Type]) -> str | None:
    """Which instruction's result has a shape that depends on values, in words; None if there is
    none."""
    for instruction in instructions:
        shape, refs = instruction.primitive.shape, instruction.reads()
        if shape == "data" or (
            shape == "masks" and any(types[n].dtype.kind == "b" for n in refs[1:])
        ):
            return f"the shape of what {instruction.primitive.name} gives depends on values"
    return None


PART = 400
"""Instructions in one function."""


class Lowered(GeneratedCode):
    """A program for inputs of one memory layout: its Python source and its buffers."""

    def __init__(self, program: Program, facts: Facts, xp: Any) -> None:
        super().__init__(program.name, program.constants, xp)
        self.program, self.facts = program, facts
        # values whose piece of the arena is in use, while this is written
        self.slot_of: dict[int, Allocation] = {}
        self.place_of: dict[int, Allocation] = {}  # the piece of each value that has one
        self.effects: Effects | None = None  # what a run leaves behind, as code (effects_code.py)
        self.free: list[list[Any]] = []  # workspaces that no run uses
        # the kernels with their names, and positions of operands that are numbers, and of arrays
        # that are found by the table
        self.kernels: list[tuple[str, Generated, frozenset[int], frozenset[int]]] = []
        self._table: list[str] = []  # the names of these arrays, for each kernel in turn
        self._held: dict[int, int] = {}  # captured arrays among them, with their number in `held`
        # numbers that also lie in arrays of one element, which kernels find by the table; and those
        # that others than such kernels read
        self._one_element: set[int] = set()
        self._read_as_numbers = {*program.kept()}
        for i in program.instructions:
            if not (isinstance(i.primitive, Generated) and i.primitive.finds_arrays):
                self._read_as_numbers.update(i.reads())
        self.taken_over = 0  # results written over an operand
        self._constant = set(program.constants)  # values that are the same in every run
        # gradients with new memory in each run, in which nothing else that lives on lies
        lives = [facts.root[n] for n in program.kept()]
        self.owned = {
            n for n in program.gradients.values() if n is not None and lives.count(n) == 1
        }
        self.owned -= {*program.inputs, *program.captured, *program.constants}
        self._write()
        self.arena.arrange()
        del self.program  # which owns this: memory shall return by reference counts

    def workspace(self) -> list[Any]:
        """Functions with buffers of their own, one for each part."""
        for name, kernel, scalars, held in self.kernels:
            if name not in self.names:
                self.names[name] = kernel.function(scalars, held)
        return super().workspace()

    def complete(self, space: dict[str, Any]) -> None:
        """Add the table of the arrays that kernels find by their addresses. Captured arrays are
        entered when they are first seen, and again when another array is in their place; they are
        held meanwhile, so that one is known by its identity."""
        if not self._table:
            return
        table = self.xp.zeros((len(self._table), 2), "int64")
        held: list[Any] = [None] * len(self._held)
        places: list[list[int]] = [[] for _ in held]
        for at, name in enumerate(self._table):
            if name in space:
                table[at] = space[name].ctypes.data, space[name].size
            else:
                places[self._held[int(name[1:])]].append(at)

        def enter(k: int, array: Any) -> None:
            table[places[k]] = array.ctypes.data, array.size
            held[k] = array

        space.update(held=held, enter=enter)
        at = 0
        for name, *_, found in self.kernels:
            space[f"table_{name}"] = table.ctypes.data + at * table.strides[0]
            at += len(found)

    def compile_kernels(self, goes_on: Callable[[], bool]) -> None:
        """Compile the kernels one after another, while that holds. May run in another thread."""
        for name, kernel, scalars, held in self.kernels:
            if not goes_on():
                return
            function = kernel.function(scalars, held)
            kernel.compile(function, scalars, held)
            self.names[name] = function

    def _write(self) -> None:
        self._escaping: set[int]
        program, facts = self.program, self.facts
        count = len(program.instructions)
        last = last_uses(program, facts)
        reads = program.last_reads()
        dying = deaths(program, facts)
        self.fixed = set(program.constants)
        self._escaping = {
            facts.root[n]
            for n in (*program.outputs, *(n for n in program.gradients.values() if n is not None))
        }
        makers = program.makers()
        part_of = [(-1 if at < 0 else at // PART) for at in makers]
        alive = 0
        for start in range(0, max(count, 1), PART):
            part, lines = start // PART, []
            local: set[int] = set()
            phase = None
            for at in range(start, min(start + PART, count)):
                instruction = program.instructions[at]
                if instruction.phase != phase:
                    phase = instruction.phase
                    lines.append(f"# {phase}")
                lines += self._instruction(at, instruction, last, dying)
                for n in instruction.outputs:
                    if n not in self.fixed:
                        local.add(n)
                        if facts.root[n] == n:
                            alive += facts.size[n]
                self.fresh_peak = max(self.fresh_peak, alive)
                gone = [
                    n
                    for n in dict.fromkeys((*instruction.reads(), *instruction.outputs))
                    if reads[n] == at and n not in self.fixed
                ]
                gone = [n for n in gone if makers[n] >= 0]
                for root in dying.get(at, ()):
                    if makers[root] >= 0 and root not in self.fixed:
                        alive -= facts.size[root]
                here = [n for n in gone if n in local]
                if here:
                    lines.append("del " + ", ".join(f"v{n}" for n in here))
                    local.difference_update(here)
                lines += [f"v[{n}] = v{n} = None" for n in gone if n not in here]
            if start + PART >= count:
                lines += [
                    f"v[{n}] = v{n}" for n in dict.fromkeys(program.kept()) if n in self.fixed
                ]
            self._part(part, start, min(start + PART, count), lines, local, part_of)

    def _part(
        self,
        part: int,
        start: int,
        stop: int,
        lines: list[str],
        local: set[int],
        part_of: list[int],
    ) -> None:
        """One function: values from before are read from `v`, values for later are put there."""
        needed = dict.fromkeys(
            n
            for i in self.program.instructions[start:stop]
            for n in i.reads()
            if part_of[n] != part and n not in self.fixed
        )
        head = [f"v{n} = v[{n}]" for n in needed]
        tail = [f"v[{n}] = v{n}" for n in sorted(local)]
        body = head + lines + tail or ["pass"]
        self.parts.append("def part(v):\n    " + "\n    ".join(body) + "\n")

    def _instruction(
        self, at: int, instruction: Instruction, last: list[int], dying: dict[int, list[int]]
    ) -> list[str]:
        program, facts = self.program, self.facts
        number = instruction.outputs[0]
        kind = program.types[number]
        operands = [
            self.literal(o.value) if type(o) is Literal else f"v{o}" for o in instruction.operands
        ]
        out = f"v{number}"
        if isinstance(instruction.primitive, Generated):
            return self._by_numba(at, instruction, operands, dying)
        if len(instruction.outputs) == 1:
            if facts.root[number] not in self._escaping and self._once(
                instruction, number, operands
            ):
                self._release(at, dying, None)
                return []
            if facts.root[number] != number and self._made_once_as_view(instruction, number):
                self._release(at, dying, None)
                return []
            if facts.root[number] == number:
                written = self._into(at, instruction, operands, dying)
                if written is not None:
                    return written
            if (total := self._total(instruction)) is not None:
                self._release(at, dying, None)
                return [f"{out} = {total}"]
            if (
                facts.strides[number] is None
                and kind.dtype in backend.SINGLE_OR_DOUBLE
                and self._numbers(instruction)
            ):
                text = on_numbers(instruction.primitive, operands)
                if text is not None:
                    return [f"{out} = {text}"]
        self._release(at, dying, None)
        return [self._plain(instruction, operands)]

    def _by_numba(
        self, at: int, instruction: Instruction, operands: list[str], dying: dict[int, list[int]]
    ) -> list[str]:
        """The call of a generated kernel, which writes its results into memory that is there."""
        program, facts, kernel = self.program, self.facts, instruction.primitive
        assert isinstance(kernel, Generated)
        name = f"{kernel.name}_{at}"
        before: list[str] = []
        after: list[str] = []
        texts = list(operands)
        scalars: set[int] = set()
        held: set[int] = set()
        for k, n in enumerate(instruction.reads()):
            kind, strides = program.types[n], facts.strides[n]
            if strides is None:
                scalars.add(k)
                if kernel.finds_arrays and self._is_in_memory(n):
                    held.add(k)
                    texts[k] = f"n{n}"
            elif not row_major(strides, kind.shape, kind.dtype):
                self.names["row_major"] = self.xp.ascontiguousarray
                texts[k] = f"row_major({texts[k]})"
            elif kernel.finds_arrays and (n in self.fixed or self._is_held(n, before)):
                held.add(k)
        for n in instruction.outputs:
            kind, strides = program.types[n], facts.strides[n]
            out = f"v{n}"
            if strides is None:
                out = f"n{n}"
                piece = self.arena.take(kind.nbytes)
                self.buffers.append((out, piece, Type((1,), kind.dtype), None))
                self._one_element.add(n)
                if n in self._read_as_numbers:
                    after.append(f"v{n} = n{n}[0]")
                else:
                    self.fixed.add(n)
            elif n in self._escaping:
                before.append(self._new_memory(n))
            else:
                piece = self.arena.take(kind.nbytes)
                self.fixed.add(n)
                self.slot_of[n] = self.place_of[n] = piece
                self.buffers.append((out, piece, kind, strides))
            if kernel.finds_arrays and (strides is None or n in self.fixed):
                held.add(len(texts))
            texts.append(out)
        self._release(at, dying, None)
        self.kernels.append((name, kernel, frozenset(scalars), frozenset(held)))
        self._table += [texts[k] for k in sorted(held)]
        given = [text for k, text in enumerate(texts) if k not in held]
        given = [f"table_{name}", *given] if held else given
        return [*before, f"{name}({', '.join(given)})", *after]

    def _is_in_memory(self, number: int) -> bool:
        """Whether a number also lies in an array of one element, the same one in every run."""
        if number in self.program.constants and number not in self._one_element:
            self.names["one_element"] = self.xp.atleast_1d
            self.views.append((f"n{number}", f"one_element(v{number})"))
            self._one_element.add(number)
        return number in self._one_element

    def _is_held(self, number: int, lines: list[str]) -> bool:
        """Whether a value is a captured array that is the same in most runs. lines: get the
        question whether it is, before its first reader."""
        place = self.program.captured.get(number)
        if not isinstance(place, TensorBinding | StateBinding):
            return False
        if number not in self._held:
            k = self._held[number] = len(self._held)
            lines.append(f"if v{number} is not held[{k}]: enter({k}, v{number})")
        return True

    def _total(self, instruction: Instruction) -> str | None:
        """The sum or the mean of all elements of a small array, as `ops.sums.total_of_few`; None
        for other operations, and where the engine does it otherwise.
        """
        reduction, params = instruction.primitive.reduction, instruction.params
        if reduction not in ("sum", "mean"):
            return None
        source = instruction.operands[0]
        assert type(source) is int
        kind = self.program.types[source]
        size, strides = math.prod(kind.shape), self.facts.strides[source]
        whole = (
            len(params["axes"]) == len(kind.shape) and not params["keepdims"]
            if "axes" in params
            else params["shape"] == ()
        )
        in_rows = len(kind.shape) == 1 or row_major(strides, kind.shape, kind.dtype)
        few = 0 < size <= FEW_TERMS and kind.dtype in backend.SINGLE_OR_DOUBLE and in_rows
        if not (whole and few and kind.shape) or strides is None or self.xp is not backend.numpy:
            return None
        ones = self.static("ones", self.xp.ones(size, kind.dtype))
        total = f"{self.view_of(f'v{source}', '.reshape(-1)')}.dot({ones})"
        return total if reduction == "sum" else f"{total} / {size}"

    def _numbers(self, instruction: Instruction) -> bool:
        """Whether all operands are bare numbers."""
        return all(
            type(o) is Literal or self.facts.strides[o] is None for o in instruction.operands
        )

    def _once(self, instruction: Instruction, number: int, operands: list[str]) -> bool:
        """Small results (and views) that depend on constants only are computed once, with the
        buffers; whether this is one.
        """
        primitive = instruction.primitive
        small = primitive.view or self.program.types[number].nbytes <= SMALL
        if (
            not small
            or primitive.random
            or not all(n in self._constant for n in instruction.reads())
        ):
            return False
        run = self._plain(instruction, operands).partition(" = ")[2]
        self.views.append((f"v{number}", run))
        self.fixed.add(number)
        self._constant.add(number)
        return True

    def _made_once_as_view(self, instruction: Instruction, number: int) -> bool:
        """A view of memory that is the same in every run is made once; whether this is one."""
        source = instruction.operands[0]
        if (
            type(source) is not int
            or source not in self.fixed
            or any(type(o) is int and o not in self.fixed for o in instruction.operands)
        ):
            return False
        if not instruction.primitive.view or instruction.reads() != [source]:
            return False
        self.views.append(
            (f"v{number}", self._plain(instruction, [f"v{source}"]).partition(" = ")[2])
        )
        self.fixed.add(number)
        return True

    def _into(
        self, at: int, instruction: Instruction, operands: list[str], dying: dict[int, list[int]]
    ) -> list[str] | None:
        """The instruction written by its kernel into a buffer, or into memory of its own where it
        lives on as a result; None where no kernel can."""
        primitive, number = instruction.primitive, instruction.outputs[0]
        kind, strides = self.program.types[number], self.facts.strides[number]
        lives_on = number in self._escaping
        make = self._kernel(instruction)
        if (
            make is None
            and not lives_on
            and primitive.takes_out
            and instruction.reads() == [o for o in instruction.operands if type(o) is int]
        ):
            make = self._filling(instruction)
        if make is None or strides is None or not kind.nbytes or not kind.shape:
            return None
        in_rows = row_major(strides, kind.shape, kind.dtype)
        dense = backend.fills_memory(strides, kind.shape, kind.dtype.itemsize)
        if not (in_rows if lives_on else dense and kind.nbytes == self.facts.size[number]):
            return None
        scratches: list[Allocation] = []
        line = self._line(instruction, operands, kind, strides, scratches)
        buffers, views = len(self.buffers), len(self.views)
        if not lives_on:
            self.fixed.add(number)
        lines: list[str] | None = make(line)
        refused = lines is None or (
            not in_rows and (primitive.takes_out or ".dot(" in "".join(lines))
        )
        roots, shared = dying.get(at, []), None
        if refused:
            self.fixed.discard(number)
            del self.buffers[buffers:], self.views[views:]
        elif lives_on:
            lines = [self._new_memory(number), *(lines or ())]
        else:
            shared = self._taken_over(instruction, roots) if line.in_place else None
            self.taken_over += shared is not None
            slot = self.arena.take(kind.nbytes) if shared is None else shared
            self.slot_of[number] = self.place_of[number] = slot
            self.buffers.append((f"v{number}", slot, kind, strides))
        for scratch in scratches:
            self.arena.give(scratch)
        if refused:
            return None
        self._release(at, dying, shared)
        if number in roots and not lives_on:  # it has no reader
            self.arena.give(slot)
        return lines

    def _new_memory(self, number: int) -> str:
        """The line that gives a value memory of its own."""
        kind = self.program.types[number]
        like = f"dtype_{kind.dtype}"
        self.names["new_memory"], self.names[like] = self.xp.empty, kind.dtype
        return f"v{number} = new_memory({kind.shape}, {like})"

    def _taken_over(self, instruction: Instruction, roots: list[int]) -> Allocation | None:
        """The buffer of an operand that is read for the last time (it is among `roots`) and lies
        as the result does, which may then be written over it."""
        types, strides, shared = self.program.types, self.facts.strides, None
        (number,) = instruction.outputs
        kind = types[number]
        for o in instruction.operands:
            if type(o) is int and o == self.facts.root[o] and o in roots and o in self.slot_of:
                same = types[o].shape == kind.shape and types[o].nbytes == kind.nbytes
                shared = self.slot_of[o] if same and strides[o] == strides[number] else shared
        return shared

    def _kernel(self, instruction: Instruction) -> Any:
        """What writes the lines of the operation's kernel; None if it has none for these dtypes."""
        has_kernel = instruction.primitive.kernel is not None and not self._upcasts(instruction)
        return functools.partial(lines_of, instruction.primitive) if has_kernel else None

    def _line(
        self,
        instruction: Instruction,
        operands: list[str],
        kind: Type,
        strides: tuple[int, ...],
        scratches: list[Allocation],
    ) -> KernelCall:
        """What a kernel is told. scratches: gets the pieces of memory that it takes."""
        program, facts, number = self.program, self.facts, instruction.outputs[0]

        def scratch(shape: Any, dtype: Any) -> str:
            needed = Type(shape, dtype)
            slot = self.arena.take(needed.nbytes)
            scratches.append(slot)
            name = f"s{number}_{len(scratches)}"
            alike = tuple(s // kind.dtype.itemsize * dtype.itemsize for s in strides)
            as_result = needed.shape == kind.shape
            self.buffers.append((name, slot, needed, alike if as_result else None))
            return name

        types: list[Any] = []
        for o in instruction.operands:
            known: Any = o if type(o) is Literal else program.types[o]
            types.append(A_NUMBER if type(o) is int and known.number else known)
        return KernelCall(
            operands,
            types,
            [facts.strides[o] if type(o) is int else None for o in instruction.operands],
            instruction.params,
            f"v{number}",
            kind,
            self.static,
            scratch,
            self.view_of,
            self.xp,
            strides,
        )

    def _filling(self, instruction: Instruction) -> Any:
        """What writes an instruction whose own forward function takes memory for its result."""
        name = f"{instruction.primitive.name}_{instruction.outputs[0]}"
        self.names[name] = functools.partial(
            self._forward(instruction), self.xp, **instruction.params
        )
        return lambda k: [f"{name}({', '.join(k.operands)}, out={k.out})"]

    def _forward(self, instruction: Instruction) -> Any:
        """The engine's forward function, without the question whether an operand is narrower
        where none is.
        """
        return (
            instruction.primitive.forward
            if self._upcasts(instruction)
            else instruction.primitive.declared_forward
        )

    def _upcasts(self, instruction: Instruction) -> bool:
        """Whether the operation computes its operands in float32 (`Primitive.upcasts`)."""
        types = self.program.types
        dtypes = [None if type(o) is Literal else types[o].dtype for o in instruction.operands]
        dtypes += [types[n].dtype for n in instruction.reads()]
        return instruction.primitive.upcasts(dtypes)

    def _release(self, at: int, dying: dict[int, list[int]], taken_over: Allocation | None) -> None:
        """Give back the buffers that are not read after instruction `at`, but for the one that its
        result has taken over."""
        makes = self.program.instructions[at].outputs
        for root in dying.get(at, ()):
            slot = self.slot_of.get(root)
            if slot is not None and root not in makes:
                del self.slot_of[root]
                if slot is not taken_over:
                    self.arena.give(slot)

    def _plain(self, instruction: Instruction, operands: list[str]) -> str:
        """The engine's own forward function, with new memory for the result."""
        primitive, xp = instruction.primitive, self.xp
        outputs = instruction.outputs
        refs = [n for n in instruction.reads()[sum(type(o) is int for o in instruction.operands) :]]
        name = f"{primitive.name}_{outputs[0]}"
        forward, params, count = self._forward(instruction), instruction.params, len(operands)
        template = (
            primitive.kernel
            if primitive.view and isinstance(primitive.kernel, str) and primitive.kernel != "scalar"
            else None
        )
        if (
            template is not None
            and not refs
            and self.facts.plain[outputs[0]]
            and type(instruction.operands[0]) is int
        ):
            return f"v{outputs[0]} = {template.format(operands[0], **params)}"
        if refs:

            def call(*values: Any) -> Any:
                rest = iter(values[count:])
                return forward(xp, *values[:count], **map_params(params, Ref, lambda _: next(rest)))

            function: Any = call
        elif params:
            function = lambda *values: forward(xp, *values, **params)
        else:
            function = lambda *values: forward(xp, *values)
        if primitive.shape == "data" or (primitive.shape == "masks" and refs):
            function = _of_shape(function, self.program, instruction)
        self.names[name] = function
        text = f"{name}({', '.join([*operands, *(f'v{n}' for n in refs)])})"
        if len(outputs) > 1:
            return f"{', '.join(f'v{n}' for n in outputs)} = map(canonical, {text})"
        plain = self.facts.plain[outputs[0]]
        return f"v{outputs[0]} = {text if plain else f'canonical({text})'}"


# ------------------------------------------------------------------------------------------ helpers


def _of_shape(function: Any, program: Program, instruction: Instruction) -> Any:
    """The function, with its result's shape checked: it depends on values."""
    number, name = instruction.outputs[0], instruction.primitive.name
    kind, shown = program.types[number], program.name_of(number)

    def checked(*values: Any) -> Any:
        result = function(*values)
        check_shape(kind, shown, name, result)
        return result

    return checked


def check_shape(kind: Type, shown: str, name: str, result: Any) -> None:
    """Raise ProgramError unless a result has the shape and dtype that were recorded."""
    if tuple(result.shape) != kind.shape or result.dtype != kind.dtype:
        raise ProgramError(
            f"{name} gave {result.dtype} {tuple(result.shape)} for {shown}, where {kind!r} was"
            " recorded: its shape depends on values. Record the part before it and the part after"
            " it separately."
        )
