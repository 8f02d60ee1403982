"""Reverse mode visits each node once, after all its cotangents have arrived, and does no work
that was not asked for.
"""

import re
import threading

import numpy as np
import pytest

import minigrad as mg
from minigrad import observers
from minigrad.errors import (
    AutogradError,
    GraphFreedError,
    InPlaceError,
    NoGradientError,
    NonScalarError,
    ShapeError,
    UnusedInputError,
)
from tests.helpers.known_answers import Scenarios

s = Scenarios()


class Count:
    """An observer that counts what the engine did, by phase and operation."""

    def __init__(self):
        self.seen = []

    def begin(self, event):
        if event.phase in ("forward", "backward"):
            self.seen.append((event.phase, event.primitive.name, event.node))

    def end(self, event):
        pass

    def pulls(self):
        return [name for phase, name, _ in self.seen if phase == "backward"]


def pulls_of(work):
    with observers.observing(Count()) as count:
        work()
    return count.pulls()


# ----------------------------------------------------------------------------------------- diamonds


@s.gives([11.0])
def a_diamond_adds_its_paths(m):
    x = m.tensor([2.0], requires_grad=True)
    y = x * 3  # y is used twice
    (y + y * y / 9 + x * x).sum().backward()  # d/dx (3x + x² + x²) = 3 + 4x
    return x.grad


@s.gives([6.0, 12.0])
def one_operand_twice(m):
    x = m.tensor([3.0, 6.0], requires_grad=True)
    (x * x).sum().backward()
    return x.grad


@s.gives(1024.0)
def exponentially_many_paths(m):
    x = m.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(10):
        y = y + y
    y.backward()
    return x.grad


@s.gives([2.0, None, 0.0])
def an_output_that_is_an_input(m):
    x = m.tensor(3.0, requires_grad=True)
    z = m.tensor(3.0, requires_grad=True)
    g = m.autograd.grad([x, x], [x])[0]
    unused = m.autograd.grad(x * 1, [z], allow_unused=True)[0]
    zero = m.autograd.grad(x * 1, [z], materialize_grads=True)[0]
    return g, unused, zero


@s.gives([[7.0, 7.0], [7.0, 7.0]])
def outputs_and_inputs_named_twice(m):
    x = m.ones(2, requires_grad=True)
    y, z = x * 2, x * 3
    return m.autograd.grad([y, z, y], [x, x], [m.ones(2)] * 3)


@s.gives([3.0, 6.0])
def inputs_that_are_not_leaves(m):
    x = m.tensor(1.0, requires_grad=True)
    y = x * 2
    z = y * 3
    return m.autograd.grad(z, [y, x])


@s.gives([5.0, 3.0])
def a_seed_weighs_each_output(m):
    x = m.tensor([1.0, 1.0], requires_grad=True)
    return m.autograd.grad([x * 2, x * 1], x, [m.tensor([1.0, 1.0]), m.tensor([3.0, 1.0])])[0]


@s.gives([0.0, True])
def zero_is_a_tensor_and_unreached_is_none(m):
    x = m.tensor(2.5, requires_grad=True)
    y = m.tensor(2.5, requires_grad=True)
    (x.floor() + y * 0).backward()
    z = m.tensor(1.0, requires_grad=True)
    return x.grad, z.grad is None


@s.gives([None, [1.0, 1.0], None])
def backward_of_chosen_inputs_that_are_no_leaves(m):
    x = m.ones(2, requires_grad=True)
    z = m.ones(2, requires_grad=True)
    y = x * 2
    (y * z).sum().backward(inputs=[y])
    return x.grad, y.grad, z.grad


@s.gives([None, [1.0, 1.0]])
def backward_of_a_chosen_leaf(m):
    x = m.ones(2, requires_grad=True)
    z = m.ones(2, requires_grad=True)
    (x * z).sum().backward(inputs=z)
    return x.grad, z.grad


