"""One function answers whether a replay may run: yes in each ordinary call, and no to whatever a
guard, a type or a layout forbids.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim
from minigrad.program import EagerWarning
from minigrad.program.arguments import Arguments

X = mg.tensor(np.arange(9, dtype="float32").reshape(3, 3) / 10)


class Step:
    """A training step whose pieces can be changed from outside."""

    def __init__(self, optimizer: Any = optim.Adam) -> None:
        mg.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
        self.optimizer = optimizer(self.model.parameters(), 0.1)
        self.factors, self.table = [1.0, 2.0], {"shift": 0.5}
        self.frozen = mg.ones(3, 3)

        def step(x: Any) -> Any:
            self.optimizer.zero_grad()
            loss = (self.model(x) @ self.frozen * self.factors[0] + self.table["shift"]).sum()
            loss.backward()
            self.optimizer.step()
            return loss

        self.plain, self.compiled = step, mg.compile(step)

    def is_ready(self, *args: Any) -> bool:
        """Whether the one function of a program says yes to these arguments."""
        arguments = Arguments(args, {})
        variants = self.compiled._variants.get(arguments.key, [])
        return any(v.values(arguments.tensors) is not None for v in variants)


def _share(step: Step) -> None:
    step.model[0].weight.data = step.model[2].weight.data


def _turn(step: Step) -> None:
    with mg.no_grad():
        step.model[0].weight.data = step.model[0].weight.data.T.contiguous().T


def _replace_state(step: Step) -> None:
    weight = step.model[0].weight
    step.optimizer.state[id(weight)] = {
        k: v.copy() if hasattr(v, "copy") else v
        for k, v in step.optimizer.state[id(weight)].items()
    }


CHANGES: dict[str, Callable[[Step], Any]] = {
    "a number in a list": lambda s: s.factors.__setitem__(0, 3.0),
    "a longer list": lambda s: s.factors.append(1.0),
    "a value in a dictionary": lambda s: s.table.update(shift=1.0),
    "another key": lambda s: s.table.update(other=1.0),
    "an attribute": lambda s: setattr(s, "factors", [5.0, 2.0]),
    "the mode of a layer": lambda s: s.model.eval(),
    "the code": lambda s: setattr(s.plain, "__code__", s.plain.__code__.replace(co_name="s")),
    "an attribute of the function": lambda s: setattr(s.plain, "note", 1.0),
    "a setting": lambda s: s.optimizer.param_groups[0].update(weight_decay=0.1),
    "a hook": lambda s: s.model[0].weight.register_hook(lambda g: g * 2),
    "a hook after the gradient": lambda s: s.model[
        0
    ].weight.register_post_accumulate_grad_hook(lambda p: None),
    "no gradient": lambda s: setattr(s.model[0].weight, "grad", None),
    "a leaf that is none": lambda s: s.model[0].weight.requires_grad_(False),
    "a leaf more": lambda s: s.frozen.requires_grad_(),
    "another array": lambda s: setattr(
        s.model[0].weight, "data", s.model[0].weight.data.clone()
    ),
    "other strides": _turn,
    "other strides of what is only read": lambda s: setattr(
        s.frozen, "data", mg.ones(3, 6)[:, ::2]
    ),
    "one memory": _share,
    "another state": _replace_state,
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_it_says_yes_until_something_changes(change: str) -> None:
    """And what follows is what the plain function gives."""
    plain, step = Step(), Step()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)
        for _ in range(6):
            assert plain.plain(X).item() == step.compiled(X).item()
        assert step.is_ready(X)
        for one in (plain, step):
            CHANGES[change](one)
        assert not step.is_ready(X)
        for _ in range(3):
            assert plain.plain(X).item() == step.compiled(X).item()


def test_it_says_no_to_arguments_that_share_memory() -> None:
    step = Step(optim.SGD)
    for _ in range(6):
        step.compiled(X)
    assert step.is_ready(X) and step.is_ready(X.clone())
    assert not step.is_ready(step.frozen), "an argument that is found outside"
    assert not step.is_ready(step.model[0].weight.detach()), "memory that is written"

    @mg.compile
    def both(a: Any, b: Any) -> Any:
        a.add_(1.0)
        return a * b

    for _ in range(6):
        both(mg.ones(3), mg.ones(3))
    step.compiled = both
    a = mg.ones(6)
    assert step.is_ready(mg.ones(3), mg.ones(3))
    assert not step.is_ready(a[:3], a[3:]) and not step.is_ready(a[:3], a[:3])


def test_it_is_not_written_in_each_call_that_brings_other_objects() -> None:
    """Equal values in new objects are right, and cost the long way."""
    step = Step(optim.SGD)
    for i in range(40):
        step.table["shift"] = float(f"{0.5 + 0 * i}")
        step.compiled(X)
    assert step.compiled.statistics == {"eager": 1, "recorded": 2, "replayed": 37}


def test_gradients_of_replays_share_no_memory() -> None:
    """With each other, with a result, or with those of the next replay, though not all of them are
    copied."""
    p, q = (mg.tensor(np.ones(3, "float32"), requires_grad=True) for _ in range(2))

    @mg.compile
    def step(x: Any) -> Any:
        p.grad = q.grad = None
        y = (p * x).sum() + (q * x).sum()
        y.backward()
        return p.grad * 1, p.grad[:2].detach().clone()

    seen: list[Any] = []
    for i in range(8):
        results = step(mg.tensor(np.full(3, float(i), "float32")))
        seen += [*(t.numpy() for t in results), p.grad.numpy(), q.grad.numpy()]
        assert all((array == i).all() for array in seen[-4:])
    assert (seen[-8] == 6).all() and step.statistics["replayed"] == 5
    for k, array in enumerate(seen):
        assert not any(np.may_share_memory(array, other) for other in seen[k + 1 :])
