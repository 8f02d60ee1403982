"""Devices: their names, which library works on them, and moving payloads between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DeviceError
from .payload import (
    MODULES,
    NUMPY_PAYLOADS,
    Array,
    device_of_module,
    load_cupy,
    on_device,
    to_numpy,
)


class Device(str):
    """Where memory is, as a string ("cpu", "cuda:0") that can also be asked for its parts.

    Device("cuda:1") and Device("cuda", 1) are the same. type: "cpu" or "cuda"; index: the number,
    None where none was given.
    """

    __slots__ = ()

    def __new__(cls, type: str, index: int | None = None) -> Device:
        return super().__new__(cls, type if index is None else f"{type}:{int(index)}")

    @property
    def type(self) -> str:
        """The kind of device."""
        return str(self).partition(":")[0]

    @property
    # PyTorch's name; str.index is of no use here
    def index(self) -> int | None:  # type: ignore[override]
        """Which one of its kind."""
        number = str(self).partition(":")[2]
        return int(number) if number else None

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})"
            if self.index is None
            else f"device(type={self.type!r}, index={self.index})"
        )


def library_of(device: str) -> Any:
    """The library that works on a device ("cpu", "cuda", "cuda:1"). Raises DeviceError where there
    is none.
    """
    name = device.partition(":")[0]
    if name == "cuda":
        need_cuda(f'device "{device}"')
        number, count = device.partition(":")[2], load_cupy().cuda.runtime.getDeviceCount()
        if number and int(number) >= count:
            raise DeviceError(
                f'device "{device}": there are {count} CUDA devices, from "cuda:0" on.'
            )
        return load_cupy()
    for module in MODULES.values():
        if module is not None and device_of_module(module) == name:
            return module
    raise DeviceError(f'unknown device "{device}": use "cpu", "cuda" or "cuda:<number>".')


def device_with_index(device: str) -> str:
    """The device's full name: "cuda" means the current one of its kind, such as "cuda:0"."""
    name, _, number = device.partition(":")
    if name == "cpu" or number:
        return device
    if name == "cuda":
        need_cuda(f'device "{device}"')
    return f"{name}:{load_cupy().cuda.get_device_id() if name == 'cuda' else 0}"


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
        raise DeviceError(
            f"{what}: CuPy is installed, but it sees no CUDA device. Compute on the CPU (leave out"
            " device and .cuda())."
        )


def device_of(array: Array) -> str:
    """`cpu`, or `cuda:<number>` for CuPy arrays."""
    if type(array) in NUMPY_PAYLOADS:
        return "cpu"
    if hasattr(type(array), "__minigrad_apply__"):  # a batched or recorded value
        return device_of(array.array)
    name = device_of_module(MODULES.get(type(array), np) or np)
    return name if name == "cpu" else f"{name}:{array.device.id}"


def to_device(array: Array, device: str) -> Array:
    """`array` on `device` ("cpu", "cuda", "cuda:1"); the same object if it is there already.
    DeviceError: it is unknown.
    """
    here = device_of(array)
    if device in (here, here.partition(":")[0]):
        return array
    if device == "cpu":
        return to_numpy(array)
    library = library_of(device)
    with on_device(device):
        return library.asarray(array)


def to_device_of(array: Array, like: Array) -> Array:
    """`array` on the device of `like`."""
    return array if same_device(array, like) else to_device(array, device_of(like))


def device_for_numbers(arrays: Sequence[Array]) -> str | None:
    """The device to which 0-d arrays in host memory move when they meet these arrays, as in
    PyTorch; None where nothing moves.
    """
    if NUMPY_PAYLOADS.issuperset(map(type, arrays)):
        return None
    devices = {device_of(a) for a in arrays if not is_host_number(a)}
    moves = len(devices) == 1 and any(map(is_host_number, arrays))
    return devices.pop() if moves and "cpu" not in devices else None


def is_host_number(value: Any) -> bool:
    """Whether a value is a 0-d array in host memory."""
    return type(value) in NUMPY_PAYLOADS and not value.shape


def same_device(a: Array, b: Array) -> bool:
    """Whether both payloads are in host memory, or both on the same device."""
    return (type(a) in NUMPY_PAYLOADS and type(b) in NUMPY_PAYLOADS) or device_of(a) == device_of(b)
