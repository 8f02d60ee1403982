"""Graphs of the results of a replayed call: one node for all results whose graphs are connected,
whose backward pass is a program too.

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

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from .. import backend
from ..autograd.function.node import FunctionDeclaration
from ..core.backward import differentiate
from ..core.graph import Node, OpNode, Pick, Version, next_sequence_number, youngest_first
from ..core.modes import state
from ..core.primitive import registry
from ..core.tensor import Leaf, Tensor, make_pick, memory_version, wrap
from ..errors import AutogradError, GraphFreedError, InPlaceError, ProgramError
from .instructions import Instruction, Ref, map_params, refs_in
from .passes import without_dead_code
from .payload import Recorded
from .places import TensorPlace
from .run import interpret

if TYPE_CHECKING:
    from .program import Program

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
            if node.hooks or node.retained is not None or (node.tangents is not None):
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
            node: Any = kind()
            node.sequence_number = next_sequence_number()
            node.parents = tuple(None if p is None else made[p] for p in content[0])
            node.hooks = node.retained = None
            if kind is Pick:
                _, node.index, node.shape, node.dtype = content
            else:
                _, facts, saved, params, versions = content
                node.primitive, node.plan, node.shape, node.dtype, node.unbroadcast = facts
                node.saved, node.versions, node.tangents, node.params = None, (), None, params
                if at not in freed:
                    node.saved = map_params(saved, Ref, lambda ref: values[ref.number])
                    node.params = map_params(params, Ref, lambda ref: values[ref.number])
                    node.versions = tuple((where, *counters[k]) for where, k in versions)
            made.append(node)
        return made


class ResultGraph:
    """The graph of some results, as it was recorded.

    results: which of the own results it is about; leaves: what it leads to; error: what a reverse
    pass raises in an eager run (its graph was freed by the function itself, or what it saved was
    overwritten), as an exception; pattern: the nodes, None if there is an error.
    """

    def __init__(
        self,
        results: list[int],
        leaves: list[Leaf],
        pattern: Pattern | None,
        error: AutogradError | None = None,
    ) -> None:
        self.results, self.leaves, self.pattern, self.error = results, tuple(leaves), pattern, error
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
        leaves = [*map(id, self.leaves)]
        facts = sources, counted, self.saved, self.given, type(self.error)
        return self.results, leaves, self.reached, *facts


def recorded_graphs(
    recorder: Any,
    results: Sequence[Tensor],
    known: set[int],
    where: dict[Version, Memory],
) -> tuple[list[ResultGraph], list[Tensor]]:
    """The graphs of the own results that have one, and the gradients that the backward passes
    gave, graph after graph.

    known: identities of the tensors whose leaves count; where: the version counters of tensors
    that live on. The cotangents become inputs of the recording, one for each result.
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
            graphs.append(ResultGraph([i], _leaves([results[i].node], known), None, error))
    gradients: list[Tensor] = []
    for connected in _connected(results, good):
        roots: list[Any] = [results[i].node for i in connected]
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
        graph = ResultGraph(connected, leaves, pattern)
        graph.reached = [leaves.index(leaf) for leaf in reached]
        graph.values = pattern.numbers()
        graphs.append(graph)
    return graphs, gradients


def _connected(results: Sequence[Tensor], numbers: list[int]) -> list[list[int]]:
    """The results in groups that share no operation: each group has a graph of its own."""
    groups: list[tuple[list[int], set[Node]]] = []
    for i in numbers:
        nodes = {n for n in youngest_first([results[i].node])[1] if not isinstance(n, Leaf)}  # type: ignore[list-item]
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


def _leaves(roots: Any, known: set[int]) -> list[Leaf]:
    order, _ = youngest_first(roots)
    return [n for n in reversed(order) if isinstance(n, Leaf) and id(n.tensor()) in known]


def _error_of(result: Tensor) -> AutogradError | None:
    """What a reverse pass from this result raises; None if it works."""
    order, _ = youngest_first([result.node])  # type: ignore[list-item]
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


