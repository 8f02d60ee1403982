"""Wrong answers to the exercises of lesson 19, each with a phrase that the check must say."""

import numpy as np

from .answers import one
from .own_engine_answers import table

sin, cos, solve = np.sin, np.cos, np.linalg.solve


def kepler(to_m=lambda p, e: 1.0, to_e=lambda p, e: sin(p), below=lambda p, e: 1 - e * cos(p)):
    def pull_kepler(E, e, g):
        return g * to_m(E, e) / below(E, e), g * to_e(E, e) / below(E, e)

    return one(pull_kepler)


right = kepler()[0]
KEPLERS = {
    "E held fixed": (kepler(below=lambda p, e: 1.0), "hold E fixed"),
    "plus": (kepler(below=lambda p, e: 1 + e * cos(p)), "changes sides"),
    "multiplied": (kepler(below=lambda p, e: 1 / (1 - e * cos(p))), "divided by it"),
    "two rounds": (kepler(below=lambda p, e: 1 / (1 + e * cos(p))), "two rounds"),
    "no sine": (kepler(to_e=lambda p, e: 1.0), "lacks the factor sin E"),
    "the whole term": (kepler(to_e=lambda p, e: e * sin(p)), "e sin E"),
    "cosine": (kepler(to_e=lambda p, e: cos(p)), "sin E itself"),
    "sine below": (kepler(below=lambda p, e: 1 - e * sin(p)), "derivative of sin E is cos E"),
    "e forgotten": (kepler(below=lambda p, e: 1 - cos(p)), "the factor e is missing"),
    "a sign": (kepler(to_e=lambda p, e: -sin(p)), "of the adjoint of e is reversed"),
    "no g": (one(lambda E, e, g: right(E, e, 1.0 + 0 * g)), "left out `g`"),
    "swapped": (one(lambda E, e, g: right(E, e, g)[::-1]), "that of M comes first"),
    "divided twice": (kepler(to_e=lambda p, e: sin(p) / (1 - e * cos(p))), "is there once"),
    "M alone": (one(lambda E, e, g: g / (1 - e * cos(E))), "2 adjoints"),
    "added up": (one(lambda E, e, g: tuple(map(np.sum, right(E, e, g)))), "should have the shape"),
}


def root(of):
    return one(lambda Jz, Ja, g: of(Jz, Ja, g))


ROOTS = {
    "no minus": (root(lambda z, a, g: a.T @ solve(z.T, g)), "the minus is missing"),
    "Jz as it is": (root(lambda z, a, g: -a.T @ solve(z, g)), "you solve with J_z"),
    "Ja as it is": (root(lambda z, a, g: -a @ solve(z.T, g)), "you multiply by J_a"),
    "both as they are": (root(lambda z, a, g: -a @ solve(z, g)), "neither matrix"),
    "forward": (root(lambda z, a, g: -solve(z, a) @ g), "multiply dz/da"),
    "multiplied": (root(lambda z, a, g: -a.T @ z.T @ g), "a system to be solved"),
    "z held fixed": (root(lambda z, a, g: -a.T @ g), "leave J_z out"),
    "a fixed point's": (
        root(lambda z, a, g: -a.T @ solve((np.eye(len(g)) - z).T, g)), "belongs to z = f(z, a)"),
    "no g": (root(lambda z, a, g: -a.T @ solve(z.T, np.ones(g.shape))), "left out `g`"),
    "the system alone": (root(lambda z, a, g: solve(z.T, g)), "not yet multiplied"),
    "exchanged": (root(lambda z, a, g: -z.T @ solve(a.T, g)), "are exchanged"),
    "a matrix": (root(lambda z, a, g: -a.T @ solve(z.T, np.diag(g))), "shape"),
}  # fmt: skip

