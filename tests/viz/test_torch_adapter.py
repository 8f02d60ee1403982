"""PyTorch's graphs as Traces."""

import pytest

import minigrad as mg
from minigrad import viz
from minigrad.errors import NonScalarError
from minigrad.trace.replay import check_laws
from minigrad.trace.text import text_of
from minigrad.watch import trace_function
from tests.viz.test_adapters import last

torch = pytest.importorskip("torch", reason='pip install -e ".[oracle]"')
pytestmark = pytest.mark.oracle


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
    loss = (model(torch.ones(1, 2)) * x1).sum()
    trace = viz.show(loss).trace  # its leaves are called as the caller calls them
    called = {n["id"] for n in trace["nodes"] if n["kind"] == "param"}
    assert called == {"model.weight", "model.bias", "x1"} and trace["title"] == "loss"
    with pytest.raises(TypeError, match="mode='primal' and 'reverse', not 'forward'"):
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
    assert sorted(params) == sorted(name for name, _ in model.named_parameters())
    assert not torch.nn.modules.module._global_forward_pre_hooks
    assert not torch.nn.modules.module._global_forward_hooks
    loss = torch.nn.functional.cross_entropy(model(x), torch.zeros(5, dtype=torch.long))
    wanted = torch.autograd.grad(loss, list(model.parameters()))
    found = [table[p, "g"] for p in params]
    assert sorted(f["norm"] for f in found) == pytest.approx(
        sorted(w.norm().item() for w in wanted), rel=1e-5
    )
    assert table[trace["outputs"][0], "v"] == pytest.approx(loss.item())


def test_an_inner_tensor_is_an_input_where_it_is_asked_for():
    x = torch.tensor(3.0, requires_grad=True)
    h = x * x
    trace = viz.from_torch(h * 2 + h, {"h": h})
    assert [n["id"] for n in trace["nodes"] if n["kind"] == "input"] == ["h"] and last(trace)[
        "h", "g"
    ] == 3
    assert all(n.get("op") != "pow" for n in trace["nodes"])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda x: 3.0, TypeError, "expected a tensor"),
        (lambda x: x.detach(), ValueError, "has no graph"),
        (
            lambda x: x * torch.ones(2),
            NonScalarError,
            r"f returned the shape \(2,\)\. Reduce",
        ),
        (lambda x: sum(torch.stack([x, x]).unbind()), ValueError, "more than one result"),
    ],
)
def test_what_pytorch_cannot_give(make, error, message):
    with pytest.raises(error, match=message):
        viz.from_torch(make, 2.0)


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
    assert ready_made["title"] == "Linear(input), input: (1, 2)"


def test_a_module_without_a_forward_of_the_users_says_so_and_lists_its_layers():
    net = torch.nn.Sequential(torch.nn.Flatten(), sequential(torch), torch.nn.Linear(2, 1))
    trace = viz.from_torch(net, torch.ones(1, 3))
    lines = trace["source"]["code"].split("\n")
    assert lines[0] == "# forward of Sequential is PyTorch's own; its layers:"
    assert "\n".join(lines[1:]) == repr(net)
    lit = [(n["group"], lines[n["span"][0] - 1].strip()) for n in made(trace)]
    assert lit == [
        ("Sequential/1: Sequential/0: Linear", f"(0): {net[1][0]}"),
        ("Sequential/1: Sequential/1: Tanh", "(1): Tanh()"),
        ("Sequential/1: Sequential/2: Linear", f"(2): {net[1][2]}"),
        ("Sequential/2: Linear", f"(2): {net[2]}"),
    ]


def test_what_is_printed_as_one_layer_of_several_has_no_line():
    net = torch.nn.Sequential(*[torch.nn.Linear(2, 2)] * 2, torch.nn.Linear(2, 1))
    assert check_laws(viz.from_torch(net, torch.ones(1, 2))) == []


RATE = torch.tensor([2.0, 3.0])


