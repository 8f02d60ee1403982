"""Other engines' Traces: PyTorch's graph, a scalar engine in the manner of micrograd, and a
Trace written by hand.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from minigrad.viz.adapters import Writer

import minigrad as mg
from minigrad import viz
from minigrad.trace import validate
from minigrad.trace.replay import check_laws, state_at
from minigrad.trace.text import text_of
from minigrad.watch import trace_function
from minigrad.watch.derivatives import Rules


def last(trace):
    """The final table by the names of the nodes."""
    return state_at(trace, len(trace["steps"])).cells


# ---------------------------------------------------------------------------------- written by hand


class Value:
    """A student's engine: the one of the README."""

    def __init__(self, data, parents=(), op="", label=""):
        self.data, self.grad, self._prev, self._op, self.label = data, 0.0, parents, op, label
        self._backward = lambda: None

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other), "+")

        def back():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = back
        return out

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other), "*")

        def back():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = back
        return out

    def tanh(self):
        out = Value(math.tanh(self.data), (self,), "tanh")

        def back():
            self.grad += (1 - out.data**2) * out.grad

        out._backward = back
        return out


class Forgetful(Value):
    """The engine with a frequent bug: an adjoint is overwritten instead of added."""

    def __mul__(self, other):
        out = Forgetful(self.data * other.data, (self, other), "*")

        def back():
            self.grad = other.data * out.grad
            other.grad = self.data * out.grad

        out._backward = back
        return out


def test_an_adjoint_that_is_not_the_sum_is_told_as_it_is():
    w = Writer()
    a = w.input("a", 1.0)
    y = w.op("mul", [a, a], 1.0)
    w.seed(y)
    w.send(y, 0, 2.0, after=5.0)
    w.send(y, 1, 3.0, after=3.0)
    first, second = w.document()["steps"][-2:]
    assert (
        " = 2 → " in text_of(first["formula"])
        and text_of(first["formula"]).endswith(" = 5")
        and first["say"].endswith("the adjoint of a is now 5.")
    )
    assert (
        " = 3 → " in text_of(second["formula"])
        and text_of(second["formula"]).endswith(" = 3")
        and second["say"].endswith("was 5 and is now 3.")
    )
    assert "+=" not in text_of(second["formula"]) and "added" not in second["say"]


def test_a_student_engine_needs_one_call():
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    a.grad = 7.0
    y = (a * b + a).tanh()
    trace = viz.trace_of(y, title="mine")
    assert (
        check_laws(trace) == []
        and [n["id"] for n in trace["nodes"]][:2] == ["a", "b"]
        and trace["title"] == "mine"
    )
    table, slope = last(trace), 1 - math.tanh(-4.0) ** 2
    assert table["a", "g"] == pytest.approx((-3 + 1) * slope) and table["b", "g"] == pytest.approx(
        2 * slope
    )
    assert (a.grad, b.grad) == (7.0, 0.0), "its gradients are as before"
    assert "<" in viz.to_svg(trace)


def test_names_come_from_the_variables_where_there_are_no_labels():
    weight, bias = Value(2.0), Value(1.0)
    result = weight * bias
    trace = viz.trace_of(result)
    assert {n["id"] for n in trace["nodes"] if n["kind"] == "input"} == {
        "weight",
        "bias",
    } and trace["nodes"][-1]["name"] == "result"
    assert {n["id"] for n in viz.trace_of(result, names={"p": weight, "q": bias})["nodes"]} == {
        "p",
        "q",
        "v1",
    }


def test_a_bug_is_shown_and_found():
    a = Forgetful(3.0, label="a")
    b = Forgetful(4.0, label="b")
    trace = viz.trace_of(a * b * a)
    assert last(trace)["a", "g"] != 2 * 3 * 4
    assert check_laws(trace) != [], "the law of sums names the step"


