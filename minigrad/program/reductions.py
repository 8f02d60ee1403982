"""Reductions in programs with kernels: equal ones are computed once, and what only results need of
them waits.

The mean and the variance of a batch are often taken twice, for its normalisation and for what is
remembered of it, in two shapes. And what is remembered is computed at once, between the mean and
the elements that are to be normalised by it, where it would end their block (row_groups.py).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..core.primitive import Primitive
from ..ops.elementwise import div
from ..ops.reduce import mean, sum_
from ..ops.shape import reshape
from .instructions import Instruction, Literal, Type
from .passes import SMALL, renumbered, with_instructions, without_repetitions
from .row_groups import Sources

if TYPE_CHECKING:
    from .program import Program


def with_equal_reductions(program: Program) -> Program:
    """The program with reductions in one form where there are two that differ only in whether they
    keep their axes, or divide: they keep them, and a mean is a sum that is divided."""
    forms: dict[object, set[tuple[Primitive, bool]]] = {}
    for i in program.instructions:
        if (key := _key(i)) is not None:
            forms.setdefault(key, set()).add((i.primitive, i.params["keepdims"]))
    types, made = list(program.types), []
    for i in program.instructions:
        key = _key(i)
        if key is None or len(forms[key]) == 1:
            made.append(i)
            continue
        shape, out = program.types[i.reads()[0]].shape, types[i.outputs[0]]
        axes = {axis % len(shape) for axis in i.params["axes"]}
        kept = Type(tuple(1 if a in axes else n for a, n in enumerate(shape)), out.dtype)
        means = {primitive for primitive, _ in forms[key]} == {mean}
        params = {"axes": i.params["axes"], "keepdims": True}
        values = [*range(len(types), len(types) + 1 + (i.primitive is mean and not means))]
        types += [kept] * len(values)
        made.append(Instruction(mean if means else sum_, i.operands, params, (values[0],), i.phase))
        if len(values) > 1:
            count = Literal(math.prod(shape[a] for a in axes))
            made.append(Instruction(div, (values[0], count), {}, (values[1],), i.phase))
        made.append(Instruction(reshape, (values[-1],), {"shape": out.shape}, i.outputs, i.phase))
    return without_repetitions(with_instructions(program, made, types))


def _key(instruction: Instruction) -> object:
    """What a sum and a mean of the same numbers have in common; None for other operations."""
    if instruction.primitive not in (sum_, mean) or not instruction.params["axes"]:
        return None
    return instruction.operands, tuple(instruction.params["axes"])


def with_results_last(program: Program) -> Program:
    """The program with what only results need of a reduction at its end: operations on small arrays
    that read sums and the like, or what is computed from these so."""
    sources = Sources(program)
    reductions = {
        n for i in program.instructions if i.primitive.reduction is not None for n in i.outputs
    }
    readers: dict[int, list[int]] = {}
    for at, instruction in enumerate(program.instructions):
        for n in instruction.reads():
            readers.setdefault(n, []).append(at)
    leaves: set[int] = set()
    for at in range(len(program.instructions) - 1, -1, -1):
        instruction = program.instructions[at]
        numbers = [*instruction.reads(), *instruction.outputs]
        if (
            instruction.primitive.reduction is None
            and not instruction.is_run_always()
            and all(program.types[n].nbytes <= SMALL for n in numbers)
            and all(leaves.issuperset(readers.get(n, ())) for n in instruction.outputs)
        ):
            leaves.add(at)
    late: set[int] = set()
    follow = set(reductions)
    for at in sorted(leaves):
        instruction = program.instructions[at]
        if not follow.isdisjoint((*instruction.reads(), *sources.reads(instruction))):
            late.add(at)
            follow.update(instruction.outputs)
    for at in sorted(leaves - late, reverse=True):  # what they need besides
        instruction = program.instructions[at]
        read_by = {r for n in instruction.outputs for r in readers.get(n, ())}
        if read_by and late.issuperset(read_by):
            late.add(at)
    order = [at for at in range(len(program.instructions)) if at not in late]
    instructions = [program.instructions[at] for at in (*order, *sorted(late))]
    return renumbered(program, instructions, {}, None, program.constants)
