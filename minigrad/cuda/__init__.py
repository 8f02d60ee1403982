"""The GPU as PyTorch's `torch.cuda` shows it: is there one, which one is current, its memory, and
its streams.

Work is handed over to the GPU and done in order on the current stream while Python goes on; nothing
here waits except `synchronize`. CuPy does all of it. Functions that need a device raise DeviceError
where there is none, saying what is missing.
"""

from __future__ import annotations

from typing import Any

from .. import backend
from . import profiler
from .memory import empty_cache, mem_get_info, memory_allocated, memory_reserved
from .streams import Event, Stream, current_stream, stream

__all__ = [
    "Event", "Stream", "current_device", "current_stream", "device", "device_count", "empty_cache",
    "get_device_name", "is_available",
    "mem_get_info", "memory_allocated", "memory_reserved", "profiler", "set_device", "stream",
    "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether CuPy is installed and sees a CUDA device. Never raises."""
    return backend.cuda_is_available()


def device_count() -> int:
    """How many CUDA devices CuPy sees; 0 where there is none. Never raises."""
    return int(backend.load_cupy().cuda.runtime.getDeviceCount()) if is_available() else 0


def current_device() -> int:
    """The number of the device that "cuda" means."""
    backend.need_cuda("cuda.current_device")
    return int(backend.load_cupy().cuda.get_device_id())


def set_device(device: Any) -> None:
    """Make a device (a number, "cuda:1") the one that "cuda" means in this thread."""
    backend.need_cuda("cuda.set_device")
    backend.load_cupy().cuda.Device(number_of(device)).use()


def get_device_name(device: Any = None) -> str:
    """What the manufacturer calls a device (default: the current one)."""
    backend.need_cuda("cuda.get_device_name")
    number = current_device() if device is None else number_of(device)
    return str(backend.load_cupy().cuda.runtime.getDeviceProperties(number)["name"].decode())


def synchronize(device: Any = None) -> None:
    """Wait until a device (default: the current one) has finished all that it was given."""
    backend.need_cuda("cuda.synchronize")
    cupy = backend.load_cupy()
    cupy.cuda.Device(current_device() if device is None else number_of(device)).synchronize()


class device:
    """A `with` block in which "cuda" means this device (a number, "cuda:1"); afterwards it means
    what it meant before.
    """

    def __init__(self, device: Any) -> None:
        self.index = number_of(device)

    def __enter__(self) -> device:
        backend.need_cuda("cuda.device")
        self._device = backend.load_cupy().cuda.Device(self.index)
        self._device.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._device.__exit__(*error)


def number_of(device: Any) -> int:
    """The number in 1, "cuda:1" or device("cuda", 1); 0 for "cuda". Raises ValueError for
    anything else.
    """
    if isinstance(device, int) and not isinstance(device, bool) and device >= 0:
        return device
    kind, _, number = str(device).partition(":")
    if kind != "cuda" or not (number.isdecimal() or not number):
        raise ValueError(
            f'a CUDA device is a number from 0 on, "cuda" or "cuda:<number>", got {device!r}.'
        )
    return int(number or 0)
