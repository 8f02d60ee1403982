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


def field_of(item: Any, key: str, test: Callable[[Any], bool], where: str, what: str) -> Any:
    """The field `key` of an item, of which `test` must hold. Raises TraceError."""
    need(isinstance(item, dict), where, "must be an object")
    need(
        key in item and test(item[key]),
        f"{where}.{key}",
        f"must be {what}, got {shown(item.get(key))}",
    )
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


def is_one_of(value: Any, names: Any) -> bool:
    """Whether a value of whatever kind is one of some texts."""
    return isinstance(value, str) and value in names


def is_length(value: Any) -> bool:
    """Whether a value is a finite real number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
