"""Sheets: found, matched with their notebook, their own solution tried first, their holes told,
and made fit for students.
"""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from minigrad.lessons.edition import (
    EditionError,
    checksum,
    needed_beside,
    public_sheet,
    student_edition,
    student_file,
)
from minigrad.lessons.grading import check, known
from minigrad.lessons.grading.exercise import SheetError
from minigrad.lessons.grading.sheet import load_sheet
from minigrad.lessons.grading.sheet_report import examine, own_solution

from minigrad.cli import main

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "02_forward_and_reverse_mode.ipynb"

MODULE = '''
"""An instructor's own sheet."""
import numpy as np
from minigrad.lessons.grading.exercise import Case, Misconception, exercise

@exercise("double", points={"small": 1, "large": 2}, misconceptions=(
    Misconception("adds two", "you add 2.", lambda case: case.args["x"] + 2),
    Misconception("squares", "you square.", lambda case: case.args["x"] ** 2),
))
def double(rng):
    yield Case("small", x=np.array([2.0]))
    yield Case("large", x=rng.normal(size=50))

@double.answer
def _(x):
    return 2 * x  # the secret

@exercise("ready", points={"all": 1}, is_value=True)
def ready(rng):
    yield Case("all")

@ready.accept
def _(case, got):
    return got == "yes"  # another secret

### BEGIN HIDDEN TESTS
password = "a third secret"
### END HIDDEN TESTS
'''
SOLUTION = "def double(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION"


def meta(grade_id, points=None):
    graded = {
        "grade_id": grade_id,
        "schema_version": 3,
        "task": False,
        "locked": points is not None,
        "grade": points is not None,
    }
    return {
        "nbgrader": (
            graded
            | {"solution": points is None}
            | ({"points": points} if points is not None else {})
        )
    }


def cells(solution=SOLUTION):
    return [
        nbformat.v4.new_code_cell("%matplotlib inline\nimport math\nprint('noise')", id="setup"),
        nbformat.v4.new_code_cell(solution, id="double", metadata=meta("double")),
        nbformat.v4.new_code_cell(
            'check("double", double)', id="double-check", metadata=meta("double-check", 3)
        ),
        nbformat.v4.new_code_cell(
            "answer = ...\n### BEGIN SOLUTION\nready = 'yes'\n### END SOLUTION",
            id="ready",
            metadata=meta("ready"),
        ),
        nbformat.v4.new_code_cell(
            'check("ready", ready)', id="ready-check", metadata=meta("ready-check", 1)
        ),
    ]


@pytest.fixture
def lab(tmp_path):
    def write(given=None, module=MODULE, name="lab.ipynb"):
        (tmp_path / "sheet.py").write_text(module)
        nbformat.write(
            nbformat.v4.new_notebook(cells=cells() if given is None else given), tmp_path / name
        )
        return tmp_path

    return write


# -------------------------------------------------------------------------------------------- found


@pytest.mark.parametrize("which", ["sheet.py", "lab.ipynb", "."])
def test_a_sheet_is_its_module_or_its_notebook_or_their_folder(lab, which):
    sheet = load_sheet(lab() / which)
    assert sheet.name == "lab"
    assert [e.name for e in sheet.exercises] == ["double", "ready"]
    assert sheet.max_points == 4
    assert sheet.check_ids == {"double-check", "ready-check"}
    assert sheet.solution_ids == {"double", "ready"}


def test_the_order_is_the_notebooks(lab):
    c = cells()
    assert [e.name for e in load_sheet(lab([c[0], c[3], c[4], c[1], c[2]])).exercises] == [
        "ready",
        "double",
    ]


def test_a_lesson_names_its_exercises_in_its_metadata():
    sheet = load_sheet(LESSON)
    assert sheet.name == LESSON.stem
    assert sheet.module == "minigrad.lessons.exercises.lesson02"
    assert [e.name for e in sheet.exercises][:3] == ["trace", "forward-v4", "forward-y"]
    assert {e.home for e in sheet.exercises} == {""}


