"""The milestone of the course, as data: the student's own engine differentiates graphs of every
kind, and trains a network.

Right answers are not written here: they are computed by minigrad when a check runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad.trace import first_divergence
from minigrad.watch import trace_function

from ..grading.calls import Caller, StudentProblem
from ..grading.checking import check_exercise
from ..grading.exercise import DERIVATIVES, Case, Misconception, Where
from ..grading.feedback import Feedback, Line
from ..grading.graphs import Graph, by_engine, close, evaluate, first_wrong, formula, renamed, tame
from ..grading.judge import same
from ..grading.kinds.backward import agree, concerns, verdict
from ..grading.misconceptions import (
    MISTAKES,
    Mistake,
    in_some_rules,
    right_parts,
    rule_mistake,
    sweep,
)
from ..workshop import recorded
from . import wrong_adam
from .made import told_by

SIZES = (2, 25, 25, 25, 2)
RATE = wrong_adam.RATE

# --------------------------------------------------------------- any graph, by the student's engine

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
DEEP = 20_000


def _draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers with two digits after the point, away from 0."""
    return np.asarray(
        np.round(rng.uniform(0.2, 1.5, size=shape) * rng.choice((-1.0, 1.0), size=shape), 2)
    )


def _summed(inputs: Mapping[str, np.ndarray], rows: list[Any]) -> Graph:
    """A graph whose last row is a number: the squares of what the rows come to, added up, so
    that each element's adjoint is its own.
    """
    n = 1 + max(int(row[0][1:]) for row in rows)
    last = [[f"v{n}", "square", [rows[-1][0]]], [f"v{n + 1}", "sum", [f"v{n}"]]]
    return {"inputs": dict(inputs), "rows": [*rows, *last]}


def _alone(rng: np.random.Generator) -> Iterator[Graph]:
    """One operation of each kind, and sums of every form of broadcasting."""
    a, square = _draw(rng, 2, 3), _draw(rng, 2, 2)
    yield {"inputs": {"x1": a}, "rows": [["v1", "sum", ["x1"]]]}
    yield {"inputs": {"x1": a}, "rows": [["v1", "square", ["x1"]], ["v2", "sum", ["v1"]]]}
    # After relu an exponential: the slope of a square would be 0 where relu gives 0, and hide what
    # comes back.
    yield {
        "inputs": {"x1": a},
        "rows": [["v1", "relu", ["x1"]], ["v2", "exp", ["v1"]], ["v3", "sum", ["v2"]]],
    }
    for op in ("exp", "t", "sum over rows", "sum over columns"):
        yield _summed({"x1": a}, [["v1", op, ["x1"]]])
    yield _summed({"x1": square, "x2": _draw(rng, 2, 2)}, [["v1", "matmul", ["x1", "x2"]]])
    yield _summed({"x1": a, "x2": _draw(rng, 3, 4)}, [["v1", "matmul", ["x1", "x2"]]])
    for op in ("add", "sub"):
        for shapes in (
            ((2, 3), (2, 3)),
            ((2, 3), (3,)),
            ((3,), (2, 3)),
            ((2, 1), (2, 3)),
            ((2, 1), (1, 3)),
            ((), (2, 2)),
        ):
            inputs = {f"x{i + 1}": _draw(rng, *shape) for i, shape in enumerate(shapes)}
            yield _summed(inputs, [["v1", op, ["x1", "x2"]]])


