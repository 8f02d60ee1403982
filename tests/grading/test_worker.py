"""Submissions that are wrong, broken, cheating or hostile, one by one: each gets the points that it
deserves, and no other submission is affected.

Every hostile submission has an honest exercise beside the hostile one, so that "costs only itself"
is tested each time.
"""

import copy
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.grading import (
    known,
    process_server,
    sandbox,
    stripped_library,
    student_process,
    supervisor,
)
from minigrad.lessons.grading.exercise import Case, exercise
from minigrad.lessons.grading.judge import judge

from minigrad.cli import folders
from tests.helpers.grader_libraries import made_once
from tests.helpers.student_cells import BROKEN, CHEATS, ESCAPES, HONEST, WAYS, F, G

FOUND = sandbox.probe()
LOCKED = {"landlock", "seccomp"} <= set(FOUND["obtained"])
needs_lock = pytest.mark.skipif(
    not LOCKED, reason=f"this kernel gives {FOUND['obtained']}; Landlock and seccomp are needed"
)


@exercise("f", points={"a": 2, "b": 1}, limit_s=1.0)
def f(rng):
    for _ in range(3):
        yield Case("a", x=rng.normal(size=3), y=float(rng.normal()))
    yield Case("b", x=rng.normal(size=()), y=2.0)


@f.answer
def _(x, y):
    return x * y


@exercise("g", points={"all": 1}, limit_s=1.0)
def g(rng):
    for _ in range(2):
        yield Case("all", x=float(rng.normal()))


@g.answer
def _(x):
    return 2 * x


with_little_time = copy.copy(f)
with_little_time.limit_s = 0.3
"""For cells of which it is known that f gets nothing, and that some of them loop."""


WAITING = (
    *("waits", "a loop in the cell", "memory, bit by bit", "a loop that swallows everything"),
    *("a long computation in C", "a stolen request"),
    *("a program in the background", "threads"),
)
"""Of these the grader waits until their time is over, or starts a server of their own: they belong
to the whole suite.
"""


def quick_ones(table) -> list:
    """The names of a table, with those marked that take long."""
    return [
        pytest.param(name, marks=[pytest.mark.whole] if name in WAITING else []) for name in table
    ]


@pytest.fixture(scope="module")
def library(libraries_folder):
    with made_once(libraries_folder):
        return stripped_library.library(())


@pytest.fixture(scope="module")
def server(library):
    process = process_server.Server(library, False)
    yield process
    process.close()


@pytest.fixture
def run(server, monkeypatch):
    """Runs cells; returns the outcome. The limits are shorter than in grading, so that the tests
    are.
    """
    monkeypatch.setattr(supervisor, "CELL_S", 1.0)

    def run_(
        *cells: str, beside=(), exercises=(f, g), least="process"
    ) -> supervisor.SubmissionResult:
        work = supervisor.Work(
            [(f"cell {i}", cell) for i, cell in enumerate(cells, 1)],
            [(e, e.cases(np.random.default_rng(5))) for e in exercises],
            dict(beside),
        )
        outcome = supervisor.SubmissionResult()
        supervisor.SubmissionRun(server, work, outcome, least).run()
        assert list(server.base.iterdir()) == [], "a submission left files behind"
        return outcome

    return run_


def points(outcome) -> tuple[float, float]:
    return tuple(
        judge(e, e.cases(np.random.default_rng(5)), outcome.returned[e.name]).points for e in (f, g)
    )


def kinds(outcome, name: str) -> set[str]:
    return {returned.kind for returned in outcome.returned[name]}


# ------------------------------------------------------------------------------------------- honest


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_gets_everything(run, name):
    outcome = run(*HONEST[name])
    assert points(outcome) == (3, 1), (outcome.cells, outcome.returned)
    assert outcome.flags == []
    assert outcome.stops == 0


def test_work_that_changes_its_arguments_is_told_so(run):
    outcome = run("def f(x, y):\n    x *= y\n    return x", "g = lambda x: 2 * x")
    assert points(outcome) == (0, 1)
    assert kinds(outcome, "f") == {"changed"}
    assert outcome.returned["f"][0].error.startswith("`f` changed its argument `x` in place.")


