"""Submissions: finding each student's notebook, and reading it although anything may be in it.

They arrive as nbgrader's folders, a folder a student, a flat folder of files, or the zip of
Canvas or Moodle. This file decides which file counts. A file that is no notebook becomes one
sentence, which the student gets to read. Nothing here runs anything or imports a notebook library:
a notebook is JSON, and JSON from a stranger.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import stat
import threading
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from minigrad.cli.folders import remove

from ..edition import without_solutions
from .exercise import Exercise
from .exports import EXPORT, METADATA, Source, source_in, sources
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
LIST_BYTES = 32 << 20
"""The longest list of a zip's contents that is read."""
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

COPY = r"(?:[ _]*\(\d+\)|(?i:[ _-]+(?:copy|kopie|copie|copia)(?: ?\d+)?)|[ _-]*副本|-checkpoint)"
"""What browsers, file managers and Jupyter append to the name of a second copy."""
COPY_OF = r"(?i:(?:copy of|kopie von|copie de|copia de)[ _]+)"
"""What Google Drive puts before it."""
NUMBER = r"-\d{1,2}"
"""What Canvas appends. In the name of a student it says who it is: group-1, group-2."""
NAME_BYTES = 200
"""The longest name of a file or folder that is unpacked."""


class SubmissionError(ValueError):
    """A submission that cannot be run; the text is for the student."""


class SheetLike(Protocol):
    """What must be known of a sheet to recognise a submission (sheet.Sheet has it)."""

    name: str
    check_ids: frozenset[str]
    solution_ids: frozenset[str]
    notebook: dict[str, Any] | None
    exercises: tuple[Exercise, ...]


@dataclass
class Submission:
    """One student's submission. path: the notebook that counts, or None; note: which of several it
    is;
    problem: why there is none, for the student; beside: other files; lms: the student's number in
    the system that it came from ({"canvas": "123"}), and the beginning of its file names there
    ("prefix"); handed_in: when, by the outermost container, as UTC; flags: why a person should
    look.
    """

    student: str
    path: Path | None
    note: str = ""
    problem: str = ""
    beside: list[Path] = field(default_factory=list)
    lms: dict[str, str] = field(default_factory=dict)
    handed_in: str = ""
    flags: list[str] = field(default_factory=list)


# ------------------------------------------------------------------------------------------ finding


def find(
    submitted: Path | Sequence[Path],
    sheet: SheetLike,
    unpacked: Path,
    left_out: list[str] | None = None,
) -> list[Submission]:
    """One submission per student, sorted by name.

    Who handed in what is decided by the outermost container alone: a folder, or a zip of all
    submissions. A zip in a folder is a student's, and its contents belong to that student, whatever
    their names say. Links are not followed.

    Args:
        submitted: a folder, or a zip of all submissions, or several of them.
        unpacked: an empty folder for the contents of zips; what does not count is removed from it.
        left_out: to it the names of files are added that are no student's.

    Raises:
        FileNotFoundError: there is nothing at `submitted`.
        SubmissionError: a zip of all submissions cannot be unpacked.
    """
    found: dict[str, _Student] = {}
    ignored: list[str] = []
    several = [submitted] if isinstance(submitted, Path) else submitted
    for number, given in enumerate({path.resolve(): path for path in several}.values()):
        if not given.exists():
            raise FileNotFoundError(f"there is nothing at {given}")
        top = given
        if given.is_file():
            top, path = unpacked / f"all-{number}", given.resolve()
            try:
                unzip(path, top, CLASS_BYTES, not_after=path.stat().st_mtime)
            except SubmissionError as error:
                raise SubmissionError(f"{given}: {error}") from None
            inner = _listed(top)
            if len(inner) == 1 and EXPORT.fullmatch(inner[0].name) and inner[0].is_dir():
                top = inner[0]
        ignored += _collect(top, sheet.name, found)
    if left_out is not None:
        left_out += [one_line(name, 100) for name in ignored]
    return [
        student.hand_in(sheet, unpacked, unpacked / f"student-{_tag(name)}")
        for name, student in sorted(found.items())
    ]


