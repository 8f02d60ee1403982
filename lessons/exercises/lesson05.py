"""The exercises of lesson 5, as data: pull rules of operations on arrays, for (x.t() −
x.exp()).pow(2).sum() and for a layer of a network.

Right answers are not written here: they are computed by the engine when a check runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.trace import state_at
from minigrad.watch import trace_function

from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.graphs import AskedRule, where_in_rule
from ..grading.kinds import Unbroadcast, Vjp
from ..grading.kinds.rules_on_arrays import Draw, pulled, vjp_by_differences
from .made import Exact, by_name

POINT = np.array([[0.0, 1.0], [-1.0, 0.5]])


# Not annotated, because the viewer shows its source to students.


def f(x):
    return (x.t() - x.exp()).pow(2).sum()


@cache
def _trace() -> dict[str, Any]:
    return trace_function(f, mg.tensor(POINT), mode="reverse", names=["x"])


def _element(node: str, column: str, place: int) -> float:
    """One element of an array in the finished Trace."""
    return float(state_at(_trace(), len(_trace()["steps"])).cells[node, column]["sample"][place])


def _sent_to_x(op: str) -> float:
    """The first element of what the operation sends to x."""
    (node,) = [n["id"] for n in _trace()["nodes"] if n.get("op") == op]
    edge = next(e["id"] for e in _trace()["edges"] if e["src"] == "x" and e["dst"] == node)
    parts = [
        c["product"]
        for s in _trace()["steps"]
        for c in s.get("contribs", [])
        if c["edge"] == edge and s["node"] == "x"
    ]
    return float(parts[-1]["sample"][0])


def _bias_gradient() -> np.ndarray:
    b = mg.zeros(3, dtype=mg.float64, requires_grad=True)
    (mg.ones((4, 3), dtype=mg.float64) + b).sum().backward()
    assert b.grad is not None
    return np.asarray(b.grad.numpy())


PREDICTIONS = (
    Exact(
        "bar-squares",
        "Prediction: the adjoint of each of the four squares",
        variable="adjoint_of_a_square",
        answer=lambda: _element("v4", "g", 0),
        because="The sum grows by as much as any one of its terms grows.",
        slips=(
            (
                "The four squares have an adjoint each; they are not added up.",
                lambda: float(POINT.size),
            ),
            ("That would be the mean. The sum feels each term fully.", lambda: 1 / POINT.size),
            ("That is the derivative of the square, one step further down.", lambda: 2.0),
        ),
        hints=("z = s₁ + s₂ + s₃ + s₄: how much does z grow if s₁ grows by 1?",),
    ),
    Exact(
        "bar-corner",
        "Prediction: the upper left element of the gradient",
        variable="upper_left",
        answer=lambda: _element("x", "g", 0),
        because=(
            "The transpose sends −2 and the exponential +2: both contributions count, and here they"
            " cancel."
        ),
        slips=(
            (
                "That is what arrives through the transpose. What does the exponential send?",
                lambda: _sent_to_x("permute"),
            ),
            (
                "That is what arrives through the exponential. What does the transpose send?",
                lambda: _sent_to_x("exp"),
            ),
            (
                "The exponential is subtracted: its part has the other sign.",
                lambda: _sent_to_x("permute") - _sent_to_x("exp"),
            ),
            (
                "That is e⁰, the derivative of the exponential there. What is it multiplied by?",
                lambda: float(np.exp(POINT[0, 0])),
            ),
        ),
        hints=(
            (
                "On the diagonal the transpose moves nothing. The upper left difference is 0 − e⁰"
                " = −1."
            ),
            "Its square sends 2 · (−1) = −2 to the difference.",
            (
                "The difference sends −2 to the transpose's element and +2 to the exponential's,"
                " and that one multiplies by e⁰ = 1."
            ),
        ),
    ),
    Exact(
        "bar-bias",
        "Prediction: each element of the gradient with respect to b",
        variable="gradient_of_bias",
        answer=lambda: float(_bias_gradient()[0]),
        because="Each element of b was copied into 4 rows, and each copy sends 1.",
        slips=(
            ("b has 3 elements, but each of them is used in all 4 rows.", lambda: 1.0),
            ("Each element of b goes into one column, and a column has 4 elements.", lambda: 3.0),
            (
                "That is all of m + b together; one element of b reaches one column only.",
                lambda: 12.0,
            ),
        ),
        hints=("Into how many elements of m + b does b[0] go?", "Each of them has the adjoint 1."),
    ),
)

# -------------------------------------------------------------------------------------------- rules


def _matrices(*shapes: tuple[int, ...]) -> Draw:
    return lambda rng: [np.asarray(rng.uniform(-2, 2, size=shape)) for shape in shapes]


PULL_EXP = Vjp(
    "pull_exp",
    mg.exp,
    hints=(
        "Each element goes its own way: what is the derivative of eˣ for a number?",
        "`np.exp` takes a whole array, and `*` multiplies element by element.",
        "The adjoint of x is g · eˣ.",
    ),
).telling(
    Misconception.of(
        "power rule",
        "you used the rule of xⁿ. Here x is the exponent, and eˣ is its own derivative.",
        lambda x, g: g * x * np.exp(x - 1),
    ),
    Misconception.of(
        "exponential of the adjoint",
        "you took the exponential of `g`. It belongs to the input x.",
        lambda x, g: np.exp(g),
    ),
    # The exponential is its own derivative: to take the one for the other is no mistake here.
    without=("value instead of derivative",),
)

PULL_T = Vjp(
    "pull_t",
    lambda x: x.t(),
    draws={
        "values": [_matrices((2, 2)), _matrices((3, 3))],
        "shapes": [_matrices((2, 3)), _matrices((1, 4)), _matrices((0, 2))],
    },
    points={"values": 1, "shapes": 1},
    hints=(
        (
            "The transpose computes nothing, it only moves elements. Where does the adjoint of the"
            " element in row 0, column 1 have to go?"
        ),
        "The element x[i, j] became element [j, i] of the result, so its adjoint lies at g[j, i].",
        "The result has the shape of x: g has rows and columns the other way round.",
    ),
).telling(
    Misconception.of(
        "not moved",
        "`g` comes back as it came: each of its elements has to be moved back.",
        lambda x, g: g,
    ),
    Misconception.of(
        "the value",
        "you transposed x. It is the adjoint `g` that has to be moved back.",
        lambda x, g: x.T,
    ),
    Misconception.of(
        "times the value",
        "you multiply by x. Moving elements does not change them.",
        lambda x, g: g * x.T,
    ),
    Misconception.of(
        "reshaped",
        "you gave `g` another shape, but left its elements in their order: `reshape` does not"
        " move them.",
        lambda x, g: np.reshape(g, x.shape),
    ),
    # Moving has no derivative to be forgotten: whoever returns g as it came has not moved it.
    without=(
        "forgets the local derivative",
        "value instead of derivative",
    ),
    before=True,
)


def _summed(axis: int | None) -> Any:
    return lambda x: x.sum() if axis is None else x.sum(axis)


def _sum_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, axis, shapes in (
        ("all axes", None, [(3,), (2, 3), (), (2, 1, 2)]),
        ("one axis", 0, [(3,), (2, 3), (3, 3)]),
        ("one axis", 1, [(2, 3), (3, 3), (1, 4), (2, 3, 2)]),
        ("one axis", -1, [(2, 3), (3, 3)]),
    ):
        for shape in shapes:
            x = np.asarray(rng.uniform(-2, 2, size=shape))
            yield Case(
                group,
                x=x,
                axis=axis,
                g=np.asarray(rng.uniform(0.5, 2, size=np.sum(x, axis=axis).shape)),
            )


PULL_SUM = Exercise(
    "pull_sum",
    {"all axes": 1, "one axis": 2},
    _sum_cases,
    title="Exercise pull_sum",
    forbid=(DERIVATIVES,),
    hints=(
        "Each element of x went into exactly one sum. Which adjoint does it get?",
        (
            "If one axis was summed, g lacks that axis: `np.expand_dims(g, axis)` puts it back with"
            " length 1."
        ),
        (
            "`np.broadcast_to(…, x.shape)` copies along it. With axis None, g is a single number"
            " and fits without more."
        ),
    ),
    where=where_in_rule(
        lambda case: AskedRule(_summed(case.args["axis"]), {"x": case.args["x"]}, [case.args["g"]])
    ),
    verify=lambda case, got: same(
        vjp_by_differences(_summed(case.args["axis"]), [case.args["x"]], case.args["g"])[0],
        got,
        1e-5,
        1e-6,
        "what `pull_sum` returned",
    ),
    misconceptions=(
        Misconception.of(
            "forgets the incoming adjoint",
            "you left out `g`: multiply by it.",
            lambda x, axis, g: np.ones_like(x),
        ),
        Misconception.of(
            "no copies",
            "`g` comes back as it came: it needs the shape of x, a copy for each element.",
            lambda x, axis, g: g,
        ),
        Misconception.of(
            "derivative by the values",
            "A sum's derivative is 1, whatever the values are.",
            lambda x, axis, g: x * _spread(x, axis, g),
        ),
        Misconception.of(
            "mean instead of sum",
            "you divide by the number of terms: that is the mean's rule.",
            lambda x, axis, g: _spread(x, axis, g) / (x.size if axis is None else x.shape[axis]),
        ),
        Misconception.of("sign", "the sign is reversed.", lambda x, axis, g: -_spread(x, axis, g)),
        Misconception.of(
            "one sum for all",
            "every element gets the sum of all adjoints. Each element went into one sum only, and"
            " gets that one's adjoint.",
            lambda x, axis, g: np.full(x.shape, np.sum(g)),
        ),
        Misconception.of(
            "axis in front",
            "you copy along a new axis in front; the summed one may be another. See"
            " `np.expand_dims`.",
            lambda x, axis, g: np.broadcast_to(g, x.shape),
        ),
    ),
)


def _spread(x: np.ndarray, axis: int | None, g: Any) -> np.ndarray:
    return np.broadcast_to(g if axis is None else np.expand_dims(g, axis), x.shape)


@PULL_SUM.answer
def _(x: np.ndarray, axis: int | None, g: np.ndarray) -> Any:
    return pulled(_summed(axis), [x], g)[0]


UNBROADCAST = Unbroadcast(
    "unbroadcast",
    hints=(
        (
            "Every copy of an element sends its own part, so the parts of its copies are added."
            " Along which axes were copies made?"
        ),
        "New axes are always in front: g.ndim − len(shape) of them. Sum over them first.",
        "Then sum over each axis where `shape` has a 1 and g has more, with keepdims=True.",
    ),
)


def _products(*pairs: tuple[tuple[int, int], tuple[int, int]]) -> list[Draw]:
    return [_matrices(*pair) for pair in pairs]


PRODUCTS: tuple[tuple[str, str, Any], ...] = (
    (
        "matrix product untransposed",
        "the other operand is not transposed: square matrices hide it, other shapes do not fit.",
        lambda a, b, g: (g @ b, a @ g),
    ),
    (
        "result transposed",
        "what is returned is the transpose of what is right: look at its shape.",
        lambda a, b, g: (b @ g.T, g.T @ a),
    ),
    (
        "order of the factors",
        "the factors stand in the wrong order.",
        lambda a, b, g: (b.T @ g, g @ a.T),
    ),
    (
        "without the adjoint",
        "`g` is left out: it is a factor of both products.",
        lambda a, b, g: (b.T, a.T),
    ),
    (
        "element by element, transposed",
        "you use `*`, which multiplies element by element; a matrix product is `@`.",
        lambda a, b, g: (g * b.T, a.T * g),
    ),
    (
        "element by element",
        "you use `*`, which multiplies element by element; a matrix product is `@`.",
        lambda a, b, g: (g * b, g * a),
    ),
)
"""Mistakes in the two products that a matrix product sends back: in both of them, or in one."""


def _products_mistakes() -> Iterator[Misconception]:
    right = lambda a, b, g: (g @ b.T, a.T @ g)
    for name, say, wrong in PRODUCTS:
        yield Misconception.of(name, say, lambda a, b, g, wrong=wrong: list(wrong(a, b, g)))
        for i, operand in enumerate("ab"):

            def one(a: Any, b: Any, g: Any, i: int = i, wrong: Any = wrong) -> list[Any]:
                parts = list(right(a, b, g))
                parts[i] = wrong(a, b, g)[i]
                return parts

            which = f"in the part of `{operand}` {say}"
            yield Misconception.of(f"{name}, for {operand}", which, one)


PULL_MATMUL = Vjp(
    "pull_matmul",
    mg.matmul,
    inputs=2,
    draws={
        "values": _products(((2, 2), (2, 2)), ((3, 3), (3, 3))),
        "shapes": _products(((2, 3), (3, 4)), ((1, 3), (3, 1)), ((4, 1), (1, 2)), ((2, 0), (0, 3))),
        "linear": _products(((2, 3), (3, 2))),
    },
    hints=(
        (
            "Let the shapes lead: a is (n, k), b is (k, m), g is (n, m). Which product of g and b"
            " has the shape of a?"
        ),
        "(n, m) @ (m, k) gives (n, k), and b.T is (m, k). Do the same for b.",
        "For a: g @ b.T. For b: a.T @ g. Return both, a's first.",
    ),
).telling(
    *_products_mistakes(),
    # Nothing is broadcast here.
    without=("no sum over broadcast axes",),
)

TITLES = {
    "pull_exp": "Exercise 1 · The exponential",
    "pull_t": "Exercise 2 · The transpose",
    "pull_sum": "Exercise 3 · The sum",
    "unbroadcast": "Exercise 4 · Back to the operand's shape",
    "pull_matmul": "Exercise 5 · The matrix product",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
