"""A pooling of several stages is one step, in each mode, and its numbers are the engine's."""

from typing import Any

import numpy as np
import pytest

import minigrad as mg
import minigrad.nn.functional as F
from minigrad.autograd import grad
from minigrad.trace import validate
from minigrad.trace.text import text_of
from minigrad.utils.checkpoint import checkpoint
from minigrad.watch.trace import trace_function

X = np.random.default_rng(0).integers(-3, 4, (2, 2, 4, 6)) / 2.0
UNEVEN = np.random.default_rng(3).normal(size=(1, 1, 5, 3))
CUBES = np.random.default_rng(1).integers(-3, 4, (1, 1, 4, 4, 4)) / 2.0
BAR, DOT = "\u0304", "\u0307"


def final(trace: Any, node: str, column: str) -> Any:
    found = [w[2] for s in trace["steps"] for w in s["writes"] if w[:2] == [node, column]]
    return np.reshape(found[-1].get("elements", found[-1]["sample"]), found[-1]["shape"])


def formulas(trace: Any, node: str) -> dict[str, str]:
    return {s["phase"]: text_of(s["formula"]) for s in trace["steps"] if s["node"] == node}


CHOSEN = "x.[argmax of each window of x]"
PLACED = "scatter(v-1 at argmax of each window of x, 0 elsewhere)"
ADDED = PLACED.replace("scatter", "scatter_add")
SPREAD = "scatter({} at every element of each window, 0 elsewhere)"
SUMMED = SPREAD.replace("scatter", "scatter_add")
"""Where windows overlap, parts are added."""


@pytest.mark.parametrize(
    ("f", "x", "op", "value", "push", "pull"),
    [
        (
            lambda x: F.max_pool2d(x, 2).square().sum(), X, "max_pool2d",
            "max_pool2d(x, size 2×2)", CHOSEN, PLACED,
        ),
        (
            lambda x: F.max_pool2d(x, (2, 3), stride=1, padding=(1, 0)).square().sum(), X,
            "max_pool2d", "max_pool2d(x, size 2×3, stride 1, padding 1, 1, 0, 0)", CHOSEN,
            ADDED,
        ),
        (
            lambda x: F.max_pool3d(x, 2).square().sum(), CUBES, "max_pool3d",
            "max_pool3d(x, size 2×2×2)", CHOSEN, PLACED,
        ),
        (
            lambda x: F.avg_pool2d(x, 2, padding=1).square().sum(), X, "avg_pool2d",
            "avg_pool2d(x, size 2×2, padding 1)", "avg_pool2d x.", SPREAD.format("v-1 / 4"),
        ),
        (
            lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False).square().sum(), X,
            "avg_pool2d", "avg_pool2d(x, size 3×3, stride 2, padding 1, 0, 1, 0)", "avg_pool2d x.",
            SUMMED.format("v-1 / counts"),
        ),
        (
            lambda x: F.avg_pool2d(x, 2, divisor_override=3).square().sum(), X,
            "avg_pool2d", "avg_pool2d(x, size 2×2)", "avg_pool2d x.", SPREAD.format("v-1 / 3"),
        ),
        (
            lambda x: F.adaptive_avg_pool2d(x, (3, 2)).square().sum(), X, "avg_pool2d",
            "avg_pool2d(x, size 2×3, stride 1, 3)", "avg_pool2d x.", SUMMED.format("v-1 / 6"),
        ),
        (
            lambda x: F.adaptive_avg_pool2d(x, (3, 2)).square().sum(), UNEVEN,
            "adaptive_avg_pool2d", "adaptive_avg_pool2d(x, parts 3×2)", "adaptive_avg_pool2d x.",
            SUMMED.format("v-1 / counts"),
        ),
        (
            lambda x: F.adaptive_max_pool2d(x, (3, 2)).square().sum(), UNEVEN,
            "adaptive_max_pool2d", "adaptive_max_pool2d(x, parts 3×2)", CHOSEN,
            ADDED,
        ),
        (
            lambda x: F.adaptive_max_pool3d(x, 2).square().sum(), CUBES, "max_pool3d",
            "max_pool3d(x, size 2×2×2)", CHOSEN, PLACED,
        ),
        (
            lambda x: F.avg_pool1d(x, 2).square().sum(), X[0], "avg_pool1d",
            "avg_pool1d(x, size 2)", "avg_pool1d x.", SPREAD.format("v-1 / 2"),
        ),
    ],
)  # fmt: skip
def test_a_pooling_of_several_stages_is_one_step(
    f: Any, x: Any, op: str, value: str, push: str, pull: str
) -> None:
    t = np.random.default_rng(2).normal(size=x.shape)
    trace = validate(trace_function(f, x, tangents=[t]))
    pools = [node for node in trace["nodes"] if "pool" in node.get("op", "")]
    assert [(node["id"], node["op"]) for node in pools] == [("v1", op)]
    assert not [s for s in trace["steps"] if s["phase"] == "update"]
    pushed = push.replace("x.", f"x{DOT}")
    pulled = pull.replace("v-1", f"v{BAR}1")
    made = formulas(trace, "v1")
    assert made["primal"].startswith(f"v1 = {value} = ")
    assert made["tangent"].startswith(f"v{DOT}1 = {pushed} = ")
    assert formulas(trace, "x")["adjoint"].startswith(f"x{BAR} = {pulled} = ")
    given = mg.tensor(x, requires_grad=True)
    result = f(given)
    np.testing.assert_array_equal(final(trace, "x", "g"), grad(result, given)[0].numpy())
    _, tangent = mg.func.jvp(f, (mg.tensor(x),), (mg.tensor(t),))
    out = trace["outputs"][0]
    last = [w[2] for s in trace["steps"] for w in s["writes"] if w[:2] == [out, "d"]][-1]
    assert last == pytest.approx(tangent.item(), rel=1e-12)


