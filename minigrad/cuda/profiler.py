"""Which part of a program NVIDIA's profilers record (`nsys profile
--capture-range=cudaProfilerApi`).
"""

from __future__ import annotations

from typing import Any

from .. import backend


def start() -> None:
    """Begin recording. Raises DeviceError where there is no CUDA device."""
    backend.need_cuda("cuda.profiler")
    backend.load_cupy().cuda.runtime.profilerStart()


def stop() -> None:
    """Stop recording. Raises DeviceError where there is no CUDA device."""
    backend.need_cuda("cuda.profiler")
    backend.load_cupy().cuda.runtime.profilerStop()


class profile:
    """Record what runs inside a `with` block. Raises DeviceError on entering where there is no
    CUDA device.
    """

    def __enter__(self) -> profile:
        start()
        return self

    def __exit__(self, *_: Any) -> None:
        stop()