def _forked(rng: np.random.Generator) -> Iterator[Graph]:
    """Nodes that are used more than once: twice by one operation, on a long path and a short one,
    as a shared weight, as a shortcut.
    """
    x, w, b = _draw(rng, 3, 2), _draw(rng, 2, 2), _draw(rng, 2)
    yield _summed({"x1": x}, [["v1", "add", ["x1", "x1"]]])
    yield _summed({"x1": x}, [["v1", "exp", ["x1"]], ["v2", "sub", ["v1", "x1"]]])
    yield _summed(
        {"x1": w},
        [["v1", "exp", ["x1"]], ["v2", "matmul", ["v1", "x1"]], ["v3", "add", ["v2", "v1"]]],
    )
    yield _summed({"x1": w}, [["v1", "matmul", ["x1", "x1"]]])
    yield _summed(
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
    yield _summed({"x1": x / 4, "x2": w / 2, "x3": b}, [*shared, ["v5", "add", ["v4", "x3"]]])
    yield _summed(
        {"x1": x / 4, "x2": w / 2, "x3": b},
        [*shared, ["v5", "add", ["v4", "v3"]], ["v6", "add", ["v5", "x1"]]],
    )


def _drawn(rng: np.random.Generator) -> Graph:
    """Ten to fourteen operations on matrices of one shape; their names tell nothing of their
    order.
    """
    while True:
        inputs = {"x1": _draw(rng, 2, 2), "x2": _draw(rng, 2, 2), "x3": _draw(rng, 1, 2)}
        known, unused, rows = ["x1", "x2", "v0"], ["v0"], [["v0", "add", ["x1", "x3"]]]
        for i in range(1, int(rng.integers(8, 12))):
            op = str(rng.choice(["add", "sub", "add", "sub", "matmul", "t", "relu", "exp"]))
            operands = [
                known[int(rng.integers(len(known)))]
                for _ in range(2 if op in ("add", "sub", "matmul") else 1)
            ]
            rows.append([f"v{i}", op, operands])
            known.append(f"v{i}")
            unused = [u for u in [*unused, f"v{i}"] if u not in operands]
        while len(unused) > 1:
            rows.append([f"v{len(rows)}", "add", unused[:2]])
            unused = [*unused[2:], rows[-1][0]]
        used = {o for row in rows for o in row[2]}
        graph = _summed({name: x for name, x in inputs.items() if name in used}, rows)
        if tame(graph):
            return renamed(graph, rng)


def _graphs(rng: np.random.Generator) -> Iterator[Case]:
    def case(group: str, graph: Graph, before: list[Any] | None = None, passes: int = 1) -> Case:
        size = 10.0 * len(graph["rows"]) + sum(len(row[2]) for row in graph["rows"])
        given = {"what": "graph", **graph, "before": before or [], "passes": passes}
        return Case.of(group, given, call="loss_and_gradients", size=size)

    for graph in (*_alone(rng), *_forked(rng), *(_drawn(rng) for _ in range(12))):
        yield case("the engine on other graphs", graph)
    fork = list(_forked(rng))[2]
    yield case("again, and deep", fork, passes=2)
    yield case("again, and deep", fork, before=[["w1", "exp", ["x1"]], ["w2", "sum", ["w1"]]])
    for shape, n in (
        ("chain", DEEP + int(rng.integers(100))),
        ("ladder", 50 + int(rng.integers(10))),
    ):
        given = {"what": "deep", "shape": shape, "n": n}
        yield Case.of("again, and deep", given, call="loss_and_gradients", size=n + 10_000)


def _graph_of(case: Case) -> Graph:
    return {"inputs": case.args["inputs"], "rows": case.args["rows"]}


def _is_differentiated(case: Case, got: Any) -> str:
    """Why the gradients of a graph are not right."""
    if case.args["what"] == "graph":
        graph = _graph_of(case)
        said = verdict("your engine", graph, _right(case), got)
        return (
            f"in the graph {formula({'inputs': {}, 'rows': graph['rows']})}, {said}" if said else ""
        )
    said = same(_deep(**case.args), got, 1e-9, 1e-9, "the dictionary of the gradients")
    return f"for {_told(case)}, {said}" if said else ""


def _deep(what: str, shape: str, n: int) -> dict[str, np.ndarray]:
    """The gradients of a chain, in which b is added n times, and of a ladder, on which n − 1
    doublings follow x + b.
    """
    by_x, by_b = (1.0, float(n)) if shape == "chain" else (2.0 ** (n - 1),) * 2
    return {"x": np.array([by_x]), "b": np.array([by_b])}


def _first_wrong(case: Case, got: Any) -> Where | None:
    if case.args["what"] != "graph" or not isinstance(got, dict):
        return None
    return first_wrong(_graph_of(case), got, _right(case))


def _told(case: Case) -> str:
    """A case as text."""
    args = case.args
    if args["what"] == "graph":
        times = (
            ", twice"
            if args["passes"] == 2
            else ", after another graph of the same inputs"
            if args["before"]
            else ""
        )
        return f"your engine on {formula(_graph_of(case))}{times}"
    if args["what"] == "deep":
        each = (
            "adds b to the one before"
            if args["shape"] == "chain"
            else "adds the one before to itself"
        )
        return f"your engine on {args['n']} operations, of which each {each}"
    trained = f", {args['count']} epochs" if case.call == "own_step" else ""
    return (
        f"{case.call}, with {len(args['values']) // 2} layer(s), {len(args['x'])} point(s){trained}"
    )


# ---------------------------------------------------------------------------- what is wrong with it

Pairs = Sequence[tuple[Case, Any]]


def _about_graphs(pairs: Pairs) -> list[tuple[Graph, Graph | None, Any]]:
    """(graph, what was differentiated before it, adjoints) of the cases that are graphs."""
    found = []
    for case, got in pairs:
        if case.args["what"] == "graph":
            graph = _graph_of(case)
            earlier = {**graph, "rows": case.args["before"]} if case.args["before"] else None
            found.append((graph, graph if case.args["passes"] == 2 else earlier, got))
    return found


def _told_by_graphs(mistake: Mistake) -> Misconception:
    """A classic mistake of engines, told by the graphs, whatever it does to the networks."""

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
        return _right(case)

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


WRITTEN = {
    "add": "`+`",
    "sub": "`-`",
    "matmul": "`@`",
    "square": "`pow`",
    "sum over rows": "`sum(0)`",
    "sum over columns": "`sum(1)`",
}
"""Operations as they are written with a Tensor, where that is not their name."""


def _of_one_operation(graph: Graph) -> str:
    """What a graph of one operation has in it; "" for another graph."""
    first, *rest = graph["rows"]
    ends = ([], ["sum"], ["exp", "sum"] if first[1] == "relu" else ["square", "sum"])
    if [row[1] for row in rest] not in ends:
        return ""
    values = evaluate(graph)
    stretched = first[1] in ("add", "sub") and any(
        np.shape(values[o]) != np.shape(values[first[0]]) for o in first[2]
    )
    twice = len(set(first[2])) < len(first[2])
    return (
        ""
        if twice
        else WRITTEN.get(first[1], f"`{first[1]}`") + (" and broadcasting" if stretched else "")
    )


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
        RULES,
    ),
    rule_mistake(
        "mean instead of sum",
        "a sum is pulled back as if it were a mean: each element gets the whole adjoint,"
        " undivided.",
        _divided,
        ["sum", "sum over rows", "sum over columns"],
    ),
)


