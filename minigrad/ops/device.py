"""Moving a tensor to another device, as a differentiable operation: its transpose moves the cotangent back."""

from __future__ import annotations

from typing import Any

from ..backend import to_device
from ..primitive import linear

move = linear("move", lambda xp, x, *, device, back: to_device(x, device), lambda g, *, device, back: _back(g, device, back))
"""x on `device`; `back` names the device it came from."""


def _back(g: Any, device: str, back: str) -> Any:
    return move(g, device=back, back=device)
