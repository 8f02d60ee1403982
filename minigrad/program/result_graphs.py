"""Graphs of the results of a replayed call: one node for all results whose graphs are connected,
whose backward pass is a program too. A result from which another one was computed has a node of its
own, to which that one's leads, so hooks and `retain_grad` find it where an eager run has it.

While a call is recorded, its results are differentiated with respect to the leaves, for cotangents
that are inputs of the recording. What was recorded is cut in two: a forward program, which also
returns the values that the graphs hold, and a backward program for each connected graph. A result
of a replay has a `ReplayedNode`, which runs the backward program when a reverse pass comes.

That serves first derivatives with a cotangent for each result, while nothing that the program reads
was modified. For all else (`create_graph`, forward mode, a cotangent of one result only, a second
pass) the node makes the graph of the eager run from the kept values and walks it, so freed values
and modified ones are judged node by node, as in an eager run.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from .. import backend
from ..core.backward import differentiate
from ..core.graph import Node, OpNode, Version, youngest_first
from ..core.tensor import Leaf, Tensor, wrap
from ..errors import AutogradError, GraphFreedError, InPlaceError, ProgramError
from .graph_pattern import Memory, Pattern
from .payload import Recorded

if TYPE_CHECKING:
    from .program import Program


End = Leaf | tuple[str, int]
"""Where a graph ends: in a leaf from outside, ("result", i) or ("input", i)."""


class ResultGraph:
    """The graph of some results, as it was recorded.

    results: which of the own results it is about; leaves: what it leads to, where ("result", i) and
    ("input", i) stand for the nodes of that result and of that argument; error: what a reverse pass
    raises in an eager run (its graph was freed by the function itself, or what it saved was
    overwritten), as an exception; pattern: the nodes, None if there is an error.
    """

    def __init__(
        self,
        results: list[int],
        leaves: Sequence[End],
        pattern: Pattern | None,
        error: AutogradError | None = None,
    ) -> None:
        self.results, self.leaves, self.pattern, self.error = results, tuple(leaves), pattern, error
        self.ends_inside = any(type(leaf) is tuple for leaf in leaves)
        self.backward: Program | None = None
        self.views: Program | None = None  # makes what the nodes hold of what a replay keeps
        self.values: list[int] = []  # the pattern's numbers, in the order of the results of `views`
        self.sources: list[tuple[str, Any]] = []  # what a replay keeps: see `cut`
        # which of the sources are the inputs of `backward` after the cotangents
        self.saved: list[int] = []
        self.given: list[int] = []  # and those of `views`
        self.reached: list[int] = []  # the leaves that the results of `backward` belong to
        # the memory whose counters a replay keeps: that of the pattern, and of the sources
        self.counted: list[Memory] = [] if pattern is None else list(pattern.tracked)

    def key(self) -> Any:
        """Equal for graphs of the same kind that read the like."""
        named: Any = lambda kind, what: (kind, id(what) if isinstance(what, Tensor) else what)
        sources, counted = (
            [named(*pair) for pair in pairs] for pairs in (self.sources, self.counted)
        )
        leaves = [leaf if type(leaf) is tuple else id(leaf) for leaf in self.leaves]
        facts = sources, counted, self.saved, self.given, type(self.error)
        return self.results, leaves, self.reached, *facts


def recorded_graphs(
    recorder: Any,
    results: Sequence[Tensor],
    known: dict[int, Tensor | int],
    where: dict[Version, Memory],
) -> tuple[list[ResultGraph], list[Tensor]]:
    """The graphs of the own results that have one, and the gradients that the backward passes
    gave, graph after graph.

    known: the tensors whose leaves count, by identity, and arguments by number; where: the version
    counters of tensors that live on. The cotangents become inputs of the recording, one for each
    result.
    """
    with_graph = [i for i, t in enumerate(results) if t.node is not None]
    for i in with_graph:
        if isinstance(results[i].node, Leaf):
            raise ProgramError(
                "it returns a leaf that it makes in each call (requires_grad=True inside the"
                " function)"
            )
    good, graphs = [], []
    for i in with_graph:
        error = _error_of(results[i])
        if error is None:
            good.append(i)
        else:
            leaves = _leaves(_roots([results[i]]), known)
            graphs.append(ResultGraph([i], [_end(leaf, known, {}) for leaf in leaves], None, error))
    gradients: list[Tensor] = []
    groups, places = _separated(results, good)
    known = known | {id(tensor): tensor for tensor, _ in places.values()}
    for connected in groups:
        roots = _roots([results[i] for i in connected])
        leaves = _leaves(roots, known)
        pattern = Pattern(roots, leaves, where)
        seeds = [recorder.input(_ones(results[i]), f"cotangent{i}") for i in connected]
        for leaf in leaves:
            recorder.lift(leaf.variable)
        before = len(recorder.instructions)
        found = differentiate(roots, seeds, targets=leaves, accumulate=False, retain_graph=True)
        if any(i.primitive.random for i in recorder.instructions[before:]):
            raise ProgramError("the backward pass of its result draws random numbers")
        reached = [leaf for leaf in leaves if leaf in found]
        for leaf in reached:
            recorder.lift(found[leaf])
            gradients.append(found[leaf])
        graph = ResultGraph(connected, [_end(leaf, known, places) for leaf in leaves], pattern)
        graph.reached = [leaves.index(leaf) for leaf in reached]
        graph.values = pattern.numbers()
        graphs.append(graph)
    return graphs, gradients


def _separated(
    results: Sequence[Tensor], numbers: list[int]
) -> tuple[list[list[int]], dict[Leaf, tuple[Tensor, int]]]:
    """The results in groups with a graph of their own each, those first from which others were
    computed. From then on, the graph of a result ends at such ones: in leaves, of which the tensor
    and the number of the result are given.

    Raises ProgramError where two results of different groups share saved values, and neither was
    computed from the other."""
    order, _ = youngest_first(_roots([results[i] for i in numbers]))
    ends: dict[Node | None, int] = {results[i].node: i for i in numbers}
    height: dict[Node, int] = {}
    sources: dict[Node, int] = {}  # the results from which it was computed, as bits
    for node in reversed(order):
        parents = [parent for parent in node.parents if parent is not None]
        is_end = node in ends
        height[node] = max((height[p] for p in parents), default=0) + is_end
        sources[node] = is_end << ends.get(node, 0)
        for parent in parents:
            sources[node] |= sources[parent]
    places: dict[Leaf, tuple[Tensor, int]] = {}
    made: dict[Node | None, Node | None] = {}
    for node in order:
        for end in node.parents:
            if end is not None and end in ends and end not in made:
                tensor, leaf = _end_in_place_of(end, results[ends[end]])
                made[end], places[leaf] = leaf, (tensor, ends[end])
        node.parents = tuple(made.get(parent, parent) for parent in node.parents)
    roots: Any = {i: results[i].node for i in numbers}
    levels = sorted({height[root] for root in roots.values()})
    groups: list[list[int]] = []
    for level in levels:
        groups += _connected(results, [i for i in numbers if height[roots[i]] == level])
    kept = {i: _keeping(roots[i]) for i in numbers}
    for a, b in combinations(groups, 2):
        for i, j in product(a, b):
            if not sources[roots[j]] >> i & 1 and not kept[i].isdisjoint(kept[j]):
                raise ProgramError(
                    "two of its results share saved values, and one of them was computed from a"
                    " third result: detach() that one, or do not return it"
                )
    return groups, places


def _end_in_place_of(node: Node, result: Tensor) -> tuple[Tensor, Leaf]:
    """A leaf for the graph to end in at a result, whose node is `node`; as old as that."""
    tensor = wrap(result.array)
    facts = {"shape": node.shape, "dtype": node.dtype, "sequence_number": node.sequence_number}
    leaf = Leaf(array=tensor.array, tensor=weakref.ref(tensor), **facts)
    tensor.node = leaf
    return tensor, leaf


def _keeping(root: Node) -> set[Node]:
    """The operations below that keep values for a reverse pass."""
    order, _ = youngest_first([root])
    return {n for n in order if isinstance(n, OpNode) and n.plan.keeps_values}


def _connected(results: Sequence[Tensor], numbers: list[int]) -> list[list[int]]:
    """The results in groups that share no operation: each group has a graph of its own."""
    groups: list[tuple[list[int], set[Node]]] = []
    for i in numbers:
        order, _ = youngest_first(_roots([results[i]]))
        nodes = {n for n in order if not isinstance(n, Leaf)}
        members = [i]
        apart = []
        for group, others in groups:
            if others.isdisjoint(nodes):
                apart.append((group, others))
            else:
                members += group
                nodes |= others
        groups = [*apart, (sorted(members), nodes)]
    return sorted(group for group, _ in groups)


def _roots(results: Sequence[Tensor]) -> list[Node]:
    return [result.node for result in results if result.node is not None]


def _end(leaf: Leaf, known: dict[int, Tensor | int], places: dict[Leaf, tuple[Tensor, int]]) -> End:
    """What a replay's graph has in the place of a leaf of the recorded one."""
    if leaf in places:
        return "result", places[leaf][1]
    place = known[id(leaf.tensor())]
    return ("input", place) if type(place) is int else leaf


def _leaves(roots: Sequence[Node], known: dict[int, Any]) -> list[Leaf]:
    order, _ = youngest_first(roots)
    return [n for n in reversed(order) if isinstance(n, Leaf) and id(n.tensor()) in known]


def _error_of(result: Tensor) -> AutogradError | None:
    """What a reverse pass from this result raises; None if it works."""
    order, _ = youngest_first(_roots([result]))
    for node in order:
        if isinstance(node, OpNode):
            try:
                node.values()
            except (GraphFreedError, InPlaceError) as error:
                return error
    return None


def _ones(like: Tensor) -> Tensor:
    array = like.array.array if type(like.array) is Recorded else like.array
    return wrap(backend.ones(tuple(array.shape), array.dtype, array))
