"""Derivatives of derivatives: by create_graph, by nesting, with respect to inputs, parameters
and cotangents.
"""

from contextlib import nullcontext

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.known_answers import Scenarios

s = Scenarios()

SMOOTH = {
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "tan": lambda x: x.tan(),
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(),
    "rsqrt": lambda x: x.rsqrt(),
    "reciprocal": lambda x: x.reciprocal(),
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "cube": lambda x: x**3,
    "power": lambda x: x**2.5,
    "quotient": lambda x: (1 + x) / (2 + x * x),
    "product": lambda x: x * x.sin() * x.exp(),
    "asin": lambda x: x.asin(),
    "atan": lambda x: x.atan(),
    "sinh": lambda x: x.sinh(),
    "asinh": lambda x: x.asinh(),
    "log1p": lambda x: x.log1p(),
    "expm1": lambda x: x.expm1(),
    "erf": lambda x: x.erf(),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_three_derivatives_against_differences(name):
    """Each derivative is the slope of the one before it."""
    step = 1e-5
    f = SMOOTH[name]

    def nth(n, at):
        x = mg.tensor(at, requires_grad=True)
        y = f(x)
        for _ in range(n):
            (y,) = mg.autograd.grad(y.sum(), x, create_graph=True)
        return y.detach().numpy()

    at = np.array([0.3, 0.5, 0.7])
    for n in range(3):
        slope = (nth(n, at + step) - nth(n, at - step)) / (2 * step)
        assert np.allclose(nth(n + 1, at), slope, rtol=1e-5, atol=1e-6), f"derivative {n + 1}"


@s.gives([2.0, 4.0])
def second_derivative_by_backward(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    (x**3 / 3).sum().backward(create_graph=True)
    g = x.grad
    x.grad = None
    g.sum().backward()
    return x.grad


@s.gives([[0.5, 2.0], [3.0, 3.0]])
def with_respect_to_the_cotangent(m):
    """g = Jᵀ u is linear in u: its derivative by u is J, whatever u is."""
    x = m.tensor([0.5, 2.0], requires_grad=True)
    u = m.tensor([7.0, 9.0], requires_grad=True)
    (g,) = m.autograd.grad(x * x / 2, x, u, create_graph=True)
    by_u = m.autograd.grad(g.sum(), u, retain_graph=True)[0]
    by_weighted = m.autograd.grad((g * 3 / x).sum(), u)[0]
    return by_u, by_weighted


@s.gives([[1.2, 1.6], [2.88, 5.12]])
def a_gradient_penalty(m):
    """loss = (‖∂f/∂x‖ - 1)² for f = w·x², differentiated by w and by x."""
    x = m.tensor([0.5, 0.5], dtype=m.float64, requires_grad=True)
    w = m.tensor([1.2, 1.6], dtype=m.float64, requires_grad=True)
    (g,) = m.autograd.grad((w * x * x).sum(), x, create_graph=True)
    penalty = ((g * g).sum().sqrt() - 1) ** 2
    # g = 2wx = w here, ‖g‖ = 2, so the penalty's slope along g is 2 (2 - 1) g / 2 = g
    penalty.backward()
    return w.grad, x.grad


@s.gives([6.0, 0.0, None])
def a_linear_function_has_a_zero_second_derivative(m):
    x = m.tensor(1.0, requires_grad=True)
    w = m.tensor(3.0, requires_grad=True)
    (g,) = m.autograd.grad(x * w * 2, x, create_graph=True)
    second = m.autograd.grad(g, [x], allow_unused=True, retain_graph=True)[0]
    return g.detach(), m.autograd.grad(g, [x], materialize_grads=True)[0], second


@s.gives([[2.0, 3.5], [3.5, 5.0]])
def a_hessian_row_by_row(m):
    a = m.tensor([[2.0, 3.0], [4.0, 5.0]])
    x = m.tensor([1.0, 1.0], requires_grad=True)
    (g,) = m.autograd.grad(0.5 * x @ (a @ x), x, create_graph=True)
    rows = [m.autograd.grad(g[i], x, retain_graph=True)[0] for i in range(2)]
    return m.stack(rows)  # (A + Aᵀ) / 2


@s.gives([48.0, 32.0])
def create_graph_without_retaining(m):
    """create_graph keeps the graph by default; the derivative of the derivative still finds what
    it needs.
    """
    x = m.tensor(2.0, requires_grad=True)
    y = x**4
    (g,) = m.autograd.grad(y, x, create_graph=True)
    (h,) = m.autograd.grad(g, x, create_graph=True)
    return h.detach(), m.autograd.grad(y, x)[0]


@s.gives([[-0.84147098, -0.90929743]])
def through_indexing_and_broadcasting(m):
    x = m.tensor([1.0, 2.0], dtype=m.float64, requires_grad=True)
    y = x[[0, 1, 0]].sin()[None].expand(2, 3)[:, :2].mean(0).sum()
    (g,) = m.autograd.grad(y, x, create_graph=True)
    return m.autograd.grad(g.sum(), x)


@s.gives([0.0, 12.0])
def double_backward_after_an_in_place_operation(m):
    x = m.tensor([1.0, 2.0], dtype=m.float64, requires_grad=True)
    y = x * 1
    y[1] = x[1] ** 3
    (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
    return m.autograd.grad(g.sum(), x)[0]


@s.gives(True)
def rules_record_only_under_create_graph(m):
    """Inside a pass, recording is on exactly if create_graph asked for it, whatever it is
    outside: seen by a hook.
    """
    x = m.tensor(1.0, requires_grad=True)
    modes = []
    x.register_hook(lambda g: modes.append(m.is_grad_enabled()))
    m.autograd.grad(x * x, x)
    m.autograd.grad(x * x, x, create_graph=True)
    y = x * x
    with m.no_grad():
        m.autograd.grad(y, x, create_graph=True)
    return modes == [False, True, True]


test_minigrad, test_pytorch = s.tests()


def test_the_graph_of_a_pass_is_an_ordinary_graph():
    """With create_graph the result has a grad_fn, knows its versions, and complains if what it
    kept is overwritten.
    """
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    u = mg.tensor([1.0, 1.0], requires_grad=True)
    (g,) = mg.autograd.grad(x * x, x, u, create_graph=True)
    assert g.grad_fn is not None
    with mg.no_grad():
        u.add_(1)
    with pytest.raises(mg.errors.InPlaceError, match="version 0"):
        mg.autograd.grad(g.sum(), x)


@pytest.mark.parametrize("fast", [True, False])
def test_one_of_several_results_is_reached_through_a_recorded_backward_pass(fast):
    # g = V diag(2λ) Vᵀ, so ‖g‖² = 4 Σ λ², whose derivative with respect to λ is 8λ.
    a = mg.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=mg.float64, requires_grad=True)
    with nullcontext() if fast else mg.fast.disabled():
        values, vectors = mg.linalg.eigh(a)
        seen = []
        values.register_hook(lambda g: seen.append(g.detach().numpy().copy()))
        (g,) = mg.autograd.grad((values * values).sum(), a, create_graph=True)
        by_values, by_vectors = mg.autograd.grad((g * g).sum(), (values, vectors))
    np.testing.assert_allclose(by_values.numpy(), 8 * values.detach().numpy())
    assert by_vectors.shape == (2, 2)
    np.testing.assert_allclose(seen[1], by_values.numpy())


def test_a_result_overwritten_between_two_backward_passes_is_noticed():
    a = mg.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    values, vectors = mg.linalg.eigh(a)
    (g,) = mg.autograd.grad(values.square().sum() + vectors.sum(), a, create_graph=True)
    vectors.detach().mul_(2)
    with pytest.raises(mg.errors.InPlaceError, match="modified in place"):
        mg.autograd.grad(g.square().sum(), values)


def test_the_sum_of_the_seeds_of_one_root_is_recorded_where_the_pass_is():
    """create_graph decides what is recorded, also where recording is off outside."""
    x = mg.tensor(2.0, requires_grad=True)
    seeds = [mg.tensor(value, requires_grad=True) for value in (1.0, 3.0)]
    y = x * x
    with mg.no_grad():
        (g,) = mg.autograd.grad([y, y], [x], seeds, create_graph=True)
    assert [float(d) for d in mg.autograd.grad(g, seeds)] == [4.0, 4.0]
