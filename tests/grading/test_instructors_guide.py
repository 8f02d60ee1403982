"""The commands of the instructors' guide, word for word, grade a class and walk through a term."""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from minigrad.lessons.grading import one_submission, sandbox
from minigrad.lessons.grading.sheet import load_sheet

from minigrad.cli import main
from tests.helpers.grader_libraries import made_once

GUIDE = Path(__file__).parents[2] / "lessons" / "instructors_guide.md"
NAME = "02_forward_and_reverse_mode"
LESSON = GUIDE.with_name(f"{NAME}.ipynb")
TEXT = GUIDE.read_text(encoding="utf-8")
GRADING = TEXT.partition("## Assign, collect, grade")[2].partition("\n## ")[0]
TERM = TEXT.partition("## A term, from the first day")[2]
HOSTILE = """\
import os, signal, socket, subprocess
for attempt in (
    lambda: open("{marker}", "w"), lambda: open("{results}/grades.csv", "w"),
    lambda: os.kill(os.getppid(), signal.SIGKILL),
    lambda: subprocess.run(["touch", "{marker}"]), lambda: open("{results}/secret.key").read(),
    lambda: os.fork(),
):
    try: attempt()
    except BaseException: pass
print("<script>document.title = 'PWNED'</script>")
raise RuntimeError("<script>document.title = 'PWNED'</script>")
"""

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(
        not {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]),
        reason="Landlock and seccomp are needed: see `minigrad grade doctor`",
    ),
]


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def commands(section: str) -> list[str]:
    return [line for block in blocks(section, "sh") for line in block.splitlines() if line]


@pytest.fixture
def here(tmp_path, monkeypatch, libraries_folder):
    """The folder where the instructor works."""
    (tmp_path / "instructor").mkdir()
    monkeypatch.chdir(tmp_path / "instructor")
    with made_once(libraries_folder):
        yield tmp_path / "instructor"
    one_submission.close_servers()


@pytest.fixture
def say(capsys):
    """Runs a command of the guide; returns its status and what it printed."""

    def run(command: str) -> tuple[int, str]:
        program, *words = shlex.split(command)
        assert program == "minigrad"
        status = main(words)
        told = capsys.readouterr()
        assert told.err == "", command
        return status, told.out

    return run


