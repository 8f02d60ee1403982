"""How much of the GPU's memory is in use. CuPy keeps what was freed in a pool: the next array is
taken from there, not from the driver.
"""

from __future__ import annotations

from typing import Any

from .. import backend


def memory_allocated() -> int:
    """Bytes of the current device that arrays occupy now."""
    return int(_pool("memory_allocated").used_bytes())


def memory_reserved() -> int:
    """Bytes of the current device that the pool holds, arrays and free blocks together."""
    return int(_pool("memory_reserved").total_bytes())


def empty_cache() -> None:
    """Give the pool's free blocks back to the driver, for other programs to use. Does nothing
    where there is no device.
    """
    if backend.cuda_is_available():
        _pool("empty_cache").free_all_blocks()


def mem_get_info() -> tuple[int, int]:
    """Bytes that are free on the current device and bytes that it has, as the driver counts
    them, other programs included.
    """
    backend.need_cuda("cuda.mem_get_info")
    free, total = backend.load_cupy().cuda.runtime.memGetInfo()
    return int(free), int(total)


def _pool(what: str) -> Any:
    backend.need_cuda(f"cuda.{what}")
    return backend.load_cupy().get_default_memory_pool()
