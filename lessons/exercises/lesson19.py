"""The exercises of lesson 19, as data: derivatives of what an equation defines, and an operation of
the student's engine that finds a fixed point.

Right answers are not written here. An adjoint is right if ⟨ȳ, dy⟩ = ⟨x̄, dx⟩ when one element of x
moves, for each element in turn; the equation is then solved again, and dy measured. A settled
adjoint is put into the equation that it must satisfy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.watch import trace_function

from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.kinds import Number
from . import own_engine
from .lesson11b import ENGINE
from .made import Exact, always, by_name, mistakes, signed, told_by

Wrong = Callable[..., Any]

SOLVED_AGAIN = (
    "The identity ⟨ȳ, dy⟩ = ⟨x̄, dx⟩ was tested for each element of each input: the element was"
    " moved a little, and the equation solved again. No rule is kept here."
)


def by_moving(
    solve: Callable[..., np.ndarray], inputs: Sequence[Any], g: Any, h: float = 1e-6
) -> list[np.ndarray]:
    """⟨g, dy⟩ of y = solve(*inputs) for each element of each input, by central differences."""
    found = []
    for i, x in enumerate(inputs):
        slopes = np.zeros(np.shape(x))
        for place in np.ndindex(slopes.shape):
            step = np.zeros(slopes.shape)
            step[place] = h
            up, down = (solve(*inputs[:i], x + s * step, *inputs[i + 1 :]) for s in (1, -1))
            slopes[place] = np.sum(g * (up - down)) / (2 * h)
        found.append(slopes)
    return found


# --------------------------------------------------------------------------------------- one number


def solved_kepler(m: Any, e: Any) -> np.ndarray:
    """E with E = M + e sin E, by Newton's method."""
    m, e = np.asarray(m, dtype=float), np.asarray(e, dtype=float)
    found = m + e * np.sign(np.sin(m))
    for _ in range(50):
        found = found - (found - m - e * np.sin(found)) / (1 - e * np.cos(found))
    return np.asarray(found)


def _kepler_cases(rng: np.random.Generator) -> Iterator[Case]:
    for low, high in ((0.1, 0.4), (0.4, 0.7), (0.7, 0.8), (0.3, 0.5)):
        e, where = float(rng.uniform(low, high)), float(rng.uniform(0.4, 2.8))
        g = float(signed(rng))
        yield Case.of("one moment", {"E": where, "e": e, "g": g}, call="pull_kepler")
    for n in (2, 5):
        given = {
            "E": rng.uniform(0.4, 2.8, size=n),
            "e": rng.uniform(0.2, 0.8, size=n),
            "g": signed(rng, n),
        }
        yield Case.of("many at once", given, call="pull_kepler")


def _is_pulled_kepler(case: Case, got: Any) -> str:
    place, e, g = (np.asarray(value) for value in case.args.values())
    if type(got) not in (list, tuple) or len(got) != 2:
        return "there should be 2 adjoints: of M and e."
    right = by_moving(solved_kepler, [place - e * np.sin(place), e], g)
    for name, expected, found in zip("Me", right, got, strict=True):
        wanted = expected if place.ndim else float(expected)
        if said := same(wanted, found, 1e-6, 1e-7, f"the adjoint of {name}"):
            return said
    return ""


def _over(
    below: Callable[[Any, Any], Any] = lambda place, e: 1 - e * np.cos(place),
    to_e: Callable[[Any, Any], Any] = lambda place, e: np.sin(place),
    to_m: Callable[[Any, Any], Any] = lambda place, e: 1.0,
) -> Wrong:
    """pull_kepler with a part of its formula written otherwise."""

    def wrong(E: Any, e: Any, g: Any) -> list[Any]:
        return [g * to_m(E, e) / below(E, e), g * to_e(E, e) / below(E, e)]

    return wrong


