"""A chain of scalar operations: how much an engine adds to each tiny operation. Nothing but bookkeeping is measured here.

x -> 0.9 sin(x) + 0.1, again and again: three operations a link. One run builds the chain from a leaf and differentiates it.
"""

from typing import Any

import numpy as np

from benchmarks.harness import Run, Workload

OPERATIONS = 10_000
START = 0.5


def _chain(sin: Any, x: Any, operations: int) -> Any:
    """Exactly `operations` operations on `x`, the same lines for every engine."""
    links, rest = divmod(operations, 3)
    for _ in range(links):
        x = sin(x) * 0.9 + 0.1
    for _ in range(rest):
        x = sin(x)
    return x


def minigrad(operations: int = OPERATIONS) -> Run:
    import minigrad as mg

    def run() -> list[np.ndarray]:
        x = mg.tensor(START, dtype=mg.float64, requires_grad=True)
        y = _chain(mg.sin, x, operations)
        y.backward()
        return [y.detach().numpy(), x.grad.numpy()]

    return run


def minigrad_compiled(operations: int = OPERATIONS) -> Run:
    import minigrad as mg

    x = mg.tensor(START, dtype=mg.float64, requires_grad=True)

    @mg.compile
    def step() -> Any:
        x.grad = None
        y = _chain(mg.sin, x, operations)
        y.backward()
        return y

    return lambda: [step().detach().numpy(), x.grad.numpy()]


def torch(operations: int = OPERATIONS) -> Run:
    import torch as pt

    def run() -> list[np.ndarray]:
        x = pt.tensor(START, dtype=pt.float64, requires_grad=True)
        y = _chain(pt.sin, x, operations)
        y.backward()
        return [y.detach().numpy(), x.grad.numpy()]

    return run


WORKLOAD = Workload(
    name="scalar_chain",
    title=f"{OPERATIONS:,} scalar operations in float64, x -> 0.9 sin(x) + 0.1 repeated, forward and backward",
    unit=f"{OPERATIONS:,} operations forward and backward",
    peers={"minigrad": minigrad, "minigrad compiled": minigrad_compiled, "torch": torch},
    tolerance=1e-12,
)
