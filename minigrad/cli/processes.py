"""How a command ends: whatever stops it, none of its processes and temporary files stays behind.

SIGINT, SIGTERM, SIGHUP   raise `Stopped` in the main thread, so that `finally` blocks run; the exit
                          status is 128 + the signal's number. Further signals are ignored while
                          they run. A command that has not ended after GRACE_S is interrupted again,
                          and ended by force after another GRACE_S. A signal that was ignored from
                          the start (nohup) stays ignored.
processes                 what a command started, and what these started, is ended at its end:
                          terminated, and killed after a while. On Linux the command adopts orphans,
                          so that none is missed; elsewhere psutil finds them, if it is installed.
temporary files           a command has one temporary folder, also for all that it starts; it is
                          removed last.
SIGKILL                   cannot be handled: the processes of a command notice that a pipe from it
                          has ended (`run`, here; the grader's servers; Jupyter's kernels by
                          themselves). Its temporary folder stays.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import importlib
import importlib.util
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from .folders import remove

SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
)
"""What asks a program to stop; Windows has two of them."""
GRACE_S = 10.0
"""For a command to end by itself after a signal."""
TERMINATION_S = 2.0
"""Between the request to a process to end and its being killed."""
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
PR_SET_CHILD_SUBREAPER = 36
TEMPORARY = ("TMPDIR", "TEMP", "TMP")
"""The environment variables by which programs find the folder for temporary files."""


class Stopped(KeyboardInterrupt):
    """A signal asked to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number


# ------------------------------------------------------------------------------------------ signals


class Signals:
    """Within the block the first signal raises Stopped in the main thread, and later ones are
    ignored; see the top of this file.

    received: the first signal's number, 0 if none came. last_resort: called in a thread if the
    block has not ended long after that. In another thread than the main one, and for signals that
    have a handler or are ignored already, nothing is changed.
    """

    def __init__(self, last_resort: Callable[[int], None] | None = None) -> None:
        self.received = 0
        self._last_resort = last_resort
        self._before: dict[int, Any] = {}
        self._holding = self._waiting = False
        self._process = os.getpid()
        self._over = threading.Event()

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                if before in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = before
                    signal.signal(number, self.receive)
        return self

    def __exit__(self, *error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._over.set()

    def receive(self, number: int, frame: FrameType | None = None) -> None:
        """The handler. Raises Stopped at the first signal; a process that was forked from this
        one ends at once.
        """
        if os.getpid() != self._process:
            os._exit(128 + number)
        if self.note(number) and not self._holding:
            self._waiting = False
            raise Stopped(number)

    def note(self, number: int) -> bool:
        """Notes a signal and starts the clock; whether it is the first one, or the interruption
        is to be repeated.
        """
        if not self.received:
            self.received, self._waiting = number, True
            # not threading.Thread: the signal may have interrupted the start of one
            _thread.start_new_thread(self._watch, ())
        return self._waiting

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """A signal in this block is raised at its end."""
        outer, self._holding = self._holding, True
        try:
            yield
        finally:
            self._holding = outer
        if self._waiting and not outer:
            self._waiting = False
            raise Stopped(self.received)

    def ignored(self) -> None:
        """From now on no signal raises: the end of a command is not interrupted."""
        self._holding = True

    def _watch(self) -> None:
        if not self._over.wait(GRACE_S):  # something has swallowed the exception, or waits
            self._waiting = True
            _interrupt_main_thread(self.received)
            if not self._over.wait(GRACE_S) and self._last_resort is not None:
                self._last_resort(self.received)


def uninterrupted() -> contextlib.AbstractContextManager[None]:
    """Within the block no signal interrupts the command that runs, if one does: it is raised at
    the end. For short work only.
    """
    return contextlib.nullcontext() if CURRENT is None else CURRENT.held()


def _interrupt_main_thread(number: int) -> None:
    """Delivers a signal to the main thread, also where it waits in a system call if the system
    has a way.
    """
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)


# ---------------------------------------------------------------------------------------- processes


def adopt_orphans() -> None:
    """On Linux: processes below this one whose parent ends become its children, and are found by
    `descendants`.
    """
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(spare: frozenset[int] = frozenset(), name: str = "") -> list[int]:
    """The numbers of the processes below this one that still run, without those in `spare` and what
    is below them.

    name: only those that have a variable of this name in their environment.
    """
    spare |= {_resource_tracker()}
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found, todo = list[int](), [os.getpid()]
    while todo:
        below = [pid for pid in children.get(todo.pop(), ()) if pid not in spare]
        found += below
        todo += below
    return [pid for pid in found if not name or _has_variable(pid, name)]


def parents() -> dict[int, int]:
    """The parent of each process that runs (a zombie does not); as far as the system tells."""
    if sys.platform.startswith("linux"):
        found = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                state, parent = path.read_text(errors="replace").rpartition(")")[2].split()[:2]
                if state not in "ZX":
                    found[int(path.parent.name)] = int(parent)
        return found
    if (psutil := _psutil()) is None:
        return {}
    return {
        process.pid: process.ppid()
        for process in psutil.Process().children(recursive=True)
        if process.is_running()
    }


