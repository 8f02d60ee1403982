"""Two moons: a 2-16-16-1 network with relu, a maximum-margin loss and weight decay, as tensors
(micrograd's demonstration).

Two interleaved half circles of 100 points, labels -1 and 1. One run is one step of gradient descent
on the full batch: nearly all of it is the cost of an operation, not of its arithmetic.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks import engines, peers
from benchmarks.harness import Run, Workload

SIZES = (2, 16, 16, 1)
POINTS = 100
RATE, DECAY = 0.1, 1e-4


def data(points: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Inputs (points, 2), labels (points, 1), and weights and biases in turn, from a fixed seed."""
    random = np.random.default_rng(0)
    angle, upper = np.pi * random.random(points), np.arange(points) % 2 == 0
    x = np.where(upper, [np.cos(angle), np.sin(angle)], [1 - np.cos(angle), 0.5 - np.sin(angle)]).T
    x = x + random.normal(0, 0.1, x.shape)
    parameters = []
    for before, after in pairwise(SIZES):
        parameters += [random.uniform(-1, 1, (before, after)) / before**0.5, np.zeros(after)]
    labels = np.where(upper, 1.0, -1.0)[:, None]
    return (
        x.astype(np.float32),
        labels.astype(np.float32),
        [p.astype(np.float32) for p in parameters],
    )


def _loss(relu: Any, x: Any, labels: Any, parameters: list[Any]) -> Any:
    """mean(relu(1 - label * score)) + decay * sum of squares; the same lines for every engine."""
    decay = sum((p * p).sum() for p in parameters)
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        x = relu(x @ weight + bias)
    scores = x @ parameters[-2] + parameters[-1]
    return relu(1 - labels * scores).mean() + DECAY * decay


def _training(engine: Any, points: int = POINTS, compile: Any = lambda step: step) -> Run:
    inputs, targets, initial = data(points)
    x, labels = engine.tensor(inputs), engine.tensor(targets)
    parameters = [engine.tensor(p, requires_grad=True) for p in initial]

    @compile
    def step() -> Any:
        loss = _loss(engine.relu, x, labels, parameters)
        loss.backward()
        with engine.no_grad():
            for parameter in parameters:
                parameter -= RATE * parameter.grad
                parameter.grad = None
        return loss

    def run() -> list[np.ndarray]:
        loss = step()
        return [loss.detach().numpy(), *(p.detach().numpy() for p in parameters)]

    return run


ENGINES = engines.training(_training)


def functional(points: int = POINTS) -> tuple[peers.Function, list[np.ndarray], float]:
    """The loss as a function of an engine with NumPy's names and of the parameters; the initial
    parameters; and the rate.
    """
    x, labels, initial = data(points)
    return lambda _, parameters: _loss(peers.relu, x, labels, parameters), initial, RATE


WORKLOADS = (
    Workload(
        name="two_moons",
        title=(
            f"{'-'.join(map(str, SIZES))} network on two moons, maximum-margin loss, weight decay,"
            f" float32, {POINTS} points"
        ),
        unit="one step of gradient descent on the full batch",
        peers={
            **ENGINES,
            **peers.descending(functional),
        },
        tolerance=1e-3,
    ),
)
