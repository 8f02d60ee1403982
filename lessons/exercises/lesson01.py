"""The exercises of lesson 1, as data: difference quotients and their steps, the swell of formulas,
a checker of derivatives.

Right answers are not written here: a quotient is compared with the function itself, a step with
all other steps, a derivative against the engine, the size of a formula against SymPy.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

import minigrad as mg

from ..grading.comparison import beside
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.kinds import Number
from ..grading.words import shown
from .made import Exact, by_name, told_by
from .students_side import FUNCTIONS, of_numbers, watched_difference

EPSILON = sys.float_info.epsilon
DRIVE = "minigrad.lessons.exercises.students_side:difference"


def _number(got: Any) -> str:
    """Why this is no finite number; "" if it is one."""
    if type(got) not in (int, float) and not (
        isinstance(got, np.ndarray) and got.shape == () and got.dtype.kind in "if"
    ):
        return "what was returned should be a number."
    return "" if math.isfinite(float(got)) else "what was returned is not a finite number."


# -------------------------------------------------------------------------- the difference quotient


def _quotients(rng: np.random.Generator) -> Iterator[Case]:
    for group, names in {
        "polynomials": ("x²", "x³ + 2x"),
        "other functions": ("exp(x)", "ln(x)", "√x"),
    }.items():
        for name in names:
            yield Case(group, f=name, x=float(rng.uniform(1.5, 3)), h=float(rng.uniform(0.1, 0.5)))
    yield Case("polynomials", f="x²", x=3.0, h=0.5)


def _near_slope(f: str, x: float, h: float) -> float:
    return float((of_numbers(f)(x + h) - of_numbers(f)(x)) / h)


def _is_quotient(case: Case, got: Any) -> str:
    """A straight line through f(x) with this slope must meet f at x + h."""
    f, x, h = of_numbers(case.args["f"]), case.args["x"], case.args["h"]
    if problem := _number(got):
        return problem
    reached, wanted = f(x) + float(got) * h, f(x + h)
    right = abs(reached - wanted) <= 1e-9 * max(1.0, abs(wanted))
    if right:
        return ""
    say = (
        f"the slope {shown(float(got))} is not that of the line through the two points of the"
        " curve, at x and at x + h."
    )
    return beside(say, shown((wanted - f(x)) / h), got)


difference_quotient = told_by(
    _is_quotient,
    "difference_quotient",
    {"polynomials": 1, "other functions": 1},
    _quotients,
    drive=DRIVE,
    present=lambda case: (
        f"difference_quotient(f, {case.args['x']:.4g}, {case.args['h']:.4g}) with f(x) ="
        f" {case.args['f']}"
    ),
    checked="The line through (x, f(x)) with your slope must meet the curve again at x + h.",
    hints=(
        (
            "Draw a curve, and on it the two points at x and at x + h. What is the slope of the"
            " line through them?"
        ),
        "Slope is rise over run. The run is h. The rise is the difference of the two heights.",
        "The height at the left point is f(x); the printed formula has something else there.",
    ),
    misconceptions=(
        Misconception.of(
            "the misprint",
            "you still use the printed formula.",
            lambda f, x, h: (of_numbers(f)(x + h) - of_numbers(f)(h)) / h,
        ),
        Misconception.of(
            "no run",
            "you forgot to divide by h.",
            lambda f, x, h: of_numbers(f)(x + h) - of_numbers(f)(x),
        ),
        Misconception.of(
            "parentheses",
            "only f(x) is divided by h, not the difference: put parentheses around it.",
            lambda f, x, h: of_numbers(f)(x + h) - of_numbers(f)(x) / h,
        ),
        Misconception.of(
            "sign",
            "the two heights are swapped: right minus left.",
            lambda f, x, h: (of_numbers(f)(x) - of_numbers(f)(x + h)) / h,
        ),
        Misconception.of(
            "central",
            "you took a central difference. It is more accurate, and comes later; here the points"
            " are x and x + h.",
            lambda f, x, h: (of_numbers(f)(x + h) - of_numbers(f)(x - h)) / (2 * h),
        ),
        Misconception.of(
            "twice",
            "you took the points x − h and x + h, and divide by h: they are 2h apart, so the slope"
            " comes out twice as large. Here the points are x and x + h.",
            lambda f, x, h: (of_numbers(f)(x + h) - of_numbers(f)(x - h)) / h,
        ),
        Misconception(
            "a step of its own",
            "you use a small step of your own in the place of the argument h: what comes out is"
            " the slope at x, not that between the two points.",
            lambda case: _near_slope(case.args["f"], case.args["x"], 1e-6),
            explains=lambda case, got: (
                abs(float(got) / _near_slope(case.args["f"], case.args["x"], 1e-6) - 1) < 1e-3
            ),
        ),
        Misconception.of(
            "half",
            "you divide by 2h, but the points are only h apart.",
            lambda f, x, h: (of_numbers(f)(x + h) - of_numbers(f)(x)) / (2 * h),
        ),
        Misconception.of(
            "backward",
            "you took the points x − h and x.",
            lambda f, x, h: (of_numbers(f)(x) - of_numbers(f)(x - h)) / h,
        ),
    ),
)


# ----------------------------------------------------------------------------------------- the step


def one_sided_error(h: Any, f: float, f2: float, eps: float) -> Any:
    """The lesson's estimate: half of f″ times h, and two rounding errors of f, divided by h."""
    return f2 * h / 2 + 2 * eps * f / h


