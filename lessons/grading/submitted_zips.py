"""The zips that were handed in: unpacked, whatever they say about their contents."""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from minigrad.cli.folders import remove

from . import submitted_notebooks
from .protocol import one_line
from .submitted_notebooks import SubmissionError, open_ordinary

ZIP_FILES = 50_000
"""How many files a zip may hold."""
LIST_BYTES = 32 << 20
"""The longest list of a zip's contents that is read."""
DEPTH = 20
"""How deep below a student's folder the notebook may lie."""
NAME_BYTES = 200
"""The longest name of a file or folder that is unpacked."""


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip, opened for reading, whose list of contents is of an honest size."""
    with _Limited(open_ordinary(path).detach()) as file, zipfile.ZipFile(file) as archive:
        yield archive


class _Limited(io.BufferedReader):
    """A file that is not read in pieces of any size: a zip says itself how long its list is."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Raises SubmissionError for too large a piece."""
        if size is not None and size > LIST_BYTES:
            raise SubmissionError(f"The zip holds more than {ZIP_FILES:,} files.")
        return super().read(size)


def unzip(path: Path, folder: Path, most: int, not_after: float = float("inf")) -> int:
    """Unpacks plain files with harmless names, whatever the zip says about their sizes.

    Args:
        most: bytes in all; of one file no more is written than can be read of a notebook.
        not_after: no file gets a later modification time, in seconds since 1970.

    Returns the number of bytes written. Raises SubmissionError.
    """
    folder.mkdir(parents=True)
    space = most
    try:
        with opened(path) as archive:
            entries = archive.infolist()
            if len(entries) > ZIP_FILES:
                raise SubmissionError(f"The zip holds more than {ZIP_FILES:,} files.")
            for entry in entries:
                target = _target(entry, folder)
                if target is None:
                    continue
                with archive.open(entry) as packed, target.open("wb") as file:
                    limit = submitted_notebooks.FILE_BYTES
                    while file.tell() <= limit and (block := packed.read(1 << 20)):
                        space -= len(block)
                        if space < 0:
                            raise SubmissionError(
                                f"The zips hold more than {most >> 20} MB when they are unpacked."
                            )
                        file.write(block)
                _set_time(target, entry, not_after)
        return most - space
    except SubmissionError:
        remove(folder)
        raise
    except Exception as error:  # a stranger's zip makes the modules that read it raise anything
        remove(folder)
        raise SubmissionError(
            f"The zip cannot be unpacked ({type(error).__name__}: {one_line(str(error), 100)})."
        ) from None


def _target(entry: zipfile.ZipInfo, folder: Path) -> Path | None:
    """Where an entry goes; None for folders, links, what is hidden, names that lead out of the
    folder, and names that another entry has for a folder or a file.
    """
    kind = stat.S_IFMT(entry.external_attr >> 16)
    name = _name_of(entry)
    parts = [part for part in re.split(r"[/\\]", name) if part not in ("", ".")]
    if (
        name.startswith(("/", "\\"))
        or entry.is_dir()
        or kind not in (0, stat.S_IFREG)
        or not parts
        or any(part.startswith(".") or part == "__MACOSX" for part in parts)
        or re.fullmatch("[A-Za-z]:", parts[0])
        or len(parts) > DEPTH
    ):
        return None
    target = folder.joinpath(*(safe_name(part, NAME_BYTES) for part in parts))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return None
    return None if target.is_dir() else target


def _name_of(entry: zipfile.ZipInfo) -> str:
    """An entry's name. Some programs write UTF-8 without saying so."""
    if entry.flag_bits & 0x800:
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.filename


def _set_time(target: Path, entry: zipfile.ZipInfo, not_after: float) -> None:
    try:
        when = min(datetime(*entry.date_time).timestamp(), not_after)
        os.utime(target, (when, when))
    except (ValueError, OverflowError, OSError):
        pass


BLANK = "".join(map(chr, range(33))) + "\xa0\u115f\u1160\u2800\u3000\u3164\uffa0"
"""Letters that are drawn as nothing; a link with them alone could not be followed."""


def safe_name(name: str, limit: int) -> str:
    """A name that can be written and seen, of at most so many bytes. What was changed or cut is
    replaced by a digest, so that two names stay two; the ending stays.
    """
    if not name.strip(BLANK):
        return f"unnamed~{tag_of(name)}"
    safe = one_line(name, limit)
    if safe == name and len(os.fsencode(name)) <= limit:
        return name
    tag = tag_of(name)
    found = re.search(r"\.[A-Za-z0-9]{1,8}$", name)
    ending = found[0] if found else ""
    stem = one_line(name.removesuffix(ending), limit).encode()[: limit - len(ending) - 13]
    return f"{stem.decode(errors='ignore')}~{tag}{ending}"


def tag_of(name: str) -> str:
    """A digest of a name, for names of files."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
