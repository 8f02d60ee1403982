"""Where does the time go? `profile` watches the engine and adds up what each operation cost; names
and figures are PyTorch's.

    with mg.autograd.profiler.profile() as prof:
        y = f(x)
        y.backward()
    print(prof.key_averages().table(sort_by="self_cpu_time_total"))

A profile is an observer of the engine's one instrumentation point (core/observe.py), so it sees
operations inside operations (the arithmetic of a backward rule) as nested events, and knows of each
backward pull which forward operation it belongs to. It sees the thread that started it.

Clocks: `time.perf_counter_ns` for the CPU; for a device two CUDA events around each operation, read
when the profile has ended. Memory: what Python's `tracemalloc` counts (arrays and the engine's own
objects alike), which is exact and makes everything slower.
"""

from __future__ import annotations

import contextlib
import functools
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ... import backend, observers
from ...core.observe import Event
from ...core.tensor import Tensor
from ...errors import AutogradError, DeviceError
from ..frames import user_frames
from .events import EventList, FunctionEvent
from .names import event_name, place_of


def _of_its_events(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of `EventList` as one of `profile`."""

    @functools.wraps(method)
    def of_profile(self: profile, *args: Any, **options: Any) -> Any:
        return method(self.events(), *args, **options)

    return of_profile


class profile:
    """Record what this thread's engine does inside a `with` block, and summarise it.

    enabled: False makes the block an ordinary one.
    use_cuda: time the device as well (raises DeviceError where there is none).
    record_shapes: note the shapes of inputs, for `key_averages(group_by_input_shape=True)`.
    profile_memory: note bytes allocated less bytes freed.
    with_stack: note which line of the user's program called, for
    `key_averages(group_by_stack_n=…)`.

    Afterwards it is the list of events in the order in which they began: iterate it, print it, or
    ask for averages and the table.
    """

    def __init__(
        self,
        enabled: bool = True,
        use_cuda: bool = False,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
    ) -> None:
        self.enabled, self.use_cuda = enabled, use_cuda
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.function_events: EventList | None = None
        self._listener: _ProfileObserver | None = None

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self._listener is not None:
            raise RuntimeError(
                "this profile was used before; a profile holds one recording. Make a new one: `with"
                " profile() as prof:`."
            )
        if self.use_cuda and not backend.cuda_is_available():
            raise DeviceError(
                "profile(use_cuda=True): there is no CUDA device with CuPy here. Leave use_cuda out"
                " to time the CPU."
            )
        self._listener = _ProfileObserver(self)
        observers.add_observer(self._listener)
        return self

    def __exit__(self, *_: object) -> None:
        if self._listener is not None:
            observers.remove_observer(self._listener)
            self.function_events = self._listener.events()

    def __iter__(self) -> Any:
        return iter(self.events())

    def __len__(self) -> int:
        return len(self.events())

    def __str__(self) -> str:
        if self.enabled and self.function_events is None:
            return "<unfinished profile>"
        return str(self.events())

    def __repr__(self) -> str:
        if self.enabled and self.function_events is None:
            return "<unfinished profile>"
        return f"<profile of {len(self)} events>"

    def events(self) -> EventList:
        """All events, in the order in which they began."""
        if self.function_events is None:
            if not self.enabled:
                return EventList()
            raise RuntimeError(
                "the profile is not finished; ask for results after its `with` block."
            )
        return self.function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """Events added up by name (and shapes, and calling lines, where those were recorded).

        Raises AutogradError if shapes or stacks are asked for that were not recorded.
        """
        if group_by_input_shape and not self.record_shapes:
            raise AutogradError(
                "key_averages: shapes were not recorded; use profile(record_shapes=True)."
            )
        if group_by_stack_n and not self.with_stack:
            raise AutogradError(
                "key_averages: stacks were not recorded; use profile(with_stack=True)."
            )
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    table = _of_its_events(EventList.table)
    total_average = _of_its_events(EventList.total_average)
    export_chrome_trace = _of_its_events(EventList.export_chrome_trace)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds spent in operations: the sum of all self times."""
        return self.events().self_cpu_time_total


class record_function(contextlib.ContextDecorator):
    """Give a stretch of your own program a name in the profile: `with record_function("loss"):`,
    or as a decorator.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._open: list[Any] = []

    def __enter__(self) -> record_function:
        self._open.append(observers.region(self.name))
        self._open[-1].__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.pop().__exit__(*error)


@dataclass(slots=True, eq=False)
class _Record:
    """What is kept of an event until the profile ends: when the profiler's own work for it began,
    and when the event itself. No tensor stays alive for it.
    """

    name: str
    phase: str
    shapes: list[Any]
    parent: _Record | None
    entered: int
    memory_before: int
    start: int = 0
    stop: int = 0
    overhead: int = 0
    overhead_memory: int = 0
    memory: int = 0
    device_memory: int = 0
    sequence: int = -1
    stack: list[str] = field(default_factory=list)
    device: tuple[Any, Any] | None = None


class _ProfileObserver:
    """The observer behind a profile."""

    def __init__(self, owner: profile) -> None:
        self._shapes, self._stacks = owner.record_shapes, owner.with_stack
        self._cupy = backend.load_cupy() if owner.use_cuda else None
        self._memory = owner.profile_memory
        self._innermost: _Record | None = None
        self._all: list[_Record] = []
        self._stops_tracing = self._memory and not tracemalloc.is_tracing()
        if self._stops_tracing:
            tracemalloc.start()
        self._began = time.perf_counter_ns()

    def _traced(self) -> int:
        return tracemalloc.get_traced_memory()[0] if self._memory else 0

    def begin(self, event: Event) -> None:
        """Start the clock, last of all."""
        entered = time.perf_counter_ns()
        record = self._innermost = _Record(
            event_name(event),
            event.phase,
            _shapes(event.args) if self._shapes else [],
            self._innermost,
            entered,
            self._traced(),
        )
        self._all.append(record)
        if self._stacks:
            record.stack = [
                f"{f.f_code.co_filename}({f.f_lineno}): {f.f_code.co_name}" for f in user_frames()
            ]
        if self._cupy is not None:
            record.device = (self._cupy.cuda.Event(), self._cupy.cuda.Event())
            record.device_memory = self._cupy.get_default_memory_pool().used_bytes()
            record.device[0].record()
        record.memory = self._traced()
        record.start = time.perf_counter_ns()

    def end(self, event: Event) -> None:
        """Stop the clock, first of all; what recording took is not the parent's own time."""
        stop = time.perf_counter_ns()
        record = self._innermost
        assert record is not None
        memory = self._traced()
        if record.device is not None and self._cupy is not None:
            record.device[1].record()
            record.device_memory = (
                self._cupy.get_default_memory_pool().used_bytes() - record.device_memory
            )
        record.sequence = _sequence(event)
        record.stop = stop
        self._innermost = parent = record.parent
        if parent is not None:
            parent.overhead_memory += record.memory - record.memory_before
            parent.overhead += record.start - record.entered
        record.memory = memory - record.memory
        if parent is not None:
            parent.overhead_memory += self._traced() - memory
            parent.overhead += time.perf_counter_ns() - stop

    def events(self) -> EventList:
        """The recording as events with their places among one another."""
        if self._stops_tracing:
            tracemalloc.stop()
        if self._cupy is not None:
            self._cupy.cuda.runtime.deviceSynchronize()
        made: dict[int, FunctionEvent] = {}
        now = time.perf_counter_ns()
        for number, record in enumerate(self._all):
            if not record.stop:  # a region that goes on after the profile
                record.stop, record.memory = now, 0
            event = FunctionEvent(
                record.name,
                (record.start - self._began) / 1e3,
                (record.stop - self._began) / 1e3,
                id=number,
                phase=record.phase,
                sequence_nr=record.sequence,
                input_shapes=record.shapes,
                stack=record.stack,
                overhead=record.overhead / 1e3,
                cpu_memory_usage=record.memory,
                cuda_memory_usage=record.device_memory,
                overhead_memory=record.overhead_memory,
            )
            made[id(record)] = event
            if record.parent is not None:
                made[id(record.parent)].append_cpu_child(event)
        self._read_device(made)
        return EventList(
            made.values(), use_cuda=self._cupy is not None, profile_memory=self._memory
        )

    def _read_device(self, made: dict[int, FunctionEvent]) -> None:
        """Device time between an operation's two CUDA events, less that of the operations inside
        it.
        """
        if self._cupy is None:
            return
        elapsed = {
            id(record): 1e3 * self._cupy.cuda.get_elapsed_time(*record.device)
            for record in self._all
            if record.device is not None
        }
        inside = dict.fromkeys(elapsed, 0.0)
        for record in self._all:
            if record.parent is not None:
                inside[id(record.parent)] += elapsed[id(record)]
        for key, event in made.items():
            event.append_kernel(event.name, 0, max(0.0, elapsed[key] - inside[key]))


def _sequence(event: Event) -> int:
    """The birth number of the node that the event made or pulled: the same for both."""
    node = place_of(event)
    return -1 if node is None else node.sequence_number


def _shapes(args: Any) -> list[Any]:
    return [
        (
            list(a.shape)
            if isinstance(a, Tensor) or hasattr(a, "shape")
            else _shapes(a)
            if isinstance(a, list | tuple)
            else []
        )
        for a in args
    ]
