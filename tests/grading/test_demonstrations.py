"""Cells that only show something are left out, and never one that an answer could depend on; one
process does for several sets of names.
"""

import json

import pytest
from minigrad.lessons.grading import process_server, run
from minigrad.lessons.grading.demonstrations import demonstrations, to_leave_out
from minigrad.lessons.grading.journal import last_submissions
from minigrad.lessons.grading.jupyter_cells import names_in
from minigrad.lessons.grading.sheet import load_sheet
from minigrad.lessons.grading.submitted_notebooks import code_cells

from tests.helpers.small_class import hand_in

SETUP = "import math\nimport numpy as np\nimport minigrad as mg"
ANSWER = "def answer(x):\n    return math.sin(x)"


def left_out(*shown: str, answer: str = ANSWER) -> list[str]:
    """Which of some cells of a sheet need not be run beside a student's answer, which is the
    last cell. The set-up does not count.
    """
    cells = [(f"cell {i}", source) for i, source in enumerate([SETUP, *shown, answer])]
    notebook = {
        "cells": [
            {"cell_type": "code", "id": f"c{i}", "metadata": {}, "source": s}
            for i, (_, s) in enumerate(cells)
        ]
    }

    class Sheet:
        check_ids, solution_ids = frozenset(), frozenset({f"c{len(cells) - 1}"})

    Sheet.notebook = notebook
    return [
        name for name in to_leave_out(cells, demonstrations(Sheet), names_in) if name != "cell 0"
    ]


@pytest.mark.parametrize(
    "shown",
    [
        "print(mg.sin(mg.tensor(2.0)))",
        "y = mg.tensor(2.0)\nfor i in range(3):\n    y = y * y",
        "x = [1]\nx.append(2)\nclass Value:\n    n = 0",
        "print(answer(2.0))",
        "a = [answer(i) for i in range(9)]",
    ],
)
def test_unused_cells_are_left_out(shown):
    assert left_out(shown) == ["cell 1"]


KEPT = {
    "a name that the answer uses": ("table = {1: 2}", "def answer(x):\n    return table[x]"),
    "a function that the answer uses": (
        "def helper(x):\n    return x",
        "def answer(x):\n    return helper(x)",
    ),
    "a name inside a nested function": (
        "table = {1: 2}",
        "def answer(x):\n    return [(lambda: table)() for _ in x]",
    ),
    "a name in a class": ("table = {1: 2}", "class answer:\n    t = table"),
    "a name in an f-string": ("word = 'a'", "answer = f'{word}'"),
    "an answer that is assigned twice": ("answer = 3", "answer = 2"),
    "an answer that is deleted": ("del answer", ANSWER),
    "an import that the answer uses": (
        "import random",
        "def answer(x):\n    return random.random()",
    ),
    "a change of what the answer uses": (
        "seen.append(1)",
        "seen = []\ndef answer(x):\n    return len(seen)",
    ),
    "a change by a method of the answer's": (
        "answer(1)",
        "seen = []\ndef answer(x):\n    seen.append(x)\n    return len(seen)",
    ),
    "a global": (
        "def f():\n    global table\n    table = 1\nf()",
        "def answer(x):\n    return table",
    ),
    "a module's attribute": ("np.pi = 3", ANSWER),
    "a module's attribute, deeper": ("np.random.mine = 3", ANSWER),
    "an attribute of the answer": ("answer.calls = 0", ANSWER),
    "a setting": ("mg.set_printoptions(3)", ANSWER),
    "a seed": ("np.random.seed(3)", ANSWER),
    "a file": ("open('x', 'w').write('1')", ANSWER),
    "a file by another name": ("np.savez('x', a=1)", ANSWER),
    "the interpreter": ("import sys\nsys.setrecursionlimit(10000)", ANSWER),
    "names as data": ("table = 1", "def answer(x):\n    return globals()['ta' + 'ble']"),
    "code as data": ("table = 1", "def answer(x):\n    return eval('ta' + 'ble')"),
    "everything of a module": ("from math import *", "def answer(x):\n    return sin(x)"),
}


