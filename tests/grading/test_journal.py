"""The journal: what is written is there, whatever happens next."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest
from minigrad.lessons.grading import journal as journal_module
from minigrad.lessons.grading.journal import (
    Journal,
    JournalError,
    last_grades,
    last_submissions,
    read,
)


def line(student: str, **more) -> dict:
    return {"kind": "hand-in", "student": student, **more}


def test_lines_come_back_in_order_and_the_last_one_counts(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        for record in (
            line("bob", n=1),
            line("ada", n=2),
            line("bob", n=3),
            {"kind": "grades", "points": {"bob": {"f": 1.0}}},
        ):
            journal.append(record)
    assert [record.get("n") for record in read(path)] == [1, 2, 3, None]
    assert {name: record["n"] for name, record in last_submissions(path).items()} == {
        "ada": 2,
        "bob": 3,
    }
    assert last_grades(path) == {"bob": {"f": 1.0}}
    assert list(read(tmp_path / "none.jsonl")) == []


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_torn_last_line_is_dropped(tmp_path, cut):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.append(line("ada", text="x" * 100_000))
        journal.append(line("bob", text="y" * 100_000))
    os.truncate(path, path.stat().st_size - cut)
    assert list(last_submissions(path)) == ["ada"]
    with Journal(path) as journal:
        journal.append(line("cem"))
    assert list(last_submissions(path)) == ["ada", "cem"]


def test_a_journal_of_one_torn_line_is_empty(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"v": 1, "ki')
    with Journal(path) as journal:
        journal.append(line("ada"))
    assert list(last_submissions(path)) == ["ada"]


@pytest.mark.parametrize(
    "damage",
    [b"nonsense\n", b"[]\n", b'{"v": 2, "kind": "hand-in"}\n', b"\n", b"[" * 10_000 + b"\n"],
)
def test_a_damaged_line_in_the_middle_is_reported(tmp_path, damage):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.append(line("ada"))
    with path.open("ab") as file:
        file.write(damage)
    with Journal(path) as journal:
        journal.append(line("bob"))
    with pytest.raises(JournalError, match="line 2"):
        last_submissions(path)


LOCKS = [pytest.param(True, marks=pytest.mark.unix, id="fcntl"), pytest.param(False, id="without")]


@pytest.mark.parametrize("unix", LOCKS)
def test_one_grader_at_a_time(tmp_path, monkeypatch, unix):
    if not unix:
        monkeypatch.setattr(journal_module, "fcntl", None)
    with Journal(tmp_path / "j"), pytest.raises(JournalError, match="another grader"):
        Journal(tmp_path / "j")
    with Journal(tmp_path / "j"):
        pass


HOLD = """
import sys, time
from pathlib import Path
from minigrad.lessons.grading import journal
if sys.argv[2] == "False":
    journal.fcntl = None
with journal.Journal(Path(sys.argv[1])) as held:
    held.append({"kind": "hand-in", "student": "ada"})
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("unix", LOCKS)
def test_a_grader_that_is_killed_holds_the_journal_no_more(tmp_path, monkeypatch, unix):
    if not unix:
        monkeypatch.setattr(journal_module, "fcntl", None)
    path = tmp_path / "j"
    arguments = [sys.executable, "-c", HOLD, str(path), str(unix)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "held\n"
            with pytest.raises(JournalError, match="another grader"):
                Journal(path)
            assert list(last_submissions(path)) == ["ada"], "it can be read meanwhile"
        finally:
            other.kill()
    with Journal(path) as journal:
        journal.append(line("bob"))
    assert list(last_submissions(path)) == ["ada", "bob"]


def test_what_is_no_json_is_not_written(tmp_path):
    with Journal(tmp_path / "j") as journal:
        with pytest.raises(ValueError, match="JSON"):
            journal.append(line("ada", value=float("nan")))
        journal.append(line("bob", text="\ud800"))
    assert list(last_submissions(tmp_path / "j")) == ["bob"]


def test_others_cannot_read_it(tmp_path):
    with Journal(tmp_path / "j"):
        assert (tmp_path / "j").stat().st_mode & 0o077 == 0


def _write_for_ever(path) -> None:
    with Journal(path) as journal:
        for n in range(10**9):
            journal.append(line(str(n), text="x" * 5000))


@pytest.mark.unix
def test_killed_at_any_moment_it_keeps_every_whole_line(tmp_path):
    path = tmp_path / "j"
    for pause in (0.05, 0.1):
        process = multiprocessing.get_context("spawn").Process(target=_write_for_ever, args=(path,))
        process.start()
        before = path.stat().st_size if path.exists() else 0
        while not path.exists() or path.stat().st_size < before + 20_000:
            time.sleep(0.01)
        time.sleep(pause)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with Journal(path):
            pass
        data = path.read_bytes()
        assert data.endswith(b"\n")
        assert all(len(json.loads(text)["text"]) == 5000 for text in data.splitlines())
