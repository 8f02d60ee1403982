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

from benchmarks import engines
from benchmarks.harness import Run, Workload

CLASSES = 10


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
            self.attention = nn.MultiheadAttention(64, 4, batch_first=True)
            self.norm1, self.norm2 = nn.LayerNorm(64), nn.LayerNorm(64)
            self.network = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
            self.out = nn.Linear(64, CLASSES)

        def forward(self, x: Any) -> Any:
            x = self.norm1(x + self.attention(x, x, x, need_weights=False)[0])
            x = self.norm2(x + self.network(x))
            return self.out(x.mean(1))

    return Network(), (8, 32, 64)


MODELS = {"lstm": _lstm, "transformer": _transformer}


def _training(engine: Any, name: str, compile: Any = lambda step: step) -> Run:
    model, shape = MODELS[name](engine)
    random = np.random.default_rng(0)
    with engine.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            parameter.copy_(
                engine.tensor(random.uniform(-0.2, 0.2, tuple(parameter.shape)).astype(np.float32))
            )
    x = engine.tensor(random.normal(size=shape).astype(np.float32))
    labels = engine.tensor(random.integers(0, CLASSES, shape[0]))
    optimizer = engine.optim.Adam(model.parameters(), lr=1e-3)

    @compile
    def step() -> Any:
        optimizer.zero_grad()
        loss = engine.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return lambda: [step().detach().numpy()]


ENGINES = engines.training(_training)
WORKLOADS = tuple(
    Workload(
        name=f"{name}_step",
        title=f"Training step of {what}, float32",
        unit="one step of Adam: forward, backward, update",
        peers={engine: partial(build, name) for engine, build in ENGINES.items()},
        tolerance=1e-3,
    )
    for name, what in (
        ("lstm", "an LSTM with 32 units on 16 sequences of 20 steps"),
        ("transformer", "a transformer block of width 64 with 4 heads on 8 sequences of 32 steps"),
    )
)