def test_an_engine_with_partials():
    class Node:
        def __init__(self, data, children=(), local_grads=()):
            self.data, self.grad, self._children, self._local_grads = (
                data,
                0.0,
                children,
                local_grads,
            )

        def __mul__(self, other):
            return Node(self.data * other.data, (self, other), (other.data, self.data))

        def backward(self):
            self.grad = 1.0
            stack = [self]
            while stack:
                node = stack.pop()
                for child, local in zip(node._children, node._local_grads, strict=True):
                    child.grad += local * node.grad
                    stack.append(child)

    x, y = Node(3.0), Node(5.0)
    trace = viz.trace_of(x * y)
    assert last(trace)["x", "g"] == 5 and last(trace)["y", "g"] == 3 and check_laws(trace) == []
    assert trace["steps"][-1]["contribs"][0]["local"] in (3.0, 5.0)
    z = Node(2.0)
    shared = z * z
    wrong = viz.trace_of(
        shared * shared * z
    )  # this engine walks shared values once for each use: its sums are wrong
    assert any(
        step["phase"] == "update" and "not the sum" in step["say"] for step in wrong["steps"]
    )


def test_what_is_no_scalar_engine():
    with pytest.raises(TypeError, match="no number"):
        viz.trace_of(object())
    bare = Value(1.0)
    del bare._backward
    with pytest.raises(TypeError, match="no step back"):
        viz.trace_of(bare)
    y = Value(1.0)
    for _ in range(20_001):
        y = y + Value(0.0)
    with pytest.raises(ValueError, match="more than 20,000"):
        viz.trace_of(y)


def test_the_readme_example_runs_and_is_short():
    text = (Path(viz.__file__).parent / "adapters" / "README.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    assert len(blocks) >= 2 and all(
        len([line for line in block.splitlines() if line.strip()]) < 40 for block in blocks
    )
    for block in blocks:
        space = {}
        exec(compile(block, "README.md", "exec"), space)  # the documentation's own words
        assert validate(space["trace"]) and check_laws(space["trace"]) == []


def test_the_writer_agrees_with_the_engine(monkeypatch):
    """The writer does not know the rules of the engine that it writes for; all else is equal."""
    for mode in ("pulled", "pushed"):
        monkeypatch.setattr(Rules, mode, lambda *_: None)
    w = Writer("f(x, y) = x · y")
    x, y = w.input("x", 2.0, tangent=1.0), w.input("y", 5.0, tangent=0.0)
    v = w.op("mul", [x, y], 10.0)
    w.tangent(v, 5.0, local=[5.0, 2.0])
    w.seed(v)
    w.send(v, 0, 5.0, local=5.0)
    w.send(v, 1, 2.0, local=2.0)
    mine, ours = w.document(), trace_function(lambda x, y: x * y, 2.0, 5.0)
    assert check_laws(mine) == [] and last(mine) == last(ours)
    words = lambda trace: [(step["formula"], step["say"]) for step in trace["steps"]]
    assert words(mine) == words(ours)


def test_the_writer_takes_arrays_and_what_was_not_kept():
    w = Writer()
    x = w.input("x", np.array([1.0, 2.0]))
    v = w.op("square", [x], None, shape=[2], dtype="float64")
    s = w.op("sum", [v], 5.0)
    w.seed(s)
    w.send(s, 0, np.ones(2))
    w.send(v, 0, np.array([2.0, 4.0]))
    trace = w.document()
    assert (
        (v, "v") not in last(trace)
        and trace["nodes"][1]["shape"] == [2]
        and last(trace)[x, "g"]["sample"] == [2, 4]
    )
    viz.to_html(trace)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda w, x: w.op("sin", ["nothing"], 0.0), "no node 'nothing'"),
        (lambda w, x: w.send(x, 0, 1.0), "has 0 operands"),
        (lambda w, x: w.send(w.op("sin", [x], 0.0), 0, 1.0), "seed.. the result first"),
        (lambda w, x: (w.seed(x), w.seed(x)), "has an adjoint already"),
        (lambda w, x: w.tangent(w.op("sin", [x], 0.0), 1.0), "no operand of v1 has a tangent"),
        (lambda w, x: Writer().document(), "nothing was written"),
        (
            lambda w, x: w.op("sin", x, 0.0),
            r"operands of sin must be a list of names, such as \['x'\]",
        ),
        (
            lambda w, x: w.op("mul", [x, 2.0], 2.0),
            r'2.0 is a number, not the name of a node; make it one: input\("", 2.0, kind="const"\)',
        ),
        (
            lambda w, x: w.input("name", "two"),
            "must be a number or an array of numbers, got str two",
        ),
        (
            lambda w, x: w.op("sin", [x], [1.0, None]),
            "must be a number or an array of numbers, got list",
        ),
    ],
)
def test_the_writer_refuses_what_cannot_have_happened(wrong, message):
    w = Writer()
    with pytest.raises(ValueError, match=message):
        wrong(w, w.input("x", 1.0))
    viz.to_html(w.document())  # what was refused has left nothing behind


