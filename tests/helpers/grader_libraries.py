"""Copies of the library for submissions, and the servers that fork them, made once in a process and
used by many tests: making one takes longer than grading a small class.
"""

import contextlib
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from minigrad.lessons.grading import one_submission, run, stripped_library

_made: dict[tuple[str, ...], Path] = {}
_lock = threading.Lock()


@contextlib.contextmanager
def made_once(top: Path) -> Iterator[None]:
    """Within this context the grader uses copies that are kept in a folder. Give the same folder
    each time.
    """

    def library(forbid: Iterable[str], base: Path | None = None) -> Path:
        names = tuple(sorted(set(forbid)))
        with _lock:
            if names not in _made or not _made[names].is_dir():
                _made[names] = stripped_library.make(names, top)
            return _made[names]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stripped_library, "library", library)
        yield


@contextlib.contextmanager
def servers_kept(top: Path) -> Iterator[None]:
    """Within this context the servers that a grader would end with its class serve the next class,
    also after the context. Their submissions work in folders below `top`, not in the folder of the
    results. A submission that asks for a server of its own gets one.
    """
    server = one_submission.server

    def kept(forbid: Any, job: dict[str, Any], *more: Any) -> Any:
        return server(forbid, job | {"work": str(top)} if job["warm"] else job, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_submission, "server", kept)
        for module in (one_submission, run):
            patch.setattr(module, "close_servers", lambda: None)
        yield
