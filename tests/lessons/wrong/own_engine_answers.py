"""Wrong answers to the exercises of lessons 11b to 14 in which the student's engine grows or is
put to use.

Each is the right source with a piece of it written wrongly, and a phrase that the check must say.
"""

from __future__ import annotations

import numpy as np
from minigrad.lessons.exercises import own_engine

RULES = """
def pull_mul(a, b, g):
    return unbroadcast(g * b, a.shape), unbroadcast(g * a, b.shape)


def pull_div(a, b, g):
    return unbroadcast(g / b, a.shape), unbroadcast(-g * a / b**2, b.shape)


def pull_log(x, g):
    return g / x
"""
DUAL = """
class Dual:
    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent

    def __add__(self, other):
        return Dual(self.value + other.value, self.tangent + other.tangent)

    def __sub__(self, other):
        return Dual(self.value - other.value, self.tangent - other.tangent)

    def t(self):
        return Dual(self.value.t(), self.tangent.t())

    def sum(self, axis=None):
        return Dual(self.value.sum(axis), self.tangent.sum(axis))

    def __mul__(self, other):
        a, b, da, db = self.value, other.value, self.tangent, other.tangent
        return Dual(a * b, da * b + a * db)

    def __truediv__(self, other):
        a, b, da, db = self.value, other.value, self.tangent, other.tangent
        return Dual(a / b, da / b - a * db / (b * b))

    def __matmul__(self, other):
        a, b, da, db = self.value, other.value, self.tangent, other.tangent
        return Dual(a @ b, da @ b + a @ db)

    def exp(self):
        y = self.value.exp()
        return Dual(y, y * self.tangent)

    def log(self):
        return Dual(self.value.log(), self.tangent / self.value)

    def pow(self, n):
        return Dual(self.value.pow(n), Tensor(n) * self.value.pow(n - 1) * self.tangent)
"""
HVP = """
def hvp(f, x, dx):
    point = Tensor(x)
    slope = f(Dual(point, Tensor(dx))).tangent
    return gradients(topological_order(slope), [point])[0]
"""


def names_of(*sources):
    """What a notebook holds in which these cells were run."""
    scope = {"np": np, **own_engine.PIECES}
    for source in sources:
        exec(compile(source, "<cell>", "exec"), scope)
    return scope


def changed(source, old, new):
    """A source with one piece of it exchanged; it must be there once."""
    assert source.count(old) == 1, old
    return source.replace(old, new)


def table(source, answers, rows, *before):
    """The rows {what: (old, new, says)} as a table of wrong answers."""
    made = {}
    for what, (old, new, says) in rows.items():
        scope = names_of(*before, changed(source, old, new))
        made[what] = (tuple(scope[name] for name in answers), says)
    return made


