"""The grader's hand on a student's process: starts it, asks it, keeps the time from outside, ends
it.

One submission is run so that a bad cell or a bad call costs only itself. Every step (a cell, a
call) is one request and one answer. While a step runs, the grader watches CPU time, wall time and
the size of the folder. A step that does not come back is left out: the process is ended, a new one
runs the other cells again, and goes on with the next call. Nothing that the process says is
believed about itself: times are taken here, and an answer is a value or it is not.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import secrets
import select
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.cli.folders import remove, size

from . import fork_server, packages, protocol, sandbox
from .demonstrations import to_leave_out
from .exercise import FAILURES, Case, Exercise, Returned

CELL_S = 10.0
"""CPU seconds of one cell; a call has its exercise's `limit_s`."""
WALL = 3.0
"""Where it is not known how long a process waited for a processor, that is taken to be up to twice
its CPU time: a busy machine is not unfair.
"""
STEP_WAITS_S, CELLS_WAIT_S, SUBMISSION_WAITS_S = 15.0, 45.0, 60.0
"""Seconds on the clock without computing (asleep, or for an event that does not come): of one step,
of all cells, and of a whole submission, however often its process is started. Others wait
meanwhile.
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
JUNK_BYTES = 2 * protocol.LINE_BYTES
"""What a submission may write to the grader's own pipe."""
FOLDER_BYTES, FOLDER_FILES, FOLDER_DEPTH = 64 << 20, 10_000, 100
PRINTED = 20_000
FLAGS = 20
TICK_S = 0.1


