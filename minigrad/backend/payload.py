"""Payloads: the array types, the library that computes on each, and what becomes a payload.

Forward functions of primitives receive the library as `xp` and use nothing else. A tensor's payload
is an array of one of the libraries. NumPy turns 0-d results of float32 and float64 into scalars
(`numpy.float32`, `numpy.float64`). They stay payloads, because they are immutable, a quarter of the
size of a 0-d array and several times faster to compute with. `materialise` makes an array of one
where its memory is to be shared or overwritten.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import DeviceError, DTypeError, ShapeError
from .dtypes import (
    DTYPE_OF_NUMBER,
    FAST_DTYPES,
    PYTHON_SCALARS,
    Array,
    DType,
    Shape,
    as_dtype,
    default_dtype,
    describe,
    dtype_of_kind,
    float32,
    float64,
    promote,
)
from .float_errors import ignore_float_errors

MODULES: dict[type, ModuleType | None] = {
    np.ndarray: np,
    np.memmap: np,
    **{
        kind: np
        for kind in np.sctypeDict.values()
        if isinstance(kind, type) and issubclass(kind, np.generic)
    },
    **{kind: None for kind in PYTHON_SCALARS},
}
"""The library that computes on each array type. Python's scalars have none (None): they follow the
arrays they meet.
"""

NumpyArray = np.ndarray

numpy = np
"""The library of payloads in host memory."""

SCALAR_DTYPES: dict[type, DType] = {np.float32: float32, np.float64: float64}

IMMUTABLE = frozenset(SCALAR_DTYPES)
"""Scalar payloads, which cannot be overwritten."""

NUMPY_PAYLOADS = frozenset((np.ndarray, np.float32, np.float64))
"""Types of payloads that NumPy computes on, scalars among them."""


def register_array_type(kind: type, module: ModuleType | Any) -> None:
    """Let arrays of type `kind` be payloads, computed by `module`, a NumPy look-alike. CuPy and the
    tests' fake device come in here.
    """
    MODULES[kind] = module


def array_module(arrays: Iterable[Any], operation: str = "this operation") -> Any:
    """The library that computes on `arrays`; NumPy where there are only Python scalars. Raises
    DeviceError where two libraries meet.
    """
    found: Any = None
    for a in arrays:
        module = MODULES.get(type(a), found)
        if module is not None and module is not found:
            if found is not None:
                raise DeviceError(
                    f"{operation}: got arrays of two devices, {device_of_module(found)} and"
                    f" {device_of_module(module)}. Move one of them first, for instance with"
                    " .to(device) or .cpu()."
                )
            found = module
        elif module is None and type(a).__module__.partition(".")[0] == "cupy":
            load_cupy()
            return array_module(arrays, operation)
    return np if found is None else found


def device_context(library: Any, arrays: Iterable[Any], operation: str) -> Any:
    """A context with the device of `arrays` as the current one: CuPy starts kernels there, wherever
    their operands lie.

    Raises DeviceError where they lie on several devices.
    """
    if library is np:
        return _no_context
    numbers = sorted({a.device.id for a in arrays if MODULES.get(type(a)) is library})
    if len(numbers) > 1:
        first, second = (f"{device_of_module(library)}:{number}" for number in numbers[:2])
        raise DeviceError(
            f"{operation}: got arrays of two devices, {first} and {second}. Move one of them first,"
            " for instance with .to(device)."
        )
    return on_device(f"{device_of_module(library)}:{numbers[0]}") if numbers else _no_context


def on_device(device: str) -> Any:
    """A context in which what is made on "cuda" is made on this device. Nothing for the CPU."""
    name, _, number = device.partition(":")
    return load_cupy().cuda.Device(int(number)) if name == "cuda" and number else _no_context


_no_context = nullcontext()


def load_cupy() -> Any:
    """CuPy, imported on first use; raises DeviceError with advice where it is not installed."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise DeviceError(
            "a CUDA device was asked for, but CuPy is not installed. Get it: pip install"
            ' "minigrad[cuda12]" (or [cuda13], by your driver).'
        ) from error
    register_array_type(cupy.ndarray, cupy)
    return cupy


def device_of_module(module: Any) -> str:
    """`cpu` for NumPy, `cuda` for CuPy, the module's own name otherwise."""
    name = str(getattr(module, "__name__", module))
    return {"numpy": "cpu", "cupy": "cuda"}.get(name, name)


