"""Where files lie that are made again where they are missing: kernels, and parts of pages."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folder(name: str) -> Path:
    """What the environment variable MINIGRAD_NAME names, or `minigrad/name` in the user's folder
    for caches. It need not be there.

    Raises RuntimeError for a user who has no folder.
    """
    chosen = os.environ.get(f"MINIGRAD_{name.upper()}")
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(chosen) if chosen else Path(caches).expanduser() / "minigrad" / name


def write_whole(path: Path, text: str) -> None:
    """Write a file that other processes never see in part. Raises OSError."""
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, suffix=".part", delete=False, encoding="utf-8"
    ) as file:
        file.write(text)
    os.replace(file.name, path)
