"""What the tracer does with the many ways in which people write functions, and what it refuses."""

import contextlib
import functools
import gc
import linecache
import math
import subprocess
import sys
import threading
import time
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, viz
from minigrad.core import observe, primitive
from minigrad.errors import AutogradError, InPlaceError, NonScalarError, TraceTooLargeError
from minigrad.observers import observing
from minigrad.trace import check_laws, first_divergence, state_at, table, validate
from minigrad.trace.replay import cut_sums
from minigrad.watch import trace_function
from minigrad.watch.source_map import SourceMap
from minigrad.watch.trace_recorder import TraceRecorder
from tests.helpers.work_count import work


def traced(f, *args, **options):
    trace = validate(trace_function(f, *args, **options))
    assert check_laws(trace) == []
    assert observe.observers == [] and observe.observation.event is None
    return trace


def cells(trace):
    return state_at(trace, len(trace["steps"])).cells


def kinds(trace):
    return {n["id"]: n["kind"] for n in trace["nodes"]}


def operations(trace):
    return [n["op"] for n in trace["nodes"] if n["kind"] in ("op", "output")]


def operands(trace, node):
    return [e["src"] for e in sorted(trace["edges"], key=lambda e: e["slot"]) if e["dst"] == node]


def test_operands_of_solve_are_expanded_only_to_another_batch():
    solve = mg.linalg.solve
    matrix, several = np.eye(2) * 3.0, np.ones((4, 2, 2))
    assert operations(traced(lambda A, B: solve(A, B).sum(), matrix, matrix)) == ["solve", "sum"]
    broadcast = operations(traced(lambda A, B: solve(A, B).sum(), matrix, several))
    assert broadcast == ["broadcast_to", "solve", "sum"]


# -------------------------------------------------------------------- constants, parameters, inputs


def test_numbers_stand_inside_the_expression():
    trace = traced(lambda x: 2 * x**3 + np.float64(0.5) * x - True, 1.5)
    assert set(kinds(trace).values()) == {"input", "op", "output"}
    assert trace["nodes"][1]["expr"][0]["exp"] == [{"t": "num", "value": 3}]


def test_arrays_and_tensors_from_outside_are_constants():
    array, tensor = np.array([1.0, 2.0]), mg.tensor([3.0, 4.0], dtype=mg.float64)
    trace = traced(
        lambda x: (x * array + tensor * array + x * tensor + [5.0, 6.0]).sum(), [1.0, 1.0]
    )
    constants = [name for name, kind in kinds(trace).items() if kind == "const"]
    assert constants == ["array", "tensor", "c1"], "by their variables, where they have one"
    assert cells(trace)["c1", "v"]["sample"] == [5.0, 6.0]
    assert not [cell for cell in cells(trace) if cell[0] in constants and cell[1] != "v"]


def test_an_array_that_was_changed_in_between_is_another_constant():
    array = np.array([1.0, 2.0])

    def f(x):
        y = x * array
        array[0] = 7.0
        return (y * array).sum()

    trace = traced(f, [1.0, 1.0])
    assert cells(trace)["array", "v"]["sample"] == [1.0, 2.0]
    assert cells(trace)["c1", "v"]["sample"] == [7.0, 2.0]


def test_a_constant_tensor_that_was_changed_in_place_is_followed():
    def f(x):
        c = mg.tensor([1.0, 2.0], dtype=mg.float64)
        y = x * c
        c += 10
        return (y * c).sum()

    trace = traced(
        f, [1.0, 1.0], mode="forward"
    )  # backward there is none: the old c is needed for it
    assert cells(trace)["c", "v"]["sample"] == [1.0, 2.0]
    changed = operands(trace, "v3")[1]
    assert cells(trace)[changed, "v"]["sample"] == [11.0, 12.0]
    assert operands(trace, changed) == ["c"]


def test_a_constant_that_was_changed_through_another_tensor_is_followed():
    def f(x):
        c = mg.tensor([1.0, 2.0], dtype=mg.float64)
        window, same = c[1:], c.detach()
        y = x * c
        same += 10
        z = x * c
        window *= 2
        return y.sum() + z.sum() + (x * c).sum() + (x[:1] * window).sum()

    trace = traced(f, [1.0, 1.0], mode="forward", tangents=([1.0, 1.0],))
    products = [
        n["id"]
        for n in trace["nodes"]
        if n.get("op") == "mul" and n["shape"] == [2] and operands(trace, n["id"])[0] == "x"
    ]
    seen = [cells(trace)[operands(trace, p)[1], "v"]["sample"] for p in products]
    assert seen == [[1.0, 2.0], [11.0, 12.0], [11.0, 24.0]]


def test_leaves_from_outside_are_parameters_with_adjoints():
    w = mg.tensor([2.0, 3.0], dtype=mg.float64, requires_grad=True)
    trace = traced(lambda x: (w * x * w).sum(), [1.0, 5.0])
    assert kinds(trace)["w"] == "param" and cells(trace)["w", "g"]["sample"] == [4.0, 30.0]
    assert w.grad is None, "a trace changes nothing outside"


def parameters(trace):
    return {n["id"]: n.get("name") for n in trace["nodes"] if n["kind"] == "param"}


def test_parameters_of_a_network_have_the_names_of_named_parameters():
    net = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.Tanh(), mg.nn.Linear(3, 1))
    trace = traced(lambda x: net(x).sum(), np.ones((4, 2)))
    assert [*parameters(trace)] == [name for name, _ in net.named_parameters()]
    label = next(n["label"] for n in trace["nodes"] if n["id"] == "0.weight")
    assert label == {"base": "0.weight"}
    blocks = [block["label"] for block in trace["blocks"]]
    assert blocks == ["Sequential", "0: Linear", "1: Tanh", "2: Linear"]
    assert any("back to 0.weight" in step["say"] for step in trace["steps"])


def test_a_parameters_name_that_is_long_or_taken_stands_below_a_short_one():
    a, b = mg.nn.Linear(2, 2), mg.nn.Linear(2, 2, bias=False)
    deep = mg.nn.Sequential()
    deep.add_module("the_classifier_of_digits", b)
    trace = traced(lambda weight: deep(a(weight)).sum() + b(weight).sum(), np.ones((1, 2)))
    assert parameters(trace) == {
        "p1": "weight",  # an argument has that name
        "bias": None,
        "p2": "the_classifier_of_digits.weight",
    }


