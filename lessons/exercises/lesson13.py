"""The exercises of lesson 13, as data: operations of one's own, with rules for both modes and for
the second derivative.

Right answers are not written here: the engine has operations that compute the same, and
differentiates them by its own rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.watch import trace_function

from ..grading.comparison import same
from ..grading.exercise import Case, Exercise, Misconception
from ..grading.words import shown
from .engine_in_use import OPERATION as OPERATION
from .made import Exact, by_name

DRIVE = "minigrad.lessons.exercises.students_side:own_operation"


def _hypotenuse(a: Any, b: Any) -> Any:
    return mg.sqrt(a * a + b * b)


def _cube(x: Any) -> Any:
    return x * x * x


def _right(f: Callable[..., Any], what: str, inputs: list[Any], seeds: list[Any]) -> Any:
    """What `own_operation` should return, by the engine's own rules for f."""
    points = [mg.tensor(x) for x in inputs]
    if what == "value":
        return f(*points)
    if what == "tangent":
        return mg.func.jvp(f, tuple(points), tuple(mg.tensor(t) for t in seeds))[1]
    seed = mg.tensor(seeds[0])
    if what == "gradient":
        return mg.func.vjp(f, *points)[1](seed)[0]
    return mg.func.grad(lambda x: mg.func.vjp(f, x)[1](seed)[0].sum())(points[0])


def _own(
    name: str,
    f: Callable[..., Any],
    points: dict[str, float],
    make_cases: Callable[..., Any],
    **options: Any,
) -> Exercise:
    made = Exercise(
        name,
        points,
        make_cases,
        drive=DRIVE,
        title=f"Exercise {name}",
        present=_present(name),
        checked="Your results are compared with those of the engine's own operations and rules.",
        **{"rtol": 1e-9, "atol": 1e-12, **options},
    )
    made.answer(lambda what, inputs, seeds: _right(f, what, inputs, seeds))
    made.verify = _as_graded(made)
    return made


def _as_graded(exercise: Exercise) -> Callable[[Case, Any], str]:
    """The notebook's verdict: the same as the grader's, for the engine is there too."""
    return lambda case, got: same(
        exercise.expected(case), got, exercise.rtol, exercise.atol, f"the {case.args['what']}"
    )


def _present(name: str) -> Callable[[Case], str]:
    def present(case: Case) -> str:
        of = ", ".join(shown(np.asarray(x)) for x in case.args["inputs"])
        seeds = ", ".join(shown(np.asarray(x)) for x in case.args["seeds"])
        return f"the {case.args['what']} of {name} at {of}" + (
            f" with the seed {seeds}" if seeds else ""
        )

    return present


def _case(group: str, what: str, inputs: list[np.ndarray], seeds: list[np.ndarray]) -> Case:
    return Case.of(group, {"what": what, "inputs": inputs, "seeds": seeds})


def _draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(rng.uniform(0.3, 2.0, size=shape) * rng.choice((-1.0, 1.0), size=shape))


SHAPES: tuple[tuple[int, ...], ...] = ((), (3,), (2, 2), (0,))


# ----------------------------------------------------------------------------------------- softplus


def _softplus_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in SHAPES:
        yield _case("values", "value", [_draw(rng, shape)], [])
        yield _case("gradients", "gradient", [_draw(rng, shape)], [_draw(rng, shape)])
    # At −40 the value is e⁻⁴⁰: 1 + e⁻⁴⁰ is 1 for a computer, and its logarithm 0.
    for x in (
        np.array([800.0, -800.0]),
        np.array(float(rng.uniform(750, 1500))),
        np.array(-float(rng.uniform(38, 200))),
    ):
        yield _case("large inputs", "value", [x], [])
        yield _case("large inputs", "gradient", [x], [np.full_like(x, -2.0)])


