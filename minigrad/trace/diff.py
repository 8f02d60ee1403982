"""Where two Traces part: the first step at which a student's engine does something else than the
reference.

Nodes are matched by the operation and the operands that they are made from, so labels may differ.
Of graphs that differ in a few operations these are named: one in the place of another, one too
many, one that is missing. A
number in an operation (`v1 + 1`) and a node for that number (`v1 + c1`) are one. A value that the
other makes from the same operands in more or fewer steps (`3 - x` as `x * -1`, then `+ 3`) is the
same value; so is, with an error, one that it makes of exchanged operands. An operation with a name
that minigrad does not know (`mv`) is the reference's where it has the same operands and the same
value. The comparison is by what was computed, in the order of the reference: a different legal
order of the backward pass is not a difference, a different value is. Where both Traces tell what
was sent along an edge, that is compared first: it names the operation whose rule is wrong, while
the sums only show where the damage arrives.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.primitive import registry
from .replay import numbers, state_at
from .schema import COLUMN_NAMES, inner_formulas
from .text import number, text_of

Trace = dict[str, Any]
_EDGE_COLUMNS = {"tangent": "d", "adjoint": "g", "accumulate": "g"}


@dataclass(frozen=True)
class Divergence:
    """The first difference. kind: "structure", "missing", "extra" or "value"; node and column as in
    the reference; step: index into the reference's steps (or None); expected, got: values; say: a
    sentence for people; edge: the reference's edge along which a wrong contribution was sent, or
    None; twin: what stands in the node's place in the other Trace, or None; swapped: of a
    difference or a quotient whose operands are swapped, how that is written ("x − 3"), or None;
    flipped: of a wrong adjoint that would be right but for the sign of one contribution, the node
    that sends this and its value, or None.

    Of a "structure" the node is None where none surely stands in the place of another. Of a single
    operation that is extra or missing, expected and got are its name and the reference's names of
    its operands; an extra node is called as in the other Trace.
    """

    kind: str
    node: str | None
    column: str | None
    step: int | None
    expected: Any
    got: Any
    say: str
    edge: str | None = None
    twin: str | None = None
    swapped: str | None = None
    flipped: tuple[str, Any] | None = None


def first_divergence(
    reference: Trace, other: Trace, rtol: float = 1e-6, atol: float = 1e-9
) -> Divergence | None:
    """The first step of `reference` with which `other` does not agree, or None."""
    return first_difference(reference, other, Match(reference, other), rtol, atol)


def first_difference(
    reference: Trace, other: Trace, match: Match, rtol: float, atol: float
) -> Divergence | None:
    """:func:`first_divergence` of two Traces whose nodes are matched already."""
    if match.difference is not None:
        return match.difference
    twin = match.paired
    edge_twin = edge_twins(reference, other, twin)
    # for each edge all that join the same two nodes
    beside = {name: names for names in _edges_between(reference).values() for name in names}
    theirs = state_at(other, len(other["steps"])).cells
    final = state_at(reference, len(reference["steps"])).cells
    their_parts, parts = _contributions(other), _contributions(reference)
    by_id = {node["id"]: node for node in reference["nodes"]}
    last_write = {
        (node, column): i
        for i, s in enumerate(reference["steps"])
        for node, column, _ in s["writes"]
    }
    close = functools.partial(agree, rtol=rtol, atol=atol)
    for i, step in enumerate(reference["steps"]):
        sent_in = _EDGE_COLUMNS.get(step["phase"])
        for part in step.get("contribs", []) if sent_in else []:
            sent = [their_parts.get((str(sent_in), edge_twin.get(e))) for e in beside[part["edge"]]]
            sent += [parts.get((str(sent_in), e)) for e in beside[part["edge"]]]
            got = their_parts.get((str(sent_in), edge_twin.get(part["edge"])))
            # what x*x sends twice may be told as one sum: its adjoint is compared
            if got is not None and None not in sent and not close(part["product"], got["product"]):
                ours, other = part["product"], with_entry(part["product"], got["product"], close)
                say = _wrong_part(reference, step, part, {**got, "product": other}, close)
                node, edge = step["node"], part["edge"]
                return Divergence("value", node, sent_in, i, ours, other, say, edge, twin.get(node))
        for node, column, _ in step["writes"]:
            if last_write[node, column] != i or node not in twin:
                continue  # a partial sum, or a number that the other has within an operation
            expected, got = final[node, column], theirs.get((twin[node], column))
            name = COLUMN_NAMES.get(column, column)
            if got is None:
                say = f"The {name} of {node} was never computed; it should be {number(expected)}."
                return Divergence("missing", node, column, i, expected, None, say, None, twin[node])
            if not close(expected, got):
                got = with_entry(expected, got, close)
                at, *shown = entry_apart(expected, got)
                right, wrong = map(number, shown)
                say = f"The {name} of {node}{at and f' at {at}'} should be {right}, but is {wrong}."
                arrived = _arrived(reference, parts, node, column)
                swapped = _swapped(by_id[node], expected, got, close) if column == "v" else None
                if swapped is not None:
                    say += f" That is {swapped}: the operands are swapped."
                flipped = _flipped(column, expected, got, arrived, close)
                if swapped is None:
                    say += _hint(column, expected, got, arrived, flipped, close)
                say += _unseen(*shown) if right == wrong else ""
                say += _counted(got)
                why = swapped, flipped
                return Divergence(
                    "value", node, column, i, expected, got, say, None, twin[node], *why
                )
    return None


def _arrived(trace: Trace, parts: Any, node: str, column: str) -> list[tuple[str, Any]]:
    """Who sends a node a contribution to its adjoint, and which."""
    return [
        (e["dst"], parts[column, e["id"]]["product"])
        for e in trace["edges"]
        if e["src"] == node and (column, e["id"]) in parts
    ]


def _unseen(a: Any, b: Any) -> str:
    """What two values that are written alike differ by."""
    if all(isinstance(v, int | float) for v in (a, b)):
        return f" The difference is {number(b - a)}."
    return " They differ in elements that are not shown."


def with_entry(a: Any, b: Any, close: Any) -> Any:
    """The second of two values that differ. Where both are arrays of one shape, its "apart" is the
    first entry in which they do, of those that both tell: its place and its index, "[1, 2]"; and
    how many differ, "≥ 2" where not all are known."""
    x, y = map(_entries, (a, b))
    if not x or not y or a["shape"] != b["shape"]:
        return b
    pairs = [*zip(x, y, strict=False)]
    unlike = [i for i, (p, q) in enumerate(pairs) if not close(p, q)]
    if not unlike:
        return b
    index, rest = list[int](), unlike[0]
    for size in reversed(b["shape"]):
        rest, here = divmod(rest, size)
        index.insert(0, here)
    least = "≥ " if len(pairs) < math.prod(b["shape"]) else ""
    return {**b, "apart": [unlike[0], str(index), f"{least}{len(unlike)}"]}


def entry_apart(a: Any, b: Any) -> tuple[str, Any, Any]:
    """What is shown of two values, the second from :func:`with_entry`: of arrays the index of the
    first entry that differs and its two values; of others no index and both."""
    if not isinstance(b, dict) or "apart" not in b:
        return "", a, b
    place, index, _ = b["apart"]
    return index, _entries(a)[place], _entries(b)[place]


def entries_apart(b: Any) -> tuple[str, int] | None:
    """How many entries of such an array differ, and how many there are; None of others."""
    if not isinstance(b, dict) or "apart" not in b:
        return None
    return b["apart"][2], math.prod(b["shape"])


def _counted(b: Any) -> str:
    found = entries_apart(b)
    return f" Entries that differ: {found[0]} of {found[1]}." if found else ""


def _entries(value: Any) -> Any:
    """What a Trace tells of an array's entries; nothing of a number."""
    return value.get("elements", value.get("sample")) if isinstance(value, dict) else None


