"""What the reader did stays when a notebook redraws an output: a cell is moved, a notebook is
closed and opened again.
"""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.whole]

pytest.importorskip("anywidget", reason='pip install "minigrad[viz]"')

CELLS = {
    "stepper": (
        """
import minigrad as mg
from minigrad import viz
def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)
stepper = viz.show(f, 2.0, 5.0, views=["story"])
stepper"""
    ),
    "groups": (
        """
class Tower(mg.nn.Module):
    def __init__(self):
        self.blocks = mg.nn.ModuleList([mg.nn.Sequential(mg.nn.Linear(3, 3), mg.nn.Tanh())
            for _ in range(3)])
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
model = Tower()
grouped = viz.show(lambda x: model(x).square().sum(), [[0.5, -1.0, 2.0]], mode="reverse")
grouped"""
    ),
    "sliders": (
        """
dragged = viz.sliders(f, x1=(0.5, 4, 2), x2=(0, 6, 5))
dragged"""
    ),
    "frame": (
        """
from minigrad.watch import trace_function
viz.iframe(trace_function(f, 2.0, 5.0))"""
    ),
    **{f"space{i}": "print('\\n' * 40)" for i in range(6)},
}
NUMBER = {name: i for i, name in enumerate(CELLS)}


def viewer_of(lab, page, number):
    lab.scroll_to(page, number)
    found = page.locator(
        f".jp-Notebook .jp-Cell[data-windowed-list-index='{number}'] .jp-OutputArea-output"
        " section.mg-root"
    ).last
    found.wait_for()
    return found


def move_down(lab, page, number):
    """Moves a cell one place down, which redraws its output."""
    page.evaluate(
        """number => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.deselectAll();
            notebook.activeCellIndex = number;
            return window.jupyterapp.commands.execute("notebook:move-cell-down");
        }""",
        number,
    )


def arrange(page, viewer):
    """Opens, closes and chooses things in the viewer of f."""
    menu = viewer.get_by_label("View", exact=True)
    menu.click()
    viewer.get_by_role("checkbox", name="Source code").uncheck()
    viewer.get_by_role("checkbox", name="tangent").uncheck()
    viewer.get_by_role("checkbox", name="Every step so far").uncheck()
    for name in ("Cut lens", "Choose the order yourself", "Predict the next value"):
        if viewer.locator(".mg-popup").is_hidden():  # the view before has closed it
            menu.click()
        viewer.get_by_role("checkbox", name=name).check()
    for text in ("0.693", "11", "11"):  # a first wrong answer gets a hint
        viewer.get_by_role("button", name="Last").click()
        viewer.get_by_label("Your answer").fill(text)
        page.keyboard.press("Enter")
    viewer.locator(".mg-pick[data-node='v5']").click()
    viewer.locator(".mg-pick[data-node='v4']").click()
    viewer.locator(".mg-cutslider").fill("4")
    viewer.locator(".mg-speed").select_option("2")


def arrangement(viewer):
    """What a reader finds: all that was done in `arrange`."""
    viewer.locator("[data-view='cut']").wait_for()
    return {
        "views": viewer.locator("[data-view]").evaluate_all("all => all.map(e => e.dataset.view)"),
        "step": viewer.locator(".mg-counter").inner_text(),
        "answers": viewer.locator(".mg-log li").all_text_contents(),
        "order": (
            viewer.locator(".mg-pick.mg-done").evaluate_all("all => all.map(e => e.dataset.node)")
        ),
        "cut": viewer.locator(".mg-cutslider").input_value(),
        "tangents": viewer.locator("td[data-col='d']:visible").count(),
        "source": viewer.locator(".mg-source:visible").count(),
        "speed": viewer.locator(".mg-speed").input_value(),
        "checked": viewer.locator(".mg-popup input").evaluate_all("all => all.map(e => e.checked)"),
    }


FOUND = {
    "views": ["predict", "orders", "cut"],
    "step": "6 / 23",
    "order": ["v4", "v5"],
    "cut": "4",
    "tangents": 0,
    "source": 0,
    "speed": "2",
}


def assert_kept(before, viewer):
    assert {name: before[name] for name in FOUND} == FOUND
    assert (
        len(before["answers"]) == 2 and "✓" in before["answers"][0] and "✗" in before["answers"][1]
    )
    assert arrangement(viewer) == before


def test_what_a_reader_did_stays_when_outputs_are_redrawn(lab, visit):
    page = visit.page
    lab.write("kept.ipynb", CELLS)
    lab.open(page, "kept.ipynb")
    lab.run_all(page)
    a_static_output_of_a_moved_cell_is_found_as_it_was_left(lab, page)
    widgets_of_a_moved_cell_and_a_notebook_opened_again_too(lab, page)
    another_trace_in_the_same_widget_starts_at_the_requested_step(lab, page)
    visit.assert_clean()


