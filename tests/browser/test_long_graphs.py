"""A graph much wider than its box stands in lines: the same in the browser as in Python's
stills, legible at every width, nothing lost.
"""

import itertools
import json
import re

import numpy as np
import pytest
from minigrad.viz.edges import curve
from minigrad.viz.layout import layout
from minigrad.viz.layout.lines import in_lines
from minigrad.viz.page import overview_page

import minigrad as mg
from minigrad.watch import trace_function
from tests.browser.conftest import at_each, layouts_of, to
from tests.helpers.trace_samples import all_samples, half_sines

pytestmark = pytest.mark.browser


def sines(count):
    """A chain in which every other operation uses its input twice."""

    def f(x):
        for i in range(count - 1):
            x = mg.sin(x) if i % 2 else x + x
        return x

    return trace_function(f, 0.7, source="")


def recurrent(x, w, u):
    h = x * 0.1
    for _ in range(8):
        h = mg.tanh(w * h + u * x)
    return h


TRACES = {
    "sines": lambda: sines(40),
    "recurrent": lambda: trace_function(recurrent, 0.5, 0.7, -0.4, source=""),
    "deep": lambda: all_samples()["deep"],
}


def near(a, b, tolerance=0.11):
    """Whether two layouts are the same up to the rounding of halves."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(near(a[k], b[k], tolerance) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(near(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return abs(a - b) <= tolerance


@pytest.mark.parametrize(
    "name",
    ["sines", *(pytest.param(name, marks=pytest.mark.whole) for name in ("recurrent", "deep"))],
)
def test_the_browser_breaks_lines_where_python_does(parts, name):
    trace = TRACES[name]()
    place = layout(trace, "pure")
    broken, numbers = 0, lambda d: [float(v) for v in re.sub("[MLQC]", " ", d).split()]
    widths = (330, 700, 1000, 1200, 2000, 100_000)
    look = "([place, edges, widths]) => widths.map((wide) => parts.inLines(place, edges, wide))"
    for wide, theirs in zip(
        widths, parts.evaluate(look, [place, trace["edges"], widths]), strict=True
    ):
        mine = in_lines(place, trace["edges"], wide)
        assert (mine is None) == (theirs is None), wide
        if mine is None:
            continue
        broken += 1
        assert near(json.loads(json.dumps(mine)), theirs), wide
        points = [route["points"] for route in list(mine["edges"].values())[:40]]
        drawn = parts.evaluate("(all) => all.map((points) => parts.curve(points))", points)
        for route, path in zip(points, drawn, strict=True):
            assert near(numbers(curve(route)), numbers(path))
    assert broken >= 2


def cards(viewer):
    """The boxes on the screen, in the order of the nodes: left, top, right, bottom."""
    return viewer.locator(".mg-node .mg-card").evaluate_all(
        "all => all.map(e => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right,"
        " b.bottom]; })"
    )


@pytest.mark.parametrize(
    ("width", "count"),
    [
        (1200, 40),
        *(pytest.param(*case, marks=pytest.mark.whole) for case in ((390, 40), (390, 120))),
    ],
)
def test_a_long_chain_is_read_in_lines(show, visit, width, count):
    viewer = show(sines(count), width, views=["cut"])
    boxes = cards(viewer)
    place = viewer.locator(".mg-graph").bounding_box()
    lines = [list(line) for _, line in itertools.groupby(boxes, key=lambda box: round(box[1]))]
    pitch = boxes[1][0] - boxes[0][0]
    assert len(boxes) == count and len(lines) <= count / max(1.5, place["width"] // pitch - 1) + 1
    if width == 1200 or count == 40:
        assert len({len(line) for line in lines[:-1]}) == 1, (
            "lines of one length, where the cards are about as wide"
        )
    assert all(a[2] < b[0] for line in lines for a, b in itertools.pairwise(line)), (
        "each line runs to the right"
    )
    assert all(a[0][3] < b[0][1] for a, b in itertools.pairwise(lines)), (
        "and the next stands below it"
    )
    assert all(box[0] >= place["x"] and box[2] <= place["x"] + place["width"] for box in boxes), (
        "nothing is to be scrolled sideways to"
    )
    size = viewer.locator(".mg-value").first.evaluate(
        "e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a"
    )
    assert size >= 9.5, "the numbers are legible"
    assert visit.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_step_stays_in_view_when_a_key_or_a_button_enlarges_the_graph(show, visit):
    viewer = show(sines(40), 1200)
    to(viewer, 30)
    for enlarge in (lambda: visit.page.keyboard.press("+"),
                    lambda: viewer.get_by_role("button", name="Zoom in").click()):  # fmt: skip
        enlarge()
        inside, card = (
            viewer.locator(part).first.bounding_box()
            for part in ("div.mg-graph", ".mg-node:has(.mg-write)")
        )
        assert inside["x"] <= card["x"] <= inside["x"] + inside["width"] - card["width"]
        assert inside["y"] <= card["y"] <= inside["y"] + inside["height"] - card["height"]


def settled(page, selector):
    """Waits until the element has not scrolled for some frames."""
    page.evaluate(
        """selector => new Promise(resolve => {
            const box = document.querySelector(selector);
            let at = NaN, still = 0;
            const look = () => {
                still = box.scrollTop === at ? still + 1 : 0;
                at = box.scrollTop;
                still < 6 ? requestAnimationFrame(look) : resolve();
            };
            look();
        })""",
        selector,
    )


@pytest.mark.whole
def test_the_active_card_and_the_strip_follow_the_clock(show, visit):
    trace = sines(120)
    viewer = show(trace)
    strip = viewer.locator(".mg-strip-of")
    assert (
        strip.is_visible() and strip.locator(".mg-strip-break").get_attribute("d").count("M") > 10
    )
    graph = viewer.locator(".mg-graph")
    last = len(trace["steps"])
    seen = []
    for k in (0, last // 4, last // 2, last):
        to(viewer, k)
        visit.page.wait_for_function("""() => {
                const written = document.querySelector(".mg-node.mg-write");
                if (!written) return true;
                const box = document.querySelector(".mg-graph").getBoundingClientRect();
                const card = written.querySelector(".mg-card").getBoundingClientRect();
                return card.top >= box.top && card.bottom <= box.bottom;
            }""")
        settled(visit.page, ".mg-graph")
        seen.append(strip.evaluate("e => parseFloat(e.style.backgroundPositionX)"))
    assert seen[0] < seen[1] < seen[2] and seen[3] < seen[2], (
        "forward, and back at the end: the part that is seen moves on the strip"
    )
    before = graph.evaluate("e => e.scrollTop")
    strip.scroll_into_view_if_needed()
    box = strip.bounding_box()
    visit.page.mouse.click(box["x"] + 0.95 * box["width"], box["y"] + box["height"] / 2)
    assert graph.evaluate("e => e.scrollTop") > before + 500, "a press on the strip brings its line"


@pytest.mark.parametrize("lines", [True, False])
def test_a_scrolled_graph_is_not_laid_out_again(show, visit, lines):
    """Its strip shows the part that is seen, which moves with each scroll event."""
    viewer = show(sines(120))
    if not lines:
        viewer.get_by_label("View", exact=True).click()
        viewer.get_by_label("Long graphs in lines").click()
    strip, since = viewer.locator(".mg-strip-of"), layouts_of(visit.page)
    where = "e => getComputedStyle(e).backgroundPosition + getComputedStyle(e).backgroundSize"
    before = strip.evaluate(where)
    since()
    viewer.locator(".mg-graph").evaluate("""async (box) => {
        for (let k = 0; k < 20; k++) {
            box.scrollBy(40, 40);
            await new Promise(requestAnimationFrame);
        } }""")
    assert since() == 0 and strip.is_visible() and strip.evaluate(where) != before


def test_a_wire_between_lines_is_lit_in_both_directions_and_carries_its_label(show, visit):
    trace = sines(40)
    viewer = show(trace)
    ends = None
    for k, step in enumerate(trace["steps"], 1):
        if step["phase"] != "adjoint" or not step.get("edges"):
            continue
        to(viewer, k)
        wire = viewer.locator(".mg-edge.mg-lit .mg-wire").first.get_attribute("d")
        if "Q" in wire:
            ends = wire
            break
    assert ends is not None, "some wire goes round the end of a line"
    label, box = (
        viewer.locator(".mg-label rect").bounding_box(),
        viewer.locator(".mg-graph").bounding_box(),
    )
    assert label["x"] >= box["x"] and label["x"] + label["width"] <= box["x"] + box["width"], (
        "the label is not cut off"
    )
    tip = viewer.locator(".mg-edge.mg-lit .mg-tip").get_attribute("d")
    assert "l10 -4.5" in tip, "an adjoint's arrow points back"


@pytest.mark.whole
def test_another_width_breaks_other_lines_and_keeps_step_and_focus(show, visit):
    viewer = show(sines(40))
    to(viewer, 30)
    viewer.locator(".mg-node").nth(3).focus()
    wide = len({round(box[1]) for box in cards(viewer)})
    visit.page.set_viewport_size({"width": 500, "height": 900})
    tops = (
        "new Set([...document.querySelectorAll('.mg-node .mg-card')].map(e =>"
        " Math.round(e.getBoundingClientRect().top)))"
    )
    visit.page.wait_for_function(f"before => {tops}.size > before", arg=wide)
    assert viewer.locator(".mg-counter").inner_text().startswith("30 /")
    assert viewer.locator(".mg-node.mg-write").count() == 1, "the step is drawn again"
    assert visit.page.evaluate("document.activeElement.dataset.node") == viewer.locator(
        ".mg-node"
    ).nth(3).get_attribute("data-node")


def test_the_arrow_keys_walk_along_the_lines_and_between_them(show, visit):
    viewer = show(sines(40))
    first = viewer.locator(".mg-node").first
    first.focus()
    node = lambda: visit.page.evaluate("document.activeElement.dataset.node")
    for _ in range(8):
        visit.page.keyboard.press("ArrowRight")
    assert node() == "v8", "to the right, and on in the next line"
    visit.page.keyboard.press("ArrowDown")
    at, below = viewer.evaluate(
        """(root) => ["[data-node='v8']", ":focus"].map((which) => {
            const { x, y, height } = root.querySelector(`.mg-node${which}`).getBoundingClientRect();
            return { x, y, height };
        })"""
    )  # together: the graph is still scrolling
    assert below["y"] > at["y"] + at["height"] / 2 and abs(below["x"] - at["x"]) < 60
    visit.page.keyboard.press("ArrowUp")
    assert node() == "v8"


def test_a_short_graph_stays_in_one_piece_on_a_small_screen(show):
    for width in (320, 700):
        boxes = cards(show(all_samples()["seed"], width, height=800))
        assert len({round(box[0]) for box in boxes}) == 4, "its columns stand beside one another"


def test_long_graphs_can_be_shown_in_one_line(show, visit):
    viewer = show(sines(40))
    tops = lambda: {round(box[1]) for box in cards(viewer)}
    assert len(tops()) > 4
    to(viewer, 20)
    viewer.get_by_label("View", exact=True).click()
    viewer.get_by_role("checkbox", name="Long graphs in lines").uncheck()
    assert len(tops()) == 1 and viewer.locator(".mg-node.mg-write").count() == 1
    viewer.get_by_role("checkbox", name="Long graphs in lines").check()
    assert len(tops()) > 4


def test_all_rounds_of_a_loop_stand_in_lines_though_a_wire_crosses_them(show):
    """The wire of x sinks below each round, so that one line of all was 441 units high and stayed
    one line (November 2026)."""
    trace = trace_function(half_sines(50), 0.7, mode="reverse")
    viewer = show(trace, 1280, 800, step=2 * len(trace["steps"]) // 3)
    viewer.get_by_role("button", name="Open all").click()
    graph = viewer.locator(".mg-graph")
    assert graph.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    place, written = graph.bounding_box(), viewer.locator(".mg-node.mg-write").bounding_box()
    seen = [b for b in cards(viewer) if place["y"] <= b[1] and b[3] <= place["y"] + place["height"]]
    assert len(cards(viewer)) > 140 and len({round(box[1]) for box in seen}) >= 2
    assert place["y"] <= written["y"] < place["y"] + place["height"] - written["height"]


LINES_SEEN = """(root) => {
    const graph = root.querySelector(".mg-graph"), { top } = graph.getBoundingClientRect(),
        boxes = [...root.querySelectorAll(".mg-card:not(.mg-pile)")]
            .map((card) => card.getBoundingClientRect())
            .filter((box) => box.bottom > top + 1 && box.top < top + graph.clientHeight - 1),
        above = boxes.filter((box) => box.top < top - 1).length,
        whole = boxes.filter((box) => box.top >= top - 1 &&
            box.bottom <= top + graph.clientHeight + 1);
    return [above, whole.length];
}"""


@pytest.mark.parametrize(("size", "least"), [((1280, 800), 4), ((1440, 900), 6)])
def test_whole_lines_are_seen_from_the_upper_edge_on(show, visit, size, least):
    """In the second window a line and a half were seen, and in both cards were cut at the upper
    edge of the graph (November 2026). least: whole cards."""
    visit.page.emulate_media(reduced_motion="reduce")
    trace = trace_function(half_sines(50), 0.7, mode="reverse")
    viewer = show(trace, *size)
    steps = range(0, len(trace["steps"]) + 1, 13)
    seen = at_each(viewer, steps, LINES_SEEN)
    assert [k for k, (above, whole) in zip(steps, seen, strict=True) if above] == []
    assert min(whole for _, whole in seen[1:]) >= least
    visit.page.emulate_media(reduced_motion="no-preference")


@pytest.mark.whole
def test_groups_that_are_all_opened_stand_in_lines_too(show, visit):
    viewer = show(sines(200))
    assert viewer.locator(".mg-node").count() < 30
    viewer.get_by_role("button", name="Open all").click()
    boxes = cards(viewer)
    assert len(boxes) == 200 and len({round(box[1]) for box in boxes}) > 20
    place = viewer.locator(".mg-graph").bounding_box()
    assert all(box[0] >= place["x"] and box[2] <= place["x"] + place["width"] for box in boxes)


@pytest.mark.whole
def test_the_backward_graph_of_the_algorithm_stands_in_lines_and_the_active_row_stays_in_sight(
    show, visit
):
    trace = sines(40)
    viewer = show(trace, views=["algorithm"])
    to(viewer, len(trace["steps"]) - 1)
    boxes = viewer.locator(".mg-bnode .mg-card").evaluate_all(
        "all => all.map(e => Math.round(e.getBoundingClientRect().top))"
    )
    assert len(boxes) == 40 and len(set(boxes)) > 2
    place = viewer.locator(".mg-held-by").bounding_box()
    row = viewer.locator(".mg-dictionary .mg-active").bounding_box()
    assert (
        place["height"] <= 331
        and place["y"] <= row["y"]
        and row["y"] + row["height"] <= place["y"] + place["height"] + 1
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_overview_in_place_of_a_graph_follows_the_scheme(visit, tmp_path, scheme):
    page, path = visit.page, tmp_path / "overview.html"
    path.write_text(overview_page(sines(12), None), encoding="utf-8")
    page.emulate_media(color_scheme=scheme)
    page.goto(path.as_uri())
    ink = page.evaluate("getComputedStyle(document.body).color")
    assert ink == {"light": "rgb(0, 0, 0)", "dark": "rgb(255, 255, 255)"}[scheme]
    high = page.locator("caption").evaluate_all("all => all.map(e => e.offsetHeight)")
    assert max(high) < 30, "a heading takes one line"
    visit.assert_clean()


def test_a_graph_that_is_seen_whole_stands_in_the_lines_in_which_it_is_largest(show):
    """It kept the lines that scroll, and 100 operations had a tenth of their size (November
    2026)."""
    viewer = show(sines(100), 1280, 800)
    fit, graph = viewer.get_by_role("button", name="Fit to window"), viewer.locator(".mg-graph")
    scale = """(root) => {
        const svg = root.querySelector(".mg-svg");
        return svg.clientWidth / svg.viewBox.baseVal.width;
    }"""
    cut = "e => e.scrollHeight > e.clientHeight || e.scrollWidth > e.clientWidth"
    lines = lambda: re.findall(r"M\S+", viewer.locator(".mg-strip-break").get_attribute("d"))
    before, read = lines(), viewer.evaluate(scale)
    fit.click()
    whole = viewer.evaluate(scale)
    assert not graph.evaluate(cut) and whole > 0.3 and lines() != before
    viewer.page.keyboard.press("ArrowRight")
    assert viewer.evaluate(scale) == whole and viewer.locator(".mg-write").count()
    fit.click()
    assert viewer.evaluate(scale) == pytest.approx(read, abs=0.01)
    assert lines() == before
    viewer.page.keyboard.press("0")
    assert viewer.evaluate(scale) == pytest.approx(whole, abs=0.01), "by its key, too"
    viewer.page.keyboard.press("f")
    viewer.page.wait_for_function("() => document.querySelector('.mg-stage .mg-svg')")
    viewer.page.wait_for_timeout(300)
    stage = viewer.evaluate(scale)
    viewer.page.keyboard.press("+")
    viewer.page.keyboard.press("0")
    assert not graph.evaluate(cut), "all of it, on the stage too"
    viewer.page.keyboard.press("0")
    assert viewer.evaluate(scale) == pytest.approx(stage, abs=0.01)
    viewer.page.keyboard.press("f")
    viewer.page.wait_for_function("() => !document.fullscreenElement")


@pytest.mark.whole
def test_the_whole_of_a_graph_in_lines_can_be_seen_at_once(show, visit):
    viewer = show(sines(100))
    graph, strip = viewer.locator(".mg-graph"), viewer.locator(".mg-strip-of")
    before = viewer.locator(".mg-svg").bounding_box()["width"]
    assert graph.evaluate("e => e.scrollHeight > e.clientHeight") and strip.is_visible()
    fit = viewer.get_by_role("button", name="Fit to window")
    fit.click()
    assert (
        not graph.evaluate("e => e.scrollHeight > e.clientHeight || e.scrollWidth > e.clientWidth")
        and not strip.is_visible()
    )
    fit.click()
    assert viewer.locator(".mg-svg").bounding_box()["width"] == pytest.approx(before, abs=2), (
        "and back to what can be read"
    )


def test_a_step_that_follows_at_once_is_shown_at_once(show, visit):
    """With a clock of the test's own, since a browser under load draws no frame for long."""
    viewer = show(TRACES["sines"]())
    behaviours = """async (pause) => {
      const found = [], scrollTo = Element.prototype.scrollTo, { now } = performance;
      let time = performance.now() + 1000;
      performance.now = () => time;
      Element.prototype.scrollTo = function (to) {
        found.push(to.behavior);
        scrollTo.call(this, { ...to, behavior: "instant" });
      };
      for (let i = 0; i < 40; i++) {
        document.querySelector(".mg-btn-next").click();
        await new Promise(requestAnimationFrame);
        time += pause;
      }
      Object.assign(Element.prototype, { scrollTo });
      performance.now = now;
      return found;
    }"""
    first, *rest = visit.page.evaluate(behaviours, 40)
    assert len(rest) > 1 and set(rest) == {"instant"}, [first, *rest]
    lit = "document.querySelector('.mg-lit .mg-wire').getAnimations()[0].effect"
    to(viewer, 90)
    delay = visit.page.evaluate(f"{lit}.getTiming().delay")
    assert delay >= 100, "dashes do not move while steps follow one another"
    to(viewer, 0)
    moves = visit.page.evaluate(behaviours, 260)
    assert len(moves) > 2 and set(moves) == {"smooth"}, moves


