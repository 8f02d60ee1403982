"""Twelve classic mistakes, each written as a student would write it: found, placed at the first
wrong node, and named.

The engine below is not the library of broken sweeps: it is a class such as students write, with one
fault at a time.
"""

import numpy as np
import pytest
from minigrad.lessons.grading.exercise import Returned
from minigrad.lessons.grading.graphs import (
    by_differences,
    by_engine,
    close,
    first_wrong,
    names,
    output,
    random_graph,
    renamed,
    single,
)
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.kinds import Backward
from minigrad.lessons.grading.kinds.backward import (
    SCALAR_OPS,
    array_graphs,
    graph_of,
    shared_graphs,
)
from minigrad.lessons.grading.local import run_cases
from minigrad.lessons.grading.misconceptions import BY_NAME, CLASSIC, MISTAKES, sweep

from minigrad.trace import validate


def sum_to(g, shape):
    g = np.asarray(g)
    while g.ndim > len(shape):
        g = g.sum(axis=0)
    for i, n in enumerate(shape):
        if n == 1:
            g = g.sum(axis=i, keepdims=True)
    return g


class Value:
    """A student's engine. `fault` is the mistake that it makes; without one it is right."""

    fault = ""
    last = None

    def __init__(self, data, parents=(), pull=None, one=None):
        self.data, self.parents, self.pull = np.asarray(data, dtype=float), parents, pull
        self.grad = np.zeros(self.data.shape)

    def two(self, other, data, pull):
        def shaped(g):
            parts = pull(g)
            if self.fault == "no sum over broadcast axes":
                return parts
            return [sum_to(p, n.data.shape) for p, n in zip(parts, (self, other), strict=True)]

        return type(self)(data, (self, other), shaped)

    def unary(self, f, derivative):
        at = f(self.data) if self.fault == "derivative at the output" else self.data
        return type(self)(f(self.data), (self,), lambda g: [g * derivative(at)])

    def __add__(self, other):
        return self.two(other, self.data + other.data, lambda g: [g, g])

    def __sub__(self, other):
        sign = 1 if self.fault == "sign" else -1
        return self.two(other, self.data - other.data, lambda g: [g, sign * g])

    def __mul__(self, other):
        a, b = (
            (self.data, other.data)
            if self.fault == "the other operand"
            else (other.data, self.data)
        )
        return self.two(other, self.data * other.data, lambda g: [g * a, g * b])

    def __truediv__(self, other):
        return self.two(
            other,
            self.data / other.data,
            lambda g: [g / other.data, -g * self.data / other.data**2],
        )

    def __matmul__(self, other):
        def pull(g):
            if self.fault == "matrix product untransposed":
                return [g @ other.data, self.data @ g]
            return [g @ other.data.T, self.data.T @ g]

        return type(self)(self.data @ other.data, (self, other), pull)

    def __neg__(self):
        return type(self)(-self.data, (self,), lambda g: [-g])

    def __pow__(self, n):
        factor = 1 if self.fault == "constant factor" else n
        return self.unary(lambda a: a**n, lambda a: factor * a ** (n - 1))

    def sin(self):
        return self.unary(np.sin, np.cos)

    def cos(self):
        return self.unary(np.cos, lambda a: -np.sin(a))

    def exp(self):
        return type(self)(np.exp(self.data), (self,), lambda g: [g * np.exp(self.data)])

    def log(self):
        return type(self)(np.log(self.data), (self,), lambda g: [g / self.data])

    def tanh(self):
        return type(self)(
            np.tanh(self.data), (self,), lambda g: [g * (1 - np.tanh(self.data) ** 2)]
        )

    def sum(self):
        return type(self)(self.data.sum(), (self,), lambda g: [g * np.ones_like(self.data)])

    def mean(self):
        return type(self)(
            self.data.mean(), (self,), lambda g: [g * np.ones_like(self.data) / self.data.size]
        )

    def order(self):
        found, done, waiting = [], set(), [(self, False)]
        while waiting:
            node, ready = waiting.pop()
            if ready:
                found.append(node)
            elif node not in done:
                done.add(node)
                waiting += [(node, True), *((p, False) for p in node.parents)]
        return found[::-1]

    def first_met(self):
        found, waiting = [], [self]
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.append(node)
                waiting += node.parents[::-1]
        return found

    def pass_on(self):
        g = np.ones_like(self.data) if self.fault == "forgets the incoming adjoint" else self.grad
        for parent, part in zip(self.parents, self.pull(g) if self.pull else (), strict=True):
            parent.grad = part if self.fault == "overwrites at fan-out" else parent.grad + part

    def everywhere(self):
        self.pass_on()
        for parent in self.parents:
            parent.everywhere()

    def backward(self):
        order = self.order()
        if self.fault != "stale gradients":
            for node in order:
                node.grad = np.zeros(node.data.shape)
        self.grad = self.data if self.fault == "seeded with the value" else np.ones(self.data.shape)
        if self.fault == "double count":
            self.everywhere()
            return
        for node in self.first_met() if self.fault == "visit order" else order:
            node.pass_on()


