"""Graphs that put a student's engine to the test, and what is said of an engine that gets them
wrong.

Forks, shared weights, shortcuts, second passes, 20,000 nodes: lesson 11 asks for them with the
operations of the lessons before, lesson 11b with products, quotients and logarithms as well. Right
answers are not written here: they are computed by minigrad when a check runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import minigrad as mg

from ..engine_suite import STRETCHED, written
from ..grading.comparison import same
from ..grading.exercise import Case, Misconception, Where, once_for_each_case
from ..grading.graphs import (
    Graph,
    Values,
    apply,
    by_engine,
    close,
    evaluate,
    first_wrong,
    formula,
    renamed,
    tame,
)
from ..grading.kinds.backward import agree, concerns, verdict
from ..grading.misconceptions import (
    MISTAKES,
    Mistake,
    in_some_rules,
    right_parts,
    rule_mistake,
    sweep,
)

RULES = (
    "add",
    "sub",
    "matmul",
    "exp",
    "t",
    "square",
    "sum",
    "relu",
    "sum over rows",
    "sum over columns",
)
"""The operations that a student's engine has in lesson 11."""
GROWN = (*RULES, "mul", "div", "log")
"""Those that it has after lesson 11b."""
DEEP = 20_000


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers with two digits after the point, away from 0."""
    return np.asarray(
        np.round(rng.uniform(0.2, 1.5, size=shape) * rng.choice((-1.0, 1.0), size=shape), 2)
    )


def summed(inputs: Mapping[str, np.ndarray], rows: list[Any]) -> Graph:
    """A graph whose last row is a number: the squares of what the rows come to, added up, so
    that each element's adjoint is its own.
    """
    n = 1 + max(int(row[0][1:]) for row in rows)
    last = [[f"v{n}", "square", [rows[-1][0]]], [f"v{n + 1}", "sum", [f"v{n}"]]]
    return {"inputs": dict(inputs), "rows": [*rows, *last]}


def alone(rng: np.random.Generator) -> Iterator[Graph]:
    """One operation of each kind, and sums of every form of broadcasting."""
    a, square = draw(rng, 2, 3), draw(rng, 2, 2)
    yield {"inputs": {"x1": a}, "rows": [["v1", "sum", ["x1"]]]}
    yield {"inputs": {"x1": a}, "rows": [["v1", "square", ["x1"]], ["v2", "sum", ["v1"]]]}
    # After relu an exponential: the slope of a square would be 0 where relu gives 0, and hide what
    # comes back.
    yield {
        "inputs": {"x1": a},
        "rows": [["v1", "relu", ["x1"]], ["v2", "exp", ["v1"]], ["v3", "sum", ["v2"]]],
    }
    for op in ("exp", "t", "sum over rows", "sum over columns"):
        yield summed({"x1": a}, [["v1", op, ["x1"]]])
    yield summed({"x1": square, "x2": draw(rng, 2, 2)}, [["v1", "matmul", ["x1", "x2"]]])
    yield summed({"x1": a, "x2": draw(rng, 3, 4)}, [["v1", "matmul", ["x1", "x2"]]])
    for op in ("add", "sub"):
        yield from broadcast(rng, op)


def broadcast(rng: np.random.Generator, op: str) -> Iterator[Graph]:
    """One operation of two operands, with every form of broadcasting of matrices."""
    for shapes in STRETCHED[:6]:
        inputs = {f"x{i + 1}": draw(rng, *shape) for i, shape in enumerate(shapes)}
        if op == "div":
            inputs["x2"] = inputs["x2"] + np.copysign(0.5, inputs["x2"])
        yield summed(inputs, [["v1", op, ["x1", "x2"]]])


def forked(rng: np.random.Generator) -> Iterator[Graph]:
    """Nodes that are used more than once: twice by one operation, on a long path and a short one,
    as a shared weight, as a shortcut.
    """
    x, w, b = draw(rng, 3, 2), draw(rng, 2, 2), draw(rng, 2)
    yield summed({"x1": x}, [["v1", "add", ["x1", "x1"]]])
    yield summed({"x1": x}, [["v1", "exp", ["x1"]], ["v2", "sub", ["v1", "x1"]]])
    yield summed(
        {"x1": w},
        [["v1", "exp", ["x1"]], ["v2", "matmul", ["v1", "x1"]], ["v3", "add", ["v2", "v1"]]],
    )
    yield summed({"x1": w}, [["v1", "matmul", ["x1", "x1"]]])
    yield summed(
        {"x1": w},
        [
            ["v1", "t", ["x1"]],
            ["v2", "sub", ["v1", "x1"]],
            ["v3", "add", ["v2", "v1"]],
            ["v4", "sub", ["v1", "v3"]],
        ],
    )
    shared = [
        ["v1", "matmul", ["x1", "x2"]],
        ["v2", "add", ["v1", "x3"]],
        ["v3", "exp", ["v2"]],
        ["v4", "matmul", ["v3", "x2"]],
    ]
    yield summed({"x1": x / 4, "x2": w / 2, "x3": b}, [*shared, ["v5", "add", ["v4", "x3"]]])
    yield summed(
        {"x1": x / 4, "x2": w / 2, "x3": b},
        [*shared, ["v5", "add", ["v4", "v3"]], ["v6", "add", ["v5", "x1"]]],
    )


def drawn(rng: np.random.Generator, ops: Sequence[str] = RULES) -> Graph:
    """Ten to fourteen operations on matrices of one shape, out of `ops`; their names tell nothing
    of their order.
    """
    chosen = ["add", "sub", "add", "sub", "matmul", "t", "relu", "exp"]
    chosen += [op for op in ("mul", "div", "log") if op in ops] * 2
    while True:
        inputs = {"x1": draw(rng, 2, 2), "x2": draw(rng, 2, 2), "x3": draw(rng, 1, 2)}
        inputs["x4"] = np.asarray(np.round(rng.uniform(1.3, 2.0, size=(2, 1)), 2))
        known, rows = ["x1", "x2", "v0"], [["v0", "add", ["x1", "x3"]]]

        def make(op: str, *operands: str, rows: list[Any] = rows, known: list[str] = known) -> str:
            rows.append([f"v{len(rows)}", op, list(operands)])
            known.append(rows[-1][0])
            return str(rows[-1][0])

        for _ in range(int(rng.integers(7, 11))):
            op = str(rng.choice(chosen))
            one, two = (known[int(rng.integers(len(known)))] for _ in range(2))
            if op in ("div", "log"):  # of something that is positive, and no 1
                two = make("add", make("square", two), "x4")
            if op == "log":
                make(op, two)
            elif op in ("add", "sub", "mul", "div", "matmul"):
                make(op, one, two)
            else:
                make(op, one)
        while len(unused := _unused(rows)) > 1:
            make("add", *unused[:2])
        used = {o for row in rows for o in row[2]}
        graph = summed({name: x for name, x in inputs.items() if name in used}, rows)
        if tame(graph):
            return renamed(graph, rng)


def _unused(rows: list[Any]) -> list[str]:
    used = {o for row in rows for o in row[2]}
    return [row[0] for row in rows if row[0] not in used]


def graph_case(
    group: str, graph: Graph, call: str, before: list[Any] | None = None, passes: int = 1
) -> Case:
    """A graph to be differentiated. before: rows on the same inputs that are differentiated
    first.
    """
    size = 10.0 * len(graph["rows"]) + sum(len(row[2]) for row in graph["rows"])
    given = {"what": "graph", **graph, "before": before or [], "passes": passes}
    return Case.of(group, given, call=call, size=size)


def deep_cases(rng: np.random.Generator, group: str, call: str) -> Iterator[Case]:
    """A chain of 20,000 operations, and a ladder with 2⁵⁰ paths."""
    for shape, n in (
        ("chain", DEEP + int(rng.integers(100))),
        ("ladder", 50 + int(rng.integers(10))),
    ):
        given = {"what": "deep", "shape": shape, "n": n}
        yield Case.of(group, given, call=call, size=n + 10_000)


def graph_of(case: Case) -> Graph:
    """The graph of a case."""
    return {"inputs": case.args["inputs"], "rows": case.args["rows"]}


def function_of(case: Case) -> Callable[[Any], Any]:
    """The last row of a case with one input, as a function of minigrad's tensors."""

    def f(x: Any) -> Any:
        nodes = {"x1": x}
        for row in case.args["rows"]:
            nodes[row[0]] = apply(mg, row, [nodes[o] for o in row[2]])
        return nodes[case.args["rows"][-1][0]]

    return f


