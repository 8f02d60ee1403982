"""The graph as users meet it: its nodes and edges, hooks on several tensors at once, hooks on what
nodes keep, and a word to the engine about memory that was changed behind its back.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..core.graph import Node, Pick, state
from ..core.tensor import Tensor, current_node, ensure_version
from ..errors import NoGradientError, one_of
from ..hook_handle import HookHandle
from .edges import GradientEdge
from .saved_tensors import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place of `tensor` in the graph, which stays when the tensor itself is dropped. Raises
    NoGradientError if it needs no gradient.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"get_gradient_edge: needs a Tensor, got {type(tensor).__name__}.")
    node = current_node(tensor)
    if node is None:
        raise NoGradientError(
            "get_gradient_edge: this tensor does not require grad, so it has no place in the graph."
        )
    if isinstance(node, Pick):
        source = node.parents[0]
        assert source is not None
        return GradientEdge(source, node.index, node)
    return GradientEdge(node, 0)


def increment_version(tensor: Any) -> None:
    """Count a change of the memory of a tensor (or several) that was made outside the library, so
    that the checks of saved values see it.

    Raises TypeError for what is no tensor.
    """
    for x in [tensor] if isinstance(tensor, Tensor) else tensor:
        if not isinstance(x, Tensor):
            raise TypeError(f"increment_version: needs tensors, got {type(x).__name__}.")
        ensure_version(x).count += 1


class _Handles:
    """Removes several hooks at once. Usable as a context manager."""

    def __init__(self, handles: Sequence[HookHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Remove these hooks and no others; removing twice is harmless."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], Any], *, mode: str = "all"
) -> _Handles:
    """Call `fn` in each reverse pass that reaches some of `tensors`.

    mode "all": once all gradients that this pass computes are there, `fn(gradients)` with one for
    each tensor (None for those that it does not reach); "any": as soon as the first is there,
    `fn(gradient)`. What `fn` returns is ignored. Returns a handle with `.remove()`. Raises
    ValueError for another mode, NoGradientError for a tensor that requires no gradient.
    """
    one_of("register_multi_grad_hook", "mode", mode, "all", "any")
    tensors = tuple(tensors)
    nodes: list[Node] = []
    for i, x in enumerate(tensors):
        node = current_node(x) if isinstance(x, Tensor) else None
        if node is None:
            raise NoGradientError(
                f"register_multi_grad_hook: tensor {i} does not require grad, so no gradient will"
                " ever reach the hook."
            )
        nodes.append(node)
    passes = _Passes(nodes)
    handles = []
    for index, node in enumerate(nodes):

        def hook(grad: Tensor, index: int = index) -> None:
            gathered = passes.gather(index, grad)
            if mode == "any" and gathered.arrived == 1:
                fn(grad)
            if mode == "all" and gathered.arrived == gathered.expected:
                fn(gathered.gradients)

        handles.append(node.register_tensor_hook(hook))
    return _Handles(handles)


class _Gathered:
    """What one reverse pass has brought so far."""

    def __init__(self, running: Any, expected: int, size: int) -> None:
        self.running, self.expected, self.arrived = weakref.ref(running), expected, 0
        self.gradients: list[Tensor | None] = [None] * size


class _Passes:
    """The reverse passes under way that reach some of `nodes`, in any thread, and what each has
    brought. It keeps nothing alive.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = [weakref.ref(n) for n in nodes]
        self._known: list[_Gathered] = []
        self._lock = threading.Lock()

    def gather(self, index: int, grad: Tensor) -> _Gathered:
        """Note gradient number `index` in the pass that runs in this thread."""
        running = state.running_pass
        with self._lock:
            self._known = [g for g in self._known if g.running() is not None]
            found = next((g for g in self._known if g.running() is running), None)
            if found is None:
                expected = sum(
                    (n := ref()) is not None and n in running.needed for ref in self._nodes
                )
                found = _Gathered(running, expected, len(self._nodes))
                self._known.append(found)
            found.arrived += 1
            found.gradients[index] = grad
            return found
