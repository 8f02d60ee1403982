"""Long graphs in lines: every line runs to the right, no card is lost or covered, and wires
between lines go round the cards.
"""

import itertools
import json
import math

import pytest
from hypothesis import given, settings
from minigrad.viz import export
from minigrad.viz.edges import curve
from minigrad.viz.layout import layout, pure, with_layout, with_lines
from minigrad.viz.layout.lines import MOST_WIRES, in_lines, turn_of

import minigrad as mg
from minigrad import viz
from minigrad.watch import trace_function
from tests.helpers.trace_samples import all_samples, chain
from tests.viz.test_layout import box, graphs


def edges_of(triples):
    return [{"id": name, "src": src, "dst": dst} for name, src, dst in triples]


def segments(points):
    """The straight parts of a wire's way between lines."""
    turn = turn_of(points)
    return list(itertools.pairwise(points))[turn - 1 : turn + 3] if turn >= 0 else []


def assert_in_lines(place, edges, found, wide):
    """What must hold of every graph in lines; returns the lines' columns, as sets of nodes."""
    assert found.keys() == {"width", "height", "nodes", "edges", "lines"}
    assert (
        found["nodes"].keys() == place["nodes"].keys()
        and found["edges"].keys() == place["edges"].keys()
    )
    for v, here in found["nodes"].items():
        left, top, right, bottom = box(here)
        assert left >= 0 and top >= 0 and right <= found["width"] and bottom <= found["height"], (
            f"{v} is outside the picture"
        )
        assert here["w"] >= place["nodes"][v]["w"] - 0.11 and here["h"] == place["nodes"][v]["h"], (
            f"{v} is smaller than its text"
        )
    for a, b in itertools.combinations(found["nodes"], 2):
        (l1, t1, r1, b1), (l2, t2, r2, b2) = box(found["nodes"][a]), box(found["nodes"][b])
        assert r1 < l2 or r2 < l1 or b1 < t2 or b2 < t1, f"{a} and {b} overlap"
    lines = found["lines"]
    assert len(lines) > 1 and all(
        a["bottom"] < b["top"] and a["to"] < b["from"] for a, b in itertools.pairwise(lines)
    )
    at = lambda y: next(
        i for i, one in enumerate(lines) if one["top"] - 0.2 <= y <= one["bottom"] + 0.2
    )
    line_of = {v: at(here["y"]) for v, here in found["nodes"].items()}
    for v, here in place["nodes"].items():
        assert lines[line_of[v]]["from"] <= here["x"] <= lines[line_of[v]]["to"], (
            f"{v} stands in another line than its part of the graph"
        )
    for e in edges:
        points, (a, b) = (
            found["edges"][e["id"]]["points"],
            (found["nodes"][e["src"]], found["nodes"][e["dst"]]),
        )
        assert points[0][0] == pytest.approx(a["x"] + a["w"] / 2, abs=0.11) and points[-1][
            0
        ] == pytest.approx(b["x"] - b["w"] / 2, abs=0.11)
        assert (
            abs(points[0][1] - a["y"]) <= a["h"] / 2 and abs(points[-1][1] - b["y"]) <= b["h"] / 2
        )
        assert all(0 <= x <= found["width"] and 0 <= y <= found["height"] for x, y in points), (
            f"{e['id']} leaves the picture"
        )
        if line_of[e["src"]] == line_of[e["dst"]]:
            assert all(p[0] < q[0] for p, q in itertools.pairwise(points)), (
                f"{e['id']} turns back within a line"
            )
            continue
        for (x0, y0), (x1, y1) in segments(points):
            assert x0 == x1 or y0 == y1, "straight, round corners"
            for v, here in found["nodes"].items():
                left, top, right, bottom = box(here)
                apart = (
                    max(x0, x1) <= left
                    or min(x0, x1) >= right
                    or max(y0, y1) <= top
                    or min(y0, y1) >= bottom
                )
                assert apart, f"{e['id']} runs through {v}"
    return line_of


