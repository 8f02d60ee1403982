"""Arguments and results may be nested tuples, lists and dictionaries of tensors: how to take their
leaves out and put others in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

Rebuild = Callable[[Sequence[Any]], Any]


def flatten(
    structure: Any, nested: tuple[type[Any], ...] = (list, tuple, dict)
) -> tuple[list[Any], Rebuild]:
    """The leaves (all that is no tuple, list or dict) in order, and a function that puts as many
    others in their places. nested: which of these are looked into.
    """
    if not isinstance(structure, nested):
        return [structure], lambda values: values[0]
    items = structure.values() if isinstance(structure, dict) else structure
    parts = [flatten(item, nested) for item in items]
    counts = [len(leaves) for leaves, _ in parts]

    def rebuild(values: Sequence[Any]) -> Any:
        items, start = [], 0
        for (_, rebuild_part), n in zip(parts, counts, strict=True):
            items.append(rebuild_part(values[start : start + n]))
            start += n
        if isinstance(structure, dict):
            made = copy(structure)  # of its own kind: OrderedDict, defaultdict, …
            made.update(zip(structure, items, strict=True))
            return made
        return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)

    return [leaf for leaves, _ in parts for leaf in leaves], rebuild


def matching(structure: Any, other: Any, complaint: str) -> list[Any]:
    """The leaves of `other`, which must be nested as `structure` is, in the order of the leaves of
    `structure` (dicts are matched by key).

    Raises ValueError with `complaint` and both structures where they differ.
    """
    if isinstance(structure, dict) and isinstance(other, dict) and structure.keys() == other.keys():
        return [
            leaf for key in structure for leaf in matching(structure[key], other[key], complaint)
        ]
    if (
        isinstance(structure, list | tuple)
        and isinstance(other, list | tuple)
        and len(structure) == len(other)
    ):
        return [
            leaf
            for a, b in zip(structure, other, strict=True)
            for leaf in matching(a, b, complaint)
        ]
    if isinstance(structure, list | tuple | dict) or isinstance(other, list | tuple | dict):
        raise ValueError(
            f"{complaint}: {outline(structure)} and {outline(other)} are not nested alike (each *"
            " is one value)."
        )
    return [other]


def spread(prefix: Any, structure: Any, complaint: str) -> list[Any]:
    """One entry for each leaf of `structure`: `prefix` is nested like it, or stops early where
    one entry stands for a whole part.
    """
    leaves, _ = flatten(structure)
    if not isinstance(prefix, list | tuple | dict):
        return [prefix] * len(leaves)
    if isinstance(prefix, dict):
        fits = isinstance(structure, dict) and prefix.keys() == structure.keys()
        pairs = [(prefix[key], structure[key]) for key in structure] if fits else []
    else:
        fits = isinstance(structure, list | tuple) and len(prefix) == len(structure)
        pairs = list(zip(prefix, structure, strict=True)) if fits else []
    if not fits:
        raise ValueError(f"{complaint}: {prefix!r} does not fit {outline(structure)}.")
    return [entry for part, inner in pairs for entry in spread(part, inner, complaint)]


def outline(structure: Any) -> str:
    """The nesting in short: `(*, {a: *})`."""
    if isinstance(structure, dict):
        return "{" + ", ".join(f"{key}: {outline(item)}" for key, item in structure.items()) + "}"
    if isinstance(structure, list):
        return "[" + ", ".join(outline(item) for item in structure) + "]"
    if isinstance(structure, tuple):
        return (
            "("
            + ", ".join(outline(item) for item in structure)
            + ("," if len(structure) == 1 else "")
            + ")"
        )
    return "*"
