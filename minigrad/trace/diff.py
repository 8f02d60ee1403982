"""Where two Traces part: the first step at which a student's engine does something else than the reference.

Nodes are matched by their order of birth within their kind (first input to first input, first operation to first operation), so labels may differ. The comparison is by what was computed, in the
order of the reference: a different legal order of the backward pass is not a difference, a different value is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .replay import numbers, state_at

Trace = dict[str, Any]
_COLUMN_NAMES = {"v": "value", "d": "tangent", "g": "adjoint"}


@dataclass(frozen=True)
class Divergence:
    """The first difference. kind: "structure", "missing", "extra" or "value"; node and column as in the reference; step: index into the reference's steps (or None);
    expected, got: values; say: a sentence for people."""

    kind: str
    node: str | None
    column: str | None
    step: int | None
    expected: Any
    got: Any
    say: str


def first_divergence(reference: Trace, other: Trace, rtol: float = 1e-6, atol: float = 1e-9) -> Divergence | None:
    """The first step of `reference` with which `other` does not agree, or None."""
    structure = _structure(reference, other)
    if structure is not None:
        return structure
    twin = {a["id"]: b["id"] for a, b in zip(_ordered(reference), _ordered(other), strict=True)}
    theirs = state_at(other, len(other["steps"])).cells
    final = state_at(reference, len(reference["steps"])).cells
    last_write = {(node, column): i for i, s in enumerate(reference["steps"]) for node, column, _ in s["writes"]}
    for i, step in enumerate(reference["steps"]):
        for node, column, _ in step["writes"]:
            if last_write[node, column] != i:
                continue  # a partial sum: the complete one is compared
            expected, got = final[node, column], theirs.get((twin[node], column))
            name = _COLUMN_NAMES.get(column, column)
            if got is None:
                return Divergence(
                    "missing", node, column, i, expected, None, f"the {name} of {node} was never computed; it should be {_show(expected)}."
                )
            if not _agree(expected, got, rtol, atol):
                return Divergence(
                    "value", node, column, i, expected, got, f"the {name} of {node} should be {_show(expected)}, but is {_show(got)}."
                )
    return None


def _ordered(trace: Trace) -> list[dict[str, Any]]:
    rank = {"input": 0, "param": 1, "const": 2}
    return sorted(trace["nodes"], key=lambda n: rank.get(n["kind"], 3))


def _structure(a: Trace, b: Trace) -> Divergence | None:
    ours, theirs = _ordered(a), _ordered(b)
    twin = {m["id"]: n["id"] for m, n in zip(ours, theirs, strict=False)}
    sources = lambda t, n: [e["src"] for e in sorted((e for e in t["edges"] if e["dst"] == n["id"]), key=lambda e: e["slot"])]
    for m, n in zip(ours, theirs, strict=False):
        if m.get("op") != n.get("op"):
            return Divergence(
                "structure",
                m["id"],
                None,
                None,
                m.get("op"),
                n.get("op"),
                f"{m['id']} should be made by {m.get('op') or 'the user'}, but is made by {n.get('op') or 'the user'}.",
            )
        if [twin.get(s) for s in sources(a, m)] != sources(b, n):
            return Divergence(
                "structure",
                m["id"],
                None,
                None,
                sources(a, m),
                sources(b, n),
                f"{m['id']} should be made from {sources(a, m)}, but is made from {sources(b, n)}.",
            )
    if len(ours) != len(theirs):
        kind, node = ("missing", ours[len(theirs)]["id"]) if len(ours) > len(theirs) else ("extra", theirs[len(ours)]["id"])
        return Divergence(
            kind,
            node,
            None,
            None,
            len(ours),
            len(theirs),
            f"the graph should have {len(ours)} nodes, but has {len(theirs)}; the first {kind} one is {node}.",
        )
    return None


def _agree(a: Any, b: Any, rtol: float, atol: float) -> bool:
    if isinstance(a, dict) and isinstance(b, dict) and a.get("shape") != b.get("shape"):
        return False
    x, y = numbers(a), numbers(b)
    if x is None or y is None:
        return bool(a == b)
    return len(x) == len(y) and all(
        p == q or (math.isnan(p) and math.isnan(q)) or abs(p - q) <= atol + rtol * abs(p) for p, q in zip(x, y, strict=True)
    )


def _show(value: Any) -> str:
    from .text import number

    return number(value)
