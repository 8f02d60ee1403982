"""Instructions of a program as one operation, for which a function is generated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from ..backend import is_immutable, numpy
from ..core.apply import compute
from ..core.primitive import Primitive
from .instructions import Instruction, Literal, Ref, map_params

if TYPE_CHECKING:
    from .program import Program
    from .row_groups import Sources


class KernelOperation(Primitive):
    """Instructions of a program as one operation of a program of its own: no entry of the registry,
    and without derivatives.

    reads, makes: numbers of the values that it reads, and of those that it makes; operations: how
    many it holds.
    """

    def __init__(
        self,
        members: Sequence[Instruction],
        reads: Sequence[int],
        makes: Sequence[int],
        forward: Callable[..., Any],
    ) -> None:
        self.reads, self.makes, self.operations = list(reads), list(makes), len(members)
        self.name = "_".join(["fused", *dict.fromkeys(i.primitive.name for i in members)][:6])
        self.kind, self.keywords, self.outputs = "fused", (), len(makes)
        self.inputs = tuple(f"a{k}" for k in range(len(reads)))
        self.variadic = self.view = self.conjugates = self.takes_out = self.elementwise = False
        self.forward = self.declared_forward = forward
        self.promote, self.accumulates = None, False

    @property
    def text(self) -> str:
        """What it does: the body in C, or as Python the function as it is when all operands but
        Python's numbers are arrays."""
        raise NotImplementedError

    def call(self, phase: str) -> list[Instruction]:
        """The instruction that runs it; none if nothing reads what it makes."""
        call = Instruction(self, tuple(self.reads), {}, tuple(self.makes), phase)
        return [call] if self.makes else []


def kernels_of(program: Program) -> list[KernelOperation]:
    """The kernels of a program, in order."""
    return [i.primitive for i in program.instructions if isinstance(i.primitive, KernelOperation)]


class Generated(KernelOperation):
    """A kernel for which a function is generated.

    arrays: the names of the values that it reads and makes, in the generated text; finds_arrays:
    whether its function can find arrays by their addresses.
    """

    finds_arrays = False

    def __init__(
        self,
        program: Program,
        sources: Sources,
        members: Sequence[Instruction],
        makes: Collection[int],
    ) -> None:
        made = [i.outputs[0] for i in members]
        inside = {*made}
        reads = dict.fromkeys(n for i in members for n in sources.reads(i) if n not in inside)
        super().__init__(members, [*reads], [n for n in made if n in makes], self._interpreted)
        self.steps = _steps(program, members, sources, {*self.reads, *made})
        self.types = program.types
        self.arrays = {n: f"a{k}" for k, n in enumerate((*self.reads, *self.makes))}

    def _interpreted(self, xp: Any, *operands: Any) -> Any:
        """The operations one after another, as the engine computes them: what a kernel means.
        Results are row-major and have memory of their own."""
        values: dict[int, Any] = dict(zip(self.reads, operands, strict=True))
        for step in self.steps:
            given = [o.value if type(o) is Literal else values[o] for o in step.operands]
            params = map_params(step.params, Ref, lambda ref: values[ref.number])
            values[step.outputs[0]] = compute(step.primitive, given, params)
        results = [values[n] for n in self.makes]
        results = [r if is_immutable(r) else _row_major(xp, r) for r in results]
        return tuple(results) if self.outputs != 1 else results[0]

    def function(self, scalars: frozenset[int], held: frozenset[int] = frozenset()) -> Any:
        """The compiled function: it reads `reads` and writes into arrays for `makes`. scalars: the
        positions of operands that are numbers, no arrays; held: of arrays that are no arguments,
        but found by a table of addresses, which then is the first argument."""
        raise NotImplementedError

    def compile(
        self, function: Any, scalars: frozenset[int], held: frozenset[int] = frozenset()
    ) -> None:
        """Compile what `function` gave, for the operands that it will get; else its first call
        does."""
        if not hasattr(function, "compile"):
            return
        from numba import typeof

        examples: list[Any] = [0] if held else []
        for k, n in enumerate((*self.reads, *self.makes)):
            kind = self.types[n]
            if k in held:
                continue
            if k in scalars:
                examples.append(0.0 if kind.number else kind.dtype.type(0))
            else:  # a type tells the number of axes, but no sizes; a single result has one axis
                axes = len(kind.shape) or int(k >= len(self.reads))
                examples.append(numpy.zeros((1,) * axes, kind.dtype))
        function.compile(tuple(map(typeof, examples)))


def _row_major(xp: Any, array: Any) -> Any:
    """A copy whose rows lie one after another."""
    out = xp.empty(array.shape, array.dtype)
    out[...] = array
    return out


def _steps(
    program: Program, members: Sequence[Instruction], sources: Sources, known: set[int]
) -> list[Instruction]:
    """The members, and before each the views through which it reads."""
    places = {program.instructions[at].outputs[0]: at for at in sources.views}
    steps: list[Instruction] = []
    done = set(known)

    def reach(number: int) -> None:
        chain = []
        while number not in done:
            chain.append(program.instructions[places[number]])
            done.add(number)
            (number,) = chain[-1].reads()
        steps.extend(reversed(chain))

    for member in members:
        for n in member.reads():
            reach(n)
        steps.append(member)
    return steps
