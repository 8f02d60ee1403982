"""The graph that a computation leaves behind, and what its nodes keep for the way back.

Each differentiable result has exactly one `Node`. Nodes point to the nodes of their inputs (never to tensors), so values that no rule
asked for die as soon as the program drops them. There is no reference from inputs to results and no cycle: memory returns by reference
counting alone. A node is born after everything it was made from; **sorting nodes by `born`, youngest first, is a topological order**.

An operation with several results is one `OpNode` whose results are `Pick` nodes, one each.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from itertools import count
from operator import attrgetter
from typing import Any, NamedTuple

from .backend import IMMUTABLE, DType, Shape
from .errors import GraphFreedError, InPlaceError
from .primitive import Plan, Primitive

next_birth = count(1).__next__
"""A running number, the same for all threads."""


class Version:
    """How often a piece of memory was overwritten. All tensors that share the memory share the counter."""

    __slots__ = ("count",)

    count: int


class Node:
    """A differentiable value's place in the graph.

    born: running number; parents: the inputs' nodes, None for inputs that need no gradient; shape, dtype: of the value;
    hooks: functions that see (and may replace) the value's complete cotangent, or None; retained: weak reference to the tensor that
    wants the cotangent as its `.grad`, or None; tangents: those of the values that it keeps, where forward mode was on (None for nodes
    that keep nothing); _notes: what few nodes have, and no node until it is asked for.
    """

    __slots__ = ("__weakref__", "_notes", "born", "dtype", "hooks", "parents", "retained", "shape")

    born: int
    parents: tuple[Node | None, ...]
    shape: Shape
    dtype: DType
    hooks: dict[int, Callable[[Any], Any]] | None
    retained: weakref.ref[Any] | None
    _notes: Notes | None
    tangents: Any = None
    # whether its rule gives arrays that nothing else refers to, which may be added to in place
    gives_fresh = False
    has_hooks = False  # whether hooks stand around its rule: a matter of the class, see engine/around.py

    @property
    def awaited(self) -> bool:
        """Whether hooks wait for the gradient to be stored, which only that of a leaf is."""
        return False

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The parents as (node, output index) pairs, as PyTorch shows them."""
        return tuple((p.parents[0], p.index) if isinstance(p, Pick) else (p, 0) for p in self.parents)

    def name(self) -> str:
        """The node's name, such as SinBackward0."""
        raise TypeError("a bare Node has no name.")

    def register_tensor_hook(self, hook: Callable[[Any], Any]) -> HookHandle:
        """Call `hook(cotangent)` when this value's cotangent is complete; a returned tensor replaces it. (`Tensor.register_hook`.)"""
        if self.hooks is None:
            self.hooks = {}
        return HookHandle(self.hooks, hook)

    def register_prehook(self, hook: Callable[[Any], Any]) -> HookHandle:
        """Call `hook(grad_outputs)` before a reverse pass runs this node's rule.

        grad_outputs: a tuple with the cotangent of each of the operation's results (None where there is none). A returned tuple replaces
        it. Hooks of the results themselves (`Tensor.register_hook`) have run by then. Returns a handle with `.remove()`.
        """
        return HookHandle(_watched(self).before, hook)

    def register_hook(self, hook: Callable[[Any, Any], Any]) -> HookHandle:
        """Call `hook(grad_inputs, grad_outputs)` after a reverse pass has run this node's rule.

        grad_inputs: a tuple with what the rule gave for each input, in the order of `next_functions` (None where nothing was wanted; empty
        for a leaf); grad_outputs: what it was given. A returned tuple replaces grad_inputs. Returns a handle with `.remove()`.
        """
        return HookHandle(_watched(self).after, hook)

    def __call__(self, *grad_outputs: Any) -> Any:
        """Run the rule of this node alone: a cotangent for each of the operation's results (or None) to one for each input (or None).

        One input: a Tensor, not a tuple. A leaf adds its cotangent to `.grad` and returns (). What is computed is recorded, if recording is
        on. Raises TypeError for another number of cotangents.
        """
        return _run_alone(self, grad_outputs)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes about this node, which lives as long as the node does."""
        return notes_of(self).metadata

    @property
    def _input_metadata(self) -> tuple[ResultFacts, ...]:
        """What is known of each of the operation's results, whose cotangents come in here."""
        several = isinstance(self.shape, tuple) and any(not isinstance(n, int) for n in self.shape)
        return tuple(map(ResultFacts, self.shape, self.dtype)) if several else (ResultFacts(self.shape, self.dtype),)  # type: ignore[call-overload]

    def _sequence_nr(self) -> int:
        """The running number by which the reverse pass orders nodes: the younger, the sooner."""
        return self.born

    def __repr__(self) -> str:
        return f"<{self.name()}>"

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        raise TypeError("a graph cannot be copied. Copy a detached tensor instead: x.detach().clone().")

    def __reduce__(self) -> Any:
        raise TypeError("a graph cannot be pickled. Save a detached tensor instead: x.detach().")


