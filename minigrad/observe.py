"""The one place from which an engine run can be watched.

Every forward operation, every tangent, every backward pull and every write in place passes `run`. When nobody listens that costs one
truth test of an empty list. Profiler, anomaly detection, recorder and Trace are all *observers*: objects with `begin(event)` and
`end(event)`. Observers look; they never change a result (hooks on tensors do that). An observer belongs to the thread that started it and
sees what that thread does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Event:
    """One thing that the engine did.

    phase: "forward" (an operation computes), "tangent" (forward mode pushes a tangent through it), "backward" (reverse mode pulls a
    cotangent through it), "leaf" (a complete gradient is stored in a leaf), "assign" (an in-place operation writes a computed value into
    a tensor) or "region" (a stretch of the user's program, named in params).

    primitive: the operation's (or Function's) declaration; the leaf itself for "leaf", None for "assign" and "region".
    args, params: what it was called with (tensors, arrays, numbers). "tangent": the operation's arguments, its result and the level;
    "backward" and "leaf": the cotangent; "assign": the target and the value.
    node: the graph node pulled (backward), stored into (leaf) or made (forward, once ended; None if nothing was recorded).
    result: what came out, once ended; error: the exception instead, if one was raised.
    parent: the event during which this one began, or None.
    """

    __slots__ = ("args", "error", "node", "params", "parent", "phase", "primitive", "result", "thread")

    def __init__(self, phase: str, primitive: Any, args: tuple[Any, ...], params: dict[str, Any], node: Any = None) -> None:
        self.phase, self.primitive, self.args, self.params, self.node = phase, primitive, args, params, node
        self.result: Any = None
        self.error: BaseException | None = None
        self.parent: Event | None = _here.event
        self.thread = threading.get_ident()

    def __repr__(self) -> str:
        return f"<{self.phase} {getattr(self.primitive, 'name', self.primitive)}>"


class Observer(Protocol):
    """What `watching` accepts."""

    def begin(self, event: Event) -> None: ...

    def end(self, event: Event) -> None: ...


observers: list[Observer] = []
"""All that listen, in any thread. Its truth value is the whole cost of not being watched."""
_changing = threading.Lock()


class _Here(threading.local):
    listening: tuple[Observer, ...] = ()
    event: Event | None = None
    owners: tuple[Any, ...] = ()
    made: Callable[[Any], None] | None = None


_here = _Here()
"""Who listens in this thread, and the event under way in it."""


def run(phase: str, primitive: Any, args: tuple[Any, ...], params: dict[str, Any], function: Callable[..., Any], node: Any = None) -> Any:
    """Call `function(primitive, args, params)` between `begin` and `end` of every observer of this thread; `end` always comes, innermost
    first."""
    listening = _here.listening
    if not listening:
        return function(primitive, args, params)
    event = Event(phase, primitive, args, params, node)
    _here.event = event
    begun: list[Observer] = []
    try:
        for observer in listening:
            observer.begin(event)
            begun.append(observer)
        event.result = function(primitive, args, params)
        if phase == "forward":
            event.node = _made(event.result)
        return event.result
    except BaseException as error:
        event.error = error
        raise
    finally:
        _here.event = event.parent
        _end(begun, event)


def _made(result: Any) -> Any:
    """The graph node of an operation's result, or of the first of several that has one."""
    return next(
        (node for r in (result if isinstance(result, tuple) else (result,)) if (node := getattr(r, "node", None)) is not None), None
    )


def _end(begun: list[Observer], event: Event) -> None:
    """Tell all who saw the beginning, the last one first, even if one of them raises."""
    while begun:
        try:
            begun.pop().end(event)
        except BaseException:
            _end(begun, event)
            raise


@contextmanager
def region(name: str, about: Any = None) -> Iterator[None]:
    """A stretch of the user's program with a name, shown to this thread's observers as an event of the phase "region".

    about: whatever the stretch belongs to; observers find it in the event's params.
    """
    listening = _here.listening
    if not listening:
        yield
        return
    event = Event("region", None, (), {"name": name, "about": about})
    _here.event = event
    begun: list[Observer] = []
    try:
        for observer in listening:
            observer.begin(event)
            begun.append(observer)
        yield
    except BaseException as error:
        event.error = error
        raise
    finally:
        _here.event = event.parent
        _end(begun, event)


@contextmanager
def belonging(owner: Any) -> Iterator[None]:
    """What runs inside belongs to `owner` (a module's call). That is no event of its own: an observer that cares asks `owners()`."""
    before = _here.owners
    _here.owners = (*before, owner)
    try:
        yield
    finally:
        _here.owners = before


def owners() -> tuple[Any, ...]:
    """To whom the work under way in this thread belongs, the outermost first. Kept only while somebody listens."""
    return _here.owners


def made(tensor: Any) -> Any:
    """A tensor was made of data, not by an operation: told to who records this thread's work (it is not part of the world outside). Returns
    the tensor."""
    if _here.made is not None:
        _here.made(tensor)
    return tensor


def read(tensor: Any, kind: str) -> None:
    """A tensor was turned into Python's number of this kind ("float"): told to those of this thread's observers that have a `read`."""
    for observer in _here.listening:
        if hasattr(observer, "read"):
            observer.read(tensor, kind)


def current() -> Event | None:
    """The innermost event under way in this thread, or None (always None where nobody listens)."""
    return _here.event


def listen(observer: Observer) -> None:
    """Show `observer` what this thread's engine does from now on."""
    _here.listening = (*_here.listening, observer)
    with _changing:
        observers.append(observer)


def ignore(observer: Observer) -> None:
    """Undo the latest `listen(observer)` of this thread. Does nothing if there is none."""
    found = [i for i, o in enumerate(_here.listening) if o is observer]
    if found:
        _here.listening = _here.listening[: found[-1]] + _here.listening[found[-1] + 1 :]
        with _changing:
            del observers[next(i for i, o in enumerate(observers) if o is observer)]


@contextmanager
def watching(observer: Observer) -> Iterator[Observer]:
    """Let `observer` see what this thread's engine does inside the `with` block. Blocks nest."""
    listen(observer)
    try:
        yield observer
    finally:
        ignore(observer)


@contextmanager
def unwatched() -> Iterator[None]:
    """Hide what happens inside from this thread's observers (an observer that runs operations itself uses this)."""
    before, _here.listening = _here.listening, ()
    try:
        yield
    finally:
        _here.listening = before
