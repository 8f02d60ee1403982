"""The one place from which an engine run can be watched.

Every forward operation, every tangent and every backward pull passes `run`. When nobody listens that costs one truth test of an empty list.
Profiler, anomaly detection, recorder and Trace are all *observers*: objects with `begin(event)` and `end(event)`. Observers look; they never
change a result (hooks on tensors do that).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Event:
    """One thing that the engine did.

    phase: "forward" (an operation computes), "tangent" (forward mode pushes a tangent through it), "backward" (reverse mode pulls a cotangent
    through it) or "leaf" (a gradient arrives at a leaf).
    primitive: the operation's declaration; args, params: what it was called with (tensors, arrays, numbers).
    node: the graph node pulled (backward) or made (forward, once ended; None if nothing was recorded).
    result: what came out, once ended; error: the exception instead, if one was raised.
    parent: the event during which this one began, or None.
    """

    __slots__ = ("args", "error", "node", "params", "parent", "phase", "primitive", "result", "thread")

    def __init__(self, phase: str, primitive: Any, args: tuple[Any, ...], params: dict[str, Any], node: Any = None) -> None:
        self.phase, self.primitive, self.args, self.params, self.node = phase, primitive, args, params, node
        self.result: Any = None
        self.error: BaseException | None = None
        self.parent: Event | None = getattr(_current, "event", None)
        self.thread = threading.get_ident()

    def __repr__(self) -> str:
        return f"<{self.phase} {getattr(self.primitive, 'name', self.primitive)}>"


class Observer(Protocol):
    """What `watching` accepts."""

    def begin(self, event: Event) -> None: ...

    def end(self, event: Event) -> None: ...


observers: list[tuple[int, Observer]] = []
"""Who listens, and in which thread. Its truth value is the whole cost of not being watched."""
_current = threading.local()


def run(phase: str, primitive: Any, args: tuple[Any, ...], params: dict[str, Any], function: Callable[..., Any], node: Any = None) -> Any:
    """Call `function(primitive, args, params)` between `begin` and `end` of every observer of this thread; `end` always comes, innermost first."""
    here = threading.get_ident()
    listening = [o for thread, o in observers if thread == here]
    if not listening:
        return function(primitive, args, params)
    event = Event(phase, primitive, args, params, node)
    _current.event = event
    begun: list[Observer] = []
    try:
        for observer in listening:
            observer.begin(event)
            begun.append(observer)
        event.result = function(primitive, args, params)
        return event.result
    except BaseException as error:
        event.error = error
        raise
    finally:
        _current.event = event.parent
        for observer in reversed(begun):
            observer.end(event)


@contextmanager
def watching(observer: Observer) -> Iterator[Observer]:
    """Let `observer` see what this thread's engine does inside the `with` block. Blocks nest."""
    entry = (threading.get_ident(), observer)
    observers.append(entry)
    try:
        yield observer
    finally:
        observers.remove(entry)


@contextmanager
def unwatched() -> Iterator[None]:
    """Hide what happens inside from this thread's observers (an observer that runs operations itself uses this)."""
    here = threading.get_ident()
    hidden = [entry for entry in observers if entry[0] == here]
    observers[:] = [entry for entry in observers if entry[0] != here]
    try:
        yield
    finally:
        observers.extend(hidden)
