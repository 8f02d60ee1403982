"""Programs, static graphs and checkpoints as Traces: what the memory lens and the graph read."""

import gc
import weakref
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad import observers, viz
from minigrad.autograd.checkpoint import FIRST
from minigrad.errors import GraphError
from minigrad.program import trace as record
from minigrad.trace import TraceError, check_laws, state_at, validate
from minigrad.watch import trace_function


def gradient(x, w):
    y = ((x @ w).tanh() ** 2).sum()
    return mg.autograd.grad(y, [w])[0]


@pytest.fixture
def program():
    rng = np.random.default_rng(0)
    x, w = (
        mg.tensor(rng.normal(size=(8, 5))),
        mg.tensor(rng.normal(size=(5, 3)), requires_grad=True),
    )
    return record(gradient, x, w), x, w


def alive(trace):
    """For each step the values in the buffers, as (node, first byte, one past the last)."""
    place = {n["id"]: n["memory"] for n in trace["nodes"] if "at" in n.get("memory", {})}
    ends = {}
    for i, step in enumerate(trace["steps"]):
        for name in step.get("free", []):
            ends[name] = i
    made = {s["node"]: i for i, s in enumerate(trace["steps"]) if s["phase"] == "primal"}
    return {
        name: (made[name], ends.get(name, len(trace["steps"])), p["at"], p["at"] + p["bytes"])
        for name, p in place.items()
    }


def test_a_programs_trace_tells_where_each_value_lies(program):
    run, x, w = program
    trace = validate(run.as_trace(x, w))
    assert check_laws(trace) == []
    result = state_at(trace, len(trace["steps"])).cells[trace["outputs"][0], "v"]
    assert result["sample"] == run(x, w).numpy().ravel()[:16].tolist()
    spans = alive(trace)
    assert len(spans) > len({low for _, _, low, _ in spans.values()}), "some place is used twice"
    assert all(0 <= low < high <= trace["memory"]["buffers"] for _, _, low, high in spans.values())
    for a, (made, gone, low, high) in spans.items():
        for b, (other, until, first, last) in spans.items():
            if (
                a != b and low < last and first < high
            ):  # the same bytes: one must have ended when the other is written
                early, late = sorted([(made, gone), (other, until)])
                readers = [
                    i
                    for i, s in enumerate(trace["steps"])
                    if [a if early == (made, gone) else b, "v"] in s["reads"]
                ]
                assert max(readers) <= late[0], f"{a} and {b} share bytes while one is still read"
    windows = [n for n in trace["nodes"] if "of" in n.get("memory", {})]
    assert windows and all("bytes" not in n["memory"] for n in windows)
    assert trace["memory"]["buffers"] < trace["memory"]["all"]


def test_wrong_places_are_refused(program):
    run, x, w = program
    trace = run.as_trace(x, w)
    node = next(n for n in trace["nodes"] if "at" in n.get("memory", {}))
    for wrong in ({"at": 0}, {"bytes": -1}, {"of": "unknown"}, {"bytes": 8, "of": node["id"]}, 3):
        node["memory"] = wrong
        with pytest.raises(TraceError, match="memory"):
            validate(trace)


def test_show_takes_programs_and_static_graphs(program, tmp_path):
    run, x, w = program
    assert "tanh" in repr(viz.show(run, x, w))
    a = mg.graph.Variable(name="a")
    y = mg.graph.exp(a) * a
    (slope,) = mg.graph.gradients(y, [a])
    for shown in (viz.show(slope, {a: 1.0}), viz.show([y, slope], {a: 1.0}, title="mine")):
        assert "5.437" in repr(shown) or "5.4366" in repr(shown)
    assert viz.show([y], {a: 1.0}, title="mine").trace["title"] == "mine"
    with pytest.raises(TypeError, match="tangents= is for a function, not for a Program"):
        viz.show(run, x, w, tangents=[1.0])
    with pytest.raises(TypeError, match="names= is for a function, not for a static graph"):
        viz.show([y], {a: 1.0}, names=["a"])
    with pytest.raises(TypeError, match="as one dict"):
        viz.show(y, 1.0)
    with pytest.raises(GraphError, match="not fed"):
        viz.show(y)


