"""The bar: tqdm's in a terminal, plain lines without tqdm, nothing where it was not asked for."""

import io
import subprocess
import sys
import types

import pytest

import minigrad as mg
from minigrad.training import epochs, progress
from minigrad.training import progress as package_progress
from minigrad.training.progress import Bar

module = sys.modules["minigrad.training.progress"]
assert package_progress is progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def test_on_a_terminal_there_is_a_bar(monkeypatch):
    pytest.importorskip("tqdm", reason='tqdm is not installed: pip install "minigrad[lab]"')
    monkeypatch.setattr(sys, "stderr", Terminal())
    seen = []
    for epoch in progress(range(3), unit="epoch", label="training"):
        seen.append(epoch)
    assert seen == [0, 1, 2]
    text = sys.stderr.getvalue()
    assert "training: 100%" in text and "3/3" in text and "epoch" in text


def test_epochs_show_where_they_go_on_and_the_last_figures(monkeypatch, tmp_path):
    pytest.importorskip("tqdm", reason='tqdm is not installed: pip install "minigrad[lab]"')
    history = {"loss": []}
    for count in (2, 4):
        monkeypatch.setattr(sys, "stderr", Terminal())
        for epoch in epochs(count, save=tmp_path / "run.npz", history=history):
            history["loss"].append(0.5 / (epoch + 1))
    text = sys.stderr.getvalue()
    assert (
        "run.npz: 2 of 4 epochs are done already." in text
        and "2/4" in text
        and "4/4" in text
        and "loss=0.125" in text
    )
    assert list(epochs(4, save=tmp_path / "run.npz", history=history)) == []
    assert "4 of 4 epochs are done already." in sys.stderr.getvalue()


def test_without_tqdm_there_are_lines_and_a_hint(monkeypatch, capsys):
    monkeypatch.setattr(module, "has_tqdm", lambda: False)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    assert list(progress("ab", unit="letter", show=True)) == ["a", "b"]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "for a progress bar: pip install tqdm"
    assert [line.partition(",")[0] for line in lines[1:]] == ["letter 1 of 2", "letter 2 of 2"]
    for _ in epochs(2, show=True):
        pass
    assert "epoch 2 of 2" in capsys.readouterr().err


def test_lines_do_not_come_too_often(monkeypatch, capsys):
    clock = iter(range(1000))
    monkeypatch.setattr(module, "has_tqdm", lambda: False)
    monkeypatch.setattr(module, "monotonic", lambda: next(clock))
    list(progress(iter(range(50)), show=True))
    assert 4 <= len(capsys.readouterr().err.splitlines()) <= 7


@pytest.mark.parametrize("show", [None, False])
def test_nothing_is_shown_without_a_terminal_or_a_notebook(show, capsys, tmp_path):
    assert list(progress(range(2), show=show)) == [0, 1]
    for _ in range(2):
        assert len(list(epochs(2, save=tmp_path / "run.npz", show=show))) in (0, 2)
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def notebook(monkeypatch):
    """The program believes that it runs in a notebook."""
    shell = types.SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    return shell


def test_a_notebook_shows_the_bar(notebook, monkeypatch):
    assert module.watched()
    monkeypatch.setenv(
        "MINIGRAD_STATIC", "1"
    )  # it runs for a page: whoever reads that sees the end, not the bar
    assert not module.watched()
    monkeypatch.delenv("MINIGRAD_STATIC")
    notebook.config = {}
    assert not module.watched()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert not module.watched()


@pytest.mark.parametrize("absent", ["ipywidgets", "tqdm"])
def test_a_notebook_gets_nothing_on_standard_error_which_it_would_colour(
    absent, notebook, monkeypatch, capsys, tmp_path
):
    """Without ipywidgets there is a bar of text, without tqdm there are lines; what is said of a
    saved run stands beside them.
    """
    pytest.importorskip("tqdm", reason='tqdm is not installed: pip install "minigrad[lab]"')
    found = module.find_spec
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == absent else found(name))
    for count in (2, 4):
        for _ in epochs(count, save=tmp_path / "run.npz"):
            pass
    out, err = capsys.readouterr()
    assert err == ""
    assert "2 of 4 epochs are done already." in out
    assert (
        ("4/4" in out)
        if absent == "ipywidgets"
        else ("epoch 4 of 4" in out and "pip install tqdm" in out)
    )


def test_lines_are_told_with_and_without_a_bar(monkeypatch, capsys):
    bar = Bar(2, 0, "epoch", "", False)
    bar.tell("a line")
    bar.note({"loss": 1.0})
    bar.advance()
    bar.close()
    run = epochs(1, show=False)
    run.tell("before")
    for _ in run:
        run.tell("within")
    assert capsys.readouterr().out == "a line\nbefore\nwithin\n"


def test_left_early_the_bar_is_closed(monkeypatch):
    closed = []
    monkeypatch.setattr(Bar, "close", lambda self: closed.append(self))
    for _ in progress(range(3)):
        break
    assert len(closed) == 1


def test_tqdm_is_loaded_only_where_a_bar_is_wanted():
    program = (
        "import sys, minigrad as mg; list(mg.training.epochs(2, show=False)); print('tqdm' in"
        " sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_package_is_an_attribute():
    assert mg.training.epochs is epochs
