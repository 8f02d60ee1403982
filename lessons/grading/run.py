"""Grading a class: from a folder of submissions to a journal, and from the journal to grades.

The order of work keeps a grade a secret until it is given: a seed is drawn for the submission, the
cases are made of it, the student's process answers them and dies, and only then is anything
computed that says what would have been right. It also shows how the work is spread: `grade_one` is
an importable function of plain data that returns plain data, so any `concurrent.futures.Executor`
will do (threads, processes, dask's `Client.get_executor()`, ipyparallel's, mpi4py's), and every one
gives the same grades. Threads are the default: students' code has processes of its own anyway.
"""

from __future__ import annotations

import atexit
import csv
import hashlib
import hmac
import json
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from minigrad.cli.folders import remove

from . import folders, packages, protocol, stripped_library, submissions
from .demonstrations import demonstrations
from .exercise import Case, Exercise, Returned, SheetError
from .journal import Journal, Record, last_grades, last_submissions, submissions_that_count
from .judge import Judgement, judge
from .marks import Mark, answers_in, items_of, last_marks
from .process_server import Server, abandon_all, bubblewrap, disown_all
from .sandbox import LEVELS, SandboxError
from .sheet import Sheet, load_sheet, own_solution
from .supervisor import Outcome, Questions, Run, Work, forbidden, iter_groups

JOURNAL, SECRET, UNPACKED, WORK = "journal.jsonl", "secret.key", "unpacked", "work"
"""In the results folder: the journal, the sheet's secret, what was in zips, and what is there
only while the grader runs.
"""

LARGE = 100
"""From so many submissions for each process on, judging is shared out among processes."""

SAFE_LEVEL = "confined"
"""Below this one a student's program can reach what the grader's account can reach."""


# ----------------------------------------------------------------------------------- one submission


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
        notebook = submissions.load(path)
        cells = submissions.code_cells(notebook, sheet)
    except submissions.SubmissionError as error:
        return record | {"problem": str(error)}
    questions = [(exercise, cases_for(exercise, record["seed"])) for exercise in sheet.exercises]
    outcome = run_cells(
        cells, questions, beside, job, shown_in(job["sheet"]) if job["shorten"] else frozenset()
    )
    if sheet.manual:
        record["answers"] = answers_in(
            submissions.cells_of(notebook), sheet.manual, submissions.ids_of, submissions.source_of
        )
    return record | {
        "level": outcome.level,
        "seconds": round(time.monotonic() - start, 6),
        "cpu_s": round(outcome.cpu_s, 6),
        "stops": outcome.stops,
        "cells": outcome.cells,
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
) -> Outcome:
    """What a notebook's cells and functions gave.

    Where they computed with what a stub of Matplotlib gave them, all is run again with the real
    one, if that is installed.
    """
    there = sheet_at(job["sheet"]).packages
    outcome = _asked(cells, questions, beside, job, shown, there, Outcome())
    if outcome.picture and packages.are_here(packages.PICTURES):
        there = tuple(sorted({*there, *packages.PICTURES}))
        waits = {name: getattr(outcome, name) for name in ("waited", "waited_on_cells", "asleep")}
        again = _asked(cells, questions, beside, job, shown, there, Outcome(**waits))
        again.flags = list(dict.fromkeys([*outcome.flags, *again.flags]))
        return again
    return outcome


def _asked(
    cells: list[tuple[str, str]],
    questions: Questions,
    beside: Mapping[str, Path],
    job: dict[str, Any],
    shown: frozenset[str],
    there: tuple[str, ...],
    outcome: Outcome,
) -> Outcome:
    """What a notebook's cells and functions gave, where some packages may be imported.

    Each exercise is asked in a process without the names that it forbids. One process without all
    the names that any of them forbids does
    for all: as long as nothing calls one of these, it does what it would do if they were there. If
    something does, the exercises that forbid less are asked again, each set of names in a process
    of its own; those answers count.
    """
    groups, all_names = list(iter_groups(questions)), forbidden(questions)
    given = sheet_at(job["sheet"]).files
    if len(groups) > 1 and job["together"]:
        _run(all_names, Work(cells, list(questions), beside, shown, given), outcome, job, there)
        again = [group for group in groups if group[0] != all_names]
        groups = again if outcome.withheld else []
    for names, part in groups:
        _run(names, Work(cells, part, beside, shown, given), outcome, job, there)
    return outcome


