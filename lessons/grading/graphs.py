"""Small computations as plain data, and how they are evaluated, drawn at random, and put on a
Trace.

A graph goes to a student's code and comes back in this form:

    {"inputs": {"x1": 2.0, "x2": 5.0}, "rows": [["v1", "sin", ["x2"]], ["v2", "mul", ["x1", "v1"]]]}

Each row is [name, operation, names of its operands]; the last row is the output. A row ["v1",
"linear", ["x1", "x2"], [3.0, -1.0]] has its local derivatives with it: that is what a tape tells.
Values are numbers or arrays. Nothing is differentiated here but by central differences, which need
no rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad.trace import state_at
from minigrad.trace.text import label, number, text_of
from minigrad.watch import notation, trace_function
from minigrad.watch.notation import label_of
from minigrad.watch.sentences import seeded
from minigrad.watch.values import value as document_value

from .exercise import Case, SheetError, Where

Graph = dict[str, Any]
Values = dict[str, Any]
Trace = dict[str, Any]


class RandomOperation(NamedTuple):
    """operands: how many there are; value: of arrays and numbers of any library `m` that has
    NumPy's names; sign: between two operands, in formulas; arrays: whether it is for arrays alone;
    tame: where it is far from the edge of its domain and not steep.
    """

    operands: int
    value: Callable[..., Any]
    sign: str = ""
    arrays: bool = False
    tame: Callable[..., Any] | None = None


OPERATIONS = {
    "add": RandomOperation(2, lambda m, a, b: a + b, "+"),
    "sub": RandomOperation(2, lambda m, a, b: a - b, "−"),
    "mul": RandomOperation(2, lambda m, a, b: a * b, "·"),
    "div": RandomOperation(2, lambda m, a, b: a / b, "/", tame=lambda a, b: abs(b) > 0.3),
    "neg": RandomOperation(1, lambda m, a: -a),
    "square": RandomOperation(1, lambda m, a: a**2),
    "sin": RandomOperation(1, lambda m, a: m.sin(a)),
    "cos": RandomOperation(1, lambda m, a: m.cos(a)),
    "exp": RandomOperation(1, lambda m, a: m.exp(a), tame=lambda a: abs(a) < 3),
    "log": RandomOperation(
        1, lambda m, a: m.log(a), tame=lambda a: (a > 0.2) & (abs(a - 1) > 0.15)
    ),
    "tanh": RandomOperation(1, lambda m, a: m.tanh(a)),
    "matmul": RandomOperation(2, lambda m, a, b: a @ b, "@", arrays=True),
    "sum": RandomOperation(1, lambda m, a: a.sum(), arrays=True),
    "mean": RandomOperation(1, lambda m, a: a.mean(), arrays=True),
    "t": RandomOperation(1, lambda m, a: a.T, arrays=True),
    "relu": RandomOperation(
        1,
        lambda m, a: m.relu(a) if hasattr(m, "relu") else m.maximum(a, 0.0),
        arrays=True,
        tame=lambda a: abs(a) > 0.02,
    ),
    "sum over rows": RandomOperation(1, lambda m, a: a.sum(0), arrays=True),
    "sum over columns": RandomOperation(1, lambda m, a: a.sum(1), arrays=True),
}
SCALAR_OPS = tuple(op for op, known in OPERATIONS.items() if not known.arrays)
JOINING = ("add", "mul", "sub")
"""Operations that join two nodes wherever their values are, the most telling ones first."""


def names(graph: Graph) -> list[str]:
    """All nodes: the inputs, then the rows, in their order."""
    return [*graph["inputs"], *(row[0] for row in graph["rows"])]


def output(graph: Graph) -> str:
    """The node whose derivative is asked for: the last row, or the last input where there is no
    row.
    """
    return names(graph)[-1]


def apply(module: Any, row: Sequence[Any], operands: Sequence[Any]) -> Any:
    """The value of one row; module: numpy or minigrad."""
    if row[1] == "linear":
        return sum(
            (local * a for local, a in zip(row[3], operands, strict=True)), start=0.0 * operands[0]
        )
    if row[1] not in OPERATIONS:
        raise SheetError(
            f"row {row[0]!r}: there is no operation {row[1]!r}; there are linear,"
            f" {', '.join(OPERATIONS)}."
        )
    return OPERATIONS[row[1]].value(module, *operands)


def evaluate(graph: Graph, moved: Mapping[str, Any] | None = None) -> Values:
    """The value of every node, in NumPy. moved: amounts to add to nodes once they are computed."""
    moved = moved or {}
    found: Values = {}
    with np.errstate(all="ignore"):
        for name, given in graph["inputs"].items():
            found[name] = np.asarray(given, dtype=np.float64) + moved.get(name, 0.0)
        for row in graph["rows"]:
            made = np.asarray(apply(np, row, [found[o] for o in row[2]]))
            found[row[0]] = made + moved.get(row[0], 0.0)
    return found


def by_engine(graph: Graph) -> Values:
    """The adjoint of every node, by minigrad's reverse mode: the trusted side's answer. Arrays of
    float64; zeros for what the output does not depend on.
    """
    nodes: dict[str, Any] = {
        n: mg.tensor(np.asarray(v, dtype=np.float64)).requires_grad_()
        for n, v in graph["inputs"].items()
    }
    for row in graph["rows"]:
        nodes[row[0]] = apply(mg, row, [nodes[o] for o in row[2]])
    gradients = mg.autograd.grad(nodes[output(graph)], list(nodes.values()), allow_unused=True)
    pairs = zip(nodes.items(), gradients, strict=True)
    return {
        name: np.zeros(node.shape) if g is None else np.asarray(g.detach().numpy())
        for (name, node), g in pairs
    }


def by_differences(graph: Graph) -> Values:
    """The adjoint of every node, by moving one element of one node at a time: slow, blunt, and
    without any rule to get wrong.
    """
    values, end = evaluate(graph), output(graph)
    if all(row[1] in ("linear", *SCALAR_OPS) for row in graph["rows"]) and not any(
        np.ndim(v) for v in values.values()
    ):
        return _by_differences_of_numbers(graph, values)
    found: Values = {}
    for name in names(graph):
        slopes = np.zeros(values[name].shape)
        for place in np.ndindex(slopes.shape):
            step = np.zeros(slopes.shape)
            step[place] = h = 1e-5 * max(1.0, abs(float(values[name][place])))
            up, down = evaluate(graph, {name: step})[end], evaluate(graph, {name: -step})[end]
            slopes[place] = float(np.sum(up - down)) / (2 * h)
        found[name] = slopes
    return found


def _by_differences_of_numbers(graph: Graph, values: Values) -> Values:
    """`by_differences` of a graph of numbers, whose operations work element by element: one
    evaluation on arrays, of which each column moves one node up or down.
    """
    order = names(graph)
    steps = [1e-5 * max(1.0, abs(float(values[name]))) for name in order]
    moved = np.concatenate([np.diag(steps), -np.diag(steps)], axis=1)
    up, down = evaluate(graph, dict(zip(order, moved, strict=True)))[output(graph)].reshape(2, -1)
    slopes = (up - down) / (2 * np.array(steps))
    return {name: np.asarray(slope) for name, slope in zip(order, slopes, strict=True)}


# ----------------------------------------------------------------------------------- drawing graphs


def tame(graph: Graph) -> bool:
    """Whether all values are of moderate size and no operation is near the edge of its domain."""
    try:
        values = evaluate(graph)
    except (ValueError, ZeroDivisionError):
        return False
    for row in graph["rows"]:
        operands = [values[o] for o in row[2]]
        tame_at = OPERATIONS[row[1]].tame if row[1] in OPERATIONS else None
        if tame_at is not None and not np.all(tame_at(*operands)):
            return False
    return all(np.isfinite(v).all() and np.abs(v).max(initial=0.0) < 40 for v in values.values())


def scalar(rng: np.random.Generator) -> float:
    """A number with one digit after the point, away from 0."""
    return float(round(one_of(rng, (-1, 1)) * rng.uniform(0.5, 2.5), 1))


def one_of(rng: np.random.Generator, items: Sequence[Any]) -> Any:
    """One of some items, as `rng.choice` draws it: the same one, in a tenth of the time."""
    return items[int(rng.integers(len(items)))]


def single(op: str, rng: np.random.Generator, shared: bool = False) -> Graph:
    """One operation on one or two inputs (on the same one twice, if shared)."""
    count = OPERATIONS[op].operands
    for _ in range(200):
        inputs = {f"x{i + 1}": scalar(rng) for i in range(1 if shared else count)}
        graph = {"inputs": inputs, "rows": [["v1", op, ["x1"] * count if shared else list(inputs)]]}
        if tame(graph):
            return graph
    raise SheetError(f"no tame values were found for the operation {op!r}.")


def random_graph(rng: np.random.Generator, ops: Sequence[str], most: int = 6) -> Graph:
    """A graph of 2 to `most` operations on one or two inputs; its output depends on every node."""
    for _ in range(1000):
        inputs = {f"x{i + 1}": scalar(rng) for i in range(int(rng.integers(1, 3)))}
        known, unused, rows = list(inputs), list(inputs), []
        for i in range(int(rng.integers(1, most))):
            op = one_of(rng, ops)
            operands = [one_of(rng, known) for _ in range(OPERATIONS[op].operands)]
            rows.append([f"v{i + 1}", op, operands])
            known.append(f"v{i + 1}")
            unused = [u for u in [*unused, f"v{i + 1}"] if u not in operands]
        binary = [op for op in ops if op in JOINING]
        while len(unused) > 1 and binary:  # join unused nodes: every node gets an adjoint
            name = f"v{len(rows) + 1}"
            rows.append([name, one_of(rng, binary), unused[:2]])
            unused = [*unused[2:], name]
        graph = {"inputs": inputs, "rows": rows}
        if len(unused) == 1 and tame(graph):
            return graph
    raise SheetError(f"no tame graph was found with the operations {', '.join(ops)}.")


def renamed(graph: Graph, rng: np.random.Generator) -> Graph:
    """The graph under other names: v1, v2, … in a random order, so that a name tells nothing
    about a place.
    """
    made = [row[0] for row in graph["rows"]]
    twin = {name: name for name in graph["inputs"]} | {
        name: made[int(i)] for name, i in zip(made, rng.permutation(len(made)), strict=True)
    }
    rows = [
        [twin[name], op, [twin[o] for o in operands], *rest]
        for name, op, operands, *rest in graph["rows"]
    ]
    return {**graph, "rows": rows}


def tape_of(graph: Graph) -> list[Any]:
    """The graph as a tape: each row with its (operand, local derivative) pairs, the derivatives
    by central differences, tidied.
    """
    values, rows = evaluate(graph), []
    for row in graph["rows"]:
        if row[1] == "linear":
            rows.append([row[0], [[o, float(c)] for o, c in zip(row[2], row[3], strict=True)]])
            continue
        inputs = {f"a{j}": values[o] for j, o in enumerate(row[2])}
        slopes = by_differences({"inputs": inputs, "rows": [["y", row[1], list(inputs)]]})
        rows.append([row[0], [[o, float(slopes[a])] for o, a in zip(row[2], inputs, strict=True)]])
    return rows


def of_tape(rows: Sequence[Any]) -> Graph:
    """A tape as a graph: the local derivatives are in its rows, the inputs stand at 1."""
    made = [row[0] for row in rows]
    inputs = dict.fromkeys((o for _, parents in rows for o, _ in parents if o not in made), 1.0)
    return {
        "inputs": inputs,
        "rows": [
            [name, "linear", [o for o, _ in parents], [c for _, c in parents]]
            for name, parents in rows
        ],
    }


# ----------------------------------------------------------------------------------------- pictures


def formula(graph: Graph) -> str:
    """The rows as text, one after the other: "v1 = sin(x1); v2 = v1 * x1"."""
    signs = {op: known.sign for op, known in OPERATIONS.items() if known.sign}
    out = []
    for name, op, operands, *rest in graph["rows"]:
        if op == "linear":
            text = " + ".join(f"{number(c)}·{o}" for o, c in zip(operands, rest[0], strict=True))
        else:
            text = (
                f" {signs[op]} ".join(operands) if op in signs else f"{op}({', '.join(operands)})"
            )
        out.append(f"{name} = {text}")
    tape = any(row[1] == "linear" for row in graph["rows"])
    at = ", ".join(
        f"{n} = {number(document_value(np.asarray(v)))}"
        for n, v in graph["inputs"].items()
        if not tape
    )
    return "; ".join(out) + (f"  at {at}" if at else "")


def trace_of(graph: Graph, tangents: Values | None = None) -> tuple[Trace, dict[str, str]]:
    """The engine's Trace of a graph in reverse mode, and for each of the graph's nodes the name
    that it has there.

    A tape, whose rows are no operations of the engine's, is written down as it is. No names where
    nodes and operations do not match.
    """
    if any(row[1] == "linear" for row in graph["rows"]):
        return tape_trace(graph), {name: name for name in names(graph)}

    def run(*inputs: Any) -> Any:
        nodes = dict(zip(graph["inputs"], inputs, strict=True))
        for row in graph["rows"]:
            nodes[row[0]] = apply(mg, row, [nodes[o] for o in row[2]])
            made.append(row[0])
        return nodes[output(graph)]

    made: list[str] = []
    points = [np.asarray(v, dtype=np.float64) for v in graph["inputs"].values()]
    trace = trace_function(
        run,
        *points,
        mode="reverse" if tangents is None else "forward",
        tangents=tangents,
        names=list(graph["inputs"]),
        source="",
        title=formula(graph),
    )
    _without_source(trace)
    drawn = [n for n in trace["nodes"] if n["kind"] in ("op", "output")]
    for node in drawn:
        node.pop("name", None)  # that of a variable here
    if len(drawn) != len(
        made
    ):  # a row that takes several of the engine's operations, as "linear" does
        return trace, {}
    for node, name in zip(drawn, made, strict=True):
        node["name"] = name
    ids = [*trace["inputs"], *(node["id"] for node in drawn)]
    return trace, dict(zip([*graph["inputs"], *made], ids, strict=True))


def _without_source(trace: Trace) -> None:
    """There is no source text that a student would know."""
    for part in (trace, *trace["nodes"], *trace["steps"]):
        for key in ("source", "span", "line"):
            part.pop(key, None)


class AskedRule(NamedTuple):
    """A derivative rule that was asked for: of f, a function of minigrad's tensors, at inputs by
    their names, with the adjoint of the result, or (pushed) with the tangents of the inputs.
    """

    f: Callable[..., Any]
    inputs: Mapping[str, Any]
    moved: Sequence[Any]
    pushed: bool = False


MOST_ELEMENTS = 16
"""Of an array in the picture of a rule, as many as every Trace has; larger ones are not drawn."""


def where_in_rule(asked: Callable[[Case], AskedRule]) -> Callable[[Case, Any], Where | None]:
    """The `where` of an exercise that asks for the rule of one function: which adjoint, or whether
    the tangent, is wrong, on the function's graph. None where nothing can be drawn: of empty and of
    large arrays, and of an answer that is no number, no array or too few of them.
    """
    return lambda case, got: wrong_rule(asked(case), got)


def wrong_rule(asked: AskedRule, got: Any) -> Where | None:
    """What `where_in_rule` gives, of one case."""
    column, several = "d" if asked.pushed else "g", not asked.pushed and len(asked.inputs) > 1
    parts = list(got) if several and isinstance(got, list | tuple) else [got]
    given = [*asked.inputs.values(), *asked.moved, *parts]
    if not all(map(_is_drawn, given)):
        return None
    points = [np.asarray(v, dtype=np.float64) for v in asked.inputs.values()]
    moved = [np.asarray(v, dtype=np.float64) for v in asked.moved]
    how = {"mode": "forward", "tangents": moved} if asked.pushed else {"cotangent": moved[0]}
    reference = trace_function(
        asked.f, *points, **{"mode": "reverse", **how}, names=list(asked.inputs), source=""
    )
    _without_source(reference)
    made = [node for node in reference["nodes"] if node["kind"] in ("op", "output")]
    rows = [f"{label(node)} = {text_of(node['expr'])}" for node in made]
    reference["title"] = "; ".join([*rows[:LISTED], *["…"][: len(rows) > LISTED]])
    names_ = reference["outputs"] if asked.pushed else list(asked.inputs)
    if len(parts) != len(names_) or any(
        math.prod(node["shape"]) > MOST_ELEMENTS
        for node in reference["nodes"]
        if node["id"] in names_
    ):
        return None
    cells = state_at(reference, len(reference["steps"])).cells
    answers = dict(zip(names_, parts, strict=True))
    right = {name: _as_array(cells[name, column]) for name in names_}
    wrong = [name for name in names_ if not close(answers[name], right[name])]
    if not wrong:
        return None
    word, traced = {"g": "adjoint", "d": "tangent"}[column], (reference, {n: n for n in names_})
    first = wrong[0]
    say = f"the {word} of {first} should be {_text(right[first])}, but is {_text(answers[first])}."
    return _where(first, say, wrong, column, traced, answers, right)


LISTED = 3
"""Operations that the title of a rule's picture writes out."""


