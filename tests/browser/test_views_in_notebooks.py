"""Every view as a live widget, in JupyterLab and in Notebook 7: one notebook shows them all; each
is stepped, scrubbed, opened, answered.

The kernel takes part where it should: it reads the answers, traces again when an input is dragged,
and moves the clock.
"""

import json

import pytest

pytestmark = pytest.mark.browser

pytest.importorskip("anywidget", reason='pip install "minigrad[viz]"')

CELLS = {
    "all": (
        """
import copy
import minigrad as mg
from minigrad import viz
from minigrad.watch import trace_function
def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)
stepper = viz.show(f, 2.0, 5.0, views=["story", "algorithm", "orders", "cut", "memory"])
stepper"""
    ),
    "predict": (
        """
asked = viz.show(f, 2.0, 5.0, mode="reverse", views=["predict"])
asked"""
    ),
    "groups": (
        """
class Block(mg.nn.Module):
    def __init__(self):
        self.linear = mg.nn.Linear(3, 3)
    def forward(self, x):
        return self.linear(x).tanh()
class Tower(mg.nn.Module):
    def __init__(self):
        self.blocks = mg.nn.ModuleList([Block() for _ in range(3)])
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
model = Tower()
grouped = viz.show(lambda x: model(x).square().sum(), [[0.5, -1.0, 2.0]],
    mode="reverse", views=["arrays", "memory"])
grouped"""
    ),
    "growing": (
        """
def slope(x):
    (g,) = mg.autograd.grad(mg.sin(x) * x, x, create_graph=True)
    return g
growing = viz.show(slope, 0.5)
growing"""
    ),
    "jacobian": (
        """
matrix = viz.jacobian(lambda a, b: (a * b, mg.sin(a)), 2.0, 3.0)
matrix"""
    ),
    "compare": (
        """
right = trace_function(f, 2.0, 5.0)
wrong = copy.deepcopy(right)
for step in wrong["steps"]:
    if step["phase"] == "accumulate":
        step["writes"][0][2] = step["contribs"][0]["product"]
viz.compare(right, wrong, names=("reference", "mine"))"""
    ),
    "sliders": (
        """
dragged = viz.sliders(f, x1=(0.5, 4, 2), x2=(0, 6, 5))
dragged"""
    ),
}
NUMBER = {name: i for i, name in enumerate(CELLS)}


class Notebook:
    """The notebook after all its cells ran."""

    def __init__(self, lab, page):
        self.lab, self.page = lab, page

    def viewer(self, name, which=0):
        """The viewer in a cell's output."""
        self.lab.scroll_to(self.page, NUMBER[name])
        found = self.page.locator(
            f".jp-Notebook .jp-Cell[data-windowed-list-index='{NUMBER[name]}']"
            " .jp-OutputArea-output section.mg-root"
        ).nth(which)
        found.wait_for()
        return found

    def ask(self, code):
        return self.lab.compute(self.page, code).strip()


