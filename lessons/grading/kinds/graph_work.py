"""`Order`, `Executor` and `Gradients`: work on graphs that are data.

    Order("order")              def order(parents, output): …
                                all nodes, operands before those who use them
    Executor("run")             def run(rows, feeds, wanted): …
                                the values of some nodes
    Gradients("gradients")      def gradients(inputs, rows, wanted): …
                                (more rows, the names of the gradients among them)

These answers are judged by a property, because many are right. An order is right if every node
stands after its operands. A gradient graph is right if it computes the right numbers: the student
returns rows, which are data, and the trusted side evaluates them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..comparison import same
from ..exercise import DERIVATIVES, Case, Exercise, Misconception
from ..graphs import (
    OPERATIONS,
    SCALAR_OPS,
    Graph,
    by_differences,
    by_engine,
    close,
    evaluate,
    names,
    output,
    random_graph,
    renamed,
    single,
)
from ..misconceptions import BY_NAME
from .backward import concerns, shared_graphs
from .cost import ordered_problem

SHAPES_OF_ORDER = {"chains": 1, "shared nodes": 1, "random graphs": 1}
MOST_ROWS = 400
"""Rows of a student's gradient graph for one of at most eight operations."""


# -------------------------------------------------------------------------------------------- order


def Order(name: str, *, points: Mapping[str, float] | None = None, **options: Any) -> Exercise:
    """The student writes name(parents, output): the nodes that the output depends on (itself
    included), each after all its operands.

    parents: a dictionary from each node to the list of its operands, in no particular order; an
    input's list is empty.
    """
    worth = dict(points or SHAPES_OF_ORDER)

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        ops = ("add", "mul", "sin")
        for group in worth:
            for i in range(3 if group != "random graphs" else 20):
                if group == "chains":
                    n = int(rng.integers(1, 8)) if i else 1
                    graph: Graph = {
                        "inputs": {"x1": 1.0},
                        "rows": [[f"v{k + 1}", "sin", [f"v{k}" if k else "x1"]] for k in range(n)],
                    }
                elif group == "shared nodes":
                    graph = list(shared_graphs(ops, rng))[2 + i]
                else:
                    graph = renamed(random_graph(rng, ops, 12 if i % 4 == 3 else 8), rng)
                yield Case.of(
                    group,
                    {"parents": shuffled(graph, rng), "output": output(graph)},
                    size=len(graph["rows"]),
                )

    def accept(case: Case, got: Any) -> str:
        return ordered_problem(case.args["parents"], got)

    return Exercise(
        name,
        worth,
        cases,
        told_by=accept,
        misconceptions=tuple(
            Misconception(
                n, say, wrong, explains=_backwards if n == "the wrong way round" else None
            )
            for n, say, wrong in _ORDER_MISTAKES
        ),
        **{
            "hints": (
                "Start with the output: what must stand before it?",
                "Mark a node when it is put into the list, not when you first meet it.",
                (
                    "Depth first: put a node into the list after all its operands have been put"
                    " there; do it with a stack of your own."
                ),
            ),
            "title": f"Exercise {name}",
            "checked": "Any order will do in which each node stands once, after all its parents.",
            **options,
        },
    )


def shuffled(graph: Graph, rng: np.random.Generator) -> dict[str, list[str]]:
    """A graph as {node: operands}, its nodes in a random order; the names tell nothing either."""
    order = names(graph)
    parents: dict[str, list[str]] = {n: [] for n in graph["inputs"]} | {
        row[0]: list(row[2]) for row in graph["rows"]
    }
    return {order[i]: parents[order[i]] for i in rng.permutation(len(order))}


def _breadth_first(case: Case) -> list[str]:
    found, waiting = [], [case.args["output"]]
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found.append(name)
            waiting += case.args["parents"][name]
    return found[::-1]


def _first_met(case: Case) -> list[str]:
    found, waiting = [], [case.args["output"]]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.append(name)
            waiting += case.args["parents"][name][::-1]
    return found[::-1]


def _right_order(case: Case) -> list[str]:
    found: list[str] = []
    waiting = [(case.args["output"], False)]
    while waiting:
        name, done = waiting.pop()
        if done and name not in found:
            found.append(name)
        elif not done and name not in found:
            waiting += [(name, True), *((p, False) for p in reversed(case.args["parents"][name]))]
    return found


def _backwards(case: Case, got: Any) -> bool:
    """Whether an order is right when it is read from its end."""
    return not ordered_problem(case.args["parents"], got[::-1])


def _every_visit(case: Case) -> list[str]:
    found: list[str] = []
    waiting = [(case.args["output"], False)]
    while waiting and len(found) < 1000:
        name, done = waiting.pop()
        if done:
            found.append(name)
        else:
            waiting += [(name, True), *((p, False) for p in reversed(case.args["parents"][name]))]
    return found


