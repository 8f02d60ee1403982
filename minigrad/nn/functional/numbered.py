"""Functions of images that PyTorch has once for each number of spatial axes: conv1d, conv2d,
conv3d.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

SIZES = {1: "L", 2: "H, W", 3: "D, H, W"}
KERNELS = {1: "K", 2: "K, L", 3: "J, K, L"}


def numbered(
    make: Callable[[int], Callable[..., Any]], numbers: Sequence[int] = (1, 2, 3)
) -> list[Callable[..., Any]]:
    """`make(axes)` for each number of axes: a function whose name gets that number, and in whose
    docstring {images}, {sizes} and {kernel} are written out.
    """
    made = []
    for axes in numbers:
        function = make(axes)
        plain = inspect.unwrap(function)
        sizes, name = SIZES[axes], f"{plain.__name__}{axes}d"
        text = inspect.cleandoc(plain.__doc__ or "").format(
            images=f"(N, C, {sizes}) or (C, {sizes})", sizes=sizes, kernel=KERNELS[axes], axes=axes
        )
        for named in {id(f): f for f in (function, plain)}.values():
            named.__name__ = named.__qualname__ = name
            named.__doc__ = text
        made.append(function)
    return made
