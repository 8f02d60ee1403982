"""Broken engines by the hundred: the course's own engine with one piece exchanged, made by rules
and not written one by one.

    for name, make in broken().items():
        engine_suite.failures(make())

Each name says what is wrong, and begins with the piece that is to blame, in the words of
`minigrad.lessons.engine_suite`. Changes that leave an engine right (the rule of `+` that sends g on
as it came) are no bugs; `broken` leaves them out because of what they are, not because a suite
passes them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from . import own_engine
from .own_engine import unbroadcast

Engine = dict[str, Any]
Make = Callable[[], Engine]


@cache
def _program() -> Any:
    """The engine of own_engine.py, without what drives it."""
    source = inspect.getsource(own_engine).partition("\nPIECES = {")[0]
    return compile(source, "<an engine>", "exec")


def engine() -> Engine:
    """A new copy of the course's engine: its names, among them the pieces. A right one."""
    scope: Engine = {"__name__": f"{__name__}.engine"}
    exec(_program(), scope)
    return scope


# -------------------------------------------------------------------------------------------- rules

Rule = Callable[..., Any]

OPERATIONS: dict[str, tuple[str, Callable[..., Any], tuple[Rule, ...]]] = {
    "+": ("__add__", np.add, (lambda g, a, b: g, lambda g, a, b: g)),
    "-": ("__sub__", np.subtract, (lambda g, a, b: g, lambda g, a, b: -g)),
    "*": ("__mul__", np.multiply, (lambda g, a, b: g * b, lambda g, a, b: g * a)),
    "/": (
        "__truediv__",
        np.divide,
        (lambda g, a, b: g / b, lambda g, a, b: -g * a / b**2),
    ),
    "@": ("__matmul__", np.matmul, (lambda g, a, b: g @ b.T, lambda g, a, b: a.T @ g)),
    "exp": ("exp", np.exp, (lambda g, a: g * np.exp(a),)),
    "log": ("log", np.log, (lambda g, a: g / a,)),
    "t": ("t", np.transpose, (lambda g, a: g.T,)),
    "relu": ("relu", lambda a: np.maximum(a, 0.0), (lambda g, a: g * (a > 0),)),
    "pow": ("pow", lambda a, n: a**n, (lambda g, a, n: g * n * a ** (n - 1),)),
    "sum": (
        "sum",
        lambda a, axis=None: a.sum(axis),
        (
            lambda g, a, axis=None: np.broadcast_to(
                g if axis is None else np.expand_dims(g, axis), a.shape
            ),
        ),
    ),
}
"""What each operation is called, computes, and sends back to each operand."""
BINARY = tuple(op for op in OPERATIONS if len(OPERATIONS[op][2]) == 2)

SLIPS: dict[str, Callable[[Rule], Rule]] = {
    "the sign is reversed": lambda rule: lambda g, *x: -rule(g, *x),
    "twice as much": lambda rule: lambda g, *x: 2 * rule(g, *x),
    "half as much": lambda rule: lambda g, *x: rule(g, *x) / 2,
    "nothing but zeros": lambda rule: lambda g, *x: 0 * rule(g, *x),
    "g is left out": lambda rule: lambda g, *x: rule(np.ones_like(g), *x),
    "g enters squared": lambda rule: lambda g, *x: rule(g * np.abs(g), *x),
    "one too many": lambda rule: lambda g, *x: rule(g, *x) + 1,
    "a root too many": lambda rule: lambda g, *x: rule(g, *x) * np.abs(rule(g, *x)) ** 0.5,
}
"""What can be wrong with what a rule sends to one operand; true of every rule."""

SUMS: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "copies are not added up": lambda g, shape: g,
    "the mean of the copies": lambda g, shape: (
        unbroadcast(g, shape) * (np.size(unbroadcast(g, shape)) / max(np.size(g), 1))
    ),
    "one of the copies": lambda g, shape: np.broadcast_to(
        np.ravel(g)[0] if shape == () else _first(g, shape), shape
    ),
}
"""What can be wrong where an operand was stretched."""


