"""Is a program well-formed? Every value is made before it is read, made once, and has the type that
its primitive gives it.

What type a primitive gives is found by running it on ones of the operands' types (a diagonal of
ones for square matrices, so that they have an inverse). Equal questions are asked once, so a
million scalar instructions are checked in a moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import backend, functions
from ..core.apply import compute
from ..core.primitive import registry
from ..errors import ProgramError
from .instructions import Instruction, Literal, Ref, Type, map_params
from .passes import hashable

if TYPE_CHECKING:
    from .program import Program


def check(program: Program) -> None:
    """Raise ProgramError naming the first thing that is wrong."""
    known: set[int] = set()
    count = len(program.types)
    for kind, numbers in (
        ("input", program.inputs),
        ("captured value", program.captured),
        ("constant", program.constants),
    ):
        for n in numbers:
            if not 0 <= n < count:
                raise ProgramError(
                    f"{kind} %{n} has no type: the program knows the types of {count} values."
                )
            if n in known:
                raise ProgramError(f"{kind} %{n} is there twice.")
            known.add(n)
    for n, array in program.constants.items():
        given = Type(array.shape, array.dtype, backend.device_of(array))
        if given != program.types[n]:
            raise ProgramError(
                f"constant {program.name_of(n)} is {given!r}, but the program says"
                f" {program.types[n]!r}."
            )
    answers: dict[Any, tuple[Type, ...] | None] = {}
    for at, instruction in enumerate(program.instructions):
        _check_names(program, at, instruction, known, count)
        _check_types(program, at, instruction, answers)
        known.update(instruction.outputs)
    for n in program.kept():
        if n not in known:
            raise ProgramError(f"the result %{n} is never made.")
    for n, value in program.updates.items():
        if program.types[n] != program.types[value]:
            raise ProgramError(
                f"{program.name_of(n)} ({program.types[n]!r}) cannot hold {program.name_of(value)}"
                f" ({program.types[value]!r})."
            )


def _check_names(
    program: Program, at: int, instruction: Instruction, known: set[int], count: int
) -> None:
    what = f"instruction {at} ({instruction.primitive.name})"
    primitive = instruction.primitive
    if registry.get(primitive.name) is not primitive:
        raise ProgramError(f"{what}: there is no such primitive.")
    if not primitive.variadic and len(instruction.operands) != len(primitive.inputs):
        raise ProgramError(
            f"{what}: takes {len(primitive.inputs)} operands {primitive.inputs}, got"
            f" {len(instruction.operands)}."
        )
    for n in instruction.reads():
        if n not in known:
            raise ProgramError(f"{what}: reads %{n} before it is made.")
    if len(instruction.outputs) != primitive.outputs:
        raise ProgramError(
            f"{what}: makes {primitive.outputs} values, but names {len(instruction.outputs)}."
        )
    for n in instruction.outputs:
        if not 0 <= n < count:
            raise ProgramError(f"{what}: its result %{n} has no type.")
        if n in known:
            raise ProgramError(f"{what}: %{n} is made a second time. Each value is made once.")


def _check_types(
    program: Program, at: int, instruction: Instruction, answers: dict[Any, tuple[Type, ...] | None]
) -> None:
    operands = tuple(program.types[o] if type(o) is int else o for o in instruction.operands)
    refs = tuple(program.types[n] for n in instruction.reads())
    key = (
        instruction.primitive,
        operands,
        refs,
        tuple((k, hashable(v)) for k, v in sorted(instruction.params.items())),
    )
    if key not in answers:
        answers[key] = yielded(program, instruction)
    given = answers[key]
    stated = tuple(program.types[n] for n in instruction.outputs)
    if given is not None and given != stated:
        raise ProgramError(
            f"instruction {at} ({instruction.primitive.name}) gives {', '.join(map(repr, given))},"
            f" but the program says {', '.join(map(repr, stated))} for"
            f" {', '.join(program.name_of(n) for n in instruction.outputs)}."
        )


def yielded(program: Program, instruction: Instruction) -> tuple[Type, ...] | None:
    """The types of an instruction's results; None where they depend on values."""
    name = instruction.primitive.name
    if instruction.primitive.shape == "data":
        return None
    operands = [
        o.value if type(o) is Literal else _sample(program.types[o]) for o in instruction.operands
    ]
    params = map_params(instruction.params, Ref, lambda ref: _zeros(program.types[ref.number]))
    before = functions.random_state() if instruction.primitive.random else None
    try:
        with backend.ignore_float_errors():
            result = compute(instruction.primitive, operands, params)
    except (
        ValueError,
        IndexError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RuntimeError,
    ) as error:
        types = ", ".join(repr(program.types[n]) for n in instruction.reads())
        raise ProgramError(
            f"{name} cannot be applied to {types or instruction.operands}: {error}"
        ) from None
    finally:
        if before is not None:
            functions.set_random_state(before)
    results = result if instruction.primitive.outputs != 1 else (result,)
    if instruction.primitive.shape == "masks" and any(
        program.types[n].dtype.kind == "b" for n in instruction.reads()[1:]
    ):
        return None
    return tuple(Type(r.shape, r.dtype, backend.device_of(r)) for r in results)


def _sample(kind: Type) -> Any:
    """An array (or number) of this type on which most operations are defined."""
    if kind.number:
        return 1.0
    like = _device_model(kind)
    if len(kind.shape) > 1 and kind.shape[-1] == kind.shape[-2]:
        unit = backend.identity_columns(kind.shape[-1], 0, kind.shape[-1], kind.dtype, like)
        return backend.array_module([like]).broadcast_to(unit, kind.shape)
    return backend.ones(kind.shape, kind.dtype, like)


def _zeros(kind: Type) -> Any:
    return backend.materialise(backend.zeros(kind.shape, kind.dtype, _device_model(kind)))


def _device_model(kind: Type) -> Any:
    return backend.to_device(backend.numpy.zeros(()), kind.device)
