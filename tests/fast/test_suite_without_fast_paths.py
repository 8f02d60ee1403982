"""The core is complete: what it says passes without the fast paths."""

import os
import subprocess
import sys

import pytest

from tests.helpers.source_tree import ROOT

PARTS = ["tests/core", "tests/func", "tests/autograd"]
ELSEWHERE = [
    "tests/core/test_copy_or_view.py",
    "tests/core/test_random_programs.py",
    "tests/autograd/test_every_function.py",
]
"""Random programs and whole tables of operations: their bits are equal with and without the fast
paths, as test_random_programs.py and test_fast_paths.py find in this process.
"""
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


@pytest.mark.whole
def test_the_tests_of_the_engine_pass_without_the_fast_paths():
    """In a process of its own: the fast paths are off from the import on, as a reader has them.
    Without PyTorch: what it is compared with has the same bits.
    """
    ours = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    run = subprocess.run(
        [*PYTEST, "-n0", "-m", "not oracle", *PARTS, *(f"--ignore={file}" for file in ELSEWHERE)],
        cwd=ROOT,
        env={**ours, "MINIGRAD_FAST": "0"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-1000:]
    assert " passed" in run.stdout
