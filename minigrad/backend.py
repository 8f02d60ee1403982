"""The one seam between minigrad and the array libraries: no other file imports numpy or cupy.

After reading this file you know which library runs an operation (`array_module`), how a result's dtype is chosen (`result_type`, PyTorch's
rules), and which few jobs NumPy and CuPy do differently. Forward functions of primitives receive the library as `xp` and use nothing else.

A tensor's payload is an array of one of the libraries. NumPy turns 0-d results of float32 and float64 into scalars (`numpy.float32`,
`numpy.float64`); we keep those as they are, because they are immutable, a quarter of the size of a 0-d array and several times faster to
compute with. `owned_array` gives such a payload memory of its own when somebody wants to share or overwrite it.
"""

from __future__ import annotations

import contextvars
import functools
import importlib
import math
import os
import struct
import sys
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from .errors import DeviceError, DTypeError, LinAlgError, ShapeError

Array = Any
"""A NumPy or CuPy array (or a NumPy float32/float64 scalar standing for a 0-d array)."""
DType = np.dtype[Any]
Shape = tuple[int, ...]

bool_, uint8, int8, int16, int32, int64 = (np.dtype(n) for n in ("bool", "uint8", "int8", "int16", "int32", "int64"))
float16, float32, float64 = (np.dtype(n) for n in ("float16", "float32", "float64"))
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

pi, e, inf, nan = float(np.pi), float(np.e), float("inf"), float("nan")

PYTHON_SCALARS = frozenset((bool, int, float, complex))
FAST_DTYPES = frozenset((float32, float64))
"""Arithmetic among equal dtypes of this set needs no promotion: the common case is one set look-up."""

MODULES: dict[type, ModuleType | None] = {np.ndarray: np, np.memmap: np}
"""Which library owns an array type. Python's scalars belong to nobody (None): they follow the arrays they meet."""
MODULES.update({kind: np for kind in np.sctypeDict.values() if isinstance(kind, type) and issubclass(kind, np.generic)})
MODULES.update({kind: None for kind in PYTHON_SCALARS})

HostArray = np.ndarray
host = np
"""The library of payloads in host memory."""
np.empty((1 << 25) - (1 << 13), "uint8")
"""Made and dropped at once, never touched. The GNU C library gives the memory of a large array back to the system when it is freed, and
each page of the next one then costs a fault, unless it has seen one of that size freed before: from then on it keeps as much for the next
ones. 32 MiB is the most that it learns from. Elsewhere this does nothing.
"""
SCALAR_DTYPES: dict[type, DType] = {np.float32: float32, np.float64: float64}
IMMUTABLE = frozenset(SCALAR_DTYPES)
"""Scalar payloads: nobody can overwrite them."""
HOST_PAYLOADS = frozenset((np.ndarray, np.float32, np.float64))
"""Types of payloads that NumPy computes on, scalars among them."""
_default_dtype = float32


def register_array_type(kind: type, module: ModuleType | Any) -> None:
    """Let arrays of type `kind` be payloads, computed by `module`, a NumPy look-alike. CuPy and the tests' fake device come in here."""
    MODULES[kind] = module


def _bfloat16() -> DType | None:
    """The bfloat16 dtype if the package ml_dtypes is installed, else None. NumPy has no such type of its own."""
    try:
        bfloat16: DType = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        return None
    return bfloat16


# ---------------------------------------------------------------------------------------------------------------- which library


def array_module(arrays: Iterable[Any], operation: str = "this operation") -> Any:
    """The library that computes on `arrays`; NumPy where there are only Python scalars. Raises DeviceError where two libraries meet."""
    found: Any = None
    for a in arrays:
        module = MODULES.get(type(a), found)
        if module is not None and module is not found:
            if found is not None:
                raise DeviceError(
                    f"{operation}: got arrays of two devices, {device_of_module(found)} and {device_of_module(module)}. "
                    "Move one of them first, for instance with .to(device) or .cpu()."
                )
            found = module
        elif module is None and type(a).__module__.partition(".")[0] == "cupy":
            load_cupy()
            return array_module(arrays, operation)
    return np if found is None else found


def at_home(library: Any, arrays: Iterable[Any], operation: str) -> Any:
    """A context in which `library` works where its arrays are: CuPy starts kernels on the current device, wherever their operands lie.

    Raises DeviceError where they lie on several devices.
    """
    if library is np:
        return _here
    numbers = sorted({a.device.id for a in arrays if MODULES.get(type(a)) is library})
    if len(numbers) > 1:
        first, second = (f"{device_of_module(library)}:{number}" for number in numbers[:2])
        raise DeviceError(
            f"{operation}: got arrays of two devices, {first} and {second}. Move one of them first, for instance with .to(device)."
        )
    return on_device(f"{device_of_module(library)}:{numbers[0]}") if numbers else _here