def test_a_parameter_called_v1_is_no_result():
    class Net(mg.nn.Module):
        def __init__(self):
            super().__init__()
            self.v1 = mg.nn.Parameter(mg.tensor(2.0))
            self.v2 = mg.nn.Parameter(mg.tensor(3.0))

        def forward(self, x):
            return x * self.v1 * self.v2

    trace = traced(Net(), mg.tensor(5.0))
    assert len({n["id"] for n in trace["nodes"]}) == 5
    assert cells(trace)["v1", "g"] == 15.0 and "v1" in parameters(trace)


def test_values_computed_outside_are_parameters_and_their_graph_stays_usable():
    w = mg.tensor(2.0, dtype=mg.float64, requires_grad=True)
    h = w.exp()
    trace = traced(lambda x: x * h * w, 3.0)
    assert kinds(trace)["h"] == kinds(trace)["w"] == "param"
    assert cells(trace)["h", "g"] == 6.0
    assert cells(trace)["w", "g"] == pytest.approx(3 * np.exp(2.0) + 6 * np.exp(2.0)), (
        "along h as well"
    )
    assert any(
        s["phase"] == "update" and "before the function ran" in s["say"] for s in trace["steps"]
    )
    h.backward()
    assert w.grad.item() == pytest.approx(np.exp(2.0))


def test_unused_inputs_have_no_adjoint():
    trace = traced(lambda x, y: x * 2, 1.0, 5.0)
    assert ("y", "v") in cells(trace) and ("y", "g") not in cells(trace)


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (lambda x: x, "input"),
        (lambda x: mg.tensor(7.0), "const"),
        (lambda x: 7, "const"),
        (lambda x: 2.5, "const"),
    ],
)
@pytest.mark.parametrize("mode", ["primal", "forward", "reverse", "both"])
def test_a_function_may_return_an_input_or_a_constant(f, kind, mode):
    trace = traced(f, 3.0, mode=mode)
    (out,) = trace["outputs"]
    assert kinds(trace)[out] == kind and trace["edges"] == []
    assert ((out, "g") in cells(trace)) == (mode in ("reverse", "both"))


def test_integer_and_boolean_inputs_are_values_without_derivatives():
    index, mask = np.array([1, 0]), np.array([True, False])
    trace = traced(
        lambda x, i, m: (x[i] * mg.where(m, x, 0.0)).sum() * i.sum(), [2.0, 3.0], index, mask
    )
    assert [n["dtype"] for n in trace["nodes"][:3]] == ["float64", "int64", "bool"]
    assert (
        ("i", "g") not in cells(trace)
        and ("i", "d") not in cells(trace)
        and cells(trace)["x", "g"]["sample"] == [3.0, 2.0]
    )
    assert cells(trace)["m", "v"]["sample"] == [True, False]


def test_python_integers_and_booleans_count_as_numbers():
    trace = traced(lambda a, b: a * b, 3, True)
    assert cells(trace)["a", "v"] == 3.0 and cells(trace)["b", "g"] == 3.0


def test_x_times_x_has_two_edges():
    trace = traced(lambda x: x * x, 3.0)
    assert [(e["src"], e["dst"], e["slot"]) for e in trace["edges"]] == [
        ("x", "v1", 0),
        ("x", "v1", 1),
    ]
    phases = [s["phase"] for s in trace["steps"] if s["writes"][0][1] == "g"]
    assert phases == ["seed", "adjoint", "accumulate"] and cells(trace)["x", "g"] == 6.0


def test_inputs_are_named_by_their_parameters():
    def f(x2, *rest):
        return x2 * rest[0] * rest[1]

    assert traced(f, 1.0, 2.0, 3.0)["inputs"] == ["x2", "x3", "x4"]
    trace = traced(lambda v1, c1: v1 * c1 * [2.0], 1.0, 2.0)
    assert trace["inputs"] == ["v1", "c1"] and len({n["id"] for n in trace["nodes"]}) == len(
        trace["nodes"]
    )
    assert traced(lambda a: a * 2, 1.0, names=["position"])["inputs"] == ["position"]
    for names in (["a", "a"], ["a", "b", "c"], [""], [3, 4]):
        with pytest.raises(ValueError, match="names"):
            trace_function(lambda x, y: x, 1.0, 2.0, names=names)


# --------------------------------------------------------------------------------------- operations


def test_in_place_operations_are_operations():
    def f(x):
        y = x * 1
        y += 1
        y *= y
        return y

    trace = traced(f, 2.0)
    assert operations(trace) == ["mul", "add", "mul"] and cells(trace)["x", "g"] == 6.0


def test_in_place_on_a_view_shows_what_it_means_for_the_base_and_for_other_views():
    def f(x):
        y = x * 1
        last = y[1]
        y[0] = last * 5
        y += 1
        return last * y[0]

    trace = traced(f, [2.0, 3.0])
    assert "scatter_view" in operations(trace)
    assert cells(trace)[trace["outputs"][0], "v"] == 4.0 * 16.0
    assert cells(trace)["x", "g"]["sample"] == [0.0, 16.0 + 20.0]


def test_writing_into_a_leaf_is_refused_as_ever():
    def f(x):
        x += 1
        return x

    with pytest.raises(InPlaceError, match="leaf"):
        trace_function(f, 1.0)


def test_in_place_behind_the_back_of_the_graph_is_refused():
    def f(x):
        y = x * 1
        with mg.no_grad():
            y += 1
        return y * y

    with pytest.raises(
        AutogradError, match=r"trace: .* modified in place while its history stayed"
    ):
        trace_function(f, 1.0)


def test_broadcasting_says_that_contributions_are_summed():
    trace = traced(lambda a, b: (a * b).sum(), 2.0, [1.0, 2.0, 3.0])
    step = next(s for s in trace["steps"] if s["node"] == "a" and s["writes"][0][1] == "g")
    assert step["contribs"][0]["product"] == 6.0 and step["contribs"][0]["upstream"]["shape"] == [3]
    assert (
        "a was broadcast along axis 0 of v1 = a · b" in step["say"]
        and {"t": "fn", "text": "sum"} in step["formula"]
    )
    other = next(s for s in trace["steps"] if s["node"] == "b" and s["writes"][0][1] == "g")
    assert "broadcast" not in other["say"]