@s.gives([2.0, 2.0])
def backward_of_an_input_named_twice(m):
    x = m.ones(2, requires_grad=True)
    (x * 2).sum().backward(inputs=[x, x])
    return x.grad


@s.gives(None)
def switched_off_before_backward(m):
    x = m.ones(2, requires_grad=True)
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    return x.grad


@s.gives([2.0, 2.0])
def backward_under_no_grad(m):
    x = m.ones(2, requires_grad=True)
    y = (x * 2).sum()
    with m.no_grad():
        y.backward()
    return x.grad


@s.gives([False, True])
def a_gradient_is_detached_unless_create_graph(m):
    x = m.tensor(3.0, requires_grad=True)
    return m.autograd.grad(x**3, x)[0].requires_grad, m.autograd.grad(x**3, x, create_graph=True)[
        0
    ].requires_grad


# -------------------------------------------------------------------------- graphs that were walked


@s.refuses(GraphFreedError, "exp", "retain_graph=True", "already gone through")
def a_second_walk(m):
    y = m.ones(2, requires_grad=True).exp().sum()
    y.backward()
    y.backward()


@s.gives([4.0, 4.0])
def a_second_walk_where_nothing_was_saved(m):
    x = m.ones(2, requires_grad=True)
    y = (x + x).sum()
    y.backward()
    y.backward()
    return x.grad


@s.gives([8.0, 8.0])
def retained_graphs_walk_again(m):
    x = m.ones(2, requires_grad=True)
    y = (x * x * x).sum() - x.sum()
    for _ in range(3):
        y.backward(retain_graph=True)
    y.backward()
    return x.grad


@s.refuses(GraphFreedError, "sin", "retain_graph=True")
def a_shared_part_is_freed_by_the_first_walk(m):
    x = m.ones((), requires_grad=True)
    shared = x.sin()
    a, b = shared * 2, shared * 3
    a.backward()
    b.backward()


@s.gives(2.7015116)
def a_shared_part_that_was_retained(m):
    x = m.ones((), requires_grad=True)
    shared = x.sin()
    a, b = shared * 2, shared * 3
    a.backward(retain_graph=True)
    b.backward()
    return x.grad


@s.gives([1.0, 6.0])
def grad_leaves_the_untouched_part_of_a_graph_alive(m):
    x = m.tensor(3.0, requires_grad=True)
    y = x * x
    z = y * 1.0
    return m.autograd.grad(z, y)[0], m.autograd.grad(y, x)[0]


# ----------------------------------------------------------------------------------------- refusals


@s.refuses(NonScalarError, "shape (2,)", "ones_like", ".sum()")
def several_elements_without_a_cotangent(m):
    (m.ones(2, requires_grad=True) * 2).backward()


@s.refuses(NoGradientError, "tensor 0", "requires_grad=True", "no_grad")
def no_history(m):
    m.ones(()).backward()


@s.refuses(NoGradientError, "tensor 1", "requires_grad=True")
def one_of_the_outputs_has_no_history(m):
    m.autograd.backward([m.ones((), requires_grad=True) * 1, m.ones(())])


@s.refuses(ShapeError, "cotangent 0", "(3,)", "(2,)")
def a_cotangent_of_a_wrong_shape(m):
    (m.ones(2, requires_grad=True) * 2).backward(m.ones(3))


@s.refuses(ShapeError, "cotangent 0", "(1, 2)", "(2,)")
def a_cotangent_that_would_broadcast(m):
    (m.ones(2, requires_grad=True) * 2).backward(m.ones(1, 2))


@s.refuses(ValueError, "2 tensors", "1 cotangents")
def too_few_cotangents(m):
    x = m.ones((), requires_grad=True)
    m.autograd.backward([x * 1, x * 2], [None])


@s.refuses(TypeError, "cotangent 0", "float")
def a_cotangent_that_is_no_tensor(m):
    (m.ones((), requires_grad=True) * 1).backward(2.0)


