"""The students' side, and all of grading but `grade run`, works without what only Unix has."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from minigrad.lessons.grading import dry_run, run, sandbox

from tests.helpers.grader_libraries import made_once, servers_kept
from tests.helpers.small_class import F, notebook, write_sheet
from tests.helpers.without_unix import IN_PROCESSES, TOP

LEAST = "confined" if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else "process"


def minigrad(folder, *arguments: str) -> subprocess.CompletedProcess:
    code = IN_PROCESSES.format(top=TOP)
    code += (
        f"sys.path.insert(0, {TOP!r})\nfrom minigrad.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.fixture(scope="module")
def course(tmp_path_factory, libraries_folder):
    """A graded class, and a course file."""
    top = tmp_path_factory.mktemp("course")
    sheet = write_sheet(top / "sheet")
    path = top / "submitted" / "ada" / "small.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(notebook({})))
    with made_once(libraries_folder), servers_kept(libraries_folder):
        run.grade(sheet, top / "submitted", top / "out", run.Options(LEAST, jobs=1, wrap=False))
    (top / "roster.csv").write_text("student,name\nada,Ada L\n")
    (top / "course.toml").write_text('[[sheet]]\nname = "sheet/sheet.py"\nresults = "out"\n')
    return top


GRADE = ("sheet/sheet.py", "--out", "out")


@pytest.mark.unix
@pytest.mark.parametrize(
    ("arguments", "say"),
    [
        (("check", "sheet/small.ipynb"), "nothing would be lost"),
        (("grade", "sheet", "sheet/sheet.py"), "ready to grade with"),
        (("grade", "regrade", *GRADE), "no code was run again"),
        (("grade", "marks", *GRADE), "marks.csv"),
        (("grade", "term", "course.toml"), "1 student: totals.csv"),
        (("grade", "export", *GRADE, "--pages", "pages"), "pages/index.html"),
        (("release", "handout", "sheet/sheet.py"), "wrote 2 file"),
        (("trace", "sin(x)**2", "x=1"), "sin"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
@pytest.mark.whole
def test_a_command_works(course, arguments, say):
    done = minigrad(course, *arguments)
    assert done.returncode == 0, done
    assert say in done.stdout


@pytest.mark.unix
@pytest.mark.whole
def test_a_check_leaves_nothing_on_standard_error(course):
    done = minigrad(course, "check", "sheet/small.ipynb")
    assert (done.returncode, done.stderr) == (0, ""), done


def test_the_process_of_a_check_needs_nothing_of_unix(tmp_path, monkeypatch):
    """Nor links, for which Windows asks for a privilege; `await` opens sockets."""

    def refuse(path: Path, target: Path) -> None:
        raise OSError("A required privilege is not held by the client")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    monkeypatch.setattr(dry_run, "BOOT", IN_PROCESSES.format(top=TOP) + dry_run.BOOT)
    sheet = write_sheet(tmp_path)
    with sheet.open("a") as file:
        file.write('PACKAGES = ["pygments"]\n')
    cells = {"f": "import asyncio, pygments\nawait asyncio.sleep(0)\n" + F}
    (tmp_path / "small.ipynb").write_text(json.dumps(notebook(cells)))
    found = dry_run.dry_run(tmp_path / "small.ipynb")
    assert not found.lost, found
    assert {mark for mark, _ in found.lines} == {"✓"}, found


@pytest.mark.whole
def test_run_says_what_it_needs(tmp_path):
    write_sheet(tmp_path / "sheet")
    (tmp_path / "submitted" / "ada").mkdir(parents=True)
    (tmp_path / "submitted" / "ada" / "small.ipynb").write_text(json.dumps(notebook({})))
    done = minigrad(tmp_path, "grade", "run", "sheet/sheet.py", "submitted", "--out", "new")
    assert done.returncode == 2, done
    assert "submissions can be run on Linux and macOS only; on Windows, use WSL" in done.stderr
