"""Wrong answers to the exercises of lesson 18, each with a phrase that the check must say. They use
the engine that the course lends.
"""

import numpy as np
from minigrad.lessons.exercises.own_engine import (
    Dual,
    Tensor,
    gradients,
    hvp,
    topological_order,
)

from .answers import one


def jvp(f, x, dx):
    return f(Dual(Tensor(x), Tensor(dx))).tangent.value


def value_of(f, x):
    point = Tensor(x)
    return f(Dual(point, Tensor(np.zeros(np.shape(x))))).value, point


def vjp(f, x, g):
    y, point = value_of(f, x)
    return gradients(topological_order((y * Tensor(g)).sum()), [point])[0]


def pulled(number):
    """vjp from a number of y and g; number(y, g) is a Tensor."""

    def vjp(f, x, g):
        y, point = value_of(f, x)
        return gradients(topological_order(number(y, g)), [point])[0]

    return jvp, vjp


def another_point(f, x, g):
    y, _ = value_of(f, x)
    (found,) = gradients(topological_order((y * Tensor(g)).sum()), [Tensor(x)])
    return np.zeros(np.shape(x)) + found


def pushed(function):
    return function, vjp


def difference(f, x, dx, h=1e-6):
    return (value_of(f, x + h * dx)[0].value - value_of(f, x)[0].value) / h


PRODUCTS = {
    "the value": (
        pushed(lambda f, x, dx: f(Dual(Tensor(x), Tensor(dx))).value.value),
        "the product is the *tangent*",
    ),
    "ones": (pushed(lambda f, x, dx: jvp(f, x, np.ones(np.shape(x)))), "tangent of ones"),
    "x": (pushed(lambda f, x, dx: jvp(f, x, x)), "starts with x for the tangent"),
    "exchanged": (pushed(lambda f, x, dx: jvp(f, dx, x)), "in the wrong places"),
    "f of dx": (pushed(lambda f, x, dx: value_of(f, dx)[0].value), "applies f to the direction"),
    "moved": (pushed(lambda f, x, dx: value_of(f, x + dx)[0].value), "returns f(x + dx)"),
    "no seed": (pushed(lambda f, x, dx: jvp(f, x, 0 * x)), "0 everywhere"),
    "reverse": (
        pushed(lambda f, x, dx: pulled(lambda y, g: y.sum())[1](f, x, dx)),
        "runs reverse mode",
    ),
    "a sign": (pushed(lambda f, x, dx: -jvp(f, x, dx)), "has the sign reversed"),
    "a difference": (pushed(difference), "a few digits only"),
    "a pair": (
        pushed(lambda f, x, dx: (value_of(f, x)[0].value, jvp(f, x, dx))),
        "should return one array",
    ),
    "vjp: g left out": (pulled(lambda y, g: y.sum()), "begins with ones"),
    "vjp: forward": ((jvp, lambda f, x, g: jvp(f, x, g)), "forward mode"),
    "vjp: the sum of g": (pulled(lambda y, g: y.sum() * Tensor(np.sum(g))), "sum of `g`"),
    "vjp: another point": ((jvp, another_point), "the very Tensor"),
    "vjp: of the tangent": (
        (jvp, lambda f, x, g: hvp(lambda point: f(point).sum(), x, g + 0 * x)),
        "differentiates the tangent",
    ),
    "vjp: a sign": ((jvp, lambda f, x, g: -vjp(f, x, g)), "has the sign reversed"),
    "vjp: times x": ((jvp, lambda f, x, g: x * vjp(f, x, g)), "multiplies the result by x"),
    "vjp: the seed": (
        (jvp, lambda f, x, g: np.sum(value_of(f, x)[0].value * g)),
        "the sum of y · g itself",
    ),
    "vjp: a list": ((jvp, lambda f, x, g: [vjp(f, x, g)]), "should return one array"),
}


def dot(p, q):
    return np.sum(p * q)


