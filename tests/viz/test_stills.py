"""Stills and films follow the viewer: stages, dangling and freed nodes, Modules as boxes, passes
that clear, matrices, arrays.
"""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from minigrad.viz.constants import MOST
from minigrad.viz.export.frame import Film, Scene
from minigrad.viz.grouping import Tree, grouped, grouped_at
from minigrad.viz.jacobian import jacobian_trace
from minigrad.viz.picture import mathtext
from minigrad.viz.picture.legend import legend_of
from minigrad.viz.picture.marks import colours as colours_of
from minigrad.viz.picture.marks import palette, style_of
from minigrad.viz.reading import check
from minigrad.viz.scale import TooLarge
from minigrad.viz.shape_labels import shape_labels
from minigrad.viz.speech import spoken
from minigrad.viz.svg import to_svg
from minigrad.viz.texts import words

import minigrad as mg
from minigrad import viz
from minigrad.trace import state_at
from minigrad.watch import trace_function
from tests.helpers.trace_samples import all_samples

NAMESPACE = "{http://www.w3.org/2000/svg}"


class Tower(mg.nn.Module):
    def __init__(self):
        self.blocks = mg.nn.Sequential(*(mg.nn.Linear(3, 3) for _ in range(4)))
        self.head = mg.nn.Linear(3, 1)

    def forward(self, x):
        return self.head(self.blocks(x).tanh()).sum()


@pytest.fixture(scope="module")
def tower():
    mg.manual_seed(3)
    return trace_function(Tower(), np.ones((2, 3), "float32"), mode="reverse")


@pytest.fixture(scope="module")
def growing():
    once = lambda f: lambda x: mg.autograd.grad(f(x), [x], create_graph=True)[0]
    return trace_function(once(once(lambda x: mg.sin(x * x))), 0.7)


def card(svg, title):
    """The SVG of the card with this title."""
    return re.search(
        rf"<g[^>]*><title>{re.escape(title)}</title>.*?(?=<g[^>]*><title>|</svg>)", svg
    )[0]


def drawn(scene, at):
    """Everything that matplotlib draws of a state: edge and face colours, dashes, texts."""
    figure = scene.figure(72)
    scene.draw(figure, at)
    shapes = [p for axes in figure.axes for p in axes.patches]
    texts = [t.get_text() for axes in figure.axes for t in axes.texts]
    return figure, shapes, texts


def test_generations_have_their_colour_dash_and_name(growing):
    end = len(growing["steps"])
    svg = to_svg(growing, end)
    ET.fromstring(svg)
    assert "first backward" in svg and "second backward" in svg and "third backward" not in svg
    light = {name: pair[0] for name, pair in palette().items()}
    assert f".mg-frame .card-2{{fill:{light['b2-tint']};stroke:{light['b2']}}}" in svg
    assert svg.count('class="card card-1"') > 1 and svg.count('class="card card-2"') > 1
    for stage, dash in (("1", "7 3"), ("2", "2 3")):
        rule = f".edge-{stage}{{stroke:{light['b' + stage]};stroke-dasharray:{dash}}}"
        assert rule in svg and f'class="edge edge-{stage}"' in svg
    _, shapes, texts = drawn(Scene(growing, steps=[end]), end)
    assert "first backward" in texts and "second backward" in texts
    from matplotlib.colors import to_hex

    for stage in ("b1", "b2"):
        rims = [s for s in shapes if to_hex(s.get_edgecolor()) == light[stage]]
        assert any(type(s).__name__ == "FancyBboxPatch" for s in rims) and any(
            type(s).__name__ == "PathPatch" for s in rims
        )
        assert any(
            s.get_linestyle() not in ("-", "solid") for s in rims if type(s).__name__ == "PathPatch"
        )


def test_the_legend_tells_the_function_its_derivatives_and_what_dangles(growing):
    assert [look.words for look in legend_of(growing)] == [
        *("the function itself", "first backward", "second backward", "dangling"),
        *("keeps values for the adjoints", "freed"),
    ]
    svg = to_svg(growing)
    _, _, texts = drawn(Scene(growing, steps=[1]), 1)
    for look in legend_of(growing):
        assert f">{look.words}</text>" in svg and look.words in texts
    inside = {
        **growing,
        "nodes": [
            n | ({"stage": "jvp"} if n["stage"] == "second backward" else {})
            for n in growing["nodes"]
        ],
    }
    assert [look.words for look in legend_of(inside)][2] == "forward mode inside", (
        "not every second generation is a backward pass"
    )


