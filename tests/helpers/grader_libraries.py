"""Copies of the library for submissions, made once in a process and used by many tests: making one
takes longer than grading a small class.
"""

import contextlib
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from minigrad.lessons.grading import stripped_library

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
