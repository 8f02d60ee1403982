"""What a Trace says of the program: calls, loops and rounds; what conditions decided; what the
function raised."""

import gc
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import pytest

import minigrad as mg
from minigrad.observers import observing
from minigrad.trace import TraceError, check_laws, validate
from minigrad.trace.text import text_of
from minigrad.watch import trace_function
from minigrad.watch.blocks import Blocks
from minigrad.watch.cycle_collector import fewer_collections


def squashed(h, w):
    return mg.tanh(h * w) + 1


def labels(trace, node):
    """The blocks around a node, the outermost first, as (kind, label, rounds of the loop)."""
    blocks, found = {b["id"]: b for b in trace.get("blocks", [])}, []
    block = blocks.get(next(n for n in trace["nodes"] if n["id"] == node).get("block"))
    while block is not None:
        found.insert(0, (block["kind"], block["label"], block.get("rounds")))
        block = blocks.get(block.get("parent"))
    return found


def operations(trace):
    return [n["id"] for n in trace["nodes"] if n["kind"] in ("op", "output")]


def traced(f, *args, **options):
    return validate(trace_function(f, *args, mode="primal", **options))


def test_rounds_are_counted_and_those_without_an_operation_too():
    def every_other(x):
        for i in range(7):
            if i % 3 == 1:
                x = x * 2
        return x

    trace = traced(every_other, 1.0)
    loop = ("loop", "for i in range(7)", 7)
    assert [labels(trace, v) for v in operations(trace)] == [
        [loop, ("round", "2", None)],
        [loop, ("round", "5", None)],
    ]


def test_rounds_are_counted_on_after_an_operation_that_is_refused():
    def undaunted(x):
        for i in range(5):
            if i % 2 == 0:
                with suppress(TypeError, ValueError):
                    x = mg.sin("no number") if i else x @ x
            else:
                x = x * 2
        return x

    trace = traced(undaunted, 1.0)
    loop = ("loop", "for i in range(5)", 5)
    found = [labels(trace, v) for v in operations(trace)]
    assert found == [[loop, ("round", "2", None)], [loop, ("round", "4", None)]]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="lines are followed throughout")
def test_what_an_observed_operation_calls_is_not_followed(monkeypatch):
    heard, started = [], Blocks._started

    def listening(self, before):
        follow = started(self, before)

        def hear(frame, event, arg):
            heard.append(frame.f_code.co_qualname)
            return follow(frame, event, arg)

        return hear

    monkeypatch.setattr(Blocks, "_started", listening)
    traced(lambda x: mg.sin(x), 1.0)
    assert heard[-1] == "run_observed"


def test_what_a_recording_made_is_not_read_again_when_it_ends():
    collector, before, frozen = gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()
    gc.enable()
    gc.unfreeze()
    gc.set_threshold(700, *before[1:])
    try:
        with fewer_collections():
            made = [[] for _ in range(5_000)]
        assert gc.get_count()[0] < 700 and gc.get_freeze_count() == 0
        gc.freeze()
        with fewer_collections():
            made.append([])
        assert gc.get_freeze_count(), "what the program has frozen stays so"
    finally:
        if not frozen:
            gc.unfreeze()
        gc.set_threshold(*before)
        (gc.enable if collector else gc.disable)()


def test_loops_nest_and_begin_again_in_each_round_of_the_outer_one():
    def nested(x):
        for _ in range(2):
            x = x + 1
            for _ in range(2):
                x = x * 2
            while x < 8:
                x = x * 3
        return x

    trace = traced(nested, 1.0)
    found = [labels(trace, v) for v in operations(trace)]
    rounds = [[label for kind, label, _ in one if kind == "round"] for one in found]
    #        +      *           *           <     *           <      +      *  …
    assert rounds[:4] == [["1"], ["1", "1"], ["1", "2"], ["1"]]
    second = [one for one in rounds if one[0] == "2"]
    assert second == [["2"], ["2", "1"], ["2", "2"], ["2"]]
    inner = {b["id"] for b in trace["blocks"] if b["label"] == "for _ in range(2)"}
    assert len(inner) == 3, "the outer loop, and the inner one twice"


