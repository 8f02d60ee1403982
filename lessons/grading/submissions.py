"""Submissions: finding each student's notebook, and reading it although anything may be in it.

Hand-ins arrive as nbgrader's folders, a folder a student, a flat folder of files, or the zip of
Canvas or Moodle. This file decides which file counts. A file that is no notebook becomes one
sentence, which the student gets to read. Nothing here runs anything or imports a notebook library:
a notebook is JSON, and JSON from a stranger.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import threading
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol

from minigrad.cli.folders import remove

from .exercise import Exercise
from .exports import Source, sources
from .protocol import clean, one_line

FILE_BYTES = 200 << 20
"""The largest notebook that is read. Outputs make honest notebooks large: what counts is the
next limit.
"""
SOURCE_CHARACTERS = 2_000_000
"""All cells' sources together, when outputs have been dropped."""
CELLS = 5_000
ZIP_BYTES, ZIP_FILES, ZIPS = 1 << 30, 50_000, 20
"""What the zips of one student may hold in all when they are unpacked, the files in one, and
their number.
"""
CLASS_BYTES = 64 << 30
"""What a learning system's zip of all submissions may hold when it is unpacked."""
BESIDE_FILES, BESIDE_BYTES = 200, 64 << 20
"""What lies beside a notebook: so many files are taken along, and no more than this is read of
one.
"""
DEPTH, ENTRIES = 20, 10_000
"""How deep below a student's folder the notebook may lie, and how many files and folders are looked
at there.
"""

CANVAS = re.compile(r"(?P<name>[^_/]+)_(?:LATE_)?(?P<id>\d+)_\d+_(?P<file>.+)$")
MOODLE = re.compile(r"(?P<name>[^/]+?)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)$")
COPY = re.compile(r"(?:[ _]*\(\d+\)|[ _-]*copy\d*|-checkpoint|(?<=[a-z])-\d{1,2})+$", re.IGNORECASE)
"""What browsers, Jupyter and Canvas append to the name of a second copy."""


EMPTY: Mapping[str, str] = {}


class SubmissionError(ValueError):
    """A hand-in that cannot be run; the text is for the student."""


class SheetLike(Protocol):
    """What must be known of a sheet to recognise a hand-in (sheet.Sheet has it)."""

    name: str
    check_ids: frozenset[str]
    solution_ids: frozenset[str]
    notebook: dict[str, Any] | None
    exercises: tuple[Exercise, ...]


@dataclass
class Submission:
    """One student's hand-in. path: the notebook that counts, or None; note: which of several it is;
    problem: why there is none, for the student; beside: other files; lms: the student's number in
    the system that it came from ({"canvas": "123"}), and the beginning of its file names there
    ("prefix"); handed_in: when, by the outermost container, as UTC.
    """

    student: str
    path: Path | None
    note: str = ""
    problem: str = ""
    beside: list[Path] = field(default_factory=list)
    lms: dict[str, str] = field(default_factory=dict)
    handed_in: str = ""


# ------------------------------------------------------------------------------------------ finding


def find(submitted: Path, sheet: SheetLike, unpacked: Path) -> list[Submission]:
    """One submission per student, sorted by name.

    Who handed in what is decided by the outermost container alone: `submitted` itself, or the zips
    of a learning system in it. The contents of a student's own zip belong to that student, whatever
    their names say. Links are not followed.

    Args:
        submitted: a folder, or a zip of all submissions.
        unpacked: an empty folder for the contents of zips; what does not count is removed from it.

    Raises:
        FileNotFoundError: there is nothing at `submitted`.
        SubmissionError: the zip of all submissions cannot be unpacked.
    """
    if not submitted.exists():
        raise FileNotFoundError(f"there is nothing at {submitted}")
    found: dict[str, _Student] = {}
    if submitted.is_file():
        containers = [submitted]
    else:
        # A student's zip could imitate a system's: only where all files are such zips are they
        # taken for containers.
        containers = [entry for entry in _listed(submitted) if entry.is_file()]
        if not all(_is_container(entry) for entry in containers) or any(
            entry.is_dir() for entry in _listed(submitted)
        ):
            containers = []
    tops = [unpacked / f"all-{number}" for number, _ in enumerate(containers)]
    for container, top in zip(containers, tops, strict=True):
        unzip(container, top, CLASS_BYTES)
    known: dict[str, Source | None] = {}
    if submitted.is_dir() and not containers:
        known = sources(submitted, [entry.name for entry in _listed(submitted)], sheet.name)
    for entry in [entry for top in tops or [submitted] for entry in _listed(top)]:
        if entry.is_dir() and not entry.is_symlink():
            source = known.get(entry.name, Source(entry.name))
            if source is None:
                continue
            student = _student(found, source.student, lms=source.lms)
            student.folders.append(entry)
            student.handed_in, student.note = source.when, source.note
        elif entry.suffix.lower() in (".ipynb", ".zip"):
            _student(found, entry.name, sheet.name).files.append(entry)
    return [student.hand_in(sheet, unpacked) for _, student in sorted(found.items())]


