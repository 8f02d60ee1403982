"""Points into a file that Canvas or Moodle exported: both want their own columns back.

A student is matched with a row of the export by the number that the learning system itself wrote
into the name of the submission, else by an identifier (login, student number, address of mail),
else by the full name where it is the only one. Students found on one side only are reported, and so
are those who fit two rows: no points are given by a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..grade_tables import harmless
from ..grades import Graded
from ..term import Credit, Totals, name_key
from .tables import Row, Table, TableError, read_table


@dataclass(frozen=True)
class System:
    """How a learning system's export looks. number: the column with its own number; identifiers,
    names: the other columns by which a student is known, names being tuples that make up one full
    name; signs: columns without which the file is none of its exports; kept: what a cell of points
    says that is no number and stays.
    """

    name: str
    number: tuple[str, ...]
    identifiers: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    signs: tuple[str, ...]
    kept: Mapping[str, str] = field(default_factory=dict)


CANVAS = System(
    "canvas",
    ("ID",),
    ("SIS Login ID", "SIS User ID", "Integration ID", "ID"),
    (("Student",), ("FirstName", "LastName")),
    ("ID", "Section"),
    {"ex": "is excused there", "n/a": "is not assigned the work there"},
)
MOODLE = System(
    "moodle",
    ("Identifier",),
    ("Email address", "Email", "Username", "ID number", "Identifier"),
    (("Full name",), ("First name", "Surname"), ("First name", "Last name")),
    (),
)
FEEDBACK = "Feedback comments"
TEST_STUDENT = "student test"
"""The instructor in Canvas's view as a student, as `name_key` writes it."""


@dataclass(frozen=True)
class StudentResult:
    """What one student gets. number: the student's number in the system, "" if unknown;
    identifiers, names: by what else a row of this student is known.
    """

    student: str
    points: float
    comment: str
    number: str = ""
    identifiers: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


