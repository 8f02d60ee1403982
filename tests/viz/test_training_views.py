"""The training's record and its pictures: what is kept is what happened, and watching costs next
to nothing.
"""

import base64
import gc
import gzip
import json
import math
import re
import sys
import weakref
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from minigrad.viz import training
from minigrad.viz.training.assets import script
from minigrad.viz.training.history import GRID, LEVELS, histogram, packed

import minigrad as mg
from minigrad import nn, viz


def small(sizes=(2, 4, 4, 2)):
    layers = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


@pytest.fixture
def trained():
    """A 2-4-4-2 network after 40 epochs on the disc, its history and data."""
    x, label = mg.data.disc(80, seed=0).tensors
    model = small()
    optimiser = mg.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    with viz.Live(title="disc", model=model, points=x, labels=label, every=10, share=None) as live:
        for _ in range(40):
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(x), label)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
            live.log(loss=loss)
    return model, live.history, x, label, losses


def test_what_was_logged_is_what_is_kept(trained):
    _, history, _, _, losses = trained
    assert history.measures["loss"] == (list(map(float, range(1, 41))), losses)
    assert [s["epoch"] for s in history.snapshots] == [1, 10, 20, 30, 40]
    assert "loss" in repr(history) and "40 records, 5 snapshots" in repr(history)


def test_a_snapshot_counts_the_weights_and_gradients(trained):
    model, history, *_ = trained
    last = history.snapshots[-1]
    for name, p in model.named_parameters():
        values = p.detach().numpy()
        assert (
            sum(last["weights"][name]["counts"])
            == values.size
            == sum(last["gradients"][name]["counts"])
        )
        assert last["weights"][name]["low"] == pytest.approx(values.min(), rel=1e-4)
        assert last["gradients"][name]["high"] == pytest.approx(p.grad.numpy().max(), rel=1e-4)


def test_the_surface_is_what_the_model_says(trained):
    model, history, *_ = trained
    surface = history.snapshots[-1]["surface"]
    cells = np.frombuffer(base64.b64decode(surface["cells"]), np.uint8).reshape(GRID, GRID)
    x0, x1, y0, y1 = history.points["bounds"]
    for row, column in ((0, 0), (GRID - 1, 0), (GRID // 2, GRID // 2), (3, 40)):
        point = np.array(
            [[np.linspace(x0, x1, GRID)[column], np.linspace(y1, y0, GRID)[row]]], np.float32
        )
        share = mg.softmax(model(mg.tensor(point)), dim=1).detach().numpy()[0]
        assert cells[row, column] // LEVELS == share.argmax()
        assert cells[row, column] % LEVELS == pytest.approx(
            (share.max() - 0.5) * 2 * (LEVELS - 1), abs=1.01
        )


def test_the_network_holds_the_values_that_flow(trained):
    model, history, x, *_ = trained
    network = history.snapshots[-1]["network"]
    assert network["layers"] == ["input", "0", "2", "4"]
    h1 = model[0](x[:1]).tanh()
    h2 = model[2](h1).tanh()
    for found, wanted in zip(network["values"], (x[:1], h1, h2, model[4](h2)), strict=True):
        np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-3, atol=1e-6)
    weight = model[2].weight.detach().numpy()
    stored = network["weights"][1]
    cells = np.frombuffer(base64.b64decode(stored["cells"]), np.int8).reshape(stored["shape"])
    np.testing.assert_allclose(cells * stored["scale"] / 127, weight, atol=stored["scale"] / 200)


def test_a_snapshot_leaves_the_model_as_it_was():
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.Linear(3, 2))
    model[1].training = False
    before = [
        (m.training, p) for m, p in zip(model.modules(), [*model.parameters(), None], strict=False)
    ]
    history = viz.History()
    history.snapshot(1, model, points=np.eye(2))
    assert [
        (m.training, p) for m, p in zip(model.modules(), [*model.parameters(), None], strict=False)
    ] == before
    assert not any(
        any(vars(m._call_hooks).values()) for m in model.modules() if m._call_hooks
    ) and all(p.grad is None for p in model.parameters())
    assert history.snapshots[0]["gradients"] == {}


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_any_number_of_classes_up_to_four(outputs):
    history = viz.History()
    history.snapshot(
        1,
        small((2, outputs)),
        points=np.random.default_rng(0).normal(size=(10, 2)),
        labels=np.eye(10, 3),
    )
    assert (
        history.snapshots[0]["surface"]["classes"] == max(2, outputs)
        and history.points["label"] == [0, 1, 2] + [0] * 7
    )