def test_a_static_graphs_trace_is_what_its_executor_computes():
    x = mg.graph.Variable(name="x")
    y = mg.graph.exp(x) * x + 2
    (g,) = mg.graph.gradients(y, [x])
    (gg,) = mg.graph.gradients(g, [x])
    trace = viz.from_graph([y, g, gg], {x: np.array([0.5, 1.0])})
    values = mg.graph.Executor([y, g, gg]).run({x: np.array([0.5, 1.0])})
    cells = state_at(trace, len(trace["steps"])).cells
    for name, value in zip(trace["outputs"], values, strict=True):
        assert cells[name, "v"]["sample"] == value.tolist()
    stages = [n["stage"] for n in trace["nodes"]]
    assert {"primal", "first backward", "second backward"} <= set(stages)
    mirrored = [n for n in trace["nodes"] if n["stage"] != "primal"]
    assert all("of" in n for n in mirrored), "each says of whose derivative it is a part"
    assert trace["inputs"] == ["x"] and check_laws(trace) == []
    assert len(trace["edges"]) == sum(len(n.inputs) for n in mg.graph.find_topo_sort([y, g, gg]))


def test_what_is_no_node_of_a_static_graph_is_named():
    for wrong in (object(), [object()]):
        with pytest.raises(TypeError, match=r"must be a Node of a graph, got object\."):
            viz.from_graph(wrong)


def test_a_static_graph_with_constants_several_results_and_no_feed():
    values, indices = mg.graph.constant(np.array([3.0, 1.0, 2.0])).sort()
    trace = viz.from_graph([values, indices])
    cells = state_at(trace, len(trace["steps"])).cells
    assert [cells[name, "v"]["sample"] for name in trace["outputs"]] == [[1, 2, 3], [1, 2, 0]]
    assert [n["kind"] for n in trace["nodes"]].count("const") == 1 and trace["inputs"] == []


# ---- checkpoints


def twice(x, runs=None):
    def inner(a):
        if runs is not None:
            runs.append(1)
        return mg.sin(a * a).exp()

    h = mg.checkpoint(inner, x)
    return h * h


def kept(trace):
    """What is kept after each step: the operations that hold values, and what checkpoints hold."""
    saves = {n["id"] for n in trace["nodes"] if n.get("saved")}
    held, out = set(), []
    for step in trace["steps"]:
        held |= (
            {step["node"]} & saves
            if step["phase"] == "primal"
            and "keep" not in step
            and not step["say"].startswith("Computed")
            else set()
        )
        held |= set(step.get("keep", []))
        held -= set(step.get("free", []))
        out.append(frozenset(held))
    return out


def test_a_checkpoint_frees_and_recomputes():
    runs = []
    trace = validate(trace_function(lambda x: twice(x, runs), 0.5))
    assert len(runs) == 2, (
        "once forward and once in the reverse pass: watching runs nothing a third time"
    )
    plain = trace_function(lambda x: (lambda h: h * h)(mg.sin(x * x).exp()), 0.5)
    assert check_laws(trace) == []
    final = lambda t: state_at(t, len(t["steps"])).cells
    assert final(trace) == final(plain), "the same numbers as without"
    end = next(i for i, s in enumerate(trace["steps"]) if s["phase"] == "free")
    assert trace["steps"][end]["free"] == ["v1", "v2", "v3"] and trace["steps"][end]["holds"] == [
        "x"
    ]
    again = [s for s in trace["steps"] if s["say"].startswith("Computed again")]
    assert [s["node"] for s in again] == ["v1", "v2", "v3"] and all(
        s["keep"] == [s["node"]] for s in again
    )
    memory = kept(trace)
    assert memory[end] == frozenset() and memory[-1] == frozenset() and max(map(len, memory)) == 3
    assert state_at(trace, end + 1).freed == {"v1", "v2", "v3"}
    back = max(i for i, s in enumerate(trace["steps"]) if s in again) + 1
    assert not state_at(trace, back).freed & {"v1", "v2", "v3"}
    for step in trace["steps"][back:]:
        for value in step.get("uses", []):
            assert any(value in n.get("saved", []) for n in trace["nodes"])