def write_table(path: Path, *rows: str) -> None:
    path.write_bytes(("\r\n".join(rows) + "\r\n").encode())


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def solved(released: dict, *, wrong: bool = False, more: str = "") -> str:
    """The released notebook with the right answers put in; wrong: with the classic mistake in
    the sweep; more: the source of a cell at the end.
    """
    answers = {c["id"]: "".join(c["source"]) for c in json.loads(LESSON.read_text())["cells"]}
    book = json.loads(json.dumps(released))
    for cell in book["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            text = "\n".join(line for line in answers[cell["id"]].split("\n") if "### " not in line)
            cell["source"] = text.replace("+=", "=") if wrong else text
    if more:
        book["cells"].append(book["cells"][-1] | {"id": "more", "metadata": {}, "source": more})
        book["cells"][-1] |= {"cell_type": "code", "outputs": [], "execution_count": None}
    return json.dumps(book)


def hand_in(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def test_its_commands_and_its_script_grade_a_class_alike(here, say):
    """Three students hand in, each in another layout: one is right, one is wrong, one is out to do
    harm.
    """
    (script,), marker = blocks(GRADING, "python"), here.parent / "marker"
    write_table(
        here / "canvas.csv",
        "Student,ID,SIS Login ID,Section,Lesson 2 (20)",
        *('"Lovelace, Ada",1,ada,A,', '"B, Bob",2,bob,A,', '"E, Eve",3,eve,A,'),
    )
    said = {}
    for command in commands(GRADING):
        if command.startswith("minigrad grade run"):
            released = json.loads((here / "handout" / f"{NAME}.ipynb").read_text())
            assert "math.cos(a) * da" not in json.dumps(released), "the handout holds no solutions"
            hostile = HOSTILE.format(marker=marker, results=here / "results")
            submitted = here / "submitted"
            hand_in(submitted / "ada" / NAME / f"{NAME}.ipynb", solved(released))
            hand_in(submitted / "bob" / "final (1).ipynb", solved(released, wrong=True))
            hand_in(submitted / "eve.ipynb", solved(released, more=hostile))
        status, said[command] = say(command)
        needs_a_look = command.startswith(("minigrad grade run", "minigrad grade regrade"))
        assert status == needs_a_look, (command, said[command])
    assert len(said) == 8

    grades = {
        row["student_id"]: float(row["score"])
        for row in read_table(here / "results" / "grades.csv")
    }
    most = load_sheet(LESSON).max_points
    assert grades == {"ada": most, "bob": most - 3, "eve": most}
    expected = (here / "canvas.csv").read_text()
    for student, points in grades.items():
        expected = expected.replace(f"{student},A,", f"{student},A,{points:g}")
    assert (here / "results" / "canvas-filled.csv").read_text() == expected
    assert not marker.exists()
    run = next(text for command, text in said.items() if command.startswith("minigrad grade run"))
    assert "eve: tried to start a program" in run or "eve: tried to open a file outside" in run
    assert "ada:" not in run and "bob:" not in run
    pages = {
        path.name: path.read_text() for path in [*(here / "pages").iterdir(), here / "class.html"]
    }
    assert set(pages) >= {"ada.html", "bob.html", "eve.html", "index.html", "class.html", "bob.md"}
    assert not [name for name, text in pages.items() if "<script" in text]
    assert "It looks as if only one of several contributions to a node is kept" in pages["bob.html"]
    assert "It looks as if" not in pages["ada.html"] and "bob" not in pages["ada.html"]
    appeal = said["minigrad grade appeal 02 ada --out results/"]
    assert f"{most:g} points in the journal, {most:g} now" in appeal

    # The guide's own script, with a pool of one process and a folder of its own for the results.
    assert script.count('"results"') == script.count("ProcessPoolExecutor(4)") == 1
    own = script.replace('"results"', '"again"').replace("Executor(4)", "Executor(1)")
    (here / "script.py").write_text(own)
    done = subprocess.run(
        [sys.executable, "script.py"],
        env={**os.environ, "PYTHONPATH": str(GUIDE.parents[1])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (1, ""), "eve needs a look"
    assert done.stdout.splitlines() == [f"{student} {points}" for student, points in grades.items()]


def test_its_term_runs(here, say):
    most = load_sheet(LESSON).max_points
    (here / "course.toml").write_text(blocks(TERM, "toml")[0])
    (here / "roster.csv").write_text(blocks(TERM, "text")[0])
    write_table(
        here / "worksheet.csv",
        "Identifier,Full name,Email address,Grade,Maximum grade,Feedback comments",
        f"Participant 1,Ada Lovelace,al@example.org,,{most},",
        f"Participant 2,Bob Bell,bell@example.org,,{most},",
    )
    for student, days_late in (("ada", 4), ("bob", -1)):
        path = here / "submitted" / student / f"{NAME}.ipynb"
        hand_in(path, LESSON.read_text())
        when = 1920042000 + 86400 * days_late  # 2030-11-04, some hours around the end of the day
        os.utime(path, (when, when))
    for command in commands(TERM):
        if "--read" in command:
            path = here / "results" / "02" / "marks.csv"
            text = path.read_text(encoding="utf-8-sig")
            assert "ada,mul,2" in text
            path.write_text(re.sub(r"^(ada,mul,[\d.]+),,", r"\1,0,copied", text, flags=re.M))
        status, told = say(command)
        assert status == 0, (command, told)
    rows = {row["student"]: row for row in read_table(here / "totals.csv")}
    assert float(rows["bob"]["02"]) == most and rows["cem"]["02 note"] == "nothing handed in"
    assert "days late" in rows["ada"]["02 note"] and 0 < float(rows["ada"]["02"]) < most - 2
    assert json.loads((here / "handout" / f"{NAME}.ipynb").read_text())["cells"]
    filled = read_table(here / "results" / "02" / "worksheet-filled.csv")
    grades = [float(row["Grade"]) for row in filled]
    assert grades == pytest.approx([float(rows["ada"]["02"]), most], abs=1e-3)
    assert (here / "feedback" / "ada" / NAME / f"{NAME}.html").is_file()