class Stopped(Exception):
    """A step that did not come back. kind: out of exercise.FAILURES; text: a sentence for the
    student.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind, self.text = kind, text


# ------------------------------------------------------------------------------------------ servers

KNOWN_SENDERS = hasattr(socket, "SO_PASSCRED")
CREDENTIALS = socket.CMSG_SPACE(12) if KNOWN_SENDERS else 0
"""Room for the numbers of process, user and group, which Linux adds to a message."""
BOOT = "import sys; sys.path.append({library!r}); from untrusted.fork_server import main; main()"


def python_paths(library: Path) -> list[str]:
    """What a student's process may read: the standard library without what is installed beside
    it, NumPy, and our library.
    """
    paths = sysconfig.get_paths()
    wanted: list[str] = [str(library)]
    for folder in {paths["stdlib"], paths["platstdlib"]}:
        wanted += [
            entry.path
            for entry in os.scandir(folder)
            if entry.name not in ("site-packages", "dist-packages", "test")
        ]
    numpy = Path(np.__file__).resolve().parent
    wanted += [str(numpy), str(numpy.parent / "numpy.libs")]
    wanted += [
        *glob.glob("/lib/*-linux-gnu"),
        *glob.glob("/usr/lib/*-linux-gnu"),
        "/lib64",
        "/usr/lib64",
        "/usr/share/zoneinfo",
        "/etc/localtime",
    ]
    return sorted(
        {os.path.realpath(path) for path in [*wanted, "/dev/urandom"] if os.path.exists(path)}
    )


def bubblewrap(library: Path, folder: Path, more: Sequence[str] = ()) -> list[str]:
    """The command that runs another one with a file tree, process numbers and a network of its
    own. more: further paths that it may read.
    """
    program = shutil.which("bwrap")
    if program is None:
        return []
    # Where Linux keeps its programs and libraries: in a tree of its own the process would not even
    # find the loader of Python. No path of a user is among them, and /tmp is a new, empty one.
    paths = [
        "/usr",
        "/lib",
        "/lib64",
        "/etc/ld.so.cache",
        sys.base_prefix,
        os.path.realpath(sys.executable),
        *python_paths(library),
        *more,
    ]
    binds = [part for path in paths if os.path.exists(path) for part in ("--ro-bind", path, path)]
    own = ["--unshare-all", "--new-session", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    return [program, *own, *binds, "--bind", str(folder), str(folder), "--chdir", str(folder)]


class Server:
    """A forking server (fork_server.py), and the folder in which its children work one by one.

    there: packages beyond NumPy and minigrad that its children may import.
    """

    def __init__(
        self, library: Path, wrap: bool, work: Path | None = None, there: tuple[str, ...] = ()
    ) -> None:
        if not hasattr(os, "fork"):
            raise sandbox.SandboxError(
                "submissions can be run on Linux and macOS only; on Windows, use WSL or a virtual"
                " machine"
            )
        self.library, self.wrapped = library, wrap
        self.learnt: set[str] = set()
        self.base = Path(
            os.path.realpath(tempfile.mkdtemp(prefix="minigrad-submission-", dir=work))
        )
        self.there = there
        self.packages = packages.folder_of(there, work) if there else None
        self.readable = python_paths(library)
        if self.packages:
            linked = [os.path.realpath(entry) for entry in self.packages.iterdir()]
            self.readable += [str(self.packages.resolve()), *linked]
        self.control, theirs = socket.socketpair()
        command = bubblewrap(library, self.base, self.readable) if wrap else []
        command += [
            os.path.realpath(sys.executable),
            "-I",
            "-S",
            "-c",
            BOOT.format(library=str(library)),
        ]
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
        environment = {
            "LANG": "C.UTF-8",
            "PATH": "/usr/bin:/bin",
            "USER": "student",
            "LOGNAME": "student",
            "MPLBACKEND": "agg",
            **threads,
            "VECLIB_MAXIMUM_THREADS": "1",
        }
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=self.base,
            start_new_session=True,
        )
        theirs.close()
        _servers.add(self)
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        self.control.settimeout(60)
        if KNOWN_SENDERS:
            self.control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.sender = 0  # of the last answer: the process's number on this side; 0 if unknown
        if not self._answer().get("ready"):
            complaint = self.process.communicate()[1].decode(errors="replace")[-2000:]
            raise sandbox.SandboxError(
                "the process for submissions does not start:"
                f" {complaint.strip() or 'it says nothing'}"
            )
        self.number = self.sender or self.process.pid
        self.command(
            do="prepare",
            folder=str(self.base),
            read=self.readable,
            memory=sandbox.MEMORY_BYTES,
            packages=str(self.packages),
            there=list(self.there),
        )

    def command(self, pipes: Sequence[int] = (), **message: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer. Raises SandboxError where the server is
        gone.
        """
        try:
            socket.send_fds(self.control, [json.dumps(message).encode() + b"\n"], list(pipes))
            answer = self._answer()
        except OSError as error:
            raise sandbox.SandboxError(
                f"the process for submissions does not answer: {error}"
            ) from error
        if not answer:
            raise sandbox.SandboxError("the process for submissions is gone")
        return answer

    def _answer(self) -> dict[str, Any]:
        data = b""
        self.sender = 0
        while not data.endswith(b"\n"):
            more, extra, _, _ = self.control.recvmsg(65536, CREDENTIALS)
            if not more:
                return {}
            data += more
            for level, kind, about in extra:
                if KNOWN_SENDERS and (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                    self.sender = int.from_bytes(about[:4], sys.byteorder)
        return dict(json.loads(data))

    def child(self, folder: Path) -> Child:
        """A fresh process for a submission, which may write the folder that `fresh_folder` gave."""
        return Child(self, folder)

    def learn(self, key: str, source: str) -> None:
        """Tells of an instructor's drive, so that it is compiled once and not for each
        submission."""
        if key not in self.learnt:
            self.learnt.add(key)
            self.command(do="learn", key=key, source=source)

    def fresh_folder(self) -> Path:
        """The folder in which the next child works, empty."""
        self.clear()
        return self.base

    def clear(self) -> None:
        """Removes what a child has left. Raises SandboxError where something stays that the
        next one would find.
        """
        with contextlib.suppress(OSError):
            os.chmod(self.base, 0o700)
        for entry in os.scandir(self.base):
            if entry.is_dir(follow_symlinks=False):
                remove(entry.path)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
        if left := os.listdir(self.base):
            raise sandbox.SandboxError(
                f"{self.base / left[0]}, which a submission has left, cannot be removed"
            )

    def close(self) -> None:
        """Ends the server, and with it every process and file of its submissions."""
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)
        self.control.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()
        remove(self.base)


_servers: weakref.WeakSet[Server] = weakref.WeakSet()


