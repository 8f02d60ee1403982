"""Folders that are made once for each set of names: copies of the library, links to packages."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

Make = Callable[[tuple[str, ...], Path | None], Path]
"""Makes a new folder for some names, below another folder."""

_made: dict[tuple[Make, tuple[str, ...]], Path] = {}
_lock = threading.Lock()


def made_once(make: Make, names: tuple[str, ...], base: Path | None) -> Path:
    """What `make(names, base)` returned the first time, if it is still there."""
    with _lock:
        key = make, names
        if key not in _made or not _made[key].is_dir():
            _made[key] = make(names, base)
        return _made[key]


def link(place: Path, target: Path) -> None:
    """Makes a path stand for a file or a folder: by a link, or by a copy where none can be made
    (Windows asks for a privilege).
    """
    try:
        place.symlink_to(target)
    except (OSError, NotImplementedError):
        if target.is_dir():
            shutil.copytree(target, place, ignore=shutil.ignore_patterns("tests"))
        else:
            shutil.copy2(target, place)


def forget() -> None:
    """Remove all folders."""
    with _lock:
        for folder in _made.values():
            shutil.rmtree(folder, ignore_errors=True)
        _made.clear()


def disown() -> None:
    """In a forked process: the folders belong to the process that made them."""
    global _lock
    _lock = threading.Lock()  # another thread may have held it when the fork came
    _made.clear()
