"""Network, CNN step and large products on a GPU: the CPU's workloads with their data there; eager,
compiled, captured and fused.

They are run only where there is a CUDA device; PyTorch needs a build for CUDA to be a peer. A run
ends when its result is known on the host, so no engine is timed for work that it has only put in a
queue.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

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


def _minigrad(
    train: Callable[..., Run], device: str, options: dict[str, bool] | None = None
) -> Run:
    import minigrad as mg

    return (
        train(mg, device=device)
        if options is None
        else train(mg, compile=partial(mg.compile, **options), device=device)
    )


def _torch(train: Callable[..., Run], device: str) -> Run:
    import torch as pt

    return train(pt, device=device)


def _peers(train: Callable[..., Run], device: str, compiled: bool) -> dict[str, Callable[[], Run]]:
    steps = (
        {name: partial(_minigrad, train, device, options) for name, options in COMPILED.items()}
        if compiled
        else {}
    )
    return {
        "minigrad": partial(_minigrad, train, device),
        **steps,
        "torch": partial(_torch, train, device),
    }


def _network(engine: Any, **options: Any) -> Run:
    return network_2_25.training(engine, network_2_25.POINTS, np.float32, **options)


def _cnn(engine: Any, **options: Any) -> Run:
    return cnn_step.training(engine, cnn_step.BATCH, **options)


def _products(engine: Any, device: str) -> Run:
    return large_products.products(engine, SIZE, device)


def make(device: str = DEVICE) -> tuple[Workload, ...]:
    """The workloads on a device."""
    return (
        Workload(
            "network_2_25_cuda",
            "The network of network_2_25 on the GPU",
            "one epoch",
            _peers(_network, device, True),
            1e-3,
            device=device,
        ),
        Workload(
            "cnn_step_cuda",
            "The training step of cnn_step on the GPU",
            "one step",
            _peers(_cnn, device, True),
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