def _run(
    names: tuple[str, ...],
    work: Work,
    outcome: Outcome,
    job: dict[str, Any],
    there: tuple[str, ...],
) -> None:
    with server(names, job, there) as process:
        Run(process, work, outcome, job["least"]).run()


def _packed(returned: Returned) -> dict[str, Any]:
    times = {"cpu_s": round(returned.cpu_s, 6), "wall_s": round(returned.wall_s, 6)}
    if returned.kind or returned.error:
        return {"error": returned.error, "kind": returned.kind, **times}
    return {"value": protocol.encode(returned.value), **times}


def _unpacked(packed: dict[str, Any]) -> Returned:
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
    forbid: tuple[str, ...], job: dict[str, Any], there: tuple[str, ...] = ()
) -> Iterator[Server]:
    """A server for submissions with a library without these names: an idle one if the job may start
    warm, else a new one. there: packages beyond NumPy and minigrad.
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
                ):
                    _idle.remove(entry)
                    found = entry[2]
                    break
    found = found or Server(stripped_library.library(forbid, work), job["wrap"], work, there)
    healthy = False
    try:
        yield found
        healthy = True
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


# ------------------------------------------------------------------------------------------ judging


def judgements(record: Record, sheet: Sheet) -> list[Judgement]:
    """What a line of the journal is worth: a pure function of the line and the sheet. Empty where
    there was nothing to run.

    Raises SheetError for an exercise that asks something else now, and for other FILES or PACKAGES:
    what came back then says nothing about it.
    """
    if "exercises" not in record:
        return []
    if record.get("given", "") != given(sheet):
        raise SheetError(
            f"the sheet gives other FILES or PACKAGES than when {record['student']} was graded: run"
            " it again."
        )
    found = []
    for exercise in sheet.exercises:
        cases, entry = cases_for(exercise, record["seed"]), record["exercises"].get(exercise.name)
        if entry is None or entry["asked"] != asked(exercise, cases):
            raise SheetError(
                f"exercise {exercise.name!r} asks something else than when {record['student']} was"
                " graded: run it again."
            )
        found.append(judge(exercise, cases, [_unpacked(packed) for packed in entry["returned"]]))
    return found


def is_current(record: Record, sheet: Sheet, job: dict[str, Any]) -> bool:
    """Whether a submission need not be run again: same file, same questions, FILES and PACKAGES,
    and no worse isolation than is asked for now.
    """
    if job["path"] is None:
        return not record["file"] and record["problem"] == job["problem"]
    if record["sha256"] != submissions.digest(Path(job["path"]), [Path(p) for p in job["beside"]]):
        return False
    if "exercises" not in record:  # it could not be read, and cannot be now
        return bool(record["problem"])
    if LEVELS.index(record["level"]) < LEVELS.index(job["least"]) or record["note"] != job["note"]:
        return False
    if record["seed"] != seed_for(bytes.fromhex(job["secret"]), record["sha256"]):
        return False
    if record.get("given", "") != given(sheet):
        return False
    if set(record["exercises"]) != {e.name for e in sheet.exercises}:
        return False
    return all(
        record["exercises"][e.name]["asked"] == asked(e, cases_for(e, record["seed"]))
        for e in sheet.exercises
    )


@dataclass
class Graded:
    """One student's result: the line of the journal and what it is worth. marks: what a person
    gave, by item; for an exercise it replaces the grader's points.
    """

    record: Record
    judgements: list[Judgement]
    marks: dict[str, Mark] = field(default_factory=dict)

    @property
    def student(self) -> str:
        """The student's name."""
        return str(self.record["student"])

    @property
    def points(self) -> float:
        """The points of all exercises and of what a person graded."""
        return sum(self.by_item.values())

    @property
    def by_item(self) -> dict[str, float]:
        """The points of each exercise and of each item that a person graded."""
        given = {j.exercise: j.points for j in self.judgements}
        return given | {item: mark.points for item, mark in self.marks.items()}

    @property
    def needs_a_person(self) -> bool:
        """Whether a person should look: nothing could be run, or something was noticed. It changes
        no points."""
        return bool(self.record["problem"] or self.record.get("flags"))