def central_error(h: Any, f: float, f3: float, eps: float) -> Any:
    """A sixth of f‴ times h², and two rounding errors of f, divided by 2h."""
    return f3 * h**2 / 6 + eps * f / h


ERRORS: dict[str, Callable[..., Any]] = {
    "best_step": one_sided_error,
    "best_central_step": central_error,
}


def _steps(rng: np.random.Generator) -> Iterator[Case]:
    for call, group, third in (
        ("best_step", "one-sided", "f2"),
        ("best_central_step", "central", "f3"),
    ):
        for eps in (EPSILON, 2.0**-23, 2.0**-10):
            sizes = {"f": float(10 ** rng.uniform(-2, 2)), third: float(10 ** rng.uniform(-2, 2))}
            yield Case.of(group, {**sizes, "eps": eps}, call=call)


def _is_best(case: Case, got: Any) -> str:
    """No other step may have an estimate that is smaller by more than five in a hundred."""
    if problem := _number(got):
        return problem
    if float(got) <= 0:
        return "a step should be a positive number."
    tried = 10 ** np.linspace(-25, 10, 7001)
    errors = ERRORS[case.call](tried, **case.args)
    ratio = ERRORS[case.call](float(got), **case.args) / errors.min()
    if ratio <= 1.05:
        return ""
    say = (
        f"with the step {shown(float(got))} the estimated error is {ratio:.3g} times as large as"
        " with the best one."
    )
    return beside(say, f"about {tried[errors.argmin()]:.2g}", got)


