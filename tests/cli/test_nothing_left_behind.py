"""However a command is stopped, no process and no temporary file of it is left, and what it had
finished stays whole.

Each command runs in a process of its own, is brought into the middle of its work (a busy kernel, a
submission that loops, a film that is drawn), and is then sent a signal or loses its terminal. A
process is known by a variable in its environment, or by the test's folder in its command line: the
grader gives its servers an environment of their own.
"""

import concurrent.futures
import contextlib
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers import signals
from tests.helpers.small_class import hand_in, notebook, write_sheet

ROOT = Path(__file__).parents[2]
MARK = "MINIGRAD_TEST_OF_PROCESSES"
pytestmark = [
    pytest.mark.unix,
    pytest.mark.skipif(
        not Path("/proc/self/environ").exists(),
        reason="what is left is found in /proc, which Linux has",
    ),
]

ON_A_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable,"
    " [sys.executable, *sys.argv[1:]])"
)
"""Makes standard input the terminal of its session, whose end is then told to the program by
SIGHUP.
"""
OTHER_LESSONS = (
    "import functools, sys; from pathlib import Path; from minigrad.cli import main, release, site;"
    " import minigrad.lessons.site as course;"
    " course.build = functools.partial(course.build, documented=False);"
    " {module}.LESSONS = Path({lessons!r}); sys.exit(main())"
)
BUSY = "open('busy', 'w').close()\nx = 0\nwhile True: x += 1"
"""A cell that tells when it runs, and never ends."""