def _first(g: Any, shape: tuple[int, ...]) -> Any:
    g = np.asarray(g)
    g = g[(0,) * (g.ndim - len(shape))]
    return g[tuple(slice(0, 1) if n == 1 else slice(None) for n in shape)]


def _with_operation(
    op: str,
    rules: tuple[Rule, ...],
    forward: Callable[..., Any] | None = None,
    summed: Callable[[Any, tuple[int, ...]], Any] = unbroadcast,
    kept: Callable[[tuple[Any, ...]], tuple[Any, ...]] = lambda nodes: nodes,
) -> Make:
    """An engine in which one operation is made of other parts. kept: the parents of what these
    nodes.
    """
    method, sound, every = OPERATIONS[op]
    arity = len(every)

    def make() -> Engine:
        scope = engine()

        def apply(*given: Any, **named: Any) -> Any:
            nodes, more = given[:arity], given[arity:]
            x = [node.value for node in nodes]

            def pull(g: Any) -> tuple[Any, ...]:
                parts = [rule(g, *x, *more, **named) for rule in rules]
                if arity == 2 and op != "@":
                    parts = [summed(part, a.shape) for part, a in zip(parts, x, strict=True)]
                return kept(tuple(parts))

            value = (forward or sound)(*x, *more, **named)
            parents = kept(nodes)
            return scope["Tensor"](value, parents, pull if parents else None, method)

        if method == "relu":
            scope["relu"] = apply
        else:
            setattr(scope["Tensor"], method, apply)
        return scope

    return make


def _wrong_rules() -> Iterator[tuple[str, Make]]:
    for op, (_, forward, rules) in OPERATIONS.items():
        blame = f"the rule of `{op}`"
        for i in range(len(rules)):
            place = f" to the {('first', 'second')[i]} operand" if len(rules) == 2 else ""
            for slip, change in SLIPS.items():
                wrong = tuple(change(r) if j == i else r for j, r in enumerate(rules))
                yield f"{blame}{place}: {slip}", _with_operation(op, wrong)
            if len(rules) == 2:
                alone = lambda nodes, i=i: (nodes[1 - i],)
                name = f"{blame}{place}: it is no parent"
                yield name, _with_operation(op, rules, kept=alone)
        yield f"{blame}: no parents at all", _with_operation(op, rules, kept=lambda nodes: ())
        yield (
            f"{blame}: the result is one too large",
            _with_operation(op, rules, forward=lambda *x, f=forward, **n: f(*x, **n) + 1),
        )
        if op in ("-", "*", "/", "@"):  # for + the two parts are equal
            yield f"{blame}: the parts are exchanged", _with_operation(op, rules[::-1])
        if op in BINARY and op != "@":
            for what, summed in SUMS.items():
                yield f"{blame}: {what}", _with_operation(op, rules, summed=summed)


# ----------------------------------------------------------------------------------- order and loop

