"""A program: instructions with what they start from and what they give back, and all that can be
done with it.

Everything below this module works on its data and is told the program; nothing but this module and
those above make one from scratch.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from ..errors import ProgramError
from .as_trace import as_trace
from .capture import CapturedProgram
from .checking import check
from .files import read, save
from .fused import fused
from .generated_kernel import kernels_of
from .instructions import Instruction, Type
from .numba_kernels import with_kernels
from .run import Replayer
from .text import program_text


@dataclass(slots=True, weakref_slot=True, eq=False, repr=False)
class Program:
    """Instructions with what they start from and what they give back.

    inputs: numbers of the values that the caller gives, in order; captured: number -> the object in
    whose `.array` an input lies that the caller does not give (a parameter that the function found
    outside its arguments); constants: number -> array; outputs: numbers of the results; updates:
    number of an input or captured value -> number of the value that its memory holds afterwards;
    gradients: number of a captured leaf -> number of the value that its `.grad` gets (None: it is
    cleared); types: the Type of each value, by number; names: number -> name, for those that have
    one; decisions: what was decided by values when the program was recorded, and holds for all
    replays; signature: how inputs and results are nested (see structure.py; None: inputs one by
    one, one result or a tuple).

    `program(*inputs)` runs it (see run.py), `program.check()` tests it, `print(program)` shows it.
    """

    inputs: list[int]
    constants: dict[int, Any]
    instructions: list[Instruction]
    outputs: list[int]
    types: list[Type]
    names: dict[int, str] = field(default_factory=dict)
    _: KW_ONLY
    captured: dict[int, Any] = field(default_factory=dict)
    updates: dict[int, int] = field(default_factory=dict)
    gradients: dict[int, int | None] = field(default_factory=dict)
    decisions: list[str] = field(default_factory=list)
    signature: Any = None
    name: str = "program"
    replayer: Any = field(default=None, init=False)

    # -------------------------------------------------------------------------------- looking at it

    def name_of(self, number: int) -> str:
        """The value's own name, or %number."""
        return self.names.get(number) or f"%{number}"

    def readers(self) -> dict[int, list[int]]:
        """For each value the indices of the instructions that read it; the number of instructions
        for one that lives on.
        """
        found: dict[int, list[int]] = {n: [len(self.instructions)] for n in self.kept()}
        for at, instruction in enumerate(self.instructions):
            for number in instruction.reads():
                found.setdefault(number, []).append(at)
        return found

    def makers(self) -> list[int]:
        """For each value the index of the instruction that makes it, -1 for inputs, captured
        values and constants.
        """
        found = [-1] * len(self.types)
        for at, instruction in enumerate(self.instructions):
            for number in instruction.outputs:
                found[number] = at
        return found

    def last_reads(self) -> list[int]:
        """For each value the index of the last instruction that reads it: its own maker's where
        none does, and the number of instructions for results and updates, which live on."""
        last = self.makers()
        for at, instruction in enumerate(self.instructions):
            for number in instruction.reads():
                last[number] = at
        for number in self.kept():
            last[number] = len(self.instructions)
        return last

    def kept(self) -> list[int]:
        """The numbers of all values that live on when the program has run: results, updates,
        gradients.
        """
        return [
            *self.outputs,
            *self.updates.values(),
            *(n for n in self.gradients.values() if n is not None),
        ]

    def phases(self) -> dict[str, int]:
        """How many instructions each phase has, in order of appearance."""
        counts: dict[str, int] = {}
        for instruction in self.instructions:
            counts[instruction.phase] = counts.get(instruction.phase, 0) + 1
        return counts

    def text(self, limit: int | None = 60) -> str:
        """One line an instruction. Longer programs than `limit` lines are shortened in the
        middle (None: never).
        """
        return program_text(self, limit)

    __str__ = text

    def __repr__(self) -> str:
        return (
            f"<program {self.name}: {len(self.inputs)} inputs, {len(self.instructions)}"
            f" instructions, {len(self.outputs)} results>"
        )

    def check(self) -> Program:
        """Return the program itself, or raise ProgramError naming the first instruction that is
        wrong.
        """
        check(self)
        return self

    # ----------------------------------------------------------------------------------- running it

    def __call__(self, *inputs: Any) -> Any:
        """Run it on new inputs of the same shapes, dtypes and nesting. Raises ProgramError where
        they differ.
        """
        if self.replayer is None:
            self.replayer = Replayer(self)
        return self.replayer(*inputs)

    def capture(self, fuse: bool = False) -> Any:
        """This program as a CUDA graph (see capture.py): a callable. fuse: its element-wise chains
        as one kernel each.

        Raises DeviceError where its values are not on a CUDA device, ProgramError for what a graph
        cannot do again (random draws, say).
        """
        return CapturedProgram(self.fused() if fuse else self)

    def fused(self) -> Program:
        """This program with its element-wise chains as one kernel each: on a CUDA device in C
        (fused.py), on the CPU in Python that Numba compiles (numba_kernels.py).

        Raises DeviceError where its values are on several devices, ProgramError where Numba is
        missing.
        """
        on_cpu = all(kind.device == "cpu" for kind in self.types)
        return with_kernels(self) if on_cpu else fused(self)

    def save(self, path: Any) -> None:
        """Write `path`.json and `path`.npz; `minigrad.program.load(path)` reads them."""
        save(self, path)

    def as_trace(self, *inputs: Any) -> dict[str, Any]:
        """One run as a Trace document, which every viewer can step through (see as_trace.py)."""
        return as_trace(self, *inputs)

    def source(self) -> str:
        """The Python text that replays run (after a first run: it depends on how the inputs lie in
        memory). Of a fused program its kernels: on a CUDA device their C, on the CPU their Python,
        and after a first run the text that calls them.
        """
        made = kernels_of(self)
        if made:
            lowered = self.replayer.lowered if self.replayer else {}
            parts = self.replayer.latest().parts if lowered else ()
            return "\n".join([*(kernel.text for kernel in made), *parts])
        return "\n".join(self._ran().latest().parts)

    def memory(self) -> dict[str, int]:
        """Bytes that the values of a run need: "all" of them together, the most alive at once
        "without plan" and "with plan"; and how many "buffers" there are and how often one is
        "reused". Known after a first run.
        """
        out: dict[str, int] = self._ran().memory()
        return out

    def _ran(self) -> Any:
        if self.replayer is None:
            raise ProgramError(
                f"{self.name}: run the program once first; how its values lie in memory is seen in"
                " a run."
            )
        return self.replayer


def load(path: Any) -> Program:
    """Read what `save` wrote. Captured values become tensors of the program's own, in
    `program.captured[number].tensor` (a number that an optimiser computed for each run stays as it
    was then: `program.captured[number].value`).

    Raises ProgramError for a file of another format, an unknown primitive or anything malformed;
    FileNotFoundError.
    """
    return read(path, Program)
