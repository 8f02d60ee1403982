"""Two Traces compared, and a grid of them behind sliders: what the documents hold, and what is
refused.
"""

import copy
import functools
import json
import math
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from minigrad.viz.adapters.writer import Writer
from minigrad.viz.reading import TraceError
from minigrad.viz.sliders import pack

import minigrad as mg
from minigrad import viz
from minigrad.trace import diff, validate
from minigrad.watch import trace_function
from tests.helpers.trace_samples import all_samples


def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


def unread(x1, x2):
    """The function f, by an operation that the page's engine cannot read."""
    return mg.fmod(f(x1, x2), 1e6)


@pytest.mark.parametrize(
    ("shape", "shown"), [((2,), "[0]: 6 ≠ 5"), ((2, 2), "[0, 0]: 6 ≠ 5"), ((3, 9), "[0, 0]: 6 ≠ 5")]
)
def test_a_still_of_a_comparison_has_both_values_of_the_first_entry(tmp_path, shape, shown):
    total = lambda x: (3 * x * x).sum()
    a, gradient = trace_function(total, np.ones(shape), mode="reverse"), np.full(shape, 6.0)
    gradient.flat[0] = 5.0
    svg = viz.compare(a, [gradient], step=len(a["steps"])).save(tmp_path / "a.svg").read_text()
    texts = re.findall(r"<text [^>]*unlike-value[^>]*>([^<]*)</text>", svg)
    assert texts == [shown.replace(" ", "\u00a0")]


def g(x):
    return mg.exp(x) * 0.3 + mg.sin(x) * x


def by_engine(sent, x, keep=lambda total, part: total + part):
    """An engine's Trace of g. sent: what arrives at x, in its order, as (sender, slot, derivative).
    keep: what it makes of the sum so far and a contribution."""
    writer = Writer("by an engine")
    writer.input("x", x)
    for name, op, operands, value in (
        ("v1", "exp", ["x"], np.exp(x)),
        ("v2", "mul", ["v1", 0.3], 0.3 * np.exp(x)),
        ("v3", "sin", ["x"], np.sin(x)),
        ("v4", "mul", ["v3", "x"], np.sin(x) * x),
        ("v5", "add", ["v2", "v4"], 0.3 * np.exp(x) + np.sin(x) * x),
    ):
        assert writer.op(op, operands, value) == name
    one = np.ones_like(x)
    if np.ndim(x):
        writer.seed(writer.op("sum", ["v5"], np.exp(x).sum() * 0.3 + (np.sin(x) * x).sum()))
        writer.send("v6", 0, one)
    else:
        writer.seed("v5", one)
    for sender, slot, local in (("v5", 0, one), ("v5", 1, one), ("v4", 0, x), ("v2", 0, 0.3 * one)):
        writer.send(sender, slot, local, local=local)
    total = np.zeros_like(x)
    for sender, slot, local in sent:
        part = local * {"v1": 0.3, "v3": x, "v4": 1.0}[sender]
        total = keep(total, part)
        writer.send(sender, slot, part, local=local, after=total)
    return writer.document(["v6" if np.ndim(x) else "v5"])


def sums(pair):
    found = pair.document["union"]["beside"].get("sums", [])
    return [(node, k, value) for node, _, value, k in found]


def test_of_a_sum_that_grows_the_other_trace_has_what_the_same_contributions_make():
    """From the step of the first contribution that differs, in each order; with what an engine has
    itself there, where it has received the same."""
    first, x = trace_function(g, 2.0, mode="reverse"), np.float64(2.0)
    written = [[cell[:2] for cell in step["writes"]] for step in first["steps"]]
    steps = [i for i, cells in enumerate(written, 1) if ["x", "g"] in cells]  # v4, v3 and v1 send
    d, c, a = ("v4", 1, np.sin(x)), ("v3", 0, -np.cos(x)), ("v1", 0, np.exp(x))
    both = float(np.sin(x) - 2 * np.cos(x))
    for order in ((d, c, a), (a, c, d), (c, d, a)):
        pair = viz.compare(first, by_engine(order, x))
        assert pair.divergence.step + 1 == steps[1]
        assert sums(pair) == [("x", steps[1], pytest.approx(both)), ("x", steps[2], None)]
        difference = pair.document["difference"]
        assert difference["factors"] == [[2.0, pytest.approx(np.cos(2))], [2.0, -np.cos(2)]]
        for k, shown in ((steps[1] - 1, 0), (steps[1], 1)):
            still = viz.to_svg(pair.document["union"], k)
            assert still.count("0.077\u00a0≠\u00a01.742") == shown, (order, k)
    last = lambda total, part: part
    shown = sums(viz.compare(first, by_engine((d, c, a), x, keep=last)))
    assert shown[0] == ("x", steps[1], pytest.approx(float(-2 * np.cos(x))))
    # what comes later makes up for it: nothing differs any more
    more = ("v1", 0, np.exp(x) + 4 * np.cos(x) / 0.3)
    pair = viz.compare(first, by_engine((d, c, more), x))
    assert [value for *_, value in sums(pair)] == [pytest.approx(both), None]
    assert "≠" in viz.to_svg(pair.document["union"], steps[1])
    assert "≠" not in viz.to_svg(pair.document["union"], steps[2])
    right = by_engine((("v3", 0, np.cos(x)), a, d), x)
    assert sums(viz.compare(first, right)) == []