@given(graphs())
@settings(max_examples=25)
def test_a_random_graph_in_lines_keeps_every_card_and_covers_none(graph):
    sizes, triples = graph
    place, edges = pure.solve(sizes, triples), edges_of(triples)
    before = json.dumps(place)
    for wide in (300, 600, 900):
        found = in_lines(place, edges, wide)
        if place["width"] <= wide:
            assert found is None
        if found is not None:
            assert_in_lines(place, edges, found, wide)
            assert json.dumps(found) == json.dumps(in_lines(place, edges, wide)), (
                "the same graph, another drawing"
            )
    assert json.dumps(place) == before


@pytest.mark.parametrize("name", ["deep", "seed", "arrays"])
def test_samples_in_lines(name):
    sample = all_samples()[name]
    place = layout(sample)
    found = in_lines(place, sample["edges"], place["width"] / 2.5)
    if found is not None:
        assert_in_lines(place, sample["edges"], found, place["width"] / 2.5)


def test_a_chain_stands_in_a_grid():
    sample = chain(100)
    found = in_lines(layout(sample), sample["edges"], 1200)
    line_of = assert_in_lines(layout(sample), sample["edges"], found, 1200)
    many = [list(line_of.values()).count(i) for i in range(len(found["lines"]))]
    assert len(set(many[:-1])) == 1 and many[0] >= 5 and found["width"] <= 1200
    for j in range(many[0]):
        column = [v for i, v in enumerate(line_of) if i % many[0] == j]
        assert (
            len({found["nodes"][v]["x"] for v in column}) == 1
            and len({found["nodes"][v]["w"] for v in column}) == 1
        )


def test_who_leaves_higher_up_runs_further_outside():
    sizes = {name: (90, 92) for name in ("a", "b", "c", "d")}
    triples = [("e1", "a", "b"), ("e2", "b", "c"), ("e3", "b", "c"), ("e4", "c", "d")]
    place = pure.solve(sizes, triples)
    found = in_lines(place, edges_of(triples), 340)
    upper, lower = sorted(
        (found["edges"][e]["points"] for e in ("e2", "e3")), key=lambda points: points[0][1]
    )
    turn = turn_of(upper)
    assert upper[turn][0] > lower[turn][0] and upper[turn][1] > lower[turn][1], (
        "outside at the right, below where it runs left"
    )
    assert upper[-1][1] < lower[-1][1] and upper[turn + 2][0] > lower[turn + 2][0], (
        "inside at the left, above at the end"
    )


def test_a_value_used_in_many_lines_goes_round_them_on_one_wire():
    names = [f"n{i}" for i in range(30)]
    triples = [(f"e{i}", names[i], names[i + 1]) for i in range(29)] + [
        (f"h{i}", "n0", names[i]) for i in range(5, 30, 5)
    ]
    place = pure.solve({name: (90, 92) for name in names}, triples)
    found = in_lines(place, edges_of(triples), 800)
    assert_in_lines(place, edges_of(triples), found, 800)
    far = [found["edges"][f"h{i}"]["points"] for i in range(5, 30, 5)]
    turned = [points[turn_of(points)][0] for points in far if turn_of(points) >= 0]
    assert len(turned) >= 4 and len(set(turned)) == 1, "down on the same side"


def test_where_too_many_wires_cross_a_graph_stays_in_one_line():
    def ladder(rails):
        names = [f"r{j}c{i}" for i in range(12) for j in range(rails)]
        triples = [
            (f"e{j}c{i}", f"r{j}c{i}", f"r{j}c{i + 1}") for i in range(11) for j in range(rails)
        ]
        return pure.solve({name: (90, 60) for name in names}, triples), edges_of(triples)

    assert in_lines(*ladder(MOST_WIRES), 700) is not None
    assert in_lines(*ladder(MOST_WIRES + 1), 700) is None


