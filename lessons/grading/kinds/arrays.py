"""`Unbroadcast`, `Optimiser` and `Trains`: shapes, steps, and a whole training run.

    Unbroadcast("unbroadcast")                              def unbroadcast(g, shape): …
    Optimiser("sgd", lambda p: mg.optim.SGD(p, lr=0.1))     def sgd(parameter, gradient, state): …
                                                            the new parameter
    Trains("train", draw, loss, bar=0.1)                    def train(…): …
                                                            whatever `loss` takes

Three judges need no stored answer: an inner product that broadcasting must keep, the engine's own
optimiser, and a loss that the trusted side computes itself from the parameters that come back.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import minigrad as mg

from ..comparison import as_plain, same
from ..exercise import DERIVATIVES, Case, Exercise, Misconception
from ..graphs import AskedRule, where_in_rule
from ..misconceptions import summed_to

SHAPES = {
    "new axes": [
        *(((3,), (3,)), ((), ()), ((2, 3), (2, 3))),  # none: by themselves they pay an echo of g
        *(((3,), (2, 3)), ((), (4,)), ((), (2, 3)), ((4,), (2, 3, 4))),
    ],
    "stretched axes": [
        ((1,), (3,)),
        ((2, 1), (2, 3)),
        ((1, 3), (2, 3)),
        ((1, 1), (2, 3)),
        ((3, 1, 2), (3, 4, 2)),
    ],
    "both": [
        ((1,), (2, 3)),
        ((3, 1), (2, 3, 4)),
        ((1, 4), (2, 3, 4)),
        ((1, 1), (2, 1, 5)),
        ((2, 1), (0, 2, 3)),
    ],
}


SUMS_BACK = (
    "minigrad.functions.shapes.sum_to",
    "minigrad.ops.shape._sum_to",
    "minigrad.ops.kernels.sum_to_kernel",
)
"""Where the library itself does what `Unbroadcast` asks for."""


def Unbroadcast(
    name: str, *, points: Mapping[str, float] | None = None, **options: Any
) -> Exercise:
    """The student writes name(g, shape): g summed back to the shape of an operand that was
    broadcast to g's shape.

    Judged by the inner product: for every u of the small shape, ⟨g, u stretched⟩ = ⟨result, u⟩,
    which is what a transpose means.
    """
    worth = dict(points or {"new axes": 1.0, "stretched axes": 1.0, "both": 2.0})

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for group in worth:
            for small, large in SHAPES[group]:
                yield Case(group, g=np.asarray(rng.uniform(-2, 2, size=large)), shape=tuple(small))

    def by_identity(case: Case, got: Any) -> str:
        g, shape = case.args["g"], case.args["shape"]
        expected = np.zeros(shape)
        for place in np.ndindex(*shape):
            u = np.zeros(shape)
            u[place] = 1.0
            expected[place] = np.sum(g * np.broadcast_to(u, g.shape))
        return same(expected, got, name=f"what `{name}` returned")

    def stretched(case: Case) -> AskedRule:
        g, shape = case.args["g"], case.args["shape"]
        return AskedRule(lambda u: u.expand(g.shape), {"u": np.zeros(shape)}, [g])

    exercise = Exercise(
        name,
        worth,
        cases,
        verify=by_identity,
        where=where_in_rule(stretched),
        misconceptions=tuple(Misconception.of(*row) for row in _UNBROADCAST_MISTAKES),
        **{
            "forbid": (DERIVATIVES, *SUMS_BACK),
            "hints": (
                (
                    "Which axes of g does the small shape not have, and along which was it"
                    " stretched from length 1?"
                ),
                "New axes are always in front: g.ndim − len(shape) of them. Sum over them first.",
                "Then sum over each axis where the shape has 1 and g has more, with keepdims=True.",
            ),
            "title": f"Exercise {name}",
            "checked": "Each is checked by the inner product that broadcasting must preserve.",
            **options,
        },
    )

    @exercise.answer
    def _(g: np.ndarray, shape: tuple[int, ...]) -> Any:
        _, pull = mg.func.vjp(
            lambda u: u.expand(g.shape) if g.shape != tuple(shape) else u * 1.0,
            mg.tensor(np.zeros(shape)),
        )
        return as_plain(pull(mg.tensor(g))[0])

    return exercise


def _no_keepdims(g: np.ndarray, shape: tuple[int, ...]) -> Any:
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1))


def _mean(g: np.ndarray, shape: tuple[int, ...]) -> Any:
    """As `mean` computes it: NaN where there are no copies."""
    return summed_to(g, shape) * (math.prod(shape) / g.size if g.size else math.nan)


def _mean_or_zero(g: np.ndarray, shape: tuple[int, ...]) -> Any:
    return summed_to(g, shape) * (math.prod(shape) / max(g.size, 1))


def _mean_of_new(g: np.ndarray, shape: tuple[int, ...]) -> Any:
    """The mean over the new axes alone."""
    copies = math.prod(g.shape[: g.ndim - len(shape)])
    return summed_to(g, shape) / (copies if copies else math.nan)


def _mean_of_stretched(g: np.ndarray, shape: tuple[int, ...]) -> Any:
    """The mean over the stretched axes alone."""
    copies = math.prod(g.shape[g.ndim - len(shape) :]) / math.prod(shape)
    return summed_to(g, shape) / (copies if copies else math.nan)


def _first_copy(g: np.ndarray, shape: tuple[int, ...]) -> Any:
    g = g[(0,) * (g.ndim - len(shape))]
    return g[tuple(slice(0, 1) if n == 1 else slice(None) for n in shape)]


MEAN = "you take the mean over the {} axes; each copy sent a contribution, and they are added."
_UNBROADCAST_MISTAKES: tuple[tuple[Any, ...], ...] = (
    ("no sum over broadcast axes", "nothing is summed.", lambda g, shape: g),
    (
        "new axes only",
        "axes of length 1 that were stretched are not summed.",
        lambda g, shape: g.sum(axis=tuple(range(g.ndim - len(shape)))),
    ),
    (
        "forgets keepdims",
        (
            "a stretched axis is lost when you sum over it; it stays, with length 1"
            " (`keepdims=True`)."
        ),
        _no_keepdims,
    ),
    ("mean instead of sum", MEAN.format("stretched"), _mean, _mean_or_zero, _mean_of_stretched),
    ("mean over the new axes", MEAN.format("new"), _mean_of_new),
    (
        "sums everything",
        "you sum over all axes.",
        lambda g, shape: np.broadcast_to(g.sum(), shape).copy(),
    ),
    (
        "first copy only",
        "you take one copy out of those that are to be added.",
        _first_copy,
    ),
)


# ---------------------------------------------------------------------------------------- optimiser


def Optimiser(
    name: str,
    make: Callable[[list[Any]], Any],
    *,
    steps: int = 5,
    points: Mapping[str, float] | None = None,
    **options: Any,
) -> Exercise:
    """The student writes name(parameter, gradient, state): the parameter after one step. state: a
    dictionary that the parameter keeps.

    make: makes the engine's optimiser for a list of parameters, as `lambda p: mg.optim.Adam(p,
    lr=0.1)`. The gradients are given, so only
    the rule is asked about. Groups: "first step", "several steps", "several parameters". In one
    case of each the gradients are so small that a number such as 1e-8, which keeps a quotient
    finite, counts, and one of them is 0.
    """
    worth = dict(points or {"first step": 1, "several steps": 2, "several parameters": 1})

    path = functools.partial(_path, make)
    right = lambda case: path(case.args["parameters"], case.args["gradients"])
    exercise = Exercise(
        name,
        worth,
        lambda rng: _optimiser_cases(worth, steps, rng),
        drive="minigrad.lessons.grading.harness:optimiser",
        verify=lambda case, got: same(right(case), got, 1e-5, 1e-6, f"the path of `{name}`"),
        misconceptions=tuple(_optimiser_mistakes(path)),
        **{
            "forbid": ("minigrad.optim",),
            "hints": (
                "What does the rule remember from one step to the next? It must be in `state`.",
                "state is empty at the first step: `state.get(name, 0.0)` helps.",
                (
                    "Write the rule down for one number, step by step, and compare the first two"
                    " steps by hand."
                ),
            ),
            "title": f"Exercise {name}",
            **options,
        },
    )

    @exercise.answer
    def _(parameters: Any, gradients: Any) -> Any:
        return path(parameters, gradients)

    return exercise


def _optimiser_cases(
    worth: Mapping[str, float], steps: int, rng: np.random.Generator
) -> Iterator[Case]:
    layouts = {
        "first step": ([(3,)], 1),
        "several steps": ([(2,)], steps),
        "several parameters": ([(2, 2), (3,), ()], steps),
    }
    draw = lambda shape: np.asarray(
        rng.uniform(0.2, 2.0, size=shape) * rng.choice((-1.0, 1.0), size=shape)
    )
    for group in worth:
        shapes, count = layouts[group]
        for size in (1.0, 1.0, 1e-8):
            gradients = [[size * draw(s) for s in shapes] for _ in range(count)]
            if size < 1:
                gradients[0][0].flat[0] = 0.0
            yield Case.of(
                group,
                {"parameters": [draw(s) for s in shapes], "gradients": gradients},
                size=sum(map(np.size, gradients[0])) * count + (size < 1),
            )


Path = Callable[[Any, Any], list[Any]]


def _path(
    make: Callable[[list[Any]], Any],
    parameters: Sequence[np.ndarray],
    gradients: Sequence[Sequence[np.ndarray]],
) -> list[Any]:
    """The parameters after each step of the engine's optimiser."""
    tensors = [mg.tensor(p.copy()).requires_grad_() for p in parameters]
    optimiser, found = make(tensors), []
    for step in gradients:
        for tensor, g in zip(tensors, step, strict=True):
            tensor.grad = mg.tensor(np.array(g))
        optimiser.step()
        found.append([np.array(as_plain(t)) for t in tensors])
    return found


def _optimiser_mistakes(path: Path) -> Iterator[Misconception]:
    """Those mistakes that change anything with a rule: Adam does not feel a factor, plain SGD has
    no memory. path(parameters, gradients): the parameters after each step.
    """

    def restarted(p: Any, gs: Any) -> Any:
        found, now = [], p
        for g in gs:
            now = path(now, [g])[0]
            found.append(now)
        return found

    scaled = lambda factor: lambda p, gs: path(p, [[factor * g for g in s] for s in gs])
    mistakes: tuple[tuple[str, str, Path], ...] = (
        (
            "stale gradients",
            (
                "the gradients of the steps before are still in it: each step uses its own gradient"
                " only."
            ),
            lambda p, gs: path(p, _summed(gs)),
        ),
        ("sign", "the step goes uphill: the gradient is subtracted.", scaled(-1)),
        ("no memory", "nothing is kept from step to step: put it into `state`.", restarted),
        ("constant factor", "the gradient has a factor 2 too many.", scaled(2)),
        ("constant factor", "the gradient lacks a factor 2.", scaled(0.5)),
    )
    probe = [[np.array([0.3, -1.1])], [[np.array([0.7, -0.4])], [np.array([-0.2, 0.9])]]]
    for title, say, wrong in mistakes:
        if same(path(*probe), wrong(*probe)):
            yield Misconception.of(
                title, say, lambda parameters, gradients, wrong=wrong: wrong(parameters, gradients)
            )


def _summed(gradients: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    return [
        [sum(s[i] for s in gradients[: k + 1]) + np.zeros(()) for i in range(len(gradients[0]))]
        for k in range(len(gradients))
    ]


# ------------------------------------------------------------------------------------------- trains


def Trains(
    name: str,
    draw: Callable[[np.random.Generator], Mapping[str, Any]],
    loss: Callable[..., float],
    *,
    bar: float,
    runs: int = 2,
    points: Mapping[str, float] | None = None,
    limit_s: float = 30.0,
    **options: Any,
) -> Exercise:
    """The student writes name(*what was drawn): parameters whose loss is below the bar, within
    limit_s CPU seconds.

    draw(rng): the arguments by name, such as x, y and a seed; loss(returned, **arguments) -> a
    number, computed by the trusted side from
    the returned value, whatever it is: it may raise, and then the answer is not right.
    """
    worth = dict(points or {"loss below the bar": 2})

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for group in worth:
            for _ in range(runs):
                yield Case.of(group, draw(rng))

    def accept(case: Case, got: Any) -> str:
        try:
            with np.errstate(all="ignore"):
                reached = float(loss(got, **case.args))
        except Exception as error:
            return f"what `{name}` returned cannot be used as parameters ({type(error).__name__})."
        if not math.isfinite(reached):
            return "the loss is not a finite number: did the training diverge? Try a smaller step."
        return "" if reached <= bar else f"the loss is {reached:.4g}; it should be at most {bar:g}."

    return Exercise(
        name,
        worth,
        cases,
        told_by=accept,
        limit_s=limit_s,
        **{
            "hints": (
                "Print the loss every hundred steps: does it fall, stand still, or explode?",
                (
                    "If it stands still, look at the gradients; if it explodes, take smaller steps;"
                    " if it falls slowly, larger ones."
                ),
                "Set the gradients to zero before each backward pass.",
            ),
            "title": f"Exercise {name}",
            "checked": f"The bar is a loss of {bar:g}, within {limit_s:g} seconds.",
            **options,
        },
    )
