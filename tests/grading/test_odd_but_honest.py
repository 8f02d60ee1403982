"""Submissions that are odd and right in Jupyter keep all their points."""

import importlib.util
import json
import os
import zipfile
from typing import Any

import pytest
from minigrad.lessons.grading import run, sandbox, student_process
from minigrad.lessons.grading.exercise import SheetError
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.local import run_cases
from minigrad.lessons.grading.sheet import load_sheet
from minigrad.lessons.grading.submitted_notebooks import code_cells, load

from tests.helpers.small_class import (
    MAX,
    NEEDS_MATPLOTLIB,
    PLOT,
    F,
    G,
    notebook,
    write_sheet,
)

OPTIONS = run.Options(
    least="confined" if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else "process",
    jobs=1,
    wrap=False,
)
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None

PICTURES = {
    "limits of an axis": PLOT
    + "lo, hi = ax.get_xlim()\nax.text(hi - 0.1, (lo + hi) / 2, 'x')\n"
    + F,
    "bins": PLOT + "n, bins, _ = ax.hist([1, 2, 3])\nwidth = bins[1] - bins[0]\n" + F,
    "colours": PLOT
    + "import numpy as np\ncolors = plt.cm.viridis(np.linspace(0, 1, 5))\ncolors[:, 3] *= .5\n"
    + F,
    "a formatted resolution": PLOT + "print(f'{fig.dpi:.1f}')\n" + F,
    "the number of lines": PLOT + "ax.plot([1, 2])\nassert len(ax.lines) >= 1\n" + F,
    "comparisons and loops": PLOT
    + "for a in fig.axes:\n    if a.get_ylim()[1] > 3 and not a.lines:\n        a.set_title('x')\n"
    + F,
}
JUPYTER = {
    "time of an assignment": {"f": "%time two = 2\ndef f(x, y):\n    return x * y * two / 2"},
    "time in a loop": {"f": "for i in range(2):\n    %time n = i\n" + F + " * n"},
    "options of a magic": {"f": "%prun -l 5 two = 2\n%timeit -n 3 -r 1 f(1, 2)\n" + F + "*two/2"},
    "the value of a magic": {"f": "two = %time 1 + 1\nhere = %pwd\nfiles = !ls\n" + F + "*two/2"},
    "a text whose lines begin with a sign": {
        "f": "text = '''\n%time x\n!ls\n'''\n%time assert '%time x' in text\n" + F
    },
    "capture": {"f": "%%capture out\nprint(1)\n" + F, "g": "out.show()\n" + G},
    "a file that a cell writes": {
        "f": "%%writefile helper.py\ntwo = 2\n",
        "g": "from helper import two\ndef f(x, y):\n    return x * y\n" + G,
    },
    "help and exit": {"f": "import numpy as np\nhelp(np.cos)\nquit, exit\n" + F},
    "the last value": {"f": "2", "g": "two = _\ndef g(x):\n    return two * x\n" + F},
    "await": {"f": "import asyncio\nawait asyncio.sleep(0)\n" + F},
    "a pool": {
        "f": "from multiprocessing import Pool\ndef double(x): return 2 * x\n"
        "with Pool(2) as pool:\n    assert pool.map(double, [1, 2]) == [2, 4]\n" + F
    },
    "an executor": {
        "f": "from concurrent.futures import ProcessPoolExecutor\n"
        "with ProcessPoolExecutor() as pool:\n    assert list(pool.map(abs, [-1])) == [1]\n" + F
    },
    "who and git": {
        "f": "import getpass, subprocess\ngetpass.getuser()\n"
        "found = subprocess.run(['git', 'log'], capture_output=True, text=True)\n"
        "assert found.stdout == '' and found.returncode\n" + F
    },
    "a package that is not there": {
        "f": "import no_such_package as nsp\nimport numpy as N\nnsp.seed(0)\nn = N.float64(1)\n" + F
    },
    "a package that may be missing": {
        "f": "try:\n    import no_such_package\nexcept ImportError:\n    no_such_package = None\n"
        "assert no_such_package is None\n" + F
    },
}  # fmt: skip

