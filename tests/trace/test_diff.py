"""The first difference between two Traces is found, and named as a teacher would name it."""

import copy
import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import minigrad as mg
from minigrad import viz
from minigrad.trace import first_divergence
from minigrad.trace.diff import Divergence, twins
from minigrad.trace.text import number
from minigrad.watch import trace_function


def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


REFERENCE = trace_function(f, 2.0, 5.0, tangents=(1.0, 0.5))


def changed(change):
    trace = copy.deepcopy(REFERENCE)
    change(trace)
    return trace


def step_of(trace, phase, node):
    return next(s for s in trace["steps"] if s["phase"] == phase and s["node"] == node)


def without_parts(trace):
    for s in trace["steps"]:
        s.pop("contribs", None)


def test_equal_traces_have_no_difference():
    assert first_divergence(REFERENCE, copy.deepcopy(REFERENCE)) is None


def test_other_labels_names_and_words_are_no_difference():
    trace = trace_function(
        lambda a, b: mg.log(a) + a * b - mg.sin(b), 2.0, 5.0, tangents=(1.0, 0.5), title="another"
    )
    assert first_divergence(REFERENCE, trace) is None and first_divergence(trace, REFERENCE) is None


def test_another_valid_order_of_reverse_mode_is_no_difference():
    def reorder(t):
        first = [
            i
            for i, s in enumerate(t["steps"])
            if s["phase"] == "adjoint" and s["node"] in ("v3", "v4")
        ]
        a, b = first
        t["steps"][a], t["steps"][b] = t["steps"][b], t["steps"][a]

    assert first_divergence(REFERENCE, changed(reorder)) is None


def test_small_rounding_is_no_difference_and_a_larger_one_is():
    def nudge(by):
        def change(t):
            for s in t["steps"]:
                for cell in s["writes"]:
                    cell[2] *= 1 + by
                for part in s.get("contribs", []):
                    part["product"] *= 1 + by

        return change

    assert first_divergence(REFERENCE, changed(nudge(1e-8))) is None
    found = first_divergence(REFERENCE, changed(nudge(1e-4)))
    assert found is not None and found.kind == "value" and found.step == 0
    assert first_divergence(REFERENCE, changed(nudge(1e-4)), rtol=1e-3) is None


def test_overwritten_instead_of_accumulated():
    def change(t):
        without_parts(t)
        step = step_of(t, "accumulate", "x1")
        step["writes"][0][2] = REFERENCE["steps"][
            REFERENCE["steps"].index(step_of(REFERENCE, "accumulate", "x1"))
        ]["contribs"][0]["product"]

    found = first_divergence(REFERENCE, changed(change))
    assert (found.kind, found.node, found.column, found.expected, found.got) == (
        "value",
        "x1",
        "g",
        5.5,
        0.5,
    )
    assert REFERENCE["steps"][found.step]["phase"] == "accumulate"
    assert "one of 2 contributions alone" in found.say and "+=" in found.say


def test_wrong_sign_of_a_rule_names_the_edge():
    def change(t):
        step = step_of(t, "adjoint", "v4")
        step["contribs"][0]["product"] *= -1
        step["writes"][0][2] *= -1

    found = first_divergence(REFERENCE, changed(change))
    assert (
        found.node == "v4" and found.column == "g" and found.expected == -1.0 and found.got == 1.0
    )
    edge = next(e for e in REFERENCE["edges"] if e["id"] == found.edge)
    assert (edge["src"], edge["dst"]) == ("v4", "v5")
    assert found.say == "v5 should send −1 to the adjoint of v4, but sends 1. The sign is wrong."


def test_wrong_sign_without_contributions():
    def change(t):
        without_parts(t)
        step_of(t, "adjoint", "v4")["writes"][0][2] *= -1

    found = first_divergence(REFERENCE, changed(change))
    assert (
        found.node == "v4"
        and found.say == "The adjoint of v4 should be −1, but is 1. The sign is wrong."
    )


