"""Wrong answers to the exercises of lesson 16, each with a phrase that the check must say."""

from itertools import pairwise

import numpy as np

from .answers import one


def both(sandwich, gram):
    return (sandwich, gram)


def sandwich(a, x, b, g):
    return a.T @ g @ b.T


def gram(x, g):
    return x @ (g + g.T)


def by_loops(x, g):
    """As `gram`, but only the upper half of g is read."""
    found = np.zeros(x.shape)
    for i in range(x.shape[1]):
        for j in range(i, x.shape[1]):
            found[:, i] += g[i, j] * x[:, j]
            found[:, j] += g[i, j] * x[:, i]
    return found


inv, solve = np.linalg.inv, np.linalg.solve
PRODUCTS = {
    "not transposed": (both(lambda a, x, b, g: a @ g @ b, gram), "is transposed"),
    "sides swapped": (both(lambda a, x, b, g: b.T @ g @ a.T, gram), "on the wrong sides"),
    "A alone": (both(lambda a, x, b, g: a.T @ g, gram), "leave out B"),
    "B alone": (both(lambda a, x, b, g: g @ b.T, gram), "leave out A"),
    "A transposed": (both(lambda a, x, b, g: a.T @ g @ b, gram), "only A is transposed"),
    "B transposed": (both(lambda a, x, b, g: a @ g @ b.T, gram), "only B is transposed"),
    "no g": (both(lambda a, x, b, g: a.T @ np.ones(g.shape) @ b.T, gram), "left out `g`"),
    "the transpose": (both(lambda a, x, b, g: (a.T @ g @ b.T).T, gram), "is the transpose"),
    "a sign": (both(lambda a, x, b, g: -sandwich(a, x, b, g), gram), "sign is reversed"),
    "elementwise": (both(lambda a, x, b, g: g * (a @ x @ b), gram), "linear in X"),
    "twice": (both(sandwich, lambda x, g: 2 * x @ g), "symmetric Ȳ only"),
    "one place": (both(sandwich, lambda x, g: x @ g), "X on the right"),
    "the other place": (both(sandwich, lambda x, g: x @ g.T), "X on the left"),
    "gram, no g": (both(sandwich, lambda x, g: 2 * x @ np.ones(g.shape)), "left out `g`"),
    "gram, the transpose": (both(sandwich, lambda x, g: gram(x, g).T), "is the transpose"),
    "gram, the mean": (both(sandwich, lambda x, g: gram(x, g) / 2), "they are added"),
    "gram, a sign": (both(sandwich, lambda x, g: -gram(x, g)), "sign is reversed"),
    "gram, a difference": (both(sandwich, lambda x, g: x @ (g - g.T)), "both are added"),
    "as for numbers": (both(sandwich, lambda x, g: 2 * x), "for numbers"),
    "half of g": (both(sandwich, by_loops), "upper half"),
}


def pulled(to_b=lambda a, b, y, g: solve(a.T, g), to_a=lambda a, b, y, g, sent: -sent @ y.T):
    def pull_solve(a, b, y, g):
        sent = to_b(a, b, y, g)
        return to_a(a, b, y, g, sent), sent

    return one(pull_solve)


SOLVES = {
    "with A": (pulled(to_b=lambda a, b, y, g: solve(a, g)), "the matrix is Aᵀ"),
    "times Aᵀ": (pulled(to_b=lambda a, b, y, g: a.T @ g), "multiply by Aᵀ"),
    "passed on": (pulled(to_b=lambda a, b, y, g: g), "solve with Aᵀ first"),
    "no minus": (pulled(to_a=lambda a, b, y, g, sent: sent @ y.T), "has a minus"),
    "g": (pulled(to_a=lambda a, b, y, g, sent: -g @ y.T), "already solved"),
    "b": (pulled(to_a=lambda a, b, y, g, sent: -sent @ b.T), "multiplied by Y"),
    "transposed": (pulled(to_a=lambda a, b, y, g, sent: (-sent @ y.T).T), "is transposed"),
    "constant": (pulled(to_a=lambda a, b, y, g, sent: 0 * a), "A moves too"),
    "swapped": (
        one(lambda a, b, y, g: (solve(a.T, g), -solve(a.T, g) @ y.T)),
        "that of A comes first",
    ),
    "no g": (pulled(to_b=lambda a, b, y, g: solve(a.T, np.ones(g.shape))), "left out `g`"),
    "the inverse's": (
        pulled(to_a=lambda a, b, y, g, sent: -inv(a).T @ g @ inv(a).T),
        "rule of the inverse",
    ),
    "b alone": (one(lambda a, b, y, g: solve(a.T, g)), "2 adjoints"),
    "the other product": (pulled(to_a=lambda a, b, y, g, sent: -sent.T @ y), "has the shape"),
}
LOGDETS = {
    "not transposed": (one(lambda a, g: g * inv(a)), "transposes it"),
    "no g": (one(lambda a, g: inv(a).T), "left out `g`"),
    "the determinant's": (one(lambda a, g: g * np.linalg.det(a) * inv(a).T), "rule of det A"),
    "elementwise": (one(lambda a, g: g / a), "as for the logarithm of a number"),
    "not inverted": (one(lambda a, g: g * a.T), "without inverting"),
    "a sign": (one(lambda a, g: -g * inv(a).T), "sign is reversed"),
    "the trace": (one(lambda a, g: g * np.trace(inv(a)) * np.eye(len(a))), "multiple of the"),
    "the diagonal": (one(lambda a, g: g * np.diag(1 / np.diag(a))), "diagonal alone"),
    "over det": (one(lambda a, g: g * inv(a).T / np.linalg.det(a)), "once too often"),
    "the value": (one(lambda a, g: g * np.log(abs(np.linalg.det(a))) + 0 * a), "the value"),
}


