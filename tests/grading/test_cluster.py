"""A class on a Dask cluster: workers die, leave and join, and nothing is lost."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from minigrad.lessons.grading import grades, sandbox
from minigrad.lessons.grading.cluster import ClusterError, connected, grade_elsewhere
from minigrad.lessons.grading.exercise import SheetError
from minigrad.lessons.grading.journal import read

from minigrad.cli import main
from tests.helpers.small_class import MAX, F, G, hand_in, notebook, write_sheet

LEAST = "confined" if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else "process"
COUNT = 60
"""A worker that dies loses the few submissions that it holds, however large the class is."""
ROOT = Path(__file__).parents[2]
needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None,
    reason="Dask is not installed: pip install 'minigrad[cluster]'",
)


class Cluster:
    """A scheduler and workers on this machine, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file, self.workers = folder, folder / "scheduler.json", []
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        self._wait(self.file.exists)
        self.address = json.loads(self.file.read_text())["address"]

    def _start(self, what: str, *more: str) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *more]
        log = (self.folder / f"{what}.log").open("ab")
        with log:
            return subprocess.Popen(
                [*command, "--scheduler-file", str(self.file)], cwd=ROOT, stdout=log, stderr=log,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )  # fmt: skip

    def join(self) -> None:
        more = ["--nthreads", "1", "--no-nanny", "--local-directory", str(self.folder)]
        self.workers.append(self._start("worker", *more))

    def lose(self, number: int, how: signal.Signals) -> None:
        self.workers[number].send_signal(how)

    @staticmethod
    def _wait(ready, seconds: float = 60.0) -> None:
        until = time.monotonic() + seconds
        while not ready():
            assert time.monotonic() < until, "it does not start"
            time.sleep(0.05)

    def close(self) -> None:
        for group in (self.workers, [self.scheduler]):  # a worker without a scheduler looks for it
            for process in group:
                process.terminate()
            for process in group:
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


@pytest.fixture
def cluster(tmp_path):
    (tmp_path / "dask").mkdir()
    found = Cluster(tmp_path / "dask")
    yield found
    found.close()


@needs_dask
@pytest.mark.unix
@pytest.mark.whole
def test_workers_that_die_leave_and_join_lose_nothing(cluster, tmp_path):
    sheet, out = write_sheet(tmp_path / "sheet"), tmp_path / "out"
    expected = {}
    for n in range(COUNT):
        wrong = n % 5 == 0
        answers = {"f": f"# {n}\n{F}", "g": "def g(x):\n    return x" if wrong else G}
        hand_in(tmp_path / "submitted", f"s{n:04}", notebook(answers))
        expected[f"s{n:04}"] = MAX - 2 * wrong
    for _ in range(2):
        cluster.join()
    trust = [] if LEAST == "confined" else ["--trust-students"]
    command = [sys.executable, "-m", "minigrad", "grade", "run", str(sheet)]
    command += [str(tmp_path / "submitted"), "--out", str(out), "--cluster", cluster.address]
    changes = [
        (0.1, lambda: cluster.lose(0, signal.SIGKILL)), (0.2, cluster.join),
        (0.5, lambda: cluster.lose(1, signal.SIGTERM)),
    ]  # fmt: skip
    with subprocess.Popen(
        [*command, *trust], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        journal = out / "journal.jsonl"
        while process.poll() is None:
            time.sleep(0.1)
            lines = journal.read_bytes().count(b'"kind":"hand-in"') if journal.exists() else 0
            if changes and lines >= changes[0][0] * COUNT:
                changes.pop(0)[1]()
        said = process.stdout.read()
    assert process.returncode == 0, said[-3000:]
    assert not changes, "the class was graded before all workers had changed"
    assert {r.student: r.points for r in grades.graded(out, sheet)} == expected
    lines = [line["student"] for line in read(journal) if line["kind"] == "hand-in"]
    assert sorted(lines) == sorted(expected), "each once"


@needs_dask
@pytest.mark.whole
def test_a_scheduler_that_does_not_answer_is_named(tmp_path, capsys, monkeypatch):
    from minigrad.lessons.grading import cluster

    monkeypatch.setattr(cluster, "PATIENCE_S", 1)
    sheet = write_sheet(tmp_path / "sheet")
    hand_in(tmp_path / "submitted", "ada", notebook({}))
    command = ["grade", "run", str(sheet), str(tmp_path / "submitted"), "--out", str(tmp_path)]
    assert main([*command, "--cluster", "tcp://127.0.0.1:9"]) == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_without_dask_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install 'minigrad\[cluster\]'"), connected("x"):
        pass


def test_a_worker_without_the_files_or_with_others_says_so(tmp_path):
    sheet = write_sheet(tmp_path / "sheet")
    job = {"sheet": str(sheet), "path": str(tmp_path / "not here.ipynb"), "hash": "", "wrap": False}
    with pytest.raises(SheetError, match=r"does not see .*not here\.ipynb: put it into a shared"):
        grade_elsewhere(job)
    with pytest.raises(SheetError, match=r"has another edition of .*sheet\.py"):
        grade_elsewhere(job | {"path": None})
