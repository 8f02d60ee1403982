"""Dropout as layers."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..function_layer import FunctionLayer

__all__ = [
    "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout",
]  # fmt: skip


def _check_probability(name: str, settings: dict[str, Any]) -> None:
    if not 0 <= settings["p"] <= 1:
        raise ValueError(f"{name}: p is a probability, got {settings['p']}.")


class Dropout(
    FunctionLayer,
    function=F.dropout,
    shows="p={p}, inplace={inplace}",
    prepare=_check_probability,
):
    """Each element 0 with probability p while training, else divided by 1 − p."""


class Dropout1d(Dropout, function=F.dropout1d):
    """Whole channels 0 with probability p while training."""


class Dropout2d(Dropout, function=F.dropout2d):
    """Whole channels 0 with probability p while training."""


class Dropout3d(Dropout, function=F.dropout3d):
    """Whole channels 0 with probability p while training."""


class AlphaDropout(Dropout, function=F.alpha_dropout):
    """Dropout that keeps mean 0 and variance 1, for networks with SELU."""


class FeatureAlphaDropout(Dropout, function=F.feature_alpha_dropout):
    """AlphaDropout of whole channels."""
