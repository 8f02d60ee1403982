"""The graph that a computation leaves behind, and what its nodes keep for the backward pass.

Each differentiable result has exactly one `Node`. Nodes point to the nodes of their inputs (never
to tensors), so values that no rule asked for die as soon as the program drops them. There is no
reference from inputs to results and no cycle: memory returns by reference counting alone. (One
exception: in forward mode a node keeps the tangents that its rules may read, and the tangent of its
result may have been computed from the result.) A node gets its sequence number after everything it
was made from, so **sorting nodes by sequence number, largest first, is a topological order**.

An operation with several results is one `OpNode` whose results are `Pick` nodes, one each. The node
of a tensor that the user made is a `Leaf` (tensor.py).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from .. import explain
from ..backend import DType, Shape
from ..errors import GraphFreedError
from .primitive import Plan, Primitive

_by_age = attrgetter("sequence_number")
next_sequence_number = count(1).__next__
"""A running number, one count for all threads."""


Parents = Sequence["Node | None"]
"""The nodes of an operation's inputs, None for those that need no gradient."""


class State(threading.local):
    """The switches of one thread.

    recording: whether operations are recorded for reverse mode; levels: the numbers of the open
    levels of forward mode, the outermost first; batches: the axes of the vmaps that are running;
    walk: the nodes of the reverse pass under way, or None; needed: those of them on a path to what
    is wanted.
    """

    recording = True
    levels: tuple[int, ...] = ()
    batches: tuple[Any, ...] = ()
    walk: Any = None
    needed: Any = None


state = State()


class Version:
    """How often a piece of memory was overwritten. All tensors that share the memory share the
    counter."""

    __slots__ = ("count",)

    count: int


class Node:
    """A differentiable value's place in the graph.

    sequence_number: orders nodes by age; parents: the inputs' nodes, None for inputs that need no
    gradient; shape, dtype: of the value (tuples of them for a node of several results);
    hooks: functions that see (and may replace) the value's complete cotangent, or None;
    retained: weak reference to the tensor that wants the cotangent as its `.grad`, or None;
    tangents: those of the values that it keeps, where forward mode was on (None for nodes that keep
    nothing); picks: of a node of several results, weak references to the nodes of the results;
    extras: what few nodes have, such as PyTorch's hooks on nodes (autograd/node_hooks.py). Both are
    unset until they are asked for.

    Subclasses other than OpNode, Pick and Leaf bring their own rule: `pull(g, needed,
    differentiable)` returns (parent, contribution) for each parent in `needed`, as
    `backward.pull_operation` does.
    """

    __slots__ = (
        "__weakref__",
        "dtype",
        "extras",
        "hooks",
        "parents",
        "picks",
        "retained",
        "sequence_number",
        "shape",
    )

    sequence_number: int
    parents: tuple[Node | None, ...]
    shape: Shape
    dtype: DType
    hooks: dict[int, Callable[[Any], Any]] | None
    retained: weakref.ref[Any] | None
    extras: Any
    picks: dict[int, weakref.ref[Any]]
    tangents: Any = None
    gives_fresh = False  # whether its rule gives arrays that nothing else refers to
    has_hooks = False  # whether hooks run before or after its rule: subclasses say so
    has_post_hooks = False  # whether hooks wait for a leaf's gradient to be stored

    if TYPE_CHECKING:  # what subclasses and autograd/node_hooks.py bring
        pull: Any
        release: Any
        store: Any

        def __getattr__(self, name: str) -> Any: ...

    def name(self) -> str:
        """The node's name, such as SinBackward0."""
        raise TypeError("a bare Node has no name.")

    def __repr__(self) -> str:
        return f"<{self.name()}>"


class OpNode(Node):
    """The node of a primitive operation's result.

    saved: the values that the rules name (arrays, shapes), or None once they are freed;
    versions: (position among the saved values, counter, number at the time of saving) for each
    saved array that can be overwritten; unbroadcast: for each input the shape to which its
    contribution must be summed, or None where nothing was broadcast;
    tangents: the tangents of the inputs by level and, last, the output's, where forward mode was
    on.
    """

    __slots__ = ("params", "plan", "primitive", "saved", "tangents", "unbroadcast", "versions")

    primitive: Primitive
    params: dict[str, Any]
    plan: Plan
    saved: tuple[Any, ...] | None
    versions: tuple[tuple[int, Version, int], ...]
    unbroadcast: tuple[Shape | None, ...] | None
    tangents: tuple[Any, ...] | None

    def name(self) -> str:
        """The operation's `graph_name`, where PyTorch has another name than ours for it."""
        found = self.primitive.graph_name
        if found is None:
            return self.primitive.name.title().replace("_", "") + "Backward0"
        return found if isinstance(found, str) else found(self)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    def values(self) -> tuple[Any, ...]:
        """The saved values, after checking that they are still there and were not overwritten.
        Raises GraphFreedError, InPlaceError."""
        saved = self.saved
        if saved is None:
            raise GraphFreedError(
                f"a backward pass has already gone through the graph of {self.primitive.name} and "
                "freed its saved values. To go through the same graph twice, call "
                "backward(retain_graph=True) (or autograd.grad(..., retain_graph=True)) the first "
                "time; if you accumulate over a loop, make sure that each round builds its own "
                "graph."
            )
        for position, version, number in self.versions:
            if version.count != number:
                raise explain.overwritten(self, position, version, number)
        return saved

    def release(self) -> None:
        """Free the saved values (a node that keeps only shapes can be walked again)."""
        if self.plan.keeps_values:
            self.saved = self.tangents = None
            self.versions = ()


class Pick(Node):
    """One of the results of an operation with several."""

    __slots__ = ("index",)

    index: int

    @property
    def source(self) -> Node:
        """The node of the operation."""
        node = self.parents[0]
        assert node is not None
        return node

    def name(self) -> str:
        return self.source.name()


def youngest_first(roots: Iterable[Node]) -> tuple[list[Node], set[Node]]:
    """All nodes from which `roots` were computed, in the order of a reverse pass (each after all
    that were computed from it), and as a set. A loop, not a recursion: graphs are millions deep."""
    reached = set(roots)
    order = list(reached)
    for node in order:  # which grows meanwhile
        for parent in node.parents:
            if parent is not None and parent not in reached:
                reached.add(parent)
                order.append(parent)
    order.sort(key=_by_age, reverse=True)
    return order, reached
