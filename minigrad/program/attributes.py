"""Attributes, items and closure variables of Python objects: their present values, and the paths by
which guards find them.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterable
from typing import Any

from .guards import MISSING, Path
from .python_code import is_library


class SlotAttributes:
    """The attributes of an object without a dictionary."""

    def __init__(self, instance: Any) -> None:
        self.instance = instance
        declared = (vars(kind).get("__slots__", ()) for kind in type(instance).__mro__)
        self.names = [
            n
            for names in declared
            for n in ((names,) if isinstance(names, str) else names)
            if n not in ("__dict__", "__weakref__")
        ]

    def __iter__(self) -> Any:
        return (n for n in self.names if hasattr(self.instance, n))

    def __getitem__(self, name: str) -> Any:
        return getattr(self.instance, name, MISSING)

    def values(self) -> list[Any]:
        """The attributes as they are now."""
        return [self[name] for name in self.names]

    def get(self, name: str, default: Any) -> Any:
        """An attribute as it is now."""
        return getattr(self.instance, name, default)


def is_special(name: str, value: Any) -> bool:
    """Whether an attribute of a class is a function that Python calls unasked: `__getitem__`,
    `__len__`."""
    return name.startswith("__") and isinstance(plain_attribute(value), types.FunctionType)


def called_by_the_library(kind: type) -> frozenset[str]:
    """The attributes of a user's class that stand for those of a class of this library, whose code
    may ask for them."""
    bases = [base for base in kind.__mro__ if is_library(base)]
    names = itertools.chain.from_iterable(map(dir, bases))
    return frozenset(name for name in names if not name.startswith("__"))


def values_of(group: dict[str, Any], keys: list[str]) -> list[Any]:
    return [group.get(key, MISSING) for key in keys]


def item_paths(mapping: Any, keys: Iterable[str]) -> list[Path]:
    """Where the items of a dictionary are found, and where one is missing."""
    return [
        (mapping, f"[{key!r}]" if key in mapping else f".get({key!r}, MISSING)") for key in keys
    ]


def cell_paths(cells: Iterable[Any]) -> list[Path]:
    """Where the variables of a closure are found."""
    return [(cell, ".cell_contents") for cell in cells]


def cell_content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable without a value yet
        return MISSING


def plain_attribute(value: Any) -> Any:
    """What stands behind an attribute of a class: the function of a static method or a property."""
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    return value.fget if isinstance(value, property) and value.fget is not None else value