class Command:
    """A command in a process of its own, with its own folder for temporary files and its own
    home.
    """

    def __init__(
        self, folder: Path, *arguments: str, program: str = "", terminal: bool = False
    ) -> None:
        self.folder, self.temporary, self.token = folder, folder / "temporary", secrets.token_hex(8)
        for name in ("temporary", "home", "here"):
            (folder / name).mkdir(exist_ok=True)
        home = str(folder / "home")
        own = {
            "HOME": home,
            "IPYTHONDIR": home,
            "JUPYTER_RUNTIME_DIR": f"{home}/runtime",
            "JUPYTER_CONFIG_DIR": home,
            "MPLCONFIGDIR": home,
        }
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        environment = {
            **os.environ,
            **own,
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": path,
            MARK: self.token,
            "OPENBLAS_NUM_THREADS": "1",
        }
        command = [*(["-c", program] if program else ["-m", "minigrad"]), *arguments]
        self.said = folder / "said"
        self.terminal = -1
        with self.said.open("wb") as output, contextlib.ExitStack() as stack:
            inputs: int = subprocess.DEVNULL
            if terminal:
                self.terminal, inputs = os.openpty()
                stack.callback(os.close, inputs)
                command = ["-c", ON_A_TERMINAL, *command]
            self.process = subprocess.Popen(
                [sys.executable, *command],
                env=environment,
                cwd=folder / "here",
                stdin=inputs,
                stdout=inputs if terminal else output,
                stderr=inputs if terminal else output,
                start_new_session=True,
                preexec_fn=signals.heed,
            )

    def processes(self) -> list[str]:
        """The command lines of the processes that run, of the command and of all that it
        started.
        """
        found, mark, folder = [], f"{MARK}={self.token}".encode(), str(self.folder).encode()
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                line = (path / "cmdline").read_bytes()  # that of a zombie is empty
                if line and (
                    mark in (path / "environ").read_bytes().split(b"\0") or folder in line
                ):
                    found.append(line.replace(b"\0", b" ").decode(errors="replace"))
        return found

    def wait_until(self, ready: Callable[[], object], seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while not ready():
            assert self.process.poll() is None, f"it ended by itself: {self.told()}"
            assert time.monotonic() < end, f"it did not come so far: {self.told()}"
            time.sleep(0.05)

    def told(self) -> str:
        return self.said.read_text(errors="replace")[-2000:]

    def stop(self, how: str) -> int:
        """Sends a signal, or closes the terminal; returns the exit status, in the way of a
        shell.
        """
        if how == "terminal":
            os.close(self.terminal)
            self.terminal = -1
        else:
            self.process.send_signal(getattr(signal, how))
        status = self.process.wait(60)
        return 128 - status if status < 0 else status

    def is_stopped_by(self, how: str) -> None:
        """Asserts that it ends by `how`, and leaves nothing."""
        number = signal.SIGHUP if how == "terminal" else getattr(signal, how)
        assert self.stop(how) == 128 + number, self.told()
        end = time.monotonic() + 15
        while how == "SIGKILL" and self.processes() and time.monotonic() < end:
            time.sleep(0.05)  # they notice that a pipe has ended
        assert self.processes() == []
        if how != "SIGKILL":  # which leaves no time to remove a file
            assert [str(path) for path in self.temporary.rglob("*")] == []
            assert list(self.folder.glob("home/runtime/*.json")) == []

    def end(self) -> None:
        """After a failure."""
        if self.terminal >= 0:
            os.close(self.terminal)
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"{MARK}={self.token}".encode() in (path / "environ").read_bytes():
                    os.kill(int(path.name), signal.SIGKILL)


@pytest.fixture
def begin(tmp_path) -> Iterator[Callable[..., Command]]:
    """A function that begins a command by its name, and one that waits until it is in the middle
    of its work.
    """
    begun: list[Command] = []

    def start(name: str, how: str = "", folder: Path = tmp_path) -> Command:
        folder.mkdir(exist_ok=True)
        command = Command(
            folder,
            *ARGUMENTS[name](folder),
            program=_program(name, folder),
            terminal=how == "terminal",
        )
        begun.append(command)
        return command

    yield start
    for command in begun:
        command.end()


# ------------------------------------------------------------------------------------- the commands


IN_ANOTHER_PROCESS = """
import sys
from minigrad.cli import processes
sys.exit(processes.command(lambda: processes.run("busy_module").returncode, own=True))
"""
"""What the benchmarks do to measure memory."""


def _lessons(folder: Path, count: int) -> Path:
    """A course whose lessons have one cell each, which does not end."""
    lessons = folder / "lessons"
    lessons.mkdir(exist_ok=True)
    cell = {
        "cell_type": "code",
        "id": "busy",
        "metadata": {},
        "source": BUSY.replace("busy", str(folder / "busy")),
        "outputs": [],
    }
    text = {
        "cells": [{**cell, "execution_count": None}],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    for number in range(count):
        (lessons / f"{number:04}_busy.ipynb").write_text(json.dumps(text))
    return lessons


def _program(name: str, folder: Path) -> str:
    if name == "run":
        (folder / "here").mkdir(exist_ok=True)
        source = BUSY.replace("busy", str(folder / "busy"))
        (folder / "here" / "busy_module.py").write_text(
            f"import tempfile\ntempfile.mkdtemp()\n{source}"
        )
        return IN_ANOTHER_PROCESS
    module, lessons = {"site": ("site", 1), "release": ("release", 2000)}.get(name, ("", 0))
    return (
        OTHER_LESSONS.format(module=module, lessons=str(_lessons(folder, lessons)))
        if module
        else ""
    )


def _grade(folder: Path) -> list[str]:
    """A class of which one submission does not end."""
    sheet = write_sheet(folder / "sheet")
    hand_in(folder / "submitted", "ada", notebook({}))
    hand_in(folder / "submitted", "bob", notebook({"g": "while True: pass"}))
    return [
        "grade",
        "run",
        str(sheet),
        str(folder / "submitted"),
        "--out",
        str(folder / "results"),
        "--jobs",
        "2",
        "--trust-students",
    ]


def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _lab(folder: Path) -> list[str]:
    (folder / "port").write_text(port := str(_port()))
    own = [
        "--no-browser",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
    ]
    return ["lab", str(folder / "course"), "--", *own, "--IdentityProvider.token=course"]


ARGUMENTS: dict[str, Callable[[Path], list[str]]] = {
    "lab": _lab,
    "grade": _grade,
    "grade cold": lambda folder: [*_grade(folder), "--cold"],
    "release": lambda folder: ["release", str(folder / "handout")],
    "run": lambda folder: [],
    "site": lambda folder: ["site", str(folder / "public")],
    "animate": lambda folder: [
        "animate",
        "*".join(["sin(x)"] * 10),
        "x=1",
        "-o",
        str(folder / "films" / "film.gif"),
        "--quiet",
    ],
}


def _busy(command: Command) -> None:
    command.wait_until((command.folder / "busy").exists)


def _lab_is_busy(command: Command) -> None:
    """A kernel of the server runs a cell that does not end."""
    from jupyter_client import BlockingKernelClient

    address = f"http://127.0.0.1:{(command.folder / 'port').read_text()}/api"

    def answers() -> bool:
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"{address}/status?token=course", timeout=5),
        ):
            return True
        return False

    command.wait_until(answers)
    with urllib.request.urlopen(
        urllib.request.Request(f"{address}/kernels?token=course", b"{}"), timeout=60
    ) as answer:
        kernel = json.load(answer)["id"]
    client = BlockingKernelClient(
        connection_file=str(command.folder / "home" / "runtime" / f"kernel-{kernel}.json")
    )
    client.load_connection_file()
    client.start_channels()
    client.execute(BUSY.replace("busy", str(command.folder / "busy")))
    try:
        _busy(command)
    finally:
        client.stop_channels()


def _grade_is_busy(command: Command) -> None:
    """One submission is in the journal, and the other one runs."""
    journal = command.folder / "results" / "journal.jsonl"
    command.wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 1)


def _files_are_released(command: Command) -> None:
    """Some of the lessons are written, others not yet."""
    command.wait_until(lambda: len(list((command.folder / "handout").glob("*.ipynb"))) > 10)


def _film_is_drawn(command: Command) -> None:
    command.wait_until(lambda: list((command.folder / "films").glob(".film-*.gif")))