@pytest.mark.parametrize("bound", [False, True])
def test_plain_numbers_have_the_dtype_of_a_modules_parameters(bound):
    for dtype in (mg.float32, mg.float64):
        net = nn.Linear(2, 3).to(dtype)
        trace = trace_function(net.forward if bound else net, [0.5, -1.0], mode="primal")
        assert {node["dtype"] for node in trace["nodes"]} == {str(dtype).split(".")[-1]}
        assert "cast" not in [node.get("op") for node in trace["nodes"]]


PLACES = {
    "module": "y = one\ndef f(x): return x * y",
    "a function that it calls": "y = one\ndef g(x): return x * y\ndef f(x): return g(x)",
    "inner function": "y = one\ndef f(x): return (lambda u: u * y)(x)",
    "closure": "def made(y): return lambda x: x * y\nf = made(one)",
    "defaults": "def f(x, y=one): return x * y",
    "keyword defaults": "def f(x, *, y=one): return x * y",
    "list": "data = [(2, one)]\ndef f(x): return x * data[0][1]",
    "dict": "data = {'y': one}\ndef f(x): return x * data['y']",
    "partial": "import functools\ndef g(y, x): return x * y\nf = functools.partial(g, one)",
    "method": "class A:\n  def f(self, x): return x * self.y\na = A(); a.y = one\nf = a.f",
    "object": "class A:\n  def __call__(self, x): return x * self.y\nf = A(); f.y = one",
    "parameters": "net = nn.Linear(1, 1).to(one.dtype)\ndef f(x): return net(x)",
    "array": "y = one.numpy()\ndef f(x): return x * y",
}


@pytest.mark.parametrize("place", PLACES)
def test_plain_numbers_have_the_dtype_of_what_a_function_holds(place):
    for dtype in (mg.float32, mg.float64):
        space = {"one": mg.ones(1, dtype=dtype), "nn": nn, "__name__": "mine"}
        space["unused"] = mg.ones(1, dtype=mg.float16)
        exec(PLACES[place], space)
        trace = trace_function(space["f"], [2.0], mode="primal", names=["x"])
        assert {node["dtype"] for node in trace["nodes"]} == {str(dtype).split(".")[-1]}


def test_plain_numbers_stay_float64_where_a_float64_takes_part():
    y, z = mg.ones(1), mg.ones(1, dtype=mg.float64)

    def dtypes(f, *args):
        nodes = trace_function(f, *args, mode="primal")["nodes"]
        return [n["dtype"] for n in nodes if n["id"] in ("a", "b")]

    assert dtypes(lambda a: a * y, 0.1) == ["float32"]
    assert dtypes(lambda a: a * y * z, 0.1) == ["float64"], "two dtypes are held"
    assert dtypes(lambda a: a * y * z.numpy(), 0.1) == ["float64"]
    assert dtypes(lambda a, b: a * b * y, 0.1, z) == ["float64", "float64"], "one is given"
    assert dtypes(lambda a, b: a * b * y, 0.1, np.ones(1)) == ["float64", "float64"]
    assert dtypes(lambda a, b: a * b * y, 0.1, y) == ["float32", "float32"]
    assert dtypes(lambda a: a * 2, 0.1) == ["float64"], "nothing is held"
    many = [mg.ones(1) for _ in range(3_000)]
    assert dtypes(lambda a: a * many[0], 0.1) == ["float64"], "too much is held"


def test_casts_to_a_common_dtype_are_operations():
    trace = traced(
        lambda a, b: (a * b).sum(), np.array([1.0, 2.0], np.float32), np.array([3.0, 4.0])
    )
    assert operations(trace) == ["cast", "mul", "sum"]
    assert (
        cells(trace)["a", "g"]["dtype"] == "float32"
        and cells(trace)["b", "g"]["dtype"] == "float64"
    )


def test_scalars_empty_and_large_arrays():
    trace = traced(lambda x: (x * x).sum(), np.arange(20.0))
    assert len(cells(trace)["x", "g"]["sample"]) == 16 and cells(trace)["x", "g"]["max"] == 38.0
    trace = traced(lambda x: (x * x).sum(), np.zeros((0, 3)))
    assert cells(trace)["x", "g"] == {"shape": [0, 3], "dtype": "float64", "sample": []}
    trace = traced(lambda x: x * x, np.array(3.0))
    assert cells(trace)["x", "g"] == 6.0 and trace["nodes"][0]["shape"] == []


def test_nan_and_infinity_are_written_as_texts():
    with np.errstate(all="ignore"):
        trace = traced(lambda x, y: mg.log(x) * y, 0.0, -2.0)
    assert (
        cells(trace)["v1", "v"] == "-inf"
        and cells(trace)["x", "g"] == "-inf"
        and cells(trace)[trace["outputs"][0], "v"] == "inf"
    )


def test_complex_values_and_adjoints_are_written_in_two_parts():
    trace = traced(lambda z: (z * z.conj()).real.sum(), np.array([1 + 2j, 3 - 1j]))
    assert cells(trace)["z", "v"]["sample"][0] == {"re": 1.0, "im": 2.0}
    assert cells(trace)["z", "g"]["sample"] == [{"re": 2.0, "im": 4.0}, {"re": 6.0, "im": -2.0}]
    with pytest.raises(NonScalarError, match="complex"):
        trace_function(lambda z: z * z, 1 + 2j, mode="reverse")


# ------------------------------------------------------------------ derivatives inside the function


def test_a_gradient_inside_is_shown_and_differentiated():
    trace = traced(lambda x: mg.func.grad(lambda z: z**3)(x) * x, 2.0)
    assert (
        cells(trace)["x", "g"] == 36.0 and cells(trace)[trace["outputs"][0], "v"] == 24.0
    )  # 3x³ and 9x²
    inner = [n for n in trace["nodes"] if n["stage"] == "backward"]
    assert inner and all(kinds(trace)[n["of"]] == "op" for n in inner)