def _listed(folder: Path) -> list[Path]:
    """The entries of a folder that can be submissions."""
    return [
        entry
        for entry in sorted(folder.iterdir())
        if not entry.name.startswith(".") and entry.name != "__MACOSX"
    ]


def _collect(top: Path, sheet: str, found: dict[str, _Student]) -> list[str]:
    """Adds what lies in a folder to the students to whom it belongs; returns the names of files
    that belong to no student.
    """
    entries, ignored = _listed(top), []
    known = sources(top, [entry.name for entry in entries], sheet)
    for entry in entries:
        named = source_in(entry.name)
        if not os.path.isdir(entry) and (named or entry.suffix.lower() in (".ipynb", ".zip")):
            source = named or Source(_student_in(entry.name, sheet))
            _student(found, source).files.append(entry)
            continue
        if os.path.isfile(entry):
            ignored += [entry.name] if entry.name != METADATA else []
            continue
        if (source := known.get(entry.name, named or Source(entry.name))) is None:
            continue
        student = _student(found, source)
        student.handed_in, student.note = source.when, source.note
        if entry.is_symlink() or not entry.is_dir():
            student.problem = NOT_ORDINARY
            continue
        student.folders.append(entry)
        if not named and entry.name not in known:
            student.plain.add(entry)
    return ignored


def _student_in(name: str, sheet: str) -> str:
    """The student in the name of a file: alice_vjp (1).ipynb, vjp-alice.ipynb, alice.ipynb. The
    sheet's own name alone names no student, so it stays as it is.
    """
    stem, plain = PurePosixPath(name).stem, re.escape(sheet)
    if _is_called(name, sheet):
        return stem
    for pattern in (rf"(.+?)[ _.-]+{plain}(?:{COPY}|{NUMBER})*", rf"{plain}[ _.-]+(.+?){COPY}*"):
        if match := re.fullmatch(pattern, stem):
            return match[1]
    return re.sub(rf"(?<=.){COPY}+$", "", stem)


def _is_called(name: str, sheet: str) -> bool:
    """Whether a file's name is that of the sheet, or of a copy of it."""
    stem = PurePosixPath(name).stem
    return bool(re.fullmatch(rf"{COPY_OF}*{re.escape(sheet)}(?:{COPY}|{NUMBER})*", stem))


def _student(found: dict[str, _Student], source: Source) -> _Student:
    if source.student not in found:
        found[source.student] = _Student(_safe_name(source.student, 100), source.lms)
    return found[source.student]


def _safe_name(name: str, limit: int) -> str:
    """A name that can be written, of at most so many bytes. What was changed or cut is replaced by
    a digest, so that two names stay two; the ending stays.
    """
    safe = one_line(name, limit)
    if safe == name and len(os.fsencode(name)) <= limit:
        return name
    tag = _tag(name)
    found = re.search(r"\.[A-Za-z0-9]{1,8}$", name)
    ending = found[0] if found else ""
    stem = one_line(name.removesuffix(ending), limit).encode()[: limit - len(ending) - 13]
    return f"{stem.decode(errors='ignore')}~{tag}{ending}"


