"""The source that a Trace of a module shows: the user's `forward`, never the library's code."""

from __future__ import annotations

import pytest

import minigrad as mg
from minigrad import nn
from minigrad.watch import trace_function

X = mg.tensor([[1.0, 2.0]])


class Net(nn.Module):
    """Two layers."""

    def __init__(self):
        self.l1, self.l2 = nn.Linear(2, 3), nn.Linear(3, 1)

    def forward(self, x):
        """The output of both layers."""
        h = mg.tanh(self.l1(x))
        return self.l2(h).sum()


class Pair(nn.Sequential):
    """Layers in order, without a `forward` of its own."""


def test_the_source_of_a_module_is_its_forward_with_the_expression_of_each_operation():
    trace = trace_function(Net(), X)
    lines = trace["source"]["code"].split("\n")
    assert lines[0] == "def forward(self, x):"
    spans = {n["id"]: n["span"] for n in trace["nodes"] if n["kind"] == "op"}
    spans["y"] = next(node["span"] for node in trace["nodes"] if node["kind"] == "output")
    found = [lines[line - 1][start:end] for line, start, _, end in spans.values()]
    assert found == ["self.l1(x)", "mg.tanh(self.l1(x))", "self.l2(h)", "self.l2(h).sum()"]
    assert trace["inputs"] == ["x"]
    assert any(node.get("name") == "h" for node in trace["nodes"])


@pytest.mark.parametrize(
    "f",
    [
        nn.Linear(2, 3),
        nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)),
        Pair(nn.Linear(2, 3), nn.Tanh()),
        nn.functional.softmax,
    ],
    ids=["a layer", "layers in order", "a subclass", "a function"],
)
def test_the_librarys_code_is_not_shown_as_the_users_source(f):
    trace = trace_function(f, X, mode="forward")
    assert "source" not in trace
    assert all("span" not in node for node in trace["nodes"])
