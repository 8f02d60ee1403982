"""One submission: from its notebook to its line of the journal.

A seed is drawn for the submission, the cases are made of it, and the student's process answers
them. Nothing here says what would have been right (grades.py does, when the process is gone).
"""

from __future__ import annotations

import atexit
import hashlib
import hmac
import json
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from . import folders, packages, protocol, stripped_library, submissions
from .demonstrations import demonstrations
from .exercise import Case, Exercise, Returned
from .journal import Record
from .marks import answers_in
from .process_server import Server, disown_all
from .sheet import Sheet, load_sheet
from .student_process import PictureNeeded
from .submitted_notebooks import SubmissionError, cells_of, code_cells, ids_of, load, source_of
from .supervisor import Questions, SubmissionResult, SubmissionRun, Work, forbidden, iter_groups


def seed_for(secret: bytes, sha256: str) -> str:
    """The seed of a submission: it cannot be guessed without the secret, and is the same one at an
    appeal."""
    return hmac.new(secret, sha256.encode(), hashlib.sha256).hexdigest()


def cases_for(exercise: Exercise, seed: str) -> list[Case]:
    """The cases of an exercise for a submission; what other exercises the sheet has does not
    matter.
    """
    own = hmac.new(bytes.fromhex(seed), exercise.name.encode(), hashlib.sha256).digest()
    return exercise.cases(np.random.default_rng(int.from_bytes(own)))


def asked(exercise: Exercise, cases: list[Case]) -> str:
    """A digest of what a student's process is asked, and how: while it stays the same, what came
    back stays good.
    """
    how = [
        exercise.drive_code(),
        list(exercise.answers),
        sorted(exercise.forbid),
        exercise.limit_s,
        exercise.is_value,
    ]
    what = [f"{exercise.called(case)}({case.sent})" for case in cases]
    return hashlib.sha256("\n".join([json.dumps(how), *what]).encode()).hexdigest()


def given(sheet: Sheet) -> str:
    """A digest of what a sheet gives to submissions: its FILES, names and bytes, and its PACKAGES;
    "" where it gives nothing.
    """
    if not (sheet.files or sheet.packages):
        return ""
    stats = {name: path.stat() for name, path in sorted(sheet.files.items())}
    return _given(
        sheet.packages,
        tuple((n, sheet.files[n], stat.st_mtime_ns, stat.st_size) for n, stat in stats.items()),
    )


@lru_cache(maxsize=8)
def _given(names: tuple[str, ...], files: tuple[tuple[str, Path, int, int], ...]) -> str:
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path, *_ in files}
    return hashlib.sha256(json.dumps([names, digests]).encode()).hexdigest()


