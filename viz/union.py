"""Two Traces of the same program as one: each node once, with what the second says of it beside
what the first says.

A node of the second Trace is that of the first which is made by the same operation from the same
operands, or, behind an operation that differs, from what stands in their places; nodes without such
a twin stand in the union too, and say on which side they are. A node
for a single number that the second alone has is written as that number. The clock is the first
Trace's. Where the second has a pass of its own (reverse mode beside forward mode), or nodes of its
own, its steps for them follow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from minigrad.viz.reading import plain, symbol_runs
from minigrad.viz.traversal import operands_first

from minigrad.trace.diff import Match, edge_twins, with_entry
from minigrad.trace.replay import numbers, state_at
from minigrad.trace.text import number

Trace = Mapping[str, Any]
Agree = Callable[[Any, Any], bool]
SHARED_MARK = "′"
"""Ends the ids of nodes that the second Trace alone has."""


def union(
    first: Trace, second: Trace, agree: Agree, name: str, match: Match, twin: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The union of two Traces, a ``minigrad.trace/1`` document whose ``"beside"`` holds the cells
    that differ as ``[node, column, the second's value or None]``, the nodes that only one has,
    ``{node: 0 or 1}``, and where one needs more steps, how many each takes, ``{node: [1, 2]}``.
    Its "sums" are the values of :func:`_growing`, where there are any; "source" and "spans" are of
    :func:`_source_beside`.
    name: what the second is called; its own steps have it as ``"by"``. match: which nodes belong
    together; twin: those that stand in the union once. Second, what the union calls the second's
    nodes.
    """
    within = {m: inner for m, inner in match.within.items() if twin.get(m) == match.twin[m]}
    quiet, numbers = match.literals
    kept = {*twin.values(), *second["outputs"]}
    numbers = {node: value for node, value in numbers.items() if node not in kept}
    back = {theirs: ours for ours, theirs in twin.items()}
    taken = {node["id"] for node in first["nodes"]}
    said, second = second, _without(second, numbers)
    renamed = {n["id"]: back.get(n["id"]) or _fresh(n["id"], taken) for n in second["nodes"]}
    own = [n for n in second["nodes"] if n["id"] not in back]
    edges, more = _edges(first, second, renamed, back)
    columns = [c["key"] for c in first["columns"]]
    added = [c for c in second["columns"] if c["key"] not in columns]
    late = {c["key"] for c in added}
    alone = {renamed[n["id"]] for n in own}
    names = _Names(first, said, renamed, numbers)
    steps = [
        {**told, "by": name}
        for step in second["steps"]
        if (told := _translated(step, names, edges, late, alone)) is not None
    ]
    known = {n["id"]: n["span"] for n in first["nodes"] if n.get("span")}
    spans = {n: known[m] for m, n in match.places.items() if m in known}
    order, both = "vdg", [*first["edges"], *more]
    document: dict[str, Any] = {
        **{key: value for key, value in first.items() if key not in ("layout", "jacobian")},
        "nodes": _in_order([*first["nodes"], *(_moved(n, names, spans) for n in own)], both),
        "edges": both,
        "columns": sorted([*first["columns"], *added], key=lambda c: order.index(c["key"])),
        "steps": [*first["steps"], *steps],
    }
    only = {n["id"]: 0 for n in first["nodes"] if n["id"] not in (*twin, *quiet)}
    only |= dict.fromkeys(sorted(alone), 1)
    shared = set(columns) & {c["key"] for c in second["columns"]}
    document["beside"] = {"cells": _differing(first, second, twin, shared, agree), "only": only}
    document["beside"] |= _source_beside(first, said, match, renamed)
    if sums := _growing(first, second, twin, agree) if "g" in shared else []:
        document["beside"]["sums"] = sums
    counts = {node: [len(inner) + 1 for inner in sides] for node, sides in within.items()}
    unlike = {node: count for node, count in counts.items() if count[0] != count[1]}
    if unlike:
        document["beside"]["within"] = unlike
    return document, renamed


def _source_beside(
    first: Trace, second: Trace, match: Match, renamed: Mapping[str, str]
) -> dict[str, Any]:
    """The second's source, where it is another one, and the span in it of each node of the union
    that it has, or in whose place it has another operation."""
    source = second.get("source") or {}
    if source.get("code") in (None, "", (first.get("source") or {}).get("code")):
        return {}
    spans = {node["id"]: node["span"] for node in second["nodes"] if node.get("span")}
    in_place = {m: spans[n] for m, n in match.places.items() if n in spans}
    own = {renamed[n]: span for n, span in spans.items() if n in renamed}
    return {"source": source, "spans": in_place | own}


