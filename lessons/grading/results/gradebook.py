"""Points and comments into nbgrader's gradebook, so that its form grader goes on with what only a
person can grade.

A check cell and a row of that database are matched by the cell's grade_id. Grading by hand that
has been entered there stays; what is written are the automatic points and the automatic comments.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..grades import Graded
from ..sheet import Sheet
from ..sheet_cells import asked_in

DATABASE = "gradebook.db"


class GradebookError(ValueError):
    """nbgrader is not there, or its course does not fit the sheet; the message says what to do."""


def write(course: Path, found: Sequence[Graded], sheet: Sheet) -> int:
    """Writes all students' points into course/gradebook.db, and returns how many students it were.
    Raises GradebookError.
    """
    try:
        api = importlib.import_module("nbgrader.api")
    except ImportError:
        raise GradebookError("nbgrader is not installed here: pip install nbgrader") from None
    if not course.is_dir():
        raise GradebookError(
            f"there is no folder {course}; give nbgrader's course folder, in which {DATABASE} lies"
            " or will lie."
        )
    cells = grade_cells(sheet)
    with _programs(), api.Gradebook(f"sqlite:///{(course / DATABASE).resolve()}") as book:
        _prepare(book, api, sheet, cells)
        for result in found:
            book.update_or_create_student(result.student)
            book.update_or_create_submission(sheet.name, result.student)
            for j in result.judgements:
                grade_id, solution_id = cells[j.exercise]
                grade = book.find_grade(grade_id, sheet.name, sheet.name, result.student)
                grade.auto_score, grade.needs_manual_grade = j.points, False
                comment = book.find_comment(solution_id, sheet.name, sheet.name, result.student)
                comment.auto_comment = " ".join(
                    f"{g.name}: {g.points:g} of {g.max:g}, {g.say}" for g in j.groups
                )
            if not result.judgements:
                for grade_id, _ in cells.values():
                    grade = book.find_grade(grade_id, sheet.name, sheet.name, result.student)
                    grade.auto_score, grade.needs_manual_grade = 0.0, True
        book.db.commit()
    return len(found)


@contextmanager
def _programs() -> Iterator[None]:
    """nbgrader starts the program alembic by its name, and pip has put it beside Python."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before


def grade_cells(sheet: Sheet) -> dict[str, tuple[str, str]]:
    """For each exercise the grade_ids of its check cell and of the solution cell before it.
    Raises GradebookError.
    """
    if sheet.notebook is None:
        raise GradebookError(
            f"sheet {sheet.name}: nbgrader knows cells of notebooks, and there is no notebook."
        )
    found: dict[str, tuple[str, str]] = {}
    solution = ""
    for cell in sheet.notebook["cells"]:
        meta: dict[str, Any] = cell.get("metadata", {}).get("nbgrader") or {}
        source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        if meta.get("solution"):
            solution = meta["grade_id"]
        elif meta.get("grade") and (name := asked_in(source)):
            found[name] = (meta["grade_id"], solution)
    if missing := [e.name for e in sheet.exercises if e.name not in found]:
        raise GradebookError(
            f"sheet {sheet.name}: the check of {missing[0]!r} has no nbgrader metadata (grade,"
            " grade_id, points)."
        )
    return found


def _prepare(book: Any, api: Any, sheet: Sheet, cells: dict[str, tuple[str, str]]) -> None:
    """The assignment, its notebook and its cells, if `nbgrader generate_assignment` has not made
    them yet.
    """
    book.update_or_create_assignment(sheet.name)
    book.update_or_create_notebook(sheet.name, sheet.name)
    for exercise in sheet.exercises:
        grade_id, solution_id = cells[exercise.name]
        try:
            known = book.find_grade_cell(grade_id, sheet.name, sheet.name)
        except api.MissingEntry:
            known = None
        if known is not None and known.max_score != exercise.max_points:
            raise GradebookError(
                f"exercise {exercise.name!r} is worth {exercise.max_points:g} points here and"
                f" {known.max_score:g} in the gradebook; run `nbgrader generate_assignment --force`"
                " first."
            )
        book.update_or_create_grade_cell(
            grade_id, sheet.name, sheet.name, max_score=exercise.max_points, cell_type="code"
        )
        book.update_or_create_solution_cell(solution_id, sheet.name, sheet.name)
