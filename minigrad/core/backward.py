"""Reverse mode: carry cotangents from the outputs back to the inputs.

Let y = f(x₁, …, xₙ) be computed by operations with results vᵢ. The cotangent of a value is
v̄ᵢ = Σⱼ v̄ⱼ ∂vⱼ/∂vᵢ over all operations j that used it, so it is complete when all these have been
visited. Therefore the nodes are visited from the youngest to the oldest: one loop, no recursion,
each node once, however many paths lead to it. (Freeing a long graph needs no deep recursion either:
CPython defers nested deallocations.)

An ordinary pass computes on raw arrays. If the derivative must itself be differentiable, the same
rules run on tensors: with `create_graph` they are recorded like any operations, and a second pass
can go through the first; where there are tangents, forward mode goes through the pass.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Any

from .. import backend, explain
from ..recursion import deeper_stack
from . import observe, primitive
from .graph import Node, OpNode, Pick, Version, state, youngest_first
from .primitive import OUTPUT, is_value
from .tensor import Gradients, Leaf, Tensor, add_to_grad, current_node, give_node, wrap

_OWN_RULES = frozenset((OpNode, Pick, Leaf))
"""The classes whose pull calls no function of the user (if the node has no hooks)."""


def backward(
    tensor: Tensor,
    cotangent: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Add the gradient of a tensor with respect to each leaf to that leaf's `.grad`.

    cotangent: of the tensor's shape (None for a tensor of one element: 1); retain_graph: keep the
    saved values for another pass (default: as create_graph); create_graph: record the pass itself.
    """
    root, seed = root_and_seed(tensor, cotangent, "backward")
    retain_graph = create_graph if retain_graph is None else retain_graph
    differentiate([root], [seed], create_graph=create_graph, retain_graph=retain_graph)


def root_and_seed(tensor: Tensor, seed: Any, caller: str, number: int = 0) -> tuple[Node, Tensor]:
    """The node from which a pass begins, and its cotangent: the given one, or a one for a real
    tensor of one element. number: the tensor's position among those given, for messages. Raises
    NoGradientError, NonScalarError, ShapeError, TypeError."""
    node = current_node(tensor)
    if node is None:
        raise explain.no_history(tensor, caller, number)
    if seed is None:
        if math.prod(tensor.array.shape) != 1 or tensor.array.dtype.kind == "c":
            raise explain.needs_cotangent(tensor, caller, number)
        return node, wrap(backend.ones(tensor.array.shape, tensor.array.dtype, tensor.array))
    explain.check_cotangent(tensor, seed, caller, number)
    if seed.dtype != tensor.dtype:
        seed = primitive.registry["cast"](seed, dtype=tensor.dtype)
    return node, seed


def differentiate(
    roots: Sequence[Node], seeds: Sequence[Tensor], **options: Any
) -> dict[Node, Tensor]:
    """One pass (options: those of `Pass`). Returns the cotangents of the targets it has reached."""
    recording, outer = state.recording, state.running_pass
    state.recording = options.get("create_graph", False)  # before Pass, which may sum seeds
    try:
        graph_pass = state.running_pass = Pass(roots, seeds, **options)
        with backend.ignore_float_errors():
            if outer is None:
                run_pass(graph_pass)
            else:  # called by a hook or a Function within another pass
                with deeper_stack("backward"):
                    run_pass(graph_pass)
    finally:
        state.recording, state.running_pass = recording, outer
    return graph_pass.captured


