"""The training view as its readers meet it: live in a notebook while cells run, and as a page from a file."""

import nbformat
import pytest

import minigrad as mg
import viz
from minigrad import nn
from viz import training

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
TRAINING = """
import minigrad as mg, viz
from minigrad import nn
from time import sleep
x, label = mg.data.disc(60, seed=0).tensors
model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2))
optimiser = mg.optim.Adam(model.parameters(), lr=0.05)
def train(epochs, pause=0.0):
    with viz.Live(title="disc", model=model, points=x, labels=label, every=5, share=None) as live:
        for _ in range(epochs):
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(x), label)
            loss.backward()
            optimiser.step()
            live.log(loss=loss, **{"train accuracy": (model(x).argmax(dim=1) == label).numpy().mean()})
            sleep(pause)
    return live.history
"""


@pytest.fixture(scope="module")
def history():
    x, label = mg.data.disc(120, seed=0).tensors
    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    optimiser = mg.optim.Adam(model.parameters(), lr=0.05)
    with viz.Live(title="disc", model=model, points=x, labels=label, example=x[:2], every=10, share=None) as live:
        for _ in range(50):
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(x), label)
            loss.backward()
            optimiser.step()
            live.log(loss=loss, accuracy=(model(x).argmax(dim=1) == label).numpy().mean())
    return live.history


@pytest.fixture
def view(visit, tmp_path):
    """A function that opens a history's page and returns the view."""

    def go(history):
        path = tmp_path / "training.html"
        path.write_text(training.to_html(history), encoding="utf-8")
        visit.page.goto(path.as_uri())
        root = visit.page.locator(".mt-root")
        root.wait_for()
        return root

    yield go
    visit.assert_clean()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_and_shows_every_view(view, visit, axe, history, scheme):
    visit.page.emulate_media(color_scheme=scheme)
    root = view(history)
    assert [h.inner_text() for h in root.locator(".mt-word").all()] == [
        "loss",
        "accuracy",
        "decision surface",
        "network",
        "weights and gradients",
    ]
    axe(visit.page, "html")
    assert "class 0 covers" in root.locator("svg[aria-label^='Decision']").get_attribute("aria-label")


def test_the_scrubber_goes_through_the_epochs_by_keyboard(view, visit, history):
    root = view(history)
    slider, said = root.locator("input[type=range]"), root.locator("output")
    assert said.inner_text() == "epoch 50"
    surface = lambda: root.locator("image").get_attribute("href")
    last = surface()
    slider.focus()
    visit.page.keyboard.press("Home")
    assert said.inner_text() == "epoch 1" and slider.get_attribute("aria-valuetext") == "epoch 1" and surface() != last
    visit.page.keyboard.press("ArrowRight")
    assert said.inner_text() == "epoch 10"
    root.get_by_label("Previous snapshot").press("Enter")
    assert said.inner_text() == "epoch 1"
    root.get_by_label("Play through the epochs").press("Space")
    said.get_by_text("epoch 50").wait_for(timeout=10_000)
    assert surface() == last
    line = root.locator(".mt-now").first
    assert abs(float(line.get_attribute("x1")) - 408) < 1, "the curve's mark stands at the scrubber's epoch"


def test_the_network_shows_the_numbers_that_were_recorded(view, history):
    root = view(history)
    shown = [text.text_content().replace("−", "-") for text in root.locator(".mt-value").all()]
    network = history.snapshots[-1]["network"]
    wanted = [value for layer in network["values"] for value in layer[0]]
    assert len(shown) == len(wanted) == 2 + 4 + 4 + 2
    assert all(abs(float(a) - b) < 0.006 for a, b in zip(shown, wanted, strict=True))
    root.get_by_role("combobox", name="Example").select_option("1")
    assert root.locator(".mt-value").first.text_content().replace("−", "-") == f"{network['values'][0][1][0]:.2f}"
    root.get_by_role("combobox", name="Parameter").select_option("2.weight")
    bars = [float(bar.get_attribute("height")) for bar in root.locator("svg[aria-label^='weights of 2.weight'] .mt-bar").all()]
    counts = history.snapshots[-1]["weights"]["2.weight"]["counts"]
    assert [round(bar / max(bars) * max(counts)) for bar in bars] == counts