@pytest.mark.parametrize(
    ("by_hand", "said"),
    [
        (2 - math.cos(5.0), ""),
        (2 + math.cos(5.0), " The contribution of v4, −0.2837, has the wrong sign."),
        (2.284, " The contribution of v4, −0.2837, has the wrong sign."),
        (-2 - math.cos(5.0), " The contribution of v2, 2, has the wrong sign."),
        (-2 + math.cos(5.0), " The sign is wrong."),
        (2.3, ""),
    ],
)
def test_of_a_sum_the_contribution_with_the_wrong_sign_is_named(by_hand, said):
    """Also of a derivative by hand that is rounded; where no single sign explains it, nothing."""

    def change(t):
        without_parts(t)
        step_of(t, "accumulate", "x2")["writes"][0][2] = by_hand

    found = first_divergence(REFERENCE, changed(change))
    if by_hand == 2 - math.cos(5.0):
        assert found is None
    else:
        assert found.say == (f"The adjoint of x2 should be 1.716, but is {number(by_hand)}.{said}")


def test_where_two_contributions_are_equal_no_sign_is_blamed():
    reference = trace_function(lambda x: mg.exp(x) + mg.exp(x) + x * 3, 1.0, mode="reverse")
    wrong = copy.deepcopy(reference)
    without_parts(wrong)
    last = [s for s in wrong["steps"] if s["node"] == "x" and s["phase"] == "accumulate"][-1]
    last["writes"][0][2] = 3.0
    assert first_divergence(reference, wrong).flipped is None
    last["writes"][0][2] = 2 * math.e - 3
    assert first_divergence(reference, wrong).flipped[1] == 3.0


def test_in_arrays_the_contribution_with_the_wrong_sign_is_named():
    given = np.array([1.0, 2.0])
    reference = trace_function(lambda x: (x * x - mg.exp(x)).sum(), given, mode="reverse")
    found = viz.compare(reference, [2 * given + np.exp(given)]).divergence
    assert found.flipped[0] == "v2" and "has the wrong sign." in found.say


def test_a_contribution_that_started_too_early():
    """In the wrong order an operation passes its adjoint on before it is complete."""

    def g(x):
        y = x * 2
        return y * y + y

    reference = trace_function(g, 3.0, mode="reverse")
    trace = copy.deepcopy(reference)
    last = trace["steps"][-1]
    assert last["node"] == "x"
    last["contribs"][0] |= {"upstream": 1.0, "product": 2.0}
    last["writes"][0][2] = 2.0
    found = first_divergence(reference, trace)
    assert found.node == "x" and found.step == len(reference["steps"]) - 1
    assert (
        "the adjoint of v1 that it starts from should be 13 when it is complete, but is 1"
        in found.say
    )


def test_a_missing_contribution():
    def change(t):
        t["steps"].remove(step_of(t, "accumulate", "x2"))

    found = first_divergence(REFERENCE, changed(change))
    assert found.kind == "value" and found.node == "x2" and "alone" in found.say


def test_an_adjoint_that_was_never_computed():
    def change(t):
        t["steps"] = [
            s for s in t["steps"] if not any(n == "v1" and c == "g" for n, c, _ in s["writes"])
        ]

    found = first_divergence(REFERENCE, changed(change))
    assert (found.kind, found.node, found.column, found.got) == ("missing", "v1", "g", None)
    assert found.say == "The adjoint of v1 was never computed; it should be 1."


def test_a_wrong_value_comes_before_what_follows_from_it():
    def change(t):
        step_of(t, "primal", "v1")["writes"][0][2] = 0.5
        step_of(t, "primal", "v3")["writes"][0][2] = 10.5

    found = first_divergence(REFERENCE, changed(change))
    assert (found.node, found.column) == ("v1", "v")


