"""A chain of products of large matrices: nearly all of it is spent in the linear-algebra library, so an engine can only lose here.

One run multiplies four square matrices in a row and differentiates the sum of the result with respect to each of them.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Run, Workload

SIZE, FACTORS = 1024, 4


def _run(engine: Any, size: int) -> Run:
    random = np.random.default_rng(0)
    matrices = [engine.tensor((random.random((size, size)) / size).astype(np.float32), requires_grad=True) for _ in range(FACTORS)]

    def run() -> list[np.ndarray]:
        product = matrices[0]
        for factor in matrices[1:]:
            product = product @ factor
        for matrix in matrices:
            matrix.grad = None
        product.sum().backward()
        return [product.detach().numpy(), *(matrix.grad.numpy() for matrix in matrices)]

    return run


def minigrad(size: int = SIZE) -> Run:
    import minigrad as mg

    return _run(mg, size)


def torch(size: int = SIZE) -> Run:
    import torch as pt

    return _run(pt, size)


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
