"""The graph of a result without its values, from which a graph with other values can be made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.graph import Node, OpNode, Pick, Version, next_sequence_number, youngest_first
from ..core.tensor import Leaf
from ..errors import ProgramError
from .instructions import Ref, map_params, refs_in
from .payload import Recorded

Memory = tuple[str, Any]
"""A piece of memory that lives on after the call: ("input", i), ("captured", tensor), ("gradient",
leaf) or ("own", i), which is result i."""


class Pattern:
    """The nodes of a graph without their saved values: a `Ref` stands for each, the number of a
    value of a program.

    tracked: the memory outside the graph in which saved values lie, as `where` names it.
    """

    def __init__(
        self, roots: Sequence[Node], leaves: Sequence[Leaf], where: dict[Version, Memory]
    ) -> None:
        """where: the version counters of tensors that live on after the call.

        Raises ProgramError for a graph that cannot be made again: with hooks, functions of
        users, checkpoints."""
        order, _ = youngest_first(roots)
        order.reverse()
        at = {node: i for i, node in enumerate(order)}
        numbers = {leaf: i for i, leaf in enumerate(leaves)}
        tracked: dict[Version, int] = {}
        self.roots = [at[root] for root in roots]
        self.nodes: list[tuple[Any, ...]] = []
        for node in order:
            if isinstance(node, Leaf):
                self.nodes.append((Leaf, numbers.get(node)))
                continue
            if type(node) not in (OpNode, Pick):
                raise ProgramError(
                    f"the graph of its result holds {node.name()}, which a replay cannot make"
                    " again: detach() the result"
                )
            if node.hooks or node.retained is not None or (node.saved_tangents is not None):
                raise ProgramError(
                    "a hook (or retain_grad) waits inside the graph of its result, at"
                    f" {node.name()}"
                )
            parents = [None if p is None else at[p] for p in node.parents]
            if isinstance(node, Pick):
                self.nodes.append((Pick, parents, node.index, node.shape, node.dtype))
            else:
                assert isinstance(node, OpNode)
                saved = map_params(node.saved, Recorded, lambda r: Ref(r.number))
                params = map_params(node.params, Recorded, lambda r: Ref(r.number))
                versions = tuple(
                    (position, tracked.setdefault(version, len(tracked)))
                    for position, version, _ in node.versions
                    if version in where
                )
                facts = node.primitive, node.plan, node.shape, node.dtype, node.unbroadcast
                self.nodes.append((OpNode, parents, facts, saved, params, versions))
        self.tracked = [where[version] for version in tracked]
        # those whose values a reverse pass frees, and whether others read values too
        operations = [(at, node) for at, node in enumerate(self.nodes) if node[0] is OpNode]
        self.keepers = {at for at, node in operations if node[2][1].keeps_values}
        rest = [node[3:5] for at, node in operations if at not in self.keepers]
        self.reads = any(refs_in(part) for part in rest)

    def numbers(self) -> list[int]:
        """The values that the nodes hold."""
        found: dict[int, None] = {}
        for kind, *content in self.nodes:
            if kind is OpNode:
                for part in content[2:4]:
                    map_params(part, Ref, lambda ref: found.setdefault(ref.number))
        return list(found)

    def between(self, roots: Sequence[int], leaves: Sequence[int]) -> set[int]:
        """The operations on paths from these roots to these leaves (positions in `roots` and
        numbers of leaves): those that a reverse pass walks."""
        below: set[int] = set()
        stack = [self.roots[i] for i in roots]
        while stack:
            at = stack.pop()
            if at not in below:
                below.add(at)
                if self.nodes[at][0] is not Leaf:
                    stack += [p for p in self.nodes[at][1] if p is not None]
        leading: set[int] = set()
        for at in sorted(below):  # parents come first
            kind, first = self.nodes[at][:2]
            if first in leaves if kind is Leaf else any(p in leading for p in first):
                leading.add(at)
        return {at for at in leading if at in self.keepers}

    def make(
        self,
        values: dict[int, Any],
        freed: set[int],
        counters: Sequence[Any],
        places: Sequence[Node],
    ) -> list[Any]:
        """The nodes of a new graph with these values, which ends at `places` in the place of the
        leaves. freed: those that have no saved values; counters: those of `tracked`."""
        made: list[Any] = []
        for at, (kind, *content) in enumerate(self.nodes):
            if kind is Leaf:
                made.append(None if content[0] is None else places[content[0]])
                continue
            node: Any = kind.__new__(kind)
            node.sequence_number = next_sequence_number()
            node.parents = tuple(None if p is None else made[p] for p in content[0])
            node.hooks = node.retained = node.saved_tangents = None
            if kind is Pick:
                _, node.index, node.shape, node.dtype = content
            else:
                _, facts, saved, params, versions = content
                node.primitive, node.plan, node.shape, node.dtype, node.unbroadcast = facts
                node.saved, node.versions, node.params = None, (), params
                if at not in freed:
                    node.saved = map_params(saved, Ref, lambda ref: values[ref.number])
                    node.params = map_params(params, Ref, lambda ref: values[ref.number])
                    node.versions = tuple((where, *counters[k]) for where, k in versions)
            made.append(node)
        return made