# Long: one notebook is opened for all views.
def test_every_view_steps_in_the_notebook(lab, visit, axe):
    page = visit.page
    lab.write("views.ipynb", CELLS)
    lab.open(page, "views.ipynb")
    lab.run_all(page)
    notebook = Notebook(lab, page)

    # the clock, and five views that follow it
    viewer = notebook.viewer("all")
    last = int(viewer.locator(".mg-counter").inner_text().split("/")[1])
    viewer.focus()
    page.keyboard.press("ArrowRight")
    viewer.locator(".mg-counter").get_by_text(f"1 / {last}", exact=True).wait_for()
    page.keyboard.press("End")
    viewer.locator(".mg-counter").get_by_text(f"{last} / {last}", exact=True).wait_for()
    assert (
        viewer.locator("[data-view]").count() == 5
        and viewer.locator("[data-view='story'] li").count() == last
    )
    assert "as at every cut" in viewer.locator("[data-view='cut'] .mg-sumup").inner_text()
    assert (
        viewer.locator("[data-view='memory'] .mg-sumup")
        .inner_text()
        .startswith("Kept for the adjoints: 0 B")
    )
    viewer.locator(".mg-pick[data-node='v1']").click()
    assert "lacks a contribution" in viewer.locator("[data-view='orders'] .mg-sumup").inner_text()
    viewer.locator(".mg-bar .mg-slider").fill("18")  # scrubbed
    assert viewer.locator("[data-view='story'] li").count() == 18
    lab.wait_for(page, "print(stepper.step)", "18")
    assert notebook.ask("stepper.step = 5") == ""
    viewer.locator(".mg-counter").get_by_text("5 /").wait_for()

    # an answer reaches the kernel
    viewer = notebook.viewer("predict")
    viewer.get_by_role("button", name="Last").click()
    viewer.get_by_label("Your answer").fill("0.693")
    page.keyboard.press("Enter")
    viewer.get_by_label("Your answer").fill("11")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    answers = (
        "print([(a['step'], a['node'], a['column'], a['answer'], a['correct']) for a in"
        " asked.answers])"
    )
    lab.wait_for(page, answers, "[(2, 'v1', 'v', 0.693, True), (3, 'v2', 'v', 11, False)]")
    viewer.locator(".mg-score-of summary").click()
    with page.expect_download() as kept:
        viewer.get_by_role("link", name="Download the answers").click()
    assert kept.value.suggested_filename == "answers.json"
    assert [a["node"] for a in json.loads(kept.value.path().read_text())] == ["v1", "v2"]

    # groups open by mouse and by keyboard
    viewer = notebook.viewer("groups")
    labels = lambda: viewer.locator(".mg-group-name").all_text_contents()
    assert labels() == ["▸ blocks.0 … blocks.2"]
    viewer.locator(".mg-group").click()
    assert labels() == ["▸ blocks.0", "▸ blocks.1", "▸ blocks.2"]
    viewer.locator(".mg-group").nth(1).focus()
    page.keyboard.press("Enter")
    assert "▸ linear" in labels()
    viewer.get_by_role("button", name="▾ blocks.0 … blocks.2").click()
    assert labels() == ["▸ blocks.0 … blocks.2"]
    assert page.locator(".jp-Notebook .jp-Cell").count() <= len(CELLS)

    # the graph of a derivative grows
    viewer = notebook.viewer("growing")
    ghosts = viewer.locator(".mg-node.mg-unborn").count()
    viewer.get_by_role("button", name="Last").click()
    assert ghosts > 0 and viewer.locator(".mg-node.mg-unborn").count() == 0

    # the Jacobian
    viewer = notebook.viewer("jacobian")
    viewer.get_by_role("button", name="Last").click()
    assert [
        t.locator("td.mg-entry").all_inner_texts() for t in viewer.locator(".mg-jacobian").all()
    ] == [["3", "2", "−0.4161", "0"]] * 2

    # two Traces
    viewer = notebook.viewer("compare")
    parted = page.locator(".mg-strip .mg-parted dl > div")
    name, number = (parted.nth(1).locator(part).bounding_box() for part in ("dt", "dd"))
    assert name["y"] + name["height"] <= number["y"], "the name stands above its value"
    assert parted.nth(1).bounding_box()["width"] < 60, "no wider than its text"
    page.get_by_role("button", name="Go to the first difference").click()
    assert viewer.locator("td.mg-differs").inner_text() == "1.716 ≠ 2"

    # an input is dragged: the kernel traces again at once, and the reader stays at the same step
    viewer = notebook.viewer("sliders")
    viewer.get_by_role("button", name="Last").click()
    page.get_by_role("slider", name="x1").fill("4")
    cell = viewer.locator("tr[data-node='x1'] td[data-col='g']")
    cell.get_by_text("5.25", exact=True).wait_for()
    assert viewer.locator(".mg-counter").inner_text().startswith("23 /")
    assert notebook.ask("print(dragged.inputs['x1'], len(dragged.trace['steps']))") == "4 23"

    # what stands around a viewer in a notebook; the views themselves: test_views.py
    axe(page, f".jp-Cell[data-windowed-list-index='{NUMBER['sliders']}'] .jp-OutputArea-output")
    visit.assert_clean()


LARGE = """
import json
import minigrad as mg
from minigrad import viz
from minigrad.watch import trace_function
def chain(x):
    for i in range(999):
        x = mg.sin(x) if i % 2 else x + x
    return x
def small(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)
large = viz.show(chain, 0.7, mode="reverse", source="")
large"""


@pytest.mark.whole
def test_a_large_trace_comes_compressed_the_newest_one_is_shown_and_what_cannot_be_unpacked_is_said(
    lab, visit
):
    page = visit.page
    frames = []  # what the server sends to the page, in bytes
    lab.write("large.ipynb", [LARGE])
    watch = lambda socket: socket.on("framereceived", lambda data: frames.append(len(data)))
    page.on("websocket", watch)
    lab.open(page, "large.ipynb")
    page.remove_listener("websocket", watch)
    frames.clear()
    lab.run_all(page)
    viewer = page.locator(".jp-OutputArea-output section.mg-root")
    viewer.wait_for()
    last = int(viewer.locator(".mg-counter").inner_text().split("/")[1])
    text, sent = map(
        int, lab.compute(page, "print(len(json.dumps(large.trace)), len(large.packed))").split()
    )
    assert last > 2_000 and text > 1_500_000 and sent < text / 8
    assert sent < max(frames) < text / 3, (
        "no message holds the Trace as it is; the largest holds the page for readers without a"
        " kernel"
    )
    viewer.get_by_role("button", name="Last").click()
    viewer.locator(".mg-counter").get_by_text(f"{last} / {last}", exact=True).wait_for()
    newer = (
        "large.trace = trace_function(small, 2.0, 5.0); large.trace = trace_function(small, 1.0,"
        " 3.0)"
    )
    assert lab.compute(page, newer) == ""
    viewer.locator(".mg-counter").get_by_text("0 / 23", exact=True).wait_for()
    viewer.get_by_role("button", name="Last").click()
    assert viewer.locator("tr[data-node='x1'] td[data-col='g']").inner_text() == "4", (
        "1/x1 + x2 at the newer point"
    )
    visit.assert_clean()

    assert lab.compute(page, "large.set_trait('packed', b'no gzip')") == ""
    page.locator(".jp-OutputArea-output .mg-failed").get_by_role("alert").wait_for()
    assert lab.compute(page, "large.trace = trace_function(small, 2.0, 5.0)") == ""
    page.locator(".jp-OutputArea-output .mg-counter").get_by_text("0 / 23", exact=True).wait_for()