KEPLER = told_by(
    _is_pulled_kepler,
    "pull_kepler",
    {"one moment": 2, "many at once": 1},
    _kepler_cases,
    forbid=(DERIVATIVES,),
    checked=SOLVED_AGAIN,
    hints=(
        "dE = dM + sin E de + e cos E dE. Bring both terms with dE to one side.",
        "dE = (dM + sin E de)/(1 − e cos E). What stands beside dM, and beside de, times g?",
        "g / (1 - e * np.cos(E)) for M; the same times np.sin(E) for e.",
    ),
    misconceptions=mistakes(
        ("E held fixed", "you differentiate the right-hand side and hold E fixed in it. E stands"
            " there too, and moves.", _over(below=lambda place, e: 1.0)),
        ("plus", "you divide by 1 + e cos E. The term e cos E dE changes sides, and so its sign.",
            _over(below=lambda place, e: 1 + e * np.cos(place))),
        ("multiplied", "you multiply by 1 − e cos E. It stands beside dE, so the other side is"
            " divided by it.", _over(below=lambda place, e: 1 / (1 - e * np.cos(place)))),
        ("two rounds", "you go back through two rounds: 1 + e cos E is where the series 1 + (e cos"
            " E) + (e cos E)² + … begins.",
            _over(below=lambda place, e: 1 / (1 + e * np.cos(place)))),
        ("no sine", "the adjoint of e lacks the factor sin E, by which e is multiplied.",
            _over(to_e=lambda place, e: 1.0)),
        ("the whole term", "the adjoint of e is multiplied by e sin E. The derivative of e sin E"
            " with respect to e is sin E.", _over(to_e=lambda place, e: e * np.sin(place))),
        ("cosine", "you differentiate the sine for de as well; beside de stands sin E itself.",
            _over(to_e=lambda place, e: np.cos(place))),
        ("sine below", "you divide by 1 − e sin E. The derivative of sin E is cos E.",
            _over(below=lambda place, e: 1 - e * np.sin(place))),
        ("e forgotten", "you divide by 1 − cos E; the factor e is missing.",
            _over(below=lambda place, e: 1 - np.cos(place))),
        ("a sign", "the sign of the adjoint of e is reversed.",
            _over(to_e=lambda place, e: -np.sin(place))),
        ("no g", "you left out `g`, the adjoint of E.",
            lambda E, e, g: _over()(E, e, np.ones_like(g) if np.ndim(g) else 1.0)),
        ("swapped", "the two adjoints are in the wrong order: that of M comes first.",
            lambda E, e, g: _over()(E, e, g)[::-1]),
        ("e for M", "the adjoint of e contains that of M twice: the division by 1 − e cos E is"
            " there once.", _over(to_e=lambda place, e: np.sin(place) / (1 - e * np.cos(place)))),
    ),
)  # fmt: skip

# ------------------------------------------------------------------------------------ many unknowns


def _root_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, n, m in (
        ("as many parameters as unknowns", 1, 1),
        ("as many parameters as unknowns", 2, 2),
        ("as many parameters as unknowns", 3, 3),
        ("more or fewer", 2, 1),
        ("more or fewer", 2, 4),
        ("more or fewer", 3, 2),
    ):
        regular = n * np.eye(n) * rng.choice((-1.0, 1.0)) + rng.uniform(-1, 1, size=(n, n))
        given = {"Jz": regular, "Ja": signed(rng, n, m), "g": signed(rng, n)}
        yield Case.of(group, given, call="pull_root")


def _is_pulled_root(case: Case, got: Any) -> str:
    by_z, by_a, g = case.args.values()
    moved = lambda da: np.linalg.solve(by_z, -by_a @ da)
    (right,) = by_moving(moved, [np.zeros(by_a.shape[1])], g, h=1.0)
    return same(right, got, 1e-7, 1e-8, "the adjoint of a")


