"""Submissions that are odd and right in Jupyter keep all their points."""

import importlib.util
import json
import zipfile

import pytest
from minigrad.lessons.grading import run, sandbox
from minigrad.lessons.grading.exercise import SheetError
from minigrad.lessons.grading.sheet import load_sheet

from tests.helpers.small_class import MAX, F, G, notebook, write_sheet

OPTIONS = run.Options(
    least="confined" if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else "process",
    jobs=1,
    wrap=False,
)
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
PLOT = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\n"

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
NEEDS_MATPLOTLIB = {
    "the answer is computed by a picture": PLOT
    + "heights, _, _ = ax.hist([1, 1, 2], bins=2)\nassert list(heights) == [2, 1]\n"
    + "def f(x, y):\n    return x * y * (heights[0] / 2)",
    "exactly one line": PLOT + "ax.plot([1]); ax.plot([2])\nassert len(ax.lines) == 2\n" + F,
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


SAMPLE = (
    "limits of an axis", "time of an assignment", "a file that a cell writes", "the last value",
    "a package that is not there",
)  # fmt: skip
"""What the default run grades of these."""


def a_class(folder, books: dict[str, dict]) -> None:
    for name, book in books.items():
        path = folder / name / "small.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(book))


def grade(tmp_path, sheet=None):
    try:
        sheet = sheet or write_sheet(tmp_path / "sheet")
        return {
            r.student: r
            for r in run.grade(sheet, tmp_path / "submitted", tmp_path / "out", OPTIONS).results
        }
    finally:
        run.close_servers()


def test_no_point_is_lost_where_jupyter_runs_it(tmp_path, shared_libraries, request):
    books = {name: notebook({"f": source}) for name, source in PICTURES.items()}
    if HAS_MATPLOTLIB:
        books |= {name: notebook({"f": source}) for name, source in NEEDS_MATPLOTLIB.items()}
    books |= {name: notebook({"f": "", **sources}) for name, sources in JUPYTER.items()}
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


@pytest.mark.whole
def test_folders_beside_the_notebook_are_there_and_the_digest_knows_their_names(
    tmp_path, shared_libraries
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


def test_files_and_packages_of_the_instructor_are_there(tmp_path, shared_libraries):
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
