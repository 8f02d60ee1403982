"""A small engine in six exchangeable parts, and six engines in each of which one part has a bug:
the animals of `bug_zoo.ipynb`.

    x, b = Node([0.0, 1.0], name="x"), Node(0.5, name="b")
    u = apply("exp", x)
    y = apply("sum", apply("mul", u, apply("sub", u, x)))
    backward(y, Engine())                    every node behind y has its gradient in .grad
    backward(y, engine("A"))                 the same by an engine with a bug

The file gives away all of the zoo's bugs, so look at the engines in the notebook first. It runs on
the student's side in the grader as well, and imports NumPy and the standard library only.
"""

import inspect
from itertools import count

import numpy as np

_births = count()

FORWARD = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "exp": np.exp, "sum": np.sum}


class Node:
    """A value: its number or array, the operation and the nodes that it was made from, when it
    was born, and its gradient.
    """

    def __init__(self, value, op="", parents=(), name=""):
        self.value, self.op, self.parents, self.name = (
            np.asarray(value, dtype=float),
            op,
            parents,
            name,
        )
        self.born, self.grad = next(_births), None


def apply(op, *parents, name=""):
    """The node of an operation."""
    return Node(FORWARD[op](*(p.value for p in parents)), op, parents, name)


def backward(output, engine, tell=None):
    """The gradients of `output` by all nodes behind it, in their .grad. tell: is told what is
    sent to whom (for the viewer).
    """
    nodes = engine.order(output)
    engine.start(nodes)
    output.grad = np.ones_like(output.value)
    for node in nodes:
        if node.parents and node.grad is not None:
            pull = getattr(engine, "pull_" + node.op)
            parts = pull(node.grad, *(parent.value for parent in node.parents))
            for slot, (parent, part) in enumerate(zip(node.parents, parts, strict=True)):
                engine.accumulate(parent, part)
                if tell:
                    tell(node, slot, part, parent.grad)


# --------------------------------------------------------------------------------- the parts, sound


def order(output):
    """All nodes behind the output, each of them before the nodes that it was made from."""
    found, waiting = [], [output]
    while waiting:
        node = waiting.pop(0)
        if node not in found:
            found.append(node)
            waiting.extend(node.parents)
    return sorted(found, key=lambda node: node.born, reverse=True)


def start(nodes):
    """Before a pass: no node has a gradient yet."""
    for node in nodes:
        node.grad = None


def accumulate(node, part):
    """A part of the gradient has arrived at a node."""
    node.grad = part if node.grad is None else node.grad + part


def pull_add(g, a, b):
    """What a + b sends to a and to b."""
    return summed_to(g, a.shape), summed_to(g, b.shape)


def pull_sub(g, a, b):
    """What a − b sends to a and to b."""
    return summed_to(g, a.shape), summed_to(-g, b.shape)


def pull_mul(g, a, b):
    """What a · b sends to a and to b."""
    return summed_to(g * b, a.shape), summed_to(g * a, b.shape)


def pull_exp(g, a):
    """What exp(a) sends to a."""
    return (g * np.exp(a),)


def pull_sum(g, a):
    """What the sum of a's elements sends to a."""
    return (np.broadcast_to(g, a.shape),)


def summed_to(g, shape):
    """g summed over the axes along which an operand of this shape was stretched."""
    g = g.sum(tuple(range(g.ndim - len(shape))))
    return g.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)


class Engine:
    """The parts as one object; other parts can be put in by name."""

    def __init__(self, **parts):
        sound = (order, start, accumulate, pull_add, pull_sub, pull_mul, pull_exp, pull_sum)
        self.__dict__.update({part.__name__: part for part in sound} | parts)


# -------------------------------------------------------------------------------------- the animals


def _a():
    def pull_mul(g, a, b):
        """What a · b sends to a and to b."""
        return summed_to(g * a, a.shape), summed_to(g * b, b.shape)

    return pull_mul


def _b():
    def accumulate(node, part):
        """A part of the gradient has arrived at a node."""
        node.grad = part

    return accumulate


def _c():
    def pull_add(g, a, b):
        """What a + b sends to a and to b."""
        return g, g

    return pull_add


def _d():
    def order(output):
        """All nodes behind the output, each of them before the nodes that it was made from."""
        found, waiting = [], [output]
        while waiting:
            node = waiting.pop(0)
            if node not in found:
                found.append(node)
                waiting.extend(node.parents)
        return found

    return order


def _e():
    def pull_sub(g, a, b):
        """What a − b sends to a and to b."""
        return summed_to(g, a.shape), summed_to(g, b.shape)

    return pull_sub


def _f():
    def start(nodes):
        """Before a pass: no node has a gradient yet."""
        for node in nodes:
            if node.parents:
                node.grad = None

    return start


ANIMALS = {letter: part() for letter, part in zip("ABCDEF", (_a, _b, _c, _d, _e, _f), strict=True)}
"""The broken part of each engine; its name says which part of a sound engine it takes the place
of.
"""


def engine(letter):
    """One of the six engines with a bug."""
    return Engine(**{ANIMALS[letter].__name__: ANIMALS[letter]})


def source(letter):
    """The text of an engine's broken part."""
    return inspect.cleandoc("\n" + inspect.getsource(ANIMALS[letter])).strip()


# ------------------------------------------------------------------------------------ what is asked


def build(inputs, rows):
    """name -> node, of a graph as data: inputs by name, and rows (name, operation, operands)."""
    nodes = {name: Node(value, name=name) for name, value in inputs.items()}
    for name, op, operands in rows:
        nodes[name] = apply(op, *(nodes[o] for o in operands), name=name)
    return nodes


def gradients(answers, call, inputs, rows, passes=2):
    """The gradients of all nodes after so many passes, by an engine with the student's part in it.
    A drive of the grader.

    call: mended_A and so on, by its last letter.
    """
    nodes, part = build(inputs, rows), ANIMALS[call[-1]].__name__
    if is_stub(answers[call], part):
        return None
    for _ in range(passes):
        backward(nodes[rows[-1][0]], Engine(**{part: answers[call]}))
    return {
        name: np.zeros_like(node.value) if node.grad is None else np.array(node.grad)
        for name, node in nodes.items()
    }


def is_stub(part, name):
    """Whether a part is still the stub, which changes nothing and returns nothing."""
    a = Node(1.0)
    b = Node(2.0, "exp", (a,))
    if name == "accumulate":
        part(a, np.asarray(1.0))
        return a.grad is None
    c = Node(3.0, "exp", (b,))
    a.grad = b.grad = c.grad = np.asarray(3.0)
    g = np.ones(2)
    arguments = {"order": (c,), "start": ([c, b, a],)}.get(name, (g, g, g))
    returned = part(*arguments)
    kept = all(node.grad is not None and np.all(node.grad == 3.0) for node in (a, b, c))
    return returned is None and kept
