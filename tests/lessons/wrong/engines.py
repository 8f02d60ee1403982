"""Wrong engines for the milestone: each is the reference engine of the lessons with one piece (or
two) written wrongly.

The sources show what first engines get wrong, piece by piece, with what the check must say of each:
a phrase that is true of this mistake and of no right engine. Pairs of mistakes must be caught too;
what is said of them is only asked to be something.
"""

from itertools import pairwise

from minigrad.lessons.exercises.broken_engines import (
    IN_PLACE,
    MET,
    RECURSIVE,
    SOUND,
    SOUND_WALK,
    SWEEP,
    WALK,
)


def sweep(**changed):
    """The source of the loop with some parts exchanged."""
    return SWEEP.format(**SOUND | changed)


def walk(**changed):
    """The source of the order with some parts exchanged."""
    return WALK.format(**SOUND_WALK | changed)


# piece -> {what is wrong: (source, phrase)}
ORDER = {
    "the order reversed": (walk(back="order[::-1]"), "`topological_order` put"),
    "breadth first": (MET.format(end="0"), "Where a node is used more than once"),
    "depth first, as met": (MET.format(end=""), "Where a node is used more than once"),
    "recursive": (RECURSIVE, "RecursionError"),
    "every visit": (
        walk(fresh="len(order) < 3_000"),
        "passed on twice",
    ),
    "without leaves": (
        walk(back="[n for n in order if n.parents]"),
        "`topological_order` left out",
    ),
    "the first parent only": (
        """
def topological_order(output):
    order = [output]
    while order[-1].parents:
        order.append(order[-1].parents[0])
    return order[::-1]
""",
        "`topological_order` left out",
    ),
    "by the size of the value": (
        walk(back="sorted(order, key=lambda n: -np.size(n.value))"),
        "`topological_order` put",
    ),
    "one list for all calls": (
        """
everything = []
def topological_order(output):
    everything.extend(n for n in sound_order(output) if n not in everything)
    return everything
""",
        "does not belong to this graph",
    ),
}
LISTS = """
def gradients(order, wanted):
    parts, adjoint = {{order[-1]: [1.0]}}, {{}}
    for node in reversed(order):
        adjoint[node] = {added}
        if node.parents:
            for parent, part in zip(node.parents, node.pull(adjoint[node])):
                {put}
    return [adjoint.get(node, 0.0) for node in wanted]
"""
PUT = "parts.setdefault(parent, []).append(part)"
KEPT = """
def gradients(order, wanted):
    {before}
    order[-1].grad = 1.0
    for node in reversed(order):
        if node.parents:
            for parent, part in zip(node.parents, node.pull(node.grad)):
                parent.grad = getattr(parent, "grad", 0.0) + part
    return [getattr(node, "grad", 0.0) for node in wanted]
"""
LOOP = {
    "overwrites": (sweep(combine="adjoint[parent] = part"), "only one of several"),
    "overwrites lists": (
        LISTS.format(added="sum(parts[node][1:], parts[node][0])", put="parts[parent] = [part]"),
        "only one of several",
    ),
    "keeps the first": (
        sweep(combine="adjoint.setdefault(parent, part)"),
        "only the first contribution",
    ),
    "ignores every second part": (
        LISTS.format(added="sum(parts[node][2::2], parts[node][0])", put=PUT),
        "Where a node is used more than once",
    ),
    "the mean of the parts": (
        LISTS.format(added="sum(parts[node][1:], parts[node][0]) / len(parts[node])", put=PUT),
        "a node gets the mean of its contributions",
    ),
    "parts multiplied": (
        sweep(combine="adjoint[parent] = adjoint.get(parent, 1.0) * part"),
        "the contributions to a node are multiplied",
    ),
    "parts subtracted": (
        sweep(combine="adjoint[parent] = adjoint.get(parent, 0.0) - part"),
        "signs are reversed",
    ),
    "parts averaged with the old": (
        sweep(combine="adjoint[parent] = (adjoint.get(parent, part) + part) / 2"),
        "Where a node is used more than once",
    ),
    "a sum in place": (
        IN_PLACE.replace("adjoint[parent] = np.asarray(adjoint[parent])", "pass"),
        "n adjoint was changed in place after",
    ),
    "each part twice": (
        sweep(combine="adjoint[parent] = adjoint.get(parent, 0.0) + 2 * part"),
        "counted twice",
    ),
    "from first to last": (sweep(rows="order"), "Already the graph of `pow`"),
    "seed 0": (sweep(seed="0.0"), "output's adjoint is 0 at the start"),
    "seed 2": (sweep(seed="2.0"), "Already the graph of `sum`"),
    "seed is the value": (sweep(seed="order[-1].value"), "starts at its value"),
    "stops before the first": (
        sweep(rows="reversed(order[len(order) // 2:])"),
        "Nothing has arrived there",
    ),
    "the first parent only": (
        sweep(parts="[*zip(node.parents, node.pull(adjoint[node]))][:1]"),
        "those with `@`",
    ),
    "one part for the same parent": (
        sweep(parts="dict(zip(node.parents, node.pull(adjoint[node]))).items()"),
        "twice in one operation",
    ),
    "adjoints kept in the nodes": (
        KEPT.format(before="pass"),
        "adjoints of the sweep before are still there",
    ),
    "adjoints kept in the inputs": (
        KEPT.format(before="[setattr(node, 'grad', 0.0) for node in order if node.parents]"),
        "gradients of the sweep before are added",
    ),
    "one dictionary for all calls": (
        sweep(memory=", memory={}", start="memory"),
        "adjoints of the sweep before are still there",
    ),
    "down every path": (
        """
def gradients(order, wanted):
    grad = {}
    def send(node, g):
        grad[node] = grad.get(node, 0.0) + g
        if node.parents:
            for parent, part in zip(node.parents, node.pull(g)):
                send(parent, part)
    send(order[-1], 1.0)
    return [grad.get(node, 0.0) for node in wanted]
""",
        "took too long",
    ),
    "sorted by the name of the operation": (
        sweep(rows="sorted(order, key=lambda n: n.op, reverse=True)"),
        "Nothing has arrived there",
    ),
    "the values for the gradients": (sweep(back="node.value"), "everything starts there"),
    "wanted in another order": (sweep(wanted="wanted[::-1]"), "everything starts there"),
}


