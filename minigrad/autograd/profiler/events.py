"""What a profile consists of: timed events, their averages, and lists of them.

Times are in microseconds, memory is in bytes. The *total* time of an event includes the events
inside it, its *self* time does not (nor what the profiler itself spent on them): self times add up
to the time spent in operations, totals count nested events again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import KW_ONLY, InitVar, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .table import format_time, table
from .timeline import trace_events

_SUMS = (
    "cpu_time_total",
    "cuda_time_total",
    "self_cpu_time_total",
    "self_cuda_time_total",
    "cpu_memory_usage",
    "cuda_memory_usage",
    "self_cpu_memory_usage",
    "self_cuda_memory_usage",
)
SORT_KEYS = ("cpu_time", "cuda_time", *_SUMS, "count")


class Interval(NamedTuple):
    """A stretch of time in microseconds since the profile began."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A piece of work on a device that an event started, and its duration in microseconds."""

    name: str
    device: int
    duration: float


@dataclass(eq=False, repr=False)
class FunctionEvent:
    """One operation that ran.

    name (also `key`): the operation, or the node of the graph that was pulled backward; phase: as
    in `observe.Event`.
    time_range: when; thread: its number; cpu_parent, cpu_children: the events around and inside it;
    kernels: its work on a device.
    sequence_nr: equal for a forward operation and the backward pull of its node, -1 without one.
    input_shapes, stack: where recorded, else empty.
    """

    count = 1
    name: str
    start_us: InitVar[float]
    end_us: InitVar[float]
    _: KW_ONLY
    id: int = 0
    phase: str = "forward"
    thread: int = 0
    sequence_nr: int = -1
    input_shapes: list[Any] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    overhead: float = 0.0
    cpu_memory_usage: int = 0
    cuda_memory_usage: int = 0
    overhead_memory: int = 0
    cpu_parent: FunctionEvent | None = field(default=None, init=False)
    cpu_children: list[FunctionEvent] = field(default_factory=list, init=False)
    kernels: list[Kernel] = field(default_factory=list, init=False)

    def __post_init__(self, start_us: float, end_us: float) -> None:
        self.time_range = Interval(start_us, end_us)

    @property
    def key(self) -> str:
        """The name by which events are averaged."""
        return self.name

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Put an event that ran inside this one into its place."""
        self.cpu_children.append(child)
        child.cpu_parent = self

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Add work on a device that this event started; duration in microseconds."""
        self.kernels.append(Kernel(name, device, duration))

    @property
    def cpu_time_total(self) -> float:
        """Time from begin to end, events inside included."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """Time from begin to end, without that of the events inside and of recording them."""
        return max(
            0.0,
            self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children) - self.overhead,
        )

    @property
    def cuda_time_total(self) -> float:
        """Device time that this event and those inside it started."""
        return self.self_cuda_time_total + sum(c.cuda_time_total for c in self.cpu_children)

    @property
    def self_cuda_time_total(self) -> float:
        """Device time that this event itself started."""
        return sum(k.duration for k in self.kernels)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes allocated (less those freed) by this event itself."""
        return (
            self.cpu_memory_usage
            - sum(c.cpu_memory_usage for c in self.cpu_children)
            - self.overhead_memory
        )

    @property
    def self_cuda_memory_usage(self) -> int:
        """Device bytes allocated (less those freed) by this event itself."""
        return self.cuda_memory_usage - sum(c.cuda_memory_usage for c in self.cpu_children)

    cpu_time, cuda_time = cpu_time_total, cuda_time_total

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent {self.name} self {format_time(self.self_cpu_time_total)} total"
            f" {format_time(self.cpu_time_total)}>"
        )


class FunctionEventAvg:
    """Several events added up; `cpu_time` and `cuda_time` are per call."""

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cuda_time_total = self.self_cuda_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.cuda_memory_usage = self.self_cuda_memory_usage = 0
        self.input_shapes: list[Any] = []
        self.stack: list[str] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def name(self) -> str:
        """The key."""
        return self.key or "Total"

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add an event, or others added up before."""
        if self.count == 0:
            self.input_shapes = other.input_shapes
            self.stack = other.stack
            self.cpu_parent = other.cpu_parent
        self.count += other.count
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    @property
    def cpu_time(self) -> float:
        """Average total time of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cuda_time(self) -> float:
        """Average device time of a call."""
        return self.cuda_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        times = f"self {format_time(self.self_cpu_time_total)} average {format_time(self.cpu_time)}"
        return f"<FunctionEventAvg {self.name} calls {self.count} {times}>"


class EventList(list[Any]):
    """Events or averages, in the order in which they began. Prints as a table."""

    def __init__(
        self, events: Iterable[Any] = (), *, use_cuda: bool = False, profile_memory: bool = False
    ) -> None:
        super().__init__(events)
        self._use_cuda, self._profile_memory = use_cuda, profile_memory

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Sum of all self times: the time spent in operations."""
        return float(sum(e.self_cpu_time_total for e in self))

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """The events added up by name; also by input shapes, and by the innermost n lines of the
        stack, if asked for (and recorded).
        """
        groups: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shape else ""
            stack = tuple(event.stack[:group_by_stack_n])
            group = groups.setdefault((event.key, shapes, stack), FunctionEventAvg(event.key))
            group.add(event)
            group.stack = list(stack)
        for group in groups.values():
            if not group_by_input_shape:
                group.input_shapes = []
        return EventList(
            groups.values(), use_cuda=self._use_cuda, profile_memory=self._profile_memory
        )

    def total_average(self) -> FunctionEventAvg:
        """All events added up."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        total.input_shapes, total.stack = [], []
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events as text.

        sort_by: one of SORT_KEYS, largest first (default: in the order in which they began);
        row_limit: at most so many rows (-1: all);
        header: a line above the table; top_level_events_only: leave out what ran inside other
        events. Raises ValueError for an unknown key.
        """
        if sort_by is not None and sort_by not in SORT_KEYS:
            raise ValueError(
                f"table: sort_by must be one of {', '.join(SORT_KEYS)}, got {sort_by!r}."
            )
        rows = [e for e in self if not top_level_events_only or e.cpu_parent is None]
        if sort_by is not None:
            rows.sort(key=lambda e: getattr(e, sort_by), reverse=True)
        left_out = len(rows) - row_limit if 0 <= row_limit < len(rows) else 0
        return table(
            rows[: len(rows) - left_out],
            self,
            header,
            left_out,
            self._use_cuda,
            self._profile_memory,
        )

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the time line as trace-event JSON, which ui.perfetto.dev and chrome://tracing open.

        Arrows lead from each forward operation to the backward pull of its node. Raises ValueError
        for averages, which have no place in time.
        """
        if any(not isinstance(e, FunctionEvent) for e in self):
            raise ValueError(
                "export_chrome_trace: averages have no place in time; export the profile's own"
                " events (prof.export_chrome_trace)."
            )
        Path(path).write_text(
            json.dumps(
                {"displayTimeUnit": "ns", "traceEvents": trace_events(self)}, separators=(",", ":")
            ),
            encoding="utf-8",
        )