best_step = told_by(
    _is_best,
    "best_step",
    {"one-sided": 1, "central": 2},
    _steps,
    answers=("best_step", "best_central_step"),
    checked="Your step is compared with seven thousand others; no derivative is needed for that.",
    hints=(
        (
            "One part of the error grows with h, the other shrinks. The sum is smallest where its"
            " derivative with respect to h is zero."
        ),
        "One-sided: the derivative is f2/2 − 2·eps·f/h². Central: f3·h/3 − eps·f/h².",
        "One-sided: h² = 4·eps·f/f2. Central: h³ = 3·eps·f/f3.",
    ),
    misconceptions=(
        Misconception.of(
            "epsilon itself",
            "you took eps itself: at such a step all digits are lost.",
            lambda f, eps, f2=0.0, f3=0.0: eps,
        ),
        Misconception.of(
            "no root",
            "you forgot the root: the equation gives a power of h.",
            lambda f, eps, f2=0.0, f3=0.0: 4 * eps * f / f2 if f2 else 3 * eps * f / f3,
        ),
        *(
            Misconception.of(
                f"`** 1 / {root}`",
                f"you wrote `** 1 / {root}`, or no root at all. `**` binds closer than `/`: write"
                f" `** (1/{root})`.",
                *values,
                call=call,
            )
            for call, root, values in (
                (
                    "best_step",
                    2,
                    (
                        lambda f, f2, eps: (4 * eps * f / f2) ** 1 / 2,
                        lambda f, f2, eps: 2 * (eps * f / f2) ** 1 / 2,
                        lambda f, f2, eps: (eps * f / f2) ** 1 / 2,
                    ),
                ),
                (
                    "best_central_step",
                    3,
                    (
                        lambda f, f3, eps: (3 * eps * f / f3) ** 1 / 3,
                        lambda f, f3, eps: (eps * f / f3) ** 1 / 3,
                    ),
                ),
            )
        ),
        Misconception.of(
            "square root for both",
            "For the central difference the equation has h³, so take a cube root.",
            lambda f, eps, f2=0.0, f3=0.0: (
                2 * math.sqrt(eps * f / f2) if f2 else math.sqrt(3 * eps * f / f3)
            ),
        ),
        Misconception.of(
            "upside down",
            "the quotient is upside down: a strongly curved function needs a smaller step, a large"
            " one a larger step.",
            lambda f, eps, f2=0.0, f3=0.0: (
                2 * math.sqrt(eps * f2 / f) if f2 else (3 * eps * f3 / f) ** (1 / 3)
            ),
        ),
        Misconception.of(
            "forgets the function's sizes",
            "your step depends on eps alone; the sizes of the function and of its derivative matter"
            " too.",
            lambda f, eps, f2=0.0, f3=0.0: math.sqrt(eps) if f2 else eps ** (1 / 3),
            lambda f, eps, f2=0.0, f3=0.0: 2 * math.sqrt(eps) if f2 else (3 * eps) ** (1 / 3),
        ),
        Misconception(
            "a constant factor",
            "you lost a constant factor; the dependence on f, its derivative and eps is right.",
            lambda case: _unit(**case.args),
            fitted=lambda pairs: _a_factor(pairs),
        ),
    ),
)


def _unit(f: float, eps: float, f2: float = 0.0, f3: float = 0.0) -> float:
    """What a best step must be proportional to, by its dimensions."""
    return math.sqrt(eps * f / f2) if f2 else (eps * f / f3) ** (1 / 3)


def _a_factor(pairs: Sequence[tuple[Case, Any]]) -> tuple[str, Callable[[Case], Any]] | None:
    """Whether steps depend on everything as they should, but for a factor."""
    shares = [float(got) / _unit(**case.args) for case, got in pairs]
    if not shares or not 0 < max(shares) < min(shares) * (1 + 1e-6):
        return None
    return "", lambda case: shares[0] * _unit(**case.args)


# -------------------------------------------------------------------------------------- the checker

ACCURACY = {"x of moderate size": 5e-9, "large and small x": 1e-6, "x = 0": 1e-6}
"""The relative errors that are allowed. The first is out of reach of one-sided differences."""


def _points(rng: np.random.Generator) -> Iterator[Case]:
    # Many points: a step that is far too small is within the allowed error at some of them by luck.
    for _ in range(6):
        for name in ("exp(x)", "sin(x)", "x³ + 2x", "ln(x)", "ln(1 + exp(x))"):
            yield Case("x of moderate size", f=name, x=float(rng.uniform(0.3, 1.2)))
        yield Case("x of moderate size", f="exp(x)", x=-float(rng.uniform(0.3, 1.2)))
    for name in ("ln(x)", "√x", "1/x"):
        yield Case("large and small x", f=name, x=float(10 ** rng.uniform(6, 8)))
        yield Case("large and small x", f=name, x=float(10 ** rng.uniform(-8, -6)))
    yield Case("large and small x", f="1/x", x=-float(10 ** rng.uniform(6, 8)))
    for name in ("exp(x)", "sin(x)", "x³ + 2x"):
        yield Case("x = 0", f=name, x=0.0)


def _slope(case: Case) -> float:
    """The derivative, by the engine."""
    f = FUNCTIONS[case.args["f"]]
    return float(
        mg.func.grad(lambda x: f(x, mg))(mg.tensor(case.args["x"], dtype=mg.float64)).item()
    )


