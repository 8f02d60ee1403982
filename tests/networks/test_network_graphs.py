"""The backward network and the Jvp network as data: what the engine did, who is needed, and who
dangles.
"""

import json
import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.errors import AutogradError, NonScalarError, ShapeError
from minigrad.networks import (
    backward_network,
    backward_trace,
    bprop_getters,
    jvp_network,
    jvp_trace,
    ops,
)
from minigrad.trace import check_laws, state_at, to_json, validate
from tests.networks.test_grad_operation import FUNCTIONS, Net, tensor

SIN_COS = [  # id, role, operation, operands, value at 0.5, dangling
    ("x", "original", None, (), 0.5, False),
    ("v1", "original", "sin", ("x",), math.sin(0.5), False),
    ("v2", "original", "cos", ("v1",), math.cos(math.sin(0.5)), False),
    ("v", "first backward", None, (), 1.0, True),
    ("v3", "first backward", "sin", ("v1",), math.sin(math.sin(0.5)), False),
    ("v4", "first backward", "neg", ("v3",), -math.sin(math.sin(0.5)), False),
    ("v5", "first backward", "mul", ("v", "v4"), -math.sin(math.sin(0.5)), True),
    ("v6", "first backward", "cos", ("x",), math.cos(0.5), False),
    ("v7", "first backward", "mul", ("v5", "v6"), -math.sin(math.sin(0.5)) * math.cos(0.5), True),
    ("dx", "second backward", None, (), 1.0, False),
    ("v8", "second backward", "mul", ("dx", "v6"), math.cos(0.5), False),
    ("v9", "second backward", "mul", ("v8", "v4"), -math.sin(math.sin(0.5)) * math.cos(0.5), False),
]


def test_the_jvp_network_of_the_documents_example_node_by_node():
    network = jvp_network(Net(), 0.5)
    assert [(n.id, n.role, n.op, n.inputs, float(n.value), n.dangling) for n in network] == SIN_COS
    assert (network.inputs, network.seeds, network.outputs) == (("x",), ("v", "dx"), ("v2", "v9"))
    assert [network[i].name for i in ("v1", "v2")] == ["a", "out"]


def test_the_dangling_nodes_are_exactly_those_that_depend_on_v():
    network = jvp_network(Net(), 0.5)
    assert {n.id for n in network.dangling} == network.depending_on("v") == {"v", "v5", "v7"}
    kept = [n.expression for n in network.of_order(1) if not n.dangling]
    # the single operations' derivatives, made in the backward pass, are needed
    assert kept == ["sin v1", "−v3", "cos x"]


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "constant"])
def test_what_dangles_is_what_depends_on_v(name):
    rng = np.random.default_rng(2)
    x = tensor(rng.standard_normal((3, 3)).tolist())
    v = tensor(rng.standard_normal((3, 3)).tolist())
    network = jvp_network(FUNCTIONS[name], x, v=v)
    assert {n.id for n in network.dangling} == network.depending_on("v")
    assert not any(n.order == 2 and n.dangling for n in network)
    value, pushed = mg.func.jvp(FUNCTIONS[name], (x,), (v,))
    assert np.array_equal(network[network.outputs[0]].value, value.numpy())
    assert np.allclose(network[network.outputs[1]].value, pushed.numpy(), rtol=1e-13, atol=1e-14)


def test_without_a_path_there_is_no_second_pass():
    network = jvp_network(lambda x: mg.ones(2), 1.0)
    assert [(n.kind, n.value.tolist()) for n in network.of_order(2)] == [
        ("seed", 1.0),
        ("const", [0.0, 0.0]),
    ]
    assert network.outputs[1] == network.of_order(2)[1].id


def test_the_backward_network_computes_the_gradient():
    network = backward_network(Net(), 0.5)
    assert [n.id for n in network if n.order == 1] == ["v", "v3", "v4", "v5", "v6", "v7"]
    assert not network.dangling
    assert network[network.outputs[-1]].value == pytest.approx(
        -math.sin(math.sin(0.5)) * math.cos(0.5), abs=1e-15
    )


@pytest.mark.parametrize(("order", "expected"), [(1, 32.0), (2, 48.0), (3, 48.0)])
def test_networks_of_higher_orders_have_the_derivatives(order, expected):
    network = backward_network(lambda x: x**4, 2.0, order=order)
    assert float(network[network.outputs[-1]].value) == expected
    assert {n.role for n in network} == {
        "original",
        "first backward",
        "second backward",
        "third backward",
    } - {role for role, needs in (("second backward", 2), ("third backward", 3)) if needs > order}
    assert len(network.seeds) == order
    validate(network.trace)


def test_several_inputs_outputs_parameters_and_constants():
    layer = nn.Linear(2, 2).double()

    def f(x, n, y):
        return layer(x) * y, (x * n).sum()

    n = mg.tensor([2, 3])
    x, y = tensor(1.0, 2.0), tensor(3.0, 4.0)
    network = jvp_network(f, x, n, y, v=(tensor(1.0, 0.0), tensor(0.0, 1.0)))
    assert network.inputs == ("x", "n", "y") and network.seeds == ("v_1", "v_2", "dx", "dy")
    assert sorted(node.id for node in network if node.kind == "param") == ["bias", "weight"]
    values, pushed = mg.func.jvp(
        lambda x, y: f(x, n, y), (x, y), (tensor(1.0, 0.0), tensor(0.0, 1.0))
    )
    for name, wanted in zip(network.outputs, (*values, *pushed), strict=True):
        assert np.allclose(network[name].value, wanted.detach().numpy(), rtol=1e-14)
    assert {n.id for n in network.dangling} == network.depending_on("v_1", "v_2")


