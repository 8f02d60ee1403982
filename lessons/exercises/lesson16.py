"""The exercises of lesson 16, as data: pull rules of matrix functions by differentials, and
backpropagation as one of them.

Right answers are not written here. An adjoint is right if ⟨ȳ, dy⟩ = ⟨x̄, dx⟩ when one element of x
moves, for each element in turn; dy is measured by central differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, reduce
from itertools import pairwise
from typing import Any

import numpy as np

import minigrad as mg

from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Exercise
from ..grading.graphs import AskedRule, where_in_rule
from ..grading.kinds import Number
from ..grading.kinds.rules_on_arrays import vjp_by_differences
from .made import Exact, by_name, mistakes, signed, told_by

CHECKED = (
    "The identity ⟨ȳ, dy⟩ = ⟨x̄, dx⟩ was tested for each element of each input: the element was"
    " moved a little, and dy measured. No rule is kept here."
)


def _regular(rng: np.random.Generator, n: int) -> np.ndarray:
    """A square matrix that is far from singular and not symmetric."""
    return np.asarray(np.eye(n) * rng.choice((-1.0, 1.0)) * n + rng.uniform(-1, 1, size=(n, n)))


def _identity(
    f: Callable[..., Any], inputs: Sequence[Any], g: Any, got: Any, names: Sequence[str]
) -> str:
    """Why the adjoints of some inputs do not keep ⟨ȳ, dy⟩ = ⟨x̄, dx⟩."""
    expected = vjp_by_differences(f, inputs, g)
    if len(names) == 1:
        return same(expected[0], got, 1e-5, 1e-6, f"the adjoint of {names[0]}")
    if type(got) not in (list, tuple) or len(got) != len(names):
        return f"there should be {len(names)} adjoints: of {', '.join(names)}."
    for name, right, found in zip(names, expected, got, strict=True):
        if said := same(right, found, 1e-5, 1e-6, f"the adjoint of {name}"):
            return said
    return ""


# ----------------------------------------------------------------------------- products of matrices


def _product_cases(rng: np.random.Generator) -> Iterator[Case]:
    for n, k, m, p in ((2, 2, 2, 2), (3, 3, 3, 3), (2, 3, 4, 2), (1, 2, 1, 3), (3, 1, 2, 1)):
        a, x, b = signed(rng, n, k), signed(rng, k, m), signed(rng, m, p)
        given = {"a": a, "x": x, "b": b, "g": signed(rng, n, p)}
        yield Case.of("A X B", given, call="pull_sandwich")
    for n, k in ((2, 2), (3, 3), (3, 2), (1, 3), (4, 1)):
        given = {"x": signed(rng, n, k), "g": signed(rng, k, k)}
        yield Case.of("XᵀX", given, call="pull_gram")


def _is_pulled_product(case: Case, got: Any) -> str:
    given = case.args
    if case.call == "pull_gram":
        return _identity(lambda x: x.t() @ x, [given["x"]], given["g"], got, ["X"])
    a, b = mg.tensor(given["a"]), mg.tensor(given["b"])
    return _identity(lambda x: a @ x @ b, [given["x"]], given["g"], got, ["X"])


def _asked_of_product(case: Case) -> AskedRule:
    given = case.args
    if case.call == "pull_gram":
        return AskedRule(lambda x: x.t() @ x, {"x": given["x"]}, [given["g"]])
    a, b = mg.tensor(given["a"]), mg.tensor(given["b"])
    return AskedRule(lambda x: a @ x @ b, {"x": given["x"]}, [given["g"]])


SANDWICH: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    (
        "not transposed",
        "you multiply by A and B as they are. A matrix that moves to the other side of ⟨ , ⟩ is"
        " transposed.",
        lambda a, x, b, g: a @ g @ b,
    ),
    (
        "sides swapped",
        "A and B are on the wrong sides. A stands to the left of X, so it stays on the left of Ȳ.",
        lambda a, x, b, g: b.T @ g @ a.T,
    ),
    (
        "only A transposed",
        "only A is transposed; B moves to the other side of ⟨ , ⟩ as well.",
        lambda a, x, b, g: a.T @ g @ b,
    ),
    (
        "only B transposed",
        "only B is transposed; A moves to the other side of ⟨ , ⟩ as well.",
        lambda a, x, b, g: a @ g @ b.T,
    ),
    ("B left out", "you move A, and leave out B.", lambda a, x, b, g: a.T @ g),
    ("A left out", "you move B, and leave out A.", lambda a, x, b, g: g @ b.T),
    (
        "g left out",
        "you left out `g`, the adjoint of the result.",
        lambda a, x, b, g: a.T @ np.ones_like(g) @ b.T,
    ),
    ("transposed", "your result is the transpose of the adjoint.", lambda a, x, b, g: b @ g.T @ a),
    ("sign", "the sign is reversed.", lambda a, x, b, g: -(a.T @ g @ b.T)),
    (
        "the product itself",
        "you multiply X again. X drops out: AXB is linear in X.",
        lambda a, x, b, g: g * (a @ x @ b),
    ),
)
GRAM: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    (
        "twice",
        "you return 2 X Ȳ, which is right for a symmetric Ȳ only. The two places where X stands"
        " give X Ȳ and X Ȳᵀ.",
        lambda x, g: 2 * x @ g,
    ),
    (
        "twice, transposed",
        "you return 2 X Ȳᵀ, which is right for a symmetric Ȳ only. The two places where X stands"
        " give X Ȳ and X Ȳᵀ.",
        lambda x, g: 2 * x @ g.T,
    ),
    (
        "the second place",
        "you let only the X on the right move. X stands in two places, and both contribute.",
        lambda x, g: x @ g,
    ),
    (
        "the first place",
        "you let only the X on the left move. X stands in two places, and both contribute.",
        lambda x, g: x @ g.T,
    ),
    (
        "g left out",
        "you left out `g`, the adjoint of the result.",
        lambda x, g: 2 * x @ np.ones_like(g),
    ),
    (
        "transposed",
        "your result is the transpose of the adjoint.",
        lambda x, g: (g + g.T) @ x.T,
    ),
    (
        "the mean",
        "you take the mean of the two contributions; they are added.",
        lambda x, g: x @ (g + g.T) / 2,
    ),
    (
        "the difference",
        "you subtract the second contribution; both are added.",
        lambda x, g: x @ (g - g.T),
    ),
    ("sign", "the sign is reversed.", lambda x, g: -x @ (g + g.T)),
    (
        "half of g",
        "you read the upper half of Ȳ alone; Ȳ need not be symmetric, although XᵀX is.",
        lambda x, g: x @ (np.triu(g) + np.triu(g).T),
    ),
    (
        "as for a number",
        "you return 2 X, the derivative of x² for numbers.",
        lambda x, g: 2 * x,
    ),
)

PRODUCTS = told_by(
    _is_pulled_product,
    "matrix_products",
    {"A X B": 2, "XᵀX": 2},
    _product_cases,
    answers=("pull_sandwich", "pull_gram"),
    where=where_in_rule(_asked_of_product),
    forbid=(DERIVATIVES,),
    checked=CHECKED,
    hints=(
        "Write down dY first. For XᵀX the product rule gives two terms, because X stands in two"
        " places.",
        "Then ⟨Ȳ, dY⟩: move every factor away from dX. ⟨P, QR⟩ = ⟨QᵀP, R⟩ = ⟨PRᵀ, Q⟩, and a"
        " transpose moves too: ⟨P, Qᵀ⟩ = ⟨Pᵀ, Q⟩.",
        "a.T @ g @ b.T for A X B; x @ (g + g.T) for XᵀX.",
    ),
    misconceptions=(
        *mistakes(*SANDWICH, call="pull_sandwich"),
        *mistakes(*GRAM, call="pull_gram"),
    ),
)

# ---------------------------------------------------------------------------- solve and determinant


def _solve_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, n, k in (
        ("one right-hand side", 2, 1),
        ("one right-hand side", 3, 1),
        ("one right-hand side", 1, 1),
        ("several", 2, 2),
        ("several", 3, 2),
        ("several", 3, 3),
        ("several", 2, 4),
    ):
        a, b = _regular(rng, n), signed(rng, n, k)
        given = {"a": a, "b": b, "y": np.linalg.solve(a, b), "g": signed(rng, n, k)}
        yield Case.of(group, given, call="pull_solve")


def _is_pulled_solve(case: Case, got: Any) -> str:
    a, b, _, g = case.args.values()
    return _identity(mg.linalg.solve, [a, b], g, got, ["A", "B"])


def _solve_but(
    to_b: Callable[..., Any], to_a: Callable[..., Any]
) -> Callable[..., list[np.ndarray]]:
    """to_b(a, b, y, g); to_a(a, b, y, g, what was sent to b)."""

    def wrong(a: Any, b: Any, y: Any, g: Any) -> list[np.ndarray]:
        sent = to_b(a, b, y, g)
        return [to_a(a, b, y, g, sent), sent]

    return wrong


def _to_b(a: Any, b: Any, y: Any, g: Any) -> np.ndarray:
    return np.asarray(np.linalg.solve(a.T, g))


def _to_a(a: Any, b: Any, y: Any, g: Any, sent: Any) -> np.ndarray:
    return np.asarray(-sent @ y.T)


SOLVE: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    (
        "A not transposed",
        "you solve with A. In the backward pass the matrix is Aᵀ.",
        _solve_but(lambda a, b, y, g: np.linalg.solve(a, g), _to_a),
    ),
    (
        "multiplied by Aᵀ",
        "you multiply by Aᵀ. B is multiplied by the inverse of A, so its adjoint is multiplied by"
        " the inverse of Aᵀ.",
        _solve_but(lambda a, b, y, g: a.T @ g, _to_a),
    ),
    (
        "passed on",
        "the adjoint of B is `g` as it arrived; solve with Aᵀ first.",
        _solve_but(lambda a, b, y, g: g, _to_a),
    ),
    (
        "no minus",
        "the sign of the adjoint of A is reversed: A dY = dB − dA Y has a minus.",
        _solve_but(_to_b, lambda a, b, y, g, sent: sent @ y.T),
    ),
    (
        "g for the adjoint of B",
        "the adjoint of A is built from `g`; it takes the adjoint of B, which is already solved.",
        _solve_but(_to_b, lambda a, b, y, g, sent: -g @ y.T),
    ),
    (
        "B for Y",
        "the adjoint of A is built with B; dA is multiplied by Y, the solution.",
        _solve_but(_to_b, lambda a, b, y, g, sent: -sent @ b.T),
    ),
    (
        "transposed",
        "the adjoint of A is transposed: it is −B̄ Yᵀ.",
        _solve_but(_to_b, lambda a, b, y, g, sent: -y @ sent.T),
    ),
    (
        "A is constant",
        "the adjoint of A is 0. A moves too, and Y with it.",
        _solve_but(_to_b, lambda a, b, y, g, sent: np.zeros_like(a)),
    ),
    (
        "swapped",
        "the two adjoints are in the wrong order: that of A comes first.",
        lambda **given: _solve_but(_to_b, _to_a)(**given)[::-1],
    ),
    (
        "g left out",
        "you left out `g`, the adjoint of the result.",
        _solve_but(lambda a, b, y, g: np.linalg.solve(a.T, np.ones_like(g)), _to_a),
    ),
    (
        "the inverse's rule",
        "you return the rule of the inverse, −A⁻ᵀ Ȳ A⁻ᵀ. For a solve, Yᵀ stands on the right.",
        _solve_but(_to_b, lambda a, b, y, g, sent: -sent @ np.linalg.inv(a).T),
    ),
)

SOLVES = told_by(
    _is_pulled_solve,
    "pull_solve",
    {"one right-hand side": 2, "several": 2},
    _solve_cases,
    where=where_in_rule(
        lambda case: AskedRule(
            mg.linalg.solve, {"a": case.args["a"], "b": case.args["b"]}, [case.args["g"]]
        )
    ),
    forbid=(DERIVATIVES,),
    checked=CHECKED,
    hints=(
        "Differentiate A Y = B instead of Y = A⁻¹B: dA Y + A dY = dB. What is dY?",
        "dY = A⁻¹(dB − dA Y). In ⟨Ȳ, dY⟩, move A⁻¹ to the other side, where it becomes A⁻ᵀ: that"
        " is the adjoint of B. What is left for dA?",
        "to_b = np.linalg.solve(a.T, g); to_a = -to_b @ y.T; return to_a, to_b.",
    ),
    misconceptions=mistakes(*SOLVE, call="pull_solve"),
)


def _logdet_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, n in (("2 × 2", 2), ("2 × 2", 2), ("larger", 3), ("larger", 4), ("larger", 1)):
        g = float(rng.uniform(0.5, 2.0) * rng.choice((-1.0, 1.0)))
        yield Case.of(group, {"a": _regular(rng, n), "g": g}, call="pull_logdet")
    flipped = _regular(rng, 3)[::-1].copy()  # an exchange of rows: the determinant's sign changes
    yield Case.of("larger", {"a": flipped, "g": 1.5}, call="pull_logdet")


def _logdet(a: Any) -> Any:
    return mg.linalg.slogdet(a)[1]


def _is_pulled_logdet(case: Case, got: Any) -> str:
    return _identity(_logdet, [case.args["a"]], case.args["g"], got, ["A"])


LOGDET: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    (
        "not transposed",
        "you return the inverse; tr(A⁻¹ dA) = ⟨A⁻ᵀ, dA⟩ transposes it.",
        lambda a, g: g * np.linalg.inv(a),
    ),
    ("g left out", "you left out `g`: multiply by it.", lambda a, g: np.linalg.inv(a).T),
    (
        "the determinant's rule",
        "that is the rule of det A. The logarithm divides by det A.",
        lambda a, g: g * np.linalg.det(a) * np.linalg.inv(a).T,
    ),
    (
        "one over each element",
        "you divide by each element, as for the logarithm of a number. Here the matrix is"
        " inverted.",
        lambda a, g: g / a,
    ),
    (
        "the matrix",
        "you return the matrix without inverting it.",
        lambda a, g: g * a.T,
    ),
    (
        "the matrix itself",
        "you return the matrix without inverting it.",
        lambda a, g: g * a,
    ),
    ("sign", "the sign is reversed.", lambda a, g: -g * np.linalg.inv(a).T),
    (
        "the trace",
        "you return a multiple of the identity: the trace takes the diagonal of A⁻¹ dA, to which"
        " all elements of dA contribute.",
        lambda a, g: g * np.trace(np.linalg.inv(a)) * np.eye(len(a)),
    ),
    (
        "the diagonal",
        "you keep the diagonal alone: the trace takes the diagonal of A⁻¹ dA, to which all"
        " elements of dA contribute.",
        lambda a, g: g * np.diag(np.diag(np.linalg.inv(a))),
    ),
    (
        "the diagonal of A",
        "you invert the diagonal alone; the elements beside it count as well.",
        lambda a, g: g * np.diag(1 / np.diag(a)),
    ),
    (
        "the value",
        "you use the value log|det A| instead of its derivative.",
        lambda a, g: g * np.log(abs(np.linalg.det(a))) + 0 * a,
    ),
    (
        "divided by the determinant",
        "you divide by det A once too often: the inverse contains that division.",
        lambda a, g: g * np.linalg.inv(a).T / np.linalg.det(a),
    ),
)

LOGDETS = told_by(
    _is_pulled_logdet,
    "pull_logdet",
    {"2 × 2": 1, "larger": 1},
    _logdet_cases,
    where=where_in_rule(lambda case: AskedRule(_logdet, {"a": case.args["a"]}, [case.args["g"]])),
    forbid=(DERIVATIVES,),
    checked=CHECKED,
    hints=(
        "d log|det A| = tr(A⁻¹ dA). Write the trace as an inner product with dA.",
        "tr(PᵀQ) = ⟨P, Q⟩. Which P has Pᵀ = A⁻¹?",
        "g * np.linalg.inv(a).T",
    ),
    misconceptions=mistakes(*LOGDET, call="pull_logdet"),
)

# ----------------------------------------------------------------------------------------- backprop


def _layers(weights: Sequence[Any], x: Any, tanh: Callable[[Any], Any]) -> list[Any]:
    """The values of all layers, the inputs first."""
    values = [x]
    for w in weights:
        values.append(tanh(w @ values[-1]))
    return values


def _backprop_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, sizes, batch in (
        ("one layer", (2, 3), 1),
        ("one layer", (3, 3), 1),
        ("several layers", (2, 3, 2), 1),
        ("several layers", (3, 3, 3, 3), 1),
        ("several layers", (2, 4, 1, 3), 1),
        ("a batch", (2, 3), 4),
        ("a batch", (3, 3, 3), 3),
        ("a batch", (2, 3, 2), 5),
    ):
        weights = [0.7 * signed(rng, m, n) for n, m in pairwise(sizes)]
        values = _layers(weights, signed(rng, sizes[0], batch), np.tanh)
        given = {"weights": weights, "values": values, "g": signed(rng, sizes[-1], batch)}
        yield Case.of(group, given, call="backprop")


def _is_backprop(case: Case, got: Any) -> str:
    weights, values, g = case.args.values()
    x = mg.tensor(values[0])
    names = [f"weights[{i}]" for i in range(len(weights))]
    if len(names) == 1:
        if type(got) not in (list, tuple) or len(got) != 1:
            return "what `backprop` returned should be a list with one adjoint for each weight."
        got = got[0]
    return _identity(lambda *w: _layers(w, x, mg.tanh)[-1], weights, g, got, names)


Start = Callable[[Any, Any], Any]


def _swept(
    start: Start = lambda g, a: g * (1 - a**2),
    onward: Callable[[Any, Any, Any], Any] = lambda w, delta, a: (w.T @ delta) * (1 - a**2),
    outer: Callable[[Any, Any], Any] = lambda delta, a: delta @ a.T,
) -> Callable[..., list[np.ndarray]]:
    """backprop with some of its three formulas written otherwise."""

    def backprop(weights: Any, values: Any, g: Any) -> list[np.ndarray]:
        delta, found = start(g, values[-1]), []
        for i in reversed(range(len(weights))):
            found.append(outer(delta, values[i]))
            delta = onward(weights[i], delta, values[i])
        return found[::-1]

    return backprop


def _logistic_slope(g: Any, a: Any) -> Any:
    return g * a * (1 - a)


def _late(weights: Any, values: Any, g: Any) -> list[np.ndarray]:
    """σ′ taken one layer too early."""
    delta, found = g * (1 - values[-1] ** 2), []
    for i in reversed(range(len(weights))):
        found.append(delta @ values[i].T)
        delta = weights[i].T @ (delta * (1 - values[i + 1] ** 2))
    return found[::-1]


BACKPROP: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    (
        "no slope",
        "σ′ is missing everywhere: each δ is multiplied by 1 − a², element by element.",
        _swept(lambda g, a: g, lambda w, d, a: w.T @ d),
    ),
    (
        "no slope in the last layer",
        "σ′ of the last layer is missing: δ begins as g ⊙ σ′, not as g.",
        _swept(start=lambda g, a: g),
    ),
    (
        "no slope on the way",
        "σ′ is missing on the way down: after Wᵀδ comes the slope of the layer below.",
        _swept(onward=lambda w, d, a: w.T @ d),
    ),
    (
        "the slope of the wrong layer",
        "on the way down you take σ′ of the layer above. After Wᵀδ comes the slope of the layer"
        " below, values[i].",
        _late,
    ),
    (
        "the logistic slope",
        "a(1 − a) is the slope of the logistic function. That of tanh is 1 − a².",
        _swept(_logistic_slope, lambda w, d, a: _logistic_slope(w.T @ d, a)),
    ),
    (
        "the slope at a",
        "you compute tanh′ at a, the value after tanh. With a = tanh z it is 1 − a².",
        _swept(lambda g, a: g / np.cosh(a) ** 2, lambda w, d, a: (w.T @ d) / np.cosh(a) ** 2),
    ),
    (
        "not transposed",
        "δ is multiplied by W on the way down; it is Wᵀ.",
        _swept(onward=lambda w, d, a: (w @ d) * (1 - a**2)),
    ),
    (
        "δ is not passed on",
        "all layers use the last δ; each has its own.",
        _swept(onward=lambda w, d, a: d),
    ),
    (
        "the outer product transposed",
        "the adjoints of the weights are transposed: δ aᵀ has the shape of W.",
        _swept(outer=lambda d, a: a @ d.T),
    ),
    (
        "the mean over the batch",
        "you divide by the size of the batch. g is given; the examples of a batch are added.",
        _swept(outer=lambda d, a: d @ a.T / d.shape[1]),
    ),
    (
        "the last first",
        "the list is in the order of the sweep; weights[0] comes first.",
        lambda **given: _swept()(**given)[::-1],
    ),
    ("sign", "the sign is reversed.", _swept(outer=lambda d, a: -d @ a.T)),
    (
        "g left out",
        "you begin with ones; δ begins with g ⊙ σ′.",
        _swept(start=lambda g, a: 1 - a**2),
    ),
    (
        "the values above",
        "δ is multiplied by the values of its own layer. The weight multiplied those of the layer"
        " below.",
        lambda weights, values, g: [
            delta @ a.T for delta, a in zip(_deltas(weights, values, g), values[1:], strict=True)
        ],
    ),
)


def _deltas(weights: Any, values: Any, g: Any) -> list[np.ndarray]:
    """δ of each layer, the first first."""
    found: list[np.ndarray] = []
    _swept(outer=lambda delta, a: found.append(delta))(weights, values, g)
    return found[::-1]


BACKPROPS = told_by(
    _is_backprop,
    "backprop",
    {"one layer": 1, "several layers": 2, "a batch": 1},
    _backprop_cases,
    forbid=(DERIVATIVES,),
    present=lambda case: (
        "a network with layers of"
        f" {' → '.join(str(len(a)) for a in case.args['values'])} units and"
        f" {case.args['g'].shape[1]} column(s)"
    ),
    checked=CHECKED,
    hints=(
        "Begin at the last layer: δ = g ⊙ σ′. Then, from the last weight to the first: the adjoint"
        " of the weight, and the δ of the layer below.",
        "values[i] is what weights[i] was multiplied by, and σ′ of that layer is 1 − values[i]².",
        "delta = g * (1 - values[-1]**2); for i in reversed(range(len(weights))): found[i] = delta"
        " @ values[i].T, then delta = weights[i].T @ delta * (1 - values[i]**2).",
    ),
    misconceptions=mistakes(*BACKPROP, call="backprop"),
)

# ----------------------------------------------------------------------------------------- the cost


@cache
def multiplications(sizes: tuple[int, ...], batch: int) -> tuple[int, int]:
    """The engine's own count for a chain of matrices whose data are constant: forward, backward."""
    data = mg.ones(sizes[0], batch, dtype=mg.float64)
    weights = [mg.ones(m, n, dtype=mg.float64) for n, m in pairwise(sizes)]
    chain = lambda *every: reduce(lambda value, weight: weight @ value, every, data)
    counted = mg.count_operations(chain, *weights, mode="vjp")
    return counted.forward.mul, counted.derivative.mul


