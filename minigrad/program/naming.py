"""What a function's author calls things: functions, tensors, and the line that runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ..core.tensor import Tensor


def name_of(function: Any) -> str:
    """What a function is called; a callable object by its class."""
    return str(getattr(function, "__name__", type(function).__name__))


def tensors_of(function: Any) -> Iterator[tuple[str, Tensor]]:
    """The tensors that a function finds in its closure, its globals and itself (also in modules and
    containers), each with the name that its author gave it."""
    code, own = getattr(function, "__code__", None), getattr(function, "__self__", function)
    if hasattr(own, "named_parameters"):
        yield from _tensors_in("", own)
    if code is None:
        return
    cells = getattr(function, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars, cells, strict=False):
        try:
            yield from _tensors_in(name, cell.cell_contents)
        except ValueError:  # a variable that has no value yet
            continue
    variables = getattr(function, "__globals__", {})
    for name in code.co_names:
        if name in variables:
            yield from _tensors_in(name, variables[name])


def _tensors_in(name: str, thing: Any) -> Iterator[tuple[str, Tensor]]:
    """The tensors that a variable holds, itself or as a list, tuple, dict or module."""
    dot = f"{name}." if name else ""
    if isinstance(thing, Tensor):
        yield name, thing
    elif isinstance(thing, list | tuple):
        yield from ((f"{name}{i}", t) for i, t in enumerate(thing) if isinstance(t, Tensor))
    elif isinstance(thing, dict):
        yield from ((f"{dot}{key}", t) for key, t in thing.items() if isinstance(t, Tensor))
    elif not isinstance(thing, type | ModuleType) and hasattr(thing, "named_parameters"):
        yield from ((dot + path, t) for path, t in thing.named_parameters())
        if hasattr(thing, "named_buffers"):
            yield from ((dot + path, t) for path, t in thing.named_buffers())


def users_line() -> str:
    """The innermost line that is not the library's: "file.py:12"."""
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    frame: Any = sys._getframe(1)
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(ours + os.sep):
        frame = frame.f_back
    if frame is None:
        return "?"
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