def test_a_bar_spans_a_name_of_several_letters():
    trace = trace_function(lambda phi: mg.sin(phi) * phi, 0.5, mode="reverse")
    svg = to_svg(trace)
    assert 'text-decoration="overline">phi</tspan>' in svg and "\u0305" not in svg
    _, _, texts = drawn(Scene(trace), len(trace["steps"]))
    assert any(r"\overline{\mathit{phi}}" in text for text in texts) and not any(
        r"\bar{\mathit{p" in text for text in texts
    )


def test_numbers_in_formulas_are_set_as_numbers():
    [tiny] = mathtext.pieces([{"t": "num", "value": -6.462e-6}])
    assert tiny.tex == r"\mathrm{{-}6.462e{-}6}" and mathtext.drawable(tiny.tex)
    pair = mathtext.upright("[1.1, −1.8]")
    spaced = pair.replace("{-}", "-").replace("{,}", ",")
    assert mathtext.size(pair, 20)[0] < mathtext.size(spaced, 20)[0], (
        "no space around a sign, none beside the blank after a comma"
    )
    minus = mathtext.pieces(
        [
            {"t": "sym", "base": "v"},
            {"t": "op", "text": "="},
            {"t": "op", "text": "−"},
            {"t": "sym", "base": "x"},
        ]
    )
    assert minus[1].before > 0 and minus[2].before == minus[2].after == 0


def test_a_note_stands_where_its_wire_does_not_run():
    def places(*wires):
        nodes = [
            {"id": "x", "shape": [3]},
            *({"id": f"y{i}", "shape": [2, 3]} for i in range(len(wires))),
        ]
        edges = [
            {"id": str(i), "src": "x", "dst": f"y{i}", "broadcast": wide}
            for i, (_, wide) in enumerate(wires)
        ]
        routes = {str(i): {"points": points} for i, (points, _) in enumerate(wires)}
        return [
            (note.text, note.y)
            for note in shape_labels(
                {"nodes": nodes, "edges": edges, "layout": {"nodes": {}, "edges": routes}}
            )
        ]

    rising, level, falling = ([(0, 100), (90, end)] for end in (40, 100, 160))
    lower = [(0, 124), (90, 160)]
    assert places((rising, False)) == [("(3,)", 115)], (
        "the wire rises, so the note stands below its beginning"
    )
    assert places((level, False)) == places((falling, False)) == [("(3,)", 93)]
    assert places((rising, False), (lower, False)) == [("(3,)", 115.5)], (
        "once for both wires, between them"
    )
    assert places((falling, False), (lower, False)) == [("(3,)", 93)]
    two = dict(places((rising, True), (lower, False)))
    assert two["(3,) ⇒ (2, 3)"] == 115 and two["(3,)"] - 115 > 12, (
        "what differs is said twice, and far enough apart"
    )
    trace = trace_function(
        lambda x, b: ((x + b) * x).sum(),
        [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]],
        [0.1, 0.2, -0.3],
        mode="reverse",
    )
    svg = to_svg(trace)
    assert 'class="shape">(3,) ⇒ (2, 3)</text>' in svg and "font-size:10.5px" in svg


def test_on_a_slide_the_words_of_a_wide_graph_stay_large():
    def chain(x):
        for _ in range(3):
            x = mg.sin(x) * 1.5
        return x

    wide, small = trace_function(chain, 0.5, mode="primal"), all_samples()["seed"]
    slide = Scene(wide, aspect=16 / 9, space=(2100.0, 1000.0))
    assert not slide.follows and slide.width > 1300 and slide.enlarged > 1.05
    assert slide.head + slide.view[1] + slide.foot <= slide.height, "nothing overlaps"
    figure = slide.figure(72)
    slide.draw(figure, 5)
    (sentence,) = [
        t for axes in figure.axes for t in axes.texts if t.get_text() == wide["steps"][4]["say"]
    ]
    assert sentence.get_fontsize() / slide.height == pytest.approx(13.5 / 720, rel=0.05), (
        "as large a part of it as of any other slide"
    )
    assert Scene(small, aspect=16 / 9).enlarged == 1.0 and Scene(wide).enlarged == 1.0


