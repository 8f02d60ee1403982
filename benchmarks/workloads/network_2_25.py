"""A small network in plain operations: 2-25-25-25-2 with relu, softmax and mean squared error, and
gradient descent on 1,000 points; and the same network in layers.

Two coordinates in, whether the point lies in a disk out. One run is one epoch on the full batch:
forward, backward and the update of all eight parameters. The same lines run in every engine. In
plain operations no layer, loss or optimiser of any engine is used; in layers each engine's own
Linear, ReLU, Softmax and SGD are, and weights lie as theirs do. The parameters go on from run to
run, so the engines are compared on their first epoch, from the same initial parameters.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks import engines, peers
from benchmarks.harness import Run, Workload

SIZES = (2, 25, 25, 25, 2)
POINTS = 1_000
RATE = 0.1


def data(points: int, dtype: type) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Inputs (points, 2), one-hot targets (points, 2), and weights and biases in turn, from a
    fixed seed.
    """
    random = np.random.default_rng(0)
    x = random.random((points, 2))
    inside = ((x - 0.5) ** 2).sum(1) < 1 / (2 * np.pi)
    parameters = []
    for before, after in pairwise(SIZES):
        bound = np.sqrt(6 / (before + after))  # Glorot and Bengio 2010, equation 16
        parameters += [random.uniform(-bound, bound, (before, after)), np.zeros(after)]
    return (
        x.astype(dtype),
        np.eye(2, dtype=dtype)[inside.astype(int)],
        [p.astype(dtype) for p in parameters],
    )


def _loss(relu: Any, exp: Any, row_sums: Any, x: Any, target: Any, parameters: list[Any]) -> Any:
    """The mean squared error of the network; the same lines for every engine."""
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        x = relu(x @ weight + bias)
    scores = exp(x @ parameters[-2] + parameters[-1])
    difference = scores / row_sums(scores) - target
    return (difference * difference).mean()


def training(
    engine: Any,
    points: int = POINTS,
    dtype: type = np.float32,
    compile: Any = lambda step: step,
    device: str = "cpu",
) -> Run:
    """One epoch a run. On another device than the CPU it gives the loss alone: a run ends when
    that is known on the host.
    """
    inputs, targets, initial = data(points, dtype)
    x, target = engine.tensor(inputs, device=device), engine.tensor(targets, device=device)
    parameters = [engine.tensor(p, device=device, requires_grad=True) for p in initial]

    @compile
    def step() -> Any:
        loss = _loss(
            engine.relu,
            engine.exp,
            lambda scores: scores.sum(1, keepdim=True),
            x,
            target,
            parameters,
        )
        loss.backward()
        with engine.no_grad():
            for parameter in parameters:
                parameter -= RATE * parameter.grad
                parameter.grad = None
        return loss

    def epoch() -> list[np.ndarray]:
        loss = step()
        if device != "cpu":
            return [loss.detach().cpu().numpy()]
        return [loss.detach().numpy(), *(p.detach().numpy() for p in parameters)]

    return epoch


def layers(engine: Any, compile: Any = lambda step: step) -> Run:
    """One epoch a run, with the engine's layers and optimiser."""
    nn = engine.nn
    inputs, targets, initial = data(POINTS, np.float32)
    x, target = engine.tensor(inputs), engine.tensor(targets)
    made: list[Any] = []
    for before, after in pairwise(SIZES):
        made += [nn.Linear(before, after), nn.ReLU()]
    model = nn.Sequential(*made[:-1], nn.Softmax(1))
    parameters = list(model.parameters())
    with engine.no_grad():
        for parameter, values in zip(parameters, initial, strict=True):
            parameter.copy_(engine.tensor(np.ascontiguousarray(values.T)))
    optimizer = engine.optim.SGD(parameters, lr=RATE)

    @compile
    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()
        return loss

    return lambda: [step().detach().numpy(), *(p.detach().numpy() for p in parameters)]


ENGINES = engines.training(training)


def functional(
    points: int = POINTS, dtype: type = np.float32
) -> tuple[peers.Function, list[np.ndarray], float]:
    """The loss as a function of an engine with NumPy's names and of the parameters; the initial
    parameters; and the rate.
    """
    x, target, initial = data(points, dtype)

    def loss(engine: Any, parameters: list[Any]) -> Any:
        return _loss(
            peers.relu,
            engine.exp,
            lambda scores: scores.sum(1, keepdims=True),
            x,
            target,
            parameters,
        )

    return loss, initial, RATE


TITLE = f"{'-'.join(map(str, SIZES))} network, relu, softmax, mean squared error"
UNIT = "one epoch of gradient descent on the full batch"
# The last bias's gradient is a sum of 1,000 float32 terms that nearly cancel. In float64 a test
# asks for 1e-11.
TOLERANCE = 1e-3
WORKLOADS = (
    Workload(
        name="network_2_25",
        title=f"{TITLE} in plain operations, float32, {POINTS:,} points",
        unit=UNIT,
        peers={
            **ENGINES,
            **peers.descending(functional),
        },
        tolerance=TOLERANCE,
    ),
    Workload(
        name="network_2_25_layers",
        title=f"{TITLE}, SGD, in layers, float32, {POINTS:,} points",
        unit=UNIT,
        peers=engines.training(layers),
        tolerance=TOLERANCE,
    ),
)
