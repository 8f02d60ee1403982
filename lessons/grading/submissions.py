"""Submissions: which file of which student counts.

They arrive as nbgrader's folders, a folder a student, a flat folder of files, or the zip of
Canvas or Moodle (unpacked by submitted_zips.py). A file that is no notebook becomes one sentence,
which the student gets to read (submitted_notebooks.py).
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath

from minigrad.cli.folders import remove

from ..edition import without_solutions
from . import submitted_notebooks
from .exports import EXPORT, METADATA, Source, source_in, sources
from .protocol import one_line
from .submitted_notebooks import (
    NOT_ORDINARY,
    RecognisableSheet,
    SubmissionError,
    cells_of,
    ids_of,
    load,
    open_ordinary,
    source_of,
)
from .submitted_zips import DEPTH, NAME_BYTES, opened, safe_name, tag_of, unzip

ZIP_BYTES, ZIPS = 1 << 30, 20
"""What the zips of one student may hold in all when they are unpacked, and their number."""
CLASS_BYTES = 64 << 30
"""What a learning system's zip of all submissions may hold when it is unpacked."""
BESIDE_FILES, BESIDE_BYTES = 200, 64 << 20
"""What lies beside a notebook: so many files are taken along, and no more than this is read of
one.
"""
ENTRIES = 10_000
"""How many files and folders are looked at below a student's folder."""

COPY = r"(?:[ _]*\(\d+\)|(?i:[ _-]+(?:copy|kopie|copie|copia)(?: ?\d+)?)|[ _-]*副本|-checkpoint)"
"""What browsers, file managers and Jupyter append to the name of a second copy."""
COPY_OF = r"(?i:(?:copy of|kopie von|copie de|copia de)[ _]+)"
"""What Google Drive puts before it."""
NUMBER = r"-\d{1,2}"
"""What Canvas appends. In the name of a student it says who it is: group-1, group-2."""


@dataclass
class Submission:
    """One student's submission. path: the notebook that counts, or None; note: which of several it
    is; problem: why there is none, for the student; beside: other files; lms: the student's number
    in the system that it came from ({"canvas": "123"}), and the beginning of its file names there
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


def find(
    submitted: Path | Sequence[Path],
    sheet: RecognisableSheet,
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
        student.hand_in(sheet, unpacked, unpacked / f"student-{tag_of(name)}")
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
        found[source.student] = _Student(safe_name(source.student, 100), source.lms)
    return found[source.student]


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

    def hand_in(self, sheet: RecognisableSheet, unpacked: Path, inner: Path) -> Submission:
        """The notebook that counts among all that was found. inner: a folder for the contents of
        the student's zips.
        """
        files = self.files + [file for folder in self.folders for file in ordinary_files(folder)]
        zips = [file for file in files if file.suffix.lower() == ".zip"]
        problem = self._unpack(zips, inner)
        files += ordinary_files(inner)
        notebooks = [file for file in files if file.suffix.lower() == ".ipynb"]
        path, said = (
            choose(notebooks, sheet) if notebooks else (None, problem or _no_notebook(files, zips))
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

    def _when(self, path: Path, sheet: RecognisableSheet) -> str:
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


def _no_notebook(files: list[Path], zips: list[Path]) -> str:
    """What the student is told who handed in only other files; zips: those that were unpacked."""
    paths = [Path(_own_name(file)) for file in files]
    there = f" What was handed in: {_names(paths)}." if paths else ""
    packed = any(path.suffix.lower() in PACKED for path in paths)
    inside = any(path.suffix.lower() == ".zip" and path not in zips for path in files)
    return (
        f"{NO_NOTEBOOK}{there}{' Of archives, only zips are unpacked.' if packed else ''}"
        f"{' A zip in a zip is not unpacked.' if inside else ''}"
    )


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


def choose(notebooks: list[Path], sheet: RecognisableSheet) -> tuple[Path | None, str]:
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


def _is_blank(path: Path, sheet: RecognisableSheet) -> bool:
    """Whether a notebook has no other cells than the sheet as it was handed out."""
    given = (sheet.notebook or {}).get("cells", [])
    handed_out = {without_solutions(source_of(cell), "").strip() for cell in given}
    if handed_out == {source_of(cell).strip() for cell in given}:
        return False  # a sheet that has no solution to take out does not tell
    try:
        return {source_of(cell).strip() for cell in cells_of(load(path))} <= handed_out | {""}
    except SubmissionError:
        return False


def _is_foreign(path: Path, sheet: RecognisableSheet) -> bool:
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


def _holds_work(path: Path, sheet: RecognisableSheet) -> bool:
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


def digest(path: Path, beside: list[Path]) -> str:
    """The SHA-256 of a submission: of the notebook, and of the names and contents of what lies
    beside it.
    """
    found = hashlib.sha256()
    for block in _blocks(path, submitted_notebooks.FILE_BYTES + 1):
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
