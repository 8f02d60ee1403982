"""A class is graded: the same grades from every pool, after every crash, from the journal alone,
and as a plain user.
"""

import concurrent.futures
import contextlib
import csv
import dataclasses
import json
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest
from minigrad.lessons.grading import grade_tables, one_submission, run, sandbox, stripped_library
from minigrad.lessons.grading.exercise import NOT_RUN, SheetError
from minigrad.lessons.grading.grades import Graded
from minigrad.lessons.grading.journal import last_submissions, read
from minigrad.lessons.grading.marks import Mark, enter, last_marks

from minigrad.cli import main
from tests.helpers.small_class import MAX, SHEET, F, G, hand_in, notebook, write_sheet

LEAST = "confined" if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else "process"
OPTIONS = run.Options(least=LEAST, jobs=1, wrap=False)
"""Bubblewrap costs a start of NumPy each time: one class is graded with it (graded_once), and
test_isolation_full.py is about it.
"""

CLASS = {
    "right": (notebook({}), 7.0),
    "other style": (notebook({"f": "f = lambda x, y: y * x"}), 7.0),
    "one wrong": (notebook({"g": "def g(x):\n    return x"}), 5.0),
    "one group": (
        notebook(
            {"f": "import numpy as np\ndef f(x, y):\n    return x * y if np.ndim(x) else 0.0"}
        ),
        6.0,
    ),
    "not started": (notebook({"f": "f = ...", "g": "g = ...", "Counter": "Counter = ..."}), 0.0),
    "exits": (notebook({"g": "import os\nos._exit(0)"}), 5.0),
    "wrong class": (
        notebook(
            {
                "Counter": (
                    "class Counter:\n    total = calls = 0\n    def add(self, n): self.total = n"
                )
            }
        ),
        5.0,
    ),
    "calls the library": (
        notebook({"f": "import minigrad as mg\ndef f(x, y):\n    return mg.mul(mg.tensor(x), y)"}),
        4.0,
    ),
    "prints points": (notebook({"f": "print('{\"points\": 100}')\nf = 100"}), 4.0),
    "no notebook": ("{}", 0.0),
    "=formula": (notebook({}), 7.0),
}


@pytest.fixture
def files(tmp_path):
    """A sheet and a class of submissions: (sheet, submitted, out)."""
    sheet = write_sheet(tmp_path / "sheet")
    for student, (content, _) in CLASS.items():
        hand_in(tmp_path / "submitted", student, content)
    return sheet, tmp_path / "submitted", tmp_path / "out"


@pytest.fixture
def unwrapped(monkeypatch):
    """Graders do without bubblewrap, also those that the command starts in this process."""
    monkeypatch.setattr(run, "bubblewrap_works", lambda work: False)


@pytest.fixture
def course(files, shared_servers, unwrapped):
    """These files, for graders that share their servers with those of other tests."""
    return files


@pytest.fixture(scope="module")
def graded_once(tmp_path_factory):
    """The class, graded by the commonest way: (its folder, a copy of the folder, the report)."""
    top, kept = tmp_path_factory.mktemp("course"), tmp_path_factory.mktemp("kept") / "course"
    sheet = write_sheet(top / "sheet")
    for student, (content, _) in CLASS.items():
        hand_in(top / "submitted", student, content)
    report = run.grade(sheet, top / "submitted", top / "out", run.Options(least=LEAST, jobs=1))
    shutil.copytree(top, kept)
    return top, kept, report


@pytest.fixture
def graded(graded_once, shared_servers, unwrapped):
    """The class as it is after it was graded: (sheet, submitted, out). What a test changes is
    undone for the next.
    """
    top, kept, _ = graded_once
    shutil.rmtree(top)
    shutil.copytree(kept, top)
    one_submission._sheet.cache_clear()  # it knows a file by its name and time
    one_submission._shown.cache_clear()
    return top / "sheet" / "sheet.py", top / "submitted", top / "out"


