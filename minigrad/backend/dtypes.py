"""Dtypes: their names, questions about them, their limits, and the promotion of mixed operands
(PyTorch's rules).
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError

Array = Any
"""A NumPy or CuPy array (or a NumPy float32/float64 scalar standing for a 0-d array)."""
DType = np.dtype[Any]
Shape = tuple[int, ...]

bool_, uint8, int8, int16, int32, int64 = (
    np.dtype(n) for n in ("bool", "uint8", "int8", "int16", "int32", "int64")
)

float16, float32, float64 = (np.dtype(n) for n in ("float16", "float32", "float64"))

complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

PYTHON_SCALARS = frozenset((bool, int, float, complex))

FAST_DTYPES = frozenset((float32, float64))
"""Arithmetic among equal dtypes of this set needs no promotion: the common case is one set look-up.
"""

finfo, iinfo = np.finfo, np.iinfo
"""The limits of floating and of integer dtypes: eps, max, min, tiny, bits."""


DTYPE_OF_NUMBER: dict[type, DType] = {bool: bool_, int: int64, float: float32, complex: complex64}
"""The dtype of each type of Python number; `set_default_dtype` changes those of float and complex.
"""


def default_dtype() -> DType:
    """The dtype of tensors made from Python floats: float32 unless `set_default_dtype` said
    otherwise.
    """
    return DTYPE_OF_NUMBER[float]


def set_default_dtype(dtype: Any) -> None:
    """Use `dtype` (a floating dtype) for Python floats from now on."""
    wanted = np.dtype(dtype)
    if wanted.kind != "f":
        raise DTypeError(f"the default dtype must be a floating one, got {wanted}.")
    DTYPE_OF_NUMBER[float], DTYPE_OF_NUMBER[complex] = wanted, complex_of(wanted)


def as_dtype(dtype: Any) -> DType | None:
    """A dtype from whatever names one; None stays None."""
    if dtype is None:
        return None
    try:
        found: DType = np.dtype(dtype)
        return found
    except TypeError:
        raise DTypeError(
            f'{dtype!r} names no dtype, such as mg.float32 or "int64" (and no device: those are'
            ' "cpu", "cuda", "cuda:<number>").'
        ) from None


def bfloat16_dtype() -> DType:
    """The bfloat16 dtype. Raises DTypeError with advice where the package that has it is not
    installed.
    """
    found = _bfloat16()
    if found is None:
        raise DTypeError(
            "bfloat16 needs the package ml_dtypes, which is not installed. Get it: pip install"
            " ml_dtypes."
        )
    return found


def _bfloat16() -> DType | None:
    """The bfloat16 dtype if the package ml_dtypes is installed, else None. NumPy has no such type
    of its own.
    """
    try:
        bfloat16: DType = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        return None
    return bfloat16


def is_floating(dtype: DType) -> bool:
    """Real floating dtypes, bfloat16 among them (NumPy gives that one the kind "V")."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def is_narrow(dtype: DType | None) -> bool:
    """float16 and bfloat16, whose sums are accumulated in float32 (ops/sums.py)."""
    return isinstance(dtype, np.dtype) and dtype.itemsize == 2 and dtype.kind in "fV"


def is_complex(dtype: DType) -> bool:
    """complex64 and complex128."""
    return dtype.kind == "c"


def is_differentiable(dtype: DType) -> bool:
    """Only floating and complex numbers have derivatives."""
    return dtype.kind in "fc" or dtype.name == "bfloat16"


def result_type(values: Sequence[Any]) -> DType:
    """The dtype in which `values` (arrays and Python scalars) are combined, by PyTorch's rules.

    Arrays with dimensions decide; 0-d arrays and then Python scalars count only if they are of a
    higher kind (bool < integer < floating < complex). A Python float among integers gives the
    default dtype, a complex one beside float16 complex64, as NumPy has none narrower. Source:
    PyTorch's documentation of type promotion (tensor attributes), tested against it.
    """
    ranked: list[DType | None] = [
        None,
        None,
        None,
    ]  # by dimensioned arrays, 0-d arrays, Python scalars
    for v in values:
        kind = type(v)
        if kind in PYTHON_SCALARS:
            rank, dtype = 2, DTYPE_OF_NUMBER[kind]
        else:
            if not hasattr(v, "dtype"):
                raise DTypeError(
                    f"an operation takes tensors, arrays and numbers, got {describe(v)}"
                    f" ({kind.__name__})."
                )
            rank, dtype = (0 if v.ndim else 1), v.dtype
        seen = ranked[rank]
        ranked[rank] = dtype if seen is None else promote(seen, dtype)
    result: DType | None = None
    for candidate in ranked:
        if candidate is None:
            continue
        if result is None:
            result = candidate
        elif _category(candidate) > _category(result):
            result = (
                candidate
                if _category(candidate) < 3 or _category(result) < 2
                else complex_of(result)
            )
    return default_dtype() if result is None else result


def promote_types(a: Any, b: Any) -> DType:
    """The dtype in which arrays of two dtypes are combined, by PyTorch's rules."""
    return promote(np.dtype(a), np.dtype(b))


def promote(a: DType, b: DType) -> DType:
    """The dtype of two arrays of the same rank in promotion. Unlike NumPy, an integer never widens
    a float: int64 with float32 is float32.
    """
    if a == b:
        return a
    low, high = sorted((a, b), key=_category)
    if _category(low) < 2 <= _category(high):
        return high
    if (
        low.itemsize == high.itemsize == 2
        and "bfloat16" in (low.name, high.name)
        and _category(high) == 2
    ):
        return float32  # float16 and bfloat16 each hold what the other cannot
    if "bfloat16" in (low.name, high.name) and _category(high) == 3:
        return high
    return np.promote_types(a, b)


def _category(dtype: DType) -> int:
    return 3 if dtype.kind == "c" else 2 if is_floating(dtype) else 1 if dtype.kind in "iu" else 0


def dtype_of_kind(dtype: DType) -> DType:
    """The dtype of a Python number of the kind of `dtype`: boolean, int64, the default dtype or its
    complex one.
    """
    return DTYPE_OF_NUMBER[(bool, int, float, complex)[_category(dtype)]]


def complex_of(dtype: DType) -> DType:
    """The complex dtype whose parts have `dtype`; complex64 for what is narrower than float32."""
    return complex128 if dtype == float64 else complex64


def describe(data: Any) -> str:
    """A value as text for error messages, shortened to 60 characters."""
    text = repr(data)
    return text if len(text) <= 60 else text[:57] + "..."


def largest(dtype: DType) -> float:
    """The largest finite number of a floating dtype."""
    if dtype.kind == "f":
        return float(np.finfo(dtype).max)
    return float(importlib.import_module("ml_dtypes").finfo(dtype).max)


def lowest(dtype: DType) -> Any:
    """The smallest value of the dtype: -infinity, the smallest integer, False."""
    return (
        float("-inf")
        if is_floating(dtype)
        else False
        if dtype == bool_
        else int(np.iinfo(dtype).min)
    )


def highest(dtype: DType) -> Any:
    """The largest value of the dtype: infinity, the largest integer, True."""
    return (
        float("inf") if is_floating(dtype) else True if dtype == bool_ else int(np.iinfo(dtype).max)
    )


def precision(dtype: DType) -> float:
    """The distance from 1 to the next number of a floating or complex dtype."""
    return float(
        (np if dtype.kind in "fc" else importlib.import_module("ml_dtypes")).finfo(dtype).eps
    )
