"""Views and in-place writes: new values in old memory, with the right graph or a clear error.

The result of a view operation shares memory and version counter with its operand. Its `View` holds
the base (the tensor at which the chain of views begins) and the operations that lead from there.

An in-place operation computes the new values out of place (so it is recorded like any other) and
then writes them into the target's memory: `y.add_(1)` is `assign(y, y + 1, "add_")`. The nodes
change as in PyTorch (names in quotes are keys of explain.IN_PLACE):

    target                     recording                            not recording (the base)
    no view                    the target gets the values' node     unchanged
    view                       the base gets that of scatter_view   unchanged
    leaf; view made a leaf     refused ("leaf"; "own leaf")         unchanged
    view of a leaf             refused ("leaf's view")              unchanged
    view made under no_grad,   refused (View.restriction) if the    unchanged
    by split or a Function     base or the values have a node

`scatter_view` is "the base, with this region replaced". A target that is a view then gets the node
derived from the base's, recording or not; every other view gets it when it is next used
(`View.refresh`). Tangents are replaced with recording off, too. A node's `values()` raises if a
saved value was overwritten; but `y.sin_()` works: its node gets a copy (`_keep_old_values`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import backend, explain
from ..errors import InPlaceError
from . import observe, primitive
from .graph import Node, OpNode, Version, state
from .primitive import Params, Primitive
from .tensor import Leaf, Payload, Tensor, current_node, ensure_version, record, wrap, write_payload


@dataclass(eq=False, slots=True)
class View:
    """What a view knows of its base.

    base: the tensor whose memory it shares: no view, or a view that was a leaf then.
    op: the view operation that made it, with its parameters.
    parent_view: the view that this operation was applied to, None if that was the base.
    derived_at: the version's count when the tensor's node was last derived from the base's.
    restriction: why no gradient may flow through an in-place change of this view, a key of
    explain.IN_PLACE, or None: it was made under no_grad ("no_grad"), with others by one operation
    ("several": arrays/splitting.py), or by a Function ("function": autograd/function).
    """

    base: Tensor
    parent_view: View | None
    op: tuple[Primitive, Params]
    derived_at: int
    restriction: str | None = None

    @property
    def steps(self) -> tuple[tuple[Primitive, Params], ...]:
        """The view operations that lead from the base to this view."""
        steps, view = [self.op], self.parent_view
        while view is not None:
            steps.append(view.op)
            view = view.parent_view
        return tuple(reversed(steps))

    def refresh(self, tensor: Tensor) -> None:
        """Derive the node and tangents of `tensor`, whose `view_of` this is, from those of the base
        as they are now, if the memory was written to since they were last derived."""
        if tensor.version is None or self.derived_at == tensor.version.count:
            return
        leaf = isinstance(tensor.node, Leaf)  # the user asked for gradients of this very view
        recorded = current_node(self.base) is not None
        if leaf and recorded:
            raise explain.view_and_leaf(tensor)
        ambiguous = self.restriction == "no_grad" and recorded
        if ambiguous and state.recording:
            raise explain.ambiguous_view(tensor)
        count = tensor.version.count
        with observe.unobserved():
            current = self.base
            before, state.recording = state.recording, not ambiguous  # even in no_grad, for a node
            try:
                for prim, params in self.steps:
                    current = prim(current, **params)
            finally:
                state.recording = before
        tensor.tangents = current.tangents
        if ambiguous:  # its node stays out of date, which raises the error when recording
            return
        if not leaf:  # if it is, the base is a constant, and the leaf right for the present values
            _move_retained(tensor.node, current.node)
            tensor.node = current.node
        self.derived_at = count  # set last: after an interrupt the view is refreshed again


def mark_view(prim: Primitive, x: Tensor, params: Params, out: Tensor) -> None:
    """If the result shares memory with the operand x, give it the version of x, and a View."""
    if backend.is_immutable(x.array):  # compute again on an array, whose memory can be shared
        ensure_version(x)
        out.array = prim.forward(backend.array_module([x.array]), x.array, **params)
    if not backend.shares_memory(out.array, x.array):
        return
    version = out.version = ensure_version(x)
    parent = None if isinstance(x.node, Leaf) else x.view_of
    base, inherited = (x, None) if parent is None else (parent.base, parent.restriction)
    restriction = inherited if state.recording else "no_grad"
    out.view_of = View(base, parent, (prim, params), version.count, restriction)


def _move_retained(old: Node | None, new: Node | None) -> None:
    """Move a request of `retain_grad` from a tensor's old node to its new one: the gradient is that
    of the present values. Hooks stay at the old node."""
    if old is not None and new is not None and old is not new and old.retained is not None:
        new.retained, old.retained = old.retained, None


def assign(
    target: Tensor, value: Tensor, operation: str, uniform: bool = False, checked: bool = False
) -> Tensor:
    """Write `value` into the memory of `target`, update the graph, and return `target`.

    operation: its name in error messages; uniform: whether all elements of `value` are one
    constant number, so that elements which share memory get equal values; checked: whether
    `check_target` has been called. Raises InPlaceError where no right gradient could follow or the
    dtype does not fit, ShapeError if the target would have to be larger.
    """
    if not checked:
        check_target(target, operation, value.node is not None, uniform)
    if isinstance(value.array, Payload):
        value.array.__minigrad_fits__(target.array, operation)
    if type(value.node) is OpNode:
        _keep_old_values(value.node, ensure_version(target))
    if value.shape != target.shape:
        if not backend.broadcasts(value.shape, target.shape):
            raise explain.cannot_grow(operation, value, target)
        value = primitive.registry["broadcast_to"](value, shape=target.shape)
    if value.dtype != target.dtype:
        if not backend.can_write(value.dtype, target.dtype):
            raise explain.cannot_hold(operation, value, target)
        value = primitive.registry["cast"](value, dtype=target.dtype)
    current_node(target)  # raises before the write if the target has no right node
    write: Any = _assign_to_tensor if target.view_of is None else _assign_to_view
    if observe.observers:
        action = partial(write, target, value)
        observe.run_observed("assign", None, (target, value), {"operation": operation}, action)
    else:
        write(target, value)
    return target


def _assign_to_tensor(target: Tensor, value: Tensor) -> None:
    old = current_node(target)
    write_payload(target, value.array)  # no call after it: the user's interrupt arrives at calls
    target.tangents = value.tangents
    if state.recording:  # then `old` is not a leaf: `check_target` has refused that
        target.node = value.node
        _move_retained(old, value.node)


def _assign_to_view(target: Tensor, value: Tensor) -> None:
    """The base gets the node of `scatter_view(base, value)`: the base, with the region of the view
    replaced. This operation is recorded, but computed only if there are tangents, since the values
    are written into the memory. The target's node is then derived from the base's."""
    view = target.view_of
    base, scatter = view.base, primitive.registry["scatter_view"]
    params = {"steps": view.steps, "order": backend.axis_order(base.array)}
    made = wrap(base.array)
    if state.recording and (value.node is not None or base.node is not None):
        args = wrap(base.array, base.node), wrap(value.array, value.node)
        record(scatter, args, (base.node, value.node), params, (made,))
    tangents = None
    if value.tangents is not None or base.tangents is not None:
        dual = wrap(base.array, None, base.tangents), wrap(value.array, None, value.tangents)
        before, state.recording = state.recording, True  # other elements' tangents keep their graph
        try:
            tangents = scatter(*dual, **params).tangents
        finally:
            state.recording = before
    old, new = base.node, made.node or base.node
    write_payload(target, value.array)  # nothing was changed if this raises; no call after it
    base.node, base.tangents = new, tangents
    _move_retained(old, new)
    if tangents is not None and base.view_of is not None:  # a view that is a leaf
        _assign_to_view(base, wrap(base.array, None, tangents))
    view.refresh(target)


def check_target(
    target: Tensor, operation: str, requires_grad: bool = False, uniform: bool = False
) -> None:
    """Raise InPlaceError if `target` may not be modified in place now. requires_grad: whether the
    new values do; uniform: whether they are one constant number."""
    problem = explain.unwritable(target.array, uniform)
    if problem is None and state.recording:
        node, view = current_node(target), target.view_of
        if isinstance(node, Leaf):
            problem = explain.IN_PLACE["leaf" if view is None else "own leaf"]  # a view made a leaf
        elif view is not None and isinstance(view.base.node, Leaf):
            problem = explain.IN_PLACE["leaf's view"]
        elif view is not None and (requires_grad or node or view.base.node):
            once = view.base.view_of is not None  # the base is a view that was a leaf
            problem = explain.IN_PLACE.get("leaf's view" if once else view.restriction)
    if problem is not None:
        raise InPlaceError(f"{operation}: {problem}")


def _keep_old_values(node: OpNode, version: Version) -> None:
    """Copy those saved values of `node`, which made the values to be written, that lie in the
    target's memory: the rule of `y.sin_()` needs the old y."""
    saved = list(node.saved or ())
    copied = [k for k, v, number in node.versions if v is version and number == v.count]
    for position in copied:
        saved[position] = saved[position].copy()
    if copied:
        node.saved = tuple(saved)
        node.versions = tuple([entry for entry in node.versions if entry[0] not in copied])
