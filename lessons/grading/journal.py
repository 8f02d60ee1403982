"""The journal: what every submission returned, one line of JSON each, written once and never
changed.

Grades, tables and pages are functions of this file. So nothing is lost when the grader is killed,
and a repaired answer key needs no student's code to run again. A line is one of

    {"v": 1, "kind": "hand-in", "student": "ada", "file": "submitted/ada/vjp.ipynb",
     "beside": [], "note": "", "problem": "", "lms": {},
     "handed_in": "2026-01-31T11:00:00+00:00", "answers": {"proof": "..."},
     "sheet": {"name": "vjp", "hash": "..."},
     "sha256": "...", "seed": "...",    # of the submission; HMAC(the sheet's secret, sha256)
     "when": "2026-01-31T12:00:00+00:00", "level": "confined",
     "seconds": 0.02, "cpu_s": 0.02, "stops": 0,
     "cells": {"cell 3": "NameError: ..."}, "not_run": ["cell 9"],
     "unfinished": {"cell 7": "syntax"},    # or one of "time", "memory", "died", "not run"
     "flags": ["..."], "printed": "...",
     "given": "...",                    # digest of the sheet's FILES and PACKAGES; "" without
     "exercises": {"vjp_sin": {
         "asked": "...",                # digest of the cases, and of how they were asked
         "returned": [                  # as protocol.py writes values
             {"value": ..., "cpu_s": 0.0001, "wall_s": 0.0002},
             {"error": "...", "kind": "raised", "cpu_s": ..., "wall_s": ...}]}}}
    {"v": 1, "kind": "mark", "student": "ada", "item": "proof: idea", "points": 2.0,
     "comment": "...", "when": "..."}   # by a person; "points": null takes it back
    {"v": 1, "kind": "grades", "sheet": {...}, "when": "...", "points": {"ada": {"vjp_sin": 3.0}}}

Of several lines about one student the last one counts. A student whom the last line of points does
not name has withdrawn. `problem` is a sentence for the student
where there is no notebook to run; such a line has no exercises. A last line that was cut off by a
crash is dropped when the journal is next opened.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

JOURNAL = "journal.jsonl"
"""Its name in a results folder."""

try:
    import fcntl
except ModuleNotFoundError:
    # Windows, on which submissions are not run; but marks are entered there
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
"""With this ends the name of the file that is locked where `fcntl` is missing."""

VERSION = 1

Record = dict[str, Any]


class JournalError(RuntimeError):
    """A journal that cannot be used; the message says what to do."""


class Journal:
    """A journal that is open for writing, by one grader at a time. A context manager.

    Raises JournalError where another grader is writing to it, or where a line in the middle is
    damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600
        )
        self._database: Any = None
        if not self._be_the_only_writer():
            self.close()
            raise JournalError(
                f"another grader is writing to {path}; wait for it, or give another --out"
            )
        self._drop_torn_line()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the journal free for other writers."""
        os.close(self._file)
        if self._database is not None:
            self._database.close()

    def _be_the_only_writer(self) -> bool:
        """Takes a lock that the system gives back when this process ends, however it ends; False
        where another writer has it.

        Without `fcntl` it is SQLite's, on a file beside the journal: SQLite locks files on every
        system, while a lock of Windows's own on the journal would keep readers out, too.
        """
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
            return True
        import sqlite3

        self._database = sqlite3.connect(
            f"{self.path}{LOCK}", timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            self._database.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return False
        return True

    def append(self, record: Record) -> None:
        """Writes a line; when this returns, the line is on the disk."""
        line = (
            json.dumps({"v": VERSION, **record}, separators=(",", ":"), allow_nan=False).encode(
                "ascii"
            )
            + b"\n"
        )
        with self._lock:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)

    def _drop_torn_line(self) -> None:
        size = os.fstat(self._file).st_size
        end, block = size, 1 << 16
        while end > 0:
            start = max(0, end - block)
            os.lseek(self._file, start, os.SEEK_SET)  # lines are appended wherever this is
            newline = os.read(self._file, end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end != size:
            os.ftruncate(self._file, end)
            os.fsync(self._file)


def read(path: Path) -> Iterator[Record]:
    """The lines of a journal, without a torn last one. Raises JournalError for a line in the
    middle that is no record.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
                assert record["v"] == VERSION and isinstance(record["kind"], str)
            except (ValueError, KeyError, TypeError, AssertionError, RecursionError):
                raise JournalError(
                    f"{path}, line {number}: not a line of a journal of version {VERSION}"
                ) from None
            yield record


def last_submissions(path: Path) -> dict[str, Record]:
    """For each student the record that counts, by the student's name."""
    found = {record["student"]: record for record in read(path) if record["kind"] == "hand-in"}
    return dict(sorted(found.items()))


def submissions_that_count(path: Path) -> dict[str, Record]:
    """The last record of each student to whom the last run gave points, or who was run since. What
    was withdrawn before that run stays in the journal and counts no more.
    """
    last: dict[str, Record] = {}
    present: set[str] = set()
    for record in read(path):
        if record["kind"] == "hand-in":
            last[record["student"]] = record
            present.add(record["student"])
        elif record["kind"] == "grades":
            present = set(record["points"])
    return {name: last[name] for name in sorted(last) if name in present}


def last_grades(path: Path) -> dict[str, dict[str, float]]:
    """The points that were given the last time, by student and exercise; empty before the first
    time.
    """
    grades: dict[str, dict[str, float]] = {}
    for record in read(path):
        if record["kind"] == "grades":
            grades = record["points"]
    return grades