def only(submitted: Path, *students: str) -> dict[str, float]:
    """Takes the submissions of all others away; what those that are left deserve."""
    for folder in submitted.iterdir():
        if folder.name not in students:
            shutil.rmtree(folder)
    return {student: EXPECTED[student] for student in sorted(students)}


def points(report) -> dict[str, float]:
    return {result.student: result.points for result in report.results}


EXPECTED = {student: deserved for student, (_, deserved) in sorted(CLASS.items())}


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_everybody_gets_what_they_deserve(graded, graded_once):
    _, _, out = graded
    report = graded_once[2]
    assert points(report) == EXPECTED
    assert (report.ran, report.failed, report.status) == (len(CLASS), {}, 1)
    records = last_submissions(out / "journal.jsonl")
    assert all(
        record["level"] in (LEAST, "full") for record in records.values() if "exercises" in record
    )
    assert records["no notebook"]["problem"]
    grades = {row["student_id"]: row for row in table(out / "grades.csv")}
    assert (
        list(next(iter(grades.values()))) == grade_tables.GRADES and len(grade_tables.GRADES) == 11
    )
    assert "'=formula" in grades, "a spreadsheet must not take a name for a formula"
    assert {name.lstrip("'"): float(row["score"]) for name, row in grades.items()} == EXPECTED
    assert all(float(row["max_score"]) == MAX for row in grades.values())
    items = table(out / "items.csv")
    assert len(items) == 4 * len(CLASS)
    wrong = next(
        row for row in items if row["student_id"] == "one wrong" and row["exercise"] == "g"
    )
    assert (wrong["points"], wrong["right"], wrong["cases"]) == ("0.0", "0", "2") and wrong[
        "reason"
    ]
    assert sorted(path.name for path in out.iterdir()) == [
        "grades.csv",
        "items.csv",
        "journal.jsonl",
        "secret.key",
        "unpacked",
    ]
    assert stat.S_IMODE((out / "secret.key").stat().st_mode) == 0o600


def test_unchanged_hand_ins_are_not_run_again(graded):
    sheet, submitted, out = graded
    lines = len(list(read(out / "journal.jsonl")))
    again = run.grade(sheet, submitted, out, OPTIONS)
    assert again.ran == 0 and points(again) == EXPECTED
    assert len(list(read(out / "journal.jsonl"))) == lines
    hand_in(submitted, "one wrong", notebook({}))
    third = run.grade(sheet, submitted, out, OPTIONS)
    assert third.ran == 1
    assert third.changed == [("one wrong", 5.0, 7.0)]


# ---------------------------------------------------------------------------------------- executors


def returned(out: Path) -> dict[str, dict]:
    """What each student's code returned, without the times."""
    found = {}
    for student, record in last_submissions(out / "journal.jsonl").items():
        found[student] = {
            name: [
                {key: value for key, value in back.items() if not key.endswith("_s")}
                for back in entry["returned"]
            ]
            for name, entry in record.get("exercises", {}).items()
        }
    return found


SOME = ("calls the library", "exits", "no notebook", "one group", "right")
"""Students whose submissions differ in what they ask of a server."""


def graded_with(course, executor=None, options=OPTIONS):
    """What the code of some students returns, graded again and at first."""
    sheet, submitted, out = course
    first = {student: found for student, found in returned(out).items() if student in SOME}
    expected = only(submitted, *SOME)
    (out / "journal.jsonl").unlink()
    report = run.grade(sheet, submitted, out, options, executor)
    assert report.failed == {}
    assert points(report) == expected
    return returned(out), first