def _listed(folder: Path) -> list[Path]:
    """The entries of a folder that can be submissions."""
    return [
        entry
        for entry in sorted(folder.iterdir())
        if not entry.name.startswith(".") and entry.name != "__MACOSX"
    ]


def _is_container(path: Path) -> bool:
    """Whether a zip is one that a learning system makes of all submissions."""
    if path.suffix.lower() != ".zip" or path.is_symlink():
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False
    return bool(names) and all(CANVAS.match(name) or MOODLE.match(name) for name in names)


def _student(
    found: dict[str, _Student], name: str, sheet: str = "", lms: Mapping[str, str] = EMPTY
) -> _Student:
    lms = dict(lms)
    for system, pattern in (("moodle", MOODLE), ("canvas", CANVAS)):
        if match := pattern.match(name):
            prefix = name[: match.start("file")].removesuffix("_")
            student = f"{match['name']}_{match['id']}"
            lms = {system: match["id"], "prefix": prefix}
            break
    else:
        student = PurePosixPath(name).stem if sheet else name
        if sheet:  # alice_vjp.ipynb, vjp-alice.ipynb
            plain = re.escape(sheet)
            student = COPY.sub("", student)
            student = (
                re.sub(rf"^{plain}[ _.-]+(?=.)|(?<=.)[ _.-]+{plain}$", "", student, count=1)
                or student
            )
    if student not in found:
        found[student] = _Student(_free_name(one_line(student, 100), found), lms)
    return found[student]


def _free_name(name: str, found: dict[str, _Student]) -> str:
    """A unique name: names that differ in what cannot be written, or far behind, are still two
    students."""
    taken, free, number = {student.name for student in found.values()}, name, 2
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


class _Student:
    """What has been found of one student so far."""

    def __init__(self, name: str, lms: dict[str, str]) -> None:
        self.name, self.lms = name, lms
        self.handed_in = self.note = ""
        self.folders: list[Path] = []
        self.files: list[Path] = []

    def hand_in(self, sheet: SheetLike, unpacked: Path) -> Submission:
        """The notebook that counts among all that was found."""
        files, problem = (
            [*self.files, *(file for folder in self.folders for file in ordinary_files(folder))],
            "",
        )
        zips = [file for file in files if file.suffix.lower() == ".zip"]
        left, inner = ZIP_BYTES, unpacked / f"student-{len(list(unpacked.iterdir()))}"
        for number, path in enumerate(zips):
            try:
                if number >= ZIPS:
                    raise SubmissionError(
                        f"More than {ZIPS} zips were handed in; this one was not unpacked."
                    )
                left -= unzip(path, inner / str(number), left, not_after=path.stat().st_mtime)
                files += ordinary_files(inner / str(number))
            except SubmissionError as error:
                problem = one_line(f"{path.name}: {error}")
        notebooks = [file for file in files if file.suffix.lower() == ".ipynb"]
        path, note = choose(notebooks, sheet) if notebooks else (None, problem or NO_NOTEBOOK)
        found = (
            Submission(self.name, path, note, lms=self.lms)
            if path
            else Submission(self.name, None, problem=note, lms=self.lms)
        )
        if path:
            found.beside = [
                f
                for f in files
                if f.is_relative_to(path.parent) and f.suffix.lower() not in (".ipynb", ".zip")
            ][:BESIDE_FILES]
        found.handed_in = self.handed_in or (
            _when(path, zips, inner, unpacked, sheet) if path else ""
        )
        found.note = f"{found.note} {self.note}".strip()
        for file in ordinary_files(inner):
            if file != path and file not in found.beside:
                file.unlink(missing_ok=True)
        return found


def _when(path: Path, zips: list[Path], inner: Path, unpacked: Path, sheet: SheetLike) -> str:
    """When a notebook was handed in: the time of the file that the student handed in, which is the
    zip where it was in one. In nbgrader's folders a file tells.
    """
    if path.is_relative_to(inner):
        path = zips[int(path.relative_to(inner).parts[0])]
    stamp = path.with_name("timestamp.txt")
    if path.parent.name == sheet.name and not path.is_relative_to(unpacked) and stamp.is_file():
        try:
            with open_ordinary(stamp) as file:
                words = file.read(100).decode("ascii", "replace").replace(" UTC", "+00:00")
            said = datetime.fromisoformat(words.strip())
            return (said if said.tzinfo else said.replace(tzinfo=UTC)).isoformat(timespec="seconds")
        except (ValueError, OSError, SubmissionError):
            pass
    try:
        return datetime.fromtimestamp(path.lstat().st_mtime, UTC).isoformat(timespec="seconds")
    except (OSError, OverflowError, ValueError):
        return ""