HABITS = {
    "cells that fail": {"f": F + "\n1 / 0", "more": ["1 / 0", "nope", "raise KeyError", "def ("]},
    "a program that ends itself": {"more": ["import sys\nsys.exit()", "exit()", "quit()"]},
    "threads": {
        "f": "import threading\nfrom concurrent.futures import ThreadPoolExecutor\n" + F,
        "g": "def g(x):\n    with ThreadPoolExecutor(4) as pool:\n"
        "        return np.array(list(pool.map(lambda row: 2 * row, x)))",
    },
    "tqdm": {
        "f": "from tqdm.auto import tqdm, trange\nfor _ in tqdm(range(3), desc='x'): pass\n" + F,
        "g": "from tqdm import tqdm\ndef g(x):\n    return sum(x for _ in tqdm(range(2)))",
    },
    "widgets": {
        "f": "import ipywidgets as w\nfrom ipywidgets import interact, IntSlider\n"
        "@interact(n=IntSlider(3))\ndef show(n=3): print(n)\nw.HBox([w.Label('a')])\n" + F
    },
    "display": {
        "f": "from IPython.display import HTML, Markdown, clear_output, display\n"
        "display(HTML('<b>x</b>'), Markdown('*y*'))\nclear_output()\n" + F
    },
    "cell magics": {
        "f": "%%time\n" + F,
        "g": "%%timeit -n 1 -r 1\npass",
        "more": [
            G, "%%bash\nls", "%%html\n<b>", "%%javascript\n1", "%%latex\nx", "%%script sh\nls",
        ],
    },
    "line magics": {
        "f": "%matplotlib inline\n%load_ext autoreload\n%autoreload 2\n%config X.y = 1\n%who\n"
        "%env A=1\n%pip install numpy\n%conda install x\n%precision 3\n!pip install tqdm\n" + F
    },
    "help": {"f": "np.cos?\n?np.sin\nnp.cos??\n" + F},
    "the shell": {
        "f": "from IPython import get_ipython\nip = get_ipython()\n"
        "ip.run_line_magic('matplotlib', 'inline')\nget_ipython().system('ls')\n" + F
    },
    "a question": {"f": F, "g": G, "more": ["name = input('Who are you? ')\nprint(name)"]},
    "warnings": {
        "f": "import warnings\nwarnings.warn('careful')\n" + F,
        "g": "warnings.simplefilter('error')\n" + G,
    },
    "standard error": {"f": "import logging, sys\nlogging.warning('x')\n"
                       "print('y', file=sys.stderr)\n" + F},
    "recursion": {
        "f": "import sys\nsys.setrecursionlimit(5000)\ndef down(n):\n"
        "    return 0 if n == 0 else down(n - 1)\n"
        "def f(x, y):\n    return x * y + down(2800)"
    },
    "memory": {"f": "large = np.ones(125_000_000)\ndef f(x, y):\n    return x * y * large[-1]"},
    "long calls": {
        "f": "import time\ndef f(x, y):\n    end = time.process_time() + 1.2\n"
        "    while time.process_time() < end: pass\n    return x * y"
    },
    "naps": {"f": "import time\ntime.sleep(2)\n" + F, "g": "time.sleep(1.5)\n" + G},
    "tensors": {"g": "import minigrad as mg\ndef g(x):\n    return mg.tensor(x) * 2"},
    "tensors with gradients": {
        "g": "import minigrad as mg\ndef g(x):\n"
        "    return (mg.tensor(x).requires_grad_() * 2)"
    },
    "longdouble": {"f": "def f(x, y):\n    return np.longdouble(1) * x * y"},
    "other orders in memory": {"g": "def g(x):\n    return np.asfortranarray(2 * x)[::-1][::-1]"},
    "lists": {"g": "def g(x):\n    return (2 * x).tolist()"},
    "tuples": {"g": "def g(x):\n    return tuple(map(tuple, 2 * x))"},
    "partials": {
        "f": "from functools import partial\nf = partial(lambda k, x, y: k * x * y, 1)",
        "g": "from operator import mul\nfrom functools import partial\ng = partial(mul, 2)",
    },
    "callable objects": {
        "f": "class Product:\n    def __call__(self, x, y):\n        return x * y\nf = Product()",
        "g": "class Double:\n    @staticmethod\n    def of(x): return 2 * x\ng = Double.of",
    },
    "ufuncs": {"f": "f = np.multiply", "g": "g = np.vectorize(lambda a: 2.0 * a)"},
    "parameters": {
        "f": "def f(x, y, /, *, scale=1):\n    return x * y * scale",
        "g": "def g(*args, **options):\n    return 2 * args[0]",
    },
    "decorators": {
        "f": "from functools import wraps\ndef told(h):\n    @wraps(h)\n"
        "    def called(*a):\n        print(a)\n        return h(*a)\n    return called\n@told\n"
        + F
    },
    "a counter of another kind": {
        "Counter": "from dataclasses import dataclass\n@dataclass\nclass Counter:\n"
        "    steps: tuple = ()\n    def add(self, n):\n        self.steps += (np.int32(n),)\n"
        "    @property\n    def total(self):\n        return np.sum(self.steps)\n"
        "    @property\n    def calls(self):\n        return len(self.steps)"
    },
    "floats where numbers are whole": {
        "Counter": "class Counter:\n    total = calls = 0.0\n    def add(self, n):\n"
        "        self.total += float(n)\n        self.calls += 1.0"
    },
    "slots and inheritance": {
        "Counter": "class Base:\n    __slots__ = ('total', 'calls')\n"
        "    def __init__(self): self.total = 0; self.calls = 0\n"
        "class Counter(Base):\n    def add(self, n): self.total += n; self.calls += 1"
    },
    "new syntax": {
        "f": "def f(x, y):\n    match y:\n        case 0: return 0 * x\n"
        "        case k if (z := k) is not None: return x * z",
        "g": "type_ = list[int] | None\ndef g(x: 'np.ndarray') -> 'np.ndarray':\n"
        "    return (twice := 2) * x",
    },
    "letters": {"f": "λ, Δx, é = 1, 2, 3  # ∂f/∂x 中文 🎉\ndef f(x, y):\n    return λ * x * y"},
    "tabs and semicolons": {"f": "def f(x, y):\n\tz = x * y;\n\treturn z;", "g": G + ";"},
    "built-in names overwritten": {
        "f": "list = [1]; sum = 3; type = str; len = None; print = id; isinstance = 1\n" + F
    },
    "modules overwritten": {"f": "import numpy as np\nnp.sum = None\njson = os = sys = 1\n" + F},
    "all of NumPy": {"f": "from numpy import *\nfrom math import *\n" + F},
    "names deleted": {"more": ["del np"], "g": "def g(x):\n    return 2 * x"},
    "random numbers": {"f": "np.random.seed(0)\nimport random\nrandom.seed(1)\n" + F},
    "a main": {"f": F + "\nif __name__ == '__main__':\n    assert f(2, 3) == 6"},
    "the library beside the answer": {"f": F + "\nimport minigrad as mg\nmg.mul(2.0, 3.0)"},
    "own tests": {
        "f": F + "\nimport unittest, doctest\nclass T(unittest.TestCase):\n"
        "    def test_f(self): self.assertEqual(f(2, 3), 6)\n"
        "unittest.main(argv=['x'], exit=False)\ndoctest.testmod()"
    },
    "files": {
        "f": "import pathlib, tempfile, sqlite3, pickle\npathlib.Path('a.txt').write_text('1')\n"
        "with tempfile.TemporaryDirectory() as d: open(d + '/b', 'w').close()\n"
        "with tempfile.NamedTemporaryFile() as t: t.write(b'1')\n"
        "sqlite3.connect(':memory:').close()\nnp.save('c.npy', np.ones(3))\nnp.load('c.npy')\n"
        "pickle.loads(pickle.dumps([1]))\n" + F
    },
    "the checks of the course": {
        "f": "from minigrad.lessons.grading import check, hint, predict\nhint('f')\n" + F,
        "g": G + "\ncheck('g', g)",
    },
    "the course's pictures": {
        "f": "from minigrad import viz\nviz.show(lambda x: x * x, 2.0, mode='reverse')\n" + F
    },
    "defined twice": {"f": "def f(x, y):\n    return None", "more": ["f(1, 2)", F, "f(3, 4)"]},
    "async": {"f": "import asyncio\nasync def h(): return 1\nn = await h()\n" + F + " * n"},
    "an error that is caught": {"f": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    pass\n" + F},
    "a copy changed in place": {"g": "def g(x):\n    x = x.copy()\n    x *= 2\n    return x"},
    "memory of earlier calls": {
        "f": "cache = {}\ndef f(x, y):\n    key = (np.asarray(x).tobytes(), y)\n"
        "    return cache.setdefault(key, x * y)"
    },
    "error state of NumPy": {"f": "np.seterr(all='raise')\nnp.set_printoptions(2)\n" + F},
}  # fmt: skip


def rearranged(change) -> bytes:
    """A right notebook, of which the JSON is changed: change(book) -> book, text or bytes."""
    book = change(notebook({}))
    text = json.dumps(book, ensure_ascii=False) if isinstance(book, dict) else book
    return text if isinstance(text, bytes) else text.encode()


def each_cell(**changes):
    """Changes parts of each cell; None takes a part away."""

    def change(book):
        for cell in book["cells"]:
            for name, value in changes.items():
                cell[name] = value(cell) if callable(value) else value
                if value is None:
                    del cell[name]
        return book

    return change


def in_order(order):
    return lambda book: {**book, "cells": order(book["cells"])}


def of_2014(book):
    cells = [
        {"cell_type": "code", "input": c["source"], "language": "python", "metadata": {},
         "outputs": [], "collapsed": False, "prompt_number": 3}
        for c in book["cells"]
    ]  # fmt: skip
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}


