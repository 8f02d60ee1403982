"""A suite for engines like the one that students build in lessons 3 to 11b: it differentiates what
the engine differentiates, by other means, and says which piece is wrong.

    python -m minigrad.lessons.engine_suite my_engine.py

    from minigrad.lessons.engine_suite import report
    report(Tensor, topological_order, gradients, relu, Dual, hvp)      in a cell

The trials come in six groups, and each group rests on the ones before it: the rules, one operation
at a time, without the engine's order and loop; the order, on graphs without rules; the loop, with
an order and rules of the suite's own; all pieces together; second derivatives; long chains. So the
first trial that fails tells which piece is to blame.

No right answer is written here. What is right comes from NumPy: a function is computed with complex
numbers at x + i·10⁻³⁰·d, and the imaginary part of the result, divided by 10⁻³⁰, is its derivative
along d (W. Squire, G. Trapp: Using complex variables to estimate derivatives of real functions,
SIAM Review 40, 1998). Nothing is subtracted, so nothing is lost to rounding.

Each trial has three parts: `draw` makes its data, `measure` lets the engine work on them and
returns plain numbers, `judge` compares these with what is right and returns a sentence, or "" where
all is well. A submission is measured on the student's side and judged by the grader. The file needs
NumPy alone.
"""

import sys
from collections import namedtuple

import numpy as np

PIECES = ("Tensor", "topological_order", "gradients", "relu", "Dual", "hvp")
"""What is put to the test, in this order."""
DEEP = 20_000
"""So many nodes has the longest chain: twenty times what Python's recursion allows."""

Trial = namedtuple("Trial", "group name blame draw measure judge")
"""group: RULES, ORDER, …; name: what the trial is about; blame: the piece that is wrong if it
fails; draw(rng) -> data; measure(engine, data) -> plain values; judge(data, measured) -> text.
"""
Failure = namedtuple("Failure", "group name blame say")
"""A trial that failed, and the sentence of its judge."""

RULES, ORDER, LOOP, TOGETHER, SECOND, LONG = GROUPS = (
    "each rule by itself",
    "the order",
    "the loop",
    "all together",
    "second derivatives",
    f"{DEEP:,} nodes",
)

# ----------------------------------------------------------------------------------- the operations

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
    "cube": lambda a: a.pow(3),
    "sum": lambda a: a.sum(),
    "sum over rows": lambda a: a.sum(0),
    "sum over columns": lambda a: a.sum(1),
}
"""Operations of Tensors and of Duals; `relu` is a function of the engine."""
IN_NUMPY = OPERATIONS | {
    "exp": np.exp,
    "log": np.log,
    "t": np.transpose,
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "sum": np.sum,
    "sum over rows": lambda a: a.sum(0),
    "sum over columns": lambda a: a.sum(1),
    "relu": lambda a: np.where(a.real > 0, a, 0.0),
}
"""What they compute, of real and of complex arrays."""
WRITTEN = {
    "add": "`+`",
    "sub": "`-`",
    "mul": "`*`",
    "div": "`/`",
    "matmul": "`@`",
    "square": "`pow`",
    "cube": "`pow`",
    "sum over rows": "`sum(0)`",
    "sum over columns": "`sum(1)`",
}
"""Operations as they are written, where that is not their name."""


def written(op):
    """An operation as it is written in a program."""
    return WRITTEN.get(op, f"`{op}`")


def built(engine, leaves, rows):
    """The last of some rows [name, operation, operands] of leaves (Tensors or Duals, by name)."""
    nodes = dict(leaves)
    for name, op, operands in rows:
        made = engine["relu"] if op == "relu" else OPERATIONS[op]
        nodes[name] = made(*(nodes[o] for o in operands))
        if not hasattr(nodes[name], "value"):
            kind = type(nodes[name]).__name__
            raise TypeError(f"{written(op)} gave a {kind}; it should give a new node")
    return nodes[rows[-1][0]]


def in_numpy(inputs, rows):
    """The last row, of arrays."""
    values = dict(inputs)
    for name, op, operands in rows:
        values[name] = IN_NUMPY[op](*(values[o] for o in operands))
    return values[rows[-1][0]]


def array(node):
    """The array of a node; what is no node becomes an array itself."""
    return np.asarray(getattr(node, "value", node), dtype=float)


# --------------------------------------------------------------------------- what is right, exactly

TINY = 1e-30


def along(f, inputs, moved):
    """The derivative of f, a function of a dictionary of arrays, along a dictionary of
    directions: by one complex evaluation.
    """
    shifted = {name: x + 1j * TINY * moved.get(name, 0.0) for name, x in inputs.items()}
    return np.imag(f(shifted)) / TINY


