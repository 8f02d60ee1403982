"""How arguments and results are nested, as plain data, so that it can be compared, printed and
saved.

A *template* is a nested list: ["leaf", 3] is value number 3 of a flat list, ["static", x] the plain
Python value x (None, a number, a string: part of the program), and ["tuple" | "list", [templates]]
or ["dict", [[key, template], …]] what holds others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor import Tensor
from ..errors import ProgramError

Template = list[Any]
_STATIC = (bool, int, float, complex, str)


def describe(structure: Any, leaves: list[tuple[str, Tensor]], name: str) -> Template:
    """The template of `structure`; its tensors are appended to `leaves` with their names
    ("batch.0", "params.w").

    Raises ProgramError for objects that are neither tensors nor plain values.
    """
    if isinstance(structure, Tensor):
        leaves.append((name, structure))
        return ["leaf", len(leaves) - 1]
    if structure is None or type(structure) in _STATIC:
        return ["static", structure]
    if isinstance(structure, dict):
        return [
            "dict",
            [
                [key, describe(item, leaves, f"{name}.{key}" if name else str(key))]
                for key, item in structure.items()
            ],
        ]
    if isinstance(structure, list | tuple):
        kind = "list" if isinstance(structure, list) else "tuple"
        return [
            kind,
            [
                describe(item, leaves, f"{name}.{i}" if name else str(i))
                for i, item in enumerate(structure)
            ],
        ]
    raise ProgramError(
        f"{name}: inputs and results of a program are tensors, nested in tuples, lists and dicts,"
        f" and plain Python values; got {type(structure).__name__}. Make a tensor of an array with"
        " mg.tensor(array)."
    )


def rebuild(template: Template, values: Sequence[Any]) -> Any:
    """The structure of a template, with values in the places of its leaves."""
    kind, content = template
    if kind == "leaf":
        return values[content]
    if kind == "static":
        return content
    if kind == "dict":
        return {key: rebuild(item, values) for key, item in content}
    items = [rebuild(item, values) for item in content]
    return items if kind == "list" else tuple(items)


def collect(template: Template, structure: Any, put: Callable[[int, Any], None], name: str) -> None:
    """`put(number, leaf)` for each leaf of a structure. Raises ProgramError, naming the place,
    where it is not nested as the template.
    """
    kind, content = template
    if kind == "leaf":
        put(content, structure)
    elif kind == "static":
        if type(structure) is not type(content) or repr(structure) != repr(content):
            raise ProgramError(
                f"{name}: the program was recorded with {content!r} here, which is part of it; got"
                f" {structure!r}. Record another program for it, or pass a tensor."
            )
    elif kind == "dict":
        if not isinstance(structure, dict) or list(structure) != [key for key, _ in content]:
            raise ProgramError(
                f"{name}: expected a dict with the keys {[key for key, _ in content]}, got"
                f" {_shown(structure)}."
            )
        for key, item in content:
            collect(item, structure[key], put, f"{name}.{key}" if name else str(key))
    else:
        if not isinstance(structure, list if kind == "list" else tuple) or len(structure) != len(
            content
        ):
            raise ProgramError(
                f"{name or 'inputs'}: expected a {kind} of {len(content)}, got {_shown(structure)}."
            )
        for i, item in enumerate(content):
            collect(item, structure[i], put, f"{name}.{i}" if name else str(i))


def _shown(structure: Any) -> str:
    if isinstance(structure, dict):
        return f"a dict with the keys {list(structure)}"
    if isinstance(structure, list | tuple):
        return f"a {type(structure).__name__} of {len(structure)}"
    return f"a {type(structure).__name__}"
