"""Python's cycle collector while a Trace is recorded.

A Trace is many thousands of small lists and dictionaries that live until its end. The collector
would read all of them over and over.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ALLOCATED = 100_000
"""Objects that may be allocated between two collections."""
_lock = threading.Lock()
_thresholds: list[tuple[int, int, int]] = []
"""Those that each recording under way has found; the first are the program's own."""


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Cycles are collected less often inside. A program that has turned the collector off, or that
    collects still less often, is left as it is."""
    with _lock:
        first, *others = found = gc.get_threshold()
        _thresholds.append(found)
        if first:
            gc.set_threshold(max(first, ALLOCATED), *others)
    try:
        yield
    finally:
        with _lock:
            own = _thresholds[0]
            _thresholds.pop()
            if not _thresholds:
                if not gc.get_freeze_count():  # what was made counts as old, and is not read now
                    gc.freeze()
                    gc.unfreeze()
                gc.set_threshold(*own)
