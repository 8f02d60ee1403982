"""`Vjp` and `Jvp`: the student writes the derivative rule of one operation, on arrays.

    Vjp("vjp_sin", mg.sin)              def vjp_sin(x, g): …
                                        the cotangent of x (a tuple where there are several inputs)
    Jvp("jvp_mul", mg.mul, inputs=2)    def jvp_mul(a, b, da, db): …
                                        the tangent of the result

The notebook tests a rule without knowing it: it moves each input a little and sees how the inner
product with g changes. When a submission is graded, the engine says what is right.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import minigrad as mg

from ..comparison import as_plain, same
from ..exercise import DERIVATIVES, Case, Exercise, Misconception
from ..graphs import AskedRule, where_in_rule

Draw = Callable[[np.random.Generator], Sequence[np.ndarray]]
HINTS_VJP = (
    (
        "Move one input by a little and hold the others: how much does the result move, and what"
        " does g make of that?"
    ),
    (
        "The result has the shape of the input, whatever the shape of g: where an input was"
        " stretched by broadcasting, its parts are summed."
    ),
    "The adjoint of an input is g times the operation's derivative, taken at the inputs.",
)
HINTS_JVP = (
    "Every input moves at its own speed; what does each of them do to the result?",
    "The derivative is taken at the inputs, and multiplied by the tangents.",
    "The tangent of the result is the sum over the inputs of derivative times tangent.",
)


CHECKED = "They are compared with central differences; no answers are kept here."


def elementwise(inputs: int, low: float = -2.0, high: float = 2.0) -> dict[str, list[Draw]]:
    """Draws for an operation that works element by element: vectors for "values"; scalars,
    matrices, an empty array and (for two inputs) broadcast shapes for "shapes".
    """

    def draw(*shapes: tuple[int, ...]) -> Draw:
        return lambda rng: [np.asarray(rng.uniform(low, high, size=shape)) for shape in shapes]

    one = [draw(*[shape] * inputs) for shape in ((), (2, 3), (0,), (1, 2, 1))]
    stretched = [draw((3, 1), (4,)), draw((), (2,)), draw((2, 3), (1, 3))] if inputs == 2 else []
    return {
        "values": [draw(*[(4,)] * inputs) for _ in range(3)],
        "shapes": one + stretched,
        "linear": [draw(*[(3,)] * inputs)],
    }


def letters(f: Callable[..., Any], count: int) -> list[str]:
    """The inputs' names: f's own where Python can tell them and they are no library's, else x or
    a, b, …
    """
    try:
        found = [
            p.name
            for p in inspect.signature(f).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        found = []
    ours = (
        len(found) >= count and found[0] != "input"
    )  # PyTorch's word, which minigrad's functions take
    return (
        found[:count]
        if ours
        else ["x"]
        if count == 1
        else [chr(ord("a") + i) for i in range(count)]
    )


def Vjp(name: str, f: Callable[..., Any], *, inputs: int = 1, **options: Any) -> Exercise:
    """The student writes name(*inputs, g): the cotangents of the inputs of f, an array or a tuple
    of arrays.

    f: a function of minigrad's tensors. Among the options are draws: for "values", "shapes" and
    "linear" how inputs are drawn (default: element by element); points: of the groups "values",
    "shapes" and "linear in g"; and the fields of Exercise.
    """
    bundled = lambda wrong: lambda xs, moved: _bundle(wrong(xs, moved[0]))
    mistakes = (
        _misconception(inputs, title, say, bundled(wrong))
        for title, say, wrong in _vjp_mistakes(f, inputs)
    )
    return _rule(
        name,
        f,
        inputs,
        ["g"],
        "linear in g",
        lambda xs, rng: [_direction(value(f, xs).shape, rng)],
        lambda xs, moved: _bundle(pulled(f, xs, moved[0])),
        lambda xs, moved: _bundle(vjp_by_differences(f, xs, moved[0])),
        False,
        {"hints": HINTS_VJP, "misconceptions": tuple(mistakes), **options},
    )


def Jvp(name: str, f: Callable[..., Any], *, inputs: int = 1, **options: Any) -> Exercise:
    """The student writes name(*inputs, *tangents): the tangent of f's result. Options as of `Vjp`;
    the groups are "values", "shapes" and "linear".
    """
    mistakes = (_misconception(inputs, *mistake) for mistake in _jvp_mistakes(f, inputs))
    return _rule(
        name,
        f,
        inputs,
        [f"d{letter}" for letter in letters(f, inputs)],
        "linear",
        lambda xs, rng: [_direction(x.shape, rng) for x in xs],
        lambda xs, moved: pushed(f, xs, moved),
        lambda xs, moved: jvp_by_differences(f, xs, moved),
        True,
        {"hints": HINTS_JVP, "misconceptions": tuple(mistakes), **options},
    )


Moved = Callable[[Sequence[np.ndarray], Any], Any]


def _rule(
    name: str,
    f: Callable[..., Any],
    inputs: int,
    moved: Sequence[str],
    linear: str,
    direction: Moved,
    right: Moved,
    by_differences: Moved,
    forward: bool,
    options: dict[str, Any],
) -> Exercise:
    """A rule that is linear in what is moved: the cotangent, or the tangents.

    moved: their names; linear: the group of calls with multiples of one direction;
    direction(inputs, rng): one that is drawn; right and by_differences(inputs, direction): what the
    engine and central differences give; forward: the tangents are moved.
    """
    given, points = options.pop("draws", None), options.pop("points", None)
    draws = {k: list(v) for k, v in (given or elementwise(inputs)).items()}
    names = [*letters(f, inputs), *moved]

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for group, key in (("values", "values"), ("shapes", "shapes"), (linear, "linear")):
            for draw in draws.get(key, ()) if group in exercise.points else ():
                xs = list(draw(rng))
                along = direction(xs, rng)
                for factor in (1.0,) if group != linear else (0.0, 1.0, -3.0):
                    args = [*xs, *(np.asarray(factor * part) for part in along)]
                    yield Case(group, **dict(zip(names, args, strict=True)))

    def verify(case: Case, got: Any) -> str:
        args = list(case.args.values())
        expected = by_differences(args[:inputs], args[inputs:])
        return same(expected, got, 1e-5, 1e-6, f"what `{name}` returned")

    def asked(case: Case) -> AskedRule:
        args = list(case.args.values())
        return AskedRule(f, dict(zip(names, args[:inputs], strict=False)), args[inputs:], forward)

    usual = {
        "where": where_in_rule(asked),
        "forbid": (DERIVATIVES,),
        "title": f"Exercise {name}",
        "checked": CHECKED,
    }
    worth = dict(points or {"values": 2, "shapes": 1, linear: 1})
    exercise = Exercise(name, worth, cases, verify=verify, **{**usual, **options})

    @exercise.answer
    def _(**args: Any) -> Any:
        every = list(args.values())
        return right(every[:inputs], every[inputs:])

    return exercise


# -------------------------------------------------------------------------------------- derivatives


def tensors(xs: Sequence[Any]) -> list[Any]:
    """Arrays as tensors of their own dtype."""
    return [mg.tensor(np.asarray(x)) for x in xs]


def value(f: Callable[..., Any], xs: Sequence[Any]) -> np.ndarray:
    """f's value at arrays."""
    return np.asarray(as_plain(f(*tensors(xs))))


