"""The sizes that a picture may be asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SIZES = {
    "16:9": (1280, 720),
    "4:3": (1024, 768),
    "1:1": (800, 800),
    "small": (640, 360),
    "hd": (1920, 1080),
}
"""Sizes by name, in pixels."""


def pixels_of(size: Any) -> tuple[int, int] | None:
    """Width and height of a size by name or in pixels; None for None. Raises ValueError for
    anything else, and where no graph has space.
    """
    if size is None:
        return None
    if isinstance(size, str):
        wide, cross, high = size.lower().replace("×", "x").partition("x")
        if cross and wide.strip().isdigit() and high.strip().isdigit():
            size = (int(wide), int(high))
        elif size in SIZES:
            size = SIZES[size]
        else:
            raise ValueError(
                f"save: unknown size {size!r}; choose {', '.join(SIZES)}, or pixels such as"
                " 1280x720"
            )
    if not (
        isinstance(size, Sequence)
        and len(size) == 2
        and all(isinstance(n, int) and n > 0 for n in size)
    ):
        raise ValueError(
            f"save: size={size!r} is not a width and a height in pixels, such as (1280, 720)"
        )
    if size[0] < 400 or size[1] < 300:
        raise ValueError(
            f"save: a picture of {size[0]}×{size[1]} pixels has no space for a graph and its words;"
            " at least 400×300 has"
        )
    return size[0], size[1]
