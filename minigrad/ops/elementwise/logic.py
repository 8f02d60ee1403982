"""Comparisons, questions, and the logic of booleans and bits: operations without a derivative."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...backend import bool_, ignore_float_errors
from ...core.primitive import Primitive, constant
from ...errors import DTypeError


def _of_bits(operation: Any, symbol: str, *operands: Any) -> Any:
    try:
        return operation(*operands)
    except TypeError:
        dtypes = " and ".join(str(getattr(x, "dtype", type(x).__name__)) for x in operands)
        raise DTypeError(
            f"{symbol}: is for booleans and integers, got {dtypes}. Compare first, as in (x > 0) &"
            " (y > 0)."
        ) from None


def predicate(name: str, forward: Callable[..., Any], **options: Any) -> Primitive:
    """Declare an element-wise question, answered by booleans."""
    return constant(name, forward, pointwise=True, dtype="bool", integers="any", **options)


def _ordering(name: str, compare: Callable[..., Any], scalar: str) -> Primitive:
    """Declare a comparison, silent for NaN in bfloat16 too, where NumPy warns."""

    def forward(xp: Any, a: Any, b: Any) -> Any:
        if getattr(a if hasattr(a, "dtype") else b, "dtype", bool_).kind != "V":
            return compare(a, b)
        return ignore_float_errors.run(compare, a, b)  # "V" is bfloat16's kind

    return predicate(name, forward, promote="same", real_only=True, scalar=scalar)


def _bitwise(name: str, operation: Callable[..., Any], symbol: str) -> Primitive:
    """Declare an operation on each bit of two operands."""
    forward = lambda xp, a, b: _of_bits(operation, symbol, a, b)
    options: dict[str, Any] = {"pointwise": True, "integers": "modulo"}
    return constant(name, forward, promote="same", scalar=f"a {symbol} b", **options)


eq = predicate("eq", lambda xp, a, b: a == b, promote="same", scalar="a == b")
ne = predicate("ne", lambda xp, a, b: a != b, promote="same", scalar="a != b")
lt = _ordering("lt", operator.lt, "a < b")
le = _ordering("le", operator.le, "a <= b")
gt = _ordering("gt", operator.gt, "a > b")
ge = _ordering("ge", operator.ge, "a >= b")
isnan = predicate("isnan", lambda xp, x: xp.isnan(x))
isinf = predicate("isinf", lambda xp, x: xp.isinf(x))
isfinite = predicate("isfinite", lambda xp, x: xp.isfinite(x))
logical_and = predicate("logical_and", lambda xp, a, b: xp.logical_and(a, b), scalar="a and b")
logical_or = predicate("logical_or", lambda xp, a, b: xp.logical_or(a, b), scalar="a or b")
logical_xor = predicate("logical_xor", lambda xp, a, b: xp.logical_xor(a, b), scalar="xor(a, b)")
logical_not = predicate("logical_not", lambda xp, x: xp.logical_not(x), scalar="not x")
bitwise_and = _bitwise("bitwise_and", operator.and_, "&")
bitwise_or = _bitwise("bitwise_or", operator.or_, "|")
bitwise_xor = _bitwise("bitwise_xor", operator.xor, "^")
bitwise_not = constant(
    "bitwise_not", lambda xp, x: _of_bits(operator.invert, "~", x), pointwise=True, scalar="~x"
)
