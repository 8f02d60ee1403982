"""`python -m benchmarks.growth [SERIES ...]`: what a unit of work costs as the work grows.

minigrad, compiled where it applies, and PyTorch take turns at each size (see `benchmarks.harness`).
Where the cost of a unit stays the same or falls, nothing in an engine grows faster than the work.
At small sizes it is what operations cost in bookkeeping, at large ones what their arithmetic costs.
For the long scalar chains the peak of the memory is measured too, in a process for each engine:
bytes an operation.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from benchmarks import command, machine

if TYPE_CHECKING:
    from benchmarks.harness import Result, Timing, Workload

FEW = 2
"""Rounds of the sizes at which a run takes seconds."""

LONGEST_COMPILED = 10_000
"""Operations of the longest chain that is compiled here: a longer one takes minutes before its
first replay.
"""


@dataclass(frozen=True)
class Series:
    """One kind of work in several sizes.

    varied: what `sizes` counts. unit: what the time is divided by. units: how many of them a size
    has. workload: what is run there.
    """

    title: str
    varied: str
    sizes: tuple[int, ...]
    unit: str
    units: Callable[[int], float]
    workload: Callable[[int], "Workload"]


@dataclass(frozen=True)
class Point:
    """What was measured at one size."""

    size: int
    units: float
    result: "Result"


def load() -> dict[str, Series]:
    """The series by name; imports the workloads. (Long: half of it is the table.)"""
    from benchmarks.harness import Workload
    from benchmarks.workloads import (
        cnn_step,
        derivative_matrices,
        large_products,
        network_2_25,
        scalar_chain,
    )

    def of(module: Any, tolerance: float, slow: float = float("inf")) -> Callable[[int], Workload]:
        """The module's builders at a size: minigrad, compiled where there is that, and PyTorch.
        From size `slow` on with few rounds.
        """

        def at(size: int) -> Workload:
            peers = {
                name: lambda build=build: build(size)
                for name, build in module.ENGINES.items()
                if name != "minigrad fused"
            }
            return Workload(
                f"growth_{size}", "", "", peers, tolerance, FEW if size >= slow else None
            )

        return at

    def chain(operations: int) -> Workload:
        found = scalar_chain.workload(operations, FEW if operations >= 1_000_000 else None)
        engines = (
            ("minigrad", "minigrad compiled", "torch")
            if operations <= LONGEST_COMPILED
            else ("minigrad", "torch")
        )
        return replace(found, peers={name: found.peers[name] for name in engines})

    def jacobian(width: int) -> Workload:
        def problem(engine: Any, array: Any) -> tuple[Any, Any]:
            return derivative_matrices.layer(engine, array, width)

        peers = {
            "minigrad": lambda: derivative_matrices.minigrad(problem, "jacobian"),
            "torch": lambda: derivative_matrices.torch(problem, "jacobian"),
            "torch func": lambda: derivative_matrices.torch_func(problem, "jacrev"),
        }
        return Workload(f"growth_{width}", "", "", peers, 1e-10)

    products = 3 * (large_products.FACTORS - 1)
    return {
        "network": Series(
            "One epoch of network_2_25",
            "points",
            (100, 1_000, 10_000, 100_000),
            "point",
            float,
            of(network_2_25, tolerance=1e-2),
        ),
        "chain": Series(
            "The chain of scalar_chain",
            "operations",
            (1_000, 10_000, 100_000, 1_000_000),
            "operation",
            float,
            chain,
        ),
        "products": Series(
            f"The {products} products of large_products",
            "rows",
            (64, 128, 256, 512, 1024, 2048),
            "million multiplications",
            lambda rows: products * rows**3 / 1e6,
            of(large_products, tolerance=1e-4, slow=2048),
        ),
        "jacobian": Series(
            "The Jacobian of jacobian_200",
            "rows",
            (25, 50, 100, 200, 400),
            "entry",
            lambda rows: float(rows**2),
            jacobian,
        ),
        "cnn": Series(
            "One step of cnn_step",
            "images",
            (4, 8, 16, 32, 64),
            "image",
            float,
            of(cnn_step, tolerance=1e-3),
        ),
    }


def main(argv: list[str]) -> int:
    parser = command.parser("growth", __doc__)
    parser.add_argument(
        "names",
        metavar="SERIES",
        nargs="*",
        help="network, chain, products, jacobian, cnn (default: all)",
    )
    parser.add_argument(
        "--up-to", type=int, metavar="SIZE", help="leave out the sizes beyond this one"
    )
    parser.count("--repeat", 7, "timed rounds of each size")
    parser.threads()
    parser.folder()
    options = parser.parse_args(argv)
    machine.limit_threads(options.threads)

    from benchmarks import harness, report

    known = load()
    for name in options.names:
        if name not in known:
            parser.error(f"there is no series {name}; there are {', '.join(known)}")
    chosen = {}
    for name in options.names or known:
        chosen[name] = [
            size for size in known[name].sizes if options.up_to is None or size <= options.up_to
        ]
        if not chosen[name]:
            parser.error(
                f"--up-to {options.up_to} leaves no size of {name}, which begins with"
                f" {known[name].sizes[0]} {known[name].varied}"
            )
    report.make_folder(parser, options.out)
    harness.set_torch_threads(options.threads)
    facts = machine.describe(options.threads, parser.prog, *argv)
    text = f"{report.heading(facts)}  \n{report.how(options.threads)}  \n`{facts['command']}`\n"
    print(text)
    kept = {}
    for name, sizes in chosen.items():
        points = [measure(known[name], size, options.repeat, options.threads) for size in sizes]
        print(part := table(name, known[name], points), flush=True)
        text += part
        kept[name] = {
            "varied": known[name].varied,
            "unit": known[name].unit,
            "points": [_figures(point) for point in points],
        }
    for path in report.keep(
        options.out, f"growth-threads{options.threads}", {**facts, "series": kept}, text
    ):
        print(f"wrote {path}")
    return 0


def measure(series: Series, size: int, repeat: int, threads: int) -> Point:
    """Times the engines in turns at one size, and measures the peak of the memory where the size
    is a workload of its own.
    """
    from benchmarks import harness, peak_memory, workloads

    own = workloads.load()

    def peak(workload: "Workload", peer: str) -> int | None:
        return peak_memory.measure(workload, peer) if workload.name in own else None

    return Point(
        size,
        series.units(size),
        harness.measure(series.workload(size), repeat, warm_up=2, peak=peak, threads=threads),
    )


def table(name: str, series: Series, points: list[Point]) -> str:
    """A Markdown table: a line for each size and engine."""
    from benchmarks.harness import REFERENCE, quartiles
    from benchmarks.report import times

    memory = any(
        timing.peak is not None for point in points for timing in point.result.timings.values()
    )
    head = [
        "engine",
        "median",
        f"per {series.unit}",
        "quartiles",
        f"ratio to {REFERENCE}",
        "quartiles",
    ]
    head = [series.varied, *head, *([f"peak memory per {series.unit}"] if memory else [])]
    lines = [
        f"\n### {name}",
        f"{series.title}.\n",
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
    ]
    for point in points:
        for engine, timing in point.result.timings.items():
            low, middle, high = (seconds / point.units for seconds in quartiles(timing.seconds))
            cells = [
                f"{point.size:,}",
                engine,
                duration(middle * point.units),
                duration(middle),
                f"{duration(low)} to {duration(high)}",
            ]
            if timing.ratios:
                r_low, r_middle, r_high = quartiles(timing.ratios)
                cells += [times(r_middle), f"{times(r_low)} to {times(r_high)}"]
            else:
                cells += ["-", "-"]
            if memory:
                cells.append(
                    "-" if timing.peak is None else f"{timing.peak / point.units:,.0f} bytes"
                )
            lines.append(f"| {' | '.join(cells)} |")
        lines += [
            f"| {point.size:,} | {engine} | not installed |{' - |' * (len(head) - 3)}"
            for engine in point.result.missing
        ]
    return "\n".join(lines) + "\n"


def duration(seconds: float) -> str:
    """Three digits with the unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _figures(point: Point) -> dict[str, Any]:
    def of(timing: "Timing") -> dict[str, Any]:
        from benchmarks import report

        return {
            "seconds": report.named_quartiles(timing.seconds),
            "seconds_per_unit": report.named_quartiles(
                [seconds / point.units for seconds in timing.seconds]
            ),
            "ratio_to_torch": report.named_quartiles(timing.ratios) if timing.ratios else None,
            "peak_bytes": timing.peak,
            "every_run_seconds": report.short(timing.seconds),
        }

    engines = {name: of(timing) for name, timing in point.result.timings.items()}
    return {
        "size": point.size,
        "units": point.units,
        "engines": engines,
        "not_installed": point.result.missing,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
