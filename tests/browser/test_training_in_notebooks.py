"""The training view as its readers meet it: live in a notebook while cells run, and as a page
from a file.
"""

import pytest
from minigrad.viz import training

import minigrad as mg
from minigrad import nn, viz

pytestmark = pytest.mark.browser

TRAINING = """
import minigrad as mg
from minigrad import viz
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
            live.log(loss=loss,
                **{"train accuracy": (model(x).argmax(dim=1) == label).numpy().mean()})
            sleep(pause)
    return live.history
"""


@pytest.fixture(scope="session")
def history():
    x, label = mg.data.disc(120, seed=0).tensors
    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    optimiser = mg.optim.Adam(model.parameters(), lr=0.05)
    with viz.Live(
        title="disc", model=model, points=x, labels=label, example=x[:2], every=10, share=None
    ) as live:
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


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.whole)])
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
    assert "class 0 covers" in root.locator("svg[aria-label^='Decision']").get_attribute(
        "aria-label"
    )


def test_the_scrubber_goes_through_the_epochs_by_keyboard(view, visit, history):
    root = view(history)
    slider, said = root.locator("input[type=range]"), root.locator("output")
    assert said.inner_text() == "epoch 50"
    surface = lambda: root.locator("image").get_attribute("href")
    last = surface()
    slider.focus()
    visit.page.keyboard.press("Home")
    assert (
        said.inner_text() == "epoch 1"
        and slider.get_attribute("aria-valuetext") == "epoch 1"
        and surface() != last
    )
    visit.page.keyboard.press("ArrowRight")
    assert said.inner_text() == "epoch 10"
    root.get_by_label("Previous snapshot").press("Enter")
    assert said.inner_text() == "epoch 1"
    root.get_by_label("Play through the epochs").press("Space")
    said.get_by_text("epoch 50").wait_for(timeout=10_000)
    assert surface() == last
    line = root.locator(".mt-now").first
    assert abs(float(line.get_attribute("x1")) - 408) < 1, (
        "the curve's mark stands at the scrubber's epoch"
    )


def test_the_network_shows_the_numbers_that_were_recorded(view, history):
    root = view(history)
    shown = [text.text_content().replace("−", "-") for text in root.locator(".mt-value").all()]
    network = history.snapshots[-1]["network"]
    wanted = [value for layer in network["values"] for value in layer[0]]
    assert len(shown) == len(wanted) == 2 + 4 + 4 + 2
    assert all(abs(float(a) - b) < 0.006 for a, b in zip(shown, wanted, strict=True))
    root.get_by_role("combobox", name="Example").select_option("1")
    assert (
        root.locator(".mt-value").first.text_content().replace("−", "-")
        == f"{network['values'][0][1][0]:.2f}"
    )
    root.get_by_role("combobox", name="Parameter").select_option("2.weight")
    bars = [
        float(bar.get_attribute("height"))
        for bar in root.locator("svg[aria-label^='weights of 2.weight'] .mt-bar").all()
    ]
    counts = history.snapshots[-1]["weights"]["2.weight"]["counts"]
    assert [round(bar / max(bars) * max(counts)) for bar in bars] == counts


def test_a_logarithmic_axis_can_be_switched(view, history):
    root = view(history)
    toggle = root.get_by_role("button", name="logarithmic")
    before = root.locator(".mt-curve").first.get_attribute("d")
    pressed = toggle.get_attribute("aria-pressed")
    toggle.press("Enter")
    assert (
        toggle.get_attribute("aria-pressed") != pressed
        and root.locator(".mt-curve").first.get_attribute("d") != before
    )
    assert toggle.evaluate("element => element === document.activeElement"), "the focus stays"


def test_odd_histories_are_shown_too(view):
    empty = view(viz.History("nothing yet"))
    assert empty.locator(".mt-status").inner_text() == "nothing recorded yet"
    odd = viz.History("odd")
    for epoch, value in enumerate([float("nan"), 1.0, float("inf"), 2.0]):
        odd.log(epoch, loss=value)
    odd.log(1, constant=3.0)
    root = view(odd)
    assert root.locator(".mt-curve").first.get_attribute("d").count("M") == 2, (
        "the curve has a gap where there is no number"
    )
    assert root.locator("tbody tr").first.locator("td").nth(1).text_content() == "NaN"


@pytest.mark.whole
@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_in_a_notebook_the_curves_grow_while_the_cell_runs_and_the_frame_shows_what_the_widget_does(
    lab, visit, axe, app
):
    page = visit.page
    lab.write(
        "training.ipynb", [TRAINING, "history = train(60, 0.1)", "viz.training.iframe(history)"]
    )
    lab.open(page, "training.ipynb", app)
    if app == "notebook":
        page.wait_for_timeout(1_000)
        # Notebook 7's own, before any cell has run: it looks for settings and commands that this
        # server does not have
        visit.errors.clear()
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    root = page.locator(".jp-OutputArea-output .mt-root").first
    status = root.locator(".mt-status")
    status.get_by_text("running").wait_for(timeout=60_000)
    seen = page.evaluate("""() => new Promise(resolve => {
            const status = document.querySelector(".jp-OutputArea-output .mt-root .mt-status"),
                seen = [status.textContent];
            new MutationObserver(() => {
                if (status.textContent !== seen.at(-1)) seen.push(status.textContent);
                if (!seen.at(-1).includes("running")) resolve(seen);
            }).observe(status, { childList: true, characterData: true, subtree: true });
        })""")
    epochs = [int(text.split()[1].rstrip(",")) for text in seen]
    assert len(set(epochs)) > 5 and epochs == sorted(epochs), (
        "the page moves before the cell has ended"
    )
    status.get_by_text("epoch 60", exact=True).wait_for(timeout=30_000)
    slider, said = root.locator("input[type=range]"), root.locator("output")
    assert said.inner_text() == "epoch 60" and slider.get_attribute("max") == "12", (
        "epochs 1, 5, 10 … 60: all snapshots at the end"
    )
    axe(page, ".jp-OutputArea-output .mt-root")
    slider.focus()
    page.keyboard.press("Home")
    assert said.inner_text() == "epoch 1"
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    for key in ("a", "b", "d", "d", "x"):
        page.keyboard.press(key)
    lab.scroll_to(page, 2)
    frame = page.frame_locator("iframe.minigrad-frame").locator(".mt-root")
    frame.wait_for()
    assert frame.locator(".mt-status").inner_text() == "epoch 60"
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells, (
        "keys in the view are no commands to the notebook"
    )
    visit.assert_clean()
