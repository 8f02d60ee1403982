"""One submission is run, so that a bad cell or a bad call costs only itself.

Every step (a cell, a call) is one request to a process (student_process.py) and one answer. A step
that does not come back is left out: the process is ended, a new one (process_server.py) runs the
other cells again, and goes on with the next call.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from . import protocol, sandbox, student_process
from .demonstrations import to_leave_out
from .exercise import FAILURES, NOT_RUN, UNFINISHED, Case, Exercise, Returned
from .process_server import Server
from .student_process import Child, StepFailed

CELL_S = 10.0
"""CPU seconds of one cell; a call has its exercise's `limit_s`."""
CELLS_WAIT_S, SUBMISSION_WAITS_S = 45.0, 60.0
"""Seconds on the clock without computing, of all cells and of a whole submission, however often its
process is started. Others wait meanwhile.
"""
SUBMISSION_S = 60.0
"""CPU seconds of a submission for all calls that come back, and as much for its cells, each time
that they are run; what has to be stopped is bounded by its number.
"""
ALL_CELLS_S = 3 * SUBMISSION_S
"""CPU seconds of all cells of a submission, however often they are run."""
STOPS = 10
"""So many steps may have to be stopped before the submission is over."""
TOGETHER = 64
"""So many calls of an exercise are sent at once."""
ANSWER_BYTES = 4 * protocol.LINE_BYTES
"""What all calls of a submission may return together: all of it is kept in the journal."""
PRINTED = 20_000


@dataclass
class Work:
    """What is to be asked of a submission. cells: (name such as "cell 3", source); exercises: with
    their cases; beside: files of the student that lie beside the notebook, by their names from
    there; shown: sources of cells that need not be run if no other cell can tell
    (demonstrations.py); given: the instructor's files, which replace the student's of that name.
    """

    cells: list[tuple[str, str]]
    exercises: list[tuple[Exercise, list[Case]]]
    beside: Mapping[str, Path] = field(default_factory=dict)
    shown: frozenset[str] = frozenset()
    given: Mapping[str, Path] = field(default_factory=dict)


@dataclass
class SubmissionResult:
    """What came of it.

    returned: for each exercise's name what came back for each of its cases; cells: what went wrong,
    by cell; unfinished: cells that did not run to their end for another reason than an exception of
    the program, with its kind: "syntax", "not run", or one of UNFINISHED; level: the worst level of
    isolation that any of its processes had; cpu_s: seconds of all its processes together; withheld:
    whether something was called that had been taken out of the library; not_run: cells that were
    left out because they only show something, if that has been decided; waited, waited_on_cells:
    seconds without computing, in all and of the cells; asleep: cells that were stopped because they
    waited.
    """

    returned: dict[str, list[Returned]] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    unfinished: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    printed: str = ""
    level: str = ""
    stops: int = 0
    cpu_s: float = 0.0
    withheld: bool = False
    not_run: list[str] | None = None
    waited: float = 0.0
    waited_on_cells: float = 0.0
    asleep: set[str] = field(default_factory=set)


