"""Graphs of the results of a replayed call: one node for all of them, whose backward pass is a
program too.

While a call is recorded, its results are differentiated with respect to the leaves, for cotangents
that are inputs of the recording. What
was recorded is cut in two: a forward program, which also returns the values that the backward pass
reads, and a backward program. A result
of a replay has a `ReplayedNode`, which runs the backward program when a reverse pass comes.

That serves first derivatives with a cotangent for each result. For all else (`create_graph`,
forward mode, a cotangent of one result only)
the node computes the values that the eager graph had saved once more, makes that graph, node by
node, and walks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import backend
from ..autograd.custom.node import FunctionDeclaration
from ..engine.modes import state
from ..engine.record import pick
from ..engine.reverse import differentiate
from ..errors import AutogradError, GraphFreedError, InPlaceError, ProgramError
from ..nodes import Leaf, Node, OpNode, Pick, next_birth, youngest_first
from ..primitive import registry
from ..tensor import Tensor, memory_version, wrap
from .instructions import Instruction, Program, Ref, map_params
from .passes import without_dead_code
from .payload import Recorded
from .places import TensorPlace
from .run import interpret


class Pattern:
    """The nodes of a graph without their saved values: a `Ref` stands for each, the number of a
    value of a program."""

    def __init__(self, roots: Sequence[Node], leaves: Sequence[Leaf]) -> None:
        """Raises ProgramError for a graph that cannot be made again: with hooks, functions of
        users, checkpoints."""
        order, _ = youngest_first(roots)
        order.reverse()
        at = {node: i for i, node in enumerate(order)}
        numbers = {leaf: i for i, leaf in enumerate(leaves)}
        self.roots = [at[root] for root in roots]
        self.nodes: list[tuple[Any, ...]] = []
        for node in order:
            if isinstance(node, Leaf):
                self.nodes.append((Leaf, numbers.get(node)))
                continue
            if type(node) not in (OpNode, Pick):
                raise ProgramError(f"the graph of its result holds {node.name()}, which a replay cannot make again: detach() the result")
            if node.hooks or node.retained is not None or (node.tangents is not None):
                raise ProgramError(f"a hook (or retain_grad) waits inside the graph of its result, at {node.name()}")
            parents = [None if p is None else at[p] for p in node.parents]
            if isinstance(node, Pick):
                self.nodes.append((Pick, parents, node.index, node.shape, node.dtype))
            else:
                assert isinstance(node, OpNode)
                saved = map_params(node.saved, Recorded, lambda r: Ref(r.number))
                params = map_params(node.params, Recorded, lambda r: Ref(r.number))
                facts = node.primitive, node.plan, node.shape, node.dtype, node.unbroadcast
                self.nodes.append((OpNode, parents, facts, saved, params))

    def numbers(self) -> list[int]:
        """The values that the nodes hold."""
        found: dict[int, None] = {}
        for kind, *content in self.nodes:
            if kind is OpNode:
                for part in content[2:]:
                    map_params(part, Ref, lambda ref: found.setdefault(ref.number))
        return list(found)

    def make(self, values: dict[int, Any], places: Sequence[Node]) -> list[Node]:
        """The roots of a new graph with these values, which ends at `places` in the place of the
        leaves."""
        made: list[Node | None] = []
        for kind, *content in self.nodes:
            if kind is Leaf:
                made.append(None if content[0] is None else places[content[0]])
                continue
            node: Any = kind()
            node.born, node.parents = next_birth(), tuple(None if p is None else made[p] for p in content[0])
            node.hooks = node.retained = None
            if kind is Pick:
                _, node.index, node.shape, node.dtype = content
            else:
                _, (node.primitive, node.plan, node.shape, node.dtype, node.unbroadcast), saved, params = content
                node.saved = map_params(saved, Ref, lambda ref: values[ref.number])
                node.params = map_params(params, Ref, lambda ref: values[ref.number])
                node.versions, node.tangents = (), None
            made.append(node)
        return [made[root] for root in self.roots]  # type: ignore[misc]


class ResultGraph:
    """The graph of some results, as it was recorded.

    results: which of the own results it is about; leaves: what it leads to; error: what a reverse
    pass raises in an eager run (its graph
    was freed by the function itself, or what it saved was overwritten), as an exception; pattern:
    the nodes, None if there is an error.
    """

    def __init__(self, results: list[int], leaves: list[Leaf], pattern: Pattern | None, error: AutogradError | None = None) -> None:
        self.results, self.leaves, self.pattern, self.error = results, tuple(leaves), pattern, error
        self.backward: Program | None = None
        self.again: Program | None = None  # computes what the nodes of the pattern hold
        self.values: list[int] = []  # the pattern's numbers, in the order of the results of `again`
        self.sources: list[tuple[str, Any, bool]] = []  # what a replay keeps: see `cut`
        # which of the sources are the inputs of `backward` after the cotangents
        self.saved: list[int] = []
        self.given: list[int] = []  # and those of `again`
        self.reached: list[int] = []  # the leaves that the results of `backward` belong to
        self.overwritten: list[int] = []  # own results that share memory with a saved value

    def key(self) -> Any:
        """Equal for graphs of the same kind that read the like."""
        sources = [(kind, id(what) if kind == "captured" else what, is_read) for kind, what, is_read in self.sources]
        return self.results, [*map(id, self.leaves)], self.reached, sources, self.saved, self.given, type(self.error)


def recorded_graphs(recorder: Any, results: Sequence[Tensor], known: set[int]) -> tuple[list[ResultGraph], list[Tensor]]:
    """The graphs of the own results that have one, and the gradients that the backward pass gave,
    graph after graph.

    known: identities of the tensors whose leaves count. The cotangents become inputs of the
    recording, one for each result.
    """
    with_graph = [i for i, t in enumerate(results) if t.node is not None]
    for i in with_graph:
        if isinstance(results[i].node, Leaf):
            raise ProgramError("it returns a leaf that it makes in each call (requires_grad=True inside the function)")
    good, graphs = [], []
    for i in with_graph:
        error = _error_of(results[i])
        if error is None:
            good.append(i)
        else:
            graphs.append(ResultGraph([i], _leaves([results[i].node], known), None, error))
    gradients: list[Tensor] = []
    if good:
        roots: list[Any] = [results[i].node for i in good]
        leaves = _leaves(roots, known)
        pattern = Pattern(roots, leaves)
        seeds = [recorder.input(_ones(results[i]), f"cotangent{i}") for i in good]
        for leaf in leaves:
            recorder.lift(leaf.variable)
        before = len(recorder.instructions)
        found = differentiate(roots, seeds, targets=leaves, accumulate=False, retain_graph=True)
        if any(i.primitive.random for i in recorder.instructions[before:]):
            raise ProgramError("the backward pass of its result draws random numbers")
        reached = [leaf for leaf in leaves if leaf in found]
        gradients = [found[leaf] for leaf in reached]
        for gradient in gradients:
            recorder.lift(gradient)
        graph = ResultGraph(good, leaves, pattern)
        graph.reached, graph.values = [leaves.index(leaf) for leaf in reached], pattern.numbers()
        memories = _memories(roots)
        graph.overwritten = [i for i in good if id(results[i].array.memory) in memories]
        graphs.append(graph)
    return graphs, gradients


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


def _memories(roots: Any) -> set[int]:
    """The pieces of memory (by identity) in which a graph's saved values lie."""
    found: set[int] = set()
    for node in youngest_first(roots)[0]:
        if isinstance(node, OpNode):
            map_params(node.saved, Recorded, lambda r: found.add(id(r.memory)))
    return found


