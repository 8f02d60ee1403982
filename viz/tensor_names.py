"""What the tensors of a recorded graph, of minigrad or PyTorch, are called in the program that
made them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import FrameType
from typing import Any

from minigrad.core.graph import Node, Pick
from minigrad.core.tensor import Tensor


def variables(frame: FrameType) -> Iterator[Mapping[str, Any]]:
    """The caller's variables, then its module's, then those of the functions that called it."""
    yield frame.f_locals
    yield frame.f_globals
    while (outer := frame.f_back) is not None:
        frame = outer
        yield frame.f_locals


class TensorNames:
    """What tensors are called, by their place in the graph and by their memory; the first name
    that is met counts.
    """

    def __init__(self, spaces: list[Mapping[str, Any]]) -> None:
        self._nodes: dict[int, str] = {}
        self._arrays: dict[int, str] = {}
        self._kept: list[Any] = []  # so that no id is given to another object meanwhile
        for name, tensor in named_tensors(spaces, Tensor):
            self._add(name, tensor)

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


def named_tensors(spaces: Iterable[Mapping[str, Any]], kind: type) -> Iterator[tuple[str, Any]]:
    """The tensors of this class in variables: themselves, the parameters of modules, and both of
    them as items of a list, tuple or dict or as attributes of an object, one level deep.
    """
    for space in spaces:
        for name, value in list(space.items()):
            if not str(name).startswith("_"):
                yield from _with_inner(str(name), value, kind)


def _with_inner(name: str, value: Any, kind: type) -> Iterator[tuple[str, Any]]:
    if type(value) in (list, tuple):
        inner = [(f"{name}[{i}]", item) for i, item in enumerate(value)]
    elif type(value) is dict:
        inner = [(f"{name}[{key!r}]", item) for key, item in value.items()]
    elif type(value).__module__.partition(".")[0] in FOREIGN:
        inner = [(name, value)]
    else:
        held = getattr(value, "__dict__", {})
        inner = [(name, value), *((f"{name}.{key}", item) for key, item in held.items())]
    for path, item in inner:
        if isinstance(item, kind):
            yield path, item
        elif not isinstance(item, type) and hasattr(type(item), "named_parameters"):
            yield from ((f"{path}.{part}", tensor) for part, tensor in item.named_parameters())


FOREIGN = {"builtins", "minigrad", "numpy", "torch"}
"""Packages whose objects are not searched: an optimiser's list says nothing of a tensor."""