def answers_in_check_cells(book):
    cells = book["cells"]
    for answer, check in zip(cells[1::2], cells[2::2], strict=True):
        answer["source"], check["source"] = "", f"{answer['source']}\n\n{check['source']}"
    return book


def answers_below(book):
    new = []
    for answer in book["cells"][1::2]:
        new.append({"cell_type": "code", "metadata": {}, "source": answer["source"], "outputs": []})
        answer["source"] = "..."
    return {**book, "cells": [*book["cells"], *new]}


LINES = {"CRLF": "\r\n", "CR": "\r"}
FORMS = {
    "reversed": in_order(lambda cells: cells[::-1]),
    "setup last": in_order(lambda cells: [*cells[1:], cells[0]]),
    "every cell twice": in_order(lambda cells: [cell for cell in cells for _ in range(2)]),
    "checks deleted": in_order(lambda cells: [cells[0], *cells[1::2]]),
    "byte order mark": lambda book: b"\xef\xbb\xbf" + json.dumps(book).encode(),
    "UTF-16": lambda book: json.dumps(book).encode("utf-16"),
    "indented": lambda book: json.dumps(book, indent=4) + "\n\n",
    "nbformat 3": of_2014,
    "nbformat 4.0": lambda book: {**each_cell(id=None)(book), "nbformat_minor": 0},
    "nbformat 4.2": lambda book: {**each_cell(id=None)(book), "nbformat_minor": 2},
    "Colab": each_cell(id=None, metadata=lambda cell: {"id": "xyz", "colab": {}}),
    "lists of lines": each_cell(source=lambda cell: cell["source"].splitlines(keepends=True)),
    "no metadata": each_cell(metadata=None, outputs=None, execution_count=None),
    "another kernel": lambda book: {
        **book, "metadata": {"kernelspec": {"name": "ir", "language": "R", "display_name": "R"}}
    },
    "a raw cell": in_order(
        lambda cells: [{"cell_type": "raw", "metadata": {}, "source": "f ="}, *cells]
    ),
    "a solution that became text": in_order(
        lambda cells: [c | {"cell_type": "markdown"} if c["id"] == "f" else c for c in cells]
    ),
    "answers in the check cells": answers_in_check_cells,
    "answers in new cells below": answers_below,
    "large outputs": each_cell(outputs=[{"output_type": "stream", "text": "x" * 10**6}]),
    **{
        name: each_cell(source=lambda cell, end=end: cell["source"].replace("\n", end))
        for name, end in LINES.items()
    },
}  # fmt: skip


