"""Every lesson is graded as a class's submissions are: its own solution gets all its points (every
second lesson), and an untouched one none and a readable page (every sixth). The largest cases are
smaller here: the executed lessons have the full size.

The released notebook is handed in, once with the instructor's solutions put in and once as it was
handed out. It runs confined, with the library of which the derivatives are taken away and stubs
for whatever only displays.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from minigrad.lessons.edition import student_file
from minigrad.lessons.grading import grades, one_submission, run, sandbox, submissions
from minigrad.lessons.grading.pages import student_html, student_markdown
from minigrad.lessons.grading.sheet import load_sheet

LESSONS = Path(__file__).parents[2] / "lessons"
NOTEBOOKS = sorted(path.name for path in LESSONS.glob("*.ipynb"))
LEAST = "confined" if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else "process"
LONG = "24b_names.ipynb"
"""Trains for ten seconds; its cells run in the executed lessons."""

pytestmark = [pytest.mark.unix, pytest.mark.whole, pytest.mark.usefixtures("smaller_cases")]


@pytest.fixture(scope="module", autouse=True)
def servers():
    """All lessons share their warm servers."""
    yield
    one_submission.close_servers()


def source(cell) -> str:
    return "".join(cell["source"])


def solved(path: Path) -> dict:
    """The released notebook with the instructor's solutions put in."""
    solutions = {c["id"]: source(c) for c in json.loads(path.read_text(encoding="utf-8"))["cells"]}
    book = json.loads(student_file(path))
    for cell in book["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            cell["source"] = "\n".join(
                line
                for line in solutions[cell["id"]].split("\n")
                if not line.strip().startswith("###")
            )
    return book


def graded(path: Path, book: dict, folder: Path, student: str) -> grades.Graded:
    """A submission's line of the journal and what it is worth."""
    hand_in = folder / f"{student}.ipynb"
    hand_in.write_text(json.dumps(book), encoding="utf-8")
    common = run._common_job(path, folder, folder, run.Options(least=LEAST, wrap=False)) | {
        "work": ""
    }  # so that servers outlive a lesson
    (job,) = run._jobs([submissions.Submission(student, hand_in)], common)
    record = one_submission.grade_one(job)
    assert json.loads(json.dumps(record)) == record
    return grades.Graded(record, grades.judgements(record, one_submission.sheet_at(str(path))))


class Text(HTMLParser):
    """The visible words of a page, and its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words, self.pieces, self.tags, self.hidden = "", [], [], 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.hidden += tag == "style"

    def handle_endtag(self, tag):
        self.hidden -= tag == "style"

    def handle_data(self, data):
        self.words += "" if self.hidden else data
        self.pieces.append(data.strip())


@pytest.mark.parametrize("name", [n for n in NOTEBOOKS[1::2] if n != LONG])
def test_its_own_solution_gets_all_points(name, tmp_path):
    result = graded(LESSONS / name, solved(LESSONS / name), tmp_path, "ada")
    assert {j.exercise: j.points for j in result.judgements} == {
        e.name: e.max_points for e in load_sheet(LESSONS / name).exercises
    }
    assert (result.record["flags"], result.record["stops"], result.record["level"]) == (
        [],
        0,
        LEAST,
    )
    # A cell may call what is taken away, or use what a stub gives. But none may fail at its
    # imports: an answer may stand below them.
    errors = result.record["cells"].values()
    assert not [e for e in errors if "No module named" in e or "cannot import name" in e], errors
    page = Text(student_html("ada", name, result.judgements))
    assert page.pieces.count("✓ right") == len(result.judgements)
    assert f"{result.points:g} of {result.points:g} point" in page.words


@pytest.mark.parametrize("name", NOTEBOOKS[3::6])
def test_an_untouched_one_gets_none_and_a_readable_page(name, tmp_path):
    result = graded(LESSONS / name, json.loads(student_file(LESSONS / name)), tmp_path, "nil")
    assert result.points == 0
    assert (result.record["flags"], result.record["stops"]) == ([], 0)
    assert not any(j.started for j in result.judgements)
    html, text = (
        student_html("nil", name, result.judgements),
        student_markdown("nil", name, result.judgements),
    )
    page = Text(html)
    assert "script" not in page.tags
    assert page.words.count("○ not started") == len(result.judgements)
    for words in (page.words, text):
        assert f"0 of {sum(j.max for j in result.judgements):g} point" in words
        assert not re.search(r"Traceback|Ellipsis|ellipsis|NoneType|returned nothing", words)
        assert "It looks as if" not in words and "The first wrong node" not in words
