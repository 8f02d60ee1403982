"""The tables of a class: grades.csv and items.csv."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from . import protocol
from .grades import Graded
from .marks import items_of
from .sheet import Sheet

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

    def row(
        item: str, group: str, points: float, worth: float, right: int = 0, total: int = 0,
        say: str = problem, named: str = "",
    ) -> list[Any]:  # fmt: skip
        judged = [item, group, points, worth, right, total, say, named]
        return [result.student, *judged, level, problem]

    if not result.judgements:
        for exercise in sheet.exercises:
            for group, worth in exercise.points.items():
                yield row(exercise.name, group, 0.0, worth)
    for item, mark in result.marks.items():
        yield row(item, "by hand", mark.points, worth_of(sheet)[item], say=mark.comment)
    for j in result.judgements:
        named = j.misconception["name"] if j.misconception else ""
        for g in j.groups:
            yield row(j.exercise, g.name, g.points, g.max, g.right, g.total, g.say, named)


def worth_of(sheet: Sheet) -> dict[str, float]:
    """What a person may grade, and what each item is worth: the manually graded cells, and the
    exercises.
    """
    return items_of(sheet.manual) | {e.name: e.max_points for e in sheet.exercises}


def write_csv(
    path: Path, head: Sequence[str], rows: Iterable[list[Any]], spreadsheet: bool = False
) -> None:
    """A table, written beside its place and then moved there: whoever reads it sees the old one
    or the new one. spreadsheet: a person opens and fills it in, in a program that takes the mark of
    the byte order as a sign of UTF-8.
    """
    beside = path.with_suffix(".csv.new")
    quoting = csv.QUOTE_MINIMAL if spreadsheet else csv.QUOTE_NONNUMERIC
    try:
        with beside.open("w", encoding="utf-8-sig" if spreadsheet else "utf-8", newline="") as file:
            table = csv.writer(file, quoting=quoting)
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