def gradients_of(f, inputs):
    """The derivatives of the number f(inputs) by every element of every input."""
    found = {}
    for name, x in inputs.items():
        slopes = []
        for i in range(x.size):
            unit = np.zeros(x.size)
            unit[i] = 1.0
            slopes.append(float(np.sum(along(f, inputs, {name: unit.reshape(x.shape)}))))
        found[name] = np.reshape(slopes, x.shape)
    return found


def second_of(f, inputs, moved, h=1e-5):
    """How the gradients of the number f(inputs) change along `moved`: the difference of exact
    gradients on both sides.
    """
    at = lambda s: gradients_of(f, {n: x + s * moved.get(n, 0.0) for n, x in inputs.items()})
    after, before = at(h), at(-h)
    return {name: (after[name] - before[name]) / (2 * h) for name in inputs}


def near(a, b, tolerance=1e-7):
    """Whether two arrays of one shape agree, relative to the larger of 1 and their size."""
    if np.shape(a) != np.shape(b):
        return False
    return bool(np.all(np.abs(np.subtract(a, b)) <= tolerance * np.maximum(1.0, np.abs(b))))


def difference(what, found, right, tolerance=1e-7):
    """A sentence on how an array differs from the right one; "" if it does not."""
    if np.shape(found) != np.shape(right):
        return f"{what} has the shape {np.shape(found)}; it should have {np.shape(right)}."
    if near(found, right, tolerance):
        return ""
    gap = np.abs(np.subtract(found, right)) / np.maximum(1.0, np.abs(right))
    at = np.unravel_index(int(np.argmax(np.where(np.isnan(gap), np.inf, gap))), np.shape(gap))
    place = f" at {[int(i) for i in at]}" if at else ""
    a, b = float(np.asarray(found)[at]), float(np.asarray(right)[at])
    digits = 6 if f"{a:.6g}" != f"{b:.6g}" else 16  # nearly right: show where they differ
    said = f"{a:.{digits}g}, and {b:.{digits}g} is right"
    return f"{what}{place} is {said}."


# --------------------------------------------------------------------------- the suite's own engine


def own_order(output):
    """All nodes behind `output`, each after its parents."""
    order, done, waiting = [], set(), [(output, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            order.append(node)
        elif id(node) not in done:
            done.add(id(node))
            waiting += [(node, True), *((parent, False) for parent in node.parents)]
    return order


def sent_back(output, g, leaves):
    """What the rules behind `output` send to each of the leaves; None where that is nothing."""
    adjoints = {id(output): g}
    for node in reversed(own_order(output)):
        if not node.parents or id(node) not in adjoints:
            continue
        parts = node.pull(adjoints[id(node)])
        name = f"`{node.op}`" if getattr(node, "op", "") else "an operation"
        if not isinstance(parts, tuple | list) or any(part is None for part in parts):
            raise TypeError(f"the rule of {name} does not give a part for each operand")
        if len(parts) != len(node.parents):
            raise TypeError(
                f"the rule of {name} gives {len(parts)} part(s) for {len(node.parents)} operand(s)"
            )
        for parent, part in zip(node.parents, parts, strict=True):
            before = adjoints.get(id(parent))
            adjoints[id(parent)] = part if before is None else before + part
    return [adjoints.get(id(leaf)) for leaf in leaves]


# ------------------------------------------------------------------------- group 1: each rule alone

STRETCHED = (
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 1), (2, 3)),
    ((2, 1), (1, 3)),
    ((), (2, 2)),
    ((4, 1, 3), (2, 1)),
)
"""Shapes of two operands: every form of broadcasting."""
BROADCASTING = ("add", "sub", "mul", "div")
POSITIVE = {"log": (0,), "div": (1,)}
"""Operands that stay away from 0."""


def numbers(rng, shape, positive=False):
    """Numbers with two digits after the point, away from 0."""
    signs = 1.0 if positive else rng.choice((-1.0, 1.0), size=shape)
    return np.asarray(np.round(rng.uniform(0.4, 1.6, size=shape) * signs, 2))


def drawn_rule(op, shapes):
    """The data of a trial of one operation: operands, and an adjoint of the result."""

    def draw(rng):
        positive = POSITIVE.get(op, ())
        given = {f"x{i}": numbers(rng, s, i in positive) for i, s in enumerate(shapes)}
        result = np.shape(IN_NUMPY[op](*given.values()))
        return {"op": op, "operands": given, "g": numbers(rng, result)}

    return draw