def pulled(f: Callable[..., Any], xs: Sequence[Any], g: Any) -> list[np.ndarray]:
    """The cotangents of the inputs, by the engine."""
    _, pull = mg.func.vjp(f, *tensors(xs))
    return [np.asarray(as_plain(c)) for c in pull(mg.tensor(np.asarray(g)))]


def pushed(f: Callable[..., Any], xs: Sequence[Any], dots: Sequence[Any]) -> np.ndarray:
    """The tangent of the result, by the engine."""
    return np.asarray(as_plain(mg.func.jvp(f, tuple(tensors(xs)), tuple(tensors(dots)))[1]))


def vjp_by_differences(f: Callable[..., Any], xs: Sequence[Any], g: Any) -> list[np.ndarray]:
    """⟨g, f(x + h e) − f(x − h e)⟩ / 2h for every element of every input."""
    found = []
    for i, x in enumerate(xs):
        slopes = np.zeros(np.shape(x))
        for place in np.ndindex(slopes.shape):
            step = np.zeros(slopes.shape)
            step[place] = h = 1e-5 * max(1.0, abs(float(x[place])))
            up, down = (value(f, [*xs[:i], x + s * step, *xs[i + 1 :]]) for s in (1, -1))
            slopes[place] = float(np.sum(g * (up - down))) / (2 * h)
        found.append(slopes)
    return found


def jvp_by_differences(f: Callable[..., Any], xs: Sequence[Any], dots: Sequence[Any]) -> np.ndarray:
    """(f(x + h ẋ) − f(x − h ẋ)) / 2h."""
    h = 1e-5
    up, down = (value(f, [x + s * h * d for x, d in zip(xs, dots, strict=True)]) for s in (1, -1))
    return np.asarray((up - down) / (2 * h))