def test_an_argument_named_v_keeps_its_name():
    network = jvp_network(lambda v: v * v, 3.0)
    assert (network.inputs, network.seeds) == (("v",), ("v_", "dv"))
    assert float(network[network.outputs[-1]].value) == 6.0


def test_the_trace_grows_node_by_node():
    trace = jvp_trace(Net(), 0.5)
    assert validate(json.loads(to_json(trace))) == trace
    born = [state_at(trace, k).born for k in range(len(trace["steps"]) + 1)]
    assert [len(b) for b in born] == list(range(len(SIN_COS) + 1))
    assert {n["id"] for n in trace["nodes"] if n.get("dangling")} == {"v", "v5", "v7"}
    assert [n["stage"] for n in trace["nodes"]] == [row[1] for row in SIN_COS]
    assert trace["steps"][1]["cost"] == {"mul": 0, "add": 0, "bytes": 16}
    assert sum(s.get("cost", {"mul": 0})["mul"] for s in trace["steps"]) == 4
    assert not check_laws(trace)
    of = {n["id"]: n.get("of") for n in trace["nodes"]}
    # whose derivative it computes
    assert (of["v5"], of["v7"], of["v8"], of["v9"]) == ("v2", "v1", "v7", "v5")


def test_modules_inside_are_groups_and_the_whole_is_none():
    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.last = Net(), nn.Linear(1, 1).double()

        def construct(self, x):
            return self.last(self.first(x)) + x

    nodes = jvp_trace(Outer(), tensor([0.5]))["nodes"]
    groups = [n.get("group") for n in nodes if n["stage"] == "original"]
    assert groups[:3] == [None, "first", "first"]
    assert set(groups[3:-1]) == {"last"}
    assert groups[-1] is None
    assert all("group" not in n for n in jvp_trace(Net(), 0.5)["nodes"])
    assert any("group" in n for n in jvp_trace(lambda x: Net()(x), 0.5)["nodes"])


def test_the_same_program_gives_the_same_bytes():
    assert to_json(jvp_trace(Net(), 0.5)) == to_json(jvp_trace(Net(), 0.5))
    assert (
        validate(backward_trace(Net(), 0.5, order=2))["title"]
        == "Net(x) and its gradient of order 2"
    )


def test_both_costs_are_counted():
    """The Jvp network computes everything twice that forward mode computes once, unless the
    dangling nodes are left out.
    """
    network = jvp_network(Net(), 0.5)
    forward = mg.count_operations(Net(), 0.5, mode="jvp")
    double = mg.count_operations(Net(), 0.5, mode="double backward")
    assert (forward.total.mul, double.total.mul) == (2, 4)
    assert network.cost() == double.total and network.cost(dangling=False).mul == forward.total.mul
    assert network.cost(dangling=False).operations == forward.total.operations


def test_a_table_for_the_eye():
    lines = str(jvp_network(Net(), 0.5)).splitlines()
    assert len(lines) == 1 + len(SIN_COS)
    assert lines[7].split() == ["v5", "first", "backward", "v", "·", "v4", "−0.4613", "dangling"]


def test_a_registered_rule_and_a_cells_own_are_in_the_picture():
    class Own(nn.Cell):
        def construct(self, x):
            return x * x

        def bprop(self, x, out, dout):
            return (dout * 2 * x,)

    network = jvp_network(Own(), 3.0)
    assert [n.op for n in network.of_order(0)] == [None, "Own"] and network.cost().estimated
    assert float(network[network.outputs[-1]].value) == 6.0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: backward_network(mg.sin, 1.0, order=4), ValueError, "order must be 1, 2 or 3"),
        (
            lambda: jvp_network(mg.sin, mg.tensor([1])),
            TypeError,
            "none of the inputs has a derivative",
        ),
        (lambda: jvp_network(lambda x: 3, 1.0), TypeError, "must return tensors"),
        (lambda: jvp_network(mg.sin, 1.0, v=tensor(1.0, 2.0)), ShapeError, r"v\[0\]"),
        (lambda: jvp_network(lambda x: x * 1j, 1.0), NonScalarError, "complex"),
        (
            lambda: jvp_network(lambda x: mg.func.vmap(mg.sin)(x), tensor(1.0, 2.0)),
            AutogradError,
            "vmap",
        ),
        (lambda: jvp_network(Net(), 0.5)["w"], KeyError, "no node 'w'"),
    ],
)
def test_mistakes_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_rule_of_ones_own_is_no_operand_of_its_operation():
    class Tripled(ops.Primitive):
        def compute(self, x):
            return 3 * x

    bprop_getters.register(Tripled)(lambda self: lambda x, out, dout: (3 * dout,))
    try:
        network = backward_network(lambda x: Tripled()(x), 2.0)
    finally:
        del bprop_getters[Tripled]
    assert network["v1"].expression == "Tripled x"
    assert network.trace["steps"][1]["say"] == "v1 = Tripled x = 6."