class SubmissionRun:
    """One submission in the processes of one server, from its first cell to its last call.

    pictures: whether code may compute with what a stub of Matplotlib gives it.
    """

    def __init__(
        self,
        server: Server,
        work: Work,
        outcome: SubmissionResult,
        least: str,
        pictures: bool = True,
    ) -> None:
        self.server, self.work, self.outcome, self.least = server, work, outcome, least
        self.pictures = pictures
        self.left_out = set(outcome.asleep)
        self.todo = deque(
            (exercise, number, case)
            for exercise, cases in work.exercises
            for number, case in enumerate(cases)
        )
        self.results: dict[tuple[str, int], Returned] = {}
        self.strikes: dict[str, int] = {}
        self.stops = 0
        self.spent = self.spent_on_cells = 0.0
        self.received = 0
        self.asked_again: set[str] = set()

    def run(self) -> None:
        """Runs everything; what came back is in the outcome. Raises SandboxError where
        isolation is worse than asked for, and PictureNeeded.
        """
        for exercise, _ in self.work.exercises:
            if code := exercise.drive_code():
                self.server.learn(key_of(code), code[0])
        while self.todo and self.stops <= STOPS and not self._over():
            child = None
            folder = self.server.fresh_folder()
            try:
                _copy(self.work.beside, folder)
                _copy(self.work.given, folder)
                child = self.server.child(folder, self.pictures)
                self._check_level(child)
                self._cells(child) and self._calls(child)
            finally:
                if child is not None:
                    self.outcome.cpu_s += child.used
                    self.outcome.withheld |= child.withheld
                    self._keep_flags(child.flags)
                    child.close()
                self.server.clear()
        over = (
            f"{NOT_RUN} any more: {self.stops} steps had to be stopped before it."
            if self.stops > STOPS
            else ""
        )
        over = over or f"{NOT_RUN} any more: {self._over() or 'it took too long'}."
        for exercise, number, _ in self.todo:
            self.results[exercise.name, number] = Returned(error=over, kind="time")
        for exercise, cases in self.work.exercises:
            self.outcome.returned[exercise.name] = [
                self.results[exercise.name, number] for number in range(len(cases))
            ]
        self.outcome.stops += self.stops

    def _over(self) -> str:
        """Which allowance of the whole submission is used up, as a part of a sentence; "" if none
        is.
        """
        if self.spent >= SUBMISSION_S:
            return f"all calls together have {SUBMISSION_S:g} seconds of computing"
        if self.outcome.waited >= SUBMISSION_WAITS_S:
            return f"the whole submission may wait for {SUBMISSION_WAITS_S:g} seconds"
        return ""

    @contextlib.contextmanager
    def _waiting(self, child: Child, left: float) -> Iterator[None]:
        """A step, of which it is told how long it may wait (a second at least, for the machine may
        be slow), and added up how long it did.
        """
        before, child.may_wait = child.waited, min(max(left, 1.0), student_process.STEP_WAITS_S)
        try:
            yield
        finally:
            self.outcome.waited += child.waited - before

    def _check_level(self, child: Child) -> None:
        levels = sandbox.LEVELS
        if levels.index(child.level) < levels.index(self.least):
            raise sandbox.SandboxError(
                f'the level of isolation is "{child.level}" here, and at least "{self.least}" is'
                " asked for"
            )
        self.outcome.level = min(self.outcome.level or child.level, child.level, key=levels.index)

    def _cells(self, child: Child) -> bool:
        """Runs the cells; False if one of them did not come back: it is left out the next time.

        Those for which no time is left are not run, and what the others define is asked for all the
        same.
        """
        self.drives: set[str] = set()
        before = self.spent_on_cells
        if self.outcome.not_run is None and not self._plan(child):
            return False
        for name, source in self.work.cells:
            if name in self.left_out or name in (self.outcome.not_run or ()):
                continue
            may_wait = CELLS_WAIT_S - self.outcome.waited_on_cells
            if (
                may_wait <= 0
                or self.spent_on_cells - before >= SUBMISSION_S
                or self.spent_on_cells >= ALL_CELLS_S
            ):
                self.outcome.cells[name] = (
                    f"{NOT_RUN}: the cells before it took all the time that there is for cells."
                )
                self.outcome.unfinished[name] = "not run"
                continue
            waited = self.outcome.waited
            try:
                with self._waiting(child, may_wait):
                    answer, cpu, _ = child.ask(CELL_S, do="cell", name=name, source=source)
            except StepFailed as stopped:
                self.left_out.add(name)
                if self.outcome.waited - waited >= child.may_wait:
                    self.outcome.asleep.add(name)
                self.outcome.cells[name] = stopped.text
                self.outcome.unfinished[name] = stopped.kind
                self.stops += 1
                return False
            finally:
                self.outcome.waited_on_cells += self.outcome.waited - waited
            self.spent_on_cells += cpu
            self._keep(answer)
            if error := protocol.one_line(answer.get("error")):
                self.outcome.cells[name] = error
                if answer.get("kind") in ("syntax", *UNFINISHED):
                    self.outcome.unfinished[name] = answer["kind"]
        return True

    def _plan(self, child: Child) -> bool:
        """Decides which cells are not run; False if the process ended over it. Nothing of the
        student's has run so far.
        """
        self.outcome.not_run = []
        if self.work.shown:
            try:
                self.outcome.not_run = to_leave_out(
                    self.work.cells,
                    self.work.shown,
                    lambda sources: child.ask(CELL_S, do="names", sources=sources)[0].get("cells"),
                )
            except StepFailed:
                # a text on which Python's own parser breaks: the cell will be left out when it is
                # its turn
                return False
        return True

    def _calls(self, child: Child) -> None:
        """Makes the calls that are still to be made, some at a time: the next ones wait in the
        pipe while one is being answered.
        """
        answered: set[str] = set()  # exercises that this process has given an answer for
        while self.todo and not self._over():
            exercise = self.todo[0][0]
            key = self._drive(child, exercise)
            together = 1 if exercise.measured else TOGETHER
            batch = [item for item in islice(self.todo, together) if item[0] is exercise]
            if exercise.measured:
                child.forget_peak()
            sent = child.send_calls(exercise, [case for _, _, case in batch], key)
            for (_, number, case), question in zip(batch, sent, strict=True):
                before = child.received
                try:
                    with self._waiting(child, SUBMISSION_WAITS_S - self.outcome.waited):
                        answer, cpu, wall = child.receive(question, exercise.limit_s)
                except StepFailed as stopped:
                    if (
                        stopped.kind == "died"
                        and answered - {exercise.name}
                        and exercise.name not in answered | self.asked_again
                    ):
                        self.asked_again.add(
                            exercise.name
                        )  # another exercise may have spoilt the process: ask a fresh one
                        return
                    self.results[exercise.name, number] = Returned(
                        error=stopped.text, kind=stopped.kind
                    )
                    self.todo.popleft()
                    self._postpone(exercise, case.group)
                    self.stops += 1
                    return
                answered.add(exercise.name)
                self.spent += cpu
                self.received += child.received - before
                self._keep(answer)
                back = self._returned(answer, exercise.called(case), cpu, wall)
                if exercise.measured and type(back.value) is dict:
                    back.value[exercise.measured] = child.peak() or None
                self.results[exercise.name, number] = back
                self.todo.popleft()

    def _drive(self, child: Child, exercise: Exercise) -> str:
        """The key by which the process knows the exercise's drive, which it is given once; ""
        where there is none.
        """
        code = exercise.drive_code()
        if code is None:
            return ""
        key = key_of(code)
        if key not in self.drives:
            self.drives.add(key)
            with contextlib.suppress(StepFailed):  # then its first call does not come back either
                child.ask(CELL_S, do="drive", key=key, source=code[0], function=code[1])
        return key

    def _returned(self, answer: dict[str, Any], name: str, cpu: float, wall: float) -> Returned:
        """What an answer amounts to. It was written by a process that the student may have taken
        over.
        """
        if "value" in answer and self.received > ANSWER_BYTES:
            return Returned(
                error=f"All that was returned is longer than {ANSWER_BYTES:,} bytes.",
                kind="memory",
                cpu_s=cpu,
                wall_s=wall,
            )
        if "value" in answer:
            try:
                return Returned(protocol.decode(answer["value"]), cpu_s=cpu, wall_s=wall)
            except protocol.ProtocolError as problem:
                return Returned(
                    error=f"What came back {problem}.", kind="type", cpu_s=cpu, wall_s=wall
                )
        kind = answer.get("kind")
        kind = kind if isinstance(kind, str) and kind in FAILURES else "raised"
        error = protocol.one_line(answer.get("error")) or "It gave no value."
        if kind == "missing":
            kind, error = why_missing(name, error, self.work.cells, self.outcome.cells)
        return Returned(error=error, kind=kind, cpu_s=cpu, wall_s=wall)

    def _postpone(self, exercise: Exercise, group: str) -> None:
        """After a call that did not come back: the rest of its group is not tried, and the
        exercise's other groups come last.
        """
        self.strikes[exercise.name] = self.strikes.get(exercise.name, 0) + 1
        over = self.strikes[exercise.name] > 1
        stays, later = [], []
        for item in self.todo:
            if item[0] is not exercise:
                stays.append(item)
            elif over or item[2].group == group:
                what = f"{NOT_RUN}: an earlier case of the same kind did not come back."
                self.results[exercise.name, item[1]] = Returned(error=what, kind="time")
            else:
                later.append(item)
        self.todo = deque([*stays, *later])

    def _keep(self, answer: dict[str, Any]) -> None:
        printed = answer.get("printed")
        if isinstance(printed, str) and printed:
            self.outcome.printed += protocol.clean(printed[: PRINTED - len(self.outcome.printed)])

    def _keep_flags(self, flags: list[str]) -> None:
        kept = dict.fromkeys([*self.outcome.flags, *filter(None, flags)])
        self.outcome.flags = list(kept)[: student_process.FLAGS]