@pytest.mark.whole
@pytest.mark.parametrize("dark", [False, True])
def test_a_gif_has_the_pages_colours(tmp_path, growing, dark):
    Image = pytest.importorskip(
        "PIL.Image", reason='Pillow is not installed: pip install "minigrad[viz]"'
    )
    from minigrad.viz.export.film import colours

    scene = Scene(growing, dark=dark)
    table = colours(scene)
    assert len(table) <= 256 and len(set(table)) == len(table)
    path = viz.save(
        growing, tmp_path / "a.gif", steps=(3, 4), size="16:9", dark=dark, progress=False
    )
    with Image.open(path) as film:
        film.seek(1)
        frame = film.convert("RGB")
    seen = {colour for count, colour in frame.getcolors(1 << 20) if count > 60}
    rgb = lambda name, pot=scene.colour: tuple(int(pot[name][i : i + 2], 16) for i in (1, 3, 5))
    assert frame.getpixel((1, 1)) == rgb("surface")
    assert {rgb("v"), rgb("ink")} <= seen, "exact, not the nearest of a few"


def test_a_graph_without_derivatives_has_no_legend():
    svg = to_svg(all_samples()["seed"])
    assert "first backward" not in svg and 'class="card card-1"' not in svg


def test_dangling_nodes_are_hatched_and_struck_through(growing):
    names = [n["id"] for n in growing["nodes"] if n.get("dangling")]
    assert names
    svg = to_svg(growing, len(growing["steps"]))
    struck = re.findall(r'text-decoration="line-through"', svg)
    assert len(struck) == len(names)
    figure, shapes, _ = drawn(Scene(growing, steps=[0]), len(growing["steps"]))
    slanted = [s for s in shapes if type(s).__name__ == "PathPatch" and s.get_alpha() == 0.55]
    strokes = [line for axes in figure.axes for line in axes.lines]
    assert len(slanted) == len(names) + 1 and len(strokes) == len(names), (
        "and a sample in the legend"
    )


@pytest.mark.parametrize("x", [1.5, [[2.5, 1.5], [3.0, 4.0]], np.linspace(1, 4, 40)])
def test_a_number_that_is_not_finite_and_its_box_have_the_colour_of_what_failed(x):
    """But the rim of what the step reads or writes has the step's colour."""
    with np.errstate(all="ignore"):
        trace = trace_function(lambda x: (mg.log(x - 2.0) * x).sum(), x, mode="reverse")
    for at in (2, 4, len(trace["steps"])):
        svg, cells = to_svg(trace, at), state_at(trace, at).cells
        step = trace["steps"][at - 1]
        lit = {name for name, *_ in (*step["reads"], *step["writes"])}
        for node, title in zip(trace["nodes"], titles(svg), strict=True):
            known = [value for (name, _), value in cells.items() if name == node["id"]]
            bad = bool(re.search("nan|inf", str(known)))
            drawn_card = card(svg, title)
            assert ("unlike-value" in drawn_card) is bad
            rim = re.search(r'<rect[^>]*class="(card[^"]*)"', drawn_card)[1].split()
            last = style_of(" ".join(rim))["stroke"]
            assert (last == "bad") is (bad and node["id"] not in lit)


def titles(svg):
    return re.findall(r"<g[^>]*><title>(.*?)</title>", svg)


