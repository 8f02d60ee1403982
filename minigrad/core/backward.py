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
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from .. import backend, explain
from ..recursion import deeper_stack
from . import observe, primitive
from .graph import Node, OpNode, Pick, state, youngest_first
from .primitive import OUTPUT
from .tensor import Leaf, Tensor, grad_node, make_pick, memory_version, wrap

Report = list[tuple[Tensor, Tensor]]
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
    before = state.recording, state.walk, state.needed
    state.recording, state.walk, state.needed = walk.create_graph, walk.order, walk.needed
    try:
        with backend.ignore_float_errors():
            if before[1] is None:
                walk_graph(walk)
            else:  # a hook or a Function of another pass has called
                with deeper_stack("backward"):
                    walk_graph(walk)
    finally:
        state.recording, state.walk, state.needed = before
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
        dual = any(map(_tangents, self.seeds)) or any(map(_tangents, self.order))
        self.differentiable = self.create_graph or dual
        for root, seed in zip(self.roots, self.seeds, strict=True):
            if root in self.needed:
                g = seed if self.differentiable else seed.array
                self.cotangents[root] = self.cotangents[root] + g if root in self.cotangents else g

    def visit(self, node: Node, g: Any) -> None:
        """A node's cotangent g is complete: hooks see it, targets keep it, leaves store it, and
        operations pull it back to their inputs."""
        if node.hooks or node.retained is not None:
            g = _show_to_hooks(node, g, self.report)
        if self.targets is not None and node in self.targets and self._capture(node, g):
            return
        if isinstance(node, Leaf):
            if self.accumulate and node.stores_grad:
                self._store(node, g)
        elif type(node) is Pick:  # its cotangent takes its place among those of the operation
            slots = self.cotangents.setdefault(node.source, [None] * len(node.source.shape))
            # When the pass is recorded, a rule that reads the result has a Pick of its own.
            slots[node.index] = g if slots[node.index] is None else slots[node.index] + g
        else:
            parts = self.pull(node, g)
            if not self.retain_graph:
                node.release()
            for parent, part in parts:
                self.add(parent, part)

    def add(self, parent: Node, part: Any) -> None:
        """Add a contribution to a cotangent. The first one is kept as it is."""
        if parent in self.cotangents:
            part = self.cotangents[parent] + part
        self.cotangents[parent] = part

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
        store: Any = store_grad if type(leaf) is Leaf else type(leaf).store
        run: Any = lambda *_: store(leaf, g, self.create_graph, self.report)
        if observe.observers:
            observe.run_observed("leaf", leaf, (g,), {}, run, leaf)
        else:
            run()


def walk_graph(walk: Pass) -> None:
    """Visit the nodes, youngest first. (The fast path puts a longer loop here, which does the same
    for the usual node without a call.)"""
    for node in walk.order:
        g = walk.cotangents.pop(node, None)
        if g is not None:
            walk.visit(node, g)


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
    prim = node.primitive
    values = node.values()
    if differentiable:
        values = _as_tensors(node, values)
    flip = False
    if prim.outputs != 1:
        g = _fill_missing(node, g, differentiable)
    elif node.dtype.kind == "c" and not prim.conjugates:
        flip = True  # rules are holomorphic derivatives: the gradient is conj(rule(conj(g)))
        g = primitive.registry["conj"](g)
    parts: list[tuple[Node, Any]] = []
    for index, number, where in node.plan.pulls:
        parent: Any = node.parents[index]
        if parent not in needed:
            continue
        rule: Any = prim.pulls[number]
        read = [values[k] for k in where]
        c = rule.function(g, *read, **rule.named(node.params, index))
        if c is not None:
            if differentiable and state.recording:
                c = _depending_on(c, read)
            if node.unbroadcast is not None and node.unbroadcast[index] is not None:
                c = primitive.registry["sum_to"](c, shape=node.unbroadcast[index])
            if flip:
                c = primitive.registry["conj"](c)
        parts.append((parent, check_contribution(node, index, parent, c)))
    return parts


def _depending_on(c: Any, read: list[Any]) -> Any:
    """The recorded contribution c, with a node if a value that its rule has read has one.

    The rule of a piecewise linear operation only compares such a value: c is constant in it. As in
    PyTorch, c then requires grad, and its derivative with respect to the value is 0.
    """
    if not isinstance(c, Tensor) or c.node is not None or not backend.is_differentiable(c.dtype):
        return c
    for value in read:
        like = isinstance(value, Tensor) and (value.shape, value.dtype) == (c.shape, c.dtype)
        if like and value.node is not None:
            return primitive.registry["overwrite"](value, c)
    return c