def test_tangents_of_the_functions_own_forward_mode_are_values_not_our_tangents():
    trace = traced(lambda x: mg.func.jvp(lambda z: z**3, (x,), (mg.ones_like(x),))[1], 2.0)
    out = trace["outputs"][0]
    assert (
        cells(trace)[out, "v"] == 12.0
        and cells(trace)[out, "d"] == 12.0
        and cells(trace)["x", "g"] == 12.0
    )  # 3x², then 6x
    assert any(n["stage"] == "jvp" for n in trace["nodes"])


def test_second_derivatives_both_ways():
    f = mg.func.grad(mg.func.grad(lambda z: mg.sin(z) * z))
    trace = traced(f, 0.7)
    assert cells(trace)[trace["outputs"][0], "v"] == pytest.approx(
        2 * np.cos(0.7) - 0.7 * np.sin(0.7)
    )
    assert cells(trace)["z", "g"] == pytest.approx(-3 * np.sin(0.7) - 0.7 * np.cos(0.7))


def test_a_backward_inside_gives_a_constant():
    def f(x):
        w = mg.tensor(3.0, dtype=mg.float64, requires_grad=True)
        (w * w).backward()
        return x * w.grad

    trace = traced(f, 2.0, mode="reverse")
    assert cells(trace)["x", "g"] == 6.0
    assert [s["node"] for s in trace["steps"] if s["phase"] in ("adjoint", "accumulate")] == [
        "x"
    ], "the inner pass is not ours"


def test_a_backward_inside_that_builds_a_graph_is_part_of_the_function():
    def f(x):
        y = x * x * x
        (slope,) = mg.autograd.grad(y, x, create_graph=True)
        return slope * 2

    trace = traced(f, 2.0)
    assert cells(trace)["x", "g"] == 24.0 and cells(trace)[trace["outputs"][0], "v"] == 24.0


def test_hooks_change_adjoints_visibly():
    def f(x):
        y = x * 3
        y.register_hook(lambda g: g * 10)
        x.register_hook(lambda g: g + 1)
        return y * y

    trace = traced(f, 2.0)
    assert cells(trace)["v1", "g"] == 120.0 and cells(trace)["x", "g"] == 361.0
    assert [s["node"] for s in trace["steps"] if s["phase"] == "update"] == ["v1", "x"]


def test_vmap_inside_is_refused_or_right():
    if not hasattr(mg.func, "vmap"):
        pytest.skip("there is no vmap yet")
    try:
        trace = traced(lambda x: mg.func.vmap(lambda row: row * row)(x).sum(), [1.0, 2.0])
    except AutogradError as error:
        assert "trace" in str(error)
    else:
        assert cells(trace)["x", "g"]["sample"] == [2.0, 4.0]


def test_detached_values_are_constants():
    trace = traced(lambda x: x * (x * x).detach(), 3.0)
    assert (
        cells(trace)["x", "g"] == 9.0
        and kinds(trace)["c1"] == "const"
        and cells(trace)["c1", "v"] == 9.0
    )


# -------------------------------------------------------------------------------- seeds and results


def test_forward_mode_with_array_seeds_and_an_array_result():
    trace = traced(
        lambda x, y: x * y, [1.0, 2.0], [3.0, 4.0], mode="forward", tangents={"y": [1.0, 10.0]}
    )
    assert cells(trace)["v1", "d"]["sample"] == [1.0, 20.0]
    assert trace["seed"]["tangents"]["x"]["sample"] == [0.0, 0.0]


def test_without_a_mode_arrays_get_no_tangents_and_single_numbers_do():
    def columns(*args, **options):
        return "".join(
            c["key"] for c in traced(lambda x, y: (x * y).sum(), *args, **options)["columns"]
        )

    assert columns(2.0, 3.0) == columns([[2.0]], 3.0) == "vdg"
    assert columns(2.0, [3.0, 4.0]) == columns([3.0, 4.0], 2.0) == "vg"
    assert columns([1.0, 2.0], 3.0, tangents=([1.0, 0.0], 0.0)) == "vdg", "a direction is given"
    assert columns([1.0, 2.0], 3.0, mode="both") == "vdg", "and here asked for"


def test_a_seed_says_what_it_is_a_seed_of():
    said = lambda *args, **options: [
        s["say"] for s in traced(lambda x: x * x, *args, **options)["steps"] if s["phase"] == "seed"
    ]
    assert said(3.0) == [
        "The tangent of x, its rate of change, starts at 1 (the seed).",
        "The adjoint of v1, the result's derivative ∂v1/∂v1, starts at 1 (the seed).",
    ]
    assert said(3.0, cotangent=2.0)[1] == "The adjoint of v1 starts at 2 (the seed)."


def test_seeds_that_do_not_fit_are_refused():
    f = lambda x, y: x * y
    for tangents, text in (
        ((1.0,), "1 tangents for 2"),
        ({"z": 1.0}, "'z'"),
        (([1.0, 2.0, 3.0], 0.0), "shape"),
        ((1j, 0.0), "complex"),
    ):
        with pytest.raises(ValueError, match=text):
            trace_function(f, [1.0, 2.0], [1.0, 2.0], tangents=tangents, mode="forward")
    with pytest.raises(ValueError, match="mode must be one of"):
        trace_function(f, 1.0, 2.0, mode="backward")


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (lambda x: (x, x), r"tuple of 2\. Trace one result at a time"),
        (lambda x: [x], r"list of 1\. Trace one result at a time"),
        (lambda x: {"a": x}, r"dict of 1\. Trace one result at a time, .*\['a'\]"),
        (lambda x: {}, r"dict\. Return the tensor"),
        (lambda x: None, r"nothing\. Does it end with return"),
        (lambda x: "y", r"str\. Return the tensor"),
    ],
)
@pytest.mark.parametrize("partial", [False, True])
def test_results_that_are_no_tensor_are_refused(result, text, partial):
    with pytest.raises(TypeError, match=text):
        trace_function(result, 1.0, partial=partial)


