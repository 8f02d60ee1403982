"""A student learns before handing in what the grader would see of the notebook."""

import importlib.util
import json
from pathlib import Path

import pytest
from minigrad.lessons.grading import check_hand_in
from minigrad.lessons.grading.dry_run import dry_run

from minigrad.cli import main
from tests.helpers.grader_libraries import made_once
from tests.helpers.small_class import COUNTER, NEEDS_MATPLOTLIB, F, G, notebook, write_sheet

LESSONS = Path(__file__).parents[2] / "lessons"
MUL = "import minigrad as mg\n{} = mg.mul(1.0, 2.0).item()\n"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    return tmp_path_factory.mktemp("libraries")


@pytest.fixture
def folder(tmp_path, libraries):
    write_sheet(tmp_path)
    with made_once(libraries):
        yield tmp_path


def write(folder, sources, *more):
    (folder / "small.ipynb").write_text(json.dumps(notebook(sources, *more)))
    return folder / "small.ipynb"


@pytest.mark.whole
def test_what_is_right_loses_nothing(folder, capsys):
    path = write(folder, {}, "import matplotlib.pyplot as plt\nplt.plot([1])")
    assert main(["check", str(path)]) == 0
    said = capsys.readouterr().out
    assert "✓ f: it runs" in said and "nothing would be lost" in said


def test_an_answer_that_has_become_text_is_run_as_in_grading(folder):
    """One key in Jupyter makes text of a cell; a proof, which a person grades, is no code."""
    book = notebook({})
    for cell in book["cells"]:
        if cell["id"] == "f":
            cell["cell_type"] = "markdown"
    about = {"grade_id": "proof", "grade": True, "solution": True, "locked": False, "points": 5}
    proof = {"cell_type": "markdown", "metadata": {"nbgrader": about}, "source": "By 1 = 1: so."}
    book["cells"].append(proof)
    (folder / "small.ipynb").write_text(json.dumps(book))
    found = dry_run(folder / "small.ipynb")
    assert [mark for mark, _ in found.lines] == ["✓"] * 3, found


def test_what_would_be_lost_is_said_with_its_cell_and_a_way_out(folder, capsys, monkeypatch):
    """What is not there in grading, files that are not handed in, loops, and what is unfinished."""
    (folder / "data").mkdir()
    (folder / "data" / "t.json").write_text("[2]")
    (folder / "helper.py").write_text("two = 2")
    path = write(
        folder,
        {
            "f": "import pytest\n" + F.replace("x * y", "pytest.approx(x * y)"),
            "g": "import json\ntwo = json.load(open('data/t.json'))\n" + G,
            "Counter": "Counter = ...",
        },
        "import helper\nhelper.two + 1",
    )
    found = dry_run(path)
    said = str(found)
    assert found.lost
    assert "✗ f: `f` raised ModuleNotFoundError: pytest is not there" in said
    assert "✗ cell 4: FileNotFoundError" in said
    assert "Hand in data/t.json together with the notebook, in one zip." in said
    assert "Hand in helper.py together" in said
    assert "· Counter: not started." in said
    monkeypatch.chdir(folder)
    check_hand_in()
    assert "something would be lost" in capsys.readouterr().out


def test_what_an_exercise_forbids_is_lost_in_that_exercise_alone(folder):
    """`f` forbids `mg.mul`. `g`, the class and cells that no exercise needs may call it."""
    forbidden = f"import minigrad as mg\n{F}".replace("x * y", "mg.mul(x, y).numpy()")
    allowed = f"import minigrad as mg\n{G}".replace("2 * x", "mg.mul(2.0, x).numpy()")
    found = dry_run(write(folder, {"f": forbidden, "g": allowed}, MUL.format("two")))
    assert found.lost
    told = dict(line.partition(": ")[::2] for _, line in found.lines)
    assert told["f"].startswith("minigrad.mul is what you are asked to write, so it is not there")
    assert ("✓", f"g: {told['g']}") in found.lines
    assert set(told) == {"f", "g", "Counter"}

    found = dry_run(write(folder, {"g": allowed, "Counter": MUL.format("two") + COUNTER}))
    assert not found.lost, found
    found = dry_run(write(folder, {"f": MUL.format("two") + F, "g": allowed}))
    assert "✗ f: `f` is not defined. In cell 2: minigrad.mul is what you are asked to" in str(found)


