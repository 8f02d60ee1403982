"""Random numbers as operations without operands: so that draws are recorded, and repeated in a
replay, like everything else that is computed.

Each device has one generator, of its library; all operations of this file read it. A result never
has a derivative.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from ..backend import (
    DType,
    Shape,
    as_payload,
    device_of,
    device_with_index,
    is_complex,
    random_generator,
)
from ..core.primitive import constant
from .costs import EACH

generators: dict[str, Any] = {}
_seed: int | None = None


def generator(device: str = "cpu") -> Any:
    """The generator of a device, made when it is first needed. NumPy's `bit_generator.state` can
    be read and set; CuPy's has none.
    """
    if device != "cpu":
        device = device_with_index(device)
    if device not in generators:
        generators[device] = random_generator(_seed, device)
    return generators[device]


def seed(number: int) -> None:
    """Start the stream of this seed (a whole number; a negative one counts from 2^64), on every
    device."""
    global _seed
    try:
        _seed = operator.index(number) % 2**64
    except TypeError:
        raise TypeError(f"manual_seed: needs a whole number, got {number!r}.") from None
    generators.clear()


def _uniform(xp: Any, *, shape: Shape, dtype: DType, device: str = "cpu") -> Any:
    return as_payload(generator(device).random(shape), dtype)


def _normal(xp: Any, *, shape: Shape, dtype: DType, device: str = "cpu") -> Any:
    draw = generator(device).standard_normal
    real = draw(shape)
    return as_payload(
        (real + 1j * draw(shape)) * math.sqrt(0.5) if is_complex(dtype) else real, dtype
    )


def _integers(
    xp: Any, *, low: int, high: int, shape: Shape, dtype: DType, device: str = "cpu"
) -> Any:
    return as_payload(generator(device).integers(low, high, shape), dtype)


uniform = constant("random_uniform", _uniform, random=True, cost=EACH)
"""Uniform in [0, 1), of a shape."""
normal = constant("random_normal", _normal, random=True, cost=EACH)
"""Normal with mean 0 and variance 1 (of a complex dtype: 1 in total)."""
integers = constant("random_integers", _integers, random=True, cost=EACH)
"""Uniform among the integers low, …, high - 1."""


def _dropout_mask(xp: Any, x: Any, *, p: float) -> Any:
    scale = 0.0 if p >= 1 else 1 / (1 - p)
    return xp.asarray((generator(device_of(x)).random(tuple(x.shape)) >= p) * scale).astype(x.dtype)


dropout_mask = constant(
    "dropout_mask", _dropout_mask, shape="broadcast", random=True, cost=(1, 0, 2)
)
"""In the shape and dtype of x: 0 with probability p, 1/(1 − p) otherwise; drawn again each time
that it runs."""