ROOT = told_by(
    _is_pulled_root,
    "pull_root",
    {"as many parameters as unknowns": 2, "more or fewer": 1},
    _root_cases,
    forbid=(DERIVATIVES,),
    checked=(
        "⟨z̄, dz⟩ = ⟨ā, da⟩ was tested for each element of a: dz solves J_z dz + J_a da = 0. No rule"
        " is kept here."
    ),
    hints=(
        "dz = −J_z⁻¹ J_a da. Put that into ⟨z̄, dz⟩, and move both factors away from da.",
        "⟨z̄, −J_z⁻¹ J_a da⟩ = ⟨−J_aᵀ J_z⁻ᵀ z̄, da⟩: a system with the transposed matrix, and a"
        " product.",
        "-Ja.T @ np.linalg.solve(Jz.T, g)",
    ),
    misconceptions=mistakes(
        ("no minus", "the minus is missing: J_a da changes sides before you solve.",
            lambda Jz, Ja, g: Ja.T @ np.linalg.solve(Jz.T, g)),
        ("Jz not transposed", "you solve with J_z; in the backward pass it is J_zᵀ.",
            lambda Jz, Ja, g: -Ja.T @ np.linalg.solve(Jz, g)),
        ("Ja not transposed", "you multiply by J_a; in the backward pass it is J_aᵀ.",
            lambda Jz, Ja, g: -Ja @ np.linalg.solve(Jz.T, g)),
        ("neither transposed", "neither matrix is transposed. In the backward pass both are.",
            lambda Jz, Ja, g: -Ja @ np.linalg.solve(Jz, g)),
        ("multiplied by Jz", "you multiply by J_zᵀ; it is the matrix of a system to be solved.",
            lambda Jz, Ja, g: -Ja.T @ (Jz.T @ g)),
        ("z held fixed", "you leave J_z out: z moves so that G stays 0.",
            lambda Jz, Ja, g: -Ja.T @ g),
        ("a fixed point's", "you solve with I − J_z, which belongs to z = f(z, a). Here the"
            " equation is G(z, a) = 0.",
            lambda Jz, Ja, g: -Ja.T @ np.linalg.solve(np.eye(len(g)) - Jz.T, g)),
        ("a fixed point's, with a plus", "you solve with I − J_z, which belongs to z = f(z, a)."
            " Here the equation is G(z, a) = 0.",
            lambda Jz, Ja, g: Ja.T @ np.linalg.solve(np.eye(len(g)) - Jz.T, g)),
        ("no g", "you left out `g`, the adjoint of z.",
            lambda Jz, Ja, g: -Ja.T @ np.linalg.solve(Jz.T, np.ones(len(g)))),
        ("the system alone", "you solve the system and stop there; its solution is not yet"
            " multiplied by −J_aᵀ.", lambda Jz, Ja, g: np.linalg.solve(Jz.T, g)),
        ("forward", "you multiply dz/da = −J_z⁻¹ J_a by g. In the backward pass that matrix is"
            " transposed.", lambda Jz, Ja, g: -np.linalg.solve(Jz, Ja) @ g),
        ("exchanged", "the two matrices are exchanged: the system to be solved has J_zᵀ.",
            lambda Jz, Ja, g: -Jz.T @ np.linalg.solve(Ja.T, g)),
    ),
)  # fmt: skip

# --------------------------------------------------------------------------- the adjoint, by rounds


def _turned(rng: np.random.Generator, n: int, rate: float) -> np.ndarray:
    """A matrix that is not symmetric, whose largest eigenvalue has the absolute value `rate`."""
    matrix = signed(rng, n, n) + 0.5 * np.triu(signed(rng, n, n))
    return np.asarray(matrix * (rate / np.max(np.abs(np.linalg.eigvals(matrix)))))


def _allowed(rate: float) -> int:
    """Three times the rounds in which an error shrinks to 10⁻¹², and some more."""
    return 30 + 3 * math.ceil(-12 / math.log10(max(rate, 0.05)))


def _settle_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, n, rate in (
        ("a fast step", 1, 0.0),
        ("a fast step", 2, 0.3),
        ("a fast step", 3, 0.2),
        ("a slow step", 1, 0.9),
        ("a slow step", 2, 0.9),
        ("a slow step", 3, 0.85),
    ):
        given = {"A": _turned(rng, n, rate), "g": signed(rng, n), "allowed": _allowed(rate)}
        yield Case.of(group, given, call="settle", size=n + (100 if rate > 0.5 else 0))
    for diagonal, g in (([-0.5], [1.0]), ([0.5, -0.5], [1.0, 1.0]), ([-0.3, -0.7], [1.2, 0.8])):
        given = {"A": np.diag(diagonal), "g": np.array(g), "allowed": _allowed(0.7)}
        yield Case.of("changes of both signs", given, call="settle", size=10.0 + len(g))


def _is_settled(case: Case, got: Any) -> str:
    matrix, g, _ = case.args.values()
    try:
        found = np.asarray(got, dtype=float)
    except (TypeError, ValueError):
        return "`settle` should return an array of the shape of g."
    if found.shape != g.shape:
        return f"what `settle` returned has the shape {found.shape}; g has the shape {g.shape}."
    if not np.all(np.isfinite(found)):
        return "what `settle` returned is not finite (NaN or infinity)."
    return same(g, found - matrix.T @ found, 1e-7, 1e-8, "λ − pull(λ)")


