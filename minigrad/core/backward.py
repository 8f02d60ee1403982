"""Reverse mode: carry cotangents from the outputs back to the inputs.

For y = f(x₁, …, xₙ) with operations vᵢ, the adjoint of a value is v̄ᵢ = Σⱼ v̄ⱼ ∂vⱼ/∂vᵢ over all
operations j that used it. So a value may be processed only when all its users have been: the nodes
are visited from the youngest to the oldest. One loop, no recursion; each node runs once, however
many paths lead to it.

An ordinary pass computes on raw arrays. When the derivative must itself be differentiable
(`create_graph`, or forward mode through the backward pass) the same rules run on tensors: the pass
is then `differentiable`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import attrgetter
from typing import Any

from .. import backend, explain
from ..recursion import deeper_stack
from . import observe, primitive
from .graph import Node, OpNode, Pick, state, youngest_first
from .primitive import OUTPUT
from .tensor import Leaf, Report, Tensor, add_to_grad, give_node, grad_node, wrap

_tangents = attrgetter("tangents")


def backward(
    tensor: Tensor,
    cotangent: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Add the gradient of a tensor with respect to each leaf to the leaf's `.grad`.

    cotangent: of the tensor's shape (None for a tensor of one element: 1); retain_graph: keep the
    saved values for another pass (default: as create_graph); create_graph: record the pass itself.
    """
    root, seed = start(tensor, cotangent, "backward")
    retain_graph = create_graph if retain_graph is None else retain_graph
    differentiate([root], [seed], create_graph=create_graph, retain_graph=retain_graph)


def start(tensor: Tensor, seed: Any, caller: str, number: int = 0) -> tuple[Node, Tensor]:
    """The node from which a pass begins, and its cotangent: the given one, or a one for a real
    tensor of one element. number: the tensor's position among those given, for messages. Raises
    NoGradientError, NonScalarError, ShapeError, TypeError."""
    node = grad_node(tensor)
    if node is None:
        raise explain.no_history(tensor, caller, number)
    if seed is None:
        array = tensor.array
        if math.prod(array.shape) != 1 or array.dtype.kind == "c":
            raise explain.needs_cotangent(tensor, caller, number)
        return node, wrap(backend.ones(array.shape, array.dtype, array))
    explain.check_cotangent(tensor, seed, caller, number)
    if seed.dtype != tensor.dtype:
        seed = primitive.registry["cast"](seed, dtype=tensor.dtype)
    return node, seed


def differentiate(
    roots: Sequence[Node], seeds: Sequence[Tensor], **options: Any
) -> dict[Node, Tensor]:
    """One reverse pass from `roots` with cotangents `seeds`, with the options of `Pass`. Returns
    the cotangents of the targets that were reached."""
    walk = Pass(roots, seeds, **options)
    before = state.recording, state.walk
    state.recording, state.walk = walk.create_graph, walk
    try:
        with backend.ignore_float_errors():
            if before[1] is None:
                walk_graph(walk)
            else:  # a hook or a Function of another pass has called
                with deeper_stack("backward"):
                    walk_graph(walk)
    finally:
        state.recording, state.walk = before
    return walk.captured