def widgets_of_a_moved_cell_and_a_notebook_opened_again_too(notebook, page):
    viewer = viewer_of(notebook, page, NUMBER["stepper"])
    arrange(page, viewer)
    before = arrangement(viewer)
    page.evaluate(
        "() => { document.querySelector('.mg-root .mg-cutslider').closest('.mg-root').dataset.old ="
        " 'yes'; }"
    )
    move_down(notebook, page, NUMBER["stepper"])
    viewer = viewer_of(notebook, page, NUMBER["stepper"] + 1)
    assert viewer.get_attribute("data-old") is None, "the output was redrawn"
    assert_kept(before, viewer)
    move_down(notebook, page, NUMBER["groups"] - 1)

    viewer = viewer_of(notebook, page, NUMBER["groups"])
    viewer.locator(".mg-group").first.click()
    opened = viewer.locator(".mg-group-name, .mg-fold").all_text_contents()
    assert "▾ 0 … 2" in opened or any(text.startswith("▾") for text in opened)

    viewer = viewer_of(notebook, page, NUMBER["sliders"])
    page.get_by_role("slider", name="x1").fill("4")
    viewer.get_by_role("button", name="Last").click()
    viewer.locator("tr[data-node='x1'] td[data-col='g']").get_by_text("5.25", exact=True).wait_for()
    known = "print(sorted(stepper.reader['views']), stepper.step, len(stepper.answers))"
    notebook.wait_for(
        page, known, "['cut', 'orders', 'predict'] 6 4"
    )  # two predictions and two picks
    notebook.wait_for(page, "print(dragged.inputs['x1'], dragged.step)", "4 23")

    page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save'); }")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.dispose()")
    page.wait_for_function("() => !document.querySelector('.jp-Notebook')")
    page.evaluate(
        "async () => { await window.jupyterapp.commands.execute('docmanager:open', { path:"
        " 'kept.ipynb' }); }"
    )
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status ==="
        " 'idle'",
        timeout=60_000,
    )
    assert_kept(before, viewer_of(notebook, page, NUMBER["stepper"]))
    assert (
        viewer_of(notebook, page, NUMBER["groups"])
        .locator(".mg-group-name, .mg-fold")
        .all_text_contents()
        == opened
    )
    viewer = viewer_of(notebook, page, NUMBER["sliders"])
    assert page.get_by_role("slider", name="x1").input_value() == "4"
    assert viewer.locator(".mg-counter").inner_text() == "23 / 23"
    assert viewer.locator("tr[data-node='x1'] td[data-col='g']").inner_text() == "5.25"


def another_trace_in_the_same_widget_starts_at_the_requested_step(notebook, page):
    viewer = viewer_of(notebook, page, NUMBER["stepper"])
    assert viewer.locator("td[data-col='d']:visible").count() == 0
    assert (
        notebook.compute(page, "stepper.trace = trace_function(lambda x: mg.exp(x) * x, 1.0)") == ""
    )
    viewer = viewer_of(notebook, page, NUMBER["stepper"])
    viewer.locator(".mg-counter").get_by_text("0 /").wait_for()
    viewer.get_by_label("View", exact=True).click()
    viewer.get_by_role(
        "checkbox", name="Always show the table"
    ).check()  # the story stands in its place
    assert viewer.locator("td[data-col='d']:visible").count() > 0, (
        "what was chosen for one Trace is not chosen for another"
    )
    assert notebook.compute(page, "stepper.lang = 'zh'") == ""
    page.locator("section.mg-root[lang='zh']").wait_for()


def a_static_output_of_a_moved_cell_is_found_as_it_was_left(notebook, page):
    place = page.locator(
        f".jp-Notebook .jp-Cell[data-windowed-list-index='{NUMBER['frame']}'] iframe.minigrad-frame"
    )
    notebook.scroll_to(page, NUMBER["frame"])
    place.wait_for()
    viewer = place.content_frame.locator("section.mg-root")
    viewer.wait_for()
    arrange(page, viewer)
    before = arrangement(viewer)
    page.wait_for_timeout(300)  # the messages to the notebook's page
    move_down(notebook, page, NUMBER["frame"])
    notebook.scroll_to(page, NUMBER["frame"] + 1)
    place = page.locator(
        f".jp-Notebook .jp-Cell[data-windowed-list-index='{NUMBER['frame'] + 1}']"
        " iframe.minigrad-frame"
    )
    place.wait_for()
    viewer = place.content_frame.locator("section.mg-root")
    assert_kept(before, viewer)