WITH_FORMS = ("reversed", "nbformat 3", "answers in new cells below")
"""Forms that are graded; of all of them the cells are read."""
SAMPLE = (
    "limits of an axis", "time of an assignment", "a file that a cell writes", "the last value",
    "a package that is not there", "partials", "nbformat 3",
)  # fmt: skip
"""What the default run grades of these."""


def a_class(folder, books: dict[str, dict | bytes]) -> None:
    for name, book in books.items():
        path = folder / name / "small.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(book if isinstance(book, bytes) else json.dumps(book).encode())


def grade(tmp_path, sheet=None):
    sheet = sheet or write_sheet(tmp_path / "sheet")
    report = run.grade(sheet, tmp_path / "submitted", tmp_path / "out", OPTIONS)
    return {r.student: r for r in report.results}


def test_no_point_is_lost_where_jupyter_runs_it(tmp_path, shared_servers, request):
    books = {name: notebook({"f": source}) for name, source in PICTURES.items()}
    if HAS_MATPLOTLIB:
        books |= {name: notebook({"f": source}) for name, source in NEEDS_MATPLOTLIB.items()}
    books |= {name: notebook({"f": "", **sources}) for name, sources in JUPYTER.items()}
    for name, habit in HABITS.items():
        habit = dict(habit)
        books[name] = notebook(habit, *habit.pop("more", []))
    for name in WITH_FORMS:
        books[name] = rearranged(FORMS[name])
    books["annotations of a later cell"] = notebook(
        {"f": "def f(x: NotDefined, y) -> AtAll:\n    return x * y"},
        first="from __future__ import annotations",
    )
    books["a setting of the folder"] = notebook(
        {"f": "open('n.txt', 'w').write('2')\n" + F, "g": f"n = int(open('n.txt').read())\n{G}"},
        first="import os\nos.makedirs('work')\n%cd work",
    )
    if not request.config.getoption("whole"):
        books = {name: books[name] for name in SAMPLE}
    a_class(tmp_path / "submitted", books)
    found = grade(tmp_path)
    lost = {
        name: (r.points, r.record["cells"], [g.say for j in r.judgements for g in j.groups])
        for name, r in found.items()
        if r.points != MAX
    }
    assert not lost
    assert set(found) == set(books)


