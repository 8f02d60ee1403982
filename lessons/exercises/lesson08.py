"""The exercises of lesson 8, as data: the Jacobian-vector product by two reverse passes, which
nodes dangle, and what both ways cost.

Right answers are not written here: they are computed by the engine when a check runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.networks import Network, jvp_network

from ..grading.comparison import as_plain, same
from ..grading.exercise import Case, Exercise, Misconception, exercise
from ..grading.graphs import AskedRule, where_in_rule
from ..grading.kinds import Number
from ..grading.kinds.rules_on_arrays import pushed
from ..grading.words import counted
from .drive08 import FUNCTIONS, MAPS, compared
from .made import FORWARD_MODE, Exact, by_name

# Not annotated, because students see them in the notebook like this.


def net(x):
    a = mg.sin(x)
    return mg.cos(a)


def wave(x):
    return x * mg.sin(x)


# ---------------------------------------------------------------------------------------- linearity


PLAIN = (
    "the pullback of sin",
    "the pullback of a matrix product",
    "a constant",
    "a step aside",
    "the square",
)
"""Maps that one look tells. Both groups hold maps of both kinds: no word for all gets points."""


def _is_linear(which: str) -> bool:
    """Whether a map is a matrix: g(v) is put together from what g gives for the axes, at many v."""
    g, rng = MAPS[which], np.random.default_rng(8)
    columns = np.stack([g(axis) for axis in np.eye(3)], axis=1)
    return all(np.allclose(g(v), columns @ v) for v in rng.normal(size=(20, 3)))


def _by(test: Callable[[Callable[..., Any], Any, Any], Any]) -> Callable[[Case], Any]:
    return lambda case: bool(test(MAPS[case.args["which"]], case.args["u"], case.args["w"]))


def _told(case: Case, got: Any) -> str:
    if type(got) is not bool:
        return "`looks_linear` should return True or False."
    right = _is_linear(case.args["which"])
    return "" if got == right else f"{case.args['which']} {'is' if right else 'is not'} linear."


@exercise(
    "looks_linear",
    points={"plain maps": 1, "maps that nearly pass": 2},
    drive="minigrad.lessons.exercises.drive08:linear",
    told_by=_told,
    hints=(
        (
            "Two things must hold: g(u + w) is g(u) + g(w), and g of a multiple is the multiple of"
            " g. Which maps have one and not the other?"
        ),
        (
            "Take a negative multiple too, or |v| gets through. And compare with `np.allclose`: the"
            " last digits differ by rounding."
        ),
        "`np.allclose(g(2 * u - 3 * w), 2 * g(u) - 3 * g(w))` asks for everything at once.",
    ),
    checked="Each map is compared with the matrix that it would be if it were linear.",
    misconceptions=(
        Misconception(
            "zero to zero",
            "you test only whether zero goes to zero.",
            _by(lambda g, u, w: np.allclose(g(0 * u), 0)),
        ),
        Misconception(
            "multiples only",
            "you ask for multiples only; sums can still go wrong.",
            _by(lambda g, u, w: np.allclose(g(2 * u), 2 * g(u))),
        ),
        Misconception(
            "multiples of both signs only",
            "you ask for multiples only; sums can still go wrong. A cube root of a sum of cubes"
            " gets through.",
            _by(lambda g, u, w: np.allclose(g(-2 * u), -2 * g(u))),
        ),
        Misconception(
            "positive multiples only",
            "you use positive multiples only; a length, or |v|, gets through then.",
            _by(
                lambda g, u, w: np.allclose(g(2 * u), 2 * g(u)) and np.allclose(g(2 * w), 2 * g(w))
            ),
        ),
        Misconception(
            "exact",
            "you ask for exact equality. Rounding spoils the last digit of linear maps too: use"
            " `np.allclose`.",
            _by(lambda g, u, w: np.array_equal(g(2 * u - 3 * w), 2 * g(u) - 3 * g(w))),
        ),
        Misconception("yes to all", "you say yes to every map.", lambda case: True),
    ),
)
def looks_linear(rng: np.random.Generator) -> Iterator[Case]:
    for which in MAPS:
        for _ in range(3):
            sign = rng.choice([-1, 1], size=3)  # opposite ones, so that |u + w| is never |u| + |w|
            u, w = (np.asarray(rng.uniform(0.2, 2, size=3) * s) for s in (sign, -sign))
            group = "plain maps" if which in PLAIN else "maps that nearly pass"
            yield Case(group, which=which, u=u, w=w)


looks_linear.answer(lambda which, u, w: _is_linear(which))


# ------------------------------------------------------------------------------------- Jvp from Vjp


def _pushed(which: str, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    return np.asarray(compared(pushed(FUNCTIONS[which], [x], [u])))


def _columns_summed(which: str, x: np.ndarray) -> np.ndarray:
    return _pushed(which, x, np.ones_like(x))


def _by_x(which: str, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The first pass differentiated with respect to x: second derivatives."""
    of_ones = lambda x: mg.func.vjp(FUNCTIONS[which], x)[1](mg.ones_like(FUNCTIONS[which](x)))[0]
    return np.asarray(as_plain(mg.func.vjp(of_ones, mg.tensor(x))[1](mg.tensor(u))[0]))


