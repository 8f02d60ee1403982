"""The student's own engine between the lessons: nothing that was written is lost, and what is
not there is told kindly.
"""

import json
import linecache
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.grading import calls, checking
from minigrad.lessons.grading.calls import StudentProblem
from minigrad.lessons.grading.feedback import Feedback
from minigrad.lessons.workshop import (
    FILE,
    HEAD,
    OLDER,
    attempt,
    is_stub,
    keep,
    mine,
    recorded,
    replaced,
    source_of,
    watch,
)

from minigrad.trace import first_divergence, state_at
from minigrad.trace.replay import check_laws
from minigrad.watch import trace_function

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
COUNT = iter(range(10**6))


def cell(source: str, scope: dict | None = None) -> dict:
    """Runs a cell as a notebook does: its text is at hand under the name of its code."""
    scope = {} if scope is None else scope
    name = f"<cell {next(COUNT)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), scope)
    return scope


def run_lesson(name: str, **instead: str | Callable[[], str]) -> dict:
    """All cells of a lesson but its checks; instead: other sources for cells, by their id, or
    functions that give them at their turn.
    """
    scope: dict = {"__name__": "lesson"}
    notebook = json.loads(next(LESSONS.glob(f"{name}_*.ipynb")).read_text(encoding="utf-8"))
    for part in notebook["cells"]:
        if part["cell_type"] == "code" and not part["id"].endswith("-check"):
            source = instead.get(part["id"], "".join(part["source"]))
            cell(source if isinstance(source, str) else source(), scope)
    return scope


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --------------------------------------------------------------------------------------------- keep


def test_functions_and_classes_come_back_with_what_they_need_of_each_other(folder):
    scope = cell(
        "def one():\n    return 1\n\n\nclass Two:\n    def get(self):\n        return one() +"
        " math.floor(1.5) + np.ones(1)[0]\n"
    )
    assert repr(keep(scope["one"], scope["Two"])) == f"kept in {FILE}: one and Two."
    engine = mine("one", "Two")
    assert engine.complete
    assert engine.Two().get() == 3
    assert (folder / FILE).read_text() == HEAD + "\n\n" + "\n".join(
        [
            "def one():",
            "    return 1",
            "",
            "",
            "class Two:",
            "    def get(self):",
            "        return one() + math.floor(1.5) + np.ones(1)[0]",
            "",
        ]
    )


def test_a_new_version_takes_the_place_of_the_old_one_which_is_not_lost(folder):
    for number in range(4):
        scope = cell(f"def a():\n    return {number}\n\n\ndef b():\n    return a() * 10\n")
        keep(scope["a"], scope["b"])
    assert mine("b").b() == 30
    older = [path.read_text() for path in (folder / OLDER).iterdir()]
    assert sorted(text.partition("return ")[2][0] for text in older) == ["0", "1", "2"]
    assert (folder / FILE).read_text().count("def a()") == 1


def test_the_same_piece_again_changes_nothing(folder):
    scope = cell("def a():\n    return 1\n")
    keep(scope["a"])
    assert repr(keep(scope["a"])) == f"{FILE} has a already."
    assert not (folder / OLDER).exists()


def test_what_the_student_added_by_hand_stays(folder):
    keep(cell("def a():\n    return 1\n\n\n# not kept\n")["a"])
    (folder / FILE).write_text((folder / FILE).read_text() + "\n# my own remark\nLEARNING = 0.5\n")
    keep(cell("@staticmethod\ndef a():\n    return 2\n")["a"].__func__)
    text = (folder / FILE).read_text()
    assert "# my own remark\nLEARNING = 0.5" in text
    assert mine("a").a() == 2
    assert "@staticmethod\ndef a" in text


def test_a_stub_never_takes_the_place_of_what_was_written():
    keep(cell("def a():\n    return 1\n")["a"])
    said = repr(keep(cell('def a():\n    """What it does."""\n    ...  # your code here\n')["a"]))
    assert said == "not kept: a is not written yet."
    assert mine("a").a() == 1


@pytest.mark.parametrize("piece", [3, "a", None, ..., np.ones(3)])
def test_what_is_no_function_is_named(piece):
    assert "neither a function nor a class" in repr(keep(piece))


def test_a_function_without_a_text_is_not_kept(folder):
    scope: dict = {}
    exec("def a():\n    return 1", scope)
    assert "not at hand" in repr(keep(scope["a"]))
    assert not (folder / FILE).exists()


def test_a_file_that_is_no_python_any_more_is_left_alone(folder):
    (folder / FILE).write_text("def a(:\n")
    assert "not kept" in repr(keep(cell("def a():\n    return 1\n")["a"]))
    assert (folder / FILE).read_text() == "def a(:\n"
    assert "SyntaxError" in repr(mine("a"))