def test_kept_values_are_filled_and_freed_ones_hollow():
    trace = trace_function(lambda x: mg.sin(x * x), 0.7)
    keeping = sum(bool(n.get("saved")) for n in trace["nodes"])
    assert keeping == 2
    before, after = to_svg(trace, len(trace["steps"]) - 3), to_svg(trace)
    assert before.count('class="kept"') == keeping and before.count('class="gone"') == 0
    assert after.count('class="gone"') == keeping and after.count('class="kept"') == 0
    square = lambda shape: type(shape).__name__ == "Rectangle" and round(shape.get_width()) == 8
    colours = lambda at: [s.get_facecolor() for s in drawn(Scene(trace), at)[1] if square(s)]
    squares = lambda at: sorted(sum(colour[:3]) < 1 for colour in colours(at))
    assert all(colour[3] == 1 for colour in colours(len(trace["steps"]))), (
        "no line of the card is seen through a hollow one"
    )
    legend = [True, False]
    assert squares(len(trace["steps"])) == sorted([False, False, *legend])
    assert squares(len(trace["steps"]) - 3) == sorted([True, True, *legend])
    assert squares(0) == sorted(legend) and 'class="kept"' not in to_svg(trace, 0), (
        "nothing is computed, so nothing is kept"
    )


def test_without_a_pass_backward_nothing_is_marked_as_kept():
    for mode in ("primal", "forward"):
        trace = trace_function(lambda x: mg.sin(x * x), 0.7, mode=mode)
        assert any(n.get("saved") for n in trace["nodes"])
        svg = to_svg(trace)
        assert 'class="kept"' not in svg and ' kept"' not in svg and legend_of(trace) == []


# ---- groups


def test_modules_are_boxes_as_the_viewer_opens(tower):
    shown = grouped(tower)
    check(shown)
    labels = [n["label"]["base"] for n in shown["nodes"]]
    assert any(label.startswith("▸") for label in labels) and len(labels) < len(tower["nodes"])
    svg = to_svg(tower)
    assert "▸" in svg and svg.count('class="pile"') == 2 * sum(
        label.startswith("▸") for label in labels
    )
    assert "▸" not in to_svg(tower, groups="open")
    assert "▸" in "".join(drawn(Scene(shown, steps=[0]), len(tower["steps"]))[2])
    with pytest.raises(ValueError, match="auto, open, closed"):
        to_svg(tower, groups="shut")


def layers(sizes):
    return mg.nn.Sequential(*(mg.nn.Linear(a, b) for a, b in pairwise(sizes)))


def rounds_of(x):
    for _ in range(8):
        for _ in range(2):
            x = x - (x * x - 2) / (2 * x)
        x = mg.sin(x)
    return x


def test_at_first_the_largest_boxes_are_open_as_long_as_they_fit():
    """A network under a loss, which is not alone; two networks; networks inside one another; loops.
    Boxes of one size are all open or all closed."""
    x, labels = mg.ones(2, 3), mg.tensor([0, 1])
    single = layers([3, 2])
    net, nested = layers([3, 4, 5, 2]), mg.nn.Sequential(layers([3, 4]), layers([4, 5, 3]))
    deep, deeper, alike = layers(range(3, 16)), layers(range(3, 30)), layers([3] * 4)
    loss = lambda model: lambda x: mg.nn.CrossEntropyLoss()(model(x), labels)
    linear = lambda count: [f"▸ {i}: Linear" for i in range(count)]
    whole = ["▸ Sequential", "▸ CrossEntropyLoss"]
    for f, expected in (
        (loss(net), [*linear(3), whole[1]]),
        (lambda x: net(x) - single(x), [*linear(3), *linear(1)]),
        (loss(nested), [*linear(1), *linear(2), whole[1]]),
        (loss(alike), ["▸ 0: Linear … 2: Linear", whole[1]]),  # repetitions stay folded
        (loss(deep), [*linear(12), whole[1]]),  # over half of all nodes: more boxes
        (loss(deeper), whole),
    ):
        nodes = grouped(trace_function(f, x, mode="forward"))["nodes"]
        boxes = [n["label"]["base"] for n in nodes if n["kind"] == "group"]
        assert boxes == expected
    seen = grouped(trace_function(rounds_of, 1.0))["nodes"]
    assert [n["label"]["base"] for n in seen[1:]] == [f"▸ round {i} of 8" for i in range(1, 9)]