NONE_OF_THESE = ("order of the names", "value instead of derivative")
"""Nodes have no names here, and the exponential is its own derivative."""


def _engine_mistakes() -> Iterator[Misconception]:
    ops = {*RULES, "broadcast", "again"}
    for mistake in (*MISTAKES, *OWN_MISTAKES):
        if concerns(mistake, ops, "function") and mistake.name not in NONE_OF_THESE:
            yield _told_by_graphs(mistake)
    yield Misconception(
        "one rule",
        "The smallest graphs tell where to look.",
        lambda case: _told_by_graphs(
            replace(OWN_MISTAKES[2], run=in_some_rules(_twice_too_much, ["exp"]))
        ).wrong(case),
        fitted=_by_size,
    )


# ----------------------------------------------------------- the milestone: one's own engine trains


def _one_operation(target: Any) -> Callable[[Any], Any]:
    """The mean cross-entropy as one operation, as the student's engine has it; so the two Traces
    have the same nodes.
    """

    class cross_entropy(
        mg.autograd.Function
    ):  # a Trace calls an operation by the name of its class
        @staticmethod
        def forward(ctx: Any, scores: Any) -> Any:
            ctx.save_for_backward(scores)
            return nn.functional.cross_entropy(scores, target)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (scores,) = ctx.saved_tensors
            return g * (mg.softmax(scores, 1) - target) / len(scores)

    return cross_entropy.apply


