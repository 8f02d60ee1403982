"""The exercises of lesson 3, as data: the reverse-mode algorithm on a small class of nodes, for y =
eˣ · (eˣ + 1) and others.

Right answers are not written here: they are computed by the engine when a check runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.watch import trace_function

from ..grading.comparison import same
from ..grading.exercise import Case, Exercise, Misconception
from ..grading.kinds import Backward, Number, Order
from ..grading.kinds.answers import cell
from ..workshop import recorded
from .made import Exact, by_name, told_by
from .nodes import RULES, Node, derivatives

# Not annotated, because the viewer shows their source to students.


def f(x1):
    x2 = mg.exp(x1)
    x3 = x2 + mg.tensor(1.0, dtype=mg.float64)
    x4 = x2 * x3
    return x4


POINT = 1.0


@cache
def _trace() -> dict[str, Any]:
    return trace_function(f, POINT, mode="reverse")


def _at(node: str, column: str) -> float:
    """A number of the Trace; node: as the lesson calls it."""
    return cell(_trace(), {"x1": "x1", "x2": "v1", "x3": "v2", "x4": "v3"}[node], column)


def _sent(to: str, number: int) -> float:
    """The contribution with this number that reaches a node."""
    parts = [
        c["product"]
        for s in _trace()["steps"]
        if s["node"] == to and s["phase"] in ("adjoint", "accumulate")
        for c in s["contribs"]
    ]
    return float(parts[number])


PREDICTIONS = (
    Exact(
        "parts-of-x2",
        "Prediction: how many numbers are in the list grad[x2] at the end",
        variable="numbers_in_list",
        answer=lambda: float(
            sum(
                s["node"] == "v1"
                for s in _trace()["steps"]
                if s["phase"] in ("adjoint", "accumulate")
            )
        ),
        because="x2 is used twice, by x3 and by x4, and each of them sends one part.",
        slips=(
            ("There are two arrows out of x2, and each of them brings a part back.", lambda: 1.0),
            (
                "Only nodes that use x2 send it something. x1 does not use x2: x2 is made from x1.",
                lambda: 3.0,
            ),
        ),
        hints=(
            "Which nodes use x2? Look at the right-hand sides of the rows.",
            "Each use sends one part back.",
        ),
    ),
    Number(
        "bar-x2",
        "Prediction: the adjoint of x2",
        variable="adjoint_of_x2",
        answer=lambda: _at("x2", "g"),
        because="x4 sends x3 = e + 1, and x3 sends x2's share of the product, e; together 2e + 1.",
        slips=(
            (
                "That is what x4 sends. x3 sends a part as well, and the two are added.",
                lambda: _sent("v1", 0),
            ),
            (
                "That is what x3 sends. x4 sends a part as well, and the two are added.",
                lambda: _sent("v1", 1),
            ),
            ("The parts are added, not multiplied.", lambda: _sent("v1", 0) * _sent("v1", 1)),
            ("That is the adjoint of x1, one step further.", lambda: _at("x1", "g")),
            ("That is the value of x4.", lambda: _at("x4", "v")),
        ),
        hints=(
            "x4 = x2 · x3 sends to x2 its own adjoint, 1, times x3.",
            "x3 = x2 + 1 sends on what it got, and it got 1 · x2.",
            "So it is x3 + x2, with x2 = e and x3 = e + 1.",
        ),
    ),
    Number(
        "overwritten",
        "Prediction: the adjoint of x1 in your colleague's program",
        variable="colleagues_gradient",
        answer=lambda: _sent("v1", 1) * _at("x2", "v"),
        because=(
            "The part e from x3 overwrote the part e + 1 from x4, so only e was passed on: e · e."
        ),
        slips=(
            (
                (
                    "That is the right gradient. The colleague's program loses one of the two parts"
                    " of x2."
                ),
                lambda: _at("x1", "g"),
            ),
            (
                "Which part arrives last? It is the one that stays; the first one is lost.",
                lambda: _sent("v1", 0) * _at("x2", "v"),
            ),
            (
                "That is what is left at x2. One step is still missing, to x1.",
                lambda: _sent("v1", 1),
            ),
        ),
        hints=(
            "x4 comes first in the sweep, then x3. Both send a part to x2.",
            "The part from x3, which is e, comes last and overwrites the one from x4.",
            "x1 gets what is left at x2, times the derivative of the exponential, e.",
        ),
    ),
)


def colleague() -> dict[str, Any]:
    """The Trace of a program that overwrites where it should append, for f at 1."""
    x1, one = Node(POINT), Node(1.0)
    x2 = RULES["exp"](x1.value)
    x2 = Node(x2[0], (x1,), x2[1], "exp")
    x3 = Node(x2.value + 1.0, (x2, one), lambda g: (g, g), "add")
    x4 = Node(x2.value * x3.value, (x2, x3), lambda g: (g * x3.value, g * x2.value), "mul")

    def run() -> list[float]:
        grad = {x4: 1.0}
        for node in (x4, x3, x2):
            grad.update(zip(node.parents, node.pull(grad[node]), strict=True))
        return [grad[x1]]

    return recorded(
        x4,
        [x1],
        run,
        names={"x1": x1, "x2": x2, "x3": x3, "x4": x4},
        title="f(x1) at x1 = 1 · by a colleague's program",
    )


# --------------------------------------------------------------------------------------- the engine


def _with_long_chain(order: Exercise) -> Exercise:
    """The exercise with a group of its own for a chain that is too deep for recursion."""
    drawn = order.make_cases

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        yield from drawn(rng)
        n = 3000 + int(rng.integers(0, 100))
        # In any order, with any names: reading the dictionary from its start earns nothing.
        names = [f"v{k}" for k in rng.permutation(n)]
        chain = {names[k]: [names[k - 1]] if k else [] for k in rng.permutation(n)}
        yield Case.of("a chain of 3000", {"parents": chain, "output": names[-1]}, size=n)

    return replace(order, make_cases=cases, points={**order.points, "a chain of 3000": 1.0})


ORDER = _with_long_chain(
    Order(
        "topological_order",
        points={"chains": 1, "shared nodes": 1, "random graphs": 1},
        drive="minigrad.lessons.exercises.nodes:order",
        present=lambda case: (
            f"a graph with the parents {case.args['parents']}, output {case.args['output']}"
            if len(case.args["parents"]) < 30
            else f"a chain of {len(case.args['parents'])} nodes"
        ),
        hints=(
            "Start with the output: what must come before it in the list?",
            (
                "Put a node into the list when all its parents are in it, and not before; and no"
                " node twice."
            ),
            (
                "Python allows about 1000 calls inside one another, so keep a list `waiting` with"
                " pairs (node, ready). Take the last; if it is ready, append the node; else, if it"
                " is not done, put (node, True) back, and on top of it (parent, False) for each"
                " parent."
            ),
        ),
    )
)


def _with_bystanders(asked: Exercise) -> Exercise:
    """The exercise with graphs in which a wanted node has no influence on the output."""
    drawn, practised = asked.make_cases, asked.practice
    assert practised is not None

    def more(cases: Any) -> Any:
        def all_cases(rng: np.random.Generator) -> Iterator[Case]:
            yield from cases(rng)
            for op in ("exp", "sin"):
                inputs = {
                    "x1": float(round(rng.uniform(0.5, 2), 1)),
                    "x2": float(round(rng.uniform(0.5, 2), 1)),
                }
                graph = {"inputs": inputs, "rows": [["v1", op, ["x1"]], ["v2", "sin", ["v1"]]]}
                yield Case.of("no influence", {"before": None, **graph}, size=30)

        return all_cases

    return replace(
        asked,
        make_cases=more(drawn),
        practice=more(practised),
        points={**asked.points, "no influence": 1.0},
    )


GRADIENTS = replace(
    _with_bystanders(
        Backward(
            "gradients",
            ops=("add", "sub", "mul", "exp", "sin"),
            points={"single operations": 1, "shared nodes": 2, "random graphs": 1},
            hints=(
                (
                    "Go through `order` from the end. When a node's turn comes, all parts for it"
                    " have arrived: add them up."
                ),
                (
                    "`node.pull(adjoint)` gives one part for each of `node.parents`, in their"
                    " order. A node without parents has none."
                ),
                (
                    "`parts.setdefault(parent, []).append(part)` makes the list when the first part"
                    " arrives. A wanted node that got no part has the gradient 0."
                ),
            ),
        )
    ),
    drive="minigrad.lessons.exercises.nodes:gradients",
)


# ------------------------------------------------------------------------- rules that leave a graph


def _second(x: float, rows: list[Any], times: int) -> float:
    """The derivative by the engine."""

    def run(t: Any) -> Any:
        nodes = {"x": t}
        for name, op, operands in rows:
            args = [nodes[o] for o in operands]
            nodes[name] = {"add": mg.add, "mul": mg.mul, "exp": mg.exp}[op](*args)
        return list(nodes.values())[-1]

    for _ in range(times):
        run = mg.func.grad(run)
    return float(run(mg.tensor(x, dtype=mg.float64)).item())


SHAPES: tuple[tuple[str, list[Any]], ...] = (
    ("mul", [["v1", "mul", ["x", "x"]]]),
    ("mul", [["v1", "mul", ["x", "x"]], ["v2", "mul", ["v1", "x"]]]),
    ("exp", [["v1", "exp", ["x"]]]),
    ("both", [["v1", "exp", ["x"]], ["v2", "mul", ["v1", "x"]]]),
    ("both", [["v1", "exp", ["x"]], ["v2", "mul", ["v1", "v1"]], ["v3", "add", ["v2", "x"]]]),
    ("both", [["v1", "mul", ["x", "x"]], ["v2", "exp", ["v1"]]]),
)
GROUPS = ("value", "first derivative", "second derivative")


def _cases(rng: np.random.Generator) -> Iterator[Case]:
    for times, group in enumerate(GROUPS):
        for _, rows in SHAPES:
            yield Case.of(
                group,
                {"x": float(round(rng.uniform(0.3, 1.2), 2)), "rows": rows, "times": times},
                size=10 * times + len(rows),
            )


def _accept(case: Case, got: Any) -> str:
    what = GROUPS[case.args["times"]]
    if type(got) is not dict or set(got) != {"forgotten", "derivative"}:
        return "what came back is of no use."
    if got["forgotten"] is True:
        return (
            "the first derivative is a plain number: it does not know how it was made, so there is"
            " no second one."
        )
    return same(_second(**case.args), got["derivative"], 1e-9, 1e-9, f"the {what}")


def _in_a_rule(
    name: str,
    say: str,
    product: Callable[..., Any] = lambda g, a, b: (g * b, g * a),
    exponential: Callable[..., float] = lambda g, a: g * math.exp(a),
) -> Misconception:
    """A wrong rule on numbers, told by the first derivatives; what comes of differentiating it
    again is left open.
    """

    def mul(a: Any, b: Any) -> Any:
        a, b = (n if hasattr(n, "parents") else Node(n) for n in (a, b))
        return Node(a.value * b.value, (a, b), lambda g: product(g, a.value, b.value), "mul")

    def exp(a: Any) -> Any:
        return Node(math.exp(a.value), (a,), lambda g: (exponential(g, a.value),), "exp")

    def wrong(case: Case) -> Any:
        return derivatives(
            {"mul": mul, "exp": exp},
            "mul",
            case.args["x"],
            case.args["rows"],
            min(case.args["times"], 1),
        )

    def explains(case: Case, got: Any) -> bool:
        return case.args["times"] == 2 or not same(
            wrong(case)["derivative"], got["derivative"], 1e-9, 1e-9
        )

    return Misconception(name, say, wrong, explains=explains)


GRAPH_RULES = told_by(
    _accept,
    "graph-rules",
    {"value": 1, "first derivative": 1, "second derivative": 2},
    _cases,
    answers=("mul", "exp"),
    drive="minigrad.lessons.exercises.nodes:derivatives",
    forbid=("derivatives",),
    hints=(
        (
            "`pull` gets a node `g` and gives nodes. Which functions of two nodes do you have that"
            " give a node?"
        ),
        "For the product: `mul(g, b)` is a node, `g.value * b.value` is only a number.",
        (
            "The derivative of the exponential is the exponential itself: the node that `exp` is"
            " about to return. Make it first, then give it its `pull`: `y.pull = lambda g: …`."
        ),
    ),
    misconceptions=(
        Misconception(
            "forgets how it was made",
            "`pull` computes with `.value`, so the gradient is a plain number and cannot be"
            " differentiated again. Use `mul` on nodes.",
            lambda case: {
                "forgotten": case.args["times"] == 2,
                "derivative": 0.0 if case.args["times"] == 2 else _second(**case.args),
            },
            fitted=lambda pairs: _forgets(pairs),
        ),
        Misconception(
            "the other operand",
            "the operands are swapped: what belongs to `a` was given to `b`.",
            lambda case: {"forgotten": False, "derivative": _by_rules(case, swapped=True)},
            explains=lambda case, got: (
                case.args["times"] == 2
                or not same(_by_rules(case, swapped=True), got["derivative"], 1e-9, 1e-9)
            ),
        ),
        _in_a_rule(
            "the adjoint left out",
            "the `pull` of `mul` leaves out `g`: what is sent is g times the other operand.",
            product=lambda g, a, b: (b, a),
        ),
        _in_a_rule(
            "the first operand only",
            "the second operand of a product gets nothing.",
            product=lambda g, a, b: (g * b, 0.0),
        ),
        _in_a_rule(
            "exponential of the adjoint",
            "the `pull` of `exp` takes the exponential of `g`. It multiplies g by the exponential"
            " of a.",
            exponential=lambda g, a: math.exp(g),
        ),
        _in_a_rule(
            "the adjoint passed on",
            "the `pull` of `exp` passes `g` on unchanged: multiply it by the node that `exp`"
            " returns.",
            exponential=lambda g, a: g,
        ),
        _in_a_rule(
            "sign of the exponential",
            "the sign in the `pull` of `exp` is reversed.",
            exponential=lambda g, a: -g * math.exp(a),
        ),
        Misconception(
            "the exponential as a constant",
            "the `pull` of `exp` multiplies by a number. That number is a constant for the next"
            " derivative: multiply by the node itself.",
            lambda case: {"forgotten": False, "derivative": _by_rules(case, constant=True)},
        ),
    ),
    present=lambda case: (
        f"the {GROUPS[case.args['times']]} of {_written(case.args['rows'])} at x = {case.args['x']}"
    ),
    checked="Compared with the engine's own derivatives of derivatives.",
)


def _written(rows: list[Any]) -> str:
    """The rows of a graph as a student writes them: v1 = exp(x), v2 = mul(v1, x)."""
    return ", ".join(f"{name} = {op}({', '.join(parents)})" for name, op, parents in rows)


def _forgets(pairs: list[tuple[Case, Any]]) -> tuple[str, None] | None:
    """Whether some first derivative does not know how it was made, and all that comes before a
    second one is right.
    """
    first = all(not _accept(case, got) for case, got in pairs if case.args["times"] < 2)
    return ("", None) if first and any(got["forgotten"] is True for _, got in pairs) else None


def _by_rules(case: Case, *, swapped: bool = False, constant: bool = False) -> float:
    """The derivatives if the two parts of a product change places, or if the exponential's own
    value is taken for a constant.
    """

    def mul(a: Any, b: Any) -> Any:
        a, b = (n if hasattr(n, "parents") else Node(n) for n in (a, b))
        return Node(
            a.value * b.value,
            (a, b),
            lambda g: (mul(g, a), mul(g, b)) if swapped else (mul(g, b), mul(g, a)),
            "mul",
        )

    def exp(a: Any) -> Any:
        y = Node(float(np.exp(a.value)), (a,), None, "exp")
        y.pull = lambda g: (mul(g, y.value if constant else y),)
        return y

    return float(derivatives({"mul": mul, "exp": exp}, "mul", **case.args)["derivative"])


TITLES = {
    "topological_order": "Exercise 1 · The order",
    "gradients": "Exercise 2 · The gradients",
    "graph-rules": "Exercise 3 · Rules that build a graph",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
