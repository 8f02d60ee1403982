"""The engine's Trace, recomputed with a student's code in the engine's place: the same graph and
steps, the student's numbers.

So a check can say at which step a mistake was made. A Trace holds the graph, the values and every
local derivative, so a pass over its steps is a whole differentiation engine. `with_rules` lets the
student's two rules do the work of one operation, `with_sweep` lets the student's loop do the whole
reverse pass; what comes out is a Trace again, to be compared with the engine's and shown in the
same viewer.
"""

from __future__ import annotations

from collections import UserDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from minigrad.trace.text import label, number, text_of
from minigrad.watch import trace_function
from minigrad.watch.notation import num, op, symbol
from minigrad.watch.values import value as plain

from .calls import TimeUp
from .numeric import close

Trace = dict[str, Any]
Tape = list[tuple[str, list[tuple[str, float]]]]
Rule = Callable[..., Any]


@dataclass(frozen=True)
class Example:
    """A function to try a student's code on: its formula as text, and the point."""

    formula: str
    f: Callable[..., Any]
    point: tuple[float, ...] = (2.0, 5.0)

    def trace(self, **options: Any) -> Trace:
        """What the engine does; options as of `minigrad.watch.trace_function`."""
        at = ", ".join(number(x) for x in self.point)
        return trace_function(
            self.f,
            *self.point,
            title=f"{self.formula} at {at if len(self.point) == 1 else f'({at})'}",
            **options,
        )


def operands(trace: Trace, node: str) -> list[str]:
    """The nodes that an operation reads, in the order of its arguments."""
    edges = sorted((e for e in trace["edges"] if e["dst"] == node), key=lambda e: e["slot"])
    return [e["src"] for e in edges]


def with_rules(reference: Trace, op: str, tangent: Rule | None, adjoint: Rule | None) -> Trace:
    """The reference's steps with the student's rules for `op`; None: the engine's own local
    derivatives.

    tangent(*values, *tangents) -> number; adjoint(*values, g) -> one number for each operand.
    """
    ops = {n["id"]: n.get("op") for n in reference["nodes"]}
    edges = {e["id"]: e for e in reference["edges"]}
    value, dot, bar = ({} for _ in range(3))
    pulled: dict[str, tuple[float, ...]] = {}
    steps = []
    for step in reference["steps"]:
        phase, node = step["phase"], step["node"]
        if phase == "tangent":
            made = ""
            if ops[node] == op and tangent is not None:
                used = operands(reference, node)
                args = [value[u] for u in used] + [dot.get(u, 0.0) for u in used]
                result, made = tangent(*args), call_text(f"tangent_{op}", args)
            else:
                result = sum(c["local"] * dot[edges[c["edge"]]["src"]] for c in step["contribs"])
            dot[node] = result
            steps.append(_tangent_step(step, result, made))
        elif phase in ("adjoint", "accumulate"):
            contrib = step["contribs"][0]
            sender = edges[contrib["edge"]]["dst"]
            made = ""
            if ops[sender] == op and adjoint is not None:
                args = [value[u] for u in operands(reference, sender)] + [bar[sender]]
                if sender not in pulled:
                    pulled[sender] = adjoint(*args)
                slot = edges[contrib["edge"]]["slot"]
                product, made = (
                    pulled[sender][slot],
                    call_text(f"adjoint_{op}", args) + (f"[{slot}]" if len(args) > 2 else ""),
                )
            else:
                product = bar[sender] * contrib["local"]
            before = bar.get(node)
            bar[node] = product if before is None else before + product
            steps.append(_adjoint_step(step, sender, bar[sender], product, before, bar[node], made))
        else:
            for name, column, given in step["writes"]:
                {"v": value, "d": dot, "g": bar}[column][name] = float(given)
            steps.append(step)
    return {**reference, "title": f"{reference['title']} · by your rules", "steps": steps}


def _tangent_step(step: dict[str, Any], result: float, made: str) -> dict[str, Any]:
    """A tangent step with the student's number, where it is not the engine's; made: the call of
    the student's rule, if it was one.
    """
    node, expected = step["node"], step["writes"][0][2]
    if close(result, float(expected)):
        return step
    shown = plain(result)
    formula = [symbol(node, "dot", "d"), op("="), *_call(made), num(shown, "d")]
    say = (
        f"{'By your rule the' if made else 'The'} tangent of {node} is {number(shown)}; it should"
        f" be {number(expected)}."
    )
    new = {**step, "writes": [[node, "d", shown]], "formula": formula, "say": say}
    new.pop("contribs")
    return new


def _adjoint_step(
    step: dict[str, Any],
    sender: str,
    upstream: float,
    product: float,
    before: float | None,
    after: float,
    made: str,
) -> dict[str, Any]:
    """A step of the reverse pass with the student's numbers."""
    node, expected, theirs = step["node"], step["writes"][0][2], step["contribs"][0]
    if close(after, float(expected)) and close(product, float(theirs["product"])):
        return step
    came, now = plain(product), plain(after)
    contrib = {"edge": theirs["edge"], "upstream": plain(upstream), "product": came, "after": now}
    formula = [
        symbol(node, "bar", "g"),
        op("=" if before is None else "+="),
        *_call(made),
        num(came, "g"),
    ]
    if before is not None:
        contrib["before"] = plain(before)
        formula += [op("→"), num(contrib["before"], "g"), op("+"), num(came, "g")]
        formula += [op("="), num(now, "g")]
    should = (
        ""
        if close(product, float(theirs["product"]))
        else f"; it should send {number(theirs['product'])}"
    )
    say = (
        f"{'By your rule ' if made else ''}{sender} sends {number(came)} back to {node}{should};"
        f" the adjoint of {node} is now {number(now)} instead of {number(expected)}."
    )
    return {
        **step, "writes": [[node, "g", now]], "contribs": [contrib], "formula": formula, "say": say,
    }  # fmt: skip


