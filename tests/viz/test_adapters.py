"""Other engines' Traces: a scalar engine in the manner of micrograd, and a
Trace written by hand.
"""

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from minigrad.viz.adapters import Writer, scalars
from minigrad.viz.adapters.writer import known_operation
from minigrad.viz.layout import with_layout
from minigrad.viz.layout.measure import row_height

import minigrad as mg
from minigrad import viz
from minigrad.trace import first_divergence, validate
from minigrad.trace.diff import twins
from minigrad.trace.replay import check_laws, state_at
from minigrad.trace.text import table, text_of
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


def test_a_value_outside_of_a_domain_says_why_and_later_ones_from_where():
    w = Writer("by hand")
    x = w.input("x", -1.0)
    y = w.op("ln", [x], math.nan)
    z = w.op("mul", [y, x], math.nan)
    wrong = w.op("mul", [x, x], math.inf)  # of a wrong engine: minigrad's product is finite
    w.seed(z, 1.0)
    w.send(z, 0, -1.0, local=-1.0)
    w.send(z, 1, math.nan, local=math.nan)
    for _ in range(2):
        said = {(s["phase"], s["node"]): s["say"] for s in w.document([z])["steps"]}
    assert said["primal", y].endswith(" = NaN. ln x is defined only where x > 0; this gives NaN.")
    assert said["primal", z].endswith(" = NaN. The NaN comes from v1.")
    assert said["primal", wrong].endswith(" = ∞.")
    assert said["adjoint", x].endswith("The NaN comes from v1.")


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
    wanted = trace_function(lambda a, b: a * b * a, 3.0, 4.0, mode="reverse")
    found = first_divergence(wanted, trace)
    assert (found.kind, found.node, found.column) == ("value", "a", "g"), (
        "not the sign of an operation"
    )
    right = lambda a, b: a * a + b  # it sends twice to a, of which the engine tells the sum
    wanted = trace_function(right, 3.0, 4.0, mode="reverse")
    assert first_divergence(wanted, viz.trace_of(right(Value(3.0), Value(4.0)))) is None
    later = lambda a, b: (lambda c, d: d.tanh() + c)(a * b, a + b)  # d is the sum's first operand
    wanted_later = trace_function(later, 3.0, 4.0, mode="reverse")
    a, b = Value(3.0, label="a"), Value(4.0, label="b")
    assert first_divergence(wanted_later, viz.trace_of(later(a, b))) is None
    wrong = viz.trace_of(right(Forgetful(3.0), Forgetful(4.0)))
    assert "The adjoint of a should be 6, but is 3" in first_divergence(wanted, wrong).say


class Micrograd(Value):
    """Its operands are in a set, as micrograd's are."""

    def __init__(self, data, parents=(), op="", label=""):
        super().__init__(data, set(parents), op, label)


@pytest.mark.parametrize("f", [lambda x, y: x * y + x, lambda x, y: y + x * y])
def test_a_set_of_operands_is_read_in_the_order_of_the_step_back(f, monkeypatch):
    """And inputs that two Traces call by the same names belong together, in whichever order."""
    monkeypatch.setitem(globals(), "Value", Micrograd)
    wanted = trace_function(f, 3.0, 4.0, mode="reverse")
    for _ in range(5):  # the order of a set depends on where its objects lie
        x, y = Micrograd(3.0), Micrograd(4.0)
        found = viz.trace_of(f(x, y), names={"x": x, "y": y})
        assert first_divergence(wanted, found) is None
        assert twins(wanted, found)[0] == {name: name for name in ("x", "y", "v1", "v2")}
    assert [e["slot"] for e in viz.trace_of(x * x)["edges"]] == [0, 1]


class Powers(Value):
    """It calls its powers as micrograd does: the exponent stands in the operation's name."""

    op = "**{}"

    def __pow__(self, n):
        out = Powers(self.data**n, (self,), self.op.format(n))

        def back():
            self.grad += n * self.data ** (n - 1) * out.grad

        out._backward = back
        return out


@pytest.mark.parametrize("op", ["**{}", "^{}", "pow({})", "pow{}", "__pow__{}"])
@pytest.mark.parametrize(
    ("n", "power", "rule"), [(3, "x³", "x²"), (-1, "x⁻¹", "x⁻²"), (0.5, "x^0.5", "x^−0.5")]
)
def test_the_powers_of_another_engine_are_minigrad_s(op, n, power, rule, monkeypatch):
    """A right engine is not called wrong; its steps say the power and its rule."""
    monkeypatch.setattr(Powers, "op", op)
    f = lambda x, y: (x**n) * y + y
    wanted = trace_function(f, 2.0, 4.0, mode="reverse")
    found = viz.trace_of(f(Powers(2.0, label="x"), Value(4.0, label="y")))
    assert first_divergence(wanted, found) is None
    assert "pow" in [node.get("op") for node in found["nodes"]]
    assert power in table(found)
    assert any(f" · {rule}" in step["say"] for step in found["steps"]), "the rule of the power"