def _contributions(trace: Trace) -> dict[tuple[str, str | None], Any]:
    """(column, edge) -> the contribution that was sent along the edge."""
    found: dict[tuple[str, str | None], Any] = {}
    for step in trace["steps"]:
        column = _EDGE_COLUMNS.get(step["phase"])
        if column is not None:
            found.update(((column, part["edge"]), part) for part in step.get("contribs", []))
    return found


def _wrong_part(trace: Trace, step: Any, part: Any, got: Any, agree: Any) -> str:
    edge = next(e for e in trace["edges"] if e["id"] == part["edge"])
    mode, sender, receiver = (
        ("tangent", edge["src"], edge["dst"])
        if step["phase"] == "tangent"
        else ("adjoint", edge["dst"], edge["src"])
    )
    at, *shown = entry_apart(part["product"], got["product"])
    right, wrong = map(number, shown)
    say = (
        f"{sender} should send {right} to the {mode} of {receiver}{at and f' at {at}'}, but sends"
        f" {wrong}"
    )
    counted = _counted(got["product"])
    if not agree(part["upstream"], got["upstream"]):
        complete = " when it is complete" if mode == "adjoint" else ""
        start = (
            f"the {mode} of {sender} that it starts from should be"
            f" {number(part['upstream'])}{complete}"
        )
        return f"{say}: {start}, but is {number(got['upstream'])}.{counted}"
    sign = agree(_negative(part["product"]), got["product"])
    return f"{say}.{' The sign is wrong.' if sign else ''}{counted}"


