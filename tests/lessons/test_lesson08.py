"""Lesson 8: what it says is so, and its exercises judge as they should."""

from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.grading import check, predict
from minigrad.lessons.grading.sheet import load_sheet
from minigrad.lessons.grading.sheet_report import examine

import minigrad as mg
from minigrad.networks import jvp_network

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "08_jvp_from_vjp.ipynb"


@pytest.mark.whole
def test_the_sheet_is_fit_to_grade_with(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


@pytest.mark.whole
def test_the_sheet_is_fit_to_grade_with_on_other_cases():
    report = examine(load_sheet(LESSON), seed=1)
    assert report.ok, str(report)
    assert not any(report.missed.values()), report.missed


@pytest.mark.parametrize("name", ["net", "f", "wave", "layers", "quotient", "powers"])
def test_a_blue_node_dangles_exactly_if_it_depends_on_v(scope, name):
    more = {
        "quotient": lambda a, b: mg.tanh(a) / b,
        "powers": lambda x: x**3 * mg.exp(-x) + mg.sqrt(x),
    }
    points = {"f": (2.0, 5.0), "layers": (scope["point"],), "quotient": (1.0, 2.0)}.get(
        name, (0.7,)
    )
    network = jvp_network(more.get(name) or scope[name], *points)
    blue = {n.id for n in network.of_order(1)}
    assert blue & {n.id for n in network.dangling} == blue & network.depending_on("v")
    assert {n.id for n in network.dangling} <= blue


def test_without_the_dangling_nodes_it_costs_what_forward_mode_costs(scope):
    for f, point in ((scope["net"], 1.0), (scope["layers"], scope["point"])):
        network, forward = jvp_network(f, point), mg.count_operations(f, point, mode="jvp").total
        assert (
            network.cost(dangling=False).operations
            == forward.operations
            < network.cost().operations
        )
        assert (
            network.cost().operations
            == mg.count_operations(f, point, mode="double backward").total.operations
        )


def test_the_numbers_of_the_text(scope):
    assert scope["Ju"].item() == pytest.approx(-0.4029, abs=5e-5)
    assert {n.id for n in scope["jvp_network"](scope["f"], 2.0, 5.0).of_order(1)} - scope[
        "dangling_nodes"
    ] == {"v7"}


@pytest.mark.parametrize("test, points, word", [
    (lambda g, u, w: np.allclose(g(u + w), g(u) + g(w)) and np.allclose(g(-u), -g(u)), 3, "right"),
    (lambda g, u, w: np.allclose(g(2 * u), 2 * g(u)), 1, "multiples only"),
    (lambda g, u, w: np.allclose(g(2 * u), 2 * g(u)) and np.allclose(g(-u), -g(u)), 1,
        "sums can still go wrong"),
    (lambda g, u, w: np.allclose(g(0 * u), 0), 0, "whether zero goes to zero"),
    (lambda g, u, w: 1, 0, "True or False"),
])  # fmt: skip
def test_tests_for_linearity(test, points, word):
    said = check("looks_linear", test)
    assert said.points == points, str(said)
    assert word in str(said)


def test_what_is_said_of_marked_nodes_names_them():
    assert "all of the first pass" not in str(check("marked", ["v", "v3", "v4", "v6", "v7"]))
    assert "`v5` does not dangle: `v8` uses it" in str(
        check("marked", ["v", "v3", "v4", "v5", "v6", "v7"])
    )
    assert "`dx` does not dangle" in str(check("marked", ["v", "dx"])), "names keep their case"
    assert "4 more nodes dangle." in str(check("marked", ["v7"]))
    assert "1 more node dangles." in str(check("marked", ["v3", "v4", "v6", "v7"]))
    assert "no node 'w'" in str(check("marked", ["w"]))
    assert check("marked", ["v7", "v6", "v4", "v3", "v"]).passed


def recursive(operands, outputs):
    needed = set()

    def visit(name):
        if name not in needed:
            needed.add(name)
            for operand in operands[name]:
                visit(operand)

    for name in outputs:
        visit(name)
    return [name for name in operands if name not in needed]


def test_finding_them_all():
    assert check("dangling", recursive).points == 3
    assert "RecursionError" in str(check("dangling", recursive))
    unused = check(
        "dangling",
        lambda operands, outputs: [
            n for n in operands if n not in outputs and not any(n in o for o in operands.values())
        ],
    )
    assert "only nodes that nothing uses" in str(unused)


def twice(f, x, u):
    """J u: Jᵀ w differentiated by w."""
    y = f(x)
    w = mg.zeros_like(y).requires_grad_()
    (back,) = mg.autograd.grad(y, x, w, create_graph=True)
    return mg.autograd.grad(back, w, u)[0]


def by_x(f, x, u):
    (g,) = mg.autograd.grad(y := f(x), x, grad_outputs=mg.ones_like(y), create_graph=True)
    return mg.autograd.grad(g, x, grad_outputs=u)[0]


def test_slips_are_recognised():
    assert "the second pass differentiates it" in str(predict("another-seed", -40.286)).lower()
    assert "every blue node" in str(predict("blue-dangling", 6))
    assert "differentiates with respect to x" in str(check("jvp_from_vjp", by_x))
    assert "J times ones" in str(
        check("jvp_from_vjp", lambda f, x, u: twice(f, x, mg.ones_like(u)))
    )