A = "unbroadcast(g * b, a.shape), unbroadcast(g * a, b.shape)"
Q = "unbroadcast(g / b, a.shape), unbroadcast(-g * a / b**2, b.shape)"
L = "return g / x"
WRONG_RULES = {
    "product: its own factor": (A, A.replace("g * b", "g * c").replace("g * a", "g * b").replace(
        "g * c", "g * a"), "other's factor"),
    "product: not summed": (A, "g * b, g * a", "sum over the stretched axes"),
    "product: mean of the copies": (A, "(lambda s, t: (s * (a.size / max(g.size, 1)),"
        f" t * (b.size / max(g.size, 1))))({A})", "gets the mean over the stretched axes"),
    "product: g left out": (A, "unbroadcast(b + 0 * g, a.shape), unbroadcast(a + 0 * g, b.shape)",
        "own adjoint is left out"),
    "product: one part": (A, "(unbroadcast(g * b, a.shape),)", "should return 2 contributions"),
    "product: a sign": (A, A.replace("(g * a", "(-g * a"), "those with `*`"),
    "product: twice": (A, A.replace("g *", "2 * g *"), "twice as large"),
    "product: the whole sum": (
        A, "np.full(a.shape, (g * b).sum()), np.full(b.shape, (g * a).sum())", "those with"),
    "product: shapes exchanged": (
        A, "unbroadcast(g * b, b.shape), unbroadcast(g * a, a.shape)", "and broadcasting"),
    "quotient: the sign": (Q, Q.replace("-g", "g"), "a sign is lost"),
    "quotient: no square": (Q, Q.replace("b**2", "b"), "it is −g·a/b²"),
    "quotient: without a": (Q, Q.replace("-g * a", "-g"), "leaves out a"),
    "quotient: the product's rule": (Q, A, "has the rule of the product"),
    "quotient: swapped": (Q, "unbroadcast(-g * a / b**2, a.shape), unbroadcast(g / b, b.shape)",
        "operands of a product or quotient are swapped"),
    "quotient: at 1/b": (Q, Q.replace("b**2", "b**3"), "those with `/`"),
    "quotient: not summed": (Q, "g / b, -g * a / b**2", "sum over the stretched axes"),
    "logarithm: times x": (L, "return g * x", "multiplies by x"),
    "logarithm: g left out": (L, "return 1 / x", "It is the rule of `log`"),
    "logarithm: at the result": (L, "return g / np.log(x)", "belongs at its input"),
    "logarithm: its value": (L, "return g * np.log(x)", "value is used where its derivative"),
    "logarithm: passed on": (L, "return g", "leave out the local derivative"),
    "logarithm: a square": (L, "return g / x**2", "those with `log`"),
}  # fmt: skip
M, D, X = "da * b + a * db", "da / b - a * db / (b * b)", "da @ b + a @ db"
E, O, P = "y * self.tangent", "self.tangent / self.value", (
    "Tensor(n) * self.value.pow(n - 1) * self.tangent"
)  # fmt: skip
WRONG_DUALS = {
    "product: the first term": (M, "da * b", "only one of the two terms"),
    "product of the tangents": (M, "da * db", "multiplies the tangents"),
    "product: a minus": (M, "da * b - a * db", "subtracts the second term"),
    "product: own factor": (M, "da * a + b * db", "crosswise"),
    "product: the sum": (M, "da + db", "The tangent of `*` is wrong"),
    "quotient: a plus": (D, "da / b + a * db / (b * b)", "adds the second term"),
    "quotient: no square": (D, "da / b - a * db / b", "a·ḃ/b²"),
    "quotient: one term": (D, "da / b", "leaves out how b moves"),
    "quotient of the tangents": (D, "da / db", "divides the tangents"),
    "matrix product: the first term": (X, "da @ b", "only one of its two terms"),
    "matrix product: order": (X, "da @ b + db @ a", "The tangent of `@` is wrong"),
    "exp: passed on": (E, "self.tangent", "multiply it by exp(a)"),
    "exp: no tangent": (E, "y", "without the tangent"),
    "exp of the tangent": (E, "self.tangent.exp()", "exponential of the tangent"),
    "exp: at the result": (E, "y.exp() * self.tangent", "The tangent of `exp` is wrong"),
    "exp: a number": (E, "float(np.sum(y.value * self.tangent.value))", ""),
    "log: passed on": (O, "self.tangent", "divide it by a"),
    "log: no tangent": (O, "Tensor(1.0) / self.value", "it is ȧ/a"),
    "log: by the result": (O, "self.tangent / self.value.log()", "divides by its result"),
    "log: times": (O, "self.tangent * self.value", "The tangent of `log` is wrong"),
    "pow: no factor": (P, "self.value.pow(n - 1) * self.tangent", "leaves out the factor n"),
    "pow: the same power": (P, "Tensor(n) * self.value.pow(n) * self.tangent", "one less"),
    "pow: no tangent": (P, "Tensor(n) * self.value.pow(n - 1)", "without the tangent"),
    "pow of the tangent": (P, "self.tangent.pow(n)", "raises the tangent"),
    "the value alone": (
        "return Dual(a * b, da * b + a * db)", "return a * b", "which has no tangent"),
}  # fmt: skip
S, G = (
    "slope = f(Dual(point, Tensor(dx))).tangent",
    "gradients(topological_order(slope), [point])[0]",
)
WRONG_PRODUCTS = {
    "the gradient": (S, S.replace(".tangent", ".value"), "You return the gradient of f"),
    "the slope": (G, "slope", "take its gradient"),
    "gradient times v": (
        S + "\n    return " + G,
        "y = f(Dual(point, Tensor(dx))).value\n"
        "    return gradients(topological_order(y), [point])[0] * dx",
        "gradient times the direction",
    ),
    "ones": (S, S.replace("Tensor(dx)", "Tensor(np.ones(x.shape))"), "start with the direction"),
    "x for the direction": (S, S.replace("Tensor(dx)", "Tensor(x)"), "starts at x itself"),
    "no direction": (S, S.replace("Tensor(dx)", "Tensor(0 * dx)"), "Everything is 0"),
    "twice": (G, f"2 * {G}", "twice the product"),
    "a sign": (G, f"-{G}", "The sign is reversed"),
    "v·H·v": (G, f"np.sum(dx * {G})", "H·ẋ has the shape of x"),
    "a difference of gradients": (
        S + "\n    return " + G,
        "value = lambda p: f(Dual(p, Tensor(0 * dx))).value\n"
        "    gradient = lambda p: gradients(topological_order(value(p)), [p])[0]\n"
        "    return (gradient(Tensor(x + 1e-5 * dx)) - gradient(Tensor(x - 1e-5 * dx))) / 2e-5",
        "you take the difference of two gradients",
    ),
    "the diagonal": (
        S + "\n    return " + G,
        "found = np.zeros(x.shape)\n    for place in np.ndindex(x.shape):\n        unit ="
        " np.zeros(x.shape)\n        unit[place] = 1.0\n        p = Tensor(x)\n        s ="
        " f(Dual(p, Tensor(unit))).tangent\n        row = gradients(topological_order(s), [p])[0] +"
        " np.zeros(x.shape)\n        found[place] = row[place] * dx[place]\n    return found",
        "the diagonal of the Hessian alone",
    ),
}