def is_differentiated(case: Case, got: Any) -> str:
    """Why the gradients of a graph are not right."""
    if case.args["what"] == "graph":
        graph = graph_of(case)
        said = verdict("your engine", graph, right_of(case), got)
        return (
            f"in the graph {formula({'inputs': {}, 'rows': graph['rows']})}, {said}" if said else ""
        )
    said = same(right_of(case), got, 1e-9, 1e-9, "the dictionary of the gradients")
    return f"for {told(case)}, {said}" if said else ""


@once_for_each_case
def right_of(case: Case) -> Values:
    """What is right for a case, by minigrad; it is not to be changed."""
    return by_engine(graph_of(case)) if case.args["what"] == "graph" else _deep(**case.args)


def _deep(what: str, shape: str, n: int) -> dict[str, np.ndarray]:
    """The gradients of a chain, in which b is added n times, and of a ladder, on which n − 1
    doublings follow x + b.
    """
    by_x, by_b = (1.0, float(n)) if shape == "chain" else (2.0 ** (n - 1),) * 2
    return {"x": np.array([by_x]), "b": np.array([by_b])}


def first_wrong_node(case: Case, got: Any) -> Where | None:
    """Where the gradients of a graph first go wrong."""
    if case.args["what"] != "graph" or not isinstance(got, dict):
        return None
    return first_wrong(graph_of(case), got, right_of(case))


