"""Observers: how other parts of minigrad learn what the engine does.

The profiler, anomaly detection and the Trace that the viewer shows (watch/) work by *observers*:
objects with `begin(event)` and `end(event)`. They never change a result (hooks on tensors do that).
`mg.compile` (program/) needs one too: at `begin` it gives the operands payloads that record
(tensor.py). An observer that minigrad/observers.py has added sees every forward operation, tangent,
backward pull, gradient stored in a leaf, write in place and named region of its thread's program.

While no thread has an observer, an action costs one test of an empty list; otherwise `run_observed`
asks whether this thread has one. There are no events for symbolic tensors (of static graphs), nor
inside `unobserved`: nodes that `View.refresh` makes are seen in "backward", not in "forward".
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from .primitive import Args, Params


class Observation(threading.local):
    """The observers of one thread, and the innermost event that has begun and not ended.

    added: all its observers; listening: those that see events now (`unobserved` hides events).
    """

    listening: tuple[Observer, ...] = ()
    added: tuple[Observer, ...] = ()
    event: Event | None = None


observation = Observation()
observers: list[Observer] = []
"""The observers of all threads. While there are none, `observation` is not asked."""


@dataclass(eq=False, repr=False, slots=True)
class Event:
    """One action of the engine. Observers see its beginning and its end.

    phase: "forward" (an operation computes), "tangent" (forward mode pushes a tangent through it),
    "backward" (reverse mode pulls a cotangent through it), "leaf" (a complete gradient is stored in
    a leaf), "assign" (an in-place operation writes a computed value into a tensor) or "region" (a
    stretch of the user's program, named in params).
    primitive: the operation's declaration, or a user's `Function` (an operation with rules of the
    user's own: autograd/function); None for the last three.
    args, params: what it was called with (tensors, arrays, numbers). "tangent": the operation's
    arguments, result and forward level; "backward" and "leaf": the cotangent; "assign": the target
    and the value.
    node: the graph node pulled (backward), stored into (leaf) or made (forward, once ended).
    result: what came out ("tangent": and each input's contribution); error: the exception instead.
    parent: the event during which this one began, or None; thread: in which it happened.
    listening: its observers; begun: those of them that saw the beginning and not yet the end.
    """

    phase: str
    primitive: Any
    args: Args
    params: Params
    node: Any = None
    result: Any = None
    error: BaseException | None = None
    parent: Event | None = None
    thread: int = field(default_factory=threading.get_ident)
    listening: tuple[Observer, ...] = ()
    begun: tuple[Observer, ...] = ()

    def begin(self) -> None:
        """Show the event to the observers, in the order in which they were added."""
        self.parent, self.listening = observation.event, observation.listening
        observation.event = self
        for observer in self.listening:
            self._call(observer, observer.begin)
            self.begun = (*self.begun, observer)

    def end(self) -> None:
        """Call `end` of those that saw the beginning, the last one first, even if one raises."""
        observation.event = self.parent
        try:
            while self.begun:
                observer, self.begun = self.begun[-1], self.begun[:-1]
                self._call(observer, observer.end)
        finally:
            if self.begun:  # an observer has raised: the others still see the end
                self.end()

    def _call(self, observer: Observer, method: Callable[[Event], None]) -> None:
        """Mark an observer's error by the attribute `observer`: the operation did not raise it."""
        try:
            method(self)
        except BaseException as error:
            error.observer = observer  # type: ignore[attr-defined]
            raise


class Observer(Protocol):
    """What an observer has. (minigrad/observers.py names three optional methods.)"""

    def begin(self, event: Event) -> None: ...
    def end(self, event: Event) -> None: ...


def run_observed(
    phase: str,
    primitive: Any,
    args: Args,
    params: Params,
    action: Callable[[], Any],
    node: Any = None,
) -> Any:
    """Call `action()` between `begin` and `end` of every observer of this thread. They get an Event
    made of the other arguments; `end` is called even if `action` raises."""
    if not observation.listening:
        return action()
    event = Event(phase, primitive, args, params, node)
    try:
        event.begin()
        event.result = action()
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
    nodes = map(_node_of, result) if isinstance(result, tuple) else [getattr(result, "node", None)]
    return next(filter(None, nodes), None)


class unobserved:
    """Hide the events inside the block from this thread's observers (for observers that run
    operations themselves). Observers that are added inside see them, and stay."""

    def __enter__(self) -> None:
        self._before, observation.listening = observation.listening, ()

    def __exit__(self, *_: object) -> None:
        # Observers that were removed inside are not in `added` any more.
        known = {id(o) for o in (*self._before, *observation.listening)}
        observation.listening = tuple([o for o in observation.added if id(o) in known])
