"""Who observes a thread's engine, and what observers may ask besides: in which named region of the
user's program an operation runs, and in the calls of which modules."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from .core.observe import Event, Observer, observation, observers

_changing = threading.Lock()


def add_observer(observer: Observer) -> None:
    """Show `observer` what this thread's engine does from now on."""
    observation.listening = (*observation.listening, observer)
    observation.added = (*observation.added, observer)
    with _changing:
        observers.append(observer)


def remove_observer(observer: Observer) -> None:
    """Undo the latest `add_observer(observer)` of this thread. Does nothing if there is none."""
    added = _without(observation.added, observer)
    if len(added) < len(observation.added):
        observation.listening = _without(observation.listening, observer)
        observation.added = added
        with _changing:
            del observers[next(i for i, o in enumerate(observers) if o is observer)]


def _without(some: tuple[Observer, ...], observer: Observer) -> tuple[Observer, ...]:
    """`some` without the last occurrence of `observer`."""
    found = [i for i, o in enumerate(some) if o is observer]
    return some[: found[-1]] + some[found[-1] + 1 :] if found else some


@contextmanager
def observing(observer: Observer) -> Iterator[Observer]:
    """Let `observer` see what this thread's engine does inside the `with` block. Blocks nest."""
    add_observer(observer)
    try:
        yield observer
    finally:
        remove_observer(observer)


def notify(method: str, *details: Any) -> None:
    """Call an optional method of this thread's observers, where they have it: `tensor_made(tensor)`
    for a tensor made of data and not by an operation, `read(tensor, kind)` for one converted to a
    Python number of this kind ("float"), and then, as by `.item()`, of the kind "item",
    `decided(tensor)` for one whose truth is tested, `indexed(tensor)` for one that is no index and
    is taken as one."""
    for observer in observation.listening:
        if hasattr(observer, method):
            getattr(observer, method)(*details)


Parts = Sequence[tuple[int, int]]
"""Where each part of an axis begins and ends."""
Stage = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""An operation, its operands after the first, and its parameters."""


class Pooling(NamedTuple):
    """A pooling as the stages that it is computed in. operation: what pools along an axis; windows:
    its parameters for each axis, in the order in which they are pooled; divisors: by what the sums
    are divided then, numbers or tensors of numbers along one axis; stages: all operations in their
    order; parts: of each axis whose windows have several sizes."""

    operation: Any
    windows: tuple[dict[str, Any], ...]
    divisors: tuple[Any, ...]
    stages: tuple[Stage, ...]
    parts: Mapping[int, Parts]


class Calls(threading.local):
    """The modules whose calls are under way in this thread, the outermost first; and the pooling
    of several stages that is."""

    modules: tuple[Any, ...] = ()
    pooling: Pooling | None = None


calls = Calls()


@contextmanager
def region(name: str, about: Any = None) -> Iterator[None]:
    """A stretch of the user's program with a name, shown to this thread's observers as an event of
    the phase "region".

    about: whatever the stretch belongs to; observers find it in the event's params.
    """
    if not observation.listening:
        yield
        return
    event = Event("region", None, (), {"name": name, "about": about})
    try:
        event.begin()
        yield
    except BaseException as error:
        event.error = error
        raise
    finally:
        event.end()
