"""Differential tests: random expression graphs in both modes, twice differentiated; random programs
with views and in-place operations.

With PyTorch every program is compared with it; without it the graphs' modes are compared with each
other, and the in-place programs with a naive machine that has no graph. A failure prints the
smallest program that fails.

More of them with PyTorch, from a seed on:
python -m tests.core.test_random_programs 1000 30000
"""

import collections
import functools
import sys

import numpy as np
import pytest

import minigrad as mg
from minigrad.core import views
from minigrad.ops import elementwise
from tests.helpers import random_expressions as graphs
from tests.helpers import random_inplace_programs as programs


@pytest.fixture(autouse=True)
def quiet():
    """Random programs divide by zero and overflow; what counts is that all machines get the
    same.
    """
    with np.errstate(all="ignore"):
        yield


# -------------------------------------------------------------------------------- expression graphs


def check_graphs(seeds, torch=None):
    for seed in seeds:
        graph = graphs.generate(seed)
        if graphs.disagreements(graph, torch):
            small = graphs.shrink(graph, lambda g: bool(graphs.disagreements(g, torch)))
            lines = "\n".join(map(str, small))
            pytest.fail(f"graph of seed {seed}:\n{lines}\n{graphs.disagreements(small, torch)}")


@pytest.mark.parametrize("block", range(3))
def test_graphs_agree_in_both_modes(block):
    """Gradient against tangent, and Hessian-vector products by all nestings of the modes."""
    check_graphs(range(20 * block, 20 * block + 20))


@pytest.mark.oracle
@pytest.mark.parametrize("first", [1000, 1050, pytest.param(1100, marks=pytest.mark.whole)])
def test_graphs_agree_with_pytorch(first, torch):
    check_graphs(range(first, first + 50), torch)


def test_graphs_are_what_they_claim_to_be():
    """20 to 60 statements, of every kind, reproducible."""
    made = [graphs.generate(seed) for seed in range(50)]
    assert all(20 <= len(g) <= 60 for g in made)
    kinds = collections.Counter(statement[0] for g in made for statement in g)
    assert set(kinds) == {
        "input",
        "unary",
        "binary",
        "reduce",
        "method",
        "index",
        "matmul",
        "stack",
        "cat",
    }
    assert {s[1] for g in made for s in g if s[0] == "unary"} == set(graphs.UNARY)
    assert {s[1] for g in made for s in g if s[0] == "binary"} == set(graphs.BINARY)
    assert made[7] == graphs.generate(7)


def test_a_wrong_rule_is_found_by_graphs(monkeypatch):
    """The comparison has teeth: one derivative scaled by 1.0001 is seen without any oracle,
    because the modes then disagree.
    """
    rule = elementwise.tanh.pull_rules[0]
    wrong = type(rule).__new__(type(rule))
    wrong.sources, wrong.keywords, wrong.function = (
        rule.sources,
        rule.keywords,
        lambda g, y: rule.function(g, y) * 1.0001,
    )
    wrong.upcasting = wrong.function
    monkeypatch.setattr(elementwise.tanh, "pull_rules", (wrong,))
    monkeypatch.setattr(elementwise.tanh, "push_rules", (rule,))
    assert any(graphs.disagreements(graphs.generate(seed)) for seed in range(10))


# -------------------------------------------------------------------------------- in-place programs


def check_programs(seeds, length, torch=None):
    """Judge programs; returns how often each verdict was given."""
    words = collections.Counter()
    for seed in seeds:
        program = programs.generate(seed, length)
        judges = [lambda p: programs.judge(p, torch)]
        for forward in ("alone", "over a graph"):
            judges.append(functools.partial(programs.judge_forward, forward=forward))
        for judge in judges:
            verdict = judge(program)
            words[verdict.word] += judge is judges[0]
            if verdict.word == "DISAGREE":
                small = programs.shrink(program, lambda p, judge=judge: judge(p).word == "DISAGREE")
                lines = "\n".join(map(str, small))
                pytest.fail(f"program of seed {seed}:\n{lines}\n{judge(small).why}")
    return words


@pytest.mark.parametrize("length", [8, 14, 24])
def test_programs_agree_with_the_naive_machine(length):
    words = check_programs(range(100), length)
    assert words["agree"] > 20  # most others are refused: something saved was overwritten