def on_device(device: str) -> Any:
    """A context in which what is made on "cuda" is made on this device. Nothing for the CPU."""
    name, _, number = device.partition(":")
    return load_cupy().cuda.Device(int(number)) if name == "cuda" and number else _here


_here = nullcontext()


def numbered(device: str) -> str:
    """The device's full name: "cuda" means the current one of its kind, such as "cuda:0"."""
    name, _, number = device.partition(":")
    if name == "cpu" or number:
        return device
    if name == "cuda":
        need_cuda(f'device "{device}"')
    return f"{name}:{load_cupy().cuda.get_device_id() if name == 'cuda' else 0}"


def library_of(device: str) -> Any:
    """The library that works on a device ("cpu", "cuda", "cuda:1"). Raises DeviceError where there is none."""
    name = device.partition(":")[0]
    if name == "cuda":
        need_cuda(f'device "{device}"')
        return load_cupy()
    for module in MODULES.values():
        if module is not None and device_of_module(module) == name:
            return module
    raise DeviceError(f'unknown device "{device}": use "cpu", "cuda" or "cuda:<number>".')


def load_cupy() -> Any:
    """CuPy, imported on first use; raises DeviceError with advice where it is not installed."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise DeviceError(
            'a CUDA device was asked for, but CuPy is not installed. Get it: pip install "minigrad[cuda12]" (or [cuda13], by your driver).'
        ) from error
    register_array_type(cupy.ndarray, cupy)
    return cupy


def cuda_is_available() -> bool:
    """Whether CuPy is installed and sees a device. Never raises."""
    try:
        return int(load_cupy().cuda.runtime.getDeviceCount()) > 0
    except Exception:  # CuPy raises many kinds of errors without a driver, all of which mean "no"
        return False


def need_cuda(what: str) -> None:
    """Raise DeviceError, saying what is missing, where there is no CuPy or no CUDA device."""
    load_cupy()
    if not cuda_is_available():
        raise DeviceError(f"{what}: CuPy is installed, but it sees no CUDA device. Compute on the CPU (leave out device and .cuda()).")


def device_of_module(module: Any) -> str:
    """`cpu` for NumPy, `cuda` for CuPy, the module's own name otherwise."""
    name = str(getattr(module, "__name__", module))
    return {"numpy": "cpu", "cupy": "cuda"}.get(name, name)


class Device(str):
    """Where memory is, as a string ("cpu", "cuda:0") that can also be asked for its parts.

    Device("cuda:1") and Device("cuda", 1) are the same. type: "cpu" or "cuda"; index: the number, None where none was given.
    """

    __slots__ = ()

    def __new__(cls, type: str, index: int | None = None) -> Device:
        return super().__new__(cls, type if index is None else f"{type}:{int(index)}")

    @property
    def type(self) -> str:
        """The kind of device."""
        return str(self).partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]  # PyTorch's name; str.index is of no use here
        """Which one of its kind."""
        number = str(self).partition(":")[2]
        return int(number) if number else None

    def __repr__(self) -> str:
        return f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"


def device_of(array: Array) -> str:
    """`cpu`, or `cuda:<number>` for CuPy arrays."""
    if type(array) in HOST_PAYLOADS:
        return "cpu"
    if hasattr(type(array), "__minigrad_apply__"):  # a batched or recorded value
        return device_of(array.array)
    name = device_of_module(MODULES.get(type(array), np) or np)
    return name if name == "cpu" else f"{name}:{array.device.id}"


def to_device(array: Array, device: str) -> Array:
    """`array` on `device` ("cpu", "cuda", "cuda:1"); the same object if it is there already. DeviceError: nobody knows it."""
    here = device_of(array)
    if device in (here, here.partition(":")[0]):
        return array
    if device == "cpu":
        return to_numpy(array)
    library = library_of(device)
    with on_device(device):
        return library.asarray(array)


def beside(array: Array, like: Array) -> Array:
    """`array` on the device of `like`."""
    return array if same_device(array, like) else to_device(array, device_of(like))


def same_device(a: Array, b: Array) -> bool:
    """Whether both payloads are in host memory, or both on the same device."""
    return (type(a) in HOST_PAYLOADS and type(b) in HOST_PAYLOADS) or device_of(a) == device_of(b)


def to_numpy(array: Array) -> Any:
    """A host copy (or the array itself on the CPU). This is the only way from a device to the host."""
    if isinstance(array, np.ndarray | np.generic):
        return array
    return array.get() if hasattr(array, "get") else np.asarray(array)


# ------------------------------------------------------------------------------------------------------------------------ dtypes


def default_dtype() -> DType:
    """The dtype of tensors made from Python floats: float32 unless `set_default_dtype` said otherwise."""
    return _default_dtype


def set_default_dtype(dtype: Any) -> None:
    """Use `dtype` (a floating dtype) for Python floats from now on."""
    global _default_dtype
    wanted = np.dtype(dtype)
    if wanted.kind != "f":
        raise DTypeError(f"the default dtype must be a floating one, got {wanted}.")
    _default_dtype = wanted


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