def _cost_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case.of("one layer", {"sizes": [2, 3], "batch": 4}, call="training_cost")
    yield Case.of("one layer", {"sizes": [5, 2], "batch": 1}, call="training_cost")
    for length in (3, 4, 6):
        sizes = [int(k) for k in rng.permutation(np.arange(2, 13))[:length]]
        given = {"sizes": sizes, "batch": int(rng.integers(2, 20))}
        yield Case.of("several layers", given, call="training_cost")


def _is_training_cost(case: Case, got: Any) -> str:
    right = sum(multiplications(tuple(case.args["sizes"]), case.args["batch"]))
    return same(right, got, name="what `training_cost` returned")


def _products(sizes: Sequence[int], batch: int) -> list[int]:
    """The multiplications of each layer's product."""
    return [batch * n * m for n, m in pairwise(sizes)]


COST: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    (
        "three times",
        "you count the adjoint of the data, which is not needed: the first layer has two products.",
        lambda sizes, batch: 3 * sum(_products(sizes, batch)),
    ),
    (
        "twice",
        "you count one product for each layer in the backward pass. There are two: one for the"
        " weight, and one for the layer below.",
        lambda sizes, batch: 2 * sum(_products(sizes, batch)),
    ),
    (
        "forward",
        "that is the forward pass alone.",
        lambda sizes, batch: sum(_products(sizes, batch)),
    ),
    (
        "backward",
        "that is the backward pass alone; the forward pass belongs to the step.",
        lambda sizes, batch: 2 * sum(_products(sizes, batch)) - _products(sizes, batch)[0],
    ),
    (
        "one column",
        "you count one example; each product has as many columns as the batch.",
        lambda sizes, batch: 3 * sum(_products(sizes, 1)) - _products(sizes, 1)[0],
    ),
    (
        "the last layer",
        "you leave out the adjoint of the last layer's values. It is the data whose adjoint is not"
        " needed.",
        lambda sizes, batch: 3 * sum(_products(sizes, batch)) - _products(sizes, batch)[-1],
    ),
    (
        "two products fewer",
        "the first layer has two products, forward and for its weight; you count one.",
        lambda sizes, batch: 3 * sum(_products(sizes, batch)) - 2 * _products(sizes, batch)[0],
    ),
    (
        "the numbers of the weights",
        "you add the sizes; a product of an m × n matrix with k columns takes m · n · k"
        " multiplications.",
        lambda sizes, batch: 3 * batch * sum(n + m for n, m in pairwise(sizes)),
    ),
    (
        "multiplications and additions",
        "you count the additions as well; count multiplications alone.",
        lambda sizes, batch: 2 * (3 * sum(_products(sizes, batch)) - _products(sizes, batch)[0]),
    ),
)