def measured_rule(engine, data):
    """The value of an operation, what its rule sends back to each operand ("" for nothing), and
    what it changed in place.
    """
    leaves = {name: engine["Tensor"](np.array(x)) for name, x in data["operands"].items()}
    y = built(engine, leaves, [["y", data["op"], list(leaves)]])
    g, value = np.array(data["g"]), np.array(array(y))
    sent = ["" if s is None else np.array(array(s)) for s in sent_back(y, g, leaves.values())]
    changed = [
        what
        for what, now, before in (
            ("the adjoint g that it is given", g, data["g"]),
            ("its own result", array(y), value),
            *(("an operand", array(x), data["operands"][name]) for name, x in leaves.items()),
        )
        if not np.array_equal(now, before)
    ]
    return {"value": value, "sent": sent, "changed": changed}


PLACES = ("its first operand", "its second operand")


def judged_rule(data, got):
    """Whether an operation computes and sends back what it should."""
    op, given, g = data["op"], data["operands"], data["g"]
    run = lambda x: IN_NUMPY[op](*x.values())
    if said := difference(f"the result of {written(op)}", got["value"], run(given)):
        return said
    if got["changed"]:
        return f"{written(op)} changes {got['changed'][0]} in place; others may still need it."
    right = list(gradients_of(lambda x: np.sum(g * run(x)), given).values())
    for i, (found, wanted) in enumerate(zip(got["sent"], right, strict=True)):
        place = PLACES[i] if len(right) > 1 else "its operand"
        if isinstance(found, str):
            return f"{written(op)} sends nothing back to {place}."
        if said := difference(f"what {written(op)} sends back to {place}", found, wanted):
            return said + _in_rule(data, got["sent"], right, i)
    return ""


def _in_rule(data, sent, right, i):
    """What is special about a wrong part: a sentence, or ""."""
    op, given, g = data["op"], data["operands"], data["g"]
    found, wanted = sent[i], right[i]
    x = list(given.values())
    if np.shape(found) != np.shape(wanted):
        same = np.shape(found) == np.shape(g) and np.size(g) > np.size(wanted)
        if not same:
            return ""
        return " It was stretched: what comes back to its copies has to be added up."
    alone = gradients_of(lambda v: np.sum(IN_NUMPY[op](*v.values())), given)
    copies = np.size(g) / max(np.size(x[i]), 1)
    stretched = [("That is the mean over the copies; it should be their sum.", wanted / copies)]
    forms = [
        *(stretched if copies > 1 and op in BROADCASTING else []),
        ("The sign is reversed.", -wanted),
        ("That is twice as much as it should be.", 2 * wanted),
        ("That is half of what it should be.", wanted / 2),
        ("These are zeros alone.", 0 * wanted),
        ("The adjoint g of the result is left out.", list(alone.values())[i]),
        ("That is g as it came.", g),
        ("There is the operand as one factor too many.", wanted * x[i]),
    ]
    if len(sent) > 1:
        forms.append(("That belongs to the other operand.", right[1 - i]))
    return next((f" {say}" for say, form in forms if near(found, form)), "")


def _rules():
    one = {op: [(2, 3)] for op in (*OPERATIONS, "relu") if op not in BROADCASTING}
    one |= {"exp": [(2, 3), ()], "sum": [(2, 3), (4,)], "square": [(2, 3), ()]}
    for op, shapes in one.items():
        for shape in shapes if op != "matmul" else ():
            yield op, (shape,)
    yield from (("matmul", ((2, 3), (3, 4))), ("matmul", ((3, 3), (3, 3))))
    for op in BROADCASTING:
        for shapes in STRETCHED:
            yield op, shapes


# ------------------------------------------------------------------------------- group 2: the order


def chain(n):
    """Each node from the one before."""
    return [[], *([i] for i in range(n - 1))]


def ladder(n):
    """Each node uses the one before twice: 2ⁿ⁻¹ paths."""
    return [[], *([i, i] for i in range(n - 1))]


def parents_of(data):
    """The graph of a trial: given as such, or as the length of a chain."""
    return data["parents"] if "parents" in data else chain(data["chain"])


def factors_of(data):
    """What the rules of that graph multiply by."""
    return data["factors"] if "factors" in data else [[], *[[1]] * (data["chain"] - 1)]


SHAPES = {
    "a node alone": [[]],
    "a node with one parent": [[], [0]],
    "a node that is used twice by one operation": [[], [0, 0]],
    "a fork that comes together again": [[], [0], [0], [1, 2]],
    "a short path and a long one": [[], [0], [1], [2], [0, 3]],
    "a long path and a short one": [[], [0], [1], [2], [3, 0]],
    "two inputs and a shared node": [[], [], [0, 1], [2], [2, 1], [3, 4], [5, 2]],
    "a node that the output does not need": [[], [0], [0], [1]],
    "a ladder with 2¹⁵ paths": ladder(16),
}
"""Graphs as lists: for each node the numbers of its parents. The last one is the output."""