class ResultFacts(NamedTuple):
    """Shape and dtype of an operation's result (None for one without a derivative)."""

    shape: Shape
    dtype: DType


class Notes:
    """What few nodes have.

    before, after: the hooks that see all cotangents of an operation before and after its rule runs; metadata: the user's own; first: of a
    leaf, whether it had no `.grad` before the sum under way.
    """

    __slots__ = ("after", "before", "first", "metadata")

    def __init__(self) -> None:
        self.before: dict[int, Callable[..., Any]] = {}
        self.after: dict[int, Callable[..., Any]] = {}
        self.metadata: dict[Any, Any] = {}
        self.first = False


def notes_of(node: Node) -> Notes:
    """A node's notes, made on first use."""
    notes = getattr(node, "_notes", None)
    if notes is None:
        notes = node._notes = Notes()
    return notes


def _watched(node: Node) -> Notes:
    """The notes of a node whose hooks are to be called from now on; engine/around.py puts the real one here."""
    raise RuntimeError("minigrad.engine must be imported first.")


def _run_alone(node: Node, grad_outputs: tuple[Any, ...]) -> Any:
    """A node's rule on its own; engine/around.py puts the real one here."""
    raise RuntimeError("minigrad.engine must be imported first.")


class HookHandle:
    """Removes a hook again; removing twice is harmless. Usable as a context manager."""

    _numbers = count()

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self.id = next(HookHandle._numbers)
        self._hooks = hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        """Remove this hook and no other."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class OpNode(Node):
    """The node of a primitive operation's result.

    saved: the values that the rules name (arrays, shapes); versions: (counter, number at the time of saving) for each saved array that can
    be overwritten; unbroadcast: for each input the shape to which its contribution must be summed, or None where nothing was broadcast;
    tangents: the saved values' tangents, where forward mode was on.
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
        name = self.primitive.name
        found = _NAMES.get(name) or "".join(part.capitalize() for part in name.split("_")) + "Backward0"
        return found if isinstance(found, str) else found(self)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    def values(self) -> tuple[Any, ...]:
        """The saved values, after checking that they are still there and were not overwritten."""
        if self.saved is None:
            raise GraphFreedError(
                f"the graph of {self.primitive.name} was walked backward before and its saved values are gone. "
                "To go through the same graph twice, call backward(retain_graph=True) (or autograd.grad(..., retain_graph=True)) the "
                "first time; "
                "if you accumulate over a loop, make sure that each round builds its own graph."
            )
        for position, version, number in self.versions:
            if version.count != number:
                self._complain(position, version, number)
        return self.saved

    def _complain(self, position: int, version: Version, number: int) -> None:
        source = self.plan.sources[position]
        names = ("inputs",) if self.primitive.variadic else self.primitive.inputs
        what = "its output" if source < 0 else f"its input {source}" if self.primitive.variadic else f'its input "{names[source]}"'
        array = self.saved[position] if self.saved is not None else None
        if isinstance(array, tuple):  # several results, of which those that can be overwritten have a counter each
            counters = [v for at, v, _ in self.versions if at == position]
            array = [a for a in array if type(a) not in IMMUTABLE][counters.index(version)]
        raise InPlaceError(
            f"the backward rule of {self.primitive.name} needs {what} (shape {tuple(getattr(array, 'shape', ()))}, dtype "
            f"{getattr(array, 'dtype', '?')}) as it was at version {number}, but it was modified in place since and is at version "
            f"{version.count}. "
            "Use the out-of-place form of the operation that modified it (x = x * 2 instead of x.mul_(2) or x *= 2), or modify a .clone()."
        )

    def release(self) -> None:
        """Let the saved values go (a node that keeps only shapes can be walked again)."""
        if not self.plan.keeps_values:
            return
        self.saved = None
        self.tangents = None
        self.versions = ()


def _reduced(name: str) -> Callable[[OpNode], str]:
    """PyTorch has two functions for a sum, and so on: over everything, and over some of the axes."""

    def named(node: OpNode) -> str:
        axes, (parent, *_) = node.params.get("axes", (node.params.get("axis"),)), node.parents
        some = parent is not None and axes != (None,) and len(axes) < len(parent.shape)
        return f"{name}Backward{int(some)}"

    return named


