"""`python -m benchmarks.processor_time NAME ...`: workloads on a machine that others use too.

Wall times of short runs say little where ten processes share two cores. So this counts the
processor time of this process, peers in turn, for some seconds a workload; of each peer the lowest
time, and the median of its ratios to PyTorch in the same round. Caches are still shared: expect a
tenth of noise.
"""

import gc
import os
import statistics
import sys
from time import monotonic, process_time

from benchmarks import machine

SECONDS, TIMES = 20, 3


def main(names: list[str]) -> None:
    """Measure the workloads of these names."""
    machine.limit_threads(1)
    from benchmarks import harness, workloads

    harness.set_torch_threads(1)
    for name in names:
        builders = workloads.load()[name].peers
        runs = {
            peer: build()
            for peer, build in builders.items()
            if peer.partition(" ")[0] in ("minigrad", "torch") and harness.is_available(peer)
        }
        for _ in range(8):
            for run in runs.values():
                run()
        gc.collect()
        gc.freeze()
        seconds: dict[str, list[float]] = {peer: [] for peer in runs}
        end = monotonic() + SECONDS
        while monotonic() < end:
            for peer, run in runs.items():
                start = process_time()
                for _ in range(TIMES):
                    run()
                seconds[peer].append((process_time() - start) / TIMES)
        reference = seconds[harness.REFERENCE]
        print(f"{name}, {len(reference)} rounds, load {os.getloadavg()[0]:.0f}")
        for peer, own in seconds.items():
            ratio = statistics.median(a / b for a, b in zip(own, reference, strict=True))
            print(f"  {peer:20}{min(own) * 1e6:9.0f} µs  {ratio:.3f} of PyTorch")


if __name__ == "__main__":
    main(sys.argv[1:])