def test_breaks_and_continues_and_loops_on_one_line():
    def broken(x):
        for i in range(100):
            if i == 0:
                continue
            x = x * 2
            if i == 3:
                break
        for _ in range(2): x = x + 1  # fmt: skip  # noqa: E701
        return x

    trace = traced(broken, 1.0)
    found = [labels(trace, v) for v in operations(trace)]
    assert [one[-1][1] for one in found] == ["2", "3", "4", "1", "2"]
    assert found[0][0] == ("loop", "for i in range(100)", 4), "four rounds were begun"
    assert found[-1][0] == ("loop", "for _ in range(2)", None), "here the end cannot be told"


def test_functions_are_named_by_their_call_and_modules_by_their_place():
    class Net(mg.nn.Module):
        def __init__(self):
            self.inner = mg.nn.Linear(2, 2)

        def forward(self, x):
            for _ in range(2):
                x = squashed(self.inner(x), 2.0)
            return x

    net = Net()

    def f(x):
        return squashed(net(x), 3.0).sum()

    trace = traced(f, [[1.0, 2.0]])
    found = [[label for _, label, _ in labels(trace, v)] for v in operations(trace)]
    assert found[0] == ["Net", "for _ in range(2)", "1", "inner"]
    assert ["Net", "for _ in range(2)", "2", "squashed(self.inner(x), 2.0)"] in found
    assert found[-2] == ["squashed(net(x), 3.0)"] and found[-1] == []
    lines = [b.get("line") for b in trace["blocks"] if b["label"] == "squashed(net(x), 3.0)"]
    assert lines == [2], "a line of the shown source"


def test_a_composed_function_of_the_library_is_a_call_where_the_users_code_calls_it():
    functional = mg.nn.functional

    def f(x):
        hidden = functional.layer_norm(functional.gelu(x), (2,))
        hidden = mg.nn.GELU()(hidden) + mg.nn.CrossEntropyLoss()(hidden, mg.tensor([0, 1]))
        losses = [functional.mse_loss(hidden, x) for _ in range(2)]
        return functional.cross_entropy(hidden, mg.tensor([0, 1])) + sum(losses)

    trace = traced(f, [[1.0, 2.0], [3.0, 5.0]])
    found = [[(kind, label) for kind, label, _ in labels(trace, v)] for v in operations(trace)]
    sizes = {one[0]: found.count(one) for one in found if one}
    assert all(len(one) <= 1 for one in found), "the functions that it calls are parts of it"
    assert sizes["function", "functional.gelu(x)"] > 2 and sizes["module", "GELU"] > 2
    assert sizes["module", "CrossEntropyLoss"] == sizes["function", "cross_entropy(…)"] > 4
    calls = [block for block in trace["blocks"] if block["label"] == "mse_loss(…)"]
    assert len(calls) == 2, "each call of a comprehension is its own"
    assert {"kind": "function", "label": "cross_entropy(…)", "line": 5}.items() <= (
        trace["blocks"][-1].items()
    )
    assert "blocks" not in traced(functional.gelu, 1.0), "it is the traced function itself"
    arrays = traced(lambda x: mg.kron(x, x).sum() + x.std(), [[1.0, 2.0], [3.0, 5.0]])
    found = [(block["kind"], block["label"]) for block in arrays["blocks"]]
    assert found == [("library", "mg.kron(x, x)"), ("library", "x.std()")]


def test_recursion_generators_and_comprehensions():
    def power(x, n):
        return x if n == 0 else x * power(x, n - 1)

    def many(x):
        for _ in range(3):
            yield x * 2

    def f(x):
        return power(x, 30) + sum(y for y in many(x)) + sum([x + i for i in range(2)])

    trace = traced(f, 1.0)
    deepest = max(len(labels(trace, v)) for v in operations(trace))
    assert deepest == 30 and len(operations(trace)) == 30 + 3 + 3 + 2 + 2 + 2


def test_a_debugger_hears_everything_and_is_put_back():
    heard = []

    def f(x):
        for _ in range(2):
            x = x * 2
        return x

    def debugger(frame, event, arg):
        if frame.f_code is f.__code__:
            heard.append((event, frame.f_lineno - f.__code__.co_firstlineno))
        return debugger

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        trace = traced(f, 1.0)
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)
    assert [e for e in heard if e[0] == "line"] == [("line", n) for n in (1, 2, 1, 2, 1, 3)]
    assert heard[-1] == ("return", 3) and "blocks" in trace