def cg_step(x, r, d, Ad):
    t = dot(r, r) / dot(d, Ad)
    new = r - t * Ad
    return x + t * d, new, new + dot(new, new) / dot(r, r) * d


def stepped(
    t=lambda r, d, Ad: dot(r, r) / dot(d, Ad),
    k=lambda new, r: dot(new, new) / dot(r, r),
    end=lambda x, r, d, t, new, k, Ad: (x + t * d, new, new + k * d),
    new=lambda r, t, d, Ad: r - t * Ad,
):
    def cg_step(x, r, d, Ad):
        far = t(r, d, Ad)
        left = new(r, far, d, Ad)
        return end(x, r, d, far, left, k(left, r), Ad)

    return one(cg_step)


def in_place(x, r, d, Ad):
    before = dot(r, r)
    t = before / dot(d, Ad)
    x += t * d
    r -= t * Ad
    d = r + dot(r, r) / before * d
    return x, r, d


norm = np.linalg.norm
STEPS = {
    "no memory": (stepped(k=lambda new, r: 0.0), "gradient descent with the best step length"),
    "the old d": (
        stepped(end=lambda x, r, d, t, new, k, Ad: (x + t * d, new, d)),
        "is the old one",
    ),
    "length one": (stepped(t=lambda r, d, Ad: 1.0), "moves by d itself"),
    "upside down": (stepped(t=lambda r, d, Ad: dot(d, Ad) / dot(r, r)), "is upside down: r·r"),
    "d·d": (stepped(t=lambda r, d, Ad: dot(d, d) / dot(d, Ad)), "has d·d for r·r"),
    "no A": (stepped(t=lambda r, d, Ad: dot(r, r) / dot(d, d)), "leaves out A"),
    "norms": (
        stepped(t=lambda r, d, Ad: norm(r) / np.sqrt(dot(d, Ad)), k=lambda n, r: norm(n) / norm(r)),
        "have no root",
    ),
    "a norm": (stepped(k=lambda new, r: norm(new) / norm(r)), "without a root"),
    "x back": (
        stepped(end=lambda x, r, d, t, new, k, Ad: (x - t * d, new, new + k * d)),
        "moves against d",
    ),
    "r grows": (stepped(new=lambda r, t, d, Ad: r + t * Ad), "it gets smaller: a minus"),
    "r by d": (stepped(new=lambda r, t, d, Ad: r - t * d), "grows by length · Ad"),
    "r stays": (stepped(new=lambda r, t, d, Ad: r), "stays as it was"),
    "factor upside down": (stepped(k=lambda new, r: dot(r, r) / dot(new, new)), "old d is upside"),
    "factor one": (stepped(k=lambda new, r: 1.0), "added as it is"),
    "a minus": (
        stepped(end=lambda x, r, d, t, new, k, Ad: (x + t * d, new, new - k * d)),
        "it is added",
    ),
    "the old r": (
        stepped(end=lambda x, r, d, t, new, k, Ad: (x + t * d, new, r + k * d)),
        "begins with the new one",
    ),
    "an old r": (
        stepped(end=lambda x, r, d, t, new, k, Ad: (x + t * d, new, new + k * r)),
        "multiple of the old r",
    ),
    "in place": (one(in_place), "`cg_step` changed its argument `x` in place"),
    "another order": (
        stepped(end=lambda x, r, d, t, new, k, Ad: (x + t * d, new + k * d, new)),
        "The order is x, r, d",
    ),
    "two of three": (
        stepped(end=lambda x, r, d, t, new, k, Ad: (x + t * d, new)),
        "three arrays: x, r, d",
    ),
    "half a step": (stepped(t=lambda r, d, Ad: dot(r, r) / dot(d, Ad) / 2), "it was too short"),
}


def newton_direction(product, gradient, tolerance):
    p, r = np.zeros(gradient.shape), -gradient
    d = r
    while norm(r) > tolerance * norm(gradient):
        Hd = product(d)
        if dot(d, Hd) <= 0:
            return p if np.any(p) else d
        p, r, d = cg_step(p, r, d, Hd)
    return p


