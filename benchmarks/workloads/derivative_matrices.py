"""Whole matrices of derivatives: the Jacobian of a layer, and the Hessian of a power sum.

The reference is what PyTorch offers under the same name, `torch.autograd.functional`, which goes row by row; `torch.func`, which batches
the rows, is a peer of its own.
"""

from typing import Any

import numpy as np

from benchmarks.harness import Run, Workload

WIDTH, POWERS = 200, 100


def _layer(engine: Any) -> tuple[Any, Any]:
    """tanh(W x), from R^200 to R^200, and a point."""
    random = np.random.default_rng(0)
    weight = engine.tensor(random.normal(size=(WIDTH, WIDTH)) / WIDTH**0.5)
    return lambda x: engine.tanh(weight @ x), engine.tensor(random.normal(size=WIDTH))


def _power_sum(engine: Any) -> tuple[Any, Any]:
    """sum(x^3) * sum(x), from R^100 to R, so that no entry of its Hessian is zero; and a point."""
    return lambda x: (x**3).sum() * x.sum(), engine.tensor(np.random.default_rng(0).normal(size=POWERS))


def _minigrad(problem: Any, derivative: str) -> Run:
    import minigrad as mg

    f, x = problem(mg)
    matrix = getattr(mg.autograd.functional, derivative)
    return lambda: [matrix(f, x).numpy()]


def _torch(problem: Any, derivative: str) -> Run:
    import torch as pt

    f, x = problem(pt)
    matrix = getattr(pt.autograd.functional, derivative)
    return lambda: [matrix(f, x).numpy()]


def _torch_func(problem: Any, derivative: str) -> Run:
    import torch as pt

    f, x = problem(pt)
    matrix = getattr(pt.func, derivative)(f)
    return lambda: [matrix(x).numpy()]


WORKLOADS = tuple(
    Workload(
        name=f"{derivative}_{size}",
        title=title,
        unit=f"one {derivative} of {size} x {size} in float64",
        peers={
            "minigrad": lambda problem=problem, derivative=derivative: _minigrad(problem, derivative),
            "torch": lambda problem=problem, derivative=derivative: _torch(problem, derivative),
            "torch func": lambda problem=problem, named=named: _torch_func(problem, named),
        },
        tolerance=1e-10,
    )
    for derivative, named, size, problem, title in (
        ("jacobian", "jacrev", WIDTH, _layer, "Jacobian of tanh(W x), against torch.autograd.functional and torch.func"),
        ("hessian", "hessian", POWERS, _power_sum, "Hessian of sum(x^3) sum(x), against torch.autograd.functional and torch.func"),
    )
)
