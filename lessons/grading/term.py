"""A term: from the journals of all sheets to totals and marks.

A course file in TOML says who takes part, which sheets there are and when they are due, what
lateness costs, and how the sheets are weighed. Nothing is run here and nothing is changed: totals
are a function of the course file and the journals.
"""

from __future__ import annotations

import csv
import math
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from .exercise import SheetError
from .exports import came_in_time
from .grades import Graded, judgements
from .journal import JOURNAL, Record, read, submissions_that_count
from .marks import last_marks
from .one_submission import sheet_at
from .run import sheet_file
from .sheet import Sheet

DAY = timedelta(days=1)
KEYS = {
    "title": str, "roster": str, "attempts": str, "late": dict, "sheet": list, "category": dict,
    "extension": dict, "mark": dict,
}  # fmt: skip
KINDS = {str: "a text", dict: "a table", list: "written [[sheet]]", bool: "true or false"}
LATE = {"percent_a_day": 0.0, "most_days": math.inf, "free_days": 0, "grace_minutes": 0}
MOST = {"percent_a_day": 100.0, "most_days": math.inf}
CATEGORY = {"weight": 1.0, "drop_lowest": 0}
WHOLE = {"free_days", "drop_lowest"}
SHEET_KEYS = {
    "name": str, "results": str, "due": object, "weight": object, "category": str, "groups": bool,
    "title": str,
}  # fmt: skip


class TermError(ValueError):
    """A course file or a roster that is wrong; the message says what and where."""


@dataclass(frozen=True)
class RosterStudent:
    """A row of the roster."""

    id: str
    name: str
    group: str
    keys: frozenset[str]


@dataclass(frozen=True)
class TermSheet:
    """A sheet of the term. name: as it is graded; results: its results folder; groups: whether one
    submission counts for all students of a group.
    """

    name: str
    sheet: Path
    results: Path
    due: datetime | None
    weight: float
    category: str
    groups: bool


@dataclass(frozen=True)
class Credit:
    """What a student has for a sheet: points after what lateness costs. late: days; factor: the
    share of the points that counts; attempts: how many submissions there were; attempt: the one
    that counts.
    """

    points: float = 0.0
    late: int = 0
    factor: float = 1.0
    attempts: int = 0
    note: str = "nothing handed in"
    attempt: Graded | None = None


@dataclass
class Term:
    """A course file that has been read."""

    title: str
    students: list[RosterStudent]
    pieces: list[TermSheet]
    late: dict[str, float]
    attempts: str
    categories: dict[str, dict[str, float]]
    extensions: dict[str, dict[str, datetime]]
    marks: list[tuple[str, float]]


@dataclass
class Totals:
    """credits: by student and sheet; percent, mark: of the whole term, by student; strangers: who
    handed something in and is not in the roster, by sheet; counted: the sheets that count in the
    total, by student; graded: the sheets that have been graded, for others do not count; numbers:
    the numbers in learning systems of each student's own submissions, by sheet and student; owners:
    under which names these are in the journal, likewise.
    """

    term: Term
    most: dict[str, float] = field(default_factory=dict)
    credits: dict[str, dict[str, Credit]] = field(default_factory=dict)
    percent: dict[str, float] = field(default_factory=dict)
    mark: dict[str, str] = field(default_factory=dict)
    counted: dict[str, list[str]] = field(default_factory=dict)
    strangers: dict[str, list[str]] = field(default_factory=dict)
    graded: set[str] = field(default_factory=set)
    numbers: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    owners: dict[str, dict[str, list[str]]] = field(default_factory=dict)


# ---------------------------------------------------------------------------------- the course file


