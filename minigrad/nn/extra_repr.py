"""What `extra_repr` of the layers shows. It has PyTorch's form, also where that is uneven: words
with or without quotes, numbers alone or as tuples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .module import Module


def shown(layer: Module, *names: str) -> str:
    """Settings of a layer with their names."""
    return ", ".join(f"{name}={getattr(layer, name)!r}" for name in names)


def unusual(layer: Module, text: Callable[[Any], str] = repr, **usual: Any) -> str:
    """The settings of a layer that are not as usual, each after a comma."""
    return "".join(
        f", {name}={text(getattr(layer, name))}"
        for name, value in usual.items()
        if getattr(layer, name) not in (value, ())
    )
