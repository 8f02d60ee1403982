"""The exercises of lesson 18, as data: products with Jacobians in the student's engine, conjugate
gradients, and the pieces of a Newton method that needs no matrix.

Right answers are not written here. Each mode checks products of the other; a step of conjugate
gradients must satisfy b − A x = r, d·r = 0 and d·A d = 0; a direction must solve its system, or
lead downhill.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import minigrad as mg

from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.graphs import formula
from ..grading.kinds import Number
from . import drive18
from .engine_graphs import draw, function_of
from .made import Exact, by_name, told_by

ENGINE = "minigrad.lessons.exercises.own_engine"
DRIVE = "minigrad.lessons.exercises.drive18"


def _mistake(call: str, name: str, say: str, wrong: Callable[[Case], Any]) -> Misconception:
    """A mistake in one of the functions of an exercise. One that does not stop, or that NumPy
    cannot carry out, raises in the student's hands as well.
    """

    def made(case: Case) -> Any:
        if call not in ("", case.call):
            return None
        try:
            with np.errstate(all="ignore"):
                return wrong(case)
        except (RuntimeError, ValueError, ArithmeticError):
            return None

    return Misconception(name, say, made, alone=True)


# ------------------------------------------------------------------------ products with a Jacobian


def _maps(rng: np.random.Generator) -> Iterator[tuple[np.ndarray, list[Any]]]:
    """Functions of an array whose result is an array, as rows of x1."""
    yield draw(rng, 3), [["v1", "square", ["x1"]]]
    yield draw(rng, 3), [["v1", "exp", ["x1"]], ["v2", "mul", ["v1", "x1"]]]
    yield draw(rng, 2, 3), [["v1", "square", ["x1"]], ["v2", "sum over columns", ["v1"]]]
    yield (
        draw(rng, 3),
        [["v1", "exp", ["x1"]], ["v2", "sum", ["v1"]], ["v3", "div", ["x1", "v2"]]],
    )
    yield (
        draw(rng, 2, 2),
        [["v1", "matmul", ["x1", "x1"]], ["v2", "t", ["x1"]], ["v3", "mul", ["v1", "v2"]]],
    )
    yield draw(rng), [["v1", "square", ["x1"]]]
    yield draw(rng, 2), [["v1", "mul", ["x1", "x1"]], ["v2", "sum", ["v1"]]]


def _tensor(x: Any) -> mg.Tensor:
    return mg.tensor(np.array(x), dtype=mg.float64)


def _pushed(f: Callable[[Any], Any], x: Any, dx: Any) -> np.ndarray:
    """J ẋ, by minigrad's forward mode."""
    return np.asarray(mg.func.jvp(f, (_tensor(x),), (_tensor(dx),))[1].numpy())


def _pulled(f: Callable[[Any], Any], x: Any, g: Any) -> np.ndarray:
    """Jᵀ ȳ, by minigrad's reverse mode."""
    y, pull = mg.func.vjp(f, _tensor(x))
    return np.asarray(pull(_tensor(np.broadcast_to(g, y.shape)))[0].numpy())


def _hessian_times(case: Case, f: Callable[[Any], Any], v: Any) -> np.ndarray:
    """The product of v and the Hessian of a function with one result."""
    x = _tensor(case.args["x"])
    return np.asarray(mg.func.jvp(mg.func.grad(f), (x,), (_tensor(v),))[1].numpy())