# ------------------------------------------------------------------------------------------ PyTorch

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
oracle = pytest.mark.oracle


@oracle
def test_pytorch_and_minigrad_leave_the_same_trace():
    theirs = viz.from_torch(lambda x1, x2: torch.log(x1) + x1 * x2 - torch.sin(x2), 2.0, 5.0)
    ours = trace_function(
        lambda x1, x2: mg.log(x1) + x1 * x2 - mg.sin(x2), 2.0, 5.0, mode="reverse"
    )
    assert check_laws(theirs) == [] and [n["op"] for n in theirs["nodes"] if "op" in n] == [
        "log",
        "mul",
        "add",
        "sin",
        "sub",
    ]
    assert [n["id"] for n in theirs["nodes"] if n["kind"] == "input"] == ["x1", "x2"]
    by = lambda trace: {
        (n.get("op", n["id"])): (last(trace)[n["id"], "v"], last(trace)[n["id"], "g"])
        for n in trace["nodes"]
    }
    mine, yours = by(ours), by(theirs)
    assert mine.keys() == yours.keys() and all(
        mine[k] == pytest.approx(yours[k], rel=1e-12) for k in mine
    )
    locals_ = [part["local"] for step in theirs["steps"] for part in step.get("contribs", [])]
    assert len(locals_) == 8


@oracle
def test_after_the_fact_with_arrays():
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    hidden = torch.tensor([3.0, 1.0], requires_grad=True)
    y = ((x * w).exp() * 3).sum() + (hidden * torch.tensor([5.0, 6.0])).sum()
    trace = viz.from_torch(y, {"x": x, "w": w})
    wanted = torch.autograd.grad(y, [x, w, hidden])
    table = last(trace)
    assert table["x", "g"] == pytest.approx(wanted[0].item())
    assert table["w", "g"]["sample"] == pytest.approx(wanted[1].tolist())
    (param,) = (n["id"] for n in trace["nodes"] if n["kind"] == "param")
    assert table[param, "g"]["sample"] == pytest.approx(wanted[2].tolist())
    assert x.grad is None and w.grad is None and check_laws(trace) == []
    exp = next(n["id"] for n in trace["nodes"] if n.get("op") == "exp")
    assert table[exp, "v"]["sample"] == pytest.approx((x * w).exp().tolist()), (
        "PyTorch kept it, so it is shown"
    )
    viz.to_html(trace)


@oracle
def test_show_finds_the_adapter_of_pytorch(monkeypatch):
    monkeypatch.setattr("minigrad.viz.display.tell", lambda shown, *_: shown)
    f = lambda x1, x2: torch.log(x1) + x1 * x2 - torch.sin(x2)
    x1, x2 = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (2.0, 5.0))
    model = torch.nn.Linear(2, 1)
    for shown, inputs in (
        (viz.show(f, 2.0, 5.0), {"x1": 5.5, "x2": 1.716}),
        (viz.show(f, x1, x2), {"x1": 5.5, "x2": 1.716}),
        (viz.show(f(x1, x2), {"x1": x1, "x2": x2}), {"x1": 5.5, "x2": 1.716}),
        (viz.show(f, 2.0, 5.0, cotangent=torch.tensor(2.0).double(), mode="reverse"), {"x1": 11.0}),
    ):
        found = last(shown.trace)
        for name, g in inputs.items():
            assert found[name, "g"] == pytest.approx(g, abs=1e-3)
    assert x1.grad is None
    assert any(n["kind"] == "param" for n in viz.show(model, torch.ones(1, 2)).trace["nodes"])
    with pytest.raises(TypeError, match="reverse mode, so mode='forward' is not"):
        viz.show(f, 2.0, 5.0, mode="forward")
    with pytest.raises(TypeError, match="tangents= is for a function of minigrad"):
        viz.show(f, 2.0, 5.0, tangents=(1.0, 0.0))
    both = lambda x: mg.sin(x) + float(torch.tensor(1.0))
    assert "d" in {c["key"] for c in viz.show(both, 2.0).trace["columns"]}, "minigrad's own"


