"""Where in the user's program an operation runs, for observers: in which named region, and in the
calls of which modules."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .core.observe import Event, observation


class Calls(threading.local):
    """The modules whose calls are under way in this thread, the outermost first."""

    modules: tuple[Any, ...] = ()


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
