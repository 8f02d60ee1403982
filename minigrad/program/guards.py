"""Guards: what a replay takes for granted of Python's variables and of tensors, and whether it
still holds.

A guard remembers values; `difference` says in words what has changed. In nearly all calls nothing
has. So each guard also writes itself as an expression that is true while it finds the very objects
that it has kept, and a replay asks all its guards in one function (ready_code.py). Only if that
says no, `difference` compares values.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from .. import backend
from ..core.tensor import Leaf, Tensor

PLAIN = (bool, int, float, complex, str, bytes, type(None))
"""Kinds of values that are compared by what they are, and that lead to nothing else."""
MISSING = object()
"""The value of a variable that does not exist."""
Path = tuple[Any, str]
"""Where a value is found: the object that holds it, and what is written behind its name."""
Namer = Callable[[Any], str]
"""Gives an object a name in the code that is written."""


class Guard:
    """Some variables: `read` gives their values, `labels` their names; `name` is what holds
    them.

    paths: where each value is found, if that can be written; whole: the container that has all of
    them and no others; fresh: `read` makes new objects, all of them bytes or int.
    """

    __slots__ = ("fresh", "ids", "kept", "labels", "name", "paths", "read", "whole")

    def __init__(
        self,
        name: str,
        labels: list[str],
        read: Callable[[], Iterable[Any]],
        paths: Iterable[Path] = (),
        whole: Path | None = None,
        fresh: bool = False,
    ) -> None:
        self.name, self.labels, self.read, self.fresh = name, labels, read, fresh
        self.paths, self.whole = list(paths), whole
        self.kept = list(read())
        self.ids = [*map(id, self.kept)]

    def text(self, named: Namer) -> str:
        """An expression that is true while the values are the objects that were kept. It may raise
        where they are not."""
        if self.fresh:
            return f"[*{named(self.read)}()] == {named(self.kept)}"
        if not self._leads():
            return f"[*map(id, {named(self.read)}())] == {named(self.ids)}"
        pairs = zip(self.paths, self.kept, strict=True)
        tests = [f"{named(holder)}{path} is {named(kept)}" for (holder, path), kept in pairs]
        if self.whole is not None:
            holder, path = self.whole
            count = len(eval(f"it{path}", {"it": holder}))
            tests.insert(0, f"len({named(holder)}{path}) == {count}")
        return " and ".join(tests) or "True"

    def _leads(self) -> bool:
        """Whether the paths lead to the values that were kept."""
        try:
            now = [eval(f"it{path}", {"it": it, "MISSING": MISSING}) for it, path in self.paths]
        except (LookupError, AttributeError, ValueError):
            return False
        return [*map(id, now)] == self.ids and (bool(now) or self.whole is not None)

    def difference(self) -> str | None:
        """The first variable whose value has changed."""
        if [*map(id, self.read())] == self.ids:
            return None
        now = list(self.read())
        if len(now) != len(self.kept):
            return f"{self.name} has {len(now)} items, had {len(self.kept)}"
        for i, (old, new) in enumerate(zip(self.kept, now, strict=True)):
            if old is not new and not _equal(old, new):
                return f"{self.labels[i]} was {_shown(old)}, is {_shown(new)}"
        self.kept, self.ids = now, [*map(id, now)]
        return None


class TensorGuard:
    """What a program takes for granted of a tensor: whether it is a leaf, or a view of one, whether
    it has a gradient, that this is a constant, that it has no hooks.
    """

    def __init__(self, name: str, tensor: Tensor) -> None:
        self.name, self.tensor, self.node = name, tensor, tensor.node
        self.base = _base_of(tensor)
        self.base_node = None if self.base is None else self.base.node
        self.has_grad, self.grad_has_graph = tensor.stored_grad is not None, _grad_has_graph(tensor)
        self.shape, self.dtype = tensor.array.shape, tensor.array.dtype
        self.strides = tensor.array.strides
        self.checked_elsewhere = False  # whether a program checks its shape and dtype
        self.hooked = has_hooks(tensor.node)

    def difference(self, gradients: bool = True) -> str | None:
        """What has changed (`gradients`: also whether there is a .grad)."""
        t = self.tensor
        if t.node is not self.node:
            return f"{self.name} was {_role(self.node)}, is {_role(t.node)}"
        if self.base is not None:  # a view's own node is derived from the base's when it is used
            if _base_of(t) is not self.base:
                return f"{self.name} is a view of another tensor than before"
            if self.base.node is not self.base_node:
                was, now = _role(self.base_node), _role(self.base.node)
                return f"the base of {self.name}, a view, was {was}, is {now}"
        if has_hooks(t.node) is not self.hooked:
            return f"a hook was added to {self.name}, or removed"
        if not self.checked_elsewhere and (
            t.array.shape != self.shape or t.array.dtype != self.dtype
        ):
            return f"{self.name} was {self.dtype} {tuple(self.shape)}, is {t.dtype} {t.shape}"
        if t.array.strides != self.strides:  # by which views and copies are told apart
            return f"{self.name} had the strides {self.strides}, has {t.array.strides}"
        if gradients and (t.stored_grad is not None) is not self.has_grad:
            return (
                f"{self.name}.grad was {'there' if self.has_grad else 'None'}, is"
                f" {'there' if t.stored_grad is not None else 'None'}"
            )
        if gradients and _grad_has_graph(t) is not self.grad_has_graph:
            return f"{self.name}.grad {'had' if self.grad_has_graph else 'has'} a graph"
        return None

    def text(self, named: Namer, gradients: bool) -> str:
        """An expression that is true while `difference` finds nothing, but for shape and dtype of
        a tensor that is checked elsewhere."""
        if self.hooked:
            return f"{named(self.difference)}({gradients}) is None"
        t, node = named(self.tensor), named(self.node)
        tests = [f"{t}.node is {node}"]
        if self.node is not None:
            tests.append(f"not ({node}.hooks or {node}.calls_post_hooks)")
        if self.base is not None:
            tests.append(f"{t}.view_of.base is {named(self.base)}")
            tests.append(f"{named(self.base)}.node is {named(self.base_node)}")
        if gradients:
            tests.append(f"{t}.stored_grad is {'not ' if self.has_grad else ''}None")
            if self.has_grad:
                tests.append(f"{t}.stored_grad.node is None")
        if not self.checked_elsewhere:
            tests.append(array_text(named, f"{t}.array", self.shape, self.dtype, self.strides))
        return " and ".join(tests)

    def problem(self) -> str | None:
        """Why a step that uses this tensor cannot be recorded."""
        t, node = self.tensor, self.tensor.node
        if any(n is not None and not isinstance(n, Leaf) for n in (node, self.base_node)):
            return (
                f"{self.name} is the result of an operation that was recorded outside: detach() it"
            )
        if t.tangents is not None:
            return f"{self.name} carries tangents"
        if self.hooked:
            return f"a hook waits for the gradient of {self.name}"
        if self.grad_has_graph:
            return f"{self.name}.grad is itself part of a graph: detach() it"
        return None


def array_text(named: Namer, array: str, shape: Any, dtype: Any, strides: Any) -> str:
    """An expression that is true while an array is of this type and lies in memory as it did."""
    return (
        f"{array}.shape == {named(shape)} and {array}.dtype is {named(dtype)}"
        f" and {array}.strides == {named(strides)}"
    )


def has_hooks(node: Any) -> bool:
    """Whether a hook waits for this leaf's gradient."""
    return node is not None and bool(node.hooks or node.calls_post_hooks)


def _base_of(tensor: Tensor) -> Tensor | None:
    return None if tensor.view_of is None else tensor.view_of.base


def _grad_has_graph(tensor: Tensor) -> bool:
    return tensor.stored_grad is not None and tensor.stored_grad.node is not None


def _equal(old: Any, new: Any) -> bool:
    """Whether code that reads two different objects sees the same: numbers and strings by value,
    bound methods by function and object."""
    if type(old) is not type(new):
        return False
    if type(old) in PLAIN:
        return repr(old) == repr(new)
    if isinstance(old, types.MethodType):
        return old.__func__ is new.__func__ and old.__self__ is new.__self__
    return isinstance(old, backend.numpy.generic | backend.numpy.dtype) and repr(old) == repr(new)


def _shown(value: Any) -> str:
    if value is MISSING:
        return "missing"
    text = repr(value) if isinstance(value, PLAIN) else f"another {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _role(node: Any) -> str:
    if node is None:
        return "a constant"
    return "a leaf" if isinstance(node, Leaf) else "the result of an operation"