def _units(shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    for place in np.ndindex(shape):
        unit = np.zeros(shape)
        unit[place] = 1.0
        yield unit


def _tested(product: Callable[[np.ndarray], float], shape: tuple[int, ...]) -> np.ndarray:
    """The array whose inner product with each unit is product(unit)."""
    return np.array([product(unit) for unit in _units(shape)]).reshape(shape)


def _product_cases(rng: np.random.Generator) -> Iterator[Case]:
    for x, rows in _maps(rng):
        given = {"x": x, "rows": rows}
        y = function_of(Case.of("J ẋ", given))(_tensor(x))
        for group, call, moved in (("J ẋ", "jvp", x), ("Jᵀ ȳ", "vjp", y)):
            extra = {"moved": draw(rng, *moved.shape)}
            yield Case.of(group, given | extra, call=call, size=10.0 * len(rows) + x.size)


def _is_product(case: Case, got: Any) -> str:
    """Why a product with a Jacobian is not right: ⟨ȳ, J ẋ⟩ = ⟨Jᵀ ȳ, ẋ⟩ for each unit."""
    f, x, moved = function_of(case), case.args["x"], case.args["moved"]
    if case.call == "jvp":
        shape = f(_tensor(x)).shape
        right = _tested(lambda unit: float(np.sum(_pulled(f, x, unit) * moved)), shape)
        what = "J ẋ"
    else:
        right = _tested(lambda unit: float(np.sum(_pushed(f, x, unit) * moved)), x.shape)
        what = "Jᵀ ȳ"
    if type(got) is list:
        return f"`{case.call}` should return one array, {what}, and not {len(got)}."
    if not (said := same(right, got, 1e-9, 1e-9, what)):
        return ""
    if not same(right, got, 1e-3, 1e-3):
        return (
            f"{what} agrees to a few digits only, like a difference quotient; the two modes are"
            " exact up to rounding."
        )
    return said


PUSHED: tuple[tuple[str, str, Callable[[Case], Any]], ...] = (
    (
        "the value",
        "`jvp` returns the value of f; the product is the *tangent*.",
        lambda case: function_of(case)(_tensor(case.args["x"])).numpy(),
    ),
    (
        "ones",
        "`jvp` starts with a tangent of ones; start with `dx`.",
        lambda case: _pushed(function_of(case), case.args["x"], np.ones(case.args["x"].shape)),
    ),
    (
        "x for dx",
        "`jvp` starts with x for the tangent; start with `dx`.",
        lambda case: _pushed(function_of(case), case.args["x"], case.args["x"]),
    ),
    (
        "x and dx exchanged",
        "`jvp` has x and dx in the wrong places: a Dual is a value and then its tangent.",
        lambda case: _pushed(function_of(case), case.args["moved"], case.args["x"]),
    ),
    (
        "f of dx",
        "`jvp` applies f to the direction; the tangent goes through the *derivative* of f at x.",
        lambda case: function_of(case)(_tensor(case.args["moved"])).numpy(),
    ),
    (
        "zeros",
        "`jvp` gives 0 everywhere: the tangent of x is `dx`.",
        lambda case: 0 * function_of(case)(_tensor(case.args["x"])).numpy(),
    ),
    (
        "the gradient",
        "`jvp` runs reverse mode: it returns the adjoint of x. Take the tangent of the result.",
        lambda case: _pulled(function_of(case), case.args["x"], 1.0),
    ),
    (
        "a moved value",
        "`jvp` returns f(x + dx); the tangent is the part to first order.",
        lambda case: function_of(case)(_tensor(case.args["x"] + case.args["moved"])).numpy(),
    ),
    (
        "the sign",
        "`jvp` has the sign reversed.",
        lambda case: -_pushed(function_of(case), case.args["x"], case.args["moved"]),
    ),
)


def _at_x(case: Case) -> np.ndarray:
    """The seed ȳ in the place of a direction; ValueError where the shapes do not fit."""
    return np.broadcast_to(case.args["moved"], case.args["x"].shape)


def _sloped(case: Case) -> np.ndarray:
    """The gradient of the tangent's sum, the direction being ȳ: what comes of differentiating the
    tangent instead of the value.
    """
    f = lambda x: function_of(case)(x).sum()
    return _hessian_times(case, f, _at_x(case))


PULLED: tuple[tuple[str, str, Callable[[Case], Any]], ...] = (
    (
        "ones",
        "`vjp` begins with ones at the result; begin with `g`, by taking the sum of y · g.",
        lambda case: _pulled(function_of(case), case.args["x"], 1.0),
    ),
    (
        "forward",
        "`vjp` returns J times `g`, which is forward mode: you need Jᵀ, from a reverse pass.",
        lambda case: _pushed(function_of(case), case.args["x"], _at_x(case)),
    ),
    (
        "the sum of g",
        "`vjp` multiplies the gradient of the sum by the sum of `g`. Each element of y has its own"
        " element of `g`: multiply before you add up.",
        lambda case: (
            float(np.sum(case.args["moved"])) * _pulled(function_of(case), case.args["x"], 1.0)
        ),
    ),
    (
        "the tangent differentiated",
        "`vjp` differentiates the tangent; differentiate the *value*.",
        _sloped,
    ),
    (
        "zeros",
        "`vjp` gives 0 everywhere. Ask for the gradient with respect to the very Tensor with which"
        " f was called.",
        lambda case: np.zeros(case.args["x"].shape),
    ),
    (
        "the sign",
        "`vjp` has the sign reversed.",
        lambda case: -_pulled(function_of(case), case.args["x"], case.args["moved"]),
    ),
    (
        "times x",
        "`vjp` multiplies the result by x; it is the adjoint of x as it stands.",
        lambda case: (
            case.args["x"] * _pulled(function_of(case), case.args["x"], case.args["moved"])
        ),
    ),
    (
        "the seed",
        "`vjp` returns the sum of y · g itself; return its gradient.",
        lambda case: np.asarray(
            np.sum(function_of(case)(_tensor(case.args["x"])).numpy() * case.args["moved"])
        ),
    ),
)

PRODUCTS = told_by(
    _is_product,
    "both_products",
    {"J ẋ": 1, "Jᵀ ȳ": 2},
    _product_cases,
    answers=("jvp", "vjp"),
    drive=f"{ENGINE}:product",
    forbid=(DERIVATIVES,),
    present=lambda case: (
        f"{case.call}(f, x, {'dx' if case.call == 'jvp' else 'g'}), f being"
        f" {formula({'inputs': {}, 'rows': case.args['rows']})}"
    ),
    checked=(
        "Each mode checks the other, by ⟨ȳ, J ẋ⟩ = ⟨Jᵀ ȳ, ẋ⟩: ȳ or ẋ is 1 in one place and 0"
        " elsewhere, for each place in turn."
    ),
    hints=(
        "`jvp` is one forward pass: call f with a Dual. `vjp` is a forward and a reverse pass.",
        "`gradients` begins with 1 at a single number. Which number of y and g has the gradient"
        " Jᵀ ȳ?",
        "f(Dual(Tensor(x), Tensor(dx))).tangent.value; and for `vjp` (y * Tensor(g)).sum(), where"
        " y = f(Dual(point, Tensor(np.zeros(np.shape(x))))).value, by `point`.",
    ),
    misconceptions=(
        *(_mistake("jvp", *row) for row in PUSHED),
        *(_mistake("vjp", *row) for row in PULLED),
    ),
)

# ------------------------------------------------------------------------------ conjugate gradients


def _positive(rng: np.random.Generator, n: int) -> np.ndarray:
    """A symmetric matrix with positive eigenvalues, none too small."""
    return _with_eigenvalues(rng, rng.uniform(0.5, 8.0, size=n))


def _with_eigenvalues(rng: np.random.Generator, values: Sequence[float]) -> np.ndarray:
    n = len(values)
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    made = q @ np.diag(values) @ q.T
    return np.asarray((made + made.T) / 2)


def _step_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, shape, steps in (
        ("one step", (1,), 1),
        ("one step", (2,), 1),
        ("one step", (3, 1), 1),
        ("several steps", (2,), 2),
        ("several steps", (3,), 2),
        ("several steps", (4, 1), 3),
        ("several steps", (5,), 5),
    ):
        given = {"matrix": _positive(rng, shape[0]), "b": draw(rng, *shape), "steps": steps}
        yield Case.of(group, given, call="cg_step", size=10.0 * steps + shape[0])


def _is_step(case: Case, got: Any) -> str:
    """Why some steps of conjugate gradients are not right."""
    a, b, steps = case.args.values()
    if type(got) is not dict:
        return "there are no steps."
    size = float(np.linalg.norm(b))
    old = b
    for k in range(steps):
        after = f"after step {k + 1}"
        x, r, d = (got[name][k] for name in ("x", "r", "d"))
        for name, one in (("x", x), ("r", r), ("d", d)):
            if np.shape(one) != b.shape:
                return f"{after}, {name} has not the shape of b, {b.shape}."
            if not np.all(np.isfinite(one)):
                return f"{after}, {name} holds NaN or infinity."
        if np.linalg.norm(b - a @ x - r) > 1e-8 * size * (1 + np.linalg.norm(a)):
            return f"{after}, r is not what is left, b − A x."
        along = float(np.sum(old * r))
        if abs(along) > 1e-7 * size * np.linalg.norm(old):
            far = "too short" if along > 0 else "too long"
            return f"{after}, d·r = {along:.3g} and not 0 for the d of this step: it was {far}."
        left = float(np.linalg.norm(r))
        if left < 1e-9 * size:
            break
        if abs(float(np.sum(d * r)) / left**2 - 1) > 1e-6:
            return f"{after}, the new d is not the new r plus a multiple of the old d."
        bent = float(np.sum(d * (a @ old)))
        if abs(bent) > 1e-7 * np.linalg.norm(a) * np.linalg.norm(old) * np.linalg.norm(d):
            return f"{after}, d·A d = {bent:.3g} and not 0 for the new d and the old one."
        old = d
    return ""


Step = Callable[[Any, Any, Any, Any], Any]


def _dot(p: Any, q: Any) -> Any:
    return np.sum(p * q)


def _step_but(
    length: Step = lambda x, r, d, ad: _dot(r, r) / _dot(d, ad),
    factor: Step = lambda new, r, d, ad: _dot(new, new) / _dot(r, r),
    left: Callable[[Any, float, Any], Any] = lambda r, t, ad: r - t * ad,
    moved: Callable[[Any, float, Any], Any] = lambda x, t, d: x + t * d,
    turned: Callable[[Any, Any, float, Any], Any] = lambda new, r, k, d: new + k * d,
) -> Step:
    """A step with one of its formulas written otherwise."""

    def step(x: Any, r: Any, d: Any, ad: Any) -> Any:
        t = length(x, r, d, ad)
        new = left(r, t, ad)
        return moved(x, t, d), new, turned(new, r, factor(new, r, d, ad), d)

    return step


STEPS: tuple[tuple[str, str, Step], ...] = (
    (
        "no new direction",
        "your new d is the new r alone. That is gradient descent with the best step length; the"
        " multiple of the old d is missing.",
        _step_but(factor=lambda new, r, d, ad: 0.0),
    ),
    (
        "the old direction",
        "the new d is the old one; it is the new r plus a multiple of the old d.",
        _step_but(turned=lambda new, r, k, d: d),
    ),
    (
        "length one",
        "x moves by d itself; the length of the step is r·r divided by d·Ad.",
        _step_but(length=lambda x, r, d, ad: 1.0),
    ),
    (
        "length upside down",
        "the length of the step is upside down: r·r divided by d·Ad.",
        _step_but(length=lambda x, r, d, ad: _dot(d, ad) / _dot(r, r)),
    ),
    (
        "length with d",
        "the length of the step has d·d for r·r. They agree in the first step only, where d is r.",
        _step_but(length=lambda x, r, d, ad: _dot(d, d) / _dot(d, ad)),
    ),
    (
        "no curvature",
        "the length of the step leaves out A: r·r is divided by d·Ad.",
        _step_but(length=lambda x, r, d, ad: _dot(r, r) / _dot(d, d)),
    ),
    (
        "a root",
        "you divide norms; r·r and d·Ad have no root.",
        _step_but(
            length=lambda x, r, d, ad: math.sqrt(_dot(r, r)) / math.sqrt(abs(_dot(d, ad))),
            factor=lambda new, r, d, ad: math.sqrt(_dot(new, new) / _dot(r, r)),
        ),
    ),
    (
        "a root in the factor",
        "the factor of the old d divides norms; it is new r·r divided by old r·r, without a root.",
        _step_but(factor=lambda new, r, d, ad: math.sqrt(_dot(new, new) / _dot(r, r))),
    ),
    (
        "x goes back",
        "x moves against d, and r moves as if it had gone along d.",
        _step_but(moved=lambda x, t, d: x - t * d),
    ),
    (
        "r grows",
        "r becomes r + length · Ad. It is b − A x, so it gets smaller: a minus.",
        _step_but(left=lambda r, t, ad: r + t * ad),
    ),
    (
        "r without A",
        "r is reduced by length · d; A x grows by length · Ad.",
        lambda x, r, d, ad: _without_a(x, r, d, ad),
    ),
    (
        "r stays",
        "r stays as it was; it is what is left of b after x has moved.",
        _step_but(left=lambda r, t, ad: r),
    ),
    (
        "factor upside down",
        "the factor of the old d is upside down: new r·r divided by old r·r.",
        _step_but(factor=lambda new, r, d, ad: _dot(r, r) / _dot(new, new)),
    ),
    (
        "factor one",
        "the old d is added as it is; its factor is new r·r divided by old r·r.",
        _step_but(factor=lambda new, r, d, ad: 1.0),
    ),
    (
        "factor subtracted",
        "the multiple of the old d is subtracted; it is added.",
        _step_but(turned=lambda new, r, k, d: new - k * d),
    ),
    (
        "the old r",
        "the new d is built from the old r; it begins with the new one.",
        _step_but(turned=lambda new, r, k, d: r + k * d),
    ),
    (
        "a multiple of the old r",
        "the new d has a multiple of the old r in it; it is a multiple of the old d.",
        _step_but(turned=lambda new, r, k, d: new + k * r),
    ),
    (
        "another order",
        "you return x, d, r. The order is x, r, d.",
        lambda x, r, d, ad: (lambda x, r, d: (x, d, r))(*_step_but()(x, r, d, ad)),
    ),
)


def _without_a(x: Any, r: Any, d: Any, ad: Any) -> Any:
    return _step_but(left=lambda r, t, ad: r - t * d)(x, r, d, ad)


def _walked(step: Step) -> Callable[[Case], Any]:
    return lambda case: drive18.walked({"cg_step": step}, "cg_step", *case.args.values())


CG_STEP = told_by(
    _is_step,
    "cg_step",
    {"one step": 1, "several steps": 2},
    _step_cases,
    drive=f"{DRIVE}:walked",
    present=lambda case: (
        f"{case.args['steps']} step(s) from x = 0 with a matrix of"
        f" {len(case.args['b'])} × {len(case.args['b'])}"
    ),
    checked=(
        "After each step: r = b − A x; r·d = 0 for the direction of the step; and d·A d = 0 for the"
        " new direction and the old one."
    ),
    hints=(
        "Four lines: the length of the step, the new x, the new r, the new d.",
        "The old r·r is needed twice, so keep the old r until the new d is there. `np.sum(p * q)`"
        " is p·q for arrays of every shape.",
        "t = np.sum(r * r) / np.sum(d * Ad); new = r - t * Ad; return x + t * d, new,"
        " new + np.sum(new * new) / np.sum(r * r) * d.",
    ),
    misconceptions=tuple(_mistake("", name, say, _walked(step)) for name, say, step in STEPS),
)

# ---------------------------------------------------------------------------------- the direction


def _direction_cases(rng: np.random.Generator) -> Iterator[Case]:
    make = lambda group, h, g, tol: Case.of(
        group,
        {"matrix": h, "gradient": g, "tolerance": tol},
        call="newton_direction",
        size=float(g.size),
    )
    for shape in ((1,), (2, 1), (4,)):
        yield make("a bowl", _positive(rng, shape[0]), draw(rng, *shape), 1e-8)
    for tolerance in (0.5, 0.1):
        yield make("tolerance", _stretched(rng), draw(rng, 8), tolerance)
    for scale in (1e-6, 1e4):
        yield make("tolerance", _stretched(rng), scale * draw(rng, 8), 0.3)
    yield make("tolerance", _positive(rng, 3), np.zeros(3), 0.1)
    # A bowl among them: by themselves the others pay −g, which goes down everywhere.
    yield make("negative curvature", _positive(rng, 3), draw(rng, 3), 1e-8)
    yield make("negative curvature", np.array([[-2.0]]), draw(rng, 1), 1e-6)
    yield make("negative curvature", np.zeros((2, 2)), draw(rng, 2), 1e-6)
    yield make("negative curvature", -_positive(rng, 3), draw(rng, 3, 1), 1e-6)
    for n in (2, 3, 5):
        yield make("negative curvature", *_saddle(rng, n), 1e-8)


def _stretched(rng: np.random.Generator) -> np.ndarray:
    return _with_eigenvalues(rng, [1.0, 1.1, 1.3, 4.0, 4.2, 4.4, 9.0, 9.5])


def _saddle(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A matrix with one negative eigenvalue and a gradient: −g has positive curvature, and the
    solution of H p = −g leads uphill.
    """
    while True:
        h = _with_eigenvalues(rng, [*rng.uniform(2, 6, size=n - 1), -1.0])
        g = draw(rng, n)
        if g @ h @ g > 0.1 * (g @ g) and g @ np.linalg.solve(h, g) < -0.1:
            return h, g


def _needed(h: np.ndarray, g: np.ndarray, tolerance: float) -> int:
    """So many products of conjugate gradients reach the tolerance: the best p in the space of
    g, H g, H² g, … for the model, by least squares over a basis of it.
    """
    column = g.ravel()
    basis = (column / np.linalg.norm(column))[:, None]
    for k in range(1, g.size + 1):
        p = basis @ np.linalg.solve(basis.T @ h @ basis, -(basis.T @ column))
        if np.linalg.norm(h @ p + column) <= tolerance * np.linalg.norm(column):
            return k
        basis = np.linalg.qr(np.hstack([basis, (h @ basis[:, -1])[:, None]]))[0]
    return int(g.size)


def _is_direction(case: Case, got: Any) -> str:
    """Why a direction is not right."""
    h, g, tolerance = case.args.values()
    if type(got) is not dict:
        return "there is no direction."
    p = got["p"]
    if np.shape(p) != g.shape:
        return f"p has not the shape of the gradient, {g.shape}."
    if not np.any(g):
        return "where the gradient is 0, p should be 0 as well." if np.any(p) else ""
    slope = _dot(g, p)
    if slope >= 0:
        how = "goes uphill" if slope > 0 else "leads nowhere"
        return f"g·p = {slope:.3g}, so this direction {how}; g·p must be negative."
    if np.linalg.eigvalsh(h)[0] <= 0:
        return ""
    left = float(np.linalg.norm(h @ p + g) / np.linalg.norm(g))
    if left > tolerance * 1.001:
        return f"|H p + g| = {left:.2g} |g|, which is above the tolerance, {tolerance:.2g}."
    if got["products"] > (enough := _needed(h, g, tolerance)):
        return (
            f"you ask for {got['products']} products, where {enough} reach the tolerance of"
            f" {tolerance:.2g}."
        )
    return ""


def _directed(
    start: float = -1.0,
    small: Callable[[float, float, float], bool] = lambda left, g, tol: left <= tol * g,
    bent: Callable[[float], bool] = lambda curvature: curvature <= 0,
    caught: Callable[[Any, Any], Any] = lambda p, d: p if np.any(p) else d,
    twice: bool = False,
    most: float = math.inf,
) -> Callable[..., Any]:
    """newton_direction with one of its pieces written otherwise."""

    def newton_direction(product: Any, gradient: Any, tolerance: float) -> Any:
        p, r, steps = np.zeros(gradient.shape), start * gradient, 0
        d = r
        size = float(np.linalg.norm(gradient))
        while not small(float(np.linalg.norm(r)), size, tolerance) and steps < most:
            hd = product(d)
            if twice:
                product(d)
            if bent(_dot(d, hd)):
                return caught(p, d)
            p, r, d = _step_but()(p, r, d, hd)
            steps += 1
        return p

    return newton_direction


def _exact(product: Any, gradient: Any, tolerance: float) -> Any:
    """All columns of H, and then a linear system."""
    columns = [product(unit).ravel() for unit in _units(gradient.shape)]
    return -np.linalg.solve(np.array(columns), gradient.ravel()).reshape(gradient.shape)


DIRECTIONS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    (
        "uphill",
        "p has the wrong sign: the system is H p = −g, so r begins with the negative gradient.",
        _directed(start=1.0),
    ),
    (
        "no test of curvature",
        "you do not test the curvature. Where d·Hd is not positive, the formula for the length of"
        " the step takes you up, or divides by 0.",
        _directed(bent=lambda curvature: False),
    ),
    (
        "the test reversed",
        "you stop where the curvature is positive; stop where it is not.",
        _directed(bent=lambda curvature: curvature > 0),
    ),
    (
        "p alone",
        "if already the first direction has no positive curvature, p is still 0: return d then.",
        _directed(caught=lambda p, d: p),
    ),
    (
        "an absolute tolerance",
        "you compare |r| with the tolerance itself; it is meant relative to the gradient:"
        " tolerance · |g|.",
        _directed(small=lambda left, g, tol: left <= tol),
    ),
    (
        "a square too much",
        "you compare r·r with tolerance · g·g; the tolerance is for the norms, so it must be"
        " squared as well.",
        _directed(small=lambda left, g, tol: left**2 <= tol * g**2),
    ),
    (
        "to the end",
        "you do not stop at the tolerance, but go on until nothing is left.",
        _directed(small=lambda left, g, tol: left <= 1e-10 * g),
    ),
    (
        "one step",
        "you stop after one step.",
        _directed(most=1),
    ),
    (
        "twice",
        "you compute each product twice; keep it, for it is dear.",
        _directed(twice=True),
    ),
    (
        "the whole matrix",
        "you build all of H, with a product for each column. Take steps of conjugate gradients, and"
        " stop at the tolerance.",
        _exact,
    ),
    (
        "the negative gradient",
        "you return the negative gradient: that is gradient descent.",
        lambda product, gradient, tolerance: -gradient,
    ),
)

DIRECTION = told_by(
    _is_direction,
    "newton_direction",
    {"a bowl": 1, "tolerance": 1, "negative curvature": 2},
    _direction_cases,
    drive=f"{DRIVE}:directed",
    present=lambda case: (
        f"newton_direction(product, g, {case.args['tolerance']:g}) with"
        f" {case.args['gradient'].size} unknowns, eigenvalues of H from"
        f" {np.linalg.eigvalsh(case.args['matrix'])[0]:.2g} to"
        f" {np.linalg.eigvalsh(case.args['matrix'])[-1]:.2g}"
    ),
    checked=(
        "It was tried with your `cg_step`, whose own check must pass first. g·p < 0; where all"
        " curvatures are positive, |H p + g| ≤ tolerance · |g|, with no more products than that"
        " takes."
    ),
    hints=(
        "The loop of the cell above, with r = d = −g at the start, and with two reasons to stop.",
        "While |r| > tolerance · |g|: one product, the test of the curvature, and then `cg_step`"
        " with the product that you have already.",
        "Hd = product(d); if np.sum(d * Hd) <= 0: return p if np.any(p) else d; then"
        " p, r, d = cg_step(p, r, d, Hd).",
    ),
    misconceptions=tuple(
        _mistake(
            "",
            name,
            say,
            lambda case, wrong=wrong: drive18.directed({"": wrong}, "", *case.args.values()),
        )
        for name, say, wrong in DIRECTIONS
    ),
)

# ------------------------------------------------------------------------------------- Gauss-Newton


def _residual_cases(rng: np.random.Generator) -> Iterator[Case]:
    for x, rows in _maps(rng):
        group = "matrices" if x.ndim == 2 else "vectors"
        given = {"x": x, "rows": rows, "moved": draw(rng, *x.shape)}
        yield Case.of(group, given, call="gauss_newton", size=10.0 * len(rows) + x.size)


def _is_gauss_newton(case: Case, got: Any) -> str:
    """Why Jᵀ J ẋ is not right: ⟨w, Jᵀ J ẋ⟩ = ⟨J w, J ẋ⟩ for each unit w."""
    f, x, v = function_of(case), case.args["x"], case.args["moved"]
    if type(got) is list:
        return "`gauss_newton` should return one array, Jᵀ J ẋ."
    along = _pushed(f, x, v)
    right = _tested(lambda unit: float(np.sum(_pushed(f, x, unit) * along)), x.shape)
    return same(right, got, 1e-8, 1e-9, "Jᵀ J ẋ")


def _twice(case: Case, product: Callable[[Any], Any], factor: float = 1.0) -> Any:
    """Jᵀ applied to what product(v) gives."""
    f, x = function_of(case), case.args["x"]
    return factor * _pulled(f, x, product(case.args["moved"]))


def _as_seed(case: Case, v: Any) -> Any:
    """The direction v in the place of a seed: what y · v, added up, makes of it."""
    shape = function_of(case)(_tensor(case.args["x"])).shape
    return np.sum(v) if shape == () else np.broadcast_to(v, shape)


NORMAL: tuple[tuple[str, str, Callable[[Case], Any]], ...] = (
    (
        "the Hessian",
        "you return the product with the whole Hessian of ½|r|². Gauss-Newton leaves out the"
        " second derivatives of r: Jᵀ(J ẋ) alone.",
        lambda case: _hessian_times(
            case, lambda x: (function_of(case)(x) ** 2).sum() / 2, case.args["moved"]
        ),
    ),
    (
        "forward alone",
        "you return J ẋ; pull it back with Jᵀ.",
        lambda case: _pushed(function_of(case), case.args["x"], case.args["moved"]),
    ),
    (
        "back alone",
        "you return Jᵀ ẋ. First forward, J ẋ; then back.",
        lambda case: _twice(case, lambda v: _as_seed(case, v)),
    ),
    (
        "forward twice",
        "you multiply by J twice; the second product is with Jᵀ.",
        lambda case: _pushed(
            function_of(case),
            case.args["x"],
            _pushed(function_of(case), case.args["x"], case.args["moved"]),
        ),
    ),
    (
        "the gradient",
        "you return Jᵀ r, the gradient of ½|r|², which does not depend on ẋ.",
        lambda case: _twice(
            case, lambda v: function_of(case)(_tensor(case.args["x"])).detach().numpy()
        ),
    ),
    (
        "factor two",
        "you return twice the product: the 2 of the square is cancelled by the ½.",
        lambda case: _twice(case, lambda v: _pushed(function_of(case), case.args["x"], v), 2.0),
    ),
    (
        "ẋ left out",
        "you leave out `dx`: J is multiplied by ones.",
        lambda case: _twice(
            case, lambda v: _pushed(function_of(case), case.args["x"], np.ones(np.shape(v)))
        ),
    ),
    (
        "x for ẋ",
        "you push x instead of `dx`.",
        lambda case: _twice(
            case, lambda v: _pushed(function_of(case), case.args["x"], case.args["x"])
        ),
    ),
    (
        "reversed",
        "the sign is reversed.",
        lambda case: _twice(case, lambda v: _pushed(function_of(case), case.args["x"], v), -1.0),
    ),
    (
        "one number",
        "you return ẋ·(Jᵀ J ẋ) = |J ẋ|², one number; return the array Jᵀ J ẋ.",
        lambda case: np.asarray(
            np.sum(_pushed(function_of(case), case.args["x"], case.args["moved"]) ** 2)
        ),
    ),
)

GAUSS_NEWTON = told_by(
    _is_gauss_newton,
    "gauss_newton",
    {"vectors": 1, "matrices": 1},
    _residual_cases,
    drive=f"{ENGINE}:product",
    forbid=(DERIVATIVES,),
    present=lambda case: (
        f"gauss_newton(r, x, dx), r being {formula({'inputs': {}, 'rows': case.args['rows']})}"
    ),
    checked="⟨w, Jᵀ J ẋ⟩ = ⟨J w, J ẋ⟩ was tested with each unit w, by minigrad's forward mode.",
    hints=(
        "Two products, and you have written both.",
        "First J ẋ, by forward mode; what comes out is the seed of the reverse pass.",
        "vjp(r, x, jvp(r, x, dx))",
    ),
    misconceptions=tuple(_mistake("", *row) for row in NORMAL),
)

# -------------------------------------------------------------------------------------- predictions


def _tangent_of_adjoint() -> float:
    """The tangent of ū in the lesson's sweep, where a moves with speed 1."""
    sweep = lambda a, b: 200 * (b - a * a)
    at, seed = (_tensor(-1.2), _tensor(1.0)), (_tensor(1.0), _tensor(0.0))
    return float(mg.func.jvp(sweep, at, seed)[1].item())


def _with_tangent(n: int = 4) -> float:
    """How many times as many multiplications a product of matrices takes with tangents."""
    a = mg.ones(n, n, dtype=mg.float64)
    counted = mg.count_operations(lambda a, b: a @ b, a, a, mode="jvp")
    return (counted.forward.mul + counted.derivative.mul) / counted.forward.mul


def steps_to_solve(values: Sequence[float], n: int) -> int:
    """Steps of conjugate gradients until nothing is left: n unknowns, a diagonal matrix that has
    these numbers in turn.
    """
    diagonal, b = np.resize(np.asarray(values, dtype=float), n), np.linspace(1, 2, n)
    x, r, steps = np.zeros(n), b, 0
    d = r
    while np.linalg.norm(r) > 1e-9 * np.linalg.norm(b):
        x, r, d = _step_but()(x, r, d, diagonal * d)
        steps += 1
    return steps


PREDICTIONS = (
    Number(
        "adjoint-tangent",
        "Prediction: the tangent of an adjoint",
        variable="tangent_of_u_bar",
        answer=_tangent_of_adjoint,
        because="u̇ = ḃ − 2aȧ = 2.4, and ū = 200 u moves 200 times as fast.",
        slips=(
            ("That is the tangent of u; ū is 200 times u.", lambda: 2.4),
            ("The sign: a is negative, so −2 a ȧ is positive.", lambda: -480.0),
            ("That is the value of ū. How fast does it change?", lambda: 200 * (1 - 1.44)),
            ("b does not move here: its tangent is 0.", lambda: 200 * (2.4 + 1)),
            ("b does not move here, and a moves: the seed is (1, 0).", lambda: 200.0),
        ),
        hints=("First u̇, the tangent of u = b − a².", "u̇ = ḃ − 2 a ȧ, and then times 200."),
        tolerance=1e-6,
    ),
    Exact(
        "price-of-tangents",
        "Prediction: what tangents cost",
        variable="times_as_many",
        answer=_with_tangent,
        because="Beside AB there are ȦB and AḂ: three products in the place of one.",
        slips=(
            ("A product has two factors, and both move: the tangent has two terms.", lambda: 2.0),
            ("That is the square; tangents add terms, they do not multiply them.", lambda: 4.0),
            ("The value costs one; what does the tangent cost?", lambda: 1.0),
        ),
        hints=(
            "Write down the tangent of AB.",
            "AB is still needed, and then there are two terms.",
        ),
    ),
    Exact(
        "cg-steps",
        "Prediction: steps of conjugate gradients",
        variable="steps",
        answer=lambda: float(steps_to_solve((1.0, 10.0, 50.0), 1000)),
        because="One step for each *different* eigenvalue, however many unknowns there are.",
        slips=(
            (
                "That is the bound for any matrix with 1000 unknowns. This one has few different"
                " eigenvalues.",
                lambda: 1000.0,
            ),
            ("One step for each eigenvalue that is different from the others.", lambda: 1.0),
            ("That is the ratio of the largest and the smallest eigenvalue.", lambda: 50.0),
        ),
        hints=(
            "With one eigenvalue, A is a multiple of the identity: then the first step arrives.",
            "With two different ones, as in the picture, it takes two steps.",
        ),
    ),
)

TITLES = {
    "both_products": "Exercise 1 · A product for each mode",
    "cg_step": "Exercise 2 · One step of conjugate gradients",
    "newton_direction": "Exercise 3 · A direction that goes down",
    "gauss_newton": "Exercise 4 · Forward, then back",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
