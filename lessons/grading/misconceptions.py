"""A library of classic mistakes: reverse sweeps that are broken in one place each.

These are the ways in which first engines go wrong. Every mistake is a small change to one right
sweep (`sweep`): another way to combine contributions, another rule for an operation, another order,
another seed. They serve twice: a student's numbers that equal a mistake's in every case have most
likely been made by it; and a sheet whose cases let a mistake pass has a hole.

The right rules stand here only so that they can be broken; a test holds them against the engine.
The answers of exercises come from the engine itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .graphs import OPERATIONS, Graph, Values, close, evaluate, names, output

Pull = Callable[[str, Sequence[Any], Any, Any], list[Any]]


def summed_to(g: Any, shape: tuple[int, ...]) -> Any:
    """The transpose of broadcasting: g summed over the axes along which an operand of this shape
    was stretched.
    """
    g = np.asarray(g)
    if g.shape == shape:
        return g
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(
        axis=tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1), keepdims=True
    )


def _last(a: Any) -> Any:
    return np.swapaxes(a, -1, -2)


def contributions(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    """What an operation with the operands x, the value y and the adjoint g sends back to each
    operand, before sums over broadcast axes.
    """
    a, b = x[0], x[-1]
    match op:
        case "linear":  # a row of a tape: x holds its local derivatives
            return [g * local for local in x]
        case "add":
            return [g, g]
        case "sub":
            return [g, -g]
        case "mul":
            return [g * b, g * a]
        case "div":
            return [g / b, -g * a / b**2]
        case "neg":
            return [-g]
        case "square":
            return [g * 2 * a]
        case "sin":
            return [g * np.cos(a)]
        case "cos":
            return [-g * np.sin(a)]
        case "exp":
            return [g * np.exp(a)]
        case "log":
            return [g / a]
        case "tanh":
            return [g * (1 - np.tanh(a) ** 2)]
        case "matmul":
            return [g @ _last(b), _last(a) @ g]
        case "sum":
            return [g * np.ones_like(a)]
        case "mean":
            return [g * np.ones_like(a) / a.size]
        case "t":
            return [_last(g)]
        case "relu":
            return [g * (a > 0)]
        case "sum over rows":
            return [g * np.ones_like(a)]
        case "sum over columns":
            return [np.asarray(g)[..., None] * np.ones_like(a)]
    raise KeyError(op)


def right_parts(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    """What an operation sends back to each operand, in the operand's shape."""
    return [summed_to(c, np.shape(a)) for c, a in zip(contributions(op, x, y, g), x, strict=True)]


def operands_of(row: Sequence[Any], values: Values) -> list[Any]:
    """What the rule of a row is given: the operands' values, or, in a tape, the local
    derivatives.
    """
    return [np.asarray(c) for c in row[3]] if row[1] == "linear" else [values[o] for o in row[2]]


def sweep(
    graph: Graph,
    *,
    pull: Pull = right_parts,
    combine: Callable[[Any, Any], Any] = lambda old, new: old + new,
    order: Callable[[Graph], Iterable[Any]] = lambda graph: reversed(graph["rows"]),
    seed: Callable[[Any], Any] = np.ones_like,
    start: Values | None = None,
) -> Values:
    """The adjoint of every node. With the arguments left out it is right; each mistake changes one
    of them.

    start: adjoints that are there from an earlier sweep. Rows of the operation "linear" bring their
    local derivatives with them.
    """
    values = evaluate(graph)
    bar: Values = {name: np.zeros(np.shape(v)) for name, v in values.items()} | (start or {})
    end = output(graph)
    bar[end] = np.asarray(seed(values[end]), dtype=np.float64)
    with np.errstate(all="ignore"):
        for row in order(graph):
            operands = operands_of(row, values)
            sent = pull(row[1], operands, values[row[0]], bar[row[0]])
            for operand, part in zip(row[2], sent, strict=True):
                if part is not None:
                    bar[operand] = combine(bar[operand], part)
    return bar


# -------------------------------------------------------------------------------------- wrong rules


