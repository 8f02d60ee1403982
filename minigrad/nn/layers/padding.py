"""Padding as layers, for one to three axes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError
from .. import functional as F
from ..function_layer import function_layer
from ..functional.arguments import each


def _padded(axes: int, mode: str) -> Callable[..., Tensor]:
    def function(input: Any, padding: Any, value: float = 0.0) -> Tensor:
        x = as_tensor(input)
        if mode != "constant" and x.ndim not in (axes + 1, axes + 2):
            raise ShapeError(
                f"{mode} padding of {axes}d layers: input must have {axes + 1} or {axes + 2}"
                f" dimensions, got shape {x.shape}."
            )
        return F.pad(x, padding, mode, value)

    return function


def _pairs(axes: int) -> Callable[[str, dict[str, Any]], None]:
    def prepare(name: str, settings: dict[str, Any]) -> None:
        settings["padding"] = each(settings["padding"], 2 * axes, name, "padding", -sys.maxsize)

    return prepare


def _layers() -> dict[str, type]:
    made = {}
    for axes, where in (1, "the last axis"), (2, "the last 2 axes"), (3, "the last 3 axes"):
        for kind, mode, what in (
            ("Zero", "constant", "Zeros"),
            ("Constant", "constant", "One value"),
            ("Reflection", "reflect", "The mirror image"),
            ("Replication", "replicate", "The edge again"),
            ("Circular", "circular", "The other end"),
        ):
            options: dict[str, Any] = {"settings": "padding", "shows": "{padding}"}
            if kind == "Constant":
                options = {"settings": "padding value", "value": Parameter.empty}  # no default
            made[f"{kind}Pad{axes}d"] = function_layer(
                f"{kind}Pad{axes}d",
                _padded(axes, mode),
                f"{what} before and after {where}.",
                prepare=_pairs(axes),
                **options,
            )
    return made


_made = _layers()
globals().update(_made)
__all__ = list(_made)