def _sums(case: Case, rounds: int = 900) -> Iterator[np.ndarray]:
    """What is there after each round: g, g + Aᵀg, …"""
    matrix, g, _ = case.args.values()
    total = g
    for _ in range(rounds):
        yield total
        total = g + matrix.T @ total


def _is_a_sum(case: Case, got: Any) -> bool:
    """Whether a value is that of some round, or of a loop that began with zeros."""
    return any(np.allclose(got, total, rtol=1e-6, atol=1e-9) for total in _sums(case))


def _settled(matrix: np.ndarray, g: np.ndarray, sign: float = 1.0) -> np.ndarray:
    return np.asarray(np.linalg.solve(np.eye(len(g)) - sign * matrix.T, g))


SETTLE = told_by(
    _is_settled,
    "settle",
    {"a fast step": 1, "a slow step": 1, "changes of both signs": 1},
    _settle_cases,
    drive=f"{ENGINE}:settled",
    forbid=(DERIVATIVES,),
    present=lambda case: (
        f"settle(pull, g), pull(u) = Aᵀu, A = {np.round(case.args['A'], 3).tolist()},"
        f" g = {np.round(case.args['g'], 3).tolist()}"
    ),
    checked=(
        "Your λ was put into the equation λ = pull(λ) + g, and the calls of `pull` were counted."
    ),
    hints=(
        "λ is a fixed point. Which step leaves it as it is?",
        "The step takes u to pull(u) + g. `search` wants that step and something to begin with, for"
        " which g will do.",
        "return search(lambda u: pull(u) + g, g)",
    ),
    misconceptions=(
        Misconception.of(
            "no round", "you return g as it arrived.", lambda A, g, allowed: np.array(g)
        ),
        Misconception.of(
            "one round",
            "you do one round. That is one step back; the equation asks for all of them.",
            lambda A, g, allowed: g + A.T @ g,
        ),
        Misconception.of(
            "g not added",
            "What you return is nearly 0. (If g is added at the start only, everything shrinks to"
            " 0: each round adds it.)",
            lambda A, g, allowed: 0.0 * g,
        ),
        Misconception.of(
            "g missing",
            "g is missing in what you return: λ = pull(λ) + g, and you return pull(λ).",
            lambda A, g, allowed: _settled(A, g) - g,
        ),
        Misconception.of(
            "a minus",
            "you subtract pull(u): the result satisfies λ = g − pull(λ).",
            lambda A, g, allowed: _settled(A, g, -1.0),
        ),
        Misconception.of(
            "g twice",
            "g is added twice, so λ is twice as large as it should be.",
            lambda A, g, allowed: 2 * _settled(A, g),
        ),
        Misconception(
            "too early",
            "you stop before u has settled. Go on until no element changes: the largest *absolute*"
            " change decides.",
            lambda case: next(islice(_sums(case), 3, None)),
            explains=_is_a_sum,
        ),
    ),
)

# --------------------------------------------------------------------- a fixed point in an engine

Rows = Sequence[Sequence[Any]]
LAMBERT: Rows = [["s1", "exp", ["z"]], ["s2", "div", ["x1", "s1"]]]
LOGARITHM: Rows = [["s1", "add", ["x1", "z"]], ["s2", "log", ["s1"]]]
LINEAR: Rows = [["s1", "matmul", ["x1", "z"]], ["s2", "add", ["s1", "x2"]]]
CURVED: Rows = [*LINEAR, ["s3", "log", ["s2"]]]
"""Steps z = x/eᶻ, z = log(x + z), z = Xz + b and z = log(Xz + b): contractions where they start."""
AFTER: Rows = [["w1", "square", ["y"]], ["w2", "sum", ["w1"]]]


def _rest_cases(rng: np.random.Generator) -> Iterator[Case]:
    low, high = lambda *n: rng.uniform(0.4, 1.2, size=n), lambda *n: rng.uniform(1.5, 3.0, size=n)
    for group, passes, rows, inputs in (
        ("one input", 1, LAMBERT, {"x1": low()}),
        ("one input", 1, LOGARITHM, {"x1": high(3)}),
        ("one input", 1, LOGARITHM, {"x1": high(2, 2)}),
        ("several inputs", 1, LINEAR, {"x1": _turned(rng, 2, 0.5), "x2": signed(rng, 2, 1)}),
        ("several inputs", 1, LINEAR, {"x1": _turned(rng, 3, 0.4), "x2": signed(rng, 3, 2)}),
        ("several inputs", 1, CURVED, {"x1": low(2, 2) / 2, "x2": high(2, 1)}),
        ("twice", 2, LAMBERT, {"x1": low(2)}),
        ("twice", 2, CURVED, {"x1": low(2, 2) / 2, "x2": high(2, 1)}),
    ):
        start = np.ones(np.shape(inputs["x2" if "x2" in inputs else "x1"]))
        given = {"start": start, "inputs": inputs, "rows": rows, "after": AFTER, "passes": passes}
        yield Case.of(group, given, call="fixed_point", size=10.0 * len(rows) + start.size + passes)


