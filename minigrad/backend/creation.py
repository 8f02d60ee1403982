"""Arrays made from a few numbers, from another library's memory, from an index, or at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DeviceError
from .devices import library_of
from .dtypes import describe
from .payload import MODULES, Array, Shape, canonical, ignore_float_errors, on_device

pi, e, inf, nan = float(np.pi), float(np.e), float("inf"), float("nan")


def full(shape: Shape, value: Array, device: str) -> Array:
    """An array on a device, filled with one number (a NumPy scalar or 0-d array), which alone is
    copied to the device.
    """
    library = library_of(device)
    with on_device(device):
        return canonical(library.full(shape, value.item(), value.dtype))


def arange(start: float, end: float, step: float, dtype: Any, device: str = "cpu") -> Array:
    """Evenly stepped numbers."""
    return _call_on_device(device, "arange", start, end, step, dtype)


def linspace(start: float, end: float, steps: int, dtype: Any, device: str = "cpu") -> Array:
    """Evenly spaced numbers."""
    return _call_on_device(device, "linspace", start, end, steps, dtype)


def eye(n: int, m: int, dtype: Any, device: str = "cpu") -> Array:
    """Ones on the diagonal."""
    return _call_on_device(device, "eye", n, m, 0, dtype)


def _call_on_device(
    device: str, name: str, first: Any, second: Any, third: Any, dtype: Any
) -> Array:
    """Call a function of NumPy or of a device's library, so that no array is copied to the
    device.
    """
    library = np if device == "cpu" else library_of(device)
    with on_device(device), ignore_float_errors():
        return getattr(library, name)(first, second, third, dtype=dtype)


def identity_columns(rows: int, start: int, columns: int, dtype: Any, like: Array) -> Array:
    """Columns `start` to `start + columns` of the identity matrix with so many rows, on the device
    of `like`.
    """
    module = MODULES.get(type(getattr(like, "array", like)), np) or np
    return module.eye(rows, columns, -start, dtype=dtype)


def index_array(index: list[Any]) -> Array:
    """A list used as an index; an empty one selects nothing. Raises IndexError where its rows
    differ in length.
    """
    try:
        found = np.asarray([i.array if hasattr(i, "array") else i for i in index])
    except ValueError:
        found = np.asarray(None)
    if found.dtype == object:
        raise IndexError(
            f"the index {describe(index)} is no array of numbers: its parts differ in shape, or are"
            " no numbers."
        )
    return found if found.size else found.astype(np.int64)


def random_generator(seed: int | None, device: str = "cpu") -> Any:
    """A random generator of a device's library; the same seed gives the same numbers on the same
    kind of device.
    """
    library = library_of(device)
    with on_device(device):
        return library.random.default_rng(seed)


def from_dlpack(source: Any) -> Array:
    """An array that shares the memory of an object with the DLPack protocol, on the CPU or a CUDA
    device, without a copy.

    Raises TypeError for an object without it, or that cannot be shared (a dtype that NumPy lacks,
    say); DeviceError for other devices.
    """
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        raise TypeError(
            "from_dlpack: needs an array or tensor with the DLPack protocol (__dlpack__), got"
            f" {type(source).__name__}."
        )
    place = int(source.__dlpack_device__()[0])
    if place not in _DLPACK:
        raise DeviceError(
            f"from_dlpack: memory is on a device of DLPack's kind {place}; minigrad knows the CPU"
            " (1) and CUDA (2, 3, 13)."
        )
    library = library_of(_DLPACK[place])
    try:
        return library.from_dlpack(source)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise TypeError(
            f"from_dlpack: {describe(source)} cannot be taken over: {reason}."
        ) from error


_DLPACK = {1: "cpu", 2: "cuda", 3: "cpu", 13: "cuda"}
"""DLPack's numbers of kinds of memory (kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged), by the
library that works there.
"""

np.empty((1 << 25) - (1 << 13), "uint8")
"""Keep freed memory in the process: an array that is freed at once, its memory never touched. The
GNU C library gives the memory of a large array back to the system when it is freed, and each page
of the next one then costs a fault, unless it has seen one of that size freed before: from then on
it keeps as much for the next ones. 32 MiB is the most that it learns from. Elsewhere this does
nothing.
"""
