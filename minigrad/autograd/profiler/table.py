"""Events or averages as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .events import EventList

NAME_WIDTH, SHAPES_WIDTH, STACK_WIDTH = 26, 30, 50


def format_time(us: float) -> str:
    """A time in a unit that suits its size."""
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def format_memory(count: float) -> str:
    """A number of bytes, possibly negative, in a unit that suits its size."""
    for unit, size in (("Gb", 2**30), ("Mb", 2**20), ("Kb", 2**10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count:.0f} b"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def table(
    rows: list[Any],
    everything: EventList,
    header: str | None,
    left_out: int,
    use_cuda: bool,
    profile_memory: bool,
) -> str:
    cpu = everything.self_cpu_time_total
    columns: list[tuple[str, Callable[[Any], str]]] = [
        ("Name", lambda e: _cut(e.name, NAME_WIDTH)),
        ("Self CPU %", lambda e: _share(e.self_cpu_time_total, cpu)),
        ("Self CPU", lambda e: format_time(e.self_cpu_time_total)),
        ("CPU total %", lambda e: _share(e.cpu_time_total, cpu)),
        ("CPU total", lambda e: format_time(e.cpu_time_total)),
        ("CPU time avg", lambda e: format_time(e.cpu_time)),
    ]
    if use_cuda:
        cuda = sum(e.self_cuda_time_total for e in everything)
        columns += [
            ("Self CUDA", lambda e: format_time(e.self_cuda_time_total)),
            ("Self CUDA %", lambda e: _share(e.self_cuda_time_total, cuda)),
            ("CUDA total", lambda e: format_time(e.cuda_time_total)),
            ("CUDA time avg", lambda e: format_time(e.cuda_time)),
        ]
    if profile_memory:
        columns += [
            ("CPU Mem", lambda e: format_memory(e.cpu_memory_usage)),
            ("Self CPU Mem", lambda e: format_memory(e.self_cpu_memory_usage)),
        ]
        if use_cuda:
            columns += [
                ("CUDA Mem", lambda e: format_memory(e.cuda_memory_usage)),
                ("Self CUDA Mem", lambda e: format_memory(e.self_cuda_memory_usage)),
            ]
    columns.append(("# of Calls", lambda e: str(e.count)))
    if any(e.input_shapes for e in rows):
        columns.append(("Input Shapes", lambda e: _cut(str(e.input_shapes), SHAPES_WIDTH)))
    if any(e.stack for e in rows):
        columns.append(("Source", lambda e: _cut_left(e.stack[0], STACK_WIDTH) if e.stack else ""))
    cells = [[title for title, _ in columns]] + [[show(e) for _, show in columns] for e in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    text = {"Name", "Input Shapes", "Source"}
    lines = [
        "  ".join(
            c.ljust(w) if t in text else c.rjust(w)
            for c, w, (t, _) in zip(row, widths, columns, strict=True)
        ).rstrip()
        for row in cells
    ]
    rule = "  ".join("-" * w for w in widths)
    body = [rule, lines[0], rule, *lines[1:], rule]
    if left_out:
        body.append(f"… and {left_out} more")
    body.append(f"Self CPU time total: {format_time(cpu)}")
    if use_cuda:
        body.append(
            f"Self CUDA time total: {format_time(sum(e.self_cuda_time_total for e in everything))}"
        )
    return "\n".join(([header] if header else []) + body) + "\n"


def _cut_left(text: str, width: int) -> str:
    return text if len(text) <= width else "…" + text[len(text) - width + 1 :]