def _ones(like: Tensor) -> Tensor:
    array = like.array.array if type(like.array) is Recorded else like.array
    return wrap(backend.ones(tuple(array.shape), array.dtype, array))


# --------------------------------------------------------------------------------------------------------- one program, cut in two


def cut(whole: Program, own: int, graph: ResultGraph | None, reached: int, seeds: int) -> Program:
    """The forward program of a recording whose results are: `own` results of the call, `reached`
    gradients, values of the pattern.

    Its results are the call's own and, after them, what the graph needs, whose programs and sources
    are set here.
    """
    inputs = whole.inputs[: len(whole.inputs) - seeds]
    results, gradients, values = whole.outputs[:own], whole.outputs[own : own + reached], whole.outputs[own + reached :]
    if graph is None or graph.pattern is None:
        return without_dead_code(_with(whole, inputs, whole.instructions, results))
    forward = _needed(whole, [*results, *whole.updates.values(), *(n for n in whole.gradients.values() if n is not None)], random=True)
    needed = _needed(whole, gradients) - forward
    makers = whole.makers()
    cotangents = whole.inputs[len(inputs) :]
    while True:  # views of what is saved are made in both programs: what is saved has memory of its own, or a counter
        behind = [i for at, i in enumerate(whole.instructions) if at in needed]
        saved = _read(behind, gradients, {*cotangents, *whole.constants})
        views = {makers[n] for n in saved if makers[n] >= 0 and whole.instructions[makers[n]].primitive.view}
        if not views:
            break
        needed |= views
    drawn = {n for i in whole.instructions if i.primitive.random for n in i.outputs}
    again = [i for i in whole.instructions if not i.primitive.random]
    slice_ = _needed(whole, values, stop=drawn)
    given = _read([i for at, i in enumerate(whole.instructions) if at in slice_], values, set(whole.constants), stop=drawn)
    made: list[int] = []

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
    # the last: whether the backward program reads it
    graph.sources = [(*source(n), n in saved) for n in every]
    graph.saved, graph.given = [every.index(n) for n in saved], [every.index(n) for n in given]
    graph.backward = without_dead_code(_with(whole, [*cotangents, *saved], behind, gradients, alone=True))
    graph.again = without_dead_code(_with(whole, given, again, values, alone=True))
    return without_dead_code(_with(whole, inputs, whole.instructions, [*results, *made]))