def test_a_wrong_tangent():
    def change(t):
        step = step_of(t, "tangent", "v2")
        step["contribs"].pop()
        step["writes"][0][2] = step["contribs"][0]["product"]

    found = first_divergence(REFERENCE, changed(change))
    assert (
        (found.kind, found.node, found.column) == ("value", "v2", "d")
        and found.expected == 6.0
        and found.got == 5.0
    )


def test_a_missing_edge_another_operation_and_swapped_operands():
    found = first_divergence(REFERENCE, changed(lambda t: t["edges"].pop(0)))
    assert (
        found.kind == "structure"
        and found.node == "v1"
        and "made from x1, but is made from nothing" in found.say
    )
    found = first_divergence(
        REFERENCE, trace_function(lambda a, b: mg.log(a) + a * b - mg.cos(b), 2.0, 5.0)
    )
    assert (
        found.kind == "structure"
        and found.node == "v4"
        and "made by sin, but is made by cos" in found.say
    )
    found = first_divergence(
        REFERENCE, trace_function(lambda a, b: mg.log(a) + b * a - mg.sin(b), 2.0, 5.0)
    )
    assert (
        found.kind == "structure"
        and found.node == "v2"
        and "x1 and x2, but is made from" in found.say
    )


def test_nodes_that_both_have_are_no_difference_wherever_they_are_made():
    """The product first, then the logarithm: the graphs part at the sine."""
    other = trace_function(lambda a, b: a * b + mg.log(a) - mg.cos(b), 2.0, 5.0)
    found = first_divergence(REFERENCE, other)
    assert found.node == "v3" and found.say == (
        "v3 should be made from v1 and v2, but is made from v2 and v1."
    )
    assert REFERENCE["steps"][found.step]["node"] == "v3"


class Wrapped:
    """A value of an engine that makes a node of every number. wrong: an operation whose
    contributions are three times what they should be.
    """

    wrong = None

    def __init__(self, data, parents=(), op="", partials=()):
        self.data, self.grad = float(data), 0.0
        self._prev, self._op, self._partials = parents, op, partials

    def _backward(self):
        for parent, partial in zip(self._prev, self._partials, strict=True):
            parent.grad += partial * self.grad * (3 if self._op == self.wrong else 1)

    def _made(self, op, other, result, ours, theirs):
        return Wrapped(result, (self, other), op, (ours, theirs))

    def __add__(self, other):
        b = wrapped(other)
        return self._made("+", b, self.data + b.data, 1, 1)

    def __mul__(self, other):
        b = wrapped(other)
        return self._made("*", b, self.data * b.data, b.data, self.data)

    def __sub__(self, other):
        b = wrapped(other)
        return self._made("-", b, self.data - b.data, 1, -1)

    def __truediv__(self, other):
        a, b = self.data, wrapped(other)
        return self._made("/", b, a / b.data, 1 / b.data, -a / b.data**2)

    def __pow__(self, other):
        a, b = self.data, wrapped(other)
        return self._made("**", b, a**b.data, b.data * a ** (b.data - 1), 0)

    def __neg__(self):
        return self * -1

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return wrapped(other) - self

    def __rtruediv__(self, other):
        return wrapped(other) / self


def wrapped(value):
    return value if isinstance(value, Wrapped) else Wrapped(value)


NUMBERS = [
    lambda x: x * (x + 1),
    lambda x: (1 + x) * 2,
    lambda x: 2 * x**2,
    lambda x: (x - 1) * (1 - x),
    lambda x: x / 4 + 3 / x,
    lambda x: -x * (-3) - (-2),
    lambda x: (x + 1) * (x + 2) * (x + 1),
    lambda x: x**-1 + x * 5 + x * 5,
]


