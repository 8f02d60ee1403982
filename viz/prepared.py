"""What is made from the package's own files alone, such as a page's script, is kept in a file that
the next process reads.

The files lie in `minigrad/pages` in the user's folder for caches, or in what the environment
variable MINIGRAD_PAGES names; where neither can be written to, each process makes its own. One is
read while those that it was made from have the same places, sizes and times.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, wraps
from typing import Any, TypeVar

from minigrad.cache_folder import cache_folder, write_whole

Made = TypeVar("Made")
SOURCES = os.path.dirname(os.path.abspath(__file__))


def prepared(make: Callable[..., Made]) -> Callable[..., Made]:
    """A function whose result depends on its arguments and the package's files alone, and is made
    once: what JSON holds, to be read only."""

    @wraps(make)
    @cache
    def found(*args: Any) -> Made:
        stamp, path = _stamp(SOURCES), None
        with suppress(OSError, TypeError, ValueError, RuntimeError):
            key = _hash(repr((SOURCES, make.__module__, args)))[:16]
            path = cache_folder("pages") / f"{make.__name__}-{key}.json"
            held: Made
            before, held = json.loads(path.read_bytes())
            if before == stamp:
                return held
        made = make(*args)
        if path is not None:
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_whole(path, json.dumps([stamp, made], ensure_ascii=False))
        return made

    return found


@cache
def _stamp(folder: str) -> str:
    """Places, sizes and times of the files of a folder, as one short text."""
    return _hash("\n".join(sorted(_files(folder))))


def _files(folder: str) -> Iterator[str]:
    for entry in os.scandir(folder):
        if not entry.is_dir():
            known = entry.stat()
            yield f"{entry.path} {known.st_size} {known.st_mtime_ns}"
        elif entry.name != "__pycache__":
            yield from _files(entry.path)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
