"""Wrong answers to the exercises of lessons 1 to 8, at least six each, and what must be said of
them.

exercise -> {what is wrong: (the answers, a phrase that the feedback must hold)}. Where the phrase
is empty the numbers side by side, or an exception's own text, are all that can be said. The answers
are written as students write them, with NumPy and minigrad.
"""

import itertools
import math

import numpy as np

import minigrad as mg

grad = mg.autograd.grad


def both(f, *others):
    return (f, *others)


def one(f):
    return (f,)


# ----------------------------------------------------------------------------------------- lesson 1


def central(step):
    return lambda f, x: (f(x + step(x)) - f(x - step(x))) / (2 * step(x))


def best(first, second):
    return first, second


def root(f, f2, eps):
    return 2 * math.sqrt(eps * f / f2)


def cube_root(f, f3, eps):
    return (3 * eps * f / f3) ** (1 / 3)


def relative(x):
    return 1e-5 * abs(x) or 1e-5


LESSON_1 = {
    "difference_quotient": {
        "the misprint": (one(lambda f, x, h: (f(x + h) - f(h)) / h), "the printed formula"),
        "not divided": (one(lambda f, x, h: f(x + h) - f(x)), "forgot to divide by h"),
        "sign": (one(lambda f, x, h: (f(x) - f(x + h)) / h), "the two heights are swapped"),
        "central": (one(lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h)), "central difference"),
        "twice": (one(lambda f, x, h: (f(x + h) - f(x - h)) / h), "they are 2h apart"),
        "a small step": (one(lambda f, x, h: (f(x + 1e-4) - f(x)) / 1e-4), "step of your own"),
        "a tiny step": (one(lambda f, x, h: (f(x + 1e-12) - f(x)) / 1e-12), "step of your own"),
        "a central step": (
            one(lambda f, x, h: (f(x + 1e-5) - f(x - 1e-5)) / 2e-5),
            "in the place of the argument h",
        ),
        "half": (one(lambda f, x, h: (f(x + h) - f(x)) / (2 * h)), "you divide by 2h"),
        "backward": (one(lambda f, x, h: (f(x) - f(x - h)) / h), "x − h and x"),
    },
    "best_step": {
        "epsilon": (best(lambda f, f2, eps: eps, lambda f, f3, eps: eps), "you took eps itself"),
        "a factor in the first": (
            best(lambda f, f2, eps: math.sqrt(eps * f / f2), cube_root),
            "you lost a constant factor",
        ),
        "a factor in the second": (
            best(root, lambda f, f3, eps: (eps * f / f3) ** (1 / 3)),
            "you lost a constant factor",
        ),
        "a factor in the first, and precedence in the second": (
            best(
                lambda f, f2, eps: math.sqrt(eps * f / f2),
                lambda f, f3, eps: (3 * eps * f / f3) ** 1 / 3,
            ),
            "eps is right. `best_central_step`: It looks as if you wrote `** 1 / 3`",
        ),
        "precedence in the first": (
            best(lambda f, f2, eps: (4 * eps * f / f2) ** 1 / 2, cube_root),
            "write `** (1/2)`",
        ),
        "no root": (
            best(lambda f, f2, eps: 4 * eps * f / f2, lambda f, f3, eps: 3 * eps * f / f3),
            "forgot the root",
        ),
        "upside down": (
            best(lambda f, f2, eps: root(f2, f, eps), lambda f, f3, eps: cube_root(f3, f, eps)),
            "upside down",
        ),
        "sizes forgotten": (
            best(lambda f, f2, eps: math.sqrt(eps), lambda f, f3, eps: eps ** (1 / 3)),
            "depends on eps alone",
        ),
        "a square root for both": (
            best(root, lambda f, f3, eps: math.sqrt(3 * eps * f / f3)),
            "take a cube root",
        ),
        "a fixed step": (
            best(lambda f, f2, eps: 1e-8, lambda f, f3, eps: 1e-5),
            "the estimated error is",
        ),
        "negative": (best(lambda *a: -root(*a), lambda *a: -cube_root(*a)), "positive number"),
    },
    "central_difference": {
        "one-sided": (
            one(lambda f, x: (f(x + relative(x)) - f(x)) / relative(x)),
            "on one side of x only",
        ),
        "the step of a one-sided difference": (
            one(central(lambda x: 1.5e-8 * (abs(x) or 1))),
            "rounding eats the digits",
        ),
        "a step of 1e-9 for all": (
            one(central(lambda x: 1e-9)),
            "the same for all x, and too small",
        ),
        "a step of 1e-2 for all": (
            one(central(lambda x: 1e-2)),
            "the same for all x, and too large",
        ),
        "a step of 1e-5 for all": (
            one(central(lambda x: 1e-5)),
            "at 10⁷ it is lost in the rounding",
        ),
        "1e-5 at least": (one(central(lambda x: 1e-5 * max(1, abs(x)))), "larger than x itself"),
        "a large step": (
            one(central(lambda x: 1e-2 * (abs(x) or 1))),
            "the curve bends in between",
        ),
        "divided by h": (
            one(lambda f, x: (f(x + relative(x)) - f(x - relative(x))) / relative(x)),
            "2h apart",
        ),
        "divided by 4h": (
            one(lambda f, x: (f(x + relative(x)) - f(x - relative(x))) / (4 * relative(x))),
            "half the derivative",
        ),
        "sign": (one(lambda f, x: -central(relative)(f, x)), "the wrong way round"),
        "not divided": (one(lambda f, x: f(x + 1e-5) - f(x - 1e-5)), "not divided by the distance"),
        "zero at zero": (one(central(lambda x: 1e-5 * abs(x))), "ZeroDivisionError"),
    },
}


