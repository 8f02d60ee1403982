"""Where each value of a program lies, how long it must live, and how few buffers that takes.

A *root* is a value that owns memory; views share the memory of their root and keep it alive. What
is a view and what a copy depends on how arrays lie in memory, so these facts are not guessed:
they are observed in a first, plain run (`Facts`), and hold for all runs with inputs of the same
layout. Then one walk over the program finds each root's last reader; a buffer that will not be read
again is the next one to be written (`Arena`). Giving memory out greedily in program order is the
linear scan of register allocators (Poletto and Sarkar 1999). Bytes are those of the values that
instructions make; inputs, captured values and constants are not counted.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

from ..backend import (
    PYTHON_SCALARS,
    Array,
    NumpyArray,
    copy_with_strides_of,
    is_immutable,
    numpy,
    owner_of,
)

if TYPE_CHECKING:
    from .program import Program


class Facts:
    """What a plain run showed about each value, by number.

    strides: None for bare numbers (NumPy scalars, which no buffer can hold); root: number of the
    value that owns the memory; size: bytes of that memory, for roots.
    """

    __slots__ = ("_owners", "plain", "root", "size", "strides")

    def __init__(self, count: int) -> None:
        self.strides: list[tuple[int, ...] | None] = [None] * count
        self.root = list(range(count))
        self.size = [0] * count
        self.plain = [
            False
        ] * count  # an ordinary array or number, as kernels return it (nothing to convert)
        self._owners: list[Any] = [None] * count

    def note(self, number: int, array: Array, operands: Sequence[int] = ()) -> None:
        """Note what is given, or a result of an instruction that read `operands`."""
        if is_immutable(array) or type(array) in PYTHON_SCALARS:
            return
        self.strides[number] = tuple(array.strides)
        owner = owner_of(array)
        for operand in operands:
            if self._owners[operand] is owner:
                self.root[number] = self.root[operand]
                self._owners[number] = owner
                return
        self._owners[number] = owner
        self.size[number] = int(getattr(owner, "nbytes", array.nbytes))

    def forget(self, number: int) -> None:
        """The value is dead: its memory may come back as another's."""
        self._owners[number] = None

    def done(self) -> None:
        """The run is over: hold no arrays."""
        self._owners = []


def fresh(array: Any) -> Any:
    """A copy in the same layout: memory that no program reads or writes."""
    return copy_with_strides_of(array, array)


def overlap_key(array: Array) -> int:
    """A number that arrays with memory of one owner share; 0 where the owner is unknown."""
    if array.base is None:
        return id(array)
    owner = owner_of(array)
    return id(owner) if owner.base is None else 0


def overlapping(arrays: Sequence[Array], others: Sequence[Array] = ()) -> bool:
    """Whether one of `arrays` shares memory with another one of them, or with one of `others`
    (judged by where they begin and end)."""
    arrays, others = (
        [a for a in some if type(a) is NumpyArray and a.size] for some in (arrays, others)
    )
    keys = [overlap_key(a) for a in (*arrays, *others)]
    if len(set(keys)) == len(keys) and 0 not in keys:
        return False
    share = numpy.may_share_memory
    return any(share(a, b) for i, a in enumerate(arrays) for b in (*arrays[i + 1 :], *others))


def last_uses(program: Program, facts: Facts) -> list[int]:
    """For each root the index of the last instruction that reads it or a view of it (the
    number of instructions if it lives on).
    """
    last = program.last_reads()
    roots = [-1] * len(last)
    for number, at in enumerate(last):
        root = facts.root[number]
        if at > roots[root]:
            roots[root] = at
    return roots


def deaths(program: Program, facts: Facts) -> dict[int, list[int]]:
    """For each instruction the roots that are not read after it."""
    dying: dict[int, list[int]] = {}
    for root, at in enumerate(last_uses(program, facts)):
        if facts.root[root] == root and at >= 0:
            dying.setdefault(at, []).append(root)
    return dying