def test_a_box_has_the_value_of_its_last_node_and_every_step_still_folds(tower):
    shown, tree = grouped(tower), Tree(tower)
    assert len(shown["steps"]) == len(tower["steps"])
    known = {n["id"] for n in shown["nodes"]}
    assert all({e["src"], e["dst"]} <= known for e in shown["edges"])
    position = {n["id"]: i for i, n in enumerate(shown["nodes"])}
    assert all(position[e["src"]] < position[e["dst"]] for e in shown["edges"]), (
        "still from older to younger"
    )
    for k in range(len(tower["steps"]) + 1):
        inside, outside = state_at(tower, k).cells, state_at(shown, k).cells
        for (name, column), value in outside.items():
            last = tree.groups[name].leaves[-1] if name in tree.groups else name
            assert inside[last, column] == value
        for node in shown["nodes"]:
            last = tree.groups[node["id"]].leaves[-1] if node["id"] in tree.groups else node["id"]
            assert ((last, "v") in inside) == ((node["id"], "v") in outside)


@pytest.mark.whole
def test_a_large_graph_without_modules_is_drawn_in_stretches(tmp_path):
    trace = trace_function(lambda x: long(x, 300), 0.3, mode="reverse", source="")
    assert len(trace["nodes"]) == 301
    assert 10 < len(grouped(trace)["nodes"]) < 30
    path = viz.save(trace, tmp_path / "a.png", step=400)
    assert path.stat().st_size > 10_000
    with pytest.raises(TooLarge, match="6,001 nodes"):
        viz.save(
            trace_function(lambda x: long(x, 6000), 0.3, mode="primal", source=""),
            tmp_path / "b.png",
        )


def long(x, times):
    for _ in range(times):
        x = mg.sin(x)
    return x


@pytest.mark.parametrize("rounds", [160, 400, 580, 2000])
def test_a_long_loop_shows_few_boxes_at_every_depth(rounds):
    """At most MOST in each stretch; and with the stretches around any node open as few as the
    viewer steps through as quickly as through a short one.
    """
    trace = trace_function(lambda x: long(x, rounds), 0.3, mode="primal", source="")
    tree = Tree(trace)
    first = tree.shown(tree.open_at_first())
    assert sum(name in tree.groups for name in first) == len(first) - 1
    assert max(len(group.items) for group in tree.groups.values()) <= MOST
    depths = set()
    for k in range(1, rounds + 1, 37):
        around = {name for name, group in tree.groups.items() if f"v{k}" in group.leaves}
        shown = tree.shown(around)
        assert f"v{k}" in shown and len(shown) <= 42, k
        depths.add(len(around))
    assert len(depths) == 1


def test_what_has_no_groups_stays_itself():
    for sample in all_samples().values():
        if len(sample["nodes"]) <= 150:
            assert grouped(sample) is sample


# ---- Jacobians and arrays


def test_a_matrix_fills_in_the_still():
    trace = jacobian_trace(lambda a, b: (a * b, mg.sin(a)), 2.0, 3.0)
    value = lambda text: float(text.replace("−", "-"))
    for k in range(len(trace["steps"]) + 1):
        svg = to_svg(trace, k)
        entries = state_at(trace, k).entries
        part = svg[svg.rindex("<g transform=") :]
        cells = re.findall(r'class="value" text-anchor="end">([^<]*)<', part)
        filled = len(trace["steps"][k - 1].get("entries", [])) if k else 0
        assert part.count('class="entry new"') == filled, "what this step fills is marked"
        assert sorted(map(value, cells)) == pytest.approx(sorted(entries.values()), rel=1e-3)
    _, _, texts = drawn(Scene(trace), len(trace["steps"]))
    assert {"∂/∂a", "∂/∂b"} <= set(texts)
    for k, step in enumerate(trace["steps"]):
        if "clear" in step:
            gone = [cell for cell in state_at(trace, k).cells if cell[1] in step["clear"]]
            before, after = to_svg(trace, k), to_svg(trace, k + 1)
            column = step["clear"][0]
            count = lambda svg, column=column: len(re.findall(rf'class="value {column}[ "]', svg))
            assert count(after) == count(before) - len(gone) + len(step["writes"])


def test_a_large_jacobian_is_not_written_out():
    trace = jacobian_trace(lambda x: x * 2.0, np.arange(9.0), by="rows")
    assert "∂/∂" not in to_svg(trace)