def scaled(u):
    return u * RATE


def test_constants_of_pytorch_have_the_programs_words_and_their_places():
    """Also where PyTorch keeps nothing of them: x − RATE is not −x."""
    shift = torch.tensor([1.0, 2.0])

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.tensor([4.0, 5.0]))

        def forward(self, x):
            return ((x - self.mean) / RATE + shift).sum()

    written = lambda f: [text_of(n["expr"]) for n in made(viz.from_torch(f, torch.ones(2)))][:-1]
    assert written(Net()) == ["x − mean", "v1 / RATE", "v2 + shift"]
    assert written(lambda x: (RATE - scaled(x)).sum()) == ["x · RATE", "RATE − v1"]
    assert written(lambda x: (5 - torch.stack([x, shift])).sum())[1] == "5 − v1"
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    found = written(lambda x: ((x - table[1]) @ table.T).sum())
    assert found[0] == "x − table[1]" and "v2 @ table.T" in found
    x = torch.ones(2, requires_grad=True)
    assert text_of(made(viz.from_torch((x - shift).sum(), {"x": x}))[0]["expr"]) == "x − …"


def test_numbers_of_pytorch_stand_inside_of_formulas_as_minigrad_s_do():
    f = lambda x: (0.1 * x**2 + 1 - x / 4).sum()
    theirs = viz.from_torch(f, torch.ones(2, dtype=torch.float64))
    ours = trace_function(f, mg.ones(2, dtype=mg.float64), mode="reverse")
    assert [n["id"] for n in theirs["nodes"]] == [n["id"] for n in ours["nodes"]]
    written = [text_of(n["expr"]) for n in made(theirs)]
    assert written == ["x²", "v1 · 0.1", "v2 + 1", "x / 4", "v3 − v4", "sum(v5, axis 0)"]
    assert any("v̄2 · 0.1" in text_of(step["formula"]) for step in theirs["steps"])
    assert check_laws(theirs) == []


def test_a_constant_of_pytorch_that_was_changed_in_between_is_another_one():
    shift = torch.tensor([1.0, 2.0])

    def f(x):
        x = x + shift
        shift.mul_(10)
        return (x + shift).sum()

    trace = viz.from_torch(f, torch.ones(2))
    constants = [n["id"] for n in trace["nodes"] if n["kind"] == "const"]
    values = [last(trace)[name, "v"]["sample"] for name in constants]
    assert constants[0] == "shift" and values == [[1, 2], [10, 20]]


def test_the_values_alone_of_a_result_of_any_shape(monkeypatch):
    f = lambda x: torch.sin(x) * RATE
    trace = viz.from_torch(f, torch.tensor([1.0, 2.0]), mode="primal")
    assert {column for _, column in last(trace)} == {"v"} and trace["seed"] == {}
    expected = f(torch.tensor([1.0, 2.0])).tolist()
    assert last(trace)[trace["outputs"][0], "v"]["sample"] == pytest.approx(expected)
    shown = viz.show(f, torch.tensor([1.0, 2.0]), mode="primal")
    assert [c["key"] for c in shown.trace["columns"]] == ["v"]
    with pytest.raises(ValueError, match="mode must be"):
        viz.from_torch(f, torch.tensor([1.0, 2.0]), mode="forward")
    with pytest.raises(NonScalarError, match=r"cotangent=… in viz\.show"):
        viz.show(f, torch.tensor([1.0, 2.0]), mode="reverse")
    with pytest.warns(UserWarning, match=r"no adjoints are shown.*cotangent=…"):
        by_default = viz.show(f, torch.tensor([1.0, 2.0]))
    assert by_default.trace["steps"] == shown.trace["steps"]
    with_seed = viz.show(f, torch.tensor([1.0, 2.0]), cotangent=[1.0, 0.0])
    assert ("x", "g") in last(with_seed.trace)


