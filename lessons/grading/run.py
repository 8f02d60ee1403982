"""Grading a class: from a folder of submissions to a journal, and from the journal to grades.

The order of work keeps a grade a secret until it is given: `grade_one` (one_submission.py) makes
the cases, and the student's process answers them and dies; only then is anything computed that says
what would have been right (grades.py). It also shows how the work is spread: `grade_one` is an
importable function of plain data that returns plain data, so any `concurrent.futures.Executor` will
do (threads, processes, dask's `Client.get_executor()`, ipyparallel's, mpi4py's), and every one
gives the same grades. Threads are the default: students' code has processes of its own anyway.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import (
    Executor,
    Future,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from minigrad.cli.folders import remove
from minigrad.cli.progress import counted

from . import stripped_library, submissions
from .demonstrations import demonstrations
from .exercise import SheetError
from .grade_tables import write_tables
from .grades import Graded, graded, is_current, judgements
from .journal import (
    JOURNAL,
    Journal,
    Record,
    last_grades,
    last_submissions,
    submissions_that_count,
)
from .judge import Judgement, judge
from .marks import last_marks
from .one_submission import (
    cases_for,
    close_servers,
    grade_one,
    run_cells,
    seed_for,
    sheet_at,
)
from .process_server import Server, abandon_all, bubblewrap
from .sandbox import SandboxError
from .sheet import Sheet, load_sheet
from .sheet_report import own_solution
from .submitted_notebooks import SubmissionError, code_cells
from .supervisor import SubmissionResult

SECRET, UNPACKED, WORK = "secret.key", "unpacked", "work"
"""In the results folder beside the journal: the sheet's secret, what was in zips, and what is there
only while the grader runs.
"""

SAFE_LEVEL = "confined"
"""Below this one a student's program can reach what the grader's account can reach."""


@dataclass
class RunReport:
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
) -> RunReport:
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
            report = RunReport()
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
    submitted: Path | Sequence[Path],
    sheet: Sheet,
    out: Path,
    job: dict[str, Any],
    report: RunReport,
) -> list[dict[str, Any]]:
    """A job for each submission. Raises SubmissionError where there is none, or none of the sheet;
    FileNotFoundError.
    """
    found = submissions.find(submitted, sheet, _empty(out / UNPACKED), report.left_out)
    jobs = list(_jobs(found, job))
    places = ", ".join(map(str, [submitted] if isinstance(submitted, Path) else submitted))
    if not jobs:
        raise SubmissionError(
            f"there are no submissions in {places}: neither folders of students nor notebooks nor"
            " zips."
        )
    foreign = [j for j in jobs if j["problem"].endswith(submissions.FOREIGN)]
    if len(foreign) > 1 and not any(j["path"] for j in jobs):
        raise SubmissionError(
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


def regrade(sheet_path: Path, out: Path) -> RunReport:
    """Judges the journal again with the sheet as it is now, without running any code. Raises as
    `grade` does.
    """
    sheet_path, out = sheet_file(sheet_path), out.resolve()
    sheet = sheet_at(str(sheet_path))
    if not (out / JOURNAL).is_file():
        raise FileNotFoundError(f"there is no journal in {out}")
    with Journal(out / JOURNAL) as journal:
        _need_full(own_solution(sheet))
        report = RunReport(results=graded(out, sheet_path))
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
        Server(stripped_library.library((), work), True, work, program="").close()
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
    cells = code_cells(sheet.notebook, sheet)

    def judged(shown: frozenset[str]) -> tuple[SubmissionResult, list[Judgement]]:
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
    report: RunReport,
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
            with closing(_told(futures, log)) as told:
                for future in told:
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


def _told(futures: dict[Future[Record], dict[str, Any]], log: TextIO | None) -> Iterator[Any]:
    """The futures as they are done; how many are is told where there is a log."""
    done = as_completed(futures)
    return counted(done, len(futures), "submissions", log) if futures and log else done


def _conclude(report: RunReport, out: Path, sheet: Sheet, journal: Journal) -> None:
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
