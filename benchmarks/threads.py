"""`python -m benchmarks.threads [NAME ...]`: does minigrad gain by a second thread, or at least
lose nothing?

minigrad is alone in the process: no other engine's threads can hold the processors. The
linear-algebra library of NumPy is switched between one thread and more by threadpoolctl, and the
two take turns. Before each turn its threads sleep (see `benchmarks.harness`), and one run, which is
not timed, wakes those that the turn needs. The results with one thread and with more have to agree
before anything is timed.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks import command, machine

if TYPE_CHECKING:
    from benchmarks.harness import Workload

NAMES = (
    "network_2_25",
    "two_moons",
    "lstm_step",
    "transformer_step",
    "cnn_step",
    "jacobian_200",
    "large_products",
)
MISSING = (
    "threadpoolctl is not installed; it switches the threads of a library that is loaded: pip"
    " install threadpoolctl"
)
UNSTEERED = "threadpoolctl finds no linear-algebra library under NumPy whose threads it can switch"


def main(argv: list[str]) -> int:
    parser = command.parser("threads", __doc__)
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help=f"workloads to run (default: {', '.join(NAMES)})"
    )
    parser.count("--threads", 2, "threads that are compared with one", least=2)
    parser.count("--repeat", 30, "timed rounds of each workload")
    parser.folder()
    options = parser.parse_args(argv)
    machine.limit_threads(options.threads)

    from benchmarks import report, workloads

    known = {
        name: workload for name, workload in workloads.load().items() if workload.device == "cpu"
    }
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"there is no workload {unknown[0]}; there are {', '.join(known)}")
    try:
        switch = switch_of_threads()
    except RuntimeError as error:
        parser.error(str(error))
    report.make_folder(parser, options.out)
    facts = machine.describe(options.threads, parser.prog, *argv)
    text = f"{report.heading(facts)}  \n{report.how(options.threads)}  \n`{facts['command']}`\n"
    print(text)
    print("\n".join(_head(options.threads)))
    lines, kept = [], []
    for name in options.names or NAMES:
        for peer, build in known[name].peers.items():
            if peer.partition(" ")[0] == "minigrad":
                agree(known[name], peer, options.threads, switch)
                seconds = measure(
                    build(),
                    options.threads,
                    min(options.repeat, known[name].rounds or options.repeat),
                    switch,
                )
                lines.append(_line(name, peer, seconds))
                print(lines[-1], flush=True)
                kept.append({"workload": name, "engine": peer, **_figures(seconds)})
    text += "\n" + "\n".join([*_head(options.threads), *lines]) + "\n"
    for path in report.keep(options.out, "threads", {**facts, "measured": kept}, text):
        print(f"wrote {path}")
    return 0


def switch_of_threads() -> Callable[[int], None]:
    """What sets the number of threads of NumPy's linear-algebra library; `RuntimeError` where
    there is nothing to switch.
    """
    import numpy as np

    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        raise RuntimeError(MISSING) from None
    np.ones((2, 2)) @ np.ones((2, 2))
    libraries = [
        library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"
    ]
    if not libraries:
        raise RuntimeError(UNSTEERED)

    def switch(threads: int) -> None:
        for library in libraries:
            library.set_num_threads(threads)

    return switch


def agree(workload: "Workload", peer: str, threads: int, switch: Callable[[int], None]) -> None:
    """Raises `DisagreementError` if the first run with one thread and the first run with
    `threads` differ.
    """
    from benchmarks import harness

    results = {}
    for count in (1, threads):
        switch(count)
        results[f"{peer} with {count} thread(s)"] = workload.peers[peer]()()
    harness.check_agreement(workload, results)


def measure(
    run: Callable[[], Any], threads: int, repeat: int, switch: Callable[[int], None]
) -> dict[int, list[float]]:
    """Seconds of a run with one thread and with `threads`, in turns; each goes first in turn."""
    from benchmarks import harness

    counts = (1, threads)
    inner = {}
    for count in counts:
        switch(count)
        inner[count] = harness.warm(run, 1 + harness.COMPILING, threads)
    seconds: dict[int, list[float]] = {count: [] for count in counts}
    with harness.frozen_heap():
        for number in range(repeat):
            for count in counts[:: 1 if number % 2 == 0 else -1]:
                switch(count)
                seconds[count].append(harness.take_turn(run, inner[count], threads))
    switch(threads)
    return seconds


def _ratios(seconds: dict[int, list[float]]) -> list[float]:
    one, more = seconds.values()
    return [b / a for a, b in zip(one, more, strict=True)]


def _figures(seconds: dict[int, list[float]]) -> dict[str, Any]:
    from benchmarks import report

    figures = {
        str(count): {**report.named_quartiles(own), "every_run": report.short(own)}
        for count, own in seconds.items()
    }
    return {
        "seconds_by_threads": figures,
        "ratio_to_one_thread": report.named_quartiles(_ratios(seconds)),
    }


def _head(threads: int) -> list[str]:
    return [
        (
            f"| workload | engine | one thread | quartiles | {threads} threads | quartiles | ratio"
            f" {threads} to 1 | quartiles |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]


def _line(name: str, peer: str, seconds: dict[int, list[float]]) -> str:
    from benchmarks.harness import quartiles
    from benchmarks.report import times

    cells = []
    for own in seconds.values():
        low, middle, high = (1000 * figure for figure in quartiles(own))
        cells.append(f"{middle:.3f} ms | {low:.3f} to {high:.3f} ms")
    low, middle, high = quartiles(_ratios(seconds))
    return (
        f"| {name} | {peer} | {' | '.join(cells)} | {times(middle)} | {times(low)} to"
        f" {times(high)} |"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
