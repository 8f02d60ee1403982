"""The curve of a step's operation, its tangent, and the point that can be dragged."""

import math
import re

import pytest

import minigrad as mg
from minigrad import viz
from minigrad.watch.trace import trace_function
from tests.browser.conftest import step_at, step_of

pytestmark = pytest.mark.browser


def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


def points_of(path):
    found = re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path.get_attribute("d"))
    return [(float(x), float(y)) for x, y in found]


def test_a_step_shows_the_curve_of_its_operation_and_the_tangent_at_the_point(show):
    trace = trace_function(f, 2.0, 5.0)
    viewer = show(trace, 1280, 800, step=step_at(trace, "adjoint", "x2"))
    curve = viewer.locator(".mg-now > .mg-curve")
    said = curve.locator("svg").get_attribute("aria-label")
    assert said == "Curve of v4: at 5 its value is −0.9589 and its slope 0.2837."
    points = points_of(curve.locator(".mg-curve-line"))
    place = lambda name: float(curve.locator(".mg-curve-point").get_attribute(name))
    x, y = place("cx"), place("cy")
    below = max((p for p in points if p[0] <= x), key=lambda p: p[0])
    assert abs(below[1] - y) < 3, "the point lies on the curve"
    ends = [
        float(curve.locator(".mg-curve-tangent").get_attribute(n)) for n in ("x1", "y1", "x2", "y2")
    ]
    pixels = (ends[3] - ends[1]) / (ends[2] - ends[0])
    top, bottom = min(p[1] for p in points), max(p[1] for p in points)
    unit = (bottom - top) / 2 / (120 / 12)  # of sin, as wide as one of x
    assert -pixels / unit == pytest.approx(math.cos(5.0), rel=0.05)


def test_straight_lines_and_operations_of_two_numbers_have_no_curve(show, visit):
    trace = trace_function(f, 2.0, 5.0)
    viewer = show(trace, 1280, 800)
    page, curve = visit.page, viewer.locator(".mg-curve")
    viewer.focus()
    with_curve = set()
    for step in trace["steps"]:
        page.keyboard.press("ArrowRight")
        if curve.is_visible():
            edge = next(e for e in trace["edges"] if e["id"] == step["edges"][0])
            with_curve.add(edge["dst"])
    ops = {node["id"]: node.get("op") for node in trace["nodes"]}
    assert sorted(ops[one] for one in with_curve) == ["log", "sin"]
    linear = trace_function(lambda x: 3 * x - x, 2.0)
    assert show(linear, 1280, 800, step=2).locator(".mg-curve").is_hidden()


def test_on_a_phone_the_curve_stands_beside_the_formula_and_can_be_made_small(show):
    trace = trace_function(lambda x: mg.sin(x) * mg.exp(x), 0.5)
    viewer = show(trace, 390, 844, step=step_at(trace, "primal", "v1"))
    curve, formula = viewer.locator(".mg-curve"), viewer.locator(".mg-formula")
    box, beside = curve.bounding_box(), formula.bounding_box()
    assert 60 < box["width"] < 100 and beside["x"] + beside["width"] <= box["x"]
    panel = viewer.locator(".mg-now").bounding_box()
    assert box["y"] + box["height"] <= panel["y"] + panel["height"]
    curve.click()
    assert curve.get_attribute("aria-expanded") == "false"
    assert curve.bounding_box()["width"] < 50 and viewer.locator(".mg-now").bounding_box() == panel
    curve.focus()
    viewer.page.keyboard.press("Enter")
    assert curve.bounding_box() == box


def test_the_point_of_an_input_is_dragged_and_everything_follows(visit, tmp_path):
    sliders = viz.sliders(lambda x: mg.sin(x) * 2, x=(0.0, 6.0, 3.0), points=25, live=False)
    page, path = visit.page, tmp_path / "grid.html"
    path.write_text(f"<!DOCTYPE html><body>{sliders._repr_html_()}", encoding="utf-8")
    page.goto(path.as_uri())
    frame = page.frame_locator("iframe.minigrad-frame")
    for _ in range(3):  # the value of x, its tangent, the sine
        frame.locator(".mg-root .mg-btn-next").click()
    box = frame.locator(".mg-curve-moves").bounding_box()
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, height)
    page.mouse.down()
    for share in (0.45, 0.4, 0.35):  # of a window from -0.6 to 6.6: -0.6 + 0.35 · 7.2 = 1.92
        page.mouse.move(box["x"] + share * box["width"], height)
    page.mouse.up()
    assert frame.locator(".mg-slid").inner_text() == "1.92"
    assert f"{math.sin(1.92):.4g}" in frame.locator(".mg-node[data-node='v1']").text_content()
    page.mouse.move(box["x"] + 5, height)
    assert frame.locator(".mg-slid").inner_text() == "1.92", "the drag is over"
    visit.assert_clean()


NOTES = {
    "an array": (lambda x: (x * mg.ones(3)).sum(), "this function computes with arrays"),
    "a branch": (lambda x: mg.sin(x) if x > 0 else x * x, "gives the steps of all of them"),
    "a formula": (lambda x: mg.sin(x), None),
}


@pytest.mark.parametrize("name", NOTES)
def test_sliders_over_recorded_runs_say_that_they_are_and_why(visit, tmp_path, name):
    function, said = NOTES[name]
    path = viz.sliders(function, x=(-1.0, 1.0), points=5, live=False).save(tmp_path / "grid.html")
    visit.page.goto(path.as_uri())
    note = visit.page.locator(".mg-slides > .mg-strip > .mg-note")
    assert visit.page.locator(".mg-slid").count() == 1
    visit.page.keyboard.press("ArrowRight")
    assert step_of(visit.page) == 1, "the first key goes to the stepper below the sliders"
    if said is None:
        assert note.count() == 0
    else:
        text = note.inner_text()
        assert text.startswith("The sliders choose among 5 recorded runs: ") and said in text
    visit.assert_clean()