def scores_of(
    x: Any, parameters: Sequence[Any], last: Callable[[Any], Any] = lambda scores: scores
) -> Any:
    """The lesson's network of weights and biases in turn; last: what is done to the scores."""
    for i in range(0, len(parameters), 2):
        x = x @ parameters[i].t() + parameters[i + 1]
        x = mg.relu(x) if i + 2 < len(parameters) else last(x)
    return x


def _names(count: int) -> list[str]:
    """W1, b1, W2, b2, …"""
    return [f"{'Wb'[i % 2]}{i // 2 + 1}" for i in range(count)]


def reference(values: Sequence[Any], x: Any, target: Any) -> dict[str, Any]:
    """minigrad's Trace of the network's loss and its gradients, node for node as the student's
    engine computes them.
    """
    points, cross_entropy = (
        mg.tensor(np.array(x, dtype=float)),
        _one_operation(mg.tensor(np.array(target, dtype=float))),
    )
    return trace_function(
        lambda *parameters: cross_entropy(scores_of(points, parameters)),
        *(mg.tensor(np.array(v, dtype=float)) for v in values),
        mode="reverse",
        names=_names(len(values)),
        title="the network by minigrad",
    )


def _loss_of(
    parameters: Sequence[Any], x: Any, target: Any, last: Any = None, reduction: str = "mean"
) -> Any:
    scores = scores_of(mg.tensor(np.array(x)), parameters, *([last] if last else []))
    return nn.functional.cross_entropy(scores, mg.tensor(np.array(target)), reduction=reduction)


def _differentiated(values: Any, x: Any, target: Any, **options: Any) -> Any:
    """The loss and its gradients by minigrad."""
    parameters = [mg.tensor(np.array(v)).requires_grad_() for v in values]
    loss = _loss_of(parameters, x, target, **options)
    return {
        "loss": loss.item(),
        "gradients": [np.array(g.numpy()) for g in mg.autograd.grad(loss, parameters)],
    }


def _trained(values: Any, x: Any, target: Any, count: int, make: Any = None, **options: Any) -> Any:
    """The losses of so many epochs by minigrad, each before its step, and the last values."""
    parameters = [mg.tensor(np.array(v)).requires_grad_() for v in values]
    optimizer = (make or (lambda p: mg.optim.Adam(p, lr=RATE)))(parameters)
    losses = []
    for _ in range(count):
        optimizer.zero_grad()
        loss = _loss_of(parameters, x, target, **options)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "values": [np.array(p.detach().numpy()) for p in parameters]}


def _networks(rng: np.random.Generator) -> Iterator[Case]:
    for group, sizes, points, count in (
        ("the gradients", (2, 2), 1, 0),
        ("the gradients", (2, 3, 2), 5, 0),
        ("the gradients", (3, 4, 4, 3), 6, 0),
        ("the gradients", SIZES, 20, 0),
        ("some epochs", (2, 4, 2), 6, 5),
        ("some epochs", (2, 3, 3, 3), 8, 8),
        ("the network 2-25-25-25-2", SIZES, 30, 20),
    ):
        values = []
        for before, after in pairwise(sizes):
            bound = (6 / before) ** 0.5
            values += [
                np.asarray(rng.uniform(-bound, bound, size=(after, before))),
                np.asarray(rng.uniform(-0.5, 0.5, size=after)),
            ]
        x = np.asarray(rng.uniform(-1, 1, size=(points, sizes[0])))
        given = {
            "what": "network",
            "values": values,
            "x": x,
            "target": np.eye(sizes[-1])[rng.integers(0, sizes[-1], size=points)],
        }
        call = "own_step" if count else "loss_and_gradients"
        size = 1000.0 + sum(map(np.size, values)) + points + count
        yield Case.of(group, given | ({"count": count} if count else {}), call=call, size=size)


