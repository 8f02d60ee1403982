"""`python -m benchmarks.checkpointing`: what checkpointing saves and what it costs, on a deep chain
of layers.

A chain of LAYERS layers tanh(x W + b) with one batch going through, forward and backward, kept
whole, and cut into pieces by `checkpoint_sequential`. Memory is what Python's tracemalloc sees
between the start of the forward pass and the end of the backward pass at its highest (NumPy reports
its arrays to it), without the parameters, which are there before. Time is measured separately,
without tracing, the variants taking turns.
"""

import gc
import sys
import tracemalloc
from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarks import command, machine

LAYERS, BATCH, WIDTH = 64, 2048, 128
SEGMENTS = (1, 4, 8, 16, 64)


def variants(layers: int, batch: int, width: int) -> dict[int, Callable[[], list[Any]]]:
    """For each number of pieces, one run forward and backward; returns the gradients."""
    import minigrad as mg

    mg.manual_seed(0)
    body = [mg.nn.Sequential(mg.nn.Linear(width, width), mg.nn.Tanh()) for _ in range(layers)]
    parameters = [p for layer in body for p in layer.parameters()]
    x = mg.randn(batch, width)

    def run(segments: int) -> list[Any]:
        for p in parameters:
            p.grad = None
        (mg.checkpoint_sequential(body, segments, x) ** 2).mean().backward()
        return [p.grad.numpy() for p in parameters]

    return {
        segments: lambda segments=segments: run(segments)
        for segments in SEGMENTS
        if segments <= layers
    }


def peak_bytes(run: Callable[[], Any]) -> int:
    """The most that a run held at any time, beyond what was there before. The gradients that it
    leaves behind are part of it.
    """
    run()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def main(argv: list[str]) -> int:
    parser = command.parser("checkpointing", __doc__)
    parser.count("--layers", LAYERS, "layers of the chain")
    parser.count("--repeat", 15, "timed rounds")
    options = parser.parse_args(argv)
    machine.limit_threads(1)

    from benchmarks import harness, report

    runs = variants(options.layers, BATCH, WIDTH)
    expected = runs[1]()
    for segments, run in runs.items():
        if not all((a == b).all() for a, b in zip(run(), expected, strict=True)):
            raise harness.DisagreementError(
                f"the gradients in {segments} pieces differ from those of the whole chain"
            )
    peaks = {segments: peak_bytes(run) for segments, run in runs.items()}
    seconds: dict[int, list[float]] = {segments: [] for segments in runs}
    for _ in range(options.repeat):
        gc.collect()
        for segments, run in runs.items():
            start = perf_counter()
            run()
            seconds[segments].append(perf_counter() - start)
    print(report.heading(machine.describe(1, parser.prog, *argv)))
    chain = f"{options.layers} layers of {WIDTH} units, batch {BATCH}, float32"
    print(f"\n{chain}; {options.repeat} rounds; the gradients are equal to the last bit\n")
    print("| pieces | peak memory | of the whole | time | of the whole, median | quartiles |")
    print("|---|---|---|---|---|---|")
    for segments in runs:
        low, middle, high = harness.quartiles(
            [a / b for a, b in zip(seconds[segments], seconds[1], strict=True)]
        )
        time = 1000 * harness.quartiles(seconds[segments])[1]
        print(
            f"| {segments} | {peaks[segments] / 2**20:.1f} MiB | {peaks[segments] / peaks[1]:.2f} |"
            f" {time:.1f} ms | {middle:.2f} | {low:.2f} to {high:.2f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
