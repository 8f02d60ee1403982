"""Reverse mode: carry cotangents from the outputs back to the inputs.

For y = f(x₁, …, xₙ) with operations vᵢ, the adjoint of a value is v̄ᵢ = Σⱼ v̄ⱼ ∂vⱼ/∂vᵢ over all operations j that used it. So a value may
be processed only when all its users have been: the nodes are visited from the youngest to the oldest. One loop, no recursion; each node
runs once, however many paths lead to it.

An ordinary pass computes on raw arrays. When the derivative must itself be differentiable (`create_graph`, or forward mode through the
backward pass) the same rules run on tensors: the pass is then *live*.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from .. import backend, observe, primitive
from ..backend import NumpyArray as ndarray
from ..backend import float32, float64
from ..errors import AutogradError, NotDifferentiableError, ShapeError
from ..nodes import Leaf, Node, OpNode, Pick, youngest_first
from ..observe import observers
from ..tensor import Tensor, memory_version, wrap
from .modes import state
from .record import pick

_tangents = attrgetter("tangents")
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

    targets: nodes whose cotangents are wanted (returned, where reached); None means all leaves, and nothing is returned. Work is done only
    on paths to the targets. accumulate: add the cotangents of leaves (of the targets, if given) to their `.grad`. create_graph: record the
    pass itself. retain_graph: keep the saved values. report: gets a (tensor, gradient) pair for each stored gradient, in the order in
    which they become final.
    """
    order, reached = youngest_first(roots)
    wanted = None if targets is None else set(targets)
    needed = reached if wanted is None else _leading_to(wanted, order)
    live = create_graph or any(s.tangents for s in seeds) or any(map(_tangents, order))
    cotangents: dict[Node, Any] = {}
    owned: set[Node] = set()  # nodes whose cotangent is a buffer of our own, which may be added to in place
    captured: dict[Node, Tensor] = {}
    for root, seed in zip(roots, seeds, strict=True):
        if root in needed:
            g = seed if live else seed.array
            cotangents[root] = cotangents[root] + g if root in cotangents else g
    if state.walk is not None:
        _enter_inner_pass()
    before, state.recording = state.recording, create_graph
    around = state.walk, state.needed
    state.walk, state.needed = order, needed
    try:
        with backend.ignore_float_errors():
            node: Any
            for node in order:
                g = cotangents.pop(node, None)
                if g is None:
                    continue
                if node.hooks or node.retained is not None:
                    owned.discard(node)
                    g = _show_to_hooks(node, g, report)
                if wanted is not None and node in wanted:
                    owned.discard(node)
                    captured[node] = g if isinstance(g, Tensor) else wrap(backend.canonical(g))
                    if not any(parent in needed for parent in node.parents) and type(node) is not Leaf:
                        if accumulate and node.has_hooks:  # its rule is not needed, but they are about the gradient being stored
                            _pull_function(node, g, needed, live)
                        continue
                if type(node) is Leaf:
                    if accumulate and node.stores_grad:  # a needed leaf is a wanted one: it has no parents that could be
                        (_store_watched if observers else _store)(node, g, node in owned, create_graph, report)
                    continue
                if type(node) is Pick:
                    _fill_slot(node, g, cotangents)
                    continue
                if not live and not observers and type(node) is OpNode and (node.dtype is float32 or node.dtype is float64):
                    _pull_plainly(node, g, needed, cotangents, owned)
                    if not retain_graph and node.plan.keeps_values:
                        node.saved, node.versions = None, ()
                    continue
                pull = _pull_watched if observers else pull_operation if type(node) is OpNode else _pull_function
                parts = pull(node, g, needed, live)
                if not retain_graph:
                    node.release()
                for parent, c in parts:
                    if parent not in cotangents:  # the first contribution is kept as it is
                        cotangents[parent] = c
                        if type(c) is ndarray and c is not g and c.base is None and _is_own(node):
                            owned.add(parent)
                    else:
                        _accumulate(cotangents, owned, parent, c)
    finally:
        state.recording = before
        state.walk, state.needed = around
        if around[0] is not None:
            _leave_inner_pass()
    return captured