def _swapped(node: Any, expected: Any, got: Any, agree: Any) -> str | None:
    """How a wrong value is written that is right for exchanged operands."""
    exchanged = _other_way_round(node, expected)
    if exchanged is None or not agree(exchanged, got):
        return None
    left, right, sign = _parts_of(node) or ("", "", "")
    return f"{right} {sign} {left}"


def _flipped(
    column: str, expected: Any, got: Any, parts: list[tuple[str, Any]], agree: Any
) -> tuple[str, Any] | None:
    """The only sender, with its contribution, whose sign makes a wrong sum; a number may be rounded
    as it is written."""

    def alike(x: float, y: float) -> bool:
        return bool(agree(x, y)) or number(x) == number(y)

    right, wrong = numbers(expected), numbers(got)
    if column != "g" or len(parts) < 2 or right is None or wrong is None:
        return None
    found: dict[str, Any] = {}
    for sender, part in parts:
        sent = numbers(part)
        if sent is None or not len(right) == len(wrong) == len(sent):
            continue
        sums = [x - 2 * p for x, p in zip(right, sent, strict=True)]
        if all(map(alike, sums, wrong)) and not all(map(alike, sums, right)):
            found[sender] = part
    return next(iter(found.items())) if len(found) == 1 else None


def _hint(
    column: str,
    expected: Any,
    got: Any,
    parts: list[tuple[str, Any]],
    flipped: tuple[str, Any] | None,
    agree: Any,
) -> str:
    """What a wrong value looks like, where that can be told."""
    if agree(_negative(expected), got):
        return " The sign is wrong."
    if flipped is not None:
        return f" The contribution of {flipped[0]}, {number(flipped[1])}, has the wrong sign."
    if column == "g" and len(parts) > 1 and any(agree(p, got) for _, p in parts):
        return (
            f" That is one of {len(parts)} contributions alone: they must be added (+=), not"
            " overwrite one another."
        )
    return ""


def _negative(value: Any) -> Any:
    flat = numbers(value)
    if flat is None:
        return value
    if isinstance(value, dict):
        return {"shape": value["shape"], "sample": [-x for x in flat]}
    return -flat[0]


class Match:
    """Which nodes of two Traces belong together, found once for all that compares them.

    twin, within: as :func:`twins` says. paired: also what no operation makes and is left in both.
    difference: the first difference of the two graphs, if there is one.
    """

    def __init__(self, first: Trace, second: Trace) -> None:
        self.twin, self.within = twins(first, second)
        self.literals = literals(first, second, self.twin)
        known = {*self.twin, *self.literals[0]}, {*self.twin.values(), *self.literals[1]}
        for inner in self.within.values():
            for side, nodes in zip(known, inner, strict=True):
                side.update(nodes)
        for side, trace in zip(known, (first, second), strict=True):
            side.update(_unused(trace))  # the other need not know an input that nothing reads
        alone = tuple(
            [node for node in trace["nodes"] if node["id"] not in some]
            for trace, some in zip((first, second), known, strict=True)
        )
        leaves = ([n["id"] for n in side if "op" not in n] for side in alone)
        self.paired = self.twin | dict(zip(*leaves, strict=False))
        self.difference, self._edits = _structure(first, second, alone, self.paired)

    @property
    def changes(self) -> int:
        """Of graphs that differ in a few operations, how many these are; else 0."""
        return len(self._edits.found) if self._edits and self._edits.known else 0

    @functools.cached_property
    def roles(self) -> dict[str, str]:
        """The twins, and behind a few operations in which the graphs differ each node by its
        operation and its operands' places: what both make of something else."""
        edits = self._edits
        if edits is None or not self.changes:
            return self.twin
        leaves = {m: n for m, n in self.twin.items() if "op" not in edits.ways[0].nodes[m]}
        made = {m: n for m, n in edits.twin.items() if "op" in edits.ways[0].nodes[m]}
        return leaves | {m: n for m, n in made.items() if (m, n) not in edits.found}

    @functools.cached_property
    def places(self) -> dict[str, str]:
        """These roles and the operations that stand in one another's place."""
        found = self._edits.found if self._edits and self.changes else ()
        return self.roles | {m: n for m, n in found if m and n}


