"""A whole engine in the form that a student's has after lesson 11b, and what runs on the student's
side when that engine is put to use.

It stands in for a student's own where the lessons before have not been done (`lent`). While a
submission is graded it always does, for my_engine.py is not there: what is graded is what the
lesson asks for. A drive gets (answers, call, *arguments), as told in lessons/grading/harness.py,
and returns plain values. While a drive differentiates, the rules of all nodes are watched: a rule
must not change what it is given. The file imports NumPy alone, for its source is all that the
student's side gets.
"""

from types import FunctionType

import numpy as np


class Tensor:
    """An array that knows what it was made from, and how to send an adjoint back."""

    def __init__(self, value, parents=(), pull=None, op=""):
        self.value = np.asarray(value, dtype=float)
        self.parents, self.pull, self.op = parents, pull, op

    def sum(self, axis=None):
        """The sum of all elements, or along one axis."""
        x = self.value
        spread = lambda g: g if axis is None else np.expand_dims(g, axis)
        return Tensor(x.sum(axis), (self,), lambda g: (np.broadcast_to(spread(g), x.shape),), "sum")

    def pow(self, n):
        """The elements to the power of a number."""
        x = self.value
        return Tensor(x**n, (self,), lambda g: (g * n * x ** (n - 1),), "pow")


def unbroadcast(g, shape):
    """Sums g over all axes along which an operand of this shape was copied."""
    g = np.asarray(g)
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.sum(axis=stretched, keepdims=True)


def made_of(name, forward, *rules):
    """An operation of Tensors. rules: for each operand what g and the operands send to it."""

    def apply(*operands):
        x = [operand.value for operand in operands]
        pull = lambda g: tuple(
            unbroadcast(rule(g, *x), a.shape) for rule, a in zip(rules, x, strict=True)
        )
        return Tensor(forward(*x), operands, pull, name)

    return apply


ATTACHED = {
    "__add__": made_of("add", np.add, lambda g, a, b: g, lambda g, a, b: g),
    "__sub__": made_of("sub", np.subtract, lambda g, a, b: g, lambda g, a, b: -g),
    "__mul__": made_of("mul", np.multiply, lambda g, a, b: g * b, lambda g, a, b: g * a),
    "__truediv__": made_of("div", np.divide, lambda g, a, b: g / b, lambda g, a, b: -g * a / b**2),
    "__matmul__": made_of("matmul", np.matmul, lambda g, a, b: g @ b.T, lambda g, a, b: a.T @ g),
    "exp": made_of("exp", np.exp, lambda g, a: g * np.exp(a)),
    "log": made_of("log", np.log, lambda g, a: g / a),
    "t": made_of("t", np.transpose, lambda g, a: g.T),
}
for _name, _function in ATTACHED.items():
    setattr(Tensor, _name, _function)

relu = made_of("relu", lambda a: np.maximum(a, 0.0), lambda g, a: g * (a > 0))