def _direction(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return np.asarray(rng.uniform(0.5, 2.0, size=shape) * rng.choice((-1.0, 1.0)))


def _bundle(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else list(parts)


# ----------------------------------------------------------------------------------------- mistakes


Mistake = tuple[str, str, Callable[[list[Any], Any], Any]]
"""A title, what to tell the student, and what is returned for the inputs and what is moved."""


def _misconception(inputs: int, title: str, say: str, wrong: Moved) -> Misconception:
    def run(case: Case) -> Any:
        args = list(case.args.values())
        return wrong(args[:inputs], args[inputs:])

    return Misconception(title, say, run)


def _vjp_mistakes(f: Callable[..., Any], inputs: int) -> Iterator[Mistake]:
    yield (
        "forgets the incoming adjoint",
        "you left out `g`: multiply by it.",
        lambda xs, g: pulled(f, xs, np.ones_like(g)),
    )
    yield ("sign", "the sign is reversed.", lambda xs, g: [-c for c in pulled(f, xs, g)])
    yield (
        "forgets the local derivative",
        "`g` passes unchanged: the operation's own derivative is missing.",
        lambda xs, g: [g] * inputs,
    )
    yield (
        "value instead of derivative",
        "you used the operation's value instead of its derivative.",
        lambda xs, g: [g * value(f, xs)] * inputs,
    )
    for factor, say in ((2.0, "there is a factor 2 too many."), (0.5, "a factor 2 is missing.")):
        yield ("constant factor", say, lambda xs, g, k=factor: [k * c for c in pulled(f, xs, g)])
    if inputs == 1:
        yield (
            "derivative at the output",
            "the derivative is taken at the result instead of at the input.",
            lambda xs, g: pulled(f, [value(f, xs)], g),
        )
    if inputs == 2:
        yield (
            "the other operand",
            "the operands are swapped.",
            lambda xs, g: pulled(f, xs, g)[::-1],
        )
        yield (
            "no sum over broadcast axes",
            "an input that was stretched by broadcasting gets a result of the stretched shape: sum"
            " over the stretched axes.",
            lambda xs, g: pulled(f, list(np.broadcast_arrays(*xs)), g),
        )
        yield (
            "first operand only",
            "the second input gets nothing.",
            lambda xs, g: [pulled(f, xs, g)[0], np.zeros_like(xs[1])],
        )
        for i, which in enumerate(("first", "second")):
            yield (
                "sign",
                f"the sign of the {which} part is wrong.",
                lambda xs, g, k=i: [-c if j == k else c for j, c in enumerate(pulled(f, xs, g))],
            )
    yield (
        "transposed",
        "the result comes out transposed.",
        lambda xs, g: [np.asarray(c).T for c in pulled(f, xs, g)],
    )


def _jvp_mistakes(f: Callable[..., Any], inputs: int) -> Iterator[Mistake]:
    yield (
        "forgets the tangents",
        "you left out the tangents: multiply by them.",
        lambda xs, d: pushed(f, xs, [np.ones_like(t) for t in d]),
    )
    yield ("sign", "the sign is reversed.", lambda xs, d: -pushed(f, xs, d))
    yield (
        "value instead of derivative",
        "you used the operation's value instead of its derivative.",
        lambda xs, d: value(f, xs) * sum(d),
    )
    for factor, say in ((2.0, "there is a factor 2 too many."), (0.5, "a factor 2 is missing.")):
        yield ("constant factor", say, lambda xs, d, k=factor: k * pushed(f, xs, d))
    if inputs == 1:
        yield (
            "derivative at the output",
            "the derivative is taken at the result instead of at the input.",
            lambda xs, d: pushed(f, [value(f, xs)], d),
        )
        yield (
            "forgets the local derivative",
            "the tangent passes unchanged: the derivative is missing.",
            lambda xs, d: d[0],
        )
    if inputs == 2:
        yield (
            "first operand only",
            "the second input's part is missing.",
            lambda xs, d: pushed(f, xs, [d[0], np.zeros_like(d[1])]),
        )
        yield (
            "second operand only",
            "the first input's part is missing.",
            lambda xs, d: pushed(f, xs, [np.zeros_like(d[0]), d[1]]),
        )
        yield (
            "the other operand",
            "the operands are swapped.",
            lambda xs, d: pushed(f, xs, d[::-1]),
        )
        yield (
            "sign",
            "the sign of the second part is wrong.",
            lambda xs, d: pushed(f, xs, [d[0], -d[1]]),
        )
