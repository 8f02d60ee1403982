"""A run of a program as a Trace, so that every viewer can step through it: what is computed, in
which buffer, and when memory dies.

Each step says what is computed, from what, and (where the memory plan gives the result a buffer)
where in memory: which earlier values lay there before. A `free` step follows the last reader of a
buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..backend import numpy
from ..errors import ProgramError
from ..watch import notation, sentences
from ..watch.trace_document import TraceDocument
from ..watch.values import value
from .instructions import Instruction, Literal
from .lower import Lowered
from .memory import Facts, deaths, plain_peak, total_bytes
from .run import Replayer, interpret

if TYPE_CHECKING:
    from .program import Program

STAGES = {
    "forward": "primal",
    "update": "primal",
    "backward": "backward",
    "tangent": "jvp",
    "second backward": "second backward",
}
MOST = 5_000


def as_trace(program: Program, *inputs: Any) -> dict[str, Any]:
    """A `minigrad.trace/1` document of one run on `inputs` (nothing is written to captured
    tensors).

    Raises ProgramError for programs of more than 5,000 instructions: no viewer can show that many.
    """
    if len(program.instructions) > MOST:
        raise ProgramError(
            f"{program.name}: a Trace shows at most {MOST:,} instructions, this program has"
            f" {len(program.instructions):,}."
        )
    replayer = Replayer(program)
    payloads, _ = replayer.checked(replayer.leaves(inputs))
    facts, values = Facts(len(program.types)), [None] * len(program.types)
    interpret(program, payloads, facts, values)
    return _ProgramWriter(program, values, facts, Lowered(program, facts, numpy)).trace


def names_of(program: Program) -> dict[int, str]:
    """What values are called in pictures: as the program calls them, else x1 for an input, p1 for a
    captured tensor, c1 for a constant, v1 for a result."""
    results = [n for instruction in program.instructions for n in instruction.outputs]
    found: dict[int, str] = {}
    taken: set[str] = set()
    for prefix, numbers in zip(
        "xpcv", (program.inputs, program.captured, program.constants, results), strict=True
    ):
        for count, number in enumerate(numbers, 1):
            name = program.names.get(number) or f"{prefix}{count}"
            while name in taken:
                name += "'"
            taken.add(name)
            found[number] = name
    return found


def operands_of(instruction: Instruction, names: Mapping[int, str]) -> list[notation.Token]:
    """The operands of an instruction in a formula."""
    return [
        notation.plain(o.value) if type(o) is Literal else notation.symbol(names[o])
        for o in instruction.operands
    ]


class _ProgramWriter(TraceDocument):
    def __init__(self, program: Program, values: Sequence[Any], facts: Any, lowered: Any) -> None:
        self.program, self.values, self.facts, self.lowered = program, values, facts, lowered
        super().__init__()
        self.ids = names_of(program)
        self.lay: dict[int, list[str]] = {}  # offset in the arena -> values that lay there
        self._given()
        self._instructions()
        names = [self.ids[n] for n in program.outputs]
        memory = {
            "buffers": lowered.arena.total,
            "all": total_bytes(program, facts),
            "unplanned": plain_peak(program, facts),
        }
        inputs = [self.ids[n] for n in program.inputs]
        self.trace = self.finished(program.name, inputs, list(dict.fromkeys(names)), memory=memory)

    def _given(self) -> None:
        roles = (
            ("input", self.program.inputs),
            ("param", self.program.captured),
            ("const", self.program.constants),
        )
        for kind, numbers in roles:
            for number in numbers:
                name, shown = self.ids[number], value(self.values[number])
                self._node(number, name, kind, [])
                role = {"input": "input", "param": "parameter", "const": "constant"}[kind]
                formula, say = sentences.given(name, role, shown)
                self.step("primal", name, [], [], [[name, "v", shown]], formula, say, add=[name])

    def _instructions(self) -> None:
        program = self.program
        dying = deaths(program, self.facts)
        results = set(program.outputs)
        for at, instruction in enumerate(program.instructions):
            operands = operands_of(instruction, self.ids)
            read = [[self.ids[n], "v"] for n in dict.fromkeys(instruction.reads())]
            stage = STAGES.get(
                instruction.phase, "third backward" if "backward" in instruction.phase else "primal"
            )
            for index, number in enumerate(instruction.outputs):
                name = self.ids[number]
                expression = notation.expression(
                    instruction.primitive, operands, instruction.params
                )
                if len(instruction.outputs) > 1:
                    expression = notation.result_number(expression, index)
                kind, op = "output" if number in results else "op", instruction.primitive.name
                memory = self._memory(number)
                self._node(number, name, kind, expression, stage, op=op, memory=memory)
                lit = [
                    self.add_edge(self.ids[n], name, slot, stage)["id"]
                    for slot, n in enumerate(instruction.reads())
                ]
                shown = value(self.values[number])
                formula, say = sentences.computed(name, expression, None, shown)
                say = f"{say} {self._where(number, name)}".rstrip()
                writes = [[name, "v", shown]]
                self.step("primal", name, lit, read, writes, formula, say, add=[name])
            self._free(dying.get(at, ()))

    def _free(self, roots: Iterable[int]) -> None:
        """A step for each value that is not read any more."""
        program = self.program
        given = {*program.constants, *program.inputs, *program.captured}
        for root in roots:
            if root in self.ids and root not in given:
                name = self.ids[root]
                say = f"{name} is no longer read: its {self.facts.size[root]:,} bytes are free."
                self.step("free", name, [], [], [], [], say, free=[name])

    def _memory(self, number: int) -> dict[str, Any]:
        """The bytes of a result: at a place in the buffers, of its own, or those of another
        value that it looks into.
        """
        root, place = self.facts.root[number], self.lowered.place_of.get(number)
        if root != number:
            return {"of": self.ids[root]}
        return {"bytes": self.facts.size[number]} | ({} if place is None else {"at": place.offset})

    def _where(self, number: int, name: str) -> str:
        """In which memory a result lies."""
        root = self.facts.root[number]
        if root != number:
            return f"It is a view of {self.ids[root]}: no memory of its own."
        place = self.lowered.place_of.get(number)
        if place is None:
            return ""
        before = self.lay.setdefault(place.offset, [])
        told = (
            f"It is written where {before[-1]} was."
            if before
            else f"It is written at byte {place.offset:,} of the buffers."
        )
        before.append(name)
        return told

    def _node(
        self,
        number: int,
        name: str,
        kind: str,
        expression: list[Any],
        stage: str = "primal",
        **more: Any,
    ) -> None:
        known = self.program.types[number]
        self.add_node(name, kind, expression, known.shape, str(known.dtype), stage, **more)
