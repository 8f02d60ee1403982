"""Jupyter kernels that are forked from one process, which has imported what kernels and lessons
import. Starting each by itself takes most of the processor time of a lesson whose cells do little.

The process reads from its standard input, a line of JSON for each kernel, what to start, and ends
when the process that started it does. Only Linux has it: elsewhere the libraries of a system must
not be forked once they are loaded.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = ["-m", "ipykernel_launcher"]
IMPORTED = (
    "ipykernel.debugger",
    "ipykernel.kernelapp",
    "matplotlib.backends.backend_agg",
    "matplotlib.pyplot",
    "minigrad.graph",
    "minigrad.lessons.grading",
    "minigrad.lessons.workshop",
    "minigrad.training",
    "minigrad.viz",
    "numpy.polynomial",
    "sqlite3",
)
"""Of what a lesson imports, what asks for nothing of the kernel that it is imported in, as
ipywidgets does.
"""


def kernels_are_forked() -> AbstractContextManager[Any]:
    """Within the block, kernels that jupyter_client starts are forked, where that is possible."""
    if sys.platform != "linux" or not hasattr(os, "fork"):
        return nullcontext()
    return mock.patch("jupyter_client.provisioning.local_provisioner.launch_kernel", _launch)


def _launch(command: list[str], env: dict[str, str], cwd: str, **_: Any) -> ForkedKernel:
    """Takes the place of jupyter_client's function of this name."""
    assert command[1:3] == LAUNCH, f"not a kernel of Python: {command}"
    return ForkedKernel(_source().fork({"argv": command[3:], "env": env, "cwd": cwd}))


class ForkedKernel:
    """What jupyter_client asks of a process that it has started."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            try:
                os.kill(self.pid, 0)  # the process that forked it leaves no zombie
            except ProcessLookupError:
                self.returncode = 0  # how it ended is not known
        return self.returncode

    def wait(self) -> int | None:
        while self.poll() is None:
            time.sleep(0.02)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


class _Source:
    """The process that is forked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from tests.helpers import forked_kernels as f; f.serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,  # Ctrl-C is for the tests, which end it
        )

    def fork(self, what: dict[str, Any]) -> int:
        """Starts a kernel; returns its process's number."""
        with self._lock:
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.write(json.dumps(what) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process of kernels has ended: {self._process.wait()}")
        return int(answer)

    def end(self) -> None:
        """Its kernels notice it and end."""
        with self._process:  # closes the pipes
            pass


@functools.cache
def _source() -> _Source:
    return _Source()


def end() -> None:
    """Ends the process that is forked, if there is one."""
    if _source.cache_info().currsize:
        _source().end()
        _source.cache_clear()


def serve() -> None:
    """Forks a kernel for each line of the standard input, until it ends."""
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # whose end ends a kernel
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # no advice about Python's own modules
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    if sys.path[0] == "":  # a kernel puts its own folder there
        del sys.path[0]
    for name in IMPORTED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, _forget_ended)
    gc.collect()
    gc.freeze()  # the kernels share this memory
    while line := sys.stdin.readline():
        if os.fork() == 0:
            try:
                _become_kernel(json.loads(line))
            finally:
                os._exit(1)


def _forget_ended(*_: Any) -> None:
    """Otherwise kernels that have ended stay in the system's table of processes."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:  # none is left
        pass


def _become_kernel(what: dict[str, Any]) -> None:
    from ipykernel.kernelapp import IPKernelApp

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.write(1, f"{os.getpid()}\n".encode())
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, 0)
    os.dup2(2, 1)
    parent = os.environ["JPY_PARENT_PID"]
    os.environ.clear()
    os.environ.update(what["env"], JPY_PARENT_PID=parent)
    os.chdir(what["cwd"])
    sys.argv[1:] = what["argv"]
    IPKernelApp.launch_instance()
    sys.stdout.flush()
    os._exit(0)
