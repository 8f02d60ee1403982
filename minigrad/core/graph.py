"""The graph that a computation leaves behind, and what its nodes keep for the backward pass.

Each recorded differentiable result has a `Node`. A node refers to its inputs' nodes, to the arrays
that its rules need, and to tensors only weakly, so other values are freed as soon as the program
drops them. No input refers to a result, so reference counting alone frees the memory (in forward
mode once the level has ended: the node of y = exp(x) keeps the tangent of y, which refers to it).
Nodes are numbered as they are made, so a node has a larger number than the nodes of its inputs:
**nodes in the order of their sequence numbers, largest first, are in topological order**.

An operation with several results is one `OpNode` whose results are `Pick` nodes, one each. A tensor
whose `requires_grad` the user set has a `Leaf` (tensor.py).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from .. import explain
from ..backend import Shape
from .primitive import Plan, Primitive

next_sequence_number = count(1).__next__
"""The next sequence number: 1, 2, 3, …, counted over all threads."""

Parents = Sequence["Node | None"]
"""The nodes of an operation's inputs, None for inputs that need no gradient."""


class State(threading.local):
    """The switches of one thread.

    recording: whether operations are recorded for reverse mode (`mg.no_grad()` and inference mode,
    grad_mode.py, set it to False); levels: the open levels of forward mode, the outermost first;
    batches: the axes of the vmaps that are running (for batching/); running_pass: a Pass, or None.
    """

    recording = True
    levels: tuple[int, ...] = ()
    batches: tuple[Any, ...] = ()
    running_pass: Any = None


state = State()


@dataclass(eq=False, slots=True)
class Version:
    """How often a piece of memory was overwritten: one counter for all tensors that share it."""

    count: int = 0


@dataclass(eq=False, repr=False, slots=True, weakref_slot=True, kw_only=True)
class Node:
    """A differentiable value's place in the graph. Subclasses have a `name()`, as "SinBackward0".

    parents: the inputs' nodes, None for inputs that need no gradient.
    shape, dtype: of the value (tuples of them for a node of several results).
    sequence_number: orders nodes by age.
    hooks: functions that see, and may replace, the value's complete cotangent, or None.
    retained: weak reference to the tensor that `retain_grad` was called on, which gets the
    cotangent as its `.grad`, or None.
    saved_tangents: for each saved value its tangents by level, or None if no value has any.
    picks: of a node of several results, weak references to the nodes of the results; extras:
    attributes that few nodes need, such as PyTorch's hooks on nodes (autograd/node_hooks.py). Both
    are set on first use only, since almost no node needs them.

    backward.py handles OpNode, Pick and Leaf. Other subclasses (a user's Function, say) bring a
    `primitive`, which observers are shown, and a rule of their own: `pull(g, needed, on_tensors)`
    returns (parent, contribution) for each parent in `needed`, as `backward.pull_operation` does,
    and `release()` frees the saved values. There are two kinds of hook: `hooks` are those on the
    value; one on the node gives the node another class, whose `pull` (for a leaf, `store`) calls
    it. So `type(node) is OpNode` means the ordinary rule, `isinstance` only the attributes.
    """

    parents: tuple[Node | None, ...] = ()
    shape: Shape = ()
    dtype: Any = None
    sequence_number: int = field(default_factory=next_sequence_number)
    hooks: dict[int, Callable[[Any], Any]] | None = None
    retained: weakref.ref[Any] | None = None
    saved_tangents: Any = None
    picks: dict[int, weakref.ref[Any]] = field(init=False)
    extras: Any = field(init=False)
    calls_hooks = False  # True in subclasses that call hooks before or after the rule
    calls_post_hooks = False  # True in those that call hooks after a leaf's gradient was stored

    if TYPE_CHECKING:  # defined in subclasses and in autograd/node_hooks.py
        pull: ClassVar[Any]
        release: ClassVar[Any]

        def __getattr__(self, name: str) -> Any: ...

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


@dataclass(eq=False, repr=False, slots=True, kw_only=True)
class OpNode(Node):
    """The node of a primitive operation's result.

    saved: the values that the rules name (arrays, shapes), or None once they are freed;
    versions: (position among the saved values, counter, count when it was saved) for each saved
    array that can be overwritten (a scalar payload cannot: a write replaces it); unbroadcast: for
    each input that was broadcast the shape to which its contribution must be summed, None for
    others (None alone if there is no such input).
    """

    primitive: Primitive
    params: dict[str, Any]
    plan: Plan
    saved: tuple[Any, ...] | None = None
    versions: tuple[tuple[int, Version, int], ...] = ()
    unbroadcast: tuple[Shape | None, ...] | None = None

    def name(self) -> str:
        return self.primitive.node_name(self)

    def values(self) -> tuple[Any, ...]:
        """The saved values. Raises GraphFreedError (freed), InPlaceError (one was overwritten)."""
        if self.saved is None:
            raise explain.freed(self)
        for position, version, number in self.versions:
            if version.count != number:
                raise explain.overwritten(self, position, version, number)
        return self.saved

    def release(self) -> None:
        """Free the saved values (a node that saves only shapes can be pulled again)."""
        if self.plan.keeps_values:
            self.saved, self.saved_tangents, self.versions = None, None, ()


@dataclass(eq=False, repr=False, slots=True, kw_only=True)
class Pick(Node):
    """One of the results of an operation with several."""

    index: int

    @property
    def operation(self) -> Node:
        """The node of the operation."""
        return self.parents[0]  # type: ignore[return-value]

    def name(self) -> str:
        return str(self.operation.name())


def youngest_first(roots: Iterable[Node]) -> tuple[list[Node], set[Node]]:
    """The roots and all nodes they were computed from, as a list in the order of a pass and as a
    set. A loop and no recursion: a graph may be millions of nodes deep."""
    order = list(reached := set(roots))
    for node in order:  # which the loop extends
        for parent in node.parents:
            if parent is not None and parent not in reached:
                reached.add(parent)
                order.append(parent)
    order.sort(key=attrgetter("sequence_number"), reverse=True)
    return order, reached
