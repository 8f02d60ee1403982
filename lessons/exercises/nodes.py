"""What runs on the student's side for lesson 3's exercises: graphs are built of a small class of
nodes, and the student's code walks them.

The file gives no answer away: it builds what it is told, calls the student's functions, and sends
their numbers. It needs NumPy and the standard library only, for its source is all that the
student's side gets.
"""

import math

RULES = {
    "add": lambda a, b: (a + b, lambda g: (g, g)),
    "sub": lambda a, b: (a - b, lambda g: (g, -g)),
    "mul": lambda a, b: (a * b, lambda g: (g * b, g * a)),
    "exp": lambda a: (math.exp(a), lambda g: (g * math.exp(a),)),
    "sin": lambda a: (math.sin(a), lambda g: (g * math.cos(a),)),
}


class Node:
    """A value, the nodes that it was made from, and how to send an adjoint back to them."""

    def __init__(self, value, parents=(), pull=None, op=""):
        self.value, self.parents, self.pull, self.op = value, parents, pull, op

    def __repr__(self):
        return f"<{self.op or 'input'} {self.value}>"  # as a KeyError shows it


def build(inputs, rows):
    """name -> Node, in the order of the rows."""
    nodes = {name: Node(value) for name, value in inputs.items()}
    for name, op, operands in rows:
        parents = tuple(nodes[o] for o in operands)
        value, pull = RULES[op](*(p.value for p in parents))
        nodes[name] = Node(value, parents, pull, op)
    return nodes


def order(answers, call, parents, output):
    """topological_order(output) on a graph that is given as {name: operands}: the names of what
    it returns.
    """
    # values in no order: whoever sorts by them gets no order of the graph
    nodes = {name: Node(math.sin(k * k), (), None, name) for k, name in enumerate(parents, 1)}
    for name, operands in parents.items():
        nodes[name].parents = tuple(nodes[o] for o in operands)
    names = {id(node): name for name, node in nodes.items()}
    found = answers[call](nodes[output])
    return (
        None
        if found is None
        else [names.get(id(node), "something that is no node") for node in found]
    )


def gradients(answers, call, before, inputs, rows):
    """gradients(order, wanted), with all nodes wanted: name -> gradient. `before` is None: the
    function keeps nothing between calls.
    """
    nodes = build(inputs, rows)
    output = list(nodes.values())[-1]
    reached = {id(output)}
    for node in reversed(list(nodes.values())):
        if id(node) in reached:
            reached.update(id(p) for p in node.parents)
    found = answers[call]([n for n in nodes.values() if id(n) in reached], list(nodes.values()))
    if found is None:
        return None
    if not isinstance(found, list | tuple) or len(found) != len(nodes):
        got = (
            f"one of length {len(found)}"
            if isinstance(found, list | tuple)
            else f"something of the type {type(found).__name__}"
        )
        raise ValueError(
            f"it should return a list with one gradient for each of the {len(nodes)} wanted nodes,"
            f" but returned {got}"
        )
    return dict(zip(nodes, found, strict=True))


# ------------------------------------------------------------------------- rules that leave a graph


def plus(a, b):
    """The sum of two nodes, as a node of the student's class; the rule that lesson 3 gives."""
    a, b = (
        n if hasattr(n, "parents") else type(a if hasattr(a, "parents") else b)(n) for n in (a, b)
    )
    return type(a)(a.value + b.value, (a, b), lambda g: (g, g), "add")


def swept(output, wanted):
    """The gradient of a node as what the pulls give: a node, or a number where they gave a
    number.
    """
    found, waiting, done = [], [(output, False)], set()
    while waiting:
        node, ready = waiting.pop()
        if ready:
            found.append(node)
        elif id(node) not in done:
            done.add(id(node))
            waiting += [(node, True), *((p, False) for p in node.parents)]
    sums = {id(output): 1.0}
    for node in reversed(found):
        if id(node) in sums and node.parents:
            for parent, part in zip(node.parents, node.pull(sums[id(node)]), strict=True):
                before = sums.get(id(parent))
                nodes = hasattr(before, "parents") or hasattr(part, "parents")
                sums[id(parent)] = (
                    part if before is None else plus(before, part) if nodes else before + part
                )
    return sums.get(id(wanted), 0.0)


def derivatives(answers, call, x, rows, times):
    """The value of the last row at x (times=0), its first or its second derivative, by the
    student's mul and exp.

    The nodes are of the student's own class: that of which a product of two numbers is made.
    """
    product = answers["mul"](1.0, 1.0)
    if product is None:
        return None
    nodes = {"x": type(product)(x)}
    for name, op, operands in rows:
        rule = plus if op == "add" else answers[op]
        nodes[name] = rule(*(nodes[o] for o in operands))
        if nodes[name] is None:
            return None
    now = nodes[rows[-1][0]]
    for _ in range(times):
        if not hasattr(now, "parents"):
            return {"forgotten": True, "derivative": 0.0}
        now = swept(now, nodes["x"])
    return {"forgotten": False, "derivative": float(getattr(now, "value", now))}