def test_what_the_other_trace_tells_as_one_contribution_is_no_difference_of_sums():
    first = trace_function(lambda x: mg.sin(x) + x * x, 2.0, mode="reverse")
    second = copy.deepcopy(first)
    k = next(i for i, step in enumerate(first["steps"]) if step["phase"] == "accumulate")
    second["steps"][k - 1]["contribs"][0] |= {"product": 4.0, "after": 4.0, "local": 4.0}
    second["steps"][k - 1]["writes"][0][2] = 4.0
    del second["steps"][k]
    pair = viz.compare(first, second)
    assert pair.divergence is None and sums(pair) == []


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_of_arrays_a_sum_that_grows_has_the_first_entry_that_differs(order):
    x = np.array([1.0, 2.0, 3.0])
    first = trace_function(lambda x: g(x).sum(), x, mode="reverse")
    wrong = np.cos(x) * [1, 1, -1]
    sent = ("v4", 1, np.sin(x)), ("v3", 0, wrong), ("v1", 0, np.exp(x))
    pair = viz.compare(first, by_engine([sent[i] for i in order], x))
    (_, _, value), (_, _, end) = sums(pair)
    assert value["apart"] == [2, "[2]", "1"] and end is None
    assert value["sample"] == pytest.approx(list(np.sin(x) + x * wrong))
    assert pair.document["difference"]["factors"] == [None, None]


def test_a_comparison_names_the_first_difference_in_both_traces():
    a = trace_function(f, 2.0, 5.0)
    b = copy.deepcopy(a)
    b["steps"][-1]["writes"][0][2] += 1.0
    shown = viz.compare(a, b)
    assert shown.divergence is not None and shown.divergence.node == b["steps"][-1]["node"]
    difference = shown.document["difference"]
    assert (difference["node"], difference["column"]) == (shown.divergence.node, "g")
    assert repr(shown).startswith(f"First difference, at step {shown.divergence.step + 1}. ")
    assert viz.compare(a, b, rtol=10.0).divergence is None
    assert "agree" in repr(viz.compare(a, a)) and viz.compare(a, a).document["difference"] is None


def test_two_functions_are_compared_at_their_inputs_and_called_by_their_names():
    def mine(x1, x2):
        return mg.log(x1) + x1 * x2 - mg.cos(x2)

    shown = viz.compare(f, mine, 2.0, 5.0)
    assert shown.divergence.say == "v4 should be made by sin, but is made by cos."
    assert shown.document["names"] == ["f", "mine"]
    assert viz.compare(f, lambda a, b: f(a, b), 2.0, 5.0).document["names"] == ["f", "second"]
    d = mg.func.grad
    names = lambda *pair: viz.compare(*pair, 2.0).document["names"]
    assert names(d(cube), by_hand) == ["grad(cube)", "by_hand"]
    assert names(d(d(cube)), d(lambda x: x * x)) == ["grad(grad(cube))", "second"]
    assert names(functools.wraps(cube)(lambda x: cube(x)), by_hand) == ["cube", "by_hand"]
    assert viz.compare(f, trace_function(f, 2.0, 5.0), 2.0, 5.0).divergence is None
    assert viz.compare(f, [5.5, 1.716338], 2.0, 5.0, rtol=1e-6).divergence is None
    with pytest.raises(
        TypeError, match=r"give them too, as in viz\.compare\(f, mine, 2\.0, 5\.0\)"
    ):
        viz.compare(f, mine)
    trace = trace_function(f, 2.0, 5.0)
    with pytest.raises(TypeError, match=r"a Trace has its own\. The names of the two are given as"):
        viz.compare(trace, trace, ("a", "b"))


@pytest.mark.parametrize(
    ("right", "value", "written"),
    [(lambda x: 3 - x, -1.0, "x − 3"), (lambda x: 3 / x, 2 / 3, "x / 3")],
)
def test_exchanged_operands_are_told_in_chinese_too(right, value, written):
    first = trace_function(right, 2.0, mode="primal")
    second = copy.deepcopy(first)
    second["steps"][-1]["writes"][0][2] = value
    found = viz.compare(first, second, lang="zh")
    assert f"这是 {written}：两个操作数的位置反了。" in repr(found)
    assert found.divergence.swapped == written and found.document["told"] == repr(found)


def test_a_function_of_pytorch_is_compared_with_one_of_minigrad():
    torch = pytest.importorskip("torch")
    theirs = lambda a, b: torch.log(a) + a * b - torch.sin(b)
    inputs = [torch.tensor(v, dtype=torch.float64) for v in (2.0, 5.0)]
    shown = viz.compare(viz.from_torch(theirs, *inputs), f, 2.0, 5.0)
    assert shown.divergence is None
    assert viz.compare(theirs, theirs, *inputs).divergence is None