def _other_way_round(node: Any, value: Any) -> Any:
    """The value of a difference or a quotient with its operands exchanged; None of others."""
    if _parts_of(node) is None or value is None:
        return None
    flat = numbers(value)
    if node["op"] == "sub":
        return _negative(value)
    if flat is None or not all(flat) or isinstance(value, dict):
        return None
    return 1 / flat[0]


def _parts_of(node: Any) -> tuple[str, str, str] | None:
    """The two operands of a difference or a quotient as they are written, and its sign."""
    expr, op = node.get("expr") or [], node.get("op")
    if op == "div" and len(expr) == 1 and expr[0]["t"] == "frac":
        return text_of(expr[0]["num"]), text_of(expr[0]["den"]), "/"
    sign = {"sub": "−", "div": "/"}.get(str(op))
    at = [i for i, token in enumerate(expr) if token["t"] == "op" and token.get("text") == sign]
    if len(at) != 1 or not 0 < at[0] < len(expr) - 1:
        return None
    return text_of(expr[: at[0]]), text_of(expr[at[0] + 1 :]), str(sign)


def _edges_between(trace: Trace) -> dict[tuple[str, str], list[str]]:
    """The edges by the two nodes that they join."""
    between: dict[tuple[str, str], list[str]] = {}
    for e in trace["edges"]:
        between.setdefault((e["src"], e["dst"]), []).append(e["id"])
    return between


def edge_twins(first: Trace, second: Trace, twin: Mapping[str, str]) -> dict[str, str]:
    """For each edge of the first Trace that of the second between the twins of its ends; of several
    between the same two nodes by their order.
    """
    theirs = _edges_between(second)
    return {
        m: n
        for (src, dst), names in _edges_between(first).items()
        if src in twin and dst in twin
        for m, n in zip(names, theirs.get((twin[src], twin[dst]), ()), strict=False)
    }


def _named(a: Trace, b: Trace, kind: str) -> dict[str, str]:
    """The inputs or parameters that belong together: by name where one Trace has all names of the
    other, else by position.
    """
    names = [[n["id"] for n in trace["nodes"] if n["kind"] == kind] for trace in (a, b)]
    shared = set(names[0]) & set(names[1])
    if len(shared) == min(map(len, names)):
        return {name: name for name in names[0] if name in shared}
    return dict(zip(*names, strict=False))


def _leaves(first: Trace, second: Trace) -> dict[str, str]:
    """The twins of what no operation makes. Inputs without a counterpart may be constants in the
    other Trace, whose engine does not name them.
    """
    found = _named(first, second, "input") | _named(first, second, "param")
    known = set(found.values())
    left: list[dict[str, str]] = []
    for trace, matched in ((first, found), (second, known)):
        leaves = {n["id"] for n in trace["nodes"] if "op" not in n and n["id"] not in matched}
        leaves -= _unused(trace)
        cells = state_at(trace, len(trace["steps"])).cells
        left.append({one: number(v) for (one, c), v in cells.items() if c == "v" and one in leaves})
    ours, theirs = left
    waiting: dict[str, list[str]] = {}
    for node, value in theirs.items():
        waiting.setdefault(value, []).append(node)
    for node, value in [*ours.items()]:
        if waiting.get(value):
            found[node] = twin = waiting[value].pop(0)
            del ours[node], theirs[twin]
    inputs = [n["id"] for n in first["nodes"] if n["id"] in ours and n["kind"] != "const"]
    alike = len(ours) == len(theirs)
    return found | dict(zip(ours if alike else inputs, theirs, strict=False))


def _unused(trace: Trace) -> set[str]:
    """Inputs and constants that nothing reads."""
    used = {*trace["outputs"], *(edge["src"] for edge in trace["edges"])}
    return {n["id"] for n in trace["nodes"] if "op" not in n and n["id"] not in used}


Within = dict[str, tuple[list[str], list[str]]]
"""Nodes that one Trace makes in more steps than the other, and the inner steps of both."""


