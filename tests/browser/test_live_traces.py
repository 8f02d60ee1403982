"""`viz.Live` without `with` and without `close()`: what it shows when a cell or a loop has
ended.
"""

import pytest

pytestmark = pytest.mark.browser

pytest.importorskip("anywidget", reason='pip install "minigrad[viz]"')

CELLS = [
    """
import time
import minigrad as mg
from minigrad import nn, viz
x, labels = mg.data.disc(60, seed=0).tensors
model = nn.Linear(2, 2)
live = viz.Live(title="disc", model=model, points=x, labels=labels)
live""",
    """
for epoch in range(200):
    live.log(loss=1.0 / (epoch + 1))""",
    """
for epoch in range(10**6):
    live.log(loss=0.5)
    time.sleep(0.001)""",
    """
for epoch in mg.training.epochs(30):
    live.log(epoch=90_001 + epoch, loss=0.25)
ended = time.time()
while not done:
    time.sleep(0.05)""",
]
RUN = """(number) => { const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.activeCellIndex = number;
    window.ran = window.jupyterapp.commands.execute("notebook:run-cell").then(() => null); }"""


def test_the_view_is_complete_after_each_cell_an_interrupt_and_a_loop_of_epochs(lab, visit):
    page = visit.page
    lab.write("live.ipynb", CELLS)
    lab.open(page, "live.ipynb")

    def run(number):
        page.evaluate(RUN, number)
        page.evaluate("() => window.ran")

    run(0)
    status = page.locator(".jp-OutputArea-output .mt-root .mt-status")
    status.get_by_text("nothing recorded yet").wait_for()
    outputs = page.locator(".jp-Cell[data-windowed-list-index='0'] .jp-OutputArea-output")
    assert outputs.count() == 1, "the view stands there once, and no address of an object below it"

    run(1)
    status.get_by_text("trained up to epoch 200", exact=True).wait_for(timeout=5_000)
    last = page.locator(".mt-root .mt-legend .mt-number").first
    assert (
        last.inner_text() == "0.005" and page.locator(".mt-root output").inner_text() == "epoch 200"
    )

    page.evaluate(RUN, 2)
    status.get_by_text("running").wait_for(timeout=10_000)
    page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()"
    )
    page.evaluate("() => window.ran")
    status.get_by_text("running").wait_for(state="detached", timeout=5_000)
    shown = status.inner_text()
    recorded = lab.compute(page, "print(live.epoch, len(live.history.measures['loss'][1]))").split()
    assert shown == f"trained up to epoch {recorded[0]}" and recorded[0] == recorded[1]

    lab.compute(page, "done = False")
    page.evaluate(RUN, 3)
    status.get_by_text("trained up to epoch 90030", exact=True).wait_for(timeout=10_000)
    busy = page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status"
    )
    assert busy == "busy", "the loop has ended, though its cell has not"
    page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()"
    )
    page.evaluate("() => window.ran")