def test_a_product_of_pytorch_is_minigrads_whatever_its_name():
    torch = pytest.importorskip("torch")
    total = lambda w, x: ((w @ x) ** 2).sum()
    vector = [[1.0, 2.0], [3.0, 4.0]], [1.0, -1.0]
    batch = [[[1.0, 2.0]], [[3.0, 4.0]]], [[[1.0], [2.0]], [[0.0], [1.0]]]
    of_batch = lambda w, x: (torch.bmm(w, x) ** 2).sum()
    for made, values in ((total, vector), (of_batch, batch)):  # by PyTorch's mv and bmm
        inputs = [torch.tensor(value, dtype=torch.float64) for value in values]
        theirs = viz.from_torch(made, *inputs)
        own = trace_function(total, *map(mg.tensor, values), mode="reverse")
        shown = viz.compare(own, theirs)
        beside = shown.document["union"]["beside"]
        assert shown.divergence is None and beside["cells"] == [] and beside["only"] == {}
        assert [s["say"] for s in theirs["steps"]] == [s["say"] for s in own["steps"]]


def test_an_operation_of_an_unknown_name_is_known_by_its_value():
    def written(name, value, sent):
        writer = Writer()
        a, b = writer.input("a", 2.0), writer.input("b", 3.0)
        v = writer.op(name, [b, a], value)
        writer.seed(v)
        writer.send(v, 0, sent)
        writer.send(v, 1, 3.0)
        return writer.document([v])

    own = trace_function(lambda a, b: a * b, 2.0, 3.0, mode="reverse")
    shown = viz.compare(own, written("times2", 6.0, 2.0))
    assert shown.divergence is None
    assert shown.document["union"]["beside"] == {"cells": [], "only": {}}
    found = viz.compare(own, written("times2", 6.0, 5.0)).divergence
    assert found.kind == "value" and "should send 2 to the adjoint of b, but sends 5" in found.say
    assert viz.compare(own, written("times2", 7.0, 2.0)).divergence.kind == "structure"
    assert viz.compare(own, written("maximum", 6.0, 2.0)).divergence.kind == "structure"


def test_other_names_for_the_same_nodes_are_no_difference():
    a, b = trace_function(f, 2.0, 5.0), trace_function(lambda u, w: f(u, w), 2.0, 5.0)
    assert viz.compare(a, b).divergence is None