def test_checkpoints_inside_checkpoints_modules_and_sequences():
    def nested(x):
        return mg.checkpoint(lambda a: mg.checkpoint(lambda b: (b * b).sin(), a.exp()) * a, x).exp()

    def many(x):
        return mg.checkpoint(lambda a: a.sort()[0] * 2.0, x).sum()

    model = mg.nn.Sequential(mg.nn.Linear(3, 3), mg.nn.Tanh(), mg.nn.Linear(3, 1))
    layered = lambda x: mg.checkpoint(model, x).sum()
    for f, at in ((nested, 0.5), (many, [3.0, 1.0, 2.0]), (layered, np.ones((2, 3), "float32"))):
        trace = validate(trace_function(f, at))
        assert check_laws(trace) == []
        assert kept(trace)[-1] == frozenset()
        again = [s["node"] for s in trace["steps"] if s["say"].startswith("Computed again")]
        assert again and len(set(again)) <= len(again)
    twice_again = [
        s["node"]
        for s in trace_function(nested, 0.5)["steps"]
        if s["say"].startswith("Computed again")
    ]
    assert twice_again.count("v2") == 2 and twice_again.count("v1") == 1, (
        "the inner region runs again inside the outer one's second run"
    )


def holding(trace):
    """What checkpoints hold after each step, as a count of checkpoints for each value."""
    held, out = Counter(), []
    for step in trace["steps"]:
        held.update(step.get("holds", []))
        held.subtract(step.get("drops", []))
        assert min(held.values(), default=0) >= 0, "nothing is dropped that was not held"
        out.append(+held)
    return out


def test_what_a_checkpoint_holds_is_freed_after_its_last_operation():
    step_of = lambda trace, key: [i for i, s in enumerate(trace["steps"]) if key in s]
    row = lambda x: mg.checkpoint(
        lambda a: a.sin().exp(), mg.checkpoint(lambda a: a.cos().exp(), x)
    )
    trace = validate(trace_function(row, 0.5, mode="reverse"))
    states = holding(trace)
    assert max(map(len, states)) == 2 and states[-1] == Counter()
    for name, operation in (
        ("v2", "v3"),
        ("x", "v1"),
    ):  # the argument, and the first operation, whose turn comes last
        (gone,) = (i for i in step_of(trace, "drops") if name in trace["steps"][i]["drops"])
        assert operation in trace["steps"][gone]["free"], (
            f"{name} dies as {operation} lets its values go for the last time"
        )

    twins = lambda x: (
        mg.checkpoint(lambda a: a.sin().exp(), x) * mg.checkpoint(lambda a: a.cos().exp(), x)
    )
    counts = [held["x"] for held in holding(validate(trace_function(twins, 0.5, mode="reverse")))]
    assert [n for n, before in zip(counts, [0, *counts], strict=False) if n != before] == [
        1,
        2,
        1,
        0,
    ], "two hold the same value"

    nested = lambda x: mg.checkpoint(
        lambda a: mg.checkpoint(lambda b: (b * b).sin(), a.exp()) * a, x
    ).exp()
    trace = validate(trace_function(nested, 0.5, mode="reverse"))
    assert [
        (s.get("holds"), s.get("drops")) for s in trace["steps"] if "holds" in s or "drops" in s
    ] == [
        (["v1"], None),  # the inner checkpoint
        (["x"], ["v1"]),  # the outer one takes over: all inside can be computed again from x
        (["v1"], None),  # the inner one again, in the outer one's second run
        (None, ["v1"]),
        (None, ["x"]),
    ]
    alone = lambda x: mg.checkpoint(lambda a: mg.checkpoint(lambda b: b.sin().exp(), a), x)
    trace = validate(trace_function(alone, 0.5, mode="reverse"))
    assert holding(trace)[-1] == Counter() and all(
        held == Counter("x") for held in holding(trace)[step_of(trace, "holds")[0] : -6]
    )