COSTS = told_by(
    _is_training_cost,
    "training_cost",
    {"one layer": 1, "several layers": 1},
    _cost_cases,
    forbid=("minigrad.count_operations",),
    checked="Your number is compared with the multiplications that minigrad counted while it ran.",
    hints=(
        "Forward, a layer with n inputs and m results takes m · n · batch multiplications. Which"
        " products does the backward pass need?",
        "Backward, δ aᵀ for each weight and Wᵀδ for each layer but the first, whose inputs are the"
        " data.",
        "sum the products m · n · batch of all layers, times 3, minus that of the first layer.",
    ),
    misconceptions=mistakes(*COST, call="training_cost"),
)

# -------------------------------------------------------------------------------------- predictions

P, Q = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 1.0], [2.0, 0.0]])


def _growth_of_determinant(n: int = 100) -> float:
    """The slope of det(I + t · ones) at 0."""
    direction = mg.ones(n, n, dtype=mg.float64)
    at = mg.eye(n, dtype=mg.float64)
    return float(mg.func.jvp(mg.linalg.det, (at,), (direction,))[1].item())


def _ratio(layers: int = 8, size: int = 5, batch: int = 3) -> float:
    forward, backward = multiplications((size,) * (layers + 1), batch)
    return (forward + backward) / forward