def twins(first: Trace, second: Trace) -> tuple[dict[str, str], Within]:
    """For each node of the first Trace its twin in the second: inputs and parameters by name or
    position, constants by value or else position, then by operation and operands, or by value and
    the operands behind several steps. A number within an operation is as good as a node for it.
    """
    if len(first["nodes"]) > len(second["nodes"]):  # the steps of one node are found in the longer
        back, inner = twins(second, first)
        turned = {back[node]: (ours, theirs) for node, (theirs, ours) in inner.items()}
        return {ours: theirs for theirs, ours in back.items()}, turned
    found, within = _leaves(first, second), Within()
    our_way, their_way = map(_Made, (first, second), literals(first, second, found))
    waiting: dict[Any, list[str]] = {}
    for node in second["nodes"]:
        for key in their_way.keys(node) if "op" in node else ():
            waiting.setdefault(key, []).append(node["id"])
    taken: set[str] = set()
    several = SeveralSteps((our_way, their_way), (first, second), found)
    for node in first["nodes"]:
        if "op" not in node:
            continue
        known = all(one in found for one in our_way.operands[node["id"]])
        for key in our_way.keys(node, found) if known else ():
            same = [one for one in waiting.get(key, []) if one not in taken]
            if same:
                numbers = our_way.numbers(node)
                alike = (n for n in same if _equal(numbers, their_way.numbers(their_way.nodes[n])))
                found[node["id"]] = twin = next(alike, same[0])
                taken.add(twin)
                break
        else:
            way = several.found(node["id"], taken) or several.found(node["id"], taken, True)
            if way is not None:
                found[node["id"]], within[node["id"]] = way
                taken |= {way[0], *way[1][1]}
    return found, within


MOST_STEPS = 8
"""Inner steps of a value that another engine makes in one."""


class SeveralSteps:
    """Finds for a node of the first of two Traces the node of the second that has its value and is
    made from the same operands in another number of steps, or by an operation unknown to minigrad.

    ways: how the nodes of both are made; found: the twins that are known, which grow meanwhile.
    """

    def __init__(self, ways: Any, traces: tuple[Trace, Trace], found: dict[str, str]) -> None:
        self._ways, self._traces, self._found = ways, traces, found
        self._users = [_users(trace) for trace in traces]
        self._order = {node["id"]: i for i, node in enumerate(traces[1]["nodes"])}

    @functools.cached_property
    def _values(self) -> list[dict[tuple[str, str], Any]]:
        return [state_at(trace, len(trace["steps"])).cells for trace in self._traces]

    def found(
        self, node: str, taken: set[str], exchanged: bool = False
    ) -> tuple[str, tuple[list[str], list[str]]] | None:
        """The twin, and the inner steps of both that serve nothing else. exchanged: a twin by
        mistake, one of which is a difference or a quotient that the other makes the other way
        round, as a wrong `__rsub__` makes x - 3 of 3 - x."""
        value = self._values[0].get((node, "v"))
        behind, inner = self._behind(0, node, self._found)
        if value is None or not behind:
            return None
        wanted = {self._found[one] for one in behind}
        start = min(wanted, key=lambda one: len(self._users[1][one]))
        for other in self._reached(start, taken):
            operands, steps = self._behind(1, other, taken)
            theirs = self._values[1].get((other, "v"))
            if operands != wanted or theirs is None:
                continue
            comparable = len(steps) != len(inner) or self._foreign(node, other)
            same = comparable and agree(value, theirs, rtol=1e-6, atol=1e-9)
            if self._exchanged(node, value, other, theirs) if exchanged else same:
                return other, (self._alone(0, node, inner), self._alone(1, other, steps))
        return None

    def _foreign(self, node: str, other: str) -> bool:
        """Whether minigrad has no operation of the name of one of two nodes, so that the name says
        nothing about what it computes."""
        return not all(
            way.nodes[one].get("op") in registry
            for way, one in zip(self._ways, (node, other), strict=True)
        )

    def _exchanged(self, node: str, value: Any, other: str, theirs: Any) -> bool:
        """Whether one of two nodes has the value of the other with its operands exchanged."""
        pairs = (0, node, value, theirs), (1, other, theirs, value)
        turned = [(_other_way_round(self._ways[i].nodes[n], v), w) for i, n, v, w in pairs]
        return any(v is not None and agree(v, w, rtol=1e-6, atol=1e-9) for v, w in turned)

    def _behind(self, side: int, node: str, known: Any) -> tuple[set[str], list[str]]:
        """What a node is made from that has a twin or that no operation makes, single numbers left
        out, and the steps between; nothing where there are too many."""
        way, behind, inner = self._ways[side], set(), list[str]()
        queue = [*way.operands[node]]
        while queue:
            one = queue.pop()
            made = "op" in way.nodes[one]
            if made and one not in known and one not in inner:
                inner.append(one)
                queue += way.operands[one]
            elif not made and one not in (self._found if side == 0 else self._found.values()):
                return set(), []
            elif one not in inner and way.nodes[one]["kind"] != "const":
                behind.add(one)
            if len(inner) > MOST_STEPS:
                return set(), []
        return behind, inner

    def _reached(self, start: str, taken: set[str]) -> list[str]:
        """The nodes of the second Trace without a twin that are made from a node in a few steps,
        by their order."""
        reached: set[str] = set()
        last = {start}
        for _ in range(MOST_STEPS + 1):
            last = {user for one in last for user in self._users[1][one]} - taken - reached
            reached |= last
        return sorted(reached, key=self._order.__getitem__)

    def _alone(self, side: int, node: str, inner: list[str]) -> list[str]:
        """Of inner steps those that are used for this node alone."""
        own = {node, *inner}
        return [one for one in inner if own.issuperset(self._users[side][one])]