def test_a_recording_ends_where_it_would_have_more_nodes_than_allowed(monkeypatch):
    def chain(x):
        for _ in range(50):
            x = mg.sin(x) * c  # c becomes a node too: 1 input, 1 constant, 100 operations
        ended.append(x)
        return x

    ended, c = [], mg.tensor(2.0, dtype=mg.float64)
    assert (
        len(trace_function(chain, 1.0, most=102)["nodes"])
        == len(trace_function(chain, 1.0)["nodes"])
        == 102
    )
    noted = []
    monkeypatch.setattr(TraceRecorder, "step", lambda self, *step, **more: noted.append(step))
    for most in (101, 10, 1):
        noted.clear()
        with pytest.raises(
            TraceTooLargeError, match=rf"more than {most} nodes.*smaller part.*most="
        ):
            trace_function(chain, 1.0, most=most)
        assert len(noted) <= 2 * most and {phase for phase, *_ in noted} <= {
            "primal",
            "tangent",
            "seed",
        }, "nothing was noted after it"
    assert len(ended) == 5, (
        "the function itself ran to its end: it may have work of its own to finish"
    )
    with pytest.raises(TraceTooLargeError, match="more than 0 nodes"):
        trace_function(chain, 1.0, most=0)


def test_reverse_mode_needs_one_real_number():
    with pytest.raises(NonScalarError, match=r"shape \(2,\).*sum"):
        trace_function(lambda x: x * 2, [1.0, 2.0], mode="reverse")
    with pytest.raises(NonScalarError, match="one number"):
        trace_function(lambda x: x * mg.ones(2), 1.0, mode="both")
    with pytest.raises(AutogradError, match="int64"):
        trace_function(lambda x: x.argmax(), [1.0, 2.0], mode="reverse")
    assert cells(traced(lambda x: x * 2, np.array([[3.0]])))["x", "g"]["sample"] == [2.0]


def test_an_argument_that_counts_rounds_is_refused_with_the_way_out():
    def f(x, n):
        for _ in range(n):
            x = mg.sin(x)
        return x

    with pytest.raises(TypeError, match=r"n is a tensor of float64.*def f\(x, n=3\).*partial"):
        trace_function(f, 0.9, 3)
    with pytest.raises(TypeError, match=r"only integer tensors .* float64 and shape \(\)"):
        trace_function(lambda x: list(range(10))[x * 2], 0.5)
    trace = trace_function(functools.partial(f, n=3), 0.9)
    assert trace["inputs"] == ["x"] and len([n for n in trace["nodes"] if "op" in n]) == 3


@pytest.mark.parametrize(
    ("f", "at", "why", "columns"),
    [
        (lambda x: x * 2, [1.0, 2.0], r"shape \(2,\)\. Reduce .* or give cotangent=", "v"),
        (lambda x: x * mg.ones(2), 1.0, r"shape \(2,\)", "vd"),
        (lambda x: x.argmax(), [1.0, 2.0], "int64, which has no derivative", "v"),
        (lambda z: z * z, 1 + 2j, "complex", "vd"),
    ],
)
def test_without_a_mode_a_result_that_reverse_mode_cannot_start_from_has_its_values(
    f, at, why, columns
):
    for show in (trace_function, lambda f, at: viz.show(f, at).trace):
        with pytest.warns(UserWarning, match=f"no adjoints are shown: .*{why}") as said:
            trace = show(f, at)
        assert {one.filename for one in said} == {__file__}
        assert "".join(column["key"] for column in trace["columns"]) == columns
    if columns == "v" and "shape" in why:
        seeded = trace_function(f, at, cotangent=[1.0, 0.0])
        assert cells(seeded)["x", "g"]["sample"] == [2.0, 0.0]


# ------------------------------------------------------------------------------------- surroundings


def test_an_exception_inside_passes_through_untouched():
    class Mine(Exception):
        pass

    problem = Mine("as it was")

    def f(x):
        mg.sin(x)
        raise problem

    with pytest.raises(Mine) as caught:
        trace_function(f, 1.0)
    assert (
        caught.value is problem
        and not getattr(problem, "__notes__", [])
        and problem.__cause__ is None
    )
    assert observe.observers == [] and observe.observation.event is None
    traced(lambda x: x * x, 1.0)


def test_a_failed_operation_that_the_function_catches_leaves_no_mark():
    def f(x):
        with contextlib.suppress(RuntimeError, ValueError):
            x @ mg.tensor([1.0, 2.0], dtype=mg.float64)
        return x * 2

    trace = traced(f, [1.0, 2.0, 3.0], mode="forward")
    assert operations(trace) == ["mul"]


def test_a_trace_inside_a_trace():
    inner = []

    def f(x):
        inner.append(traced_inside(lambda z: z * z, x))
        return x + 1

    def traced_inside(g, x):
        trace = validate(trace_function(g, x))
        assert check_laws(trace) == []
        return trace

    outer = traced(f, 3.0)
    assert operations(outer) == ["add"] and operations(inner[0]) == ["mul"]
    assert cells(inner[0])["z", "g"] == 6.0


def test_under_no_grad_and_inside_outer_forward_mode():
    with mg.no_grad():
        assert cells(traced(lambda x: x * x, 3.0))["x", "g"] == 6.0
    _, slope = mg.func.jvp(
        lambda z: z * cells(traced(lambda x: x * x, 3.0))["x", "g"],
        (mg.tensor(1.0),),
        (mg.tensor(1.0),),
    )
    assert slope.item() == 6.0
    w = mg.tensor(2.0, dtype=mg.float64)
    found = []

    def outer(z):
        found.append(traced(lambda x: x * z, 3.0))
        return z

    mg.func.jvp(outer, (w,), (mg.ones_like(w),))
    assert cells(found[0])["x", "g"] == 2.0 and cells(found[0])["v1", "d"] == 2.0


def test_several_threads_do_not_see_one_another():
    def f(x):
        for _ in range(8):
            x = mg.sin(x) * 2
            time.sleep(0.0005)
        return x

    expected = traced(f, 0.5)
    found, errors = [], []

    def work():
        try:
            for _ in range(3):
                found.append(trace_function(f, 0.5))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == [] and len(found) == 12 and all(t == expected for t in found)
    assert observe.observers == []


def test_tracing_leaves_no_garbage_behind():
    class Marker:
        pass

    def f(x):
        marker = Marker()
        seen.append(weakref.ref(marker))
        y = x * 2
        return y * marker_value(marker)

    def marker_value(_):
        return 3

    seen: list = []
    gc.disable()
    try:
        trace = trace_function(f, 1.0)
        assert seen[0]() is None, "the traced function's variables die with it"
    finally:
        gc.enable()
    assert operations(trace) == ["mul", "mul"]


