"""How other systems name what they export: Canvas, Moodle, nbgrader's exchange, Gradescope, GitHub
Classroom.

All names are read at the top of the folder or zip of submissions, where only the system writes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from .protocol import clean

INBOUND = re.compile(
    r"(?P<name>[^+]+)\+(?P<sheet>[^+]+)\+(?P<when>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^+]*)(?:\+.*)?$"
)
"""A folder of nbgrader's exchange: the student, the assignment, the time, a random word."""
CANVAS = re.compile(
    r"(?:(?:LATE_)?(?P<anonymous>anon)_(?P<code>[A-Za-z0-9]{5})"
    r"|(?P<name>[^/]+?)_(?:LATE_)?(?P<id>\d+))"
    r"_(?:\d+_(?P<file>.+)|(?P<entry>(?:text|link)\.html))",
    re.DOTALL,
)
"""A file of Canvas's: the student, the student's number, the file's number, the file's name. Where
students are anonymous, a word stands for both; what was typed into Canvas has no number.
"""
MOODLE = re.compile(
    r"(?P<name>[^/]+?)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)", re.DOTALL
)
LONGEST = 300
"""No file system has longer names; in a zip, a student can write one of any length."""
EXPORT = re.compile(r"assignment_\d+_export")
"""The one folder in a zip that Gradescope exports."""
METADATA = "submission_metadata.yml"
METADATA_BYTES = 50 << 20


@dataclass(frozen=True)
class Source:
    """Whose a file or folder is. when: as UTC, "" if unknown; lms: the student's number in the
    system, and the beginning of the names there ("prefix"); note: what should be said of it; file:
    the name that the student gave the file.
    """

    student: str
    when: str = ""
    lms: dict[str, str] = field(default_factory=dict)
    note: str = ""
    file: str = ""


def source_in(name: str) -> Source | None:
    """Whose a file or folder is that Canvas or Moodle has named; None for other names."""
    if len(name) > LONGEST:
        return None
    if match := MOODLE.fullmatch(name):
        student, number, file, system = match["name"], match["id"], match["file"], "moodle"
    elif match := CANVAS.fullmatch(name):
        student, number = match["name"] or match["anonymous"], match["id"] or match["code"]
        file, system = match["file"] or match["entry"], "canvas"
    else:
        return None
    prefix = name.removesuffix(file).removesuffix("_")
    return Source(f"{student}_{number}", lms={system: number, "prefix": prefix}, file=file)


def came_in_time(lms: Mapping[str, str]) -> bool:
    """Whether Canvas says so. It marks in a file's name what came after the date that it knows; the
    times in its zip are all that of the zip.
    """
    return "canvas" in lms and not re.search("(?:^|_)LATE_", lms.get("prefix", "LATE_"))


def sources(submitted: Path, names: list[str], sheet: str) -> dict[str, Source | None]:
    """Whose the folders of an export are, by the folders' names; None for a folder that does not
    count: of another sheet, or older than another one of that student.
    """
    found: dict[str, Source | None] = {}
    inbound = {name: match for name in names if (match := INBOUND.match(name))}
    of_sheet = {name for name, match in inbound.items() if match["sheet"] == sheet}
    newest: dict[str, str] = {}
    for name in sorted(of_sheet or inbound, key=lambda name: inbound[name]["when"]):
        newest[inbound[name]["name"]] = name
    for name, match in inbound.items():
        counts = name in newest.values()
        found[name] = Source(match["name"], _utc(match["when"])) if counts else None
    return _classroom(submitted, names, sheet) | found | _gradescope(submitted, set(names))


CLONES = "-submissions"
"""With this ends the folder into which `gh classroom clone student-repos` clones."""


def _classroom(submitted: Path, names: list[str], sheet: str) -> dict[str, Source | None]:
    """GitHub Classroom's folders are called ASSIGNMENT-ACCOUNT, in a folder ASSIGNMENT-submissions.
    Where that has another name, all of them must begin with the sheet's.
    """
    folders = [name for name in names if os.path.isdir(submitted / name)]
    prefix = f"{submitted.resolve().name.removesuffix(CLONES)}-"
    if not submitted.resolve().name.endswith(CLONES):
        prefix = f"{sheet}-"
        if not all(name.startswith(prefix) for name in folders):
            return {}
    return {
        name: Source(name.removeprefix(prefix), lms={"github": name.removeprefix(prefix)})
        for name in folders
        if name.startswith(prefix) and name != prefix
    }


def _gradescope(submitted: Path, names: set[str]) -> dict[str, Source | None]:
    """Gradescope's submission_metadata.yml, of which a few plain lines are read."""
    path = submitted / METADATA
    if path.is_symlink() or not path.is_file() or path.stat().st_size > METADATA_BYTES:
        return {}
    blocks = re.split(r"^(submission_\d+):\s*$", clean(_text(path)), flags=re.MULTILINE)
    found: dict[str, Source | None] = {}
    numbered: dict[str, list[str]] = {}
    for name, block in zip(blocks[1::2], blocks[2::2], strict=True):
        listed = re.split(r"^  :\w", block.partition(":submitters:")[2], flags=re.MULTILINE)[0]
        people = [
            dict(re.findall(r"^[ -]*:(name|sid|email):[ \t]*(.*?)[ \t]*$", part, re.MULTILINE))
            for part in re.split(r"^\s*- ", listed, flags=re.MULTILINE)
        ]
        people = [
            {key: value.strip("'\"") for key, value in p.items()} for p in people if p.get("name")
        ]
        if name not in names or not people:
            continue
        when = re.search(r"^\s*:created_at:[ \t]*(.+)$", block, re.MULTILINE)
        lms = {key: value for key in ("sid", "email") if (value := people[0].get(key, ""))}
        others = ", ".join(p["name"] for p in people[1:])
        numbered.setdefault(people[0]["name"], []).append(name)
        found[name] = Source(
            people[0]["name"], _utc(when[1]) if when else "",
            lms | {"gradescope": name.removeprefix("submission_")},
            f"Handed in together with {others}." if others else "",
        )  # fmt: skip
    for student, folders in numbered.items():
        for name in folders if len(folders) > 1 else ():  # people of the same name
            source = found[name]
            assert source is not None
            number = source.lms["gradescope"]
            found[name] = replace(source, student=f"{student}_{number}")
    return found


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _utc(text: str) -> str:
    """A time such as "2026-11-20 10:00:00.123456789 Z" as UTC; "" where it is none."""
    plain = re.sub(r"(\.\d{6})\d+", r"\1", text.strip().strip("'\""))
    plain = re.sub(r"\s*(UTC|Z)$", "+00:00", plain)
    plain = re.sub(r"\s+([+-]\d\d:?\d\d)$", r"\1", plain)
    try:
        when = datetime.fromisoformat(plain)
    except ValueError:
        return ""
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return when.astimezone(UTC).isoformat(timespec="seconds")