def _is_own(node: Node) -> bool:
    """Whether what the rule of a node gives is memory of its own."""
    return node.primitive.outputs == 1 if type(node) is OpNode else node.gives_fresh


MOST_INNER_PASSES = 1000
_FRAMES = 60
"""How far Python's recursion limit is raised while a pass waits for an inner one: the frames of the pass, a hook and what it calls."""
_changing_limit = threading.Lock()


def _enter_inner_pass() -> None:
    """Begin a pass that a hook or a Function of another pass has called. Raises AutogradError for too many inside one another."""
    if state.inside == MOST_INNER_PASSES:
        raise AutogradError(
            f"backward: {MOST_INNER_PASSES} backward passes run inside one another. A hook or the backward of a Function calls backward, "
            "whose own hooks or Functions call it again. End the chain, or do the inner passes one after the other, outside the hook."
        )
    with _changing_limit:
        sys.setrecursionlimit(sys.getrecursionlimit() + _FRAMES)
    state.inside += 1


def _leave_inner_pass() -> None:
    state.inside -= 1
    with _changing_limit:
        sys.setrecursionlimit(sys.getrecursionlimit() - _FRAMES)


def _accumulate(cotangents: dict[Node, Any], owned: set[Node], parent: Node, c: Any) -> None:
    """A further contribution to a value that was used several times."""
    if parent in owned and type(c) is ndarray:  # into a buffer of our own
        cotangents[parent] += c
        return
    total = cotangents[parent] = cotangents[parent] + c
    if type(total) is ndarray:
        owned.add(parent)


def _fill_slot(node: Pick, g: Any, cotangents: dict[Node, Any]) -> None:
    """The cotangent of one result of an operation with several goes into its place among them."""
    source = node.parents[0]
    assert source is not None
    slots = cotangents.setdefault(source, [None] * len(source.shape))
    slots[node.index] = g if slots[node.index] is None else slots[node.index] + g  # a live rule that reads the result has a Pick of its own


def _leading_to(wanted: set[Node], order: list[Node]) -> set[Node]:
    """The reached nodes on a path to a wanted one (themselves included)."""
    needed: set[Node] = set()
    for node in reversed(order):
        if node in wanted or any(parent in needed for parent in node.parents):
            needed.add(node)
    return needed


def _pull_watched(node: Any, g: Any, needed: set[Node], live: bool) -> list[tuple[Node, Any]]:
    """One operation's contributions to its parents, seen by observers as the event "backward"."""
    pull = pull_operation if type(node) is OpNode else _pull_function
    what, params = node.primitive, node.params if isinstance(node, OpNode) else {}
    parts: list[tuple[Node, Any]] = observe.run("backward", what, (g,), params, lambda *_: pull(node, g, needed, live), node)
    return parts


def _pull_function(node: Any, g: Any, needed: Any, live: bool) -> list[tuple[Node, Any]]:
    """A user's Function brings its own pull."""
    return node.pull(g, needed, live)  # type: ignore[no-any-return]


def pull_operation(node: OpNode, g: Any, needed: Any, live: bool) -> list[tuple[Node, Any]]:
    """The vector-Jacobian products of one operation: (parent, contribution) for each parent in `needed`."""
    prim, unbroadcast = node.primitive, node.unbroadcast
    values = node.saved if node.saved is not None and not node.versions else node.values()
    if live:
        values = _as_tensors(node, values)
    flip = False
    if prim.outputs != 1:
        g = _materialised(node, g, live)
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
        c = rule.function(g, *read, **_named(node, rule.keywords, index))
        if live and state.recording and c is not None:
            c = _depending_on(c, read)
        if c is not None and unbroadcast is not None and unbroadcast[index] is not None:
            c = primitive.registry["sum_to"](c, shape=unbroadcast[index])
        if c is not None and flip:
            c = primitive.registry["conj"](c)
        if c is None or c.dtype is not parent.dtype or c.shape != parent.shape:
            c = _fitting(node, index, parent, c)
        parts.append((parent, c))
    return parts