def _counted(kind, nodes):
    """A class like `kind` that counts how often nodes are asked for their parents, so that a walk
    along all 2ⁿ paths ends with a sentence.
    """
    reads = 0

    def parents(self):
        nonlocal reads
        reads += 1
        if reads > 1_000 + 20 * nodes:
            raise RuntimeError(
                f"nodes were asked for their parents {reads:,} times in a graph of {nodes} nodes:"
                " a node that was reached before is walked through again"
            )
        return self.__dict__["parents"]

    def put(self, value):
        self.__dict__["parents"] = value

    return type(kind.__name__, (kind,), {"parents": property(parents, put)})


def measured_order(engine, data):
    """Where the nodes of a graph stand in the order, by number; -1 for what is none of them. The
    order is asked for twice.
    """
    graph = parents_of(data)
    kind, nodes = _counted(engine["Tensor"], len(graph)), []
    for parents in graph:
        pull = lambda g, n=parents: (g,) * len(n)
        above = tuple(nodes[p] for p in parents)
        nodes.append(kind(0.0, above, pull, "add") if parents else kind(0.0))
    number = {id(node): i for i, node in enumerate(nodes)}
    found = []
    for _ in range(2):
        order = engine["topological_order"](nodes[-1])
        if not isinstance(order, list | tuple):
            raise TypeError(f"`topological_order` gave a {type(order).__name__}, not a list")
        found.append([number.get(id(node), -1) for node in order])
    return {"orders": found}


def judged_order(data, got):
    """Whether each node behind the output is there once, after its parents."""
    parents = parents_of(data)
    needed, waiting = set(), [len(parents) - 1]
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += parents[node]
    for again, order in zip(("", " in a second call"), got["orders"], strict=True):
        if -1 in order or not set(order) <= needed:
            return f"there is a node in the order{again} that the output does not need."
        if len(set(order)) < len(order):
            return f"a node is in the order{again} more than once."
        if missing := needed - set(order):
            leaf = "an input" if any(not parents[node] for node in missing) else "a node"
            return f"{leaf} is missing in the order{again}."
        if order[-1] != len(parents) - 1:
            return f"the output is not the last node of the order{again}."
        place = {node: i for i, node in enumerate(order)}
        if any(place[p] > place[node] for node in needed for p in parents[node]):
            return f"a node stands before one of its parents{again}."
    return ""


def _order_trial(group, name, data):
    draw = lambda rng: data
    return Trial(group, name, "`topological_order`", draw, measured_order, judged_order)


# -------------------------------------------------------------------------------- group 3: the loop

LOOPS = {
    "the output itself": ([[]], [[]], [0]),
    "one factor": ([[], [0]], [[], [3]], [0]),
    "a product of factors": ([[], [0], [1]], [[], [3], [5]], [0, 1, 2]),
    "a node with two uses": ([[], [0], [0], [1, 2]], [[], [2], [5], [1, 1]], [0]),
    "a node with three uses": (
        [[], [0], [0], [0], [1, 2], [4, 3]],
        [[], [2], [5], [11], [1, 1], [1, 1]],
        [0],
    ),
    "an operand twice in one operation": ([[], [0, 0]], [[], [2, 5]], [0]),
    "an inner node with a long and a short use": (
        [[], [0], [1], [2, 1]],
        [[], [7], [3], [1, 2]],
        [0, 1],
    ),
    "a node that the output does not need": ([[], [], [0]], [[], [], [4]], [1, 0]),
    "wanted in another order": (
        [[], [], [], [0, 1], [3, 2]],
        [[], [], [], [2, 3], [5, 7]],
        [2, 0, 3, 1],
    ),
    "one array for two operands": (
        [[], [], [0, 1], [0], [2, 3]],
        [[], [], [1, 1], [2], [1, 1]],
        [0, 1],
    ),
    "a ladder with 2⁴⁹ paths": (ladder(50), [[], *([1, 1] for _ in range(49))], [0]),
}
"""Graphs of rules that multiply by numbers: parents, factors, and which nodes are wanted."""


def measured_loop(engine, data):
    """The derivatives by the wanted nodes, twice, in a graph whose order and rules are the
    suite's; and how often a rule ran at most in the first pass.
    """
    graph, factors_in = parents_of(data), factors_of(data)
    nodes, calls = [], [0] * len(graph)

    def rule(i, factors):
        def pull(g):
            calls[i] += 1
            if calls[i] > 50:
                raise RuntimeError(
                    "`gradients` calls the rule of a node more than 25 times in one pass: once, as"
                    " soon as its adjoint is complete, is enough"
                )
            g = np.asarray(g, dtype=float)
            if factors == [1, 1]:
                return g, g  # one array for two parents, as the rule of `+` gives it
            return tuple(np.asarray(f * g) for f in factors)

        return pull

    for i, (parents, factors) in enumerate(zip(graph, factors_in, strict=True)):
        above = tuple(nodes[p] for p in parents)
        made = (HALF, above, rule(i, factors), "op") if parents else (HALF,)
        nodes.append(engine["Tensor"](*made))
    order, wanted = own_order(nodes[-1]), [nodes[i] for i in data["wanted"]]
    found, first = [], []
    for _ in range(2):
        got = engine["gradients"](list(order), wanted)
        if not isinstance(got, list | tuple) or len(got) != len(wanted):
            raise TypeError("`gradients` should give a list with one array for each wanted node")
        found.append([array(0.0 if g is None else g) for g in got])
        first = first or [max(calls)]
    return {"found": found, "calls": first[0]}