@pytest.mark.parametrize("what", KEPT)
def test_what_an_answer_could_depend_on_is_run(what):
    shown, answer = KEPT[what]
    assert left_out(shown, answer=answer) == []


def test_what_is_run_keeps_what_it_needs_itself():
    assert left_out("a = 1", "b = a", "c = b", "d = 4", answer="answer = c") == ["cell 4"]


def test_a_cell_that_the_student_has_changed_is_run():
    cells = [("cell 1", SETUP), ("cell 2", "y = 3"), ("cell 3", "y = 4"), ("cell 4", ANSWER)]
    assert to_leave_out(cells, frozenset({SETUP, "y = 3"}), names_in) == [], (
        "it shares a name with what the student has written"
    )
    assert to_leave_out([*cells[:2], cells[3]], frozenset({SETUP, "y = 3"}), names_in) == ["cell 2"]


def test_a_cell_that_is_no_python_takes_nothing_with_it():
    assert left_out("y = 3", answer="def answer(:") == ["cell 1"], (
        "it can do nothing, so it needs nothing"
    )
    assert left_out("y = 3", answer="%time\nx = y") == []
    assert left_out("y = 3", answer="x = 7 \\\n  % y") == []


@pytest.mark.parametrize(
    "answer", [None, {}, [], [{}], [{"names": 1, "bound": [], "loose": [], "inner": []}], [None]]
)
def test_without_names_everything_is_run(answer):
    cells = [("cell 1", "y = 3"), ("cell 2", ANSWER)]
    assert to_leave_out(cells, frozenset({"y = 3"}), lambda sources: answer) == []


def test_the_lessons_demonstrations_are_left_out():
    """Lesson 2 shows what its exercises ask for: with the shown cells left out, nothing of it is
    called in a submission.
    """
    sheet = load_sheet("lessons/02_forward_and_reverse_mode.ipynb")
    cells = code_cells(sheet.notebook, sheet)
    left = to_leave_out(cells, demonstrations(sheet), names_in)
    assert len(left) > 10
    assert not any(
        "backward()" in source or "jvp" in source for name, source in cells if name not in left
    )


# ---------------------------------------------------------------------------------- in a submission

SHEET = """
from minigrad.lessons.grading.exercise import Case, exercise

@exercise("free", points={"all": 1}, is_value=True, limit_s=2.0)
def free(rng):
    yield Case("all")

@free.answer
def _():
    return 4.0

@exercise("own", points={"all": 1}, forbid=["derivatives"], limit_s=2.0)
def own(rng):
    yield Case("all", x=float(rng.normal()))

@own.answer
def _(x):
    return 2 * x
"""
SHOWN = "print('shown', mg.func.grad(lambda x: x * x)(mg.tensor(1.0)))"
FREE, OWN = "free = 4.0", "def own(x):\n    return 2 * x"
BY_LIBRARY = "free = mg.func.grad(lambda x: x * x)(mg.tensor(2.0)).item()"
SILENTLY = (
    "try:\n    mg.func.grad(lambda x: x * x)(mg.tensor(2.0))\n    free = 4.0\nexcept"
    " NotImplementedError:\n    free = 0.0"
)