def rule(head, body):
    """The source of a pull rule. body: an expression, or indented lines of statements."""
    return f"def {head}:{body}" if body[0] == "\n" else f"def {head}:\n    return {body}"


BODIES = {
    "pull_exp(x, g)": {
        "g left out": ("np.exp(x)", "It is the rule of `exp`"),
        "g passed on": ("g * np.ones_like(x)", "`exp`"),
        "g added": ("g + np.exp(x)", "`exp`"),
        "the power rule": ("g * x * np.exp(x - 1)", "those with `exp`"),
        "sign": ("-g * np.exp(x)", "It is the rule of `exp`"),
        "exp of g": ("np.exp(g)", "those with `exp`"),
        "x in place": (
            "g * np.exp(x, out=x)",
            "rule of `exp` changed the value of an operand in place",
        ),
    },
    "pull_t(x, g)": {
        "not moved": ("g", "those with `t`"),
        "reshaped": ("g.reshape(x.shape)", "those with `t`"),
        "sign": ("-g.T", "It is the rule of `t`"),
    },
    "pull_sum(x, axis, g)": {
        "ones": ("np.ones_like(x)", "own adjoint is left out"),
        "the mean's": (
            """
    g = g if axis is None else np.expand_dims(g, axis)
    return np.broadcast_to(g, x.shape) / (x.size if axis is None else x.shape[axis])""",
            "as if it were a mean",
        ),
        "a new axis in front": ("np.broadcast_to(g, x.shape)", "sum over columns(x1)"),
        "times x": (
            """
    g = g if axis is None else np.expand_dims(g, axis)
    return g * x""",
            "Already the graph of `sum`",
        ),
        "behind always": (
            "np.broadcast_to(g if axis is None else g[..., None], x.shape)",
            "sum over rows(x1)",
        ),
    },
    "unbroadcast(g, shape)": {
        "nothing summed": ("g", "sum over the stretched axes"),
        "new axes only": ("g.sum(axis=tuple(range(g.ndim - len(shape))))", "`+` and broadcasting"),
        "no keepdims": (
            """
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1))""",
            "`+` and broadcasting",
        ),
        "the mean": (
            """
    g = g.mean(axis=tuple(range(g.ndim - len(shape)))) if g.ndim > len(shape) else g
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.mean(axis=axes, keepdims=True) if axes else g""",
            "Each copy sends its part",
        ),
        "the mean over the batch only": (
            """
    s = sound_unbroadcast(g, shape)
    return s / len(g) if g.ndim > len(shape) else s""",
            "those with `+` and broadcasting",
        ),
        "everything summed": ("np.full(shape, g.sum())", "those with `+` and `-` come out wrong"),
        "one copy": (
            """
    g = g[(0,) * (g.ndim - len(shape))]
    return g[tuple(slice(0, 1) if n == 1 else slice(None) for n in shape)]""",
            "the part of one of its copies",
        ),
    },
    "pull_matmul(a, b, g)": {
        "untransposed": ("(g @ b, a @ g)", "a transpose is missing at a matrix product"),
        "swapped": ("(a.T @ g, g @ b.T)", "those with `@` come out wrong"),
        "element by element": ("(g * b, g * a)", "those with `@` come out wrong"),
        "g left out": (
            "(np.ones_like(g) @ b.T, a.T @ np.ones_like(g))",
            "It is the rule of `matmul`",
        ),
        "the first only": ("(g @ b.T, 0 * b)", "only the first operand"),
        "the second only": ("(0 * a, a.T @ g)", "those with `@`"),
        "a factor 2": ("(2 * g @ b.T, 2 * a.T @ g)", "twice as large"),
        "a factor 2 in one": ("(2 * g @ b.T, a.T @ g)", "those with `@`"),
        "sign": ("(-g @ b.T, -a.T @ g)", "It is the rule of `matmul`"),
    },
    "pull_relu(x, g)": {
        "everything": ("g * np.ones_like(x)", "`relu`"),
        "the wrong half": ("g * (x < 0)", "relu passes the adjoint where x is negative"),
        "times the value": ("g * np.maximum(x, 0.0)", "those with `relu`"),
        "g left out": ("1.0 * (x > 0)", "It is the rule of `relu`"),
        "leaky": ("g * np.where(x > 0, 1.0, 0.1)", "those with `relu`"),
        "g in place": (
            """
    g[x <= 0] = 0
    return g""",
            "rule of `relu` changed the adjoint `g` that it was given, in place",
        ),
    },
    "pull_cross_entropy(s, t, g)": {
        "no mean": (
            "len(s) * sound_cross_entropy(s, t, g)",
            "does not divide by the number of points",
        ),
        "mean of all": (
            "sound_cross_entropy(s, t, g) / s.shape[1]",
            "divides by the number of elements",
        ),
        "no target": ("sound_cross_entropy(s, t, g) + g * t / len(s)", "leaves out the target"),
        "no softmax": ("-g * t / len(s)", "leaves out the softmax"),
        "sign": ("-sound_cross_entropy(s, t, g)", "the sign in `pull_cross_entropy`"),
        "over the columns": (
            """
    e = np.exp(s)
    return g * (e / e.sum(0) - t) / len(s)""",
            "what is left is `pull_cross_entropy`",
        ),
        "scores for softmax": ("g * (s - t) / len(s)", "what is left is `pull_cross_entropy`"),
        "scores in place": (
            """
    s -= s.max(axis=1, keepdims=True)
    return sound_cross_entropy(s, t, g)""",
            "rule of `cross_entropy` changed the value of an operand in place",
        ),
    },
}
RULES = {
    head.partition("(")[0]: {what: (rule(head, body), says) for what, (body, says) in rows.items()}
    for head, rows in BODIES.items()
}