def test_following_ends_where_the_function_raises():
    def f(x):
        raise ValueError("no")

    before = sys.gettrace()
    with pytest.raises(ValueError, match="no"):
        trace_function(f, 1.0)
    assert sys.gettrace() is before


# ---- conditions


def branches(x):
    if x > 0:
        y = x * 2
    elif not x < -1:
        y = x
    else:
        y = -x
    z = y if y < 5 else x
    while z < 3:
        z = z + 1
    if x > 0 and x < 9:
        z = z * 1
    return z


def test_a_condition_says_what_runs_and_what_does_not():
    trace = traced(branches, 1.0)
    text = lambda span: trace["source"]["code"].split("\n")[span[0] - 1][span[1] : span[3]]
    told = [
        (d["answer"], d["loop"], text(d["runs"]) if "runs" in d else "", d.get("skips", [])[:3:2])
        for n in trace["nodes"]
        for d in n.get("decides", ())
    ]
    assert told == [
        (True, False, "y = x * 2", [4, 7]),
        (True, False, "y", [8, 8]),
        (True, True, "z = z + 1", []),
        (False, True, "", [10, 10]),
        (True, False, "", []),
        (True, False, "z = z * 1", []),
    ]
    assert not any(n.get("dangling") for n in trace["nodes"] if "decides" in n)
    computes = [
        d["computes"] for n in trace["nodes"] for d in n.get("decides", ()) if "computes" in d
    ]
    assert computes == [["y", "x"]], "of a conditional expression"
    said = next(s["say"] for s in trace["steps"] if s.get("decides"))
    assert said.endswith("= True. Therefore line 3 runs, lines 4 to 7 do not run.")


@pytest.mark.parametrize(("x", "line"), [(-0.5, 5), (-2.0, 7)])
def test_not_and_elif(x, line):
    trace = traced(branches, x)
    second = [d for n in trace["nodes"] for d in n.get("decides", ())][1]
    assert second["runs"][0] == line and second["answer"] is (line == 5)


def joined(x, y):
    if x > 100 or (x > 0 and not x > 50):
        x = x + 1
    if not (x > 0 or y > 0):
        x = x * 2
    while x < 3 and y > 0:
        x = x + 1
    z = x if x > 9 and y > 0 else y
    assert x > 0 and z > 0
    return x * z


def test_conditions_that_and_or_or_join_are_parts_until_one_decides():
    trace = traced(joined, 1.0, 2.0)
    told = [
        (d["asks"], d["answer"], d.get("part", False))
        for n in trace["nodes"]
        for d in n.get("decides", ())
    ]
    assert told == [
        ("x > 100", False, True),
        ("x > 0", True, True),
        ("x > 100 or (x > 0 and (not x > 50))", True, False),
        ("not (x > 0 or y > 0)", False, False),
        ("x < 3", True, True),
        ("x < 3 and y > 0", True, False),
        ("x < 3 and y > 0", False, False),
        ("x > 9 and y > 0", False, False),
    ]
    said = [s["say"] for s in trace["steps"] if s.get("decides")]
    assert said[0].endswith("x > 100 is false.") and said[1].endswith("x > 0 is true.")
    assert said[2].endswith("is true: line 3 runs.")
    assert not any(n.get("dangling") for n in trace["nodes"]), "an answer was asked of each"


# ---- what the function raised


