"""What the tracer notes for the pictures: groups, what is kept, read and freed, growth,
broadcasts, heat maps, a reverse seed.
"""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.trace import TraceError, check_laws, state_at, validate
from minigrad.watch import trace_function
from minigrad.watch.values import heat


class Inner(nn.Module):
    def __init__(self):
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x).relu()


class Outer(nn.Module):
    def __init__(self):
        self.steps = nn.ModuleList([Inner(), Inner()])
        self.last = nn.Linear(2, 1)

    def forward(self, x):
        for step in self.steps:
            x = step(x)
        return self.last(x)


@pytest.fixture(scope="module")
def traced():
    mg.manual_seed(1)
    model = Outer()
    return validate(trace_function(lambda x: (model(x) * 2.0).sum(), [[0.5, -1.0], [2.0, 3.0]]))


def test_operations_carry_the_path_of_the_modules_whose_call_made_them(traced):
    groups = [(n.get("op"), n.get("group")) for n in traced["nodes"] if n["kind"] == "op"]
    inside = [group for _, group in groups if group]
    assert {g for op, g in groups if op == "relu"} == {"Outer/steps.0", "Outer/steps.1"}
    assert {g for op, g in groups if op == "affine"} == {
        "Outer/steps.0/linear",
        "Outer/steps.1/linear",
        "Outer/last",
    }
    assert [g for op, g in groups if op in ("mul", "sum")] == [None] * (
        len(groups) - len(inside)
    ), "outside of every module"
    parameters = [(n["id"], n["group"]) for n in traced["nodes"] if n["kind"] == "param"]
    assert ("last.weight", "Outer/last") in parameters and len(parameters) == 6


def test_operations_of_one_call_follow_one_another(traced):
    tops = ["/".join(n["group"].split("/")[:2]) for n in traced["nodes"] if n.get("group")]
    assert [g for i, g in enumerate(tops) if i == 0 or tops[i - 1] != g] == [
        "Outer/steps.0",
        "Outer/steps.1",
        "Outer/last",
    ]


def test_a_module_unwatched_is_called_as_before():
    from minigrad import observers

    seen = []

    class Asks(nn.Module):
        def forward(self, x):
            seen.append(observers.calls.modules)
            return x

    Asks()(mg.tensor(1.0))
    assert seen == [()]
    with pytest.raises(ZeroDivisionError):

        class Fails(nn.Module):
            def forward(self, x):
                return 1 / 0

        trace_function(Fails(), 1.0)
    assert observers.calls.modules == ()


def test_every_kept_value_is_freed_once_after_its_last_reading(traced):
    steps = traced["steps"]
    freed = [name for s in steps for name in s.get("free", [])]
    reached = {
        e["dst"]
        for s in steps
        if s["phase"] in ("adjoint", "accumulate")
        for e in traced["edges"]
        if e["id"] in s["edges"]
    }
    keeping = {n["id"] for n in traced["nodes"] if n.get("saved")}
    assert sorted(freed) == sorted(keeping & reached) and len(freed) == len(set(freed)) > 0
    target = {e["id"]: e["dst"] for e in traced["edges"]}
    for k, step in enumerate(steps):
        user = (
            {target[e] for e in step["edges"]}
            if step["phase"] in ("adjoint", "accumulate")
            else set()
        )
        gone = {name for s in steps[:k] for name in s.get("free", [])}
        assert not user & gone, "a rule ran after its values were freed"
        for name in step.get("uses", []):
            (op,) = user
            assert name in next(n for n in traced["nodes"] if n["id"] == op)["saved"]
    assert state_at(traced, len(steps)).freed == set(freed)


def test_each_rule_reads_only_what_it_needs():
    trace = trace_function(lambda a, b: a * b, 2.0, 3.0, mode="reverse")
    assert {s["node"]: s["uses"] for s in trace["steps"] if "uses" in s} == {"a": ["b"], "b": ["a"]}
    trace = trace_function(lambda a: mg.exp(a) + a, 2.0, mode="reverse")
    assert [s["uses"] for s in trace["steps"] if s.get("uses")] == [["v1"]], (
        "exp keeps its own result"
    )


