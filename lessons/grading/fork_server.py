"""A server that has NumPy and minigrad loaded and forks a process for each submission, so that a
submission costs milliseconds.

A warm start is as safe as a cold one. The server itself never runs a student's code. It forks
first, the child then locks itself in (sandbox.py), and only then does the first line of the
student's run. The child cannot return: the socket by which the grader commands the server is
closed in it. A cold start is a server that is used once.

The server is run as `python -I -S -c ...` with a Unix socket as its standard input, and reads one
command a line:

    {"do": "prepare", "folder": ..., "read": [...], "memory": ...} -> {"prepared": true}
                                what every child locks itself in with
    {"do": "learn", "key": ..., "source": ...}                     -> {"learnt": true}
                                an instructor's drive, compiled for all children
    {"do": "fork"}  with two pipes                                 -> {"pid": 12, "obtained": [...]}
                                from a child, which has locked itself in and goes on to answer
                                requests (worker.py)
    {"do": "cpu"}                                                  -> {"cpu": 0.02}
                                seconds of CPU that the child has used
    {"do": "end", "patience": 0.5}                  -> {"status": 0, "ended": false}
                                how it ended; it is killed if it does not by itself
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import inspect
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import sandbox, worker

PRELOAD = (
    "numpy.ma minigrad minigrad.func minigrad.watch minigrad.trace minigrad.nn minigrad.optim"
    " asyncio dataclasses random traceback"
).split()
WARM_UP = (
    (
        "import minigrad as mg; x = mg.tensor([1.0, 2.0], requires_grad=True); y = (x *"
        " x).sin().sum(); print(f'{y.item():.3f}', str(y))"
    ),
    "y.backward()",
    (
        "from minigrad.trace import table; from minigrad.watch import trace_function;"
        " table(trace_function(lambda a: a * a, 2.0))"
    ),
)
"""What is slow the first time is done once, before a process is forked. Each part may
have been taken away.
"""
PR_SET_CHILD_SUBREAPER = 36
ALWAYS = {"numpy.ma", "minigrad", "traceback"}


def needed_by(text: str) -> list[str]:
    """The modules of PRELOAD that a program names."""
    words = set(re.findall(r"\w+", text))
    return [name for name in PRELOAD if name in ALWAYS or name.rpartition(".")[2] in words]


def main(modules: Sequence[str] | None = None) -> None:
    """Serves until the grader closes its end of the socket, or is gone.

    modules: for a server that is used once, what it loads beforehand: so little that it is started
    sooner, and so much that loading is not counted as the memory of a student's call.
    """
    control = socket.socket(fileno=os.dup(0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)
    for module in PRELOAD if modules is None else modules:
        importlib.import_module(module)
    if modules is None:
        _warm_up()
        gc.collect()
    gc.freeze()  # children share these pages for as long as no process writes to them
    if sys.platform.startswith("linux"):  # orphans of a child become ours, so that we can end them
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _send(control, {"ready": True})
    server = _Server(control)
    try:
        for command, pipes in _commands(control):
            answer = getattr(server, command["do"])(command, pipes)
            if answer is not None:
                _send(control, answer)
    finally:
        server.end({"patience": 0}, [])


def _warm_up() -> None:
    scope: dict[str, Any] = {}
    for part in WARM_UP:
        with contextlib.suppress(
            NotImplementedError, NameError
        ):  # what was made of it before may not be there either
            exec(part, scope)
    inspect.getmodule(main.__code__)  # it keeps a list of where all modules come from


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
        if text.endswith(
            b"\n"
        ):  # the grader waits for the answer to a command before it sends the next one
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
        self.locks: sandbox.Locks | None = None
        self.trouble = "it was not prepared"
        self.folder = ""
        self.readable: list[str] = []
        self.there: list[str] = []

    def prepare(self, command: dict[str, Any], pipes: list[int]) -> dict[str, Any]:
        """Makes the locks of all children. Raises nothing: what could not be made is told when a
        child is asked for.
        """
        try:
            self.locks = sandbox.Locks(command["read"], command["folder"], command["memory"])
        except (sandbox.SandboxError, OSError, ValueError) as error:
            self.trouble = f"{type(error).__name__}: {error}"
        self.folder, self.readable = command["folder"], command["read"]
        os.environ.update(HOME=self.folder, TMPDIR=self.folder, MPLCONFIGDIR=self.folder)
        self.there = command["there"]
        if self.there:
            sys.path.append(command["packages"])
            worker.import_packages(self.there)  # children share what is imported here
            gc.collect()
            gc.freeze()
        return {"prepared": self.locks is not None}

    def learn(self, command: dict[str, Any], pipes: list[int]) -> dict[str, Any]:
        """Compiles the instructor's code that children will run, once for all of them. What is
        no Python fails there, with a sentence.
        """
        with contextlib.suppress(SyntaxError, ValueError):
            worker.drive_code(command["key"], command["source"])
        return {"learnt": True}

    def fork(self, command: dict[str, Any], pipes: list[int]) -> dict[str, Any] | None:
        """A new child, which answers in the server's place and then does what comes through the
        pipes.
        """
        self.end({"patience": 0}, [])
        self.status, self.used = None, 0.0
        if self.locks is not None:
            self.child = os.fork()
            if self.child == 0:
                try:
                    self.be_the_child(self.locks, *pipes)
                finally:
                    os._exit(0)
        for pipe in pipes:
            os.close(pipe)
        return {"error": self.trouble} if self.locks is None else None

    def be_the_child(self, locks: sandbox.Locks, request_pipe: int, answer_pipe: int) -> None:
        """Leaves the server's world behind, then answers requests. Nothing of the student has
        run so far.
        """
        os.setsid()
        # The pipes and the locks get numbers of their own, and every other descriptor but the
        # control is closed.
        kept = [request_pipe, answer_pipe, self.control.detach(), locks.ruleset]
        for number, descriptor in enumerate(kept, 100):
            if descriptor >= 0:
                os.dup2(descriptor, number)
        for number, descriptor in enumerate(kept, 100):
            if descriptor >= 0:
                os.dup2(number, number - 97)
        assert sandbox.resource is not None
        os.closerange(7, min(sandbox.resource.getrlimit(sandbox.resource.RLIMIT_NOFILE)[0], 65536))
        control = socket.socket(fileno=5)
        locks.ruleset = 6 if locks.ruleset >= 0 else -1
        try:
            said: dict[str, Any] = {"pid": os.getpid(), "obtained": locks.apply()}
        except (sandbox.SandboxError, OSError, ValueError) as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        _send(control, said)
        control.close()
        if "error" not in said:
            worker.run(3, 4, self.folder, self.readable, self.there)

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
        patience, ended = time.monotonic() + command["patience"], False
        while self.status is None:
            late = time.monotonic() >= patience
            if late:
                os.kill(self.child, signal.SIGKILL)
                ended = True
            done, status, usage = os.wait4(self.child, 0 if late else os.WNOHANG)
            if done:
                self.status, self.used = (
                    os.waitstatus_to_exitcode(status),
                    usage.ru_utime + usage.ru_stime,
                )
            else:
                time.sleep(0.001)
        self.child = 0
        _end_orphans()
        return {"status": self.status, "ended": ended}


def _end_orphans() -> None:
    """What a child forked (where nothing could forbid it) is ours now: ends it, and what it
    forks meanwhile.
    """
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