def test_names_of_variables_go_with_the_values_that_they_held():
    def helper(z):
        return mg.exp(z) * 2

    def f(x):
        a = x * x
        b = helper(a)
        c, d = a + 1, b
        if (e := c * d) is not None:
            total = e
        for _ in range(2):
            total = total + a
        total += 1
        return total

    trace = traced(f, 0.5)
    names = {n["id"]: n.get("name") for n in trace["nodes"]}
    assert names == {
        "x": None,
        "v1": "a",
        "v2": None,
        "v3": "b",
        "v4": "c",
        "v5": "e",
        "v6": "total",
        "v7": "total",
        "v8": "total",
    }


def hidden(h):
    h = h * 2
    with_one: mg.Tensor = h + 1
    return with_one - 3


def test_names_of_variables_are_those_of_the_called_function_too():
    """Where the shown function and one that it calls name a value, the shown one's name counts;
    a module's forward pass names its values, and `+=` those that it changes in place."""

    def same(u):
        w = u * u
        return w

    def f(x):
        y = hidden(x)
        y += x
        y *= 2
        y -= same(x)
        return hidden(y)

    names = lambda trace: [n.get("name") for n in trace["nodes"] if "op" in n]
    inside = ["h", "with_one"]
    assert names(traced(f, 0.5)) == [*inside, *"yyywy", *inside, None]
    assert names(traced(lambda x: [a := same(x), a + 1][1], 0.5)) == ["a", None]

    class Net(mg.nn.Module):
        def forward(self, x):
            z = hidden(x)
            out = z.sum()
            return out

    net = Net()
    for one in (net, lambda x: net(x)):
        assert names(traced(one, [1.0, 2.0]))[-4:] == [*inside, "z", "out"]


def scaled(z, k):
    return z * k


def pair(z):
    left, right = z - 1, z + 1
    return left, right


def test_parameters_several_targets_lists_and_loops_name_values_that_have_no_other_name():
    names = lambda f: [n.get("name") for n in traced(f, 0.5)["nodes"] if "op" in n]

    def arguments(x):
        a = x * 2
        return scaled(scaled(x + 1, 2), k=a * 3)

    # the argument has no other name; that of `scaled` is what it is called there, too
    assert names(arguments) == ["a", "z", "z", "k", None]

    def taken(x, z):
        return scaled(x + 1, z)

    found = [n.get("name") for n in traced(taken, 0.5, 2.0)["nodes"] if "op" in n]
    assert found == [None, None], "z is another value of the function that is shown"

    def targets(x):
        a, (b, c) = mg.sin(x), pair(mg.cos(x))
        d = e = x * 3
        return (
            a * b * c
            + d * e
        )  # fmt: skip

    # those of `pair` are named by the function that is shown
    assert names(targets)[:5] == ["a", "z", "b", "c", "d"]

    def items(x):
        hs = [x * i for i in range(2)]
        both = [mg.sin(x), hs[0]]
        total = x
        for h, (i, u) in zip([x + 1, x + 2], enumerate(both), strict=True):
            total = total + h * u * i
        return total

    found = names(items)
    assert found[:3] == ["hs[0]", "hs[1]", "both[0]"] and found[3:5] == ["h", "h"]


GLOBAL_WEIGHT = mg.tensor(3.0, dtype=mg.float64, requires_grad=True)


def test_values_from_outside_go_by_the_variable_that_the_function_knows_them_by():
    closed, nameless = mg.tensor(2.0, dtype=mg.float64), [mg.tensor(5.0, dtype=mg.float64)]

    def f(x):
        own = nameless[0]
        return x * closed + GLOBAL_WEIGHT * own

    trace = traced(f, 0.5)
    found = [(n["id"], n.get("name")) for n in trace["nodes"] if n["kind"] in ("const", "param")]
    assert found == [("closed", None), ("GLOBAL_WEIGHT", None), ("own", None)]


GLOBAL_ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
GLOBAL_LIST = [1.0, 2.0, 3.0]


class Pair(NamedTuple):
    x: np.ndarray
    y: int = 0


GLOBAL_PAIR = Pair(GLOBAL_ROWS)


class Data:
    rows = GLOBAL_ROWS

    @property
    def computed(self):
        raise AssertionError("a name is looked up without running the user's code")


GLOBAL_DATA = Data()


def outside_names(f, *args):
    """The names of constants and parameters, and those that stand below another one."""
    trace = traced(f, *args)
    nodes = [n for n in trace["nodes"] if n["kind"] in ("const", "param")]
    return [n["id"] if "name" not in n else (n["id"], n["name"]) for n in nodes]


def in_a_helper(w):
    return GLOBAL_ROWS @ w


def of_parameters(w, X):
    return X @ w


def residual_steps(w):
    for _ in range(3):
        w = w - 0.1 * (GLOBAL_ROWS.T @ (GLOBAL_ROWS @ w))
    return w.sum()


def row_by_row(w):
    total = 0.0
    for i in range(2):
        total = total + GLOBAL_ROWS[i] @ w
    return total


@pytest.mark.parametrize(
    ("f", "names"),
    [
        (lambda w: (GLOBAL_ROWS @ w).sum(), ["GLOBAL_ROWS"]),
        (lambda w: mg.matmul(GLOBAL_ROWS, w).sum(), ["GLOBAL_ROWS"]),
        (lambda w: (mg.tensor(GLOBAL_ROWS) @ w).sum(), ["GLOBAL_ROWS"]),
        (lambda w: in_a_helper(w).sum(), ["GLOBAL_ROWS"]),
        (lambda w: of_parameters(w, GLOBAL_ROWS).sum(), ["GLOBAL_ROWS"]),
        (lambda w: of_parameters(w, np.ones((2, 2))).sum(), ["X"]),
        (lambda w: (GLOBAL_DATA.rows @ w).sum(), ["GLOBAL_DATA.rows"]),
        (lambda w: (GLOBAL_PAIR.x @ w).sum(), ["GLOBAL_PAIR.x"]),
        (lambda w: (GLOBAL_ROWS[1:] @ w).sum(), ["GLOBAL_ROWS[1:]"]),
        (lambda w: (w * GLOBAL_ROWS[-1, :2]).sum(), ["GLOBAL_ROWS[-1,:2]"]),
        (lambda w: (w * GLOBAL_LIST[:2]).sum(), ["GLOBAL_LIST[:2]"]),
        (lambda w: (w * np.zeros(2)).sum(), ["c1"]),
        (row_by_row, ["GLOBAL_ROWS[0]", "GLOBAL_ROWS[1]"]),
    ],
)
def test_an_array_or_a_copy_of_it_has_the_words_of_the_program(f, names):
    assert outside_names(f, [1.0, 2.0]) == names


