"""How the engines that are not shaped like PyTorch are run: HIPS autograd, MyGrad and JAX.

A workload gives them a function of its leaves, written with operators and with whatever functions
it is handed, so that the mathematics is the same lines for every engine. HIPS autograd and JAX
transform such a function; MyGrad records, as PyTorch does. JAX runs under `jax.jit`, as its users
run it, and computes in double precision where the leaves are float64. All three take NumPy's names,
so `engine` is `autograd.numpy`, `jax.numpy` or `mygrad`.

They run as they are after installation: MyGrad guards the memory of its arrays, and a Python number
turns its float32 into float64 on the way (the parameters stay in float32).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.harness import Run

Function = Callable[[Any, list[Any]], Any]
"""A scalar from an engine and a list of leaves."""


def descending(
    problem: Callable[[], tuple[Function, list[np.ndarray], float]],
) -> dict[str, Callable[[], Run]]:
    """A peer for each of the engines: one run is one step of gradient descent. `problem` gives
    loss, initial parameters and rate.
    """
    return {
        "autograd": lambda: autograd_descent(*problem()),
        "mygrad": lambda: mygrad_descent(*problem()),
        "jax jit": lambda: jax_descent(*problem()),
    }


def differentiating(
    problem: Callable[[], tuple[Function, list[np.ndarray]]],
) -> dict[str, Callable[[], Run]]:
    """A peer for each of the engines: one run gives value and gradients. `problem` gives the
    function and its leaves.
    """
    return {
        "autograd": lambda: autograd_gradients(*problem()),
        "mygrad": lambda: mygrad_gradients(*problem()),
        "jax jit": lambda: jax_gradients(*problem()),
    }


def relu(x: Any) -> Any:
    """max(x, 0), written as a product with a mask: `maximum` of autograd and of MyGrad turns
    float32 into float64 on the way.
    """
    return x * (x > 0)


def autograd_gradients(function: Function, leaves: list[np.ndarray]) -> Run:
    """HIPS autograd: one run gives the value and the gradient for each leaf."""
    import autograd.numpy as engine
    from autograd import value_and_grad

    value_and_gradients = value_and_grad(lambda leaves: function(engine, leaves))

    def run() -> list[np.ndarray]:
        value, gradients = value_and_gradients(leaves)
        return [np.asarray(value), *gradients]

    return run


def jax_gradients(function: Function, leaves: list[np.ndarray]) -> Run:
    """JAX, compiled: one run gives the value and the gradient for each leaf."""
    jax, engine, own = _jax(leaves)
    value_and_gradients = jax.jit(jax.value_and_grad(lambda leaves: function(engine, leaves)))

    def run() -> list[np.ndarray]:
        value, gradients = value_and_gradients(own)
        return [np.asarray(array) for array in (value, *gradients)]

    return run


def mygrad_gradients(function: Function, leaves: list[np.ndarray]) -> Run:
    """MyGrad: one run gives the value and the gradient for each leaf."""
    import mygrad as engine

    def run() -> list[np.ndarray]:
        own = [engine.tensor(leaf, constant=False) for leaf in leaves]
        value = function(engine, own)
        value.backward()
        return [value.data, *(leaf.grad for leaf in own)]

    return run


def autograd_descent(loss: Function, parameters: list[np.ndarray], rate: float) -> Run:
    """HIPS autograd: one run is one step of gradient descent; gives the loss before it and the
    parameters after it.
    """
    import autograd.numpy as engine
    from autograd import value_and_grad

    value_and_gradients = value_and_grad(lambda parameters: loss(engine, parameters))

    def run() -> list[np.ndarray]:
        nonlocal parameters
        value, gradients = value_and_gradients(parameters)
        parameters = [
            p - rate * gradient for p, gradient in zip(parameters, gradients, strict=True)
        ]
        return [np.asarray(value), *parameters]

    return run


def jax_descent(loss: Function, parameters: list[np.ndarray], rate: float) -> Run:
    """JAX, compiled with the update: one run is one step of gradient descent; gives the loss
    before it and the parameters after it.
    """
    jax, engine, own = _jax(parameters)

    @jax.jit
    def step(own: list[Any]) -> tuple[Any, list[Any]]:
        value, gradients = jax.value_and_grad(lambda parameters: loss(engine, parameters))(own)
        return value, [p - rate * gradient for p, gradient in zip(own, gradients, strict=True)]

    def run() -> list[np.ndarray]:
        nonlocal own
        value, own = step(own)
        return [np.asarray(array) for array in (value, *own)]

    return run


def jax_training(
    loss: Callable[..., Any],
    parameters: dict[str, np.ndarray],
    inputs: Sequence[np.ndarray],
    update: Callable[..., tuple[Any, ...]],
    moments: int,
) -> Run:
    """JAX, compiled with the update: one run is one step of an optimiser; gives the loss before it.

    loss: a scalar, and what else a step computes (running statistics), of parameters and inputs.
    update: a parameter and its moments after a step, of the step's number, the parameter, its
    gradient and its moments.
    """
    jax, engine, own = _jax([*parameters.values(), *inputs])
    own, inputs = dict(zip(parameters, own, strict=False)), own[len(parameters) :]
    state = [{name: engine.zeros_like(own[name]) for name in own} for _ in range(moments)]

    @jax.jit
    def step(number: Any, own: Any, state: list[Any], *inputs: Any) -> Any:
        (value, others), gradients = jax.value_and_grad(loss, has_aux=True)(own, *inputs)
        new = {
            name: update(number, p, gradients[name], *(moment[name] for moment in state))
            for name, p in own.items()
        }
        own, *state = ({name: new[name][place] for name in new} for place in range(1 + moments))
        return value, number + 1, own, state, others

    number = engine.ones((), engine.float32)  # in float64 it would make the parameters that

    def run() -> list[np.ndarray]:
        nonlocal number, own, state
        value, number, own, state, _ = step(number, own, state, *inputs)
        return [np.asarray(value)]

    return run


def mygrad_descent(loss: Function, parameters: list[np.ndarray], rate: float) -> Run:
    """MyGrad: one run is one step of gradient descent; gives the loss before it and the
    parameters after it.
    """
    import mygrad as engine

    own = [engine.tensor(p, constant=False) for p in parameters]

    def run() -> list[np.ndarray]:
        value = loss(engine, own)
        value.backward()  # frees the graph; a parameter's gradient goes when it is used again
        for p in own:
            p.data -= rate * p.grad
        return [value.data, *(p.data for p in own)]

    return run


def _jax(leaves: list[np.ndarray]) -> tuple[Any, Any, list[Any]]:
    """JAX, its NumPy, and the leaves as its arrays; with double precision switched on where a
    leaf has it.
    """
    import jax
    import jax.numpy as engine

    if any(leaf.dtype == np.float64 for leaf in leaves):
        jax.config.update("jax_enable_x64", True)
    return jax, engine, [engine.asarray(leaf) for leaf in leaves]