def _is_drawn(value: Any) -> bool:
    """Whether a value is a number or a small array of real numbers."""
    if isinstance(value, bool | int | float):
        return True
    kinds = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    return bool(kinds and 0 < value.size <= MOST_ELEMENTS)


def _as_array(shown: Any) -> Any:
    """A value of a Trace, which has all of a small array's elements."""
    if not isinstance(shown, Mapping):
        return float(shown)
    return np.reshape([float(v) for v in shown["sample"]], shown["shape"])


def _symbol(name: str, **more: Any) -> dict[str, Any]:
    return {"t": "sym", **label_of(name), **more}


def tape_trace(graph: Graph) -> Trace:
    """The reverse pass over a tape as a `minigrad.trace/1` document without values: what the
    engine would do with these derivatives.
    """
    end, edges = output(graph), _tape_edges(graph)
    return {
        "schema": "minigrad.trace/1", "title": formula(graph), "seed": {"adjoints": {end: 1.0}},
        "inputs": list(graph["inputs"]),
        "outputs": [end], "nodes": _tape_nodes(graph), "edges": edges,
        "columns": [{"key": "g", "label": "adjoint", "phase": "adjoint"}],
        "steps": _tape_steps(graph, edges),
    }  # fmt: skip


def _tape_nodes(graph: Graph) -> list[dict[str, Any]]:
    made = [(name, "input", []) for name in graph["inputs"]]
    for name, _, operands, locals_ in graph["rows"]:
        kind, expr = "output" if name == output(graph) else "op", list[Any]()
        for operand, local in zip(operands, locals_, strict=True):
            plus = [notation.op("+")] if expr else []
            factor = notation.num(document_value(local))
            # the first of all needs none
            factors = notation.in_parentheses(factor) if expr else [factor]
            expr += [*plus, *factors, notation.op("·"), _symbol(operand)]
        made.append((name, kind, expr))
    return [
        {"id": name, "label": label_of(name), "kind": kind, "stage": "primal", "shape": [],
         "dtype": "float64", "expr": expr, **({} if kind == "input" else {"op": "linear"})}
        for name, kind, expr in made
    ]  # fmt: skip