@dataclass
class FilledGradebook:
    """What came of it. data: the file; matched: our students in it; missing: ours who are in no
    row; rows: theirs of whom there is no submission; notes: what else a person should know.
    """

    data: bytes
    matched: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all students were found on both sides, and nothing is to be noted."""
        return not (self.missing or self.rows or self.notes)


def of_sheet(system: System, results: Sequence[Graded]) -> list[StudentResult]:
    """The points of one sheet as they were graded."""
    return [
        StudentResult(
            r.student, r.points, comment(r), str(r.record["lms"].get(system.name, "")),
            frozenset({_key(r.student)}), _name_keys(re.sub(r"_\d+$", "", r.student)),
        )
        for r in results
    ]  # fmt: skip


def of_term(system: System, totals: Totals, sheet: str = "") -> list[StudentResult]:
    """What counts for one sheet of a term by its course file: after lateness, of the attempt that
    counts, for each student of a group. Without a sheet: the percentage of the term.
    """
    found = []
    for student in totals.term.students:
        names, number = _name_keys(student.name), ""
        points, said = totals.percent[student.id], totals.mark[student.id]
        if sheet:
            credit = totals.credits[student.id][sheet]
            if credit.attempt is None:
                continue
            points, said = credit.points, "; ".join(filter(None, _said(credit)))
            number = totals.numbers[sheet].get(student.id, {}).get(system.name, "")
        identifiers = (student.keys - names) | {_key(student.id)}
        found.append(
            StudentResult(student.id, points, said, str(number), frozenset(identifiers), names)
        )
    return found


def _said(credit: Credit) -> tuple[str, str]:
    assert credit.attempt is not None
    note = credit.note and f"{credit.note}: {credit.points:g} of {credit.attempt.points:g} count"
    return ("" if credit.attempt.record["problem"] else note), comment(credit.attempt)


def fill(
    system: System,
    path: Path,
    entries: Sequence[StudentResult],
    sheet: str,
    most: float,
    column: str = "",
) -> FilledGradebook:
    """The exported file with the points in it.

    sheet: the name of what is graded; most: what it is worth. column: the name of the column; by
    default "Grade" (Moodle), or the one that has the sheet's name. Raises TableError for a file
    that is no such export, or has no such column, or for a column that the system does not take
    back.
    """
    table = read_table(path)
    if absent := [name for name in system.signs if table.column(name) is None]:
        raise TableError(
            f"{path}: no export of {system.name.title()}: it has no column {absent[0]!r}, only"
            f" {_listed(table.head)}."
        )
    if (
        _number_column(system, table) is None
        and table.column(*system.identifiers) is None
        and _name_columns(system, table) is None
    ):
        raise TableError(
            f"{path}: no column tells whose row it is; there are {_listed(table.head)}."
        )
    into = _target(system, table, sheet, column, path)
    filled = FilledGradebook(b"")
    students = list(_students(system, table, most, into, filled))
    found = _matches(system, table, students, entries, filled)
    changeable, feedback = table.column("Grade can be changed"), table.column(FEEDBACK)
    for row in students:
        entry = found.get(id(row))
        if entry is None:
            if system is not CANVAS or TEST_STUDENT not in _full_names(system, table, row):
                filled.rows.append(_called(system, table, row))
            continue
        if kept := system.kept.get(_key(row[into])):
            filled.notes.append(f"{entry.student} {kept} ({row[into].strip()}), which stays")
            continue
        if changeable is not None and row[changeable].strip().casefold() == "no":
            filled.notes.append(
                f"{entry.student}: Moodle says that this grade cannot be changed, so it was left"
                " as it is"
            )
            continue
        filled.matched.append(entry.student)
        row[into] = f"{entry.points:.10g}"
        if feedback is not None and system is MOODLE:
            row[feedback] = str(harmless(entry.comment))
    filled.data = table.bytes()
    return filled


def comment(result: Graded) -> str:
    """A student's result in a few words, on one line."""
    if result.record["problem"]:
        return str(result.record["problem"])
    most = {j.exercise: f" of {j.max:g}" for j in result.judgements}
    return "; ".join(f"{i}: {p:g}{most.get(i, '')}" for i, p in result.by_item.items())


def _target(system: System, table: Table, sheet: str, column: str, path: Path) -> int:
    wanted = (
        [column]
        if column
        else ["Grade"]
        if system is MOODLE and table.column("Grade") is not None
        else [sheet]
    )
    plain = [
        re.sub(r"\s*\(\d+\)$|^(?:Assignment|Assignment:)\s*:?\s*|\s*\(Real\)$", "", name).casefold()
        for name in table.head
    ]
    found = [i for i, name in enumerate(table.head) if name.casefold() == wanted[0].casefold()]
    found = found or [i for i, name in enumerate(plain) if name == wanted[0].casefold()]
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} columns are" if found else "no column is"
    raise TableError(
        f"{path}: {what} called {wanted[0]!r}; say which one with --column. There are"
        f" {_listed(table.head)}."
    )


def _students(
    system: System, table: Table, most: float, into: int, filled: FilledGradebook
) -> Iterator[Row]:
    """The rows of students: not empty ones, not Canvas's row of what the columns are worth."""
    maximum = table.column("Maximum Grade")
    told = False
    for row in table.rows:
        if not any(cell.strip() for cell in row.raw):
            continue
        if row[0].strip().startswith("Points Possible"):
            if re.search(r"read\s+only", row[into]):
                raise TableError(
                    f"Canvas computes {table.head[into]!r} itself and takes no points for it; name"
                    " the column of an assignment with --column."
                )
            told = _tell_maximum(row[into], most, filled, told)
            continue
        if system is CANVAS and not row[table.column("ID") or 0].strip():
            continue  # "Manual Posting", and names of sections
        if maximum is not None:
            told = _tell_maximum(row[maximum], most, filled, told)
        yield row