def test_a_network_of_pytorch():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    x = torch.ones(5, 3)
    trace = viz.from_torch(
        lambda x: torch.nn.functional.cross_entropy(model(x), torch.zeros(5, dtype=torch.long)), x
    )
    table = last(trace)
    params = [n["id"] for n in trace["nodes"] if n["kind"] == "param"]
    loss = torch.nn.functional.cross_entropy(model(x), torch.zeros(5, dtype=torch.long))
    wanted = torch.autograd.grad(loss, list(model.parameters()))
    found = [table[p, "g"] for p in params]
    assert sorted(f["norm"] for f in found) == pytest.approx(
        sorted(w.norm().item() for w in wanted), rel=1e-5
    )
    assert table[trace["outputs"][0], "v"] == pytest.approx(loss.item())


@oracle
def test_an_inner_tensor_is_an_input_where_it_is_asked_for():
    x = torch.tensor(3.0, requires_grad=True)
    h = x * x
    trace = viz.from_torch(h * 2 + h, {"h": h})
    assert [n["id"] for n in trace["nodes"] if n["kind"] == "input"] == ["h"] and last(trace)[
        "h", "g"
    ] == 3
    assert all(n.get("op") != "pow" for n in trace["nodes"])


@oracle
@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda x: 3.0, TypeError, "expected a tensor"),
        (lambda x: x.detach(), ValueError, "has no graph"),
        (lambda x: x * torch.ones(2), ValueError, "starts from one number"),
        (lambda x: sum(torch.stack([x, x]).unbind()), ValueError, "more than one result"),
    ],
)
def test_what_pytorch_cannot_give(make, error, message):
    with pytest.raises(error, match=message):
        viz.from_torch(make, 2.0)


@oracle
def test_a_function_of_pytorch_brings_its_name_its_inputs_and_its_source():
    def wave(x, rate):
        inner = x * rate
        return torch.sin(inner)

    trace = viz.from_torch(wave, 2.0, 0.5)
    assert trace["title"] == "wave(x, rate), x = 2, rate = 0.5"
    lines = trace["source"]["code"].split("\n")
    pieces = [lines[n["span"][0] - 1][n["span"][1] : n["span"][3]] for n in made(trace)]
    assert pieces == ["x * rate", "torch.sin(inner)"]
    assert viz.from_torch(wave, 2.0, 0.5, title="a wave")["title"] == "a wave"
    assert viz.from_torch(torch.sin, 1.0)["title"] == "sin(x1), x1 = 1"


@oracle
def test_a_module_of_pytorch_is_shown_by_its_forward_pass():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 3)

        def forward(self, x, scale):
            return (torch.tanh(self.linear(x)) * scale).sum()

    trace = viz.from_torch(Net(), torch.ones(1, 2), 2.0)
    assert trace["title"] == "Net(x, scale), x: (1, 2), scale = 2"
    assert trace["source"]["code"].startswith("def forward(self, x, scale):")
    ready_made = viz.from_torch(torch.nn.Linear(2, 1), torch.ones(1, 2))
    assert ready_made["title"] == "Linear(input), input: (1, 2)" and "source" not in ready_made


def made(trace):
    """The nodes that operations made."""
    return [node for node in trace["nodes"] if "op" in node]


@oracle
def test_a_seed_and_a_long_chain():
    trace = viz.from_torch(
        lambda x: x * x, torch.tensor([1.0, 2.0]), seed=torch.tensor([1.0, 10.0])
    )
    assert last(trace)["x", "g"]["sample"] == [2, 40]
    y = x = torch.tensor(1.0, requires_grad=True)
    for _ in range(2_100):
        y = y * 1.0
    with pytest.raises(ValueError, match="more than 2,000 operations"):
        viz.from_torch(y, {"x": x})


