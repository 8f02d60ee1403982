"""All the forms of the results by name: what `minigrad grade export` calls.

Every form is made of the journal and the sheet alone, at any time and as often as one likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..exercise import SheetError
from ..grades import Graded, graded
from ..journal import JOURNAL, JournalError
from ..one_submission import sheet_at
from ..run import sheet_file
from ..sheet import Sheet
from . import feedback_files, gradebook, gradescope, lms, report, site
from .gradebook import GradebookError
from .tables import TableError

WRONG_INPUT = (TableError, GradebookError, SheetError, JournalError, OSError)
"""What `export` raises where it was asked for in a wrong way."""


@dataclass
class Exported:
    """lines: what was written where; attention: what a person should know, such as students who
    are in no row.
    """

    lines: list[str] = field(default_factory=list)
    attention: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Wanted:
    """Which forms, and where. canvas, moodle: files exported from there; filled copies come into
    the results folder. column: the column of the points in them; the others: folders or files to be
    written. earlier: results folders of other years, with which the report compares. language: of
    the students' pages, "en" or "zh".
    """

    canvas: Path | None = None
    moodle: Path | None = None
    column: str = ""
    gradescope: Path | None = None
    nbgrader: Path | None = None
    pages: Path | None = None
    report: Path | None = None
    moodle_feedback: Path | None = None
    canvas_feedback: Path | None = None
    nbgrader_feedback: Path | None = None
    earlier: Sequence[Path] = ()
    language: str = "en"


def export(sheet_path: Path, out: Path, wanted: Wanted) -> Exported:
    """Writes the forms that are wanted. Raises one of WRONG_INPUT, after the forms that could be
    written.
    """
    sheet_path = sheet_file(sheet_path)
    sheet = sheet_at(str(sheet_path))
    if not (out / JOURNAL).is_file():
        raise FileNotFoundError(f"there is no journal in {out}: `minigrad grade run` writes it")
    found, done = graded(out, sheet_path), Exported()
    if wanted.pages is not None:
        written = site.write(wanted.pages, found, sheet, language=wanted.language)
        done.lines.append(f"{len(written)} pages: {wanted.pages / 'index.html'}")
    if wanted.report is not None:
        wanted.report.parent.mkdir(parents=True, exist_ok=True)
        wanted.report.write_text(
            report.report_html(report.class_report(found, sheet, wanted.earlier)),
            encoding="utf-8",
        )
        done.lines.append(f"report on the class: {wanted.report}")
    _feedback(wanted, found, sheet, done)
    if wanted.gradescope is not None:
        written = gradescope.write(wanted.gradescope, found, sheet, sheet_path)
        done.lines.append(
            f"{len(written) - 1} results.json and the autograder:"
            f" {wanted.gradescope / 'autograder.zip'}"
        )
    for system, path in ((lms.CANVAS, wanted.canvas), (lms.MOODLE, wanted.moodle)):
        if path is not None:
            filled = lms.fill(system, path, found, sheet, wanted.column)
            target = out / f"{path.stem}-filled{path.suffix}"
            target.write_bytes(filled.data)
            done.lines.append(f"{len(filled.matched)} of {len(found)} students' points: {target}")
            if filled.missing:
                done.attention.append(
                    f"handed something in, but are in no row of {path.name}:"
                    f" {', '.join(filled.missing)}"
                )
            if filled.rows:
                done.attention.append(
                    f"have a row in {path.name}, but handed nothing in: {'; '.join(filled.rows)}"
                )
            done.attention += filled.notes
    if wanted.nbgrader is not None:
        count = gradebook.write(wanted.nbgrader, found, sheet)
        done.lines.append(
            f"{count} students' points and comments: {wanted.nbgrader / gradebook.DATABASE}"
        )
    return done


def _feedback(wanted: Wanted, found: list[Graded], sheet: Sheet, done: Exported) -> None:
    """The pages in the forms in which learning systems take them."""
    for system, path in (("moodle", wanted.moodle_feedback), ("canvas", wanted.canvas_feedback)):
        if path is not None:
            left_out = feedback_files.write_zip(path, system, found, sheet, wanted.language)
            done.lines.append(f"{len(found) - len(left_out)} pages for {system.title()}: {path}")
            if left_out:
                done.attention.append(
                    f"came from no zip of {system.title()}, so they are not in {path.name}:"
                    f" {', '.join(left_out)}"
                )
    if wanted.nbgrader_feedback is not None:
        written = feedback_files.write_folders(
            wanted.nbgrader_feedback, found, sheet, wanted.language
        )
        done.lines.append(f"{len(written)} pages for nbgrader: {wanted.nbgrader_feedback}")