def check_contribution(node: OpNode, index: int, parent: Node, c: Any) -> Any:
    """A contribution in the dtype of the input it belongs to. Raises NotDifferentiableError,
    ShapeError where a rule returned none, or one of another shape."""
    if getattr(c, "shape", None) != parent.shape:
        raise explain.wrong_contribution(node, index, parent, c)
    if c.dtype is not parent.dtype and c.dtype != parent.dtype:
        return primitive.registry["cast"](c, dtype=parent.dtype)
    return c


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
            value = _result_tensors(node, value, tangents[-1])
        if node.saved is not None:
            # (Values that were kept elsewhere, by hooks, have no memory that could be overwritten.)
            counters = [version for where, version, _ in node.versions if where == position]
            for tensor in (value if isinstance(value, tuple) else (value,)) if counters else ():
                if type(tensor.array) not in backend.IMMUTABLE:
                    tensor.version = counters.pop(0)
        out.append(value)
    return tuple(out)


def _result_tensors(node: OpNode, values: tuple[Any, ...], tangents: Any) -> tuple[Tensor, ...]:
    tangents = tangents or (None,) * len(values)
    made = tuple(wrap(v, None, t) for v, t in zip(values, tangents, strict=True))
    for index, (out, has_rule) in enumerate(zip(made, node.primitive.differentiable, strict=True)):
        if has_rule and backend.is_differentiable(out.array.dtype):
            out.node = make_pick(node, index)
    return made


def _fill_missing(node: Any, slots: list[Any], differentiable: bool) -> tuple[Any, ...]:
    """Zeros in place of missing cotangents of an operation with several results."""
    known = next(s for s in slots if s is not None)
    like = known.array if isinstance(known, Tensor) else known
    filled = []
    for slot, shape, dtype in zip(slots, node.shape, node.dtype, strict=True):
        if slot is None:
            zero = backend.zeros(shape, dtype, like)
            slot = wrap(zero) if differentiable else zero
        filled.append(slot)
    return tuple(filled)


def _show_to_hooks(node: Node, g: Any, report: Report | None) -> Any:
    """Run the hooks in their order of registration; each may replace the cotangent. Then keep it
    for `retain_grad`."""
    raw = not isinstance(g, Tensor)
    shown = wrap(backend.canonical(g)) if raw else g
    for hook in list((node.hooks or {}).values()):
        replaced = hook(shown)
        if replaced is not None:
            explain.check_replaced(node, shown, replaced)
            shown = replaced
    tensor = None if node.retained is None else node.retained()
    if tensor is not None:
        if raw:
            kept = wrap(_in_own_memory(shown.array, tensor, False))
        else:
            kept = primitive.registry["clone"](shown)
        tensor.stored_grad = kept if tensor.stored_grad is None else tensor.stored_grad + kept
        if report is not None:
            report.append((tensor, kept))
    return shown.array if raw else shown


_storing = threading.RLock()
"""Two threads may walk different graphs of the same parameters at once: sums into `.grad` take
turns. (An observer of such a sum may start a backward pass of its own.)"""


def store_grad(
    leaf: Leaf, g: Any, create_graph: bool, report: Report | None, owned: bool = False
) -> None:
    """Add a complete cotangent to the leaf's `.grad`, which never shares memory with anything
    else. owned: whether g is memory that nothing else refers to."""
    tensor = leaf.variable
    if tensor.node is None:
        return  # requires_grad was switched off since
    with _storing:
        old = tensor.stored_grad
        if old is not None and old.array.shape != g.shape:
            raise explain.old_gradient(g, old)
        if isinstance(g, Tensor) and (create_graph or g.tangents):
            added = primitive.registry["clone"](g)
            tensor.stored_grad = added if old is None else old + added
        else:
            array = backend.canonical(g.array if isinstance(g, Tensor) else g)
            if report is not None:
                added = wrap(_in_own_memory(array, tensor, False))
            if old is None:
                tensor.stored_grad = wrap(_in_own_memory(array, tensor, owned))
            else:
                _add_in_place(tensor, old, array)
        if report is not None:
            report.append((tensor, added))


def _in_own_memory(array: Any, tensor: Tensor, owned: bool) -> Any:
    """A gradient laid out as its tensor is, in memory that nothing else refers to."""
    if backend.is_immutable(array) or (owned and backend.has_strides_of(array, tensor.array)):
        return array
    return backend.copy_with_strides_of(array, tensor.array)


def _add_in_place(tensor: Tensor, old: Tensor, array: Any) -> None:
    """`.grad += array`, in the memory of `.grad` where that can be written to."""
    if backend.is_immutable(old.array):
        old.array = old.array + array
        return
    version = memory_version(old)
    try:
        old.array += array
        version.count += 1
    except ValueError:  # the user put something there that may only be read, an expanded tensor
        tensor.stored_grad = wrap(old.array + array)