def abandon_all() -> None:
    """Ends the servers of this process with the submissions that they run: a call that waits for
    one raises SandboxError.
    """
    for server in list(_servers):
        with contextlib.suppress(OSError):
            server.control.shutdown(socket.SHUT_RDWR)


def disown_all() -> None:
    """In a forked process: closes its ends of the servers of the process that it was forked from,
    so that they end when that one ends."""
    for server in list(_servers):
        server.control.close()
    _servers.clear()


def _memory(pid: int, what: str) -> int:
    """Bytes of a process's memory (proc(5), status); VmHWM is the most that it had. 0: unknown."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        return 1024 * int(status.partition(f"{what}:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        return 0


class Child:
    """A student's process, between its first request and its end."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder = server, folder
        request_read, self.requests = os.pipe()
        self.answers, answer_write = os.pipe()
        try:
            said = self.server.command([request_read, answer_write], do="fork")
        finally:
            os.close(request_read)
            os.close(answer_write)
        os.set_blocking(self.requests, False)
        os.set_blocking(self.answers, False)
        self.unsent, self.unread, self.used, self.junk = b"", b"", 0.0, 0
        self.withheld = self.picture = False
        self.received = 0
        self.waited, self.may_wait, self.queued = 0.0, STEP_WAITS_S, 0.0
        self.pid = self.server.sender or (0 if server.wrapped else int(said.get("pid", 0)))
        self.poll = select.poll()
        self.poll.register(self.answers, select.POLLIN)
        if "error" in said:
            self.close()
            raise sandbox.SandboxError(
                f"a process for a submission could not lock itself in: {said['error']}"
            )
        self.level = sandbox.level_of(said["obtained"], server.wrapped)
        # Pages of files, such as NumPy's own code, come into the process when it first needs them.
        self.begun_with = _memory(self.pid, "RssAnon") + _memory(server.number, "RssFile")

    def ask(self, limit_s: float, **request: Any) -> tuple[dict[str, Any], float, float]:
        """Sends a request; returns its answer, and the CPU and the wall seconds that it took.
        Raises Stopped.
        """
        return self.receive(self.send(request), limit_s)

    def send(self, request: dict[str, Any]) -> str:
        """Puts a request on its way; returns the number by which its answer is known."""
        number = secrets.token_hex(8)  # later answers cannot be written in advance
        self.unsent += protocol.dumps({"id": number, **request})
        return number

    def send_calls(self, exercise: Exercise, cases: Sequence[Case], drive: str) -> list[str]:
        """Puts calls on their way, all in one request; returns the numbers by which their
        answers are known.
        """
        secret = secrets.token_hex(8)
        numbers = [f"{secret}-{i}" for i in range(len(cases))]
        about = protocol.text(
            {
                "do": "calls",
                "drive": drive,
                "answers": list(exercise.answers),
                "is_value": exercise.is_value,
            }
        )
        calls = ",".join(map(exercise.request, cases, numbers))
        self.unsent += f'{about[:-1]},"calls":[{calls}]}}\n'.encode("ascii")
        return numbers

    def receive(self, number: str, limit_s: float) -> tuple[dict[str, Any], float, float]:
        """The answer to the request that is next in turn, and the CPU and wall seconds since the
        last answer. Raises Stopped.
        """
        cpu, wall = self.used, time.monotonic()
        try:
            return self._received(number, cpu, limit_s, wall)
        finally:
            if time.monotonic() - wall > TICK_S:
                self.waited += self._waits(cpu, wall)
                self.queued = self._queued() or self.queued

    def _received(
        self, number: str, cpu: float, limit_s: float, wall: float
    ) -> tuple[dict[str, Any], float, float]:
        while True:
            waited = b"\n" not in self.unread
            line = self._line(cpu, limit_s, wall)
            try:
                answer = protocol.loads(line)
            except protocol.ProtocolError:
                answer = None
            if isinstance(answer, dict) and answer.get("id") == number:
                self.received += len(line)
                return answer, (self._cpu() - cpu if waited else 0.0), time.monotonic() - wall
            if answer == {"withheld": True}:
                self.withheld = True
                continue
            if answer == {"picture": True}:
                self.picture = True
                continue
            self.junk += 1000 + len(line)  # a line from elsewhere: no answer to what was asked
            if self.junk > JUNK_BYTES:
                raise Stopped(
                    "died",
                    "Something in the notebook wrote to the grader's own pipe, so it was stopped.",
                )

    def _cpu(self) -> float:
        """What the process has used so far, all its threads together."""
        if not self.pid or not sys.platform.startswith("linux"):
            self.used = float(self.server.command(do="cpu")["cpu"])
        else:
            with contextlib.suppress(OSError):  # it may have ended
                self.used = time.clock_gettime(fork_server.clock_of(self.pid))
        return self.used

    def _queued(self) -> float | None:
        """Seconds for which the process could have run and others did, in all its life (proc(5),
        schedstat); None where unknown."""
        try:
            return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return None

    def _waits(self, cpu: float, since: float) -> float:
        """Seconds since a moment for which the process neither computed nor could have."""
        took, computed, queued = time.monotonic() - since, self._cpu() - cpu, self._queued()
        if queued is None:
            return max(took - WALL * computed, 0.0)
        return max(took - computed - (queued - self.queued), 0.0)

    def forget_peak(self) -> None:
        """From now on, `peak` tells of what comes: Linux forgets the most that there was."""
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def peak(self) -> int:
        """The most bytes of memory since `forget_peak`, beyond what the process had when it began;
        0 where unknown. Memory that was taken before and not given back counts too.
        """
        found = _memory(self.pid, "VmHWM")
        return max(found - self.begun_with, 1) if found and self.begun_with else 0

    def _line(self, cpu: float, limit_s: float, since: float) -> bytes:
        """Writes what is unsent, and waits for a line. That the student's process may not read, may
        not write or may not end its line is all the same: its time runs out.

        cpu, since: its CPU clock and the monotonic clock when the step began.
        """
        if b"\n" not in self.unread:
            self._wait(cpu, limit_s, since)
        line, _, self.unread = self.unread.partition(b"\n")
        return line

    def _wait(self, cpu: float, limit_s: float, since: float) -> None:
        next_look = time.monotonic() + TICK_S
        if self.unsent:
            self.poll.register(self.requests, select.POLLOUT)
        read = 0
        while b"\n" not in self.unread:
            for pipe, _ in self.poll.poll(1000 * TICK_S):
                if pipe == self.answers:
                    more = os.read(pipe, 1 << 20)
                    if not more:
                        raise self._ended()
                    read += len(more)
                    self.unread += more
                    if read > protocol.LINE_BYTES:
                        raise Stopped(
                            "memory",
                            f"What was returned is longer than {protocol.LINE_BYTES:,} bytes.",
                        )
                else:
                    try:
                        self.unsent = self.unsent[os.write(pipe, self.unsent) :]
                    except BrokenPipeError:
                        raise self._ended() from None
                    if not self.unsent:
                        self.poll.unregister(pipe)
            if time.monotonic() > next_look:
                self._watch(cpu, limit_s, since)
                next_look = time.monotonic() + TICK_S

    def _watch(self, cpu: float, limit_s: float, since: float) -> None:
        if self._cpu() > cpu + limit_s:
            raise Stopped(
                "time", "It took too long, so it was stopped. Is there a loop that nothing ends?"
            )
        if self._waits(cpu, since) > min(self.may_wait, WALL * limit_s):
            raise Stopped(
                "time",
                "It took too long without computing anything, so it was stopped. Does it wait for"
                " something?",
            )
        found = size(self.folder, FOLDER_FILES, FOLDER_DEPTH)
        if found.bytes > FOLDER_BYTES:
            raise Stopped("memory", f"It wrote more than {FOLDER_BYTES >> 20} MB of files.")
        if found.files > FOLDER_FILES:
            raise Stopped("memory", f"It made more than {FOLDER_FILES:,} files.")
        if found.depth > FOLDER_DEPTH:
            raise Stopped("memory", f"It made folders more than {FOLDER_DEPTH} deep.")

    def _ended(self) -> Stopped:
        said = self.server.command(do="end", patience=1.0)
        status = said["status"]
        if said.get("ended"):
            return Stopped(
                "died", "It did not come back: the notebook closed its connection to the grader."
            )
        how = {
            0: "the process ended by itself",
            -9: "the system ended it; it may have used too much memory",
            -11: "it crashed (segmentation fault); that happens in a recursion that nothing ends",
            -6: "it crashed (abort)",
            -24: "it used too much computing time",
            -25: "it wrote too large a file",
            None: "the process ended by itself",
        }.get(status, f"the process ended with status {status}")
        return Stopped("died", f"It did not come back: {how}.")

    def close(self) -> None:
        """Ends the process and everything that it left."""
        for pipe in (self.requests, self.answers):
            os.close(pipe)
        self.server.command(do="end", patience=0)