def test_the_hash_is_of_what_grades_depend_on(lab):
    one = load_sheet(lab()).hash
    assert load_sheet(lab()).hash == one
    ran = cells()
    ran[0].outputs, ran[0].execution_count = [nbformat.v4.new_output("stream", text="noise")], 7
    assert load_sheet(lab(ran)).hash == one, "outputs do not count"
    assert load_sheet(lab(module=MODULE.replace("size=50", "size=51"))).hash != one
    assert load_sheet(lab(cells(SOLUTION.replace("2 * x", "x + x")))).hash != one


def test_a_sheet_without_a_notebook(tmp_path):
    (tmp_path / "sheet.py").write_text(MODULE)
    sheet = load_sheet(tmp_path)
    assert sheet.notebook is None
    assert [j.exercise for j in own_solution(sheet)] == ["double"], (
        "only where there is one answer can it be tried"
    )


def replaced(i, **change):
    c = cells()
    c[i] = nbformat.v4.new_code_cell(
        change.get("source", c[i].source),
        id=c[i].id,
        metadata=meta(c[i].id, change.get("points", c[i].metadata.nbgrader.get("points"))),
    )
    return c


@pytest.mark.parametrize(
    ("given", "module", "say"),
    [
        (replaced(2, points=5), MODULE, "worth 5 points by its metadata, but the exercise 3"),
        (replaced(2, source='check("duble", double)'), MODULE, "'duble', which is no exercise"),
        (replaced(4, source='check("double", double)', points=3), MODULE, "a second time"),
        (replaced(2, source="1 + 1"), MODULE, r'calls no check\("name"'),
        (
            replaced(2, source='check("double", dobule)'),
            MODULE,
            "with dobule, but the exercise asks for double",
        ),
        (replaced(2, source='check("double")'), MODULE, "with nothing"),
        (cells()[:3], MODULE, "no cell checks the exercise 'ready'"),
        (
            cells(),
            MODULE.replace("@double.answer", "@double.accept if False else lambda f: f"),
            "neither answer nor accept",
        ),
        (cells(), "x = 1", "there is no exercise in it"),
        (cells(), "1 / 0", "importing it raised ZeroDivisionError"),
        (
            cells(),
            MODULE.replace('"ready", points', '"double", points'),
            "two exercises are called 'double'",
        ),
        (cells(), "NOTEBOOK = 'other.ipynb'\n" + MODULE, "names 'other.ipynb'"),
    ],
)
def test_what_is_wrong_with_a_sheet_is_reported(lab, given, module, say):
    with pytest.raises(SheetError, match=say):
        load_sheet(lab(given, module) / "sheet.py")


def test_what_is_no_sheet(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no sheet"):
        load_sheet(tmp_path / "nothing.ipynb")
    with pytest.raises(SheetError, match="found 0 notebooks"):
        load_sheet(tmp_path)
    (tmp_path / "a.ipynb").write_text("{]")
    with pytest.raises(SheetError, match="not a notebook"):
        load_sheet(tmp_path / "a.ipynb")
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [], "metadata": {}}))
    with pytest.raises(SheetError, match=r"no sheet\.py lies beside it"):
        load_sheet(tmp_path / "a.ipynb")


def test_a_module_of_exercises_that_cannot_be_imported_is_reported(tmp_path):
    (tmp_path / "a.ipynb").write_text(
        json.dumps(
            {"cells": [], "metadata": {"minigrad": {"exercises": "nowhere_at_all.exercises"}}}
        )
    )
    with pytest.raises(
        SheetError,
        match=(
            r"a\.ipynb: its metadata name the module of exercises 'nowhere_at_all\.exercises',"
            r" which cannot be"
        ),
    ):
        load_sheet(tmp_path / "a.ipynb")


