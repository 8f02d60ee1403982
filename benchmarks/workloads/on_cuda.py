"""Network, CNN step and large products on a GPU: the CPU's workloads with their data there; eager,
compiled, captured and fused.

They are run only where there is a CUDA device; PyTorch needs a build for CUDA to be a peer. A run
ends when its result is known on the host, so no engine is timed for work that it has only put in a
queue.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import engines
from benchmarks.harness import Run, Workload
from benchmarks.workloads import cnn_step, large_products, network_2_25

DEVICE = "cuda"
SIZE = 4096
"""Rows of the large matrices: those of the CPU's workload would be over before a GPU is busy."""
COMPILED: dict[str, dict[str, bool]] = {
    "minigrad compiled": {},
    "minigrad captured": {"capture": True},
    "minigrad captured and fused": {"capture": True, "fuse": True},
}
"""How a training step is compiled, by the peer's name."""


def _peers(train: Callable[..., Run], device: str, compiled: bool) -> dict[str, Callable[[], Run]]:
    """The peers of a workload on a device. compiled: whether its step is compiled too."""
    minigrad, torch = engines.eager(train).values()
    steps = {name: engines.compiled(train, **h) for name, h in COMPILED.items() if compiled}
    found = {"minigrad": minigrad, **steps, "torch": torch}
    return {name: partial(build, device=device) for name, build in found.items()}


def _products(engine: Any, device: str) -> Run:
    return large_products.products(engine, SIZE, device)


def make(device: str = DEVICE) -> tuple[Workload, ...]:
    """The workloads on a device."""
    return (
        Workload(
            "network_2_25_cuda",
            "The network of network_2_25 on the GPU",
            "one epoch",
            _peers(network_2_25.training, device, True),
            1e-3,
            device=device,
        ),
        Workload(
            "cnn_step_cuda",
            "The training step of cnn_step on the GPU",
            "one step",
            _peers(cnn_step.training, device, True),
            1e-2,
            device=device,
        ),
        Workload(
            "large_products_cuda",
            f"{large_products.FACTORS} matrices of {SIZE} x {SIZE} in float32 multiplied in a row"
            " on the GPU, forward and backward",
            f"{3 * (large_products.FACTORS - 1)} products of {SIZE} x {SIZE} matrices",
            _peers(_products, device, False),
            1e-3,
            device=device,
        ),
    )


WORKLOADS = make()