PREDICTIONS = (
    Exact(
        "inner-product",
        "Prediction: the inner product of two matrices",
        variable="inner",
        answer=lambda: float(np.sum(P * Q)),
        because="1·0 + 2·1 + 3·2 + 4·0: element by element, then the sum.",
        slips=(
            (
                "That is tr(PQ). The inner product multiplies elements in the same place: tr(PᵀQ).",
                lambda: float(np.trace(P @ Q)),
            ),
            (
                "That is the sum of all elements of the product PQ. Multiply element by element.",
                lambda: float(np.sum(P @ Q)),
            ),
        ),
        hints=(
            "Lay the two matrices on top of each other.",
            "Multiply element by element, and add.",
        ),
    ),
    Exact(
        "det-growth",
        "Prediction: how fast the determinant grows",
        variable="growth",
        answer=_growth_of_determinant,
        because="At the identity, d det = tr(dA): only the 100 elements of the diagonal count.",
        slips=(
            (
                "All elements grow, but a determinant multiplies elements of different rows and"
                " columns. Beside 99 ones of the diagonal, which element can stand?",
                lambda: 10_000.0,
            ),
            ("That is the determinant itself, at the start.", lambda: 1.0),
            (
                "The elements outside of the diagonal do not count, but those on it do.",
                lambda: 0.0,
            ),
            ("It is the diagonal that counts, not the rest.", lambda: 9_900.0),
        ),
        hints=(
            "Try 2 × 2: det = (1 + t)² − t². Its derivative at t = 0?",
            "For 2 × 2 it is 2, for 3 × 3 it is 3.",
        ),
    ),
    Number(
        "training-ratio",
        "Prediction: a step of training, in forward passes",
        variable="times_forward",
        answer=_ratio,
        because="8 products forward; 8 for the weights and 7 for the δ's backward: 23/8 = 2.875.",
        slips=(
            (
                "Nearly: one product fewer. Is the adjoint of the data needed?",
                lambda: 3.0,
            ),
            ("That counts one product for each layer backward. There are two.", lambda: 2.0),
            ("That is the backward pass alone; the step has a forward pass too.", lambda: 15 / 8),
        ),
        hints=(
            "Count products of matrices, layer by layer: forward, for the weight, for the layer"
            " below.",
            "The first layer has nothing below it but the data.",
        ),
        tolerance=5e-3,
    ),
)

TITLES = {
    "matrix_products": "Exercise 1 · Move everything off dX",
    "pull_solve": "Exercise 2 · Backward through a linear system",
    "pull_logdet": "Exercise 3 · The logarithm of the determinant",
    "backprop": "Exercise 4 · Backprop",
    "training_cost": "Exercise 5 · The price of a step",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