def _forgets_incoming(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    return right_parts(op, x, y, np.ones_like(y))


def _forgets_local(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    return [
        (
            summed_to(g * np.ones(np.shape(y)), np.shape(a))
            if np.shape(a) == np.shape(y)
            else g * np.ones(np.shape(a))
        )
        for a in x
    ]


def _adds_local(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    return [g + c for c in right_parts(op, x, y, np.ones_like(y))]


def _at_output(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    return right_parts(op, [y], y, g)


def _other_operand(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    parts = contributions(op, x, y, g)
    return [summed_to(c, np.shape(a)) for c, a in zip(parts[::-1], x, strict=True)]


def _sign(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    *others, last = right_parts(op, x, y, g)
    return [*others, -last]


def _no_factor(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    (sent,) = right_parts(op, x, y, g)
    return [sent * np.size(x[0]) if op == "mean" else sent / 2]


def _no_sum(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    return contributions(op, x, y, g)


def _mean_for_sum(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    sent = zip(contributions(op, x, y, g), x, strict=True)
    return [summed_to(c, np.shape(a)) * (np.size(a) / max(np.size(c), 1)) for c, a in sent]


def _one_copy(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    def first(c: Any, shape: tuple[int, ...]) -> Any:
        c = np.asarray(c)[(0,) * (np.ndim(c) - len(shape))]
        return c[tuple(slice(0, n) if n == 1 else slice(None) for n in shape)]

    return [first(c, np.shape(a)) for c, a in zip(contributions(op, x, y, g), x, strict=True)]


def _last_operand_first(graph: Graph, last_first: bool) -> list[Any]:
    """The rows from the output back, as a walk that goes deep finds them, with the operands in
    one order or the other.
    """
    rows, done, found = {row[0]: row for row in graph["rows"]}, set(), []
    waiting = [(output(graph), False)]
    while waiting:
        name, ready = waiting.pop()
        if ready:
            found.append(rows[name])
        elif name in rows and name not in done:
            done.add(name)
            operands = rows[name][2][::-1] if last_first else rows[name][2]
            waiting += [(name, True), *((o, False) for o in operands)]
    return found[::-1]


def _in_order(last_first: bool, overwriting: bool) -> Callable[[Graph, Graph | None], Values]:
    """A sweep in an order of its own, which overwrites, or keeps the first contribution."""

    def run(graph: Graph, before: Graph | None) -> Values:
        order = lambda g: _last_operand_first(g, last_first)
        return (
            sweep(graph, combine=lambda old, new: new, order=order)
            if overwriting
            else _first_kept(graph, order)
        )

    return run


def _first_kept(
    graph: Graph, order: Callable[[Graph], Iterable[Any]] = lambda graph: reversed(graph["rows"])
) -> Values:
    """The sweep that keeps the first contribution to each node."""
    arrived: set[int] = set()

    def combine(old: Any, new: Any) -> Any:
        kept = old if id(old) in arrived else new
        arrived.add(id(kept))
        return kept

    return sweep(graph, combine=combine, order=order)


def _put_together(
    graph: Graph, put: Callable[[list[Any]], Any], first_to_last: bool = False
) -> Values:
    """The sweep that collects parts in lists, and puts a node's list together when it has its
    turn: from last to first, or from the inputs on.
    """
    values, inputs = evaluate(graph), list(graph["inputs"])
    rows = {row[0]: row for row in graph["rows"]}
    parts: dict[str, list[Any]] = {name: [] for name in names(graph)}
    parts[output(graph)] = [np.ones_like(values[output(graph)])]
    bar: Values = {}
    for name in [*inputs, *rows] if first_to_last else [*reversed(rows), *inputs]:
        bar[name] = put(parts[name]) if parts[name] else np.zeros(np.shape(values[name]))
        if name in rows and parts[name]:
            _, op, operands, *_ = row = rows[name]
            sent = right_parts(op, operands_of(row, values), values[name], bar[name])
            for operand, part in zip(operands, sent, strict=True):
                parts[operand].append(part)
    return bar


def _added(parts: list[Any]) -> Any:
    return sum(parts[1:], start=parts[0])


def _multiplied(parts: list[Any]) -> Any:
    return np.prod(np.array(parts), axis=0)


def _squared(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    """The adjoint multiplied once more, after the rule has done so."""
    return [
        summed_to(g * c, np.shape(a)) for c, a in zip(contributions(op, x, y, g), x, strict=True)
    ]


def _untransposed(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    return [g @ x[1], x[0] @ g]


def _transposed_result(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    return [_last(c) for c in right_parts(op, x, y, g)]


def _value_for_derivative(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    return [g * y]


def _first_operand(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    return [right_parts(op, x, y, g)[0], *([None] * (len(x) - 1))]


def in_some_rules(pull: Pull, ops: Iterable[str]) -> Callable[[Graph, Graph | None], Values]:
    """The sweep with a wrong rule for some operations, and the right ones for the others."""
    wrong = frozenset(ops)
    return lambda graph, before: sweep(
        graph,
        pull=lambda op, x, y, g: pull(op, x, y, g) if op in wrong else right_parts(op, x, y, g),
    )


def _negated(op: str, x: Sequence[Any], y: Any, g: Any) -> list[Any]:
    return [-c for c in right_parts(op, x, y, g)]


# ------------------------------------------------------------------------------------- wrong orders


def _met(graph: Graph, last_first: bool, queue: bool, again: bool) -> list[Any]:
    """Rows in the order in which a walk from the output meets them, whether or not all who use them
    were there before.

    last_first: the last operand first; queue: level by level instead of going deep; again: a row as
    often as it is met, given up after 10,000 rows, for it grows like the paths.
    """
    rows, seen, found, waiting = {row[0]: row for row in graph["rows"]}, set(), [], [output(graph)]
    while waiting and len(found) < 10_000:
        name = waiting.pop(0 if queue else -1)
        if name in rows and (again or name not in seen):
            seen.add(name)
            found.append(rows[name])
            waiting += rows[name][2] if last_first != queue else reversed(rows[name][2])
    return found


def _numbered(row: Sequence[Any]) -> tuple[int, str]:
    digits = "".join(c for c in str(row[0]) if c.isdigit())
    return int(digits or 0), str(row[0])


WAYS = [(False, False), (True, False), (False, True), (True, True)]


def _walk(way: tuple[bool, bool], again: bool) -> Callable[[Graph, Graph | None], Values]:
    """The sweep that goes one of the four ways."""
    return lambda graph, before: sweep(graph, order=lambda g: _met(g, *way, again))


def _passed_on_at_once(graph: Graph, before: Graph | None) -> Values:
    """backward() that calls itself for each operand right after adding to it, and hands on the
    sum so far instead of what was added.
    """
    values, rows = evaluate(graph), {row[0]: row for row in graph["rows"]}
    bar = {name: np.zeros(np.shape(v)) for name, v in values.items()}
    bar[output(graph)] = np.ones_like(values[output(graph)])
    waiting = [(output(graph), 0)]
    for _ in range(10_000):
        if not waiting:
            break
        name, i = waiting.pop()
        if name in rows and i < len(rows[name][2]):
            bar[rows[name][2][i]] = (
                bar[rows[name][2][i]]
                + right_parts(
                    rows[name][1], operands_of(rows[name], values), values[name], bar[name]
                )[i]
            )
            waiting += [(name, i + 1), (rows[name][2][i], 0)]
    return bar


# -------------------------------------------------------------------------------------- the library


@dataclass(frozen=True)
class Mistake:
    """name: short, for tables; say: what to tell the student, as the end of "It looks as if …";
    run: graph -> the adjoints it gives.

    run gets the graph of the case before too, where one sweep leaves something behind for the next.
    variants: other forms of the mistake, with a sentence each; explains(graph, adjoints): whether
    they could come from it, where that depends on the order of the sweep; pull, ops: for a mistake
    in rules, the wrong rule and the operations whose rules it can be in; needs: operations,
    "broadcast" or "again" (a second sweep), without which it cannot be made; empty: it always can.
    """

    name: str
    say: str
    run: Callable[[Graph, Graph | None], Values]
    variants: tuple[tuple[str, Callable[[Graph, Graph | None], Values]], ...] = ()
    explains: Callable[[Graph, Values], bool] | None = None
    pull: Pull | None = None
    ops: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def _mistake(name: str, say: str, **change: Any) -> Mistake:
    return Mistake(name, say, lambda graph, before: sweep(graph, **change))


BROADCASTING = ("add", "sub", "mul", "div")
"""Operations that stretch their operands to one shape."""


def rule_mistake(
    name: str, say: str, pull: Pull, ops: Sequence[str] = (), needs: Sequence[str] = ()
) -> Mistake:
    """A mistake in rules, pull(op, operands, value, adjoint). ops: those whose rules it can be in,
    by default all, those of a tape too; needs: by default these operations.
    """
    everywhere = lambda graph, before: sweep(graph, pull=pull)
    run = in_some_rules(pull, ops) if ops else everywhere
    rules = tuple(ops) or tuple(OPERATIONS)
    return Mistake(name, say, run, pull=pull, ops=rules, needs=tuple(needs or ops))


def _one_contribution_each(graph: Graph, got: Values) -> bool:
    """Whether every adjoint is one of its contributions alone, those made of the adjoints that
    were got: whatever the order was.
    """
    values = evaluate(graph)
    parts: dict[str, list[Any]] = {name: [] for name in names(graph)}
    parts[output(graph)] = [np.ones_like(values[output(graph)])]
    for row in graph["rows"]:
        sent = right_parts(
            row[1],
            operands_of(row, values),
            values[row[0]],
            np.asarray(got[row[0]], dtype=np.float64),
        )
        for operand, part in zip(row[2], sent, strict=True):
            parts[operand].append(part)
    return set(got) == set(parts) and all(
        not found or any(close(got[name], part) for part in found) for name, found in parts.items()
    )


def _left_over(graph: Graph, before: Graph | None) -> Values:
    """What an earlier sweep left in the nodes that this graph has too; nothing where there was
    none.
    """
    left, values = {} if before is None else sweep(before), evaluate(graph)
    return {
        n: left[n] for n in names(graph) if n in left and np.shape(left[n]) == np.shape(values[n])
    }


def _stale(graph: Graph, before: Graph | None) -> Values:
    return sweep(graph, start=_left_over(graph, before))


def _stale_inputs(graph: Graph, before: Graph | None) -> Values:
    left, now = _left_over(graph, before), sweep(graph)
    return {n: g + left[n] if n in graph["inputs"] and n in left else g for n, g in now.items()}


def _last_use_only(graph: Graph, before: Graph | None) -> Values:
    """An operand that stands twice in one row gets one contribution."""
    values = evaluate(graph)
    bar = {name: np.zeros(np.shape(v)) for name, v in values.items()}
    bar[output(graph)] = np.ones_like(values[output(graph)])
    for row in reversed(graph["rows"]):
        operands = operands_of(row, values)
        sent = right_parts(row[1], operands, values[row[0]], bar[row[0]])
        for operand, part in dict(zip(row[2], sent, strict=True)).items():
            bar[operand] = bar[operand] + part
    return bar


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "keeps the first",
        "only the first contribution to each node is kept, and every later one is ignored. They are"
        " added.",
        lambda graph, before: _first_kept(graph),
        tuple(("", _in_order(way, overwriting=False)) for way in (False, True)),
    ),
    Mistake(
        "overwrites at fan-out",
        "only one of several contributions to a node is kept, as when each overwrites the one"
        " before. They are added: `+=`, not `=`.",
        lambda graph, before: sweep(graph, combine=lambda old, new: new),
        explains=_one_contribution_each,
    ),
    rule_mistake(
        "forgets the incoming adjoint",
        "the operation's own adjoint is left out: a contribution is that adjoint times the local"
        " derivative.",
        _forgets_incoming,
    ),
    rule_mistake(
        "derivative at the output",
        "the derivative is taken at the operation's result, but it belongs at its input, as cos x"
        " and not cos(sin x).",
        _at_output,
        ("sin", "cos", "exp", "log", "tanh", "square"),
    ),
    rule_mistake(
        "the other operand",
        "the operands of a product or quotient are swapped: the contribution to a has the factor b,"
        " and the other way round.",
        _other_operand,
        ("mul", "div"),
    ),
    rule_mistake(
        "sign",
        "a sign is lost: a − b sends −g to b; a / b, −a and cos a have a minus as well.",
        _sign,
        ("sub", "div", "neg", "cos"),
    ),
    Mistake(
        "double count",
        "a node that is reached along two ways is passed on twice, the second time with what was"
        " sent before. Each node is passed on once.",
        _walk(WAYS[0], again=True),
        (*(("", _walk(way, again=True)) for way in WAYS[1:]), ("", _passed_on_at_once)),
    ),
    _mistake(
        "each contribution twice",
        "each contribution is counted twice.",
        combine=lambda old, new: old + 2 * new,
    ),
    _mistake(
        "no seed",
        "the output's adjoint is 0 at the start. It is 1: the output changes with itself one to"
        " one.",
        seed=np.zeros_like,
    ),
    _mistake(
        "seeded with the value",
        "the output's adjoint starts at its value. It starts at 1, whatever the value is.",
        seed=lambda y: y,
    ),
    Mistake(
        "first to last",
        "the sweep goes from first to last. An adjoint must be complete before it is passed on:"
        " start at the output.",
        lambda graph, before: sweep(graph, order=lambda graph: graph["rows"]),
        (
            (
                "",
                lambda graph, before: _put_together(graph, _added, first_to_last=True),
            ),
        ),
    ),
    Mistake(
        "mean of the contributions",
        "a node gets the mean of its contributions; they are added.",
        lambda graph, before: _put_together(graph, lambda parts: _added(parts) / len(parts)),
    ),
    Mistake(
        "product of the contributions",
        "the contributions to a node are multiplied; they are added.",
        lambda graph, before: _put_together(graph, _multiplied),
    ),
    _mistake(
        "the adjoint twice",
        "what a rule sends is multiplied by the adjoint once more; the rule has done that.",
        pull=_squared,
    ),
    Mistake(
        "visit order",
        "a node is passed on as soon as it is met, when not all who use it have sent their part. Go"
        " in reverse topological order.",
        _walk(WAYS[0], again=False),
        tuple(("", _walk(way, again=False)) for way in WAYS[1:]),
    ),
    Mistake(
        "order of the names",
        "the nodes are taken in the order of their names, in which v10 comes before v2. A name"
        " tells nothing: the place in the list does.",
        lambda graph, before: sweep(
            graph, order=lambda g: sorted(g["rows"], key=lambda row: str(row[0]), reverse=True)
        ),
        (
            (
                "",
                lambda graph, before: sweep(
                    graph, order=lambda g: sorted(g["rows"], key=lambda row: str(row[0]))
                ),
            ),
            (
                "",
                lambda graph, before: sweep(
                    graph, order=lambda g: sorted(g["rows"], key=_numbered, reverse=True)
                ),
            ),
        ),
    ),
    rule_mistake(
        "no sum over broadcast axes",
        "an operand that was stretched by broadcasting gets an adjoint of the stretched shape: sum"
        " over the stretched axes.",
        _no_sum,
        BROADCASTING,
        ["broadcast"],
    ),
    rule_mistake(
        "mean over broadcast axes",
        "an operand that was stretched by broadcasting gets the mean over the stretched axes. "
        "Each copy sends its part, and they are added: take the sum.",
        _mean_for_sum,
        BROADCASTING,
        ["broadcast"],
    ),
    rule_mistake(
        "one copy of many",
        "an operand that was stretched by broadcasting gets the part of one of its copies. All of"
        " them send one: take the sum.",
        _one_copy,
        BROADCASTING,
        ["broadcast"],
    ),
    Mistake(
        "matrix product untransposed",
        "a transpose is missing at a matrix product: for C = A·B send g·Bᵀ to A and Aᵀ·g to B.",
        in_some_rules(_untransposed, ["matmul"]),
        needs=("matmul",),
    ),
    Mistake(
        "matrix product, result transposed",
        "the contributions of a matrix product come out transposed.",
        in_some_rules(_transposed_result, ["matmul"]),
        needs=("matmul",),
    ),
    rule_mistake(
        "constant factor",
        "a constant factor is missing: x² has the derivative 2x, and a mean over n elements has"
        " 1/n.",
        _no_factor,
        ("square", "mean"),
    ),
    Mistake(
        "stale gradients",
        "adjoints of the sweep before are still there when a new one starts: begin each sweep with"
        " zeros.",
        _stale,
        needs=("again",),
    ),
    Mistake(
        "stale gradients of the inputs",
        "the gradients of the sweep before are added to those of this one: set them back to zero"
        " first.",
        _stale_inputs,
        needs=("again",),
    ),
    rule_mistake(
        "sign of everything",
        "all signs are reversed: contributions are added, not subtracted.",
        _negated,
    ),
    rule_mistake(
        "value instead of derivative",
        "the operation's value is used where its derivative belongs.",
        _value_for_derivative,
        ("sin", "cos", "log", "tanh"),
    ),
    rule_mistake(
        "forgets the local derivative",
        "you leave out the local derivative: a contribution is the adjoint times it.",
        _forgets_local,
    ),
    rule_mistake(
        "adds the local derivative",
        "you add the adjoint and the local derivative; they are multiplied.",
        _adds_local,
    ),
    rule_mistake(
        "first operand only",
        "only the first operand of each operation gets its contribution.",
        _first_operand,
    ),
    _mistake(
        "keeps the larger",
        "you keep the larger contribution; they are added.",
        combine=lambda old, new: np.where(abs(new) > abs(old), new, old),
    ),
    Mistake(
        "same operand twice",
        "an operand that stands twice in one operation, as in x + x, gets only one of its two"
        " contributions.",
        _last_use_only,
    ),
)

CLASSIC = (
    "overwrites at fan-out",
    "forgets the incoming adjoint",
    "derivative at the output",
    "the other operand",
    "sign",
    "double count",
    "seeded with the value",
    "visit order",
    "no sum over broadcast axes",
    "matrix product untransposed",
    "constant factor",
    "stale gradients",
)
"""The twelve that a grader is held to; the others are their relatives."""

BY_NAME = {mistake.name: mistake for mistake in MISTAKES}