@dataclass(eq=False)
class Pass:
    """One backward pass: its options and its state.

    roots, seeds: the nodes where it begins, and their cotangents. targets: nodes whose cotangents
    are wanted; None means all leaves. Only nodes on paths to the targets are visited. accumulate:
    add the cotangents of leaves (of targets that are leaves, if targets are given) to their
    `.grad`; `retain_grad` adds in any case. create_graph: record the pass itself. retain_graph:
    keep the saved values. stored: gets a (tensor, gradient) pair for each stored gradient.

    Its state: order, the nodes, youngest first; needed, those on a path to a target; on_tensors,
    whether rules run on tensors: with create_graph, or if cotangents may have tangents, namely from
    a seed, a saved value, or a user's function (a hook, say) while a level is open; cotangents, the
    sum of the contributions that have arrived at each node; captured, the complete cotangents of
    the targets.
    """

    roots: Sequence[Node]
    seeds: Sequence[Tensor]
    targets: Collection[Node] | None = None
    accumulate: bool = True
    create_graph: bool = False
    retain_graph: bool = False
    stored: Gradients | None = None
    cotangents: dict[Node, Any] = field(default_factory=dict)
    captured: dict[Node, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order, self.needed = youngest_first(self.roots)
        if self.targets is not None:
            self.targets = set(self.targets)
            self.needed = _leading_to(self.targets, self.order)
        self.on_tensors = self.create_graph or any([seed.tangents for seed in self.seeds])
        if state.levels and not self.on_tensors:
            users = [node.hooks or type(node) not in _OWN_RULES for node in self.order]
            self.on_tensors = any(users) or any([node.saved_tangents for node in self.order])
        for root, seed in zip(self.roots, self.seeds, strict=True):
            if root in self.needed:
                self.add(root, seed if self.on_tensors else seed.array)

    def visit(self, node: Node, g: Any) -> None:
        """Handle a node's complete cotangent g: hooks see it, a target's is captured, a leaf's is
        stored, an operation's is pulled back to its inputs."""
        if node.hooks or node.retained is not None:
            g = self._show_to_hooks(node, g)
        if self.targets is not None and node in self.targets:
            self.captured[node] = g if isinstance(g, Tensor) else wrap(backend.canonical(g))
            inputs_needed = any(parent in self.needed for parent in node.parents)
            if not (inputs_needed or isinstance(node, Leaf)):
                if self.accumulate and node.calls_hooks:  # hooks on nodes run with the rule
                    self.pull_node(node, g)
                return
        if isinstance(node, Leaf):
            if self.accumulate and node.stores_grad:
                self._store(node, g)
        elif type(node) is Pick:  # one of the cotangents of the operation's results
            number_of_results = len(node.operation.shape)
            slots = self.cotangents.setdefault(node.operation, [None] * number_of_results)
            slots[node.index] = g if slots[node.index] is None else slots[node.index] + g
        else:
            for parent, part in self.pull_node(node, g):
                self.add(parent, part)
            if not self.retain_graph:
                node.release()

    def add(self, node: Node, part: Any) -> None:
        """Add a contribution, or a seed, to a node's cotangent. Sums are never made in place: a
        contribution may share memory with others (a rule may return g itself)."""
        self.cotangents[node] = self.cotangents[node] + part if node in self.cotangents else part

    def pull_node(self, node: Any, g: Any) -> Any:
        """An operation's contributions to its inputs; observers see the event "backward"."""
        pull: Any = pull_operation if type(node) is OpNode else type(node).pull
        if not observe.observers:
            return pull(node, g, self.needed, self.on_tensors)
        action = partial(pull, node, g, self.needed, self.on_tensors)
        params = node.params if isinstance(node, OpNode) else {}
        return observe.run_observed("backward", node.primitive, (g,), params, action, node)

    def _store(self, leaf: Leaf, g: Any) -> None:
        """Add a complete cotangent to a leaf's `.grad`; observers see the event "leaf"."""
        if not observe.observers:
            return leaf.store(g, self.create_graph, self.stored)
        action = partial(leaf.store, g, self.create_graph, self.stored)
        observe.run_observed("leaf", None, (g,), {}, action, leaf)

    def _show_to_hooks(self, node: Node, g: Any) -> Any:
        """Run the hooks; each may return another cotangent. `retain_grad` stores the last."""
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
            add_to_grad(tensor, g, self.create_graph, self.stored)
        return g


def run_pass(graph_pass: Pass) -> None:
    """Visit the nodes that a cotangent has reached, youngest first. minigrad.fast replaces this."""
    for node in graph_pass.order:
        if graph_pass.cotangents.get(node) is not None:
            graph_pass.visit(node, graph_pass.cotangents.pop(node))


def _leading_to(wanted: set[Node], order: list[Node]) -> set[Node]:
    """The nodes of `order` on a path to a wanted one, and the wanted ones."""
    needed: set[Node] = set()
    for node in reversed(order):
        if node in wanted or any(parent in needed for parent in node.parents):
            needed.add(node)
    return needed


def pull_operation(node: OpNode, g: Any, needed: Any, on_tensors: bool) -> list[tuple[Node, Any]]:
    """An operation's vector-Jacobian products: (parent, contribution) for parents in `needed`."""
    prim, values = node.primitive, node.values()
    if on_tensors:
        values = _as_tensors(node, values)
    if prim.outputs != 1:
        g = _fill_missing(node, g, on_tensors)
    elif node.dtype.kind == "c" and not prim.conjugates:
        g = primitive.registry["conj"](g)
    parts: list[tuple[Node, Any]] = []
    for index, number, where in node.plan.rule_calls:
        parent: Any = node.parents[index]
        if parent in needed:
            rule: Any = prim.pull_rules[number]
            read = [values[k] for k in where]
            function = rule.function if node.dtype in backend.SINGLE_OR_DOUBLE else rule.upcasting
            c = function(g, *read, **rule.keyword_arguments(node.params, index))
            if on_tensors and state.recording:
                c = _depending_on(c, read)
            parts.append((parent, check_contribution(node, index, parent, c)))
    return parts


def _depending_on(c: Any, read: list[Any]) -> Any:
    """The contribution c of a rule, with a node if a value of its shape that the rule read has one.

    The rule of abs is g·sign(x): with a constant g, c is a constant, since sign has no derivative.
    In PyTorch c requires grad all the same, and its derivative with respect to x is 0. So c becomes
    `overwrite(x, c)`, whose values are c's and whose graph leads to x (of c's shape).
    """
    if not isinstance(c, Tensor) or c.node is not None or not backend.is_differentiable(c.dtype):
        return c
    for x in read:
        alike = isinstance(x, Tensor) and x.node is not None and x.shape == c.shape
        if alike and backend.promote_types(x.dtype, c.dtype) == c.dtype:  # c may be wider
            return primitive.registry["overwrite"](x, c)
    return c


def check_contribution(node: OpNode, index: int, parent: Node, c: Any) -> Any:
    """The contribution c of a rule to an input, summed to the input's shape and cast to its dtype.
    Raises NotDifferentiableError if it is None, ShapeError if it has another shape."""
    if c is not None and node.unbroadcast is not None and node.unbroadcast[index] is not None:
        c = primitive.registry["sum_to"](c, shape=node.unbroadcast[index])
    if getattr(c, "shape", None) != parent.shape:
        raise explain.wrong_contribution(node, index, parent, c)
    if node.primitive.outputs == 1 and node.dtype.kind == "c" and not node.primitive.conjugates:
        c = primitive.registry["conj"](c)  # of a holomorphic rule: conj(rule(conj(g)))
    return c if c.dtype == parent.dtype else primitive.registry["cast"](c, dtype=parent.dtype)


def _as_tensors(node: OpNode, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The saved values with their nodes and tangents, so that rules run on them are recorded."""
    tangents = node.saved_tangents or (None,) * len(values)
    made = tuple(map(_as_tensor, repeat(node), node.plan.sources, values, tangents))
    if node.saved is not None:  # it is None if a subclass provides them (autograd/saved_tensors)
        for position, version, _ in node.versions:
            _share_version(made[position], version)
    return made


def _as_tensor(node: OpNode, source: int, value: Any, tangents: Any) -> Any:
    """A saved input or result as a tensor with its node and tangents; else the value itself."""
    if not is_value(source) or type(value) in backend.PYTHON_SCALARS:
        return value
    if source != OUTPUT:
        return wrap(value, node.parents[source], tangents)
    if node.primitive.outputs == 1:
        return wrap(value, node, tangents)
    results = tuple(map(wrap, value, repeat(None), tangents or repeat(None)))
    give_node(node, results)
    return results


def _share_version(value: Any, version: Version) -> None:
    """Give a saved tensor its version counter; of several results the first that has none yet,
    since `versions` lists them in order."""
    for tensor in value if isinstance(value, tuple) else (value,):
        if tensor.version is None and not backend.is_immutable(tensor.array):
            tensor.version = version
            return


def _fill_missing(node: Any, slots: list[Any], on_tensors: bool) -> tuple[Any, ...]:
    """Zeros in place of missing cotangents of an operation with several results."""
    known = next(s for s in slots if s is not None)
    like = known.array if isinstance(known, Tensor) else known
    filled = list(slots)
    for index, slot in enumerate(slots):
        if slot is None:
            zeros = backend.zeros(node.shape[index], node.dtype[index], like)
            filled[index] = wrap(zeros) if on_tensors else zeros
    return tuple(filled)
