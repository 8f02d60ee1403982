"""Graphs of the results of replayed calls: freed and modified values are judged operation by
operation, as in an eager run. Each case runs eagerly and compiled, and both must give the same
gradients and raise the same errors in each call."""

from collections.abc import Callable
from typing import Any

import pytest

import minigrad as mg

Results = Any
Tensors = tuple[Any, Any]


def disjoint(a: Any, b: Any) -> Callable[[Any], Results]:
    return lambda x: ((x * a).sin().sum(), (x * b).tanh().sum())


def chain(a: Any, b: Any) -> Callable[[Any], Results]:
    """The first result and the last share no operation, but each shares some with the second."""

    def step(x: Any) -> Results:
        u, v = (x * a).sin(), (x * b).tanh()
        return u.sum(), (u * v).sum(), v.sum()

    return step


def own_output(a: Any, b: Any) -> Callable[[Any], Results]:
    """The graph of the first result keeps that result itself."""
    return lambda x: ((x * a).exp(), (x * b).sin())


def one_layer(a: Any, b: Any) -> Callable[[Any], Results]:
    """The graph keeps x and the output, neither a nor b."""
    return lambda x: ((x * a + b).tanh().sum(),)


def linear(a: Any, b: Any) -> Callable[[Any], Results]:
    """The graph of the second result keeps nothing."""
    return lambda x: ((x + a).sin().sin().sum(), (x + b).sum())


def two_branches(a: Any, b: Any) -> Callable[[Any], Results]:
    return lambda x: (((x * a).sin() + (x * b).tanh()).sum(),)


def product(a: Any, b: Any) -> Callable[[Any], Results]:
    return lambda x: ((x * a * b).sin().sum(),)


def each_in_turn(r: Results, ab: Tensors) -> None:
    for result in r:
        result.sum().backward()


def first_and_last(r: Results, ab: Tensors) -> None:
    r[0].sum().backward()
    r[-1].sum().backward()


def with_a_step_between(r: Results, ab: Tensors) -> None:
    r[0].sum().backward()
    with mg.no_grad():
        ab[0].sub_(0.1)
    r[-1].sum().backward()


def after_a_write_to_the_first(r: Results, ab: Tensors) -> None:
    with mg.no_grad():
        r[0].mul_(2)
    r[-1].sum().backward()


def second_derivative_after_a_step(r: Results, ab: Tensors) -> None:
    with mg.no_grad():
        ab[0].sub_(0.1), ab[1].sub_(0.1)
    (g,) = mg.autograd.grad(r[0].sum(), [ab[0]], create_graph=True)
    g.pow(2).sum().backward()


def last_twice(r: Results, ab: Tensors) -> None:
    r[-1].sum().backward()
    r[-1].sum().backward()


def gradients_one_by_one(r: Results, ab: Tensors) -> None:
    for tensor in ab:
        (tensor.grad,) = mg.autograd.grad(r[0].sum(), [tensor], allow_unused=True)


def one_gradient_twice(r: Results, ab: Tensors) -> None:
    for tensor in ab:
        (tensor.grad,) = mg.autograd.grad(r[0].sum(), [ab[0]])


def gradient_after_a_change_of_the_other(r: Results, ab: Tensors) -> None:
    with mg.no_grad():
        ab[1].mul_(2)
    (ab[0].grad,) = mg.autograd.grad(r[0].sum(), [ab[0]])


def second_and_then_first(r: Results, ab: Tensors) -> None:
    (g,) = mg.autograd.grad(r[0].sum(), [ab[0]], create_graph=True)
    (g * g).sum().backward(retain_graph=True)
    r[0].sum().backward()


MAKERS = [disjoint, chain, own_output, one_layer, linear, two_branches, product]
USES = [
    each_in_turn,
    first_and_last,
    with_a_step_between,
    after_a_write_to_the_first,
    second_derivative_after_a_step,
    last_twice,
    gradients_one_by_one,
    one_gradient_twice,
    gradient_after_a_change_of_the_other,
    second_and_then_first,
]


def seen(make: Any, use: Any, compiled: bool) -> tuple[list[Any], Any]:
    """Five calls: errors and gradients of each; and the function."""
    tensors = mg.ones(4, requires_grad=True), mg.full((4,), 2.0, requires_grad=True)
    function = make(*tensors)
    function = mg.compile(function) if compiled else function
    calls = []
    for i in range(5):
        error = None
        for tensor in tensors:
            tensor.grad = None
        try:
            use(function(mg.arange(4.0) / 4 + i), tensors)
        except mg.AutogradError as raised:
            error = type(raised).__name__
        gradients = [None if t.grad is None else t.grad.numpy().round(4).tolist() for t in tensors]
        calls.append((error, gradients))
    return calls, function


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_compiled_is_like_eager(make: Any, use: Any) -> None:
    (eager, _), (compiled, function) = seen(make, use, False), seen(make, use, True)
    assert compiled == eager
    assert function.statistics == {"eager": 1, "recorded": 2, "replayed": 2}


def test_errors_and_their_absence_both_occur() -> None:
    """The cases above are no list of refusals, nor free of them."""
    found = [error for make in MAKERS for use in USES for error, _ in seen(make, use, False)[0]]
    kinds = {error: found.count(error) for error in set(found)}
    assert kinds[None] > 200 and kinds["GraphFreedError"] > 20 and kinds["InPlaceError"] > 5


def test_results_that_share_nothing_have_programs_of_their_own() -> None:
    """The backward pass of one of two networks runs its program, not the engine's operations."""
    from minigrad.program.replayed_node import ReplayedNode

    a, b = mg.ones(4, requires_grad=True), mg.ones(4, requires_grad=True)
    function = mg.compile(disjoint(a, b))
    for _ in range(4):
        first, second = function(mg.ones(4))
    assert type(first.node) is type(second.node) is ReplayedNode and first.node is not second.node
    first.backward()
    assert b.grad is None and first.node.latest is None and second.node.values is not None


def test_a_step_without_state_leaves_no_entry() -> None:
    """As in PyTorch, and in replays as in eager calls: state_dict() of plain SGD has no state."""
    w = mg.ones(2, requires_grad=True)
    optimizer = mg.optim.SGD([w], lr=0.1)

    @mg.compile
    def step() -> None:
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()

    for _ in range(5):
        step()
        assert optimizer.state == {} and optimizer.state_dict()["state"] == {}
    assert step.statistics["replayed"] == 2
