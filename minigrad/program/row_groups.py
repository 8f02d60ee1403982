"""Which instructions of a program on the CPU can run as one loop over rows: chains of element-wise
operations, and the sums among them.

A *block* is an array shape S, cut into rows: some neighbouring axes count the rows, the others the
elements of a row. In most blocks the axes that count come first; the rows of a batch of images are
its channels, each in pieces, one of every image. Every value of a block is one of these, as its
shape says:

    full     one number for each element: a matrix of activations
    row      one number for each row: the sums of softmax, of shape (n, 1)
    column   one number for each place in a row: a bias; only of rows in one piece
    one      a single number

A sum over the axes of a row makes a `row`, which other members may read: the loop then goes over
that row once more. So does the largest element of a row. A sum over the axes that count the rows (a
bias's gradient), and one over all axes (a loss), is complete when the loop has ended, so no member
reads it.

An instruction joins the blocks whose values it reads, and those that read the same large array.
Any other reader of what a block makes ends it, as in fused.py. So a sum comes directly behind what
it sums (`with_early_sums`): behind a product that reads the same gradient, it would find the block
ended. Views that only give a value another shape (reshape, broadcast_to) are looked through.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, final

from ..backend import Shape
from ..ops.shape import broadcast_to, reshape
from .fused import LONGEST, Language, expression
from .instructions import Instruction
from .passes import renumbered

if TYPE_CHECKING:
    from .program import Program

ALONE = 4096
"""Numbers from which on their sum is a kernel by itself."""
PIECE = 16
"""Elements of each piece of a row from which on rows may be in pieces."""
IN_TURN = 64
"""So many float64 numbers are added one after another at most (ops/sums.py says why)."""


def is_costly(text: str) -> bool:
    """Whether an expression calls a function that is written out for float32."""
    return "exp32(" in text or "erf32(" in text


Cut = tuple[int, int]
"""How a shape is cut: its axes from the first number up to the second one count the rows."""


def cuts_of(shape: Shape) -> frozenset[Cut]:
    """Where a shape can be cut: rows in one piece, and rows in pieces that pay for a loop."""
    axes = range(max(len(shape), 1))
    pieces = [hi for hi in axes if math.prod(shape[hi:]) >= PIECE]
    return frozenset(
        [*((0, hi) for hi in axes), *((lo, hi) for hi in pieces for lo in range(1, hi))]
    )


def kind_of(shape: Shape, whole: Shape, cut: Cut) -> str | None:
    """Which kind of value of a block a shape is; None if it is none."""
    if len(shape) > len(whole):
        return None
    aligned = (1,) * (len(whole) - len(shape)) + tuple(shape)
    if aligned == whole:
        return "full"
    if math.prod(aligned) == 1:
        return "one"
    inside = slice(*cut)
    counted = math.prod(aligned[inside])
    if aligned[inside] == whole[inside] and math.prod(aligned) == counted:
        return "row"
    if cut[0] == 0 and counted == 1 and aligned[cut[1] :] == whole[cut[1] :]:
        return "column"
    return None


@final
class Sources:
    """The value in whose memory each value lies, seen through reshape and broadcast_to, and the
    shape with which it is broadcast. through: whether views are seen through."""

    def __init__(self, program: Program, through: bool = True) -> None:
        self.program = program
        self.views: set[int] = set()  # places of instructions that are looked through
        self._known: dict[int, tuple[int, Shape]] = {}
        for at, instruction in enumerate(program.instructions if through else ()):
            is_view = instruction.primitive in (reshape, broadcast_to)
            if is_view and type(instruction.operands[0]) is int:
                self._look(at, instruction, instruction.operands[0])

    def _look(self, at: int, instruction: Instruction, operand: int) -> None:
        root, shape = self.of(operand)
        made = instruction.outputs[0]
        if instruction.primitive is reshape:
            if math.prod(shape) not in (1, math.prod(self.program.types[operand].shape)):
                return  # a broadcast value in another shape
            shape = self.program.types[made].shape if math.prod(shape) != 1 else (1,)
        self.views.add(at)
        self._known[made] = root, shape

    def of(self, number: int) -> tuple[int, Shape]:
        """The value whose memory is read, and the shape that counts."""
        return self._known.get(number) or (number, self.program.types[number].shape)

    def reads(self, instruction: Instruction) -> list[int]:
        """The values whose memory an instruction reads."""
        return [self.of(n)[0] for n in instruction.reads()]


@final
class Block:
    """Instructions (their places) that may become one loop. cuts: how the shape can be cut; sums:
    for each value that is a sum, and each cut, "row", "column" or "total"; open: no instruction
    outside has read one of their results yet."""

    def __init__(
        self,
        members: list[int],
        shape: Shape,
        cuts: frozenset[Cut],
        sums: dict[int, dict[Cut, str]] | None = None,
    ) -> None:
        self.members, self.shape, self.cuts, self.open = members, shape, cuts, True
        self.sums = sums or {}

    @property
    def cut(self) -> Cut:
        """How the shape is cut."""
        return min(self.cuts)

    @property
    def kinds(self) -> dict[int, str]:
        """The kind of each value that is a sum, as the shape is cut."""
        return {n: kinds[self.cut] for n, kinds in self.sums.items()}

    @property
    def is_long_sum(self) -> bool:
        """Whether it sums so many numbers that this alone pays for a kernel."""
        return bool(self.sums) and math.prod(self.shape) >= ALONE

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return math.prod(self.shape[slice(*self.cut)])

    @property
    def pieces(self) -> int:
        """In how many pieces each row lies."""
        return math.prod(self.shape[: self.cut[0]])

    @property
    def columns(self) -> int:
        """How many elements a piece has."""
        return math.prod(self.shape[self.cut[1] :])


def summed(program: Program, instruction: Instruction) -> tuple[Shape, frozenset[int]] | None:
    """The shape that is summed, and its axes longer than 1 that are; None for another operation.
    (So it is where the largest element of many is taken.)"""
    if instruction.primitive.reduction is None or type(instruction.operands[0]) is not int:
        return None
    shape = program.types[instruction.operands[0]].shape
    if "axes" not in instruction.params:
        target = tuple(instruction.params["shape"])
        target = (1,) * (len(shape) - len(target)) + target
        axes = [a for a, n in enumerate(shape) if n != target[a]]
    else:
        axes = [a % len(shape) for a in instruction.params["axes"]]
    return shape, frozenset(a for a in axes if shape[a] > 1)


def sum_kind(shape: Shape, axes: frozenset[int], cut: Cut) -> str | None:
    """Whether a sum over these axes makes a row value, a column value or a total."""
    long = {a for a, n in enumerate(shape) if n > 1}
    counted = long.intersection(range(*cut))
    if axes == long - counted:
        return "row"
    if axes == counted and cut[0] == 0:
        return "column"
    return "total" if axes == long else None


@final
class Finder:
    """Finds the blocks of a program."""

    def __init__(self, program: Program, language: Language) -> None:
        self.program, self.language = program, language
        self.sources = Sources(program)
        self._block_of: dict[int, Block] = {}
        self._reads: dict[int, Block] = {}  # the latest block that reads each large array
        # of instructions, by their results: they are asked for with each cut of each block
        self._expressions: dict[int, str | None] = {}
        self._views_by_value: dict[Any, int] = {
            program.instructions[at].outputs[0]: at for at in self.sources.views
        }

    def blocks(self) -> list[Block]:
        """Blocks of two or more instructions, and of one sum of many numbers."""
        for at, instruction in enumerate(self.program.instructions):
            if at not in self.sources.views:
                self._place(at, instruction)
        found = {id(b): b for b in self._block_of.values()}
        return [b for b in found.values() if len(b.members) > 1 or b.is_long_sum]

    def order(self) -> list[int]:
        """The places of the instructions, with each sum directly behind what it sums where it fits
        the block of that. To be called on a new finder."""
        sums: dict[int, list[int]] = {}
        for at, instruction in enumerate(self.program.instructions):
            if summed(self.program, instruction) is not None:
                sums.setdefault(self.sources.reads(instruction)[0], []).append(at)
        order: dict[int, None] = {}
        waiting = list(range(len(self.program.instructions) - 1, -1, -1))
        while waiting:
            at = waiting.pop()
            instruction = self.program.instructions[at]
            if at in order:
                continue
            order[at] = None
            if at in self.sources.views:
                continue
            self._place(at, instruction)
            for n in instruction.outputs:
                early = [s for s in sums.get(n, ()) if s not in order and self._joins(s)]
                waiting += [p for s in reversed(early) for p in (s, *self._views_before(s))]
        return list(order)

    def _joins(self, at: int) -> bool:
        """Whether an instruction fits the open block whose value it reads."""
        instruction = self.program.instructions[at]
        read = self._read(instruction)
        return bool(read) and self._fits(at, instruction, read[0].shape, read) is not None

    def _views_before(self, at: int) -> list[int]:
        """The places of the views through which an instruction reads its first operand, the last
        one first."""
        found = []
        number = self.program.instructions[at].operands[0]
        while number in self._views_by_value:
            found.append(self._views_by_value[number])
            number = self.program.instructions[found[-1]].operands[0]
        return found

    def _place(self, at: int, instruction: Instruction) -> None:
        read = self._read(instruction)
        shapes = dict.fromkeys([*(b.shape for b in read), *self._own_shape(instruction)])
        fits = None
        for shape in shapes:
            joined = [b for b in read if b.shape == shape]
            beside = self._beside(instruction, shape, joined)
            fits = self._fits(at, instruction, shape, joined + beside) if beside else None
            fits = fits or self._fits(at, instruction, shape, joined)
            if fits is not None:
                break
        for block in read:
            if fits is None or block.shape != fits.shape:
                block.open = False
        if fits is None and read:  # it begins another block
            for shape in self._own_shape(instruction):
                fits = self._fits(at, instruction, shape, [])
        if fits is None:
            return
        for m in fits.members:
            member = self.program.instructions[m]
            self._block_of[member.outputs[0]] = fits
            if math.prod(fits.shape) >= ALONE:
                self._reads.update(dict.fromkeys(self.sources.reads(member), fits))

    def _beside(self, instruction: Instruction, shape: Shape, joined: list[Block]) -> list[Block]:
        """The open blocks of a shape that read a large array which it reads too."""
        found = {
            id(b): b
            for n in self.sources.reads(instruction)
            if math.prod(self.program.types[n].shape) == math.prod(shape)
            if (b := self._reads.get(n)) is not None
        }
        return [b for b in found.values() if b.open and b.shape == shape and b not in joined]

    def _read(self, instruction: Instruction) -> list[Block]:
        """The open blocks whose values it reads."""
        found = [self._block_of.get(n) for n in self.sources.reads(instruction)]
        return list({id(b): b for b in found if b is not None and b.open}.values())

    def _own_shape(self, instruction: Instruction) -> Iterable[Shape]:
        """The shape of a block that may begin here."""
        about = summed(self.program, instruction)
        if about is not None:
            yield about[0]
        elif instruction.outputs:
            yield self.program.types[instruction.outputs[0]].shape

    def _fits(
        self, at: int, instruction: Instruction, shape: Shape, joined: list[Block]
    ) -> Block | None:
        """The block of the joined ones with this instruction; None if it is no member of such."""
        if len(instruction.outputs) != 1 or math.prod(shape) == 0 or instruction.checks:
            return None
        made, reads = instruction.outputs[0], self.sources.reads(instruction)
        sums = {n: kinds for b in joined for n, kinds in b.sums.items()}
        cuts = cuts_of(shape).intersection(*(b.cuts for b in joined))
        for n in reads:
            if n in sums:  # others are complete only when the loop has ended
                cuts = frozenset(c for c in cuts if sums[n].get(c) == "row")
        members = sorted({at, *(m for b in joined for m in b.members)})
        if len(members) > LONGEST:
            return None
        about = summed(self.program, instruction)
        if about is None:
            inside = {self.program.instructions[m].outputs[0] for m in members if m != at}
            cuts = frozenset(
                c
                for c in cuts
                if self._is_member(
                    instruction,
                    shape,
                    c,
                    {n: sums[n].get(c) if n in sums else None for n in inside},
                )
            )
            return Block(members, shape, cuts, sums) if cuts else None
        source, axes = about
        root, seen = self.sources.of(instruction.operands[0])  # type: ignore[arg-type]
        if source != shape or seen != shape or not axes:
            return None
        found = {c: self._sum_kind(instruction, shape, axes, c) for c in cuts}
        kinds = {c: kind for c, kind in found.items() if kind is not None}
        if kinds and self._is_real(root) and self._is_real(made):
            return Block(members, shape, frozenset(kinds), {**sums, made: kinds})
        return None

    def _sum_kind(
        self, instruction: Instruction, shape: Shape, axes: frozenset[int], cut: Cut
    ) -> str | None:
        """As `sum_kind`; None for a sum of float64 numbers that is too long for a plain loop, and
        for a largest element other than that of a row in float32."""
        kind = sum_kind(shape, axes, cut)
        wide = self.program.types[instruction.outputs[0]].dtype.name == "float64"
        if instruction.primitive.reduction == "largest":
            return kind if kind == "row" and not wide else None
        if not wide:
            return kind
        rows = math.prod(shape[slice(*cut)])
        most = {"row": math.prod(shape) // rows, "column": rows, "total": IN_TURN + 1}
        return kind if kind is not None and most[kind] <= IN_TURN else None

    def _is_real(self, number: int) -> bool:
        return self.program.types[number].dtype.name in ("float32", "float64")

    def _expression(self, instruction: Instruction) -> str | None:
        """The scalar expression of an instruction; None for what is in no kernel."""
        (number,) = instruction.outputs
        if number not in self._expressions:
            text = expression(self.program, instruction, None, self.language)
            self._expressions[number] = text
        return self._expressions[number]

    def _is_member(
        self, instruction: Instruction, shape: Shape, cut: Cut, known: dict[int, str | None]
    ) -> bool:
        """Whether an element-wise instruction fits a block that is cut there. known: the values
        that the block makes, and which of them are sums: they must be read as what they are."""
        text = self._expression(instruction)
        types = self.program.types
        narrow = types[instruction.outputs[0]].dtype.itemsize == 4
        if text is None or (not narrow and (is_costly(text) or "log(" in text)):
            return False
        made = kind_of(types[instruction.outputs[0]].shape, shape, cut)
        if "log(" in text and made == "full":  # once a row it costs little
            return False
        if made not in ("full", "row") and not (made == "one" and cut[1] == 0):
            return False
        kinds = []
        for n in instruction.reads():
            root, seen = self.sources.of(n)
            kinds.append(kind_of(seen, shape, cut))
            if root in known:
                own = known[root] or kind_of(types[root].shape, shape, cut)
                own = "one" if own == "row" and cut[1] == 0 else own
                if kinds[-1] != own:
                    return False
        return None not in kinds and (made == "full" or not {"full", "column"} & {*kinds})


def live_values(program: Program, sources: Sources, kernel_of: dict[int, int]) -> set[int]:
    """The values that live on, or are read outside the kernel that makes them. kernel_of: of each
    member of a kernel, by place, a place that stands for that kernel."""
    live = {*program.kept()}
    maker = {program.instructions[m].outputs[0]: kernel for m, kernel in kernel_of.items()}
    for at in range(len(program.instructions) - 1, -1, -1):
        instruction = program.instructions[at]
        if at in kernel_of:
            reads = sources.reads(instruction)
            live.update(n for n in reads if maker.get(n) != kernel_of[at])
        elif at not in sources.views or instruction.outputs[0] in live:
            live.update(instruction.reads())
    return live


def with_early_sums(program: Program, language: Language) -> Program:
    """The program with each sum directly behind what it sums, where both fit one block."""
    order = Finder(program, language).order()
    instructions = [program.instructions[at] for at in order]
    return renumbered(program, instructions, {}, None, program.constants)
