"""The exercises of the bug zoo, as data: for each of six engines, name its bug, and mend the part
that has it.

The engines are in zoo.py. What is right is not written here: which bug an engine has follows from
the part in which it differs from the sound engine, and the gradients come from minigrad.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from minigrad.viz.adapters import Writer

import minigrad as mg
from minigrad.watch import trace_function

from ..grading.comparison import as_plain, same
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.graphs import first_wrong
from . import zoo
from .made import told_by

Graph = dict[str, Any]

INPUTS = {"x": [0.0, 1.0], "b": 0.5}
ROWS = [
    ("v1", "exp", ["x"]),
    ("v2", "sub", ["v1", "x"]),
    ("v3", "mul", ["v1", "v2"]),
    ("v4", "add", ["v3", "b"]),
    ("v5", "sum", ["v4"]),
]
"""The graph of `f` below, for the zoo's engines."""


def f(x, b):
    u = mg.exp(x)
    return (u * (u - x) + b).sum()


# ------------------------------------------------------------------------------------------- traces


def reference() -> dict[str, Any]:
    """minigrad's Trace of f, at the zoo's point."""
    return trace_function(
        f, *(mg.tensor(value, dtype=mg.float64) for value in INPUTS.values()), mode="reverse"
    )


def watched(letter: str) -> dict[str, Any]:
    """The Trace of what an engine of the zoo does with f, in the second of two passes over the
    same graph.
    """
    return trace_of(zoo.engine(letter), f"engine {letter}")


def broken_part(letter: str, diagnosis: Any) -> str:
    """The text of an engine's broken part, once its bug has been named."""
    if diagnosis != BUGS[_part(letter)][0]:
        return (
            f"Find the bug first: the broken part of engine {letter} is shown here once its name"
            " above is right."
        )
    return zoo.source(letter)


def trace_of(engine: zoo.Engine, title: str) -> dict[str, Any]:
    """The second of two passes over the graph of f by an engine of the zoo, as it happens, right
    or wrong.
    """
    nodes = zoo.build(INPUTS, ROWS)
    output = nodes[ROWS[-1][0]]
    writer = Writer(title)
    for name, node in nodes.items():
        if node.parents:
            writer.op(node.op, [parent.name for parent in node.parents], node.value)
        else:
            writer.input(name, node.value)
    zoo.backward(output, engine)
    writer.seed(output.name, np.ones_like(output.value))
    zoo.backward(
        output,
        engine,
        lambda node, slot, part, after: writer.send(node.name, slot, part, after=after),
    )
    return writer.document([output.name])


# ---------------------------------------------------------------------------------------- diagnoses

BUGS = {
    "accumulate": (
        "fan-out",
        "at a node that is used twice, the second part takes the place of the first",
    ),
    "order": ("order", "a node passes its gradient on before all parts of it have arrived"),
    "start": ("stale", "gradients of an earlier pass are still there and are added to"),
    "pull_add": (
        "broadcast",
        "an operand that was stretched gets a gradient of the stretched shape",
    ),
    "pull_mul": ("operand", "in a product each operand is given the other one's gradient"),
    "pull_sub": ("sign", "in a difference the second operand's part lacks its minus"),
}
"""By the part of the engine in which it is: the bug's name and what happens."""

NAMES = {name: what for name, what in BUGS.values()}

WHERE_TO_LOOK = {
    "accumulate": (
        "Go to x or to v1: both are used twice, so two parts arrive. What does the step with the"
        " second part make of the first?"
    ),
    "order": (
        "Follow v1. How many parts have arrived when it sends something on to x, and how many"
        " later?"
    ),
    "start": (
        "Look at the first step that writes to b, or to x. What arrives, and what stands there"
        " afterwards?"
    ),
    "pull_add": (
        "Compare the shapes of values and adjoints, node by node. All adjoints should have the"
        " shape of their values."
    ),
    "pull_mul": (
        "All adjoints down to v3 are right. What does the product v3 = v1 · v2 send to v2? With"
        " which factor?"
    ),
    "pull_sub": "v2 = v1 − x. What arrives at v2, and what is sent to v1 and to x?",
}


def _part(letter: str) -> str:
    return str(zoo.ANIMALS[letter].__name__)


