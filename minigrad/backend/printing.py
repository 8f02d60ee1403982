"""Arrays as text, as PyTorch prints them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import float32
from .payload import Array, to_numpy


def format_array(array: Array, prefix: str) -> str:
    """Values as text as PyTorch writes them, long arrays shortened, aligned under `prefix`."""
    if hasattr(type(array), "__minigrad_apply__"):
        return repr(array)
    host = np.asarray(to_numpy(array))
    if host.dtype.name == "bfloat16":
        host = host.astype(float32)
    shown, threshold = host, 1000
    if host.size > threshold:  # only what is printed decides how it is printed
        for axis in (axis for axis, n in enumerate(host.shape) if n > 6):
            shown = shown.take([0, 1, 2, -3, -2, -1], axis)
    number = _number_format(shown)
    if host.ndim == 0:
        return number(host[()]).strip()
    layout: dict[str, Any] = {
        "separator": ", ",
        "prefix": prefix,
        "max_line_width": 80,
        "threshold": threshold,
        "edgeitems": 3,
    }
    return str(np.array2string(host, formatter={"all": number}, **layout))


def _number_format(values: Array) -> Callable[[Any], str]:
    """How to write numbers such as `values`: "1." if all are whole, 4 decimals otherwise, powers of
    ten if they span a factor of over 1000.

    All are padded to one width, which zeros and numbers that are not finite do not count for
    (PyTorch's rule).
    """
    if values.dtype.kind == "c":
        real, imag = _number_format(values.real), _number_format(values.imag)
        signed: Callable[[str], str] = lambda text: text if text.startswith("-") else "+" + text
        return lambda v: f"{real(v.real)}{signed(imag(v.imag).strip())}j"
    if values.dtype.kind != "f":
        longest = max((len(str(v)) for v in values.flat), default=0)
        return lambda v: str(v).rjust(longest)
    counted = values[np.isfinite(values) & (values != 0)].astype(np.float64)
    sizes = np.abs(counted)
    whole = bool((sizes == np.ceil(sizes)).all())
    scientific = bool(sizes.size) and (
        sizes.max() / sizes.min() > 1000 or sizes.max() > 1e8 or (not whole and sizes.min() < 1e-4)
    )
    pattern = "{:.4e}" if scientific else "{:.0f}." if whole else "{:.4f}"
    width = max((len(pattern.format(v)) for v in counted), default=0)
    return lambda v: (pattern.format(v) if np.isfinite(v) else str(float(v))).rjust(width)