def _in_order(nodes: list[dict[str, Any]], edges: list[Any]) -> list[dict[str, Any]]:
    """The nodes, each after its operands: what the second has in several steps may lead to a node
    of the first."""
    sources: dict[str, list[str]] = {}
    for edge in edges:
        sources.setdefault(edge["dst"], []).append(edge["src"])
    by_id = {node["id"]: node for node in nodes}
    operands = lambda node: [by_id[source] for source in sources.get(node["id"], ())]
    return operands_first(nodes, operands, len(nodes), "")


_LISTS = ("add", "drops", "free", "holds", "keep", "uses")


def _without(trace: Trace, numbers: Mapping[str, Any]) -> Trace:
    """A Trace without its nodes for these numbers; formulas and sentences stay as they are."""
    edges = [e for e in trace["edges"] if e["src"] not in numbers]
    kept = {e["id"] for e in edges}
    steps = []
    for step in trace["steps"]:
        if step["node"] in numbers:
            continue
        told = {**step, "edges": [e for e in step["edges"] if e in kept]}
        told["reads"] = [cell for cell in step["reads"] if cell[0] not in numbers]
        told |= {key: [n for n in step[key] if n not in numbers] for key in _LISTS if key in step}
        if "contribs" in step:
            told["contribs"] = [c for c in step["contribs"] if c["edge"] in kept]
        steps.append(told)
    nodes = [n for n in trace["nodes"] if n["id"] not in numbers]
    inputs = [name for name in trace["inputs"] if name not in numbers]
    return {**trace, "nodes": nodes, "edges": edges, "steps": steps, "inputs": inputs}


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += SHARED_MARK
    taken.add(name)
    return name


class _Names:
    """The second Trace's nodes as the union calls them, in formulas and in sentences. ids: by their
    names in the second Trace; numbers: what is written in place of some of its nodes."""

    def __init__(
        self, first: Trace, second: Trace, ids: Mapping[str, str], numbers: Mapping[str, Any]
    ) -> None:
        self.ids, self._numbers = ids, numbers
        known = {node["id"]: node["label"] for node in first["nodes"]}
        self.labels: dict[str, Mapping[str, Any]] = {}
        told: dict[str, str] = {}
        for node in second["nodes"]:
            own = node["label"]
            if node["id"] in numbers:
                told[plain(symbol_runs(own))] = number(numbers[node["id"]])
                continue
            name = ids[node["id"]]
            primes = name[len(name.rstrip(SHARED_MARK)) :] if name not in known else ""
            label = {**own, "sup": own.get("sup", "") + primes} if primes else own
            self.labels[node["id"]] = label = known.get(name, label)
            for accent in ({}, {"accent": "dot"}, {"accent": "bar"}):
                was, now = (plain(symbol_runs({**one, **accent})) for one in (own, label))
                told |= {was: now} if was != now else {}
        self._told = told
        words = "|".join(re.escape(word) for word in sorted(told, key=len, reverse=True))
        # neither within another name nor before an accent
        found = re.compile(rf"(?<![\w.])(?:{words})(?![\w\u0300-\u036f{SHARED_MARK}])")
        self._word = found if words else None

    def sentence(self, said: str) -> str:
        """A sentence of the second Trace."""
        return self._word.sub(lambda word: self._told[word[0]], said) if self._word else said

    def tokens(self, tokens: Any) -> Any:
        """A formula of the second Trace."""
        if isinstance(tokens, list):
            return [self.tokens(one) for one in tokens]
        if not isinstance(tokens, Mapping):
            return tokens
        if tokens.get("t") == "sym" and tokens.get("node") in self._numbers:
            return {"t": "num", "value": self._numbers[tokens["node"]]}
        told = {key: self.tokens(value) for key, value in tokens.items()}
        if tokens.get("t") == "sym" and tokens.get("node") in self.labels:
            name = tokens["node"]
            told = {key: value for key, value in told.items() if key not in ("base", "sub", "sup")}
            told |= self.labels[name] | {"node": self.ids[name]}
        return told


def _moved(node: Mapping[str, Any], names: _Names, spans: Mapping[str, Any]) -> dict[str, Any]:
    """A node of the second Trace under its name in the union; blocks and spans are of another
    source. spans: where the first Trace has what stands in a node's place."""
    kept = {key: value for key, value in node.items() if key not in ("block", "span", "saved")}
    of = {"of": names.ids[node["of"]]} if "of" in node else {}
    name, expr = node["id"], names.tokens(node["expr"])
    place = {"span": spans[name]} if name in spans else {}
    return {**kept, "id": names.ids[name], "label": names.labels[name], "expr": expr, **of, **place}


