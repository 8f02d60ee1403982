"""What a line of the journal is worth. Everything follows from the line and the sheet."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from . import submissions
from .exercise import NOT_RUN, UNFINISHED, SheetError
from .journal import JOURNAL, Record, last_submissions, submissions_that_count
from .judge import Judgement, judge
from .marks import Mark, last_marks
from .one_submission import asked, cases_for, given, seed_for, sheet_at, unpacked
from .sandbox import LEVELS
from .sheet import Sheet

LARGE = 100
"""From so many submissions for each process on, judging is shared out among processes."""

ENDED = {
    "syntax": "SyntaxError in {}",
    "time": "{} took too long",
    "memory": "{} used too much memory",
    "died": "the process ended in {}",
    "not run": "{} was not run",
}
"""How a cell or a function did not run to its end, as a part of a sentence."""


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
        found.append(judge(exercise, cases, [unpacked(packed) for packed in entry["returned"]]))
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
    gave, by item; for an exercise it replaces the grader's points. late: what lateness costs in a
    term, as a sentence; whose: which other submission counts for the student's group, likewise.
    """

    record: Record
    judgements: list[Judgement]
    marks: dict[str, Mark] = field(default_factory=dict)
    late: str = ""
    whose: str = ""

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
    def waiting(self) -> bool:
        """Whether no exercise has been begun, though the submission could be read."""
        return bool(self.judgements) and not any(j.started for j in self.judgements)

    @property
    def noticed(self) -> list[str]:
        """Why a person should look: nothing could be run, something in the code, or what did not
        run to its end. It changes no points."""
        said = [self.record["problem"], *self.record.get("flags", []), *self.unfinished]
        return list(filter(None, said))

    @property
    def unfinished(self) -> list[str]:
        """What did not run to its end: a cell with a syntax error, and cells and functions that
        took too long, used too much memory or ended their process.
        """
        kinds = dict(self.record.get("unfinished", {}))
        for name, entry in self.record.get("exercises", {}).items():
            ended = {
                "not run" if r["error"].startswith(NOT_RUN) else r["kind"]
                for r in entry["returned"]
                if r.get("kind") in UNFINISHED
            }
            if ended:  # "not run" only where nothing says why
                kinds[f"`{name}`"] = min(ended, key=[*ENDED].index)
        spent = f" ({self.record.get('seconds', 0):.0f} s in all)"
        return [
            ENDED[kind].format(place) + spent * (kind == "time") for place, kind in kinds.items()
        ]

    @property
    def needs_a_person(self) -> bool:
        """Whether a person should look."""
        return bool(self.noticed)


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