def test_traces_of_different_programs_part_in_structure(tmp_path):
    shown = viz.compare(trace_function(f, 2.0, 5.0), trace_function(lambda a, b: a * b, 2.0, 5.0))
    assert (
        shown.divergence.kind == "missing"
        and shown.document["difference"]["step"] == 4
        and "the first missing one is v1." in repr(shown)
    )
    still = shown.save(tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "The result should be 11.65, but is 10." in still
    assert "The graphs differ, first at step 5. The graph should have 7 nodes" in still


def cube(x):
    return x**3 + mg.sin(x)


def by_hand(x):
    return 3 * x**2 + mg.cos(x)


def wrong_sign(x):
    return 3 * x**2 - mg.cos(x)


def test_of_different_graphs_it_is_told_first_whether_the_results_agree(tmp_path):
    path = tmp_path / "a.svg"
    slope = mg.func.grad(cube)
    told = lambda *given, **options: repr(viz.compare(*given, **options))
    other = "The two are computed in different ways."
    agree = f"The results agree, and so do the adjoints of the inputs. {other}"
    for pair in ((slope, by_hand), (by_hand, slope)):
        said = told(*pair, 2.0)
        assert said.startswith(agree) and "should" not in said, "the graph is no mistake"
        assert "differ," not in said and "≠" not in viz.compare(*pair, 2.0).save(path).read_text()
    for wrong, got in ((wrong_sign, "12.42"), (lambda x: 3 * x**2, "12"), (lambda x: x, "2")):
        found = viz.compare(slope, wrong, 2.0)
        said = f"The result should be 11.58, but is {got}. {other}"
        assert repr(found).startswith(said) and found.document["difference"] == {}
    said = told(by_hand, wrong_sign, 2.0, reference=False)
    assert said.startswith("The result is 11.58 in by_hand and 12.42 in wrong_sign. The graphs")
    assert told(slope, by_hand, 2.0, lang="zh").startswith(
        "结果一致，输入的伴随也一致。 两者的计算方式不同。"
    )
    alike = viz.compare(slope, by_hand, 2.0).document
    assert alike["difference"] is None and alike["told"].startswith(agree)
    square, product = lambda x: mg.exp(x) ** 2, lambda x: mg.exp(x) * mg.exp(x)
    alike = viz.compare(square, product, 1.0).document
    assert alike["difference"] is None and alike["union"]["beside"]["cells"] == [], "in between"
    values = trace_function(slope, 2.0, mode="primal"), trace_function(by_hand, 2.0, mode="primal")
    assert told(*values).startswith(f"The results agree. {other}")
    apart = trace_function(wrong_sign, 2.0, mode="forward")
    forward = trace_function(by_hand, 2.0, mode="forward")
    assert told(forward, apart).startswith("The result should be 11.58, but is 12.42.")
    apart["steps"][-2]["writes"][0][2] = 3 * 4 + np.cos(2.0)
    assert told(forward, apart).startswith("The tangent of v4 should be 11.09, but is 12.91.")
    assert repr(viz.compare(f, [5.5, 2.0], 2.0, 5.0)).startswith("First difference"), "of one graph"


@pytest.mark.parametrize(
    ("lang", "agree", "advice"),
    [
        ("en", "The results agree, and so do the adjoints", "To compare gradients by value, "),
        ("zh", "结果一致，输入的伴随也一致。", "要按值比较梯度，"),
    ],
)
def test_two_formulas_of_a_derivative_are_judged_by_their_values(lang, agree, advice):
    """A number in another place is no mistake, either; where the results differ, it is told how the
    gradients are compared themselves."""

    def first(w):
        t = mg.tanh(w * 2.0)
        return 2 * (t - 1.0) * (1 - t * t) * 2.0

    def second(w):
        t = mg.tanh(w * 2.0)
        return 4 * (t - 1.0) * (1 - t**2)

    def wrong(w):
        return 4 * mg.exp(w) - mg.tanh(w) ** 3

    right = viz.compare(first, second, 0.5, lang=lang)
    assert repr(right).startswith(agree) and advice not in repr(right)
    assert right.document["difference"] is None and right.divergence.column == "v"
    assert "≠" not in viz.to_svg(right.document["union"], 20)
    told = repr(viz.compare(first, wrong, 0.5, lang=lang))
    assert told.count(advice) == 1 and '{"w": …}' in told
    of_one = repr(viz.compare(lambda x: mg.exp(x) * 2, lambda x: mg.sin(x) * 2, 0.5, lang=lang))
    assert advice not in of_one, "one operation differs, which is told"
    assert advice in repr(viz.compare(mg.func.grad(cube), wrong_sign, 2.0, lang=lang))


def test_behind_an_operation_that_differs_each_node_stands_once():
    """By its operation and what stands in its operands' places, with both values."""
    first = lambda x, y: mg.exp(mg.log(x) + x * y - mg.sin(y)) / 3
    second = lambda x, y: mg.exp(mg.log(x) + x * y - mg.cos(y)) / 3
    pair = viz.compare(first, second, 2.0, 0.5)
    both = pair.document["union"]
    assert pair.divergence.node == "v4" and both["beside"]["only"] == {"v4": 0, "v4′": 1}
    assert [n["id"] for n in both["nodes"] if n["id"].startswith("v")] == [
        *("v1", "v2", "v3", "v4", "v4′", "v5", "v6", "v7")
    ]
    assert {(e["src"], e["dst"]) for e in both["edges"] if e["dst"] == "v5"} == {
        *(("v3", "v5"), ("v4", "v5"), ("v4′", "v5"))
    }
    values = {node: value for node, column, value in both["beside"]["cells"] if column == "v"}
    assert [*values] == ["v5", "v6", "v7"]
    assert values["v7"] == pytest.approx(second(2.0, 0.5).item())
    # an operation too many
    more = viz.compare(lambda x: mg.cos(mg.exp(x)), lambda x: mg.cos(mg.exp(x) * 2), 0.5)
    assert more.document["union"]["beside"]["only"] == {"v2′": 1}


def test_what_no_few_changes_explain_stands_twice_unless_the_values_agree():
    """Of wholly different ways nothing says which node plays the role of which."""
    pair = viz.compare(lambda x: (x * x + 1) * (x - 1), lambda x: (x + 1) * (x * x - x), 0.5)
    beside = pair.document["union"]["beside"]
    assert pair.divergence.node is None
    assert [*beside["only"].values()] == [0, 0, 1, 1] and "v1" not in beside["only"]
    alike = viz.compare(lambda x: mg.sin(mg.abs(x)), lambda x: mg.sin(mg.relu(x)), 1.0)
    beside = alike.document["union"]["beside"]
    assert beside["only"] == {"v1": 0, "v1′": 1} and beside["cells"] == []


def test_the_nodes_of_two_traces_are_matched_once(monkeypatch):
    calls = []
    find = diff.twins
    monkeypatch.setattr(diff, "twins", lambda *given: calls.append(given) or find(*given))
    wrong = copy.deepcopy(trace_function(f, 2.0, 5.0, mode="reverse"))
    step = next(s for s in wrong["steps"] if s["phase"] == "adjoint" and s.get("contribs"))
    step["contribs"][0]["product"] = step["writes"][0][2] = 7.0
    pair = viz.compare(trace_function(f, 2.0, 5.0, mode="reverse"), wrong)
    assert pair.divergence.edge and len(calls) == 1
    viz.compare(cube, by_hand, 2.0)
    assert len(calls) == 2


def test_results_that_agree_may_have_other_adjoints():
    first = lambda a, b: (a * a).sum()
    second = lambda a, b: (a * a + b).sum() - b.sum().item()
    said = repr(viz.compare(first, second, [2.0, 5.0], [1.0, 2.0]))
    assert said.startswith(
        "The results agree. The adjoint of b at [0] should be 0, but is 1. Entries that differ: 2"
    ), "an input that is not used has the adjoint 0"
    same = lambda a, b: (a * a + b - b).sum()
    assert repr(viz.compare(first, same, [2.0, 5.0], [1.0, 2.0])).startswith(
        "The results agree, and so do the adjoints of the inputs."
    )


def test_a_function_may_return_gradients_by_the_inputs_names():
    by_hand = lambda a, b: {"b": a}  # of a·b + sin b, without the second contribution
    f = lambda a, b: a * b + mg.sin(b)
    shown = viz.compare(f, by_hand, 2.0, 5.0)
    assert shown.divergence.node == "b" and repr(shown).endswith("the gradient of a.")
    with pytest.raises(TypeError, match=r"returned a dict of 1\. Trace one result at a time"):
        viz.compare(f, lambda a, b: {"c": a}, 2.0, 5.0)


def test_an_unknown_option_of_a_comparison_names_those_that_there_are():
    with pytest.raises(TypeError, match="no option 'stap'; there are rtol, atol, step, lang"):
        viz.compare(cube, by_hand, 2.0, stap=1)
    with pytest.raises(TypeError, match="reverse mode; a Trace of another mode is compared as it"):
        viz.compare(cube, by_hand, 2.0, mode="primal")


def test_a_dict_may_hold_some_of_the_gradients():
    """Those are compared, and a sentence names the others."""
    left_out = "Not given, so not compared: the gradient of x1."
    found = viz.compare(f, {"x2": 1.716}, 2.0, 5.0)
    assert found.divergence is None and left_out in found.document["told"]
    assert repr(found) == f"The two traces agree in every value. {left_out}"
    found = viz.compare(f, {"x2": 3.0}, 2.0, 5.0)
    assert found.divergence.node == "x2" and repr(found).endswith(f"but is 3. {left_out}")
    found = viz.compare(f, {"x2": 3.0}, 2.0, 5.0, lang="zh")
    assert repr(found).endswith("未给出 x1 的梯度，故未比较。")
    assert "Not given" not in repr(viz.compare(f, {"x1": 5.5, "x2": 1.716}, 2.0, 5.0))


def test_a_comparison_is_written_as_its_ending_says(tmp_path):
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    found = viz.compare(cube, mg.func.grad(cube), 2.0, step=2)

    def size(path):
        with image.open(path) as picture:
            assert picture.format == "PNG"
            return picture.size

    wide, high = size(found.save(tmp_path / "a.png"))
    plain = size(viz.save(found.document["union"], tmp_path / "b.png", step=2))
    assert wide > 600 and high > plain[1], "the sentences stand above"
    assert size(viz.save(found, tmp_path / "c.png", size="hd", dark=True)) == (1920, 1080)
    assert found.save(tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "<html" in found.save(tmp_path / "a.html").read_text(encoding="utf-8")[:200].lower()
    for name in ("a.doc", "a"):
        with pytest.raises(ValueError, match=r"written as \.html, \.svg or \.png, not as"):
            found.save(tmp_path / name)


def test_without_matplotlib_a_comparison_says_what_a_png_needs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = viz.compare(cube, by_hand, 2.0)
    with pytest.raises(ModuleNotFoundError, match=r"matplotlib"):
        found.save(tmp_path / "a.png")
    assert found.save(tmp_path / "a.svg").exists() and not (tmp_path / "a.png").exists()


def test_a_function_that_returns_the_gradients_is_compared_with_the_adjoints():
    f = lambda x1, x2: mg.log(x1) + x1 * x2

    def by_hand(x1, x2):
        return 1 / x1 + x2, x2

    assert viz.compare(f, by_hand, 2.0, 5.0).divergence.node == "x2"
    assert viz.compare(f, lambda x1, x2: [1 / x1 + x2, x1], 2.0, 5.0).divergence is None
    with pytest.raises(TypeError, match="must return one tensor, but returned a tuple of 3"):
        viz.compare(f, lambda x1, x2: (x1, x2, x1), 2.0, 5.0)
    with pytest.raises(TypeError, match="must return one tensor"):
        viz.compare(lambda x1, x2: (x1, x2), f, 2.0, 5.0)
    with pytest.raises(TypeError, match=r"'1/x1 \+ x2' is a text"):
        viz.compare(f, "1/x1 + x2", 2.0, 5.0)


def test_only_a_function_that_is_traced_is_warned_of_plain_numbers():
    f = lambda x1, x2: mg.sin(x1) * x2
    by_hand = lambda x1, x2: [math.cos(x1) * x2, math.sin(x1)]
    assert viz.compare(f, by_hand, 2.0, 5.0).divergence is None  # a warning would be an error
    with pytest.warns(UserWarning, match=r"write mg\.sin\(x\)") as told:
        viz.compare(f, lambda x1, x2: math.sin(x1) * x2, 2.0, 5.0)
    assert [one.filename for one in told] == [__file__]


def test_a_gradient_is_right_as_the_viewer_writes_it():
    f = lambda x1, x2: mg.log(x1) + x1 * x2 - mg.sin(x2)
    parted = lambda *given: viz.compare(f, [*given], 2.0, 5.0).divergence
    assert parted(5.5, 1.716) is None
    assert parted(5.5, 1.717).node == "x2" and parted(5.5, 1.72).node == "x2"
    assert parted(5.5, 1.71634).say.endswith(" The difference is 2.185e−6.")


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(TraceError):
        viz.compare(trace_function(f, 2.0, 5.0), {})
    with pytest.raises(ValueError, match="two texts"):
        viz.compare(*[trace_function(f, 2.0, 5.0)] * 2, names=("one",))
    with pytest.raises(ValueError, match="no view 'cuts'"):
        viz.compare(*[trace_function(f, 2.0, 5.0)] * 2, views=["cuts"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([5.5, 2.0], "The adjoint of x2 should be 1.716, but is 2."),
        ((mg.tensor(5.5), np.float64(1.7163378145367738)), "agree in every value"),
        (np.array([-5.5, 1.7163378145367738]), "The adjoint of x1 should be 5.5, but is −5.5."),
        ({"x2": 1.7163378145367738, "x1": 5}, "The adjoint of x1 should be 5.5, but is 5."),
        ([5.5, float("nan")], "The adjoint of x2 should be 1.716, but is NaN."),
        ([[5.5, 1.0], 1.7163378145367738], "The adjoint of x1 should be 5.5, but is [5.5, 1]."),
    ],
)
def test_gradients_alone_are_compared_with_the_adjoints_of_the_inputs(given, said):
    first = trace_function(f, 2.0, 5.0, mode="reverse")
    before = copy.deepcopy(first)
    found = viz.compare(first, given, names=("minigrad", "yours"))
    assert said in repr(found) and first == before
    assert validate(found.document["union"])


@pytest.mark.parametrize("given", [[2.0, 4.0], [[2.0, 4.0]], mg.tensor([2.0, 4.0]), {"x": (2, 4)}])
def test_of_one_array_its_gradient_may_stand_alone(given):
    first = trace_function(lambda x: (x * x).sum(), [1.0, 2.0], mode="reverse")
    assert viz.compare(first, given).divergence is None
    assert viz.compare(trace_function(lambda x: x * x, 3.0, mode="reverse"), 6).divergence is None


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ([1.0], ValueError, "for each of x1, x2, but got 1"),
        ([1.0, 2.0, 3.0], ValueError, "for each of x1, x2, but got 3"),
        (5.5, ValueError, "for each of x1, x2, but got 1"),
        ({"x1": 5.5, "y": 1.0}, ValueError, "given for y, but those to compare with are of x1, x2"),
        (["5.5", 1.0], TypeError, "the gradient of x1 is neither number nor array: '5.5'"),
        ([5.5, None], TypeError, "the gradient of x2 is neither number nor array: None"),
        ([5.5, [[1.0], [2.0, 3.0]]], TypeError, "the gradient of x2 is neither number nor array"),
    ],
)
def test_gradients_that_do_not_belong_to_the_inputs_are_refused(given, error, said):
    with pytest.raises(error, match=re.escape(said)):
        viz.compare(trace_function(f, 2.0, 5.0, mode="reverse"), given)
    with pytest.raises(ValueError, match='trace the function with mode="reverse"'):
        viz.compare(trace_function(f, 2.0, 5.0, mode="forward"), [5.5, 1.716])