def test_models_that_are_no_chain_are_not_drawn_neuron_by_neuron():
    class Skip(nn.Module):
        def __init__(self):
            self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 3)

        def forward(self, x):
            return (
                self.b(x[:, :2])
                if x.shape[1] > 2
                else self.b(self.a(x)).sum(dim=1, keepdim=True) * mg.ones(1, 2)
            )

    history = viz.History()
    assert "network" in history.snapshot(
        1, Skip(), example=np.ones((1, 2))
    )  # the layers that it calls are a chain
    wide = history.snapshot(2, small((2, 500, 2)), example=np.ones((1, 2)))
    assert "network" not in wide
    pool = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())
    assert "network" not in history.snapshot(3, pool, example=np.ones((1, 1, 4, 4)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda h: h.log(1, loss=mg.ones(2)), "single number"),
        (lambda h: h.log(1, loss="0.5"), "single number"),
        (lambda h: (h.log(5, loss=1), h.log(4, loss=1)), "must not go back"),
        (lambda h: h.snapshot(1, small(), points=np.ones((4, 3))), r"shape \(n, 2\)"),
        (lambda h: h.snapshot(1, small(), points=np.ones((0, 2))), r"shape \(n, 2\)"),
        (
            lambda h: h.snapshot(1, small(), points=np.ones((4, 2)), labels=[1, 2]),
            "4 points but 2 labels",
        ),
        (lambda h: h.snapshot(1, small((2, 9)), points=np.ones((4, 2))), "up to 4 classes"),
        (lambda h: (h.snapshot(2, small()), h.snapshot(1, small())), "must not go back"),
        (lambda h: h.save("run.csv"), r"\.json and \.npz"),
        (lambda h: viz.Live(h, every=0), "1 or more"),
        (lambda h: viz.Live(h, interval=-1), "negative"),
        (lambda h: viz.Live(h).snapshot(), "give Live the model"),
        (lambda h: viz.History.from_dict({"schema": "other"}), "no document of the schema"),
        (lambda h: training.draw_curves(h, "x.png"), "no measures"),
        (lambda h: training.draw_curves(h, "x.gif"), r"\.png, \.pdf and \.svg"),
    ],
)
def test_wrong_use_is_named(call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        call(viz.History())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_a_saved_history_is_read_back_whole(trained, tmp_path, ending):
    history = trained[1]
    history.log(41, loss=math.nan)
    history.log(42, loss=math.inf)
    path = history.save(tmp_path / f"run.{ending}")
    again = viz.History.load(path)
    assert json.dumps(again.to_dict()) == json.dumps(history.to_dict())
    assert math.isnan(again.measures["loss"][1][-2]) and again.measures["loss"][1][-1] == math.inf
    again.log(43, loss=1)
    again.snapshot(43, trained[0], points=trained[2])
    assert again.points == history.points and len(list(tmp_path.iterdir())) == 1
    (tmp_path / "bad.json").write_text("no")
    with pytest.raises(ValueError, match="is not JSON"):
        viz.History.load(tmp_path / "bad.json")


def test_histograms_count_as_numpy_does():
    rng = np.random.default_rng(0)
    for array in (
        rng.normal(size=(30, 7)),
        rng.normal(size=500).astype(np.float32) * 1e-30,
        np.arange(-49, 48.0),
        np.array([-3, 5, 5]),
    ):
        flat = np.asarray(array, np.float64).ravel()
        found, (wanted, edges) = histogram(array)["counts"], np.histogram(flat, bins=24)
        on_edges = (
            np.abs(flat[:, None] - edges[1:-1]) < 1e-9 * np.ptp(flat)
        ).sum()  # such a number may round to either side
        assert sum(found) == flat.size and np.abs(found - wanted).sum() <= 2 * on_edges
    assert histogram(np.array([-1e308, 1e308]))["counts"] == [1, *[0] * 22, 1], (
        "the range itself is no double"
    )


def test_histograms_of_odd_arrays():
    assert histogram(np.zeros(5))["counts"].count(5) == 1
    assert sum(histogram(np.array([]))["counts"]) == 0
    found = histogram(np.array([1.0, np.nan, np.inf, 3.0]))
    assert (found["low"], found["high"], found["other"], sum(found["counts"])) == (1, 3, 2, 2)
    assert packed(np.full((2, 2), np.nan))["scale"] == 0
    empty = packed(np.ones((0, 3)))
    assert empty["shape"] == [0, 3] and empty["cells"] == ""


def test_while_running_little_is_sent_and_seldom(monkeypatch):
    """The page gets at most one message a quarter of a second, of bounded size; at the end it
    gets everything.
    """
    clock = [0.0]
    monkeypatch.setattr("minigrad.viz.training.live.perf_counter", lambda: clock[0])
    sent = []

    class Page:
        def send_history(self, document, running):
            sent.append((clock[0], document, running))

    live = viz.Live(show=False)
    live.widget = Page()
    for epoch in range(5_000):
        clock[0] = epoch * 0.001
        live.log(loss=epoch)
    times = [at for at, _, _ in sent]
    assert len(sent) == 20 and all(b - a >= 0.25 for a, b in pairwise(times))
    assert all(
        running and len(document["measures"]["loss"]["values"]) <= 600
        for _, document, running in sent
    )
    assert all(
        document["measures"]["loss"]["values"][-1] == at * 1000 for at, document, _ in sent
    ), "the newest is always among them"
    live.close()
    assert len(sent[-1][1]["measures"]["loss"]["values"]) == 5_000 and sent[-1][2] is False


@pytest.mark.parametrize(
    "where", ["a notebook that runs for a page", "a notebook without anywidget"]
)
def test_where_no_widget_can_live_the_page_stands_there_at_the_end(where, monkeypatch):
    shown = []
    monkeypatch.setattr("minigrad.viz.training.live._display", shown.append)
    monkeypatch.setattr("minigrad.viz.training.live.runs_for_a_page", lambda: "page" in where)
    monkeypatch.setattr("minigrad.viz.training.live.kernel_runs", lambda: "page" not in where)
    monkeypatch.setitem(
        sys.modules, "minigrad.viz.training.widget", None
    )  # its import raises ModuleNotFoundError
    with viz.Live(title="disc") as live:
        live.log(loss=0.5)
        assert shown == []
    live.close()
    (frame,) = shown
    assert "<iframe" in frame._repr_html_() and "disc" in frame._repr_html_()
    with viz.Live(), viz.Live(show=False) as hidden:
        hidden.log(loss=0.5)
    assert len(shown) == 1, "nothing was recorded, or nothing was to be shown"


class Shell:
    """IPython's shell as far as Live looks at it."""

    def __init__(self):
        self.execution_count, self.events, self.calls = 1, self, []

    def register(self, event, function):
        assert event == "post_run_cell"
        self.calls.append(function)

    def unregister(self, event, function):
        if function not in self.calls:
            raise ValueError(function)
        self.calls.remove(function)

    def end_cell(self):
        self.execution_count += 1
        for call in self.calls:
            call(None)


@pytest.fixture
def shell(monkeypatch):
    shell = Shell()
    monkeypatch.setattr("minigrad.viz.training.live._shell", lambda: shell)
    return shell


@pytest.fixture
def widgets(monkeypatch):
    """All widgets that were made, each with what it was sent, and what was displayed."""
    made = []

    class Widget:
        running = False

        def __init__(self, history, lang):
            self.sent = []
            made.append(self)

        def send_history(self, document, running):
            epochs = document["measures"]["loss"]["epochs"]
            self.sent.append((epochs[-1], len(epochs), running))

    shown = []
    monkeypatch.setattr("minigrad.viz.training.live._display", shown.append)
    monkeypatch.setitem(
        sys.modules, "minigrad.viz.training.widget", SimpleNamespace(TrainingView=Widget)
    )
    return made, shown


def test_a_view_is_complete_at_the_end_of_each_cell(shell, widgets):
    (made, _), live = widgets, viz.Live(show=True, interval=1e9)
    other = viz.Live(show=True)
    assert len(shell.calls) == 1, "registered once for all"
    for epoch in range(200):
        live.log(loss=epoch)
    assert made[0].sent == [(1, 1, True)]
    shell.end_cell()
    assert made[0].sent[-1] == (200, 200, False) and len(made[0].sent) == 2
    shell.end_cell()
    assert len(made[0].sent) == 2 and made[1].sent == [], "nothing new, nothing sent"
    live.log(loss=0.0)
    shell.end_cell()
    assert made[0].sent[-1] == (201, 201, False)
    live.close()
    live.log(loss=0.0)
    count = len(made[0].sent)
    shell.end_cell()
    assert len(made[0].sent) == count and other.widget is made[1]


def test_a_view_is_complete_when_a_loop_of_epochs_ends(shell, widgets):
    (made, _), live = widgets, viz.Live(show=True, interval=1e9)
    for _ in mg.training.epochs(5, show=False):
        live.log(loss=1.0)
    assert made[0].sent[-1] == (5, 5, False)


def test_as_the_last_expression_of_a_cell_a_view_stands_there_once(shell, widgets):
    (made, shown), live = widgets, viz.Live(title="disc", show=True)
    live._ipython_display_()
    assert shown == [made[0]], "the cell that made it shows it already"
    shell.end_cell()
    live._ipython_display_()
    assert shown == [made[0], made[0]] and repr(live) == repr(live.history)


def test_a_view_is_freed_with_its_last_reference(shell, widgets):
    live = viz.Live(show=True)
    live.log(loss=1.0)
    gone = weakref.ref(live)
    del live
    gc.collect()
    assert gone() is None
    shell.end_cell()


def test_on_a_page_without_a_kernel_later_cells_renew_what_stands_there(shell, monkeypatch):
    shown, renewed = [], []

    def display(frame):
        shown.append(frame)
        return SimpleNamespace(update=renewed.append)

    monkeypatch.setattr("minigrad.viz.training.live._display", display)
    monkeypatch.setattr("minigrad.viz.training.live.runs_for_a_page", lambda: True)
    live = viz.Live(title="disc")
    shell.end_cell()
    assert shown == [], "nothing is recorded yet"
    live.log(loss=0.5)
    shell.end_cell()
    live.log(loss=0.25)
    shell.end_cell()
    live.close()
    assert len(shown) == len(renewed) == 1 and "0.25" in renewed[0]._repr_html_()


def test_an_interrupt_names_the_users_calls_alone():
    class Slow(mg.nn.Module):
        def forward(self, x):
            return self.inner(x)

        def inner(self, x):
            x.register_hook(stop)
            return x * 2

    def stop(g):
        raise KeyboardInterrupt

    model, x = mg.nn.Sequential(Slow()), mg.ones(1, requires_grad=True)
    for error in (KeyboardInterrupt, ValueError):
        with pytest.raises(error) as told, viz.Live(show=False):
            model(x).sum().backward() if error is KeyboardInterrupt else model(x).reshape(7)
        names = [entry.frame.f_globals["__name__"] for entry in told.traceback]
        own = [entry.name for entry in told.traceback if entry.path == Path(__file__)]
        inside = any(name.startswith("minigrad") for name in names)
        if error is KeyboardInterrupt:
            assert own == ["test_an_interrupt_names_the_users_calls_alone", "stop"]
        assert inside == (error is ValueError)


def test_an_interrupted_training_keeps_what_was_recorded():
    with pytest.raises(KeyboardInterrupt), viz.Live(model=small(), every=100) as live:
        for _ in range(7):
            live(loss=1.0)
        raise KeyboardInterrupt
    assert len(live.history.measures["loss"][1]) == 7 and live.history.snapshots[-1]["epoch"] == 7


def test_the_page_needs_nothing_and_hides_nothing(trained):
    history = trained[1]
    hostile = "</script><img src=x onerror=alert(1)>"
    history.title = hostile
    history.log(99, **{hostile: 1.0})
    page = training.to_html(history)
    assert hostile not in page and not re.search(r"""(?:src|href)\s*=\s*["']?https?:""", page)
    held = json.loads(re.search(r'id="history">(.*?)</script>', page, re.S)[1])
    assert held == json.loads(json.dumps(history.to_dict()))
    frame = training.iframe(history)
    assert 'sandbox="allow-scripts allow-downloads"' in frame._repr_html_() and repr(frame) == repr(
        history
    )
    assert training.to_html(history) == page


def test_the_figure_is_drawn_and_the_same_each_time(trained, tmp_path):
    pytest.importorskip(
        "matplotlib", reason='matplotlib is not installed: pip install "minigrad[viz]"'
    )
    history = trained[1]
    for ending, begins in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
        path = training.draw_curves(history, tmp_path / f"a.{ending}")
        first = path.read_bytes()
        assert first.startswith(begins)
        assert training.draw_curves(history, tmp_path / f"a.{ending}").read_bytes() == first


def test_the_widget_shows_the_history(trained):
    pytest.importorskip(
        "anywidget", reason='anywidget is not installed: pip install "minigrad[viz]"'
    )
    view = training.TrainingView(trained[1])
    assert view.history == trained[1].to_dict() and view.at == -1 and "disc" in repr(view)
    view.send_history(viz.History("other").to_dict(), True)
    assert view.history["title"] == "other" and view.running


def test_the_widget_sends_the_history_compressed_and_nothing_else_of_it(trained):
    pytest.importorskip(
        "anywidget", reason='anywidget is not installed: pip install "minigrad[viz]"'
    )
    view, unpack = training.TrainingView(trained[1]), lambda held: json.loads(gzip.decompress(held))
    assert "history" not in view.keys, (
        "not once more as JSON"
    )  # the names of what is shared with the page
    assert (
        unpack(view.packed) == trained[1].to_dict()
        and len(view.packed) < len(json.dumps(trained[1].to_dict())) / 2
    )
    later = {**trained[1].to_dict(), "title": "a < b"}
    view.send_history(later, False)
    assert unpack(view.packed) == later and view.get_state(["packed"])["packed"] == view.packed


def test_a_page_holds_a_large_history_compressed(trained, monkeypatch):
    plain = training.to_html(trained[1])
    assert '<script type="application/json" id="history">{' in plain
    monkeypatch.setattr("minigrad.viz.page.LARGE", 100)
    held = re.search(
        r'<script type="application/gzip" id="history">([^<]*)</script>',
        training.to_html(trained[1]),
    )[1]
    assert json.loads(gzip.decompress(base64.b64decode(held))) == trained[1].to_dict()


def test_each_name_of_the_views_one_module_is_declared_once():
    """Its parts are joined into one: a name that two of them declare would stop the whole."""
    names = re.findall(r"(?m)^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", script())
    assert len(names) > 15 and {"mount", "unpacked", "translator"} <= set(names)
    assert sorted(names) == sorted(set(names))


def test_logging_does_a_few_things_however_much_was_logged():
    """Counted are calls, of Python functions and of built-in ones: a number to a list for each
    measure, and a look at the clock.
    """

    def calls(live):
        count = 0

        def called(frame, event, what):
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(called)
        try:
            live.log(loss=0.5, accuracy=0.9)
        finally:
            sys.setprofile(None)
        return count

    live = viz.Live(show=False)
    live.log(loss=0.5, accuracy=0.9)
    early = calls(live)
    for _ in range(20_000):
        live.log(loss=0.5, accuracy=0.9)
    assert calls(live) == early <= 30
    live.widget, live.interval = (
        object(),
        math.inf,
    )  # a page that is not to be told yet: one look at the clock more
    live._sent = 0.0
    assert early < calls(live) <= early + 2


# ---- the cost, the languages and the frame


def test_snapshots_of_short_epochs_leave_the_training_its_time(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("minigrad.viz.training.live.perf_counter", lambda: clock[0])
    model = small()

    cost = 1.0  # seconds that a snapshot takes

    def slow(self, epoch, *args, **options):
        clock[0] += cost
        self.snapshots.append({"epoch": float(epoch)})

    monkeypatch.setattr(viz.History, "snapshot", slow)

    def taken(epochs, pause, **options):
        clock[0] = 0.0
        live = viz.Live(model=model, every=1, **options)
        for _ in range(epochs):
            clock[0] += pause
            live.log(loss=1.0)
        return len(live.history.snapshots), clock[0] - epochs * pause, live

    count, spent, live = taken(2_000, 1.0)
    assert count == spent and 55 < count <= 2_000 * 0.03 + 1, "3 % of the time"
    epochs = [snapshot["epoch"] for snapshot in live.history.snapshots]
    assert epochs[0] == 1 and {b - a for a, b in pairwise(epochs)} == {34}, (
        "evenly, not all at the beginning"
    )
    live.log(loss=1.0)
    live.close()
    assert live.history.snapshots[-1]["epoch"] == 2_001, "the last state is always there"
    few, _, live = taken(50, 1 / 1024)
    live.close()
    assert few == 1 and [snapshot["epoch"] for snapshot in live.history.snapshots] == [1, 50], (
        "the first and the last, whatever they cost"
    )
    clock[0] += 10_000
    live.log(loss=1.0)
    live.log(loss=1.0)
    assert [snapshot["epoch"] for snapshot in live.history.snapshots] == [1, 50, 51], (
        "a rest between two cells buys one, not many"
    )
    assert taken(50, 0.001, share=None)[0] == 50
    assert taken(2_000, 1.0, share=0.5)[0] == 1_000
    assert taken(200, 34.0)[0] == 200, "where epochs take their time, none is left out"
    cost = 1 / 64
    assert taken(60, 1 / 1024)[0] == 60, "nor is any until they have taken a second together"
    assert taken(2_000, 1 / 1024)[0] in (65, 66, 67), "then each waits, as before"
    for wrong in (0, -0.1, 1.5):
        with pytest.raises(ValueError, match="share must be a part of the time"):
            viz.Live(share=wrong)


def test_updates_of_the_page_leave_the_training_its_time(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("minigrad.viz.training.live.perf_counter", lambda: clock[0])

    class Slow:
        sent = 0

        def send_history(self, document, running):
            clock[0] += 0.5
            Slow.sent += 1

    live = viz.Live()
    live.widget = Slow()
    for _ in range(10_000):
        clock[0] += 0.01
        live.log(loss=1.0)
    assert Slow.sent * 0.5 <= 0.06 * clock[0] and Slow.sent >= 5


def test_the_views_speak_chinese_from_the_steppers_table(trained):
    _, history, *_ = trained
    page = training.to_html(history, lang="zh")
    assert '<html lang="zh">' in page and 'lang:"zh"' in page
    frame = training.iframe(history, lang="zh")._repr_html_()
    assert "minigradFrames" in frame and "data-jp-theme-light" in frame, (
        "the notebook's theme and the page's height, as for the stepper"
    )
    for wrong in (training.to_html, training.iframe, lambda h, lang: viz.Live(lang=lang)):
        with pytest.raises(ValueError, match="no texts in 'fr'"):
            wrong(history, lang="fr")


def test_every_word_of_the_training_view_stands_in_the_table_in_both_languages():
    from minigrad.viz.bundle import STATIC
    from minigrad.viz.training.assets import STATIC as TRAINING

    source, table = (
        (TRAINING / "training.js").read_text(encoding="utf-8"),
        (STATIC / "viewer" / "texts.js").read_text(encoding="utf-8"),
    )
    english, chinese = table.split("\n  zh: {")
    used = set(re.findall(r'\bt\("(\w+)"', source)) | set(
        re.findall(r'\? "(\w+)" : "(\w+)"', source)[0]
    )
    used |= {
        "curves_loss",
        "curves_accuracy",
        "curves_other",
        "measure",
        "records",
        "firstValue",
        "lowest",
        "highest",
        "lastValue",
    }
    assert len(used) > 30
    for name in used:
        assert re.search(rf"\b{name}: \"", english) and re.search(rf"\b{name}: \"", chinese), name
    looks = (TRAINING / "training.css").read_text(encoding="utf-8")
    assert "transition" not in looks and "animation" not in looks, (
        "nothing glides, so reduced motion asks for nothing"
    )


def test_sizes_are_root_mean_squares_by_layer(trained):
    model, history, x, *_ = trained
    rows = history.snapshots[-1]["sizes"]
    assert [row["layer"] for row in rows] == [
        *("0 Linear", "1 Tanh", "2 Linear", "3 Tanh", "4 Linear"),
    ]
    own = np.concatenate([p.detach().numpy().reshape(-1) for p in model[0].parameters()])
    assert rows[0]["weights"] == pytest.approx(np.sqrt(np.mean(own**2)), rel=1e-3)
    slopes = np.concatenate([p.grad.numpy().reshape(-1) for p in model[0].parameters()])
    assert rows[0]["gradient"] == pytest.approx(np.sqrt(np.mean(slopes**2)), rel=1e-3)
    with mg.no_grad():
        out = model[:2](x).numpy()
    assert rows[1] == {
        "layer": "1 Tanh",
        "activation": pytest.approx(np.sqrt(np.mean(out**2)), rel=1e-3),
    }


@pytest.mark.parametrize(
    "loss",
    [lambda w, b: (w - 1) ** 2 + b * b, lambda w, b: float((w - 1) ** 2 + b * b)],
    ids=["of arrays", "of numbers"],
)
def test_a_landscape_is_least_where_the_loss_is(loss, tmp_path):
    history = viz.History()
    history.landscape(loss, w=(-2, 2), b=(-1, 1))
    ground = history.ground
    cells = np.frombuffer(base64.b64decode(ground["cells"]), np.uint8).reshape(64, 64)
    row, column = np.unravel_index(cells.argmin(), cells.shape)
    assert abs(-2 + (column + 0.5) * 4 / 64 - 1) < 0.1 and abs(1 - (row + 0.5) * 2 / 64) < 0.1
    assert cells.min() == 0 and cells.max() == 255 and ground["high"] == pytest.approx(10, rel=0.1)
    history.place(0, mg.tensor(1.0), 0.5)
    history.place(1, 0.5, math.nan)
    history.log(0, loss=1.0)
    history.save(tmp_path / "run.json")
    assert viz.History.load(tmp_path / "run.json").to_dict() == history.to_dict()
    both = viz.History.together({"a": history, "b": history})
    assert list(both.paths) == ["a", "b"] and both.ground == ground
    assert list(both.measures) == ["a: loss", "b: loss"]
    with pytest.raises(ValueError, match="epochs must not go back"):
        history.place(0, 1.0, 1.0)
    with pytest.raises(ValueError, match="two parameters"):
        history.landscape(loss, w=(1, 1), b=(0, 1))
    with pytest.raises(ValueError, match="finite nowhere"):
        history.landscape(lambda w, b: w * math.nan, w=(0, 1), b=(0, 1))