BUSY_WHEN = {
    "site": _busy,
    "lab": _lab_is_busy,
    "grade": _grade_is_busy,
    "grade cold": _grade_is_busy,
    "release": _files_are_released,
    "run": _busy,
    "animate": _film_is_drawn,
}


def _prepare(name: str, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    if name == "animate":
        (folder / "films").mkdir()
        (folder / "films" / "film.gif").write_bytes(b"the film before")
    if name == "site":
        (folder / "public").mkdir()
        (folder / "public" / "index.html").write_text("the site before")


def _work_is_whole(name: str, folder: Path) -> None:
    """What was finished before, and what the command had finished, is there."""
    if name == "animate":
        assert [path.name for path in (folder / "films").iterdir()] == ["film.gif"]
        assert (folder / "films" / "film.gif").read_bytes() == b"the film before"
    if name == "site":
        assert [path.name for path in (folder / "public").iterdir()] == ["index.html"]
        assert (folder / "public" / "index.html").read_text() == "the site before"
    if name == "release":
        released = list((folder / "handout").iterdir())
        assert 10 < len(released) < 2000 and {path.suffix for path in released} == {".ipynb"}
        assert all(json.loads(path.read_text())["cells"] for path in released)
    if name.startswith("grade"):
        from minigrad.lessons.grading.journal import last_submissions

        assert list(last_submissions(folder / "results" / "journal.jsonl")) == ["ada"]
        assert not (folder / "results" / "work").exists()


STOPPED = {
    "SIGTERM": ("lab", "grade cold", "release", "run", "site", "animate"),
    "terminal": ("lab", "grade"),
    "SIGKILL": ("run",),
}
"""Which commands are stopped how. One handler takes the three signals of every command, also of
Jupyter's server (minigrad/cli/processes.py, lab.py), so SIGTERM stands for them. SIGKILL is for a
command that runs its work in another process; test_run.py kills graders. `grade` is stopped by
SIGTERM in the default run.
"""


def _stop(name: str, how: str, begin: Callable[..., Command], folder: Path) -> None:
    """Begins a command, and stops it in the middle of its work."""
    _prepare(name, folder)
    command = begin(name, how, folder)
    BUSY_WHEN[name](command)
    command.is_stopped_by(how)
    if how != "SIGKILL":
        _work_is_whole(name, folder)


def test_a_command_that_is_terminated_leaves_nothing(begin, tmp_path):
    _stop("grade", "SIGTERM", begin, tmp_path)


@pytest.mark.whole
@pytest.mark.parametrize("how", STOPPED)
def test_commands_that_are_stopped_leave_nothing(how, begin, tmp_path):
    """Several at a time: much of their time is waiting."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(_stop, name, how, begin, tmp_path / name) for name in STOPPED[how]]
    if errors := [error for run in runs if (error := run.exception())]:
        raise BaseExceptionGroup(f"after {how}", errors)


@pytest.mark.whole
@pytest.mark.parametrize(("name", "turns"), [("lab", 2), ("grade", 3)])
def test_a_command_that_is_stopped_at_any_moment_leaves_nothing(name, turns, begin, tmp_path):
    """From the start of Python on; before the command has begun, the signal ends it as it ends
    any program.
    """
    chance = random.Random(1)
    moments = sorted(chance.uniform(0.02, 4.0) for _ in range(turns))
    commands = []
    for turn in range(turns):  # all at once: most of their time is waiting
        folder = tmp_path / str(turn)
        _prepare(name, folder)
        commands.append(begin(name, folder=folder))
    start = time.monotonic()
    for moment, command in zip(moments, commands, strict=True):
        time.sleep(max(0.0, start + moment - time.monotonic()))
        if command.process.poll() is None:
            command.is_stopped_by(chance.choice(["SIGINT", "SIGTERM", "SIGHUP"]))


ORPHAN = """
import pathlib, signal, subprocess, sys, tempfile, time
from minigrad.cli import processes
processes.GRACE_S = 0.3
def work():
    tempfile.mkdtemp()
    stubborn = ("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
                "open('ready', 'w').close(); time.sleep(600)")
    between = ("import subprocess, sys; "
               f"subprocess.Popen([sys.executable, '-c', {stubborn!r}], start_new_session=True)")
    subprocess.run([sys.executable, "-c", between], start_new_session=True)
    while True:
        try:
            time.sleep(600)
        except {caught}:
            pass
sys.exit(processes.command(work, own=True))
"""


@pytest.mark.parametrize(
    "caught", [pytest.param("ZeroDivisionError", marks=pytest.mark.whole), "BaseException"]
)
def test_an_orphan_that_ignores_the_signal_and_work_that_swallows_it_are_ended(caught, tmp_path):
    command = Command(tmp_path, program=ORPHAN.replace("{caught}", caught))
    try:
        command.wait_until((tmp_path / "here" / "ready").exists)
        command.is_stopped_by("SIGTERM")
    finally:
        command.end()