def test_a_function_that_raises_is_traced_up_to_there_where_that_is_asked_for():
    def engine_error(x, w):
        y = x * 2
        return y @ w

    def inner_error(x, w):
        return squashed(x, w) + helper(x)

    def helper(x):
        return x.item() + {}["missing"]

    def outer_error(x, w):
        return outside(x * 3, w)

    def python_error(x, w):
        print(x * w, end="")
        raise RuntimeError("by hand")

    for f, line, kind, operands in (
        (engine_error, 3, "ShapeError", ["v1", "w"]),
        (inner_error, 2, "KeyError", ["x"]),
        (outer_error, 2, "ShapeError", ["v2", "c1"]),
        (python_error, 3, "RuntimeError", []),
    ):
        arguments = ([1.0, 2.0], [[1.0, 2.0, 3.0]]) if f is engine_error else (1.0, 2.0)
        text = {"engine_error": "y @ w", "outer_error": "b @ mg.ones(2)"}.get(f.__name__)
        with pytest.raises((mg.errors.AutogradError, KeyError, RuntimeError, ValueError)):
            trace_function(f, *arguments)
        trace = validate(trace_function(f, *arguments, partial=True))
        assert trace["title"].startswith(f"{f.__name__}(x, w), x = ")
        last = trace["nodes"][-1]
        assert trace["error"]["type"] == kind and trace["error"]["line"] == line
        assert trace["error"]["node"] == last["id"] and last["failed"]
        assert check_laws(trace) == []
        assert [e["src"] for e in trace["edges"] if e["dst"] == last["id"]] == operands
        assert trace["steps"][-1]["node"] == last["id"] and not trace["steps"][-1]["writes"]
        assert text is None or text_of(last["expr"]) == text
        assert not any(n.get("dangling") for n in trace["nodes"]), "nothing led anywhere yet"


WEIGHT = mg.ones(3)


@pytest.mark.parametrize(
    ("f", "operands"),
    [
        (lambda x: x @ [1.0, 2.0, 3.0], ["x", "c1"]),
        (lambda x: [1.0, 2.0, 3.0] @ x, ["c1", "x"]),
        (lambda x: (x * 2) @ WEIGHT, ["v1", "WEIGHT"]),
        (lambda x: mg.cat([x, x.T, [1.0, 2.0]]), ["x", "v1", "c1"]),
        (lambda x: mg.nn.functional.linear(x, mg.ones(2, 3), WEIGHT), ["x", "c1", "WEIGHT"]),
        (lambda x: x.reshape([5]), ["x"]),
        (lambda x: mg.add(x, [1.0, 2.0, 3.0]), ["x", "c1"]),
        (lambda x: x @ 3.0, ["x"]),  # no plain number, as in every other operation
    ],
)
def test_a_refused_operation_has_its_constants_as_operands(f, operands):
    trace = validate(trace_function(f, [[1.0, 2.0], [3.0, 4.0]], partial=True))
    last = trace["nodes"][-1]
    assert last["failed"]
    assert [e["src"] for e in trace["edges"] if e["dst"] == last["id"]] == operands
    assert trace["steps"][-1]["reads"] == [[name, "v"] for name in operands]
    assert {n["id"]: n["kind"] for n in trace["nodes"]}[operands[-1]] in ("input", "const")


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_what_an_error_frees_is_told_by_no_step(mode):
    """The legend of the graph had "freed", and no reverse pass had run."""
    f = lambda x: mg.tanh(mg.sin(x)) @ 3.0
    trace = validate(trace_function(f, [0.5], mode=mode, partial=True))
    assert [n["saved"] for n in trace["nodes"] if "saved" in n] == [["x"], ["v2"]]
    assert not any("free" in step for step in trace["steps"])


def test_what_fails_stands_in_the_round_the_call_and_the_module_in_which_it_fails():
    net = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.Linear(4, 1))

    def in_a_loop(x):
        for i in range(3):
            try:
                x = mg.sin(x) @ mg.ones(4)
            except mg.errors.ShapeError:  # what is caught leaves no mark
                x = x * 2
            if i == 1:
                x = outside(x, 3.0)
        return x

    for f, x, expected in (
        (in_a_loop, 1.0, ["for i in range(3)", "2", "outside(x, 3.0)"]),
        (lambda x: x / int("no number"), 1.0, []),
        (lambda x: net(x), [[1.0, 2.0]], ["Sequential", "1: Linear"]),
    ):
        trace = validate(trace_function(f, x, partial=True))
        assert trace["nodes"][-1]["failed"]
        assert [label for _, label, _ in labels(trace, trace["nodes"][-1]["id"])] == expected
        used = {node.get("block") for node in trace["nodes"]}
        around = {block.get("parent") for block in trace["blocks"]} if used != {None} else set()
        assert used | around >= {block["id"] for block in trace.get("blocks", [])}


def outside(a, b):
    b = a * b
    return b @ mg.ones(2)


@dataclass
class Checked:
    values: object
    count: int = field(default_factory=partial(int, "no number"))