def _step(rows: Rows, z: Any, inputs: Mapping[str, Any]) -> np.ndarray:
    nodes = own_engine.built({"z": z, **inputs}, rows, own_engine.IN_NUMPY)
    return np.asarray(nodes[rows[-1][0]], dtype=float)  # type: ignore[index]


def _rounds(case: Case, inputs: Mapping[str, Any], most: int = 400) -> Iterator[np.ndarray]:
    """z after each round, until it stays as it is."""
    z = np.asarray(case.args["start"], dtype=float)
    for _ in range(most):
        yield z
        new = _step(case.args["rows"], z, inputs)
        if np.array_equal(new, z):
            return
        z = new


def _at_rest(case: Case, *arrays: Any) -> np.ndarray:
    """The fixed point, found in NumPy."""
    inputs = dict(zip(case.args["inputs"], arrays or case.args["inputs"].values(), strict=True))
    *_, last = _rounds(case, inputs)
    return last


@lru_cache(maxsize=64)
def _found(case: Case) -> dict[str, Any]:
    """What the drive should return: gradients by solving again with inputs that moved."""
    inputs = case.args["inputs"]
    after = lambda *arrays: np.asarray(np.sum(_at_rest(case, *arrays) ** 2))
    slopes = by_moving(after, [np.asarray(x) for x in inputs.values()], 1.0)
    return {
        "value": float(after()),
        "gradients": dict(zip(inputs, slopes, strict=True)),
        "nodes": len(inputs) + 1 + len(case.args["after"]),
        "back": case.args["passes"],
    }


def _is_at_rest(case: Case, got: Any) -> str:
    """Why a fixed point in the student's engine is not right."""
    if type(got) is not dict:
        return "there is no Tensor."
    right = _found(case)
    if said := same(right["value"], got["value"], 1e-7, 1e-8, "the sum of squares at the end"):
        return said
    if got["nodes"] != right["nodes"]:
        return (
            f"{got['nodes']} nodes lie behind the result, {right['nodes']} are enough: the inputs,"
            " one for the fixed point, and the two at the end. No round should be kept."
        )
    for name, expected in right["gradients"].items():
        found = got["gradients"][name]
        if said := same(expected, found, 1e-5, 1e-6, f"the gradient with respect to {name}"):
            return said
    if got["back"] != right["back"]:
        return (
            f"in {right['back']} backward pass(es) `step` ran {got['back']} times. One run in each"
            " is enough: make its graph once, and go back through it as often as you need."
        )
    return ""