SWEEP = """
def gradients(order, wanted{memory}):
    adjoint = {start}
    adjoint[order[-1]] = {seed}
    for node in {rows}:
        if node.parents and node in adjoint:
            for parent, part in {parts}:
                {combine}
    return [{back} for node in {wanted}]
"""
SOUND = {
    "memory": "",
    "start": "{}",
    "seed": "1.0",
    "rows": "reversed(order)",
    "parts": "zip(node.parents, node.pull(adjoint[node]))",
    "combine": "adjoint[parent] = adjoint[parent] + part if parent in adjoint else part",
    "back": "adjoint.get(node, 0.0)",
    "wanted": "wanted",
}
LOOPS = {
    "overwrites": {"combine": "adjoint[parent] = part"},
    "keeps the first part": {"combine": "adjoint.setdefault(parent, part)"},
    "multiplies the parts": {"combine": "adjoint[parent] = adjoint.get(parent, 1.0) * part"},
    "subtracts the parts": {"combine": "adjoint[parent] = adjoint.get(parent, 0.0) - part"},
    "adds each part twice": {"combine": "adjoint[parent] = adjoint.get(parent, 0.0) + 2 * part"},
    "keeps the larger part": {
        "combine": "adjoint[parent] = np.maximum(part, adjoint.get(parent, part))"
    },
    "means of two": {
        "combine": "adjoint[parent] = (adjoint.get(parent, part) + part) / 2",
    },
    "one part for a parent that is used twice": {
        "parts": "dict(zip(node.parents, node.pull(adjoint[node]))).items()"
    },
    "the first parent alone": {"parts": "[*zip(node.parents, node.pull(adjoint[node]))][:1]"},
    "the last parent alone": {"parts": "[*zip(node.parents, node.pull(adjoint[node]))][-1:]"},
    "parts for the wrong parents": {"parts": "zip(node.parents[::-1], node.pull(adjoint[node]))"},
    "begins with 0": {"seed": "0.0"},
    "begins with 2": {"seed": "2.0"},
    "begins with the value": {"seed": "order[-1].value"},
    "runs from the inputs": {"rows": "order"},
    "leaves out the last node": {"rows": "reversed(order[:-1])"},
    "stops in the middle": {"rows": "reversed(order[len(order) // 2:])"},
    "by number of parents": {"rows": "sorted(order, key=lambda n: -len(n.parents))"},
    "gives values": {"back": "node.value"},
    "gives ones": {"back": "adjoint.get(node, 0.0) ** 0"},
    "1 where there is no path": {"back": "adjoint.get(node, 1.0)"},
    "wanted from the back": {"wanted": "wanted[::-1]"},
    "the order's nodes": {"wanted": "order[:len(wanted)]"},
    "keeps the adjoints of the pass before": {"memory": ", memory={}", "start": "memory"},
    "reverses the order for good": {"rows": "(order.reverse() or order)[::-1][::-1][::1][1:]"},
}
IN_PLACE = """
def gradients(order, wanted):
    adjoint = {order[-1]: np.ones(())}
    for node in reversed(order):
        if node.parents and node in adjoint:
            for parent, part in zip(node.parents, node.pull(adjoint[node])):
                if parent in adjoint:
                    adjoint[parent] = np.asarray(adjoint[parent])
                    adjoint[parent] += part
                else:
                    adjoint[parent] = part
    return [adjoint.get(node, 0.0) for node in wanted]
"""
PATHS = """
def gradients(order, wanted):
    adjoint, waiting = {}, [(order[-1], 1.0)]
    while waiting:
        node, g = waiting.pop()
        adjoint[node] = adjoint.get(node, 0.0) + g
        if node.parents:
            waiting.extend(zip(node.parents, node.pull(g)))
    return [adjoint.get(node, 0.0) for node in wanted]
"""
RECURSIVE_SWEEP = """
def gradients(order, wanted):
    adjoint = {order[-1]: 1.0}
    def step(i):
        if i < 0:
            return
        node = order[i]
        if node.parents and node in adjoint:
            for parent, part in zip(node.parents, node.pull(adjoint[node])):
                adjoint[parent] = adjoint[parent] + part if parent in adjoint else part
        step(i - 1)
    step(len(order) - 1)
    return [adjoint.get(node, 0.0) for node in wanted]
"""

WALK = """
def topological_order(output):
    order, done, waiting = [], set(), [(output, False)]
    while waiting:
        node, ready = waiting.{take}
        if ready:
            {put}
        elif {fresh}:
            done.add(node)
            waiting.append((node, True))
            waiting.extend((parent, False) for parent in {parents})
    return {back}
"""
SOUND_WALK = {
    "take": "pop()",
    "put": "order.append(node)",
    "fresh": "node not in done",
    "parents": "node.parents",
    "back": "order",
}
ORDERS = {
    "from the output": {"back": "order[::-1]"},
    "a queue for the stack": {"take": "pop(0)"},
    "walks again through what it knows": {"fresh": "True"},
    "the first parent alone": {"parents": "node.parents[:1]"},
    "the last parent alone": {"parents": "node.parents[-1:]"},
    "without the inputs": {"put": "order.extend([node] if node.parents else [])"},
    "without the output": {"back": "order[:-1] or order"},
    "the output first": {"back": "[output, *order[:-1]]"},
    "twice": {"back": "order + order"},
    "two nodes exchanged": {"back": "order[:-2] + order[-2:][::-1]"},
    "inputs last": {"back": "sorted(order, key=lambda n: not n.parents)"},
    "by the number of parents": {"back": "sorted(order, key=lambda n: len(n.parents))"},
    "as a set": {"back": "[*dict.fromkeys(order[::2] + order[1::2])]"},
    "nodes without a name": {"put": "order.extend([node] if node.op else [])"},
}
MET = """
def topological_order(output):
    order, seen, waiting = [], set(), [output]
    while waiting:
        node = waiting.pop({end})
        if node not in seen:
            seen.add(node)
            order.append(node)
            waiting.extend(node.parents)
    return order[::-1]
"""
RECURSIVE = """
def topological_order(output):
    order, done = [], set()
    def visit(node):
        if node not in done:
            done.add(node)
            for parent in node.parents:
                visit(parent)
            order.append(node)
    visit(output)
    return order
"""


