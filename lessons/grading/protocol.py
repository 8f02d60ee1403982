"""Plain values as JSON: the only thing that crosses the border between the grader and a student's
process.

A hostile process can send only text. It becomes numbers, texts, lists, dictionaries and arrays of
real numbers, or else is refused with a sentence. Nothing is unpickled, no class is looked up, and
every type, size, depth and shape is checked before it is used. JSON's own values stand for
themselves; the rest is a dictionary with one key that says what it is:

    {"t": [...]}     a tuple
    {"d": {...}}     a dictionary with texts as keys
    {"f": "nan"}     nan, inf or -inf
    {"a": "<f8", "s": [2, 3], "b": "..."}
                     an array: dtype, shape, and its elements as base64 in C order

Both sides use this file: the trusted side calls `loads` and `decode`, the student's side `encode`,
which a submission may have tampered with.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy import asarray, float64, generic, ndarray
from numpy.ma import MaskedArray

DEPTH = 16
"""How deep lists and dictionaries may be nested (exercise.plain_problem allows the same)."""
ITEMS = 500_000
"""How many values one message may hold; an array counts as one."""
VALUE_BYTES = 4_000_000
"""What the arrays and texts of one value may hold together."""
LINE_BYTES = 8_000_000
"""The longest message that is read."""
DIGITS = 1_000
"""The longest whole number: Python needs time that grows with the square of the number of
digits.
"""
MOST = 10**DIGITS
DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
DIMENSIONS = 32


class ProtocolError(ValueError):
    """Something that is not plain, or not a message; the text goes after "it " or "what came
    back ".
    """


# ----------------------------------------------------------------------------------------- encoding


def encode(value: Any) -> Any:
    """A value as JSON's own types. NumPy's and minigrad's scalars and tensors become arrays.
    Raises ProtocolError.
    """
    return _Encoder().encode(value, 0)


def encode_all(values: Iterable[Any]) -> list[Any]:
    """Several values, each as `encode` writes it; the limits are for all of them together."""
    encoder = _Encoder()
    return [encoder.encode(value, 0) for value in values]


class _Encoder:
    def __init__(self) -> None:
        self.items, self.bytes = 1, 0

    def count(self, items: int) -> None:
        self.items += items
        if self.items > ITEMS:
            raise ProtocolError(f"holds more than {ITEMS:,} values")

    def encode(self, value: Any, depth: int) -> Any:
        if depth > DEPTH:
            raise ProtocolError(f"is nested more than {DEPTH} deep")
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is float:
            return value if math.isfinite(value) else {"f": repr(value)}
        if kind is str or isinstance(value, str):
            return self._space(value if kind is str else str.__str__(value), len(value))
        if kind is list or isinstance(value, list | tuple):
            self.count(len(value))
            inner = [
                (
                    item
                    if type(item) is float and math.isfinite(item)
                    else self.encode(item, depth + 1)
                )
                for item in value
            ]
            return inner if isinstance(value, list) else {"t": inner}
        if isinstance(value, int):
            number = int.__int__(value)
            if abs(number) >= MOST:
                raise ProtocolError(f"holds a whole number of more than {DIGITS:,} digits")
            return number
        if isinstance(value, ndarray | generic) or _is_tensor(
            value
        ):  # NumPy's float64 is a float too
            return self._array(value)
        if isinstance(value, float):
            number_ = float.__float__(value)
            return number_ if math.isfinite(number_) else {"f": repr(number_)}
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise ProtocolError("is a dictionary whose keys are not all texts")
            self.count(len(value))
            return {
                "d": {
                    self._space(str.__str__(key), len(key)): self.encode(item, depth + 1)
                    for key, item in value.items()
                }
            }
        if _is_exact(value):
            return self.encode(_as_float(value), depth)
        raise ProtocolError(_not_plain(value))

    def _array(self, value: Any) -> Any:
        if _is_tensor(value):
            value = value.detach().numpy()
        if isinstance(value, MaskedArray):
            raise ProtocolError("is a masked array; fill it, with `.filled(…)`")
        array = asarray(value)
        if array.dtype.kind == "O" and array.size <= ITEMS:
            items = array.ravel().tolist()
            if any(map(_is_exact, items)) and all(
                _is_exact(i) or type(i) in (int, float) for i in items
            ):
                array = asarray([_as_float(i) for i in items], float64).reshape(array.shape)
        if array.dtype.kind == "f" and array.dtype.itemsize > 8:
            array = array.astype(float64)
        if array.dtype.kind in "iuf":
            array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        if array.dtype.str not in DTYPES:
            what = (
                "objects"
                if array.dtype.kind == "O"
                else "complex numbers"
                if array.dtype.kind == "c"
                else f"the dtype {array.dtype}"
            )
            raise ProtocolError(f"is an array of {what}; it should hold real numbers")
        self._space(
            None, array.nbytes
        )  # before the copy: a broadcast array can be large and take no memory
        return {"a": array.dtype.str, "s": list(array.shape), "b": _to_text(array.tobytes())}

    def _space(self, value: Any, size: int) -> Any:
        self.bytes += size
        if self.bytes > VALUE_BYTES:
            raise ProtocolError(f"holds more than {VALUE_BYTES:,} bytes")
        return value


MAKE = {
    **dict.fromkeys(
        ("generator", "map", "zip", "filter", "range", "reversed", "enumerate", "deque"), "list"
    ),
    **dict.fromkeys(
        ("dict_keys", "dict_values", "dict_items", "list_iterator", "islice", "chain"), "list"
    ),
}
"""What becomes plain by one call."""


def _not_plain(value: Any) -> str:
    """Why a value cannot be sent, and what to do about it, after "it "."""
    name = str(type(value).__name__)[:60]
    the = f"is {'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"
    if isinstance(value, set | frozenset):
        return f"{the}, which has no order; make a list of it (`sorted(…)` does)"
    if name in MAKE:
        return f"{the}; make a {MAKE[name]} of it, with `{MAKE[name]}(…)`"
    if isinstance(value, complex):
        return "is a complex number; it should be a real one"
    if isinstance(value, type):
        return f"is the class {str(value.__name__)[:60]} itself"
    if callable(value) and name in (
        "function",
        "builtin_function_or_method",
        "method",
        "method-wrapper",
        "partial",
    ):
        return "is a function; was it to be called, with round brackets?"
    if name == "coroutine":
        return "is a coroutine, which an `async def` gives; write the function with `def`"
    return (
        f"is an object of the type {name}; it should be made of numbers, texts, lists, tuples,"
        " dictionaries and arrays"
    )


EXACT = {("fractions", "Fraction"), ("decimal", "Decimal")}
"""Numbers that are as good as floats."""


def _is_exact(value: Any) -> bool:
    return (type(value).__module__, type(value).__name__) in EXACT


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ProtocolError("holds a number that is too large for a float") from None


def _is_tensor(value: Any) -> bool:
    """Whether it is a minigrad Tensor: those who have not imported minigrad have none."""
    return any(
        base.__module__ == "minigrad.core.tensor" and base.__name__ == "Tensor"
        for base in type(value).__mro__
    )


# ----------------------------------------------------------------------------------------- decoding


def loads(line: bytes, limit: int | None = LINE_BYTES) -> Any:
    """A message as JSON's own types. Raises ProtocolError for whatever is not JSON, too long, too
    deep or too large.
    """
    if limit is not None and len(line) > limit:
        raise ProtocolError(f"is longer than {limit:,} bytes")
    try:
        return _read(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProtocolError(f"is not a message ({type(error).__name__})") from None


def dumps(message: Any) -> bytes:
    """A message as one line of ASCII."""
    return text(message).encode("ascii") + b"\n"


def text(message: Any) -> str:
    """A message, or a part of one, as JSON without a line break. Raises ValueError for NaN and
    infinities, which `encode` replaces.
    """
    return str(_write(message))


def decode(message: Any) -> Any:
    """The plain value that a message stands for: fresh lists, dictionaries and arrays. Raises
    ProtocolError.
    """
    return _Decoder().decode(message, 0)


class _Decoder:
    def __init__(self) -> None:
        self.items = 1

    def count(self, items: int) -> None:
        self.items += items
        if self.items > ITEMS:
            raise ProtocolError(f"holds more than {ITEMS:,} values")

    def all(self, messages: list[Any], depth: int) -> list[Any]:
        self.count(len(messages))
        return [
            message if type(message) is float else self.decode(message, depth)
            for message in messages
        ]

    def decode(self, message: Any, depth: int) -> Any:
        if depth > DEPTH:
            raise ProtocolError(f"is nested more than {DEPTH} deep")
        if message is None or isinstance(
            message, float | int
        ):  # truth values are ints; json reads NaN and Infinity too, as floats
            return message
        if isinstance(message, str):
            return clean(message)
        if isinstance(message, list):
            return self.all(message, depth + 1)
        if not isinstance(message, dict):
            raise ProtocolError("is not a message")
        if message.keys() == {"t"} and isinstance(message["t"], list):
            return tuple(self.all(message["t"], depth + 1))
        if message.keys() == {"d"} and isinstance(message["d"], dict):
            return dict(
                zip(
                    map(clean, message["d"]),
                    self.all(list(message["d"].values()), depth + 1),
                    strict=True,
                )
            )
        if message.keys() == {"f"} and message["f"] in ("nan", "inf", "-inf"):
            return float(message["f"])
        if message.keys() == {"a", "s", "b"}:
            return _array(message["a"], message["s"], message["b"])
        raise ProtocolError("is not a message")


def _array(dtype: Any, shape: Any, data: Any) -> np.ndarray:
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ProtocolError("is an array of an unknown dtype")
    if (
        not isinstance(shape, list)
        or len(shape) > DIMENSIONS
        or not all(type(n) is int and 0 <= n <= VALUE_BYTES for n in shape)
    ):
        raise ProtocolError("is an array of an impossible shape")
    if not isinstance(data, str) or len(data) > 2 * VALUE_BYTES:
        raise ProtocolError("is an array of impossible data")
    try:
        raw = base64.b64decode(data.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        raise ProtocolError("is an array of impossible data") from None
    kind = np.dtype(dtype)
    if len(raw) > VALUE_BYTES or math.prod(shape) * kind.itemsize != len(raw):
        raise ProtocolError("is an array whose shape and data do not fit together")
    try:
        array = np.frombuffer(raw, dtype=kind).reshape(shape).copy()
    except ValueError:  # an empty array whose other dimensions are larger than NumPy can count
        raise ProtocolError("is an array of an impossible shape") from None
    # A truth value is one bit: bytes other than 0 and 1 would be true and differ from each other.
    return np.asarray(array.view(np.uint8) != 0) if dtype == "|b1" else array


def _whole(digits: str) -> int:
    if len(digits) > DIGITS + 1:
        raise ValueError("too many digits")
    return int(digits)


# Made here and kept: on the student's side the originals may be replaced.
def _to_text(data: bytes, b2a: Any = binascii.b2a_base64) -> str:
    return str(b2a(data, newline=False).decode("ascii"))


_write = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_read = json.JSONDecoder(parse_int=_whole).decode


def clean(text: str) -> str:
    """A text that can be written anywhere: lone halves of a pair of UTF-16 become question
    marks, zero bytes go.
    """
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def one_line(value: Any, limit: int = 500) -> str:
    """A student's text for a message: one line without control characters, cut to a length; ""
    where it is no text.
    """
    if not isinstance(value, str):
        return ""
    text = "".join(c if c.isprintable() else " " for c in clean(value[: 4 * limit]))
    return text if len(text) <= limit else text[: limit - 1] + "…"