DRIVEN = MODULE.replace(
    'points={"small": 1, "large": 2},', 'points={"small": 1, "large": 2}, drive="{drive}",'
)
DRIVE = "def twice(answers, call, x):\n    return answers[call](x){more}\n"


def driven(folder, drive, **files):
    """A sheet whose exercise has a drive, with files beside it."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "sheet.py").write_text(DRIVEN.replace("{drive}", drive))
    return folder / "sheet.py"


def test_a_drive_lies_beside_its_sheet(lab):
    path = driven(lab(), "own_drive:twice", own_drive=DRIVE.format(more=""))
    before = list(sys.path)
    sheet = load_sheet(path)
    assert sys.path == before
    assert sheet["double"].drive_code() == (DRIVE.format(more=""), "twice")
    assert examine(sheet).ok


def test_drives_of_the_same_name_beside_two_sheets_are_two_drives(lab, tmp_path_factory):
    path = driven(lab(), "own_drive:twice", own_drive=DRIVE.format(more=" + 0"))
    other = tmp_path_factory.mktemp("other")
    (other / "lab.ipynb").write_bytes((path.parent / "lab.ipynb").read_bytes())
    sheets = [
        load_sheet(path),
        load_sheet(driven(other, "own_drive:twice", own_drive=DRIVE.format(more=" + 1"))),
    ]
    assert [sheet["double"].drive_code()[0][-4:] for sheet in sheets] == ["+ 0\n", "+ 1\n"]
    assert [examine(sheet).ok for sheet in sheets] == [True, False]


def test_the_check_in_a_notebook_finds_a_drive_beside_it(lab, monkeypatch):
    path = driven(lab(), "own_drive:twice", own_drive=DRIVE.format(more=""))
    (path.parent / "sheet.py").write_text(public_sheet(path.read_text()))
    monkeypatch.chdir(path.parent)
    assert known()["double"].drive_code() == (DRIVE.format(more=""), "twice")


@pytest.mark.parametrize(
    ("drive", "text", "say"),
    [
        (
            "nowhere:twice",
            "",
            (
                r"the module of its drive 'nowhere:twice' is not found: it does not lie beside the"
                r" sheet \(.*nowhere\.py\)"
            ),
        ),
        ("no.where:twice", "", "the module of its drive 'no.where:twice' is not found"),
        ("own_drive:thrice", DRIVE.format(more=""), "its module defines no thrice"),
        ("own_drive:twice", "def twice(:", r"is no Python \(line 1"),
    ],
)
def test_mistakes_in_a_drive_are_reported_before_grading(lab, drive, text, say):
    path = driven(lab(), drive, own_drive=text)
    with pytest.raises(SheetError, match=say):
        load_sheet(path)


# --------------------------------------------------------------------------------- its own solution


def test_a_sheet_that_is_fit(lab, capsys):
    report = examine(load_sheet(lab()))
    assert (report.ok, report.exit_code) == (True, 0)
    assert [(j.exercise, j.points) for j in report.own] == [("double", 3.0), ("ready", 1.0)]
    assert "noise" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "solution",
    [SOLUTION.replace("2 * x", "3 * x"), "double = None", SOLUTION.replace("return 2 * x", "...")],
)
def test_a_sheet_whose_own_solution_fails_is_wrong(lab, solution):
    report = examine(load_sheet(lab(cells(solution))))
    assert (report.ok, report.exit_code) == (False, 2)
    assert "✗ double: its own solution gets 0 of 3 points" in str(report)


def test_a_notebook_that_does_not_run_is_told_with_its_cell(lab):
    report = examine(load_sheet(lab(cells("def double(x):\n    return 2 * x\nnope"))))
    assert report.exit_code == 2
    assert "cell 'double' raised NameError" in str(report)


def test_the_instructor_is_told_what_the_tests_miss(lab):
    weak = MODULE.replace(
        'yield Case("large", x=rng.normal(size=50))', 'yield Case("large", x=np.full(50, 2.0))'
    )
    report = examine(load_sheet(lab(module=weak)))
    assert report.exit_code == 0
    assert report.missed["double"] == ["adds two", "squares"]
    assert "your tests miss: adds two" in str(report)
    assert examine(load_sheet(lab())).missed["double"] == []


@pytest.mark.whole
def test_the_lesson_is_fit_and_misses_nothing():
    """With its notebook run by `examine` itself; the lessons' tests examine it in every run."""
    report = examine(load_sheet(LESSON))
    assert report.ok, str(report)
    assert not any(report.missed.values())
    assert report.caught["reverse_sweep"] >= 12