def _swept(data, combine=sum, seed=1.0, each=1.0):
    """The adjoints of all nodes if the parts of one are put together in this manner. each: a factor
    of every part.
    """
    graph, factors_in = parents_of(data), factors_of(data)
    n = len(graph)
    parts = [[] for _ in range(n)]
    parts[-1] = [seed]
    for i in range(n - 1, -1, -1):
        if parts[i]:
            g = combine(parts[i])
            for parent, factor in zip(graph[i], factors_in[i], strict=True):
                parts[parent].append(each * factor * g)
    return [combine(p) if p else 0.0 for p in parts]


HALF = 0.5
"""The value of every node."""
SEEDS = {0.0: "0", 2.0: "2", -1.0: "−1", HALF: "the value of the output"}
SEED_MISTAKES = tuple(
    (f"That is {name}; the adjoint of the output begins at 1.", {"seed": seed})
    for seed, name in SEEDS.items()
)
LOOP_MISTAKES = (
    ("Of several parts only one is kept.", {"combine": lambda parts: parts[-1]}),
    ("Of several parts only one is kept.", {"combine": lambda parts: parts[0]}),
    ("That is the mean of the parts; it should be their sum.", {"combine": np.mean}),
    ("That is the largest of the parts; it should be their sum.", {"combine": max}),
    ("The parts are multiplied; they should be added.", {"combine": np.prod}),
    ("Each part counts twice.", {"each": 2.0}),
    ("The parts are subtracted; they should be added.", {"each": -1.0}),
    ("No part arrives.", {"each": 0.0}),
)


def judged_loop(data, got):
    """Whether the adjoints are the sums of what is sent, and each rule ran once."""
    adjoints, alone = _swept(data), len(parents_of(data)) == 1
    right = [float(adjoints[i]) for i in data["wanted"]]
    first, second = ([float(np.ravel(g)[0]) for g in found] for found in got["found"])
    if not near(first, right):
        say = f"the derivatives are {first}, and {right} is right."
        if sorted(first) == sorted(right):
            return f"{say} The numbers are right; their order is not that of `wanted`."
        for sentence, how in SEED_MISTAKES if alone else LOOP_MISTAKES:
            if near(first, [float(_swept(data, **how)[i]) for i in data["wanted"]]):
                return f"{say} {sentence}"
        return say
    if not near(second, right):
        return "the first pass is right, and a second one is not: something of the first is left."
    if got["calls"] > 1:
        return "the rule of a node runs more than once in one pass: wait until all parts are there."
    return ""


def _loop_trial(group, name, data):
    draw = lambda rng: data
    return Trial(group, name, "`gradients`", draw, measured_loop, judged_loop)


# ---------------------------------------------------------------------------- group 4: all together

GRAPHS = {
    "a value and a function of it": [["v1", "exp", ["x1"]], ["v2", "sub", ["v1", "x1"]]],
    "a matrix times itself": [["v1", "matmul", ["x1", "x1"]]],
    "a shared weight": [
        ["v1", "matmul", ["x1", "x2"]],
        ["v2", "add", ["v1", "x3"]],
        ["v3", "relu", ["v2"]],
        ["v4", "matmul", ["v3", "x2"]],
        ["v5", "add", ["v4", "x3"]],
    ],
    "a shortcut past a layer": [
        ["v1", "matmul", ["x1", "x2"]],
        ["v2", "exp", ["v1"]],
        ["v3", "add", ["v2", "x1"]],
        ["v4", "mul", ["v3", "v1"]],
    ],
    "a normalised row": [
        ["v1", "exp", ["x1"]],
        ["v2", "sum over rows", ["v1"]],
        ["v3", "div", ["v1", "v2"]],
        ["v4", "add", ["v3", "x3"]],
        ["v5", "square", ["v4"]],
    ],
    "a Gram matrix": [
        ["v1", "t", ["x1"]],
        ["v2", "matmul", ["v1", "x1"]],
        ["v3", "square", ["v2"]],
        ["v4", "add", ["v3", "x4"]],
        ["v5", "log", ["v4"]],
        ["v6", "sub", ["v5", "v2"]],
    ],
}
"""Rows of 2 × 2 matrices x1, x2, of a row x3 and of a positive number x4; their squares are added
up.
"""