def test_work_that_a_drive_calls_must_keep_its_arguments_too(run):
    sgd = known()["sgd"]
    right = run("def sgd(p, g, s):\n    return p - 0.05 * g", exercises=(sgd,))
    wrong = run("def sgd(p, g, s):\n    p -= 0.05 * g\n    return p", exercises=(sgd,))
    assert kinds(right, "sgd") == {""}
    assert kinds(wrong, "sgd") == {"changed"}


def test_files_beside_the_notebook_can_be_used_and_shadow_nothing(run, tmp_path):
    for name, content in {
        "numpy.py": "raise SystemExit",
        "random.py": "raise SystemExit",
        "mine.py": "two = 2",
        "data.txt": "2",
    }.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "link.txt").symlink_to("/etc/hostname")
    cells = (
        "import random, numpy, mine, os\nassert not os.path.exists('link.txt')\n" + F,
        "def g(x):\n    return mine.two * x",
    )
    assert points(run(*cells, beside={p.name: p for p in sorted(tmp_path.iterdir())})) == (3, 1)


# -------------------------------------------------------------------- wrong and broken: g is honest


@pytest.mark.parametrize("name", quick_ones(BROKEN))
def test_a_bad_exercise_costs_only_itself(run, name):
    source, expected = BROKEN[name]
    outcome = run(source, G, exercises=(with_little_time, g))
    assert points(outcome) == (0, 1), (outcome.cells, outcome.returned)
    assert kinds(outcome, "f") <= expected, outcome.returned["f"]
    assert all(returned.error or not returned.kind for returned in outcome.returned["f"]), (
        "each failure has a sentence"
    )


@pytest.mark.whole
def test_one_group_that_loops_leaves_the_other_its_points(run):
    assert points(run("def f(x, y):\n    while x.ndim == 0: pass\n    return x * y", G)) == (2, 1)


def test_the_killer_is_left_out_and_the_rest_of_the_cells_run_again(run):
    outcome = run("n = 2", "import os\nos._exit(3)", F, "def g(x):\n    return n * x")
    assert points(outcome) == (3, 1)
    assert "status 3" in outcome.cells["cell 2"]
    assert outcome.stops == 1


def test_what_is_missing_says_in_which_cell_it_was(run):
    outcome = run("1 / 0\n" + F, G)
    assert "ZeroDivisionError" in outcome.returned["f"][0].error
    assert "cell 1" in outcome.returned["f"][0].error
    assert outcome.returned["f"][0].kind == "raised", "it has been written, though it does not run"
    outcome = run("f(1) + 1 / 0", G)
    assert outcome.returned["f"][0].kind == "missing", "a cell that only uses it has not written it"


def test_many_killers_end_the_hand_in_after_a_bounded_time(run, monkeypatch):
    monkeypatch.setattr(supervisor, "STOPS", 3)
    outcome = run(*["import os\nos._exit(1)"] * 20, F, G)
    assert outcome.stops == 4
    assert "had to be stopped" in outcome.returned["f"][0].error


def test_cells_have_an_allowance_together_and_what_they_defined_is_asked_for(run, monkeypatch):
    monkeypatch.setattr(supervisor, "SUBMISSION_S", 0.5)
    burn = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    outcome = run(F, G, *[burn] * 6)
    late = [name for name, said in outcome.cells.items() if "took all the time" in said]
    assert late == ["cell 5", "cell 6", "cell 7", "cell 8"] and points(outcome) == (3, 1)