def _jacobians(case: Case, z: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Those of the step at z: with respect to z, and to each input; a row for each element."""
    inputs, rows = case.args["inputs"], case.args["rows"]

    def columns(move: Callable[[np.ndarray], np.ndarray], x: Any) -> np.ndarray:
        units = np.eye(np.size(x)).reshape(-1, *np.shape(x)) * 1e-6
        sides = [(move(x + unit) - move(x - unit)) / 2e-6 for unit in units]
        return np.stack([side.ravel() for side in sides], axis=1)

    by_input = {
        name: columns(lambda moved, name=name: _step(rows, z, {**inputs, name: moved}), x)
        for name, x in inputs.items()
    }
    return columns(lambda moved: _step(rows, moved, inputs), z), by_input


def _sent(case: Case, z: np.ndarray, settled: Callable[[np.ndarray], np.ndarray]) -> Any:
    """The gradients, if λ is settled(A) and the step is differentiated at z."""
    by_z, by_input = _jacobians(case, z)
    found = settled(by_z)
    return {
        name: (jacobian.T @ found).reshape(np.shape(case.args["inputs"][name]))
        for name, jacobian in by_input.items()
    }


def _but(gradients: Callable[[Case], Any]) -> Callable[[Case], Any]:
    return lambda case: {**_found(case), "gradients": gradients(case)}


def _seed(case: Case) -> np.ndarray:
    """The adjoint of the fixed point."""
    return np.asarray(2 * _at_rest(case)).ravel()


def _nothing(case: Case) -> dict[str, np.ndarray]:
    return {name: np.zeros(np.shape(x)) for name, x in case.args["inputs"].items()}


def _first_alone(case: Case) -> dict[str, np.ndarray]:
    return {**_nothing(case), "x1": _found(case)["gradients"]["x1"]}


def _third_round(case: Case) -> np.ndarray:
    return next(islice(_rounds(case, case.args["inputs"]), 3, None))


def _stopped_early(pairs: Sequence[tuple[Case, Any]]) -> Any:
    """The diagnosis that the values are those of rounds, and not all of the last."""
    near, exact = True, True
    for case, got in pairs:
        values = [float(np.sum(z**2)) for z in _rounds(case, case.args["inputs"])]
        near &= bool(np.any(np.isclose(values, got["value"], rtol=1e-12, atol=0.0)))
        exact &= bool(np.isclose(values[-1], got["value"], rtol=1e-7, atol=0.0))
    return ("", None) if near and not exact else None


FIXED = told_by(
    _is_at_rest,
    "fixed_point",
    {"one input": 1, "several inputs": 2, "twice": 1},
    _rest_cases,
    drive=f"{ENGINE}:at_rest",
    forbid=(DERIVATIVES,),
    present=lambda case: (
        f"fixed_point(step, z, …), step: {_as_text(case.args['rows'])}, then the sum of squares;"
        f" {case.args['passes']} backward pass(es)"
    ),
    checked=(
        "Each input was moved a little and the fixed point found again; the nodes behind the"
        " result, and the runs of `step` in the backward pass, were counted."
    ),
    hints=(
        "Forward: search(lambda z: step(Tensor(z), *map(Tensor, values)).value, z). What `step`"
        " made on the way is dropped, since nothing refers to it any more.",
        "In `pull`: at = new Tensors of z and of the inputs, y = step(*at), once. The first of"
        " sent_back(y, u, at) is Aᵀu.",
        "settled = settle(lambda u: sent_back(y, u, at)[0], g), and then return sent_back(y,"
        " settled, at)[1:].",
    ),
    misconceptions=(
        Misconception(
            "the history",
            "the rounds are still in the graph, so each of them is kept for the backward pass.",
            lambda case: {**_found(case), "nodes": _found(case)["nodes"] + 10, "back": 0},
            fitted=always(lambda case, got: got["nodes"] > _found(case)["nodes"]),
        ),
        Misconception(
            "one round back",
            "the adjoint goes back through the step once. It arrives at z as well, and has to go"
            " round until it settles.",
            _but(lambda case: _sent(case, _at_rest(case), lambda by_z: _seed(case))),
        ),
        Misconception(
            "two rounds back",
            "the adjoint goes back through the step twice; it has to go round until it settles.",
            _but(lambda case: _sent(
                case, _at_rest(case), lambda by_z: _seed(case) + by_z.T @ _seed(case))),
        ),
        Misconception(
            "g left out",
            "the adjoint g is left out: the backward pass begins with ones.",
            _but(lambda case: _sent(
                case, _at_rest(case), lambda by_z: _settled(by_z, np.ones(len(by_z))))),
        ),
        Misconception(
            "at the start",
            "the step is differentiated where the search began. It has to be differentiated at the"
            " fixed point.",
            _but(lambda case: _sent(
                case, case.args["start"], lambda by_z: _settled(by_z, _seed(case)))),
        ),
        Misconception(
            "nothing is sent",
            "Nothing arrives at the inputs: are they the parents, is g added in each round, and do"
            " you ask for the gradients with respect to the Tensors on which `step` ran in `pull`?",
            _but(_nothing),
            fitted=always(lambda case, got: not any(map(np.any, got["gradients"].values()))),
        ),
        Misconception(
            "the first input alone",
            "only the first input gets its part: `pull` returns one for each input.",
            _but(_first_alone),
        ),
        Misconception(
            "stopped early",
            "you stop before z has settled. Go on until no element changes by more than 1e-10.",
            lambda case: {**_found(case), "value": float(np.sum(_third_round(case) ** 2))},
            fitted=_stopped_early,
        ),
    ),
)  # fmt: skip


def _as_text(rows: Rows) -> str:
    """The rows of a step as one line."""
    return ", ".join(f"{name} = {op}({', '.join(operands)})" for name, op, operands in rows)


# -------------------------------------------------------------------------------------- predictions


def _kept_in_a_round() -> float:
    """How many more values the engine keeps for one more round of Kepler's step."""

    def rounds(count: int) -> int:
        def f(m: Any, e: Any) -> Any:
            place = m
            for _ in range(count):
                place = m + e * mg.sin(place)
            return place

        nodes = trace_function(f, 1.0, 0.6, mode="reverse")["nodes"]
        return len({name for node in nodes for name in node.get("saved") or ()})

    return float(rounds(9) - rounds(8))


def unrolled_slope(rounds: int, e: float = 0.6) -> float:
    """dE/dM by reverse mode through so many rounds that begin at the solution E = M = 0."""
    m = mg.tensor(0.0, dtype=mg.float64, requires_grad=True)
    place = mg.tensor(0.0, dtype=mg.float64)
    for _ in range(rounds):
        place = m + e * mg.sin(place)
    place.backward()
    assert m.grad is not None
    return float(m.grad.item())


PREDICTIONS = (
    Exact(
        "kept-in-a-round",
        "Prediction: what a round keeps",
        variable="per_round",
        answer=_kept_in_a_round,
        because="The sine keeps its input, E; the product keeps e, which is there already, and sin"
        " E. The sum keeps nothing.",
        slips=(
            ("The product keeps its factors too, and one of them is new in each round.",
                lambda: 1.0),
            ("e is a factor in each round, but it is one array: it is kept once for all.",
                lambda: 3.0),
            ("That counts every value that a round computes; a sum keeps nothing.", lambda: 4.0),
            ("The derivatives need values: that of the sine, for one, needs E.", lambda: 0.0),
        ),
        hints=(
            "Three operations: a sine, a product, a sum. What does the rule of each read?",
            "The sine reads its input. The product reads e, which all rounds share, and sin E.",
        ),
    ),
    Number(
        "perihelion",
        "Prediction: how fast at the perihelion?",
        variable="rate",
        answer=lambda: by_moving(solved_kepler, [np.asarray(0.0), np.asarray(0.6)], 1.0)[0].item(),
        because="dE = dM + 0.6 dE, so 0.4 dE = dM.",
        slips=(
            ("That holds E fixed on the right-hand side. It moves there as well.", lambda: 1.0),
            ("That counts the second round, and no further one: dE = dM + 0.6 dM.", lambda: 1.6),
            ("dE stands on both sides: dE − 0.6 dE = dM. You added them.", lambda: 0.625),
            ("That is 1 − 0.6, by which dM is divided.", lambda: 0.4),
        ),
        hints=(
            "de is 0, and cos 0 is 1: dE = dM + 0.6 dE.",
            "Bring both dE to one side.",
        ),
        tolerance=1e-4,
    ),
    Number(
        "three-rounds",
        "Prediction: three rounds, from the solution",
        variable="slope",
        answer=lambda: unrolled_slope(3),
        because="1 + 0.6 + 0.6²: each round adds a term to the series, whose sum is 2.5.",
        slips=(
            ("That is where the series ends. Three rounds are three of its terms.", lambda: 2.5),
            ("That is two rounds.", lambda: 1.6),
            ("That is the first round alone: M also came in through the E of the rounds before.",
                lambda: 1.0),
            ("That is four rounds. The first one has E = 0, which does not depend on M.",
                lambda: 1 + 0.6 + 0.36 + 0.216),
            ("That is the last term alone; the contributions of all rounds to M are added.",
                lambda: 0.36),
            ("The value stays at 0, but its derivative does not: M is in each round.",
                lambda: 0.0),
        ),
        hints=(
            "One round: E = M + 0.6 sin 0, whose derivative is 1.",
            "Two rounds: 1 + 0.6 · 1. And the third puts this in once more.",
        ),
        tolerance=1e-6,
    ),
)  # fmt: skip

TITLES = {
    "pull_kepler": "Exercise 1 · Kepler's equation, backward",
    "pull_root": "Exercise 2 · Any equation, backward",
    "settle": "Exercise 3 · The adjoint settles, too",
    "fixed_point": "Exercise 4 · One node for the whole search",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
