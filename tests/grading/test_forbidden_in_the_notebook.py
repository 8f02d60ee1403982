"""What will not be there when a submission is graded fails at once in the notebook too, and nothing
else does.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from minigrad.lessons.grading import arguments, forbidden
from minigrad.lessons.grading.checking import check_exercise
from minigrad.lessons.grading.exercise import DERIVATIVES, Case, exercise
from minigrad.lessons.grading.kinds import Number, Optimiser, Vjp

import minigrad as mg
from minigrad.core.primitive import registry

SIN = Vjp("vjp_sin", mg.sin)
GONE = "is not there when your submission is graded"


def by_vjp(x, g):
    return mg.func.vjp(mg.sin, mg.tensor(x))[1](mg.tensor(g))[0]


def by_backward(x, g):
    t = mg.tensor(x, requires_grad=True)
    mg.sin(t).backward(mg.tensor(g))
    return t.grad


def by_forward_mode(x, g):
    return mg.func.jvp(mg.sin, (mg.tensor(x),), (mg.tensor(g),))[1]


def by_the_rule(x, g):
    return registry["sin"].pull_rule(0).function(np.asarray(g), np.asarray(x))


def by_a_graph(x, g):
    v = mg.graph.Variable(name="v")
    return g * np.asarray(
        mg.graph.Executor(mg.graph.gradients(mg.graph.sin(v), [v])).run(feed_dict={v: x})[0]
    )


@pytest.mark.parametrize(
    "answer",
    [by_vjp, by_backward, by_forward_mode, by_the_rule, by_a_graph],
    ids=lambda f: f.__name__,
)
def test_the_library_s_derivatives_are_refused_at_once(answer):
    feedback = check_exercise(SIN, [answer], seed=1)
    assert feedback.points == 0 and not feedback.passed
    assert (
        f"The library's own differentiation is what you are asked to write, so it {GONE}."
        in str(feedback)
    )
    assert "gave" not in str(feedback) and sys.getprofile() is None


class Own:
    """An engine of the student's own, whose methods are called as the library's are."""

    def __init__(self, x):
        self.x = x

    def backward(self, g):
        return g * np.cos(self.x)


def test_the_student_s_own_names_and_the_rest_of_the_library_may_be_called():
    assert check_exercise(SIN, [lambda x, g: Own(x).backward(g)], seed=1).passed
    assert check_exercise(
        SIN, [lambda x, g: mg.tensor(g) * mg.cos(mg.tensor(x, requires_grad=True)).detach()], seed=1
    ).passed


def test_catching_the_refusal_is_judged_as_in_the_batch():
    def answer(x, g):
        try:
            return by_vjp(x, g)
        except Exception:
            return g * np.cos(x)

    assert check_exercise(SIN, [answer], seed=1).passed


def test_only_what_is_the_student_s_is_watched():
    """The comparison of arguments before and after a call would be most of what Python tells."""
    entered = []
    engine = arguments.watching(lambda order: [node.pull(np.ones(2)) for node in order])
    nodes = [SimpleNamespace(value=np.ones(2), pull=lambda g: [own(g)]) for _ in range(3)]
    own = lambda g: 2 * g
    try:
        sys.setprofile(lambda frame, event, _: entered.append((event, frame.f_code)))
        engine(nodes)
        observer = sys.getprofile()
    finally:
        sys.setprofile(None)
    called = [code for event, code in entered if event == "call"]
    assert called.count(own.__code__) == 3 and observer is not None
    assert not {code.co_name for code in called} & {"_kept", "_as_it_was", "_compare"}


def doubling(*forbid):
    @exercise(
        "double",
        points={"all": 1},
        forbid=forbid,
        verify=lambda case, got: bool(np.allclose(np.asarray(got), case.args["right"])),
    )
    def made(rng):
        x = rng.normal(size=3)
        yield Case("all", x=x, right=np.tanh(x))

    return made


@pytest.mark.parametrize(
    ("forbid", "use", "refused"),
    [
        ("minigrad.tanh", lambda x, right: mg.tanh(mg.tensor(x)), True),
        ("minigrad.sigmoid", lambda x, right: mg.tanh(mg.tensor(x)), False),
        ("minigrad.sigmoid", lambda x, right: mg.sigmoid(mg.tensor(2 * x)) * 2 - 1, True),
        ("minigrad.Tensor.tanh", lambda x, right: mg.tensor(x).tanh(), True),
        (
            "minigrad.Tensor.tanh",
            lambda x, right: mg.tanh(mg.tensor(x)),
            True,
        ),  # the method is the function, there too
        ("minigrad.Tensor.tanh", lambda x, right: mg.sigmoid(mg.tensor(2 * x)) * 2 - 1, False),
        ("minigrad.nn", lambda x, right: mg.nn.Linear(3, 3)(mg.tensor(x)), True),
        ("minigrad.optim", lambda x, right: mg.tanh(mg.tensor(x)), False),
    ],
)
def test_a_name_from_a_table_is_distinguished_from_its_neighbours(forbid, use, refused):
    feedback = check_exercise(doubling(forbid), [use], seed=1)
    assert (GONE in str(feedback)) is refused and feedback.passed is not refused


def test_a_module_is_taken_away_with_all_that_is_in_it():
    sgd = Optimiser("sgd", lambda p: mg.optim.SGD(p, lr=0.1))

    def step(parameter, gradient, state):
        t = mg.tensor(parameter)
        t.grad = mg.tensor(gradient)
        mg.optim.SGD([t], lr=0.1).step()
        return t.numpy()

    assert "minigrad.optim is what you are asked to write" in str(
        check_exercise(sgd, [step], seed=1)
    )
    assert check_exercise(
        sgd, [lambda parameter, gradient, state: parameter - 0.1 * gradient], seed=1
    ).passed


def test_long_work_is_not_watched_to_its_end_but_each_call_a_little(monkeypatch):
    monkeypatch.setattr(forbidden, "EVENTS", 0)
    monkeypatch.setattr(forbidden, "AT_LEAST", 500)

    def late(x, g):
        for _ in range(1000):
            Own(x).backward(g)
        return by_vjp(x, g)

    assert check_exercise(SIN, [late], seed=1).passed
    assert not check_exercise(SIN, [by_vjp], seed=1).passed


def test_a_profiler_of_the_student_s_is_back_afterwards():
    def mine(frame, event, arg):
        pass

    sys.setprofile(mine)
    try:
        check_exercise(SIN, [by_vjp], seed=1)
        check_exercise(SIN, [lambda x, g: g * np.cos(x)], seed=1)
        kept = sys.getprofile()
    finally:
        sys.setprofile(None)
    assert kept is mine


def test_outside_a_check_nothing_is_watched():
    check_exercise(SIN, [by_vjp], seed=1)
    assert forbidden.watched(by_vjp) is by_vjp
    with forbidden.watching((DERIVATIVES,)):
        assert forbidden.watched(by_vjp) is not by_vjp
        assert Number("n", "n", lambda: 1.0, "").notebook(1.0).passed
