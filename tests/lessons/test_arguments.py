"""A function that changes its arguments in place is not right, whatever it returns; a function that
changes a copy is.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from minigrad.lessons import engine_suite
from minigrad.lessons.exercises import broken_engines
from minigrad.lessons.grading import known
from minigrad.lessons.grading.arguments import Answers, Changed, Unchanging
from minigrad.lessons.grading.kinds import Backward
from minigrad.lessons.grading.local import run_cases

import minigrad as mg
from tests.helpers.tables import in_one_test

EXERCISES = known()
PLAIN = [
    name
    for name, exercise in EXERCISES.items()
    if not exercise.is_value and not exercise.drive and exercise.notebook is None
]


def written_into(value):
    """Whether a plain value could be changed in place, and was."""
    if isinstance(value, np.ndarray) and value.size:
        value[...] = ~value if value.dtype.kind == "b" else value + 1
    elif isinstance(value, list):
        value.append(None)
    elif isinstance(value, dict):
        value["another"] = None
    else:
        return False
    return True


@in_one_test
@pytest.mark.parametrize("name", PLAIN)
def test_each_argument_of_each_exercise_is_looked_at(name):
    exercise = EXERCISES[name]
    cases = exercise.cases(3)[:6]
    for place in range(max(len(case.args) for case in cases)):
        wrote = []

        def answer(*args, place=place, wrote=wrote):
            wrote.append(place < len(args) and written_into(args[place]))
            return 0.0

        found = run_cases(exercise, cases, dict.fromkeys(exercise.answers, answer), 60.0)
        assert [back.kind == "changed" for back in found] == wrote
        assert all("changed its argument number" in b.error for b in found if b.kind == "changed")


@dataclass(slots=True)
class Slotted:
    value: float
    tangent: float = 0.0


def arguments():
    nan = np.array([np.nan, 1.0])
    yield "a vector", np.arange(3.0), lambda v: v.__imul__(2)
    yield "no dimensions", np.array(2.0), lambda v: v.__setitem__((), 3.0)
    yield "whole numbers", np.arange(3), lambda v: v.sort(axis=0) or v.__setitem__(0, 7)
    yield "single precision", np.ones(2, np.float32), lambda v: v.__iadd__(1)
    yield "every second element", np.arange(6.0)[::2], lambda v: v.__setitem__(-1, 0.0)
    yield "beside NaN", nan, lambda v: v.__setitem__(1, 2.0)
    yield "the shape alone", np.arange(6.0), lambda v: setattr(v, "shape", (2, 3))
    yield "an array in a list", [np.ones(2)], lambda v: v[0].__imul__(2)
    yield "a list turned round", [1.0, 2.0], lambda v: v.reverse()
    yield "a dictionary", {"a": 1.0}, lambda v: v.pop("a")
    yield "a tensor", mg.tensor([1.0, 2.0]), lambda v: v.mul_(2)
    yield "an object with slots", Slotted(1.0), lambda v: setattr(v, "tangent", 2.0)


@pytest.mark.parametrize("what, value, change", [pytest.param(*a, id=a[0]) for a in arguments()])
def test_a_change_is_noticed_and_a_look_is_not(what, value, change):
    def looks(v):
        return v

    def changes(v, w):
        change(v)
        return 1.0

    assert Unchanging(looks, "looks")(value) is value
    with pytest.raises(Changed, match="`changes` changed its argument `v` in place"):
        Unchanging(changes, "changes")(value, 0.0)


def test_nan_and_numbers_are_no_change():
    same = lambda *args, **options: None
    odd = [np.array([np.nan]), float("nan"), np.zeros((0, 2)), None, "text", 3, np.float64(2)]
    assert Unchanging(same, "same")(*odd, odd, kept=np.ones(2)) is None


def test_an_argument_by_name_is_looked_at_too():
    def f(x, out=None):
        out += x

    with pytest.raises(Changed, match="its argument `out`"):
        Unchanging(f, "f")(1.0, out=np.zeros(2))


class Filled(dict):
    pass


def test_a_dictionary_of_another_type_is_to_be_filled():
    Unchanging(lambda d: d.update(a=1), "f")(Filled())
    with pytest.raises(Changed):
        Unchanging(lambda d: d.update(a=1), "f")({})


class Node:
    def __init__(self, value, parents=(), pull=None, op=""):
        self.value, self.parents, self.pull, self.op = np.array(value), parents, pull, op


def in_place(g):
    g *= 2
    return (g,)


def summed(order, wanted, add):
    adjoint = {order[-1]: np.ones(2)}
    for node in reversed(order):
        parts = node.pull(adjoint[node]) if node.parents else ()
        for parent, part in zip(node.parents, parts, strict=True):
            adjoint[parent] = add(adjoint[parent], part) if parent in adjoint else part
    return [adjoint[node] for node in wanted]


def test_rules_and_loops_of_an_engine_are_watched():
    x = Node([1.0, 2.0])
    add = lambda a, b: Node(a.value + b.value, (a, b), lambda g: (g, g), "add")
    sound, aliased = (lambda a, b: a + b), (lambda a, b: a.__iadd__(b))
    order = [x, y := add(x, x), add(x, y)]
    assert np.array_equal(Answers.watching(summed)(order, [x], sound)[0], [3.0, 3.0])
    with pytest.raises(Changed, match=r"changed in place after the rule of `add` had passed it on"):
        Answers.watching(summed)(order, [x], aliased)
    twice = Node(2 * x.value, (x,), in_place, "twice")
    with pytest.raises(Changed, match="the rule of `twice` changed the adjoint"):
        Answers.watching(summed)([x, twice], [x], sound)
    spoilt = Node(x.value, (x,), lambda g: (g * np.exp(x.value, out=x.value),), "exp")
    with pytest.raises(Changed, match="the rule of `exp` changed the value of an operand"):
        Answers.watching(summed)([x, spoilt], [x], sound)


def test_nodes_that_cannot_be_changed_are_left_alone():
    @dataclass(frozen=True, eq=False)
    class Frozen:
        value: np.ndarray
        parents: tuple = ()
        pull: object = None

    x = Frozen(np.ones(2))
    order = [x, Frozen(2 * x.value, (x,), lambda g: (2 * g,))]
    (found,) = Answers.watching(summed)(order, [x], lambda a, b: a + b)
    assert np.array_equal(found, [2.0, 2.0])


class Value:
    """A number of an engine that students write by themselves, as instructors' sheets ask for."""

    def __init__(self, data, pulls=()):
        self.data, self.pulls, self.grad = data, pulls, 0.0

    def __add__(self, other):
        return Value(self.data + other.data, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other):
        return Value(self.data * other.data, ((self, other.data), (other, self.data)))

    def backward(self, g=1.0):
        self.grad += g
        for parent, local in self.pulls:
            parent.backward(g * local)


