"""Convolutions side by side as one, in programs with kernels.

    cat([conv(x, w1) + b1, conv(x, w2) + b2], 1)   =   conv(x, cat([w1, w2])) + cat([b1, b2])

Blocks of several convolutions of one input (GoogLeNet's, Szegedy et al. 2015) copy that input once
for each. As one convolution they are also one larger product of matrices, and the bias is in one
loop with what follows. In the reverse pass the joined gradient g is read in slices, g1 and g2:
convolutions of these with w1 and w2 that are added are one convolution of g; gradients of w1 and
w2, and sums of g1 and g2, are slices of those of g. Results are the same within rounding: larger
products may add in another order, and the gradient of x is rounded once, not once for each slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..backend import Shape
from ..core.primitive import Primitive
from ..ops.convolution import convolve, convolve_input, convolve_weight
from ..ops.elementwise import add
from ..ops.index import slice_
from ..ops.shape import cat, sum_to
from .instructions import Instruction, Type
from .passes import hashable, without_dead_code

if TYPE_CHECKING:
    from .program import Program


def with_joined_convolutions(program: Program) -> Program:
    """The program with convolutions of one input whose results are joined as one convolution."""
    joining = _Joining(program)
    for instruction in program.instructions:
        joining.take(instruction)
    if len(joining.types) == len(program.types):
        return program
    return without_dead_code(replace(program, instructions=joining.made, types=joining.types))


class _Joining:
    """Writes the instructions of the new program. made: those so far; types: of all values."""

    def __init__(self, program: Program) -> None:
        self.types, self.made = list(program.types), list[Instruction]()
        self._maker = {n: i for i in program.instructions for n in i.outputs}
        self._readers = program.readers()
        self._slices: dict[int, list[tuple[slice, int]]] = {}  # of the channels of each value
        self._of: dict[Any, dict[int, Instruction]] = {}  # what is made of such slices, by kind
        for i in program.instructions:
            if (part := self._channels(i)) is not None:
                self._slices.setdefault(i.reads()[0], []).append((part, i.outputs[0]))
            elif (key := self._kind(i)) is not None:
                self._of.setdefault(key, {}).setdefault(i.reads()[-1], i)
        self._joined: dict[Any, int] = {}

    def take(self, instruction: Instruction) -> None:
        """Write the instruction, or what stands in its place."""
        take = {
            cat: self._side_by_side,
            add: self._added,
            convolve_weight: self._sliced,
            sum_to: self._sliced,
        }.get(instruction.primitive)
        if take is None or not take(instruction):
            self.made.append(instruction)

    def _write(
        self,
        primitive: Primitive,
        operands: Sequence[int],
        params: dict[str, Any],
        shape: Shape,
        like: Instruction,
    ) -> int:
        """One instruction with a new value."""
        self.types.append(Type(shape, self.types[like.outputs[0]].dtype))
        value = len(self.types) - 1
        self.made.append(Instruction(primitive, tuple(operands), params, (value,), like.phase))
        return value

    def _cat(self, parts: Sequence[int], like: Instruction) -> int:
        """Values joined along their first axis."""
        shapes = [self.types[n].shape for n in parts]
        sizes = tuple(shape[0] for shape in shapes)
        params = {"axis": 0, "sizes": sizes}
        return self._write(cat, parts, params, (sum(sizes), *shapes[0][1:]), like)

    def _read_once(self, number: int, primitive: Primitive) -> Instruction | None:
        """What makes a value, if it is this operation on values and is read by one other alone."""
        maker = self._maker.get(number)
        fits = (
            maker is not None and maker.primitive is primitive and len(self._readers[number]) == 1
        )
        return maker if fits and maker and len(maker.reads()) == len(maker.operands) else None

    # ---------------------------------------------------------------------------------- forward

    def _side_by_side(self, instruction: Instruction) -> bool:
        """Write joined convolutions, with their biases, as one."""
        branches = [self._branch(n) for n in instruction.reads()]
        found = [b for b in branches if b is not None]
        if instruction.params["axis"] != 1 or len(found) < max(2, len(branches)):
            return False
        if len({(c.reads()[0], hashable(c.params), _inner(self, c)) for c, _ in found}) > 1:
            return False
        biases = [b for _, b in found if b is not None]
        if len(biases) not in (0, len(found)):
            return False
        first = found[0][0]
        shape = self.types[instruction.outputs[0]].shape
        weights = self._cat([c.reads()[1] for c, _ in found], instruction)
        operands = first.reads()[0], weights
        if not biases:
            self.made.append(
                Instruction(convolve, operands, first.params, instruction.outputs, first.phase)
            )
            return True
        whole = self._write(convolve, operands, first.params, shape, instruction)
        bias = self._cat(biases, instruction)
        self.made.append(Instruction(add, (whole, bias), {}, instruction.outputs, first.phase))
        return True

    def _branch(self, number: int) -> tuple[Instruction, int | None] | None:
        """A convolution, with what is added to each of its channels (None: nothing)."""
        if (alone := self._read_once(number, convolve)) is not None:
            return alone, None
        total = self._read_once(number, add)
        a, b = total.reads() if total is not None else (number, number)
        for made, bias in ((a, b), (b, a)):
            convolution = self._read_once(made, convolve)
            shape = self.types[made].shape
            if convolution is not None and self.types[bias].shape == (
                shape[1],
                *(1,) * (len(shape) - 2),
            ):
                return convolution, bias
        return None

    # --------------------------------------------------------------------------------- backward

    def _channels(self, instruction: Instruction) -> slice | None:
        """Which channels an instruction cuts out; None for other instructions."""
        if instruction.primitive is not slice_:
            return None
        index = instruction.params["index"]
        if type(index) is not tuple or len(index) != 2 or any(type(i) is not slice for i in index):
            return None
        return index[1] if index[0] == slice(None) and index[1].step in (None, 1) else None

    def _parts(self, value: int) -> list[tuple[slice, int]]:
        """The slices of a value, if they are all its channels, in their order; else none."""
        shape = self.types[value].shape
        parts = sorted(
            {(*part.indices(shape[1])[:2], n) for part, n in self._slices.get(value, ())}
        )
        ends = [0, *(stop for _, stop, _ in parts)]
        whole = len(parts) > 1 and ends[-1] == shape[1]
        if not whole or any(start != end for (start, *_), end in zip(parts, ends, strict=False)):
            return []
        return [(slice(start, stop), n) for start, stop, n in parts]

    def _source(self, number: int) -> int | None:
        """Of which value a value is a slice of channels."""
        maker = self._maker.get(number)
        return maker.reads()[0] if maker is not None and self._channels(maker) is not None else None

    def _added(self, instruction: Instruction) -> bool:
        """Write the sum of convolutions of all slices of one value as one convolution."""
        terms = self._terms(instruction)
        sources = {self._source(t.reads()[0]) for t in terms}
        (source,) = sources if len(sources) == 1 else (None,)
        if source is None or len({(hashable(t.params), _inner(self, t)) for t in terms}) > 1:
            return False
        of = {t.reads()[0]: t.reads()[1] for t in terms}
        parts = [n for _, n in self._parts(source)]
        if set(of) != set(parts) or len(terms) != len(parts):
            return False
        weights = self._cat([of[n] for n in parts], instruction)
        params = terms[0].params
        self.made.append(
            Instruction(
                convolve_input, (source, weights), params, instruction.outputs, instruction.phase
            )
        )
        return True

    def _terms(self, instruction: Instruction) -> list[Instruction]:
        """The convolutions of which an instruction is the sum; none if it is another sum."""
        terms: list[Instruction] = []
        if len(instruction.reads()) != 2:
            return []
        for n in instruction.reads():
            term = self._read_once(n, convolve_input)
            more = self._read_once(n, add) if term is None else None
            found = [term] if term is not None else self._terms(more) if more is not None else []
            if not found:
                return []
            terms += found
        return terms

    def _kind(self, instruction: Instruction) -> Any:
        """What the instructions on all slices of a value have in common that may be one; None for
        others."""
        if instruction.primitive not in (convolve_weight, sum_to):
            return None
        *others, last = instruction.reads()
        source = self._source(last)
        if source is None:
            return None
        if instruction.primitive is convolve_weight:
            return convolve_weight, source, *others, hashable(instruction.params)
        shape, whole = instruction.params["shape"], self.types[last].shape
        axis = len(shape) - len(whole) + 1  # of the channels
        fits = axis >= 0 and shape[axis] == whole[1]
        return (sum_to, source, *shape[:axis], *shape[axis + 1 :], axis) if fits else None

    def _sliced(self, instruction: Instruction) -> bool:
        """Write what is made of a slice as a slice of what is made of all."""
        key = self._kind(instruction)
        parts = self._parts(key[1]) if key is not None else []
        of = self._of.get(key, {})
        last = instruction.reads()[-1]
        if not parts or {*of} != {n for _, n in parts}:
            return False
        shape = self.types[instruction.outputs[0]].shape
        axis = 0 if instruction.primitive is convolve_weight else key[-1]
        whole = (*shape[:axis], parts[-1][0].stop, *shape[axis + 1 :])
        if key not in self._joined:
            params = dict(instruction.params)
            if instruction.primitive is sum_to:
                params["shape"] = whole
            operands = [*instruction.reads()[:-1], key[1]]
            self._joined[key] = self._write(
                instruction.primitive, operands, params, whole, instruction
            )
        part = next(part for part, n in parts if n == last)
        index = (*(slice(None),) * axis, part)
        self.made.append(
            Instruction(
                slice_,
                (self._joined[key],),
                {"index": index},
                instruction.outputs,
                instruction.phase,
            )
        )
        return True


def _inner(joining: _Joining, convolution: Instruction) -> Shape:
    """The shape of a convolution's weight without the number of its results."""
    return joining.types[convolution.reads()[1]].shape[1:]