def test_keep_writes_nothing_where_it_may_not(folder):
    (folder / FILE).mkdir()
    assert "not kept" in repr(keep(cell("def a():\n    return 1\n")["a"]))


def test_solution_markers_are_not_kept():
    assert (
        source_of(
            cell("def a():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n")["a"]
        )
        == "def a():\n    return 1"
    )


def test_the_last_definition_of_a_cell_counts():
    assert (
        source_of(cell("def a():\n    return 1\n\n\ndef a():\n    return 2\n")["a"])
        == "def a():\n    return 2"
    )


@pytest.mark.parametrize(
    "source, stub",
    [
        ("def a():\n    ...", True),
        ('def a():\n    "x"', True),
        ("def a():\n    return ...", False),
        ("class A:\n    ...", True),
    ],
)
def test_what_a_stub_is(source, stub):
    assert is_stub(source) is stub


def test_replacing_keeps_the_rest():
    assert (
        replaced("a = 1\n\n\ndef f():\n    return 1\n\n\nb = 2\n", "f", "def f():\n    return 3")
        == "a = 1\n\n\ndef f():\n    return 3\n\n\nb = 2\n"
    )


# --------------------------------------------------------------------------------------------- mine


def test_without_a_file_it_says_in_which_lesson_the_pieces_are_made():
    engine = mine("gradients", "unbroadcast")
    assert not engine.complete
    assert engine.missing == ("gradients", "unbroadcast")
    assert "lesson 3" in repr(engine)
    assert "gradients is made in lesson 3, exercise 2" in repr(engine)
    with pytest.raises(
        AttributeError,
        match=r"unbroadcast is not in my_engine\.py; it is made in lesson 5, exercise 4",
    ):
        _ = engine.unbroadcast


def test_with_half_of_it_the_other_half_is_named():
    keep(cell("def gradients(order, wanted):\n    return []\n")["gradients"])
    engine = mine("gradients", "sgd")
    assert engine.missing == ("sgd",)
    assert engine.gradients([], []) == []
    assert "sgd is made in lesson 9" in repr(engine)


def test_an_engine_that_fails_when_imported_is_told_and_not_raised(folder, monkeypatch):
    for module in (calls, checking):
        monkeypatch.setattr(module, "SECONDS", 1.0)
    (folder / FILE).write_text("raise ValueError('oh')\n")
    assert "ValueError: oh" in repr(mine("gradients"))
    (folder / FILE).write_text("import time\nwhile True:\n    pass\n")
    assert "too long" in repr(mine("gradients"))


# -------------------------------------------------------------------------------------------- watch


class Node:
    def __init__(self, value, parents=(), pull=None, op=""):
        self.value, self.parents, self.pull, self.op = value, parents, pull, op


def example():
    x1, one = Node(1.0), Node(1.0)
    x2 = Node(math.e, (x1,), lambda g: (g * math.e,), "exp")
    x3 = Node(math.e + 1, (x2, one), lambda g: (g, g), "add")
    return (
        x1,
        x2,
        x3,
        Node(x2.value * x3.value, (x2, x3), lambda g: (g * x3.value, g * x2.value), "mul"),
    )


def swept(order, wanted, combine=lambda a, b: a + b, seed=1.0):
    grad = {order[-1]: seed}
    for node in reversed(order):
        for parent, part in zip(
            node.parents, node.pull(grad[node]) if node.parents else (), strict=True
        ):
            grad[parent] = combine(grad[parent], part) if parent in grad else part
    return [grad[w] for w in wanted]


def reference():
    import minigrad as mg

    one = mg.tensor(1.0, dtype=mg.float64)

    def f(x1):
        x2 = mg.exp(x1)
        return x2 * (x2 + one)

    return trace_function(f, 1.0, mode="reverse")


def test_a_right_engine_agrees_with_minigrad():
    x1, x2, x3, x4 = example()
    pull = x4.pull
    trace = recorded(x4, [x1], lambda: swept([x1, x2, x3, x4], [x1]), names={"x1": x1})
    assert first_divergence(reference(), trace) is None
    assert check_laws(trace) == []
    assert x4.pull is pull  # the node is as it was


def test_an_engine_that_overwrites_is_shown_as_it_is():
    x1, x2, x3, x4 = example()
    trace = recorded(
        x4, [x1], lambda: swept([x1, x2, x3, x4], [x1], lambda a, b: b), names={"x1": x1}
    )
    parting = first_divergence(reference(), trace)
    assert (parting.node, parting.got) == ("v1", pytest.approx(math.e))
    assert "overwrite" in parting.say
    assert state_at(trace, len(trace["steps"])).cells["x1", "g"] == pytest.approx(math.e**2)


