"""On what the figures were measured: a figure without its machine and versions is a rumour."""

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

PACKAGES = ("minigrad", "numpy", "numba", "torch", "autograd", "mygrad", "jax")
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "PJRT_NPROC",
    "NPROC",
)
"""The variables by which OpenMP and the linear-algebra libraries are told how many threads to use.

The last two are for JAX: its compiler XLA makes a pool of as many threads as it believes there are
processors (older versions read NPROC). Its flag xla_cpu_multi_thread_eigen changes nothing: with it
off, two processors were busy as before.
"""


def limit_threads(threads: int) -> None:
    """Let the linear-algebra libraries use so many threads. They look when they are loaded: call
    it before anything imports one.
    """
    for variable in THREADS:
        os.environ[variable] = str(threads)
    os.environ["JAX_PLATFORMS"] = "cpu"  # JAX takes a GPU where it finds one


def describe(threads: int, *command: str) -> dict[str, Any]:
    """Date, processor, cores, threads, load, versions and command of this run."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "threads": threads,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "gpu": _gpu(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "command": " ".join(command),
    }


def _gpu() -> str | None:
    """The CUDA device that the workloads on a GPU use, None where there is none."""
    from minigrad import cuda

    return cuda.get_device_name() if cuda.is_available() else None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