def load_term(path: Path, find_sheet: Any = Path) -> Term:
    """Reads a course file. find_sheet: from the text of a sheet's name to its path.

    Raises TermError, and FileNotFoundError for a course file or roster that is not there.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TermError(f"{path}: it is no TOML in UTF-8: {error}.") from None
    _known(path, "the file", given, KEYS)
    if not given.get("sheet"):
        raise TermError(f"{path}: it has no sheet; write [[sheet]] with a name and a due date.")
    attempts = given.get("attempts", "last")
    if attempts not in ("last", "best"):
        raise TermError(f'{path}: attempts should be "last" or "best", not {attempts!r}.')
    students = _roster(path.parent / given.get("roster", "roster.csv"))
    pieces = [_piece(path, entry, find_sheet) for entry in given["sheet"]]
    names = [piece.name for piece in pieces]
    if twice := {name for name in names if names.count(name) > 1}:
        raise TermError(f"{path}: two sheets are called {min(twice)!r}.")
    marks = {
        name: _number(path, f"[mark] {name!r}", least)
        for name, least in given.get("mark", {}).items()
    }
    return Term(
        given.get("title", path.stem), students, pieces,
        _numbers(path, "[late]", given.get("late", {}), LATE), attempts,
        _categories(path, given.get("category", {}), pieces),
        _extensions(path, given.get("extension", {}), students, names),
        sorted(marks.items(), key=lambda pair: -pair[1]),
    )  # fmt: skip


def _known(path: Path, what: str, given: Any, kinds: Mapping[str, type]) -> None:
    """Refuses a table with names that are not known, or with values of another kind."""
    if not isinstance(given, dict):
        raise TermError(f"{path}: {what} should be a table, not {given!r}.")
    for key, value in given.items():
        if key not in kinds:
            raise TermError(f"{path}: {what} has no {key!r}; there are {', '.join(kinds)}.")
        if not isinstance(value, kinds[key]):
            kind = KINDS[kinds[key]]
            raise TermError(f"{path}: {key!r} of {what} should be {kind}, not {value!r}.")


def _number(path: Path, what: str, value: Any, key: str = "") -> float:
    """A number from 0 on; key: its name, where that says which numbers make sense."""
    most, whole = MOST.get(key, sys.float_info.max), key in WHOLE
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most
    if not good or (whole and not float(value).is_integer()):
        kind = f"a {'whole ' * whole}number from 0 {f'to {most:g}' if key in MOST else 'on'}"
        raise TermError(f"{path}: {what} should be {kind}, not {value!r}.")
    return float(value)


def _numbers(path: Path, what: str, given: Any, usual: Mapping[str, float]) -> dict[str, float]:
    """A table of numbers, with the usual ones where none are given."""
    _known(path, what, given, dict.fromkeys(usual, object))
    named = {key: _number(path, f"{key!r} of {what}", given[key], key) for key in given}
    return {**usual, **named}


def _extensions(
    path: Path, given: Mapping[str, Any], students: list[RosterStudent], names: list[str]
) -> dict[str, dict[str, datetime]]:
    known, found = {student.id for student in students}, {}
    for student, dates in given.items():
        if student not in known:
            raise TermError(f"{path}: [extension] names {student!r}, who is not in the roster.")
        what = f"the extension of {student!r}"
        if not isinstance(dates, dict):
            raise TermError(f"{path}: {what} should be a table of sheets, not {dates!r}.")
        if strange := set(dates) - set(names):
            raise TermError(f"{path}: {what} names {min(strange)!r}, which is"
                            f" no sheet; there are {', '.join(names)}.")  # fmt: skip
        found[student] = {name: _moment(path, what, when) for name, when in dates.items()}
    return found


def _piece(path: Path, entry: Any, find_sheet: Any) -> TermSheet:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise TermError(f"{path}: each [[sheet]] needs a name: a notebook, a sheet.py, a lesson.")
    named = entry["name"]
    _known(path, f"[[sheet]] {named!r}", entry, SHEET_KEYS)
    beside = path.parent / named
    sheet = sheet_file(beside if beside.exists() else find_sheet(named))
    if not sheet.is_file():
        raise TermError(f"{path}: there is no sheet {named!r}.")
    title = entry.get("title", named)
    return TermSheet(
        title, sheet, path.parent / entry.get("results", f"results/{title}"),
        _moment(path, f"due of {named!r}", entry["due"]) if "due" in entry else None,
        _number(path, f"the weight of {named!r}", entry.get("weight", 1.0)),
        entry.get("category", ""), entry.get("groups", False),
    )  # fmt: skip


def _categories(path: Path, given: Mapping[str, Any], pieces: list[TermSheet]) -> dict[str, Any]:
    found = {
        name: _numbers(path, f"the category {name!r}", settings, CATEGORY)
        for name, settings in given.items()
    }
    for piece in pieces:
        if piece.category and piece.category not in found:
            raise TermError(
                f"{path}: the sheet {piece.name!r} is in the category {piece.category!r}, which"
                " has no [category] of its own."
            )
        found.setdefault(piece.category, dict(CATEGORY))
    return found


def _moment(path: Path, what: str, when: Any) -> datetime:
    """A date and time; a date alone means its last second, no time zone that of this machine."""
    try:
        if isinstance(when, datetime):
            return when if when.tzinfo else when.astimezone()
        if isinstance(when, date):
            return datetime.combine(when, time(23, 59, 59)).astimezone()
    except (ValueError, OverflowError, OSError):  # the system knows no time zone of that year
        pass
    said = str(when) if isinstance(when, date) else repr(when)
    raise TermError(f"{path}: {what}: {said} is no date; write 2026-11-30 or 2026-11-30T18:00:00.")


def _roster(path: Path) -> list[RosterStudent]:
    """The students of a CSV file with a column `student`, and others by which they are known."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
        table = csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter)
        rows = list(table)
    except UnicodeDecodeError:
        raise TermError(f"{path}: it is not in UTF-8; save it as CSV in UTF-8.") from None
    except csv.Error as error:
        raise TermError(f"{path}: it is no CSV file: {error}.") from None
    if "student" not in (table.fieldnames or ()):
        there = ", ".join(map(repr, table.fieldnames or ())) or "none"
        raise TermError(f"{path}: it has no column 'student'. Its columns: {there}.")
    found = []
    for row in rows:
        cells = {key: (value or "").strip() for key, value in row.items() if isinstance(key, str)}
        if not cells["student"]:
            continue
        name, group = cells.pop("name", ""), cells.pop("group", "")
        keys = {cell.casefold() for cell in cells.values() if cell}
        keys |= {key.partition("@")[0] for key in keys if "@" in key} | {name_key(name)} - {""}
        found.append(RosterStudent(cells["student"], name, group, frozenset(keys)))
    ids = [student.id for student in found]
    if twice := {i for i in ids if ids.count(i) > 1}:
        raise TermError(f"{path}: {min(twice)!r} is there twice.")
    return found