# ----------------------------------------------------------------------------------------- lesson 2

F_TABLE = {
    "x1": 2.0,
    "x2": 5.0,
    "v1": math.log(2),
    "v2": 10.0,
    "v3": 10 + math.log(2),
    "v4": math.sin(5),
}
F_TABLE |= {"v5": F_TABLE["v3"] - F_TABLE["v4"]}


def table(**changed):
    return one({**F_TABLE, **changed})


SIN = (lambda a, da: math.cos(a) * da, lambda a, g: math.cos(a) * g)
MUL = (lambda a, b, da, db: da * b + a * db, lambda a, b, g: (g * b, g * a))
DIV = (lambda a, b, da, db: da / b - a * db / b**2, lambda a, b, g: (g / b, -g * a / b**2))


def dual(mul, sin=None, log=None):
    """The class and the functions of lesson 2, with a product mul(a, b) -> tangent."""

    class Dual:
        def __init__(self, value, tangent=0.0):
            self.value, self.tangent = value, tangent

        def __add__(self, other):
            other = lift(other)
            return Dual(self.value + other.value, self.tangent + other.tangent)

        __radd__ = __add__

        def __sub__(self, other):
            other = lift(other)
            return Dual(self.value - other.value, self.tangent - other.tangent)

        def __rsub__(self, other):
            return lift(other) - self

        def __mul__(self, other):
            other = lift(other)
            return Dual(self.value * other.value, mul(self, other))

        __rmul__ = __mul__

    def lift(x):
        return x if isinstance(x, Dual) else Dual(x)

    return (
        Dual,
        lambda a: Dual(math.sin(a.value), (sin or (lambda a: math.cos(a.value) * a.tangent))(a)),
        lambda a: Dual(math.log(a.value), (log or (lambda a: a.tangent / a.value))(a)),
    )


def dual_in_place():
    kind, sin, log = dual(product)

    def added(self, other):
        other = other if isinstance(other, kind) else kind(other)
        self.value += other.value
        self.tangent += other.tangent
        return self

    kind.__add__ = kind.__radd__ = added
    return kind, sin, log


def product(a, b):
    return a.tangent * b.value + a.value * b.tangent


def sweep(
    rows=lambda tape: list(reversed(tape)),
    put=lambda old, new: old + new,
    send=lambda g, local: g * local,
    seed=None,
):
    def reverse_sweep(tape, adjoint):
        if seed is not None:
            adjoint[tape[-1][0]] = seed
        for name, operands in rows(tape):
            for operand, local in operands:
                adjoint[operand] = put(adjoint[operand], send(adjoint[name], local))

    return one(reverse_sweep)


def first_kept(tape, adjoint):
    arrived = set()
    for name, operands in reversed(tape):
        for operand, local in operands:
            if operand not in arrived:
                adjoint[operand] = adjoint[name] * local
            arrived.add(operand)


def recursive_sweep(tape, adjoint):
    def go(i):
        if i >= 0:
            name, operands = tape[i]
            for operand, local in operands:
                adjoint[operand] += adjoint[name] * local
            go(i - 1)

    go(len(tape) - 1)


def copying_sweep(tape, adjoint):
    rest = list(tape)
    while rest:
        name, operands = rest[-1]
        for operand, local in operands:
            adjoint[operand] += adjoint[name] * local
        rest = rest[:-1]


def forward_for_each(tape, adjoint):
    for moved in list(adjoint):
        dot = {moved: 1.0}
        for name, operands in tape:
            if name != moved:
                dot[name] = sum(local * dot.get(operand, 0.0) for operand, local in operands)
        adjoint[moved] = dot[tape[-1][0]] if moved != tape[-1][0] else 1.0


SWEEPS = {
    "overwrites": (sweep(put=lambda old, new: new), "only one of several contributions"),
    "keeps the first": (one(first_kept), "only the first contribution"),
    "sorted by name": (
        sweep(rows=lambda tape: sorted(tape, reverse=True)),
        "in the order of their names",
    ),
    "sorted by number": (
        sweep(rows=lambda tape: sorted(tape, key=lambda row: int(row[0][1:]), reverse=True)),
        "order of their names",
    ),
    "first to last": (sweep(rows=list), "from first to last"),
    "local derivative forgotten": (
        sweep(send=lambda g, local: g),
        "you leave out the local derivative",
    ),
    "own adjoint forgotten": (sweep(send=lambda g, local: local), "own adjoint is left out"),
    "added": (
        sweep(send=lambda g, local: g + local),
        "you add the adjoint and the local derivative",
    ),
    "subtracted": (sweep(put=lambda old, new: old - new), "all signs are reversed"),
    "twice": (sweep(put=lambda old, new: old + 2 * new), "counted twice"),
    "the larger": (
        sweep(put=lambda old, new: max(old, new, key=abs)),
        "keep the larger contribution",
    ),
}

