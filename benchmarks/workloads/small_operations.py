"""Chains of one small operation: what an engine adds to each call when there is next to nothing to
compute.

Each chain starts from four numbers in float32 and applies one operation a hundred times; one run
builds the chain and differentiates it. Compiled, nearly all that is left is NumPy's calls: what the
eager engine adds to them is the difference.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import engines, peers
from benchmarks.harness import Run, Workload

LENGTH = 100
START = np.array([0.1, -0.2, 0.3, 0.4], np.float32)
MATRIX = np.float32(0.5) * np.eye(4, dtype=np.float32) + np.float32(0.1)

LINKS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda engine, x, c: x + c,
    "multiply": lambda engine, x, c: x * c,
    "exp": lambda engine, x, c: engine.exp(-engine.exp(x)),
    "sum": lambda engine, x, c: x.sum() * c,
    "matmul": lambda engine, x, c: x @ c,
}
"""One link of a chain, from x and a constant c: one operation, or two where one alone would grow
without bound or change its shape.
"""
CALLS = {"add": 1, "multiply": 1, "exp": 3, "sum": 2, "matmul": 1}
"""Operations in a link."""


def _constant(name: str) -> np.ndarray:
    return MATRIX if name == "matmul" else np.full(4, 0.25 if name == "sum" else 0.99, np.float32)


def _chain(engine: Any, name: str, x: Any, constant: Any) -> Any:
    """The sum of what comes out at the end of the chain; the same lines for every engine."""
    link = LINKS[name]
    for _ in range(LENGTH):
        x = link(engine, x, constant)
    return x.sum()


def _run(engine: Any, name: str, compile: Any = lambda function: function) -> Run:
    constant = engine.tensor(_constant(name))

    @compile
    def differentiated(x: Any) -> Any:
        total = _chain(engine, name, x, constant)
        total.backward()
        return total

    def run() -> list[np.ndarray]:
        x = engine.tensor(START, requires_grad=True)
        return [differentiated(x).detach().numpy(), x.grad.numpy()]

    return run


def functional(name: str) -> tuple[peers.Function, list[np.ndarray]]:
    """The chain as a function of an engine with NumPy's names and of its leaf; and the leaf."""
    constant = _constant(name)
    return lambda engine, leaves: _chain(engine, name, leaves[0], constant), [START]


ENGINES = engines.training(_run)
WORKLOADS = tuple(
    Workload(
        name=f"small_{name}",
        title=(
            f"A chain of {LENGTH} links of {name} ({calls} small operation(s) a link) on 4 numbers"
            " in float32, forward and backward"
        ),
        unit=f"{LENGTH * calls} operations forward and backward",
        peers={
            **{
                engine: partial(build, name)
                for engine, build in ENGINES.items()
                if (name, engine) != ("matmul", "minigrad fused")  # products are in no kernel
            },
            **peers.differentiating(partial(functional, name)),
        },
        tolerance=1e-4,
    )
    for name, calls in CALLS.items()
)