@pytest.mark.whole
def test_place_and_time_of_a_submission_follow_its_file_without_a_run(graded):
    """A copy with a later time was not handed in later; an earlier time is the right one."""
    sheet, submitted, out = graded
    only(submitted, "right", "one wrong")
    path = submitted / "right" / "small" / "small.ipynb"

    def record():
        report = run.grade(sheet, submitted, out, OPTIONS)
        assert report.ran == 0
        return last_submissions(out / "journal.jsonl")["right"]

    for when, expected in ((1.7e9, "2023-11-14T22:13:20"), (1.75e9, "2023-11-14T22:13:20"),
                           (1.6e9, "2020-09-13T12:26:40")):  # fmt: skip
        os.utime(path, (when, when))
        assert record()["handed_in"] == f"{expected}+00:00"
    before = (out / "journal.jsonl").read_bytes()
    record()
    assert (out / "journal.jsonl").read_bytes() == before, "what did not change is not written"
    submitted = submitted.rename(submitted.with_name("moved"))
    assert "/moved/" in record()["file"]
    was, now = run.appeal(sheet, out, "right", OPTIONS)
    assert was.points == now.points == MAX


def test_a_class_s_zip_in_a_folder_is_pointed_out(course, capsys):
    sheet, _, out = course
    folder = out.with_name("downloads")
    folder.mkdir()
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for name in ("ada_1_2_small.ipynb", "bob_2_3_small.ipynb"):
            archive.writestr(name, json.dumps(notebook({})))
    command = ["grade", "run", str(sheet), str(folder), "--out", str(out), "--jobs", "1"]
    command += ["--trust-students"] if LEAST == "process" else []
    assert main(command) == 1
    said = capsys.readouterr().out
    assert "all: all.zip was taken for the zip of one student, although it holds files of" in said
    command[3] = str(folder / "all.zip")
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "2 submissions graded" in said and "not counted: all\n" in said


def test_who_has_withdrawn_is_named_once_and_files_of_no_student_always(graded, capsys):
    sheet, submitted, out = graded
    only(submitted, "right", "one wrong", "one group")
    run.grade(sheet, submitted, out, OPTIONS)
    (submitted / "notes.txt").write_text("x")
    shutil.rmtree(submitted / "one group")
    late = submitted.with_name("late")
    hand_in(late, "cem", notebook({}))
    command = ["grade", "run", str(sheet), str(submitted), str(late), "--out", str(out)]
    command += ["--jobs", "1"] + (["--trust-students"] if LEAST == "process" else [])
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "not handed in any more, so not counted: one group\n" in said
    assert "neither notebooks nor zips, so not looked at: notes.txt\n" in said
    assert "3 submissions graded" in said and "1 run now" in said
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "one group" not in said and "notes.txt" in said


def test_what_did_not_run_to_its_end_is_named_at_the_end_and_in_the_class_report(graded, capsys):
    sheet, submitted, out = graded
    only(submitted, "right", "one wrong", "exits", "no notebook")
    hand_in(submitted, "dan", notebook({"g": "def g(x):\n    return 2 *"}))
    command = ["grade", "run", str(sheet), str(submitted), "--out", str(out)]
    command += ["--jobs", "1"] + (["--trust-students"] if LEAST == "process" else [])
    assert main(command) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(
        r"3 of 5 submissions need a look, because they did not run to their end: dan"
        r" \(SyntaxError in cell \d\), exits \(the process ended in cell \d\), no notebook"
        r" \(nothing could be run\)",
        last,
    )
    page = out / "class.html"
    assert main(["grade", "export", str(sheet), "--out", str(out), "--report", str(page)]) == 0
    look = page.read_text(encoding="utf-8").partition("To be looked at")[2].partition("<h2>")[0]
    assert all(f">{who}<" in look for who in ("dan", "exits", "no notebook"))
    assert "SyntaxError in cell" in look and ">right<" not in look