LESSON_2 = {
    "trace": {
        "base 10": (table(v1=math.log10(2)), "base 10"),
        "degrees": (table(v4=math.sin(math.radians(5))), "radians"),
        "the cosine": (table(v4=math.cos(5)), "That is the cosine"),
        "added": (table(v5=F_TABLE["v3"] + F_TABLE["v4"]), "subtracted, not added"),
        "multiplied": (table(v3=10 * math.log(2)), "added, not multiplied"),
        "the sum for the product": (table(v2=7.0), "multiplied, not added"),
        "copied": (table(v3=10.0), "the value of v2 again"),
        "a half": (table(v1=0.5), "the derivative of ln x"),
    },
    "sin": {
        "no derivative": (
            both(lambda a, da: da, SIN[1]),
            "the operation's own derivative is missing",
        ),
        "no tangent": (both(lambda a, da: math.cos(a), SIN[1]), "the chain rule's factor"),
        "sine for cosine": (
            both(lambda a, da: math.sin(a) * da, SIN[1]),
            "the operation's value instead of its derivative",
        ),
        "sign": (
            both(lambda a, da: -math.cos(a) * da, lambda a, g: -math.cos(a) * g),
            "sign is reversed",
        ),
        "sine of the tangent": (
            both(lambda a, da: math.sin(da), SIN[1]),
            "you applied the operation to `da`",
        ),
        "no adjoint": (both(SIN[0], lambda a, g: math.cos(a)), "left out the adjoint `g`"),
        "at the result": (
            both(SIN[0], lambda a, g: math.cos(math.sin(a)) * g),
            "at the result instead of at the input",
        ),
        "added": (both(lambda a, da: math.cos(a) + da, SIN[1]), "added the tangent"),
    },
    "mul": {
        "product of tangents": (
            both(lambda a, b, da, db: da * db, MUL[1]),
            "you applied the operation to",
        ),
        "first part only": (
            both(lambda a, b, da, db: da * b, MUL[1]),
            "the term with `db` is missing",
        ),
        "second part only": (
            both(lambda a, b, da, db: a * db, MUL[1]),
            "the term with `da` is missing",
        ),
        "subtracted": (
            both(lambda a, b, da, db: da * b - a * db, MUL[1]),
            "the sign of the term with `db`",
        ),
        "swapped": (both(lambda a, b, da, db: da * a + db * b, MUL[1]), "the operands are swapped"),
        "swapped back": (both(MUL[0], lambda a, b, g: (g * a, g * b)), "the operands are swapped"),
        "no g": (both(MUL[0], lambda a, b, g: (b, a)), "left out the adjoint `g`"),
        "one sum": (
            both(MUL[0], lambda a, b, g: (g * (a + b),) * 2),
            "gave both inputs the same sum",
        ),
    },
    "div": {
        "no square": (
            both(lambda a, b, da, db: da / b - a * db / b, DIV[1]),
            "has a factor `b` too many",
        ),
        "sign": (
            both(lambda a, b, da, db: da / b + a * db / b**2, DIV[1]),
            "the sign of the term with `db`",
        ),
        "the numerator only": (
            both(lambda a, b, da, db: da / b, DIV[1]),
            "the term with `db` is missing",
        ),
        "sign back": (
            both(DIV[0], lambda a, b, g: (g / b, g * a / b**2)),
            "the sign of the part of `b`",
        ),
        "no g": (both(DIV[0], lambda a, b, g: (1 / b, -a / b**2)), "left out the adjoint `g`"),
        "upside down": (
            both(DIV[0], lambda a, b, g: (-g * a / b**2, g / b)),
            "the operands are swapped",
        ),
    },
    "dual": {
        "a sum in place": (dual_in_place(), "`add` changed one of its operands in place"),
        "product of the tangents": (
            dual(lambda a, b: a.tangent * b.tangent),
            "the tangents of the factors are multiplied",
        ),
        "second part missing": (
            dual(lambda a, b: a.tangent * b.value),
            "the part in which the second factor moves",
        ),
        "the other factor": (
            dual(lambda a, b: a.value * a.tangent + b.value * b.tangent),
            "the factors are swapped",
        ),
        "subtracted": (
            dual(lambda a, b: a.tangent * b.value - a.value * b.tangent),
            "the two parts of a product are subtracted",
        ),
        "chain rule": (
            dual(product, sin=lambda a: math.cos(a.value)),
            "the operand's own tangent is forgotten",
        ),
        "value for derivative": (
            dual(product, sin=lambda a: math.sin(a.value) * a.tangent),
            "the function's value is used",
        ),
        "sign of the cosine": (
            dual(product, sin=lambda a: -math.cos(a.value) * a.tangent),
            "plus the cosine",
        ),
        "times for over": (
            dual(product, log=lambda a: a.tangent * a.value),
            "multiplies by the value",
        ),
    },
    "reverse_sweep": SWEEPS,
}


# ----------------------------------------------------------------------------------------- lesson 3


def order_by(pop, reverse=True):
    def topological_order(output):
        order, waiting = [], [output]
        while waiting:
            node = waiting.pop(pop)
            if node not in order:
                order.append(node)
                waiting.extend(node.parents)
        return order[::-1] if reverse else order

    return one(topological_order)