def _pulled(which: str, x: np.ndarray) -> np.ndarray:
    y, pull = mg.func.vjp(FUNCTIONS[which], mg.tensor(x))
    return np.asarray(as_plain(pull(mg.ones_like(y))[0]))


def _by_differences(which: str, x: np.ndarray, u: np.ndarray, h: float = 1e-5) -> np.ndarray:
    above, below = (FUNCTIONS[which](mg.tensor(x + s * h * u)).numpy() for s in (1, -1))
    return np.asarray(compared((above - below) / (2 * h)))


@exercise(
    "jvp_from_vjp",
    where=where_in_rule(
        lambda case: AskedRule(
            FUNCTIONS[case.args["which"]], {"x": case.args["x"]}, [case.args["u"]], pushed=True
        )
    ),
    points={"functions": 3, "linear in u": 1},
    drive="minigrad.lessons.exercises.drive08:pushed",
    forbid=(
        *FORWARD_MODE,
        "minigrad.func.jacrev",
        "minigrad.func.hessian",
        "minigrad.autograd.functional.jacobian",
        "minigrad.autograd.functional.hessian",
        "minigrad.networks.Jvp",
    ),
    limit_s=2.0,
    rtol=1e-9,
    atol=1e-9,
    verify=lambda case, got: same(
        _pushed(**case.args), got, 1e-9, 1e-9, "what `jvp_from_vjp` returned"
    ),
    hints=(
        (
            "Compute y = f(x). The first pass needs a seed in the shape of y with respect to"
            " which you can differentiate: `mg.ones_like(y).requires_grad_()`."
        ),
        (
            "The first `grad` gives g = Jᵀ v, with `create_graph=True`. The second one"
            " differentiates g with respect to v. What is its `grad_outputs`?"
        ),
        (
            "`(g,) = mg.autograd.grad(y, x, grad_outputs=v, create_graph=True)`, and then"
            " `mg.autograd.grad(g, v, grad_outputs=u)`."
        ),
    ),
    checked="Your results are compared with a pass of forward mode.",
    misconceptions=(
        Misconception(
            "forgets u",
            "u is left out: what you return is J times ones.",
            lambda case: _columns_summed(case.args["which"], case.args["x"]),
        ),
        Misconception(
            "one pass only",
            "you return the result of the first pass, Jᵀ v. Differentiate it with respect to v.",
            lambda case: _pulled(case.args["which"], case.args["x"]),
        ),
        Misconception(
            "by x",
            "your second pass differentiates with respect to x. Take the seed v instead: g is"
            " linear in v, and you want its slope.",
            lambda case: _by_x(case.args["which"], case.args["x"], case.args["u"]),
        ),
        Misconception(
            "gradient times u",
            "you multiply Jᵀ v by u, entry by entry.",
            lambda case: _pulled(case.args["which"], case.args["x"]) * case.args["u"],
        ),
        Misconception(
            "differences of values",
            "you take the difference of two values of f: only some digits are right, and for the"
            " quick wave fewer or none. Differentiate the result of the first pass instead.",
            lambda case: _by_differences(**case.args),
            explains=lambda case, got: (
                case.args["which"] == "a quick wave"
                or not same(_pushed(**case.args), got, 1e-2, 1e-6)
            ),
        ),
    ),
)
def jvp_from_vjp(rng: np.random.Generator) -> Iterator[Case]:
    for which in FUNCTIONS:
        for _ in range(2):
            yield Case(
                "functions",
                which=which,
                x=np.asarray(rng.uniform(-1, 1, size=3)),
                u=np.asarray(rng.uniform(-2, 2, size=3)),
            )
    x, u = np.asarray(rng.uniform(-1, 1, size=3)), np.asarray(rng.uniform(0.5, 2, size=3))
    for factor in (0.0, 1.0, -3.0):
        yield Case("linear in u", which="a layer", x=x, u=factor * u)
        yield Case("linear in u", which="a quick wave", x=x, u=factor * u)
        yield Case("linear in u", which="a square with a sign", x=x, u=factor * u)
    yield Case("linear in u", which="a long result", x=x, u=u)


@jvp_from_vjp.answer
def _(which: str, x: np.ndarray, u: np.ndarray) -> Any:
    return _pushed(which, x, u)


# ----------------------------------------------------------------------------------------- dangling