def directed(
    start=-1.0,
    goes_on=lambda r, g, tol: norm(r) > tol * norm(g),
    stops=lambda curvature: curvature <= 0,
    found=lambda p, d: p if np.any(p) else d,
    again=1,
    most=10**9,
):
    def newton_direction(product, gradient, tolerance):
        p, r, steps = 0 * gradient, start * gradient, 0
        d = r
        while goes_on(r, gradient, tolerance) and steps < most:
            for _ in range(again):
                Hd = product(d)
            if stops(dot(d, Hd)):
                return found(p, d)
            p, r, d = cg_step(p, r, d, Hd)
            steps += 1
        return p

    return one(newton_direction)


def whole_matrix(product, gradient, tolerance):
    n = gradient.size
    columns = [product(unit.reshape(gradient.shape)).ravel() for unit in np.eye(n)]
    return np.linalg.solve(np.array(columns), -gradient.ravel()).reshape(gradient.shape)


DIRECTIONS = {
    "uphill": (directed(start=1.0), "p has the wrong sign"),
    "no test": (directed(stops=lambda curvature: False), "do not test the curvature"),
    "below 0": (directed(stops=lambda curvature: curvature < 0), "ruled out before each step"),
    "the test reversed": (directed(stops=lambda curvature: curvature > 0), "stop where it is not"),
    "p alone": (directed(found=lambda p, d: p), "p is still 0"),
    "absolute": (directed(goes_on=lambda r, g, tol: norm(r) > tol), "relative to the gradient"),
    "a square": (
        directed(goes_on=lambda r, g, tol: dot(r, r) > tol * dot(g, g)),
        "must be squared as well",
    ),
    "to the end": (
        directed(goes_on=lambda r, g, tol: norm(r) > 1e-10 * norm(g)),
        "go on until nothing is left",
    ),
    "one step": (directed(most=1), "after one step"),
    "twice": (directed(again=2), "compute each product twice"),
    "the matrix": (one(whole_matrix), "build all of H"),
    "descent": (one(lambda product, gradient, tolerance: -gradient), "that is gradient descent"),
    "never ends": (directed(goes_on=lambda r, g, tol: True, stops=lambda c: c < 0), "not"),
    "a number": (one(lambda product, gradient, tolerance: -dot(gradient, gradient)), "the shape"),
}


def half_a_square(r):
    def f(point):
        y = r(point)
        return (Dual(Tensor(0.5), Tensor(0.0)) * (y * y)).sum()

    return f


NORMAL = {
    "the Hessian": (one(lambda r, x, v: hvp(half_a_square(r), x, v)), "second derivatives of r"),
    "J v": (one(lambda r, x, v: jvp(r, x, v)), "pull it back"),
    "Jᵀ v": (one(lambda r, x, v: vjp(r, x, v)), "First forward"),
    "J J v": (one(lambda r, x, v: jvp(r, x, jvp(r, x, v))), ""),
    "the gradient": (one(lambda r, x, v: vjp(r, x, value_of(r, x)[0].value)), "does not depend on"),
    "twice": (one(lambda r, x, v: 2 * vjp(r, x, jvp(r, x, v))), "twice the product"),
    "ones": (one(lambda r, x, v: vjp(r, x, jvp(r, x, np.ones(np.shape(v))))), "leave out `dx`"),
    "x": (one(lambda r, x, v: vjp(r, x, jvp(r, x, x))), "x instead of `dx`"),
    "a sign": (one(lambda r, x, v: -vjp(r, x, jvp(r, x, v))), "sign is reversed"),
    "a number": (one(lambda r, x, v: np.sum(v * vjp(r, x, jvp(r, x, v)))), "one number"),
    "a pair": (one(lambda r, x, v: (jvp(r, x, v), vjp(r, x, jvp(r, x, v)))), "one array"),
}

WRONG = {
    "both_products": PRODUCTS,
    "cg_step": STEPS,
    "newton_direction": DIRECTIONS,
    "gauss_newton": NORMAL,
}