def told(case: Case) -> str:
    """A case as text."""
    args = case.args
    if args["what"] == "deep":
        each = (
            "adds b to the one before"
            if args["shape"] == "chain"
            else "adds the one before to itself"
        )
        return f"your engine on {args['n']} operations, of which each {each}"
    times = (
        ", twice"
        if args["passes"] == 2
        else ", after another graph of the same inputs"
        if args["before"]
        else ""
    )
    return f"your engine on {formula(graph_of(case))}{times}"


# ---------------------------------------------------------------------------- what is wrong with it

Pairs = Sequence[tuple[Case, Any]]


def _about_graphs(pairs: Pairs) -> list[tuple[Graph, Graph | None, Any]]:
    """(graph, what was differentiated before it, adjoints) of the cases that are graphs."""
    found = []
    for case, got in pairs:
        if case.args["what"] == "graph":
            graph = graph_of(case)
            earlier = {**graph, "rows": case.args["before"]} if case.args["before"] else None
            found.append((graph, graph if case.args["passes"] == 2 else earlier, got))
    return found


def told_by_graphs(mistake: Mistake, otherwise: Callable[[Case], Any]) -> Misconception:
    """A classic mistake of engines, told by the graphs alone. otherwise: what the other cases
    give.
    """

    def agrees(
        run: Callable[[Graph, Graph | None], Any], graphs: list[tuple[Graph, Graph | None, Any]]
    ) -> bool:
        return all(agree(run(graph, before), got) for graph, before, got in graphs)

    def found(pairs: list[tuple[Case, Any]]) -> tuple[str, None] | None:
        graphs = _about_graphs(pairs)
        for say, run in (("", mistake.run), *mistake.variants):
            if graphs and agrees(run, graphs):
                return say, None
        if (
            mistake.explains is not None
            and graphs
            and all(mistake.explains(graph, got) for graph, _, got in graphs)
        ):
            return "", None
        return None if mistake.pull is None else _in_rules(mistake, graphs)

    def wrong(case: Case) -> Any:
        if case.args["what"] == "graph":
            ((graph, before, _),) = _about_graphs([(case, None)])
            return mistake.run(graph, before)
        return otherwise(case)

    return Misconception(mistake.name, mistake.say, wrong, fitted=found)


def _in_rules(mistake: Mistake, graphs: Any) -> tuple[str, None] | None:
    """The mistake in the rules of just those operations in which a graph of one operation shows
    it.
    """
    pull = mistake.pull
    assert pull is not None
    shown = []
    for op in mistake.ops:
        run = in_some_rules(pull, [op])
        alone = [g for g in graphs if _of_one_operation(g[0]) and g[0]["rows"][0][1] == op]
        if any(not agree(run(g, b), sweep(g)) for g, b, _ in alone) and all(
            agree(run(g, b), got) for g, b, got in alone
        ):
            shown.append(op)
    run = in_some_rules(pull, shown)
    if shown and all(agree(run(graph, before), got) for graph, before, got in graphs):
        return f" It is the rule of {', '.join(f'`{op}`' for op in shown)}.", None
    return None


def _of_one_operation(graph: Graph) -> str:
    """What a graph of one operation has in it; "" for another graph."""
    first, *rest = graph["rows"]
    ends = ([], ["sum"], ["exp", "sum"] if first[1] == "relu" else ["square", "sum"])
    if [row[1] for row in rest] not in ends:
        return ""
    values = evaluate(graph)
    stretched = first[1] in ("add", "sub", "mul", "div") and any(
        np.shape(values[o]) != np.shape(values[first[0]]) for o in first[2]
    )
    twice = len(set(first[2])) < len(first[2])
    return "" if twice else written(first[1]) + (" and broadcasting" if stretched else "")


