"""The level "full": bubblewrap around Landlock and seccomp, for real, and what hostile submissions
get out of it: nothing.

Also what `minigrad grade doctor` says with bubblewrap, without it, and where the system forbids it
what it needs.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from minigrad.lessons.grading import (
    doctor,
    one_submission,
    process_server,
    run,
    sandbox,
    stripped_library,
)

from minigrad.cli import folders, main
from tests.helpers.small_class import MAX, hand_in, notebook, write_sheet

pytestmark = pytest.mark.whole
LOCKED = {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"])
needs_lock = pytest.mark.skipif(
    not LOCKED, reason="Landlock and seccomp are needed: see `minigrad grade doctor`"
)

HOSTILE = """
import ctypes, glob, json, os, signal, socket, subprocess, sys
TOP, PORT, GRADER = {top!r}, {port}, {grader}
got = []
def attempt(name, do):
    try:
        found = do()
    except BaseException:
        return
    if found is not False:
        got.append(name)
attempt("read the sheet", lambda: open(TOP + "/sheet/sheet.py").read())
attempt("read the secret", lambda: open(TOP + "/out/secret.key").read())
attempt("read a neighbour", lambda: open(TOP + "/submitted/honest/small/small.ipynb").read())
attempt("read /etc/passwd", lambda: open("/etc/passwd").read())
attempt("list the course", lambda: os.listdir(TOP))
attempt("list homes", lambda: os.listdir("/home") or False)
attempt("write outside", lambda: open(TOP + "/marker", "w").write("x"))
attempt("write to /var/tmp", lambda: open("/var/tmp/{name}", "w").write("x"))
attempt("write to the library", lambda: open(np.__file__, "a").write("x"))
attempt("connect", lambda: socket.create_connection(("127.0.0.1", PORT), 2).close())
attempt("connect by ctypes", lambda: ctypes.CDLL(None).socket(2, 1, 0) >= 0)
attempt("signal the grader", lambda: os.kill(GRADER, 0))
attempt("kill everybody", lambda: os.kill(-1, signal.SIGKILL))
attempt("fork", lambda: os._exit(0) if os.fork() == 0 else True)
attempt("start a program", lambda: subprocess.run(["/bin/true"]).returncode == 0)
attempt("see the grader",
    lambda: os.path.exists("/proc/%d" % GRADER) and open("/proc/%d/cmdline" % GRADER).read())
attempt("see others", lambda: len(glob.glob("/proc/[0-9]*/cmdline")) > 5)
attempt("trace the parent", lambda: ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0)
attempt("become root", lambda: os.setuid(0) if os.getuid() else False)
attempt("mount", lambda: ctypes.CDLL(None).mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0)
attempt("new namespaces", lambda: ctypes.CDLL(None).unshare(0x10000000) == 0)
attempt("take 4 GB", lambda: bytearray(4 << 30))
print("GOT" + json.dumps(got))
"""
LOOP = "while True:\n    pass"
LEFT = (
    "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=False).start()"
)


@pytest.fixture(scope="module")
def wrapped(tmp_path_factory):
    """Whether bubblewrap works here, found out as the grader finds it out."""
    if not LOCKED:
        pytest.skip("Landlock and seccomp are needed: see `minigrad grade doctor`")
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed (Debian, Ubuntu, Fedora: the package bubblewrap)")
    works = run.bubblewrap_works(tmp_path_factory.mktemp("probe"))
    one_submission.close_servers()
    if not works:
        pytest.skip(
            "bubblewrap is here, but the system forbids it what it needs: see `minigrad grade"
            " doctor`"
        )


@pytest.fixture
def listener():
    """A port of this machine, and whether anybody ever connected to it."""
    reached = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        over = threading.Event()

        def accept():
            while not over.is_set():
                try:
                    reached.append(server.accept()[1])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1], reached
        over.set()
        thread.join()


def processes_about(folder: Path) -> list[str]:
    """The command lines of processes that name a folder, other than those above this one."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in text and int(path.parent.name) != os.getpid():
            found.append(text)
    return found


