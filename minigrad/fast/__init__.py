"""Shorter paths for what happens most often; never needed to understand the engine.

They guarantee what the core gives: results and gradients equal to the last bit, the same versions,
and nodes that save the same values. Whatever they are not made for (observers, other libraries than
NumPy, other dtypes than float32 and float64, operands that do not fit) they leave to the core, so
errors are the core's. tests/fast compares both over the whole table of cases.

operations.py has a function of one operand, of two or of more for each operation, backward.py a
loop for the usual node. `enable` puts them in the place of what minigrad/core does in so many
calls, `disable` takes them away again, and then everything runs as the core describes.
They are on when minigrad is imported, unless the environment says MINIGRAD_FAST=0: so any program,
and any tests, run without them (`MINIGRAD_FAST=0 pytest tests/core`). One switch for all threads;
do not turn it while another thread computes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core import backward as core_backward
from ..core import primitive
from ..core.primitive import Primitive
from . import backward
from .operations import call, call_binary, call_nary, call_unary, on_itself

__all__ = ["disable", "disabled", "enable", "is_enabled", "operator", "update_operator"]

_operators: list[tuple[type, str, Any, Any]] = []
"""(class, name of the method, the method of the core, its fast path)"""
_clear_call = Primitive.__call__
_clear_pass = core_backward.run_pass
_enabled = False


def is_enabled() -> bool:
    """Whether the fast paths are on."""
    return _enabled


def enable() -> None:
    """Take the fast paths from now on."""
    global _enabled
    if _enabled:
        return
    _enabled = True
    for prim in primitive.registry.values():
        _connect(prim)
    primitive.on_declaration.append(_connect)
    setattr(Primitive, "__call__", call)  # mypy does not let a method be assigned  # noqa: B010
    core_backward.run_pass = backward.run_pass
    for owner, name, _, fast in _operators:
        setattr(owner, name, fast)


def disable() -> None:
    """Run everything as minigrad/core says."""
    global _enabled
    if not _enabled:
        return
    _enabled = False
    primitive.on_declaration.remove(_connect)
    for prim in primitive.registry.values():
        for name in ("call_unary", "call_binary", "call_nary"):
            vars(prim).pop(name, None)
    setattr(Primitive, "__call__", _clear_call)  # noqa: B010
    core_backward.run_pass = _clear_pass
    for owner, name, clear, _ in _operators:
        setattr(owner, name, clear)


@contextmanager
def disabled() -> Iterator[None]:
    """The fast paths are off inside the `with` block."""
    before = _enabled
    disable()
    try:
        yield
    finally:
        if before:
            enable()


def operator(owner: type, name: str, prim: Primitive) -> None:
    """Give the method `name(self, other)` of a class, which calls `prim` where `other` suits it,
    the fast path of `prim`."""
    clear = getattr(owner, name)
    _attach(owner, name, clear, call_binary(prim, lambda a, b, params=None: clear(a, b)))


def reflected_operator(owner: type, name: str, prim: Primitive) -> None:
    """Give the method `name(self, other)`, which computes `prim(other, self)`, its fast path."""
    clear = getattr(owner, name)
    run = call_binary(prim, lambda b, a, params=None: clear(a, b))
    _attach(owner, name, clear, lambda self, other: run(other, self))


def unary_operator(owner: type, name: str, prim: Primitive) -> None:
    """Give the method `name(self)`, which computes `prim(self)`, its fast path."""
    _attach(owner, name, getattr(owner, name), call_unary(prim))


def update_operator(owner: type, name: str, kernel: Callable[[Any, Any], Any]) -> None:
    """Give the method `name(self, other)`, which changes `self` in place, its fast path: `kernel`,
    such as `operator.isub`, changes an array so."""
    clear = getattr(owner, name)
    _attach(owner, name, clear, on_itself(kernel, clear))


def _attach(owner: type, name: str, clear: Any, fast: Any) -> None:
    _operators.append((owner, name, clear, fast))
    if _enabled:
        setattr(owner, name, fast)


def _connect(prim: Any) -> None:
    """Give an operation its fast paths."""
    prim.call_unary, prim.call_binary, prim.call_nary = (
        call_unary(prim),
        call_binary(prim),
        call_nary(prim),
    )


if os.environ.get("MINIGRAD_FAST") != "0":
    enable()