@dataclass(eq=False)
class Pass:
    """One reverse pass: what it was asked for, and where it stands.

    targets: nodes whose cotangents are wanted; None means all leaves. Work is done only on paths to
    the targets. accumulate: add the cotangents of leaves (of the targets, if given) to their
    `.grad`. create_graph: record the pass itself. retain_graph: keep the saved values. report: gets
    a (tensor, gradient) pair for each stored gradient, in the order in which they become final.

    order: the nodes, youngest first; needed: those on a path to what is wanted; differentiable:
    whether rules run on tensors; cotangents: what has arrived at each node so far; captured: the
    complete cotangents of the targets.
    """

    roots: Sequence[Node]
    seeds: Sequence[Tensor]
    targets: Collection[Node] | None = None
    accumulate: bool = True
    create_graph: bool = False
    retain_graph: bool = False
    report: Report | None = None
    cotangents: dict[Node, Any] = field(default_factory=dict)
    captured: dict[Node, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order, self.needed = youngest_first(self.roots)
        if self.targets is not None:
            self.targets = set(self.targets)
            self.needed = _leading_to(self.targets, self.order)
        self.differentiable = self.create_graph or any(map(_tangents, (*self.seeds, *self.order)))
        for root, seed in zip(self.roots, self.seeds, strict=True):
            if root in self.needed:
                self.add(root, seed if self.differentiable else seed.array)

    def visit(self, node: Node, g: Any) -> None:
        """A node's cotangent g is complete: hooks see it, targets keep it, leaves store it, and
        operations pull it back to their inputs."""
        if node.hooks or node.retained is not None:
            g = self._show_to_hooks(node, g)
        if self.targets is not None and node in self.targets and self._capture(node, g):
            return
        if isinstance(node, Leaf):
            if self.accumulate and node.stores_grad:
                self._store(node, g)
        elif type(node) is Pick:  # its cotangent takes its place among those of the operation
            slots = self.cotangents.setdefault(node.source, [None] * len(node.source.shape))
            slots[node.index] = g if slots[node.index] is None else slots[node.index] + g
        else:
            for parent, part in self.pull(node, g):
                self.add(parent, part)
            if not self.retain_graph:
                node.release()

    def add(self, parent: Node, part: Any) -> None:
        """Add a contribution to a cotangent. The first one is kept as it is."""
        known = self.cotangents
        known[parent] = known[parent] + part if parent in known else part

    def _capture(self, node: Node, g: Any) -> bool:
        """Keep a target's cotangent. True if the pass need not go on to its inputs."""
        self.captured[node] = g if isinstance(g, Tensor) else wrap(backend.canonical(g))
        if isinstance(node, Leaf) or any(parent in self.needed for parent in node.parents):
            return False
        if self.accumulate and node.has_hooks:  # its rule is not needed, but its hooks are
            self.pull(node, g)
        return True

    def pull(self, node: Any, g: Any) -> list[tuple[Node, Any]]:
        """One operation's contributions to its inputs; observers see the event "backward"."""
        pull: Any = pull_operation if type(node) is OpNode else type(node).pull
        if not observe.observers:
            return pull(node, g, self.needed, self.differentiable)  # type: ignore[no-any-return]
        run = lambda *_: pull(node, g, self.needed, self.differentiable)
        params = node.params if isinstance(node, OpNode) else {}
        parts = observe.run_observed("backward", node.primitive, (g,), params, run, node)
        return parts  # type: ignore[no-any-return]

    def _store(self, leaf: Leaf, g: Any) -> None:
        """Add a complete cotangent to a leaf's `.grad`; observers see the event "leaf"."""
        if not observe.observers:
            return leaf.store(g, self.create_graph, self.report)
        run = lambda *_: leaf.store(g, self.create_graph, self.report)
        observe.run_observed("leaf", leaf, (g,), {}, run, leaf)

    def _show_to_hooks(self, node: Node, g: Any) -> Any:
        """Run the hooks in their order of registration; each may replace the cotangent. Then keep
        it for `retain_grad`."""
        raw = not isinstance(g, Tensor)
        shown = wrap(backend.canonical(g)) if raw else g
        for hook in list((node.hooks or {}).values()):
            replaced = hook(shown)
            if replaced is not None:
                explain.check_replaced(node, shown, replaced)
                shown = replaced
        g = shown.array if raw else shown
        tensor = None if node.retained is None else node.retained()
        if tensor is not None:
            add_to_grad(tensor, g, self.create_graph, self.report)
        return g


def walk_graph(walk: Pass) -> None:
    """Visit the nodes, youngest first. (The fast path puts a longer loop here, which does the same
    for the usual node without a call.)"""
    for node in walk.order:
        if walk.cotangents.get(node) is not None:
            walk.visit(node, walk.cotangents.pop(node))


def _leading_to(wanted: set[Node], order: list[Node]) -> set[Node]:
    """The reached nodes on a path to a wanted one (themselves included)."""
    needed: set[Node] = set()
    for node in reversed(order):
        if node in wanted or any(parent in needed for parent in node.parents):
            needed.add(node)
    return needed


def pull_operation(
    node: OpNode, g: Any, needed: Any, differentiable: bool
) -> list[tuple[Node, Any]]:
    """The vector-Jacobian products of one operation: (parent, contribution) for each parent in
    `needed`."""
    prim, values = node.primitive, node.values()
    if differentiable:
        values = _as_tensors(node, values)
    if prim.outputs != 1:
        g = _fill_missing(node, g, differentiable)
    elif node.dtype.kind == "c" and not prim.conjugates:
        g = primitive.registry["conj"](g)
    parts: list[tuple[Node, Any]] = []
    for index, number, where in node.plan.pulls:
        parent: Any = node.parents[index]
        if parent in needed:
            rule: Any = prim.pulls[number]
            read = [values[k] for k in where]
            c = rule.function(g, *read, **rule.named(node.params, index))
            if differentiable and state.recording:
                c = _depending_on(c, read)
            parts.append((parent, check_contribution(node, index, parent, c)))
    return parts


def _depending_on(c: Any, read: list[Any]) -> Any:
    """The recorded contribution c, with a node if a value that its rule has read has one.

    The rule of a piecewise linear operation only compares such a value: c is constant in it. As in
    PyTorch, c then requires grad, and its derivative with respect to the value is 0.
    """
    able = isinstance(c, Tensor) and c.node is None and backend.is_differentiable(c.dtype)
    for value in read if able else ():
        like = isinstance(value, Tensor) and (value.shape, value.dtype) == (c.shape, c.dtype)
        if like and value.node is not None:
            return primitive.registry["overwrite"](value, c)
    return c


def check_contribution(node: OpNode, index: int, parent: Node, c: Any) -> Any:
    """What a rule gave for an input, summed to the input's shape and in its dtype. Raises
    NotDifferentiableError, ShapeError where that is nothing, or of another shape."""
    if c is not None and node.unbroadcast is not None and node.unbroadcast[index] is not None:
        c = primitive.registry["sum_to"](c, shape=node.unbroadcast[index])
    if getattr(c, "shape", None) != parent.shape:
        raise explain.wrong_contribution(node, index, parent, c)
    if node.primitive.outputs == 1 and node.dtype.kind == "c" and not node.primitive.conjugates:
        c = primitive.registry["conj"](c)  # of a holomorphic rule: conj(rule(conj(g)))
    return c if c.dtype == parent.dtype else primitive.registry["cast"](c, dtype=parent.dtype)


def _as_tensors(node: OpNode, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The saved values with their nodes and tangents, so that rules that run on them are recorded
    in turn."""
    tangents = node.tangents or (None,) * (len(node.parents) + 1)
    out = []
    for position, source in enumerate(node.plan.sources):
        value = values[position]
        if source >= 0 and type(value) not in backend.PYTHON_SCALARS:
            value = wrap(value, node.parents[source], tangents[source])
        elif source == OUTPUT and node.primitive.outputs == 1:
            value = wrap(value, node, tangents[-1])
        elif source == OUTPUT:
            value = tuple(map(wrap, value, repeat(None), tangents[-1] or repeat(None)))
            give_node(node, value)
        if node.saved is not None:
            # (Values that were kept elsewhere, by hooks, have no memory that could be overwritten.)
            counters = [version for where, version, _ in node.versions if where == position]
            for tensor in (value if isinstance(value, tuple) else (value,)) if counters else ():
                if type(tensor.array) not in backend.IMMUTABLE:
                    tensor.version = counters.pop(0)
        out.append(value)
    return tuple(out)


def _fill_missing(node: Any, slots: list[Any], differentiable: bool) -> tuple[Any, ...]:
    """Zeros in place of missing cotangents of an operation with several results."""
    known = next(s for s in slots if s is not None)
    like = known.array if isinstance(known, Tensor) else known
    made: Any = wrap if differentiable else lambda array: array
    zero: Any = lambda shape, dtype: made(backend.zeros(shape, dtype, like))
    each = zip(slots, node.shape, node.dtype, strict=True)
    return tuple([zero(*facts) if slot is None else slot for slot, *facts in each])