def checked(u):
    return Checked(u).values


def test_the_generated_init_of_a_dataclass_is_not_the_users_code():
    trace = validate(trace_function(lambda x: checked(x * 2), 1.0, partial=True))
    assert text_of(trace["nodes"][-1]["expr"]) == "Checked(u)"


class FailsBack(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g @ mg.ones(3)


def test_a_rule_that_raises_in_the_reverse_pass_ends_the_trace_at_its_operation():
    f = lambda x: FailsBack.apply(mg.sin(x)) * x
    with pytest.raises(mg.errors.ShapeError):
        trace_function(f, 1.0, mode="reverse")
    trace = validate(trace_function(f, 1.0, mode="reverse", partial=True))
    last = trace["steps"][-1]
    assert trace["error"]["type"] == "ShapeError" and trace["error"]["node"] == "v2"
    assert (last["phase"], last["node"], last["writes"]) == ("adjoint", "v2", [])
    assert text_of(last["formula"]) == "g @ mg.ones(3)" and last["reads"] == [["v2", "g"]]
    assert last["say"].startswith("The reverse pass fails at v2: ShapeError: matmul")
    assert [n["id"] for n in trace["nodes"] if n.get("failed")] == ["v2"]


def test_of_the_engines_rule_that_raises_the_formula_is_the_operation():
    def overwritten(x):
        y = mg.exp(x)
        z = y * x
        y.mul_(2.0)
        return z.sum()

    trace = validate(trace_function(overwritten, [0.5, 1.0], mode="reverse", partial=True))
    last = trace["steps"][-1]
    assert (last["phase"], last["node"], last["reads"]) == ("adjoint", "v2", [["v2", "g"]])
    assert text_of(last["formula"]) == "v1 · x"
    assert last["say"].startswith(
        "The reverse pass fails at v2: InPlaceError: the backward rule of mul needs its first "
    )


def test_the_schema_refuses_wrong_blocks():
    trace = traced(squashed, 1.0, 2.0)
    loop = {"id": "b1", "kind": "loop", "label": "for"}
    for wrong in (
        {"blocks": [{**loop, "parent": "b2"}]},
        {"blocks": [{**loop, "kind": "line"}]},
        {"blocks": [loop, loop]},
        {"error": {"type": "E", "message": "m", "node": "v99"}},
    ):
        with pytest.raises(TraceError, match=r"blocks\[|error"):
            validate({**trace, **wrong})


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="lines are followed all the time")
def test_lines_are_not_followed_while_the_engine_computes():
    """Each call of a Python function would cost as much as an operation."""

    class Spy:
        def begin(self, event):
            inside.append((event.phase, sys.gettrace() is not None))

        end = begin

    class Twice(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            inside.append(("the user's own", sys.gettrace() is not None))
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def f(x):
        with observing(Spy()):
            x = mg.sin(x)
        between.append(sys.gettrace() is not None)
        for _ in range(2):
            x = Twice.apply(x)
        between.append(sys.gettrace() is not None)
        return x

    inside, between, before = [], [], sys.gettrace()
    sys.settrace(None)  # one of a debugger hears everything
    try:
        trace = trace_function(f, 1.0, mode="reverse")
    finally:
        sys.settrace(before)
    assert set(inside) == {("forward", False), ("the user's own", True)}
    assert between == [True, True]
    assert [kind for kind, _, _ in labels(trace, trace["outputs"][0])] == ["loop", "round"]


def test_a_line_that_fails_before_an_operation_stands_for_no_value():
    def f(x):
        y = x * 2
        w = y + undefined  # noqa: F821
        return w

    trace = validate(trace_function(f, 1.0, mode="reverse", partial=True))
    card = trace["nodes"][-1]
    assert card["failed"] and card["label"] == {"base": "w = y + undefined  # noqa: F821"}
    assert (card["expr"], trace["steps"][-1]["formula"]) == ([], [])
    assert card["name"] == "NameError: name 'undefined' is not defined"
    shapes = trace_function(lambda x: x @ mg.zeros(3, 3), 1.0, partial=True)["nodes"][-1]
    assert shapes["expr"] and shapes["label"] == {"base": "v", "sub": "1"}, "an operation"