def test_who_sleeps_does_not_keep_the_others_waiting(run, monkeypatch):
    """What a submission may wait is counted over all its steps and processes; one that it may not
    end costs itself alone.
    """
    monkeypatch.setattr(student_process, "STEP_WAITS_S", 0.4)
    monkeypatch.setattr(supervisor, "CELLS_WAIT_S", 1.0)
    monkeypatch.setattr(supervisor, "SUBMISSION_WAITS_S", 1.3)
    nap = "import time\ntime.sleep(0.3)"
    outcome = run(F, *[nap] * 6, G)
    assert set(outcome.cells) == {"cell 6", "cell 7", "cell 8"} and points(outcome) == (3, 0)
    assert all("took all the time" in said for said in outcome.cells.values())
    outcome = run("import time\ndef f(x, y):\n    time.sleep(0.35)\n    return x * y", G)
    assert "the whole submission may wait for 1.3 seconds" in outcome.returned["g"][-1].error
    outcome = run(F, "import time\nwhile True: time.sleep(1)", G)
    assert "without computing anything" in outcome.cells["cell 2"] and points(outcome) == (3, 1)
    assert outcome.asleep == {"cell 2"} and 0.4 <= outcome.waited < 1.0


@pytest.mark.whole
def test_who_has_to_queue_for_a_processor_does_not_wait(run):
    """Four programs on each processor; the cell computes for 0.3 seconds."""
    burn = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass"
    others = [
        subprocess.Popen(
            [sys.executable, "-c", f"print(1, flush=True)\n{burn.format(60)}"],
            stdout=subprocess.PIPE,
            start_new_session=True,  # Linux may share processors among sessions
        )
        for _ in range(3 * (os.cpu_count() or 1))
    ]
    try:
        for other in others:
            other.stdout.read(1)  # it has begun
        began = time.monotonic()
        outcome = run(burn.format(0.3), F, G)
        assert time.monotonic() - began > 0.5 and points(outcome) == (3, 1)
        assert outcome.waited < 0.15
    finally:
        for other in others:
            other.kill()
            other.communicate()


@pytest.mark.whole
def test_who_closes_the_pipe_is_not_told_of_memory(run):
    outcome = run("import os, time\ndef f(x, y):\n    os.close(4)\n    time.sleep(9)", G)
    assert "closed its connection to the grader" in outcome.returned["f"][0].error


def test_a_pipe_full_of_junk_is_not_read_for_ever(run, monkeypatch):
    monkeypatch.setattr(student_process, "JUNK_BYTES", 50_000)
    outcome = run(
        "import os\ndef f(x, y):\n    for _ in range(40):\n        os.write(4, b'{}' + b' ' * 2000"
        " + b'\\n')\n    return x * y",
        G,
    )
    assert kinds(outcome, "f") <= {"died", "time"} and points(outcome) == (0, 1)


def test_all_answers_together_have_a_limit(run, monkeypatch):
    monkeypatch.setattr(supervisor, "ANSWER_BYTES", 30_000)
    outcome = run("def f(x, y):\n    return x * y if len(str(y)) < 2 else [0.5] * 2000", G)
    said = [returned.error for returned in outcome.returned["f"]]
    assert said[0] == "" and said[-1] == "All that was returned is longer than 30,000 bytes."


def test_a_timer_that_is_left_running_does_not_end_the_next_step(run):
    bang = (
        "import signal\ndef bang(*a): raise ZeroDivisionError\nsignal.signal(signal.SIGALRM,"
        " bang)\n"
    )
    bang += "signal.setitimer(signal.ITIMER_REAL, 0.05, 0.001)"
    slow = (
        "import time\ndef g(x):\n    end = time.monotonic() + 0.1\n    while time.monotonic() <"
        " end: pass\n    return 2 * x"
    )
    assert points(run(bang, F, slow)) == (3, 1)


def test_a_large_file_beside_the_notebook_does_not_cost_the_small_ones(run, tmp_path, monkeypatch):
    monkeypatch.setattr(student_process, "FOLDER_BYTES", 20_000)
    (tmp_path / "a-large.bin").write_bytes(bytes(15_000))
    (tmp_path / "mine.py").write_text("two = 2")
    assert points(
        run(
            F,
            "import mine\ndef g(x):\n    return mine.two * x",
            beside={p.name: p for p in sorted(tmp_path.iterdir())},
        )
    ) == (3, 1)


