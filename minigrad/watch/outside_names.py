"""What a program calls a value that it does not compute itself: X, data.X, X[2], X.T.

Nothing of the user's runs for it: variables, attributes and items are read, of lists, tuples,
dicts, arrays of NumPy and tensors of PyTorch only.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from numbers import Integral, Number
from types import CodeType, FrameType
from typing import Any, NamedTuple

from .. import backend
from ..core.tensor import Tensor
from .values import same_numbers


class Variables(NamedTuple):
    """The variables of a running call: its own, with those of the functions around it, and its
    module's."""

    own: Mapping[str, Any]
    module: Mapping[str, Any]

    def of(self, code: CodeType) -> Iterator[tuple[str, Any]]:
        """The variables that a function names."""
        for name in (*code.co_freevars, *code.co_cellvars, *code.co_varnames):
            yield name, self.own.get(name)
        for name in code.co_names:
            yield name, self.module.get(name)

    def named_in(self, expression: ast.AST | None) -> Iterator[tuple[str, Any]]:
        """The values that parts of an expression name, and how: with numbers for the variables of
        an index."""
        for node in () if expression is None else ast.walk(expression):
            if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
                try:
                    yield self._named(node)
                except (_Unknown, LookupError, TypeError, ValueError, OverflowError):
                    continue

    def _named(self, node: ast.expr) -> tuple[str, Any]:
        if isinstance(node, ast.Name):
            space = self.own if node.id in self.own else self.module
            return node.id, space[node.id]
        if isinstance(node, ast.Attribute):
            name, owner = self._named(node.value)
            return f"{name}.{node.attr}", _attribute(owner, node.attr)
        if isinstance(node, ast.Subscript):
            name, owner = self._named(node.value)
            text, index = self._index(node.slice)
            known = (list.__getitem__, tuple.__getitem__, dict.__getitem__)
            if not _is_array(owner) and getattr(type(owner), "__getitem__", None) not in known:
                raise _Unknown
            key = isinstance(index, str) and index.isidentifier()  # as of an input p["W"]
            return f"{name}.{index}" if key else f"{name}[{text}]", owner[index]
        raise _Unknown

    def _index(self, node: ast.expr) -> tuple[str, Any]:
        if isinstance(node, ast.Constant):
            return repr(node.value), node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            text, index = self._index(node.operand)
            return f"-{text}", -index
        if isinstance(node, ast.Slice):
            ends = [None if end is None else self._index(end) for end in _ends(node)]
            texts = ["" if end is None else end[0] for end in ends]
            made = slice(*(None if end is None else end[1] for end in ends))
            return ":".join(texts[:2] if node.step is None else texts), made
        if isinstance(node, ast.Tuple):
            found = [self._index(item) for item in node.elts]
            return ",".join(text for text, _ in found), tuple(index for _, index in found)
        name, index = self._named(node)
        if not isinstance(index, Integral | str | list | backend.NumpyArray):
            raise _Unknown
        return str(index) if isinstance(index, Integral) else name, index


class _Unknown(Exception):
    """A part of an expression that would have to be computed."""


def _ends(node: ast.Slice) -> tuple[ast.expr | None, ...]:
    return node.lower, node.upper, node.step


def _attribute(owner: Any, name: str) -> Any:
    if _is_array(owner):
        if name == "T" and owner.ndim == 2:
            return owner.T
        raise _Unknown
    fields = getattr(type(owner), "_fields", ()) if isinstance(owner, tuple) else ()
    if name in fields:
        return owner[fields.index(name)]
    found = inspect.getattr_static(owner, name, _Unknown)  # a property would be computed
    if found is _Unknown:
        raise _Unknown
    return found


def _is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy or a tensor of PyTorch, whose items are read."""
    return isinstance(value, backend.NumpyArray) or (
        type(value).__module__ == "torch" and hasattr(value, "numpy")
    )


def is_same(held: Any, value: Any) -> bool:
    """Whether what a variable holds is a value, or a tensor with its array."""
    return held is value or (
        isinstance(held, Tensor) and isinstance(value, Tensor) and held.array is value.array
    )


def is_copy(value: Any, held: Any) -> bool:
    """Whether a constant has the elements of what a variable holds, an array or a list."""
    if not (isinstance(held, list | tuple) or _is_array(held)) or isinstance(value, Number):
        return False
    try:
        return same_numbers(_payload(value), _payload(held))
    except (TypeError, ValueError, RuntimeError):
        return False  # a list of other things


def _payload(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.array
    if type(value).__module__ == "torch":
        return value.detach().cpu().numpy()
    return backend.as_payload(value, copy=False)


def place_of(value: Any) -> Any:
    """What tells an array from others while it lives: views of the same elements are the same."""
    if not isinstance(value, backend.NumpyArray):
        return id(value)
    return value.__array_interface__["data"][0], value.shape, value.strides, value.dtype


def tensors_in(frame: FrameType) -> list[Tensor]:
    """The tensors in the variables of a call, each once: in the order of its parameters, or where
    it has made some of lists and arrays, `a, b = as_tensor(x), as_tensor(y)`, in that of these.
    """
    held = list(frame.f_locals.values())
    given = _tensors(held[: frame.f_code.co_argcount])
    made = _tensors([one[::-1] if isinstance(one, list | tuple) else one for one in held[::-1]])
    return given if len(given) == len(made) else made[::-1]


def _tensors(held: list[Any]) -> list[Tensor]:
    lists = [one if isinstance(one, list | tuple) else [one] for one in held]
    found = {id(one): one for some in lists for one in some if isinstance(one, Tensor)}
    return list(found.values())