def _category(dtype: DType) -> int:
    return 3 if dtype.kind == "c" else 2 if is_floating(dtype) else 1 if dtype.kind in "iu" else 0


def _promote(a: DType, b: DType) -> DType:
    """Two dtypes of equal standing. Unlike NumPy, an integer never widens a float: int64 with float32 is float32."""
    if a == b:
        return a
    low, high = sorted((a, b), key=_category)
    if _category(low) < 2 <= _category(high):
        return high
    if low.itemsize == high.itemsize == 2 and "bfloat16" in (low.name, high.name) and _category(high) == 2:
        return float32  # float16 and bfloat16 each hold what the other cannot
    if "bfloat16" in (low.name, high.name) and _category(high) == 3:
        return high
    return np.promote_types(a, b)


def result_type(values: Sequence[Any]) -> DType:
    """The dtype in which `values` (arrays and Python scalars) are combined, by PyTorch's rules.

    Arrays with dimensions decide; 0-d arrays and then Python scalars count only if they are of a higher kind (bool < integer < floating <
    complex). A Python float among integers gives the default dtype, a complex one beside float16 complex64, as NumPy has none narrower.
    Source: PyTorch's documentation of type promotion (tensor attributes), tested against it.
    """
    ranked: list[DType | None] = [None, None, None]  # by dimensioned arrays, 0-d arrays, Python scalars
    for v in values:
        kind = type(v)
        if kind in PYTHON_SCALARS:
            rank, dtype = (
                2,
                bool_ if kind is bool else int64 if kind is int else _default_dtype if kind is float else _complex_of(_default_dtype),
            )
        else:
            if not hasattr(v, "dtype"):
                raise DTypeError(f"an operation takes tensors, arrays and numbers, got {_describe(v)} ({kind.__name__}).")
            rank, dtype = (0 if v.ndim else 1), v.dtype
        ranked[rank] = dtype if ranked[rank] is None else _promote(ranked[rank], dtype)  # type: ignore[arg-type]
    result: DType | None = None
    for candidate in ranked:
        if candidate is None:
            continue
        if result is None:
            result = candidate
        elif _category(candidate) > _category(result):
            result = candidate if _category(candidate) < 3 or _category(result) < 2 else _complex_of(result)
    return _default_dtype if result is None else result


def dtype_of_kind(dtype: DType) -> DType:
    """The dtype of a Python number of the kind of `dtype`: boolean, int64, the default dtype or its complex one."""
    return (bool_, int64, _default_dtype, _complex_of(_default_dtype))[_category(dtype)]


def _complex_of(dtype: DType) -> DType:
    return complex128 if dtype == float64 else complex64


# ------------------------------------------------------------------------------------------------------------ making and owning


def as_payload(data: Any, dtype: Any = None, copy: bool = True) -> Array:
    """Python data (numbers, nested lists) or an array as a payload. Python floats get the default dtype, arrays keep theirs."""
    wanted = as_dtype(dtype)
    kind = type(data)
    if kind in MODULES and MODULES[kind] is not None:
        array = data
        if kind is np.memmap:
            array = np.array(data)
        elif copy or (wanted is not None and wanted != data.dtype):
            array = silently.run(array.astype, wanted or data.dtype)
    elif kind in PYTHON_SCALARS:
        array = silently.run(np.asarray, data, wanted or result_type([data]))
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
                f"cannot make a tensor of {_describe(data)}: its rows differ in length. Pad them to one length first."
            ) from None
        if array.dtype == object or array.dtype.kind in "SUMm":
            raise DTypeError(f"cannot make a tensor of {_describe(data)}: use numbers, nested lists of equal length, or arrays.")
        if wanted is None:
            if array.dtype == np.uint64:
                raise OverflowError(f"cannot make a tensor of {_describe(data)}: a number is larger than int64 can hold.")
            wanted = _dtype_of_leaves(leaves, array.dtype)
        array = array if wanted is None or wanted == array.dtype else array.astype(wanted)
    return normal(array)