def grade_one(job: dict[str, Any]) -> Record:
    """Runs one submission and returns its line of the journal. It judges nothing.

    job: "sheet" (path), "student", "path" (or None), "beside", "note", "problem", "lms", "secret"
    (hex), "least" (a level), "warm", "wrap", "work" (a folder for temporary files, or ""),
    "together", "shorten" (see `check_own_solution`). Raises SandboxError where isolation is
    worse than "least".
    """
    sheet, start = sheet_at(job["sheet"]), time.monotonic()
    record: Record = {
        "kind": "hand-in",
        "student": job["student"],
        "file": job["path"] or "",
        "beside": job["beside"],
        "note": job["note"],
        "problem": job["problem"],
        "lms": job["lms"],
        "handed_in": job.get("handed_in", ""),
        "flags": job.get("flags", []),
        "sheet": {"name": sheet.name, "hash": sheet.hash},
        "sha256": "",
        "seed": "",
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if job["path"] is None:
        return record
    path = Path(job["path"])
    beside = submissions.named(path, [Path(p) for p in job["beside"]])
    record["sha256"] = submissions.digest(path, list(beside.values()))
    record["seed"] = seed_for(bytes.fromhex(job["secret"]), record["sha256"])
    try:
        notebook = load(path)
        cells = code_cells(notebook, sheet)
    except SubmissionError as error:
        return record | {"problem": str(error)}
    questions = [(exercise, cases_for(exercise, record["seed"])) for exercise in sheet.exercises]
    outcome = run_cells(
        cells, questions, beside, job, shown_in(job["sheet"]) if job["shorten"] else frozenset()
    )
    if sheet.manual:
        record["answers"] = answers_in(
            cells_of(notebook),
            sheet.manual,
            ids_of,
            source_of,
        )
    return record | {
        "level": outcome.level,
        "seconds": round(time.monotonic() - start, 6),
        "cpu_s": round(outcome.cpu_s, 6),
        "stops": outcome.stops,
        "cells": outcome.cells,
        "unfinished": outcome.unfinished,
        "not_run": outcome.not_run or [],
        "flags": record["flags"] + outcome.flags + looks_inside(cells),
        "printed": outcome.printed,
        "given": given(sheet),
        "exercises": {
            exercise.name: {
                "asked": asked(exercise, cases),
                "returned": list(map(_packed, outcome.returned[exercise.name])),
            }
            for exercise, cases in questions
        },
    }


INSIDE = re.compile(
    r"\b(__closure__|cell_contents|__subclasses__|f_locals|f_globals|f_back|tb_frame|gi_frame|cr_frame|__kwdefaults__)\b"
)
"""By these names code reads and changes what other functions keep for themselves: a drive's
count of runs, for instance.
"""


def looks_inside(cells: list[tuple[str, str]]) -> list[str]:
    """Flags for cells that a person should look at, by their text. Like all flags they change no
    points.
    """
    found = {name: match[0] for name, source in cells if (match := INSIDE.search(source))}
    return [
        f"wrote `{word}` in {name}, which looks into other functions"
        for name, word in found.items()
    ][:5]


def run_cells(
    cells: list[tuple[str, str]],
    questions: Questions,
    beside: Mapping[str, Path],
    job: dict[str, Any],
    shown: frozenset[str],
) -> SubmissionResult:
    """What a notebook's cells and functions gave.

    As soon as they compute with what a stub of Matplotlib gave them, all is run again with the real
    one, if that is installed.
    """
    there, outcome = sheet_at(job["sheet"]).packages, SubmissionResult()
    more = tuple(sorted({*there, *packages.PICTURES}))
    pictures = len(more) == len(there) or not packages.are_here(packages.PICTURES)
    try:
        return _asked(cells, questions, beside, job, shown, there, outcome, pictures)
    except PictureNeeded:
        waits = {name: getattr(outcome, name) for name in ("waited", "waited_on_cells", "asleep")}
        again = _asked(cells, questions, beside, job, shown, more, SubmissionResult(**waits), True)
        again.flags = list(dict.fromkeys([*outcome.flags, *again.flags]))
        return again


def _asked(
    cells: list[tuple[str, str]],
    questions: Questions,
    beside: Mapping[str, Path],
    job: dict[str, Any],
    shown: frozenset[str],
    there: tuple[str, ...],
    outcome: SubmissionResult,
    pictures: bool,
) -> SubmissionResult:
    """What a notebook's cells and functions gave, where some packages may be imported. Raises
    PictureNeeded unless they may compute with what a picture gives.

    Each exercise is asked in a process without the names that it forbids. One process without all
    the names that any of them forbids does
    for all: as long as nothing calls one of these, it does what it would do if they were there. If
    something does, the exercises that forbid less are asked again, each set of names in a process
    of its own; those answers count.
    """
    groups, all_names = list(iter_groups(questions)), forbidden(questions)
    given = sheet_at(job["sheet"]).files
    if len(groups) > 1 and job["together"]:
        work = Work(cells, list(questions), beside, shown, given)
        _run(all_names, work, outcome, job, there, pictures)
        again = [group for group in groups if group[0] != all_names]
        groups = again if outcome.withheld else []
    for names, part in groups:
        _run(names, Work(cells, part, beside, shown, given), outcome, job, there, pictures)
    return outcome


def _run(
    names: tuple[str, ...],
    work: Work,
    outcome: SubmissionResult,
    job: dict[str, Any],
    there: tuple[str, ...],
    pictures: bool,
) -> None:
    program = "\n".join(source for _, source in work.cells)
    with server(names, job, there, program) as process:
        SubmissionRun(process, work, outcome, job["least"], pictures).run()


def _packed(returned: Returned) -> dict[str, Any]:
    """What a call came to, as a line of the journal holds it."""
    times = {"cpu_s": round(returned.cpu_s, 6), "wall_s": round(returned.wall_s, 6)}
    if returned.kind or returned.error:
        return {"error": returned.error, "kind": returned.kind, **times}
    return {"value": protocol.encode(returned.value), **times}


def unpacked(packed: dict[str, Any]) -> Returned:
    """What `_packed` was given."""
    times = {"cpu_s": packed["cpu_s"], "wall_s": packed["wall_s"]}
    if "value" in packed:
        return Returned(protocol.decode(packed["value"]), **times)
    return Returned(error=packed["error"], kind=packed["kind"], **times)


@lru_cache(maxsize=8)
def _sheet(path: str, changed: float) -> Sheet:
    return load_sheet(path)


def sheet_at(path: str) -> Sheet:
    """The sheet at a path, loaded once in each process of a pool."""
    return _sheet(path, os.stat(path).st_mtime)


@lru_cache(maxsize=8)
def _shown(path: str, changed: float) -> frozenset[str]:
    return demonstrations(_sheet(path, changed))


def shown_in(path: str) -> frozenset[str]:
    """The sources of those cells of a sheet that only show something."""
    return _shown(path, os.stat(path).st_mtime)


# ------------------------------------------------------------------------------------------ servers

_idle: list[tuple[tuple[tuple[str, ...], tuple[str, ...]], bool, Server]] = []
_idle_lock = threading.Lock()


@contextmanager
def server(
    forbid: tuple[str, ...], job: dict[str, Any], there: tuple[str, ...] = (), program: str = ""
) -> Iterator[Server]:
    """A server for submissions with a library without these names: an idle one if the job may start
    warm, else a new one for this program. there: packages beyond NumPy and minigrad.
    """
    work = Path(job["work"]) if job["work"] and os.path.isdir(job["work"]) else None
    found = None
    if job["warm"]:
        with _idle_lock:
            for entry in _idle:
                if (
                    entry[:2] == ((forbid, there), job["wrap"])
                    and entry[2].library.is_dir()
                    and entry[2].base.is_dir()
                    and entry[2].process.poll() is None
                ):
                    _idle.remove(entry)
                    found = entry[2]
                    break
    found = found or Server(
        stripped_library.library(forbid, work), job["wrap"], work, there,
        None if job["warm"] else program,
    )  # fmt: skip
    healthy = False
    try:
        yield found
        healthy = True
    except PictureNeeded:  # its process has ended, as at the end of a submission
        healthy = True
        raise
    finally:
        if healthy and job["warm"]:
            with _idle_lock:
                _idle.append(((forbid, there), job["wrap"], found))
        else:
            found.close()


def _be_a_new_process() -> None:
    """In a process that a pool has forked: the servers belong to the process that started them."""
    _idle.clear()
    folders.disown()
    disown_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_be_a_new_process)


def close_servers() -> None:
    """Ends the idle servers of this process and removes their libraries."""
    with _idle_lock:
        while _idle:
            _idle.pop()[2].close()
    folders.forget()


atexit.register(close_servers)
