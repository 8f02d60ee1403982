"""Checks of single fields of a Trace, whose complaints name the place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


class TraceError(ValueError):
    """A document is not a well-formed Trace; the message says where and why."""


def need(condition: bool, where: str, why: str) -> None:
    """Raise TraceError unless the condition holds."""
    if not condition:
        raise TraceError(f"{where} {why}.")


Test = Callable[[Any], bool]
_REQUIRED = object()


def field_of(
    item: Any, key: str, test: Test, where: str, what: str, default: Any = _REQUIRED
) -> Any:
    """The field `key` of an item, of which `test` must hold; default: what stands for one that may
    be absent. Raises TraceError.
    """
    need(isinstance(item, dict), where, "must be an object")
    if key not in item and default is not _REQUIRED:
        return default
    if key not in item or not test(item[key]):
        raise TraceError(f"{where}.{key} must be {what}, got {shown(item.get(key))}.")
    return item[key]


def shown(value: Any) -> str:
    """A value as messages show it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def is_text(value: Any) -> bool:
    """Whether a value is a text."""
    return isinstance(value, str)


def is_count(value: Any) -> bool:
    """Whether a value is a natural number or 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_list(value: Any) -> bool:
    """Whether a value is a list."""
    return isinstance(value, list)


def is_object(value: Any) -> bool:
    """Whether a value is an object."""
    return isinstance(value, dict)


def is_truth(value: Any) -> bool:
    """Whether a value is true or false."""
    return isinstance(value, bool)


def one_of(names: Any) -> Test:
    """Whether a value of whatever kind is one of some texts."""
    return lambda value: isinstance(value, str) and value in names


def list_of(test: Test, length: int | None = None) -> Test:
    """Whether a value is a list of values of which a test holds, and of that length, if any."""
    return lambda value: (
        isinstance(value, list) and length in (None, len(value)) and all(map(test, value))
    )


def is_length(value: Any) -> bool:
    """Whether a value is a finite real number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