def test_the_operators_of_a_students_class_must_leave_their_operands():
    class InPlace(Value):
        def __add__(self, other):
            self.data += other.data
            return self

    exercise = Backward("Value", form="class", ops=("add", "mul"))
    cases = exercise.cases(1)
    assert not {b.kind for b in run_cases(exercise, cases, {"Value": Value}, 60.0)} - {""}
    found = run_cases(exercise, cases, {"Value": InPlace}, 60.0)
    assert any("`add` changed one of its operands in place" in back.error for back in found)


def test_an_operation_must_leave_its_operands():
    def added(a, b):
        a.value = a.value + b.value
        return a

    with pytest.raises(Changed, match="`add` changed one of its operands"):
        Answers.computed(added, [Slotted(1.0), Slotted(2.0)], "add")


IN_PLACE = {
    "changes the adjoint g that it is given": lambda g, a: np.multiply(g, np.exp(a), out=g),
    "changes an operand": lambda g, a: g * np.exp(a, out=a),
}


@pytest.mark.parametrize("says", IN_PLACE)
def test_the_suite_for_engines_finds_a_rule_that_writes_into_what_it_is_given(says):
    engine = broken_engines.engine()
    assert engine_suite.failures(engine) == []
    engine["Tensor"].exp = engine["made_of"]("exp", np.exp, IN_PLACE[says])
    first = engine_suite.failures(engine)[0]
    assert first.blame == f"the rule of {engine_suite.written('exp')}"
    assert says in first.say