def why_missing(
    name: str, error: str, cells: Sequence[tuple[str, str]], failed: Mapping[str, str]
) -> tuple[str, str]:
    """(kind, sentence) of a name that is not defined: one that is missing because the cell that
    should define it failed has been written all the same.

    cells: (name, source); failed: what went wrong, by cell.
    """
    defines = re.compile(
        rf"^(?:(?:def|class)\s+{re.escape(name)}\b|{re.escape(name)}\s*=)", re.MULTILINE
    )
    named = [(cell, source) for cell, source in cells if cell in failed and name in source]
    if not named:
        return "missing", error
    cell, source = min(named, key=lambda pair: not defines.search(pair[1]))
    kind = "raised" if defines.search(source) else "missing"
    return kind, f"{error} In {cell}: {failed[cell]}"


def key_of(code: tuple[str, str]) -> str:
    """The word by which a drive is known."""
    return hashlib.sha256("\0".join(code).encode()).hexdigest()[:12]


def _copy(files: Mapping[str, Path], folder: Path) -> None:
    """Files that a submission finds beside itself, as far as they are ordinary and small."""
    space = student_process.FOLDER_BYTES // 2
    for name, path in files.items():
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink() and (size := path.stat().st_size) < space:
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                space -= size


Questions = Sequence[tuple[Exercise, list[Case]]]


def forbidden(exercises: Questions) -> tuple[str, ...]:
    """All names that any of the exercises forbids."""
    return tuple(sorted({name for exercise, _ in exercises for name in exercise.forbid}))


def iter_groups(
    exercises: Questions,
) -> Iterator[tuple[tuple[str, ...], list[tuple[Exercise, list[Case]]]]]:
    """The exercises by what they forbid: each set of forbidden names needs a library of its own."""
    groups: dict[tuple[str, ...], list[tuple[Exercise, list[Case]]]] = {}
    for exercise, cases in exercises:
        groups.setdefault(forbidden([(exercise, cases)]), []).append((exercise, cases))
    yield from groups.items()