@pytest.mark.parametrize("f", NUMBERS)
def test_a_node_for_a_number_is_the_number_in_the_operation(f, monkeypatch):
    """In both directions; and what is wrong in such an engine is found where it is wrong."""
    reference, value = trace_function(f, 3.0, mode="reverse"), Wrapped(3.0)
    theirs = viz.trace_of(f(value), names={"x": value})
    for pair in ((reference, theirs), (theirs, reference)):
        assert first_divergence(*pair) is None
        beside = viz.compare(*pair).document["union"]["beside"]
        assert (beside["cells"], beside["only"]) == ([], {})
    union = viz.compare(reference, theirs).document["union"]
    assert [n["id"] for n in union["nodes"]] == [n["id"] for n in reference["nodes"]]
    more = trace_function(lambda x: f(x) + 1, 3.0, mode="reverse")
    found = first_divergence(more, viz.trace_of(f(value) + 2, names={"x": value}))
    assert (found.node, found.column) == (more["outputs"][0], "v")
    monkeypatch.setattr(Wrapped, "wrong", f(value)._op)
    found = first_divergence(reference, viz.trace_of(f(value), names={"x": value}))
    assert found.kind == "value" and found.column == "g"


class InSteps(Wrapped):
    """A value of an engine that has sums, products and powers alone, as many first engines do."""

    def _made(self, *what):
        made = super()._made(*what)
        made.__class__ = InSteps
        return made

    def __sub__(self, other):
        return self + other * -1

    def __rsub__(self, other):
        return self * -1 + other

    def __truediv__(self, other):
        return self * other**-1

    def __rtruediv__(self, other):
        return self**-1 * other


@pytest.mark.parametrize(
    ("f", "within"),
    [
        (lambda x, y: (3 - x) * y, {"v1": [1, 2]}),
        (lambda x, y: x - y, {"v1": [1, 2]}),
        (lambda x, y: x * y - x / y, {"v2": [1, 2], "v3": [1, 2]}),
        (lambda x, y: (3 - x) * -x * y, {"v1": [1, 2]}),  # the same step is a node of both, too
        (lambda x, y: 1 / (2 - (3 - x) * y), {"v1": [1, 2], "v3": [1, 2], "v4": [1, 2]}),
    ],
)
def test_a_value_made_in_more_steps_is_the_same_value(f, within):
    reference = trace_function(f, 2.0, 5.0, mode="reverse")
    inputs = dict(zip(reference["inputs"], map(InSteps, (2.0, 5.0)), strict=True))
    theirs = viz.trace_of(f(*inputs.values()), names=inputs)
    assert first_divergence(reference, theirs) is None is first_divergence(theirs, reference)
    for pair, order in (((reference, theirs), 1), ((theirs, reference), -1)):
        shown = viz.compare(*pair, names=("a", "b"))
        beside = shown.document["union"]["beside"]
        assert [*beside["within"].values()] == [both[::order] for both in within.values()]
        assert beside["cells"] == [] and {*beside["only"].values()} == {1 if order == 1 else 0}
        assert repr(shown) == "a and b agree in every value."
        born = [node["id"] for node in shown.document["union"]["nodes"]]
        ends = [(edge["src"], edge["dst"]) for edge in shown.document["union"]["edges"]]
        assert all(born.index(src) < born.index(dst) for src, dst in ends)


def test_a_wrong_value_or_a_wrong_rule_in_more_steps_is_a_difference(monkeypatch):
    reference = trace_function(lambda x: 3 - x, 2.0, mode="reverse")
    x = InSteps(2.0)
    assert first_divergence(reference, viz.trace_of(x * -1 + 4, names={"x": x})).kind == "structure"
    monkeypatch.setattr(InSteps, "wrong", "*")
    x = InSteps(2.0)
    found = first_divergence(reference, viz.trace_of(3 - x, names={"x": x}))
    assert (found.node, found.column, found.expected, found.got) == ("x", "g", -1, -3)
    said = repr(viz.compare(reference, viz.trace_of(3 - x, names={"x": x}), names=("a", "b")))
    assert said.endswith(" Steps for v1: 1 in a, 2 in b.")


