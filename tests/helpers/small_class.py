"""A small sheet and submissions for it: what the tests of the grader grade.

The sheet asks for a product (`f`, two groups), a double (`g`) and a class (`Counter`, through a
drive). Each is worth what it says.
"""

import json
from pathlib import Path

MAX = 7.0

SHEET = '''
"""Three small exercises."""
import numpy as np
from minigrad.lessons.grading.exercise import Case, exercise

@exercise("f", points={"vectors": 2, "numbers": 1}, forbid=["minigrad.mul"], limit_s=2.0)
def f(rng):
    for _ in range(3):
        yield Case("vectors", x=rng.normal(size=3), y=float(rng.normal()))
    yield Case("numbers", x=float(rng.normal()), y=2.0)

@f.answer
def _(x, y):
    return x * y

@exercise("g", points={"all": 2}, limit_s=2.0)
def g(rng):
    for _ in range(2):
        yield Case("all", x=rng.normal(size=(2, 2)))

@g.answer
def _(x):
    return 2 * x

@exercise("Counter", points={"all": 2}, drive="small_drive:count", limit_s=2.0)
def counter(rng):
    yield Case("all", steps=[int(n) for n in rng.integers(1, 9, size=4)])

@counter.answer
def _(steps):
    return {"total": sum(steps), "calls": len(steps)}
'''

DRIVE = """
def count(answers, call, steps):
    counter = answers[call]()
    for step in steps:
        counter.add(step)
    return {"total": counter.total, "calls": counter.calls}
"""

F = "def f(x, y):\n    return x * y"
G = "def g(x):\n    return 2 * x"
COUNTER = """class Counter:
    def __init__(self):
        self.total = self.calls = 0

    def add(self, n):
        self.total += n
        self.calls += 1
"""
PLOT = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\n"
NEEDS_MATPLOTLIB = {
    "the answer is computed by a picture": PLOT
    + "heights, _, _ = ax.hist([1, 1, 2], bins=2)\nassert list(heights) == [2, 1]\n"
    + "def f(x, y):\n    return x * y * (heights[0] / 2)",
    "a picture for each step": "import matplotlib.pyplot as plt\nfig, axes = plt.subplots(1, 3)\n"
    + "steps = {}\nfor ax, h in zip(axes.flat, (1, 2, 3)):\n    steps[h] = h\n    ax.plot([h])\n"
    + "def f(x, y):\n    return x * y * steps[3] / 3",
    "the shape of an image": PLOT + "assert ax.imshow(np.eye(5)).get_array().shape == (5, 5)\n" + F,
    "a loop while there are lines": PLOT
    + "ax.plot([1]); ax.plot([2])\nwhile ax.lines:\n    ax.lines[0].remove()\n"
    + F,
    "exactly one line": PLOT + "ax.plot([1]); ax.plot([2])\nassert len(ax.lines) == 2\n" + F,
}
"""Right answers to `f` that no stub of Matplotlib computes."""
RIGHT = {"f": F, "g": G, "Counter": COUNTER}
POINTS = {"f": 3, "g": 2, "Counter": 2}


def _cell(source: str, name: str, **nbgrader) -> dict:
    metadata = (
        {"nbgrader": {"schema_version": 3, "task": False, "grade_id": name, **nbgrader}}
        if nbgrader
        else {}
    )
    return {
        "cell_type": "code",
        "id": name,
        "metadata": metadata,
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def notebook(sources: dict[str, str], *more: str, first: str = "import numpy as np") -> dict:
    """A notebook with an answer to each exercise, and cells before and after them."""
    cells = [_cell(first, "setup")]
    for name, points in POINTS.items():
        cells.append(
            _cell(sources.get(name, RIGHT[name]), name, solution=True, grade=False, locked=False)
        )
        cells.append(
            _cell(
                f'check("{name}", {name})',
                f"{name}-check",
                solution=False,
                grade=True,
                locked=True,
                points=points,
            )
        )
    cells += [_cell(source, f"more{i}") for i, source in enumerate(more)]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def write_sheet(folder: Path) -> Path:
    """The sheet's files; returns the path of sheet.py."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sheet.py").write_text(SHEET)
    (folder / "small_drive.py").write_text(DRIVE)
    (folder / "small.ipynb").write_text(json.dumps(notebook({})))
    return folder / "sheet.py"


def hand_in(
    submitted: Path, student: str, content: dict | str | bytes, name: str = "small.ipynb"
) -> Path:
    """A submission in nbgrader's layout."""
    path = submitted / student / "small" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(content) if isinstance(content, dict) else content
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    return path
