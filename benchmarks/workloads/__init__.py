"""The workloads, one file each. A file is a workload as soon as it lies here and defines `WORKLOAD`."""

import importlib
import pkgutil

from benchmarks.harness import Workload


def load() -> dict[str, Workload]:
    """All workloads by name."""
    modules = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    return {module.WORKLOAD.name: module.WORKLOAD for module in modules}
