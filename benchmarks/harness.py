"""How a workload is timed, so that a figure can be believed.

1. Every peer (engine) first computes the workload's result once. If the results disagree, nothing is timed.
2. The peers then take turns, one run each a round, in one process. What disturbs the machine disturbs all of them alike.
3. A run that is over in a moment is repeated within its round until it has taken `INNER` seconds, and its time is the mean of these runs.
4. Each round gives each peer's ratio to the reference in that round. Medians and quartiles of times and of ratios are what is reported: a
   mean is at the mercy of one bad moment, and a minimum has never happened to anybody.

Figures are for a warm engine, as in a training loop: caches hold what the last run left there. The heap is collected before the first
round and what is there then is frozen: garbage collection stays on, as it is for a user, but it does not search through the libraries' own
objects again and again, which would be charged to whoever is running. (To collect before each round would empty the caches: it doubled the
times of the smallest network, for all engines.)
"""

import gc
import importlib
import importlib.util
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

import numpy as np

REFERENCE = "torch"
INNER = 0.01
"""Seconds that each engine runs at least in a round."""

Run = Callable[[], list[np.ndarray]]
"""One complete run of a workload by one engine; returns the arrays (value and gradients) by which engines are compared."""


@dataclass(frozen=True)
class Workload:
    """What is computed, and how each engine computes it.

    peers: a builder for each engine, by name ("minigrad", "minigrad compiled": the first word is the package). It imports the engine and
    prepares the data, which is not timed, and returns the `Run`.
    tolerance: the largest relative difference between two engines' results (largest absolute difference over the largest magnitude).
    rounds: the most rounds that are worth their time, where one run takes long.
    device: where it runs; of other devices than the CPU no peak of memory is measured.
    """

    name: str
    title: str
    unit: str
    peers: Mapping[str, Callable[[], Run]]
    tolerance: float
    rounds: int | None = None
    device: str = "cpu"


@dataclass(frozen=True)
class Timing:
    """Seconds a run, each round's ratio to the reference (empty without one), and bytes at the peak of a run (None: not measured)."""

    seconds: list[float]
    ratios: list[float]
    peak: int | None = None


@dataclass(frozen=True)
class Result:
    """The timings of a workload's peers, and how far their results were apart."""

    workload: Workload
    timings: dict[str, Timing]
    missing: list[str]
    difference: float


class DisagreementError(AssertionError):
    """Two engines computed different results, so their times say nothing."""


def quartiles(figures: list[float]) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper quartile."""
    if len(figures) == 1:
        return figures[0], figures[0], figures[0]
    low, middle, high = statistics.quantiles(figures, n=4, method="inclusive")
    return low, middle, high


def set_torch_threads(threads: int) -> None:
    """PyTorch has a switch of its own for the number of threads."""
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(threads)


def is_installed(package: str, device: str = "cpu") -> bool:
    """Whether an engine is there, and sees a device of this kind."""
    if not importlib.util.find_spec(package):
        return False
    return device == "cpu" or bool(importlib.import_module(package).cuda.is_available())


def measure(workload: Workload, repeat: int, warm_up: int = 8, peak: Callable[[Workload, str], int | None] = lambda *_: None) -> Result:
    """Checks that the peers agree, then times them in turns for `repeat` rounds; raises `DisagreementError` if they do not.

    peak: how the memory of a peer is measured.
    """
    repeat = min(repeat, workload.rounds or repeat)
    warm_up = min(warm_up, repeat)
    available = {name: build for name, build in workload.peers.items() if is_installed(name.partition(" ")[0], workload.device)}
    missing = [name for name in workload.peers if name not in available]
    runs = {name: build() for name, build in available.items()}
    difference = check_agreement(workload, {name: run() for name, run in runs.items()})
    inner = {name: _warm(run, warm_up) for name, run in runs.items()}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    gc.collect()
    gc.freeze()
    for round_number in range(repeat):
        first = round_number % len(names)  # nobody always goes first
        for name in names[first:] + names[:first]:
            run = runs[name]
            start = perf_counter()
            for _ in range(inner[name]):
                run()
            seconds[name].append((perf_counter() - start) / inner[name])
    gc.unfreeze()
    reference = seconds.get(REFERENCE, [])
    timings = {
        name: Timing(
            own,
            [a / b for a, b in zip(own, reference, strict=True)] if reference else [],
            peak(workload, name) if workload.device == "cpu" else None,
        )
        for name, own in seconds.items()
    }
    return Result(workload, timings, missing, difference)


def _warm(run: Run, times: int) -> int:
    """Runs a few times, and says how many runs a round needs."""
    fastest = INNER
    for _ in range(times):
        start = perf_counter()
        run()
        fastest = min(fastest, perf_counter() - start)
    return max(1, round(INNER / fastest))


def check_agreement(workload: Workload, results: dict[str, list[np.ndarray]]) -> float:
    """The largest relative difference of any peer's arrays to the first peer's."""
    (first, expected), *others = results.items()
    largest = 0.0
    for name, found in others:
        if [a.shape for a in found] != [b.shape for b in expected]:
            raise DisagreementError(f"{workload.name}: {name} and {first} give arrays of different number or shape")
        for number, (a, b) in enumerate(zip(found, expected, strict=True)):
            scale = max(float(np.max(np.abs(b))), np.finfo(b.dtype).tiny)
            difference = float(np.max(np.abs(a.astype(np.float64) - b.astype(np.float64)))) / scale
            if not difference <= workload.tolerance:  # so that NaN does not pass
                message = f"{workload.name}: array {number} of {name} and {first} differs by {difference:.3g} of its size"
                raise DisagreementError(f"{message}; allowed is {workload.tolerance:g}")
            largest = max(largest, difference)
    return largest
