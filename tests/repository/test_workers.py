"""The run of the suite without options: it uses two cores, a module's fixture is made once, and one
worker takes all files that ask for JupyterLab.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DEAREST, GRAMMARS, TESTS

ROOT = Path(__file__).parents[2]

SHARED = """
import os, time
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def shared():
    with Path(__file__).with_suffix(".made").open("a") as file:
        print(os.getpid(), file=file)

@pytest.mark.parametrize("number", range(4))
def test_with_it(shared, number):
    time.sleep(0.05)
"""
JUPYTERLAB = """
import os, time
from pathlib import Path
import pytest

@pytest.fixture
def lab():
    Path(__file__).with_suffix(".server").write_text(str(os.getpid()))

def test_with_it(lab):
    time.sleep(0.2)
"""


@pytest.mark.skipif(not importlib.util.find_spec("xdist"), reason="pytest-xdist is not installed")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one core")
def test_all_cores_are_used_and_what_files_share_is_made_once(tmp_path):
    tests = tmp_path / "tests"
    (tests / "browser").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "conftest.py", tests)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in (f"test_{n}.py" for n in range(4)):
        (tests / name).write_text(SHARED)
    for name in ("test_lessons.py", "test_views.py"):
        (tests / "browser" / name).write_text(JUPYTERLAB)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")}
    environment |= {"PYTHONPATH": path, "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"}
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "18 passed" in told.stdout, told.stdout + told.stderr
    made = [path.read_text().split() for path in tests.glob("*.made")]
    assert [len(workers) for workers in made] == [1] * 4
    assert len({worker for (worker,) in made}) >= 2
    servers = [path.read_text() for path in (tests / "browser").glob("*.server")]
    assert len(servers) == 2 and len(set(servers)) == 1
    compiled = {path.name.partition(".")[0] for path in (tests / "__pycache__").glob("*.pyc")}
    assert compiled == {"conftest", *(f"test_{n}" for n in range(4))}, "kept for other processes"


def test_the_whole_run_begins_with_the_files_that_take_longest(request):
    """The files that it names are there, and stand first wherever this test runs with them."""
    assert [name for name in DEAREST if not (TESTS / name).is_file()] == []
    if request.config.getoption("shuffle") is None:
        files = dict.fromkeys(item.path for item in request.session.items)
        dear = [TESTS / name for name in DEAREST if TESTS / name in files]
        assert list(files)[: len(dear)] == dear


def test_processes_that_tests_start_compile_no_grammars():
    """jsonschema would, on import, for formats that no test uses."""
    told = subprocess.run([sys.executable, "-c", f"import {GRAMMARS}"], capture_output=True)
    assert b"ImportError: left out in tests" in told.stderr
