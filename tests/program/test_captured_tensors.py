"""Tensors that a traced function finds outside and changes in place: each run goes on from what
the last one left.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.program import trace

Step = Callable[[mg.Tensor], mg.Tensor]


def cotangent() -> Step:
    """Read first as the seed of a backward pass, and as it is: no operation has it as an
    operand.
    """
    seed = mg.tensor([1.0, 2.0, 3.0])

    def step(x: mg.Tensor) -> mg.Tensor:
        (x + 0).backward(seed)
        seed.add_(1.0)
        return x.grad * 1

    return step


def cotangent_of_a_sum() -> Step:
    """A number, which the sum's rule spreads."""
    seed = mg.tensor(2.0)

    def step(x: mg.Tensor) -> mg.Tensor:
        (g,) = mg.autograd.grad((x * x).sum(), x, seed)
        seed.mul_(2)
        return g

    return step


def index() -> Step:
    order = mg.tensor([0, 1, 2])

    def step(x: mg.Tensor) -> mg.Tensor:
        y = (x * mg.tensor([1.0, 2.0, 3.0]))[order]
        order.copy_((order + 1) % 3)
        return y

    return step


def index_to_write_at() -> Step:
    order = mg.tensor([0, 1])

    def step(x: mg.Tensor) -> mg.Tensor:
        y = x.clone()
        y[order] = mg.tensor([5.0, 7.0])
        order.add_(1).remainder_(3)
        return y

    return step


def window() -> Step:
    """Used whole, changed through a window that is found outside too."""
    scale = mg.tensor([1.0, 2.0, 3.0])
    end = scale[1:]

    def step(x: mg.Tensor) -> mg.Tensor:
        (g,) = mg.autograd.grad(x + 0, x, scale)
        end.mul_(2)
        return g

    return step


class Holder:
    """An object with a tensor."""

    def __init__(self) -> None:
        self.seed = mg.tensor([1.0, 2.0, 3.0])

    def __call__(self, x: mg.Tensor) -> mg.Tensor:
        (x + 0).backward(self.seed)
        self.seed.add_(1.0)
        return x.grad * 1


def gradient_overwritten() -> Step:
    """The seed becomes the gradient; what happens to the gradient does not happen to the seed."""
    seed = mg.tensor([1.0, 2.0, 3.0])

    def step(x: mg.Tensor) -> mg.Tensor:
        x.view(3).backward(seed)
        x.grad.mul_(2)
        return x.grad * 1

    return step


MAKERS = [
    cotangent,
    cotangent_of_a_sum,
    index,
    index_to_write_at,
    window,
    Holder,
    gradient_overwritten,
]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_a_changed_tensor_is_read_again(make: Callable[[], Any]) -> None:
    """Replays give what the plain function gives, whose first call is the recorded one."""

    def x() -> mg.Tensor:
        return mg.tensor([1.0, 1.0, 1.0], requires_grad=True)

    eager, traced = make(), make()
    eager(x())
    program = trace(traced, x())
    for _ in range(4):
        assert np.array_equal(program(x()).detach().numpy(), eager(x()).detach().numpy()), str(
            program
        )


def test_a_leaf_that_is_not_used_gets_no_gradient() -> None:
    """What can be found, and is not used, is no part of the program."""
    w, unused, aside = (
        mg.tensor(2.0, requires_grad=True),
        mg.tensor(3.0, requires_grad=True),
        mg.tensor(4.0),
    )
    held = [unused, aside]

    def loss(x: mg.Tensor) -> mg.Tensor:
        assert held
        return w * x

    program = trace(loss, mg.tensor(5.0), backward=True)
    _, gradients = program(mg.tensor(5.0))
    assert set(gradients) == {"w"} and "unused" not in str(program) and len(program.constants) == 1
