"""Lesson 7: what it says is so, and its exercises judge as they should."""

import math
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.grading import check, predict

import minigrad as mg
from minigrad.networks import backward_network

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "07_grad_operation.ipynb"


def test_the_sheet_is_fit_to_grade_with(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


def test_the_numbers_of_the_text(scope):
    slope = -math.sin(math.sin(1)) * math.cos(1)
    x = mg.tensor(1.0, dtype=mg.float64)
    assert scope["gradient_of_net"](x).item() == pytest.approx(slope, rel=1e-14)
    assert sum(n.op is not None for n in scope["network"].of_order(1)) == 5
    assert scope["df"][scope["w"]].item() + scope["dx"].item() == 27


def test_what_dangles_in_the_second_derivative_of_the_sine_is_the_first(scope):
    network = backward_network(scope["sine"], 1.0, order=2)
    assert [n.expression for n in network.dangling] == ["cos x", "v · v2"]


def test_the_students_rule_is_the_one_that_the_engine_uses(scope):
    ids = [n.expression for n in backward_network(lambda x: scope["Tan"]()(x), 0.7).of_order(1)]
    assert ids[1:] == ["v1 · v1", "1 + v2", "v · v3"]


def shared_list(ks):
    bprops = []

    def k(x):
        for each in ks:
            x, bprop = each(x)
            bprops.append(bprop)

        def back(dout):
            for bprop in reversed(bprops):
                dout = bprop(dout)
            return dout

        return x, back

    return k


def wrong_way(ks):
    def k(x):
        bprops = []
        for each in ks:
            x, bprop = each(x)
            bprops.append(bprop)

        def back(dout):
            for bprop in bprops:
                dout = bprop(dout)
            return dout

        return x, back

    return k


@pytest.mark.parametrize("answer, points, word", [
    (shared_list, 3, "one list of pullbacks serves all runs"),
    (wrong_way, 1, "from the first to the last"),
    (lambda ks: (1, 2), 0, "the pullback, which is a function"),
])  # fmt: skip
def test_wrong_chains_get_the_reason(answer, points, word):
    said = check("chain", answer)
    assert said.points == points
    assert word in str(said)


@pytest.mark.parametrize("name, rule, points, word", [
    ("bprop_tan", lambda x, out, dout: (dout / mg.cos(x) ** 2,), 2, "reads x"),
    ("bprop_tan", lambda x, out, dout: dout * (1 + out * out), 0, "with the comma"),
    ("bprop_exp", lambda x, out, dout: (out,), 0, "left out"),
    ("bprop_exp", lambda x, out, dout: (dout * mg.exp(x),), 2, "reads x"),
])  # fmt: skip
def test_wrong_rules_get_the_reason(name, rule, points, word):
    said = check(name, rule)
    assert said.points == points, str(said)
    assert word in str(said)


def test_each_choice_of_grad_operation_is_judged_by_itself():
    every = mg.GradOperation(get_all=True)
    assert check("choices", {"a": mg.GradOperation()}).points == 0.5
    assert "missing" in str(
        check(
            "choices",
            dict(
                zip(
                    "abcde",
                    [
                        mg.GradOperation(),
                        every,
                        *[mg.GradOperation(get_by_list=True)] * 2,
                        mg.GradOperation(True, False, True),
                    ],
                    strict=True,
                )
            ),
        )
    )
    assert "should be a GradOperation" in str(check("choices", {"a": np.zeros(2)}))


def test_slips_are_recognised():
    assert "as a free variable" in str(predict("both-ways", 18))
    assert "The seed is given" in str(predict("nodes-added", 6))
    assert "outer derivative" in str(predict("sincos-gradient", -math.sin(1) * math.cos(1)))
