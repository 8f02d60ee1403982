"""The dtype of a function's plain numbers: that of the tensors and arrays that the function holds.

A function holds the parameters of its Module, the attributes of its object, what a partial gives
it, its defaults, its closure, and what its code names in its module. Of the functions, lists,
tuples and dicts among these it holds all that they hold.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

from .. import backend
from ..core.tensor import Tensor
from .source_map import written_by_user

MOST = 2_000
"""Of what holds more values than these no dtype is read."""


def dtype_of_numbers(f: Any, given: Iterable[Any] = (), held: Iterable[Any] | None = None) -> Any:
    """The floating dtype of all tensors and arrays that a function holds and is given; where that
    is not one, or it holds none, float64, so that the shown digits are right.

    held: in place of what f holds.
    """
    found = _dtypes(_held(f) if held is None else held)
    both = found | _dtypes(given)
    return both.pop() if found and len(both) == 1 else backend.float64


def _dtypes(values: Iterable[Any]) -> set[Any]:
    return {v.dtype for v in values if _is_array(v) and v.dtype.kind == "f"}


def _is_array(value: Any) -> bool:
    return isinstance(value, Tensor | backend.NumpyArray)


def _held(f: Any) -> list[Any]:
    """The tensors and arrays that a function holds; none where it holds too much."""
    waiting: list[Any] = []
    while isinstance(f, functools.partial):
        waiting += [f.args, f.keywords]
        f = f.func
    own, owner = written_by_user(f), getattr(f, "__self__", f)
    waiting += [own, owner]
    if not isinstance(owner, FunctionType | type):
        waiting.append(getattr(owner, "__dict__", {}))
    space = getattr(own, "__globals__", {})
    found, seen = [], set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, str | int | float):
            continue
        seen.add(id(value))
        if _is_array(value):
            found.append(value)
        elif hasattr(type(value), "named_parameters"):
            waiting += value.parameters()
        elif isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, FunctionType) and value.__globals__ is space:
            waiting += _held_by_function(value)
        if len(seen) + len(waiting) > MOST:
            return []
    return found


def _held_by_function(f: FunctionType) -> Iterator[Any]:
    yield from f.__defaults__ or ()
    yield from (f.__kwdefaults__ or {}).values()
    for cell in f.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # it is given its value later
            continue
    codes = [f.__code__]
    for code in codes:
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
        yield from (f.__globals__[name] for name in code.co_names if name in f.__globals__)