NO_NOTEBOOK = "No notebook (a file that ends in .ipynb) was handed in."


def ordinary_files(folder: Path) -> list[Path]:
    """The ordinary files of a folder, at most DEPTH deep: links are not followed, hidden folders
    (.ipynb_checkpoints) are not entered. Of more than ENTRIES the deeper ones are left out.
    """
    found: list[Path] = []
    level, looked_at = [folder], 0
    for _ in range(DEPTH + 1):
        below: list[Path] = []
        for place in level:
            entries = _entries(place, ENTRIES - looked_at)
            looked_at += len(entries)
            for entry in entries:
                path = place / entry.name
                if entry.name.startswith(".") or entry.name == "__MACOSX" or entry.is_symlink():
                    continue
                if entry.is_file(follow_symlinks=False):
                    found.append(path)
                elif entry.is_dir(follow_symlinks=False):
                    below.append(path)
        level = below
    return sorted(found)


def _entries(folder: Path, most: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(islice(entries, most), key=lambda entry: entry.name)
    except OSError:
        return []


def named(notebook: Path, beside: list[Path]) -> dict[str, Path]:
    """Files by their names from the notebook's folder, such as data/table.csv."""
    return {
        (
            path.relative_to(notebook.parent).as_posix()
            if path.is_relative_to(notebook.parent)
            else path.name
        ): path
        for path in beside
    }


def choose(notebooks: list[Path], sheet: SheetLike) -> tuple[Path | None, str]:
    """The notebook that counts, and a note on why where there were others; (None, problem) where
    none is of this sheet.

    By its name first (a second copy's number does not matter), then by the ids of its cells; of
    several, the newest. The note also tells of notebooks with another name that hold cells of this
    sheet.
    """
    if len(notebooks) == 1:
        if _is_foreign(notebooks[0], sheet):
            return None, f"{_names(notebooks)} holds no cell of {sheet.name}.ipynb: {FOREIGN}"
        return notebooks[0], ""
    right = [
        path
        for path in notebooks
        if _plain_name(path) == sheet.name or path.parent.name == sheet.name
    ]
    named = [path for path in right if _plain_name(path) == sheet.name]
    right = (
        named
        or right
        or [path for path in notebooks if _ids(path) & (sheet.solution_ids | sheet.check_ids)]
    )
    if not right:
        return (
            None,
            f"None of the {len(notebooks)} notebooks that were handed in is {sheet.name}.ipynb.",
        )
    newest = max(right, key=lambda path: (path.stat().st_mtime, path.name))
    others = [path for path in right if path != newest]
    note = (
        f"{len(right)} notebooks were handed in; {_names([newest])}, the newest, counts, not"
        f" {_names(others)}."
        if others
        else ""
    )
    ignored = [
        path for path in notebooks[:LOOKED_AT] if path not in right and _holds_work(path, sheet)
    ]
    if ignored:
        what = "it has the sheet's own name" if named else "its cells are the sheet's"
        note += f" {_names(ignored)} was not looked at: {_names([newest])} counts, because {what}."
    return newest, note.strip()


def _is_foreign(path: Path, sheet: SheetLike) -> bool:
    """Whether a notebook can be read, and holds neither cells of the sheet nor work on it."""
    if not sheet.solution_ids | sheet.check_ids:
        return False
    try:
        cells = cells_of(load(path))
    except SubmissionError:
        return False  # what is wrong with it is said where it is run
    return not {i for cell in cells for i in ids_of(cell)} & (
        sheet.solution_ids | sheet.check_ids
    ) and not _holds_work(path, sheet)


FOREIGN = "was the notebook of another sheet handed in?"

LOOKED_AT = 30
"""Of so many notebooks with other names it is found out whether they hold work on the sheet."""


def _names(paths: list[Path], most: int = 5) -> str:
    found = sorted(one_line(path.name, 100) for path in paths)
    return ", ".join(found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "")


def _holds_work(path: Path, sheet: SheetLike) -> bool:
    """Whether a notebook holds cells of the sheet, with their ids or, in a notebook of the
    student's own, without.
    """
    try:
        cells = cells_of(load(path))
    except SubmissionError:
        return False
    ids = {i for cell in cells for i in ids_of(cell)}
    if ids & sheet.solution_ids:
        return True
    if any(ids_of({"metadata": cell.get("metadata")}) for cell in cells):
        return False  # another sheet's: it has nbgrader's ids
    wanted = "|".join(
        re.escape(answer) for exercise in sheet.exercises for answer in exercise.answers
    )
    return any(
        re.search(
            rf"^(?:(?:def|class)\s+(?:{wanted})\b|(?:{wanted})\s*=)", source_of(cell), re.MULTILINE
        )
        for cell in cells
    )


def _plain_name(path: Path) -> str:
    name = path.stem
    if match := MOODLE.match(name) or CANVAS.match(name):
        name = match["file"]
    return COPY.sub("", name)


def _ids(path: Path) -> set[str]:
    try:
        return {i for cell in cells_of(load(path)) for i in ids_of(cell)}
    except SubmissionError:
        return set()


# --------------------------------------------------------------------------------------------- zips


def unzip(path: Path, folder: Path, most: int, not_after: float = float("inf")) -> int:
    """Unpacks plain files with harmless names, whatever the zip says about their sizes.

    Args:
        most: bytes in all; of one file no more is written than can be read of a notebook.
        not_after: no file gets a later modification time, in seconds since 1970.

    Returns the number of bytes written. Raises SubmissionError.
    """
    folder.mkdir(parents=True)
    room = most
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > ZIP_FILES:
                raise SubmissionError(f"The zip holds more than {ZIP_FILES:,} files.")
            for entry in entries:
                target = _target(entry, folder)
                if target is None:
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as packed, target.open("wb") as file:
                    while file.tell() <= FILE_BYTES and (block := packed.read(1 << 20)):
                        room -= len(block)
                        if room < 0:
                            raise SubmissionError(
                                f"The zips hold more than {most >> 20} MB when they are unpacked."
                            )
                        file.write(block)
                _set_time(target, entry, not_after)
        return most - room
    except SubmissionError:
        remove(folder)
        raise
    except (zipfile.BadZipFile, RuntimeError, OSError, ValueError, EOFError, zlib.error) as error:
        remove(folder)
        raise SubmissionError(
            f"The zip cannot be unpacked ({type(error).__name__}: {one_line(str(error), 100)})."
        ) from None


def _target(entry: zipfile.ZipInfo, folder: Path) -> Path | None:
    """Where an entry goes; None for folders, links, and names that lead out of the folder."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    parts = [part for part in re.split(r"[/\\]", entry.filename) if part not in ("", ".")]
    if (
        entry.filename.startswith(("/", "\\"))
        or entry.is_dir()
        or kind not in (0, stat.S_IFREG)
        or not parts
        or ".." in parts
        or ":" in parts[0]
        or len(parts) > 20
    ):
        return None
    parts = [one_line(part, 150) for part in parts]
    target = folder.joinpath(*parts)
    return (
        target
        if target.resolve().is_relative_to(folder.resolve()) and not target.is_dir()
        else None
    )


def _set_time(target: Path, entry: zipfile.ZipInfo, not_after: float) -> None:
    try:
        when = min(datetime(*entry.date_time).timestamp(), not_after)
        os.utime(target, (when, when))
    except (ValueError, OverflowError, OSError):
        pass


# ------------------------------------------------------------------------------------------ reading

NOT_ORDINARY = "What was handed in is no ordinary file."
LISTS, VALUES = 3_000_000, 30_000_000
"""So many opening brackets, and so many commas, a notebook may hold: three characters can take
sixty bytes when they are read.
"""

_one_at_a_time = threading.Lock()
"""For large files: a notebook of 200 MB needs several times as much memory while it is read."""


def open_ordinary(path: Path) -> BinaryIO:
    """A file, opened for reading. It is looked at when it is open, so that it cannot be replaced
    meanwhile.

    Raises SubmissionError for a link, a pipe, a device; OSError.
    """
    try:
        opened = os.open(
            path,
            os.O_RDONLY
            | getattr(os, "O_NOFOLLOW", 0)
            | getattr(os, "O_NONBLOCK", 0)
            | getattr(os, "O_BINARY", 0),
        )
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise SubmissionError(NOT_ORDINARY) from None
        raise
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise SubmissionError(NOT_ORDINARY)
    return os.fdopen(opened, "rb")


def load(path: Path) -> Any:
    """A notebook's JSON. Raises SubmissionError with a sentence for the student."""
    try:
        with open_ordinary(path) as file:
            data = file.read(FILE_BYTES + 1)
    except OSError as error:
        raise SubmissionError(f"The file cannot be read ({error.strerror}).") from None
    if len(data) > FILE_BYTES:
        raise SubmissionError(
            f"The file has more than {FILE_BYTES >> 20} MB. Clear the outputs (Kernel, Restart and"
            " Clear Outputs) and save."
        )
    if len(data) > 20 << 20:
        with _one_at_a_time:
            return _parse(data)
    return _parse(data)


def _parse(data: bytes) -> Any:
    if not data.strip():
        raise SubmissionError(
            "The file is empty. Save the notebook again and look whether it opens in Jupyter."
        )
    if data.count(b"[") + data.count(b"{") > LISTS or data.count(b",") > VALUES:
        raise SubmissionError(
            "The file holds too many values for a notebook. Clear the outputs (Kernel, Restart and"
            " Clear Outputs) and save."
        )
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = data.decode(encoding, "replace")
    if re.search(r"^(<{7}|>{7}) ", text, re.MULTILINE) and re.search(r"^={7}$", text, re.MULTILINE):
        raise SubmissionError(
            "The file holds the conflict markers of git (<<<<<<<). Resolve the conflict and save"
            " the notebook again."
        )
    try:
        return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 20 else 0)
    except RecursionError:
        raise SubmissionError("The file is nested too deep to be a notebook.") from None
    except (ValueError, MemoryError):
        raise SubmissionError(
            "The file is not a notebook: it is not valid JSON. Does it open in Jupyter?"
        ) from None