@pytest.mark.parametrize(
    ("solution", "status"),
    [
        (SOLUTION.replace("2 * x", "3 * x"), 2),
        pytest.param(SOLUTION, 0, marks=pytest.mark.whole),
    ],
)
def test_the_command_checks_a_sheet(lab, solution, status):
    command = [sys.executable, "-m", "minigrad", "grade", "sheet", str(lab(cells(solution)))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert done.stdout.startswith("sheet lab\n")


# ------------------------------------------------------------------------------------- for students


def test_the_students_sheet_has_the_cases_and_no_answers():
    public = public_sheet(MODULE)
    assert "secret" not in public
    scope = {}
    exec(public, scope)
    assert len(scope["double"].cases(1)) == 2
    assert not scope["double"].has_answer
    assert not scope["ready"].has_answer


def test_the_release_of_a_sheet_and_its_notebook(lab):
    folder = lab()
    given = [student_file(folder / name).decode() for name in ("sheet.py", "lab.ipynb")]
    assert "secret" not in given[0]
    assert "2 * x" not in given[1]
    assert "'yes'" not in given[1]


BESIDE = {
    "helperlib": "import deeper\nsizes = [deeper.two, 5]\n",
    "deeper": "two = 2\n### BEGIN SOLUTION\nsecret = 7\n### END SOLUTION\n",
    "solutions": "def right(x):\n    return 2 * x  # the secret\n",
    "own_drive": DRIVE.format(more=""),
    "unused": "never = 1\n",
}


FILES = 'FILES = ["data", "helperlib.py"]'


@pytest.fixture
def with_modules(lab):
    """A sheet that imports what lies beside it: for its cases, and for its answers."""
    home = driven(lab(), "own_drive:twice", **BESIDE).parent
    text = (home / "sheet.py").read_text().replace("size=50", "size=helperlib.sizes[1]")
    text = "import helperlib\nfrom solutions import right\n" + text.replace(
        "2 * x  #", "right(x)  #"
    )
    (home / "sheet.py").write_text(text + f"\n{FILES}\n")
    (home / "data").mkdir()
    (home / "data" / "table.csv").write_text("1,2\n")
    return home


@pytest.mark.parametrize("named", ["sheet.py", "lab.ipynb"])
def test_a_release_takes_along_what_the_cases_of_a_sheet_need(
    with_modules, named, tmp_path_factory, monkeypatch, capsys
):
    handout = tmp_path_factory.mktemp("handout")
    assert main(["release", str(handout), str(with_modules / named)]) == 0
    along = "helperlib.py, own_drive.py, deeper.py, data/table.csv"
    assert f"with what sheet.py needs: {along}" in capsys.readouterr().out
    written = {p.relative_to(handout).as_posix() for p in handout.rglob("*") if p.is_file()}
    assert written == {"sheet.py", *([named] if named != "sheet.py" else []), *along.split(", ")}
    for path in handout.rglob("*.py"):
        assert "secret" not in path.read_text() and "solutions" not in path.read_text()
    monkeypatch.chdir(handout)
    said = str(check("double", lambda x: 2 * x))
    assert "It is graded when you hand it in" in said, "the cases could be made"


def test_modules_of_the_same_name_beside_two_sheets_are_two_modules(with_modules, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    for path in with_modules.iterdir():
        if path.is_file():
            (other / path.name).write_bytes(path.read_bytes())
    (other / "data").mkdir()
    (other / "solutions.py").write_text("def right(x):\n    return 3 * x\n")
    (other / "deeper.py").write_text("two = 3\n")
    sheets = [load_sheet(home / "sheet.py") for home in (with_modules, other, with_modules)]
    assert [examine(sheet).ok for sheet in sheets] == [True, False, True]


@pytest.mark.parametrize(
    ("line", "say"),
    [
        ('FILES = ["no.csv"]', "FILES names 'no.csv', but no such file"),
        ('FILES = ["../data"]', "FILES names '../data', but no such file"),
        ("FILES = sorted(names)", "write FILES as a list of names"),
    ],
)
def test_a_release_of_files_that_are_not_known_writes_nothing(
    with_modules, line, say, tmp_path, capsys
):
    path = with_modules / "sheet.py"
    path.write_text(path.read_text().replace(FILES, line))
    assert main(["release", str(tmp_path / "handout"), str(path)]) == 1
    assert say in capsys.readouterr().err and not (tmp_path / "handout").exists()


def test_a_module_of_exercises_under_another_name_loses_its_answers_too(tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("from . import one\nfrom .one import two\n")
    (tmp_path / "pack" / "one.py").write_text("two = 2\n")
    path = tmp_path / "week1.py"
    path.write_text("import pack\n" + MODULE.replace("@ready.accept", "@ready.accept_all"))
    assert "secret" not in student_file(path).decode()
    assert [p.as_posix() for p in needed_beside(path)] == ["pack/__init__.py", "pack/one.py"]


@pytest.mark.parametrize(
    ("source", "say"),
    [
        ("double.answer(lambda x: 2 * x)", "use .answer as a decorator"),
        ("tell = double.accept", "use .accept as a decorator"),
        ("def f(:", "line 1"),
        ("### BEGIN HIDDEN TESTS\nx = 1", "has no END"),
    ],
)
def test_what_could_leak_an_answer_is_an_error(source, say):
    with pytest.raises(EditionError, match=say):
        public_sheet(source)


def test_a_decorator_call_and_one_among_several_are_taken_out():
    source = "@cache\n@e.answer(call='f')\ndef _(x):\n    return (\n        7\n    )\nkeep = 1\n"
    assert public_sheet(source) == "keep = 1\n"


def test_the_checksums_are_those_of_nbgrader():
    """Values that nbgrader 0.9.6 itself computed for these cells."""
    grade = {
        "cell_type": "code",
        "source": 'check("double", double)',
        "metadata": meta("double-check", 3),
    }
    solution = {
        "cell_type": "code",
        "source": ["def double(x):\n", "    ...  # your code here"],
        "metadata": meta("double"),
    }
    assert checksum(grade) == NBGRADER[0]
    assert checksum(solution) == NBGRADER[1]
    for cell in json.loads(student_file(LESSON))["cells"]:
        graded = cell["metadata"].get("nbgrader")
        if graded:
            assert (graded["checksum"], graded["cell_type"]) == (checksum(cell), "code")


NBGRADER = ("58e19e64aab58d1a88fdccfdb606c245", "fd56a9749f80f03af6b2da0f240cabdc")


def test_nbgrader_computes_the_same_checksums():
    utils = pytest.importorskip(
        "nbgrader.utils", reason="nbgrader is not installed: pip install nbgrader"
    )
    notebook = nbformat.reads(student_file(LESSON).decode(), as_version=4)
    graded = [c for c in notebook.cells if "nbgrader" in c.metadata]
    assert len(graded) == 2 * len(load_sheet(LESSON).exercises)
    assert [c.metadata.nbgrader.checksum for c in graded] == [
        utils.compute_checksum(c) for c in graded
    ]


def test_an_edition_made_twice_is_the_same():
    once = json.loads(student_file(LESSON))
    assert student_edition(once) == once