def name_key(text: str) -> str:
    """A full name, whichever part comes first: "Lovelace, Ada" is "ada lovelace"."""
    return " ".join(sorted(re.findall(r"[^\W\d_]+", text.casefold())))


# ------------------------------------------------------------------------------------------- totals


def totals(term: Term) -> Totals:
    """What everybody has. Raises SheetError and JournalError for a wrong sheet or journal."""
    found = Totals(term)
    found.credits = {student.id: {} for student in term.students}
    free = dict.fromkeys(found.credits, int(term.late["free_days"]))
    for piece in term.pieces:
        sheet = sheet_at(str(piece.sheet))
        found.most[piece.name] = sheet.max_points
        if attempts := _attempts(piece, sheet):
            found.graded.add(piece.name)
        owners, found.strangers[piece.name] = _owners(term.students, attempts)
        found.owners[piece.name] = owners
        found.numbers[piece.name] = {
            student: {
                key: n for name in names for key, n in attempts[name][-1].record["lms"].items()
            }
            for student, names in owners.items()
        }
        for student in term.students:
            mates = [student.id]
            if piece.groups and student.group:
                mates = [s.id for s in term.students if s.group == student.group]
            mine = [a for mate in mates for name in owners[mate] for a in attempts[name]]
            due = term.extensions.get(student.id, {}).get(piece.name, piece.due)
            credit = _credit(term, mine, due, free[student.id])
            free[student.id] -= min(free[student.id], credit.late)
            found.credits[student.id][piece.name] = credit
    for student in term.students:
        percent, counted = _weighed(found, found.credits[student.id])
        found.percent[student.id], found.counted[student.id] = percent, counted
        found.mark[student.id] = next((m for m, least in term.marks if percent >= least), "")
    return found


def _attempts(piece: TermSheet, sheet: Sheet) -> dict[str, list[Graded]]:
    """All submissions of each student that the journal holds, each once; the last is what counts.
    Who has withdrawn has none.

    An older one that was asked something else than the sheet asks now is left out.
    """
    path = piece.results / JOURNAL
    last, marks = submissions_that_count(path), last_marks(path)
    records: dict[str, dict[str, Record]] = {name: {} for name in last}
    for record in read(path):
        if record["kind"] == "hand-in" and record["student"] in last:
            records[record["student"]][record["sha256"]] = record
    found: dict[str, list[Graded]] = {}
    for name, of_student in records.items():
        found[name] = []
        for record in [r for r in of_student.values() if r != last[name]] + [last[name]]:
            try:
                judged = judgements(record, sheet)
            except SheetError:
                if record == last[name]:
                    raise
                continue
            found[name].append(Graded(record, judged, marks.get(name, {})))
    return found