def test_more_files_than_anybody_needs_are_stopped(run, monkeypatch):
    monkeypatch.setattr(student_process, "FOLDER_FILES", 100)
    outcome = run(
        F, "import time\nfor n in range(200): open(f'f{n}', 'w').close()\ntime.sleep(0.5)\n" + G
    )
    assert outcome.cells == {"cell 2": "It made more than 100 files."} and points(outcome) == (3, 0)


@pytest.mark.whole
def test_what_is_printed_is_kept_up_to_a_limit(run):
    assert len(run("while True: print('x' * 1000)", F, G).printed) <= supervisor.PRINTED
    assert run("print('hello')", F, G).printed == "hello\n"


def test_times_are_taken_from_outside(run):
    slow = """
import time
time.perf_counter = time.process_time = time.monotonic = lambda: 0.0
def f(x, y):
    n = sum(range(3_000_000))
    return x * y
"""
    outcome = run(slow, G)
    assert points(outcome) == (3, 1)
    assert all(
        0.005 < returned.cpu_s < 1 and returned.wall_s >= 0.005
        for returned in outcome.returned["f"]
    )
    assert all(returned.cpu_s < 0.01 for returned in outcome.returned["g"])


# ----------------------------------------------------------------------------------------- cheating


@pytest.mark.parametrize("name", quick_ones(CHEATS))
def test_cheating_pays_nothing(run, name):
    outcome = run(CHEATS[name], G, exercises=(with_little_time, g))
    mine, honest = points(outcome)
    assert mine == 0, outcome.returned["f"]
    # Who takes the process apart that all of the submission's calls share may lose the others too.
    assert honest == 1 or name in ("a patched encoder", "a pickle"), outcome.returned["g"]


def test_looking_around_is_noted_and_changes_no_points(run):
    outcome = run(
        "import sys, gc, ctypes\nsys._getframe(0)\ngc.get_objects()\nctypes.CDLL(None)\n"
        "try:\n    open('/etc/passwd')\nexcept OSError: pass\n" + F,
        G,
    )
    assert points(outcome) == (3, 1)
    text = " ".join(outcome.flags)
    for word in ("frames", "memory", "C library", "/etc/passwd"):
        assert word in text


ENDS = {
    "loops": "while True: pass",
    "exits": "os._exit(0)",
    "crashes": "os.abort()",
    "closes its pipes": "os.closerange(3, 20)",
}


@pytest.mark.parametrize(
    ("end", "where"), [*((end, "cell") for end in ENDS), ("loops", "call"), ("exits", "call")]
)
def test_what_a_step_did_that_did_not_come_back_is_noted(run, where, end):
    """It was lost with the step's answer: who looked around had only to end the process."""
    first = {"cell": "if True", "call": "def f(x, y)"}[where]
    outcome = run(
        f"import gc, os\n{first}:\n    gc.get_objects()\n    {ENDS[end]}",
        G,
        exercises=(with_little_time, g),
    )
    assert outcome.stops > 0
    assert outcome.flags == ["looked through Python's memory"]


def test_no_more_than_a_few_flags_are_kept(run):
    forged = "import os\nfor i in range(3, 20):\n    for n in range(50):\n        try: "
    forged += 'os.write(i, b\'{"flag":"%d"}\\n\' % n)\n        except OSError: break\n'
    outcome = run(forged + F, G)
    assert len(outcome.flags) == 20


def test_bubblewrap_mounts_nothing_twice(library, tmp_path, monkeypatch):
    """Hundreds of mounts for the entries of one folder took 0.3 s for each cold start."""
    monkeypatch.setattr(shutil, "which", lambda name: name)
    readable = process_server.python_paths(library)
    command = process_server.bubblewrap(library, tmp_path, readable)
    mounted = [path for flag, path in pairwise(command) if flag == "--ro-bind"]
    assert len(set(mounted)) == len(mounted)
    for path in mounted:
        assert not set(mounted) & set(map(str, Path(path).parents)), path
    for path in [*readable, os.path.realpath(sys.executable)]:
        assert set(mounted) & {path, *map(str, Path(path).parents)}, path