STEP = """
def loss_and_gradients(values, x, target):
    parameters = [Tensor(v) for v in values]
    loss = cross_entropy(scores_of({x}, parameters), target)
    return {loss}, {found}


def own_step(values, states, x, target):
    loss, found = loss_and_gradients(values, x, target)
    {step}
"""
NEW = "[adam(v, g, s) for v, g, s in zip(values, found, states)]"


def step(
    x="Tensor(x)",
    loss="float(loss.value)",
    found="gradients(topological_order(loss), parameters)",
    step=f"return {NEW}, loss",
):
    """The source of the last exercise with one part exchanged."""
    return STEP.format(x=x, loss=loss, found=found, step=step)


STEPS = {
    "gradients backwards": (
        step(found="gradients(topological_order(loss), parameters[::-1])"),
        "in another order than the values",
    ),
    "no gradients": (step(found="[np.zeros_like(v) for v in values]"), "asks `gradients` for"),
    "the loss times the points": (step(loss="float(loss.value) * len(x)"), "The loss is"),
    "half of the points": (
        step(x="Tensor(x[: (len(x) + 1) // 2])").replace(
            "target)\n    return", "target[: (len(x) + 1) // 2])\n    return"
        ),
        "it is that before any step",
    ),
    "new dictionaries": (
        step(step="return [adam(v, g, {}) for v, g in zip(values, found)], loss"),
        "give it the dictionaries from `states`",
    ),
    "one dictionary": (
        step(step="return [adam(v, g, states[0]) for v, g in zip(values, found)], loss"),
        "operands could not be broadcast",
    ),
    "plain descent": (
        step(step="return [v - 0.05 * g for v, g in zip(values, found)], loss"),
        "plain gradient descent",
    ),
    "no step": (step(step="return values, loss"), "come back as they were"),
    "the loss first": (
        step(step=f"return loss, {NEW}"),
        "the list of the new values, and the loss",
    ),
    "values only": (step(step=f"return {NEW}"), "a pair"),
    "the loss after": (
        step(step=f"new = {NEW}\n    return new, loss_and_gradients(new, x, target)[0]"),
        "the loss after the step",
    ),
    "two steps": (
        step(step=f"values = {NEW}\n    return {NEW}, loss"),
        "which of the values are changed",
    ),
    "weights only": (
        step(
            step=(
                f"new = {NEW}\n    return [n if i % 2 == 0 else v for i, (n, v) in"
                " enumerate(zip(new, values))], loss"
            )
        ),
        "which of the values are changed",
    ),
}
ADAM = """
def adam(parameter, gradient, state):
    t = state["t"] = state.get("t", {first}) + 1
    m = state["m"] = 0.9 * state.get("m", 0.0) + {m} * gradient
    v = state["v"] = 0.999 * state.get("v", 0.0) + 0.001 * {square}
    return parameter {sign} 0.01 * {mean} / {root}
"""


