"""Groups for stills and films: the same boxes that the viewer shows at first, as a smaller
document.

A picture without clicks deals with blocks of the program like this: each closed group
(``static/viewer/groups.js`` tells what is one) becomes a node of its own, edges between the same
two boxes become one, and every step is told about the boxes: what it writes to a group's last node
is the group's value, what it writes inside is not seen. The result has the form of a Trace, so that
whoever draws Traces draws it; as a Trace to reckon with it is of no use, and
:func:`minigrad.trace.validate` may refuse it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minigrad.viz.constants import FEW, MANY, MOST, OUTLINE
from minigrad.viz.texts import Words, words

SOURCES = ("input", "const", "param", "seed")
CHOICES = ("auto", "open", "closed")


DEEPEST = 12
"""Blocks inside one another that make groups; a recursion goes deeper."""
ALONE = 8
"""Boxes among which the only group is open at first, whatever it holds."""
LABEL = 30
"""Characters of a source line that a label holds."""


@dataclass
class NodeGroup:
    """A closed or open box: its items are ids of nodes or of other groups, in order; leaves are
    all nodes inside. kind: that of the program's block, "line" or "stretch"; one of "library" is
    opened by hand alone.
    """

    id: str
    label: str
    items: list[str] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)
    times: int = 0
    kind: str = "module"


class Tree:
    """What the program says, as boxes: its modules, calls, loops and rounds; repeated blocks folded
    into one; in a large graph also its lines, and stretches of what is still too many. In a small
    graph without modules only calls of the library's functions on arrays.

    items: what stands at the top; groups: all groups by id. Empty groups: there is nothing to
    group.
    """

    def __init__(self, trace: Mapping[str, Any], t: Words | None = None):
        nodes = trace["nodes"]
        self.nodes = {node["id"]: node for node in nodes}
        self.groups: dict[str, NodeGroup] = {}
        self._made = 0
        self.items = [node["id"] for node in nodes]
        self.named = any(node.get("group") for node in nodes)
        self._large, self._t = len(nodes) > MANY, t or words()
        self._library = not self.named and len(nodes) <= FEW
        self._blocks = {b["id"]: b for b in trace.get("blocks", ())}
        if not may_group(trace):
            return
        code = trace["source"]["code"] if trace.get("source") else ""
        self._code: list[str] = code.split("\n")
        self._users: dict[str, list[str]] = {}
        self._user_of = {edge["id"]: edge["dst"] for edge in trace["edges"]}
        for edge in trace["edges"]:
            self._users.setdefault(edge["src"], []).append(edge["dst"])
        self._paths = {node["id"]: self._path(node) for node in nodes}
        order = [node["id"] for node in nodes if node.get("kind") not in SOURCES]
        before, outside = self._sources()
        self._bounds: dict[str, tuple[str, str]] = {}  # of stretches
        self._rounds: dict[str, str] = {}  # item -> the round that it is, or stands for
        sequence = [one for name in order for one in (*before.get(name, ()), name)]
        self.items = [*outside, *self._packed(self._folded(self._runs(sequence, 0)))]

    def _path(self, node: Mapping[str, Any]) -> list[str]:
        """The blocks around a node, the outermost first; without blocks its modules."""
        if not self._blocks:
            return str(node["group"]).split("/") if self.named and node.get("group") else []
        path: list[str] = []
        block = self._blocks.get(node.get("block", ""))
        while block is not None:
            if not self._library or block["kind"] == "library":
                path.insert(0, block["id"])
            block = self._blocks.get(block.get("parent", ""))
        return path[:DEEPEST]

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

    def _add(self, label: str, times: int = 0, kind: str = "module") -> NodeGroup:
        self._made += 1
        group = NodeGroup(f"group {self._made}", label, times=times, kind=kind)
        self.groups[group.id] = group
        return group

    def _fill(self, group: NodeGroup, items: list[str]) -> str:
        group.items = items
        group.leaves = [leaf for item in items for leaf in self._leaves(item)]
        return group.id

    def _leaves(self, item: str) -> list[str]:
        return self.groups[item].leaves if item in self.groups else [item]

    def _runs(self, names: Sequence[str], depth: int) -> list[str]:
        """Neighbours in the same block at this depth of their paths, as groups. A call, loop or
        round of one item is that item.
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
            out.append(names[i] if part is None else self._block(part, names[i:end], depth))
            i = end
        return out

    def _block(self, part: str, names: Sequence[str], depth: int) -> str:
        block = self._blocks.get(part, {"kind": "module", "label": part})
        group = self._add("", kind=block["kind"])
        items = self._packed(self._folded(self._runs(names, depth + 1)))
        alone = len(items) == 1 and block["kind"] != "module"
        if alone:
            del self.groups[group.id]
        else:
            group.label = self._label(block)
            if all(item in self._rounds and item not in self.groups for item in items):
                # rounds of one operation each stand as these operations
                group.label += f" · {self._t('rounds', n=block.get('rounds', len(items)))}"
        found = items[0] if alone else self._fill(group, items)
        if block["kind"] == "round":
            self._rounds[found] = part
            call = self.groups.get(found)
            if call is not None and call.kind == "function":
                # a round that is one call is that call, by the round's name: all rounds make
                # the same one
                call.label, call.kind = self._label(block), "round"
        return found

    def _label(self, block: Mapping[str, Any]) -> str:
        if block["kind"] != "round":
            return str(block["label"])
        n = self._blocks[block["parent"]].get("rounds")
        return self._t("roundOf" if n else "roundNumber", i=block["round"], n=n)

    def _packed(self, items: list[str]) -> list[str]:
        """In a large graph: the operations of one source line in a row as a group, and what is then
        still too many as stretches, and stretches of stretches: of equal size at every depth, and
        as few deep as leaves at most MOST items together.
        """
        if not self._large or len(items) <= MOST:
            return items
        items = self._lines(items)
        depth, size = 2, OUTLINE
        while MOST**depth < len(items):
            depth += 1
        while size**depth < len(items):
            size += 1
        while len(items) > MOST:
            items = self._stretches(items, size)
        return items

    def _lines(self, items: list[str]) -> list[str]:
        lines = [
            self.nodes[item].get("span", [0])[0] if item in self.nodes else 0 for item in items
        ]
        runs: list[tuple[int, list[str]]] = []
        for item, line in zip(items, lines, strict=True):
            if runs and line and runs[-1][0] == line:
                runs[-1][1].append(item)
            else:
                runs.append((line, [item]))
        if len(runs) < 2 or len(runs) > len(items) / 1.5:
            return items
        return [
            self._fill(self._add(self._line_label(line), kind="line"), run)
            if len(run) > 1
            else run[0]
            for line, run in runs
        ]

    def _line_label(self, line: int) -> str:
        text = self._code[line - 1].strip() if line <= len(self._code) else ""
        short = text if len(text) <= LABEL else text[: LABEL - 1] + "…"
        return f"{self._t('line', i=line)}: {short}"

    def _stretches(self, items: list[str], size: int) -> list[str]:
        out = []
        for at in range(0, len(items), size):
            part = items[at : at + size]
            first, last = self._ends(part)
            label = self._stretch_label(first, last)
            found = self._fill(self._add(label, kind="stretch"), part)
            self._bounds[found] = first, last
            out.append(found)
        return out

    def _ends(self, part: Sequence[str]) -> tuple[str, str]:
        """The first and the last item of a stretch; of one of stretches, of what they hold."""
        first, last = part[0], part[-1]
        return self._bounds.get(first, (first,))[0], self._bounds.get(last, (last,))[-1]

    def _stretch_label(self, first: str, last: str) -> str:
        rounds = [self._blocks[self._rounds[e]] for e in (first, last) if e in self._rounds]
        if len(rounds) < 2:
            name = lambda item: self.groups[item].label if item in self.groups else item
            return f"{name(first)} … {name(last)}"
        n = self._blocks[rounds[0]["parent"]].get("rounds")
        a, b = rounds[0]["round"], rounds[1]["round"]
        return self._t("roundsOf" if n else "roundsNumber", a=a, b=b, n=n)

    def _signature(self, item: str) -> str:
        """What an item is made of: equal signatures are repetitions of one block."""
        group = self.groups.get(item)
        if group is not None:
            times = f"{group.times}*" if group.times else ""
            return f"[{times}{','.join(map(self._signature, group.items))}]"
        node = self.nodes[item]
        return f"{node.get('op') or node.get('kind')}{'x'.join(map(str, node.get('shape') or []))}"

    def _chained(self, blocks: Sequence[Sequence[str]]) -> bool:
        """Whether each block feeds the next. Branches side by side may look alike, but they are
        no repetition.
        """
        leaves = [[leaf for item in one for leaf in self._leaves(item)] for one in blocks]
        return all(
            any(user in known for name in one for user in self._users.get(name, ()))
            for one, known in zip(leaves, map(set, leaves[1:]), strict=False)
        )

    def _folded(self, items: list[str]) -> list[str]:
        """Repetitions of up to four items in a row become one group."""
        signs, out, i = [self._signature(item) for item in items], [], 0
        while i < len(items):
            found = (self._repetition(items, signs, i, p) for p in (1, 2, 3, 4))
            blocks = next((one for one in found if one), None)
            out.append(items[i] if blocks is None else self._repeated(blocks))
            i += 1 if blocks is None else len(blocks) * len(blocks[0])
        return out

    def _repeated(self, blocks: list[list[str]]) -> str:
        name = [
            next(self.groups[item].label for item in block if item in self.groups)
            for block in blocks
        ]
        whole = self._add(f"{name[0]} … {name[-1]}", len(blocks))
        inside = [
            block[0] if len(block) == 1 else self._fill(self._add(name[j]), block)
            for j, block in enumerate(blocks)
        ]
        return self._fill(whole, inside)

    def _repetition(
        self, items: list[str], signs: list[str], at: int, length: int
    ) -> list[list[str]] | None:
        """Blocks of so many items in a row that are made of the same, the first at `at`; None
        where there is one block alone, or they are no repetition.
        """
        inside = [self.groups[item].kind for item in items[at : at + length] if item in self.groups]
        if not inside or inside[0] not in ("module", "function", "library"):
            return None
        end = at + length
        while signs[end : end + length] == signs[at : at + length]:
            end += length
        blocks = [items[i : i + length] for i in range(at, end, length)]
        return blocks if len(blocks) > 1 and self._chained(blocks) else None

    def open_at_first(self) -> set[str]:
        """Of the groups that are seen those with most nodes deeper inside, equal ones together,
        until they do not fit or are a repetition: up to OUTLINE boxes, MOST where one holds over
        half of all nodes. A group that stands almost alone is open anyway.
        """
        found: set[str] = set()
        while True:
            shown = self.shown(found)
            groups = (self.groups[item] for item in shown if item in self.groups)
            inside = [group for group in groups if group.kind != "library"]
            if not inside:
                return found
            deeper = [len(group.leaves) - len(group.items) for group in inside]
            most = [g for g, n in zip(inside, deeper, strict=True) if n == max(deeper)]
            boxes = len(shown) + sum(len(group.items) - 1 for group in most)
            half = any(2 * len(group.leaves) > len(self.nodes) for group in most)
            alone = len(inside) == 1 and len(shown) <= ALONE
            fits = alone or boxes <= (MOST if half else OUTLINE)
            if not fits or any(group.times for group in most):
                return found
            found.update(group.id for group in most)

    def at_work(self, step: Mapping[str, Any]) -> set[str]:
        """The groups around the node that a step writes, and around the operation whose rule it
        applies.
        """
        around = {step["node"], *(self._user_of.get(e, step["node"]) for e in step["edges"][:1])}
        groups = (one for one in self.groups.values() if one.kind != "library")
        return {one.id for one in groups if not around.isdisjoint(one.leaves)}

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


