"""What the grader would see of a notebook, for the student, before it is handed in.

The notebook's code runs in a Python of its own, started in an empty folder with the same packages,
stubs and rules for cells as in grading, so what would be missing there is missing here, and with it
what an exercise forbids. Then each exercise is asked for its practice cases. As soon as code
computes with what a picture gives, all is run again with the real Matplotlib. It locks nothing in,
because the code is the student's own, and it needs nothing that only Unix has.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from minigrad.cli.folders import remove

from . import packages, protocol, stripped_library, submissions
from .checking import judge_here
from .exercise import FAILURES, Case, Exercise, Returned
from .process_server import python_paths
from .sheet_cells import asked_in
from .sheet_modules import given_by, module_for
from .student_process import WALL, PictureNeeded
from .submitted_notebooks import cells_of, load, source_of
from .supervisor import (
    CELL_S,
    STOPS,
    SubmissionResult,
    Work,
    forbidden,
    iter_groups,
    key_of,
    why_missing,
)

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
        open_ = sum("not written yet" in line for _, line in self.lines)
        unwritten = f"{open_} not written yet; " if open_ else ""
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
    """What processes give whose library is without some names. As in grading, what does not come
    back costs itself: a cell is left out, and a new process goes on with the next exercise.
    """
    outcome, library = SubmissionResult(), stripped_library.library(names, base)
    todo, left_out = list(work.exercises), set[str]()
    for _ in range(STOPS + 1):
        folder = Path(tempfile.mkdtemp(prefix="work-", dir=base))
        for name, file in work.given.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(file.read_bytes())
        with _Process(library, folder, there, base, pictures) as process:
            _run_cells(process, work, left_out, outcome)
            while todo and not process.gone:
                exercise, cases = todo.pop(0)
                outcome.returned[exercise.name] = _run_calls(
                    process, exercise, cases, work, outcome
                )
            outcome.withheld |= process.withheld
        if not todo:
            break
    for exercise, cases in todo:
        over = Returned(error=f"It was not run: {STOPS} steps were stopped before it.", kind="time")
        outcome.returned[exercise.name] = [over] * len(cases)
    return outcome


def _run_cells(
    process: _Process, work: Work, left_out: set[str], outcome: SubmissionResult
) -> None:
    """Runs the cells; one that does not come back is left out from then on."""
    for name, source in work.cells:
        if name in left_out:
            continue
        answer = process.ask(WALL * CELL_S, do="cell", name=name, source=source)
        if error := protocol.one_line(answer.get("error")):
            outcome.cells[name] = error
        if process.gone:
            left_out.add(name)
            return


def _run_calls(
    process: _Process, exercise: Exercise, cases: list[Case], work: Work, outcome: SubmissionResult
) -> list[Returned]:
    """What the calls of an exercise give; after one that does not come back no other is made."""
    drive, found = "", list[Returned]()
    if code := exercise.drive_code():
        drive = key_of(code)
        process.ask(WALL * CELL_S, do="drive", key=drive, source=code[0], function=code[1])
    for case in cases:
        answer = process.call(exercise, case, drive)
        found.append(_returned(answer, exercise.called(case), work, outcome))
        if process.gone:
            return found + [found[-1]] * (len(cases) - len(found))
    return found


class _Process:
    """The Python in which the notebook runs."""

    def __init__(
        self, library: Path, folder: Path, there: tuple[str, ...], base: Path, pictures: bool
    ) -> None:
        linked = packages.folder_of(there, base) if there else None
        boot = BOOT.format(
            library=str(library), more=[str(linked)] if linked else [], folder=str(folder),
            readable=python_paths(library), there=list(there),
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
        self.number, self.pictures = 0, pictures
        self.withheld = self.gone = False

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was still to be written is not needed
                    pipe.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        try:
            for line in self.process.stdout:
                self.lines.put(line)
        except ValueError:  # it was closed
            pass
        self.lines.put(b"")

    def ask(self, seconds: float, **request: Any) -> dict[str, Any]:
        """The answer to a request; {"error", "kind"} where the process ended or took too long."""
        self.number += 1
        number = str(self.number)
        self._send({"id": number, **request})
        return self._answer(number, seconds)

    def call(self, exercise: Exercise, case: Case, drive: str) -> dict[str, Any]:
        """The answer to one call."""
        self.number += 1
        number = f"{self.number}"
        self._send(
            {
                "do": "calls",
                "drive": drive,
                "answers": list(exercise.answers),
                "is_value": exercise.is_value,
                "calls": [json.loads(exercise.request(case, number))],
            }
        )
        return self._answer(number, WALL * exercise.limit_s)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(protocol.dumps(message))
            self.process.stdin.flush()
        except OSError:
            self.lines.put(b"")

    def _answer(self, number: str, seconds: float) -> dict[str, Any]:
        while True:
            try:
                line = self.lines.get(timeout=seconds)
            except queue.Empty:
                self.process.kill()
                self.gone = True
                return {"error": "It took too long, so it was stopped.", "kind": "time"}
            if not line:
                self.lines.put(b"")
                self.gone = True
                return {"error": "The process ended by itself.", "kind": "died"}
            try:
                answer = protocol.loads(line)
            except protocol.ProtocolError:
                continue
            if isinstance(answer, dict) and answer.get("id") == number:
                return answer
            self.withheld |= answer == {"withheld": True}
            if answer == {"picture": True} and not self.pictures:
                raise PictureNeeded


def _beside(error: str, path: Path) -> str:
    """A hint where what is missing lies beside the notebook."""
    for file in submissions.ordinary_files(path.parent):
        name = file.relative_to(path.parent).as_posix()
        if f"'{name}'" in error or (file.suffix == ".py" and f"{file.stem} is not there" in error):
            return f" Hand in {name} together with the notebook, in one zip."
    return ""


def _tell_of(exercise: Exercise, cases: list[Case], returned: list[Returned], found: Found) -> None:
    name = exercise.name
    failed = [back for back in returned if back.kind]
    if failed and all(back.kind in ("missing", "unfinished") for back in failed):
        found.tell("·", f"{name}: not written yet. {failed[0].error}")
    elif failed:
        found.tell("✗", f"{name}: {failed[0].error}")
    elif exercise.verify is None:
        found.tell("✓", f"{name}: it runs; whether it is right is found out when it is graded.")
    else:
        judged = judge_here(exercise, cases, returned)
        mark = "✓" if judged.full else "·"
        found.tell(mark, f"{name}: {judged.points:g} of {judged.max:g} points on practice cases.")


def _returned(answer: dict[str, Any], name: str, work: Work, outcome: SubmissionResult) -> Returned:
    if "value" in answer:
        try:
            return Returned(protocol.decode(answer["value"]))
        except protocol.ProtocolError as problem:
            return Returned(error=f"What came back {problem}.", kind="type")
    kind = answer.get("kind")
    error = protocol.one_line(answer.get("error")) or "It gave no value."
    failed, said = outcome.cells, f"name '{name}' is not defined"
    if kind == "missing":
        kind, error = why_missing(name, error, work.cells, failed)
        if any(
            name in source and said not in failed.get(cell, said) for cell, source in work.cells
        ):
            kind = "raised"  # a cell that failed for another reason may be the one to define it
    return Returned(error=error, kind=kind if kind in FAILURES else "raised")


def notebooks_here(folder: Path) -> Iterator[Path]:
    """The notebooks that a check in a notebook may mean: the one that Jupyter names, or all of the
    folder.
    """
    named = os.environ.get("JPY_SESSION_NAME", "")
    if named.endswith(".ipynb") and (folder / Path(named).name).is_file():
        yield folder / Path(named).name
    else:
        yield from sorted(folder.glob("*.ipynb"))