def graded(
    out: Path, sheet_path: Path, jobs: int = 0, students: Iterable[str] | None = None
) -> list[Graded]:
    """All students' results, out of the journal alone. A large class is shared out among
    processes: this is our own code.

    students: whose; by default those whose submissions count.
    """
    if students is None:
        records = list(submissions_that_count(out / JOURNAL).values())
    else:
        last, chosen = last_submissions(out / JOURNAL), set(students)
        records = [record for name, record in last.items() if name in chosen]
    jobs = min(jobs or os.cpu_count() or 1, len(records) // LARGE)
    if jobs < 2:
        found = [judgements(record, sheet_at(str(sheet_path))) for record in records]
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            found = list(
                pool.map(_judge_one, repeat(str(sheet_path)), records, chunksize=LARGE // 5)
            )
    marks = last_marks(out / JOURNAL)
    return [
        Graded(record, judged, marks.get(record["student"], {}))
        for record, judged in zip(records, found, strict=True)
    ]


def _judge_one(sheet_path: str, record: Record) -> list[Judgement]:
    return judgements(record, sheet_at(sheet_path))


# ------------------------------------------------------------------------------------------ a class


@dataclass
class Report:
    """What a run came to. ran: submissions that were run, as opposed to found in the journal;
    failed: those that the grader itself could not run, with the reason; changed: (student, points
    before, points now), for those whose points changed; withdrawn: who counted before and has
    handed nothing in now; left_out: files that are no student's submission.
    """

    results: list[Graded] = field(default_factory=list)
    ran: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    changed: list[tuple[str, float, float]] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def status(self) -> int:
        """The exit status: 0 all graded, 1 some need a person."""
        return int(bool(self.failed) or any(result.needs_a_person for result in self.results))


@dataclass(frozen=True)
class Options:
    """How to run. least: the level of isolation below which nothing is run; warm: fork submissions
    from a running server; wrap: use bubblewrap where it works; jobs: threads, if no executor is
    given.
    """

    least: str = SAFE_LEVEL
    warm: bool = True
    wrap: bool = True
    jobs: int = 0


def grade(
    sheet_path: Path,
    submitted: Path | Sequence[Path],
    out: Path,
    options: Options = Options(),
    executor: Executor | None = None,
    log: TextIO | None = None,
) -> Report:
    """Grades a class: runs what the journal does not hold yet, then writes grades.csv and items.csv
    from it. submitted: a folder, or a zip of all submissions, or several of them, which together
    are the whole class.

    Raises:
        SheetError: the sheet's own solution does not get full points, or the sheet is wrong
        otherwise; no submission is graded then. SandboxError: isolation is worse than
        options.least. FileNotFoundError: there is no such sheet or folder.
        SubmissionError: there are no submissions in the folder, or its zip cannot be unpacked.
        JournalError: the journal is in use, or damaged.
    """
    sheet_path, out = sheet_file(sheet_path), out.resolve()
    sheet = sheet_at(str(sheet_path))
    with Journal(out / JOURNAL) as journal:
        work = _empty(out / WORK)
        try:
            job = _common_job(sheet_path, out, work, options)
            job |= check_own_solution(sheet, job)
            report = Report()
            jobs = _found(submitted, sheet, out, job, report)
            known, present = last_submissions(out / JOURNAL), [j["student"] for j in jobs]
            report.withdrawn = sorted(set(submissions_that_count(out / JOURNAL)) - set(present))
            todo = []
            for j in jobs:
                if (before := known.get(j["student"])) and is_current(before, sheet, j):
                    if (now := _where_it_lies(before, j)) != before:
                        journal.append(now)
                else:
                    todo.append(j)
            for record in _spread(todo, options, executor, report, log):
                journal.append(record)
                report.ran += 1
            report.results = graded(out, sheet_path, options.jobs, present)
            _conclude(report, out, sheet, journal)
            return report
        finally:
            close_servers()
            remove(work)


def _found(
    submitted: Path | Sequence[Path], sheet: Sheet, out: Path, job: dict[str, Any], report: Report
) -> list[dict[str, Any]]:
    """A job for each submission. Raises SubmissionError where there is none, or none of the sheet;
    FileNotFoundError.
    """
    found = submissions.find(submitted, sheet, _empty(out / UNPACKED), report.left_out)
    jobs = list(_jobs(found, job))
    places = ", ".join(map(str, [submitted] if isinstance(submitted, Path) else submitted))
    if not jobs:
        raise submissions.SubmissionError(
            f"there are no submissions in {places}: neither folders of students nor notebooks nor"
            " zips."
        )
    foreign = [j for j in jobs if j["problem"].endswith(submissions.FOREIGN)]
    if len(foreign) > 1 and not any(j["path"] for j in jobs):
        raise submissions.SubmissionError(
            f"none of the {len(foreign)} notebooks in {places} holds a cell of {sheet.name}.ipynb:"
            " is it the right sheet?"
        )
    return jobs


def _where_it_lies(record: Record, job: dict[str, Any]) -> Record:
    """The record of a submission that need not be run again, with the place and the number in a
    learning system that it has now. A file that is found twice was handed in when it was so first:
    the later time is that of a copy.
    """
    times = [when for when in (record.get("handed_in"), job["handed_in"]) if when]
    return record | {
        "file": job["path"] or "",
        "beside": job["beside"],
        "lms": job["lms"],
        "handed_in": min(times, key=datetime.fromisoformat, default=""),
    }


def regrade(sheet_path: Path, out: Path) -> Report:
    """Judges the journal again with the sheet as it is now, without running any code. Raises as
    `grade` does.
    """
    sheet_path, out = sheet_file(sheet_path), out.resolve()
    sheet = sheet_at(str(sheet_path))
    if not (out / JOURNAL).is_file():
        raise FileNotFoundError(f"there is no journal in {out}")
    with Journal(out / JOURNAL) as journal:
        _need_full(own_solution(sheet))
        report = Report(results=graded(out, sheet_path))
        _conclude(report, out, sheet, journal)
        return report


def appeal(
    sheet_path: Path, out: Path, student: str, options: Options = Options()
) -> tuple[Graded, Graded]:
    """Runs one student's submission again, with the seed it had: (as it is in the journal, as it
    came out now).

    Raises KeyError for a student who is not in the journal, SheetError where the submission has
    changed since.
    """
    sheet_path, out = sheet_file(sheet_path), out.resolve()
    sheet = sheet_at(str(sheet_path))
    record = last_submissions(out / JOURNAL)[student]
    marks = last_marks(out / JOURNAL).get(student, {})
    before = Graded(record, judgements(record, sheet), marks)
    work = _empty(out / WORK)
    try:
        job = _common_job(sheet_path, out, work, options)
        if record["file"] and not Path(record["file"]).is_file():
            raise SheetError(
                f"the submission of {student}, {record['file']}, is not there any more (it may have"
                " come out of a zip)."
            )
        job["shorten"] = bool(record.get("not_run"))
        jobs = {j["student"]: j for j in _jobs([_submission_of(record)], job)}
        now = grade_one(jobs[student])
    finally:
        close_servers()
        remove(work)
    if now["sha256"] != record["sha256"]:
        raise SheetError(
            f"the submission of {student} has changed since it was graded (its SHA-256 is another"
            " one)."
        )
    return before, Graded(now, judgements(now, sheet), marks)


def _submission_of(record: Record) -> submissions.Submission:
    path = Path(record["file"]) if record["file"] else None
    beside = [Path(p) for p in record["beside"]]
    return submissions.Submission(
        record["student"], path, record["note"], record["problem"], beside, record["lms"],
        record.get("handed_in", ""),
    )  # fmt: skip


def sheet_file(path: Path) -> Path:
    """The file of a sheet that is named by its folder. Raises FileNotFoundError."""
    path = path.resolve()
    return load_sheet(path).path or path if path.is_dir() else path


def _common_job(sheet_path: Path, out: Path, work: Path, options: Options) -> dict[str, Any]:
    wrap = options.wrap and bubblewrap_works(work)
    return {
        "sheet": str(sheet_path),
        "secret": secret_of(out).hex(),
        "least": options.least,
        "warm": options.warm,
        "wrap": wrap,
        "work": str(work),
        "together": False,
        "shorten": False,
    }


def bubblewrap_works(work: Path) -> bool:
    """Whether bubblewrap is here and may do what it is for (some systems forbid user
    namespaces).
    """
    if not bubblewrap(work, work):
        return False
    try:
        Server(stripped_library.library((), work), True, work).close()
    except (SandboxError, OSError):
        return False
    return True


def secret_of(out: Path) -> bytes:
    """The secret of a results folder, drawn when it is first needed. Whoever has it can tell the
    cases of every submission.
    """
    path = out / SECRET
    if not path.exists():
        beside = out / f".{SECRET}-{secrets.token_hex(4)}"
        try:  # an interruption leaves no half a secret
            with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(secrets.token_hex(32).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):  # another process was first
                os.link(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    try:
        secret = bytes.fromhex(path.read_text().strip())
    except ValueError:
        secret = b""
    if len(secret) < 16:
        raise SheetError(
            f"{path} holds no secret; remove it, and all are graded again with another one."
        )
    return secret


def _empty(folder: Path) -> Path:
    remove(folder)
    folder.mkdir(parents=True, mode=0o700)
    return folder


def _jobs(
    found: Iterable[submissions.Submission], common: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    for h in found:
        yield {
            **common,
            "student": h.student,
            "path": _absolute(h.path) if h.path else None,
            "beside": [_absolute(path) for path in h.beside],
            "note": h.note,
            "problem": h.problem,
            "lms": h.lms,
            "handed_in": h.handed_in,
            "flags": h.flags,
        }


def _absolute(path: Path) -> str:
    """The path from the root; a link at its end stays a link, so that it is refused when it is
    opened.
    """
    return str(path.parent.resolve() / path.name)


def check_own_solution(sheet: Sheet, job: dict[str, Any]) -> dict[str, bool]:
    """The instructor's own solution must get full points, by the way that submissions go. Raises
    SheetError.

    Returns what it shows about the quicker way: "shorten", whether its points are full without the
    cells that only show something; "together", whether it calls nothing that any exercise forbids,
    so that one process will do for most submissions.
    """
    if sheet.notebook is None:
        raise SheetError(
            f"sheet {sheet.name}: there is no notebook beside it, so it has no solution of its own."
        )
    questions = [
        (exercise, cases_for(exercise, seed_for(b"own", sheet.hash)))
        for exercise in sheet.exercises
    ]
    cells = submissions.code_cells(sheet.notebook, sheet)

    def judged(shown: frozenset[str]) -> tuple[Outcome, list[Judgement]]:
        outcome = run_cells(cells, questions, {}, job | {"together": True}, shown)
        return outcome, [
            judge(exercise, cases, outcome.returned[exercise.name]) for exercise, cases in questions
        ]

    shown = demonstrations(sheet)
    outcome, found = judged(shown)
    shorten = bool(shown) and all(judgement.full for judgement in found)
    if not shorten:
        outcome, found = judged(frozenset())
        _need_full(found)
    return {"shorten": shorten, "together": not outcome.withheld}


def _need_full(found: list[Judgement]) -> None:
    for judgement in found:
        if not judgement.full:
            say = next(group.say for group in judgement.groups if group.right < group.total)
            what = (
                f"the sheet's own solution gets {judgement.points:g} of {judgement.max:g} points:"
                f" {say}"
            )
            raise SheetError(f"exercise {judgement.exercise!r}: {what}")


def _spread(
    jobs: list[dict[str, Any]],
    options: Options,
    executor: Executor | None,
    report: Report,
    log: TextIO | None,
) -> Iterator[Record]:
    """The records of all jobs, as they are done. A submission that the grader cannot run is noted,
    and the others go on. One that was lost with the machines that ran it is run again.
    """
    own = ThreadPoolExecutor(options.jobs or os.cpu_count() or 1) if executor is None else None
    pool: Executor = own or executor  # type: ignore[assignment]
    futures: dict[Future[Record], dict[str, Any]] = {}
    try:
        for turn in range(TURNS):
            futures = {pool.submit(grade_one, job): job for job in jobs}
            jobs = []
            for future in progress(as_completed(futures), len(futures), log):
                try:
                    record = future.result()
                except SandboxError:
                    for other in futures:
                        other.cancel()
                    raise
                except Exception as error:
                    if type(error).__name__ in LOST and turn + 1 < TURNS:
                        jobs.append(futures[future])
                    else:
                        said = f"{type(error).__name__}: {error}"
                        report.failed[futures[future]["student"]] = said
                    continue
                yield record
    except BaseException:  # an interruption does not wait for the submissions that run
        if own is not None:
            own.shutdown(wait=False, cancel_futures=True)
            # those that were cancelled before they began are never done
            while wait([f for f in futures if not f.cancelled()], 0.05).not_done:
                abandon_all()
        raise
    finally:
        if own is not None:
            own.shutdown(cancel_futures=True)


TURNS = 10
"""So often a submission is run again that was lost with the machine on which it ran."""
LOST = {"KilledWorker", "CancelledError", "FutureCancelledError"}
"""The exceptions by which a pool of other machines tells of it (Dask gives a task up when several
workers have died with it).
"""


def progress(items: Iterable[Any], total: int, log: TextIO | None) -> Iterable[Any]:
    """A progress bar of tqdm's, if it is installed and the output is interactive; else nothing but
    the items."""
    log = log or sys.stderr
    if total and log.isatty():
        try:
            from tqdm import tqdm
        except ImportError:
            return items
        return tqdm(items, total=total, unit="submission", file=log)
    return items


def _conclude(report: Report, out: Path, sheet: Sheet, journal: Journal) -> None:
    """Writes the tables and notes the points, so that the next time can tell who gains and who
    loses.
    """
    before = last_grades(out / JOURNAL)
    points = {r.student: r.by_item for r in report.results}
    for student, given in points.items():
        if student in before and abs(sum(before[student].values()) - sum(given.values())) > 1e-9:
            report.changed.append((student, sum(before[student].values()), sum(given.values())))
    if points != before:
        when = datetime.now(UTC).isoformat(timespec="seconds")
        journal.append(
            {
                "kind": "grades",
                "sheet": {"name": sheet.name, "hash": sheet.hash},
                "when": when,
                "points": points,
            }
        )
    write_tables(report.results, out, sheet)


# ------------------------------------------------------------------------------------------- tables

GRADES = (
    "assignment duedate timestamp student_id last_name first_name email raw_score"
    " late_submission_penalty score max_score".split()
)
"""The columns of nbgrader's own export."""
ITEMS = (
    "student_id exercise group points max_points right cases"
    " reason misconception level problem".split()
)


def write_tables(results: list[Graded], out: Path, sheet: Sheet) -> None:
    """grades.csv, one row a student, and items.csv, one row for each group of points, with the
    reason.
    """
    write_csv(
        out / "grades.csv",
        GRADES,
        (
            [
                sheet.name,
                "",
                r.record.get("handed_in") or r.record["when"],
                r.student,
                "",
                "",
                "",
                r.points,
                0.0,
                r.points,
                sheet.max_points,
            ]
            for r in results
        ),
    )
    write_csv(out / "items.csv", ITEMS, (row for r in results for row in _items(r, sheet)))


def _items(result: Graded, sheet: Sheet) -> Iterator[list[Any]]:
    level, problem = result.record.get("level", ""), result.record["problem"]
    if not result.judgements:
        for exercise in sheet.exercises:
            for group, worth in exercise.points.items():
                yield [
                    result.student,
                    exercise.name,
                    group,
                    0.0,
                    worth,
                    0,
                    0,
                    problem,
                    "",
                    level,
                    problem,
                ]
    for item, mark in result.marks.items():
        worth = worth_of(sheet)[item]
        yield [
            result.student, item, "by hand", mark.points, worth, 0, 0, mark.comment, "", level,
            problem,
        ]  # fmt: skip
    for j in result.judgements:
        named = j.misconception["name"] if j.misconception else ""
        for g in j.groups:
            yield [
                result.student,
                j.exercise,
                g.name,
                g.points,
                g.max,
                g.right,
                g.total,
                g.say,
                named,
                level,
                problem,
            ]


def worth_of(sheet: Sheet) -> dict[str, float]:
    """What a person may grade, and what each item is worth: the manually graded cells, and the
    exercises.
    """
    return items_of(sheet.manual) | {e.name: e.max_points for e in sheet.exercises}


def write_csv(path: Path, head: list[str], rows: Iterable[list[Any]]) -> None:
    """A table, written beside its place and then moved there: whoever reads it sees the old one
    or the new one.
    """
    beside = path.with_suffix(".csv.new")
    try:
        with beside.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
            table.writerow(head)
            table.writerows([harmless(cell) for cell in row] for row in rows)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def harmless(cell: Any) -> Any:
    """A text that a spreadsheet does not take for a formula; numbers stay as they are."""
    if not isinstance(cell, str):
        return cell
    text = protocol.clean(cell)
    return (
        "'" + text if text.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else text
    )


__all__ = [
    "Graded",
    "Options",
    "Report",
    "appeal",
    "grade",
    "grade_one",
    "graded",
    "regrade",
    "worth_of",
    "write_csv",
    "write_tables",
]