def drawn_graph(rows):
    """Inputs for some rows, which end in the sum of the squares."""
    last = [["w1", "square", [rows[-1][0]]], ["w2", "sum", ["w1"]]]
    used = {o for row in rows for o in row[2]}

    def draw(rng):
        inputs = {
            "x1": numbers(rng, (2, 2)),
            "x2": numbers(rng, (2, 2)),
            "x3": numbers(rng, (2,)),
            "x4": numbers(rng, (), positive=True),
        }
        return {"inputs": {n: x for n, x in inputs.items() if n in used}, "rows": [*rows, *last]}

    return draw


def measured_graph(engine, data):
    """The gradients by all inputs, twice, with another graph of the same inputs in between."""
    leaves = {name: engine["Tensor"](np.array(x)) for name, x in data["inputs"].items()}
    before = {name: np.array(x) for name, x in data["inputs"].items()}
    found = []
    for other in (False, True):
        if other:
            engine["gradients"](
                engine["topological_order"](built(engine, leaves, data["rows"])),
                list(leaves.values()),
            )
        output = built(engine, leaves, data["rows"])
        got = engine["gradients"](engine["topological_order"](output), list(leaves.values()))
        found.append({name: array(g) for name, g in zip(leaves, got, strict=True)})
    changed = [n for n, leaf in leaves.items() if not np.array_equal(array(leaf), before[n])]
    return {"found": found, "changed": changed}


def judged_graph(data, got):
    """Whether the gradients of a graph are right, in both passes."""
    right = gradients_of(lambda x: in_numpy(x, data["rows"]), data["inputs"])
    if got["changed"]:
        return f"the input {got['changed'][0]} was changed by the backward pass."
    for again, found in zip(("", " in a second pass"), got["found"], strict=True):
        for name, wanted in right.items():
            if said := difference(f"the gradient by {name}{again}", found[name], wanted, 1e-6):
                return said
    return ""


def measured_deep(engine, data):
    """The gradients of a long sum of real Tensors."""
    x, b = engine["Tensor"](np.array([1.0])), engine["Tensor"](np.array([0.5]))
    y = x + b
    for _ in range(data["n"] - 1):
        y = y + b
    found = engine["gradients"](engine["topological_order"](y.sum()), [x, b])
    return {"found": [float(np.sum(array(g))) for g in found]}


def judged_deep(data, got):
    """Whether x counts once, and b as often as it was added."""
    return difference("the pair of derivatives", got["found"], [1.0, float(data["n"])])


# ---------------------------------------------------------------------- group 5: second derivatives

DUALS = (
    ("add", ((2, 2), (2, 2))),
    ("sub", ((2, 2), (2,))),
    ("mul", ((2, 2), (2, 2))),
    ("mul", ((2, 2), ())),
    ("div", ((2, 2), (2, 2))),
    ("matmul", ((2, 3), (3, 2))),
    ("exp", ((2, 2),)),
    ("log", ((2, 2),)),
    ("square", ((2, 2),)),
    ("cube", ((2, 2),)),
    ("t", ((2, 3),)),
    ("sum", ((2, 3),)),
    ("sum over rows", ((2, 3),)),
)


def drawn_dual(op, shapes):
    """Operands, a tangent for each, and weights of the result."""
    first = drawn_rule(op, [*shapes])

    def draw(rng):
        data = first(rng)
        moved = {name: numbers(rng, x.shape) for name, x in data["operands"].items()}
        return data | {"moved": moved}

    return draw


def measured_dual(engine, data):
    """Value and tangent of one operation of Duals, and the gradient of the weighted tangent by
    the operands' values.
    """
    tensor = engine["Tensor"]
    leaves = {name: tensor(np.array(x)) for name, x in data["operands"].items()}
    duals = {n: engine["Dual"](x, tensor(np.array(data["moved"][n]))) for n, x in leaves.items()}
    y = built(engine, duals, [["y", data["op"], list(duals)]])
    if not hasattr(y, "tangent"):
        raise TypeError(f"{written(data['op'])} of Duals gave a {type(y).__name__}, not a Dual")
    slope = (tensor(np.array(data["g"])) * y.tangent).sum()
    got = engine["gradients"](engine["topological_order"](slope), list(leaves.values()))
    shapes = [x.shape for x in data["operands"].values()]
    return {
        "value": array(y.value),
        "tangent": array(y.tangent),
        "second": [np.broadcast_to(array(g), s).copy() for g, s in zip(got, shapes, strict=True)],
    }