def made(trace):
    """The nodes that operations made."""
    return [node for node in trace["nodes"] if "op" in node]


def sequential(lib):
    return lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 2))


def test_a_linear_layer_of_pytorch_is_minigrads_with_its_rule_and_stands_in_its_module():
    theirs, own = sequential(torch).double(), sequential(mg)
    for there, here in zip(theirs.parameters(), own.parameters(), strict=True):
        here.data = mg.tensor(there.detach().numpy())
    x = torch.ones(5, 3, dtype=torch.float64)
    trace = viz.from_torch(theirs, x, seed=torch.ones(5, 2, dtype=torch.float64))
    reference = trace_function(own, mg.ones(5, 3, dtype=mg.float64), cotangent=mg.ones(5, 2))
    shown = viz.compare(reference, trace)
    assert shown.divergence is None
    beside = shown.document["union"]["beside"]
    assert beside["cells"] == [] and beside["only"] == {}
    groups = [node["group"] for node in made(trace)]
    assert groups == ["Sequential/0: Linear", "Sequential/1: Tanh", "Sequential/2: Linear"]
    assert text_of(made(trace)[0]["expr"]) == "input @ 0.weightᵀ + 0.bias"
    said = " ".join(step["say"] for step in trace["steps"])
    assert "v̄1ᵀ @ input" in said and "sum(v̄1, axis 0)" in said and check_laws(trace) == []


@pytest.mark.parametrize("shape", [(3,), (2, 5, 3)])
def test_a_linear_layer_of_pytorch_on_other_than_a_matrix_tells_all_values(shape):
    layer = torch.nn.Linear(3, 4).double()
    trace = viz.from_torch(lambda x: layer(x).sum(), torch.ones(shape, dtype=torch.float64))
    assert [n["op"] for n in made(trace)] == ["reshape", "affine", "reshape", "sum"]
    assert all((n["id"], "v") in last(trace) for n in trace["nodes"])
    assert [n.get("group") for n in made(trace)] == ["Linear"] * 3 + [None]
    assert check_laws(trace) == []


def test_a_layer_whose_transpose_or_bias_serves_more_is_told_by_its_operations():
    x, w, b = (torch.ones(n, requires_grad=True) for n in ((2, 3), (4, 3), (4,)))
    turned = w.t()
    twice = viz.from_torch((torch.addmm(b, x, turned) + x @ turned).sum(), {"x": x, "w": w})
    assert [n["op"] for n in made(twice)][:2] == ["permute", "addmm"]
    scaled = viz.from_torch(torch.addmm(b, x, w.t(), beta=2).sum(), {"x": x, "w": w})
    assert [n["op"] for n in made(scaled)] == ["permute", "addmm", "sum"]
    for trace in (twice, scaled):
        assert check_laws(trace) == []
    assert "v̄1ᵀ" in " ".join(step["say"] for step in scaled["steps"])


@pytest.mark.parametrize(
    ("turn", "axes"),
    [
        (lambda x: x.transpose(0, -1), "axes 2, 1, 0"),
        (lambda x: x.permute(1, -1, 0), "axes 1, 2, 0"),
        (lambda x: x.mT, "axes 0, 2, 1"),
    ],
)
def test_a_transpose_of_pytorch_names_its_axes(turn, axes):
    x = torch.arange(24.0).reshape(2, 3, 4)
    trace = viz.from_torch(lambda x: (turn(x) * torch.ones(4)[:1]).sum(), x)
    assert text_of(made(trace)[0]["expr"]) == f"permute(x, {axes})"


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


def test_pytorch_s_steps_say_their_rules():
    f = lambda x, w: torch.tanh(x @ w).sum()
    trace = viz.show(f, torch.ones(3, 2), torch.full((2, 2), 0.3)).trace
    said = " ".join(step["say"] for step in trace["steps"])
    assert "v̄1 @ wᵀ" in said and "xᵀ @ v̄1" in said and "tanh v1 has the derivative 1 − v2²" in said