EXERCISE = Backward("Value", form="class", arrays=True, again=True)


def answer(fault, seed=3, exercise=EXERCISE):
    cases = exercise.cases(seed)
    student = type("Value", (Value,), {"fault": fault})
    return cases, run_cases(exercise, cases, {"Value": student}, 60)


def test_the_students_engine_is_right_without_a_fault():
    cases, returned = answer("")
    j = judge(EXERCISE, cases, returned)
    assert j.full, [(g.name, g.say) for g in j.groups]


@pytest.mark.parametrize("fault", CLASSIC)
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.whole) for n in (2, 3))])
def test_each_classic_mistake_is_named_and_placed(fault, seed):
    cases, returned = answer(fault, seed)
    j = judge(EXERCISE, cases, returned)
    assert not j.full
    assert j.misconception is not None, "a mistake without a name"
    assert j.misconception["name"] == fault
    assert j.where is not None
    shown = next(c for c in cases if EXERCISE.present(c) == j.smallest["call"])
    graph, got = graph_of(shown), returned[cases.index(shown)].value
    right, node = by_engine(graph), j.where["node"]
    assert not close(got[node], right[node]), "the node that is named is wrong"
    users = [row[0] for row in graph["rows"] if node in row[2]]
    assert all(close(got[u], right[u]) for u in users), (
        "and all who use it are right: there the mistake was made"
    )
    assert len(graph["rows"]) <= 4, "the smallest graph is small"
    if j.trace is not None:
        validate(j.trace)
        assert any(n in j.where["wrong"] for n in [node])


LESSON = {
    "inputs": {"x1": 2.0, "x2": 5.0},
    "rows": [
        ["v1", "log", ["x1"]],
        ["v2", "mul", ["x1", "x2"]],
        ["v3", "add", ["v1", "v2"]],
        ["v4", "sin", ["x2"]],
        ["v5", "sub", ["v3", "v4"]],
    ],
}