def test_hostile_hand_ins_get_nowhere(wrapped, listener, tmp_path):
    port, reached = listener
    sheet, submitted, out = (
        write_sheet(tmp_path / "sheet"),
        tmp_path / "submitted",
        tmp_path / "out",
    )
    name = f"minigrad-{tmp_path.name}-{os.getpid()}"
    hostile = HOSTILE.format(top=str(tmp_path), port=port, grader=os.getpid(), name=name)
    hand_in(submitted, "honest", notebook({}))
    hand_in(submitted, "hostile cell", notebook({}, hostile))
    hand_in(
        submitted,
        "hostile call",
        notebook({"g": f"def g(x):\n    exec({hostile!r}, {{'np': np}})\n    return 2 * x"}),
    )
    hand_in(submitted, "hostile first", notebook({}, first=f"import numpy as np\n{hostile}"))
    hand_in(
        submitted,
        "endless",
        notebook({"g": f"def g(x):\n    {LOOP.replace(chr(10), chr(10) + '    ')}"}),
    )
    hand_in(submitted, "leaves a thread", notebook({}, LEFT))
    report = run.grade(sheet, submitted, out, run.Options(least="full", jobs=2))
    assert {r.student: r.points for r in report.results} == {
        "honest": MAX, "hostile cell": MAX, "hostile call": MAX, "hostile first": MAX,
        "endless": 5.0, "leaves a thread": MAX,
    }  # fmt: skip
    assert {r.record["level"] for r in report.results} == {"full"}
    for result in report.results:
        told = [line for line in result.record["printed"].splitlines() if line.startswith("GOT")]
        assert bool(told) == result.student.startswith("hostile"), result.record["printed"]
        assert [json.loads(line[3:]) for line in told] == [[]] * len(told)
        assert bool(result.record["flags"]) == result.student.startswith("hostile")
    assert reached == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "sheet", "submitted"]
    assert not Path("/var/tmp", name).exists()
    for _ in range(100):  # bubblewrap's own processes end a moment after the one that they held
        if not (left := processes_about(tmp_path)):
            break
        time.sleep(0.05)
    assert left == []


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A folder that is the whole PATH; a program can be put into it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def broken(folder: Path, complaint: str) -> None:
    """A bubblewrap that is forbidden what it needs."""
    (folder / "bwrap").write_text(f"#!/bin/sh\necho '{complaint}' >&2\nexit 1\n")
    (folder / "bwrap").chmod(0o755)


def lines_about(text: str, what: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if what in line]


def test_the_doctor_with_bubblewrap(wrapped, capsys):
    assert main(["grade", "doctor"]) == 0
    told = capsys.readouterr().out
    assert lines_about(told, "bubblewrap") == [
        "yes bubblewrap: a file tree, process numbers and a network of its own"
    ]
    assert told.splitlines()[-1].startswith("level: full (")
    assert "NO " not in told
    assert len(lines_about(told, "yes refuses to")) == len(doctor.ATTEMPTS)


@needs_lock
def test_the_doctor_without_bubblewrap(programs, capsys):
    assert main(["grade", "doctor"]) == 0
    told = capsys.readouterr().out
    (line,) = lines_about(told, "bubblewrap:")
    assert (
        line
        == "NO  bubblewrap: the program bwrap is not installed (Debian, Ubuntu, Fedora: the package"
        " bubblewrap)"
    )
    assert lines_about(told, "level:")[0].startswith("level: confined (")
    assert len(lines_about(told, "yes refuses to")) == len(doctor.ATTEMPTS)


@needs_lock
def test_the_doctor_where_the_system_forbids_bubblewrap_what_it_needs(programs, capsys, tmp_path):
    broken(programs, "bwrap: setting up uid map: Permission denied")
    assert main(["grade", "doctor"]) == 0
    told = capsys.readouterr().out
    (line,) = lines_about(told, "bubblewrap:")
    assert line.startswith("NO  bubblewrap: ") and "setting up uid map: Permission denied" in line
    assert lines_about(told, "level:")[0].startswith("level: confined (")
    assert not run.bubblewrap_works(tmp_path)


@needs_lock
def test_without_bubblewrap_the_level_is_confined_and_full_is_refused(programs, tmp_path):
    sheet = write_sheet(tmp_path / "sheet")
    hand_in(tmp_path / "submitted", "honest", notebook({}))
    with pytest.raises(
        sandbox.SandboxError, match='level of isolation is "confined" here, and at least "full"'
    ):
        run.grade(
            sheet, tmp_path / "submitted", tmp_path / "out", run.Options(least="full", jobs=1)
        )
    (result,) = run.grade(
        sheet, tmp_path / "submitted", tmp_path / "out", run.Options(jobs=1)
    ).results
    assert (result.record["level"], result.points) == ("confined", MAX)


def test_the_file_tree_of_the_sandbox_holds_no_more_than_it_needs(wrapped):
    """Asked from inside bubblewrap alone, without Landlock's second lock: what is not bound is
    not there.
    """
    library = stripped_library.make(())
    work = Path(library) / "work"
    work.mkdir()
    try:
        code = (
            "import os, json; print(json.dumps([os.listdir('/'), os.path.exists('/etc/passwd')]))"
        )
        command = [
            *process_server.bubblewrap(library, work),
            os.path.realpath(sys.executable),
            "-I",
            "-S",
            "-c",
            code,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        top, passwords = json.loads(done.stdout)
        assert not passwords
        assert {"usr", "proc", "dev", "tmp"} <= set(top)
        assert not {"boot", "media", "mnt", "srv", "sys", "var", "run"} & set(top)
    finally:
        folders.remove(library)