# ------------------------------------------------------------------------------------- a submission


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
class Outcome:
    """What came of it.

    returned: for each exercise's name what came back for each of its cases; cells: what went wrong,
    by cell; level: the worst level of isolation that any of its processes had; cpu_s: seconds of
    all its processes together; withheld: whether something was called that had been taken out of
    the library; picture: whether code computed with what a stub of a display package gave; not_run:
    cells that were left out because they only show something, if that has been decided; waited,
    waited_on_cells: seconds without computing, in all and of the cells; asleep: cells that were
    stopped because they waited.
    """

    returned: dict[str, list[Returned]] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    printed: str = ""
    level: str = ""
    stops: int = 0
    cpu_s: float = 0.0
    withheld: bool = False
    picture: bool = False
    not_run: list[str] | None = None
    waited: float = 0.0
    waited_on_cells: float = 0.0
    asleep: set[str] = field(default_factory=set)


class Run:
    """One submission in the processes of one server, from its first cell to its last call."""

    def __init__(self, server: Server, work: Work, outcome: Outcome, least: str) -> None:
        self.server, self.work, self.outcome, self.least = server, work, outcome, least
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
        isolation is worse than asked for.
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
                child = self.server.child(folder)
                self._check_level(child)
                self._cells(child) and self._calls(child)
            finally:
                if child is not None:
                    self.outcome.cpu_s += child.used
                    self.outcome.withheld |= child.withheld
                    self.outcome.picture |= child.picture
                    child.close()
                self.server.clear()
        over = (
            f"It was not run any more: {self.stops} steps had to be stopped before it."
            if self.stops > STOPS
            else ""
        )
        over = over or f"It was not run any more: {self._over() or 'it took too long'}."
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
        before, child.may_wait = child.waited, min(max(left, 1.0), STEP_WAITS_S)
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
                    "It was not run: the cells before it took all the time that there is for cells."
                )
                continue
            waited = self.outcome.waited
            try:
                with self._waiting(child, may_wait):
                    answer, cpu, _ = child.ask(CELL_S, do="cell", name=name, source=source)
            except Stopped as stopped:
                self.left_out.add(name)
                if self.outcome.waited - waited >= child.may_wait:
                    self.outcome.asleep.add(name)
                self.outcome.cells[name] = stopped.text
                self.stops += 1
                return False
            finally:
                self.outcome.waited_on_cells += self.outcome.waited - waited
            self.spent_on_cells += cpu
            self._keep(answer)
            if error := protocol.one_line(answer.get("error")):
                self.outcome.cells[name] = error
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
            except Stopped:
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
                except Stopped as stopped:
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
            with contextlib.suppress(Stopped):  # then its first call does not come back either
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
                what = "It was not run: an earlier case of the same kind did not come back."
                self.results[exercise.name, item[1]] = Returned(error=what, kind="time")
            else:
                later.append(item)
        self.todo = deque([*stays, *later])

    def _keep(self, answer: dict[str, Any]) -> None:
        flags, printed = answer.get("flags"), answer.get("printed")
        for flag in flags[:FLAGS] if isinstance(flags, list) else []:
            text = protocol.one_line(flag)
            if text and text not in self.outcome.flags and len(self.outcome.flags) < FLAGS:
                self.outcome.flags.append(text)
        if isinstance(printed, str) and printed:
            self.outcome.printed += protocol.clean(printed[: PRINTED - len(self.outcome.printed)])


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
    room = FOLDER_BYTES // 2
    for name, path in files.items():
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink() and (size := path.stat().st_size) < room:
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                room -= size


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