def _read(node: OpNode) -> str:
    """x[0] selects, x[1:] slices, x[None] adds an axis: an index does so from left to right, and its last part is the last function."""
    index = node.params["index"]
    parts = [part for part in (index if isinstance(index, tuple) else (index,)) if part is not Ellipsis and part != slice(None)]
    last = parts[-1] if parts else slice(None)
    return f"{'Slice' if isinstance(last, slice) else 'Unsqueeze' if last is None else 'Select'}Backward0"


_NAMES: dict[str, str | Callable[[OpNode], str]] = {
    "affine": "AddmmBackward0", "broadcast_to": "ExpandBackward0", "cast": "ToCopyBackward0", "clamp": "ClampBackward1",
    "convolve": "ConvolutionBackward0", "det": "LinalgDetBackward0", "getitem": "IndexBackward0", "inv": "LinalgInvExBackward0",
    "log1p": "Log1PBackward0", "matmul": lambda node: f"{('Dot', 'Mv', 'Mm', 'Bmm')[min(len(node.shape), 3)]}Backward0",
    "mean": _reduced("Mean"), "pad_axis": "ConstantPadNdBackward0", "pow_tensor": "PowBackward1", "prod": _reduced("Prod"),
    "reshape": "ViewBackward0", "square": "PowBackward0", "sum": _reduced("Sum"), "window": _read,
}  # fmt: skip
"""What PyTorch calls the nodes of operations that have another name, or several names, there."""


class Pick(Node):
    """One of the results of an operation with several."""

    __slots__ = ("index",)

    index: int

    def name(self) -> str:
        assert self.parents[0] is not None
        return self.parents[0].name()

    @property
    def metadata(self) -> dict[Any, Any]:
        """The operation's."""
        assert self.parents[0] is not None
        return self.parents[0].metadata

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """A pick is transparent: these are the parents of the operation."""
        assert self.parents[0] is not None
        return self.parents[0].next_functions


class Leaf(Node):
    """The place of a tensor that the user made and whose gradient is wanted. It refers to the tensor weakly; the tensor owns it.

    stores_grad: whether a backward pass puts the gradient into `.grad`; after: hooks to run when it has; array, version: the tensor's
    memory and its counter (None for a bare number), should a tensor have to be made anew.
    """

    __slots__ = ("after", "array", "stores_grad", "tensor", "version")

    def __init__(self, tensor: Any, stores_grad: bool = True) -> None:
        self.born, self.parents, self.hooks, self.retained = next_birth(), (), None, None
        self.array, self.shape, self.dtype = tensor.array, tensor.array.shape, tensor.array.dtype
        self.tensor: weakref.ref[Any] = weakref.ref(tensor)
        self.version: Version | None = tensor.version
        self.stores_grad, self._notes = stores_grad, None
        self.after: dict[int, Callable[[Any], Any]] | None = None

    def name(self) -> str:
        return "AccumulateGrad"

    @property
    def awaited(self) -> bool:
        """Whether hooks wait for the gradient to be stored: the tensor's or the node's."""
        notes = self._notes
        return bool(self.after or (notes is not None and (notes.before or notes.after)))

    @property
    def variable(self) -> Any:
        """The leaf tensor (made anew if the program dropped it)."""
        tensor = self.tensor()
        return tensor if tensor is not None else _revive(self)

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


class GradientEdge(NamedTuple):
    """A value's place in the graph: result number `output_nr` of `node`. `autograd.grad` and `backward` take one in a tensor's place.

    ownership_token: keeps alive what the place needs besides its node.
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def _revive(leaf: Leaf) -> Any:
    """A tensor for a leaf whose own tensor is gone; tensor.py puts the real one here."""
    raise RuntimeError("minigrad.tensor must be imported first.")


def reached_from(roots: list[Node]) -> set[Node]:
    """All nodes from which `roots` were computed, themselves included. A loop, not a recursion: graphs are millions deep."""
    reached = set(roots)
    stack = list(reached)
    while stack:
        for parent in stack.pop().parents:
            if parent is not None and parent not in reached:
                reached.add(parent)
                stack.append(parent)
    return reached


def youngest_first(roots: Iterable[Node]) -> tuple[list[Node], set[Node]]:
    """The same nodes in the order of a reverse pass, each after all that were computed from it, and as a set."""
    reached = set(roots)
    order = list(reached)
    for node in order:  # which grows meanwhile
        for parent in node.parents:
            if parent is not None and parent not in reached:
                reached.add(parent)
                order.append(parent)
    order.sort(key=_birth, reverse=True)
    return order, reached


_birth = attrgetter("born")
