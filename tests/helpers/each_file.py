"""Run each test file by itself.

    python -m tests.helpers.each_file [--both] [FILE ...] [OPTION OF PYTEST ...]

In one process, with one BLAS thread, in random order. A file with fixtures that several tests share
is run again, in another order: in two workers of pytest-xdist with two BLAS threads each, where a
worker takes single tests; with --both every file is. Without files it takes all of them. A file
that fails is named with its output, and makes the exit status 1.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALONE = "one process, 1 BLAS thread"
CONDITIONS = {
    ALONE: ("1", ["-p", "no:xdist", "--shuffle=1"]),
    "two workers, 2 BLAS threads": ("2", ["-n2", "--dist=load", "--shuffle=2"]),
}


def shares_fixtures(file: Path) -> bool:
    """Whether tests of a file share what a fixture in it makes."""
    scope = r'scope="(class|module|package|session)"'
    return re.search(scope, file.read_text(encoding="utf-8")) is not None


def run(file: str, threads: str, options: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--no-header", *options, file],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def main(arguments: list[str]) -> int:
    both = "--both" in arguments
    options = [a for a in arguments if a.startswith("-") and a != "--both"]
    files = [argument for argument in arguments if not argument.startswith("-")] or sorted(
        str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")
    )
    failed = runs = 0
    for file in files:
        for name in CONDITIONS if both or shares_fixtures(ROOT / file) else (ALONE,):
            threads, own = CONDITIONS[name]
            runs += 1
            start = time.monotonic()
            done = run(file, threads, [*own, *options])
            told = done.stdout.strip().rpartition("\n")[2].strip("= ")
            print(f"{file}, {name}: {told} ({time.monotonic() - start:.0f} s)", flush=True)
            if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                failed += 1
                print(done.stdout, flush=True)
    print(f"{len(files)} files, {runs} runs, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