def test_what_took_too_long_or_was_not_run_is_told_by_its_cause():
    def back(kind: str, error: str = "It was stopped.") -> dict[str, object]:
        return {"kind": kind, "error": error}

    skipped = back("time", f"{NOT_RUN}: an earlier case did not come back.")
    returned = {
        "f": [back("raised"), back("memory")],
        "g": [skipped, back("time")],
        "h": [skipped],
        "k": [back("raised"), {"value": 1}],
    }
    record = {"student": "eve", "problem": "", "flags": ["wrote"], "seconds": 61.7}
    record |= {"unfinished": {"cell 2": "memory"}}
    record |= {"exercises": {name: {"returned": back} for name, back in returned.items()}}
    found = Graded(record, [])
    assert found.unfinished == [
        "cell 2 used too much memory", "`f` used too much memory",
        "`g` took too long (62 s in all)", "`h` was not run",
    ]  # fmt: skip
    assert found.noticed == ["wrote", *found.unfinished] and found.needs_a_person


POOLS = {
    "processes": (lambda: concurrent.futures.ProcessPoolExecutor(2), {}),
    "threads": (lambda: concurrent.futures.ThreadPoolExecutor(3), {}),
    "cold": (contextlib.nullcontext, {"warm": False, "jobs": 2}),
    "one job": (contextlib.nullcontext, {}),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n == "processes" else [pytest.mark.whole]) for n in POOLS],
)
def test_every_pool_gives_the_same(graded, name):
    make, options = POOLS[name]
    with make() as pool:
        again, first = graded_with(graded, pool, dataclasses.replace(OPTIONS, **options))
    assert again == first


def test_a_waiting_server_that_was_killed_is_replaced(course):
    sheet, submitted, out = course
    expected = only(submitted, "right")
    assert points(run.grade(sheet, submitted, out, OPTIONS)) == expected
    assert one_submission._idle
    for *_, server in one_submission._idle:
        server.process.kill()
        server.process.wait()
    hand_in(submitted, "right", notebook({}, "more = 1"))
    report = run.grade(sheet, submitted, out, OPTIONS)
    assert report.ran == 1 and points(report) == expected


@pytest.mark.whole
def test_a_job_is_plain_data(graded):
    sheet, _, out = graded
    (job,) = run._jobs(
        [run._submission_of(last_submissions(out / "journal.jsonl")["right"])],
        run._common_job(sheet, out, run._empty(out / "work"), OPTIONS),
    )
    record = one_submission.grade_one(json.loads(json.dumps(job)))
    assert json.loads(json.dumps(record)) == record


# -------------------------------------------------------------------------------------------- seeds


@pytest.mark.whole
def test_seeds_differ_between_students_and_can_be_found_again(graded):
    sheet, submitted, out = graded
    hand_in(submitted, "twin", notebook({}))
    run.grade(sheet, submitted, out, OPTIONS)
    records = last_submissions(out / "journal.jsonl")
    seeds = {name: record["seed"] for name, record in records.items() if record["seed"]}
    assert seeds["twin"] == seeds["right"], "the same file has the same cases"
    assert len(set(seeds.values())) == len(
        {record["sha256"] for record in records.values() if record["seed"]}
    )
    secret = bytes.fromhex((out / "secret.key").read_text())
    assert seeds["right"] == one_submission.seed_for(secret, records["right"]["sha256"])
    sheet_ = one_submission.sheet_at(str(sheet))
    draws = [
        float(one_submission.cases_for(sheet_["g"], seed)[0].args["x"][0, 0])
        for seed in set(seeds.values())
    ]
    assert len(set(draws)) == len(draws)


@pytest.mark.whole
def test_an_appeal_gives_the_same(graded):
    sheet, submitted, out = graded
    before, now = run.appeal(sheet, out, "one group", OPTIONS)
    assert before.points == now.points == 6.0
    values = [
        [
            (back.get("value"), back.get("kind"))
            for entry in g.record["exercises"].values()
            for back in entry["returned"]
        ]
        for g in (before, now)
    ]
    assert values[0] == values[1]
    with pytest.raises(KeyError):
        run.appeal(sheet, out, "unknown", OPTIONS)
    hand_in(submitted, "one group", notebook({}))
    with pytest.raises(SheetError, match="has changed"):
        run.appeal(sheet, out, "one group", OPTIONS)


