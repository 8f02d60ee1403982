"""Submissions that are cheating, hostile and sly: each gets the points that it deserves, and
nothing else happens.

They are data: cheating, hostile and sly hold them (.txt, and .py for what is no text) with the
points that each deserves; sheet.py is what they answer. Attacks that leave the points as they are,
or take those of one exercise, share submissions. A pasted right implementation is not among the
cheats: it cannot be told by its values. Honest, wrong and broken work is that of test_worker.py,
test_odd_but_honest.py, test_kinds.py and test_submissions.py.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import importlib
import os
import py_compile
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.grading import grades, one_submission, pages, run, sandbox, supervisor
from minigrad.lessons.grading.judge import Judgement, judge
from minigrad.lessons.grading.local import run_cases

from tests.helpers.adversarial import cheating, hostile, lies, sheet, sly
from tests.helpers.adversarial.lab import POINTS, Submission, notebook
from tests.helpers.grader_libraries import made_once

ROOT = Path(__file__).resolve().parents[2]
ADVERSARIAL = ROOT / "tests" / "helpers" / "adversarial"
MODULES = (cheating, hostile, sly)
SUBMISSIONS: dict[str, Submission] = {
    f"{m.__name__.rpartition('.')[2]} {name}": h
    for m in MODULES
    for name, h in m.SUBMISSIONS.items()
}
MARK = "minigrad-was-here"
OUTSIDE = [
    Path(p) for p in (tempfile.gettempdir(), "/tmp", "/dev/shm", "/", os.path.expanduser("~"))
]

SAMPLE = (
    *("cheating ways to the derivative", "cheating values that lie"),
    *("cheating writes what a grader writes", "hostile script in everything"),
    *("sly answers written early, then exit with 0", "sly output closed"),
)
"""What the default run grades."""
LIES = {
    "vjp_sin": lies.VALUES,
    "order": lies.ORDERS,
    "gradients": lies.GRADIENTS,
    "slope": dict(enumerate(lies.NUMBERS)),
}
PREPARED = "prepared"
"""Printed by attacks that prepare themselves in a cell."""

pytestmark = pytest.mark.skipif(
    not {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]),
    reason="Landlock and seccomp are needed to run these: see `minigrad grade doctor`",
)


@dataclass
class Graded:
    """What a run over all submissions left behind."""

    hand_ins: dict[str, Submission]
    report: run.RunReport
    out: Path
    hits: list[str]
    before: dict[str, tuple]
    after: dict[str, tuple]
    strays: list[str]

    def judgements(self, student: str) -> list[Judgement]:
        """A student's judgements."""
        return next(r.judgements for r in self.report.results if r.student == student)


def tree(*tops: Path) -> dict[str, tuple]:
    """Every file below some folders: size, time of the last change, permissions."""
    found = {}
    for top in tops:
        for path in [top, *(sorted(top.rglob("*")) if top.is_dir() else [])]:
            status = path.lstat()
            found[str(path)] = (
                status.st_size if path.is_file() else 0,
                status.st_mode,
                status.st_mtime_ns if path.is_file() else 0,
            )
    return found


