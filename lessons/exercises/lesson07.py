"""The exercises of lesson 7, as data: the operator K, GradOperation, rules in the form (x, out,
dout), and the gradient as a network.

Right answers are not written here: they are computed by the engine when a check runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.networks import backward_network, fprop

from ..grading.comparison import as_plain, same
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception, Where, exercise
from ..grading.graphs import AskedRule, wrong_rule
from ..grading.kinds import Number
from .drive07 import RULES, Scaled
from .made import Exact, by_name

# Not annotated, because students see it in the notebook like this.


def net(x):
    a = mg.sin(x)
    return mg.cos(a)


def _slope(x: float) -> float:
    return float(mg.func.grad(net)(mg.tensor(x, dtype=mg.float64)))


# ------------------------------------------------------------------------------------------ a chain


def _value(names: list[str], x: np.ndarray) -> np.ndarray:
    for name in names:
        x = RULES[name][0](x)
    return x


def _pulled(names: list[str], x: np.ndarray, dout: np.ndarray, order: int = -1) -> np.ndarray:
    """The pullbacks of a chain, called from the last to the first (or, order=1, the wrong way
    round).
    """
    inputs = [_value(names[:i], x) for i in range(len(names))]
    for name, at in list(zip(names, inputs, strict=True))[::order]:
        dout = RULES[name][1](at, dout)
    return dout


def _through_all(names: list[str], points: list[np.ndarray], dout: np.ndarray) -> np.ndarray:
    for x in reversed(points):
        dout = _pulled(names, x, dout)
    return dout


def _by_differences(
    names: list[str], points: list[np.ndarray], dout: np.ndarray
) -> list[list[np.ndarray]]:
    found, h = [], 1e-6
    for x in points:
        slopes = [
            np.sum(dout * (_value(names, x + h * e) - _value(names, x - h * e))) / (2 * h)
            for e in np.eye(len(x))
        ]
        found.append([_value(names, x), np.array(slopes), 2 * np.array(slopes)])
    return found


def _but_the_first(names: list[str], x: np.ndarray, dout: np.ndarray) -> np.ndarray:
    """What the pullbacks of all functions but the first return."""
    for k in range(len(names) - 1, 0, -1):
        dout = RULES[names[k]][1](_value(names[:k], x), dout)
    return dout


def _slip_in_chain(
    name: str,
    say: str,
    pulled: Callable[[list[str], list[np.ndarray], int, np.ndarray], np.ndarray],
) -> Misconception:
    def wrong(case: Case) -> Any:
        names, points, dout = case.args["names"], case.args["points"], case.args["dout"]
        return [
            [_value(names, x), *(pulled(names, points, i, d) for d in (dout, 2 * dout))]
            for i, x in enumerate(points)
        ]

    return Misconception(name, say, wrong)


@exercise(
    "chain",
    points={"one or two": 1, "several": 2, "two runs": 1},
    drive="minigrad.lessons.exercises.drive07:chained",
    forbid=(DERIVATIVES,),
    verify=lambda case, got: same(
        _by_differences(**case.args), got, 1e-5, 1e-6, "what `chain` makes"
    ),
    hints=(
        (
            "Forward, each function gets the result of the one before. What else does each of them"
            " return, and when will you need it?"
        ),
        (
            "Collect the pullbacks in a list while you go forward. The pullback of the chain goes"
            " through this list from its end."
        ),
        (
            "The list belongs to one run: make it inside `k`, and define `bprop` there too, so that"
            " it remembers the list of its own run."
        ),
    ),
    checked="They are compared with central differences.",
    misconceptions=(
        _slip_in_chain(
            "first to last",
            "the pullbacks are called from the first to the last. What comes out at the end has to"
            " be pulled back by the last one first.",
            lambda names, points, i, dout: _pulled(names, points[i], dout, 1),
        ),
        _slip_in_chain(
            "last one only",
            "only the last function's pullback is called.",
            lambda names, points, i, dout: RULES[names[-1]][1](_value(names[:-1], points[i]), dout),
        ),
        _slip_in_chain(
            "one list for all runs",
            "one list of pullbacks serves all runs. When `k` is called a second time, the first"
            " run's pullbacks are mixed up with its own.",
            lambda names, points, i, dout: _through_all(names, points, dout),
        ),
        _slip_in_chain(
            "remembers the last run",
            "there is one list of pullbacks, and it is the last run's. When `k` is called a second"
            " time, those of the first run are lost.",
            lambda names, points, i, dout: _pulled(names, points[-1], dout),
        ),
        Misconception(
            "used up",
            "a pullback is right when it is called once, and wrong when it is called again. It must"
            " leave its list as it is: go through a copy, or by `reversed`.",
            lambda case: [
                [
                    _value(case.args["names"], x),
                    _pulled(case.args["names"], x, case.args["dout"]),
                    2 * case.args["dout"],
                ]
                for x in case.args["points"]
            ],
        ),
        Misconception(
            "run from the last to the first",
            "the functions themselves run from the last to the first. Forward, `ks[0]` is the first"
            " one.",
            lambda case: [
                [
                    _value(case.args["names"][::-1], x),
                    *(
                        _pulled(case.args["names"][::-1], x, d)
                        for d in (case.args["dout"], 2 * case.args["dout"])
                    ),
                ]
                for x in case.args["points"]
            ],
        ),
        _slip_in_chain(
            "multiplied",
            "each pullback gets `dout`, and the results are multiplied. Each gets what the one"
            " before has returned.",
            lambda names, points, i, dout: np.prod(
                [
                    RULES[name][1](_value(names[:k], points[i]), dout)
                    for k, name in enumerate(names)
                ],
                axis=0,
            ),
        ),
        _slip_in_chain(
            "forgets dout",
            "the pullbacks start from ones instead of `dout`.",
            lambda names, points, i, dout: _pulled(names, points[i], dout**0),
        ),
        _slip_in_chain(
            "sign",
            "the sign of what is pulled back is reversed.",
            lambda names, points, i, dout: -_pulled(names, points[i], dout),
        ),
        _slip_in_chain(
            "nothing pulled",
            "`dout` comes back as it was: no pullback is called.",
            lambda names, points, i, dout: dout,
        ),
        _slip_in_chain(
            "the first one forgotten",
            "the first function's pullback is not called: the loop ends one too early.",
            lambda names, points, i, dout: _but_the_first(names, points[i], dout),
        ),
        _slip_in_chain(
            "each from dout",
            "each pullback gets `dout`, and the results are added. Each gets what the one before"
            " has returned.",
            lambda names, points, i, dout: sum(
                RULES[name][1](_value(names[:k], points[i]), dout) for k, name in enumerate(names)
            ),
        ),
        _slip_in_chain(
            "first one only",
            "only the first function's pullback is called.",
            lambda names, points, i, dout: RULES[names[0]][1](points[i], dout),
        ),
    ),
)
def chain(rng: np.random.Generator) -> Iterator[Case]:
    def case(group: str, names: list[str], runs: int = 1) -> Case:
        points = [np.asarray(rng.uniform(-1.2, 1.2, size=3)) for _ in range(runs)]
        return Case.of(
            group,
            {"names": names, "points": points, "dout": np.asarray(rng.uniform(0.5, 2, size=3))},
            size=len(names),
        )

    for name in RULES:
        yield case("one or two", [name])
    yield case("one or two", ["sin", "cos"])
    for names in (["add up", "square"], ["square", "add up", "sin"]):
        yield case("several", names)
    for _ in range(4):
        yield case("several", [list(RULES)[i] for i in rng.integers(0, len(RULES), size=4)])
    yield case("two runs", ["sin", "cos"], 2)
    yield case("two runs", ["square", "add up", "sin"], 3)


@chain.answer
def _(names: list[str], points: list[np.ndarray], dout: np.ndarray) -> Any:
    return [[_value(names, x), *(_pulled(names, x, d) for d in (dout, 2 * dout))] for x in points]


# -------------------------------------------------------------------------------------------- rules


def Bprop(
    name: str,
    f: Callable[..., Any],
    inverse: Callable[..., Any],
    low: float,
    high: float,
    **options: Any,
) -> Exercise:
    """name(x, out, dout) -> (dx,) for an operation whose derivative can be told from its result
    alone; inverse: from the result to x. (Long: half of it is the list of mistakes.)
    """

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for group, shapes in (
            ("values", ((4,), (4,))),
            ("shapes", ((), (2, 3), (0,))),
            ("without x", ((3,), (3,))),
        ):
            for shape in shapes:
                x, dout = (
                    np.asarray(rng.uniform(low, high, size=shape)),
                    np.asarray(rng.uniform(0.5, 2, size=shape)),
                )
                out = np.asarray(as_plain(f(mg.tensor(x))))
                yield Case(group, x=x * np.nan if group == "without x" else x, out=out, dout=dout)

    def right(case: Case) -> list[np.ndarray]:
        _, pull = mg.func.vjp(f, mg.tensor(np.asarray(inverse(case.args["out"]))))
        return [as_plain(pull(mg.tensor(case.args["dout"]))[0])]

    def by_differences(case: Case) -> list[np.ndarray]:
        x, h = inverse(case.args["out"]), 1e-6
        up, down = (np.asarray(as_plain(f(mg.tensor(np.asarray(x + s * h))))) for s in (1, -1))
        return [case.args["dout"] * (up - down) / (2 * h)]

    def judged(case: Case, got: Any, expected: list[np.ndarray]) -> str:
        if type(got) is np.ndarray and got.shape == case.args["out"].shape:
            return (
                f"`{name}` should return a tuple with one gradient for each input: `return (dx,)`,"
                " with the comma."
            )
        if (
            case.group == "without x"
            and type(got) in (list, tuple)
            and len(got) == 1
            and np.isnan(np.asarray(got[0], dtype=float)).any()
        ):
            return (
                "the rule reads x, which was NaN in this case. It can do with `out`, so that the"
                " engine need not keep x."
            )
        return same(expected, got, 1e-5, 1e-6, f"what `{name}` returned")

    def slip(title: str, say: str, wrong: Callable[..., Any]) -> Misconception:
        return Misconception(
            title, say, lambda case: [wrong(case.args["out"], case.args["dout"], right(case)[0])]
        )

    def where(case: Case, got: Any) -> Where | None:
        x = np.asarray(inverse(case.args["out"]))
        alone = got[0] if type(got) in (list, tuple) and len(got) == 1 else got
        return wrong_rule(AskedRule(f, {"x": x}, [case.args["dout"]]), alone)

    made = Exercise(
        name,
        {"values": 1, "shapes": 1, "without x": 1},
        cases,
        drive="minigrad.lessons.exercises.drive07:rule",
        where=where,
        forbid=(DERIVATIVES,),
        verify=lambda case, got: judged(case, got, by_differences(case)),
        misconceptions=(
            slip(
                "forgets the incoming adjoint",
                "`dout` is left out: multiply by it.",
                lambda out, dout, dx: dx / dout,
            ),
            (
                slip(
                    "value instead of derivative",
                    "`dout` is multiplied by the result, which is not the derivative.",
                    lambda out, dout, dx: dout * out,
                )
                if f is not mg.exp
                else slip(
                    "out alone", "`out` is returned without `dout`.", lambda out, dout, dx: out
                )
            ),
            slip("sign", "the sign is reversed.", lambda out, dout, dx: -dx),
            slip(
                "added",
                "`dout` and the result are added; they are multiplied.",
                lambda out, dout, dx: dout + out,
            ),
            slip(
                "the exponential of the result",
                "the exponential is taken of `out`, which is an exponential already.",
                lambda out, dout, dx: dout * np.exp(out),
            ),
            slip(
                "minus",
                "tan has the derivative 1 + tan²; you have a minus.",
                lambda out, dout, dx: dout * (1 - out * out),
            ),
            Misconception(
                "a root of the derivative",
                "you divide by the cosine once; the derivative of tan is 1/cos², or 1 + tan².",
                lambda case: [case.args["dout"] * np.sqrt(1 + case.args["out"] ** 2)],
                explains=lambda case, got: (
                    case.group == "without x"
                    or not same([case.args["dout"] * np.sqrt(1 + case.args["out"] ** 2)], got, 1e-9)
                ),
            ),
            slip(
                "the square alone",
                "tan has the derivative 1 + tan²; the 1 is missing.",
                lambda out, dout, dx: dout * out * out,
            ),
            slip(
                "the reciprocal",
                "you multiply by cos²; the derivative of tan is 1/cos².",
                lambda out, dout, dx: dout / (1 + out * out),
            ),
            slip(
                "no square",
                "tan has the derivative 1 + tan²; the square is missing.",
                lambda out, dout, dx: dout * (1 + out),
            ),
            slip(
                "forgets the local derivative",
                "`dout` passes unchanged.",
                lambda out, dout, dx: dout,
            ),
        ),
        **options,
    )
    made.accept(lambda case, got: judged(case, got, right(case)))
    return made


# ------------------------------------------------------------------------------------------ options

ROWS = {
    "a": "x alone",
    "b": "x and y",
    "c": "w and b",
    "d": "x and y, and w and b",
    "e": "x and y, from a given g",
}


def _wanted(row: str, w: Any, b: Any, x: Any, y: Any, g: Any) -> Any:
    """Out of what K gives: the gradients that a row asks for."""
    network = Scaled(w, b)
    _, bprop = fprop(network)(mg.tensor(x), mg.tensor(y))
    df, dinputs = bprop(mg.tensor(g if row == "e" else np.ones_like(g)))
    free = [df[network.w], df[network.b]]
    return as_plain(
        {
            "a": dinputs[0],
            "b": list(dinputs),
            "c": free,
            "d": [list(dinputs), free],
            "e": list(dinputs),
        }[row]
    )


def _choice(case: Case, got: Any) -> str:
    problem = same(_wanted(**case.args), got, name="what it gives")
    return f"row {case.args['row']}: {problem}" if problem else ""


def _flags(name: str, say: str, **rows: str) -> Misconception:
    """As if a row had been chosen as another one."""
    return Misconception(
        name,
        say,
        lambda case: _wanted(**{**case.args, "row": rows.get(case.args["row"], case.args["row"])}),
    )


@exercise(
    "choices",
    points={row: 0.5 for row in "abcd"} | {"e": 1},
    drive="minigrad.lessons.exercises.drive07:chosen",
    told_by=_choice,
    hints=(
        (
            "Three switches: all inputs or only the first (`get_all`), the parameters"
            " (`get_by_list`), your own cotangent (`sens_param`)."
        ),
        "In row d both inputs and parameters are wanted, so two switches are on.",
        "Row e: `mg.GradOperation(get_all=True, sens_param=True)`; the others follow.",
    ),
    checked="Each choice is used on a network with random numbers, and compared with what K gives.",
    misconceptions=(
        _flags(
            "first input only",
            "where both inputs are asked for, you get the first alone: that is `get_all`.",
            b="a",
        ),
        _flags(
            "inputs for parameters",
            "you get the gradients of the inputs where those of the parameters are asked for.",
            c="b",
        ),
        _flags(
            "no cotangent",
            "in row e your own cotangent g is not used: that is `sens_param`.",
            e="b",
        ),
        _flags(
            "parameters only", "in row d the inputs are missing: two switches go together.", d="c"
        ),
    ),
)
def choices(rng: np.random.Generator) -> Iterator[Case]:
    for row in ROWS:
        vectors = {name: np.asarray(rng.uniform(0.5, 2, size=3)) for name in "wxyg"}
        yield Case(
            row,
            row=row,
            w=vectors["w"],
            b=np.asarray(rng.uniform(0.5, 2)),
            x=vectors["x"],
            y=vectors["y"],
            g=vectors["g"],
        )


# -------------------------------------------------------------------------------------- predictions


def _both_ways() -> float:
    w = mg.tensor(3.0, requires_grad=True)
    (total,) = mg.GradOperation(get_by_list=True)(lambda x: x * w * w, [w])(w)
    return float(total)


ASKED = (
    Number(
        "sincos-gradient",
        "Prediction: the derivative of cos(sin x) at 1",
        variable="derivative",
        answer=lambda: _slope(1.0),
        because="The chain rule: −sin(sin 1) from the cosine, times cos 1 from the sine.",
        slips=(
            (
                "The derivative of the cosine is minus the sine.",
                lambda: math.sin(math.sin(1.0)) * math.cos(1.0),
            ),
            (
                "Almost: the derivative of the inner function is missing.",
                lambda: -math.sin(math.sin(1.0)),
            ),
            (
                "The outer derivative is taken at a = sin x, not at x.",
                lambda: -math.sin(1.0) * math.cos(1.0),
            ),
            (
                "The inner function is the sine, so the outer derivative is taken at sin 1.",
                lambda: -math.sin(math.cos(1.0)) * math.cos(1.0),
            ),
            ("That is the value of the network.", lambda: math.cos(math.sin(1.0))),
        ),
        hints=(
            (
                "The derivative of the outer function, at the value of the inner one, times the"
                " derivative of the inner function."
            ),
            "The inner function is sin, at x = 1; the outer one is cos, at a = sin 1.",
            "`-math.sin(math.sin(1)) * math.cos(1)`",
        ),
    ),
    Number(
        "bprop-ten",
        "Prediction: what bprop returns for dout = 10",
        variable="pulled",
        answer=lambda: 10 * _slope(1.0),
        because="A pullback is linear: ten times the cotangent, ten times the gradient.",
        slips=(
            (
                "That is the gradient, for dout = 1. Now dout is ten times as large.",
                lambda: _slope(1.0),
            ),
            (
                "The point did not change, only the cotangent: nothing is computed at 10.",
                lambda: _slope(10.0),
            ),
        ),
        hints=(
            "What does each rule do with the `dout` that it gets?",
            "It multiplies by it. So what becomes of a factor 10?",
        ),
    ),
    Exact(
        "nodes-added",
        "Prediction: the operations that the reverse pass adds",
        variable="operations_added",
        answer=lambda: float(sum(n.op is not None for n in backward_network(net, 1.0).of_order(1))),
        because=(
            "Three for the cosine (sin a, a sign, a product) and two for the sine (cos x, a"
            " product)."
        ),
        slips=(
            ("That is one for each rule. How many operations does each rule have?", lambda: 2.0),
            (
                "That is all the nodes of the picture. Count those that the reverse pass adds.",
                lambda: 9.0,
            ),
            ("The seed is given, not computed: it is no operation.", lambda: 6.0),
            ("The sign counts: −sin a is two operations.", lambda: 4.0),
        ),
        hints=(
            "Write both rules down: dout · (−sin a), and then that times cos x.",
            "Count the sine, the sign, the product; the cosine, the product.",
        ),
    ),
    Bprop(
        "bprop_exp",
        mg.exp,
        np.log,
        -1.5,
        1.5,
        hints=(
            "What is the derivative of e^x? You have it already: it is one of the three arguments.",
            "Multiply it by `dout`.",
            "`return (dout * out,)`: a tuple, with the comma.",
        ),
    ),
    Bprop(
        "bprop_tan",
        mg.tan,
        np.arctan,
        -1.2,
        1.2,
        hints=(
            "Differentiate sin x / cos x with the quotient rule.",
            "You get (cos² x + sin² x) / cos² x. Divide it out: what is sin² x / cos² x?",
            "The derivative of tan is 1 + tan²: `1 + out * out`.",
        ),
    ),
    Exact(
        "both-ways",
        "Prediction: the gradient of a parameter that is also passed in as an input",
        variable="total",
        answer=_both_ways,
        because=(
            "x · w² with x = w is w³, whose derivative is 3w². As a free variable w gives 2w² = 18,"
            " as an input w² = 9."
        ),
        slips=(
            ("That is the part of w as a free variable. It is also the input.", lambda: 18.0),
            (
                "That is the part of w as the input. The function also uses it directly.",
                lambda: 9.0,
            ),
            (
                "That is 2 · 3 · 3 + 3: as an input w counts with the factor w², not w.",
                lambda: 21.0,
            ),
        ),
        hints=("Write the function with x = w.", "The derivative of w³."),
    ),
)

TITLES = {
    "chain": "Exercise 1 · K of a chain",
    "bprop_exp": "Exercise 2 · The rule of exp",
    "bprop_tan": "Exercise 3 · The rule of tan",
    "choices": "Exercise 4 · Choose",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
