"""Parts of large arrays: a block of an operation's result, or of an operand that receives a share,
and whatever meets in its elements. A Trace holds these, so that a row and a column that meet can be
shown where the whole arrays would be too much.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

Shape = tuple[int, ...]
Box = tuple[tuple[int, int], ...]
"""For each axis the first index and the one after the last."""
SIDES = 8, 4, 2, 1
"""Rows and columns of a block: as many as keep all parts small."""
MOST = 4096
"""Elements of a part."""


def parts_read(terms: dict[str, Any], shapes: Sequence[Shape], target: int) -> dict[int, Box]:
    """For each array the part that meets in a block of one of them. Arrays have numbers: -1 is the
    result, 0 and more the operands; shapes: by number, the result's last. Empty where even one
    element reads more than `MOST` of an array.
    """
    indices = [*terms["operands"], terms["result"]]
    shape, index = shapes[target], indices[target]
    for side in SIDES:
        block = _block(shape, side)
        ranges = _ranges(terms["sizes"], index, block)
        boxes = {
            number: _box(indices[number], ranges, shapes[number])
            for number in range(-1, len(indices) - 1)
        }
        boxes[target] = block
        if all(_size(box) <= MOST for box in boxes.values()):
            return boxes
    return {}


def _block(shape: Shape, side: int) -> Box:
    """About the middle: so many rows and columns, and one element along other axes."""
    sides = [1] * (len(shape) - 2) + [side] * min(2, len(shape))
    starts = (
        max(0, min((size - 1) // 2 - wide // 2, size - wide))
        for size, wide in zip(shape, sides, strict=True)
    )
    return tuple(
        (start, min(size, start + wide))
        for start, size, wide in zip(starts, shape, sides, strict=True)
    )


def _ranges(sizes: Sequence[int], index: Any, block: Box) -> list[tuple[int, int]]:
    """The values that each variable of the loop has where an index lies in a block: the first and
    the last."""
    ranges = [(0, size - 1) for size in sizes]
    for (offset, *variables), (first, end) in zip(index, block, strict=True):
        highest = sum(factor * (sizes[v] - 1) for v, factor in variables)
        for v, factor in variables:
            others = highest - factor * (sizes[v] - 1)
            low = -(-(first - offset - others) // factor)
            high = (end - 1 - offset) // factor
            ranges[v] = max(ranges[v][0], low), min(ranges[v][1], high)
    return ranges


def _box(index: Any, ranges: list[tuple[int, int]], shape: Shape) -> Box:
    """The places of an array that an index reaches."""
    found = []
    for (offset, *variables), size in zip(index, shape, strict=True):
        first = offset + sum(factor * ranges[v][0] for v, factor in variables)
        last = offset + sum(factor * ranges[v][1] for v, factor in variables)
        found.append((min(max(0, first), size), max(0, min(last + 1, size))))
    return tuple(found)


def _size(box: Box) -> int:
    return math.prod(max(0, end - first) for first, end in box)


def lacking(value: dict[str, Any], boxes: Sequence[Box]) -> Iterator[Box]:
    """The boxes that no part of a value holds yet."""
    held = [
        tuple((first, first + n) for first, n in zip(p["from"], p["shape"], strict=True))
        for p in value.get("parts", ())
    ]
    for box in dict.fromkeys(boxes):
        if _size(box) and not any(_is_within(box, other) for other in held):
            held.append(box)
            yield box


def _is_within(box: Box, other: Box) -> bool:
    return all(a >= c and b <= d for (a, b), (c, d) in zip(box, other, strict=True))


def part_of(host: Any, box: Box) -> tuple[dict[str, Any], Any]:
    """Where a part of an array lies, as a Trace says it, and the part."""
    cut = host[tuple(slice(first, end) for first, end in box)]
    return {"from": [first for first, _ in box], "shape": list(cut.shape)}, cut