def _softplus_but(gradient: Callable[[np.ndarray, np.ndarray], Any]) -> Callable[..., Any]:
    """A Softplus whose value is right."""

    def wrong(what: str, inputs: list[np.ndarray], seeds: list[np.ndarray]) -> Any:
        return np.asarray(
            np.logaddexp(0, inputs[0]) if what == "value" else gradient(inputs[0], seeds[0])
        )

    return wrong


def _as_written(what: str, inputs: list[np.ndarray], seeds: list[np.ndarray]) -> Any:
    """The formulas ln(1 + exp(x)) and exp(x)/(1 + exp(x)), word by word."""
    with np.errstate(all="ignore"):
        grown = np.exp(inputs[0])
        return np.asarray(np.log(1 + grown) if what == "value" else seeds[0] * grown / (1 + grown))


def _absorbed(what: str, inputs: list[np.ndarray], seeds: list[np.ndarray]) -> Any:
    """max(x, 0) + ln(1 + exp(−|x|)): nothing overflows, but a small exponential is lost beside
    the 1.
    """
    x = inputs[0]
    return np.asarray(
        np.maximum(x, 0) + np.log(1 + np.exp(-np.abs(x)))
        if what == "value"
        else seeds[0] * _logistic(x)
    )


def _overflows(case: Case, got: Any) -> bool:
    """Whether all is right but for large inputs, at which something is infinite or not a number,
    or a small one is lost beside a 1.
    """
    lost = not np.isfinite(got).all() or bool((case.args["inputs"][0] < 0).all())
    return not _as_graded(softplus)(case, got) or (case.group == "large inputs" and lost)


def _logistic(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-np.logaddexp(0, -x)))


def _relu(case: Case) -> Any:
    return np.maximum(case.args["inputs"][0], 0.0)


softplus = _own(
    "Softplus",
    mg.softplus,
    {"values": 1, "large inputs": 1, "gradients": 2},
    _softplus_cases,
    forbid=("minigrad.softplus", "minigrad.nn.functional.softplus"),
    atol=0.0,  # where the value is small, all of its digits count
    hints=(
        (
            "The derivative of ln(1 + exp(x)) is 1/(1 + exp(−x)). `mg.sigmoid` computes it safely"
            " for all x."
        ),
        (
            "For a large x use ln(1 + exp(x)) = x + ln(1 + exp(−x)): nothing overflows there. For"
            " a small x the formula is fine as it stands."
        ),
        (
            "Both at once: `mg.relu(x) + mg.log1p(mg.exp(-mg.abs(x)))`. And `backward`"
            " returns `g * mg.sigmoid(x)`."
        ),
    ),
    misconceptions=(
        Misconception(
            "overflow",
            "you take the exponential of a large number, which overflows to infinity. (That of a"
            " large negative number is 0.)",
            lambda case: _as_written(**case.args),
            explains=_overflows,
        ),
        Misconception(
            "relu",
            "These are the values of relu. Softplus is smooth, and at 0 it is ln 2.",
            lambda case: _relu(case) if case.args["what"] == "value" else None,
            fitted=lambda pairs: (
                ("", None)
                if all(
                    not same(_relu(case), got)
                    for case, got in pairs
                    if case.args["what"] == "value"
                )
                else None
            ),
        ),
        Misconception(
            "1 + a small number",
            "For x near −40 and below, 1 + exp(x) rounds to 1, and its logarithm is 0: all digits"
            " are lost. `mg.log1p(…)` keeps them.",
            lambda case: _absorbed(**case.args),
            explains=lambda case, got: (
                not _as_graded(softplus)(case, got)
                or (
                    case.args["what"] == "value"
                    and not same(_absorbed(**case.args), got, 1e-9, 1e-12)
                )
            ),
        ),
        Misconception.of(
            "forgets g",
            "you left out `g`, the adjoint that arrives: multiply by it.",
            _softplus_but(lambda x, g: _logistic(x)),
        ),
        Misconception.of(
            "passes g on",
            "`g` passes unchanged: the derivative is missing.",
            _softplus_but(lambda x, g: g),
        ),
        Misconception.of(
            "value instead of derivative",
            "you used the value instead of the derivative.",
            _softplus_but(lambda x, g: g * np.logaddexp(0, x)),
        ),
        Misconception.of(
            "one derivative too many",
            "s · (1 − s) is the derivative of the logistic function s, and so the second one of"
            " softplus; `backward` needs the first, s.",
            _softplus_but(lambda x, g: g * _logistic(x) * _logistic(-x)),
        ),
        Misconception.of(
            "sign",
            "x has the wrong sign in your derivative.",
            _softplus_but(lambda x, g: g * _logistic(-x)),
        ),
        Misconception.of(
            "derivative at the result",
            "the derivative is taken at the result instead of at the input.",
            _softplus_but(lambda x, g: g * _logistic(np.logaddexp(0, x))),
        ),
    ),
)


