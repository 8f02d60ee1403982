"""Packages that only the lessons use and that are not there when a submission is graded: importing
them costs nothing, using them fails.
"""

import json
import re
import sys
from pathlib import Path

import pytest
from minigrad.lessons.grading import library_stubs

LESSONS = Path(__file__).parents[2] / "lessons"


@pytest.fixture
def cell(monkeypatch):
    """Runs a cell as the student's process does, with the finders in place; returns its names."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(library_stubs, "_missing", set())
    library_stubs.may_be_missing(["nowhere_at_all"])
    before = dict(sys.modules)
    for name in before:  # what other tests have imported is not there in the student's process
        if name.partition(".")[0] in library_stubs.DISPLAY_ONLY:
            del sys.modules[name]
    library_stubs.install(library_stubs.nothing)

    def run(source: str) -> dict:
        names: dict = {}
        exec(compile(source, "<cell 1>", "exec"), names)
        return names

    yield run
    for name in set(sys.modules) - set(before):
        del sys.modules[name]
    sys.modules.update(before)


@pytest.mark.parametrize(
    "line",
    [
        "import nowhere_at_all as na",
        "import nowhere_at_all.parts.inner as inner",
        "from nowhere_at_all import Symbol, sin",
        "from nowhere_at_all.parts import Symbol as S",
        "def g():\n    import nowhere_at_all\ng()",
    ],
)
def test_the_rest_of_the_cell_runs(cell, line):
    names = cell(f"{line}\nimport math\ndef f(x):\n    return math.cos(x)")
    assert names["f"](0.0) == 1.0


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("import nowhere_at_all as na\nna.Symbol('x')", "nowhere_at_all.Symbol"),
        ("import nowhere_at_all as na\nna.nn.functional.relu(1)", "nowhere_at_all.nn"),
        ("from nowhere_at_all import pi\n2 * pi", "nowhere_at_all.pi"),
        ("from nowhere_at_all import nn\nclass Net(nn): pass", "nowhere_at_all.nn"),
        (
            "from nowhere_at_all.parts import table\nfor row in table: pass",
            "nowhere_at_all.parts.table",
        ),
    ],
)
def test_using_it_says_that_it_is_not_there(cell, line, what):
    with pytest.raises(ModuleNotFoundError) as caught:
        cell(line)
    assert str(caught.value).startswith(
        f"nowhere_at_all is not there when a submission is graded, so `{what}` cannot be used"
    )
    assert caught.value.name == "nowhere_at_all"


def test_any_other_package_fails_at_its_import(cell):
    for line in ("import nowhere_else", "from nowhere_else import x", "import math.nowhere"):
        with pytest.raises(ModuleNotFoundError, match="No module named"):
            cell(line)
    assert cell("import json\nfound = json.dumps(1)")["found"] == "1", (
        "what is there is the real one"
    )


def test_what_is_there_comes_first(cell, tmp_path, monkeypatch):
    (tmp_path / "nowhere_at_all.py").write_text("here = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert cell("from nowhere_at_all import here")["here"] == 1


def test_the_packages_are_those_that_the_lessons_use():
    """And no solution cell does: an exercise must be possible with what is there."""
    used, in_solutions = set(), set()
    for path in LESSONS.glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                found = set(
                    re.findall(r"^\s*(?:import|from) +(\w+)", "".join(cell["source"]), re.MULTILINE)
                )
                used |= found
                in_solutions |= (
                    found if cell["metadata"].get("nbgrader", {}).get("solution") else set()
                )
    there = {"minigrad", "numpy", *library_stubs.DISPLAY_ONLY, *sys.stdlib_module_names}
    assert used - there == library_stubs.NOT_HERE
    assert not in_solutions & library_stubs.NOT_HERE


def test_a_display_package_still_does_nothing_at_all(cell):
    names = cell(
        "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\naxes.plot([1,"
        " 2])[0].set_color('r')\nplt.show()"
    )
    assert "nothing is displayed" in repr(names["axes"])
