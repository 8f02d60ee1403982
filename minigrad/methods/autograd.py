"""Attributes and methods of automatic differentiation."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .. import backend
from ..autograd.backward import run_backward
from ..autograd.node_hooks import extras_with_hooks, register_tensor_hook
from ..core.graph import Node, Pick
from ..core.tensor import (
    Leaf,
    Tensor,
    alias,
    as_tensor,
    current_node,
    ensure_version,
    make_leaf,
    wrap,
)
from ..entry_points import backward_method, grad
from ..errors import AutogradError, DTypeError, InPlaceError, NoGradientError
from ..hook_handle import HookHandle
from ..names import attach, attribute, method

backward = method(backward_method(run_backward))


def _get_requires_grad(self: Tensor) -> bool:
    """Whether gradients are computed for this tensor. Can be set on leaves."""
    return current_node(self) is not None


@method
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Ask for gradients of this leaf (or stop asking), and return it. Raises for results of
    operations and for integers.

    A view of it that was made before stays a constant, and says so, until their memory is changed
    in place. In PyTorch such a view says that it requires grad, and no gradient goes through it
    either.
    """
    node = current_node(self)
    if requires_grad:
        if node is None:
            make_leaf(self)
    elif isinstance(node, Leaf):
        self.node = None
    elif node is not None:
        raise AutogradError(
            "requires_grad can be switched off for leaf tensors only; this one is the result of an"
            " operation. Use x.detach()."
        )
    return self


def _set_requires_grad(self: Tensor, value: bool) -> None:
    requires_grad_(self, value)


attach(
    "requires_grad",
    property(_get_requires_grad, _set_requires_grad, doc=_get_requires_grad.__doc__),
)


@attribute
def is_leaf(self: Tensor) -> bool:
    """Whether the user made this tensor (or it needs no gradient): it was not computed from
    anything that requires grad.
    """
    node = current_node(self)
    return node is None or isinstance(node, Leaf)


@attribute
def grad_fn(self: Tensor) -> Node | None:
    """The graph node of the operation that made this tensor (one node for all of its results);
    None for leaves.
    """
    node = current_node(self)
    return None if isinstance(node, Leaf) else node.operation if isinstance(node, Pick) else node


attach(
    "output_nr",
    property(
        lambda self: getattr(self.node, "index", 0),
        doc="Which result of its operation this tensor is.",
    ),
)


def _draw_graph(self: Tensor, *more: Any, **options: Any) -> Any:
    """The graph behind this tensor as a `graphviz.Digraph`; `from minigrad import viz` brings
    it.
    """
    raise AutogradError(
        "draw_graph: the pictures are in the package viz, which is not imported. Write `from"
        " minigrad import viz`, then call it again."
    )


attach("draw_graph", _draw_graph)
attach("creator", property(lambda self: self.grad_fn, doc="SINGA's name for grad_fn."))


attach("grad", grad)


def _get_stores_grad(self: Tensor) -> bool:
    """Whether a backward pass keeps this tensor's gradient and reports it (SINGA). Setting it
    implies requires_grad.
    """
    node = current_node(self)
    if isinstance(node, Leaf):
        return node.stores_grad
    return node is not None and node.retained is not None


def _set_stores_grad(self: Tensor, value: bool) -> None:
    node = current_node(self)
    if node is None:
        if not value:
            return
        make_leaf(self)
        node = self.node
    if isinstance(node, Leaf):
        node.stores_grad = bool(value)
    elif value:
        retain_grad(self)
    elif node is not None:
        node.retained = None


attach("stores_grad", property(_get_stores_grad, _set_stores_grad, doc=_get_stores_grad.__doc__))


@method
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this non-leaf tensor in `.grad` too. No effect on leaves; an error
    where no gradient is computed.
    """
    node = current_node(self)
    if node is None:
        raise NoGradientError(
            "retain_grad: this tensor does not require grad, so it will have no gradient. Set"
            " requires_grad=True on an input first."
        )
    if not isinstance(node, Leaf):
        node.retained = weakref.ref(self)


attach(
    "retains_grad",
    property(
        lambda self: (n := current_node(self)) is not None and n.retained is not None,
        doc="Whether `retain_grad` was called on this non-leaf tensor.",
    ),
)


@method
def register_hook(self: Tensor, hook: Callable[[Any], Any]) -> HookHandle:
    """Call `hook(gradient)` whenever this tensor's complete gradient is computed; a returned tensor
    replaces it. Returns a handle with `.remove()`.

    If the tensor is changed in place afterwards, the hook stays with the values from before, and
    sees the gradient with respect to them. That holds for views too, whose hooks PyTorch drops.
    """
    node = current_node(self)
    if node is None:
        raise NoGradientError(
            "register_hook: this tensor does not require grad, so no gradient will ever reach the"
            " hook."
        )
    return register_tensor_hook(node, hook)


@method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Any], Any]) -> HookHandle:
    """Call `hook(tensor)` after a backward pass has added to this leaf's `.grad`."""
    node = current_node(self)
    if not isinstance(node, Leaf):
        raise AutogradError(
            "register_post_accumulate_grad_hook: only leaf tensors that require grad accumulate"
            " gradients."
        )
    return HookHandle(extras_with_hooks(node).after_sum, hook)


attach("detach", alias)


@attribute
def _version(self: Tensor) -> int:
    """How often this tensor's memory was modified in place. (PyTorch's name.)"""
    return 0 if self.version is None else self.version.count


@method
def detach_(self: Tensor) -> Tensor:
    """Forget the history, in place. Raises for views, whose history is their base's.

    What was computed from the tensor before keeps its graph, and its gradient: PyTorch raises in
    such a backward pass.
    """
    if self.view_of is not None:
        raise InPlaceError("detach_: a view's history belongs to its base. Use .detach().")
    self.node = self.tangents = None
    return self


def _unversioned(self: Tensor) -> Tensor:
    ensure_version(self)
    return wrap(self.array)


def _set_data(self: Tensor, value: Any) -> None:
    if value is None:
        raise TypeError(".data must be a Tensor, got None.")
    value = as_tensor(value)
    if backend.is_differentiable(self.dtype) != backend.is_differentiable(value.dtype):
        raise DTypeError(f".data of a {self.dtype} tensor cannot become {value.dtype}.")
    ensure_version(value)  # a bare number gets memory, which the two then share
    self.array = value.array
    if self.version is not None:
        self.version.count += 1
    leaf = self.node
    if isinstance(leaf, Leaf):  # gradients will have the new shape and dtype
        leaf.array, leaf.shape, leaf.dtype = self.array, self.array.shape, self.array.dtype


attach(
    "data",
    property(
        lambda self: _unversioned(self),
        _set_data,
        doc=(
            "The values without history. Writing to them is not noticed by the engine (an escape"
            " hatch). A new value counts as an in-place change: a graph that needs the old values"
            " raises InPlaceError, where PyTorch computes a wrong gradient with the new ones."
        ),
    ),
)