def _dangling(network: Network) -> set[str]:
    return {n.id for n in network.dangling}


def _about_marks(case: Case, got: Any) -> str:
    network = jvp_network(wave, 1.0)
    if type(got) not in (list, tuple) or not all(type(name) is str for name in got):
        return '`marked` should be a list of names, such as ["x", "v1"].'
    if strange := [name for name in got if name not in {n.id for n in network}]:
        return f"there is no node {strange[0][:20]!r}."
    if wrong := [name for name in got if name not in _dangling(network)]:
        users = [n.id for n in network if wrong[0] in n.inputs and not n.dangling]
        return f"`{wrong[0]}` does not dangle: " + (
            f"`{users[0]}` uses it, and that is needed." if users else "it is a result."
        )
    missing = _dangling(network) - set(got)
    return (
        f"so far every mark is right, but {counted(len(missing), 'more node')}"
        f" {'dangles' if len(missing) == 1 else 'dangle'}."
        if missing
        else ""
    )


def _first_backward(case: Case) -> list[str]:
    return [n.id for n in jvp_network(wave, 1.0).of_order(1)]


@exercise(
    "marked",
    points={"marks": 2},
    is_value=True,
    told_by=_about_marks,
    hints=(
        (
            "Begin at the end: the last node is what you want. Which nodes occur in its formula?"
            " And in theirs?"
        ),
        (
            "Go up from the last node and tick what is used. What has no tick at the top is"
            " dangling; the value of the function keeps its own."
        ),
        "A node dangles if it depends on v. Which nodes do?",
    ),
    checked="Your marks are compared with the engine's own network.",
    misconceptions=(
        Misconception(
            "all of the first pass",
            "you mark everything that the first pass computed, as the text says. But some of it"
            " does not depend on v, and is needed.",
            _first_backward,
        ),
        Misconception(
            "ends only",
            "you mark only nodes that nothing uses. A node used only by dangling nodes dangles"
            " too.",
            lambda case: [
                n.id
                for n in jvp_network(wave, 1.0).dangling
                if not any(n.id in m.inputs for m in jvp_network(wave, 1.0))
            ],
        ),
        Misconception(
            "forgets the seed",
            "the seed v is missing: it is used by dangling nodes alone.",
            lambda case: sorted(_dangling(jvp_network(wave, 1.0)) - {"v"}),
        ),
    ),
)
def marked(rng: np.random.Generator) -> Iterator[Case]:
    yield Case("marks")


def _needed(operands: dict[str, list[str]], outputs: list[str]) -> set[str]:
    found, waiting = set(outputs), list(outputs)
    while waiting:
        for name in operands[waiting.pop()]:
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


def _same_nodes(case: Case, got: Any) -> str:
    operands, outputs = case.args["operands"], case.args["outputs"]
    if type(got) not in (list, tuple) or not all(type(name) is str for name in got):
        return "`dangling` should return a list of names."
    right = set(operands) - _needed(operands, outputs)
    if len(set(got)) != len(got):
        return "a name is in the list twice."
    if extra := sorted(set(got) - right):
        return f"{extra[0][:20]!r} is in the list, but " + (
            "an output needs it." if extra[0] in operands else "is no node."
        )
    return f"{min(right - set(got))!r} is missing." if right - set(got) else ""


def _slip_in_graph(
    name: str, say: str, wrong: Callable[[dict[str, list[str]], list[str]], Any]
) -> Misconception:
    return Misconception(name, say, lambda case: wrong(case.args["operands"], case.args["outputs"]))


