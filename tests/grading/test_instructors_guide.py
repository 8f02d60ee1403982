"""The commands of the instructors' guide, word for word, grade a class.

Three students hand in: one is right, one is wrong, one is out to do harm.
"""

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
SECTION = (
    GUIDE.read_text(encoding="utf-8")
    .partition("## Assign, collect, grade")[2]
    .partition("\n## ")[0]
)
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
    for line in block.splitlines()
]
(SCRIPT,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
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

pytestmark = pytest.mark.skipif(
    not {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]),
    reason="Landlock and seccomp are needed: see `minigrad grade doctor`",
)


def solved(released: dict, *, wrong: bool) -> dict:
    """The released notebook with the right answers put in; wrong: with the classic mistake in
    the sweep.
    """
    answers = {c["id"]: "".join(c["source"]) for c in json.loads(LESSON.read_text())["cells"]}
    book = json.loads(json.dumps(released))
    for cell in book["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            text = "\n".join(line for line in answers[cell["id"]].split("\n") if "### " not in line)
            cell["source"] = text.replace("+=", "=") if wrong else text
    return book


def hand_in(folder: Path, student: str, book: dict) -> None:
    """Into the folder of the guide, each student in another of the layouts."""
    path = {
        "ada": folder / "ada" / NAME / f"{NAME}.ipynb", "bob": folder / "bob" / "final (1).ipynb",
        "eve": folder / "eve.ipynb",
    }[student]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(book))


# Long: the guide's steps in their order.
@pytest.mark.whole
def test_the_guides_commands_and_its_script_grade_a_class_alike(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "minigrad").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m minigrad "$@"\n')
    (programs / "minigrad").chmod(0o755)
    here = tmp_path / "instructor"
    here.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(GUIDE.parents[1]),
    }
    (here / "canvas.csv").write_bytes(
        b'Student,ID,SIS Login ID,Section,Lesson 2 (20)\r\n"Lovelace, Ada",1,ada,A,\r\n"B,'
        b' Bob",2,bob,A,\r\n"E, Eve",3,eve,A,\r\n'
    )
    said = {}
    for command in COMMANDS:
        if command.startswith("minigrad grade run"):
            released = json.loads((here / "handout" / f"{NAME}.ipynb").read_text())
            assert "math.cos(a) * da" not in json.dumps(released), "the handout holds no solutions"
            hand_in(here / "submitted", "ada", solved(released, wrong=False))
            hand_in(here / "submitted", "bob", solved(released, wrong=True))
            eve = solved(released, wrong=False)
            hostile = HOSTILE.format(marker=tmp_path / "marker", results=here / "results")
            eve["cells"].append(
                {
                    "cell_type": "code",
                    "id": "eve",
                    "metadata": {},
                    "source": hostile,
                    "outputs": [],
                    "execution_count": None,
                }
            )
            hand_in(here / "submitted", "eve", eve)
        done = subprocess.run(
            command,
            shell=True,
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        said[command] = done.stdout
        assert done.returncode == (
            1 if command.startswith(("minigrad grade run", "minigrad grade regrade")) else 0
        ), (command, done)
        assert done.stderr == "", (command, done.stderr)
    assert len(COMMANDS) == 8

    with (here / "results" / "grades.csv").open(newline="") as file:
        grades = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    most = load_sheet(LESSON).max_points
    assert grades == {"ada": most, "bob": most - 3, "eve": most}
    filled = (here / "results" / "canvas-filled.csv").read_text()
    expected = (here / "canvas.csv").read_text()
    for student, points in grades.items():
        expected = expected.replace(f"{student},A,", f"{student},A,{points:g}")
    assert filled == expected
    assert not (tmp_path / "marker").exists()
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
    assert (
        f"{most:g} points in the journal, {most:g} now"
        in said["minigrad grade appeal 02 ada --out results/"]
    )

    # The guide's own script, with a pool of processes and a folder of its own for the results: the
    # same grades.
    assert SCRIPT.count('"results"') == 1
    (here / "script.py").write_text(SCRIPT.replace('"results"', '"again"'))
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (1, ""), "eve needs a look"
    assert done.stdout.splitlines() == [f"{student} {points}" for student, points in grades.items()]
