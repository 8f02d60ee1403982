"""No key that is pressed inside a viewer, a training view or a slider reaches the notebook."""

import pytest

pytestmark = pytest.mark.browser

pytest.importorskip("anywidget", reason='pip install "minigrad[viz]"')

CELLS = {
    "before": "kept = 1",
    "stepper": (
        """
import minigrad as mg
from minigrad import viz
def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)
stepper = viz.show(f, 2.0, 5.0, views=["predict", "cut", "orders"])
stepper"""
    ),
    "pair": (
        """
from minigrad.watch import trace_function
viz.compare(trace_function(f, 2.0, 5.0), trace_function(f, 2.0, 6.0))"""
    ),
    "element": (
        """
viz.show(lambda x, w: mg.nn.functional.conv2d(x, w).sum(), mg.ones(1, 1, 3, 3),
    mg.ones(2, 1, 2, 2), mode="reverse", step=3, views=["element"])"""
    ),
    "sliders": "viz.sliders(f, x1=(0.5, 4, 2), x2=(0, 6, 5))",
    "training": (
        """
history = viz.History("two snapshots")
model = mg.nn.Linear(2, 2)
for epoch in (1, 2):
    history.log(epoch, loss=1.0 / epoch)
    history.snapshot(epoch, model, example=[[0.5, 1.0], [1.0, 2.0]])
from minigrad.viz.training.widget import TrainingView
TrainingView(history)"""
    ),
    "after": "kept = 2",
}
KEYS = (
    ["a", "b", "x", "1"],
    ["d", "d", "m", "y"],
    ["r", "c", "v", "z"],
    ["i", "l", "Shift+M", "Shift+L", "j", "Shift+J"],
    ["Enter", "Shift+Enter", "Ctrl+Enter", "Alt+Enter"],
    ["Delete", "Backspace", "Ctrl+A", "Meta+A", "Ctrl+B", "Meta+B"],
    ["d", "d", "x", "Ctrl+Shift+Minus", "Escape"],
)
"""What JupyterLab and Notebook 7 do with them: insert, cut, delete, change, copy, paste, merge,
run, edit, select and split cells, and close the sidebar. Each control gets one of the groups; of
controls of every sort there are several.
"""
CODES = {"Enter": 13, "Delete": 46, "Backspace": 8, "Escape": 27, "Minus": 189}
CONTROLS = "button, input, select, summary, a[href], [tabindex]"
STATE = """() => {
    const panel = window.jupyterapp.shell.currentWidget, notebook = panel.content;
    return {
        cells: notebook.widgets.map((cell) => [cell.model.id, cell.model.type,
            cell.model.sharedModel.getSource()]),
        mode: notebook.mode,
        sidebar: window.jupyterapp.shell.leftCollapsed,
        dialogs: document.querySelectorAll(".jp-Dialog").length,
        kernel: panel.sessionContext.session.kernel.id,
        heard: window.heard,
    };
}"""
PRESSED = """async (root, [selector, groups, pressed, codes]) => {
    const state = STATE, notebook = window.jupyterapp.shell.currentWidget.content,
        all = () => JSON.stringify([state(), notebook.activeCellIndex,
            notebook.selectedCells.length]);
    let count = 1;
    for (let i = 0; i < count; i++) {
        const controls = [root, ...root.querySelectorAll(selector)]
            .filter((e) => e.checkVisibility() && !e.disabled);
        const control = controls[i % (count = controls.length)];
        control.focus({ preventScroll: true });
        if (document.activeElement !== control)
            continue;  // a text that only programs can focus has no keys of its own
        const before = all();  // the focus has made the cell the active one
        for (const key of groups[pressed++ % groups.length]) {
            const name = key.split("+").at(-1), letter = name.toUpperCase(),
                code = name in codes ? name : (/\\d/.test(name) ? "Digit" : "Key") + letter,
                held = Object.fromEntries(["shift", "ctrl", "alt", "meta"]
                    .map((one) => [`${one}Key`, key.toLowerCase().includes(`${one}+`)])),
                like = { key: name in codes || !held.shiftKey ? name : letter, code,
                    keyCode: codes[name] ?? letter.charCodeAt(0),
                    ...held, bubbles: true, cancelable: true, composed: true };
            for (const kind of ["keydown", "keyup"])
                document.activeElement.dispatchEvent(new KeyboardEvent(kind, like));
        }
        await new Promise((done) => setTimeout(done));
        if (all() !== before) return control.outerHTML.slice(0, 120);
    }
    return [count, pressed];
}"""
"""Gives the keys to one control after the other, as the keyboard does: what listens to keys cannot
tell, and one call takes the time of one key press. Gives a control that changed the notebook."""
LISTEN = """() => {
    window.heard = 0;
    document.addEventListener("keydown",
        (event) => window.jupyterapp.commands.processKeydownEvent(event), true);
    document.addEventListener("keydown", () => { window.heard += 1; });
}"""
"""Some versions of JupyterLab look at a key before the page's elements do, others afterwards."""
APPS = pytest.mark.parametrize("app", ["lab", pytest.param("notebook", marks=pytest.mark.whole)])