READ_AND_TOLD = """(root) => {
    const area = root.querySelector(".mg-graph"), box = area.getBoundingClientRect();
    const inside = (e) => { const r = e.getBoundingClientRect();
        return r.left >= box.left - 12 && r.right <= box.left + area.clientWidth + 12
            && r.top >= box.top - 12 && r.bottom <= box.top + area.clientHeight + 12; };
    const card = (node) => node.querySelector(".mg-card:not(.mg-pile)");
    const hidden = [...root.querySelectorAll(".mg-node.mg-read")].filter(n => !inside(card(n)));
    const told = [...root.querySelectorAll(".mg-unseen")];
    const written = ".mg-node :is(text, .mg-mark, .mg-heat), .mg-shape, .mg-label rect";
    const rects = [...root.querySelectorAll(`.mg-graph :is(${written})`)].map(e =>
        [e.getBoundingClientRect(), e.parentNode]);
    const covers = (one) => { const a = one.querySelector("rect").getBoundingClientRect();
        return rects.some(([b, of]) => of !== one && b.width && a.left < b.right && b.left < a.right
            && a.top < b.bottom && b.top < a.bottom); };
    return [hidden.length, told.filter(inside).length, told.map(e => e.textContent),
        told.filter(covers).length];
}"""


def unrolled(x):
    y = x
    for i in range(12):
        y = mg.sin(y) * x if i % 2 else mg.tanh(y) + x
    return y


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_what_a_step_reads_outside_of_the_window_is_told_at_the_end_of_its_edge(show, visit, size):
    """Of x̄ += v̄90 the graph showed neither v90 nor its adjoint (November 2026)."""
    visit.page.emulate_media(reduced_motion="reduce")  # no scrolling is under way
    trace = trace_function(half_sines(50), 0.7)
    wanted = [
        k
        for k, step in enumerate(trace["steps"], 1)
        if step["phase"] == "accumulate" and ["v90", "g"] in step["reads"]
    ]
    viewer = show(trace, *size)
    hidden, seen, told, covering = at_each(viewer, wanted, READ_AND_TOLD)[0]
    assert hidden == seen == 1 and told == ["v\u030490 = 1.112e−14"] and not covering
    viewer = show(trace_function(unrolled, 0.7), *size)
    count = len(trace_function(unrolled, 0.7)["steps"])
    found = at_each(viewer, range(count + 1), READ_AND_TOLD)
    assert any(hidden for hidden, *_ in found)
    wrong = [(k, one) for k, one in enumerate(found) if not one[0] <= one[1] == len(one[2])]
    assert not wrong, wrong


def perceptron(x, w, b, u):
    return (mg.tanh(x @ w + b) @ u).sum()


@pytest.mark.parametrize("stage", [False, True], ids=["page", "stage"])
@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_the_value_of_a_node_outside_of_the_window_covers_nothing_that_is_written(
    show, visit, size, stage
):
    """It hid a card's value or title, and other numbers, on a phone (November 2026)."""
    visit.page.emulate_media(reduced_motion="reduce")
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in ((4, 3), (3, 5), (5,), (5, 2))]
    traces = trace_function(unrolled, 0.7), trace_function(perceptron, *arrays)
    told = 0
    for trace in traces:
        viewer = show(trace, *size)
        if stage:
            viewer.press("f")
            viewer.page.wait_for_timeout(300)
        found = at_each(viewer, range(len(trace["steps"]) + 1), READ_AND_TOLD)
        if stage:
            viewer.press("f")  # the next test has another window
        told += sum(len(one[2]) for one in found)
        wrong = [(k, one) for k, one in enumerate(found) if one[3]]
        assert not wrong, wrong
    assert told