SETTLE = """
def settle(pull, g):
    u = g
    for _ in range(1000):
        new = pull(u) + g
        if np.max(np.abs(new - u)) < 1e-10:
            return new
        u = new
    return u
"""
ROUND, STOP = "new = pull(u) + g", "if np.max(np.abs(new - u)) < 1e-10:"
WRONG_SETTLES = {
    "no round": ("u = g\n", "return g\n", "as it arrived"),
    "one round": (STOP, "if True:", "one round"),
    "a thousand rounds": (STOP, "if False:", "as soon as u has settled"),
    "the sum of changes": ("np.max(np.abs(new - u))", "abs(np.sum(new - u))",
        "before u has settled"),
    "the smallest change": ("np.max(np.abs(new - u))", "np.min(np.abs(new - u))",
        "before u has settled"),
    "g not added": (ROUND, "new = pull(u)", "shrinks to 0"),
    "g inside": (ROUND, "new = pull(u + g)", "you return pull(λ)"),
    "a minus": (ROUND, "new = g - pull(u)", "you subtract pull(u)"),
    "g twice": (ROUND, "new = pull(u) + 2 * g", "twice as large"),
    "u added": (ROUND, "new = u + pull(u) + g", "`pull` was called more than"),
    "nothing returned": ("            return new\n", "            return\n",
        "Is a `return` missing"),
}  # fmt: skip

FIXED = """
def fixed_point(step, z, *inputs):
    values = [t.value for t in inputs]
    while True:
        new = step(Tensor(z), *(Tensor(v) for v in values)).value
        change, z = np.max(np.abs(new - z)), new
        if change < 1e-10:
            break

    def pull(g):
        at = [Tensor(v) for v in (z, *values)]
        y = step(*at)

        def back(u):
            start = Tensor(0.0, (y,), lambda _: (u,), "seed")
            return gradients(topological_order(start), at)

        return back(settle(lambda u: back(u)[0], g))[1:]

    return Tensor(z, inputs, pull, "fixed_point")
"""
SENT, NODE = (
    "back(settle(lambda u: back(u)[0], g))[1:]",
    'return Tensor(z, inputs, pull, "fixed_point")',
)
WRONG_POINTS = {
    "unrolled": ("values = [t.value for t in inputs]\n", "y = Tensor(z)\n    for _ in range(200):"
        "\n        y = step(y, *inputs)\n    return y\n    values = []\n", "still in the graph"),
    "once back": (SENT, "back(g)[1:]", "through the step once"),
    "twice back": (SENT, "back(g + back(g)[0])[1:]", "through the step twice"),
    "no g": (SENT, SENT.replace(", g)", ", np.ones(np.shape(g)))"), "begins with ones"),
    "g not added": (SENT, "back(settle(lambda u: back(u)[0], 0 * g))[1:]",
        "Nothing arrives at the inputs"),
    "the first input": (SENT, "[back(settle(lambda u: back(u)[0], g))[1],"
        " *(0 * v for v in values[1:])]", "only the first input gets its part"),
    "a step in each round": ("            start = Tensor(0.0, (y,), lambda _: (u,), \"seed\")\n",
        "            start = Tensor(0.0, (step(*at),), lambda _: (u,), \"seed\")\n",
        "One run in each is enough"),
    "no absolute value": ("np.max(np.abs(new - z))", "np.max(new - z)", "before z has settled"),
    "arrays": ("step(Tensor(z), *(Tensor(v) for v in values)).value", "step(z, *values)",
        "it takes Tensors"),
    "inputs forgotten": ("step(Tensor(z), *(Tensor(v) for v in values)).value",
        "step(Tensor(z)).value", "it takes z and"),
    "the array": (NODE, "return z", "should give a Tensor"),
    "no parents": (NODE, NODE.replace("inputs, pull", "(), pull"), "nodes lie behind"),
}  # fmt: skip

WRONG = {
    "pull_kepler": KEPLERS,
    "pull_root": ROOTS,
    "settle": table(SETTLE, ("settle",), WRONG_SETTLES),
    "fixed_point": table(FIXED, ("fixed_point",), WRONG_POINTS, SETTLE)
    | table(
        FIXED.replace("values = [", "first, values = z, ["),
        ("fixed_point",),
        {"at the start": ("(z, *values)]", "(first, *values)]", "where the search began")},
        SETTLE,
    ),
}