EVERYDAY = {
    "versions": (
        "from importlib.metadata import version\n"
        "try: version('numpy')\nexcept Exception: pass\nfrom numpy import *"
    ),
    "a profiler": "import cProfile\ncProfile.run('1 + 1')",
    "doctest": "import doctest\ndef double(x):\n    '>>> double(1)'\ndoctest.testmod()",
    "types of files": "import mimetypes\nassert mimetypes.guess_type('a.png')[0] == 'image/png'",
}


@pytest.mark.parametrize("name", EVERYDAY)
def test_what_python_s_own_modules_do_is_not_noted(run, name):
    outcome = run(EVERYDAY[name], F, G)
    assert points(outcome) == (3, 1)
    assert (outcome.flags, outcome.cells) == ([], {})


# ------------------------------------------------------------------------------------------ hostile


@pytest.fixture
def listener():
    """A server on this machine; counts who connects."""
    hits = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        stop = threading.Event()

        def accept():
            while not stop.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                connection.close()
                hits.append(1)

        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1], hits
        stop.set()
        thread.join()


@needs_lock
def test_nothing_outside_is_touched(run, tmp_path, listener):
    port, hits = listener
    book = tmp_path / "gradebook.db"
    book.write_text("grades")
    marker, pid, me = tmp_path / "marker", os.getpid(), os.environ.get("HOME", "/")
    hostile = f"""
import os, socket, signal, subprocess, ctypes, time, urllib.request
def attempt(action):
    try: action()
    except BaseException: pass
libc = ctypes.CDLL(None)
for action in (
    lambda: open({str(book)!r}, "w").write("full marks"), lambda: open({str(marker)!r}, "w"),
    lambda: os.unlink({str(book)!r}),
    lambda: os.chmod({str(book)!r}, 0), lambda: os.truncate({str(book)!r}, 0),
    lambda: os.utime({str(book)!r}, (0, 0)),
    lambda: os.symlink({str(book)!r}, "mine") or open("mine", "w").write("x"),
    lambda: os.link({str(book)!r}, "hard") or open("hard", "w"),
    lambda: libc.open({str(marker)!r}.encode(), 0o101, 0o666), lambda: open("../marker", "w"),
    lambda: open({me!r} + "/.marker", "w"),
    lambda: socket.create_connection(("127.0.0.1", {port}), 1),
    lambda: urllib.request.urlopen("http://127.0.0.1:{port}/", timeout=1),
    lambda: os.kill({pid}, signal.SIGKILL), lambda: os.kill(os.getppid(), signal.SIGKILL),
    lambda: os.killpg(os.getpgrp(), signal.SIGTERM),
    lambda: libc.kill({pid}, 9), lambda: libc.syscall(62, {pid}, 9),
    lambda: libc.ptrace(16, {pid}, 0, 0),
    lambda: open("/proc/{pid}/mem", "rb").read(1), lambda: open("/proc/{pid}/environ").read(),
    lambda: subprocess.run(["touch", {str(marker)!r}]),
    lambda: os.system("touch " + {str(marker)!r}),
    lambda: os.fork(), lambda: os.forkpty(),
    lambda: [os.fork() for _ in range(20)], lambda: os.setsid(),
    lambda: os.posix_spawn("/bin/sh", ["sh", "-c", "sleep 77"], {{}}),
):
    attempt(action)
"""
    before = threading.active_count()
    outcome = run(hostile, F, G, least="confined")
    assert points(outcome) == (3, 1)
    assert outcome.stops == 0, outcome.cells
    assert book.read_text() == "grades"
    assert not marker.exists()
    assert not (Path(me) / ".marker").exists()
    assert hits == []
    assert threading.active_count() == before
    text = " ".join(outcome.flags)
    for word in ("program", "network", "signal", "outside its folder"):
        assert word in text


def descendants(pid: int) -> list[int]:
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            found += [child, *descendants(child)]
    return found