def test_of_two_functions_the_code_that_made_the_difference_is_told():
    def one(x1, x2):
        a = mg.log(x1)
        return a + mg.sin(x2)

    def other(x1, x2):
        return mg.log(x1) + mg.cos(x2)

    a, b = (trace_function(g, 2.0, 5.0, mode="reverse") for g in (one, other))
    made = lambda *pair: viz.compare(*pair).document["difference"].get("made")
    assert made(a, b) == [
        [3, "return a + ", "mg.sin(x2)", ""],
        [2, "return mg.log(x1) + ", "mg.cos(x2)", ""],
    ]
    longer = trace_function(lambda x1, x2: mg.log(x1) + mg.cos(x2) * 2.0, 2.0, 5.0, mode="reverse")
    assert made(a, longer)[1][2:] == ["mg.cos(x2)", " * 2.0"]
    assert made(a, trace_function(one, 2.0, 6.0, mode="reverse")) is None, "one function"
    assert made({**a, "source": None}, b) is None


def test_of_two_graphs_that_differ_both_operations_are_told_with_their_values():
    x = np.array([0.5, -2.0])
    relu, negative = (lambda x: mg.sum(mg.relu(x) * 3)), (lambda x: mg.sum(mg.neg(x) * 3))
    results = lambda *pair: viz.compare(*pair).document["difference"]["results"]
    assert results(relu, negative, x) == ["relu x = [0.5, 0]", "−x = [−0.5, 2]"]
    assert results(lambda x: mg.sum(x), lambda x: mg.sum(mg.exp(x)), x) == [
        None,
        "exp(x) = [1.649, 0.1353]",
    ]
    assert results(lambda x, y: x * mg.sin(x), lambda x, y: x * mg.sin(y), 1.0, 2.0) == [
        "sin x = 0.8415",
        "sin y = 0.9093",
    ]