def _written(source: str) -> Make:
    """An engine with a piece of this source."""

    def make() -> Engine:
        scope = engine()
        exec(source, scope)
        return scope

    return make


def _wrong_walks() -> Iterator[tuple[str, Make]]:
    for what, change in ORDERS.items():
        source = WALK.format(**SOUND_WALK | change)
        yield f"`topological_order`: {what}", _written(source)
    yield "`topological_order`: breadth first", _written(MET.format(end="0"))
    yield "`topological_order`: depth first, as met", _written(MET.format(end=""))
    yield "`topological_order`: recursive", _written(RECURSIVE)
    for what, change in LOOPS.items():
        yield f"`gradients`: {what}", _written(SWEEP.format(**SOUND | change))
    yield "`gradients`: adds in place", _written(IN_PLACE)
    yield "`gradients`: down every path", _written(PATHS)
    yield "`gradients`: recursive", _written(RECURSIVE_SWEEP)


# ------------------------------------------------------------------------------- second derivatives

TANGENTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "the sign is reversed": lambda tensor, dy, x: dy * tensor(-1.0),
    "twice as much": lambda tensor, dy, x: dy + dy,
    "nothing but zeros": lambda tensor, dy, x: tensor(0.0) * dy,
    "a tangent without a graph": lambda tensor, dy, x: tensor(dy.value),
    "one too many": lambda tensor, dy, x: dy + tensor(1.0),
}
LINEAR = ("+", "-", "t", "sum")
"""Their tangents do not depend on the values, so no graph is lost with them."""

HVPS = {
    "the gradient": "f(Dual(point, Tensor(dx))).value",
    "without the direction": "f(Dual(point, Tensor(np.ones_like(dx)))).tangent",
    "twice as much": "f(Dual(point, Tensor(2 * np.asarray(dx)))).tangent",
    "the sign is reversed": "f(Dual(point, Tensor(-np.asarray(dx)))).tangent",
    "at another point": "f(Dual(Tensor(dx), point)).tangent",
    "the slope alone": "f(Dual(Tensor(x), Tensor(dx))).tangent",
}
HVP = """
def hvp(f, x, dx):
    point = Tensor(x)
    slope = {slope}
    return gradients(topological_order(slope), [point])[0]
"""


def _with_tangent(method: str, change: Callable[[Any, Any, Any], Any]) -> Make:
    def make() -> Engine:
        scope = engine()
        sound = getattr(scope["Dual"], method)

        def apply(*given: Any) -> Any:
            y = sound(*given)
            return scope["Dual"](y.value, change(scope["Tensor"], y.tangent, given))

        setattr(scope["Dual"], method, apply)
        return scope

    return make


def _wrong_duals() -> Iterator[tuple[str, Make]]:
    for op in filter(lambda op: op != "relu", OPERATIONS):
        method = OPERATIONS[op][0]
        for what, change in TANGENTS.items():
            if what != "a tangent without a graph" or op not in LINEAR:
                yield f"`{op}` of `Dual`: {what}", _with_tangent(method, change)
    for what, slope in HVPS.items():
        yield f"`hvp`: {what}", _written(HVP.format(slope=slope))


def broken() -> dict[str, Make]:
    """All broken engines: what is wrong, and a function that makes the engine."""
    return dict([*_wrong_rules(), *_wrong_walks(), *_wrong_duals()])
