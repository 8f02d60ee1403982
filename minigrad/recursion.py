"""A deeper stack of Python for reverse passes that run inside one another."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import AutogradError

MOST_INNER_PASSES = 1000
_FRAMES = 60
"""How far Python's recursion limit is raised for an inner pass: the frames of the pass, a hook and
what it calls."""
_changing_limit = threading.Lock()


class _Depth(threading.local):
    """How many passes of this thread wait for an inner one to end."""

    passes = 0


_depth = _Depth()


@contextmanager
def deeper_stack(caller: str) -> Iterator[None]:
    """For a pass that a hook or a Function of another pass has called: a higher recursion limit
    inside the `with` block. Raises AutogradError for too many inside one another."""
    if _depth.passes == MOST_INNER_PASSES:
        raise AutogradError(
            f"{caller}: {MOST_INNER_PASSES} backward passes run inside one another. A hook or the "
            "backward of a Function calls backward, whose own hooks or Functions call it again. "
            "End the chain, or do the inner passes one after the other, outside the hook."
        )
    _change_limit(_FRAMES)
    _depth.passes += 1
    try:
        yield
    finally:
        _depth.passes -= 1
        _change_limit(-_FRAMES)


def _change_limit(by: int) -> None:
    with _changing_limit:
        sys.setrecursionlimit(sys.getrecursionlimit() + by)