def _cases(rng: np.random.Generator) -> Iterator[Case]:
    yield from _graphs(rng)
    yield from _networks(rng)


def _of_network(case: Case) -> dict[str, Any]:
    """What `_differentiated` and `_trained` are given of a case."""
    return {name: value for name, value in case.args.items() if name != "what"}


@lru_cache(maxsize=256)
def _right(case: Case) -> Any:
    """What is right for a case, by minigrad; it is never changed."""
    if case.args["what"] == "graph":
        return by_engine(_graph_of(case))
    if case.args["what"] == "deep":
        return _deep(**case.args)
    return (_trained if case.call == "own_step" else _differentiated)(**_of_network(case))


def _is_trained(case: Case, got: Any) -> str:
    if case.args["what"] != "network":
        return _is_differentiated(case, got)
    parts = ("losses", "values") if case.call == "own_step" else ("loss", "gradients")
    if type(got) is not dict or set(got) != set(parts):
        pair = (
            "the list of the new values, and the loss"
            if case.call == "own_step"
            else "the loss, and the list of the gradients"
        )
        return f"`{case.call}` should return a pair: {pair}."
    if case.call != "own_step":
        right = _right(case)
        said = same(right["loss"], got["loss"], 1e-6, 1e-9, "the loss")
        return said or same(
            right["gradients"], got["gradients"], 1e-6, 1e-9, "the list of the gradients"
        )
    right = _right(case)
    if said := same(right["losses"], got["losses"], 1e-8, 1e-10, "the list of the losses"):
        first = same(right["losses"][0], got["losses"][0], 1e-6, 1e-9, "the first loss")
        return (
            f"{first[:-1]}; it is that before any step."
            if first
            else f"the first loss is right, but {said}"
        )
    # Adam hardly feels a factor in the gradients: it is seen in the seventh digit and later.
    return same(right["values"], got["values"], 1e-8, 1e-10, "the list of the new values")


def _stepped(
    step: wrong_adam.Step,
    values: Any,
    x: Any,
    target: Any,
    count: int,
    late: bool = False,
    one: bool = False,
) -> Any:
    """Epochs with another step than Adam's. late: the losses after the steps; one: one `state`
    for all parameters.
    """
    values, losses = [np.array(v) for v in values], []
    states: list[Any] = [{} for _ in values]
    states = [states[0]] * len(states) if one else states
    for _ in range(count):
        found = _differentiated(values, x, target)
        values = [step(v, g, s) for v, g, s in zip(values, found["gradients"], states, strict=True)]
        losses.append(_differentiated(values, x, target)["loss"] if late else found["loss"])
    return {"losses": losses, "values": values}


def _in_steps(name: str, say: str, step: wrong_adam.Step, **how: bool) -> Misconception:
    return Misconception(
        name,
        say,
        lambda case: (
            _stepped(step, **_of_network(case), **how) if case.call == "own_step" else None
        ),
    )


def _pushed_back(values: Any, x: Any, target: Any, adjoint: Callable[[Any, Any], Any]) -> Any:
    """The right loss, and the gradients that come of another adjoint of the scores;
    adjoint(softmax, target).
    """
    parameters = [mg.tensor(np.array(v)).requires_grad_() for v in values]
    scores = scores_of(mg.tensor(np.array(x)), parameters)
    back = adjoint(mg.softmax(scores.detach(), 1).numpy(), np.array(target))
    found = mg.autograd.grad(scores, parameters, mg.tensor(np.array(back)))
    return {
        "loss": _differentiated(values, x, target)["loss"],
        "gradients": [np.array(g.numpy()) for g in found],
    }


def _in_networks(
    name: str, say: str, wrong: Callable[..., Any], alone: bool = False
) -> Misconception:
    """A mistake around the engine: the graphs are right, and the networks tell it."""

    def made(case: Case) -> Any:
        if case.call != "loss_and_gradients":
            return None
        return wrong(**_of_network(case)) if case.args["what"] == "network" else _right(case)

    return Misconception(name, say, made, alone=alone)


