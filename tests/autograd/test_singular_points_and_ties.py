"""Ties, zeros and running statistics by numbers known beforehand, and the manners of backward.
tests/arrays, tests/nn and tests/ops compare singular points with PyTorch.
"""

import threading

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.graph import state
from minigrad.errors import AutogradError, InPlaceError, ShapeError


def gradient(f, *values):
    leaves = [mg.tensor(v, dtype=mg.float64, requires_grad=True) for v in values]
    f(*leaves).sum().backward()
    grads = [x.grad.tolist() for x in leaves]
    return grads[0] if len(grads) == 1 else grads


def test_ties_split_the_gradient_or_give_it_to_the_first():
    assert gradient(lambda x: x.amax(), [1.0, 3.0, 3.0]) == [0, 0.5, 0.5]
    assert gradient(mg.maximum, [2.0], [2.0]) == [[0.5], [0.5]]
    assert gradient(lambda x: x.max(0)[0], [3.0, 3.0]) == [1, 0]


def test_zeros_are_gradients_too():
    assert gradient(lambda x: x.round(), [0.5]) == [0]
    assert gradient(lambda x: x.floor() * 1, [0.5]) == [0]


def test_batch_norm_divides_by_n_and_remembers_n_minus_one():
    x = mg.tensor([[1.0], [3.0]], requires_grad=True)
    mean, var = mg.zeros(1), mg.ones(1)
    y = mg.nn.functional.batch_norm(x, mean, var, training=True, momentum=1.0, eps=1e-300)
    assert y.tolist() == [[-1.0], [1.0]] and mean.tolist() == [2.0] and var.tolist() == [2.0]
    (g,) = mg.autograd.grad(
        mg.nn.functional.batch_norm(x, mean, var, training=False, eps=1e-300).sum(), x
    )
    assert g.tolist() == [[pytest.approx(2**-0.5)], [pytest.approx(2**-0.5)]]


# ------------------------------------------------------------------------------ manners of backward


def test_backward_inside_a_backward_rule():
    class Inner(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            with mg.enable_grad():
                (x,) = ctx.saved_tensors
                again = x.detach().requires_grad_()
                (again**3).sum().backward()
            return g * again.grad

    x = mg.tensor([2.0, 3.0], requires_grad=True)
    Inner.apply(x * 1).sum().backward()
    assert x.grad.tolist() == [12, 27]


def test_changes_that_only_the_user_knows_of_can_be_counted():
    memory = np.ones(2)
    x = mg.from_numpy(memory)
    w = mg.ones(2, dtype=mg.float64, requires_grad=True)
    y = (w * x).sum()
    memory[:] = 5
    mg.autograd.graph.increment_version(x)
    with pytest.raises(InPlaceError, match="version 1"):
        y.backward()
    with pytest.raises(TypeError, match="list"):
        mg.autograd.graph.increment_version([[1.0]])


def test_levels_of_forward_mode_by_hand():
    fwad = mg.autograd.forward_ad
    outer = fwad.enter_dual_level()
    try:
        y = fwad.make_dual(mg.tensor(3.0), mg.tensor(1.0)) ** 2
        assert fwad.unpack_dual(y).tangent.item() == 6
        with fwad.dual_level(), pytest.raises(AutogradError, match="innermost"):
            fwad.exit_dual_level()
    finally:
        fwad.exit_dual_level(level=outer)
    with pytest.raises(AutogradError, match="innermost"):
        fwad.exit_dual_level()


def test_levels_opened_by_hand_belong_to_a_thread():
    """Another thread opens a level while this one's is open, and can close only its own."""
    fwad = mg.autograd.forward_ad
    opened, closing, seen = threading.Event(), threading.Event(), []

    def work():
        with pytest.raises(AutogradError, match="innermost"):
            fwad.exit_dual_level()
        fwad.enter_dual_level()
        opened.set()
        closing.wait(10)
        y = fwad.make_dual(mg.tensor(3.0), mg.tensor(1.0)) ** 2
        fwad.exit_dual_level()
        seen.append((fwad.unpack_dual(y).tangent, state.levels))

    outer = fwad.enter_dual_level()
    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert opened.wait(10) and state.levels == (outer,)
    finally:
        fwad.exit_dual_level()
        closing.set()
        thread.join()
    assert seen == [(None, ())] and state.levels == ()


def test_view_of_memory_in_another_order_is_refused():
    with pytest.raises(ShapeError, match="reshape"):
        mg.ones(2, 3).t().view(6)