def test_copies_of_one_array_are_one_constant():
    assert outside_names(residual_steps, [1.0, 2.0]) == ["GLOBAL_ROWS", "GLOBAL_ROWS.T"]


def test_a_copy_of_an_array_with_nan_has_its_name():
    broken = np.array([[1.0, np.nan], [3.0, 4.0]])
    assert outside_names(lambda w: (broken @ w).sum(), [1.0, 2.0]) == ["broken"]


def test_a_name_that_another_value_has_stands_below_a_short_one():
    def f(w):
        for row in GLOBAL_ROWS:
            w = w * (row @ w)
        return w.sum()

    assert outside_names(f, [1.0, 2.0]) == ["row", ("c1", "row"), ("c2", "row")]


def test_a_copy_of_what_two_variables_hold_equally_has_no_variables_name():
    a, b = np.ones((2, 2)), np.ones((2, 2))
    chosen = lambda one, other: other.copy()
    assert outside_names(lambda w: (mg.tensor(chosen(a, b)) @ w).sum(), [1.0, 2.0]) == ["c1"]


def test_no_property_runs_to_find_a_name():
    f = lambda w: (w * ([2.0, 3.0] if GLOBAL_DATA else GLOBAL_DATA.computed)).sum()
    assert outside_names(f, [1.0, 2.0]) == ["c1"]


def test_a_constants_name_is_looked_up_once():
    """Not at each operation that reads it."""
    asked = []
    find = SourceMap.outside

    def counted(self, value, calls):
        asked.append(value)
        return find(self, value, calls)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SourceMap, "outside", counted)
        array = np.array([1.0, 2.0])

        def f(x):
            for _ in range(20):
                x = x * array
            return x.sum()

        traced(f, [1.0, 1.0])
    assert len(asked) == 1


# ------------------------------------------------------------------------------------- large graphs


@pytest.mark.whole
def test_work_is_linear_in_the_number_of_operations():
    traces = {}

    def chain(count):
        def f(x):
            y = x
            for i in range(count):
                y = y * x if i % 2 else mg.sin(y)
            return y

        return f

    def run(count):
        traces[count] = trace_function(chain(count), 0.9)
        validate(traces[count])
        assert check_laws(traces[count]) == []
        assert first_divergence(traces[count], traces[count]) is None

    small, large = work(run, 40), work(run, 400)
    assert len(traces[400]["nodes"]) == 401
    assert large < 12 * small, "ten times the operations should be ten times the work"


def test_while_a_trace_is_recorded_cycles_are_collected_less_often():
    seen = []

    def inner(x):
        seen.append(gc.get_threshold())
        return x * 2

    def outer(x):
        trace_function(inner, 1.0)
        seen.append(gc.get_threshold())
        return x * 3

    own = gc.get_threshold()
    trace_function(outer, 1.0)
    with pytest.raises(ZeroDivisionError):
        trace_function(lambda x: x * (1 / 0), 1.0)
    assert gc.get_threshold() == own and all(s[0] > own[0] and s[1:] == own[1:] for s in seen)
    gc.set_threshold(0)
    trace_function(inner, 1.0)
    gc.set_threshold(*own)
    assert len(seen) == 3 and seen[-1][0] == 0


@pytest.mark.whole
def test_a_function_of_thousands_of_lines_is_traced_with_linear_work():
    def function(lines):
        text = (
            "def f(x):\n    v0 = x\n"
            + "".join(f"    v{i} = v{i - 1} * x\n" for i in range(1, lines))
            + f"    return v{lines - 1}\n"
        )
        linecache.cache[f"<long {lines}>"] = (
            len(text),
            None,
            text.splitlines(True),
            f"<long {lines}>",
        )
        space = {}
        exec(compile(text, f"<long {lines}>", "exec"), space)
        return space["f"]

    def run(f, lines):
        last = trace_function(f, 1.0, mode="primal")["nodes"][-1]
        start = 4 + len(f"v{lines - 1} = ")
        assert last["span"] == [lines + 1, start, lines + 1, start + len(f"v{lines - 2} * x")]

    few, many = function(50), function(500)
    small, large = work(run, few, 50), work(run, many, 500)
    assert large < 12 * small, "ten times the lines should be ten times the work"


