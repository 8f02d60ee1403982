"""A program as text: one line an instruction, with names, shapes, dtypes and phase; long
programs are shortened in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .instructions import Instruction
    from .program import Program


def program_text(program: Program, limit: int | None = 60) -> str:
    """The whole program (at most about `limit` lines of instructions, None for all)."""
    return "\n".join(_lines(program, limit))


def _lines(program: Program, limit: int | None) -> Iterator[str]:
    given = [f"{program.name_of(n)}: {program.types[n]!r}" for n in program.inputs]
    yield f"{program.name}({', '.join(_shortened(given, 12))})"
    for title, numbers in (
        ("captured", list(program.captured)),
        ("constant", list(program.constants)),
    ):
        for line in _shortened(
            [
                f"  {title} {program.name_of(n)}: {program.types[n]!r}{_value(program, n)}"
                for n in numbers
            ],
            12,
        ):
            yield line
    count = len(program.instructions)
    if limit is None or count <= limit:
        shown, hidden = list(range(count)), 0
    else:
        head = (limit + 1) // 2
        shown, hidden = [*range(head), *range(count - limit // 2, count)], count - head
    rows: list[tuple[str, str, str]] = []
    for at in shown:
        rows.append(row(program, program.instructions[at]))
    widths = [max((len(r[i]) for r in rows), default=0) for i in (0, 1)]
    for at, (what, kind, phase) in zip(shown, rows, strict=True):
        if hidden and at == count - (limit or 0) // 2:
            yield f"  … {count - len(shown):,} more instructions …"
        yield f"  {what:<{min(widths[0], 60)}}  {kind:<{min(widths[1], 40)}}  {phase}".rstrip()
    if hidden and not (limit or 0) // 2:
        yield f"  … {count - len(shown):,} more instructions …"
    for n, value in program.updates.items():
        yield f"  {program.name_of(n)} holds {program.name_of(value)} afterwards"
    for n, gradient in program.gradients.items():
        yield (
            f"  {program.name_of(n)}.grad is"
            f" {'cleared' if gradient is None else program.name_of(gradient) + ' afterwards'}"
        )
    returned = ", ".join(_shortened([program.name_of(n) for n in program.outputs], 12))
    yield f"  return {returned}".rstrip()
    if program.decisions:
        yield "  frozen when it was recorded (replays decide alike, whatever the values):"
        for line in _shortened(
            [f"    {d}" for d in program.decisions], limit or len(program.decisions)
        ):
            yield line


def row(program: Program, instruction: Instruction) -> tuple[str, str, str]:
    """What one instruction computes, of which type, in which phase."""
    made = ", ".join(program.name_of(n) for n in instruction.outputs)
    operands = " ".join(
        program.name_of(o) if type(o) is int else repr(o) for o in instruction.operands
    )
    params = ", ".join(
        f"{key}={_parameter(program, value)}" for key, value in instruction.params.items()
    )
    what = f"{made} = {instruction.primitive.name} {operands}".rstrip() + (
        f" [{params}]" if params else ""
    )
    return what, ", ".join(repr(program.types[n]) for n in instruction.outputs), instruction.phase


def _parameter(program: Program, value: Any) -> str:
    """A parameter in short: values by their names, arrays by their shapes."""
    if hasattr(value, "number") and type(value).__name__ == "Ref":
        return program.name_of(value.number)
    if isinstance(value, tuple | list):
        return (
            "("
            + ", ".join(_parameter(program, v) for v in value)
            + ("," if len(value) == 1 else "")
            + ")"
        )
    if isinstance(value, slice):
        return (
            ":".join(
                "" if v is None else str(v) for v in (value.start, value.stop, value.step)
            ).removesuffix(":")
            or ":"
        )
    if hasattr(value, "forward"):  # an operation, whose declaration has a dtype and a shape too
        return str(getattr(value, "name", value))
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"<{value.dtype} {tuple(value.shape)}>"
    return str(value)


def _value(program: Program, number: int) -> str:
    """The value of a constant that is one number."""
    array = program.constants.get(number)
    return (
        f" = {array.item()!r}"
        if array is not None and array.size == 1 and hasattr(array, "item")
        else ""
    )


def _shortened(items: list[str], most: int) -> list[str]:
    if len(items) <= most:
        return items
    return [
        *items[: most - most // 3],
        f"  … {len(items) - most:,} more …",
        *items[len(items) - most // 3 :],
    ]
