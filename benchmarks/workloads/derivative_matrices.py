"""Whole matrices of derivatives: the Jacobian of a layer, and the Hessian of a power sum.

The reference is what PyTorch offers under the same name, `torch.autograd.functional`, which goes
row by row; `torch.func`, which batches the rows, is a peer of its own. HIPS autograd goes row by
row too; JAX batches the rows and compiles. MyGrad has neither matrix.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Run, Workload

WIDTH, POWERS = 200, 100


def layer(engine: Any, array: Any, width: int = WIDTH) -> tuple[Any, Any]:
    """tanh(W x), from R^width to R^width, and a point. `array`: what makes a NumPy array one of
    the engine's.
    """
    random = np.random.default_rng(0)
    weight = array(random.normal(size=(width, width)) / width**0.5)
    return lambda x: engine.tanh(weight @ x), array(random.normal(size=width))


def power_sum(engine: Any, array: Any) -> tuple[Any, Any]:
    """sum(x^3) * sum(x), from R^100 to R, so that no entry of its Hessian is zero; and a point."""
    return lambda x: (x**3).sum() * x.sum(), array(np.random.default_rng(0).normal(size=POWERS))


def minigrad(problem: Any, derivative: str) -> Run:
    import minigrad as mg

    f, x = problem(mg, mg.tensor)
    matrix = getattr(mg.autograd.functional, derivative)
    return lambda: [matrix(f, x).numpy()]


def torch(problem: Any, derivative: str) -> Run:
    import torch as pt

    f, x = problem(pt, pt.tensor)
    matrix = getattr(pt.autograd.functional, derivative)
    return lambda: [matrix(f, x).numpy()]


def torch_func(problem: Any, derivative: str) -> Run:
    import torch as pt

    f, x = problem(pt, pt.tensor)
    matrix = getattr(pt.func, derivative)(f)
    return lambda: [matrix(x).numpy()]


def autograd(problem: Any, derivative: str) -> Run:
    import autograd as ag
    import autograd.numpy as anp

    f, x = problem(anp, np.asarray)
    matrix = getattr(ag, derivative)(f)
    return lambda: [matrix(x)]


def jax_jit(problem: Any, derivative: str) -> Run:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    f, x = problem(jnp, jnp.asarray)
    matrix = jax.jit(getattr(jax, derivative)(f))
    return lambda: [np.asarray(matrix(x))]


WORKLOADS = tuple(
    Workload(
        name=f"{derivative}_{size}",
        title=title,
        unit=f"one {derivative} of {size} x {size} in float64",
        peers={
            "minigrad": partial(minigrad, problem, derivative),
            "torch": partial(torch, problem, derivative),
            "torch func": partial(torch_func, problem, named),
            "autograd": partial(autograd, problem, derivative),
            "jax jit": partial(jax_jit, problem, named),
        },
        tolerance=1e-10,
    )
    for derivative, named, size, problem, title in (
        (
            "jacobian",
            "jacrev",
            WIDTH,
            layer,
            "Jacobian of tanh(W x), against torch.autograd.functional and torch.func",
        ),
        (
            "hessian",
            "hessian",
            POWERS,
            power_sum,
            "Hessian of sum(x^3) sum(x), against torch.autograd.functional and torch.func",
        ),
    )
)
