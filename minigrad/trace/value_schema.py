"""What a well-formed value of a Trace is: a number, or an array by its first elements."""

from __future__ import annotations

import math
from typing import Any

from .fields import field_of, is_count, is_length, is_list, is_text, list_of, need, shown

SAMPLE = 16
"""So many elements of an array stand in the document; of larger ones these are the first, in
row-major order.
"""


def check_value(value: Any, where: str) -> None:
    """Raise TraceError unless a value is well formed."""
    if isinstance(value, dict):
        if "shape" in value:
            good = list_of(is_count)(value["shape"])
            need(good, where, "an array's shape must be a list of sizes")
            field_of(value, "dtype", is_text, where, "a text")
            size = math.prod(value["shape"])
            sample = field_of(value, "sample", is_list, where, "a list of the first elements")
            need(
                len(sample) == min(size, SAMPLE),
                f"{where}.sample",
                f"must hold {min(size, SAMPLE)} of the {size} elements, got {len(sample)}",
            )
            if "elements" in value:
                _elements(value, size, where)
            if "parts" in value:
                _parts(value, where)
            if "chosen" in value:
                _chosen(value["chosen"], size, f"{where}.chosen")
            if "heat" in value:
                _heat(value["heat"], f"{where}.heat")
            for v in (*sample, *(value[k] for k in ("min", "max", "norm") if k in value)):
                need(
                    not (isinstance(v, dict) and "shape" in v),
                    where,
                    "an array's elements must be numbers",
                )
                check_value(v, where)
            return
        need(
            value.keys() == {"re", "im"},
            where,
            f"must be a number or a value object, got {shown(value)}",
        )
        for v in (value["re"], value["im"]):
            need(
                not isinstance(v, dict), where, "the parts of a complex number must be real numbers"
            )
            check_value(v, where)
        return
    if isinstance(value, str):
        need(value in ("nan", "inf", "-inf"), where, f"must be a number, got {value!r}")
        return
    good = isinstance(value, bool | int | float)
    need(good, where, f"must be a number, got {type(value).__name__}")
    need(
        isinstance(value, int) or math.isfinite(value),
        where,
        'must write NaN and infinity as the texts "nan", "inf", "-inf"',
    )


def _elements(value: dict[str, Any], size: int, where: str) -> None:
    """Every element of a large array, of which the sample holds the first."""
    found = field_of(value, "elements", is_list, where, "a list of all elements")
    need(len(found) == size, f"{where}.elements", f"must hold {size} numbers, got {len(found)}")
    need(
        found[: len(value["sample"])] == value["sample"],
        f"{where}.elements",
        "must begin as sample",
    )
    _numbers(found, where)


def _chosen(chosen: Any, size: int, where: str) -> None:
    """The elements by which a formula shows a large array."""
    at = field_of(chosen, "at", list_of(is_count), where, "a list of places")
    need(
        at == sorted({*at}) and all(i < size for i in at), where, "must name places in their order"
    )
    found = field_of(chosen, "sample", list_of(lambda _: True, len(at)), where, "their elements")
    _numbers(found, where)


def _numbers(found: list[Any], where: str) -> None:
    for v in found:
        need(not (isinstance(v, dict) and "shape" in v), where, "elements must be numbers")
        check_value(v, where)


def _parts(value: dict[str, Any], where: str) -> None:
    """Blocks of a large array, each with its place and all its elements."""
    is_sizes = list_of(is_count, len(value["shape"]))
    for i, part in enumerate(field_of(value, "parts", is_list, where, "a list of parts")):
        place = f"{where}.parts[{i}]"
        first = field_of(part, "from", is_sizes, place, "an index for each axis")
        shape = field_of(part, "shape", is_sizes, place, "a size for each axis")
        inside = zip(first, shape, value["shape"], strict=True)
        need(all(a + n <= size for a, n, size in inside), place, "must lie within the array")
        found = field_of(part, "elements", is_list, place, "a list of its elements")
        size = math.prod(shape)
        need(len(found) == size, f"{place}.elements", f"must hold {size} numbers, got {len(found)}")
        _numbers(found, place)


LEVELS = "0123456789abcdefg"
"""The colours of a heat map: 8 stands for zero, 0 and g for minus and plus the scale; "n" is not
a number.
"""


def _heat(heat: Any, where: str) -> None:
    shape = field_of(heat, "shape", list_of(is_count, 2), where, "two sizes")
    field_of(heat, "scale", is_length, where, "a number")
    good = field_of(heat, "levels", is_text, where, "a text of levels")
    need(
        len(good) == math.prod(shape) and set(good) <= {*LEVELS, "n"},
        f"{where}.levels",
        "must hold one level for each cell",
    )