# -------------------------------------------------------------------------- one program, cut in two


def cut(whole: Program, own: int, graphs: Sequence[ResultGraph]) -> Program:
    """The forward program of a recording whose results are: `own` results of the call, then, for
    all graphs, the gradients that were reached, and then the values of the patterns.

    Its results are the call's own and, after them, what the graphs need, whose programs and sources
    are set here.
    """
    graphs = [graph for graph in graphs if graph.pattern is not None]
    seeds = sum(len(graph.results) for graph in graphs)
    inputs, cotangents = whole.inputs[: len(whole.inputs) - seeds], whole.inputs[-seeds:]
    results, rest = whole.outputs[:own], iter(whole.outputs[own:])
    if not graphs:
        return without_dead_code(_with(whole, inputs, whole.instructions, results))
    gradients = [list(islice(rest, len(graph.reached))) for graph in graphs]
    written = [n for n in whole.gradients.values() if n is not None]
    forward = _needed(whole, [*results, *whole.updates.values(), *written], always=True)
    made: list[int] = []
    for graph, wanted in zip(graphs, gradients, strict=True):
        own_cotangents = cotangents[: len(graph.results)]
        cotangents = cotangents[len(graph.results) :]
        values = list(islice(rest, len(graph.values)))
        _cut_graph(whole, graph, inputs, own_cotangents, wanted, values, forward, made)
    return without_dead_code(_with(whole, inputs, whole.instructions, [*results, *made]))


def _cut_graph(
    whole: Program,
    graph: ResultGraph,
    inputs: Sequence[int],
    cotangents: Sequence[int],
    gradients: list[int],
    values: list[int],
    forward: set[int],
    made: list[int],
) -> None:
    """Set the programs and sources of one graph. made: the extra results of the forward program so
    far, to which those of this graph are added."""
    makers = whole.makers()
    instructions = whole.instructions
    is_view: Any = lambda n: makers[n] >= 0 and instructions[makers[n]].primitive.view
    needed = _needed(whole, gradients) - forward
    # views of what is saved are made in both programs: what is saved has memory of its own, or a
    # counter
    while True:
        behind = [i for at, i in enumerate(instructions) if at in needed]
        saved = _read(behind, gradients, {*cotangents, *whole.constants})
        views = {makers[n] for n in saved if is_view(n)}
        if not views:
            break
        needed |= views
    steps: set[int] = set()
    given = [n for n in dict.fromkeys(values) if n not in whole.constants]
    while any(map(is_view, given)):
        steps |= {makers[n] for n in given if is_view(n)}
        looked = [i for at, i in enumerate(instructions) if at in steps]
        given = _read(looked, values, set(whole.constants))

    def source(number: int) -> tuple[str, Any]:
        """("made", k): extra result k of the forward program; ("input", i): input i of the call;
        ("captured", tensor)."""
        written = number in whole.updates  # its memory is about to hold something else
        if number in inputs and not written:
            return "input", inputs.index(number)
        place = whole.captured.get(number)
        if isinstance(place, TensorPlace) and not written:
            return "captured", place.owner
        if number not in made:
            made.append(number)
        return "made", made.index(number)

    every = list(dict.fromkeys([*saved, *given]))
    graph.sources = [source(n) for n in every]
    for memory in graph.sources:
        if memory[0] != "made" and not any(_same(memory, known) for known in graph.counted):
            graph.counted.append(memory)
    graph.saved, graph.given = [every.index(n) for n in saved], [every.index(n) for n in given]
    graph.backward = without_dead_code(
        _with(whole, [*cotangents, *saved], behind, gradients, alone=True)
    )
    looked = [i for at, i in enumerate(instructions) if at in steps]
    graph.views = without_dead_code(_with(whole, given, looked, values, alone=True))