@pytest.mark.parametrize(
    ("name", "operands", "known"),
    [
        ("ReLU", 1, "relu"), ("__mul__", 2, "mul"), ("radd", 2, "add"), ("-", 1, "neg"),
        ("−", 2, "sub"), ("ln", 1, "log"), ("**", 2, "pow_tensor"), ("max", 2, "maximum"),
        ("my op", 1, "my op"), ("power", 1, "pow"), ("pow2", 2, "pow2"), ("Truediv", 2, "div"),
    ],
)  # fmt: skip
def test_what_other_engines_call_operations(name, operands, known):
    assert known_operation(name, operands) == (known, None)


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


class Pair:
    """Each of its parents stands beside the derivative by it."""

    def __init__(self, data, parents=None):
        self.data, self.grad, self.parents = data, 0.0, parents

    def backward(self):
        self.grad = 1.0
        order = [self]
        for node in order:  # right for the trees here
            for one in node.parents or ():
                parent, local = one if isinstance(one[0], Pair) else one[::-1]
                parent.grad += local * node.grad
                order.append(parent)


def test_local_derivatives_may_stand_beside_the_operands():
    x, y = Pair(3.0), Pair(5.0)
    first = Pair(15.0, [(x, 5.0), (y, 3.0)])
    for parents in ([(first, 3.0), (x, 15.0)], ((3.0, first), (15.0, x))):
        trace = viz.trace_of(Pair(45.0, parents))
        assert last(trace)["x", "g"] == 30 and last(trace)["y", "g"] == 9
        assert check_laws(trace) == []
    assert [edge["slot"] for edge in trace["edges"]] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("parents", "found"),
    [
        ([(Pair(1.0), 2.0, 3.0)], r"\(Pair, float, float\)"),
        ([(Pair(1.0), math.sin)], r"\(Pair, builtin_function_or_method\)"),
        ([("x", 2.0)], r"\(str, float\)"),
        ([2.0], "an object of type float"),
        (2.0, "an object of type float"),
        ({2.0}, "an object of type float"),
    ],
)
def test_operands_of_another_form_are_told(parents, found):
    needed = (
        rf"Pair\.parents holds {found}, but must list values with data, grad and parents, or pairs"
        r" \(value, local derivative as a number\); give the class a property _prev .*\.$"
    )
    with pytest.raises(TypeError, match=needed):
        viz.trace_of(Pair(1.0, parents))


def test_the_help_of_trace_of_names_what_a_value_must_have():
    help_ = viz.trace_of.__doc__
    assert [n for names in scalars.NEEDED.values() for n in names if n not in help_] == []


def test_what_is_no_scalar_engine():
    looked = r"object has no value .*value: data, value, primal, val\). Call it data, or write"
    with pytest.raises(TypeError, match=looked):
        viz.trace_of(object())
    bare = Value(1.0)
    bare._b = bare._backward
    del bare._backward
    looked = (
        r"Value has no step back and no local derivatives under a known name \(looked for step"
        r" back: _backward, .*; or local derivatives: _local_grads, .*\)\. Call the function that"
        r" adds to the operands' gradients _backward, or write"
    )
    with pytest.raises(TypeError, match=looked):
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


def test_a_number_among_the_operands_stands_inside_of_the_formula():
    w = Writer()
    y = w.op("sub", [3.0, w.input("x", 2.0)], 1.0)
    w.seed(y)
    w.send(y, 1, -1.0, local=-1.0)
    trace = w.document()
    assert [n["id"] for n in trace["nodes"]] == ["x", "v1"] and check_laws(trace) == []
    said = [text_of(step["formula"]) for step in trace["steps"]]
    assert said[1] == "v1 = 3 − x = 3 − 2 = 1" and "∂(3 − x)/∂x = −v̄1" in said[3]


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
            lambda w, x: w.seed(2.0),
            r'2.0 is a number, not the name of a node; make it one: input\("", 2.0, kind="const"\)',
        ),
        (lambda w, x: (w.seed(y := w.op("mul", [x, 2.0], 2.0)), w.send(y, 1, 1.0)), "no number 1"),
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


# ------------------------------------------------------------------------------ rules of the steps


def test_a_rule_is_said_where_it_gives_what_the_engine_has_sent():
    sent = {}
    for name, product in (("right", math.cos(5.0)), ("wrong", math.sin(5.0))):
        writer = Writer()
        y = writer.op("sin", [writer.input("x", 5.0)], math.sin(5.0))
        writer.seed(y, 1.0)
        writer.send(y, 0, product)
        sent[name] = writer.document()["steps"][-1]["say"]
    assert "sin x has the derivative cos x: v1 sends 0.2837 back to x" in sent["right"]
    assert sent["wrong"].startswith("v1 = sin x sends −0.9589 back to x")


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