def _with(whole: Program, inputs: Sequence[int], instructions: list[Instruction], outputs: Sequence[int], alone: bool = False) -> Program:
    """`whole` with other inputs, instructions and results (`alone`: it reads and writes nothing
    outside)."""
    constants = {n: a for n, a in whole.constants.items() if n not in inputs}
    outside: dict[str, Any] = {} if alone else {"captured": whole.captured, "updates": whole.updates, "gradients": whole.gradients}
    decisions = () if alone else whole.decisions
    return Program(inputs, constants, instructions, outputs, whole.types, whole.names, decisions=decisions, name=whole.name, **outside)


def _needed(program: Program, goals: Sequence[int], random: bool = False, stop: Any = ()) -> set[int]:
    """The indices of the instructions on which the values `goals` depend (`random`: and of all
    draws; `stop`: values that are given)."""
    wanted, found = {*goals}, set()
    for at in range(len(program.instructions) - 1, -1, -1):
        instruction = program.instructions[at]
        is_draw = instruction.primitive.random
        if (random and is_draw) or any(n in wanted and n not in stop for n in instruction.outputs):
            found.add(at)
            wanted.update(instruction.reads())
    return found


def _read(instructions: list[Instruction], goals: Sequence[int], known: set[int], stop: Any = ()) -> list[int]:
    """The values that these instructions read, and the goals, that none of them makes (or that are
    in `stop`), but for those `known`."""
    made = {n for i in instructions for n in i.outputs if n not in stop}
    numbers = [n for i in instructions if not any(o in stop for o in i.outputs) for n in i.reads()] + list(goals)
    return [n for n in dict.fromkeys(numbers) if n not in made and n not in known]


# ------------------------------------------------------------------------------------------------------------------- the node