def both_ways(x, y):
    return {"product": x * y, "wave": mg.sin(x)}


def test_of_several_results_each_is_compared_and_the_first_that_differs_is_shown():
    def mine(x, y):
        return {"product": y * x, "wave": mg.cos(x)}

    listed = [lambda x, y, f=f: tuple(f(x, y).values()) for f in (both_ways, mine)]
    for pair, key in (((both_ways, mine), "'wave'"), (listed, "1")):
        shown = repr(viz.compare(*pair, 2.0, 3.0))
        assert shown.startswith(f"Of 2 results 1 differ; this is [{key}].")
        assert "The result should be 0.9093, but is −0.4161." in shown
    same = viz.compare(both_ways, both_ways, 2.0, 3.0)
    assert same.divergence is None and repr(same).startswith("Of 2 results 0 differ; this is")
    assert repr(viz.compare(both_ways, mine, 2.0, 3.0, lang="zh")).startswith(
        "2 个结果中有 1 个不同；这是 ['wave']。"
    )


def test_each_pair_of_traces_is_matched_once_and_folded_to_its_ends_once(monkeypatch):
    module, matched, folded = sys.modules["minigrad.viz.compare"], [], []
    match, fold = module.Match, module.state_at
    monkeypatch.setattr(module, "Match", lambda *two: matched.append(two) or match(*two))
    monkeypatch.setattr(module, "state_at", lambda *where: folded.append(where) or fold(*where))

    def mine(x, y):
        return {"product": y * x + 0.0, "wave": mg.cos(x)}

    viz.compare(both_ways, mine, 2.0, 3.0)
    assert len(matched) == 2 and len(folded) == 4, "two results of two functions"
    right = viz.compare(both_ways, mine, 2.0, 3.0, output="product")
    assert repr(right).startswith("The results agree")
    assert right.document["union"]["inputs"] == ["x", "y"]