def cells_of(notebook: Any) -> list[dict[str, Any]]:
    """The cells of a notebook's JSON, without those that are no cells. Raises SubmissionError."""
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if (
        cells is None
        and isinstance(notebook, dict)
        and isinstance(notebook.get("worksheets"), list)
    ):  # Jupyter's format of 2014
        sheets = [sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        cells = [
            cell
            for sheet in sheets
            if isinstance(sheet.get("cells"), list)
            for cell in sheet["cells"]
        ]
    if not isinstance(cells, list):
        raise SubmissionError(
            "The file is not a notebook: it has no list of cells. Does it open in Jupyter?"
        )
    if len(cells) > CELLS:
        raise SubmissionError(f"The notebook has more than {CELLS:,} cells.")
    return [cell for cell in cells if isinstance(cell, dict)]


def source_of(cell: dict[str, Any]) -> str:
    """A cell's text, whatever form it has; "" where it has none."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return clean(source) if isinstance(source, str) else ""


def ids_of(cell: dict[str, Any]) -> set[str]:
    """A cell's id and nbgrader's."""
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    found = [cell.get("id"), nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None]
    return {i for i in found if isinstance(i, str) and i}


def code_cells(notebook: Any, sheet: SheetLike) -> list[tuple[str, str]]:
    """What is run of a notebook, in order: (name such as "cell 3", source).

    A solution cell counts as code even if it has become text. The sheet's check cells are left out,
    unless the student has written something else into them. Copied and split cells simply run in
    their order. Raises SubmissionError.
    """
    checks = {
        source_of(cell).strip()
        for cell in (sheet.notebook or {}).get("cells", [])
        if ids_of(cell) & sheet.check_ids
    }
    found = []
    for number, cell in enumerate(cells_of(notebook), 1):
        ids, source = ids_of(cell), source_of(cell)
        if (cell.get("cell_type") != "code" and not ids & sheet.solution_ids) or not source.strip():
            continue
        if ids & sheet.check_ids and source.strip() in checks:
            continue
        found.append((f"cell {number}", source))
    if sum(len(source) for _, source in found) > SOURCE_CHARACTERS:
        raise SubmissionError(
            f"The notebook holds more than {SOURCE_CHARACTERS:,} characters of code."
        )
    return found


def digest(path: Path, beside: list[Path]) -> str:
    """The SHA-256 of a hand-in: of the notebook, and of the names and contents of what lies
    beside it.
    """
    found = hashlib.sha256()
    for block in _blocks(path, FILE_BYTES + 1):
        found.update(block)
    for name, other in sorted(named(path, beside).items()):
        found.update(b"\0" + name.encode("utf-8", "surrogateescape") + b"\0")
        for block in _blocks(other, BESIDE_BYTES):
            found.update(block)
    return found.hexdigest()


def _blocks(path: Path, most: int) -> Iterator[bytes]:
    """An ordinary file's bytes, as far as they can matter: a file may have holes of any size."""
    try:
        with open_ordinary(path) as file:
            while most > 0 and (block := file.read(min(1 << 20, most))):
                most -= len(block)
                yield block
    except (OSError, SubmissionError):
        return
