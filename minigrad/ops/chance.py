"""Random numbers as operations without operands: so that what was drawn is recorded, and drawn anew, like everything else that is computed.

All of them read the one generator of this file. A result never has a derivative.
"""

from __future__ import annotations

import math
from typing import Any

from ..backend import DType, Shape, as_payload, is_complex, use_random
from ..primitive import constant

_generator: Any = None


def generator() -> Any:
    """The generator in use, NumPy's, made when it is first needed; its `bit_generator.state` can be read and set."""
    global _generator
    if _generator is None:
        _generator = use_random(None)
    return _generator


def seed(number: int) -> None:
    """Begin anew with the stream of this seed."""
    global _generator
    _generator = use_random(number)


def _normal(xp: Any, *, shape: Shape, dtype: DType) -> Any:
    real = generator().standard_normal(shape)
    return as_payload((real + 1j * generator().standard_normal(shape)) * math.sqrt(0.5) if is_complex(dtype) else real, dtype)


uniform = constant("random_uniform", lambda xp, *, shape, dtype: as_payload(generator().random(shape), dtype))
"""Uniform in [0, 1), of a shape."""
normal = constant("random_normal", _normal)
"""Normal with mean 0 and variance 1 (of a complex dtype: 1 in total)."""
integers = constant("random_integers", lambda xp, *, low, high, shape, dtype: as_payload(generator().integers(low, high, shape), dtype))
"""Uniform among the integers low, …, high - 1."""


def _dropout_mask(xp: Any, x: Any, *, p: float) -> Any:
    scale = 0.0 if p >= 1 else 1 / (1 - p)
    return xp.asarray((generator().random(tuple(x.shape)) >= p) * scale).astype(x.dtype)


dropout_mask = constant("dropout_mask", _dropout_mask)
"""In the shape and dtype of x: 0 with probability p, 1/(1 − p) otherwise; drawn anew each time that it runs."""
RANDOM = frozenset(("random_uniform", "random_normal", "random_integers", "dropout_mask"))
"""The names of all operations that read the generator: to run one twice is to draw twice."""