@pytest.mark.parametrize("form", FORMS)
def test_the_cells_of_a_notebook_of_another_form_are_the_answers(form, tmp_path):
    sheet = load_sheet(write_sheet(tmp_path / "sheet"))
    path = tmp_path / "small.ipynb"
    path.write_bytes(rearranged(FORMS[form]))
    names: dict[str, Any] = {"check": lambda *answers: None}
    for _, source in code_cells(load(path), sheet):
        exec(source, names)
    for asked in sheet.exercises:
        cases = asked.cases(1)
        assert judge(asked, cases, run_cases(asked, cases, names, 60)).full, asked.name


@pytest.mark.skipif(not HAS_MATPLOTLIB, reason="needs Matplotlib")
def test_nothing_runs_any_more_with_stubs_once_a_picture_is_needed(
    tmp_path, shared_servers, monkeypatch
):
    """A loop over what a stub gives may never end; what follows it runs once, with Matplotlib."""
    ran, send = [], student_process.Child.send

    def noted(child, request):
        if request["do"] == "cell":
            ran.append(request["source"])
        return send(child, request)

    monkeypatch.setattr(student_process.Child, "send", noted)
    loop, after = NEEDS_MATPLOTLIB["a loop while there are lines"], f"{G}  # after the loop"
    a_class(tmp_path / "submitted", {"ada": notebook({"f": loop, "g": after})})
    assert grade(tmp_path)["ada"].points == MAX
    assert (ran.count(loop), ran.count(after)) == (2, 1), ran


@pytest.mark.whole
def test_folders_beside_the_notebook_are_there_and_the_digest_knows_their_names(
    tmp_path, shared_servers
):
    book = notebook(
        {
            "f": "import json\nfrom mylib.rules import two\ndata = json.load(open('data/t.json'))\n"
            "%run helper.py\ndef f(x, y):\n    return x * y * data[0] * two * four / 8",
        }
    )
    files = {
        "mylib/rules.py": "two = 2",
        "data/t.json": "[1]",
        "helper.py": "four = 4",
        "/".join(["deep"] * 6) + "/n.txt": "1",
    }
    a_class(tmp_path / "submitted", {"ada": book})
    for name, text in files.items():
        path = tmp_path / "submitted" / "ada" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with zipfile.ZipFile(tmp_path / "submitted" / "bob.zip", "w") as archive:
        for name, text in {"small.ipynb": json.dumps(book), **files}.items():
            archive.writestr(f"{'/'.join(['in'] * 7)}/{name}", text)
    found = grade(tmp_path)
    assert {name: r.points for name, r in found.items()} == {"ada": MAX, "bob": MAX}
    assert found["ada"].record["sha256"] == found["bob"].record["sha256"]
    (tmp_path / "submitted" / "ada" / "data").rename(tmp_path / "submitted" / "ada" / "other")
    assert grade(tmp_path)["ada"].points < MAX, "another name is another submission"