def _psutil() -> Any:
    """The module psutil, which Jupyter needs too, or None."""
    return importlib.import_module("psutil") if importlib.util.find_spec("psutil") else None


def _has_variable(pid: int, name: str) -> bool:
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError):
            return any(
                entry.startswith(f"{name}=".encode())
                for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            )
        return False
    psutil = _psutil()
    with contextlib.suppress(psutil.Error):
        return name in psutil.Process(pid).environ()
    return False


def _resource_tracker() -> int:
    """The number of the process by which multiprocessing tidies up, which ends by itself when
    this one does; else -1.
    """
    module = sys.modules.get("multiprocessing.resource_tracker")
    return getattr(getattr(module, "_resource_tracker", None), "_pid", None) or -1


def command_line(pid: int) -> str:
    """What a process runs, for a person."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError):
            return (
                Path(f"/proc/{pid}/cmdline")
                .read_bytes()
                .replace(b"\0", b" ")
                .decode(errors="replace")
                .strip()
            )
        return ""
    psutil = _psutil()
    with contextlib.suppress(psutil.Error):
        return " ".join(psutil.Process(pid).cmdline())
    return ""


def end_descendants(
    spare: frozenset[int] = frozenset(), name: str = "", patience: float = TERMINATION_S
) -> list[str]:
    """Terminates what `descendants` finds, kills what is left after `patience` seconds, and
    returns the command lines.
    """
    told: dict[int, str] = {}
    start = time.monotonic()
    while (left := descendants(spare, name)) and time.monotonic() - start < patience + GRACE_S:
        late = time.monotonic() - start >= patience
        for pid in left:
            if late or pid not in told:
                told.setdefault(pid, command_line(pid))
                with contextlib.suppress(OSError):
                    os.kill(pid, KILL if late else signal.SIGTERM)
        time.sleep(0.01)
    for pid in told:  # adopted ones would stay as zombies where nothing else waits for them
        with contextlib.suppress(OSError, AttributeError):
            os.waitpid(pid, os.WNOHANG)
    return [f"{text or 'a process'} ({pid})" for pid, text in told.items()]


def run(module: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs `python -m module arguments` to its end, with `options` for Popen.

    If this call is interrupted, or this process is killed, the other one is ended with everything
    that it has started.
    """
    reader, writer = os.pipe()
    program = f"from {__name__} import _run_module; _run_module({module!r})"
    command = [sys.executable, "-c", program, *arguments]
    with (
        open(writer, "wb") as alive,
        open(reader, "rb") as ends,
        subprocess.Popen(command, stdin=ends, text=True, **options) as process,
    ):
        try:
            output, errors = process.communicate()
        except BaseException:
            alive.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S / 2)
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def _run_module(module: str) -> None:
    """In the other process: runs the module until it is done, or until standard input ends."""

    def watch() -> None:
        os.read(0, 1)
        _interrupt_main_thread(signal.SIGTERM)

    def work() -> int:
        threading.Thread(target=watch, daemon=True).start()
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        return 0

    sys.exit(command(work, own=True))


# ---------------------------------------------------------------------------------------- a command


@contextlib.contextmanager
def temporary_folder(signals: Signals) -> Iterator[str]:
    """A folder in which all temporary files of this process and of those that it starts lie,
    removed at the end.

    Where none can be made there is none: whatever needs a temporary file will say so.
    """
    before, variables = tempfile.tempdir, {name: os.environ.get(name) for name in TEMPORARY}
    folder = ""
    try:
        with signals.held(), contextlib.suppress(OSError):
            folder = tempfile.tempdir = tempfile.mkdtemp(prefix="minigrad-")
            os.environ.update(dict.fromkeys(TEMPORARY, folder))
        yield folder
    finally:
        tempfile.tempdir = before
        for name, value in variables.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        remove(folder)


CURRENT: Signals | None = None
"""Of the command that runs."""


def command(work: Callable[[], int], own: bool = False, browses: bool = False) -> int:
    """Runs a command and returns its exit status: that of `work`, or 128 + the number of the signal
    that stopped it.

    own: the process does nothing else, so that it may be ended by force. browses: the command opens
    the user's browser, which stays open: of the processes only Jupyter's kernels and what these
    started are ended, and temporary files lie where they always do.
    """
    global CURRENT
    spare = frozenset() if own else frozenset(descendants())  # of the program that calls a command
    which = "JPY_PARENT_PID" if browses else ""
    folder = ""

    def force(number: int) -> None:
        end_descendants(spare, which, patience=0.5)
        remove(folder)
        os._exit(128 + number)

    adopt_orphans()
    before = CURRENT
    with Signals(force if own else None) as signals:
        CURRENT = signals
        try:
            with contextlib.nullcontext("") if browses else temporary_folder(signals) as folder:
                try:
                    status = work()
                finally:
                    signals.ignored()
                    end_descendants(spare, which)
        except BaseException as error:
            # After a signal others than Stopped come too, such as that of writing to a terminal
            # that is closed.
            if not signals.received and not isinstance(error, KeyboardInterrupt):
                raise
            status = 130
        finally:
            CURRENT = before
        if signals.received:
            status = 128 + signals.received
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # the reader is gone; Python would exit with another status
            with contextlib.suppress(OSError, ValueError, AttributeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return status