def _same(a: Memory, b: Memory) -> bool:
    return a[0] == b[0] and (a[1] is b[1] or a[1] == b[1] if type(a[1]) is int else a[1] is b[1])


def _with(
    whole: Program,
    inputs: Sequence[int],
    instructions: list[Instruction],
    outputs: Sequence[int],
    alone: bool = False,
) -> Program:
    """`whole` with other inputs, instructions and results (`alone`: it reads and writes nothing
    outside)."""
    constants = {n: a for n, a in whole.constants.items() if n not in inputs}
    outside: dict[str, Any] = (
        {}
        if alone
        else {"captured": whole.captured, "updates": whole.updates, "gradients": whole.gradients}
    )
    decisions = () if alone else whole.decisions
    return type(whole)(
        inputs,
        constants,
        instructions,
        outputs,
        whole.types,
        whole.names,
        decisions=decisions,
        name=whole.name,
        **outside,
    )


def _needed(program: Program, goals: Sequence[int], always: bool = False) -> set[int]:
    """The indices of the instructions on which the values `goals` depend (`always`: and of those
    that are run whatever reads them)."""
    wanted, found = {*goals}, set()
    for at in range(len(program.instructions) - 1, -1, -1):
        instruction = program.instructions[at]
        if (always and instruction.is_run_always()) or any(
            n in wanted for n in instruction.outputs
        ):
            found.add(at)
            wanted.update(instruction.reads())
    return found


def _read(instructions: list[Instruction], goals: Sequence[int], known: set[int]) -> list[int]:
    """The values that these instructions read, and the goals, that none of them makes, but for
    those `known`."""
    made = {n for i in instructions for n in i.outputs}
    numbers = [n for i in instructions for n in i.reads()] + list(goals)
    return [n for n in dict.fromkeys(numbers) if n not in made and n not in known]


# ----------------------------------------------------------------------------------------- the node


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

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

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

    def pull(self, g: Any, needed: Any, live: bool) -> list[tuple[Node, Any]]:
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
            or live
            or any([s is None for s in slots])
            or any([version.count != number for version, number in self.counters])
        ):
            return self._eagerly(slots, needed, live)
        parents: Any = self.parents
        leaves = [k for k, parent in enumerate(parents) if parent in needed]
        self.latest = None if len(leaves) == len(parents) else (range(len(slots)), leaves, None)
        found = graph.backward(*slots, *[values[i] for i in graph.saved])
        found = (found,) if isinstance(found, Tensor) else found
        parts = zip(graph.reached, found, strict=True)
        return [(parent, t.array) for i, t in parts if (parent := parents[i]) in needed]

    def _eagerly(self, slots: Sequence[Any], needed: Any, live: bool) -> list[tuple[Node, Any]]:
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
        return [(parent, t if live else t.array) for parent, t in reached]  # type: ignore[misc]


def _passing(parent: Node) -> OpNode:
    """A node that hands cotangents on to `parent` as they are."""
    node = OpNode()
    clone = registry["clone"]
    node.sequence_number, node.parents, node.primitive, node.params, node.plan = (
        next_sequence_number(),
        (parent,),
        clone,
        {},
        clone.plan(0b11),
    )
    node.shape, node.dtype, node.saved, node.versions = parent.shape, parent.dtype, (), ()
    node.unbroadcast = node.hooks = node.retained = node.tangents = None
    return node


def attach(
    graph: ResultGraph, results: Sequence[Tensor], made: Sequence[Any], inputs: Sequence[Tensor]
) -> None:
    """Give the results of a replay their node. made: what the forward program returned after the
    call's own results."""
    node = ReplayedNode()
    node.sequence_number, node.parents, node.graph = next_sequence_number(), graph.leaves, graph
    node.hooks = node.retained = node.values = node.freed = node.latest = None
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
                    else what.stored_grad
                    if kind == "gradient"
                    else what
                )
            )
            version = tensor.version or memory_version(tensor)
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
        out.node = make_pick(node, index, out)
