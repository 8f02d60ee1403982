"""The recording of a call and of the backward passes of its results, cut into programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from .bindings import TensorBinding
from .graph_pattern import Memory
from .instructions import Instruction
from .passes import without_dead_code
from .result_graphs import ResultGraph

if TYPE_CHECKING:
    from .program import Program


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
        return without_dead_code(replace(whole, inputs=inputs, outputs=results))
    gradients = [list(islice(rest, len(graph.reached))) for graph in graphs]
    written = [n for n in whole.gradients.values() if n is not None]
    forward = _needed(whole, [*results, *whole.updates.values(), *written], always=True)
    made: list[int] = []
    for graph, wanted in zip(graphs, gradients, strict=True):
        own_cotangents = cotangents[: len(graph.results)]
        cotangents = cotangents[len(graph.results) :]
        values = list(islice(rest, len(graph.values)))
        _cut_graph(whole, graph, inputs, own_cotangents, wanted, values, forward, made)
    return without_dead_code(replace(whole, inputs=inputs, outputs=[*results, *made]))


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
        if isinstance(place, TensorBinding) and not written:
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
    graph.backward = _alone(whole, [*cotangents, *saved], behind, gradients)
    looked = [i for at, i in enumerate(instructions) if at in steps]
    graph.views = _alone(whole, given, looked, values)


def _same(a: Memory, b: Memory) -> bool:
    return a[0] == b[0] and (a[1] is b[1] or a[1] == b[1] if type(a[1]) is int else a[1] is b[1])


def _alone(
    whole: Program, inputs: list[int], instructions: list[Instruction], outputs: list[int]
) -> Program:
    """A program of these instructions of `whole`, which reads and writes nothing outside."""
    constants = {n: a for n, a in whole.constants.items() if n not in inputs}
    own: dict[str, Any] = {"inputs": inputs, "instructions": instructions, "outputs": outputs}
    own |= {"captured": {}, "updates": {}, "gradients": {}, "decisions": []}
    return without_dead_code(replace(whole, constants=constants, **own))


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