@pytest.mark.parametrize(
    ("own", "kind"),
    [
        (lambda x: x + -3.0, InSteps),
        (lambda x: InSteps(3.0) * -1 + x, InSteps),
        (lambda x: x - 3.0, Wrapped),
    ],
)
def test_a_difference_the_other_way_round_is_told_by_its_value_however_it_is_made(own, kind):
    """A wrong `__rsub__`."""
    reference = trace_function(lambda x: (3 - x) * x, 2.0, mode="reverse")
    x = kind(2.0)
    theirs = viz.trace_of(own(x) * x, names={"x": x})
    found = first_divergence(reference, theirs)
    shown = viz.compare(reference, theirs).document["union"]["beside"]["cells"]
    assert ["v1", "v", -1] in shown and ["v2", "v", -2] in shown, "both values in one card"
    assert (found.kind, found.node, found.column, found.got) == ("value", "v1", "v", -1)
    assert found.say == (
        "The value of v1 should be 1, but is −1. That is x − 3: the operands are swapped."
    )


def test_a_quotient_the_other_way_round_is_told_too():
    reference = trace_function(lambda x: 3 / x + x, 2.0, mode="reverse")
    x = InSteps(2.0)
    found = first_divergence(reference, viz.trace_of(x * 3.0**-1 + x, names={"x": x}))
    assert (found.kind, found.node) == ("value", "v1")
    assert found.say.endswith("That is x / 3: the operands are swapped.")
    assert found.swapped == "x / 3"


def test_an_input_that_nothing_reads_is_no_counterpart_of_a_constant():
    reference = trace_function(lambda x, y: x * x + 2, 2.0, 5.0, mode="reverse")
    x = Wrapped(2.0)
    theirs = viz.trace_of(x * x + Wrapped(2.0), names={"x": x})
    assert "y" not in twins(reference, theirs)[0]
    assert first_divergence(reference, theirs) is None is first_divergence(theirs, reference)


def test_a_number_that_the_engine_names_is_no_input():
    """A student's `one = Value(1.0)` is the reference's 1."""
    x, one = Wrapped(3.0), Wrapped(1.0)
    theirs = viz.trace_of(x * (x + one), names={"x": x, "one": one})
    assert first_divergence(trace_function(NUMBERS[0], 3.0, mode="reverse"), theirs) is None


def test_an_operation_is_never_told_to_be_made_by_an_input():
    reference = trace_function(lambda x: mg.exp(x) + x, 1.0)
    found = first_divergence(reference, trace_function(lambda x, y: mg.exp(x) * y, 1.0, 2.0))
    assert found.say == "The two are computed by different operations."


def test_operations_are_named_only_of_nodes_that_stand_in_the_same_place():
    """That have the same operands and lead to the same: else they are only left over."""
    reference = trace_function(lambda x: mg.exp(mg.sin(x)) * 2, 1.0)
    found = first_divergence(reference, trace_function(lambda x: mg.exp(mg.cos(x)) * 2, 1.0))
    assert found.say == "v1 should be made by sin, but is made by cos."
    for other in (lambda x: mg.cos(x) * mg.exp(x), lambda x: mg.cos(x * x)):
        found = first_divergence(reference, trace_function(other, 1.0))
        assert (found.kind, found.node, found.step) == ("structure", None, None)
        assert found.say == "The two are computed by different operations."


UNARY = {name: getattr(mg, name) for name in ("sin", "cos", "tanh", "exp", "sigmoid")}
BINARY = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "sub": lambda a, b: a - b}


def computed(rows):
    """The function of rows [operation, operands], of which -1 is the input."""

    def f(x):
        made = {-1: x}
        for i, (op, operands) in enumerate(rows):
            made[i] = (UNARY | BINARY)[op](*(made[one] for one in operands))
        return made[len(rows) - 1]

    return f


