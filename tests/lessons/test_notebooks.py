"""The lessons as files, and run from top to bottom in both editions."""

import importlib
import json
import re
import signal
import sys
from collections import Counter
from pathlib import Path

import nbclient
import nbformat
import pytest
from minigrad.lessons import exercises
from minigrad.lessons.exercises.lesson02 import EXERCISES
from minigrad.lessons.grading import check
from minigrad.lessons.grading.sheet_modules import exercises_of

from tests.helpers import lesson_runs
from tests.helpers.lesson_runs import NOTEBOOKS, executed

ROOT = Path(__file__).resolve().parents[2]
SECOND = ROOT / "lessons" / "02_forward_and_reverse_mode.ipynb"


def cells(path: Path, kind: str = "code") -> list[dict]:
    return [
        c for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == kind
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
class TestFile:
    def test_is_valid_and_in_the_form_that_gives_readable_diffs(self, path):
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
        nbformat.validate(nbformat.from_dict(document))
        assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
        assert document["metadata"]["kernelspec"]["name"] == "python3"
        assert text == json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        assert all(isinstance(c["source"], list) for c in document["cells"])

    def test_a_displayed_formula_is_a_paragraph_of_its_own(self, path):
        """The site reads `$$` in the middle of a paragraph as two empty formulas, and then the
        text between the next two dollars as a formula.
        """
        texts = ("".join(c["source"]) for c in cells(path, "markdown"))
        paragraphs = [p.strip() for text in texts for p in re.split(r"\n\s*\n", text)]
        displayed = re.compile(r"\$\$.+\$\$", re.DOTALL)
        assert [p for p in paragraphs if "$$" in p and not displayed.fullmatch(p)] == []

    def test_each_column_of_a_table_has_a_heading(self, path):
        """What reads a page aloud tells it with each cell."""
        text = "\n".join("".join(c["source"]) for c in cells(path, "markdown"))
        heads = re.findall(r"^\|(.*)\|\n\|[-:| ]+\|$", text, re.MULTILINE)
        assert [h for h in heads if not all(part.strip() for part in h.split("|"))] == []

    def test_cells_have_ids_that_people_can_read(self, path):
        ids = [c["id"] for c in cells(path, "code") + cells(path, "markdown")]
        assert len(set(ids)) == len(ids)
        assert [
            i
            for i in ids
            if not re.fullmatch(r"[a-z][a-z0-9_-]{2,}", i) or re.fullmatch(r"[0-9a-f]{8}", i)
        ] == []

    def test_a_line_of_code_has_at_most_100_columns_which_a_laptop_shows(self, path):
        lines = [(c["id"], line) for c in cells(path) for line in "".join(c["source"]).split("\n")]
        assert [(cell, line) for cell, line in lines if len(line) > 100] == []

    def test_metadata_is_nbgraders(self, path):
        graded = [
            c["metadata"]["nbgrader"] | {"cell": c}
            for c in cells(path)
            if "nbgrader" in c["metadata"]
        ]
        assert len({g["grade_id"] for g in graded}) == len(graded)
        for g in graded:
            source = "".join(g["cell"]["source"])
            assert g["schema_version"] == 3
            assert g["solution"] == ("### BEGIN SOLUTION" in source)
            assert (
                g["grade"]
                == g["locked"]
                == bool(re.match(r"(check|predict)\(", source))
                == (not g["solution"])
            )
            assert g["grade"] == (g.get("points", 0) > 0)
        unmarked = [
            c["id"]
            for c in cells(path)
            if "nbgrader" not in c["metadata"]
            and re.search("SOLUTION|^(check|predict)", "".join(c["source"]))
        ]
        assert unmarked == []


def test_no_two_exercises_of_the_course_share_a_name():
    """A check knows an exercise by its name alone: of two, one would be judged as the other."""
    names = [
        name
        for module in exercises.modules()
        for name in exercises_of(importlib.import_module(f"minigrad.lessons.exercises.{module}"))
    ]
    assert len(names) > 20
    assert [name for name, count in Counter(names).items() if count > 1] == []


@pytest.mark.parametrize(
    "path", [p for p in NOTEBOOKS if p.stem[0].isdigit()], ids=lambda p: p.stem
)
def test_what_a_check_says_is_headed_as_the_exercise_is_in_the_notebook(path):
    asked = importlib.import_module(
        f"minigrad.lessons.exercises.lesson{path.stem.partition('_')[0]}"
    ).EXERCISES
    heading, checked = "", []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            heading = (
                (re.findall(r"^#{1,3} (.*)", source, re.MULTILINE) or [heading])[-1]
                .removesuffix(" (further)")
                .replace("`", "")
            )
        elif found := re.match(r'check\("([^"]+)"', source):
            title = asked[found[1]].title
            checked.append(title)
            assert str(check(found[1])).startswith(f"{title}: "), "so it stands above the feedback"
            if heading.startswith("Exercise "):
                assert title == heading or title.startswith(f"{heading} · ")
            else:
                assert title.startswith("Your turn · ")
    assert checked and len(set(checked)) == len(checked)


def test_each_exercise_of_lesson_2_is_asked_and_worth_what_its_cell_says():
    asked = {}
    for cell in cells(SECOND):
        found = re.match(r'(?:check|predict)\("([^"]+)"', "".join(cell["source"]))
        if found:
            asked[found[1]] = cell["metadata"]["nbgrader"]["points"]
    assert asked == {name: exercise.max_points for name, exercise in EXERCISES.items()}


# ------------------------------------------------------------------------------------ top to bottom


IN_A_KERNEL = ("02", "06b", "documents_article", "documents_mindspore", "documents_torch_f")
EXECUTED = {
    "instructors": [path for path in NOTEBOOKS if path.stem.startswith(IN_A_KERNEL)],
    "students": NOTEBOOKS,
}
"""Lesson 2 as instructors have it is executed in every run, the rest in the whole run. All other
solutions are executed too: in the process of the lesson's own tests (the fixture `scope`) or by
tests/grading/test_every_lesson_graded.py.
"""


def parameters(edition: str) -> list:
    return [
        pytest.param(
            path,
            id=path.stem,
            marks=[] if (path, edition) == (SECOND, "instructors") else [pytest.mark.whole],
        )
        for path in EXECUTED[edition]
    ]


@pytest.mark.parametrize("path", parameters("instructors"))
def test_the_instructors_edition_passes_every_check(path):
    notebook = executed(path, "instructors")
    answers = checks(notebook)
    assert answers
    assert [n for n, answer in answers.items() if ": ✓ right" not in answer.splitlines()[0]] == []
    assert coloured(notebook) == []


@pytest.mark.parametrize("path", parameters("students"))
def test_the_students_edition_runs_and_each_check_helps(path):
    notebook = executed(path, "students")
    answers = checks(notebook)
    assert answers
    for name, answer in answers.items():
        assert ": ○ not started" in answer.splitlines()[0], name
        assert "hint(" in answer, name
    outputs = json.dumps([c.get("outputs") for c in notebook.cells])
    assert "Traceback" not in outputs
    assert coloured(notebook) == []
    pictures = sum(bool(PICTURE.search(c.source)) for c in notebook.cells if c.cell_type == "code")
    assert outputs.count('class=\\"minigrad-frame\\"') >= max(1, pictures)
    assert "application/vnd.jupyter.widget" not in outputs, "on the site it is dead"


PICTURE = re.compile(r"^(viz\.(show|jacobian|compare|sliders)\(|with viz\.Live\()", re.MULTILINE)
"""How a cell shows a picture, whatever the student has written."""


def coloured(notebook: nbformat.NotebookNode) -> list[str]:
    """The cells that wrote to standard error, which a notebook shows on red as if something had
    gone wrong.
    """
    return [
        c.id for c in notebook.cells if any(o.get("name") == "stderr" for o in c.get("outputs", []))
    ]


def text(cell: nbformat.NotebookNode) -> str:
    return "".join(
        o.text if o.output_type == "stream" else o.data.get("text/plain", "") for o in cell.outputs
    )


def checks(notebook: nbformat.NotebookNode) -> dict[str, str]:
    return {
        c.id: text(c)
        for c in notebook.cells
        if c.cell_type == "code" and re.match(r"(check|predict)\(", c.source)
    }


def test_each_exercise_of_lesson_2_is_checked():
    assert len(checks(executed(SECOND, "instructors"))) == len(EXERCISES)


@pytest.mark.parametrize(
    "edition", ["instructors", pytest.param("students", marks=pytest.mark.whole)]
)
def test_the_engine_computes_the_three_numbers(edition):
    out = {c.id: text(c) for c in executed(SECOND, edition).cells if c.cell_type == "code"}
    numbers = [float(n) for n in re.findall(r"= (-?\d+\.\d+)", out["backward"])]
    assert numbers == pytest.approx([11.652071455223084, 5.5, 1.7163378145367738], rel=1e-14)
    of_y = [float(n) for n in re.findall(r"of y: (\S+)", out["jvp"])]
    assert of_y == pytest.approx([5.5, 1.7163378145367738], rel=1e-14)
    forward, reverse = re.findall(r": (\S+)", out["identity"])
    assert float(forward) == pytest.approx(float(reverse), rel=1e-14)


def test_each_viewer_cell_shows_a_viewer():
    cells = executed(SECOND, "instructors").cells
    shown = [c for c in cells if c.cell_type == "code" and c.source.startswith("viz.show")]
    assert len(shown) == 4
    for cell in shown:
        assert "text/html" in cell.outputs[-1].data
        assert "evaluation trace" in cell.outputs[-1].data["text/plain"]


@pytest.mark.whole
def test_a_prediction_is_not_printed_before_it_is_asked():
    """Predict before you look: no cell shows ∂y/∂x2 before it is to be predicted."""
    before = []
    for cell in executed(SECOND, "students").cells:
        if cell.id == "forward-y-check":
            break
        before.append(cell.source + (text(cell) if cell.cell_type == "code" else ""))
    assert len(before) > 10
    assert "1.716" not in "\n".join(before)


@pytest.mark.unix
def test_a_notebook_that_is_executed_leaves_the_handlers_of_signals(tmp_path):
    """Otherwise SIGTERM ends a run of the tests without its end, or not at all."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])
    nbformat.write(book, tmp_path / "sum.ipynb")
    received: list[int] = []
    note = lambda number, frame: received.append(number)
    before = signal.signal(signal.SIGTERM, note)
    try:
        lesson_runs._execute(tmp_path / "sum.ipynb", "instructors", tmp_path)
        assert signal.getsignal(signal.SIGTERM) is note
        signal.raise_signal(signal.SIGTERM)
        assert received == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


IN_ITS_OWN = """
import os, sys
print(os.getcwd() == os.environ["HOME"] + "/work", "" in sys.path, os.getpid() == os.getsid(0))
print(os.environ["MINIGRAD_TEST_TRACES"], "minigrad.viz" in sys.modules, "x" in globals())
x = 1
"""


def kernel_of(cell, folder):
    """What a cell prints in a kernel of its own."""
    folder.mkdir()
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbformat.write(book, folder / "one.ipynb")
    lesson_runs._execute(folder / "one.ipynb", "instructors", folder)
    return text(nbformat.read(folder / lesson_runs.EXECUTED, as_version=4).cells[0])


@pytest.mark.unix
@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux")
def test_each_forked_kernel_has_its_own_folder_and_names_and_its_end_is_noticed(tmp_path):
    for name in ("a", "b"):
        said = kernel_of(IN_ITS_OWN, tmp_path / name)
        assert said == f"True True True\n{tmp_path / name} True False\n"
    with pytest.raises(nbclient.exceptions.DeadKernelError):
        kernel_of("import os; os._exit(1)", tmp_path / "ends")
