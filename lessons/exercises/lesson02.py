"""The exercises of lesson 2, as data: evaluation trace, forward and reverse mode of f(x1, x2) = ln(x1) + x1·x2 − sin(x2) at (2, 5).

Right answers are not written here: they are computed by the engine when a check runs.
"""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Any

import minigrad as mg
from minigrad.watch import trace_function

from ..grading.exercise import Exercise
from ..grading.kinds import Number, Rules, Sweep, Table
from ..grading.kinds.answers import cell
from ..grading.student_trace import Example

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


_ALL: tuple[Exercise, ...] = (
    Table(
        "trace",
        f,
        POINT,
        variable="my_trace",
        hints=(
            "Go through the formula in the order in which a pocket calculator would: each row uses rows above it and nothing else.",
            "`math.log` is the natural logarithm; `math.sin` takes radians. Copy numbers with at least four digits.",
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
            ("That is cos x2, the local derivative. It is still to be multiplied by the tangent of x2.", lambda: math.cos(POINT[1])),
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
            ("That is ∂y/∂x1, which the seed (1, 0) gave. Now x2 moves and x1 stands still.", lambda: _number("v5", "d")),
            ("The sine is subtracted in f, so its tangent is subtracted too.", lambda: POINT[0] + math.cos(POINT[1])),
            ("Almost: the tangent of sin x2 is missing. It is subtracted.", lambda: POINT[0]),
            ("The derivative of the sine is the cosine; you seem to have used the sine itself.", lambda: POINT[0] - math.sin(POINT[1])),
            ("`math.cos` takes radians; you seem to have used degrees.", lambda: POINT[0] - math.cos(math.radians(POINT[1]))),
            ("That is the value of y, not its tangent.", lambda: _number("v5", "v")),
        ),
        hints=(
            "Only two rows feel x2: v2 = x1 · x2 and v4 = sin x2.",
            "The tangent of v2 is now x1 · 1. The tangent of v4 is cos x2 · 1. The result is v3 − v4.",
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
            ("The size is right. But v4 is subtracted: does y grow or shrink when v4 grows?", lambda: 1.0),
            ("That is the value of v4. Its adjoint says how strongly y reacts to v4.", lambda: _number("v4", "v")),
            ("That is the local derivative of the sine, one step further down.", lambda: math.cos(POINT[1])),
            ("Everything that y is made of has an influence on y; v4 is one of its two parts.", lambda: 0.0),
        ),
        hints=(
            "v4 is used in one place only: v5 = v3 − v4.",
            "The adjoint of v4 is the adjoint of v5 times ∂v5/∂v4.",
            "The adjoint of v5 is 1.",
        ),
    ),
    Number(
        "reverse-count",
        "Prediction: how many contributions reach x2",
        variable="contributions_to_x2",
        answer=lambda: float(sum(s["node"] == "x2" for s in _trace((1.0, 0.0))["steps"] if s["phase"] in ("adjoint", "accumulate"))),
        because="One from v2 = x1 · x2 and one from v4 = sin x2; the adjoint of x2 is their sum.",
        slips=(("x2 occurs in more than one place of the formula. Count its arrows.", lambda: 1.0),),
        hints=("In how many rows of the evaluation trace does x2 stand on the right-hand side?",),
        tolerance=1e-9,
    ),
    Number(
        "passes",
        "Prediction: the reverse passes for 1000 derivatives",
        variable="reverse_passes",
        answer=lambda: float(len(_trace((1.0, 0.0))["seed"]["adjoints"])),
        because="The one output is seeded once, and one sweep fills the adjoints of all inputs. Forward mode would take 1000 passes.",
        slips=(
            ("That is what forward mode needs: one pass for each input.", lambda: 1000.0),
            ("Think of f: did reverse mode need one pass for each of its two inputs?", lambda: 2.0),
            ("That is forward and reverse mode together. One of them does it alone.", lambda: 1001.0),
        ),
        hints=("What is seeded in reverse mode: the inputs or the outputs?", "How many outputs are there?"),
        tolerance=1e-9,
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
            "Both rules multiply the operation's own derivative by what arrives: the tangent of the input, or the adjoint of the result.",
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
            "Hold `b` still and move `a` by a little: how much does `a · b` move? Then the other way round.",
            "Forward, the two influences are added into one number. Backward, they stay apart: one number for each input.",
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
            "If `b` grows, does a / b grow or shrink (for positive numbers)? The sign of that part follows.",
            "Write a / b as a · b⁻¹ and use the product rule; the derivative of b⁻¹ is −b⁻².",
            "The quotient rule: (a / b)˙ = ȧ / b − a · ḃ / b².",
        ),
    ),
    Sweep(
        "reverse_sweep",
        examples=(F, Example("x1 + x1", twice, (3.0,)), Example("x1 · sin(x1 · x2)", shared, POINT)),
        hints=(
            "Before an adjoint is passed on, everyone who used the node must have sent a contribution. In which direction do you go?",
            "Each input of an operation gets one contribution: the operation's own adjoint times the local derivative.",
            "A node that was used twice gets two contributions. What does `+=` do that `=` does not?",
        ),
    ),
)

EXERCISES: dict[str, Exercise] = {e.name: e for e in _ALL}