def _pull_plainly(node: OpNode, g: Any, needed: set[Node], cotangents: dict[Node, Any], owned: set[Node]) -> None:
    """What `pull_operation` and the loop around it do, for the usual node: one real result, arrays, nobody watching.

    A small operation costs less than looking at all that might be otherwise, so here nothing is asked twice.
    """
    values = node.saved
    if values is None:
        values = node.values()
    for _, version, number in node.versions:
        if version.count != number:
            node.values()  # raises
    parents: Any = node.parents
    rules: Any = node.primitive.pulls
    unbroadcast = node.unbroadcast
    for index, number, where in node.plan.pulls:
        parent = parents[index]
        if parent not in needed:
            continue
        rule = rules[number]
        if rule.keywords:
            c = rule.function(g, *[values[k] for k in where], **_named(node, rule.keywords, index))
        elif not where:  # most rules ask for nothing, or for one value
            c = rule.function(g)
        elif len(where) == 1:
            c = rule.function(g, values[where[0]])
        else:
            c = rule.function(g, *[values[k] for k in where])
        if unbroadcast is not None and unbroadcast[index] is not None:
            sum_to = primitive.registry["sum_to"]
            shape = unbroadcast[index]
            c = sum_to.forward(backend.numpy, c, shape=shape) if type(c) is ndarray else sum_to(c, shape=shape)
        if c is None or c.dtype is not parent.dtype or c.shape != parent.shape:
            c = _fitting(node, index, parent, c)
        if parent not in cotangents:  # the first contribution is kept as it is
            cotangents[parent] = c
            if type(c) is ndarray and c is not g and c.base is None:
                owned.add(parent)
        else:
            _accumulate(cotangents, owned, parent, c)


def _depending_on(c: Any, read: list[Any]) -> Any:
    """The recorded contribution c, with history if a value that its rule has read has one.

    The rule of a piecewise linear operation only compares such a value: c is constant in it. As in PyTorch, c then requires grad, and
    its derivative with respect to the value is 0.
    """
    if not isinstance(c, Tensor) or c.node is not None or not backend.is_differentiable(c.dtype):
        return c
    for value in read:
        if isinstance(value, Tensor) and value.node is not None and value.shape == c.shape and value.dtype == c.dtype:
            return primitive.registry["overwrite"](value, c)
    return c


def _named(node: OpNode, keywords: tuple[str, ...], index: int) -> dict[str, Any]:
    """The parameters of the operation that a rule asks for; `index` is the input's position."""
    params = node.params
    if len(keywords) == 1 and keywords[0] in params:
        return {keywords[0]: params[keywords[0]]}
    return {k: params.get(k, index) for k in keywords if k in params or k == "index"}


def _fitting(node: OpNode, index: int, parent: Node, c: Any) -> Any:
    """A contribution in the dtype of the input it belongs to. Raises where a rule returned none, or one of another shape."""
    name = node.primitive.name
    if c is None:
        raise NotDifferentiableError(f"the pull rule of {name} for input {index} returned None; it must return the contribution.")
    if c.dtype != parent.dtype:
        c = primitive.registry["cast"](c, dtype=parent.dtype)
    if c.shape != parent.shape:
        since = " (Was its .data given another shape since?)" if type(parent) is Leaf else ""
        raise ShapeError(
            f"the pull rule of {name} returned a contribution of shape {tuple(c.shape)} for input {index}, whose shape is "
            f"{tuple(parent.shape)}; they must be equal.{since}"
        )
    return c


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
        tangents = node.tangents[-1] if node.tangents is not None else (None,) * len(value)
        made = tuple(wrap(v, None, t) for v, t in zip(value, tangents, strict=True))
        for index, (out, differentiable) in enumerate(zip(made, node.primitive.differentiable, strict=True)):
            if differentiable and backend.is_differentiable(out.array.dtype):
                out.node = pick(node, index, out)
        return made
    return _attached(value, node, node.tangents[-1] if node.tangents is not None else None, node, position)