CHECKPOINT = """
def checkpoint(piece, *inputs):
    values = [t.value for t in inputs]

    def pull(g):
        again = [Tensor(v) for v in values]
        y = piece(*again)
        start = Tensor(0.0, (y,), lambda _: (g,), "seed")
        return gradients(topological_order(start), again)

    return Tensor(piece(*inputs).value, inputs, pull, "checkpoint")
"""
RUN = 'return Tensor(piece(*inputs).value, inputs, pull, "checkpoint")'
WRONG_CHECKPOINTS = {
    "none": (RUN, "return piece(*inputs)", "all of its nodes are kept"),
    "a node around the graph": (RUN, 'y = piece(*inputs)\n    return Tensor(y.value, (y,),'
        ' lambda g: (g,), "checkpoint")', "nodes lie behind the result"),
    "the graph kept in the pull": (
        RUN, 'y = piece(*inputs)\n    return Tensor(y.value, inputs, lambda g: gradients('
        'topological_order(Tensor(0.0, (y,), lambda _: (g,))), inputs), "checkpoint")',
        "still kept for the pass back"),
    "twice at once": (RUN, "piece(*inputs)\n    " + RUN, "ran 2 times"),
    "run twice, kept": (RUN, 'piece(*inputs)\n    y = piece(*inputs)\n    return Tensor(y.value,'
        " inputs, lambda g: gradients(topological_order(Tensor(0.0, (y,), lambda _: (g,))),"
        ' inputs), "checkpoint")', "already runs twice on the way forward"),
    "begun with 1": ("start = Tensor(0.0, (y,), lambda _: (g,), \"seed\")", "start = y.sum()",
        "the adjoint g is left out"),
    "the first input": ("gradients(topological_order(start), again)",
        "[gradients(topological_order(start), again)[0], *(0 * v for v in values[1:])]",
        "only the first input gets its part"),
    "by other Tensors": ("gradients(topological_order(start), again)",
        "gradients(topological_order(start), [Tensor(v) for v in values])",
        "Nothing arrives at the inputs"),
    "run three times": ("y = piece(*again)", "y = piece(*again)\n        piece(*again)",
        "2 runs of each are needed"),
}  # fmt: skip
OPERATION = """
def operation(forward, pull, name):
    def apply(*inputs):
        values = [t.value for t in inputs]
        y = forward(*values)
        return Tensor(y, inputs, lambda g: pull(g, y, *values), name)

    return apply
"""
LAST = "return Tensor(y, inputs, lambda g: pull(g, y, *values), name)"
WRONG_OPERATIONS = {
    "forward again": (LAST, LAST.replace("g, y,", "g, forward(*values),"), "a second time"),
    "pulled at once": (LAST, "parts = pull(np.ones_like(y), y, *values)\n        return Tensor(y,"
        " inputs, lambda g: [g * p for p in parts], name)", "before any adjoint has arrived"),
    "no adjoint": (LAST, LAST.replace("pull(g,", "pull(np.ones_like(g),"), "called with 1"),
    "y for g": (LAST, LAST.replace("pull(g, y,", "pull(y, y,"), "is given y in the place of g"),
    "no name": (LAST, LAST.replace(", name)", ")"), "has no name"),
    "no parents": (LAST, LAST.replace("(y, inputs,", "(y, (),"), "has no parents"),
    "the first parent": (LAST, LAST.replace("(y, inputs,", "(y, inputs[:1],"), ""),
    "the value alone": (LAST, "return y", "it should give a Tensor"),
    "g last": (LAST, LAST.replace("pull(g, y, *values)", "pull(y, g, *values)"),
        "in the wrong order"),
}  # fmt: skip
AGREES = """
def agrees(f, x, found):
    slopes = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        h = 1e-6 * max(1.0, abs(x[place]))
        step = np.zeros(x.shape)
        step[place] = h
        slopes[place] = (f(x + step) - f(x - step)) / (2 * h)
    size = np.max(np.abs(slopes))
    return np.shape(found) == x.shape and np.allclose(found, slopes, rtol=1e-4, atol=1e-4 * size)
"""
TEST = "np.allclose(found, slopes, rtol=1e-4, atol=1e-4 * size)"
WRONG_TESTS = {
    "everything passes": ("np.shape(found) == x.shape and " + TEST, "True", "lets everything pass"),
    "nothing passes": (TEST, "np.array_equal(found, slopes)", "rejects everything"),
    "the sums": (TEST, "np.isclose(np.sum(found), np.sum(slopes), rtol=1e-4)", "compare sums"),
    "any element": (TEST, "np.any(np.isclose(found, slopes, rtol=1e-4))",
        "one element that agrees"),
    "no sign": (TEST, "np.allclose(np.abs(found), np.abs(slopes), rtol=1e-4)", "absolute values"),
    "the first element": (TEST, "np.isclose(found.flat[0], slopes.flat[0], rtol=1e-4)",
        "one element only"),
    "an absolute tolerance": (TEST, "np.max(np.abs(found - slopes)) < 1e-5", ""),
    "no shape": ("np.shape(found) == x.shape and ", "", "do not compare the shapes"),
    "the lengths": (TEST, "np.isclose(np.linalg.norm(found), np.linalg.norm(slopes), rtol=1e-4)",
        "compare the lengths"),
    "a huge step": ("h = 1e-6 * max(1.0, abs(x[place]))", "h = 0.5", "is said to be wrong"),
    "a tiny step": ("h = 1e-6 * max(1.0, abs(x[place]))", "h = 1e-15", "is said to be wrong"),
    "a word": ("return np.shape", "return 'yes' if True else np.shape", "True or False"),
}  # fmt: skip

WRONG = {
    "products": table(RULES, ("pull_mul", "pull_div", "pull_log"), WRONG_RULES),
    "dual_tensor": table(DUAL, ("Dual",), WRONG_DUALS),
    "hvp_own": table(HVP, ("hvp", "Dual"), WRONG_PRODUCTS, DUAL),
    "checkpoint": table(CHECKPOINT, ("checkpoint",), WRONG_CHECKPOINTS),
    "operation": table(OPERATION, ("operation",), WRONG_OPERATIONS),
    "agrees": table(AGREES, ("agrees",), WRONG_TESTS),
}
