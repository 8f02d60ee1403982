"""A door between floors: code below `autograd` that runs a function as one operation with a derivative rule of the user's own.

`nn.Cell` may define `bprop`, but what gives a function a rule, `autograd.Function`, stands above `nn`. So `nn` calls `run` here (and
`together`, for the nodes around a module with backward hooks), and autograd/custom/own.py puts the real ones in their place when the
library is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _not_connected(name: str, compute: Callable[..., Any], rule: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    raise RuntimeError("minigrad.autograd must be imported before an operation with a rule of its own is run.")


def _not_joined(*tensors: Any) -> tuple[Any, ...]:
    raise RuntimeError("minigrad.autograd must be imported before a module with backward hooks is called.")


run: Callable[[str, Callable[..., Any], Callable[..., Any], tuple[Any, ...]], Any] = _not_connected
"""run(name, compute, rule, args): compute(*args), differentiated by rule(*args, out, dout)."""

together: Callable[..., tuple[Any, ...]] = _not_joined
"""together(*tensors): the same tensors, behind one node whose rule is the identity on all of them."""
