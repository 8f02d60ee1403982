"""The limits of dtypes."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .dtypes import DType, bool_, is_floating

finfo, iinfo = np.finfo, np.iinfo
"""The limits of floating and of integer dtypes: eps, max, min, tiny, bits."""


def largest(dtype: DType) -> float:
    """The largest finite number of a floating dtype."""
    if dtype.kind == "f":
        return float(np.finfo(dtype).max)
    return float(importlib.import_module("ml_dtypes").finfo(dtype).max)


def lowest(dtype: DType) -> Any:
    """The smallest value of the dtype: -infinity, the smallest integer, False."""
    return (
        float("-inf")
        if is_floating(dtype)
        else False
        if dtype == bool_
        else int(np.iinfo(dtype).min)
    )


def highest(dtype: DType) -> Any:
    """The largest value of the dtype: infinity, the largest integer, True."""
    return (
        float("inf") if is_floating(dtype) else True if dtype == bool_ else int(np.iinfo(dtype).max)
    )


def precision(dtype: DType) -> float:
    """The distance from 1 to the next number of a floating or complex dtype."""
    return float(
        (np if dtype.kind in "fc" else importlib.import_module("ml_dtypes")).finfo(dtype).eps
    )