# --------------------------------------------------------------- a length, and the hole in its rule


def _norm_cases(rng: np.random.Generator) -> Iterator[Case]:
    gradient = lambda group, x: _case(group, "gradient", [x], [_draw(rng, ())])
    for shape in ((3,), (1,), (2, 2), ()):
        yield gradient("other vectors", _draw(rng, shape))
    yield gradient("other vectors", np.array([0.0, float(rng.uniform(1, 2)), 0.0]))
    yield gradient("other vectors", 1e-6 * _draw(rng, (3,)))
    for shape in ((3,), (1,), (2, 2), ()):
        yield gradient("the zero vector", np.zeros(shape))
    yield gradient("the zero vector", _draw(rng, (2,)))  # a rule that sends nothing is no rule
    # NaN that a choice hides comes back in the second derivative: it has none there, but NaN would
    # spread to all else.
    for group, x in (("other vectors", _draw(rng, (3,))), ("the zero vector", np.zeros(2))):
        yield _case(group, "second derivative", [x], [_draw(rng, ())])


def _norm_but(gradient: Callable[[np.ndarray, np.ndarray, Any], Any]) -> Callable[..., Any]:
    """gradient(x, g, y), y being the length."""

    def wrong(what: str, inputs: list[np.ndarray], seeds: list[np.ndarray]) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(gradient(inputs[0], seeds[0], np.sqrt(np.sum(inputs[0] ** 2))))

    return wrong


def _is_norm(case: Case, got: Any) -> str:
    """As the engine's own length; at the zero vector any finite second derivative will do, for
    there is none.
    """
    if case.args["what"] == "second derivative" and _is_zero(case):
        finite = isinstance(got, np.ndarray) and got.dtype.kind == "f" and np.isfinite(got).all()
        return (
            ""
            if finite
            else "the gradient is right, but NaN comes back when it is differentiated once more."
        )
    if case.group == "the zero vector" and not _is_zero(case):
        return same(norm.expected(case), got, 1e-3, 1e-3, "the gradient")
    return _as_graded(norm)(case, got)


def _of(wrong: Callable[..., Any]) -> Callable[[Case], Any]:
    return lambda case: wrong(**case.args)


def _is_zero(case: Case) -> bool:
    return not case.args["inputs"][0].any()


def _twice_at_zero(case: Case) -> bool:
    return bool(case.args["what"] == "second derivative" and _is_zero(case))


def _a_little_small(case: Case, got: Any) -> bool:
    """Whether a gradient is right but for a number that was added to the length; a short vector
    feels it more than a long one.
    """
    if case.args["what"] == "second derivative":
        return bool(np.isfinite(got).all())
    if _is_zero(case):
        return not np.any(got)
    x, right = case.args["inputs"][0], _norm_but(lambda x, g, y: g * x / y)(**case.args)
    share = np.asarray(got)[right != 0] / right[right != 0]
    return bool((share > (0.9 if np.abs(x).max() > 0.1 else 0.0)).all() and (share <= 1).all())


