"""Which random numbers of a recording are the same: a program draws them once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backend import device_of
from ..core.primitive import Primitive
from ..ops.random import generator
from .payload import Recorded


class Draws:
    """The random numbers that a recording has drawn.

    numbers: by a draw and the generator's state before it (`key`) the number of the value. Where
    the state was put back, as a checkpoint does that computes again, these are equal.
    elsewhere: whether any were drawn on another device than the CPU, whose generators do not tell
    their state: each draw there is one of its own.
    """

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.elsewhere = False

    def key(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """What a random operation is about to draw: equal for draws that give the same numbers."""
        devices = [device_of(o.array) for o in operands if type(o) is Recorded]
        if any(device != "cpu" for device in (params.get("device", "cpu"), *devices)):
            self.elsewhere = True
            return object()
        shapes = tuple((tuple(o.shape), str(o.dtype)) for o in operands)
        state = generator().bit_generator.state
        return primitive.name, shapes, repr(sorted(params.items())), repr(state)
