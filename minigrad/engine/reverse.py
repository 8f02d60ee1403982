"""Reverse mode: carry cotangents from the outputs back to the inputs.

For y = f(x₁, …, xₙ) with operations vᵢ, the adjoint of a value is v̄ᵢ = Σⱼ v̄ⱼ ∂vⱼ/∂vᵢ over all operations j that used it. So a value may be processed
only when all its users have been: the nodes are visited from the youngest to the oldest. One loop, no recursion; each node runs once, however many paths lead to it.

An ordinary pass computes on raw arrays. When the derivative must itself be differentiable (`create_graph`, or forward mode through the backward pass) the same rules
run on tensors: the pass is then *live*.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from .. import backend, observe, primitive
from ..backend import FAST_DTYPES
from ..graph import Leaf, Node, OpNode, Pick, reached_from
from ..observe import observers
from ..tensor import Tensor, memory_version, wrap
from .modes import state

_storing = threading.Lock()
"""Two threads may walk different graphs of the same parameters at once: sums into `.grad` take turns."""


def differentiate(
    roots: Sequence[Node],
    seeds: Sequence[Tensor],
    *,
    targets: Iterable[Node] | None = None,
    accumulate: bool = True,
    create_graph: bool = False,
    retain_graph: bool = False,
    report: list[tuple[Tensor, Tensor]] | None = None,
) -> dict[Node, Tensor]:
    """One reverse pass from `roots` with cotangents `seeds`.

    targets: nodes whose cotangents are wanted (returned, where reached); None means all leaves, and nothing is returned. Work is done only on paths
    to the targets. accumulate: add the cotangents of leaves (of the targets, if given) to their `.grad`. create_graph: record the pass itself. retain_graph: keep the
    saved values. report: gets a (tensor, gradient) pair for each stored gradient, in the order in which they become final.
    """
    reached = reached_from(list(roots))
    wanted = None if targets is None else set(targets)
    order = sorted(reached, key=attrgetter("born"), reverse=True)
    needed = reached if wanted is None else _leading_to(wanted, order)
    live = create_graph or any(s.tangents for s in seeds) or any(type(n) is OpNode and n.tangents is not None for n in order)
    cotangents: dict[Node, Any] = {}
    owned: set[Node] = set()
    captured: dict[Node, Tensor] = {}
    for root, seed in zip(roots, seeds, strict=True):
        if root in needed:
            _add(cotangents, owned, root, seed if live else seed.array, None)
    before, state.recording = state.recording, create_graph
    try:
        with backend.quiet():
            for node in order:
                g = cotangents.pop(node, None)
                if g is None:
                    continue
                if node.hooks or node.retained is not None:
                    owned.discard(node)
                    g = _show_to_hooks(node, g, report)
                if wanted is not None and node in wanted:
                    owned.discard(node)
                    captured[node] = g if isinstance(g, Tensor) else wrap(g)
                if type(node) is Leaf:
                    if accumulate and node.stores_grad and (wanted is None or node in wanted):
                        _store(node, g, node in owned, create_graph, report)
                elif type(node) is Pick:
                    source = node.parents[0]
                    assert source is not None
                    if source in needed:
                        slots = cotangents.setdefault(source, [None] * len(source.shape))
                        slots[node.index] = g if slots[node.index] is None else slots[node.index] + g
                elif any(parent in needed for parent in node.parents):
                    for parent, c in _pull(node, g, needed, live, retain_graph):
                        _add(cotangents, owned, parent, c, g)
    finally:
        state.recording = before
    return captured


def _leading_to(wanted: set[Node], order: list[Node]) -> set[Node]:
    """The reached nodes on a path to a wanted one (themselves included)."""
    needed: set[Node] = set()
    for node in reversed(order):
        if node in wanted or any(parent in needed for parent in node.parents):
            needed.add(node)
    return needed


def _add(cotangents: dict[Node, Any], owned: set[Node], node: Node, c: Any, g: Any) -> None:
    """Sum one contribution: the first is kept as it is, the second makes a buffer of our own, later ones are added into that buffer."""
    before = cotangents.get(node)
    if before is None:
        cotangents[node] = c
        if c is not g and g is not None and type(c) is not Tensor and backend.owns_fresh_memory(c):
            owned.add(node)
    elif node in owned and not backend.is_immutable(before):
        before += c
    else:
        cotangents[node] = before + c
        if type(c) is not Tensor:
            owned.add(node)


def _pull(node: Node, g: Any, needed: set[Node], live: bool, retain_graph: bool) -> list[tuple[Node, Any]]:
    """One operation's contributions to its parents, watched."""
    if type(node) is not OpNode:
        pull: Any = node.pull  # type: ignore[attr-defined]  # a user's Function
        parts: list[tuple[Node, Any]] = (
            observe.run("backward", node, (g,), {}, lambda p, a, q: pull(g, needed, live), node) if observers else pull(g, needed, live)
        )
    elif observers:
        parts = observe.run("backward", node.primitive, (g,), node.params, lambda p, a, q: pull_operation(node, g, needed, live), node)
    else:
        parts = pull_operation(node, g, needed, live)
    if not retain_graph:
        node.release()  # type: ignore[attr-defined]
    return parts