# ------------------------------------------------------------------------------ rules of the steps


def test_a_rule_is_said_where_it_gives_what_the_engine_has_sent():
    sent = {}
    for name, product in (("right", math.cos(5.0)), ("wrong", math.sin(5.0))):
        writer = Writer()
        y = writer.op("sin", [writer.input("x", 5.0)], math.sin(5.0))
        writer.seed(y, 1.0)
        writer.send(y, 0, product)
        sent[name] = writer.document()["steps"][-1]["say"]
    assert "sends v̄1 · cos x = 0.2837 back to x" in sent["right"]
    assert "sends −0.9589 back to x" in sent["wrong"]


def test_pytorch_s_steps_say_their_rules():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    f = lambda x, w: torch.tanh(x @ w).sum()
    trace = viz.show(f, torch.ones(3, 2), torch.full((2, 2), 0.3)).trace
    said = " ".join(step["say"] for step in trace["steps"])
    assert "v̄1 @ w^T" in said and "x^T @ v̄1" in said and "v̄2 · (1 − v2^2)" in said


# ------------------------------------------------------------------- a graph that minigrad recorded


def test_a_tensor_is_shown_by_the_graph_that_exists():
    x = mg.tensor(2.0, requires_grad=True, dtype=mg.float64)
    w = mg.tensor(5.0, requires_grad=True, dtype=mg.float64)
    loss = mg.log(x) + x * w - mg.sin(w)
    trace = validate(viz.show(loss).trace)
    check_laws(trace)
    table = last(trace)
    assert trace["title"] == "loss" and trace["inputs"] == ["x", "w"]
    gx, gw = mg.autograd.grad(loss, [x, w], retain_graph=True)
    assert (table["x", "g"], table["w", "g"]) == (gx.item(), gw.item())
    assert table[trace["outputs"][0], "v"] == loss.item()
    assert ("v1", "v") not in table  # the sum needs no values: the engine has kept none
    assert x.grad is None and w.grad is None
    assert (
        last(viz.show(loss, names={"rate": w}, cotangent=2.0).trace)["rate", "g"] == 2 * gw.item()
    )
    loss.backward()
    with pytest.raises(mg.errors.GraphFreedError, match="freed its saved values"):
        viz.show(loss)


def test_a_recorded_operation_is_written_with_its_parameters_and_a_sign_for_what_is_not_known():
    x = mg.tensor([2.0, 3.0], requires_grad=True)
    y = ((3 - x) ** 2 - 4).sum(0)
    text = str(viz.show(y))
    for written in ("… − x", "v1^2", "v2 − …", "sum(v3, axes 0)"):
        assert written in text
    assert check_laws(viz.show(y).trace) == []


def test_a_model_s_loss_shows_its_parameters_and_constants():
    model = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.Tanh())
    loss = (model(mg.ones(4, 2)) * mg.full((3,), 2.0)).sum()
    trace = viz.show(loss).trace
    check_laws(trace)
    kinds = {node["id"]: node["kind"] for node in trace["nodes"]}
    assert kinds["model.0.weight"] == "param" and "const" in kinds.values()
    wanted = mg.autograd.grad(loss, [model[0].bias])[0].tolist()
    assert last(trace)["model.0.bias", "g"]["sample"] == pytest.approx(wanted)


def test_a_tensor_without_a_graph_or_of_many_numbers_is_refused():
    x = mg.ones(3, requires_grad=True)
    with pytest.raises(ValueError, match="no history to show"):
        viz.show(mg.ones(3).sum())
    with pytest.raises(mg.errors.NonScalarError, match=r"has the shape \(3,\)"):
        viz.show(x * 2)
    with pytest.raises(TypeError, match="reverse mode"):
        viz.show(x.sum(), mode="forward")
    with pytest.raises(TypeError, match="tangents= is for a function"):
        viz.show(x.sum(), tangents=1.0)
    with pytest.raises(TypeError, match="takes no arguments"):
        viz.show(x.sum(), 1.0)