def book(free: str = FREE, own: str = OWN, shown: str = SHOWN) -> dict:
    """A notebook of the sheet above."""
    cells = [
        ("setup", "import minigrad as mg\nfrom minigrad.lessons.grading import check", None),
        ("shown", shown, None),
    ]
    for name, source in (("free", free), ("own", own)):
        cells += [
            (name, source, "solution"),
            (f"{name}-check", f'check("{name}", {name})', "grade"),
        ]
    made = []
    for name, source, kind in cells:
        meta = {"schema_version": 3, "task": False, "grade_id": name, "points": 1} if kind else {}
        meta |= (
            {"solution": kind == "solution", "grade": kind == "grade", "locked": kind == "grade"}
            if kind
            else {}
        )
        made.append(
            {
                "cell_type": "code",
                "id": name,
                "metadata": {"nbgrader": meta} if kind else {},
                "source": source,
                "outputs": [],
            }
        )
    return {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


@pytest.fixture
def graded(tmp_path, monkeypatch, shared_servers):
    """Grades submissions of the sheet above; returns {student: (points, number of processes)} and
    the journal.
    """
    (tmp_path / "sheet").mkdir()
    (tmp_path / "sheet" / "sheet.py").write_text(SHEET)
    (tmp_path / "sheet" / "small.ipynb").write_text(json.dumps(book()))
    started: list[tuple] = []
    child = process_server.Server.child
    monkeypatch.setattr(
        process_server.Server,
        "child",
        lambda self, *given: started.append(1) or child(self, *given),
    )

    def grade(**students):
        found = {}
        for student, content in students.items():
            hand_in(tmp_path / "submitted", student, content)
            before = len(started)
            report = run.grade(
                tmp_path / "sheet" / "sheet.py",
                tmp_path / "submitted",
                tmp_path / "out",
                run.Options("process", jobs=1, wrap=False),
            )
            own_solution = 1
            found[student] = (
                next(r.points for r in report.results if r.student == student),
                len(started) - before - own_solution,
            )
        return found, last_submissions(tmp_path / "out" / "journal.jsonl")

    return grade


FORBIDDEN = "def own(x):\n    return mg.func.grad(lambda a: a * a)(mg.tensor(x)).item()"


@pytest.mark.whole
def test_one_process_does_as_long_as_nothing_is_called_that_is_not_there(graded):
    found, journal = graded(
        plain=book(), library=book(free=BY_LIBRARY), forbidden=book(own=FORBIDDEN)
    )
    assert found["plain"] == (2.0, 1)
    assert found["library"] == (
        2.0,
        2,
    ), "a prediction may be computed with the library, and gets a process in which it is there"
    assert found["forbidden"] == (1.0, 2)
    assert journal["plain"]["not_run"] == ["cell 1", "cell 2"]
    assert "shown" not in journal["plain"]["printed"]
    assert journal["forbidden"]["exercises"]["own"]["returned"][0]["kind"] == "forbidden"


@pytest.mark.whole
def test_who_hides_a_call_or_ends_the_process_gets_as_many_processes_as_others(graded):
    found, journal = graded(
        silently=book(free=SILENTLY),
        ends=book(own="def own(x):\n    import os\n    os._exit(0)"),
        hides_and_ends=book(free=SILENTLY + "\nimport os\nif free == 0.0:\n    os._exit(0)"),
        changed=book(shown=SHOWN + "  # mine"),
    )
    assert found["silently"] == (2.0, 2), "though the student's code hides that it was not there"
    assert found["ends"] == (1.0, 2), "two processes, because a call ended the first one"
    assert found["hides_and_ends"] == (
        2.0,
        3,
    ), "where something withheld is called is told before the process ends"
    assert found["changed"][0] == 2.0
    assert "shown" in journal["changed"]["printed"] and journal["changed"]["not_run"] == []


@pytest.mark.whole
def test_a_sheet_that_needs_what_it_shows_runs_it(graded, tmp_path):
    """The words of one cell reach another in a way that names do not tell: the own solution says
    so, and everything is run.
    """
    hidden = "getattr(mg, '__dict__')['mine'] = 4.0"
    needed = "free = mg.mine"
    (tmp_path / "sheet" / "small.ipynb").write_text(json.dumps(book(free=needed, shown=hidden)))
    found, journal = graded(plain=book(free=needed, shown=hidden))
    assert found["plain"][0] == 2.0
    assert journal["plain"]["not_run"] == []
