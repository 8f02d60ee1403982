"""Composite operations as their parts, so that kernels on the CPU take these in.

A softmax, say, is one operation because NumPy has a short path for it. But what comes before it and
after it cannot be in one loop with it. So in programs with kernels, and only there, an operation
that declares its `parts` (facets.py) is replaced by them, if all of them but products of matrices
and views are then in kernels. They compute what the operation does, within rounding.

So are products of a row and a column, by which NumPy sums the products of two large arrays best
(batch normalisation does so). They become a product of elements and a sum.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..backend import DType, Shape, numpy
from ..core.primitive import Primitive
from ..ops.linalg import matmul
from ..ops.operators import ArrayPayload
from ..ops.reduce import sum_
from ..ops.shape import reshape
from .fused import Language
from .instructions import Instruction, Literal, Type
from .passes import without_dead_code, without_repetitions
from .row_groups import Finder

if TYPE_CHECKING:
    from .program import Program


class _PartsWriter:
    """Writes parts as instructions. types: of all values of the program, which grows. whole: the
    values that stay results of one operation."""

    def __init__(self, program: Program, whole: Collection[int]) -> None:
        self.types, self.whole = list(program.types), whole
        self.written: list[Instruction] = []
        self.phase = ""
        self.maker = {n: i for i in program.instructions for n in i.outputs}
        self.instructions, self.readers = program.instructions, program.readers()

    def parts_of(self, instruction: Instruction) -> list[Instruction] | None:
        """The parts of a composite operation, the last of which makes its result; None for an
        operation that declares none."""
        declared, operands = instruction.primitive.parts, instruction.reads()
        made = instruction.outputs[0]
        if made in self.whole:
            return None
        if (product := self._sum_of_products(instruction)) is not None:
            *operands, axes = product
            shape = self.types[made].shape
            declared = lambda a, b: reshape(sum_(a * b, axes=axes, keepdims=True), shape=shape)
            params: dict[str, Any] = {}
        elif declared is None or any(type(o) is Literal for o in instruction.operands):
            return None
        else:
            params = instruction.params
        self.written, self.phase = [], instruction.phase
        dtype = self.types[made].dtype
        values = [_SymbolicValue(self, n, self.types[n].shape, dtype) for n in operands]
        declared(*values, **params)
        last = self.written.pop()
        return [*self.written, last.like(last.operands, last.params, instruction.outputs)]

    def is_absorbed(self, instruction: Instruction) -> bool:
        """Whether it makes products of rows and columns only for sums of them that are taken
        apart."""
        places = self.readers.get(instruction.outputs[0], ())
        if self._dots(instruction) is None or len(self.instructions) in places:
            return False
        readers = [self.instructions[at] for at in places]
        return all(
            i.outputs[0] not in self.whole and self._sum_of_products(i) is not None for i in readers
        )

    def _sum_of_products(self, instruction: Instruction) -> Any:
        """Two arrays, and the axes over which an instruction sums their products; None for another
        operation."""
        operands = instruction.operands
        if (dots := self._dots(instruction)) is not None:
            a, b, lead, more = dots
            return None if more else (a, b, tuple(range(lead, len(self.types[a].shape))))
        if instruction.primitive is not sum_ or type(operands[0]) is not int:
            return None
        source = self.maker.get(operands[0])
        if source is None or (dots := self._dots(source)) is None:
            return None
        a, b, lead, more = dots
        shape = self.types[operands[0]].shape
        axes = {axis % len(shape) for axis in instruction.params["axes"]}
        if not axes.issuperset(more):
            return None
        first = [axis for axis in sorted(axes) if axis < lead]
        return a, b, (*first, *range(lead, len(self.types[a].shape)))

    def _dots(self, instruction: Instruction) -> Any:
        """For the product of (…, 1, n) by (…, n, 1) that are two arrays of one shape in another
        one: the arrays, from which of their axes on each row is one, and the axes of the product
        over which it is still to be summed, since its rows are parts of these."""
        if instruction.primitive is not matmul or any(
            type(o) is not int or not self._is_reshaped(o) for o in instruction.operands
        ):
            return None
        row, column = instruction.reads()
        a, b = (self.maker[n].reads()[0] for n in (row, column))
        kinds = [self.types[n] for n in (a, b, row, column)]
        shape, left, right = kinds[0].shape, kinds[2].shape, kinds[3].shape
        front, n = left[:-2], left[-1]
        if (
            kinds[1].shape != shape
            or len({kind.dtype for kind in kinds}) > 1
            or left != (*front, 1, n)
            or right != (*front, n, 1)
        ):
            return None
        lead = 0
        while lead < min(len(front), len(shape)) and front[lead] == shape[lead]:
            lead += 1
        if n < 2 or math.prod(shape[lead:]) != math.prod(front[lead:]) * n:
            return None
        return a, b, lead, range(lead, len(front))

    def _is_reshaped(self, number: int) -> bool:
        maker = self.maker.get(number)
        return maker is not None and maker.primitive is reshape and type(maker.operands[0]) is int

    def write(self, primitive: Primitive, operands: Sequence[Any], params: Any) -> _SymbolicValue:
        """One part."""
        given = [o for o in operands if type(o) is _SymbolicValue]
        shape, dtype = _shape_of(primitive, [v.shape for v in given], params), given[0].dtype
        self.types.append(Type(shape, dtype))
        made = len(self.types) - 1
        numbers = tuple(o.number if type(o) is _SymbolicValue else Literal(o) for o in operands)
        self.written.append(Instruction(primitive, numbers, params, (made,), self.phase))
        return _SymbolicValue(self, made, shape, dtype)


def _shape_of(primitive: Primitive, shapes: list[Shape], params: dict[str, Any]) -> Shape:
    """The shape of a part's result, as the part declares it."""
    if primitive.shape == "broadcast":
        return numpy.broadcast_shapes(*shapes)
    if primitive.shape == "given":
        return tuple(params["shape"])
    assert callable(primitive.shape), primitive
    return tuple(primitive.shape(*shapes, **params))


