"""Backward passes inside the hooks and Functions of other backward passes."""

import sys
import threading

import pytest

import minigrad as mg
from minigrad import recursion
from minigrad.errors import AutogradError


def through_hooks(depth):
    """The gradient of a leaf to which `depth` passes add 1, each inside a hook of the one
    before.
    """
    x = mg.tensor([1.0], requires_grad=True)
    left = [depth]

    def hook(g):
        left[0] -= 1
        if left[0]:
            start()
        return g

    def start():
        with mg.enable_grad():
            y = x.sum()
            y.register_hook(hook)
            y.backward()

    start()
    return x.grad.item()


class Inner(mg.autograd.Function):
    """2 x, whose backward differentiates the function of the next level."""

    @staticmethod
    def forward(ctx, x, levels):
        ctx.levels = levels
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        if not ctx.levels:
            return g * 2, None
        (x,) = ctx.saved_tensors
        with mg.enable_grad():
            z = x.detach().requires_grad_()
            Inner.apply(z, ctx.levels - 1).sum().backward()
        return z.grad * g, None


def through_functions(depth):
    x = mg.tensor([1.0], requires_grad=True)
    Inner.apply(x, depth).sum().backward()
    return x.grad.item()


def test_passes_inside_passes():
    """300 of them, in the main thread and in another one, and the limit of recursion is what it
    was.
    """
    limit = sys.getrecursionlimit()
    assert through_hooks(300) == 300 and through_functions(300) == 2
    found = []
    thread = threading.Thread(
        target=lambda: found.append((through_hooks(300), through_functions(300)))
    )
    thread.start()
    thread.join()
    assert found == [(300, 2)] and sys.getrecursionlimit() == limit


def test_a_chain_without_an_end_is_a_clear_error(monkeypatch):
    limit = sys.getrecursionlimit()
    monkeypatch.setattr(recursion, "MOST_INNER_PASSES", 100)
    assert through_hooks(101) == 101  # one pass, and 100 inside one another in it
    with pytest.raises(
        AutogradError, match=r"run inside one another\. A hook .* calls backward.*End the chain"
    ):
        through_hooks(102)
    assert sys.getrecursionlimit() == limit and mg.is_grad_enabled()
    assert through_hooks(3) == 3
