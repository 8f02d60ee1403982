"""All the forms of the results by name: what `minigrad grade export` calls.

Every form is made of the journal and the sheet alone, at any time and as often as one likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..exercise import SheetError
from ..grades import Graded, graded
from ..journal import JOURNAL, JournalError
from ..one_submission import sheet_at
from ..run import sheet_file
from ..sheet import Sheet
from ..term import TermError, TermSheet, Totals
from . import feedback_files, gradebook, gradescope, lms, report, site
from .gradebook import GradebookError
from .tables import TableError

WRONG_INPUT = (TableError, TermError, GradebookError, SheetError, JournalError, OSError)
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
    the students' pages, "en" or "zh". term: by which canvas and moodle get what counts in a term,
    and the pages say what lateness costs; without it they get the points as they were graded.
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
    term: Totals | None = None


def export(sheet_path: Path, out: Path, wanted: Wanted) -> Exported:
    """Writes the forms that are wanted. Raises one of WRONG_INPUT, after the forms that could be
    written.
    """
    sheet_path = sheet_file(sheet_path)
    sheet = sheet_at(str(sheet_path))
    if not (out / JOURNAL).is_file():
        raise FileNotFoundError(f"there is no journal in {out}: `minigrad grade run` writes it")
    found, done = graded(out, sheet_path), Exported()
    piece = _piece(wanted.term, sheet_path, out) if wanted.term else None
    told = _by_the_term(found, wanted.term, piece) if wanted.term and piece else found
    if wanted.pages is not None:
        written = site.write(wanted.pages, told, sheet, language=wanted.language)
        done.lines.append(f"{len(written)} pages: {wanted.pages / 'index.html'}")
    if wanted.report is not None:
        wanted.report.parent.mkdir(parents=True, exist_ok=True)
        wanted.report.write_text(
            report.report_html(report.class_report(found, sheet, wanted.earlier)),
            encoding="utf-8",
        )
        done.lines.append(f"report on the class: {wanted.report}")
    _feedback(wanted, told, sheet, done)
    if wanted.gradescope is not None:
        written = gradescope.write(wanted.gradescope, found, sheet, sheet_path)
        done.lines.append(
            f"{len(written) - 1} results.json and the autograder:"
            f" {wanted.gradescope / 'autograder.zip'}"
        )
    for system, path in ((lms.CANVAS, wanted.canvas), (lms.MOODLE, wanted.moodle)):
        if path is not None:
            entries = (
                lms.of_term(system, wanted.term, piece.name)
                if wanted.term and piece
                else lms.of_sheet(system, found)
            )
            _fill(system, path, entries, sheet.name, sheet.max_points, wanted.column, out, done)
    if wanted.term and piece and (strangers := wanted.term.strangers[piece.name]):
        done.attention.append(f"not in the roster, so in no row: {', '.join(strangers)}")
    if wanted.nbgrader is not None:
        count = gradebook.write(wanted.nbgrader, found, sheet)
        done.lines.append(
            f"{count} students' points and comments: {wanted.nbgrader / gradebook.DATABASE}"
        )
    return done


def export_totals(
    totals: Totals, canvas: Path | None, moodle: Path | None, column: str, folder: Path
) -> Exported:
    """Writes the percentages of a term into files that Canvas and Moodle exported; the copies come
    into the folder. Raises TableError, OSError.
    """
    done = Exported()
    for system, path in ((lms.CANVAS, canvas), (lms.MOODLE, moodle)):
        if path is not None:
            entries = lms.of_term(system, totals)
            _fill(system, path, entries, totals.term.title, 100, column, folder, done)
    return done


def _fill(
    system: lms.System, path: Path, entries: list[lms.StudentResult], sheet: str, most: float,
    column: str, folder: Path, done: Exported,
) -> None:  # fmt: skip
    filled = lms.fill(system, path, entries, sheet, most, column)
    target = folder / f"{path.stem}-filled{path.suffix}"
    target.write_bytes(filled.data)
    done.lines.append(f"{len(filled.matched)} of {len(entries)} students' points: {target}")
    for what, names in (("have points, but are in no row of", filled.missing),
                        ("are in a row, but have no points for", filled.rows)):  # fmt: skip
        if names:
            done.attention.append(f"{what} {path.name}: {'; '.join(names)}")
    done.attention += filled.notes


def _piece(totals: Totals, sheet_path: Path, out: Path) -> TermSheet:
    """The entry of a course file for a sheet: that with its results folder, or the only one with
    its sheet. Raises TermError.
    """
    pieces = totals.term.pieces
    found = [p for p in pieces if p.results.resolve() == out.resolve()]
    found = found or [p for p in pieces if p.sheet.resolve() == sheet_path.resolve()]
    if len(found) == 1:
        return found[0]
    there = ", ".join(f"{p.name} ({p.results})" for p in pieces)
    raise TermError(f"the course file has no sheet with the results folder {out}, only {there}.")


def _by_the_term(found: list[Graded], totals: Totals, piece: TermSheet) -> list[Graded]:
    """The results with what the course file makes of them: what lateness costs, and whose
    submission counts in a group. Who handed in nothing gets the page of the group's submission.
    """
    late, whose, of_others = {}, {}, []
    for student, credits in totals.credits.items():
        credit, own = credits[piece.name], totals.owners[piece.name][student]
        if credit.attempt is None:
            continue
        counts, said = credit.attempt, ""
        if credit.late and counts.judgements:
            said = (
                f"{credit.note[:1].upper()}{credit.note[1:]}: {credit.points:g} of"
                f" {counts.points:g} points count."
            )
        if counts.student in own:
            late[counts.record["sha256"], counts.student] = said
            continue
        group = (
            f"The submission of {counts.student} counts for your group: {credit.points:g} points."
        )
        whose |= dict.fromkeys(own, group)
        if not own:
            record = {**counts.record, "student": student, "lms": {}}
            of_others.append(replace(counts, record=record, late=said, whose=group))
    return [
        replace(
            result,
            late=late.get((result.record["sha256"], result.student), ""),
            whose=whose.get(result.student, ""),
        )
        for result in found
    ] + of_others


def _feedback(wanted: Wanted, found: list[Graded], sheet: Sheet, done: Exported) -> None:
    """The pages in the forms in which learning systems take them."""
    for system, path in (("moodle", wanted.moodle_feedback), ("canvas", wanted.canvas_feedback)):
        if path is not None:
            left_out = feedback_files.write_zip(path, system, found, sheet, wanted.language)
            done.lines.append(f"{len(found) - len(left_out)} pages for {system.title()}: {path}")
            if left_out:
                done.attention.append(
                    f"sent no file through {system.title()}, so they are not in {path.name}:"
                    f" {', '.join(left_out)}"
                )
    if wanted.nbgrader_feedback is not None:
        written = feedback_files.write_folders(
            wanted.nbgrader_feedback, found, sheet, wanted.language
        )
        done.lines.append(f"{len(written)} pages for nbgrader: {wanted.nbgrader_feedback}")