def _in_gradient(name: str, say: str, wrong: Callable[..., Any]) -> Misconception:
    """A mistake that is told by its gradients, whatever comes of differentiating them."""

    def explains(case: Case, got: Any) -> bool:
        return case.args["what"] == "second derivative" or not same(
            wrong(**case.args), got, 1e-9, 1e-12
        )

    return Misconception(name, say, _of(wrong), explains=explains)


norm = _own(
    "Norm",
    mg.linalg.vector_norm,
    {"other vectors": 1, "the zero vector": 2},
    _norm_cases,
    hints=(
        "Where is the 0/0? Only one of x and y has to be changed, and only where the length is 0.",
        "`mg.where(y > 0, y, 1.0)` is y, but 1 where y is 0. What is x there?",
        "`return g * x / mg.where(y > 0, y, 1.0)`",
    ),
    misconceptions=(
        Misconception(
            "the hole is still there",
            "0 is still divided by 0: NaN comes back from the zero vector.",
            _of(_norm_but(lambda x, g, y: g * x / y)),
            explains=lambda case, got: (
                bool(np.isnan(got).all()) if _is_zero(case) else not _as_graded(norm)(case, got)
            ),
        ),
        Misconception(
            "chosen too late",
            "x / y is still computed at the zero vector, and choosing afterwards only hides the"
            " NaN, which comes back in the second derivative. Choose before you divide, so that"
            " the division is never 0/0.",
            _of(_norm_but(lambda x, g, y: np.where(y > 0, g * x / y, 0.0))),
            explains=lambda case, got: (
                bool(np.isnan(got).all()) if _twice_at_zero(case) else not _is_norm(case, got)
            ),
        ),
        Misconception(
            "a small number",
            "you add a small number to y, or under the root: NaN is gone, but all gradients are a"
            " little too small.",
            _of(_norm_but(lambda x, g, y: g * x / (y + 1e-6))),
            explains=_a_little_small,
        ),
        _in_gradient(
            "forgets g", "you left out `g`.", _norm_but(lambda x, g, y: x / np.where(y > 0, y, 1.0))
        ),
        _in_gradient(
            "not divided", "you forgot to divide by the length.", _norm_but(lambda x, g, y: g * x)
        ),
        _in_gradient(
            "exchanged",
            "x and y are swapped: `ctx.saved_tensors` returns them in the order in which `forward`"
            " saved them.",
            _norm_but(lambda x, g, y: g * y / np.where(x > 0, x, 1.0)),
        ),
        _in_gradient(
            "the square",
            "That is the rule of the sum of squares, without the root.",
            _norm_but(lambda x, g, y: 2 * g * x),
        ),
        _in_gradient(
            "passes g on",
            "At the zero vector the gradient should be 0.",
            _norm_but(lambda x, g, y: g * x / y if y else g + 0 * x),
        ),
    ),
)


norm.accept(_is_norm)
norm.verify = _is_norm


# ------------------------------------------------------------------------------ the JVP of a length


def _hypotenuse_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in SHAPES:
        ab, seeds = [_draw(rng, shape), _draw(rng, shape)], [_draw(rng, shape), _draw(rng, shape)]
        yield _case("tangents", "tangent", ab, seeds)
    for i in (0, 1):
        ab = [_draw(rng, (2,)), _draw(rng, (2,))]
        yield _case(
            "one input moves", "tangent", ab, [_draw(rng, (2,)) * float(k == i) for k in (0, 1)]
        )


