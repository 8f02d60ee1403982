"""What a person grades: texts, proofs and drawings, and points that replace the grader's.

Each entry is a line of the journal, so no run and no regrade loses it. Entries are made in the
browser (marks_page.py), or in a spreadsheet: `minigrad grade marks` writes one with a row for each
student and each item that a person may grade, and `read_table` takes back the rows that were
changed. An item is a rubric's entry of a manually graded cell ("proof: idea"), or the name of an
exercise, whose automatic points it then replaces.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .journal import Journal, Record, last_submissions, read
from .protocol import clean

COLUMNS = "student item max_points points comment automatic answer".split()
ANSWER = 20_000
"""Characters that are kept of an answer that a person grades."""


class MarksError(ValueError):
    """A table that cannot be read; the message names the lines."""


@dataclass(frozen=True)
class Mark:
    """Points that a person gave for an item, with a comment."""

    item: str
    points: float
    comment: str = ""


def items_of(cells: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The items of a sheet's manually graded cells, and what each is worth."""
    return {
        f"{cell}: {entry}" if entry else cell: points
        for cell, entries in cells.items()
        for entry, points in entries.items()
    }


def last_marks(path: Path) -> dict[str, dict[str, Mark]]:
    """For each student the marks that count, by item; an entry without points takes one back."""
    found: dict[str, dict[str, Mark]] = {}
    for line in read(path):
        if line["kind"] == "mark":
            of_student = found.setdefault(line["student"], {})
            of_student.pop(line["item"], None)
            if line["points"] is not None:
                of_student[line["item"]] = Mark(line["item"], line["points"], line["comment"])
    return found


def read_table(
    path: Path, journal: Path, worth: Mapping[str, float]
) -> list[tuple[str, Mark | None, str]]:
    """The rows of a table that differ from the journal: (student, mark or None, item).

    worth: the items and what each is worth. Raises MarksError, with all that is wrong, before
    anything is entered.
    """
    known, students = last_marks(journal), last_submissions(journal)
    changed: list[tuple[str, Mark | None, str]] = []
    wrong: list[str] = []
    for number, row in _rows(path):
        student, item = row["student"], row["item"]
        if student not in students:
            wrong.append(f"line {number}: {student!r} has handed nothing in")
            continue
        if item not in worth:
            wrong.append(f"line {number}: there is no item {item!r}")
            continue
        points = number_of(row["points"])
        if points is not None and not 0 <= points <= worth[item]:
            wrong.append(
                f"line {number}: {row['points']!r} is not a number from 0 to {worth[item]:g}"
            )
            continue
        mark = None if points is None else Mark(item, points, clean(row.get("comment") or ""))
        if mark != known.get(student, {}).get(item):
            changed.append((student, mark, item))
    if wrong:
        more = f"; and {len(wrong) - 10} more" if len(wrong) > 10 else ""
        raise MarksError(f"{path}: nothing was entered. {'; '.join(wrong[:10])}{more}.")
    return changed


def enter(journal: Path, changed: list[tuple[str, Mark | None, str]]) -> None:
    """Appends marks to a journal. Raises JournalError where a grader is writing to it."""
    when = datetime.now(UTC).isoformat(timespec="seconds")
    with Journal(journal) as open_:
        for student, mark, item in changed:
            open_.append(
                {
                    "kind": "mark",
                    "student": student,
                    "item": item,
                    "points": None if mark is None else mark.points,
                    "comment": "" if mark is None else mark.comment,
                    "when": when,
                }
            )


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise MarksError(f"{path}: it is not in UTF-8; save it as CSV in UTF-8.") from None
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    table = csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter)
    if missing := [name for name in COLUMNS[:4] if name not in (table.fieldnames or ())]:
        raise MarksError(f"{path}: it has no column {missing[0]!r}.")
    for row in table:
        named = {key: (value or "") for key, value in row.items() if isinstance(key, str)}
        if not any(value.strip() for value in named.values() if isinstance(value, str)):
            continue
        # A cell that might be a formula was written with an apostrophe before it.
        for key in ("student", "item", "comment"):
            if named.get(key, "").startswith("'") and named[key][1:2] in ("=", "+", "-", "@"):
                named[key] = named[key][1:]
        yield table.line_num, named


def number_of(text: str) -> float | None:
    """A number with a point or a comma; None for an empty cell, NaN for anything else."""
    if not text.strip():
        return None
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return math.nan


def answers_in(
    cells: list[dict[str, Any]], asked: Mapping[str, Any], ids: Any, text: Any
) -> Record:
    """What a student wrote into the manually graded cells, by their ids; ids, text: of a cell."""
    return {name: text(cell)[:ANSWER] for cell in cells for name in ids(cell) if name in asked}