def topological_order(output):
    """All nodes behind `output`, each after its parents; `output` comes last."""
    order, done, waiting = [], set(), [(output, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            order.append(node)
        elif node not in done:
            done.add(node)
            waiting.append((node, True))
            waiting.extend((parent, False) for parent in node.parents)
    return order


def gradients(order, wanted):
    """The derivatives of the last node of `order` with respect to each node of `wanted`."""
    adjoint = {order[-1]: 1.0}
    for node in reversed(order):
        if node.parents and node in adjoint:
            for parent, part in zip(node.parents, node.pull(adjoint[node]), strict=True):
                adjoint[parent] = adjoint[parent] + part if parent in adjoint else part
    return [adjoint.get(node, 0.0) for node in wanted]


class Dual:
    """A Tensor and its tangent, which is a Tensor too."""

    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent

    def __add__(self, other):
        return Dual(self.value + other.value, self.tangent + other.tangent)

    def __sub__(self, other):
        return Dual(self.value - other.value, self.tangent - other.tangent)

    def __mul__(self, other):
        tangent = self.tangent * other.value + self.value * other.tangent
        return Dual(self.value * other.value, tangent)

    def __truediv__(self, other):
        y = self.value / other.value
        return Dual(y, (self.tangent - y * other.tangent) / other.value)

    def __matmul__(self, other):
        tangent = self.tangent @ other.value + self.value @ other.tangent
        return Dual(self.value @ other.value, tangent)

    def t(self):
        """The transpose."""
        return Dual(self.value.t(), self.tangent.t())

    def sum(self, axis=None):
        """The sum of all elements, or along one axis."""
        return Dual(self.value.sum(axis), self.tangent.sum(axis))

    def exp(self):
        """The exponential of each element."""
        y = self.value.exp()
        return Dual(y, y * self.tangent)

    def log(self):
        """The logarithm of each element."""
        return Dual(self.value.log(), self.tangent / self.value)

    def pow(self, n):
        """The elements to the power of a number."""
        return Dual(self.value.pow(n), Tensor(n) * self.value.pow(n - 1) * self.tangent)


def hvp(f, x, dx):
    """The Hessian of f at x, times dx."""
    point = Tensor(x)
    slope = f(Dual(point, Tensor(dx))).tangent
    return gradients(topological_order(slope), [point])[0]


PIECES = {
    "Tensor": Tensor,
    "topological_order": topological_order,
    "gradients": gradients,
    "unbroadcast": unbroadcast,
    "relu": relu,
}


# ---------------------------------------------------------- the engine of a submission, or this one


def lent(answers, **more):
    """The pieces of the engine that the student's functions use, by name. Where there is no
    Tensor in their notebook, the pieces above are put into it. more: pieces of later lessons.
    """
    pieces = PIECES | more
    for answer in answers.values():
        function = answer.__init__ if isinstance(answer, type) else answer
        scope = getattr(function, "__globals__", None)
        if scope is not None:
            own = isinstance(scope.get("Tensor"), type)
            for name, piece in pieces.items():
                if not own or not isinstance(scope.get(name), FunctionType | type):
                    scope[name] = piece
            pieces = {name: scope[name] for name in pieces}
            break
    return pieces | {"gradients": answers.watching(pieces["gradients"])}


OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "matmul": lambda a, b: a @ b,
    "exp": lambda a: a.exp(),
    "log": lambda a: a.log(),
    "t": lambda a: a.t(),
    "square": lambda a: a.pow(2),
    "sum": lambda a: a.sum(),
    "sum over rows": lambda a: a.sum(0),
    "sum over columns": lambda a: a.sum(1),
}


def run(operation, operands, op):
    """What an operation gives. `Answers.computed` also looks whether it changed an operand."""
    return operation(*operands)


def built(nodes, rows, operations=OPERATIONS, run=run):
    """The nodes of some rows, by name, put to those that are there already; None where an
    operation gives nothing.
    """
    nodes = dict(nodes)
    for name, op, operands in rows:
        nodes[name] = run(operations[op], [nodes[o] for o in operands], op)
        if nodes[name] is None:
            return None
    return nodes


def array(node):
    """The array of a node; what is no node stays as it is."""
    return np.asarray(getattr(node, "value", node), dtype=float)


def leaves_of(engine, inputs):
    """A Tensor of each input."""
    return {name: engine["Tensor"](np.array(value)) for name, value in inputs.items()}


def with_rules(answers, engine):
    """The operations of the engine, with products, quotients and logarithms by the student's
    rules.
    """

    def node(op, forward):
        def apply(*operands):
            x = [operand.value for operand in operands]

            def pull(g):
                parts = answers[f"pull_{op}"](*x, np.asarray(g))
                if parts is None:
                    raise TypeError(
                        f"`pull_{op}` gave nothing (None): is a `return` missing in it?"
                    )
                parts = parts if isinstance(parts, tuple | list) else (parts,)
                if len(parts) != len(x):
                    raise ValueError(
                        f"`pull_{op}` should return {len(x)} contributions, one for each operand,"
                        f" but it returned {len(parts)}."
                    )
                return parts

            return engine["Tensor"](forward(*x), operands, pull, op)

        return apply

    own = {"mul": np.multiply, "div": np.divide, "log": np.log}
    made = {op: node(op, forward) for op, forward in own.items()}
    return {**OPERATIONS, "relu": engine["relu"], **made}


def grown(answers, call, what, *given):
    """The gradients of a graph by every node, after so many passes; or those of a deep one."""
    engine = lent(answers)
    operations = with_rules(answers, engine)
    if what == "deep":
        shape, n = given
        x, b = engine["Tensor"](np.array([1.0])), engine["Tensor"](np.array([0.5]))
        y = x + b
        for _ in range(n - 1):
            y = y + (b if shape == "chain" else y)
        found = engine["gradients"](engine["topological_order"](y.sum()), [x, b])
        return {"x": array(found[0]), "b": array(found[1])}
    inputs, rows, before, passes = given
    leaves = leaves_of(engine, inputs)
    if before:
        earlier = built(leaves, before, operations, answers.computed)
        engine["gradients"](
            engine["topological_order"](earlier[before[-1][0]]), list(earlier.values())
        )
    nodes = built(leaves, rows, operations, answers.computed)
    for _ in range(passes):
        found = answers.differentiated(engine, nodes, rows[-1][0])
    return {name: array(g) for name, g in zip(nodes, found, strict=True)}


# ---------------------------------------------------------------- forward mode, second derivatives


def forward(answers, call, inputs, tangents, rows):
    """Value and tangent of each row, by the student's dual numbers of Tensors."""
    engine = lent(answers)
    tensor = lambda value: engine["Tensor"](np.array(value))
    duals = {name: answers[call](tensor(x), tensor(tangents[name])) for name, x in inputs.items()}
    nodes = built(duals, rows, run=answers.computed)
    if nodes is None:
        return None
    found = {}
    for name, _, _ in rows:
        for part in ("value", "tangent"):
            if not hasattr(nodes[name], part):
                kind = type(nodes[name]).__name__
                raise TypeError(f"an operation of two Duals gave a {kind}, which has no {part}")
            found[f"{part} of {name}"] = array(getattr(nodes[name], part))
    return found


def second(answers, call, x, rows, u, dx):
    """hvp(f, x, direction) in two directions, f being the last of some rows of x1."""
    lent(answers)
    f = lambda point: built({"x1": point}, rows)[rows[-1][0]]
    found = {}
    for name, direction in (("H u", u), ("H ẋ", dx)):
        product = answers[call](f, np.array(x), np.array(direction))
        if product is None or product is ...:
            return None
        product = array(product)
        found[name] = np.broadcast_to(product, x.shape) if product.ndim == 0 else product
    return found


def product(answers, call, x, rows, moved):
    """function(f, x, moved), f being the last of some rows of x1: a product with the Jacobian of
    f or its transpose, or with both.
    """
    lent(answers, Dual=Dual)
    f = lambda point: built({"x1": point}, rows)[rows[-1][0]]
    found = answers[call](f, np.array(x), np.array(moved))
    if found is None or found is ...:
        return found
    return [array(one) for one in found] if isinstance(found, tuple | list) else array(found)


# --------------------------------------------------------------------- checkpoints, own operations


def checkpointed(answers, call, inputs, stages, rows, passes):
    """Stages [[operands, rows], …] by checkpoint(piece, *operands), and some rows at the end:
    value, gradients by the inputs, nodes that are kept, and the runs of each stage before the
    reverse pass and after it.
    """
    engine = lent(answers)
    nodes = leaves = leaves_of(engine, inputs)
    runs = [0] * len(stages)
    for i, (operands, made) in enumerate(stages):

        def piece(*given, i=i, operands=operands, made=made):
            runs[i] += 1
            return built(dict(zip(operands, given, strict=True)), made)[made[-1][0]]

        result = answers[call](piece, *(nodes[o] for o in operands))
        if result is None:
            return None
        nodes = {**nodes, made[-1][0]: result}
    output = built(nodes, rows)[rows[-1][0]]
    order, before = engine["topological_order"](output), list(runs)
    for _ in range(passes):
        found = engine["gradients"](order, list(leaves.values()))
    return {
        "value": float(array(output)),
        "gradients": {name: array(g) for name, g in zip(leaves, found, strict=True)},
        "nodes": len(order),
        "before": before,
        "after": list(runs),
    }


STEPS = {
    "damped": lambda c, s: s - c(0.1) * s.pow(3),
    "grown": lambda c, s, p: s + c(0.1) * (p * s - s.pow(2)),
    "driven": lambda c, s, p, q: s + c(0.2) * (p - q * s.pow(2)),
}
"""Steps of simulators; c makes a constant of a number."""


def swept(answers, call, kind, n, slots, state, inputs, g):
    """sweep(step, n, slots, state, inputs, g): what is sent back, from which states steps were run
    (0 is the given one; -1 where the state is none of them), and how many of these states had a
    graph of their own.
    """
    engine = lent(answers)
    tensor, rule = engine["Tensor"], STEPS[kind]
    states, calls, linked = [np.array(state)], [], 0
    for _ in range(n):
        states.append(rule(tensor, tensor(states[-1]), *map(tensor, inputs)).value)

    def step(s, *given):
        nonlocal linked
        same = [i for i, known in enumerate(states) if np.array_equal(known, s.value)]
        calls.append(same[0] if same else -1)
        linked += bool(s.parents)
        return rule(tensor, s, *given)

    found = answers[call](step, n, slots, np.array(state), [np.array(x) for x in inputs], g)
    if found is None:
        return None
    several = isinstance(found, tuple | list)
    sent = [array(part) for part in found] if several else array(found)
    return {"sent": sent, "calls": calls, "linked": linked}


def covered(answers, call, d, width):
    """cover(d, width): the coverage, and its slope by each element of d."""
    engine = lent(answers)
    distance = engine["Tensor"](np.array(d))
    found = answers[call](distance, width)
    if not hasattr(found, "value"):
        return found
    order = engine["topological_order"](found.sum())
    slope = array(engine["gradients"](order, [distance])[0])
    return {"value": array(found), "slope": np.broadcast_to(slope, np.shape(d)).copy()}


def painted(answers, call, canvas, covers, colours):
    """paint(canvas, covers, colours): the picture, and the slopes of its sum by each coverage."""
    engine = lent(answers)
    tensors = lambda arrays: [engine["Tensor"](np.array(a)) for a in arrays]
    leaves = tensors(covers)
    found = answers[call](engine["Tensor"](np.array(canvas)), leaves, tensors(colours))
    if not hasattr(found, "value"):
        return found
    slopes = map(array, engine["gradients"](engine["topological_order"](found.sum()), leaves))
    shapes = map(np.shape, covers)
    return {
        "value": array(found),
        "slopes": [np.broadcast_to(s, n).copy() for s, n in zip(slopes, shapes, strict=True)],
    }


def _logistic(x):
    return 1 / (1 + np.exp(-x))


RULES = {
    "softplus": (
        lambda x: np.logaddexp(0.0, x),
        lambda g, y, x: (g * _logistic(x),),
    ),
    "sigmoid": (_logistic, lambda g, y, x: (g * y * (1 - y),)),
    "hypotenuse": (np.hypot, lambda g, y, a, b: (g * a / y, g * b / y)),
    "blend": (
        lambda a, b, w: w * a + (1 - w) * b,
        lambda g, y, a, b, w: (g * w, g * (1 - w), g * (a - b)),
    ),
}
"""Operations of one to three arrays: what they compute, and what they send back."""


def own_rule(answers, call, kind, inputs, passes):
    """operation(forward, pull, name) for one of RULES: value and gradients of the sum of its
    squares, its name, and how often its two functions ran, before the reverse pass and after it.
    """
    engine = lent(answers)
    runs = {"forward": 0, "pull": 0}

    def counted(which, function):
        def run(*given):
            runs[which] += 1
            return function(*given)

        return run

    leaves = [engine["Tensor"](np.array(x)) for x in inputs]
    forward, pull = (
        counted(which, function)
        for which, function in zip(("forward", "pull"), RULES[kind], strict=True)
    )
    made = answers[call](forward, pull, kind)
    if made is None:
        return None
    y = made(*leaves)
    if y is None:
        return None
    if not hasattr(y, "parents"):
        raise TypeError(f"the operation gave a {type(y).__name__}; it should give a Tensor")
    output, before = y.pow(2).sum(), dict(runs)
    for _ in range(passes):
        found = engine["gradients"](engine["topological_order"](output), leaves)
    return {
        "value": array(y),
        "gradients": [array(g) for g in found],
        "name": y.op,
        "before": before,
        "after": runs,
    }


# --------------------------------------------------------------------------------- fixed points

ROUNDS = 3_000
"""So often a step may run for one fixed point. The slowest case needs about a tenth of it."""


def settled(answers, call, matrix, g, allowed):
    """settle(pull, g) for pull(u) = matrixᵀ u, which may be called so many times."""
    calls = 0

    def pull(u):
        nonlocal calls
        calls += 1
        if calls > allowed:
            raise RuntimeError(
                f"`pull` was called more than {allowed} times, and a third of that is enough: stop"
                " as soon as u has settled"
            )
        return matrix.T @ u

    return answers[call](pull, np.array(g))


def at_rest(answers, call, start, inputs, rows, after, passes):
    """fixed_point(step, start, *inputs), the step being some rows of z and the inputs, and then
    some rows of its result y: value, gradients by the inputs, nodes that are kept, and the runs of
    the step in all reverse passes.
    """
    engine, runs = lent(answers), 0

    def step(*given):
        nonlocal runs
        runs += 1
        if runs > ROUNDS:
            raise RuntimeError(f"`step` ran more than {ROUNDS} times: a loop does not stop")
        if len(given) != 1 + len(inputs):
            raise TypeError(
                f"`step` was given {len(given)} argument(s); it takes z and {len(inputs)} input(s)"
            )
        if not all(isinstance(node, engine["Tensor"]) for node in given):
            raise TypeError("`step` was given an array; it takes Tensors and returns one")
        return built(dict(zip(["z", *inputs], given, strict=True)), rows)[rows[-1][0]]

    leaves = leaves_of(engine, inputs)
    y = answers[call](step, np.array(start), *leaves.values())
    if y is None:
        return None
    if not hasattr(y, "parents"):
        raise TypeError(f"`{call}` gave a {type(y).__name__}; it should give a Tensor")
    output = built({**leaves, "y": y}, after)[after[-1][0]]
    order, before = engine["topological_order"](output), runs
    for _ in range(passes):
        found = engine["gradients"](order, list(leaves.values()))
    return {
        "value": float(array(output)),
        "gradients": {name: array(g) for name, g in zip(leaves, found, strict=True)},
        "nodes": len(order),
        "back": runs - before,
    }


# ------------------------------------------------------------------------------ names of villages

tanh = made_of("tanh", np.tanh, lambda g, a: g * (1 - np.tanh(a) ** 2))


def unrolled(answers, call, letters, parameters, weights):
    """unroll(letters, parameters): the scores of each step, and the slopes of their weighted sum by
    each parameter.
    """
    engine = lent(answers, tanh=tanh)
    leaves = [engine["Tensor"](np.array(p)) for p in parameters]
    scores = answers[call]([np.array(x) for x in letters], leaves)
    if scores is None or scores is ...:
        return None
    if not isinstance(scores, list | tuple) or not all(hasattr(s, "value") for s in scores):
        raise TypeError(f"`{call}` should return a list of Tensors, the scores of each step")
    total = engine["Tensor"](0.0)
    for score, weight in zip(scores, weights, strict=False):
        total = total + (score * engine["Tensor"](np.array(weight))).sum()
    return {"scores": [array(s) for s in scores], "slopes": slopes_of(engine, total.sum(), leaves)}


def slopes_of(engine, total, leaves):
    """The derivatives of a number by each leaf, in the leaf's shape."""
    found = engine["gradients"](engine["topological_order"](total), leaves)
    return [
        np.broadcast_to(array(g), a.value.shape).copy() for g, a in zip(found, leaves, strict=True)
    ]


def surprised(answers, call, scores, targets, weights):
    """name_loss(scores, targets, weights): the loss, and its slopes by the scores. With a loss that
    is not finite comes what NumPy noticed on the way: "overflow", "divide by zero".
    """
    engine = lent(answers)
    leaves = [engine["Tensor"](np.array(s)) for s in scores]
    given = [[np.array(a) for a in arrays] for arrays in (targets, weights)]
    with np.errstate(all="ignore"):
        raised = set()
        with np.errstate(all="call", call=lambda kind, flag: raised.add(kind)):
            found = answers[call](leaves, *given)
        if not hasattr(found, "value"):
            return found
        value = array(found)
        if value.size != 1:
            raise TypeError(f"the loss has the shape {value.shape}; it should be one number")
        slopes = slopes_of(engine, found, leaves)
    returned = {"value": float(value.reshape(())), "slopes": slopes}
    return returned if np.isfinite(value).all() else {**returned, "raised": sorted(raised)}


# --------------------------------------------------------------------------------------- projects


def missed(answers, call, points):
    """residuals(numbers) at the points of the project that is the student's choice: the sum of its
    squares, and the slopes of that.
    """
    name = answers["choice"]
    if name is None or name is ...:
        return None
    name = name if isinstance(name, str) else ""
    engine, values, slopes = lent(answers), [], []
    for point in points.get(name, []):
        leaves = [engine["Tensor"](float(x)) for x in point]
        found = answers[call](leaves)
        if found is None or found is ...:
            return None
        if not hasattr(found, "value"):
            raise TypeError(f"`{call}` gave a {type(found).__name__}; it should give a Tensor")
        total = found.pow(2).sum()
        values.append(float(array(total)))
        slopes.append([float(np.sum(g)) for g in slopes_of(engine, total, leaves)])
    return {"name": name, "values": values, "slopes": slopes}


def ranked(answers, call, starts, sizes):
    """A project's name and numbers, the student's choice, and what the student's own program makes
    of these numbers and of those to start with: the sums of the squared residuals. Numbers that do
    not fit the project are not tried; the judge says what is wrong with them.
    """
    project, choice = answers[call], answers.get("choice")
    choice = choice if isinstance(choice, str) else ""
    if not isinstance(project, dict) or not {"name", "numbers"} <= set(project):
        raise TypeError(f"`{call}` should be {{'name': choice, 'numbers': [your numbers]}}")
    found = {"name": project["name"], "numbers": project["numbers"], "choice": choice}
    if choice != found["name"] or choice not in starts:
        return found
    try:
        numbers = [float(x) for x in found["numbers"]]
    except (TypeError, ValueError):
        return found
    if len(numbers) in sizes[choice] and np.all(np.isfinite(numbers)):
        found["found"] = _squared(answers, numbers)
        found["start"] = _squared(answers, starts[choice][: len(numbers)])
    return found


def _squared(answers, numbers):
    tensor = lent(answers)["Tensor"]
    residuals = answers["residuals"]([tensor(x) for x in numbers])
    return float(np.sum(array(residuals) ** 2))


# ------------------------------------------------------------------------------ sparse Jacobians


def compressed(answers, call, x, rows, colours, squared, plain):
    """jacobian(f, x, rows, colours) of f(X) = (X squared)² + X plain, for each row of X: the
    entries, how often f ran, for how many copies of x, and how many backward passes were made.
    """
    engine = lent(answers)
    counts = {"runs": 0, "copies": 0, "passes": 0}

    def f(given):
        if not isinstance(given, engine["Tensor"]):
            raise TypeError("`f` was given an array; it takes a Tensor and returns one")
        shape = given.value.shape
        if len(shape) != 2 or shape[1] != len(x):
            raise TypeError(
                f"`f` was given the shape {shape}; it takes copies of x as rows: (k, {len(x)})"
            )
        counts["runs"] += 1
        counts["copies"] += shape[0]
        inner = (given @ engine["Tensor"](squared)).pow(2) + given @ engine["Tensor"](plain)

        def pull(g):
            counts["passes"] += 1
            return (g,)

        return engine["Tensor"](inner.value, (inner,), pull, "f")

    found = answers[call](f, np.array(x), [list(row) for row in rows], list(colours))
    if found is None:
        return None
    try:
        entries = [np.asarray(row, dtype=float) for row in found]
    except TypeError:
        raise TypeError(f"`{call}` should return a list of numbers for each row") from None
    return {"entries": entries, **counts}


# ----------------------------------------------------------------------------- a check of gradients

IN_NUMPY = {
    **OPERATIONS,
    "exp": np.exp,
    "log": np.log,
    "t": np.transpose,
    "square": np.square,
    "sum": np.sum,
    "relu": lambda a: np.maximum(a, 0.0),
    "sum over rows": lambda a: a.sum(0),
    "sum over columns": lambda a: a.sum(1),
}


def judged(answers, call, x, rows, found):
    """agrees(f, x, found): f is the last of some rows of x1, as a function of an array."""
    f = lambda point: float(built({"x1": np.asarray(point)}, rows, IN_NUMPY)[rows[-1][0]])
    with np.errstate(all="ignore"):
        said = answers[call](f, np.array(x), np.array(found))
    return bool(said) if isinstance(said, np.bool_) else said
