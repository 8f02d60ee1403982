"""Views and in-place writes: new values in old memory, with the right graph or a clear error.

The result of a view operation shares memory and version counter with its operand. Its `View` holds
the base (the tensor at which the chain of views begins) and the operations that lead from there.

An in-place operation computes the new values out of place (so it is recorded like any other) and
then writes them into the target's memory: `y.add_(1)` is `assign(y, y + 1, "add_")`. A target that
is not a view gets their node. If the target is a view, the base gets the node of `scatter_view`
("the base, with this region replaced"). The node of the target is then derived from the base's, and
so is that of every other view when it is next used (`View.refresh`). With recording off, the
target, or its base, keeps its node. This is PyTorch's rule, in its functional form.
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
from .tensor import (
    Leaf,
    Payload,
    Tensor,
    grad_node,
    memory_version,
    overwrite_payload,
    record,
    wrap,
)


@dataclass(eq=False, slots=True)
class View:
    """What the handle of a view knows of its base.

    base: the tensor whose memory it shares: not a view itself, or a view that was made a leaf; op:
    the view operation that made it, with its parameters; parent_view: the view that this operation
    was applied to, None if that was the base; derived_at: the version's count when the tensor's
    node was last derived from the base's; why_not: why no gradient may flow through an in-place
    change of this view, or None. It was made under no_grad ("no_grad"), with others by one
    operation ("several": arrays/splitting.py), or by a Function ("function": autograd/function).
    """

    base: Tensor
    parent_view: View | None
    op: tuple[Primitive, Params]
    derived_at: int
    why_not: str | None = None

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
        if isinstance(tensor.node, Leaf):  # the user asked for gradients of this very view
            if grad_node(self.base) is not None:
                raise explain.view_and_leaf(tensor)
            self.derived_at = tensor.version.count
            return  # the base is a constant, so the leaf is right for the present values
        if self.why_not == "no_grad" and grad_node(self.base) is not None:
            if not state.recording:
                return  # its node is not needed now
            raise explain.ambiguous_view(tensor)
        count = tensor.version.count
        with observe.unobserved():
            current = self.base
            before, state.recording = state.recording, True
            try:
                for prim, params in self.steps:
                    current = prim(current, **params)
            finally:
                state.recording = before
        _move_retained(tensor.node, current.node)
        tensor.node, tensor.tangents = current.node, current.tangents
        self.derived_at = count  # set last: after an interrupt the view is refreshed again


def mark_view(prim: Primitive, source: Tensor, params: Params, out: Tensor) -> None:
    """If the result shares memory with its source, give it the source's version, and a View."""
    if backend.is_immutable(source.array):  # compute again on an array, whose memory can be shared
        memory_version(source)
        out.array = prim.forward(backend.array_module([source.array]), source.array, **params)
    if not backend.shares_memory(out.array, source.array):
        return
    version = out.version = memory_version(source)
    parent = None if isinstance(source.node, Leaf) else source.view_of
    base, inherited = (source, None) if parent is None else (parent.base, parent.why_not)
    why_not = inherited if state.recording else "no_grad"
    out.view_of = View(base, parent, (prim, params), version.count, why_not)


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
    constant number; checked: whether `check_target` has been called.
    Raises InPlaceError where no right gradient could follow, ShapeError if the target would have to
    grow, RuntimeError if the dtype does not fit.
    """
    if not checked:
        check_target(target, operation, value.node is not None, uniform)
    if isinstance(value.array, Payload):
        value.array.__minigrad_fits__(target.array, operation)
    if type(value.node) is OpNode:
        _keep_old_values(value.node, memory_version(target))
    if value.shape != target.shape:
        if not backend.broadcasts(value.shape, target.shape):
            raise explain.cannot_grow(operation, value, target)
        value = primitive.registry["broadcast_to"](value, shape=target.shape)
    if value.dtype != target.dtype:
        if not backend.can_write(value.dtype, target.dtype):
            raise explain.cannot_hold(operation, value, target)
        value = primitive.registry["cast"](value, dtype=target.dtype)
    whole = target.view_of is None or isinstance(grad_node(target), Leaf)
    write: Any = _assign_to_tensor if whole else _assign_to_view
    if observe.observers:
        action = partial(write, target, value)
        observe.run_observed("assign", None, (target, value), {"operation": operation}, action)
    else:
        write(target, value)
    return target


def _assign_to_tensor(target: Tensor, value: Tensor) -> None:
    old = grad_node(target)
    overwrite_payload(target, value.array)
    if state.recording:  # then `old` is not a leaf: `check_target` has refused that
        _move_retained(old, value.node)
        target.node = value.node
    target.tangents = value.tangents


def _assign_to_view(target: Tensor, value: Tensor) -> None:
    """The base gets the node of `scatter_view(base, value)`: the base, with the region of the view
    replaced. This operation is recorded, but computed only if there are tangents, since the values
    are written into the memory. The target's node is then derived from the base's."""
    view = target.view_of
    assert view is not None
    base, scatter = view.base, primitive.registry["scatter_view"]
    params = {"steps": view.steps, "order": backend.axis_order(base.array)}
    made = wrap(base.array)
    if state.recording and (value.node is not None or base.node is not None):
        args = wrap(base.array, base.node), wrap(value.array, value.node)
        record(scatter, args, (base.node, value.node), params, (made,))
    tangents = None
    if value.tangents is not None or base.tangents is not None:
        dual = wrap(base.array, None, base.tangents), wrap(value.array, None, value.tangents)
        tangents = scatter(*dual, **params).tangents
    overwrite_payload(target, value.array)  # nothing was changed if this raises
    if made.node is not None:
        _move_retained(base.node, made.node)
        base.node = made.node
    base.tangents = tangents
    view.refresh(target)


def check_target(
    target: Tensor, operation: str, differentiable: bool = False, uniform: bool = False
) -> None:
    """Raise InPlaceError if `target` may not be modified in place now. differentiable: whether the
    new values require grad; uniform: whether they are one constant number."""
    problem = explain.unwritable(target.array, uniform)
    if problem is None and state.recording:
        node, view = grad_node(target), target.view_of
        if isinstance(node, Leaf):
            problem = explain.IN_PLACE["leaf" if view is None else "own leaf"]  # a view made a leaf
        elif view is not None and isinstance(view.base.node, Leaf):
            problem = explain.IN_PLACE["leaf's view"]
        elif view is not None and (differentiable or node or view.base.node):
            problem = explain.IN_PLACE.get(view.why_not)  # None if there is no reason against it
    if problem is not None:
        raise InPlaceError(f"{operation}: {problem}")


def _keep_old_values(node: OpNode, version: Version) -> None:
    """Copy the saved values of `node`, which made the values to be written, as far as the write
    overwrites them: the rule of `y.sin_()` needs the old y. (Tuples of results are skipped: no
    operation with several results works in place.)"""
    saved = list(node.saved or ())
    current = [k for k, v, number in node.versions if v is version and number == v.count]
    copied = [k for k in current if not isinstance(saved[k], tuple)]
    for position in copied:
        saved[position] = saved[position].copy()
    if copied:
        node.saved = tuple(saved)
        node.versions = tuple([entry for entry in node.versions if entry[0] not in copied])