def plain_peak(program: Program, facts: Facts) -> int:
    """The most bytes alive at once when each result is allocated when made and freed after its
    last reader: without a plan.
    """
    dying, alive, peak = deaths(program, facts), 0, 0
    made: set[int] = set()
    for at, instruction in enumerate(program.instructions):
        for number in instruction.outputs:
            if facts.root[number] == number:
                alive += facts.size[number]
                made.add(number)
        peak = max(peak, alive)
        alive -= sum(facts.size[root] for root in dying.get(at, ()) if root in made)
    return peak


def total_bytes(program: Program, facts: Facts) -> int:
    """Bytes of all values made: what would be needed if nothing died, as under a graph that
    keeps everything.
    """
    return sum(facts.size[n] for i in program.instructions for n in i.outputs if facts.root[n] == n)


@final
class Allocation:
    """A stretch of the block: its offset and bytes, and when it was taken and given back (None:
    never).
    """

    __slots__ = ("given", "offset", "size", "taken")

    def __init__(self, offset: int, size: int, taken: int) -> None:
        self.offset, self.size, self.taken = offset, size, taken
        self.given: int | None = None

    def meets(self, other: Allocation) -> bool:
        """Whether both were in use at some time."""
        return (other.given is None or self.taken < other.given) and (
            self.given is None or other.taken < self.given
        )


class Arena:
    """One block of memory from which pieces are handed out, given back and handed out again.

    `take` gives the smallest free stretch that is large enough (cutting off the rest) and lets the
    block grow where there is none; `give` joins a stretch with its free neighbours. Bytes are
    rounded up to `ALIGNMENT`. When all is taken and given, `arrange` knows what `take`
    could not: who comes later. It places the largest piece first, each at the lowest offset that is
    free while it lives, and keeps what is smaller, this or the first arrangement (greedy by size:
    Pisarchyk and Lee 2020).
    """

    ALIGNMENT = 64
    MOST = 1_000  # pieces that are rearranged: each is compared with all others

    def __init__(self) -> None:
        self.total = 0
        self.pieces: list[Allocation] = []
        self.reused = 0
        self._clock = 0
        self._free: list[tuple[int, int]] = []  # (offset, bytes), by offset

    def take(self, size: int) -> Allocation:
        """A piece of at least `size` bytes."""
        size = -(-size // self.ALIGNMENT) * self.ALIGNMENT
        self._clock += 1
        piece = Allocation(self._place(size), size, self._clock)
        self.pieces.append(piece)
        return piece

    def _place(self, size: int) -> int:
        best = min(
            (free for free in self._free if free[1] >= size), key=lambda free: free[1], default=None
        )
        if best is not None:
            self.reused += 1
            at = self._free.index(best)
            self._free[at : at + 1] = [(best[0] + size, best[1] - size)] if best[1] > size else []
            return best[0]
        start = self.total
        if (
            self._free and sum(self._free[-1]) == self.total
        ):  # the end of the block is free: only the rest is new
            start = self._free.pop()[0]
            self.reused += 1
        self.total = start + size
        return start

    def give(self, piece: Allocation) -> None:
        """Take a piece back."""
        self._clock += 1
        piece.given = self._clock
        start, size = piece.offset, piece.size
        at = bisect(self._free, (start, size))
        if at < len(self._free) and self._free[at][0] == start + size:
            size += self._free.pop(at)[1]
        if at and sum(self._free[at - 1]) == start:
            start, before = self._free.pop(at - 1)
            size, at = size + before, at - 1
        self._free.insert(at, (start, size))

    def arrange(self) -> None:
        """Place all pieces again if that makes the block smaller. Nothing is taken or given
        afterwards."""
        if len(self.pieces) > self.MOST:
            return
        placed: list[tuple[int, Allocation]] = []  # by offset
        for piece in sorted(self.pieces, key=lambda p: (-p.size, p.taken)):
            offset = 0
            for start, other in placed:
                if not piece.meets(other):
                    continue
                if offset + piece.size <= start:
                    break
                offset = max(offset, start + other.size)
            insort(placed, (offset, piece), key=lambda entry: entry[0])
        total = max((offset + piece.size for offset, piece in placed), default=0)
        if total < self.total:
            self.total = total
            for offset, piece in placed:
                piece.offset = offset
