"""How a workload is timed, so that a figure can be believed.

1. Every peer (engine) first computes the workload's result once. If the results disagree, nothing is timed.
2. The peers then take turns, one run each a round, in one process. What disturbs the machine disturbs all of them alike.
3. Each round gives each peer's ratio to the reference in that round. Medians and quartiles of times and of ratios are what is reported: a
   mean is at the mercy of one bad moment, and a minimum has never happened to anybody.

Garbage collection stays on, as it is for a user, but each round starts from a collected heap.
"""

import gc
import importlib.util
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

import numpy as np

REFERENCE = "torch"

Run = Callable[[], list[np.ndarray]]
"""One complete run of a workload by one engine; returns the arrays (value and gradients) by which engines are compared."""


@dataclass(frozen=True)
class Workload:
    """What is computed, and how each engine computes it.

    peers: a builder for each engine, by name. It imports the engine and prepares the data, which is not timed, and returns the `Run`.
    tolerance: the largest relative difference between two engines' results (largest absolute difference over the largest magnitude).
    """

    name: str
    title: str
    unit: str
    peers: Mapping[str, Callable[[], Run]]
    tolerance: float


@dataclass(frozen=True)
class Timing:
    """Seconds a run, and each round's ratio to the reference (empty without one)."""

    seconds: list[float]
    ratios: list[float]


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


def measure(workload: Workload, repeat: int, warm_up: int = 3) -> Result:
    """Checks that the peers agree, then times them in turns for `repeat` rounds; raises `DisagreementError` if they do not."""
    available = {name: build for name, build in workload.peers.items() if importlib.util.find_spec(name)}
    missing = [name for name in workload.peers if name not in available]
    runs = {name: build() for name, build in available.items()}
    difference = _check_agreement(workload, {name: run() for name, run in runs.items()})
    for _ in range(warm_up):
        for run in runs.values():
            run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    for round_number in range(repeat):
        gc.collect()
        first = round_number % len(names)  # nobody always goes first
        for name in names[first:] + names[:first]:
            start = perf_counter()
            runs[name]()
            seconds[name].append(perf_counter() - start)
    reference = seconds.get(REFERENCE, [])
    timings = {
        name: Timing(own, [a / b for a, b in zip(own, reference, strict=True)] if reference else []) for name, own in seconds.items()
    }
    return Result(workload, timings, missing, difference)


def _check_agreement(workload: Workload, results: dict[str, list[np.ndarray]]) -> float:
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
