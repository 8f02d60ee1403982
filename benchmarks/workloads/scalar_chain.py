"""A chain of scalar operations: how much an engine adds to each tiny operation. Nothing but
bookkeeping is measured here.

x -> 0.9 sin(x) + 0.1, again and again: three operations a link. One run builds the chain from a
leaf and differentiates it.

JAX is there with `lax.fori_loop` under `jit`, which is what its users write here: it compiles one
link and runs it in a loop, so its figure is that of compiled arithmetic. Unrolled, it took 54
seconds to compile; its operations one by one, without `jit`, took 2 seconds a run.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Run, Workload

OPERATIONS = 10_000
START = 0.5
LONGEST_COMPILED = 100_000
"""A longer chain takes minutes to be recorded, checked and written as Python: 0.28 ms an
operation, once.
"""


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


def minigrad_compiled(operations: int = OPERATIONS, fuse: bool = False) -> Run:
    import minigrad as mg

    x = mg.tensor(START, dtype=mg.float64, requires_grad=True)

    @(mg.compile(fuse=True) if fuse else mg.compile)
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


def functional(operations: int) -> tuple[peers.Function, list[np.ndarray]]:
    """The chain as a function of an engine with NumPy's names and of its leaf; and the leaf."""
    return lambda engine, leaves: _chain(engine.sin, leaves[0], operations), [np.array(START)]


def jax_loop(operations: int) -> Run:
    from jax import lax

    def chain(engine: Any, leaves: list[Any]) -> Any:
        links, rest = divmod(operations, 3)
        looped = lax.fori_loop(0, links, lambda _, x: _chain(engine.sin, x, 3), leaves[0])
        return _chain(engine.sin, looped, rest)

    return peers.jax_gradients(chain, [np.array(START)])


def workload(operations: int, rounds: int | None = None) -> Workload:
    """The chain with so many operations. The further engines are there at `OPERATIONS`, the
    compiled ones up to `LONGEST_COMPILED`.
    """
    others = {
        name: build
        for name, build in peers.differentiating(partial(functional, operations)).items()
        if name != "jax jit"
    }
    others["jax jit loop"] = partial(jax_loop, operations)
    return Workload(
        name="scalar_chain" if operations == OPERATIONS else f"scalar_chain_{operations:_}",
        title=(
            f"{operations:,} scalar operations in float64, x -> 0.9 sin(x) + 0.1 repeated, forward"
            " and backward"
        ),
        unit=f"{operations:,} operations forward and backward",
        peers={
            "minigrad": partial(minigrad, operations),
            **(
                {
                    "minigrad compiled": partial(minigrad_compiled, operations),
                    "minigrad fused": partial(minigrad_compiled, operations, fuse=True),
                }
                if operations <= LONGEST_COMPILED
                else {}
            ),
            "torch": partial(torch, operations),
            **(others if operations == OPERATIONS else {}),
        },
        tolerance=1e-12,
        rounds=rounds,
    )


WORKLOADS = (workload(OPERATIONS), workload(100_000, rounds=6), workload(1_000_000, rounds=3))
"""Three lengths, so that one can see the cost of an operation stay the same as the work grows."""