def sound_order(output):
    order, done, waiting = [], set(), [(output, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            order.append(node)
        elif node not in done:
            done.add(node)
            waiting += [(node, True), *((p, False) for p in node.parents)]
    return order


def recursive_order(output):
    order = []

    def visit(node):
        if node not in order:
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(output)
    return order


def every_visit(output):
    order, waiting = [], [(output, False)]
    while waiting and len(order) < 10_000:
        node, ready = waiting.pop()
        if ready:
            order.append(node)
        else:
            waiting += [(node, True), *((p, False) for p in node.parents)]
    return order


def first_parents(output):
    order = [output]
    while order[-1].parents:
        order.append(order[-1].parents[0])
    return order[::-1]


def gradients(
    put=lambda parts: sum(parts),
    rows=lambda order: order[::-1],
    seed=1.0,
    missing=0.0,
    send=lambda g, part: part,
):
    def run(order, wanted):
        parts, adjoint = {order[-1]: [seed]}, {}
        for node in rows(order):
            adjoint[node] = put(parts.get(node, [0.0]))
            if node.parents:
                for parent, part in zip(node.parents, node.pull(adjoint[node]), strict=False):
                    parts.setdefault(parent, []).append(send(adjoint[node], part))
        return [adjoint.get(node, missing) for node in wanted]

    return one(run)


def one_for_each_parent(order, wanted):
    grad = {order[-1]: 1.0}
    for node in order[::-1]:
        if node.parents:
            for parent, part in dict(
                zip(node.parents, node.pull(grad[node]), strict=False)
            ).items():
                grad[parent] = grad.get(parent, 0.0) + part
    return [grad.get(node, 0.0) for node in wanted]


def only_wanted_first(order, wanted):
    return gradients()[0](order, wanted[:1])


class Node:
    def __init__(self, value, parents=(), pull=None, op=""):
        self.value, self.parents, self.pull, self.op = value, parents, pull, op


def node(x):
    return x if isinstance(x, Node) else Node(x)


def add(a, b):
    a, b = node(a), node(b)
    return Node(a.value + b.value, (a, b), lambda g: (g, g), "add")


Node.__add__ = Node.__radd__ = add


def mul(a, b):
    a, b = node(a), node(b)
    return Node(a.value * b.value, (a, b), lambda g: (mul(g, b), mul(g, a)), "mul")


def exp(a):
    y = Node(math.exp(a.value), (a,), None, "exp")
    y.pull = lambda g: (mul(g, y),)
    return y


def a_mul(pull):
    def wrong(a, b):
        a, b = node(a), node(b)
        return Node(a.value * b.value, (a, b), lambda g: pull(g, a, b), "mul")

    return wrong


def an_exp(pull):
    def wrong(a):
        y = Node(math.exp(a.value), (a,), None, "exp")
        y.pull = lambda g: (pull(g, a, y),)
        return y

    return wrong


def number(x):
    return getattr(x, "value", x)


LESSON_3 = {
    "topological_order": {
        "breadth first": (order_by(0), ""),
        "depth first, as met": (order_by(-1), ""),
        "the wrong way round": (
            one(lambda output: sound_order(output)[::-1]),
            "the wrong way round",
        ),
        "recursive": (one(recursive_order), "RecursionError"),
        "every visit": (one(every_visit), "stands in the order more than once"),
        "first parents": (one(first_parents), "is missing in the order"),
    },
    "gradients": {
        "overwrites": (gradients(put=lambda parts: parts[-1]), "only one of several contributions"),
        "keeps the first": (gradients(put=lambda parts: parts[0]), "only"),
        "the mean": (gradients(put=lambda parts: sum(parts) / len(parts)), ""),
        "the larger": (
            gradients(put=lambda parts: max(parts, key=abs)),
            "keep the larger contribution",
        ),
        "seed 0": (gradients(seed=0.0), "output's adjoint is 0"),
        "None without influence": (gradients(missing=None), ""),
        "one part for each parent": (one(one_for_each_parent), "twice in one operation"),
        "the first one only": (one(only_wanted_first), "one gradient for each"),
    },
    "graph-rules": {
        "numbers": (
            (a_mul(lambda g, a, b: (number(g) * b.value, number(g) * a.value)), exp),
            "computes with `.value`",
        ),
        "swapped": (
            (a_mul(lambda g, a, b: (mul(g, a), mul(g, b))), exp),
            "the operands are swapped",
        ),
        "exp as a constant": (
            (mul, an_exp(lambda g, a, y: mul(g, y.value))),
            "multiplies by a number",
        ),
        "no g": ((a_mul(lambda g, a, b: (b, a)), exp), ""),
        "the first only": ((a_mul(lambda g, a, b: (mul(g, b), mul(g, 0.0))), exp), ""),
        "sign": ((mul, an_exp(lambda g, a, y: mul(mul(g, y), -1.0))), ""),
    },
}


# ----------------------------------------------------------------------------------------- lesson 4


def columns(
    seeds=lambda x: mg.eye(len(x), dtype=x.dtype), stack=lambda found: mg.stack(found, dim=1)
):
    return one(lambda f, x: stack([mg.func.jvp(f, (x,), (seed,))[1] for seed in seeds(x)]))


def rows(stack=mg.stack, seeds=lambda y: mg.eye(len(y), dtype=y.dtype), again=0):
    def by_rows(f, x):
        y, pull = mg.func.vjp(f, x)
        for _ in range(again * len(y)):
            pull = mg.func.vjp(f, x)[1]
        return stack([pull(seed)[0] for seed in seeds(y)])

    return one(by_rows)


def per_pass(sizes):
    return sum(a * b for a, b in itertools.pairwise(sizes))


CHOICE = ("forward", "reverse", "reverse", "forward", "forward", "reverse")


def other(i):
    return tuple(
        {"forward": "reverse", "reverse": "forward"}[c] if k == i else c
        for k, c in enumerate(CHOICE)
    )


def columns_cost(s):
    return s[0] * per_pass(s)


def rows_cost(s):
    return s[-1] * per_pass(s)


LESSON_4 = {
    "by_columns": {
        "transposed": (columns(stack=mg.stack), "rows and columns are swapped"),
        "ones": (
            columns(seeds=lambda x: [mg.ones_like(x)], stack=lambda found: found[0]),
            "one seed of ones",
        ),
        "the first only": (
            columns(
                seeds=lambda x: mg.eye(len(x), dtype=x.dtype)[:1], stack=lambda found: found[0]
            ),
            "the first column alone",
        ),
        "the last first": (
            columns(stack=lambda found: mg.stack(found[::-1], dim=1)),
            "in the wrong order",
        ),
        "seeds of two": (columns(seeds=lambda x: 2 * mg.eye(len(x), dtype=x.dtype)), ""),
        "every pass twice": (
            one(
                lambda f, x: mg.stack(
                    [
                        mg.func.jvp(f, (x,), (e,))[1] + 0 * mg.func.jvp(f, (x,), (e,))[1]
                        for e in mg.eye(len(x), dtype=x.dtype)
                    ],
                    dim=1,
                )
            ),
            "one pass for each column is enough",
        ),
    },
    "by_rows": {
        "transposed": (
            rows(stack=lambda found: mg.stack(found, dim=1)),
            "rows and columns are swapped",
        ),
        "ones": (
            rows(seeds=lambda y: [mg.ones_like(y)], stack=lambda found: found[0]),
            "one seed of ones",
        ),
        "the first only": (
            rows(seeds=lambda y: mg.eye(len(y), dtype=y.dtype)[:1], stack=lambda found: found[0]),
            "the first row alone",
        ),
        "the last first": (rows(stack=lambda found: mg.stack(found[::-1])), "in the wrong order"),
        "each row twice": (rows(again=2), "one pass for each row is enough"),
        "a factor": (rows(seeds=lambda y: 2 * mg.eye(len(y), dtype=y.dtype)), ""),
    },
    "choice": {
        f"question {i + 1}": (other(i), "the other mode needs fewer passes") for i in range(6)
    }
    | {
        "mixed up": (
            tuple({"forward": "reverse", "reverse": "forward"}[c] for c in CHOICE),
            "the two modes are mixed up",
        ),
    },
    "cost_of_chain": {
        "one pass": (both(per_pass, per_pass), "that is a single pass"),
        "the other mode": (both(rows_cost, columns_cost), "columns and rows are swapped"),
        "the ends": (
            both(lambda s: s[0] * s[0] * s[-1], lambda s: s[-1] * s[0] * s[-1]),
            "the first and the last size",
        ),
        "the function too": (
            both(lambda s: (s[0] + 1) * per_pass(s), lambda s: (s[-1] + 1) * per_pass(s)),
            "the function itself as well",
        ),
        "the size beside the end": (
            both(lambda s: s[1] * per_pass(s), lambda s: s[-2] * per_pass(s)),
            "the size beside the end",
        ),
        "a matrix left out": (
            both(lambda s: s[0] * per_pass(s[1:]), lambda s: s[-1] * per_pass(s[:-1])),
            "one matrix is left out",
        ),
    },
    "fast_adjoints": {
        "recursive": (one(recursive_sweep), "RecursionError"),
        "copies the tape": (one(copying_sweep), "took too long"),
        "a pass for each node": (one(forward_for_each), "took too long"),
        "overwrites": (sweep(put=lambda old, new: new), "replaces the old one"),
        "first to last": (sweep(rows=list), "from the first to the last"),
        "sorted by name": (
            sweep(rows=lambda tape: sorted(tape, reverse=True)),
            "sorted by their names",
        ),
        "keeps the first": (sweep(put=lambda old, new: old or new), "only the first contribution"),
    },
}


# ----------------------------------------------------------------------------------------- lesson 5


def spread(x, axis, g):
    return np.broadcast_to(g if axis is None else np.expand_dims(g, axis), x.shape)


def summed(g, shape):
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(
        axis=tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1), keepdims=True
    )


def by_means(new, stretched):
    """`unbroadcast` with `mean` in the place of `sum`, over the new axes or over the stretched
    ones.
    """

    def unbroadcast(g, shape):
        axes = tuple(range(g.ndim - len(shape)))
        g = g.mean(axis=axes) if new else g.sum(axis=axes)
        axes = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
        return (g.mean if stretched else g.sum)(axis=axes, keepdims=True)

    return unbroadcast


def cleared(g, shape):
    found = np.array(summed(g, shape))
    g[...] = 0.0
    return found


LESSON_5 = {
    "pull_exp": {
        "no g": (one(lambda x, g: np.exp(x)), "you left out `g`"),
        "g alone": (one(lambda x, g: g), "`g` passes unchanged"),
        "power rule": (one(lambda x, g: g * x * np.exp(x - 1)), "the rule of xⁿ"),
        "exp of g": (one(lambda x, g: np.exp(g)), "the exponential of `g`"),
        "sign": (one(lambda x, g: -g * np.exp(x)), "the sign is reversed"),
        "at the result": (
            one(lambda x, g: g * np.exp(np.exp(x))),
            "at the result instead of at the input",
        ),
        "half": (one(lambda x, g: g * np.exp(x) / 2), "a factor 2 is missing"),
        "g in place": (
            one(lambda x, g: np.multiply(g, np.exp(x), out=g)),
            "`pull_exp` changed its argument `g` in place",
        ),
        "x in place": (
            one(lambda x, g: g * np.exp(x, out=x)),
            "`pull_exp` changed its argument `x` in place",
        ),
    },
    "pull_t": {
        "not moved": (one(lambda x, g: g), "`g` comes back as it came"),
        "the value": (one(lambda x, g: x.T), "you transposed x"),
        "reshaped": (one(lambda x, g: g.reshape(x.shape)), "`reshape` does not move them"),
        "times x": (one(lambda x, g: g * x.T), "you multiply by x"),
        "sign": (one(lambda x, g: -g.T), "the sign is reversed"),
        "twice": (one(lambda x, g: 2 * g.T), "a factor 2 too many"),
        "ones": (one(lambda x, g: np.ones_like(x)), "you left out `g`"),
    },
    "pull_sum": {
        "no g": (one(lambda x, axis, g: np.ones_like(x)), "you left out `g`"),
        "no copies": (one(lambda x, axis, g: g), "`g` comes back as it came"),
        "times x": (one(lambda x, axis, g: x * spread(x, axis, g)), "A sum's derivative is 1"),
        "the mean": (
            one(
                lambda x, axis, g: spread(x, axis, g) / (x.size if axis is None else x.shape[axis])
            ),
            "the mean's rule",
        ),
        "a new axis in front": (one(lambda x, axis, g: np.broadcast_to(g, x.shape)), ""),
        "the sum of g": (one(lambda x, axis, g: np.full(x.shape, np.sum(g))), ""),
    },
    "unbroadcast": {
        "nothing": (one(lambda g, shape: g), "nothing is summed"),
        "new axes only": (
            one(lambda g, shape: g.sum(axis=tuple(range(g.ndim - len(shape))))),
            "axes of length 1 that were stretched",
        ),
        "the mean over new axes": (one(by_means(True, False)), "the mean over the new axes"),
        "the mean over stretched axes": (
            one(by_means(False, True)),
            "the mean over the stretched axes",
        ),
        "g in place": (
            one(cleared),
            "`unbroadcast` changed its argument `g` in place",
        ),
        "everything": (one(lambda g, shape: np.full(shape, g.sum())), "you sum over all axes"),
    },
    "pull_matmul": {
        "without g": (one(lambda a, b, g: (b.T, a.T)), "`g` is left out"),
        "untransposed": (
            one(lambda a, b, g: (g @ b, a @ g)),
            "It looks as if the other operand is not transposed",
        ),
        "the second untransposed": (
            one(lambda a, b, g: (g @ b.T, a @ g)),
            "in the part of `b` the other operand is not transposed",
        ),
        "order": (one(lambda a, b, g: (b.T @ g, g @ a.T)), "in the wrong order"),
        "element by element, transposed": (
            one(lambda a, b, g: (g * b.T, a.T * g)),
            "It looks as if you use `*`",
        ),
        "the first element by element": (
            one(lambda a, b, g: (g * b.T, a.T @ g)),
            "in the part of `a` you use `*`",
        ),
        "swapped": (one(lambda a, b, g: (a.T @ g, g @ b.T)), "the operands are swapped"),
        "the first only": (one(lambda a, b, g: (g @ b.T, 0 * b)), "the second input gets nothing"),
        "sign of the second": (
            one(lambda a, b, g: (g @ b.T, -a.T @ g)),
            "the sign of the second part",
        ),
        "no g": (
            one(lambda a, b, g: (np.ones_like(g) @ b.T, a.T @ np.ones_like(g))),
            "you left out `g`",
        ),
        "the second transposed": (
            one(lambda a, b, g: (g @ b.T, g.T @ a)),
            "in the part of `b` what is returned is the transpose",
        ),
    },
}


# ----------------------------------------------------------------------------------------- lesson 6


def twice_differentiated(f, x, v, seed=True):
    (slope,) = grad(f(x), x, create_graph=True)
    return grad(slope, x, grad_outputs=v if seed else mg.ones_like(v))[0]


def slope(f, x):
    return grad(f(x), x)[0]


def differences(h, sides=2):
    def product(f, x, v):
        up, down = (
            slope(f, (x + s * h * v).detach().requires_grad_())
            for s in (1, -1 if sides == 2 else 0)
        )
        return (up - down) / (sides * h)

    return one(product)


def sigmoid(value=lambda x: 1 / (1 + mg.exp(-x)), pull=lambda s, g: g * s * (1 - s)):
    class Sigmoid(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            s = value(x)
            ctx.save_for_backward(s)
            return s

        @staticmethod
        def backward(ctx, g):
            return pull(*ctx.saved_tensors, g)

    return one(Sigmoid)


VERDICTS = {"a": "zeros", "b": "error", "c": "error", "d": "None", "e": "zeros"}
LESSON_6 = {
    "exp_reducer_vjp": {
        "along the rows": (one(lambda x, g: g[None, : x.shape[1]] * np.exp(x)), ""),
        "no g": (one(lambda x, g: np.exp(x)), "you left out `g`"),
        "g alone": (one(lambda x, g: g[:, None] + 0 * x), ""),
        "sign": (one(lambda x, g: -g[:, None] * np.exp(x)), "the sign is reversed"),
        "half": (one(lambda x, g: g[:, None] * np.exp(x) / 2), "a factor 2 is missing"),
        "the mean": (one(lambda x, g: g[:, None] * np.exp(x) / x.shape[1]), ""),
    },
    "exp_reducer_jvp": {
        "product of sums": (one(lambda x, dx: np.exp(x).sum(axis=1) * dx.sum(axis=1)), ""),
        "no tangents": (one(lambda x, dx: np.exp(x).sum(axis=1)), "you left out the tangents"),
        "two values": (
            one(lambda x, dx: np.exp(x + dx).sum(axis=1) - np.exp(x).sum(axis=1)),
            "f(x + dx) − f(x)",
        ),
        "the mean": (one(lambda x, dx: (np.exp(x) * dx).mean(axis=1)), "the rule of a mean"),
        "sign": (one(lambda x, dx: -(np.exp(x) * dx).sum(axis=1)), "the sign is reversed"),
        "the value at x + dx": (one(lambda x, dx: np.exp(x + dx).sum(axis=1)), "is no step"),
    },
    "verdicts": {
        f"row {row} as {word}": (one({**VERDICTS, row: word}), f"is not {word!r}: ")
        for row, words in {
            "a": ("None", "error"),
            "b": ("zeros",),
            "c": ("None", "zeros"),
            "d": ("zeros", "error"),
            "e": ("None",),
        }.items()
        for word in words
    },
    "hessian_times": {
        "no v": (one(lambda f, x, v: twice_differentiated(f, x, v, False)), "v is left out"),
        "sums of rows times v": (
            one(lambda f, x, v: v * twice_differentiated(f, x, v, False)),
            "the Hessian times ones, and multiply",
        ),
        "gradient times v": (
            one(lambda f, x, v: slope(f, x) * v),
            "you return the gradient times v",
        ),
        "the gradient": (one(lambda f, x, v: slope(f, x)), "the first derivative"),
        "differences": (differences(1e-5), "difference of two gradients"),
        "no graph": (one(lambda f, x, v: grad(grad(f(x), x)[0], x, grad_outputs=v)[0]), "raised"),
    },
    "sigmoid_function": {
        "no g": (sigmoid(pull=lambda s, g: s * (1 - s)), "leaves out `g`"),
        "g alone": (sigmoid(pull=lambda s, g: g), "passes `g` on unchanged"),
        "as for exp": (sigmoid(pull=lambda s, g: g * s), "as the rule of exp does"),
        "sign": (sigmoid(pull=lambda s, g: -g * s * (1 - s)), "the sign of the gradient"),
        "as for tanh": (sigmoid(pull=lambda s, g: g * (1 - s * s)), "the rule of tanh"),
        "cut off": (sigmoid(pull=lambda s, g: g * s.detach() * (1 - s.detach())), ""),
        "g in place": (
            sigmoid(pull=lambda s, g: g.mul_(s * (1 - s))),
            "`Sigmoid.backward` changed its argument `g` in place",
        ),
    },
}


# ----------------------------------------------------------------------------------------- lesson 7


def chained(pulls=lambda pulls: pulls[::-1], seed=lambda dout: dout, shared=False, cleared=False):
    def chain(functions):
        kept = []

        def k(x):
            pulls_of = kept if shared else []
            if cleared:
                kept.clear()
            for function in functions:
                x, bprop = function(x)
                pulls_of.append(bprop)
                if cleared:
                    kept.append(bprop)

            def bprop(dout):
                dout = seed(dout)
                for pull in pulls(kept if cleared else pulls_of):
                    dout = pull(dout)
                return dout

            return x, bprop

        return k

    return one(chain)


def added_pulls(functions):
    def k(x):
        pulls = []
        for function in functions:
            x, pull = function(x)
            pulls.append(pull)
        return x, lambda dout: sum(pull(dout) for pull in pulls)

    return k


def multiplied_pulls(functions):
    def k(x):
        pulls = []
        for function in functions:
            x, pull = function(x)
            pulls.append(pull)
        return x, lambda dout: np.prod([pull(dout) for pull in pulls], axis=0)

    return k


def used_up(functions):
    def k(x):
        pulls = []
        for function in functions:
            x, pull = function(x)
            pulls.append(pull)

        def bprop(dout):
            while pulls:
                dout = pulls.pop()(dout)
            return dout

        return x, bprop

    return k


def run_backward(functions):
    return chained()[0](functions[::-1])


def bprop(f):
    return one(lambda x, out, dout: (f(x, out, dout),))


GO = mg.GradOperation
CHOICES = {
    "a": GO(),
    "b": GO(get_all=True),
    "c": GO(get_by_list=True),
    "d": GO(get_all=True, get_by_list=True),
    "e": GO(get_all=True, sens_param=True),
}
LESSON_7 = {
    "chain": {
        "first to last": (chained(pulls=list), "from the first to the last"),
        "the last only": (
            chained(pulls=lambda pulls: pulls[-1:]),
            "only the last function's pullback",
        ),
        "the first forgotten": (
            chained(pulls=lambda pulls: pulls[:0:-1]),
            "the first function's pullback is not called",
        ),
        "added": (one(added_pulls), "each pullback gets `dout`"),
        "one list for all": (chained(shared=True), "one list of pullbacks serves all runs"),
        "the last run's list": (chained(cleared=True), "it is the last run's"),
        "ones": (chained(seed=np.ones_like), "start from ones"),
        "used up": (one(used_up), "wrong when it is called again"),
        "run backward": (one(run_backward), "run from the last to the first"),
        "multiplied": (one(multiplied_pulls), "the results are multiplied"),
    },
    "bprop_exp": {
        "no dout": (bprop(lambda x, out, dout: out), "`dout` is left out"),
        "dout alone": (bprop(lambda x, out, dout: dout), "`dout` passes unchanged"),
        "sign": (bprop(lambda x, out, dout: -dout * out), "the sign is reversed"),
        "reads x": (bprop(lambda x, out, dout: dout * mg.exp(x)), "he rule reads x"),
        "no tuple": (one(lambda x, out, dout: dout * out), "with the comma"),
        "exp of out": (bprop(lambda x, out, dout: dout * mg.exp(out)), ""),
    },
    "bprop_tan": {
        "the value": (bprop(lambda x, out, dout: dout * out), "multiplied by the result"),
        "no dout": (bprop(lambda x, out, dout: 1 + out * out), "`dout` is left out"),
        "dout alone": (bprop(lambda x, out, dout: dout), "`dout` passes unchanged"),
        "the square alone": (bprop(lambda x, out, dout: dout * out * out), "the 1 is missing"),
        "the reciprocal": (bprop(lambda x, out, dout: dout / (1 + out * out)), "1/cos²"),
        "sign": (bprop(lambda x, out, dout: -dout * (1 + out * out)), "the sign is reversed"),
        "reads x": (bprop(lambda x, out, dout: dout / mg.cos(x) ** 2), "he rule reads x"),
        "one cosine": (
            bprop(lambda x, out, dout: dout / mg.cos(x)),
            "divide by the cosine once",
        ),
    },
    "choices": {
        "b as a": (one({**CHOICES, "b": CHOICES["a"]}), "the first alone"),
        "a alone": (one({"a": CHOICES["a"]}), "ow b has no GradOperation yet"),
        "c as b": (one({**CHOICES, "c": CHOICES["b"]}), "gradients of the inputs where"),
        "d as c": (one({**CHOICES, "d": CHOICES["c"]}), "the inputs are missing"),
        "d as b": (one({**CHOICES, "d": CHOICES["b"]}), "ow d"),
        "e without g": (one({**CHOICES, "e": CHOICES["b"]}), "ow e"),
        "a as b": (one({**CHOICES, "a": CHOICES["b"]}), "ow a"),
    },
}


# ----------------------------------------------------------------------------------------- lesson 8


def pushed(second=lambda g, v, u: grad(g, v, grad_outputs=u)[0], seed=mg.ones_like):
    def jvp_from_vjp(f, x, u):
        y = f(x)
        v = seed(y).requires_grad_()
        (g,) = grad(y, x, grad_outputs=v, create_graph=True)
        return second(g, v, u)

    return one(jvp_from_vjp)


def by_x(f, x, u):
    y = f(x)
    (g,) = grad(y, x, grad_outputs=mg.ones_like(y), create_graph=True)
    return grad(g, x, grad_outputs=u)[0]


def needed(operands, outputs, first=False, steps=10**6):
    found, waiting = set(), list(outputs[:1] if first else outputs)
    while waiting and steps:
        steps -= 1
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += operands[name]
    return found


def recursive_dangling(operands, outputs):
    found = set()

    def visit(name):
        found.add(name)
        for operand in operands[name]:
            visit(operand)

    for name in outputs:
        visit(name)
    return [n for n in operands if n not in found]


def users(operands):
    return {o for row in operands.values() for o in row}


def linear(test):
    return one(lambda g, u, w: bool(test(g, u, w)))


LESSON_8 = {
    "looks_linear": {
        "zero to zero": (
            linear(lambda g, u, w: np.allclose(g(0 * u), 0)),
            "whether zero goes to zero",
        ),
        "multiples": (linear(lambda g, u, w: np.allclose(g(2 * u), 2 * g(u))), "multiples only"),
        "negative multiples": (
            linear(lambda g, u, w: np.allclose(g(-2 * u), -2 * g(u))),
            "multiples only",
        ),
        "exact": (
            linear(lambda g, u, w: np.array_equal(g(2 * u - 3 * w), 2 * g(u) - 3 * g(w))),
            "",
        ),
        "yes": (linear(lambda g, u, w: True), "yes to every map"),
        "no": (linear(lambda g, u, w: False), "is linear"),
    },
    "jvp_from_vjp": {
        "no u": (
            pushed(lambda g, v, u: grad(g, v, grad_outputs=mg.ones_like(u))[0]),
            "u is left out",
        ),
        "one pass": (pushed(lambda g, v, u: g), "the result of the first pass"),
        "by x": (one(by_x), "differentiates with respect to x"),
        "times u": (pushed(lambda g, v, u: g * u), "entry by entry"),
        "sign": (pushed(lambda g, v, u: -grad(g, v, grad_outputs=u)[0]), ""),
        "central differences": (
            one(lambda f, x, u: (f(x + 1e-6 * u) - f(x - 1e-6 * u)) / 2e-6),
            "difference of two values",
        ),
    },
    "marked": {
        "nothing": (one([]), "more nodes dangle"),
        "the seed only": (one(["v"]), "every mark is right"),
        "a result": (one(["x"]), ""),
        "a name that is none": (one(["v", "w9"]), "here is no node"),
        "a text": (one("v"), "should be a list of names"),
        "the input too": (one(["v", "x"]), ""),
    },
    "dangling": {
        "ends only": (
            one(lambda o, out: sorted(set(o) - set(out) - users(o))),
            "nodes that nothing uses",
        ),
        "one step": (
            one(lambda o, out: [n for n in o if n not in out and not any(n in o[k] for k in out)]),
            "back by one step",
        ),
        "the needed": (one(lambda o, out: sorted(needed(o, out))), "the nodes that are needed"),
        "first output": (
            one(lambda o, out: sorted(set(o) - needed(o, out, first=True))),
            "the first output alone",
        ),
        "recursive": (one(recursive_dangling), "RecursionError"),
        "nothing": (one(lambda o, out: []), "is missing"),
        "everything": (one(lambda o, out: list(o)), "an output needs it"),
    },
}

WRONG = LESSON_1 | LESSON_2 | LESSON_3 | LESSON_4 | LESSON_5 | LESSON_6 | LESSON_7 | LESSON_8
