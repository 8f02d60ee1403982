"""`python -m benchmarks.import_time`: what `import minigrad` costs beyond NumPy's own import, and
Numba's beyond that, which is imported when a kernel is first needed.

Each import runs in a new process, in turns, with byte code that is already written (as on every day
but the first). CPU time is what the system charged to the process; the difference of the medians is
the figure.
"""

import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from time import perf_counter

from benchmarks import command, machine, report
from benchmarks.harness import is_installed, quartiles

IMPORTS = {
    "numpy": "import numpy",
    "minigrad": "import minigrad",
    "numba": "import minigrad.program.numba_functions",
}
"""What is imported, each with what stands before it, by the package that it needs."""


def main(argv: list[str]) -> int:
    parser = command.parser("import_time", __doc__)
    parser.count("--repeat", 40, "processes for each import")
    parser.folder()
    options = parser.parse_args(argv)
    facts = machine.describe(1, parser.prog, *argv)
    found = measure(options.repeat)
    print(table := f"{report.heading(facts)}  \n`{facts['command']}`\n\n{_table(found)}")
    report.keep(options.out, "import_time", {**facts, "milliseconds": found}, table + "\n")
    return 0


def measure(repeat: int) -> dict[str, dict[str, list[float]]]:
    """For each import the milliseconds of wall time and of CPU time of each process."""
    found: dict[str, dict[str, list[float]]] = {
        statement: {"wall": [], "cpu": []}
        for package, statement in IMPORTS.items()
        if is_installed(package)
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
    for (_, before), (statement, own) in pairwise(medians.items()):
        wall, cpu = (b - a for a, b in zip(before, own, strict=True))
        lines.append(f"\n`{statement}` adds {wall:.0f} ms of wall time, {cpu:.0f} ms of CPU time.")
    return "\n".join(lines)


if __name__ == "__main__":
    from minigrad.cli import processes

    sys.exit(processes.command(lambda: main(sys.argv[1:]), own=True))