def test_a_wrong_seed_and_a_wrong_result_are_shown():
    x1, x2, x3, x4 = example()
    trace = recorded(x4, [x1], lambda: swept([x1, x2, x3, x4], [x1], seed=2.0), names={"x1": x1})
    assert first_divergence(reference(), trace).node == "v3"
    trace = recorded(x4, [x1], lambda: [swept([x1, x2, x3, x4], [x1])[0] + 1], names={"x1": x1})
    assert first_divergence(reference(), trace).node == "x1"


def test_arrays_are_recorded_with_their_shapes():
    x = Node(np.arange(6.0).reshape(2, 3))
    y = Node(x.value.sum(), (x,), lambda g: (np.full((2, 3), g),), "sum")
    trace = recorded(y, [x], lambda: swept([x, y], [x]), names={"x": x})
    assert next(n for n in trace["nodes"] if n["id"] == "x")["shape"] == [2, 3]
    assert state_at(trace, len(trace["steps"])).cells["x", "g"]["sample"] == [1.0] * 6


def test_the_callers_variables_name_the_nodes():
    x1, x2, x3, x4 = example()
    trace = recorded(x4, [x1], lambda: swept([x1, x2, x3, x4], [x1]))
    assert [n.get("name", n["id"]) for n in trace["nodes"]] == ["x1", "x2", "c1", "x3", "x4"]


@pytest.mark.parametrize(
    "run, kind",
    [
        (lambda: None, "unfinished"),
        (lambda: [...], "unfinished"),
        (lambda: 1 / 0, "error"),
        (lambda: 3, "unfinished"),
    ],
)
def test_an_engine_that_is_not_finished_or_fails_is_reported(run, kind):
    *_, x4 = example()
    with pytest.raises(StudentProblem) as problem:
        recorded(x4, [], run, names={})
    assert problem.value.kind == kind
    shown = watch(x4, [], run)
    assert isinstance(shown, Feedback)
    assert shown.status == ("unfinished" if kind == "unfinished" else "trouble")


def test_a_rule_that_is_a_stub_and_a_piece_that_is_missing_are_named(capsys):
    x = Node(1.0)
    y = Node(1.0, (x,), lambda g: (None,), "exp")
    assert "The rule of `exp` gives nothing yet" in str(watch(y, [x], lambda: swept([x, y], [x])))
    y.pull = lambda g: (g, g)
    assert "gives 2 parts for 1 parents" in str(watch(y, [x], lambda: y.pull(1.0)))
    engine = mine("gradients")
    said = watch(y, [x], lambda: engine.gradients([x, y], [x]))
    assert said.status == "unfinished"
    assert "lesson 3, exercise 2. Do that" in str(said)
    assert attempt(lambda: engine.gradients([x, y], [x]), instead=7) == 7
    assert attempt(lambda: 1 / 0, instead=8) == 8
    assert attempt(lambda: 9) == 9
    assert attempt(cell("def run():\n    return 1 + None\n")["run"], instead=6) == 6
    printed = capsys.readouterr().out.splitlines()
    assert printed.pop().endswith(
        "in line 2 of its cell: `return 1 + None`. Are your functions written, and their checks"
        " passed?"
    )
    assert "it is made in lesson 3" in printed[0]
    assert "ZeroDivisionError" in printed[1]
    assert len(printed) == 2


def test_on_a_page_without_a_kernel_what_is_missing_is_said_in_one_short_line(capsys, monkeypatch):
    monkeypatch.setenv("MINIGRAD_STATIC", "1")
    engine = mine("gradients")
    assert attempt(lambda: engine.gradients([], []), instead=7) == 7
    assert attempt(cell("def run():\n    return 1 + None\n")["run"], instead=6) == 6
    said = capsys.readouterr().out
    assert said == 2 * "Not yet: this needs functions that you write in the notebook.\n"


def test_a_figure_that_was_begun_before_a_failure_is_not_shown():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    kept = pyplot.figure()

    def draw():
        pyplot.subplots()
        raise TypeError("no colours yet")

    try:
        assert attempt(draw, instead=1) == 1
        assert pyplot.get_fignums() == [kept.number]
    finally:
        pyplot.close("all")


def test_watch_compares_and_shows():
    x1, x2, x3, x4 = example()
    run = lambda: swept([x1, x2, x3, x4], [x1])
    assert "agree in every value" in repr(watch(x4, [x1], run, against=reference()))
    assert "reverse mode" in repr(watch(x4, [x1], run))


def test_a_graph_of_20000_nodes_is_walked():
    node = Node(1.0)
    for _ in range(20_000):
        node = Node(1.0, (node,), lambda g: (g,), "same")
    from minigrad.lessons.workshop import behind

    assert len(behind(node)) == 20_001
