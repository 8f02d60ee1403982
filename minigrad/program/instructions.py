"""A program as data: a straight line of instructions, each of which gives names (numbers) to the
values that it makes.

    program(x: float32 (3,), W: float32 (3, 3))
      %2 = matmul %1 %0          float32 (3,)     forward
      %3 = tanh %2               float32 (3,)     forward
      return %3

Passes, replay, files and pictures all read this representation. Each value is assigned once (static
single assignment), so a value's number *is* the value, and "was this computed before?" is a
comparison of numbers. There are no branches and no loops, hence no recursion anywhere: a list is
walked.

Who makes programs: record.py (from a function that ran), minigrad.graph (from symbols), passes.py
(from other programs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, final

from ..backend import DType, Shape
from ..core.primitive import Primitive
from ..errors import ProgramError


@final
class Type:
    """What is known of a value before it is computed: shape, dtype and device ("cpu", "cuda:0").
    Equal types are equal and hash alike.

    number: whether it is a Python number and no array: a captured one that each run reads again (an
    optimiser's learning rate). Like a `Literal` it takes the dtype of the array that it meets.
    """

    __slots__ = ("_facts", "device", "dtype", "number", "shape")

    def __init__(
        self, shape: Iterable[int], dtype: DType, device: str = "cpu", number: bool = False
    ) -> None:
        self.shape: Shape = tuple(shape)
        self.dtype, self.device, self.number = dtype, device, number
        self._facts = (self.shape, dtype, device, number)

    def __eq__(self, other: object) -> bool:
        return type(other) is Type and self._facts == other._facts

    def __hash__(self) -> int:
        return hash(self._facts)

    @property
    def nbytes(self) -> int:
        """Bytes that an array of this type takes."""
        size = self.dtype.itemsize
        for n in self.shape:
            size *= n
        return size

    def __repr__(self) -> str:
        if self.number:
            return "number"
        return f"{self.dtype} {self.shape}" + ("" if self.device == "cpu" else f" on {self.device}")


@final
class Literal:
    """A Python number among the operands. It stays one, because Python numbers take the dtype of
    the array that they meet.

    Two are equal only if they are of one type and have the same bits: 1, 1.0 and True differ, 0.0
    and -0.0 too, and NaN equals NaN.
    """

    __slots__ = ("value",)

    def __init__(self, value: bool | int | float | complex) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Literal
            and type(self.value) is type(other.value)
            and repr(self.value) == repr(other.value)
        )

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value)))

    def __repr__(self) -> str:
        return repr(self.value)


@final
class Ref:
    """A value of the program in the place of a parameter: the array of indices of `getitem`,
    say.
    """

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return type(other) is Ref and self.number == other.number

    def __hash__(self) -> int:
        return hash((Ref, self.number))

    def __repr__(self) -> str:
        return f"%{self.number}"


Operand = int | Literal
PHASES = ("forward", "backward", "second backward", "tangent", "update")
"""Who made an instruction: the function itself, its reverse pass, a reverse pass through that one
("third backward" and so on follow), forward mode, or an optimiser. A program may use words of its
own.
"""


class Instruction:
    """One run of one primitive.

    operands: numbers of values, or `Literal`s; params: the primitive's keyword parameters, in which
    a `Ref` (also nested in tuples, lists and dicts) stands for a value; outputs: the numbers of its
    results, one unless the primitive has several; phase: one of PHASES.
    """

    __slots__ = ("operands", "outputs", "params", "phase", "primitive")

    def __init__(
        self,
        primitive: Primitive,
        operands: tuple[Operand, ...],
        params: dict[str, Any],
        outputs: tuple[int, ...],
        phase: str = "forward",
    ) -> None:
        self.primitive, self.operands, self.params, self.outputs, self.phase = (
            primitive,
            operands,
            params,
            outputs,
            phase,
        )

    def reads(self) -> list[int]:
        """The numbers of all values that it reads, those in its parameters last, in order and
        with repetitions.
        """
        numbers = [o for o in self.operands if type(o) is int]
        if self.params:
            numbers += [ref.number for ref in refs_in(self.params.values())]
        return numbers

    def __repr__(self) -> str:
        return (
            f"<{self.phase} instruction {', '.join(f'%{n}' for n in self.outputs)} ="
            f" {self.primitive.name}{self.operands!r}>"
        )


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

    __slots__ = (
        "__weakref__", "captured", "constants", "decisions", "gradients", "inputs", "instructions",
        "name", "names", "outputs", "replayer",
        "signature", "types", "updates",
    )  # fmt: skip

    def __init__(
        self,
        inputs: Sequence[int],
        constants: dict[int, Any],
        instructions: list[Instruction],
        outputs: Sequence[int],
        types: list[Type],
        names: dict[int, str] | None = None,
        *,
        captured: dict[int, Any] | None = None,
        updates: dict[int, int] | None = None,
        gradients: dict[int, int | None] | None = None,
        decisions: Sequence[str] = (),
        signature: Any = None,
        name: str = "program",
    ) -> None:
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.constants, self.instructions, self.types = constants, instructions, types
        self.names = {} if names is None else names
        self.captured = {} if captured is None else captured
        self.updates = {} if updates is None else updates
        self.gradients = {} if gradients is None else gradients
        self.decisions = list(decisions)
        self.signature, self.name = signature, name
        self.replayer: Any = None

    # -------------------------------------------------------------------------------- looking at it

    def type_of(self, number: int) -> Type:
        """The Type of a value."""
        return self.types[number]

    def name_of(self, number: int) -> str:
        """The value's own name, or %number."""
        return self.names.get(number) or f"%{number}"

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """(value read, index of the instruction that reads it, position among that instruction's
        reads), in order.
        """
        for at, instruction in enumerate(self.instructions):
            for position, number in enumerate(instruction.reads()):
                yield number, at, position

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
        from .text import program_text

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
        from .checking import check

        check(self)
        return self

    # ----------------------------------------------------------------------------------- running it

    def __call__(self, *inputs: Any) -> Any:
        """Run it on new inputs of the same shapes, dtypes and nesting. Raises ProgramError where
        they differ.
        """
        if self.replayer is None:
            from .run import Replayer

            self.replayer = Replayer(self)
        return self.replayer(*inputs)

    def capture(self, fuse: bool = False) -> Any:
        """This program as a CUDA graph (see capture.py): a callable. fuse: its element-wise chains
        as one kernel each.

        Raises DeviceError where its values are not on a CUDA device, ProgramError for what a graph
        cannot do again (random draws, say).
        """
        from .capture import CapturedProgram

        return CapturedProgram(self.fused() if fuse else self)

    def fused(self) -> Program:
        """This program with its element-wise chains as one kernel each (see fused.py).
        DeviceError where it is not on a CUDA device.
        """
        from .fused import fused

        return fused(self)

    def save(self, path: Any) -> None:
        """Write `path`.json and `path`.npz; `minigrad.program.load(path)` reads them."""
        from .files import save

        save(self, path)

    def as_trace(self, *inputs: Any) -> dict[str, Any]:
        """One run as a Trace document, which every viewer can step through (see as_trace.py)."""
        from .as_trace import as_trace

        return as_trace(self, *inputs)

    def source(self) -> str:
        """The Python text that replays run (after a first run: it depends on how the inputs lie in
        memory); of a fused program its kernels in C.
        """
        from .fused import kernels

        made = kernels(self)
        if made:
            return "\n".join(kernel.text for kernel in made)
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


# ------------------------------------------------------------------------- values within parameters


def refs_in(values: Iterable[Any]) -> list[Ref]:
    """All Refs among the values, also nested in tuples, lists and dicts, in order."""
    found: list[Ref] = []
    for value in values:
        if type(value) is Ref:
            found.append(value)
        elif isinstance(value, tuple | list):
            found += refs_in(value)
        elif isinstance(value, dict):
            found += refs_in(value.values())
    return found


def map_params(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """A parameter with everything of type `kind` in it replaced by `change(it)`; the same object
    where there is nothing to replace.
    """
    if type(value) is kind:
        return change(value)
    if type(value) in (tuple, list):
        changed = [map_params(v, kind, change) for v in value]
        return (
            type(value)(changed)
            if any(a is not b for a, b in zip(changed, value, strict=True))
            else value
        )
    if type(value) is dict:
        entries = {k: map_params(v, kind, change) for k, v in value.items()}
        return entries if any(entries[k] is not v for k, v in value.items()) else value
    return value
