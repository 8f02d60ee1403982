"""Payloads: the array types, the library that computes on each, and what becomes a payload.

Forward functions of primitives receive the library as `xp` and use nothing else. A tensor's payload
is an array of one of the libraries. NumPy turns 0-d results of float32 and float64 into scalars
(`numpy.float32`, `numpy.float64`). They stay payloads, because they are immutable, a quarter of the
size of a 0-d array and several times faster to compute with. `materialise` makes an array of one
where its memory is to be shared or overwritten.
"""

from __future__ import annotations

import contextvars
import functools
import importlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import DeviceError, DTypeError, ShapeError
from .dtypes import (
    DTYPE_OF_NUMBER,
    PYTHON_SCALARS,
    SINGLE_OR_DOUBLE,
    DType,
    as_dtype,
    complex128,
    default_dtype,
    describe,
    dtype_of_kind,
    float32,
    float64,
    int64,
    integer_of,
    promote,
)

Array = Any
"""A NumPy or CuPy array (or a NumPy float32/float64 scalar standing for a 0-d array)."""
Shape = tuple[int, ...]


def is_differentiable(dtype: DType) -> bool:
    """Only floating and complex numbers have derivatives."""
    return dtype.kind in "fc" or dtype.name == "bfloat16"


# ------------------------------------------------------------------------------- numerical errors


def _float_errors() -> tuple[contextvars.ContextVar[Any], Any]:
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    ((variable, value),) = context.items()
    return variable, value


FLOAT_ERRORS, IGNORED = _float_errors()
"""NumPy's context variable with its error mode, and the value by which it warns of nothing."""


class _IgnoreFloatErrors(threading.local):
    """Compute without NumPy's warnings of division by zero, overflow and invalid values.

    `ignore_float_errors.run(function, *arrays)` calls one function, `with ignore_float_errors():`
    is for a block, such as a backward pass. `with ignore_float_errors(False):` does nothing.

    log(0) = -∞ and exp(1000) = ∞ are answers, and PyTorch gives them without a warning. NumPy keeps
    its error mode in a context variable, so `run` calls the function in a context in which that
    variable is set, and the block sets the variable. This costs 0.05 µs and 0.3 µs; `with
    np.errstate(...)` about 1 µs: half of a small operation. Each thread has its own context,
    because a context runs in one thread at a time.
    """

    def __init__(self) -> None:
        context = contextvars.Context()
        context.run(FLOAT_ERRORS.set, IGNORED)
        self.run = context.run

    def __call__(self, wanted: bool = True) -> Any:
        return _ModeSet() if wanted else _no_context


class _ModeSet:
    """NumPy's error mode is to ignore for a block."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = FLOAT_ERRORS.set(IGNORED)

    def __exit__(self, *_: Any) -> None:
        FLOAT_ERRORS.reset(self._before)


ignore_float_errors = _IgnoreFloatErrors()


# ---------------------------------------------------------------------- array types and libraries

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

_ON_HOST = frozenset(MODULES)
"""The types of operands on which NumPy computes."""

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


def array_module(arrays: Sequence[Any], operation: str = "this operation") -> Any:
    """The library that computes on `arrays`; NumPy where there are only Python scalars. Raises
    DeviceError where two libraries meet.
    """
    if _ON_HOST.issuperset(map(type, arrays)):
        return np
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


def library_of(arrays: Sequence[Any], operation: str) -> Any:
    """The library that computes on `arrays`, as a context in which their device is the current one:
    CuPy starts kernels there, wherever their operands lie.

    Raises DeviceError where they lie on several devices.
    """
    if _ON_HOST.issuperset(map(type, arrays)):
        return _HOST
    library = array_module(arrays, operation)
    if library is np:  # scalars of bfloat16, whose type is no NumPy type, beside arrays
        return _HOST
    numbers = sorted({a.device.id for a in arrays if MODULES.get(type(a)) is library})
    if len(numbers) > 1:
        first, second = (f"{device_of_module(library)}:{number}" for number in numbers[:2])
        raise DeviceError(
            f"{operation}: got arrays of two devices, {first} and {second}. Move one of them first,"
            " for instance with .to(device)."
        )
    if not numbers:
        return nullcontext(library)
    name = device_of_module(library)
    if name == "cuda" and library.cuda.get_device_id() == numbers[0]:  # entering a device is dear
        return nullcontext(library)
    return _library_on(library, f"{name}:{numbers[0]}")


@contextmanager
def _library_on(library: Any, device: str) -> Iterator[Any]:
    with on_device(device):
        yield library


def on_device(device: str) -> Any:
    """A context in which what is made on "cuda" is made on this device. Nothing for the CPU."""
    name, _, number = device.partition(":")
    return load_cupy().cuda.Device(int(number)) if name == "cuda" and number else _no_context


_no_context, _HOST = nullcontext(), nullcontext(np)


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
    wanted = None if dtype is None else as_dtype(dtype)
    kind = type(data)
    if kind is int and (wanted or int64).kind in "iu":
        array = np.asarray(integer_of(data, wanted or int64, "tensor"), wanted or int64)
    elif kind in PYTHON_SCALARS:
        array = ignore_float_errors.run(np.asarray, data, wanted or DTYPE_OF_NUMBER[kind])
    elif kind in MODULES and MODULES[kind] is not None:
        array = data
        if kind is np.memmap:
            array = np.array(data)
        elif copy or (wanted is not None and wanted != data.dtype):
            array = ignore_float_errors.run(array.astype, wanted or data.dtype)
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
        if leaves <= PYTHON_SCALARS and array.dtype == object:  # an integer of more than 64 bits
            array = _with_huge_integers(data, leaves, wanted)
        elif array.dtype == object or array.dtype.kind in "SUMm":
            raise DTypeError(
                f"cannot make a tensor of {describe(data)}: use numbers, nested lists of equal"
                " length, or arrays."
            )
        if wanted is None:
            if array.dtype == np.uint64:
                raise _too_large(data, int64)
            wanted = _dtype_of_leaves(leaves, array.dtype)
        if wanted is not None and wanted != array.dtype:
            if leaves <= {bool, int} and wanted.kind in "iu" and array.size:
                for extreme in (array.min(), array.max()):
                    integer_of(int(extreme), wanted, "tensor")
            array = ignore_float_errors.run(array.astype, wanted)
    return canonical(array)


def _with_huge_integers(data: Any, leaves: set[Any], wanted: DType | None) -> Array:
    """An array of nested lists with integers of more than 64 bits, where the dtype is floating or
    complex. Raises OverflowError for others."""
    if not (is_differentiable(wanted) if wanted is not None else leaves & {float, complex}):
        raise _too_large(data, wanted or int64)
    return np.array(data, dtype=complex128 if complex in leaves else float64)


def _too_large(data: Any, dtype: DType) -> OverflowError:
    return OverflowError(
        f"cannot make a tensor of {describe(data)}: a number is larger than {dtype} can hold."
    )


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
        if result.ndim == 0 and result.dtype in SINGLE_OR_DOUBLE and result.base is None:
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
    if isinstance(array, (np.ndarray, np.generic)):
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
    library = MODULES.get(type(getattr(like, "array", like))) or np
    if library is np and shape == () and dtype in SINGLE_OR_DOUBLE:
        return _constant(like, dtype.type(1))  # sooner than an array of no axes
    return _constant(like, canonical(library.ones(shape, dtype)))


def _constant(like: Array, made: Array) -> Array:
    """A constant as a payload of the kind of `like`, where that is one that records what is done
    with it.
    """
    asked = hasattr(type(like), "__minigrad_constant__")
    return like.__minigrad_constant__(made) if asked else made