def test_a_cat_of_pytorch_names_its_axis_and_the_part_that_goes_back():
    x = torch.ones(2, 3, requires_grad=True)
    y = torch.ones(2, 1, requires_grad=True)
    trace = viz.from_torch((torch.cat([x, y], -1) ** 2).sum(), {"x": x, "y": y})
    cat = next(node for node in trace["nodes"] if node.get("op") == "cat")
    assert text_of(cat["expr"]) == "cat(x, y, axis 1)"
    said = " ".join(step["say"] for step in trace["steps"])
    assert "v̄1[:, 0:3]" in said and "v̄1[:, 3:4]" in said
    hidden = viz.from_torch(torch.cat([torch.ones(2, 3), y], 1).sum(), {"y": y})
    cat = next(node for node in hidden["nodes"] if node.get("op") == "cat")
    assert "axis" not in text_of(cat["expr"]), "the sizes of its operands are not known"


def test_a_stack_of_pytorch_names_its_axis_and_the_part_that_goes_back():
    x = torch.tensor([1.0, 2.0])
    said = lambda f: " ".join(step["say"] for step in viz.show(f, x).trace["steps"])
    both = said(lambda x: (torch.stack([x, x * x], -1) ** 2).sum())
    assert "stack(x, v1, axis 1)" in both and "v̄2[:, 0]" in both and "v̄2[:, 1]" in both
    constant = said(lambda x: torch.stack([torch.ones(2), x * x]).sum())
    assert "stack(c1, v1, axis 0)" in constant and "v̄2[1]" in constant
    x.requires_grad_()
    hidden = viz.from_torch(torch.stack([torch.ones(2), x * x]).sum(), {"x": x})
    assert "v̄2[" not in " ".join(step["say"] for step in hidden["steps"]), "which part is not told"


def test_pytorch_s_steps_are_written_and_read_as_minigrad_s():
    """Logarithms, exponents and axes as minigrad writes them; a step reads the values that its
    rule names."""

    def computed(lib, keepdim):
        f = lambda x, w: ((lib.log(x @ w) ** 3).sum(-1, **keepdim) * x.mean(0).sum()).mean()
        make = torch.full if lib is torch else mg.full
        return f, [make((2, 3), 0.5), make((3, 4), 2.0)]

    def said(trace):
        expressions = [text_of(node["expr"]) for node in trace["nodes"]]
        steps = [s for s in trace["steps"] if s["phase"] in ("adjoint", "accumulate")]
        return expressions, {(text_of(s["formula"][:1]), *map(tuple, s["reads"])) for s in steps}

    f, inputs = computed(torch, {"keepdim": True})
    theirs = viz.show(f, *inputs).trace
    f, inputs = computed(mg, {"keepdim": True})
    own = trace_function(f, *inputs, mode="reverse")
    assert said(theirs) == said(own)
    assert {"ln v1", "v2³", "sum(v3, axis 1)"} <= {*said(theirs)[0]}
    power = viz.show(lambda x: x**-1.5, torch.tensor(2.0)).trace
    assert "x^−1.5" in said(power)[0], "a sum over no axis and a number's power"
    whole = viz.show(lambda x: (x**2).sum(), torch.tensor(2.0)).trace
    assert said(whole)[0][1:] == ["x²", "sum v1"]


def test_an_array_of_pytorch_has_the_heat_map_that_minigrad_s_has():
    x, w = torch.linspace(-1, 2, 12).double(), torch.linspace(1, -2, 15).double()
    given = x.reshape(4, 3), w.reshape(3, 5)
    theirs = viz.from_torch(lambda x, w: (x @ w).tanh().sum(), *given)
    ours = trace_function(
        lambda x, w: (x @ w).tanh().sum(), *(a.numpy() for a in given), mode="reverse"
    )
    heats = lambda trace: {
        (node, column): value["heat"]
        for (node, column), value in last(trace).items()
        if isinstance(value, dict) and "heat" in value
    }
    assert set(heats(ours)) == {(node, column) for node in ("v1", "v2") for column in "vg"}
    assert heats(theirs) == heats(ours)


