"""The picture of one training step: each parameter before and after, in one graph."""

import pytest

import minigrad as mg
from minigrad import nn, optim
from minigrad.watch import trace_training_step
from tests.browser.conftest import at_each, to

pytestmark = pytest.mark.browser


def stepped(kind=optim.SGD):
    w, b = (mg.tensor(v, dtype=mg.float64, requires_grad=True) for v in (2.0, 0.5))
    return trace_training_step(lambda x, y: (w * x + b - y) ** 2, kind([w, b], lr=0.1), 1.5, 1.0)


def rows(viewer, node):
    return viewer.locator(f".mg-graph [data-node='{node}'] .mg-value").all_text_contents()


def test_value_adjoint_and_new_value_stand_in_one_picture(show, visit, axe):
    trace = stepped()
    viewer = show(trace)
    last = len(trace["steps"])
    assert at_each(viewer, range(last + 1), "root => root.dataset.phase")[-1] == "update"
    to(viewer, last)
    assert rows(viewer, "w") == ["2", "7.5"] and rows(viewer, "w′")[0] == "1.25"
    assert rows(viewer, "b′")[0] == "0"
    # what the rule reads is marked: the parameter and its adjoint
    assert "mg-read" in viewer.locator(".mg-graph .mg-node[data-node='b']").get_attribute("class")
    assert "b from 0.5 to" in viewer.locator(".mg-say").inner_text()
    axe(visit.page, "html")
    visit.assert_clean()


def test_the_step_is_told_in_chinese(show):
    trace = stepped()
    viewer = show(trace, lang="zh")
    to(viewer, len(trace["steps"]))
    assert "更新为" in viewer.locator(".mg-say").inner_text()


def test_variables_of_more_than_one_sign_are_italic_as_the_others_are(show):
    trace = stepped(optim.Adam)
    viewer = show(trace)
    to(viewer, len(trace["steps"]))
    styles = """root => Object.fromEntries([...root.querySelectorAll("mi")].map(
        (one) => [one.textContent, getComputedStyle(one).fontStyle]))"""
    found = viewer.evaluate(styles)
    assert {"w′", "b′", "m̂", "v̂"} <= {one for one, style in found.items() if style == "italic"}
    # MathML slants a single letter by another glyph, and no name of a function
    assert found["m"] == found["Δ(Adam)"] == "normal"


@pytest.mark.parametrize("kind, times", [(optim.SGD, 1), (optim.Adam, 2)])
def test_a_minus_with_which_a_line_begins_stands_between_its_neighbours(show, kind, times):
    """The formula of an update breaks before its minus, which is no sign; Adam's breaks again."""
    trace = stepped(kind)
    viewer = show(trace)
    to(viewer, len(trace["steps"]))
    minus = viewer.locator(".mg-formula .mg-long mo", has_text="−")
    assert minus.evaluate_all("all => all.map((e) => e.getAttribute('form'))") == times * ["infix"]


def test_no_sign_of_what_the_optimiser_keeps_touches_the_edge_of_its_mark(show):
    trace = stepped(optim.Adam)
    viewer = show(trace, 1280, 800)
    to(viewer, len(trace["steps"]))
    look = """all => all.map(e => {
        const [mark, formula] = [e, e.querySelector("mfrac") ?? e].map((one) =>
            one.getBoundingClientRect());
        return [formula.top - mark.top, mark.bottom - formula.bottom];
    })"""
    found = viewer.locator(".mg-sum:has(mfrac)").evaluate_all(look)
    assert len(found) == 2 and all(min(above, below) > 2 for above, below in found), found


def test_an_update_shows_what_the_optimiser_keeps(show, visit, axe):
    w, b = (mg.tensor(v, dtype=mg.float64, requires_grad=True) for v in (2.0, 0.5))
    adam = optim.Adam([w, b], lr=0.1)
    for _ in range(2):
        trace = trace_training_step(lambda x, y: (w * x + b - y) ** 2, adam, 1.5, 1.0)
    for width in (1280, 390):
        viewer = show(trace, width)
        to(viewer, len(trace["steps"]))
        shown = viewer.locator(".mg-sum").all_text_contents()
        assert [one.split("=")[0] for one in shown] == ["m", "m\u0302", "v", "v\u0302"]
        assert "0.9·" in shown[0] and "b¯=" in shown[0]
        axe(visit.page, "html")
    visit.assert_clean()


def test_a_step_of_a_network_is_no_higher_than_the_window(show, visit):
    """Graph, source and table scroll inside themselves, at the update too."""
    mg.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))
    x, labels = mg.tensor([[0.5, 1.0], [1.0, -1.0], [0.0, 2.0]]), mg.tensor([0, 1, 1])
    for optimiser in (optim.SGD(model.parameters(), lr=0.5), optim.Adam(model.parameters())):
        trace = trace_training_step(
            lambda a, b: nn.functional.cross_entropy(model(a), b), optimiser, x, labels
        )
        for width, height in ((1280, 800), (1280, 720), (878, 715)):
            viewer = show(trace, width, height)
            to(viewer, len(trace["steps"]))
            high = visit.page.evaluate("document.documentElement.scrollHeight - innerHeight")
            assert high <= 0, (width, height)
