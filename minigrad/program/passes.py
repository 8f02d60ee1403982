"""Make a program smaller without changing a bit of its results.

Each pass takes a program and returns a new one. They are short because every value is assigned
once: two instructions that read the same values with the same parameters make the same value, and
an instruction whose values are never read can be removed. Random draws are never merged and never
left out (each one moves the generator on, and so changes all later draws).

Sources: value numbering, J. Cocke 1970; dead code and constant folding as in any book on compilers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import backend
from ..backend import is_immutable, owns_fresh_memory
from ..core.apply import compute
from ..errors import AutogradError
from .instructions import Instruction, Literal, Ref, map_params

if TYPE_CHECKING:
    from .program import Program

SMALL = 4096
"""Bytes up to which equal constants are looked for and folded results are kept."""


def simplified(program: Program) -> Program:
    """Repeated computations merged, then constant ones done, then dead code removed."""
    return without_dead_code(with_constants_folded(without_repetitions(program)))


def without_dead_code(program: Program) -> Program:
    """Without instructions whose values are never read, and without unused constants and captured
    inputs."""
    needed = {*program.kept(), *program.updates, *program.gradients}
    kept: list[Instruction] = []
    for instruction in reversed(program.instructions):
        if instruction.is_run_always() or any(n in needed for n in instruction.outputs):
            needed.update(instruction.reads())
            kept.append(instruction)
    kept.reverse()
    return renumbered(program, kept, {}, needed, program.constants)


def without_repetitions(program: Program) -> Program:
    """Each computation once: an instruction that repeats an earlier one is replaced by that
    one's values.
    """
    same: dict[int, int] = {}
    found: dict[Any, tuple[int, ...]] = {}
    for number, array in program.constants.items():
        if array.nbytes <= SMALL:
            key = hashable(array)
            same[number] = found.setdefault(key, (number,))[0]
    constants = {n: a for n, a in program.constants.items() if same.get(n, n) == n}
    kept: list[Instruction] = []
    for instruction in program.instructions:
        instruction = _replaced(instruction, same)
        if not instruction.primitive.random:
            params = (
                tuple((k, hashable(v)) for k, v in sorted(instruction.params.items()))
                if instruction.params
                else ()
            )
            earlier = found.setdefault(
                (instruction.primitive, instruction.operands, params), instruction.outputs
            )
            if earlier is not instruction.outputs:
                same.update(zip(instruction.outputs, earlier, strict=True))
                continue
        kept.append(instruction)
    return renumbered(program, kept, same, None, constants)


def with_constants_folded(program: Program) -> Program:
    """Instructions that read constants only are run now, where their result is small and no view
    of another array.

    Kernels are deterministic, so the result is the one that each run would compute; an instruction
    that fails is left to fail then.
    """
    constants = dict(program.constants)
    kept: list[Instruction] = []
    for instruction in program.instructions:
        result = (
            _folded(instruction, constants) if _may_fold(program, instruction, constants) else None
        )
        if result is None:
            kept.append(instruction)
        else:
            constants[instruction.outputs[0]] = result
    return renumbered(program, kept, {}, None, constants)


def _may_fold(program: Program, instruction: Instruction, constants: dict[int, Any]) -> bool:
    primitive = instruction.primitive
    return (
        primitive.outputs == 1
        and not primitive.view
        and not primitive.random
        and program.types[instruction.outputs[0]].nbytes <= SMALL
        and all(n in constants for n in instruction.reads())
    )


def _folded(instruction: Instruction, constants: dict[int, Any]) -> Any:
    operands = [o.value if type(o) is Literal else constants[o] for o in instruction.operands]
    params = map_params(instruction.params, Ref, lambda ref: constants[ref.number])
    try:
        with backend.ignore_float_errors():
            result = compute(instruction.primitive, operands, params)
    except (AutogradError, ArithmeticError, ValueError, IndexError):
        return None
    return result if is_immutable(result) or owns_fresh_memory(result) else None


# ------------------------------------------------------------------------------------------ helpers


def _replaced(instruction: Instruction, same: dict[int, int]) -> Instruction:
    """The instruction with values replaced by others; the same object where nothing changes."""
    if not any(n in same for n in instruction.reads()):
        return instruction
    operands = tuple(same.get(o, o) if type(o) is int else o for o in instruction.operands)
    params = map_params(instruction.params, Ref, lambda ref: Ref(same.get(ref.number, ref.number)))
    return instruction.like(operands, params, instruction.outputs)


def renumbered(
    program: Program,
    instructions: list[Instruction],
    same: dict[int, int],
    needed: set[int] | None,
    constants: dict[int, Any],
) -> Program:
    """A program of these instructions in which values are numbered densely: inputs, captured values
    and constants first, then results in their order. `same` maps values to those that replace them;
    `needed` (None: all) limits captured values and constants.
    """
    order = [*program.inputs]
    order += [n for n in program.captured if needed is None or n in needed]
    order += [n for n in constants if (needed is None or n in needed)]
    for instruction in instructions:
        order += instruction.outputs
    new = {old: number for number, old in enumerate(order)}
    for old, other in same.items():
        if other in new and old not in new:
            new[old] = new[other]
    made = []
    for i in instructions:
        operands = tuple([new[o] if type(o) is int else o for o in i.operands])
        params = (
            map_params(i.params, Ref, lambda ref: Ref(new[ref.number])) if i.params else i.params
        )
        made.append(i.like(operands, params, tuple([new[n] for n in i.outputs])))
    names: dict[int, str] = {}
    for old, name in program.names.items():
        if old in new:
            names.setdefault(new[old], name)
    return replace(
        program,
        inputs=[new[n] for n in program.inputs],
        constants={
            new[n]: a for n, a in constants.items() if n in new and (needed is None or n in needed)
        },
        instructions=made,
        outputs=[new[n] for n in program.outputs],
        types=[program.types[n] for n in order],
        names=names,
        captured={new[n]: place for n, place in program.captured.items() if n in new},
        updates={new[n]: new[v] for n, v in program.updates.items()},
        gradients={new[n]: None if v is None else new[v] for n, v in program.gradients.items()},
    )


def hashable(value: Any) -> Any:
    """A parameter or constant as something that can be compared exactly: numbers by type and
    bits, arrays by bytes and layout.
    """
    if hasattr(value, "strides"):  # an array, of whatever library
        return (
            "array",
            str(value.dtype),
            value.shape,
            value.strides,
            type(value),
            bytes(backend.to_numpy(value).tobytes()),
        )
    if isinstance(value, tuple | list):
        return (type(value), tuple(hashable(v) for v in value))
    if isinstance(value, dict):
        return ("dict", tuple((k, hashable(v)) for k, v in value.items()))
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    if isinstance(value, bool | int | float | complex):
        return (type(value), repr(value))
    return value
