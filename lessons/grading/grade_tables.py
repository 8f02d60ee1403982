"""The tables of a class: grades.csv and items.csv."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
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