_ORDER_MISTAKES = (
    (
        "visit order",
        "a node is put into the list when it is first met, before all who use it were there.",
        _first_met,
    ),
    (
        "breadth first",
        (
            "you go through the graph level by level; a node's level is that of its nearest user,"
            " but its farthest one counts."
        ),
        _breadth_first,
    ),
    (
        "double count",
        "a node that is met twice is put into the list twice: note who is in it already.",
        _every_visit,
    ),
    (
        "the wrong way round",
        "the order is the wrong way round: operands come first.",
        lambda case: _right_order(case)[::-1],
    ),
    (
        "as given",
        "the nodes are returned as they were given.",
        lambda case: list(case.args["parents"]),
    ),
)


# ----------------------------------------------------------------------------------------- executor


def Executor(
    name: str,
    *,
    ops: Sequence[str] = SCALAR_OPS,
    points: Mapping[str, float] | None = None,
    **options: Any,
) -> Exercise:
    """The student writes name(rows, feeds, wanted): a list of the values of the nodes `wanted`.

    rows: [name, operation, operands], in an order that can be computed from first to last; feeds:
    the inputs' values by name.
    """
    worth = dict(points or {"single operations": 1, "graphs": 1, "many wanted": 1})

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        def case(group: str, graph: Graph, wanted: list[str]) -> Case:
            return Case.of(
                group,
                {"rows": graph["rows"], "feeds": graph["inputs"], "wanted": wanted},
                size=len(graph["rows"]) + len(wanted),
            )

        for op in ops:
            yield case("single operations", single(op, rng), ["v1"])
        for _ in range(10):
            graph = random_graph(rng, ops)
            yield case("graphs", graph, [output(graph)])
            graph = random_graph(rng, ops)
            order = names(graph)
            yield case("many wanted", graph, [order[i] for i in rng.permutation(len(order))])

    def accept(case: Case, got: Any) -> str:
        return same(_values(case), got, name=f"what `{name}` returned")

    return Exercise(
        name,
        worth,
        cases,
        told_by=accept,
        misconceptions=_EXECUTOR_MISTAKES,
        **{
            "hints": (
                "Keep a dictionary from names to values; it starts as the feeds.",
                "Go through the rows once: when a row's turn comes, all its operands have values.",
                "At the end look up each wanted name, in the order in which they were asked for.",
            ),
            "title": f"Exercise {name}",
            **options,
        },
    )


def _values(case: Case, rows: Sequence[Any] | None = None) -> list[Any]:
    """The values that are wanted; rows: other ones than the case's."""
    rows = case.args["rows"] if rows is None else rows
    found = evaluate({"inputs": case.args["feeds"], "rows": rows})
    return [found[n] for n in case.args["wanted"]]


def _last_only(case: Case) -> list[Any]:
    found = evaluate({"inputs": case.args["feeds"], "rows": case.args["rows"]})
    return [found[case.args["rows"][-1][0]] for _ in case.args["wanted"]]


def _in_graph_order(case: Case) -> list[Any]:
    found = evaluate({"inputs": case.args["feeds"], "rows": case.args["rows"]})
    return [found[n] for n in found if n in case.args["wanted"]]


def _swapped(case: Case) -> list[Any]:
    return _values(case, [[n, op, operands[::-1]] for n, op, operands in case.args["rows"]])


_EXECUTOR_MISTAKES = (
    Misconception(
        "last node only", "you return the last node's value, whatever is wanted.", _last_only
    ),
    Misconception(
        "order of the answers",
        "the values come in the graph's order, not in that of `wanted`.",
        _in_graph_order,
    ),
    Misconception("the other operand", "operands are swapped: a − b is not b − a.", _swapped),
)


# ---------------------------------------------------------------------------------------- gradients


def Gradients(
    name: str,
    *,
    ops: Sequence[str] = ("add", "sub", "mul", "neg", "sin", "cos"),
    points: Mapping[str, float] | None = None,
    **options: Any,
) -> Exercise:
    """The student writes name(inputs, rows, wanted) -> (new rows, names): a graph that computes the
    derivatives of the last row.

    inputs: the inputs' names; wanted: some of them. The new rows may use any operation of
    `minigrad.lessons.grading.graphs` on numbers, earlier rows, the inputs, and the node "one",
    whose value is 1; `names` tells, for each of `wanted`, which row is its derivative.
    """
    worth = dict(points or {"single operations": 1, "shared nodes": 1, "random graphs": 1})

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        def case(group: str, graph: Graph) -> Case:
            args = {
                "inputs": list(graph["inputs"]),
                "rows": graph["rows"],
                "wanted": list(graph["inputs"]),
            }
            return Case.of(group, args, size=len(graph["rows"]))

        if "single operations" in worth:
            for op in ops:
                yield case("single operations", single(op, rng))
        if "shared nodes" in worth:
            for graph in shared_graphs(ops, rng):
                yield case("shared nodes", graph)
        if "random graphs" in worth:
            for _ in range(10):
                yield case("random graphs", random_graph(rng, ops, 5))

    return Exercise(
        name,
        worth,
        cases,
        verify=lambda case, got: _gradients_problem(name, case, got, by_differences),
        told_by=lambda case, got: _gradients_problem(name, case, got, by_engine),
        misconceptions=tuple(
            Misconception(title, BY_NAME[title].say, lambda case, t=title: gradient_rows(case, t))
            for title in _GRAPH_MISTAKES
            if concerns(BY_NAME[title], set(ops), "function")
        ),
        **{
            "forbid": (DERIVATIVES,),
            "hints": _GRADIENTS_HINTS,
            "title": f"Exercise {name}",
            **options,
        },
    )