def swept(start=None, onward=None, outer=None, slope=lambda a: 1 - a**2):
    start = start or (lambda g, a: g * slope(a))
    onward = onward or (lambda w, d, a: (w.T @ d) * slope(a))
    outer = outer or (lambda d, a: d @ a.T)

    def backprop(weights, values, g):
        delta, found = start(g, values[-1]), []
        for i in reversed(range(len(weights))):
            found.insert(0, outer(delta, values[i]))
            delta = onward(weights[i], delta, values[i])
        return found

    return one(backprop)


def late(weights, values, g):
    """σ′ of the layer above on the way down."""
    delta, found = g * (1 - values[-1] ** 2), []
    for i in reversed(range(len(weights))):
        found.insert(0, delta @ values[i].T)
        delta = weights[i].T @ ((1 - values[i + 1] ** 2) * delta)
    return found


def own_values(weights, values, g):
    """δ times the values of its own layer, brought into the shape of the weight where it fits."""
    delta, found = g * (1 - values[-1] ** 2), []
    for i in reversed(range(len(weights))):
        found.insert(0, delta @ values[i + 1].T)
        delta = (weights[i].T @ delta) * (1 - values[i] ** 2)
    return found


BACKPROPS = {
    "no slope": (swept(slope=lambda a: 1.0), "missing everywhere"),
    "no slope at the end": (swept(start=lambda g, a: g), "of the last layer is missing"),
    "no slope on the way": (swept(onward=lambda w, d, a: w.T @ d), "missing on the way down"),
    "the slope above": (one(late), "of the layer above"),
    "logistic": (swept(slope=lambda a: a * (1 - a)), "of the logistic function"),
    "the slope at a": (swept(slope=lambda a: 1 / np.cosh(a) ** 2), "the value after tanh"),
    "one delta": (swept(onward=lambda w, d, a: d), "all layers use the last δ"),
    "outer, transposed": (swept(outer=lambda d, a: a @ d.T), "has the shape of W"),
    "the mean": (swept(outer=lambda d, a: d @ a.T / d.shape[1]), "size of the batch"),
    "the last first": (
        one(lambda weights, values, g: swept()[0](weights, values, g)[::-1]),
        "weights[0] comes first",
    ),
    "a sign": (swept(outer=lambda d, a: -d @ a.T), "sign is reversed"),
    "no g": (swept(start=lambda g, a: 1 - a**2), "begin with ones"),
    "its own values": (one(own_values), "of its own layer"),
    "the last weight alone": (
        one(lambda weights, values, g: swept()[0](weights, values, g)[-1:]),
        "adjoints",
    ),
}


def layer_products(sizes, batch):
    return [batch * n * m for n, m in pairwise(sizes)]


def cost(of):
    return one(lambda sizes, batch: of(layer_products(sizes, batch)))


COSTS = {
    "three times": (cost(lambda p: 3 * sum(p)), "the adjoint of the data"),
    "twice": (cost(lambda p: 2 * sum(p)), "There are two"),
    "forward": (cost(lambda p: sum(p)), "the forward pass alone"),
    "backward": (cost(lambda p: 2 * sum(p) - p[0]), "the backward pass alone"),
    "one example": (
        one(lambda sizes, batch: cost(lambda p: 3 * sum(p) - p[0])[0](sizes, 1)),
        "as many columns as the batch",
    ),
    "the last layer": (cost(lambda p: 3 * sum(p) - p[-1]), "the data whose adjoint"),
    "two fewer": (cost(lambda p: 3 * sum(p) - 2 * p[0]), "you count one"),
    "sizes added": (
        one(lambda s, k: 3 * k * sum(n + m for n, m in pairwise(s))),
        "you add the sizes",
    ),
    "additions too": (cost(lambda p: 2 * (3 * sum(p) - p[0])), "additions as well"),
}

WRONG = {
    "matrix_products": PRODUCTS,
    "pull_solve": SOLVES,
    "pull_logdet": LOGDETS,
    "backprop": BACKPROPS,
    "training_cost": COSTS,
}