def _tag(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class _Student:
    """What has been found of one student so far. plain: folders about which no system says
    anything but their names.
    """

    def __init__(self, name: str, lms: dict[str, str]) -> None:
        self.name, self.lms = name, lms
        self.handed_in = self.note = self.problem = ""
        self.folders: list[Path] = []
        self.plain: set[Path] = set()
        self.files: list[Path] = []

    def hand_in(self, sheet: SheetLike, unpacked: Path, inner: Path) -> Submission:
        """The notebook that counts among all that was found. inner: a folder for the contents of
        the student's zips.
        """
        files = self.files + [file for folder in self.folders for file in ordinary_files(folder)]
        zips = [file for file in files if file.suffix.lower() == ".zip"]
        problem = self._unpack(zips, inner)
        files += ordinary_files(inner)
        notebooks = [file for file in files if file.suffix.lower() == ".ipynb"]
        path, said = (
            choose(notebooks, sheet) if notebooks else (None, problem or _no_notebook(files))
        )
        found = Submission(self.name, path, lms=self.lms)
        found.note, found.problem = (said, "") if path else ("", said)
        found.note = " ".join(filter(None, [found.note, self.note]))
        found.flags = list(filter(None, (_class_in(file) for file in self.files if file in zips)))
        counts = [_outer(path, zips, inner)] if path else [_outer(f, zips, inner) for f in files]
        others = [file for file in files if file not in (path, counts[0])]
        found.beside = self._beside(path, counts[0], others, zips, inner) if path else []
        found.handed_in = self.handed_in or max((self._when(f, sheet) for f in counts), default="")
        entries = [*self.files, *self.folders]
        for entry in entries:  # the beginning of names is that of the notebook
            source = source_in(entry.name)
            if source and path and (counts[0] == entry or counts[0].is_relative_to(entry)):
                found.lms = self.lms | source.lms
        found.lms = {key: one_line(value, NAME_BYTES) for key, value in found.lms.items()}
        _remove_others(
            [inner, *(entry for entry in entries if entry.is_relative_to(unpacked))],
            {path, *found.beside},
        )
        return found

    def _beside(
        self, notebook: Path, outer: Path, files: list[Path], zips: list[Path], inner: Path
    ) -> list[Path]:
        """What of the other files lies beside the notebook: all in its folder, and what was handed
        in one by one, also in zips. Where it is too much, notebooks and zips are left out first.
        """
        found = []
        for file in files:
            handed_in = _outer(file, zips, inner)
            alone = handed_in in self.files and handed_in != outer
            if alone or file.is_relative_to(notebook.parent):
                found.append(file)
        found.sort(key=lambda file: (file.suffix.lower() in (".ipynb", ".zip"), file))
        return found[:BESIDE_FILES]

    def _unpack(self, zips: list[Path], inner: Path) -> str:
        """Unpacks the student's zips; returns what is wrong with the last that is wrong."""
        left, problem = ZIP_BYTES, self.problem
        for number, path in enumerate(zips):
            try:
                if number >= ZIPS:
                    raise SubmissionError(
                        f"More than {ZIPS} zips were handed in; this one was not unpacked."
                    )
                left -= unzip(path, inner / f"zip-{number}", left, not_after=_changed(path))
            except SubmissionError as error:
                problem = one_line(f"{path.name}: {error}")
        return problem

    def _when(self, path: Path, sheet: SheetLike) -> str:
        """When a file was handed in: its own time, or what nbgrader wrote beside it. A file of that
        name in a system's folder is the student's, and says nothing.
        """
        if path.parent.name == sheet.name and path.parent.parent in self.plain:
            try:
                with open_ordinary(path.with_name("timestamp.txt")) as file:
                    words = file.read(100).decode("ascii", "replace").replace(" UTC", "+00:00")
                said = datetime.fromisoformat(words.strip())
                said = said if said.tzinfo else said.replace(tzinfo=UTC)
                return said.astimezone(UTC).isoformat(timespec="seconds")
            except (ValueError, OverflowError, OSError, SubmissionError):
                pass
        try:
            return datetime.fromtimestamp(_changed(path), UTC).isoformat(timespec="seconds")
        except (OSError, OverflowError, ValueError):
            return ""


def _changed(path: Path) -> float:
    """When a file was changed; a link that leads nowhere has a time, too."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _outer(path: Path, zips: list[Path], inner: Path) -> Path:
    """The file that the student handed in, which is the zip where a file was in one."""
    if not path.is_relative_to(inner):
        return path
    return zips[int(path.relative_to(inner).parts[0].removeprefix("zip-"))]


def _remove_others(places: list[Path], kept: set[Path | None]) -> None:
    """Removes what was unpacked and does not count."""
    for place in places:
        if place in kept:
            continue
        if not any(path and path.is_relative_to(place) for path in kept):
            remove(place) if place.is_dir() else place.unlink(missing_ok=True)
            continue
        for folder, _, names in os.walk(place):
            for name in names:
                if (path := Path(folder, name)) not in kept:
                    path.unlink(missing_ok=True)


def _no_notebook(files: list[Path]) -> str:
    """What the student is told who handed in only other files."""
    paths = [Path(_own_name(file)) for file in files]
    there = f" What was handed in: {_names(paths)}." if paths else ""
    packed = any(path.suffix.lower() in PACKED for path in paths)
    return f"{NO_NOTEBOOK}{there}{' Of archives, only zips are unpacked.' if packed else ''}"


def _class_in(path: Path) -> str:
    """What should be said of a student's zip that looks like a system's zip of a class."""
    try:
        with opened(path) as archive:
            names = [source_in(entry.partition("/")[0]) for entry in archive.namelist()]
    except Exception:  # what is wrong with it is said where it is unpacked
        return ""
    if len({source.student for source in names if source}) < 2:
        return ""
    return (
        f"{one_line(path.name, 100)} was taken for the zip of one student, although it holds files"
        " of several; the zip of a whole class is given by its own path, not in a folder"
    )


NO_NOTEBOOK = "No notebook (a file that ends in .ipynb) was handed in."
PACKED = {".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz"}


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


IN_ZIP = re.compile(r".*?/student-[0-9a-f]{12}/zip-\d+/(?P<name>.+)")


def named(notebook: Path, beside: list[Path]) -> dict[str, Path]:
    """Files by their names from the notebook's folder, such as data/table.csv.

    A file that a learning system renamed has the student's own name for it, too, and one whose name
    can be written in two forms (é) has the composed one, where no other file is called so.
    """
    plain, own, unnumbered, composed, renamed = [list[tuple[str, Path]]() for _ in range(5)]
    for path in beside:
        if path.is_relative_to(notebook.parent):
            name = path.relative_to(notebook.parent).as_posix()
        else:
            name = match["name"] if (match := IN_ZIP.match(path.as_posix())) else path.name
        (renamed if source_in(path.name) else plain).append((name, path))
        composed.append((unicodedata.normalize("NFC", name), path))
        if (source := source_in(path.name)) and source.file not in ("", ".", ".."):
            name = name.removesuffix(path.name) + source.file
            own.append((name, path))
            stem, dot, ending = name.rpartition(".")
            unnumbered.append((re.sub(f"{NUMBER}$", "", stem) + dot + ending, path))
    found = dict(reversed(plain))
    for pairs in (own, unnumbered, composed, renamed):
        names = Counter(name for name, _ in pairs)
        found |= {name: p for name, p in pairs if name not in found and names[name] == 1}
    return found


def choose(notebooks: list[Path], sheet: SheetLike) -> tuple[Path | None, str]:
    """The notebook that counts, and a note on why where there were others; (None, problem) where
    none is of this sheet.

    By its name first (a second copy's number does not matter), then by the ids of its cells; of
    several, the newest in which something was written. The note also tells of notebooks with
    another name that hold cells of this sheet.
    """
    if len(notebooks) == 1:
        if _is_foreign(notebooks[0], sheet):
            return None, f"{_names(notebooks)} holds no cell of {sheet.name}.ipynb: {FOREIGN}"
        return notebooks[0], ""
    latest = sorted(notebooks, key=_changed)[-LOOKED_AT:]
    blank = {path for path in latest if _is_blank(path, sheet)}
    named = [path for path in notebooks if _is_called(_own_name(path), sheet.name)]
    in_folder = [path for path in notebooks if path.parent.name == sheet.name]
    right = next((found for found in (named, in_folder) if {*found} - blank), None)
    if right is None:
        ids = sheet.solution_ids | sheet.check_ids
        right = [path for path in latest if path not in blank and _ids(path) & ids]
        right = right or named or in_folder or [path for path in blank if _ids(path) & ids]
    if not right:
        return (
            None,
            f"None of the {len(notebooks)} notebooks that were handed in is {sheet.name}.ipynb.",
        )
    written = [path for path in right if path not in blank]
    newest = max(written or right, key=lambda path: (_changed(path), path.name))
    others = [path for path in right if path != newest]
    why = "the newest" if len(written) in (0, len(right)) else "the newest with work in it"
    note = (
        f"{len(right)} notebooks were handed in; {_names([newest])}, {why}, counts, not"
        f" {_names(others)}."
        if others
        else ""
    )
    ignored = [
        path
        for path in latest
        if path not in right and path not in blank and _holds_work(path, sheet)
    ]
    if ignored:
        what = "it has the sheet's own name" if newest in named else "its cells are the sheet's"
        note += f" {_names(ignored)} was not looked at: {_names([newest])} counts, because {what}."
    return newest, note.strip()


def _is_blank(path: Path, sheet: SheetLike) -> bool:
    """Whether a notebook has no other cells than the sheet as it was handed out."""
    given = (sheet.notebook or {}).get("cells", [])
    handed_out = {without_solutions(source_of(cell), "").strip() for cell in given}
    if handed_out == {source_of(cell).strip() for cell in given}:
        return False  # a sheet that has no solution to take out does not tell
    try:
        return {source_of(cell).strip() for cell in cells_of(load(path))} <= handed_out | {""}
    except SubmissionError:
        return False


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
"""Of so many notebooks with other names, the newest, it is found out whether they hold work on the
sheet.
"""


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


def _own_name(path: Path) -> str:
    """The name that the student gave a file."""
    source = source_in(path.name)
    return source.file if source else path.name


def _ids(path: Path) -> set[str]:
    try:
        return {i for cell in cells_of(load(path)) for i in ids_of(cell)}
    except SubmissionError:
        return set()


# --------------------------------------------------------------------------------------------- zips


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip, opened for reading, whose list of contents is of an honest size."""
    with _Limited(open_ordinary(path).detach()) as file, zipfile.ZipFile(file) as archive:
        yield archive


class _Limited(io.BufferedReader):
    """A file that is not read in pieces of any size: a zip says itself how long its list is."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Raises SubmissionError for too large a piece."""
        if size is not None and size > LIST_BYTES:
            raise SubmissionError(f"The zip holds more than {ZIP_FILES:,} files.")
        return super().read(size)


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
        with opened(path) as archive:
            entries = archive.infolist()
            if len(entries) > ZIP_FILES:
                raise SubmissionError(f"The zip holds more than {ZIP_FILES:,} files.")
            for entry in entries:
                target = _target(entry, folder)
                if target is None:
                    continue
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
    except Exception as error:  # a stranger's zip makes the modules that read it raise anything
        remove(folder)
        raise SubmissionError(
            f"The zip cannot be unpacked ({type(error).__name__}: {one_line(str(error), 100)})."
        ) from None


def _target(entry: zipfile.ZipInfo, folder: Path) -> Path | None:
    """Where an entry goes; None for folders, links, what is hidden, names that lead out of the
    folder, and names that another entry has for a folder or a file.
    """
    kind = stat.S_IFMT(entry.external_attr >> 16)
    name = _name_of(entry)
    parts = [part for part in re.split(r"[/\\]", name) if part not in ("", ".")]
    if (
        name.startswith(("/", "\\"))
        or entry.is_dir()
        or kind not in (0, stat.S_IFREG)
        or not parts
        or any(part.startswith(".") or part == "__MACOSX" for part in parts)
        or re.fullmatch("[A-Za-z]:", parts[0])
        or len(parts) > DEPTH
    ):
        return None
    target = folder.joinpath(*(_safe_name(part, NAME_BYTES) for part in parts))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return None
    return None if target.is_dir() else target


def _name_of(entry: zipfile.ZipInfo) -> str:
    """An entry's name. Some programs write UTF-8 without saying so."""
    if entry.flag_bits & 0x800:
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.filename


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


def open_ordinary(path: Path) -> io.BufferedReader:
    """A file, opened for reading. It is looked at when it is open, so that it cannot be replaced
    meanwhile.

    Raises SubmissionError for a link, a pipe, a device; OSError.
    """
    if path.is_symlink():  # Windows has no O_NOFOLLOW
        raise SubmissionError(NOT_ORDINARY)
    try:
        descriptor = os.open(
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
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SubmissionError(NOT_ORDINARY)
    return os.fdopen(descriptor, "rb")


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
    """The SHA-256 of a submission: of the notebook, and of the names and contents of what lies
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
