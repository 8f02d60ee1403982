"""Is there a GPU? PyTorch's `torch.cuda`, as far as programs ask it: whether, how many, and waiting for the work that was handed over."""

from __future__ import annotations

from .. import backend
from . import profiler

__all__ = ["device_count", "is_available", "profiler", "synchronize"]


def is_available() -> bool:
    """Whether CuPy is installed and sees a CUDA device. Never raises."""
    return backend.cuda_is_available()


def device_count() -> int:
    """How many CUDA devices CuPy sees; 0 where there is none. Never raises."""
    return int(backend.load_cupy().cuda.runtime.getDeviceCount()) if is_available() else 0


def synchronize() -> None:
    """Wait until the current device has finished. Raises DeviceError where there is none."""
    backend.need_cuda("cuda.synchronize")
    backend.load_cupy().cuda.runtime.deviceSynchronize()