def test_files_and_packages_of_the_instructor_are_there(tmp_path, shared_servers):
    """And replace the student's own of that name; nothing else becomes importable."""
    pytest.importorskip("tqdm")
    sheet = write_sheet(tmp_path / "sheet")
    (tmp_path / "sheet" / "tinyad.py").write_text("two = 2")
    (tmp_path / "sheet" / "tables").mkdir()
    (tmp_path / "sheet" / "tables" / "iris.csv").write_text("1,2\n")
    with sheet.open("a") as file:
        file.write('\nFILES = ["tinyad.py", "tables"]\nPACKAGES = ["tqdm"]\n')
    book = notebook(
        {
            "f": "import tinyad, tqdm\nassert tinyad.two == 2 and tqdm.__version__\n"
            "assert open('tables/iris.csv').read() == '1,2\\n'\n" + F,
            "g": "import pytest\n" + G + " if pytest.main() else 0",
        }
    )
    a_class(tmp_path / "submitted", {"ada": book})
    (tmp_path / "submitted" / "ada" / "tinyad.py").write_text("two = 3")
    found = grade(tmp_path, sheet)["ada"]
    assert found.points == 5, (found.record["cells"], found.record["exercises"])
    assert "tqdm and the standard library are" in str(found.record["exercises"]["g"])


def test_what_ran_with_other_files_or_packages_runs_again(tmp_path, shared_servers):
    """Until then nothing is judged by what came back with the old ones."""
    pytest.importorskip("tqdm")
    sheet, out = write_sheet(tmp_path / "sheet"), tmp_path / "results"
    tinyad = tmp_path / "sheet" / "tinyad.py"
    tinyad.write_text("two = 1   # a slip of the instructor")
    with sheet.open("a") as file:
        file.write('\nFILES = ["tinyad.py"]\n')
    book = notebook({"f": "import tinyad\ndef f(x, y):\n    return x * y * tinyad.two / 2"})
    a_class(tmp_path / "submitted", {"ada": book, "bob": book | {"metadata": {"by": "bob"}}})

    def graded_again():
        report = run.grade(sheet, tmp_path / "submitted", out, OPTIONS)
        return report.ran, [r.points for r in report.results]

    assert graded_again() == (2, [MAX - 3] * 2)
    tinyad.write_text("two = 2   # mended")
    with pytest.raises(SheetError, match="other FILES or PACKAGES than when ada was graded: run"):
        run.regrade(sheet, out)
    assert graded_again() == (2, [MAX] * 2)
    os.utime(tinyad, (1, 1))
    assert graded_again() == (0, [MAX] * 2), "the time of a file says nothing"
    with sheet.open("a") as file:
        file.write('PACKAGES = ["tqdm"]\n')
    os.utime(sheet, (1, 1))
    assert graded_again() == (2, [MAX] * 2)
    tinyad.rename(tinyad.with_name("other.py"))
    sheet.write_text(sheet.read_text().replace("tinyad.py", "other.py"))
    os.utime(sheet, (2, 2))
    assert graded_again() == (2, [MAX - 3] * 2), "another name is another file"


@pytest.mark.parametrize(
    ("line", "say"),
    [
        ('PACKAGES = ["no_such_package"]', "which is not installed beside minigrad"),
        ('PACKAGES = "scipy"', "PACKAGES must be a list of names"),
        ('FILES = ["../other.csv"]', "no such file or folder lies beside the sheet"),
        ('FILES = ["sheet.py"]', "it holds the answers"),
    ],
)
def test_what_cannot_be_given_is_refused(tmp_path, line, say):
    sheet = write_sheet(tmp_path)
    with sheet.open("a") as file:
        file.write(f"\n{line}\n")
    with pytest.raises(SheetError, match=say):
        load_sheet(sheet)
