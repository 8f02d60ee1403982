"""The number on a wire (its local derivative), and the shape beside one, stand where stills put
them, whose places tests/viz/test_labels.py proves. In lines, which are as long as the page is wide,
a number hides neither a wire nor its arrow, no card and no other number.
"""

import html
import re

import pytest
from minigrad.viz.layout import with_layout
from minigrad.viz.shape_labels import LETTER, shape_labels

import minigrad as mg
from minigrad import viz
from minigrad.watch import trace_function
from tests.browser.conftest import at_each
from tests.helpers.trace_samples import all_samples

pytestmark = [pytest.mark.browser, pytest.mark.whole]


def sines(x):
    for i in range(19):
        x = mg.sin(x) if i % 2 else x + x
    return x


TRACES = {
    "seed": lambda: all_samples()["seed"],
    "beside": lambda: trace_function(lambda x: (x * 3.0) * -0.12345678, 2.0, source=""),
    "long numbers": lambda: trace_function(lambda x: (x * -1.2345678e-7) * x, 2.0, source=""),
    "matrices": lambda: trace_function(
        lambda x, w: (x @ w).tanh().sum(),
        [[0.5, -1.25, 2.5], [1.5, 0.25, -0.75]],
        [[0.123, -0.456], [0.789, 1.234], [-2.345, 3.456]],
    ),
}

# For each lit wire: the share of it that no number covers. And how many numbers meet a card, an
# arrow's point, another number, the edge.
MEASURE = """() => {
    const box = e => (b => [b.x, b.y, b.x + b.width, b.y + b.height])(e.getBBox());
    const all = selector => [...document.querySelectorAll(selector)].map(box);
    const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
    const pills = all(".mg-label rect"), view = document.querySelector(".mg-svg").viewBox.baseVal;
    const seen = [...document.querySelectorAll(".mg-edge.mg-lit .mg-wire")].map(wire => {
        const points = Array.from({ length: 41 },
            (_, i) => wire.getPointAtLength(wire.getTotalLength() * i / 40));
        return points.filter(p =>
            !pills.some(b => meet([p.x - 1, p.y - 1, p.x + 1, p.y + 1], b))).length / 41;
    });
    const hits = others => pills.filter(pill =>
        others.some(other => other !== pill && meet(pill, other))).length;
    const outside = pills.filter(b => b[0] < 0 || b[1] < 0
        || b[2] > view.width || b[3] > view.height).length;
    const hit = [all(".mg-node > .mg-card"), all(".mg-edge.mg-lit .mg-tip"), pills].map(hits);
    return { pills: pills.length, seen, hits: [...hit, outside] };
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_in_lines_no_number_hides_its_wire_or_anything_else(show, width):
    trace = trace_function(sines, 0.7, source="")
    viewer = show(trace, width)
    steps = [
        k
        for k, step in enumerate(trace["steps"], 1)
        if any("local" in part for part in step.get("contribs") or [])
    ]
    steps = steps[:: max(1, len(steps) // 8)]
    for k, found in zip(steps, at_each(viewer, steps, MEASURE), strict=True):
        assert found["pills"] and found["seen"], f"step {k}"
        assert min(found["seen"]) > 0.25, f"step {k}: a number covers most of a wire"
        assert found["hits"] == [
            0,
            0,
            0,
            0,
        ], f"step {k}: numbers that meet: cards, points of arrows, numbers, the edge of the picture"


def wide(viewer):
    """The viewer as wide as the window: no column moves closer to another."""
    wider = "for (let e = root; e; e = e.parentElement) e.style.setProperty('max-width', 'none')"
    viewer.evaluate(f"root => {{ {wider}; }}")
    viewer.page.wait_for_timeout(100)  # the viewer follows its width
    return viewer


@pytest.mark.parametrize("name", TRACES)
def test_stills_put_the_numbers_where_the_page_does(show, name):
    trace = TRACES[name]()
    viewer = wide(show(trace, 2600))
    steps = [
        k
        for k, step in enumerate(trace["steps"], 1)
        if any("local" in part for part in step.get("contribs") or [])
    ]
    compared = 0
    steps = steps[:: max(1, len(steps) // 6)]
    labels = """root => [...root.querySelectorAll(".mg-label")].map(label => [label.textContent,
        ...["x", "y", "width", "height"].map(
        name => +label.querySelector("rect").getAttribute(name))])"""
    for k, seen in zip(steps, at_each(viewer, steps, labels), strict=True):
        svg = viz.to_svg(trace, k)
        found = re.findall(
            r'<rect x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)" rx="[^"]+"'
            r' class="frame-[vdg]"/><text[^>]*>([^<]*)<',
            svg,
        )
        drawn = [[html.unescape(text), *map(float, box)] for *box, text in found]
        assert [text for text, *_ in drawn] == [text for text, *_ in seen]
        for (_, *ours), (_, *theirs) in zip(drawn, seen, strict=True):
            assert ours == pytest.approx(theirs, abs=0.2), f"step {k}"
            compared += 1
    assert compared


SHAPED = {
    "a few": lambda x, b: (x * x + x * b + mg.exp(x) + b).sum(),
    "long": lambda x, b: (mg.reshape(b, (1, 1, 3)) + mg.reshape(x, (2, 1, 3))).sum(),
    "many": lambda x, b: mg.stack([x * b, x + b, x - b, x * x, x / b, b * x, b - x]).sum(),
}


@pytest.mark.parametrize("f", SHAPED.values(), ids=SHAPED)
def test_stills_put_the_shapes_where_the_page_does(show, visit, f):
    page, trace = (
        visit.page,
        trace_function(f, mg.ones(2, 3), mg.ones(3), mode="reverse", source="", names=["x", "b"]),
    )
    wide(show(trace, 2600))
    whole = "w => Math.abs(document.querySelector('.mg-svg').viewBox.baseVal.width - w) < 0.5"
    page.wait_for_function(whole, arg=with_layout(trace)["layout"]["width"], timeout=9000)
    assert not page.locator(".mg-inlines").count(), "lines would be as long as the page is wide"
    attributes = (
        "e => [e.textContent, ...['x', 'y', 'textLength'].map(name => +e.getAttribute(name))]"
    )
    places = f"() => [...document.querySelectorAll('.mg-shape')].map({attributes})"
    seen = [
        (text, pytest.approx((x, y, length), abs=0.5))
        for text, x, y, length in page.evaluate(places)
    ]
    notes = shape_labels(with_layout(trace))
    squeezed = lambda note: round(note.space) if note.space < LETTER * len(note.drawn) else 0
    assert [(note.drawn, (note.x, note.y, squeezed(note))) for note in notes] == seen
    letters = [length / len(text) for text, *_, length in page.evaluate(places) if length]
    assert len(seen) > 3 and min(letters, default=LETTER) > 0.5 * LETTER, "they can be read"
