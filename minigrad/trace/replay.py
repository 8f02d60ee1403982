"""Go to any step of a Trace, and check the laws that every right differentiation obeys.

The state at step k is the fold of the first k steps. The laws:
1. each adjoint is the sum of the contributions that arrived along its edges (plus its seed);
2. each tangent is the sum of local derivative times tangent over its edges;
3. at every cut of the graph the sum over the crossing edges of contribution · tangent is the same:
   ẏ · ȳ.
The third ties the two modes together without an answer key: a wrong rule anywhere breaks it at the
first cut on that side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

Trace = dict[str, Any]
Cell = tuple[str, str]


@dataclass
class TableState:
    """The table as it stands after some steps: (node, column) -> value. What is not in it was
    not computed. (`minigrad.core.graph.State` has the switches of a thread.)
    """

    cells: dict[Cell, Any] = field(default_factory=dict)
    born: set[str] = field(default_factory=set)
    freed: set[str] = field(default_factory=set)
    entries: dict[tuple[int, int], Any] = field(default_factory=dict)


def state_at(trace: Trace, step: int) -> TableState:
    """The state after the first `step` steps (0: nothing has happened). Raises IndexError
    outside 0 … number of steps.
    """
    count = len(trace["steps"])
    if not 0 <= step <= count:
        raise IndexError(f"step {step} does not exist; this Trace has steps 0 to {count}.")
    growing = {n for s in trace["steps"] for n in s.get("add", [])}
    state = TableState(born={n["id"] for n in trace["nodes"]} - growing)
    for s in trace["steps"][:step]:
        state.born.update(s.get("add", []))
        # a further pass begins: what an earlier one wrote into this column is forgotten
        if "clear" in s:
            state.cells = {
                cell: value for cell, value in state.cells.items() if cell[1] not in s["clear"]
            }
        state.entries.update({(row, column): value for row, column, value in s.get("entries", [])})
        for node, column, value in s["writes"]:
            state.cells[node, column] = value
        state.freed.difference_update(s.get("keep", []))
        state.freed.update(s.get("free", []))
    return state


def numbers(value: Any) -> list[float] | None:
    """A value as a flat list of numbers, or None if it is complex or a summary that does not
    hold every element.
    """
    if isinstance(value, dict):
        if "sample" not in value or math.prod(value["shape"]) != len(value["sample"]):
            return None
        flat = [numbers(v) for v in value["sample"]]
        return (
            None if any(f is None for f in flat) else [x for f in flat if f is not None for x in f]
        )
    return [float(value)]  # the texts "nan", "inf" and "-inf" as well


def dot(a: Any, b: Any) -> float | None:
    """The inner product of two values; None where one does not hold every element, or shapes
    differ.
    """
    x, y = numbers(a), numbers(b)
    if x is None or y is None or len(x) != len(y):
        return None
    products = [p * q for p, q in zip(x, y, strict=True)]
    return math.fsum(products) if all(map(math.isfinite, products)) else math.nan


def _close(a: float, b: float, scale: float, tolerance: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= tolerance * max(1.0, scale)


def check_laws(trace: Trace, tolerance: float | None = None) -> list[str]:
    """What breaks the laws above, as sentences; an empty list if all is well. Values known only by
    a summary are passed over.

    tolerance: relative to the largest term; by default 1e-9, or 1e-4 where some node is of less
    than double precision.
    """
    if tolerance is None:
        tolerance = (
            1e-9
            if all(
                n["dtype"] in ("float64", "complex128") or n["dtype"][0] in "iub"
                for n in trace["nodes"]
                if n["dtype"]  # an operation that failed has none
            )
            else 1e-4
        )
    problems = []
    for one in single_passes(trace):
        problems += (
            _sums_of_adjoints(one, tolerance)
            + _sums_of_tangents(one, tolerance)
            + _cuts(one, tolerance)
        )
    return problems


def single_passes(trace: Trace) -> list[Trace]:
    """A Trace of several passes as Traces of one pass each, with the values that all share; any
    other Trace as it is.
    """
    if not trace.get("passes"):
        return [trace]
    return [
        {
            **trace,
            "passes": [],
            "seed": one["seed"],
            "steps": [s for s in trace["steps"] if s.get("pass", i) == i],
        }
        for i, one in enumerate(trace["passes"])
    ]


def _sums_of_adjoints(trace: Trace, tolerance: float) -> list[str]:
    """Law 1. A step "update" puts another adjoint in the place of the sum (a hook did so):
    contributions count from there.
    """
    target = {e["id"]: e["src"] for e in trace["edges"]}
    final: dict[str, Any] = {}
    parts: dict[str, list[Any] | None] = {
        node: [seed] for node, seed in trace["seed"].get("adjoints", {}).items()
    }
    for step in trace["steps"]:
        for node, column, value in step["writes"]:
            if column == "g":
                final[node] = value
                if step["phase"] == "update":
                    parts[node] = [value]
                elif step["phase"] in ("adjoint", "accumulate") and not step.get("contribs"):
                    parts[node] = None  # a contribution of unknown parts
        if step["phase"] in ("adjoint", "accumulate"):
            for c in step.get("contribs", []):
                held = parts.setdefault(target[c["edge"]], [])
                if held is not None:
                    held.append(c["product"])
    problems = []
    for node, values in parts.items():
        mismatch = (
            None if values is None else _first_mismatch(final.get(node, 0.0), values, tolerance)
        )
        if mismatch is not None:
            problems.append(
                f"the adjoint of {node} is {mismatch[0]}, but its contributions sum to"
                f" {mismatch[1]}."
            )
    return problems


def _sums_of_tangents(trace: Trace, tolerance: float) -> list[str]:
    problems = []
    for step in trace["steps"]:
        if step["phase"] == "tangent" and step.get("contribs"):
            mismatch = _first_mismatch(
                step["writes"][0][2], [c["product"] for c in step["contribs"]], tolerance
            )
            if mismatch is not None:
                problems.append(
                    f"the tangent of {step['node']} is {mismatch[0]}, but its contributions sum to"
                    f" {mismatch[1]}."
                )
    return problems


def _first_mismatch(written: Any, parts: list[Any], tolerance: float) -> tuple[float, float] | None:
    """The first element of a value that is not the sum of its parts, and that sum; None too if
    the Trace does not tell them all.
    """
    total, flats = numbers(written), [numbers(p) for p in parts]
    if total is None or any(f is None or len(f) != len(total) for f in flats):
        return None
    for i, t in enumerate(total):
        terms = [f[i] for f in flats if f is not None]
        if not _close(t, sum(terms), max((abs(x) for x in terms), default=0.0), tolerance):
            return t, sum(terms)
    return None


def cut_sums(trace: Trace) -> list[float] | None:
    """For each prefix of the nodes that holds all inputs, the sum over the edges that leave it of
    contribution · tangent (outputs inside add seed · tangent).

    None if the Trace lacks one of the modes, holds values known only by a summary, or an adjoint
    was replaced by a hook: then there is nothing to compare. Every sum is exact before it is
    rounded once, and takes time in proportion to the edges, not to edges times cuts.
    """
    seeds = trace["seed"]
    if not seeds.get("adjoints") or not seeds.get("tangents"):
        return None
    tangents: dict[str, Any] = {}
    sent: dict[str, Any] = {}
    for step in trace["steps"]:
        for node, column, value in step["writes"]:
            if column == "d":
                tangents[node] = value
        if step["phase"] in ("adjoint", "accumulate"):
            if not step.get("contribs"):
                return None
            sent.update((c["edge"], c["product"]) for c in step["contribs"])
    if any(s["phase"] == "update" and s["node"] in tangents for s in trace["steps"]):
        return None
    order = {n["id"]: i for i, n in enumerate(trace["nodes"])}
    count = len(order)
    crossing: list[
        tuple[int, int, Any, Any]
    ] = []  # counts for the prefixes of sizes first + 1 … last
    crossing += [
        (order[e["src"]], order[e["dst"]], sent[e["id"]], tangents[e["src"]])
        for e in trace["edges"]
        if e["id"] in sent and e["src"] in tangents
    ]
    crossing += [
        (order[node], count, seed, tangents[node])
        for node, seed in seeds["adjoints"].items()
        if node in tangents
    ]
    change, broken = [0] * (count + 1), [0] * (count + 1)
    for first, last, a, b in crossing:
        product = dot(a, b)
        if product is None:
            return None
        if math.isfinite(product):
            change[first] += _exactly(product)
            change[last] -= _exactly(product)
        else:
            broken[first] += 1
            broken[last] -= 1
    smallest = 1 + max((order[n] for n in trace["inputs"]), default=0)
    sums, total, unknown = [], 0, 0
    for size in range(1, count + 1):
        total, unknown = total + change[size - 1], unknown + broken[size - 1]
        if size >= smallest:
            sums.append(math.nan if unknown else total / _UNIT)
    return sums


_UNIT = 2**1074
"""Every float64 is a whole number of units 1/_UNIT, so sums of such numbers have no rounding
error.
"""


def _exactly(x: float) -> int:
    numerator, denominator = x.as_integer_ratio()
    return numerator * (_UNIT // denominator)


def _cuts(trace: Trace, tolerance: float) -> list[str]:
    sums = cut_sums(trace)
    if not sums or any(math.isnan(s) for s in sums):
        return []
    scale = max(abs(s) for s in sums)
    for i, s in enumerate(sums):
        if not _close(s, sums[-1], scale, tolerance):
            place = len(trace["nodes"]) - len(sums) + i + 1
            return [
                f"the cut after node {place} carries {s}, the output {sums[-1]}: forward and"
                " reverse mode disagree there."
            ]
    return []
