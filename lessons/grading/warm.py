"""A server that has NumPy and minigrad loaded and forks a process for each hand-in, so that a hand-in costs milliseconds.

After reading this file you know why a warm start is as safe as a cold one. The server itself never runs a student's code. It forks first,
the child then locks itself in (confine.py), and only then does the first line of the student's run. The child has no way back: the
socket by which the grader commands the server is closed in it. A cold start is a server that is used once.

The server is run as `python -I -S -c ...` with a Unix socket as its standard input, and reads one command a line:

    {"do": "fork", "folder": ..., "read": [...]}  with two pipes  -> {"pid": 12}      a child that answers requests (worker.py)
    {"do": "cpu"}                                                 -> {"cpu": 0.02}    seconds of CPU that the child has used
    {"do": "end", "patience": 0.5}                                -> {"status": 0}    how it ended; it is killed if it does not by itself
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import inspect
import json
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import confine, worker

PRELOAD = (
    "numpy.ma minigrad minigrad.func minigrad.watch minigrad.trace minigrad.nn minigrad.optim asyncio dataclasses random traceback"
).split()
WARM_UP = "import minigrad as mg; x = mg.tensor([1.0, 2.0], requires_grad=True); (x * x).sin().sum().backward()"
"""What is slow the first time is done once, before anybody's process is forked."""
PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Serves until the grader closes its end of the socket, or is gone."""
    control = socket.socket(fileno=os.dup(0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)
    for module in PRELOAD:
        importlib.import_module(module)
    with contextlib.suppress(NotImplementedError):  # part of it may have been taken away
        exec(WARM_UP, {})
    inspect.getmodule(main.__code__)  # it keeps a list of where all modules come from
    if sys.platform.startswith("linux"):  # orphans of a child become ours, so that we can end them
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    gc.freeze()  # children share these pages for as long as nobody writes to them
    _send(control, {"ready": True})
    server = _Server(control)
    try:
        for command, pipes in _commands(control):
            _send(control, {"fork": server.fork, "cpu": server.cpu, "end": server.end}[command["do"]](command, pipes))
    finally:
        server.end({"patience": 0}, [])


def clock_of(pid: int) -> int:
    """The number of a process's clock of CPU time, as clock_getcpuclockid(3) makes it on Linux."""
    return (~pid << 3) | 2


def _commands(control: socket.socket) -> Iterator[tuple[dict[str, Any], list[int]]]:
    text, pipes = b"", []
    while True:
        data, passed, _, _ = socket.recv_fds(control, 65536, 2)
        if not data:
            return
        text, pipes = text + data, pipes + list(passed)
        if text.endswith(b"\n"):  # the grader waits for the answer to a command before it sends the next one
            yield json.loads(text), pipes
            text, pipes = b"", []


def _send(control: socket.socket, message: dict[str, Any]) -> None:
    control.sendall(json.dumps(message).encode() + b"\n")


class _Server:
    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.child = 0
        self.status: int | None = None
        self.used = 0.0

    def fork(self, command: dict[str, Any], pipes: list[int]) -> dict[str, Any]:
        """A new child, which answers what comes through the pipes."""
        self.end({"patience": 0}, [])
        self.status, self.used = None, 0.0
        self.child = os.fork()
        if self.child == 0:
            try:
                _be_the_child(self.control, command, *pipes)
            finally:
                os._exit(0)
        for pipe in pipes:
            os.close(pipe)
        return {"pid": self.child}

    def cpu(self, command: dict[str, Any], pipes: list[int]) -> dict[str, Any]:
        """What the child has used so far, all its threads together."""
        if self.child and self.status is None and sys.platform.startswith("linux"):
            with contextlib.suppress(OSError):
                self.used = time.clock_gettime(clock_of(self.child))
        return {"cpu": self.used}

    def end(self, command: dict[str, Any], pipes: list[int]) -> dict[str, Any]:
        """Waits for the child a little, then kills it and all that it has left behind."""
        if not self.child:
            return {"status": None}
        patience = time.monotonic() + command["patience"]
        while self.status is None:
            done, status, usage = os.wait4(self.child, os.WNOHANG)
            if done:
                self.status, self.used = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
            elif time.monotonic() >= patience:
                os.kill(self.child, signal.SIGKILL)
                patience += 3600
            else:
                time.sleep(0.001)
        self.child = 0
        _end_orphans()
        return {"status": self.status}


def _end_orphans() -> None:
    """What a child forked (where nothing could forbid it) is ours now: ends it, and what it forks meanwhile."""
    for _ in range(1000):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for children in Path("/proc/self/task").glob("*/children"):
            for pid in children.read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.001)


def _be_the_child(control: socket.socket, command: dict[str, Any], request_pipe: int, answer_pipe: int) -> None:
    """Leaves the server's world behind, then answers requests. Nothing of the student has run so far."""
    control.close()
    os.setsid()
    # The pipes get numbers of their own, and every other descriptor is closed.
    os.dup2(request_pipe, 100)
    os.dup2(answer_pipe, 101)
    os.dup2(100, 3)
    os.dup2(101, 4)
    os.closerange(5, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 65536))
    try:
        said: dict[str, Any] = {"obtained": confine.apply(command["read"], command["folder"], command["memory"])}
    except (confine.ConfinementError, OSError, ValueError) as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    os.environ.update(HOME=command["folder"], TMPDIR=command["folder"])
    os.write(4, json.dumps(said).encode() + b"\n")
    if "error" in said:
        return
    worker.run(3, 4, command["folder"], command["read"])
