"""Go to any step of a Trace, and check the laws that every right differentiation obeys.

The state at step k is the fold of the first k steps. The laws:
1. each adjoint is the sum of the contributions that arrived along its edges (plus its seed);
2. each tangent is the sum of local derivative times tangent over its edges;
3. at every cut of the graph the sum over the crossing edges of contribution · tangent is the same: ẏ · ȳ.
The third ties the two modes together without an answer key: a wrong rule anywhere breaks it at the first cut on that side.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

Trace = dict[str, Any]
Cell = tuple[str, str]


@dataclass
class State:
    """The table as it stands after some steps: (node, column) -> value. What is not in it was not computed."""

    cells: dict[Cell, Any] = field(default_factory=dict)
    born: set[str] = field(default_factory=set)
    freed: set[str] = field(default_factory=set)


def state_at(trace: Trace, step: int) -> State:
    """The state after the first `step` steps (0: nothing has happened). Raises IndexError outside 0 … number of steps."""
    count = len(trace["steps"])
    if not 0 <= step <= count:
        raise IndexError(f"step {step} does not exist; this Trace has steps 0 to {count}.")
    growing = {n for s in trace["steps"] for n in s.get("add", [])}
    state = State(born={n["id"] for n in trace["nodes"]} - growing)
    for s in trace["steps"][:step]:
        state.born.update(s.get("add", []))
        for node, column, value in s["writes"]:
            state.cells[node, column] = value
        state.freed.update(s.get("free", []))
    return state


def numbers(value: Any) -> list[float] | None:
    """A value as a flat list of numbers, or None if it is complex or a summary that does not hold every element."""
    if isinstance(value, dict):
        if "sample" not in value or math.prod(value["shape"]) != len(value["sample"]):
            return None
        flat = [numbers(v) for v in value["sample"]]
        return None if any(f is None for f in flat) else [x for f in flat if f is not None for x in f]
    return [float(value)]


def dot(a: Any, b: Any) -> float | None:
    """The inner product of two values; None where one does not hold every element, or shapes differ."""
    x, y = numbers(a), numbers(b)
    if x is None or y is None or len(x) != len(y):
        return None
    return math.fsum(p * q for p, q in zip(x, y, strict=True))


def _close(a: float, b: float, scale: float, tolerance: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= tolerance * max(1.0, scale)


def check_laws(trace: Trace, tolerance: float | None = None) -> list[str]:
    """What breaks the laws above, as sentences; an empty list if all is well. Values known only by a summary are passed over.

    tolerance: relative to the largest term; by default 1e-9, or 1e-4 where some node is of less than double precision.
    """
    if tolerance is None:
        tolerance = 1e-9 if all(n["dtype"] in ("float64", "complex128") or n["dtype"][0] in "iub" for n in trace["nodes"]) else 1e-4
    return _sums_of_adjoints(trace, tolerance) + _sums_of_tangents(trace, tolerance) + _cuts(trace, tolerance)


def _sums_of_adjoints(trace: Trace, tolerance: float) -> list[str]:
    final = state_at(trace, len(trace["steps"])).cells
    target = {e["id"]: e["src"] for e in trace["edges"]}
    parts: dict[str, list[Any]] = defaultdict(list)
    for node, seed in trace["seed"].get("adjoints", {}).items():
        parts[node].append(seed)
    for step in trace["steps"]:
        if step["phase"] in ("adjoint", "accumulate"):
            for c in step.get("contribs", []):
                parts[target[c["edge"]]].append(c["product"])
    problems = []
    for node, values in parts.items():
        flats = [numbers(v) for v in values]
        total = numbers(final.get((node, "g"), 0.0))
        if total is None or any(f is None or len(f) != len(total) for f in flats):
            continue
        for i, t in enumerate(total):
            terms = [f[i] for f in flats if f is not None]
            if not _close(t, sum(terms), max(abs(x) for x in terms), tolerance):
                problems.append(f"the adjoint of {node} is {t}, but its contributions sum to {sum(terms)}.")
                break
    return problems


def _sums_of_tangents(trace: Trace, tolerance: float) -> list[str]:
    problems = []
    for step in trace["steps"]:
        if step["phase"] != "tangent" or not step.get("contribs"):
            continue
        written = numbers(step["writes"][0][2])
        flats = [numbers(c["product"]) for c in step["contribs"]]
        if written is None or any(f is None or len(f) != len(written) for f in flats):
            continue
        for i, t in enumerate(written):
            terms = [f[i] for f in flats if f is not None]
            if not _close(t, sum(terms), max(abs(x) for x in terms), tolerance):
                problems.append(f"the tangent of {step['node']} is {t}, but its contributions sum to {sum(terms)}.")
                break
    return problems


def cut_sums(trace: Trace) -> list[float] | None:
    """For each prefix of the nodes, the sum over the edges that leave it of contribution · tangent (outputs inside add seed · tangent).

    None if the Trace lacks one of the modes or holds values known only by a summary.
    """
    final = state_at(trace, len(trace["steps"])).cells
    if not trace["seed"].get("adjoints") or not trace["seed"].get("tangents"):
        return None
    sent = {c["edge"]: c["product"] for s in trace["steps"] if s["phase"] in ("adjoint", "accumulate") for c in s.get("contribs", [])}
    order = {n["id"]: i for i, n in enumerate(trace["nodes"])}
    inputs = sum(n["kind"] in ("input", "const", "param") for n in trace["nodes"])
    sums = []
    for size in range(max(inputs, 1), len(trace["nodes"]) + 1):
        terms: list[float] = []
        for edge in trace["edges"]:
            if order[edge["src"]] < size <= order[edge["dst"]] and edge["id"] in sent and (edge["src"], "d") in final:
                product = dot(sent[edge["id"]], final[edge["src"], "d"])
                if product is None:
                    return None
                terms.append(product)
        for node, seed in trace["seed"]["adjoints"].items():
            if order[node] < size and (node, "d") in final:
                product = dot(seed, final[node, "d"])
                if product is None:
                    return None
                terms.append(product)
        sums.append(math.fsum(terms) if all(math.isfinite(t) for t in terms) else math.nan)
    return sums


def _cuts(trace: Trace, tolerance: float) -> list[str]:
    sums = cut_sums(trace)
    if not sums or any(math.isnan(s) for s in sums):
        return []
    scale = max(abs(s) for s in sums)
    for i, s in enumerate(sums):
        if not _close(s, sums[-1], scale, tolerance):
            return [
                f"the cut after node {len(trace['nodes']) - len(sums) + i + 1} carries {s}, the output {sums[-1]}: forward and reverse mode disagree there."
            ]
    return []