def Diagnosis(letter: str) -> Exercise:
    """The student names an engine's bug, one of NAMES."""
    right = BUGS[_part(letter)][0]

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        yield Case("diagnosis")

    def accept(case: Case, got: Any) -> str:
        if type(got) is not str or got not in NAMES:
            return f"write one of the names as a text: {', '.join(map(repr, NAMES))}."
        return "" if got == right else f"it is not {got!r}: {_why_not(_part(letter), got)}"

    return told_by(
        accept,
        f"bug-{letter}",
        {"diagnosis": 1},
        cases,
        answers=(f"bug_{letter}",),
        is_value=True,
        title=f"Diagnosis of engine {letter}",
        checked=(
            "Whatever is wrong with an engine is wrong in one of its parts; the others are sound."
        ),
        hints=(
            (
                "Compare the adjoints with the right ones, from the output backward. Which is the"
                " first that differs?"
            ),
            WHERE_TO_LOOK[_part(letter)],
            (
                "viz.compare(reference(), watched(…)) plays both on one clock and shows the first"
                " difference."
            ),
        ),
        misconceptions=tuple(
            Misconception(
                name,
                f"The name {name!r} belongs to another bug: {what}. Look for the first step that is"
                " wrong, from the output backward.",
                lambda case, name=name: name,
            )
            for name, what in NAMES.items()
            if name != right
        ),
    )


def _why_not(part: str, guess: str) -> str:
    """What speaks against a wrong diagnosis, in the engine's own Trace."""
    sound = {
        "fan-out": (
            "where two parts arrive at a node, both are in its adjoint."
            if part != "start"
            else "no part gets lost; there is too much."
        ),
        "order": "each node has all its parts before it sends anything.",
        "stale": "the first part that arrives at a node stands there alone.",
        "broadcast": "every adjoint has the shape of its value.",
        "operand": "what the product sends to each operand is its adjoint times the other operand.",
        "sign": "what the difference sends to its second operand has its minus.",
    }
    return sound[guess]


# ---------------------------------------------------------------------------------------- the mends


def _others(rng: np.random.Generator) -> Iterator[tuple[Graph, list[Any]]]:
    """Graphs in which each of the bugs shows, with other numbers, shapes and orders."""
    yield (
        {"a": rng.uniform(0.5, 1.5, size=(2, 3)), "b": rng.uniform(0.5, 1.5, size=3)},
        [
            # The names are in no order, so that an order by name is none of the nodes.
            ("t", "mul", ["a", "b"]),
            ("p", "sub", ["t", "b"]),
            ("s", "mul", ["t", "p"]),
            ("q", "add", ["s", "b"]),
            ("r", "add", ["q", "p"]),
            ("y", "sum", ["r"]),
        ],
    )
    yield (
        {"a": rng.uniform(0.5, 1.5, size=(2, 1)), "b": rng.uniform(0.5, 1.5, size=(1, 3))},
        [
            ("p", "exp", ["b"]),
            ("q", "mul", ["p", "a"]),
            ("r", "sub", ["a", "q"]),
            ("s", "mul", ["r", "p"]),
            ("t", "add", ["p", "s"]),
            ("u", "add", ["a", "t"]),
            ("y", "sum", ["u"]),
        ],
    )
    yield (
        {"a": np.asarray(rng.uniform(0.5, 1.5)), "b": np.asarray(rng.uniform(0.5, 1.5))},
        [
            ("p", "add", ["a", "a"]),
            ("q", "mul", ["p", "p"]),
            ("r", "sub", ["p", "b"]),
            ("s", "mul", ["p", "r"]),
            ("y", "sub", ["q", "s"]),
        ],
    )


def _graphs(rng: np.random.Generator) -> Iterator[Case]:
    yield Case(
        "the function of the zoo",
        inputs={n: np.asarray(v, dtype=float) for n, v in INPUTS.items()},
        rows=[list(r) for r in ROWS],
    )
    for inputs, rows in _others(rng):
        yield Case("other functions", inputs=inputs, rows=[list(row) for row in rows])


OPERATIONS = {"add": mg.add, "sub": mg.sub, "mul": mg.mul, "exp": mg.exp, "sum": mg.sum}


def _by_minigrad(inputs: Graph, rows: list[Any]) -> dict[str, np.ndarray]:
    nodes = {
        name: mg.tensor(np.array(value), dtype=mg.float64, requires_grad=True)
        for name, value in inputs.items()
    }
    for name, op, operands in rows:
        nodes[name] = OPERATIONS[op](*(nodes[o] for o in operands))
    found = mg.autograd.grad(nodes[rows[-1][0]], list(nodes.values()))
    return {name: np.asarray(as_plain(g)) for name, g in zip(nodes, found, strict=True)}


