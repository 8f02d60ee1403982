"""A student's process, seen from the grader: it is asked one step at a time, watched from outside,
and ended.

While a step runs, the grader watches CPU time, wall time and the size of the folder. Nothing that
the process says is believed about itself: times are taken here, and an answer is a value or it is
not.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minigrad.cli.folders import size

from . import fork_server, protocol, sandbox
from .exercise import Case, Exercise

if TYPE_CHECKING:
    from .process_server import Server

WALL = 3.0
"""Where it is not known how long a process waited for a processor, that is taken to be up to twice
its CPU time: a busy machine is not unfair.
"""
STEP_WAITS_S = 15.0
"""Seconds on the clock without computing (asleep, or for an event that does not come) of one step.
"""
JUNK_BYTES = 2 * protocol.LINE_BYTES
"""What a submission may write to the grader's own pipe."""
FOLDER_BYTES, FOLDER_FILES, FOLDER_DEPTH = 64 << 20, 10_000, 100
FLAGS = 20
TICK_S = 0.1


class StepFailed(Exception):
    """A step that did not come back. kind: out of exercise.FAILURES; text: a sentence for the
    student.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind, self.text = kind, text


class PictureNeeded(Exception):
    """Code computes with what a stub of Matplotlib gave it, where the real one is installed."""


def _memory(pid: int, what: str) -> int:
    """Bytes of a process's memory (proc(5), status); VmHWM is the most that it had. 0: unknown."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        return 1024 * int(status.partition(f"{what}:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        return 0


class Child:
    """A student's process, between its first request and its end.

    pictures: whether code may compute with what a stub of Matplotlib gives it. Else PictureNeeded
    is raised as soon as it does.
    """

    unsent, unread, used, junk = b"", b"", 0.0, 0
    withheld, received = False, 0
    waited, may_wait, queued = 0.0, STEP_WAITS_S, 0.0

    def __init__(self, server: Server, folder: Path, pictures: bool = True) -> None:
        self.server, self.folder, self.pictures = server, folder, pictures
        request_read, self.requests = os.pipe()
        self.answers, answer_write = os.pipe()
        try:
            said = self.server.command([request_read, answer_write], do="fork")
        finally:
            os.close(request_read)
            os.close(answer_write)
        os.set_blocking(self.requests, False)
        os.set_blocking(self.answers, False)
        self.flags: list[str] = []
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
        Raises StepFailed.
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
        last answer. Raises StepFailed.
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
                if not self.pictures:
                    raise PictureNeeded
                continue
            if isinstance(answer, dict) and "flag" in answer and len(self.flags) < FLAGS:
                self.flags.append(protocol.one_line(answer["flag"]))
                continue
            self.junk += 1000 + len(line)  # a line from elsewhere: no answer to what was asked
            if self.junk > JUNK_BYTES:
                raise StepFailed(
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
                        raise StepFailed(
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
            raise StepFailed(
                "time", "It took too long, so it was stopped. Is there a loop that nothing ends?"
            )
        if self._waits(cpu, since) > min(self.may_wait, WALL * limit_s):
            raise StepFailed(
                "time",
                "It took too long without computing anything, so it was stopped. Does it wait for"
                " something?",
            )
        found = size(self.folder, FOLDER_FILES, FOLDER_DEPTH)
        if found.bytes > FOLDER_BYTES:
            raise StepFailed("memory", f"It wrote more than {FOLDER_BYTES >> 20} MB of files.")
        if found.files > FOLDER_FILES:
            raise StepFailed("memory", f"It made more than {FOLDER_FILES:,} files.")
        if found.depth > FOLDER_DEPTH:
            raise StepFailed("memory", f"It made folders more than {FOLDER_DEPTH} deep.")

    def _ended(self) -> StepFailed:
        said = self.server.command(do="end", patience=1.0)
        status = said["status"]
        if said.get("ended"):
            return StepFailed(
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
        return StepFailed("died", f"It did not come back: {how}.")

    def close(self) -> None:
        """Ends the process and everything that it left."""
        for pipe in (self.requests, self.answers):
            os.close(pipe)
        self.server.command(do="end", patience=0)
