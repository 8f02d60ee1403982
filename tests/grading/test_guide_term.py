"""The commands of the guide's walk through a term, word for word, with its course file."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from minigrad.lessons.grading import sandbox
from minigrad.lessons.grading.sheet import load_sheet

GUIDE = Path(__file__).parents[2] / "lessons" / "instructors_guide.md"
NAME = "02_forward_and_reverse_mode"
LESSON = GUIDE.with_name(f"{NAME}.ipynb")
SECTION = GUIDE.read_text(encoding="utf-8").partition("## A term, from the first day")[2]
COMMANDS = "\n".join(re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)).split("\n")
(COURSE,) = re.findall(r"```toml\n(.*?)```", SECTION, re.DOTALL)
(ROSTER,) = re.findall(r"```text\n(.*?)```", SECTION, re.DOTALL)

pytestmark = pytest.mark.skipif(
    not {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]),
    reason="Landlock and seccomp are needed: see `minigrad grade doctor`",
)


@pytest.fixture
def here(tmp_path):
    """A folder with the guide's files, and the command on the path."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "minigrad"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m minigrad "$@"\n')
    program.chmod(0o755)
    (tmp_path / "course.toml").write_text(COURSE)
    (tmp_path / "roster.csv").write_text(ROSTER)
    (tmp_path / "worksheet.csv").write_text(
        "Identifier,Full name,Email address,Grade,Maximum grade,Feedback comments\n"
        f"Participant 1,Ada Lovelace,al@example.org,,{load_sheet(LESSON).max_points},\n"
        f"Participant 2,Bob Bell,bell@example.org,,{load_sheet(LESSON).max_points},\n"
    )
    return tmp_path


def say(here: Path, command: str) -> subprocess.CompletedProcess:
    environment = {
        **os.environ,
        "PATH": f"{here / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(GUIDE.parents[1]),
    }
    return subprocess.run(
        command, shell=True, cwd=here, env=environment, capture_output=True, text=True, timeout=300
    )


def hand_in(here: Path, student: str, days_late: int) -> None:
    """The instructor's edition, which gets all points; lesson 2 is due in November 2030."""
    path = here / "submitted" / student / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(LESSON.read_bytes())
    when = 1920042000 + 86400 * days_late  # 2030-11-04, some hours around the end of the day
    os.utime(path, (when, when))


@pytest.mark.whole
def test_the_guides_term_runs(here):
    hand_in(here, "ada", 4)
    hand_in(here, "bob", -1)
    for command in filter(None, COMMANDS):
        if "--read" in command:
            path = here / "results" / "02" / "marks.csv"
            text = path.read_text(encoding="utf-8-sig")
            assert "ada,mul,2" in text
            path.write_text(re.sub(r"^(ada,mul,[\d.]+),,", r"\1,0,copied", text, flags=re.M))
        done = say(here, command)
        assert (done.returncode, done.stderr) == (0, ""), (command, done)
    with (here / "totals.csv").open(newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    most = load_sheet(LESSON).max_points
    assert float(rows["bob"]["02"]) == most and rows["cem"]["02 note"] == "nothing handed in"
    assert "days late" in rows["ada"]["02 note"] and 0 < float(rows["ada"]["02"]) < most - 2
    assert json.loads((here / "handout" / f"{NAME}.ipynb").read_text())["cells"]
    with (here / "results" / "02" / "worksheet-filled.csv").open(newline="") as file:
        grades = [float(row["Grade"]) for row in csv.DictReader(file)]
    assert grades == pytest.approx([float(rows["ada"]["02"]), most], abs=1e-3)
    assert (here / "feedback" / "ada" / NAME / f"{NAME}.html").is_file()
