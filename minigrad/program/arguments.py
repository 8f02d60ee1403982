"""The arguments of a call of a compiled function: which of them are a program's inputs, and what of
the others is a part of the program.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .. import autograd, backend
from ..core.graph import state
from ..core.tensor import Leaf, Tensor, current_node
from .guards import PLAIN, has_hooks


class Arguments:
    """The arguments of a call: tensors (the program's inputs), and what is part of the program.
    key: equal for calls that may share one.

    A leaf is a part of the program, as a parameter is, unless the calls bring another one each
    time. changing: the names of the arguments where they do; a leaf without gradient and hooks is
    an input there. leaves: those that could be inputs and are not, by name; with_gradient: those
    that a .grad keeps from it.
    """

    __slots__ = (
        "_constants", "_numbers", "args", "changing", "containers", "key", "known", "kwargs",
        "leaves", "problem", "roots", "tensors", "with_gradient",
    )  # fmt: skip

    def __init__(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        changing: frozenset[str] = frozenset(),
        known: frozenset[int] = frozenset(),
        constants: Collection[int] = (),
    ) -> None:
        """known: identities of leaves that were inputs before the call, which may have given them
        gradients; constants: those of leaves that were none before it."""
        self.args, self.kwargs, self.changing, self.known = args, kwargs, changing, known
        self._constants = constants
        self.leaves: dict[str, Tensor] = {}
        self.with_gradient: dict[str, Tensor] = {}
        self.tensors: list[Tensor] = []
        self.roots: list[
            tuple[str, Any]
        ] = []  # objects by identity, which the function may look into
        self.containers: list[Any] = []  # the lists, tuples and dicts among them
        self.problem: str | None = None
        self._numbers: dict[int, int] = {}
        settings = (state.recording, backend.default_dtype(), autograd.training)
        self.key = (*settings, *[self._key(f"argument {i}", a) for i, a in enumerate(args)])
        if kwargs:
            self.key += tuple(
                (name, self._key(f"argument {name}", a)) for name, a in kwargs.items()
            )

    def changed(self, made_leaves: Collection[int]) -> bool:
        """Whether a list or dict among them holds other things than it did, or a tensor has another
        .grad. made_leaves: identities of those that are leaves now and were none."""
        known = frozenset(id(t) for t in self.tensors if t.node is not None)
        now = Arguments(self.args, self.kwargs, self.changing, known, made_leaves)
        return self.key != now.key or not (
            _identical(self.tensors, now.tensors) and _identical(self.containers, now.containers)
        )

    def _key(self, name: str, value: Any) -> Any:
        if type(value) is Tensor:
            array, node = value.array, value.node if value.view_of is None else current_node(value)
            made = id(value) in self._constants
            if (
                value.tangents is None and (made or value.stored_grad is None)
                if node is None or made
                else self._is_input(name, value)
            ):
                number = self._numbers.setdefault(id(value), len(self.tensors))
                if number < len(self.tensors):
                    return number  # the same tensor once more
                self.tensors.append(value)
                constant = node is None or made
                # a view of a leaf refuses to be written to
                alone = value.view_of is None or value.view_of.base.node is None
                return array.shape, array.dtype, type(array), array.strides, constant, alone
            if not isinstance(node, Leaf):
                self.problem = f"{name} carries a graph, tangents or a .grad: detach() it"
            self.roots.append((name, value))
            return id(value)
        if isinstance(value, PLAIN):
            return type(value), repr(value)
        if type(value) in (list, tuple, dict):
            return self._container_key(name, value)
        if isinstance(value, backend.NumpyArray):
            self.problem = f"{name} is an array: give it as a tensor, mg.tensor(array)"
        self.roots.append((name, value))
        return id(value)

    def _is_input(self, name: str, value: Tensor) -> bool:
        """Whether a tensor with a graph is an input of the program."""
        node = value.node
        if not isinstance(node, Leaf) or value.view_of is not None or has_hooks(node):
            return False
        if value.tangents is not None:
            return False
        if value.stored_grad is not None and id(value) not in self.known:
            self.with_gradient[name] = value
            return False
        if name not in self.changing:
            self.leaves[name] = value
        return name in self.changing

    def _container_key(self, name: str, value: Any) -> Any:
        kind: Any = type(value)
        known = len(self.containers)
        if kind is not tuple:
            number = self._numbers.setdefault(id(value), -1 - known)
            if number != -1 - known:
                return number  # the same list or dict once more
        self.containers.append(value)
        if kind is dict:
            pairs = value.items()
            return (dict, *[(type(k), k, self._key(f"{name}[{k!r}]", v)) for k, v in pairs])
        return (kind, *[self._key(f"{name}[{i}]", item) for i, item in enumerate(value)])


def _identical(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))
