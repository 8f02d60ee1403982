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


def within_ulps(a: Any, b: Any, most: int = 8) -> bool:
    """Whether two results of `bits` have the same dtypes and shapes, and numbers that differ by no
    more than this many units in the last place of the largest: a BLAS may add in another order
    where an array lies elsewhere in memory."""
    if isinstance(a, tuple):
        x, y = (np.frombuffer(one[2], one[0]) for one in (a, b))
        near = most * np.finfo(x.dtype).eps if x.dtype.kind == "f" else 0
        return a[:2] == b[:2] and bool(np.all(abs(x - y) <= near * abs(x).max(initial=0)))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(within_ulps(a[k], b[k], most) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(within_ulps(*both, most) for both in zip(a, b, strict=True))
    return bool(a == b)


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