def test_one_card_alone_and_cards_wider_than_a_line():
    assert in_lines(pure.solve({"a": (500, 60)}, []), [], 300) is None
    triples = [("e1", "a", "b"), ("e2", "b", "c")]
    place = pure.solve({name: (500, 60) for name in "abc"}, triples)
    assert in_lines(place, edges_of(triples), 300) is None, (
        "one card in each line is no better than a long line"
    )
    triples = [(f"e{a}", a, b) for a, b in itertools.pairwise("abcdefgh")]
    place = pure.solve({name: (900 if name == "b" else 80, 60) for name in "abcdefgh"}, triples)
    found = in_lines(place, edges_of(triples), 500)
    assert found["nodes"]["b"]["w"] == 900 and len(found["lines"]) > 2
    assert_in_lines(place, edges_of(triples), found, 500)


def test_the_curve_goes_round_corners():
    points = [[100, 50], [130, 50], [130, 120], [40, 120], [10, 120], [10, 200], [30, 200]]
    assert turn_of(points) == 2
    d = curve(points)
    assert d.startswith("M100 50C") and d.endswith("30 200") and d.count("Q") == 5
    numbers = [
        float(v)
        for v in d.replace("M", " ").replace("L", " ").replace("Q", " ").replace("C", " ").split()
    ]
    assert min(numbers[::2]) == 10 and max(numbers[::2]) == 130, "it swings out nowhere"
    assert turn_of(points[:2]) == -1 and "L" not in curve(points[:2])


def test_stills_of_long_graphs_are_no_wider_than_a_page():
    sample = chain(120)
    flat, shown = with_layout(sample)["layout"], with_lines(sample)["layout"]
    assert (
        flat["width"] > 10_000
        and shown["width"] <= 2400
        and 1 < shown["width"] / shown["height"] < 2.2
    )
    svg = viz.to_svg(sample)
    assert float(svg.split('width="')[1].split('"')[0]) <= 2400
    assert (
        viz.to_svg(all_samples()["seed"])
        and "lines" not in with_lines(all_samples()["seed"])["layout"]
    )
    assert "lines" not in with_layout(sample)["layout"], (
        "the viewer breaks lines itself, at the width of its box"
    )
    assert with_lines(with_lines(sample))["layout"] == shown


@pytest.mark.whole
def test_a_film_of_a_long_graph_follows_down_the_lines(tmp_path):
    pytest.importorskip("matplotlib")
    sample = chain(100)
    steps = [0, max(k for k, step in enumerate(sample["steps"], 1) if step["phase"] == "primal")]
    scene = export.frame.Scene(sample, space=(1200, 500), steps=steps)
    corners = [scene.corner(k) for k in steps]
    assert scene.follows and scene.view[1] < scene.place["height"]
    assert corners[0][1] < corners[1][1] and math.isclose(corners[0][0], corners[1][0], abs_tol=1)
    figure = scene.figure(40)
    scene.draw(figure, steps[1])
    figure.savefig(tmp_path / "frame.png")
    assert (tmp_path / "frame.png").stat().st_size > 10_000


def test_what_is_computed_from_sources_alone_stands_where_it_is_used():
    def recurrent(x, w, u):
        h = x * 0.1
        for _ in range(8):
            h = mg.tanh(w * h + u * x)
        return h

    trace = trace_function(recurrent, 0.5, 0.7, -0.4, source="")
    place = layout(trace, "pure")
    product = [node["id"] for node in trace["nodes"] if node.get("op") == "mul"]
    first = {e["src"]: e["dst"] for e in reversed(trace["edges"])}
    columns = sorted({here["x"] for here in place["nodes"].values()})
    rank = {v: columns.index(here["x"]) for v, here in place["nodes"].items()}
    assert all(rank[v] == rank[first[v]] - 1 for v in product if v in first)
    assert in_lines(place, trace["edges"], 1200) is not None
    seed = all_samples()["seed"]
    assert {here["x"] for v, here in layout(seed)["nodes"].items() if v in ("v1", "v2", "v4")} == {
        layout(seed)["nodes"]["v1"]["x"]
    }
