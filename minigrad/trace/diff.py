"""Where two Traces part: the first step at which a student's engine does something else than the
reference.

Nodes are matched by their order of birth within their kind (first input to first input, first
operation to first operation), so labels may differ. The comparison is by what was computed, in the
order of the reference: a different legal order of the backward pass is not a difference, a
different value is. Where both Traces tell what was sent along an edge, that is compared first: it
names the operation whose rule is wrong, while the sums only show where the damage arrives.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .replay import numbers, state_at
from .schema import COLUMN_NAMES
from .text import chosen_places, number

Trace = dict[str, Any]
_EDGE_COLUMNS = {"tangent": "d", "adjoint": "g", "accumulate": "g"}


@dataclass(frozen=True)
class Divergence:
    """The first difference. kind: "structure", "missing", "extra" or "value"; node and column as in
    the reference; step: index into the reference's steps (or None); expected, got: values; say: a
    sentence for people; edge: the reference's edge along which a wrong contribution was sent, or
    None.
    """

    kind: str
    node: str | None
    column: str | None
    step: int | None
    expected: Any
    got: Any
    say: str
    edge: str | None = None


def first_divergence(
    reference: Trace, other: Trace, rtol: float = 1e-6, atol: float = 1e-9
) -> Divergence | None:
    """The first step of `reference` with which `other` does not agree, or None."""
    twin = _matched(reference, other)
    if isinstance(twin, Divergence):
        return twin
    places = _places(other)
    edge_twin = {
        e["id"]: places.get((twin[e["src"]], twin[e["dst"]], e["slot"])) for e in reference["edges"]
    }
    beside = _edges_beside(reference)
    theirs = state_at(other, len(other["steps"])).cells
    final = state_at(reference, len(reference["steps"])).cells
    their_parts, parts = _contributions(other), _contributions(reference)
    last_write = {
        (node, column): i
        for i, s in enumerate(reference["steps"])
        for node, column, _ in s["writes"]
    }
    close = functools.partial(agree, rtol=rtol, atol=atol)
    for i, step in enumerate(reference["steps"]):
        sent_in = _EDGE_COLUMNS.get(step["phase"])
        for part in step.get("contribs", []) if sent_in else []:
            sent = [their_parts.get((str(sent_in), edge_twin[e])) for e in beside[part["edge"]]]
            got = their_parts.get((str(sent_in), edge_twin[part["edge"]]))
            # what x*x sends twice may be told as one sum: its adjoint is compared
            if got is not None and None not in sent and not close(part["product"], got["product"]):
                ours, other = _with_differences(part["product"], got["product"], close)
                part, got = {**part, "product": ours}, {**got, "product": other}
                say = _wrong_part(reference, step, part, got, close)
                return Divergence("value", step["node"], sent_in, i, ours, other, say, part["edge"])
        for node, column, _ in step["writes"]:
            if last_write[node, column] != i:
                continue  # a partial sum: the complete one is compared
            expected, got = final[node, column], theirs.get((twin[node], column))
            name = COLUMN_NAMES.get(column, column)
            if got is None:
                say = f"The {name} of {node} was never computed; it should be {number(expected)}."
                return Divergence("missing", node, column, i, expected, None, say)
            if not close(expected, got):
                expected, got = _with_differences(expected, got, close)
                say = f"The {name} of {node} should be {number(expected)}, but is {number(got)}."
                arrived = [
                    parts[column, e["id"]]["product"]
                    for e in reference["edges"]
                    if e["src"] == node and (column, e["id"]) in parts
                ]
                say += _hint(column, expected, got, arrived, close)
                if number(expected) == number(got):
                    say += " They differ in elements that are not shown."
                return Divergence("value", node, column, i, expected, got, say)
    return None


def _with_differences(a: Any, b: Any, close: Any) -> tuple[Any, Any]:
    """Two values, of large arrays with the elements that differ as those to be shown."""
    x, y = (v.get("elements", v.get("sample")) if isinstance(v, dict) else None for v in (a, b))
    if x is None or y is None or a["shape"] != b["shape"]:
        return a, b
    pairs = enumerate(zip(x, y, strict=False))
    places = chosen_places(i for i, (p, q) in pairs if not close(p, q))
    if not places:
        return a, b
    p, q = ({"at": places, "sample": [v[i] for i in places]} for v in (x, y))
    return {**a, "chosen": p}, {**b, "chosen": q}


def _contributions(trace: Trace) -> dict[tuple[str, str | None], Any]:
    """(column, edge) -> the contribution that was sent along the edge."""
    found: dict[tuple[str, str | None], Any] = {}
    for step in trace["steps"]:
        column = _EDGE_COLUMNS.get(step["phase"])
        if column is not None:
            found.update(((column, part["edge"]), part) for part in step.get("contribs", []))
    return found


def _places(trace: Trace) -> dict[tuple[str, str, int], str]:
    return {(e["src"], e["dst"], e["slot"]): e["id"] for e in trace["edges"]}


def _wrong_part(trace: Trace, step: Any, part: Any, got: Any, agree: Any) -> str:
    edge = next(e for e in trace["edges"] if e["id"] == part["edge"])
    mode, sender, receiver = (
        ("tangent", edge["src"], edge["dst"])
        if step["phase"] == "tangent"
        else ("adjoint", edge["dst"], edge["src"])
    )
    say = (
        f"{sender} should send {number(part['product'])} to the {mode} of {receiver}, but sends"
        f" {number(got['product'])}"
    )
    if not agree(part["upstream"], got["upstream"]):
        complete = " when it is complete" if mode == "adjoint" else ""
        start = (
            f"the {mode} of {sender} that it starts from should be"
            f" {number(part['upstream'])}{complete}"
        )
        return f"{say}: {start}, but is {number(got['upstream'])}."
    return (
        f"{say}. The sign is wrong."
        if agree(_negative(part["product"]), got["product"])
        else f"{say}."
    )


def _hint(column: str, expected: Any, got: Any, parts: list[Any], agree: Any) -> str:
    """What a wrong value looks like, where that can be told."""
    if agree(_negative(expected), got):
        return " The sign is wrong."
    if column == "g" and len(parts) > 1 and any(agree(p, got) for p in parts):
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


def _matched(reference: Trace, other: Trace) -> dict[str, str] | Divergence:
    """Each node's twin; where not all have one, the first difference of the two graphs."""
    found = twins(reference, other)
    known = set(found.values())
    ours, theirs = _both_ordered(reference, other)
    ours = [node for node in ours if node["id"] not in found]
    theirs = [node for node in theirs if node["id"] not in known]
    paired = found | {m["id"]: n["id"] for m, n in zip(ours, theirs, strict=False)}
    return _structure(reference, other, (ours, theirs), paired) or paired


