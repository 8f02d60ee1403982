"""Two Traces of the same program as one: each node once, with what the second says of it beside
what the first says.

A node of the second Trace is that of the first which is made by the same operation from the same
operands; nodes without such a twin stand in the union too, and say on which side they are. The
clock is the first Trace's. Where the second has a pass of its own (reverse mode beside forward
mode), or nodes of its own, its steps for them follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minigrad.trace.diff import twins
from minigrad.trace.replay import state_at

Trace = Mapping[str, Any]
Agree = Callable[[Any, Any], bool]
SHARED_MARK = "′"
"""Ends the ids of nodes that the second Trace alone has."""


def union(first: Trace, second: Trace, agree: Agree, name: str) -> dict[str, Any]:
    """The union of two Traces, a ``minigrad.trace/1`` document whose ``"beside"`` holds the cells
    that differ as ``[node, column, the second's value or None]`` and the nodes that only one has,
    ``{node: 0 or 1}``. name: what the second is called, before the sentences of its steps.
    """
    twin = twins(first, second)
    back = {theirs: ours for ours, theirs in twin.items()}
    taken = {node["id"] for node in first["nodes"]}
    renamed = {n["id"]: back.get(n["id"]) or _fresh(n["id"], taken) for n in second["nodes"]}
    own = [n for n in second["nodes"] if n["id"] not in back]
    edges, more = _edges(first, second, renamed, set(back))
    columns = [c["key"] for c in first["columns"]]
    added = [c for c in second["columns"] if c["key"] not in columns]
    late = {c["key"] for c in added}
    alone = {renamed[n["id"]] for n in own}
    steps = [
        told
        for step in second["steps"]
        if (told := _translated(step, renamed, edges, late, alone)) is not None
    ]
    order = "vdg"
    document: dict[str, Any] = {
        **{key: value for key, value in first.items() if key not in ("layout", "jacobian")},
        "nodes": [*first["nodes"], *(_moved(n, renamed) for n in own)],
        "edges": [*first["edges"], *more],
        "columns": sorted([*first["columns"], *added], key=lambda c: order.index(c["key"])),
        "steps": [*first["steps"], *({**s, "say": f"{name}: {s['say']}"} for s in steps)],
    }
    only = {n["id"]: 0 for n in first["nodes"] if n["id"] not in twin}
    only |= dict.fromkeys(sorted(alone), 1)
    shared = set(columns) & {c["key"] for c in second["columns"]}
    document["beside"] = {"cells": _differing(first, second, twin, shared, agree), "only": only}
    return document


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += SHARED_MARK
    taken.add(name)
    return name


def _moved(node: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """A node of the second Trace under its name in the union; blocks and spans are of another
    source."""
    kept = {key: value for key, value in node.items() if key not in ("block", "span", "saved")}
    label = dict(node["label"])
    if renamed[node["id"]] != node["id"]:
        label["sup"] = SHARED_MARK
    of = {"of": renamed[node["of"]]} if "of" in node else {}
    expr = _renamed_tokens(node["expr"], renamed)
    return {**kept, "id": renamed[node["id"]], "label": label, "expr": expr, **of}


def _renamed_tokens(tokens: Any, renamed: Mapping[str, str]) -> Any:
    """A formula of the second Trace with the nodes' names in the union."""
    if isinstance(tokens, list):
        return [_renamed_tokens(one, renamed) for one in tokens]
    if not isinstance(tokens, Mapping):
        return tokens
    told = {key: _renamed_tokens(value, renamed) for key, value in tokens.items()}
    name = tokens.get("node")
    if isinstance(name, str) and renamed.get(name, name) != name:
        told |= {"node": renamed[name], "sup": SHARED_MARK}
    return told


def _edges(
    first: Trace, second: Trace, renamed: Mapping[str, str], shared: set[str]
) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """For each edge of the second Trace its id in the union, and those that are new."""
    place = {(e["src"], e["dst"], e["slot"]): e["id"] for e in first["edges"]}
    taken = {e["id"] for e in first["edges"]}
    found: dict[str, str] = {}
    more: list[dict[str, Any]] = []
    for edge in second["edges"]:
        src, dst = renamed[edge["src"]], renamed[edge["dst"]]
        same = place.get((src, dst, edge["slot"])) if edge["dst"] in shared else None
        found[edge["id"]] = same or _fresh(edge["id"], taken)
        if same is None:
            more.append({**edge, "id": found[edge["id"]], "src": src, "dst": dst})
    return found, more


def _translated(
    step: Mapping[str, Any],
    renamed: Mapping[str, str],
    edges: Mapping[str, str],
    late: set[str],
    alone: set[str],
) -> dict[str, Any] | None:
    """A step of the second Trace in the union: of a column or a node that the first lacks."""
    cells = [[renamed[n], *rest] for n, *rest in step["writes"]]
    if not any(cell[1] in late or cell[0] in alone for cell in cells):
        return None
    told = {
        **{key: value for key, value in step.items() if key not in ("line", "decides", "pass")},
        "node": renamed[step["node"]],
        "edges": [edges[e] for e in step["edges"]],
        "reads": [[renamed[n], column] for n, column in step["reads"]],
        "writes": cells,
        "formula": _renamed_tokens(step["formula"], renamed),
    }
    for key in ("add", "free", "keep", "uses", "holds", "drops"):
        if key in step:
            told[key] = [renamed[n] for n in step[key]]
    if "contribs" in step:
        told["contribs"] = [{**c, "edge": edges[c["edge"]]} for c in step["contribs"]]
    return told


def _differing(
    first: Trace, second: Trace, twin: Mapping[str, str], shared: set[str], agree: Agree
) -> list[list[Any]]:
    ours, theirs = (state_at(dict(t), len(t["steps"])).cells for t in (first, second))
    found = []
    for (node, column), value in ours.items():
        if column not in shared or node not in twin:
            continue
        other = theirs.get((twin[node], column))
        if other is None or not agree(value, other):
            found.append([node, column, other])
    return found
