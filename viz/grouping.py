"""Groups for stills and films: the same boxes that the viewer shows at first, as a smaller
document.

A picture without clicks deals with Modules like this: each closed group
(``static/viewer/groups.js`` tells what is one) becomes a node of its own, edges between the same
two boxes become one, and every step is told about the boxes: what it writes to a group's last node
is the group's value, what it writes inside is not seen. The result has the form of a Trace, so that
whoever draws Traces draws it; as a Trace to reckon with it is of no use, and
:func:`minigrad.trace.validate` may refuse it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from minigrad.viz.constants import MANY
from minigrad.viz.texts import Words, words

SOURCES = ("input", "const", "param", "seed")
CHOICES = ("auto", "open", "closed")


@dataclass
class Group:
    """A closed or open box: its items are ids of nodes or of other groups, in order; leaves are
    all nodes inside.
    """

    id: str
    label: str
    items: list[str] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)
    times: int = 0


class Tree:
    """Modules as boxes, repeated blocks folded into one, stretches of operations in a large graph
    without Modules.

    items: what stands at the top; groups: all groups by id. Empty groups: there is nothing to
    group.
    """

    def __init__(self, trace: Mapping[str, Any]):
        nodes = trace["nodes"]
        self.nodes = {node["id"]: node for node in nodes}
        self.groups: dict[str, Group] = {}
        self.items = [node["id"] for node in nodes]
        self.named = any(node.get("group") for node in nodes)
        if not self.named and len(nodes) <= MANY:
            return
        self._users: dict[str, list[str]] = {}
        for edge in trace["edges"]:
            self._users.setdefault(edge["src"], []).append(edge["dst"])
        self._paths = {
            n["id"]: str(n["group"]).split("/") if self.named and n.get("group") else []
            for n in nodes
        }
        order = [node["id"] for node in nodes if node.get("kind") not in SOURCES]
        if not self.named:
            self._stretches(order)
        before, outside = self._sources()
        sequence = [one for name in order for one in (*before.get(name, ()), name)]
        self.items = [*outside, *self._folded(self._runs(sequence, 0))]

    def _sources(self) -> tuple[dict[str, list[str]], list[str]]:
        """A parameter or constant that only one group uses stands in that group, right before
        its first use; all others outside.
        """
        before: dict[str, list[str]] = {}
        outside: list[str] = []
        for name, node in self.nodes.items():
            if node.get("kind") not in SOURCES:
                continue
            users = self._users.get(name, [])
            found = ["/".join(self._paths[user]) for user in users]
            inside = (
                node["kind"] != "input" and bool(found) and found[0] != "" and len(set(found)) == 1
            )
            self._paths[name] = self._paths[users[0]] if inside else []
            if inside:
                before.setdefault(users[0], []).append(name)
            else:
                outside.append(name)
        return before, outside

    def _stretches(self, order: Sequence[str]) -> None:
        """Stretches of about √n operations, and stretches of stretches where there are very
        many.
        """
        size = min(48, max(12, math.ceil(math.sqrt(len(order)))))
        outer = size * math.ceil(math.sqrt(len(order) / size)) if len(order) / size > 48 else 0

        def called(first: int, length: int) -> str:
            return f"{order[first]} … {order[min(len(order), first + length) - 1]}"

        for i, name in enumerate(order):
            inner = called(i - i % size, size)
            self._paths[name] = [called(i - i % outer, outer), inner] if outer else [inner]

    def _add(self, label: str, times: int = 0) -> Group:
        group = Group(f"group {len(self.groups) + 1}", label, times=times)
        self.groups[group.id] = group
        return group

    def _fill(self, group: Group, items: list[str]) -> str:
        group.items = items
        group.leaves = [leaf for item in items for leaf in self._leaves(item)]
        return group.id

    def _leaves(self, item: str) -> list[str]:
        return self.groups[item].leaves if item in self.groups else [item]

    def _runs(self, names: Sequence[str], depth: int) -> list[str]:
        """Neighbours with the same name at this depth of their paths, as groups. As deep as
        Modules are nested.
        """
        out: list[str] = []
        i = 0
        part_of = [
            self._paths[name][depth] if len(self._paths[name]) > depth else None for name in names
        ]
        while i < len(names):
            end = i + 1
            part = part_of[i]
            while part is not None and end < len(names) and part_of[end] == part:
                end += 1
            if part is None:
                out.append(names[i])
            else:
                group = self._add(part)
                out.append(self._fill(group, self._folded(self._runs(names[i:end], depth + 1))))
            i = end
        return out

    def _signature(self, item: str) -> str:
        """What an item is made of: equal signatures are repetitions of one block."""
        group = self.groups.get(item)
        if group is not None:
            times = f"{group.times}*" if group.times else ""
            return f"[{times}{','.join(map(self._signature, group.items))}]"
        node = self.nodes[item]
        return f"{node.get('op') or node.get('kind')}{'x'.join(map(str, node.get('shape') or []))}"

    def _chained(self, items: Sequence[str], at: int, length: int, times: int) -> bool:
        """Whether each block feeds the next. Branches side by side may look alike, but they are
        no repetition.
        """
        blocks = [
            [
                leaf
                for item in items[at + j * length : at + (j + 1) * length]
                for leaf in self._leaves(item)
            ]
            for j in range(times)
        ]
        return all(
            any(user in set(after) for name in one for user in self._users.get(name, ()))
            for one, after in pairwise(blocks)
        )

    def _folded(self, items: list[str]) -> list[str]:
        """Repetitions of up to four items in a row become one group."""
        if not self.named:
            return items
        signs, out, i = [self._signature(item) for item in items], [], 0
        while i < len(items):
            length, times = next(
                (found for p in (1, 2, 3, 4) if (found := self._repetition(items, signs, i, p))),
                (0, 0),
            )
            if not times:
                out.append(items[i])
                i += 1
                continue
            blocks = [items[i + j * length : i + (j + 1) * length] for j in range(times)]
            name = [
                next(self.groups[item].label for item in block if item in self.groups)
                for block in blocks
            ]
            whole = self._add(f"{name[0]} … {name[-1]}", times)
            inside = [
                block[0] if length == 1 else self._fill(self._add(name[j]), block)
                for j, block in enumerate(blocks)
            ]
            out.append(self._fill(whole, inside))
            i += length * times
        return out

    def _repetition(
        self, items: Sequence[str], signs: Sequence[str], at: int, length: int
    ) -> tuple[int, int] | None:
        times = 1
        while at + (times + 1) * length <= len(signs) and list(signs[at : at + length]) == list(
            signs[at + times * length : at + (times + 1) * length]
        ):
            times += 1
        named = any(item in self.groups for item in items[at : at + length])
        return (
            (length, times)
            if times > 1 and named and self._chained(items, at, length, times)
            else None
        )

    def open_at_first(self) -> set[str]:
        """A group that alone holds the whole picture is open."""
        found: set[str] = set()
        items = self.items
        while True:
            inside = [item for item in items if item in self.groups]
            if len(inside) != 1 or len(items) > 8 or self.groups[inside[0]].times:
                return found
            found.add(inside[0])
            items = self.groups[inside[0]].items

    def shown(self, opened: set[str]) -> list[str]:
        """What is to be seen, in order."""
        out: list[str] = []
        stack = list(reversed(self.items))
        while stack:
            item = stack.pop()
            if item in self.groups and item in opened:
                stack.extend(reversed(self.groups[item].items))
            else:
                out.append(item)
        return out


def grouped(
    trace: Mapping[str, Any], groups: str = "auto", t: Words | None = None
) -> Mapping[str, Any]:
    """The document that a still of ``trace`` shows.

    groups: ``"auto"``: as the viewer opens; ``"open"``: every node; ``"closed"``: the fewest boxes.
    t: the words on them, English if None.

    Returns the Trace itself where no group is closed. Raises ValueError for another choice.
    """
    if groups not in CHOICES:
        raise ValueError(f"groups must be one of {', '.join(CHOICES)}, got {groups!r}")
    tree = Tree(trace) if groups != "open" else None
    if tree is None or not tree.groups:
        return trace
    shown = tree.shown(tree.open_at_first() if groups == "auto" else set())
    if not any(item in tree.groups for item in shown):
        return trace
    return _collapsed(trace, tree, shown, t or words())


def _collapsed(
    trace: Mapping[str, Any], tree: Tree, shown: Sequence[str], t: Words
) -> dict[str, Any]:
    stands = {leaf: item for item in shown for leaf in tree._leaves(item)}
    last = {item: tree.groups[item].leaves[-1] for item in shown if item in tree.groups}
    edge_of: dict[str, str] = {}
    edges: dict[tuple[str, str, Any], dict[str, Any]] = {}
    for edge in trace["edges"]:
        src, dst = stands[edge["src"]], stands[edge["dst"]]
        if src == dst:
            continue
        alone = src == edge["src"] and dst == edge["dst"]
        one = edges.setdefault(
            (src, dst, edge["id"] if alone else None), {**edge, "src": src, "dst": dst}
        )
        edge_of[edge["id"]] = one["id"]
    nodes = [
        _box(tree.groups[item], tree, t) if item in tree.groups else dict(tree.nodes[item])
        for item in shown
    ]
    position = {item: i for i, item in enumerate(shown)}
    kept = sorted(edges.values(), key=lambda e: position[e["dst"]])
    seen = lambda cells: [[stands[n], *rest] for n, *rest in cells if last.get(stands[n], n) == n]
    steps = []
    for step in trace["steps"]:
        told = {
            **step,
            "node": stands[step["node"]],
            "writes": seen(step["writes"]),
            "reads": seen(step["reads"]),
        }
        told["edges"] = list(dict.fromkeys(edge_of[e] for e in step["edges"] if e in edge_of))
        told["contribs"] = [
            {**c, "edge": edge_of[c["edge"]]}
            for c in step.get("contribs", ())
            if edge_of.get(c["edge"]) == c["edge"]
        ]
        told |= {
            key: list(dict.fromkeys(stands[n] for n in step[key]))
            for key in ("add", "free", "keep")
            if key in step
        }
        steps.append(told)
    out = {key: value for key, value in trace.items() if key != "layout"}
    outputs = [stands[name] for name in trace.get("outputs", ())]
    return {
        **out,
        "inputs": [stands[name] for name in trace.get("inputs", ())],
        "outputs": outputs,
        "nodes": nodes,
        "edges": kept,
        "steps": steps,
    }


def _box(group: Group, tree: Tree, t: Words) -> dict[str, Any]:
    count = sum("op" in tree.nodes[leaf] for leaf in group.leaves)
    size = t("operation" if count == 1 else "operations", n=count)
    name = f"{f'{group.times} × · ' if group.times else ''}{size}"
    return {"id": group.id, "label": {"base": f"▸ {group.label}"}, "kind": "group", "expr": [],
        "shape": [], "dtype": "", "stage": "primal",
            "name": name}  # fmt: skip