def _is_derivative(case: Case, got: Any) -> str:
    """The engine says what the derivative is."""
    if type(got) is not dict or set(got) != {"value", "steps"} or type(got["steps"]) is not list:
        return _number(got)
    if problem := _number(got["value"]):
        return problem
    right = _slope(case)
    off = abs(float(got["value"]) - right) / abs(right)
    at = f"f(x) = {case.args['f']} at x = {shown(case.args['x'])}"
    allowed = ACCURACY[case.group]
    if off <= allowed:
        return ""
    both = f"what was returned is {got['value']:.12g}, and the derivative is {right:.12g}"
    say = f"for {at} {both}: the relative error is {off:.1g}, and {allowed:g} is allowed."
    return beside(say, f"value = {right:.12g}", got)


Pairs = list[tuple[Case, Any]]


def _both_sides(pairs: Pairs) -> bool:
    """Whether f was asked for on both sides of each x that is not so large that a step could be
    lost in it.
    """
    return all(
        min(h) < 0 < max(h)
        for h in (got["steps"] for case, got in pairs if abs(case.args["x"]) < 10)
        if h
    )


def _largest(got: Any) -> float:
    return float(max(map(abs, got["steps"]), default=0.0))


def _moderate(pairs: Pairs) -> Pairs:
    return [(case, got) for case, got in pairs if case.group == "x of moderate size"]


def _far_off(case: Case, got: Any) -> bool:
    return bool(_is_derivative(case, got))


def _times(factor: float) -> Callable[[Pairs], bool]:
    """Whether all values are so many times the derivative, as exactly as a difference can be."""
    return lambda pairs: all(
        abs(got["value"] / (factor * _slope(case)) - 1) < 1e-4 for case, got in _moderate(pairs)
    )


def _seen(
    name: str, say: str, is_so: Callable[[Pairs], bool], wrong: Callable[..., float]
) -> Misconception:
    """A mistake that shows in the points at which f was asked for; wrong(f, x): one that makes
    it.
    """

    def found(pairs: Pairs) -> tuple[str, None] | None:
        return ("", None) if is_so(pairs) else None

    def run(case: Case) -> Any:
        return watched_difference({"wrong": wrong}, "wrong", case.args["f"], case.args["x"])

    return Misconception(name, say, run, fitted=found)


def _central(h: Callable[[float], float]) -> Callable[..., float]:
    return lambda f, x: (f(x + h(x)) - f(x - h(x))) / (2 * h(x))


def _hundred_thousandth(x: float) -> float:
    return 1e-5 * abs(x) or 1e-5