def test_a_logarithmic_axis_can_be_switched(view, history):
    root = view(history)
    toggle = root.get_by_role("button", name="logarithmic")
    before = root.locator(".mt-curve").first.get_attribute("d")
    pressed = toggle.get_attribute("aria-pressed")
    toggle.press("Enter")
    assert toggle.get_attribute("aria-pressed") != pressed and root.locator(".mt-curve").first.get_attribute("d") != before
    assert toggle.evaluate("element => element === document.activeElement"), "the focus stays"


def test_odd_histories_are_shown_too(view):
    empty = view(viz.History("nothing yet"))
    assert empty.locator(".mt-status").inner_text() == "nothing recorded yet"
    odd = viz.History("odd")
    for epoch, value in enumerate([float("nan"), 1.0, float("inf"), 2.0]):
        odd.log(epoch, loss=value)
    odd.log(1, constant=3.0)
    root = view(odd)
    assert root.locator(".mt-curve").first.get_attribute("d").count("M") == 2, "the curve has a gap where there is no number"
    assert root.locator("tbody tr").first.locator("td").nth(1).text_content() == "NaN"


@pytest.fixture(scope="module")
def lab(start_lab, tmp_path_factory):
    lessons = tmp_path_factory.mktemp("lessons")
    cells = [TRAINING, "history = train(30)", "viz.training.iframe(history)"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c, id=f"cell-{i}") for i, c in enumerate(cells)], metadata=KERNEL)
    nbformat.write(notebook, lessons / "01_training.ipynb")
    live = [TRAINING, "history = train(60, 0.1)"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c, id=f"cell-{i}") for i, c in enumerate(live)], metadata=KERNEL)
    nbformat.write(notebook, lessons / "02_live.ipynb")
    return start_lab(lessons)


def test_in_jupyterlab_the_widget_and_the_frame_show_the_same(lab, visit, axe):
    page = visit.page
    lab.open(page, "01_training.ipynb")
    lab.run_all(page)
    root = page.locator(".jp-OutputArea-output .mt-root")
    root.wait_for()
    assert root.locator(".mt-status").inner_text() == "epoch 30" and root.locator("output").inner_text() == "epoch 30"
    axe(page, ".jp-OutputArea-output .mt-root")
    root.locator("input[type=range]").focus()
    page.keyboard.press("Home")
    assert root.locator("output").inner_text() == "epoch 1"
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    for key in ("a", "b", "d", "d", "x"):
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells, "keys in the view are no commands to the notebook"
    lab.scroll_to(page, 2)
    frame = page.frame_locator("iframe.minigrad-frame").locator(".mt-root")
    frame.wait_for()
    assert frame.locator(".mt-status").inner_text() == "epoch 30"
    visit.assert_clean()


def test_the_curves_grow_while_the_cell_runs(lab, visit):
    page = visit.page
    lab.open(page, "02_live.ipynb")
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    status = page.locator(".jp-OutputArea-output .mt-root .mt-status")
    status.get_by_text("running").wait_for(timeout=60_000)
    first = int(status.inner_text().split()[1].rstrip(","))
    page.wait_for_timeout(1_500)
    text = status.inner_text()
    assert "running" in text and int(text.split()[1].rstrip(",")) > first, "the page moves before the cell has ended"
    status.get_by_text("epoch 60", exact=True).wait_for(timeout=30_000)
    assert page.locator(".mt-root input[type=range]").get_attribute("max") == "12"  # epochs 1, 5, 10 … 60: all snapshots at the end
    visit.assert_clean()


def test_in_notebook_7(lab, visit):
    page = visit.page
    page.goto(f"http://127.0.0.1:{lab.port}/notebooks/01_training.ipynb?token=course")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    page.wait_for_function(
        """() => {
            const panel = window.jupyterapp?.shell.currentWidget;
            return panel?.context?.isReady && panel.sessionContext?.session?.kernel?.status === "idle";
        }""",
        timeout=60_000,
    )
    page.wait_for_timeout(1_000)
    visit.errors.clear()  # Notebook 7's own, before any cell has run: it looks for settings and commands that this server does not have
    lab.run_all(page)
    root = page.locator(".jp-OutputArea-output .mt-root")
    root.wait_for()
    assert root.locator(".mt-status").inner_text() == "epoch 30"
    root.locator("input[type=range]").focus()
    page.keyboard.press("Home")
    assert root.locator("output").inner_text() == "epoch 1"
    visit.assert_clean()