def judged_dual(data, got):
    """Whether an operation of Duals gives the value, the tangent, and a tangent with a graph."""
    op, given, moved, g = data["op"], data["operands"], data["moved"], data["g"]
    run = lambda x: IN_NUMPY[op](*x.values())
    name = f"{written(op)} of Duals"
    if said := difference(f"the value of {name}", got["value"], run(given)):
        return said
    right = along(run, given, moved)
    if said := difference(f"the tangent of {name}", got["tangent"], right):
        forms = (
            ("The sign is reversed.", -right),
            ("That is twice as much as it should be.", 2 * right),
            ("The tangent is lost.", 0 * right),
            ("That is half of what it should be.", right / 2),
        )
        return said + next((f" {say}" for say, form in forms if near(got["tangent"], form)), "")
    second = second_of(lambda x: np.sum(g * run(x)), given, moved)
    for found, wanted in zip(got["second"], second.values(), strict=True):
        what = f"the derivative of the tangent of {name}"
        if said := difference(what, found, wanted, 1e-5):
            return said + (LOST if np.any(wanted) and not np.any(found) else "")
    return ""


LOST = " The tangent has no graph: it must be made of Tensors."


CURVED = {
    "a cube": [["v1", "cube", ["x1"]], ["v2", "sum", ["v1"]]],
    "an exponential times a square": [
        ["v1", "exp", ["x1"]],
        ["v2", "square", ["x1"]],
        ["v3", "mul", ["v1", "v2"]],
        ["v4", "sum", ["v3"]],
    ],
    "a matrix times itself": [
        ["v1", "matmul", ["x1", "x1"]],
        ["v2", "square", ["v1"]],
        ["v3", "sum", ["v2"]],
    ],
    "a quotient of sums": [
        ["v1", "exp", ["x1"]],
        ["v2", "sum", ["v1"]],
        ["v3", "div", ["v1", "v2"]],
        ["v4", "square", ["v3"]],
        ["v5", "sum", ["v4"]],
    ],
    "a logarithm of a sum": [
        ["v1", "square", ["x1"]],
        ["v2", "sum", ["v1"]],
        ["v3", "log", ["v2"]],
    ],
}


def drawn_curve(rows):
    """A point, and a direction."""
    return lambda rng: {"rows": rows, "x": numbers(rng, (2, 2)), "dx": numbers(rng, (2, 2))}


def measured_curve(engine, data):
    """hvp(f, x, dx), twice."""
    f = lambda dual: built(engine, {"x1": dual}, data["rows"])
    found = [engine["hvp"](f, np.array(data["x"]), np.array(data["dx"])) for _ in range(2)]
    if any(product is None for product in found):
        raise TypeError("`hvp` gave nothing: is a `return` missing in it?")
    return {"found": [array(product) for product in found]}


def judged_curve(data, got):
    """Whether hvp gives the product of the Hessian with the direction."""
    f = lambda x: in_numpy(x, data["rows"])
    inputs, moved = {"x1": data["x"]}, {"x1": data["dx"]}
    right = second_of(f, inputs, moved)["x1"]
    for again, found in zip(("", " in a second call"), got["found"], strict=True):
        if said := difference(f"`hvp`{again}", found, right, 1e-5):
            forms = (
                ("That is the gradient.", gradients_of(f, inputs)["x1"]),
                ("That is half of it.", right / 2),
                ("That is twice as much.", 2 * right),
                ("The sign is reversed.", -right),
                (
                    "That is the sum of a row of the Hessian: the direction is left out.",
                    second_of(f, inputs, {"x1": np.ones((2, 2))})["x1"],
                ),
            )
            return said + next((f" {s}" for s, form in forms if near(found, form, 1e-5)), "")
    return ""


# ---------------------------------------------------------------------------------------- the suite


def _of_shapes(op, shapes, what=""):
    """What a trial of one operation is called."""
    word = "shapes" if len(shapes) > 1 else "shape"
    return f"{written(op)}{what} with the {word} {' and '.join(map(str, shapes))}"


def _trials():
    for op, shapes in _rules():
        name, blame = _of_shapes(op, shapes), f"the rule of {written(op)}"
        yield Trial(RULES, name, blame, drawn_rule(op, shapes), measured_rule, judged_rule)
    for name, parents in SHAPES.items():
        yield _order_trial(ORDER, name, {"parents": parents})
    for name, (parents, factors, wanted) in LOOPS.items():
        data = {"parents": parents, "factors": factors, "wanted": wanted}
        yield _loop_trial(LOOP, name, data)
    whole = "the pieces together"
    for name, rows in GRAPHS.items():
        yield Trial(TOGETHER, name, whole, drawn_graph(rows), measured_graph, judged_graph)
    for op, shapes in DUALS:
        name, blame = _of_shapes(op, shapes, " of Duals"), f"{written(op)} of `Dual`"
        yield Trial(SECOND, name, blame, drawn_dual(op, shapes), measured_dual, judged_dual)
    for name, rows in CURVED.items():
        yield Trial(SECOND, name, "`hvp`", drawn_curve(rows), measured_curve, judged_curve)
    yield _order_trial(LONG, "the order of a chain", {"chain": DEEP})
    yield _loop_trial(LONG, "a pass along a chain", {"chain": DEEP, "wanted": [0]})
    draw = lambda rng: {"n": DEEP}
    yield Trial(LONG, "so many additions", whole, draw, measured_deep, judged_deep)


