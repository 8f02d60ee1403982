"""A network written as a plain function, in lines: no edge runs through a box or a shape, and each
parameter stands beside its use.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad.watch.trace import trace_function
from tests.helpers.trace_samples import all_samples


def two_layers(x, W1, b1, W2, b2):
    hidden = mg.tanh(x @ W1 + b1)
    return ((hidden @ W2 + b2) ** 2).mean()


def three_layers(x, W1, b1, W2, b2, W3, b3):
    hidden = mg.tanh(x @ W1 + b1)
    hidden = mg.relu(hidden @ W2 + b2) + hidden
    return ((hidden @ W3 + b3) ** 2).mean()


def traced(function, *shapes, mode="reverse"):
    draw = np.random.default_rng(0).normal
    return trace_function(function, *[mg.tensor(draw(size=shape)) for shape in shapes], mode=mode)


TRACES = {
    "two layers": lambda: traced(two_layers, (4, 3), (3, 5), (5,), (5, 1), (1,)),
    "three layers": lambda: traced(
        *(three_layers, (4, 3), (3, 5), (5,), (5, 5), (5,), (5, 2), (2,)), mode="primal"
    ),  # in lower cards, so that two lines are seen together
    "arrays": lambda: all_samples()["arrays"],
}

# Sampled points of each edge that lie inside a box (its ends aside) or inside a shape.
MET = """root => {
  const boxes = (of) => [...root.querySelectorAll(of)].map((e) => [e, e.getBoundingClientRect()]);
  const cards = boxes(".mg-node .mg-card"), shapes = boxes(".mg-shape"), found = [];
  const inside = (p, b, x, y) =>
      p.x > b.left + x && p.x < b.right - x && p.y > b.top + y && p.y < b.bottom - y;
  for (const wire of root.querySelectorAll(".mg-graph .mg-wire")) {
    const long = wire.getTotalLength(), to = wire.getScreenCTM();
    for (let at = 0; at <= long; at += 3) {
      const p = wire.getPointAtLength(at).matrixTransform(to);
      for (const [card, box] of at > 12 && at < long - 12 ? cards : [])
        if (inside(p, box, 2, 2)) found.push(card.closest("[data-node]").dataset.node);
      for (const [shape, box] of shapes)
        if (inside(p, box, 0, 1.5)) found.push(shape.textContent);
    }
  }
  return [[...new Set(found)], shapes.length, root.querySelectorAll(".mg-inlines").length];
}"""


@pytest.mark.parametrize(
    ("name", "width"),
    [
        *(("two layers", width) for width in (760, 1280)),
        *(("three layers", width) for width in (900, 1100)),
        ("arrays", 760),
    ],
)
def test_no_edge_crosses_a_box_or_a_shape(show, name, width):
    viewer = show(TRACES[name](), width, 2400)
    met, shapes, in_lines = viewer.evaluate(MET)
    assert met == [] and shapes >= 2
    assert in_lines or name == "arrays", "the networks are too wide for one line"


def test_a_shape_is_shortened_before_its_letters_become_too_narrow_to_be_read(show):
    x = np.round(np.linspace(-1.53, 2.03, 12), 2).reshape(3, 4)
    trace = trace_function(lambda x, b: ((x + b) ** 2).sum(), x, x[0])
    shapes = (
        show(trace, 1000, 700)
        .locator(".mg-shape")
        .evaluate_all(
            """all => all.map(e => [e.textContent,
            (e.textLength.baseVal.value || 1) / (e.removeAttribute("textLength"),
                e.getComputedTextLength() || 1)])"""
        )
    )
    assert [text for text, _ in shapes if "⇒" in text] == ["⇒ (3, 4)"], "what b becomes is whole"
    assert min(width for _, width in shapes) > 0.69


def test_parameters_of_a_plain_function_stand_beside_their_use(show):
    trace = TRACES["two layers"]()
    viewer = show(trace, 1440, 900)
    box = lambda node: viewer.locator(f".mg-node[data-node='{node}']").bounding_box()
    assert abs(box("b1")["x"] - box("v1")["x"]) < 120 < box("b1")["x"] - box("x")["x"]
    assert box("W2")["x"] > box("v2")["x"] and abs(box("W1")["x"] - box("x")["x"]) < 80