central_difference = told_by(
    _is_derivative,
    "central_difference",
    {"x of moderate size": 2, "large and small x": 1, "x = 0": 1},
    _points,
    drive="minigrad.lessons.exercises.students_side:watched_difference",
    forbid=(DERIVATIVES,),
    rtol=0.0,  # what a mistake gives is told by where it asked for f, to the last digit
    atol=0.0,
    present=lambda case: (
        f"central_difference(f, {shown(case.args['x'])}) with f(x) = {case.args['f']}"
    ),
    checked=(
        "Your numbers are compared with automatic differentiation, and f notes where you call it."
    ),
    hints=(
        "Evaluate f on both sides of x, at equal distances. How far apart are the two points?",
        (
            "With f and f‴ of size 1 the best step is near 10⁻⁵. A large x wants a larger step, and"
            " a small x a smaller one: the same fraction of x."
        ),
        (
            "h = 1e-5 * abs(x) serves everywhere except at x = 0, where it would be zero; there"
            " take 1e-5."
        ),
    ),
    misconceptions=(
        _seen(
            "one-sided",
            "You asked for f on one side of x only: the error then shrinks with h, that of the"
            " central difference with h².",
            lambda pairs: all(
                h and (min(h) >= 0 or max(h) <= 0) for h in (got["steps"] for _, got in pairs)
            ),
            lambda f, x: (f(x + 1e-5) - f(x)) / 1e-5,
        ),
        _seen(
            "sign",
            "the two values are subtracted the wrong way round: the sign of every derivative is"
            " turned.",
            lambda pairs: _both_sides(pairs) and _times(-1.0)(pairs),
            lambda f, x: -_central(_hundred_thousandth)(f, x),
        ),
        _seen(
            "run of h",
            "you divide by h, but the two points are 2h apart: every value is twice the"
            " derivative.",
            lambda pairs: _both_sides(pairs) and _times(2.0)(pairs),
            lambda f, x: 2 * _central(_hundred_thousandth)(f, x),
        ),
        _seen(
            "run of 4h",
            "you divide by more than the distance of the two points: every value is half the"
            " derivative.",
            lambda pairs: _both_sides(pairs) and _times(0.5)(pairs),
            lambda f, x: _central(_hundred_thousandth)(f, x) / 2,
        ),
        _seen(
            "not divided",
            "the difference of the two values is not divided by the distance of the two points.",
            lambda pairs: (
                _both_sides(pairs)
                and all(
                    abs(got["value"] / (_slope(case) * (max(h) - min(h))) - 1) < 1e-3
                    for case, got in _moderate(pairs)
                    for h in [got["steps"]]
                )
            ),
            lambda f, x: f(x + 1e-5) - f(x - 1e-5),
        ),
        _seen(
            "one small step for all",
            "Your step is the same for all x, and too small: rounding eats the digits already at x"
            " of size 1, and more of them at 10⁷.",
            lambda pairs: _both_sides(pairs) and _same_step(pairs) and _too_small(pairs),
            _central(lambda x: 1e-9),
        ),
        _seen(
            "one large step for all",
            "Your step is the same for all x, and too large: the curve bends in between already at"
            " x of size 1, and near 0 it leaps over everything.",
            lambda pairs: _both_sides(pairs) and _same_step(pairs) and _too_large(pairs),
            _central(lambda x: 1e-2),
        ),
        _seen(
            "one step for all",
            "Your step is the same for all x: at 10⁷ it is lost in the rounding of x, and near 0 it"
            " leaps over everything.",
            lambda pairs: _both_sides(pairs) and _same_step(pairs),
            _central(lambda x: 1e-5),
        ),
        _seen(
            "larger than x",
            "Near 0 your step is larger than x itself, so it leaps over everything that happens"
            " there.",
            lambda pairs: (
                _both_sides(pairs)
                and any(
                    0 < abs(case.args["x"]) <= _largest(got)
                    for case, got in pairs
                    if _far_off(case, got)
                )
            ),
            _central(lambda x: 1e-5 * max(1.0, abs(x))),
        ),
        _seen(
            "too small a step",
            "your step is so small that rounding eats the digits: nearer to x is not always"
            " better.",
            lambda pairs: _both_sides(pairs) and _too_small(pairs),
            _central(lambda x: 1e-9 * (abs(x) or 1.0)),
        ),
        _seen(
            "too large a step",
            "your step is so large that the curve bends in between.",
            lambda pairs: _both_sides(pairs) and _too_large(pairs),
            _central(lambda x: 1e-2 * (abs(x) or 1.0)),
        ),
    ),
)


def _too_small(pairs: Pairs) -> bool:
    """Whether a derivative at an x of moderate size is lost by a tiny step."""
    lost = [(case, got) for case, got in _moderate(pairs) if _far_off(case, got)]
    return any(_largest(got) < 1e-7 * abs(case.args["x"]) for case, got in lost)


def _too_large(pairs: Pairs) -> bool:
    """Whether a derivative at an x of moderate size is lost by a large step."""
    lost = [(case, got) for case, got in _moderate(pairs) if _far_off(case, got)]
    return any(_largest(got) > 1e-4 * abs(case.args["x"]) for case, got in lost)


def _same_step(pairs: Pairs) -> bool:
    """Whether the distance is the same for all x; for large ones it is what x + h makes of it."""
    steps = [_largest(got) for case, got in pairs if abs(case.args["x"]) < 10]
    return bool(steps) and max(steps) < 1.01 * min(steps)


# ---------------------------------------------------------------------------------- the predictions