# ---------------------------------------------------------------------------------------- regrading


def test_a_repaired_answer_regrades_without_running_anybody(graded, monkeypatch):
    sheet, _, out = graded
    monkeypatch.setattr(one_submission, "Server", None)  # nothing can be run any more
    mild = SHEET.replace(
        "@g.answer\ndef _(x):\n    return 2 * x",
        "@g.accept\ndef _(case, got):\n    return hasattr(got, 'shape')",
    )
    assert mild != SHEET
    sheet.write_text(mild)
    os.utime(sheet, (1, 1))
    report = run.regrade(sheet, out)
    assert report.changed == [("one wrong", 5.0, 7.0)]
    assert {row["student_id"]: row["score"] for row in table(out / "grades.csv")}[
        "one wrong"
    ] == "7.0"


def test_other_cases_cannot_be_regraded(graded):
    sheet, submitted, out = graded
    only(submitted, "right", "one wrong", "no notebook")
    sheet.write_text(SHEET.replace("size=(2, 2)", "size=(2, 3)"))
    os.utime(sheet, (1, 1))
    with pytest.raises(SheetError, match="asks something else"):
        run.regrade(sheet, out)
    assert run.grade(sheet, submitted, out, OPTIONS).ran == 2, "all but the one without a notebook"


def test_no_hand_in_is_graded_by_a_sheet_whose_solution_is_wrong(course):
    sheet, submitted, out = course
    book = json.loads((sheet.parent / "small.ipynb").read_text())
    book["cells"][3]["source"] = "def g(x):\n    return 3 * x"
    (sheet.parent / "small.ipynb").write_text(json.dumps(book))
    os.utime(sheet, (2, 2))
    with pytest.raises(SheetError, match="own solution gets 0 of 2"):
        run.grade(sheet, submitted, out, OPTIONS)
    assert list(read(out / "journal.jsonl")) == []
    assert not (out / "grades.csv").exists()


def test_requested_isolation_is_obtained_or_nothing_runs(course):
    sheet, submitted, out = course
    with pytest.raises(sandbox.SandboxError, match='at least "full"'):
        run.grade(sheet, submitted, out, run.Options(least="full"))
    assert list(read(out / "journal.jsonl")) == []


def test_an_interruption_ends_what_runs_and_does_not_wait_for_what_has_not_begun(monkeypatch):
    begun, ended, asked = threading.Event(), threading.Event(), []

    def grade_one(job):
        if job["student"] != "first":
            begun.set()
            ended.wait(60)
        return job

    def abandon_all():
        asked.append(1)
        ended.set()
        assert len(asked) < 50, "it waits for submissions that have not begun"

    monkeypatch.setattr(run, "grade_one", grade_one)
    monkeypatch.setattr(run, "abandon_all", abandon_all)
    jobs = [{"student": name} for name in ("first", "runs", "waits", "waits too")]
    records = run._spread(jobs, run.Options(jobs=1), None, run.RunReport(), None)
    assert next(records) == jobs[0] and begun.wait(60)
    with pytest.raises(KeyboardInterrupt):
        records.throw(KeyboardInterrupt())


def test_a_hand_in_that_the_grader_cannot_run_costs_only_itself(course, monkeypatch):
    sheet, submitted, out = course
    expected = only(submitted, "right", "one wrong", "no notebook")
    real = run.submissions.digest

    def broken(path, beside):
        if "one wrong" in str(path):
            raise ZeroDivisionError("a slip of ours")
        return real(path, beside)

    monkeypatch.setattr(run.submissions, "digest", broken)
    report = run.grade(sheet, submitted, out, OPTIONS)
    assert report.failed == {"one wrong": "ZeroDivisionError: a slip of ours"}
    assert report.status == 1
    assert points(report) == {name: p for name, p in expected.items() if name != "one wrong"}
    monkeypatch.undo()
    assert points(run.grade(sheet, submitted, out, OPTIONS)) == expected