def first_wrong_step(reference: Trace, other: Trace) -> int | None:
    """The index of the first step whose number is not the reference's; for Traces by
    `with_rules`, which have the same steps.
    """
    for i, (a, b) in enumerate(zip(reference["steps"], other["steps"], strict=True)):
        for (_, _, expected), (_, _, got) in zip(a["writes"], b["writes"], strict=True):
            if not close(float(expected), float(got)):
                return i
    return None


# ------------------------------------------------------------------------------------------- sweeps


def tape_of(trace: Trace) -> Tape:
    """The graph as a list: each operation with its (input, local derivative) pairs, in the order
    of evaluation.
    """
    local = {
        c["edge"]: float(c["local"])
        for s in trace["steps"]
        if s["phase"] in ("adjoint", "accumulate")
        for c in s["contribs"]
    }
    rows = []
    for node in trace["nodes"]:
        edges = sorted(
            (e for e in trace["edges"] if e["dst"] == node["id"] and e["id"] in local),
            key=lambda e: e["slot"],
        )
        if edges:
            rows.append((node["id"], [(e["src"], local[e["id"]]) for e in edges]))
    return rows


class TooManyWrites(TimeUp):
    """A sweep wrote so often that it will not end."""


class RecordedAdjoints(UserDict[str, float]):
    """The dictionary that a sweep fills: every node at 0, the output at 1. It notes what is
    written, and what was read before that.

    Each entry of `writes`: (node, new value, node that was read last before it or None).
    """

    def __init__(self, tape: Tape, output: str, most: int = 20_000) -> None:
        super().__init__()
        self.data = {
            name: 0.0 for row, parents in tape for name in (*(p for p, _ in parents), row)
        } | {output: 1.0}
        self.writes: list[tuple[str, Any, str | None]] = []
        self._most, self._reads = most, []

    def __getitem__(self, name: str) -> float:
        self._reads = [*self._reads[-7:], name]
        return self.data[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if len(self.writes) >= self._most:
            raise TooManyWrites
        sender = next((r for r in reversed(self._reads) if r != name), None)
        self._reads = []
        self.writes.append((name, value, sender))
        self.data[name] = value


def with_sweep(reference: Trace, writes: list[tuple[str, float, str | None]]) -> Trace:
    """The reference's graph and values with the reverse pass that a student's sweep wrote, write
    by write.
    """
    steps = [s for s in reference["steps"] if s["phase"] not in ("adjoint", "accumulate")]
    known = {name for s in steps for name, column, _ in s["writes"] if column == "g"}
    edges = _edges_between(reference)
    bar: dict[str, float] = {}
    for node, value, sender in writes:
        if node not in {n["id"] for n in reference["nodes"]}:
            continue
        steps.append(_written(node, value, sender, edges, known, bar.get(node)))
        known.add(node)
        bar[node] = value
    return {**reference, "title": f"{reference['title']} · by your sweep", "steps": steps}


def _edges_between(trace: Trace) -> dict[tuple[str, str], Iterator[str]]:
    found = defaultdict(list)
    for e in trace["edges"]:
        found[e["src"], e["dst"]].append(e["id"])
    return {pair: iter(ids) for pair, ids in found.items()}


def _written(
    node: str,
    value: float,
    sender: str | None,
    edges: dict[tuple[str, str], Iterator[str]],
    known: set[str],
    before: float | None,
) -> dict[str, Any]:
    edge = next(edges.get((node, sender or ""), iter(())), None)
    reads = [
        [name, "g"]
        for name in (sender, node)
        if name in known and (name != node or before is not None)
    ]
    by = f" (after you read the adjoint of {sender})" if sender else ""
    change = "" if before is None else f"; it was {number(plain(before))}"
    return {
        "phase": "adjoint" if before is None else "accumulate",
        "node": node,
        "edges": [edge] if edge else [],
        "reads": reads,
        "writes": [[node, "g", plain(value)]],
        "formula": [symbol(node, "bar", "g"), op("="), num(plain(value), "g")],
        "say": f"Your sweep sets the adjoint of {node} to {number(plain(value))}{by}{change}.",
    }


# -------------------------------------------------------------------------------------------- words


def about(trace: Trace, node: str) -> str:
    """A node as people say it: "v4 = sin x2", or "x1" for an input."""
    found = next(n for n in trace["nodes"] if n["id"] == node)
    expr = text_of(found["expr"])
    return f"{label(found)} = {expr}" if expr else label(found)


def call_text(name: str, args: Iterable[float], names: Iterable[str] | None = None) -> str:
    """A call as a student would write it, such as adjoint_sin(a=1, g=2); names: of the
    parameters, left out if None.
    """
    given = [number(plain(a)).replace("−", "-") for a in args]
    if names is not None:
        given = [f"{n}={v}" for n, v in zip(names, given, strict=True)]
    return f"{name}({', '.join(given)})"


def _call(made: str) -> list[dict[str, Any]]:
    return [{"t": "text", "text": made}, op("=")] if made else []
