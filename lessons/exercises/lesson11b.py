"""The exercises of lesson 11b, as data: the student's engine gets products, quotients, logarithms,
forward mode, and second derivatives.

Right answers are not written here. Gradients are compared with minigrad's reverse mode, tangents
against central differences and the dot-product identity, Hessian-vector products against
differences of gradients and the symmetry of the Hessian.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import minigrad as mg

from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception, Where
from ..grading.graphs import (
    Graph,
    Values,
    apply,
    by_engine,
    evaluate,
    first_wrong_tangent,
    formula,
    output,
    tame,
)
from ..grading.misconceptions import Mistake, Pull, right_parts, rule_mistake, summed_to
from .engine_graphs import (
    GROWN,
    broadcast,
    deep_cases,
    draw,
    drawn,
    engine_mistakes,
    first_wrong_node,
    forked,
    function_of,
    graph_case,
    graph_of,
    is_differentiated,
    summed,
    told,
)
from .made import Exact, by_name, told_by

ENGINE = "minigrad.lessons.exercises.own_engine"

# ------------------------------------------------------------------------- products and their like


def _positive(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.asarray(np.round(rng.uniform(1.3, 2.5, size=shape), 2))


def _grown_cases(rng: np.random.Generator) -> Iterator[Case]:
    call = "pull_mul"
    for group, op in (("products", "mul"), ("quotients", "div")):
        for graph in broadcast(rng, op):
            yield graph_case(group, graph, call)
    for shape in ((), (3,), (2, 3)):
        graph = summed({"x1": _positive(rng, *shape)}, [["v1", "log", ["x1"]]])
        yield graph_case("logarithms", graph, call)
    x, b = draw(rng, 2, 2), _positive(rng, 2, 2)
    for rows in (
        [["v1", "mul", ["x1", "x1"]]],
        [["v1", "div", ["x1", "x1"]], ["v2", "mul", ["v1", "x1"]]],
        [["v1", "mul", ["x1", "x2"]], ["v2", "div", ["v1", "x1"]], ["v3", "mul", ["v2", "v1"]]],
        [["v1", "log", ["x2"]], ["v2", "div", ["x1", "v1"]], ["v3", "sub", ["v2", "v1"]]],
    ):
        used = {o for row in rows for o in row[2]}
        inputs = {name: a for name, a in (("x1", x), ("x2", b)) if name in used}
        yield graph_case("the whole engine", summed(inputs, rows), call)
    # Each element of a sum over one axis has an adjoint of its own, and no two sizes are equal, so
    # that an adjoint of the wrong axis or of ones shows.
    for op, size in (("sum over rows", 3), ("sum over columns", 2)):
        inputs = {"x1": draw(rng, 2, 3), "x2": draw(rng, size)}
        rows = [["v1", "mul", ["x1", "x1"]], ["v2", op, ["v1"]], ["v3", "mul", ["v2", "x2"]]]
        yield graph_case("the whole engine", summed(inputs, rows), call)
    fork = list(forked(rng))
    for graph in (*fork, *(drawn(rng, GROWN) for _ in range(12))):
        yield graph_case("the whole engine", graph, call)
    yield graph_case("the whole engine", fork[2], call, passes=2)
    yield from deep_cases(rng, "the whole engine", call)


def _only(op: str, rule: Callable[..., list[Any]]) -> Pull:
    """A wrong rule for one operation, and the right ones for the others."""

    def pull(name: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
        if name != op:
            return right_parts(name, x, y, g)
        return [summed_to(part, np.shape(a)) for part, a in zip(rule(*x, g), x, strict=True)]

    return pull


RULES_OF_NEW: tuple[tuple[str, str, str, Callable[..., list[Any]]], ...] = (
    (
        "no square under the quotient",
        "`pull_div` sends −g·a/b to b; it is −g·a/b², for 1/b has the derivative −1/b².",
        "div",
        lambda a, b, g: [g / b, -g * a / b],
    ),
    (
        "quotient without a",
        "`pull_div` leaves out a in what it sends to b: it is −g·a/b².",
        "div",
        lambda a, b, g: [g / b, -g / b**2],
    ),
    (
        "quotient as a product",
        "`pull_div` has the rule of the product: a/b is a · (1/b), and 1/b has a derivative of its"
        " own.",
        "div",
        lambda a, b, g: [g * b, g * a],
    ),
    (
        "logarithm multiplied",
        "`pull_log` multiplies by x; the derivative of log x is 1/x, so divide.",
        "log",
        lambda x, g: [g * x],
    ),
    (
        "logarithm of g",
        "`pull_log` takes the logarithm of g; the adjoint is divided by x.",
        "log",
        lambda x, g: [np.log(np.abs(g) + 1e-300)],
    ),
    (
        "product with its own factor",
        "`pull_mul` sends g·a to a and g·b to b: each gets the other's factor.",
        "mul",
        lambda a, b, g: [g * a, g * b],
    ),
)


def _new_mistakes() -> Iterator[Mistake]:
    for name, say, op, rule in RULES_OF_NEW:
        yield rule_mistake(name, say, _only(op, rule), [op])


GROWN_ENGINE = told_by(
    is_differentiated,
    "products",
    {"products": 1, "quotients": 1, "logarithms": 1, "the whole engine": 2},
    _grown_cases,
    answers=("pull_mul", "pull_div", "pull_log"),
    drive=f"{ENGINE}:grown",
    forbid=(DERIVATIVES,),
    where=first_wrong_node,
    present=told,
    limit_s=15.0,
    checked=(
        "Your engine, with the new rules in it, differentiates single operations in every form of"
        " broadcasting, graphs with forks, and 20,000 operations in a row. Each adjoint is"
        " compared with minigrad's."
    ),
    hints=(
        "Without arrays you know all three rules: lesson 2 has them. What is new is the shape.",
        (
            "An operand that was stretched gets its sum: `unbroadcast(…, a.shape)`. For b in a / b:"
            " 1/b has the derivative −1/b²."
        ),
        (
            "unbroadcast(g * b, a.shape), unbroadcast(g * a, b.shape); unbroadcast(g / b, a.shape),"
            " unbroadcast(-g * a / b**2, b.shape); g / x."
        ),
    ),
    misconceptions=tuple(engine_mistakes(GROWN, more=tuple(_new_mistakes()))),
)

# ------------------------------------------------------------------------------------ forward mode

SPREAD = ("sum", "sum over rows", "sum over columns", "t")
"""Operations that are their own tangent rule, for they are linear."""


def pushed(op: str, x: Sequence[Any], y: Any, dx: Sequence[Any]) -> Any:
    """The tangent of an operation's result. The right rules stand here so that they can be
    broken; what is right is told by differences.
    """
    a, b, da, db = x[0], x[-1], dx[0], dx[-1]
    match op:
        case "add":
            return da + db
        case "sub":
            return da - db
        case "mul":
            return da * b + a * db
        case "div":
            return da / b - a * db / b**2
        case "matmul":
            return da @ b + a @ db
        case "exp":
            return y * da
        case "log":
            return da / a
        case "square":
            return 2 * a * da
    assert op in SPREAD
    return apply(np, ["", op, ["x"]], [da])


Push = Callable[[str, Sequence[Any], Any, Sequence[Any]], Any]


def pushed_through(graph: Graph, seeds: Values, push: Push = pushed) -> dict[str, Any]:
    """Value and tangent of each row, as `own_engine.forward` tells them."""
    values, tangents, found = evaluate(graph), dict(seeds), dict[str, Any]()
    for name, op, operands in graph["rows"]:
        x, dx = [values[o] for o in operands], [tangents[o] for o in operands]
        tangents[name] = np.asarray(push(op, x, values[name], dx))
        found[f"value of {name}"] = values[name]
        found[f"tangent of {name}"] = tangents[name]
    return found


def _formulas(rng: np.random.Generator) -> Iterator[tuple[str, Graph]]:
    """Graphs for forward mode: each rule by itself, then together."""
    a, b = draw(rng, 2, 3), _positive(rng, 2, 3)
    for op in ("mul", "div"):
        for left, right in (
            (a, b),
            (a, _positive(rng, 3)),
            (draw(rng, 2, 1), _positive(rng, 1, 3)),
        ):
            yield "products and quotients", _one(op, left, right)
    yield "products and quotients", _one("matmul", a, draw(rng, 3, 2))
    yield "products and quotients", _one("matmul", draw(rng, 2, 2), draw(rng, 2, 2))
    yield "products and quotients", {"inputs": {"x1": a}, "rows": [["v1", "mul", ["x1", "x1"]]]}
    for op, x in (("exp", a), ("log", b), ("square", a), ("exp", draw(rng)), ("log", b[0])):
        yield "exp, log and pow", _one(op, x)
    for _ in range(10):
        graph = None
        while graph is None or not _smooth(graph):
            graph = drawn(rng, GROWN)
        yield "whole formulas", graph


def _one(op: str, *operands: np.ndarray) -> Graph:
    inputs = {f"x{i + 1}": x for i, x in enumerate(operands)}
    return {"inputs": inputs, "rows": [["v1", op, list(inputs)]]}


def _smooth(graph: Graph) -> bool:
    """Whether there is no relu in it, and all numbers are moderate."""
    return tame(graph) and all(row[1] != "relu" for row in graph["rows"])


def _forward_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, graph in _formulas(rng):
        seeds = {name: draw(rng, *np.shape(x)) for name, x in graph["inputs"].items()}
        given = {"inputs": graph["inputs"], "tangents": seeds, "rows": graph["rows"]}
        yield Case.of(
            group, given, size=100.0 * len(graph["rows"]) + sum(map(np.size, seeds.values()))
        )


def _is_pushed(case: Case, got: Any) -> str:
    """Why values and tangents are not right."""
    graph, seeds, h = graph_of(case), case.args["tangents"], 1e-6
    if type(got) is not dict:
        return "there are no values and tangents."
    values = evaluate(graph)
    ahead, behind = (
        evaluate(graph, {name: side * h * seed for name, seed in seeds.items()}) for side in (1, -1)
    )
    for name, op, operands in graph["rows"]:
        what = f"{name} = {formula({'inputs': {}, 'rows': [[name, op, operands]]}).split(' = ')[1]}"
        slope = (ahead[name] - behind[name]) / (2 * h)
        value, tangent = got.get(f"value of {name}"), got.get(f"tangent of {name}")
        if said := same(values[name], value, 1e-9, 1e-9, f"the value of {what}"):
            return said
        if said := same(slope, tangent, 1e-5, 1e-5, f"the tangent of {what}"):
            return said
    if np.ndim(values[output(graph)]) == 0:  # ⟨ȳ, ẏ⟩ = ⟨x̄, ẋ⟩, to the last digits
        adjoint = by_engine(graph)
        meant = sum(float(np.sum(adjoint[name] * seed)) for name, seed in seeds.items())
        return same(
            meant, float(got[f"tangent of {output(graph)}"]), 1e-8, 1e-8, "the last tangent"
        )
    return ""


def _wrong_push(op: str, rule: Callable[..., Any]) -> Push:
    return lambda name, x, y, dx: rule(*x, *dx) if name == op else pushed(name, x, y, dx)


PUSHES: tuple[tuple[str, str, str, Callable[..., Any]], ...] = (
    ("product: one term", "`*` takes only one of the two terms: it is ȧ·b + a·ḃ.", "mul",
        lambda a, b, da, db: da * b + 0 * db),
    ("product: the other term", "`*` takes only one of the two terms: it is ȧ·b + a·ḃ.", "mul",
        lambda a, b, da, db: a * db + 0 * da),
    ("product of tangents", "`*` multiplies the tangents; in (a + ȧε)(b + ḃε) the term ȧḃε² is 0.",
        "mul", lambda a, b, da, db: da * db),
    ("product subtracts", "`*` subtracts the second term; for the product both are added.", "mul",
        lambda a, b, da, db: da * b - a * db),
    ("product: own factor", "`*` gives each tangent its own factor: it is ȧ·b + a·ḃ, crosswise.",
        "mul", lambda a, b, da, db: da * a + b * db),
    ("quotient: sign", "`/` adds the second term; it is (ȧ − y·ḃ)/b with a minus.", "div",
        lambda a, b, da, db: da / b + a * db / b**2),
    ("quotient: no square", "`/` divides the second term by b once; it is a·ḃ/b².", "div",
        lambda a, b, da, db: da / b - a * db / b),
    ("quotient of tangents", "`/` divides the tangents by each other; the quotient rule has two"
        " terms.", "div", lambda a, b, da, db: da / db),
    ("quotient: one term", "`/` leaves out how b moves: a second term −a·ḃ/b² belongs to it.",
        "div", lambda a, b, da, db: da / b + 0 * db),
    ("matrix product: one term", "`@` takes only one of its two terms: it is ȧ@b + a@ḃ.", "matmul",
        lambda a, b, da, db: da @ b),
    ("matrix product: the other term", "`@` takes only one of its two terms: it is ȧ@b + a@ḃ.",
        "matmul", lambda a, b, da, db: a @ db),
    ("matrix product of tangents", "`@` multiplies the tangents; it is ȧ@b + a@ḃ.", "matmul",
        lambda a, b, da, db: da @ db),
    ("exp: the tangent alone", "`exp` passes the tangent on as it is; multiply it by exp(a).",
        "exp", lambda a, da: da),
    ("exp: no tangent", "`exp` gives the derivative exp(a) without the tangent: multiply by ȧ.",
        "exp", lambda a, da: np.exp(a)),
    ("exp of the tangent", "`exp` takes the exponential of the tangent; it is exp(a)·ȧ.", "exp",
        lambda a, da: np.exp(da)),
    ("log: the tangent alone", "`log` passes the tangent on as it is; divide it by a.", "log",
        lambda a, da: da),
    ("log: no tangent", "`log` gives the derivative 1/a without the tangent: it is ȧ/a.", "log",
        lambda a, da: 1 / a),
    ("log: at the result", "`log` divides by its result; divide by a.", "log",
        lambda a, da: da / np.log(a)),
    ("pow: no factor", "`pow` leaves out the factor n: it is n·aⁿ⁻¹·ȧ.", "square",
        lambda a, da: a * da),
    ("pow: the same power", "`pow` keeps the exponent: it is n·aⁿ⁻¹·ȧ, one less.", "square",
        lambda a, da: 2 * a**2 * da),
    ("pow: no tangent", "`pow` gives the derivative n·aⁿ⁻¹ without the tangent.", "square",
        lambda a, da: 2 * a),
    ("pow of the tangent", "`pow` raises the tangent to the power; it is n·aⁿ⁻¹·ȧ.", "square",
        lambda a, da: da**2),
)  # fmt: skip


def _doubled(op: str, x: Sequence[Any], y: Any, dx: Sequence[Any]) -> Any:
    return pushed(op, x, y, dx) * (2 if op in METHODS else 1)


def _by_operation(pairs: list[tuple[Case, Any]]) -> tuple[str, None] | None:
    """Which of the operations that were tried by themselves have a wrong tangent."""
    wrong = [
        f"`{METHODS[case.args['rows'][0][1]]}`"
        for case, got in pairs
        if len(case.args["rows"]) == 1 and _is_pushed(case, got)
    ]
    if not wrong:
        return None
    found = " and ".join(sorted(set(wrong)))
    return f" The tangent of {found} is wrong, that of the others is right: look there.", None


METHODS = {"mul": "*", "div": "/", "matmul": "@", "exp": "exp", "log": "log", "square": "pow"}


def _in_operation(op: str, wrong: Callable[[Case], Any]) -> Any:
    """Whether an operation goes wrong in one way wherever it is tried by itself, whatever else
    is wrong.
    """

    def found(pairs: list[tuple[Case, Any]]) -> tuple[str, None] | None:
        alone = [
            (case, got) for case, got in pairs if [row[1] for row in case.args["rows"]] == [op]
        ]
        return ("", None) if alone and all(not same(wrong(c), got) for c, got in alone) else None

    return found


def _forward_mistakes() -> Iterator[Misconception]:
    for name, say, op, rule in PUSHES:
        push = _wrong_push(op, rule)

        def wrong(case: Case, push: Push = push) -> dict[str, Any]:
            return pushed_through(graph_of(case), case.args["tangents"], push)

        yield Misconception(name, say, wrong, fitted=_in_operation(op, wrong), alone=True)
    yield Misconception(
        "one operation",
        "Each operation was tried by itself.",
        lambda case: pushed_through(graph_of(case), case.args["tangents"], _doubled),
        fitted=_by_operation,
    )
    yield Misconception(
        "zero everywhere",
        "All tangents are 0: a rule has lost the tangents that it was given.",
        lambda case: {
            name: 0 * part if name.startswith("tangent") else part
            for name, part in pushed_through(graph_of(case), case.args["tangents"]).items()
        },
    )


def _where_pushed(case: Case, got: Any) -> Where | None:
    """The first row with a wrong tangent."""
    graph, seeds = graph_of(case), case.args["tangents"]
    theirs, right = (
        {row[0]: found[f"tangent of {row[0]}"] for row in graph["rows"]}
        for found in (got, pushed_through(graph, seeds))
    )
    return first_wrong_tangent(graph, seeds, theirs, right)


FORWARD = told_by(
    _is_pushed,
    "dual_tensor",
    {"products and quotients": 1, "exp, log and pow": 1, "whole formulas": 2},
    _forward_cases,
    answers=("Dual",),
    drive=f"{ENGINE}:forward",
    forbid=(DERIVATIVES,),
    where=_where_pushed,
    present=lambda case: f"forward mode on {formula(graph_of(case))}",
    checked=(
        "The value and the tangent of each row are compared with central differences, and the last"
        " tangent against reverse mode: ȳ·ẏ = Σ x̄·ẋ."
    ),
    hints=(
        "Each method computes its value as Tensor does, and a tangent by the rule of lesson 2.",
        (
            "Both parts are Tensors, so everything is written with Tensor's own operations, as in"
            " the sum that is given. A plain number becomes `Tensor(n)`."
        ),
        (
            "ȧ·b + a·ḃ for `*` and for `@`; (ȧ − y·ḃ)/b for y = a/b; y·ȧ for y = exp(a); ȧ/a for"
            " log; Tensor(n)·aⁿ⁻¹·ȧ for pow."
        ),
    ),
    misconceptions=tuple(_forward_mistakes()),
)

# ----------------------------------------------------------------------------- second derivatives


def _functions(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, list[Any]]]:
    """Functions of one input with a number for a result."""
    n, square = 3, draw(rng, 2, 2)
    end = lambda name, k: [f"v{k}", "sum", [name]]
    yield "by hand", draw(rng, n), [["v1", "square", ["x1"]], end("v1", 2)]
    yield (
        "by hand",
        draw(rng, n),
        [
            ["v1", "mul", ["x1", "x1"]],
            ["v2", "mul", ["v1", "x1"]],
            end("v2", 3),
        ],
    )
    yield "by hand", draw(rng, n), [["v1", "exp", ["x1"]], end("v1", 2)]
    yield "by hand", draw(rng, n), [["v1", "add", ["x1", "x1"]], end("v1", 2)]
    yield "coupled", draw(rng, n), [end("x1", 1), ["v2", "square", ["v1"]]]
    yield "coupled", draw(rng, n), [["v1", "exp", ["x1"]], end("v1", 2), ["v3", "log", ["v2"]]]
    yield (
        "coupled",
        draw(rng, n),
        [
            ["v1", "exp", ["x1"]],
            end("v1", 2),
            ["v3", "div", ["x1", "v2"]],
            ["v4", "square", ["v3"]],
            end("v4", 5),
        ],
    )
    yield (
        "matrices",
        square,
        [["v1", "matmul", ["x1", "x1"]], ["v2", "square", ["v1"]], end("v2", 3)],
    )
    yield (
        "matrices",
        square,
        [
            ["v1", "t", ["x1"]],
            ["v2", "matmul", ["v1", "x1"]],
            ["v3", "exp", ["v2"]],
            ["v4", "div", ["x1", "v3"]],
            end("v4", 5),
        ],
    )
    yield (
        "matrices",
        draw(rng, 2, 3),
        [
            ["v1", "sum over rows", ["x1"]],
            ["v2", "mul", ["v1", "x1"]],
            ["v3", "square", ["v2"]],
            end("v3", 4),
        ],
    )


def _second_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, x, rows in _functions(rng):
        u, v = draw(rng, *x.shape), draw(rng, *x.shape)
        yield Case.of(
            group, {"x": x, "rows": rows, "u": u, "dx": v}, size=10.0 * len(rows) + x.size
        )


def _function_of(case: Case) -> Graph:
    return {"inputs": {"x1": case.args["x"]}, "rows": case.args["rows"]}


def _gradient(case: Case, moved: Any = 0.0) -> np.ndarray:
    graph = _function_of(case)
    return np.asarray(by_engine({**graph, "inputs": {"x1": case.args["x"] + moved}})["x1"])


def _is_second(case: Case, got: Any) -> str:
    """Why products with the Hessian are not right."""
    if type(got) is not dict:
        return "there are no two products."
    h, moves = 1e-4, {"H u": case.args["u"], "H ẋ": case.args["dx"]}
    for name, direction in moves.items():
        slope = (_gradient(case, h * direction) - _gradient(case, -h * direction)) / (2 * h)
        scale = float(np.max(np.abs(slope), initial=1.0))
        if said := same(
            slope, got.get(name), 1e-5, 1e-6 * scale, f"the product {name[0]}·{name[2]}"
        ):
            return said
    one = float(np.sum(case.args["u"] * got["H ẋ"]))
    other = float(np.sum(case.args["dx"] * got["H u"]))
    if said := same(one, other, 1e-9, 1e-9, "ẋ·(H·u)"):
        return f"the Hessian should be symmetric, so ẋ·(H·u) and u·(H·ẋ) are equal: {said}"
    terms = float(np.sum(np.abs(case.args["u"] * got["H ẋ"])))
    return _INEXACT if abs(one - other) > 1e-12 * max(terms, 1.0) else ""


_INEXACT = (
    "the product is right to some digits and not to the last ones, so ẋ·(H·u) and u·(H·ẋ) differ."
)
"""What tells a difference of two gradients from a derivative."""


def _products(case: Case, product: Callable[[Case, Any], Any]) -> dict[str, Any]:
    """What another function than the product gives in the two directions of a case."""
    return {
        name: np.broadcast_to(np.asarray(product(case, direction)), case.args["x"].shape)
        for name, direction in (("H u", case.args["u"]), ("H ẋ", case.args["dx"]))
    }


def _hessian_times(case: Case, direction: Any) -> np.ndarray:
    x, dx = (mg.tensor(np.array(a), dtype=mg.float64) for a in (case.args["x"], direction))
    return np.asarray(mg.autograd.functional.hvp(function_of(case), x, dx)[1].detach().numpy())


def _difference_of_gradients(case: Case, direction: Any, h: float = 1e-5) -> np.ndarray:
    move = h * np.asarray(direction)
    return (_gradient(case, move) - _gradient(case, -move)) / (2 * h)


DIFFERENCES = Misconception(
    "differences of gradients",
    "you take the difference of two gradients. Reverse mode through the forward pass gives the"
    " product without a step.",
    lambda case: _products(case, _difference_of_gradients),
    explains=lambda case, got: _is_second(case, got) in ("", _INEXACT),
)


def _hessian_mistakes() -> Iterator[Misconception]:
    for name, say, product in (
        (
            "the gradient",
            "You return the gradient of f: differentiate the *tangent*, not the value.",
            lambda case, v: _gradient(case),
        ),
        (
            "gradient times ẋ",
            "You return the gradient times the direction, element by element; differentiate the"
            " tangent instead.",
            lambda case, v: _gradient(case) * v,
        ),
        (
            "the slope along ẋ",
            "You return the tangent of f, the slope along the direction; take its gradient.",
            lambda case, v: np.sum(_gradient(case) * v),
        ),
        (
            "ones for the direction",
            "You start with a tangent of ones; start with the direction.",
            lambda case, v: _hessian_times(case, np.ones(np.shape(v))),
        ),
        (
            "x for the direction",
            "The tangent of x starts at x itself; it starts at the direction.",
            lambda case, v: _hessian_times(case, case.args["x"]),
        ),
        (
            "the diagonal alone",
            "You keep the diagonal of the Hessian alone; other elements of x count as well.",
            lambda case, v: _diagonal(case) * v,
        ),
        (
            "twice too much",
            "The result is twice the product, as when a term is counted again.",
            lambda case, v: 2 * _hessian_times(case, v),
        ),
        (
            "reversed",
            "The sign is reversed.",
            lambda case, v: -_hessian_times(case, v),
        ),
        (
            "once more along ẋ",
            "You return ẋ·(H·ẋ), one number; H·ẋ has the shape of x.",
            lambda case, v: np.sum(v * _hessian_times(case, v)),
        ),
        (
            "nothing arrives",
            "Everything is 0. The tangent starts at ẋ, and the gradient is asked for with respect"
            " to the very Tensor that f was called with.",
            lambda case, v: np.zeros(np.shape(v)),
        ),
    ):
        yield Misconception(
            name, say, lambda case, product=product: _products(case, product), alone=True
        )


def _diagonal(case: Case) -> np.ndarray:
    x = case.args["x"]
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        unit = np.zeros(x.shape)
        unit[place] = 1.0
        found[place] = _hessian_times(case, unit)[place]
    return found


HVP = told_by(
    _is_second,
    "hvp_own",
    {"by hand": 1, "coupled": 1, "matrices": 1},
    _second_cases,
    answers=("hvp", "Dual"),
    drive=f"{ENGINE}:second",
    forbid=(DERIVATIVES,),
    present=lambda case: f"hvp(f, x, dx), f being {formula(_function_of(case))}",
    checked=(
        "Each product is compared with a difference of two gradients, and the Hessian must be"
        " symmetric: u·(H·ẋ) = ẋ·(H·u)."
    ),
    hints=(
        "The tangent of f is a number that depends on x. What is its gradient?",
        "Call f with a Dual of two Tensors: the point, and the direction. Keep the point's Tensor.",
        (
            "point = Tensor(x); slope = f(Dual(point, Tensor(dx))).tangent; then"
            " gradients(topological_order(slope), [point])[0]."
        ),
    ),
    misconceptions=(DIFFERENCES, *_hessian_mistakes()),
)

PREDICTIONS = (
    Exact(
        "hessian-calls",
        "Prediction: calls of hvp for the whole Hessian",
        variable="calls",
        answer=lambda: 1000.0,
        because="One call gives one column, that of the direction (0, …, 1, …, 0).",
        slips=(
            ("One call gives H·ẋ: as many numbers as there are inputs.", lambda: 1.0),
            ("A call does not give one entry of the Hessian, but a column.", lambda: 1e6),
            ("One sweep back serves all inputs at once; count calls, not sweeps.", lambda: 2000.0),
        ),
        hints=("How many numbers does one call return, and how many has the Hessian?",
            "One call gives a column, if the direction is a unit vector."),
    ),
)  # fmt: skip

TITLES = {
    "products": "Exercise 1 · Products, quotients, logarithms",
    "dual_tensor": "Exercise 2 · Forward mode, with Tensors inside",
    "hvp_own": "Exercise 3 · The Hessian times a direction",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