def Mend(letter: str) -> Exercise:
    """The student writes the sound form of an engine's broken part; it is put into the engine,
    which must give minigrad's gradients.
    """
    part, name = _part(letter), f"mended_{letter}"

    def accept(case: Case, got: Any) -> str:
        right = _by_minigrad(**case.args)
        if type(got) is not dict or set(got) != set(right):
            return f"the engine with your `{name}` gave no gradients."
        said = next(
            (
                p
                for n in right
                if (p := same(right[n], got[n], name=f"the gradient with respect to {n}"))
            ),
            "",
        )
        return f"with your `{name}` in the engine, {said}" if said else ""

    return told_by(
        accept,
        f"mend-{letter}",
        {"the function of the zoo": 1, "other functions": 1},
        _graphs,
        answers=(name,),
        drive="minigrad.lessons.exercises.zoo:gradients",
        title=f"Mending engine {letter}",
        forbid=(DERIVATIVES,),
        checked=(
            "Your part is put into the engine, and its gradients after two passes are compared with"
            " minigrad's."
        ),
        where=lambda case, got: first_wrong(case.args, got, _by_minigrad(**case.args)),
        present=lambda case: (
            f"two passes over {[(name, op, operands) for name, op, operands in case.args['rows']]}"
        ),
        hints=MENDS[part],
        misconceptions=(
            Misconception(
                "unchanged",
                "this is the broken part as it was.",
                _with(letter, zoo.ANIMALS[letter]),
            ),
            *(
                Misconception(say.partition(":")[0], say, _with(letter, other))
                for say, other in OTHERWISE[part].items()
            ),
        ),
    )


def _with(letter: str, part: Callable[..., Any]) -> Callable[[Case], Any]:
    """What an engine gives with another part in the place of the broken one."""
    name = f"mended_{letter}"
    return lambda case: zoo.gradients({name: part}, name, **case.args)


def _to(g: Any, a: Any) -> Any:
    return zoo.summed_to(g, a.shape)


def _put(combine: Callable[[Any, Any], Any], first: float = 1.0) -> Callable[[Any, Any], None]:
    """A part `accumulate` that puts parts together in another way."""

    def accumulate(node: Any, part: Any) -> None:
        node.grad = first * part if node.grad is None else combine(node.grad, part)

    return accumulate


def _reset(which: Callable[[list[Any]], list[Any]], value: Any = None) -> Callable[..., None]:
    """A part `start` that sets the gradients of some nodes alone."""

    def start(nodes: list[Any]) -> None:
        for node in which(nodes):
            node.grad = value(node) if callable(value) else value

    return start