def test_a_deep_chain_is_traced_without_recursion():
    program = (
        "import minigrad as mg\nfrom minigrad.watch import trace_function\nimport"
        " sys\nsys.setrecursionlimit(200)\ndef f(x):\n    for _ in range(600):\n        x = x *"
        " 1.0001\n    return x\nt = trace_function(f, 1.0)\nprint(len(t['steps']))"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert int(out) == 1 + 1 + 2 * 600 + 1 + 600


def test_the_table_of_the_lesson():
    text = table(traced(lambda x1, x2: mg.log(x1) + x1 * x2 - mg.sin(x2), 2.0, 5.0))
    assert "11.65" in text and "5.5" in text and "1.716" in text


@pytest.fixture
def sum_and_product(monkeypatch):
    """An operation with two results, declared for the test alone."""
    monkeypatch.setattr(primitive, "registry", dict(primitive.registry))
    return primitive.general(
        "sum_and_product",
        lambda xp, a, b: (a + b, a * b),
        [lambda g, b: g[0] + g[1] * b, lambda g, a: g[0] + g[1] * a],
        [lambda t, b: (t, t * b), lambda t, a: (t, t * a)],
        promote="same",
        outputs=2,
    )


def test_each_of_several_results_is_a_node(sum_and_product):
    def both(a, b):
        total, product = sum_and_product(a, b)
        return mg.sin(total) * product

    trace = traced(both, 2.0, 3.0, tangents=(1.0, 0.5))
    assert operations(trace)[:2] == ["sum_and_product"] * 2 and operands(trace, "v1") == operands(
        trace, "v2"
    ) == ["a", "b"]
    assert [n["expr"][-2]["value"] for n in trace["nodes"][2:4]] == [0, 1], "which result it is"
    assert cells(trace)["v1", "d"] == 1.5 and cells(trace)["v2", "d"] == 4.0
    assert cells(trace)["a", "g"] == pytest.approx(np.cos(5.0) * 6 + np.sin(5.0) * 3)
    steps = [s for s in trace["steps"] if s["node"] in ("a", "b") and s["writes"][0][1] == "g"]
    assert [len(s["contribs"]) for s in steps] == [2, 2] and all(
        len(s["edges"]) == 2 for s in steps
    )
    assert [part["product"] for part in steps[0]["contribs"]] == pytest.approx(
        [np.cos(5.0) * 6, np.sin(5.0) * 3]
    )
    assert cut_sums(trace) == pytest.approx([cells(trace)[trace["outputs"][0], "d"]] * 5)


def test_one_of_several_results(sum_and_product):
    trace = traced(lambda a, b: sum_and_product(a, b)[1] * a, 2.0, 3.0)
    assert ("v1", "g") not in cells(trace), "the unused result has no adjoint"
    assert cells(trace)["a", "g"] == 12.0 and cells(trace)["b", "g"] == 4.0


def test_inner_forward_mode_through_several_results(sum_and_product):
    def slope(a, b):
        _, (first, second) = mg.func.jvp(
            lambda z: sum_and_product(z * z, b), (a,), (mg.ones_like(a),)
        )
        return first * second  # 2a · 2ab

    trace = traced(slope, 2.0, 3.0)
    out = trace["outputs"][0]
    assert cells(trace)[out, "v"] == 48.0 and cells(trace)[out, "d"] == 48.0
    assert cells(trace)["a", "g"] == 48.0 and cells(trace)["b", "g"] == 16.0


def test_a_plain_number_made_on_the_way_is_reported():
    """`math.sin(x)` takes a number out of the tensor, whose derivative is lost: the picture
    would be wrong without a word.
    """

    def f(x):
        return x * math.sin(x)

    with pytest.warns(UserWarning, match=r"float\(\) makes a plain number.*mg\.sin\(x\)") as told:
        document = trace_function(f, 2.0)
    assert [w.filename for w in told] == [__file__]
    assert len(told) == 1
    validate(document)
    for quiet in (lambda x: x * x.item(), lambda x: x * float(x.detach()), lambda x: mg.sin(x)):
        trace_function(quiet, 2.0)  # a warning would be an error


def test_each_value_of_a_dict_is_an_input_with_a_name():
    def f(p, x):
        return mg.sum(mg.tanh(x @ p["W"] + p["last"]["b"]))

    p, x = {"W": [[0.5, -1.0]], "last": {"b": [0.25, 0.0]}}, [[1.0], [2.0]]
    trace = trace_function(f, p, x, tangents={"p.last.b": [1.0, 0.0]})
    final = {(node, column): value for s in trace["steps"] for node, column, value in s["writes"]}
    assert trace["inputs"] == ["p.W", "p.last.b", "x"]
    arrays = {k: mg.tensor(v, dtype=mg.float64) for k, v in (("W", p["W"]), ("b", p["last"]["b"]))}
    grads = mg.func.grad(f)({"W": arrays["W"], "last": {"b": arrays["b"]}}, mg.tensor(x))
    assert final["p.last.b", "g"]["sample"] == pytest.approx(grads["last"]["b"].tolist())
    assert final["p.W", "g"]["sample"] == pytest.approx(grads["W"].flatten().tolist())
    assert final[trace["outputs"][0], "d"] == pytest.approx(grads["last"]["b"].tolist()[0])
    with pytest.raises(ValueError, match=r"two inputs have one name among p\.1, p\.1"):
        trace_function(lambda p: p[1] + p["1"], {1: 2.0, "1": 3.0})


def test_an_argument_without_a_value_is_named():
    with pytest.raises(TypeError, match=r"no value for y, z\. .* viz\.show\(f, 2\.0, 5\.0\)"):
        trace_function(lambda x, y, z, scale=1.0: x * y * z * scale, 2.0)
    assert trace_function(lambda x, scale=3.0: x * scale, 2.0)["nodes"]


def test_numbers_in_a_trace_are_pythons_own():
    trace = trace_function(lambda x: (x + x) * mg.sin(x), 0.7)
    written = [value for step in trace["steps"] for _, _, value in step["writes"]]
    assert written and all(type(value) is float for value in written)


def test_what_a_rule_of_the_reverse_pass_computes_is_seen_by_other_observers_alone(monkeypatch):
    recorded, seen = [], []
    end = TraceRecorder.end
    monkeypatch.setattr(
        TraceRecorder, "end", lambda self, event: recorded.append(event) or end(self, event)
    )

    class Log:
        def begin(self, event):
            seen.append(event)

        def end(self, event):
            pass

    with observing(Log()):
        trace_function(mg.sin, 0.7, mode="reverse")
    inside = [[e for e in some if e.phase == "forward" and e.parent] for some in (seen, recorded)]
    assert [e.primitive.name for e in inside[0]] == ["cos"]  # the rule's g · cos x
    assert inside[1] == []


def test_a_long_title_names_each_argument_once():
    """The values had no place behind the names."""

    def the_name_of_a_function(the_first_of_two_arguments, other):
        return the_first_of_two_arguments * other

    title = trace_function(the_name_of_a_function, 2.0, 5.0)["title"]
    assert title == "the_name_of_a_fun…(the_first_of_two_… = 2, other = 5)"
    inputs = [[[1.0] * 3] * 4, [[1.0] * 5] * 3, [1.0] * 5, 2.0]
    network = trace_function(lambda x, W1, b1, scale: mg.tanh(x @ W1 + b1).sum() * scale, *inputs)
    assert network["title"] == "f(x: (4, 3), W1: (3, 5), b1: (5,), scale = 2)"
