"""One training step of document 000's convolutional network: 28 x 28 images, batch 64, cross
entropy, SGD with momentum.

    conv 3x3 to 32 channels, relu, batch norm, max pool 3x3; two conv 3x3 to 16 channels side by
    side; relu, batch norm, average pool 3x3; linear to 10 classes

All pools have stride 1, so all images keep their size. The same lines run in every engine, with the
engine's own layers and optimiser, from the same parameters. Images are random.

The rate lets the loss fall. At 0.01 it rises from 3 to 200 within seven steps, and a tenth of the
probabilities are denormal numbers, with which OpenBLAS multiplies 20 times as slowly.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks import engines, peers
from benchmarks.harness import Run, Workload

BATCH = 64
RATE, MOMENTUM = 0.0001, 0.9


def build(engine: Any, batch: int, device: str = "cpu") -> tuple[Any, Any, Any]:
    """The network with parameters from a fixed seed, images (batch, 1, 28, 28) float32 and
    labels (batch,).
    """
    nn = engine.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(1, 32, 3, padding=1, bias=False)
            self.norm1 = nn.BatchNorm2d(32)
            self.left, self.right = nn.Conv2d(32, 16, 3, padding=1), nn.Conv2d(32, 16, 3, padding=1)
            self.norm2 = nn.BatchNorm2d(32)
            self.largest, self.average = (
                nn.MaxPool2d(3, 1, padding=1),
                nn.AvgPool2d(3, 1, padding=1),
            )
            self.linear = nn.Linear(32 * 28 * 28, 10)

        def forward(self, x: Any) -> Any:
            x = self.largest(self.norm1(engine.relu(self.first(x))))
            x = engine.cat([self.left(x), self.right(x)], 1)
            x = self.average(self.norm2(engine.relu(x)))
            return self.linear(x.flatten(1))

    random = np.random.default_rng(0)
    model = Network()
    with engine.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            values = (
                random.uniform(-1, 1, tuple(parameter.shape))
                / max(1, np.prod(parameter.shape[1:])) ** 0.5
            )
            parameter.copy_(
                engine.tensor(values.astype(np.float32)) + (1.0 if parameter.ndim == 1 else 0.0)
            )
    images, labels = (
        engine.tensor(random.random((batch, 1, 28, 28)).astype(np.float32)),
        engine.tensor(random.integers(0, 10, batch)),
    )
    return model.to(device), images.to(device), labels.to(device)


def training(
    engine: Any,
    batch: int = BATCH,
    compile: Any = lambda step: step,
    device: str = "cpu",
    channels_last: bool = False,
) -> Run:
    """One step a run, which ends when the loss is known on the host. channels_last: PyTorch's
    layout in which the channels of a pixel lie together."""
    model, images, labels = build(engine, batch, device)
    if channels_last:
        model = model.to(memory_format=engine.channels_last)
        images = images.to(memory_format=engine.channels_last)
    optimizer = engine.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    loss_of = engine.nn.functional.cross_entropy

    @compile
    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    def run() -> list[np.ndarray]:
        return [step().detach().cpu().numpy()]

    return run


def jax(batch: int = BATCH) -> Run:
    """The step in JAX, with the channels of a pixel together, as in its users' layers. A step gives
    the means and variances too, for the running statistics."""
    from jax import lax, nn
    from jax import numpy as engine

    import minigrad

    model, images, labels = build(minigrad, batch)
    parameters = {name: p.detach().numpy().copy() for name, p in model.named_parameters()}
    for name, values in parameters.items():
        if values.ndim == 4:
            parameters[name] = values.transpose(2, 3, 1, 0)
    parameters["linear.weight"] = (
        parameters["linear.weight"].reshape(10, 32, 28, 28).transpose(2, 3, 1, 0).reshape(-1, 10)
    )

    def convolved(x: Any, weight: Any) -> Any:
        return lax.conv_general_dilated(
            x, weight, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def pooled(x: Any, start: float, function: Any) -> Any:
        return lax.reduce_window(x, start, function, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")

    def normalized(x: Any, weight: Any, bias: Any) -> tuple[Any, tuple[Any, Any]]:
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return (x - mean) * (lax.rsqrt(variance + 1e-5) * weight) + bias, (mean, variance)

    def loss(p: Any, images: Any, labels: Any) -> Any:
        x = nn.relu(convolved(images, p["first.weight"]))
        x, first = normalized(x, p["norm1.weight"], p["norm1.bias"])
        x = pooled(x, -engine.inf, lax.max)
        sides = [
            convolved(x, p[f"{side}.weight"]) + p[f"{side}.bias"] for side in ("left", "right")
        ]
        x = nn.relu(engine.concatenate(sides, 3))
        x, second = normalized(x, p["norm2.weight"], p["norm2.bias"])
        x = pooled(x, 0.0, lax.add) / 9
        scores = nn.log_softmax(x.reshape(len(x), -1) @ p["linear.weight"] + p["linear.bias"])
        picked = engine.take_along_axis(scores, labels[:, None], 1)
        return -picked.mean(), (first, second)

    def update(_: Any, p: Any, gradient: Any, velocity: Any) -> tuple[Any, Any]:
        velocity = MOMENTUM * velocity + gradient
        return p - RATE * velocity, velocity

    inputs = images.numpy().transpose(0, 2, 3, 1), labels.numpy()
    return peers.jax_training(loss, parameters, inputs, update, 1)


ENGINES = engines.training(training)
WORKLOADS = (
    Workload(
        name="cnn_step",
        title=(
            "Training step of a network with 3 convolutions, 2 batch norms, 2 pools, 1 linear"
            f" layer, float32, {BATCH} images of 28 x 28"
        ),
        unit="one step of SGD with momentum: forward, backward, update",
        peers={
            **ENGINES,
            "torch channels_last": partial(ENGINES["torch"], channels_last=True),
            "jax jit": jax,
        },
        tolerance=1e-3,
    ),
)