def _tell_maximum(text: str, most: float, filled: FilledGradebook, told: bool) -> bool:
    try:
        theirs = float(text.strip().replace(",", "."))
    except ValueError:
        return told
    if theirs != most and not told:
        filled.notes.append(
            f"the column is worth {theirs:g} points there, but the sheet {most:g}; nothing was"
            " converted"
        )
        return True
    return told


def _matches(
    system: System,
    table: Table,
    rows: list[Row],
    entries: Sequence[StudentResult],
    filled: FilledGradebook,
) -> dict[int, StudentResult]:
    """Which row belongs to which student. Each rule takes only what is unique on both sides."""
    found: dict[int, StudentResult] = {}
    left = {entry.student: entry for entry in entries}
    rules: tuple[
        tuple[Callable[[Row], Iterable[str]], Callable[[StudentResult], Iterable[str]]], ...
    ] = (
        (lambda row: _numbers(system, table, row), lambda entry: {entry.number} - {""}),
        (lambda row: _identifiers(system, table, row), lambda entry: entry.identifiers),
        (lambda row: _full_names(system, table, row), lambda entry: entry.names),
    )
    for keys_of_row, keys_of_student in rules:
        by_key: dict[str, list[Row]] = {}
        for row in rows:
            if id(row) not in found:
                for key in keys_of_row(row):
                    by_key.setdefault(key, []).append(row)
        for entry in list(left.values()):
            fitting = {
                id(row): row for key in keys_of_student(entry) for row in by_key.get(key, ())
            }
            if len(fitting) > 1:
                which = " and ".join(
                    _called(system, table, row) for row in list(fitting.values())[:2]
                )
                filled.notes.append(
                    f"{entry.student} fits more than one row ({which}), and got into none"
                )
            elif fitting and next(iter(fitting)) in found:
                other = found[next(iter(fitting))].student
                filled.notes.append(
                    f"{entry.student} and {other} fit the same row; {other} got into it"
                )
            elif fitting:
                found[next(iter(fitting))] = entry
                del left[entry.student]
    filled.missing = sorted(left)
    return found


def _number_column(system: System, table: Table) -> int | None:
    """The column with the system's own number. Moodle writes it first, and translates its head and
    the word before the number ("Participant 12").
    """
    column = table.column(*system.number)
    if column is None and system is MOODLE:
        cells = [row[0].strip() for row in table.rows if any(cell.strip() for cell in row.raw)]
        column = 0 if cells and all(re.fullmatch(r"[^\d@]+\d+", cell) for cell in cells) else None
    return column


def _numbers(system: System, table: Table, row: Row) -> set[str]:
    column = _number_column(system, table)
    digits = re.sub(r"^\D+", "", row[column].strip()) if column is not None else ""
    return {digits} if digits else set()


def _identifiers(system: System, table: Table, row: Row) -> set[str]:
    columns = [column for name in system.identifiers if (column := table.column(name)) is not None]
    keys = {_key(row[column]) for column in columns}
    return (keys | {key.partition("@")[0] for key in keys if "@" in key}) - {""}


def _name_columns(system: System, table: Table) -> tuple[int, ...] | None:
    for names in system.names:
        columns = [table.column(name) for name in names]
        if None not in columns:
            return tuple(c for c in columns if c is not None)
    return None


def _full_names(system: System, table: Table, row: Row) -> set[str]:
    columns = _name_columns(system, table)
    return set(_name_keys(" ".join(row[c] for c in columns))) if columns else set()


def _key(text: str) -> str:
    return text.strip().casefold()


def _name_keys(text: str) -> frozenset[str]:
    """A full name, whichever part comes first; empty for what has no letters."""
    return frozenset({name_key(text)} - {""})


def _called(system: System, table: Table, row: Row) -> str:
    columns = _name_columns(system, table) or (0,)
    name = " ".join(row[c].strip() for c in columns)
    return name or _key(row[0])


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:12]) + (", …" if len(names) > 12 else "")
