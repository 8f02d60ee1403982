"""Composite operations as their parts, so that kernels on the CPU take these in.

A softmax, say, is one operation because NumPy has a short path for it. But what comes before it and
after it cannot be in one loop with it. So in programs with kernels, and only there, an operation
that declares its `parts` (facets.py) is replaced by them, if all of them but products of matrices
and views are then in kernels. They compute what the operation does, within rounding.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from ..backend import DType, Shape, numpy
from ..core.primitive import Primitive
from ..core.tensor import Payload
from ..ops.operators import attach_operators
from .fused import Language
from .instructions import Instruction, Literal, Type
from .passes import without_repetitions
from .row_groups import Finder

if TYPE_CHECKING:
    from .program import Program


class _Writer:
    """Writes parts as instructions. types: of all values of the program, which grows."""

    def __init__(self, types: list[Type]) -> None:
        self.types = types
        self.written: list[Instruction] = []
        self.phase = ""

    def parts_of(self, instruction: Instruction) -> list[Instruction] | None:
        """The parts of a composite operation, the last of which makes its result; None for an
        operation that declares none."""
        declared = instruction.primitive.parts
        if declared is None or any(type(o) is Literal for o in instruction.operands):
            return None
        self.written, self.phase = [], instruction.phase
        dtype = self.types[instruction.outputs[0]].dtype
        values = [_Value(self, n, self.types[n].shape, dtype) for n in instruction.reads()]
        declared(*values, **instruction.params)
        last = self.written.pop()
        return [*self.written, last.like(last.operands, last.params, instruction.outputs)]

    def write(self, primitive: Primitive, operands: Sequence[Any], params: Any) -> _Value:
        """One part."""
        given = [o for o in operands if type(o) is _Value]
        shape, dtype = _shape_of(primitive, [v.shape for v in given], params), given[0].dtype
        self.types.append(Type(shape, dtype))
        made = len(self.types) - 1
        numbers = tuple(o.number if type(o) is _Value else Literal(o) for o in operands)
        self.written.append(Instruction(primitive, numbers, params, (made,), self.phase))
        return _Value(self, made, shape, dtype)


def _shape_of(primitive: Primitive, shapes: list[Shape], params: dict[str, Any]) -> Shape:
    """The shape of a part's result, as the part declares it."""
    if primitive.shape == "broadcast":
        return numpy.broadcast_shapes(*shapes)
    if primitive.shape == "given":
        return tuple(params["shape"])
    assert callable(primitive.shape), primitive
    return tuple(primitive.shape(*shapes, **params))


class _Value(Payload):
    """A value of which only its number and type are known, in the place of an array: an operation
    on it writes an instruction."""

    __slots__ = ("dtype", "number", "shape", "writer")

    def __init__(self, writer: _Writer, number: int, shape: Shape, dtype: DType) -> None:
        self.writer, self.number, self.shape, self.dtype = writer, number, shape, dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @staticmethod
    def __minigrad_apply__(primitive: Primitive, operands: Sequence[Any], params: Any) -> _Value:
        """Write this operation."""
        value = next(o for o in operands if type(o) is _Value)
        return value.writer.write(primitive, operands, params)


attach_operators(_Value)


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
    return without_repetitions(_rewritten(program, whole)[0] if whole else apart)


def _rewritten(
    program: Program, whole: Collection[int]
) -> tuple[Program, dict[int, list[Instruction]]]:
    """The program with parts in the place of all composites but those that make `whole`; and the
    parts, by what they make."""
    writer = _Writer(list(program.types))
    made: list[Instruction] = []
    found: dict[int, list[Instruction]] = {}
    for instruction in program.instructions:
        parts = None if instruction.outputs[0] in whole else writer.parts_of(instruction)
        if parts is not None:
            found[instruction.outputs[0]] = parts
        made += [instruction] if parts is None else parts
    rewritten = type(program)(
        program.inputs,
        program.constants,
        made,
        program.outputs,
        writer.types,
        program.names,
        captured=program.captured,
        updates=program.updates,
        gradients=program.gradients,
        decisions=program.decisions,
        signature=program.signature,
        name=program.name,
    )
    return rewritten, found
