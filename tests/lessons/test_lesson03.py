"""Lesson 3: what it says is so, and its exercises judge as they should."""

import math
from pathlib import Path

import pytest
from minigrad.lessons.exercises.lesson03 import EXERCISES, colleague, f
from minigrad.lessons.grading import check, predict
from minigrad.lessons.grading.checking import check_exercise

import minigrad as mg
from minigrad.trace import first_divergence, state_at
from minigrad.watch import trace_function

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "03_the_algorithm.ipynb"


def test_the_sheet_is_fit_to_grade_with(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


def test_the_numbers_of_the_text(scope):
    assert scope["x4"].value == pytest.approx(math.e * (math.e + 1))
    x = scope["Node"](1.0)
    y = scope["exp"](x)
    first = scope["derivative"](y * (y + 1.0), x)
    assert first.value == pytest.approx(math.e * (2 * math.e + 1), rel=1e-14)
    assert scope["derivative"](first, x).value == pytest.approx(4 * math.e**2 + math.e, rel=1e-14)
    second = scope["mg"].func.grad(scope["mg"].func.grad(f))(
        scope["mg"].tensor(1.0, dtype=scope["mg"].float64)
    )
    assert second.item() == pytest.approx(4 * math.e**2 + math.e, rel=1e-14)


def test_the_second_derivative_says_what_is_missing(scope, capsys):
    scope["second_derivative"]()
    assert "second derivative: 32.27" in capsys.readouterr().out
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(scope, "exp", lambda a: None)
        scope["attempt"](scope["second_derivative"])
    assert "Not yet: one of your functions returned nothing" in capsys.readouterr().out


def test_the_colleagues_first_wrong_step_is_the_one_that_overwrites():
    def with_a_number(x1):  # as the instructor's guide has it
        x2 = mg.exp(x1)
        return x2 * (x2 + 1)

    for reference in (f, with_a_number):
        parting = first_divergence(trace_function(reference, 1.0, mode="reverse"), colleague())
        assert (parting.node, parting.column, parting.got) == ("v1", "g", pytest.approx(math.e))
        assert parting.expected == pytest.approx(2 * math.e + 1)
    assert state_at(colleague(), len(colleague()["steps"])).cells["x1", "g"] == pytest.approx(
        math.e**2
    )


def test_the_lessons_function_is_the_exercises(scope):
    shown, asked = (trace_function(g, 1.0, mode="reverse") for g in (scope["f"], f))
    written = [[[cell[1:] for cell in s["writes"]] for s in t["steps"]] for t in (shown, asked)]
    assert written[0] == written[1], "whatever the constant is called"


@pytest.mark.parametrize("name, wrong, word", [
    ("parts-of-x2", 1, "two arrows"), ("bar-x2", math.e + 1, "what x4 sends"),
    ("bar-x2", math.e, "what x3 sends"),
    ("overwritten", 17.496394026, "right gradient"), ("overwritten", 10.1073, "stays"),
])  # fmt: skip
def test_slips_of_predictions_are_recognised(name, wrong, word):
    assert word in str(predict(name, wrong))


def test_an_order_by_recursion_is_right_but_for_the_long_chain():
    def topological_order(output):
        found = []

        def visit(node):
            if node not in found:
                for parent in node.parents:
                    visit(parent)
                found.append(node)

        visit(output)
        return found

    said = check("topological_order", topological_order)
    assert said.points == 3
    assert "RecursionError" in str(said)


def test_nodes_of_no_graph_are_reported():
    assert "no node" in str(check("topological_order", lambda output: [output, 3, *output.parents]))


def test_gradients_of_bystanders_must_be_zero(scope):
    def gradients(order, wanted):
        return scope["gradients"](order, [w for w in wanted if w in order])

    said = check("gradients", gradients)
    assert not said.passed
    assert "no influence (0 of 1)" in str(said)


def test_gradients_that_overwrite_are_named():
    def gradients(order, wanted):
        grad = {order[-1]: 1.0}
        for node in reversed(order):
            if node.parents:
                grad.update(zip(node.parents, node.pull(grad[node]), strict=True))
        return [grad.get(w, 0.0) for w in wanted]

    said = check_exercise(EXERCISES["gradients"], [gradients], seed=3)
    assert said.points == pytest.approx(2)  # single operations, no influence
    assert "overwrit" in str(said) or "last" in str(said)
    assert said.trace is not None


def test_gradients_that_are_no_list_of_the_right_length_are_reported():
    def as_dictionary(order, wanted):
        return dict.fromkeys(wanted, 0.0)

    assert "wanted nodes, but returned something of the type dict" in str(
        check("gradients", as_dictionary)
    )
    assert "but returned one of length 1" in str(check("gradients", lambda order, wanted: [0.0]))


def test_a_node_that_is_no_key_is_shown_as_a_node():
    said = str(check("gradients", lambda order, wanted: [{order[-1]: 1.0}[w] for w in wanted]))
    assert "KeyError: <" in said
    assert " object at 0x" not in said


def test_an_exponential_as_a_constant_is_named(scope):
    node = scope["Node"]

    def exp(a):
        value = math.exp(a.value)
        return node(value, (a,), lambda g: (scope["mul"](g, value),), "exp")

    said = check("graph-rules", scope["mul"], exp)
    assert said.points == 2
    assert "constant for the next derivative" in str(said)


def test_rules_with_numbers_lose_the_second_derivative_only(scope):
    node = scope["Node"]

    def mul(a, b):
        a, b = scope["as_node"](a), scope["as_node"](b)
        return node(
            a.value * b.value,
            (a, b),
            lambda g: (getattr(g, "value", g) * b.value, getattr(g, "value", g) * a.value),
            "mul",
        )

    def exp(a):
        value = math.exp(a.value)
        return node(value, (a,), lambda g: (getattr(g, "value", g) * value,), "exp")

    said = check("graph-rules", mul, exp)
    assert said.points == 2
    assert "plain number" in str(said)


def test_operators_may_be_used_in_rules(scope):
    node = scope["Node"]

    def exp(a):
        y = node(math.exp(a.value), (a,), None, "exp")
        y.pull = lambda g: (g * y,)
        return y

    assert check("graph-rules", scope["mul"], exp).passed
