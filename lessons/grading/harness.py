"""What runs on the student's side where a plain call cannot ask: a class, an argument that is
filled in, a graph of 20,000 operations.

The file gives no answer away. A drive gets (answers, call, *arguments): a dictionary of what the
student defined, the name that the case asks for, and the case's arguments. It uses the student's
code and returns plain values, without knowing which are right; whoever tampers with it changes what
is sent, and nothing else. Functions among the answers raise an exception where they change their
arguments, and the answers have methods that watch operators and rules as well (arguments.py). It
needs NumPy and the standard library only, for its source is all that the student's side gets.
"""

import operator

import numpy as np

OPERATORS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "square": lambda a: a**2,
    "matmul": operator.matmul,
}


class OutputDictionary(dict):
    """A dictionary that the student's function is to fill. All other arguments must stay as they
    are (arguments.py).
    """


def plain(value):
    """A student's number or array as it is sent; protocol.py sends minigrad's tensors itself."""
    return (
        value
        if value is None or isinstance(value, bool | int | float | str) or hasattr(value, "detach")
        else np.asarray(value)
    )


def sweep(answers, call, rows, output):
    """A reverse sweep that fills a dictionary: function(tape, adjoint). Returns the dictionary, or
    one that the function returned where it left that as it was.
    """
    names = dict.fromkeys(
        name for row, operands in rows for name in (*(o for o, _ in operands), row)
    )
    adjoint = OutputDictionary({**dict.fromkeys(names, 0.0), output: 1.0})
    before = dict(adjoint)
    found = answers[call](
        [(name, [(o, local) for o, local in operands]) for name, operands in rows], adjoint
    )
    return before | dict(found) if isinstance(found, dict) and adjoint == before else dict(adjoint)


def twice(answers, call, before, inputs, rows):
    """A function of a graph, called for the graph `before` (unless it is None) and then for the
    one that is asked about.
    """
    if before is not None:
        answers[call](before["inputs"], before["rows"])
    return answers[call](inputs, rows)


def build(answers, call, inputs, rows):
    """A graph of the student's class: name -> object. Operations are operators where Python has
    one, else methods, else functions.
    """
    nodes = {name: answers[call](value) for name, value in inputs.items()}
    for name, op, operands in rows:
        args = [nodes[o] for o in operands]
        if op in OPERATORS:
            run = OPERATORS[op]
        elif hasattr(args[0], op):
            run = operator.methodcaller(op)
        else:
            run = answers[op]
        nodes[name] = answers.computed(run, args, op)
    return nodes


def by_class(answers, call, inputs, rows, sweeps):
    """Class(number), operators, .backward() and .grad: the gradients of all nodes after so many
    backward passes over one graph.
    """
    nodes = build(answers, call, inputs, rows)
    output = nodes[rows[-1][0]]
    for _ in range(sweeps):
        output.backward()
    return {name: plain(node.grad) for name, node in nodes.items()}


# ------------------------------------------------------------------------------------- large graphs


def large(shape, n):
    """A tape of n operations: rows (name, [(operand, local derivative), …]), whose adjoints stay of
    moderate size.

    "chain": each uses the one before; "ladder": each uses it twice, so that the number of paths
    doubles with every step; "tree": many inputs, added up one after the other.
    """
    rows = []
    for i in range(n):
        before = f"v{i}" if i else "x1"
        if shape == "chain":
            operands = [(before, -1.0 if i % 3 else 1.0)]
        elif shape == "ladder":
            operands = [(before, 0.75), (before, 0.25)]
        else:
            operands = [(before, 1.0), (f"x{i + 2}", 0.5 + (i % 7) / 8)]
        rows.append((f"v{i + 1}", operands))
    return rows


def cost_of_sweep(answers, call, shape, n):
    """sweep(tape, adjoint) on a large tape: all adjoints, in the order in which the names first
    occur; None if it wrote nothing.
    """
    rows = large(shape, n)
    found = np.array([float(v) for v in sweep(answers, call, rows, rows[-1][0]).values()])
    return found if np.count_nonzero(found) > 1 else None  # the 1 of the output stood there before


def cost_of_class(answers, call, shape, n):
    """As above, with a student's class: the local derivatives are constants to multiply with.
    Gradients of the inputs and all v's."""
    rows, nodes = large(shape, n), {}
    for name, operands in rows:
        parts = []
        for operand, local in operands:
            if operand not in nodes:
                nodes[operand] = answers[call](1.0)
            parts.append(nodes[operand] * answers[call](local))
        nodes[name] = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    nodes[rows[-1][0]].backward()
    return np.array([float(node.grad) for node in nodes.values()])


def cost_of_order(answers, call, shape, n):
    """order(parents, output) on a large graph: the places of all nodes in the order that it
    returns.
    """
    rows = large(shape, n)
    parents = {name: [o for o, _ in operands] for name, operands in rows}
    for _, operands in rows:
        for operand, _ in operands:
            parents.setdefault(operand, [])
    return list(answers[call](parents, rows[-1][0]))


# --------------------------------------------------------------------------------------- optimisers


def optimiser(answers, call, parameters, gradients):
    """step(parameter, gradient, state) -> the new parameter, for several parameters and steps; each
    parameter keeps a dictionary `state`.

    Returns the parameters after each step.
    """
    current, states, path = (
        [np.array(p) for p in parameters],
        [OutputDictionary() for _ in parameters],
        [],
    )
    for step in gradients:
        stepped = []
        for p, g, state in zip(current, step, states, strict=True):
            new = answers[call](p, np.array(g), state)
            if new is None:
                return None
            stepped.append(np.array(new.detach().numpy() if hasattr(new, "detach") else new))
        current = stepped
        path.append([p.copy() for p in current])
    return path