def _edges(
    first: Trace, second: Trace, renamed: Mapping[str, str], back: Mapping[str, str]
) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """For each edge of the second Trace its id in the union, and those that are new."""
    taken = {e["id"] for e in first["edges"]}
    same = edge_twins(dict(second), dict(first), back)
    found = {e["id"]: same.get(e["id"]) or _fresh(e["id"], taken) for e in second["edges"]}
    ends = lambda edge: {"src": renamed[edge["src"]], "dst": renamed[edge["dst"]]}
    more = [{**e, "id": found[e["id"]], **ends(e)} for e in second["edges"] if e["id"] not in same]
    return found, more


def _translated(
    step: Mapping[str, Any],
    names: _Names,
    edges: Mapping[str, str],
    late: set[str],
    alone: set[str],
) -> dict[str, Any] | None:
    """A step of the second Trace in the union: of a column or a node that the first lacks."""
    renamed = names.ids
    cells = [[renamed[n], *rest] for n, *rest in step["writes"]]
    if not any(cell[1] in late or cell[0] in alone for cell in cells):
        return None
    told = {
        **{key: value for key, value in step.items() if key not in ("line", "decides", "pass")},
        "node": renamed[step["node"]],
        "edges": [edges[e] for e in step["edges"]],
        "reads": [[renamed[n], column] for n, column in step["reads"]],
        "writes": cells,
        "formula": names.tokens(step["formula"]),
        "say": names.sentence(step["say"]),
    }
    for key in _LISTS:
        if key in step:
            told[key] = [renamed[n] for n in step[key]]
    if "despite" in step:
        told["despite"] = renamed[step["despite"]]
    if "state" in step:
        told["state"] = [names.tokens(tokens) for tokens in step["state"]]
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
            found.append([node, column, with_entry(value, other, agree)])
    return found


def _growing(first: Trace, second: Trace, twin: Mapping[str, str], agree: Agree) -> list[list[Any]]:
    """Of adjoints that still grow, as ``[node, column, value, steps of the first]``: what the
    second has after the same contributions, once one of these differs; None where that agrees or is
    not known, and where the sum is complete.
    """
    if first.get("passes") or second.get("passes"):
        return []
    edges = edge_twins(dict(first), dict(second), twin)
    sent: dict[str, Any] = {}
    theirs: dict[str, list[tuple[str, Any]]] = {}
    for _, step, part in _sent_back(second):
        sent[part["edge"]] = part["product"]
        after = part.get("after", step["writes"][0][2])
        theirs.setdefault(step["node"], []).append((part["edge"], after))
    sending = [*_sent_back(first)]
    last = {step["node"]: i for i, step, _ in sending}
    told = {part["edge"] for _, _, part in sending}
    ends = {edge["id"]: (edge["src"], edge["dst"]) for edge in first["edges"]}
    # what x*x sends twice may be told as one sum
    summed = {ends[e] for e in ends if e not in told or edges.get(e) not in sent}
    arrived: dict[str, list[tuple[str | None, Any, Any]]] = {}
    apart: set[str] = set()
    found: dict[tuple[str, int], list[Any]] = {}
    for i, step, part in sending:
        node, edge = step["node"], edges.get(part["edge"])
        received = arrived.setdefault(node, [])
        ours = part["product"]
        other = None if ends[part["edge"]] in summed else sent[edges[part["edge"]]]
        received.append((edge, ours, other))
        if other is not None and not agree(ours, other):
            apart.add(node)
        if node not in apart:
            continue
        own, value = step["writes"][0][2], None
        if i < last[node] and all(other is not None for *_, other in received):
            so_far = theirs[twin[node]][: len(received)]
            same = {edge for edge, _ in so_far} == {edge for edge, *_ in received}
            value = so_far[-1][1] if same else _exchanged(own, received)
        if value is not None:
            value = None if agree(own, value) else with_entry(own, value, agree)
        found[node, i] = [node, "g", value, i + 1]
    return [*found.values()] if any(value is not None for *_, value, _ in found.values()) else []


def _sent_back(trace: Trace) -> Iterator[tuple[int, Mapping[str, Any], Mapping[str, Any]]]:
    """The contributions to adjoints, each with its step and the step's index."""
    for i, step in enumerate(trace["steps"]):
        if step["phase"] in ("adjoint", "accumulate") and step["writes"]:
            for part in step.get("contribs", ()):
                yield i, step, part


def _exchanged(own: Any, received: Sequence[tuple[Any, Any, Any]]) -> Any:
    """A sum with the second's contributions in place of the first's: in another order the second
    has other sums on the way. None where not all entries are known as numbers.
    """
    flat = numbers(own)
    for _, ours, theirs in received:
        a, b = numbers(ours), numbers(theirs)
        if flat is None or a is None or b is None or not len(flat) == len(a) == len(b):
            return None
        flat = [x - y + z for x, y, z in zip(flat, a, b, strict=True)]
    return {"shape": own["shape"], "sample": flat} if isinstance(own, dict) else flat and flat[0]
