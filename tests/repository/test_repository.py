"""Rules that no single file can keep by itself: what is tracked, and the folder of tests."""

import ast
import json
import re

import pytest

from tests.helpers.source_tree import ROOT, tracked


def test_notebooks_are_kept_without_outputs():
    recorded = []
    for path in tracked():
        if path.suffix == ".ipynb":
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            recorded += [
                f"{path.relative_to(ROOT)}, cell {number}"
                for number, cell in enumerate(cells)
                if cell.get("outputs") or cell.get("execution_count") is not None
            ]
    assert not recorded, "clear the outputs of:\n" + "\n".join(recorded)


def test_no_file_knows_the_machine_it_was_written_on():
    """A home folder, a virtual environment or a checkout of one machine is of no use on another."""
    paths = re.compile(r"/(?<![\w.]/)(?:work|farm|tmp|home|root|Users)/\w.*")
    found = [
        f"{path.relative_to(ROOT)}: {place[:100]}"
        for path in tracked()
        if path.suffix not in (".png", ".gif", ".webp", ".npz")
        for place in paths.findall(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


OPTIONAL = {"torch", "jax", "cupy", "autograd", "mygrad", "playwright", "nbgrader", "numba"}


def imported_at_the_top(source: str) -> set[str]:
    """The optional packages that a module imports in its own body."""
    likely = rf"^(?:import|from)\s.*\b(?:{'|'.join(OPTIONAL)})\b"
    if not re.search(likely, source, re.MULTILINE):  # most files need not be parsed
        return set()
    body = ast.parse(source).body
    names = [node.module or "" for node in body if isinstance(node, ast.ImportFrom)]
    names += [a.name for node in body if isinstance(node, ast.Import) for a in node.names]
    return OPTIONAL & {name.partition(".")[0] for name in names}


def test_no_test_module_imports_an_optional_package_at_its_top():
    """Such an import ends a run of all tests at collection where the package is missing."""
    found = {
        str(path.relative_to(ROOT)): optional
        for path in (ROOT / "tests").rglob("*.py")
        if (optional := imported_at_the_top(path.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import numpy as np, torch.nn as nn", {"torch"}),
        ("from numba import njit\n\nimport jax", {"numba", "jax"}),
        ('"""\nimport torch\n"""\ndef f():\n    import torch', set()),
        ("from tests.helpers.torch_comparison import pairs", set()),
    ],
)
def test_an_optional_import_at_the_top_is_seen(source, found):
    assert imported_at_the_top(source) == found


def test_the_folder_of_tests_mirrors_the_packages():
    tests = ROOT / "tests"
    assert {path.name for path in tests.glob("*.py")} == {"conftest.py", "__init__.py"}
    assert [p for p in tests.rglob("*.py") if not (p.parent / "__init__.py").exists()] == []
    modules = {
        path.stem
        for top in ("minigrad", "viz", "lessons", "benchmarks")
        for path in (ROOT / top, *(ROOT / top).iterdir())
    }
    folders = {path.name for path in tests.iterdir() if (path / "__init__.py").exists()}
    assert folders - modules == {"browser", "helpers", "repository"}


def test_no_line_of_javascript_is_longer_than_100_columns():
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "viz").rglob("*.js"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 100
    ]
    assert not found, "\n".join(found)