def tree(rows, at=None):
    at = len(rows) - 1 if at is None else at
    return "x" if at < 0 else (rows[at][0], *(tree(rows, one) for one in rows[at][1]))


def without(rows, at, operand):
    """The rows without one, in whose place an operand stands."""
    moved = lambda one: moved(operand) if one == at else one - (one > at)
    kept = [(op, operands) for i, (op, operands) in enumerate(rows) if i != at]
    return [(op, [moved(one) for one in operands]) for op, operands in kept]


@st.composite
def one_edit(draw):
    """The rows of a program in which each row is used, and of the same one with a row that is
    replaced, added or taken away."""

    def row(i):
        op = draw(st.sampled_from([*UNARY, *BINARY] if i else [*UNARY]))
        return op, [i - 1, *([draw(st.integers(-1, i - 2))] if op in BINARY else [])]

    rows = [row(i) for i in range(draw(st.integers(3, 9)))]
    at = draw(st.integers(0, len(rows) - 1))
    if draw(st.booleans()):
        op, operands = rows[at]
        ops = UNARY if op in UNARY else BINARY
        other = draw(st.sampled_from([name for name in ops if name != op]))
        return rows, [*rows[:at], (other, operands), *rows[at + 1 :]]
    first = without(rows, at, rows[at][1][0])
    return draw(st.permutations([rows, first]))


@given(one_edit(), st.floats(0.3, 0.9))
def test_of_two_graphs_that_differ_in_one_operation_it_is_named(pair, x):
    """With it changed, both are one graph."""
    first, second = pair
    assume(tree(first) != tree(second))
    traces = [trace_function(computed(rows), x, mode="primal") for rows in pair]
    values = {
        tree(rows, i - 1): float(step["writes"][0][2])
        for rows, trace in zip(pair, traces, strict=True)
        for i, step in enumerate(trace["steps"])
    }
    apart = sorted(values.values())
    assume(all(b - a > 1e-4 for a, b in itertools.pairwise(apart)))  # none by chance
    found = first_divergence(*traces)
    at = [n["id"] for n in traces[found.kind == "extra"]["nodes"] if "op" in n].index(found.node)
    if found.kind == "structure":
        assert found.expected == first[at][0]
        changed = [*first[:at], (found.got, first[at][1]), *first[at + 1 :]]
        assert tree(changed) == tree(second)
        return
    assert len(first) != len(second)
    longer, shorter = (second, first) if found.kind == "extra" else (first, second)
    op, operands = longer[at]
    assert op == (found.got if found.kind == "extra" else found.expected)
    assert tree(shorter) in [tree(without(longer, at, one)) for one in operands]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            lambda x: mg.log(mg.sin(mg.cos(mg.exp(x)))),
            "v2 should be made by sin, but is made by cos.",
        ),
        (lambda x: mg.log(mg.cos(mg.sin(mg.exp(x) * 2))), "There is an extra mul of v1."),
        (lambda x: mg.log(mg.cos(mg.exp(x))), "v2, the sin of v1, is missing."),
        (lambda x: mg.tanh(mg.cos(mg.sin(mg.exp(x) * 2))), "There is an extra mul of v1."),
        (lambda x: mg.cos(x) * x, "The two are computed by different operations."),
    ],
)
def test_the_first_operation_in_which_two_chains_differ_is_named(other, said):
    reference = trace_function(lambda x: mg.log(mg.cos(mg.sin(mg.exp(x)))), 0.1)
    assert first_divergence(reference, trace_function(other, 0.1)).say == said


def test_graphs_of_many_operations_are_compared_in_a_moment():
    def chain(op, more):
        def f(x):
            for i in range(300):
                x = mg.sin(x) if i % 3 else op(x) + x
            return more(x)

        return f

    one = trace_function(chain(mg.cos, lambda x: x), 0.5, mode="primal")
    began = time.perf_counter()
    for op, more, said in (
        (mg.tanh, lambda x: x, "v1 should be made by cos, but is made by tanh."),
        (lambda x: mg.exp(mg.cos(x)), mg.exp, "The two are computed by different operations."),
    ):
        two = trace_function(chain(op, more), 0.5, mode="primal")
        assert first_divergence(one, two).say == said
    assert time.perf_counter() - began < 30, "seconds"


