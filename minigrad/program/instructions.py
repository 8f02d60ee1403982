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

A `Program` (program.py) holds a list of them with what they start from and what they give back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, final

from ..backend import DType, Shape
from ..core.primitive import Primitive


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
@dataclass(frozen=True, slots=True)
class Ref:
    """A value of the program in the place of a parameter: the array of indices of `getitem`,
    say.
    """

    number: int

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
    results, one unless the primitive has several; phase: one of PHASES; checks: whether it may
    raise for some values, so that it is run even if nothing reads its results.
    """

    __slots__ = ("checks", "operands", "outputs", "params", "phase", "primitive")

    def __init__(
        self,
        primitive: Primitive,
        operands: tuple[Operand, ...],
        params: dict[str, Any],
        outputs: tuple[int, ...],
        phase: str = "forward",
        checks: bool = False,
    ) -> None:
        self.primitive, self.operands, self.params = primitive, operands, params
        self.outputs, self.phase, self.checks = outputs, phase, checks

    def like(
        self, operands: tuple[Operand, ...], params: dict[str, Any], outputs: tuple[int, ...]
    ) -> Instruction:
        """This instruction on other values."""
        return Instruction(self.primitive, operands, params, outputs, self.phase, self.checks)

    def is_run_always(self) -> bool:
        """Whether it is run even if nothing reads its results: it raises, or moves the random
        generator on."""
        return self.checks or self.primitive.random

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