def _describe(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else text[:57] + "..."


def _kinds_of_leaves(data: Any) -> set[Any]:
    """Of what nested lists are made: types, and the dtypes of arrays and scalars of NumPy."""
    if not isinstance(data, list | tuple | range):
        return {data.dtype if isinstance(data, np.ndarray | np.generic) else type(data)}
    kinds: set[Any] = set(map(type, data))
    if kinds <= PYTHON_SCALARS:
        return kinds
    return set().union(*map(_kinds_of_leaves, data))


def _dtype_of_leaves(leaves: set[Any], found: DType) -> DType:
    """The dtype of nested lists whose array came out as `found`: Python's floats count as the default dtype, arrays as theirs."""
    dtypes = [
        leaf if isinstance(leaf, np.dtype) else dtype_of_kind(np.dtype(leaf))
        for leaf in leaves
        if isinstance(leaf, np.dtype) or leaf in PYTHON_SCALARS
    ]
    return functools.reduce(_promote, dtypes) if dtypes else _default_dtype if found == float64 else found


def _with_numbers(data: Any) -> Any:
    """Nested lists with arrays in place of tensors; one of a single element stands for its number, as in PyTorch."""
    if isinstance(data, list | tuple):
        return [_with_numbers(part) for part in data]
    if not hasattr(data, "array"):
        return data
    array = to_numpy(data.array)
    return array.reshape(())[()] if array.size == 1 else array


def normal(result: Any) -> Array:
    """A kernel's result in payload form: arrays as they are; float32/float64 scalars as they are; other NumPy scalars as 0-d arrays."""
    kind = type(result)
    if kind is np.ndarray:
        if result.ndim == 0 and result.dtype in FAST_DTYPES and result.base is None:
            return result[()]
        return result
    if kind in IMMUTABLE or not isinstance(result, np.generic | bool | int | float | complex):
        return result
    return np.asarray(result)


def is_immutable(array: Array) -> bool:
    """Whether the payload is a NumPy scalar, which nobody can overwrite."""
    return type(array) in IMMUTABLE


def from_dlpack(source: Any) -> Array:
    """An array on the memory of whoever speaks the DLPack protocol, on the host or on a CUDA device, without copying.

    Raises TypeError for who does not, and for what cannot be shared (a dtype that NumPy has not, say); DeviceError for memory elsewhere.
    """
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        raise TypeError(f"from_dlpack: needs an array or tensor with the DLPack protocol (__dlpack__), got {type(source).__name__}.")
    place = int(source.__dlpack_device__()[0])
    if place not in _DLPACK:
        raise DeviceError(f"from_dlpack: memory is on a device of DLPack's kind {place}; minigrad knows the CPU (1) and CUDA (2, 3, 13).")
    library = library_of(_DLPACK[place])
    try:
        return library.from_dlpack(source)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise TypeError(f"from_dlpack: {_describe(source)} cannot be taken over: {reason}.") from error


_DLPACK = {1: "cpu", 2: "cuda", 3: "cpu", 13: "cuda"}
"""DLPack's numbers of kinds of memory (kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged), by the library that works there."""


def owned_array(array: Array) -> Array:
    """A real array for a scalar payload; any other payload unchanged."""
    return np.asarray(array) if type(array) in IMMUTABLE else array


def zeros(shape: Shape, dtype: DType, like: Array) -> Array:
    """Zeros on the device of `like`."""
    return _beside_payload(like, normal((MODULES.get(type(getattr(like, "array", like)), np) or np).zeros(shape, dtype)))


def ones(shape: Shape, dtype: DType, like: Array) -> Array:
    """Ones on the device of `like`."""
    return _beside_payload(like, normal((MODULES.get(type(getattr(like, "array", like)), np) or np).ones(shape, dtype)))


def full(shape: Shape, value: Array, device: str) -> Array:
    """An array on a device, filled with a host's number; only the number travels."""
    library = library_of(device)
    with on_device(device):
        return normal(library.full(shape, value.item(), value.dtype))


def _beside_payload(like: Array, made: Array) -> Array:
    """A constant as a payload of the kind of `like`, where that is one that records what is done with it."""
    return like.__minigrad_constant__(made) if hasattr(type(like), "__minigrad_constant__") else made


finfo, iinfo = np.finfo, np.iinfo
"""The limits of floating and of integer dtypes: eps, max, min, tiny, bits."""


def bfloat16_dtype() -> DType:
    """The bfloat16 dtype. Raises DTypeError with advice where the package that has it is not installed."""
    found = _bfloat16()
    if found is None:
        raise DTypeError("bfloat16 needs the package ml_dtypes, which is not installed. Get it: pip install ml_dtypes.")
    return found


def promote_types(a: Any, b: Any) -> DType:
    """The dtype in which arrays of two dtypes are combined, by PyTorch's rules."""
    return _promote(np.dtype(a), np.dtype(b))


def as_dtype(dtype: Any) -> DType | None:
    """A dtype from whatever names one; None stays None."""
    if dtype is None:
        return None
    try:
        found: DType = np.dtype(dtype)
        return found
    except TypeError:
        raise DTypeError(
            f'{dtype!r} names no dtype, such as mg.float32 or "int64" (and no device: those are "cpu", "cuda", "cuda:<number>").'
        ) from None


def arange(start: float, end: float, step: float, dtype: Any, device: str = "cpu") -> Array:
    """Evenly stepped numbers."""
    return _counted_out(device, "arange", start, end, step, dtype)


def linspace(start: float, end: float, steps: int, dtype: Any, device: str = "cpu") -> Array:
    """Evenly spaced numbers."""
    return _counted_out(device, "linspace", start, end, steps, dtype)


def eye(n: int, m: int, dtype: Any, device: str = "cpu") -> Array:
    """Ones on the diagonal."""
    return _counted_out(device, "eye", n, m, 0, dtype)


def _counted_out(device: str, name: str, first: Any, second: Any, third: Any, dtype: Any) -> Array:
    """NumPy's function of this name, or the same one of a device's library, so that nothing has to travel there."""
    library = np if device == "cpu" else library_of(device)
    with on_device(device):
        return getattr(library, name)(first, second, third, dtype=dtype)


def unit_rows(rows: int, start: int, columns: int, dtype: Any, like: Array) -> Array:
    """Columns `start` to `start + columns` of the identity matrix with so many rows, on the device of `like`."""
    module = MODULES.get(type(getattr(like, "array", like)), np) or np
    return module.eye(rows, columns, -start, dtype=dtype)


def index_array(index: list[Any]) -> Array:
    """A list used as an index; an empty one selects nothing. Raises IndexError where its rows differ in length."""
    try:
        found = np.asarray([i.array if hasattr(i, "array") else i for i in index])
    except ValueError:
        found = np.asarray(None)
    if found.dtype == object:
        raise IndexError(f"the index {_describe(index)} is no array of numbers: its parts differ in shape, or are no numbers.")
    return found if found.size else found.astype(np.int64)


def allclose(a: Array, b: Array, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Element-wise closeness of two arrays, on their own device."""
    return bool(array_module([a, b]).allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def is_window(array: Array, source: Array) -> bool:
    """Whether `array`, made by a view operation from `source`, looks into the same memory (and was not copied)."""
    base = getattr(array, "base", None)
    if array is source:
        return True
    if base is None:
        return False
    if base is source or base is source.base:
        return True
    inner = getattr(base, "base", None)  # `as_strided` of NumPy puts an object between a view and its base
    return inner is not None and (inner is source or inner is source.base or inner is getattr(source, "array", None))


def stretched(xp: Any, array: Array, shape: Shape) -> Array:
    """A view of `array` in a larger shape, its elements repeated along new axes and axes of size 1. Read-only where an axis grows,
    because elements then share memory.
    """
    lead = len(shape) - array.ndim
    if shape[lead:] == array.shape and shape[:lead] == (1,) * lead and lead >= 0:
        return array.reshape(shape)  # no axis grows
    if (
        xp is np
        and lead >= 0
        and array.dtype in FAST_DTYPES
        and array.flags.c_contiguous
        and array.size
        and 0 not in shape
        and all([n in (1, m) for n, m in zip(array.shape, shape[lead:], strict=True)])
    ):
        # the same window as NumPy's function, which is written in Python and takes six times as long to make one
        strides = (0,) * lead + tuple([0 if n == 1 else step for n, step in zip(array.shape, array.strides, strict=True)])
        window = np.ndarray(shape, array.dtype, array, 0, strides)
        window.flags.writeable = False
        return window
    return xp.broadcast_to(array, shape)


def beside_row(function: Callable[..., Array], x: Array, y: Array, params: dict[str, Any]) -> Array:
    """`function(host, x, y, **params)`, element by element, of two arrays in host memory whose shapes differ.

    NumPy takes a loop of its own for each row of a table that meets a row (a bias). Where rows are short, the row is repeated until it is
    a long one, and meets several rows of the table at once: 10,000 x 10 and 10 take 23 µs instead of 57,
    4,000 x 25 and 25 take 22 instead of 34.
    """
    table, row = (x, y) if x.ndim > y.ndim else (y, x)
    if row.ndim == 1 and 2 <= row.size <= 64 and table.size >= 1500 * row.size and table.shape[-1] == row.size and table.flags.c_contiguous:
        count = _rows_at_once(table.size // row.size)
        if count > 1:
            repeated = np.empty((count, row.size), row.dtype)
            repeated[...] = row
            lines, line = table.reshape(-1, count * row.size), repeated.reshape(-1)
            return function(np, *((lines, line) if table is x else (line, lines)), **params).reshape(table.shape)
    return function(np, x, y, **params)


@functools.lru_cache(1024)
def _rows_at_once(count: int) -> int:
    """The largest divisor up to the root: to repeat a row so often, and to go so often through what it then meets, is least work."""
    return next(n for n in range(math.isqrt(count), 0, -1) if count % n == 0)


def is_expanded(array: Array) -> bool:
    """Whether an axis of `array` has the same element at all places."""
    return 0 in array.strides and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True))


def overlaps_itself(array: Array) -> bool:
    """Whether one memory location has several indices of `array`, as in an expanded array."""
    if array.flags.c_contiguous or array.flags.f_contiguous or array.size < 2:
        return False
    if is_expanded(array):
        return True
    strides, shape = array.strides, array.shape
    if len(shape) == 1:
        return False
    end = 0  # how far the last element of the axes seen so far, those of small strides, lies behind the first
    for stride, size in sorted([(abs(stride), size) for stride, size in zip(strides, shape, strict=True) if size > 1]):
        if stride <= end:
            break
        end += stride * (size - 1)
    else:
        return False
    places = np.zeros((), np.int64)  # the axes interleave: only the addresses can tell
    for stride, size in zip(strides, shape, strict=True):
        places = np.add.outer(places, np.arange(size) * stride)
    return bool(np.unique(places).size < array.size)


def is_writable(array: Array) -> bool:
    """Whether the array's memory may be overwritten (scalar payloads get memory of their own first, CuPy's arrays always may)."""
    return is_immutable(array) or bool(getattr(array.flags, "writeable", True))


def is_dense(array: Array) -> bool:
    """Whether the array fills its memory without holes or overlaps, in any order of axes ("non-overlapping and dense")."""
    expected = array.dtype.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size > 1:
            if stride != expected:
                return False
            expected *= size
    return True


def copy_with_strides_of(array: Array, model: Array) -> Array:
    """A copy of `array` laid out as `model` is where `model` is dense, else row-major (PyTorch's default gradient layout)."""
    if is_immutable(array):
        return array
    if model.ndim > 1 and type(array) in MODULES and not model.flags.c_contiguous and is_dense(model):
        order = sorted(range(model.ndim), key=lambda axis: (-model.strides[axis], axis))
        inverse = sorted(range(model.ndim), key=order.__getitem__)
        return array.transpose(order).copy().transpose(inverse)
    return array.copy()


def axis_order(array: Array) -> tuple[int, ...]:
    """The axes from the outermost in memory to the innermost."""
    return tuple(sorted(range(array.ndim), key=lambda axis: (-abs(array.strides[axis]), axis)))


def copy_in_order(xp: Any, array: Array, order: tuple[int, ...] | None) -> Array:
    """A dense copy (never a scalar) whose axes lie in memory in the given order; row-major for None."""
    if order is None:
        order = tuple(range(array.ndim))
    inverse = sorted(range(array.ndim), key=order.__getitem__)
    return xp.array(array.transpose(order), order="C", copy=True).transpose(inverse)


def has_strides_of(array: Array, model: Array) -> bool:
    """Whether a gradient `array` already has the layout that `copy_with_strides_of` would give it."""
    if is_immutable(array):
        return True
    if model.ndim == array.ndim and array.strides == model.strides and array.flags.c_contiguous:
        return True
    if model.ndim > 1 and is_dense(model):
        return bool(array.strides == model.strides)
    return bool(array.flags.c_contiguous)


def owns_fresh_memory(array: Array) -> bool:
    """Whether the array is no view of another one."""
    return is_immutable(array) or array.base is None


def scatter_add(xp: Any, target: Array, index: Any, values: Array) -> None:
    """`target[index] += values` where repeated indices accumulate."""
    if xp is np:
        np.add.at(target, index, values)
    elif hasattr(xp, "add") and hasattr(xp.add, "at"):
        xp.add.at(target, index, values)
    else:
        importlib.import_module("cupyx").scatter_add(target, index, values)


def scatter_extreme_at(xp: Any, target: Array, index: Any, values: Array, largest: bool) -> None:
    """`target[index] = max(target[index], values)` (or min) where repeated indices count each; NaN wins."""
    (xp.maximum if largest else xp.minimum).at(target, index, values)


class _Silent(threading.local):
    """`silently.run(function, *arrays)`: call a NumPy function without its warnings of division by zero, overflow and invalid values.

    log(0) = -∞ and exp(1000) = ∞ are answers, not mistakes, and PyTorch gives them without a word. NumPy keeps its error mode in a context
    variable, so a function run in a context in which that variable is set is silent. This costs 0.05 µs, `with np.errstate(...)` about 1
    µs: half of a small operation. Each thread has a context of its own, because two threads cannot run in one.
    """

    def __init__(self) -> None:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


silently = _Silent()


def divide_integers(divide: Callable[[Any, Any], Array], a: Array, b: Array) -> Array:
    """`divide(a, b)` for integers. Raises ZeroDivisionError where NumPy would warn and answer 0 (CuPy does not say)."""
    try:
        with np.errstate(divide="raise"):
            return divide(a, b)
    except FloatingPointError:
        raise ZeroDivisionError(
            "an integer was divided by zero. Convert to floating point first (x.float()) to get inf or nan instead."
        ) from None


def quiet() -> Any:
    """A context in which NumPy does not warn of division by zero, overflow and the like: a backward pass runs in one."""
    return np.errstate(all="ignore")


def format_array(array: Array, prefix: str) -> str:
    """Values as text as PyTorch writes them, long arrays shortened, aligned under `prefix`."""
    if hasattr(type(array), "__minigrad_apply__"):
        return repr(array)
    host = np.asarray(to_numpy(array))
    if host.dtype.name == "bfloat16":
        host = host.astype(float32)
    shown, threshold = host, 1000
    if host.size > threshold:  # only what is printed decides how it is printed
        for axis in (axis for axis, n in enumerate(host.shape) if n > 6):
            shown = shown.take([0, 1, 2, -3, -2, -1], axis)
    number = _number_format(shown)
    if host.ndim == 0:
        return number(host[()]).strip()
    layout: dict[str, Any] = {"separator": ", ", "prefix": prefix, "max_line_width": 80, "threshold": threshold, "edgeitems": 3}
    return str(np.array2string(host, formatter={"all": number}, **layout))


def _number_format(values: Array) -> Callable[[Any], str]:
    """How to write numbers such as `values`: "1." if all are whole, 4 decimals otherwise, powers of ten if they span a factor of over 1000.

    All are padded to one width, which zeros and numbers that are not finite do not count for (PyTorch's rule).
    """
    if values.dtype.kind == "c":
        real, imag = _number_format(values.real), _number_format(values.imag)
        signed: Callable[[str], str] = lambda text: text if text.startswith("-") else "+" + text
        return lambda v: f"{real(v.real)}{signed(imag(v.imag).strip())}j"
    if values.dtype.kind != "f":
        longest = max((len(str(v)) for v in values.flat), default=0)
        return lambda v: str(v).rjust(longest)
    counted = values[np.isfinite(values) & (values != 0)].astype(float64)
    sizes = np.abs(counted)
    whole = bool((sizes == np.ceil(sizes)).all())
    scientific = bool(sizes.size) and (sizes.max() / sizes.min() > 1000 or sizes.max() > 1e8 or (not whole and sizes.min() < 1e-4))
    pattern = "{:.4e}" if scientific else "{:.0f}." if whole else "{:.4f}"
    width = max((len(pattern.format(v)) for v in counted), default=0)
    return lambda v: (pattern.format(v) if np.isfinite(v) else str(float(v))).rjust(width)


def use_random(seed: int | None, device: str = "cpu") -> Any:
    """A random generator of a device's library; the same seed gives the same numbers on the same kind of device."""
    library = library_of(device)
    with on_device(device):
        return library.random.default_rng(seed)


def erf_function(xp: Any) -> Callable[[Array], Array]:
    """The error function of the library: CuPy has it, NumPy does not (there the C library's, element by element, in double precision)."""
    return _special(xp, "erf")


def erfc_function(xp: Any) -> Callable[[Array], Array]:
    """The complementary error function, likewise."""
    return _special(xp, "erfc")


def lgamma_function(xp: Any) -> Callable[[Array], Array]:
    """ln |Γ|, likewise; infinite at its poles, where Python's own raises."""
    if xp is not np:
        return _special(xp, "gammaln")
    import math

    def lgamma(x: float) -> float:
        if x <= 0 and (not math.isfinite(x) or x == math.floor(x)):
            return math.inf
        try:
            return math.lgamma(x)
        except OverflowError:
            return math.inf

    vectorised = np.frompyfunc(lgamma, 1, 1)
    return lambda x: np.asarray(silently.run(vectorised, x), dtype=np.float64).astype(x.dtype)


def _special(xp: Any, name: str) -> Callable[[Array], Array]:
    if xp is not np:
        return getattr(getattr(xp, "special", None) or importlib.import_module("cupyx.scipy.special"), name)  # type: ignore[no-any-return]
    import math

    vectorised = np.frompyfunc(getattr(math, name), 1, 1)
    return lambda x: np.asarray(vectorised(x), dtype=np.float64).astype(x.dtype)


def largest(dtype: DType) -> float:
    """The largest finite number of a floating dtype."""
    if dtype.kind == "f":
        return float(np.finfo(dtype).max)
    return float(importlib.import_module("ml_dtypes").finfo(dtype).max)


def lowest(dtype: DType) -> Any:
    """What no number of the dtype is smaller than: -inf, the smallest integer, False."""
    return -inf if is_floating(dtype) else False if dtype == bool_ else int(np.iinfo(dtype).min)


def highest(dtype: DType) -> Any:
    """What no number of the dtype is larger than: inf, the largest integer, True."""
    return inf if is_floating(dtype) else True if dtype == bool_ else int(np.iinfo(dtype).max)


def precision(dtype: DType) -> float:
    """The distance from 1 to the next number of a floating or complex dtype."""
    return float((np if dtype.kind in "fc" else importlib.import_module("ml_dtypes")).finfo(dtype).eps)


def diagonal_window(array: Array, offset: int, axis1: int, axis2: int) -> Array:
    """The diagonal along two axes as a window that may be written to where the array may (NumPy's own may only be read)."""
    out = array.diagonal(offset, axis1, axis2)
    if type(out) is np.ndarray:
        out.flags.writeable = array.flags.writeable
    return out


def sliding_windows(xp: Any, array: Array, axis: int, size: int, step: int) -> Array:
    """All windows of `size` elements along an axis, `step` apart, as a new last axis: a view that may be written to where the array
    may.
    """
    count, stride = (array.shape[axis] - size) // step + 1, array.strides[axis]
    shape = (*array.shape[:axis], count, *array.shape[axis + 1 :], size)
    strides = (*array.strides[:axis], stride * step, *array.strides[axis + 1 :], stride)
    return xp.lib.stride_tricks.as_strided(array, shape, strides)


def place_of(array: Array) -> tuple[Array, Array, tuple[int, Shape, Shape, DType]]:
    """The array that owns the memory of a host array, the bytes of that memory (one axis), and the array's place among them: offset
    and shape and strides (in bytes) and dtype.

    An owner that is not dense (an array from outside) is left aside: then the array is copied, and that copy is the owner.
    """
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    span = np.lib.array_utils.byte_bounds
    first, end = span(root)
    start, stop = span(array)
    if not is_dense(root) or (array.size and not first <= start <= stop <= end):
        root = array = copy_in_order(np, array, axis_order(array))
        first, end = span(root)
    memory = root.transpose(axis_order(root)).reshape(-1).view(np.uint8)
    offset = array.__array_interface__["data"][0] - first if array.size else 0
    return memory if memory.base is None else memory.base, memory, (offset, array.shape, array.strides, array.dtype)


def placed_in(memory: Array, offset: int, shape: Shape, strides: Shape, dtype: DType) -> Array:
    """The array at a place of some memory (an array of bytes). Raises ValueError if it reaches beyond it."""
    return np.ndarray(shape, dtype, memory, offset, strides) if 0 not in shape else np.ndarray(shape, dtype)


def matrix_routine(operation: str, routine: Callable[..., Any], *args: Any) -> Any:
    """A routine of `xp.linalg`. Raises LinAlgError with advice where it finds no answer."""
    try:
        return silently.run(routine, *args)
    except np.linalg.LinAlgError as error:
        shapes = " and ".join(str(tuple(a.shape)) for a in args if hasattr(a, "shape"))
        advice = {
            "cholesky": "the matrix (or one of them) is not positive definite. Add a small multiple of the identity, or use linalg.eigh.",
            "svd": "the algorithm did not converge: look for NaN or infinity in the matrix.",
            "eigh": "the algorithm did not converge: look for NaN or infinity in the matrix.",
            "eig": "the algorithm did not converge, or met NaN or infinity in the matrix.",
        }.get(operation, "the matrix (or one of them) is singular. Use linalg.pinv, or add a small multiple of the identity.")
        raise LinAlgError(f"linalg.{operation} of shape {shapes}: {error}: {advice}") from None


def save_arrays(path: Any, arrays: dict[str, Array]) -> None:
    """Write arrays by name to a file in NumPy's .npz format: plain numbers, no pickle. The same arrays give the same bytes.

    `path` is a name (".npz" is added if missing) or an open file. Raises DTypeError for what is not numbers, before anything is written.
    """
    host = {name: np.asarray(to_numpy(array)) for name, array in arrays.items()}
    for name, array in host.items():
        if array.dtype.kind not in "biufc":
            raise DTypeError(
                f"save: {name} has dtype {array.dtype}, which .npz files cannot hold without pickle. Convert it first, for instance "
                "with .float()."
            )
    if not hasattr(path, "write"):
        path = os.fspath(path)
        path += "" if path.endswith(".npz") else ".npz"
    with zipfile.ZipFile(path, "w", allowZip64=True) as file:  # as numpy.savez, which cannot hold an array named "file" and writes the time
        for name, array in host.items():
            with file.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def load_arrays(path: Any) -> dict[str, Array]:
    """Read what `save_arrays` wrote. Raises ValueError for a file that is none, is damaged, or holds pickled objects (which could run
    code)."""
    with open(path, "rb") if isinstance(path, str | os.PathLike) else nullcontext(path) as source:
        try:
            arrays = {}
            with zipfile.ZipFile(source) as file:
                for name in file.namelist():
                    with file.open(name) as member:
                        arrays[name.removesuffix(".npy")] = np.lib.format.read_array(member, allow_pickle=False)
            return arrays
        except DAMAGE as error:
            raise ValueError(f"{path} holds no plain arrays by name in the .npz format: {error}") from None


DAMAGE = (ValueError, EOFError, KeyError, MemoryError, OSError, RuntimeError, TypeError, struct.error, zlib.error, zipfile.BadZipFile)
"""What reading a damaged .npz file can raise, by where the damage is."""


def frame_files() -> str:
    """The folder of this package, by which callers tell the library's own stack frames from the user's."""
    return sys.modules[__name__].__file__.rpartition("backend")[0]  # type: ignore[union-attr]