def test_extra_and_missing_nodes():
    longer = trace_function(lambda a, b: (mg.log(a) + a * b - mg.sin(b)) * 2, 2.0, 5.0)
    found = first_divergence(REFERENCE, longer)
    assert (
        found.kind == "extra" and found.node == "v6" and found.say == "There is an extra mul of v5."
    )
    found = first_divergence(longer, REFERENCE)
    assert found.kind == "missing" and found.node == "v6"


def test_arrays_shapes_nan_and_complex():
    g = lambda x: (x * x).sum()
    reference = trace_function(g, [1.0, 2.0, 3.0])
    other = trace_function(g, [1.0, 2.0, 4.0])
    found = first_divergence(reference, other)
    assert found.step == 0 and found.node == "x"
    assert first_divergence(reference, trace_function(g, [[1.0, 2.0, 3.0]])).kind == "value"
    with np.errstate(all="ignore"):
        broken = trace_function(lambda x: mg.log(x) * 0.0, 0.0)
        assert first_divergence(broken, copy.deepcopy(broken)) is None
        assert first_divergence(broken, trace_function(lambda x: mg.log(x) * 0.0, 1.0)) is not None
    z = trace_function(lambda z: (z * z).real.sum(), np.array([1 + 2j]))
    assert first_divergence(z, copy.deepcopy(z)) is None
    assert (
        first_divergence(z, trace_function(lambda z: (z * z).real.sum(), np.array([1 - 2j]))).node
        == "z"
    )


def test_two_numbers_that_are_written_alike_are_told_apart():
    reference, other = (trace_function(lambda x: x * 1.0, v, mode="primal") for v in (2.0, 2.0001))
    found = first_divergence(reference, other)
    assert found.say == "The value of x should be 2, but is 2. The difference is 0.0001."


def test_a_difference_beyond_the_sample_shows_in_the_summary():
    reference = trace_function(lambda x: (x * x).sum(), np.arange(20.0), mode="primal")
    values = np.arange(20.0)
    values[19] = 18.0
    found = first_divergence(
        reference, trace_function(lambda x: (x * x).sum(), values, mode="primal")
    )
    assert found.step == 0 and found.say.endswith(" They differ in elements that are not shown.")


def test_the_first_entry_that_differs_is_told():
    """Also where it stands far behind; what rounding alone has changed does not count."""
    values = np.arange(12.0)
    values[1], values[7] = 1 + 1e-15, 0.5
    reference, other = (
        trace_function(lambda x: x.sum(), x, mode="primal") for x in (np.arange(12.0), values)
    )
    assert first_divergence(reference, other).say == (
        "The value of x at [7] should be 7, but is 0.5. Entries that differ: 1 of 12."
    )
    squares = lambda x: (x * x).sum()
    wrong = trace_function(squares, np.arange(20.0).reshape(4, 5), mode="reverse")
    reference = copy.deepcopy(wrong)
    sample = wrong["steps"][-1]["contribs"][0]["product"]["sample"]
    sample[3], sample[6] = sample[3] * 2, 0.0
    assert first_divergence(reference, wrong).say == (
        "v1 should send 3 to the adjoint of x at [0, 3], but sends 6. Entries that differ: ≥ 2 of"
        " 20."
    ), "a Trace tells the first 16 of 20"


def test_a_divergence_is_a_record():
    found = first_divergence(REFERENCE, changed(lambda t: t["edges"].pop(0)))
    assert isinstance(found, Divergence) and found.edge is None
    with pytest.raises(AttributeError):
        found.kind = "value"
