"""`python -m benchmarks.first_calls [NAME ...]`: what a step costs before it is replayed, compiled
and with kernels.

Each line is a process of its own. The kernels' folder is empty for the first one; the second one
finds their machine code there. All calls up to the first replay by kernels are added up. Where
these are compiled beside the plain program, its steps meanwhile are among them: the median and the
longest are what a user notices.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks import command, machine

LATER = 50
"""Steps that are timed when the kernels are there."""
FEW = 10
"""Of fewer calls a median says nothing."""
PROCESSES = (
    ("compiled", "minigrad compiled", ""),
    ("kernels, in the call", "minigrad fused", "1"),
    ("the same, second process", "minigrad fused", "1"),
    ("kernels, beside the program", "minigrad fused", "0"),
    ("the same, second process", "minigrad fused", "0"),
)
"""How a process is called in the table, its peer, and MINIGRAD_KERNELS_WAIT. Each kind of waiting
has a folder of its own."""
KERNELS, PLAIN = "is replayed with kernels", "is replayed as it is"
"""How the reasons of calls with and without kernels begin (minigrad/program/variant.py)."""
ATTEMPTS = 10
"""So many calls may run as themselves before there is a replay."""
HEAD = (
    "| workload | process | processor time | wall time | calls | the longest | the median | a step"
    " later | folder |"
)


def main(argv: list[str]) -> int:
    parser = command.parser("first_calls", __doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help="workloads (default: all)")
    parser.copy("first_calls.md")
    options = parser.parse_args(argv)
    machine.limit_threads(1)
    from benchmarks import harness, report, workloads

    steps = {
        name: workload
        for name, workload in workloads.load().items()
        if "minigrad fused" in workload.peers and workload.device == "cpu"
    }
    unknown = [name for name in options.names if name not in steps]
    if unknown:
        parser.error(f"{unknown[0]} is no workload with kernels; there are {', '.join(steps)}")
    if not harness.is_available("minigrad fused"):
        parser.error('kernels need Numba, which is not installed: pip install "minigrad[jit]"')
    facts = machine.describe(1, parser.prog, *argv)
    lines = [f"{report.heading(facts)}  \n`{facts['command']}`\n", HEAD, "|---" * 9 + "|"]
    print("\n".join(lines), flush=True)
    for name in options.names or steps:
        with tempfile.TemporaryDirectory() as folder:
            for title, peer, wait in PROCESSES:
                kernels = Path(folder) / f"wait{wait}"
                lines.append(_line(name, title, in_a_process(name, peer, wait, kernels), kernels))
                print(lines[-1], flush=True)
    report.keep_copy(options.out, "first_calls.md", "\n".join(lines) + "\n")
    return 0


def in_a_process(name: str, peer: str, wait: str, kernels: Path) -> dict[str, Any]:
    """What `first_calls` gives in a process of its own, with this folder of kernels."""
    from minigrad.cli import processes

    done = processes.run(
        "benchmarks.first_calls",
        "--process",
        name,
        peer,
        cwd=Path(__file__).parents[1],
        env={**os.environ, "MINIGRAD_KERNELS": str(kernels), "MINIGRAD_KERNELS_WAIT": wait},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {peer} fails in a process of its own:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def first_calls(name: str, peer: str) -> dict[str, Any]:
    """The wall seconds of each call up to the first replay as asked for, and of some later ones;
    and the processor time of the former, with what other threads used meanwhile."""
    from benchmarks import where

    run, step = where.built(name, peer)
    before: list[float] = []
    used = process_time()
    while not _is_as_asked(step):
        before.append(_seconds(run))
    before.append(_seconds(run))  # the first replay of a program computes without its kernels
    return {
        "processor": process_time() - used,
        "before": before,
        "later": [_seconds(run) for _ in range(LATER)],
    }


def _is_as_asked(step: Any) -> bool:
    """Whether the latest call was a replay, and one by kernels where these are asked for."""
    from minigrad.program.variant import COMPILING

    reason = step.reason or ""
    plain = reason.startswith(PLAIN) and reason != COMPILING
    if plain or (step.ran_eagerly and step.statistics["eager"] > ATTEMPTS):
        raise RuntimeError(f"the step will not be replayed as asked for: {reason}")
    return bool(step.statistics["replayed"]) and (not step.fuse or reason.startswith(KERNELS))


def _seconds(run: Any) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


def _line(name: str, title: str, found: dict[str, Any], kernels: Path) -> str:
    from benchmarks.harness import quartiles

    before = found["before"]
    meanwhile, later = (1000 * quartiles(times)[1] for times in (before, found["later"]))
    stored = sum(file.stat().st_size for file in kernels.rglob("*") if file.is_file())
    cells = [
        f"{found['processor']:.2f} s",
        f"{sum(before):.2f} s",
        str(len(before)),
        f"{1000 * max(before):.0f} ms",
        f"{meanwhile:.3f} ms" if len(before) >= FEW else "-",
        f"{later:.3f} ms",
        f"{stored / 2**20:.1f} MiB" if stored else "-",
    ]
    return f"| {name} | {title} | {' | '.join(cells)} |"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--process"]:
        machine.limit_threads(1)
        print(json.dumps(first_calls(*sys.argv[2:])))
    else:
        from minigrad.cli import processes

        sys.exit(processes.command(lambda: main(sys.argv[1:]), own=True))