def opened(lab, page, app):
    """The notebook with all its viewers."""
    lab.write("keys.ipynb", CELLS)
    lab.open(page, "keys.ipynb", app)
    page.evaluate(LISTEN)
    lab.run_all(page)


def roots(lab, page, name):
    """The viewers of a cell."""
    number = list(CELLS).index(name)
    lab.scroll_to(page, number)
    found = page.locator(
        f".jp-Notebook .jp-Cell[data-windowed-list-index='{number}'] .jp-OutputArea-output"
    )
    part = found.locator(
        "section.mg-root, section.mg-slides > .mg-strip, section.mg-pair > .mg-strip,"
        " section.mt-root"
    )
    part.first.wait_for()
    return part


@APPS
def test_no_key_of_a_viewer_reaches_the_notebook(lab, visit, app):
    page = visit.page
    opened(lab, page, app)
    (viewer,) = roots(lab, page, "stepper").all()
    keys_act_in_the_viewer_while_another_cell_is_the_active_one(page, viewer)
    a_control_that_goes_out_of_use_gives_no_key_to_the_notebook(page, viewer)
    the_focus_that_questions_and_the_stage_move_stays_inside(page, viewer)
    (element,) = roots(lab, page, "element").all()
    what_is_drawn_again_keeps_the_focus(page, element)
    keys_on_every_control_leave_the_notebook_as_it_is(lab, page)


def the_focus_that_questions_and_the_stage_move_stays_inside(page, viewer):
    """From the button to a question, over its answers, to the viewer when all are given; and to the
    stage and back."""
    before = page.evaluate(STATE)
    viewer.get_by_label("View", exact=True).click()
    viewer.get_by_text("Predict the next value").click()
    letters = ("b", "x", "d", "d", "m")
    for _ in range(60):
        asks = page.evaluate("document.activeElement.classList.contains('mg-answer')")
        for key in letters:
            page.keyboard.press(key)
        if asks:
            page.keyboard.press("Control+A")
            for key in ("1", "Enter", "2"):  # wrong twice
                page.keyboard.press(key)
        page.keyboard.press("Enter")
        if page.evaluate("document.activeElement.classList.contains('mg-root')"):
            break
    else:
        pytest.fail("the questions do not end")
    on_stage = ("f", *letters, "PageDown", *letters, "q", "ArrowLeft", *letters)
    for key in (*on_stage, "f", "f", *letters):  # b makes the screen black, the next f light again
        page.keyboard.press(key)
    assert "mg-stage" not in viewer.get_attribute("class")
    assert page.evaluate(STATE) == before


def counts(viewer, step):
    """The viewer is at a step, as soon as it has drawn it."""
    viewer.locator(".mg-counter").get_by_text(f"{step} /").wait_for()


def what_is_drawn_again_keeps_the_focus(page, viewer):
    before = page.evaluate(STATE)
    viewer.locator(".mg-thumb").last.focus()
    for key in ("Enter", "b", "d", "d"):
        page.keyboard.press(key)
    viewer.locator(".mg-board").focus()
    for key in ("ArrowRight", "b", "ArrowDown", "d", "d", "Home", "x", "m"):
        page.keyboard.press(key)
    counts(viewer, 0)
    assert page.evaluate(STATE) == before


def keys_act_in_the_viewer_while_another_cell_is_the_active_one(page, viewer):
    """A notebook that hears a key moves the focus to its active cell."""
    before = page.evaluate(STATE)
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }")
    viewer.locator(".mg-btn-next").focus()
    for key in ("ArrowRight", "b", "ArrowRight", "d", "d", "ArrowRight"):
        page.keyboard.press(key)
    counts(viewer, 3)
    assert page.evaluate(STATE) == before


def a_control_that_goes_out_of_use_gives_no_key_to_the_notebook(page, viewer):
    before = page.evaluate(STATE)
    viewer.locator(".mg-btn-last").focus()
    page.keyboard.press("Enter")
    viewer.locator(".mg-btn-next").focus()
    for key in ("Enter", "Enter", "b", "x", "d", "d"):
        page.keyboard.press(key)
    viewer.locator(".mg-btn-shut").first.focus()
    for key in ("Enter", "b", "x", "d", "d"):
        page.keyboard.press(key)
    assert page.evaluate(STATE) == before
    viewer.locator(".mg-btn-next").focus()
    for key in ("Escape", "Escape", "b", "x", "d", "d", "Delete"):  # the focus leaves the viewer
        page.keyboard.press(key)
    assert page.evaluate(STATE) == before | {"heard": before["heard"] + 5}


def keys_on_every_control_leave_the_notebook_as_it_is(lab, page):
    pressed = 0
    for name in ("stepper", "pair", "element", "sliders", "training"):
        for part in roots(lab, page, name).all():
            given = [CONTROLS, KEYS, pressed, CODES]
            found = part.evaluate(PRESSED.replace("STATE", STATE), given)
            assert isinstance(found, list), f"{name}: {found}"
            count, pressed = found
            assert count > 1, name
    assert pressed > 100
