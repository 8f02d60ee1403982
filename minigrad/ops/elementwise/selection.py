"""Choices between elements. At a tie or a bound the rules give what PyTorch gives: `maximum` and
`minimum` share the gradient evenly, `clamp` passes it."""

from __future__ import annotations

import operator
from typing import Any

from ...backend import SINGLE_OR_DOUBLE, numpy
from ...core.primitive import elementwise
from ..kernels import KernelCall
from .copies import in_dtype_of


def _where(xp: Any, condition: Any, a: Any, b: Any) -> Any:
    """Large choices against 0 (the derivative of relu, say) are made on the bits: 2 to 30 times
    faster, NaN and infinity included.
    """
    for zero, kept in ((a, b), (b, a)):
        if (
            type(zero) is float
            and zero == 0
            and getattr(kept, "size", 0) > 4000
            and kept.shape == condition.shape
        ):
            if kept.dtype not in SINGLE_OR_DOUBLE:
                break
            integer = f"int{8 * kept.dtype.itemsize}"
            mask = condition.view("int8")
            # -1, which is all ones, where `kept` stays
            bits = (mask - 1 if zero is a else -mask).astype(integer)
            bits &= kept.view(integer)
            return bits.view(kept.dtype)
    return xp.where(condition, a, b)


def where_kernel(k: KernelCall) -> list[str] | None:
    """A choice against 0.0 (the derivative of relu): the bits of the other branch times 1 or 0,
    exact for NaN and infinity too.
    """
    condition = k.array(0)
    zero = next((i for i in (1, 2) if type(k.number(i)) is float and repr(k.number(i)) == "0.0"), 0)
    other = k.array(3 - zero) if zero else None
    if other is None or condition is None or condition.dtype.kind != "b":
        return None
    dtype = k.made.dtype
    if (
        dtype not in SINGLE_OR_DOUBLE
        or other != k.made
        or condition.shape != other.shape
        or k.strides[0] is None
        or k.strides[3 - zero] is None
    ):
        return None
    integer = f".view('int{8 * dtype.itemsize}')"
    bits, kept = k.view(k.out, integer), k.view(k.operands[3 - zero], integer)
    # NumPy multiplies numbers of two widths at half the speed
    factors = k.scratch(k.made.shape, k.xp.dtype(f"int{8 * dtype.itemsize}"))
    stays, lines = k.operands[0], []
    if zero != 2:
        stays = k.scratch(k.made.shape, k.xp.dtype("bool"))
        lines.append(f"logical_not({k.operands[0]}, out={stays})")
    flags = k.view(stays, ".view('int8')")
    k.in_place = True
    return [*lines, f"copyto({factors}, {flags})", f"multiply({kept}, {factors}, out={bits})"]


where = elementwise(
    "where",
    _where,
    None,
    lambda g, condition: where(condition, g, 0.0),
    lambda g, condition: where(condition, 0.0, g),
    promote="branches",
    integers="written",
    kernel=where_kernel,
)
"""Elements of a where the condition holds, of b elsewhere; a derivative of the branch not taken is
0, even where that branch is NaN.
"""
_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_TESTS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
select = elementwise(
    "select",
    lambda xp, x, a, b, *, test, level: _where(xp, _TESTS[test](x, level), a, b),
    None,
    lambda g, x, *, test, level: where(_TESTS[test](x, level), g, 0.0),
    lambda g, x, *, test, level: where(_TESTS[test](x, level), 0.0, g),
    promote="branches",
    integers="written",
    real_only=True,
    scalar=lambda *, test, level: f"where(x {_SIGNS[test]} level, a, b)",
    notation=lambda *, test, level: f"where(x {_SIGNS[test]} level, a, b)",
)
"""Elements of a where x compares with `level` as `test` says ("lt", "le", "gt", "ge"), of b
elsewhere: NaN, which compares with nothing, takes b. Unlike `where`, it keeps x: a gradient that is
itself recorded depends on x, with derivative 0.
"""
maximum = elementwise(
    "maximum",
    lambda xp, a, b: xp.maximum(a, b),
    lambda g, a, b: where(a < b, 0.0, where(a == b, g / 2, g)),
    lambda g, a, b: where(b < a, 0.0, where(a == b, g / 2, g)),
    symbol="max",
    real_only=True,
)
minimum = elementwise(
    "minimum",
    lambda xp, a, b: xp.minimum(a, b),
    lambda g, a, b: where(a > b, 0.0, where(a == b, g / 2, g)),
    lambda g, a, b: where(b > a, 0.0, where(a == b, g / 2, g)),
    symbol="min",
    real_only=True,
)


def _between(x: Any, low: Any, high: Any) -> Any:
    """Whether low <= x <= high; None means no bound."""
    if low is None or high is None:
        return x <= high if low is None else x >= low
    return (x >= low) & (x <= high)


def _clamp_text(*, low: Any, high: Any) -> str:
    text = "x" if low is None else "maximum(x, low)"
    return text if high is None else f"minimum({text}, high)"


def _clamp(xp: Any, x: Any, *, low: Any, high: Any) -> Any:
    if xp is numpy:
        return in_dtype_of(x, x.clip(low, high))
    at_least = x if low is None else xp.maximum(x, low)  # CuPy's clip loses NaN if low > high
    return in_dtype_of(x, at_least if high is None else xp.minimum(at_least, high))


clamp = elementwise(
    "clamp",
    _clamp,
    lambda g, x, *, low, high: where(_between(x, low, high), g, 0.0),
    notation=lambda *, low, high: (
        "max(x, low)" if high is None else "min(x, high)" if low is None else "clamp(x, low, high)"
    ),
    real_only=True,
    scalar=_clamp_text,
    kernel=None,
    graph_name="ClampBackward1",
)
