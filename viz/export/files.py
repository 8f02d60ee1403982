"""Writing a file so that it is there whole or not at all.

An interrupted export leaves no partial file: the picture is written to a temporary file beside its
target and renamed in one step when it is finished. An earlier file stays until then.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path in the same folder; when the block ends well it becomes ``path``, else it is
    removed.

    Raises:
        FileNotFoundError: the folder does not exist.
        IsADirectoryError: ``path`` is a folder.
        OSError: the folder cannot be written to.
    """
    final = Path(path)
    if final.is_dir():
        raise IsADirectoryError(21, "it is a folder; name a file in it", str(final))
    folder = final.parent
    if not folder.is_dir():
        raise FileNotFoundError(2, "there is no such folder; make it first", str(folder))
    # The name is known before the file is there: an interruption at any moment finds it, and
    # removes it.
    name = folder / f".{final.stem[:40]}-{secrets.token_hex(4)}{final.suffix}"
    try:
        name.touch(mode=0o666, exist_ok=False)
        yield name
        os.replace(name, final)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