@pytest.mark.parametrize(
    ("pair", "options", "said"),
    [
        ((both_ways, both_ways), {"output": "sum"}, "are 'product', 'wave'"),
        ((f, f), {"output": 0}, "are not several"),
        ((both_ways, f), {}, r"a dict of 2.*lambda \*x: f\(\*x\)\['product'\]"),
        ((both_ways, [1.0, 2.0]), {}, "a dict of 2"),
        ((lambda x, y: (x, y, x), lambda x, y: (x,)), {}, "a tuple of 3"),
    ],
)
def test_results_that_are_not_the_same_ones_are_refused(pair, options, said):
    with pytest.raises(TypeError, match=said):
        viz.compare(*pair, 2.0, 3.0, **options)


def test_functions_are_compared_in_float64_whatever_they_hold():
    weights = mg.tensor([0.1, 0.2, 0.3])
    mine = [weight.item() for weight in weights]

    def f(x):
        return (weights * x).sum().exp()

    def g(x):
        return mg.exp(mine[0] * x + mine[1] * x + mine[2] * x)

    found = viz.compare(f, g, 7.3)
    assert {node["dtype"] for node in found.first["nodes"] if node["id"] == "x"} == {"float64"}


def test_of_a_wrong_contribution_the_code_of_the_operation_that_sends_is_told():
    class Slope(mg.autograd.Function):
        @staticmethod
        def forward(ctx, u):
            ctx.save_for_backward(u)
            return mg.sin(u)

        @staticmethod
        def backward(ctx, g):
            return mg.cos(ctx.saved_tensors[0])  # g is forgotten

    def right(x, y):
        return mg.sin(x * y) * 2

    def wrong(x, y):
        product = x * y
        return Slope.apply(product) * 2

    found = viz.compare(right, wrong, 2.0, 3.0).document["difference"]
    assert (found["node"], found["step"]) == ("v1", 7), "whose adjoint is wrong"
    assert [piece[2] for piece in found["made"]] == ["mg.sin(x * y)", "Slope.apply(product)"]


def unpacked(templates, point):
    """A document back from its template: the same as the viewer does."""
    template = templates[point[0]]
    document = copy.deepcopy(template["trace"])
    for path, value in zip(template["holes"], point[1:], strict=True):
        *way, last = path
        functools.reduce(lambda place, key: place[key], way, document)[last] = value
    return document


documents = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(
    st.lists(
        st.dictionaries(st.sampled_from("pqr"), documents, min_size=1, max_size=3),
        min_size=1,
        max_size=5,
    )
)
def test_packing_loses_nothing(traces):
    templates, points = pack(traces)
    back = [unpacked(templates, p) for p in points]
    assert json.dumps(back) == json.dumps(traces), "also 1, 1.0 and true are told apart"


def test_numbers_that_are_equal_but_not_the_same_are_distinguished():
    traces = [{"a": 1, "b": 2}, {"a": 1.0, "b": 2}, {"a": True, "b": 2}]
    templates, points = pack(traces)
    assert json.dumps([unpacked(templates, p) for p in points]) == json.dumps(traces)
    assert templates[0]["holes"] == [["a"]], "what never differs is kept once"


def test_a_grid_holds_the_trace_of_every_point():
    grid = viz.sliders(unread, x1=(1, 3), x2=(0, 5, 5), points=3, live=False)
    assert grid.document["start"] == [1, 2] and [i["name"] for i in grid.document["inputs"]] == [
        "x1",
        "x2",
    ]
    values = [i["values"] for i in grid.document["inputs"]]
    for a in range(3):
        for b in range(3):
            found = unpacked(grid.document["templates"], grid.document["points"][3 * a + b])
            expected = trace_function(unread, values[0][a], values[1][b])
            assert found["steps"] == expected["steps"] and found["nodes"] == expected["nodes"]
    assert len(grid.document["templates"]) < 9, (
        "points share templates (brackets around a negative number make another form)"
    )
    assert grid.still["title"] == "unread(x1, x2), x1 = 2, x2 = 5"


def test_a_function_that_the_engine_reads_is_held_as_text_and_start():
    """Its inputs stand in their own order, also where the text names another one first."""
    shown = viz.sliders(lambda a, b, c: (b - a) * c, a=(1, 3), b=(0, 5, 5), c=2.5, live=False)
    document = shown.document
    assert document["schema"] == "minigrad.function/1"
    assert document["values"] == {"a": 2.0, "b": 5.0, "c": 2.5}
    assert list(document["values"]) == document["trace"]["inputs"]
    assert document["inputs"] == [
        {"name": "a", "values": [1.0, 3.0]},
        {"name": "b", "values": [0.0, 5.0]},
    ]
    assert document["seeds"] == {"a": 1.0, "b": 0.0, "c": 0.0} and document["mode"] == "both"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x.item(),
        lambda x: mg.sin(x) if x.item() > 0 else x * x,
        lambda x: (x * mg.ones(3)).sum(),
    ],
    ids=["a number of its input", "a branch", "an array"],
)
def test_a_function_whose_steps_the_engine_would_not_write_stays_a_grid(function):
    shown = viz.sliders(function, x=(-1, 1), points=5, live=False)
    assert shown.document["schema"] == "minigrad.grid/1"


