"""A student learns before handing in what the grader would see of the notebook."""

import json

import pytest
from minigrad.lessons.grading import check_hand_in
from minigrad.lessons.grading.dry_run import dry_run

from minigrad.cli import main
from tests.helpers.small_class import F, G, notebook, write_sheet


@pytest.fixture
def folder(tmp_path):
    write_sheet(tmp_path)
    return tmp_path


def write(folder, sources, *more):
    (folder / "small.ipynb").write_text(json.dumps(notebook(sources, *more)))
    return folder / "small.ipynb"


@pytest.mark.whole
def test_what_is_right_loses_nothing(folder, capsys):
    path = write(folder, {}, "import matplotlib.pyplot as plt\nplt.plot([1])")
    assert main(["check", str(path)]) == 0
    said = capsys.readouterr().out
    assert "✓ f: it runs" in said and "nothing would be lost" in said


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
    assert "· Counter: not written yet." in said
    monkeypatch.chdir(folder)
    check_hand_in()
    assert "something would be lost" in capsys.readouterr().out


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
    found = dry_run(write(folder, {"f": "import os\nos._exit(0)"}))
    assert found.lost and "The process ended by itself." in str(found)