def processes_in(folder: Path) -> list[str]:
    """The command lines of all processes, other than this one, that name a folder or work in it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            text = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            place = os.readlink(entry / "cwd")
        except OSError:
            continue
        if (str(folder) in text or place.startswith(str(folder))) and entry.name != str(
            os.getpid()
        ):
            found.append(text)
    return found


@pytest.fixture(scope="module")
def graded(request, tmp_path_factory, libraries_folder):
    """The submissions, graded once, with a listener on this machine."""
    whole, top = request.config.getoption("whole"), tmp_path_factory.mktemp("adversarial")
    with made_once(libraries_folder):
        chosen = SUBMISSIONS if whole else {name: SUBMISSIONS[name] for name in SAMPLE}
        yield from grading(chosen, top, jobs=2 if whole else 1)


# Long: one class is graded for all tests.
def grading(hand_ins: dict[str, Submission], top: Path, jobs: int):
    """Grades submissions; yields what that left behind."""
    sheet, submitted, out = top / "sheet", top / "submitted", top / "out"
    sheet.mkdir()
    shutil.copy(ADVERSARIAL / "sheet.py", sheet / "sheet.py")
    (sheet / "lab.ipynb").write_bytes(Submission(notebook(), POINTS).data({}))
    hits: list[str] = []
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        port = server.getsockname()[1]
        datagrams.bind(("127.0.0.1", port))
        stop = threading.Event()
        for listening in (server, datagrams):
            listening.settimeout(0.1)

        def listen():
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    hits.append(str(server.accept()[1]))
                with contextlib.suppress(TimeoutError):
                    hits.append(str(datagrams.recvfrom(9)))

        thread = threading.Thread(target=listen)
        thread.start()
        words = {
            "PORT": str(port), "GRADER": str(os.getpid()), "OUT": str(out),
            "SHEET": str(sheet / "sheet.py"), "SUBMITTED": str(submitted),
            "MARKER": str(top / MARK), "LIBRARY": str(ROOT), "TEMP": tempfile.gettempdir(),
            "SITE": sysconfig.get_paths()["purelib"],
        }  # fmt: skip
        for student, hand_in in hand_ins.items():
            folder = submitted / student / "lab"
            folder.mkdir(parents=True)
            (folder / hand_in.file).write_bytes(hand_in.data(words))
            for name, text in hand_in.beside.items():
                (folder / name).write_text(text)
        watched = (
            sheet,
            submitted,
            Path(np.__file__),
            Path(os.__file__),
            ROOT / "minigrad" / "__init__.py",
        )
        one_submission.sheet_at(str(sheet / "sheet.py"))  # Python may keep its bytecode beside it
        before = tree(*watched)
        patch = pytest.MonkeyPatch()
        patch.setattr(supervisor, "CELL_S", 2.0)
        same_cases_for_all(patch)
        try:
            options = run.Options(jobs=jobs, wrap=False)
            report = run.grade(sheet / "sheet.py", submitted, out, options)
        finally:
            patch.undo()
            stop.set()
            thread.join()
        yield Graded(hand_ins, report, out, hits, before, tree(*watched), processes_in(top))
    one_submission.close_servers()


def same_cases_for_all(patch: pytest.MonkeyPatch) -> None:
    """All submissions get the same cases, in each run: a wrong answer may be right in a few random
    graphs. They are drawn once, and what is right for each is computed once, in this process.
    """
    cases_for = functools.cache(one_submission.cases_for)
    patch.setattr(one_submission, "seed_for", lambda secret, digest: "5a" * 32)
    patch.setattr(grades, "LARGE", len(SUBMISSIONS))
    for module in (one_submission, grades):
        patch.setattr(module, "cases_for", cases_for)


def test_attacks_that_prepare_themselves_have_done_so(graded):
    for result in graded.report.results:
        if PREPARED in str(graded.hand_ins[result.student].content):
            assert PREPARED in result.record["printed"], (result.student, result.record["cells"])
        if result.student == "cheating values that lie":
            assert result.record["cells"] == {}


def test_everybody_is_graded(graded):
    assert graded.report.failed == {}
    assert {r.student for r in graded.report.results} == set(graded.hand_ins)


def test_each_gets_what_it_deserves(graded):
    unfair = []
    for student, hand_in in graded.hand_ins.items():
        given = {j.exercise: j.points for j in graded.judgements(student)}
        record = next(r.record for r in graded.report.results if r.student == student)
        for exercise, deserved in hand_in.deserves.items():
            if given.get(exercise, 0.0) != deserved:
                judged = [j for j in graded.judgements(student) if j.exercise == exercise]
                why = [g.say for j in judged for g in j.groups] or [record["problem"]]
                got = f"{exercise} is worth {deserved}, got {given.get(exercise, 0.0)}"
                told = record.get("cells"), record.get("printed", "")[-200:]
                unfair.append(f"{student}: {got}: {why} {told}")
    assert not unfair, "\n".join(unfair)


def test_nothing_outside_is_touched(graded):
    assert graded.after == graded.before
    assert [str(top / MARK) for top in OUTSIDE if (top / MARK).exists()] == []
    assert [
        p for p in graded.out.parent.rglob(MARK) if not p.is_relative_to(graded.out / "unpacked")
    ] == []
    assert sorted(p.name for p in graded.out.iterdir()) == [
        "grades.csv",
        "items.csv",
        "journal.jsonl",
        "secret.key",
        "unpacked",
    ]


def test_no_host_is_reached_over_the_network(graded):
    assert graded.hits == []


def test_no_process_is_left_behind(graded):
    assert graded.strays == []


def test_the_attacks_name_what_the_grader_has():
    """A submission that names what has another name by now attacks nothing."""
    text = (ADVERSARIAL / "cheating.txt").read_text() + (ADVERSARIAL / "sly.txt").read_text()
    modules = {name: f"minigrad.lessons.grading.{name}" for name in ("protocol", "worker")}
    assert set(re.findall(r"\buntrusted\.(\w+)'", text)) == {*modules, "withheld"}
    there = {name for module in modules.values() for name in vars(importlib.import_module(module))}
    assert set(re.findall(r"\bw\.(\w+)", text)) - there == set()
    assert set(re.findall(r"type\(o\).__name__ == '(\w+)'", text)) <= there


RUNS_OR_FETCHES = set(
    "script iframe object embed base form img video audio foreignobject animate set".split()
)


class _Looking(HTMLParser):
    """Finds what could run or fetch something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attributes):
        if tag in RUNS_OR_FETCHES:
            self.found.append(tag)
        for name, value in attributes:
            if name.startswith("on") or (
                name in ("href", "src", "xlink:href", "action")
                and not (value or "").startswith(("data:,", "#"))
            ):
                self.found.append(f"{tag} {name}={value}")


