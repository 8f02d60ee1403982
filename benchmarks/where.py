"""`python -m benchmarks.where NAME ...`: where a replayed step spends its time.

The lines of the program that `minigrad.compile` replays are timed one by one and added up by what
they call: products of matrices and convolutions, generated kernels, other functions of NumPy. What
a call of the step takes beyond them is Python's: guards, results, updates. The lowest sum of many
steps is shown, less what the clock itself takes; a view, or a name that is deleted, counts as
NumPy's.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarks import command, machine

STEPS = 200
SECONDS = 3.0
"""Up to so many steps are timed, and for so long."""
KINDS = {
    "products": re.compile(r"\.dot\((?!ones)|\bmatmul\(|\b(affine|convolve\w*|lstm)_\d+\("),
    "kernels": re.compile(r"\bfused_\w+\("),
    "NumPy": re.compile(""),
}


def kind_of(line: str) -> str:
    """What a line of a program calls."""
    return next(kind for kind, pattern in KINDS.items() if pattern.search(line))


class Clock:
    """Adds up the time since the latest question, by kind."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.latest = 0.0

    def __call__(self, kind: str) -> None:
        now = perf_counter()
        self.seconds[kind] += now - self.latest
        self.calls[kind] += 1
        self.latest = perf_counter()


def timed_source(part: str) -> str:
    """The text of a function with a question to the clock behind each line."""
    head, *lines = part.rstrip("\n").split("\n")
    made = [head, '    clock("start")']
    for line in lines:
        made.append(line)
        if not line.lstrip().startswith("#") and not line.startswith("     "):
            made.append(f"    clock({kind_of(line)!r})")
    return "\n".join(made) + "\n"


def lowest(run: Callable[[], Any]) -> float:
    """The lowest time of many runs."""
    end, best = perf_counter() + SECONDS, float("inf")
    for _ in range(STEPS):
        start = perf_counter()
        run()
        best = min(best, perf_counter() - start)
        if perf_counter() > end:
            break
    return best


def profile(step: Any) -> dict[str, float]:
    """Seconds of one replay of a compiled function without arguments, by kind; "Python" is what is
    left of the whole."""
    ((variant,),) = step._variants.values()
    runner, lowered = variant.runner, variant.runner.latest()
    clock, parts, code = Clock(), lowered.parts, lowered.code
    lowered.parts, lowered.code = [timed_source(part) for part in parts], []
    lowered.names["clock"] = clock
    try:
        functions = lowered.workspace()
    finally:
        lowered.parts, lowered.code = parts, code
        del lowered.names["clock"]
    payloads, _ = variant.prepare([])
    best: dict[str, float] = {}
    own = _cost_of_the_clock()

    def run() -> None:
        clock.seconds.clear()
        clock.calls.clear()
        runner._run(functions, runner._filled(payloads))
        for kind in KINDS:
            seconds = max(0.0, clock.seconds[kind] - own * clock.calls[kind])
            best[kind] = min(best.get(kind, seconds), seconds)

    whole = lowest(step)
    lowest(run)
    return {**best, "Python": max(0.0, whole - sum(best.values())), "whole": whole}


def _cost_of_the_clock() -> float:
    """Seconds that it adds to what it measures."""
    clock, costs = Clock(), []
    for _ in range(200):
        clock.seconds.clear()
        clock("start")
        for _ in range(10):
            clock("empty")
        costs.append(clock.seconds["empty"] / 10)
    return min(costs)


def built(name: str, peer: str) -> tuple[Callable[[], Any], Any]:
    """The run of a workload's peer, and the function that it has compiled."""
    import minigrad as mg
    from benchmarks import workloads

    made: list[Any] = []
    compile = mg.compile

    def kept(function: Any = None, **options: Any) -> Any:
        if function is None:
            return lambda function: kept(function, **options)
        made.append(compile(function, **options))
        return made[-1]

    mg.compile = kept
    try:
        run = workloads.load()[name].peers[peer]()
    finally:
        mg.compile = compile
    return run, made[0]


def compiled_step(name: str, peer: str) -> Any:
    """The compiled function of a workload's peer, after so many runs that it is replayed."""
    from benchmarks import harness

    run, step = built(name, peer)
    for _ in range(harness.COMPILING + 1):
        run()
    return step


def main(argv: list[str]) -> None:
    parser = command.parser("where", __doc__)
    parser.add_argument("names", metavar="NAME", nargs="+", help="workloads whose step is compiled")
    options = parser.parse_args(argv)
    machine.limit_threads(1)
    from benchmarks import harness, report, workloads

    known = workloads.load()
    for name in options.names:
        if name not in known or "minigrad fused" not in known[name].peers:
            parser.error(f"{name} is no workload with a compiled step; see python -m benchmarks")
    print(report.heading(machine.describe(1, parser.prog, *argv)))
    print(
        "\n| workload | step, µs | products | kernels | NumPy | Python |\n|---|---|---|---|---|---|"
    )
    for name in options.names:
        for peer in ("minigrad compiled", "minigrad fused"):
            if harness.is_available(peer):
                found = profile(compiled_step(name, peer))
                whole = found.pop("whole")
                parts = " | ".join(f"{100 * seconds / whole:.0f}%" for seconds in found.values())
                print(f"| {name}, {peer.split()[1]} | {1e6 * whole:.0f} | {parts} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