def as_payload(data: Any, dtype: Any = None, copy: bool = True) -> Array:
    """Python data (numbers, nested lists) or an array as a payload. Python floats get the default
    dtype, arrays keep theirs.
    """
    wanted = as_dtype(dtype)
    kind = type(data)
    if kind in MODULES and MODULES[kind] is not None:
        array = data
        if kind is np.memmap:
            array = np.array(data)
        elif copy or (wanted is not None and wanted != data.dtype):
            array = ignore_float_errors.run(array.astype, wanted or data.dtype)
    elif kind in PYTHON_SCALARS:
        array = ignore_float_errors.run(np.asarray, data, wanted or DTYPE_OF_NUMBER[kind])
    elif kind.__module__.partition(".")[0] == "cupy":
        load_cupy()
        return as_payload(data, dtype, copy)
    elif hasattr(kind, "__minigrad_apply__"):  # a batched value
        return data.astype(wanted or data.dtype, copy=copy)
    elif hasattr(data, "__array__") and not isinstance(data, list | tuple):
        array = np.array(data, dtype=wanted)
    else:
        leaves = _kinds_of_leaves(data)
        if any(hasattr(kind, "array") for kind in leaves):
            return as_payload(_with_numbers(data), dtype)
        try:
            array = np.array(data)
        except ValueError as error:
            if "inhomogeneous" not in str(error):
                raise
            raise ShapeError(
                f"cannot make a tensor of {describe(data)}: its rows differ in length. Pad them to"
                " one length first."
            ) from None
        if array.dtype == object or array.dtype.kind in "SUMm":
            raise DTypeError(
                f"cannot make a tensor of {describe(data)}: use numbers, nested lists of equal"
                " length, or arrays."
            )
        if wanted is None:
            if array.dtype == np.uint64:
                raise OverflowError(
                    f"cannot make a tensor of {describe(data)}: a number is larger than int64 can"
                    " hold."
                )
            wanted = _dtype_of_leaves(leaves, array.dtype)
        array = array if wanted is None or wanted == array.dtype else array.astype(wanted)
    return canonical(array)


def _kinds_of_leaves(data: Any) -> set[Any]:
    """Of what nested lists are made: types, and the dtypes of arrays and scalars of NumPy."""
    if not isinstance(data, list | tuple | range):
        return {data.dtype if isinstance(data, np.ndarray | np.generic) else type(data)}
    kinds: set[Any] = set(map(type, data))
    if kinds <= PYTHON_SCALARS:
        return kinds
    return set().union(*map(_kinds_of_leaves, data))


def _dtype_of_leaves(leaves: set[Any], found: DType) -> DType:
    """The dtype of nested lists whose array came out as `found`: Python's floats count as the
    default dtype, arrays as theirs.
    """
    dtypes = [
        leaf if isinstance(leaf, np.dtype) else dtype_of_kind(np.dtype(leaf))
        for leaf in leaves
        if isinstance(leaf, np.dtype) or leaf in PYTHON_SCALARS
    ]
    return (
        functools.reduce(promote, dtypes)
        if dtypes
        else default_dtype()
        if found == float64
        else found
    )


def _with_numbers(data: Any) -> Any:
    """Nested lists with arrays in place of tensors; one of a single element stands for its number,
    as in PyTorch.
    """
    if isinstance(data, list | tuple):
        return [_with_numbers(part) for part in data]
    if not hasattr(data, "array"):
        return data
    array = to_numpy(data.array)
    return array.reshape(())[()] if array.size == 1 else array


def canonical(result: Any) -> Array:
    """A kernel's result as a payload: float32 and float64 of 0 dimensions as scalars, other NumPy
    scalars as 0-d arrays.
    """
    kind = type(result)
    if kind is np.ndarray:
        if result.ndim == 0 and result.dtype in FAST_DTYPES and result.base is None:
            return result[()]
        return result
    if kind in IMMUTABLE or not isinstance(result, np.generic | bool | int | float | complex):
        return result
    return np.asarray(result)


def is_immutable(array: Array) -> bool:
    """Whether the payload is a NumPy scalar, which cannot be overwritten."""
    return type(array) in IMMUTABLE


def materialise(array: Array) -> Array:
    """A real array for a scalar payload; any other payload unchanged."""
    return np.asarray(array) if type(array) in IMMUTABLE else array


def to_numpy(array: Array) -> Any:
    """A host copy (or the array itself on the CPU). This is the only way from a device to the
    host.
    """
    if isinstance(array, np.ndarray | np.generic):
        return array
    return array.get() if hasattr(array, "get") else np.asarray(array)


def zeros(shape: Shape, dtype: DType, like: Array) -> Array:
    """Zeros on the device of `like`."""
    return _constant(
        like,
        canonical((MODULES.get(type(getattr(like, "array", like)), np) or np).zeros(shape, dtype)),
    )


def ones(shape: Shape, dtype: DType, like: Array) -> Array:
    """Ones on the device of `like`."""
    return _constant(
        like,
        canonical((MODULES.get(type(getattr(like, "array", like)), np) or np).ones(shape, dtype)),
    )


def _constant(like: Array, made: Array) -> Array:
    """A constant as a payload of the kind of `like`, where that is one that records what is done
    with it.
    """
    return (
        like.__minigrad_constant__(made) if hasattr(type(like), "__minigrad_constant__") else made
    )
