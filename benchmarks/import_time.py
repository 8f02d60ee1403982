"""`python -m benchmarks.import_time`: what `import minigrad` costs beyond NumPy's own import.

Each import runs in a new process, the two in turns, with byte code that is already written (as on
every day but the first). CPU time is what the system charged to the process; the difference of the
medians is the figure.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks import machine, report
from benchmarks.harness import quartiles

RESULTS = Path(__file__).parent / "results"
IMPORTS = ("import numpy", "import minigrad")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.import_time", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "--repeat",
        type=int,
        default=40,
        metavar="N",
        help="processes for each import (default: %(default)s)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=RESULTS,
        metavar="DIR",
        help="where the figures go (default: %(default)s)",
    )
    options = parser.parse_args(argv)
    if options.repeat < 1:
        parser.error("--repeat is a whole number from 1 on")
    facts = machine.describe(1)
    facts["command"] = " ".join(["python -m benchmarks.import_time", *argv])
    found = measure(options.repeat)
    print(table := f"{report.heading(facts)}  \n`{facts['command']}`\n\n{_table(found)}")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "import_time.json").write_text(
        json.dumps({**facts, "milliseconds": found}, indent=1) + "\n"
    )
    (options.out / "import_time.md").write_text(table + "\n")
    return 0


def measure(repeat: int) -> dict[str, dict[str, list[float]]]:
    """For each import the milliseconds of wall time and of CPU time of each process."""
    found: dict[str, dict[str, list[float]]] = {
        statement: {"wall": [], "cpu": []} for statement in IMPORTS
    }
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PYTHONPYCACHEPREFIX": folder,
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for number in range(-1, repeat):  # the first time writes the byte code
            for statement, times in found.items():
                before, start = _cpu_of_children(), perf_counter()
                subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
                if number >= 0:
                    times["wall"].append(round(1000 * (perf_counter() - start), 2))
                    times["cpu"].append(round(1000 * (_cpu_of_children() - before), 2))
    return found


def _cpu_of_children() -> float:
    used = os.times()
    return used.children_user + used.children_system


def _table(found: dict[str, dict[str, list[float]]]) -> str:
    lines = [
        "| process | median wall | quartiles | median CPU | quartiles |",
        "|---|---|---|---|---|",
    ]
    medians = {}
    for statement, times in found.items():
        (low, wall, high), (cpu_low, cpu, cpu_high) = (
            quartiles(times["wall"]),
            quartiles(times["cpu"]),
        )
        medians[statement] = wall, cpu
        lines.append(
            f"| `{statement}` | {wall:.0f} ms | {low:.0f} to {high:.0f} ms | {cpu:.0f} ms |"
            f" {cpu_low:.0f} to {cpu_high:.0f} ms |"
        )
    wall, cpu = (
        ours - numpy for ours, numpy in zip(medians[IMPORTS[1]], medians[IMPORTS[0]], strict=True)
    )
    return "\n".join(
        [*lines, f"\nminigrad beyond NumPy: {wall:.0f} ms of wall time, {cpu:.0f} ms of CPU time."]
    )


if __name__ == "__main__":
    from minigrad.cli import processes

    sys.exit(processes.command(lambda: main(sys.argv[1:]), own=True))