def pull_operation(node: OpNode, g: Any, needed: Any, live: bool) -> list[tuple[Node, Any]]:
    """The vector-Jacobian products of one operation: (parent, contribution) for each parent in `needed`."""
    prim, params, plan, values = node.primitive, node.params, node.plan, node.values()
    if live:
        values = _as_tensors(node, values)
    if prim.outputs != 1:
        g = _materialised(node, g, live)
    flip = False
    if prim.outputs == 1 and node.dtype not in FAST_DTYPES and node.dtype.kind == "c" and not prim.conjugates:
        flip = True
        g = primitive.registry["conj"](g)
    parts: list[tuple[Node, Any]] = []
    for index, parent in enumerate(node.parents):
        if parent is None or parent not in needed:
            continue
        rule = prim.pull_rule(index)
        if rule is None:
            continue
        arguments = [values[k] for k in plan.positions[index]]
        if rule.keywords:
            c = rule.function(g, *arguments, **{k: params[k] if k in params else index for k in rule.keywords if k in params or k == "index"})
        else:
            c = rule.function(g, *arguments)
        if node.unbroadcast is not None and node.unbroadcast[index] is not None:
            c = primitive.registry["sum_to"](c, shape=node.unbroadcast[index])
        if flip:
            c = primitive.registry["conj"](c)
        if c.dtype is not parent.dtype and c.dtype != parent.dtype:
            c = primitive.registry["cast"](c, dtype=parent.dtype)
        parts.append((parent, c))
    return parts


def _as_tensors(node: OpNode, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The saved values with their history and tangents, so that rules running on them are recorded in turn."""
    out = []
    for position, source in enumerate(node.plan.sources):
        value = values[position]
        if source >= 0:
            tangents = node.tangents[source] if node.tangents is not None else None
            out.append(value if type(value) in backend.PYTHON_SCALARS else _attached(value, node.parents[source], tangents, node, position))
        elif source == primitive.OUTPUT:
            out.append(_output_tensor(node, value, position))
        else:
            out.append(value)
    return tuple(out)


def _output_tensor(node: OpNode, value: Any, position: int) -> Any:
    if isinstance(value, tuple):
        return tuple(wrap(v) for v in value)
    return _attached(value, node, node.tangents[-1] if node.tangents is not None else None, node, position)


def _attached(value: Any, parent: Node | None, tangents: Any, node: OpNode, position: int) -> Tensor:
    out = wrap(value, parent, tangents)
    for where, version, _ in node.versions:
        if where == position:
            out.version = version
    return out


def _materialised(node: OpNode, slots: list[Any], live: bool) -> tuple[Any, ...]:
    """Zeros in place of missing cotangents of an operation with several results."""
    known = next(s for s in slots if s is not None)
    like = known.array if isinstance(known, Tensor) else known
    filled = []
    for slot, shape, dtype in zip(slots, node.shape, node.dtype, strict=True):  # type: ignore[call-overload]
        if slot is None:
            zero = backend.zeros(shape, dtype, like)
            slot = wrap(zero) if live else zero
        filled.append(slot)
    return tuple(filled)


def _show_to_hooks(node: Node, g: Any, report: list[tuple[Tensor, Tensor]] | None) -> Any:
    """Run the hooks in their order of registration; each may replace the cotangent. Then keep it for `retain_grad`."""
    raw = not isinstance(g, Tensor)
    shown = wrap(g) if raw else g
    for hook in list((node.hooks or {}).values()):
        replaced = hook(shown)
        if replaced is not None:
            if not isinstance(replaced, Tensor):
                raise TypeError(f"a gradient hook of {node.name()} returned {type(replaced).__name__}; it must return a Tensor or None.")
            if replaced.shape != shown.shape:
                raise RuntimeError(
                    f"a gradient hook of {node.name()} changed the gradient's shape from {shown.shape} to {replaced.shape}; it must keep the shape."
                )
            if replaced.dtype != shown.dtype:
                raise RuntimeError(f"a gradient hook of {node.name()} changed the gradient's dtype from {shown.dtype} to {replaced.dtype}.")
            shown = replaced
    if node.retained is not None:
        tensor = node.retained()
        if tensor is not None:
            kept = shown if not raw else wrap(backend.copy_with_strides_of(shown.array, tensor.array))
            tensor._grad = kept if tensor._grad is None else tensor._grad + kept
            if report is not None:
                report.append((tensor, kept))
    return shown.array if raw else shown


def _store(leaf: Leaf, g: Any, owned: bool, create_graph: bool, report: list[tuple[Tensor, Tensor]] | None) -> None:
    """Add a complete cotangent to the leaf's `.grad`, which never shares memory with anything else."""
    tensor = leaf.variable
    with _storing:
        if isinstance(g, Tensor) and (create_graph or g.tangents):
            g = primitive.registry["clone"](g)
            tensor._grad = g if tensor._grad is None else tensor._grad + g
            reported = g
        else:
            array = g.array if isinstance(g, Tensor) else g
            if report is not None:
                reported = wrap(backend.copy_with_strides_of(array, tensor.array))
            if tensor._grad is None:
                keep = owned and not isinstance(g, Tensor) and backend.has_strides_of(array, tensor.array)
                tensor._grad = wrap(array if keep else backend.copy_with_strides_of(array, tensor.array))
            elif backend.is_immutable(tensor._grad.array):
                tensor._grad.array = tensor._grad.array + array
            else:
                version = memory_version(tensor._grad)
                tensor._grad.array += array
                version.count += 1
    if report is not None:
        report.append((tensor, reported))
    for hook in list((leaf.after or {}).values()):
        hook(tensor)
