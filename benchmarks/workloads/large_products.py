"""A chain of products of large matrices: nearly all of it is spent in the linear-algebra library, so an engine can only lose here.

One run multiplies four square matrices in a row and differentiates the sum of the result with respect to each of them.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Run, Workload

SIZE, FACTORS = 1024, 4


def products(engine: Any, size: int, device: str = "cpu") -> Run:
    """One chain a run, forward and backward. On another device than the CPU it gives the sum alone."""
    random = np.random.default_rng(0)
    data = [(random.random((size, size)) / size).astype(np.float32) for _ in range(FACTORS)]
    matrices = [engine.tensor(matrix, device=device, requires_grad=True) for matrix in data]

    def run() -> list[np.ndarray]:
        product = matrices[0]
        for factor in matrices[1:]:
            product = product @ factor
        for matrix in matrices:
            matrix.grad = None
        total = product.sum()
        total.backward()
        if device != "cpu":  # the last gradient waits for all work before it
            return [total.detach().cpu().numpy(), matrices[0].grad[:1].cpu().numpy()]
        return [product.detach().numpy(), *(matrix.grad.numpy() for matrix in matrices)]

    return run


def minigrad(size: int = SIZE) -> Run:
    import minigrad as mg

    return products(mg, size)


def torch(size: int = SIZE) -> Run:
    import torch as pt

    return products(pt, size)


WORKLOADS = (
    Workload(
        name="large_products",
        title=f"{FACTORS} matrices of {SIZE} x {SIZE} in float32 multiplied in a row, forward and backward",
        unit=f"{3 * (FACTORS - 1)} products of {SIZE} x {SIZE} matrices",
        peers={"minigrad": partial(minigrad, SIZE), "torch": partial(torch, SIZE)},
        tolerance=1e-4,
        rounds=10,
    ),
)
