"""Dropout as layers."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..function_layer import FunctionLayer, function_layer

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


Dropout1d, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout = (
    function_layer(name, function, base=Dropout)
    for name, function in (
        ("Dropout1d", F.dropout1d),
        ("Dropout2d", F.dropout2d),
        ("Dropout3d", F.dropout3d),
        ("AlphaDropout", F.alpha_dropout),
        ("FeatureAlphaDropout", F.feature_alpha_dropout),
    )
)
