"""Checkpointing: compute values again in the reverse pass instead of keeping them.

A reverse pass needs the values that the rules of the forward operations name. For a chain of n
layers that is memory proportional to n. `checkpoint(f, x)` runs f, keeps the *structure* of its
graph, and frees the saved values; when the reverse pass first needs one of them, f runs once more
and all of them are there again, until each has been used. A chain cut into √n checkpointed pieces
of √n layers needs memory proportional to √n, for one more forward computation.

    y = checkpoint(block, x)          as block(x): same result, same gradients

Since the graph itself stays, everything that a graph can do works: several inputs and outputs,
parameters that f uses, `backward` and `autograd.grad`, hooks, higher derivatives, forward mode,
nesting. (PyTorch calls this the non-reentrant kind of torch.utils.checkpoint; the memory argument
is that of A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse
AD", 1992.)

A gradient is right or there is an error: if something that f read was modified in between, or f
takes another way the second time, the reverse pass says so.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from .. import observers
from ..backend import is_immutable
from ..core.graph import Node, OpNode, Version, next_sequence_number, state
from ..core.observe import Event
from ..core.tensor import Tensor, current_node, ensure_version, wrap
from ..errors import AutogradError, InPlaceError
from ..func.tree import flatten
from ..functions import random_state, set_random_state
from ..grad_mode import is_grad_enabled
from .saved_tensors.packing import ElsewhereNode, hold_elsewhere

FIRST, AGAIN = "checkpoint", "checkpoint: computed again"
"""Names of the stretches that observers see: the function's first run, at whose end the saved
values are gone, and each further one, at whose end they are back.
"""


class CheckpointError(AutogradError):
    """A checkpointed function did something else the second time. (The error of files has this
    name too: `minigrad.serialization.CheckpointError`.)

    >>> # fails in backward: another way each time
    >>> checkpoint(lambda x: x.sin() if next(switch) else x.exp(), x)
    >>> # the cure: decide outside
    >>> way = next(switch); checkpoint(lambda x: x.sin() if way else x.exp(), x)
    """


class _DroppedValues(NamedTuple):
    """Which saved values a node has given up: those of node `number` of a region."""

    region: _Region
    number: int


class CheckpointedNode(ElsewhereNode):
    """The node of an operation inside a checkpoint: the place of its saved values is a region,
    which computes them again.
    """

    __slots__ = ()

    def values(self) -> tuple[Any, ...]:
        """The saved values, computed again. Raises GraphFreedError, InPlaceError,
        CheckpointError.
        """
        if not self.versions:
            return super().values()  # which says that the graph was freed
        place = self.versions[0]
        out: tuple[Any, ...] = place.region.values(place.number)
        return out


@dataclass(frozen=True)
class _Read:
    """A tensor that the function read: how to tell later whether it was modified.

    memory: its version counter, or a weak reference to a tensor that holds a bare number; count:
    its version when the function ended.
    """

    memory: Any
    count: int
    operation: str
    shape: tuple[int, ...]

    def changed(self) -> bool:
        """Whether it was modified since."""
        if isinstance(self.memory, Version):
            return self.memory.count != self.count
        tensor = self.memory()
        return tensor is not None and tensor._version != self.count


class _Reads:
    """The observer that notes which memory from outside has an influence on what a function
    records.

    That is memory read by a recorded operation, or by unrecorded ones (on constants) whose results
    are then read by a recorded one. What the function keeps for itself, as running statistics, has
    none. Memory is told apart by its version counter, which all views share, and a bare number by
    its tensor.
    """

    def __init__(self) -> None:
        self.memories: dict[int, Any] = {}
        self.made: dict[
            int, frozenset[int]
        ] = {}  # memory made inside: the outside memory of which it was made, unrecorded
        self.outside: dict[
            int, tuple[str, tuple[int, ...]]
        ] = {}  # the other memory: who read it first, and its shape
        self.written: dict[
            int, frozenset[int]
        ] = {}  # outside memory that the function wrote into: of what
        self.found: set[int] = set()

    def begin(self, event: Event) -> None:
        """Nothing is known yet."""

    def end(self, event: Event) -> None:
        """An operation has run, or a result was written into a tensor."""
        if event.error is not None or event.phase not in ("forward", "assign"):
            return
        operation = getattr(event.primitive, "name", "an in-place operation")
        sources = frozenset[int]().union(
            *(self._sources(a, operation) for a in event.args if isinstance(a, Tensor))
        )
        if event.phase == "assign":
            key = self._key(event.args[0])
            into = self.made if key in self.made else self.written
            into[key] = into.get(key, frozenset()) | sources - {key}
            return
        if event.node is not None:
            self.found |= sources
            sources = frozenset()
        for result in event.result if isinstance(event.result, tuple) else (event.result,):
            # a view of outside memory is outside
            if isinstance(result, Tensor) and (key := self._key(result)) not in self.outside:
                self.made[key] = self.made.get(key, frozenset()) | sources

    def _key(self, tensor: Tensor) -> int:
        if not is_immutable(tensor.array):
            version = ensure_version(tensor)
            self.memories[id(version)] = version
            return id(version)
        known = self.memories.get(id(tensor))
        if known is None or known() is not tensor:
            self.memories[id(tensor)] = weakref.ref(tensor)
            self.made.pop(id(tensor), None)  # of another one, which is gone
        return id(tensor)

    def _sources(self, tensor: Tensor, operation: str) -> frozenset[int]:
        key = self._key(tensor)
        if key in self.made:
            return self.made[key]
        self.outside.setdefault(key, (operation, tensor.shape))
        return self.written.get(key, frozenset()) | {key}

    def settled(self) -> tuple[_Read, ...]:
        """What was read, at its present version."""
        reads = []
        for key in self.found:
            memory = self.memories[key]
            owner = memory if isinstance(memory, Version) else memory()
            if owner is not None:
                reads.append(
                    _Read(
                        memory,
                        owner.count if isinstance(owner, Version) else owner._version,
                        *self.outside[key],
                    )
                )
        return tuple(reads)


class _Region:
    """One call of a checkpointed function: what is needed to run it again, and the values that a
    second run has brought back.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        preserve_rng_state: bool,
    ) -> None:
        self.function = function
        leaves, self.rebuild = flatten((tuple(args), kwargs))
        self.leaves = [_snapshot(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        self.random = random_state() if preserve_rng_state else None
        self.batches = state.batches
        self.reads: tuple[_Read, ...] = ()
        self.outlines: list[Any] = []
        self.nodes: list[OpNode | None] = []

    def take_over(self, nodes: list[OpNode], reads: _Reads) -> None:
        """From now on the nodes' saved values are this region's business."""
        self.reads = reads.settled()
        self.outlines = [_outline(n) for n in nodes]
        self.nodes = [None] * len(nodes)
        for index, node in enumerate(nodes):
            hold_elsewhere(node, CheckpointedNode, _DroppedValues(self, index))

    def values(self, index: int) -> tuple[Any, ...]:
        """The saved values of one node; they are handed out once, so that they die as the pass
        goes on.
        """
        if self.nodes[index] is None:
            with observers.region(AGAIN, self):
                self._compute_again()
        node, self.nodes[index] = self.nodes[index], None
        assert node is not None
        return node.values()

    def _compute_again(self) -> None:
        for read in self.reads:
            if read.changed():
                raise InPlaceError(
                    f"checkpoint: a tensor of shape {read.shape}, which {read.operation} read, was"
                    " modified in place after the checkpointed function ran. Running it again"
                    " would give other values than those that the gradient is about. Use the"
                    " out-of-place form, or call backward before modifying it."
                )
        args, kwargs = self.rebuild(self.leaves)
        now = random_state() if self.random is not None else None
        outer = state.recording, state.levels, state.batches
        state.recording, state.levels, state.batches = True, (), self.batches
        start = next_sequence_number()
        try:
            if self.random is not None:
                set_random_state(self.random)
            nodes = _keeping_values(self.function(*args, **kwargs), start)
        finally:
            state.recording, state.levels, state.batches = outer
            if now is not None:
                set_random_state(now)
        for read in self.reads:
            if read.changed():
                raise InPlaceError(
                    f"checkpoint: the function modifies in place a tensor of shape {read.shape}"
                    f" from outside, which {read.operation} reads, so that it started from other"
                    " values the second time. Let it modify a .clone() of that tensor."
                )
        found = [_outline(n) for n in nodes]
        if found != self.outlines:
            raise CheckpointError(_difference(self.outlines, found))
        self.nodes = list(nodes)


def _snapshot(x: Tensor) -> Tensor:
    """An argument as it is now, whatever becomes of the tensor object: the same memory, place in
    the graph and version counter.
    """
    current_node(x)
    version = None if is_immutable(x.array) else ensure_version(x)
    kept = wrap(x.array, x.node, x.tangents)
    kept.version, kept.view_of = version, x.view_of
    return kept


def _keeping_values(result: Any, start: int) -> list[OpNode]:
    """The nodes made since `start` that lead to the tensors in `result` and keep values, the
    oldest first.
    """
    leaves, _ = flatten(result)
    stack = [
        node
        for x in leaves
        if isinstance(x, Tensor)
        and (node := current_node(x)) is not None
        and node.sequence_number > start
    ]
    reached: set[Node] = set(stack)
    while stack:
        for parent in stack.pop().parents:
            if parent is not None and parent.sequence_number > start and parent not in reached:
                reached.add(parent)
                stack.append(parent)
    keeping = [
        n
        for n in reached
        if isinstance(n, OpNode) and n.plan.keeps_values and (n.saved is not None or n.versions)
    ]
    return sorted(keeping, key=attrgetter("sequence_number"))


def _outline(node: OpNode) -> tuple[Any, ...]:
    return node.primitive.name, node.shape, node.dtype


def _difference(first: list[Any], second: list[Any]) -> str:
    """What a function did otherwise the second time."""
    cure = (
        "It must do the same each time that it runs: take decisions and random numbers from"
        " outside, and keep no state."
    )
    for i, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return (
                f"checkpoint: operation {i} of the function (of those that keep values) was {a[0]}"
                f" with shape {a[1]} and dtype {a[2]} at first, and {b[0]} with shape {b[1]} and"
                f" dtype {b[2]} when it was computed again. {cure}"
            )
    return (
        f"checkpoint: the function ran {len(first)} operations that keep values at first, and"
        f" {len(second)} when computed again. {cure}"
    )


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = False,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), whose saved values are computed again in the reverse pass instead
    of kept.

    args, kwargs: tensors (nested in tuples, lists and dicts or not) and other values.
    preserve_rng_state: random numbers (dropout) are the same the second time. Each reverse pass
    runs the function once more. Values that a user's `Function` saved itself are kept. The function
    must do the same each time, and what it reads must be modified neither by itself nor before the
    reverse pass: that raises InPlaceError there, and another sequence of operations
    CheckpointError. Under `no_grad` this is an ordinary call. use_reentrant exists for PyTorch
    programs; True, PyTorch's old kind, raises ValueError.
    """
    if use_reentrant:
        raise ValueError(
            "checkpoint: there is only the kind that PyTorch calls use_reentrant=False. Leave the"
            " argument out."
        )
    if not callable(function):
        raise TypeError(
            "checkpoint: the first argument must be a function or a module, got"
            f" {type(function).__name__}."
        )
    if not is_grad_enabled():
        return function(*args, **kwargs)
    region = _Region(function, args, kwargs, preserve_rng_state)
    start, reads = next_sequence_number(), _Reads()
    with observers.region(FIRST, region):
        with observers.observing(reads):
            result = function(*args, **kwargs)
        region.take_over(_keeping_values(result, start), reads)
    return result


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = False,
    preserve_rng_state: bool = True,
) -> Any:
    """The functions (a Sequential or a list) one after another, cut into `segments` pieces whose
    lengths differ by at most one, all but the last checkpointed.

    A checkpointed piece keeps its input alone. Of n functions that keep one value each, at most
    segments - 1 + n // segments values are kept at a time. That is least, about 2 √n - 1, for about
    √n segments. Raises ValueError unless 1 ≤ segments ≤ n.
    """
    stages = list(functions)
    if not 1 <= segments <= len(stages):
        raise ValueError(
            "checkpoint_sequential: segments must lie between 1 and the number of functions,"
            f" {len(stages)}; got {segments}."
        )
    size, longer = divmod(len(stages), segments)  # the first pieces have the stages left over

    def piece(number: int) -> Callable[[Any], Any]:
        start = number * size + min(number, longer)
        part = stages[start : start + size + (number < longer)]

        def run(x: Any) -> Any:
            for stage in part:
                x = stage(x)
            return x

        return run

    for number in range(segments - 1):
        input = checkpoint(
            piece(number), input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state
        )
    return piece(segments - 1)(input)
