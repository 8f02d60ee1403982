"""L-BFGS against PyTorch's, and its line search on functions of one number."""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import backend, optim
from minigrad.optim.lbfgs import Point, strong_wolfe
from tests.helpers.fake_device import FakeArray, fake
from tests.helpers.refusals import refusals
from tests.helpers.tables import in_one_test

SEARCHES = pytest.mark.parametrize("search", [None, "strong_wolfe"])


def valley(x, y):
    """A curved valley in x, tied to y; 0 at x = (1, 1), y = 1."""
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2 + (y - x[0]) ** 4


def begin(library, **options):
    return [
        library.tensor(v, requires_grad=True, **options)
        for v in (np.array([-1.2, 1.0]), np.array(0.5))
    ]


def closure(optimizer, params, calls=None):
    def evaluate():
        optimizer.zero_grad()
        value = valley(*params)
        value.backward()
        if calls is not None:
            calls.append(value.item())
        return value

    return evaluate


@pytest.mark.oracle
@SEARCHES
@pytest.mark.parametrize(
    "settings",
    [{}, {"history_size": 3}, {"max_iter": 4, "max_eval": 3}, {"tolerance_change": 1e-3}],
)
def test_every_call_of_the_closure(torch, search, settings) -> None:
    """The points and their order are PyTorch's, as far as rounding lets them."""
    paths = []
    for library in (mg, torch):
        params, calls = begin(library), []
        optimizer = library.optim.LBFGS(
            params, lr=1.0 if search else 0.1, line_search_fn=search, **settings
        )
        returned = [optimizer.step(closure(optimizer, params, calls)).item() for _ in range(3)]
        paths.append(
            (
                calls,
                returned,
                [p.detach().numpy() for p in params],
                optimizer.state_dict()["state"][0]["func_evals"],
            )
        )
    (ours, first, mine, count), (theirs, second, other, number) = paths
    assert len(ours) == count and len(theirs) == number
    same = 30 if search is None else 10
    np.testing.assert_allclose(ours[:same], theirs[:same], rtol=1e-6)
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-9)
    if search is None:
        assert count == number
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("history", [3, 100])
def test_rosenbrocks_valley_is_descended_as_by_pytorch(torch, history) -> None:
    """Each point at which a line search calls the closure, to the end of ten steps."""
    paths = []
    for library in (mg, torch):
        w = library.tensor(np.array([-1.2, 1.0]), requires_grad=True)
        optimizer = library.optim.LBFGS([w], history_size=history, line_search_fn="strong_wolfe")
        path: list[np.ndarray] = []

        def evaluate(w=w, optimizer=optimizer, path=path):
            path.append(w.detach().numpy().copy())
            optimizer.zero_grad()
            value = 100 * (w[1] - w[0] ** 2) ** 2 + (1 - w[0]) ** 2
            value.backward()
            return value

        for _ in range(10):
            optimizer.step(evaluate)
        paths.append(path)
    np.testing.assert_allclose(*paths, rtol=1e-7)
    np.testing.assert_allclose(paths[0][-1], [1, 1], atol=1e-4)


def test_the_minimum_is_reached() -> None:
    params = begin(mg)
    optimizer = optim.LBFGS(params, line_search_fn="strong_wolfe")
    for _ in range(8):
        optimizer.step(closure(optimizer, params))
    np.testing.assert_allclose(params[0].detach().numpy(), [1, 1], atol=1e-4)
    before = [p.detach().clone() for p in params]
    with mg.no_grad():
        params[0].fill_(1.0), params[1].fill_(1.0)
    optimizer.step(closure(optimizer, params, calls := []))
    # where the gradient is 0 there is nothing to do
    assert len(calls) == 1 and not np.array_equal(before[0], params[0].detach())


