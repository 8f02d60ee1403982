"""What a replay leaves behind is written by generated lines: the same as an ordinary call leaves,
whole even if it is interrupted.
"""

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim
from minigrad.program.bindings import StateBinding

X = mg.tensor(np.arange(12, dtype="float32").reshape(4, 3) / 10)


def training(compiled: bool) -> tuple[Any, Any, Any]:
    mg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
    optimizer = optim.Adam(model.parameters(), 0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, mg.compile(step) if compiled else step


def left(model: Any, optimizer: Any) -> list[Any]:
    """Parameters, gradients, version counts, and the optimiser's state."""
    arrays = [t.detach().numpy().tolist() for p in model.parameters() for t in (p, p.grad)]
    counts = [t._version for p in model.parameters() for t in (p, p.grad)]
    states = [
        {k: np.asarray(v).tolist() for k, v in optimizer.state[id(p)].items()}
        for p in model.parameters()
    ]
    return [arrays, counts, states]


@pytest.mark.parametrize("at", [0, 3, 7])
def test_an_interrupt_leaves_nothing_half_done(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """It passes when all is written, and no version is counted twice."""
    plain, compiled = training(False), training(True)
    for _ in range(6):
        for _, _, step in (plain, compiled):
            step(X)
    write, calls = StateBinding.write, []

    def interrupted(self: StateBinding, values: Any) -> None:
        calls.append(self.name)
        if len(calls) == at + 1:
            raise KeyboardInterrupt
        write(self, values)

    monkeypatch.setattr(StateBinding, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled[2](X)
    plain[2](X)
    assert len(calls) == at + 1 + 8
    assert left(*compiled[:2]) == left(*plain[:2])
    compiled[2](X)
    plain[2](X)
    assert left(*compiled[:2]) == left(*plain[:2])
    assert compiled[2].statistics["replayed"] == 4, "the interrupted call is not counted"


def test_tensors_of_one_memory_are_counted_for_each_write() -> None:
    """A view and its base share a counter: both writes count, and the results are new memory."""
    results = []
    for compiled in (False, True):
        base = mg.zeros(2, 3)
        row = base[0]

        def step(x: Any, base: Any = base, row: Any = row) -> Any:
            row.add_(x)
            base.mul_(2.0)
            return base * 1, row.detach().clone()

        step = mg.compile(step) if compiled else step
        seen = []
        for k in range(6):
            a, b = step(mg.full((3,), float(k)))
            seen.append([a.tolist(), b.tolist(), base._version, row._version, base.tolist()])
        results.append(seen)
    assert results[0] == results[1]