def _length_but(tangent: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(what: str, inputs: list[np.ndarray], seeds: list[np.ndarray]) -> Any:
        (a, b), (da, db) = inputs, seeds
        return np.asarray(tangent(a, b, da, db, np.hypot(a, b)))

    return wrong


hypotenuse = _own(
    "Hypotenuse",
    _hypotenuse,
    {"tangents": 2, "one input moves": 1},
    _hypotenuse_cases,
    hints=(
        "The derivative with respect to a is a / y, with respect to b it is b / y. Both stand in"
        " `backward`.",
        "In forward mode both effects add up to one tangent of the result.",
        "Return (a · da + b · db) / y.",
    ),
    misconceptions=(
        Misconception.of(
            "a pair",
            "The result has one tangent, the sum of both effects.",
            lambda what, inputs, seeds: [
                inputs[0] * seeds[0] / np.hypot(*inputs),
                inputs[1] * seeds[1] / np.hypot(*inputs),
            ],
        ),
        Misconception.of(
            "no derivative",
            "the tangents are added as they are: the local derivatives are missing.",
            _length_but(lambda a, b, da, db, y: da + db),
        ),
        Misconception.of(
            "length of the tangents",
            "you applied the operation to the tangents.",
            _length_but(lambda a, b, da, db, y: np.hypot(da, db)),
        ),
        Misconception.of(
            "swapped",
            "the operands are swapped.",
            _length_but(lambda a, b, da, db, y: (b * da + a * db) / y),
        ),
        Misconception.of(
            "not divided",
            "you forgot to divide by the length.",
            _length_but(lambda a, b, da, db, y: a * da + b * db),
        ),
        Misconception.of(
            "divided twice",
            "you divide by y²; once is enough.",
            _length_but(lambda a, b, da, db, y: (a * da + b * db) / (y * y)),
        ),
        Misconception.of(
            "the square",
            "That is the tangent of a² + b², without the root.",
            _length_but(lambda a, b, da, db, y: 2 * (a * da + b * db)),
        ),
        Misconception.of(
            "the first only",
            "the term with `db` is missing.",
            _length_but(lambda a, b, da, db, y: a * da / y),
        ),
        Misconception.of(
            "the second only",
            "the term with `da` is missing.",
            _length_but(lambda a, b, da, db, y: b * db / y),
        ),
        Misconception.of(
            "subtracted",
            "you subtract the second term; both are added.",
            _length_but(lambda a, b, da, db, y: (a * da - b * db) / y),
        ),
    ),
)


# ---------------------------------------------------------------------------- the second derivative


def _cube_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, what in (
        ("first derivative", "gradient"),
        ("second derivative", "second derivative"),
    ):
        for shape in SHAPES[:3]:
            yield _case(group, what, [_draw(rng, shape)], [_draw(rng, shape)])


def _cube_but(first: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(what: str, inputs: list[np.ndarray], seeds: list[np.ndarray]) -> Any:
        x, g = inputs[0], seeds[0]
        return np.asarray((first if what == "gradient" else second)(x, g))

    return wrong


cube = _own(
    "Cube",
    _cube,
    {"first derivative": 1, "second derivative": 2},
    _cube_cases,
    hints=(
        (
            "What is computed inside `forward` is not recorded. From which value can `backward`"
            " start, to be differentiated again?"
        ),
        "Keep the input itself: `ctx.save_for_backward(x)`. It comes back with its history.",
        "`(x,) = ctx.saved_tensors` in `backward`, and then `return g * 3 * x * x`.",
    ),
    misconceptions=(
        Misconception.of(
            "a constant slope",
            "the second derivative is 0 everywhere: the slope reaches the engine as a constant. It"
            " was computed in `forward`, or cut off later, for example by `detach`.",
            _cube_but(lambda x, g: g * 3 * x * x, lambda x, g: 0 * x),
        ),
        Misconception.of(
            "half a constant",
            "one of the factors of the slope is a constant for the engine: it was computed in"
            " `forward`, or cut off later.",
            _cube_but(lambda x, g: g * 3 * x * x, lambda x, g: g * 3 * x),
        ),
        Misconception.of(
            "forgets g", "you left out `g`.", _cube_but(lambda x, g: 3 * x * x, lambda x, g: 6 * x)
        ),
        Misconception.of(
            "one derivative too many",
            "That is 6x, the second derivative of x³; `backward` needs the first.",
            _cube_but(lambda x, g: g * 6 * x, lambda x, g: g * 6 + 0 * x),
        ),
        Misconception.of(
            "value instead of derivative",
            "you multiply by x³, the value; the derivative is 3x².",
            _cube_but(lambda x, g: g * x**3, lambda x, g: g * 3 * x * x),
        ),
        Misconception.of(
            "the rule of the square",
            "2x is the derivative of x². The derivative of x³ is 3x².",
            _cube_but(lambda x, g: g * 2 * x, lambda x, g: g * 2 + 0 * x),
        ),
        Misconception.of(
            "no factor",
            "the factor 3 is missing: the derivative of x³ is 3x².",
            _cube_but(lambda x, g: g * x * x, lambda x, g: g * 2 * x),
        ),
        Misconception.of(
            "power",
            "The power rule: the derivative of x³ is 3x².",
            _cube_but(lambda x, g: g * 3 * x, lambda x, g: g * 3 + 0 * x),
        ),
    ),
)


# ---------------------------------------------------------------------------------- the predictions


class _ConstantSlope(mg.autograd.Function):
    """The lesson's x³, whose slope is computed in `forward`."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.slope = 3 * x * x
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.slope


class _Logistic(mg.autograd.Function):
    """The lesson's example."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return 1 / (1 + mg.exp(-x))


def _cards(f: Callable[..., Any]) -> float:
    return float(
        sum(1 for node in trace_function(f, 0.5, mode="primal")["nodes"] if node.get("op"))
    )


PREDICTIONS = (
    Exact(
        "own-operations",
        "Prediction: the operations of x · Logistic(x)",
        variable="operations",
        answer=lambda: _cards(lambda x: x * _Logistic.apply(x)),
        because=(
            "Logistic is one operation, and the product is another. What happens inside `forward`"
            " is not recorded."
        ),
        slips=(
            (
                "That counts what happens inside `forward` too. It is not recorded.",
                lambda: _cards(lambda x: x / (1 + mg.exp(-x))) + 1,
            ),
            (
                "That is what happens inside `forward`. It is not recorded.",
                lambda: _cards(lambda x: 1 / (1 + mg.exp(-x))),
            ),
            ("That is Logistic alone; the product is an operation too.", lambda: 1.0),
            ("An input is a node, but not an operation.", lambda: 3.0),
        ),
        hints=("Which operations does the engine see, if it does not look into `forward`?",),
    ),
    Exact(
        "lost-derivative",
        "Prediction: the second derivative of this x³ at 2",
        variable="second_derivative",
        answer=lambda: mg.func.grad(mg.func.grad(_ConstantSlope.apply))(
            mg.tensor(2.0, dtype=mg.float64)
        ).item(),
        because=(
            "To the engine the slope is a constant: it does not know that the slope changes when x"
            " does. You get no error and no warning."
        ),
        slips=(
            (
                (
                    "That is what it should be. But what does the engine know of how `ctx.slope`"
                    " depends on x?"
                ),
                lambda: 12.0,
            ),
            (
                "Half of it would remain if one factor of x were still recorded. Is one?",
                lambda: 6.0,
            ),
        ),
        hints=(
            (
                "The first derivative is g · slope. To differentiate it again, the engine must know"
                " how the slope depends on x."
            ),
            "Nothing that is computed inside `forward` is recorded.",
        ),
    ),
)


TITLES = {
    "Softplus": "Exercise 1 · Softplus",
    "Norm": "Exercise 2 · The length, and its hole",
    "Hypotenuse": "Exercise 3 · Derive the JVP",
    "Cube": "Exercise 4 · Differentiable twice",
    "operation": "Exercise 5 · Rules for your own engine",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