def may_group(trace: Mapping[str, Any]) -> bool:
    """Whether there is something to group: modules, many nodes, or blocks; in a small graph without
    modules, calls of the library.
    """
    nodes, blocks = trace["nodes"], trace.get("blocks", ())
    named = any(node.get("group") for node in nodes)
    all_blocks = named or len(nodes) > FEW
    return (
        named
        or len(nodes) > MANY
        or any(all_blocks or block["kind"] == "library" for block in blocks)
    )


def grouped(
    trace: Mapping[str, Any],
    groups: str = "auto",
    t: Words | None = None,
    step: int | None = None,
) -> Mapping[str, Any]:
    """The document that a still of ``trace`` shows.

    groups: ``"auto"``: as the viewer opens; ``"open"``: every node; ``"closed"``: the fewest boxes.
    t: the words on them, English if None. step: the only one that is drawn, if there is one; around
    its node groups are open as in the viewer ("auto").

    Returns the Trace itself where no group is closed. Raises ValueError for another choice.
    """
    return grouped_at(trace, groups, t, [step])[0]


def grouped_at(
    trace: Mapping[str, Any], groups: str, t: Words | None, steps: Sequence[int | None]
) -> list[Mapping[str, Any]]:
    """For each of these steps the document that a still of it shows, as of :func:`grouped`; the
    very one of another step where the same boxes are open.
    """
    if groups not in CHOICES:
        raise ValueError(f"groups must be one of {', '.join(CHOICES)}, got {groups!r}")
    tree = Tree(trace, t) if groups != "open" else None
    if tree is None or not tree.groups:
        return [trace] * len(steps)
    at_first = tree.open_at_first() if groups == "auto" else set()
    known: dict[tuple[str, ...], Mapping[str, Any]] = {}
    found = []
    for step in steps:
        opened = set(at_first)
        for one in trace["steps"][step - 1 : step] if groups == "auto" and step else ():
            opened.update(tree.at_work(one))
        shown = tuple(tree.shown(opened))
        if shown not in known:
            closed = any(item in tree.groups for item in shown)
            known[shown] = _collapsed(trace, tree, shown, t or words()) if closed else trace
        found.append(known[shown])
    return found


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


def _box(group: NodeGroup, tree: Tree, t: Words) -> dict[str, Any]:
    count = sum("op" in tree.nodes[leaf] for leaf in group.leaves)
    size = t("operation" if count == 1 else "operations", n=count)
    name = f"{f'{group.times} × · ' if group.times else ''}{size}"
    return {"id": group.id, "label": {"base": f"▸ {group.label}"}, "kind": "group", "expr": [],
        "shape": [], "dtype": "", "stage": "primal",
            "name": name}  # fmt: skip