def test_a_function_that_is_not_finite_at_a_point_is_held_as_text():
    document = viz.sliders(lambda x: mg.log(x), x=(-1, 1), points=5, live=False).document
    assert (document["schema"], document["text"]) == ("minigrad.function/1", "log(x)")


def test_a_function_that_chooses_by_a_comparison_is_held_as_text():
    """That of lesson 17."""

    def difference(x):
        return mg.where(x > 0, x, -x) - (x + mg.relu(-2 * x))

    document = viz.sliders(difference, x=(-1, 1, -0.6), mode="reverse", live=False).document
    assert document["schema"] == "minigrad.function/1"
    assert document["text"] == "where(x > 0, x, -x) - (x + relu(-2*x))"


def test_a_program_that_branches_has_a_template_for_each_way():
    grid = viz.sliders(
        lambda x: mg.sin(x) if x.item() > 0 else x * x * x, x=(-1, 1), points=5, live=False
    )
    ways = [
        [n["op"] for n in unpacked(grid.document["templates"], p)["nodes"] if "op" in n]
        for p in grid.document["points"]
    ]
    assert ways == [["mul", "mul"]] * 3 + [["sin"]] * 2


def test_a_page_of_a_grid_is_far_smaller_than_its_traces():
    grid = viz.sliders(unread, x1=(1, 3), x2=(0, 5), points=6, live=False)
    alone = sum(
        len(json.dumps(unpacked(grid.document["templates"], p))) for p in grid.document["points"]
    )
    assert len(json.dumps(grid.document)) < 0.25 * alone


@pytest.mark.parametrize(
    ("ranges", "options", "message"),
    [
        ({}, {}, "give a range"),
        ({"x1": 3}, {}, "give a range"),
        ({"x1": (3, 1)}, {}, r"range of x1 must be \(low, high\)"),
        ({"x1": (1, float("nan"))}, {}, "range of x1"),
        ({"x1": (1, 2, 3)}, {}, "range of x1 .* the start between them"),
        ({"x1": "ab"}, {}, "range of x1"),
        ({"x1": (1, 2), "x2": (1, 2)}, {"points": 60}, "at most 2,000"),
        ({"x1": (1, 2)}, {"points": 1}, "needs two places"),
    ],
)
def test_ranges_that_make_no_grid_are_refused(ranges, options, message):
    with pytest.raises(ValueError, match=message):
        viz.sliders(f, live=False, **ranges, **options)


def test_the_live_widget_traces_again_and_keeps_the_step():
    pytest.importorskip("anywidget", reason='pip install "minigrad[viz]"')
    widget = viz.sliders(f, x1=(0.5, 4, 2), x2=5, live=True, step=23)
    assert widget.inputs == {"x1": 2.0} and widget.ranges[0]["max"] == 4.0 and widget.step == 23
    widget.inputs = {"x1": 4.0}
    final = {(n, c): v for s in widget.trace["steps"] for n, c, v in s["writes"]}
    assert final["x1", "g"] == 5.25 and widget.step == 23 and widget.trace["layout"]
    widget.close()


def test_what_a_notebook_shows_can_be_saved_by_the_ending(tmp_path):
    pytest.importorskip("anywidget", reason='pip install "minigrad[viz]"')
    trace = trace_function(f, 2.0, 5.0)
    shown = viz.Stepper(trace, 4, lang="zh", views=["story"])
    page = shown.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert page == viz.to_html(trace, step=4, lang="zh", views=["story"])
    shown.save(tmp_path / "a.svg", step=2)
    viz.save(trace, tmp_path / "b.svg", step=2, lang="zh")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with pytest.raises(ValueError, match=r"there is no format '\.doc'"):
        shown.save(tmp_path / "a.doc")


def test_the_pair_widget_shares_clock_and_difference():
    traitlets = pytest.importorskip("traitlets")
    pytest.importorskip("anywidget", reason='pip install "minigrad[viz]"')
    from minigrad.viz.widget import ComparisonWidget

    trace = trace_function(f, 2.0, 5.0)
    pair = ComparisonWidget(viz.compare(trace, trace, step=4))
    assert (
        pair.step == 4 and pair.divergence is None and repr(pair).startswith("The two traces agree")
    )
    with pytest.raises(traitlets.TraitError):
        pair.step = 99
    data, _ = pair._repr_mimebundle_()
    assert "iframe" in data["text/html"]
    pair.close()


@pytest.mark.parametrize("make", [viz.to_html, viz.iframe, viz.show])
def test_options_of_the_stepper_are_checked(make):
    sample = all_samples()["seed"]
    with pytest.raises(ValueError, match="the views are predict, story"):
        make(sample, views=["memory", "nonsense"])
    with pytest.raises(ValueError, match="the languages are en, zh"):
        make(sample, lang="la")