def _rules(f, *arrays):
    """The formulas of the adjoint steps of a PyTorch function, and of minigrad's, without their
    numbers."""
    theirs = viz.from_torch(f(torch), *map(torch.tensor, arrays))
    ours = trace_function(f(mg), *arrays, mode="reverse")
    assert check_laws(theirs) == []
    told = []
    for trace in (theirs, ours):
        steps = [s for s in trace["steps"] if s["phase"] in ("adjoint", "accumulate")]
        said = [text_of(s["formula"]).partition(" → ")[0] for s in steps]
        told.append([one.rpartition(" = ")[0] for one in said])
    return told


A = [[0.3, -0.7, 1.1], [0.9, 0.4, -0.2]]


@pytest.mark.parametrize(
    "f",
    [
        lambda m: lambda x: m.tanh(x * x).sum(),
        lambda m: lambda x: m.softmax(x, -1).amax(1).sum(),
        lambda m: lambda x: m.log_softmax(x, 0).mean(),
        lambda m: lambda x: (x[1] * x[:, 1:].sum()).sum(),
        lambda m: lambda x: x[:, -1].prod(),
        lambda m: lambda x: (x.unsqueeze(0).expand(4, 2, 3) * 2).sum(),
        lambda m: lambda x: x.clamp(0, 1).cumsum(1).sum(),
        lambda m: lambda x: x.logsumexp(1).max(),
        lambda m: lambda x: m.nn.functional.conv2d(*[x.reshape(1, 1, 2, 3)] * 2).sum(),
    ],
)
def test_arrays_of_pytorch_are_told_by_the_rules_of_minigrads_operations(f):
    theirs, ours = _rules(f, A)
    assert sorted(theirs) == sorted(ours)
    assert not any("∂ softmax" in said or "∂ slice" in said for said in theirs)


def test_an_array_of_pytorch_has_the_derivative_in_its_rule():
    trace = viz.from_torch(lambda x: torch.tanh(x).sum(), torch.tensor([0.3, 0.5]))
    last_step = trace["steps"][-1]
    assert "v̄1 · ∂ tanh x/∂x = v̄1 · (1 − v1²) = " in text_of(last_step["formula"])
    assert last_step["contribs"][0]["local"]["shape"] == [2]
    assert last_step["say"].startswith("tanh x has the derivative 1 − v1²: v1 sends ")


def test_the_condition_of_a_choice_stands_in_its_rule():
    f = lambda x, y: torch.where(x > 0, x, y).sum()
    trace = viz.from_torch(f, torch.tensor([0.3, -0.5]), torch.tensor([1.0, 2.0]))
    told = [text_of(s["formula"]) for s in trace["steps"][-2:]]
    assert "where(c1, v̄1, 0) = [1, 0]" in told[0] and "where(c1, 0, v̄1) = [0, 1]" in told[1]


def test_a_rule_that_does_not_give_what_pytorch_sends_is_not_said():
    """The largest of equal elements: PyTorch's max along an axis sends all to one of them."""
    trace = viz.from_torch(lambda x: x.max(0)[0], torch.tensor([2.0, 2.0]))
    assert "sum(" not in text_of(trace["steps"][-1]["formula"])
    even = viz.from_torch(lambda x: x.amax(0), torch.tensor([2.0, 2.0]))
    assert "/ sum(x = v1, axis 0)" in text_of(even["steps"][-1]["formula"])
    gelu = viz.from_torch(lambda x: torch.nn.functional.gelu(x).sum(), torch.tensor([2.0]))
    assert "v̄1 · ∂ gelu x/∂x" in text_of(gelu["steps"][-1]["formula"]), "no operation of minigrad"
