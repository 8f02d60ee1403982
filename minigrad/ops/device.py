"""Moving a tensor to another device, as a differentiable operation: its transpose moves the
cotangent back.
"""

from __future__ import annotations

from ..backend import to_device
from ..core.primitive import linear

move = linear(
    "move",
    lambda xp, x, *, device, back: to_device(x, device),
    lambda g, *, device, back: move(g, device=back, back=device),
    view=True,
    pointwise=True,
    notation="move(x, device)",
)
"""x on `device` (x itself where it is there already); `back` names the device it came from."""