@pytest.mark.whole
def test_each_way_to_the_derivative_works_in_the_library_as_it_is():
    """A way that names what has another name by now attacks nothing. It runs in a process of its
    own, since some load the library again.
    """
    py_compile.compile(str(ROOT / "minigrad" / "core" / "backward.py"))
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.adversarial.ways"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    told = re.search(r"of (\d+) ways these work: (.*)", done.stdout)
    assert told and len(told[2].split(", ")) == int(told[1]) > 25


@pytest.mark.parametrize("name", LIES)
def test_no_lie_is_right(name):
    asked = getattr(sheet, name)
    cases = asked.cases(1)
    for lie, answer in LIES[name].items():
        judged = judge(asked, cases, run_cases(asked, cases, {name: answer}, 60))
        right = [c.args for c, item in zip(cases, judged.items, strict=True) if item.right]
        # Nothing of an empty array is wrong, nor of zeros.
        assert not [args for args in right if np.any(args.get("g", 1))], lie


def test_no_page_runs_or_fetches_anything(graded):
    for result in graded.report.results:
        page = pages.student_html(
            result.student,
            "lab",
            result.judgements,
            notes=[result.record["problem"], result.record["note"]],
        )
        looking = _Looking()
        looking.feed(page)
        assert looking.found == [], result.student
        assert page.count("<style>") == 1 + page.count("<style>.") and "default-src 'none'" in page


def test_no_control_character_gets_into_a_report(graded):
    odd = {chr(n) for n in (*range(32), 127, *range(128, 160), 0x202E, 0x2028, 0x2066)} - {
        "\n",
        "\t",
        "\r",
    }
    for name in ("grades.csv", "items.csv"):
        assert odd & set((graded.out / name).read_text(encoding="utf-8")) == set(), name
    for result in graded.report.results:
        text = pages.student_markdown(result.student, "lab", result.judgements)
        assert odd & set(text) == set(), result.student


def test_no_cell_of_a_table_is_a_formula(graded):
    for name in ("grades.csv", "items.csv"):
        with (graded.out / name).open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        assert len({len(row) for row in rows}) == 1, name
        for row in rows:
            for text in row:
                assert not text.startswith(("=", "+", "@", "\t", "\r")), (name, text)
                assert not text.startswith("-") or _is_number(text), (name, text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_the_run_was_quick_enough_to_be_run_every_day(graded):
    seconds = sum(r.record.get("cpu_s", 0.0) for r in graded.report.results)
    most = 30 + 0.5 * len(graded.hand_ins)  # some are stopped by a limit of seconds
    assert seconds < most, f"{seconds:.0f} s of CPU in submissions"
