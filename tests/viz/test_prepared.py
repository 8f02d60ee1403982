"""What is made from the package's files alone is made once for all processes, and never out of
date."""

import json

import pytest
from minigrad.viz import page, prepared

from minigrad import viz
from minigrad.watch import trace_function


@pytest.fixture
def processes(tmp_path, monkeypatch):
    """A function that makes a text of a file, as a new process has it; and what it was called
    with so far."""
    sources, calls = tmp_path / "sources", []
    (sources / "inside").mkdir(parents=True)
    (sources / "inside" / "a.js").write_text("let a;")
    monkeypatch.setattr(prepared, "SOURCES", str(sources))
    monkeypatch.setenv("MINIGRAD_PAGES", str(tmp_path / "pages"))

    def process(*args):
        def made(*args):
            calls.append(args)
            return [(sources / "inside" / "a.js").read_text(), *args]

        prepared._stamp.cache_clear()
        return prepared.prepared(made)(*args)

    yield process, calls
    prepared._stamp.cache_clear()


def test_the_next_process_reads_what_one_has_made(processes):
    process, calls = processes
    assert [process("en"), process("en"), process("zh")] == [
        ["let a;", "en"],
        ["let a;", "en"],
        ["let a;", "zh"],
    ]
    assert calls == [("en",), ("zh",)]


@pytest.mark.parametrize("changed", ["inside/a.js", "inside/b.js", "c.py"])
def test_it_is_made_again_when_a_file_changes_or_is_added(processes, tmp_path, changed):
    process, calls = processes
    process()
    (tmp_path / "sources" / changed).write_text("let changed;")
    assert process() == [(tmp_path / "sources" / "inside" / "a.js").read_text()]
    assert calls == [(), ()]
    process()
    assert calls == [(), ()], "the new one is kept"


@pytest.mark.parametrize("text", ["", "[", '["of other files", "old"]', "7", "[1, 2, 3]"])
def test_a_file_that_cannot_be_used_is_replaced(processes, tmp_path, text):
    process, calls = processes
    process()
    (path,) = (tmp_path / "pages").iterdir()
    path.write_text(text)
    assert process() == ["let a;"] and len(calls) == 2
    assert json.loads(path.read_text())[1] == ["let a;"]


def test_where_no_file_can_be_written_each_process_makes_its_own(processes, tmp_path, monkeypatch):
    process, calls = processes
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MINIGRAD_PAGES", str(tmp_path / "file" / "pages"))
    assert process() == process() == ["let a;"] and len(calls) == 2
    monkeypatch.delenv("MINIGRAD_PAGES")
    for name in ("HOME", "XDG_CACHE_HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # a user without a folder
    assert process() == ["let a;"] and len(calls) == 3


def test_a_page_of_the_next_process_is_the_same(monkeypatch, tmp_path):
    monkeypatch.setenv("MINIGRAD_PAGES", str(tmp_path))
    trace = trace_function(lambda x: x * x, 2.0)
    made = []
    for _ in range(2):
        for one in (page._viewer_of_trace, page._style_of_trace, page._style, page._host):
            one.cache_clear()
        made.append([viz.to_html(trace), viz.iframe(trace)._repr_html_()])
        monkeypatch.setattr("minigrad.viz.squeeze.squeezed", None)  # it is not made again
    assert made[0] == made[1] and len([*tmp_path.iterdir()]) >= 3
