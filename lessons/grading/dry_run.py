"""What the grader would see of a notebook, for the student, before it is handed in.

The notebook's code runs in a Python of its own, started in an empty folder with the same packages,
stubs and rules for cells as in grading, so what would be missing there is missing here, and with it
what an exercise forbids. Then each exercise is asked for its practice cases. As soon as code
computes with what a picture gives, all is run again with the real Matplotlib. It locks nothing in,
because the code is the student's own, and it needs nothing that only Unix has.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from minigrad.cli.folders import remove

from . import packages, stripped_library, submissions
from .checking import judge_here
from .exercise import Case, Exercise, Returned
from .process_server import Server, python_paths
from .sandbox import LEVELS
from .sheet_cells import asked_in
from .sheet_modules import given_by, module_for
from .student_process import WALL, Child, PictureNeeded, StepFailed
from .submitted_notebooks import cells_of, load, source_of
from .supervisor import SubmissionResult, SubmissionRun, Work, forbidden, iter_groups

BOOT = """\
import os, sys
sys.path.append({library!r})
from untrusted import worker
requests, answers = os.dup(0), os.dup(1)
nowhere = os.open(os.devnull, os.O_RDWR)
for standard in (0, 1, 2):
    os.dup2(nowhere, standard)
sys.path.extend({more!r})
worker.import_packages({there!r})
worker.run(requests, answers, {folder!r}, {readable!r}, {there!r})
"""


@dataclass
class Found:
    """What a dry run found. lines: an exercise or a cell each, as (mark, sentence); lost: whether
    something would be lost.
    """

    name: str
    lines: list[tuple[str, str]] = field(default_factory=list)
    lost: bool = False

    def tell(self, mark: str, sentence: str) -> None:
        """Adds a line; all but ✓ and · are losses."""
        self.lines.append((mark, sentence))
        self.lost |= mark == "✗"

    def __str__(self) -> str:
        open_ = sum(": not started. " in line for _, line in self.lines)
        unwritten = f"{open_} not started; " if open_ else ""
        end = (
            "  something would be lost: mend it, save the notebook and check again"
            if self.lost
            else f"  {unwritten}nothing would be lost; it is graded on other cases"
        )
        return "\n".join(
            [f"{self.name}, as the grader would run it"]
            + [f"  {mark} {line}" for mark, line in self.lines]
            + [end]
        )


def dry_run(path: Path) -> Found:
    """Runs a saved notebook as the grader would.

    Raises SubmissionError where it cannot be read, SheetError where its sheet is not found.
    """
    found = Found(path.name)
    notebook = load(path)
    cells = [
        (f"cell {number}", source)
        for number, cell in enumerate(cells_of(notebook), 1)
        if (cell.get("cell_type") == "code" or _is_answer(cell))
        and asked_in(source := source_of(cell)) is None
        and source.strip()
    ]
    exercises, module = module_for(path.resolve(), notebook)
    there, given = given_by(module)
    for name in exercises:
        if not any(asked_in(source_of(c)) == name for c in notebook["cells"]):
            found.tell("·", f"{name}: its check cell is gone; the exercise is graded all the same.")
    questions = [(exercise, exercise.cases(0, practice=True)) for exercise in exercises.values()]
    base = Path(tempfile.mkdtemp(prefix="minigrad-check-"))
    try:
        work = Work(cells, questions, given=given)
        more = {*there, *packages.PICTURES} if packages.are_here(packages.PICTURES) else there
        try:
            outcome = _asked(work, there, base, pictures=len(more) == len(there))
        except PictureNeeded:
            outcome = _asked(work, tuple(sorted(more)), base)
    finally:
        remove(base)
    for exercise, cases in questions:
        _tell_of(exercise, cases, outcome.returned[exercise.name], found)
    failed = [f"{cell}: {error}{_beside(error, path)}" for cell, error in outcome.cells.items()]
    if found.lost:
        for line in failed:
            found.tell("✗", line)
    elif failed:
        others = list(outcome.cells)[1:]
        more = f", nor {', '.join(others)}, which fail{'s' * (len(others) < 2)} too" * bool(others)
        found.tell("·", f"{failed[0]} No exercise needs it{more}.")
    return found


def _is_answer(cell: dict[str, Any]) -> bool:
    """Whether a cell was one for an answer's code when it was handed out: it is graded even if it
    has become text.
    """
    metadata = cell.get("metadata")
    about = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return isinstance(about, dict) and bool(about.get("solution")) and not about.get("grade")


def _asked(
    work: Work, there: tuple[str, ...], base: Path, pictures: bool = True
) -> SubmissionResult:
    """What the cells and the exercises give, where some packages may be imported.

    base: a folder for temporary files; pictures: whether code may compute with what a picture
    gives. Else PictureNeeded is raised when it does.

    As in grading, one process without all the names that any exercise forbids does for all, as
    long as nothing calls one of these. If something does, each set of names has a process of its
    own; which cells fail is found out where nothing is taken away, because an exercise that needs
    a cell says so itself.
    """
    names = forbidden(work.exercises)
    outcome = _run(names, work, there, base, pictures)
    if not outcome.withheld:
        return outcome
    groups = {(): [], **dict(iter_groups(work.exercises))}
    for part_names, part in groups.items():
        if part_names == names:
            continue
        here = _run(part_names, replace(work, exercises=part), there, base, pictures)
        outcome.returned |= here.returned
        if not part_names:
            outcome.cells = here.cells
    return outcome


def _run(
    names: tuple[str, ...], work: Work, there: tuple[str, ...], base: Path, pictures: bool
) -> SubmissionResult:
    """What processes give whose library is without some names."""
    outcome = SubmissionResult()
    server = _Processes(stripped_library.library(names, base), there, base)
    SubmissionRun(server, work, outcome, LEVELS[0], pictures).run()
    for exercise, cases in work.exercises:
        returned = outcome.returned[exercise.name]
        for i, (case, back) in enumerate(zip(cases, returned, strict=True)):
            if back.kind == "missing" and _may_define(exercise.called(case), work, outcome.cells):
                returned[i] = replace(back, kind="raised")
    return outcome


def _may_define(name: str, work: Work, failed: Mapping[str, str]) -> bool:
    """Whether a cell that failed for another reason may be the one to define a name."""
    said = f"name '{name}' is not defined"
    return any(name in source and said not in failed.get(cell, said) for cell, source in work.cells)


class _Processes(Server):
    """Starts the Pythons in which the notebook runs, one after the other."""

    def __init__(self, library: Path, there: tuple[str, ...], base: Path) -> None:
        self.library, self.there, self.work = library, there, base

    def learn(self, key: str, source: str) -> None:
        """Each process compiles a drive itself."""

    def fresh_folder(self) -> Path:
        """A new folder for each process."""
        return Path(tempfile.mkdtemp(prefix="work-", dir=self.work))

    def clear(self) -> None:
        """All folders are removed at the end."""

    def child(self, folder: Path, pictures: bool = True) -> Child:
        """A process that works in a folder."""
        return _Process(self, folder, pictures)


class _Process(Child):
    """A Python that is asked through its standard input and output, and is not locked in."""

    def __init__(self, server: _Processes, folder: Path, pictures: bool) -> None:
        self.folder, self.pictures, self.level = folder, pictures, LEVELS[0]
        self.pid, self.flags = 0, []
        there, base = server.there, server.work
        linked = packages.folder_of(there, base) if there else None
        boot = BOOT.format(
            library=str(server.library), more=[str(linked)] if linked else [], folder=str(folder),
            readable=python_paths(server.library), there=list(there),
        )  # fmt: skip
        home = {"HOME": str(folder), "MPLBACKEND": "agg", "MPLCONFIGDIR": str(base)}
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", boot],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **home},
            cwd=folder,
        )
        self.lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(ValueError):  # it was closed
            for line in self.process.stdout:
                self.lines.put(line)
        self.lines.put(b"")

    def _line(self, cpu: float, limit_s: float, since: float) -> bytes:
        assert self.process.stdin is not None
        unsent, self.unsent = self.unsent, b""
        try:
            self.process.stdin.write(unsent)
            self.process.stdin.flush()
            line = self.lines.get(timeout=WALL * limit_s)
        except OSError:
            line = b""
        except queue.Empty:
            raise StepFailed("time", "It took too long, so it was stopped.") from None
        if not line:
            raise StepFailed("died", "The process ended by itself.")
        return line

    def _cpu(self) -> float:
        return 0.0

    def _waits(self, cpu: float, since: float) -> float:
        return 0.0

    def close(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was still to be written is not needed
                    pipe.close()


def _beside(error: str, path: Path) -> str:
    """A hint where what is missing lies beside the notebook."""
    for file in submissions.ordinary_files(path.parent):
        name = file.relative_to(path.parent).as_posix()
        if f"'{name}'" in error or (file.suffix == ".py" and f"{file.stem} is not there" in error):
            return f" Hand in {name} together with the notebook, in one zip."
    return ""


def _tell_of(exercise: Exercise, cases: list[Case], returned: list[Returned], found: Found) -> None:
    name = exercise.name
    failed = [back for back in exercise.begun(returned) if back.kind]
    if failed and all(back.kind in ("missing", "unfinished") for back in failed):
        found.tell("·", f"{name}: not started. {failed[0].error}")
    elif failed:
        found.tell("✗", f"{name}: {failed[0].error}")
    elif exercise.verify is None:
        found.tell("✓", f"{name}: it runs; whether it is right is found out when it is graded.")
    else:
        judged = judge_here(exercise, cases, returned)
        mark = "✓" if judged.full else "·"
        found.tell(mark, f"{name}: {judged.points:g} of {judged.max:g} points on practice cases.")


def notebooks_here(folder: Path) -> Iterator[Path]:
    """The notebooks that a check in a notebook may mean: the one that Jupyter names, or all of the
    folder.
    """
    named = os.environ.get("JPY_SESSION_NAME", "")
    if named.endswith(".ipynb") and (folder / Path(named).name).is_file():
        yield folder / Path(named).name
    else:
        yield from sorted(folder.glob("*.ipynb"))
