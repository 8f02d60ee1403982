"""Points into a file that Canvas or Moodle exported: both want their own columns back.

A student is matched with a row of the export by the number that the learning system itself wrote
into the name of the submission, else by an identifier (login, student number, address of mail),
else by the full name where it is the only one. Students found on one side only are reported, and so
are those who fit two rows: no points are given by a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..grade_tables import harmless
from ..grades import Graded
from ..sheet import Sheet
from .tables import Row, Table, TableError, read_table


@dataclass(frozen=True)
class System:
    """How a learning system's export looks. number: the column with its own number; identifiers,
    names: the other columns by which a student is known, names being tuples that make up one full
    name; signs: columns without which the file is none of its exports.
    """

    name: str
    number: tuple[str, ...]
    identifiers: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    signs: tuple[str, ...]


CANVAS = System(
    "canvas",
    ("ID",),
    ("SIS Login ID", "SIS User ID", "Integration ID", "ID"),
    (("Student",),),
    ("Student", "ID"),
)
MOODLE = System(
    "moodle",
    ("Identifier",),
    ("Email address", "Email", "Username", "ID number", "Identifier"),
    (("Full name",), ("First name", "Surname"), ("First name", "Last name")),
    (),
)
FEEDBACK = "Feedback comments"


@dataclass
class Filled:
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


def fill(
    system: System, path: Path, results: Sequence[Graded], sheet: Sheet, column: str = ""
) -> Filled:
    """The exported file with the points in it.

    column: the name of the column; by default the one that has the sheet's name (Canvas), or
    "Grade" (Moodle). Raises TableError for a file that is no such export, or has no such column.
    """
    table = read_table(path)
    if absent := [name for name in system.signs if table.column(name) is None]:
        raise TableError(
            f"{path}: no export of {system.name.title()}: it has no column {absent[0]!r}, only"
            f" {_listed(table.head)}."
        )
    if (
        table.column(*system.number, *system.identifiers) is None
        and _name_columns(system, table) is None
    ):
        raise TableError(
            f"{path}: no column tells whose row it is; there are {_listed(table.head)}."
        )
    into = _target(system, table, sheet, column, path)
    filled = Filled(b"")
    students = list(_students(system, table, sheet.max_points, into, filled))
    found = _matches(system, table, students, results, filled)
    changeable, feedback = table.column("Grade can be changed"), table.column(FEEDBACK)
    for row in students:
        result = found.get(id(row))
        if result is None:
            filled.rows.append(_called(system, table, row))
            continue
        if changeable is not None and row[changeable].strip().casefold() == "no":
            filled.notes.append(
                f"{result.student}: Moodle says that this grade cannot be changed, so it was left"
                " as it is"
            )
            continue
        filled.matched.append(result.student)
        row[into] = f"{result.points:g}"
        if feedback is not None and system is MOODLE:
            row[feedback] = str(harmless(comment(result)))
    filled.data = table.bytes()
    return filled


def comment(result: Graded) -> str:
    """A student's result in a few words, on one line."""
    if result.record["problem"]:
        return str(result.record["problem"])
    return "; ".join(f"{j.exercise}: {j.points:g} of {j.max:g}" for j in result.judgements)


def _target(system: System, table: Table, sheet: Sheet, column: str, path: Path) -> int:
    wanted = (
        [column]
        if column
        else ["Grade"]
        if system is MOODLE and table.column("Grade") is not None
        else [sheet.name]
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
    system: System, table: Table, most: float, into: int, filled: Filled
) -> Iterator[Row]:
    """The rows of students: not empty ones, not Canvas's row of what the columns are worth."""
    maximum = table.column("Maximum Grade")
    told = False
    for row in table.rows:
        if not any(cell.strip() for cell in row.raw):
            continue
        if row[0].strip().startswith("Points Possible"):
            told = _tell_maximum(row[into], most, filled, told)
            continue
        if system is CANVAS and not row[table.column("ID") or 0].strip():
            continue  # "Manual Posting", and names of sections
        if maximum is not None:
            told = _tell_maximum(row[maximum], most, filled, told)
        yield row


def _tell_maximum(text: str, most: float, filled: Filled, told: bool) -> bool:
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
    system: System, table: Table, rows: list[Row], results: Sequence[Graded], filled: Filled
) -> dict[int, Graded]:
    """Which row belongs to which student. Each rule takes only what is unique on both sides."""
    found: dict[int, Graded] = {}
    left = {result.student: result for result in results}
    for keys_of_row, keys_of_student in (
        (lambda row: _numbers(system, table, row), lambda r: _own_number(system, r)),
        (lambda row: _identifiers(system, table, row), lambda r: {_key(r.student)}),
        (
            lambda row: _full_names(system, table, row),
            lambda r: {_name_key(_without_number(r.student))} - {""},
        ),
    ):
        by_key: dict[str, list[Row]] = {}
        for row in rows:
            if id(row) not in found:
                for key in keys_of_row(row):
                    by_key.setdefault(key, []).append(row)
        for result in list(left.values()):
            fitting = {
                id(row): row for key in keys_of_student(result) for row in by_key.get(key, ())
            }
            if len(fitting) > 1:
                which = " and ".join(
                    _called(system, table, row) for row in list(fitting.values())[:2]
                )
                filled.notes.append(
                    f"{result.student} fits more than one row ({which}), and got into none"
                )
            elif fitting and next(iter(fitting)) in found:
                other = found[next(iter(fitting))].student
                filled.notes.append(
                    f"{result.student} and {other} fit the same row; {other} got into it"
                )
            elif fitting:
                found[next(iter(fitting))] = result
                del left[result.student]
    filled.missing = sorted(left)
    return found


def _numbers(system: System, table: Table, row: Row) -> set[str]:
    column = table.column(*system.number)
    digits = re.sub(r"^\D+", "", row[column].strip()) if column is not None else ""
    return {digits} if digits else set()


def _own_number(system: System, result: Graded) -> set[str]:
    number = result.record["lms"].get(system.name)
    return {str(number)} if number else set()


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
    key = _name_key(" ".join(row[c] for c in columns)) if columns else ""
    return {key} if key else set()


def _without_number(student: str) -> str:
    return re.sub(r"_\d+$", "", student)


def _key(text: str) -> str:
    return text.strip().casefold()


def _name_key(text: str) -> str:
    """A full name, whichever part comes first: "Lovelace, Ada" is "ada lovelace"."""
    return " ".join(sorted(re.findall(r"[^\W\d_]+", text.casefold())))


def _called(system: System, table: Table, row: Row) -> str:
    columns = _name_columns(system, table) or (0,)
    name = " ".join(row[c].strip() for c in columns)
    return name or _key(row[0])


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:12]) + (", …" if len(names) > 12 else "")
