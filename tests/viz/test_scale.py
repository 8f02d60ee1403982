"""Large graphs: an overview in place of a picture, and work in proportion to their size."""

import base64
import gzip
import json
import re

import pytest
from minigrad.viz import scale
from minigrad.viz.packing import pack

from minigrad import viz
from tests.helpers.trace_samples import all_samples, chain
from tests.helpers.work_count import work


def long_trace(count):
    """A Trace of a chain, made without any engine: only its size matters."""
    nodes = [
        {"id": f"v{i}", "label": {"base": "v", "sub": str(i)}, "kind": "op" if i else "input",
            "expr": []}
        | {"shape": [10], "dtype": "float32", "stage": "primal"}
        | ({"op": "mul" if i % 3 else "sin", "group": f"net/layer{i % 7}"} if i else {})
        for i in range(count)
    ]  # fmt: skip
    edges = [
        {"id": f"e{i}", "src": f"v{i - 1}", "dst": f"v{i}", "slot": 0, "stage": "primal"}
        for i in range(1, count)
    ]
    steps = [
        {
            "phase": "primal",
            "node": f"v{i}",
            "edges": [],
            "reads": [],
            "writes": [[f"v{i}", "v", 1.0]],
            "formula": [],
            "say": "",
        }
        for i in range(count)
    ]
    columns = [{"key": "v", "label": "value", "phase": "primal"}]
    document = {
        "schema": "minigrad.trace/1",
        "title": "long",
        "inputs": ["v0"],
        "outputs": [f"v{count - 1}"],
        "seed": {},
    }
    return document | {"nodes": nodes, "edges": edges, "columns": columns, "steps": steps}


@pytest.fixture(scope="module")
def huge():
    return long_trace(10_000)


def test_a_huge_graph_gives_an_overview_and_is_never_laid_out(huge, monkeypatch):
    count = len(huge["nodes"])
    for place in (
        "minigrad.viz.page.placed",
        "minigrad.viz.page.plain_table",
        "minigrad.viz.page.page",
    ):
        monkeypatch.setattr(place, lambda *a, **k: pytest.fail("every node would be drawn"))
    page = viz.to_html(huge)
    frame = viz.iframe(huge)
    text, output = repr(frame), frame._repr_html_()
    assert (
        len(page) < 10_000
        and "<script" not in page
        and f"{count:,} nodes" in page
        and f"{count:,} nodes" in output
    )
    sines, first_layer = (count - 1) // 3, (count + 5) // 7
    assert (
        f"{count - 1 - sines:,}  mul" in text
        and f"{sines:,}  sin" in text
        and f"{first_layer:,}  layer1" in text
    )
    assert (
        f"longest chain {count:,}" in text
        and f"{40 * count:,} bytes" in text
        and "Trace a part" in text
    )


def test_what_draws_every_node_refuses_with_the_overview(huge):
    refused = f"{len(huge['nodes']):,} nodes"
    with pytest.raises(scale.TooLarge, match=refused):
        viz.to_svg(huge)
    pytest.importorskip("anywidget", reason='pip install "minigrad[viz]"')
    with pytest.raises(scale.TooLarge, match=refused):
        viz.Stepper(huge)


def test_the_line_is_where_it_is_said_to_be():
    assert not scale.too_large(long_trace(scale.FULL_DETAIL)) and scale.too_large(
        long_trace(scale.FULL_DETAIL + 1)
    )
    assert "<script" in viz.to_html(long_trace(200))


def test_an_overview_counts_what_is_there():
    found = scale.overview(all_samples()["seed"])
    assert (found.nodes, found.edges, found.steps, found.longest, found.bytes) == (7, 8, 23, 4, 56)
    assert (
        dict(found.operations) == {"input": 2, "ln": 1, "mul": 1, "add": 1, "sub": 1, "sin": 1}
        and found.groups == []
    )


def test_an_overview_takes_work_in_proportion_to_the_graph(monkeypatch):
    monkeypatch.setattr(scale, "FULL_DETAIL", 400)
    both = lambda trace: (viz.to_html(trace), viz.iframe(trace)._repr_html_())
    small, large = (work(both, long_trace(n)) for n in (500, 2_000))
    assert 3 * small < large < 4.4 * small


@pytest.fixture(scope="module")
def long_chain():
    return viz.layout.with_layout(chain(2_000))


def test_a_page_takes_work_in_proportion_to_the_graph(long_chain):
    for n in (150, 600):
        viz.to_html(chain(n))  # what is read and joined once
    small, large = (work(viz.to_html, chain(n)) for n in (150, 600))
    assert 3 * small < large < 4.4 * small
    assert 500_000 < len(viz.to_html(long_chain)) < 2_000_000


def test_the_refusal_of_a_recording_that_was_stopped_has_the_overviews_advice(monkeypatch):
    monkeypatch.setattr(scale, "FULL_DETAIL", 4_000)
    for lang, most in (("en", "more than 4,000 nodes"), ("zh", "超过 4,000 个节点")):
        title, _, said = scale.refusal("f(x), x = 1", lang).splitlines()
        advice = (
            scale.as_text(scale.overview(all_samples()["seed"]), lang)
            .splitlines()[2]
            .split("。" if lang == "zh" else ". ", 1)[1]
        )
        assert (
            title == "f(x), x = 1" and most in said and said.endswith(advice) and len(advice) > 20
        )
    assert scale.refusal("").startswith("Evaluation trace") and scale.refusal("", "zh").startswith(
        "求值轨迹"
    )


def test_no_text_of_a_large_trace_becomes_markup():
    trace = long_trace(scale.FULL_DETAIL + 1)
    trace["title"] = "<script>alert(1)</script>"
    trace["nodes"][5]["op"] = "<img src=x onerror=alert(2)>"
    page = viz.to_html(trace)
    assert "<script" not in page and "<img" not in page and "&lt;img" in page


@pytest.mark.whole
def test_a_large_page_holds_its_trace_compressed_and_nothing_is_lost(long_chain):
    trace, large = all_samples()["seed"], long_chain
    kind = lambda page: re.search(
        r'<script type="([^"]+)" id="trace">([^<]*)</script>', page
    ).groups()
    assert kind(viz.to_html(trace))[0] == "application/json"
    name, text = kind(page := viz.to_html(large))
    assert name == "application/gzip" and len(page) < 2_000_000
    found = json.loads(gzip.decompress(base64.b64decode(text)))
    assert found == json.loads(json.dumps(pack(large)))
    assert viz.to_html(large) == page, "the same document gives the same bytes"
