"""`python -m benchmarks.grading`: how long it takes to grade a class, cold and warm, from finding
the hand-ins to grades.csv.

The sheet is the course's second lesson. Of a hundred hand-ins 90 are right (each with a comment of
its own, so that no two are alike), 6 are wrong in one exercise, 3 raise, and 1 ends its process.
None loops: a loop costs what its exercise allows, ten seconds by default, whatever the grader does.
"Cold" starts a Python process for each hand-in, "warm" forks a running one; both isolate alike.
Every run checks that each hand-in got the points it deserves. No privilege is needed: run it as a
plain user.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import command, machine

ROOT = Path(__file__).resolve().parents[1]
SHEET = ROOT / "lessons" / "02_forward_and_reverse_mode.ipynb"
EXERCISE = "mul"
ANSWERS = {
    "wrong": (
        "def tangent_mul(a, b, da, db):\n    return da * b - a * db\n\n\ndef adjoint_mul(a, b,"
        " g):\n    return g * a, g * b"
    ),
    "raises": (
        "def tangent_mul(a, b, da, db):\n    return 1 / 0\n\n\ndef adjoint_mul(a, b, g):\n    raise"
        " ValueError"
    ),
    "ends": "import os\n\nos._exit(0)",
}


def main(argv: list[str]) -> int:
    parser = command.parser("grading", __doc__)
    parser.count("--cold", 200, "submissions that are started cold", least=0)
    parser.count("--warm", 2000, "submissions that are started warm", least=0)
    parser.count("--jobs", os.cpu_count() or 1, "at a time")
    parser.folder()
    options = parser.parse_args(argv)

    from benchmarks import report

    facts = machine.describe(1, parser.prog, *argv)
    facts["user"] = "root" if getattr(os, "geteuid", lambda: 1)() == 0 else "a plain user"
    print(report.heading(facts), flush=True)
    rows = [
        measure(kind, number, options.jobs)
        for kind, number in (("cold", options.cold), ("warm", options.warm))
        if number
    ]
    print(table(rows))
    text = f"{report.heading(facts)}  \n`{facts['command']}`, as {facts['user']}\n\n{table(rows)}\n"
    kept = {**facts, "jobs": options.jobs, "runs": rows}
    print("wrote {} and {}".format(*report.keep(options.out, "grading", kept, text)))
    return 0


def measure(kind: str, number: int, jobs: int) -> dict[str, Any]:
    """Grades a class of `number`; raises AssertionError where a hand-in does not get the
    points that it deserves.
    """
    from minigrad.lessons.grading import run
    from minigrad.lessons.grading.sheet import load_sheet

    worth = load_sheet(SHEET)[EXERCISE].max_points
    full = load_sheet(SHEET).max_points
    with tempfile.TemporaryDirectory(prefix="minigrad-benchmark-") as folder:
        wrong = write_class(Path(folder, "submitted"), number)
        start, used = perf_counter(), cpu_seconds()
        with inside_bubblewrap() as spent:
            report = run.grade(
                SHEET,
                Path(folder, "submitted"),
                Path(folder, "results"),
                run.Options(warm=kind == "warm", jobs=jobs),
            )
        seconds, used = perf_counter() - start, cpu_seconds() - used + sum(spent)
        assert report.ran == number and not report.failed, report.failed
        for result in report.results:
            deserved = full - worth if result.student in wrong else full
            assert result.points == deserved, (
                f"{result.student} deserves {deserved} points and gets {result.points}"
            )
        level = sorted({str(result.record["level"]) for result in report.results})
        each = sorted(result.record["seconds"] for result in report.results)
    return {
        "start": kind,
        "hand_ins": number,
        "seconds": round(seconds, 2),
        "each_ms": round(1000 * seconds / number, 2),
        "cpu_each_ms": round(1000 * used / number, 2),
        "median_inside_ms": round(1000 * each[len(each) // 2], 2),
        "isolation": ", ".join(level),
    }


def cpu_seconds() -> float:
    """CPU time of this process and of those that it has waited for: on a busy machine it says
    more than the clock on the wall.
    """
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@contextmanager
def inside_bubblewrap() -> Iterator[list[float]]:
    """CPU seconds of what runs inside bubblewrap, which does not tell of it when it ends: one
    entry for each server that is closed.
    """
    from minigrad.lessons.grading.supervisor import Server

    spent: list[float] = []
    close = Server.close

    def closing(server: Server) -> None:
        if server.wrapped:
            spent.append(sum(cpu_of(pid) for pid in below(server.process.pid)))
        close(server)

    Server.close = closing  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        Server.close = close  # type: ignore[method-assign]


def below(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have started."""
    try:
        children = [
            int(child)
            for path in Path(f"/proc/{pid}/task").glob("*/children")
            for child in path.read_text().split()
        ]
    except OSError:
        return []
    return [*children, *(other for child in children for other in below(child))]


def cpu_of(pid: int) -> float:
    """CPU seconds of a process and of those that it has waited for; see proc(5)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def write_class(folder: Path, number: int) -> set[str]:
    """Writes hand-ins in nbgrader's layout; returns the names of those who lose an exercise."""
    right = json.loads(SHEET.read_text(encoding="utf-8"))
    wrong = set()
    for n in range(number):
        notebook, student = copy.deepcopy(right), f"student{n:05}"
        kind = {0: "ends", 1: "raises", 34: "raises", 67: "raises"}.get(n % 100) or (
            "wrong" if n % 100 in range(10, 70, 10) else ""
        )
        cell = next(cell for cell in notebook["cells"] if cell.get("id") == EXERCISE)
        cell["source"] = ANSWERS[kind] if kind else "".join(cell["source"]) + f"\n# {student}"
        wrong |= {student} if kind else set()
        path = folder / student / SHEET.stem / SHEET.name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")
    return wrong


def table(rows: list[dict[str, Any]]) -> str:
    """The figures as a Markdown table."""
    lines = [
        "| start | hand-ins | seconds | each | CPU of each | median of one hand-in | isolation |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['start']} | {row['hand_ins']:,} | {row['seconds']:.1f} | {row['each_ms']:.1f}"
            f" ms | {row['cpu_each_ms']:.1f} ms | {row['median_inside_ms']:.1f} ms |"
            f" {row['isolation']} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    machine.limit_threads(1)
    from minigrad.cli import processes

    sys.exit(processes.command(lambda: main(sys.argv[1:]), own=True))