@exercise(
    "dangling",
    points={"small graphs": 2, "jvp networks": 1, "a long chain": 1},
    told_by=_same_nodes,
    present=lambda case: (
        f"dangling({case.args['operands']}, {case.args['outputs']})"
        if len(case.args["operands"]) < 30
        else "a long chain"
    ),
    hints=(
        (
            "Ask the other way round: which nodes are needed? The outputs are; and whose operands"
            " are needed, then?"
        ),
        (
            "Collect the needed ones in a set, with a list of those whose operands are still to be"
            " looked at."
        ),
        (
            "`waiting = list(outputs)`; take one out; each operand that is not yet in `needed` goes"
            " into both. At the end return the others."
        ),
    ),
    checked=(
        "They are compared with the definition: a node is needed if a path leads from it to an"
        " output."
    ),
    misconceptions=(
        _slip_in_graph(
            "ends only",
            "you return only nodes that nothing uses. One used only by dangling nodes dangles too.",
            lambda operands, outputs: sorted(set(operands).difference(outputs, *operands.values())),
        ),
        _slip_in_graph(
            "one step only",
            "you go back by one step from the outputs. The operands of the operands are needed as"
            " well.",
            lambda operands, outputs: [
                n
                for n in operands
                if n not in outputs and not any(n in operands[o] for o in outputs)
            ],
        ),
        _slip_in_graph(
            "the needed ones",
            "you return the nodes that are needed.",
            lambda operands, outputs: sorted(_needed(operands, outputs)),
        ),
        _slip_in_graph(
            "first output only",
            "you start from the first output alone.",
            lambda operands, outputs: sorted(set(operands) - _needed(operands, outputs[:1])),
        ),
    ),
)
def dangling(rng: np.random.Generator) -> Iterator[Case]:
    for i in range(12):
        size = 4 + i % 6
        operands: dict[str, list[str]] = {}
        for k in range(size):
            count = int(rng.integers(1, 3)) if k > 1 else 0
            operands[f"v{k + 1}"] = [
                f"v{int(j) + 1}" for j in rng.integers(0, max(k, 1), size=count)
            ]
        outputs = sorted({f"v{int(j) + 1}" for j in rng.integers(size // 2, size, size=1 + i % 2)})
        yield _graph("small graphs", operands, outputs)
    yield _graph(
        "small graphs", {"x": [], "v1": ["x"], "v2": ["x", "x"], "v3": ["v2"]}, ["v1", "v2"]
    )
    for f in (net, wave):
        network = jvp_network(f, 1.0)
        yield _graph("jvp networks", {n.id: list(n.inputs) for n in network}, list(network.outputs))
    long = {f"v{k}": [f"v{k - 1}"] if k else [] for k in range(3000)}
    yield _graph("a long chain", {**long, "w0": ["v5"], "w1": ["w0", "v2000"]}, ["v2999"])


def _graph(group: str, operands: dict[str, list[str]], outputs: list[str]) -> Case:
    return Case.of(group, {"operands": operands, "outputs": outputs}, size=len(operands))


# -------------------------------------------------------------------------------------- predictions


def _pushed_from(seed: float) -> float:
    """J v of the net at 1, when the first pass starts from another seed."""
    x = mg.tensor(1.0, dtype=mg.float64, requires_grad=True)
    v = mg.tensor(seed, dtype=mg.float64, requires_grad=True)
    (g,) = mg.autograd.grad(net(x), x, grad_outputs=v, create_graph=True)
    return float(mg.autograd.grad(g, v)[0])


def _muls(mode: str) -> float:
    return float(mg.count_operations(net, 1.0, mode=mode).derivative.mul)


PREDICTIONS = (
    Number(
        "another-seed",
        "Prediction: J u when the first pass starts from 100",
        variable="product_from_100",
        answer=lambda: _pushed_from(100.0),
        because=(
            "g is linear in v, so its derivative is the same at every v. The first seed has no"
            " influence."
        ),
        slips=(
            (
                (
                    "That is g(100), the result of the first pass. The second pass differentiates"
                    " it by v."
                ),
                lambda: 100 * _pushed_from(1.0),
            ),
            ("It does not become 1: the slope of g is the derivative of the net.", lambda: 1.0),
        ),
        hints=("g(v) = −0.4029 · v. What is the slope of g at v = 1? And at v = 100?",),
    ),
    Exact(
        "blue-dangling",
        "Prediction: the dangling nodes of sin → cos",
        variable="number_dangling",
        answer=lambda: float(len(jvp_network(net, 1.0).dangling)),
        because=(
            "v itself and the two products that it enters. sin a, −sin a and cos x do not depend on"
            " v; the second pass uses them."
        ),
        slips=(
            ("That is every blue node. Which of them does the second pass use?", lambda: 6.0),
            ("Nearly: the seed v counts as well; in the end nothing needs it.", lambda: 2.0),
            (
                (
                    "What the second pass multiplies by has been computed in the first one: cos x,"
                    " for instance. But not everything has."
                ),
                lambda: 0.0,
            ),
        ),
        hints=("Which blue nodes depend on v?", "v, v · (−sin a), and that times cos x."),
    ),
    Exact(
        "products-double",
        "Prediction: the products of the double backward",
        variable="products",
        answer=lambda: _muls("double backward"),
        because="Two in the first pass, and two in the second.",
        slips=(
            ("That is one pass. There are two.", lambda: _muls("jvp")),
            ("The signs, sines and cosines are not products.", lambda: 7.0),
            (
                (
                    "The second pass does not multiply by anything new; it goes through the two"
                    " products of the first one."
                ),
                lambda: 6.0,
            ),
        ),
        hints=(
            "How many products did the first pass add (lesson 7)?",
            "The second pass goes through those that depend on v, once each.",
        ),
    ),
)

TITLES = {
    "looks_linear": "Exercise 1 · Is it linear?",
    "jvp_from_vjp": "Exercise 2 · jvp out of vjp",
    "marked": "Exercise 3 · Mark the dangling nodes",
    "dangling": "Exercise 4 · Find them all",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