def _users(trace: Trace) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {node["id"]: [] for node in trace["nodes"]}
    for edge in trace["edges"]:
        found[edge["src"]].append(edge["dst"])
    return found


def literals(first: Trace, second: Trace, twin: Mapping[str, str]) -> list[dict[str, Any]]:
    """Of each of two Traces the single numbers that it has as nodes, by their ids: constants that
    are no input of the other, and inputs that the other lacks.
    """
    kinds = [{n["id"]: n["kind"] for n in trace["nodes"]} for trace in (first, second)]
    pairs = [(m, n) for m, n in twin.items() if (kinds[0][m], kinds[1][n]) != ("const", "const")]
    operands = {m for m, _ in pairs}, {n for _, n in pairs}
    return [
        {
            node: value
            for step in trace["steps"]
            for node, column, value in step["writes"]
            if column == "v" and own[node] in ("const", "input") and node not in known
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        for trace, own, known in zip((first, second), kinds, operands, strict=True)
    ]


class _Made:
    """How the nodes of a Trace are made. literals: nodes that are single numbers; operands: of each
    node, without the numbers.
    """

    def __init__(self, trace: Trace, numbers: dict[str, Any]) -> None:
        self.nodes = {node["id"]: node for node in trace["nodes"]}
        self.literals = numbers
        self.operands = {
            name: [one for one in sources if one not in self.literals]
            for name, sources in _sources(trace).items()
        }

    def keys(self, node: dict[str, Any], twin: Mapping[str, str] | None = None) -> list[Any]:
        """By what an operation is found: its name and its operands as the other Trace calls them;
        and where a number is added, multiplied or an exponent, the plainest name of that.
        """
        operands = [twin[one] if twin else one for one in self.operands[node["id"]]]
        names = dict.fromkeys([node["op"], self.plain(node)[0]])
        return [(op, *operands) for op in names]

    def numbers(self, node: dict[str, Any]) -> list[Any]:
        """The numbers within an operation, as its plainest name takes them."""
        return self.plain(node)[1]

    def plain(self, node: dict[str, Any]) -> tuple[str, list[Any]]:
        """The plainest name of an operation, and the numbers that it takes then."""
        op = str(node["op"])
        said = [*self._said(node["expr"])]
        held = [one for one in said if not isinstance(one, str)]
        if op == "neg" and len(said) == 1:
            return "mul", [-1]
        if len(said) == 2 and len(held) == 1 and said[1] is held[0]:  # x - 1, x / 2, x ** 2
            if op == "sub":
                return "add", [-held[0]]
            if op == "div" and held[0]:
                return "mul", [1 / held[0]]
            op = {"pow_tensor": "pow"}.get(op, op)
        return op, held

    def _said(self, tokens: Any) -> Iterator[Any]:
        """The operands of an expression in their order: names of nodes, and numbers."""
        for token in tokens:
            if token["t"] == "sym" and "node" in token:
                yield self.literals.get(token["node"], token["node"])
            elif token["t"] == "num" and isinstance(token["value"], int | float):
                yield token["value"]
            for part in inner_formulas(token):
                yield from self._said(part)


def _equal(a: Any, b: Any) -> bool:
    """Whether two numbers, values of arrays, or lists of these are equal up to rounding."""
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return agree(a, b, rtol=1e-6, atol=0)


def _sources(trace: Trace) -> dict[str, list[str]]:
    """Each node's operands in their order."""
    found: dict[str, list[str]] = {n["id"]: [] for n in trace["nodes"]}
    for edge in sorted(trace["edges"], key=lambda e: e["slot"]):
        found[edge["dst"]].append(edge["src"])
    return found


class _Edits:
    """The operations in which the second of two graphs differs from the first: those that it has in
    the place of others, those that it has beside them, and those that it lacks.

    Of what is made from the same operands, the change is tried after which the fewest operations
    are left without a counterpart; of the rest then the next one. ways: how the nodes of both are
    made; alone: the operations without a twin, in their order; twin: the counterparts of the
    others, to which those are added that are found.
    """

    MOST = 50_000
    """Operations looked at, in all."""

    def __init__(self, ways: tuple[_Made, _Made], alone: Any, twin: Mapping[str, str]) -> None:
        self.ways, self.twin = ways, dict(twin)
        self.found: list[tuple[str | None, str | None]] = []
        """For each change the operation of the first graph and that of the second, or None."""
        self._looked = 0
        # of each operation its own and its plainest, as a product for a quotient by a number
        self._names = [
            {name: {n["op"], way.plain(n)[0]} for name, n in way.nodes.items() if "op" in n}
            for way in ways
        ]
        left = tuple(
            {name: way.operands[name] for name in names}
            for way, names in zip(ways, alone, strict=True)
        )
        most = max(map(len, left))
        while any(left) and self._looked < self.MOST:
            tried = [(self._after(left, *change), change) for change in self._changes(left)]
            if not tried:
                break
            (left, self.twin), change = min(tried, key=lambda one: max(map(len, one[0][0])))
            self.found.append(change[0])
        if len(self.found) > 1:
            left = self._single() or left
        replaced = all(None not in pair and self._other(*pair) for pair in self.found)
        few = len(self.found) == 1 or len(self.found) < most or replaced
        # of very many not all are looked for
        self.known = few and (not any(left) or (replaced and self._looked >= self.MOST))
        """Whether the changes say more than that the graphs differ."""

    def _single(self) -> Any:
        """Looks for one change of the whole graphs, which explains all: what looked alike may not
        belong together."""
        every = tuple(
            {name: way.operands[name] for name, node in way.nodes.items() if "op" in node}
            for way in self.ways
        )
        more = len(every[1]) - len(every[0])
        kept = {m: n for m, n in self.twin.items() if m not in every[0]}
        changes: Iterable[Any] = (((m, n), None) for m, n in zip(*every, strict=False))
        if abs(more) == 1:
            changes = (
                ((None, one) if more > 0 else (one, None), operand)
                for one, operands in every[more > 0].items()
                for operand in dict.fromkeys(operands)
            )
        elif more:
            return None
        before = self.twin
        for change, operand in changes:
            if self._looked > self.MOST:
                break
            self.twin = kept
            left, self.twin = self._after(every, change, operand)
            if any(left) or (operand is None and not self._in_place_of(every, *change)):
                continue
            self.found = [change]
            return left
        self.twin = before
        return None

    def _other(self, m: Any, n: Any) -> bool:
        """Whether two operations have different names."""
        return not self._names[0][m] & self._names[1][n]

    def _in_place_of(self, every: Any, m: str, n: str) -> bool:
        """Whether an operation stands in the place of another one."""
        same = [self.twin.get(one) for one in every[0][m]] == every[1][n]
        return same and self._other(m, n)

    def _changes(self, left: Any) -> Iterator[Any]:
        """What may be the next change, with the operand in whose place an operation stands that one
        of the graphs lacks."""
        back = {theirs: ours for ours, theirs in self.twin.items()}
        first, second = ([n for n in ops if not ops.keys() & {*ops[n]}] for ops in left)
        for m in first:
            for n in second:
                same = [back.get(one) for one in left[1][n]] == left[0][m]
                if same or not self._other(m, n):
                    yield (m, n), None
        for n in second:
            yield from (((None, n), one) for one in dict.fromkeys(left[1][n]) if one in back)
        for m in first:
            yield from (((m, None), o) for o in dict.fromkeys(left[0][m]) if o in self.twin)

    def _after(self, left: Any, change: Any, operand: str | None) -> Any:
        """The operations that are left after a change, and the counterparts then."""
        ours, theirs = (
            {
                node: [operand if one == gone and operand else one for one in operands]
                for node, operands in ops.items()
                if node != gone
            }
            for ops, gone in zip(left, change, strict=True)
        )
        twin = dict(self.twin)
        if operand is None:
            twin[change[0]] = change[1]
        waiting: dict[Any, list[str]] = {}
        for n, operands in theirs.items():
            for name in self._names[1][n]:
                waiting.setdefault((name, *operands), []).append(n)
        for m, operands in [*ours.items()]:
            made = [twin.get(one) for one in operands]
            for name in self._names[0][m] if None not in made else ():
                same = [n for n in waiting.get((name, *made), ()) if n in theirs]
                if same:
                    numbers = self.ways[0].numbers(self.ways[0].nodes[m])
                    wanted = (n for n in same if _equal(numbers, self._numbers(n)))
                    twin[m] = next(wanted, same[0])
                    del ours[m], theirs[twin[m]]
                    break
        self._looked += len(left[0]) + len(left[1])
        return (ours, theirs), twin

    def _numbers(self, n: str) -> list[Any]:
        return self.ways[1].numbers(self.ways[1].nodes[n])


def _structure(
    a: Trace, b: Trace, alone: tuple[list[Any], ...], twin: Mapping[str, str]
) -> tuple[Divergence | None, _Edits | None]:
    """The first operation in which two graphs differ, and all of them. alone: the nodes of both
    that :func:`twins` left; twin: each node's counterpart.
    """
    if not any(alone):
        return None, None
    ours, theirs = map(_Made, (a, b), literals(a, b, twin))
    born = {cell[0]: i for i, step in reversed([*enumerate(a["steps"])]) for cell in step["writes"]}
    made = [[n["id"] for n in side if "op" in n] for side in alone]
    edits = _Edits((ours, theirs), made, twin)
    if edits.known and edits.found:
        return _told(edits, born, _users(b)), edits
    if all(made) and not edits.known:
        say = "The two are computed by different operations."
        return Divergence("structure", None, None, None, None, None, say), edits
    counterparts = {*twin}, {*twin.values()}
    missing, extra = (
        [n for n in side if n["id"] not in known]
        for side, known in zip(alone, counterparts, strict=True)
    )
    if not missing and not extra:
        return None, edits
    sizes = [len(t["nodes"]) - len(own.literals) for t, own in ((a, ours), (b, theirs))]
    kind, first = ("missing", missing[0]) if missing else ("extra", extra[0])
    node = first["id"]
    say = (
        f"The graph should have {sizes[0]} nodes, but has {sizes[1]}; the first {kind} one is"
        f" {node}."
    )
    if sizes[0] == sizes[1]:
        say = f"{node} has no counterpart in the {'other' if missing else 'first'} graph."
    step = born.get(node) if kind == "missing" else None
    return Divergence(kind, node, None, step, sizes[0], sizes[1], say), edits


def _told(edits: _Edits, born: Mapping[str, int], users: Mapping[str, list[str]]) -> Divergence:
    """The first of the changes. born: the reference's steps that make its nodes; users: of the
    other's nodes."""
    back = {n: m for m, n in edits.twin.items()}
    ours, theirs = edits.ways

    def place(change: tuple[Any, Any]) -> int:
        """The step that it is about: of an operation that the reference lacks, that of the first
        one that uses its result, else of what made its operand."""
        m, n = change
        near = [m] if m else [back.get(one, "") for one in (*users[n], *theirs.operands[n])]
        return next((born[one] for one in near if one in born), 0)

    m, n = min(edits.found, key=place)
    step = place((m, n))
    if n is None:
        op, wanted = ours.nodes[str(m)]["op"], ours.operands[str(m)]
        say = f"{m}, the {op} of {_listed(wanted)}, is missing."
        return Divergence("missing", m, None, step, op, wanted, say)
    op, found = theirs.nodes[n]["op"], [back.get(o) or f"{o}′" for o in theirs.operands[n]]
    if m is None:
        say = f"There is an extra {op} of {_listed(found)}."
        return Divergence("extra", n, None, step, found, op, say)
    right, wanted = ours.nodes[m]["op"], ours.operands[m]
    if wanted == found:
        say = f"{m} should be made by {right}, but is made by {op}."
        return Divergence("structure", m, None, step, right, op, say, None, n)
    say = f"{m} should be made from {_listed(wanted)}, but is made from {_listed(found)}."
    return Divergence("structure", m, None, step, wanted, found, say, None, n)


def _listed(names: list[str]) -> str:
    return " and ".join(names) if names else "nothing"


def agree(a: Any, b: Any, rtol: float, atol: float) -> bool:
    """Whether two values are equal within tolerance, in all that both Traces tell of them."""
    if isinstance(a, dict) and isinstance(b, dict) and a.get("shape") != b.get("shape"):
        return False
    shared = (
        a.keys() & b.keys() & {"min", "max", "norm"}
        if isinstance(a, dict) and isinstance(b, dict)
        else set()
    )
    x, y = _parts(a, shared), _parts(b, shared)
    return len(x) == len(y) and all(
        p == q or (math.isnan(p) and math.isnan(q)) or abs(p - q) <= atol + rtol * abs(p)
        for p, q in zip(x, y, strict=True)
    )


def _parts(value: Any, summary: Any = ()) -> list[float]:
    """The numbers by which a value is known: real and imaginary part; of an array its sample and
    what the summary says.
    """
    if isinstance(value, dict):
        held = value["sample"] if "sample" in value else [value["re"], value["im"]]
        return [x for v in [*held, *(value[k] for k in sorted(summary))] for x in _parts(v)]
    return [float(value)]
