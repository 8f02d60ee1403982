"""A Trace is the same document after it has been packed for a page and unpacked there."""

import base64
import json
from urllib.parse import quote

import numpy as np
from minigrad.viz.bundle import script
from minigrad.viz.jacobian import jacobian_trace
from minigrad.viz.layout import with_layout
from minigrad.viz.packing import pack
from minigrad.viz.page import packed

import minigrad as mg
from minigrad import nn
from minigrad.watch import trace_function

UNPACK = """async ([code, texts]) => {
    const { fromBase64, unpacked } = await import("data:text/javascript," + code);
    const found = await Promise.all(texts.map((text) => unpacked(fromBase64(text))));
    return found.map((one) => JSON.stringify(one));
}"""


def loop(x):
    for i in range(4):
        x = mg.sin(x) * x - x / (i + 1)
    return -(x**2) + 0.0 * mg.sqrt(x) + 1


def traces():
    np.random.seed(0)
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    yield trace_function(loop, -0.7)
    yield trace_function(lambda x: mg.log(x - 1) * mg.log(-x), 1.0)
    yield trace_function(lambda x, w: (x @ w).exp().sum(), [[1.0, -2.0]], [[3.0], [0.0]])
    yield trace_function(lambda x: net(x).pow(2).mean(), np.random.randn(9, 3))
    yield trace_function(lambda x: mg.log(x) @ mg.ones(7), [1.0, 2.0], partial=True)
    yield jacobian_trace(lambda x: (x * x, x.sum()), [1.0, 2.0])
    odd = trace_function(lambda x: x + x, 2.0)
    # a name that is not the node's, a key that no engine here writes, a symbol of no node
    tokens = odd["steps"][-1]["formula"]
    tokens += [{**tokens[0], "base": "w"}, {**tokens[0], "more": [1]}, {"t": "sym", "base": "y"}]
    yield odd
    # an edge of another name, and boxes and wires that say more than their places
    other = json.dumps(with_layout(trace_function(lambda x: x * x, 3.0))).replace('"e1"', '"first"')
    yield json.loads(other)
    yield json.loads(other.replace('{"points"', '{"more": 1, "points"'))
    yield json.loads(other.replace('"w"', '"more": 1, "w"'))


def test_traces_are_the_same_after_packing(visit):
    given = [with_layout(one) for one in traces()]
    before = [json.dumps(one) for one in given]
    texts = [base64.b64encode(packed(one)).decode() for one in given]
    assert [json.dumps(one) for one in given] == before, "the Trace itself is not changed"
    code = script(first=("packed",)) + "export { fromBase64, unpacked };"
    visit.page.goto("about:blank")
    found = visit.page.evaluate(UNPACK, [quote(code), texts])
    expected = [json.loads(one) for one in before]
    rounds = [b for one in expected for b in one.get("blocks", ()) if b["kind"] == "round"]
    assert rounds and all(block.pop("label") == str(block["round"]) for block in rounds)
    assert [json.loads(one) for one in found] == expected
    visit.assert_clean()


SHOW_AND_COUNT = """async (text) => {
    const trace = await parts.unpacked(parts.fromBase64(text)), read = new Set();
    const get = (step, key) => (key === "formula" && read.add(step), step[key]);
    const steps = trace.steps.map((step) => new Proxy(step, { get }));
    parts.mount(place(), { ...trace, steps }, { step: 300 });
    return [read.size, steps.length, steps[299].formula.length];
}"""


def test_a_page_fills_in_the_formulas_that_it_shows(parts):
    """Those of the steps that may be the tallest, and the present one."""
    trace = with_layout(trace_function(lambda x: chain(x, 100), 0.5))
    text = base64.b64encode(packed(trace)).decode()
    read, steps, tokens = parts.evaluate(SHOW_AND_COUNT, text)
    assert 1 < read <= 11 and steps > 600 and tokens == len(trace["steps"][299]["formula"])


def test_steps_of_one_operation_share_their_formulas():
    few, many = (
        pack(with_layout(trace_function(lambda x, n=n: chain(x, n), 0.5))) for n in (10, 100)
    )
    assert len(few["formulas"]) == len(many["formulas"]) < 20


def chain(x, n):
    for _ in range(n):
        x = mg.sin(x) + x
    return x