def test_a_step_of_each_mode_reads_the_values_that_its_rule_needs_and_no_others():
    trace = trace_function(lambda x, y: mg.sin(x) * y - x, 2.0, 5.0)
    read = {
        (step["phase"], step["node"]): {f"{node}.{column}" for node, column in step["reads"]}
        for step in trace["steps"]
    }
    assert read["tangent", "v1"] == {"x.d", "x.v"}, "v1 = sin x"
    assert read["tangent", "v2"] == {"v1.d", "y.d", "v1.v", "y.v"}, "v2 = v1 · y"
    assert read["tangent", "v3"] == {"v2.d", "x.d"}, "v3 = v2 − x: both derivatives are numbers"
    assert read["adjoint", "v2"] == {"v3.g"}
    assert read["adjoint", "v1"] == {"v2.g", "y.v"}
    assert read["adjoint", "y"] == {"v2.g", "v1.v"}
    assert read["accumulate", "x"] == {"x.g", "v1.g", "x.v"}, "x̄ += v̄1 · cos x"


def test_a_graph_made_before_the_function_ran_keeps_its_values():
    w = mg.tensor(2.0, requires_grad=True)
    scale = mg.exp(w)
    trace_function(lambda x: x * scale, 3.0)
    scale.backward()
    assert w.grad.item() == pytest.approx(math.exp(2.0))


def test_an_inner_derivative_is_born_step_by_step_and_what_leads_nowhere_is_marked():
    def slope(x):
        y = mg.sin(x) * x
        (g,) = mg.autograd.grad(y, x, create_graph=True)
        return g

    trace = validate(trace_function(slope, 0.5))
    born = [name for s in trace["steps"] for name in s.get("add", [])]
    assert born == [n["id"] for n in trace["nodes"] if n["stage"] != "primal"] != []
    assert not state_at(trace, 0).born & set(born)
    for k in range(len(trace["steps"])):
        state = state_at(trace, k + 1)
        assert {cell[0] for cell in state.cells} <= state.born, "nothing unborn has a value"
    assert [n["id"] for n in trace["nodes"] if n.get("dangling")] == ["v2"]
    assert not any(n.get("dangling") for n in trace_function(lambda x: x * x, 1.0)["nodes"])


def test_broadcast_edges_are_marked():
    trace = trace_function(
        lambda x, b: ((x + b) @ b).sum(), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [1.0, 2.0]
    )
    marked = [(e["src"], e["dst"]) for e in trace["edges"] if e.get("broadcast")]
    assert marked == [("b", "v1")], "a matrix product is no broadcast"


def test_a_heat_map_holds_evenly_spaced_elements_in_levels_around_zero():
    values = np.arange(-300.0, 300.0).reshape(20, 30)
    made = heat(values)
    assert made["shape"] == [10, 15] and made["scale"] == 300.0 and len(made["levels"]) == 150
    levels = ["0123456789abcdefg".index(c) for c in made["levels"]]
    sampled = values[::2, ::2].reshape(-1)
    assert all(
        abs((level - 8) / 8 - v / 300.0) <= 1 / 16 + 1e-12
        for level, v in zip(levels, sampled, strict=True)
    )
    odd = np.array([math.nan, math.inf, -math.inf, 0.0, 2.0] * 4)
    assert heat(odd)["levels"][:5] == "ng08g" and heat(odd)["scale"] == 2.0
    assert set(heat(np.zeros((40, 40)))["levels"]) == {"8"}
    assert heat(np.full((3, 4, 5), -1.0))["shape"] == [12, 5]
    assert heat(np.array([[-128] * 20], dtype=np.int8))["scale"] == 128.0


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_large_arrays_of_any_dtype_make_a_valid_trace(dtype):
    x = np.ones((5, 7), dtype=dtype)
    trace = validate(trace_function(lambda a: a.sum(), x, mode="primal"))
    value = trace["steps"][0]["writes"][0][2]
    assert ("heat" in value) == (dtype is not np.bool_)


def test_a_malformed_heat_map_is_no_trace():
    trace = trace_function(lambda a: a.sum(), np.ones((5, 7)), mode="primal")
    trace["steps"][0]["writes"][0][2]["heat"]["levels"] = "88z"
    with pytest.raises(TraceError, match="one level for each cell"):
        validate(trace)


def test_a_cotangent_of_ones_own_starts_the_reverse_pass():
    trace = trace_function(
        lambda x: x * x, [1.0, 2.0, 3.0], mode="both", cotangent=[0.0, 1.0, -1.0]
    )
    assert check_laws(validate(trace)) == []
    assert state_at(trace, len(trace["steps"])).cells["x", "g"]["sample"] == [0.0, 4.0, -6.0]
    assert state_at(trace_function(lambda x: x * x, 3.0, cotangent=0.5), 7).cells["x", "g"] == 3.0
    for wrong in ([1.0, 2.0], 1.0, [1j, 0j, 0j]):
        with pytest.raises(ValueError, match="does not fit a result"):
            trace_function(lambda x: x * x, [1.0, 2.0, 3.0], cotangent=wrong)