# Long: a list of functions, and what is freed in each.
def test_a_checkpoint_is_freed_when_its_result_is_dropped():
    block = lambda a: mg.sin(a * a).exp()

    def at_once(x):
        mg.checkpoint(block, x)
        return x.cos()

    def later(x):
        y = mg.checkpoint(block, x)
        a = x.cos()
        y = None  # noqa: F841
        return a * 2.0 * 3.0

    def at_the_end(x):
        y = mg.checkpoint(block, x)  # noqa: F841
        return x.cos() * 2.0

    def one_of_two(x):
        y, z = mg.checkpoint(block, x), mg.checkpoint(block, x)  # noqa: F841
        return y * 2.0

    def inside(x):
        def outer(a):
            mg.checkpoint(block, a.exp())
            return a.sin() * a

        return mg.checkpoint(outer, x)

    def changes(trace):
        """Where values are held or dropped: the step's node and what; the reverse pass of a
        checkpoint in use left out.
        """
        back = next(
            i
            for i, s in enumerate(trace["steps"])
            if s["phase"] == "seed" and s["writes"][0][1] == "g"
        )
        return [
            (s["node"], s.get("holds"), s.get("drops"))
            for s in trace["steps"][:back]
            if "holds" in s or "drops" in s
        ]

    expected = {
        at_once: [("v3", ["x"], ["x"])],
        later: [("v3", ["x"], None), ("v4", None, ["x"])],
        at_the_end: [("v3", ["x"], None), ("v5", None, ["x"])],
        one_of_two: [("v3", ["x"], None), ("v6", ["x"], None), ("v7", None, ["x"])],
        inside: [("v4", ["v1"], ["v1"]), ("v6", ["x"], None)],
    }
    gc.disable()  # what dies, dies when the last reference goes, and not some time later
    try:
        for f, steps in expected.items():
            for mode in ("reverse", "both"):
                trace = validate(trace_function(f, 0.5, mode=mode))
                assert changes(trace) == steps, f"{f.__name__}, {mode}"
                assert holding(trace)[-1] == Counter() and check_laws(trace) == []
    finally:
        gc.enable()
    alive = validate(trace_function(lambda x: mg.checkpoint(block, x), 0.5, mode="primal"))
    assert holding(alive)[-1] == Counter("x"), "what the function returns is not thrown away"


def test_tracing_keeps_nothing_alive_that_the_function_throws_away():
    alive = []

    def f(x):
        y = x.exp()
        place = weakref.ref(y.node)
        alive.append(place() is not None)
        y = x.sin()
        mg.cos(x)  # the trace looks at the variables here
        alive.append(place() is not None)
        return y

    gc.disable()
    try:
        for mode in ("primal", "forward", "reverse", "both"):
            trace = validate(trace_function(f, 0.5, mode=mode))
            assert [n["op"] for n in trace["nodes"] if "op" in n] == ["exp", "sin", "cos"]
    finally:
        gc.enable()
    assert alive == [True, False] * 4, "it dies as it would without a trace"


def test_watching_keeps_no_checkpoint_alive():
    regions = []

    class Regions:
        def begin(self, event):
            if event.phase == "region" and event.params["name"] == FIRST:
                regions.append(weakref.ref(event.params["about"]))

        def end(self, event):
            pass

    with observers.observing(Regions()):
        trace_function(twice, 0.5, mode="reverse")
    assert len(regions) == 1 and regions[0]() is None


def test_a_checkpoint_without_a_reverse_pass_is_freed_once():
    trace = validate(trace_function(twice, 0.5, mode="forward"))
    assert holding(trace)[-1] == Counter("x"), "no reverse pass: it waits for one"
    assert [s["phase"] for s in trace["steps"]].count("free") == 1
    assert not any("keep" in s for s in trace["steps"])