@cache
def nodes_of_derivative(depth: int, order: int = 1) -> float:
    """The nodes of SymPy's derivative by w1 of soft ReLU nested so deep, written out as a tree;
    order 0: of the function itself.
    """
    import sympy as sp

    h = sp.Symbol("x", real=True)
    for k in range(1, depth + 1):
        w, b = sp.symbols(f"w{k} b{k}", real=True)
        h = sp.log(1 + sp.exp(w * h + b))
    return float(
        sum(1 for _ in sp.preorder_traversal(sp.diff(h, sp.Symbol("w1", real=True), order)))
    )


def _digits() -> float:
    """The digits that are left at the best step, where f, f′ and f″ have the size 1."""
    return float(
        -np.log10(one_sided_error(10 ** np.linspace(-16, 0, 2000), 1.0, 1.0, EPSILON).min())
    )


PREDICTIONS = (
    Number(
        "digits",
        "Prediction: the right digits of a one-sided difference, at best",
        variable="digits_at_best",
        answer=_digits,
        because="At the best step about half of the digits are right: 7 or 8 of the 16.",
        slips=(
            (
                (
                    "Each value of f has 16 digits. But the leading ones are equal, and cancel"
                    " in the difference."
                ),
                lambda: 16.0,
            ),
            ("Not that bad: some step is neither too large nor too small.", lambda: 0.0),
            ("A central difference gets that far; the one-sided one does not.", lambda: 11.0),
        ),
        hints=(
            (
                "If h is 10⁻⁸, in how many digits do f(x) and f(x + h) agree, so that they go away"
                " in the difference?"
            ),
            (
                "The error from the curve's bend is about h, that from rounding about 10⁻¹⁶/h. Try"
                " h = 10⁻⁴, 10⁻⁸, 10⁻¹²."
            ),
            "At h = 10⁻⁸ both errors are about 10⁻⁸.",
        ),
        tolerance=0.2,
    ),
    Exact(
        "evaluations",
        "Prediction: evaluations of f for 1000 derivatives",
        variable="evaluations",
        answer=lambda: float(1000 + 1),
        because="One at the point itself, and one with each input moved in turn.",
        slips=(
            (
                "Almost: the value at the point itself, f(x), is needed too. Once is enough.",
                lambda: 1000.0,
            ),
            (
                (
                    "f(x) is the same in all quotients, so it is computed once. (Central"
                    " differences would take 2000.)"
                ),
                lambda: 2000.0,
            ),
            (
                "Two new values for each input are those of central differences, which do not need"
                " f(x). A one-sided quotient needs one for each input, and f(x) once.",
                lambda: 2001.0,
            ),
            (
                (
                    "All inputs cannot be moved at once: then you would see the sum of their"
                    " influences."
                ),
                lambda: 2.0,
            ),
        ),
        hints=(
            (
                "Which values of f does the quotient for the first input need? And which new ones"
                " that for the second?"
            ),
        ),
    ),
    Number(
        "swell",
        "Prediction: the nodes of the derivative at depth 8",
        variable="nodes_at_depth_8",
        answer=lambda: nodes_of_derivative(8),
        because=(
            "Twice the depth, between three and four times the nodes: the derivative is a product"
            " with a factor for each layer, and each factor holds all the layers below it."
        ),
        slips=(
            ("That is the size of f itself at depth 8.", lambda: nodes_of_derivative(8, 0)),
            (
                (
                    "That would be so if each layer added the same number of nodes. Look how the"
                    " length of a factor grows with its layer."
                ),
                lambda: 2 * nodes_of_derivative(4),
            ),
            (
                (
                    "Not as bad as that here, where each layer is used once: each factor grows in"
                    " proportion to its layer, not by doubling."
                ),
                lambda: 16 * nodes_of_derivative(4),
            ),
        ),
        hints=(
            (
                "The chain rule gives a product with one factor for each layer. How long is the"
                " factor of layer k?"
            ),
            (
                "Layer k's factor contains the formula of all layers below, so its length is"
                " proportional to k. Add up 1 + 2 + … + 8."
            ),
            (
                "1 + … + 8 = 36, and 1 + … + 4 = 10. The factor is a little smaller, because of"
                " what does not grow."
            ),
        ),
        tolerance=0.2,
    ),
)

TITLES = {
    "difference_quotient": "Exercise 1 · A misprint",
    "best_step": "Exercise 2 · Choose the step",
    "central_difference": "Exercise 3 · A checker",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