def _attached(value: Any, parent: Node | None, tangents: Any, node: OpNode, position: int) -> Tensor:
    out = wrap(value, parent, tangents)
    for where, version, _ in node.versions if node.saved is not None else ():  # values that were elsewhere are nobody's memory
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
    shown = wrap(backend.canonical(g)) if raw else g
    for hook in list((node.hooks or {}).values()):
        replaced = hook(shown)
        if replaced is not None:
            if not isinstance(replaced, Tensor):
                raise TypeError(f"a gradient hook of {node.name()} returned {type(replaced).__name__}; it must return a Tensor or None.")
            if replaced.shape != shown.shape:
                raise RuntimeError(
                    f"a gradient hook of {node.name()} changed the gradient's shape from {shown.shape} to {replaced.shape}; it must "
                    "keep the shape."
                )
            if replaced.dtype != shown.dtype:
                raise RuntimeError(f"a gradient hook of {node.name()} changed the gradient's dtype from {shown.dtype} to {replaced.dtype}.")
            shown = replaced
    if node.retained is not None:
        tensor = node.retained()
        if tensor is not None:
            kept = wrap(backend.copy_with_strides_of(shown.array, tensor.array)) if raw else primitive.registry["clone"](shown)
            tensor._grad = kept if tensor._grad is None else tensor._grad + kept
            if report is not None:
                report.append((tensor, kept))
    return shown.array if raw else shown


def _store_watched(leaf: Leaf, g: Any, *details: Any) -> None:
    """The same, seen by observers as the event "leaf"."""
    observe.run("leaf", leaf, (g,), {}, lambda *_: _store(leaf, g, *details), leaf)


def _store(leaf: Leaf, g: Any, owned: bool, create_graph: bool, report: list[tuple[Tensor, Tensor]] | None) -> None:
    """Add a complete cotangent to the leaf's `.grad`, which never shares memory with anything else."""
    tensor = leaf.variable
    if tensor.node is None:
        return  # requires_grad was switched off since
    if leaf.after is not None:
        from .around import before_leaf

        g, owned = before_leaf(leaf, tensor, g), False
    with _storing:
        if tensor._grad is not None and tensor._grad.array.shape != g.shape:
            raise ShapeError(
                f"a gradient of shape {tuple(g.shape)} cannot be added to the .grad of shape {tensor._grad.shape}, which is from before "
                "the tensor's .data got another shape. Clear it first: x.grad = None."
            )
        if type(g) is not ndarray and isinstance(g, Tensor) and (create_graph or g.tangents):
            g = primitive.registry["clone"](g)
            tensor._grad = g if tensor._grad is None else tensor._grad + g
            reported = g
        else:
            array = g if type(g) is ndarray and g.ndim else backend.canonical(g.array if isinstance(g, Tensor) else g)
            if report is not None:
                reported = wrap(backend.copy_with_strides_of(array, tensor.array))
            if tensor._grad is None:
                keep = owned and backend.has_strides_of(array, tensor.array)
                tensor._grad = wrap(array if keep else backend.copy_with_strides_of(array, tensor.array))
            elif backend.is_immutable(tensor._grad.array):
                tensor._grad.array = tensor._grad.array + array
            else:
                version = memory_version(tensor._grad)
                try:
                    tensor._grad.array += array
                    version.count += 1
                except ValueError:  # the user put something there that may only be read, an expanded tensor, say
                    tensor._grad = wrap(tensor._grad.array + array)
    if report is not None:
        report.append((tensor, reported))
    if leaf.after is not None:
        from .around import after_leaf

        after_leaf(leaf, tensor, g)