@pytest.mark.oracle
@pytest.mark.parametrize("length", [8, 14, 24, pytest.param(30, marks=pytest.mark.whole)])
def test_programs_agree_with_pytorch(length, torch):
    words = check_programs(range(5000, 5100), length, torch)
    assert words["agree"] > 5
    # Where minigrad alone refuses, it is because the target shares its elements (expanded memory),
    # which PyTorch lets pass in part.
    assert words["minigrad refuses"] < 20
    assert words["other layouts"] < 5


def test_refusals_speak_of_expanded_memory_or_of_overwritten_values():
    """Without an oracle: every refusal is one of the documented ones, in words."""
    known = (
        "in place",
        "share one memory",
        "may only be read",
        "does not fit the target",
        "does not broadcast",
        "no_grad",
        "leaf",
    )
    for seed in range(150):
        verdict = programs.judge(programs.generate(seed, 16))
        assert verdict.error is None or any(words in str(verdict.error) for words in known), (
            verdict.why
        )


def test_a_forgotten_view_is_found_by_programs(monkeypatch):
    """The comparison has teeth: an engine whose views do not follow their base is caught."""
    assert (
        programs.judge(
            [("leaf", (2,)), ("clone", 0), ("view", "index", 1, (0,)), ("inplace", "mul_", 1, 3.0)]
        ).word
        == "agree"
    )
    monkeypatch.setattr(views.View, "refresh", lambda self, tensor: None)
    assert any(programs.judge(programs.generate(seed, 14)).word == "DISAGREE" for seed in range(60))


KEPT = {
    "a number's window": [("leaf", ()), ("clone", 0), ("view", "index", 1, ()),
        ("inplace", "add_", 2, 2.0)],
    "a number's window by permute": [("leaf", ()), ("clone", 0), ("view", "permute", 1, ()),
        ("inplace", "-=", 2, 2)],
    "a cotangent in another layout": [
        ("const", (3, 3)), ("leaf", (3,)), ("view", "permute", 0, (1, 0)), ("inplace", "+=", 2, 1),
        ("view", "flatten", 0, None),
        ("view", "index", 2, (1, slice(1, 2, 1), None)), ("inplace", "relu_", 3, None),
    ],
    "a base in transposed memory": [
        ("leaf", (2, 3)), ("view", "permute", 0, (1, 0)), ("binary", "add", 1, 1),
        ("view", "permute", 2, (1, 0)),
        ("view", "flatten", 3, None), ("inplace", "mul_", 4, 3.0),
    ],
    "a clone in another layout": [("const", (2, 3, 2)), ("view", "permute", 0, (2, 1, 0)),
        ("clone", 1), ("view", "flatten", 2, None),
                                  ("inplace", "*=", 3, 3)],
    "a number written twice": [("leaf", (3, 3, 3)), ("sum", 0, None),
        ("inplace", "sigmoid_", 1, None), ("set", 1, (), 0.0)],
    "flatten under no_grad": [("leaf", ()), ("clone", 0), ("view", "flatten", 1, None),
        ("no_grad", True), ("view", "flatten", 2, None)],
    "one element of expanded memory": [("const", ()), ("view", "expand", 0, (2,)),
        ("set", 1, (-2,), 0.0)],
    "a vector copied into a number": [("leaf", (1,)), ("const", ()), ("view", "squeeze", 1, None),
        ("inplace", "copy_", 2, 0)],
}  # fmt: skip
"""Programs that were once wrong, in their smallest form."""


@pytest.mark.parametrize("name", KEPT)
def test_programs_that_were_once_wrong(name):
    assert programs.judge(KEPT[name]).word in ("agree", "minigrad refuses")
    for forward in ("alone", "over a graph"):
        assert programs.judge_forward(KEPT[name], forward).word == "agree"


@pytest.mark.oracle
@pytest.mark.parametrize("name", KEPT)
def test_programs_that_were_once_wrong_on_pytorch(name, torch):
    assert programs.judge(KEPT[name], torch).word != "DISAGREE"


def test_the_machines_leave_recording_on():
    check_programs(range(20), 20)
    assert mg.is_grad_enabled()


def main():
    """As many graphs as the command says, and as many in-place programs, from a seed on (30,000 if
    none is given)."""
    import torch

    count, first = (int(n) for n in (*sys.argv[1:], "30000")[:2])
    with np.errstate(all="ignore"):
        check_graphs(range(first, first + count), torch)
        print(check_programs(range(first, first + count), 16, torch))


if __name__ == "__main__":
    main()