# Worked out by hand for ln x1 + x1 x2 − sin x2 at (2, 5): the first wrong node from the result
# down, and what arrives there.
BY_HAND = {
    "overwrites at fan-out": ("x2", 2.0),
    "forgets the incoming adjoint": ("x2", 2.0 + np.cos(5.0)),
    "derivative at the output": ("x2", 2.0 - np.cos(np.sin(5.0))),
    "the other operand": ("x2", 5.0 - np.cos(5.0)),
    "sign": ("v4", 1.0),
    "seeded with the value": ("v5", np.log(2.0) + 10 - np.sin(5.0)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_the_first_wrong_node_of_the_lessons_function(name):
    node, arrives = BY_HAND[name]
    got = BY_NAME[name].run(LESSON, None)
    where = first_wrong(LESSON, got)
    assert where.node == node
    if name != "overwrites at fan-out":  # which of the two is kept depends on the order
        assert float(got[node]) == pytest.approx(arrives)
    validate(where.trace)
    assert where.trace["steps"][where.step - 1]["writes"][0][:2] == [node, "g"]


def graphs(seed=0):
    rng = np.random.default_rng(seed)
    yield from (single(op, rng) for op in SCALAR_OPS)
    yield from shared_graphs(SCALAR_OPS, rng)
    yield from array_graphs(rng)
    for _ in range(60):
        yield random_graph(rng, SCALAR_OPS)
    for _ in range(3):
        yield renamed(random_graph(rng, SCALAR_OPS, 12), rng)


def test_the_sweep_that_all_mistakes_are_made_of_is_right():
    for graph in graphs():
        engine, plain, blunt = by_engine(graph), sweep(graph), by_differences(graph)
        assert set(engine) == set(names(graph))
        for node, expected in engine.items():
            np.testing.assert_allclose(plain[node], expected, rtol=1e-12, atol=1e-12)
            assert close(blunt[node], expected)


def test_each_mistake_has_a_name_of_its_own_and_spoils_something():
    assert len(BY_NAME) == len(MISTAKES)
    assert set(CLASSIC) <= set(BY_NAME)
    assert len(CLASSIC) == 12
    some = list(graphs())
    for mistake in MISTAKES:
        spoiled = 0
        for graph in some:
            try:
                made = mistake.run(graph, graph)
            except ValueError:  # shapes do not fit: that would be seen
                continue
            right = by_engine(graph)
            spoiled += any(not close(made[n], right[n]) for n in right)
        assert spoiled, mistake.name


@pytest.fixture(scope="module")
def random_graphs():
    """The cases of the notebook's check, with the right gradients."""
    cases = Backward("gradients", arrays=True).cases(5, practice=True)
    assert sum(c.group == "random graphs" for c in cases) == 300
    return [(case, by_engine(graph_of(case))) for case in cases]


@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(m, marks=[] if m.name in CLASSIC else [pytest.mark.whole])
        for m in MISTAKES
        if "again" not in m.name and "stale" not in m.name
    ],
    ids=lambda m: m.name,
)
def test_three_hundred_random_graphs_find_a_small_counterexample(mistake, random_graphs):
    """What the notebook's check does: the smallest of all graphs that fail has at most four
    operations.
    """
    failing = []
    for case, right in random_graphs:
        graph = graph_of(case)
        try:
            got = mistake.run(graph, None)
        except ValueError:
            continue
        if any(not close(got[n], right[n]) for n in right):
            failing.append((case.size, len(graph["rows"]), graph))
    assert failing
    assert min(failing, key=lambda f: f[0])[1] <= 4


def test_overwriting_is_shown_on_x_and_x():
    cases, returned = answer("overwrites at fan-out")
    j = judge(EXERCISE, cases, returned)
    assert j.smallest["call"].startswith("v1 = x1 + x1")
    assert "used 2 times" in j.where["say"]


def test_a_mistake_in_one_rule_is_named_with_the_rule():
    class OnlyCosine(Value):
        def cos(self):
            return self.unary(np.cos, np.sin)

    exercise = Backward("Value", form="class")
    cases = exercise.cases(2)
    j = judge(exercise, cases, run_cases(exercise, cases, {"Value": OnlyCosine}, 60))
    assert j.misconception["name"] == "sign"
    assert "`cos`" in j.misconception["say"]


def test_a_recursion_that_passes_on_the_sum_so_far_is_a_double_count():
    class Recursive(Value):
        def backward(self):
            for node in self.order():
                node.grad = np.zeros(node.data.shape)
            self.grad = np.ones(self.data.shape)
            self.go()

        def go(self):
            for i, parent in enumerate(self.parents):
                parent.grad = parent.grad + self.pull(self.grad)[i]
                parent.go()

    exercise = Backward("Value", form="class")
    cases = exercise.cases(2)
    j = judge(exercise, cases, run_cases(exercise, cases, {"Value": Recursive}, 60))
    assert j.misconception["name"] == "double count"


def test_random_numbers_have_no_name():
    rng = np.random.default_rng(0)
    cases = EXERCISE.cases(1)
    returned = [
        Returned(
            {n: np.asarray(rng.normal(size=np.shape(v))) for n, v in by_engine(graph_of(c)).items()}
        )
        for c in cases
    ]
    j = judge(EXERCISE, cases, returned)
    assert j.misconception is None
    assert j.points == 0
    assert j.where["node"] == output(
        graph_of(next(c for c in cases if EXERCISE.present(c) == j.smallest["call"]))
    )