# ------------------------------------------------------------------------------------------ crashes


def alive(folder: Path) -> list[str]:
    """The command lines of processes that have to do with a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in text:
            found.append(text)
    return found


@pytest.fixture
def libraries(shared_libraries, tmp_path_factory, monkeypatch):
    """The graders get links to the copies of the library, so that their processes are known by
    the folder of the results.
    """
    shared, top = stripped_library.library, tmp_path_factory.mktemp("libraries")

    def linked(names, base=None):
        link = Path(base or top, f"library-{len(names)}")
        if not link.is_symlink():
            link.symlink_to(shared(names))
        return link

    monkeypatch.setattr(stripped_library, "library", linked)


def hand_ins_in(out: Path) -> int:
    """How many lines about submissions the journal has; it is too often looked at to be read each
    time.
    """
    journal = out / "journal.jsonl"
    return journal.read_bytes().count(b'"kind":"hand-in"') if journal.exists() else 0


def start_grading(sheet: Path, submitted: Path, out: Path, as_command: bool) -> int:
    """Starts a grader in a process of its own; returns the number of the process."""
    process = os.fork()
    if process == 0:
        try:
            if not as_command:
                run.grade(sheet, submitted, out, run.Options(least=LEAST, jobs=1, wrap=False))
            else:
                nowhere = os.open(os.devnull, os.O_RDWR)
                for standard in (0, 1, 2):
                    os.dup2(nowhere, standard)
                os.chdir(Path(__file__).parents[2])
                trust = [] if LEAST == "confined" else ["--trust-students"]
                told = [
                    "grade",
                    "run",
                    str(sheet),
                    str(submitted),
                    "--out",
                    str(out),
                    "--jobs",
                    "1",
                    *trust,
                ]
                os.execv(sys.executable, [sys.executable, "-m", "minigrad", *told])
        finally:
            os._exit(1)
    return process


def enter_for_ever(journal: Path, students: list[str], told: int) -> None:
    """Enters one mark after the other, and tells of each when it has been entered."""
    for n in range(10**9):
        student = students[n % len(students)]
        mark = Mark("g", n % 3 / 2, f"number {n}")
        enter(journal, [(student, mark, "g")])
        os.write(told, f"{student}|{n}\n".encode())


def killed_while_entering(journal: Path, students: list[str], seconds: float) -> dict[str, int]:
    """Kills a process that enters marks; the last one of each student that it told of."""
    reading, told = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            enter_for_ever(journal, students, told)
        finally:
            os._exit(1)
    os.close(told)
    text = os.read(reading, 100)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with open(reading, "rb") as file:
        lines = (text + file.read()).decode().splitlines()
    return {student: int(n) for student, n in (line.split("|") for line in lines)}


def numbers(journal: Path) -> dict[str, int]:
    """The last mark of each student for g, by the number in its comment."""
    found = {student: given.get("g") for student, given in last_marks(journal).items()}
    return {student: int(mark.comment.split()[1]) for student, mark in found.items() if mark}


@pytest.mark.whole
def test_killed_at_random_moments_nothing_is_lost_and_little_is_repeated(files, libraries):
    """Between the kills of the grader, marks are entered, and what enters them is killed too. In
    the default run test_journal.py kills what writes the journal.
    """
    sheet, submitted, out = files
    turns, more = 10, 30
    for n in range(more):
        hand_in(
            submitted,
            f"more {n:02}",
            notebook({"f": f"# {n}\n" + F, "g": f"import time\ntime.sleep(0.02)\n{G}"}),
        )
    expected = EXPECTED | {f"more {n:02}": 7.0 for n in range(more)}
    hand_in(out.parent / "one", "right", notebook({}))
    run.grade(sheet, out.parent / "one", out.parent / "other", OPTIONS)  # makes the libraries
    chance, kills, journal = random.Random(4), 0, out / "journal.jsonl"
    entered: dict[str, int] = {}
    for turn in range(turns):
        before = hand_ins_in(out)
        process = start_grading(sheet, submitted, out, as_command=turn == 0)
        deadline = time.monotonic() + 60
        # Only moments at which submissions are being run are of interest.
        wanted = min(before + chance.randint(1, 4), len(expected))
        while hand_ins_in(out) < wanted and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.03))
        os.kill(process, signal.SIGKILL)
        status = os.waitpid(process, 0)[1]
        kills += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        deadline = time.monotonic() + 5
        while alive(out) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert alive(out) == [], "a process outlived the grader"
        assert hand_ins_in(out) >= before
        known = sorted(last_submissions(out / "journal.jsonl"))[:5]
        if known:
            told = killed_while_entering(journal, known, chance.uniform(0, 0.1))
            for student, n in numbers(journal).items():
                if student in told:  # one more may have been entered than was told of
                    assert n - told[student] in (0, len(known)), (turn, student)
                else:
                    assert n == entered.get(student) or n < len(known), (turn, student)
            assert numbers(journal).keys() >= told.keys()
            entered = numbers(journal)
    assert kills >= turns // 2
    report = run.grade(sheet, submitted, out, OPTIONS)
    assert len(entered) >= 5 and numbers(journal).keys() >= entered.keys()
    for result in report.results:
        if mark := result.marks.get("g"):
            automatic = next((j.points for j in result.judgements if j.exercise == "g"), 0.0)
            expected[result.student] += mark.points - automatic
    assert points(report) == dict(sorted(expected.items()))
    lines = [
        record["student"] for record in read(out / "journal.jsonl") if record["kind"] == "hand-in"
    ]
    assert len(lines) == len(set(lines)), "what is in the journal is not run again"


# ------------------------------------------------------------------------------------- command line


@pytest.mark.whole
def test_the_command_grades_regrades_and_exports(course, capsys):
    sheet, submitted, out = course
    expected = only(submitted, "right", "one wrong", "calls the library", "no notebook")
    trust = [] if LEAST == "confined" else ["--trust-students"]
    assert (
        main(["grade", "run", str(sheet), str(submitted), "--out", str(out), "--jobs", "2", *trust])
        == 1
    )
    said = capsys.readouterr()
    assert "no notebook: The file is not a notebook" in said.out
    assert (
        f"{len(expected)} submissions graded" in said.out and f"{len(expected)} run now" in said.out
    )
    assert main(["grade", "regrade", str(sheet), "--out", str(out)]) == 1
    assert "0 gain, 0 lose" in capsys.readouterr().out
    assert main(["grade", "appeal", str(sheet), "one wrong", "--out", str(out), *trust]) == 0
    assert "5 points in the journal, 5 now" in capsys.readouterr().out
    shutil.rmtree(submitted / "no notebook")
    shutil.rmtree(submitted / "calls the library")
    assert main(["grade", "run", str(sheet), str(submitted), "--out", str(out), *trust]) == 0


@pytest.mark.parametrize(
    ("arguments", "say"),
    [
        (["run", "{none}", "{submitted}", "--out", "{out}"], "there is no sheet"),
        (["run", "{sheet}", "{none}", "--out", "{out}"], "nothing at"),
        (["regrade", "{sheet}", "--out", "{out}"], "no journal"),
        (["appeal", "{sheet}", "unknown", "--out", "{out}"], "no journal"),
        (["run", "{sheet}", "{submitted}", "--out", "{out}", "--jobs", "0"], "whole number"),
        (["run", "{sheet}", "{submitted}"], "--out"),
        ([], "COMMAND"),
    ],
)
def test_wrong_arguments_end_with_status_2(course, capsys, tmp_path, arguments, say):
    sheet, submitted, out = course
    words = [
        a.format(sheet=sheet, submitted=submitted, out=out, none=tmp_path / "none")
        for a in arguments
    ]
    assert main(["grade", *words]) == 2
    assert say in capsys.readouterr().err


# Long: one class is graded by two users.
@pytest.mark.unix
def test_grading_needs_no_root(course, tmp_path):
    """Where the tests run as root, the grader is started as a user without privileges."""
    sheet, submitted, out = course
    expected = only(submitted, "right", "one wrong", "exits", "no notebook")
    command = [
        os.path.realpath(sys.executable),
        "-m",
        "minigrad",
        "grade",
        "run",
        str(sheet),
        str(submitted),
        "--out",
        str(out),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip(
                "the tests run as root, and there is no setpriv to become another user (Debian:"
                " the package util-linux)"
            )
        command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *command]
        home = tmp_path / "home"
        shutil.copytree(tmp_path / "sheet", home / "sheet")
        shutil.copytree(submitted, home / "submitted")
        moved = {
            str(sheet): home / "sheet" / "sheet.py",
            str(submitted): home / "submitted",
            str(out): home / "out",
        }
        command = [str(moved.get(word, word)) for word in command]
        out = home / "out"
        for path in [home, *home.rglob("*")]:
            os.chown(path, 65534, 65534)
        for path in tmp_path.parents:
            if (
                path.stat().st_uid == 0
                and path.stat().st_mode & 0o011 == 0
                and "pytest" in str(path)
            ):
                path.chmod(path.stat().st_mode | 0o011)
        tmp_path.chmod(0o711)
        nested = (
            "import subprocess, sys, numpy, minigrad; subprocess.run([sys.executable, '-c', ''],"
            " check=True)"
        )
        probe = subprocess.run(
            [*command[:7], "-c", nested], env=environment, cwd="/", capture_output=True
        )
        if probe.returncode:
            pytest.skip(
                "this Python cannot be used by a plain user:"
                f" {probe.stderr.decode().strip()[-200:]}"
            )
    if LEAST != "confined":
        command.append("--trust-students")
    done = subprocess.run(
        command, env=environment, cwd="/", capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done
    assert {
        row["student_id"].lstrip("'"): float(row["score"]) for row in table(out / "grades.csv")
    } == expected
    assert LEAST in done.stdout or "full" in done.stdout


@pytest.mark.whole
def test_folders_1500_deep_harm_neither_this_run_nor_the_next(files, shared_libraries):
    sheet, submitted, out = files
    only(submitted, "right")
    dig = "import os\nfor _ in range(1500):\n    os.mkdir('a' * 9)\n    os.chdir('a' * 9)"
    hand_in(submitted, "deep", notebook({}, dig))
    for _ in range(2):
        report = run.grade(sheet, submitted, out, OPTIONS)
        assert points(report)["right"] == MAX and set(points(report)) == {"deep", "right"}
        assert not (out / "work").exists()
        (out / "journal.jsonl").unlink()


def test_a_link_to_the_solution_pays_nothing(course):
    sheet, submitted, out = course
    only(submitted, "right")
    (submitted / "eve.ipynb").symlink_to(next(sheet.parent.glob("*.ipynb")))
    report = run.grade(sheet, submitted, out, OPTIONS)
    assert points(report) == {"eve": 0.0, "right": MAX}
    record = last_submissions(out / "journal.jsonl")["eve"]
    assert "no ordinary file" in record["problem"] and report.status == 1


def test_the_submissions_of_another_sheet_are_refused(course, tmp_path):
    sheet, _, out = course
    other = {
        "cells": [{"cell_type": "code", "id": "x", "metadata": {}, "source": "y = 1"}],
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    for student in ("ada", "bob"):
        hand_in(tmp_path / "other", student, other)
    hand_in(tmp_path / "other", "cem", "%PDF", "small.pdf")
    with pytest.raises(
        run.submissions.SubmissionError, match=r"none of the 2 notebooks .* is it the right sheet\?"
    ):
        run.grade(sheet, tmp_path / "other", out, OPTIONS)
