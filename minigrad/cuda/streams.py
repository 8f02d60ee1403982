"""Streams: queues of work on a GPU. What is in one is done in order; two may run side by side.

    side = mg.cuda.Stream()
    with mg.cuda.stream(side):
        y = (x @ w).relu()                        # queued on `side`
    # what comes next here waits on the GPU, not in Python
    mg.cuda.current_stream().wait_stream(side)

The engine starts every kernel, forward and backward, on CuPy's current stream. `backward` runs on
the stream that is current when it is called, not (as PyTorch's does) on the one of the forward
pass: wait for that one first, as above.
"""

from __future__ import annotations

from typing import Any

from .. import backend


class Stream:
    """A queue of work on the current device. Raises DeviceError where there is none."""

    def __init__(self, *, _cupy: Any = None) -> None:
        backend.need_cuda("cuda.Stream")
        self.cupy = backend.load_cupy().cuda.Stream(non_blocking=True) if _cupy is None else _cupy
        """CuPy's object, for programs that use CuPy too."""

    def synchronize(self) -> None:
        """Wait, in Python, until all that was queued is done."""
        self.cupy.synchronize()

    def query(self) -> bool:
        """Whether all that was queued is done. Does not wait."""
        return bool(self.cupy.done)

    def record_event(self, event: Event | None = None) -> Event:
        """A mark behind all that was queued so far."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let what is queued from now on wait until the mark is reached."""
        self.cupy.wait_event(event.cupy)

    def wait_stream(self, other: Stream) -> None:
        """Let what is queued from now on wait for all that the other stream was given so far."""
        self.wait_event(other.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cupy == other.cupy

    def __hash__(self) -> int:
        return hash(self.cupy.ptr)


class Event:
    """A mark in a stream, by which another stream (or Python) waits and by which time on the GPU
    is taken. (`minigrad.core.observe.Event` is an action of the engine that observers see.)
    """

    def __init__(self, enable_timing: bool = False) -> None:
        backend.need_cuda("cuda.Event")
        self.cupy = backend.load_cupy().cuda.Event(disable_timing=not enable_timing)

    def record(self, stream: Stream | None = None) -> None:
        """Put the mark behind what a stream (default: the current one) was given so far."""
        self.cupy.record((stream or current_stream()).cupy)

    def wait(self, stream: Stream | None = None) -> None:
        """Let what a stream (default: the current one) is given from now on wait for the mark."""
        (stream or current_stream()).wait_event(self)

    def query(self) -> bool:
        """Whether the mark has been reached. Does not wait."""
        return bool(self.cupy.done)

    def synchronize(self) -> None:
        """Wait, in Python, until the mark has been reached."""
        self.cupy.synchronize()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds on the GPU from this mark to another; both with enable_timing and both
        reached.
        """
        return float(backend.load_cupy().cuda.get_elapsed_time(self.cupy, end.cupy))


def current_stream() -> Stream:
    """The stream on which work is queued now."""
    backend.need_cuda("cuda.current_stream")
    return Stream(_cupy=backend.load_cupy().cuda.get_current_stream())


class stream:
    """A `with` block whose work is queued on a stream; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> Stream | None:
        if self.stream is not None:
            self.stream.cupy.__enter__()
        return self.stream

    def __exit__(self, *error: Any) -> None:
        if self.stream is not None:
            self.stream.cupy.__exit__(*error)