@SEARCHES
def test_training_continues_from_a_state_dict(search) -> None:
    straight, first = (begin(mg) for _ in range(2))
    whole, half = (
        optim.LBFGS(p, lr=0.5, max_iter=5, history_size=4, line_search_fn=search)
        for p in (straight, first)
    )
    for _ in range(4):
        whole.step(closure(whole, straight))
    for _ in range(2):
        half.step(closure(half, first))
    state, values = half.state_dict(), [p.detach().clone() for p in first]
    half.step(closure(half, first))
    for _ in range(2):  # the saved state serves twice
        resumed = [v.clone().requires_grad_() for v in values]
        other = optim.LBFGS(resumed, lr=99.0)
        other.load_state_dict(state)
        for _ in range(2):
            other.step(closure(other, resumed))
        for a, b in zip(straight, resumed, strict=True):
            np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_on_a_device(monkeypatch) -> None:
    monkeypatch.setitem(backend.MODULES, FakeArray, fake)
    here, there = begin(mg), begin(mg, device="fake:0")
    for params in (here, there):
        optimizer = optim.LBFGS(params, line_search_fn="strong_wolfe", max_iter=6)
        optimizer.step(closure(optimizer, params))
    for a, b in zip(here, there, strict=True):
        assert type(b.array) is FakeArray
        np.testing.assert_array_equal(a.detach().numpy(), b.array.get())


def test_parameters_without_a_gradient_stay() -> None:
    x = mg.tensor([3.0], requires_grad=True)
    unused = mg.ones(2, requires_grad=True)
    empty = mg.ones(0, requires_grad=True)
    optimizer = optim.LBFGS([x, unused, empty])

    def evaluate():
        optimizer.zero_grad()
        loss = (x**2).sum() + empty.sum()
        loss.backward()
        return loss

    optimizer.step(evaluate)
    assert abs(x.item()) < 1e-3 and unused.tolist() == [1, 1] and unused.grad is None


def test_an_overflowing_step_is_taken_back() -> None:
    """The line search makes shorter trials where the loss is NaN or infinite; the parameters
    stay finite.
    """
    x = mg.tensor([0.1], dtype=mg.float64, requires_grad=True)
    optimizer = optim.LBFGS([x], lr=5.0, line_search_fn="strong_wolfe")

    def evaluate():
        optimizer.zero_grad()
        loss = (x - mg.log(x)).sum()  # NaN below 0, least at 1
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(evaluate)
    assert abs(x.item() - 1) < 1e-4


MISUSE = r"""
optim.LBFGS([x]).step()  # TypeError: needs a closure that clears the gradients
optim.LBFGS([x]).update(x, x)  # TypeError: no update\(parameter, gradient\).*Use step\(closure\)
optim.LBFGS([{"params": [x]}, {"params": [mg.ones(1, requires_grad=True)]}])
    # ValueError: one group only
optim.LBFGS([x], line_search_fn="armijo")
    # ValueError: line_search_fn must be None or "strong_wolfe", got 'armijo'
optim.LBFGS([x], history_size=0)  # ValueError: history_size must be at least 1, got 0
"""
test_misuse_of_lbfgs_is_named = refusals(MISUSE, optim=optim, x=mg.ones(2, requires_grad=True))


@in_one_test
@pytest.mark.parametrize("first", [1e-4, 0.1, 1.0, 30.0, 1e4])
@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda t: (t - 2) ** 2, lambda t: 2 * (t - 2)),
        (lambda t: -t / (t * t + 2), lambda t: (t * t - 2) / (t * t + 2) ** 2),
        (
            lambda t: (t - 3) ** 4 - 0.1 * math.sin(20 * t),
            lambda t: 4 * (t - 3) ** 3 - 2 * math.cos(20 * t),
        ),
        (lambda t: -2 * t + math.exp(min(t, 700.0)), lambda t: -2 + math.exp(min(t, 700.0))),
    ],
)
def test_the_line_search_finds_what_it_promises(f, slope, first) -> None:
    """Moré and Thuente's kind of functions: one valley, a slope that dies out, ripples, a far
    and steep wall.
    """
    trials = []

    def along(t):
        trials.append(t)
        return Point(t, f(t), slope(t), [])

    start = Point(0.0, f(0.0), slope(0.0), [])
    found = strong_wolfe(along, start, first, 1e-9)
    assert found.loss <= start.loss + 1e-4 * found.t * start.slope
    assert abs(found.slope) <= 0.9 * abs(start.slope)
    assert found.t in trials and len(trials) <= 25
