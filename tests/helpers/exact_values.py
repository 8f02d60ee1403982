"""Values as something that compares exactly."""

from typing import Any

import numpy as np

import minigrad as mg


def bits(value: Any) -> Any:
    """Tensors and arrays (the fake device's too), nested: dtype, shape and bytes of each."""
    if isinstance(value, mg.Tensor):
        value = value.detach().array
    value = getattr(value, "_memory", value)
    if isinstance(value, np.ndarray | np.generic):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, dict):
        return {k: bits(v) for k, v in value.items()}
    return [bits(v) for v in value] if isinstance(value, list | tuple) else value


def plain(value: Any) -> Any:
    """Nested tensors as lists, which compare by value."""
    if isinstance(value, mg.Tensor):
        return value.detach().tolist()
    return [plain(v) for v in value] if isinstance(value, list | tuple) else value


def assert_same_numbers(found: Any, expected: Any, what: str, either_zero: bool = False) -> None:
    """Equal, NaN included, and zeros of one sign. either_zero: whatever the signs of zeros."""
    np.testing.assert_array_equal(found, expected, err_msg=what)
    if not either_zero and expected.dtype.kind == "f":
        zeros = expected == 0
        signs = (np.signbit(a[zeros]) for a in (found, expected))
        np.testing.assert_array_equal(*signs, err_msg=what)