# ---- what the function throws away


class Alive:
    """An observer of the engine beside the recorder: after each operation the earlier ones whose
    nodes live, as v1, v2, …
    """

    def __init__(self):
        self.nodes, self.seen = [], []

    def begin(self, event):
        pass

    def end(self, event):
        if event.phase == "forward" and event.parent is None:
            self.seen.append(self.living())
            self.nodes.append(weakref.ref(event.node) if event.node is not None else lambda: None)

    def living(self):
        return {
            f"v{i}"
            for i, place in enumerate(self.nodes, 1)
            if (node := place()) is not None and (node.saved or node.versions)
        }


def kept_before(trace):
    """What operations keep before each of them runs, and before the reverse pass; as the Trace
    tells it.
    """
    saves = {n["id"] for n in trace["nodes"] if n.get("saved")}
    held, out = set(), {}
    for step in trace["steps"]:
        if step["phase"] == "seed" and step["writes"][0][1] == "g":
            out["end"] = set(held)
        if step["phase"] == "primal":
            out[step["node"]] = set(held)
            held |= {step["node"]} & saves
        assert held >= set(step.get("free", [])), (
            "nothing is freed that was not kept, and nothing twice"
        )
        held -= set(step.get("free", []))
    assert not held, "in the end everything has been freed"
    return out, saves


