"""The workloads: a file that lies here and defines `WORKLOADS` is found by itself."""

import importlib
import pkgutil

from benchmarks.harness import Workload


def load() -> dict[str, Workload]:
    """All workloads by name."""
    modules = (
        importlib.import_module(f"{__name__}.{module.name}")
        for module in pkgutil.iter_modules(__path__)
    )
    return {workload.name: workload for module in modules for workload in module.WORKLOADS}
