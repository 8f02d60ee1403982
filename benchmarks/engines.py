"""The engines that are written alike: minigrad, run in several ways, and PyTorch.

A workload gives a function `build(engine, *settings)` that makes a run, and, where a step can be
compiled, takes `compile`. An engine is imported when a run is made.
"""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.harness import Run

Build = Callable[..., Run]


def eager(build: Build) -> dict[str, Build]:
    """The builders of a workload that is not compiled, by engine."""

    def with_engine(name: str, *settings: Any, **options: Any) -> Run:
        return build(importlib.import_module(name), *settings, **options)

    return {name: partial(with_engine, name) for name in ("minigrad", "torch")}


def compiled(build: Build, **how: bool) -> Build:
    """The builder for a step that `minigrad.compile` has compiled in this way."""

    def with_minigrad(*settings: Any, **options: Any) -> Run:
        import minigrad as mg

        return build(mg, *settings, compile=partial(mg.compile, **how), **options)

    return with_minigrad


def training(build: Build) -> dict[str, Build]:
    """The builders of a training step, by engine."""
    minigrad, torch = eager(build).values()
    return {
        "minigrad": minigrad,
        "minigrad compiled": compiled(build),
        "minigrad fused": compiled(build, fuse=True),
        "torch": torch,
    }
