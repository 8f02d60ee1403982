"""The exercises of lesson 2, as data: evaluation trace, forward and reverse mode of f(x1, x2) =
ln(x1) + x1·x2 − sin(x2) at (2, 5).

Right answers are not written here: they are computed by the engine when a check runs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.trace.text import number
from minigrad.watch import notation, trace_function
from minigrad.watch.values import value as plain

from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception, Where
from ..grading.graphs import one_of, random_graph
from ..grading.kinds import Number, Rules, Sweep, Table
from ..grading.kinds.answers import cell
from ..grading.numeric import close
from ..grading.student_trace import Example
from .made import Exact, by_name

POINT = (2.0, 5.0)


# Not annotated, because the viewer shows their source to students.


def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


def sine_of_product(x1, x2):
    return mg.sin(x1 * x2) / x2


def sine_of_quotient(x1, x2):
    return x2 * mg.sin(x1 / x2)


def twice(x1):
    return x1 + x1


def shared(x1, x2):
    return mg.sin(x1 * x2) * x1


F = Example("f", f, POINT)
PRODUCT = Example("sin(x1 · x2) / x2", sine_of_product, POINT)
QUOTIENT = Example("x2 · sin(x1 / x2)", sine_of_quotient, POINT)


@cache
def _trace(direction: tuple[float, float]) -> dict[str, Any]:
    return trace_function(f, *POINT, tangents=direction)


def _number(node: str, column: str, direction: tuple[float, float] = (1.0, 0.0)) -> float:
    return cell(_trace(direction), node, column)


def _away_from_zero(rng: random.Random) -> float:
    return rng.choice((-1, 1)) * rng.uniform(0.5, 3)


# ------------------------------------------------------------------------------------- dual numbers

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "sin": mg.sin,
    "log": mg.log,
}
SIGNS = {"add": "+", "sub": "−", "mul": "·"}

LESSONS_F = [
    ["v1", "log", ["x1"]],
    ["v2", "mul", ["x1", "x2"]],
    ["v3", "add", ["v1", "v2"]],
    ["v4", "sin", ["x2"]],
]
FORMULAS: tuple[list[Any], ...] = (
    [*LESSONS_F, ["v5", "sub", ["v3", "v4"]]],
    [*LESSONS_F, ["v5", "add", ["v3", "v4"]]],  # its twin, in the article
    [["v1", "mul", ["x1", "x2"]], ["v2", "sin", ["v1"]], ["v3", "mul", ["v2", "x1"]]],
    [
        ["v1", "mul", [3.0, "x1"]],
        ["v2", "add", ["v1", 4.0]],
        ["v3", "log", ["v2"]],
        ["v4", "mul", ["v3", "x2"]],
    ],
    [["v1", "mul", ["x1", "x1"]], ["v2", "mul", ["v1", "x1"]], ["v3", "sub", ["v2", "x2"]]],
)
"""With two inputs each. An operand is a name or a plain number."""

Pair = tuple[float, float]
"""A value and its tangent."""


def _dual_cases(rng: np.random.Generator) -> Iterator[Case]:
    def case(group: str, rows: list[Any], *pairs: Pair, call: str = "Dual") -> Case:
        inputs = {f"x{i}": [float(x), float(dx)] for i, (x, dx) in enumerate(pairs, 1)}
        size = 10.0 * len(rows) + sum(
            1 if x == round(x) else 3 for pair in pairs for x in pair
        )  # whole numbers are easier to follow
        return Case.of(group, {"inputs": inputs, "rows": rows}, call=call, size=size)

    def drawn(n: int, low: float = 0.5) -> list[Pair]:
        return [
            (round(rng.uniform(low, 2.5), 1), round(one_of(rng, (-1, 1)) * rng.uniform(1.5, 3), 1))
            for _ in range(n)
        ]

    for pairs in ([(3, 1), (2, 0)], [(3, 0), (2, 1)], drawn(2), [(-1.5, 2), (4, -1)]):
        yield case("products", [["v1", "mul", ["x1", "x2"]]], *pairs)
    for operands in (["x1", "x1"], [2.5, "x1"], ["x1", 2.5]):
        yield case("products", [["v1", "mul", operands]], *drawn(1))
    for op in ("sin", "log"):
        for pair in ((2, 1), (2, 0), *drawn(3)):
            yield case("sin and log", [["v1", op, ["x1"]]], pair, call=op)
    for rows in FORMULAS:
        for pairs in ([(2, 1), (5, 0)], [(2, 0), (5, 1)], drawn(2)):
            yield case("formulas", rows, *pairs)
    left = 10
    while left:
        graph = random_graph(rng, tuple(OPERATIONS), 5)
        if any(
            op in ("mul", "sin", "log") for _, op, _ in graph["rows"]
        ):  # sums come with the class
            left -= 1
            yield case(
                "formulas",
                graph["rows"],
                *((x, dx) for x, (_, dx) in zip(graph["inputs"].values(), drawn(9), strict=False)),
            )


def _carried(
    case: Case, rules: Mapping[str, Callable[..., Pair]] | None = None, still: float = 0.0
) -> dict[str, list[float]]:
    """Value and tangent of each row: by the engine's forward mode, operation for operation, but by
    `rules` for those that are in it.

    still: the tangent of a plain number.
    """
    rules = rules or {}
    nodes = {name: tuple(pair) for name, pair in case.args["inputs"].items()}
    for name, op, operands in case.args["rows"]:
        args = [nodes[o] if isinstance(o, str) else (o, still) for o in operands]
        if op == "mul" and not isinstance(operands[0], str):
            args.reverse()  # Python asks the dual number on the right: x.__rmul__(3.0)
        with np.errstate(all="ignore"):
            nodes[name] = rules[op](*args) if op in rules else _pushed(op, args)
    return {row[0]: [float(x) for x in nodes[row[0]]] for row in case.args["rows"]}


def _pushed(op: str, args: list[Pair]) -> Pair:
    values, tangents = (
        tuple(mg.tensor(x, dtype=mg.float64) for x in column) for column in zip(*args, strict=True)
    )
    value, tangent = mg.func.jvp(OPERATIONS[op], values, tangents)
    return value.item(), tangent.item()


def _carried_together(cases: Sequence[Case]) -> list[dict[str, list[float]]]:
    """`_carried` by the engine for many cases: a call of forward mode for each operation among
    their first rows, their second rows, …
    """
    nodes = [{name: tuple(pair) for name, pair in case.args["inputs"].items()} for case in cases]
    for k in range(max((len(case.args["rows"]) for case in cases), default=0)):
        calls: dict[str, list[tuple[dict[str, Pair], str, list[Pair]]]] = {}
        for case, known in zip(cases, nodes, strict=True):
            for name, op, operands in case.args["rows"][k : k + 1]:
                args = [known[o] if isinstance(o, str) else (o, 0.0) for o in operands]
                calls.setdefault(op, []).append((known, name, args))
        for op, same in calls.items():
            columns = np.array(
                [args for _, _, args in same]
            )  # (calls, operands, value and tangent)
            values, tangents = (
                tuple(mg.tensor(column) for column in columns[:, :, j].T.copy()) for j in (0, 1)
            )
            with np.errstate(all="ignore"):
                found = [
                    part.numpy().tolist() for part in mg.func.jvp(OPERATIONS[op], values, tangents)
                ]
            for (known, name, _), *pair in zip(same, *found, strict=True):
                known[name] = tuple(pair)
    return [
        {row[0]: list(known[row[0]]) for row in case.args["rows"]}
        for case, known in zip(cases, nodes, strict=True)
    ]


def _formula(row: list[Any]) -> str:
    name, op, operands = row
    words = [o if isinstance(o, str) else number(o) for o in operands]
    return f"{name} = {f' {SIGNS[op]} '.join(words) if op in SIGNS else f'{op}({words[0]})'}"


def _told(case: Case) -> str:
    at = ", ".join(
        f"{name} = Dual({number(x)}, {number(dx)})" for name, (x, dx) in case.args["inputs"].items()
    )
    return f"{'; '.join(map(_formula, case.args['rows']))}  with {at}".replace(
        "Dual(−", "Dual(-"
    ).replace(", −", ", -")


def _wrong_row(
    case: Case, got: Any, right: dict[str, list[float]] | None = None
) -> tuple[list[Any], str, Any, float] | None:
    """The first row that is not right, what of it ("value" or "tangent"; "" if it is no dual
    number), what it is, and what it should be.
    """
    right = right or _carried(case)
    for row in case.args["rows"]:
        pair = got.get(row[0])
        if type(pair) is not list or len(pair) != 2 or any(type(x) is not float for x in pair):
            return row, "", pair, math.nan
        for what, is_, should in zip(("value", "tangent"), pair, right[row[0]], strict=True):
            if not close(is_, should):
                return row, what, is_, should
    return None


def _is_dual(case: Case, got: Any, right: dict[str, list[float]] | None = None) -> str:
    """Values and tangents of all rows are those of the engine."""
    if type(got) is not dict:
        return "what came back is of no use."
    found = _wrong_row(case, got, right)
    if found is None:
        return ""
    row, what, is_, _ = found
    if not what:
        kind = f" (it is of the type {is_[:20]})" if type(is_) is str else ""
        return (
            f"the result of `{_formula(row).partition(' = ')[2]}` is no dual number{kind}: `return"
            " Dual(value, tangent)`."
        )
    return f"the {what} of {_formula(row)} is {number(plain(is_))}, which is not right."


def _where_dual(case: Case, got: Any) -> Where | None:
    """The first wrong row, in the engine's Trace with the student's numbers in it."""
    found = _wrong_row(case, got) if type(got) is dict else None
    if found is None or not found[1]:
        return None
    row, what, is_, should = found
    say = f"the {what} of {_formula(row)} should be {number(should)}, but is {number(plain(is_))}."
    trace, twin = _trace_of(case)
    steps, at = [], 0
    for i, step in enumerate(trace["steps"]):
        node, column, _ = step["writes"][0]
        name, word = twin.get(node), {"v": "value", "d": "tangent"}.get(column)
        pair, right = got.get(name), _carried(case).get(str(name))
        if (
            word
            and right
            and type(pair) is list
            and not close(pair[column == "d"], right[column == "d"])
        ):
            given, needed = pair[column == "d"], right[column == "d"]
            token = notation.symbol(str(name), "dot" if column == "d" else None, column)
            step = {key: of for key, of in step.items() if key != "contribs"} | {
                "writes": [[node, column, plain(given)]],
                "formula": [
                    token | {"node": node},
                    notation.op("="),
                    notation.num(plain(given), column),
                ],
                "say": (
                    f"By your class the {word} of {name} is {number(plain(given))}; it should be"
                    f" {number(needed)}."
                ),
            }
        if (name, word) == (row[0], what):
            at = i + 1
        steps.append(step)
    shown_trace = {**trace, "title": f"{trace['title']} · by your class", "steps": steps}
    return Where(
        row[0],
        say[:1].upper() + say[1:],
        shown_trace,
        at,
        (next(n for n, name in twin.items() if name == row[0]),),
        trace,
    )


def _trace_of(case: Case) -> tuple[dict[str, Any], dict[str, str]]:
    """The engine's Trace of a case in forward mode, and from its nodes to the case's rows."""
    inputs, rows = case.args["inputs"], case.args["rows"]

    def run(*given: Any) -> Any:
        nodes = dict(zip(inputs, given, strict=True))
        for name, op, operands in rows:
            nodes[name] = OPERATIONS[op](*(nodes[o] if isinstance(o, str) else o for o in operands))
        return nodes[rows[-1][0]]

    points, seeds = zip(*inputs.values(), strict=True)
    title = "; ".join(map(_formula, rows))
    trace = trace_function(
        run, *points, mode="forward", tangents=seeds, names=list(inputs), source="", title=title
    )
    for part in (
        trace,
        *trace["nodes"],
        *trace["steps"],
    ):  # there is no source text that a student would know
        for key in ("source", "span", "line"):
            part.pop(key, None)
    made = [node["id"] for node in trace["nodes"] if node["kind"] in ("op", "output")]
    return trace, dict(zip(made, (row[0] for row in rows), strict=True))


def _mistaken(
    name: str, say: str, still: float = 0.0, **rules: Callable[..., Pair]
) -> Misconception:
    """Broken rules on pairs (value, tangent). Where several are broken, each alone is a variant."""

    def of(broken: dict[str, Callable[..., Pair]]) -> Callable[[Case], Any]:
        return lambda case: _carried(case, broken, still)

    alone = (
        tuple((f" It is in `{op}`.", of({op: rule})) for op, rule in rules.items())
        if len(rules) > 1
        else ()
    )
    return Misconception(name, say, of(rules), alone)


def _product(
    tangent: Callable[[float, float, float, float], float],
) -> Callable[[Pair, Pair], Pair]:
    return lambda a, b: (a[0] * b[0], tangent(a[0], b[0], a[1], b[1]))


def _function(
    value: Callable[[float], float], tangent: Callable[[float, float], float]
) -> Callable[[Pair], Pair]:
    return lambda a: (float(value(a[0])), float(tangent(a[0], a[1])))


dual = Exercise(
    "dual",
    {"products": 1, "sin and log": 1, "formulas": 1},
    _dual_cases,
    answers=("Dual", "sin", "log"),
    drive="minigrad.lessons.exercises.drive02:carried",
    forbid=(DERIVATIVES,),
    verify=_is_dual,
    where=_where_dual,
    present=_told,
    checked="The value and the tangent of each row are compared with the engine's forward mode.",
    hints=(
        (
            "A result has two numbers. Its value is what you would compute without tangents; its"
            " tangent is a rule such as those of exercises 1 and 2."
        ),
        (
            "In `__mul__` the values are `a.value` and `b.value`, the tangents `a.tangent` and"
            " `b.tangent`. You may call your `tangent_mul` with these four. For `log` the local"
            " derivative is one over the value."
        ),
        (
            "(a + ȧε)(b + ḃε) = ab + (ȧb + aḃ)ε, and f(a + ȧε) = f(a) + f′(a) ȧ ε: `return"
            " Dual(math.sin(a.value), … * a.tangent)`."
        ),
    ),
    misconceptions=(
        _mistaken(
            "product of the tangents",
            "the tangents of the factors are multiplied. Each factor moves on its own, so there are"
            " two parts, which are added.",
            mul=_product(lambda a, b, da, db: da * db),
        ),
        _mistaken(
            "second part missing",
            "the product's tangent lacks the part in which the second factor moves.",
            mul=_product(lambda a, b, da, db: da * b),
        ),
        _mistaken(
            "first part missing",
            "the product's tangent lacks the part in which the first factor moves.",
            mul=_product(lambda a, b, da, db: a * db),
        ),
        _mistaken(
            "the other factor",
            "the factors are swapped: what moves is multiplied by the *other* factor.",
            mul=_product(lambda a, b, da, db: a * da + b * db),
        ),
        _mistaken(
            "sign of the second part",
            "the two parts of a product are subtracted; they are added.",
            mul=_product(lambda a, b, da, db: da * b - a * db),
        ),
        _mistaken(
            "sum of the tangents",
            "the tangents are added as in a sum.",
            mul=_product(lambda a, b, da, db: da + db),
        ),
        _mistaken(
            "chain rule's factor",
            "the operand's own tangent is forgotten: the local derivative is multiplied by it.",
            sin=_function(np.sin, lambda a, da: np.cos(a)),
            log=_function(np.log, lambda a, da: 1 / a),
        ),
        _mistaken(
            "value instead of derivative",
            "the function's value is used instead of its derivative.",
            sin=_function(np.sin, lambda a, da: np.sin(a) * da),
            log=_function(np.log, lambda a, da: np.log(a) * da),
        ),
        _mistaken(
            "function of the tangent",
            "the function is applied to the tangent. A tangent is only ever multiplied: by the"
            " local derivative.",
            sin=_function(np.sin, lambda a, da: np.sin(da)),
            log=_function(np.log, lambda a, da: np.log(da)),
        ),
        _mistaken(
            "logarithm of the tangent",
            "the logarithm is applied to the tangent, made positive and not 0. A tangent is only"
            " ever multiplied: by the local derivative.",
            log=_function(np.log, lambda a, da: np.log(np.abs(da) + 1)),
        ),
        _mistaken(
            "derivative at the tangent",
            "the derivative is taken at the tangent; it is taken at the value.",
            sin=_function(np.sin, lambda a, da: np.cos(da) * da),
        ),
        _mistaken(
            "sign of the cosine",
            "the sign is reversed: the derivative of the sine is plus the cosine.",
            sin=_function(np.sin, lambda a, da: -np.cos(a) * da),
        ),
        _mistaken(
            "times for over",
            "`log` multiplies by the value where it should divide by it.",
            log=_function(np.log, lambda a, da: a * da),
        ),
        _mistaken(
            "a plain number moves",
            "a plain number in a formula gets the tangent 1. It stands still: its tangent is 0.",
            still=1.0,
        ),
        _mistaken(
            "value and tangent exchanged",
            "value and tangent have changed places: `Dual(value, tangent)`.",
            mul=lambda a, b: (a[1] * b[0] + a[0] * b[1], a[0] * b[0]),
            sin=lambda a: (float(np.cos(a[0]) * a[1]), float(np.sin(a[0]))),
            log=lambda a: (float(a[1] / a[0]), float(np.log(a[0]))),
        ),
    ),
)


@dual.accept_all
def _are_dual(cases: Sequence[Case]) -> Callable[[Case, Any], str]:
    right = dict(zip(map(id, cases), _carried_together(cases), strict=True))
    return lambda case, got: _is_dual(case, got, right[id(case)])


# ------------------------------------------------------------------------------------ all exercises

ASKED = (
    Table(
        "trace",
        f,
        POINT,
        variable="my_trace",
        hints=(
            (
                "Go through the formula as you would with a calculator: each row uses only"
                " rows above it."
            ),
            (
                "`math.log` is the natural logarithm; `math.sin` takes radians. Copy numbers with"
                " at least four digits."
            ),
            "v3 is v1 + v2 and v5 is v3 − v4.",
        ),
    ),
    Number(
        "forward-v4",
        "Prediction: the tangent of v4 = sin x2, with the seed (1, 0)",
        variable="tangent_of_v4",
        answer=lambda: _number("v4", "d"),
        because="x2 does not move in this direction, so nothing that is made of x2 alone moves.",
        slips=(
            (
                (
                    "That is cos x2, the local derivative. It is still to be multiplied by the"
                    " tangent of x2."
                ),
                lambda: math.cos(POINT[1]),
            ),
            ("That is the value of v4, not its tangent.", lambda: _number("v4", "v")),
            ("That is the tangent of x1. v4 does not depend on x1.", lambda: 1.0),
        ),
        hints=(
            "Which of the two inputs does v4 depend on?",
            "The tangent of v4 is ∂v4/∂x2 times the tangent of x2.",
            "The seed (1, 0) gives x2 the tangent 0.",
        ),
    ),
    Number(
        "forward-y",
        "Prediction: the tangent of the result, with the seed (0, 1)",
        variable="tangent_of_y",
        answer=lambda: _number("v5", "d", (0.0, 1.0)),
        because="It is ∂y/∂x2: the product sends x1, and the sine is subtracted.",
        slips=(
            (
                "That is ∂y/∂x1, which the seed (1, 0) gave. Now x2 moves and x1 stands still.",
                lambda: _number("v5", "d"),
            ),
            (
                "The sine is subtracted in f, so its tangent is subtracted too.",
                lambda: POINT[0] + math.cos(POINT[1]),
            ),
            ("Almost: the tangent of sin x2 is missing. It is subtracted.", lambda: POINT[0]),
            (
                "The derivative of the sine is the cosine; you seem to have used the sine itself.",
                lambda: POINT[0] - math.sin(POINT[1]),
            ),
            (
                "`math.cos` takes radians; you seem to have used degrees.",
                lambda: POINT[0] - math.cos(math.radians(POINT[1])),
            ),
            ("That is the value of y, not its tangent.", lambda: _number("v5", "v")),
        ),
        hints=(
            "Only two rows use x2: v2 = x1 · x2 and v4 = sin x2.",
            (
                "The tangent of v2 is now x1 · 1. The tangent of v4 is cos x2 · 1. The result is v3"
                " − v4."
            ),
            "Let Python do the last step: write `x1 - math.cos(x2)` with the numbers of the point.",
        ),
    ),
    Number(
        "reverse-v4",
        "Prediction: the adjoint of v4",
        variable="adjoint_of_v4",
        answer=lambda: _number("v4", "g"),
        because="y = v3 − v4: when v4 grows by a little, y shrinks by as much.",
        slips=(
            (
                "The size is right. But v4 is subtracted: does y grow or shrink when v4 grows?",
                lambda: 1.0,
            ),
            (
                "That is the value of v4. Its adjoint says how strongly y reacts to v4.",
                lambda: _number("v4", "v"),
            ),
            (
                "That is the local derivative of the sine, one step further down.",
                lambda: math.cos(POINT[1]),
            ),
            (
                "y is computed from v4, so it does react to v4.",
                lambda: 0.0,
            ),
        ),
        hints=(
            "v4 is used in one place only: v5 = v3 − v4.",
            "The adjoint of v4 is the adjoint of v5 times ∂v5/∂v4.",
            "The adjoint of v5 is 1.",
        ),
    ),
    Exact(
        "reverse-count",
        "Prediction: how many contributions reach x2",
        variable="contributions_to_x2",
        answer=lambda: float(
            sum(
                s["node"] == "x2"
                for s in _trace((1.0, 0.0))["steps"]
                if s["phase"] in ("adjoint", "accumulate")
            )
        ),
        because="One from v2 = x1 · x2 and one from v4 = sin x2; the adjoint of x2 is their sum.",
        slips=(
            ("x2 occurs in more than one place of the formula. Count its arrows.", lambda: 1.0),
        ),
        hints=("In how many rows of the evaluation trace does x2 occur on the right-hand side?",),
    ),
    Exact(
        "passes",
        "Prediction: the reverse passes for 1000 derivatives",
        variable="reverse_passes",
        answer=lambda: float(len(_trace((1.0, 0.0))["seed"]["adjoints"])),
        because=(
            "The one output is seeded once, and one sweep fills the adjoints of all inputs. Forward"
            " mode would take 1000 passes."
        ),
        slips=(
            ("That is what forward mode needs: one pass for each input.", lambda: 1000.0),
            ("Think of f: did reverse mode need one pass for each of its two inputs?", lambda: 2.0),
            (
                "That is forward and reverse mode together. One of them does it alone.",
                lambda: 1001.0,
            ),
        ),
        hints=(
            "What is seeded in reverse mode: the inputs or the outputs?",
            "How many outputs are there?",
        ),
    ),
    Rules(
        "sin",
        math.sin,
        ("a",),
        op=mg.sin,
        values=((1.0,), (0.0,), (-1.0,), (2.0,)),
        draw=lambda rng: (rng.uniform(-4, 4),),
        examples=(F, PRODUCT),
        hints=(
            (
                "Both rules multiply the operation's own derivative by what arrives: the tangent of"
                " the input, or the adjoint of the result."
            ),
            "The operation's own derivative is taken at its input `a`, not at its result.",
            "The derivative of the sine is the cosine: `math.cos(a)`.",
        ),
    ),
    Rules(
        "mul",
        lambda a, b: a * b,
        ("a", "b"),
        values=((1.0, 2.0), (2.0, 3.0), (-1.0, 2.0)),
        draw=lambda rng: (_away_from_zero(rng), _away_from_zero(rng)),
        examples=(F, PRODUCT),
        hints=(
            (
                "Hold `b` still and move `a` by a little: how much does `a · b` move? Then the"
                " other way round."
            ),
            (
                "Forward, the two effects add up to one number. Backward, they stay separate:"
                " one number for each input."
            ),
            "The product rule: (a · b)˙ = ȧ · b + a · ḃ.",
        ),
    ),
    Rules(
        "div",
        lambda a, b: a / b,
        ("a", "b"),
        values=((1.0, 2.0), (3.0, 2.0), (2.0, -1.0)),
        draw=lambda rng: (_away_from_zero(rng), _away_from_zero(rng)),
        examples=(QUOTIENT, PRODUCT),
        hints=(
            (
                "If `b` grows, does a / b grow or shrink (for positive numbers)? The sign of that"
                " part follows."
            ),
            "Write a / b as a · b⁻¹ and use the product rule; the derivative of b⁻¹ is −b⁻².",
            "The quotient rule: (a / b)˙ = ȧ / b − a · ḃ / b².",
        ),
    ),
    Sweep(
        "reverse_sweep",
        examples=(
            F,
            Example("x1 + x1", twice, (3.0,)),
            Example("x1 · sin(x1 · x2)", shared, POINT),
        ),
        hints=(
            (
                "Before an adjoint is passed on, everything that uses the node must have sent a"
                " contribution. In which direction do you go?"
            ),
            (
                "Each input of an operation gets one contribution: the operation's own adjoint"
                " times the local derivative."
            ),
            (
                "A node that was used twice gets two contributions. What does `+=` do that `=` does"
                " not?"
            ),
        ),
    ),
)

TITLES = {
    "trace": "Your turn · The evaluation trace",
    "sin": "Exercise 1 · The sine",
    "mul": "Exercise 2 · The product",
    "reverse_sweep": "Exercise 3 · The reverse sweep",
    "div": "Exercise 4 · The quotient",
    "dual": "Exercise 5 · Dual numbers: forward mode in one class",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