NAMES = ("a", "b", "c")
LINES = st.one_of(
    st.builds("{} = {}.exp()".format, st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.builds(
        "{} = {} * {}".format,
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
    ),
    st.builds("{} = {} * w".format, st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.builds("{} = helper({})".format, st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.builds("{} = x".format, st.sampled_from(NAMES)),
    st.builds("{}.sin()".format, st.sampled_from(NAMES)),
    st.builds("kept.append({})".format, st.sampled_from(NAMES)),
    st.builds(
        "{} = {}.tanh()".format, st.sampled_from(["kept[:]", "kept[0:1]"]), st.sampled_from(NAMES)
    ).map(lambda line: line.replace(" = ", " = [") + "]"),
    st.just("kept.clear()"),
)


@given(st.lists(LINES, min_size=1, max_size=12), st.sampled_from(["reverse", "both"]))
def test_the_trace_frees_what_the_engine_frees_at_the_same_step(lines, mode):
    helper = [
        "    def helper(u):",
        "        t = u.cos()",
        "        r = u.sin() * w",
        "        return r",
    ]
    source = "\n".join(
        [
            "def f(x):",
            "    a = b = c = x",
            "    kept = []",
            *helper,
            *(f"    {line}" for line in lines),
            "    return a * b",
        ]
    )
    space = {"w": mg.tensor(0.5)}
    exec(compile(source, "<f>", "exec"), space)
    beside = Alive()
    gc.disable()
    try:
        with observers.observing(beside):
            trace = validate(trace_function(space["f"], 0.25, mode=mode, source=source))
    finally:
        gc.enable()
    told, saves = kept_before(trace)
    for i, living in enumerate(beside.seen, 1):
        assert told[f"v{i}"] == living & saves, f"before v{i}"


# Long: a list of functions, and what is freed in each.
def test_dropped_values_are_freed_where_they_are_dropped():
    def dropped(x):
        mg.exp(x)
        return x.sin() * x

    def replaced(x):
        y = x.exp()
        y = x.sin()
        return y * x

    def seen_before(x):
        y = x.sin()
        mg.cos(x)  # the trace looks at the variables here,
        y = None  # noqa: F841
        mg.tan(x)  # and must not hold fast what it saw
        return x * x

    def at_the_end(x):
        y = x.exp()  # noqa: F841
        return x.sin() * 2.0

    def by_a_helper(x):
        def helper(a):
            t = a.exp()  # noqa: F841
            r = a.sin()
            return r

        return helper(x) * 2.0

    def inside_a_checkpoint(x):
        def block(a):
            t = a.cos()  # noqa: F841
            a.exp()
            return a.sin().exp()

        return mg.checkpoint(block, x)

    def by_its_own_pass(x):
        y = x.exp().sin()
        mg.autograd.grad(y, [x])
        z = x.exp().sin()
        mg.autograd.grad(z, [x], retain_graph=True)
        return x * x

    def packed(x):
        with mg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            x.sin()
            return x.exp() * x

    def several(x):
        values, vectors = mg.linalg.eigh(x * mg.eye(2, dtype=mg.float64))
        del values
        mg.cos(x)  # one of two results is still there, and with it what the operation keeps
        del vectors
        mg.sin(x)
        return x * x

    expected = {
        dropped: [("v1", ["v1"]), ("x", ["v3"]), ("x", ["v2"])],
        replaced: [("v2", ["v1"]), ("x", ["v3"]), ("x", ["v2"])],
        seen_before: [("v2", ["v2", "v1"]), ("v3", ["v3"]), ("x", ["v4"])],
        at_the_end: [("v3", ["v1"]), ("x", ["v2"])],
        by_a_helper: [("v2", ["v1"]), ("x", ["v2"])],
        inside_a_checkpoint: [
            ("v2", ["v2"]),
            ("v4", ["v1"]),
            ("v4", ["v3", "v4"]),
            ("v3", ["v4"]),
            ("x", ["v3"]),
        ],
        by_its_own_pass: [("v2", ["v2", "v1"]), ("v5", ["v4", "v3"]), ("x", ["v5"])],
        packed: [("v1", ["v1"]), ("x", ["v3"]), ("x", ["v2"])],
        several: [("v4", ["v4", "v3", "v2", "v1"]), ("v5", ["v5"]), ("x", ["v6"])],
    }
    gc.disable()
    try:
        for f, steps in expected.items():
            trace = validate(trace_function(f, 0.5, mode="reverse"))
            assert [(s["node"], s["free"]) for s in trace["steps"] if "free" in s] == steps, (
                f.__name__
            )
            assert state_at(trace, len(trace["steps"])).freed == {
                n["id"] for n in trace["nodes"] if n.get("saved")
            }
            assert check_laws(trace) == []
            again = [s["node"] for s in trace["steps"] if "keep" in s]
            assert again == (["v3", "v4"] if f is inside_a_checkpoint else []), (
                "what is thrown away again is not kept again"
            )
    finally:
        gc.enable()
    alive = []

    def elsewhere(x):
        alive.append(x.exp())
        return x * x

    trace = trace_function(elsewhere, 0.5, mode="reverse")
    assert [s["free"] for s in trace["steps"] if "free" in s] == [["v2"]], (
        "what is still referenced is kept"
    )


# ---- generations


def test_each_reverse_pass_inside_has_its_own_stage():
    once = lambda f: lambda x: mg.autograd.grad(f(x), [x], create_graph=True)[0]
    f = lambda x: mg.sin(x * x)
    stages = ["primal", "backward", "second backward", "third backward"]
    for order in (1, 2, 3):
        f = once(f)
        trace = validate(trace_function(f, 0.7))
        assert {n["stage"] for n in trace["nodes"]} == set(stages[: order + 1])
        assert check_laws(trace) == []
        sums = [n for n in trace["nodes"] if n.get("op") == "add"]
        assert sums and all(n["stage"] != "primal" for n in sums), (
            "contributions that are added up belong to the pass"
        )
    value = state_at(trace, len(trace["steps"])).cells[trace["outputs"][0], "v"]
    assert value == pytest.approx(
        -12 * 0.7 * np.sin(0.49) - 8 * 0.7**3 * np.cos(0.49)
    )  # (sin x²)''' = −12 x sin x² − 8 x³ cos x²


def test_what_the_user_adds_stays_primal():
    trace = trace_function(
        lambda x: (lambda g: g + g)(mg.autograd.grad(mg.sin(x * x), [x], create_graph=True)[0]), 0.7
    )
    assert trace["nodes"][-1]["stage"] == "primal"
