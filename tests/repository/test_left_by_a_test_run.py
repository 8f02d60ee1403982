"""A run of the test suite leaves no process and no temporary file, however it ends; what its
tests leave fails it, by name.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers import signals

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.unix,
    pytest.mark.skipif(
        not Path("/proc/self/environ").exists(),
        reason="what is left is found in /proc, which Linux has",
    ),
]

TESTS = """
import subprocess, sys, tempfile, time
from pathlib import Path
import pytest

def sleeper(name):
    return subprocess.Popen(
        [sys.executable, "-c", f"import time; time.sleep(600) # {{name}} {marker}"],
        start_new_session=True)

@pytest.fixture(scope="session")
def server():
    process = sleeper("server")
    yield process
    Path({marker!r} + ".down").touch()
    process.terminate()
    process.wait()

@pytest.mark.parametrize("number", range(2))
def test_with_a_server(server, number, tmp_path):
    tempfile.mkdtemp()
    (tmp_path / "file").write_text("")
    Path({marker!r} + ".busy").touch()
    {work}
"""
WAIT, PASS = "time.sleep(600)", "pass"
LEAVE = "process = sleeper('left'); process.returncode = 0"


@pytest.fixture
def suite(tmp_path, request):
    """A function that begins a run of a suite with this one's conftest.py, and how many
    processes of it there are.
    """
    marker = tmp_path / "marker"
    for part in ("tests", "temporary"):
        (tmp_path / part).mkdir()
    conftest = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    assert "\nPATIENCE_S = 5.0\n" in conftest
    conftest = conftest.replace("\nPATIENCE_S = 5.0\n", "\nPATIENCE_S = 0.2\n")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    begun = []

    def start(work: str, *options: str, more: str = "") -> subprocess.Popen:
        (tmp_path / "tests" / "conftest.py").write_text(conftest + more)
        (tmp_path / "tests" / "test_of_it.py").write_text(
            TESTS.format(marker=str(marker), work=work.format(marker=str(marker)))
        )
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        environment = {
            **os.environ,
            "TMPDIR": str(tmp_path / "temporary"),
            "PYTHONPATH": path,
            "PYTEST_ADDOPTS": "",
        }
        for name in [name for name in environment if name.startswith("PYTEST_XDIST")]:
            del environment[name]
        command = [sys.executable, "-m", "pytest", "-q", *options, "tests"]
        begun.append(
            process := subprocess.Popen(
                command,
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
                preexec_fn=signals.heed,
            )
        )
        return process

    yield start
    for process in begun:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert _processes(tmp_path) == []


def _processes(folder: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line:
            found.append(line)
    return found


def _leaves_nothing(folder: Path) -> None:
    assert _processes(folder) == []
    assert list((folder / "temporary").iterdir()) == []


WORKERS = [
    pytest.param(("-p", "no:xdist"), id="without xdist"),
    pytest.param(
        ("-n2",),
        id="with xdist",
        marks=[
            pytest.mark.whole,
            pytest.mark.skipif(
                not importlib.util.find_spec("xdist"), reason="pytest-xdist is not installed"
            ),
        ],
    ),
]


@pytest.mark.parametrize(
    "how",
    ["SIGTERM", *(pytest.param(name, marks=pytest.mark.whole) for name in ("SIGINT", "SIGHUP"))],
)
@pytest.mark.parametrize("options", WORKERS)
def test_a_run_that_is_interrupted_tears_fixtures_down_and_leaves_nothing(
    suite, tmp_path, options, how
):
    process = suite(WAIT, *options)
    end = time.monotonic() + 120
    while (
        not (tmp_path / "marker.busy").exists()
        and time.monotonic() < end
        and process.poll() is None
    ):
        time.sleep(0.02)
    process.send_signal(getattr(signal, how))
    told = process.communicate(timeout=60)[0]
    assert process.returncode == pytest.ExitCode.INTERRUPTED, told
    assert (tmp_path / "marker.down").exists()
    _leaves_nothing(tmp_path)


FAIL_AND_BLOCK = """assert number
    server.wait = lambda: time.sleep(600)  # the end of the fixture
    Path({marker!r} + ".blocked").touch()
    time.sleep(600)"""
"""The first test fails; the second is interrupted, and its fixture does not end."""
SHORT_GRACE = "\nfrom minigrad.cli import processes\nprocesses.GRACE_S = 0.5\n"


@pytest.mark.parametrize("options", WORKERS)
def test_a_stopped_run_that_cannot_end_names_what_failed(suite, tmp_path, options):
    process = suite(FAIL_AND_BLOCK, *options, more=SHORT_GRACE)
    end = time.monotonic() + 60
    while not (tmp_path / "marker.blocked").exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    told = process.communicate(timeout=60)[0]
    assert process.returncode == pytest.ExitCode.INTERRUPTED, told
    assert "stopped; failed so far: 1\n  tests/test_of_it.py::test_with_a_server[0]\n" in told
    _leaves_nothing(tmp_path)


@pytest.mark.parametrize("options", WORKERS)
def test_what_the_tests_leave_is_ended_and_fails_the_run(suite, tmp_path, options):
    process = suite(LEAVE, *options)
    told = process.communicate(timeout=120)[0]
    assert "2 passed" in told
    assert process.returncode == pytest.ExitCode.TESTS_FAILED, told
    assert told.count("left behind by the tests, and ended now:") == 2
    assert f"left {tmp_path}" in told
    _leaves_nothing(tmp_path)


@pytest.mark.whole
def test_a_green_run_leaves_nothing(suite, tmp_path):
    process = suite(PASS, "-p", "no:xdist")
    told = process.communicate(timeout=120)[0]
    assert process.returncode == 0, told
    _leaves_nothing(tmp_path)