@needs_lock
@pytest.mark.parametrize("name", ESCAPES)
def test_no_process_is_left_behind(run, server, name):
    outcome = run(ESCAPES[name], F, G)
    assert points(outcome) == (3, 1)
    assert descendants(server.process.pid) == []


@pytest.mark.unix
@pytest.mark.parametrize("name", quick_ones(["a daemon", "a program in the background", "threads"]))
def test_no_process_is_left_behind_where_forking_cannot_be_forbidden(
    library, monkeypatch, tmp_path, name
):
    """The server adopts orphans and ends them, at the level "process" too."""
    broken = tmp_path / "library"
    shutil.copytree(library, broken, symlinks=True)
    source = (broken / "untrusted" / "sandbox.py").read_text()
    (broken / "untrusted" / "sandbox.py").write_text(
        source.replace('    if not sys.platform.startswith("linux"):', "    if True:", 1)
    )
    server = process_server.Server(broken, False)
    try:
        work = supervisor.Work(
            [("cell 1", ESCAPES[name]), ("cell 2", F), ("cell 3", G)],
            [(e, e.cases(np.random.default_rng(5))) for e in (f, g)],
        )
        outcome = supervisor.SubmissionResult()
        supervisor.SubmissionRun(server, work, outcome, "process").run()
        assert outcome.level == "process"
        assert points(outcome) == (3, 1), outcome
        assert descendants(server.process.pid) == []
        with pytest.raises(sandbox.SandboxError, match='"process" here'):
            supervisor.SubmissionRun(server, work, supervisor.SubmissionResult(), "confined").run()
    finally:
        server.close()


def test_many_files_are_stopped(run, monkeypatch):
    monkeypatch.setattr(student_process, "FOLDER_BYTES", 4 << 20)
    outcome = run(
        "import time\nfor i in range(30):\n    open(str(i), 'wb').write(bytes(1 << 20))\n   "
        " time.sleep(0.02)",
        F,
        G,
    )
    assert points(outcome) == (3, 1)
    assert "files" in outcome.cells["cell 1"]


def test_removing_a_folder_changes_nothing_around_it(tmp_path):
    around = tmp_path / "around"
    closed = around / "folder" / "a" / "closed"
    closed.mkdir(parents=True)
    (closed / "file").write_text("x")
    (around / "folder" / "link").symlink_to(tmp_path)
    closed.chmod(0)
    closed.parent.chmod(0o500)
    around.chmod(0o755)
    folders.remove(around / "folder")
    assert list(around.iterdir()) == []
    folders.remove(around / "folder")  # it is not there any more
    assert stat.S_IMODE(around.stat().st_mode) == 0o755
    assert tmp_path.is_dir()


@pytest.mark.whole
def test_the_server_survives_its_children(run, server):
    pid = server.process.pid
    for source in (
        "import os\nos._exit(1)",
        "import ctypes\nctypes.string_at(0)",
        "while True: pass",
    ):
        assert points(run(source, F, G)) == (3, 1)
    assert server.process.pid == pid
    assert server.process.poll() is None


def test_one_hand_in_leaves_nothing_for_the_next(run):
    run(
        "import numpy, minigrad, builtins, sys\nnumpy.mine = minigrad.mine = builtins.mine ="
        " sys.mine = 1\nopen('left', 'w').write('x')",
        F,
        G,
    )
    cells = (
        (
            "import numpy, minigrad, builtins, sys, os\nclean = not any(hasattr(m, 'mine') for m in"
            " (numpy, minigrad, builtins, sys)) and not os.path.exists('left')"
        ),
        "f = (lambda x, y: x * y) if clean else None",
        G,
    )
    assert points(run(*cells)) == (3, 1)


def test_the_process_sees_no_answers_and_no_other_packages(run):
    look = """
import sys, os, importlib.util
assert not any("judge" in m or "sheet" in m or m.startswith("lessons")
    for m in sys.modules), sys.modules
for name in ("torch", "pytest", "jax", "scipy"):
    assert importlib.util.find_spec(name) is None, name
for folder in sys.path:
    if os.path.isdir(folder) and "lib/python" not in folder:
        assert not {"lessons", "judge.py"} & set(os.listdir(folder)), folder
assert "HOME" in os.environ and not any("SECRET" in k or "TOKEN" in k or "KEY" in k
    for k in os.environ)
"""
    outcome = run(look, F, G)
    assert outcome.cells == {}


