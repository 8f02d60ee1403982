"""Values and sentences in plain words: what every message for a student is made of.

`a_kind` names a value that should be something else, and `shown` shows one. The parts of a reason
become a sentence that begins with a capital letter, unless it begins with a name: `sin1`, v2 and x
are written as the student wrote them. Both sides use this file, so it needs NumPy and the standard
library only.
"""

from __future__ import annotations

import math
import re
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
ORDINARY = re.compile(r"(?:a|[a-z][a-z’']+)(?=[ ,;:]|\.$)")
"""A word of the language at the start of a sentence, and not a name: names that look like words
stand between backticks.
"""
BRACKETS, QUOTES = " (leave out the brackets)", " (leave out the quotes)"

WRONG_CALL = re.compile(
    r"TypeError: .*(?:positional argument|takes no arguments|keyword argument|multiple values for"
    r" argument)"
)
"""What Python says of a call that does not fit the parameters of a function."""
LOOK_AT_PARAMETERS = "Look at the names and the number of its parameters."


def sentence(text: str) -> str:
    """A reason as a sentence: its first letter is a capital, where it is a word's and not a
    name's.
    """
    return text[:1].upper() + text[1:] if ORDINARY.match(text) else text


def nth(number: int) -> str:
    """The place of an entry, counted from 0, as people say it: "the first entry"."""
    return f"the {ORDINALS[number]} entry" if number < len(ORDINALS) else f"entry {number + 1}"


def counted(number: int, thing: str) -> str:
    """So many things: "1 entry", "2 entries", "0 cases"."""
    plural = thing[:-1] + "ies" if thing.endswith("y") else thing + "s"
    return f"{number} {thing if number == 1 else plural}"


def without_stop(text: str) -> str:
    """A text, on one line, as the part of a sentence that goes on after it."""
    return " ".join(text.split()).rstrip(" .,;:")


def a_kind(value: Any, most: int = 60) -> str:
    """A value for a sentence such as "it is …, but should be …": what it is, and what it looks
    like, whatever its repr does.
    """
    kind = type(value)
    if value is None:
        return "nothing (None)"
    if kind is bool or (
        isinstance(value, np.ndarray | np.generic) and value.shape == () and value.dtype.kind == "b"
    ):
        return f"the truth value {bool(value)}"
    if kind in (int, float) or (
        isinstance(value, np.ndarray | np.generic)
        and value.shape == ()
        and value.dtype.kind in "iuf"
    ):
        return f"the number {shown(value, most)}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}" + (
            " that holds objects" if value.dtype.kind == "O" else ""
        )
    if hasattr(kind, "detach") and hasattr(kind, "shape"):
        return f"a tensor of shape {tuple(value.shape)}"
    words = {
        str: "text",
        list: "list",
        tuple: "tuple",
        dict: "dictionary",
        complex: "complex number",
    }
    if kind in words:
        try:
            return f"the {words[kind]} {shown(value, most)}"
        except Exception:  # something in it cannot be shown
            return f"a {words[kind]}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, FunctionType | BuiltinFunctionType | MethodType):
        return f"the function {value.__name__}"
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    return f"an object of the type {kind.__name__}"


def cure(value: Any) -> str:
    """How a value that should be a number becomes one, as the end of a sentence; "" where
    nothing simple helps.
    """
    if type(value) in (list, tuple) and len(value) == 1 and type(value[0]) in (int, float):
        return BRACKETS
    if type(value) is str:
        try:
            float(value)
        except ValueError:
            return ""
        return QUOTES
    shape = getattr(value, "shape", ()) if hasattr(type(value), "item") else None
    single = isinstance(shape, tuple) and all(n == 1 for n in shape)
    return " (take `.item()` of it)" if single else ""


def shown(value: Any, most: int = 80) -> str:
    """A plain value as short text. Never raises."""
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else _not_finite(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**15:
        return f"a whole number of {value.bit_length()} bits"
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.shape == ()):
        return shown(value.item(), most)
    if isinstance(value, np.ndarray):
        with np.printoptions(threshold=12, edgeitems=2, formatter={"float_kind": _short}):
            text = np.array2string(value, separator=", ").replace("\n", " ").replace("...", "…")
        return _cut(text if value.size else f"an empty array of shape {value.shape}", most)
    if isinstance(value, list | tuple):
        text = ", ".join(shown(item, most) for item in value[:8]) + (
            ", …" if len(value) > 8 else ""
        )
        return _cut(
            (
                f"[{text}]"
                if isinstance(value, list)
                else f"({text},)"
                if len(value) == 1
                else f"({text})"
            ),
            most,
        )
    if isinstance(value, dict):
        parts = [
            f"{k[:20]!r}: {shown(v, most)}" if isinstance(k, str) else f"{k!r}: …"
            for k, v in list(value.items())[:8]
        ]
        return _cut("{" + ", ".join(parts) + (", …" if len(value) > 8 else "") + "}", most)
    return _cut(repr(value[: most + 1] if isinstance(value, str) else value), most)


_DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?:e[-+]?\d+)?(?!\.?\w)")


def in_four_digits(text: str) -> str:
    """A sentence with its decimals in four digits, as the pictures write them; as it is, where two
    of its numbers would be written alike.
    """
    found = set(_DECIMAL.findall(text))
    brief = {number: _in_four_digits(number) for number in found}
    if len(set(brief.values())) < len({float(number) for number in found}):
        return text
    return _DECIMAL.sub(lambda number: brief[number[0]], text)


def _in_four_digits(number: str) -> str:
    value = float(number)
    return f"{value:.0f}" if "e" not in number and value >= 1e4 else f"{value:.4g}"


def as_rows(value: dict[str, Any], most: int = 200) -> str:
    """A dictionary of numbers as "x1 = 3, v1 = 0.5": for what a function or a class was found to
    give, name by name.
    """
    parts = [f"{name[:40]} = {shown(item, most)}" for name, item in list(value.items())[:8]]
    return _cut(", ".join(parts) + (", …" if len(value) > 8 else ""), most) or "an empty dictionary"


def _short(number: float) -> str:
    return f"{number:.4g}" if math.isfinite(number) else _not_finite(number)


def _not_finite(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