OTHERWISE: dict[str, dict[str, Callable[..., Any]]] = {
    "pull_mul": {
        "the factors are right, but parts are not summed to their operands' shapes.":
            lambda g, a, b: (g * b, g * a),
        "g is left out of both parts.": lambda g, a, b: (
            _to(b + 0 * g, a), _to(a + 0 * g, b)),
        "g is left out of both parts, and the axes are lost.": lambda g, a, b: (
            zoo.summed_to(b, a.shape), zoo.summed_to(a, b.shape)),
        "both operands get the factor b; b gets the factor a.": lambda g, a, b: (
            _to(g * b, a), _to(g * b, b)),
        "the second operand gets nothing.": lambda g, a, b: (_to(g * b, a), 0 * b),
        "both operands get g without a factor.": lambda g, a, b: (g, g),
        "the sign of the first part is reversed.": lambda g, a, b: (
            _to(-g * b, a), _to(g * a, b)),
    },
    "accumulate": {
        "the first part is kept and later ones are ignored; they are added.":
            _put(lambda old, new: old),
        "later parts are subtracted; they are added.": _put(lambda old, new: old - new),
        "parts are multiplied; they are added.": _put(lambda old, new: old * new),
        "each new part is averaged with the old ones; parts are added.":
            _put(lambda old, new: (old + new) / 2),
        "the first part counts twice.": _put(lambda old, new: old + new, 2.0),
    },
    "pull_add": {
        "b's part is not summed to the shape of b.": lambda g, a, b: (_to(g, a), g),
        "a's part is not summed to the shape of a.": lambda g, a, b: (g, _to(g, b)),
        "each element gets the sum of all of g; only stretched axes are summed.":
            lambda g, a, b: (np.full(a.shape, g.sum()), np.full(b.shape, g.sum())),
        "b's part has a minus, as in a difference.": lambda g, a, b: (_to(g, a), -_to(g, b)),
        "the parts have the factors of a product; a sum sends g alone.": lambda g, a, b: (
            _to(g * b, a), _to(g * a, b)),
        "b gets the mean over its copies; their parts are added.": lambda g, a, b: (
            _to(g, a), _to(g, b) / max(g.size // b.size, 1)),
    },
    "order": {
        "the inputs come first; a sweep begins at the output.":
            lambda output: zoo.ANIMALS["D"](output)[::-1],
        "nodes are sorted by name, and a name tells nothing of the order.": lambda output: sorted(
            zoo.ANIMALS["D"](output), key=lambda node: str(node.name), reverse=True),
        "the output alone is in the list.": lambda output: [output],
        "inputs are missing from the list, so their gradients are never set back.":
            lambda output: [node for node in zoo.order(output) if node.parents],
        "the output is missing from the list.": lambda output: zoo.order(output)[1:],
    },
    "pull_sub": {
        "a's part has the minus, and b's has none.": lambda g, a, b: (_to(-g, a), _to(g, b)),
        "both parts have a minus; only that of b has.": lambda g, a, b: (_to(-g, a), _to(-g, b)),
        "parts are not summed to their operands' shapes.": lambda g, a, b: (g, -g),
        "the second operand gets nothing.": lambda g, a, b: (_to(g, a), 0 * b),
        "b gets its own value in the place of −g.": lambda g, a, b: (_to(g, a), -b),
        "b's part is half of what it should be.": lambda g, a, b: (_to(g, a), _to(-g, b) / 2),
    },
    "start": {
        "only inputs are set back; all nodes are to be.":
            _reset(lambda nodes: [node for node in nodes if not node.parents]),
        "one node alone is set back; all are to be.": _reset(lambda nodes: nodes[-1:]),
        "gradients start at 1; they start at nothing.":
            _reset(lambda nodes: nodes, lambda node: np.ones_like(node.value)),
        "gradients are halved, and something of them is still there.": _reset(
            lambda nodes: [node for node in nodes if node.grad is not None],
            lambda node: node.grad / 2),
        "nothing is set back.": lambda nodes: len(nodes),
        "the first node or the last is left out.": _reset(lambda nodes: nodes[1:-1]),
    },
}  # fmt: skip
"""Other ways to mend a part wrongly, by the part: what is said of each."""


MENDS = {
    "accumulate": (
        "What should be in node.grad when the second part has arrived?",
        "The first part that arrives finds None there.",
        "node.grad = part if node.grad is None else node.grad + part",
    ),
    "order": (
        (
            "A node may come only when all nodes that use it have come. Who is always born later: a"
            " node, or the nodes that use it?"
        ),
        (
            "Every node knows when it was born: node.born. All nodes are found already; only their"
            " order is wrong."
        ),
        "return sorted(found, key=lambda node: node.born, reverse=True)",
    ),
    "start": (
        "Which nodes still have their gradient of the first pass when the second one begins?",
        "The inputs have no parents.",
        "Set node.grad = None for all nodes.",
    ),
    "pull_add": (
        "a or b may have been stretched. Which shape must the part have that is sent to each?",
        (
            "summed_to(g, shape) adds up what stretching has multiplied. It does nothing where the"
            " shapes agree."
        ),
        "return summed_to(g, a.shape), summed_to(g, b.shape)",
    ),
    "pull_mul": (
        "How fast does a · b grow when a grows?",
        "The derivative of a · b with respect to a is b.",
        "return summed_to(g * b, a.shape), summed_to(g * a, b.shape)",
    ),
    "pull_sub": (
        "What does a − b do when b grows?",
        "The derivative of a − b with respect to b is −1.",
        "return summed_to(g, a.shape), summed_to(-g, b.shape)",
    ),
}

EXERCISES: dict[str, Exercise] = {
    e.name: e for letter in zoo.ANIMALS for e in (Diagnosis(letter), Mend(letter))
}

__all__ = ["BUGS", "EXERCISES", "NAMES", "broken_part", "f", "reference", "trace_of", "watched"]