def _owners(
    students: list[RosterStudent], attempts: Iterable[str] | Mapping[str, list[Graded]]
) -> tuple[dict[str, list[str]], list[str]]:
    """Whose submissions are whose: by student, and those of people who are not in the roster.

    A submission's name, its number in a learning system and its full name are looked for in all
    columns of the roster. What fits two students, or by its name another one than by its number,
    belongs to neither.
    """
    found: dict[str, list[str]] = {student.id: [] for student in students}
    strangers = []
    for name in attempts:
        lms = attempts[name][-1].record["lms"] if isinstance(attempts, Mapping) else {}
        numbers = {str(number) for system, number in lms.items() if system != "prefix"}
        kinds = ({name.casefold()}, numbers, {name_key(re.sub(r"_\d+$", "", name))} - {""})
        fitting = [{student.id for student in students if student.keys & keys} for keys in kinds]
        fits = set.intersection(*filter(None, fitting)) if any(fitting) else set()
        if len(fits) == 1:
            found[fits.pop()].append(name)
        else:
            strangers.append(name)
    return found, strangers


def _credit(term: Term, mine: list[Graded], due: datetime | None, free: int) -> Credit:
    """The attempt that counts: the last one, or that with most points after the late penalty."""
    tried = [_of_attempt(term, graded, due, free) for graded in mine]
    if not tried:
        return Credit()
    if term.attempts == "best":
        _, best = max(tried, key=lambda pair: (pair[1].points, pair[0]))
    else:
        _, best = max(tried, key=lambda pair: pair[0])
    return replace(best, attempts=len(tried))


def _of_attempt(
    term: Term, graded: Graded, due: datetime | None, free: int
) -> tuple[datetime, Credit]:
    said = graded.record.get("handed_in") or graded.record["when"]
    when = datetime.fromisoformat(said)
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    lms = graded.record["lms"]
    over = timedelta(0) if due is None or came_in_time(lms) else when - due
    days = 0
    if over > timedelta(minutes=term.late["grace_minutes"]):
        days = math.ceil(over / DAY)
    charged = max(days - free, 0)
    factor = max(0.0, 1 - term.late["percent_a_day"] / 100 * charged)
    if charged and days > term.late["most_days"]:
        factor = 0.0
    price = ", free" if not charged else ", counts nothing" if factor == 0 else ""
    note = graded.record["problem"]
    if days:
        note = f"{days} day{'s' * (days != 1)} late{price}"
        note = f"at most {note}" if "canvas" in lms else note
    return when, Credit(graded.points * factor, days, factor, 1, note, graded)


def _weighed(found: Totals, credits: Mapping[str, Credit]) -> tuple[float, list[str]]:
    """The percentage of what has been graded of the term, and the sheets that count in it."""
    total = weights = 0.0
    counted: list[str] = []
    worth = {name: most for name, most in found.most.items() if name in found.graded and most > 0}
    for name, settings in found.term.categories.items():
        pieces = [p for p in found.term.pieces if p.category == name and p.name in worth]
        shares = {p.name: credits[p.name].points / worth[p.name] for p in pieces}
        dropped = sorted(pieces, key=lambda p: shares[p.name])[: int(settings["drop_lowest"])]
        kept = [p for p in pieces if p not in dropped]
        weight = sum(p.weight for p in kept)
        if weight > 0:
            average = sum(p.weight * shares[p.name] for p in kept) / weight
            total += settings["weight"] * average
            weights += settings["weight"]
            counted += [p.name for p in kept]
    return (100 * total / weights if weights else 0.0), counted


def rows(found: Totals) -> tuple[list[str], list[list[Any]]]:
    """The totals as a table: its head, and a row for each student."""
    head = ["student", "name", "group"]
    for piece in found.term.pieces:
        head += [piece.name, f"{piece.name} note"]
    head += ["percent", "mark", "dropped"]
    body = []
    for student in found.term.students:
        row: list[Any] = [student.id, student.name, student.group]
        for piece in found.term.pieces:
            credit = found.credits[student.id][piece.name]
            row += (
                [round(credit.points, 4), credit.note]
                if piece.name in found.graded
                else ["", "not graded yet"]
            )
        counted = found.counted[student.id]
        dropped = [
            p.name for p in found.term.pieces if p.name in found.graded and p.name not in counted
        ]
        row += [round(found.percent[student.id], 2), found.mark[student.id], ", ".join(dropped)]
        body.append(row)
    return head, body