def _gradients_problem(name: str, case: Case, got: Any, right: Any) -> str:
    """Why what came back does not compute the derivatives, at three points; "" if it does."""
    if problem := new_rows_problem(case, got):
        return problem
    rows, found = got
    point = np.random.default_rng(len(rows) + len(case.args["rows"]))
    for _ in range(3):
        values = {x: float(point.uniform(0.6, 1.4)) for x in case.args["inputs"]}
        graph: Graph = {"inputs": values, "rows": case.args["rows"]}
        whole: Graph = {"inputs": {**values, "one": 1.0}, "rows": [*case.args["rows"], *rows]}
        made, bars = evaluate(whole), right(graph)
        for wanted, row in zip(case.args["wanted"], found, strict=True):
            if not close(made[row], bars[wanted]):
                return (
                    f"the rows that `{name}` returned do not compute the derivative with respect to"
                    f" {wanted}."
                )
    return ""


_GRADIENTS_HINTS = (
    'The derivative of the output by itself is 1: that is the node "one".',
    (
        "Each rule is a few rows: for a row v = a · b the contribution to a is a new"
        " row, the adjoint of v times b."
    ),
    (
        "Where several contributions reach a node, a row adds them; a node that gets"
        " none has the derivative 0 (one − one)."
    ),
)

_GRAPH_MISTAKES = (
    "overwrites at fan-out",
    "forgets the incoming adjoint",
    "the other operand",
    "sign",
    "first to last",
)


def gradient_rows(case: Case, mistake: str = "") -> list[Any]:
    """A gradient graph for rows of add, sub, mul, neg, sin and cos, with a classic mistake in
    it, or none: symbolic reverse mode.
    """
    bar: dict[str, str] = {case.args["rows"][-1][0]: "one"}
    made: list[list[Any]] = []

    def row(op: str, *operands: str) -> str:
        made.append([f"d{len(made) + 1}", op, list(operands)])
        return str(made[-1][0])

    def sent(op: str, operands: list[str], g: str) -> list[str]:
        a, b = operands[0], operands[-1]
        minus = (lambda n: n) if mistake == "sign" else (lambda n: row("neg", n))
        if mistake == "the other operand" and op == "mul":
            a, b = b, a
        rules: dict[str, Any] = {
            "add": lambda: [g, g],
            "sub": lambda: [g, minus(g)],
            "mul": lambda: [row("mul", g, b), row("mul", g, a)],
            "neg": lambda: [minus(g)],
            "sin": lambda: [row("mul", g, row("cos", a))],
            "cos": lambda: [minus(row("mul", g, row("sin", a)))],
        }
        return list(rules[op]())

    rows = case.args["rows"] if mistake == "first to last" else case.args["rows"][::-1]
    for name, op, operands in rows:
        if name not in bar:
            continue
        g = "one" if mistake == "forgets the incoming adjoint" else bar[name]
        for operand, part in zip(operands, sent(op, operands, g), strict=True):
            bar[operand] = (
                part
                if operand not in bar or mistake == "overwrites at fan-out"
                else row("add", bar[operand], part)
            )
    missing = [row("sub", "one", "one") if w not in bar else bar[w] for w in case.args["wanted"]]
    return [made, missing]


def new_rows_problem(case: Case, got: Any) -> str:
    """Why what came back is no continuation of the case's graph; "" if it is one, so that it can
    be evaluated.
    """
    if (
        type(got) not in (list, tuple)
        or len(got) != 2
        or any(type(part) not in (list, tuple) for part in got)
    ):
        return "two lists are expected: the new rows, and the names of the gradients."
    rows, found = got
    if len(rows) > MOST_ROWS:
        return f"there are more than {MOST_ROWS} new rows."
    known = {*case.args["inputs"], "one", *(row[0] for row in case.args["rows"])}
    for row in rows:
        if (
            type(row) not in (list, tuple)
            or len(row) != 3
            or type(row[0]) is not str
            or type(row[1]) is not str
            or type(row[2]) not in (list, tuple)
        ):
            return "a row is [name, operation, list of operands]."
        name, op, operands = row
        if op not in SCALAR_OPS:
            return f"row {name[:40]!r}: there is no operation {op[:40]!r}."
        if len(operands) != (count := OPERATIONS[op].operands):
            return f"row {name[:40]!r}: {op} takes {count} operands, not {len(operands)}."
        if name in known:
            return f"row {name[:40]!r}: the name is taken."
        if unknown := [o for o in operands if type(o) is not str or o not in known]:
            return (
                f"row {name[:40]!r}: the operand {str(unknown[0])[:40]!r} does not stand before it."
            )
        known.add(name)
    if len(found) != len(case.args["wanted"]) or any(
        type(n) is not str or n not in known for n in found
    ):
        return "the names must be of rows or nodes, one for each that is wanted."
    return ""


__all__ = ["Executor", "Gradients", "Order", "gradient_rows"]