TRIALS = tuple(_trials())
NUMBERED = {f"{trial.group}: {trial.name}": trial for trial in TRIALS}


def engine_of(*pieces, **named):
    """The pieces as a dictionary; given in the order of PIECES or by name."""
    return dict(zip(PIECES, pieces, strict=False)) | named


def tried(trial, engine, seed=0):
    """Why the engine fails in one trial; "" if it does not."""
    data = trial.draw(np.random.default_rng(seed))
    try:
        with np.errstate(all="ignore"):
            got = trial.measure(engine, data)
    except RecursionError:
        return "it recurses: Python allows about 1,000 calls within each other. Use a loop."
    except Exception as error:
        return f"{type(error).__name__}: {error}".rstrip(".") + "."
    return trial.judge(data, got)


def failures(engine, seed=0, first=False):
    """The trials in which an engine fails, in their order. A group in which something fails is
    finished, and no later one is begun, for it rests on this one. first: stop at the first.
    """
    found = []
    for trial in TRIALS:
        if found and (first or trial.group != found[0].group):
            break
        if say := tried(trial, engine, seed):
            found.append(Failure(trial.group, trial.name, trial.blame, say))
    return found


class SuiteReport:
    """What the suite says of an engine, as text."""

    def __init__(self, found):
        self.failures = found

    @property
    def passed(self):
        """Whether the engine is right in all trials."""
        return not self.failures

    def __repr__(self):
        lines = []
        for group in GROUPS:
            every = [trial for trial in TRIALS if trial.group == group]
            failed = [failure for failure in self.failures if failure.group == group]
            mark = "✗" if failed else "✓"
            if self.failures and GROUPS.index(group) > GROUPS.index(self.failures[0].group):
                lines.append(f"○ {group}: not begun, for it rests on what failed")
                continue
            lines.append(f"{mark} {group}: {len(every) - len(failed)} of {len(every)}")
            lines += [f"    {f.blame}, {f.name}: {f.say}" for f in failed[:3]]
            if len(failed) > 3:
                lines.append(f"    … and {len(failed) - 3} more")
        return "\n".join(lines)


def report(*pieces, seed=0, **named):
    """Puts an engine to the test; shown in a notebook, it says what passed and what failed.

    pieces: in the order of PIECES, or by name. Raises KeyError for a piece that is missing.
    """
    engine = engine_of(*pieces, **named)
    if missing := [name for name in PIECES if name not in engine]:
        raise KeyError(f"the suite needs {', '.join(missing)} as well")
    return SuiteReport(failures(engine, seed))


def measured(answers, call, trial, data):
    """A drive of the grader: the plain values of one trial; the student's function gives the
    pieces, in the order of PIECES.
    """
    pieces = answers[call]()
    if pieces is None or pieces is ...:
        return None
    if not isinstance(pieces, tuple | list) or len(pieces) != len(PIECES):
        raise TypeError(f"`{call}` should return {len(PIECES)} pieces: {', '.join(PIECES)}")
    for name, piece in zip(PIECES, pieces, strict=True):
        if str(getattr(piece, "__module__", "")).startswith("minigrad."):
            raise TypeError(f"`{name}` is the course's own; put the one that you wrote on trial")
    with np.errstate(all="ignore"):
        return NUMBERED[trial].measure(engine_of(*pieces), data)


def main(arguments):
    """Reports on the engine in a file. Raises SystemExit: 0 if it passed, 1 if not, or what is
    wrong with the command.
    """
    if len(arguments) != 1:
        raise SystemExit("usage: python -m minigrad.lessons.engine_suite my_engine.py")
    scope = {"__name__": "my_engine"}
    try:
        with open(arguments[0], encoding="utf-8") as file:
            exec(compile(file.read(), arguments[0], "exec"), scope)
    except (OSError, SyntaxError) as problem:
        raise SystemExit(f"{arguments[0]} cannot be read: {problem}.") from None
    if missing := [name for name in PIECES if name not in scope]:
        raise SystemExit(f"{arguments[0]} lacks {', '.join(missing)}; lessons 3 to 11b make them.")
    found = report(**{name: scope[name] for name in PIECES})
    print(found)
    raise SystemExit(0 if found.passed else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
