"""Large values that a later block computes again instead of reading them from memory.

A batch normalisation gives relu(x), and that centred and scaled, to its reverse pass. To store both
is two passes over memory, but from x each takes a few operations that the reverse pass has time for
while it waits for its operands. So a value that only blocks read is not stored where it follows, by
cheap operations, from arrays that are in memory anyway and from sums.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from .fused import Language, expression
from .instructions import Instruction
from .row_groups import Block, Finder, is_costly

if TYPE_CHECKING:
    from .program import Program

LARGE = 1 << 15
"""Elements of a value from which on it is computed again."""
CHEAP = 6
"""Operations that it may take."""
SMALL_PART = 16
"""A value of so many times fewer elements is stored in any case."""


def with_values_computed_again(program: Program, language: Language) -> Program:
    """The program with such values made once more, in front of their readers in each block."""
    again = _Again(program, language)
    made: list[Instruction] = []
    for at in range(len(program.instructions)):
        made += again.before(at)
        made.append(again.reading_copies(at))
    if not again.copies:
        return program
    changed = replace(program, instructions=made, types=again.types)
    blocks = Finder(changed, language).blocks()
    of = {changed.instructions[m].outputs[0]: id(b) for b in blocks for m in b.members}
    readers = [(n, i) for i in made for n in i.reads() if n in again.copies]
    inside = all(of.get(n, 0) == of.get(i.outputs[0]) for n, i in readers)
    return changed if inside else program


class _Again:
    """Finds the values, and writes what makes them again. copies: the values that do."""

    def __init__(self, program: Program, language: Language) -> None:
        self.program, self.language = program, language
        self.types, self.copies = list(program.types), set[int]()
        self.finder = Finder(program, language)
        self._maker = {n: at for at, i in enumerate(program.instructions) for n in i.outputs}
        self._block: dict[int, Block] = {m: b for b in self.finder.blocks() for m in b.members}
        self._copy: dict[tuple[int, int], int] = {}  # by block and value
        self._wanted: dict[int, list[int]] = {}  # values, by the block that computes them again
        for n, places in program.readers().items():
            own = self._block.get(self._maker.get(n, -1))
            others = [self._block.get(at) for at in places]
            if own is None or None in others or self.chain(n) is None:
                continue
            for block in {id(b): b for b in others if b is not None and b is not own}.values():
                self._wanted.setdefault(id(block), []).append(n)
        for block in {id(b): b for b in self._block.values()}.values():
            wanted = self._wanted.get(id(block), [])
            bases = {r for n in wanted for i in self.chain(n) or () for r in self._large(i)}
            bases -= {i.outputs[0] for n in wanted for i in self.chain(n) or ()}
            if len(bases - self._outside(block)) > len(wanted):  # it would read more
                del self._wanted[id(block)]

    def _large(self, instruction: Instruction) -> list[int]:
        """The values that an instruction reads which have as many elements as its result."""
        size = math.prod(self.types[instruction.outputs[0]].shape)
        reads = self.finder.sources.reads(instruction)
        return [n for n in reads if math.prod(self.types[n].shape) * SMALL_PART > size]

    def _outside(self, block: Block) -> set[int]:
        """What a block reads that it does not make."""
        members = [self.program.instructions[m] for m in block.members]
        reads = {n for i in members for n in self.finder.sources.reads(i)}
        return reads - {i.outputs[0] for i in members}

    def chain(self, number: int) -> list[Instruction] | None:
        """The operations of its block that make a value out of arrays that lie in memory; None
        where they are too many, or cost more than to store it."""
        block = self._block[self._maker[number]]
        if math.prod(self.types[number].shape) < LARGE:
            return None
        found: dict[int, Instruction] = {}

        def reach(n: int) -> bool:
            if self._block.get(self._maker.get(n, -1)) is not block:
                return True
            instruction = self.program.instructions[self._maker[n]]
            text = expression(self.program, instruction, None, self.language)
            fits = text is not None and not is_costly(text)
            fits = fits and self.types[n].shape == block.shape
            for m in self._large(instruction):  # what is read through a view has no copy
                fits = fits and m in instruction.reads() and reach(m)
            found[n] = instruction
            return fits and len(found) <= CHEAP

        return list(found.values()) if reach(number) else None

    def before(self, at: int) -> list[Instruction]:
        """What is to be made in front of an instruction."""
        block, made = self._block.get(at), list[Instruction]()
        reads = self.program.instructions[at].reads()
        for n in self._wanted.get(id(block), ()) if block is not None else ():
            if n not in reads:
                continue
            for i in self.chain(n) or ():
                key = id(block), i.outputs[0]
                if key in self._copy:
                    continue
                self.types.append(self.types[i.outputs[0]])
                self._copy[key] = len(self.types) - 1
                self.copies.add(len(self.types) - 1)
                operands = tuple(
                    self._copy.get((id(block), o), o) if type(o) is int else o for o in i.operands
                )
                copy = i.like(operands, i.params, (self._copy[key],))
                copy.phase = self.program.instructions[at].phase
                made.append(copy)
        return made

    def reading_copies(self, at: int) -> Instruction:
        """An instruction that reads the copies of its block."""
        instruction, block = self.program.instructions[at], self._block.get(at)
        wanted = self._wanted.get(id(block), ()) if block is not None else ()
        if not any(n in wanted for n in instruction.reads()):
            return instruction
        operands = tuple(
            self._copy[id(block), o] if type(o) is int and o in wanted else o
            for o in instruction.operands
        )
        return instruction.like(operands, instruction.params, instruction.outputs)
