"""Removing and measuring folders that a stranger's program has filled: any depth, any
permissions.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import NamedTuple


def remove(folder: str | os.PathLike[str]) -> None:
    """Removes a folder, also where permissions were taken away from some of it; "" is none.

    Links are removed and not followed. Folders are moved up to the top before they are emptied, so
    no path gets longer than the system allows and nothing recurses. What the system refuses to
    remove stays.
    """
    top, token, number = os.fspath(folder), secrets.token_hex(4), 0
    if not top or os.path.islink(top):
        return
    with contextlib.suppress(OSError):
        os.chmod(top, 0o700)
    removed = True
    while removed:
        removed = False
        for entry in _entries(top):
            if not entry.is_dir(follow_symlinks=False):
                removed |= _done(os.unlink, entry.path)
                continue
            _done(os.chmod, entry.path, 0o700)
            for inner in _entries(entry.path):
                if inner.is_dir(follow_symlinks=False):
                    number += 1
                    _done(os.chmod, inner.path, 0o700)
                    _done(os.rename, inner.path, os.path.join(top, f".{token}-{number}"))
                else:
                    _done(os.unlink, inner.path)
            removed |= _done(os.rmdir, entry.path)
    _done(os.rmdir, top)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _done(change: object, *args: object) -> bool:
    try:
        change(*args)  # type: ignore[operator]
    except OSError:
        return False
    return True


class FolderSize(NamedTuple):
    """What a folder holds. files: folders included; depth: of the deepest file or folder."""

    files: int
    bytes: int
    depth: int


def size(folder: str | os.PathLike[str], most_files: int, most_depth: int) -> FolderSize:
    """The size of a folder; counting stops beyond `most_files` or `most_depth`. Links count as
    files.
    """
    files, total, depth = 0, 0, 0
    level = [os.fspath(folder)]
    while level and files <= most_files and depth <= most_depth:
        entries = [entry for path in level for entry in _entries(path)]
        files += len(entries)
        depth += bool(entries)
        level = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                level.append(entry.path)
            else:
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_size
    return FolderSize(files, total, depth)
