"""What the tensors of a recorded graph are called in the program that made them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

from minigrad.core.graph import Node, Pick
from minigrad.core.tensor import Tensor


def variables(frame: FrameType) -> Iterator[Mapping[str, Any]]:
    """The caller's variables, its own before its module's."""
    yield frame.f_locals
    if frame.f_globals is not frame.f_locals:
        yield frame.f_globals


class TensorNames:
    """What tensors are called, by their place in the graph and by their memory; the first name
    that is met counts.
    """

    def __init__(self, spaces: list[Mapping[str, Any]]) -> None:
        self._nodes: dict[int, str] = {}
        self._arrays: dict[int, str] = {}
        self._kept: list[Any] = []  # so that no id is given to another object meanwhile
        for space in spaces:
            for name, value in list(space.items()):
                if not name.startswith("_"):
                    for full, tensor in _tensors(str(name), value):
                        self._add(full, tensor)

    def _add(self, name: str, tensor: Tensor) -> None:
        self._kept.append(tensor.array)
        self._arrays.setdefault(id(tensor.array), name)
        if tensor.requires_grad:
            node = tensor.node if tensor.grad_fn is None else tensor.grad_fn
            if not isinstance(node, Pick):
                self._nodes.setdefault(id(node), name)

    def of_node(self, node: Node) -> str | None:
        return self._nodes.get(id(node))

    def of_array(self, array: Any) -> str | None:
        return self._arrays.get(id(array))


def _tensors(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    """The tensors in a variable: itself, a module's parameters, or the items of a list, tuple or
    dict (one level deep).
    """
    if isinstance(value, Tensor):
        yield name, value
    elif not isinstance(value, type) and hasattr(type(value), "named_parameters"):
        yield from ((f"{name}.{inner}", tensor) for inner, tensor in value.named_parameters())
    elif type(value) in (list, tuple):
        yield from (
            (f"{name}[{i}]", item) for i, item in enumerate(value) if isinstance(item, Tensor)
        )
    elif type(value) is dict:
        yield from (
            (f"{name}[{key!r}]", item) for key, item in value.items() if isinstance(item, Tensor)
        )