@s.refuses(TypeError, "inputs", "element 1", "float")
def an_input_that_is_no_tensor(m):
    x = m.ones((), requires_grad=True)
    m.autograd.grad(x * 1, [x, 2.0])


@s.refuses(UnusedInputError, "input 1", "allow_unused=True", "materialize_grads=True")
def an_unused_input(m):
    x, z = m.ones((), requires_grad=True), m.ones((), requires_grad=True)
    m.autograd.grad(x * 2, [x, z])


@s.refuses(NoGradientError, "input 0", "requires_grad=True")
def an_input_that_needs_no_gradient(m):
    m.autograd.grad(m.ones((), requires_grad=True) * 1, m.ones(()))


@s.gives([0.0, True, 0.0, False])
def materialized_zeros_can_be_differentiated_again(m):
    x, z = m.tensor(2.0, requires_grad=True), m.tensor(3.0, requires_grad=True)
    (first,) = m.autograd.grad(x * 1, z, create_graph=True, materialize_grads=True)
    (second,) = m.autograd.grad(first, z, materialize_grads=True)
    return first.item(), first.requires_grad, second, second.requires_grad


@s.refuses(ValueError, "materialize_grads", "allow_unused")
def materialize_and_forbid(m):
    x = m.ones((), requires_grad=True)
    m.autograd.grad(x * 1, x, allow_unused=False, materialize_grads=True)


@s.refuses(AutogradError, "inputs", "empty")
def backward_of_no_inputs(m):
    (m.ones((), requires_grad=True) * 1).backward(inputs=[])


@s.refuses(InPlaceError, "mul", '"b"', "version 0", "version 1", "clone")
def saved_and_modified(m):
    x, c = m.ones(3, requires_grad=True), m.ones(3)
    y = (x * c).sum()
    c.add_(1)
    y.backward()


test_minigrad, test_pytorch = s.tests()


# ----------------------------------------------------------------------------- how the work is done


