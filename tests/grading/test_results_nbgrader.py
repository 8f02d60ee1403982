"""nbgrader itself on the released sheet of a lesson: the same partial points as ours, and our
points in its gradebook.

Runs where nbgrader is installed beside minigrad. It is slow because nbgrader starts a kernel for
every notebook.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from minigrad.lessons.edition import student_file
from minigrad.lessons.grading import one_submission, run
from minigrad.lessons.grading.results import gradebook
from minigrad.lessons.grading.sheet import load_sheet

api = pytest.importorskip("nbgrader.api", reason="nbgrader is not installed: pip install nbgrader")
pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("ignore")]

LESSON = Path(__file__).parents[2] / "lessons" / "02_forward_and_reverse_mode.ipynb"
NAME = LESSON.stem
HALF = ("trace", "forward-v4", "reverse-count", "sin", "reverse_sweep")
"""The exercises that the half submission has done; in `sin` it has only one of the two rules
right."""
CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "course"
c.CourseDirectory.root = {root!r}
c.ExecutePreprocessor.timeout = 120
"""


def source(cell) -> str:
    return cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])


def filled(done) -> str:
    """The released notebook, with the instructor's solutions to some exercises put in by hand."""
    solved = {c["id"]: source(c) for c in json.loads(LESSON.read_text())["cells"]}
    book = json.loads(student_file(LESSON))
    for cell in book["cells"]:
        meta = cell["metadata"].get("nbgrader", {})
        if meta.get("solution") and meta["grade_id"] in done:
            text = "\n".join(line for line in solved[cell["id"]].split("\n") if "### " not in line)
            if meta["grade_id"] == "sin" and done is HALF:
                text = text.replace("return g * math.cos(a)", "return math.cos(a)")
                assert text.count("return math.cos(a)") >= 2
            cell["source"] = text
    return json.dumps(book)


@pytest.fixture(scope="module")
def class_of_three(tmp_path_factory):
    """An nbgrader course with a full, a half and an untouched submission, autograded; and our
    grades for the same files.
    """
    root = tmp_path_factory.mktemp("course")
    (root / "nbgrader_config.py").write_text(CONFIG.format(root=str(root)))
    (root / "source" / NAME).mkdir(parents=True)
    (root / "source" / NAME / LESSON.name).write_bytes(LESSON.read_bytes())
    everything = [e.name for e in load_sheet(LESSON).exercises]
    for student, done in {"ada": everything, "bob": HALF, "cleo": ()}.items():
        folder = root / "submitted" / student / NAME
        folder.mkdir(parents=True)
        (folder / LESSON.name).write_text(filled(done))
    # nbgrader calls alembic and jupyter by name
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": programs, "PYTHONPATH": str(LESSON.parents[1])}
    for command in ("generate_assignment", "autograde"):
        words = [sys.executable, "-m", "nbgrader", command, NAME]
        done = subprocess.run(
            words, cwd=root, env=environment, capture_output=True, text=True, timeout=500
        )
        assert done.returncode == 0, done.stderr[-4000:]
    yield (
        root,
        run.grade(LESSON, root / "submitted", root / "ours", run.Options(least="process", jobs=1)),
    )
    one_submission.close_servers()


def in_gradebook(root: Path) -> dict[str, dict[str, float]]:
    with api.Gradebook(f"sqlite:///{root / 'gradebook.db'}") as book:
        found = {}
        for student in ("ada", "bob", "cleo"):
            notebook = book.find_submission_notebook(NAME, NAME, student)
            found[student] = {
                grade.name.removesuffix("-check"): grade.auto_score for grade in notebook.grades
            }
        return found


def test_nbgrader_gives_the_same_partial_points(class_of_three):
    root, report = class_of_three
    ours = {r.student: {j.exercise: j.points for j in r.judgements} for r in report.results}
    assert in_gradebook(root) == ours
    assert ours["ada"] == {e.name: e.max_points for e in load_sheet(LESSON).exercises}
    assert (
        ours["bob"]["sin"] == 1.0
        and ours["bob"]["reverse_sweep"] == 4.0
        and ours["bob"]["mul"] == 0.0
    )
    assert set(ours["cleo"].values()) == {0.0}


def test_our_points_and_comments_get_into_its_gradebook(class_of_three):
    root, report = class_of_three
    with api.Gradebook(
        f"sqlite:///{root / 'gradebook.db'}"
    ) as book:  # points given by hand are there already
        book.find_grade("sin-check", NAME, NAME, "bob").manual_score = 1.5
        book.find_grade("mul-check", NAME, NAME, "bob").auto_score = 0.25
        book.db.commit()
    sheet = load_sheet(LESSON)
    assert gradebook.write(root, report.results, sheet) == 3
    assert in_gradebook(root)["bob"]["mul"] == 0.0
    with api.Gradebook(f"sqlite:///{root / 'gradebook.db'}") as book:
        assert book.find_grade("sin-check", NAME, NAME, "bob").manual_score == 1.5, (
            "what a person entered stays"
        )
        comment = book.find_comment("sin", NAME, NAME, "bob").comment
        assert "adjoint rule: 0 of 1" in comment
        assert book.find_submission(NAME, "ada").score == sheet.max_points


def test_a_gradebook_that_knows_nothing_yet_is_filled(class_of_three, tmp_path):
    _, report = class_of_three
    assert gradebook.write(tmp_path, report.results, load_sheet(LESSON)) == 3
    assert in_gradebook(tmp_path) == {
        r.student: {j.exercise: j.points for j in r.judgements} for r in report.results
    }


def test_other_points_in_the_gradebook_are_refused(class_of_three, tmp_path, monkeypatch):
    _, report = class_of_three
    sheet = load_sheet(LESSON)
    monkeypatch.setenv(
        "PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )  # for alembic
    with api.Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as book:
        book.update_or_create_assignment(NAME)
        book.update_or_create_notebook(NAME, NAME)
        book.update_or_create_grade_cell("sin-check", NAME, NAME, max_score=7, cell_type="code")
        book.db.commit()
    with pytest.raises(gradebook.GradebookError, match=r"'sin' is worth 2 points here and 7"):
        gradebook.write(tmp_path, report.results, sheet)
    with pytest.raises(gradebook.GradebookError, match="no folder"):
        gradebook.write(tmp_path / "none", report.results, sheet)