def _outside(pairs: list[tuple[Case, Any]]) -> tuple[str, None] | None:
    """Whether the graphs and the losses are right, so that what the network's gradients lack is
    in the cross-entropy or the function.
    """
    graphs = [(case, got) for case, got in pairs if case.args["what"] != "network"]
    networks = [(case, got) for case, got in pairs if case.args["what"] == "network"]
    sound = all(not _is_differentiated(case, got) for case, got in graphs)
    losses = all(
        type(got) is dict and not same(_right(case)["loss"], got.get("loss"), 1e-6, 1e-9)
        for case, got in networks
    )
    return ("", None) if sound and losses and networks else None


def _after_the_first(pairs: list[tuple[Case, Any]]) -> tuple[str, None] | None:
    """Whether all losses before a step are right, and all of those after it are not."""
    told = [(_right(case)["losses"], got["losses"]) for case, got in pairs if type(got) is dict]
    before = all(not same(right[0], losses[0], 1e-6, 1e-9) for right, losses in told)
    after = all(same(right[1], losses[1], 1e-8, 1e-10) for right, losses in told)
    return ("", None) if told and before and after else None


def _reversed_gradients(found: dict[str, Any]) -> dict[str, Any]:
    return found | {"gradients": found["gradients"][::-1]}


AFTER = (
    "The loss before the first step is right, and the one after it is not: look at what becomes of"
    " the gradients, which of the values are changed, and by what."
)


def _mistakes() -> Iterator[Misconception]:
    """Around the engine, in it, and in the steps."""
    yield _in_networks(
        "sum over the points",
        "the loss is the sum over the points; it should be their mean.",
        lambda **given: _differentiated(**given, reduction="sum"),
    )
    yield _in_networks(
        "relu on the scores",
        "there is a relu after the last layer too; scores may be negative.",
        lambda **given: _differentiated(**given, last=mg.relu),
    )
    rule = "`pull_cross_entropy`"
    for name, say, adjoint in (
        (
            "mean over the points forgotten",
            f"{rule} does not divide by the number of points.",
            lambda p, t: p - t,
        ),
        (
            "mean over all elements",
            f"{rule} divides by the number of elements, not of points.",
            lambda p, t: (p - t) / p.size,
        ),
        (
            "no target",
            f"{rule} leaves out the target: subtract it from the softmax.",
            lambda p, t: p / len(p),
        ),
        (
            "no softmax",
            f"{rule} leaves out the softmax: it is softmax − target.",
            lambda p, t: -t / len(p),
        ),
        (
            "sign of the scores",
            f"the sign in {rule} is turned round: it is softmax − target.",
            lambda p, t: (t - p) / len(p),
        ),
    ):
        yield _in_networks(
            name, say, lambda adjoint=adjoint, **given: _pushed_back(**given, adjoint=adjoint)
        )
    yield _in_networks(
        "the order of the gradients",
        "the gradients come in another order than the values.",
        lambda **given: _reversed_gradients(_differentiated(**given)),
    )
    yield from _engine_mistakes()
    yield Misconception(
        "around the engine",
        "Your engine is right on all other graphs, and the loss is right: what is left is "
        f"{rule}, and what `loss_and_gradients` asks `gradients` for.",
        lambda case: (
            _pushed_back(**_of_network(case), adjoint=lambda p, t: 2 * (p - t) / len(p))
            if (case.call, case.args["what"]) == ("loss_and_gradients", "network")
            else _right(case)
        ),
        fitted=_outside,
    )
    descent = "you take the step of plain gradient descent; here it is `adam`'s."
    yield _in_steps("gradient descent", descent, lambda p, g, state: p - 0.05 * g)
    yield _in_steps(
        "new dictionaries",
        "`adam` forgets between the epochs: give it the dictionaries from `states`, not new ones.",
        wrong_adam.WRONG["no memory"][1],
    )
    together = "all parameters share one dictionary: each has its own in `states`."
    yield _in_steps("one dictionary for all", together, wrong_adam.RIGHT, one=True)
    yield _in_steps(
        "no step",
        "the values come back as they were: return what `adam` returns.",
        lambda p, g, state: p,
    )
    yield _in_steps(
        "loss after the step",
        "you return the loss after the step; the loss of this epoch is the one before it.",
        wrong_adam.RIGHT,
        late=True,
    )
    for name, (say, step) in wrong_adam.WRONG.items():
        if name not in ("no memory", "no step"):
            yield _in_steps(f"adam: {name}", f"it is `adam`: {say}", step)
    yield replace(
        _in_steps("the step", AFTER, lambda p, g, state: p - 0.01 * np.sign(g) - 0.001),
        fitted=_after_the_first,
    )