class _SymbolicValue(ArrayPayload):
    """A value of which only its number and type are known, in the place of an array: an operation
    on it writes an instruction."""

    __slots__ = ("dtype", "number", "shape", "writer")

    def __init__(self, writer: _PartsWriter, number: int, shape: Shape, dtype: DType) -> None:
        self.writer, self.number, self.shape, self.dtype = writer, number, shape, dtype

    @staticmethod
    def __minigrad_apply__(
        primitive: Primitive, operands: Sequence[Any], params: Any
    ) -> _SymbolicValue:
        """Write this operation."""
        value = next(o for o in operands if type(o) is _SymbolicValue)
        return value.writer.write(primitive, operands, params)


def taken_apart(program: Program, language: Language) -> Program:
    """The program with composite operations as their parts, where kernels in this language take
    these in."""
    apart, parts = _rewritten(program, frozenset())
    if not parts:
        return program
    blocks = Finder(apart, language).blocks()
    inside = {apart.instructions[m].outputs[0] for block in blocks for m in block.members}
    whole = frozenset(
        made
        for made, written in parts.items()
        for i in written
        if not (i.primitive.view or i.primitive.kind == "bilinear" or i.outputs[0] in inside)
    )
    apart = _rewritten(program, whole)[0] if whole else apart
    return without_dead_code(without_repetitions(apart))


def _rewritten(
    program: Program, whole: Collection[int]
) -> tuple[Program, dict[int, list[Instruction]]]:
    """The program with parts in the place of all composites but those that make `whole`; and the
    parts, by what they make."""
    writer = _PartsWriter(program, whole)
    made: list[Instruction] = []
    found: dict[int, list[Instruction]] = {}
    for instruction in program.instructions:
        if writer.is_absorbed(instruction):
            continue
        parts = writer.parts_of(instruction)
        if parts is not None:
            found[instruction.outputs[0]] = parts
        made += [instruction] if parts is None else parts
    return replace(program, instructions=made, types=writer.types), found