def test_trace_of_reads_a_tensor_as_show_does():
    x = mg.tensor(2.0, requires_grad=True, dtype=mg.float64)
    loss = mg.sin(x) * x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = viz.show(loss).trace
        assert viz.trace_of(loss) == {key: shown[key] for key in shown if key != "layout"}
    renamed = viz.trace_of(loss, names={"angle": x}, title="mine", seed=3.0)
    assert (renamed["title"], renamed["inputs"]) == ("mine", ["angle"])
    assert last(renamed)["angle", "g"] == pytest.approx(3 * (math.cos(2) * 2 + math.sin(2)))


def test_a_recorded_operation_is_written_with_its_parameters_and_names_for_constants_not_kept():
    x = mg.tensor([2.0, 3.0], requires_grad=True)
    y = ((3 - x) ** 2 - 4).sum(0)
    text = str(viz.show(y))
    for written in ("c1 − x", "v1²", "v2 − c2", "sum(v3, axis 0)"):
        assert written in text
    assert check_laws(viz.show(y).trace) == []


def test_a_recorded_constant_has_the_callers_name_and_a_card_no_row_for_a_value_not_kept():
    w = mg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    rows = mg.tensor([[5.0, 6.0], [7.0, 8.0]])
    loss = (rows @ w).sum()
    trace = viz.show(loss).trace
    assert [text_of(n["expr"]) for n in trace["nodes"] if n["kind"] == "op"] == ["rows @ w"]
    place, moments = with_layout(trace), viz.to_svg(trace, step=len(trace["steps"]))
    high = {name: box["h"] for name, box in place["layout"]["nodes"].items()}
    assert high["rows"] - high["v1"] == row_height([2, 2])
    assert moments.count('class="ring-v"') == 3, "of w, of rows, of the result"


def test_a_model_s_loss_shows_its_parameters_and_constants():
    model = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.Tanh())
    loss = (model(mg.ones(4, 2)) * mg.full((3,), 2.0)).sum()
    trace = viz.show(loss).trace
    check_laws(trace)
    kinds = {node["id"]: node["kind"] for node in trace["nodes"]}
    assert kinds["model.0.weight"] == "param" and "const" in kinds.values()
    wanted = mg.autograd.grad(loss, [model[0].bias])[0].tolist()
    assert last(trace)["model.0.bias", "g"]["sample"] == pytest.approx(wanted)


class Trainer:
    def __init__(self):
        self.model, self.scale = mg.nn.Linear(2, 1), mg.tensor(2.0, requires_grad=True)

    def shown(self):
        return shown((self.model(mg.ones(4, 2)) * self.scale).sum())


def shown(loss):
    return viz.show(loss).trace


def test_parameters_have_the_names_of_modules_in_lists_and_objects_and_of_outer_functions():
    layers = [mg.nn.Linear(2, 3), mg.nn.Linear(3, 1)]
    inner = layers[1](layers[0](mg.ones(4, 2))).sum()
    for trace, names in (
        (shown(inner), {f"layers[{i}].{part}" for i in (0, 1) for part in ("weight", "bias")}),
        (Trainer().shown(), {"self.model.weight", "self.model.bias", "self.scale"}),
    ):
        assert {n["id"] for n in trace["nodes"] if n["kind"] in ("input", "param")} == names


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


def test_a_module_of_minigrads_own_lists_its_layers_in_the_place_of_a_source():
    model = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.Sequential(mg.nn.Tanh()))
    trace = validate(viz.show(model, mg.ones(1, 2), cotangent=mg.ones(1, 3)).trace)
    lines = trace["source"]["code"].split("\n")
    assert lines[0] == "# forward of Sequential is minigrad's own; its layers:"
    assert "\n".join(lines[1:]) == repr(model)
    lit = [lines[n["span"][0] - 1].strip() for n in trace["nodes"] if "span" in n]
    assert lit == [f"(0): {model[0]}", "(0): Tanh()"]
    given = viz.show(model, mg.ones(1, 2), cotangent=mg.ones(1, 3), source="mine").trace
    assert given["source"] == {"code": "mine"}


def test_trace_of_names_what_traces_a_function():
    def f(x, y):
        return x * y

    for given in ([f, 2.0, 3.0], [f]):
        with pytest.raises(TypeError, match=r"viz\.show\(f, …\).*trace_function\(f, …\) gives its"):
            viz.trace_of(*given)
    with pytest.raises(TypeError, match=r"viz\.show\(f, …\)"):
        viz.trace_of(lambda x: x, 2.0)
    with pytest.raises(TypeError, match="one value is read, and 1 more are given"):
        viz.trace_of(mg.tensor(2.0), mg.tensor(3.0))


def test_the_table_of_the_documentation_says_where_what_is_saved_comes_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(viz.__file__).parent / "README.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| a file: .*$", text, flags=re.MULTILINE)
    save, trace = re.findall(r"`(viz\.save\(.*?\)|minigrad\.watch.*?)`", row)
    space = {"viz": viz, "minigrad": mg, "f": lambda x, y: x * y}
    assert "x · y" in eval(save, space).read_text(encoding="utf-8")
    assert validate(eval(trace, space))["title"]