@pytest.mark.whole
def test_the_check_of_lesson_6_refuses_what_its_exercise_forbids(tmp_path):
    notebook = json.loads((LESSONS / "06_autograd_tour.ipynb").read_text())
    for cell in notebook["cells"]:
        cell["source"] = source = "".join(cell["source"])
        if cell["metadata"].get("nbgrader", {}).get("solution") and "def hessian_times" in source:
            cell["source"] = "def hessian_times(f, x, v):\n    return mg.func.hessian(f)(x) @ v"
    path = tmp_path / "06_autograd_tour.ipynb"
    path.write_text(json.dumps(notebook))
    found = dry_run(path)
    assert [line.partition(":")[0] for mark, line in found.lines if mark == "✗"] == [
        "hessian_times"
    ]
    assert "minigrad.func.hessian is what you are asked to write" in str(found)


@pytest.mark.whole
@pytest.mark.parametrize("lesson", ["01_three_ways", "15_gpu", "20_through_a_simulator"])
def test_a_lesson_with_its_solutions_loses_nothing(lesson):
    """Their demonstrations need SymPy, a device of their own, and pictures."""
    found = dry_run(LESSONS / f"{lesson}.ipynb")
    assert not found.lost, found
    assert any("No exercise needs it" in line for _, line in found.lines)


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs Matplotlib")
def test_nothing_runs_any_more_with_stubs_once_a_picture_is_needed(folder, tmp_path):
    """A loop over what a stub gives may never end; what follows it runs once, with Matplotlib."""
    ran = tmp_path / "ran.txt"
    cells = (f"with open({str(ran)!r}, 'a') as file:\n    file.write('{k} ')" for k in range(3))
    before, loop, after = cells
    loop = f"{NEEDS_MATPLOTLIB['a loop while there are lines']}\n{loop}"
    found = dry_run(write(folder, {"f": f"{before}\n{F}", "g": f"{loop}\n{G}"}, after))
    assert not found.lost, found
    assert ran.read_text() == "0 0 1 2 "


def test_a_cell_that_fails_is_a_loss_only_where_something_is_lost(folder):
    """SymPy is not there when submissions are graded; lesson 1's own cells fail without it."""
    cell = "import sympy\nx = sympy.Symbol('x')"
    found = dry_run(write(folder, {}, cell))
    assert not found.lost, found
    mark, line = found.lines[-1]
    assert (mark, line[:7]) == ("·", "cell 8:") and "sympy" in line
    assert line.endswith("No exercise needs it."), line
    (_, line), (_, longer) = (
        dry_run(write(folder, {}, cell, *more)).lines[-1] for more in ("x", ("x", "1 / 0"))
    )
    assert line.endswith("No exercise needs it, nor cell 9, which fails too."), line
    assert longer.endswith("nor cell 9, cell 10, which fail too."), longer
    for source in (f"{cell}\nfrom math import *; f, two = x, 2", f"f = = 1\n{F}"):
        found = dry_run(write(folder, {"f": source}))
        assert found.lost, found
        assert [s.partition(":")[0] for mark, s in found.lines if mark == "✗"] == ["f", "cell 2"]


def test_a_notebook_without_a_sheet_is_refused(tmp_path, capsys):
    path = tmp_path / "other.ipynb"
    path.write_text(json.dumps(notebook({})))
    assert main(["check", str(path)]) == 2
    assert "no sheet.py lies beside it" in capsys.readouterr().err
    path.write_text("{")
    assert main(["check", str(path)]) == 2
    assert main(["check", str(tmp_path / "none.ipynb")]) == 2


@pytest.mark.whole
def test_a_process_that_ends_is_told(folder):
    found = dry_run(write(folder, {"f": f"import os\nos._exit(0)\n{F}"}))
    assert found.lost and "The process ended by itself." in str(found)
    assert "✓ g: it runs" in str(found)


def test_a_loop_costs_its_cell_or_its_exercise_alone(folder, monkeypatch):
    monkeypatch.setattr("minigrad.lessons.grading.supervisor.CELL_S", 1.0)
    monkeypatch.setattr("minigrad.lessons.grading.dry_run.WALL", 2.0)
    sheet = folder / "sheet.py"
    sheet.write_text(sheet.read_text().replace("limit_s=2.0", "limit_s=1.0"))
    loop = "def g(x):\n    while True:\n        pass"
    first = "while True:\n    pass"
    path = folder / "small.ipynb"
    path.write_text(json.dumps(notebook({"g": loop}, first=first)))
    said = str(dry_run(path))
    assert "✗ g: It took too long, so it was stopped." in said
    assert "✓ f: it runs" in said and "✓ Counter: it runs" in said
    assert "✗ cell 1: It took too long, so it was stopped." in said
    assert "ended by itself" not in said
