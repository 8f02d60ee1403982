"""Run each test file by itself, twice in a row, under two sets of conditions.

    python -m tests.helpers.each_file [FILE ...] [OPTION OF PYTEST ...]

First in one process, with one BLAS thread; then in two workers of pytest-xdist, with two BLAS
threads each, where a worker takes single tests. Each time the tests are in another random order.
Without files it takes all of them. A file that fails is named with its output, and makes the exit
status 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONDITIONS = {
    "one process, 1 BLAS thread": ("1", ["-p", "no:xdist", "--shuffle=1"]),
    "two workers, 2 BLAS threads": ("2", ["-n2", "--dist=load", "--shuffle=2"]),
}


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
    options = [argument for argument in arguments if argument.startswith("-")]
    files = [argument for argument in arguments if argument not in options] or sorted(
        str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")
    )
    failed = 0
    for file in files:
        for name, (threads, own) in CONDITIONS.items():
            start = time.monotonic()
            done = run(file, threads, [*own, *options])
            told = done.stdout.strip().rpartition("\n")[2].strip("= ")
            print(f"{file}, {name}: {told} ({time.monotonic() - start:.0f} s)", flush=True)
            if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                failed += 1
                print(done.stdout, flush=True)
    print(f"{len(files)} files, {len(CONDITIONS) * len(files)} runs, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
