"""How a workload is timed, so that a figure can be believed.

1. Every peer (engine) first computes the workload's result once. If the results disagree, nothing
   is timed.
2. The peers then take turns, one run each a round, in one process. What disturbs the machine
   disturbs all of them alike.
3. A run that is over in a moment is repeated within its round until it has taken `INNER` seconds,
   and its time is the mean of these runs.
4. Each round gives each peer's ratio to the reference in that round. Medians and quartiles of times
   and of ratios are what is reported: a mean is at the mercy of one bad moment, and a minimum has
   never happened to anybody.

Figures are for a warm engine, as in a training loop: caches hold what the last run left there. The
heap is collected before the first round and what is there then is frozen: garbage collection stays
on, as it is for a user, but it does not search through the libraries' own objects again and again,
which would be charged to whoever is running. (To collect before each round would empty the caches:
it doubled the times of the smallest network, for all engines.)

With more than one thread there is a fifth rule: before an engine's turn the process sleeps until
none of its threads is busy, and then the engine runs once untimed. A library's worker threads do
not sleep when their work is done: they spin, ready for more, and meanwhile they hold the processors
that the next engine needs. That charged one engine for another's threads: minigrad's network took
twice as long with two threads beside PyTorch, and as long as with one when it was alone. How long
they spin was found by letting the process sleep after a run and reading its processor time each
millisecond: the last of it was used 4 to 17 ms after a run of PyTorch (OpenMP), and about 100 ms
after a run of NumPy (OpenBLAS). It depends on library and machine, so the process asks
(`let_threads_sleep`) in place of a fixed pause.
"""

import contextlib
import gc
import importlib
import importlib.util
import os
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter, process_time, sleep

import numpy as np

REFERENCE = "torch"
INNER = 0.01
"""Seconds that each engine runs at least in a round."""
WINDOW, PATIENCE = 0.02, 1.0
"""Seconds over which a process must have used no processor time to count as asleep (the system adds
it up only every few milliseconds), and the longest wait for that.
"""
COMPILING = 5
"""Runs of minigrad's compiled step, after the first, that are never timed: in the first ones it
still runs as it was written, records and checks itself.
"""

os.environ.setdefault("MINIGRAD_KERNELS_WAIT", "1")  # kernels are there when a run is timed

Run = Callable[[], list[np.ndarray]]
"""One complete run of a workload by one engine; returns the arrays (value and gradients) by
which engines are compared.
"""


@dataclass(frozen=True)
class Workload:
    """What is computed, and how each engine computes it.

    peers: a builder for each engine, by name ("minigrad", "minigrad compiled": the first word is
    the package). It imports the engine and prepares the data, which is not timed, and returns the
    `Run`.
    tolerance: the largest relative difference between two engines' results (largest absolute
    difference over the largest magnitude).
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
    """Seconds a run, each round's ratio to the reference (empty without one), and bytes at the
    peak of a run (None: not measured).
    """

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
    spec = importlib.util.find_spec(package)
    if (
        spec is None or spec.origin is None
    ):  # without an origin it is only a folder of that name on the path
        return False
    return device == "cpu" or bool(importlib.import_module(package).cuda.is_available())


def is_available(peer: str, device: str = "cpu") -> bool:
    """Whether a peer can run: its engine is there, and what compiles its kernels."""
    compiler = "numba" if peer == "minigrad fused" and device == "cpu" else None
    engine = peer.partition(" ")[0]
    return is_installed(engine, device) and (compiler is None or is_installed(compiler))


def let_threads_sleep() -> bool:
    """Sleeps until the other threads of this process sleep too; False if one is still busy after
    `PATIENCE` seconds.
    """
    end = perf_counter() + PATIENCE
    while perf_counter() < end:
        before = process_time()
        sleep(WINDOW)
        if process_time() - before < WINDOW / 20:
            return True
    return False


def measure(
    workload: Workload,
    repeat: int,
    warm_up: int = 8,
    peak: Callable[[Workload, str], int | None] = lambda *_: None,
    threads: int = 1,
) -> Result:
    """Checks that the peers agree, then times them in turns for `repeat` rounds; raises
    `DisagreementError` if they do not.

    peak: how the memory of a peer is measured.
    threads: how many threads the libraries were given; with more than one, each turn begins with a
    pause and a run that is not timed.
    """
    repeat = min(repeat, workload.rounds or repeat)
    warm_up = min(warm_up, repeat)
    available = {
        name: build for name, build in workload.peers.items() if is_available(name, workload.device)
    }
    missing = [name for name in workload.peers if name not in available]
    runs = {name: build() for name, build in available.items()}
    difference = check_agreement(workload, {name: run() for name, run in runs.items()})
    inner = {
        name: warm(run, max(warm_up, COMPILING) if compiles(name) else warm_up, threads)
        for name, run in runs.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    with frozen_heap():
        for round_number in range(repeat):
            first = round_number % len(names)  # the first place changes in each round
            for name in names[first:] + names[:first]:
                seconds[name].append(take_turn(runs[name], inner[name], threads))
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


@contextlib.contextmanager
def frozen_heap() -> Iterator[None]:
    """Within the block, collections leave out what is on the heap at its beginning. What was frozen
    before stays so: otherwise a caller's later collections would search through all of it.
    """
    before = gc.get_freeze_count()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if not before:
            gc.unfreeze()


def compiles(peer: str) -> bool:
    """Whether a peer's first runs are not what is run later: minigrad compiled, captured, fused,
    and JAX under jit."""
    return peer.startswith("minigrad ") or peer.endswith(" jit")


def take_turn(run: Run, times: int, threads: int) -> float:
    """Runs `times` times, and gives the mean of the seconds that a run took."""
    if threads > 1:
        let_threads_sleep()
        run()  # wakes the engine's own threads
    start = perf_counter()
    for _ in range(times):
        run()
    return (perf_counter() - start) / times


def warm(run: Run, times: int, threads: int) -> int:
    """Runs a few times, and says how many runs a round needs."""
    if threads > 1:
        let_threads_sleep()
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
            raise DisagreementError(
                f"{workload.name}: {name} and {first} give arrays of different number or shape"
            )
        for number, (a, b) in enumerate(zip(found, expected, strict=True)):
            scale = max(float(np.max(np.abs(b))), float(np.finfo(b.dtype).tiny))
            difference = float(np.max(np.abs(a.astype(np.float64) - b.astype(np.float64)))) / scale
            if not difference <= workload.tolerance:  # so that NaN does not pass
                message = (
                    f"{workload.name}: array {number} of {name} and {first} differs by"
                    f" {difference:.3g} of its size"
                )
                raise DisagreementError(f"{message}; allowed is {workload.tolerance:g}")
            largest = max(largest, difference)
    return largest
