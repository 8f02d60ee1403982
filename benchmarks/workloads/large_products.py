"""A chain of products of large matrices: nearly all of it is spent in the linear-algebra library,
so an engine can only lose here.

One run multiplies four square matrices in a row and differentiates the sum of the result with
respect to each of them.
"""

from typing import Any

import numpy as np

from benchmarks import engines, peers
from benchmarks.harness import Run, Workload

SIZE, FACTORS = 1024, 4


def data(size: int) -> list[np.ndarray]:
    """The matrices, from a fixed seed."""
    random = np.random.default_rng(0)
    return [(random.random((size, size)) / size).astype(np.float32) for _ in range(FACTORS)]


def _sum_of_product(matrices: list[Any]) -> Any:
    """The sum of the entries of the product; the same lines for every engine."""
    product = matrices[0]
    for factor in matrices[1:]:
        product = product @ factor
    return product.sum()


def products(engine: Any, size: int = SIZE, device: str = "cpu") -> Run:
    """One chain a run, forward and backward. From another device than the CPU only the first row
    of a gradient comes back.
    """
    matrices = [engine.tensor(matrix, device=device, requires_grad=True) for matrix in data(size)]

    def run() -> list[np.ndarray]:
        for matrix in matrices:
            matrix.grad = None
        total = _sum_of_product(matrices)
        total.backward()
        if device != "cpu":  # the last gradient waits for all work before it
            return [total.detach().cpu().numpy(), matrices[0].grad[:1].cpu().numpy()]
        return [total.detach().numpy(), *(matrix.grad.numpy() for matrix in matrices)]

    return run


ENGINES = engines.eager(products)


def functional(size: int = SIZE) -> tuple[peers.Function, list[np.ndarray]]:
    """The sum of the product as a function of the matrices; and the matrices."""
    return lambda _, matrices: _sum_of_product(matrices), data(size)


WORKLOADS = (
    Workload(
        name="large_products",
        title=(
            f"{FACTORS} matrices of {SIZE} x {SIZE} in float32 multiplied in a row, forward and"
            " backward"
        ),
        unit=f"{3 * (FACTORS - 1)} products of {SIZE} x {SIZE} matrices",
        peers={
            **ENGINES,
            **peers.differentiating(functional),
        },
        tolerance=1e-4,
        rounds=10,
    ),
)