def adam(
    first="0",
    m="0.1",
    square="gradient**2",
    sign="-",
    mean="(m / (1 - 0.9**t))",
    root="(np.sqrt(v / (1 - 0.999**t)) + 1e-8)",
):
    """The source of Adam with one part exchanged."""
    return ADAM.format(first=first, m=m, square=square, sign=sign, mean=mean, root=root)


ADAMS = {
    "m not corrected": (adam(mean="m"), "m lacks its bias correction"),
    "v not corrected": (adam(root="(np.sqrt(v) + 1e-8)"), "v lacks its bias correction"),
    "not corrected": (adam(mean="m", root="(np.sqrt(v) + 1e-8)"), "the bias correction is missing"),
    "epsilon under the root": (adam(root="np.sqrt(v / (1 - 0.999**t) + 1e-8)"), "under the root"),
    "the count one ahead": (adam(first="1"), "one ahead"),
    "the count from 0": (adam(first="-1"), "the steps are counted from 0"),
    "not squared": (adam(square="abs(gradient)"), "mean of |g|"),
    "uphill": (adam(sign="+"), "uphill"),
    "no root": (adam(root="(v / (1 - 0.999**t) + 1e-8)"), "the root is missing"),
    "the whole gradient": (adam(m="1.0"), "whole gradient"),
}

MUTATIONS = {
    "topological_order": ORDER,
    "gradients": LOOP,
    **RULES,
    "adam": ADAMS,
    "own_step": STEPS,
}
SINGLES = {
    f"{piece}: {what}": ({piece: source}, says)
    for piece, rows in MUTATIONS.items()
    for what, (source, says) in rows.items()
}

OF_EACH = {piece: next(iter(rows.items())) for piece, rows in MUTATIONS.items()}
PAIRS = {
    f"{one}: {OF_EACH[one][0]}; {other}: {OF_EACH[other][0]}": {
        one: OF_EACH[one][1][0],
        other: OF_EACH[other][1][0],
    }
    for one, other in pairwise([*OF_EACH, next(iter(OF_EACH))])
}
"""Two mistakes at once: one of each piece, with one of the next piece."""
