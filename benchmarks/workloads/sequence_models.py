"""Training steps of two sequence models: an LSTM that goes step by step, and a transformer block
that sees the whole sequence at once.

    LSTM         16 sequences of 20 steps of 16 numbers, 32 hidden units, the last state to 10
                 classes
    transformer  8 sequences of 32 steps of 64 numbers, 4 heads; attention and a 64-128-64 network,
                 each with a residual and layer norm

The same lines run in every engine, with the engine's own layers and Adam, from the same parameters;
dropout is off.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks import engines, peers
from benchmarks.harness import Run, Workload

CLASSES, HEADS, RATE = 10, 4, 1e-3


def _lstm(engine: Any) -> tuple[Any, tuple[int, ...]]:
    nn = engine.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.out = nn.LSTM(16, 32, batch_first=True), nn.Linear(32, CLASSES)

        def forward(self, x: Any) -> Any:
            return self.out(self.lstm(x)[0][:, -1])

    return Network(), (16, 20, 16)


def _transformer(engine: Any) -> tuple[Any, tuple[int, ...]]:
    nn = engine.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(64, HEADS, batch_first=True)
            self.norm1, self.norm2 = nn.LayerNorm(64), nn.LayerNorm(64)
            self.network = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
            self.out = nn.Linear(64, CLASSES)

        def forward(self, x: Any) -> Any:
            x = self.norm1(x + self.attention(x, x, x, need_weights=False)[0])
            x = self.norm2(x + self.network(x))
            return self.out(x.mean(1))

    return Network(), (8, 32, 64)


MODELS = {"lstm": _lstm, "transformer": _transformer}


def _problem(engine: Any, name: str) -> tuple[Any, Any, Any]:
    """The model with parameters from a fixed seed, its input and labels."""
    model, shape = MODELS[name](engine)
    random = np.random.default_rng(0)
    with engine.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            parameter.copy_(
                engine.tensor(random.uniform(-0.2, 0.2, tuple(parameter.shape)).astype(np.float32))
            )
    x = engine.tensor(random.normal(size=shape).astype(np.float32))
    return model, x, engine.tensor(random.integers(0, CLASSES, shape[0]))


def _training(engine: Any, name: str, compile: Any = lambda step: step) -> Run:
    model, x, labels = _problem(engine, name)
    optimizer = engine.optim.Adam(model.parameters(), lr=RATE)

    @compile
    def step() -> Any:
        optimizer.zero_grad()
        loss = engine.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return lambda: [step().detach().numpy()]


def _lstm_in_jax(p: Any, x: Any) -> Any:
    """The class scores, with a loop that the compiler keeps."""
    from jax import lax, nn
    from jax import numpy as engine

    inputs = x.swapaxes(0, 1) @ p["lstm.weight_ih_l0"].T + p["lstm.bias_ih_l0"]

    def step(state: Any, inputs: Any) -> Any:
        hidden, cell = state
        gates = inputs + hidden @ p["lstm.weight_hh_l0"].T + p["lstm.bias_hh_l0"]
        into, forget, new, out = engine.split(gates, 4, 1)
        cell = nn.sigmoid(forget) * cell + nn.sigmoid(into) * engine.tanh(new)
        return (nn.sigmoid(out) * engine.tanh(cell), cell), None

    zeros = engine.zeros((len(x), 32), x.dtype)
    (hidden, _), _ = lax.scan(step, (zeros, zeros), inputs)
    return hidden @ p["out.weight"].T + p["out.bias"]


def _transformer_in_jax(p: Any, x: Any) -> Any:
    """The class scores."""
    from jax import lax, nn

    def linear(x: Any, weight: str, bias: str) -> Any:
        return x @ p[weight].T + p[bias]

    def normalized(x: Any, name: str) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        scale = lax.rsqrt((centered * centered).mean(-1, keepdims=True) + 1e-5)
        return centered * scale * p[f"{name}.weight"] + p[f"{name}.bias"]

    batch, length, width = x.shape
    projected = linear(x, "attention.in_proj_weight", "attention.in_proj_bias")
    parts = projected.reshape(batch, length, 3, HEADS, width // HEADS)
    query, key, value = parts.transpose(2, 0, 3, 1, 4)
    weights = nn.softmax(query @ key.swapaxes(-1, -2) * (width // HEADS) ** -0.5)
    heads = (weights @ value).swapaxes(1, 2).reshape(x.shape)
    heads = linear(heads, "attention.out_proj.weight", "attention.out_proj.bias")
    x = normalized(x + heads, "norm1")
    hidden = nn.gelu(linear(x, "network.0.weight", "network.0.bias"), approximate=False)
    x = normalized(x + linear(hidden, "network.2.weight", "network.2.bias"), "norm2")
    return linear(x.mean(1), "out.weight", "out.bias")


def _jax(name: str) -> Run:
    """The step in JAX, with Adam as Kingma and Ba 2015 give it."""
    from jax import nn
    from jax import numpy as engine

    import minigrad

    model, x, labels = _problem(minigrad, name)
    parameters = {path: p.detach().numpy().copy() for path, p in model.named_parameters()}
    scores_of = {"lstm": _lstm_in_jax, "transformer": _transformer_in_jax}[name]

    def loss(p: Any, x: Any, labels: Any) -> Any:
        scores = nn.log_softmax(scores_of(p, x))
        return -engine.take_along_axis(scores, labels[:, None], 1).mean(), ()

    def update(number: Any, p: Any, gradient: Any, mean: Any, square: Any) -> tuple[Any, ...]:
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient * gradient
        step = RATE * mean / (1 - 0.9**number)
        return p - step / (engine.sqrt(square / (1 - 0.999**number)) + 1e-8), mean, square

    return peers.jax_training(loss, parameters, (x.numpy(), labels.numpy()), update, 2)


ENGINES = engines.training(_training)
WORKLOADS = tuple(
    Workload(
        name=f"{name}_step",
        title=f"Training step of {what}, float32",
        unit="one step of Adam: forward, backward, update",
        peers={
            **{engine: partial(build, name) for engine, build in ENGINES.items()},
            "jax jit": partial(_jax, name),
        },
        tolerance=1e-3,
    )
    for name, what in (
        ("lstm", "an LSTM with 32 units on 16 sequences of 20 steps"),
        ("transformer", "a transformer block of width 64 with 4 heads on 8 sequences of 32 steps"),
    )
)
