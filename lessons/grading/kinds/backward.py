"""`Backward`: the student computes all gradients of a graph, by a function or with a class of their
own.

    Backward("gradients")              def gradients(inputs, rows): …
                                       name -> adjoint, for every node
    Backward("Value", form="class")    class Value: operators, .backward(), .grad
    Backward("sweep", form="tape")     def sweep(tape, adjoint): …     fills `adjoint`

The kind tells one mistake from another with small graphs first, each made so that one classic
mistake shows in it alone, then with random ones; the smallest that fails is shown, with the first
wrong node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..comparison import same
from ..exercise import (
    DERIVATIVES,
    Case,
    Exercise,
    Misconception,
    SheetError,
    Where,
    once_for_each_case,
)
from ..graphs import (
    JOINING,
    OPERATIONS,
    SCALAR_OPS,
    Graph,
    by_differences,
    by_engine,
    close,
    first_wrong,
    formula,
    linear_right,
    names,
    of_tape,
    random_graph,
    renamed,
    single,
    tame,
    tape_of,
)
from ..misconceptions import MISTAKES, Mistake, in_some_rules, sweep

RANDOM = 30
"""Random graphs of a submission; the notebook, which checks one student alone, tries 300."""
PRACTICE = 300

HINTS = (
    (
        "Before an adjoint is passed on, all who used the node must have sent a contribution. In"
        " which direction do you go, and how often?"
    ),
    (
        "Each operand of an operation gets one contribution: the operation's own adjoint times the"
        " local derivative, taken at the operands."
    ),
    (
        "A node that was used twice gets two contributions, and they are added: `+=`, starting from"
        " 0, and from 1 at the output."
    ),
)
CHECKED = "Every adjoint is compared with central differences; no answers are kept here."
POINTS = {"single operations": 1, "shared nodes": 2, "random graphs": 2}


def Backward(
    name: str,
    *,
    form: str = "function",
    ops: Sequence[str] = SCALAR_OPS,
    points: Mapping[str, float] | None = None,
    arrays: bool = False,
    again: bool = False,
    random_graphs: int = RANDOM,
    **options: Any,
) -> Exercise:
    """All gradients of graphs made of `ops`.

    form: "function", name(inputs, rows) -> {node: adjoint}, for graphs in the form of
    `minigrad.lessons.grading.graphs`; "class", a class `name` with Python's operators, methods for
    the other operations, .backward() and .grad; "tape", name(tape, adjoint), which fills a
    dictionary. points: of the groups "single operations", "shared nodes" and "random graphs".
    arrays: adds the group "arrays", with matrix products and broadcasting; again: adds the group
    "again", in which a second sweep must give what the first one gave.

    Raises SheetError for an unknown form or operation, and for arrays on a tape.
    """
    if form not in ("function", "class", "tape"):
        raise SheetError(
            f'exercise {name!r}: form must be "function", "class" or "tape", got {form!r}.'
        )
    if unknown := [op for op in ops if op not in SCALAR_OPS]:
        raise SheetError(
            f"exercise {name!r}: {unknown[0]!r} is no operation on numbers; there are"
            f" {', '.join(SCALAR_OPS)}."
        )
    if form == "tape" and (arrays or again):
        raise SheetError(
            f"exercise {name!r}: a tape holds numbers, and begins each sweep with a fresh"
            " dictionary."
        )
    worth = dict(points or POINTS) | (
        {"arrays": 2} if arrays and not (points and "arrays" in points) else {}
    )
    worth |= {"again": 1} if again and not (points and "again" in points) else {}

    def cases_with(count: int) -> Callable[[np.random.Generator], Iterator[Case]]:
        return lambda rng: (case_of(form, *one) for one in _graphs(worth, ops, rng, count))

    kinds_of_ops = {
        *ops,
        *(("matmul", "mean", "broadcast") if arrays else ()),
        *(("again",) if again else ()),
    }
    usual = {"hints": HINTS, "checked": CHECKED, "practice": cases_with(PRACTICE)}
    return of_graphs(
        name, form, worth, cases_with(random_graphs), kinds_of_ops, {**usual, **options}
    )


def _graphs(
    worth: Mapping[str, float], ops: Sequence[str], rng: np.random.Generator, count: int
) -> Iterator[tuple[str, Graph, Graph | None]]:
    """The group of each case, its graph, and the graph of an earlier sweep."""
    if "single operations" in worth:
        for op in ops:
            yield "single operations", single(op, rng), None
    if "shared nodes" in worth:
        for graph in shared_graphs(ops, rng):
            yield "shared nodes", graph, None
    if "random graphs" in worth:
        for i in range(count):  # many nodes, and names that tell no order, among them
            graph = random_graph(rng, ops, 12 if i % 5 == 4 else 6)
            yield "random graphs", renamed(graph, rng) if i % 2 else graph, None
    if "arrays" in worth:
        for graph in array_graphs(rng):
            yield "arrays", graph, None
    if "again" in worth:
        for graph in (
            single(ops[0], rng),
            next(shared_graphs(ops, rng)),
            *(random_graph(rng, ops, 4) for _ in range(3)),
        ):
            yield "again", graph, graph


def case_of(form: str, group: str, graph: Graph, before: Graph | None = None) -> Case:
    """A graph as a case of a form; before: the graph of an earlier sweep."""
    operands = sum(len(row[2]) for row in graph["rows"])
    size = 10.0 * len(graph["rows"]) + operands + (100 if before else 0)
    if form == "tape":
        rows = tape_of(graph)
        return Case.of(group, {"tape": rows, "output": rows[-1][0]}, size=size)
    if form == "class":
        return Case.of(group, {**graph, "sweeps": 2 if before else 1}, size=size)
    return Case.of(group, {"before": before, **graph}, size=size)


def of_graphs(
    name: str,
    form: str,
    worth: Mapping[str, float],
    cases: Callable[[np.random.Generator], Iterator[Case]],
    ops: set[str],
    options: Mapping[str, Any],
) -> Exercise:
    """The exercise of all gradients of the graphs in `cases`, in one of the forms of `Backward`;
    ops: what occurs in them.
    """

    @once_for_each_case
    def right(case: Case) -> dict[str, Any]:
        graph = graph_of(case)
        return linear_right(graph) if form == "tape" else by_engine(graph)

    @once_for_each_case
    def measured(case: Case) -> dict[str, Any]:
        return by_differences(graph_of(case))

    def verify(case: Case, got: Any) -> str:
        return verdict(name, graph_of(case), measured(case), got)

    def where(case: Case, got: Any) -> Where | None:
        return first_wrong(graph_of(case), got, right(case)) if isinstance(got, dict) else None

    drive = {"tape": "sweep", "class": "by_class"}.get(form, "twice")
    usual = {
        "drive": f"minigrad.lessons.grading.harness:{drive}",
        "verify": verify,
        "where": where,
        "present": lambda case: formula(graph_of(case)),
        "misconceptions": tuple(as_misconception(m) for m in MISTAKES if concerns(m, ops, form)),
        "forbid": (DERIVATIVES,),
        "title": f"Exercise {name}",
    }
    exercise = Exercise(name, dict(worth), cases, **{**usual, **options})
    exercise.accept(lambda case, got: verdict(name, graph_of(case), right(case), got))
    return exercise


def graph_of(case: Case) -> Graph:
    """The graph of a case, whichever form it has."""
    args = case.args
    return (
        of_tape(args["tape"])
        if "tape" in args
        else {"inputs": args["inputs"], "rows": args["rows"]}
    )


def verdict(name: str, graph: Graph, right: Mapping[str, Any], got: Any) -> str:
    """Why adjoints are not right, as a sentence; "" if they are."""
    if type(got) is not dict:
        return f"what `{name}` gave is not a dictionary of adjoints."
    for node in reversed(names(graph)):
        if node not in got or got[node] is None:
            return f"`{name}` gave no adjoint for {node}."
        if not isinstance(got[node], int | float | np.ndarray) or isinstance(got[node], bool):
            return f"the adjoint of {node} is not a number."
    if extra := [key for key in got if key not in right]:
        return f"`{name}` gave an adjoint for {extra[0][:40]!r}, which is not a node of this graph."
    wrong = [node for node in reversed(names(graph)) if not close(got[node], right[node])]
    if wrong and np.shape(got[wrong[0]]) != np.shape(right[wrong[0]]):
        return (
            f"the adjoint of {wrong[0]} has the shape {np.shape(got[wrong[0]])}, but the node has"
            f" the shape {np.shape(right[wrong[0]])}."
        )
    if not wrong:
        return ""
    said = same(right[wrong[0]], got[wrong[0]], 1e-6, 1e-6, f"the adjoint of {wrong[0]}")
    return str(said) or f"the adjoint of {wrong[0]} is not right."


def as_misconception(mistake: Mistake) -> Misconception:
    """A broken sweep as what it returns for a case."""

    def on_cases(run: Callable[[Graph, Graph | None], Any]) -> Callable[[Case], Any]:
        def wrong(case: Case) -> Any:
            graph = graph_of(case)
            return run(graph, graph if case.args.get("sweeps", 1) == 2 else case.args.get("before"))

        return wrong

    explains = mistake.explains
    return Misconception(
        mistake.name,
        mistake.say,
        on_cases(mistake.run),
        tuple((say, on_cases(run)) for say, run in mistake.variants),
        None if explains is None else lambda case, got: explains(graph_of(case), got),
        None if mistake.pull is None else lambda pairs: _fitted(mistake, pairs, on_cases),
    )


def _fitted(
    mistake: Mistake, pairs: Sequence[tuple[Case, Any]], on_cases: Any
) -> tuple[str, Callable[[Case], Any]] | None:
    """A mistake in rules, in just those operations in which graphs of one operation show it."""
    pull = mistake.pull
    assert pull is not None
    graphs = [(graph_of(case), got) for case, got in pairs]
    shown: list[str] = []
    # rules that never stand alone, or whose mistake does not show there, such as a left-out adjoint
    # of 1
    hidden: list[str] = []
    for op in mistake.ops:
        alone = [(graph, got) for graph, got in graphs if {row[1] for row in graph["rows"]} == {op}]
        tells = [
            (graph, got)
            for graph, got in alone
            if not agree(in_some_rules(pull, [op])(graph, None), sweep(graph))
        ]
        if not tells:
            hidden.append(op)
        elif all(agree(in_some_rules(pull, [op])(graph, None), got) for graph, got in tells):
            shown.append(op)
    for extra in ((), *((op,) for op in hidden), tuple(hidden)):
        which = [op for op in mistake.ops if op in shown or op in extra]
        run = in_some_rules(pull, which)
        if which and all(agree(run(graph, None), got) for graph, got in graphs):
            return f" It is the rule of {', '.join(f'`{op}`' for op in which)}.", on_cases(run)
    return None


def agree(made: Mapping[str, Any], got: Any) -> bool:
    """Whether what came back are just these adjoints."""
    return type(got) is dict and set(got) == set(made) and all(close(got[n], made[n]) for n in made)


def concerns(mistake: Mistake, ops: set[str], form: str) -> bool:
    """Whether a mistake can be made in graphs of these operations ("broadcast" and "again" count
    as such).
    """
    if form == "tape" and mistake.name in ("seeded with the value", "same operand twice"):
        return mistake.name == "same operand twice"  # the seed is given there
    return not mistake.needs or (form != "tape" and not ops.isdisjoint(mistake.needs))


# ------------------------------------------------------------------------------------------- graphs


def shared_graphs(ops: Sequence[str], rng: np.random.Generator) -> Iterator[Graph]:
    """Graphs in which a node is used more than once: in one operation, in two, and along ways of
    different length.
    """
    two = [op for op in JOINING if op in ops] or [op for op in ops if OPERATIONS[op].operands == 2]
    one = [op for op in ops if OPERATIONS[op].operands == 1]
    for op in two[:2]:
        yield single(op, rng, shared=True)
    if not two:
        raise SheetError(
            "no node can be shared by operations of one operand: give `ops` one of two."
        )
    inner: list[Any] = [["v1", one[0], ["x1"]]] if one else [["v1", two[0], ["x1", "x2"]]]
    for _ in range(2):
        for rows in (
            [*inner, ["v2", two[0], ["v1", "x1"]]],
            [*inner, ["v2", two[-1], ["v1", "v1"]]],
            # The long way and the short way: v1 is met at v4 first, when v2 and v3 have not sent
            # their parts.
            [
                *inner,
                ["v2", two[-1], ["v1", "x1"]],
                ["v3", two[0], ["v2", "v1"]],
                ["v4", two[-1], ["v1", "v3"]],
            ],
            [
                *inner,
                ["v2", two[0], ["v1", "x1"]],
                ["v3", two[-1], ["v2", "x1"]],
                ["v4", two[0], ["v3", "v2"]],
            ],
        ):
            for _ in range(100):
                used = {o for row in rows for o in row[2]}
                graph = {
                    "inputs": {
                        x: float(round(rng.uniform(0.5, 2.0), 1)) for x in ("x1", "x2") if x in used
                    },
                    "rows": rows,
                }
                if tame(graph):
                    yield graph
                    break
        if one:
            inner = [["v1", one[-1], ["x1"]]]


def array_graphs(rng: np.random.Generator) -> Iterator[Graph]:
    """Matrix products (of square matrices too, where a missing transpose shows in the numbers
    alone), broadcasting, sums and means.
    """

    def draw(*shape: int) -> np.ndarray:
        return np.asarray(np.round(rng.uniform(-2, 2, size=shape), 1))

    yield {
        "inputs": {"x1": draw(2, 2), "x2": draw(2, 2)},
        "rows": [["v1", "matmul", ["x1", "x2"]], ["v2", "sum", ["v1"]]],
    }
    yield {
        "inputs": {"x1": draw(2, 2), "x2": draw(2, 2)},
        "rows": [
            ["v1", "matmul", ["x1", "x2"]],
            ["v2", "mul", ["v1", "v1"]],
            ["v3", "mean", ["v2"]],
        ],
    }
    yield {
        "inputs": {"x1": draw(2, 3), "x2": draw(3, 4)},
        "rows": [
            ["v1", "matmul", ["x1", "x2"]],
            ["v2", "mul", ["v1", "v1"]],
            ["v3", "sum", ["v2"]],
        ],
    }
    yield {
        "inputs": {"x1": draw(2, 3), "x2": draw(3)},
        "rows": [["v1", "add", ["x1", "x2"]], ["v2", "sum", ["v1"]]],
    }
    yield {
        "inputs": {"x1": draw(3, 1), "x2": draw(4)},
        "rows": [["v1", "mul", ["x1", "x2"]], ["v2", "mul", ["v1", "v1"]], ["v3", "mean", ["v2"]]],
    }
    yield {
        "inputs": {"x1": draw(2, 2), "x2": draw()},
        "rows": [["v1", "mul", ["x1", "x2"]], ["v2", "mean", ["v1"]]],
    }
    rows = [
        ["v1", "matmul", ["x1", "x2"]],
        ["v2", "add", ["v1", "x3"]],
        ["v3", "mul", ["v2", "v2"]],
        ["v4", "mean", ["v3"]],
    ]
    yield {"inputs": {"x1": draw(4, 3), "x2": draw(3, 2), "x3": draw(2)}, "rows": rows}