GROUPS = {
    "the engine on other graphs": 1.0,
    "again, and deep": 1.0,
    "the gradients": 1.0,
    "some epochs": 1.0,
    "the network 2-25-25-25-2": 1.0,
}

OWN_STEP = told_by(
    _is_trained,
    "own_step",
    GROUPS,
    _cases,
    answers=("loss_and_gradients", "own_step"),
    drive="minigrad.lessons.exercises.drive11:by_own_engine",
    forbid=(DERIVATIVES, "minigrad.optim"),
    where=_first_wrong,
    checked=(
        "Your engine differentiates graphs with forks, shared weights, shortcuts and 20,000"
        " operations; then losses, gradients and trained parameters are held against those of"
        " minigrad, from the same first numbers."
    ),
    present=_told,
    limit_s=15.0,
    hints=(
        (
            "A NameError? Run the cell with unpack() twice: it brings your engine. Then: nodes,"
            " loss, order, gradients; and the step."
        ),
        (
            "parameters = [Tensor(v) for v in values], and x becomes a Tensor too. `gradients`"
            " wants an order, and the list of parameters."
        ),
        (
            "loss = cross_entropy(scores_of(Tensor(x), parameters), target), and"
            " gradients(topological_order(loss), parameters). The step: [adam(v, g, s) for v, g, s"
            " in zip(values, found, states)]."
        ),
    ),
    misconceptions=tuple(_mistakes()),
)


def _check_own_step(*answers: Any) -> Feedback:
    """As the common check; where the student's rules or loop are to blame, with the first wrong
    step of them in the viewer.
    """
    feedback = check_exercise(replace(OWN_STEP, notebook=None), answers)
    if feedback.status == "wrong":
        with suppress(
            StudentProblem, KeyError, TypeError, AttributeError, ValueError
        ):  # nothing to be shown: the verdict stands alone
            _show_on_trace(getattr(answers[0], "__globals__", {}), feedback)
    return feedback


def _show_on_trace(written: dict[str, Any], feedback: Feedback) -> None:
    case = list(_networks(np.random.default_rng(0)))[1].args
    parameters = [written["Tensor"](v) for v in case["values"]]
    names = dict(zip(_names(len(parameters)), parameters, strict=True))

    def loss_of() -> Any:
        return written["cross_entropy"](
            written["scores_of"](written["Tensor"](case["x"]), parameters), case["target"]
        )

    loss = Caller().call(loss_of, (), "your engine")
    run = lambda: written["gradients"](written["topological_order"](loss), parameters)
    trace = recorded(loss, parameters, run, names=names, title="a network 2-3-2 by your engine")
    parting = first_divergence(reference(case["values"], case["x"], case["target"]), trace)
    if parting is not None and parting.node is not None:
        own = [
            i
            for i, step in enumerate(trace["steps"])
            if [parting.node, parting.column] in [[n, c] for n, c, _ in step["writes"]]
        ]
        feedback.trace, feedback.step = trace, own[-1] + 1 if own else len(trace["steps"])
        feedback.lines.append(
            Line(
                "note",
                f"In a network 2-3-2 by your engine the first wrong node is {parting.node}:"
                f" {parting.say}",
            )
        )


OWN_STEP.notebook = _check_own_step
