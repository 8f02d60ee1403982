"""The one place from which the engine can be observed.

Profiler, anomaly detection, the recorders of programs (what `compile` runs) and of the Trace (what
the viewer shows) are all *observers*: objects with `begin(event)` and `end(event)`. They never
change a result (hooks on tensors do that). minigrad/observers.py adds an observer to the thread
that asks for it, and there it sees every forward operation, tangent, backward pull, stored
gradient, write in place and named region of the user's program.

The callers all look the same: `if observers: return run_observed(phase, …, run)`, else `run()`. So
where no thread has an observer, one truth test of an empty list is the whole cost; `run_observed`
then asks whether this thread has one. (Symbolic tensors, tensor.py, run nothing: no events.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from .primitive import Args, Params


class Observation(threading.local):
    """Who observes this thread, and the innermost event under way.

    added: all observers of this thread; listening: those that `unobserved` does not hide now.
    """

    listening: tuple[Observer, ...] = ()
    added: tuple[Observer, ...] = ()
    event: Event | None = None


observation = Observation()
observers: list[Observer] = []
"""The observers of all threads."""


@dataclass(eq=False, repr=False, slots=True)
class Event:
    """One thing that the engine did. Observers see its beginning and its end.

    phase: "forward" (an operation computes), "tangent" (forward mode pushes a tangent through it),
    "backward" (reverse mode pulls a cotangent through it), "leaf" (a complete gradient is stored in
    a leaf), "assign" (an in-place operation writes a computed value into a tensor) or "region" (a
    stretch of the user's program, named in params).
    primitive: the declaration of an operation (or a user's Function); None for the last three.
    args, params: what it was called with (tensors, arrays, numbers). "tangent": the operation's
    arguments, result and forward level; "backward" and "leaf": the cotangent; "assign": the target
    and the value.
    node: the graph node pulled (backward), stored into (leaf) or made (forward, once ended; None if
    nothing was recorded).
    result: what came out, once ended; error: the exception instead, if one was raised.
    parent: the event during which this one began, or None; thread: in which it happened.
    listening: who observes it; begun: those of them that saw the beginning and not yet the end.
    """

    phase: str
    primitive: Any
    args: Args
    params: Params
    node: Any = None
    result: Any = None
    error: BaseException | None = None
    parent: Event | None = field(default_factory=lambda: observation.event)
    thread: int = field(default_factory=threading.get_ident)
    listening: tuple[Observer, ...] = field(default_factory=lambda: observation.listening)
    begun: tuple[Observer, ...] = ()

    def begin(self) -> None:
        """Show the event to the observers."""
        observation.event = self
        for observer in self.listening:
            self._call(observer, observer.begin)
            self.begun = (*self.begun, observer)

    def end(self) -> None:
        """Call `end` of all that saw the beginning, the last one first, even if one raises."""
        observation.event = self.parent
        try:
            while self.begun:
                observer, self.begun = self.begun[-1], self.begun[:-1]
                self._call(observer, observer.end)
        finally:
            if self.begun:  # one has raised: the others still see the end
                self.end()

    def _call(self, observer: Observer, method: Callable[[Event], None]) -> None:
        """An error of an observer gets the attribute `observer`: it is none of the operation's."""
        try:
            method(self)
        except BaseException as error:
            error.observer = observer  # type: ignore[attr-defined]
            raise

    def __repr__(self) -> str:
        return f"<{self.phase} {getattr(self.primitive, 'name', '')}".rstrip() + ">"


class Observer(Protocol):
    """What an observer has. Three more methods are optional: `tensor_made(tensor)` hears of
    each tensor made of data and not by an operation, `read(tensor, kind)` of each one turned into
    a Python number of this kind ("float"), `decided(tensor)` of each one whose truth is asked."""

    def begin(self, event: Event) -> None: ...

    def end(self, event: Event) -> None: ...


def run_observed(
    phase: str,
    primitive: Any,
    args: Args,
    params: Params,
    run: Callable[[], Any],
    node: Any = None,
) -> Any:
    """Call `run()` between `begin` and `end` of every observer of this thread, which get an Event
    of the other arguments; `end` always comes, innermost first."""
    if not observation.listening:
        return run()
    event = Event(phase, primitive, args, params, node)
    try:
        event.begin()
        event.result = run()
        if phase == "forward":
            event.node = _node_of(event.result)
        return event.result
    except BaseException as error:
        event.error = error
        raise
    finally:
        event.end()


def _node_of(result: Any) -> Any:
    """The first node among an operation's results; None if nothing was recorded."""
    for out in result if isinstance(result, tuple) else (result,):
        if getattr(out, "node", None) is not None:
            return out.node
    return None


def tell(method: str, *details: Any) -> None:
    """Call this method of those of this thread's observers that have it."""
    for observer in observation.listening:
        if hasattr(observer, method):
            getattr(observer, method)(*details)


@contextmanager
def unobserved() -> Iterator[None]:
    """Hide what happens inside from this thread's observers (for observers that run operations
    themselves). Those that are added inside see it, and stay."""
    before, observation.listening = observation.listening, ()
    try:
        yield
    finally:
        # Inside, observers may have been added, or removed: then they are not in `added` any more.
        seeing = {id(o) for o in (*before, *observation.listening)}
        observation.listening = tuple([o for o in observation.added if id(o) in seeing])