class ReplayedNode(Node):
    """The place of a replayed call's results in the graph.

    graph: what was recorded; values: the arrays that its programs read, None once they were let go;
    counters: (version counter, number,
    whether the backward program reads that memory).
    """

    __slots__ = ("counters", "graph", "values")

    graph: Any
    values: Any
    counters: Any
    gives_fresh = True
    primitive = FunctionDeclaration("Compiled", "The results of a compiled function.")

    def name(self) -> str:
        return "CompiledBackward"

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    def release(self) -> None:
        """Let the saved values go."""
        self.values, self.counters = None, ()

    def pull(self, g: Any, needed: Any, live: bool) -> list[tuple[Node, Any]]:
        """(parent, contribution) for each parent in `needed`. Raises what an eager graph raises:
        GraphFreedError, InPlaceError."""
        graph = self.graph
        if graph.error is not None:
            raise type(graph.error)(*graph.error.args)
        if self.values is None:
            raise GraphFreedError(
                "the graph of a compiled function's result was walked backward before and its saved values are gone. To go through the "
                "same graph twice, call backward(retain_graph=True) (or autograd.grad(..., retain_graph=True)) the first time."
            )
        slots = g if len(graph.results) > 1 else [g]
        plain = not live and all(s is not None for s in slots)
        for version, number, is_read in self.counters:
            if version.count != number and (is_read or not plain):
                raise InPlaceError(
                    f"the backward pass of a compiled function needs a tensor as it was at version {number}, but it was modified in place "
                    f"since and is at version {version.count}. Use the out-of-place form of the operation that modified it, or modify a "
                    ".clone()."
                )
        if not plain:
            return self._eagerly(slots, needed, live)
        values = self.values
        found = graph.backward(*slots, *[values[i] for i in graph.saved])
        found = (found,) if isinstance(found, Tensor) else found
        parts = zip(graph.reached, found, strict=True)
        return [(parent, t.array) for i, t in parts if (parent := self.parents[i]) in needed]

    def _eagerly(self, slots: Sequence[Any], needed: Any, live: bool) -> list[tuple[Node, Any]]:
        """The same by the engine, on the graph that an eager run would have made."""
        graph = self.graph
        made = interpret(graph.again, [self.values[i] for i in graph.given])
        values = {n: made[number] for n, number in zip(graph.values, graph.again.outputs, strict=True)}
        ends = [_passing(parent) for parent in self.parents if parent is not None]
        roots = graph.pattern.make(values, ends)
        pairs = [(root, s) for root, s in zip(roots, slots, strict=True) if s is not None]
        seeds = [s if isinstance(s, Tensor) else wrap(s) for _, s in pairs]
        targets = [end for end, parent in zip(ends, self.parents, strict=True) if parent in needed]
        found = differentiate(
            [r for r, _ in pairs], seeds, targets=targets, accumulate=False, create_graph=state.recording, retain_graph=True
        )
        pairs = [(parent, found[end]) for end, parent in zip(ends, self.parents, strict=True) if end in found]
        return [(parent, t if live else t.array) for parent, t in pairs]


def _passing(parent: Node) -> OpNode:
    """A node that hands cotangents on to `parent` as they are."""
    node = OpNode()
    clone = registry["clone"]
    node.born, node.parents, node.primitive, node.params, node.plan = next_birth(), (parent,), clone, {}, clone.plan(0b11)
    node.shape, node.dtype, node.saved, node.versions = parent.shape, parent.dtype, (), ()
    node.unbroadcast = node.hooks = node.retained = node.tangents = None
    return node


def attach(graph: ResultGraph, results: Sequence[Tensor], made: Sequence[Any], inputs: Sequence[Tensor]) -> None:
    """Give the results of a replay their node. made: what the forward program returned after the
    call's own results."""
    node = ReplayedNode()
    node.born, node.parents, node.hooks, node.retained, node.graph = next_birth(), graph.leaves, None, None, graph
    node.values, node.counters = None, ()
    if graph.error is None:
        values: list[Any] = []
        counters: list[Any] = []
        known: set[Any] = set()
        for kind, what, is_read in graph.sources:
            if kind == "made":
                values.append(made[what])
                continue
            tensor = inputs[what] if kind == "input" else what
            values.append(tensor.array)
            if not backend.is_immutable(tensor.array):
                version = tensor.version or memory_version(tensor)
                if version not in known:
                    known.add(version)
                    counters.append((version, version.count, is_read))
        for i in graph.overwritten:
            if not backend.is_immutable(results[i].array):
                version = memory_version(results[i])
                counters.append((version, version.count, True))
        node.values, node.counters = values, counters
    if len(graph.results) == 1:
        out = results[graph.results[0]]
        node.shape, node.dtype, out.node = out.array.shape, out.array.dtype, node
        return
    outs = [results[i] for i in graph.results]
    facts: Any = tuple(o.array.shape for o in outs), tuple(o.array.dtype for o in outs)
    node.shape, node.dtype = facts
    for index, out in enumerate(outs):
        out.node = pick(node, index, out)