def _by_size(pairs: list[tuple[Case, Any]]) -> tuple[str, None] | None:
    """What the graphs show from the smallest to the largest: at first single operations, then
    forks, many nodes, and second passes.
    """
    alone, others = dict[str, bool](), dict[str, bool]()
    for graph, before, got in _about_graphs(pairs):
        expected = by_engine(graph)
        good = type(got) is dict and all(n in got and close(got[n], expected[n]) for n in expected)
        what = "" if before else _of_one_operation(graph)
        kind = "again" if before else "many" if len(graph["rows"]) > 9 else "fork"
        found, key = (alone, what) if what else (others, kind)
        found[key] = found.get(key, True) and good
    wrong = [what for what, good in alone.items() if not good]
    first = next((what for what in ("`sum`", "`pow`") if what in wrong), "")
    wrong = [
        w for w in wrong if w.partition(" and ")[0] == w or w.partition(" and ")[0] not in wrong
    ]
    if "`exp`" in wrong and "`relu`" in wrong:
        wrong.remove("`relu`")  # its graph ends in an exponential
    if first:
        say = (
            f"Already the graph of {first} alone comes out wrong, and all others end in it: look at"
            " that rule, and at how the loop begins."
        )
    elif wrong:
        say = (
            f"Of the graphs of one operation, those with {_listed(wrong)} come out wrong, and the"
            " others right: look at these rules."
        )
    elif not others.get("fork", True):
        say = (
            "Each operation by itself is right. Where a node is used more than once, something is"
            " lost or comes twice: look at the order of the nodes, and at how the loop puts parts"
            " together."
        )
    elif not others.get("many", True):
        say = (
            "Small graphs are right, and large ones with many forks are not. Look at the order of"
            " the nodes first."
        )
    elif not others.get("again", True):
        say = (
            "The first pass is right, and a second one is not: something of the first is still"
            " there."
        )
    else:
        return None
    return f" {say}", None


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _as_it_came(op: str, x: Any, y: Any, g: Any) -> list[Any]:
    return [g]


def _wrong_half(op: str, x: Any, y: Any, g: Any) -> list[Any]:
    return [g * (x[0] <= 0)]


def _twice_too_much(op: str, x: Any, y: Any, g: Any) -> list[Any]:
    return [2 * np.asarray(c) for c in right_parts(op, x, y, g)]


def _divided(op: str, x: Any, y: Any, g: Any) -> list[Any]:
    """The rule of the mean for that of the sum."""
    return [c * (np.size(g) / np.size(x[0])) for c in right_parts(op, x, y, g)]


OWN_MISTAKES = (
    rule_mistake(
        "not moved back",
        "the transpose sends its adjoint on as it came; each element has to be moved back.",
        _as_it_came,
        ["t"],
    ),
    rule_mistake(
        "the wrong half",
        "relu passes the adjoint where x is negative. It passes where x is positive.",
        _wrong_half,
        ["relu"],
    ),
    rule_mistake(
        "a factor 2 too many",
        "a contribution is twice as large as it should be.",
        _twice_too_much,
        GROWN,
    ),
    rule_mistake(
        "mean instead of sum",
        "a sum is pulled back as if it were a mean: each element gets the whole adjoint,"
        " undivided.",
        _divided,
        ["sum", "sum over rows", "sum over columns"],
    ),
)


def engine_mistakes(
    ops: Sequence[str] = RULES,
    otherwise: Callable[[Case], Any] = right_of,
    more: Sequence[Mistake] = (),
) -> Iterator[Misconception]:
    """What can be wrong with an engine that has these operations. more: what can be wrong with
    some of them besides.
    """
    for mistake in (*more, *MISTAKES, *OWN_MISTAKES):
        if (
            concerns(mistake, {*ops, "broadcast", "again"} - {"exp"}, "function")
            and mistake.name != "order of the names"  # nodes have none here
        ):
            yield told_by_graphs(mistake, otherwise)
    one_rule = replace(OWN_MISTAKES[2], run=in_some_rules(_twice_too_much, ["exp"]))
    yield Misconception(
        "one rule",
        "The smallest graphs tell where to look.",
        told_by_graphs(one_rule, otherwise).wrong,
        fitted=_by_size,
    )