@pytest.mark.unix
def test_the_server_ends_when_the_grader_closes_its_pipe(library):
    server = process_server.Server(library, False)
    pid, base = server.process.pid, server.base
    start = time.monotonic()
    server.close()
    assert time.monotonic() - start < 4
    assert not base.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(sandbox.SandboxError):
        server.command(do="cpu")


LOADED = "import sys\nloaded = {'minigrad.nn', 'asyncio', 'minigrad.watch'} & set(sys.modules)\n"


@pytest.mark.unix
@pytest.mark.parametrize(
    ("use", "loaded"),
    [
        ("import minigrad", set()),
        ("from minigrad import nn\nnn.Linear(1, 1)", {"minigrad.nn"}),
        ("import asyncio\nawait asyncio.sleep(0)", {"asyncio"}),
    ],
)
def test_a_server_of_one_submission_loads_what_its_program_names(library, use, loaded):
    cells = [LOADED + f"assert loaded == {loaded}, loaded", use, "import minigrad.watch\n" + F, G]
    server = process_server.Server(library, False, program="\n".join([use, F, G]))
    try:
        work = supervisor.Work(
            [(f"cell {i}", cell) for i, cell in enumerate(cells)],
            [(e, e.cases(np.random.default_rng(5))) for e in (f, g)],
        )
        outcome = supervisor.SubmissionResult()
        supervisor.SubmissionRun(server, work, outcome, "process").run()
    finally:
        server.close()
    assert (outcome.cells, outcome.flags, points(outcome)) == ({}, [], (3, 1))


# ----------------------------------------------------------------------------------- what is absent


@pytest.fixture(scope="module")
def stripped(running):
    names = (
        "minigrad.sin",
        "minigrad.Tensor.backward",
        "minigrad.autograd.grad",
        "minigrad.func.vjp",
    )
    folder = stripped_library.make(names)
    process = process_server.Server(folder, False)
    yield process
    process.close()
    folders.remove(folder)


@exercise("h", points={"all": 1}, limit_s=2.0)
def h(rng):
    yield Case("all", x=float(rng.normal()))


@h.answer
def _(x):
    return float(np.cos(x))


@pytest.mark.parametrize("name", WAYS)
def test_what_is_forbidden_is_not_there(stripped, name):
    work = supervisor.Work([("cell 1", WAYS[name])], [(h, h.cases(1))])
    outcome = supervisor.SubmissionResult()
    supervisor.SubmissionRun(stripped, work, outcome, "process").run()
    (returned,) = outcome.returned["h"]
    if (
        name == "gc"
    ):  # the server has put the library's objects where the garbage collector does not look
        assert returned.kind == "raised", returned
        return
    assert returned.kind == "forbidden", returned
    assert "what you are asked to write" in returned.error


def test_the_rest_of_the_library_still_works(stripped):
    work = supervisor.Work(
        [
            (
                "cell 1",
                (
                    "import minigrad as mg\ndef h(x):\n    return mg.cos(mg.tensor(x,"
                    " dtype=mg.float64)).item()"
                ),
            )
        ],
        [(h, h.cases(1))],
    )
    outcome = supervisor.SubmissionResult()
    supervisor.SubmissionRun(stripped, work, outcome, "process").run()
    assert outcome.returned["h"][0].kind == "", outcome.returned
    assert judge(h, h.cases(1), outcome.returned["h"]).points == 1


@pytest.mark.parametrize(
    "name", ["minigrad.nothing", "numpy.sin", "minigrad", "minigrad.Tensor.nothing"]
)
def test_a_name_that_is_not_there_cannot_be_forbidden(name):
    with pytest.raises(stripped_library.SheetError, match="forbid"):
        stripped_library.make((name,))