def test_arrays_in_a_frame_have_all_elements_or_a_heat_map():
    small = trace_function(lambda x: (x.T - x.exp()).sum(), np.arange(9.0).reshape(3, 3) / 9)
    large = trace_function(lambda x: (x - x.exp()).sum(), np.arange(36.0).reshape(6, 6) / 36)
    _, _, texts = drawn(Scene(small, steps=[1]), 1)
    assert sum("0.1111" in text for text in texts if "," not in text) == 1, "a row of the matrix"
    _, shapes, texts = drawn(Scene(large, steps=[1]), 1)
    from matplotlib.colors import to_hex

    levels = {colour for name, colour in colours_of().items() if re.fullmatch(r"h\d+", name)}
    heat = [
        s for s in shapes if type(s).__name__ == "PathPatch" and to_hex(s.get_facecolor()) in levels
    ]
    assert sum(len(s.get_path().to_polygons()) for s in heat) == 36
    assert "(6, 6)" in texts, "shapes on the edges"


def test_a_page_can_be_saved_in_chinese_with_views_open(tmp_path):
    trace = all_samples()["seed"]
    page = viz.save(trace, tmp_path / "a.html", lang="zh", views=["memory", "cut"]).read_text(
        encoding="utf-8"
    )
    assert '<html lang="zh">' in page and '"views":["memory","cut"]' in page
    with pytest.raises(ValueError, match="no view 'lens'"):
        viz.save(trace, tmp_path / "b.html", views=["lens"])
    with pytest.raises(ValueError, match=r"views= are for pages; \.svg has none"):
        viz.save(trace, tmp_path / "b.svg", views=["cut"])


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_long_sentence_does_not_widen_a_still(lang):
    trace = trace_function(lambda x1: x1 + x1, 1.1, mode="reverse")
    root = ET.fromstring(to_svg(trace, lang=lang))
    assert float(root.get("width", "0")) < 640


def test_a_still_of_one_step_opens_the_round_at_work_as_the_viewer_does(tmp_path):
    def f(x):
        for _ in range(50):
            x = x + 0.1 * mg.sin(x)
        return x

    trace = trace_function(f, 1.0, mode="reverse")
    k = 1 + next(i for i, s in enumerate(trace["steps"]) if s["node"] == "v132" and "contribs" in s)
    root = ET.fromstring(to_svg(trace, k))
    texts = ["".join(e.itertext()) for e in root.iter(f"{NAMESPACE}text")]
    assert "v132 = v129 + v131" in texts and "▸ round 46 of 50" in texts
    assert "▸ round 45 of 50" not in texts, "its operation sends the contribution"
    assert any(e.get("class") == "card written-g" for e in root.iter(f"{NAMESPACE}rect"))
    closed = [e for e in root.iter(f"{NAMESPACE}g") if "▸ rounds 1 … 12" in "".join(e.itertext())]
    assert "value v" in {e.get("class") for e in closed[-1].iter()}, "a closed box has its value"
    with pytest.raises(ValueError, match="step 999 does not exist"):
        to_svg(trace, 999)


def test_a_film_opens_the_round_at_work_and_keeps_its_size():
    def f(x):
        for _ in range(14):
            x = mg.sin(x) * 2 + mg.exp(-x) * x
        return x

    trace = spoken(trace_function(f, 0.5, mode="primal"), words())
    steps = [0, 9, 10, 40]
    shown = grouped_at(trace, "auto", None, steps)
    assert shown[1] is shown[2] and len({id(one) for one in shown}) == 3
    active = [[n["id"] for n in one["nodes"]] for one in shown]
    for at, nodes in zip(steps[1:], active[1:], strict=True):
        assert trace["steps"][at - 1]["node"] in nodes and len(nodes) < len(trace["nodes"])
    assert [grouped(trace, "auto", None, at) for at in steps] == shown
    for options in ({}, {"aspect": 16 / 9, "space": (2000, 900)}):
        film = Film(shown, steps, **options)
        sizes = {(s.width, s.height, s.head, s.enlarged) for s in film._scenes}
        assert len(film._scenes) == 3 and len(sizes) == 1
        assert (film.width, film.height) == next(iter(sizes))[:2]
        for scene in film._scenes:
            assert scene.head + scene.view[1] + scene.foot <= scene.height + 0.01
            assert scene.view[0] <= scene.width
        assert not options or abs(film.width / film.height - 16 / 9) < 0.01
