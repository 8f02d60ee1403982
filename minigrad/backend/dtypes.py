"""Dtypes: their names, the default one, the one that operands have together, and the numbers that
each can hold.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError

DType = np.dtype[Any]

bool_, uint8, int8, int16, int32, int64 = (
    np.dtype(n) for n in ("bool", "uint8", "int8", "int16", "int32", "int64")
)

float16, float32, float64 = (np.dtype(n) for n in ("float16", "float32", "float64"))

complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

PYTHON_SCALARS = frozenset((bool, int, float, complex))

SINGLE_OR_DOUBLE = frozenset((float32, float64))
"""Arithmetic among equal dtypes of this set needs no promotion: the common case is one set look-up.
"""
NOT_UPCAST = SINGLE_OR_DOUBLE | {None}
"""The dtypes of operands that are never computed in a wider one; a Python number has None.
"""

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
        if dtype == "bfloat16":  # a name that NumPy itself does not know
            return bfloat16_dtype()
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


def can_write(dtype: Any, target: Any) -> bool:
    """Whether values of a dtype may be written into memory of another one: of the same or a higher
    kind."""
    return _category(dtype) <= _category(target)


def dtype_of_kind(dtype: DType) -> DType:
    """The dtype of a Python number of the kind of `dtype`: boolean, int64, the default dtype or its
    complex one.
    """
    return DTYPE_OF_NUMBER[(bool, int, float, complex)[_category(dtype)]]


def complex_of(dtype: DType) -> DType:
    """The complex dtype whose parts have `dtype`; complex64 for what is narrower than float32."""
    return complex128 if dtype == float64 else complex64


def modulo(number: int, dtype: DType) -> int:
    """The number of an integer dtype that equals a Python integer modulo 2ⁿ."""
    bits = 8 * dtype.itemsize
    least = -(1 << bits - 1) if dtype.kind == "i" else 0
    return (number - least) % (1 << bits) + least


def in_range(number: int, dtype: DType, operation: str) -> int:
    """A Python integer that an integer dtype can hold. Raises OverflowError for others."""
    if modulo(number, dtype) != number:
        limits = np.iinfo(dtype)
        raise OverflowError(
            f"{operation}: {describe(number)} is out of the range of {dtype}, {limits.min} to"
            f" {limits.max}. Use a wider dtype, or x.double() to compute in floating point."
        )
    return number


def integer_of(number: int, dtype: DType, operation: str) -> int:
    """A Python integer as it is written into memory of an integer dtype: as in PyTorch, unsigned
    dtypes take a negative one that is greater than -2ⁿ modulo 2ⁿ. Raises OverflowError if it is out
    of range."""
    if dtype.kind == "u" and -(1 << 8 * dtype.itemsize) < number < 0:
        return modulo(number, dtype)
    return in_range(number, dtype, operation)


def describe(data: Any) -> str:
    """A value as text for error messages, shortened to 60 characters."""
    try:
        text = repr(data)
    except ValueError:  # Python writes no integer of more than 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."