def _edges_beside(trace: Trace) -> dict[str, list[str]]:
    """For each edge all that join the same two nodes."""
    between: dict[tuple[str, str], list[str]] = {}
    for e in trace["edges"]:
        between.setdefault((e["src"], e["dst"]), []).append(e["id"])
    return {name: names for names in between.values() for name in names}


def _both_ordered(a: Trace, b: Trace) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The nodes of both, those that belong together at one place; inputs by their names where
    these are the same, else in their order.
    """
    rank = {"input": 0, "param": 1, "const": 2}
    names = [[n["id"] for n in trace["nodes"] if n["kind"] == "input"] for trace in (a, b)]
    same = sorted(names[0]) == sorted(names[1])
    place = {name: i for i, name in enumerate(names[0])} if same else {}
    order = lambda n: (rank.get(n["kind"], 3), place.get(n["id"], 0) if n["kind"] == "input" else 0)
    return sorted(a["nodes"], key=order), sorted(b["nodes"], key=order)


def twins(first: Trace, second: Trace) -> dict[str, str]:
    """For each node of the first Trace its twin in the second: inputs by name or position,
    parameters and constants by position, then by operation and operands.
    """
    found: dict[str, str] = {}
    both = _both_ordered(first, second)
    for kind in ("input", "param", "const"):
        ours, theirs = ([n for n in nodes if n["kind"] == kind] for nodes in both)
        found |= {m["id"]: n["id"] for m, n in zip(ours, theirs, strict=False)}
    waiting: dict[Any, list[str]] = {}
    theirs_of = _sources(second)
    for node in second["nodes"]:
        if "op" in node:
            waiting.setdefault((node["op"], tuple(theirs_of[node["id"]])), []).append(node["id"])
    ours_of = _sources(first)
    for node in first["nodes"]:
        if "op" not in node or not all(one in found for one in ours_of[node["id"]]):
            continue
        same = waiting.get((node["op"], tuple(found[one] for one in ours_of[node["id"]])))
        if same:
            found[node["id"]] = same.pop(0)
    return found


def _sources(trace: Trace) -> dict[str, list[str]]:
    """Each node's operands in their order."""
    found: dict[str, list[str]] = {n["id"]: [] for n in trace["nodes"]}
    for edge in sorted(trace["edges"], key=lambda e: e["slot"]):
        found[edge["dst"]].append(edge["src"])
    return found


def _structure(
    a: Trace, b: Trace, alone: tuple[list[Any], list[Any]], twin: Mapping[str, str]
) -> Divergence | None:
    """The first node of `a` that is made in another way in `b`. alone: the nodes of both that
    :func:`twins` left; twin: each node's counterpart, these in their order.
    """
    our_sources, their_sources = _sources(a), _sources(b)
    back = {theirs: ours for ours, theirs in twin.items()}
    born = {cell[0]: i for i, step in reversed([*enumerate(a["steps"])]) for cell in step["writes"]}
    for m, n in zip(*alone, strict=False):
        node = m["id"]
        ops = m.get("op"), n.get("op")
        if ops[0] != ops[1]:
            made, is_made = (op or "the user" for op in ops)
            say = f"{node} should be made by {made}, but is made by {is_made}."
            return Divergence("structure", node, None, born.get(node), *ops, say)
        wanted = our_sources[node]
        found = [back.get(s) or f"{s}′" for s in their_sources[n["id"]]]
        if wanted != found:
            say = (
                f"{node} should be made from {_listed(wanted)}, but is made from {_listed(found)}."
            )
            return Divergence("structure", node, None, born.get(node), wanted, found, say)
    sizes = len(a["nodes"]), len(b["nodes"])
    if sizes[0] == sizes[1]:
        return None
    ours, theirs = alone
    kind, rest = (
        ("missing", ours[len(theirs) :]) if sizes[0] > sizes[1] else ("extra", theirs[len(ours) :])
    )
    node = rest[0]["id"]
    say = (
        f"The graph should have {sizes[0]} nodes, but has {sizes[1]}; the first {kind} one is"
        f" {node}."
    )
    return Divergence(kind, node, None, born.get(node) if kind == "missing" else None, *sizes, say)


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
