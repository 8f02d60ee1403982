"""The node of the results of a replayed call, whose reverse pass is a program too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.function.node import FunctionDeclaration
from ..core.backward import differentiate
from ..core.graph import Node, OpNode, Version, state
from ..core.primitive import registry
from ..core.tensor import Tensor, ensure_version, make_pick, wrap
from .bindings import leaf_at
from .result_graphs import ResultGraph
from .run import interpret


class ReplayedNode(Node):
    """The place of some results of a replayed call in the graph.

    graph: what was recorded; values: the arrays that its programs read, None once all were freed;
    counters: (version counter, number) for each piece of memory that is counted; freed: the
    operations of the pattern whose values a reverse pass has freed; latest: what the latest one
    walked, (roots, leaves, nodes), None for everything.
    """

    __slots__ = ("counters", "freed", "graph", "latest", "values")

    graph: Any
    values: Any
    counters: Any
    freed: Any
    latest: Any
    gives_fresh = True
    primitive = FunctionDeclaration("Compiled", "The results of a compiled function.")

    def name(self) -> str:
        return "CompiledBackward"

    def release(self) -> None:
        """Free the saved values of what the latest pass walked."""
        pattern, latest = self.graph.pattern, self.latest
        self.latest = None
        if pattern is None or self.values is None:
            return
        if latest is None:
            self.freed = pattern.keepers
        else:
            *ends, nodes = latest
            walked = pattern.between(*ends)
            for at in walked if nodes is not None else ():
                nodes[at].release()
            self.freed = walked if self.freed is None else self.freed | walked
        if self.freed == pattern.keepers and not pattern.reads:
            self.values = None

    def pull(self, g: Any, needed: Any, on_tensors: bool) -> list[tuple[Node, Any]]:
        """(parent, contribution) for each parent in `needed`. Raises what an eager graph raises:
        GraphFreedError, InPlaceError."""
        graph = self.graph
        if graph.error is not None:
            raise type(graph.error)(*graph.error.args)
        slots = g if len(graph.results) > 1 else [g]
        values = self.values
        if (
            values is None
            or self.freed is not None
            or on_tensors
            or any([s is None for s in slots])
            or any([version.count != number for version, number in self.counters])
        ):
            return self._eagerly(slots, needed, on_tensors)
        parents: Any = self.parents
        leaves = [k for k, parent in enumerate(parents) if parent in needed]
        self.latest = None if len(leaves) == len(parents) else (range(len(slots)), leaves, None)
        found = graph.backward(*slots, *[values[i] for i in graph.saved])
        found = (found,) if isinstance(found, Tensor) else found
        parts = zip(graph.reached, found, strict=True)
        return [(parent, t.array) for i, t in parts if (parent := parents[i]) in needed]

    def _eagerly(
        self, slots: Sequence[Any], needed: Any, on_tensors: bool
    ) -> list[tuple[Node, Any]]:
        """The contributions by the engine, on the graph that an eager run would have made."""
        graph, values, freed = self.graph, {}, self.freed or set()
        pattern = graph.pattern
        if self.values is None:
            freed = pattern.keepers
        else:
            made = interpret(graph.views, [self.values[i] for i in graph.given])
            pairs = zip(graph.values, graph.views.outputs, strict=True)
            values = {n: made[number] for n, number in pairs}
        ends = [_passing(parent) for parent in self.parents if parent is not None]
        nodes = pattern.make(values, freed, self.counters, ends)
        walked = [i for i, s in enumerate(slots) if s is not None]
        leaves = [k for k, parent in enumerate(self.parents) if parent in needed]
        self.latest = walked, leaves, nodes
        seeds = [s if isinstance(s, Tensor) else wrap(s) for s in slots if s is not None]
        found = differentiate(
            [nodes[pattern.roots[i]] for i in walked],
            seeds,
            targets=[ends[k] for k in leaves],
            accumulate=False,
            create_graph=state.recording,
            retain_graph=True,
        )
        reached = [(self.parents[k], found[ends[k]]) for k in leaves if ends[k] in found]
        return [(p, t if on_tensors else t.array) for p, t in reached if p is not None]


def _passing(parent: Node) -> OpNode:
    """A node that hands cotangents on to `parent` as they are."""
    clone = registry["clone"]
    node = OpNode(parents=(parent,), primitive=clone, params={}, plan=clone.plan((True,)), saved=())
    node.shape, node.dtype = parent.shape, parent.dtype
    return node


def attach(
    graph: ResultGraph, results: Sequence[Tensor], made: Sequence[Any], inputs: Sequence[Tensor]
) -> None:
    """Give the results of a replay their node. made: what the forward program returned after the
    call's own results."""
    parents: Any = graph.leaves
    if graph.ends_inside:
        own = {"result": results, "input": inputs}
        parents = [own[p[0]][p[1]].node if type(p) is tuple else p for p in parents]
    node = ReplayedNode(parents=tuple(parents))
    node.graph, node.values, node.freed, node.latest = graph, None, None, None
    node.counters = ()
    if graph.error is None:
        values: list[Any] = []
        for kind, what in graph.sources:
            if kind == "made":
                values.append(made[what])
            else:
                values.append((inputs[what] if kind == "input" else what).array)
        counters: list[tuple[Version, int]] = []
        for kind, what in graph.counted:
            tensor = (
                inputs[what]
                if kind == "input"
                else (
                    results[what]
                    if kind == "own"
                    else leaf_at(what, inputs).stored_grad
                    if kind == "gradient"
                    else what
                )
            )
            version = tensor.version or ensure_version(tensor)
            counters.append((version, version.count))
        node.values, node.counters = values, counters
    if len(graph.results) == 1:
        out = results[graph.results[0]]
        node.shape, node.dtype, out.node = out.array.shape, out.array.dtype, node
        return
    outs = [results[i] for i in graph.results]
    facts: Any = tuple(o.array.shape for o in outs), tuple(o.array.dtype for o in outs)
    node.shape, node.dtype = facts
    for index, out in enumerate(outs):
        out.node = make_pick(node, index)