def _tape_edges(graph: Graph) -> list[dict[str, Any]]:
    pairs = [(o, row[0], k) for row in graph["rows"] for k, o in enumerate(row[2])]
    return [
        {"id": f"e{i}", "src": source, "dst": name, "slot": slot, "stage": "primal"}
        for i, (source, name, slot) in enumerate(pairs, 1)
    ]


def _tape_steps(graph: Graph, edges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    end = output(graph)
    bar = {end: 1.0}
    steps: list[dict[str, Any]] = [
        {
            "phase": "seed",
            "node": end,
            "edges": [],
            "reads": [],
            "writes": [[end, "g", 1.0]],
            "formula": [
                _symbol(end, accent="bar", col="g"),
                notation.op("="),
                notation.num(1.0, "g"),
            ],
            "say": seeded(end, "bar", 1.0)[1],
        }
    ]
    for name, _, _, locals_ in reversed(graph["rows"]):
        for edge, local in zip([e for e in edges if e["dst"] == name], locals_, strict=True):
            to, product = edge["src"], bar[name] * local
            before = bar.get(to)
            bar[to] = product if before is None else before + product
            part = {
                "edge": edge["id"],
                "local": local,
                "upstream": bar[name],
                "product": product,
                "after": bar[to],
            }
            first = before is None
            steps.append(
                {
                    "phase": "adjoint" if first else "accumulate",
                    "node": to,
                    "edges": [edge["id"]],
                    "reads": [[name, "g"], *([] if first else [[to, "g"]])],
                    "writes": [[to, "g", bar[to]]],
                    "formula": [
                        _symbol(to, accent="bar", col="g"),
                        notation.op("=" if first else "+="),
                        *notation.in_parentheses(notation.num(document_value(bar[name]), "g")),
                        notation.op("·"),
                        *notation.in_parentheses(notation.num(document_value(local))),
                    ],
                    "contribs": [part if first else {**part, "before": before}],
                    "say": f"{name} sends {number(product)} back to {to}.",
                }
            )
    return steps


def close(a: Any, b: Any) -> bool:
    """Whether two adjoints have one shape and agree as well as central differences allow."""
    if type(a) is float and type(b) is float:
        return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= 1e-6 + 1e-6 * abs(b)
    try:
        x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return (
        x.shape == y.shape
        and bool(np.isfinite(x).all())
        and bool((np.abs(x - y) <= 1e-6 + 1e-6 * np.abs(y)).all())
    )


def first_wrong(graph: Graph, got: Mapping[str, Any], right: Values | None = None) -> Where | None:
    """The first node, from the output down, whose adjoint is not right although all its consumers'
    are: there the mistake was made.

    got: adjoints of the nodes, of any quality; those that are missing are passed over. right: by
    default by central differences. The sentence says what arrived; the Trace holds the student's
    adjoints in the place of the engine's.
    """
    right = by_differences(graph) if right is None else right
    wrong = [n for n in reversed(names(graph)) if n in got and not close(got[n], right[n])]
    if not wrong:
        return None
    at_fault = wrong[0]  # who uses it comes after it in the list, and is right
    users = [row[0] for row in graph["rows"] for o in row[2] if o == at_fault]
    say = (
        f"the adjoint of {_about(graph, at_fault)} should be {_text(right[at_fault])}, but is"
        f" {_text(got[at_fault])}."
    )
    arrays = any(np.ndim(value) for value in got.values())  # numbers are not changed in place
    if at_fault == output(graph):
        say += " It is the output: everything starts there."
        say += " Is its array changed later?" if arrays else ""
    elif users and np.ndim(got[at_fault]) == 0 < np.ndim(right[at_fault]) and got[at_fault] == 0:
        by, one = " and ".join(dict.fromkeys(users)), len(set(users)) == 1
        say += f" Nothing has arrived there. It is used by {by}, " + (
            "whose adjoint is right: did it have its turn in the loop, and was what it sent kept?"
            if one
            else "whose adjoints are right: did they have their turn in the loop, and was what they"
            " sent kept?"
        )
    elif users and len(set(users)) == 1 and len(users) == 1:
        say += (
            f" It is used once, by {_about(graph, users[0])}, whose adjoint is right: look at how"
            f" that one is passed on{', and whether the array is changed later' * arrays}."
        )
    elif users:
        by, one = " and ".join(dict.fromkeys(users)), len(set(users)) == 1
        whose = "whose adjoint is right" if one else "whose adjoints are right"
        say += (
            f" It is used {len(users)} times{'' if one else ','} by {by}, {whose}: its"
            " contributions are added."
        )
    return _where(at_fault, say, wrong, "g", trace_of(graph), got, right)


def first_wrong_tangent(
    graph: Graph, tangents: Values, got: Mapping[str, Any], right: Values
) -> Where | None:
    """The first row whose tangent is not right: those of its operands are.

    tangents: of the inputs; got, right: of the rows.
    """
    wrong = [row[0] for row in graph["rows"] if not close(got[row[0]], right[row[0]])]
    if not wrong:
        return None
    at_fault = wrong[0]
    say = (
        f"the tangent of {_about(graph, at_fault)} should be {_text(right[at_fault])}, but is"
        f" {_text(got[at_fault])}. Those of its operands are right."
    )
    return _where(at_fault, say, wrong, "d", trace_of(graph, tangents), got, right)


def _where(
    at_fault: str,
    say: str,
    wrong: Sequence[str],
    column: str,
    traced: tuple[Trace, dict[str, str]],
    got: Mapping[str, Any],
    right: Values,
) -> Where:
    """Where an answer goes wrong, with both Traces where they can be drawn. traced: what `trace_of`
    gives."""
    reference, twin = traced
    trace, step = _with_numbers(reference, twin, got, right, at_fault, column)
    say = say[:1].upper() + say[1:]
    if trace is None:
        return Where(at_fault, say)
    marked = tuple(twin[n] for n in wrong if n in twin)
    return Where(at_fault, say, trace, step, marked, reference)


def _with_numbers(
    reference: Trace,
    twin: Mapping[str, str],
    got: Mapping[str, Any],
    right: Values,
    node: str,
    column: str,
) -> tuple[Trace | None, int]:
    """The engine's Trace with a student's adjoints or tangents in it, and the step at which `node`
    is complete. None where it cannot be drawn.

    reference, twin: what `trace_of` gives; column: "g" or "d".
    """
    word, accent = {"g": ("adjoint", "bar"), "d": ("tangent", "dot")}[column]
    if not twin or not all(isinstance(v, float | int | np.ndarray) for v in got.values()):
        return None, 0
    name_of = {there: here for here, there in twin.items()}
    last = {
        w[0]: i for i, s in enumerate(reference["steps"]) for w in s["writes"] if w[1] == column
    }
    steps, at = [], 0
    for i, step in enumerate(reference["steps"]):
        here = next((name_of.get(w[0]) for w in step["writes"] if w[1] == column), None)
        if (
            here is not None
            and here in got
            and last[twin[here]] == i
            and not close(got[here], right[here])
        ):
            given = document_value(np.asarray(got[here], dtype=np.float64))
            say = (
                f"By your code the {word} of {here} is {_text(got[here])}; it should be"
                f" {_text(right[here])}."
            )
            token = notation.symbol(here, accent, column) | {"node": twin[here]}
            step = {**step, "writes": [[twin[here], column, given]], "say": say}
            step["formula"] = [
                token,
                notation.op("="),
                notation.num(document_value(got[here]), column),
            ]
            step.pop("contribs", None)
        if here == node:
            at = i + 1
        steps.append(step)
    return {**reference, "title": f"{reference['title']} · by your code", "steps": steps}, at


def _about(graph: Graph, name: str) -> str:
    row = next((r for r in graph["rows"] if r[0] == name), None)
    return name if row is None else formula({"inputs": {}, "rows": [row]})


def _text(value: Any) -> str:
    try:
        return number(document_value(np.asarray(value, dtype=np.float64)))
    except (TypeError, ValueError, OverflowError):
        return str(value)[:40]


def linear_right(graph: Graph) -> Values:
    """The adjoints of a tape's nodes by forward mode, one pass a node: exact, for rows of the
    operation "linear" only.
    """
    rows, found = graph["rows"], {}
    places = {row[0]: i for i, row in enumerate(rows, 1)}
    for moved in names(graph):
        dot = {moved: 1.0}  # what comes before it stands still
        for name, _, operands, constants in rows[places.get(moved, 0) :]:
            dot[name] = math.fsum(
                c * dot.get(o, 0.0) for o, c in zip(operands, constants, strict=True)
            )
        found[moved] = dot.get(output(graph), 0.0)
    return found
