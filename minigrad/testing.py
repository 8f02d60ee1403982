"""Are two results equal up to rounding? `assert_close` knows by dtype what rounding is, and says
where and by how much they differ.
"""

from __future__ import annotations

from typing import Any

from . import backend
from .core.tensor import Tensor, alias, as_tensor
from .functions import allclose

_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}
_TOLERANCES.update(complex64=_TOLERANCES["float32"], complex128=_TOLERANCES["float64"])
"""(rtol, atol) by dtype, PyTorch's; integers must be equal."""


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol |expected| everywhere and
    shapes (and dtypes) are equal.

    actual, expected: tensors, arrays or numbers, or tuples and lists of them. rtol, atol: both or
    neither; by the coarser of the two dtypes
    if left out. equal_nan: NaN equals NaN. Raises ValueError if only one tolerance is given.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close: give both rtol and atol, or neither.")
    if isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
        if len(actual) != len(expected):
            raise AssertionError(f"{len(actual)} results, but {len(expected)} expected.")
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            try:
                assert_close(
                    a, b, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype
                )
            except AssertionError as error:
                raise AssertionError(f"element {i}: {error}") from None
        return
    plain = not isinstance(actual, Tensor) or not isinstance(expected, Tensor)
    a, b = (alias(as_tensor(v)) for v in (actual, expected))
    if a.shape != b.shape:
        raise AssertionError(f"shapes differ: {a.shape}, expected {b.shape}.")
    if check_dtype and not plain and a.dtype != b.dtype:
        raise AssertionError(f"dtypes differ: {a.dtype}, expected {b.dtype}.")
    if rtol is None or atol is None:
        rtol, atol = max(_TOLERANCES.get(str(v.dtype), (0.0, 0.0)) for v in (a, b))
    wide = backend.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else backend.float64
    if backend.is_differentiable(a.dtype) or backend.is_differentiable(b.dtype):
        a, b = a.to(wide), b.to(wide)
    if allclose(a, b, rtol, atol, equal_nan):
        return
    wrong = ~(
        (a == b)
        | ((a - b).abs() <= atol + rtol * b.abs())
        | ((a.isnan() & b.isnan()) if equal_nan else False)
    )
    first = wrong.nonzero()[0].tolist()
    place = tuple(first)
    raise AssertionError(
        f"{int(wrong.sum())} of {wrong.numel()} elements differ by more than {atol:g} + {rtol:g}"
        f" |expected|; the first at {place}: {a[place].item()}, expected {b[place].item()}."
    )