def test_means_of_integers_are_one_step() -> None:
    x = np.arange(8)[None, None]
    trace = validate(trace_function(lambda x: F.avg_pool1d(x, 3, ceil_mode=True), x, mode="primal"))
    assert [node.get("op") for node in trace["nodes"]] == [None, "avg_pool1d"]
    assert "terms" not in trace["nodes"][1]  # the quotients are rounded towards zero
    assert trace["steps"][-1]["writes"][0][2]["sample"] == [1, 4, 6]


def test_a_pooling_that_is_differentiated_inside_the_function() -> None:
    """The rules that run inside read what lies between the axes; the derivative of all is right."""

    def f(x: Any) -> Any:
        (inner,) = grad(F.max_pool2d(x.sin(), 2).square().sum(), x, create_graph=True)
        return inner.square().sum()

    small = X[:1, :1, :, :4]
    trace = validate(trace_function(f, small, mode="reverse"))
    given = mg.tensor(small, requires_grad=True)
    np.testing.assert_array_equal(final(trace, "x", "g"), grad(f(given), given)[0].numpy())
    assert not [s for s in trace["steps"] if s["phase"] == "update"]


def test_poolings_that_fail_or_are_computed_again_keep_their_axes() -> None:
    """Inside a checkpoint each axis is a step, as the second run computes them."""
    again = lambda x: checkpoint(lambda a: F.max_pool2d(a, 2), x).square().sum()
    trace = validate(trace_function(again, X, mode="reverse"))
    assert [node["op"] for node in trace["nodes"] if "pool" in node.get("op", "")] == [
        "max_pool", "max_pool",
    ]  # fmt: skip
    given = mg.tensor(X, requires_grad=True)
    np.testing.assert_array_equal(final(trace, "x", "g"), grad(again(given), given)[0].numpy())


def test_places_and_a_single_axis_are_steps_of_their_own() -> None:
    f = lambda x: F.max_pool2d(x, 2, return_indices=True)[0].sum()
    trace = validate(trace_function(f, X, mode="reverse"))
    assert [n.get("op") for n in trace["nodes"]].count("max_pool") == 2
    line = trace_function(lambda x: F.max_pool1d(x, 2).sum(), X[0], mode="primal")
    assert formulas(line, "v1")["primal"].startswith("v1 = max_pool(x, axis 2, size 2) = ")