def test_many_paths_cost_linear_work():
    """2⁶⁰ paths through 60 nodes: each node is pulled once."""
    x = mg.tensor(1.0, dtype=mg.float64, requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y
    assert pulls_of(y.backward) == ["add"] * 60
    assert x.grad.item() == 2.0**60


def test_each_node_runs_once_and_after_all_its_users():
    x = mg.tensor([0.3, 0.4], requires_grad=True)
    a = x.sin()
    b = a * a
    c = (b + a).exp()
    y = (c * b).sum()
    with observers.observing(Count()) as count:
        y.backward()
    nodes = [node for phase, _, node in count.seen if phase == "backward"]
    assert len(nodes) == len(set(nodes)) == 6
    users = {parent: node for node in nodes for parent in node.parents if parent in nodes}
    assert users and all(nodes.index(user) < nodes.index(parent) for parent, user in users.items())


def test_grad_does_no_work_beyond_the_requested_inputs():
    w = mg.ones(3, requires_grad=True)
    x = mg.ones(3, requires_grad=True)
    expensive = x.sin().exp().cos()
    y = (w.tanh() * expensive).sum()
    assert pulls_of(lambda: mg.autograd.grad(y, w, retain_graph=True)) == ["sum", "mul", "tanh"]
    assert x.grad is None and w.grad is None
    middle = w.tanh()
    z = (middle * 2).sum()
    assert pulls_of(lambda: mg.autograd.grad(z, middle)) == ["sum", "mul"]


def test_a_rule_is_not_called_for_a_constant_operand():
    """x·c with constant c: only the path to x is prepared, and only what it needs is kept."""
    x, c = mg.ones(3, requires_grad=True), mg.ones(3)
    node = (x * c).grad_fn
    assert node.parents[1] is None
    assert len(node.saved) == 1 and node.saved[0] is c.array  # x itself is not kept


def test_an_exception_in_a_rule_leaves_the_engine_usable():
    x = mg.ones(3, requires_grad=True)

    def fail(g):
        raise ZeroDivisionError("from a hook")

    y = x * 2
    handle = y.register_hook(fail)
    z = y.sum()
    with pytest.raises(ZeroDivisionError):
        z.backward(retain_graph=True, create_graph=False)
    assert mg.is_grad_enabled() and (x * 2).requires_grad
    with mg.no_grad(), pytest.raises(ZeroDivisionError):
        z.backward(retain_graph=True, create_graph=True)
    assert mg.is_grad_enabled()
    handle.remove()
    z.backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_backward_inside_a_hook():
    """Re-entrant: a hook differentiates another graph, and the same leaf, in the middle of a
    pass.
    """
    x = mg.tensor(3.0, requires_grad=True)
    inner = []

    def hook(g):
        with mg.enable_grad():
            v = mg.tensor(2.0, requires_grad=True)
            (v * v * v).backward()
            inner.append(v.grad.item())
            (x * 100).backward()
        return g * 2

    y = x * x
    y.register_hook(hook)
    (y * 5).backward()
    assert inner == [12.0]
    assert x.grad.item() == 100 + 2 * 5 * 2 * 3
    assert mg.is_grad_enabled()


def test_backward_from_several_threads():
    """Each thread walks graphs of its own over shared parameters: no contribution is lost,
    whoever comes first.
    """
    w = mg.zeros(4, dtype=mg.float64, requires_grad=True)
    errors = []

    def work(k):
        try:
            for _ in range(50):
                ((w + k) * k).sum().backward()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert w.grad.tolist() == [50.0 * sum(range(1, 9))] * 4


def test_one_graph_from_several_threads():
    x = mg.ones(3, dtype=mg.float64, requires_grad=True)
    y = (x.sin() * x).sum()
    results = []
    threads = [
        threading.Thread(
            target=lambda: results.append(mg.autograd.grad(y, x, retain_graph=True)[0].tolist())
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8 and all(r == results[0] for r in results)


def test_the_same_program_gives_bit_identical_gradients():
    def once():
        r = np.random.default_rng(3)
        w = [
            mg.tensor(r.standard_normal((8, 8)).astype(np.float32), requires_grad=True)
            for _ in range(3)
        ]
        h = mg.tensor(r.standard_normal((5, 8)).astype(np.float32))
        for k in range(6):
            h = (h @ w[k % 3]).tanh() + h @ w[(k + 1) % 3] * 0.1
        h.sum().backward()
        return [p.grad.numpy().tobytes() for p in w]

    assert once() == once() == once()


def test_contributions_are_summed_in_the_order_of_edges():
    """Floating addition depends on the order; the engine's is fixed: from the youngest user to
    the oldest.
    """
    x = mg.tensor(1.0, requires_grad=True)
    factors = [1e8, 1.0, -1e8, 1.0]
    terms = [x * f for f in factors]
    mg.autograd.backward(terms)
    total = np.float32(0)
    for f in reversed(factors):
        total = total + np.float32(f)
    assert x.grad.item() == float(total) != sum(factors)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda g, x: (3 * x * x * g).sum(), ["cube_of_test", r"\(\)", r"\(2,\)", "input 0"]),
        (lambda g, x: None, ["cube_of_test", "None"]),
    ],
)
def test_a_rule_of_a_primitive_that_returns_something_else_than_the_contribution_is_named(
    rule, words
):
    from minigrad.core.primitive import elementwise, registry

    cube = elementwise("cube_of_test", lambda xp, x: x * x * x, rule)
    try:
        x = mg.tensor([1.0, 2.0], requires_grad=True)
        with pytest.raises(mg.AutogradError) as error:
            cube(x).sum().backward()
        assert all(re.search(word, str(error.value)) for word in words)
        assert x.grad is None
    finally:
        del registry["cube_of_test"]
